/*
 * Git's index: see index.h.
 *
 * On disk, all numbers in network order:
 *
 *     "DIRC"  version  count
 *     entry*       ctime mtime dev ino mode uid gid size, id, flags [, more flags]
 *                  then the path and 1 to 8 NULs (2, 3), or how much to cut off
 *                  the path before, what to add to it, and a NUL (4)
 *     extension*   name, length, bytes; a capital letter in front: optional
 *     hash of all the above, or zeros
 *
 * A split index has the extension "link": the id of a shared file that holds
 * most entries, and two bitmaps over those entries. Deleted ones go; replaced
 * ones take all but the path from this file's first entries, which have
 * none; the entries after those are new.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/index_format.h"
#include "store/tree.h"

#define INDEX_MAX EWS_GIB

/* Bytes that are still to be read. */
struct input {
	const uint8_t *at;
	const uint8_t *end;
	size_t path_bytes_left;
};

/* The extension "link", pointing into the bytes that were read. */
struct link {
	struct ews_oid shared; /* none: not split */
	struct input bitmaps;
};

#define LINK_INIT                     \
	{                             \
		EWS_OID_NONE,         \
		{                     \
			NULL, NULL, 0 \
		}                     \
	}

enum mark {
	MARK_DELETED = 1,
	MARK_REPLACED = 2,
};

static int damaged(const char *what)
{
	return ews_error(EWS_EDAMAGED, "damaged index: %s", what);
}

static size_t left(const struct input *in)
{
	return (size_t)(in->end - in->at);
}

static uint64_t get64(const uint8_t *at)
{
	return (uint64_t)ews_index_get32(at) << 32 | ews_index_get32(at + 4);
}

static uint8_t *put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	return put16(put16(at, (uint16_t)(value >> 16)), (uint16_t)value);
}

/* The path of versions 2 and 3; `start` is where its entry begins. */
static int read_whole_path(const char **out, struct ews_index *index, struct input *in, const uint8_t *start,
			   uint16_t flags)
{
	const char *path = (const char *)in->at;
	size_t len = strnlen(path, left(in));
	size_t entry_bytes = ews_index_padded((size_t)(in->at - start) + len);

	if (entry_bytes > (size_t)(in->end - start))
		return damaged("it ends too early");
	if (!ews_index_is_named_len(len, flags))
		return damaged("bad path");
	*out = index->borrows ? path : ews_arena_dup(&index->arena, path, len);
	in->at = start + entry_bytes;
	return 0;
}

/* The path of version 4: that of the entry before, cut, and something new behind it. */
static int read_cut_path(const char **out, struct ews_arena *arena, struct input *in, struct ews_buf *before,
			 uint16_t flags)
{
	size_t cut;
	size_t added;

	if (!ews_index_get_varint(&cut, &in->at, in->end))
		return damaged("bad path");
	added = strnlen((const char *)in->at, left(in));
	if (cut > before->len || added == left(in))
		return damaged("bad path");
	ews_buf_truncate(before, before->len - cut);
	ews_buf_add(before, in->at, added);
	if (!ews_index_is_named_len(before->len, flags))
		return damaged("bad path");
	if (before->len > in->path_bytes_left)
		return damaged("its paths are too long");
	in->path_bytes_left -= before->len;
	*out = ews_arena_dup(arena, before->ptr, before->len);
	in->at += added + 1;
	return 0;
}

static int read_entry(struct ews_index_entry *ie, struct ews_index *index, struct input *in, struct ews_buf *before,
		      size_t hash_len)
{
	const uint8_t *start = in->at;
	uint16_t flags;

	if (left(in) < EWS_INDEX_STAT_BYTES + hash_len + 2)
		return damaged("it ends too early");
	*ie = (struct ews_index_entry){
		.ctime_s = ews_index_get32(start),
		.ctime_ns = ews_index_get32(start + 4),
		.mtime_s = ews_index_get32(start + 8),
		.mtime_ns = ews_index_get32(start + 12),
		.dev = ews_index_get32(start + 16),
		.ino = ews_index_get32(start + 20),
		.mode = ews_index_get32(start + 24),
		.uid = ews_index_get32(start + 28),
		.gid = ews_index_get32(start + 32),
		.size = ews_index_get32(start + 36),
	};
	ie->oid.len = (uint8_t)hash_len;
	memcpy(ie->oid.id, start + EWS_INDEX_STAT_BYTES, hash_len);
	flags = ews_index_get16(start + EWS_INDEX_STAT_BYTES + hash_len);
	ie->stage = flags >> EWS_INDEX_STAGE_SHIFT & 3;
	ie->is_assumed_unchanged = flags & EWS_INDEX_ASSUMED_UNCHANGED;
	in->at += EWS_INDEX_STAT_BYTES + hash_len + 2;
	if (flags & EWS_INDEX_EXTENDED) {
		uint16_t more;

		if (index->version < 3)
			return damaged("version 2 with flags of version 3");
		if (left(in) < 2)
			return damaged("it ends too early");
		more = ews_index_get16(in->at);
		if (more & ~(EWS_INDEX_MORE_SKIP_WORKTREE | EWS_INDEX_MORE_INTENT_TO_ADD))
			return damaged("unknown flags");
		ie->is_skip_worktree = more & EWS_INDEX_MORE_SKIP_WORKTREE;
		ie->is_intent_to_add = more & EWS_INDEX_MORE_INTENT_TO_ADD;
		in->at += 2;
	}
	if (index->version == 4)
		return read_cut_path(&ie->path, &index->arena, in, before, flags);
	return read_whole_path(&ie->path, index, in, start, flags);
}

static int read_extension(struct ews_index *index, struct link *link, struct input *in, size_t hash_len)
{
	const uint8_t *name = in->at;
	const uint8_t *data;
	size_t size;

	if (left(in) < 8 || left(in) - 8 < ews_index_get32(name + 4))
		return damaged("bad extension");
	data = name + 8;
	size = ews_index_get32(name + 4);
	in->at = data + size;
	if (!memcmp(name, "link", 4)) {
		if (size < hash_len)
			return damaged("bad extension");
		link->shared.len = (uint8_t)hash_len;
		memcpy(link->shared.id, data, hash_len);
		link->bitmaps = (struct input){ data + hash_len, data + size, 0 };
	} else if (!memcmp(name, "TREE", 4)) {
		ews_buf_truncate(&index->trees, 0);
		ews_buf_add(&index->trees, data, size);
	} else if (!memcmp(name, "REUC", 4)) {
		ews_buf_truncate(&index->resolve_undo, 0);
		ews_buf_add(&index->resolve_undo, data, size);
	} else if (!ews_index_is_harmless(name)) {
		EWS_CLEANUP(buf) struct ews_buf shown = EWS_BUF_INIT;

		ews_path_escape(&shown, (const char *)name, 4);
		return ews_error(EWS_EUNSUPPORTED, "the index needs the extension '%s', which is not known",
				 shown.ptr);
	}
	return 0;
}

/* One file's content as it is; what it says as a whole is for check_entries(). */
static int read_bytes(struct ews_index *index, struct link *link, const uint8_t *data, size_t len,
		      enum ews_hash_algo algo)
{
	EWS_CLEANUP(buf) struct ews_buf before = EWS_BUF_INIT;
	size_t hash_len = ews_hash_len(algo);
	struct input in;
	size_t n;
	int rc;

	if (len < EWS_INDEX_HEADER_BYTES + hash_len || memcmp(data, "DIRC", 4))
		return damaged("it has no header");
	index->version = ews_index_get32(data + 4);
	if (index->version < 2 || index->version > 4)
		return ews_error(EWS_EUNSUPPORTED, "the index has version %u, known are 2 to 4", index->version);
	in = (struct input){ data + EWS_INDEX_HEADER_BYTES, data + len - hash_len, len * EWS_INDEX_PATH_GROWTH_MAX };
	/* With index.skipHash git writes zeros. */
	if (!ews_index_is_null(in.end, hash_len)) {
		uint8_t hash[EWS_HASH_MAX];

		ews_hash_once(algo, hash, data, len - hash_len);
		if (memcmp(hash, in.end, hash_len))
			return damaged("its checksum does not match");
	}
	n = ews_index_get32(data + 8);
	if (n > left(&in) / (EWS_INDEX_STAT_BYTES + hash_len + 2))
		return damaged("it ends too early");
	EWS_GROW_TO(index->items, n, index->cap);
	while (index->n < n) {
		rc = read_entry(&index->items[index->n], index, &in, &before, hash_len);
		if (rc < 0)
			return rc;
		index->n++;
	}
	while (in.at < in.end) {
		rc = read_extension(index, link, &in, hash_len);
		if (rc < 0)
			return rc;
	}
	if (link->shared.len && ews_index_is_null(link->shared.id, hash_len))
		*link = (struct link)LINK_INIT;
	return 0;
}

static int cmp_entry(const void *a, const void *b)
{
	const struct ews_index_entry *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->stage - y->stage;
}

static bool is_plain_entry(const struct ews_index_entry *ie)
{
	size_t len = strlen(ie->path);

	switch (ie->mode) {
	case EWS_MODE_FILE:
	case EWS_MODE_PROGRAM:
	case EWS_MODE_LINK:
	case EWS_MODE_GITLINK:
		return ews_path_is_plain(ie->path);
	case EWS_MODE_DIR: {
		EWS_CLEANUP(free) char *bare = NULL;

		if (!len || ie->path[len - 1] != '/')
			return false;
		bare = ews_strndup(ie->path, len - 1);
		return ews_path_is_plain(bare);
	}
	default:
		return false;
	}
}

/* What holds of every index: order, no entry twice, paths that stay inside. */
static int check_entries(struct ews_index *index)
{
	for (size_t i = 0; i < index->n; i++) {
		const struct ews_index_entry *ie = &index->items[i];

		if (!is_plain_entry(ie))
			return damaged("bad path or mode");
		if (ie->mode == EWS_MODE_DIR)
			index->is_sparse = true;
		if (i && cmp_entry(ie - 1, ie) >= 0)
			return damaged("its entries are not in order");
	}
	return 0;
}

/*
 * Set `mark` where the compressed bitmap at `in` has a one. It is a row of
 * 64-bit words: how long a run of equal words is, how many plain words follow
 * it, then those.
 */
static int read_bitmap(uint8_t *marks, size_t n, struct input *in, enum mark mark)
{
	const uint8_t *word;
	size_t words;
	uint64_t pos = 0;

	if (left(in) < 12)
		return damaged("bad bitmap");
	words = ews_index_get32(in->at + 4);
	word = in->at + 8;
	if (words > (left(in) - 12) / 8)
		return damaged("bad bitmap");
	in->at = word + 8 * words + 4;
	while (words) {
		uint64_t head = get64(word);
		uint64_t run = (head >> 1 & 0xffffffff) * 64;
		uint64_t plain = head >> 33;

		word += 8;
		words--;
		if (plain > words || (head & 1 && run > n - pos))
			return damaged("bad bitmap");
		run = run < n - pos ? run : n - pos;
		if (head & 1)
			for (uint64_t i = 0; i < run; i++)
				marks[pos + i] |= mark;
		pos += run;
		for (; plain; plain--, words--, word += 8) {
			for (uint64_t bits = get64(word); bits; bits &= bits - 1) {
				uint64_t i = pos + (unsigned)__builtin_ctzll(bits);

				if (i >= n)
					return damaged("bad bitmap");
				marks[i] |= mark;
			}
			pos += n - pos < 64 ? n - pos : 64;
		}
	}
	return 0;
}

/* Is `own` what a merge of the shared file and this one has in place of `base`? */
static bool is_superseded(const struct ews_index_entry *base, const struct ews_index_entry *own)
{
	return !strcmp(base->path, own->path) && (!own->stage || own->stage == base->stage);
}

/* Make `index` the whole of its own entries and those of the shared file, `base`, which is used up. */
static int join_split(struct ews_index *index, struct ews_index *base, struct input *bitmaps)
{
	EWS_CLEANUP(free) uint8_t *marks = ews_calloc(base->n + 1, 1);
	struct ews_index_entry *own = index->items;
	struct ews_index_entry *all = NULL;
	size_t n = 0, cap = 0, next = 0;
	int rc;

	if (left(bitmaps)) {
		rc = read_bitmap(marks, base->n, bitmaps, MARK_DELETED);
		if (rc < 0)
			return rc;
		rc = read_bitmap(marks, base->n, bitmaps, MARK_REPLACED);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < base->n; i++) {
		const char *path = base->items[i].path;

		if (!(marks[i] & MARK_REPLACED))
			continue;
		if (marks[i] & MARK_DELETED || next == index->n || *own[next].path)
			return damaged("it does not fit its shared file");
		base->items[i] = own[next++];
		base->items[i].path = path;
	}

	EWS_GROW_TO(all, base->n + index->n - next, cap);
	for (size_t i = 0; i < base->n; i++) {
		const struct ews_index_entry *old = &base->items[i];

		if (marks[i] & MARK_DELETED)
			continue;
		while (next < index->n && cmp_entry(&own[next], old) < 0)
			all[n++] = own[next++];
		if (next < index->n && is_superseded(old, &own[next]))
			continue;
		if (next && is_superseded(old, &own[next - 1]))
			continue;
		all[n++] = *old;
	}
	while (next < index->n)
		all[n++] = own[next++];
	free(index->items);
	index->items = all;
	index->n = n;
	index->cap = cap;
	ews_arena_join(&index->arena, &base->arena);
	return 0;
}

static int read_file(struct ews_buf *out, struct stat *st, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return ews_error_os("cannot open '%s'", name);
	if (fstat(fd, st) < 0)
		return ews_error_os("cannot look at '%s'", name);
	if (!S_ISREG(st->st_mode))
		return damaged("it is no file");
	if ((uint64_t)st->st_size > INDEX_MAX)
		return damaged("it is too large");
	ews_buf_reserve(out, (size_t)st->st_size + 1);
	return ews_file_read_fd(out, fd, INDEX_MAX);
}

/* "sharedindex.<id>" */
struct shared_name {
	char text[sizeof("sharedindex.") + EWS_OID_HEX_MAX];
};

static struct shared_name name_shared(const struct link *link)
{
	struct shared_name name = { "sharedindex." };

	ews_oid_hex(name.text + strlen(name.text), &link->shared);
	return name;
}

static int shared_is_missing(const char *name)
{
	return ews_error(EWS_EDAMAGED, "damaged index: its shared file '%s' is missing", name);
}

/* Join with the content `data` of the shared file `name`. */
static int join_shared(struct ews_index *index, struct link *link, const struct ews_buf *data, const char *name,
		       enum ews_hash_algo algo)
{
	EWS_CLEANUP(index) struct ews_index base = EWS_INDEX_INIT;
	struct link none = LINK_INIT;
	int rc = read_bytes(&base, &none, (const uint8_t *)data->ptr, data->len, algo);

	if (rc < 0)
		return ews_error_wrap("'%s'", name);
	if (none.shared.len || memcmp(data->ptr + data->len - link->shared.len, link->shared.id, link->shared.len))
		return ews_error(EWS_EDAMAGED, "damaged index: its shared file '%s' is another", name);
	return join_split(index, &base, &link->bitmaps);
}

static int read_shared(struct ews_index *index, struct link *link, int dir_fd, enum ews_hash_algo algo)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	struct shared_name name = name_shared(link);
	struct stat st;
	int rc = read_file(&data, &st, dir_fd, name.text);

	if (rc == EWS_ENOTFOUND)
		return shared_is_missing(name.text);
	return rc < 0 ? rc : join_shared(index, link, &data, name.text, algo);
}

int ews_index_read(struct ews_index *out, int dir_fd, const char *name, enum ews_hash_algo algo)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	struct link link = LINK_INIT;
	struct stat st;
	int rc;

	rc = read_file(&data, &st, dir_fd, name);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		*out = (struct ews_index)EWS_INDEX_INIT;
		return 0;
	}
	if (rc < 0)
		return rc;
	rc = read_bytes(&index, &link, (const uint8_t *)data.ptr, data.len, algo);
	if (rc >= 0 && link.shared.len) {
		index.was_split = true;
		rc = read_shared(&index, &link, dir_fd, algo);
	}
	if (rc >= 0)
		rc = check_entries(&index);
	if (rc < 0)
		return ews_error_wrap("cannot read '%s'", name);
	index.mtime_s = st.st_mtim.tv_sec;
	index.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
	*out = index;
	index = (struct ews_index)EWS_INDEX_INIT;
	return 0;
}

/* Join with the shared file that `state` has, NULL: none is known of any. */
static int find_shared(struct ews_index *index, struct link *link, const struct ews_gitstate *state,
		       enum ews_hash_algo algo)
{
	struct shared_name name = name_shared(link);
	const struct ews_gitstate_file *file = state ? ews_gitstate_file(state, name.text) : NULL;

	if (!state)
		return ews_error(EWS_EUNSUPPORTED, "a split index can't be read without its shared file");
	if (!file)
		return shared_is_missing(name.text);
	index->was_split = true;
	return join_shared(index, link, &file->data, name.text, algo);
}

static int parse(struct ews_index *out, const void *data, size_t len, const struct ews_gitstate *state,
		 enum ews_hash_algo algo, bool borrows)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	struct link link = LINK_INIT;
	int rc;

	index.borrows = borrows;
	rc = read_bytes(&index, &link, data, len, algo);

	if (rc >= 0 && link.shared.len)
		rc = find_shared(&index, &link, state, algo);
	if (rc >= 0)
		rc = check_entries(&index);
	if (rc < 0)
		return rc;
	*out = index;
	index = (struct ews_index)EWS_INDEX_INIT;
	return 0;
}

int ews_index_parse(struct ews_index *out, const void *data, size_t len, enum ews_hash_algo algo)
{
	return parse(out, data, len, NULL, algo, false);
}

int ews_index_parse_state(struct ews_index *out, const struct ews_gitstate *state, enum ews_hash_algo algo)
{
	return parse(out, state->index.ptr, state->index.len, state, algo, false);
}

int ews_index_borrow_state(struct ews_index *out, const struct ews_gitstate *state, enum ews_hash_algo algo)
{
	return parse(out, state->index.ptr, state->index.len, state, algo, true);
}

static bool is_same_entry(const struct ews_index_entry *a, const struct ews_index_entry *b)
{
	return a->stage == b->stage && a->mode == b->mode && ews_oid_equal(&a->oid, &b->oid) &&
	       a->is_assumed_unchanged == b->is_assumed_unchanged && a->is_intent_to_add == b->is_intent_to_add &&
	       a->is_skip_worktree == b->is_skip_worktree && !strcmp(a->path, b->path);
}

/* The first entry from `i` on that is at none of `paths`. */
static size_t beside(const struct ews_index *index, size_t i, const struct ews_strv *paths)
{
	while (i < index->n && ews_strv_sorted_has(paths, index->items[i].path))
		i++;
	return i;
}

bool ews_index_is_alike_beside(const struct ews_index *a, const struct ews_index *b, const struct ews_strv *paths)
{
	size_t i = beside(a, 0, paths), k = beside(b, 0, paths);

	while (i < a->n && k < b->n && is_same_entry(&a->items[i], &b->items[k])) {
		i = beside(a, i + 1, paths);
		k = beside(b, k + 1, paths);
	}
	return i == a->n && k == b->n;
}

bool ews_index_is_alike(const struct ews_gitstate *a, const struct ews_gitstate *b, enum ews_hash_algo algo)
{
	EWS_CLEANUP(index) struct ews_index was = EWS_INDEX_INIT;
	EWS_CLEANUP(index) struct ews_index now = EWS_INDEX_INIT;
	bool is_same;

	if (!a->has_index || !b->has_index)
		return false;
	is_same = ews_index_borrow_state(&was, a, algo) == 0 && ews_index_borrow_state(&now, b, algo) == 0 &&
		  was.n == now.n;
	ews_error_clear();
	for (size_t i = 0; i < now.n && is_same; i++)
		is_same = is_same_entry(&was.items[i], &now.items[i]);
	return is_same;
}

/* The first entry that does not sort before the `len` bytes of `path` with `tail` behind them. */
static size_t lower_bound(const struct ews_index *index, const char *path, size_t len, const char *tail)
{
	size_t low = 0, high = index->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const char *at = index->items[mid].path;
		int order = strncmp(at, path, len);

		if (!order)
			order = strcmp(at + len, tail);
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct ews_index_entry *ews_index_find(const struct ews_index *index, const char *path)
{
	size_t i = lower_bound(index, path, strlen(path), "");

	return i < index->n && !strcmp(index->items[i].path, path) ? &index->items[i] : NULL;
}

const struct ews_index_entry *ews_index_find_below(const struct ews_index *index, const char *path)
{
	size_t len = strlen(path);
	size_t i = lower_bound(index, path, len, "/");
	bool is_below = i < index->n && !strncmp(index->items[i].path, path, len) && index->items[i].path[len] == '/';

	return is_below ? &index->items[i] : NULL;
}

bool ews_index_has_below(const struct ews_index *index, const char *path)
{
	return ews_index_find_below(index, path) || ews_index_find(index, path);
}

struct ews_index_entry *ews_index_add(struct ews_index *index, const char *path)
{
	struct ews_index_entry *ie;

	EWS_GROW(index->items, index->n, index->cap);
	ie = &index->items[index->n++];
	*ie = (struct ews_index_entry){ .path = ews_arena_dup(&index->arena, path, strlen(path)) };
	ews_buf_truncate(&index->trees, 0);
	return ie;
}

void ews_index_sort(struct ews_index *index)
{
	for (size_t i = 1; i < index->n; i++) {
		if (cmp_entry(&index->items[i - 1], &index->items[i]) > 0) {
			qsort(index->items, index->n, sizeof(*index->items), cmp_entry);
			return;
		}
	}
}

void ews_index_add_copy(struct ews_index *index, const struct ews_index_entry *from)
{
	struct ews_index_entry *ie = ews_index_add(index, from->path);
	const char *path = ie->path;

	*ie = *from;
	ie->path = path;
}

/* The files of a sparse directory, left out of the work tree as they were. */
static int expand_directory(struct ews_index *full, struct ews_odb *odb, const struct ews_index_entry *dir)
{
	EWS_CLEANUP(entries) struct ews_entries below = EWS_ENTRIES_INIT;
	int rc = ews_tree_list(&below, odb, &dir->oid);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < below.n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir->path, below.items[i].path);
		struct ews_index_entry *added;

		if (below.items[i].type == EWS_ENTRY_DIR)
			continue;
		added = ews_index_add(full, path);
		added->mode = ews_entry_git_mode(&below.items[i]);
		added->oid = below.items[i].oid;
		added->is_skip_worktree = true;
	}
	return 0;
}

int ews_index_expand(struct ews_index *index, struct ews_odb *odb)
{
	EWS_CLEANUP(index) struct ews_index full = EWS_INDEX_INIT;

	if (!index->is_sparse)
		return 0;
	full.version = index->version;
	full.mtime_s = index->mtime_s;
	full.mtime_ns = index->mtime_ns;
	for (size_t i = 0; i < index->n; i++) {
		const struct ews_index_entry *ie = &index->items[i];
		int rc = 0;

		if (ie->mode == EWS_MODE_DIR)
			rc = expand_directory(&full, odb, ie);
		else
			ews_index_add_copy(&full, ie);
		if (rc < 0)
			return rc;
	}
	ews_index_sort(&full);
	ews_buf_add(&full.resolve_undo, index->resolve_undo.ptr, index->resolve_undo.len);
	ews_index_release(index);
	*index = full;
	full = (struct ews_index)EWS_INDEX_INIT;
	return 0;
}

/* Git sets the size of a racy entry to 0, so only the empty blob may have it. */
static bool is_empty_blob(const struct ews_oid *oid)
{
	struct ews_oid empty;

	ews_oid_hash(&empty, ews_oid_algo(oid), EWS_OBJECT_BLOB, "", 0);
	return ews_oid_equal(oid, &empty);
}

/* Are the stat data the same, and is there no flag that hides changes? */
static bool has_stat_of(const struct ews_index_entry *ie, const struct ews_entry *entry)
{
	if (!entry->has_stat || ie->stage || ie->is_assumed_unchanged || ie->is_intent_to_add || ie->is_skip_worktree)
		return false;
	if (entry->type != EWS_ENTRY_FILE && entry->type != EWS_ENTRY_LINK)
		return false;
	if (ie->mode != ews_entry_git_mode(entry))
		return false;
	if (entry->size > UINT32_MAX || ie->size != entry->size || (!ie->size && !is_empty_blob(&ie->oid)))
		return false;
	if (ie->mtime_s != (uint32_t)entry->mtime_s || ie->ctime_s != (uint32_t)entry->ctime_s)
		return false;
	/* Some writers know no nanoseconds. */
	if ((ie->mtime_ns && ie->mtime_ns != entry->mtime_ns) || (ie->ctime_ns && ie->ctime_ns != entry->ctime_ns))
		return false;
	/* Device numbers change from boot to boot, so git ignores them. */
	return ie->ino == (uint32_t)entry->ino;
}

bool ews_index_is_racy(const struct ews_index *index, const struct ews_index_entry *ie)
{
	return (int64_t)ie->mtime_s >= index->mtime_s;
}

bool ews_index_stat_matches(const struct ews_index *index, const struct ews_index_entry *ie,
			    const struct ews_entry *entry)
{
	return !ews_index_is_racy(index, ie) && has_stat_of(ie, entry);
}

bool ews_index_stat_matches_filtered(const struct ews_index *index, const struct ews_index_entry *ie,
				     const struct ews_entry *entry)
{
	const struct timespec written = { index->mtime_s, index->mtime_ns };

	return !ews_clock_is_late(ie->mtime_s, ie->mtime_ns, &written, EWS_RACY_NS) && has_stat_of(ie, entry);
}

void ews_index_set_stat(struct ews_index_entry *ie, const struct ews_entry *entry, uint32_t uid, uint32_t gid)
{
	ie->ctime_s = (uint32_t)entry->ctime_s;
	ie->ctime_ns = entry->ctime_ns;
	ie->mtime_s = (uint32_t)entry->mtime_s;
	ie->mtime_ns = entry->mtime_ns;
	ie->dev = (uint32_t)entry->dev;
	ie->ino = (uint32_t)entry->ino;
	ie->uid = uid;
	ie->gid = gid;
	ie->size = (uint32_t)entry->size;
}

static void format_entry(struct ews_buf *out, const struct ews_index_entry *ie, size_t hash_len)
{
	const uint32_t stat_data[] = { ie->ctime_s, ie->ctime_ns, ie->mtime_s, ie->mtime_ns, ie->dev,
				       ie->ino,     ie->mode,     ie->uid,     ie->gid,      ie->size };
	uint16_t more = (uint16_t)((ie->is_skip_worktree ? EWS_INDEX_MORE_SKIP_WORKTREE : 0) |
				   (ie->is_intent_to_add ? EWS_INDEX_MORE_INTENT_TO_ADD : 0));
	size_t len = strlen(ie->path);
	size_t bytes = ews_index_padded(EWS_INDEX_STAT_BYTES + hash_len + (more ? 4 : 2) + len);
	uint8_t *at;

	ews_buf_reserve(out, bytes);
	at = (uint8_t *)out->ptr + out->len;
	memset(at, 0, bytes);
	for (size_t i = 0; i < sizeof(stat_data) / sizeof(*stat_data); i++)
		at = put32(at, stat_data[i]);
	memcpy(at, ie->oid.id, hash_len);
	at = put16(at + hash_len, (uint16_t)((ie->is_assumed_unchanged ? EWS_INDEX_ASSUMED_UNCHANGED : 0) |
					     (more ? EWS_INDEX_EXTENDED : 0) | ie->stage << EWS_INDEX_STAGE_SHIFT |
					     (len < EWS_INDEX_NAME ? len : EWS_INDEX_NAME)));
	if (more)
		at = put16(at, more);
	memcpy(at, ie->path, len);
	out->len += bytes;
	out->ptr[out->len] = '\0';
}

static void format_extension(struct ews_buf *out, const char *name, const void *data, size_t len)
{
	uint8_t size[4];

	put32(size, (uint32_t)len);
	ews_buf_add(out, name, 4);
	ews_buf_add(out, size, sizeof(size));
	ews_buf_add(out, data, len);
}

void ews_index_format(struct ews_buf *out, const struct ews_index *index, enum ews_hash_algo algo)
{
	size_t start = out->len;
	uint8_t header[EWS_INDEX_HEADER_BYTES] = "DIRC";
	uint8_t hash[EWS_HASH_MAX];
	uint32_t version = 2;
	bool is_sparse = false;

	for (size_t i = 0; i < index->n; i++) {
		if (index->items[i].is_intent_to_add || index->items[i].is_skip_worktree)
			version = 3;
		if (index->items[i].mode == EWS_MODE_DIR)
			is_sparse = true;
	}
	put32(put32(header + 4, version), (uint32_t)index->n);
	ews_buf_add(out, header, sizeof(header));
	for (size_t i = 0; i < index->n; i++)
		format_entry(out, &index->items[i], ews_hash_len(algo));
	if (index->trees.len)
		format_extension(out, "TREE", index->trees.ptr, index->trees.len);
	if (index->resolve_undo.len)
		format_extension(out, "REUC", index->resolve_undo.ptr, index->resolve_undo.len);
	if (is_sparse)
		format_extension(out, "sdir", "", 0);
	ews_hash_once(algo, hash, out->ptr + start, out->len - start);
	ews_buf_add(out, hash, ews_hash_len(algo));
}

void ews_index_release(struct ews_index *index)
{
	free(index->items);
	ews_arena_release(&index->arena);
	ews_buf_release(&index->resolve_undo);
	ews_buf_release(&index->trees);
	*index = (struct ews_index)EWS_INDEX_INIT;
}
