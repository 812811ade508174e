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

#include "base/error.h"
#include "base/path.h"
#include "store/manifest_odb.h"
#include "work/kept.h"
#include "work/snapshot_pins.h"

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

/* Do both hold the same, but for their manifests? */
static bool hold_the_same(const struct ews_pinned *a, const struct ews_pinned *b)
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
	EWS_CLEANUP(pinned) struct ews_pinned of_a = EWS_PINNED_INIT;
	EWS_CLEANUP(pinned) struct ews_pinned of_b = EWS_PINNED_INIT;

	if (!ews_oid_equal(&a->head, &b->head))
		return false;
	if (ews_pinned_read(&of_a, odb, &a->manifest) < 0 || ews_pinned_read(&of_b, odb, &b->manifest) < 0) {
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
		while (at < to->n && (order = ews_path_cmp_alike(to->items[at].path, entry->path)) < 0)
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
