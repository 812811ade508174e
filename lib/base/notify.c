/*
 * Notify: see notify.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/notify.h"

#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/handle.h"

#define READ_BYTES (64 * 1024)
#define READS_MAX 64
#define OTHER_HALF_MS 2

#define MASK                                                                                            \
	(IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | \
	 IN_EXCL_UNLINK | IN_ONLYDIR)

int ews_notify_open(void)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	int rc;

	if (fd >= 0)
		return fd;
	rc = ews_error(EWS_EUNSUPPORTED, "the kernel gives no more notification of changes");
	if (errno == EMFILE)
		ews_error_hint("sysctl fs.inotify.max_user_instances=512 allows more programs to watch");
	return rc;
}

int ews_notify_add(int fd, int dir_fd)
{
	char name[EWS_HANDLE_NAME_MAX];
	int watch;

	/* By descriptor: what a path leads to may be something else by now. */
	watch = inotify_add_watch(fd, ews_handle_name(name, dir_fd), MASK);
	if (watch >= 0)
		return watch;
	if (errno != ENOSPC && errno != ENOMEM)
		return ews_error_os("cannot watch a directory");
	(void)ews_error(EWS_ENOSPACE, "no more directories can be watched");
	ews_error_hint("sysctl fs.inotify.max_user_watches=1048576 allows more");
	return EWS_ENOSPACE;
}

void ews_notify_remove(int fd, int watch)
{
	(void)inotify_rm_watch(fd, watch); /* gone with its directory, perhaps */
}

static unsigned translate(uint32_t mask)
{
	static const struct {
		uint32_t mask;
		unsigned what;
	} table[] = {
		{ IN_CLOSE_WRITE, EWS_NOTIFY_TOUCHED }, { IN_MODIFY | IN_ATTRIB, EWS_NOTIFY_CHANGED },
		{ IN_CREATE, EWS_NOTIFY_APPEARED },     { IN_DELETE, EWS_NOTIFY_WENT },
		{ IN_MOVED_FROM, EWS_NOTIFY_LEFT },     { IN_MOVED_TO, EWS_NOTIFY_ARRIVED },
		{ IN_Q_OVERFLOW, EWS_NOTIFY_OVERFLOW }, { IN_IGNORED | IN_UNMOUNT, EWS_NOTIFY_ENDED },
	};
	unsigned what = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (mask & table[i].mask)
			what |= table[i].what;
	return what;
}

int ews_notify_read(int fd, ews_notify_fn fn, void *payload)
{
	_Alignas(struct inotify_event) char bytes[READ_BYTES];
	bool is_half = false;
	int n = 0;

	for (int i = 0; i < READS_MAX; i++) {
		ssize_t len = read(fd, bytes, sizeof(bytes));

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 && errno == EAGAIN && is_half) {
			/* The other half of a rename is told a moment later. */
			struct pollfd wait = { .fd = fd, .events = POLLIN };

			is_half = false;
			if (poll(&wait, 1, OTHER_HALF_MS) > 0)
				continue;
		}
		if (len < 0 && errno == EAGAIN)
			break;
		if (len <= 0)
			return ews_error_os("cannot read what changed");
		for (char *at = bytes; at < bytes + len;) {
			const struct inotify_event *raw = (const struct inotify_event *)(const void *)at;
			const struct ews_notify_event event = {
				.watch = raw->wd,
				.what = translate(raw->mask),
				.is_dir = raw->mask & IN_ISDIR,
				.cookie = raw->cookie,
				.name = raw->len ? raw->name : NULL,
			};

			is_half = event.what == EWS_NOTIFY_LEFT;
			fn(payload, &event);
			at += sizeof(*raw) + raw->len;
			n++;
		}
	}
	return n;
}

bool ews_notify_is_told(int dir_fd)
{
	static const unsigned long elsewhere[] = {
		NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
		FUSE_SUPER_MAGIC, AFS_SUPER_MAGIC,  AFS_FS_MAGIC,     CODA_SUPER_MAGIC,
		V9FS_MAGIC,       CEPH_SUPER_MAGIC, PROC_SUPER_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(dir_fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
		if (((unsigned long)fs.f_type & 0xffffffff) == elsewhere[i])
			return false;
	return true;
}
