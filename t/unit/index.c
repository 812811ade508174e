/*
 * Git's index held against git itself, and against damage.
 *
 * Git makes indexes of every form; what it says of them by `ls-files --debug`
 * must be what we read, and what we write it must read the same. The random
 * parts start from EWS_SEED (1), so that a failure can be had again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "fixture.h"

/* What ls-files --debug shows of a cache entry's flags. */
#define SHOWN_ASSUMED_UNCHANGED 0x8000ul
#define SHOWN_INTENT_TO_ADD (1ul << 29)
#define SHOWN_SKIP_WORKTREE (1ul << 30)
#define SHOWN (SHOWN_ASSUMED_UNCHANGED | SHOWN_INTENT_TO_ADD | SHOWN_SKIP_WORKTREE)

static void sh(const char *command)
{
	cr_assert_eq(system(command), 0, "failed: %s", command);
}

static void ask(struct ews_buf *out, const char *command)
{
	FILE *pipe = popen(command, "r");
	char piece[4096];
	size_t got;

	cr_assert(pipe);
	ews_buf_truncate(out, 0);
	while ((got = fread(piece, 1, sizeof(piece), pipe)) > 0)
		ews_buf_add(out, piece, got);
	cr_assert_eq(pclose(pipe), 0, "failed: %s", command);
}

static char work_dir[] = "/tmp/ews-index-XXXXXX";

static void make_work_dir(void)
{
	fixture_sow(fixture_seed());
	cr_assert(mkdtemp(work_dir));
	cr_assert_eq(chdir(work_dir), 0);
	setenv("HOME", work_dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_CONFIG_COUNT", "3", 1);
	setenv("GIT_CONFIG_KEY_0", "user.name", 1);
	setenv("GIT_CONFIG_VALUE_0", "x", 1);
	setenv("GIT_CONFIG_KEY_1", "user.email", 1);
	setenv("GIT_CONFIG_VALUE_1", "x@example.org", 1);
	/* Else git writes a new shared file before the bitmaps have much to say. */
	setenv("GIT_CONFIG_KEY_2", "splitIndex.maxPercentChange", 1);
	setenv("GIT_CONFIG_VALUE_2", "100", 1);
	unsetenv("XDG_CONFIG_HOME");
}

static void remove_work_dir(void)
{
	EWS_CLEANUP(free) char *sweep = ews_strfmt("rm -rf %s", work_dir);

	cr_assert_eq(chdir("/"), 0);
	sh(sweep);
}

/* A repository with all that an entry can be. */
static void make_repository(const char *format)
{
	struct ews_buf path = EWS_BUF_INIT;

	setenv("GIT_DEFAULT_HASH", format, 1);
	sh("git init -q -b main . && mkdir -p src/deep/er other sub && for i in 1 2 3 4 5 6 7 8 9; do"
	   " echo $i >src/file$i; echo $i$i >src/deep/file$i; echo $i >src/deep/er/x$i; echo $i >other/o$i; done");
	sh("echo plain >plain && : >empty && echo run >run && chmod +x run && ln -s plain link"
	   " && ln -s /nowhere gone");
	sh("for i in assumed skipped conflict solved; do echo $i >$i; done");
	sh("printf x >\"$(printf 'new\\nline\\tand\\\"quote')\" && printf x >\"$(printf 'not\\377utf8')\""
	   " && : >a && : >a-b && mkdir a.d && : >a.d/x");
	sh("git -C sub init -q && git -C sub commit -q --allow-empty -m sub");
	sh("git add -A 2>/dev/null && git commit -qm one");
	sh("git checkout -qb side && echo side >conflict && echo side >solved && git commit -qam side"
	   " && git checkout -q main && echo main >conflict && echo main >solved && git commit -qam main"
	   " && ! git merge side >/dev/null 2>&1");
	sh("echo both >solved && git add solved");
	sh("git update-index --assume-unchanged assumed && git update-index --skip-worktree skipped"
	   " && echo new >intended && git add -N intended && echo staged >staged && git add staged");
	/* Paths longer than the twelve bits that an entry has for their length. */
	for (unsigned len = 4094; len <= 4098; len++) {
		FILE *pipe = popen("git update-index -z --index-info", "w");

		ews_buf_truncate(&path, 0);
		while (path.len + 101 < len)
			ews_buf_addf(&path, "%0100d/", 7);
		while (path.len < len)
			ews_buf_addc(&path, 'z');
		cr_assert(pipe);
		fprintf(pipe, "100644 ");
		for (int i = strcmp(format, "sha256") ? 40 : 64; i; i--)
			fputc('1', pipe);
		fprintf(pipe, "\t%s%c", path.ptr, 0);
		cr_assert_eq(pclose(pipe), 0);
	}
	ews_buf_release(&path);
}

/* `shown` is what git says; the entries must say the same. */
static void check_against(const struct ews_buf *shown, const struct ews_index *index, const char *what)
{
	const char *at = shown->ptr;
	const char *end = shown->ptr + shown->len;

	for (size_t i = 0; i < index->n; i++) {
		const struct ews_index_entry *ie = &index->items[i];
		EWS_CLEANUP(buf) struct ews_buf ours = EWS_BUF_INIT;
		char hex[EWS_OID_HEX_MAX];
		unsigned long flags;
		char *rest;

		ews_buf_addf(&ours, "%06o %s %u\t%s", ie->mode, ews_oid_hex(hex, &ie->oid), ie->stage, ie->path);
		ews_buf_addc(&ours, '\0');
		ews_buf_addf(&ours,
			     "  ctime: %u:%u\n  mtime: %u:%u\n  dev: %u\tino: %u\n  uid: %u\tgid: %u\n"
			     "  size: %u\tflags: ",
			     ie->ctime_s, ie->ctime_ns, ie->mtime_s, ie->mtime_ns, ie->dev, ie->ino, ie->uid,
			     ie->gid, ie->size);
		cr_assert_leq(ours.len, (size_t)(end - at), "%s: git has fewer entries", what);
		cr_assert(!memcmp(ours.ptr, at, ours.len), "%s: ours: %s%s\ngit's: %s%s", what, ours.ptr,
			  ours.ptr + strlen(ours.ptr) + 1, at, at + strlen(at) + 1);
		flags = strtoul(at + ours.len, &rest, 16);
		cr_assert_eq(flags & SHOWN,
			     (ie->is_assumed_unchanged ? SHOWN_ASSUMED_UNCHANGED : 0) |
				     (ie->is_intent_to_add ? SHOWN_INTENT_TO_ADD : 0) |
				     (ie->is_skip_worktree ? SHOWN_SKIP_WORKTREE : 0),
			     "%s: flags of '%s' are %lx", what, ie->path, flags);
		at = rest + 1;
	}
	cr_assert_eq(at, end, "%s: git has more entries: %s", what, at);
}

static void write_file(const char *name, const void *data, size_t len)
{
	FILE *file = fopen(name, "w");

	cr_assert(file);
	cr_assert_eq(fwrite(data, 1, len, file), len);
	cr_assert_eq(fclose(file), 0);
}

static void read_index(struct ews_index *out, const char *name, enum ews_hash_algo algo)
{
	EWS_CLEANUP(fd) int dir_fd = ews_dir_open(".git");

	cr_assert_geq(dir_fd, 0);
	cr_assert_eq(ews_index_read(out, dir_fd, name, algo), 0, "%s", ews_error_message());
}

/* Read what git wrote, compare, write it, and let git compare. */
static void check_index(const char *what, enum ews_hash_algo algo)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(index) struct ews_index again = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf shown = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf expected = EWS_BUF_INIT;

	ask(&shown, "git ls-files --sparse --stage --debug -z");
	read_index(&index, "index", algo);
	cr_assert_gt(index.n, 0, "%s", what);
	check_against(&shown, &index, what);

	ews_index_format(&bytes, &index, algo);
	write_file(".git/ours", bytes.ptr, bytes.len);
	read_index(&again, "ours", algo);
	check_against(&shown, &again, what);
	ask(&shown, "GIT_INDEX_FILE=.git/ours git ls-files --sparse --stage --debug -z");
	check_against(&shown, &index, what);

	ask(&expected, "git ls-files --stage && git ls-files --resolve-undo");
	ask(&shown, "GIT_INDEX_FILE=.git/ours git ls-files --stage &&"
		    " GIT_INDEX_FILE=.git/ours git ls-files --resolve-undo");
	cr_assert_str_eq(shown.ptr, expected.ptr, "%s", what);
}

/* Git verifies an index's checksum in fsck alone, and of .git/index alone. */
static void check_fsck(const char *missing)
{
	EWS_CLEANUP(buf) struct ews_buf said = EWS_BUF_INIT;
	EWS_CLEANUP(free)
	char *command = ews_strfmt("cp .git/index .git/theirs && mv .git/ours .git/index &&"
				   " git fsck 2>&1 | grep -v -e '^dangling' -e '%s' || :",
				   missing);

	ask(&said, command);
	cr_assert_str_eq(said.ptr, "");
	sh("mv .git/theirs .git/index");
}

static void check_all_forms(enum ews_hash_algo algo)
{
	check_index("as git writes it", algo);
	/* The long paths name objects that are not there. */
	check_fsck("1111111111");
	sh("git update-index --index-version 2 --force-write-index");
	check_index("version 2 or 3", algo);
	sh("git update-index --index-version 4");
	check_index("version 4", algo);
	sh("git -c index.threads=3 -c index.recordEndOfIndexEntries=true -c index.recordOffsetTable=true"
	   " update-index --force-write-index");
	check_index("version 4 in blocks", algo);
	sh("git update-index --force-untracked-cache");
	check_index("untracked cache", algo);
	sh("git update-index --no-untracked-cache --split-index");
	check_index("split", algo);
	sh("rm src/file3 && git update-index --remove src/file3 && echo x >>src/file4 && git add src/file4"
	   " && echo n >src/file35 && git add src/file35 && git add conflict && git update-index --chmod=+x plain"
	   " && git update-index --no-assume-unchanged assumed && git update-index --skip-worktree src/file5");
	check_index("split, changed, version 4", algo);
	sh("git update-index --index-version 2");
	check_index("split, changed, version 2", algo);
	sh("git update-index --no-split-index");
	check_index("one again", algo);
}

Test(index, every_form_that_git_writes_is_read_and_written_back, .init = make_work_dir, .fini = remove_work_dir)
{
	make_repository("sha1");
	check_all_forms(EWS_SHA1);
}

Test(index, so_it_is_with_sha256, .init = make_work_dir, .fini = remove_work_dir)
{
	make_repository("sha256");
	check_all_forms(EWS_SHA256);
}

Test(index, a_sparse_index_keeps_its_directories, .init = make_work_dir, .fini = remove_work_dir)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf status = EWS_BUF_INIT;

	make_repository("sha1");
	sh("git reset -q --hard && git sparse-checkout set --cone --sparse-index other 2>/dev/null");
	read_index(&index, "index", EWS_SHA1);
	cr_assert(index.is_sparse);
	cr_assert(ews_index_find(&index, "src/"));
	cr_assert(ews_index_has_below(&index, "src"));
	check_index("sparse", EWS_SHA1);
	sh("grep -q sdir .git/ours");
	sh("mv .git/ours .git/index");
	ask(&status, "git status --porcelain --ignore-submodules");
	cr_assert_str_eq(status.ptr, "");
	sh("git fsck >fsck.out 2>&1");
}

Test(index, long_runs_of_a_split_index_are_joined, .init = make_work_dir, .fini = remove_work_dir)
{
	sh("git init -q . && for i in $(seq 1000 1999); do echo $i >f$i; done && git add ."
	   " && git update-index --split-index");
	sh("git rm -q --cached f12?? f13?? f1400 f17?? f18?? && git update-index --chmod=+x f15?? f16??"
	   " && echo n >n && git add n");
	check_index("long runs", EWS_SHA1);
	sh("git rm -qf --cached '*' && git add n");
	check_index("all but one gone", EWS_SHA1);
}

Test(index, zeros_in_place_of_the_checksum_are_as_good, .init = make_work_dir, .fini = remove_work_dir)
{
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;

	sh("git init -q . && : >a && git add a");
	ask(&bytes, "cat .git/index");
	memset(bytes.ptr + bytes.len - 20, 0, 20);
	cr_assert_eq(ews_index_parse(&index, bytes.ptr, bytes.len, EWS_SHA1), 0);
	cr_assert_eq(index.n, 1);
	bytes.ptr[bytes.len - 1] = 1;
	cr_assert_eq(ews_index_parse(&index, bytes.ptr, bytes.len, EWS_SHA1), EWS_EDAMAGED);
}

Test(index, a_missing_one_is_empty, .init = make_work_dir, .fini = remove_work_dir)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;

	sh("git init -q .");
	read_index(&index, "index", EWS_SHA1);
	cr_assert_eq(index.version, 0);
	cr_assert_eq(index.n, 0);
	ews_index_format(&bytes, &index, EWS_SHA1);
	write_file(".git/index", bytes.ptr, bytes.len);
	ask(&bytes, "git fsck 2>/dev/null && git ls-files");
	cr_assert_eq(bytes.len, 0);
}

Test(index, an_unknown_mandatory_extension_is_named)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;

	ews_index_format(&bytes, &index, EWS_SHA1);
	ews_buf_truncate(&bytes, bytes.len - 20);
	ews_buf_add(&bytes, "what\0\0\0\0", 8);
	for (int i = 0; i < 20; i++)
		ews_buf_addc(&bytes, '\0');
	cr_assert_eq(ews_index_parse(&index, bytes.ptr, bytes.len, EWS_SHA1), EWS_EUNSUPPORTED);
	cr_assert(strstr(ews_error_message(), "'what'"));
}

/* Random entries and flags, in all versions, split and not. */
Test(index, random_indexes_are_read_as_git_reads_them, .init = make_work_dir, .fini = remove_work_dir)
{
	sh("git init -q .");
	for (int round = 0; round < 25; round++) {
		static const char *const modes[] = { "100644", "100755", "120000", "160000", "0" };
		EWS_CLEANUP(free) char *what = ews_strfmt("round %d", round);
		EWS_CLEANUP(free) char *form = NULL;
		FILE *pipe = popen("git update-index -z --index-info 2>/dev/null", "w");

		cr_assert(pipe);
		for (size_t i = fixture_pick(60) + 1; i; i--) {
			size_t stage = fixture_pick(4) ? 0 : 1 + fixture_pick(3);

			fprintf(pipe, "%s %040zx %zu\t%c%c/%.*s%c", modes[fixture_pick(5)], fixture_pick(1000) + 1,
				stage, (int)('a' + fixture_pick(3)), (int)('a' + fixture_pick(3)),
				(int)fixture_pick(6), "ab\n.\xff-", 0);
			fprintf(pipe, "%s %040zx 0\tf%zu%c", modes[fixture_pick(5)], fixture_pick(1000) + 1,
				fixture_pick(40), 0);
		}
		(void)pclose(pipe); /* git refuses some of these paths */
		form = ews_strfmt("git update-index --index-version %zu %s && git ls-files -z f1 f2 f3 |"
				  " git update-index -z --%s --stdin",
				  2 + fixture_pick(3),
				  fixture_pick(3)   ? ""
				  : fixture_pick(2) ? "--split-index"
						    : "--no-split-index",
				  fixture_pick(2) ? "skip-worktree" : "assume-unchanged");
		(void)!system(form);
		sh("echo x >f41 && git add f41");
		check_index(what, EWS_SHA1);
	}
}

static void look_at(struct ews_entry *entry, const char *path)
{
	struct stat st;

	cr_assert_eq(lstat(path, &st), 0);
	*entry = (struct ews_entry){ .path = path };
	ews_entry_set_stat(entry, &st);
}

Test(index, an_entry_with_our_stat_data_needs_no_refresh, .init = make_work_dir, .fini = remove_work_dir)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;
	struct ews_entry entry;

	make_repository("sha1");
	sh("git reset -q --hard && rm -rf sub && git rm -q --cached sub"
	   " && find . -path ./.git -prune -o -type f -print0 | xargs -0 touch -d '2 minutes ago'"
	   " && cp -a src copy && rm -r src && mv copy src && cp -a plain copy && mv copy plain");
	ask(&bytes, "git diff-files");
	cr_assert_gt(bytes.len, 0, "the files must look changed at first");
	read_index(&index, "index", EWS_SHA1);
	for (size_t i = 0; i < index.n; i++) {
		look_at(&entry, index.items[i].path);
		ews_index_set_stat(&index.items[i], &entry, getuid(), getgid());
	}
	ews_buf_truncate(&bytes, 0);
	ews_index_format(&bytes, &index, EWS_SHA1);
	write_file(".git/index", bytes.ptr, bytes.len);
	ask(&bytes, "git diff-files");
	cr_assert_eq(bytes.len, 0, "%s", bytes.ptr);
}

Test(index, stat_data_match_when_git_would_not_look, .init = make_work_dir, .fini = remove_work_dir)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	struct ews_index_entry *ie;
	struct ews_entry entry;

	sh("git init -q . && echo text >file && : >empty && touch -d '2 minutes ago' file empty && git add .");
	read_index(&index, "index", EWS_SHA1);
	look_at(&entry, "empty");
	cr_assert(ews_index_stat_matches(&index, ews_index_find(&index, "empty"), &entry));
	look_at(&entry, "file");
	ie = (struct ews_index_entry *)ews_index_find(&index, "file");
	cr_assert(ews_index_stat_matches(&index, ie, &entry));

	entry.mode |= 0100;
	cr_assert_not(ews_index_stat_matches(&index, ie, &entry), "the x bit");
	entry.mode &= (uint16_t)~0100;
	entry.mtime_ns++;
	cr_assert_eq(ews_index_stat_matches(&index, ie, &entry), !ie->mtime_ns, "the nanoseconds");
	entry.mtime_ns--;
	entry.size += UINT64_C(1) << 32;
	cr_assert_not(ews_index_stat_matches(&index, ie, &entry), "a size beyond 32 bits");
	entry.size -= UINT64_C(1) << 32;
	entry.ino++;
	cr_assert_not(ews_index_stat_matches(&index, ie, &entry), "another file");
	entry.ino--;
	ie->is_assumed_unchanged = true;
	cr_assert_not(ews_index_stat_matches(&index, ie, &entry), "a flag that hides changes");
	ie->is_assumed_unchanged = false;
	ie->size = 0;
	entry.size = 0;
	cr_assert_not(ews_index_stat_matches(&index, ie, &entry), "size 0 is git's mark of a racy entry");
	entry.size = 5;
	ie->size = 5;
	cr_assert(ews_index_stat_matches(&index, ie, &entry));
	index.mtime_s = ie->mtime_s;
	ie->mtime_ns = entry.mtime_ns = 100;
	index.mtime_ns = ie->mtime_ns + EWS_RACY_NS + 1;
	cr_assert_not(ews_index_stat_matches(&index, ie, &entry), "the same second");
	cr_assert(ews_index_stat_matches_filtered(&index, ie, &entry), "the same second, of a file that can't be read so");
	index.mtime_ns--;
	cr_assert_not(ews_index_stat_matches_filtered(&index, ie, &entry), "racy");
	ie->mtime_ns = entry.mtime_ns = 0;
	cr_assert_not(ews_index_stat_matches_filtered(&index, ie, &entry), "racy without nanoseconds");
}

/* Damaged bytes may be refused or mean something; they must not do harm, and what they mean must hold. */
static void check_damaged(const struct ews_buf *bytes, int dir_fd)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(index) struct ews_index again = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	int rc;

	if (dir_fd < 0) {
		/* A copy of the exact size, so that a sanitizer sees a step too far. */
		EWS_CLEANUP(free) void *exact = ews_memdup(bytes->ptr, bytes->len);

		rc = ews_index_parse(&index, exact, bytes->len, EWS_SHA1);
	} else {
		write_file("damaged", bytes->ptr, bytes->len);
		rc = ews_index_read(&index, dir_fd, "damaged", EWS_SHA1);
	}
	if (rc < 0) {
		cr_assert(rc == EWS_EDAMAGED || rc == EWS_EUNSUPPORTED, "%d: %s", rc, ews_error_message());
		cr_assert_eq(index.n, 0);
		return;
	}
	for (size_t i = 0; i < index.n; i++)
		cr_assert(ews_index_find(&index, index.items[i].path));
	ews_index_format(&out, &index, EWS_SHA1);
	cr_assert_eq(ews_index_parse(&again, out.ptr, out.len, EWS_SHA1), 0, "%s", ews_error_message());
	cr_assert_eq(again.n, index.n);
}

static void damage(struct ews_buf *bytes)
{
	for (size_t i = 1 + fixture_pick(4); i; i--) {
		static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff, '/', '.' };
		size_t at = fixture_pick(bytes->len);

		if (!fixture_pick(3))
			bytes->ptr[at] ^= (char)(1 << fixture_pick(8));
		else if (fixture_pick(6))
			bytes->ptr[at] = (char)values[fixture_pick(sizeof(values))];
		else
			memmove(bytes->ptr + at / 2, bytes->ptr + at, bytes->len - at);
	}
	if (!fixture_pick(4))
		ews_buf_truncate(bytes, fixture_pick(bytes->len));
	/* Zeros are no checksum, or else nearly all would end there. */
	if (bytes->len > 20 && fixture_pick(50))
		memset(bytes->ptr + bytes->len - 20, 0, 20);
}

static void damage_often(size_t rounds, int dir_fd)
{
	EWS_CLEANUP(buf) struct ews_buf whole = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;

	ask(&whole, "cat .git/index");
	while (rounds--) {
		ews_buf_truncate(&bytes, 0);
		ews_buf_add(&bytes, whole.ptr, whole.len);
		damage(&bytes);
		check_damaged(&bytes, dir_fd);
	}
}

Test(index, damaged_ones_do_no_harm, .init = make_work_dir, .fini = remove_work_dir)
{
	EWS_CLEANUP(fd) int dir_fd = -1;

	sh("git init -q . && mkdir d && for i in 1 2 3 4 5 6 7 8; do echo $i >f$i; echo $i >d/f$i; done"
	   " && git add . && echo n >n && git add -N n && git update-index --skip-worktree f1");
	damage_often(4000, -1);
	sh("git update-index --index-version 4");
	damage_often(4000, -1);
	sh("git update-index --split-index && echo y >>f3 && rm f4 && echo z >d/z && git add -A && cp .git/shared* .");
	dir_fd = ews_dir_open(".");
	damage_often(3000, dir_fd);
	sh("git update-index --index-version 2");
	damage_often(3000, dir_fd);
}

/* Few bytes must not stand for much memory. */
Test(index, paths_that_grow_without_end_are_refused)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf bytes = EWS_BUF_INIT;
	size_t n = 20000, long_len = 1000000;

	ews_buf_add(&bytes, "DIRC\0\0\0\4\0\0", 10);
	ews_buf_addc(&bytes, (char)(n >> 8));
	ews_buf_addc(&bytes, (char)n);
	for (size_t i = 0; i < n; i++) {
		char entry[63] = { 0 };

		memcpy(entry + 24, "\0\0\x81\xa4", 4);
		entry[60] = 0xf;
		entry[61] = (char)0xff;
		ews_buf_add(&bytes, entry, sizeof(entry));
		for (size_t k = i ? 1 : long_len; k; k--)
			ews_buf_addc(&bytes, 'a');
		ews_buf_addc(&bytes, '\0');
	}
	for (int i = 0; i < 20; i++)
		ews_buf_addc(&bytes, '\0');
	cr_assert_eq(ews_index_parse(&index, bytes.ptr, bytes.len, EWS_SHA1), EWS_EDAMAGED);
	cr_assert(strstr(ews_error_message(), "too long"), "%s", ews_error_message());
}

Test(index, a_directory_is_found_among_names_that_sort_around_it)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	static const char *const paths[] = { "a/x", "a.c", "a", "ab", "b-/x", "b0" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		ews_index_add(&index, paths[i]);
	ews_index_add(&index, "a")->stage = 2;
	ews_index_sort(&index);
	cr_assert_eq(ews_index_find(&index, "a"), &index.items[0]);
	cr_assert_eq(index.items[1].stage, 2);
	cr_assert(ews_index_has_below(&index, "a"));
	cr_assert(ews_index_has_below(&index, "b-"));
	cr_assert(ews_index_has_below(&index, "ab"));
	cr_assert_not(ews_index_has_below(&index, "b"));
	cr_assert_not(ews_index_has_below(&index, "c"));
	cr_assert_null(ews_index_find(&index, "a/"));
}
