/*
 * Files are read with a limit, replaced whole, copied with their holes, and removed however deep.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "fixture.h"

TestSuite(file, .init = fixture_begin_dir, .fini = fixture_end_dir);

static void put(const char *name, const char *text)
{
	cr_assert_eq(ews_file_replace(fixture_fd, name, text, strlen(text), 0644), 0, "%s", ews_error_message());
}

static void expect_text(const char *name, const char *want)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	cr_assert_eq(ews_file_read(&text, fixture_fd, name, 4096), 0, "%s", ews_error_message());
	cr_assert_str_eq(text.ptr, want);
}

static size_t count_names(int fd)
{
	struct ews_arena arena = EWS_ARENA_INIT;
	struct ews_dirent *items = NULL;
	ssize_t n = ews_dir_list(&items, fd, &arena);

	free(items);
	ews_arena_release(&arena);
	return (size_t)n;
}

static bool is_there(const char *name)
{
	struct stat st;

	return !fstatat(fixture_fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

Test(file, a_file_longer_than_the_limit_is_refused_and_adds_nothing)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	put("f", "12345");
	ews_buf_adds(&text, "kept");
	cr_assert_eq(ews_file_read(&text, fixture_fd, "f", 4), EWS_EDAMAGED);
	cr_assert_str_eq(text.ptr, "kept");
	cr_assert_eq(ews_file_read(&text, fixture_fd, "f", 5), 0);
	cr_assert_str_eq(text.ptr, "kept12345");
	cr_assert_eq(ews_file_read(&text, fixture_fd, "g", 5), EWS_ENOTFOUND);
}

Test(file, a_pipe_of_unknown_length_is_read_to_its_end)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	static char data[30000];
	int fds[2];

	memset(data, 'x', sizeof(data));
	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(ews_file_write_fd(fds[1], data, sizeof(data)), 0);
	close(fds[1]);
	cr_assert_eq(ews_file_read_fd(&text, fds[0], 100000), 0);
	cr_assert_eq(text.len, sizeof(data));
	close(fds[0]);
}

Test(file, only_a_regular_file_is_read)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	put("f", "x");
	cr_assert_eq(symlinkat("f", fixture_fd, "link"), 0);
	cr_assert_eq(mkfifoat(fixture_fd, "fifo", 0644), 0);
	cr_assert_eq(mkdirat(fixture_fd, "dir", 0755), 0);
	cr_assert_eq(ews_file_read(&text, fixture_fd, "link", 10), EWS_EDAMAGED);
	cr_assert_eq(ews_file_read(&text, fixture_fd, "fifo", 10), EWS_EDAMAGED);
	cr_assert_eq(ews_file_read(&text, fixture_fd, "dir", 10), EWS_EDAMAGED);
	cr_assert_eq(text.len, 0);
}

Test(file, replacing_sets_the_mode_whatever_the_umask)
{
	struct stat st;

	umask(077);
	put("f", "one");
	cr_assert_eq(fstatat(fixture_fd, "f", &st, 0), 0);
	cr_assert_eq(st.st_mode & 07777, 0644);
	put("f", "two");
	expect_text("f", "two");
	cr_assert_eq(count_names(fixture_fd), 1);
}

Test(file, a_link_is_replaced_and_not_written_through)
{
	put("f", "kept");
	cr_assert_eq(symlinkat("f", fixture_fd, "link"), 0);
	put("link", "new");
	expect_text("f", "kept");
	expect_text("link", "new");
}

Test(file, a_failed_replacement_leaves_the_old_and_no_temporary_file)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	const struct rlimit limit = { 4, 4 };
	const struct iovec part = { (char[]){ "x" }, 1 };
	struct stat st;

	put("f", "old");
	cr_assert_eq(ews_file_replace_parts(fixture_fd, "f", &part, 1, 0644, false), 0);
	expect_text("f", "x");
	put("f", "old");
	cr_assert_eq(mkdirat(fixture_fd, "dir", 0755), 0);
	cr_assert_eq(ews_file_replace(fixture_fd, "dir", "x", 1, 0644) < 0, true);
	cr_assert_lt(ews_file_replace_parts(fixture_fd, "dir", &part, 1, 0644, false), 0);
	cr_assert_eq(fstatat(fixture_fd, "dir", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_assert(S_ISDIR(st.st_mode));
	/* A user's own path is taken apart; its directory must be there. */
	ews_buf_addf(&path, "%s/gone/f", fixture_top());
	cr_assert_eq(ews_file_replace(AT_FDCWD, path.ptr, "x", 1, 0644), EWS_ENOTFOUND);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(ews_file_replace(fixture_fd, "f", "longer", 6, 0644), EWS_ENOSPACE);
	expect_text("f", "old");
	cr_assert_eq(count_names(fixture_fd), 2);
}

Test(file, a_log_grows_line_by_line_and_survives_a_torn_one)
{
	struct stat st;

	umask(0);
	cr_assert_eq(ews_file_append(fixture_fd, "log", "one", 0600), 0);
	cr_assert_eq(ews_file_append(fixture_fd, "log", "two\n", 0600), 0);
	expect_text("log", "one\ntwo\n");
	cr_assert_eq(fstatat(fixture_fd, "log", &st, 0), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	put("log", "one\ntor");
	cr_assert_eq(ews_file_append(fixture_fd, "log", "three", 0600), 0);
	expect_text("log", "one\ntor\nthree\n");
}

Test(file, a_copy_has_the_bytes_and_the_holes)
{
	static const off_t size = 64 << 20;
	EWS_CLEANUP(fd) int from = openat(fixture_fd, "from", O_RDWR | O_CREAT, 0644);
	EWS_CLEANUP(fd) int to = openat(fixture_fd, "to", O_RDWR | O_CREAT, 0644);
	char text[8] = "";
	struct stat st;

	cr_assert_eq(pwrite(from, "middle", 6, 20 << 20), 6);
	cr_assert_eq(ftruncate(from, size), 0);
	cr_assert_eq(ews_file_copy_fd(to, from, (uint64_t)size, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(pread(to, text, 6, 20 << 20), 6);
	cr_assert_str_eq(text, "middle");
	cr_assert_eq(fstat(to, &st), 0);
	cr_assert_eq(st.st_size, size);
	cr_assert_lt(st.st_blocks * 512, 8 << 20);
}

Test(file, a_copy_of_any_size_is_equal)
{
	static const size_t sizes[] = { 0, 1, 65536, 65537, 300001 };
	static char data[300001], back[300001];
	atomic_bool no_clones = false;
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 251);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int from = openat(fixture_fd, "from", O_RDWR | O_CREAT | O_TRUNC, 0644);
		int to = openat(fixture_fd, "to", O_RDWR | O_CREAT | O_TRUNC, 0644);

		cr_assert_eq(ews_file_write_fd(from, data, sizes[i]), 0);
		cr_assert_eq(ews_file_copy_fd(to, from, sizes[i], &no_clones), 0);
		cr_assert_eq(pread(to, back, sizeof(back), 0), (ssize_t)sizes[i]);
		cr_assert_eq(memcmp(data, back, sizes[i]), 0);
		close(from);
		close(to);
	}
}

Test(file, a_source_that_ends_early_is_stale)
{
	EWS_CLEANUP(fd) int from = openat(fixture_fd, "from", O_RDWR | O_CREAT, 0644);
	EWS_CLEANUP(fd) int to = openat(fixture_fd, "to", O_RDWR | O_CREAT, 0644);

	cr_assert_eq(ews_file_write_fd(from, "abc", 3), 0);
	cr_assert_eq(ews_file_copy_fd(to, from, 4, NULL), EWS_ESTALE);
	cr_assert_eq(ews_file_copy_fd(to, from, 1 << 20, NULL), EWS_ESTALE);
}

Test(file, removing_does_not_follow_links_and_missing_is_done)
{
	EWS_CLEANUP(fd) int fd = -1;

	cr_assert_eq(mkdirat(fixture_fd, "kept", 0755), 0);
	cr_assert_eq(mkdirat(fixture_fd, "tree", 0755), 0);
	cr_assert_eq(symlinkat("../kept", fixture_fd, "tree/link"), 0);
	cr_assert_eq(symlinkat("kept", fixture_fd, "link"), 0);
	fd = ews_dir_open_beneath(fixture_fd, "kept");
	cr_assert_eq(ews_file_replace(fd, "f", "x", 1, 0644), 0);
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "tree"), 0);
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "link"), 0);
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "gone"), 0);
	cr_assert_not(is_there("tree"));
	cr_assert_not(is_there("link"));
	cr_assert_eq(count_names(fd), 1);
}

Test(file, removing_does_not_enter_what_is_mounted)
{
	fixture_fd = fixture_need_mounts(fixture_fd);
	cr_assert_eq(ews_dir_make(fixture_fd, "theirs/sub", 0755), 0);
	cr_assert_eq(ews_file_replace(fixture_fd, "theirs/sub/f", "x", 1, 0644), 0);
	cr_assert_eq(ews_dir_make(fixture_fd, "tree/a/place", 0755), 0);
	cr_assert_eq(ews_dir_make(fixture_fd, "tree/b", 0755), 0);
	cr_assert_eq(mount("theirs", "tree/a/place", NULL, MS_BIND, NULL), 0);
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "tree"), EWS_EDENIED);
	cr_expect(strstr(ews_error_message(), "'tree/a/place': something is mounted there"), "%s",
		  ews_error_message());
	cr_expect(is_there("theirs/sub/f"));
	cr_assert_eq(umount2("tree/a/place", MNT_DETACH), 0);
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "tree"), 0);
	cr_expect(is_there("theirs/sub/f"));
	cr_expect_not(is_there("tree"));
}

static void note_done(void *payload, size_t done, size_t total, uint64_t bytes)
{
	(void)total;
	(void)bytes;
	*(size_t *)payload = done;
}

Test(file, a_removal_tells_how_much_it_took)
{
	size_t shown = 0;
	struct ews_file_removed removed = { .show = note_done, .payload = &shown };

	/* More in one directory than a thread takes in a row, and a link, which has no bytes. */
	cr_assert_eq(ews_dir_make(fixture_fd, "t/a/b", 0755), 0);
	for (int i = 0; i < 300; i++) {
		char name[64];

		snprintf(name, sizeof(name), "t/%s%d", i % 3 ? "a/" : i % 2 ? "a/b/" : "", i);
		put(name, "abc");
	}
	cr_assert_eq(symlinkat("a/1", fixture_fd, "t/link"), 0);
	cr_assert_eq(ews_file_remove_tree_told(fixture_fd, "t", &removed), 0);
	cr_assert_not(is_there("t"));
	cr_assert_eq(removed.bytes, 900);
	cr_assert_eq(removed.done, 301);
	cr_assert_leq(shown, 301);
}

/* That is more than several threads take away. */
Test(file, a_removal_tells_of_what_lies_deep_as_well)
{
	struct ews_file_removed removed = { .show = note_done, .payload = &(size_t){ 0 } };
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	ews_buf_adds(&path, "t");
	for (int i = 0; i < 300; i++)
		ews_buf_adds(&path, "/d");
	cr_assert_eq(ews_dir_make(fixture_fd, path.ptr, 0755), 0);
	ews_buf_adds(&path, "/f");
	put(path.ptr, "abc");
	put("t/g", "abcd");
	cr_assert_eq(ews_file_remove_tree_told(fixture_fd, "t", &removed), 0);
	cr_assert_not(is_there("t"));
	cr_assert_eq(removed.bytes, 7);
	cr_assert_eq(removed.done, 2);
}

Test(file, a_tree_of_three_thousand_levels_goes_with_few_descriptors)
{
	const struct rlimit few = { 16, 16 };
	int fd = dup(fixture_fd), next, i;

	for (i = 0; i < 3000; i++) {
		cr_assert_eq(mkdirat(fd, "d", 0755), 0);
		cr_assert_eq(mkdirat(fd, "e", 0755), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	close(fd);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "d"), 0, "%s", ews_error_message());
	cr_assert_not(is_there("d"));
}

Test(file, closed_directories_that_we_own_are_opened_to_be_removed)
{
	if (!geteuid()) {
		cr_assert_eq(fchmod(fixture_fd, 0777), 0);
		cr_assert_eq(seteuid(65534), 0);
	}
	cr_assert_eq(ews_dir_make(fixture_fd, "t/a/b", 0755), 0);
	cr_assert_eq(mkdirat(fixture_fd, "t/none", 0), 0);
	cr_assert_eq(fchmodat(fixture_fd, "t/a/b", 0444, 0), 0);
	cr_assert_eq(fchmodat(fixture_fd, "t/a", 0555, 0), 0);
	cr_assert_eq(fchmodat(fixture_fd, "t", 0, 0), 0);
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "t"), 0, "%s", ews_error_message());
	cr_assert_not(is_there("t"));
	(void)seteuid(0); /* for the end of the test, where it may */
}

Test(file, renaming_never_replaces)
{
	put("a", "a");
	put("b", "b");
	cr_assert_eq(ews_file_rename_new(fixture_fd, "a", fixture_fd, "b"), EWS_EEXISTS);
	expect_text("b", "b");
	cr_assert_eq(ews_file_rename_new(fixture_fd, "a", fixture_fd, "c"), 0);
	expect_text("c", "a");
	cr_assert_eq(ews_file_rename_new(fixture_fd, "a", fixture_fd, "d"), EWS_ENOTFOUND);
}

Test(file, what_was_made_since_a_half_moved_directory_takes_no_place_of_another_kind)
{
	cr_assert_eq(ews_dir_make(fixture_fd, "d/.ews-half-moved/a", 0755), 0);
	cr_assert_eq(ews_dir_make(fixture_fd, "d/b", 0755), 0);
	put("d/.ews-half-moved/a/x", "older");
	put("d/.ews-half-moved/b", "older");
	put("d/.ews-half-moved/c", "older");
	put("d/a", "newer");
	put("d/a.ews-older-1", "taken");
	put("d/b/y", "newer");
	cr_assert_eq(ews_file_settle(fixture_fd, "d"), 0, "%s", ews_error_message());
	expect_text("d/a", "newer");
	expect_text("d/a.ews-older-1", "taken");
	expect_text("d/a.ews-older-2/x", "older");
	expect_text("d/b/y", "newer");
	expect_text("d/b.ews-older-1", "older");
	expect_text("d/c", "older");
	cr_assert_not(is_there("d/.ews-half-moved"));
}

/* Let nobody change or remove the file, or everybody again. False where that can't be. */
static bool set_immutable(const char *path, bool is_wanted)
{
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	long flags = 0;

	cr_assert_geq(fd, 0);
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return false;
	flags = is_wanted ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

Test(file, what_may_not_be_removed_is_named)
{
	fixture_shell("mkdir -p t/d/e && touch t/d/e/f t/d/g");
	if (!set_immutable("t/d/e/f", true))
		cr_skip("only root, and not on every file system, can make a file immutable");
	cr_expect_lt(ews_file_remove_tree(fixture_fd, "t"), 0);
	cr_expect(set_immutable("t/d/e/f", false));
	cr_assert(strstr(ews_error_message(), "'t/d/e/f'"), "%s", ews_error_message());
	ews_error_clear();
	cr_assert_eq(ews_file_remove_tree(fixture_fd, "t"), 0, "%s", ews_error_message());
}
