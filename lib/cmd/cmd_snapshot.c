/*
 * git ews snapshot: take, list, show and compare states; the table of its verbs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_snapshot.h"
#include "work/session_name.h"
#include "work/session_place.h"

static const char *const create_usage[] = {
	"git ews snapshot create [-m <text>] [--ignored] [--if-changed] [--partial] [<session>] [-- <path>...]",
	NULL,
};

static const char *const list_usage[] = {
	"git ews snapshot list [--trash] [<session> | --all]",
	NULL,
};

static const char *const show_usage[] = {
	"git ews snapshot show [--files] [--hashes] [--coverage] <snapshot>",
	NULL,
};

static void show_created(struct ews_cmd_ctx *ctx, const struct ews_snapshot *snapshot,
			 const struct ews_skips *skips, bool is_new)
{
	EWS_CLEANUP(json) cJSON *object = NULL;

	if (!ctx->json) {
		ews_render_skips_talk(ctx, skips);
		ews_render_home_talk(ctx, skips);
		ews_render_head_talk(ctx, snapshot);
		if (is_new)
			ews_buf_addf(&ctx->out, "%s\n", snapshot->id);
		else
			ews_cmd_note(ctx, "nothing differs from the newest snapshot");
		return;
	}
	object = ews_cmd_json_new("snapshot");
	(void)cJSON_AddBoolToObject(object, "created", is_new);
	if (is_new)
		ews_render_snapshot(object, snapshot);
	ews_render_skips(object, skips);
	ews_cmd_json_show(ctx, object);
}

static int create(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
	struct ews_progress progress;
	struct ews_snapshot_create_opts set = { .progress = ews_progress_show, .payload = &progress };
	const struct ews_opt opts[] = {
		EWS_OPT_STRING('m', "message", &set.subject, "text", "the snapshot's subject"),
		EWS_OPT_BOOL(0, "ignored", &set.with_ignored, "take ignored files, too"),
		EWS_OPT_BOOL(0, "if-changed", &set.if_changed, "only when something differs from the newest one"),
		EWS_OPT_BOOL(0, "partial", &set.partial, "leave out what is over a limit, instead of failing"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = create_usage,
		.opts = opts,
		.max_words = 1,
		.takes_paths = true,
	};
	int has_session, rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo_or_make(ctx, EWS_REPO_MAKE_PLAIN);
	if (rc < 0)
		return rc;
	has_session = ews_cmd_open_session_or_project(&session, ctx, args.words.items[0], true);
	if (has_session < 0)
		return has_session;
	rc = has_session ? ews_session_need_active(&session) : 0;
	if (rc == 0)
		rc = ews_cmd_paths(&only, ctx, has_session ? session.state.workspace : ctx->repo->project,
				   &args.paths);
	if (rc < 0)
		return rc;
	set.only = ews_cmd_only(&only);

	ews_progress_init(&progress, ctx, "Taking a snapshot");
	rc = ews_snapshot_create(&snapshot, &skips, ctx->repo, has_session ? &session : NULL, &set);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	show_created(ctx, &snapshot, &skips, rc > 0);
	return 0;
}

static void show_list_json(struct ews_cmd_ctx *ctx, const struct ews_snapshots *snapshots,
			   const struct ews_lineage *lineage)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("snapshot_list");
	cJSON *array = cJSON_AddArrayToObject(object, "snapshots");
	size_t i;

	for (i = 0; i < snapshots->n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_render_snapshot(item, &snapshots->items[i]);
		ews_render_descent(item, snapshots, &lineage->items[i]);
		cJSON_AddItemToArray(array, item);
	}
	ews_render_reasons(object, "damaged", "message", &snapshots->damaged);
	ews_cmd_json_show(ctx, object);
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots snapshots = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(lineage) struct ews_lineage lineage = EWS_LINEAGE_INIT;
	bool all = false, in_trash = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "all", &all, "of all sessions and of the project"),
		EWS_OPT_BOOL(0, "trash", &in_trash, "those in trash"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = list_usage, .opts = opts, .max_words = 1 };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	/* Trash is the project's, whoever stands where. */
	all = all || (in_trash && !args.words.n);
	rc = ews_cmd_snapshots(&snapshots, ctx, args.words.items[0],
			       (all ? EWS_SNAPSHOTS_OF_ALL : 0) | (in_trash ? EWS_SNAPSHOTS_IN_TRASH : 0));
	if (rc == 0)
		rc = ews_lineage_find(&lineage, ctx->repo, &snapshots);
	if (rc == 0)
		rc = ews_lineage_count(&lineage, ctx->repo, &snapshots);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		show_list_json(ctx, &snapshots, &lineage);
		return 0;
	}
	ews_cmd_snapshots_talk(ctx, &snapshots);
	ews_pager_start(ctx);
	ews_render_snapshot_tree(&ctx->out, &snapshots, &lineage);
	return 0;
}

struct parts {
	bool files, hashes, coverage;
};

static int show_json(struct ews_cmd_ctx *ctx, const struct ews_snapshot *snapshot,
		     const struct ews_content *content, const struct parts *parts)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("snapshot");
	int rc = 0;

	ews_render_snapshot(object, snapshot);
	if (parts->files)
		ews_render_files(object, &content->scan.entries);
	if (parts->hashes)
		rc = ews_render_hashes(object, ctx->repo, &content->scan.entries);
	if (parts->coverage) {
		ews_render_held(object, content);
		ews_render_skips(object, &content->scan.skips);
	}
	if (rc == 0)
		ews_cmd_json_show(ctx, object);
	return rc;
}

static int show_text(struct ews_cmd_ctx *ctx, const struct ews_snapshot *snapshot,
		     const struct ews_content *content, const struct parts *parts)
{
	int rc = 0;

	ews_pager_start(ctx);
	if (!parts->files && !parts->hashes && !parts->coverage)
		ews_render_snapshot_text(&ctx->out, snapshot);
	if (parts->files)
		ews_render_file_lines(ctx, &content->scan.entries);
	if (parts->hashes)
		rc = ews_render_hash_lines(ctx, &content->scan.entries);
	if (parts->coverage) {
		ews_render_held_talk(ctx, content);
		ews_render_skip_lines(ctx, &content->scan.skips);
	}
	return rc;
}

static int show(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	struct parts parts = { false, false, false };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "files", &parts.files, "mode, type, size and path of all it holds"),
		EWS_OPT_BOOL(0, "hashes", &parts.hashes, "the SHA-256 of each file"),
		EWS_OPT_BOOL(0, "coverage", &parts.coverage, "what is held; what was left out, and why"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = show_usage,
		.opts = opts,
		.min_words = 1,
		.max_words = 1,
		.prints_paths = true,
	};
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = ews_snapshot_find(&snapshot, ctx->repo, args.words.items[0]);
	if (rc == 0 && (parts.files || parts.hashes || parts.coverage))
		rc = ews_snapshot_content(&content, ctx->repo, &snapshot);
	if (rc < 0)
		return rc;
	return ctx->json ? show_json(ctx, &snapshot, &content, &parts) : show_text(ctx, &snapshot, &content, &parts);
}

static int diff(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_diff.run(ctx, argc, argv);
}

/* Times are in seconds: of those taken within one, lineage tells which came first. */
static void put_parents_first(struct ews_snapshots *list)
{
	size_t i, j, tries;

	for (i = 0; i < list->n; i++) {
		tries = list->n; /* a lineage that goes round is nobody's, but must not hold us */
		for (j = i + 1; j < list->n && list->items[j].created_s == list->items[i].created_s; j++) {
			struct ews_snapshot child = list->items[i];

			if (strcmp(child.parent, list->items[j].id) != 0 || !tries--)
				continue;
			list->items[i] = list->items[j];
			list->items[j] = child;
			j = i;
		}
	}
}

int ews_cmd_snapshots(struct ews_snapshots *out, struct ews_cmd_ctx *ctx, const char *name, unsigned flags)
{
	EWS_CLEANUP(free) char *id = NULL;
	bool all = flags & EWS_SNAPSHOTS_OF_ALL;
	int rc;

	if (all && name)
		return ews_error(EWS_EUSAGE, "--all takes no session");
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0 && !all)
		rc = name ? 1 : ews_session_is_implied(ctx->repo);
	if (rc > 0)
		rc = ews_session_resolve(&id, ctx->repo, name);
	if (rc < 0)
		return rc;
	if (id)
		ews_cmd_meet(ctx, id);
	rc = ews_snapshot_list(out, ctx->repo, id, flags);
	if (rc == 0)
		put_parents_first(out);
	return rc;
}

void ews_cmd_snapshots_talk(const struct ews_cmd_ctx *ctx, const struct ews_snapshots *list)
{
	ews_render_reasons_talk(ctx, "damaged", &list->damaged);
	if (list->damaged.n)
		ews_cmd_note(ctx, "'git ews doctor' says what can be done about it");
}

static const struct ews_cmd verbs[] = {
	{ "create", "take one, print its id", create },
	{ "list", "list them", list },
	{ "show", "show what is known of one", show },
	{ "diff", "show what differs between two", diff },
	{ "restore", "put one back", ews_cmd_snapshot_restore },
	{ "verify", "check that they are whole", ews_cmd_snapshot_verify },
	{ "drop", "move them to trash", ews_cmd_snapshot_drop },
	{ "prune", "move old ones to trash", ews_cmd_snapshot_prune },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_snapshot = { "snapshot", "take, show, compare, restore, check and drop states", run };
