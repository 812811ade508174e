/*
 * Cleaning: sessions that nobody works in any more end, through trash; trash that is due goes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_CLEAN_H
#define EWS_WORK_CLEAN_H

#include "base/progress_fn.h"
#include "work/report.h"
#include "work/trash.h"

struct ews_clean_opts {
	const char *const *ids; /* these sessions; NULL: those that need it */
	bool force; /* interrupted and changed ones as well, never one in use */
	bool idle; /* also sessions that nothing befell for `idle_s`, not only what was interrupted */
	int64_t idle_s;
	int64_t older_than_s; /* what was interrupted, and what trash holds with `now`, for less than that stays */
	bool now; /* free what trash holds, of these sessions or of all */
	bool dry_run;
	ews_report_render_fn render; /* for the reports of those that end; NULL: they get none */
	ews_progress_fn progress;
	void *payload;
};

#define EWS_CLEAN_IDLE_S (24 * 60 * 60) /* unless another age is asked for */

/* A session to which something was done, or would be. */
struct ews_clean_end {
	char *session; /* "" the project itself */
	char *what;
	uint64_t size_bytes; /* of the workspace that goes to trash; 0: none does */
};

struct ews_clean_result {
	struct ews_clean_end *ended;
	size_t n, cap;
	struct ews_strv kept; /* "<session>\t<why>" */
	struct ews_trash_result trash;
};

#define EWS_CLEAN_RESULT_INIT { NULL, 0, 0, EWS_STRV_INIT, EWS_TRASH_RESULT_INIT }

/*
 * Clean. A session that can't be ended, or not yet, is named in `out->kept` and keeps nobody from the others; it fails with
 * what concerns all of them alone, and `out` is empty then.
 */
int ews_clean(struct ews_clean_result *out, struct ews_repo *repo, const struct ews_clean_opts *opts);

/* Is it an hour since this was asked and answered with yes? The first time it is not. */
bool ews_clean_is_time(struct ews_repo *repo);
/* The same that `git ews clean` does without options, for what is older than a day. */
int ews_clean_auto(struct ews_clean_result *out, struct ews_repo *repo, ews_report_render_fn render);

/*
 * For how long has nothing befallen session `id` of the project whose directory in home is `repo_fd`? 0 where that can't be
 * seen just now.
 */
int64_t ews_clean_idle_s(int repo_fd, const char *id);

/* Add one to `out->ended`; the texts are copied. */
void ews_clean_add_ended(struct ews_clean_result *out, const char *session, uint64_t size_bytes, const char *what);
void ews_clean_result_release(struct ews_clean_result *result);
EWS_CLEANUP_DEFINE(clean_result, struct ews_clean_result, ews_clean_result_release)

#endif
