/*
 * Packed refs: see packed_refs.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/packed_refs.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

#define BYTES_MAX EWS_GIB
#define HEADER "# pack-refs with:"
#define SORTED " sorted "
/* A name has 4,096 bytes at most, and between two of them stands an id that a tag leads to. */
#define LINES_LEN (16 * EWS_KIB)

struct packed {
	int fd;
	uint64_t size;
	const char *prefix;
	size_t prefix_len;
};

/* Read up to LINES_LEN bytes at `at`, and a NUL. Returns how many, or -1. */
static ssize_t read_lines(char *lines, const struct packed *packed, uint64_t at)
{
	uint64_t left = at < packed->size ? packed->size - at : 0;
	size_t len = left < LINES_LEN ? (size_t)left : LINES_LEN;

	if (!ews_file_read_at(packed->fd, lines, len, at))
		return -1;
	lines[len] = '\0';
	return (ssize_t)len;
}

/* The name in a line "<id> <name>"; NULL where it is another one. */
static const char *name_of(const char *line)
{
	const char *blank = line + strspn(line, "0123456789abcdef");

	return blank > line && *blank == ' ' ? blank + 1 : NULL;
}

/* Does the name in the line come before all that is asked for (-1), behind it (1), or is it a part of that (0)? */
static int compare(const struct packed *packed, const char *name)
{
	size_t len = strcspn(name, "\n");
	int order = strncmp(name, packed->prefix, len < packed->prefix_len ? len : packed->prefix_len);

	return order || len >= packed->prefix_len ? order : -1;
}

/* The first whole line of a ref behind the line that `lines` begins in; NULL: there is none. */
static const char *first_ref(const char *lines)
{
	for (const char *end = strchr(lines, '\n'); end; end = strchr(end + 1, '\n'))
		if (name_of(end + 1) && strchr(end + 1, '\n'))
			return end + 1;
	return NULL;
}

static bool is_sorted(const char *lines)
{
	const char *end = strchr(lines, '\n');
	const char *traits = end && ews_str_begins(lines, HEADER) ? strstr(lines, SORTED) : NULL;

	return traits && traits < end;
}

/* Halve what is between the first line and the end, until what is left is a piece. -1: there is no telling. */
static int64_t find_begin(const struct packed *packed, char *lines)
{
	uint64_t from = 0, to = packed->size;

	while (to - from > LINES_LEN) {
		uint64_t mid = from + (to - from) / 2;
		const char *line = read_lines(lines, packed, mid) < 0 ? NULL : first_ref(lines);

		if (!line)
			return -1;
		if (compare(packed, name_of(line)) < 0)
			from = mid + (uint64_t)(line - lines);
		else
			to = mid;
	}
	return (int64_t)from;
}

/* Add the lines from `at` on, until one comes that is behind all that is asked for. Returns 0, or 1 where there is no telling. */
static int add_from(struct ews_buf *out, const struct packed *packed, char *lines, uint64_t at)
{
	while (at < packed->size) {
		ssize_t len = read_lines(lines, packed, at);
		const char *line = lines, *end;

		if (len < 0)
			return ews_error_os("cannot read '%s'", EWS_PACKED_REFS);
		while ((end = strchr(line, '\n'))) {
			const char *name = name_of(line);

			if (name && compare(packed, name) > 0)
				break;
			line = end + 1;
		}
		ews_buf_add(out, lines, (size_t)(line - lines));
		if (end || line == lines)
			return !end;
		at += (uint64_t)(line - lines);
	}
	return 0;
}

static int read_part(struct ews_buf *out, const struct packed *packed)
{
	char lines[LINES_LEN + 1];
	size_t len = out->len;
	int64_t at = -1;
	int rc = 1;

	if (packed->size > LINES_LEN && read_lines(lines, packed, 0) > 0 && is_sorted(lines))
		at = find_begin(packed, lines);
	if (at >= 0)
		rc = add_from(out, packed, lines, (uint64_t)at);
	if (rc <= 0)
		return rc;
	ews_buf_truncate(out, len);
	return ews_file_read_fd(out, packed->fd, BYTES_MAX);
}

int ews_packed_refs_read(struct ews_buf *out, int common_fd, const char *prefix)
{
	EWS_CLEANUP(fd) int fd = ews_file_open_regular(common_fd, EWS_PACKED_REFS);
	struct packed packed = { .fd = fd, .prefix = prefix, .prefix_len = strlen(prefix) };
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot read '%s'", EWS_PACKED_REFS);
	packed.size = (uint64_t)st.st_size;
	return read_part(out, &packed);
}
