/*
 * Loose objects: one object, one file, durable and whole or not there.
 *
 * The format is git's: zlib over "<type> <size>\0" and the content, under
 * objects/<2 hex>/<the rest>. The file is written beside under a name of ours,
 * locked while its writer lives, so that store/litter can tell what a killed one
 * left.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LOOSE_H
#define EWS_STORE_LOOSE_H

#include "base/deflate.h"
#include "base/sync.h"
#include "store/oid.h"

/*
 * Write `data` as the object `oid`, which is there and durable when `group` is finished. One that is there is left alone,
 * and counts as new. It is for whom `sharing` says. May be called from several threads, each with a deflater of its own.
 */
int ews_loose_write(struct ews_sync_group *group, struct ews_deflater *deflater, const char *object_dir,
		    struct ews_sharing sharing, const struct ews_oid *oid, enum ews_object_type type,
		    const void *data, size_t len);

#endif
