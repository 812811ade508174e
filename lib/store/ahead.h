/*
 * Ahead: contents that are going to be put are read before, on a thread of their own.
 *
 * Before anything is put much is waited for: what stands there is kept, and made durable. Meanwhile there is a processor
 * that could inflate. What the store remembers (ews_odb_remember) it need not read when it is written.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_AHEAD_H
#define EWS_STORE_AHEAD_H

#include <stdatomic.h>

#include "base/beside.h"
#include "store/entry.h"
#include "store/odb.h"

struct ews_ahead {
	struct ews_odb *odb;
	const struct ews_changes *changes;
	atomic_bool is_enough;
	struct ews_beside beside;
};

/* Begin to read what `changes`, which stay as they are until the end, need from `odb`. */
void ews_ahead_begin(struct ews_ahead *out, struct ews_odb *odb, const struct ews_changes *changes);
/* Read no more. What is missing then, or could not be read, whoever puts it reads. */
void ews_ahead_end(struct ews_ahead *ahead);

#endif
