/*
 * Commits of our own: written with our name, and read by the trailers that end their message.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_COMMIT_H
#define EWS_STORE_COMMIT_H

#include "store/batch.h"

/* Add a commit of `tree` with `parents` (NULL-ended) to `batch`. */
int ews_commit_write(struct ews_oid *out, struct ews_batch *batch, const struct ews_oid *tree,
		     const struct ews_oid *const *parents, int64_t time_s, const char *message);

/* The trailer `key` ("Ews-Session") of a message, "" when it has none; the caller frees it. */
char *ews_commit_trailer(const char *message, const char *key);

#endif
