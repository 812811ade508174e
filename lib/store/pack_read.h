/*
 * Packed objects that are read: many stand behind one another in a pack, most of them as what differs from a base.
 *
 * What is ordinary is read here, in place and into buffers that are used again; whoever asks knows whether what comes is
 * what its id says. All else is said not to be here: an object that is huge, or damaged, or in another store that this one borrows from.
 * Who knows of other places, and has words for what is wrong, looks there.
 *
 * A pack is as pack.h has it; a delta names its base by how far ahead of it that stands, or by its id.
 *
 * Several threads may read, each with a reader of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PACK_READ_H
#define EWS_STORE_PACK_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/oid.h"
#include "store/packs.h"

struct ews_pack_reader;

struct ews_pack_reader *ews_pack_reader_new(void);
/* NULL is fine. It reads the packs of one directory, which must still be open. */
void ews_pack_reader_free(struct ews_pack_reader *reader);

/* Where a large object goes step by step; both return below zero, with an error set, when it can't go on. */
struct ews_pack_sink {
	/* What comes is of this type, and has as many bytes. It may begin again: then what came before was damaged. */
	int (*begin)(void *payload, enum ews_object_type type, uint64_t size);
	int (*add)(void *payload, const void *data, size_t len);
	void *payload;
};

/* Is what was read as it should be? `content` is NULL where the sink has it. */
struct ews_pack_check {
	bool (*is_sound)(void *payload, enum ews_object_type type, const struct ews_buf *content);
	void *payload;
};

/*
 * Read the object `oid`. Returns 1, or 0 when it is not here, or not of a kind that is read here (too large, say). Fails
 * with EWS_EDAMAGED when what a pack has of it is no object, or not sound (`check`, which may be NULL), and no other pack has
 * it. `out` is the reader's, until its next object.
 *
 * Where there is a `sink` an object of 2 MiB or more goes there: returns 2 then. However large it is, that takes no more
 * memory than what it is a delta of.
 */
int ews_pack_reader_read(const struct ews_buf **out, enum ews_object_type *type, struct ews_pack_reader *reader,
			 struct ews_packs *packs, const struct ews_oid *oid, const struct ews_pack_sink *sink,
			 const struct ews_pack_check *check);
/*
 * The same of what was found to stand at `place`: whoever reads many so, in that order, reads what follows there as well, and
 * finds it read.
 */
int ews_pack_reader_read_at(const struct ews_buf **out, enum ews_object_type *type, struct ews_pack_reader *reader,
			    struct ews_packs *packs, const struct ews_pack_place *place,
			    const struct ews_pack_sink *sink, const struct ews_pack_check *check);
/*
 * Whoever has read is done with what came of it: what a large object took is given back, and who waits to read one may.
 * Only one thread at a time holds a large object (of 2 MiB), so that memory has a bound however many read.
 */
void ews_pack_reader_done(struct ews_pack_reader *reader);
/* What it says of itself, with little of it read. Returns as above. */
int ews_pack_reader_read_header(enum ews_object_type *type, uint64_t *size, struct ews_pack_reader *reader,
				struct ews_packs *packs, const struct ews_oid *oid);

#endif
