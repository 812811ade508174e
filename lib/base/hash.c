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
#include <string.h>

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
	switch (algo) {
	case EWS_SHA1:
		return SHA1_DIGEST_SIZE;
	case EWS_SHA256:
		return SHA256_DIGEST_SIZE;
	default:
		return MD5_DIGEST_SIZE;
	}
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
	size_t len = ews_hash_len(hash->algo);

	/* Each of these begins anew by itself. */
	switch (hash->algo) {
	case EWS_SHA1:
		sha1_digest(&hash->sha1, len, out);
		break;
	case EWS_SHA256:
		sha256_digest(&hash->sha256, len, out);
		break;
	case EWS_MD5:
		md5_digest(&hash->md5, len, out);
		break;
	}
	return len;
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
	/* Of each byte both digits: an id is written for every line of a manifest. */
	static const char pairs[] = "000102030405060708090a0b0c0d0e0f"
				    "101112131415161718191a1b1c1d1e1f"
				    "202122232425262728292a2b2c2d2e2f"
				    "303132333435363738393a3b3c3d3e3f"
				    "404142434445464748494a4b4c4d4e4f"
				    "505152535455565758595a5b5c5d5e5f"
				    "606162636465666768696a6b6c6d6e6f"
				    "707172737475767778797a7b7c7d7e7f"
				    "808182838485868788898a8b8c8d8e8f"
				    "909192939495969798999a9b9c9d9e9f"
				    "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
				    "b0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
				    "c0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
				    "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
				    "e0e1e2e3e4e5e6e7e8e9eaebecedeeef"
				    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

	for (size_t i = 0; i < len; i++)
		memcpy(out + 2 * i, pairs + 2 * (size_t)data[i], 2);
	out[2 * len] = '\0';
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
