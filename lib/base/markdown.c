/*
 * Markdown: see markdown.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/markdown.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "base/utf8.h"

/* Spaces of no width, marks of direction, and what else shows nothing and yet changes what is read. */
static bool is_unseen(uint32_t number)
{
	static const uint32_t ranges[][2] = {
		{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad },   { 0x061c, 0x061c },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (number >= ranges[i][0] && number <= ranges[i][1])
			return true;
	return false;
}

/* The text with nothing in it that is not seen, but for the characters of `kept`. */
static void clean(struct ews_buf *out, const char *text, const char *kept)
{
	for (size_t len; *text; text += len ? len : 1) {
		uint32_t number;

		len = ews_utf8_len(text);
		number = len ? ews_utf8_number(text, len) : 0xfffd;
		if (!len)
			ews_buf_adds(out, "\xef\xbf\xbd");
		else if (len == 1 && strchr(kept, *text))
			ews_buf_addc(out, *text);
		else if (number < 0x80 && is_unseen(number))
			ews_buf_addf(out, "\\%03" PRIo32, number);
		else if (is_unseen(number))
			ews_buf_addf(out, "\\u{%" PRIx32 "}", number);
		else
			ews_buf_add(out, text, len);
	}
}

/* Does a web address begin here that some readers would make a link of? */
static bool is_address(const char *text)
{
	return ews_str_begins(text, "://") || !strncasecmp(text, "www.", 4);
}

void ews_markdown_text(struct ews_buf *out, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf cleaned = EWS_BUF_INIT;

	clean(&cleaned, text, "\n\r\t");
	for (const char *p = cleaned.ptr; *p; p++) {
		if (strchr("\n\r\t", *p)) {
			ews_buf_addc(out, ' ');
		} else if (is_address(p) && *p != ':') {
			ews_buf_addf(out, "%.3s\\.", p);
			p += 3;
		} else {
			if (strchr("\\`*_{}[]<>#|~&@^$=!", *p) || is_address(p))
				ews_buf_addc(out, '\\');
			ews_buf_addc(out, *p);
		}
	}
}

/* The longest run of backticks in `text`. */
static size_t longest_run(const char *text)
{
	size_t run, longest = 0;

	for (; *text; text += run ? run : 1) {
		run = strspn(text, "`");
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void add_ticks(struct ews_buf *out, size_t n)
{
	while (n--)
		ews_buf_addc(out, '`');
}

/*
 * A table is cut into cells before anybody looks for code. There a pipe behind an odd number of backslashes is none that
 * ends the cell, and only that: of `\|` one backslash more is seen than there was.
 */
static void add_for_cell(struct ews_buf *out, const char *text)
{
	size_t backslashes = 0;

	for (; *text; text++) {
		if (*text == '|')
			ews_buf_adds(out, backslashes % 2 ? "\\\\" : "\\");
		backslashes = *text == '\\' ? backslashes + 1 : 0;
		ews_buf_addc(out, *text);
	}
}

void ews_markdown_code(struct ews_buf *out, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf cleaned = EWS_BUF_INIT;
	size_t ticks;
	bool is_padded;

	clean(&cleaned, text, "");
	if (!cleaned.len)
		return;
	ticks = longest_run(cleaned.ptr) + 1;
	/* A blank at each end goes away, unless there is nothing but blanks. */
	is_padded = strchr("` ", cleaned.ptr[0]) || strchr("` ", cleaned.ptr[cleaned.len - 1]);
	is_padded = is_padded && cleaned.ptr[strspn(cleaned.ptr, " ")];
	add_ticks(out, ticks);
	if (is_padded)
		ews_buf_addc(out, ' ');
	add_for_cell(out, cleaned.ptr);
	if (is_padded)
		ews_buf_addc(out, ' ');
	add_ticks(out, ticks);
}

void ews_markdown_block(struct ews_buf *out, const char *text, const char *language)
{
	EWS_CLEANUP(buf) struct ews_buf cleaned = EWS_BUF_INIT;
	size_t ticks;

	clean(&cleaned, text, "\n\t");
	ticks = longest_run(cleaned.ptr) + 1;
	ticks = ticks < 3 ? 3 : ticks;
	add_ticks(out, ticks);
	ews_buf_addf(out, "%s\n", language);
	ews_buf_add(out, cleaned.ptr, cleaned.len);
	if (cleaned.len && cleaned.ptr[cleaned.len - 1] != '\n')
		ews_buf_addc(out, '\n');
	add_ticks(out, ticks);
	ews_buf_addc(out, '\n');
}
