/*
 * Meter: see meter.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/meter.h"

#include <assert.h>
#include <stddef.h>

static _Thread_local struct ews_meter *current;

void ews_meter_begin(struct ews_meter *meter, ews_meter_fn *tell, void *payload)
{
	*meter = (struct ews_meter){ .tell = tell, .payload = payload, .outer = current };
	current = meter;
}

uint64_t ews_meter_end(struct ews_meter *meter)
{
	assert(current == meter);
	current = meter->outer;
	return meter->told;
}

void ews_meter_count(uint64_t bytes)
{
	if (!current || !current->tell)
		return;
	current->untold += bytes;
	if (current->untold < EWS_METER_STEP_BYTES)
		return;
	current->told += current->untold;
	current->tell(current->payload, current->untold);
	current->untold = 0;
}
