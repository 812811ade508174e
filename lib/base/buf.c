/*
 * Buffers: see buf.h.
 *
 * An empty buffer points at a shared NUL that is never written to; the first
 * byte added moves it to the heap. `cap` counts the place of the NUL, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/buf.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

char ews_buf_empty[1];

void ews_buf_init_max(struct ews_buf *buf, size_t max)
{
	*buf = (struct ews_buf)EWS_BUF_INIT;
	buf->max = max;
}

void ews_buf_reserve(struct ews_buf *buf, size_t len)
{
	size_t want;

	if (__builtin_add_overflow(buf->len, len, &want) || want == SIZE_MAX)
		want = SIZE_MAX - 1; /* no machine has it: the allocation gives up */
	if (want + 1 <= buf->cap)
		return;
	if (!buf->cap)
		buf->ptr = NULL;
	buf->ptr = ews_grow(buf->ptr, 1, want + 1, &buf->cap);
	buf->ptr[buf->len] = '\0';
}

void ews_buf_renew(struct ews_buf *buf, size_t len)
{
	if (len >= buf->cap)
		ews_buf_release(buf);
	buf->len = 0;
	ews_buf_reserve(buf, len);
}

void ews_buf_shrink(struct ews_buf *buf, size_t max)
{
	if (buf->cap > max)
		ews_buf_release(buf);
}

void ews_buf_add(struct ews_buf *buf, const void *data, size_t len)
{
	size_t room = buf->max > buf->len ? buf->max - buf->len : 0;

	if (buf->max && len > room) {
		len = room;
		buf->is_full = true;
	}
	if (!len)
		return;
	ews_buf_reserve(buf, len);
	memcpy(buf->ptr + buf->len, data, len);
	buf->len += len;
	buf->ptr[buf->len] = '\0';
}

void ews_buf_adds(struct ews_buf *buf, const char *text)
{
	ews_buf_add(buf, text, strlen(text));
}

void ews_buf_addz(struct ews_buf *buf, const char *text)
{
	ews_buf_add(buf, text, strlen(text) + 1);
}

void ews_buf_addc(struct ews_buf *buf, char c)
{
	if (buf->len + 1 < buf->cap && !buf->max) {
		buf->ptr[buf->len++] = c;
		buf->ptr[buf->len] = '\0';
		return;
	}
	ews_buf_add(buf, &c, 1);
}

void ews_buf_addf(struct ews_buf *buf, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(buf, fmt, args);
	va_end(args);
}

void ews_buf_vaddf(struct ews_buf *buf, const char *fmt, va_list args)
{
	char text[512], *longer;
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(text, sizeof(text), fmt, args);
	assert(len >= 0);
	if ((size_t)len < sizeof(text)) {
		ews_buf_add(buf, text, len);
	} else {
		longer = ews_malloc((size_t)len + 1);
		(void)vsnprintf(longer, (size_t)len + 1, fmt, again);
		ews_buf_add(buf, longer, len);
		free(longer);
	}
	va_end(again);
}

void ews_buf_truncate(struct ews_buf *buf, size_t len)
{
	assert(len <= buf->len);
	if (len == buf->len)
		return;
	buf->len = len;
	buf->ptr[len] = '\0';
}

void ews_buf_rtrim(struct ews_buf *buf)
{
	size_t len = buf->len;

	while (len && isspace((unsigned char)buf->ptr[len - 1]))
		len--;
	ews_buf_truncate(buf, len);
}

char *ews_buf_steal(struct ews_buf *buf)
{
	char *ptr = buf->cap ? buf->ptr : ews_strdup("");

	ews_buf_init_max(buf, buf->max);
	return ptr;
}

void ews_buf_release(struct ews_buf *buf)
{
	if (buf->cap)
		free(buf->ptr);
	ews_buf_init_max(buf, buf->max);
}
