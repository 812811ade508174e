/*
 * YAML as hostile input: what is read, and what ends at once with a line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/yaml.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"

static const char kinds[] = "?slwti0";

/* A value a line: "<line> <kind> <key>=<text>". */
static char *show(const char *text, size_t len)
{
	EWS_CLEANUP(yaml) struct ews_yaml yaml = EWS_YAML_INIT;
	struct ews_buf out = EWS_BUF_INIT;
	int rc = ews_yaml_parse(&yaml, "f", text, len);

	cr_assert_eq(rc, 0, "%s", ews_error_message());
	for (size_t i = 0; i < yaml.n; i++)
		ews_buf_addf(&out, "%u %c %s=%s\n", yaml.items[i].line, kinds[yaml.items[i].kind],
			     yaml.items[i].key, yaml.items[i].text);
	return ews_buf_steal(&out);
}

static void assert_reads(const char *text, const char *want)
{
	EWS_CLEANUP(free) char *is = show(text, strlen(text));

	cr_assert_str_eq(is, want, "%s: got\n%s", text, is);
}

static void assert_fails(const char *text, size_t len, const char *want)
{
	EWS_CLEANUP(yaml) struct ews_yaml yaml = EWS_YAML_INIT;

	cr_assert_eq(ews_yaml_parse(&yaml, "f", text, len), EWS_ECONFIG, "%.60s", text);
	cr_assert(!strncmp(ews_error_message(), want, strlen(want)), "%.60s: '%s' should begin with '%s'", text,
		  ews_error_message(), want);
	cr_assert_eq(yaml.n, 0);
}

Test(yaml, keys_are_dotted_and_know_their_line)
{
	assert_reads("# c\nqe:\n  a: 1\n\n  b:\n    c: 'x y'\n  d: |\n    m\n    n\nz: ~\n",
		     "2 s qe=\n3 t qe.a=1\n5 s qe.b=\n6 t qe.b.c=x y\n7 t qe.d=m\nn\n\n10 0 z=\n");
	assert_reads("{a: {b: c}, d: }", "1 s a=\n1 t a.b=c\n1 0 d=\n");
	assert_reads("a:\n  - x\n  - ''\n  -\n    - y\n  - k: v\nb: '~'\n",
		     "1 l a=\n2 i a=x\n3 i a=\n5 w a=\n5 i a=y\n6 s a=\n6 t a.k=v\n7 t b=~\n");
	assert_reads("\xef\xbb\xbfk\xc3\xa9: \xc3\xa9\n", "1 t k\xc3\xa9=\xc3\xa9\n");
}

Test(yaml, nothing_is_no_settings)
{
	assert_reads("", "");
	assert_reads("# only\n", "");
	assert_reads("---\n...\n", "");
	assert_reads("~\n", "");
	assert_reads("{}", "");
	assert_reads("%YAML 1.1\n---\na: b\n", "3 t a=b\n");
}

Test(yaml, what_is_no_plain_file_of_keys_fails_with_its_line)
{
	static const char *const bad[][2] = {
		{ "a: b\nc: [d\n", "f:3: did not find" },
		{ "a: b\n c: d\n", "f:2: mapping values are not allowed" },
		{ "a:\n\t- b\n", "f:2: found character" },
		{ "a: &x 1\nb: *x\n", "f:2: has an alias" },
		{ "a: &x {k: v}\nb:\n  <<: *x\n", "f:3: has an alias" },
		{ "\na: !!python/object:os.system x\n", "f:2: has a tag" },
		{ "a: !x [1]\n", "f:1: has a tag" },
		{ "a: !x {b: c}\n", "f:1: has a tag" },
		{ "a: b\n---\nc: d\n", "f:2: has a second document" },
		{ "- a\n", "f:1: is a list" },
		{ "\n\njust words\n", "f:3: is a text" },
		{ "? [a, b]\n: c\n", "f:1: has a key that is no text" },
		{ "a: b\n? {c: d}\n", "f:2: has a key that is no text" },
		{ "a: \"x\\0y\"\n", "f:1: has a NUL" },
		{ "a: b\nc: \xff\n", "f:2: " },
		{ "a: b\nc: \x01\n", "f:2: " },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_fails(bad[i][0], strlen(bad[i][0]), bad[i][1]);
	assert_fails("a: b\nc: \0\n", 10, "f:2: ");
}

/* `text` over and over, up to `len` bytes, after `head`. */
static void fill(struct ews_buf *out, const char *head, const char *text, size_t len)
{
	ews_buf_truncate(out, 0);
	ews_buf_adds(out, head);
	while (out->len + strlen(text) <= len)
		ews_buf_adds(out, text);
}

/* How long and how much that takes is measured in t0010. */
Test(yaml, bombs_are_refused_where_they_begin)
{
	static const char *const bombs[][3] = {
		/* what it begins with, what is repeated, what is said of it */
		{ "", "[", "f:1: is a list" },
		{ "a: ", "[", "f:1: is nested too deeply" },
		{ "a: ", "{a: ", "f:1: is nested too deeply" },
		{ "a: ", "[[],", "f:1: is nested too deeply" },
		{ "a:\n", "- ", "f:2: is nested too deeply" },
		{ "", "? ", "f:1: has a key that is no text" },
		{ "a: [", "[],", "f:1: has too many values" },
		{ "a: [", "x,", "f:1: has too many values" },
		{ "a: [", "\n", "f:" },
		{ "a: '", "x", "f:1: found unexpected end" },
		{ "a: 'x\n", "\n", "f:" },
		{ "", "x", "f:1: is a text" },
		{ "", "%TAG !a! b\n", "f:9: has too many directives" },
		{ "a: ", "&x ", "f:1: " },
		{ "a: ", "!x ", "f:1: " },
		{ "", "a: b\n", "f:10001: has too many values" },
		{ "", "\xff", "f:1: " },
		{ "a: 1\n", "---\n", "f:2: has a second document" },
	};
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < sizeof(bombs) / sizeof(*bombs); i++) {
		fill(&text, bombs[i][0], bombs[i][1], EWS_YAML_BYTES_MAX);
		assert_fails(text.ptr, text.len, bombs[i][2]);
	}
	/* Long keys, each of which is part of all below it. */
	fill(&text, "", "k", 100000);
	ews_buf_adds(&text, ": {");
	while (text.len < EWS_YAML_BYTES_MAX - 8)
		ews_buf_adds(&text, "a: b, ");
	assert_fails(text.ptr, text.len, "f:1: ");
	fill(&text, "", "#", EWS_YAML_BYTES_MAX + 1);
	assert_fails(text.ptr, text.len, "f:1: the file is too large");
}

Test(yaml, aliases_of_aliases_are_not_followed)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_buf_adds(&text, "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
	for (char c = 'b'; c <= 'j'; c++) {
		ews_buf_addf(&text, "%c: &%c [", c, c);
		for (int i = 0; i < 9; i++)
			ews_buf_addf(&text, "%s*%c", i ? "," : "", c - 1);
		ews_buf_adds(&text, "]\n");
	}
	assert_fails(text.ptr, text.len, "f:2: has an alias");
}
