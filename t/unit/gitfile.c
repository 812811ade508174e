/*
 * Gitfiles: what they name, to the byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitfile.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

TestSuite(gitfile, .init = fixture_begin, .fini = fixture_end);

static void put(const char *text)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");

	fixture_write(fd, EWS_GITFILE, text, strlen(text));
}

static void assert_names(const char *text, const char *named)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");
	EWS_CLEANUP(free) char *is = NULL;

	put(text);
	cr_assert_eq(ews_gitfile_read(&is, fd, EWS_GITFILE), 0, "%s", ews_error_message());
	cr_assert_str_eq(is, named);
}

Test(gitfile, the_end_of_its_line_is_no_part_of_a_path_and_all_else_is)
{
	assert_names("gitdir: /a", "/a");
	assert_names("gitdir: ../a\n", "../a");
	assert_names("gitdir: /a\r\n", "/a");
	assert_names("gitdir: /a \n", "/a ");
	assert_names("gitdir:  a\t\n\n", " a\t");
	assert_names("gitdir: /a\nb\n", "/a\nb");
}

Test(gitfile, another_file_names_nothing)
{
	static const char *const texts[] = { "", "\n", "gitdir:/a\n", "ref: refs/heads/a\n", " gitdir: /a\n" };
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), EWS_GITFILE);
	EWS_CLEANUP(free) char *is = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		put(texts[i]);
		cr_assert_eq(ews_gitfile_read(&is, fd, EWS_GITFILE), EWS_EGIT, "%s", texts[i]);
		ews_error_clear();
		cr_assert_null(ews_gitfile_follow(path));
	}
	cr_assert_eq(ews_gitfile_read(&is, fd, "none"), EWS_ENOTFOUND);
}

Test(gitfile, a_relative_path_is_seen_from_where_the_file_is)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), EWS_GITFILE);
	EWS_CLEANUP(free) char *want = ews_path_join(fixture_top(), "d ");
	EWS_CLEANUP(free) char *none = NULL;
	EWS_CLEANUP(free) char *is = NULL;

	cr_assert_eq(mkdir(want, 0700), 0);
	put("gitdir: d \n");
	is = ews_gitfile_follow(path);
	cr_assert_str_eq(is, want);
	put("gitdir: e\n");
	none = ews_gitfile_follow(path);
	cr_assert_null(none);
}

static char *go_back(const char *text)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");

	fixture_write(fd, "gitdir", text, strlen(text));
	return ews_gitfile_back(fixture_top());
}

Test(gitfile, a_linked_worktree_is_found_again_by_what_its_git_directory_says)
{
	EWS_CLEANUP(free) char *none = ews_gitfile_back(fixture_top());
	EWS_CLEANUP(free) char *whole = go_back("/no/such/tree/.git\n");
	EWS_CLEANUP(free) char *relative = go_back("tree of mine/.git");
	EWS_CLEANUP(free) char *want = ews_path_join(fixture_top(), "tree of mine/.git");
	EWS_CLEANUP(free) char *empty = go_back("\n");

	cr_assert_null(none);
	cr_assert_str_eq(whole, "/no/such/tree/.git");
	cr_assert_str_eq(relative, want);
	cr_assert_null(empty);
}

Test(gitfile, a_directory_without_what_makes_a_git_directory_is_hollow)
{
	static const char *const parts[] = { "objects", "refs" };
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");

	cr_assert_not(ews_gitfile_is_hollow(fd));
	fixture_shell("mkdir .git");
	cr_assert(ews_gitfile_is_hollow(fd));
	fixture_shell("rmdir .git && git init -q .");
	cr_assert_not(ews_gitfile_is_hollow(fd));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		fixture_shell("mv .git/%s away", parts[i]);
		cr_assert(ews_gitfile_is_hollow(fd), "%s", parts[i]);
		fixture_shell("echo ../.. >.git/commondir");
		cr_assert_not(ews_gitfile_is_hollow(fd));
		fixture_shell("rm .git/commondir && mv away .git/%s", parts[i]);
	}
	fixture_shell("mv .git/HEAD away");
	cr_assert(ews_gitfile_is_hollow(fd));
	fixture_shell("mv .git kept && ln -s kept .git");
	cr_assert_not(ews_gitfile_is_hollow(fd));
	fixture_shell("rm .git && ln -s nowhere .git");
	cr_assert(ews_gitfile_is_hollow(fd));
	fixture_shell("rm .git && ln -s .git .git");
	cr_assert(ews_gitfile_is_hollow(fd));
	fixture_shell("rm .git && echo gitdir: nowhere >.git");
	cr_assert_not(ews_gitfile_is_hollow(fd));
	fixture_shell("rm .git && echo 'gitdir: ' >.git");
	cr_assert(ews_gitfile_is_hollow(fd));
	fixture_shell("rm .git && echo junk >.git");
	cr_assert(ews_gitfile_is_hollow(fd));
}

Test(gitfile, a_directory_whose_head_names_nothing_is_hollow)
{
	static const char *const names[] = { "ref: refs/heads/x", "ref:refs/x",
					     "0123456789abcdef0123456789ABCDEF01234567 and more" };
	static const char *const junk[] = { "", "junk", "ref: x", "0123456789abcdef" };
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");

	fixture_shell("git init -q .");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		fixture_write(fd, ".git/HEAD", names[i], strlen(names[i]));
		cr_assert_not(ews_gitfile_is_hollow(fd), "%s", names[i]);
	}
	for (size_t i = 0; i < sizeof(junk) / sizeof(*junk); i++) {
		fixture_write(fd, ".git/HEAD", junk[i], strlen(junk[i]));
		cr_assert(ews_gitfile_is_hollow(fd), "%s", junk[i]);
	}
	fixture_shell("rm .git/HEAD && mkdir .git/HEAD");
	cr_assert(ews_gitfile_is_hollow(fd));
	fixture_shell("rmdir .git/HEAD && ln -s refs/heads/x .git/HEAD");
	cr_assert_not(ews_gitfile_is_hollow(fd));
}
