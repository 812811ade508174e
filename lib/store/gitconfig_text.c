/*
 * The text of a git config file: see gitconfig_text.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitconfig_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct reader {
	const char *at, *end;
	unsigned line;
	struct ews_buf section; /* "core.", "remote.Origin." */
	struct ews_buf key, value;
};

static void release_reader(struct reader *reader)
{
	ews_buf_release(&reader->section);
	ews_buf_release(&reader->key);
	ews_buf_release(&reader->value);
}

EWS_CLEANUP_DEFINE(reader, struct reader, release_reader)

/* The next byte; the end of the text is the end of a line, as is "\r\n". */
static int next(struct reader *reader)
{
	char c = '\n';

	if (reader->at < reader->end)
		c = *reader->at++;
	if (c == '\r' && reader->at < reader->end && *reader->at == '\n')
		c = *reader->at++;
	reader->line += c == '\n';
	return (unsigned char)c;
}

/* The byte that next() would give, but for "\r\n". */
static int peek(const struct reader *reader)
{
	return reader->at < reader->end ? (unsigned char)*reader->at : '\n';
}

static bool is_name(int c)
{
	return isalnum(c) || c == '-';
}

/* What follows "[". */
static bool read_section(struct reader *reader)
{
	struct ews_buf *section = &reader->section;
	int c;

	ews_buf_truncate(section, 0);
	for (c = next(reader); is_name(c) || c == '.'; c = next(reader))
		ews_buf_addc(section, (char)tolower(c));
	if (c == ' ' || c == '\t') {
		do
			c = next(reader);
		while (c == ' ' || c == '\t');
		if (c != '"')
			return false;
		ews_buf_addc(section, '.');
		for (c = next(reader); c != '"' && c != '\n'; c = next(reader)) {
			if (c == '\\')
				c = next(reader);
			if (c == '\n')
				return false;
			ews_buf_addc(section, (char)c);
		}
		if (c == '"')
			c = next(reader);
	}
	ews_buf_addc(section, '.');
	return c == ']';
}

/* A backslash in a value, and what follows it. */
static bool read_escape(struct reader *reader)
{
	static const char letters[] = "tbn\\\"", bytes[] = "\t\b\n\\\"";
	int c = next(reader);
	const char *letter = c ? strchr(letters, c) : NULL;

	if (c == '\n')
		return true;
	if (letter)
		ews_buf_addc(&reader->value, bytes[letter - letters]);
	return letter != NULL;
}

/* What follows "=". Blanks around it are no part of it, save in quotes. */
static bool read_value(struct reader *reader)
{
	struct ews_buf *value = &reader->value;
	bool is_quoted = false;
	size_t len = 0; /* without blanks at the end */

	ews_buf_truncate(value, 0);
	for (int c = next(reader); c != '\n'; c = next(reader)) {
		if (!is_quoted && (c == '#' || c == ';')) {
			while (next(reader) != '\n')
				;
			break;
		}
		if (!is_quoted && isspace(c)) {
			if (value->len)
				ews_buf_addc(value, (char)c);
			continue;
		}
		if (c == '\\') {
			if (!read_escape(reader))
				return false;
		} else if (c == '"') {
			is_quoted = !is_quoted;
		} else {
			ews_buf_addc(value, (char)c);
		}
		len = value->len;
	}
	ews_buf_truncate(value, len);
	return !is_quoted;
}

/* A key that begins with `c`, and its value. */
static bool read_key(struct reader *reader, int c, bool *has_value)
{
	ews_buf_truncate(&reader->key, 0);
	ews_buf_add(&reader->key, reader->section.ptr, reader->section.len);
	ews_buf_addc(&reader->key, (char)tolower(c));
	while (is_name(peek(reader)))
		ews_buf_addc(&reader->key, (char)tolower(next(reader)));
	do
		c = next(reader);
	while (c == ' ' || c == '\t');
	*has_value = c == '=';
	return c == '\n' || (*has_value && read_value(reader));
}

static int parse(struct reader *reader, ews_gitconfig_fn fn, void *payload)
{
	while (reader->at < reader->end) {
		unsigned line = reader->line;
		int c = next(reader);
		bool has_value, is_fine = true;

		if (isspace(c))
			continue;
		if (c == '#' || c == ';') {
			while (next(reader) != '\n')
				;
		} else if (c == '[') {
			is_fine = read_section(reader);
		} else {
			is_fine = isalpha(c) && read_key(reader, c, &has_value);
			if (is_fine) {
				int rc = fn(reader->key.ptr, has_value ? reader->value.ptr : NULL, payload);

				if (rc)
					return rc;
			}
		}
		if (!is_fine) {
			(void)ews_error(EWS_ECONFIG, "line %u is no git config", line);
			ews_error_hint("mend it with an editor: git reads nothing of such a file, either");
			return EWS_ECONFIG;
		}
	}
	return 0;
}

int ews_gitconfig_parse(const char *text, size_t len, ews_gitconfig_fn fn, void *payload)
{
	const size_t mark = strlen(BYTE_ORDER_MARK);
	EWS_CLEANUP(reader)
	struct reader reader = { text, text + len, 1, EWS_BUF_INIT, EWS_BUF_INIT, EWS_BUF_INIT };

	if (memchr(text, '\0', len))
		return ews_error(EWS_ECONFIG, "a git config has no NUL");
	if (len >= mark && !memcmp(text, BYTE_ORDER_MARK, mark))
		reader.at += mark;
	return parse(&reader, fn, payload);
}

static void add_escaped(struct ews_buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			ews_buf_adds(out, "\\n");
		else if (*text == '\t')
			ews_buf_adds(out, "\\t");
		else if (*text == '"' || *text == '\\')
			ews_buf_addf(out, "\\%c", *text);
		else
			ews_buf_addc(out, *text);
	}
}

/* In the name of a section nothing but these two is escaped. */
static void add_section_name(struct ews_buf *out, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (name[i] == '"' || name[i] == '\\')
			ews_buf_addc(out, '\\');
		ews_buf_addc(out, name[i]);
	}
}

void ews_gitconfig_add(struct ews_buf *out, const char *key, const char *value)
{
	const char *first = strchr(key, '.'), *last = strrchr(key, '.');

	/* What stands before the first section is in none. */
	if (first) {
		ews_buf_addf(out, "[%.*s", (int)(first - key), key);
		if (first < last) {
			ews_buf_adds(out, " \"");
			add_section_name(out, first + 1, (size_t)(last - first - 1));
			ews_buf_addc(out, '"');
		}
		ews_buf_adds(out, "]\n");
	}
	ews_buf_addf(out, "\t%s", first ? last + 1 : key);
	if (value) {
		ews_buf_adds(out, " = \"");
		add_escaped(out, value);
		ews_buf_addc(out, '"');
	}
	ews_buf_addc(out, '\n');
}

/* What a text says but for some keys. */
struct rest {
	struct ews_buf *out;
	const char *const *keys;
	bool has_any; /* of the keys */
};

static int add_unless_listed(const char *key, const char *value, void *payload)
{
	struct rest *rest = payload;

	for (const char *const *listed = rest->keys; *listed; listed++) {
		if (!ews_gitconfig_is_key(key, *listed))
			continue;
		rest->has_any = true;
		return 0;
	}
	ews_gitconfig_add(rest->out, key, value);
	return 0;
}

int ews_gitconfig_add_but(struct ews_buf *out, const char *text, size_t len, const char *const *keys)
{
	EWS_CLEANUP(buf) struct ews_buf said = EWS_BUF_INIT;
	struct rest rest = { &said, keys, false };
	int rc = ews_gitconfig_parse(text, len, add_unless_listed, &rest);

	if (rc < 0)
		return rc;
	if (rest.has_any)
		ews_buf_add(out, said.ptr, said.len);
	else
		ews_buf_add(out, text, len);
	return 0;
}

bool ews_gitconfig_is_key(const char *a, const char *b)
{
	const char *first = strchr(a, '.'), *last = strrchr(a, '.');
	size_t len = strlen(a), head, tail;

	if (strlen(b) != len || !first)
		return false;
	head = (size_t)(first - a) + 1;
	tail = (size_t)(last - a);
	return !strncasecmp(a, b, head) && !strcasecmp(a + tail, b + tail) &&
	       (tail < head || !memcmp(a + head, b + head, tail - head));
}

bool ews_gitconfig_int(int64_t *out, const char *text)
{
	static const char units[] = "kmg";
	const char *unit;
	int64_t factor = 1;
	char *end;
	long long number;

	if (!text || !*text)
		return false;
	errno = 0;
	number = strtoll(text, &end, 0);
	if (errno || end == text)
		return false;
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (*end && (!unit || end[1]))
		return false;
	for (ptrdiff_t i = unit ? unit - units : -1; i >= 0; i--)
		factor *= 1024;
	return !__builtin_mul_overflow(number, factor, out);
}

bool ews_gitconfig_bool(bool *out, const char *text)
{
	static const char *const words[][3] = { { "false", "no", "off" }, { "true", "yes", "on" } };
	int64_t number;

	for (size_t i = 0; text && i < 2; i++)
		for (size_t j = 0; j < 3; j++)
			if (!strcasecmp(text, words[i][j])) {
				*out = i;
				return true;
			}
	*out = !text;
	if (!text || !*text)
		return true;
	if (!ews_gitconfig_int(&number, text))
		return false;
	*out = number != 0;
	return true;
}
