/*
 * Buffers: a growing run of bytes, always followed by a NUL.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_BUF_H
#define EWS_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

#define EWS_KIB 1024ull
#define EWS_MIB (1024 * EWS_KIB)
#define EWS_GIB (1024 * EWS_MIB)

struct ews_buf {
	char *ptr; /* never NULL; NUL-terminated */
	size_t len;
	size_t cap;
	size_t max; /* 0: no ceiling */
	bool is_full; /* something was dropped because of the ceiling */
};

extern char ews_buf_empty[1];

#define EWS_BUF_INIT { ews_buf_empty, 0, 0, 0, false }

/* A buffer that takes `max` bytes and drops the rest, for other people's output. */
void ews_buf_init_max(struct ews_buf *buf, size_t max);
void ews_buf_add(struct ews_buf *buf, const void *data, size_t len);
void ews_buf_adds(struct ews_buf *buf, const char *text);
/* The same, with the NUL that ends it. */
void ews_buf_addz(struct ews_buf *buf, const char *text);
void ews_buf_addc(struct ews_buf *buf, char c);
__attribute__((format(printf, 2, 3))) void ews_buf_addf(struct ews_buf *buf, const char *fmt, ...);
__attribute__((format(printf, 2, 0))) void ews_buf_vaddf(struct ews_buf *buf, const char *fmt, va_list args);
/* Room for `len` more bytes; write them at ptr + len, then set len. */
void ews_buf_reserve(struct ews_buf *buf, size_t len);
/* Make it empty, with room for `len` bytes: what was in it is not copied. */
void ews_buf_renew(struct ews_buf *buf, size_t len);
/* Give the memory back when it is more than `max` bytes: it need not be as large as ever for what comes next. */
void ews_buf_shrink(struct ews_buf *buf, size_t max);
/* Cut to `len` bytes, which is at most the present length. */
void ews_buf_truncate(struct ews_buf *buf, size_t len);
/* Drop trailing white space. */
void ews_buf_rtrim(struct ews_buf *buf);
/* The bytes become the caller's (free()); the buffer is empty afterwards. */
char *ews_buf_steal(struct ews_buf *buf);
void ews_buf_release(struct ews_buf *buf);

EWS_CLEANUP_DEFINE(buf, struct ews_buf, ews_buf_release)

#endif
