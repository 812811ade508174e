/*
 * Diff, counted: the records of a diff without git, where it is certain what git would say.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DIFF_COUNT_H
#define EWS_WORK_DIFF_COUNT_H

#include "store/odb.h"
#include "store/tree_compare.h"
#include "work/diff_record.h"

struct ews_diff_count_opts {
	bool no_counts; /* nobody asks how many lines, for which all that changed would be compared twice */
	bool no_renames; /* what came and what went is not compared */
	bool on_one_thread; /* the other processors have their work */
};

/* Can what a store has be counted here? Where it can't git is asked, and nobody need find out what differs. */
bool ews_diff_can_count(const struct ews_odb *odb);

/*
 * List `differences` as records, in their order, of a store where that can be: the caller frees `*items`, with ews_diff_records_free().
 * Returns 1, or 0 when git has to be asked: something may have been renamed, or is of a kind, a size or a store that
 * is left to it, or could not be read, of which git then speaks.
 */
int ews_diff_count(struct ews_diff_record **items, size_t *n, struct ews_odb *odb,
		   const struct ews_tree_differences *differences, const struct ews_diff_count_opts *opts);

#endif
