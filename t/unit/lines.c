/*
 * Lines are counted as `git diff --numstat` counts them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/lines.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"

#define PAIRS 300

TestSuite(lines, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

/* One of few lines, so that most occur often, or one that hardly any other is like. */
static void add_line(struct ews_buf *text, size_t n_distinct)
{
	static const char *const ends[] = { "\n", "\n", "\n", "\n", "\n", "\n", "\r\n" };

	if (fixture_pick(12) == 0)
		ews_buf_addf(text, "line %zu%s", fixture_pick(100000), FIXTURE_ONE_OF(ends));
	else if (fixture_pick(4) == 0)
		ews_buf_addc(text, '\n');
	else
		ews_buf_addf(text, "%zu%s", fixture_pick(n_distinct), FIXTURE_ONE_OF(ends));
}

static void make_text(struct ews_buf *out)
{
	static const size_t lengths[] = { 0, 1, 2, 5, 20, 100, 400, 2500 };
	static const size_t distinct[] = { 1, 2, 5, 30, 5000 };
	size_t n = fixture_pick(FIXTURE_ONE_OF(lengths) + 1), n_distinct = FIXTURE_ONE_OF(distinct);

	for (size_t i = 0; i < n; i++)
		add_line(out, n_distinct);
}

/* What becomes of a text: pieces of it go, come, and move. */
static void edit_text(struct ews_buf *out, const struct ews_buf *from)
{
	size_t often = 1 + fixture_pick(60);
	const char *end = from->ptr + from->len;

	for (const char *at = from->ptr, *newline; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			newline = end - 1;
		if (fixture_pick(often) == 0)
			for (size_t n = fixture_pick(fixture_pick(6) ? 4 : 80); n; n--)
				add_line(out, 5);
		if (fixture_pick(often) != 0)
			ews_buf_add(out, at, (size_t)(newline + 1 - at));
	}
	if (fixture_pick(3) == 0)
		add_line(out, 5);
}

static void cut_newline(struct ews_buf *text)
{
	if (text->len && fixture_pick(5) == 0)
		ews_buf_truncate(text, text->len - 1);
}

static void make_pair(struct ews_buf *from, struct ews_buf *to)
{
	make_text(from);
	if (fixture_pick(5))
		edit_text(to, from);
	else
		make_text(to);
	cut_newline(from);
	cut_newline(to);
}

static void check(const struct ews_buf *from, const struct ews_buf *to, const char *should, const char *what)
{
	EWS_CLEANUP(free) char *is = NULL;
	struct ews_lines lines;

	cr_assert_eq(ews_lines_count(&lines, from, to), 0, "%s", ews_error_message());
	is = lines.is_binary ? ews_strdup("-\t-\t")
			     : ews_strfmt("%zu\t%zu\t", (size_t)lines.added, (size_t)lines.deleted);
	cr_assert_str_eq(is, should, "EWS_SEED=%zu: %s", fixture_seed(), what);
}

/* What git says of `name`: "<added>\t<deleted>\t"; "0\t0\t" of what it does not name. The caller frees it. */
static char *said_of(const struct ews_buf *numstat, const char *name)
{
	EWS_CLEANUP(free) char *end = ews_strfmt("\t%s\n", name);
	const char *at = strstr(numstat->ptr, end), *start = at;

	if (!at)
		return ews_strdup("0\t0\t");
	while (start > numstat->ptr && start[-1] != '\n')
		start--;
	return ews_strndup(start, (size_t)(at + 1 - start));
}

static void write_all(struct ews_buf *texts)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir("p");

	for (size_t i = 0; i < PAIRS; i++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("f%zu", i);

		fixture_write(fd, name, texts[i].ptr, texts[i].len);
	}
	fixture_shell("cd p && git add -A && git commit -q --allow-empty -m x");
}

Test(lines, counts_are_those_of_git)
{
	for (size_t round = 0; round < fixture_rounds_if_fast(10); round++) {
		struct ews_buf from[PAIRS], to[PAIRS];
		EWS_CLEANUP(buf) struct ews_buf numstat = EWS_BUF_INIT;

		for (size_t i = 0; i < PAIRS; i++) {
			from[i] = to[i] = (struct ews_buf)EWS_BUF_INIT;
			make_pair(&from[i], &to[i]);
		}
		fixture_shell("rm -rf p && git init -q p");
		write_all(from);
		write_all(to);
		fixture_ask(&numstat, "cd p && git diff --numstat --no-renames HEAD^ HEAD");
		for (size_t i = 0; i < PAIRS; i++) {
			EWS_CLEANUP(free) char *name = ews_strfmt("f%zu", i);
			EWS_CLEANUP(free) char *should = said_of(&numstat, name);

			check(&from[i], &to[i], should, name);
			ews_buf_release(&from[i]);
			ews_buf_release(&to[i]);
		}
	}
}

static void check_texts(const char *from, const char *to, const char *should)
{
	EWS_CLEANUP(buf) struct ews_buf a = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf b = EWS_BUF_INIT;

	ews_buf_adds(&a, from);
	ews_buf_adds(&b, to);
	check(&a, &b, should, from);
}

Test(lines, what_both_have_at_either_end_counts_for_nothing)
{
	check_texts("", "", "0\t0\t");
	check_texts("", "a\nb", "2\t0\t");
	check_texts("a\nb\n", "", "0\t2\t");
	check_texts("a\nb\n", "a\nb\n", "0\t0\t");
	check_texts("a\nb\n", "a\nb\nc\n", "1\t0\t");
	check_texts("a\nb\n", "c\na\nb\n", "1\t0\t");
	check_texts("a\nb\nc\n", "a\nx\nc\n", "1\t1\t");
	check_texts("a\na\na\n", "a\na\n", "0\t1\t");
	check_texts("ab\n", "b\n", "1\t1\t");
	check_texts("ab\nc\n", "b\nc\n", "1\t1\t");
	check_texts("a\nb\nc\n", "x\nb\ny\nz\n", "3\t2\t");
	check_texts("b\n", "a\nb\nc\n", "2\t0\t");
}

Test(lines, a_line_without_its_newline_is_another_line)
{
	check_texts("a", "a\n", "1\t1\t");
	check_texts("a\nb", "a\nb\n", "1\t1\t");
	check_texts("a\n", "a\nb", "1\t0\t");
	check_texts("a", "a\nb", "2\t1\t");
	check_texts("b", "a\nb", "1\t0\t");
	check_texts("a\r\n", "a\n", "1\t1\t");
}

Test(lines, a_nul_among_the_first_8000_bytes_makes_it_binary)
{
	for (size_t at = 7999; at <= 8000; at++) {
		EWS_CLEANUP(buf) struct ews_buf a = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf b = EWS_BUF_INIT;

		while (a.len < 9000)
			ews_buf_addc(&a, 'x');
		ews_buf_add(&b, a.ptr, a.len);
		b.ptr[at] = '\0';
		check(&a, &b, at < 8000 ? "-\t-\t" : "1\t1\t", "forwards");
		check(&b, &a, at < 8000 ? "-\t-\t" : "1\t1\t", "backwards");
		check(&b, &b, at < 8000 ? "-\t-\t" : "0\t0\t", "itself");
	}
}
