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
#include "store/gitfile.h"

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

static bool read_head(struct ews_oid *out, struct ews_odb *odb, int root_fd, const char *path)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(root_fd, path);
	EWS_CLEANUP(fd) int git_fd = fd < 0 ? -1 : open_git_dir(fd);
	bool is_found = git_fd >= 0 && ews_odb_ref_read_from(out, odb, git_fd, true, "HEAD") == 0;

	ews_error_clear(); /* a repository that can't be read says nothing */
	return is_found;
}

/* The entry of the submodule that `skip` left out when it stands at another commit, which is `out` then; else NULL. */
static struct ews_entry *find_moved(struct ews_oid *out, const struct ews_entries *entries,
				    const struct ews_skip *skip, struct ews_odb *odb, int root_fd)
{
	struct ews_entry *entry = skip->reason == EWS_SKIP_REPOSITORY ? ews_entries_find(entries, skip->path) : NULL;

	if (!entry || entry->type != EWS_ENTRY_GITLINK || ews_oid_is_none(&entry->oid))
		return NULL;
	return read_head(out, odb, root_fd, entry->path) && !ews_oid_equal(out, &entry->oid) ? entry : NULL;
}

void ews_submodule_heads_take(struct ews_scan *scan, struct ews_odb *odb, int root_fd)
{
	for (size_t i = 0; i < scan->skips.n; i++) {
		struct ews_oid head;
		struct ews_entry *entry = find_moved(&head, &scan->entries, &scan->skips.items[i], odb, root_fd);

		if (entry)
			entry->oid = head;
	}
}

bool ews_submodule_heads_hold(const struct ews_entries *entries, const struct ews_skips *skips, struct ews_odb *odb,
			      int root_fd)
{
	struct ews_oid head;

	for (size_t i = 0; i < skips->n; i++)
		if (find_moved(&head, entries, &skips->items[i], odb, root_fd))
			return false;
	return true;
}

void ews_submodule_heads_name_moved(struct ews_scan *scan, struct ews_odb *odb, int root_fd)
{
	struct ews_oid head;

	for (size_t i = 0; i < scan->skips.n; i++)
		if (find_moved(&head, &scan->entries, &scan->skips.items[i], odb, root_fd))
			scan->skips.items[i].reason = EWS_SKIP_REPOSITORY_MOVED;
}
