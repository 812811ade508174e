/*
 * git ews pending: results that wait for a decision.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/clock.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/cmd_apply.h"
#include "cmd/pager.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "work/pending.h"
#include "work/undo_words.h"

#define LOST "gone for good, since trash can't have it"
#define WOULD_BE_LOST "would be " LOST

static const char *const list_usage[] = { "git ews pending list", NULL };
static const char *const show_usage[] = { "git ews pending show <id>", NULL };
static const char *const drop_usage[] = { "git ews pending drop [--dry-run] <id>", NULL };
static const char *const apply_usage[] = { "git ews pending apply <id>", EWS_CMD_APPLY_USAGE, NULL };

static int compare(struct ews_diff *out, struct ews_repo *repo, const struct ews_pending *pending)
{
	int rc;

	rc = ews_diff_sides(out, repo, NULL, pending->base.id, pending->result.id);
	return rc < 0 ? rc : ews_diff_records(out, repo, NULL);
}

static int add_json(cJSON *object, struct ews_repo *repo, const struct ews_pending *pending,
		    const struct ews_diff *diff, enum ews_changes_mode mode)
{
	ews_render_string(object, "name", pending->name);
	ews_render_string(object, "session_id", pending->base.session);
	ews_render_time(object, "created_at", pending->result.created_s);
	ews_render_string(object, "base_snapshot", pending->base.id);
	ews_render_string(object, "result_snapshot", pending->result.id);
	return ews_render_changes(cJSON_AddObjectToObject(object, "changes"), repo, diff, mode);
}

static int list_one(struct ews_cmd_ctx *ctx, cJSON *array, const struct ews_pending *pending)
{
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(json) cJSON *item = cJSON_CreateObject();
	char stamp[EWS_STAMP_LEN];
	int rc;

	rc = compare(&diff, ctx->repo, pending);
	if (rc == 0 && ctx->json)
		rc = add_json(item, ctx->repo, pending, &diff, EWS_CHANGES_SUMMARY);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		cJSON_AddItemToArray(array, item);
		item = NULL;
		return 0;
	}
	ews_clock_rfc3339(stamp, pending->result.created_s);
	ews_render_words(&ctx->out, pending->name);
	ews_buf_addf(&ctx->out, "  %s  ", stamp);
	return ews_render_changes_text(&ctx->out, ctx->repo, &diff, EWS_CHANGES_SUMMARY, false);
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(pendings) struct ews_pendings pendings = EWS_PENDINGS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("pending_list");
	cJSON *array = cJSON_AddArrayToObject(object, "pending");
	const struct ews_cmd_syntax syntax = { .usage = list_usage };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = ews_pending_list(&pendings, ctx->repo);
	for (size_t i = 0; i < pendings.n && rc == 0; i++) {
		size_t len = ctx->out.len;

		if (list_one(ctx, array, &pendings.items[i]) == 0)
			continue;
		ews_buf_truncate(&ctx->out, len);
		ews_render_add_problem(&pendings.damaged, pendings.items[i].name);
	}
	if (rc < 0)
		return rc;
	ews_render_reasons(object, "damaged", "message", &pendings.damaged);
	ews_render_reasons_talk(ctx, "damaged", &pendings.damaged);
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return 0;
}

/* Open the project, and find the one that is named. */
static int find(const struct ews_pending **out, struct ews_pendings *pendings, struct ews_cmd_ctx *ctx,
		const char *name)
{
	int rc;

	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = ews_pending_list(pendings, ctx->repo);
	return rc < 0 ? rc : ews_pending_find(out, pendings, name);
}

static void add_line(struct ews_buf *out, const char *name, const char *words)
{
	ews_buf_addf(out, "%s: ", name);
	ews_render_words(out, words);
	ews_buf_addc(out, '\n');
}

static int show(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(pendings) struct ews_pendings pendings = EWS_PENDINGS_INIT;
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("pending");
	const struct ews_cmd_syntax syntax = { .usage = show_usage, .min_words = 1, .max_words = 1 };
	const struct ews_pending *pending;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = find(&pending, &pendings, ctx, args.words.items[0]);
	if (rc == 0)
		rc = compare(&diff, ctx->repo, pending);
	if (rc < 0)
		return rc;
	ews_render_reasons_talk(ctx, "not in the patch", &diff.not_in_patch);
	if (!ctx->json) {
		ews_pager_start(ctx);
		add_line(&ctx->out, "Session", pending->name);
		add_line(&ctx->out, "Base", pending->base.id);
		add_line(&ctx->out, "Result", pending->result.id);
		return ews_render_changes_text(&ctx->out, ctx->repo, &diff, EWS_CHANGES_DIFF, false);
	}
	rc = ews_diff_texts(&diff, ctx->repo);
	if (rc == 0)
		rc = add_json(object, ctx->repo, pending, &diff, EWS_CHANGES_DIFF);
	if (rc == 0)
		ews_cmd_json_show(ctx, object);
	return rc;
}

/* What is being applied. */
struct chosen {
	struct ews_pendings pendings;
	const struct ews_pending *pending;
};

static void release_chosen(struct chosen *chosen)
{
	ews_pendings_release(&chosen->pendings);
}

EWS_CLEANUP_DEFINE(chosen, struct chosen, release_chosen)

static int choose(void *payload, struct ews_apply_source *out, struct ews_cmd_ctx *ctx, const char *word)
{
	struct chosen *chosen = payload;
	int rc;

	rc = find(&chosen->pending, &chosen->pendings, ctx, word);
	if (rc < 0)
		return rc;
	*out = (struct ews_apply_source){ .kind = EWS_APPLY_RANGE,
					  .name = chosen->pending->name,
					  .from = chosen->pending->base.id,
					  .to = chosen->pending->result.id,
					  .pending = chosen->pending->name };
	return 0;
}

static int settle(void *payload, struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *undo = ews_undo_words(ctx->repo, NULL);
	struct chosen *chosen = payload;
	int rc;

	rc = ews_pending_drop(&lost, ctx->repo, chosen->pending->name);
	if (rc < 0)
		return rc;
	ews_render_reasons_talk(ctx, LOST, &lost);
	if (rc > 0)
		ews_cmd_note(ctx, "'%s' makes '%s' pending again, once more takes back what came", undo,
			     chosen->pending->name);
	return rc;
}

static int apply(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(chosen) struct chosen chosen = { EWS_PENDINGS_INIT, NULL };
	const struct ews_apply_verb verb = {
		.usage = apply_usage, .find = choose, .settle = settle, .payload = &chosen
	};

	return ews_cmd_apply_one(&verb, ctx, argc, argv);
}

static int drop(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(pendings) struct ews_pendings pendings = EWS_PENDINGS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("pending_drop");
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *undo = NULL;
	bool dry_run = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('n', "dry-run", &dry_run, "say what would be dropped, and do nothing"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = drop_usage, .opts = opts, .min_words = 1, .max_words = 1 };
	const struct ews_pending *pending = NULL;
	const char *name;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = find(&pending, &pendings, ctx, args.words.items[0]);
	/* One that is damaged goes by its whole name alone. */
	if (rc == EWS_EDAMAGED && pendings.damaged.n) {
		ews_error_clear();
		rc = 0;
	}
	name = pending ? pending->name : args.words.items[0];
	if (rc == 0)
		rc = dry_run ? ews_pending_drop_check(&lost, ctx->repo, name)
			     : ews_pending_drop(&lost, ctx->repo, name);
	if (rc < 0)
		return rc;
	ews_render_reasons_talk(ctx, dry_run ? WOULD_BE_LOST : LOST, &lost);
	if (ctx->json) {
		ews_render_string(object, "name", name);
		ews_render_string(object, "session_id", pending ? pending->base.session : NULL);
		ews_render_string(object, "kept_snapshot", pending ? pending->result.id : NULL);
		ews_render_reasons(object, "lost", "message", &lost);
		(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_buf_addf(&ctx->out, "%s\n", name);
	undo = ews_undo_words(ctx->repo, NULL);
	if (rc > 0)
		ews_cmd_note(ctx, "'%s' makes it pending again", undo);
	return 0;
}

static const struct ews_cmd verbs[] = {
	{ "list", "list them", list },
	{ "show", "show one, with its patch", show },
	{ "apply", "apply one to the project", apply },
	{ "drop", "move one to trash", drop },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_pending = { "pending", "decide about results that wait for it", run };
