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
	const char *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (is_converting_file(info) || is_converting_file("/etc/gitattributes"))
		return true;
	if (ews_odb_config(&user, odb, "core.attributesFile") == 0) {
		/* "~/", "%(prefix)/" and what is relative to some directory are no paths as they stand. */
		if (user[0] != '/')
			return true;
	} else {
		ews_error_clear();
		if (xdg && *xdg)
			user = ews_path_join(xdg, "git/attributes");
		else if (home && *home)
			user = ews_path_join(home, ".config/git/attributes");
	}
	return user && is_converting_file(user);
}

/* Could git have converted what it took into its index? Then its ids don't stand for raw bytes. */
static bool has_converting_attributes(const struct ews_entries *entries, int root_fd, struct ews_odb *odb)
{
	for (size_t i = 0; i < entries->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		EWS_CLEANUP(fd) int fd = -1;
		const char *path = entries->items[i].path;

		if (strcmp(ews_path_base(path), ".gitattributes"))
			continue;
		fd = ews_dir_open_file(root_fd, path, O_RDONLY, 0);
		if (fd < 0 || ews_file_read_fd(&text, fd, ATTRIBUTES_MAX) < 0) {
			ews_error_clear();
			return true;
		}
		if (has_converting_word(text.ptr, text.len))
			return true;
	}
	return has_converting_attributes_outside(odb);
}

void ews_scan_hint_init(struct ews_scan_hint *out, const struct ews_index *index, struct ews_odb *odb,
			const struct ews_entries *entries, int root_fd)
{
	enum ews_odb_filters filters = index ? ews_odb_filters(odb) : EWS_FILTERS_ANY;
	bool is_safe = filters != EWS_FILTERS_ANY && !has_converting_attributes(entries, root_fd, odb);

	*out = (struct ews_scan_hint){ .index = is_safe ? index : NULL,
				       .size_min = filters == EWS_FILTERS_LFS ? EWS_LFS_POINTER_MAX : 0,
				       .odb = odb };
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
