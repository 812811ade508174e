/*
 * What a snapshot recorded, read again: see snapshot.h. snapshot_write.c wrote it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "store/manifest_odb.h"
#include "work/base_cache.h"
#include "work/snapshot_pins.h"

typedef void set_fn(struct ews_gitstate *out, const char *name, const void *data, size_t len);

/* One directory of these, file by file. */
static int read_files(struct ews_gitstate *out, struct ews_repo *repo, const struct ews_oid *tree, set_fn *set)
{
	EWS_CLEANUP(free) struct ews_tree_item *files = NULL;
	struct ews_arena arena = EWS_ARENA_INIT;
	size_t n = 0;
	int rc = ews_tree_read_flat(&files, &n, repo->odb, tree, &arena);

	for (size_t i = 0; i < n && rc == 0; i++) {
		EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;

		rc = ews_odb_read(&data, NULL, repo->odb, &files[i].oid);
		if (rc == 0)
			set(out, files[i].name, data.ptr, data.len);
	}
	ews_arena_release(&arena);
	return rc;
}

/* The files of a manifest commit's tree that belong to git's state. */
static int read_gitstate(struct ews_gitstate *out, struct ews_repo *repo, const struct ews_tree_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
		int rc = 0;

		if (!strcmp(items[i].name, "index")) {
			rc = ews_odb_read(&out->index, NULL, repo->odb, &items[i].oid);
			out->has_index = true;
		} else if (!strcmp(items[i].name, "index-time")) {
			rc = ews_odb_read(&data, NULL, repo->odb, &items[i].oid);
			if (rc == 0 &&
			    sscanf(data.ptr, "%" SCNd64 ".%" SCNu32, &out->index_mtime_s, &out->index_mtime_ns) != 2)
				rc = ews_error(EWS_EDAMAGED, "the time of the index makes no sense");
		} else if (!strcmp(items[i].name, "state")) {
			rc = read_files(out, repo, &items[i].oid, ews_gitstate_set_file);
		} else if (!strcmp(items[i].name, "left")) {
			rc = read_files(out, repo, &items[i].oid, ews_gitstate_set_left);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* "<mode>" or, from later versions, "<mode> <uid>:<gid>"; from still later ones the attributes follow */
static int read_root(struct ews_content *out, struct ews_repo *repo, const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_odb_read(&text, NULL, repo->odb, oid);
	const char *rest;
	unsigned mode = 0;
	int n;

	if (rc < 0)
		return rc;
	n = sscanf(text.ptr, "%o %" SCNu32 ":%" SCNu32, &mode, &out->root_uid, &out->root_gid);
	out->root_mode = (uint16_t)(mode & 07777);
	out->has_root_owner = n == 3;
	rest = strchr(text.ptr, '\n');
	rest = rest ? ews_str_after(rest + 1, EWS_PINNED_ROOT_XATTRS) : NULL;
	free(out->root_xattrs);
	out->root_xattrs = rest ? ews_strdup(rest) : NULL;
	return 0;
}

static int read_manifest(struct ews_content *out, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(pinned) struct ews_pinned pinned = EWS_PINNED_INIT;
	bool is_found = false;
	int rc = ews_pinned_read(&pinned, repo->odb, &snapshot->manifest);

	for (size_t i = 0; i < pinned.n && rc == 0; i++) {
		const struct ews_tree_item *item = &pinned.items[i];

		if (!strcmp(item->name, EWS_MANIFEST_NAME)) {
			is_found = true;
			rc = ews_manifest_read(&out->scan.entries, &out->scan.skips, repo->odb, &item->oid);
		} else if (!strcmp(item->name, "root-mode")) {
			rc = read_root(out, repo, &item->oid);
		}
	}
	if (rc == 0 && !is_found)
		rc = ews_error(EWS_EDAMAGED, "it has no manifest");
	if (rc == 0)
		rc = read_gitstate(&out->git, repo, pinned.items, pinned.n);
	out->has_git = rc == 0;
	return rc;
}

int ews_snapshot_stored_content(struct ews_content *out, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	int rc;

	if (ews_oid_is_none(&snapshot->manifest))
		rc = ews_tree_list(&content.scan.entries, repo->odb, &snapshot->tree);
	else
		rc = read_manifest(&content, repo, snapshot);
	if (rc < 0)
		return ews_error_wrap("snapshot '%s'", snapshot->id);
	ews_manifest_hash(content.hash, &content.scan.entries);
	if (*snapshot->hash && strcmp(snapshot->hash, content.hash)) {
		ews_error(EWS_EDAMAGED, "snapshot '%s' does not have the hash that it was made with", snapshot->id);
		return EWS_EDAMAGED;
	}
	*out = content;
	content = (struct ews_content)EWS_CONTENT_INIT;
	return 0;
}

static int read_content(struct ews_content *out, struct ews_repo *repo, const struct ews_snapshot *snapshot,
			bool without_index)
{
	const char *session = snapshot->ref + strlen(EWS_REF_SESSIONS);
	bool is_base = ews_str_begins(snapshot->ref, EWS_REF_SESSIONS) && *snapshot->hash;
	const struct ews_base_id base = { session, &snapshot->commit, snapshot->hash };
	int rc;

	if (is_base && ews_base_cache_read(out, repo, &base, without_index))
		return 0;
	rc = ews_snapshot_stored_content(out, repo, snapshot);
	if (rc == 0 && is_base)
		ews_base_cache_write(out, repo, &base);
	return rc;
}

int ews_snapshot_content(struct ews_content *out, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	return read_content(out, repo, snapshot, false);
}

int ews_snapshot_git(struct ews_gitstate *out, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(pinned) struct ews_pinned pinned = EWS_PINNED_INIT;
	int rc = ews_pinned_read(&pinned, repo->odb, &snapshot->manifest);

	return rc < 0 ? rc : read_gitstate(out, repo, pinned.items, pinned.n);
}

int ews_snapshot_reading_begin(struct ews_snapshot_reading *reading)
{
	if (!*reading->snapshot->hash || strlen(reading->snapshot->hash) >= sizeof(reading->out->hash))
		return ews_snapshot_reading_finish(reading);
	strcpy(reading->out->hash, reading->snapshot->hash);
	return 0;
}

int ews_snapshot_reading_finish(void *payload)
{
	struct ews_snapshot_reading *reading = payload;
	int rc = 0;

	if (!reading->is_done)
		rc = read_content(reading->out, reading->repo, reading->snapshot, reading->without_index);
	reading->is_done = rc == 0;
	return rc;
}
