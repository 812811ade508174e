/*
 * A pack and its index, opened to be read: where in it an object stands.
 *
 *     pack-<hash>.idx: magic 2 | 256 counts | ids, sorted | sums | offsets of 4 bytes | those of 8
 *     pack-<hash>.pack: see pack.h
 *
 * A pack is read and not mapped: of a mapped one the kernel counts megabytes around each page that was touched as this
 * process's memory, and a file that somebody cuts ends the program. For the same reason a large index is not mapped, of
 * which little is wanted, each time elsewhere.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PACKED_H
#define EWS_STORE_PACKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EWS_PACKED_ID_LEN 20
#define EWS_PACKED_HEADER_LEN 12 /* what stands before the objects of a pack */

struct ews_packed {
	struct {
		const unsigned char *at; /* NULL: it is not mapped, but read from `index_fd` */
		size_t len;
	} index;
	int index_fd;
	uint32_t counts[256]; /* of objects whose ids begin with a byte that is not larger */
	size_t n; /* objects */
	int fd; /* the pack's */
	size_t end; /* of its objects */
	char *name; /* "pack-<hash>", and a dot */
	bool is_cruft; /* what is in it is as old as a third file says of each */
	_Atomic uint64_t freshened_ms; /* when it was let count as new; 0: never */
};

/* A part of an index. */
struct ews_packed_part {
	unsigned char bytes[1 << 16];
	size_t at, len;
};

/* What is looked at of an index that is gone through. */
struct ews_packed_view {
	struct ews_packed_part ids, offsets;
};

/* Open the pack `name`, of which there are "<name>idx" and "<name>pack" in `dir_fd`. False: it is none that is read here. */
bool ews_packed_open(struct ews_packed *out, int dir_fd, const char *name);
void ews_packed_close(struct ews_packed *pack);

/* Which one of its index is this id? False: none. */
bool ews_packed_find_id(size_t *out, const struct ews_packed *pack, const unsigned char *id);
/* Where in the pack does the object with this id stand? 0: it isn't there. SIZE_MAX: nowhere, though the index names it. */
size_t ews_packed_find(const struct ews_packed *pack, const unsigned char *id);
/*
 * As ews_packed_find(), for one who looks for many ids, in their order: what was read of the index last is kept in `view`, and
 * has mostly the next one, too.
 */
size_t ews_packed_find_next(struct ews_packed_view *view, const struct ews_packed *pack, const unsigned char *id);
/* The ids of an index that is mapped, one behind the other, sorted; NULL: it is not. */
const unsigned char *ews_packed_ids(const struct ews_packed *pack);

#endif
