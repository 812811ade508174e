/*
 * Extended attributes are read and written in one text form.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/xattr.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

static char root[] = "/tmp/ews-xattr-XXXXXX";
static int root_fd = -1;

static void set_up(void)
{
	int fd;

	cr_assert(mkdtemp(root));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(root_fd, 0);
	fd = openat(root_fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0);
	close(fd);
}

static void tear_down(void)
{
	close(root_fd);
	cr_expect_eq(ews_file_remove_tree(AT_FDCWD, root), 0);
}

TestSuite(xattr, .init = set_up, .fini = tear_down);

static void skip_without_attributes(void)
{
	int fd = openat(root_fd, "f", O_RDWR | O_CLOEXEC);
	int rc = fsetxattr(fd, "user.probe", "", 0, 0);

	if (!rc)
		fremovexattr(fd, "user.probe");
	close(fd);
	if (rc)
		cr_skip_test("no user attributes on this file system");
}

static void write_attrs(const char *name, const char *want)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;

	cr_assert_eq(ews_xattr_write_at(root_fd, name, want, &lost), 0, "%s", ews_error_message());
	cr_assert_eq(lost.n, 0);
}

static void assert_attrs(const char *name, const char *want)
{
	EWS_CLEANUP(buf) struct ews_buf now = EWS_BUF_INIT;

	cr_assert_eq(ews_xattr_read_at(&now, root_fd, name), 0, "%s", ews_error_message());
	cr_assert_str_eq(now.ptr, want);
}

Test(xattr, a_plain_file_has_none)
{
	assert_attrs("f", "");
	write_attrs("f", NULL);
	assert_attrs("f", "");
}

Test(xattr, what_was_written_is_read_sorted_and_escaped)
{
	skip_without_attributes();
	write_attrs("f", "user.a=00ff\nuser.b\\012=c=\nuser.z=7a\n");
	assert_attrs("f", "user.a=00ff\nuser.b\\012=c=\nuser.z=7a\n");
}

Test(xattr, names_come_in_their_order_not_in_the_file_systems)
{
	char path[64];

	skip_without_attributes();
	snprintf(path, sizeof(path), "%s/f", root);
	cr_assert_eq(setxattr(path, "user.zz", "1", 1, 0), 0);
	cr_assert_eq(setxattr(path, "user.m=n", "\n", 1, 0), 0);
	cr_assert_eq(setxattr(path, "user.aa", "", 0, 0), 0);
	assert_attrs("f", "user.aa=\nuser.m=n=0a\nuser.zz=31\n");
}

Test(xattr, writing_removes_what_is_not_wanted_and_changes_the_rest)
{
	skip_without_attributes();
	write_attrs("f", "user.a=01\nuser.b=02\nuser.c=03\n");
	write_attrs("f", "user.b=02\nuser.c=04\nuser.d=05\n");
	assert_attrs("f", "user.b=02\nuser.c=04\nuser.d=05\n");
	write_attrs("f", NULL);
	assert_attrs("f", "");
}

Test(xattr, an_empty_name_is_the_descriptor_itself_even_an_o_path_one)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf now = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;

	skip_without_attributes();
	fd = openat(root_fd, "f", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	cr_assert_eq(ews_xattr_write_at(fd, "", "user.a=01\n", &lost), 0);
	cr_assert_eq(ews_xattr_read(&now, fd), 0);
	cr_assert_str_eq(now.ptr, "user.a=01\n");
}

Test(xattr, a_link_is_not_followed)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;

	skip_without_attributes();
	write_attrs("f", "user.a=01\n");
	cr_assert_eq(symlinkat("f", root_fd, "l"), 0);
	assert_attrs("l", "");
	cr_assert_eq(ews_xattr_write_at(root_fd, "l", "user.b=02\n", &lost), 0);
	assert_attrs("f", "user.a=01\n");
	/* The kernel allows no user attribute on a link: lost, and named. */
	cr_assert_eq(lost.n, 1);
	cr_assert_str_eq(lost.items[0], "user.b");
}

Test(xattr, a_fifo_is_never_opened)
{
	cr_assert_eq(mkfifoat(root_fd, "p", 0600), 0);
	assert_attrs("p", "");
	write_attrs("p", NULL);
}

Test(xattr, attributes_of_a_namespace_that_is_not_there_are_named_as_lost)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;

	skip_without_attributes();
	cr_assert_eq(ews_xattr_write_at(root_fd, "f", "nowhere.x=01\nuser.a=02\n", &lost), 0);
	cr_assert_eq(lost.n, 1);
	cr_assert_str_eq(lost.items[0], "nowhere.x");
	assert_attrs("f", "user.a=02\n");
}

Test(xattr, a_damaged_record_is_an_error)
{
	static const char *const damaged[] = { "user.a", "user.a=0\n", "user.a=zz\n", "user.a\n", "user.\\9=00\n" };
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		cr_expect_eq(ews_xattr_write_at(root_fd, "f", damaged[i], &lost), EWS_EDAMAGED, "%s", damaged[i]);
	assert_attrs("f", "");
}
