/*
 * Unknown: see unknown.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/unknown.h"

#include <string.h>

#include "base/dir.h"
#include "base/path.h"

/* The name of `entry` when it lies in the directory `dir` itself, not deeper. */
static const char *name_in(const struct ews_entry *entry, const char *dir)
{
	const char *name = *dir ? entry->path + strlen(dir) + 1 : entry->path;

	return strchr(name, '/') ? NULL : name;
}

int ews_unknown_list(struct ews_strv *out, int fd, const char *path, const struct ews_entry *below,
		     const struct ews_entry *end, bool is_plain)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, fd), i = 0;

	while (i < n) {
		const char *name = NULL;
		int order;

		while (below < end && ews_path_is_inside(below->path, path) && !(name = name_in(below, path)))
			below++;
		order = name ? strcmp(names.items[i].name, name) : -1;
		if (order >= 0)
			below++;
		if (order < 0 && (*path || is_plain || strcmp(names.items[i].name, ".git") != 0))
			ews_strv_addf(out, "%s%s%s", path, *path ? "/" : "", names.items[i].name);
		if (order <= 0)
			i++;
	}
	return n < 0 ? (int)n : 0;
}
