/*
 * A change record: what a diff says of one path.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DIFF_RECORD_H
#define EWS_WORK_DIFF_RECORD_H

#include "base/buf.h"
#include "store/oid.h"

struct ews_diff_record {
	char *path; /* the new one; of a deletion the old one */
	char *old_path; /* of a rename, else NULL */
	char status; /* 'A' 'M' 'D' 'R' 'T' as git has it */
	uint32_t old_mode, new_mode; /* git's modes; 0: absent */
	struct ews_oid old_oid, new_oid; /* none: absent */
	bool is_binary;
	uint64_t lines_added, lines_deleted; /* 0 for a binary one */
	uint64_t old_size, new_size;
	int64_t mtime_s; /* of the new side, 0: not known */
	struct ews_buf text; /* its part of the patch; "" before ews_diff_texts() */
};

/* Free `n` records and their array, which may be NULL. */
void ews_diff_records_free(struct ews_diff_record *items, size_t n);

#endif
