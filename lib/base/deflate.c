/*
 * Deflate: see deflate.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/deflate.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>

#include "base/alloc.h"

#define FAST_LEVEL 1
#define ZLIB_HEAD 2 /* bytes before the stream, and after it */
#define ZLIB_SUM 4
#define PROBE_BYTES (64 * EWS_KIB)
#define WORTH_PERCENT 95

struct ews_deflater {
	struct libdeflate_compressor *levels[FAST_LEVEL + 1]; /* made when first needed */
};

struct ews_inflater {
	struct libdeflate_decompressor *libdeflate;
};

/* It fails for want of memory alone, which ends the program everywhere. */
static void *need(void *made)
{
	if (!made)
		abort();
	return made;
}

struct ews_deflater *ews_deflater_new(void)
{
	return ews_calloc(1, sizeof(struct ews_deflater));
}

void ews_deflater_free(struct ews_deflater *deflater)
{
	if (!deflater)
		return;
	for (int level = 0; level <= FAST_LEVEL; level++)
		if (deflater->levels[level])
			libdeflate_free_compressor(deflater->levels[level]);
	free(deflater);
}

void ews_deflate(struct ews_buf *out, struct ews_deflater *deflater, bool is_plain, const void *data, size_t len)
{
	int level = is_plain ? 0 : FAST_LEVEL;
	struct libdeflate_compressor **compressor = &deflater->levels[level];
	size_t room, n;

	if (!*compressor)
		*compressor = need(libdeflate_alloc_compressor(level));
	room = libdeflate_zlib_compress_bound(*compressor, len);
	ews_buf_reserve(out, room);
	n = libdeflate_zlib_compress(*compressor, data, len, out->ptr + out->len, room);
	assert(n);
	out->len += n;
	out->ptr[out->len] = '\0';
}

bool ews_deflate_is_worth(struct ews_deflater *deflater, const void *data, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf probe = EWS_BUF_INIT;

	if (len < PROBE_BYTES)
		return true;
	ews_deflate(&probe, deflater, false, data, PROBE_BYTES);
	return probe.len <= PROBE_BYTES / 100 * WORTH_PERCENT;
}

struct ews_inflater *ews_inflater_new(void)
{
	struct ews_inflater *inflater = ews_calloc(1, sizeof(*inflater));

	inflater->libdeflate = need(libdeflate_alloc_decompressor());
	return inflater;
}

void ews_inflater_free(struct ews_inflater *inflater)
{
	if (!inflater)
		return;
	libdeflate_free_decompressor(inflater->libdeflate);
	free(inflater);
}

bool ews_inflate(void *out, size_t len, struct ews_inflater *inflater, const void *data, size_t data_len)
{
	const unsigned char *head = data;
	size_t n_read;

	/* What RFC 1950 wants of the first two bytes: deflate, of a window that there is, and no dictionary. */
	if (data_len < ZLIB_HEAD + ZLIB_SUM || (head[0] & 15) != 8 || head[0] >> 4 > 7 || head[1] & 0x20 ||
	    (head[0] << 8 | head[1]) % 31)
		return false;
	/* Without a place for how much came, less than all of it is an error, as more is. */
	return libdeflate_deflate_decompress_ex(inflater->libdeflate, head + ZLIB_HEAD,
						data_len - ZLIB_HEAD - ZLIB_SUM, out, len, &n_read,
						NULL) == LIBDEFLATE_SUCCESS;
}

uint32_t ews_crc32(uint32_t crc, const void *data, size_t len)
{
	return libdeflate_crc32(crc, data, len);
}
