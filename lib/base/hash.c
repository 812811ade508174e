/*
 * Hashes: see hash.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/hash.h"

#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdlib.h>

#include "base/alloc.h"

struct ews_hash {
	enum ews_hash_algo algo;
	union {
		struct sha1_ctx sha1;
		struct sha256_ctx sha256;
		struct md5_ctx md5;
	};
};

static void begin(struct ews_hash *hash, enum ews_hash_algo algo)
{
	hash->algo = algo;
	switch (algo) {
	case EWS_SHA1:
		sha1_init(&hash->sha1);
		break;
	case EWS_SHA256:
		sha256_init(&hash->sha256);
		break;
	case EWS_MD5:
		md5_init(&hash->md5);
		break;
	}
}

size_t ews_hash_len(enum ews_hash_algo algo)
{
	return algo == EWS_SHA256 ? EWS_SHA256_LEN : 20;
}

struct ews_hash *ews_hash_new(enum ews_hash_algo algo)
{
	struct ews_hash *hash = ews_malloc(sizeof(*hash));

	begin(hash, algo);
	return hash;
}

void ews_hash_add(struct ews_hash *hash, const void *data, size_t len)
{
	switch (hash->algo) {
	case EWS_SHA1:
		sha1_update(&hash->sha1, len, data);
		break;
	case EWS_SHA256:
		sha256_update(&hash->sha256, len, data);
		break;
	case EWS_MD5:
		md5_update(&hash->md5, len, data);
		break;
	}
}

void ews_hash_add_part(struct ews_hash *hash, const void *data, size_t len)
{
	ews_hash_add(hash, &len, sizeof(len));
	ews_hash_add(hash, data, len);
}

size_t ews_hash_finish(struct ews_hash *hash, uint8_t *out)
{
	/* Each of these begins anew by itself. */
	switch (hash->algo) {
	case EWS_SHA1:
		sha1_digest(&hash->sha1, SHA1_DIGEST_SIZE, out);
		return SHA1_DIGEST_SIZE;
	case EWS_SHA256:
		sha256_digest(&hash->sha256, SHA256_DIGEST_SIZE, out);
		return SHA256_DIGEST_SIZE;
	default:
		md5_digest(&hash->md5, MD5_DIGEST_SIZE, out);
		return MD5_DIGEST_SIZE;
	}
}

void ews_hash_free(struct ews_hash *hash)
{
	free(hash);
}

size_t ews_hash_once(enum ews_hash_algo algo, uint8_t *out, const void *data, size_t len)
{
	struct ews_hash hash;

	begin(&hash, algo);
	ews_hash_add(&hash, data, len);
	return ews_hash_finish(&hash, out);
}

void ews_hex(char *out, const uint8_t *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		*out++ = digits[data[i] >> 4];
		*out++ = digits[data[i] & 15];
	}
	*out = '\0';
}

int ews_unhex(uint8_t *out, size_t len, const char *text)
{
	/* The value of a digit and one more; 0: it is none. */
	static const uint8_t values[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
		['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
		['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
	};
	size_t i;

	for (i = 0; i < len; i++) {
		uint8_t high = values[(unsigned char)text[2 * i]];
		uint8_t low = high ? values[(unsigned char)text[2 * i + 1]] : 0;

		if (!low)
			return -1;
		out[i] = (uint8_t)((high - 1) << 4 | (low - 1));
	}
	return 0;
}
