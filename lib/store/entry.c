/*
 * Entries: see entry.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/entry.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

#define PATH_IN_TREE_MAX 4096
#define NEAR 4 /* a file comes next, or after the directories that it is in */
#define FOLDED_MAX 16

struct ews_entry *ews_entries_add(struct ews_entries *list, const char *path, size_t len)
{
	struct ews_entry *entry;

	EWS_GROW(list->items, list->n, list->cap);
	entry = &list->items[list->n++];
	*entry = (struct ews_entry){ .path = ews_arena_dup(&list->arena, path, len) };
	return entry;
}

void ews_entries_move(struct ews_entries *list, struct ews_entries *from, size_t start, size_t end)
{
	size_t n = end - start;

	ews_arena_join(&list->arena, &from->arena);
	if (!n)
		return;
	EWS_GROW_TO(list->items, list->n + n, list->cap);
	memcpy(list->items + list->n, from->items + start, n * sizeof(*list->items));
	list->n += n;
}

void ews_entries_trim(struct ews_entries *list)
{
	if (list->cap == list->n)
		return;
	list->items = ews_realloc(list->items, list->n * sizeof(*list->items));
	list->cap = list->n;
}

struct ews_entry *ews_entries_add_copy(struct ews_entries *list, const struct ews_entry *entry)
{
	struct ews_entry *copy = ews_entries_add(list, entry->path, strlen(entry->path));
	const char *path = copy->path;

	*copy = *entry;
	copy->path = path;
	if (entry->xattrs)
		copy->xattrs = ews_arena_dup(&list->arena, entry->xattrs, strlen(entry->xattrs));
	if (entry->first_name)
		copy->first_name = ews_arena_dup(&list->arena, entry->first_name, strlen(entry->first_name));
	return copy;
}

void ews_entries_add_all(struct ews_entries *list, const struct ews_entries *from)
{
	for (size_t i = 0; i < from->n; i++)
		ews_entries_add_copy(list, &from->items[i]);
}

static int cmp_entry(const void *a, const void *b)
{
	return ews_path_cmp(((const struct ews_entry *)a)->path, ((const struct ews_entry *)b)->path);
}

void ews_entries_sort(struct ews_entries *list)
{
	size_t i;

	/* Scans come out in order mostly; looking is cheaper than sorting. */
	for (i = 1; i < list->n; i++)
		if (cmp_entry(&list->items[i - 1], &list->items[i]) > 0)
			break;
	if (i < list->n)
		qsort(list->items, list->n, sizeof(*list->items), cmp_entry);
}

void ews_entries_unique(struct ews_entries *list)
{
	size_t kept = 0;

	ews_entries_sort(list);
	for (size_t i = 0; i < list->n; i++)
		if (!kept || cmp_entry(&list->items[kept - 1], &list->items[i]))
			list->items[kept++] = list->items[i];
	list->n = kept;
}

struct ews_entry *ews_entries_find(const struct ews_entries *list, const char *path)
{
	struct ews_entry key = { .path = path };

	if (!list->n)
		return NULL;
	return bsearch(&key, list->items, list->n, sizeof(*list->items), cmp_entry);
}

struct ews_entry *ews_entries_find_next(const struct ews_entries *list, const char *path, size_t *at)
{
	size_t end = *at + NEAR < list->n ? *at + NEAR : list->n;
	struct ews_entry *found;

	for (size_t i = *at; i < end; i++) {
		if (!strcmp(list->items[i].path, path)) {
			*at = i;
			return &list->items[i];
		}
	}
	found = ews_entries_find(list, path);
	if (found)
		*at = (size_t)(found - list->items);
	return found;
}

bool ews_entries_has_below(const struct ews_entries *list, const char *path)
{
	size_t at = ews_path_find_first(list->items, sizeof(*list->items), list->n, path);

	return at < list->n && ews_path_is_inside(list->items[at].path, path);
}

void ews_entries_count(const struct ews_entries *list, size_t *n_files, uint64_t *bytes)
{
	*n_files = 0;
	*bytes = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].type != EWS_ENTRY_FILE && list->items[i].type != EWS_ENTRY_LINK)
			continue;
		++*n_files;
		*bytes += list->items[i].size;
	}
}

void ews_entries_release(struct ews_entries *list)
{
	free(list->items);
	ews_arena_release(&list->arena);
	*list = (struct ews_entries)EWS_ENTRIES_INIT;
}

void ews_entry_set_stat(struct ews_entry *entry, const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		entry->type = EWS_ENTRY_FILE;
		break;
	case S_IFLNK:
		entry->type = EWS_ENTRY_LINK;
		break;
	case S_IFDIR:
		entry->type = EWS_ENTRY_DIR;
		break;
	case S_IFIFO:
		entry->type = EWS_ENTRY_FIFO;
		break;
	case S_IFSOCK:
		entry->type = EWS_ENTRY_SOCKET;
		break;
	default:
		entry->type = EWS_ENTRY_DEVICE;
	}
	/* The bits of a link can't be set and mean nothing. */
	entry->mode = entry->type == EWS_ENTRY_LINK ? 0777 : st->st_mode & 07777;
	entry->size = entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK ? (uint64_t)st->st_size : 0;
	entry->mtime_s = st->st_mtim.tv_sec;
	entry->mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
	entry->ctime_s = st->st_ctim.tv_sec;
	entry->ctime_ns = (uint32_t)st->st_ctim.tv_nsec;
	entry->dev = st->st_dev;
	entry->ino = st->st_ino;
	entry->uid = st->st_uid;
	entry->gid = st->st_gid;
	entry->has_time = entry->has_stat = entry->has_owner = true;
	entry->n_links = entry->type == EWS_ENTRY_FILE ? (uint32_t)st->st_nlink : 1;
}

bool ews_entry_same_stat(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->type == b->type && a->size == b->size && a->mode == b->mode && a->dev == b->dev &&
	       a->ino == b->ino && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns &&
	       a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns;
}

bool ews_entry_stat_matches(const struct ews_entry *entry, const struct stat *st)
{
	struct ews_entry now = { 0 };

	if (!entry->has_stat)
		return false;
	ews_entry_set_stat(&now, st);
	return ews_entry_same_stat(entry, &now);
}

bool ews_entry_same_attrs(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->xattrs == b->xattrs || (a->xattrs && b->xattrs && !strcmp(a->xattrs, b->xattrs));
}

bool ews_entry_equal(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->type == b->type && a->mode == b->mode && ews_oid_equal(&a->oid, &b->oid) &&
	       ews_entry_same_attrs(a, b);
}

bool ews_entry_equal_with_time(const struct ews_entry *a, const struct ews_entry *b)
{
	bool has_time = !ews_entry_is_dir(a) && a->has_time && b->has_time;

	return ews_entry_equal(a, b) && (!has_time || (a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns));
}

bool ews_entry_same_owner(const struct ews_entry *a, const struct ews_entry *b)
{
	if (!a->has_owner || !b->has_owner || a->type == EWS_ENTRY_GITLINK || b->type == EWS_ENTRY_GITLINK)
		return true;
	return a->uid == b->uid && a->gid == b->gid;
}

bool ews_entry_equal_with_owner(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b) && ews_entry_same_owner(a, b);
}

bool ews_entry_equal_with_time_and_owner(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal_with_time(a, b) && ews_entry_same_owner(a, b);
}

bool ews_entry_equal_in_git(const struct ews_entry *a, const struct ews_entry *b)
{
	if (a->type != b->type)
		return false;
	/* A directory is what it holds; that is compared path by path. */
	if (a->type == EWS_ENTRY_DIR)
		return true;
	return ews_entry_git_mode(a) == ews_entry_git_mode(b) && ews_oid_equal(&a->oid, &b->oid);
}

/*
 * What a file system may take the name for that starts at `name`: HFS+ doesn't see
 * some code points, NTFS trailing blanks and dots and what follows a ':', neither
 * sees the case. Returns the length, of which at most `max` bytes are in `out`.
 */
static size_t fold_name(char *out, size_t max, const char *name, size_t len)
{
	static const char *const ignored_by_hfs[] = {
		"\xe2\x80\x8c", "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab",
		"\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xaa", "\xe2\x81\xab", "\xe2\x81\xac",
		"\xe2\x81\xad", "\xe2\x81\xae", "\xe2\x81\xaf", "\xef\xbb\xbf",
	};
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (name[i] == ':' || name[i] == '\\')
			len = i;
	while (len && (name[len - 1] == ' ' || name[len - 1] == '.'))
		len--;
	for (size_t i = 0; i < len && n <= max; i++) {
		bool is_ignored = false;

		for (size_t k = 0; k < sizeof(ignored_by_hfs) / sizeof(*ignored_by_hfs) && i + 2 < len; k++)
			is_ignored = is_ignored || !memcmp(name + i, ignored_by_hfs[k], 3);
		if (is_ignored)
			i += 2;
		else if (n++ < max)
			out[n - 1] = (char)tolower((unsigned char)name[i]);
	}
	return n;
}

static bool is_git_dir_name(const char *plain, size_t n)
{
	return (n == 4 && !memcmp(plain, ".git", 4)) || (n == 5 && !memcmp(plain, "git~1", 5));
}

/* ".gitmodules", which may be no link, and its short names on NTFS: "gitmod~1" to 4, "gi7eba~1", "gi7eb~12", ... */
static bool is_gitmodules_name(const char *plain, size_t n)
{
	size_t k = 0;

	if (n == 11)
		return !memcmp(plain, ".gitmodules", 11);
	if (n != 8)
		return false;
	if (!memcmp(plain, "gitmod~", 7))
		return plain[7] >= '1' && plain[7] <= '4';
	while (k < 6 && plain[k] == "gi7eba"[k])
		k++;
	if (plain[k] != '~' || plain[k + 1] == '0')
		return false;
	while (++k < n)
		if (plain[k] < '0' || plain[k] > '9')
			return false;
	return true;
}

/*
 * The names that git, its fsck and libgit2 refuse in a tree, because some file system reads them as
 * ".git"; to Windows a backslash begins a new name.
 */
static bool is_refused(const char *name, size_t len, bool is_link)
{
	const char *end = name + len;
	const char *part = name;

	while (part) {
		char plain[FOLDED_MAX];
		size_t n = fold_name(plain, sizeof(plain), part, (size_t)(end - part));
		const char *backslash = memchr(part, '\\', (size_t)(end - part));

		if (is_git_dir_name(plain, n) || (is_link && is_gitmodules_name(plain, n)))
			return true;
		part = backslash ? backslash + 1 : NULL;
	}
	return false;
}

/*
 * Can no component be one of the refused names? They all begin with ".g" or "gi", once it is not hidden behind what
 * file systems don't see, none of which is ASCII. Nearly all paths are settled by that.
 */
static bool is_beyond_doubt(const char *path, size_t len)
{
	bool is_first = true;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)path[i];

		if (c == '\\' || c == 0xe2 || c == 0xef)
			return false;
		if (is_first && ((c == '.' && (path[i + 1] | 0x20) == 'g') ||
				 ((c | 0x20) == 'g' && (path[i + 1] | 0x20) == 'i')))
			return false;
		is_first = c == '/';
	}
	return true;
}

static bool has_refused_name(const char *path, bool is_link)
{
	if (is_beyond_doubt(path, strlen(path)))
		return false;
	while (*path) {
		size_t len = strcspn(path, "/");

		if (is_refused(path, len, is_link))
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

bool ews_entry_path_fits_tree(const char *path, bool is_link)
{
	return strlen(path) <= PATH_IN_TREE_MAX && !has_refused_name(path, is_link);
}

bool ews_entry_path_names_git(const char *path)
{
	return has_refused_name(path, false);
}

bool ews_entry_fits_tree(const struct ews_entry *entry)
{
	if (entry->type != EWS_ENTRY_FILE && entry->type != EWS_ENTRY_LINK && entry->type != EWS_ENTRY_GITLINK &&
	    entry->type != EWS_ENTRY_TREE)
		return false;
	return entry->oid.len != 0 && ews_entry_path_fits_tree(entry->path, entry->type == EWS_ENTRY_LINK);
}

uint32_t ews_entry_git_mode(const struct ews_entry *entry)
{
	switch (entry->type) {
	case EWS_ENTRY_LINK:
		return EWS_MODE_LINK;
	case EWS_ENTRY_DIR:
	case EWS_ENTRY_TREE:
		return EWS_MODE_DIR;
	case EWS_ENTRY_GITLINK:
		return EWS_MODE_GITLINK;
	default:
		return entry->mode & 0100 ? EWS_MODE_PROGRAM : EWS_MODE_FILE;
	}
}

const char *ews_entry_type_name(enum ews_entry_type type)
{
	static const char *const names[] = { "none", "file",   "link",   "directory", "repository",
					     "fifo", "socket", "device", "tree" };

	return names[type];
}

static void add_change(struct ews_changes *out, const struct ews_entry *from, const struct ews_entry *to)
{
	const struct ews_entry *one = to ? to : from;

	assert(one);
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] = (struct ews_change){ one->path, from, to, NULL };
}

void ews_changes_between(struct ews_changes *out, const struct ews_entries *from, const struct ews_entries *to,
			 ews_entry_equal_fn equal)
{
	size_t i = 0, k = 0;

	while (i < from->n || k < to->n) {
		int order;

		if (i == from->n)
			order = 1;
		else if (k == to->n)
			order = -1;
		else
			order = ews_path_cmp_alike(from->items[i].path, to->items[k].path);
		if (order < 0) {
			add_change(out, &from->items[i++], NULL);
		} else if (order > 0) {
			add_change(out, NULL, &to->items[k++]);
		} else {
			if (!equal(&from->items[i], &to->items[k]))
				add_change(out, &from->items[i], &to->items[k]);
			i++;
			k++;
		}
	}
}

static int cmp_change(const void *a, const void *b)
{
	return ews_path_cmp(((const struct ews_change *)a)->path, ((const struct ews_change *)b)->path);
}

struct ews_change *ews_changes_find(const struct ews_changes *changes, const char *path)
{
	const struct ews_change key = { .path = path };

	if (!changes->n)
		return NULL;
	return bsearch(&key, changes->items, changes->n, sizeof(*changes->items), cmp_change);
}

void ews_changes_sort(struct ews_changes *changes)
{
	if (changes->n)
		qsort(changes->items, changes->n, sizeof(*changes->items), cmp_change);
}

void ews_changes_release(struct ews_changes *changes)
{
	free(changes->items);
	*changes = (struct ews_changes)EWS_CHANGES_INIT;
}
