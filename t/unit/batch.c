/*
 * What a batch writes git reads, checks and keeps; what it can't finish leaves no trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/batch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/pool.h"
#include "fixture.h"

#define MOST_LOOSE 24 /* of one batch; more are a pack */
#define LARGE_BYTES (40 * EWS_MIB)

static struct ews_odb *odb;
static struct ews_batch *batch;

static void set_up(void)
{
	EWS_CLEANUP(free) char *git_dir = NULL;

	fixture_begin();
	fixture_shell("git init -q --bare repo");
	git_dir = ews_strfmt("%s/repo", fixture_top());
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0, "%s", ews_error_message());
	batch = ews_batch_new(odb);
}

static void tear_down(void)
{
	ews_batch_free(batch);
	ews_odb_free(odb);
	fixture_end();
}

TestSuite(batch, .init = set_up, .fini = tear_down);

/* Does all hold that git checks, and is nothing temporary left? */
static void check_store(void)
{
	fixture_shell(
		"cd repo && git fsck --strict --full --no-dangling && for p in objects/pack/*.idx; do "
		"test -f \"$p\" || continue; git verify-pack $p && test \"$(stat -c %%a $p)\" = 444 &&"
		"git index-pack --strict -o ../check.idx ${p%%.idx}.pack >/dev/null && cmp ../check.idx $p || exit 1;"
		"rm -f ../check.idx; done && test -z \"$(find . -name '*tmp*')\"");
}

static size_t count(const char *what)
{
	EWS_CLEANUP(free) char *script = ews_strfmt("find repo/objects -path '%s' | wc -l >n", what);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	fixture_shell("%s", script);
	cr_assert_eq(ews_file_read(&text, AT_FDCWD, "n", 100), 0);
	return strtoul(text.ptr, NULL, 10);
}

#define LOOSE "*/objects/[0-9a-f][0-9a-f]/*"
#define PACKS "*.pack"

/* Add "object <i>". */
static struct ews_oid add_number(size_t i)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("object %zu\n", i);
	struct ews_oid oid;

	cr_assert_eq(ews_batch_add(&oid, batch, EWS_OBJECT_BLOB, text, strlen(text)), 0, "%s", ews_error_message());
	return oid;
}

static void read_back(const struct ews_oid *oid, const void *data, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	enum ews_object_type type;

	cr_assert_eq(ews_odb_read(&text, &type, odb, oid), 0, "%s", ews_error_message());
	cr_assert_eq(text.len, len);
	cr_assert(!len || !memcmp(text.ptr, data, len));
}

/* A file of `size` bytes: random ones, or a text of few words. Returns its descriptor. */
static int make_file(const char *name, uint64_t size, bool is_random)
{
	EWS_CLEANUP(free) char *step = ews_malloc(EWS_MIB);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	cr_assert_geq(fd, 0);
	for (uint64_t at = 0; at < size; at += EWS_MIB) {
		size_t len = size - at < EWS_MIB ? (size_t)(size - at) : EWS_MIB;

		ews_clock_random(step, len);
		for (size_t i = 0; !is_random && i < len; i++)
			step[i] = "ab\n "[step[i] & 3];
		cr_assert_eq(ews_file_write_fd(fd, step, len), 0);
	}
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Is the blob what git makes of the file? */
static void check_file(const struct ews_oid *oid, const char *name)
{
	char hex[EWS_OID_HEX_MAX];
	EWS_CLEANUP(free)
	char *script = ews_strfmt("git -C repo cat-file blob %s | cmp - %s &&"
				  "test $(git hash-object %s) = %s",
				  ews_oid_hex(hex, oid), name, name, hex);

	fixture_shell("%s", script);
}

Test(batch, a_few_objects_become_loose_and_only_at_the_commit)
{
	struct ews_oid empty, one;

	cr_assert(ews_batch_is_empty(batch));
	cr_assert_eq(ews_batch_add(&empty, batch, EWS_OBJECT_BLOB, NULL, 0), 0);
	cr_assert_not(ews_batch_is_empty(batch));
	one = add_number(1);
	add_number(1);
	cr_assert_not(ews_odb_has(odb, &one));
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	cr_assert(ews_batch_is_empty(batch));
	cr_assert_eq(count(LOOSE), 2);
	cr_assert_eq(count(PACKS), 0);
	read_back(&one, "object 1\n", 9);
	read_back(&empty, "", 0);
	check_store();
}

Test(batch, many_objects_become_one_pack)
{
	struct ews_oid ids[300];

	for (size_t i = 0; i < 300; i++) {
		ids[i] = add_number(i);
		add_number(i / 2);
	}
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	cr_assert_eq(count(PACKS), 1);
	cr_assert_eq(count(LOOSE), 0);
	for (size_t i = 0; i < 300; i++) {
		EWS_CLEANUP(free) char *text = ews_strfmt("object %zu\n", i);

		cr_assert(ews_odb_has(odb, &ids[i]));
		read_back(&ids[i], text, strlen(text));
	}
	check_store();
	fixture_shell("test $(git -C repo count-objects -v | sed -n 's/^in-pack: //p') = 300");
}

Test(batch, what_the_store_has_is_not_written_again_but_counts_as_new)
{
	struct stat st;

	for (size_t i = 0; i < 100; i++)
		add_number(i);
	cr_assert_eq(ews_batch_commit(batch), 0);
	fixture_shell("touch -d 2001-01-01 repo/objects/pack/*.pack");
	for (size_t i = 0; i < 100; i++)
		add_number(i);
	cr_assert_eq(ews_batch_commit(batch), 0);
	cr_assert_eq(count(PACKS), 1);
	cr_assert_eq(count(LOOSE), 0);
	fixture_shell("ln repo/objects/pack/*.pack the-pack");
	cr_assert_eq(stat("the-pack", &st), 0);
	cr_assert_gt(st.st_mtime, ews_clock_now() - 3600);
}

Test(batch, files_of_every_size_keep_their_bytes)
{
	static const uint64_t sizes[] = { 0, 1, 15, 16, 2047, 2048, 65536, 70000, EWS_MIB, EWS_MIB + 1, 3 * EWS_MIB };
	struct ews_oid ids[2 * sizeof(sizes) / sizeof(*sizes)], hashed;
	const size_t n = sizeof(ids) / sizeof(*ids);
	char name[16];

	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(fd) int fd = -1;

		snprintf(name, sizeof(name), "f%zu", i);
		fd = make_file(name, sizes[i / 2], i % 2);
		cr_assert_eq(ews_batch_add_fd(&ids[i], batch, fd, sizes[i / 2], NULL), 0, "%s", ews_error_message());
		cr_assert_eq(ews_batch_hash_fd(&hashed, odb, fd, sizes[i / 2]), 0);
		cr_assert(ews_oid_equal(&hashed, &ids[i]));
	}
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		check_file(&ids[i], name);
	}
	check_store();
}

Test(batch, a_large_file_is_streamed_into_the_pack)
{
	EWS_CLEANUP(fd) int text = make_file("text", LARGE_BYTES + 1, false);
	EWS_CLEANUP(fd) int noise = make_file("noise", LARGE_BYTES, true);
	struct ews_oid a, b, c, small = add_number(7);

	cr_assert_eq(ews_batch_add_fd(&a, batch, text, LARGE_BYTES + 1, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(ews_batch_add_fd(&b, batch, noise, LARGE_BYTES, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(ews_batch_add_fd(&c, batch, text, LARGE_BYTES + 1, NULL), 0, "%s", ews_error_message());
	cr_assert(ews_oid_equal(&a, &c));
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	check_file(&a, "text");
	check_file(&b, "noise");
	read_back(&small, "object 7\n", 9);
	cr_assert_eq(count(PACKS), 1);
	check_store();
}

Test(batch, a_file_of_another_size_is_stale_and_adds_nothing)
{
	static const uint64_t sizes[] = { 100, LARGE_BYTES };
	struct ews_oid oid = EWS_OID_NONE;

	for (int i = 0; i < 2; i++) {
		EWS_CLEANUP(fd) int fd = make_file("f", sizes[i], true);

		cr_assert_eq(ews_batch_add_fd(&oid, batch, fd, sizes[i] - 1, NULL), EWS_ESTALE);
		cr_assert_eq(ews_batch_add_fd(&oid, batch, fd, sizes[i] + 1, NULL), EWS_ESTALE);
		cr_assert_eq(ews_batch_hash_fd(&oid, odb, fd, sizes[i] + 1), EWS_ESTALE);
		cr_assert(ews_oid_is_none(&oid));
	}
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	cr_assert_eq(count(LOOSE) + count(PACKS), 0);
	check_store();
}

/* Add what the file `fd` has, of which `held` is said to be the id, and compare its id with that of a simple hash. */
static void assert_known(int fd, uint64_t size, const struct ews_oid *held)
{
	struct ews_oid hashed, added;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(ews_batch_hash_fd(&hashed, odb, fd, size), 0);
	cr_assert_eq(ews_batch_add_fd(&added, batch, fd, size, held ? held : &hashed), 0, "%s", ews_error_message());
	cr_assert(ews_oid_equal(&hashed, &added));
}

Test(batch, what_a_ref_holds_is_known_again_and_not_added)
{
	static const uint64_t sizes[] = { 0, 1, 100, 70000, LARGE_BYTES };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		EWS_CLEANUP(fd) int fd = make_file("f", sizes[i], true);

		assert_known(fd, sizes[i], NULL);
	}
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	cr_assert_eq(count(LOOSE) + count(PACKS), 0);
}

Test(batch, what_a_ref_holds_is_told_from_all_else_by_its_bytes)
{
	char text[100] = "";
	struct ews_oid held;

	ews_odb_hash(&held, odb, EWS_OBJECT_BLOB, text, sizeof(text));
	for (int remembers = 0; remembers < 2; remembers++) {
		for (uint64_t size = 99; size <= 101; size++) {
			EWS_CLEANUP(fd) int fd = make_file("f", size, true);

			assert_known(fd, size, &held);
		}
		for (size_t i = 0; i < sizeof(text); i += 33) {
			EWS_CLEANUP(fd) int fd = make_file("f", 0, true);

			text[i] = 'x';
			cr_assert_eq(ews_file_write_fd(fd, text, sizeof(text)), 0);
			assert_known(fd, sizeof(text), &held);
			text[i] = '\0';
		}
		ews_odb_remember(odb, EWS_MIB);
		ews_odb_remember_blob(odb, &held, text, sizeof(text));
	}
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	cr_assert_eq(count(LOOSE), 6 + 4);
	check_store();
}

Test(batch, a_batch_that_is_thrown_away_leaves_nothing)
{
	for (size_t i = 0; i < 100; i++)
		add_number(i);
	ews_batch_free(batch);
	batch = ews_batch_new(odb);
	cr_assert_eq(count(LOOSE) + count(PACKS), 0);
	check_store();
}

Test(batch, a_directory_that_cannot_be_written_spoils_the_batch)
{
	struct ews_oid oid;

	fixture_shell("rmdir repo/objects/pack && : >repo/objects/pack");
	for (size_t i = 0; i < MOST_LOOSE; i++)
		add_number(i);
	cr_assert_lt(ews_batch_add(&oid, batch, EWS_OBJECT_BLOB, "x", 1), 0);
	cr_assert_lt(ews_batch_add(&oid, batch, EWS_OBJECT_BLOB, "y", 1), 0);
	cr_assert_lt(ews_batch_commit(batch), 0);
	cr_assert_eq(count(LOOSE), 0);
	fixture_shell("rm repo/objects/pack");
	add_number(1);
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	cr_assert_eq(count(LOOSE), 1);
}

static int add_some(size_t i, unsigned worker, void *payload)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("thread %zu\n", i % 1500);
	EWS_CLEANUP(fd) int fd = -1;
	struct ews_oid oid;

	(void)worker, (void)payload;
	if (i % 500 == 0) {
		fd = open(i % 1000 ? "big0" : "big1", O_RDONLY);
		return ews_batch_add_fd(&oid, batch, fd, LARGE_BYTES, NULL);
	}
	return ews_batch_add(&oid, batch, EWS_OBJECT_BLOB, text, strlen(text));
}

Test(batch, threads_share_one_batch)
{
	close(make_file("big0", LARGE_BYTES, true));
	close(make_file("big1", LARGE_BYTES, true));
	cr_assert_eq(ews_pool_for(3000, 4, 4, add_some, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	check_store();
	fixture_shell("test $(git -C repo count-objects -v | sed -n 's/^in-pack: //p') = 1499");
}

Test(batch, what_an_alternate_lends_is_not_written_again)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/other", fixture_top());
	struct ews_odb *other;
	struct ews_batch *borrowing;
	struct ews_oid oid = add_number(1);

	cr_assert_eq(ews_batch_commit(batch), 0);
	fixture_shell("git init -q --bare other && echo ../../repo/objects >other/objects/info/alternates");
	cr_assert_eq(ews_odb_open(&other, git_dir, fixture_top()), 0, "%s", ews_error_message());
	borrowing = ews_batch_new(other);
	cr_assert_eq(ews_batch_add(&oid, borrowing, EWS_OBJECT_BLOB, "object 1\n", 9), 0);
	cr_assert_eq(ews_batch_commit(borrowing), 0);
	fixture_shell("test -z \"$(find other/objects -type f -path '*/[0-9a-f][0-9a-f]/*')\"");
	ews_batch_free(borrowing);
	ews_odb_free(other);
}
