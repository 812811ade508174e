/*
 * Apply: see apply.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/apply.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "work/anew.h"
#include "work/apply_merge.h"
#include "work/apply_put.h"
#include "work/apply_read.h"
#include "work/rules.h"
#include "work/stage.h"
#include "work/steps.h"

static int refuse_bare(const struct ews_repo *repo, const char *session)
{
	if (!repo->is_bare)
		return 0;
	if (repo->gone) {
		ews_error(EWS_ENOTFOUND, "the work tree that the session is of is gone: '%s'", repo->gone);
		ews_error_hint(
			"'git ews apply %s' in another one applies it there; 'git ews end --branch <name> %s' leaves it as a branch",
			session, session);
		return EWS_ENOTFOUND;
	}
	ews_error(EWS_EUSAGE, "'%s' is a bare repository: it has no files to apply to", repo->project);
	ews_error_hint("'git ews end --branch <name> %s' leaves the result as a branch", session);
	return EWS_EUSAGE;
}

/* Can what is touched be staged, and committed, and nothing else with it? */
static int check_index(const struct ews_apply_plan *plan)
{
	EWS_CLEANUP(free) char *branch = NULL;
	struct ews_oid tip;
	int rc = 0;

	if (plan->repo->is_plain)
		return ews_error(EWS_EUSAGE, "'%s' is no git repository: it has no index", plan->repo->project);
	if (plan->out->merge.conflicts.n) {
		plan->out->is_refused = true;
		return 0;
	}
	if (plan->opts->commit)
		rc = ews_stage_branch(&branch, &tip, plan->repo);
	if (rc == 0 && plan->opts->commit)
		rc = ews_stage_refuse_locked_branch(plan->repo, branch);
	if (rc < 0)
		return rc;
	return ews_stage_check(plan->repo, &plan->out->diff.from.content, &plan->out->diff.to.content.scan.entries,
			       &plan->out->merge.touched, plan->opts->commit);
}

int ews_apply(struct ews_apply_result *out, struct ews_repo *repo, const struct ews_apply_source *sources, size_t n,
	      const struct ews_apply_opts *opts)
{
	EWS_CLEANUP(apply_plan) struct ews_apply_plan plan;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = refuse_bare(repo, n && sources[0].session ? sources[0].session : "<session>");

	ews_apply_plan_init(&plan, repo, out, n, opts);
	if (rc == 0)
		rc = ews_repo_make_dir(repo);
	if (rc < 0)
		return rc;
	plan.batch = ews_batch_new(repo->odb);
	ews_rules_own(&plan.own, repo, repo->project);
	rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "apply", 0);
	if (rc == 0 && !opts->check)
		rc = ews_anew_settle(repo);
	if (rc == 0)
		rc = ews_steps_refuse_unfinished(repo);
	if (rc == 0)
		rc = ews_apply_read(&plan, sources);
	if (rc == 0)
		rc = ews_apply_merge(&plan);
	out->is_staging = opts->index || opts->commit;
	if (rc == 0 && out->is_staging && !out->is_refused)
		rc = check_index(&plan);
	if (rc < 0 || opts->check || out->is_refused || !out->merge.touched.n)
		return rc;
	return ews_apply_put(&plan);
}
