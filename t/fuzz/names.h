/*
 * Names: which paths of a list are one file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_NAMES_H
#define FUZZ_NAMES_H

#include "list.h"

/* Does this path count? */
typedef bool (*names_count_fn)(const void *payload, const char *path);

/* The first path, among those that count, that is the same file as `item` of `list`; its own when it has no other. */
const char *names_first(const struct list *list, const struct item *item, names_count_fn counts, const void *payload);
/* How many of those that count are the same file. */
size_t names_number(const struct list *list, const struct item *item, names_count_fn counts, const void *payload);

#endif
