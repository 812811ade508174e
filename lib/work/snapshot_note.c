/*
 * What is remembered of entries that were put back: see snapshot.h.
 *
 * The next snapshot of them takes from an earlier one what both have (snapshot_earlier). That one has to be one of these
 * very entries, which after a revert is its target; and what git's index names must be known of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/commit.h"
#include "store/manifest_odb.h"
#include "store/tree.h"
#include "work/kept.h"

void ews_snapshot_note(struct ews_content *content, const struct ews_oid *commit, const char *ref)
{
	const struct ews_kept kept = { .commit = *commit, .ref = ref, .n = content->scan.entries.n };
	EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;
	struct ews_kept known;

	if (content->is_unchanged && ews_kept_parse(&known, &content->memo))
		return;
	ews_kept_format(&memo, &kept);
	ews_content_set_memo(content, memo.ptr, memo.len);
}

/* What a manifest commit holds. */
struct holding {
	struct ews_commit commit;
	struct ews_arena names;
	struct ews_tree_item *items;
	size_t n;
};

static void release_holding(struct holding *holding)
{
	ews_commit_release(&holding->commit);
	ews_arena_release(&holding->names);
	free(holding->items);
}

EWS_CLEANUP_DEFINE(holding, struct holding, release_holding)

static int read_holding(struct holding *out, struct ews_odb *odb, const struct ews_oid *manifest)
{
	int rc = ews_odb_read_commit(&out->commit, odb, manifest);

	return rc < 0 ? rc : ews_tree_read_flat(&out->items, &out->n, odb, &out->commit.tree, &out->names);
}

/* Do both hold the same, but for their manifests? */
static bool hold_the_same(const struct holding *a, const struct holding *b)
{
	if (a->n != b->n || a->commit.n_parents != b->commit.n_parents)
		return false;
	for (size_t i = 0; i < a->commit.n_parents; i++)
		if (!ews_oid_equal(&a->commit.parents[i], &b->commit.parents[i]))
			return false;
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->items[i].name, b->items[i].name) != 0)
			return false;
		if (strcmp(a->items[i].name, EWS_MANIFEST_NAME) != 0 &&
		    (a->items[i].mode != b->items[i].mode || !ews_oid_equal(&a->items[i].oid, &b->items[i].oid)))
			return false;
	}
	return true;
}

static bool have_same_pins(struct ews_odb *odb, const struct ews_snapshot *a, const struct ews_snapshot *b)
{
	EWS_CLEANUP(holding)
	struct holding of_a = { .commit = EWS_COMMIT_INIT, .names = EWS_ARENA_INIT };
	EWS_CLEANUP(holding)
	struct holding of_b = { .commit = EWS_COMMIT_INIT, .names = EWS_ARENA_INIT };

	if (!ews_oid_equal(&a->head, &b->head))
		return false;
	if (read_holding(&of_a, odb, &a->manifest) < 0 || read_holding(&of_b, odb, &b->manifest) < 0) {
		ews_error_clear(); /* the next one writes all that it has */
		return false;
	}
	return hold_the_same(&of_a, &of_b);
}

/*
 * Those of `to` that the index relies on: the same that it relies on in `from`. NULL where it relies on one that `to` has not. What
 * the index names and neither has is in HEAD's tree, or a pin. The caller frees it.
 */
static uint8_t *carry_named(const struct ews_entries *from, const uint8_t *named, const struct ews_entries *to)
{
	EWS_CLEANUP(free) uint8_t *carried = ews_named_new(to->n);
	size_t at = 0;

	for (size_t i = 0; i < from->n; i++) {
		const struct ews_entry *entry = &from->items[i];
		int order = -1;

		if (!ews_named_has(named, i))
			continue;
		while (at < to->n && (order = ews_path_cmp(to->items[at].path, entry->path)) < 0)
			at++;
		if (order != 0 || !ews_oid_equal(&to->items[at].oid, &entry->oid))
			return NULL;
		ews_named_add(carried, at);
	}
	return ews_steal(&carried);
}

void ews_snapshot_foresee(struct ews_buf *out, struct ews_repo *repo, const struct ews_snapshot *before,
			  const struct ews_content *from, const struct ews_snapshot *target,
			  const struct ews_content *to)
{
	struct ews_kept was, kept = { .commit = target->commit, .ref = target->ref, .n = to->scan.entries.n };
	EWS_CLEANUP(free) uint8_t *named = NULL;

	if (!ews_kept_parse(&was, &from->memo) || !was.named || was.n != from->scan.entries.n ||
	    !have_same_pins(repo->odb, before, target))
		return;
	named = carry_named(&from->scan.entries, was.named, &to->scan.entries);
	if (!named)
		return;
	memcpy(kept.rest, was.rest, sizeof(kept.rest));
	kept.named = named;
	ews_kept_format(out, &kept);
}
