/*
 * Projects of sessions: see session_project.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session_project.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "store/linked.h"

/* Is it on record that it works where git keeps the repository itself? Older versions wrote that of some that were moved. */
static bool is_in_store(const struct ews_state *state, const struct ews_repo *project)
{
	EWS_CLEANUP(fd) int fd = open(state->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return ews_repo_is_kept_in(project, fd);
}

/*
 * Is `project` not where it works? Returns 1 or 0. What was made since, in its place or under its name, is another one; and so is
 * what has the git directory by now while its own directory still stands.
 */
static int is_lost(const struct ews_state *state, const struct ews_repo *project)
{
	int rc;

	if (ews_repo_is_another(project, state->worktree_mark, state->created_s) || is_in_store(state, project) ||
	    project->is_anew)
		return 1;
	if (!strcmp(state->workspace, project->project))
		return 0;
	rc = ews_file_is_there(AT_FDCWD, state->workspace);
	if (rc < 0)
		return rc;
	return !rc || state->state != EWS_STATE_ENDED;
}

/* Has git the work tree still, wherever that is, for all that is known? Returns 1 or 0: what has its name by now may have been made since. */
static int is_known_to_git(const struct ews_state *state)
{
	EWS_CLEANUP(fd) int fd = -1;
	int rc = ews_file_is_there(AT_FDCWD, state->git_dir);

	if (rc <= 0)
		return rc;
	fd = ews_dir_open(state->git_dir);
	if (fd < 0)
		return fd;
	rc = ews_linked_is_another(fd, state->worktree_mark, state->created_s);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 1;
	}
	return rc < 0 ? rc : rc != 1;
}

/* Only what git has no more is gone for certain: a disk may be away, or a directory above be renamed. */
static int take_for_lost(struct ews_session *session)
{
	int rc = is_known_to_git(&session->state);

	session->is_lost = true;
	session->is_out_of_reach = rc > 0;
	return rc < 0 ? rc : 0;
}

/* Called in a copy of the work tree, with its ".git": `*project` becomes the one that the session is in, where that has it still. */
static int leave_copy(struct ews_repo **project, struct ews_session *session)
{
	const struct ews_state *state = &session->state;
	int rc;

	if (*project != session->repo || !strcmp(state->workspace, (*project)->project))
		return 0;
	rc = ews_gitfile_leads_to(state->workspace, state->git_dir);
	if (rc > 0)
		rc = ews_repo_open_beside(&session->beside, session->repo, state->git_dir, state->workspace);
	if (session->beside)
		*project = session->beside;
	return rc;
}

/* What can't be seen: is that its place, or a directory above it? Then what git has of it says where that is. */
static bool is_closed(const struct ews_state *state)
{
	EWS_CLEANUP(error_saved) struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	EWS_CLEANUP(free) char *gitfile = NULL;
	int rc;

	if (ews_error_wants_descriptors())
		return false;
	ews_error_save(&why);
	rc = ews_gitfile_read_back(&gitfile, state->git_dir);
	(void)ews_error_restore(&why);
	return rc == 0 || rc == EWS_ENOTFOUND; /* that of the main one has no such file */
}

int ews_session_stand_in_place(struct ews_session *session)
{
	struct ews_repo *project;
	int rc;

	if (!session->method || !session->method->is_project)
		return 0;
	ews_session_follow_store(&session->state, session->repo);
	rc = ews_session_project(&project, session);
	if (rc == 0) {
		ews_session_follow(&session->state, project);
		rc = leave_copy(&project, session);
	}
	/* What git leads to no longer, or what no longer leads to git, is no work tree of the repository either. */
	if (rc == EWS_ENOTFOUND || rc == EWS_EGIT || (rc == EWS_EIO && is_closed(&session->state))) {
		ews_error_clear();
		return take_for_lost(session);
	}
	if (rc == 0)
		rc = is_lost(&session->state, project);
	if (rc != 0)
		return rc < 0 ? rc : take_for_lost(session);
	session->repo = project;
	return 0;
}

int ews_session_stand_again(struct ews_session *session)
{
	bool is_in_place = session->method && session->method->is_project;

	return is_in_place && session->repo->is_anew && !session->is_lost ? take_for_lost(session) : 0;
}

/* What has the name of its work tree was made since, or may have been. */
static int fail_another(const struct ews_state *state, const struct ews_repo *project)
{
	bool is_certain = is_known_to_git(state) == 0;

	return ews_error(EWS_ENOTFOUND, "session '%s': its work tree %s gone, and '%s' %s made since", state->id,
			 is_certain ? "is" : "may be", project->project, is_certain ? "was" : "may have been");
}

int ews_session_project(struct ews_repo **out, struct ews_session *session)
{
	const struct ews_state *state = &session->state;
	struct ews_repo *project = NULL;
	int rc = 0;

	if (session->is_lost) {
		ews_error(EWS_ENOTFOUND, "session '%s': its work tree is %s: '%s'", state->id,
			  ews_session_lost_word(session), state->workspace);
		ews_session_hint_lost(session);
		return EWS_ENOTFOUND;
	}
	if (!ews_repo_is_beside(session->repo, state->git_dir, state->project))
		project = session->repo;
	else if (!session->beside)
		rc = ews_repo_open_beside(&session->beside, session->repo, state->git_dir, state->project);
	if (rc < 0) /* who opens one in place says which it is */
		return session->method->is_project ? rc : ews_error_wrap("session '%s'", state->id);
	if (!project)
		project = session->beside;
	/* In place it is lost then, which is to be known first. */
	if (!session->method->is_project && ews_repo_is_another(project, state->worktree_mark, state->created_s))
		return fail_another(state, project);
	*out = project;
	return 0;
}

int ews_session_stand_in_project(struct ews_session *session)
{
	struct ews_repo *project;
	int rc = ews_session_project(&project, session);

	if (rc == 0)
		session->repo = project;
	return ews_error_if_passing(rc);
}

char *ews_session_top(const struct ews_session *session)
{
	const struct ews_state *state = &session->state;
	/* Of one whose repository is gone there is but the record. */
	char *top = session->repo ? ews_repo_linked_top(session->repo, state->git_dir) : NULL;

	return top ? top : ews_strdup(state->project);
}

/* Does a directory stand where one that is lost worked, which is no work tree of anything any more? The session's files may be in it. */
static bool has_left_files(const struct ews_session *session)
{
	EWS_CLEANUP(repo) struct ews_repo *another = NULL;
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	struct stat st;
	bool has;

	if (!session->is_lost || lstat(session->state.workspace, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	ews_error_save(&why); /* what is said of it may be asked while something failed */
	has = ews_repo_open_at(&another, session->state.workspace, session->repo->home) < 0;
	(void)ews_error_restore(&why);
	return has;
}

const char *ews_session_lost_word(const struct ews_session *session)
{
	if (session->is_out_of_reach)
		return "out of reach";
	return has_left_files(session) ? "none of the repository any more" : "gone";
}

bool ews_session_is_lost_with_files(const struct ews_session *session)
{
	return session->is_out_of_reach || has_left_files(session);
}

void ews_session_hint_lost(const struct ews_session *session)
{
	const char *id = session->state.id;
	EWS_CLEANUP(free) char *shown = ews_shell_shown(session->state.project);

	if (session->repo->is_anew)
		ews_error_hint(
			"another directory is in its place, or it was made anew; if it is the same to you, in it: "
			"git ews recover --moved-from %s; 'git ews end --force %s' ends the session, and leaves "
			"the files as they are",
			shown, id);
	else if (session->is_out_of_reach && strcmp(session->state.git_dir, session->repo->common_dir) != 0)
		ews_error_hint("where it was moved by hand, 'git worktree repair <where it stands>' lets git find it; "
			       "'git ews end --force %s' ends the session, and leaves the files as they are",
			       id);
	else if (ews_session_is_lost_with_files(session))
		ews_error_hint("'git ews end --force %s' ends the session, and leaves the files as they are", id);
	else
		ews_error_hint("'git ews end %s' ends the session", id);
}

bool ews_session_place_is_vacant(const char *place)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read_at(&names, place);

	if (n < 0)
		ews_error_clear(); /* what can't be looked at may be there */
	return n == 0 || (n == 1 && !strcmp(names.items[0].name, EWS_OWN_DIR));
}

void ews_session_follow_store(struct ews_state *state, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *around = NULL;
	bool is_linked = strcmp(repo->git_dir, repo->common_dir) != 0;

	if (!state->is_left_behind || strcmp(state->git_dir, repo->common_dir) != 0)
		return;
	around = ews_repo_place_around(repo->common_dir);
	if (!around || (!is_linked && strcmp(repo->project, around) != 0) || !strcmp(state->workspace, around) ||
	    !ews_session_place_is_vacant(state->workspace))
		return;
	free(state->workspace);
	free(state->project);
	state->workspace = ews_strdup(around);
	state->project = ews_steal(&around);
	state->is_left_behind = false;
}

/*
 * Has the work tree left `place`? What stands there by now may be another one, or anything. The main work tree may have stood there
 * without a file of its own (GIT_WORK_TREE).
 */
static bool has_moved_from(const char *place, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *gitfile = ews_path_join(place, EWS_GITFILE);
	int rc = ews_gitfile_leads_to(place, repo->git_dir);

	if (rc == 0 && !strcmp(repo->git_dir, repo->common_dir) && ews_file_is_there(AT_FDCWD, place) != 0)
		rc = ews_file_is_there(AT_FDCWD, gitfile) != 1;
	if (rc < 0)
		ews_error_clear(); /* what can't be looked at may be there */
	return rc == 0;
}

/*
 * Was the work tree moved by hand? Then git's entry leads to where it was, `top`, and its own file leads to the entry. Of a copy
 * the same can be said, but that the first one is there still.
 */
static bool was_moved_by_hand(const struct ews_state *state, const struct ews_repo *repo, const char *top)
{
	EWS_CLEANUP(free) char *gitfile = ews_path_join(repo->project, EWS_GITFILE);
	EWS_CLEANUP(free) char *leads_to = ews_gitfile_follow(gitfile);

	return leads_to && !strcmp(leads_to, repo->git_dir) && has_moved_from(state->workspace, repo) &&
	       (!top || has_moved_from(top, repo));
}

void ews_session_follow(struct ews_state *state, const struct ews_repo *repo)
{
	const struct ews_method *method = ews_method_find(state->method);
	EWS_CLEANUP(free) char *top = NULL;

	if (method && method->is_project)
		ews_session_follow_store(state, repo);
	if (!method || !method->is_project || strcmp(state->git_dir, repo->git_dir) != 0 ||
	    strcmp(state->workspace, state->project) != 0 ||
	    ews_repo_is_another(repo, state->worktree_mark, state->created_s))
		return;
	top = ews_repo_linked_top(repo, state->git_dir);
	if ((!top || strcmp(top, repo->project) != 0) && !was_moved_by_hand(state, repo, top))
		return;
	free(state->workspace);
	free(state->project);
	state->workspace = ews_strdup(repo->project);
	state->project = ews_strdup(repo->project);
}
