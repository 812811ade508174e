/*
 * Spares: see spares.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/spares.h"

struct ews_spare *ews_spares_take(struct ews_spares *spares)
{
	struct ews_spare **at = &spares->idle, *spare;

	pthread_mutex_lock(&spares->lock);
	while (*at && !pthread_equal((*at)->thread, pthread_self()))
		at = &(*at)->next;
	if (!*at)
		at = &spares->idle;
	spare = *at;
	if (spare)
		*at = spare->next;
	pthread_mutex_unlock(&spares->lock);
	return spare;
}

void ews_spares_give(struct ews_spares *spares, struct ews_spare *spare)
{
	spare->thread = pthread_self();
	pthread_mutex_lock(&spares->lock);
	spare->next = spares->idle;
	spares->idle = spare;
	pthread_mutex_unlock(&spares->lock);
}

void ews_spares_clear(struct ews_spares *spares, void (*free_one)(struct ews_spare *spare))
{
	while (spares->idle) {
		struct ews_spare *spare = spares->idle;

		spares->idle = spare->next;
		free_one(spare);
	}
}
