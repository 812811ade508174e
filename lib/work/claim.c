/*
 * Claims: see claim.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/claim.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sync.h"
#include "store/home.h"
#include "store/home_workspace.h"
#include "work/holding.h"
#include "work/retire.h"
#include "work/rules.h"
#include "work/session_lock.h"
#include "work/session_place.h"
#include "work/snapshot.h"

#define MADE_FILE "made"

static int refuse_taken(const char *what, const char *id)
{
	ews_error(EWS_EEXISTS, "%s '%s' already exists", what, id);
	ews_error_hint("choose another id, or leave it out and one is made");
	return EWS_EEXISTS;
}

static int refuse_taken_elsewhere(const char *id)
{
	(void)refuse_taken("of another home a session", id);
	ews_error_hint("choose another id, or leave it out and one is made; 'git ews doctor' says more of that one");
	return EWS_EEXISTS;
}

/* The ended session that bore the id bears it again; the error that led here is what the caller hears. */
static void give_id_back(struct ews_repo *repo, const char *id)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	(void)ews_retire_revive_last(repo, id);
	(void)ews_error_restore(&saved);
}

/* The session's directory is the claim to the id: of two starts one makes it. */
static int take_id(struct ews_session *session, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id);
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", id);
	struct ews_oid base;
	int rc;

	if (sessions < 0)
		return sessions;
	rc = ews_repo_lock(&session->lock, repo, id, "start", 0);
	if (rc < 0)
		return ews_error_wrap("session '%s'", id);
	rc = ews_retire(repo, id);
	if (rc < 0)
		return rc;
	rc = session->method->check_free(
		&(struct ews_place){ .id = id, .common_fd = repo->common_fd, .common_dir = repo->common_dir });
	if (rc == 0 && ews_odb_ref_read(&base, repo->odb, ref) == 0)
		rc = refuse_taken_elsewhere(id);
	if (rc == 0 && mkdirat(sessions, id, 0700) < 0)
		rc = errno == EEXIST ? refuse_taken("session", id) : ews_error_os("cannot make session '%s'", id);
	if (rc < 0) {
		give_id_back(repo, id);
		return rc;
	}
	ews_error_clear();
	session->repo = repo;
	session->dir = ews_path_join(repo->dir, rel);
	session->fd = ews_dir_open_beneath(sessions, id);
	return session->fd < 0 ? session->fd : 0;
}

/* A workspace inside the project is part of it, but for the one place there that is ours, which nothing looks at. */
static int check_outside(const struct ews_repo *repo, const char *path)
{
	EWS_CLEANUP(free) char *own = ews_path_join(repo->project, EWS_OWN_DIR);

	if (repo->is_bare || !ews_path_is_inside(path, repo->project) || ews_path_is_inside(path, own))
		return 0;
	ews_error(EWS_EUSAGE, "'%s' lies inside the project, which would see the workspace as its own files", path);
	ews_error_hint("name a directory outside of '%s', or below its '.superqode'", repo->project);
	return EWS_EUSAGE;
}

/* Among home's records a workspace would be taken for one. Where those of the project are anyway, it may be. */
static int check_unreserved(const struct ews_repo *repo, const char *parent, const char *id)
{
	EWS_CLEANUP(free) char *path = ews_path_join(parent, id);
	EWS_CLEANUP(free) char *real = ews_dir_resolve(parent);
	EWS_CLEANUP(free) char *dir = repo->dir ? ews_dir_resolve(repo->dir) : NULL;
	EWS_CLEANUP(free) char *usual = dir ? ews_path_join(dir, EWS_WORKING_WORKSPACES) : NULL;

	if ((usual && !strcmp(real, usual)) || !ews_home_is_reserved(repo->home, path))
		return 0;
	ews_error(EWS_EUSAGE, "'%s' lies where git ews keeps its own records", path);
	ews_error_hint("name a directory outside of '%s'", repo->home);
	return EWS_EUSAGE;
}

/* The directory that the workspace of `id` will lie in, made when missing; gives its real path. */
static int choose_parent(char **out, struct ews_repo *repo, const char *in, const char *id)
{
	EWS_CLEANUP(free) char *cwd = getcwd(NULL, 0);
	EWS_CLEANUP(free) char *own = ews_path_join(repo->project, EWS_OWN_DIR);
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(free) char *real = NULL;
	EWS_CLEANUP(fd) int home_fd = -1;
	int rc;

	if (!in) {
		home_fd = ews_repo_subdir(repo, EWS_WORKING_WORKSPACES);
		if (home_fd < 0)
			return home_fd;
		real = realpath(repo->dir, NULL);
		*out = ews_path_join(real ? real : repo->dir, EWS_WORKING_WORKSPACES);
		return 0;
	}
	path = ews_path_absolute(cwd ? cwd : "/", in);
	rc = check_outside(repo, path);
	if (rc == 0)
		rc = check_unreserved(repo, path, id);
	if (rc < 0)
		return rc;
	if (ews_path_is_inside(path, own))
		rc = ews_repo_make_own_dir(repo);
	if (rc == 0)
		rc = ews_dir_make_absolute(path, 0777);
	if (rc < 0)
		return ews_error_wrap("cannot make '%s'", path);
	real = realpath(path, NULL);
	if (!real)
		return ews_error_os("cannot find '%s'", path);
	rc = check_outside(repo, real);
	if (rc == 0)
		*out = ews_steal(&real);
	return rc;
}

static int refuse_standing(struct ews_repo *repo, const char *parent, const char *id)
{
	EWS_CLEANUP(free) char *path = ews_path_join(parent, id);
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	struct stat st;
	bool is_known;
	int has_ended;

	if (sessions < 0)
		return sessions;
	if (lstat(path, &st) < 0)
		return 0;
	is_known = faccessat(sessions, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	has_ended = is_known ? ews_state_has_ended(sessions, id) : 0;
	if (has_ended < 0)
		return has_ended;
	if (is_known && !has_ended) {
		(void)refuse_taken("session", id);
		ews_error_hint(
			"choose another id, or leave it out and one is made; 'git ews status %s' shows that one", id);
		return EWS_EEXISTS;
	}
	ews_error(EWS_EEXISTS, "'%s' already exists", path);
	if (is_known)
		ews_error_hint(
			"session '%s' has ended, and somebody made that since: move it away, or choose another id",
			id);
	else
		ews_error_hint("choose another id or another place");
	return EWS_EEXISTS;
}

int ews_claim_take(struct ews_session *session, struct ews_repo *repo, const char *id,
		   const struct ews_claim_opts *opts)
{
	struct ews_state *state = &session->state;
	EWS_CLEANUP(free) char *parent = NULL;
	EWS_CLEANUP(buf) struct ews_buf exclude = EWS_BUF_INIT;
	int rc = ews_rules_exclude_text(&exclude, repo, NULL);

	if (rc == 0 && !session->method->is_project)
		rc = choose_parent(&parent, repo, opts->in, id);
	if (rc == 0 && parent)
		rc = refuse_standing(repo, parent, id);
	if (rc == 0)
		rc = take_id(session, repo, id);
	if (rc < 0)
		return rc;
	state->state = EWS_STATE_STARTING;
	state->id = ews_strdup(id);
	state->method = ews_strdup(session->method->name);
	state->project = ews_strdup(repo->project);
	state->git_dir = ews_strdup(repo->git_dir);
	state->workspace = parent ? ews_path_join(parent, id) : ews_strdup(repo->project);
	state->base_snapshot = ews_clock_id("snap", state->created_s);
	state->parent_snapshot = opts->is_chained ? ews_clock_id("snap", state->created_s) : ews_strdup("");
	state->base_commit = ews_strdup("");
	state->branch = ews_strdup("");
	state->intent = ews_strdup(opts->intent ? opts->intent : "");
	state->label = ews_strdup(opts->label ? opts->label : "");
	state->last_snapshot = ews_strdup(opts->is_chained ? state->parent_snapshot : state->base_snapshot);
	state->exclude = ews_strdup(exclude.ptr);
	state->copies_objects = opts->copies_objects;
	state->keeps_nested = opts->keeps_nested;
	state->guard_level = ews_strdup("");
	state->guard_policy = ews_strdup("");
	if (!opts->owner)
		return 0;
	rc = ews_session_own(session, opts->owner);
	if (rc == 0)
		ews_lock_note_also(&session->owner_lock, EWS_OWNER_MADE, "for");
	return rc;
}

int ews_claim_save(void *payload)
{
	struct ews_session *session = payload;
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(session->repo, EWS_WORKING_SESSIONS);
	int rc = sessions;

	ews_sync_begin(&group);
	if (rc >= 0)
		rc = ews_file_sync_dir(sessions);
	if (rc == 0)
		rc = ews_session_save(session);
	return rc < 0 ? rc : ews_sync_finish(&group);
}

/* From here on what is there is ours to remove again. */
static int mark_made(const struct ews_session *session, int parent_fd)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = ews_file_sync_dir(parent_fd);
	if (rc == 0)
		rc = ews_file_replace(session->fd, MADE_FILE, "", 0, 0600);
	return rc < 0 ? rc : ews_sync_finish_in_order(&group);
}

int ews_claim_make_workspace(struct ews_session *session, int project_fd, bool is_elsewhere)
{
	struct ews_repo *repo = session->repo;
	const char *path = session->state.workspace;
	EWS_CLEANUP(fd) int parent = -1;
	struct stat st;
	mode_t mode = 0777;
	int fd, rc;

	if (project_fd >= 0) {
		if (fstat(project_fd, &st) < 0)
			return ews_error_os("cannot look at '%s'", repo->project);
		mode = (st.st_mode & 0777) | 0700;
	}
	if (is_elsewhere) {
		rc = ews_home_mark_elsewhere(repo->home, path, repo->dir, session->state.id);
		if (rc < 0)
			return rc;
	}
	parent = ews_session_open_parent(session);
	if (parent < 0)
		return parent;
	if (mkdirat(parent, session->state.id, mode) < 0)
		return ews_error_os("cannot make the workspace '%s'", path);
	rc = mark_made(session, parent);
	if (rc < 0)
		return rc;
	fd = openat(parent, session->state.id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Whatever the umask says. */
	if (fd < 0 || fchmod(fd, mode) < 0)
		return ews_error_os("cannot open the workspace '%s'", path);
	return fd;
}

int ews_claim_remove_workspace(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int parent_fd = ews_session_open_parent(session);
	int rc = 0;

	assert(!session->method->is_project);
	if (parent_fd >= 0 && faccessat(session->fd, MADE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		rc = ews_file_remove_tree(parent_fd, session->state.id);
	else if (parent_fd >= 0)
		(void)unlinkat(parent_fd, session->state.id, AT_REMOVEDIR); /* killed right after mkdir: it is empty */
	return rc < 0 ? rc : ews_home_unmark_elsewhere(session->repo->home, session->state.workspace);
}

int ews_claim_give_up(struct ews_session *session)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	int rc = sessions < 0 ? sessions : ews_holding_drop(repo, session->state.id);

	if (rc >= 0)
		rc = ews_file_remove_tree(sessions, session->state.id);
	return rc < 0 ? rc : ews_retire_revive_last(repo, session->state.id);
}
