/*
 * Notify: what the kernel says of directories while somebody works in them.
 *
 * A thin face over inotify: a directory is watched by its descriptor, and what
 * happens to the names in it comes as events. The kernel forgets events when
 * nobody fetches them, lets a user watch only so many directories, and knows
 * nothing of what others do on a network file system; who watches has to cope with
 * each of these (base/notify_tree does).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_NOTIFY_H
#define EWS_BASE_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ews_notify_what {
	EWS_NOTIFY_TOUCHED = 1, /* perhaps changed: it was open for writing */
	EWS_NOTIFY_CHANGED = 2, /* content or attributes did change */
	EWS_NOTIFY_APPEARED = 4,
	EWS_NOTIFY_WENT = 8,
	EWS_NOTIFY_LEFT = 16, /* renamed away; `cookie` is that of where it arrived, if that is watched */
	EWS_NOTIFY_ARRIVED = 32,
	EWS_NOTIFY_OVERFLOW = 64, /* events were lost; there is no watch and no name */
	EWS_NOTIFY_ENDED = 128, /* this watch is no more */
};

struct ews_notify_event {
	int watch;
	unsigned what;
	bool is_dir;
	uint32_t cookie;
	const char *name; /* NULL: the watched directory itself */
};

typedef void (*ews_notify_fn)(void *payload, const struct ews_notify_event *event);

/* Returns a descriptor to poll. Fails with EWS_EUNSUPPORTED, with a hint, where no more can be had. */
int ews_notify_open(void);

/*
 * Watch the directory open at `dir_fd`. Returns the watch's number; that of the
 * first where the same directory is watched already. Fails with EWS_ENOSPACE,
 * with a hint, when there are as many watches as the system allows.
 */
int ews_notify_add(int fd, int dir_fd);
void ews_notify_remove(int fd, int watch);

/*
 * Hand over the events that wait, without waiting for more; of very many only
 * some, and then more wait. Returns how many there were.
 */
int ews_notify_read(int fd, ews_notify_fn fn, void *payload);

/* Do all changes in the directory at `dir_fd` go through this kernel, so that it can tell? Not so on a network. */
bool ews_notify_is_told(int dir_fd);

#endif
