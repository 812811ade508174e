/*
 * First look: what a new workspace holds, remembered for the first verb that asks.
 *
 * When a session starts all is in memory that its first verb would have to find out: what the base holds, and what was
 * put into the workspace with which stat data. The directories are looked at once more, after the last step that writes
 * there (store/made), and what is too young then to be known again is marked as such, as in any cache. That
 * is done on threads of its own, while the session is made durable.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_FIRST_LOOK_H
#define EWS_WORK_FIRST_LOOK_H

#include <time.h>

#include "base/beside.h"
#include "work/content.h"
#include "work/look.h"

struct ews_first_look_opts {
	struct ews_content *put; /* what was put there, with the stat data of its files; NULL: the base alone is remembered */
	bool is_exact; /* nothing of that was lost on the way */
	const struct ews_content *base;
	struct ews_oid base_commit; /* that it is kept as */
};

struct ews_first_look {
	struct ews_beside now, base;
	struct ews_session *session;
	struct ews_first_look_opts opts;
	struct ews_content_opts content_opts;
	struct ews_look *look; /* NULL: there is none */
	struct timespec begun;
};

#define EWS_FIRST_LOOK_INIT { .now = EWS_BESIDE_INIT, .base = EWS_BESIDE_INIT }

/*
 * Begin to look at the workspace of `session`. What the options have is borrowed until the end, and not to be changed; of many
 * files the list of `put` is taken.
 */
void ews_first_look_begin(struct ews_first_look *out, struct ews_session *session,
			  const struct ews_first_look_opts *opts);

/* Wait for it. What could not be remembered will be looked for again. */
void ews_first_look_end(struct ews_first_look *look);

EWS_CLEANUP_DEFINE(first_look, struct ews_first_look, ews_first_look_end)

#endif
