/*
 * Streams of libdeflate against zlib's: each reads what the other made.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/deflate.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"

#define ROUNDS 400
#define BYTES_MAX (200 * 1024)

/* Bytes of as many kinds as the round says: from all alike to noise. */
static size_t make(unsigned char *out, unsigned round, unsigned short seed[3])
{
	size_t len = round % 4 ? (size_t)nrand48(seed) % 300 : (size_t)nrand48(seed) % BYTES_MAX;

	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)((unsigned long)nrand48(seed) % (1 + round % 256));
	return len;
}

Test(deflate, is_read_by_zlib_and_reads_zlib)
{
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();
	EWS_CLEANUP(inflater) struct ews_inflater *inflater = ews_inflater_new();
	EWS_CLEANUP(free) unsigned char *data = ews_malloc(BYTES_MAX), *back = ews_malloc(BYTES_MAX + 1);
	EWS_CLEANUP(free) unsigned char *theirs = ews_malloc(compressBound(BYTES_MAX));
	unsigned short seed[3] = { 8, 1, 5 };

	for (unsigned round = 0; round < ROUNDS; round++) {
		EWS_CLEANUP(buf) struct ews_buf ours = EWS_BUF_INIT;
		size_t len = make(data, round, seed);
		uLongf n = BYTES_MAX + 1, n_theirs = compressBound(BYTES_MAX);

		ews_buf_adds(&ours, "before");
		ews_deflate(&ours, deflater, round % 3 == 0, data, len);
		cr_assert_eq(uncompress(back, &n, (unsigned char *)ours.ptr + 6, ours.len - 6), Z_OK);
		cr_assert(n == len && !memcmp(back, data, len), "round %u", round);
		cr_assert_eq(compress2(theirs, &n_theirs, data, len, (int)(round % 10)), Z_OK);
		cr_assert(ews_inflate(back, len, inflater, theirs, n_theirs), "round %u", round);
		cr_assert_eq(memcmp(back, data, len), 0);
		/* A pack goes on behind an object. */
		ews_buf_adds(&ours, "behind");
		cr_assert(ews_inflate(back, len, inflater, ours.ptr + 6, ours.len - 6));
		cr_assert_eq(ews_crc32(ews_crc32(0, data, len / 2), data + len / 2, len - len / 2),
			     crc32_z(0, data, len));
	}
}

Test(deflate, takes_no_more_and_no_less)
{
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();
	EWS_CLEANUP(inflater) struct ews_inflater *inflater = ews_inflater_new();
	EWS_CLEANUP(buf) struct ews_buf stream = EWS_BUF_INIT;
	char text[1000], back[1001];

	memset(text, 'a', sizeof(text));
	memcpy(text + 400, "something else", 14);
	ews_deflate(&stream, deflater, false, text, sizeof(text));
	cr_assert(ews_inflate(back, sizeof(text), inflater, stream.ptr, stream.len));
	cr_assert_not(ews_inflate(back, sizeof(text) + 1, inflater, stream.ptr, stream.len));
	cr_assert_not(ews_inflate(back, sizeof(text) - 1, inflater, stream.ptr, stream.len));
	for (size_t cut = 0; cut < stream.len; cut++)
		cr_assert_not(ews_inflate(back, sizeof(text), inflater, stream.ptr, cut), "cut to %zu", cut);
	/* What is damaged is told by who asks, but for where a stream begins. */
	for (size_t i = 0; i < stream.len; i++) {
		bool is_read;

		stream.ptr[i] ^= 0x10;
		back[sizeof(text)] = 'x';
		is_read = ews_inflate(back, sizeof(text), inflater, stream.ptr, stream.len);
		cr_assert(!is_read || i > 1, "byte %zu", i);
		cr_assert_eq(back[sizeof(text)], 'x', "byte %zu", i);
		stream.ptr[i] ^= 0x10;
	}
}

Test(deflate, says_what_was_compressed_before)
{
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();
	EWS_CLEANUP(free) unsigned char *data = ews_calloc(1, BYTES_MAX);
	unsigned short seed[3] = { 1, 2, 3 };

	cr_assert(ews_deflate_is_worth(deflater, data, BYTES_MAX));
	for (size_t i = 0; i < BYTES_MAX; i++)
		data[i] = (unsigned char)nrand48(seed);
	cr_assert_not(ews_deflate_is_worth(deflater, data, BYTES_MAX));
	cr_assert(ews_deflate_is_worth(deflater, data, 1000), "little is no matter");
}
