/*
 * Refs that move, one by one or many together, whatever room has them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/odb_ops.h"

#define OUR_REFS "refs/ews/"

/* A ref is there to stay when the directories above it are. Where one can't be made, who makes the ref says why. */
static void make_ref_dir(struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(name);
	EWS_CLEANUP(fd) int common = ews_dir_open(odb->common_dir);

	if (common >= 0 && *dir)
		(void)ews_dir_make_shared(common, dir, ews_odb_sharing(odb)); /* as said above */
	ews_error_clear();
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
	int rc = 1;

	assert(!ews_oid_is_none(from) || !ews_oid_is_none(to));
	if (!ews_oid_is_none(to))
		make_ref_dir(odb, name);
	if (ews_oid_is_none(from) && is_ours(odb, name))
		rc = ews_odb_make_ref(odb, name, to);
	else if (ews_oid_is_none(to) && is_ours(odb, name))
		rc = ews_odb_drop_ref(odb, name, from);
	if (rc == 1)
		rc = settle_stages(odb);
	if (rc == 1)
		rc = odb->ops->ref_swap(odb, name, from, to);
	/* What is new lies aside, and goes with us: no ref can hold it. */
	if (rc < 0 && rc != EWS_ESTALE && odb->aside && !ews_oid_is_none(to))
		return ews_error(EWS_EDENIED, "new objects can't be written to '%s'", odb->object_dir);
	return rc;
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
		rc = is_ours(odb, ref->name) ? ews_odb_drop_ref(odb, ref->name, &ref->oid) : 1;
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
