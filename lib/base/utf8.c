/*
 * UTF-8: see utf8.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

/* RFC 3629 */
size_t ews_utf8_len(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i, len = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;

	for (i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than need be, surrogates, beyond U+10FFFF. */
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
	    (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

uint32_t ews_utf8_number(const char *text, size_t len)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t number = (unsigned char)*text & first_bits[len];

	for (size_t i = 1; i < len; i++)
		number = number << 6 | ((unsigned char)text[i] & 0x3f);
	return number;
}

size_t ews_utf8_shown_len(const char *text)
{
	static const uint32_t obeyed[][2] = {
		{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c },
		{ 0x200e, 0x200f }, { 0x202a, 0x202e }, { 0x2066, 0x2069 },
	};
	size_t len = ews_utf8_len(text);
	uint32_t number = len ? ews_utf8_number(text, len) : 0;

	for (size_t i = 0; i < sizeof(obeyed) / sizeof(*obeyed); i++)
		if (number >= obeyed[i][0] && number <= obeyed[i][1])
			return 0;
	return len;
}

size_t ews_utf8_add_shown(struct ews_buf *out, const char *text)
{
	size_t len = ews_utf8_shown_len(text);

	if (len)
		ews_buf_add(out, text, len);
	else
		ews_buf_addf(out, "\\%03o", (unsigned char)*text);
	return len ? len : 1;
}

void ews_utf8_add_line(struct ews_buf *out, const char *text)
{
	for (size_t len; *text; text += len) {
		bool is_blank = strchr("\t\n\r", *text);

		len = is_blank ? 1 : ews_utf8_add_shown(out, text);
		if (is_blank)
			ews_buf_addc(out, ' ');
	}
}
