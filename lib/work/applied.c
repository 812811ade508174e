/*
 * What came of an apply: see applied.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/applied.h"

#include <stdlib.h>

void ews_apply_result_release(struct ews_apply_result *result)
{
	ews_diff_release(&result->diff);
	ews_merge_result_release(&result->merge);
	ews_transition_result_release(&result->put);
	free(result->commit);
	free(result->undo);
	ews_strv_release(&result->stale);
}
