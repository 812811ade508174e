/*
 * What killed verbs left lying: see recover_sweep.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/recover_sweep.h"

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
#include "base/str.h"
#include "store/home.h"
#include "store/litter.h"
#include "store/lock.h"
#include "work/archive.h"
#include "work/artifact.h"
#include "work/artifact_place.h"
#include "work/holding.h"
#include "work/hooks.h"
#include "work/retire.h"
#include "work/round_record.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/stage.h"
#include "work/trash.h"
#include "work/whose.h"

/* How long a file may stand beside the one that it is to replace, and how often that is looked at. */
#define REPLACE_MS 1000
#define WAIT_MS 50
#define CLAIM_S 600 /* how long a project's directory may be on its way */
#define GITDIR_BYTES_MAX (64 * EWS_KIB)

/* Has its writer, who lives and waits for the disk, locked the file? Where it can't be opened he may have. */
static bool has_writer(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? !ews_errno_is_absent_or_link(errno) && errno != ENXIO : ews_litter_has_writer(fd);
}

/* What is made beside its place is there for a moment only: what stands for longer was left by a killed verb. */
static void sweep_one(int dir_fd, const char *name)
{
	struct stat st;

	for (unsigned waited_ms = 0; fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0; waited_ms += WAIT_MS) {
		if (waited_ms >= REPLACE_MS || st.st_mtim.tv_sec + 1 < ews_clock_now()) {
			if (!has_writer(dir_fd, name))
				(void)ews_file_remove_tree(dir_fd, name); /* best effort: the next sweep finds it */
			return;
		}
		ews_clock_sleep_ms(WAIT_MS);
	}
}

/* Litter whose name begins with `prefix` in one of our own directories. */
static void sweep_prefix(int fd, const char *prefix)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++)
		if (ews_str_begins(names.items[i].name, prefix))
			sweep_one(fd, names.items[i].name);
}

/* Files that were to replace others. */
static void sweep_dir(int fd)
{
	sweep_prefix(fd, EWS_FILE_BESIDE);
}

static void sweep_below(int dir_fd, const char *rel)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(dir_fd, rel);

	if (fd >= 0)
		sweep_dir(fd);
	ews_error_clear();
}

/* Directories of projects are made beside, too; whoever does that may have to wait for the disk. */
static void sweep_unclaimed(int working_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, working_fd);
	struct stat st;

	for (ssize_t i = 0; i < n; i++)
		if (ews_str_begins(names.items[i].name, ".new-") &&
		    fstatat(working_fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtim.tv_sec + CLAIM_S < ews_clock_now())
			(void)ews_file_remove_tree(working_fd, names.items[i].name); /* best effort, as above */
}

/* Repositories of ours and directories of projects that were not finished, and what was on its way out. */
void ews_recover_sweep_home(const struct ews_repo *repo)
{
	static const char *const in_home[] = { EWS_HOME_ACCEPTED, EWS_HOME_ELSEWHERE, EWS_HOME_HOOKS };
	EWS_CLEANUP(fd) int home = ews_dir_open(repo->home);
	EWS_CLEANUP(fd) int store = home < 0 ? -1 : ews_dir_open_beneath(home, EWS_HOME_STORES);
	EWS_CLEANUP(fd) int working = home < 0 ? -1 : ews_dir_open_beneath(home, EWS_HOME_WORKING);

	if (home >= 0) {
		sweep_prefix(home, ".new-");
		sweep_dir(home);
		for (size_t i = 0; i < sizeof(in_home) / sizeof(*in_home); i++)
			sweep_below(home, in_home[i]);
	}
	sweep_below(repo->common_fd, EWS_HOOKS_DIR);
	if (store >= 0)
		sweep_prefix(store, ".new-");
	if (working >= 0) {
		sweep_unclaimed(working);
		sweep_prefix(working, ".gone-");
	}
	ews_archive_sweep(repo->home);
	ews_error_clear();
}

/* When the oldest step began that has not come to its end, in another work tree none; INT64_MAX: each has. */
static int find_unfinished(int64_t *out_s, const struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_step_list(&ids, repo->dir_fd);

	*out_s = INT64_MAX;
	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_read(&step, repo->dir_fd, ids.items[i]);
		if (rc == 0 && ews_step_is_unfinished(&step) && ews_whose(&step, repo) == EWS_WHOSE_OURS &&
		    step.created_s < *out_s)
			*out_s = step.created_s;
		else if (rc < 0)
			rc = ews_error_if_passing(rc); /* one that makes no sense tells nothing */
	}
	return rc;
}

/*
 * Lock files that nobody holds any more. Their holders were killed, and with them perhaps a git that made objects
 * for them, or moved refs; a step that has not come to its end says so as well, for a lock's file goes when the next one lets
 * go of it.
 */
static int sweep_locks(struct ews_repo *repo)
{
	bool is_project = false;
	int64_t since_s;
	int rc = find_unfinished(&since_s, repo);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->dir_fd, EWS_LOCKS);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	if (rc < 0)
		return rc;
	for (ssize_t i = 0; i < n; i++) {
		struct ews_lock lock = EWS_LOCK_INIT;
		struct stat st;

		if (ews_holding_is_name(names.items[i].name) ||
		    fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    ews_lock_take(&lock, fd, names.items[i].name, EWS_LOCK_SWEEP, 0) < 0)
			continue;
		/* Whoever takes a lock removes its file when he gives it up. */
		ews_lock_release(&lock);
		is_project = is_project || !strcmp(names.items[i].name, EWS_LOCK_PROJECT);
		if (st.st_mtim.tv_sec < since_s)
			since_s = st.st_mtim.tv_sec;
	}
	if (since_s < INT64_MAX)
		ews_stage_sweep(repo, since_s, is_project);
	(void)ews_holding_sweep(repo); /* best effort: who takes a lock looks again */
	ews_error_clear();
	return 0;
}

/* Does the entry lead to a workspace that is not below this home? Then another home's session may want it back. */
static bool is_anothers(const struct ews_repo *repo, int beside_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(beside_fd, name);
	EWS_CLEANUP(free) char *real = realpath(repo->dir, NULL);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = fd < 0 ? fd : ews_file_read(&text, fd, "gitdir", GITDIR_BYTES_MAX);

	ews_error_clear();
	ews_buf_rtrim(&text);
	/* Of what can't be read just now nobody knows whose it is. */
	return rc == 0 ? !ews_path_is_inside(text.ptr, real ? real : repo->dir)
		       : rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED;
}

/* Repositories of submodules may hold commits that nothing else does, also of a session whose records are lost. */
static bool has_modules(int beside_fd, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(name, "modules");

	return ews_file_is_there(beside_fd, path) != 0;
}

/* An entry of no session that is listed; the lock says that none is about to be. */
static void sweep_one_beside(struct ews_repo *repo, int fd, const char *name)
{
	EWS_CLEANUP(free) char *session = ews_strfmt(EWS_WORKING_SESSIONS "/%s", name);
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;

	if (ews_repo_lock(&lock, repo, name, EWS_LOCK_SWEEP, 0) == 0 &&
	    ews_file_is_there(repo->dir_fd, session) == 0 && !is_anothers(repo, fd, name) && !has_modules(fd, name))
		(void)ews_file_remove_tree(fd, name); /* best effort */
}

/* Entries beside git's worktrees that belong to no session that could want them back; those of running starts are locked. */
static void sweep_beside(struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->common_fd, "ews");
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	if (ews_session_ids(&ids, repo) < 0)
		n = 0;
	for (ssize_t i = 0; i < n; i++)
		if (!ews_str_begins(names.items[i].name, "op-") && !ews_retire_is_name(names.items[i].name) &&
		    !ews_strv_has(&ids, names.items[i].name))
			sweep_one_beside(repo, fd, names.items[i].name);
	ews_error_clear();
}

/* git's directory is not ours alone: what begins as our files do, and goes on otherwise, is somebody else's. */
static bool is_beside(int fd, const char *name)
{
	struct stat st;

	return ews_file_is_beside(name) && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static void sweep_git_dir(int fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++)
		if (is_beside(fd, names.items[i].name))
			sweep_one(fd, names.items[i].name);
}

/* What was to replace git's own files, as its index, or the patterns of a sparse checkout. */
static void sweep_git_dirs(int git_fd)
{
	EWS_CLEANUP(fd) int info = ews_dir_open_beneath(git_fd, "info");

	sweep_git_dir(git_fd);
	if (info >= 0)
		sweep_git_dir(info);
	ews_error_clear();
}

/* A copy has a git directory of its own. */
static void sweep_copy(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(fd) int fd = -1;

	if (ews_session_open_id(&session, repo, id) == 0 && session.method->owns_objects &&
	    session.state.state == EWS_STATE_ACTIVE)
		fd = ews_session_open_admin(&session);
	if (fd >= 0)
		sweep_git_dirs(fd);
	ews_error_clear();
}

/* The directory of a session, retired or not, its worktree entry or git directory, when nobody is at work on it. */
static void sweep_session(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *id = ews_retire_id(name);
	EWS_CLEANUP(free) char *own = ews_strfmt(EWS_WORKING_SESSIONS "/%s", name);
	EWS_CLEANUP(free) char *entry = ews_strfmt("worktrees/%s", name);
	EWS_CLEANUP(fd) int fd = -1;

	if (ews_repo_is_locked(repo, id))
		return;
	sweep_below(repo->dir_fd, own);
	fd = ews_dir_open_beneath(repo->common_fd, entry);
	if (fd >= 0)
		sweep_git_dirs(fd);
	ews_error_clear();
	if (!strcmp(id, name))
		sweep_copy(repo, id);
}

static void sweep_sessions(struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->dir_fd, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	ews_error_clear();
	for (ssize_t i = 0; i < n; i++)
		sweep_session(repo, names.items[i].name);
}

/* What was let go is deleted, and artifacts have their files: whoever was at it was killed, or is still and goes on. */
static void sweep_kept(struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int project = repo->is_bare ? -1 : ews_dir_open(repo->project);
	EWS_CLEANUP(fd) int own = project < 0 ? -1 : ews_dir_open_beneath(project, EWS_OWN_DIR);
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(fd) int place = ews_artifact_open_place(&path, repo, false);

	ews_error_clear();
	if (own >= 0)
		sweep_dir(own);
	if (place >= 0 && ews_artifact_settle(repo, true) < 0)
		ews_error_clear();
	if (ews_trash_sweep(repo) < 0)
		ews_error_clear();
}

/* Sessions in place do that in the project itself; unless somebody is at work. */
static void sweep_git(const struct ews_repo *repo, const struct ews_strv *ids)
{
	if (repo->git_fd < 0 || ews_repo_is_locked(repo, EWS_LOCK_PROJECT))
		return;
	for (size_t i = 0; i < ids->n; i++)
		if (ews_repo_is_locked(repo, ids->items[i]))
			return;
	sweep_git_dirs(repo->git_fd);
}

/* Records of rounds that were to replace others. */
static void sweep_rounds(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv teams = EWS_STRV_INIT;

	if (ews_round_teams(&teams, repo) < 0)
		ews_error_clear();
	for (size_t i = 0; i < teams.n; i++) {
		EWS_CLEANUP(free) char *rel = ews_path_join(EWS_WORKING_ROUNDS, teams.items[i]);

		sweep_below(repo->dir_fd, rel);
	}
}

int ews_recover_sweep(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_session_ids(&ids, repo);

	if (rc < 0)
		return rc;
	sweep_sessions(repo);
	sweep_git(repo, &ids);
	ews_recover_sweep_home(repo);
	sweep_below(repo->dir_fd, "");
	sweep_below(repo->dir_fd, EWS_WORKING_UNDO);
	sweep_rounds(repo);
	rc = sweep_locks(repo);
	if (rc < 0)
		return rc;
	sweep_beside(repo);
	sweep_kept(repo);
	return ews_litter_sweep(repo->odb);
}
