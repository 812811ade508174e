/*
 * Ahead: see ahead.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/ahead.h"

#include "base/error.h"
#include "base/pool.h"

/* For fewer files no thread is worth its while. A large one would be waited for, and in memory with what it is a delta of. */
#define FILES_MIN 16
#define FILE_BYTES_MAX (128 * EWS_KIB)

/* Does it take a content from the store? What has that already is not written. */
static bool is_wanted(const struct ews_change *change)
{
	const struct ews_entry *from = change->from, *to = change->to;

	if (!to || to->type != EWS_ENTRY_FILE || to->size > FILE_BYTES_MAX || ews_oid_is_none(&to->oid))
		return false;
	return !from || from->type != EWS_ENTRY_FILE || !ews_oid_equal(&from->oid, &to->oid);
}

static int read_ahead(void *payload)
{
	struct ews_ahead *ahead = payload;

	for (size_t i = 0; i < ahead->changes->n && !ahead->is_enough; i++) {
		const struct ews_entry *to = ahead->changes->items[i].to;

		if (is_wanted(&ahead->changes->items[i]) && ews_odb_read_ahead(ahead->odb, &to->oid, to->size) < 0)
			ews_error_clear(); /* who needs it finds the same, and says it */
	}
	return 0;
}

void ews_ahead_begin(struct ews_ahead *out, struct ews_odb *odb, const struct ews_changes *changes)
{
	size_t n = 0;

	*out = (struct ews_ahead){ .odb = odb, .changes = changes };
	for (size_t i = 0; i < changes->n && n < FILES_MIN; i++)
		n += is_wanted(&changes->items[i]);
	if (n < FILES_MIN || ews_pool_threads() < 2)
		return;
	ews_beside_begin(&out->beside, read_ahead, out);
}

void ews_ahead_end(struct ews_ahead *ahead)
{
	ahead->is_enough = true;
	(void)ews_beside_end(&ahead->beside);
}
