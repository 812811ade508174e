/*
 * Earlier: see snapshot_earlier.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot_earlier.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/manifest_odb.h"
#include "work/snapshot_pins.h"

/* Those that were touched since, of which `content` may have none. */
static const struct ews_touched *touched_of(const struct ews_content *content)
{
	static const struct ews_touched none = EWS_TOUCHED_INIT;

	return content->is_unchanged ? &none : &content->touched;
}

/* Read what it has, if it is held still. `like` (NULL: none) is one that is held, and read. */
static int read_held(struct ews_earlier *earlier, const struct ews_snapshot *like)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	int rc;

	if (like && ews_oid_equal(&like->commit, &earlier->kept.commit)) {
		earlier->tree = like->tree;
		earlier->manifest = like->manifest;
		earlier->is_there = true;
		return 0;
	}
	if (ews_kept_is_held(&earlier->kept, earlier->odb) <= 0) {
		ews_error_clear(); /* what is not held for certain is not built upon */
		return 0;
	}
	rc = ews_odb_read_commit(&commit, earlier->odb, &earlier->kept.commit);
	if (rc < 0 || !commit.n_parents)
		return rc;
	earlier->tree = commit.tree;
	earlier->manifest = commit.parents[commit.n_parents - 1];
	earlier->is_there = true;
	return 0;
}

void ews_earlier_find(struct ews_earlier *out, struct ews_odb *odb, const struct ews_content *content,
		      const struct ews_snapshot_opts *opts)
{
	bool knows_touched = content->is_unchanged || content->touched.are_all;

	out->odb = odb;
	out->content = content;
	out->is_known = ews_kept_parse(&out->kept, content->is_unchanged ? &content->memo : &content->earlier);
	if (!opts->is_as_found || !knows_touched || !out->is_known || out->kept.n != content->scan.entries.n)
		return;
	if (read_held(out, opts->like) < 0)
		ews_error_clear(); /* all is written then */
}

/* Read what its manifest commit has, and of which pieces its manifest is. */
static int read_manifest_tree(struct ews_earlier *earlier)
{
	struct ews_pinned *pinned = &earlier->pinned;
	int rc = ews_pinned_read(pinned, earlier->odb, &earlier->manifest);

	for (size_t i = 0; i < pinned->n && rc == 0; i++) {
		const struct ews_tree_item *item = &pinned->items[i];

		if (strcmp(item->name, EWS_MANIFEST_NAME) != 0)
			continue;
		if (ews_tree_item_is_dir(item))
			return ews_tree_read_flat(&earlier->pieces, &earlier->n_pieces, earlier->odb, &item->oid,
						  &pinned->names);
		earlier->pieces = ews_memdup(item, sizeof(*item));
		earlier->n_pieces = 1;
	}
	return rc;
}

static int cmp_path(const void *a, const void *b)
{
	return strcmp((*(const struct ews_touched_entry *const *)a)->was.path,
		      (*(const struct ews_touched_entry *const *)b)->was.path);
}

/*
 * Is what the index names, and what no tree can hold, kept by its very pins? The index is the same, but a content that it
 * names may have been in the tree, and be there no more. It is in HEAD's, as a rule.
 */
static bool are_pins_enough(const struct ews_earlier *earlier, struct ews_head_tree *head_tree)
{
	const struct ews_touched *touched = touched_of(earlier->content);
	const struct ews_entries *entries = &earlier->content->scan.entries;
	EWS_CLEANUP(free) const struct ews_touched_entry **lost = ews_calloc(touched->n, sizeof(*lost));
	EWS_CLEANUP(free) const char **paths = ews_calloc(touched->n, sizeof(*paths));
	EWS_CLEANUP(free) struct ews_oid *oids = ews_calloc(touched->n, sizeof(*oids));
	const struct ews_oid *tree;
	size_t n = 0;

	for (size_t i = 0; i < touched->n; i++) {
		const struct ews_touched_entry *one = &touched->items[i];
		const struct ews_entry *is = &entries->items[one->at];

		if (is->type != EWS_ENTRY_DIR && (!ews_entry_fits_tree(&one->was) || !ews_entry_fits_tree(is)))
			return false;
		if (!ews_oid_equal(&one->was.oid, &is->oid) && ews_named_has(earlier->kept.named, one->at))
			lost[n++] = one;
	}
	if (!n)
		return true;
	qsort(lost, n, sizeof(*lost), cmp_path);
	for (size_t i = 0; i < n; i++)
		paths[i] = lost[i]->was.path;
	tree = ews_head_tree_read(head_tree);
	if (ews_oid_is_none(tree) || ews_tree_find(oids, earlier->odb, tree, paths, n) < 0) {
		ews_error_clear(); /* who looks at all of it finds what there is */
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!ews_oid_equal(&oids[i], &lost[i]->was.oid))
			return false;
	return true;
}

void ews_earlier_compare(struct ews_earlier *earlier, const struct ews_kept *now, struct ews_head_tree *head_tree)
{
	const struct ews_kept *kept = &earlier->kept;
	bool has_rest = earlier->is_there && !memcmp(kept->rest, now->rest, sizeof(kept->rest));

	earlier->has_skips = earlier->is_there && !memcmp(kept->skips, now->skips, sizeof(kept->skips));
	earlier->has_manifest = earlier->content->is_unchanged && has_rest && earlier->has_skips;
	if (earlier->has_manifest || (!has_rest && !earlier->has_skips))
		return;
	if (read_manifest_tree(earlier) < 0) {
		ews_error_clear(); /* all of it is written then */
		ews_pinned_release(&earlier->pinned);
		earlier->n_pieces = 0;
		return;
	}
	earlier->has_pins = has_rest && kept->named && are_pins_enough(earlier, head_tree);
}

int ews_earlier_write_tree(struct ews_oid *out, const struct ews_earlier *earlier, struct ews_batch *batch)
{
	const struct ews_entries *entries = &earlier->content->scan.entries;
	const struct ews_touched *touched = touched_of(earlier->content);
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;

	changes.items = ews_calloc(touched->n, sizeof(*changes.items));
	for (size_t i = 0; i < touched->n; i++) {
		const struct ews_entry *from = &touched->items[i].was, *to = &entries->items[touched->items[i].at];

		if (!ews_entry_equal_in_git(from, to))
			changes.items[changes.n++] = (struct ews_change){ to->path, from, to, NULL };
	}
	return ews_tree_write_changed(out, batch, entries, &changes, &earlier->tree);
}

/*
 * Does nothing in the line of the entry matter to where a manifest is cut, to its head or to other lines? Those of its other
 * names do, which need not be touched: where a file system copies what is written to these keep the file that it was.
 */
static bool is_line_of_its_own(const struct ews_entry *was, const struct ews_entry *is)
{
	size_t was_len = was->xattrs ? strlen(was->xattrs) : 0, len = is->xattrs ? strlen(is->xattrs) : 0;

	return was_len == len && !ews_entry_has_names(was) && was->has_owner == is->has_owner &&
	       was->uid == is->uid && was->gid == is->gid;
}

void ews_earlier_take_pieces(struct ews_oid *oids, const struct ews_earlier *earlier,
			     const struct ews_manifest_pieces *pieces)
{
	const struct ews_touched *touched = touched_of(earlier->content);
	const struct ews_entries *entries = &earlier->content->scan.entries;
	size_t at = 0;

	if (!earlier->has_skips || earlier->n_pieces != pieces->n || pieces->numbers)
		return;
	for (size_t i = 0; i < touched->n; i++)
		if (!is_line_of_its_own(&touched->items[i].was, &entries->items[touched->items[i].at]))
			return;
	for (size_t i = 0; i < pieces->n; i++) {
		size_t end = i + 1 < pieces->n ? pieces->starts[i + 1] : pieces->n_lines;

		if (at == touched->n || touched->items[at].at >= end)
			oids[i] = earlier->pieces[i].oid;
		while (at < touched->n && touched->items[at].at < end)
			at++;
	}
}

void ews_earlier_take_pins(struct ews_entries *pins, const struct ews_earlier *earlier)
{
	for (size_t i = 0; i < earlier->pinned.n && earlier->has_pins; i++) {
		const struct ews_tree_item *item = &earlier->pinned.items[i];

		if (strcmp(item->name, EWS_MANIFEST_NAME) != 0)
			ews_pins_add(pins, item->name, ews_tree_item_is_dir(item) ? EWS_ENTRY_TREE : EWS_ENTRY_FILE,
				     &item->oid);
	}
}

uint8_t *ews_earlier_take_named(const struct ews_earlier *earlier)
{
	const struct ews_touched *touched = touched_of(earlier->content);
	const struct ews_entries *entries = &earlier->content->scan.entries;
	uint8_t *named = ews_named_copy(earlier->kept.named, earlier->kept.n);

	/* What the index names is what it named, but where something else stands now. */
	for (size_t i = 0; i < touched->n; i++) {
		const struct ews_touched_entry *one = &touched->items[i];

		if (!ews_oid_equal(&one->was.oid, &entries->items[one->at].oid))
			ews_named_remove(named, one->at);
	}
	return named;
}

bool ews_earlier_is_shared(const struct ews_earlier *earlier)
{
	return earlier->is_known && (earlier->is_there || earlier->content->relies_on_kept);
}

void ews_earlier_release(struct ews_earlier *earlier)
{
	ews_pinned_release(&earlier->pinned);
	free(earlier->pieces);
}
