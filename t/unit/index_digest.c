/*
 * The digest of an index goes with what that says: held against ews_index_parse() on indexes that git wrote.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index_digest.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "fixture.h"
#include "store/index.h"

#define MAX EWS_GIB

TestSuite(index_digest, .init = fixture_begin, .fini = fixture_end);

struct seen {
	char hex[2 * EWS_HASH_MAX + 1];
};

static struct seen seen(const uint8_t *digest)
{
	struct seen out;

	ews_hex(out.hex, digest, EWS_SHA256_LEN);
	return out;
}

static struct seen of_bytes(const struct ews_buf *bytes, enum ews_hash_algo algo)
{
	uint8_t digest[EWS_HASH_MAX];

	ews_index_digest_bytes(digest, bytes->ptr, bytes->len, algo);
	return seen(digest);
}

/* The digest of a file of these bytes, which is the same when they are in memory. */
static struct seen of_file(const struct ews_buf *bytes, enum ews_hash_algo algo)
{
	struct seen is, other = of_bytes(bytes, algo);
	uint8_t digest[EWS_HASH_MAX];

	fixture_write(AT_FDCWD, "copy", bytes->ptr, bytes->len);
	cr_assert_eq(ews_index_digest(digest, AT_FDCWD, "copy", algo, MAX), 0, "%s", ews_error_message());
	is = seen(digest);
	cr_assert_str_eq(is.hex, other.hex);
	return is;
}

static void read_now(struct ews_buf *out)
{
	ews_buf_truncate(out, 0);
	cr_assert_eq(ews_file_read(out, AT_FDCWD, ".git/index", MAX), 0, "%s", ews_error_message());
}

static struct seen now(void)
{
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;

	read_now(&bytes);
	return of_file(&bytes, EWS_SHA1);
}

/* What it should be of entries. */
static struct seen said_by(const struct ews_index *index)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];

	ews_buf_adds(&text, "entries");
	for (size_t i = 0; i < index->n; i++) {
		const struct ews_index_entry *ie = &index->items[i];

		for (int shift = 24; shift >= 0; shift -= 8)
			ews_buf_addc(&text, (char)(ie->mode >> shift));
		ews_buf_add(&text, ie->oid.id, ie->oid.len);
		ews_buf_addc(&text, (char)(ie->stage | ie->is_assumed_unchanged << 2 | ie->is_skip_worktree << 3 |
					   ie->is_intent_to_add << 4));
		ews_buf_add(&text, ie->path, strlen(ie->path) + 1);
	}
	ews_hash_once(EWS_SHA256, digest, text.ptr, text.len);
	return seen(digest);
}

/* What it should be of what can't be understood. */
static struct seen all_of(const struct ews_buf *bytes)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];

	ews_buf_adds(&text, "bytes");
	ews_buf_add(&text, bytes->ptr, bytes->len);
	ews_hash_once(EWS_SHA256, digest, text.ptr, text.len);
	return seen(digest);
}

/* The project's index, and as `version`. */
static void assert_right(enum ews_hash_algo algo, unsigned version, const char *what)
{
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;

	read_now(&bytes);
	cr_assert_eq(ews_index_parse(&index, bytes.ptr, bytes.len, algo), 0, "%s", ews_error_message());
	cr_assert(!version || index.version == version, "%s: version %u", what, index.version);
	cr_assert_str_eq(of_file(&bytes, algo).hex, said_by(&index).hex, "%s", what);
}

/* Entries by chance, some of which git refuses; most of them longer than they need be, so that many windows are filled. */
static void add_entries(size_t n, int digits)
{
	static const char *const modes[] = { "100644", "100755", "120000", "160000", "0" };
	FILE *pipe = popen("git update-index -z --index-info 2>/dev/null", "w");

	cr_assert(pipe);
	for (size_t i = 0; i < n; i++) {
		fprintf(pipe, "%s %0*zx %zu\t", FIXTURE_ONE_OF(modes), digits, fixture_pick(1000) + 1,
			fixture_pick(4) ? 0 : 1 + fixture_pick(3));
		for (size_t parts = 1 + fixture_pick(4); parts; parts--)
			fprintf(pipe, "%0*zu%s", 1 + (int)fixture_pick(60), fixture_pick(9), parts > 1 ? "/" : "");
		fprintf(pipe, "-%zu%c", fixture_pick(1000), 0);
	}
	(void)pclose(pipe);
}

static void flag_some(void)
{
	static const char *const flags[] = { "skip-worktree", "assume-unchanged", "no-skip-worktree",
					     "no-assume-unchanged" };

	fixture_shell("git ls-files -z | awk 'BEGIN { RS = ORS = \"\\0\" } NR %% %zu == 0' |"
		      " git update-index -z --%s --stdin 2>/dev/null || :",
		      1 + fixture_pick(9), FIXTURE_ONE_OF(flags));
}

static void go_round(enum ews_hash_algo algo, int digits)
{
	static const size_t many[] = { 3, 60, 900 };

	for (size_t i = fixture_rounds_if_fast(20); i; i--) {
		unsigned version = 2 + (unsigned)fixture_pick(3);
		EWS_CLEANUP(free) char *what = ews_strfmt("EWS_SEED=%zu, %zu rounds left", fixture_seed(), i);

		add_entries(FIXTURE_ONE_OF(many), digits);
		flag_some();
		fixture_shell("echo %zu >new && git add -N new && git update-index --index-version %u", i, version);
		/* git writes 2 or 3 as the flags need it */
		assert_right(algo, version == 4 ? 4 : 3, what);
		fixture_shell("git rm -q --cached new && git ls-files -z |"
			      " git update-index -z --no-skip-worktree --stdin 2>/dev/null || :");
		assert_right(algo, 0, what);
	}
}

Test(index_digest, it_is_what_is_read)
{
	fixture_shell("git init -q .");
	go_round(EWS_SHA1, 40);
}

Test(index_digest, so_it_is_with_sha256)
{
	fixture_shell("git init -q --object-format=sha256 .");
	go_round(EWS_SHA256, 64);
}

static void make_repository(void)
{
	fixture_shell("git init -q . && mkdir d && for i in 1 2 3 4 5 6 7 8 9; do echo $i >f$i; echo $i >d/f$i; done &&"
		      "touch -d '1 hour ago' f* d/* && git add . && git commit -qm 1 && git branch side");
}

static void assert_keeps(const char *script)
{
	struct seen before = now();
	EWS_CLEANUP(buf) struct ews_buf was = EWS_BUF_INIT, is = EWS_BUF_INIT;

	read_now(&was);
	fixture_shell("%s", script);
	read_now(&is);
	cr_expect(was.len != is.len || memcmp(was.ptr, is.ptr, is.len) != 0, "%s: wrote nothing", script);
	cr_expect_str_eq(now().hex, before.hex, "%s", script);
}

Test(index_digest, what_git_writes_anew_is_the_same)
{
	make_repository();
	assert_keeps("touch f1 && git update-index --refresh");
	assert_keeps("touch -d '2 hours ago' d/f1 && git status >/dev/null");
	assert_keeps("git update-index --index-version 4");
	assert_keeps("touch -d '3 hours ago' f2 && git update-index --refresh");
	assert_keeps("git update-index --index-version 2");
	assert_keeps("git read-tree side");
	assert_keeps("git reset -q --hard");
	assert_keeps("git update-index --force-untracked-cache");
	assert_keeps("git -c index.threads=3 -c index.recordEndOfIndexEntries=true -c index.recordOffsetTable=true"
		     " update-index --index-version 4 --force-write-index");
	assert_keeps("git -c index.skipHash=true update-index --index-version 2 --no-untracked-cache");
	assert_keeps("rm .git/index && git reset -q");
}

static void assert_changes(const char *script)
{
	struct seen before = now();

	fixture_shell("%s", script);
	cr_expect(strcmp(now().hex, before.hex) != 0, "%s", script);
}

Test(index_digest, each_thing_that_it_says_counts)
{
	static const char *const versions[] = { "2", "4" };

	for (size_t i = 0; i < 2; i++) {
		fixture_shell("rm -rf .git d f* new");
		make_repository();
		fixture_shell("git update-index --index-version %s", versions[i]);
		assert_changes("git update-index --chmod=+x f1");
		assert_changes("git update-index --assume-unchanged f2");
		assert_changes("git update-index --no-assume-unchanged f2");
		assert_changes("git update-index --skip-worktree f2");
		assert_changes("git update-index --no-skip-worktree f2 && git update-index --assume-unchanged f2");
		assert_changes("echo other >f3 && git add f3");
		assert_changes("git mv f4 f5x");
		assert_changes("git rm -q --cached d/f5");
		assert_changes("echo >new && git add -N new");
		assert_changes("git add new");
		assert_changes("git ls-files -s f6 | sed 's/ 0\t/ 1\t/' >f6s &&"
			       "git rm -q --cached f6 && git update-index --index-info <f6s");
		assert_changes(
			"sed 's/ 1\t/ 2\t/' f6s >f6t && git rm -q --cached f6 && git update-index --index-info <f6t");
		assert_changes("rm -f .git/index && git read-tree --empty");
	}
}

static void add_path_of(size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	FILE *pipe = popen("git update-index -z --index-info", "w");

	while (path.len + 101 < len)
		ews_buf_addf(&path, "%0100d/", 7);
	while (path.len < len)
		ews_buf_addc(&path, 'z');
	cr_assert(pipe);
	fprintf(pipe, "100644 %040d\t%s%c", 1, path.ptr, 0);
	cr_assert_eq(pclose(pipe), 0);
}

Test(index_digest, paths_of_any_length)
{
	static const size_t lens[] = { 4093, 4094, 4095, 4096, 65000, 65536, 131072, EWS_MIB - 1, EWS_MIB };
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;

	fixture_shell("git init -q .");
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		add_path_of(lens[i]);
		assert_right(EWS_SHA1, 2, "a long path");
		fixture_shell("git update-index --index-version 4");
		assert_right(EWS_SHA1, 4, "a long path");
		fixture_shell("git update-index --index-version 2");
	}
	add_path_of(EWS_MIB + 1);
	read_now(&bytes);
	cr_assert_str_eq(of_file(&bytes, EWS_SHA1).hex, all_of(&bytes).hex, "one that is too long");
	fixture_shell("git update-index --index-version 4");
	read_now(&bytes);
	cr_assert_str_eq(of_file(&bytes, EWS_SHA1).hex, all_of(&bytes).hex, "one that is too long");
}

/* Where it stands `what`, four bytes, the first time. */
static char *find(const struct ews_buf *bytes, const char *what)
{
	char *at = memmem(bytes->ptr, bytes->len, what, 4);

	cr_assert(at, "%s", what);
	return at;
}

Test(index_digest, what_is_not_understood_counts_with_all_bytes)
{
	EWS_CLEANUP(buf) struct ews_buf whole = EWS_BUF_INIT, bytes = EWS_BUF_INIT;
	struct seen entries;

	make_repository();
	for (int version = 2; version <= 4; version += 2) {
		fixture_shell("git update-index --index-version %d --force-write-index", version);
		read_now(&whole);
		entries = of_file(&whole, EWS_SHA1);
		cr_assert_str_neq(entries.hex, all_of(&whole).hex);
		for (size_t len = 0; len < whole.len; len++) {
			ews_buf_truncate(&bytes, 0);
			ews_buf_add(&bytes, whole.ptr, len);
			/* One that ends right behind its entries is whole but for its hash. */
			if (strcmp(of_bytes(&bytes, EWS_SHA1).hex, entries.hex) == 0)
				cr_expect_eq((size_t)(find(&whole, "TREE") - whole.ptr) + 20, len);
			else
				cr_expect_str_eq(of_bytes(&bytes, EWS_SHA1).hex, all_of(&bytes).hex, "cut at %zu",
						 len);
		}
		ews_buf_truncate(&bytes, 0);
		ews_buf_add(&bytes, whole.ptr, whole.len);
		bytes.ptr[7] = 5;
		cr_expect_str_eq(of_file(&bytes, EWS_SHA1).hex, all_of(&bytes).hex, "version 5");
		bytes.ptr[7] = whole.ptr[7];
		memcpy(find(&bytes, "TREE"), "sdir", 4);
		cr_expect_str_eq(of_file(&bytes, EWS_SHA1).hex, entries.hex, "sdir");
		memcpy(find(&bytes, "sdir"), "what", 4);
		cr_expect_str_eq(of_file(&bytes, EWS_SHA1).hex, all_of(&bytes).hex, "an unknown extension");
		memcpy(find(&bytes, "what"), "link", 4);
		cr_expect_str_eq(of_file(&bytes, EWS_SHA1).hex, all_of(&bytes).hex, "split");
		memset(find(&bytes, "link") + 8, 0, 20);
		cr_expect_str_eq(of_file(&bytes, EWS_SHA1).hex, entries.hex, "split, and one again");
	}
	fixture_shell("git update-index --split-index");
	read_now(&bytes);
	cr_expect_str_eq(of_file(&bytes, EWS_SHA1).hex, all_of(&bytes).hex, "split by git");
}

Test(index_digest, entries_are_not_to_be_made_up_of_bytes)
{
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	const struct ews_index_entry *ie;

	fixture_shell("git init -q . && echo 1 >f && git add f");
	read_now(&bytes);
	cr_assert_eq(ews_index_parse(&index, bytes.ptr, bytes.len, EWS_SHA1), 0);
	ie = &index.items[0];
	ews_buf_truncate(&bytes, 0);
	ews_buf_adds(&bytes, "entries");
	ews_buf_add(&bytes, "\0\0\201\244", 4); /* 0100644 */
	ews_buf_add(&bytes, ie->oid.id, ie->oid.len);
	ews_buf_add(&bytes, "\0f", 3);
	cr_assert_str_neq(of_file(&bytes, EWS_SHA1).hex, said_by(&index).hex);
}

Test(index_digest, one_that_is_missing_or_no_file_is_an_error)
{
	uint8_t digest[EWS_HASH_MAX];

	fixture_shell("mkdir dir && ln -s dir link && printf 12345 >long");
	cr_expect_eq(ews_index_digest(digest, AT_FDCWD, "missing", EWS_SHA1, MAX), EWS_ENOTFOUND);
	cr_expect_eq(ews_index_digest(digest, AT_FDCWD, "dir", EWS_SHA1, MAX), EWS_EDAMAGED);
	cr_expect_eq(ews_index_digest(digest, AT_FDCWD, "link", EWS_SHA1, MAX), EWS_EDAMAGED);
	cr_expect_eq(ews_index_digest(digest, AT_FDCWD, "long", EWS_SHA1, 4), EWS_EDAMAGED);
	cr_expect_eq(ews_index_digest(digest, AT_FDCWD, "long", EWS_SHA1, 5), 0);
}
