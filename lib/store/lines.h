/*
 * Lines: how many of them a change adds and deletes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LINES_H
#define EWS_STORE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct ews_lines {
	uint64_t added, deleted; /* 0 of what is binary */
	bool is_binary;
};

/*
 * Count what `git diff --numstat`, without config and attributes, counts between these two contents; one that isn't
 * there is empty. Each may have up to 512 MiB. Needs libgit2 where more than one place was changed.
 */
int ews_lines_count(struct ews_lines *out, const struct ews_buf *from, const struct ews_buf *to);

#endif
