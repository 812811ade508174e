/*
 * Id filters: what tells at once of nearly every id that it is not among many.
 *
 * A Bloom filter with one hash (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970): an id is random
 * enough to be that. Of what is not there one in sixteen or fewer is let through; of what is there, all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ID_FILTER_H
#define EWS_STORE_ID_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct ews_id_filter;

/* For `n` ids, with none in it; two to four bytes an id. */
struct ews_id_filter *ews_id_filter_new(size_t n);
/* NULL is fine. */
void ews_id_filter_free(struct ews_id_filter *filter);

/* An id is its first eight bytes; there are more. */
void ews_id_filter_add(struct ews_id_filter *filter, const unsigned char *id);
/* False: it was not added. */
bool ews_id_filter_may_have(const struct ews_id_filter *filter, const unsigned char *id);

#endif
