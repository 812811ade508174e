/*
 * The plan of an apply: see apply_plan.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/apply_plan.h"

#include <stdlib.h>

#include "base/alloc.h"

void ews_apply_plan_init(struct ews_apply_plan *out, struct ews_repo *repo, struct ews_apply_result *result,
			 size_t n, const struct ews_apply_opts *opts)
{
	*out = (struct ews_apply_plan){ .repo = repo,
					.opts = opts,
					.out = result,
					.works = ews_calloc(n + 1, sizeof(*out->works)),
					.n = n,
					.own = EWS_STRV_INIT,
					.known = EWS_CONTENT_INIT,
					.earlier = EWS_EARLIER_INIT };
	for (size_t i = 0; i < n; i++) {
		out->works[i].diff = (struct ews_diff)EWS_DIFF_INIT;
		out->works[i].renames = (struct ews_strv)EWS_STRV_INIT;
	}
}

void ews_apply_plan_release(struct ews_apply_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		ews_diff_release(&plan->works[i].diff);
		ews_entries_release(&plan->works[i].from);
		ews_entries_release(&plan->works[i].to);
		ews_strv_release(&plan->works[i].renames);
	}
	free(plan->works);
	ews_strv_release(&plan->own);
	ews_content_release(&plan->known);
	ews_earlier_release(&plan->earlier);
	ews_batch_free(plan->batch);
}

const struct ews_entries *ews_apply_before(const struct ews_apply_work *work)
{
	return work->source->kind == EWS_APPLY_PATCH ? &work->from : &work->diff.from.content.scan.entries;
}

const struct ews_entries *ews_apply_after(const struct ews_apply_work *work)
{
	return work->source->kind == EWS_APPLY_PATCH ? &work->to : &work->diff.to.content.scan.entries;
}

bool ews_apply_is_chosen(const struct ews_apply_plan *plan, const struct ews_apply_work *work, const char *path,
			 ews_apply_lies_fn *lies)
{
	const struct ews_apply_opts *opts = plan->opts;
	const char *const prefix[] = { opts->prefix, NULL };
	const char *const source[] = { work->source->path, NULL };

	return lies(path, opts->only) && (!opts->prefix || lies(path, prefix)) &&
	       (!work->source->path || lies(path, source));
}

int ews_apply_settle(struct ews_apply_plan *plan)
{
	int rc = ews_batch_commit(plan->batch);

	return rc < 0 ? rc : ews_odb_refresh(plan->repo->odb);
}
