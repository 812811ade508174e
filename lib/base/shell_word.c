/*
 * Shell words: see shell_word.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/shell_word.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"

#define BRACES_MAX 64 /* as many as a mask has bits */

enum quoting { BARE, IN_QUOTES, IN_BODY };

/* A word that is being read. */
struct reading {
	struct ews_shell_reader *reader;
	struct ews_buf text;
	struct ews_shell_gap *gaps;
	size_t gaps_n, gaps_cap;
	size_t known_len; /* what is known to be at the beginning */
	enum ews_shell_unknown unknown;
	bool can_split, can_be_many, is_quoted;
	bool may_assign;
	size_t value_at;
	size_t bracket_at; /* the first "[", SIZE_MAX: none */
	size_t brace_at; /* the outermost "{" that is open, or was */
	unsigned braces; /* how many are open */
	uint64_t parted; /* which of these hold a "," or ".." */
};

static void reading_release(struct reading *word)
{
	ews_buf_release(&word->text);
	free(word->gaps);
}

EWS_CLEANUP_DEFINE(reading, struct reading, reading_release)

#define READING_INIT(from)                                                                            \
	{                                                                                             \
		.reader = (from), .text = EWS_BUF_INIT, .known_len = SIZE_MAX, .bracket_at = SIZE_MAX \
	}

static const char *past_joins(const char *at)
{
	while (at[0] == '\\' && at[1] == '\n')
		at += 2;
	return at;
}

char ews_shell_peek(const struct ews_shell_reader *reader, unsigned n)
{
	const char *at = past_joins(reader->at);

	while (n-- && *at)
		at = past_joins(at + 1);
	return *at;
}

void ews_shell_skip(struct ews_shell_reader *reader, unsigned n)
{
	while (n--) {
		reader->at = past_joins(reader->at);
		if (*reader->at)
			reader->at++;
	}
}

bool ews_shell_is_meta(char c)
{
	return !c || strchr(" \t\n;&|<>()", c);
}

static bool is_name(char c, bool is_first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!is_first && c >= '0' && c <= '9');
}

int ews_shell_enter(struct ews_shell_reader *reader)
{
	if (reader->depth == EWS_SHELL_DEPTH_MAX)
		return ews_error(EWS_EUSAGE, "the shell text is nested too deeply");
	reader->depth++;
	return 0;
}

void ews_shell_leave(struct ews_shell_reader *reader)
{
	reader->depth--;
}

static int fail_unclosed(const char *what)
{
	return ews_error(EWS_EUSAGE, "the shell text ends within %s", what);
}

static int fail_unclear(const char *what)
{
	return ews_error(EWS_EUSAGE, "shells differ in what they make of %s", what);
}

/* From `at` on the word is not what is written. */
static void note(struct reading *word, size_t at, enum ews_shell_unknown why)
{
	if (at >= word->known_len)
		return;
	word->known_len = at;
	word->unknown = why;
}

static void add_gap(struct reading *word, enum ews_shell_unknown why, const char *name, bool is_quoted)
{
	note(word, word->text.len, why);
	EWS_GROW(word->gaps, word->gaps_n, word->gaps_cap);
	word->gaps[word->gaps_n++] =
		(struct ews_shell_gap){ .at = word->text.len, .why = why, .name = name, .is_quoted = is_quoted };
	/* a number splits into numbers at most */
	if (!is_quoted && why != EWS_SHELL_PIPE && why != EWS_SHELL_NUMBER)
		word->can_split = true;
}

static int read_nested(struct ews_shell_reader *reader, char end)
{
	int rc;

	rc = ews_shell_enter(reader);
	if (rc < 0)
		return rc;
	rc = reader->nested(reader, end);
	ews_shell_leave(reader);
	if (rc < 0)
		return rc;
	if (*reader->at != end)
		return end ? fail_unclosed("a substitution")
			   : ews_error(EWS_EUSAGE, "the shell text has a ')' too many");
	if (end)
		reader->at++;
	return 0;
}

/* The commands between backquotes are a text of their own, with a level of backslashes taken off. */
static int read_backquoted(struct ews_shell_reader *reader, bool in_quotes)
{
	EWS_CLEANUP(buf) struct ews_buf inner = EWS_BUF_INIT;
	const char *at, *end;
	int rc;

	for (at = reader->at + 1; *at != '`'; at++) {
		if (!*at)
			return fail_unclosed("backquotes");
		if (*at == '\\' && (at[1] == '$' || at[1] == '`' || at[1] == '\\' || (in_quotes && at[1] == '"')))
			at++;
		ews_buf_addc(&inner, *at);
	}
	end = at + 1;
	reader->at = ews_arena_dup(reader->arena, inner.ptr, inner.len);
	rc = read_nested(reader, '\0');
	reader->at = end;
	return rc;
}

/* The commands of a substitution have been read; those from `from` on are what its gap is made of. */
static int close_output(struct reading *word, size_t from, int rc)
{
	word->gaps[word->gaps_n - 1].from = from;
	word->gaps[word->gaps_n - 1].to = word->reader->count;
	return rc;
}

/* Backquotes that give a part of the word. */
static int read_output(struct reading *word, enum quoting quoting)
{
	size_t from = word->reader->count;

	add_gap(word, EWS_SHELL_OUTPUT, NULL, quoting != BARE);
	return close_output(word, from, read_backquoted(word->reader, quoting == IN_QUOTES));
}

static int read_dollar(struct reading *word, enum quoting quoting);

static int read_quoted(struct reading *word)
{
	struct ews_shell_reader *reader = word->reader;
	int rc = 0;

	word->is_quoted = true;
	reader->at++;
	while (rc == 0 && *reader->at != '"') {
		if (!*reader->at)
			return fail_unclosed("double quotes");
		if (*reader->at == '$') {
			rc = read_dollar(word, IN_QUOTES);
			continue;
		}
		if (*reader->at == '`') {
			rc = read_output(word, IN_QUOTES);
			continue;
		}
		if (reader->at[0] == '\\' && reader->at[1] == '\n') {
			reader->at += 2;
			continue;
		}
		if (reader->at[0] == '\\' && reader->at[1] && strchr("$`\"\\", reader->at[1]))
			reader->at++;
		ews_buf_addc(&word->text, *reader->at++);
	}
	if (rc == 0)
		reader->at++;
	return rc;
}

static int read_single_quoted(struct reading *word)
{
	const char *from = word->reader->at + 1, *end = strchr(from, '\'');

	if (!end)
		return fail_unclosed("single quotes");
	word->is_quoted = true;
	ews_buf_add(&word->text, from, (size_t)(end - from));
	word->reader->at = end + 1;
	return 0;
}

/* $'...' is one word to one shell and a dollar before quotes to another; both must see the same end. */
static int read_escaped(struct reading *word)
{
	const char *from = word->reader->at, *at;

	from = strchr(from, '\'') + 1;
	for (at = from; *at != '\''; at++) {
		if (*at == '\\' && at[1] == '\'')
			return fail_unclear("\\' within $'...'");
		if (*at == '\\' && at[1])
			at++;
		if (!*at)
			return fail_unclosed("$'...'");
	}
	word->is_quoted = true;
	add_gap(word, EWS_SHELL_ESCAPES, NULL, true);
	ews_buf_add(&word->text, from, (size_t)(at - from));
	word->reader->at = at + 1;
	return 0;
}

/*
 * $((...)). A shell that finds no "))" where the parentheses are balanced may
 * read commands instead; all is well only where nothing of that kind can be.
 */
static int read_arithmetic(struct reading *word)
{
	EWS_CLEANUP(reading) struct reading inner = READING_INIT(word->reader);
	struct ews_shell_reader *reader = word->reader;
	bool in_quotes = false;
	unsigned open = 0;
	int rc = 0;

	ews_shell_skip(reader, 3);
	while (rc == 0) {
		char c = ews_shell_peek(reader, 0);

		if (!c)
			return fail_unclosed("an arithmetic expansion");
		if (c == '\'' || (in_quotes && (c == '(' || c == ')')))
			return fail_unclear("quotes in an arithmetic expansion");
		if (c == ')' && !open)
			break;
		if (c == '$') {
			rc = read_dollar(&inner, IN_QUOTES);
			continue;
		}
		if (c == '`') {
			reader->at = past_joins(reader->at);
			rc = read_backquoted(reader, true);
			continue;
		}
		open += (c == '(');
		open -= (c == ')');
		in_quotes ^= (c == '"');
		ews_shell_skip(reader, c == '\\' ? 2 : 1);
	}
	if (rc < 0)
		return rc;
	if (ews_shell_peek(reader, 1) != ')')
		return fail_unclear("\"$((\" without \"))\"");
	ews_shell_skip(reader, 2);
	return 0;
}

/* A quote in the braces of an expansion within quotes: a letter, where the next one can't hide anything. */
static int read_quote_in_braces(struct ews_shell_reader *reader, bool is_pattern)
{
	size_t len = strcspn(reader->at + 1, "'}\"`$\\");

	if (is_pattern && reader->at[1 + len] != '\'')
		return fail_unclear("a quote in the braces of an expansion");
	reader->at += is_pattern ? len + 2 : 1;
	return 0;
}

/* What stands between the parameter and the "}". */
static int read_braces_rest(struct reading *word, enum quoting quoting)
{
	EWS_CLEANUP(reading) struct reading inner = READING_INIT(word->reader);
	struct ews_shell_reader *reader = word->reader;
	bool is_pattern = !strchr(":-=?+", ews_shell_peek(reader, 0));
	int rc = 0;

	while (rc == 0) {
		reader->at = past_joins(reader->at);
		switch (*reader->at) {
		case '\0':
			return fail_unclosed("\"${\"");
		case '}':
			reader->at++;
			return 0;
		case '\\':
			reader->at += reader->at[1] ? 2 : 1;
			break;
		case '\'':
			rc = quoting == BARE ? read_single_quoted(&inner) : read_quote_in_braces(reader, is_pattern);
			break;
		case '"':
			rc = quoting == IN_BODY ? fail_unclear("quotes in a here-document's expansion")
						: read_quoted(&inner);
			break;
		case '$':
			rc = read_dollar(&inner, quoting);
			break;
		case '`':
			rc = read_backquoted(reader, quoting != BARE);
			break;
		default:
			reader->at++;
		}
	}
	return rc;
}

/* ${...}; "${x@Q}" and "${x[@]}" may be many words. */
static int read_braces(struct reading *word, enum quoting quoting)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	struct ews_shell_reader *reader = word->reader;
	const char *from = reader->at;
	char c;
	int rc;

	ews_shell_skip(reader, 2);
	c = ews_shell_peek(reader, 0);
	if (!is_name(c, false) && (!c || !strchr("@*#?-$!", c)))
		return ews_error(EWS_EUSAGE, "the shell text has a \"${\" without a name");
	if (c == '$' && ews_shell_peek(reader, 1) == '(')
		return fail_unclear("\"${$(\"");
	while (is_name(ews_shell_peek(reader, 0), false)) {
		ews_buf_addc(&name, ews_shell_peek(reader, 0));
		ews_shell_skip(reader, 1);
	}
	if (!name.len)
		ews_shell_skip(reader, 1);
	if (name.len && ews_shell_peek(reader, 0) == '}')
		add_gap(word, EWS_SHELL_VARIABLE, ews_arena_dup(reader->arena, name.ptr, name.len), quoting != BARE);
	else
		add_gap(word, EWS_SHELL_VARIABLE, NULL, quoting != BARE);
	rc = read_braces_rest(word, quoting);
	if (rc < 0)
		return rc;
	if (memchr(from, '@', (size_t)(reader->at - from)))
		word->can_split = true;
	return 0;
}

static void read_name(struct reading *word, enum quoting quoting)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	struct ews_shell_reader *reader = word->reader;

	ews_shell_skip(reader, 1);
	while (is_name(ews_shell_peek(reader, 0), !name.len)) {
		ews_buf_addc(&name, ews_shell_peek(reader, 0));
		ews_shell_skip(reader, 1);
	}
	add_gap(word, EWS_SHELL_VARIABLE, ews_arena_dup(reader->arena, name.ptr, name.len), quoting != BARE);
}

/* "$(", "$((" or "${": something that may hold another of its kind. */
static int read_deeper(struct reading *word, enum quoting quoting)
{
	struct ews_shell_reader *reader = word->reader;
	size_t from = reader->count;
	int rc;

	if (ews_shell_peek(reader, 1) == '{')
		return read_braces(word, quoting);
	if (ews_shell_peek(reader, 2) == '(') {
		rc = read_arithmetic(word);
		add_gap(word, EWS_SHELL_NUMBER, NULL, quoting != BARE);
		return rc;
	}
	ews_shell_skip(reader, 2);
	add_gap(word, EWS_SHELL_OUTPUT, NULL, quoting != BARE);
	return close_output(word, from, read_nested(reader, ')'));
}

static int read_dollar(struct reading *word, enum quoting quoting)
{
	struct ews_shell_reader *reader = word->reader;
	char next = ews_shell_peek(reader, 1);
	int rc;

	if (next == '(' || next == '{') {
		rc = ews_shell_enter(reader);
		if (rc < 0)
			return rc;
		rc = read_deeper(word, quoting);
		ews_shell_leave(reader);
		return rc;
	}
	if (next == '[')
		return fail_unclear("\"$[\"");
	if (quoting == BARE && next == '\'')
		return read_escaped(word);
	if (is_name(next, true)) {
		read_name(word, quoting);
		return 0;
	}
	ews_shell_skip(reader, 1);
	if (quoting == BARE && next == '"') {
		add_gap(word, EWS_SHELL_ESCAPES, NULL, true);
		return 0;
	}
	if (!next || !strchr("0123456789@*#?-$!", next)) {
		ews_buf_addc(&word->text, '$');
		return 0;
	}
	ews_shell_skip(reader, 1);
	add_gap(word, strchr("#?$", next) ? EWS_SHELL_NUMBER : EWS_SHELL_VARIABLE, NULL, quoting != BARE);
	if (next == '@')
		word->can_split = true;
	return 0;
}

/* <(...) and >(...): a name that the shell makes up. */
static int read_process(struct reading *word)
{
	word->reader->feeds_nested = ews_shell_peek(word->reader, 0) == '>';
	ews_shell_skip(word->reader, 2);
	ews_buf_adds(&word->text, "/dev/fd/");
	add_gap(word, EWS_SHELL_PIPE, NULL, false);
	return read_nested(word->reader, ')');
}

/* Is what was read so far "name" or "name[...]", perhaps with "+", so that "=" makes an assignment of it? */
static bool is_assignable(const struct reading *word)
{
	const char *text = word->text.ptr;
	size_t len = word->text.len, n = 0;

	while (n < len && is_name(text[n], !n))
		n++;
	if (!n || (word->gaps_n && word->gaps[0].at <= n))
		return false;
	if (len && text[len - 1] == '+')
		len--;
	return n == len || (text[n] == '[' && text[len - 1] == ']');
}

static void close_brace(struct reading *word)
{
	if (!word->braces)
		return;
	word->braces--;
	if (!(word->parted >> word->braces & 1))
		return;
	note(word, word->brace_at, EWS_SHELL_BRACES);
	word->can_be_many = true;
}

/* A tilde expands where a slash or the end follows its name, and nothing of that is quoted. */
static bool is_home(const struct ews_shell_reader *reader)
{
	const char *at = past_joins(reader->at) + 1;

	while (is_name(*at, false) || *at == '.' || *at == '-' || *at == '+')
		at++;
	at = past_joins(at);
	return *at == '/' || *at == ':' || ews_shell_is_meta(*at);
}

/* A character outside of quotes, which may have a meaning by itself. */
static int read_bare(struct reading *word, char c)
{
	size_t len = word->text.len;
	const char *text = word->text.ptr;

	switch (c) {
	case '=':
		if (!word->may_assign || word->value_at || word->is_quoted || !is_assignable(word))
			break;
		word->value_at = len + 1;
		word->known_len = SIZE_MAX;
		word->unknown = EWS_SHELL_KNOWN;
		word->can_split = word->can_be_many = false;
		word->gaps_n = 0;
		break;
	case '~':
		if ((!len && !word->is_quoted && !word->gaps_n) || (len > 1 && strchr("=:", text[len - 1])))
			if (is_home(word->reader))
				note(word, len, EWS_SHELL_HOME);
		break;
	case '*':
	case '?':
		if (!word->value_at)
			note(word, len, EWS_SHELL_PATTERN);
		word->can_be_many |= !word->value_at;
		break;
	case '[':
		if (word->bracket_at == SIZE_MAX)
			word->bracket_at = len;
		break;
	case ']':
		if (word->value_at || word->bracket_at == SIZE_MAX || word->bracket_at + 1 == len)
			break;
		note(word, word->bracket_at, EWS_SHELL_PATTERN);
		word->can_be_many = true;
		break;
	case '{':
		if (word->braces == BRACES_MAX)
			return ews_error(EWS_EUSAGE, "the shell text is nested too deeply");
		if (!word->braces)
			word->brace_at = len;
		word->parted &= ~(1ull << word->braces++);
		break;
	case ',':
	case '.':
		if (word->braces && (c == ',' || (len && text[len - 1] == '.')))
			word->parted |= 1ull << (word->braces - 1);
		break;
	case '}':
		if (!word->value_at)
			close_brace(word);
		break;
	}
	ews_buf_addc(&word->text, c);
	ews_shell_skip(word->reader, 1);
	return 0;
}

static int read_piece(struct reading *word, char c)
{
	struct ews_shell_reader *reader = word->reader;

	reader->at = past_joins(reader->at);
	switch (c) {
	case '\'':
		return read_single_quoted(word);
	case '"':
		return read_quoted(word);
	case '$':
		return read_dollar(word, BARE);
	case '`':
		return read_output(word, BARE);
	case '<':
	case '>':
		return read_process(word);
	case '\\':
		if (reader->at[1])
			reader->at++;
		word->is_quoted = true;
		ews_buf_addc(&word->text, *reader->at++);
		return 0;
	}
	return read_bare(word, c);
}

/* Nothing of a word may lie where the next one is read. */
static void settle(struct ews_shell_word *out, struct reading *word, const char *from)
{
	struct ews_arena *arena = word->reader->arena;
	size_t size = word->gaps_n * sizeof(*word->gaps), base = word->value_at;
	struct ews_shell_gap *gaps = ews_arena_alloc(arena, size);

	if (size)
		memcpy(gaps, word->gaps, size);
	*out = (struct ews_shell_word){
		.source = ews_arena_dup(arena, from, (size_t)(word->reader->at - from)),
		.text = ews_arena_dup(arena, word->text.ptr, word->text.len),
		.prefix_len = word->known_len < word->text.len ? word->known_len : word->text.len,
		.unknown = word->unknown,
		.can_split = word->can_split && !base,
		.can_be_many = word->can_be_many,
		.is_quoted = word->is_quoted,
		.value_at = base,
		.gaps = gaps,
		.gaps_n = word->gaps_n,
	};
}

static bool goes_on(const struct ews_shell_reader *reader, char c, unsigned flags)
{
	if (!ews_shell_is_meta(c))
		return true;
	if (c == '<' || c == '>')
		return ews_shell_peek(reader, 1) == '(';
	return (c == '(' || c == ')') && (flags & EWS_SHELL_PARENS);
}

int ews_shell_word_read(struct ews_shell_word *out, struct ews_shell_reader *reader, unsigned flags)
{
	EWS_CLEANUP(reading) struct reading word = READING_INIT(reader);
	const char *from = reader->at;
	char c;
	int rc;

	word.may_assign = flags & EWS_SHELL_MAY_ASSIGN;
	for (c = ews_shell_peek(reader, 0); goes_on(reader, c, flags); c = ews_shell_peek(reader, 0)) {
		rc = read_piece(&word, c);
		if (rc < 0)
			return rc;
	}
	settle(out, &word, from);
	return 0;
}

int ews_shell_word_read_body(struct ews_shell_word *out, struct ews_shell_reader *reader)
{
	EWS_CLEANUP(reading) struct reading word = READING_INIT(reader);
	const char *from = reader->at;
	int rc = 0;

	while (rc == 0 && *reader->at) {
		if (*reader->at == '$') {
			rc = read_dollar(&word, IN_BODY);
			continue;
		}
		if (*reader->at == '`') {
			rc = read_output(&word, IN_BODY);
			continue;
		}
		if (reader->at[0] == '\\' && reader->at[1] == '\n') {
			reader->at += 2;
			continue;
		}
		if (reader->at[0] == '\\' && reader->at[1] && strchr("$`\\", reader->at[1]))
			reader->at++;
		ews_buf_addc(&word.text, *reader->at++);
	}
	if (rc < 0)
		return rc;
	settle(out, &word, from);
	return 0;
}

void ews_shell_quote(struct ews_buf *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./^~-";

	if (*text && *text != '~' && !text[strspn(text, plain)]) {
		ews_buf_adds(out, text);
		return;
	}
	ews_buf_addc(out, '\'');
	for (; *text; text++)
		if (*text == '\'')
			ews_buf_adds(out, "'\\''");
		else
			ews_buf_addc(out, *text);
	ews_buf_addc(out, '\'');
}

static bool is_shown(const char *text)
{
	size_t len = 1;

	for (; *text && len; text += len)
		len = ews_utf8_shown_len(text);
	return !*text && len;
}

char *ews_shell_shown(const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	if (is_shown(text)) {
		ews_shell_quote(&out, text);
		return ews_buf_steal(&out);
	}
	ews_buf_adds(&out, "$'");
	while (*text) {
		size_t len = *text == '\'' || *text == '\\' ? 0 : ews_utf8_shown_len(text);

		if (len)
			ews_buf_add(&out, text, len);
		else
			ews_buf_addf(&out, "\\%03o", (unsigned char)*text);
		text += len ? len : 1;
	}
	ews_buf_addc(&out, '\'');
	return ews_buf_steal(&out);
}
