/*
 * Verdicts: what the guard says of a command, and why.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_VERDICT_H
#define EWS_WORK_VERDICT_H

#include <stdbool.h>

#include "base/cleanup.h"

enum ews_guard_op {
	EWS_GUARD_UNKNOWN = 0, /* nobody can say, or it is no matter of git's */
	EWS_GUARD_READ,
	EWS_GUARD_WRITE,
	EWS_GUARD_DESTRUCTIVE,
};

enum ews_guard_policy {
	EWS_GUARD_READ_ONLY = 0, /* what reads is allowed */
	EWS_GUARD_INSIDE, /* and all that stays in the workspace's own repository */
};

struct ews_guard_verdict {
	char *command; /* as it would be typed */
	char *subcommand; /* "commit", "stash drop"; NULL where git is not called */
	enum ews_guard_op operation;
	bool is_blocked;
	char *reason; /* a sentence; NULL where there is nothing to explain */
	char *suggestion; /* what to do instead; NULL: nothing */
	const char *policy; /* "read-only", "inside"; lives as long as the program */
};

#define EWS_GUARD_VERDICT_INIT { NULL, NULL, EWS_GUARD_UNKNOWN, false, NULL, NULL, NULL }

void ews_guard_verdict_release(struct ews_guard_verdict *verdict);
EWS_CLEANUP_DEFINE(guard_verdict, struct ews_guard_verdict, ews_guard_verdict_release)

/* "read", "write", "destructive", "unknown" */
const char *ews_guard_op_word(enum ews_guard_op op);
/* "read-only", "inside" */
const char *ews_guard_policy_word(enum ews_guard_policy policy);

/* Let `out`, which is about several commands, say what `found` says of one of them, where that is worse. */
void ews_guard_verdict_take(struct ews_guard_verdict *out, struct ews_guard_verdict *found);

/*
 * Block what `out` speaks of, for the reason that the format gives; `suggestion` may be NULL.
 * What blocked first stays.
 */
__attribute__((format(printf, 4, 5))) void ews_guard_block(struct ews_guard_verdict *out, enum ews_guard_op op,
							   const char *suggestion, const char *fmt, ...);

#endif
