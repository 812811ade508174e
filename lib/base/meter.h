/*
 * Meter: how far one long piece of work has come, a large file that is read or copied say, told while it goes on.
 *
 * Whoever wants to know has a meter on its thread meanwhile; the loops that move bytes count them. So it need not be handed down
 * through all that lies between, which tells of things that are done.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_METER_H
#define EWS_BASE_METER_H

#include <stdint.h>

#include "base/buf.h"

/* After how many it tells: what a disk moves in a tenth of a second. What is smaller needs no meter. */
#define EWS_METER_STEP_BYTES (8 * EWS_MIB)

/* Called by the thread that works: so many bytes more. */
typedef void ews_meter_fn(void *payload, uint64_t bytes);

struct ews_meter {
	ews_meter_fn *tell; /* NULL: nobody wants to know */
	void *payload;
	uint64_t told, untold; /* bytes */
	struct ews_meter *outer; /* the one that this takes the place of */
};

/* Let it count what this thread moves, from here on until its end. It stays where it is meanwhile. */
void ews_meter_begin(struct ews_meter *meter, ews_meter_fn *tell, void *payload);
/* Returns how many bytes were told. */
uint64_t ews_meter_end(struct ews_meter *meter);
/* This thread has moved so many bytes. */
void ews_meter_count(uint64_t bytes);

#endif
