/*
 * The shell's parser: see shell_parser.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/shell_parser.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

#define KEYWORD_LEN_MAX 8

/* A here-document whose body has not come yet. */
struct ews_shell_pending {
	struct ews_shell_redirect *redirect;
	const char *delimiter;
	bool strips_tabs;
	bool is_literal;
};

int ews_parser_fail(const struct ews_shell_parser *p)
{
	size_t len = strcspn(p->reader.at, " \t\n");

	if (!*p->reader.at)
		return ews_error(EWS_EUSAGE, "the shell text ends before a command does");
	return ews_error(EWS_EUSAGE, "the shell text can't be read from '%.*s' on", (int)(len < 40 ? len : 40),
			 p->reader.at);
}

/* ---- Here-documents ---- */

/*
 * Copy a here-document's body to `body` and go behind its delimiter, which the
 * end of the text is, too. A line that goes on after a backslash is never the
 * delimiter; the line that is put together may be one to some shells.
 */
static int read_lines(struct ews_shell_parser *p, const struct ews_shell_pending *doc, struct ews_buf *body)
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

static int read_body(struct ews_shell_parser *p, const struct ews_shell_pending *doc)
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
static int read_bodies(struct ews_shell_parser *p)
{
	EWS_CLEANUP(free) struct ews_shell_pending *docs = NULL;
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

int ews_parser_await(struct ews_shell_parser *p, struct ews_shell_redirect *redirect, bool strips_tabs)
{
	struct ews_shell_word *target = &redirect->target;

	/* what is shifted to one shell begins a here-document to another, and the lines behind it are its body */
	if (p->place.in_arithmetic)
		return ews_error(EWS_EUSAGE, "shells differ in what they make of \"<<\" within \"((\"");
	if (target->gaps_n)
		return ews_error(EWS_EUSAGE, "shells differ in where a here-document ends");
	EWS_GROW(p->pending, p->pending_n, p->pending_cap);
	p->pending[p->pending_n++] =
		(struct ews_shell_pending){ redirect, target->text, strips_tabs, target->is_quoted };
	/* no body comes where the text ends here */
	*target = (struct ews_shell_word){ .source = "", .text = "" };
	return 0;
}

/* ---- What stands between words ---- */

void ews_parser_skip_blanks(struct ews_shell_parser *p)
{
	while (ews_parser_peek(p, 0) == ' ' || ews_parser_peek(p, 0) == '\t')
		ews_parser_skip(p, 1);
	if (ews_parser_peek(p, 0) != '#')
		return;
	ews_parser_skip(p, 1);
	p->reader.at += strcspn(p->reader.at, "\n");
}

int ews_parser_skip_lines(struct ews_shell_parser *p)
{
	int rc;

	for (ews_parser_skip_blanks(p); ews_parser_peek(p, 0) == '\n'; ews_parser_skip_blanks(p)) {
		ews_parser_skip(p, 1);
		rc = read_bodies(p);
		if (rc < 0)
			return rc;
	}
	return 0;
}

const char *ews_parser_keyword(const struct ews_shell_parser *p)
{
	static const char *const words[] = { "if",   "then", "elif", "else", "fi",   "while",  "until",
					     "do",   "done", "for",  "in",   "case", "select", "function",
					     "esac", "{",    "}",    "!",    "time", "coproc", NULL };
	char text[KEYWORD_LEN_MAX + 2];
	unsigned n = 0;

	while (n <= KEYWORD_LEN_MAX && !ews_shell_is_meta(ews_parser_peek(p, n))) {
		text[n] = ews_parser_peek(p, n);
		n++;
	}
	text[n] = '\0';
	for (size_t i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return words[i];
	return "";
}

bool ews_parser_is_at(const struct ews_shell_parser *p, const char *word)
{
	return !strcmp(ews_parser_keyword(p), word);
}

int ews_parser_expect(struct ews_shell_parser *p, const char *word)
{
	int rc;

	rc = ews_parser_skip_lines(p);
	if (rc < 0)
		return rc;
	if (!ews_parser_is_at(p, word))
		return ews_parser_fail(p);
	ews_parser_skip(p, (unsigned)strlen(word));
	return 0;
}
