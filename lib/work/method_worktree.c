/*
 * Method worktree: see method_worktree.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/method_worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"

#define BESIDE "ews"
#define ENTRIES "worktrees"
#define LINK_BYTES_MAX (64 * EWS_KIB)
#define CONFIG_BYTES_MAX (16 * EWS_MIB)

char *ews_worktree_gitfile(const struct ews_worktree *wt)
{
	return ews_strfmt("gitdir: %s/" ENTRIES "/%s\n", wt->common_dir, wt->id);
}

static int open_sub(int dir_fd, const char *name, bool make)
{
	if (make && mkdirat(dir_fd, name, 0777) < 0 && errno != EEXIST)
		return ews_error_os("cannot make '%s'", name);
	return ews_dir_open_beneath(dir_fd, name);
}

/* A file of the project's git directory that may be missing. */
static int copy_file(int to_fd, int from_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, from_fd, name, CONFIG_BYTES_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? rc : ews_file_replace(to_fd, name, text.ptr, text.len, 0644);
}

static int copy_sparse(int entry_fd, int project_git_fd)
{
	EWS_CLEANUP(fd) int from = -1;
	EWS_CLEANUP(fd) int to = -1;

	if (faccessat(project_git_fd, "info/sparse-checkout", F_OK, 0) < 0)
		return 0;
	from = ews_dir_open_beneath(project_git_fd, "info");
	if (from < 0)
		return from;
	to = open_sub(entry_fd, "info", true);
	return to < 0 ? to : copy_file(to, from, "sparse-checkout");
}

static int write_text(int fd, const char *name, char *text)
{
	int rc = ews_file_replace(fd, name, text, strlen(text), 0644);

	free(text);
	return rc;
}

static int write_links(const struct ews_worktree *wt, int entry_fd)
{
	int rc = write_text(entry_fd, "gitdir", ews_strfmt("%s/.git\n", wt->workspace));

	if (rc == 0)
		rc = write_text(entry_fd, "commondir", ews_strdup("../..\n"));
	if (rc == 0)
		rc = write_text(entry_fd, "locked", ews_strfmt("ews session %s\n", wt->id));
	return rc;
}

int ews_worktree_prepare(const struct ews_worktree *wt, const struct ews_gitstate *state, int project_git_fd)
{
	EWS_CLEANUP(fd) int beside = open_sub(wt->common_fd, BESIDE, true);
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (beside < 0)
		return beside;
	if (mkdirat(beside, wt->id, 0777) < 0)
		return ews_error_os("cannot make the worktree entry '%s'", wt->id);
	fd = ews_dir_open_beneath(beside, wt->id);
	if (fd < 0)
		return fd;
	rc = write_links(wt, fd);
	if (rc == 0)
		rc = copy_sparse(fd, project_git_fd);
	if (rc == 0)
		rc = ews_gitstate_write(NULL, state, fd, -1);
	if (rc == 0)
		rc = ews_file_sync_dir(fd);
	return rc < 0 ? ews_error_wrap("cannot write the worktree entry '%s'", wt->id) : ews_steal_fd(&fd);
}

/* One rename between the two places, made durable on both sides. */
static int move_entry(const struct ews_worktree *wt, const char *from, const char *to)
{
	EWS_CLEANUP(fd) int from_fd = open_sub(wt->common_fd, from, false);
	EWS_CLEANUP(fd) int to_fd = -1;
	int rc;

	if (from_fd < 0)
		return from_fd;
	to_fd = open_sub(wt->common_fd, to, true);
	if (to_fd < 0)
		return to_fd;
	rc = ews_file_rename_new(from_fd, wt->id, to_fd, wt->id);
	if (rc == 0)
		rc = ews_file_sync_dir(to_fd);
	return rc < 0 ? rc : ews_file_sync_dir(from_fd);
}

/* An empty directory of ours or git's tells people nothing. */
static void tidy(const struct ews_worktree *wt)
{
	(void)unlinkat(wt->common_fd, ENTRIES, AT_REMOVEDIR); /* git removes it as well when it is empty */
	(void)unlinkat(wt->common_fd, BESIDE, AT_REMOVEDIR);
}

int ews_worktree_publish(const struct ews_worktree *wt)
{
	int rc = move_entry(wt, BESIDE, ENTRIES);

	if (rc < 0)
		return ews_error_wrap("cannot register the worktree '%s'", wt->id);
	tidy(wt);
	return 0;
}

int ews_worktree_withdraw(const struct ews_worktree *wt)
{
	int rc;

	if (!ews_worktree_is_there(wt->common_fd, wt->id))
		return 0;
	rc = move_entry(wt, ENTRIES, BESIDE);
	if (rc < 0)
		return ews_error_wrap("cannot take out the worktree '%s'", wt->id);
	tidy(wt);
	return 0;
}

int ews_worktree_restore(const struct ews_worktree *wt)
{
	if (ews_worktree_is_there(wt->common_fd, wt->id))
		return 0;
	return ews_worktree_publish(wt);
}

int ews_worktree_discard(const struct ews_worktree *wt)
{
	EWS_CLEANUP(fd) int beside = open_sub(wt->common_fd, BESIDE, false);
	int rc;

	if (beside < 0) {
		ews_error_clear();
		return 0;
	}
	rc = ews_file_remove_tree(beside, wt->id);
	if (rc < 0)
		return rc;
	tidy(wt);
	return 0;
}

int ews_worktree_repair(const struct ews_worktree *wt, int workspace_fd, const struct ews_gitstate *state,
			int project_git_fd)
{
	EWS_CLEANUP(strv) struct ews_strv tampered = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", wt->id);
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;
	int rc = ews_worktree_tampered(&tampered, wt, workspace_fd);

	if (rc < 0 || !tampered.n)
		return rc;
	if (ews_strv_has(&tampered, ".git")) {
		rc = write_text(workspace_fd, ".git", ews_worktree_gitfile(wt));
		if (rc < 0)
			return ews_error_wrap("cannot write '.git' anew");
	}
	/* Not a directory: somebody put a link there, which is no entry and holds nothing. */
	if (fstatat(wt->common_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
	    unlinkat(wt->common_fd, path, 0) < 0)
		return ews_error_os("cannot remove what stands in the place of the worktree entry");
	if (!ews_worktree_is_there(wt->common_fd, wt->id)) {
		rc = ews_worktree_discard(wt);
		fd = rc < 0 ? rc : ews_worktree_prepare(wt, state, project_git_fd);
		return fd < 0 ? fd : ews_worktree_publish(wt);
	}
	fd = ews_dir_open_beneath(wt->common_fd, path);
	return fd < 0 ? fd : write_links(wt, fd);
}

int ews_worktree_open_kept(const struct ews_worktree *wt, const char *name, bool make)
{
	EWS_CLEANUP(fd) int beside = open_sub(wt->common_fd, BESIDE, make);

	return beside < 0 ? beside : open_sub(beside, name, make);
}

bool ews_worktree_is_there(int common_fd, const char *id)
{
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", id);
	struct stat st;

	return fstatat(common_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool ews_worktree_is_kept(int common_fd, const char *id)
{
	EWS_CLEANUP(free) char *path = ews_strfmt(BESIDE "/%s", id);
	struct stat st;

	return fstatat(common_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool leads_here(const struct ews_worktree *wt, const char *place)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/%s", place, wt->id);
	EWS_CLEANUP(free) char *want = ews_strfmt("%s/.git\n", wt->workspace);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(wt->common_fd, path);
	bool is_ours = fd >= 0;
	int rc = fd < 0 ? fd : ews_file_read(&text, fd, "gitdir", LINK_BYTES_MAX);

	if (rc == 0)
		is_ours = !strcmp(text.ptr, want);
	ews_error_clear();
	return is_ours;
}

bool ews_worktree_is_ours(const struct ews_worktree *wt)
{
	return leads_here(wt, ENTRIES);
}

bool ews_worktree_is_kept_ours(const struct ews_worktree *wt)
{
	return leads_here(wt, BESIDE);
}

/* Does the file `name` hold `want`, which is freed? */
static void compare(struct ews_strv *out, int dir_fd, const char *name, char *want)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (ews_file_read(&text, dir_fd, name, LINK_BYTES_MAX) < 0 || strcmp(text.ptr, want) ||
	    text.len != strlen(want)) {
		ews_error_clear();
		ews_strv_add(out, name);
	}
	free(want);
}

int ews_worktree_tampered(struct ews_strv *out, const struct ews_worktree *wt, int workspace_fd)
{
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", wt->id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(wt->common_fd, path);

	compare(out, workspace_fd, ".git", ews_worktree_gitfile(wt));
	if (fd < 0) {
		ews_error_clear();
		ews_strv_add(out, "worktree entry");
		return 0;
	}
	compare(out, fd, "gitdir", ews_strfmt("%s/.git\n", wt->workspace));
	compare(out, fd, "commondir", ews_strdup("../..\n"));
	return 0;
}
