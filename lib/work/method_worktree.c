/*
 * Method worktree: a linked worktree that is whole or not there.
 *
 * The entry that git keeps of a linked worktree is written complete beside
 * (`<common>/ews/<id>`), synced, and renamed into `<common>/worktrees/`; it
 * leaves by a rename the other way, so that undo can bring it back to the byte.
 * The format is that of gitrepository-layout(5).
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/method.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/linked.h"

#define MAKE_TRIES 16
#define ENTRIES "worktrees"
#define LINK_BYTES_MAX (64 * EWS_KIB)
#define CONFIG_BYTES_MAX (16 * EWS_MIB)

/* The text of the workspace's ".git" file. */
static char *format_gitfile(const struct ews_place *place)
{
	return ews_strfmt("gitdir: %s/" ENTRIES "/%s\n", place->common_dir, place->id);
}

static bool has_entry(const struct ews_place *place, const char *where)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/%s", where, place->id);
	struct stat st;

	return fstatat(place->common_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is there an entry of that name, ours or another's? */
static bool is_there(const struct ews_place *place)
{
	return has_entry(place, ENTRIES);
}

/* For whom the store is. */
static struct ews_sharing sharing_of(const struct ews_place *place)
{
	return ews_odb_sharing(place->odb);
}

static int make_sub(const struct ews_place *place, int dir_fd, const char *name)
{
	int rc = ews_dir_make_shared(dir_fd, name, sharing_of(place));

	return rc < 0 ? rc : ews_dir_open_beneath(dir_fd, name);
}

/* A file of the project's git directory that may be missing. */
static int copy_file(const struct ews_place *place, int to_fd, int from_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, from_fd, name, CONFIG_BYTES_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? rc : ews_file_replace_shared(to_fd, name, text.ptr, text.len, sharing_of(place), NULL);
}

static int copy_sparse(const struct ews_place *place, int entry_fd)
{
	EWS_CLEANUP(fd) int from = -1;
	EWS_CLEANUP(fd) int to = -1;

	if (faccessat(place->git_fd, "info/sparse-checkout", F_OK, 0) < 0)
		return 0;
	from = ews_dir_open_beneath(place->git_fd, "info");
	if (from < 0)
		return from;
	to = make_sub(place, entry_fd, "info");
	return to < 0 ? to : copy_file(place, to, from, "sparse-checkout");
}

/* A file of the entry. */
static int write_link(const struct ews_place *place, int fd, const char *name, char *text)
{
	int rc = ews_file_replace_shared(fd, name, text, strlen(text), sharing_of(place), NULL);

	free(text);
	return rc;
}

static int write_links(const struct ews_place *place, int entry_fd)
{
	int rc = write_link(place, entry_fd, "gitdir", ews_strfmt("%s/.git\n", place->workspace));

	if (rc == 0)
		rc = write_link(place, entry_fd, "commondir", ews_strdup("../..\n"));
	if (rc == 0)
		rc = write_link(place, entry_fd, "locked", ews_strfmt(EWS_LINKED_LOCKED_BY "%s\n", place->id));
	return rc;
}

/*
 * Do with `put` what gives the directory `where`, which is made, a name; its descriptor goes to `out`. Whoever finds it empty may
 * remove it until then, as tidy() does, a sweep of trash, and git: it is made again.
 */
static int put_into(int *out, const struct ews_place *place, const char *where,
		    int (*put)(const struct ews_place *place, int dir_fd, const void *payload), const void *payload)
{
	int rc = EWS_ENOTFOUND;

	for (int tries = 0; rc == EWS_ENOTFOUND && tries < MAKE_TRIES; tries++) {
		EWS_CLEANUP(fd) int fd = make_sub(place, place->common_fd, where);

		rc = fd < 0 ? fd : put(place, fd, payload);
		if (rc == 0)
			*out = ews_steal_fd(&fd);
	}
	return rc;
}

static int make_own(const struct ews_place *place, int dir_fd, const void *payload)
{
	(void)payload;
	return mkdirat(dir_fd, place->id, 0777) < 0 ? ews_error_os("cannot make '%s'", place->id) : 0;
}

static int write_entry(const struct ews_place *place, const struct ews_gitstate *state)
{
	EWS_CLEANUP(fd) int beside = -1;
	EWS_CLEANUP(fd) int fd = -1;
	int rc = put_into(&beside, place, EWS_METHOD_BESIDE, make_own, NULL);

	if (rc < 0)
		return ews_error_wrap("cannot make the worktree entry '%s'", place->id);
	fd = ews_dir_open_beneath(beside, place->id);
	if (fd < 0)
		return fd;
	rc = ews_sharing_apply(sharing_of(place), fd);
	if (rc == 0)
		rc = write_links(place, fd);
	if (rc == 0)
		rc = copy_sparse(place, fd);
	if (rc == 0)
		rc = ews_gitstate_write(state, fd, -1, sharing_of(place), NULL);
	if (rc == 0)
		rc = ews_file_sync_dir(fd);
	return rc < 0 ? ews_error_wrap("cannot write the worktree entry '%s'", place->id) : 0;
}

/* The workspace is not ours alone: who was killed on the way to ".git" left a regular file with what that was to hold, or its start. */
static bool is_gitfile_beside(int workspace_fd, const char *name, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf there = EWS_BUF_INIT;
	bool is = ews_file_is_beside(name) && ews_file_read(&there, workspace_fd, name, LINK_BYTES_MAX) == 0 &&
		  ews_str_begins(text, there.len ? there.ptr : "");

	ews_error_clear();
	return is;
}

static void drop_beside(int workspace_fd, const char *text)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, workspace_fd);

	for (ssize_t i = 0; i < n; i++)
		if (is_gitfile_beside(workspace_fd, names.items[i].name, text))
			(void)unlinkat(workspace_fd, names.items[i].name, 0); /* best effort: it stays in sight */
	ews_error_clear();
}

static int write_gitfile(const struct ews_place *place, int workspace_fd)
{
	EWS_CLEANUP(free) char *text = format_gitfile(place);

	return ews_file_replace(workspace_fd, ".git", text, strlen(text), 0644);
}

/* Where agents have worked, and somebody may have been killed at that before. */
static int write_gitfile_anew(const struct ews_place *place, int workspace_fd)
{
	EWS_CLEANUP(free) char *text = format_gitfile(place);

	drop_beside(workspace_fd, text);
	return write_gitfile(place, workspace_fd);
}

static int prepare(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = write_gitfile(place, workspace_fd);
	if (rc == 0)
		rc = write_entry(place, state);
	return rc < 0 ? rc : ews_sync_finish(&group);
}

static int rename_own(const struct ews_place *place, int dir_fd, const void *from_fd)
{
	return ews_file_rename_new(*(const int *)from_fd, place->id, dir_fd, place->id);
}

/* One rename between the two places, made durable on both sides. */
static int move_entry(const struct ews_place *place, const char *from, const char *to)
{
	EWS_CLEANUP(fd) int from_fd = ews_dir_open_beneath(place->common_fd, from);
	EWS_CLEANUP(fd) int to_fd = -1;
	int rc;

	if (from_fd < 0)
		return from_fd;
	rc = put_into(&to_fd, place, to, rename_own, &from_fd);
	if (rc == 0)
		rc = ews_file_sync_dir(to_fd);
	return rc < 0 ? rc : ews_file_sync_dir(from_fd);
}

/* Does what stands there lead to our workspace? What has no such file yet may. Fails where that can't be read just now. */
static int leads_here(const struct ews_place *place, const char *where)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/%s", where, place->id);
	EWS_CLEANUP(free) char *want = ews_strfmt("%s/.git\n", place->workspace);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(place->common_fd, path);
	int rc = fd < 0 ? fd : ews_file_read(&text, fd, "gitdir", LINK_BYTES_MAX);

	if (rc == 0)
		return !strcmp(text.ptr, want);
	return ews_error_if_passing(rc) < 0 ? rc : fd >= 0;
}

/* An empty directory of ours or git's tells people nothing. */
static void tidy(const struct ews_place *place)
{
	(void)unlinkat(place->common_fd, ENTRIES, AT_REMOVEDIR); /* git removes it as well when it is empty */
	(void)unlinkat(place->common_fd, EWS_METHOD_BESIDE, AT_REMOVEDIR);
}

static int publish(const struct ews_place *place)
{
	int rc = move_entry(place, EWS_METHOD_BESIDE, ENTRIES);

	if (rc < 0)
		return ews_error_wrap("cannot register the worktree '%s'", place->id);
	tidy(place);
	return 0;
}

static int discard_in(const struct ews_place *place, const char *where)
{
	EWS_CLEANUP(fd) int dir = ews_dir_open_beneath(place->common_fd, where);
	int rc;

	if (dir < 0) {
		ews_error_clear();
		return 0;
	}
	rc = ews_file_remove_tree(dir, place->id);
	if (rc < 0)
		return rc;
	tidy(place);
	return 0;
}

static int discard(const struct ews_place *place)
{
	return discard_in(place, EWS_METHOD_BESIDE);
}

/* Who was killed at moving it may have left it in two parts. */
static int settle(const struct ews_place *place, const char *where)
{
	EWS_CLEANUP(fd) int dir = ews_dir_open_beneath(place->common_fd, where);

	if (dir < 0)
		return ews_error_if_passing(dir);
	return ews_file_settle(dir, place->id);
}

/*
 * A git that is at work in the workspace while the entry is taken out makes the directory for its log anew. Such a directory is no
 * entry, and nothing of it is wanted: it goes.
 */
static int drop_litter(const struct ews_place *place)
{
	static const char *const parts[] = { "HEAD", "index", "gitdir", "commondir", "locked" };
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", place->id);
	EWS_CLEANUP(fd) int fd = -1;
	int rc = settle(place, ENTRIES);

	if (rc == 0)
		rc = settle(place, EWS_METHOD_BESIDE);
	if (rc < 0)
		return rc;
	fd = ews_dir_open_beneath(place->common_fd, path);
	/* Of what can't be opened there is nothing to say here. */
	if (fd < 0) {
		ews_error_clear();
		return 0;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && rc == 0; i++)
		rc = ews_file_is_there(fd, parts[i]);
	return rc ? (rc < 0 ? rc : 0) : discard_in(place, ENTRIES);
}

static int withdraw(const struct ews_place *place)
{
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", place->id);
	int rc = drop_litter(place);

	if (rc == 0)
		rc = ews_file_is_there(place->common_fd, path);
	if (rc <= 0)
		return rc;
	/* Of two the one that git knows is the workspace's. */
	rc = leads_here(place, ENTRIES);
	if (rc > 0)
		rc = leads_here(place, EWS_METHOD_BESIDE);
	if (rc > 0)
		rc = discard(place);
	if (rc == 0)
		rc = move_entry(place, ENTRIES, EWS_METHOD_BESIDE);
	if (rc < 0)
		return ews_error_wrap("cannot take out the worktree '%s'", place->id);
	tidy(place);
	return 0;
}

static int restore(const struct ews_place *place)
{
	int rc = drop_litter(place);

	return rc < 0 || is_there(place) ? rc : publish(place);
}

/* Did it come along with the entries of another repository's sessions, of which this one is a copy? */
static bool is_copied(const struct ews_place *place)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/" ENTRIES "/%s", place->common_dir, place->id);
	EWS_CLEANUP(free) char *original = ews_linked_original(git_dir, place->common_dir);
	EWS_CLEANUP(free) char *name = ews_strfmt(ENTRIES "/%s/locked", place->id);
	EWS_CLEANUP(buf) struct ews_buf locked = EWS_BUF_INIT;
	bool is = original && ews_file_read(&locked, place->common_fd, name, LINK_BYTES_MAX) == 0 &&
		  ews_str_begins(locked.ptr, EWS_LINKED_LOCKED_BY);

	ews_error_clear();
	return is;
}

static int check_free(const struct ews_place *place)
{
	EWS_CLEANUP(free) char *logs = ews_strfmt(ENTRIES "/%s/logs", place->id);
	/* Without a log it may be one that git is about to make, and whose lock is not there yet. */
	int rc = ews_file_is_there(place->common_fd, logs);

	if (rc > 0)
		rc = drop_litter(place);
	if (rc < 0)
		return rc;
	if (is_there(place)) {
		bool is_copy = is_copied(place);

		ews_error(EWS_EEXISTS, "a worktree of git called '%s' already exists", place->id);
		ews_error_hint("choose another id, or leave it out and one is made%s",
			       is_copy ? "; that one came with a copy of another repository, and 'git ews doctor --fix' "
					 "removes it where nothing is lost with it"
				       : "");
		return EWS_EEXISTS;
	}
	if (has_entry(place, EWS_METHOD_BESIDE)) {
		ews_error(EWS_EEXISTS, "of another home a session '%s' already exists", place->id);
		ews_error_hint("choose another id, or leave it out and one is made");
		return EWS_EEXISTS;
	}
	return 0;
}

/* What stands under the same name and leads elsewhere is not of this start's making. */
static int take_back(const struct ews_place *place)
{
	int rc = leads_here(place, ENTRIES);

	if (rc > 0)
		rc = withdraw(place);
	if (rc == 0)
		rc = leads_here(place, EWS_METHOD_BESIDE);
	return rc > 0 ? discard(place) : rc;
}

static int open_git(const struct ews_place *place, int workspace_fd)
{
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", place->id);
	int fd = ews_dir_open_beneath(place->common_fd, path);

	(void)workspace_fd;
	if (fd < 0 && ews_errno_is_absent_or_link(errno))
		return ews_error(EWS_ENOTFOUND, "the worktree entry '%s' is gone", place->id);
	return fd;
}

/* Does the file `name` hold `want`, which is freed? What can't be read just now is no sign of anything. */
static int compare(struct ews_strv *out, int dir_fd, const char *name, char *want)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, dir_fd, name, LINK_BYTES_MAX);
	bool is_bent = rc == 0 && (strcmp(text.ptr, want) || text.len != strlen(want));

	free(want);
	if (rc == EWS_ENOTFOUND || rc == EWS_EDAMAGED || (rc < 0 && ews_error_errno() == EACCES)) {
		ews_error_clear();
		is_bent = true;
		rc = 0;
	}
	if (is_bent)
		ews_strv_add(out, name);
	return rc;
}

static int tampered(struct ews_strv *out, const struct ews_place *place, int workspace_fd)
{
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", place->id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(place->common_fd, path);
	bool is_bent = fd < 0 && (ews_errno_is_absent_or_link(errno) || errno == EACCES);
	int rc = fd < 0 && !is_bent ? fd : compare(out, workspace_fd, ".git", format_gitfile(place));

	if (rc < 0)
		return rc;
	if (is_bent) {
		ews_error_clear();
		ews_strv_add(out, EWS_METHOD_ENTRY);
		return 0;
	}
	rc = compare(out, fd, "gitdir", ews_strfmt("%s/.git\n", place->workspace));
	return rc < 0 ? rc : compare(out, fd, "commondir", ews_strdup("../..\n"));
}

static int repair(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state)
{
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *path = ews_strfmt(ENTRIES "/%s", place->id);
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;
	int rc = tampered(&bent, place, workspace_fd);

	if (rc < 0 || !bent.n)
		return rc;
	if (ews_strv_has(&bent, ".git")) {
		rc = write_gitfile_anew(place, workspace_fd);
		if (rc < 0)
			return ews_error_wrap("cannot write '.git' anew");
	}
	/* Not a directory: somebody put a link there, which is no entry and holds nothing. */
	if (fstatat(place->common_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
	    unlinkat(place->common_fd, path, 0) < 0)
		return ews_error_os("cannot remove what stands in the place of the worktree entry");
	rc = drop_litter(place);
	if (rc == 0)
		rc = ews_file_is_there(place->common_fd, path);
	if (rc == 0) {
		rc = discard(place);
		if (rc == 0)
			rc = write_entry(place, state);
		return rc < 0 ? rc : publish(place);
	}
	if (rc < 0)
		return rc;
	fd = ews_dir_open_beneath(place->common_fd, path);
	return fd < 0 ? fd : write_links(place, fd);
}

static int follow(const struct ews_place *place, int workspace_fd, const char *was)
{
	EWS_CLEANUP(strv) struct ews_strv others = EWS_STRV_INIT;
	const struct ews_place before = { .id = place->id, .common_dir = was };
	int rc = compare(&others, workspace_fd, ".git", format_gitfile(&before));

	return rc < 0 || others.n ? rc : write_gitfile_anew(place, workspace_fd);
}

const struct ews_method ews_method_worktree = {
	.name = "worktree",
	.json_name = "git_worktree",
	.check_free = check_free,
	.prepare = prepare,
	.publish = publish,
	.withdraw = withdraw,
	.restore = restore,
	.take_back = take_back,
	.open_git = open_git,
	.tampered = tampered,
	.repair = repair,
	.follow = follow,
	.open_kept = ews_method_open_beside,
};
