/*
 * Recover: read what was interrupted, finish it or take it back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RECOVER_H
#define EWS_WORK_RECOVER_H

#include "base/progress_fn.h"
#include "work/session.h"

enum ews_recover_choice {
	EWS_RECOVER_BEST, /* loses nothing: finishes what was nearly done, takes back the rest */
	EWS_RECOVER_RESUME, /* the session goes on: its unfinished step is finished */
	EWS_RECOVER_REVERT, /* revert and discard: the workspace back to base, then ended */
};

struct ews_recover_unbegun;

struct ews_recover_opts {
	enum ews_recover_choice choice;
	const struct ews_recover_unbegun *unbegun; /* what this process was about to run in the session; NULL: nothing */
	ews_progress_fn progress;
	void *payload;
};

/*
 * Interrupted ones of the store: the ids of the sessions, and "" when a step of the project itself is unfinished. `closed` (may be
 * NULL) gets the sessions that can't be opened, of which nobody can tell: "<id>\t<why>"; and under "" the steps whose record
 * makes no sense.
 */
int ews_recover_list(struct ews_strv *out, struct ews_strv *closed, struct ews_repo *repo);

/* What waits for a recover in another work tree, steps of the project itself and sessions in place: a sentence each, which says in which. */
int ews_recover_elsewhere(struct ews_strv *out, struct ews_repo *repo);

/*
 * Recover session `id` ("" for the project's own steps and for litter of killed verbs); what
 * was done is added to `done`, a sentence each. Doing it twice is as doing it once.
 */
int ews_recover(struct ews_strv *done, struct ews_repo *repo, const char *id, const struct ews_recover_opts *opts);

#endif
