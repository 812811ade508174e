/*
 * Places of a watched tree: where something can stand.
 *
 * A place knows whether something stood there when changes were last told (`was`), whether something stands there now (`is`),
 * and whether that is the same thing still (`same`), one that came from another
 * place (`origin`, whose `went_to` points back) or a new one. A renamed directory takes the places in
 * it along. All places where something happened are `touched`, and what is told in the end is read off these alone.
 *
 * For notify_tree and notify_tell alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_NOTIFY_PLACE_H
#define EWS_BASE_NOTIFY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"

/* What a look found. */
struct ews_notify_looked {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	dev_t dev;
	ino_t ino;
	uint32_t n_links;
	int64_t size, mtime_ns, ctime_ns;
	int64_t born_ns; /* 0: nobody knows */
	int64_t taken_ns;
};

struct ews_notify_place {
	struct ews_notify_place *parent; /* NULL: the root */
	const char *name;
	struct ews_notify_place *first, *next, *prev; /* of those in it; its neighbours */
	void *by_name; /* those in it, for tsearch() */
	struct ews_notify_place *origin, *went_to;
	struct ews_notify_looked seen; /* what stands here; when nothing does, what last did */
	uint64_t round; /* of the listing that named it last */
	uint64_t filter_round; /* when `is_wanted` was asked */
	size_t polled_at; /* its number among the polled ones, from 1 on; 0: it is none */
	int watch; /* -1: none */
	bool is_wanted[2]; /* as a file, as a directory */
	bool is_asked[2];
	bool was, was_dir;
	bool is, same, changed;
	bool is_old; /* nothing is here, and `seen` is what was */
	bool is_touched;
	bool is_dirty; /* to be looked at */
	bool is_sure; /* it did change, whatever a look says */
	bool is_shifted; /* a rename makes a new ctime */
	bool is_to_list; /* to be listed with all below */
	bool is_told;
};

struct ews_notify_places {
	struct ews_notify_place **items;
	size_t n, cap;
};

/* Nanoseconds since 1970. */
int64_t ews_notify_now_ns(void);

/* Look at `name` in a directory; "" is the directory itself. Below zero when that can't be done, with errno. */
int ews_notify_look(struct ews_notify_looked *out, int dir_fd, const char *name);
bool ews_notify_is_same_thing(const struct ews_notify_looked *a, const struct ews_notify_looked *b);
bool ews_notify_has_other_mode(const struct ews_notify_looked *a, const struct ews_notify_looked *b);

/* The place `name` in `dir`; NULL: there is none. */
struct ews_notify_place *ews_notify_place_find(struct ews_notify_place *dir, const char *name);
/* The same; it is made when there is none. */
struct ews_notify_place *ews_notify_place_take(struct ews_notify_place *dir, const char *name);
/* Free a place with nothing in it. */
void ews_notify_place_free(struct ews_notify_place *place);
void ews_notify_place_link(struct ews_notify_place *dir, struct ews_notify_place *place);
void ews_notify_place_unlink(struct ews_notify_place *place);

/* Is, or was, a directory there? */
bool ews_notify_is_dir(const struct ews_notify_place *place);
/* How many directories it lies in. */
size_t ews_notify_place_depth(const struct ews_notify_place *place);
/* The directory above, as it is called now: what is gone from one that was moved is gone from where that is. */
struct ews_notify_place *ews_notify_place_above(const struct ews_notify_place *place);
/* Append the path of `place`. */
void ews_notify_place_path(struct ews_buf *out, const struct ews_notify_place *place);

void ews_notify_places_add(struct ews_notify_places *list, struct ews_notify_place *place);
/* Add it to a tree of tsearch()'s. */
void ews_notify_index_add(void **index, struct ews_notify_place *place, int (*cmp)(const void *, const void *));

#endif
