/*
 * Tripwire: see tripwire.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"

#define TRIPWIRE_FILE "tripwire"
#define TRIPWIRE_BYTES_MAX (256 * EWS_MIB)
#define WATCHED_BYTES_MAX (2 * EWS_GIB)

static int read_watched(struct ews_buf *out, int dir_fd, const char *name, const struct stat *st)
{
	int rc;

	if (S_ISLNK(st->st_mode)) {
		ews_buf_reserve(out, (size_t)st->st_size + 1);
		if (readlinkat(dir_fd, name, out->ptr, (size_t)st->st_size + 1) == st->st_size)
			out->len = (size_t)st->st_size;
		return 0;
	}
	if (!S_ISREG(st->st_mode))
		return 0;
	rc = ews_file_read(out, dir_fd, name, WATCHED_BYTES_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc;
}

/* "<place><escaped name> <sha256>:<mode>" of one file; nothing when there is none. */
static int add_file(struct ews_tripwire *out, int dir_fd, const char *place, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];
	struct stat st;
	int rc;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : ews_error_os("cannot look at '%s'", name);
	rc = read_watched(&data, dir_fd, name, &st);
	if (rc < 0)
		return rc;
	ews_hash_once(EWS_SHA256, digest, data.ptr, data.len);
	ews_hex(hex, digest, 32);
	ews_path_escape(&escaped, name, strlen(name));
	ews_strv_addf(&out->lines, "%s%s %s:%o", place, escaped.ptr, hex, (unsigned)st.st_mode);
	return 0;
}

/* git gc writes this list of the refs anew, for servers that can't list them. */
static bool is_derived(const char *place, const char *name)
{
	return !strcmp(place, "info/") && !strcmp(name, "refs");
}

static int add_dir(struct ews_tripwire *out, int git_fd, const char *dir)
{
	EWS_CLEANUP(free) char *place = ews_strfmt("%s/", dir);
	EWS_CLEANUP(fd) int fd = openat(git_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(free) struct ews_dirent *names = NULL;
	struct ews_arena arena = EWS_ARENA_INIT;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : ews_error_os("cannot open '%s'", dir);
	n = ews_dir_list(&names, fd, &arena);
	for (ssize_t i = 0; i < n && rc == 0; i++)
		if (!is_derived(place, names[i].name))
			rc = add_file(out, fd, place, names[i].name);
	ews_arena_release(&arena);
	return n < 0 ? (int)n : rc;
}

static int add_refs(struct ews_tripwire *out, struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, repo->odb, "refs/");

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < refs.n; i++) {
		char hex[EWS_OID_HEX_MAX];

		if (strncmp(refs.items[i].name, "refs/ews/", 9))
			ews_strv_addf(&out->lines, "ref %s %s", refs.items[i].name,
				      ews_oid_hex(hex, &refs.items[i].oid));
	}
	return 0;
}

/* The part of a line before its last blank: what it is about. */
static size_t name_len(const char *line)
{
	const char *blank;

	assert(line);
	blank = strrchr(line, ' ');

	return blank ? (size_t)(blank - line) : strlen(line);
}

static int cmp_names(const char *a, const char *b)
{
	size_t a_len = name_len(a), b_len = name_len(b);
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* A name may hold blanks, so that the order of whole lines would not be that of what they are about. */
static int cmp_lines(const void *a, const void *b)
{
	return cmp_names(*(char *const *)a, *(char *const *)b);
}

int ews_tripwire_take(struct ews_tripwire *out, struct ews_repo *repo)
{
	int rc = add_refs(out, repo);

	if (rc == 0)
		rc = add_file(out, repo->git_fd, "", "HEAD");
	if (rc == 0)
		rc = add_file(out, repo->git_fd, "", "index");
	if (rc == 0)
		rc = add_file(out, repo->common_fd, "", "config");
	if (rc == 0)
		rc = add_file(out, repo->git_fd, "", "config.worktree");
	if (rc == 0)
		rc = add_dir(out, repo->common_fd, "hooks");
	if (rc == 0)
		rc = add_dir(out, repo->common_fd, "info");
	if (rc < 0)
		return ews_error_wrap("cannot look at the project's state");
	if (out->lines.n)
		qsort(out->lines.items, out->lines.n, sizeof(*out->lines.items), cmp_lines);
	return 0;
}

static void add_sentence(struct ews_strv *out, const char *before, const char *after)
{
	int len = (int)name_len(before ? before : after);

	if (!before)
		ews_strv_addf(out, "%.*s is new", len, after);
	else if (!after)
		ews_strv_addf(out, "%.*s is gone", len, before);
	else if (!strncmp(before, "ref ", 4))
		ews_strv_addf(out, "%.*s moved from %.12s to %.12s", len, before, before + len + 1, after + len + 1);
	else
		ews_strv_addf(out, "%.*s changed", len, before);
}

/* Tell of each thing that is not as it was: NULL is what was not there, or is not any more. */
static void each_difference(struct ews_strv *out, const struct ews_tripwire *before, const struct ews_tripwire *after,
			    void (*add)(struct ews_strv *out, const char *before, const char *after))
{
	size_t i = 0, k = 0;

	while (i < before->lines.n || k < after->lines.n) {
		const char *old = before->lines.items[i], *now = after->lines.items[k];
		int order = !old ? 1 : !now ? -1 : cmp_names(old, now);

		if (order != 0 || strcmp(old, now))
			add(out, order <= 0 ? old : NULL, order >= 0 ? now : NULL);
		i += order <= 0;
		k += order >= 0;
	}
}

int ews_tripwire_compare(struct ews_strv *out, const struct ews_tripwire *before, const struct ews_tripwire *after)
{
	size_t was = out->n;

	each_difference(out, before, after, add_sentence);
	return (int)(out->n - was);
}

static void add_command(struct ews_strv *out, const char *before, const char *after)
{
	const char *line = before ? before : after;
	int len;

	assert(line);
	len = (int)name_len(line) - 4;
	if (strncmp(line, "ref ", 4))
		return;
	if (!before)
		ews_strv_addf(out, "git update-ref -d %.*s %s", len, line + 4, line + 4 + len + 1);
	else if (!after)
		ews_strv_addf(out, "git update-ref %.*s %s", len, line + 4, line + 4 + len + 1);
	else
		ews_strv_addf(out, "git update-ref %.*s %s %s", len, line + 4, before + 4 + len + 1,
			      after + 4 + len + 1);
}

void ews_tripwire_ref_commands(struct ews_strv *out, const struct ews_tripwire *before,
			       const struct ews_tripwire *after)
{
	each_difference(out, before, after, add_command);
}

/* The line about `name`, or NULL. */
static char **find_line(const struct ews_tripwire *tripwire, const char *name)
{
	for (size_t i = 0; i < tripwire->lines.n; i++)
		if (name_len(tripwire->lines.items[i]) == strlen(name) &&
		    !strncmp(tripwire->lines.items[i], name, strlen(name)))
			return &tripwire->lines.items[i];
	return NULL;
}

bool ews_tripwire_follow(struct ews_tripwire *kept, const struct ews_tripwire *before,
			 const struct ews_tripwire *after)
{
	static const char *const files[] = { "config", "config.worktree" };
	bool changed = false;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char **was = find_line(before, files[i]), **is = find_line(after, files[i]);
		char **known = find_line(kept, files[i]);

		if (!was || !is || !known || strcmp(*known, *was) || !strcmp(*was, *is))
			continue;
		free(*known);
		*known = ews_strdup(*is);
		changed = true;
	}
	return changed;
}

int ews_tripwire_write(int session_fd, const struct ews_tripwire *tripwire)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < tripwire->lines.n; i++)
		ews_buf_addf(&text, "%s\n", tripwire->lines.items[i]);
	return ews_file_replace(session_fd, TRIPWIRE_FILE, text.ptr, text.len, 0600);
}

int ews_tripwire_read(struct ews_tripwire *out, int session_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, session_fd, TRIPWIRE_FILE, TRIPWIRE_BYTES_MAX);
	char *line, *rest;

	if (rc < 0)
		return rc;
	for (line = strtok_r(text.ptr, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		ews_strv_add(&out->lines, line);
	return 0;
}

void ews_tripwire_release(struct ews_tripwire *tripwire)
{
	ews_strv_release(&tripwire->lines);
}
