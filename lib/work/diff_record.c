/*
 * A change record: see diff_record.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/diff_record.h"

#include <stdlib.h>

void ews_diff_records_free(struct ews_diff_record *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(items[i].path);
		free(items[i].old_path);
		ews_buf_release(&items[i].text);
	}
	free(items);
}
