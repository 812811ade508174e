/*
 * What put gives a node besides its content: owner, attributes, mode and time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/handle.h"
#include "store/put.h"
#include "store/xattr.h"

/* futimens() of any descriptor. */
static int set_mtime(int fd, int64_t seconds, uint32_t nanoseconds)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = seconds, .tv_nsec = nanoseconds },
	};
	char name[EWS_HANDLE_NAME_MAX];

	if (!futimens(fd, times))
		return 0;
	return errno == EBADF ? utimensat(AT_FDCWD, ews_handle_name(name, fd), times, 0) : -1;
}

static int write_attrs(struct ews_put_work *put, int fd, const struct ews_change *change)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	int rc = ews_xattr_write_at(fd, "", change->to->xattrs, &lost);

	if (rc == 0 && lost.n)
		ews_put_name_lost(put, change->path, &lost);
	return rc;
}

/*
 * Whose it shall be: NULL where nobody asks. What takes the place of somebody's file stays his, and his group's. Bits that run a
 * program in its owner's name were never meant for whoever writes it now.
 */
static const struct ews_entry *find_owner(const struct ews_put_work *put, const struct ews_change *change)
{
	const struct ews_entry *from = change->from, *to = change->to;
	bool is_replaced = from && from->has_owner && !ews_entry_is_dir(from) && !ews_entry_is_dir(to);
	bool runs_as_owner = to->type == EWS_ENTRY_FILE && (to->mode & (S_ISUID | S_ISGID));

	if (put->opts->owners)
		return to->has_owner ? to : NULL;
	if (!put->opts->as_seen)
		return NULL;
	if (is_replaced)
		return from;
	return runs_as_owner && to->has_owner ? to : NULL;
}

/* The caller sees afterwards whose it is. Where it is right already nobody needs a right to set it. */
static void write_owner(const struct ews_put_work *put, int fd, const struct ews_change *change)
{
	const struct ews_entry *owner = find_owner(put, change);
	struct stat st;

	if (!owner || fstat(fd, &st) < 0 || (st.st_uid == owner->uid && st.st_gid == owner->gid))
		return;
	/* Of two that are wanted whoever is in the group may set that at least. */
	if (fchownat(fd, "", owner->uid, owner->gid, AT_EMPTY_PATH) < 0)
		(void)fchownat(fd, "", (uid_t)-1, owner->gid, AT_EMPTY_PATH); /* as said above */
}

/* The entry as one of the caller's lists; NULL: it is of none. */
static struct ews_entry *find_kept(const struct ews_put_work *put, const struct ews_entry *entry)
{
	for (size_t k = 0; k < 2; k++) {
		struct ews_entries *list = put->opts->stats[k];

		if (list && entry >= list->items && entry < list->items + list->n)
			return &list->items[entry - list->items];
	}
	return NULL;
}

void ews_put_keep_stat(struct ews_put_work *put, const struct ews_entry *entry, const struct stat *st)
{
	struct ews_entry *kept = find_kept(put, entry);

	if (!kept)
		return;
	if (ews_entry_is_dir(entry)) {
		kept->uid = st->st_uid;
		kept->gid = st->st_gid;
		kept->has_owner = true;
		return;
	}
	ews_entry_set_stat(kept, st);
	kept->is_racy = false;
}

static int dress(struct ews_put_work *put, int fd, const struct ews_change *change, unsigned has, struct stat *st)
{
	const struct ews_entry *to = change->to;
	bool has_mode = has & EWS_PUT_HAS_MODE;
	int rc = 0;

	/* A new owner takes bits of the mode and capabilities away. */
	write_owner(put, fd, change);
	/* Attributes first: a mode of 0444 would forbid them, an access list changes the mode. */
	if (!(has & EWS_PUT_HAS_ATTRS))
		rc = write_attrs(put, fd, change);
	if (rc < 0)
		return rc;
	if (to->type != EWS_ENTRY_LINK && !has_mode && ews_handle_chmod(fd, to->mode) < 0)
		return ews_error_os("cannot set its mode");
	if (put->opts->times == EWS_PUT_TIMES_KEEP && to->has_time && set_mtime(fd, to->mtime_s, to->mtime_ns) < 0)
		return ews_error_os("cannot set its time");
	if (fstat(fd, st) < 0)
		return ews_error_os("cannot look at it");
	/* A umask or an access list had a say in the mode that it was made with. */
	if (has_mode && (st->st_mode & 07777) != to->mode && (ews_handle_chmod(fd, to->mode) < 0 || fstat(fd, st) < 0))
		return ews_error_os("cannot set its mode");
	if (to->type != EWS_ENTRY_LINK && (st->st_mode & 07777) != to->mode)
		return ews_error(EWS_EIO, "its mode is %04o, %04o is not permitted here",
				 (unsigned)st->st_mode & 07777, (unsigned)to->mode);
	return 0;
}

int ews_put_dress(struct ews_put_work *put, int fd, const struct ews_change *change, unsigned has)
{
	struct stat st;
	int rc = dress(put, fd, change, has, &st);

	/* Who takes back what was made has to know it for his, whatever it lacks. */
	if (rc < 0 && fstat(fd, &st) < 0)
		return rc;
	if (put->made && rc == 0)
		put->made[change - put->changes->items] = (struct ews_put_made){ st.st_dev, st.st_ino };
	ews_put_keep_stat(put, change->to, &st);
	return rc;
}
