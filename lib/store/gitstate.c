/*
 * Git state: see gitstate.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitstate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"

#define INDEX_BYTES_MAX (2 * EWS_GIB)
#define FILE_BYTES_MAX (64 * EWS_MIB)
#define COMPARED_BYTES (64 * EWS_KIB)

static const char *const carried[] = {
	"HEAD",       "ORIG_HEAD", "config.worktree", "MERGE_HEAD", "MERGE_MSG",
	"MERGE_MODE", "MERGE_RR",  "AUTO_MERGE",      "SQUASH_MSG", NULL,
};

static const char *const under_way[] = {
	"rebase-merge", "rebase-apply", "sequencer",           "CHERRY_PICK_HEAD",
	"REVERT_HEAD",  "REBASE_HEAD",  "BISECT_LOG",          "BISECT_START",
	"BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK",
	"BISECT_RUN",   "BISECT_HEAD",  "index.lock",          "HEAD.lock",
	NULL,
};

static bool is_in(const char *const *list, const char *name)
{
	while (*list)
		if (!strcmp(*list++, name))
			return true;
	return false;
}

static bool is_carried(const char *name)
{
	return is_in(carried, name) || !strncmp(name, "sharedindex.", 12);
}

static void take_index_stat(struct ews_gitstate *out, const struct stat *st)
{
	out->has_index = true;
	out->index_mtime_s = st->st_mtim.tv_sec;
	out->index_mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
}

/* Does the file have these bytes, and no more? */
static bool has_bytes(int fd, const struct ews_buf *bytes)
{
	EWS_CLEANUP(free) char *data = ews_malloc(COMPARED_BYTES);
	size_t at = 0;
	ssize_t n;

	while ((n = pread(fd, data, COMPARED_BYTES, (off_t)at)) > 0) {
		if ((size_t)n > bytes->len - at || memcmp(data, bytes->ptr + at, (size_t)n) != 0)
			return false;
		at += (size_t)n;
	}
	return n == 0 && at == bytes->len;
}

bool ews_gitstate_has_index(const struct ews_gitstate *state, int git_fd)
{
	EWS_CLEANUP(fd) int fd = openat(git_fd, "index", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	return state->has_index && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_mtim.tv_sec == state->index_mtime_s && st.st_mtim.tv_nsec == (long)state->index_mtime_ns &&
	       (uint64_t)st.st_size == state->index.len && has_bytes(fd, &state->index);
}

void ews_gitstate_note_index(struct ews_gitstate *out, int git_fd)
{
	struct stat st;

	if (fstatat(git_fd, "index", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		take_index_stat(out, &st);
}

int ews_gitstate_read_index(struct ews_gitstate *out, int git_fd)
{
	EWS_CLEANUP(fd) int fd = openat(git_fd, "index", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int rc;

	/* A link, a socket or whatever else somebody put there is no index of ours to follow. */
	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot open the index");
	if (!S_ISREG(st.st_mode))
		return 0;
	rc = ews_file_read_fd(&out->index, fd, INDEX_BYTES_MAX);
	if (rc < 0)
		return ews_error_wrap("cannot read the index");
	take_index_stat(out, &st);
	return 0;
}

void ews_gitstate_set_file(struct ews_gitstate *state, const char *name, const void *data, size_t len)
{
	size_t at = 0;

	while (at < state->n && strcmp(state->files[at].name, name) < 0)
		at++;
	if (at == state->n || strcmp(state->files[at].name, name)) {
		EWS_GROW(state->files, state->n, state->cap);
		memmove(&state->files[at + 1], &state->files[at], (state->n - at) * sizeof(*state->files));
		state->files[at] = (struct ews_gitstate_file){ ews_strdup(name), EWS_BUF_INIT };
		state->n++;
	}
	ews_buf_truncate(&state->files[at].data, 0);
	ews_buf_add(&state->files[at].data, data, len);
}

/* What old git made a link of: it means the ref that it names. Returns 1 when HEAD is one. */
static int read_linked_head(struct ews_gitstate *out, int git_fd)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(git_fd, "HEAD", target, sizeof(target));
	EWS_CLEANUP(free) char *text = NULL;

	if (len < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : ews_error_os("cannot read HEAD");
	text = ews_strfmt("ref: %.*s\n", (int)len, target);
	ews_gitstate_set_file(out, "HEAD", text, strlen(text));
	return 1;
}

/* Git never makes a directory where one of these files belongs: it must go before that can come. */
static bool is_in_the_way(int git_fd, const char *name)
{
	struct stat st;

	return (is_carried(name) || !strcmp(name, "index")) &&
	       fstatat(git_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int ews_gitstate_read(struct ews_gitstate *out, int git_fd)
{
	int rc = ews_gitstate_read_index(out, git_fd);

	return rc < 0 ? rc : ews_gitstate_read_files(out, git_fd);
}

int ews_gitstate_read_files(struct ews_gitstate *out, int git_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, git_fd);
	int rc = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n && rc == 0; i++) {
		EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;

		if (is_in(under_way, names.items[i].name) || is_in_the_way(git_fd, names.items[i].name))
			ews_strv_add(&out->running, names.items[i].name);
		if (!is_carried(names.items[i].name))
			continue;
		rc = strcmp(names.items[i].name, "HEAD") ? 0 : read_linked_head(out, git_fd);
		if (rc != 0) {
			rc = rc < 0 ? rc : 0;
			continue;
		}
		rc = ews_file_read(&data, git_fd, names.items[i].name, FILE_BYTES_MAX);
		/* Gone meanwhile, or no file: then it says nothing. */
		if (rc == EWS_ENOTFOUND || rc == EWS_EDAMAGED) {
			ews_error_clear();
			rc = 0;
			continue;
		}
		if (rc == 0)
			ews_gitstate_set_file(out, names.items[i].name, data.ptr, data.len);
	}
	return rc < 0 ? ews_error_wrap("cannot read the state of git") : 0;
}

const struct ews_gitstate_file *ews_gitstate_file(const struct ews_gitstate *state, const char *name)
{
	for (size_t i = 0; i < state->n; i++)
		if (!strcmp(state->files[i].name, name))
			return &state->files[i];
	return NULL;
}

static bool same_bytes(const struct ews_buf *a, const struct ews_buf *b)
{
	return a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

static bool same_index(const struct ews_gitstate *a, const struct ews_gitstate *b)
{
	return a->has_index == b->has_index &&
	       (!a->has_index || (same_bytes(&a->index, &b->index) && a->index_mtime_s == b->index_mtime_s &&
				  a->index_mtime_ns == b->index_mtime_ns));
}

void ews_gitstate_hash_files(struct ews_hash *hash, const struct ews_gitstate *state)
{
	for (size_t i = 0; i < state->n; i++) {
		ews_hash_add_part(hash, state->files[i].name, strlen(state->files[i].name));
		ews_hash_add_part(hash, state->files[i].data.ptr, state->files[i].data.len);
	}
}

void ews_gitstate_differences(struct ews_strv *out, const struct ews_gitstate *a, const struct ews_gitstate *b)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ews_gitstate_file *other = ews_gitstate_file(b, a->files[i].name);

		if (!other || !same_bytes(&a->files[i].data, &other->data))
			ews_strv_add(out, a->files[i].name);
	}
	for (size_t i = 0; i < b->n; i++)
		if (!ews_gitstate_file(a, b->files[i].name))
			ews_strv_add(out, b->files[i].name);
	for (size_t i = 0; i < b->running.n; i++)
		if (!ews_strv_has(&a->running, b->running.items[i]))
			ews_strv_add(out, b->running.items[i]);
	if (!same_index(a, b))
		ews_strv_add(out, "index");
}

/* The index with its mtime, made beside and renamed in: git's racy check rests on that time. */
static int write_index(const struct ews_gitstate *state, int git_fd)
{
	const struct timespec mtime = { state->index_mtime_s, state->index_mtime_ns };
	int rc;

	if (!state->has_index) {
		if (unlinkat(git_fd, "index", 0) < 0 && errno != ENOENT)
			return ews_error_os("cannot remove the index");
		return 0;
	}
	rc = ews_file_replace_dated(git_fd, "index", state->index.ptr, state->index.len, 0644, &mtime);
	return rc < 0 ? ews_error_wrap("cannot write the index") : 0;
}

/* Rename `name` into `keep_fd`; where another of that name was kept before, under a number as well. */
static int put_away(int git_fd, const char *name, int keep_fd)
{
	EWS_CLEANUP(free) char *kept = ews_strdup(name);
	int rc = ews_file_rename_new(git_fd, name, keep_fd, kept);

	for (unsigned n = 2; rc == EWS_EEXISTS; n++) {
		free(kept);
		kept = ews_strfmt("%s.%u", name, n);
		rc = ews_file_rename_new(git_fd, name, keep_fd, kept);
	}
	return rc < 0 ? ews_error_wrap("cannot put '%s' away", name) : 0;
}

int ews_gitstate_write(struct ews_strv *kept, const struct ews_gitstate *state, int git_fd, int keep_fd)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate now = EWS_GITSTATE_INIT;
	int rc = ews_gitstate_read_files(&now, git_fd);

	if (rc < 0)
		return rc;
	ews_gitstate_note_index(&now, git_fd);
	for (size_t i = 0; i < now.running.n && keep_fd >= 0; i++) {
		if (ews_strv_has(&state->running, now.running.items[i]))
			continue;
		rc = put_away(git_fd, now.running.items[i], keep_fd);
		if (rc < 0)
			return rc;
		if (kept)
			ews_strv_add(kept, now.running.items[i]);
	}
	for (size_t i = 0; i < now.n; i++)
		if (!ews_gitstate_file(state, now.files[i].name) && unlinkat(git_fd, now.files[i].name, 0) < 0 &&
		    errno != ENOENT)
			return ews_error_os("cannot remove '%s'", now.files[i].name);
	for (size_t i = 0; i < state->n; i++) {
		const struct ews_gitstate_file *file = &state->files[i];
		const struct ews_gitstate_file *old = ews_gitstate_file(&now, file->name);

		if (old && same_bytes(&old->data, &file->data))
			continue;
		rc = ews_file_replace(git_fd, file->name, file->data.ptr, file->data.len, 0644);
		if (rc < 0)
			return ews_error_wrap("cannot write '%s'", file->name);
	}
	if (!state->has_index && !now.has_index)
		return 0;
	return ews_gitstate_has_index(state, git_fd) ? 0 : write_index(state, git_fd);
}

void ews_gitstate_release(struct ews_gitstate *state)
{
	for (size_t i = 0; i < state->n; i++) {
		free(state->files[i].name);
		ews_buf_release(&state->files[i].data);
	}
	free(state->files);
	ews_buf_release(&state->index);
	ews_strv_release(&state->running);
	*state = (struct ews_gitstate)EWS_GITSTATE_INIT;
}
