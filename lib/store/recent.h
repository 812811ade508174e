/*
 * Recent: contents that just passed through, kept in memory for who asks for them next.
 *
 * What was put into a directory, or taken from it, is mostly what is compared right afterwards. To read it again means to
 * find it in a pack, to inflate it and what it is a delta of, and to see once more that it is what its id says. To copy
 * it costs little. Several threads may use one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_RECENT_H
#define EWS_STORE_RECENT_H

#include "base/buf.h"
#include "store/oid.h"

struct ews_recent;

/* Room for `max_bytes`, which take no memory before they are used: what would be more is not kept. */
struct ews_recent *ews_recent_new(size_t max_bytes);
void ews_recent_free(struct ews_recent *recent);

/* Would that many bytes more be kept? */
bool ews_recent_has_room(struct ews_recent *recent, size_t len);
/* Keep a copy of the blob `oid`, which is known to be these bytes. */
void ews_recent_add(struct ews_recent *recent, const struct ews_oid *oid, const void *data, size_t len);
/* The `*len` bytes of the blob `oid`, which stay where they are; NULL when it is not here. */
const void *ews_recent_find(size_t *len, struct ews_recent *recent, const struct ews_oid *oid);

#endif
