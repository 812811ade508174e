/*
 * Includes: in and out again, to the byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/include.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "fixture.h"

TestSuite(include, .init = fixture_begin, .fini = fixture_end);

static void put(const char *text)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");

	fixture_write(fd, "c", text, strlen(text));
}

static void assert_holds(const char *text)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), "c");
	EWS_CLEANUP(buf) struct ews_buf is = EWS_BUF_INIT;

	cr_assert_eq(ews_file_read(&is, AT_FDCWD, path, EWS_MIB), 0);
	cr_assert_str_eq(is.ptr, text);
}

static void in_and_out(const char *text, const char *git_dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), "c");

	put(text);
	cr_assert_not(ews_include_has(path, "of/ours"));
	cr_assert_eq(ews_include_add(path, "of/ours", git_dir), 1, "%s", ews_error_message());
	cr_assert(ews_include_has(path, "of/ours"));
	cr_assert_eq(ews_include_add(path, "of/ours", git_dir), 0);
	cr_assert_eq(ews_include_remove(path, "of/ours"), 1);
	cr_assert_eq(ews_include_remove(path, "of/ours"), 0);
	assert_holds(text);
}

Test(include, they_leave_without_a_trace)
{
	static const char *const texts[] = { "",
					     "\n",
					     "[a]\n\tb = c\n",
					     "[a]\n\tb = c",
					     "[a]\n\tb = c\r\n",
					     "[include]\n\tpath = x\n",
					     "# [include]",
					     "[a]\n\tb = c\\\n",
					     "[a]\n\tb = c\\\r\n",
					     "[a]\n\tb = c\\",
					     "[a]\n\tb = c\\\n\n",
					     "[a] b" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		in_and_out(texts[i], NULL);
		in_and_out(texts[i], "/a \"b\"/[c]*?\\d");
	}
}

Test(include, git_reads_them_in_that_directory_alone)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), "a [\"x\"] \\*/.git/config");
	EWS_CLEANUP(free) char *git_dir = ews_path_dir(path);

	fixture_shell("git init -q 'a [\"x\"] \\*' && git -C a* commit -q --allow-empty -m 1 && "
		      "git -C a* worktree add -q ../w && (cd a* && echo '[t] v = yes' >.git/more)");
	cr_assert_eq(ews_include_add(path, "more", git_dir), 1, "%s", ews_error_message());
	fixture_shell("test $(git -C a* config t.v) = yes && test $(git -C w config t.v) = yes && mv a* b &&"
		      "! git -C b config t.v");
}

Test(include, a_value_that_goes_on_at_the_end_is_the_same_with_them)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), "c");

	for (size_t i = 0; i < 2; i++) {
		put(i ? "[a]\n\tb = c\\" : "[a]\n\tb = c\\\n");
		fixture_shell("echo '[t] v = yes' >ours");
		cr_assert_eq(ews_include_add(path, "ours", NULL), 1);
		fixture_shell(
			"test \"$(git config --file c --includes -l)\" = \"$(printf 'a.b=c\\ninclude.path=ours\\nt.v=yes')\"");
	}
}

Test(include, a_relative_one_is_named_whole_and_known_however_it_is_named)
{
	static const char *const others[] = { "of/ours", "../../of/ours", "/elsewhere/of/ours" };
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), "c");

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		put("[a]\n");
		cr_assert_eq(ews_include_add(path, others[i], NULL), 1);
		cr_assert_eq(ews_include_add(path, "of/ours", "/here"), 1);
		fixture_shell("test $(grep -c of/ours c) = 2 && test $(grep -c '\"/here/of/ours\"' c) = 2");
		cr_assert_eq(ews_include_remove(path, "of/ours"), 1);
		assert_holds("[a]\n");
	}
	cr_assert_eq(ews_include_add(path, "/other/of/ours", NULL), 1);
	cr_assert_not(ews_include_has(path, "/of/ours"));
	cr_assert_not(ews_include_has(path, "f/ours"));
}

Test(include, what_others_wrote_since_stays)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), "c");

	put("[a]\n");
	cr_assert_eq(ews_include_add(path, "of/ours", NULL), 1);
	fixture_shell("git config --file c --add include.path more && git config --file c d.e f");
	cr_assert_eq(ews_include_remove(path, "of/ours"), 1);
	assert_holds("[a]\n[include]\n\tpath = more\n[d]\n\te = f\n");
}

Test(include, a_lock_of_gits_is_respected)
{
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), "c");

	put("[a]\n");
	fixture_shell(">c.lock");
	cr_assert_eq(ews_include_add(path, "of/ours", NULL), EWS_EBUSY);
	assert_holds("[a]\n");
	fixture_shell("rm c.lock && chmod 640 c");
	cr_assert_eq(ews_include_add(path, "of/ours", NULL), 1);
	fixture_shell("test $(stat -c %%a c) = 640 && test ! -e c.lock");
}
