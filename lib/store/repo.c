/*
 * Repositories: see repo.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/repo.h"

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
#include "base/own.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/astray.h"
#include "store/config_user.h"
#include "store/git.h"
#include "store/git_place.h"
#include "store/gitfile.h"
#include "store/linked.h"
#include "store/home.h"
#include "store/home_project.h"
#include "store/home_repo.h"
#include "store/home_workspace.h"
#include "store/state.h"

#define GITIGNORE_ALL "*\n"

static bool has_ref(const struct ews_repo *repo, const char *prefix, const char *name)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt("%s%s", prefix, name);
	struct ews_oid oid;

	return ews_odb_ref_read(&oid, repo->odb, ref) == 0;
}

/* Is what the session began with still kept, as its end left it? */
static bool can_come_back(const struct ews_repo *repo, const struct ews_state *state)
{
	return has_ref(repo, EWS_REF_TRASH, state->base_snapshot);
}

/* What holds the project's directory to what it was; the later one goes first. */
enum in_place {
	IN_PLACE_NONE,
	IN_PLACE_LATE, /* a session was at work in the directory itself, config said otherwise when it ended, and it can be brought back */
	IN_PLACE_NOW, /* one is */
};

/* How home knows the project. */
struct stand {
	const char *project, *git_dir;
	bool is_former; /* it has moved since, and its sessions have not followed it yet */
};

/*
 * What the session says of it. What undoes the end of a late one is to be found there: it counts until what the end kept goes, by age
 * or by `clean --now`; from then on config has the last word again.
 */
static enum in_place session_in_place(const struct ews_repo *repo, const struct stand *stand, int sessions,
				      const char *id)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_own(sessions, id);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	enum in_place out = IN_PLACE_NONE;

	if (fd < 0 || ews_state_read(&state, fd) < 0 || strcmp(state.workspace, stand->project) != 0 ||
	    strcmp(state.project, stand->project) != 0 || strcmp(state.git_dir, stand->git_dir) != 0 ||
	    ews_repo_is_another(repo, state.worktree_mark, state.created_s))
		out = IN_PLACE_NONE;
	else if (state.state == EWS_STATE_ENDED)
		out = state.is_overruled && can_come_back(repo, &state) ? IN_PLACE_LATE : IN_PLACE_NONE;
	else if (!stand->is_former || has_ref(repo, EWS_REF_SESSIONS, id) || can_come_back(repo, &state))
		out = IN_PLACE_NOW;
	ews_error_clear();
	return out;
}

/* The same of all in the directory `dir` of home. */
static enum in_place sessions_in_dir(const struct ews_repo *repo, const struct stand *stand, const char *dir)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names ids = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(free) char *path = ews_path_join(dir, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(fd) int sessions = ews_dir_open(path);
	enum in_place out = IN_PLACE_NONE;
	ssize_t n = sessions < 0 ? 0 : ews_dir_names_read(&ids, sessions);

	for (ssize_t i = 0; i < n && out != IN_PLACE_NOW; i++) {
		enum in_place one = session_in_place(repo, stand, sessions, ids.items[i].name);

		out = one > out ? one : out;
	}
	ews_error_clear();
	return out;
}

/* Where the directory of the project was, if the repository is that one: around the store as now, or it is but called otherwise; NULL: nobody knows. */
static char *find_former_top(const struct ews_repo *repo, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *was_around = ews_repo_place_around(project->store);
	EWS_CLEANUP(free) char *around = ews_repo_place_around(repo->common_dir);

	if (was_around && around && !strcmp(around, repo->project))
		return ews_steal(&was_around);
	return ews_home_knows_by_birth(project, repo->project) ? ews_strdup(project->project) : NULL;
}

/* Config may have its say before the sessions have followed the repository to where it is: what they did not know there they do not here. */
static enum in_place former_sessions_in_place(const struct ews_repo *repo)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	enum in_place out = IN_PLACE_NONE;

	(void)ews_home_projects(&projects, repo->home); /* who can't see them lets nothing follow, either */
	for (size_t i = 0; i < projects.n && out == IN_PLACE_NONE; i++) {
		const struct ews_home_project *project = &projects.items[i];
		bool may_be = ews_home_may_have_moved_to(project, repo->common_dir);
		EWS_CLEANUP(free) char *top = may_be ? find_former_top(repo, project) : NULL;
		const struct stand stand = { .project = top, .git_dir = project->store, .is_former = true };

		if (top)
			out = sessions_in_dir(repo, &stand, project->dir);
	}
	ews_error_clear();
	return out;
}

/* Of the directory around the git directory: its sessions began before the config said anything else, and find the way back from there. */
static enum in_place sessions_in_place(const struct ews_repo *repo)
{
	const struct stand stand = { .project = repo->project, .git_dir = repo->git_dir };
	EWS_CLEANUP(free) char *dir = NULL;

	if (ews_home_repo_dir(&dir, repo->home, repo->common_dir, NULL) == 0)
		return sessions_in_dir(repo, &stand, dir);
	ews_error_clear();
	return former_sessions_in_place(repo);
}

/* What git could make no sense of says nothing while a session is at work in the directory itself: to take that back it is opened. */
static int read_place(struct ews_git_place *out, const struct ews_repo *repo)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	if (ews_git_place_read(out, repo->git_dir, repo->common_dir) == 0)
		return 0;
	ews_error_save(&why);
	if (repo->is_bare || sessions_in_place(repo) != IN_PLACE_NOW)
		return ews_error_restore(&why);
	ews_error_saved_release(&why);
	ews_error_clear();
	return 0;
}

/*
 * core.worktree and core.bare have the last word, as in git, but for a session in place. By the latter git refuses to work in a linked
 * work tree, which leads to no other place.
 */
static int settle_config(struct ews_repo *repo, bool is_given)
{
	bool is_linked = strcmp(repo->git_dir, repo->common_dir) != 0;
	EWS_CLEANUP(git_place) struct ews_git_place place = EWS_GIT_PLACE_INIT;
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(free) char *top = NULL;
	enum in_place held = IN_PLACE_NONE;
	bool is_bare;
	int rc = is_given ? 0 : read_place(&place, repo);

	if (rc < 0)
		return rc;
	is_bare = place.is_bare && !is_linked;
	if (!is_bare && !place.worktree.text)
		return 0;
	path = is_bare ? ews_strdup(repo->git_dir) : ews_git_place_path(&place, repo->git_dir);
	top = realpath(path, NULL);
	if (!repo->is_bare && (!top || strcmp(top, repo->project) != 0))
		held = sessions_in_place(repo);
	if (held != IN_PLACE_NONE) {
		repo->overruled = is_bare ? "core.bare" : "core.worktree";
		repo->is_overruled_late = held == IN_PLACE_LATE;
		return 0;
	}
	if (!top)
		return ews_error_os("core.worktree names '%s'", path);
	repo->is_bare = is_bare;
	free(repo->project);
	repo->project = ews_steal(&top);
	return 0;
}

static int open_place(struct ews_repo **out, struct ews_repo_place *place, const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = ews_calloc(1, sizeof(*repo));
	int rc;

	repo->dir_fd = repo->git_fd = repo->common_fd = -1;
	repo->home = ews_strdup(home);
	repo->project = ews_steal(&place->top);
	repo->git_dir = ews_steal(&place->git_dir);
	repo->is_bare = place->is_bare;
	repo->is_plain = place->is_plain;
	repo->is_anew = place->is_anew;
	rc = ews_odb_open(&repo->odb, repo->git_dir, repo->home);
	if (rc < 0)
		return rc;
	repo->common_dir = ews_strdup(ews_odb_common_dir(repo->odb));
	repo->git_fd = ews_dir_open(repo->git_dir);
	if (repo->git_fd < 0)
		return repo->git_fd;
	rc = repo->is_plain ? 0 : settle_config(repo, place->is_given);
	if (rc < 0)
		return rc;
	repo->common_fd = ews_dir_open(repo->common_dir);
	if (repo->common_fd < 0)
		return repo->common_fd;
	*out = ews_steal(&repo);
	return 0;
}

/*
 * Where nothing in the project's directory says that it is one, as with a git directory that GIT_DIR named: the store, and
 * `with_work_tree` the one that its own config names. Without one nobody works on the project's files from here.
 */
static int open_store(struct ews_repo **out, const char *repo_dir, const char *home, bool with_work_tree)
{
	EWS_CLEANUP(repo_place) struct ews_repo_place place = EWS_REPO_PLACE_INIT;
	int rc = ews_home_find_store(&place.git_dir, repo_dir);

	if (rc < 0)
		return rc;
	rc = *place.git_dir == '/' ? ews_repo_place_is_git_dir(place.git_dir, home) : 0;
	if (rc < 0)
		return rc;
	if (!rc)
		return ews_error(EWS_EDAMAGED, "'%s' is no git directory", place.git_dir);
	place.top = ews_strdup(place.git_dir);
	place.is_bare = true;
	place.is_given = !with_work_tree;
	return open_place(out, &place, home);
}

/* Is it a linked worktree's git directory, of the repository whose common one `common_dir` is? */
static bool is_linked(const char *git_dir, const char *common_dir)
{
	return strcmp(git_dir, common_dir) != 0 && ews_path_is_inside(git_dir, common_dir);
}

/*
 * The linked worktree that the session is of, where git says that it stands by now. Of one that is gone the store is left, with no
 * work tree: what is meant for that one must not be written into another, be it the repository's own.
 */
static int open_linked(struct ews_repo **out, const struct ews_state *state, const char *repo_dir, const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *store = NULL;
	int rc = open_store(&store, repo_dir, home, false);

	if (rc == 0)
		rc = ews_repo_open_beside(out, store, state->git_dir, state->project);
	if (rc != EWS_ENOTFOUND || !store)
		return rc;
	ews_error_clear();
	store->gone = ews_strdup(state->project);
	*out = ews_steal(&store);
	return 0;
}

/* Is the session of a linked worktree, seen from its repository, which is there? */
static bool is_of_linked(const struct ews_state *state, const char *repo_dir, const char *home)
{
	EWS_CLEANUP(free) char *store = NULL;
	bool is = ews_home_find_store(&store, repo_dir) == 0 && is_linked(state->git_dir, store) &&
		  ews_repo_place_is_git_dir(store, home) > 0;

	ews_error_clear();
	return is;
}

/* Where the session's project was, or has gone to; when that is lost, the repository's own. */
static int open_recorded(struct ews_repo **out, const struct ews_state *state, const char *repo_dir, const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *there = NULL;
	EWS_CLEANUP(free) char *known = NULL;
	int rc;

	if (access(state->project, F_OK) == 0 || errno != ENOENT) {
		rc = ews_repo_open_at(&there, state->project, home);
		/* Another one of the repository may have taken its place, or its own config has it there, where nothing leads back. */
		if ((rc == EWS_ENOTFOUND || (rc == 0 && strcmp(there->git_dir, state->git_dir) != 0)) &&
		    is_of_linked(state, repo_dir, home))
			return open_linked(out, state, repo_dir, home);
		if (rc == EWS_ENOTFOUND) {
			ews_error_clear();
			return open_store(out, repo_dir, home, true);
		}
		if (rc == 0)
			*out = ews_steal(&there);
		return rc;
	}
	if (is_of_linked(state, repo_dir, home))
		return open_linked(out, state, repo_dir, home);
	if (ews_home_find_project(&known, repo_dir) == 0 && access(known, F_OK) == 0)
		return ews_repo_open_at(out, known, home);
	ews_error(EWS_ENOTFOUND, "its project is gone: '%s'", state->project);
	ews_error_hint("where it was moved to, 'git ews status' lets its sessions follow");
	return EWS_ENOTFOUND;
}

/* A record that names another project leads to that one's sessions: it must be the project whose directory in home this is. */
static int check_way_back(struct ews_repo *repo, const char *repo_dir)
{
	struct stat ours, theirs;
	int rc = ews_repo_need_dir(repo);

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	if (rc < 0 && ews_home_leads_to(repo_dir, repo->common_dir)) {
		ews_error(EWS_ENOTFOUND, "its project stands elsewhere now, with its store at '%s'",
			  repo->common_dir);
		ews_error_hint("'git ews status' in '%s' lets its sessions follow", repo->project);
		return EWS_ENOTFOUND;
	}
	if (rc < 0 || fstat(repo->dir_fd, &ours) < 0 || stat(repo_dir, &theirs) < 0 ||
	    !ews_file_is_same(&ours, &theirs))
		return ews_error(EWS_EDAMAGED, "'%s' is not the project of '%s'", repo->project, repo_dir);
	return 0;
}

/* The project that a session recorded, seen from inside its workspace. */
static int open_from_workspace(struct ews_repo **out, const char *repo_dir, char **id, const char *home)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/" EWS_WORKING_SESSIONS "/%s", repo_dir, *id);
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	int rc;

	if (fd < 0) {
		ews_error(EWS_ENOTFOUND, "this workspace belongs to session '%s', of which nothing is known", *id);
		ews_error_hint("what it holds are plain files: copy what you need");
		return EWS_ENOTFOUND;
	}
	rc = ews_state_read(&state, fd);
	if (rc == EWS_EDAMAGED || rc == EWS_EUNSUPPORTED)
		ews_state_advise(rc, dir);
	if (rc == 0)
		rc = open_recorded(&repo, &state, repo_dir, home);
	if (rc == 0)
		rc = check_way_back(repo, repo_dir);
	if (rc < 0)
		return ews_error_wrap("session '%s'", *id);
	*out = ews_steal(&repo);
	(*out)->here = ews_steal(id);
	return 0;
}

/* The trash of workspaces that `start --in` put elsewhere is beside them: the step that `path` lies in there, or NULL. */
static char *find_step_beside(const char *path)
{
	static const char trash[] = "/" EWS_TRASH_ELSEWHERE "/";
	const char *at = strstr(path, trash);

	at = at ? at + strlen(trash) : NULL;
	return at && ews_str_begins(at, "op-") ? ews_strndup(at, strcspn(at, "/")) : NULL;
}

/* It is for who makes a workspace; a git of ours must not take it for the index of its own. */
static char *named_index(void)
{
	const char *named = getenv("GIT_INDEX_FILE");

	return named && *named ? ews_strdup(named) : NULL;
}

int ews_repo_open(struct ews_repo **out, const char *cwd, const char *home, enum ews_repo_make make)
{
	EWS_CLEANUP(repo_place) struct ews_repo_place place = EWS_REPO_PLACE_INIT;
	EWS_CLEANUP(free) char *real = realpath(cwd, NULL);
	EWS_CLEANUP(free) char *repo_dir = NULL;
	EWS_CLEANUP(free) char *project = NULL;
	EWS_CLEANUP(free) char *step = NULL;
	EWS_CLEANUP(free) char *id = NULL;
	int rc;

	if (!real)
		return ews_error_os("cannot find the directory '%s'", cwd);
	ews_config_take_environment();
	rc = ews_home_find_workspace(&repo_dir, &id, home, real);
	if (rc == 0) {
		ews_git_scrub_env();
		return open_from_workspace(out, repo_dir, &id, home);
	}
	/* Where that can't be told just now another repository would be taken for what one stands in. */
	if (ews_error_if_passing(rc) < 0)
		return rc;
	rc = ews_home_find_trashed(&project, &step, home, real);
	if (rc == 0) {
		ews_git_scrub_env();
		rc = ews_repo_open_at(out, project, home);
		if (rc == 0)
			(*out)->trash_here = ews_steal(&step);
		return rc;
	}
	if (ews_error_if_passing(rc) < 0)
		return rc;
	rc = ews_repo_place_find(&place, real, home, make);
	if (rc == 0)
		rc = open_place(out, &place, home);
	if (rc == 0) {
		(*out)->trash_here = find_step_beside(real);
		(*out)->index_file = named_index();
	}
	ews_git_scrub_env();
	return rc;
}

int ews_repo_open_at(struct ews_repo **out, const char *project, const char *home)
{
	EWS_CLEANUP(repo_place) struct ews_repo_place place = EWS_REPO_PLACE_INIT;
	EWS_CLEANUP(free) char *real = realpath(project, NULL);
	int rc;

	if (!real)
		return ews_error_os("cannot find the project '%s'", project);
	rc = ews_repo_place_at(&place, real, home);
	return rc < 0 ? rc : open_place(out, &place, home);
}

/* One that was moved has its git directory still, and another one may stand where it did. */
bool ews_repo_is_beside(const struct ews_repo *repo, const char *git_dir, const char *project)
{
	if (!strcmp(repo->git_dir, git_dir))
		return false;
	/* The git directory of a repository that was moved says nothing any more. */
	return ews_path_is_inside(git_dir, repo->common_dir) || strcmp(repo->project, project) != 0;
}

bool ews_repo_is_another(const struct ews_repo *repo, const char *mark, int64_t noted_s)
{
	int rc = ews_linked_is_another(repo->git_fd, mark, noted_s);

	if (rc < 0)
		ews_error_clear();
	return rc > 0;
}

bool ews_repo_is_kept_in(const struct ews_repo *repo, int dir_fd)
{
	return ews_file_is_same_open(dir_fd, repo->git_fd) || ews_file_is_same_open(dir_fd, repo->common_fd);
}

char *ews_repo_linked_top(const struct ews_repo *repo, const char *git_dir)
{
	EWS_CLEANUP(free) char *gitfile = is_linked(git_dir, repo->common_dir) ? ews_gitfile_back(git_dir) : NULL;
	EWS_CLEANUP(free) char *top = gitfile ? ews_path_dir(gitfile) : NULL;

	return top ? realpath(top, NULL) : NULL;
}

int ews_repo_open_beside(struct ews_repo **out, const struct ews_repo *repo, const char *git_dir, const char *project)
{
	EWS_CLEANUP(repo) struct ews_repo *other = NULL;
	EWS_CLEANUP(free) char *gitfile = NULL;
	EWS_CLEANUP(free) char *top = NULL;
	int rc = is_linked(git_dir, repo->common_dir) ? ews_gitfile_read_back(&gitfile, git_dir) : 0;

	/* Of what is kept from us nobody may think that it is gone. */
	if (rc == EWS_EDENIED || rc == EWS_EIO || (rc < 0 && ews_error_wants_descriptors()))
		return rc;
	ews_error_clear();
	top = gitfile ? ews_path_dir(gitfile) : ews_strdup(project);
	if (access(top, F_OK) < 0 && ews_errno_is_absent(errno))
		return ews_error(EWS_ENOTFOUND, "its work tree is gone: '%s'", top);
	rc = ews_repo_open_at(&other, top, repo->home);
	/* A record may say anything: it is one of these where both lead to the very same. */
	if (rc == 0 && (strcmp(other->git_dir, git_dir) != 0 || strcmp(other->common_dir, repo->common_dir) != 0))
		rc = ews_error(EWS_ENOTFOUND, "'%s' is no work tree of '%s' any more", top, repo->common_dir);
	if (rc == 0 && repo->dir)
		rc = ews_repo_take_dir(other, repo->dir);
	if (rc < 0)
		return rc;
	*out = ews_steal(&other);
	return 0;
}

int ews_repo_take_dir(struct ews_repo *repo, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	int rc = fd < 0 ? fd : ews_own_check(fd, dir);

	if (rc < 0)
		return rc;
	repo->dir_fd = ews_steal_fd(&fd);
	repo->dir = ews_strdup(dir);
	return 0;
}

void ews_repo_drop_dir(struct ews_repo *repo)
{
	ews_cleanup_fd(&repo->dir_fd);
	repo->dir_fd = -1;
	free(repo->dir);
	repo->dir = NULL;
}

int ews_repo_need_dir(struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *dir = NULL;
	int rc = repo->dir ? 0 : ews_home_repo_dir(&dir, repo->home, repo->common_dir, NULL);

	return rc < 0 || repo->dir ? rc : ews_repo_take_dir(repo, dir);
}

int ews_repo_make_dir(struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *dir = NULL;
	int rc = repo->dir ? 0 : ews_home_repo_dir(&dir, repo->home, repo->common_dir, repo->project);

	return rc < 0 || repo->dir ? rc : ews_repo_take_dir(repo, dir);
}

int ews_repo_look_anew(struct ews_repo *repo)
{
	int rc;

	if (!repo->is_plain || repo->is_anew)
		return 0;
	/* Its store has another name once its sessions have followed it from here. */
	rc = ews_file_is_there(AT_FDCWD, repo->common_dir);
	if (rc >= 0)
		rc = rc ? ews_astray_is_anew(repo->home, repo->common_dir) : 1;
	repo->is_anew = rc > 0;
	return rc < 0 ? rc : 0;
}

int ews_repo_refuse_anew(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *shown = NULL;

	if (!repo->is_anew)
		return 0;
	shown = ews_shell_shown(repo->project);
	ews_error(EWS_ESTALE, "'%s' was made anew since its sessions began, or is another directory", repo->project);
	ews_error_hint("if it is the same to you, in it: git ews recover --moved-from %s", shown);
	return EWS_ESTALE;
}

int ews_repo_accept_anew(struct ews_repo *repo)
{
	int rc = ews_astray_accept(repo->home, repo->common_dir);

	if (rc == 0)
		repo->is_anew = false;
	return rc;
}

int ews_repo_hide_own_dir(int fd)
{
	if (faccessat(fd, ".gitignore", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return ews_file_replace(fd, ".gitignore", GITIGNORE_ALL, strlen(GITIGNORE_ALL), 0644);
}

int ews_repo_make_own_dir(const struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int project = ews_dir_open(repo->project);
	EWS_CLEANUP(fd) int fd = -1;
	int rc = project < 0 ? project : ews_dir_make_as_owner(project, EWS_OWN_DIR, 0777);

	if (rc < 0)
		return ews_error_wrap("'%s/" EWS_OWN_DIR "'", repo->project);
	/* A link is a repository's way to lead us elsewhere: it is not followed. */
	fd = ews_dir_open_beneath(project, EWS_OWN_DIR);
	return fd < 0 ? ews_error_wrap("'%s/" EWS_OWN_DIR "'", repo->project) : ews_repo_hide_own_dir(fd);
}

int ews_repo_subdir(struct ews_repo *repo, const char *rel)
{
	int rc = ews_repo_make_dir(repo);

	if (rc == 0)
		rc = ews_dir_make(repo->dir_fd, rel, 0700);
	return rc < 0 ? rc : ews_dir_open_own(repo->dir_fd, rel);
}

char *ews_repo_worktree(const struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;

	if (strcmp(repo->git_dir, repo->common_dir) != 0)
		ews_path_escape(&name, ews_path_base(repo->git_dir), strlen(ews_path_base(repo->git_dir)));
	return ews_buf_steal(&name);
}

int ews_repo_lock(struct ews_lock *out, struct ews_repo *repo, const char *name, const char *verb, unsigned wait_ms)
{
	EWS_CLEANUP(fd) int locks = ews_repo_subdir(repo, EWS_LOCKS);
	int rc = locks < 0 ? locks : ews_lock_take(out, locks, name, verb, wait_ms);

	if (rc == 0)
		rc = ews_repo_look_anew(repo);
	if (rc < 0)
		ews_lock_release(out);
	return rc;
}

bool ews_repo_is_locked(const struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(fd)
	int locks = repo->dir_fd < 0 ? EWS_ENOTFOUND : ews_dir_open_beneath(repo->dir_fd, EWS_LOCKS);
	/* Where there are none yet nobody holds one; who can't ask takes it for held. */
	bool is_locked = locks < 0 ? locks != EWS_ENOTFOUND : ews_lock_is_held(locks, name);

	ews_error_clear();
	return is_locked;
}

const struct ews_config *ews_repo_config(struct ews_repo *repo)
{
	const struct ews_config_place place = { .project = repo->project,
						.git_dir = repo->git_dir,
						.home = repo->home };

	if (!repo->config)
		repo->config = ews_config_open(&place);
	return repo->config;
}

const struct ews_config *ews_repo_config_again(struct ews_repo *repo)
{
	ews_config_free(repo->config);
	repo->config = NULL;
	return ews_repo_config(repo);
}

char *ews_repo_git_words(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *shown = ews_shell_shown(repo->git_dir);

	return repo->is_plain ? ews_strfmt("git -C %s", shown) : ews_strdup("git");
}

void ews_repo_free(struct ews_repo *repo)
{
	if (!repo)
		return;
	free(repo->home);
	free(repo->project);
	free(repo->git_dir);
	free(repo->common_dir);
	free(repo->dir);
	free(repo->here);
	free(repo->trash_here);
	free(repo->index_file);
	free(repo->gone);
	if (repo->dir_fd >= 0)
		close(repo->dir_fd);
	if (repo->git_fd >= 0)
		close(repo->git_fd);
	if (repo->common_fd >= 0)
		close(repo->common_fd);
	ews_odb_free(repo->odb);
	ews_config_free(repo->config);
	free(repo);
}
