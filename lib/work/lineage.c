/*
 * Lineage: see lineage.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/lineage.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"

#define LINEAGE_FILE "lineage" /* "<id> <parent's id>" a line */
#define FILE_MAX (64 * EWS_MIB)

void ews_lineage_release(struct ews_lineage *lineage)
{
	for (size_t i = 0; i < lineage->n; i++)
		free(lineage->items[i].children);
	free(lineage->items);
	*lineage = (struct ews_lineage)EWS_LINEAGE_INIT;
}

/* Who is whose child, living or not: "<id> <parent>", sorted. */
struct known {
	struct ews_strv pairs;
};

static void release_known(struct known *known)
{
	ews_strv_release(&known->pairs);
}

EWS_CLEANUP_DEFINE(known, struct known, release_known)

static int read_file(struct known *known, struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_repo_need_dir(repo);

	if (rc == 0)
		rc = ews_file_read_own(&text, repo->dir_fd, LINEAGE_FILE, FILE_MAX);
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	for (const char *line = text.ptr; *line;) {
		size_t len = strcspn(line, "\n");

		ews_strv_add_len(&known->pairs, line, len);
		line += len + (line[len] == '\n');
	}
	return 0;
}

/* What is in trash still says itself whose child it was. One that can't be read is named where trash is listed. */
static int read_trash(struct known *known, struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, repo->odb, EWS_REF_TRASH);

	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	for (size_t i = 0; i < refs.n; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot one = EWS_SNAPSHOT_INIT;

		if (ews_snapshot_read(&one, repo, &refs.items[i]) < 0)
			ews_error_clear();
		else if (*one.parent)
			ews_strv_addf(&known->pairs, "%s %s", one.id, one.parent);
	}
	return 0;
}

static int cmp_key(const void *key, const void *item)
{
	const char *id = key, *pair = *(char *const *)item;
	size_t len = strlen(id);
	int order = strncmp(id, pair, len);

	return order ? order : pair[len] == ' ' ? 0 : ' ' - (unsigned char)pair[len];
}

/* The parent of one that is not there any more, or NULL. */
static const char *parent_of_lost(const struct known *known, const char *id)
{
	char **pair = known->pairs.n ? bsearch(id, known->pairs.items, known->pairs.n, sizeof(char *), cmp_key)
				     : NULL;

	return pair ? *pair + strlen(id) + 1 : NULL;
}

static ssize_t find_id(const struct ews_snapshots *list, const char *id)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].id, id))
			return (ssize_t)i;
	return -1;
}

/* The next ancestor that is there. A lineage that goes round has none. */
static ssize_t find_ancestor(const struct ews_snapshots *list, const struct known *known, size_t child)
{
	const char *id = list->items[child].parent;

	for (size_t tries = known->pairs.n + 1; id && *id && tries; tries--) {
		ssize_t found = find_id(list, id);

		if (found >= 0)
			return found == (ssize_t)child ? -1 : found;
		id = parent_of_lost(known, id);
	}
	return -1;
}

/* Does going up from `i` come back to it? Then somebody wrote the trailers himself. */
static bool goes_round(const struct ews_lineage *lineage, size_t i)
{
	ssize_t at = lineage->items[i].parent;

	for (size_t steps = 0; at >= 0 && steps <= lineage->n; steps++) {
		if (at == (ssize_t)i)
			return true;
		at = lineage->items[at].parent;
	}
	return false;
}

static bool has_lost_parent(const struct ews_snapshots *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (*list->items[i].parent && find_id(list, list->items[i].parent) < 0)
			return true;
	return false;
}

int ews_lineage_find(struct ews_lineage *out, struct ews_repo *repo, const struct ews_snapshots *list)
{
	EWS_CLEANUP(known) struct known known = { EWS_STRV_INIT };

	if (has_lost_parent(list)) {
		int rc = read_trash(&known, repo);

		if (rc == 0)
			rc = read_file(&known, repo);
		if (rc < 0)
			return ews_error_wrap("cannot tell what the snapshots descend from");
		ews_strv_sort(&known.pairs);
	}
	out->n = list->n;
	out->items = ews_calloc(list->n + 1, sizeof(*out->items));
	for (size_t i = 0; i < list->n; i++)
		out->items[i] =
			(struct ews_descent){ .snapshot = i, .parent = find_ancestor(list, &known, i), .changes = -1 };
	for (size_t i = 0; i < list->n; i++)
		if (goes_round(out, i))
			out->items[i].parent = -1;
	for (size_t i = 0; i < list->n; i++) {
		struct ews_descent *parent = out->items[i].parent < 0 ? NULL : &out->items[out->items[i].parent];

		if (!parent)
			continue;
		EWS_GROW(parent->children, parent->n_children, parent->cap_children);
		parent->children[parent->n_children++] = i;
	}
	return 0;
}

/* A directory changes with what is in it: it counts when it is itself another one. */
static size_t count_changes(const struct ews_content *from, const struct ews_content *to)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	size_t n = 0;

	ews_changes_between(&changes, &from->scan.entries, &to->scan.entries, ews_entry_equal);
	for (size_t i = 0; i < changes.n; i++) {
		const struct ews_change *change = &changes.items[i];

		/* Nobody knows whether it did. */
		if ((!change->to && ews_skips_unseen(&to->scan.skips, change->path)) ||
		    (!change->from && ews_skips_unseen(&from->scan.skips, change->path)))
			continue;
		n += (change->from && change->to) ||
		     (change->from ? change->from : change->to)->type != EWS_ENTRY_DIR;
	}
	return n;
}

int ews_lineage_count(struct ews_lineage *lineage, struct ews_repo *repo, const struct ews_snapshots *list)
{
	/* Mostly the parent is the one before. */
	EWS_CLEANUP(content) struct ews_content last = EWS_CONTENT_INIT;
	ssize_t last_at = -1;

	for (size_t i = 0; i < lineage->n; i++) {
		struct ews_descent *item = &lineage->items[i];
		EWS_CLEANUP(content) struct ews_content now = EWS_CONTENT_INIT;

		if (item->parent < 0)
			continue;
		if (!strcmp(list->items[i].hash, list->items[item->parent].hash)) {
			item->changes = 0;
			continue;
		}
		if (last_at != item->parent) {
			ews_content_release(&last);
			last_at = -1;
			if (ews_snapshot_content(&last, repo, &list->items[item->parent]) == 0)
				last_at = item->parent;
		}
		if (last_at >= 0 && ews_snapshot_content(&now, repo, &list->items[i]) == 0) {
			item->changes = (ssize_t)count_changes(&last, &now);
			ews_content_release(&last);
			last = now;
			now = (struct ews_content)EWS_CONTENT_INIT;
			last_at = (ssize_t)i;
		}
		ews_error_clear(); /* one that is damaged is verify's to name */
	}
	return 0;
}

int ews_lineage_remember(struct ews_repo *repo, const struct ews_snapshot *const *snapshots, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf lines = EWS_BUF_INIT;

	for (size_t i = 0; i < n; i++)
		if (snapshots[i]->parent && *snapshots[i]->parent)
			ews_buf_addf(&lines, "%s%s %s", lines.len ? "\n" : "", snapshots[i]->id,
				     snapshots[i]->parent);
	return lines.len ? ews_file_append(repo->dir_fd, LINEAGE_FILE, lines.ptr, 0600) : 0;
}
