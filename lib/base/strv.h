/*
 * String vectors: a NULL-ended array of owned strings, argv and list in one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_STRV_H
#define EWS_BASE_STRV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct ews_strv {
	char **items; /* never NULL; items[n] is NULL */
	size_t n;
	size_t cap;
};

extern char *ews_strv_empty[1];

#define EWS_STRV_INIT { ews_strv_empty, 0, 0 }

void ews_strv_add(struct ews_strv *v, const char *text);
void ews_strv_add_len(struct ews_strv *v, const char *text, size_t len);
__attribute__((format(printf, 2, 3))) void ews_strv_addf(struct ews_strv *v, const char *fmt, ...);
/* Add each of the NULL-ended arguments: ews_strv_add_all(&v, "a", "b", NULL). */
__attribute__((sentinel)) void ews_strv_add_all(struct ews_strv *v, ...);
/* Add all of a NULL-ended array; NULL adds nothing. */
void ews_strv_add_array(struct ews_strv *v, char *const *items);
/* Sort bytewise. */
void ews_strv_sort(struct ews_strv *v);
/* Sort, then keep one of each. */
void ews_strv_unique(struct ews_strv *v);
/* Keep those that `is_kept` wants, in their order. */
void ews_strv_filter(struct ews_strv *v, bool (*is_kept)(void *payload, const char *text), void *payload);
/* Take out all that `others` has. */
void ews_strv_leave_out(struct ews_strv *v, const struct ews_strv *others);
/* Is `text` in it? `v` need not be sorted. */
bool ews_strv_has(const struct ews_strv *v, const char *text);
/* Is `text` in the sorted `v`? */
bool ews_strv_sorted_has(const struct ews_strv *v, const char *text);
/* Is `text` one of the NULL-ended `items`? */
bool ews_str_is_any(const char *text, const char *const *items);
void ews_strv_clear(struct ews_strv *v);
void ews_strv_release(struct ews_strv *v);

EWS_CLEANUP_DEFINE(strv, struct ews_strv, ews_strv_release)

#endif
