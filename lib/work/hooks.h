/*
 * Hooks: a directory of git hooks that ask git ews first, and then run what was there before.
 *
 *     <git dir>/ews-hooks/        of a repository
 *     <home>/hooks/               of the user
 *         <hook>                  one script under each name
 *         config                  core.hooksPath; included by the repository's config, or by the user's
 *         .git-ews                tells a directory of ours, and what was done for it
 *
 * No hook and no line of config that is there is touched: a few lines at the end of a config file include ours. A hook of ours
 * looks anew each time for the hook that would run without it, and gives it arguments and standard input whole. The lines of
 * a repository name where it lies, so that one that is moved has its own hooks again. Without git-ews, all passes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HOOKS_H
#define EWS_WORK_HOOKS_H

#include "base/strv.h"
#include "store/repo.h"

#define EWS_HOOKS_DIR "ews-hooks" /* in the git directory */

enum ews_hooks_scope {
	EWS_HOOKS_REPOSITORY = 1,
	EWS_HOOKS_USER, /* all repositories of this user that have no hooks directory of their own */
};

struct ews_hooks {
	enum ews_hooks_scope scope;
	char *dir; /* where they are, or would be */
	struct ews_strv configs; /* the files that name it; none: not installed */
	char *taken; /* the hooks directory that git takes: "" where core.hooksPath is empty, NULL without a repository */
	char *next; /* the one whose hooks run after ours, or NULL */
	struct ews_strv foreign; /* names in `dir` that somebody else has written: there git ews is not asked */
	struct ews_strv idle; /* names in `dir` that are ours and can't be executed: git passes them by */
	struct ews_strv busy; /* sessions in use, whose tripwire will name the change of the config */
};

#define EWS_HOOKS_INIT { 0, NULL, EWS_STRV_INIT, NULL, NULL, EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT }

/* What is there. `repo` may be NULL for the user's. */
int ews_hooks_look(struct ews_hooks *out, enum ews_hooks_scope scope, struct ews_repo *repo, const char *home);

/*
 * Install, or bring up to date; gives what is there then. The change of the config is told to the tripwires of living sessions.
 * Fails with EWS_EUNSUPPORTED in a directory that is no git repository.
 */
int ews_hooks_install(struct ews_hooks *out, enum ews_hooks_scope scope, struct ews_repo *repo, const char *home);

/*
 * Take all of it away, and give what was there. A hook that somebody wrote into the directory goes where git looks for it then;
 * fails with EWS_EDENIED, before anything is done, where he wrote into one of ours.
 */
int ews_hooks_uninstall(struct ews_hooks *out, enum ews_hooks_scope scope, struct ews_repo *repo, const char *home);

/* Does git look for a hook under that name? */
bool ews_hooks_is_name(const char *name);

/* Does any config name them? */
bool ews_hooks_is_installed(const struct ews_hooks *hooks);
/* Would git run them in the repository that was asked about? */
bool ews_hooks_is_effective(const struct ews_hooks *hooks);

void ews_hooks_release(struct ews_hooks *hooks);
EWS_CLEANUP_DEFINE(hooks, struct ews_hooks, ews_hooks_release)

#endif
