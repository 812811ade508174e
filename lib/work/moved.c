/*
 * Moved: see moved.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/moved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "store/git_place.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "store/home_project.h"
#include "store/lock.h"
#include "store/step.h"
#include "work/epoch.h"
#include "work/orphan.h"
#include "work/retire.h"
#include "work/session.h"
#include "work/session_lock.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/snapshot.h"

#define OWN_LOCK "~moved" /* no session's id */

/* Does the repository hold what the session started from, be it where an end has put that which was killed before it said so? */
static int has_base(struct ews_repo *repo, const struct ews_orphan *orphan)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	struct ews_session session = { .repo = repo, .state = orphan->state, .fd = -1 };
	int rc;

	session.state.state = EWS_STATE_ENDED;
	rc = ews_snapshot_base(&base, &session);
	return rc < 0 ? ews_error_if_passing(rc) : !strcmp(base.id, orphan->state.base_snapshot);
}

/* A mirror has the same refs, but not the entries of linked worktrees. */
static int lacks_entry(const struct ews_repo *repo, const struct ews_orphan *orphan)
{
	EWS_CLEANUP(free) char *entry = ews_strfmt("worktrees/%s", orphan->id);
	int rc;

	if (orphan->state.state != EWS_STATE_ACTIVE || ews_method_find(orphan->state.method) != &ews_method_worktree)
		return 0;
	rc = ews_file_is_there(repo->common_fd, entry);
	return rc < 0 ? rc : !rc;
}

static int has_trash(const struct ews_repo *repo, const char *snapshot)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_TRASH "%s", snapshot);
	struct ews_oid oid;
	int rc = *snapshot ? ews_odb_ref_read(&oid, repo->odb, ref) : EWS_ENOTFOUND;

	return rc < 0 ? ews_error_if_passing(rc) : 1;
}

/* Does the repository hold what a step needs that home has on record? The session of an apply may have gone long since. */
static int has_step(const struct ews_repo *repo, const struct ews_home_project *project)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(project->dir);
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = fd < 0 ? fd : ews_step_list(&ids, fd);

	if (rc < 0)
		return ews_error_if_passing(rc);
	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_read(&step, fd, ids.items[i]);
		if (rc == 0)
			rc = has_trash(repo, step.before);
		if (rc == 0)
			rc = has_trash(repo, step.after);
		rc = rc < 0 ? ews_error_if_passing(rc) : rc;
	}
	return rc;
}

/* One that has none of our refs holds nothing that was begun elsewhere, whatever of that can be read. */
static int has_refs(const struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, repo->odb, "refs/ews/");

	return rc < 0 ? ews_error_if_passing(rc) : refs.n > 0;
}

/* Once the others have followed nobody would look for one here that can't be read just now. */
static int refuse_unread(const struct ews_home_project *project, const struct ews_orphans *orphans)
{
	for (size_t i = 0; i < orphans->n; i++) {
		const struct ews_orphan *orphan = &orphans->items[i];

		if (!orphan->unread)
			continue;
		errno = orphan->unread;
		ews_error_os("cannot read session '%s' of '%s' just now", orphan->id, project->project);
		ews_error_hint("its record is in '%s/" EWS_WORKING_SESSIONS "/%s': once that can be read, or was moved "
			       "away, the sessions there follow if this is their project",
			       project->dir, orphan->id);
		return ews_error_code();
	}
	return 0;
}

/* What can be read says that it is another before anybody has to wait for the rest. */
static int is_it(struct ews_repo *repo, const struct ews_home_project *project, const struct ews_orphans *orphans)
{
	int has = 0, rc;

	for (size_t i = 0; i < orphans->n && has >= 0; i++) {
		int lacks = orphans->items[i].has_state ? lacks_entry(repo, &orphans->items[i]) : 0;

		if (lacks)
			return lacks < 0 ? lacks : 0;
		if (!has && orphans->items[i].has_state)
			has = has_base(repo, &orphans->items[i]);
	}
	rc = has < 0 ? has : refuse_unread(project, orphans);
	if (rc < 0)
		return rc;
	return has ? has : has_step(repo, project);
}

/* `*path` when it is `from` or below: the same below `to`. */
static void replace_top(char **path, const char *from, const char *to)
{
	size_t len = strlen(from);
	char *moved;

	if (strncmp(*path, from, len) != 0 || ((*path)[len] && (*path)[len] != '/'))
		return;
	moved = ews_strfmt("%s%s", to, *path + len);
	free(*path);
	*path = moved;
}

static void replace_whole(char **path, const char *by)
{
	free(*path);
	*path = ews_strdup(by);
}

/* The places that it may be on record in, one after the other: as home knows it, then as its sessions began to. NULL: no more. */
static const struct ews_home_project *former_place(const struct ews_home_project *project, size_t i)
{
	if (i == 0)
		return project;
	return i <= project->begun.n ? &project->begun.items[i - 1] : NULL;
}

/* The one of them in whose store `git_dir` is. */
static const struct ews_home_project *find_place(const struct ews_home_project *project, const char *git_dir)
{
	const struct ews_home_project *place;

	for (size_t i = 0; (place = former_place(project, i)); i++)
		if (ews_path_is_inside(git_dir, place->store))
			return place;
	return project;
}

/*
 * Where the project stood, as people know it; else its store: the path that home knows a repository by may be that of a linked
 * worktree, which git may have moved since. One that is back where home has it stood where it was last. The caller frees it.
 */
static char *find_former(const struct ews_repo *repo, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *above = NULL;
	bool is_own;

	if (project->begun.n && !strcmp(project->store, repo->common_dir))
		project = former_place(project, project->begun.n);
	above = ews_path_dir(project->store);
	is_own = repo->is_plain || !strcmp(project->project, above);
	return ews_strdup((project->is_away || project->is_anew) && is_own ? project->project : project->store);
}

/* `*path` where the main work tree was: home may know the repository by a linked one, and a bare one stands where its store does. */
static void replace_main(char **path, const struct ews_repo *repo, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(project->store);

	if (!strcmp(*path, project->project) || !strcmp(*path, above) || !strcmp(*path, project->store))
		replace_whole(path, repo->project);
}

/* Did the store stand in the work tree at `place`? */
static bool stood_in(const char *place, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *around = ews_repo_place_around(project->store);

	return around && !strcmp(place, around);
}

/* Nor may a mere directory be left of what the store stood in: who moves its content has not yet removed that. */
static bool is_emptied(const char *place, const struct ews_home_project *project)
{
	return stood_in(place, project) && ews_session_place_is_vacant(place);
}

/* Has what was at `place` gone from there, to `now` as it seems? Whatever stands there since. What can't be seen may be it. */
static bool has_left(const char *place, const char *now, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *real = realpath(place, NULL);

	if (!real)
		return ews_errno_is_absent(errno);
	if (strcmp(place, now) != 0 && is_emptied(place, project))
		return true;
	return strcmp(real, place) != 0 ||
	       (!strcmp(place, project->project) && ews_home_knows_by_birth(project, now));
}

/* Does the work tree lie to the store as it did, with nothing left in its old place? A copy of both on another disk has no birth in common. */
static bool lies_as_before(const struct ews_repo *repo, const struct ews_home_project *project)
{
	size_t was = ews_path_common_len(project->project, project->store);
	size_t is = ews_path_common_len(repo->project, repo->common_dir);

	return project->is_away && !strcmp(repo->project + is, project->project + was) &&
	       !strcmp(repo->common_dir + is, project->store + was);
}

/* Is the repository's work tree, as config or the environment names it, what home knew, or does its own ".git" say whose it is? */
static bool is_its_own(const struct ews_repo *repo, const struct ews_home_project *project)
{
	bool is = ews_gitfile_leads_to(repo->project, repo->common_dir) > 0 ||
		  ews_home_knows_by_birth(project, repo->project) || lies_as_before(repo, project);

	ews_error_clear();
	return is;
}

/*
 * Where the main work tree that somebody worked in at `place` stands by now; NULL: still there, or nobody knows. What a store stood in
 * goes where that goes, whatever config says. It never is the store: of what is taken for somebody's files in there nothing stays.
 */
static char *find_work_tree(const char *place, const struct ews_repo *repo, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *now = NULL;
	bool stood_around = stood_in(place, project);

	if (!stood_around && strcmp(place, project->project) != 0)
		return NULL;
	if (stood_around)
		now = ews_repo_place_around(repo->common_dir);
	if (!now && !repo->is_bare && (is_its_own(repo, project) || (!stood_around && !project->birth)))
		now = ews_strdup(repo->project);
	return now && has_left(place, now, project) ? ews_steal(&now) : NULL;
}

/* What was done in the main work tree itself. */
static void replace_work_tree(char **path, const struct ews_repo *repo, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *now = find_work_tree(*path, repo, project);

	if (now)
		replace_whole(path, now);
}

/*
 * Where the linked worktree with the git directory `git_dir`, which was `former`, is by now: where its own config has it, if that was
 * `known` before, else where git says that it stands, if anywhere. The caller frees it.
 */
static char *find_linked(const struct ews_repo *repo, const char *git_dir, const char *former, const char *known)
{
	EWS_CLEANUP(git_place) struct ews_git_place place = EWS_GIT_PLACE_INIT;
	EWS_CLEANUP(free) char *was = NULL;
	EWS_CLEANUP(free) char *is = NULL;
	EWS_CLEANUP(free) char *real = NULL;

	if (ews_git_place_read(&place, git_dir, repo->common_dir) < 0)
		ews_error_clear();
	if (place.worktree.text) {
		was = ews_git_place_path(&place, former);
		is = ews_git_place_path(&place, git_dir);
		real = realpath(is, NULL);
	}
	if (real && (!strcmp(was, known) || !strcmp(real, known)))
		return ews_steal(&real);
	return ews_repo_linked_top(repo, git_dir);
}

/* What is of a linked worktree stands where that is by now. */
static void replace_linked(struct ews_state *state, const struct ews_repo *repo,
			   const struct ews_home_project *project)
{
	const char *below = ews_str_after(state->git_dir, repo->common_dir);
	EWS_CLEANUP(free) char *former = ews_strfmt("%s%s", project->store, below ? below : "");
	EWS_CLEANUP(free) char *top = find_linked(repo, state->git_dir, former, state->project);

	if (!top)
		return;
	if (!strcmp(state->workspace, state->project))
		replace_whole(&state->workspace, top);
	replace_whole(&state->project, top);
}

/*
 * What the main work tree of a session in place is by now. Where the store was moved out of it alone it stays, and that is noted: no path
 * that home has says so any more when it comes after.
 */
static void replace_in_place(struct ews_state *state, const struct ews_repo *repo,
			     const struct ews_home_project *project)
{
	bool was_around = state->is_left_behind || stood_in(state->workspace, project);

	replace_work_tree(&state->workspace, repo, project);
	replace_whole(&state->project, state->workspace);
	state->is_left_behind = was_around && ews_gitfile_leads_to(state->workspace, repo->common_dir) <= 0;
	ews_error_clear();
	ews_session_follow_store(state, repo);
}

/* The session's own record, under its lock. One that says that it is here has followed. */
static int follow_state(struct ews_repo *repo, const struct ews_home_project *project, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->dir_fd, rel);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = fd < 0 ? fd : ews_state_read(&state, fd);
	bool is_main;

	if (rc < 0)
		return rc;
	project = find_place(project, state.git_dir);
	if (!strcmp(project->store, repo->common_dir))
		return 0;
	is_main = !strcmp(state.git_dir, project->store);
	replace_top(&state.git_dir, project->store, repo->common_dir);
	if (!is_main) {
		replace_linked(&state, repo, project);
	} else if (!strcmp(state.workspace, state.project)) {
		replace_in_place(&state, repo, project);
	} else {
		replace_main(&state.project, repo, project);
	}
	return ews_state_write(fd, &state);
}

/* Nobody must be at work in it: what runs in it writes the record anew as it knows it. */
static int lock_idle(struct ews_lock *out, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *owner = ews_session_owner_lock(id);
	int rc = ews_repo_lock(out, repo, id, "recover", 0);

	if (rc == 0 && ews_repo_is_locked(repo, owner))
		return ews_error(EWS_EBUSY, "a command runs in session '%s'", id);
	return rc;
}

/* What names the store in a workspace names one of the places where that was. */
static int follow_workspace(const struct ews_method *method, const struct ews_place *place, int workspace_fd,
			    const struct ews_home_project *project)
{
	const struct ews_home_project *former;
	int rc = 0;

	for (size_t i = 0; rc == 0 && (former = former_place(project, i)); i++)
		if (strcmp(former->store, place->common_dir) != 0)
			rc = method->follow(place, workspace_fd, former->store);
	return rc;
}

static int follow_session(struct ews_repo *repo, const struct ews_home_project *project, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(fd) int workspace = -1;
	struct ews_place place;
	int rc = lock_idle(&lock, repo, id);

	if (rc == 0)
		rc = follow_state(repo, project, id);
	if (rc == 0)
		rc = ews_session_open_id(&session, repo, id);
	if (rc < 0 || session.state.state == EWS_STATE_ENDED || !session.method->follow)
		return rc;
	workspace = ews_session_open_workspace(&session);
	/* One that is gone has nothing that names the store. */
	if (workspace < 0 && ews_session_is_gone(&session) == 1) {
		ews_error_clear();
		return 0;
	}
	if (workspace < 0)
		return ews_error_code();
	place = ews_session_place(&session);
	return follow_workspace(session.method, &place, workspace, project);
}

/* A workspace in trash: undo brings it back as it is. */
static int follow_trashed(struct ews_repo *repo, const struct ews_home_project *project, const char *step_id)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_TRASH "/%s/workspace", step_id);
	EWS_CLEANUP(fd) int workspace = ews_dir_open_beneath(repo->dir_fd, rel);
	EWS_CLEANUP(free) char *id = NULL;
	struct ews_place place;
	int rc = workspace < 0 ? workspace : ews_step_read(&step, repo->dir_fd, step_id);

	if (rc < 0)
		return ews_error_if_passing(rc);
	id = ews_retire_id(step.session);
	place = (struct ews_place){ .id = id, .common_dir = repo->common_dir, .odb = repo->odb };
	rc = follow_workspace(&ews_method_worktree, &place, workspace, project);
	return rc < 0 ? rc : follow_workspace(&ews_method_snapshot, &place, workspace, project);
}

/* A step of the project itself says where that stood; that of a linked worktree is known by the name that git gave this. */
static int follow_step(struct ews_repo *repo, const struct ews_home_project *project, const char *step_id)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	const struct ews_home_project *former;
	int rc = ews_step_read(&step, repo->dir_fd, step_id);

	/* What makes no sense stays as it is, and is nobody's reason to stay behind. */
	if (rc < 0)
		return ews_error_if_passing(rc);
	if (!step.project || *step.worktree)
		return 0;
	for (size_t i = 0; (former = former_place(project, i)); i++)
		replace_work_tree(&step.project, repo, former);
	return ews_step_write(repo->dir_fd, &step);
}

/* None is written by anybody else meanwhile. */
static int follow_steps(struct ews_repo *repo, const struct ews_home_project *project)
{
	EWS_CLEANUP(strv) struct ews_strv steps = EWS_STRV_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "recover", 0);

	if (rc == 0)
		rc = ews_step_list(&steps, repo->dir_fd);
	for (size_t i = 0; i < steps.n && rc == 0; i++)
		rc = follow_step(repo, project, steps.items[i]);
	for (size_t i = 0; i < steps.n && rc == 0; i++)
		rc = follow_trashed(repo, project, steps.items[i]);
	return rc;
}

static int follow_all(struct ews_repo *repo, const struct ews_home_project *project, const struct ews_orphans *orphans)
{
	int rc = 0;

	for (size_t i = 0; i < orphans->n && rc == 0; i++) {
		if (!orphans->items[i].has_state)
			continue;
		rc = follow_session(repo, project, orphans->items[i].id);
		/* What makes no sense stays as it is, and is nobody's reason to stay behind. */
		if (rc == EWS_EDAMAGED || rc == EWS_EUNSUPPORTED) {
			ews_error_clear();
			rc = 0;
		}
	}
	return rc < 0 ? rc : follow_steps(repo, project);
}

/* Does a session on record say that the path by which home knows the repository is that of a linked worktree? */
static bool is_known_by_linked(const struct ews_home_project *project, const struct ews_orphans *orphans)
{
	for (size_t i = 0; i < orphans->n; i++) {
		const struct ews_state *state = &orphans->items[i].state;

		if (orphans->items[i].has_state && !strcmp(state->project, project->project))
			return strcmp(state->git_dir, project->store) != 0;
	}
	return false;
}

/* The first of these places that has a number gives it on. */
static void follow_epoch(struct ews_repo *repo, const struct ews_home_project *project,
			 const struct ews_orphans *orphans)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(project->store);

	ews_epoch_follow(repo, above);
	ews_epoch_follow(repo, project->store);
	if (!is_known_by_linked(project, orphans))
		ews_epoch_follow(repo, project->project);
}

static void follow_epochs(struct ews_repo *repo, const struct ews_home_project *project,
			  const struct ews_orphans *orphans)
{
	const struct ews_home_project *former;

	for (size_t i = 0; (former = former_place(project, i)); i++)
		follow_epoch(repo, former, orphans);
}

/* Who has to wait for one of them leaves all of them as they are. */
static int check_idle(struct ews_repo *repo, const struct ews_orphans *orphans)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "recover", 0);

	for (size_t i = 0; i < orphans->n && rc == 0; i++) {
		EWS_CLEANUP(lock) struct ews_lock own = EWS_LOCK_INIT;

		if (orphans->items[i].has_state)
			rc = lock_idle(&own, repo, orphans->items[i].id);
	}
	return rc;
}

/* Should it be killed, and the project be moved on, or back: the records that have followed say that they are here. */
static int begin(const struct ews_repo *repo, const struct ews_home_project *project)
{
	const struct ews_home_project *former;

	for (size_t i = 0; (former = former_place(project, i)); i++)
		if (!strcmp(former->store, repo->common_dir))
			return 0;
	return ews_home_begin_move(project->dir, repo->common_dir, repo->project);
}

/* Its record is the last to follow: until then it is found as one that has moved. */
static int adopt(struct ews_repo *repo, const struct ews_home_project *project, const struct ews_orphans *orphans)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(free) char *former = NULL;
	int rc = ews_repo_take_dir(repo, project->dir);

	if (rc < 0)
		return rc;
	rc = ews_repo_lock(&lock, repo, OWN_LOCK, "recover", 0);
	if (rc == 0)
		rc = check_idle(repo, orphans);
	if (rc == 0)
		rc = begin(repo, project);
	if (rc == 0)
		rc = follow_all(repo, project, orphans);
	if (rc == 0)
		follow_epochs(repo, project, orphans);
	if (rc == 0)
		rc = ews_home_move_project(project->dir, repo->common_dir, repo->project);
	if (rc < 0) {
		ews_repo_drop_dir(repo);
		former = find_former(repo, project);
		return ews_error_wrap("this project was at '%s', and its sessions can't follow", former);
	}
	return 0;
}

/* The work tree at `place`, if it is the main one of the repository that `linked` is of; a bare one has its git directory for it. */
static bool open_main_at(struct ews_repo **out, const struct ews_repo *linked, const char *place)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	EWS_CLEANUP(git_place) struct ews_git_place said = EWS_GIT_PLACE_INIT;
	bool is = ews_repo_open_at(&repo, place, linked->home) == 0 && !strcmp(repo->git_dir, linked->common_dir) &&
		  ews_git_place_read(&said, repo->git_dir, repo->common_dir) == 0 &&
		  (repo->is_bare == ews_git_place_is_bare(&said, repo->common_dir) || repo->overruled);

	ews_error_clear();
	if (is)
		*out = ews_steal(&repo);
	return is;
}

/* Seen from a linked worktree: around the store, where its config says, or where home knew it. */
static bool open_main(struct ews_repo **out, const struct ews_repo *linked, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(linked->common_dir);
	EWS_CLEANUP(free) char *former = ews_path_dir(project->store);
	const char *const places[] = { above, linked->common_dir, project->project, former };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (open_main_at(out, linked, places[i]))
			return true;
	return false;
}

/* Called in a linked worktree: to the main one, as everything but what is of a linked one's. Returns 1 when they have followed. */
static int adopt_from_linked(struct ews_repo *repo, const struct ews_home_project *project,
			     const struct ews_orphans *orphans)
{
	EWS_CLEANUP(repo) struct ews_repo *main = NULL;
	int rc;

	if (open_main(&main, repo, project)) {
		rc = adopt(main, project, orphans);
		if (rc == 0)
			rc = ews_repo_take_dir(repo, project->dir);
		return rc < 0 ? rc : 1;
	}
	/* Nobody may have a main work tree any more. */
	if (!project->leads_to)
		return 0;
	ews_error(EWS_EBUSY, "this repository was at '%s', and its sessions have not followed", project->store);
	ews_error_hint("'git ews status' lets them follow, outside of linked worktrees");
	return EWS_EBUSY;
}

/* Returns 1 when they have followed. */
static int let_follow(struct ews_repo *repo, const struct ews_home_project *project, const struct ews_orphans *orphans)
{
	bool is_linked = strcmp(repo->git_dir, repo->common_dir) != 0;
	int rc;

	if (is_linked)
		return adopt_from_linked(repo, project, orphans);
	rc = adopt(repo, project, orphans);
	return rc < 0 ? rc : 1;
}

/* What is said of the sessions below `dir` that are where the store is no more. */
static void list_left(struct ews_strv *out, const char *dir)
{
	EWS_CLEANUP(orphans) struct ews_orphans orphans = EWS_ORPHANS_INIT;

	(void)ews_orphan_list(&orphans, dir); /* it was just now, and they have followed without a word, too */
	ews_error_clear();
	for (size_t i = 0; i < orphans.n; i++) {
		const struct ews_state *state = &orphans.items[i].state;

		if (orphans.items[i].has_state && state->is_left_behind && state->state != EWS_STATE_ENDED)
			ews_strv_addf(out, "session '%s' has stayed, with its work tree, in '%s'", state->id,
				      state->workspace);
	}
}

/* Returns 1 when they have followed, 0 as well where it is another project. */
static int follow_if_it(char **was, struct ews_strv *left, struct ews_repo *repo,
			const struct ews_home_project *project)
{
	EWS_CLEANUP(orphans) struct ews_orphans orphans = EWS_ORPHANS_INIT;
	int rc = ews_orphan_list(&orphans, project->dir);

	if (rc < 0)
		return ews_error_if_passing(rc);
	rc = is_it(repo, project, &orphans);
	if (rc > 0)
		rc = let_follow(repo, project, &orphans);
	if (rc > 0) {
		*was = find_former(repo, project);
		list_left(left, project->dir);
	}
	return rc;
}

/* It is where home has it. Some of its sessions may have followed it elsewhere meanwhile. */
static int follow_back(char **was, struct ews_strv *left, struct ews_repo *repo)
{
	EWS_CLEANUP(home_project) struct ews_home_project project = { .dir = NULL };
	int rc;

	if (ews_home_project_read(&project, repo->dir) < 0 || !project.begun.n) {
		ews_error_clear();
		return 0;
	}
	ews_repo_drop_dir(repo);
	rc = has_refs(repo);
	return rc > 0 ? follow_if_it(was, left, repo, &project) : rc;
}

int ews_moved_follow(char **was, struct ews_strv *left, struct ews_repo *repo)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	int rc = ews_repo_need_dir(repo), has = 0;

	if (rc == 0)
		return follow_back(was, left, repo);
	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	rc = ews_home_projects(&projects, repo->home);
	for (size_t i = 0; i < projects.n && rc == 0; i++) {
		if (!ews_home_may_have_moved_to(&projects.items[i], repo->common_dir))
			continue;
		if (!has)
			has = has_refs(repo);
		if (has <= 0)
			return has;
		rc = follow_if_it(was, left, repo, &projects.items[i]);
	}
	return rc;
}
