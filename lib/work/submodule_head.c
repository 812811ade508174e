/*
 * Where submodules stand: see submodule_head.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/submodule_head.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/gitfile.h"

/* In the session's directory: "<escaped path>\t<id>" a line. */
#define KEPT "heads"
#define KEPT_BYTES_MAX (64 * EWS_MIB)

#define GIT_FILE_BYTES_MAX (64 * EWS_KIB) /* of a HEAD, or a commondir */

/* The git directory of what `fd` is the top of. */
static int open_git_dir(int fd)
{
	EWS_CLEANUP(free) char *named = NULL;
	int git_fd = openat(fd, EWS_GITFILE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (git_fd >= 0)
		return git_fd;
	if (ews_errno_is_passing(errno))
		return ews_error_os("cannot open '%s'", EWS_GITFILE);
	rc = ews_gitfile_read(&named, fd, EWS_GITFILE);
	if (rc < 0)
		return rc;
	git_fd = openat(fd, named, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return git_fd < 0 ? ews_error_os("cannot open '%s'", named) : git_fd;
}

/* A linked worktree has its branch in the directory that the file "commondir" of its own, `git_fd`, names. Returns 0 when that is read. */
static int read_linked(struct ews_oid *out, struct ews_odb *odb, int git_fd)
{
	EWS_CLEANUP(buf) struct ews_buf head = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf common = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int common_fd = -1;
	const char *ref;
	int rc = ews_file_read(&common, git_fd, "commondir", GIT_FILE_BYTES_MAX);

	if (rc == 0)
		rc = ews_file_read(&head, git_fd, "HEAD", GIT_FILE_BYTES_MAX);
	if (rc < 0)
		return rc;
	ews_buf_rtrim(&common);
	ews_buf_rtrim(&head);
	ref = ews_odb_ref_target(head.ptr);
	if (!ref || !ews_str_begins(ref, "refs/"))
		return EWS_ENOTFOUND;
	common_fd = openat(git_fd, common.ptr, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return common_fd < 0 ? ews_error_os("cannot open '%s'", common.ptr)
			     : ews_odb_ref_read_from(out, odb, common_fd, true, ref);
}

int ews_submodule_head_read(struct ews_oid *out, struct ews_odb *odb, int root_fd, const char *path)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(root_fd, path);
	EWS_CLEANUP(fd) int git_fd = fd < 0 ? fd : open_git_dir(fd);
	int rc = git_fd < 0 ? git_fd : ews_odb_ref_read_from(out, odb, git_fd, true, "HEAD");

	if (git_fd >= 0 && rc < 0 && ews_error_if_passing(rc) == 0)
		rc = read_linked(out, odb, git_fd);
	if (rc == 0)
		return 1;
	return ews_error_if_passing(rc) < 0 ? ews_error_wrap("cannot read where '%s' stands", path) : 0;
}

/* The directory of the repository that `skip` left out, whole or but for its files; the caller frees it. NULL: it is none. */
static char *repository_of(const struct ews_skip *skip)
{
	size_t len = strlen(skip->path);

	if (!ews_skip_is_repository(skip->reason))
		return NULL;
	return ews_strndup(skip->path, ews_skip_is_git_dir(skip) ? len - strlen("/" EWS_GITFILE) : len);
}

/* Does the repository of `entry`, which may be NULL, stand at another commit than that says? Then it is `out`, and 1 is returned; else 0. */
static int has_moved(struct ews_oid *out, const struct ews_entry *entry, struct ews_odb *odb, int root_fd)
{
	int rc;

	if (!entry || entry->type != EWS_ENTRY_GITLINK || ews_oid_is_none(&entry->oid))
		return 0;
	rc = ews_submodule_head_read(out, odb, root_fd, entry->path);
	return rc > 0 ? !ews_oid_equal(out, &entry->oid) : rc;
}

int ews_submodule_heads_take(struct ews_scan *scan, struct ews_odb *odb, int root_fd)
{
	for (size_t i = 0; i < scan->skips.n; i++) {
		EWS_CLEANUP(free) char *path = repository_of(&scan->skips.items[i]);
		struct ews_entry *entry = path ? ews_entries_find(&scan->entries, path) : NULL;
		struct ews_oid head;
		int rc = has_moved(&head, entry, odb, root_fd);

		if (rc < 0)
			return rc;
		if (rc > 0)
			entry->oid = head;
	}
	return 0;
}

int ews_submodule_heads_hold(const struct ews_entries *entries, const struct ews_skips *skips, struct ews_odb *odb,
			     int root_fd)
{
	struct ews_oid head;

	for (size_t i = 0; i < skips->n; i++) {
		EWS_CLEANUP(free) char *path = repository_of(&skips->items[i]);
		int rc = has_moved(&head, path ? ews_entries_find(entries, path) : NULL, odb, root_fd);

		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return 1;
}

int ews_submodule_heads_keep(const struct ews_session *session, const struct ews_skips *skips)
{
	EWS_CLEANUP(fd) int root = ews_dir_open(session->state.workspace);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid head;

	if (root < 0)
		return root;
	for (size_t i = 0; i < skips->n; i++) {
		EWS_CLEANUP(free) char *path = repository_of(&skips->items[i]);
		int rc = path ? ews_submodule_head_read(&head, session->repo->odb, root, path) : 0;

		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		ews_path_escape(&text, path, strlen(path));
		ews_buf_addf(&text, "\t%s\n", ews_oid_hex(hex, &head));
	}
	return text.len ? ews_file_replace(session->fd, KEPT, text.ptr, text.len, 0644) : 0;
}

static void add_kept(struct ews_entries *out, const char *line, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	const char *tab = memchr(line, '\t', len);
	struct ews_oid oid;
	struct ews_entry *entry;

	if (!tab || ews_path_unescape(&path, line, (size_t)(tab - line)) < 0 ||
	    ews_oid_parse_or_none(&oid, tab + 1, len - (size_t)(tab + 1 - line)) < 0)
		return;
	entry = ews_entries_add(out, path.ptr, path.len);
	entry->type = EWS_ENTRY_GITLINK;
	entry->oid = oid;
}

/* Where those in a project stood when `session` began to work in it, sorted; none where nobody kept that, as an older version. */
static int read_kept(struct ews_entries *out, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *at, *line;
	size_t len;
	int rc = session->method->is_project ? ews_file_read(&text, session->fd, KEPT, KEPT_BYTES_MAX)
					     : EWS_ENOTFOUND;

	if (rc < 0)
		return ews_error_if_passing(rc);
	at = text.ptr;
	while ((line = ews_str_next_line(&at, &len, text.ptr + text.len)))
		add_kept(out, line, len);
	ews_entries_sort(out);
	ews_error_clear(); /* a line that makes no sense says nothing */
	return 0;
}

int ews_submodule_heads_name_moved(struct ews_scan *scan, const struct ews_session *session, int root_fd)
{
	EWS_CLEANUP(entries) struct ews_entries kept = EWS_ENTRIES_INIT;
	struct ews_odb *odb = session->repo->odb;
	struct ews_oid head;
	int rc = read_kept(&kept, session);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < scan->skips.n; i++) {
		EWS_CLEANUP(free) char *path = repository_of(&scan->skips.items[i]);

		rc = path ? has_moved(&head, ews_entries_find(&kept, path), odb, root_fd) : 0;
		if (rc == 0 && path)
			rc = has_moved(&head, ews_entries_find(&scan->entries, path), odb, root_fd);
		if (rc < 0)
			return rc;
		if (rc > 0)
			scan->skips.items[i].reason = EWS_SKIP_REPOSITORY_MOVED;
	}
	return 0;
}

void ews_submodule_heads_list_moved(struct ews_strv *out, const struct ews_session *session,
				    const struct ews_skips *skips)
{
	EWS_CLEANUP(entries) struct ews_entries kept = EWS_ENTRIES_INIT;
	char hex[EWS_OID_HEX_MAX];

	if (read_kept(&kept, session) < 0)
		ews_error_clear(); /* that they have gone on was found out; whence is for people */
	for (size_t i = 0; i < skips->n; i++) {
		bool is_moved = skips->items[i].reason == EWS_SKIP_REPOSITORY_MOVED;
		EWS_CLEANUP(free) char *path = is_moved ? repository_of(&skips->items[i]) : NULL;
		const struct ews_entry *entry = path ? ews_entries_find(&kept, path) : NULL;

		if (entry)
			ews_path_line_add(out, path, ews_oid_hex(hex, &entry->oid));
	}
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* One directory of it: its own directories are added to `todo`. */
static int has_written(struct ews_strv *todo, int root_fd, const char *path, const struct timespec *since)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(root_fd, path);
	ssize_t n = fd < 0 ? fd : ews_dir_names_read(&names, fd);
	struct stat st;

	if (n < 0)
		return ews_error_if_passing((int)n);
	if (fstat(fd, &st) == 0 && is_later(&st.st_ctim, since))
		return 1;
	for (ssize_t i = 0; i < n; i++) {
		const char *name = names.items[i].name;

		if (!strcmp(name, EWS_GITFILE) || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (is_later(&st.st_ctim, since))
			return 1;
		if (S_ISDIR(st.st_mode))
			ews_strv_addf(todo, "%s/%s", path, name);
	}
	return 0;
}

int ews_submodule_is_written(int root_fd, const char *path, const struct timespec *since)
{
	EWS_CLEANUP(strv) struct ews_strv todo = EWS_STRV_INIT;
	int rc = 0;

	ews_strv_add(&todo, path);
	while (rc == 0 && todo.n) {
		EWS_CLEANUP(free) char *at = todo.items[--todo.n];

		todo.items[todo.n] = NULL;
		rc = has_written(&todo, root_fd, at, since);
	}
	return rc;
}
