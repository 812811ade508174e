/*
 * Names of archives are ours alone, and records are read as what was written.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define THIRTY "012345678901234567890123456789"
#define CHECKSUM "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

Test(archive, a_new_name_is_one)
{
	static const char *const dirs[] = { "/srv/workspace",
					    "/srv/.hidden",
					    "/srv/a b\n",
					    "/srv/\xff",
					    "/",
					    "/x/-rf",
					    "/x/" THIRTY THIRTY THIRTY "123456789.c" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		for (int how = EWS_COMPRESSION_NONE; how <= EWS_COMPRESSION_ZSTD; how++) {
			EWS_CLEANUP(free)
			char *name = ews_archive_name_new(1760105252, dirs[i], (enum ews_compression)how);

			cr_expect(ews_archive_is_name(name), "%s", name);
			cr_expect_eq(strncmp(name, "20251010T140732.", 16), 0, "%s", name);
		}
}

Test(archive, other_names_are_none)
{
	static const char *const names[] = {
		"",
		"x.tar.gz",
		"20251010T140732.1a2b3c4d.tar.gz",
		"20251010T140732.1a2b3c4d..tar.gz/x",
		"20251010T140732.1A2B3C4D.w.tar.gz",
		"20251010T140732.1a2b3c4.w.tar.gz",
		"20251010-140732.1a2b3c4d.w.tar.gz",
		"20251010T140732.1a2b3c4d.w.tar.lz",
		"20251010T140732.1a2b3c4d.w w.tar",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cr_expect_not(ews_archive_is_name(names[i]), "%s", names[i]);
}

static char *text_of(const struct ews_archive *archive)
{
	struct ews_buf text = EWS_BUF_INIT;

	ews_archive_format(&text, archive);
	return ews_buf_steal(&text);
}

Test(archive, a_record_is_read_as_it_was_written)
{
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(archive) struct ews_archive again = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(free) char *text = NULL;
	EWS_CLEANUP(free) char *same = NULL;

	archive.path = ews_strdup("/srv/\xff\n\"w");
	archive.checksum = ews_strdup(CHECKSUM);
	archive.mode = 02750;
	archive.created_s = 1760105252;
	archive.compression = EWS_COMPRESSION_XZ;
	archive.n_files = 3;
	archive.size_bytes = UINT64_C(1) << 40;
	archive.rules.no_defaults = true;
	ews_strv_add(&archive.rules.keep, "*.\xfe");
	ews_strv_add(&archive.rules.ignore, "!x");
	ews_strv_add(&archive.rules.assets, "a/b");
	ews_strv_add(&archive.env, "A=b=c");
	ews_strv_add(&archive.env, "UNSET");
	text = text_of(&archive);
	cr_assert_eq(ews_archive_parse(&again, text, strlen(text)), 0, "%s", ews_error_message());
	cr_expect_str_eq(again.path, archive.path);
	cr_expect_str_eq(again.rules.keep.items[0], "*.\xfe");
	cr_expect_eq(again.size_bytes, archive.size_bytes);
	cr_expect(again.rules.no_defaults);
	cr_expect_eq(again.mode, 02750);
	same = text_of(&again);
	cr_expect_str_eq(same, text);
}

Test(archive, a_record_that_makes_no_sense_is_refused)
{
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(archive) struct ews_archive again = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(free) char *text = NULL;
	static const struct {
		const char *of, *to;
	} slips[] = { { "\"gz\"", "\"g!\"" },      { "1970-", "197x-" },
		      { "sha256:0", "sha256:\a" }, { "\"mode\":\t0", "\"mode\":\t-" },
		      { "\"keep\"", "\"peek\"" },  { "\"version\":\t1", "\"version\":\t9" } };

	archive.compression = EWS_COMPRESSION_GZ;
	archive.checksum = ews_strdup(CHECKSUM);
	archive.mode = 0;
	text = text_of(&archive);
	cr_assert_eq(ews_archive_parse(&again, text, strlen(text)), 0, "%s", ews_error_message());
	for (size_t i = 0; i < sizeof(slips) / sizeof(*slips); i++) {
		EWS_CLEANUP(archive) struct ews_archive wrong = EWS_ARCHIVE_INIT;
		EWS_CLEANUP(free) char *copy = ews_strdup(text);
		char *at = strstr(copy, slips[i].of);

		cr_assert(at, "%s in %s", slips[i].of, text);
		memcpy(at, slips[i].to, strlen(slips[i].to));
		cr_expect_lt(ews_archive_parse(&wrong, copy, strlen(copy)), 0, "%s", slips[i].to);
		cr_expect_null(wrong.path);
	}
	cr_expect_lt(ews_archive_parse(&again, "{}", 2), 0);
}
