/*
 * In which order put makes files: that of the list, in which one directory's stand together; or that in which whoever has
 * their contents has them.
 *
 * A pack has what is alike side by side, each as what differs from the one before it, and otherwise what was in one
 * directory. Read in its own order it is read once from its beginning to its end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "store/put.h"

#define MANY 2048 /* from how many on places are looked for */

static bool is_from_store(const struct ews_change *change)
{
	return change->to && change->to->type == EWS_ENTRY_FILE && !ews_oid_is_none(&change->to->oid);
}

static int cmp_turn(const void *a, const void *b)
{
	const struct ews_put_turn *one = a, *other = b;

	if (one->place.pack != other->place.pack)
		return one->place.pack < other->place.pack ? -1 : 1;
	if (one->place.offset != other->place.offset)
		return one->place.offset < other->place.offset ? -1 : 1;
	return one->i < other->i ? -1 : 1;
}

/* Where the contents of all files that come from the store are. */
static void find_places(struct ews_put_work *put)
{
	size_t n = put->changes->n, n_ids = 0;
	EWS_CLEANUP(free) const struct ews_oid **oids = ews_calloc(n + 1, sizeof(*oids));
	EWS_CLEANUP(free) struct ews_pack_place *places = ews_calloc(n + 1, sizeof(*places));

	for (size_t i = 0; i < n; i++)
		if (is_from_store(&put->changes->items[i]))
			oids[n_ids++] = &put->changes->items[i].to->oid;
	ews_odb_find_places(places, put->opts->odb, oids, n_ids);
	n_ids = 0;
	for (size_t i = 0; i < n; i++)
		if (is_from_store(&put->changes->items[i]))
			put->turns[i].place = places[n_ids++];
}

void ews_put_find_order(struct ews_put_work *put)
{
	const struct ews_put_contents *contents = put->opts->contents;
	size_t n = put->changes->n;

	put->turns = ews_calloc(n + 1, sizeof(*put->turns));
	for (size_t i = 0; i < n; i++)
		put->turns[i].i = contents ? contents->order[i] : i;
	if (contents || put->opts->source_fd >= 0 || n < MANY)
		return;
	find_places(put);
	qsort(put->turns, n, sizeof(*put->turns), cmp_turn);
}
