/*
 * Hard links: which paths of a list are names of one file, and what must be written that they are it again.
 *
 * Inodes mean nothing to another directory or time, so each name of a file but the first tells
 * the first (`first_name`). A file may have names elsewhere as well, outside or among what was
 * left out: of these it is known that there are some. They can't be given back, and a file that came to
 * have one is parted from it, or whoever writes into the file would write there.
 *
 * Most trees have none of all this, and then a look at each entry is all that it costs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_HARDLINK_H
#define EWS_STORE_HARDLINK_H

#include "store/entry.h"

/* Find the names of one file in a sorted list by its stat data, which must be there. */
void ews_hardlinks_find(struct ews_entries *list);

/*
 * Of a list in which the paths inside `only` were scanned now, and the others are those of `old`: find the names of
 * one file. A scanned file that is what it was and has names elsewhere is taken for one with those that it was one with.
 */
void ews_hardlinks_take_over(struct ews_entries *list, const struct ews_entries *old, const char *const *only);

enum ews_hardlink_fate {
	EWS_HARDLINK_FREE, /* it may be written */
	EWS_HARDLINK_STAYS, /* it is to stay as it is */
	EWS_HARDLINK_LEAVES, /* it leaves, and its file with it */
	EWS_HARDLINK_UNSEEN, /* nobody looked at it when that was decided: it has no say */
};

typedef enum ews_hardlink_fate (*ews_hardlink_fate_fn)(void *payload, const char *path);

struct ews_hardlink_opts {
	const struct ews_entries *now; /* with stat data */
	const struct ews_entries *want; /* where the changes' `to` are */
	ews_entry_equal_fn equal; /* by which the changes were found */
	bool part_elsewhere; /* what had no name elsewhere shall have none */
	bool keeps_replaced; /* what another content replaces is moved away with its inode, not removed */
	ews_hardlink_fate_fn fate; /* of what is there now; NULL: all is free */
	void *payload;
};

/*
 * Complete `changes`, which lead from `now` to `want`, so that the names of one file come to be that: what must be
 * parted or joined is added though it is equal, and `one_file` is set. A file that is as it
 * should be stays, and others join it. Nothing is done when `want` does not know names.
 */
void ews_hardlinks_plan(struct ews_changes *changes, const struct ews_hardlink_opts *opts);

/*
 * Called for a path of `to`: it has become the same file as `joined`, and is no longer the same as `parted`; one may be
 * NULL. Of what is on both sides it is told when its names there changed, of what is new when it has others.
 */
typedef void (*ews_hardlink_fn)(void *payload, const char *path, const char *joined, const char *parted);

/* How names of one file changed between two lists; nothing where one of them doesn't know names. */
void ews_hardlinks_compare(const struct ews_entries *from, const struct ews_entries *to, ews_hardlink_fn fn,
			   void *payload);

/* Are the same paths names of one file in both lists? True where one of them doesn't know. */
bool ews_hardlinks_equal(const struct ews_entries *a, const struct ews_entries *b);

#endif
