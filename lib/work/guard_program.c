/*
 * Programs that may run git: see guard_program.h.
 *
 * A text for an interpreter is not understood here. One that does not name git is the business of whoever runs it;
 * one that does could do anything. awk and sed, which are handed git's output all day, have few ways to start a
 * program or to write a file: one of these must be there, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_program.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/str.h"
#include "base/strv.h"
#include "work/guard_file.h"

struct interpreter {
	const char *names; /* a version may follow each */
	const char *texts; /* letters of options that have a text */
	const char *values; /* letters of options that have another value */
	const char *attached; /* letters of options that take what is behind them in the same word, if anything */
	const char *long_texts; /* names of options that have a text, after two dashes */
	bool (*reaches_git)(const char *text,
			    bool is_inside); /* may a text that names git do something with it? NULL: any may */
	bool is_first_word; /* the text is the first word, where no option has one */
	bool is_terse; /* names may follow its commands without a blank */
};

/* ---- Texts ---- */

/* Is the name at `at` put beside another to tell them apart, as one does to leave ".git" out? */
static bool is_compared(const char *text, const char *at, size_t len)
{
	const char *before = at, *after = at + len;

	if (before == text || !strchr("'\"", before[-1]) || *after != before[-1])
		return false;
	for (before--, after++; before > text && before[-1] == ' '; before--)
		;
	after += strspn(after, " ");
	return ews_str_begins(after, "in ") || ews_str_begins(after, "not in ") || ews_str_begins(after, "==") ||
	       ews_str_begins(after, "!=") ||
	       (before - text >= 2 && (ews_str_begins(before - 2, "==") || ews_str_begins(before - 2, "!=")));
}

/* Is git named in it, as a word? "x.git" and ".gitignore" are other names. */
static bool names_git(const char *text)
{
	for (const char *at = text; (at = strstr(at, "git")); at += 3) {
		const char *from = at > text && at[-1] == '.' ? at - 1 : at;
		char before = from > text ? from[-1] : ' ', after = at[3];

		if (isalnum((unsigned char)before) || before == '_' || isalnum((unsigned char)after) || after == '_')
			continue;
		if (!is_compared(text, from, (size_t)(at + 3 - from)))
			return true;
	}
	return false;
}

/* Is the file in a ".git", in which the program may itself be? */
static bool is_in_git(const char *name, bool is_inside)
{
	return ews_guard_is_git_path(name) || (is_inside && *name && *name != '/');
}

/* awk: a name in quotes behind ">". */
static bool writes_from_awk(const char *text, bool is_inside)
{
	for (const char *at = text; (at = strchr(at, '>'));) {
		at += strspn(at, "> \t(");
		if (*at == '"') {
			EWS_CLEANUP(free) char *name = ews_strndup(at + 1, strcspn(at + 1, "\""));

			if (is_in_git(name, is_inside))
				return true;
		}
	}
	return false;
}

/* awk: also system(), and pipes to and from commands. "|" in a pattern has neither blanks nor quotes beside it. */
static bool reaches_from_awk(const char *text, bool is_inside)
{
	if (strstr(text, "system") || strstr(text, "getline") || writes_from_awk(text, is_inside))
		return true;
	for (const char *at = text; (at = strchr(at, '|')); at++) {
		if (at[1] == '|') {
			at++;
			continue;
		}
		if (at[1] == '"' || at[1] == '&' || (at > text && (at[-1] == ' ' || at[-1] == '"') && at[1] == ' '))
			return true;
	}
	return false;
}

/* Behind the next `end` that no backslash stands before, or the end of the text. */
static const char *behind(const char *at, char end)
{
	for (; *at && *at != end; at++)
		at += *at == '\\' && at[1];
	return *at ? at + 1 : at;
}

/* The names that sed's `w` and `W`, and the flag `w` of `s`, have reach to the end of the line. */
static bool names_git_path(const char *text, bool is_inside)
{
	EWS_CLEANUP(free) char *name = NULL;

	text += strspn(text, " \t");
	name = ews_strndup(text, strcspn(text, "\n"));
	return is_in_git(name, is_inside);
}

/* sed: the command `e`, and that flag of `s`; and what writes a file. */
static bool reaches_from_sed(const char *text, bool is_inside)
{
	const char *at = text;

	while (*at) {
		at += strspn(at, " \t\n;{}0123456789$,!~+");
		if (*at == '/') {
			at = behind(at + 1, '/');
			at += strspn(at, "IM");
		} else if (*at == '\\' && at[1]) {
			at = behind(at + 2, at[1]);
		} else if (*at == 'e') {
			return true;
		} else if ((*at == 's' || *at == 'y') && at[1]) {
			char end = at[1];
			size_t flags;

			at = behind(behind(at + 2, end), end);
			flags = strspn(at, "gpiImMe0123456789");
			if (memchr(at, 'e', flags) || (at[flags] == 'w' && names_git_path(at + flags + 1, is_inside)))
				return true;
			at += at[flags] == 'w' ? strcspn(at, "\n") : flags;
		} else if ((*at == 'w' || *at == 'W') && names_git_path(at + 1, is_inside)) {
			return true;
		} else if (*at && strchr("aicrRwWbtT:#", *at)) {
			at += strcspn(at, "\n");
		} else if (*at) {
			at++;
		}
	}
	return false;
}

/* ---- Interpreters ---- */

static const struct interpreter interpreters[] = {
	{ .names = "python pypy", .texts = "c", .values = "mWX" },
	{ .names = "perl", .texts = "eE", .values = "I", .attached = "CDFMVdilmx0" },
	{ .names = "ruby", .texts = "e", .values = "rIEC", .attached = "FKTWix0" },
	{ .names = "node nodejs bun ts-node tsx", .texts = "ep", .values = "rC", .long_texts = "eval print" },
	{ .names = "lua luajit", .texts = "e", .values = "l" },
	{ .names = "php", .texts = "rBRE", .values = "dcfFStz", .long_texts = "run" },
	{ .names = "Rscript R", .texts = "e" },
	{ .names = "guile", .texts = "c", .values = "Lle" },
	{ .names = "tclsh wish expect", .texts = "c" },
	/* shells of another grammar */
	{ .names = "fish", .texts = "cC", .values = "dop", .long_texts = "command init-command" },
	{ .names = "csh tcsh", .texts = "c" },
	{ .names = "nu elvish xonsh", .texts = "c", .long_texts = "commands" },
	{ .names = "awk gawk mawk nawk",
	  .texts = "e",
	  .values = "Ffvi",
	  .long_texts = "source",
	  .reaches_git = reaches_from_awk,
	  .is_first_word = true },
	{ .names = "sed gsed",
	  .texts = "e",
	  .values = "fl",
	  .attached = "i",
	  .long_texts = "expression",
	  .reaches_git = reaches_from_sed,
	  .is_first_word = true,
	  .is_terse = true },
};

/* Is `base` one of the names, with a version behind it or not? */
static bool is_named(const char *base, const char *names)
{
	size_t len;

	for (const char *at = names; *at; at += len + (at[len] == ' ')) {
		len = strcspn(at, " ");
		if (!strncmp(base, at, len) && !base[len + strspn(base + len, "0123456789.-")])
			return true;
	}
	return false;
}

static void judge_text(struct ews_guard_verdict *out, const struct ews_guard_line *line,
		       const struct interpreter *interpreter, const char *text)
{
	bool is_inside = line->git_depth && interpreter->reaches_git;

	if ((is_inside || (interpreter->is_terse ? strstr(text, "git") != NULL : names_git(text))) &&
	    (!interpreter->reaches_git || interpreter->reaches_git(text, is_inside)))
		ews_guard_block(out, EWS_GUARD_UNKNOWN, "run the git command by itself, and hand its output over",
				"What a program for '%s' does with git can't be read here",
				ews_path_base(line->argv[0]));
}

static bool has(const char *letters, char letter)
{
	return letters && letter && strchr(letters, letter);
}

/* Is `word` "--<name>" or "--<name>=<value>" with one of the names? The value, or NULL, goes to `value`. */
static bool is_long(const char *word, const char *names, const char **value)
{
	size_t len = strcspn(word + 2, "="), n;

	*value = word[2 + len] ? word + 2 + len + 1 : NULL;
	for (const char *at = names ? names : ""; *at; at += n + (at[n] == ' ')) {
		n = strcspn(at, " ");
		if (n == len && !strncmp(word + 2, at, n))
			return true;
	}
	return false;
}

static void judge_interpreter(struct ews_guard_verdict *out, const struct ews_guard_line *line,
			      const struct interpreter *interpreter)
{
	char *const *at = line->argv + 1;
	bool has_text = false;
	const char *value;

	for (; *at && (*at)[0] == '-' && (*at)[1]; at++) {
		if (!strcmp(*at, "--")) {
			at++;
			break;
		}
		if ((*at)[1] == '-') {
			if (is_long(*at, interpreter->long_texts, &value) && (value || at[1])) {
				judge_text(out, line, interpreter, value ? value : *++at);
				has_text = true;
			}
			continue;
		}
		for (const char *letter = *at + 1; *letter; letter++) {
			bool is_text = has(interpreter->texts, *letter);

			if (has(interpreter->attached, *letter) && *letter != '0' && *letter != 'l')
				break;
			if (!is_text && !has(interpreter->values, *letter))
				continue;
			/* "-pe": a letter may follow that has the text */
			if (letter[1] && is_text && has(interpreter->texts, letter[1]) && !letter[2])
				continue;
			value = letter[1] ? letter + 1 : at[1] ? *++at : "";
			has_text = has_text || is_text || *letter == 'f' || *letter == 'm';
			if (is_text)
				judge_text(out, line, interpreter, value);
			break;
		}
		if (!*at)
			return;
	}
	if (has_text)
		return;
	if (interpreter->is_first_word && *at)
		judge_text(out, line, interpreter, *at);
	else if (!interpreter->is_first_word && (!*at || !strcmp(*at, "-")) && line->input)
		judge_text(out, line, interpreter, line->input);
}

/* ---- Front ends ---- */

/* gh and glab look at what a server has with these; with others they fetch, push, check out, or change what is there. */
static bool only_looks(char *const *argv)
{
	static const char *const looking[] = {
		"pr view",     "pr list",      "pr status",    "pr diff",       "pr checks",      "issue view",
		"issue list",  "issue status", "run view",     "run list",      "run watch",      "repo view",
		"repo list",   "release view", "release list", "workflow view", "workflow list",  "label list",
		"auth status", "gist view",    "gist list",    "search code",   "search commits", "search issues",
		"search prs",  "search repos", "mr view",      "mr list",       "mr diff",        "mr issues",
		"ci view",     "ci list",      "ci status",    "ci trace",      "repo search",    "snippet list",
	};
	const char *group = argv[1] ? argv[1] : "", *verb = argv[1] && argv[2] ? argv[2] : "";

	if (!*group || *group == '-' || !strcmp(group, "help") || !strcmp(group, "version") ||
	    !strcmp(group, "status"))
		return true;
	for (size_t i = 0; i < sizeof(looking) / sizeof(*looking); i++) {
		size_t len = strlen(group);

		if (!strncmp(looking[i], group, len) && looking[i][len] == ' ' && !strcmp(looking[i] + len + 1, verb))
			return true;
	}
	return false;
}

static bool is_front_end(char *const *argv)
{
	static const char *const names[] = { "gitk", "gitg",      "qgit",   "tig",   "lazygit", "gitui", "scalar",
					     "hub",  "gitkraken", "smerge", "ungit", "stg",     "jj",    NULL };
	static const char *const of_servers[] = { "gh", "glab", NULL };

	if (ews_guard_is_called(argv[0], names))
		return true;
	return ews_guard_is_called(argv[0], of_servers) && !only_looks(argv);
}

void ews_guard_judge_program(struct ews_guard_verdict *out, const struct ews_guard_line *line)
{
	const char *base = ews_path_base(line->argv[0]);
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;

	ews_strv_add_array(&argv, line->argv);
	if (line->has_tail)
		ews_strv_add(&argv, EWS_GUARD_HOLE);
	if (is_front_end(line->argv))
		ews_guard_block(out, EWS_GUARD_UNKNOWN,
				"git's own commands show what is there: `git log`, `git diff`",
				"'%s' runs git itself, where its words can't be seen", base);
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters); i++)
		if (is_named(base, interpreters[i].names))
			judge_interpreter(out, line, &interpreters[i]);
	ews_guard_judge_files(out, argv.items, line->git_depth);
}
