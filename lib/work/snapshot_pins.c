/*
 * Pins: see snapshot_pins.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot_pins.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/index_extensions.h"
#include "work/kept.h"

void ews_pins_add(struct ews_entries *pins, const char *path, uint8_t type, const struct ews_oid *oid)
{
	struct ews_entry *entry = ews_entries_add(pins, path, strlen(path));

	entry->type = type;
	entry->mode = 0644;
	entry->oid = *oid;
}

/* Does the index have a file where the path of `ie` needs a directory? Git's own never does. */
static bool is_below_file(const struct ews_index *index, const struct ews_index_entry *ie)
{
	EWS_CLEANUP(free) char *at = ews_strdup(ie->path);
	const struct ews_index_entry *end = index->items + index->n;

	for (char *slash = strrchr(at, '/'); slash; slash = strrchr(at, '/')) {
		const struct ews_index_entry *other;

		*slash = '\0';
		for (other = ews_index_find(index, at); other && other < end && !strcmp(other->path, at); other++)
			if (other->stage == ie->stage)
				return true;
	}
	return false;
}

static char *path_by_id(const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	return ews_strfmt("extra/%s", ews_oid_hex(hex, oid));
}

/* Content is filed under the path that it is staged for, or, where a tree can't have that, by its id. */
static char *path_of_staged(const struct ews_index *index, const struct ews_index_entry *ie)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("staged/%u/%s", ie->stage, ie->path);
	struct ews_entry entry = { .path = path, .type = EWS_ENTRY_FILE, .oid = ie->oid };

	return !ews_entry_fits_tree(&entry) || is_below_file(index, ie) ? path_by_id(&ie->oid) : ews_steal(&path);
}

/*
 * Pin the content `oid` as `path` where it is there; `are_there` becomes false when it is not, and may come yet. What can't be
 * read now is not nothing.
 */
static int pin_if_there(bool *are_there, struct ews_entries *pins, struct ews_repo *repo, const char *path,
			const struct ews_oid *oid)
{
	int is = ews_odb_is(repo->odb, oid, EWS_OBJECT_BLOB);

	if (is > 0)
		ews_pins_add(pins, path, EWS_ENTRY_FILE, oid);
	*are_there = *are_there && is > 0;
	return is < 0 ? is : 0;
}

/* Contents whose path a git tree can't hold are filed by their id. Returns how many there are. */
static size_t pin_extras(struct ews_entries *pins, const struct ews_content *content)
{
	size_t n = 0;

	for (size_t i = 0; i < content->scan.entries.n; i++) {
		const struct ews_entry *entry = &content->scan.entries.items[i];
		EWS_CLEANUP(free) char *path = NULL;

		if ((entry->type != EWS_ENTRY_FILE && entry->type != EWS_ENTRY_LINK) ||
		    ews_oid_is_none(&entry->oid) || ews_entry_fits_tree(entry))
			continue;
		path = path_by_id(&entry->oid);
		ews_pins_add(pins, path, EWS_ENTRY_FILE, &entry->oid);
		n++;
	}
	return n;
}

/* Some of what an index names. */
struct strays {
	const struct ews_index_entry **items;
	size_t n, cap;
};

/* The entry of `path`, which mostly is the next file at `at`. */
static const struct ews_entry *find_along(const struct ews_entries *entries, size_t *at, const char *path)
{
	const struct ews_entry *found;

	while (*at < entries->n && entries->items[*at].type == EWS_ENTRY_DIR)
		++*at;
	if (*at < entries->n && !strcmp(entries->items[*at].path, path))
		return &entries->items[(*at)++];
	/* Something that git doesn't know, or a place where its order is another one. */
	found = ews_entries_find(entries, path);
	if (found)
		*at = (size_t)(found - entries->items) + 1;
	return found;
}

/*
 * List what the tree does not have under the path that `index` names it by. `fit`: a tree can hold all entries. Those that
 * have what is named are added to `named`.
 */
static void list_strays(struct strays *out, uint8_t *named, const struct ews_index *index,
			const struct ews_entries *entries, bool fit)
{
	size_t at = 0;

	for (size_t i = 0; i < index->n; i++) {
		const struct ews_index_entry *ie = &index->items[i];
		const struct ews_entry *entry;

		/* Submodules are other repositories' commits; a sparse directory is HEAD's tree. */
		if (ie->mode == EWS_MODE_GITLINK || S_ISDIR(ie->mode))
			continue;
		entry = find_along(entries, &at, ie->path);
		if (entry && ews_oid_equal(&entry->oid, &ie->oid) && (fit || ews_entry_fits_tree(entry))) {
			ews_named_add(named, (size_t)(entry - entries->items));
			continue;
		}
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = ie;
	}
}

/* Give those ids of `strays` that the tree has under whatever path; the index relies on these entries as well. */
static void find_elsewhere(struct ews_oidset *out, uint8_t *named, const struct strays *strays,
			   const struct ews_entries *entries)
{
	EWS_CLEANUP(oidset) struct ews_oidset wanted = EWS_OIDSET_INIT;

	for (size_t i = 0; i < strays->n; i++)
		ews_oidset_add(&wanted, &strays->items[i]->oid);
	for (size_t i = 0; i < entries->n && strays->n; i++)
		if (ews_oidset_has(&wanted, &entries->items[i].oid) && ews_entry_fits_tree(&entries->items[i])) {
			ews_oidset_add(out, &entries->items[i].oid);
			ews_named_add(named, i);
		}
}

/* Forget what the commit that HEAD stands at has under the same path: the snapshot has it for a parent. */
static void forget_committed(struct strays *strays, struct ews_odb *odb, const struct ews_oid *tree)
{
	EWS_CLEANUP(free) const char **paths = ews_calloc(strays->n, sizeof(*paths));
	EWS_CLEANUP(free) struct ews_oid *oids = ews_calloc(strays->n, sizeof(*oids));
	size_t n = 0;

	for (size_t i = 0; i < strays->n; i++)
		paths[i] = strays->items[i]->path;
	/* Of a tree that can't be read it is known up to there. */
	if (ews_tree_find(oids, odb, tree, paths, strays->n) < 0)
		ews_error_clear();
	for (size_t i = 0; i < strays->n; i++)
		if (!ews_oid_equal(&oids[i], &strays->items[i]->oid))
			strays->items[n++] = strays->items[i];
	strays->n = n;
}

/*
 * Every object that entries of the index name and neither the tree nor that of HEAD's commit, `head_tree` (none: there is
 * none), has: a raw index pins nothing. Nearly all of an index is what stands in the tree as well; that is seen in one
 * walk along both. What is there and no content would be an error in the store until the snapshot expires. `fit` and
 * `named` as above.
 */
static int pin_staged(bool *are_there, struct ews_entries *pins, uint8_t *named, struct ews_repo *repo,
		      const struct ews_index *index, const struct ews_entries *entries, bool fit,
		      const struct ews_oid *head_tree)
{
	EWS_CLEANUP(oidset) struct ews_oidset elsewhere = EWS_OIDSET_INIT;
	struct strays strays = { NULL, 0, 0 };
	int rc = 0;

	list_strays(&strays, named, index, entries, fit);
	if (!ews_oid_is_none(head_tree))
		forget_committed(&strays, repo->odb, head_tree);
	find_elsewhere(&elsewhere, named, &strays, entries);
	for (size_t i = 0; i < strays.n && rc == 0; i++) {
		EWS_CLEANUP(free) char *path = NULL;

		if (ews_oidset_has(&elsewhere, &strays.items[i]->oid))
			continue;
		path = path_of_staged(index, strays.items[i]);
		rc = pin_if_there(are_there, pins, repo, path, &strays.items[i]->oid);
	}
	free(strays.items);
	return rc;
}

/* Write the tree `oid` where it is the empty one: git answers for that whether it is there or not, but its fsck wants what is named. */
static int write_empty_tree(struct ews_batch *batch, const struct ews_oid *oid)
{
	struct ews_oid empty;

	ews_odb_empty_tree(&empty, ews_batch_odb(batch));
	return ews_oid_equal(oid, &empty) ? ews_batch_add(&empty, batch, EWS_OBJECT_TREE, "", 0) : 0;
}

/* The trees that the index says its entries make: without them git's own gc fails where that index is back. */
static int pin_trees(bool *are_there, struct ews_entries *pins, struct ews_batch *batch,
		     const struct ews_index *index, const struct ews_oid *head_tree)
{
	EWS_CLEANUP(oids) struct ews_oids trees = EWS_OIDS_INIT;
	int rc = ews_index_list_trees(&trees, index, ews_batch_odb(batch), head_tree);

	*are_there = *are_there && rc > 0;
	for (size_t i = 0; i < trees.n && rc >= 0; i++) {
		char hex[EWS_OID_HEX_MAX];
		EWS_CLEANUP(free) char *path = ews_strfmt("trees/%s", ews_oid_hex(hex, &trees.items[i]));

		rc = write_empty_tree(batch, &trees.items[i]);
		ews_pins_add(pins, path, EWS_ENTRY_TREE, &trees.items[i]);
	}
	return rc < 0 ? rc : 0;
}

/* What the stages of resolved conflicts were, for the same reason. */
static int pin_resolved(bool *are_there, struct ews_entries *pins, struct ews_repo *repo,
			const struct ews_index *index)
{
	EWS_CLEANUP(oids) struct ews_oids oids = EWS_OIDS_INIT;
	int rc = 0;

	ews_index_list_resolved(&oids, index, ews_odb_algo(repo->odb));
	for (size_t i = 0; i < oids.n && rc == 0; i++) {
		EWS_CLEANUP(free) char *path = path_by_id(&oids.items[i]);

		rc = pin_if_there(are_there, pins, repo, path, &oids.items[i]);
	}
	return rc;
}

static int pin_bytes(struct ews_entries *pins, struct ews_batch *batch, const char *path, const void *data, size_t len)
{
	struct ews_oid oid;
	int rc = ews_batch_add(&oid, batch, EWS_OBJECT_BLOB, data, len);

	if (rc == 0)
		ews_pins_add(pins, path, EWS_ENTRY_FILE, &oid);
	return rc;
}

static int pin_files(struct ews_entries *pins, struct ews_batch *batch, const char *dir,
		     const struct ews_gitstate_files *files)
{
	int rc = 0;

	for (size_t i = 0; i < files->n && rc == 0; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir, files->items[i].name);

		rc = pin_bytes(pins, batch, path, files->items[i].data.ptr, files->items[i].data.len);
	}
	return rc;
}

static int pin_gitstate(struct ews_entries *pins, struct ews_batch *batch, const struct ews_gitstate *git)
{
	EWS_CLEANUP(free)
	char *stamp = ews_strfmt("%" PRId64 ".%09" PRIu32 "\n", git->index_mtime_s, git->index_mtime_ns);
	int rc = 0;

	if (git->has_index) {
		rc = pin_bytes(pins, batch, "index", git->index.ptr, git->index.len);
		if (rc == 0)
			rc = pin_bytes(pins, batch, "index-time", stamp, strlen(stamp));
	}
	if (rc == 0)
		rc = pin_files(pins, batch, "state", &git->files);
	return rc < 0 ? rc : pin_files(pins, batch, "left", &git->left);
}

int ews_pins_add_state(struct ews_entries *pins, struct ews_batch *batch, const struct ews_content *content)
{
	EWS_CLEANUP(buf) struct ews_buf root = EWS_BUF_INIT;
	int rc = 0;

	ews_buf_addf(&root, "%04o", content->root_mode);
	if (content->has_root_owner)
		ews_buf_addf(&root, " %" PRIu32 ":%" PRIu32, content->root_uid, content->root_gid);
	ews_buf_addc(&root, '\n');
	if (content->root_xattrs)
		ews_buf_addf(&root, EWS_PINNED_ROOT_XATTRS "%s", content->root_xattrs);
	if (content->root_mode)
		rc = pin_bytes(pins, batch, "root-mode", root.ptr, root.len);
	return rc < 0 ? rc : pin_gitstate(pins, batch, &content->git);
}

int ews_pins_add_contents(struct ews_entries *pins, uint8_t **out, struct ews_repo *repo, struct ews_batch *batch,
			  const struct ews_content *content, const struct ews_oid *head_tree)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	const struct ews_entries *entries = &content->scan.entries;
	bool fit = pin_extras(pins, content) == 0;
	EWS_CLEANUP(free) uint8_t *named = NULL;
	bool are_there = true;
	int rc;

	if (content->git.has_index && ews_index_borrow_state(&index, &content->git, ews_odb_algo(repo->odb)) < 0) {
		/* An index that is no index names nothing; its bytes are kept all the same. */
		ews_error_clear();
		return 0;
	}
	named = ews_named_new(entries->n);
	rc = pin_staged(&are_there, pins, named, repo, &index, entries, fit, head_tree);
	if (rc == 0)
		rc = pin_trees(&are_there, pins, batch, &index, head_tree);
	if (rc == 0)
		rc = pin_resolved(&are_there, pins, repo, &index);
	if (rc < 0)
		return ews_error_wrap("cannot keep what is staged");
	if (are_there)
		*out = ews_steal(&named);
	return 0;
}

int ews_pinned_read(struct ews_pinned *out, struct ews_odb *odb, const struct ews_oid *manifest)
{
	int rc = ews_odb_read_commit(&out->commit, odb, manifest);

	return rc < 0 ? rc : ews_tree_read_flat(&out->items, &out->n, odb, &out->commit.tree, &out->names);
}

void ews_pinned_release(struct ews_pinned *pinned)
{
	ews_commit_release(&pinned->commit);
	ews_arena_release(&pinned->names);
	free(pinned->items);
	*pinned = (struct ews_pinned)EWS_PINNED_INIT;
}
