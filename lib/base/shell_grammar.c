/*
 * The grammar of sh: see shell_grammar.h.
 *
 * A descent by the grammar of sh, with a function a rule and no step back.
 * Each level of nesting goes through ews_shell_enter(), which bounds it. Words
 * are read by shell_word, which calls back for the commands in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/shell_grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shell_parser.h"
#include "base/shell_simple.h"

static int read_command(struct ews_shell_parser *p);
static int read_list(struct ews_shell_parser *p);

/* ---- Simple commands and functions ---- */

/* NAME () body; reader->at is at the parentheses, which `function NAME` may go without. */
static int read_function(struct ews_shell_parser *p, const struct ews_shell_simple *head)
{
	size_t at = p->out->n;
	int rc;

	if (ews_parser_peek(p, 0) == '(') {
		ews_parser_skip(p, 1);
		ews_parser_skip_blanks(p);
		if (ews_parser_peek(p, 0) != ')')
			return ews_parser_fail(p);
		ews_parser_skip(p, 1);
	}
	if (head->words[0].unknown)
		return ews_parser_fail(p);
	rc = ews_parser_skip_lines(p);
	if (rc < 0)
		return rc;
	rc = ews_shell_enter(&p->reader);
	if (rc < 0)
		return rc;
	ews_simple_emit(p, EWS_SHELL_FUNCTION, head);
	p->place.function++;
	p->place.uncertain++;
	rc = read_command(p);
	ews_shell_leave(&p->reader);
	p->place.function--;
	p->place.uncertain--;
	p->out->commands[at].end = p->out->n;
	return rc;
}

static int read_simple(struct ews_shell_parser *p)
{
	EWS_CLEANUP(shell_simple) struct ews_shell_simple simple = EWS_SHELL_SIMPLE_INIT;
	bool in_test = p->place.in_test;
	int rc = 0;

	for (ews_parser_skip_blanks(p); rc == 0; ews_parser_skip_blanks(p)) {
		bool is_head = simple.words_n == 1 && !simple.assignments_n && !simple.redirects;

		if (ews_simple_is_redirect(p)) {
			rc = ews_simple_read_redirect(p, &simple);
		} else if (ews_simple_is_word(p)) {
			rc = ews_simple_read_word(p, &simple);
			ews_simple_watch_test(p, &simple);
		} else if (is_head && ews_parser_peek(p, 0) == '(') {
			return read_function(p, &simple);
		} else {
			break;
		}
	}
	if (rc < 0)
		return rc;
	if (!simple.words_n && !simple.assignments_n && !simple.redirects)
		return ews_parser_fail(p);
	in_test |= ews_simple_is_test(&simple);
	ews_simple_emit(p, EWS_SHELL_COMMAND, &simple)->in_test = in_test;
	return 0;
}

/* ---- Compound commands ---- */

/* A list that may not run, or not once. */
static int read_branch(struct ews_shell_parser *p)
{
	int rc;

	p->place.uncertain++;
	rc = read_list(p);
	p->place.uncertain--;
	return rc;
}

/* What is done to the shell by the commands from `from` on ends here. */
static void end_subshell(struct ews_shell_parser *p, size_t from)
{
	for (; from < p->out->n; from++)
		if (!p->out->commands[from].subshell_end)
			p->out->commands[from].subshell_end = p->out->n;
}

static int read_subshell(struct ews_shell_parser *p)
{
	size_t from = p->out->n;
	int rc;

	ews_parser_skip(p, 1);
	rc = read_branch(p);
	if (rc < 0)
		return rc;
	if (ews_parser_peek(p, 0) != ')')
		return ews_parser_fail(p);
	ews_parser_skip(p, 1);
	end_subshell(p, from);
	return 0;
}

/* Does "))" stand where the parentheses of the "((" here are balanced? */
static bool is_arithmetic(const struct ews_shell_parser *p)
{
	const char *at = strchr(p->reader.at, '(');
	size_t open = 0;

	if (ews_parser_peek(p, 0) != '(' || ews_parser_peek(p, 1) != '(')
		return false;
	for (at = strchr(at + 1, '(') + 1; *at && (open || *at != ')'); at++) {
		char quote = *at;

		open += (*at == '(');
		open -= (*at == ')');
		if (*at == '\\' && at[1])
			at++;
		if (quote != '"' && quote != '\'')
			continue;
		for (at++; *at && *at != quote; at++)
			at += quote == '"' && *at == '\\' && at[1];
		if (!*at)
			return false;
	}
	return *at && at[1] == ')';
}

/* No word in it is a command's name to the shells that know it; the commands of substitutions are such everywhere. */
static int read_arithmetic(struct ews_shell_parser *p)
{
	struct ews_shell_place place = p->place;
	size_t from = p->out->n;
	int rc;

	p->place.in_arithmetic = true;
	rc = read_subshell(p);
	p->place = place;
	for (; rc == 0 && from < p->out->n; from++)
		if (p->out->commands[from].captured == place.captured)
			p->out->commands[from].in_test = true;
	return rc;
}

static int read_group(struct ews_shell_parser *p)
{
	int rc;

	rc = read_list(p);
	if (rc < 0)
		return rc;
	return ews_parser_expect(p, "}");
}

static int read_if(struct ews_shell_parser *p)
{
	int rc;

	rc = read_list(p);
	while (rc == 0) {
		rc = ews_parser_expect(p, "then");
		if (rc < 0)
			return rc;
		rc = read_branch(p);
		if (rc < 0)
			return rc;
		if (!ews_parser_is_at(p, "elif"))
			break;
		ews_parser_skip(p, 4);
		rc = read_branch(p);
	}
	if (rc < 0)
		return rc;
	if (ews_parser_is_at(p, "else")) {
		ews_parser_skip(p, 4);
		rc = read_branch(p);
		if (rc < 0)
			return rc;
	}
	return ews_parser_expect(p, "fi");
}

static int read_do(struct ews_shell_parser *p)
{
	int rc;

	rc = ews_parser_expect(p, "do");
	if (rc < 0)
		return rc;
	p->place.loop++;
	rc = read_branch(p);
	p->place.loop--;
	if (rc < 0)
		return rc;
	return ews_parser_expect(p, "done");
}

static int read_while(struct ews_shell_parser *p)
{
	int rc;

	p->place.loop++;
	rc = read_branch(p);
	p->place.loop--;
	if (rc < 0)
		return rc;
	return read_do(p);
}

/* for ((...)), where nothing but names, numbers and operators may stand. */
static int read_for_counted(struct ews_shell_parser *p)
{
	unsigned open = 0;

	for (ews_parser_skip(p, 2); open || ews_parser_peek(p, 0) != ')'; ews_parser_skip(p, 1)) {
		char c = ews_parser_peek(p, 0);

		if (!c || strchr("\"'`\\", c) || (c == '$' && ews_parser_peek(p, 1) == '('))
			return ews_parser_fail(p);
		open += (c == '(');
		open -= (c == ')');
	}
	if (ews_parser_peek(p, 1) != ')')
		return ews_parser_fail(p);
	ews_parser_skip(p, 2);
	return 0;
}

static int read_for_words(struct ews_shell_parser *p, struct ews_shell_simple *simple)
{
	struct ews_shell_word word;
	int rc;

	rc = ews_parser_skip_lines(p);
	if (rc < 0)
		return rc;
	if (!ews_parser_is_at(p, "in"))
		return 0;
	ews_parser_skip(p, 2);
	for (ews_parser_skip_blanks(p); ews_simple_is_word(p); ews_parser_skip_blanks(p)) {
		rc = ews_shell_word_read(&word, &p->reader, 0);
		if (rc < 0)
			return rc;
		EWS_GROW(simple->words, simple->words_n, simple->words_cap);
		simple->words[simple->words_n++] = word;
	}
	return 0;
}

static int read_for(struct ews_shell_parser *p)
{
	EWS_CLEANUP(shell_simple) struct ews_shell_simple simple = EWS_SHELL_SIMPLE_INIT;
	size_t at;
	int rc;

	ews_parser_skip_blanks(p);
	if (ews_parser_peek(p, 0) == '(' && ews_parser_peek(p, 1) == '(') {
		rc = read_for_counted(p);
	} else {
		rc = ews_simple_read_word(p, &simple);
		if (rc < 0)
			return rc;
		if (!simple.words_n || simple.words[0].unknown)
			return ews_parser_fail(p);
		rc = read_for_words(p, &simple);
	}
	if (rc < 0)
		return rc;
	at = p->out->n;
	if (simple.words_n)
		ews_simple_emit(p, EWS_SHELL_FOR, &simple);
	ews_parser_skip_blanks(p);
	if (ews_parser_peek(p, 0) == ';')
		ews_parser_skip(p, 1);
	rc = read_do(p);
	if (rc < 0)
		return rc;
	if (simple.words_n)
		p->out->commands[at].end = p->out->n;
	return 0;
}

/* One pattern of a case, or several parted by "|", up to its ")". */
static int read_patterns(struct ews_shell_parser *p)
{
	struct ews_shell_word word;
	int rc;

	do {
		if (ews_parser_peek(p, 0) == '(' || ews_parser_peek(p, 0) == '|')
			ews_parser_skip(p, 1);
		ews_parser_skip_blanks(p);
		if (!ews_simple_is_word(p))
			return ews_parser_fail(p);
		rc = ews_shell_word_read(&word, &p->reader, 0);
		if (rc < 0)
			return rc;
		ews_parser_skip_blanks(p);
	} while (ews_parser_peek(p, 0) == '|');
	if (ews_parser_peek(p, 0) != ')')
		return ews_parser_fail(p);
	ews_parser_skip(p, 1);
	return 0;
}

static int read_case(struct ews_shell_parser *p)
{
	struct ews_shell_word word;
	int rc;

	ews_parser_skip_blanks(p);
	rc = ews_shell_word_read(&word, &p->reader, 0);
	if (rc < 0)
		return rc;
	rc = ews_parser_expect(p, "in");
	if (rc < 0)
		return rc;
	for (;;) {
		rc = ews_parser_skip_lines(p);
		if (rc < 0)
			return rc;
		if (ews_parser_is_at(p, "esac"))
			break;
		rc = read_patterns(p);
		if (rc < 0)
			return rc;
		rc = read_branch(p);
		if (rc < 0)
			return rc;
		if (ews_parser_peek(p, 0) == ';')
			ews_parser_skip(p, ews_parser_peek(p, 1) == ';' && ews_parser_peek(p, 2) == '&' ? 3 : 2);
	}
	ews_parser_skip(p, 4);
	return 0;
}

static int read_function_word(struct ews_shell_parser *p)
{
	EWS_CLEANUP(shell_simple) struct ews_shell_simple simple = EWS_SHELL_SIMPLE_INIT;
	int rc;

	ews_parser_skip_blanks(p);
	rc = ews_simple_read_word(p, &simple);
	if (rc < 0)
		return rc;
	if (!simple.words_n)
		return ews_parser_fail(p);
	ews_parser_skip_blanks(p);
	return read_function(p, &simple);
}

static const struct {
	const char *word;
	int (*read)(struct ews_shell_parser *p);
} compounds[] = {
	{ "{", read_group }, { "if", read_if },      { "while", read_while }, { "until", read_while },
	{ "for", read_for }, { "select", read_for }, { "case", read_case },   { "function", read_function_word },
};

#define COMPOUNDS_N (sizeof(compounds) / sizeof(*compounds))

static size_t compound_here(const struct ews_shell_parser *p)
{
	const char *word = ews_parser_keyword(p);
	size_t i;

	for (i = 0; i < COMPOUNDS_N && strcmp(compounds[i].word, word); i++)
		;
	return i;
}

/* Redirections behind a compound command are those of all that is in it. */
static int read_redirects(struct ews_shell_parser *p, size_t from)
{
	EWS_CLEANUP(shell_simple) struct ews_shell_simple simple = EWS_SHELL_SIMPLE_INIT;
	size_t to = p->out->n;
	int rc;

	for (ews_parser_skip_blanks(p); ews_simple_is_redirect(p); ews_parser_skip_blanks(p)) {
		rc = ews_simple_read_redirect(p, &simple);
		if (rc < 0)
			return rc;
	}
	if (!simple.redirects)
		return 0;
	ews_simple_emit(p, EWS_SHELL_COMMAND, &simple)->begin = from;
	for (const struct ews_shell_redirect *at = simple.redirects; at; at = at->next)
		for (size_t i = from; at->op[0] == '<' && i < to; i++)
			p->out->commands[i].is_fed = true;
	return 0;
}

static int read_command(struct ews_shell_parser *p)
{
	size_t from = p->out->n, i = compound_here(p);
	int rc;

	if (p->place.in_test || (i == COMPOUNDS_N && ews_parser_peek(p, 0) != '('))
		return ews_parser_is_at(p, "coproc") ? ews_parser_fail(p) : read_simple(p);
	rc = ews_shell_enter(&p->reader);
	if (rc < 0)
		return rc;
	if (i < COMPOUNDS_N)
		ews_parser_skip(p, (unsigned)strlen(compounds[i].word));
	if (i < COMPOUNDS_N)
		rc = compounds[i].read(p);
	else
		rc = is_arithmetic(p) ? read_arithmetic(p) : read_subshell(p);
	ews_shell_leave(&p->reader);
	if (rc < 0)
		return rc;
	return read_redirects(p, from);
}

/* ---- Lists ---- */

static void mark_uncertain(struct ews_shell_parser *p, size_t from)
{
	for (; from < p->out->n; from++)
		p->out->commands[from].is_certain = false;
}

/* "-p" and "--", which bash takes behind "time". */
static void skip_time_options(struct ews_shell_parser *p)
{
	for (ews_parser_skip_blanks(p); ews_parser_peek(p, 0) == '-'; ews_parser_skip_blanks(p)) {
		if ((ews_parser_peek(p, 1) != 'p' && ews_parser_peek(p, 1) != '-') ||
		    !ews_shell_is_meta(ews_parser_peek(p, 2)))
			return;
		ews_parser_skip(p, 2);
	}
}

/* "!" and "time", as often as they come: any command of the shell's follows. With other options "time" is a program. */
static void skip_prefixes(struct ews_shell_parser *p)
{
	const char *from;

	for (ews_parser_skip_blanks(p); ews_parser_is_at(p, "!") || ews_parser_is_at(p, "time");
	     ews_parser_skip_blanks(p)) {
		from = p->reader.at;
		if (ews_parser_is_at(p, "!")) {
			ews_parser_skip(p, 1);
			continue;
		}
		ews_parser_skip(p, 4);
		skip_time_options(p);
		if (strchr("-;&|)\n", ews_parser_peek(p, 0))) { /* the end of the text, too */
			p->reader.at = from;
			return;
		}
	}
}

static int read_pipeline(struct ews_shell_parser *p)
{
	size_t from = p->out->n;
	unsigned fed = p->place.fed;
	int rc;

	for (;;) {
		size_t left = p->out->n;

		skip_prefixes(p);
		rc = read_command(p);
		if (rc < 0)
			return rc;
		ews_parser_skip_blanks(p);
		if (ews_parser_peek(p, 0) != '|' || ews_parser_peek(p, 1) == '|')
			break;
		ews_parser_skip(p, ews_parser_peek(p, 1) == '&' ? 2 : 1);
		rc = ews_parser_skip_lines(p);
		if (rc < 0)
			return rc;
		for (; left < p->out->n; left++)
			p->out->commands[left].captured++;
		p->place.fed = fed + 1;
	}
	if (p->place.fed > fed)
		mark_uncertain(p, from);
	p->place.fed = fed;
	return 0;
}

static int read_and_or(struct ews_shell_parser *p)
{
	unsigned uncertain = p->place.uncertain;
	int rc;

	for (;;) {
		rc = read_pipeline(p);
		if (rc < 0)
			return rc;
		if (ews_parser_peek(p, 0) != ews_parser_peek(p, 1) ||
		    (ews_parser_peek(p, 0) != '&' && ews_parser_peek(p, 0) != '|'))
			break;
		ews_parser_skip(p, 2);
		rc = ews_parser_skip_lines(p);
		if (rc < 0)
			return rc;
		p->place.uncertain = uncertain + 1;
	}
	p->place.uncertain = uncertain;
	return 0;
}

static bool is_list_end(const struct ews_shell_parser *p)
{
	static const char *const words[] = { "then", "elif", "else", "fi", "do", "done", "esac", "}" };
	char c = ews_parser_peek(p, 0);

	if (!c || c == ')' || c == ';')
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ews_parser_is_at(p, words[i]))
			return true;
	return false;
}

/* Commands up to what can't begin one; whether that may stand there is for the caller to say. */
static int read_list(struct ews_shell_parser *p)
{
	size_t from;
	int rc;

	for (;;) {
		rc = ews_parser_skip_lines(p);
		if (rc < 0)
			return rc;
		if (is_list_end(p))
			return 0;
		from = p->out->n;
		rc = read_and_or(p);
		if (rc < 0)
			return rc;
		if (p->place.in_test)
			return ews_error(EWS_EUSAGE, "the shell text has a \"[[\" without \"]]\"");
		if (ews_parser_peek(p, 0) == '&') {
			mark_uncertain(p, from);
			ews_parser_skip(p, 1);
		} else if (ews_parser_peek(p, 0) == ';' && ews_parser_peek(p, 1) != ';' &&
			   ews_parser_peek(p, 1) != '&') {
			ews_parser_skip(p, 1);
		} else if (ews_parser_peek(p, 0) != '\n') {
			return 0;
		}
	}
}

/* The commands of a substitution. */
static int read_nested(struct ews_shell_reader *reader, char end)
{
	struct ews_shell_parser *p = (struct ews_shell_parser *)reader;
	struct ews_shell_place place = p->place;
	size_t outer = p->pending_outer, n = p->pending_n, from = p->out->n;
	int rc;

	p->place.in_test = p->place.in_arithmetic = false;
	p->place.uncertain++;
	p->place.captured++;
	p->place.fed += reader->feeds_nested;
	reader->feeds_nested = false;
	p->pending_outer = n;
	rc = read_list(p);
	if (rc < 0)
		return rc;
	if (p->pending_n > n)
		return ews_error(EWS_EUSAGE, "the shell text has a substitution that ends before its here-document");
	if (ews_parser_peek(p, 0) != end)
		return ews_parser_fail(p);
	/* line continuations aside */
	while (*p->reader.at != end)
		p->reader.at++;
	end_subshell(p, from);
	p->pending_outer = outer;
	p->place = place;
	return 0;
}

static int read_all(struct ews_shell_parser *p)
{
	int rc;

	rc = read_list(p);
	if (rc < 0)
		return rc;
	return ews_parser_peek(p, 0) ? ews_parser_fail(p) : 0;
}

int ews_shell_parse(struct ews_shell *out, const char *text)
{
	EWS_CLEANUP(shell) struct ews_shell made = EWS_SHELL_INIT;
	struct ews_shell_parser p = { .reader = { .at = text, .arena = &made.arena, .nested = read_nested },
				      .out = &made };
	int rc;

	rc = read_all(&p);
	free(p.pending);
	if (rc < 0)
		return rc;
	*out = made;
	made = (struct ews_shell)EWS_SHELL_INIT;
	return 0;
}
