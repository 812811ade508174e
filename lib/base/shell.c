/*
 * Shell texts: see shell.h.
 *
 * A descent by the grammar of sh, with a function a rule and no step back.
 * Each level of nesting goes through ews_shell_enter(), which bounds it. Words
 * are read by shell_word, which calls back for the commands in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/shell.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

#define KEYWORD_LEN_MAX 8

/* A here-document whose body has not come yet. */
struct pending {
	struct ews_shell_redirect *redirect;
	const char *delimiter;
	bool strips_tabs;
	bool is_literal;
};

/* In what the reader is. */
struct place {
	unsigned function, loop, uncertain, fed,
		captured; /* how deep in functions, in loops, in what may not run, in what has other input, output */
	bool in_test;
	bool in_arithmetic; /* "((...))", which some shells take for two subshells */
};

struct parser {
	struct ews_shell_reader reader; /* first: read_nested() gets from one to the other */
	struct ews_shell *out;
	struct place place;
	struct pending *pending;
	size_t pending_n, pending_cap;
	size_t pending_outer; /* so many are of commands around this one */
};

/* A simple command that is being read. */
struct simple {
	struct ews_shell_assignment *assignments;
	size_t assignments_n, assignments_cap;
	struct ews_shell_word *words;
	size_t words_n, words_cap;
	struct ews_shell_redirect *redirects, *last;
	bool has_both; /* "&>" was there: to some shells the command ended at "&" */
};

static void simple_release(struct simple *simple)
{
	free(simple->assignments);
	free(simple->words);
}

EWS_CLEANUP_DEFINE(simple, struct simple, simple_release)

#define SIMPLE_INIT { .redirects = NULL }

static char peek(const struct parser *p, unsigned n)
{
	return ews_shell_peek(&p->reader, n);
}

static void skip(struct parser *p, unsigned n)
{
	ews_shell_skip(&p->reader, n);
}

static int fail_at(const struct parser *p)
{
	size_t len = strcspn(p->reader.at, " \t\n");

	if (!*p->reader.at)
		return ews_error(EWS_EUSAGE, "the shell text ends before a command does");
	return ews_error(EWS_EUSAGE, "the shell text can't be read from '%.*s' on", (int)(len < 40 ? len : 40),
			 p->reader.at);
}

/* Copies what a command holds into the arena, so that it stays while others are read. */
static struct ews_shell_command *emit(struct parser *p, enum ews_shell_kind kind, const struct simple *simple)
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

static int read_command(struct parser *p);
static int read_list(struct parser *p);

/* ---- Here-documents ---- */

/*
 * Copy a here-document's body to `body` and go behind its delimiter, which the
 * end of the text is, too. A line that goes on after a backslash is never the
 * delimiter; the line that is put together may be one to some shells.
 */
static int read_lines(struct parser *p, const struct pending *doc, struct ews_buf *body)
{
	const char *delimiter = doc->delimiter;
	size_t delimiter_len = strlen(delimiter), matched = 0;
	bool is_joined = false, matches = true;

	while (*p->reader.at) {
		const char *line = p->reader.at;
		size_t len, n, odd;

		if (doc->strips_tabs)
			line += strspn(line, "\t");
		len = strcspn(line, "\n");
		p->reader.at = line + len + (line[len] == '\n');
		for (odd = 0; !doc->is_literal && odd < len && line[len - 1 - odd] == '\\';)
			odd++;
		n = len - odd % 2;
		matches = (is_joined ? matches : true) && n <= delimiter_len - (is_joined ? matched : 0) &&
			  !memcmp(line, delimiter + (is_joined ? matched : 0), n);
		matched = matches ? (is_joined ? matched : 0) + n : 0;
		if (odd % 2 == 0 && matches && matched == delimiter_len && is_joined)
			return ews_error(EWS_EUSAGE, "shells differ in where a here-document ends");
		if (odd % 2 == 0 && matches && matched == delimiter_len)
			return 0;
		is_joined = odd % 2;
		ews_buf_add(body, line, (size_t)(p->reader.at - line));
	}
	return 0;
}

static int read_body(struct parser *p, const struct pending *doc)
{
	EWS_CLEANUP(buf) struct ews_buf body = EWS_BUF_INIT;
	struct ews_shell_word *target = &doc->redirect->target;
	const char *text, *end;
	int rc;

	rc = read_lines(p, doc, &body);
	if (rc < 0)
		return rc;
	text = ews_arena_dup(&p->out->arena, body.ptr, body.len);
	if (doc->is_literal) {
		*target = (struct ews_shell_word){
			.source = text, .text = text, .prefix_len = body.len, .is_quoted = true
		};
		return 0;
	}
	end = p->reader.at;
	p->reader.at = text;
	rc = ews_shell_word_read_body(target, &p->reader);
	p->reader.at = end;
	return rc;
}

/* Behind a newline: the bodies of the here-documents that the line asked for. */
static int read_bodies(struct parser *p)
{
	EWS_CLEANUP(free) struct pending *docs = NULL;
	size_t n = p->pending_n;
	int rc;

	if (p->pending_outer)
		return ews_error(EWS_EUSAGE, "shells differ in where a here-document begins");
	/* a command in a body may have here-documents of its own */
	docs = ews_steal(&p->pending);
	p->pending_n = p->pending_cap = 0;
	for (size_t i = 0; i < n; i++) {
		rc = read_body(p, &docs[i]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- What stands between words ---- */

static void skip_blanks(struct parser *p)
{
	while (peek(p, 0) == ' ' || peek(p, 0) == '\t')
		skip(p, 1);
	if (peek(p, 0) != '#')
		return;
	skip(p, 1);
	p->reader.at += strcspn(p->reader.at, "\n");
}

static int skip_lines(struct parser *p)
{
	int rc;

	for (skip_blanks(p); peek(p, 0) == '\n'; skip_blanks(p)) {
		skip(p, 1);
		rc = read_bodies(p);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The reserved word that stands here, without quotes; "" when none of the known does. */
static const char *keyword(const struct parser *p)
{
	static const char *const words[] = { "if",   "then", "elif", "else", "fi",   "while",  "until",
					     "do",   "done", "for",  "in",   "case", "select", "function",
					     "esac", "{",    "}",    "!",    "time", "coproc", NULL };
	char text[KEYWORD_LEN_MAX + 2];
	unsigned n = 0;

	while (n <= KEYWORD_LEN_MAX && !ews_shell_is_meta(peek(p, n))) {
		text[n] = peek(p, n);
		n++;
	}
	text[n] = '\0';
	for (size_t i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return words[i];
	return "";
}

static bool is_at(const struct parser *p, const char *word)
{
	return !strcmp(keyword(p), word);
}

static int expect(struct parser *p, const char *word)
{
	int rc;

	rc = skip_lines(p);
	if (rc < 0)
		return rc;
	if (!is_at(p, word))
		return fail_at(p);
	skip(p, (unsigned)strlen(word));
	return 0;
}

/* ---- Simple commands ---- */

static bool is_redirect(const struct parser *p)
{
	unsigned n = 0;

	if (peek(p, 0) == '&')
		return peek(p, 1) == '>';
	while (n < KEYWORD_LEN_MAX && peek(p, n) >= '0' && peek(p, n) <= '9')
		n++;
	return (peek(p, n) == '<' || peek(p, n) == '>') && peek(p, n + 1) != '(';
}

static const char *read_operator(struct parser *p)
{
	static const char *const operators[] = { "&>>", "<<<", "<<-", "&>", "<<", ">>",
						 "<&",  ">&",  "<>",  ">|", "<",  ">" };
	size_t i;

	while (peek(p, 0) >= '0' && peek(p, 0) <= '9')
		skip(p, 1);
	for (i = 0; i + 1 < sizeof(operators) / sizeof(*operators); i++) {
		const char *op = operators[i];

		if (peek(p, 0) == op[0] && (!op[1] || peek(p, 1) == op[1]) &&
		    (!op[1] || !op[2] || peek(p, 2) == op[2]))
			break;
	}
	skip(p, (unsigned)strlen(operators[i]));
	return operators[i];
}

static int read_redirect(struct parser *p, struct simple *simple)
{
	struct ews_shell_redirect *redirect = ews_arena_alloc(&p->out->arena, sizeof(*redirect));
	const char *from, *op = read_operator(p);
	struct ews_shell_word *target = &redirect->target;
	int rc;

	skip_blanks(p);
	from = p->reader.at;
	rc = ews_shell_word_read(target, &p->reader, 0);
	if (rc < 0)
		return rc;
	if (p->reader.at == from)
		return fail_at(p);
	simple->has_both |= op[0] == '&';
	redirect->op = strcmp(op, "<<-") ? op : "<<";
	if (simple->last)
		simple->last->next = redirect;
	else
		simple->redirects = redirect;
	simple->last = redirect;
	if (strcmp(redirect->op, "<<"))
		return 0;
	/* what is shifted to one shell begins a here-document to another, and the lines behind it are its body */
	if (p->place.in_arithmetic)
		return ews_error(EWS_EUSAGE, "shells differ in what they make of \"<<\" within \"((\"");
	if (target->gaps_n)
		return ews_error(EWS_EUSAGE, "shells differ in where a here-document ends");
	EWS_GROW(p->pending, p->pending_n, p->pending_cap);
	p->pending[p->pending_n++] = (struct pending){ redirect, target->text, op[2] == '-', target->is_quoted };
	/* no body comes where the text ends here */
	*target = (struct ews_shell_word){ .source = "", .text = "" };
	return 0;
}

/* A word "NAME=value" as an assignment. */
static void add_assignment(struct parser *p, struct simple *simple, const struct ews_shell_word *word, bool is_part)
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
static int read_array(struct parser *p)
{
	struct ews_shell_word word;
	const char *from;
	int rc;

	skip(p, 1);
	for (;;) {
		rc = skip_lines(p);
		if (rc < 0)
			return rc;
		if (peek(p, 0) == ')')
			break;
		from = p->reader.at;
		rc = ews_shell_word_read(&word, &p->reader, 0);
		if (rc < 0)
			return rc;
		if (p->reader.at == from)
			return fail_at(p);
	}
	skip(p, 1);
	return 0;
}

static bool is_bare(const struct ews_shell_word *word, const char *text)
{
	return !word->is_quoted && !word->unknown && !strcmp(word->text, text);
}

/* Words of these commands may be arrays: "local x=(...)". */
static bool is_declaration(const struct simple *simple)
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

static int read_simple_word(struct parser *p, struct simple *simple)
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
		is_array = !word.text[word.value_at] && !word.gaps_n && !word.is_quoted && peek(p, 0) == '(';
		add_assignment(p, simple, &word, is_array);
		return is_array ? read_array(p) : 0;
	}
	EWS_GROW(simple->words, simple->words_n, simple->words_cap);
	simple->words[simple->words_n++] = word;
	is_array = !word.gaps_n && *word.text && word.text[strlen(word.text) - 1] == '=' && peek(p, 0) == '(';
	return is_array && is_declaration(simple) ? read_array(p) : 0;
}

/* NAME () body; reader->at is at the parentheses, which `function NAME` may go without. */
static int read_function(struct parser *p, const struct simple *head)
{
	size_t at = p->out->n;
	int rc;

	if (peek(p, 0) == '(') {
		skip(p, 1);
		skip_blanks(p);
		if (peek(p, 0) != ')')
			return fail_at(p);
		skip(p, 1);
	}
	if (head->words[0].unknown)
		return fail_at(p);
	rc = skip_lines(p);
	if (rc < 0)
		return rc;
	rc = ews_shell_enter(&p->reader);
	if (rc < 0)
		return rc;
	emit(p, EWS_SHELL_FUNCTION, head);
	p->place.function++;
	p->place.uncertain++;
	rc = read_command(p);
	ews_shell_leave(&p->reader);
	p->place.function--;
	p->place.uncertain--;
	p->out->commands[at].end = p->out->n;
	return rc;
}

static bool is_at_word(const struct parser *p)
{
	char c = peek(p, 0);

	if (c == '<' || c == '>')
		return peek(p, 1) == '(';
	return !ews_shell_is_meta(c) || (p->place.in_test && (c == '(' || c == ')'));
}

/* "[[" as a command's name begins a test, "]]" ends it. */
static void watch_test(struct parser *p, const struct simple *simple)
{
	if (simple->words_n == 1 && is_bare(&simple->words[0], "[["))
		p->place.in_test = true;
	if (simple->words_n && is_bare(&simple->words[simple->words_n - 1], "]]"))
		p->place.in_test = false;
}

static int read_simple(struct parser *p)
{
	EWS_CLEANUP(simple) struct simple simple = SIMPLE_INIT;
	bool in_test = p->place.in_test;
	int rc = 0;

	for (skip_blanks(p); rc == 0; skip_blanks(p)) {
		bool is_head = simple.words_n == 1 && !simple.assignments_n && !simple.redirects;

		if (is_redirect(p)) {
			rc = read_redirect(p, &simple);
		} else if (is_at_word(p)) {
			rc = read_simple_word(p, &simple);
			watch_test(p, &simple);
		} else if (is_head && peek(p, 0) == '(') {
			return read_function(p, &simple);
		} else {
			break;
		}
	}
	if (rc < 0)
		return rc;
	if (!simple.words_n && !simple.assignments_n && !simple.redirects)
		return fail_at(p);
	in_test |= simple.words_n && is_bare(&simple.words[0], "[[");
	emit(p, EWS_SHELL_COMMAND, &simple)->in_test = in_test;
	return 0;
}

/* ---- Compound commands ---- */

/* A list that may not run, or not once. */
static int read_branch(struct parser *p)
{
	int rc;

	p->place.uncertain++;
	rc = read_list(p);
	p->place.uncertain--;
	return rc;
}

/* What is done to the shell by the commands from `from` on ends here. */
static void end_subshell(struct parser *p, size_t from)
{
	for (; from < p->out->n; from++)
		if (!p->out->commands[from].subshell_end)
			p->out->commands[from].subshell_end = p->out->n;
}

static int read_subshell(struct parser *p)
{
	size_t from = p->out->n;
	int rc;

	skip(p, 1);
	rc = read_branch(p);
	if (rc < 0)
		return rc;
	if (peek(p, 0) != ')')
		return fail_at(p);
	skip(p, 1);
	end_subshell(p, from);
	return 0;
}

/* Does "))" stand where the parentheses of the "((" here are balanced? */
static bool is_arithmetic(const struct parser *p)
{
	const char *at = strchr(p->reader.at, '(');
	size_t open = 0;

	if (peek(p, 0) != '(' || peek(p, 1) != '(')
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
static int read_arithmetic(struct parser *p)
{
	struct place place = p->place;
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

static int read_group(struct parser *p)
{
	int rc;

	rc = read_list(p);
	if (rc < 0)
		return rc;
	return expect(p, "}");
}

static int read_if(struct parser *p)
{
	int rc;

	rc = read_list(p);
	while (rc == 0) {
		rc = expect(p, "then");
		if (rc < 0)
			return rc;
		rc = read_branch(p);
		if (rc < 0)
			return rc;
		if (!is_at(p, "elif"))
			break;
		skip(p, 4);
		rc = read_branch(p);
	}
	if (rc < 0)
		return rc;
	if (is_at(p, "else")) {
		skip(p, 4);
		rc = read_branch(p);
		if (rc < 0)
			return rc;
	}
	return expect(p, "fi");
}

static int read_do(struct parser *p)
{
	int rc;

	rc = expect(p, "do");
	if (rc < 0)
		return rc;
	p->place.loop++;
	rc = read_branch(p);
	p->place.loop--;
	if (rc < 0)
		return rc;
	return expect(p, "done");
}

static int read_while(struct parser *p)
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
static int read_for_counted(struct parser *p)
{
	unsigned open = 0;

	for (skip(p, 2); open || peek(p, 0) != ')'; skip(p, 1)) {
		char c = peek(p, 0);

		if (!c || strchr("\"'`\\", c) || (c == '$' && peek(p, 1) == '('))
			return fail_at(p);
		open += (c == '(');
		open -= (c == ')');
	}
	if (peek(p, 1) != ')')
		return fail_at(p);
	skip(p, 2);
	return 0;
}

static int read_for_words(struct parser *p, struct simple *simple)
{
	struct ews_shell_word word;
	int rc;

	rc = skip_lines(p);
	if (rc < 0)
		return rc;
	if (!is_at(p, "in"))
		return 0;
	skip(p, 2);
	for (skip_blanks(p); is_at_word(p); skip_blanks(p)) {
		rc = ews_shell_word_read(&word, &p->reader, 0);
		if (rc < 0)
			return rc;
		EWS_GROW(simple->words, simple->words_n, simple->words_cap);
		simple->words[simple->words_n++] = word;
	}
	return 0;
}

static int read_for(struct parser *p)
{
	EWS_CLEANUP(simple) struct simple simple = SIMPLE_INIT;
	size_t at;
	int rc;

	skip_blanks(p);
	if (peek(p, 0) == '(' && peek(p, 1) == '(') {
		rc = read_for_counted(p);
	} else {
		rc = read_simple_word(p, &simple);
		if (rc < 0)
			return rc;
		if (!simple.words_n || simple.words[0].unknown)
			return fail_at(p);
		rc = read_for_words(p, &simple);
	}
	if (rc < 0)
		return rc;
	at = p->out->n;
	if (simple.words_n)
		emit(p, EWS_SHELL_FOR, &simple);
	skip_blanks(p);
	if (peek(p, 0) == ';')
		skip(p, 1);
	rc = read_do(p);
	if (rc < 0)
		return rc;
	if (simple.words_n)
		p->out->commands[at].end = p->out->n;
	return 0;
}

/* One pattern of a case, or several parted by "|", up to its ")". */
static int read_patterns(struct parser *p)
{
	struct ews_shell_word word;
	int rc;

	do {
		if (peek(p, 0) == '(' || peek(p, 0) == '|')
			skip(p, 1);
		skip_blanks(p);
		if (!is_at_word(p))
			return fail_at(p);
		rc = ews_shell_word_read(&word, &p->reader, 0);
		if (rc < 0)
			return rc;
		skip_blanks(p);
	} while (peek(p, 0) == '|');
	if (peek(p, 0) != ')')
		return fail_at(p);
	skip(p, 1);
	return 0;
}

static int read_case(struct parser *p)
{
	struct ews_shell_word word;
	int rc;

	skip_blanks(p);
	rc = ews_shell_word_read(&word, &p->reader, 0);
	if (rc < 0)
		return rc;
	rc = expect(p, "in");
	if (rc < 0)
		return rc;
	for (;;) {
		rc = skip_lines(p);
		if (rc < 0)
			return rc;
		if (is_at(p, "esac"))
			break;
		rc = read_patterns(p);
		if (rc < 0)
			return rc;
		rc = read_branch(p);
		if (rc < 0)
			return rc;
		if (peek(p, 0) == ';')
			skip(p, peek(p, 1) == ';' && peek(p, 2) == '&' ? 3 : 2);
	}
	skip(p, 4);
	return 0;
}

static int read_function_word(struct parser *p)
{
	EWS_CLEANUP(simple) struct simple simple = SIMPLE_INIT;
	int rc;

	skip_blanks(p);
	rc = read_simple_word(p, &simple);
	if (rc < 0)
		return rc;
	if (!simple.words_n)
		return fail_at(p);
	skip_blanks(p);
	return read_function(p, &simple);
}

static const struct {
	const char *word;
	int (*read)(struct parser *p);
} compounds[] = {
	{ "{", read_group }, { "if", read_if },      { "while", read_while }, { "until", read_while },
	{ "for", read_for }, { "select", read_for }, { "case", read_case },   { "function", read_function_word },
};

#define COMPOUNDS_N (sizeof(compounds) / sizeof(*compounds))

static size_t compound_here(const struct parser *p)
{
	const char *word = keyword(p);
	size_t i;

	for (i = 0; i < COMPOUNDS_N && strcmp(compounds[i].word, word); i++)
		;
	return i;
}

/* Redirections behind a compound command are those of all that is in it. */
static int read_redirects(struct parser *p, size_t from)
{
	EWS_CLEANUP(simple) struct simple simple = SIMPLE_INIT;
	size_t to = p->out->n;
	int rc;

	for (skip_blanks(p); is_redirect(p); skip_blanks(p)) {
		rc = read_redirect(p, &simple);
		if (rc < 0)
			return rc;
	}
	if (!simple.redirects)
		return 0;
	emit(p, EWS_SHELL_COMMAND, &simple)->begin = from;
	for (const struct ews_shell_redirect *at = simple.redirects; at; at = at->next)
		for (size_t i = from; at->op[0] == '<' && i < to; i++)
			p->out->commands[i].is_fed = true;
	return 0;
}

static int read_command(struct parser *p)
{
	size_t from = p->out->n, i = compound_here(p);
	int rc;

	if (p->place.in_test || (i == COMPOUNDS_N && peek(p, 0) != '('))
		return is_at(p, "coproc") ? fail_at(p) : read_simple(p);
	rc = ews_shell_enter(&p->reader);
	if (rc < 0)
		return rc;
	if (i < COMPOUNDS_N)
		skip(p, (unsigned)strlen(compounds[i].word));
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

static void mark_uncertain(struct parser *p, size_t from)
{
	for (; from < p->out->n; from++)
		p->out->commands[from].is_certain = false;
}

/* "!", and "time" where it is no command's name: before a compound command. */
static void skip_prefixes(struct parser *p)
{
	const char *from;

	for (skip_blanks(p); is_at(p, "!"); skip_blanks(p))
		skip(p, 1);
	if (!is_at(p, "time"))
		return;
	from = p->reader.at;
	skip(p, 4);
	skip_blanks(p);
	if (compound_here(p) == COMPOUNDS_N && peek(p, 0) != '(')
		p->reader.at = from;
}

static int read_pipeline(struct parser *p)
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
		skip_blanks(p);
		if (peek(p, 0) != '|' || peek(p, 1) == '|')
			break;
		skip(p, peek(p, 1) == '&' ? 2 : 1);
		rc = skip_lines(p);
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

static int read_and_or(struct parser *p)
{
	unsigned uncertain = p->place.uncertain;
	int rc;

	for (;;) {
		rc = read_pipeline(p);
		if (rc < 0)
			return rc;
		if (peek(p, 0) != peek(p, 1) || (peek(p, 0) != '&' && peek(p, 0) != '|'))
			break;
		skip(p, 2);
		rc = skip_lines(p);
		if (rc < 0)
			return rc;
		p->place.uncertain = uncertain + 1;
	}
	p->place.uncertain = uncertain;
	return 0;
}

static bool is_list_end(const struct parser *p)
{
	static const char *const words[] = { "then", "elif", "else", "fi", "do", "done", "esac", "}" };
	char c = peek(p, 0);

	if (!c || c == ')' || c == ';')
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (is_at(p, words[i]))
			return true;
	return false;
}

/* Commands up to what can't begin one; whether that may stand there is for the caller to say. */
static int read_list(struct parser *p)
{
	size_t from;
	int rc;

	for (;;) {
		rc = skip_lines(p);
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
		if (peek(p, 0) == '&') {
			mark_uncertain(p, from);
			skip(p, 1);
		} else if (peek(p, 0) == ';' && peek(p, 1) != ';' && peek(p, 1) != '&') {
			skip(p, 1);
		} else if (peek(p, 0) != '\n') {
			return 0;
		}
	}
}

/* The commands of a substitution. */
static int read_nested(struct ews_shell_reader *reader, char end)
{
	struct parser *p = (struct parser *)reader;
	struct place place = p->place;
	size_t outer = p->pending_outer, n = p->pending_n, from = p->out->n;
	int rc;

	p->place.in_test = p->place.in_arithmetic = false;
	p->place.uncertain++;
	p->place.captured++;
	p->pending_outer = n;
	rc = read_list(p);
	if (rc < 0)
		return rc;
	if (p->pending_n > n)
		return ews_error(EWS_EUSAGE, "the shell text has a substitution that ends before its here-document");
	if (peek(p, 0) != end)
		return fail_at(p);
	/* line continuations aside */
	while (*p->reader.at != end)
		p->reader.at++;
	end_subshell(p, from);
	p->pending_outer = outer;
	p->place = place;
	return 0;
}

static int read_all(struct parser *p)
{
	int rc;

	rc = read_list(p);
	if (rc < 0)
		return rc;
	return peek(p, 0) ? fail_at(p) : 0;
}

int ews_shell_parse(struct ews_shell *out, const char *text)
{
	EWS_CLEANUP(shell) struct ews_shell made = EWS_SHELL_INIT;
	struct parser p = { .reader = { .at = text, .arena = &made.arena, .nested = read_nested }, .out = &made };
	int rc;

	rc = read_all(&p);
	free(p.pending);
	if (rc < 0)
		return rc;
	*out = made;
	made = (struct ews_shell)EWS_SHELL_INIT;
	return 0;
}

void ews_shell_release(struct ews_shell *shell)
{
	free(shell->commands);
	ews_arena_release(&shell->arena);
	*shell = (struct ews_shell)EWS_SHELL_INIT;
}

bool ews_shell_redirect_writes(const struct ews_shell_redirect *redirect)
{
	return strchr(redirect->op, '>') != NULL;
}
