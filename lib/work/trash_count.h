/*
 * Trash, counted: how many bytes of the store only those snapshots hold that go by a plan.
 *
 * Git counts them while they go: its objects stay until it collects garbage.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRASH_COUNT_H
#define EWS_WORK_TRASH_COUNT_H

#include <stdint.h>

#include "base/beside.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "work/trash_plan.h"

struct ews_trash_count {
	struct ews_beside beside;
	struct ews_buf request; /* to git, by a line */
	char *neutral; /* where git runs */
	const char *object_dir;
	uint64_t bytes; /* known at its end; it informs: of a store that is not whole it is 0 */
};

#define EWS_TRASH_COUNT_INIT { .request = EWS_BUF_INIT, .neutral = NULL, .object_dir = NULL, .bytes = 0 }

/* Begin, beside the thread, with what is due of `plan`, while all refs are there. */
void ews_trash_count_begin(struct ews_trash_count *count, const struct ews_trash_plan *plan);

/* Wait for it; `count->bytes` stands. Once more does nothing. */
void ews_trash_count_end(struct ews_trash_count *count);
EWS_CLEANUP_DEFINE(trash_count, struct ews_trash_count, ews_trash_count_end)

#endif
