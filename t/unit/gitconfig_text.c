/*
 * The text of a git config: random ones are read as git reads them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitconfig_text.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "fixture.h"

TestSuite(gitconfig_text, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static int list(const char *key, const char *value, void *payload)
{
	ews_buf_adds(payload, key);
	if (value)
		ews_buf_addf(payload, "\n%s", value);
	ews_buf_addc(payload, '\0');
	return 0;
}

/* A text of pieces that mean something, put together as chance has it. A tab within a value is a blank to older gits. */
static void make_text(struct ews_buf *out)
{
	static const char *const pieces[] = {
		"[a]\n",
		"[A-b]",
		"[core]\n\t",
		"[a \"B c\"]\n",
		"[a \"q\\\"x\\\\\"]",
		"[x.Y]\n",
		"[a\n",
		"[\"a\"]",
		"[a \"b]\n",
		"k",
		"Key",
		"k-1",
		"1k",
		"=",
		" = ",
		"=",
		"v",
		" two words ",
		"\"",
		"\" in  it \"",
		"\\n",
		"\\t",
		"\\\"",
		"\\\\",
		"\\x",
		"\\\n",
		"#",
		";",
		"# no ; more\n",
		"\n",
		"\n\n",
		"\r\n",
		" ",
		"true",
		"=1k",
		"\n\tkey = some\n",
		"\n[s \"T\"]\nk = v # c\n",
		"\xef\xbb\xbf",
		"\xff",
		"",
	};

	ews_buf_truncate(out, 0);
	if (fixture_pick(4))
		ews_buf_adds(out, "[first]\n");
	for (size_t n = fixture_pick(14); n; n--)
		ews_buf_adds(out, FIXTURE_ONE_OF(pieces));
}

Test(gitconfig_text, random_texts_are_read_as_git_reads_them)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT, should = EWS_BUF_INIT, is = EWS_BUF_INIT;
	size_t n_read = 0, n_refused = 0;

	for (size_t i = 0; i < fixture_rounds(300); i++) {
		int rc;

		make_text(&text);
		fixture_write(AT_FDCWD, "text", text.ptr, text.len);
		fixture_ask(&should, "git config --file text -z --list 2>/dev/null || printf refused");
		ews_buf_truncate(&is, 0);
		rc = ews_gitconfig_parse(text.ptr, text.len, list, &is);
		if (rc < 0) {
			ews_buf_truncate(&is, 0);
			ews_buf_adds(&is, "refused");
			n_refused++;
		} else {
			n_read++;
		}
		/* Git has said what it read before it came to what is none. */
		if (rc < 0)
			cr_assert(should.len >= 7 && !memcmp(should.ptr + should.len - 7, "refused", 7),
				  "git reads this:\n%s", text.ptr);
		else
			cr_assert(should.len == is.len && !memcmp(should.ptr, is.ptr, is.len),
				  "git reads '%s' where '%s' is read:\n%s", should.ptr, is.ptr, text.ptr);
	}
	cr_assert(n_read > 20 && n_refused > 20, "%zu and %zu", n_read, n_refused);
}

Test(gitconfig_text, what_is_left_without_some_keys_git_reads_as_it_was)
{
	static const char *const keys[] = { "first.key", "s.T.k", NULL };
	EWS_CLEANUP(buf)
	struct ews_buf text = EWS_BUF_INIT, should = EWS_BUF_INIT, is = EWS_BUF_INIT, rest = EWS_BUF_INIT;
	size_t n_same = 0, n_less = 0;

	for (size_t i = 0; i < fixture_rounds(60); i++) {
		make_text(&text);
		fixture_write(AT_FDCWD, "text", text.ptr, text.len);
		ews_buf_truncate(&rest, 0);
		if (ews_gitconfig_add_but(&rest, text.ptr, text.len, keys) < 0)
			continue;
		fixture_write(AT_FDCWD, "rest", rest.ptr, rest.len);
		fixture_ask(&should,
			    "git config --file text --unset-all first.key; git config --file text --unset-all s.T.k;"
			    " git config --file text -z --list");
		fixture_ask(&is, "git config --file rest -z --list");
		cr_assert(should.len == is.len && !memcmp(should.ptr, is.ptr, is.len),
			  "git reads '%s' where it should read '%s':\n%s", is.ptr, should.ptr, rest.ptr);
		if (rest.len == text.len && !memcmp(rest.ptr, text.ptr, rest.len))
			n_same++;
		else
			n_less++;
	}
	cr_assert(n_same && n_less, "%zu and %zu", n_same, n_less);
}

Test(gitconfig_text, a_key_is_the_same_in_capitals_but_for_its_middle)
{
	cr_assert(ews_gitconfig_is_key("core.bare", "Core.BARE"));
	cr_assert(ews_gitconfig_is_key("remote.Or.igin.url", "REMOTE.Or.igin.URL"));
	cr_assert_not(ews_gitconfig_is_key("remote.origin.url", "remote.Origin.url"));
	cr_assert_not(ews_gitconfig_is_key("core.bare", "core.bar"));
	cr_assert_not(ews_gitconfig_is_key("core", "core"));
}

Test(gitconfig_text, numbers_and_truth_values_are_gits)
{
	static const char *const texts[] = { "true",  "YES", "on", "1",     "0",    "no",  "Off",
					     "false", "",    "2k", "-1",    "0x10", "010", "1m",
					     "1g",    "1t",  "k",  "maybe", "1 ",   " 1",  "99999999999999999999" };
	EWS_CLEANUP(buf) struct ews_buf should = EWS_BUF_INIT;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		EWS_CLEANUP(buf) struct ews_buf is = EWS_BUF_INIT;
		int64_t number;
		bool truth;

		fixture_ask(&should,
			    "git -c a.b='%s' config --type=int a.b 2>/dev/null || echo none; "
			    "git -c a.b='%s' config --type=bool a.b 2>/dev/null || echo none",
			    texts[i], texts[i]);
		if (ews_gitconfig_int(&number, texts[i]))
			ews_buf_addf(&is, "%lld\n", (long long)number);
		else
			ews_buf_adds(&is, "none\n");
		ews_buf_adds(&is, ews_gitconfig_bool(&truth, texts[i]) ? truth ? "true\n" : "false\n" : "none\n");
		cr_assert_str_eq(is.ptr, should.ptr, "'%s': %s", texts[i], is.ptr);
	}
	for (int is_set = 0; is_set < 2; is_set++) {
		bool truth = is_set;

		cr_assert(ews_gitconfig_bool(&truth, NULL) && truth);
	}
}
