/*
 * Deflate: zlib's streams (RFC 1950, 1951) of what lies in memory whole, by libdeflate, which takes a half of zlib's time
 * to make them and a third to read them, and makes them smaller. What comes in pieces is zlib's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_DEFLATE_H
#define EWS_BASE_DEFLATE_H

#include <stdint.h>

#include "base/buf.h"

/* One thread's compressor, used again for each stream. */
struct ews_deflater;

struct ews_deflater *ews_deflater_new(void);
void ews_deflater_free(struct ews_deflater *deflater);

/* Append `data` to `out` as a stream; a plain one is not compressed. */
void ews_deflate(struct ews_buf *out, struct ews_deflater *deflater, bool is_plain, const void *data, size_t len);

/* Does content that starts with these bytes become smaller, or was it compressed before? */
bool ews_deflate_is_worth(struct ews_deflater *deflater, const void *data, size_t len);

/* One thread's decompressor. */
struct ews_inflater;

struct ews_inflater *ews_inflater_new(void);
void ews_inflater_free(struct ews_inflater *inflater);

/*
 * Read the stream at `data`, which ends within `data_len` bytes, to `out`: false when it is damaged, or when what comes out
 * has not `len` bytes exactly. The checksum at its end is not looked at: who asks has a better one, of all that came.
 */
bool ews_inflate(void *out, size_t len, struct ews_inflater *inflater, const void *data, size_t data_len);

/* The CRC-32 of zlib and of packs, of what had `crc` so far (0: nothing) and these bytes. */
uint32_t ews_crc32(uint32_t crc, const void *data, size_t len);

EWS_CLEANUP_DEFINE_PTR(deflater, struct ews_deflater, ews_deflater_free)
EWS_CLEANUP_DEFINE_PTR(inflater, struct ews_inflater, ews_inflater_free)

#endif
