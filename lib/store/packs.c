/*
 * The packs of an object directory: see packs.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/packs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "store/id_filter.h"

#define PACKS_MAX 256
#define OPEN_PART 4 /* at most one in so many of the files that a process may have open is a pack or its index */
#define FRESH_MS 2000 /* what was made new less long ago is new */
#define MISSING_MIN 64 /* for fewer ids that aren't there no filter is worth its while */
#define FILTERED_MIN 4 /* nor for fewer packs */
#define PLACES_MIN 4096 /* objects of a pack in which places are looked for */

struct ews_packs {
	char *object_dir, *dir;
	struct ews_packed items[PACKS_MAX]; /* they never move: others read while one is added */
	atomic_size_t n;
	size_t n_open; /* files */
	atomic_bool are_all;
	pthread_mutex_t large; /* whose turn it is to hold a large object */
	struct ews_pack_large left; /* under that, and: */
	size_t resident; /* how much was in memory when some was given back */
	atomic_size_t last; /* the pack that had what was asked for last: mostly it has the next, too */
	atomic_uint n_missing; /* ids that were asked for and are not there; not counted on from MISSING_MIN */
	/* The ids of all mapped indexes among the first `n_filtered` packs; NULL: it was not made yet, or there were few of those then. */
	struct ews_id_filter *_Atomic filter;
	size_t n_filtered;
};

static bool is_known(const struct ews_packs *packs, const char *name)
{
	size_t i = 0;

	while (i < packs->n && strcmp(packs->items[i].name, name) != 0)
		i++;
	return i < packs->n;
}

/* Is there room for another pack, or would its files be lacking to others? */
static bool has_room(const struct ews_packs *packs)
{
	long open_max = sysconf(_SC_OPEN_MAX);

	/* Below zero there is no limit. */
	return packs->n < PACKS_MAX && (open_max < 0 || packs->n_open + 2 <= (size_t)open_max / OPEN_PART);
}

/* Add the pack `name`; false when that can't be. */
static bool add_pack(struct ews_packs *packs, int dir_fd, const char *name)
{
	struct ews_packed *pack = packs->items + packs->n;

	if (!has_room(packs) || !ews_packed_open(pack, dir_fd, name))
		return false;
	packs->n_open += pack->index_fd < 0 ? 1 : 2;
	packs->n++;
	return true;
}

static bool borrows(const char *object_dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(object_dir, "info/alternates");

	return access(path, F_OK) == 0;
}

void ews_packs_look_again(struct ews_packs *packs)
{
	DIR *dir = opendir(packs->dir);
	bool are_all = (dir || errno == ENOENT) && !borrows(packs->object_dir);
	struct dirent *found;

	/* At the end errno stays as it is. */
	for (errno = 0; dir && (found = readdir(dir)); errno = 0) {
		size_t len = strlen(found->d_name);
		EWS_CLEANUP(free) char *name = NULL;

		if (len <= 4 || strcmp(found->d_name + len - 4, ".idx") != 0)
			continue;
		name = ews_strndup(found->d_name, len - strlen("idx"));
		if (!is_known(packs, name) && !add_pack(packs, dirfd(dir), name))
			are_all = false;
	}
	if (dir && errno)
		are_all = false;
	if (dir)
		closedir(dir);
	packs->are_all = are_all;
}

struct ews_packs *ews_packs_open(const char *object_dir)
{
	struct ews_packs *packs = ews_calloc(1, sizeof(*packs));

	packs->object_dir = ews_strdup(object_dir);
	packs->left.object.bytes = packs->left.room = (struct ews_buf)EWS_BUF_INIT;
	pthread_mutex_init(&packs->large, NULL);
	packs->dir = ews_path_join(object_dir, "pack");
	ews_packs_look_again(packs);
	return packs;
}

void ews_packs_free(struct ews_packs *packs)
{
	if (!packs)
		return;
	for (size_t i = 0; i < packs->n; i++)
		ews_packed_close(&packs->items[i]);
	pthread_mutex_destroy(&packs->large);
	ews_buf_release(&packs->left.object.bytes);
	ews_buf_release(&packs->left.room);
	ews_id_filter_free(packs->filter);
	free(packs->dir);
	free(packs->object_dir);
	free(packs);
}

/* Put the ids of all mapped indexes in, if there are enough of those. */
static void make_filter(struct ews_packs *packs)
{
	size_t n = packs->n, n_mapped = 0, n_ids = 0;
	struct ews_id_filter *filter;

	for (size_t i = 0; i < n; i++) {
		n_mapped += packs->items[i].index.at != NULL;
		n_ids += packs->items[i].index.at ? packs->items[i].n : 0;
	}
	if (n_mapped < FILTERED_MIN)
		return;
	filter = ews_id_filter_new(n_ids);
	for (size_t i = 0; i < n; i++) {
		const unsigned char *ids = ews_packed_ids(&packs->items[i]);

		for (size_t at = 0; ids && at < packs->items[i].n; at++)
			ews_id_filter_add(filter, ids + at * EWS_PACKED_ID_LEN);
	}
	packs->n_filtered = n;
	packs->filter = filter; /* now others may look at both */
}

/*
 * The packs that may have an id. Whoever keeps a state makes one at a time, and there come to be many: what was asked for last
 * tells where to begin, and of most the filter says at once that they haven't it.
 */
struct tour {
	struct ews_packs *packs;
	size_t n, first;
	size_t n_without; /* the mapped among so many have it not */
	size_t next; /* 0: the first, then all others in their order */
};

static struct tour begin_tour(struct ews_packs *packs, const unsigned char *id)
{
	const struct ews_id_filter *filter = packs->filter;

	return (struct tour){ .packs = packs,
			      .n = packs->n,
			      .first = packs->last,
			      .n_without = filter && !ews_id_filter_may_have(filter, id) ? packs->n_filtered : 0 };
}

/* NULL: there are no more. */
static struct ews_packed *next_pack(struct tour *tour)
{
	while (tour->n && tour->next <= tour->n) {
		size_t turn = tour->next++;
		size_t i = turn ? turn - 1 : tour->first;
		struct ews_packed *pack = &tour->packs->items[i];

		if (!(turn && i == tour->first) && !(i < tour->n_without && pack->index.at))
			return pack;
	}
	return NULL;
}

/* `pack` had it; NULL: none did. Of the threads that ask one makes the filter, when many ids were not there. */
static void end_tour(const struct tour *tour, const struct ews_packed *pack)
{
	struct ews_packs *packs = tour->packs;
	size_t i = pack ? (size_t)(pack - packs->items) : 0;

	if (pack && packs->last != i)
		packs->last = i;
	if (!pack && packs->n_missing < MISSING_MIN && atomic_fetch_add(&packs->n_missing, 1) + 1 == MISSING_MIN)
		make_filter(packs);
}

int ews_packs_take(struct ews_packs *packs, const struct ews_oid *oid, ews_packs_take_fn take, void *payload)
{
	char hex[EWS_OID_HEX_MAX];
	struct ews_packed *pack;
	struct tour tour;
	int found = 0;

	if (oid->len != EWS_PACKED_ID_LEN)
		return 0;
	tour = begin_tour(packs, oid->id);
	while ((found == 0 || found == EWS_EDAMAGED) && (pack = next_pack(&tour))) {
		size_t offset = ews_packed_find(pack, oid->id);
		int rc = offset ? take(payload, pack, offset) : 0;

		if (rc)
			found = rc;
	}
	end_tour(&tour, found > 0 ? pack : NULL);
	if (found == EWS_EDAMAGED)
		return ews_error(found, "object %s is damaged in its pack", ews_oid_hex(hex, oid));
	return found;
}

int ews_packs_take_at(const struct ews_packs *packs, const struct ews_pack_place *place, ews_packs_take_fn take,
		      void *payload)
{
	return place->pack && place->pack <= packs->n ? take(payload, &packs->items[place->pack - 1], place->offset)
						      : 0;
}

/* An id that is looked for, and which one of all it is. */
struct by_id {
	const struct ews_oid *oid;
	size_t i;
};

static int cmp_by_id(const void *a, const void *b)
{
	const struct by_id *one = a, *other = b;

	return ews_oid_cmp(one->oid, other->oid);
}

/* Find those that are in pack `k`; the others, which stay in their order, are `*n` then. */
static void find_in(struct ews_pack_place *out, struct by_id *ids, size_t *n, struct ews_packed_view *view,
		    const struct ews_packs *packs, size_t k)
{
	size_t left = 0;

	view->ids.len = view->offsets.len = 0;
	for (size_t i = 0; i < *n; i++) {
		size_t offset = ews_packed_find_next(view, &packs->items[k], ids[i].oid->id);

		if (offset && offset != SIZE_MAX)
			out[ids[i].i] = (struct ews_pack_place){ offset, (uint32_t)k + 1 };
		else
			ids[left++] = ids[i];
	}
	*n = left;
}

void ews_packs_find_places(struct ews_pack_place *out, struct ews_packs *packs, const struct ews_oid *const *oids,
			   size_t n)
{
	EWS_CLEANUP(free) struct by_id *ids = ews_calloc(n + 1, sizeof(*ids));
	EWS_CLEANUP(free) struct ews_packed_view *view = ews_calloc(1, sizeof(*view));
	size_t n_packs = packs->n, left = 0;

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct ews_pack_place){ .pack = 0 };
		if (oids[i]->len == EWS_PACKED_ID_LEN)
			ids[left++] = (struct by_id){ oids[i], i };
	}
	qsort(ids, left, sizeof(*ids), cmp_by_id);
	for (size_t k = 0; k < n_packs && left; k++)
		if (packs->items[k].n >= PLACES_MIN)
			find_in(out, ids, &left, view, packs, k);
}

/* Let the pack count as new. What we may not touch is there all the same. */
static bool freshen(const struct ews_packs *packs, struct ews_packed *pack)
{
	EWS_CLEANUP(free) char *path = NULL;
	uint64_t now_ms = ews_clock_monotonic_ms();

	if (pack->is_cruft)
		return false;
	if (pack->freshened_ms && now_ms - pack->freshened_ms < FRESH_MS)
		return true;
	path = ews_strfmt("%s/%spack", packs->dir, pack->name);
	if (utimensat(AT_FDCWD, path, NULL, 0) < 0)
		return access(path, F_OK) == 0;
	pack->freshened_ms = now_ms;
	return true;
}

/* Is the object in a pack that `fits` (NULL: any does)? */
static bool is_in(struct ews_packs *packs, const struct ews_oid *oid,
		  bool (*fits)(const struct ews_packs *packs, struct ews_packed *pack))
{
	struct ews_packed *pack;
	struct tour tour;
	size_t at;

	if (oid->len != EWS_PACKED_ID_LEN)
		return false;
	tour = begin_tour(packs, oid->id);
	while ((pack = next_pack(&tour)) && !(ews_packed_find_id(&at, pack, oid->id) && (!fits || fits(packs, pack))))
		;
	end_tour(&tour, pack);
	return pack;
}

bool ews_packs_have(struct ews_packs *packs, const struct ews_oid *oid)
{
	return is_in(packs, oid, NULL);
}

bool ews_packs_freshen(struct ews_packs *packs, const struct ews_oid *oid)
{
	return is_in(packs, oid, freshen);
}

bool ews_packs_are_all(const struct ews_packs *packs)
{
	return packs->are_all;
}

struct ews_pack_large *ews_packs_begin_large(struct ews_packs *packs)
{
	pthread_mutex_lock(&packs->large);
	ews_alloc_give_back_growth(&packs->resident);
	return &packs->left;
}

void ews_packs_end_large(struct ews_packs *packs)
{
	pthread_mutex_unlock(&packs->large);
}
