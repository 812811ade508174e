/*
 * Places of a watched tree: see notify_place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/notify_place.h"

#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/alloc.h"

#define NS_PER_S 1000000000

int64_t ews_notify_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t ns_of(const struct statx_timestamp *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

int ews_notify_look(struct ews_notify_looked *out, int dir_fd, const char *name)
{
	struct statx sx;

	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &sx) < 0)
		return -1;
	*out = (struct ews_notify_looked){
		.mode = sx.stx_mode,
		.uid = sx.stx_uid,
		.gid = sx.stx_gid,
		.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
		.ino = sx.stx_ino,
		.n_links = sx.stx_nlink,
		.size = (int64_t)sx.stx_size,
		.mtime_ns = ns_of(&sx.stx_mtime),
		.ctime_ns = ns_of(&sx.stx_ctime),
		.born_ns = sx.stx_mask & STATX_BTIME ? ns_of(&sx.stx_btime) : 0,
		.taken_ns = ews_notify_now_ns(),
	};
	return 0;
}

bool ews_notify_is_same_thing(const struct ews_notify_looked *a, const struct ews_notify_looked *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->born_ns == b->born_ns &&
	       (a->mode & S_IFMT) == (b->mode & S_IFMT);
}

bool ews_notify_has_other_mode(const struct ews_notify_looked *a, const struct ews_notify_looked *b)
{
	return a->mode != b->mode || a->uid != b->uid || a->gid != b->gid;
}

static int cmp_name(const void *a, const void *b)
{
	return strcmp(((const struct ews_notify_place *)a)->name, ((const struct ews_notify_place *)b)->name);
}

void ews_notify_places_add(struct ews_notify_places *list, struct ews_notify_place *place)
{
	EWS_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = place;
}

/* tsearch() has no other way to say that there is no memory. */
void ews_notify_index_add(void **index, struct ews_notify_place *place, int (*cmp)(const void *, const void *))
{
	if (!tsearch(place, index, cmp))
		abort();
}

bool ews_notify_is_dir(const struct ews_notify_place *place)
{
	return S_ISDIR(place->seen.mode);
}

void ews_notify_place_link(struct ews_notify_place *dir, struct ews_notify_place *place)
{
	place->parent = dir;
	place->prev = NULL;
	place->next = dir->first;
	if (dir->first)
		dir->first->prev = place;
	dir->first = place;
	ews_notify_index_add(&dir->by_name, place, cmp_name);
}

void ews_notify_place_unlink(struct ews_notify_place *place)
{
	struct ews_notify_place *dir = place->parent;

	(void)tdelete(place, &dir->by_name, cmp_name);
	if (place->prev)
		place->prev->next = place->next;
	else
		dir->first = place->next;
	if (place->next)
		place->next->prev = place->prev;
}

struct ews_notify_place *ews_notify_place_find(struct ews_notify_place *dir, const char *name)
{
	struct ews_notify_place key = { .name = name };
	void *node = tfind(&key, &dir->by_name, cmp_name);

	return node ? *(struct ews_notify_place **)node : NULL;
}

struct ews_notify_place *ews_notify_place_take(struct ews_notify_place *dir, const char *name)
{
	struct ews_notify_place *place = ews_notify_place_find(dir, name);
	size_t len = strlen(name);
	char *copy;

	if (place)
		return place;
	place = ews_calloc(1, sizeof(*place) + len + 1);
	copy = (char *)(place + 1);
	memcpy(copy, name, len);
	place->name = copy;
	place->watch = -1;
	ews_notify_place_link(dir, place);
	return place;
}

void ews_notify_place_free(struct ews_notify_place *place)
{
	ews_notify_place_unlink(place);
	free(place);
}

size_t ews_notify_place_depth(const struct ews_notify_place *place)
{
	size_t depth = 0;

	for (; place->parent; place = place->parent)
		depth++;
	return depth;
}

struct ews_notify_place *ews_notify_place_above(const struct ews_notify_place *place)
{
	struct ews_notify_place *dir = place->parent;

	return dir && dir->went_to && !dir->is ? dir->went_to : dir;
}

void ews_notify_place_path(struct ews_buf *out, const struct ews_notify_place *place)
{
	size_t start = out->len, len = 0;
	char *at;

	for (const struct ews_notify_place *p = place; p->parent; p = ews_notify_place_above(p))
		len += strlen(p->name) + 1;
	if (!len)
		return;
	ews_buf_reserve(out, len);
	at = out->ptr + start + len;
	for (const struct ews_notify_place *p = place; p->parent; p = ews_notify_place_above(p)) {
		size_t name_len = strlen(p->name);

		*--at = p == place ? '\0' : '/';
		at -= name_len;
		memcpy(at, p->name, name_len);
	}
	out->len = start + len - 1;
}
