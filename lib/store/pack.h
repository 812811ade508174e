/*
 * Packs: many objects in one file, written from its start to its end.
 *
 * A pack is made as `tmp_pack_ews_*` beside its place and gets its name when
 * all of it, and its index, is synced:
 *
 *     "PACK" version count | object … | hash of all before
 *     object: type and size, 7 bits a byte | zlib stream of the content
 *
 * No deltas: a base would have to be in the same pack, and looking for one
 * costs more than it saves. One thread at a time may use a pack; deflating,
 * which is the dear part, needs none and happens outside.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PACK_H
#define EWS_STORE_PACK_H

#include "base/buf.h"
#include "base/deflate.h"
#include "base/hash.h"
#include "base/sync.h"
#include "store/oid.h"

/* Append an object, as it stands in a pack, to `out`; a plain one is not compressed. */
void ews_pack_format(struct ews_buf *out, struct ews_deflater *deflater, bool is_plain, enum ews_object_type type,
		     const void *data, size_t len);
/* The sum of an object as it stands in a pack, which the index of the pack has. */
uint32_t ews_pack_sum(const void *record, size_t len);

struct ews_pack;

/*
 * Begin one in `object_dir`, whose directory "pack" is made when missing, for whom `sharing` says. Until it is finished nobody
 * sees it.
 */
int ews_pack_open(struct ews_pack **out, const char *object_dir, enum ews_hash_algo algo, struct ews_sharing sharing);
/* Removes what was not finished; NULL is fine. */
void ews_pack_free(struct ews_pack *pack);

/* Add object `oid` as ews_pack_format() gave it, with its sum. An id may come once only. */
int ews_pack_add(struct ews_pack *pack, const struct ews_oid *oid, uint32_t sum, const void *record, size_t len);

/*
 * Add one object in pieces: begin, feed `size` bytes altogether, then end; or
 * cancel at any point, and the pack is as it was before.
 */
int ews_pack_stream_begin(struct ews_pack *pack, enum ews_object_type type, uint64_t size);
int ews_pack_stream_feed(struct ews_pack *pack, const void *data, size_t len);
int ews_pack_stream_end(struct ews_pack *pack, const struct ews_oid *oid);
int ews_pack_stream_cancel(struct ews_pack *pack);

size_t ews_pack_count(const struct ews_pack *pack);
uint64_t ews_pack_bytes(const struct ews_pack *pack);

/*
 * Close the pack (it has one object at least), write its index, and add both to `group` (base/sync). The names are
 * `pack-<hash>.pack` and `.idx`; the index comes last, and a pack without one is no pack to git.
 */
int ews_pack_finish(struct ews_pack *pack, struct ews_sync_group *group);

/* Does the pack, or the index of one, `name` in `dir_fd` have the checksum that it ends in? Fails with EWS_EDAMAGED. */
int ews_pack_check(int dir_fd, const char *name, enum ews_hash_algo algo);

struct ews_pack_item {
	struct ews_oid oid;
	uint32_t crc;
	uint64_t offset;
};

/* Append the index (version 2) of a pack that ends in the hash `trailer`; `items` are sorted by id here. */
void ews_pack_format_index(struct ews_buf *out, struct ews_pack_item *items, size_t n, enum ews_hash_algo algo,
			   const uint8_t *trailer);

EWS_CLEANUP_DEFINE_PTR(pack, struct ews_pack, ews_pack_free)

#endif
