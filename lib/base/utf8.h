/*
 * UTF-8: where a character ends, and which it is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_UTF8_H
#define EWS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the character that the NUL-ended `text`, which is not empty, begins with; 0 when its bytes are no UTF-8. */
size_t ews_utf8_len(const char *text);

/* The number of that character, which has `len` bytes. */
uint32_t ews_utf8_number(const char *text, size_t len);

/* The length as above, but 0 as well for what a terminal obeys: controls, also beyond ASCII, and marks that turn the direction of writing. */
size_t ews_utf8_shown_len(const char *text);

/* Append that character where a terminal shows it, else its first byte as \ooo (octal). How many bytes of `text` that was. */
struct ews_buf;
size_t ews_utf8_add_shown(struct ews_buf *out, const char *text);

/* Append all of `text` like this, on one line: ends of lines and tabs become blanks. */
void ews_utf8_add_line(struct ews_buf *out, const char *text);

#endif
