/*
 * Object ids and types: see oid.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/oid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

bool ews_oid_equal(const struct ews_oid *a, const struct ews_oid *b)
{
	return a->len == b->len && !memcmp(a->id, b->id, a->len);
}

int ews_oid_cmp(const struct ews_oid *a, const struct ews_oid *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->id, b->id, a->len);
}

char *ews_oid_hex(char out[EWS_OID_HEX_MAX], const struct ews_oid *oid)
{
	ews_hex(out, oid->id, oid->len);
	return out;
}

int ews_oid_parse(struct ews_oid *out, const char *text)
{
	size_t digits = strnlen(text, EWS_OID_HEX_MAX);
	struct ews_oid oid = { .len = (uint8_t)(digits / 2) };

	if ((digits != 40 && digits != 64) || ews_unhex(oid.id, oid.len, text) < 0)
		return ews_error(EWS_EDAMAGED, "'%.80s' is no object id", text);
	*out = oid;
	return 0;
}

int ews_oid_parse_or_none(struct ews_oid *out, const char *text, size_t len)
{
	EWS_CLEANUP(free) char *hex = ews_strndup(text, len);

	*out = (struct ews_oid)EWS_OID_NONE;
	return strspn(hex, "0") == len ? 0 : ews_oid_parse(out, hex);
}

enum ews_hash_algo ews_oid_algo(const struct ews_oid *oid)
{
	return oid->len == ews_hash_len(EWS_SHA256) ? EWS_SHA256 : EWS_SHA1;
}

const char *ews_object_type_name(enum ews_object_type type)
{
	static const char *const names[] = { "none", "commit", "tree", "blob", "tag" };

	return names[type];
}

size_t ews_object_header(char out[EWS_OBJECT_HEADER_MAX], enum ews_object_type type, uint64_t size)
{
	return (size_t)snprintf(out, EWS_OBJECT_HEADER_MAX, "%s %" PRIu64, ews_object_type_name(type), size) + 1;
}

void ews_oid_hash(struct ews_oid *out, enum ews_hash_algo algo, enum ews_object_type type, const void *data,
		  size_t len)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(algo);
	char header[EWS_OBJECT_HEADER_MAX];

	*out = (struct ews_oid)EWS_OID_NONE;
	ews_hash_add(hash, header, ews_object_header(header, type, len));
	ews_hash_add(hash, data, len);
	out->len = (uint8_t)ews_hash_finish(hash, out->id);
}

void ews_oids_add(struct ews_oids *list, const struct ews_oid *oid)
{
	EWS_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = *oid;
}

static int cmp_oid(const void *a, const void *b)
{
	return ews_oid_cmp(a, b);
}

void ews_oids_sort(struct ews_oids *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), cmp_oid);
	for (size_t i = 0; i < list->n; i++)
		if (!kept || !ews_oid_equal(&list->items[kept - 1], &list->items[i]))
			list->items[kept++] = list->items[i];
	list->n = kept;
}

bool ews_oids_has(const struct ews_oids *list, const struct ews_oid *oid)
{
	return list->n && bsearch(oid, list->items, list->n, sizeof(*list->items), cmp_oid);
}

void ews_oids_release(struct ews_oids *list)
{
	free(list->items);
	*list = (struct ews_oids)EWS_OIDS_INIT;
}

/* The slot of `oid`, or the free one where it belongs. */
static struct ews_oid *find_slot(struct ews_oid *slots, size_t n_slots, const struct ews_oid *oid)
{
	size_t at;

	/* An id is random enough to be its own hash. */
	memcpy(&at, oid->id, sizeof(at));
	at &= n_slots - 1;
	while (slots[at].len && !ews_oid_equal(&slots[at], oid))
		at = (at + 1) & (n_slots - 1);
	return &slots[at];
}

bool ews_oidset_add(struct ews_oidset *set, const struct ews_oid *oid)
{
	struct ews_oid *slot;

	if (2 * set->n >= set->n_slots) {
		size_t n_slots = set->n_slots ? 2 * set->n_slots : 256;
		struct ews_oid *slots = ews_calloc(n_slots, sizeof(*slots));

		for (size_t i = 0; i < set->n_slots; i++)
			if (set->slots[i].len)
				*find_slot(slots, n_slots, &set->slots[i]) = set->slots[i];
		free(set->slots);
		set->slots = slots;
		set->n_slots = n_slots;
	}
	slot = find_slot(set->slots, set->n_slots, oid);
	if (slot->len)
		return false;
	*slot = *oid;
	set->n++;
	return true;
}

bool ews_oidset_has(const struct ews_oidset *set, const struct ews_oid *oid)
{
	return set->n_slots && find_slot(set->slots, set->n_slots, oid)->len;
}

void ews_oidset_release(struct ews_oidset *set)
{
	free(set->slots);
	*set = (struct ews_oidset)EWS_OIDSET_INIT;
}
