/*
 * Where submodules stand: see submodule_head.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/submodule_head.h"

#include <fcntl.h>
#include <string.h>

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

/* The git directory of what `fd` is the top of; -1: there is none. */
static int open_git_dir(int fd)
{
	EWS_CLEANUP(free) char *named = NULL;
	int git_fd = openat(fd, EWS_GITFILE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (git_fd >= 0)
		return git_fd;
	if (ews_gitfile_read(&named, fd, EWS_GITFILE) < 0)
		return -1;
	return openat(fd, named, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A linked worktree has its branch in the directory that the file "commondir" of its own, `git_fd`, names. */
static bool read_linked(struct ews_oid *out, struct ews_odb *odb, int git_fd)
{
	EWS_CLEANUP(buf) struct ews_buf head = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf common = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int common_fd = -1;
	const char *ref;

	if (ews_file_read(&common, git_fd, "commondir", GIT_FILE_BYTES_MAX) < 0 ||
	    ews_file_read(&head, git_fd, "HEAD", GIT_FILE_BYTES_MAX) < 0)
		return false;
	ews_buf_rtrim(&common);
	ews_buf_rtrim(&head);
	ref = ews_odb_ref_target(head.ptr);
	if (!ref || !ews_str_begins(ref, "refs/"))
		return false;
	common_fd = openat(git_fd, common.ptr, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return common_fd >= 0 && ews_odb_ref_read_from(out, odb, common_fd, true, ref) == 0;
}

bool ews_submodule_head_read(struct ews_oid *out, struct ews_odb *odb, int root_fd, const char *path)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(root_fd, path);
	EWS_CLEANUP(fd) int git_fd = fd < 0 ? -1 : open_git_dir(fd);
	bool is_found = git_fd >= 0 && (ews_odb_ref_read_from(out, odb, git_fd, true, "HEAD") == 0 ||
					read_linked(out, odb, git_fd));

	ews_error_clear(); /* a repository that can't be read says nothing */
	return is_found;
}

/* The directory of the repository that `skip` left out, whole or but for its files; the caller frees it. NULL: it is none. */
static char *repository_of(const struct ews_skip *skip)
{
	size_t len = strlen(skip->path);

	if (!ews_skip_is_repository(skip->reason))
		return NULL;
	return ews_strndup(skip->path, ews_skip_is_git_dir(skip) ? len - strlen("/" EWS_GITFILE) : len);
}

/* The entry of the repository `path` when it stands at another commit, which is `out` then; else NULL. */
static struct ews_entry *find_moved(struct ews_oid *out, const struct ews_entries *entries, const char *path,
				    struct ews_odb *odb, int root_fd)
{
	struct ews_entry *entry = ews_entries_find(entries, path);

	if (!entry || entry->type != EWS_ENTRY_GITLINK || ews_oid_is_none(&entry->oid))
		return NULL;
	return ews_submodule_head_read(out, odb, root_fd, path) && !ews_oid_equal(out, &entry->oid) ? entry : NULL;
}

void ews_submodule_heads_take(struct ews_scan *scan, struct ews_odb *odb, int root_fd)
{
	for (size_t i = 0; i < scan->skips.n; i++) {
		EWS_CLEANUP(free) char *path = repository_of(&scan->skips.items[i]);
		struct ews_oid head;
		struct ews_entry *entry = path ? find_moved(&head, &scan->entries, path, odb, root_fd) : NULL;

		if (entry)
			entry->oid = head;
	}
}

bool ews_submodule_heads_hold(const struct ews_entries *entries, const struct ews_skips *skips, struct ews_odb *odb,
			      int root_fd)
{
	struct ews_oid head;

	for (size_t i = 0; i < skips->n; i++) {
		EWS_CLEANUP(free) char *path = repository_of(&skips->items[i]);

		if (path && find_moved(&head, entries, path, odb, root_fd))
			return false;
	}
	return true;
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

		if (!path || !ews_submodule_head_read(&head, session->repo->odb, root, path))
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
static void read_kept(struct ews_entries *out, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *at, *line;
	size_t len;

	if (session->method->is_project && ews_file_read(&text, session->fd, KEPT, KEPT_BYTES_MAX) == 0) {
		at = text.ptr;
		while ((line = ews_str_next_line(&at, &len, text.ptr + text.len)))
			add_kept(out, line, len);
	}
	ews_entries_sort(out);
	ews_error_clear();
}

void ews_submodule_heads_name_moved(struct ews_scan *scan, const struct ews_session *session, int root_fd)
{
	EWS_CLEANUP(entries) struct ews_entries kept = EWS_ENTRIES_INIT;
	struct ews_odb *odb = session->repo->odb;
	struct ews_oid head;

	read_kept(&kept, session);
	for (size_t i = 0; i < scan->skips.n; i++) {
		EWS_CLEANUP(free) char *path = repository_of(&scan->skips.items[i]);

		if (path && (find_moved(&head, &kept, path, odb, root_fd) ||
			     find_moved(&head, &scan->entries, path, odb, root_fd)))
			scan->skips.items[i].reason = EWS_SKIP_REPOSITORY_MOVED;
	}
}

void ews_submodule_heads_list_moved(struct ews_strv *out, const struct ews_session *session,
				    const struct ews_skips *skips)
{
	EWS_CLEANUP(entries) struct ews_entries kept = EWS_ENTRIES_INIT;
	char hex[EWS_OID_HEX_MAX];

	read_kept(&kept, session);
	for (size_t i = 0; i < skips->n; i++) {
		bool has_moved = skips->items[i].reason == EWS_SKIP_REPOSITORY_MOVED;
		EWS_CLEANUP(free) char *path = has_moved ? repository_of(&skips->items[i]) : NULL;
		const struct ews_entry *entry = path ? ews_entries_find(&kept, path) : NULL;

		if (entry)
			ews_path_line_add(out, path, ews_oid_hex(hex, &entry->oid));
	}
}
