/*
 * Harvest: which of the files that a session made are tests, and of what kind.
 *
 * `qe.artifacts.tests` has rules, "<pattern> -> <kind>", patterns as in .gitignore and the kind optional; the last
 * one that matches decides, and one that begins with "!" says that a file is no test. Without rules those below hold. Where
 * no rule says the kind, words in the path do: api/test_users.py is an api test. Else it is a unit test.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HARVEST_H
#define EWS_WORK_HARVEST_H

#include "work/artifact.h"
#include "work/diff.h"

struct ews_harvest_test {
	char *path; /* in the workspace */
	enum ews_artifact_type type;
	struct ews_oid blob;
	bool is_executable;
};

struct ews_harvest {
	struct ews_harvest_test *items; /* by path */
	size_t n, cap;
};

#define EWS_HARVEST_INIT { NULL, 0, 0 }

/* The tests among the files that `diff`, which has its records, adds. Fails with EWS_ECONFIG on a rule that makes no sense. */
int ews_harvest_find(struct ews_harvest *out, struct ews_repo *repo, const struct ews_diff *diff);

/*
 * Each as an artifact of `session` to be kept, in their order; again changes nothing. What they say is borrowed of both; the caller
 * frees the list.
 */
struct ews_artifact_new *ews_harvest_artifacts(const struct ews_harvest *harvest, const struct ews_session *session);

void ews_harvest_release(struct ews_harvest *harvest);
EWS_CLEANUP_DEFINE(harvest, struct ews_harvest, ews_harvest_release)

#endif
