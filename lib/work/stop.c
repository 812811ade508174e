/*
 * Stop: see stop.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/stop.h"

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
#include "base/path.h"
#include "base/str.h"
#include "store/config.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "store/home_project.h"
#include "store/home_repo.h"
#include "store/home_workspace.h"
#include "store/linked.h"
#include "store/packed_refs.h"
#include "store/state.h"
#include "work/session.h"

#define LINK_BYTES_MAX (64 * EWS_KIB)

/* What lets a command through that this hook would stop. */
enum leave { LEAVE_NONE = 0, LEAVE_COMMIT, LEAVE_PUSH };

static const struct asked {
	const char *hook;
	const char *what; /* is stopped */
	enum leave leave;
} asked[] = {
	{ "applypatch-msg", "git am", LEAVE_COMMIT },
	{ "pre-applypatch", "git am", LEAVE_COMMIT },
	{ "pre-commit", "git commit", LEAVE_COMMIT },
	{ "pre-merge-commit", "git merge", LEAVE_COMMIT },
	{ "reference-transaction", "a change of refs", LEAVE_COMMIT }, /* --no-verify doesn't leave this one out */
	{ "pre-rebase", "git rebase", LEAVE_NONE },
	{ "pre-push", "git push", LEAVE_PUSH },
	{ "sendemail-validate", "git send-email", LEAVE_NONE },
	{ "p4-pre-submit", "git p4 submit", LEAVE_NONE },
};

static const struct asked *find(const char *hook)
{
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		if (!strcmp(asked[i].hook, hook))
			return &asked[i];
	return NULL;
}

bool ews_stop_is_asked_by(const char *hook)
{
	return find(hook);
}

/* The repository that git works in. */
struct where {
	char *git_dir, *common_dir; /* real */
	char *top; /* of the work tree; NULL: not known, or none */
	char *locked_by; /* the session whose linked worktree it says to be, or NULL */
};

static void release_where(struct where *where)
{
	free(where->git_dir);
	free(where->common_dir);
	free(where->top);
	free(where->locked_by);
}

EWS_CLEANUP_DEFINE(where, struct where, release_where)

/* The text of `dir`/`name` behind `head`, without its line's end; NULL when there is none. */
static int read_line(char **out, const char *dir, const char *name, const char *head)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, name);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *rest;
	int rc = ews_file_read(&text, AT_FDCWD, path, LINK_BYTES_MAX);

	if (rc < 0)
		return ews_error_if_passing(rc);
	ews_buf_rtrim(&text);
	rest = ews_str_after(text.ptr, head);
	*out = rest ? ews_strdup(rest) : NULL;
	return 0;
}

/* What `path`, seen from `dir`, really is; NULL when it is nothing. */
static char *real_from(const char *dir, const char *path)
{
	EWS_CLEANUP(free) char *absolute = ews_path_absolute(dir, path);

	return realpath(absolute, NULL);
}

/* git runs hooks at the top of the work tree, or in a repository that has none, and names the git directory where it is not ".git". */
static char *find_git_dir(const char *cwd)
{
	const char *env = getenv("GIT_DIR");
	EWS_CLEANUP(free) char *dir = real_from(cwd, env && *env ? env : ".git");
	struct stat st;

	if (!dir)
		return ews_errno_is_passing(errno) ? NULL : realpath(cwd, NULL);
	if (stat(dir, &st) < 0)
		return NULL;
	return S_ISDIR(st.st_mode) ? ews_steal(&dir) : ews_gitfile_follow(dir);
}

/* Returns 1, or 0 when that is nothing that can be made sense of. */
static int find_where(struct where *out, const char *cwd)
{
	EWS_CLEANUP(free) char *common = NULL;
	EWS_CLEANUP(free) char *link = NULL;
	EWS_CLEANUP(free) char *top = NULL;
	int rc;

	out->git_dir = find_git_dir(cwd);
	if (!out->git_dir)
		return ews_error_if_passing(ews_error_os("cannot find the git directory"));
	rc = read_line(&common, out->git_dir, "commondir", "");
	if (rc == 0 && common)
		rc = read_line(&link, out->git_dir, "gitdir", "");
	if (rc == 0 && common)
		rc = read_line(&out->locked_by, out->git_dir, "locked", EWS_LINKED_LOCKED_BY);
	if (rc < 0)
		return rc;
	if (!common && !strcmp(ews_path_base(out->git_dir), ".git"))
		link = ews_strdup(out->git_dir);
	top = link ? ews_path_dir(link) : NULL;
	out->top = top ? realpath(top, NULL) : NULL;
	if (top && !out->top && ews_error_if_passing(ews_error_os("cannot look at '%s'", top)) < 0)
		return EWS_EIO;
	out->common_dir = real_from(out->git_dir, common ? common : ".");
	return out->common_dir ? 1 : ews_error_if_passing(ews_error_os("cannot look at '%s'", out->git_dir));
}

/* Reads the state of session `id` below `repo_dir`. Returns 1, or 0 when it has ended, or says nothing. */
static int read_living(struct ews_state *out, const char *repo_dir, const char *id)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/" EWS_WORKING_SESSIONS "/%s", repo_dir, id);
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	int rc = fd < 0 ? fd : ews_state_read(out, fd);

	return rc < 0 ? ews_error_if_passing(rc) : out->state != EWS_STATE_ENDED;
}

static int is_workspace(struct ews_state *out, const char *home, const struct where *where)
{
	EWS_CLEANUP(free) char *repo_dir = NULL;
	EWS_CLEANUP(free) char *id = NULL;
	EWS_CLEANUP(free) char *workspace = NULL;
	int rc = where->top ? ews_home_find_workspace(&repo_dir, &id, home, where->top) : EWS_ENOTFOUND;

	if (rc < 0)
		return ews_error_if_passing(rc);
	rc = read_living(out, repo_dir, id);
	if (rc <= 0)
		return rc;
	workspace = realpath(out->workspace, NULL);
	if (!workspace)
		return ews_error_if_passing(ews_error_os("cannot look at '%s'", out->workspace));
	return !strcmp(workspace, where->top);
}

/*
 * Does the session work in this work tree, not in one that had its name before it? `store` is where the repository was when the
 * state was written.
 */
static bool is_here(const struct ews_state *state, const char *store, const struct where *where)
{
	const char *below = ews_str_after(state->git_dir, store);
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s%s", where->common_dir, below ? below : "");
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (strcmp(state->method, "in-place") != 0 || !below || strcmp(git_dir, where->git_dir) != 0)
		return false;
	fd = ews_dir_open(where->git_dir);
	rc = fd < 0 ? fd : ews_linked_is_another(fd, state->worktree_mark, state->created_s);
	if (rc < 0)
		ews_error_clear();
	return rc <= 0;
}

/* Reads the state of a session among those below `repo_dir` that works here itself. Returns 1, or 0 when there is none. */
static int find_in_place(struct ews_state *out, const char *repo_dir, const char *store, const struct where *where)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(free) char *sessions = ews_path_join(repo_dir, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(fd) int fd = ews_dir_open(sessions);
	ssize_t n = fd < 0 ? fd : ews_dir_names_read(&names, fd);
	int rc = n < 0 ? ews_error_if_passing((int)n) : 0;

	for (ssize_t i = 0; i < n && rc == 0; i++) {
		EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;

		rc = read_living(&state, repo_dir, names.items[i].name);
		if (rc > 0)
			rc = is_here(&state, store, where);
		if (rc > 0) {
			*out = state;
			state = (struct ews_state)EWS_STATE_INIT;
		}
	}
	return rc;
}

/* Has the repository the session's base? */
static int has_base(const struct where *where, const char *id)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", id);
	EWS_CLEANUP(free) char *line = ews_strfmt(" %s\n", ref);
	EWS_CLEANUP(fd) int fd = ews_dir_open(where->common_dir);
	EWS_CLEANUP(buf) struct ews_buf packed = EWS_BUF_INIT;
	int rc = fd < 0 ? fd : ews_file_is_there(fd, ref);

	if (rc == 0)
		rc = ews_packed_refs_read(&packed, fd, ref);
	if (rc < 0)
		return ews_error_if_passing(rc);
	return rc > 0 || strstr(packed.ptr, line);
}

/* One that home doesn't know may have been moved: its sessions have not followed yet, and they work here all the same. */
static int find_moved(struct ews_state *out, const char *home, const struct where *where)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	int rc = ews_home_projects(&projects, home);

	if (rc < 0)
		rc = ews_error_if_passing(rc);
	for (size_t i = 0; i < projects.n && rc == 0; i++) {
		const struct ews_home_project *project = &projects.items[i];
		EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;

		if (project->problem ||
		    !(project->leads_to ? !strcmp(project->leads_to, where->common_dir) : project->is_gone))
			continue;
		rc = find_in_place(&state, project->dir, project->store, where);
		if (rc > 0)
			rc = has_base(where, state.id);
		if (rc > 0) {
			*out = state;
			state = (struct ews_state)EWS_STATE_INIT;
		}
	}
	return rc;
}

static int is_used_in_place(struct ews_state *out, const char *home, const struct where *where)
{
	EWS_CLEANUP(free) char *repo_dir = NULL;
	int rc = ews_home_repo_dir(&repo_dir, home, where->common_dir, NULL);

	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	rc = rc < 0 ? find_moved(out, home, where) : find_in_place(out, repo_dir, where->common_dir, where);
	if (rc <= 0)
		return rc;
	free(out->git_dir);
	out->git_dir = ews_strdup(where->git_dir);
	if (where->top) {
		free(out->project);
		out->project = ews_strdup(where->top);
	}
	return 1;
}

static bool read_bool(const struct ews_config *config, const char *name)
{
	bool truth = true;

	/* Nothing that is wrong in a file loosens anything. */
	if (ews_config_bool(&truth, config, name) < 0)
		ews_error_clear();
	return truth;
}

static const char *read_word(const struct ews_config *config, const char *name)
{
	const char *word = "";

	if (ews_config_word(&word, config, name) < 0)
		ews_error_clear();
	return word;
}

/* What a session's last `run` was told holds, else the setting. */
static bool is_word(const char *told, const struct ews_config *config, const char *name, const char *word)
{
	return !strcmp(told && *told ? told : read_word(config, name), word);
}

/* The top of the work tree that the session is of: where git says that this stands by now, else where it was. The caller frees it. */
static char *find_top(const struct ews_state *state)
{
	EWS_CLEANUP(free) char *entries = ews_path_dir(state->git_dir);
	EWS_CLEANUP(free) char *gitfile = NULL;
	EWS_CLEANUP(free) char *top = NULL;
	char *real = NULL;

	if (!strcmp(ews_path_base(entries), "worktrees"))
		gitfile = ews_gitfile_back(state->git_dir);
	top = gitfile ? ews_path_dir(gitfile) : NULL;
	real = top ? realpath(top, NULL) : NULL;
	return real ? real : ews_strdup(state->project);
}

/* Do the project's settings let it go on? */
static bool is_let(const struct ews_state *state, const char *home, const struct asked *ask)
{
	EWS_CLEANUP(free) char *top = find_top(state);
	const struct ews_config_place place = { .project = top, .git_dir = state->git_dir, .home = home };
	EWS_CLEANUP(config) struct ews_config *config = ews_config_open(&place);

	if (!read_bool(config, "qe.git_guard.enabled") ||
	    is_word(state->guard_level, config, "ews.guard.level", "off"))
		return true;
	if (ask->leave == LEAVE_PUSH)
		return !read_bool(config, "qe.git_guard.block_push");
	/* An independent copy has a repository of its own, in which anything may happen that stays there. */
	if (!strcmp(state->method, "snapshot") && is_word(state->guard_policy, config, "ews.guard.policy", "inside"))
		return true;
	return ask->leave == LEAVE_COMMIT && !read_bool(config, "qe.git_guard.block_commit");
}

static int ask_places(char **out, const char *home, const char *cwd, const struct asked *ask)
{
	EWS_CLEANUP(where) struct where where = { NULL, NULL, NULL, NULL };
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = find_where(&where, cwd);

	if (rc <= 0)
		return rc;
	rc = is_workspace(&state, home, &where);
	if (rc < 0)
		return rc;
	if (rc > 0 || where.locked_by) {
		if (rc > 0 && is_let(&state, home, ask))
			return 0;
		*out = ews_strfmt("git ews: blocked: %s (this is the workspace of session '%s'); use: git ews diff",
				  ask->what, rc > 0 ? state.id : where.locked_by);
		return 1;
	}
	ews_state_release(&state);
	state = (struct ews_state)EWS_STATE_INIT;
	rc = is_used_in_place(&state, home, &where);
	if (rc <= 0 || is_let(&state, home, ask))
		return rc < 0 ? rc : 0;
	*out = ews_strfmt("git ews: blocked: %s (session '%s' works in place here); use: git ews end %s", ask->what,
			  state.id, state.id);
	return 1;
}

int ews_stop_ask(char **out, const char *home, const char *cwd, const char *hook)
{
	const struct asked *ask = find(hook);
	int rc = ask ? ask_places(out, home, cwd, ask) : 0;

	if (rc >= 0)
		return rc;
	*out = ews_strfmt("git ews: blocked: %s (cannot tell whether a session works here: %s); try again",
			  ask->what, ews_error_message());
	ews_error_clear();
	return 1;
}
