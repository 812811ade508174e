/*
 * git ews diff: what changed since the base, or between two states.
 *
 * The patch is git's own. Options of git diff that shape its output are passed
 * on; those that would write elsewhere, run programs or compare other things
 * are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_diff.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "cmd/changes_opt.h"
#include "cmd/cmd.h"
#include "cmd/diff_opts.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "work/diff.h"
#include "work/epoch.h"
#include "work/pending.h"
#include "work/round_find.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/snapshot_rewritten.h"
#include "work/stale.h"

static const char *const usage[] = {
	"git ews diff [<options>] [<output options of git diff>] [<session>|<snapshot>] [<snapshot>] [-- <pathspec>...]",
	"git ews diff --from base|parent [<options>] [<output options of git diff>] [<session>|<snapshot>] [-- <pathspec>...]",
	"git ews snapshot diff [<the same>]",
	NULL,
};

struct settings {
	struct ews_diff_settings diff;
	const char *from; /* "base", "parent" or NULL */
	bool exit_code;
	bool is_silent; /* whether there are differences is all that is asked */
};

static void release_settings(struct settings *set)
{
	ews_diff_settings_release(&set->diff);
}

EWS_CLEANUP_DEFINE(settings, struct settings, release_settings)

static int parse(struct settings *set, struct ews_cmd_args *args, const struct ews_diff_verb *verb,
		 struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "exit-code", &set->exit_code, "exit with 1 when there are differences"),
		/* As git's: a script that asks by it takes 0 for "none". */
		EWS_OPT_BOOL(0, "quiet", &set->is_silent, "print nothing, exit with 1 when there are differences"),
		EWS_CHANGES_OPT(&set->diff.changes_word),
		EWS_OPT_STRING(0, "from", &set->from, "base|parent", "what the one state is compared with"),
		EWS_OPT_PASS(0, "shortstat", &set->diff.output, NULL, "the diffstat's last line"),
		EWS_DIFF_OPTS(&set->diff),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = verb->usage,
		.opts = opts,
		.more_opts = verb->opts,
		.min_words = verb->min_words,
		.max_words = 2,
		.takes_paths = true,
		.prints_paths = true,
	};
	int rc;

	rc = ews_cmd_parse(args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	ctx->quiet = ctx->quiet || set->is_silent;
	if (set->from && strcmp(set->from, "base") != 0 && strcmp(set->from, "parent") != 0)
		return ews_error(EWS_EUSAGE, "--from takes base or parent, not '%s'", set->from);
	if (set->from && args->words.n > 1)
		return ews_error(EWS_EUSAGE, "--from says what one state is compared with, and two are named");
	return ews_diff_opts_settle(&set->diff, ctx);
}

/* Is this word git's whatever sessions and snapshots are called? */
static bool is_gits(const char *word)
{
	return !strcmp(word, "HEAD") || ews_str_begins(word, "refs/") || strpbrk(word, "^~:@{");
}

/*
 * A round alone is what was done in it: its session while it goes on, then what lies between its base and its commit. Beside another state
 * it is its commit.
 */
static int take_rounds(struct ews_strv *words, struct settings *set, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv named = EWS_STRV_INIT;
	bool is_alone = words->n == 1;

	ews_strv_add_array(&named, words->items);
	ews_strv_clear(words);
	for (size_t i = 0; i < named.n; i++) {
		EWS_CLEANUP(round) struct ews_round round = { 0 };
		char hex[EWS_OID_HEX_MAX];
		int rc = ews_round_named(&round, repo, named.items[i]);

		if (rc < 0)
			return rc;
		if (rc > 0 || (is_alone && round.is_open)) {
			ews_strv_add(words, rc > 0 ? named.items[i] : round.id);
			continue;
		}
		if (is_alone && (!set->from || !strcmp(set->from, "base"))) {
			ews_strv_add(words, round.base);
			set->from = NULL;
		}
		ews_strv_add(words, ews_oid_hex(hex, &round.tip));
	}
	return 0;
}

/* What is compared: NULL as from is the session's base, NULL as to its present state. */
struct sides {
	const char *from, *to;
	char *session; /* whose base and present state these are; NULL: to be implied */
	char *parent; /* of what --from names, or NULL */
	bool is_project; /* no session is meant, but the project itself */
};

static void release_sides(struct sides *sides)
{
	free(sides->session);
	free(sides->parent);
}

EWS_CLEANUP_DEFINE(sides, struct sides, release_sides)

/* Find out whose present state `word` goes with: 1 when it names a session, else 0. */
static int look_up(struct sides *sides, struct ews_repo *repo, const char *word)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(free) char *session = NULL;
	int rc;

	if (!strcmp(word, "now"))
		return 0;
	rc = is_gits(word) ? EWS_ENOTFOUND : ews_session_resolve(&session, repo, word);
	if (rc == 0) {
		if (!sides->session)
			sides->session = ews_steal(&session);
		return 1;
	}
	if (ews_error_if_passing(rc) < 0)
		return rc;
	rc = ews_snapshot_find(&snapshot, repo, word);
	if (rc < 0)
		return rc;
	if (!*snapshot.session)
		sides->is_project = sides->is_project || *snapshot.ref;
	else if (!sides->session)
		sides->session = ews_steal(&snapshot.session);
	return 0;
}

static int choose_sides(struct sides *out, struct ews_repo *repo, const struct ews_strv *words)
{
	int rc;

	if (!words->n)
		return 0;
	rc = look_up(out, repo, words->items[0]);
	if (rc < 0 || (words->n == 1 && rc > 0))
		return rc < 0 ? rc : 0;
	out->from = words->items[0];
	out->to = words->n > 1 ? words->items[1] : "now";
	rc = words->n > 1 ? look_up(out, repo, words->items[1]) : 0;
	return rc < 0 ? rc : 0;
}

/* What can be compared where there is no parent. */
static void hint_at_others(const char *name, bool has_base)
{
	if (has_base)
		ews_error_hint("--from base compares with the state at the start");
	else
		ews_error_hint(
			"'git ews snapshot list' shows those that it can be compared with: git ews diff <one> %s",
			name);
}

static int fail_without_parent(const char *what, const char *name, bool has_base)
{
	ews_error(EWS_ENOTFOUND, "%s '%s' was made from no other snapshot, so it has no parent", what, name);
	hint_at_others(name, has_base);
	return EWS_ENOTFOUND;
}

/*
 * One that was dropped is had from trash. What has gone from there as well only git may still find, which nobody asks in a store of
 * ours: clean collects there.
 */
static int check_parent(struct ews_repo *repo, const char *what, const char *name, bool has_base, const char *parent)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	int rc = ews_snapshot_find(&snapshot, repo, parent);

	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error(EWS_ENOTFOUND, "'%s', from which %s '%s' was made, was dropped, and is not in trash any more",
		  parent, what, name);
	if (repo->is_plain)
		hint_at_others(name, has_base);
	else
		ews_error_hint("as long as 'git fsck --lost-found' finds its commit, the one with 'Ews-Snapshot: %s', "
			       "'git update-ref " EWS_REF_SNAPSHOTS "%s <commit>' brings it back",
			       parent, parent);
	return EWS_ENOTFOUND;
}

/* With --from the one state that is named is what we come to. */
static int turn_round(struct sides *sides, struct ews_repo *repo, const char *from)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	int rc;

	if (!from || !sides->from)
		return 0;
	sides->to = sides->from;
	sides->from = NULL;
	if (!strcmp(sides->to, "now"))
		return 0;
	rc = ews_snapshot_find(&snapshot, repo, sides->to);
	if (rc < 0)
		return rc;
	if (!strcmp(from, "parent") && !*snapshot.parent)
		return fail_without_parent("snapshot", sides->to, sides->session);
	if (!strcmp(from, "base") && !sides->session)
		return ews_error(EWS_EUSAGE, "'%s' is of no session, so it has no base", sides->to);
	sides->parent = ews_steal(&snapshot.parent);
	sides->from = !strcmp(from, "parent") ? sides->parent : sides->session; /* a session's id names its base */
	if (sides->from == sides->parent)
		return check_parent(repo, "snapshot", sides->to, sides->session, sides->parent);
	return 0;
}

/* The state that a session was started from is the parent of its base. */
static int take_parent(struct sides *sides, const struct ews_session *session, const char *from)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	int rc;

	if (!from || strcmp(from, "parent") != 0 || sides->from)
		return 0;
	rc = ews_snapshot_base(&base, session);
	if (rc < 0)
		return rc;
	if (!*base.parent)
		return fail_without_parent("session", session->state.id, true);
	sides->parent = ews_steal(&base.parent);
	sides->from = sides->parent;
	sides->to = "now";
	return check_parent(session->repo, "session", session->state.id, true, sides->parent);
}

static bool needs_present(const struct sides *sides)
{
	return !sides->from || !sides->to || !strcmp(sides->from, "now") || !strcmp(sides->to, "now");
}

/*
 * Open the session whose present state is compared. Where two states are named and no session
 * is meant, it is the project's present state. Returns 1 when `out` was opened.
 */
static int open_session(struct ews_session *out, struct ews_cmd_ctx *ctx, const struct sides *sides)
{
	int rc;

	if (!needs_present(sides) || (sides->is_project && !sides->session))
		return 0;
	rc = ews_cmd_open_session(out, ctx, sides->session, false);
	if (rc == EWS_ENOTFOUND && sides->from && !sides->session) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0 && !ews_session_is_interrupted(out))
		rc = ews_session_need_active(out);
	if (rc < 0)
		ews_pending_hint(out);
	return rc < 0 ? rc : 1;
}

/* A plain --relative means the current directory, where git does not stand when it prints. */
static void settle_relative(struct ews_strv *options, const struct ews_cmd_ctx *ctx, const char *root)
{
	EWS_CLEANUP(strv) struct ews_strv settled = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *here = ews_cmd_here(ctx, root);
	size_t i;

	for (i = 0; i < options->n; i++)
		if (strcmp(options->items[i], "--relative") != 0)
			ews_strv_add(&settled, options->items[i]);
		else if (*here)
			ews_strv_addf(&settled, "--relative=%s", here);
	ews_strv_clear(options);
	ews_strv_add_array(options, settled.items);
}

/* Which of the two states somebody rewrote: what is compared is what they were made of. */
static void tell_rewritten(struct ews_strv *out, const struct ews_diff *diff)
{
	ews_rewritten_tell(out, &diff->from.snapshot);
	ews_rewritten_tell(out, &diff->to.snapshot);
}

static int show_json(struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_session *session,
		     struct ews_diff *diff, const struct ews_strv *stale)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("diff");
	EWS_CLEANUP(strv) struct ews_strv rewritten = EWS_STRV_INIT;
	int rc;

	ews_render_string(object, "session_id", session ? session->state.id : NULL);
	ews_render_string(object, "from", diff->from.is_now ? "now" : diff->from.snapshot.id);
	ews_render_string(object, "to", diff->to.is_now ? "now" : diff->to.snapshot.id);
	if (session) {
		(void)cJSON_AddBoolToObject(object, "stale", stale->n);
		ews_render_sentences(object, "stale_reasons", stale);
	}
	tell_rewritten(&rewritten, diff);
	ews_render_sentences(object, "rewritten", &rewritten);
	rc = set->diff.changes == EWS_CHANGES_DIFF ? ews_diff_texts(diff, ctx->repo) : 0;
	if (rc == 0)
		rc = ews_render_changes(object, ctx->repo, diff, set->diff.changes);
	if (rc < 0)
		return rc;
	ews_cmd_json_show(ctx, object);
	return 0;
}

static int show_text(struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_diff *diff,
		     const struct ews_strv *paths, const struct ews_strv *stale)
{
	EWS_CLEANUP(strv) struct ews_strv options = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv rewritten = EWS_STRV_INIT;
	size_t i;
	int rc;

	for (i = 0; i < stale->n; i++)
		ews_cmd_note(ctx, "stale: %s", stale->items[i]);
	tell_rewritten(&rewritten, diff);
	for (i = 0; i < rewritten.n; i++)
		ews_cmd_note(ctx, "%s", rewritten.items[i]);
	ews_pager_start(ctx);
	ews_render_reasons_talk(ctx, "not in the patch", &diff->not_in_patch);
	if (set->diff.changes != EWS_CHANGES_DIFF)
		return ews_render_changes_text(&ctx->out, ctx->repo, diff, set->diff.changes, ctx->nul);
	ews_diff_opts_for_git(&options, &set->diff, ctx);
	rc = ews_diff_print(diff, ctx->repo, options.items, paths->n ? paths->items : NULL, ews_pager_is_terminal(),
			    STDOUT_FILENO, NULL);
	if (rc < 0 && ews_pager_excuses())
		return 0;
	return rc;
}

int ews_cmd_diff_as(const struct ews_diff_verb *verb, struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(settings) struct settings set = { .diff = EWS_DIFF_SETTINGS_INIT };
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(sides) struct sides sides = { .is_project = false };
	EWS_CLEANUP(strv) struct ews_strv reasons = EWS_STRV_INIT;
	EWS_CLEANUP(epoch_looking) struct ews_epoch_looking *looking = NULL;
	struct ews_progress progress;
	struct ews_session *seen;
	struct ews_repo *project;
	const char *root;
	bool says_stale;
	int rc;

	rc = parse(&set, &args, verb, ctx, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0 && verb->translate)
		rc = verb->translate(verb->payload, ctx, &args.words);
	else if (rc == 0)
		rc = take_rounds(&args.words, &set, ctx->repo);
	if (rc == 0)
		rc = choose_sides(&sides, ctx->repo, &args.words);
	if (rc == 0)
		rc = turn_round(&sides, ctx->repo, set.from);
	if (rc == 0)
		rc = open_session(&session, ctx, &sides);
	if (rc < 0)
		return rc;
	seen = rc ? &session : NULL;
	if (seen && session.state.state == EWS_STATE_ACTIVE)
		ews_session_look_early(seen);
	rc = seen ? take_parent(&sides, seen, set.from) : 0;
	if (rc < 0)
		return rc;
	root = seen ? session.state.workspace : ctx->repo->project;
	settle_relative(&set.diff.selecting, ctx, root);
	rc = ews_cmd_pathspecs(&paths, &diff.opts.are_specs, ctx, root, &args.paths);
	if (rc < 0)
		return rc;
	ews_progress_init(&progress, ctx, "Comparing files");
	diff.opts.progress = ews_progress_show;
	diff.opts.payload = &progress;
	diff.opts.without_index = true;
	diff.opts.names_written = true;
	/* Where an object may be missing, the counting finds that before half a patch is out. */
	diff.opts.count.no_counts = !ctx->json && (set.is_silent || set.diff.changes == EWS_CHANGES_DIFF) &&
				    !ews_odb_is_partial(ctx->repo->odb);
	/* Of two states that are named nothing is said: what was done is what lies between base and present. */
	says_stale = seen && !sides.from && (ctx->json || !ctx->quiet);
	/* Where the project is gone nothing is begun, and the end says so. */
	if (says_stale && !session.method->is_project && ews_session_project(&project, &session) == 0)
		ews_epoch_look_begin(&looking, project);
	ews_error_clear();
	diff.opts.looking = looking;
	rc = ews_diff_sides(&diff, ctx->repo, seen, sides.from, sides.to);
	ews_progress_end(&progress);
	if (rc == 0)
		rc = ews_diff_records(&diff, ctx->repo, paths.n ? paths.items : NULL);
	if (rc < 0)
		return rc;
	if (says_stale)
		ews_stale_tell(&reasons, &session, &diff.from.content.scan.entries, looking);
	if (ctx->json)
		rc = show_json(ctx, &set, seen, &diff, &reasons);
	else if (!set.is_silent)
		rc = show_text(ctx, &set, &diff, &paths, &reasons);
	if (rc == 0 && (set.exit_code || set.is_silent))
		rc = ews_diff_differs(&diff, ctx->repo, set.diff.selecting.items, paths.n ? paths.items : NULL);
	return rc < 0 ? rc : rc ? 1 : 0;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	const struct ews_diff_verb verb = { .usage = usage };

	return ews_cmd_diff_as(&verb, ctx, argc, argv);
}

const struct ews_cmd ews_cmd_diff = { "diff", "show what changed, as a patch", run };
