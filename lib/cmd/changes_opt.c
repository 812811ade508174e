/*
 * --changes: see changes_opt.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/changes_opt.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/error.h"

struct ews_changes_ahead {
	struct ews_repo *repo;
	struct ews_diff diff;
	struct ews_beside beside;
};

int ews_changes_opt_read(enum ews_changes_mode *out, const struct ews_cmd_ctx *ctx, const char *word)
{
	int rc = ews_changes_mode(out, word);

	if (rc == 0 && !word && ctx->quiet && !ctx->json)
		*out = EWS_CHANGES_NONE;
	return rc;
}

static int count(void *payload)
{
	struct ews_changes_ahead *ahead = payload;

	return ews_diff_records(&ahead->diff, ahead->repo, NULL);
}

void ews_changes_opt_begin(const struct ews_cmd_ctx *ctx, struct ews_changes_opt *what, const struct ews_oid *from,
			   const struct ews_oid *to)
{
	struct ews_changes_ahead *ahead;

	if (what->mode == EWS_CHANGES_NONE || what->mode == EWS_CHANGES_DIFF || ctx->json || what->paths)
		return;
	ahead = ews_calloc(1, sizeof(*ahead));
	*ahead = (struct ews_changes_ahead){ .repo = ctx->repo, .diff = EWS_DIFF_INIT };
	ahead->diff.opts.count.on_one_thread = true;
	ahead->diff.from.snapshot.tree = *from;
	ahead->diff.to.snapshot.tree = *to;
	ews_beside_begin(&ahead->beside, count, ahead);
	what->ahead = ahead;
}

void ews_changes_opt_count_kept(void *payload, const struct ews_oid *target, const struct ews_oid *tree)
{
	struct ews_changes_counting *counting = payload;

	ews_changes_opt_begin(counting->ctx, counting->changes, target, tree);
}

void ews_changes_opt_settle(struct ews_changes_opt *what, const char *kept, bool is_proven, bool dry_run)
{
	what->to = dry_run ? "now" : kept;
	if (!dry_run && !is_proven)
		what->mode = EWS_CHANGES_NONE;
}

void ews_changes_opt_release(struct ews_changes_opt *what)
{
	if (!what->ahead)
		return;
	ews_beside_release(&what->ahead->beside);
	ews_diff_release(&what->ahead->diff);
	free(what->ahead);
	what->ahead = NULL;
}

/* Figures need the two trees alone; a patch, whole records and what is in neither need to know all that was recorded. */
static int compare(struct ews_diff *out, const struct ews_cmd_ctx *ctx, const struct ews_changes_opt *what)
{
	bool needs_all = ctx->json || what->mode == EWS_CHANGES_DIFF || what->unsaid;
	int rc;

	if (!what->to)
		return 0;
	if (!strcmp(what->to, "now"))
		rc = ews_diff_sides(out, ctx->repo, what->session, what->from, what->to);
	else if (needs_all)
		rc = ews_diff_sides(out, ctx->repo, NULL, what->from, what->to);
	else
		rc = ews_diff_trees(out, ctx->repo, what->from, what->to);
	return rc < 0 ? rc : ews_diff_records(out, ctx->repo, what->paths);
}

void ews_changes_opt_talk(const struct ews_cmd_ctx *ctx, const struct ews_changes_opt *what)
{
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	int rc;

	if (what->mode == EWS_CHANGES_NONE)
		return;
	rc = what->ahead ? ews_beside_end(&what->ahead->beside) : compare(&diff, ctx, what);
	if (rc == 0)
		rc = ews_render_changes_talk(ctx, what->ahead ? &what->ahead->diff : &diff, what->mode,
					     what->unsaid, what->said);
	if (rc < 0) {
		ews_cmd_warn(ctx, "cannot show the changes: %s", ews_error_message());
		ews_error_clear();
	}
}

void ews_changes_opt_json(cJSON *object, const struct ews_cmd_ctx *ctx, const struct ews_changes_opt *what)
{
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(json) cJSON *changes = NULL;
	int rc;

	if (what->mode != EWS_CHANGES_NONE) {
		changes = cJSON_CreateObject();
		rc = compare(&diff, ctx, what);
		if (rc == 0 && what->mode == EWS_CHANGES_DIFF)
			rc = ews_diff_texts(&diff, ctx->repo);
		if (rc == 0)
			rc = ews_render_changes(changes, ctx->repo, &diff, what->mode);
		if (rc == 0) {
			cJSON_AddItemToObject(object, "changes", ews_steal(&changes));
			return;
		}
		ews_error_clear();
	}
	(void)cJSON_AddNullToObject(object, "changes");
}
