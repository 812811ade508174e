/*
 * Lines of a tripwire: see tripwire_line.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire_line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"

#define TRIPWIRE_BYTES_MAX (256 * EWS_MIB)

size_t ews_tripwire_name_len(const char *line)
{
	const char *blank;

	assert(line);
	blank = strrchr(line, ' ');
	return blank ? (size_t)(blank - line) : strlen(line);
}

int ews_tripwire_cmp_names(const char *a, const char *b)
{
	size_t a_len = ews_tripwire_name_len(a), b_len = ews_tripwire_name_len(b);
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static int cmp_lines(const void *a, const void *b)
{
	return ews_tripwire_cmp_names(*(char *const *)a, *(char *const *)b);
}

void ews_tripwire_sort(struct ews_strv *lines)
{
	if (lines->n)
		qsort(lines->items, lines->n, sizeof(*lines->items), cmp_lines);
}

int ews_tripwire_read_lines(struct ews_strv *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, dir_fd, name, TRIPWIRE_BYTES_MAX);
	char *line, *rest;

	if (rc < 0)
		return rc;
	for (line = strtok_r(text.ptr, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		ews_strv_add(out, line);
	return 0;
}

int ews_tripwire_write_lines(int dir_fd, const char *name, const struct ews_strv *lines)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < lines->n; i++)
		ews_buf_addf(&text, "%s\n", lines->items[i]);
	return ews_file_replace(dir_fd, name, text.ptr, text.len, 0600);
}

const char *ews_tripwire_target(const char *line)
{
	const char *value = line ? line + ews_tripwire_name_len(line) + 1 : "";

	return ews_str_after(value, EWS_TRIPWIRE_SYMBOLIC);
}

bool ews_tripwire_is_stash(const char *line)
{
	return ews_str_begins(line, EWS_TRIPWIRE_STASH);
}

char *ews_tripwire_stash_message(const char *line)
{
	size_t start = strlen(EWS_TRIPWIRE_STASH) + EWS_TRIPWIRE_STASH_DIGITS + 1, end = ews_tripwire_name_len(line);

	return ews_strndup(line + start, end > start ? end - start : 0);
}
