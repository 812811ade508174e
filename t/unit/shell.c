/*
 * Shell texts, held against a table, against what sh makes of them, and against random bytes.
 *
 * A list of commands is written as text, a command a line: assignments, words,
 * redirections, parted by "|". An unknown word is its known beginning and, in
 * angle brackets, why: v(ariable) o(utput) n(umber) p(attern) b(races) h(ome)
 * e(scapes) f(ile of a pipe); then s (may split) or m (may be many). Behind a
 * blank: fed, fn, test.
 *
 * EWS_SEED and EWS_ROUNDS in the environment ask for other random texts and for more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/shell.h"
#include "base/shell_grammar.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/proc.h"
#include "fixture.h"

static void add_word(struct ews_buf *out, const struct ews_shell_word *word)
{
	ews_buf_add(out, word->text, word->prefix_len);
	cr_assert(word->unknown || word->prefix_len == strlen(word->text));
	if (!word->unknown)
		return;
	ews_buf_addf(out, "<%c%s%s>", "?vonpbhef"[word->unknown], word -> can_split ? "s" : "",
		     word->can_be_many ? "m" : "");
}

static void add_command(struct ews_buf *out, const struct ews_shell_command *command)
{
	const char *part = "";
	size_t i;

	for (i = 0; i < command->assignments_n; i++, part = "|") {
		ews_buf_addf(out, "%s%s%s", part, command->assignments[i].name,
			     command->assignments[i].is_part ? "+=" : "=");
		add_word(out, &command->assignments[i].value);
	}
	if (command->kind != EWS_SHELL_COMMAND)
		ews_buf_adds(out, command->kind == EWS_SHELL_FOR ? "for:" : "function:");
	for (i = 0; i < command->words_n; i++, part = "|") {
		ews_buf_adds(out, part);
		add_word(out, &command->words[i]);
	}
	for (const struct ews_shell_redirect *at = command->redirects; at; at = at->next, part = "|") {
		ews_buf_addf(out, "%s%s", part, at->op);
		add_word(out, &at->target);
	}
	ews_buf_addf(out, "%s%s%s\n", command->is_fed ? " fed" : "", command->in_function ? " fn" : "",
		     command->in_test ? " test" : "");
}

static void add_commands(struct ews_buf *out, const char *text)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;

	if (ews_shell_parse(&shell, text) < 0) {
		cr_assert_eq(ews_error_code(), EWS_EUSAGE);
		cr_assert_null(shell.commands);
		ews_buf_addf(out, "error: %s\n", ews_error_message());
		return;
	}
	for (size_t i = 0; i < shell.n; i++)
		add_command(out, &shell.commands[i]);
}

struct row {
	const char *text;
	const char *commands;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

		add_commands(&out, rows[i].text);
		cr_expect_str_eq(out.ptr, rows[i].commands, "of <<%s>>:\n%sand not:\n%s", rows[i].text, out.ptr,
				 rows[i].commands);
	}
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof(*(rows)))

Test(shell, words_lose_their_quotes)
{
	static const struct row rows[] = {
		{ "", "" },
		{ " \t\n\n # nothing\n", "" },
		{ "git status", "git|status\n" },
		{ "git 'log' \"--one\"line", "git|log|--oneline\n" },
		{ "g'i't st\"at\"us", "git|status\n" },
		{ "g\\it \\s\\t\\atus", "git|status\n" },
		{ "echo '' \"\" a''b", "echo|||ab\n" },
		{ "echo 'a\"b' \"a'b\" \"a\\\"b\" \"a\\b\" a\\ b", "echo|a\"b|a'b|a\"b|a\\b|a b\n" },
		{ "echo \"a\\\\\" \"\\$x\" \"\\`\" '\\'", "echo|a\\|$x|`|\\\n" },
		{ "echo a#b #c", "echo|a#b\n" },
		{ "echo a\\", "echo|a\\\n" },
		{ "gi\\\nt sta\\\ntus \\\n -s", "git|status|-s\n" },
		{ "echo 'a\\\nb' \"a\\\nb\" \"a\\\\\nb\"", "echo|a\\\nb|ab|a\\\nb\n" },
		{ "# a \\\ngit log", "git|log\n" },
		{ "git log # a 'quote", "git|log\n" },
		{ "git show HEAD^{tree} @{u} stash@{0} HEAD~2 :/x",
		  "git|show|HEAD^{tree}|@{u}|stash@{0}|HEAD~2|:/x\n" },
		{ "git log @{u}..@{v}", "git|log|@{u}..@{v}\n" },
		{ "find . -exec ls {} +", "find|.|-exec|ls|{}|+\n" },
		{ "echo $ a$ \"$\" $% \"$'\"", "echo|$|a$|$|$%|$'\n" },
		{ "[ -f x ]", "[|-f|x|]\n" },
		{ "echo a=b", "echo|a=b\n" },
	};

	CHECK_ROWS(rows);
}

Test(shell, what_expands_is_unknown_behind_its_beginning)
{
	static const struct row rows[] = {
		{ "git log $x", "git|log|<vs>\n" },
		{ "git log \"$x\"", "git|log|<v>\n" },
		{ "git log HEAD~$n \"HEAD~$n\" a${n}b", "git|log|HEAD~<vs>|HEAD~<v>|a<vs>\n" },
		{ "echo $1 $@ \"$@\" \"$*\" \"${x[@]}\" $# $? $-", "echo|<vs>|<vs>|<vs>|<v>|<vs>|<n>|<n>|<vs>\n" },
		{ "echo ${x:-a} ${x#*/} ${#x} \"${x%'/'}\"", "echo|<vs>|<vs>|<vs>|<v>\n" },
		{ "echo \"${x:-it's}\" \"${x:-\"a b\"}\" ${x:-'}'} ${x:-\\}}", "echo|<v>|<v>|<vs>|<vs>\n" },
		{ "ls *.c src/*.c a? [ab]c x[", "ls|<pm>|src/<pm>|a<pm>|<pm>|x[\n" },
		{ "ls '*.c' \\*.c \"[a]\"", "ls|*.c|*.c|[a]\n" },
		{ "ls {a,b} a{1..3}b '{a,b}' {a\\,b} \\{a,b}", "ls|<bm>|a<bm>|{a,b}|{a,b}|{a,b}\n" },
		{ "{git,commit} -m x", "<bm>|-m|x\n" },
		{ "cd ~ ~/x ~me/y '~' a~ x=~/y a:~", "cd|<h>|<h>|<h>|~|a~|x=<h>|a:<h>\n" },
		{ "echo $((1+2)) HEAD~$((n-1))", "echo|<n>|HEAD~<n>\n" },
		{ "git log --format=$'%h\\t%s' $\"x\"", "git|log|--format=<e>|<e>\n" },
		{ "git $'commit'", "git|<e>\n" },
	};

	CHECK_ROWS(rows);
}

Test(shell, operators_part_commands)
{
	static const struct row rows[] = {
		{ "a; b&c\nd&&e||f|g|&h", "a\nb\nc\nd\ne\nf\ng fed\nh fed\n" },
		{ "a &&\n\n# x\n b |\n c", "a\nb\nc fed\n" },
		{ "! a | ! b && ! c", "a\nb fed\nc\n" },
		{ "a &\\\n& b", "a\nb\n" },
		{ "a;", "a\n" },
		{ "a &", "a\n" },
		{ "(a; b); { c; d; } | (e)", "a\nb\nc\nd\ne fed\n" },
		{ "((i++))", "i++ test\n" },
		{ "{a,b}; }x", "<bm>\n}x\n" },
		{ "time a; time -p b; time { c; }; time (d)", "a\nb\nc\nd\n" },
		{ "echo if then { } ! for", "echo|if|then|{|}|!|for\n" },
		{ "'if' x; \\{ y", "if|x\n{|y\n" },
	};

	CHECK_ROWS(rows);
}

Test(shell, compound_commands_are_opened)
{
	static const struct row rows[] = {
		{ "if a; then b; elif c; then d; else e; fi", "a\nb\nc\nd\ne\n" },
		{ "if git diff --quiet; then echo clean; fi", "git|diff|--quiet\necho|clean\n" },
		{ "while a; do b; done; until c\ndo d\ndone", "a\nb\nc\nd\n" },
		{ "a | while read x; do b; done", "a\nread|x fed\nb fed\n" },
		{ "while read x; do b; done <f", "read|x fed\nb fed\n<f\n" },
		{ "for f in *.c a; do b \"$f\"; done", "for:f|<pm>|a\nb|<v>\n" },
		{ "for f do b; done", "for:f\nb\n" },
		{ "for f\nin a\ndo b; done", "for:f|a\nb\n" },
		{ "for ((i=0; i<(3+${#x}); i++)); do b; done", "b\n" },
		{ "case $(x) in a|b) c;; (d) e;; *) f; esac", "x\nc\ne\nf\n" },
		{ "case a in\n# none\na)\n;;\nesac; g", "g\n" },
		{ "case a in a) b;& c) d;;& e) f;; esac", "b\nd\nf\n" },
		{ "f() { a; }; b", "function:f\na fn\nb\n" },
		{ "f () ( a )\nfunction g { b; }; function h() { c; }",
		  "function:f\na fn\nfunction:g\nb fn\nfunction:h\nc fn\n" },
		{ "[[ a && ! -f $x || ( b ) ]] && c", "[[|a test\n-f|<vs> test\n(|b|)|]] test\nc\n" },
		{ "[[ $x =~ ^(a|b)$ ]]; c", "[[|<vs>|=~|^(a test\nb)$|]] fed test\nc\n" },
		{ "[[ $(a) ]]", "a\n[[|<os>|]] test\n" },
		{ "select x in a; do b; done", "for:x|a\nb\n" },
	};

	CHECK_ROWS(rows);
}

Test(shell, substitutions_come_before_their_command)
{
	static const struct row rows[] = {
		{ "x=$(git rev-parse HEAD) && echo \"$x\"", "git|rev-parse|HEAD\nx=<o>\necho|<v>\n" },
		{ "a $(b; c | d) \"$(e \"f g\")\"", "b\nc\nd fed\ne|f g\na|<os>|<o>\n" },
		{ "a $(b $(c $(d)))", "d\nc|<os>\nb|<os>\na|<os>\n" },
		{ "a `b \\`c d\\``", "c|d\nb|<os>\na|<os>\n" },
		{ "a \"`b \\\"x y\\\"`\"", "b|x y\na|<o>\n" },
		{ "a '$(b)' \\$\\(b\\) '`c`'", "a|$(b)|$(b)|`c`\n" },
		{ "a \"\\$(b)\" \"\\`c\\`\"", "a|$(b)|`c`\n" },
		{ "a ${x:-$(b)} \"${x:=`c`}\"", "b\nc\na|<vs>|<v>\n" },
		{ "a $(( $(b) + `c` ))", "b\nc\na|<n>\n" },
		{ "a $(# x )\nb)", "b\na|<os>\n" },
		{ "a $(case x in y) b;; esac)", "b\na|<os>\n" },
		{ "a <(b c) >(d)", "b|c\nd fed\na|/dev/fd/<f>|/dev/fd/<f>\n" },
		{ "a <<<$(b)", "b\na|<<<<os>\n" },
		{ "$(a)", "a\n<os>\n" },
		{ "x=(a $(b)\n c) d", "b\nx+=|d\n" },
		{ "local x=(a $(b)) y", "b\nlocal|x=|y\n" },
		{ "a $\\\n(b)", "b\na|<os>\n" },
	};

	CHECK_ROWS(rows);
}

Test(shell, assignments_and_redirections_are_told)
{
	static const struct row rows[] = {
		{ "X=1 Y='a b' git x Z=2", "X=1|Y=a b|git|x|Z=2\n" },
		{ "X=*.c; Y={a,b}; Z=~/x; W=$V", "X=*.c\nY={a,b}\nZ=<h>\nW=<v>\n" },
		{ "X+=a Y[0]=b Z[$i]=c git commit", "X+=a|Y+=b|Z+=c|git|commit\n" },
		{ "'X'=1 1X=2; X\\=1", "X=1|1X=2\nX=1\n" },
		{ "a >b 2>>c <d 2>&1 >|e <>f &>g", "a|>b|>>c|<d|>&1|>|e|<>f|&>g\n" },
		{ ">.git/HEAD", ">.git/HEAD\n" },
		{ "a 2 >b; a2>b; a 12>b", "a|2|>b\na2|>b\na|>b\n" },
		{ "> \"$d\"/.git/x a", "a|><v>\n" },
		{ "{ a; } >b 2>c", "a\n>b|>c\n" },
		{ "a &>>b", "a|&>>b\n" },
		{ "a > b & c", "a|>b\nc\n" },
	};

	CHECK_ROWS(rows);
}

Test(shell, here_documents_hold_text_and_commands)
{
	static const struct row rows[] = {
		{ "a <<E\nb $(c)\nE\nd", "a|<<b <o>\nc\nd\n" },
		{ "a <<'E'\nb $(c) `d`\nE\nd", "a|<<b $(c) `d`\n\nd\n" },
		{ "a <<\\E\n$x\nE\n", "a|<<$x\n\n" },
		{ "a <<-E\n\tb\n\t\tE\nd", "a|<<b\n\nd\n" },
		{ "a <<E <<\"F\" | g\n1\nE\n2\nF\nd", "a|<<1\n|<<2\n\ng fed\nd\n" },
		{ "a <<E\n\\$x \\` \\\\ \"b\\\nE\nE\n", "a|<<$x ` \\ \"bE\n\n" },
		{ "a <<'E'\nx\\\nE\nd", "a|<<x\\\n\nd\n" },
		{ "a <<E\nx", "a|<<x\n" },
		{ "a <<E", "a|<<\n" },
		{ "a $(b <<E\nx)\nE\n)", "b|<<x)\n\na|<os>\n" },
		{ "if a <<E; then\nx\nE\nb; fi", "a|<<x\n\nb\n" },
		{ "sh <<E &&\ngit log\nE\nc", "sh|<<git log\n\nc\n" },
		{ "a <<E\n`b`\nE", "a|<<<o>\nb\n" },
		{ "a <<EF\nx\nE\\\nG\nEF\nb", "a|<<x\nEG\n\nb\n" },
	};

	CHECK_ROWS(rows);
}

Test(shell, what_no_shell_takes_or_shells_differ_in_is_an_error)
{
	static const char *const texts[] = {
		"a '",
		"a \"b",
		"a `b",
		"a $(b",
		"a ${x",
		"a $((1",
		"a $((b) c)",
		"a $((b) | (c))",
		"a )",
		"(a",
		"{ a",
		"a }; }",
		"if a; then b",
		"if a; fi",
		"fi",
		"while a; b; done",
		"for x in a; b",
		"case a in b c) esac",
		"a |",
		"a &&",
		"&& a",
		"; a",
		"a ;; b",
		"a <",
		"a > | b",
		"f( a",
		"${ a; }",
		"a ${}",
		"[[ a; b ]]",
		"a $'\\'' b",
		"a $[1]",
		"a \"${x%'}'}\"",
		"a &>b git commit",
		"coproc a",
		"a <<$x\n",
		"a <<E $(b\nc)\nE\n",
		"a $(b <<E)",
		"a <<E\nE\\\n\nE\n",
		"case a in a) b",
		"for $x in a; do b; done",
		"$x() { a; }",
		"a ( b )",
		"a $(( '1' ))",
		"for ((a; $(b); c)); do d; done",
		"x=(a",
		"a $(b))",
		"`a )`",
		"for [[ in (; do b; done",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

		add_commands(&out, texts[i]);
		cr_expect(!strncmp(out.ptr, "error: ", 7), "of <<%s>>:\n%s", texts[i], out.ptr);
	}
}

static void check_certain(const char *text, const char *expected)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;

	cr_assert_eq(ews_shell_parse(&shell, text), 0);
	for (size_t i = 0; i < shell.n; i++)
		ews_buf_addc(&got, shell.commands[i].is_certain ? '1' : '0');
	cr_expect_str_eq(got.ptr, expected, "of <<%s>>: %s", text, got.ptr);
}

Test(shell, what_may_not_run_is_not_certain)
{
	check_certain("a; b && c; d", "1101");
	check_certain("a | b; c & d", "0001");
	check_certain("(a); { b; }; $(c)", "0101");
	check_certain("if a; then b; fi; while c; do d; done; e", "10001");
	check_certain("for x in y; do a; done; f() { b; }; case x in y) c;; esac", "10100");
}

static void check_captured(const char *text, const char *expected)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;

	cr_assert_eq(ews_shell_parse(&shell, text), 0);
	for (size_t i = 0; i < shell.n; i++)
		ews_buf_addf(&got, "%zu:%u ", shell.commands[i].begin, shell.commands[i].captured);
	cr_expect_str_eq(got.ptr, expected, "of <<%s>>: %s", text, got.ptr);
}

Test(shell, redirections_take_what_nothing_else_takes)
{
	check_captured("a >x; b | c >x", "0:0 1:1 2:0 ");
	check_captured("{ a; b | c; } >x", "0:0 1:1 2:0 0:0 ");
	check_captured("{ a; (b) >x; } | c", "0:1 1:1 1:1 3:0 ");
	check_captured("a $(b | c) <(d)", "0:2 1:1 2:1 3:0 ");
	check_captured("while a; do b; done >x", "0:0 1:0 0:0 ");
}

Test(shell, bodies_have_their_end)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;

	cr_assert_eq(ews_shell_parse(&shell, "for x in y; do a; b; done; f() { c; }; d"), 0);
	cr_assert_eq(shell.commands[0].end, 3);
	cr_assert_eq(shell.commands[3].end, 5);
	cr_assert_str_eq(shell.commands[1].words[0].source, "a");
}

Test(shell, values_come_in_at_their_gaps)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	const struct ews_shell_word *word;

	cr_assert_eq(ews_shell_parse(&shell, "echo a$x'b'\"${y}c${z:-d}\" X=1; V=a$w"), 0);
	word = &shell.commands[0].words[1];
	cr_assert_str_eq(word->text, "abc");
	cr_assert_str_eq(word->source, "a$x'b'\"${y}c${z:-d}\"");
	cr_assert_eq(word->gaps_n, 3);
	cr_assert_str_eq(word->gaps[0].name, "x");
	cr_assert_eq(word->gaps[0].at, 1);
	cr_assert_not(word->gaps[0].is_quoted);
	cr_assert_str_eq(word->gaps[1].name, "y");
	cr_assert_eq(word->gaps[1].at, 2);
	cr_assert(word->gaps[1].is_quoted);
	cr_assert_null(word->gaps[2].name);
	cr_assert_eq(word->gaps[2].at, 3);
	cr_assert_eq(shell.commands[1].assignments[0].value.gaps[0].at, 1);
}

Test(shell, a_gap_knows_the_commands_that_fill_it)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	const struct ews_shell_gap *gaps;

	cr_assert_eq(ews_shell_parse(&shell, "a; b $(c; d) \"`e`\""), 0);
	gaps = shell.commands[4].words[1].gaps;
	cr_assert(gaps->from == 1 && gaps->to == 3);
	gaps = shell.commands[4].words[2].gaps;
	cr_assert(gaps->from == 3 && gaps->to == 4);
}

/* ---- Size ---- */

static double seconds_for(const char *unit, size_t n, const char *end)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	clock_t from;

	while (n--)
		ews_buf_adds(&text, unit);
	ews_buf_adds(&text, end);
	from = clock();
	(void)ews_shell_parse(&shell, text.ptr); /* whether it can be read is not what is asked */
	return (double)(clock() - from) / CLOCKS_PER_SEC;
}

Test(shell, deep_nesting_ends_and_time_is_linear)
{
	static const char *const units[] = {
		"a;",
		"$(",
		"`",
		"\\`",
		"\"$(",
		"${x:-",
		"$((",
		"((",
		"{ ",
		"(",
		"if ",
		"f() ",
		"\\\n",
		"a<<E\n",
		"\"",
		"'",
		"a\\\n",
		"$((1))",
		"1",
		"a<<E;",
		"<(",
		"{a,",
		"case x in y) ",
		"while ",
		"!  ",
		"x=(",
		"\\",
		"$",
		"a|",
		"[[ ",
		"\"${x:-",
		"$'",
		"E\\\n",
		"a&&",
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		cr_expect_lt(seconds_for(units[i], 100000, "\nE\n"), 3.0, "%s", units[i]);
}

Test(shell, nesting_up_to_the_limit_is_read)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t i;

	for (i = 0; i < EWS_SHELL_DEPTH_MAX; i++)
		ews_buf_adds(&text, "(");
	ews_buf_adds(&text, "a");
	for (i = 0; i < EWS_SHELL_DEPTH_MAX; i++)
		ews_buf_adds(&text, ")");
	cr_assert_eq(ews_shell_parse(&shell, text.ptr), 0);
	cr_assert_eq(shell.n, 1);
}

/* ---- Random texts ---- */

Test(shell, random_bytes_end_in_a_list_or_an_error)
{
	static const char *const tokens[] = {
		"a",    "git", " ",   "\n",  ";",     "&",         "|",   "(",      ")",    "<",     ">",
		"$",    "{",   "}",   "`",   "\"",    "'",         "\\",  "#",      "<<E",  "\nE\n", "$(",
		"$((",  "))",  "${x", "if ", "then ", "fi ",       "do ", "done",   "for ", "in ",   "case ",
		"esac", ";;",  "[[ ", " ]]", "x=",    "~",         "*",   "[",      "]",    "!",     "=",
		",",    "..",  "\t",  "&&",  "||",    "function ", "f()", "while ", "@",    "\xff",
	};
	size_t rounds = fixture_rounds(30000), parsed = 0;

	fixture_sow(fixture_seed() + 4);
	for (size_t i = 0; i < rounds; i++) {
		EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		size_t n = fixture_pick(40);

		while (n--) {
			if (fixture_pick(20))
				ews_buf_adds(&text, FIXTURE_ONE_OF(tokens));
			else
				ews_buf_addc(&text, (char)(1 + fixture_pick(255)));
		}
		parsed += ews_shell_parse(&shell, text.ptr) == 0;
	}
	cr_assert_gt(parsed, rounds / 50);
}

/* A word in some quotes, whose value is known. */
static void add_random_word(struct ews_buf *out)
{
	static const char *const pieces[] = {
		"a",      "-x",  "'b c'", "'\"'",      "'$x'",     "\"a b\"", "\"\\\"\"", "\"\\$x\"",
		"\\ ",    "\\'", "\\\\",  "'\\'",      "\"\\\\\"", "\"\\a\"", "\\\n",     "\"x\\\ny\"",
		"'x\ny'", "a=b", "{}",    "x,y",       "%",        "HEAD~1",  "@{0}",     "a#b",
		"\"#\"",  "!",   "^",     "'*'",       "\\*",      "$%",      "\"$\"",    "\"\\`\"",
		"\"'\"",  "x]",  ":",     "--a='b c'", "\\$",      "\"\"",    "''",       "\\\"",
	};
	size_t n = 1 + fixture_pick(4);

	while (n--)
		ews_buf_adds(out, FIXTURE_ONE_OF(pieces));
}

/* Commands `w <words>` joined by operators at which the next one runs, too. */
static void add_random_commands(struct ews_buf *out, unsigned depth)
{
	static const char *const joins[] = { "; ", "\n", " && ", "&& \n ", " # a ' comment\n", ";", " \\\n; " };
	size_t n = 1 + fixture_pick(4);

	for (size_t i = 0; i < n; i++) {
		size_t words = fixture_pick(4), shape = depth ? fixture_pick(9) : 0;

		if (i)
			ews_buf_adds(out, FIXTURE_ONE_OF(joins));
		if (shape == 1 || shape == 2) {
			ews_buf_adds(out, shape == 1 ? "{ " : "if w 1; then ");
			add_random_commands(out, depth - 1);
			ews_buf_adds(out, shape == 1 ? "\n}" : "\nfi");
			continue;
		}
		if (shape == 3) {
			ews_buf_adds(out, "for i in 1; do\n");
			add_random_commands(out, depth - 1);
			ews_buf_adds(out, "\ndone");
			continue;
		}
		if (shape == 4) {
			ews_buf_adds(out, "case x in (y|z) w no;; x)");
			add_random_commands(out, depth - 1);
			ews_buf_adds(out, "\nesac");
			continue;
		}
		ews_buf_adds(out, "w");
		while (words--) {
			ews_buf_adds(out, fixture_pick(5) ? " " : " \\\n\t");
			add_random_word(out);
		}
		if (shape == 5)
			ews_buf_adds(out, " >/dev/null");
		if (shape == 6)
			ews_buf_adds(out, " <<'E' 2>&1\n'\"`$(\nE\n:");
		if (shape == 7) {
			ews_buf_adds(out, " \"$(");
			add_random_commands(out, depth - 1);
			ews_buf_adds(out, "\n)\"");
		}
	}
}

/* What reading makes of it, as `w` below says it; empty words are left out, since what a substitution gives is empty. */
static void add_seen(struct ews_buf *out, const struct ews_shell *shell)
{
	for (size_t i = 0; i < shell->n; i++) {
		const struct ews_shell_command *command = &shell->commands[i];

		if (!command->words_n || command->kind != EWS_SHELL_COMMAND || strcmp(command->words[0].text, "w"))
			continue;
		if (command->words_n > 1 && !strcmp(command->words[1].text, "no"))
			continue;
		for (size_t k = 1; k < command->words_n; k++)
			if (!command->words[k].unknown && *command->words[k].text)
				ews_buf_addf(out, "<%s>", command->words[k].text);
		ews_buf_adds(out, ".\n");
	}
}

/* Run `text` with `w` as a function that says what it gets, on a descriptor that no redirection of `text` meets. */
static void check_with(const char *program, const char *text, const char *expected)
{
	static const char head[] =
		"exec 9>&1 2>&1\n"
		"w() { for a; do test -z \"$a\" || printf '<%s>' \"$a\"; done >&9; echo . >&9; }\n";
	EWS_CLEANUP(buf) struct ews_buf script = EWS_BUF_INIT, out = EWS_BUF_INIT;
	char *argv[] = { (char *)program, (char *)"-c", NULL, NULL };
	struct ews_proc proc = { .argv = argv, .out = &out };

	ews_buf_addf(&script, "%s%s\n", head, text);
	argv[2] = script.ptr;
	cr_assert_eq(ews_proc_run(&proc), 0, "%s -c\n%s\n%s", program, script.ptr, out.ptr);
	cr_assert_str_eq(out.ptr, expected, "%s -c\n%s\nsays\n%sand not\n%s", program, script.ptr, out.ptr, expected);
}

Test(shell, words_are_what_sh_passes_to_a_command)
{
	size_t rounds = fixture_rounds(150), compared = 0;

	fixture_sow(fixture_seed() + 6);
	for (size_t i = 0; i < rounds; i++) {
		EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT, seen = EWS_BUF_INIT;

		add_random_commands(&text, 3);
		cr_assert_eq(ews_shell_parse(&shell, text.ptr), 0, "%s:\n%s", ews_error_message(), text.ptr);
		add_seen(&seen, &shell);
		check_with("sh", text.ptr, seen.ptr);
		/* bash 5.2 forgets commands of a substitution behind a here-document in it */
		if (i % 3 == 0 && !strstr(text.ptr, "<<"))
			check_with("bash", text.ptr, seen.ptr);
		compared += seen.len;
	}
	cr_assert_gt(compared, rounds * 20);
}
