/*
 * Hashes: those of the standards, however the bytes come; and digits there and back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/hash.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fixture.h"

TestSuite(hash, .timeout = 60);

static void assert_hex(const uint8_t *digest, size_t len, const char *should)
{
	char hex[2 * EWS_HASH_MAX + 1];

	ews_hex(hex, digest, len);
	cr_assert_str_eq(hex, should);
}

/* The examples of FIPS 180 and RFC 1321. */
Test(hash, each_is_the_one_of_its_standard)
{
	static const struct {
		enum ews_hash_algo algo;
		size_t len;
		const char *text, *digest;
	} known[] = {
		{ EWS_SHA1, 20, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
		{ EWS_SHA1, 20, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
		{ EWS_SHA256, 32, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ EWS_SHA256, 32, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ EWS_MD5, 16, "", "d41d8cd98f00b204e9800998ecf8427e" },
		{ EWS_MD5, 16, "abc", "900150983cd24fb0d6963f7d28e17f72" },
	};
	uint8_t digest[EWS_HASH_MAX];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		cr_assert_eq(ews_hash_len(known[i].algo), known[i].len);
		cr_assert_eq(ews_hash_once(known[i].algo, digest, known[i].text, strlen(known[i].text)),
			     known[i].len);
		assert_hex(digest, known[i].len, known[i].digest);
	}
}

Test(hash, in_pieces_it_is_the_same_and_begins_anew)
{
	static const enum ews_hash_algo algos[] = { EWS_SHA1, EWS_SHA256, EWS_MD5 };
	uint8_t whole[EWS_HASH_MAX], pieces[EWS_HASH_MAX];
	char data[1000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)fixture_pick(256);
	for (size_t i = 0; i < sizeof(algos) / sizeof(*algos); i++) {
		EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(algos[i]);
		size_t len = ews_hash_once(algos[i], whole, data, sizeof(data));

		for (size_t round = 0; round < fixture_rounds(20); round++) {
			for (size_t at = 0, n; at < sizeof(data); at += n) {
				n = fixture_pick(200);
				n = n < sizeof(data) - at ? n : sizeof(data) - at;
				ews_hash_add(hash, data + at, n);
			}
			cr_assert_eq(ews_hash_finish(hash, pieces), len);
			cr_assert_arr_eq(pieces, whole, len, "EWS_SEED=%zu", fixture_seed());
		}
	}
}

Test(hash, parts_are_told_apart)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	uint8_t a[EWS_HASH_MAX], b[EWS_HASH_MAX];

	ews_hash_add_part(hash, "ab", 2);
	ews_hash_add_part(hash, "c", 1);
	ews_hash_finish(hash, a);
	ews_hash_add_part(hash, "a", 1);
	ews_hash_add_part(hash, "bc", 2);
	ews_hash_finish(hash, b);
	cr_assert_neq(memcmp(a, b, EWS_SHA256_LEN), 0);
}

Test(hash, digits_come_back_as_the_bytes_and_others_are_refused)
{
	uint8_t bytes[256], back[256];
	char hex[2 * sizeof(bytes) + 1];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	ews_hex(hex, bytes, sizeof(bytes));
	cr_assert_eq(strlen(hex), 2 * sizeof(bytes));
	cr_assert_eq(ews_unhex(back, sizeof(back), hex), 0);
	cr_assert_arr_eq(back, bytes, sizeof(bytes));
	cr_assert_eq(ews_unhex(back, 2, "0aFf"), 0);
	cr_assert(back[0] == 0x0a && back[1] == 0xff);
	for (int c = 1; c < 256; c++) {
		char text[3] = { '0', (char)c, '\0' };
		bool is_digit = strchr("0123456789abcdefABCDEF", c) != NULL;

		cr_assert_eq(ews_unhex(back, 1, text) == 0, is_digit, "character %d", c);
	}
	cr_assert_neq(ews_unhex(back, 2, "0a"), 0, "too short");
}
