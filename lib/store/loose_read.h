/*
 * Loose objects that are read, one file each: see loose.h for their format.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LOOSE_READ_H
#define EWS_STORE_LOOSE_READ_H

#include <stdbool.h>

#include "base/buf.h"
#include "store/oid.h"

/*
 * Append the object `oid`, checked against its id. Returns 1, or 0 when it is not here, or not as a small object that
 * is whole: who knows of other places looks there.
 */
int ews_loose_read(struct ews_buf *out, enum ews_object_type *type, const char *object_dir,
		   const struct ews_oid *oid);

/*
 * Is it here? An empty file, as a power failure leaves it of one that was not synced, is no object: what would not be written if
 * it were here is written.
 */
bool ews_loose_has(const char *object_dir, const struct ews_oid *oid);
/* The same, and it counts as new from now on where that can be. */
bool ews_loose_freshen(const char *object_dir, const struct ews_oid *oid);

/*
 * Read the file of the object `oid` to its last byte: it must be one stream, without an error and with nothing behind
 * it, that has the id. Fails with EWS_EDAMAGED, or EWS_ENOTFOUND when it is not loose.
 */
int ews_loose_check(const char *object_dir, const struct ews_oid *oid);
/* The same but for the id: of what was not written to its end the stream's own checksum tells that, for half of the time. */
int ews_loose_check_stream(const char *object_dir, const struct ews_oid *oid);

#endif
