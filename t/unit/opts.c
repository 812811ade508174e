/*
 * Options are read as git reads them, and every refusal is a sentence.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/opts.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

static struct values {
	bool quiet, untracked;
	int progress;
	const char *base, *color;
	unsigned context;
	struct ews_strv list, pass, words, paths;
	bool has_dashes;
} v;

static const struct ews_opt own[] = {
	EWS_OPT_BOOL('q', "quiet", &v.quiet, "say less"),
	EWS_OPT_NEGATABLE(0, "untracked", &v.untracked, "take untracked files, too"),
	EWS_OPT_STRING('b', "base", &v.base, "rev", "begin there"),
	EWS_OPT_UINT('n', "number", &v.context, "n", NULL),
	EWS_OPT_LIST('e', "env", &v.list, "<name>=<value>", "set it"),
	EWS_OPT_PASS('U', "unified", &v.pass, "n", "lines of context"),
	EWS_OPT_PASS('M', "find-renames", &v.pass, "=n", "find renames"),
	EWS_OPT_PASS('w', NULL, &v.pass, NULL, "ignore white space"),
	EWS_OPT_PASS(0, "stat", &v.pass, "=how", NULL),
	EWS_OPT_PASS(0, "stat-width", &v.pass, "n", NULL),
	{ .type = EWS_OPTION_PASS, .name = "indent-heuristic", .value = &v.pass, .can_negate = true },
	EWS_OPTS_END,
};

static const struct ews_opt shared[] = {
	EWS_OPT_TRISTATE(0, "progress", &v.progress, "show progress"),
	EWS_OPT_OPTIONAL(0, "color", &v.color, "when", "always", "colour"),
	EWS_OPT_BOOL('q', "quiet", &v.has_dashes, NULL),
	EWS_OPTS_END,
};

static const struct ews_opt *const tables[] = { own, shared, NULL };
static const char *const usage[] = { "git ews start [<id>]", "git ews start --again", NULL };

static void tear_down(void)
{
	ews_strv_release(&v.list);
	ews_strv_release(&v.pass);
	ews_strv_release(&v.words);
	ews_strv_release(&v.paths);
}

static void set_up(void)
{
	const struct ews_strv empty = EWS_STRV_INIT;

	v = (struct values){ .progress = -1, .list = empty, .pass = empty, .words = empty, .paths = empty };
}

TestSuite(opts, .init = set_up, .fini = tear_down);

/* Parse words that are separated by one blank each. */
static int parse(const char *line)
{
	static char text[256];
	char *argv[32] = { NULL }, *save = NULL, *word;
	int argc = 0;

	tear_down();
	set_up();
	strcpy(text, line);
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	return ews_opts_parse(tables, usage, argc, argv, &v.words, &v.paths, &v.has_dashes);
}

static void expect_refusal(const char *line, const char *sentence)
{
	cr_expect_eq(parse(line), EWS_EUSAGE, "%s", line);
	cr_expect_str_eq(ews_error_message(), sentence, "%s: %s", line, ews_error_message());
}

static void expect_pass(const char *line, const char *want)
{
	cr_expect_eq(parse(line), 0, "%s: %s", line, ews_error_message());
	cr_assert_eq(v.pass.n, 1, "%s", line);
	cr_expect_str_eq(v.pass.items[0], want, "%s: %s", line, v.pass.items[0]);
}

Test(opts, options_and_words_mix_until_the_dashes)
{
	cr_assert_eq(parse("start one -q two --base main -e a=1 --env b=2 - -- -q three"), 0);
	cr_assert(v.quiet);
	cr_assert_str_eq(v.base, "main");
	cr_assert_eq(v.list.n, 2);
	cr_assert_eq(v.words.n, 3);
	cr_assert_str_eq(v.words.items[1], "two");
	cr_assert_str_eq(v.words.items[2], "-");
	cr_assert(v.has_dashes);
	cr_assert_eq(v.paths.n, 2);
	cr_assert_str_eq(v.paths.items[0], "-q");
}

Test(opts, dashes_are_told_from_an_argument_that_looks_like_them)
{
	cr_assert_eq(parse("start -b --"), 0);
	cr_assert_str_eq(v.base, "--");
	cr_assert_not(v.has_dashes);
	cr_assert_eq(parse("start --"), 0);
	cr_assert(v.has_dashes);
	cr_assert_eq(v.paths.n, 0);
	cr_assert_eq(parse("start"), 0);
	cr_assert_not(v.has_dashes);
	cr_assert_eq(parse("start -q -- -- x"), 0);
	cr_assert(v.has_dashes);
	cr_assert_eq(v.paths.n, 2);
}

Test(opts, abbreviations_and_negations_work_where_they_are_clear)
{
	cr_assert_eq(parse("start --qui --untr --no-unt --prog"), 0);
	cr_assert(v.quiet);
	cr_assert_not(v.untracked);
	cr_assert_eq(v.progress, 1);
	cr_assert_eq(parse("start --no-progress"), 0);
	cr_assert_eq(v.progress, 0);
	cr_assert_eq(parse("start"), 0);
	cr_assert_eq(v.progress, -1);
}

Test(opts, an_optional_argument_is_attached_or_absent)
{
	cr_assert_eq(parse("start --color never"), 0);
	cr_assert_str_eq(v.color, "always");
	cr_assert_eq(v.words.n, 1);
	cr_assert_eq(parse("start --color=never"), 0);
	cr_assert_str_eq(v.color, "never");
}

Test(opts, what_is_passed_on_is_one_word)
{
	expect_pass("diff -U5", "-U5");
	expect_pass("diff -U 5", "-U5");
	expect_pass("diff --unified 5", "--unified=5");
	expect_pass("diff -M50%", "-M50%");
	expect_pass("diff -M 50%", "-M");
	expect_pass("diff --find-renames=50%", "--find-renames=50%");
	expect_pass("diff -qw", "-w");
	expect_pass("diff --stat", "--stat");
	expect_pass("diff --stat=80", "--stat=80");
	expect_pass("diff --stat-w 80", "--stat-width=80");
	expect_pass("diff --no-indent-heuristic", "--no-indent-heuristic");
}

Test(opts, every_refusal_names_the_option)
{
	expect_refusal("start --foo", "unknown option '--foo'");
	expect_refusal("start --foo=bar x", "unknown option '--foo'");
	expect_refusal("start -qx", "unknown option '-x'");
	expect_refusal("start --base", "option '--base' needs an argument");
	expect_refusal("start -b", "option '-b' needs an argument");
	expect_refusal("start --quiet=yes", "option '--quiet' takes no argument");
	expect_refusal("start --no-untracked=1", "option '--no-untracked' takes no argument");
	expect_refusal("start --un", "ambiguous option '--un'");
	expect_refusal("start --no-quiet", "unknown option '--no-quiet'");
	expect_refusal("start -n five", "option '-n' needs a number, not 'five'");
	expect_refusal("start --number=-1", "option '--number' needs a number, not '-1'");
	expect_refusal("start -n4294967296", "option '-n' needs a number, not '4294967296'");
}

Test(opts, numbers_are_read)
{
	cr_assert_eq(parse("start -n4294967295"), 0);
	cr_assert_eq(v.context, 4294967295u);
}

Test(opts, the_usage_prints_each_row_once)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	ews_opts_usage(out, tables, usage);
	fclose(out);
	cr_assert_str_eq(text, "usage: git ews start [<id>]\n"
			       "   or: git ews start --again\n"
			       "\n"
			       "    -q, --quiet           say less\n"
			       "    --[no-]untracked      take untracked files, too\n"
			       "    -b, --base <rev>      begin there\n"
			       "    -e, --env <name>=<value>\n"
			       "                          set it\n"
			       "    -U, --unified <n>     lines of context\n"
			       "    -M, --find-renames[=<n>]\n"
			       "                          find renames\n"
			       "    -w                    ignore white space\n"
			       "    --[no-]progress       show progress\n"
			       "    --color[=<when>]      colour\n"
			       "\n");
	free(text);
}
