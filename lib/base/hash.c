/*
 * Hashes: see hash.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

struct ews_hash {
	EVP_MD_CTX *ctx;
};

/* Looked up once: asking libcrypto by name costs more than hashing a small file. */
static EVP_MD *algos[3];
static pthread_once_t algos_once = PTHREAD_ONCE_INIT;

/* A hash that doesn't come out leaves nothing that could be believed. */
static void must(int ok)
{
	if (ok)
		return;
	fputs("fatal: libcrypto cannot compute a hash\n", stderr);
	exit(128);
}

static void fetch_algos(void)
{
	/* To read a config that says nothing of hashes takes longer than most hashing that we do. */
	must(OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL));
	algos[EWS_SHA1] = EVP_MD_fetch(NULL, "SHA1", NULL);
	algos[EWS_SHA256] = EVP_MD_fetch(NULL, "SHA256", NULL);
	/* Where only approved algorithms are let it is let as what it is: not for security. */
	algos[EWS_MD5] = EVP_MD_fetch(NULL, "MD5", "-fips");
}

static const EVP_MD *algo_of(enum ews_hash_algo algo)
{
	must(!pthread_once(&algos_once, fetch_algos));
	must(algos[algo] != NULL);
	return algos[algo];
}

struct ews_hash *ews_hash_new(enum ews_hash_algo algo)
{
	struct ews_hash *hash = ews_malloc(sizeof(*hash));

	hash->ctx = EVP_MD_CTX_new();
	must(hash->ctx != NULL);
	must(EVP_DigestInit_ex2(hash->ctx, algo_of(algo), NULL));
	return hash;
}

void ews_hash_add(struct ews_hash *hash, const void *data, size_t len)
{
	must(EVP_DigestUpdate(hash->ctx, data, len));
}

size_t ews_hash_finish(struct ews_hash *hash, uint8_t *out)
{
	unsigned len;

	must(EVP_DigestFinal_ex(hash->ctx, out, &len));
	must(EVP_DigestInit_ex2(hash->ctx, NULL, NULL));
	return len;
}

void ews_hash_free(struct ews_hash *hash)
{
	if (!hash)
		return;
	EVP_MD_CTX_free(hash->ctx);
	free(hash);
}

size_t ews_hash_once(enum ews_hash_algo algo, uint8_t *out, const void *data, size_t len)
{
	unsigned out_len;

	must(EVP_Digest(data, len, out, &out_len, algo_of(algo), NULL));
	return out_len;
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
