/*
 * The packs of an object directory: which one has an object.
 *
 * Several threads may ask. All that is not ordinary is said not to be here: an index of another version, what is in another
 * store that this one borrows from. Who knows of other places looks there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PACKS_H
#define EWS_STORE_PACKS_H

#include "base/buf.h"
#include "store/oid.h"
#include "store/packed.h"
#include "store/pack_place.h"

struct ews_packs;

/* An object that was read, and where it stood. */
struct ews_pack_object {
	struct ews_buf bytes;
	enum ews_object_type type;
	const struct ews_packed *pack; /* NULL: nothing was read */
	size_t offset;
};

/* Open the packs that are in the object directory `object_dir` of a SHA-1 repository now; there may be none. */
struct ews_packs *ews_packs_open(const char *object_dir);
/* Open those that have come since. Others may read meanwhile, but one thread at a time may do this. */
void ews_packs_look_again(struct ews_packs *packs);
/* NULL is fine. */
void ews_packs_free(struct ews_packs *packs);

/* Is the object `oid` in one of them? */
bool ews_packs_have(struct ews_packs *packs, const struct ews_oid *oid);
/*
 * Is it in one of them that counts as new from now on, or that is another user's? Not where git counts by the object
 * (cruft), nor in one that is gone.
 */
bool ews_packs_freshen(struct ews_packs *packs, const struct ews_oid *oid);
/* Were these all packs at the last look, and does the directory borrow from no other? What they don't have is in none then. */
bool ews_packs_are_all(const struct ews_packs *packs);

/* What one pack has of the object, which stands at `offset` of it: 0 is nothing, EWS_EDAMAGED nothing that is of use. */
typedef int (*ews_packs_take_fn)(void *payload, const struct ews_packed *pack, size_t offset);

/*
 * Go through the packs until one has the object whole, and return what `take` said of that; 0 when none has it. What a pack has
 * damaged may be well in another: fails with EWS_EDAMAGED when it is in none.
 */
int ews_packs_take(struct ews_packs *packs, const struct ews_oid *oid, ews_packs_take_fn take, void *payload);

/* Take it from where it was found to be; 0 when that is not known. */
int ews_packs_take_at(const struct ews_packs *packs, const struct ews_pack_place *place, ews_packs_take_fn take,
		      void *payload);
/*
 * Find where those of the `n` objects stand that are in a pack of thousands; of all others it is not known. Indexes are gone through
 * in the order of the ids, which takes little of each.
 */
void ews_packs_find_places(struct ews_pack_place *out, struct ews_packs *packs, const struct ews_oid *const *oids,
			   size_t n);

/* What whoever held a large object last has left for the next. */
struct ews_pack_large {
	struct ews_pack_object object; /* which the next may be a delta of */
	struct ews_buf room; /* to be used again: what is made anew comes a page at a time */
};

/*
 * One thread at a time holds a large object of theirs, so that memory has a bound however many read: wait for one's turn, and let
 * the next have it. What was left is the caller's until then.
 */
struct ews_pack_large *ews_packs_begin_large(struct ews_packs *packs);
void ews_packs_end_large(struct ews_packs *packs);

#endif
