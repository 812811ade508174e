/*
 * Transitions: what is about to go is in the store for certain.
 *
 * A scan takes what a snapshot has for kept, unread: a ref holds it. But a power failure leaves objects empty, cut short or full of zeros
 * that were not synced, as another tool's may be, and such a one would be all that is left of a file that stands there whole. So
 * what is loose is read.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/stat.h>

#include "base/dir.h"
#include "base/error.h"
#include "store/batch.h"
#include "store/scan_open.h"
#include "work/transition_work.h"

static int add_file(struct ews_oid *out, struct ews_batch *batch, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = ews_scan_open_file(dir_fd, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot read '%s'", name);
	if (!S_ISREG(st.st_mode))
		return ews_error(EWS_ESTALE, "it changed meanwhile");
	return ews_batch_add_fd(out, batch, fd, (uint64_t)st.st_size, NULL);
}

static int add_link(struct ews_oid *out, struct ews_batch *batch, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	return ews_dir_read_link(&text, dir_fd, name) < 0
		       ? ews_error_os("cannot read '%s'", name)
		       : ews_batch_add(out, batch, EWS_OBJECT_BLOB, text.ptr, text.len);
}

static int keep_anew(const struct ews_transition_work *work, int root_fd, const struct ews_entry *entry)
{
	const char *name;
	EWS_CLEANUP(fd) int dir = ews_dir_open_parent(root_fd, entry->path, &name);
	EWS_CLEANUP(free) char *git = ews_repo_git_words(work->repo);
	struct ews_oid oid = EWS_OID_NONE;
	int rc = dir;

	if (rc >= 0)
		rc = entry->type == EWS_ENTRY_FILE ? add_file(&oid, work->batch, dir, name)
						   : add_link(&oid, work->batch, dir, name);
	if (rc == 0 && !ews_oid_equal(&oid, &entry->oid))
		rc = ews_error(EWS_ESTALE, "it changed meanwhile");
	if (rc < 0)
		ews_error_hint("nothing was changed; '%s fsck' shows what else the store has lost", git);
	return rc < 0 ? ews_error_wrap("the store has lost '%s', which can't be kept again", entry->path) : 0;
}

/* What was read a moment ago is with the batch. */
static bool is_kept(const struct ews_transition_work *work, const struct ews_oid *oid)
{
	struct ews_odb *odb = work->repo->odb;

	return ews_batch_has(work->batch, oid) || (ews_odb_has(odb, oid) && ews_odb_is_sound(odb, oid));
}

int ews_transition_keep_lost(struct ews_transition_work *work, int root_fd)
{
	int rc = 0;

	for (size_t i = 0; i < work->changes.n && rc == 0; i++) {
		const struct ews_change *change = &work->changes.items[i];
		const struct ews_entry *from = change->from;

		if (!from || (from->type != EWS_ENTRY_FILE && from->type != EWS_ENTRY_LINK) ||
		    (change->to && ews_oid_equal(&from->oid, &change->to->oid)))
			continue;
		if (!ews_oid_is_none(&from->oid) && !is_kept(work, &from->oid))
			rc = keep_anew(work, root_fd, from);
	}
	return rc;
}
