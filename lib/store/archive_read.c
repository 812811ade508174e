/*
 * Archive reading: see archive_read.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/archive_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/archive_member.h"
#include "store/archive_write.h"
#include "store/home.h"
#include "store/libarchive.h"
#include "store/xattr.h"

#define PADDING_MAX (16 * EWS_MIB) /* that other programs may write after the end */
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

static int refuse(const char *path, const char *why)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, path);
	ews_error(EWS_EDENIED, "the archive is refused: '%s' %s", quoted.ptr, why);
	ews_error_hint("nothing was written");
	return EWS_EDENIED;
}

bool ews_archive_is_own(const char *path)
{
	static const char *const own[] = { EWS_OWN_DIR, EWS_TRASH_ELSEWHERE };

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
			return ews_archive_member_fail(archive, "the archive's record");
		out->len += (size_t)n;
	}
	out->ptr[out->len] = '\0';
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
	return ews_archive_member_read(&entry->oid, reading->archive, entry->size, NULL, NULL);
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
		EWS_CLEANUP(free) char *target = ews_archive_member_path(hardlink);

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
		int rc = ews_archive_member_next(reading->archive, &head);
		const char *name = rc > 0 ? ews_libarchive.archive_entry_pathname(head) : NULL;
		EWS_CLEANUP(free) char *path = name ? ews_archive_member_path(name) : NULL;

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
	int rc = ews_archive_member_open(&reading.archive, fd);

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
	int rc = ews_archive_member_open(&reading.archive, fd);

	if (rc == 0)
		rc = ews_archive_member_next(reading.archive, &head);
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
