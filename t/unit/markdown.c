/*
 * Markdown: what others have written does nothing in a page of ours.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/markdown.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/utf8.h"
#include "fixture.h"

TestSuite(markdown, .init = fixture_begin, .fini = fixture_end);

struct example {
	const char *text, *want;
};

static void check_all(void (*add)(struct ews_buf *out, const char *text), const struct example *examples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;

		add(&got, examples[i].text);
		cr_expect_str_eq(got.ptr, examples[i].want, "%s: %s", examples[i].text, got.ptr);
	}
}

Test(markdown, words_are_words)
{
	static const struct example examples[] = {
		{ "plain words, 1-2 (x)", "plain words, 1-2 (x)" },
		{ "*a* _b_ `c` ~d~", "\\*a\\* \\_b\\_ \\`c\\` \\~d\\~" },
		{ "[x](y) ![z]", "\\[x\\](y) \\!\\[z\\]" },
		{ "<b>&amp;</b>", "\\<b\\>\\&amp;\\</b\\>" },
		{ "a|b\\|c", "a\\|b\\\\\\|c" },
		{ "http://x.y www.x.y", "http\\://x.y www\\.x.y" },
		{ "one\ntwo\r\tthree", "one two  three" },
		{ "\x1b[31m\x7f", "\\\\033\\[31m\\\\177" },
		{ "a\xff\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "a\xe2\x80\xae"
		  "b\xc2\x85",
		  "a\\\\u\\{202e\\}b\\\\u\\{85\\}" },
		{ "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80" },
	};

	check_all(ews_markdown_text, examples, sizeof(examples) / sizeof(*examples));
}

Test(markdown, code_is_code)
{
	static const struct example examples[] = {
		{ "", "" },
		{ "src/a_b.c", "`src/a_b.c`" },
		{ "a`b", "``a`b``" },
		{ "a``b`c", "```a``b`c```" },
		{ "`a`", "`` `a` ``" },
		{ " a", "`  a `" },
		{ " ", "` `" },
		{ "a|b", "`a\\|b`" },
		{ "a\\|b", "`a\\\\\\|b`" },
		{ "a\nb", "`a\\012b`" },
		{ "<b>", "`<b>`" },
	};

	check_all(ews_markdown_code, examples, sizeof(examples) / sizeof(*examples));
}

static void block(struct ews_buf *out, const char *text)
{
	ews_markdown_block(out, text, "diff");
}

Test(markdown, a_block_ends_where_we_say)
{
	static const struct example examples[] = {
		{ "", "```diff\n```\n" },
		{ "a\tb", "```diff\na\tb\n```\n" },
		{ "a\n", "```diff\na\n```\n" },
		{ "```\n", "````diff\n```\n````\n" },
		{ "x ````` y", "``````diff\nx ````` y\n``````\n" },
		{ "a\r\n", "```diff\na\\015\n```\n" },
	};

	check_all(block, examples, sizeof(examples) / sizeof(*examples));
}

/* Pipes that end a cell, as readers of tables see it: what follows a backslash is none. */
static size_t count_cell_ends(const char *row)
{
	size_t n = 0;

	for (; *row; row++) {
		if (*row == '\\' && row[1])
			row++;
		else
			n += *row == '|';
	}
	return n;
}

static void make_text(struct ews_buf *out)
{
	static const char *const pieces[] = { "a",   "|",    "\\",           "`",  "``", " ", "\n",
					      "<b>", "\xff", "\xe2\x80\xae", "~~~" };

	for (size_t n = fixture_pick(12); n; n--)
		ews_buf_adds(out, FIXTURE_ONE_OF(pieces));
}

Test(markdown, nothing_ends_a_cell_or_a_line)
{
	for (size_t round = 0; round < 100 * fixture_rounds(20); round++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf row = EWS_BUF_INIT;

		make_text(&text);
		ews_markdown_text(&row, text.ptr);
		ews_buf_adds(&row, " ");
		ews_markdown_code(&row, text.ptr);
		cr_assert_eq(count_cell_ends(row.ptr), 0, "%s: %s", text.ptr, row.ptr);
		cr_assert(!strchr(row.ptr, '\n'));
		for (const char *p = row.ptr; *p; p += ews_utf8_len(p))
			cr_assert_neq(ews_utf8_len(p), 0);
	}
}
