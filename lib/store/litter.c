/*
 * Litter: see litter.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/litter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/str.h"

/* Between a file's birth and its lock. */
#define BIRTH_MS 200
/* git holds the lock of a ref for less; what stands longer, and is not locked as ours are, has no holder. */
#define REF_LOCK_MS 1000
#define N_FANS 256

int ews_litter_make(char name[EWS_LITTER_NAME_MAX], int dir_fd, const char *prefix)
{
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	int fd;

	do {
		ews_clock_random(random, sizeof(random));
		ews_hex(hex, random, sizeof(random));
		snprintf(name, EWS_LITTER_NAME_MAX, "%s%s", prefix, hex);
		fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
	} while (fd < 0 && errno == EEXIST);
	if (fd < 0)
		return ews_error_os("cannot make a file");
	/* On a file system without locks a sweep takes it for living for ever: gc removes it in time. */
	(void)flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/* Milliseconds since the file changed, 0 when that lies in the future. */
static uint64_t age_ms(const struct stat *st)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (int64_t)(now.tv_sec - st->st_ctim.tv_sec) * 1000 + (now.tv_nsec - st->st_ctim.tv_nsec) / 1000000;
	return ms > 0 ? (uint64_t)ms : 0;
}

static void wait_until_old(const struct stat *st, unsigned want_ms)
{
	uint64_t age = age_ms(st);

	if (age < want_ms)
		ews_clock_sleep_ms((unsigned)(want_ms - age));
}

static void sweep_file(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	wait_until_old(&st, BIRTH_MS);
	if (!ews_litter_has_writer(fd))
		(void)unlinkat(dir_fd, name, 0); /* best effort: the next sweep finds it again */
}

void ews_litter_sweep_dir(int dir_fd, const char *prefix)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, dir_fd);

	for (ssize_t i = 0; i < n; i++)
		if (ews_str_begins(names.items[i].name, prefix))
			sweep_file(dir_fd, names.items[i].name);
}

static void sweep_dir(int root_fd, const char *rel, const char *prefix)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(root_fd, rel);

	if (fd >= 0)
		ews_litter_sweep_dir(fd, prefix);
}

static bool is_busy(struct ews_litter_git *git)
{
	if (!git->has_asked)
		git->busy = git->is_busy(git->payload);
	git->has_asked = true;
	return git->busy;
}

bool ews_litter_has_writer(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) < 0;
}

/* A lock, of `git` when there is one, that is the same file after the longest time that git holds one, and none of ours. */
static void sweep_ref_lock(int dir_fd, const char *name, struct ews_litter_git *git)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat before, after;

	if (fd < 0 || fstat(fd, &before) < 0 || !S_ISREG(before.st_mode))
		return;
	if (git && (before.st_ctim.tv_sec < git->since_s || is_busy(git)))
		return;
	wait_until_old(&before, REF_LOCK_MS);
	if (!ews_litter_has_writer(fd) && fstatat(dir_fd, name, &after, AT_SYMLINK_NOFOLLOW) == 0 &&
	    after.st_ino == before.st_ino)
		(void)unlinkat(dir_fd, name, 0); /* best effort, as above */
}

static void sweep_ref_locks(int common_fd, const char *rel, struct ews_litter_git *git)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(common_fd, rel);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		size_t len = strlen(names.items[i].name);
		EWS_CLEANUP(free) char *path = ews_path_join(rel, names.items[i].name);
		struct stat st;

		if (len > 5 && !strcmp(names.items[i].name + len - 5, ".lock"))
			sweep_ref_lock(fd, names.items[i].name, git);
		else if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
			sweep_ref_locks(common_fd, path, git);
	}
}

void ews_litter_sweep_ref(struct ews_odb *odb, const char *ref)
{
	EWS_CLEANUP(fd) int common = ews_dir_open(ews_odb_common_dir(odb));
	EWS_CLEANUP(free) char *dir = ews_path_dir(ref);
	EWS_CLEANUP(free) char *name = ews_strfmt("%s.lock", ews_path_base(ref));
	EWS_CLEANUP(fd) int fd = common < 0 ? -1 : ews_dir_open_beneath(common, dir);

	if (fd >= 0 && faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		sweep_ref_lock(fd, name, NULL);
	ews_error_clear();
}

void ews_litter_sweep_lock(int dir_fd, const char *name, struct ews_litter_git *git)
{
	sweep_ref_lock(dir_fd, name, git);
}

void ews_litter_sweep_branches(struct ews_odb *odb, struct ews_litter_git *git)
{
	EWS_CLEANUP(fd) int common = ews_dir_open(ews_odb_common_dir(odb));

	if (common >= 0)
		sweep_ref_locks(common, "refs/heads", git);
	ews_error_clear();
}

static void sweep_fan(int objects_fd, const char *fan, struct ews_litter_git *git)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(objects_fd, fan);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++)
		if (ews_str_begins(names.items[i].name, "tmp_obj_"))
			sweep_ref_lock(fd, names.items[i].name, git);
}

void ews_litter_sweep_objects(struct ews_odb *odb, struct ews_litter_git *git)
{
	EWS_CLEANUP(fd) int objects = ews_dir_open(ews_odb_object_dir(odb));
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = objects < 0 ? 0 : ews_dir_names_read(&names, objects);

	for (ssize_t i = 0; i < n; i++)
		if (strlen(names.items[i].name) == 2)
			sweep_fan(objects, names.items[i].name, git);
	ews_error_clear();
}

int ews_litter_sweep(struct ews_odb *odb)
{
	EWS_CLEANUP(fd) int common = ews_dir_open(ews_odb_common_dir(odb));
	EWS_CLEANUP(fd) int objects = ews_dir_open(ews_odb_object_dir(odb));

	if (common < 0 || objects < 0)
		return ews_error_code();
	sweep_dir(objects, "", "tmp_obj_ews_");
	sweep_dir(objects, "pack", "tmp_pack_ews_");
	sweep_ref_locks(common, "refs/ews", NULL);
	ews_error_clear();
	return 0;
}

struct old {
	const char *object_dir;
	int64_t older_than_s;
	ews_litter_fn may_go;
	void *payload;
};

static void sweep_old(const struct old *old, int root_fd, const char *rel)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(root_fd, rel);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);
	int64_t now_s = ews_clock_now();

	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free)
		char *path = ews_strfmt("%s/%s%s%s", old->object_dir, rel, *rel ? "/" : "", names.items[i].name);
		struct stat st;

		if (!ews_str_begins(names.items[i].name, "tmp_") ||
		    fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
		    st.st_uid != geteuid() || now_s - st.st_mtim.tv_sec < old->older_than_s)
			continue;
		if (old->may_go(old->payload, path, (uint64_t)st.st_size, now_s - st.st_mtim.tv_sec))
			(void)unlinkat(fd, names.items[i].name, 0); /* best effort, as above */
	}
}

/* A directory that loose objects are in. */
struct fan {
	char name[3];
	bool has_tmp; /* it holds what may be litter: mostly none does */
};

struct fans {
	int objects_fd;
	struct fan fans[N_FANS];
};

static int look_into_fan(size_t i, unsigned worker, void *payload)
{
	struct fans *objects = payload;
	struct fan *fan = &objects->fans[i];
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n;

	(void)worker;
	snprintf(fan->name, sizeof(fan->name), "%02zx", i);
	fd = ews_dir_open_beneath(objects->objects_fd, fan->name);
	n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);
	for (ssize_t k = 0; k < n; k++)
		fan->has_tmp = fan->has_tmp || ews_str_begins(names.items[k].name, "tmp_");
	ews_error_clear();
	return 0;
}

int ews_litter_sweep_old(struct ews_odb *odb, int64_t older_than_s, ews_litter_fn may_go, void *payload)
{
	const struct old old = { ews_odb_object_dir(odb), older_than_s, may_go, payload };
	EWS_CLEANUP(fd) int objects = ews_dir_open(old.object_dir);
	struct fans fans = { .objects_fd = objects };

	if (objects < 0)
		return objects;
	sweep_old(&old, objects, "");
	sweep_old(&old, objects, "pack");
	(void)ews_pool_for(N_FANS, 16, 0, look_into_fan, &fans); /* it never fails */
	for (size_t i = 0; i < N_FANS; i++)
		if (fans.fans[i].has_tmp)
			sweep_old(&old, objects, fans.fans[i].name);
	ews_error_clear();
	return 0;
}
