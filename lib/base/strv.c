/*
 * String vectors: see strv.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/strv.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

char *ews_strv_empty[1];

/* `text` becomes the vector's. */
static void add_owned(struct ews_strv *v, char *text)
{
	if (!v->cap)
		v->items = NULL;
	EWS_GROW_TO(v->items, v->n + 2, v->cap);
	v->items[v->n++] = text;
	v->items[v->n] = NULL;
}

void ews_strv_add(struct ews_strv *v, const char *text)
{
	add_owned(v, ews_strdup(text));
}

void ews_strv_add_len(struct ews_strv *v, const char *text, size_t len)
{
	add_owned(v, ews_strndup(text, len));
}

void ews_strv_addf(struct ews_strv *v, const char *fmt, ...)
{
	struct ews_buf text = EWS_BUF_INIT;
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(&text, fmt, args);
	va_end(args);
	add_owned(v, ews_buf_steal(&text));
}

void ews_strv_add_all(struct ews_strv *v, ...)
{
	const char *text;
	va_list args;

	va_start(args, v);
	while ((text = va_arg(args, const char *)))
		ews_strv_add(v, text);
	va_end(args);
}

void ews_strv_add_array(struct ews_strv *v, char *const *items)
{
	for (; items && *items; items++)
		ews_strv_add(v, *items);
}

static int cmp_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void ews_strv_sort(struct ews_strv *v)
{
	qsort(v->items, v->n, sizeof(*v->items), cmp_text);
}

void ews_strv_filter(struct ews_strv *v, bool (*is_kept)(void *payload, const char *text), void *payload)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (is_kept(payload, v->items[i]))
			v->items[kept++] = v->items[i];
		else
			free(v->items[i]);
	}
	if (kept == v->n)
		return;
	v->n = kept;
	v->items[kept] = NULL;
}

static bool is_not_in(void *payload, const char *text)
{
	return !ews_strv_sorted_has(payload, text);
}

void ews_strv_leave_out(struct ews_strv *v, const struct ews_strv *others)
{
	EWS_CLEANUP(strv) struct ews_strv sorted = EWS_STRV_INIT;

	ews_strv_add_array(&sorted, others->items);
	ews_strv_sort(&sorted);
	ews_strv_filter(v, is_not_in, &sorted);
}

/* Is it another one than the last? */
static bool is_next(void *payload, const char *text)
{
	const char **last = payload;
	bool is_new = !*last || strcmp(*last, text) != 0;

	if (is_new)
		*last = text;
	return is_new;
}

void ews_strv_unique(struct ews_strv *v)
{
	const char *last = NULL;

	ews_strv_sort(v);
	ews_strv_filter(v, is_next, &last);
}

bool ews_strv_has(const struct ews_strv *v, const char *text)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		if (!strcmp(v->items[i], text))
			return true;
	return false;
}

bool ews_strv_sorted_has(const struct ews_strv *v, const char *text)
{
	return bsearch(&text, v->items, v->n, sizeof(*v->items), cmp_text) != NULL;
}

bool ews_str_is_any(const char *text, const char *const *items)
{
	for (; *items; items++)
		if (!strcmp(text, *items))
			return true;
	return false;
}

void ews_strv_clear(struct ews_strv *v)
{
	if (!v->n)
		return;
	while (v->n)
		free(v->items[--v->n]);
	v->items[0] = NULL;
}

void ews_strv_release(struct ews_strv *v)
{
	ews_strv_clear(v);
	if (v->cap)
		free(v->items);
	*v = (struct ews_strv)EWS_STRV_INIT;
}
