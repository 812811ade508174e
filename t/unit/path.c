/*
 * Paths are judged by their text alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/path.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/path_line.h"

static void expect_absolute(const char *base, const char *path, const char *want)
{
	EWS_CLEANUP(free) char *got = ews_path_absolute(base, path);

	cr_expect_str_eq(got, want, "%s from %s: %s, not %s", path, base, got, want);
}

static void expect_join(const char *dir, const char *name, const char *want)
{
	EWS_CLEANUP(free) char *got = ews_path_join(dir, name);

	cr_expect_str_eq(got, want);
}

static void expect_dir(const char *path, const char *want)
{
	EWS_CLEANUP(free) char *got = ews_path_dir(path);

	cr_expect_str_eq(got, want);
}

Test(path, dots_and_double_slashes_go)
{
	expect_absolute("/a/b", "c", "/a/b/c");
	expect_absolute("/a/b", "../c/./d//", "/a/c/d");
	expect_absolute("/a/b", "/x/../y", "/y");
	expect_absolute("/a", "../../../..", "/");
	expect_absolute("/", "", "/");
	expect_absolute("/a", "...", "/a/...");
}

Test(path, joining_puts_one_slash_between)
{
	expect_join("a", "b", "a/b");
	expect_join("a/", "b", "a/b");
	expect_join("/", "b", "/b");
	expect_join("", "b", "b");
}

Test(path, a_path_falls_into_directory_and_base)
{
	expect_dir("a/b/c", "a/b");
	expect_dir("a", "");
	expect_dir("/x", "/");
	cr_assert_str_eq(ews_path_base("a/b"), "b");
	cr_assert_str_eq(ews_path_base("b"), "b");
	cr_assert_str_eq(ews_path_base("/"), "");
}

Test(path, a_sibling_with_the_same_prefix_is_outside)
{
	cr_assert(ews_path_is_inside("/srv/a", "/srv/a"));
	cr_assert(ews_path_is_inside("/srv/a/b", "/srv/a"));
	cr_assert_not(ews_path_is_inside("/srv/ab", "/srv/a"));
	cr_assert_not(ews_path_is_inside("/srv", "/srv/a"));
	cr_assert(ews_path_is_inside("/srv", "/"));
	cr_assert(ews_path_is_inside("a", ""));
}

Test(path, a_path_touches_what_is_above_it_and_what_is_beneath)
{
	const char *const roots[] = { "a/b", "c", NULL }, *const none[] = { NULL };

	cr_assert(ews_path_touches_any("a/b/x", roots));
	cr_assert(ews_path_touches_any("a", roots));
	cr_assert(ews_path_touches_any("c", roots));
	cr_assert_not(ews_path_touches_any("a/bc", roots));
	cr_assert_not(ews_path_touches_any("cd", roots));
	cr_assert_not(ews_path_touches_any("a", none));
	cr_assert(ews_path_touches_any("a", NULL));
}

Test(path, only_plain_components_are_plain)
{
	static const char *const odd[] = { "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b" };
	size_t i;

	cr_assert(ews_path_is_plain("a"));
	cr_assert(ews_path_is_plain("a/.b/..c/d..."));
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		cr_expect_not(ews_path_is_plain(odd[i]), "'%s' is not plain", odd[i]);
}

Test(path, what_a_directory_holds_stands_right_behind_it)
{
	static const char *const order[] = { "a",   "a/b", "a/b/c", "a/b\001", "a\001",
					     "a-b", "a.c", "ab",    "b",       "\xff" };
	size_t i, j, n = sizeof(order) / sizeof(*order);

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			cr_expect_eq((ews_path_cmp(order[i], order[j]) > 0) - (ews_path_cmp(order[i], order[j]) < 0),
				     (i > j) - (i < j), "'%s' and '%s'", order[i], order[j]);
			cr_expect_eq(ews_path_cmp_alike(order[i], order[j]), ews_path_cmp(order[i], order[j]));
		}
}

Test(path, every_path_survives_escaping_in_one_line)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf back = EWS_BUF_INIT;
	char path[256];
	int i;

	for (i = 1; i < 256; i++)
		path[i - 1] = (char)i;
	path[255] = '\0';
	ews_path_escape(&line, path, 255);
	cr_assert_null(strpbrk(line.ptr, "\n\t\r\x7f\x01"));
	cr_assert_eq(ews_path_unescape(&back, line.ptr, line.len), 0);
	cr_assert_str_eq(back.ptr, path);
}

Test(path, a_bad_escape_is_damage_and_adds_nothing)
{
	static const char *const bad[] = { "a\\", "\\1", "\\12", "\\400", "\\189", "\\000", "\\n" };
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	size_t i;

	ews_buf_adds(&out, "kept");
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cr_expect_eq(ews_path_unescape(&out, bad[i], strlen(bad[i])), EWS_EDAMAGED, "'%s'", bad[i]);
		cr_expect_str_eq(out.ptr, "kept");
	}
	cr_assert_eq(ews_path_unescape(&out, "a\0b", 3), EWS_EDAMAGED);
	cr_assert_eq(ews_path_unescape(&out, "\\0123", 3), EWS_EDAMAGED); /* the rest is not ours */
}

Test(path, quotes_come_only_where_they_must)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	ews_path_quote(&out, "a b\xc3\xa4'");
	cr_assert_str_eq(out.ptr, "a b\xc3\xa4'");
	ews_buf_truncate(&out, 0);
	ews_path_quote(&out, "a\n\"\\\x01\x7f\xff");
	cr_assert_str_eq(out.ptr, "\"a\\n\\\"\\\\\\001\\177\\377\"");
}

Test(path, quotes_keep_from_the_terminal_what_it_would_obey)
{
	/* C1 controls, marks of direction, no UTF-8; behind each what stands next to it and stays. */
	static const char *const obeyed[] = { "\xc2\x80",     "\xc2\x9b",     "\xc2\x9f",     "\xd8\x9c",
					      "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xae",
					      "\xe2\x81\xa6", "\xe2\x81\xa9", "\x9b",         "\xc3" };
	static const char *const shown[] = { "\xc2\xa0",     "\xd8\x9b",     "\xd8\x9d",     "\xe2\x80\x8d",
					     "\xe2\x80\x90", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\xa5",
					     "\xe2\x81\xaa", "\xe6\xbc\xa2" };

	for (size_t i = 0; i < sizeof(obeyed) / sizeof(*obeyed); i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf want = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

		ews_buf_addf(&path, "\xc3\xa4%sx", obeyed[i]);
		ews_buf_adds(&want, "\"\xc3\xa4");
		for (const char *p = obeyed[i]; *p; p++)
			ews_buf_addf(&want, "\\%03o", (unsigned char)*p);
		ews_buf_adds(&want, "x\"");
		ews_path_quote(&out, path.ptr);
		cr_assert_str_eq(out.ptr, want.ptr);
	}
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

		ews_path_quote(&out, shown[i]);
		cr_assert_str_eq(out.ptr, shown[i]);
	}
}

static void expect_split(const char *line, const char *path, const char *words)
{
	EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;

	cr_expect_str_eq(ews_path_line_split(&got, line), words);
	cr_expect_str_eq(got.ptr, path);
	cr_expect_str_eq(ews_path_line_words(line), words);
}

Test(path, a_line_is_about_one_path_whatever_is_in_it)
{
	EWS_CLEANUP(strv) struct ews_strv list = EWS_STRV_INIT;

	ews_path_line_add(&list, "a\tb", "is missing");
	ews_path_line_addf(&list, "c d", "%d of them", 3);
	cr_assert_str_eq(list.items[0], "a\\011b\tis missing");
	cr_assert_str_eq(list.items[1], "c d\t3 of them");
	cr_assert(ews_path_line_has(&list, "a\tb"));
	cr_assert(ews_path_line_has(&list, "c d"));
	cr_assert_not(ews_path_line_has(&list, "a"));
	cr_assert_not(ews_path_line_has(&list, "c"));
	expect_split(list.items[0], "a\tb", "is missing");
	expect_split(list.items[1], "c d", "3 of them");
	expect_split("no\\9 escape", "no\\9 escape", "");
}
