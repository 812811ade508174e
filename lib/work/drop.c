/*
 * Drop: see drop.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/drop.h"

#include "base/error.h"

static int take_back(struct ews_repo *repo, const struct ews_step *step, ews_drop_move_fn move)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (!move || move(repo, step, true) == 0)
		(void)ews_step_remove(repo->dir_fd, step->id); /* what can't be removed is recover's */
	return ews_error_restore(&why);
}

int ews_drop(struct ews_repo *repo, struct ews_step *step, ews_drop_move_fn move)
{
	int rc = ews_step_write(repo->dir_fd, step);

	if (rc < 0)
		return take_back(repo, step, NULL); /* nothing has moved */
	rc = move(repo, step, false);
	if (rc < 0)
		return take_back(repo, step, move);
	step->state = EWS_STEP_DONE;
	return ews_step_write(repo->dir_fd, step);
}
