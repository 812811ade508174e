/*
 * Lines: see lines.h.
 *
 * More than one list of changed lines leads from one text to another, and which one git takes follows from what its
 * xdiff cuts short: it looks at how often a line occurs in all of the text, and gives up looking for the least. Where
 * there is but one answer it is found here: lines in common at both ends count for nothing, to xdiff either, and
 * what is left of one side is nothing, or one line that the other doesn't have. All else goes to xdiff, and whole.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/lines.h"

#include <string.h>

#include "store/odb.h"

/* Where git looks for a NUL. */
#define BINARY_BYTES 8000
#define STEP_BYTES 256

struct text {
	const char *at, *end;
};

static bool is_binary(const struct ews_buf *content)
{
	return memchr(content->ptr, '\0', content->len < BINARY_BYTES ? content->len : BINARY_BYTES) != NULL;
}

static size_t len_of(const struct text *text)
{
	return (size_t)(text->end - text->at);
}

static size_t shorter_len(const struct text *a, const struct text *b)
{
	return len_of(a) < len_of(b) ? len_of(a) : len_of(b);
}

/* Step over the lines that both begin with. */
static void trim_start(struct text *a, struct text *b)
{
	size_t max = shorter_len(a, b), len = 0;
	const char *newline;

	while (max - len >= STEP_BYTES && !memcmp(a->at + len, b->at + len, STEP_BYTES))
		len += STEP_BYTES;
	while (len < max && a->at[len] == b->at[len])
		len++;
	newline = memrchr(a->at, '\n', len);
	len = newline ? (size_t)(newline + 1 - a->at) : 0;
	a->at += len;
	b->at += len;
}

/* Does a line begin `len` bytes before the end? */
static bool begins_line(const struct text *text, size_t len)
{
	return len == len_of(text) || text->end[-(ptrdiff_t)len - 1] == '\n';
}

/* Cut off the lines that both end in. Both begin with a line. */
static void trim_end(struct text *a, struct text *b)
{
	size_t max = shorter_len(a, b), len = 0;

	while (max - len >= STEP_BYTES && !memcmp(a->end - len - STEP_BYTES, b->end - len - STEP_BYTES, STEP_BYTES))
		len += STEP_BYTES;
	while (len < max && a->end[-(ptrdiff_t)len - 1] == b->end[-(ptrdiff_t)len - 1])
		len++;
	if (!begins_line(a, len) || !begins_line(b, len)) {
		const char *newline = memchr(a->end - len, '\n', len);

		len = newline ? (size_t)(a->end - newline - 1) : 0;
	}
	a->end -= len;
	b->end -= len;
}

/* The end of the line at `at`, its newline included. */
static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline + 1 : end;
}

static uint64_t count(const struct text *text)
{
	uint64_t n = 0;

	for (const char *at = text->at; at < text->end; at = line_end(at, text->end))
		n++;
	return n;
}

/* Is `line` one line, which `text` doesn't have? */
static bool is_new_line(const struct text *line, const struct text *text)
{
	if (line_end(line->at, line->end) != line->end)
		return false;
	for (const char *at = text->at, *next; at < text->end; at = next) {
		next = line_end(at, text->end);
		if ((size_t)(next - at) == len_of(line) && !memcmp(at, line->at, len_of(line)))
			return false;
	}
	return true;
}

int ews_lines_count(struct ews_lines *out, const struct ews_buf *from, const struct ews_buf *to)
{
	struct text a = { from->ptr, from->ptr + from->len }, b = { to->ptr, to->ptr + to->len };

	*out = (struct ews_lines){ .is_binary = is_binary(from) || is_binary(to) };
	if (out->is_binary)
		return 0;
	trim_start(&a, &b);
	trim_end(&a, &b);
	if (len_of(&a) && len_of(&b) && !is_new_line(&a, &b) && !is_new_line(&b, &a))
		return ews_odb_count_lines(&out->added, &out->deleted, from->ptr, from->len, to->ptr, to->len);
	out->added = count(&b);
	out->deleted = count(&a);
	return 0;
}
