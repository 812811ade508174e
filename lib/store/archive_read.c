/*
 * Archive reading: see archive_read.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/archive_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/archive_write.h"
#include "store/home.h"
#include "store/libarchive.h"
#include "store/xattr.h"

#define BLOCK (128 * EWS_KIB)
#define PADDING_MAX (16 * EWS_MIB) /* that other programs may write after the end */
#define PAGE 4096 /* a smaller hole saves nothing */
#define MEMBERS_MAX 4000000
#define RECORD_MAX (16 * EWS_MIB)
#define MANIFEST_MAX (512 * EWS_MIB)
#define NAMES_MAX (512 * EWS_MIB) /* of all paths, links and attributes */
#define LINK_TEXT_MAX (64 * EWS_KIB)
#define ID_MAX 0xfffffffeu
#define PATH_MAX_LEN (64 * 1024) /* as of any path that we write */
#define PART_MAX 255 /* bytes of a name in a directory: no more on any file system of Linux */
#define TIME_MAX (INT64_C(1) << 40) /* no file system has more */

/* What is known of a member while all of them are read: its entry lives in the list, this beside it. */
struct member {
	char *path; /* the entry's */
	size_t at; /* how manieth it is */
	char *target; /* of another name of a file: that file's; else NULL */
};

struct reading {
	struct ews_archive_content *out;
	struct archive *archive;
	uint64_t max_bytes, bytes;
	uint64_t name_bytes;
	struct member *members; /* in the archive's order, one for each entry */
	size_t n, cap;
	struct ews_entries recorded; /* what the manifest says */
	bool has_manifest;
};

static void release_reading(struct reading *reading)
{
	if (reading->archive)
		(void)ews_libarchive.archive_read_free(reading->archive);
	free(reading->members);
	ews_entries_release(&reading->recorded);
}

EWS_CLEANUP_DEFINE(reading, struct reading, release_reading)

/* libarchive's words. What the system said decides whether the archive is damaged or can't be read. */
static int fail(struct archive *archive, const char *what)
{
	const char *why = ews_libarchive.archive_error_string(archive);
	int err = ews_libarchive.archive_errno(archive);
	bool is_io = err == EIO || err == EBADF || err == EACCES;

	ews_error(is_io ? EWS_EIO : EWS_EDAMAGED, "%s: %s", what, why ? why : "libarchive gives no reason");
	if (!is_io)
		ews_error_hint(
			"it is cut off or damaged, or something else than an archive: 'git ews archive verify' reads it whole");
	return is_io ? EWS_EIO : EWS_EDAMAGED;
}

static int open_archive(struct archive **out, int fd)
{
	struct archive *archive;
	int rc = ews_libarchive_need();

	if (rc < 0)
		return rc;
	archive = ews_libarchive.archive_read_new();
	/* One that would need a program is not read: no program is started for a file that comes from anywhere. */
	if (!archive || ews_libarchive.archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_bzip2(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_xz(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_zstd(archive) != ARCHIVE_OK) {
		(void)ews_libarchive.archive_read_free(archive);
		return ews_error(EWS_EUNSUPPORTED, "libarchive was built without gz, bz2, xz or zstd here");
	}
	if (lseek(fd, 0, SEEK_SET) < 0) {
		(void)ews_libarchive.archive_read_free(archive);
		return ews_error_os("cannot read the archive from its start");
	}
	if (ews_libarchive.archive_read_open_fd(archive, fd, BLOCK) != ARCHIVE_OK) {
		rc = fail(archive, "this is no tar archive");
		(void)ews_libarchive.archive_read_free(archive);
		return rc;
	}
	*out = archive;
	return 0;
}

/* The next header; 1, or 0 at the end. */
static int next_header(struct archive *archive, struct archive_entry **head)
{
	int rc = ews_libarchive.archive_read_next_header(archive, head);

	if (rc == ARCHIVE_EOF)
		return 0;
	if (rc < ARCHIVE_WARN)
		return fail(archive, "the archive can't be read to its end");
	return 1;
}

static int refuse(const char *path, const char *why)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, path);
	ews_error(EWS_EDENIED, "the archive is refused: '%s' %s", quoted.ptr, why);
	ews_error_hint("nothing was written");
	return EWS_EDENIED;
}

/* A member's name as a path of ours: "./a/b/" is "a/b", "." is "". The caller frees it. */
static char *plain_path(const char *name)
{
	const char *rest;
	size_t len;

	while ((rest = ews_str_after(name, "./")))
		name = rest + strspn(rest, "/");
	if (!strcmp(name, "."))
		name = "";
	len = strlen(name);
	while (len && name[len - 1] == '/')
		len--;
	return ews_strndup(name, len ? len : *name == '/');
}

bool ews_archive_is_own(const char *path)
{
	static const char *const own[] = { ".superqode", EWS_TRASH_ELSEWHERE };

	if (ews_path_is_inside(path, EWS_ARCHIVE_OWN))
		return true;
	while (*path) {
		size_t len = strcspn(path, "/");

		for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
			if (len == strlen(own[i]) && !strncasecmp(path, own[i], len))
				return true;
		path += len + (path[len] == '/');
	}
	return false;
}

static bool has_long_part(const char *path)
{
	size_t len = strcspn(path, "/");

	while (len <= PART_MAX && path[len]) {
		path += len + 1;
		len = strcspn(path, "/");
	}
	return len > PART_MAX;
}

/* It is not said: no sentence has room for it. */
static int refuse_long(size_t len)
{
	ews_error(EWS_EDENIED, "the archive is refused: it has a path of %zu bytes, and no path is that long", len);
	ews_error_hint("nothing was written");
	return EWS_EDENIED;
}

/* What may not stand in an archive under any name of ours or git's. */
static int check_path(const char *path)
{
	if (strlen(path) > PATH_MAX_LEN)
		return refuse_long(strlen(path));
	if (!*path || !ews_path_is_plain(path))
		return refuse(path, "leads outside");
	if (ews_entry_path_names_git(path))
		return refuse(path, "is in a git directory");
	if (ews_archive_is_own(path))
		return refuse(path, "is in a directory of ours");
	if (has_long_part(path))
		return refuse(path, "has a name that is too long for any file system");
	return 0;
}

static int take_bytes(struct reading *reading, uint64_t bytes)
{
	if (bytes <= reading->max_bytes && reading->bytes <= reading->max_bytes - bytes) {
		reading->bytes += bytes;
		return 0;
	}
	ews_error(EWS_EDENIED, "the archive is refused: it holds more than %" PRIu64 " bytes (ews.maxTotal)",
		  reading->max_bytes);
	ews_error_hint("nothing was written; 'git -c ews.maxTotal=<size> ews archive ...' lets it hold more");
	return EWS_EDENIED;
}

static int take_name_bytes(struct reading *reading, size_t bytes)
{
	reading->name_bytes += bytes;
	if (reading->name_bytes <= NAMES_MAX && reading->n <= MEMBERS_MAX)
		return 0;
	ews_error(EWS_EDENIED, "the archive is refused: it has more names than any tree needs");
	ews_error_hint("nothing was written");
	return EWS_EDENIED;
}

/* Read a text of ours whole. */
static int read_text(struct ews_buf *out, struct archive *archive, struct archive_entry *head, size_t max)
{
	la_int64_t size = ews_libarchive.archive_entry_size(head);

	if (ews_libarchive.archive_entry_filetype(head) != AE_IFREG ||
	    ews_libarchive.archive_entry_hardlink(head) || size < 0 || (uint64_t)size > max)
		return ews_error(EWS_EDAMAGED, "the archive's record is no text, or too long");
	ews_buf_reserve(out, (size_t)size + 1);
	while (out->len < (size_t)size) {
		la_ssize_t n =
			ews_libarchive.archive_read_data(archive, out->ptr + out->len, (size_t)size - out->len);

		if (n <= 0)
			return fail(archive, "the archive's record");
		out->len += (size_t)n;
	}
	out->ptr[out->len] = '\0';
	return 0;
}

/* A part of a file, at its place; what lies between is zeros. */
typedef int (*part_fn)(void *payload, uint64_t at, const void *data, size_t len);

static int each_part(struct archive *archive, uint64_t size, part_fn fn, void *payload)
{
	uint64_t end = 0;

	for (;;) {
		const void *data;
		size_t len;
		la_int64_t at;
		int rc = ews_libarchive.archive_read_data_block(archive, &data, &len, &at);

		if (rc == ARCHIVE_EOF)
			return 0;
		if (rc < ARCHIVE_WARN)
			return fail(archive, "the archive can't be read to its end");
		if (at < 0 || (uint64_t)at < end || (uint64_t)at > size || len > size - (uint64_t)at)
			return ews_error(EWS_EDAMAGED, "the archive has a file with parts beyond its end");
		end = (uint64_t)at + len;
		rc = len ? fn(payload, (uint64_t)at, data, len) : 0;
		if (rc < 0)
			return rc;
	}
}

/* Somebody who wants all bytes of a file, zeros included; and their hash. */
struct whole {
	struct ews_hash *hash;
	uint64_t at;
	ews_archive_data_fn fn; /* may be NULL */
	void *payload;
};

static int hand_on(struct whole *whole, const void *data, size_t len)
{
	ews_hash_add(whole->hash, data, len);
	whole->at += len;
	return whole->fn ? whole->fn(whole->payload, data, len) : 0;
}

static int fill_up(struct whole *whole, uint64_t until)
{
	static const char zeros[BLOCK];
	int rc = 0;

	while (whole->at < until && rc == 0)
		rc = hand_on(whole, zeros, until - whole->at < BLOCK ? (size_t)(until - whole->at) : BLOCK);
	return rc;
}

static int add_part(void *payload, uint64_t at, const void *data, size_t len)
{
	struct whole *whole = payload;
	int rc = fill_up(whole, at);

	return rc < 0 ? rc : hand_on(whole, data, len);
}

/* Read the content of the member at hand: `size` bytes, whose id becomes `out`. */
static int read_content(struct ews_oid *out, struct archive *archive, uint64_t size, ews_archive_data_fn fn,
			void *payload)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	struct whole whole = { hash, 0, fn, payload };
	int rc = each_part(archive, size, add_part, &whole);

	if (rc == 0)
		rc = fill_up(&whole, size);
	if (rc < 0)
		return rc;
	*out = (struct ews_oid)EWS_OID_NONE;
	out->len = (uint8_t)ews_hash_finish(hash, out->id);
	return 0;
}

struct attr {
	const char *name;
	const void *value;
	size_t len;
};

static int cmp_attr(const void *a, const void *b)
{
	return strcmp(((const struct attr *)a)->name, ((const struct attr *)b)->name);
}

static int read_attrs(struct reading *reading, struct ews_entry *entry, struct archive_entry *head)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int n = ews_libarchive.archive_entry_xattr_reset(head), found = 0;
	EWS_CLEANUP(free) struct attr *attrs = ews_calloc((size_t)n + 1, sizeof(*attrs));

	while (found < n && ews_libarchive.archive_entry_xattr_next(head, &attrs[found].name, &attrs[found].value,
								    &attrs[found].len) == ARCHIVE_OK)
		found++;
	qsort(attrs, (size_t)found, sizeof(*attrs), cmp_attr);
	for (int i = 0; i < found; i++)
		if (*attrs[i].name && (i == 0 || strcmp(attrs[i - 1].name, attrs[i].name) != 0))
			ews_xattr_add(&text, attrs[i].name, attrs[i].value, attrs[i].len);
	if (text.len)
		entry->xattrs = ews_arena_dup(&reading->out->entries.arena, text.ptr, text.len);
	return take_name_bytes(reading, text.len);
}

static uint32_t read_id(la_int64_t id, bool *is_known)
{
	*is_known = *is_known && id >= 0 && id <= ID_MAX;
	return *is_known ? (uint32_t)id : 0;
}

static int set_type(struct ews_entry *entry, struct archive_entry *head, const char *path)
{
	switch (ews_libarchive.archive_entry_filetype(head)) {
	case AE_IFREG:
		entry->type = EWS_ENTRY_FILE;
		return 0;
	case AE_IFLNK:
		entry->type = EWS_ENTRY_LINK;
		return 0;
	case AE_IFDIR:
		entry->type = EWS_ENTRY_DIR;
		return 0;
	case AE_IFIFO:
		entry->type = EWS_ENTRY_FIFO;
		return 0;
	case AE_IFSOCK:
		return refuse(path, "is a socket");
	default:
		return refuse(path, "is a device");
	}
}

static int read_link(struct reading *reading, struct ews_entry *entry, struct archive_entry *head)
{
	const char *text = ews_libarchive.archive_entry_symlink(head);
	size_t len = text ? strlen(text) : 0;

	if (!len || len > LINK_TEXT_MAX)
		return refuse(entry->path, "is a link to nothing");
	entry->mode = 0777;
	entry->size = len;
	entry->oid.len = (uint8_t)ews_hash_once(EWS_SHA256, entry->oid.id, text, len);
	return take_name_bytes(reading, len);
}

static int read_file(struct reading *reading, struct ews_entry *entry, struct archive_entry *head)
{
	la_int64_t size = ews_libarchive.archive_entry_size(head);
	int rc;

	if (size < 0)
		return refuse(entry->path, "has no size");
	rc = take_bytes(reading, (uint64_t)size);
	if (rc < 0)
		return rc;
	entry->size = (uint64_t)size;
	return read_content(&entry->oid, reading->archive, entry->size, NULL, NULL);
}

static struct member *add_member(struct reading *reading, const char *path)
{
	struct ews_entry *entry = ews_entries_add(&reading->out->entries, path, strlen(path));

	EWS_GROW(reading->members, reading->n, reading->cap);
	reading->members[reading->n] = (struct member){ (char *)entry->path, reading->n, NULL };
	return &reading->members[reading->n++];
}

static int read_member(struct reading *reading, struct archive_entry *head, const char *path)
{
	const char *hardlink = ews_libarchive.archive_entry_hardlink(head);
	struct member *member;
	struct ews_entry *entry;
	la_int64_t seconds = ews_libarchive.archive_entry_mtime(head);
	int rc = check_path(path);

	if (rc == 0)
		rc = take_name_bytes(reading, strlen(path));
	if (rc < 0)
		return rc;
	member = add_member(reading, path);
	entry = &reading->out->entries.items[reading->out->entries.n - 1];
	if (hardlink) {
		EWS_CLEANUP(free) char *target = plain_path(hardlink);

		rc = check_path(target);
		member->target = ews_arena_dup(&reading->out->entries.arena, target, strlen(target));
		return rc < 0 ? rc : take_name_bytes(reading, strlen(target));
	}
	rc = set_type(entry, head, path);
	if (rc < 0)
		return rc;
	entry->mode = (uint16_t)(ews_libarchive.archive_entry_perm(head) & 07777);
	entry->has_time = ews_libarchive.archive_entry_mtime_is_set(head) && seconds < TIME_MAX &&
			  seconds > -TIME_MAX;
	entry->mtime_s = entry->has_time ? seconds : 0;
	entry->mtime_ns = entry->has_time ? (uint32_t)ews_libarchive.archive_entry_mtime_nsec(head) : 0;
	entry->has_owner = true;
	entry->uid = read_id(ews_libarchive.archive_entry_uid(head), &entry->has_owner);
	entry->gid = read_id(ews_libarchive.archive_entry_gid(head), &entry->has_owner);
	rc = read_attrs(reading, entry, head);
	if (rc == 0 && entry->type == EWS_ENTRY_LINK)
		rc = read_link(reading, entry, head);
	if (rc == 0 && entry->type == EWS_ENTRY_FILE)
		rc = read_file(reading, entry, head);
	return rc;
}

/* What we keep beside the entries: they come first, and nobody else has such names. Returns 1 when it was one. */
static int read_own(struct reading *reading, struct archive_entry *head, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf manifest = EWS_BUF_INIT;
	int rc;

	if (!reading->n && !reading->out->record.len && !strcmp(path, EWS_ARCHIVE_RECORD)) {
		rc = read_text(&reading->out->record, reading->archive, head, RECORD_MAX);
		return rc < 0 ? rc : 1;
	}
	if (reading->n || !reading->out->record.len || reading->has_manifest || strcmp(path, EWS_ARCHIVE_MANIFEST))
		return 0;
	rc = read_text(&manifest, reading->archive, head, MANIFEST_MAX);
	if (rc == 0)
		rc = ews_manifest_parse(&reading->recorded, &reading->out->skips, manifest.ptr, manifest.len);
	reading->has_manifest = true;
	return rc < 0 ? ews_error_wrap("the archive's manifest") : 1;
}

/* Read members until the end, or `only_own` as long as they are ours. */
static int read_members(struct reading *reading, bool only_own)
{
	for (;;) {
		struct archive_entry *head;
		int rc = next_header(reading->archive, &head);
		const char *name = rc > 0 ? ews_libarchive.archive_entry_pathname(head) : NULL;
		EWS_CLEANUP(free) char *path = name ? plain_path(name) : NULL;

		if (rc <= 0)
			return rc;
		if (!name)
			return ews_error(EWS_EDAMAGED, "the archive has a member without a name");
		rc = read_own(reading, head, path);
		if (rc < 0)
			return rc;
		if (rc > 0 && !(only_own && reading->has_manifest))
			continue;
		if (only_own && (reading->has_manifest || reading->out->record.len))
			return 0;
		/* The directory itself, as others have it. */
		if (!*path && ews_libarchive.archive_entry_filetype(head) == AE_IFDIR)
			continue;
		rc = read_member(reading, head, path);
		if (rc < 0)
			return rc;
	}
}

static int cmp_member(const void *a, const void *b)
{
	return ews_path_cmp(((const struct member *)a)->path, ((const struct member *)b)->path);
}

static struct member *find_member(const struct reading *reading, const char *path)
{
	const struct member key = { .path = (char *)path };

	return reading->n ? bsearch(&key, reading->members, reading->n, sizeof(*reading->members), cmp_member) : NULL;
}

/* Another name of a file becomes an entry like that of the file; the names of one file know the first of them. */
static int join_names(struct reading *reading)
{
	struct ews_entries *list = &reading->out->entries;
	EWS_CLEANUP(free) size_t *order = ews_calloc(reading->n + 1, sizeof(*order));

	list->knows_names = true;
	for (size_t i = 0; i < reading->n; i++)
		order[reading->members[i].at] = i;
	/* In the archive's order: what a name is one of has found its file by then, and no chain is followed twice. */
	for (size_t k = 0; k < reading->n; k++) {
		const size_t i = order[k];
		struct member *member = &reading->members[i];
		struct member *file = member->target ? find_member(reading, member->target) : NULL;
		struct ews_entry *entry = &list->items[i];
		const char *path = entry->path;

		if (!member->target)
			continue;
		/* The file itself comes before, so no chain is long and none is a circle. */
		while (file && file->target && file->at < member->at) {
			struct member *next = find_member(reading, file->target);

			file = next && next->at < file->at ? next : NULL;
		}
		if (!file || file->at >= member->at)
			return refuse(path, "is another name of a file that is not in it");
		*entry = list->items[file - reading->members];
		if (entry->type == EWS_ENTRY_DIR)
			return refuse(path, "is another name of a directory");
		entry->path = path;
		member->target = file->path;
	}
	return 0;
}

/* Only files have names that are told; the first in the list's order is the one that the others know. */
static void name_firsts(struct reading *reading)
{
	struct ews_entries *list = &reading->out->entries;
	EWS_CLEANUP(free) const char **first = ews_calloc(reading->n + 1, sizeof(*first));

	for (size_t i = 0; i < reading->n; i++) {
		const char *target = reading->members[i].target;
		size_t unit = target ? (size_t)(find_member(reading, target) - reading->members) : i;

		if (list->items[i].type != EWS_ENTRY_FILE)
			continue;
		if (first[unit])
			list->items[i].first_name = first[unit];
		else
			first[unit] = list->items[i].path;
	}
}

/* No path twice, and none beneath what is no directory: in their order that follows at once. */
static int check_tree(const struct reading *reading)
{
	const struct ews_entries *list = &reading->out->entries;
	const struct ews_entry *leaf = NULL; /* the last one that is no directory */

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry *entry = &list->items[i];

		if (i && !strcmp(entry[-1].path, entry->path))
			return refuse(entry->path, "is in it twice");
		if (leaf && ews_path_is_inside(entry->path, leaf->path))
			return refuse(entry->path,
				      leaf->type == EWS_ENTRY_LINK ? "lies beyond a link" : "lies beneath a file");
		if (entry->type != EWS_ENTRY_DIR)
			leaf = entry;
	}
	return 0;
}

/* Directories that others left unsaid: the names of all of them take no more than those of members may. */
static int add_directories(struct reading *reading)
{
	struct ews_entries *list = &reading->out->entries;
	size_t n = list->n;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		EWS_CLEANUP(free) char *dir = ews_path_dir(list->items[i].path);

		while (*dir && rc == 0) {
			char *slash = strrchr(dir, '/');
			struct ews_entry *entry;

			/* Paths of one directory stand together: the one before has made it. */
			if (i && ews_path_is_inside(list->items[i - 1].path, dir))
				break;
			entry = ews_entries_add(list, dir, strlen(dir));
			entry->type = EWS_ENTRY_DIR;
			entry->mode = 0755;
			rc = take_name_bytes(reading, strlen(dir));
			*(slash ? slash : dir) = '\0';
		}
	}
	if (rc == 0 && list->n > n)
		ews_entries_unique(list);
	return rc;
}

static bool same_name(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool is_recorded(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal_with_time(a, b) && a->size == b->size && same_name(a->first_name, b->first_name) &&
	       ews_entry_same_owner(a, b);
}

/* Where the members are not what the manifest says of them. */
static void compare(struct reading *reading)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;

	ews_changes_between(&changes, &reading->recorded, &reading->out->entries, is_recorded);
	for (size_t i = 0; i < changes.n; i++) {
		const struct ews_change *change = &changes.items[i];

		ews_path_line_add(&reading->out->flaws, change->path,
				  !change->to     ? "is missing"
				  : !change->from ? "is not in the manifest"
						  : "differs");
	}
}

static void count(struct ews_archive_content *out)
{
	size_t n_files;

	ews_entries_count(&out->entries, &n_files, &out->size_bytes);
	out->n_files = n_files;
	ews_manifest_hash(out->checksum, &out->entries);
}

/* Where each entry's bytes are. */
static void find_sources(struct ews_archive_content *out, const struct reading *reading)
{
	out->member = ews_calloc(out->entries.n + 1, sizeof(*out->member));
	out->order = ews_calloc(out->entries.n + 1, sizeof(*out->order));
	for (size_t i = 0; i < out->entries.n; i++) {
		const struct ews_entry *entry = &out->entries.items[i];
		const struct member *member = find_member(reading, entry->path);

		/* Only the manifest was read: we write the entries in their order. */
		if (!out->is_read) {
			out->member[i] = entry->first_name ? entry->first_name : entry->path;
			out->order[i] = i;
			continue;
		}
		if (member && member->target)
			member = find_member(reading, member->target);
		out->member[i] = member ? member->path : NULL;
		out->order[i] = member ? member->at : 0;
	}
}

/* All that has been read, checked and put in order. */
static int settle(struct reading *reading)
{
	struct ews_archive_content *out = reading->out;
	int rc = 0;

	if (reading->out->record.len && !reading->has_manifest)
		return ews_error(EWS_EDAMAGED, "the archive has a record, but no manifest");
	if (!out->is_read) {
		out->entries = reading->recorded;
		reading->recorded = (struct ews_entries)EWS_ENTRIES_INIT;
		for (size_t i = 0; i < out->entries.n && rc == 0; i++)
			rc = check_path(out->entries.items[i].path);
	} else {
		ews_entries_sort(&out->entries);
		if (reading->n)
			qsort(reading->members, reading->n, sizeof(*reading->members), cmp_member);
		rc = check_tree(reading);
		if (rc == 0)
			rc = join_names(reading);
		if (rc < 0)
			return rc;
		name_firsts(reading);
		if (reading->has_manifest)
			compare(reading);
		else
			rc = add_directories(reading);
	}
	if (rc < 0)
		return rc;
	find_sources(out, reading);
	count(out);
	return 0;
}

/* libarchive passes over the checksums of gzip. No more is looked at for them than was read. */
static int check_gzip(const struct reading *reading, int fd)
{
	la_int64_t bytes = ews_libarchive.archive_filter_bytes(reading->archive, 0);
	int rc = ews_gzip_check(fd, (uint64_t)(bytes < 0 ? 0 : bytes) + PADDING_MAX);

	if (rc == EWS_EDAMAGED)
		ews_error_hint("it is not what was packed any more, and nothing of it was written");
	return rc;
}

static int read_all(struct ews_archive_content *out, int fd, uint64_t max_bytes, bool only_own)
{
	EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
	EWS_CLEANUP(reading)
	struct reading reading = { .out = &content, .max_bytes = max_bytes, .recorded = EWS_ENTRIES_INIT };
	int rc = open_archive(&reading.archive, fd);

	if (rc == 0)
		rc = read_members(&reading, only_own);
	if (rc == 0 && !only_own)
		rc = check_gzip(&reading, fd);
	if (rc < 0)
		return rc;
	content.is_read = !only_own || !content.record.len;
	rc = settle(&reading);
	if (rc < 0)
		return rc;
	*out = content;
	content = (struct ews_archive_content)EWS_ARCHIVE_CONTENT_INIT;
	return 0;
}

int ews_archive_read(struct ews_archive_content *out, int fd, uint64_t max_bytes)
{
	return read_all(out, fd, max_bytes, false);
}

int ews_archive_look(struct ews_archive_content *out, int fd, uint64_t max_bytes)
{
	return read_all(out, fd, max_bytes, true);
}

int ews_archive_read_record(struct ews_buf *out, int fd)
{
	EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
	EWS_CLEANUP(reading) struct reading reading = { .out = &content, .recorded = EWS_ENTRIES_INIT };
	struct archive_entry *head;
	int rc = open_archive(&reading.archive, fd);

	if (rc == 0)
		rc = next_header(reading.archive, &head);
	if (rc > 0 && ews_libarchive.archive_entry_pathname(head))
		rc = read_own(&reading, head, ews_libarchive.archive_entry_pathname(head));
	if (rc < 0)
		return rc;
	if (!content.record.len)
		return ews_error(EWS_ENOTFOUND, "it is no archive of ours");
	ews_buf_add(out, content.record.ptr, content.record.len);
	return 0;
}

void ews_archive_content_release(struct ews_archive_content *content)
{
	ews_entries_release(&content->entries);
	ews_skips_release(&content->skips);
	free(content->member);
	free(content->order);
	ews_buf_release(&content->record);
	ews_strv_release(&content->flaws);
	*content = (struct ews_archive_content)EWS_ARCHIVE_CONTENT_INIT;
}

struct ews_archive_stream {
	const struct ews_archive_content *content;
	int fd;
	struct archive *archive; /* NULL: not begun */
	struct archive_entry *head; /* the member that was reached */
};

struct ews_archive_stream *ews_archive_stream_new(const struct ews_archive_content *content, int fd)
{
	struct ews_archive_stream *stream = ews_calloc(1, sizeof(*stream));

	stream->content = content;
	stream->fd = fd;
	return stream;
}

static void end_stream(struct ews_archive_stream *stream)
{
	if (stream->archive)
		(void)ews_libarchive.archive_read_free(stream->archive);
	stream->archive = NULL;
	stream->head = NULL;
}

/* Go on to the member `path`; 1, or 0 when the end came first. */
static int advance(struct ews_archive_stream *stream, const char *path)
{
	int rc = 0;

	if (!stream->archive)
		rc = open_archive(&stream->archive, stream->fd);
	while (rc == 0) {
		EWS_CLEANUP(free) char *found = NULL;

		rc = next_header(stream->archive, &stream->head);
		if (rc <= 0)
			break;
		if (ews_libarchive.archive_entry_pathname(stream->head))
			found = plain_path(ews_libarchive.archive_entry_pathname(stream->head));
		rc = found && !strcmp(found, path);
	}
	return rc;
}

/* Reach the member that has what `entry` holds, from here on, or once more from the start. */
static int reach(struct ews_archive_stream *stream, const struct ews_entry *entry, unsigned type)
{
	const char *path = stream->content->member[entry - stream->content->entries.items];
	bool has_begun = stream->archive;
	int rc = path ? advance(stream, path) : 0;

	if (rc == 0 && has_begun && path) {
		end_stream(stream);
		rc = advance(stream, path);
	}
	if (rc == 0)
		end_stream(stream);
	if (rc > 0 && (ews_libarchive.archive_entry_hardlink(stream->head) ||
		       ews_libarchive.archive_entry_filetype(stream->head) != type))
		rc = 0;
	if (rc == 0)
		return ews_error(EWS_EDAMAGED, "the archive no longer has what it had: '%s'", entry->path);
	return rc < 0 ? rc : 0;
}

static int check_id(const struct ews_oid *oid, const struct ews_entry *entry)
{
	if (ews_oid_equal(oid, &entry->oid))
		return 0;
	return ews_error(EWS_EDAMAGED, "what the archive has of '%s' is not what its record says", entry->path);
}

static int reach_file(struct ews_archive_stream *stream, const struct ews_entry *entry)
{
	int rc = reach(stream, entry, AE_IFREG);

	if (rc < 0)
		return rc;
	if ((uint64_t)ews_libarchive.archive_entry_size(stream->head) != entry->size)
		return ews_error(EWS_EDAMAGED, "what the archive has of '%s' is not what its record says",
				 entry->path);
	return 0;
}

int ews_archive_stream_each(struct ews_archive_stream *stream, const struct ews_entry *entry,
			    ews_archive_data_fn fn, void *payload)
{
	struct ews_oid oid = EWS_OID_NONE;
	int rc = reach_file(stream, entry);

	if (rc == 0)
		rc = read_content(&oid, stream->archive, entry->size, fn, payload);
	return rc < 0 ? rc : check_id(&oid, entry);
}

/* A file that is being written: zeros are left out, as holes. */
struct writing {
	int fd;
	uint64_t at;
};

static bool is_zero(const char *data, size_t len)
{
	return !*data && !memcmp(data, data + 1, len - 1);
}

/* How many bytes from `data` on are zeros, or are not: whole pages of the file, whose rest at `at` comes first. */
static size_t measure_run(const char *data, size_t len, uint64_t at, bool *is_hole)
{
	size_t run = 0;

	while (run < len) {
		size_t page = PAGE - (size_t)((at + run) % PAGE);
		bool is_zeros;

		if (page > len - run)
			page = len - run;
		is_zeros = is_zero(data + run, page);
		if (!run)
			*is_hole = is_zeros;
		else if (is_zeros != *is_hole)
			break;
		run += page;
	}
	return run;
}

static int write_part(void *payload, const void *data, size_t len)
{
	struct writing *writing = payload;
	int rc = 0;

	for (size_t done = 0, run; done < len && rc == 0; done += run) {
		bool is_hole = false;

		run = measure_run((const char *)data + done, len - done, writing->at, &is_hole);
		if (!is_hole && lseek(writing->fd, (off_t)writing->at, SEEK_SET) < 0)
			return ews_error_os("cannot write it");
		if (!is_hole)
			rc = ews_file_write_fd(writing->fd, (const char *)data + done, run);
		writing->at += run;
	}
	return rc;
}

int ews_archive_stream_write(struct ews_archive_stream *stream, int fd, const struct ews_entry *entry)
{
	struct writing writing = { fd, 0 };
	int rc = ews_archive_stream_each(stream, entry, write_part, &writing);

	if (rc == 0 && ftruncate(fd, (off_t)entry->size) < 0)
		rc = ews_error_os("cannot write it");
	return rc;
}

int ews_archive_stream_link(struct ews_archive_stream *stream, struct ews_buf *text, const struct ews_entry *entry)
{
	struct ews_oid oid = EWS_OID_NONE;
	const char *says;
	int rc = reach(stream, entry, AE_IFLNK);

	if (rc < 0)
		return rc;
	says = ews_libarchive.archive_entry_symlink(stream->head);
	if (!says)
		says = "";
	oid.len = (uint8_t)ews_hash_once(EWS_SHA256, oid.id, says, strlen(says));
	ews_buf_adds(text, says);
	return check_id(&oid, entry);
}

void ews_archive_stream_free(struct ews_archive_stream *stream)
{
	if (!stream)
		return;
	end_stream(stream);
	free(stream);
}
