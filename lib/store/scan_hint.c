/*
 * Hints: see scan_hint.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/scan_hint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/gitconfig_files.h"
#include "store/replaced.h"

#define ATTRIBUTES ".gitattributes"
#define ATTRIBUTES_MAX (16 * EWS_MIB)

/* The attributes by which git stores other bytes than stand in the file, but for line ends, which lengths show. */
static bool has_converting_word(const char *text, size_t len)
{
	static const char *const words[] = { "filter", "ident", "working-tree-encoding" };

	for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
		if (memmem(text, len, words[k], strlen(words[k])))
			return true;
	return false;
}

/* One file of attributes, by its absolute path. What is there and can't be read counts as converting. */
static bool is_converting_file(const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (ews_file_read_path(&text, path, ATTRIBUTES_MAX) < 0) {
		ews_error_clear();
		return true;
	}
	return has_converting_word(text.ptr, text.len);
}

/* The same of the files that are not in the tree: the repository's, the user's, the system's. */
static bool has_converting_attributes_outside(struct ews_odb *odb)
{
	EWS_CLEANUP(free) char *info = ews_path_join(ews_odb_common_dir(odb), "info/attributes");
	EWS_CLEANUP(free) char *user = NULL;

	if (is_converting_file(info) || is_converting_file("/etc/gitattributes"))
		return true;
	if (ews_odb_config_if_set(&user, odb, "core.attributesFile") < 0) {
		ews_error_clear();
		return true;
	}
	/* "~/", "%(prefix)/" and what is relative to some directory are no paths as they stand. */
	if (user && user[0] != '/')
		return true;
	if (!user)
		user = ews_gitconfig_user_path("attributes");
	return user && is_converting_file(user);
}

/* One in the tree. */
static bool is_converting_file_at(int root_fd, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_file(root_fd, path, O_RDONLY, 0);

	if (fd < 0 || ews_file_read_fd(&text, fd, ATTRIBUTES_MAX) < 0) {
		ews_error_clear();
		return true;
	}
	return has_converting_word(text.ptr, text.len);
}

static bool is_named_attributes(const char *path)
{
	return !strcmp(ews_path_base(path), ATTRIBUTES);
}

/* One that is not in the tree, as in a sparse checkout: git reads what its index has of it. */
static bool is_converting_blob(const struct ews_index_entry *ie, struct ews_odb *odb)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (ews_odb_read_max(&text, NULL, odb, &ie->oid, ATTRIBUTES_MAX) != 0) {
		ews_error_clear();
		return true;
	}
	return has_converting_word(text.ptr, text.len);
}

/* Is what holds `path` there? Attributes of a directory that is not say nothing of any file. */
static bool has_parent(const struct ews_scan *scan, const char *path)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(path);

	return !*dir || ews_entries_find(&scan->entries, dir);
}

static bool has_converting_attributes_in_index(const struct ews_index *index, const struct ews_scan *scan,
					       struct ews_odb *odb)
{
	for (size_t i = 0; i < index->n; i++) {
		const struct ews_index_entry *ie = &index->items[i];

		if (is_named_attributes(ie->path) && ie->mode != EWS_MODE_GITLINK &&
		    !ews_entries_find(&scan->entries, ie->path) && has_parent(scan, ie->path) &&
		    is_converting_blob(ie, odb))
			return true;
	}
	return false;
}

/* Could git have converted what it took into its index? Then its ids don't stand for raw bytes. */
static bool has_converting_attributes(const struct ews_index *index, const struct ews_scan *scan, struct ews_odb *odb)
{
	for (size_t i = 0; i < scan->entries.n; i++)
		if (is_named_attributes(scan->entries.items[i].path) &&
		    is_converting_file_at(scan->root_fd, scan->entries.items[i].path))
			return true;
	/* What is ignored git reads all the same. */
	for (size_t i = 0; i < scan->skips.n; i++)
		if (is_named_attributes(scan->skips.items[i].path) &&
		    is_converting_file_at(scan->root_fd, scan->skips.items[i].path))
			return true;
	return has_converting_attributes_in_index(index, scan, odb) || has_converting_attributes_outside(odb);
}

void ews_scan_hint_init(struct ews_scan_hint *out, const struct ews_index *index, struct ews_odb *odb,
			const struct ews_scan *scan)
{
	enum ews_odb_filters filters = index ? ews_odb_filters(odb) : EWS_FILTERS_ANY;
	bool is_safe = filters != EWS_FILTERS_ANY && !has_converting_attributes(index, scan, odb);

	*out = (struct ews_scan_hint){ .index = is_safe ? index : NULL,
				       .size_min = filters == EWS_FILTERS_LFS ? EWS_LFS_POINTER_MAX : 0,
				       .odb = odb,
				       .replaced = EWS_OIDS_INIT };
	if (is_safe)
		ews_replaced_list(&out->replaced, odb);
}

void ews_scan_hint_release(struct ews_scan_hint *hint)
{
	ews_oids_release(&hint->replaced);
}

bool ews_scan_hint_find(struct ews_oid *out, const struct ews_scan_hint *hint, const struct ews_entry *entry)
{
	const struct ews_index_entry *ie;
	enum ews_object_type type;
	uint64_t size;

	if (!hint->index || entry->type != EWS_ENTRY_FILE || entry->size < hint->size_min)
		return false;
	ie = ews_index_find(hint->index, entry->path);
	if (!ie || ie->stage != 0 || !ews_index_stat_matches(hint->index, ie, entry))
		return false;
	if (ews_oids_has(&hint->replaced, &ie->oid))
		return false;
	/* An id of git's is that of the raw bytes only when nothing was converted: then the lengths agree. */
	if (ews_odb_read_header(&type, &size, hint->odb, &ie->oid) < 0) {
		ews_error_clear();
		return false;
	}
	if (type != EWS_OBJECT_BLOB || size != entry->size)
		return false;
	*out = ie->oid;
	return true;
}
