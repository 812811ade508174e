/*
 * Simple commands: see shell_simple.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/shell_simple.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define DIGITS_MAX 8 /* of a descriptor's number */

void ews_shell_simple_release(struct ews_shell_simple *simple)
{
	free(simple->assignments);
	free(simple->words);
}

bool ews_simple_is_redirect(const struct ews_shell_parser *p)
{
	unsigned n = 0;

	if (ews_parser_peek(p, 0) == '&')
		return ews_parser_peek(p, 1) == '>';
	while (n < DIGITS_MAX && ews_parser_peek(p, n) >= '0' && ews_parser_peek(p, n) <= '9')
		n++;
	return (ews_parser_peek(p, n) == '<' || ews_parser_peek(p, n) == '>') && ews_parser_peek(p, n + 1) != '(';
}

static const char *read_operator(struct ews_shell_parser *p)
{
	static const char *const operators[] = { "&>>", "<<<", "<<-", "&>", "<<", ">>",
						 "<&",  ">&",  "<>",  ">|", "<",  ">" };
	size_t i;

	while (ews_parser_peek(p, 0) >= '0' && ews_parser_peek(p, 0) <= '9')
		ews_parser_skip(p, 1);
	for (i = 0; i + 1 < sizeof(operators) / sizeof(*operators); i++) {
		const char *op = operators[i];

		if (ews_parser_peek(p, 0) == op[0] && (!op[1] || ews_parser_peek(p, 1) == op[1]) &&
		    (!op[1] || !op[2] || ews_parser_peek(p, 2) == op[2]))
			break;
	}
	ews_parser_skip(p, (unsigned)strlen(operators[i]));
	return operators[i];
}

int ews_simple_read_redirect(struct ews_shell_parser *p, struct ews_shell_simple *simple)
{
	struct ews_shell_redirect *redirect = ews_arena_alloc(&p->out->arena, sizeof(*redirect));
	const char *from, *op = read_operator(p);
	struct ews_shell_word *target = &redirect->target;
	int rc;

	ews_parser_skip_blanks(p);
	from = p->reader.at;
	rc = ews_shell_word_read(target, &p->reader, 0);
	if (rc < 0)
		return rc;
	if (p->reader.at == from)
		return ews_parser_fail(p);
	simple->has_both |= op[0] == '&';
	redirect->op = strcmp(op, "<<-") ? op : "<<";
	if (simple->last)
		simple->last->next = redirect;
	else
		simple->redirects = redirect;
	simple->last = redirect;
	return strcmp(redirect->op, "<<") ? 0 : ews_parser_await(p, redirect, op[2] == '-');
}

/* A word "NAME=value" as an assignment. */
static void add_assignment(struct ews_shell_parser *p, struct ews_shell_simple *simple,
			   const struct ews_shell_word *word, bool is_part)
{
	struct ews_shell_assignment set = { .value = *word, .is_part = is_part };
	size_t at = word->value_at, len = strcspn(word->text, "=+[");
	struct ews_shell_gap *gaps = ews_arena_alloc(&p->out->arena, word->gaps_n * sizeof(*gaps));

	for (size_t i = 0; i < word->gaps_n; i++) {
		gaps[i] = word->gaps[i];
		gaps[i].at -= at;
	}
	set.name = ews_arena_dup(&p->out->arena, word->text, len);
	set.is_part |= word->text[len] != '=';
	set.value.text += at;
	set.value.prefix_len -= at;
	set.value.value_at = 0;
	set.value.gaps = gaps;
	EWS_GROW(simple->assignments, simple->assignments_n, simple->assignments_cap);
	simple->assignments[simple->assignments_n++] = set;
}

/* NAME=(...): only the commands in its words matter here. */
static int read_array(struct ews_shell_parser *p)
{
	struct ews_shell_word word;
	const char *from;
	int rc;

	ews_parser_skip(p, 1);
	for (;;) {
		rc = ews_parser_skip_lines(p);
		if (rc < 0)
			return rc;
		if (ews_parser_peek(p, 0) == ')')
			break;
		from = p->reader.at;
		rc = ews_shell_word_read(&word, &p->reader, 0);
		if (rc < 0)
			return rc;
		if (p->reader.at == from)
			return ews_parser_fail(p);
	}
	ews_parser_skip(p, 1);
	if (!ews_shell_is_meta(ews_parser_peek(p, 0)))
		return ews_error(EWS_EUSAGE, "shells differ in what they make of letters after \"=(...)\"");
	return 0;
}

static bool is_bare(const struct ews_shell_word *word, const char *text)
{
	return !word->is_quoted && !word->unknown && !strcmp(word->text, text);
}

/* Words of these commands may be arrays: "local x=(...)". */
static bool is_declaration(const struct ews_shell_simple *simple)
{
	static const char *const names[] = { "declare", "export", "local", "readonly", "typeset" };

	for (size_t i = 0; simple->words_n && i < sizeof(names) / sizeof(*names); i++)
		if (is_bare(&simple->words[0], names[i]))
			return true;
	return false;
}

/* Is it "NAME[" without the "]", which to some shells goes on behind blanks, and whatever else ends a word? */
static bool is_open_subscript(const struct ews_shell_word *word)
{
	size_t len = strspn(word->source, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return len && word->source[len] == '[' && !strchr(word->source + len, ']');
}

int ews_simple_read_word(struct ews_shell_parser *p, struct ews_shell_simple *simple)
{
	unsigned flags = (simple->words_n ? 0 : EWS_SHELL_MAY_ASSIGN) | (p->place.in_test ? EWS_SHELL_PARENS : 0);
	struct ews_shell_word word;
	bool is_array;
	int rc;

	rc = ews_shell_word_read(&word, &p->reader, flags);
	if (rc < 0)
		return rc;
	if (!simple->words_n && is_open_subscript(&word))
		return ews_error(EWS_EUSAGE, "shells differ in where '%s' ends", word.source);
	if (simple->has_both)
		return ews_error(EWS_EUSAGE, "shells differ in what they make of words after \"&>\"");
	if (word.value_at) {
		is_array = !word.text[word.value_at] && !word.gaps_n && !word.is_quoted &&
			   ews_parser_peek(p, 0) == '(';
		add_assignment(p, simple, &word, is_array);
		return is_array ? read_array(p) : 0;
	}
	EWS_GROW(simple->words, simple->words_n, simple->words_cap);
	simple->words[simple->words_n++] = word;
	is_array = !word.gaps_n && *word.text && word.text[strlen(word.text) - 1] == '=' &&
		   ews_parser_peek(p, 0) == '(';
	return is_array && is_declaration(simple) ? read_array(p) : 0;
}

bool ews_simple_is_word(const struct ews_shell_parser *p)
{
	char c = ews_parser_peek(p, 0);

	if (c == '<' || c == '>')
		return ews_parser_peek(p, 1) == '(';
	return !ews_shell_is_meta(c) || (p->place.in_test && (c == '(' || c == ')'));
}

bool ews_simple_is_test(const struct ews_shell_simple *simple)
{
	return simple->words_n && is_bare(&simple->words[0], "[[");
}

void ews_simple_watch_test(struct ews_shell_parser *p, const struct ews_shell_simple *simple)
{
	if (simple->words_n == 1 && ews_simple_is_test(simple))
		p->place.in_test = true;
	if (simple->words_n && is_bare(&simple->words[simple->words_n - 1], "]]"))
		p->place.in_test = false;
}

struct ews_shell_command *ews_simple_emit(struct ews_shell_parser *p, enum ews_shell_kind kind,
					  const struct ews_shell_simple *simple)
{
	size_t words_size = simple->words_n * sizeof(*simple->words);
	size_t assignments_size = simple->assignments_n * sizeof(*simple->assignments);
	struct ews_shell_word *words = ews_arena_alloc(&p->out->arena, words_size);
	struct ews_shell_assignment *assignments = ews_arena_alloc(&p->out->arena, assignments_size);

	if (words_size)
		memcpy(words, simple->words, words_size);
	if (assignments_size)
		memcpy(assignments, simple->assignments, assignments_size);
	EWS_GROW(p->out->commands, p->out->n, p->out->cap);
	p->out->commands[p->out->n] = (struct ews_shell_command){
		.kind = kind,
		.assignments = assignments,
		.assignments_n = simple->assignments_n,
		.words = words,
		.words_n = simple->words_n,
		.redirects = simple->redirects,
		.begin = p->out->n,
		.captured = p->place.captured,
		.is_fed = p->place.fed,
		.in_function = p->place.function,
		.in_loop = p->place.loop,
		.in_test = p->place.in_test,
		.is_certain = !p->place.uncertain,
	};
	p->reader.count++;
	return &p->out->commands[p->out->n++];
}
