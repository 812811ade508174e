/*
 * Names: see names.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "names.h"

static bool is_name(const struct list *list, size_t i, const struct item *item, names_count_fn counts,
		    const void *payload)
{
	const struct item *other = &list->items[i];

	return S_ISREG(other->mode) && other->ino == item->ino && counts(payload, other->path);
}

const char *names_first(const struct list *list, const struct item *item, names_count_fn counts, const void *payload)
{
	for (size_t i = 0; i < list->n && S_ISREG(item->mode) && item->nlink > 1; i++)
		if (is_name(list, i, item, counts, payload))
			return list->items[i].path;
	return item->path;
}

size_t names_number(const struct list *list, const struct item *item, names_count_fn counts, const void *payload)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += is_name(list, i, item, counts, payload);
	return n;
}
