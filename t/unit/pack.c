/*
 * An object that is streamed into a pack can be taken back, and an index knows packs of any size.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sync.h"
#include "fixture.h"

TestSuite(pack, .init = fixture_begin, .fini = fixture_end);

/* With its names, durably. */
static int finish_pack(struct ews_pack *pack)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc = ews_pack_finish(pack, &group);

	return rc < 0 ? rc : ews_sync_finish(&group);
}

static struct ews_oid id_of(enum ews_hash_algo algo, const char *text)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(algo);
	char header[EWS_OBJECT_HEADER_MAX];
	struct ews_oid oid = EWS_OID_NONE;

	ews_hash_add(hash, header, ews_object_header(header, EWS_OBJECT_BLOB, strlen(text)));
	ews_hash_add(hash, text, strlen(text));
	oid.len = (uint8_t)ews_hash_finish(hash, oid.id);
	return oid;
}

static void add_text(struct ews_pack *pack, enum ews_hash_algo algo, const char *text)
{
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();
	EWS_CLEANUP(buf) struct ews_buf record = EWS_BUF_INIT;
	struct ews_oid oid = id_of(algo, text);

	ews_pack_format(&record, deflater, false, EWS_OBJECT_BLOB, text, strlen(text));
	cr_assert_eq(ews_pack_add(pack, &oid, ews_pack_sum(record.ptr, record.len), record.ptr, record.len), 0);
}

Test(pack, a_stream_that_is_cancelled_leaves_the_pack_sound)
{
	EWS_CLEANUP(pack) struct ews_pack *pack = NULL;
	EWS_CLEANUP(free) char *noise = ews_malloc(3 * EWS_MIB);
	struct ews_oid oid = id_of(EWS_SHA1, "streamed");

	fixture_shell("git init -q --bare repo");
	ews_clock_random(noise, 3 * EWS_MIB);
	cr_assert_eq(ews_pack_open(&pack, "repo/objects", EWS_SHA1, EWS_SHARING_NONE), 0, "%s", ews_error_message());
	add_text(pack, EWS_SHA1, "before");
	cr_assert_eq(ews_pack_stream_begin(pack, EWS_OBJECT_BLOB, 4 * EWS_MIB), 0);
	cr_assert_eq(ews_pack_stream_feed(pack, noise, 3 * EWS_MIB), 0);
	cr_assert_eq(ews_pack_stream_cancel(pack), 0);
	cr_assert_eq(ews_pack_stream_begin(pack, EWS_OBJECT_BLOB, 10), 0);
	cr_assert_eq(ews_pack_stream_cancel(pack), 0);
	add_text(pack, EWS_SHA1, "between");
	cr_assert_eq(ews_pack_stream_begin(pack, EWS_OBJECT_BLOB, 8), 0);
	cr_assert_eq(ews_pack_stream_feed(pack, "stre", 4), 0);
	cr_assert_eq(ews_pack_stream_feed(pack, "amed", 4), 0);
	cr_assert_eq(ews_pack_stream_end(pack, &oid), 0);
	cr_assert_eq(ews_pack_count(pack), 3);
	cr_assert_eq(finish_pack(pack), 0, "%s", ews_error_message());
	fixture_shell("cd repo && git fsck --strict --no-dangling && git verify-pack objects/pack/*.idx &&"
		      "test $(git cat-file --batch-all-objects --batch-check | wc -l) = 3 &&"
		      "test $(du -k objects/pack/*.pack | cut -f1) -lt 100");
}

/* All together more than a thread is worth. */
Test(pack, what_is_not_compressed_is_whole_whatever_its_length)
{
	static const size_t lengths[] = { 0, 1, 65534, 65535, 65536, 131069, 131070, 131071, 1500000 };
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();
	EWS_CLEANUP(pack) struct ews_pack *pack = NULL;

	fixture_shell("git init -q --bare repo");
	cr_assert_eq(ews_pack_open(&pack, "repo/objects", EWS_SHA1, EWS_SHARING_NONE), 0, "%s", ews_error_message());
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		EWS_CLEANUP(buf) struct ews_buf record = EWS_BUF_INIT;
		EWS_CLEANUP(free) char *text = ews_calloc(lengths[i] + 1, 1);
		struct ews_oid oid;

		for (size_t at = 0; at < lengths[i]; at++)
			text[at] = (char)('a' + at % 23);
		oid = id_of(EWS_SHA1, text);
		ews_pack_format(&record, deflater, true, EWS_OBJECT_BLOB, text, lengths[i]);
		cr_assert_geq(record.len, lengths[i]);
		cr_assert_eq(ews_pack_add(pack, &oid, ews_pack_sum(record.ptr, record.len), record.ptr, record.len),
			     0);
	}
	cr_assert_eq(finish_pack(pack), 0, "%s", ews_error_message());
	fixture_shell("cd repo && git fsck --strict --no-dangling && git verify-pack objects/pack/*.idx &&"
		      "test $(git cat-file --batch-all-objects --batch-check | wc -l) = 9");
}

Test(pack, a_sha256_pack_is_one_to_git)
{
	EWS_CLEANUP(pack) struct ews_pack *pack = NULL;

	fixture_shell("git init -q --bare --object-format=sha256 repo");
	cr_assert_eq(ews_pack_open(&pack, "repo/objects", EWS_SHA256, EWS_SHARING_NONE), 0, "%s",
		     ews_error_message());
	add_text(pack, EWS_SHA256, "one");
	add_text(pack, EWS_SHA256, "two");
	cr_assert_eq(finish_pack(pack), 0, "%s", ews_error_message());
	fixture_shell("cd repo && git fsck --strict --no-dangling && git verify-pack objects/pack/*.idx &&"
		      "test $(git cat-file --batch-all-objects --batch-check | wc -l) = 2");
}

Test(pack, an_index_holds_offsets_beyond_two_gigabytes)
{
	EWS_CLEANUP(buf) struct ews_buf index = EWS_BUF_INIT;
	static const uint64_t offsets[] = { 12, 0x7fffffff, 0x80000000, 0x100000000, 0x123456789a };
	struct ews_pack_item items[5];
	uint8_t trailer[EWS_HASH_MAX] = { 0 };

	for (size_t i = 0; i < 5; i++) {
		items[i] = (struct ews_pack_item){ { .len = 20 }, (uint32_t)i, offsets[i] };
		items[i].oid.id[0] = (uint8_t)(250 - i * 60);
	}
	ews_pack_format_index(&index, items, 5, EWS_SHA1, trailer);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "x.idx", index.ptr, index.len, 0600), 0);
	fixture_shell(
		"git show-index --object-format=sha1 <x.idx | cut -d' ' -f1 >got && printf '%%d\\n' 0x123456789a 0x100000000 0x80000000"
		" 0x7fffffff 12 >want && cmp got want");
}
