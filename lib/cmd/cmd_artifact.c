/*
 * git ews artifact: keep, list, show, hand out and let go of what outlives a session; the table of its verbs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/prune_opts.h"
#include "cmd/render_artifact.h"
#include "cmd/render_path.h"
#include "work/harvest.h"
#include "work/session_name.h"
#include "work/session_place.h"
#include "work/undo_words.h"

static const char *const add_usage[] = {
	"git ews artifact add --type <type> [--name <name>] [--description <text>] [--session <session>] <file>",
	"git ews artifact add --type <type> [<options>] --from-workspace <path>",
	"git ews artifact add --type <type> [<options>] -",
	NULL,
};

static const char *const collect_usage[] = {
	"git ews artifact collect [--dry-run] [<session>]",
	NULL,
};

static const char *const list_usage[] = {
	"git ews artifact list [--type <type>] [--session <session>]",
	NULL,
};

static const char *const show_usage[] = {
	"git ews artifact show <artifact>",
	NULL,
};

static const char *const export_usage[] = {
	"git ews artifact export --to <dir> <artifact>...",
	NULL,
};

static const char *const remove_usage[] = {
	"git ews artifact remove [--dry-run] <artifact>...",
	NULL,
};

static const char *const prune_usage[] = {
	"git ews artifact prune [--keep <n>] [--older-than <age>] [--dry-run]",
	NULL,
};

struct add_settings {
	const char *type, *name, *description, *session, *from_workspace;
};

/* A file of the session's workspace; no link on the way to it is followed. */
static int open_of_workspace(char **original, struct ews_cmd_ctx *ctx, const struct ews_session *session,
			     const char *path)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv inside = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int workspace = -1;
	int rc;

	ews_strv_add(&paths, path);
	rc = ews_session_need_active(session);
	if (rc == 0)
		rc = ews_cmd_paths(&inside, ctx, session->state.workspace, &paths);
	if (rc == 0 && !inside.n)
		rc = ews_error(EWS_EUSAGE, "'%s' is the workspace itself, not a file in it", path);
	if (rc == 0)
		rc = workspace = ews_session_open_workspace(session);
	if (rc < 0)
		return rc;
	*original = ews_strdup(inside.items[0]);
	return ews_dir_open_file(workspace, *original, O_RDONLY, 0);
}

/* A file that the command line names, or "-". */
static int open_named(const char *file)
{
	int fd = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	return fd < 0 ? ews_error_os("cannot open '%s'", file) : fd;
}

/* Directories are no files, and what is no file in a workspace may be anything. */
static int check_kind(struct stat *st, int fd, const char *file, bool is_regular)
{
	if (fstat(fd, st) < 0)
		return ews_error_os("cannot read '%s'", file);
	if (S_ISDIR(st->st_mode) || (is_regular && !S_ISREG(st->st_mode)))
		return ews_error(EWS_EUSAGE, "'%s' is not a file", file);
	return 0;
}

/* The session that it is of: the one that is named or implied, if any. */
static int find_session(struct ews_session *out, char **id, struct ews_cmd_ctx *ctx, const struct add_settings *set)
{
	int rc;

	if (set->from_workspace) {
		rc = ews_cmd_open_session(out, ctx, set->session, false);
		if (rc == 0)
			*id = ews_strdup(out->state.id);
		return rc;
	}
	rc = ews_cmd_open_repo_or_make(ctx, EWS_REPO_MAKE_PLAIN);
	if (rc == 0)
		rc = set->session ? 1 : ews_session_is_implied(ctx->repo);
	return rc <= 0 ? rc : ews_session_resolve(id, ctx->repo, set->session);
}

static void show_added(struct ews_cmd_ctx *ctx, const struct ews_artifact *artifact, const char *path,
		       const struct ews_artifact_news *news)
{
	EWS_CLEANUP(free) char *place = ews_strndup(path, strlen(path) - strlen(artifact->path) - 1);
	EWS_CLEANUP(json) cJSON *object = NULL;

	if (!ctx->json) {
		ews_render_artifact_news_talk(ctx, news);
		ews_cmd_note(ctx, "kept as %s", path);
		ews_buf_addf(&ctx->out, "%s\n", artifact->id);
		return;
	}
	object = ews_cmd_json_new("artifact");
	cJSON_AddItemToObject(object, "artifact", ews_render_artifact(artifact, place));
	ews_render_artifact_news(object, news);
	ews_cmd_json_show(ctx, object);
}

static int add(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	EWS_CLEANUP(free) char *session_id = NULL;
	EWS_CLEANUP(free) char *original = NULL;
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	struct add_settings set = { NULL, NULL, NULL, NULL, NULL };
	struct ews_artifact_new what = { 0 };
	struct stat st;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "type", &set.type, "type",
			       "what it is: patch, suggested_fix, test_unit, qr, log, ..."),
		EWS_OPT_STRING(0, "name", &set.name, "name", "the name of its file"),
		EWS_OPT_STRING(0, "description", &set.description, "text", "what to say of it"),
		EWS_OPT_STRING(0, "session", &set.session, "session", "the session that it is of"),
		EWS_OPT_STRING(0, "from-workspace", &set.from_workspace, "path", "a file of the session's workspace"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = add_usage, .opts = opts, .max_words = 1 };
	const char *file;
	bool is_stream;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (!set.type)
		return ews_error(EWS_EUSAGE, "--type says what it is");
	if (!set.from_workspace == !args.words.n)
		return ews_error(EWS_EUSAGE, "one file is kept: <file>, '-' or --from-workspace <path>");
	rc = ews_artifact_type_read(&what.type, set.type);
	if (rc == 0)
		rc = find_session(&session, &session_id, ctx, &set);
	if (rc < 0)
		return rc;
	file = set.from_workspace ? set.from_workspace : args.words.items[0];
	rc = fd = set.from_workspace ? open_of_workspace(&original, ctx, &session, file) : open_named(file);
	if (rc >= 0)
		rc = check_kind(&st, fd, file, set.from_workspace != NULL);
	if (rc < 0)
		return rc;
	what.fd = fd;
	what.session = session_id;
	what.description = set.description;
	what.original = original;
	is_stream = !set.from_workspace && !strcmp(file, "-");
	what.is_executable = !is_stream && S_ISREG(st.st_mode) && (st.st_mode & 0100);
	what.name = set.name ? set.name : is_stream ? NULL : ews_path_base(file);
	rc = ews_artifact_add(&artifact, &path, &news, ctx->repo, &what);
	if (rc < 0)
		return rc;
	show_added(ctx, &artifact, path, &news);
	return 0;
}

/* `kept` has none where that was not asked for. */
static void show_collected(struct ews_cmd_ctx *ctx, const struct ews_harvest *harvest,
			   const struct ews_artifacts *kept, bool dry_run)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("artifact_collect");
	cJSON *array = cJSON_AddArrayToObject(object, "tests");

	(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
	for (size_t i = 0; i < harvest->n; i++) {
		const struct ews_harvest_test *test = &harvest->items[i];
		const char *id = kept->n ? kept->items[i].id : NULL;
		cJSON *item = cJSON_CreateObject();

		ews_json_add_path(item, "original_file", test->path);
		(void)cJSON_AddStringToObject(item, "type", ews_artifact_type_word(test->type));
		ews_render_string(item, "id", id);
		cJSON_AddItemToArray(array, item);
		if (ctx->json)
			continue;
		ews_buf_addf(&ctx->out, "%-20s  ", id ? id : ews_artifact_type_word(test->type));
		ews_cmd_add_path_line(ctx, test->path);
	}
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
}

static int collect(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(harvest) struct ews_harvest harvest = EWS_HARVEST_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts kept = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(free) struct ews_artifact_new *tests = NULL;
	bool dry_run = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('n', "dry-run", &dry_run, "list what would be kept"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = collect_usage,
		.opts = opts,
		.max_words = 1,
		.prints_paths = true,
	};
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_session(&session, ctx, args.words.items[0], false);
	if (rc == 0)
		rc = ews_session_need_active(&session);
	if (rc == 0)
		rc = ews_diff_sides(&diff, ctx->repo, &session, NULL, NULL);
	if (rc == 0)
		rc = ews_diff_records(&diff, ctx->repo, NULL);
	if (rc == 0)
		rc = ews_harvest_find(&harvest, ctx->repo, &diff);
	if (rc < 0)
		return rc;
	tests = ews_harvest_artifacts(&harvest, &session);
	if (!dry_run)
		rc = ews_artifact_add_all(&kept, NULL, ctx->repo, tests, harvest.n);
	if (rc < 0)
		return rc;
	show_collected(ctx, &harvest, &kept, dry_run);
	return 0;
}

/* All of the project, and what was mended on the way. */
static int read_list(struct ews_artifacts *out, struct ews_artifact_news *news, struct ews_cmd_ctx *ctx)
{
	int rc = ews_cmd_open_repo(ctx);

	if (rc == 0)
		rc = ews_artifact_list(out, news, ctx->repo);
	if (rc == 0)
		ews_render_artifact_news_talk(ctx, news);
	return rc;
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts artifacts = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("artifact_list");
	EWS_CLEANUP(free) const struct ews_artifact **shown = NULL;
	cJSON *array = cJSON_AddArrayToObject(object, "artifacts");
	const char *type_word = NULL, *session = NULL;
	enum ews_artifact_type type = 0;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "type", &type_word, "type", "those of that type alone"),
		EWS_OPT_STRING(0, "session", &session, "session", "those of that session alone"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = list_usage, .opts = opts, .prints_paths = true };
	size_t n = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc == 0 && type_word)
		rc = ews_artifact_type_read(&type, type_word);
	if (rc != 0)
		return rc;
	rc = read_list(&artifacts, &news, ctx);
	if (rc < 0)
		return rc;
	shown = ews_calloc(artifacts.n + 1, sizeof(*shown));
	for (size_t i = 0; i < artifacts.n; i++) {
		const struct ews_artifact *artifact = &artifacts.items[i];

		/* A session may be gone for long: its name is all that is left of it. */
		if ((type && artifact->type != type) ||
		    (session && (!*session || !ews_str_begins(artifact->session, session))))
			continue;
		shown[n++] = artifact;
		cJSON_AddItemToArray(array, ews_render_artifact(artifact, artifacts.place));
	}
	if (ctx->json) {
		ews_render_artifact_news(object, &news);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_pager_start(ctx);
	ews_render_artifact_lines(&ctx->out, shown, n, ctx->nul);
	return 0;
}

/* Those that `words` name, each once; all are found before anything is done with one. */
static int find_named(const struct ews_artifact **out, size_t *n, const struct ews_artifacts *artifacts,
		      const struct ews_strv *words)
{
	for (size_t i = 0; i < words->n; i++) {
		const struct ews_artifact *found = NULL;
		bool is_known = false;
		int rc = ews_artifact_find(&found, artifacts, words->items[i]);

		if (rc < 0)
			return rc;
		for (size_t k = 0; k < *n; k++)
			is_known = is_known || out[k] == found;
		if (!is_known)
			out[(*n)++] = found;
	}
	return 0;
}

static int show(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts artifacts = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	const struct ews_cmd_syntax syntax = { .usage = show_usage, .min_words = 1, .max_words = 1 };
	const struct ews_artifact *found;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = read_list(&artifacts, &news, ctx);
	if (rc == 0)
		rc = ews_artifact_find(&found, &artifacts, args.words.items[0]);
	if (rc < 0)
		return rc;
	ews_artifact_copy(&artifact, found);
	rc = ews_artifact_verify(&artifact, ctx->repo);
	if (rc < 0)
		return rc;
	if (!ctx->json) {
		ews_render_artifact_text(&ctx->out, &artifact, artifacts.place);
		return 0;
	}
	object = ews_cmd_json_new("artifact");
	cJSON_AddItemToObject(object, "artifact", ews_render_artifact(&artifact, artifacts.place));
	ews_render_artifact_news(object, &news);
	ews_cmd_json_show(ctx, object);
	return 0;
}

static int export_all(struct ews_cmd_ctx *ctx, const char *dir, const struct ews_artifact *const *picked, size_t n)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("artifact_export");
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *full = ews_path_absolute(ctx->cwd, dir);
	EWS_CLEANUP(fd) int fd = -1;
	int rc = ews_dir_make_absolute(full, 0777);

	if (rc == 0)
		rc = fd = ews_dir_open(full);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		EWS_CLEANUP(free) char *name = NULL;
		EWS_CLEANUP(free) char *path = NULL;

		rc = ews_artifact_export(&name, fd, ctx->repo, picked[i]);
		if (rc < 0)
			break;
		path = ews_path_join(full, name);
		ews_strv_add(&paths, path);
		if (picked[i]->file == EWS_ARTIFACT_CHANGED)
			ews_cmd_note(ctx, "'%s' was changed since it was kept: what was kept is exported",
				     picked[i]->path);
		if (!ctx->json)
			ews_cmd_add_place(ctx, path);
	}
	if (rc < 0)
		return rc;
	ews_render_paths(object, "exported", &paths);
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return 0;
}

static int export(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts artifacts = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	EWS_CLEANUP(free) const struct ews_artifact **picked = NULL;
	const char *dir = NULL;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "to", &dir, "dir", "the directory to write to, made when missing"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = export_usage,
		.opts = opts,
		.min_words = 1,
		.max_words = SIZE_MAX,
		.prints_paths = true,
	};
	size_t n = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (!dir || !*dir)
		return ews_error(EWS_EUSAGE, "--to says where they go");
	rc = read_list(&artifacts, &news, ctx);
	picked = ews_calloc(args.words.n, sizeof(*picked));
	if (rc == 0)
		rc = find_named(picked, &n, &artifacts, &args.words);
	return rc < 0 ? rc : export_all(ctx, dir, picked, n);
}

/* Remove those that were picked, or say which they would be. */
static int remove_picked(struct ews_cmd_ctx *ctx, const struct ews_artifact *const *picked, size_t n, bool dry_run)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("artifact_remove");
	EWS_CLEANUP(free) char *undo = ews_undo_words(ctx->repo, NULL);
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	cJSON *array = cJSON_AddArrayToObject(object, "removed");
	int rc;

	if (!dry_run && n) {
		rc = ews_artifact_remove(&news, ctx->repo, picked, n);
		if (rc < 0)
			return rc;
		ews_render_artifact_news_talk(ctx, &news);
	}
	(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
	for (size_t i = 0; i < n; i++) {
		cJSON_AddItemToArray(array, cJSON_CreateString(picked[i]->id));
		if (!ctx->json)
			ews_buf_addf(&ctx->out, "%s\n", picked[i]->id);
	}
	if (ctx->json) {
		ews_render_artifact_news(object, &news);
		ews_cmd_json_show(ctx, object);
	} else if (n && !dry_run) {
		ews_cmd_note(ctx, "'%s' brings %s back", undo, n == 1 ? "it" : "them");
	}
	return 0;
}

static int remove_named(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts artifacts = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	EWS_CLEANUP(free) const struct ews_artifact **picked = NULL;
	bool dry_run = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('n', "dry-run", &dry_run, "list what would be removed"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = remove_usage,
		.opts = opts,
		.min_words = 1,
		.max_words = SIZE_MAX,
	};
	size_t n = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = read_list(&artifacts, &news, ctx);
	picked = ews_calloc(args.words.n, sizeof(*picked));
	if (rc == 0)
		rc = find_named(picked, &n, &artifacts, &args.words);
	return rc < 0 ? rc : remove_picked(ctx, picked, n, dry_run);
}

/* How many of its type are newer than the one at `i`? One that took the place of another has its id, but not its age. */
static size_t newer_ones(const struct ews_artifacts *list, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < list->n; k++)
		n += list->items[k].type == list->items[i].type &&
		     (list->items[k].created_s > list->items[i].created_s ||
		      (k > i && list->items[k].created_s == list->items[i].created_s));
	return n;
}

static int prune(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts artifacts = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	EWS_CLEANUP(free) const struct ews_artifact **picked = NULL;
	struct ews_prune_settings set = EWS_PRUNE_SETTINGS_INIT;
	const struct ews_opt opts[] = {
		EWS_PRUNE_OPTS(&set, "type", "removed"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = prune_usage, .opts = opts };
	size_t n = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_prune_opts_settle(
		&set, "--keep <n> keeps the newest n of each type, --older-than <age> keeps younger ones");
	if (rc == 0)
		rc = read_list(&artifacts, &news, ctx);
	if (rc < 0)
		return rc;
	picked = ews_calloc(artifacts.n + 1, sizeof(*picked));
	for (size_t i = 0; i < artifacts.n; i++)
		if (artifacts.items[i].created_s <= set.before_s && newer_ones(&artifacts, i) >= set.keep_n)
			picked[n++] = &artifacts.items[i];
	return remove_picked(ctx, picked, n, set.dry_run);
}

static const struct ews_cmd verbs[] = {
	{ "add", "keep a file, print its id", add },
	{ "collect", "keep the tests that a session made", collect },
	{ "list", "list them, and bring back what is missing", list },
	{ "show", "show what is known of one", show },
	{ "export", "write some into a directory", export },
	{ "remove", "move some to trash", remove_named },
	{ "prune", "move old ones to trash", prune },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_artifact = { "artifact", "keep, list and hand out what outlives a session", run };
