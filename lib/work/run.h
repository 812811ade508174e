/*
 * Run: a command in a session's workspace, and what is done when it is over.
 *
 * While the command runs this process is the session's owner: whoever is killed meanwhile leaves it interrupted,
 * with the workspace as it is. The kernel holds the command where it may write, if it can (work/confine). The project's
 * refs, config and hooks are looked at right before and right after.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RUN_H
#define EWS_WORK_RUN_H

#include "work/diff.h"
#include "work/session.h"
#include "work/snapshot.h"

struct ews_run_opts {
	const char *verb; /* "run" or "shell" */
	char *const *argv;
	bool is_shell; /* argv[0] is a shell alone, whose prompt is to be marked */
	char *const *env; /* NULL-ended "<name>=<value>", over what the command gets anyway */
	const char *subdir; /* of the workspace, to run in; "" is its top */
	int out_fd; /* the command's standard output when > 0 */
	uint64_t timeout_ms; /* 0: none */
	bool reap; /* end what it leaves behind */
	bool log; /* copy what it prints into a file among the artifacts */
	const char *guard_level, *guard_policy;
	const struct ews_strv *writable; /* directories that it may write as well; ews_confine_settle() made them; NULL: none */
	bool no_network;
};

struct ews_run_result {
	int status; /* the command's, or why there is none: 124 out of time, 125 ours, 126 not executable, 127 not found */
	bool has_begun; /* the command may have run; said also where this fails */
	bool has_timed_out;
	bool is_subdir_missing; /* it ran at the top of the workspace */
	char *log; /* where the copy of its output is; NULL: there is none */
	char *output_flaw; /* why what it printed did not all arrive; NULL: it did, as far as that passed through us */
	char *log_flaw; /* why that is not complete; NULL: it is */
	char *findings_flaw; /* why what it found waits among its temporary files; NULL: it is taken over */
	struct ews_strv left_behind; /* processes, as "<name> (<pid>)" */
	struct ews_strv changed; /* what of the project changed meanwhile, a sentence each */
	struct ews_strv commands; /* what takes each of them back; "" when nothing does */
	struct ews_strv blocked; /* lines of the session's log about git commands that were stopped */
};

#define EWS_RUN_STATUS_FAILED 125
#define EWS_RUN_RESULT_INIT { .status = EWS_RUN_STATUS_FAILED }

/*
 * Run the command to its end. The session is this process's from here on, and not locked afterwards. When the command could not
 * be started this fails, and `out->status` says what a shell would; so it does, with EWS_RUN_STATUS_FAILED, when the command
 * ran and what there is to say of it could not be recorded. Whoever fails has given the session back.
 */
int ews_run(struct ews_run_result *out, struct ews_session *session, const struct ews_run_opts *opts);

/* What there is after a command. */
struct ews_run_outcome {
	struct ews_snapshot snapshot; /* of the workspace now; the one before when nothing changed since */
	bool has_snapshot;
	struct ews_skips skips;
	struct ews_diff diff; /* between the base and that */
	char *patch; /* where it was stored; NULL: nothing differs, or it was not wanted */
	bool had_ended; /* somebody ended the session meanwhile: there is nothing else */
};

#define EWS_RUN_OUTCOME_INIT { .snapshot = EWS_SNAPSHOT_INIT, .skips = EWS_SKIPS_INIT, .diff = EWS_DIFF_INIT }

/* Take a snapshot, compare, and (`store_patch`) store the patch where artifacts are. The session is locked afterwards. */
int ews_run_conclude(struct ews_run_outcome *out, struct ews_session *session, bool store_patch);

void ews_run_result_release(struct ews_run_result *result);
void ews_run_outcome_release(struct ews_run_outcome *outcome);
EWS_CLEANUP_DEFINE(run_result, struct ews_run_result, ews_run_result_release)
EWS_CLEANUP_DEFINE(run_outcome, struct ews_run_outcome, ews_run_outcome_release)

#endif
