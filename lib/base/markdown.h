/*
 * Markdown: other people's text in a page of ours, so that it says what it says and does nothing.
 *
 * In what is added no byte of the text is markup: no emphasis, link, image, HTML, table cell or heading comes of it.
 * Bytes that are no UTF-8 become U+FFFD; control characters, and those that nobody sees or that turn the
 * direction of writing, are spelled out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_MARKDOWN_H
#define EWS_BASE_MARKDOWN_H

#include "base/buf.h"

/* Append `text` as words within a line, a cell of a table or a heading; the ends of its lines become blanks. */
void ews_markdown_text(struct ews_buf *out, const char *text);

/* Append `text` as code within a line or a cell of a table. "" gives nothing. */
void ews_markdown_code(struct ews_buf *out, const char *text);

/* Append `text` as a block of code in the language `language` ("" for none), line by line as it is. */
void ews_markdown_block(struct ews_buf *out, const char *text, const char *language);

#endif
