/*
 * Object ids and types, as all of the store speaks of them.
 *
 * An id holds its length, so that nothing outside cares for the object format.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_OID_H
#define EWS_STORE_OID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"

#define EWS_OID_MAX 32
#define EWS_OID_HEX_MAX (2 * EWS_OID_MAX + 1)

struct ews_oid {
	uint8_t len; /* 20 or 32; 0: no id */
	uint8_t id[EWS_OID_MAX];
};

#define EWS_OID_NONE { 0, { 0 } }

static inline bool ews_oid_is_none(const struct ews_oid *oid)
{
	return oid->len == 0;
}
bool ews_oid_equal(const struct ews_oid *a, const struct ews_oid *b);
int ews_oid_cmp(const struct ews_oid *a, const struct ews_oid *b);
/* Write the hex form and a NUL to `out`; "" for no id. Returns `out`. */
char *ews_oid_hex(char out[EWS_OID_HEX_MAX], const struct ews_oid *oid);
/* Read 40 or 64 hex digits, then the end of `text`. Fails with EWS_EDAMAGED. */
int ews_oid_parse(struct ews_oid *out, const char *text);
/* The same of `len` bytes; zeros alone, however many, are no id. */
int ews_oid_parse_or_none(struct ews_oid *out, const char *text, size_t len);
/* Which algorithm makes ids as long as `oid` is. */
enum ews_hash_algo ews_oid_algo(const struct ews_oid *oid);

/* A growing list of ids. */
struct ews_oids {
	struct ews_oid *items;
	size_t n, cap;
};

#define EWS_OIDS_INIT { NULL, 0, 0 }

void ews_oids_add(struct ews_oids *list, const struct ews_oid *oid);
/* Sort it, each id once. */
void ews_oids_sort(struct ews_oids *list);
/* Is `oid` in the sorted list? */
bool ews_oids_has(const struct ews_oids *list, const struct ews_oid *oid);
void ews_oids_release(struct ews_oids *list);
EWS_CLEANUP_DEFINE(oids, struct ews_oids, ews_oids_release)

/* A set of ids, for many. */
struct ews_oidset {
	struct ews_oid *slots; /* a hash table with open addressing; n_slots is a power of two */
	size_t n, n_slots;
};

#define EWS_OIDSET_INIT { NULL, 0, 0 }

/* True when it was not in the set before. */
bool ews_oidset_add(struct ews_oidset *set, const struct ews_oid *oid);
bool ews_oidset_has(const struct ews_oidset *set, const struct ews_oid *oid);
void ews_oidset_release(struct ews_oidset *set);
EWS_CLEANUP_DEFINE(oidset, struct ews_oidset, ews_oidset_release)

enum ews_object_type {
	EWS_OBJECT_COMMIT = 1,
	EWS_OBJECT_TREE = 2,
	EWS_OBJECT_BLOB = 3,
	EWS_OBJECT_TAG = 4,
};

/* "commit", "tree", "blob", "tag" */
const char *ews_object_type_name(enum ews_object_type type);
/* The bytes before an object's content that its id covers: "blob 12" and a NUL. Returns their number. */
#define EWS_OBJECT_HEADER_MAX 32
size_t ews_object_header(char out[EWS_OBJECT_HEADER_MAX], enum ews_object_type type, uint64_t size);
/* The id that `data` has as an object. */
void ews_oid_hash(struct ews_oid *out, enum ews_hash_algo algo, enum ews_object_type type, const void *data,
		  size_t len);

#endif
