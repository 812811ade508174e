/*
 * Verdicts: see verdict.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/verdict.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"

void ews_guard_verdict_release(struct ews_guard_verdict *verdict)
{
	free(verdict->command);
	free(verdict->subcommand);
	free(verdict->reason);
	free(verdict->suggestion);
	*verdict = (struct ews_guard_verdict)EWS_GUARD_VERDICT_INIT;
}

const char *ews_guard_op_word(enum ews_guard_op op)
{
	static const char *const words[] = {
		[EWS_GUARD_UNKNOWN] = "unknown",
		[EWS_GUARD_READ] = "read",
		[EWS_GUARD_WRITE] = "write",
		[EWS_GUARD_DESTRUCTIVE] = "destructive",
	};

	return words[op];
}

const char *ews_guard_policy_word(enum ews_guard_policy policy)
{
	return policy == EWS_GUARD_INSIDE ? "inside" : "read-only";
}

static int rank(const struct ews_guard_verdict *verdict)
{
	return (verdict->is_blocked ? 8 : 0) + (verdict->subcommand ? 4 : 0) + (int)verdict->operation;
}

void ews_guard_verdict_take(struct ews_guard_verdict *out, struct ews_guard_verdict *found)
{
	if (rank(found) <= rank(out))
		return;
	free(out->subcommand);
	free(out->reason);
	free(out->suggestion);
	out->subcommand = ews_steal(&found->subcommand);
	out->reason = ews_steal(&found->reason);
	out->suggestion = ews_steal(&found->suggestion);
	out->is_blocked = found->is_blocked;
	out->operation = found->operation;
}

void ews_guard_block(struct ews_guard_verdict *out, enum ews_guard_op op, const char *suggestion, const char *fmt, ...)
{
	EWS_CLEANUP(buf) struct ews_buf reason = EWS_BUF_INIT;
	va_list args;

	if (out->is_blocked)
		return;
	va_start(args, fmt);
	ews_buf_vaddf(&reason, fmt, args);
	va_end(args);
	out->is_blocked = true;
	out->operation = op;
	free(out->reason);
	out->reason = ews_buf_steal(&reason);
	free(out->suggestion);
	out->suggestion = suggestion ? ews_strdup(suggestion) : NULL;
}
