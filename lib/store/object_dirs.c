/*
 * Object directories: see object_dirs.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/object_dirs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"

#define ALTERNATES_MAX EWS_MIB
/* As many stores may borrow from each other in a row; git draws the same line. */
#define ALTERNATES_DEPTH 5

/* Add `dir` and the object directories that it borrows from. One in quotes is passed by: it is never ours. */
static void add(struct ews_strv *out, const char *dir, unsigned depth)
{
	EWS_CLEANUP(free) char *file = ews_path_join(dir, "info/alternates");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char *line, *rest;

	if (ews_strv_has(out, dir))
		return;
	ews_strv_add(out, dir);
	if (depth == ALTERNATES_DEPTH || ews_file_read(&text, AT_FDCWD, file, ALTERNATES_MAX) < 0) {
		ews_error_clear();
		return;
	}
	for (line = strtok_r(text.ptr, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		EWS_CLEANUP(free) char *other = ews_path_absolute(dir, line);

		if (*line != '#' && *line != '"')
			add(out, other, depth + 1);
	}
}

void ews_object_dirs_add(struct ews_strv *out, const char *dir)
{
	add(out, dir, 0);
}
