/*
 * Where an object stands among the packs of a store: found once for many of them, they can be read in that order, and need not
 * be looked for again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PACK_PLACE_H
#define EWS_STORE_PACK_PLACE_H

#include <stddef.h>
#include <stdint.h>

struct ews_pack_place {
	uint64_t offset; /* in the pack */
	uint32_t pack; /* which one, counted from 1; 0: it is not known, and all of this is zero */
};

#endif
