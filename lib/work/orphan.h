/*
 * Orphans: sessions whose project is gone, and with it the store that had their base.
 *
 * What is left lies in home: the workspaces, and the records. Nothing can be compared or kept as a snapshot any more,
 * so all of it counts as changed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ORPHAN_H
#define EWS_WORK_ORPHAN_H

#include "store/home_project.h"
#include "store/state.h"
#include "work/clean.h"

struct ews_orphan {
	char *id;
	bool has_state; /* it could be read */
	int unread; /* why it couldn't, just now: an errno, else 0 */
	struct ews_state state;
};

struct ews_orphans {
	struct ews_orphan *items;
	size_t n, cap;
};

#define EWS_ORPHANS_INIT { NULL, 0, 0 }

/* The sessions of the project that has `dir` in home, whatever has become of it. */
int ews_orphan_list(struct ews_orphans *out, const char *dir);
void ews_orphans_release(struct ews_orphans *orphans);
EWS_CLEANUP_DEFINE(orphans, struct ews_orphans, ews_orphans_release)

/*
 * Let go of all that home has of a project that is gone: only with both `force` and `now`, since nothing of it can be kept,
 * and only when it was left alone for `older_than_s` and no process stands in it. Otherwise its sessions are named as what stays.
 */
int ews_orphan_clean(struct ews_clean_result *out, const struct ews_home_project *project,
		     const struct ews_clean_opts *opts);

#endif
