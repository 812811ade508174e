/*
 * Checkups: what was looked at, how it stands, and what mends it.
 *
 * Looking changes nothing. What is found may bring a function that mends it; that looks again before it
 * does anything, since things go on between the two.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_CHECKUP_H
#define EWS_WORK_CHECKUP_H

#include <stdbool.h>

#include "base/strv.h"
#include "store/repo.h"

/* What is looked at. */
struct ews_patient {
	const char *home; /* it need not be there */
	struct ews_repo *repo; /* NULL: there is no project here, or it can't be opened */
	const char *top; /* its work tree; NULL: it has none */
};

enum ews_check_status {
	EWS_CHECK_OK = 1,
	EWS_CHECK_WARNING, /* it works, and costs something */
	EWS_CHECK_PROBLEM, /* something does not work, or will be lost */
};

struct ews_check {
	const char *name; /* "core.bare"; lives as long as the program */
	enum ews_check_status status;
	char *message; /* a sentence */
	char *fix; /* what would mend it: a command, or what `mend` does; NULL: nothing is known, or needed */
	/* Mends it, given what `mend_arg` says of it; NULL: that is left to people. Returns 0 when there is nothing wrong any more. */
	int (*mend)(const struct ews_patient *patient, const char *mend_arg);
	char *mend_arg;
	bool is_fixed;
};

struct ews_checkup {
	struct ews_check *items; /* of each name at least one */
	size_t n, cap;
};

#define EWS_CHECKUP_INIT { NULL, 0, 0 }

/* Add that all is well with `name`. */
__attribute__((format(printf, 3, 4))) void ews_checkup_ok(struct ews_checkup *out, const char *name,
							  const char *fmt, ...);

/* Add something that was found. Who knows what mends it says so to the check that is given back, before the next is added. */
__attribute__((format(printf, 4, 5))) struct ews_check *
ews_checkup_find(struct ews_checkup *out, const char *name, enum ews_check_status status, const char *fmt, ...);

/* A command for people. */
__attribute__((format(printf, 2, 3))) void ews_check_advise(struct ews_check *check, const char *fmt, ...);

/* What `mend` does, given `mend_arg`, in a sentence. */
__attribute__((format(printf, 4, 5))) void
ews_check_mend(struct ews_check *check, int (*mend)(const struct ews_patient *patient, const char *mend_arg),
	       const char *mend_arg, const char *fmt, ...);

/* Add the error that is set, and clear it. */
struct ews_check *ews_checkup_error(struct ews_checkup *out, const char *name);

/* Was anything found under `name`, or was it said to be well? */
bool ews_checkup_has(const struct ews_checkup *checkup, const char *name);

void ews_checkup_release(struct ews_checkup *checkup);
EWS_CLEANUP_DEFINE(checkup, struct ews_checkup, ews_checkup_release)

#endif
