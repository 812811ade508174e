/*
 * Refs that are made, move, lead elsewhere and go, one by one or many together, whatever room has them.
 *
 * Of ours, one that is new, or has a file of its own, and no log, is made and removed here, under git's lock of it; all else is the room's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/odb_ops.h"
#include "store/packed_refs.h"
#include "store/ref_lock.h"

#define OUR_REFS "refs/ews/"
#define PACKING_S_MAX 5
#define PACKING_STEP_MS 2

/* A ref is there to stay when the directories above it are. */
static int need_ref_dir(struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(name);
	EWS_CLEANUP(fd) int common = ews_dir_open(odb->common_dir);

	if (common < 0 || !*dir)
		return common < 0 ? common : 0;
	return ews_dir_make_shared(common, dir, ews_odb_sharing(odb));
}

/* Is a log kept of the ref, which is not ours to write? What can't be read may ask for one: git, which does it then, knows. */
static bool is_logged(struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *log = ews_strfmt("%s/logs/%s", odb->common_dir, name);
	EWS_CLEANUP(free) char *wanted = NULL;
	bool is_unread = ews_odb_config_if_set(&wanted, odb, "core.logAllRefUpdates") < 0;

	ews_error_clear();
	return is_unread || (wanted && !strcasecmp(wanted, "always")) || access(log, F_OK) == 0 ||
	       ews_errno_is_passing(errno);
}

/* Who finds that it moved says so by himself. */
static int fail_to_move(int rc, const char *name)
{
	return rc == EWS_ESTALE ? rc : ews_error_wrap("cannot move the ref '%s'", name);
}

static int find_packed(struct ews_oid *out, const char *common_dir, const char *name)
{
	EWS_CLEANUP(fd) int fd = open(common_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? ews_error_os("cannot open '%s'", common_dir) : ews_odb_find_packed_ref(out, fd, name);
}

/* Under the lock: see that there is no such ref, and give it its value. */
static int settle_lock(struct ews_ref_lock *lock, struct ews_odb *odb, const char *name, const struct ews_oid *to)
{
	char text[EWS_OID_HEX_MAX + 1], hex[EWS_OID_HEX_MAX];
	int len = snprintf(text, sizeof(text), "%s\n", ews_oid_hex(hex, to));
	struct ews_sync_group *group = ews_sync_current();
	struct ews_oid packed;
	int rc = ews_file_is_there(AT_FDCWD, lock->path);

	if (rc == 0)
		rc = find_packed(&packed, odb->common_dir, name);
	if (rc > 0)
		return ews_error(EWS_ESTALE, "ref '%s' moved meanwhile", name);
	if (rc < 0)
		return rc;
	return group ? ews_ref_lock_put_with(lock, group, text, (size_t)len)
		     : ews_ref_lock_put(lock, text, (size_t)len);
}

/* What the thread's group is to name before is there by then. */
static bool is_after_its_object(void)
{
	const struct ews_sync_group *group = ews_sync_current();

	return group && group->stage;
}

/*
 * Make the ref `name`, which must not exist, and stand for `to`; synced, or left to the thread's group. Returns 1 where another has to
 * do it, because a log is wanted, `to` is not there (nor on its way, in an earlier stage of that group), or something stands in the way.
 */
static int make_ref(struct ews_odb *odb, const char *name, const struct ews_oid *to)
{
	EWS_CLEANUP(free) char *path = ews_path_join(odb->common_dir, name);
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;
	int rc;

	if (!ews_odb_is_ref_name(name) || is_logged(odb, name) || (!is_after_its_object() && !ews_odb_has(odb, to)))
		return 1;
	rc = ews_ref_lock_take(&lock, path);
	if (rc == EWS_ENOTFOUND) {
		/* Another process has just removed the empty directory that the ref goes to: that is waited for. */
		ews_error_clear();
		return 1;
	}
	if (rc == 0)
		rc = ews_sharing_apply(ews_odb_sharing(odb), lock.fd);
	if (rc == 0)
		rc = settle_lock(&lock, odb, name, to);
	if (rc < 0)
		return fail_to_move(rc, name);
	return ews_sync_current() ? 0 : ews_odb_sync_ref(odb, name);
}

/* Directories that hold no ref any more, up to "refs". */
static void remove_empty_dirs(const char *common_dir, const char *name)
{
	EWS_CLEANUP(free) char *at = ews_strdup(name);
	char *slash;

	while ((slash = strrchr(at, '/')) && slash != strchr(at, '/')) {
		EWS_CLEANUP(free) char *dir = NULL;

		*slash = '\0';
		dir = ews_path_join(common_dir, at);
		if (rmdir(dir) < 0)
			return;
	}
}

/* Under the lock: see that the ref is where it is said to be, and in a file of its own, and remove that. */
static int remove_value(struct ews_odb *odb, const char *path, const char *name, const struct ews_oid *from)
{
	EWS_CLEANUP(fd) int dir_fd = open(odb->common_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct ews_ref ref = { .name = (char *)name, .oid = EWS_OID_NONE };
	struct ews_oid packed;
	int rc = dir_fd < 0 ? ews_error_os("cannot open '%s'", odb->common_dir)
			    : ews_odb_find_packed_ref(&packed, dir_fd, name);

	if (rc != 0)
		return rc;
	rc = ews_odb_read_ref_file(&ref, dir_fd);
	if (rc < 0)
		return rc;
	if (ref.target || ews_oid_is_none(&ref.oid)) {
		free(ref.target);
		return 1;
	}
	if (!ews_oid_equal(&ref.oid, from))
		return ews_error(EWS_ESTALE, "ref '%s' moved meanwhile", name);
	return unlink(path) < 0 ? ews_error_os("cannot remove '%s'", path) : 0;
}

/*
 * Who packs refs now may have read one before it went: wait until he is done. Whose lock has been there for long has died, and
 * will not write.
 */
static void wait_for_packing(const char *common_dir)
{
	EWS_CLEANUP(free) char *lock = ews_strfmt("%s/" EWS_PACKED_REFS ".lock", common_dir);
	uint64_t deadline = ews_clock_monotonic_ms() + PACKING_S_MAX * 1000;
	struct stat st;

	while (lstat(lock, &st) == 0 && ews_clock_now() - st.st_mtime < PACKING_S_MAX &&
	       ews_clock_monotonic_ms() < deadline)
		ews_clock_sleep_ms(PACKING_STEP_MS);
}

/*
 * Remove the ref `name`, which must stand for `from`; synced. Returns 1 where another has to do it, because it has a log, is packed, or is
 * not there.
 */
static int drop_ref(struct ews_odb *odb, const char *name, const struct ews_oid *from)
{
	EWS_CLEANUP(free) char *path = ews_path_join(odb->common_dir, name);
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;
	struct ews_oid packed;
	int rc;

	if (!ews_odb_is_ref_name(name) || access(path, F_OK) < 0 || is_logged(odb, name))
		return 1;
	rc = ews_ref_lock_take(&lock, path);
	if (rc == EWS_ENOTFOUND) {
		/* Another process has just removed it, and its directory with it. */
		ews_error_clear();
		return 1;
	}
	if (rc < 0)
		return fail_to_move(rc, name);
	rc = remove_value(odb, path, name, from);
	ews_ref_lock_release(&lock);
	if (rc < 0)
		return fail_to_move(rc, name);
	if (rc == 0)
		wait_for_packing(odb->common_dir);
	/* It is gone from its file: who can't tell whether it is packed as well must not say that it moved. */
	if (rc == 0)
		rc = find_packed(&packed, odb->common_dir, name);
	if (rc != 0)
		return rc < 0 ? fail_to_move(rc, name) : 1;
	remove_empty_dirs(odb->common_dir, name);
	return ews_odb_sync_ref(odb, name);
}

/* Who names a ref at once has to find its object there. Returns 1. */
static int settle_stages(struct ews_odb *odb)
{
	struct ews_sync_group *group = ews_sync_current();
	int rc;

	if (!group || !group->stage)
		return 1;
	rc = ews_odb_finish_group(odb, group);
	if (rc < 0)
		return rc;
	ews_sync_begin(group);
	return 1;
}

/* Do we make and remove its file ourselves? */
static bool is_ours(const struct ews_odb *odb, const char *name)
{
	return !odb->aside && ews_str_begins(name, OUR_REFS);
}

int ews_odb_ref_swap(struct ews_odb *odb, const char *name, const struct ews_oid *from, const struct ews_oid *to)
{
	static const struct ews_oid none = EWS_OID_NONE;
	int rc = 1;

	from = from ? from : &none;
	to = to ? to : &none;
	assert(!ews_oid_is_none(from) || !ews_oid_is_none(to));
	/* Where one can't be made, who makes the ref says why. */
	if (!ews_oid_is_none(to) && need_ref_dir(odb, name) < 0)
		ews_error_clear();
	if (ews_oid_is_none(from) && is_ours(odb, name))
		rc = make_ref(odb, name, to);
	else if (ews_oid_is_none(to) && is_ours(odb, name))
		rc = drop_ref(odb, name, from);
	if (rc == 1)
		rc = settle_stages(odb);
	if (rc == 1)
		rc = odb->ops->ref_swap(odb, name, from, to);
	/* What is new lies aside, and goes with us: no ref can hold it. */
	if (rc < 0 && rc != EWS_ESTALE && odb->aside && !ews_oid_is_none(to))
		return ews_error(EWS_EDENIED, "new objects can't be written to '%s'", odb->object_dir);
	return rc;
}

/* Does the ref lead to `from`? One that leads nowhere, or is not there, leads to no id. */
static int see_that_it_leads_to(const struct ews_oid *from, struct ews_odb *odb, const char *name)
{
	struct ews_oid now = EWS_OID_NONE;
	int rc = ews_error_if_passing(ews_odb_ref_read(&now, odb, name));

	if (rc < 0 || ews_oid_equal(&now, from))
		return rc;
	return ews_error(EWS_ESTALE, "ref '%s' moved meanwhile", name);
}

/* Let the ref of the lock stand for `target`. */
static int put_target(struct ews_ref_lock *lock, struct ews_odb *odb, const char *target)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("ref: %s\n", target);
	int rc = ews_sharing_apply(ews_odb_sharing(odb), lock->fd);

	return rc < 0 ? rc : ews_ref_lock_put(lock, text, strlen(text));
}

int ews_odb_ref_point(struct ews_odb *odb, const char *name, const struct ews_oid *from, const char *target)
{
	EWS_CLEANUP(free) char *path = ews_path_join(odb->common_dir, name);
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;
	int rc;

	assert(ews_odb_is_ref_name(name) && ews_odb_is_ref_name(target));
	/* One that is packed, or is not there, may have no directory. */
	rc = need_ref_dir(odb, name);
	if (rc == 0)
		rc = ews_ref_lock_take(&lock, path);
	if (rc == 0)
		rc = see_that_it_leads_to(from, odb, name);
	if (rc == 0)
		rc = put_target(&lock, odb, target);
	return rc < 0 ? fail_to_move(rc, name) : ews_odb_sync_ref(odb, name);
}

/* Is there a file of the ref, and no id to be found by it? */
static bool leads_nowhere(struct ews_odb *odb, const char *path, const char *name)
{
	struct ews_oid oid;
	struct stat st;
	int rc = lstat(path, &st) < 0 || S_ISDIR(st.st_mode) ? 0 : ews_odb_ref_read(&oid, odb, name);

	ews_error_clear();
	return rc == EWS_EGIT || rc == EWS_ENOTFOUND;
}

int ews_odb_ref_clear(struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(odb->common_dir, name);
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;
	int rc;

	if (!ews_odb_is_ref_name(name) || !leads_nowhere(odb, path, name))
		return 0;
	rc = ews_ref_lock_take(&lock, path);
	if (rc == 0 && leads_nowhere(odb, path, name))
		rc = unlink(path) < 0 ? ews_error_os("cannot remove '%s'", path) : 1;
	return rc < 0 ? ews_error_wrap("cannot clear the ref '%s'", name) : rc;
}

/* Refs that go, and what came of it. */
struct dropping {
	struct ews_odb *odb;
	const struct ews_ref *refs;
	ews_ref_dropped_fn dropped;
	void *payload;
	const struct ews_ref **packed; /* those that git is to take out */
	size_t n_packed;
	struct ews_error_saved moved; /* the first that moved meanwhile */
};

static void release_dropping(struct dropping *dropping)
{
	free(dropping->packed);
	ews_error_saved_release(&dropping->moved);
}

EWS_CLEANUP_DEFINE(dropping, struct dropping, release_dropping)

/* What became of one of them; `rc` below zero is the failure. */
static int note_dropped(struct dropping *dropping, const struct ews_ref *ref, int rc)
{
	if (rc == 0 && dropping->dropped)
		dropping->dropped(dropping->payload, (size_t)(ref - dropping->refs));
	if (rc != EWS_ESTALE)
		return rc;
	if (!dropping->moved.code)
		ews_error_save(&dropping->moved);
	ews_error_clear();
	return 0;
}

static int drop_loose(struct dropping *dropping, const struct ews_ref *ref)
{
	struct ews_odb *odb = dropping->odb;
	struct ews_oid there;
	int rc = ews_odb_ref_read(&there, odb, ref->name);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = is_ours(odb, ref->name) ? drop_ref(odb, ref->name, &ref->oid) : 1;
	if (rc == 1) {
		dropping->packed[dropping->n_packed++] = ref;
		return 0;
	}
	return note_dropped(dropping, ref, rc);
}

static int drop_packed(struct dropping *dropping)
{
	const struct ews_oid none = EWS_OID_NONE;
	struct ews_odb *odb = dropping->odb;
	int together = 1;
	int rc = settle_stages(odb);

	if (rc > 0 && dropping->n_packed > 1)
		together = ews_odb_git_ref_drop_all(odb, dropping->packed, dropping->n_packed);
	if (rc < 0 || together < 0)
		return rc < 0 ? rc : together;
	rc = 0;
	for (size_t i = 0; i < dropping->n_packed && rc == 0; i++) {
		const struct ews_ref *ref = dropping->packed[i];

		if (together)
			rc = odb->ops->ref_swap(odb, ref->name, &ref->oid, &none);
		rc = note_dropped(dropping, ref, rc);
	}
	return rc;
}

int ews_odb_ref_drop_all(struct ews_odb *odb, const struct ews_ref *refs, size_t n, ews_ref_dropped_fn dropped,
			 void *payload)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(dropping)
	struct dropping dropping = { odb, refs, dropped, payload, NULL, 0, EWS_ERROR_SAVED_INIT };
	const bool is_alone = !ews_sync_current();
	int rc = 0;

	dropping.packed = ews_calloc(n + 1, sizeof(*dropping.packed));
	/* Their directories are synced once. */
	if (is_alone)
		ews_sync_begin(&group);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = drop_loose(&dropping, &refs[i]);
	if (rc == 0 && dropping.n_packed)
		rc = drop_packed(&dropping);
	if (is_alone && rc == 0)
		rc = ews_sync_finish(&group);
	if (rc < 0)
		return rc;
	return dropping.moved.code ? ews_error_restore(&dropping.moved) : 0;
}

int ews_odb_sync_ref(const struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *dir = ews_path_join(odb->common_dir, name);

	for (;;) {
		EWS_CLEANUP(fd) int fd = -1;
		char *up = ews_path_dir(dir);

		free(dir);
		dir = up;
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return ews_file_sync_dir(fd);
		if (errno != ENOENT || strlen(dir) <= strlen(odb->common_dir))
			return ews_error_os("cannot open '%s'", dir);
	}
}
