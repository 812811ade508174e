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

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"

#define MODE_TYPE 0170000
#define MODE_FILE 0100000
#define MODE_DIGITS_MAX 11
#define ITEM_BYTES_MIN 3 /* a digit, a space, no name, a NUL; and the id */

/* So deep the trees are listed before several threads list what is below: there they are many, and none is most of it. */
#define LEVELS_ABOVE 2
#define ALL_LEVELS UINT_MAX

bool ews_tree_item_is_dir(const struct ews_tree_item *item)
{
	return (item->mode & MODE_TYPE) == EWS_MODE_DIR;
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

const struct ews_tree_item *ews_tree_item_find(const struct ews_tree_item *items, size_t n,
					       const struct ews_tree_item *wanted)
{
	return n ? bsearch(wanted, items, n, sizeof(*items), cmp_as_git) : NULL;
}

static void add_mode(struct ews_buf *text, uint32_t mode)
{
	char digits[MODE_DIGITS_MAX];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + mode % 8);
	while (mode /= 8);
	ews_buf_add(text, digits + at, sizeof(digits) - at);
}

int ews_tree_write_flat(struct ews_oid *out, struct ews_batch *batch, struct ews_tree_item *items, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t in_order = 1;

	while (in_order < n && ews_tree_item_cmp(&items[in_order - 1], &items[in_order]) < 0)
		in_order++;
	if (in_order < n)
		qsort(items, n, sizeof(*items), cmp_as_git);
	for (size_t i = 0; i < n; i++) {
		add_mode(&text, items[i].mode);
		ews_buf_addc(&text, ' ');
		ews_buf_addz(&text, items[i].name);
		ews_buf_add(&text, items[i].oid.id, items[i].oid.len);
	}
	return ews_batch_add(out, batch, EWS_OBJECT_TREE, text.ptr, text.len);
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
	size_t used = 0;
	enum ews_object_type type;
	const char *at, *end;
	int rc;

	rc = ews_odb_read(&text, &type, odb, oid);
	if (rc < 0)
		return rc;
	if (type != EWS_OBJECT_TREE)
		return ews_error(EWS_EDAMAGED, "object %s is a %s, not a tree", ews_oid_hex(hex, oid),
				 ews_object_type_name(type));
	/* Each name ends in a NUL of the tree's own. */
	at = ews_arena_dup(arena, text.ptr, text.len);
	end = at + text.len;
	items = ews_calloc(text.len / (ITEM_BYTES_MIN + oid_len) + 1, sizeof(*items));
	while (at < end) {
		rc = read_item(&items[used], &at, end, oid_len);
		if (rc < 0)
			return ews_error_wrap("tree %s is damaged", ews_oid_hex(hex, oid));
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
	case EWS_MODE_LINK:
		entry->type = EWS_ENTRY_LINK;
		entry->mode = 0777;
		return 0;
	case EWS_MODE_DIR:
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

/* A directory whose tree is listed on its own. */
struct part {
	const char *path; /* with its slash; the arena's */
	struct ews_oid oid;
	size_t at; /* how many entries come before what it has */
	struct ews_entries entries;
};

/* How trees become a list, a part of it on each thread. */
struct listing {
	struct ews_odb *odb;
	bool with_ids;
	struct part *parts;
	size_t n, cap;
	struct ews_arena paths;
	struct ews_arena *arenas; /* of the parts' entries, one for each thread */
	unsigned threads;
};

static void release_listing(struct listing *listing)
{
	for (unsigned i = 0; i < listing->threads; i++)
		ews_arena_release(&listing->arenas[i]);
	free(listing->arenas);
	for (size_t i = 0; i < listing->n; i++)
		ews_entries_release(&listing->parts[i].entries);
	free(listing->parts);
	ews_arena_release(&listing->paths);
}

EWS_CLEANUP_DEFINE(listing, struct listing, release_listing)

static void add_part(struct listing *listing, const struct ews_oid *oid, const struct ews_buf *path, size_t at)
{
	EWS_GROW(listing->parts, listing->n, listing->cap);
	listing->parts[listing->n++] = (struct part){ .path = ews_arena_dup(&listing->paths, path->ptr, path->len),
						      .oid = *oid,
						      .at = at,
						      .entries = EWS_ENTRIES_INIT };
}

/*
 * List tree `oid`, whose own path, with its slash, is in `path`; the directories `depth` levels below it become parts of
 * `listing`.
 */
static int list_level(struct ews_entries *out, struct listing *listing, const struct ews_oid *oid,
		      struct ews_buf *path, unsigned depth)
{
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	char hex[EWS_OID_HEX_MAX];
	struct ews_arena names = EWS_ARENA_INIT;
	size_t path_len = path->len;
	size_t n = 0;
	int rc;

	rc = ews_tree_read_flat(&items, &n, listing->odb, oid, &names);
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
			if (listing->with_ids)
				entry->oid = item->oid;
			if (depth == 1)
				add_part(listing, &item->oid, path, out->n);
			else
				rc = list_level(out, listing, &item->oid, path, depth - 1);
		} else {
			entry->oid = item->oid;
		}
	}
	ews_arena_release(&names);
	return rc;
}

static int list_part(size_t i, unsigned worker, void *payload)
{
	struct listing *listing = payload;
	struct part *part = &listing->parts[i];
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	int rc;

	ews_buf_adds(&path, part->path);
	part->entries.arena = listing->arenas[worker];
	rc = list_level(&part->entries, listing, &part->oid, &path, ALL_LEVELS);
	listing->arenas[worker] = part->entries.arena;
	part->entries.arena = (struct ews_arena)EWS_ARENA_INIT;
	ews_entries_trim(&part->entries);
	return rc;
}

/* Put the parts where they belong in what is above them. */
static void join_parts(struct ews_entries *out, struct ews_entries *above, struct listing *listing)
{
	size_t n = out->n + above->n, taken = 0;

	for (unsigned i = 0; i < listing->threads; i++)
		ews_arena_join(&out->arena, &listing->arenas[i]);
	for (size_t i = 0; i < listing->n; i++)
		n += listing->parts[i].entries.n;
	EWS_GROW_TO(out->items, n, out->cap);
	for (size_t i = 0; i < listing->n; i++) {
		ews_entries_move(out, above, taken, listing->parts[i].at);
		taken = listing->parts[i].at;
		ews_entries_move(out, &listing->parts[i].entries, 0, listing->parts[i].entries.n);
	}
	ews_entries_move(out, above, taken, above->n);
}

static int list(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid, bool with_ids)
{
	EWS_CLEANUP(listing) struct listing listing = { .odb = odb, .with_ids = with_ids, .paths = EWS_ARENA_INIT };
	EWS_CLEANUP(entries) struct ews_entries above = EWS_ENTRIES_INIT;
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	int rc = list_level(&above, &listing, oid, &path, LEVELS_ABOVE);

	if (rc < 0)
		return rc;
	listing.threads = ews_pool_threads();
	listing.arenas = ews_calloc(listing.threads, sizeof(*listing.arenas));
	rc = ews_pool_for(listing.n, 1, listing.threads, list_part, &listing);
	if (rc == 0)
		join_parts(out, &above, &listing);
	return rc;
}

int ews_tree_list(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid)
{
	return list(out, odb, oid, false);
}

int ews_tree_list_with_ids(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid)
{
	return list(out, odb, oid, true);
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
		const struct ews_tree_item wanted = { is_dir ? EWS_MODE_DIR : MODE_FILE,
						      ews_arena_dup(&names, name, len), EWS_OID_NONE };

		step = is_dir ? count_below(paths + i, n - i, prefix_len + len) : 1;
		/* The order of the paths' bytes is that of git's trees. */
		while (at < n_items && ews_tree_item_cmp(&items[at], &wanted) < 0)
			at++;
		if (at == n_items || ews_tree_item_cmp(&items[at], &wanted) != 0)
			continue;
		if (is_dir && !name[len + 1])
			out[i] = items[at].oid;
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
