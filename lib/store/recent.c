/*
 * Recent: see recent.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/recent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define SLOTS_MIN 256

struct slot {
	struct ews_oid oid; /* none: the slot is free */
	const void *data;
	size_t len;
};

struct ews_recent {
	char *bytes; /* NULL: the machine has no room */
	size_t max_bytes;
	pthread_mutex_t lock; /* guards what follows */
	size_t used;
	struct slot *slots; /* a hash table with open addressing; n_slots is a power of two */
	size_t n, n_slots;
};

struct ews_recent *ews_recent_new(size_t max_bytes)
{
	struct ews_recent *recent = ews_calloc(1, sizeof(*recent));
	/* In small pages: of large ones a virtual machine may have to get each from its host, which takes ten times as long. */
	void *bytes =
		mmap(NULL, max_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (bytes != MAP_FAILED) {
		recent->bytes = bytes;
		recent->max_bytes = max_bytes;
	}
	pthread_mutex_init(&recent->lock, NULL);
	return recent;
}

void ews_recent_free(struct ews_recent *recent)
{
	if (!recent)
		return;
	if (recent->bytes)
		(void)munmap(recent->bytes, recent->max_bytes); /* it was mapped so */
	free(recent->slots);
	pthread_mutex_destroy(&recent->lock);
	free(recent);
}

/* The slot of `oid`, or the free one where it belongs. */
static struct slot *find_slot(struct slot *slots, size_t n_slots, const struct ews_oid *oid)
{
	size_t at;

	/* An id is random enough to be its own hash. */
	memcpy(&at, oid->id, sizeof(at));
	at &= n_slots - 1;
	while (!ews_oid_is_none(&slots[at].oid) && !ews_oid_equal(&slots[at].oid, oid))
		at = (at + 1) & (n_slots - 1);
	return &slots[at];
}

static void make_room(struct ews_recent *recent)
{
	size_t n_slots = recent->n_slots ? 2 * recent->n_slots : SLOTS_MIN;
	struct slot *slots;

	if (2 * recent->n < recent->n_slots)
		return;
	slots = ews_calloc(n_slots, sizeof(*slots));
	for (size_t i = 0; i < recent->n_slots; i++)
		if (!ews_oid_is_none(&recent->slots[i].oid))
			*find_slot(slots, n_slots, &recent->slots[i].oid) = recent->slots[i];
	free(recent->slots);
	recent->slots = slots;
	recent->n_slots = n_slots;
}

bool ews_recent_has_room(struct ews_recent *recent, size_t len)
{
	bool has_room;

	pthread_mutex_lock(&recent->lock);
	has_room = len <= recent->max_bytes - recent->used;
	pthread_mutex_unlock(&recent->lock);
	return has_room;
}

/* Where `len` bytes may go; NULL when there is no room. */
static char *take_bytes(struct ews_recent *recent, size_t len)
{
	char *bytes = NULL;

	pthread_mutex_lock(&recent->lock);
	if (len <= recent->max_bytes - recent->used) {
		bytes = recent->bytes + recent->used;
		recent->used += len;
	}
	pthread_mutex_unlock(&recent->lock);
	return bytes;
}

void ews_recent_add(struct ews_recent *recent, const struct ews_oid *oid, const void *data, size_t len)
{
	size_t known_len;
	char *bytes = ews_recent_find(&known_len, recent, oid) ? NULL : take_bytes(recent, len);
	struct slot *slot;

	if (!bytes)
		return;
	/* Nobody knows of it yet. */
	memcpy(bytes, data, len);
	pthread_mutex_lock(&recent->lock);
	make_room(recent);
	slot = find_slot(recent->slots, recent->n_slots, oid);
	recent->n += ews_oid_is_none(&slot->oid);
	*slot = (struct slot){ *oid, bytes, len };
	pthread_mutex_unlock(&recent->lock);
}

const void *ews_recent_find(size_t *len, struct ews_recent *recent, const struct ews_oid *oid)
{
	struct slot slot = { .data = NULL };

	pthread_mutex_lock(&recent->lock);
	if (recent->n_slots)
		slot = *find_slot(recent->slots, recent->n_slots, oid);
	pthread_mutex_unlock(&recent->lock);
	*len = slot.len;
	return slot.data;
}
