/*
 * Workspaces of sessions: see session_place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session_place.h"

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
#include "base/handle.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "store/early.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "work/session_lock.h"
#include "work/session_project.h"

#define NO_FD (-1)

struct ews_place ews_session_place(const struct ews_session *session)
{
	const struct ews_repo *repo = session->repo;

	return (struct ews_place){ .id = session->state.id,
				   .workspace = session->state.workspace,
				   .home = repo->home,
				   .common_fd = repo->common_fd,
				   .common_dir = repo->common_dir,
				   .git_fd = repo->git_fd,
				   .odb = repo->odb,
				   .copies_objects = session->state.copies_objects,
				   .is_plain = repo->is_plain };
}

int ews_session_tampered(struct ews_strv *out, const struct ews_session *session)
{
	EWS_CLEANUP(fd) int fd = ews_session_open_workspace(session);
	struct ews_place place = ews_session_place(session);

	return fd < 0 ? fd : session->method->tampered(out, &place, fd);
}

bool ews_session_lacks_entry(const struct ews_strv *tampered)
{
	return tampered->n == 1 && !strcmp(tampered->items[0], EWS_METHOD_ENTRY);
}

int ews_session_open_parent(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *parent = NULL;

	if (ews_session_is_at_home(session))
		return ews_repo_subdir(session->repo, EWS_WORKING_WORKSPACES);
	parent = ews_path_dir(session->state.workspace);
	return ews_dir_open(parent);
}

int ews_session_has_no_parent(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *parent = ews_path_dir(session->state.workspace);
	int rc = ews_session_is_at_home(session) ? 1 : ews_file_is_there(AT_FDCWD, parent);

	return rc < 0 ? ews_error_wrap("cannot look for the place of session '%s'", session->state.id) : !rc;
}

int ews_session_make_parent(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *parent = ews_path_dir(session->state.workspace);
	int rc = ews_session_has_no_parent(session);

	return rc <= 0 ? rc : ews_dir_make_absolute(parent, 0777);
}

int ews_session_is_gone(const struct ews_session *session)
{
	struct stat st;

	if (session->is_lost)
		return 1;
	if (lstat(session->state.workspace, &st) == 0)
		return !S_ISDIR(st.st_mode);
	if (ews_errno_is_absent(errno))
		return 1;
	return ews_error_os("cannot look for the workspace of session '%s'", session->state.id);
}

/* Open a directory whose modes keep even its owner out: the owner's bits are given back first. */
static int open_closed(int parent_fd, const char *name)
{
	EWS_CLEANUP(fd) int handle = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (handle < 0 || fstat(handle, &st) < 0 || ews_handle_chmod(handle, (st.st_mode & 07777) | 0700) < 0)
		return -1;
	return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

char *ews_session_moved_to(const struct ews_session *session)
{
	EWS_CLEANUP(free)
	char *entry = ews_strfmt("%s/worktrees/%s", session->repo->common_dir, session->state.id);
	EWS_CLEANUP(free) char *gitfile = NULL;
	int rc = session->method == &ews_method_worktree ? ews_file_is_there(AT_FDCWD, session->state.workspace) : 1;

	if (rc < 0)
		ews_error_clear(); /* who looks for it says so */
	if (rc != 0)
		return NULL;
	gitfile = ews_gitfile_back(entry);
	if (!gitfile || strcmp(ews_path_base(gitfile), EWS_GITFILE) != 0)
		return NULL;
	/* Where it can't be looked at now it may be all the same. */
	rc = ews_file_is_there(AT_FDCWD, gitfile);
	if (rc < 0)
		ews_error_clear();
	return rc ? ews_path_dir(gitfile) : NULL;
}

/* Of one in place. */
static int fail_lost(const struct ews_session *session)
{
	ews_error(EWS_EDAMAGED, "the work tree of session '%s' is %s: '%s'", session->state.id,
		  ews_session_lost_word(session), session->state.workspace);
	ews_session_hint_lost(session);
	return EWS_EDAMAGED;
}

static int fail_gone(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *there = ews_session_moved_to(session);
	EWS_CLEANUP(free) char *from = ews_shell_shown(there ? there : "");
	EWS_CLEANUP(free) char *to = ews_shell_shown(session->state.workspace);
	EWS_CLEANUP(free) char *round = ews_strfmt("ews/%s", session->state.id);

	ews_error(EWS_EDAMAGED, "the workspace of session '%s' is gone: '%s'", session->state.id,
		  session->state.workspace);
	if (there)
		ews_error_hint("it was moved: git worktree move %s %s", from, to);
	else if (!strcmp(session->state.label, round))
		ews_error_hint(
			"'git ews round list' shows whose round it is; 'git ews round end --force --agent <agent>' ends it, with no more of its work than git still has");
	else
		ews_error_hint("'git ews end %s' ends the session", session->state.id);
	return EWS_EDAMAGED;
}

/* Its workspace's directory; EWS_EDENIED with its message, or else NO_FD with errno. */
static int open_now(const struct ews_session *session)
{
	const char *name = ews_path_base(session->state.workspace);
	EWS_CLEANUP(fd) int parent_fd = ews_session_open_parent(session);
	int fd;

	if (parent_fd < 0)
		return parent_fd == EWS_EDENIED ? parent_fd : NO_FD;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0) {
		int err = errno;

		close(fd);
		fd = NO_FD;
		errno = err;
	}
	return fd < 0 && errno == EACCES ? open_closed(parent_fd, name) : fd;
}

/* By errno: of what is kept from us, or can't be read just now, nobody may think that it is gone. */
static bool is_gone(int fd)
{
	return fd == NO_FD && ews_errno_is_absent_or_link(errno);
}

int ews_session_refuse_lost(const struct ews_session *session)
{
	return session->is_lost ? fail_lost(session) : 0;
}

int ews_session_open_workspace(const struct ews_session *session)
{
	int fd;

	if (session->is_lost) {
		int rc = ews_session_refuse_unsettled(session);

		return rc < 0 ? rc : fail_lost(session);
	}
	if (session->method->is_project)
		return ews_dir_open(session->state.workspace);
	fd = open_now(session);
	if (is_gone(fd)) {
		int rc = ews_session_refuse_unsettled(session);

		if (rc < 0)
			return rc;
		/* Of one that somebody brought back meanwhile it is there by now. */
		fd = open_now(session);
		if (is_gone(fd))
			return fail_gone(session);
		ews_error_clear();
	}
	if (fd == EWS_EDENIED)
		return ews_error_wrap("cannot open the workspace of session '%s'", session->state.id);
	return fd == NO_FD ? ews_error_os("cannot open the workspace of session '%s'", session->state.id) : fd;
}

int ews_session_open_admin(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int workspace = ews_session_open_workspace(session);
	struct ews_place place = ews_session_place(session);
	int fd;

	/* That of a work tree is its own, and none of ours. */
	if (session->is_lost)
		return ews_error(EWS_ENOTFOUND, "session '%s' has no git directory any more", session->state.id);
	/* Where it lies elsewhere, git has it of a workspace that is gone. */
	if (workspace < 0 && ews_session_is_gone(session) != 1)
		return ews_error_code();
	fd = session->method->open_git(&place, workspace);
	/* While the session ends it may have been taken out. */
	if (fd == EWS_ENOTFOUND && session->state.state == EWS_STATE_ENDING && session->method == &ews_method_worktree)
		fd = session->method->open_kept(&place, place.id, false);
	return fd;
}

void ews_session_read_early(struct ews_session *session)
{
	if (!session->early)
		session->early = ews_early_read(session->fd, EWS_SESSION_CACHE);
}

void ews_session_look_early(struct ews_session *session)
{
	struct ews_early_opts opts = { .is_plain = session->repo->is_plain };

	if (session->early && ews_early_looks(session->early))
		return;
	opts.root_fd = ews_session_open_workspace(session);
	/* Whoever looks finds what is wrong, and says it. */
	if (opts.root_fd < 0 ||
	    ews_config_size(&opts.max_file_bytes, ews_repo_config(session->repo), "ews.maxFile") < 0) {
		ews_cleanup_fd(&opts.root_fd);
		ews_error_clear();
		return;
	}
	ews_session_read_early(session);
	ews_early_look(session->early, &opts);
}

/* Returns 1 or 0; fails where that can't be told just now. */
static int has_base(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", session->state.id);
	struct ews_oid base;
	int rc = ews_odb_ref_read(&base, session->repo->odb, ref);

	if (rc < 0 && rc != EWS_ENOTFOUND && rc != EWS_EGIT)
		return rc;
	ews_error_clear();
	return rc == 0;
}

bool ews_session_is_in_another(const struct ews_session *session)
{
	struct ews_oid first;
	bool is = *session->state.base_commit && ews_oid_parse(&first, session->state.base_commit) == 0 &&
		  ews_odb_is(session->repo->odb, &first, EWS_OBJECT_COMMIT) == 0;

	ews_error_clear();
	return is;
}

static int fail_without_base(const struct ews_session *session)
{
	const char *id = session->state.id;

	if (ews_session_is_in_another(session)) {
		ews_error(EWS_EDAMAGED,
			  "the base of session '%s' is gone, and so is the commit that it began at: '%s' is another "
			  "repository than it was",
			  id, session->repo->common_dir);
		ews_error_hint("'git ews end --force %s' ends it without, and keeps the files", id);
		return EWS_EDAMAGED;
	}
	ews_error(EWS_EDAMAGED, "the base of session '%s' is gone", id);
	ews_error_hint("'git ews end --force %s' ends it without, and keeps the files; where no more than the ref "
		       "'" EWS_REF_SESSIONS "%s' was deleted, 'git fsck --lost-found' may still find its commit",
		       id, id);
	return EWS_EDAMAGED;
}

int ews_session_need_base(const struct ews_session *session)
{
	int rc = has_base(session);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = ews_session_refuse_unsettled(session);
	/* Of one that somebody brought back meanwhile it is there by now. */
	if (rc == 0)
		rc = has_base(session);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return fail_without_base(session);
}

static int refuse_tampered(const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv tampered = EWS_STRV_INIT;
	const char *id = session->state.id;
	int rc = ews_session_tampered(&tampered, session);

	if (rc == 0 && tampered.n)
		rc = ews_session_refuse_unsettled(session);
	/* Nothing is written anew where nobody knows what was there. */
	if (rc == 0 && tampered.n)
		rc = ews_session_need_base(session);
	if (rc < 0 || !tampered.n)
		return rc;
	if (ews_session_lacks_entry(&tampered)) {
		ews_error(EWS_EDAMAGED, "session '%s': its '%s' is gone", id, tampered.items[0]);
		ews_error_hint("'git ews recover' writes it anew, and leaves the files alone");
		return EWS_EDAMAGED;
	}
	ews_error(EWS_EDAMAGED, "session '%s': '%s' was rewritten", id, tampered.items[0]);
	ews_error_hint("'git ews recover %s' writes it anew, and leaves the files alone", id);
	return EWS_EDAMAGED;
}

int ews_session_need_active(const struct ews_session *session)
{
	int rc = ews_session_refuse_ended(session);

	if (rc < 0)
		return rc;
	if (ews_session_is_interrupted(session))
		return ews_session_fail_interrupted(session->state.id);
	/* Without a base nothing in the workspace means anything yet. */
	if (session->state.state == EWS_STATE_STARTING && has_base(session) <= 0)
		rc = ews_session_refuse_unsettled(session);
	if (rc == 0)
		rc = refuse_tampered(session);
	/* Of one that somebody was done with meanwhile it counts what it is like since. */
	return rc == EWS_EDAMAGED && session->lock.fd < 0 ? refuse_tampered(session) : rc;
}
