/*
 * Merges: what was done to one tree, done to another, path by path.
 *
 * Where the other tree still is what the first one began with, it takes what came of that. Where it moved on,
 * texts are merged line by line; whatever else was changed on both sides is a conflict. A name that changed on one side
 * takes what the other side did to the file along.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_MERGE_H
#define EWS_WORK_MERGE_H

#include "base/strv.h"
#include "store/batch.h"
#include "store/entry.h"
#include "store/skip.h"

/* What a conflict comes to. */
enum ews_merge_favor {
	EWS_MERGE_REFUSE = 0, /* it is named, and what came of the rest is of no use */
	EWS_MERGE_MARK, /* texts get markers, all else stays as it is in `ours` */
	EWS_MERGE_THEIRS, /* it is as the other side has it */
};

struct ews_merge_opts {
	struct ews_odb *odb;
	struct ews_batch *batch; /* merged texts go there */
	const struct ews_entries *ours; /* the tree that takes it, sorted, all ids known */
	const struct ews_skips *skips; /* what stands there as well and was not looked at */
	const char *const *closed; /* NULL-ended paths at which nothing may come */
	const struct ews_changes *changes; /* from what the other side began with to what it came to */
	const struct ews_entries *theirs; /* the latter */
	const struct ews_strv *renames; /* the old and the new name of each file that `changes` rename, by turns */
	enum ews_merge_favor favor;
	bool is_nowhere; /* no directory is to become what comes of it: a link leads nobody astray, and no skip is in the way */
	const char *our_label, *their_label; /* behind the markers */
};

struct ews_merge_result {
	struct ews_strv touched; /* paths that differ from `ours`, sorted */
	struct ews_strv conflicts; /* "<path>\t<why>", the path escaped */
	struct ews_strv drift; /* "<path>\t<what>": changed on both sides, and what came of it */
	struct ews_strv left_out; /* "<path>\t<why>": nested repositories */
	bool is_blocked; /* a conflict can't be settled at all: it lies beyond a link, or where nobody may look */
};

#define EWS_MERGE_RESULT_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, false }

/* Append the merged tree to `out`, sorted; `result` may hold what earlier merges came to. */
int ews_merge(struct ews_entries *out, struct ews_merge_result *result, const struct ews_merge_opts *opts);

/*
 * Of a tree that git listed: give its files the modes and attributes that `ours` has at these paths, but for what git
 * tells of a mode; what is new gets what the umask leaves.
 */
void ews_merge_take_modes(struct ews_entries *list, const struct ews_entries *ours);

void ews_merge_result_release(struct ews_merge_result *result);
EWS_CLEANUP_DEFINE(merge_result, struct ews_merge_result, ews_merge_result_release)

#endif
