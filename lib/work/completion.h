/*
 * Completion: who decides what becomes of a session's result, when it ends.
 *
 * The user's hook is asked, where there is one and something differs from the base: 0 accepts, and the result is applied to the
 * project; 1 rejects, and it goes to trash; with any other status it waits for a decision (work/pending). What is applied is what the hook has
 * seen, whatever is written meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_COMPLETION_H
#define EWS_WORK_COMPLETION_H

#include "work/end.h"

enum ews_decision {
	EWS_DECISION_NONE = 0, /* nobody was asked, or nothing differs */
	EWS_DECISION_ACCEPTED,
	EWS_DECISION_REJECTED,
	EWS_DECISION_PENDING,
};

struct ews_completion {
	enum ews_decision decision;
	int status; /* the hook's */
	int signo; /* came meanwhile, and is to end us: the result is pending, whatever the hook said; 0: none */
	bool is_refused; /* it was accepted, but the project has gone on so that it can't be applied, or is gone: it is pending */
};

/* Ask, and apply what is accepted. The session must be active; afterwards it is to be ended as it was decided. */
int ews_complete(struct ews_completion *out, struct ews_session *session, const char *command, int status);

/* Let the end do what was decided, where anything was. */
void ews_completion_settle(struct ews_end_opts *opts, const struct ews_completion *completion);

/* "accepted", "rejected", "pending"; NULL: nobody was asked. */
const char *ews_decision_word(enum ews_decision decision);

#endif
