/*
 * Steps: see steps.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/lock.h"
#include "work/whose.h"

static int cmp_newest_first(const void *a, const void *b)
{
	const struct ews_step *x = a, *y = b;

	return ews_step_is_later(x, y) ? -1 : ews_step_is_later(y, x);
}

bool ews_step_is_of(const struct ews_step *step, const char *session)
{
	return !session || !strcmp(step->session, session);
}

bool ews_step_is_in_the_way(const struct ews_step *step, const struct ews_repo *repo)
{
	enum ews_whose whose = ews_step_is_unfinished(step) ? ews_whose(step, repo) : EWS_WHOSE_ANOTHERS;

	return whose == EWS_WHOSE_OURS || whose == EWS_WHOSE_UNKNOWN;
}

/* Those among `ids` that are of `session` (NULL: any); or, where `only_open`, the project's that are in the way. */
static int read_steps(struct ews_steps *out, const struct ews_repo *repo, const struct ews_strv *ids,
		      const char *session, bool only_open)
{
	int rc = 0;

	for (size_t i = 0; i < ids->n && rc >= 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_look(&step, &out->damaged, repo->dir_fd, ids->items[i]);
		if (rc <= 0 || !ews_step_is_of(&step, session) || (only_open && !ews_step_is_in_the_way(&step, repo)))
			continue;
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = step;
		step = (struct ews_step)EWS_STEP_INIT;
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_newest_first);
	return rc < 0 ? rc : 0;
}

int ews_steps_list(struct ews_steps *out, struct ews_repo *repo, const char *session)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_repo_need_dir(repo);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = ews_step_list(&ids, repo->dir_fd);
	return rc < 0 ? rc : read_steps(out, repo, &ids, session, false);
}

int ews_step_fail_unfinished(const struct ews_step *step, const struct ews_repo *repo)
{
	enum ews_whose whose = ews_whose(step, repo);

	ews_error(EWS_EINTERRUPTED, "the '%s'%s was interrupted", step->verb,
		  *step->session ? "" : " of the project");
	if (whose == EWS_WHOSE_UNKNOWN)
		ews_error_hint("in the work tree where it was: 'git ews undo %s', and 'git ews recover --all'",
			       step->id);
	else
		ews_error_hint("run 'git ews recover --all'");
	return EWS_EINTERRUPTED;
}

int ews_steps_refuse_unfinished(struct ews_repo *repo)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	int rc = ews_steps_list(&steps, repo, NULL);

	for (size_t i = 0; i < steps.n; i++)
		if (!*steps.items[i].session && ews_step_is_in_the_way(&steps.items[i], repo))
			return ews_step_fail_unfinished(&steps.items[i], repo);
	return rc;
}

int ews_steps_interrupted(struct ews_steps *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = repo->dir_fd < 0 ? 0 : ews_step_list_open(&ids, repo->dir_fd);

	if (rc < 0 || !ids.n || ews_repo_is_locked(repo, EWS_LOCK_PROJECT))
		return rc;
	return read_steps(out, repo, &ids, "", true);
}

void ews_steps_release(struct ews_steps *steps)
{
	for (size_t i = 0; i < steps->n; i++)
		ews_step_release(&steps->items[i]);
	free(steps->items);
	ews_strv_release(&steps->damaged);
	*steps = (struct ews_steps)EWS_STEPS_INIT;
}
