/*
 * Options of start: see start_opts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/start_opts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "cmd/progress.h"
#include "cmd/render_start.h"
#include "work/session_name.h"

void ews_start_opts_table(struct ews_opt out[EWS_START_OPTS_MAX], struct ews_start_settings *set)
{
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "base", &set->start.base, "rev",
			       "begin at that commit, with nothing of what is uncommitted"),
		EWS_OPT_STRING(0, "from", &set->start.from, "session|snapshot",
			       "begin at another's present state, or at a snapshot"),
		EWS_OPT_STRING(0, "method", &set->method, "auto|worktree|snapshot|in-place",
			       "how the workspace is made"),
		EWS_OPT_BOOL(0, "worktree", &set->is_worktree, "the same as --method worktree"),
		EWS_OPT_STRING(0, "sandbox", &set->sandbox, "git-worktree", "the same as --method worktree"),
		EWS_OPT_TRISTATE(0, "uncommitted", &set->start.uncommitted, "take uncommitted changes along"),
		EWS_OPT_TRISTATE(0, "untracked", &set->start.untracked, "take untracked files along"),
		EWS_OPT_OPTIONAL(0, "keep-ignored", &set->keep_ignored, "auto|yes|no", "yes",
				 "take ignored files along"),
		EWS_OPT_BOOL(0, "partial", &set->start.partial, "leave out what is over a limit, instead of failing"),
		EWS_OPT_BOOL(0, "force", &set->start.force,
			     "take a home directory, or the root of all, for a project"),
		EWS_OPT_BOOL(0, "run-filters", &set->start.run_filters,
			     "let the user's own filter programs write what comes from commits"),
		EWS_OPT_BOOL(0, "copy-objects", &set->start.copy_objects,
			     "an independent copy gets all objects, and borrows none"),
		EWS_OPT_STRING(0, "nested", &set->nested, "record|skip", "what to do about nested repositories"),
		EWS_OPT_BOOL(0, "deep", &set->deep, "lock the repository against all other sessions"),
		EWS_OPT_BOOL(0, "quick", &set->quick, "lock it against deep ones alone, as usual"),
		EWS_OPT_STRING(0, "intent", &set->start.intent, "text", "what the session is for"),
		EWS_OPT_STRING(0, "label", &set->start.label, "name", "a name for people"),
		EWS_OPT_STRING(0, "in", &set->start.in, "dir", "make the workspace <dir>/<id>"),
		EWS_OPT_STRING('m', "message", &set->start.subject, "text", "the subject of the base snapshot"),
		EWS_OPTS_END,
	};

	static_assert(sizeof(opts) <= EWS_START_OPTS_MAX * sizeof(*out), "the callers' tables hold them");
	memcpy(out, opts, sizeof(opts));
}

bool ews_start_opts_is_any(const struct ews_start_settings *set)
{
	const struct ews_start_opts *start = &set->start;

	return set->method || set->sandbox || set->deep || set->quick || set->nested || set->keep_ignored ||
	       set->is_worktree || start->base || start->from || start->uncommitted >= 0 || start->untracked >= 0 ||
	       start->partial || start->force || start->run_filters || start->copy_objects || start->intent ||
	       start->label || start->in || start->subject;
}

/* What `option` says of the method; "auto" leaves it open. */
static int choose_method(const struct ews_method **out, const char *option, const char *name)
{
	if (!name || !strcmp(name, "auto"))
		return 0;
	if (!strcmp(name, "overlay")) {
		ews_error(EWS_EUNSUPPORTED, "%s 'overlay' needs a mount namespace, which this version can't make",
			  option);
		ews_error_hint("the methods are auto, worktree, snapshot and in-place");
		return EWS_EUNSUPPORTED;
	}
	*out = ews_method_find(name);
	if (*out)
		return 0;
	(void)ews_error(EWS_EUSAGE, "%s '%s' is not one of this version's", option, name);
	ews_error_hint("the methods are auto, worktree, snapshot and in-place");
	return EWS_EUSAGE;
}

static int choose_ignored(enum ews_keep_ignored *out, const char *word)
{
	*out = EWS_KEEP_IGNORED_AUTO;
	if (!word || !strcmp(word, "auto"))
		return 0;
	*out = strcmp(word, "yes") ? EWS_KEEP_IGNORED_NO : EWS_KEEP_IGNORED_YES;
	if (*out == EWS_KEEP_IGNORED_YES || !strcmp(word, "no"))
		return 0;
	return ews_error(EWS_EUSAGE, "--keep-ignored takes auto, yes or no, not '%s'", word);
}

/* One method may be named in several ways, and only one. */
static int settle_method(struct ews_start_settings *set)
{
	const struct ews_method *named[3] = { NULL, NULL, set->is_worktree ? &ews_method_worktree : NULL };
	const struct ews_method **method = &set->start.method;
	int rc;

	rc = choose_method(&named[0], "method", set->method);
	if (rc == 0)
		rc = choose_method(&named[1], "sandbox", set->sandbox);
	for (size_t i = 0; rc == 0 && i < 3; i++) {
		if (*method && named[i] && named[i] != *method)
			rc = ews_error(EWS_EUSAGE, "--method, --sandbox and --worktree name different methods");
		else if (named[i])
			*method = named[i];
	}
	return rc;
}

int ews_start_opts_settle(struct ews_start_settings *set)
{
	int rc;

	rc = choose_ignored(&set->start.keep_ignored, set->keep_ignored);
	if (rc == 0)
		rc = settle_method(set);
	if (rc == 0 && set->deep && set->quick)
		rc = ews_error(EWS_EUSAGE, "--deep and --quick exclude each other");
	if (rc < 0)
		return rc;
	if (set->deep || set->quick)
		set->start.lock = set->deep ? EWS_HOLDING_DEEP : EWS_HOLDING_QUICK;
	if (!set->nested || !strcmp(set->nested, "record"))
		return 0;
	if (strcmp(set->nested, "skip") != 0)
		return ews_error(EWS_EUSAGE, "--nested takes record or skip, not '%s'", set->nested);
	set->start.skip_nested = true;
	return 0;
}

/* What no option says is as it is set. A wrong setting stops us here, where nothing has begun. */
static int take_settings(struct ews_start_settings *set, const struct ews_config *config)
{
	const char *method;
	int rc;

	rc = ews_config_check(config);
	if (rc == 0)
		rc = ews_config_dir(&set->location, config, "qe.workspace.location");
	set->start.location = set->location;
	if (rc < 0 || set->method || set->sandbox || set->is_worktree)
		return rc;
	rc = ews_config_word(&method, config, "qe.workspace.method");
	return rc < 0 ? rc : choose_method(&set->start.method, "qe.workspace.method", method);
}

int ews_start_opts_open(struct ews_start_settings *set, struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(free) char *source = NULL;
	int rc;

	rc = ews_cmd_open_repo_or_make(ctx, set->start.force ? EWS_REPO_MAKE_ANY : EWS_REPO_MAKE_PLAIN);
	if (rc == 0)
		rc = take_settings(set, ews_repo_config(ctx->repo));
	if (rc < 0)
		return rc;
	if (set->start.from && ews_session_resolve(&source, ctx->repo, set->start.from) == 0)
		ews_cmd_meet(ctx, source);
	else
		ews_error_clear(); /* a snapshot, then */
	if (set->start.in)
		set->start.in = set->in = ews_path_absolute(ctx->cwd, set->start.in);
	return 0;
}

int ews_start_opts_run(struct ews_start_result *out, struct ews_start_settings *set, struct ews_cmd_ctx *ctx)
{
	struct ews_progress progress;
	int rc;

	set->start.progress = ews_progress_show;
	set->start.payload = &progress;
	ews_progress_init(&progress, ctx, "Filling workspace");
	rc = ews_start(out, ctx->repo, &set->start);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	ews_render_start_talk(ctx, out);
	return 0;
}

void ews_start_settings_release(struct ews_start_settings *set)
{
	free(set->location);
	free(set->in);
}
