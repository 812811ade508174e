/*
 * Telling what became of a tree: see notify_tell.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/notify_tell.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/notify_place.h"
#include "base/path.h"

static int cmp_inode(const void *a, const void *b)
{
	const struct ews_notify_looked *x = &(*(struct ews_notify_place *const *)a)->seen,
				       *y = &(*(struct ews_notify_place *const *)b)->seen;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return (x->dev > y->dev) - (x->dev < y->dev);
}

/* An inode may be another's by now, where nobody knows when it was born. */
static bool is_plain_rename(const struct ews_notify_place *from, const struct ews_notify_place *to)
{
	if (!ews_notify_is_same_thing(&from->seen, &to->seen))
		return false;
	if (ews_notify_is_dir(to) && to->seen.born_ns)
		return true;
	return from->seen.mtime_ns == to->seen.mtime_ns && from->seen.size == to->seen.size;
}

/* Renames that nobody told us of: a thing that went from one place and came to another. */
static void pair_by_inode(const struct ews_notify_places *touched)
{
	struct ews_notify_places gone = { 0 }, come = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < touched->n; i++) {
		struct ews_notify_place *place = touched->items[i];

		if (place->is_old && !place->went_to)
			ews_notify_places_add(&gone, place);
		else if (place->is && !place->same && !place->origin)
			ews_notify_places_add(&come, place);
	}
	if (gone.n && come.n) {
		qsort(gone.items, gone.n, sizeof(*gone.items), cmp_inode);
		qsort(come.items, come.n, sizeof(*come.items), cmp_inode);
		for (size_t i = 0; i < come.n; i++) {
			struct ews_notify_place *to = come.items[i];

			while (at < gone.n && cmp_inode(&gone.items[at], &to) < 0)
				at++;
			if (at == gone.n || cmp_inode(&gone.items[at], &to) || !is_plain_rename(gone.items[at], to))
				continue;
			to->origin = gone.items[at++];
			to->origin->went_to = to;
			to->changed = ews_notify_has_other_mode(&to->origin->seen, &to->seen);
		}
	}
	free(gone.items);
	free(come.items);
}

/* What is to be told of one place. */
struct news {
	enum ews_tree_change_kind kind;
	const char *path;
	bool is_dir;
	struct ews_notify_place *place;
};

struct telling {
	ews_tree_change_fn fn;
	void *payload;
	struct ews_arena paths;
	struct news *items;
	size_t n, cap;
	int n_told;
};

static void tell(struct telling *telling, enum ews_tree_change_kind kind, const char *path, const char *old_path,
		 bool of_dir)
{
	const struct ews_tree_change change = { kind, path, old_path, of_dir };

	telling->fn(telling->payload, &change);
	telling->n_told++;
}

/* Tell that something came to `place` from elsewhere; first that what either lies in was moved, and what had been there. */
static void tell_move(struct telling *telling, struct ews_notify_place *place)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf old_path = EWS_BUF_INIT;

	if (!place->origin || place->is_told)
		return;
	place->is_told = true;
	for (struct ews_notify_place *p = ews_notify_place_above(place); p; p = ews_notify_place_above(p)) {
		tell_move(telling, p);
		/* another stood there, and this one came into its successor */
		if (p->went_to)
			tell_move(telling, p->went_to);
	}
	for (struct ews_notify_place *p = ews_notify_place_above(place->origin); p; p = ews_notify_place_above(p))
		tell_move(telling, p);
	if (place->went_to)
		tell_move(telling, place->went_to);
	ews_notify_place_path(&path, place);
	ews_notify_place_path(&old_path, place->origin);
	/* It went along with the directory that it lies in. */
	if (strcmp(path.ptr, old_path.ptr) != 0)
		tell(telling, EWS_TREE_MOVED, path.ptr, old_path.ptr, ews_notify_is_dir(place));
}

static void add_news(struct telling *telling, enum ews_tree_change_kind kind, struct ews_notify_place *place,
		     bool of_dir)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	ews_notify_place_path(&path, place);
	EWS_GROW(telling->items, telling->n, telling->cap);
	telling->items[telling->n++] =
		(struct news){ kind, ews_arena_dup(&telling->paths, path.ptr, path.len), of_dir, place };
}

static void gather_news(struct telling *telling, struct ews_notify_place *place)
{
	bool is_lost = place->was && !place->went_to;

	if (place->origin)
		add_news(telling, EWS_TREE_MOVED, place, ews_notify_is_dir(place));
	if (place->is && (place->same || place->origin)) {
		if (place->changed)
			add_news(telling, EWS_TREE_MODIFIED, place, ews_notify_is_dir(place));
	} else if (place->is && is_lost && place->was_dir == ews_notify_is_dir(place)) {
		/* Another one in its place; of a directory that is told by what is in it. */
		if (!ews_notify_is_dir(place))
			add_news(telling, EWS_TREE_MODIFIED, place, false);
	} else {
		if (is_lost)
			add_news(telling, EWS_TREE_DELETED, place, place->was_dir);
		if (place->is)
			add_news(telling, EWS_TREE_CREATED, place, ews_notify_is_dir(place));
	}
}

static int cmp_news(const void *a, const void *b)
{
	static const int order[] = {
		[EWS_TREE_MOVED] = 0, [EWS_TREE_DELETED] = 1, [EWS_TREE_CREATED] = 2, [EWS_TREE_MODIFIED] = 2
	};
	const struct news *x = a, *y = b;

	if (order[x->kind] != order[y->kind])
		return order[x->kind] < order[y->kind] ? -1 : 1;
	return x->kind == EWS_TREE_DELETED ? ews_path_cmp(y->path, x->path) : ews_path_cmp(x->path, y->path);
}

int ews_notify_tell(const struct ews_notify_places *touched, bool is_overflown, ews_tree_change_fn fn, void *payload)
{
	struct telling telling = { .fn = fn, .payload = payload, .paths = EWS_ARENA_INIT };

	pair_by_inode(touched);
	if (is_overflown)
		tell(&telling, EWS_TREE_OVERFLOW, "", NULL, true);
	for (size_t i = 0; i < touched->n; i++)
		gather_news(&telling, touched->items[i]);
	if (telling.n)
		qsort(telling.items, telling.n, sizeof(*telling.items), cmp_news);
	for (size_t i = 0; i < telling.n; i++) {
		const struct news *news = &telling.items[i];

		if (news->kind == EWS_TREE_MOVED)
			tell_move(&telling, news->place);
		else
			tell(&telling, news->kind, news->path, NULL, news->is_dir);
	}
	free(telling.items);
	ews_arena_release(&telling.paths);
	return telling.n_told;
}
