/*
 * Loose objects: random ones are read as git reads them, and one that was damaged never as something else.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/loose_read.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "fixture.h"

#define OBJECTS "r/.git/objects"

TestSuite(loose_read, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

/* Bytes that compress well, or not at all; of no size, of some, of more than is read in one piece. */
static void make_content(struct ews_buf *out)
{
	static const size_t sizes[] = { 0, 1, 9, 300, 4096, 70000, 400000 };
	size_t size = FIXTURE_ONE_OF(sizes);
	bool is_noise = fixture_pick(2);

	size += size ? fixture_pick(7) : 0;
	ews_buf_truncate(out, 0);
	while (out->len < size)
		ews_buf_addc(out, (char)(is_noise ? fixture_pick(256) : 'a' + fixture_pick(2)));
}

/* Let git write it as an object, packed as tightly as chance has it. */
static struct ews_oid write_object(const struct ews_buf *content)
{
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	struct ews_oid oid;

	fixture_write(AT_FDCWD, "content", content->ptr, content->len);
	fixture_ask(&hex, "git -C r -c core.looseCompression=%d hash-object -w --stdin <content",
		    (int)fixture_pick(10));
	ews_buf_rtrim(&hex);
	cr_assert_eq(ews_oid_parse(&oid, hex.ptr), 0);
	return oid;
}

static char *path_of(const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	return ews_strfmt(OBJECTS "/%.2s/%s", ews_oid_hex(hex, oid), hex + 2);
}

/* Change a byte of the object's file, or cut it, or let it go on. */
static void damage(const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	cr_assert_eq(ews_file_read_path(&text, path, EWS_MIB), 0);
	switch (fixture_pick(3)) {
	case 0:
		text.ptr[fixture_pick(text.len)] ^= (char)(1 << fixture_pick(8));
		break;
	case 1:
		ews_buf_truncate(&text, fixture_pick(text.len));
		break;
	default:
		ews_buf_addc(&text, 'x');
	}
	cr_assert_eq(unlink(path), 0);
	fixture_write(AT_FDCWD, path, text.ptr, text.len);
}

static void read_random(void)
{
	EWS_CLEANUP(buf) struct ews_buf should = EWS_BUF_INIT;
	size_t n_hurt = 0;

	for (size_t i = 0; i < fixture_rounds(60); i++) {
		EWS_CLEANUP(buf) struct ews_buf is = EWS_BUF_INIT;
		EWS_CLEANUP(free) char *path = NULL;
		enum ews_object_type type = EWS_OBJECT_TAG;
		struct ews_oid oid;
		int rc;

		make_content(&should);
		oid = write_object(&should);
		ews_buf_adds(&is, "before");
		cr_assert_eq(ews_loose_read(&is, &type, OBJECTS, &oid), 1);
		cr_assert_eq(type, EWS_OBJECT_BLOB);
		cr_assert(is.len == 6 + should.len && !memcmp(is.ptr + 6, should.ptr, should.len));
		cr_assert_eq(ews_loose_check(OBJECTS, &oid), 0);
		path = path_of(&oid);
		damage(path);
		ews_buf_truncate(&is, 0);
		rc = ews_loose_read(&is, &type, OBJECTS, &oid);
		cr_assert(rc == 0 || (rc == 1 && is.len == should.len && !memcmp(is.ptr, should.ptr, should.len)));
		cr_assert(rc == 1 || is.len == 0);
		n_hurt += rc == 0;
		/* The whole file is looked at: what is read although something is behind it is not sound. */
		cr_assert(ews_loose_check(OBJECTS, &oid) < 0 || rc == 1);
		ews_error_clear();
		/* git would not write it again. */
		cr_assert_eq(unlink(path), 0);
	}
	cr_assert(n_hurt > 20, "%zu", n_hurt);
}

Test(loose_read, random_objects_are_read_as_git_wrote_them)
{
	fixture_shell("git init -q r");
	read_random();
}

Test(loose_read, so_are_those_with_sha256)
{
	fixture_shell("git init -q --object-format=sha256 r");
	read_random();
}

Test(loose_read, what_is_not_here_is_not_found)
{
	enum ews_object_type type;
	struct ews_oid oid;

	fixture_shell("git init -q r");
	cr_assert_eq(ews_oid_parse(&oid, "1234567890123456789012345678901234567890"), 0);
	cr_assert_eq(ews_loose_read(&(struct ews_buf)EWS_BUF_INIT, &type, OBJECTS, &oid), 0);
	cr_assert_not(ews_loose_has(OBJECTS, &oid));
	cr_assert_not(ews_loose_freshen(OBJECTS, &oid));
	cr_assert_eq(ews_loose_check(OBJECTS, &oid), EWS_ENOTFOUND);
}
