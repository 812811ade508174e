/*
 * Git's config: what it says of us, and where each value stands.
 *
 * Asked of git itself, which knows conditional includes and config.worktree, and names the file. It
 * names no line: that is looked for in the file once somebody wants to know.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GITCONFIG_H
#define EWS_STORE_GITCONFIG_H

#include <stddef.h>

#include "base/cleanup.h"
#include "store/gitconfig_files.h"

struct ews_gitconfig_value {
	char *key; /* "ews.gitGuard.blockcommit": git makes all small but the middle */
	char *text; /* "true" of a key without "=" */
	char *file; /* absolute mostly; NULL: none */
	enum ews_gitconfig_scope scope;
};

struct ews_gitconfig {
	struct ews_gitconfig_value *items; /* what comes later has the last word */
	size_t n, cap;
};

#define EWS_GITCONFIG_INIT { NULL, 0, 0 }

/* All of "ews.*" that the repository at `git_dir` sees. Fails with EWS_ECONFIG and git's sentence. */
int ews_gitconfig_read(struct ews_gitconfig *out, const char *git_dir);

/* The same of keys that `pattern`, an extended regular expression, matches. Nothing that they name is run. */
int ews_gitconfig_find(struct ews_gitconfig *out, const char *git_dir, const char *pattern);

/* Of git's own what a user may want otherwise for one command: what is shown, and by which program. */
#define EWS_GITCONFIG_USERS "^(color\\..*|core\\.(pager|editor)|advice\\.statushints)$"

/* What `git -c <key>=<value> ews ...` left in the environment, of ours and of these. What git can't make sense of is nothing. */
void ews_gitconfig_read_command(struct ews_gitconfig *out);

/*
 * Add what `git <globals> config` has of keys that `pattern` (an extended regular expression) matches, run where we
 * stand with the environment `env`; `globals` may be NULL. Gives git's status: 1 when it has none, more when it
 * can't read its config. Fails with EWS_ECONFIG when there is no end of it.
 */
int ews_gitconfig_ask(struct ews_gitconfig *out, const char *pattern, char *const *globals, char *const *env);

/* In which line of its file value `at` stands; 0: it was not found there. */
unsigned ews_gitconfig_line(const struct ews_gitconfig *list, size_t at);

void ews_gitconfig_release(struct ews_gitconfig *list);
EWS_CLEANUP_DEFINE(gitconfig, struct ews_gitconfig, ews_gitconfig_release)

#endif
