/*
 * Id filters: see id_filter.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/id_filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define BITS_AN_ID 16
#define BITS_MIN 64

struct ews_id_filter {
	size_t n_bits; /* a power of two */
	uint64_t words[];
};

struct ews_id_filter *ews_id_filter_new(size_t n)
{
	struct ews_id_filter *filter;
	size_t n_bits = BITS_MIN;

	while (n_bits / BITS_AN_ID < n)
		n_bits *= 2;
	filter = ews_calloc(1, sizeof(*filter) + n_bits / 8);
	filter->n_bits = n_bits;
	return filter;
}

void ews_id_filter_free(struct ews_id_filter *filter)
{
	free(filter);
}

static size_t find_bit(const struct ews_id_filter *filter, const unsigned char *id)
{
	uint64_t number;

	memcpy(&number, id, sizeof(number));
	return (size_t)number & (filter->n_bits - 1);
}

void ews_id_filter_add(struct ews_id_filter *filter, const unsigned char *id)
{
	size_t bit = find_bit(filter, id);

	filter->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

bool ews_id_filter_may_have(const struct ews_id_filter *filter, const unsigned char *id)
{
	size_t bit = find_bit(filter, id);

	return filter->words[bit / 64] >> bit % 64 & 1;
}
