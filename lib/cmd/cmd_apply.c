/*
 * git ews apply: what a session, snapshots or a patch did comes into the project.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_apply.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/choose.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/render_apply.h"
#include "cmd/render_artifact.h"
#include "work/round_find.h"
#include "work/session_name.h"
#include "work/suggestion.h"

#define PATCH_BYTES_MAX EWS_GIB

static const char *const usage[] = {
	"git ews apply [--check] [--3way] [--index] [--commit [-m <text>]] [--prefix <dir>] [--force]",
	"              [--patch | --hunks <file>:<n>[,<n>...]]",
	"              [<session>[:<path>] | <round> | <snapshot>..<snapshot> | <suggestion> | <file> | -]...",
	"              [-- <pathspec>...]",
	NULL,
};

/* What a word of the command line came to; its strings live as long as this. */
struct origin {
	struct ews_apply_source source;
	char *session, *path, *from, *to, *name;
	struct ews_buf data;
};

struct settings {
	const struct ews_apply_verb *verb; /* whose options these are; NULL: this one's */
	struct ews_apply_opts apply;
	const char *prefix;
	bool ask;
	struct ews_strv hunks;
	struct ews_choosing choosing;
	struct origin *origins;
	struct ews_apply_source *sources;
	size_t n;
};

static void release_settings(struct settings *set)
{
	size_t i;

	for (i = 0; i < set->n; i++) {
		free(set->origins[i].session);
		free(set->origins[i].path);
		free(set->origins[i].from);
		free(set->origins[i].to);
		free(set->origins[i].name);
		ews_buf_release(&set->origins[i].data);
	}
	ews_strv_release(&set->hunks);
	free(set->origins);
	free(set->sources);
}

EWS_CLEANUP_DEFINE(settings, struct settings, release_settings)

/* The path that stands after "<session>:", seen from the top of the workspace, which stands for all. */
static int take_path(struct origin *origin, const struct ews_session *session, const char *word)
{
	const char *top = session->state.workspace;
	EWS_CLEANUP(free) char *real = realpath(top, NULL);
	EWS_CLEANUP(free) char *path = ews_path_absolute(top, word);
	const char *below = ews_dir_find_below(path, top, real ? real : top);

	if (!below)
		return ews_error(EWS_EUSAGE, "'%s' is outside of '%s'", word, top);
	if (!*below)
		return 0;
	origin->path = ews_strdup(below);
	origin->source.path = origin->path;
	return 0;
}

/* Open the session for its announcements, and take its full name; of what it did `path` alone ("": all). */
static int take_session(struct origin *origin, struct ews_cmd_ctx *ctx, const char *name, const char *path)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc;

	rc = ews_cmd_open_session(&session, ctx, name, false);
	if (rc < 0)
		return rc;
	origin->session = ews_strdup(session.state.id);
	origin->source = (struct ews_apply_source){ .kind = EWS_APPLY_SESSION,
						    .name = origin->session,
						    .session = origin->session };
	return *path ? take_path(origin, &session, path) : 0;
}

/* "<session>" or "<session>:<path>". Returns 1 when no session is called so. */
static int read_session(struct origin *origin, struct ews_cmd_ctx *ctx, const char *word)
{
	size_t len = strcspn(word, ":");
	EWS_CLEANUP(free) char *name = ews_strndup(word, len);
	EWS_CLEANUP(free) char *id = NULL;
	int rc;

	rc = ews_session_check_id(name) < 0 ? EWS_ENOTFOUND : ews_session_resolve(&id, ctx->repo, name);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 1;
	}
	return rc < 0 ? rc : take_session(origin, ctx, id, word[len] ? word + len + 1 : "");
}

/*
 * A round: what lies between its base and its commit; while it goes on that is nothing yet, and what its workspace has now is
 * meant. Returns 1 when no round is called so.
 */
static int read_round(struct origin *origin, struct ews_cmd_ctx *ctx, const char *word)
{
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	char hex[EWS_OID_HEX_MAX];
	int rc;

	rc = ews_round_named(&round, ctx->repo, word);
	if (rc == 0 && round.is_open)
		rc = take_session(origin, ctx, round.id, "");
	if (rc != 0)
		return rc;
	if (!round.is_open) {
		origin->from = ews_steal(&round.base);
		origin->to = ews_strdup(ews_oid_hex(hex, &round.tip));
		origin->source =
			(struct ews_apply_source){ .kind = EWS_APPLY_RANGE, .from = origin->from, .to = origin->to };
	}
	origin->source.name = word;
	return 0;
}

/* "<snapshot>..<snapshot>"; without the second one it is the present state. Returns 1 when it is no such thing. */
static int read_range(struct origin *origin, struct ews_cmd_ctx *ctx, const char *word)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot from = EWS_SNAPSHOT_INIT;
	const char *dots = strstr(word, "..");
	int rc;

	if (!dots || dots == word)
		return 1;
	origin->from = ews_strndup(word, (size_t)(dots - word));
	origin->to = ews_strdup(dots[2] ? dots + 2 : "now");
	rc = ews_snapshot_find(&from, ctx->repo, origin->from);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 1;
	}
	if (rc < 0)
		return rc;
	if (*from.session && !strcmp(origin->to, "now"))
		origin->session = ews_strdup(from.session);
	origin->source = (struct ews_apply_source){ .kind = EWS_APPLY_RANGE,
						    .name = word,
						    .session = origin->session,
						    .from = origin->from,
						    .to = origin->to };
	return 0;
}

/* A suggestion's name; a file goes before one of which the word is but a part. Returns 1 when it is none. */
static int read_suggestion(struct origin *origin, struct ews_cmd_ctx *ctx, const char *word)
{
	EWS_CLEANUP(artifacts) struct ews_artifacts list = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	EWS_CLEANUP(free) char *path = ews_path_absolute(ctx->cwd, word);
	const struct ews_artifact *found;
	bool is_exact;
	int rc;

	rc = ews_artifact_list(&list, &news, ctx->repo);
	if (rc < 0)
		return rc;
	ews_render_artifact_news_talk(ctx, &news);
	rc = ews_suggestion_find(&found, &is_exact, &list, word);
	if (rc == EWS_ENOTFOUND || (!is_exact && access(path, F_OK) == 0)) {
		ews_error_clear();
		return 1;
	}
	if (rc == 0)
		rc = ews_suggestion_read(&origin->data, ctx->repo, found);
	if (rc < 0)
		return rc;
	origin->name = ews_strdup(ews_artifact_name(found));
	origin->source = (struct ews_apply_source){
		.kind = EWS_APPLY_PATCH, .name = origin->name, .data = origin->data.ptr, .len = origin->data.len
	};
	return 0;
}

static int read_patch(struct origin *origin, const struct ews_cmd_ctx *ctx, const char *word)
{
	bool is_stdin = !strcmp(word, "-");
	EWS_CLEANUP(free) char *path = ews_path_absolute(ctx->cwd, word);
	EWS_CLEANUP(fd) int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0 && !is_stdin && access(path, F_OK) < 0) {
		(void)ews_error(EWS_ENOTFOUND,
				"'%s' is no session, no round, no snapshots, no suggestion and no file", word);
		if (!ews_session_hint_former(ctx->repo))
			ews_error_hint("'git ews status' lists the sessions; a patch may also come from standard input "
				       "as '-'");
		return EWS_ENOTFOUND;
	}
	rc = fd < 0 ? ews_error_os("cannot open") : ews_file_read_fd(&origin->data, fd, PATCH_BYTES_MAX);
	if (rc < 0)
		return ews_error_wrap("'%s'", word);
	origin->source = (struct ews_apply_source){ .kind = EWS_APPLY_PATCH,
						    .name = is_stdin ? "standard input" : word,
						    .data = origin->data.ptr,
						    .len = origin->data.len };
	return 0;
}

static bool is_file_whatever(const char *word)
{
	return !strcmp(word, "-") || *word == '/' || ews_str_begins(word, "./") || ews_str_begins(word, "../");
}

static int read_word(struct origin *origin, struct ews_cmd_ctx *ctx, const char *word)
{
	static int (*const named[])(struct origin *, struct ews_cmd_ctx *,
				    const char *) = { read_session, read_round, read_range, read_suggestion };
	int rc = 1;

	for (size_t i = 0; i < sizeof(named) / sizeof(*named) && rc == 1 && !is_file_whatever(word); i++)
		rc = named[i](origin, ctx, word);
	return rc == 1 ? read_patch(origin, ctx, word) : rc;
}

static int read_words(struct settings *set, struct ews_cmd_ctx *ctx, const struct ews_strv *words)
{
	size_t i;
	int rc = 0;

	set->n = words->n ? words->n : 1;
	set->origins = ews_calloc(set->n, sizeof(*set->origins));
	set->sources = ews_calloc(set->n, sizeof(*set->sources));
	for (i = 0; i < set->n; i++)
		set->origins[i].data = (struct ews_buf)EWS_BUF_INIT;
	if (set->verb)
		rc = set->verb->find(set->verb->payload, &set->origins[0].source, ctx, words->items[0]);
	else if (!words->n)
		rc = take_session(&set->origins[0], ctx, NULL, "");
	for (i = 0; i < words->n && rc == 0 && !set->verb; i++)
		rc = read_word(&set->origins[i], ctx, words->items[i]);
	for (i = 0; i < set->n; i++)
		set->sources[i] = set->origins[i].source;
	return rc;
}

/* Was everything that the source says done, as it says it? */
static bool is_all_done(const struct settings *set, const struct ews_apply_result *result)
{
	const struct ews_apply_opts *opts = &set->apply;

	return !opts->check && !opts->only && !opts->specs && !opts->prefix && !opts->choose &&
	       !result->is_refused && !result->merge.conflicts.n;
}

static int apply(struct ews_cmd_ctx *ctx, struct settings *set, const struct ews_strv *paths)
{
	EWS_CLEANUP(apply_result) struct ews_apply_result result = EWS_APPLY_RESULT_INIT;
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv asked = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv prefix = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv hunk_files = EWS_STRV_INIT;
	struct ews_progress progress;
	bool are_specs;
	int said = 0;
	int rc;

	set->choosing = (struct ews_choosing){ .ctx = ctx, .wanted = &set->hunks };
	if (set->prefix)
		ews_strv_add(&asked, set->prefix);
	rc = ews_cmd_pathspecs(&only, &are_specs, ctx, ctx->repo->project, paths);
	if (rc == 0)
		rc = ews_cmd_paths(&prefix, ctx, ctx->repo->project, &asked);
	if (rc == 0)
		rc = ews_choose_files(&hunk_files, &set->choosing);
	if (rc < 0)
		return rc;
	set->apply.only = are_specs ? NULL : ews_cmd_only(&only);
	set->apply.specs = are_specs ? &only : NULL;
	set->apply.prefix = prefix.n ? prefix.items[0] : NULL;

	set->apply.hunk_files = set->hunks.n ? &hunk_files : NULL;
	set->apply.choosing = &set->choosing;
	set->apply.choose = set->ask ? ews_choose_by_asking : set->hunks.n ? ews_choose_by_number : NULL;

	ews_progress_init(&progress, ctx, "Applying");
	set->apply.progress = ews_progress_show;
	set->apply.payload = &progress;
	rc = ews_apply(&result, ctx->repo, set->sources, set->n, &set->apply);
	ews_progress_end(&progress);
	if (rc == 0)
		rc = ews_render_apply(ctx, &result, set->apply.check);
	if (rc == 0 && set->verb && set->verb->settle && is_all_done(set, &result))
		said = set->verb->settle(set->verb->payload, ctx);
	if (rc >= 0 && said == 0)
		ews_render_apply_way_back(ctx, &result, set->apply.check);
	return said < 0 ? said : rc;
}

/* What can't be meant together, or not here. */
static int check(const struct settings *set, const struct ews_strv *words)
{
	if (set->apply.three_way && set->apply.force)
		return ews_error(EWS_EUSAGE, "--3way and --force exclude each other");
	if (set->apply.message && !set->apply.commit)
		return ews_error(EWS_EUSAGE, "-m is for --commit");
	if (set->ask && set->hunks.n)
		return ews_error(EWS_EUSAGE, "--patch and --hunks exclude each other");
	if (set->hunks.n && words->n > 1)
		return ews_error(EWS_EUSAGE, "--hunks counts the hunks of one source");
	if (!set->ask || (ews_cmd_can_ask() && !ews_strv_has(words, "-")))
		return 0;
	(void)ews_error(EWS_EDENIED, "there is no terminal to ask at which hunks are wanted");
	ews_error_hint("name them: --hunks <file>:<n>[,<n>...]");
	return EWS_EDENIED;
}

static int run_either(const struct ews_apply_verb *verb, struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(settings) struct settings set = { .verb = verb, .hunks = EWS_STRV_INIT };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "check", &set.apply.check, "show what would be done, and do nothing"),
		EWS_OPT_BOOL('n', "dry-run", &set.apply.check, "the same"),
		EWS_OPT_BOOL('3', "3way", &set.apply.three_way,
			     "leave markers where both sides changed the same lines"),
		EWS_OPT_BOOL(0, "index", &set.apply.index, "stage it as well"),
		EWS_OPT_BOOL(0, "commit", &set.apply.commit, "and commit it, on the branch of the project"),
		EWS_OPT_STRING('m', "message", &set.apply.message, "text", "the commit's message"),
		EWS_OPT_BOOL('p', "patch", &set.ask, "ask for each hunk"),
		EWS_OPT_LIST(0, "hunks", &set.hunks, "file:n[,n...]",
			     "these hunks alone, counted as in git ews diff -- <file>"),
		EWS_OPT_STRING(0, "prefix", &set.prefix, "dir", "only what is below this directory of the project"),
		EWS_OPT_BOOL('f', "force", &set.apply.force,
			     "where both sides changed something, take theirs; ours is kept"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = verb ? verb->usage : usage,
		.opts = opts,
		.min_words = verb ? 1 : 0,
		.max_words = verb ? 1 : SIZE_MAX,
		.takes_paths = true,
		.prints_paths = true,
	};
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = check(&set, &args.words);
	if (rc < 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = read_words(&set, ctx, &args.words);
	return rc < 0 ? rc : apply(ctx, &set, &args.paths);
}

int ews_cmd_apply_one(const struct ews_apply_verb *verb, struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return run_either(verb, ctx, argc, argv);
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return run_either(NULL, ctx, argc, argv);
}

const struct ews_cmd ews_cmd_apply = { "apply", "bring the work home into the project", run };
