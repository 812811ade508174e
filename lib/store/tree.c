/*
 * Trees: see tree.h.
 *
 * A tree object is a run of "<octal mode> <name>" NUL <raw id>. Git sorts the
 * names of directories as if they ended in '/': "a.c" stands before the
 * directory "a", which stands before "a0". Entries are in the order
 * of ews_path_cmp(), so each level is sorted once more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"

#define MODE_TYPE 0170000
#define MODE_DIR 0040000
#define MODE_FILE 0100000
#define MODE_LINK 0120000

bool ews_tree_item_is_dir(const struct ews_tree_item *item)
{
	return (item->mode & MODE_TYPE) == MODE_DIR;
}

int ews_tree_item_cmp(const struct ews_tree_item *a, const struct ews_tree_item *b)
{
	size_t a_len = strlen(a->name), b_len = strlen(b->name);
	size_t len = a_len < b_len ? a_len : b_len;
	int order = memcmp(a->name, b->name, len);
	unsigned char a_next, b_next;

	if (order)
		return order;
	a_next = a_len > len ? (unsigned char)a->name[len] : ews_tree_item_is_dir(a) ? '/' : 0;
	b_next = b_len > len ? (unsigned char)b->name[len] : ews_tree_item_is_dir(b) ? '/' : 0;
	return a_next - b_next;
}

static int cmp_as_git(const void *a, const void *b)
{
	return ews_tree_item_cmp(a, b);
}

int ews_tree_write_flat(struct ews_oid *out, struct ews_batch *batch, struct ews_tree_item *items, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (n)
		qsort(items, n, sizeof(*items), cmp_as_git);
	for (size_t i = 0; i < n; i++) {
		ews_buf_addf(&text, "%o %s", (unsigned)items[i].mode, items[i].name);
		ews_buf_addc(&text, '\0');
		ews_buf_add(&text, items[i].oid.id, items[i].oid.len);
	}
	return ews_batch_add(out, batch, EWS_OBJECT_TREE, text.ptr, text.len);
}

/* The levels under way: each level's items stand on top of its parent's. */
struct writing {
	struct ews_batch *batch;
	const struct ews_entries *list;
	size_t at; /* the entry that comes next */
	struct ews_tree_item *items;
	size_t n, cap;
	struct ews_arena names; /* of directories */
	const struct ews_changes *changes; /* against what has a tree already; NULL: nothing has */
};

/* A directory of what has a tree already. */
struct old_level {
	struct ews_tree_item *items;
	size_t n;
};

static void push_item(struct writing *w, uint32_t mode, const char *name, const struct ews_oid *oid)
{
	EWS_GROW(w->items, w->n, w->cap);
	w->items[w->n++] = (struct ews_tree_item){ mode, name, *oid };
}

/* Does anything at or below the directory `path` differ from what has a tree? */
static bool has_change(const struct writing *w, const char *path)
{
	const struct ews_changes *changes = w->changes;
	size_t at = ews_path_find_first(changes->items, sizeof(*changes->items), changes->n, path);

	return at < changes->n && ews_path_is_inside(changes->items[at].path, path);
}

/* Step over the directory `path` and all that is below it. */
static void step_over(struct writing *w, const char *path)
{
	/* In order nothing comes between a directory's content and what begins with its name and the least byte. */
	EWS_CLEANUP(free) char *end = ews_strfmt("%s\001", path);

	w->at += ews_path_find_first(&w->list->items[w->at], sizeof(*w->list->items), w->list->n - w->at, end);
}

static const struct ews_oid *find_old(const struct old_level *old, const char *name, size_t len)
{
	for (size_t i = 0; i < old->n; i++)
		if (ews_tree_item_is_dir(&old->items[i]) && !strncmp(old->items[i].name, name, len) &&
		    !old->items[i].name[len])
			return &old->items[i].oid;
	return NULL;
}

static int write_level(struct ews_oid *out, struct writing *w, const char *prefix, size_t prefix_len,
		       const struct ews_oid *was);

/* The directory that is the first `len` bytes of `path`, by the name `name`; of `old` it may have been one. */
static int write_dir(struct writing *w, const char *path, size_t len, const char *name, const struct old_level *old)
{
	const char *end = path + len;
	const struct ews_oid *was = find_old(old, name, (size_t)(end - name));
	EWS_CLEANUP(free) char *dir = was ? ews_strndup(path, len) : NULL;
	struct ews_oid oid = EWS_OID_NONE;
	int rc = 0;

	if (was && !has_change(w, dir)) {
		oid = *was;
		step_over(w, dir);
	} else {
		rc = write_level(&oid, w, path, len + 1, was);
	}
	if (rc == 0)
		push_item(w, MODE_DIR, ews_arena_dup(&w->names, name, (size_t)(end - name)), &oid);
	return rc;
}

/* Write the entries from the next one on whose paths start with the first `prefix_len` bytes of `prefix`; it was `was`, if not NULL. */
static int write_level(struct ews_oid *out, struct writing *w, const char *prefix, size_t prefix_len,
		       const struct ews_oid *was)
{
	EWS_CLEANUP(free) struct ews_tree_item *old_items = NULL;
	struct old_level old = { NULL, 0 };
	size_t first = w->n;
	int rc = 0;

	if (was)
		rc = ews_tree_read_flat(&old_items, &old.n, ews_batch_odb(w->batch), was, &w->names);
	old.items = old_items;
	while (w->at < w->list->n && rc == 0) {
		const struct ews_entry *entry = &w->list->items[w->at];
		const char *name = entry->path + prefix_len, *slash;

		if (strncmp(entry->path, prefix, prefix_len) != 0)
			break;
		if (!ews_entry_fits_tree(entry)) {
			w->at++;
			continue;
		}
		slash = strchr(name, '/');
		if (slash) {
			rc = write_dir(w, entry->path, (size_t)(slash - entry->path), name, &old);
		} else {
			push_item(w, ews_entry_git_mode(entry), name, &entry->oid);
			w->at++;
		}
	}
	if (rc == 0)
		rc = ews_tree_write_flat(out, w->batch, w->items ? w->items + first : NULL, w->n - first);
	w->n = first;
	return rc;
}

static int write_all(struct ews_oid *out, struct writing *w, const struct ews_oid *was)
{
	struct ews_oid root = EWS_OID_NONE;
	int rc = write_level(&root, w, "", 0, was);

	free(w->items);
	ews_arena_release(&w->names);
	if (rc < 0)
		return rc;
	*out = root;
	return 0;
}

int ews_tree_write(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list)
{
	struct writing w = { .batch = batch, .list = list };

	return write_all(out, &w, NULL);
}

int ews_tree_write_like(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list,
			const struct ews_entries *was, const struct ews_oid *was_tree)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;

	ews_changes_between(&changes, was, list, ews_entry_equal_in_git);
	return ews_tree_write_changed(out, batch, list, &changes, was_tree);
}

int ews_tree_write_changed(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list,
			   const struct ews_changes *changes, const struct ews_oid *was_tree)
{
	struct writing w = { .batch = batch, .list = list, .changes = changes };

	if (changes->n)
		return write_all(out, &w, was_tree);
	*out = *was_tree;
	return 0;
}

/* A name that is one component and can't lead out of the directory, nor into its repository. */
static bool is_safe_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strcasecmp(name, ".git") != 0;
}

/* Read the item at `*at` and step over it. */
static int read_item(struct ews_tree_item *out, const char **at, const char *end, size_t oid_len)
{
	const char *space = memchr(*at, ' ', (size_t)(end - *at));
	const char *nul = space ? memchr(space, '\0', (size_t)(end - space)) : NULL;
	uint32_t mode = 0;

	if (!nul || (size_t)(end - nul) <= oid_len || space == *at || space - *at > 7)
		return ews_error(EWS_EDAMAGED, "it is cut short");
	for (const char *digit = *at; digit < space; digit++) {
		if (*digit < '0' || *digit > '7')
			return ews_error(EWS_EDAMAGED, "a mode is no number");
		mode = mode * 8 + (uint32_t)(*digit - '0');
	}
	out->mode = mode;
	out->name = space + 1;
	out->oid = (struct ews_oid){ .len = (uint8_t)oid_len };
	memcpy(out->oid.id, nul + 1, oid_len);
	*at = nul + 1 + oid_len;
	return 0;
}

int ews_tree_read_flat(struct ews_tree_item **out, size_t *n, struct ews_odb *odb, const struct ews_oid *oid,
		       struct ews_arena *arena)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	char hex[EWS_OID_HEX_MAX];
	size_t oid_len = ews_hash_len(ews_odb_algo(odb));
	size_t used = 0, cap = 0;
	enum ews_object_type type;
	const char *at, *end;
	int rc;

	rc = ews_odb_read(&text, &type, odb, oid);
	if (rc < 0)
		return rc;
	if (type != EWS_OBJECT_TREE)
		return ews_error(EWS_EDAMAGED, "object %s is a %s, not a tree", ews_oid_hex(hex, oid),
				 ews_object_type_name(type));
	at = text.ptr;
	end = text.ptr + text.len;
	while (at < end) {
		EWS_GROW(items, used, cap);
		rc = read_item(&items[used], &at, end, oid_len);
		if (rc < 0)
			return ews_error_wrap("tree %s is damaged", ews_oid_hex(hex, oid));
		items[used].name = ews_arena_dup(arena, items[used].name, strlen(items[used].name));
		used++;
	}
	*n = used;
	*out = ews_steal(&items);
	return 0;
}

static int cmp_name(const void *a, const void *b)
{
	return strcmp(((const struct ews_tree_item *)a)->name, ((const struct ews_tree_item *)b)->name);
}

static int set_type(struct ews_entry *entry, uint32_t mode)
{
	switch (mode & MODE_TYPE) {
	case MODE_FILE:
		entry->type = EWS_ENTRY_FILE;
		/* Old trees have 0664 and the like; only the owner's x bit ever had a meaning. */
		entry->mode = mode & 0100 ? 0755 : 0644;
		return 0;
	case MODE_LINK:
		entry->type = EWS_ENTRY_LINK;
		entry->mode = 0777;
		return 0;
	case MODE_DIR:
		entry->type = EWS_ENTRY_DIR;
		entry->mode = 0755;
		return 0;
	case EWS_MODE_GITLINK:
		entry->type = EWS_ENTRY_GITLINK;
		entry->mode = 0755;
		return 0;
	default:
		return ews_error(EWS_EDAMAGED, "mode %o means nothing", (unsigned)mode);
	}
}

/* List tree `oid`, whose own path, with its slash, is in `path`. */
static int list_level(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid, struct ews_buf *path,
		      bool with_ids)
{
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	char hex[EWS_OID_HEX_MAX];
	struct ews_arena names = EWS_ARENA_INIT;
	size_t path_len = path->len;
	size_t n = 0;
	int rc;

	rc = ews_tree_read_flat(&items, &n, odb, oid, &names);
	if (n)
		qsort(items, n, sizeof(*items), cmp_name);
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct ews_tree_item *item = &items[i];
		struct ews_entry *entry;

		if (!is_safe_name(item->name)) {
			rc = ews_error(EWS_EDAMAGED, "tree %s holds the name '%s', which is not allowed",
				       ews_oid_hex(hex, oid), item->name);
			break;
		}
		if (i && !strcmp(item->name, items[i - 1].name)) {
			rc = ews_error(EWS_EDAMAGED, "tree %s holds the name '%s' twice", ews_oid_hex(hex, oid),
				       item->name);
			break;
		}
		ews_buf_truncate(path, path_len);
		ews_buf_adds(path, item->name);
		if (path->len > EWS_TREE_PATH_MAX) {
			rc = ews_error(EWS_EUNSUPPORTED, "tree %s holds a path of more than %d bytes",
				       ews_oid_hex(hex, oid), EWS_TREE_PATH_MAX);
			break;
		}
		entry = ews_entries_add(out, path->ptr, path->len);
		rc = set_type(entry, item->mode);
		if (rc < 0) {
			rc = ews_error_wrap("'%s' in tree %s", item->name, ews_oid_hex(hex, oid));
		} else if (entry->type == EWS_ENTRY_DIR) {
			ews_buf_addc(path, '/');
			if (with_ids)
				entry->oid = item->oid;
			rc = list_level(out, odb, &item->oid, path, with_ids);
		} else {
			entry->oid = item->oid;
		}
	}
	ews_arena_release(&names);
	return rc;
}

int ews_tree_list(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	return list_level(out, odb, oid, &path, false);
}

int ews_tree_list_with_ids(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	return list_level(out, odb, oid, &path, true);
}

/* How many of the paths lie, as the first one does, below the directory that is its first `len` bytes. */
static size_t count_below(const char *const *paths, size_t n, size_t len)
{
	size_t i = 1;

	while (i < n && !strncmp(paths[i], paths[0], len) && paths[i][len] == '/')
		i++;
	return i;
}

/* The same for those that begin with the `prefix_len` bytes of which `oid` is the tree. */
static int find_level(struct ews_oid *out, struct ews_odb *odb, const struct ews_oid *oid, const char *const *paths,
		      size_t n, size_t prefix_len)
{
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	struct ews_arena names = EWS_ARENA_INIT;
	size_t n_items = 0, at = 0, step;
	int rc = ews_tree_read_flat(&items, &n_items, odb, oid, &names);

	for (size_t i = 0; i < n && rc == 0; i += step) {
		const char *name = paths[i] + prefix_len;
		size_t len = strcspn(name, "/");
		bool is_dir = name[len];
		const struct ews_tree_item wanted = { is_dir ? MODE_DIR : MODE_FILE,
						      ews_arena_dup(&names, name, len), EWS_OID_NONE };

		step = is_dir ? count_below(paths + i, n - i, prefix_len + len) : 1;
		/* The order of the paths' bytes is that of git's trees. */
		while (at < n_items && ews_tree_item_cmp(&items[at], &wanted) < 0)
			at++;
		if (at == n_items || ews_tree_item_cmp(&items[at], &wanted) != 0)
			continue;
		if (!is_dir && (items[at].mode & MODE_TYPE) != EWS_MODE_GITLINK)
			out[i] = items[at].oid;
		else if (is_dir && prefix_len + len < EWS_TREE_PATH_MAX)
			rc = find_level(out + i, odb, &items[at].oid, paths + i, step, prefix_len + len + 1);
	}
	ews_arena_release(&names);
	return rc;
}

int ews_tree_find(struct ews_oid *out, struct ews_odb *odb, const struct ews_oid *root, const char *const *paths,
		  size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (struct ews_oid)EWS_OID_NONE;
	return n ? find_level(out, odb, root, paths, n, 0) : 0;
}
