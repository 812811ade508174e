/*
 * git ews snapshot verify, drop and prune: are they whole, and which may go.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "cmd/cmd_snapshot.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"

static const char *const verify_usage[] = {
	"git ews snapshot verify [<snapshot>... | --all]",
	NULL,
};

static const char *const drop_usage[] = {
	"git ews snapshot drop [--dry-run] <snapshot>...",
	NULL,
};

static const char *const prune_usage[] = {
	"git ews snapshot prune [--keep <n>] [--older-than <age>] [--dry-run] [<session>]",
	NULL,
};

/* The snapshots that words name. */
static int find_named(struct ews_snapshots *out, struct ews_cmd_ctx *ctx, const struct ews_strv *words)
{
	size_t i;
	int rc;

	rc = ews_cmd_open_repo(ctx);
	for (i = 0; rc == 0 && i < words->n; i++) {
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n] = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
		rc = ews_snapshot_find(&out->items[out->n], ctx->repo, words->items[i]);
		if (rc == 0)
			out->n++;
	}
	return rc;
}

/* Check one; its sentences are part of the answer. Gives the number of problems. */
static int verify_one(cJSON *array, struct ews_cmd_ctx *ctx, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	cJSON *item = cJSON_CreateObject();
	size_t i;
	int n;

	cJSON_AddItemToArray(array, item);
	n = ews_snapshot_verify(&problems, ctx->repo, snapshot);
	if (n < 0)
		return n;
	ews_render_string(item, "snapshot_id", snapshot->id);
	(void)cJSON_AddBoolToObject(item, "verified", n == 0);
	ews_render_sentences(item, "problems", &problems);
	if (ctx->json)
		return n;
	if (!n)
		ews_buf_addf(&ctx->out, "%s: ok\n", snapshot->id);
	for (i = 0; i < problems.n; i++)
		ews_buf_addf(&ctx->out, "%s: %s\n", snapshot->id, problems.items[i]);
	return n;
}

/* git's own revisions have nothing of ours to check or to drop. */
static int need_ours(const struct ews_snapshots *snapshots, const struct ews_strv *words)
{
	size_t i;

	for (i = 0; i < snapshots->n; i++)
		if (!*snapshots->items[i].ref)
			return ews_error(EWS_EUSAGE, "'%s' is a revision of git's, no snapshot", words->items[i]);
	return 0;
}

int ews_cmd_snapshot_verify(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots snapshots = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("snapshot_verify");
	cJSON *array = cJSON_AddArrayToObject(object, "snapshots");
	struct ews_progress progress;
	bool all = false, is_damaged = false;
	const struct ews_opt opts[] = {
		{ EWS_OPT_BOOL, 0, "all", NULL, "all snapshots", &all, false, NULL },
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = verify_usage, .opts = opts, .max_words = SIZE_MAX };
	size_t i;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (all && args.words.n)
		return ews_error(EWS_EUSAGE, "--all takes no snapshot");
	rc = args.words.n ? find_named(&snapshots, ctx, &args.words)
			  : ews_cmd_snapshots(&snapshots, ctx, NULL, all, false);
	if (rc == 0 && args.words.n)
		rc = need_ours(&snapshots, &args.words);
	ews_progress_init(&progress, ctx, "Checking snapshots");
	for (i = 0; rc >= 0 && i < snapshots.n; i++) {
		rc = verify_one(array, ctx, &snapshots.items[i]);
		is_damaged = is_damaged || rc > 0;
		ews_progress_show(&progress, i + 1, snapshots.n);
	}
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return is_damaged;
}

/* Drop those that were picked, or say which they would be. */
static int drop_picked(struct ews_cmd_ctx *ctx, const struct ews_snapshot *const *picked, size_t n, bool dry_run)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("snapshot_drop");
	cJSON *array = cJSON_AddArrayToObject(object, "dropped");
	size_t i;
	int rc;

	if (!dry_run && n) {
		rc = ews_snapshot_drop(ctx->repo, picked, n);
		if (rc < 0)
			return rc;
	}
	(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
	for (i = 0; i < n; i++) {
		cJSON_AddItemToArray(array, cJSON_CreateString(picked[i]->id));
		if (!ctx->json)
			ews_buf_addf(&ctx->out, "%s\n", picked[i]->id);
	}
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	else if (n && !dry_run)
		ews_cmd_note(ctx, "'git ews undo' brings %s back", n == 1 ? "it" : "them");
	return 0;
}

int ews_cmd_snapshot_drop(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots snapshots = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(free) const struct ews_snapshot **picked = NULL;
	bool dry_run = false;
	const struct ews_opt opts[] = {
		{ EWS_OPT_BOOL, 'n', "dry-run", NULL, "list what would be dropped", &dry_run, false, NULL },
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = drop_usage,
		.opts = opts,
		.min_words = 1,
		.max_words = SIZE_MAX,
	};
	size_t i;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = find_named(&snapshots, ctx, &args.words);
	if (rc == 0)
		rc = need_ours(&snapshots, &args.words);
	if (rc < 0)
		return rc;
	picked = ews_calloc(snapshots.n, sizeof(*picked));
	for (i = 0; i < snapshots.n; i++)
		picked[i] = &snapshots.items[i];
	return drop_picked(ctx, picked, snapshots.n, dry_run);
}

struct prune_settings {
	const char *keep, *older_than;
	bool dry_run;
};

static int parse_prune(int64_t *before_s, size_t *keep, const struct prune_settings *set)
{
	int64_t age_s = 0;
	char *end;
	int rc;

	if (!set->keep && !set->older_than) {
		(void)ews_error(EWS_EUSAGE, "nothing says what is to go");
		ews_error_hint("--keep <n> keeps the newest n, --older-than <age> keeps younger ones");
		return EWS_EUSAGE;
	}
	if (set->keep) {
		*keep = strtoul(set->keep, &end, 10);
		if (*set->keep < '0' || *set->keep > '9' || *end)
			return ews_error(EWS_EUSAGE, "--keep takes a number, not '%s'", set->keep);
	}
	if (!set->older_than)
		return 0;
	rc = ews_cmd_age(&age_s, set->older_than);
	*before_s = ews_clock_now() - age_s;
	return rc;
}

/* A session's base stays as long as the session. */
static bool can_prune(const struct ews_snapshot *snapshot)
{
	return !strncmp(snapshot->ref, EWS_REF_SNAPSHOTS, strlen(EWS_REF_SNAPSHOTS));
}

/* How many of the same session, that may go as well, come after the one at `i`? They are listed oldest first. */
static size_t newer_ones(const struct ews_snapshots *list, size_t i)
{
	size_t j, n = 0;

	for (j = i + 1; j < list->n; j++)
		n += can_prune(&list->items[j]) && !strcmp(list->items[i].session, list->items[j].session);
	return n;
}

static size_t pick_old(const struct ews_snapshot **picked, const struct ews_snapshots *list, int64_t before_s,
		       size_t keep)
{
	size_t i, n = 0;

	for (i = 0; i < list->n; i++)
		if (can_prune(&list->items[i]) && list->items[i].created_s <= before_s && newer_ones(list, i) >= keep)
			picked[n++] = &list->items[i];
	return n;
}

int ews_cmd_snapshot_prune(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots snapshots = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(free) const struct ews_snapshot **picked = NULL;
	struct prune_settings set = { NULL, NULL, false };
	const struct ews_opt opts[] = {
		{ EWS_OPT_STRING, 0, "keep", "n", "keep the newest n of each session", &set.keep, false, NULL },
		{ EWS_OPT_STRING, 0, "older-than", "age", "keep those younger than 90m, 12h, 3d, 2w",
		  &set.older_than, false, NULL },
		{ EWS_OPT_BOOL, 'n', "dry-run", NULL, "list what would be dropped", &set.dry_run, false, NULL },
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = prune_usage, .opts = opts, .max_words = 1 };
	int64_t before_s = INT64_MAX;
	size_t keep = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = parse_prune(&before_s, &keep, &set);
	if (rc == 0)
		rc = ews_cmd_snapshots(&snapshots, ctx, args.words.items[0], !args.words.n, false);
	if (rc < 0)
		return rc;
	picked = ews_calloc(snapshots.n + 1, sizeof(*picked));
	return drop_picked(ctx, picked, pick_old(picked, &snapshots, before_s, keep), set.dry_run);
}
