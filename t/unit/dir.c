/*
 * Directories are reached beneath a descriptor, never through a link, however long the path.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/dir.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

TestSuite(dir, .init = fixture_begin_dir, .fini = fixture_end_dir);

/* A path of `depth` components of fifty bytes each. */
static void long_path(struct ews_buf *out, int depth)
{
	int i;

	for (i = 0; i < depth; i++)
		ews_buf_addf(out, "%s%050d", i ? "/" : "", i);
}

/* Make a file or open it, and close it again. */
static int touch(const char *rel)
{
	int fd = ews_dir_open_file(fixture_fd, rel, O_WRONLY | O_CREAT, 0644);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

Test(dir, a_link_is_read_whole_whatever_its_length)
{
	EWS_CLEANUP(buf) struct ews_buf target = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_buf_add(&text, "before:", 7);
	for (int len = 1; len <= 1024; len *= 2) {
		while (target.len < (size_t)len)
			ews_buf_addc(&target, 'x');
		cr_assert_eq(symlinkat(target.ptr, fixture_fd, "link"), 0);
		text.len = 7;
		cr_assert_eq(ews_dir_read_link(&text, fixture_fd, "link"), 0);
		cr_assert_str_eq(text.ptr + 7, target.ptr);
		cr_assert_eq(text.len, 7 + target.len);
		cr_assert_eq(unlinkat(fixture_fd, "link", 0), 0);
	}
	cr_assert_eq(touch("file"), 0);
	cr_assert_lt(ews_dir_read_link(&text, fixture_fd, "file"), 0);
	cr_assert_eq(errno, EINVAL);
}

Test(dir, a_path_longer_than_path_max_is_made_opened_and_listed)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(fd) int parent_fd = -1;
	struct ews_arena arena = EWS_ARENA_INIT;
	struct ews_dirent *items;
	const char *name;

	long_path(&path, 120);
	cr_assert_gt(path.len, PATH_MAX);
	cr_assert_eq(ews_dir_make(fixture_fd, path.ptr, 0755), 0, "%s", ews_error_message());
	cr_assert_eq(ews_dir_make(fixture_fd, path.ptr, 0755), 0);
	fd = ews_dir_open_beneath(fixture_fd, path.ptr);
	cr_assert_geq(fd, 0, "%s", ews_error_message());
	ews_buf_adds(&path, "/file");
	cr_assert_eq(touch(path.ptr), 0);
	cr_assert_eq(ews_dir_list(&items, fd, &arena), 1);
	cr_assert_str_eq(items[0].name, "file");
	free(items);
	ews_arena_release(&arena);
	parent_fd = ews_dir_open_parent(fixture_fd, path.ptr, &name);
	cr_assert_geq(parent_fd, 0);
	cr_assert_str_eq(name, "file");
	cr_assert_eq(unlinkat(parent_fd, name, 0), 0);
}

Test(dir, a_long_absolute_path_is_opened_through_links)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;

	cr_assert_eq(mkdirat(fixture_fd, "real", 0755), 0);
	cr_assert_eq(symlinkat("real", fixture_fd, "link"), 0);
	ews_buf_adds(&path, "real/");
	long_path(&path, 120);
	cr_assert_eq(ews_dir_make(fixture_fd, path.ptr, 0755), 0);
	ews_buf_truncate(&path, 0);
	ews_buf_addf(&path, "%s/link/", fixture_top());
	long_path(&path, 120);
	fd = ews_dir_open(path.ptr);
	cr_assert_geq(fd, 0, "%s", ews_error_message());
}

/* `rel`, seen from the fixture's top, is `want` below "real", which one may call "by-link"; NULL: it is outside. */
static void expect_below(const char *rel, const char *want)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), rel);
	EWS_CLEANUP(free) char *root = ews_path_join(fixture_top(), "by-link");
	EWS_CLEANUP(free) char *plain = ews_path_join(fixture_top(), "real");
	EWS_CLEANUP(free) char *real = realpath(plain, NULL);
	const char *got = ews_dir_find_below(path, root, real);

	cr_expect(want ? got && !strcmp(got, want) : !got, "%s: %s", rel, got ? got : "outside");
}

Test(dir, a_path_is_below_by_its_text_or_where_links_lead_there)
{
	cr_assert_eq(ews_dir_make(fixture_fd, "real/sub", 0755), 0);
	cr_assert_eq(symlinkat("real", fixture_fd, "by-link"), 0);
	cr_assert_eq(symlinkat("by-link", fixture_fd, "other"), 0);
	cr_assert_eq(symlinkat(".", fixture_fd, "here"), 0);
	cr_assert_eq(symlinkat("real/sub", fixture_fd, "deep"), 0);
	cr_assert_eq(symlinkat("..", fixture_fd, "real/up"), 0);
	cr_assert_eq(symlinkat("../..", fixture_fd, "real/sub/up"), 0);
	expect_below("by-link", "");
	expect_below("by-link/a", "a");
	expect_below("real/a/b", "a/b");
	expect_below("other", "");
	expect_below("other/none/b", "none/b");
	expect_below("here/here/other/a", "a");
	expect_below("other/up/real/a", "up/real/a");
	expect_below("real2", NULL);
	expect_below("none/real", NULL);
	expect_below("deep", NULL);
	expect_below("deep/up/real/a", NULL);
}

/* Run the same questions on a short path, for the kernel, and on a long one, for the steps. */
static void refuse_links(const char *above)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	const char *name;
	size_t len;
	int fd;

	cr_assert_eq(ews_dir_make(fixture_fd, above, 0755), 0);
	fd = ews_dir_open_beneath(fixture_fd, above);
	cr_assert_eq(symlinkat("/etc", fd, "link"), 0);
	cr_assert_eq(symlinkat("/etc/passwd", fd, "file"), 0);
	close(fd);
	ews_buf_addf(&path, "%s/", above);
	len = path.len;

	ews_buf_adds(&path, "link");
	cr_expect_lt(ews_dir_open_beneath(fixture_fd, path.ptr), 0);
	cr_expect_eq(errno, ELOOP, "%s", strerror(errno));
	cr_expect_lt(ews_dir_make(fixture_fd, path.ptr, 0755), 0);
	ews_buf_adds(&path, "/passwd");
	cr_expect_lt(ews_dir_open_file(fixture_fd, path.ptr, O_RDONLY, 0), 0);
	cr_expect_eq(errno, ELOOP);
	cr_expect_lt(ews_dir_open_parent(fixture_fd, path.ptr, &name), 0);
	ews_buf_truncate(&path, len);
	ews_buf_adds(&path, "file");
	cr_expect_lt(ews_dir_open_file(fixture_fd, path.ptr, O_RDONLY, 0), 0);
	cr_expect_eq(errno, ELOOP);
	ews_buf_truncate(&path, len);
	ews_buf_adds(&path, "../x");
	cr_expect_eq(ews_dir_open_beneath(fixture_fd, path.ptr) >= 0, false);
	ews_buf_truncate(&path, len);
	ews_buf_adds(&path, "gone/x");
	cr_expect_eq(ews_dir_open_beneath(fixture_fd, path.ptr), EWS_ENOTFOUND);
	cr_expect_eq(errno, ENOENT);
}

Test(dir, no_step_of_a_short_path_is_a_link)
{
	refuse_links("d");
}

Test(dir, no_step_of_a_long_path_is_a_link)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	long_path(&path, 120);
	refuse_links(path.ptr);
}

Test(dir, nothing_leads_out_of_the_root)
{
	const char *name;

	cr_assert_lt(ews_dir_open_beneath(fixture_fd, ".."), 0);
	cr_assert_lt(ews_dir_open_beneath(fixture_fd, "/"), 0);
	cr_assert_lt(ews_dir_open_parent(fixture_fd, "..", &name), 0);
	cr_assert_lt(ews_dir_open_parent(fixture_fd, "", &name), 0);
	cr_assert_lt(ews_dir_make(fixture_fd, "/tmp", 0755), 0);
	cr_assert_lt(ews_dir_make(fixture_fd, "a/../../b", 0755), 0);
}

Test(dir, the_empty_path_is_the_root_itself)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(fixture_fd, "");
	EWS_CLEANUP(fd) int parent_fd = -1;
	struct stat a, b;
	const char *name;

	parent_fd = ews_dir_open_parent(fixture_fd, "x", &name);
	cr_assert_eq(fstat(fd, &a), 0);
	cr_assert_eq(fstat(parent_fd, &b), 0);
	cr_assert_eq(a.st_ino, b.st_ino);
	cr_assert_neq(fd, fixture_fd);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

Test(dir, a_fifo_is_not_waited_for)
{
	EWS_CLEANUP(fd) int fd = -1;

	cr_assert_eq(mkfifoat(fixture_fd, "fifo", 0644), 0);
	fd = ews_dir_open_file(fixture_fd, "fifo", O_RDONLY, 0);
	cr_assert_geq(fd, 0);
}

Test(dir, a_closed_directory_says_so_in_errno)
{
	if (!geteuid()) {
		cr_assert_eq(fchmod(fixture_fd, 0777), 0);
		cr_assert_eq(seteuid(65534), 0);
	}
	cr_assert_eq(mkdirat(fixture_fd, "closed", 0), 0);
	cr_assert_eq(ews_dir_open_beneath(fixture_fd, "closed"), EWS_EIO);
	cr_assert_eq(errno, EACCES);
	(void)seteuid(0); /* for the end of the test, where it may */
}

static void expect_owner(const char *rel, uid_t uid, gid_t gid)
{
	struct stat st;

	cr_assert_eq(fstatat(fixture_fd, rel, &st, 0), 0);
	cr_expect_eq(st.st_uid, uid, "%s: %u", rel, (unsigned)st.st_uid);
	cr_expect_eq(st.st_gid, gid, "%s: %u", rel, (unsigned)st.st_gid);
}

Test(dir, what_root_makes_in_another_users_directory_is_his_where_that_is_wanted)
{
	if (geteuid() != 0)
		return;
	cr_assert_eq(fchmod(fixture_fd, 0711), 0);
	cr_assert_eq(mkdirat(fixture_fd, "his", 0755), 0);
	cr_assert_eq(mkdirat(fixture_fd, "his/closed", 0500), 0);
	cr_assert_eq(fchownat(fixture_fd, "his/closed", 65534, 12345, 0), 0);
	cr_assert_eq(fchownat(fixture_fd, "his", 65534, 12345, 0), 0);
	cr_assert_eq(ews_dir_make(fixture_fd, "his/ours", 0700), 0);
	expect_owner("his/ours", 0, 0);
	cr_assert_eq(ews_dir_make_as_owner(fixture_fd, "his/ours/a/b", 0700), 0);
	expect_owner("his/ours/a/b", 0, 0);
	cr_assert_eq(ews_dir_make_as_owner(fixture_fd, "his/a/b", 0700), 0, "%s", ews_error_message());
	cr_assert_eq(ews_dir_make_shared(fixture_fd, "his/a/c", EWS_SHARING_NONE), 0);
	expect_owner("his/a", 65534, 12345);
	expect_owner("his/a/b", 65534, 12345);
	expect_owner("his/a/c", 65534, 12345);
	/* Where he may not make it himself root still may. */
	cr_assert_eq(ews_dir_make_as_owner(fixture_fd, "his/closed/a", 0700), 0, "%s", ews_error_message());
	expect_owner("his/closed/a", 0, 0);
	cr_assert_eq(mkdirat(fixture_fd, "after", 0755), 0);
	expect_owner("after", 0, 0);
}

Test(dir, a_file_in_the_way_is_no_directory)
{
	cr_assert_eq(touch("f"), 0);
	cr_assert_lt(ews_dir_make(fixture_fd, "f/g", 0755), 0);
	cr_assert_eq(errno, ENOTDIR);
	cr_assert_lt(ews_dir_make(fixture_fd, "f", 0755), 0);
	cr_assert_eq(errno, ENOTDIR);
}

Test(dir, absolute_directories_are_made_through_links_and_odd_slashes)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	struct stat st;

	cr_assert_eq(mkdirat(fixture_fd, "real", 0755), 0);
	cr_assert_eq(symlinkat("real", fixture_fd, "link"), 0);
	ews_buf_addf(&path, "%s/link//a///b/c//", fixture_top());
	cr_assert_eq(ews_dir_make_absolute(path.ptr, 0700), 0, "%s", ews_error_message());
	cr_assert_eq(ews_dir_make_absolute(path.ptr, 0700), 0);
	cr_assert_eq(fstatat(fixture_fd, "real/a/b/c", &st, 0), 0);
	cr_assert_eq(touch("real/f"), 0);
	ews_buf_truncate(&path, 0);
	ews_buf_addf(&path, "%s/real/f", fixture_top());
	cr_assert_lt(ews_dir_make_absolute(path.ptr, 0700), 0);
	cr_assert_eq(errno, ENOTDIR);
	cr_assert_eq(ews_dir_make_absolute("/", 0700), 0);
}

Test(dir, a_listing_is_sorted_and_can_be_had_twice)
{
	struct ews_arena arena = EWS_ARENA_INIT;
	struct ews_dirent *items;
	char name[16];
	int i, round;

	for (i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		cr_assert_eq(touch(name), 0);
	}
	cr_assert_eq(mkdirat(fixture_fd, "sub", 0755), 0);
	for (round = 0; round < 2; round++) {
		cr_assert_eq(ews_dir_list(&items, fixture_fd, &arena), 2001);
		for (i = 1; i < 2001; i++)
			cr_assert_lt(strcmp(items[i - 1].name, items[i].name), 0);
		cr_assert_eq(items[2000].type, DT_DIR);
		free(items);
	}
	ews_arena_release(&arena);
}

/* Is `rel` led to as it is opened at once? */
static void assert_led(struct ews_dir_at *at, const char *rel)
{
	const char *name = NULL, *led_name = NULL;
	EWS_CLEANUP(fd) int fd = ews_dir_open_parent(fixture_fd, rel, &name);
	int led = ews_dir_at_parent(at, fixture_fd, rel, &led_name);
	struct stat st, led_st;

	cr_assert_eq(fd < 0 ? fd : 0, led < 0 ? led : 0, "%s", rel);
	if (fd < 0)
		return;
	cr_assert_eq(fstat(fd, &st) || fstat(led, &led_st), 0);
	cr_assert_eq(st.st_ino, led_st.st_ino, "%s", rel);
	cr_assert_eq(name, led_name);
}

Test(dir, whoever_goes_from_path_to_path_gets_to_the_same_directories)
{
	static const char *const paths[] = { "f",     "g",    "a/f",  "a/g",     "a/b/f",   "ab/f",   "a/f/x",
					     "a/b/.", "a/..", "../f", "/f",      "a//g",    "link/f", "a/b/",
					     "",      "no/f", ".",    "a/b/c/f", "a/link/f" };
	EWS_CLEANUP(dir_at) struct ews_dir_at at = EWS_DIR_AT_INIT;
	const size_t n = sizeof(paths) / sizeof(*paths);

	cr_assert_eq(ews_dir_make(fixture_fd, "a/b/c", 0700), 0);
	cr_assert_eq(ews_dir_make(fixture_fd, "ab", 0700), 0);
	cr_assert_eq(touch("a/f"), 0);
	cr_assert_eq(symlinkat("a", fixture_fd, "link"), 0);
	cr_assert_eq(symlinkat("b", fixture_fd, "a/link"), 0);
	/* Each after each other one. */
	for (size_t i = 0; i < n * n; i++) {
		assert_led(&at, paths[i / n]);
		assert_led(&at, paths[i % n]);
	}
}

/* The same question of a short path, for the kernel, and of a long one, for the steps. */
static void refuse_mounts(const char *above)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int above_fd = -1;
	EWS_CLEANUP(fd) int inside = -1;
	size_t len;

	cr_assert_eq(ews_dir_make(fixture_fd, above, 0755), 0);
	ews_buf_addf(&path, "%s/place/sub", above);
	cr_assert_eq(ews_dir_make(fixture_fd, path.ptr, 0755), 0);
	above_fd = ews_dir_open_beneath(fixture_fd, above);
	cr_assert_eq(mkdirat(above_fd, "theirs", 0755), 0);
	cr_assert_eq(mkdirat(above_fd, "theirs/sub", 0755), 0);
	/* One file system, as most bind mounts are. */
	cr_assert_eq(fchdir(above_fd), 0);
	cr_assert_eq(mount("theirs", "place", NULL, MS_BIND, NULL), 0, "%s", strerror(errno));
	ews_buf_truncate(&path, strlen(above));
	len = path.len;
	ews_buf_adds(&path, "/place");
	cr_expect_eq(ews_dir_open_within(fixture_fd, path.ptr, O_RDONLY | O_DIRECTORY, false), EWS_EDENIED);
	cr_expect_eq(errno, EXDEV, "%s", strerror(errno));
	cr_expect_eq(ews_dir_open_within(fixture_fd, path.ptr, O_PATH, false), EWS_EDENIED);
	inside = ews_dir_open_beneath(fixture_fd, path.ptr);
	cr_expect_geq(inside, 0, "what may lead there still does");
	ews_buf_adds(&path, "/sub");
	cr_expect_eq(ews_dir_open_within(fixture_fd, path.ptr, O_RDONLY | O_DIRECTORY, false), EWS_EDENIED);
	cr_expect_eq(errno, EXDEV);
	ews_buf_truncate(&path, len);
	ews_buf_adds(&path, "/theirs/sub");
	close(ews_steal_fd(&inside));
	inside = ews_dir_open_within(fixture_fd, path.ptr, O_RDONLY | O_DIRECTORY, false);
	cr_expect_geq(inside, 0, "%s", ews_error_message());
	ews_buf_truncate(&path, len);
	ews_buf_adds(&path, "/gone");
	cr_expect_eq(ews_dir_open_within(fixture_fd, path.ptr, O_PATH, false), EWS_ENOTFOUND);
	cr_assert_eq(umount2("place", MNT_DETACH), 0);
}

Test(dir, no_step_of_a_short_path_within_is_a_mount)
{
	fixture_fd = fixture_need_mounts(fixture_fd);
	refuse_mounts("above");
}

Test(dir, no_step_of_a_long_path_within_is_a_mount)
{
	EWS_CLEANUP(buf) struct ews_buf above = EWS_BUF_INIT;

	fixture_fd = fixture_need_mounts(fixture_fd);
	long_path(&above, 120);
	refuse_mounts(above.ptr);
}
