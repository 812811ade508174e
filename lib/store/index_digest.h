/*
 * The digest of what git's index says: of each entry the mode, id, stage, flags and path.
 *
 * Neither of its stat data, which git refreshes, nor of its version, nor of what it has besides entries: two
 * indexes have the same digest when they name the same. One that can't be understood entry by entry has a
 * digest of all its bytes: one that is split, needs what isn't known, or is damaged.
 *
 * It takes about as long as to hash the bytes, and no more memory for many entries than for few.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_INDEX_DIGEST_H
#define EWS_STORE_INDEX_DIGEST_H

#include "base/hash.h"

/*
 * The digest, EWS_SHA256_LEN bytes, of the index `name` in the directory `dir_fd`, whose ids are of `algo`. Fails with
 * EWS_ENOTFOUND, and with EWS_EDAMAGED when it is no file or has more than `max` bytes.
 */
int ews_index_digest(uint8_t *out, int dir_fd, const char *name, enum ews_hash_algo algo, size_t max);

/* The same of an index whose bytes are there. */
void ews_index_digest_bytes(uint8_t *out, const void *data, size_t len, enum ews_hash_algo algo);

#endif
