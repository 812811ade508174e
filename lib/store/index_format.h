/*
 * What git's index is made of on disk, for who reads it: index.c draws it. Nobody but index*.c looks in here.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_INDEX_FORMAT_H
#define EWS_STORE_INDEX_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EWS_INDEX_HEADER_BYTES 12
#define EWS_INDEX_STAT_BYTES 40
#define EWS_INDEX_MODE_AT 24 /* among the stat data */

#define EWS_INDEX_ASSUMED_UNCHANGED 0x8000
#define EWS_INDEX_EXTENDED 0x4000
#define EWS_INDEX_STAGE_SHIFT 12
#define EWS_INDEX_NAME 0x0fff
#define EWS_INDEX_MORE_SKIP_WORKTREE 0x4000
#define EWS_INDEX_MORE_INTENT_TO_ADD 0x2000

/*
 * Version 4 lets a few bytes stand for a long path. A real index never grows
 * more than this; a made-up one could fill the memory.
 */
#define EWS_INDEX_PATH_GROWTH_MAX 64

static inline uint16_t ews_index_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t ews_index_get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* A number of seven bits a byte, the highest first, each length starting where the shorter one ends; `*at` moves behind it. */
static inline bool ews_index_get_varint(size_t *out, const uint8_t **at, const uint8_t *end)
{
	size_t value = 0;

	for (unsigned i = 0; i < 5 && *at < end; i++) {
		uint8_t byte = *(*at)++;

		value = (value << 7) + (byte & 0x7f);
		if (!(byte & 0x80)) {
			*out = value;
			return true;
		}
		value++;
	}
	return false;
}

/* The path of an entry is as long as its flags say, which have no more than twelve bits for that. */
static inline bool ews_index_is_named_len(size_t len, uint16_t flags)
{
	size_t named_len = flags & EWS_INDEX_NAME;

	return named_len != EWS_INDEX_NAME ? len == named_len : len >= EWS_INDEX_NAME;
}

/* The bytes of versions 2 and 3 that an entry has which is `len` bytes long with its path, and without a NUL behind that. */
static inline size_t ews_index_padded(size_t len)
{
	return (len + 8) & ~(size_t)7;
}

/* May an index have this extension for all that we do with it? Not "link", which says that its entries are elsewhere. */
static inline bool ews_index_is_harmless(const uint8_t name[4])
{
	return (name[0] >= 'A' && name[0] <= 'Z') ||
	       (name[0] == 's' && name[1] == 'd' && name[2] == 'i' && name[3] == 'r');
}

static inline bool ews_index_is_null(const uint8_t *id, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (id[i])
			return false;
	return true;
}

#endif
