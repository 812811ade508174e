/*
 * Hashes: SHA-256, SHA-1 and MD5 over nettle, in pieces.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_HASH_H
#define EWS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define EWS_SHA256_LEN 32
#define EWS_HASH_MAX EWS_SHA256_LEN

enum ews_hash_algo {
	EWS_SHA1, /* 20 bytes */
	EWS_SHA256, /* EWS_SHA256_LEN bytes */
	EWS_MD5, /* 16 bytes; to be compared with what others print, proof of nothing */
};

struct ews_hash; /* a running digest */

/* How many bytes a digest has. */
size_t ews_hash_len(enum ews_hash_algo algo);

struct ews_hash *ews_hash_new(enum ews_hash_algo algo);
void ews_hash_add(struct ews_hash *hash, const void *data, size_t len);
/* The same behind the length, which tells apart what is added one after the other; for digests that never travel. */
void ews_hash_add_part(struct ews_hash *hash, const void *data, size_t len);
/* Write the digest to `out`, which has room for one of its kind (EWS_HASH_MAX: of any), and start anew; returns its length. */
size_t ews_hash_finish(struct ews_hash *hash, uint8_t *out);
void ews_hash_free(struct ews_hash *hash);

/* All at once, into as much room. Returns the digest's length. */
size_t ews_hash_once(enum ews_hash_algo algo, uint8_t *out, const void *data, size_t len);

/* Write 2*len lower-case hex digits and a NUL to `out`. */
void ews_hex(char *out, const uint8_t *data, size_t len);
/* Read exactly 2*len hex digits. Returns 0, or -1 when a character is none (no error is set). */
int ews_unhex(uint8_t *out, size_t len, const char *text);

EWS_CLEANUP_DEFINE_PTR(hash, struct ews_hash, ews_hash_free)

#endif
