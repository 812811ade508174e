/*
 * Names of sessions: see session_name.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/error.h"
#include "store/astray.h"
#include "store/home.h"
#include "store/state.h"
#include "store/step.h"
#include "work/method.h"

#define ID_LEN_MAX 64

static bool is_id_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
	       c == '-';
}

/* What keeps `id` from being one, NULL: nothing. */
static const char *flaw_of(const char *id)
{
	size_t len = strlen(id);

	for (size_t i = 0; i < len; i++)
		if (!is_id_char(id[i]))
			return "it has a character that no id has";
	if (len < 1 || len > ID_LEN_MAX)
		return len ? "it is too long" : "it is empty";
	if (id[0] == '.' || id[0] == '_' || id[0] == '-')
		return "it begins with neither a letter nor a digit";
	if (strstr(id, ".."))
		return "it has '..'";
	if (id[len - 1] == '.' || (len > 4 && !strcmp(id + len - 5, ".lock")))
		return id[len - 1] == '.' ? "it ends in '.'" : "it ends in '.lock'";
	if (!strcmp(id, "HEAD") || !strcmp(id, "now") || !strcmp(id, "all"))
		return "that word means something else";
	return NULL;
}

int ews_session_check_id(const char *id)
{
	const char *flaw = flaw_of(id);

	if (!flaw)
		return 0;
	ews_error(EWS_EUSAGE, "'%.80s' is not a session's id: %s", id, flaw);
	ews_error_hint("use up to %d letters, digits, '.', '_' or '-', a letter or digit first", ID_LEN_MAX);
	return EWS_EUSAGE;
}

int ews_session_ids(struct ews_strv *out, struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n;
	int rc = ews_repo_need_dir(repo);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return rc;
	fd = ews_dir_open_own(repo->dir_fd, EWS_WORKING_SESSIONS);
	if (fd < 0 && ews_error_errno() == ENOENT) {
		ews_error_clear();
		return 0;
	}
	if (fd < 0)
		return fd;
	n = ews_dir_names_read(&names, fd);
	for (ssize_t i = 0; i < n; i++) {
		if (ews_session_check_id(names.items[i].name) == 0)
			ews_strv_add(out, names.items[i].name);
		else
			ews_error_clear();
	}
	return n < 0 ? (int)n : 0;
}

bool ews_session_hint_former(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *former = repo->is_plain ? NULL : ews_astray_former(repo->home, repo->project);

	if (former)
		ews_error_hint("those that began when this was no git repository are there while '%s' has another name",
			       repo->git_dir);
	return former;
}

int ews_session_fail_unknown(const struct ews_repo *repo, const char *name)
{
	ews_error(EWS_ENOTFOUND, "no session '%s'", name);
	if (!ews_session_hint_former(repo))
		ews_error_hint("'git ews list' shows the sessions of this project");
	return EWS_ENOTFOUND;
}

static int ambiguous(const char *name, const struct ews_strv *ids)
{
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	size_t len = strlen(name);

	for (size_t i = 0; i < ids->n; i++)
		if (!strncmp(ids->items[i], name, len))
			ews_buf_addf(&list, "%s%s", list.len ? ", " : "", ids->items[i]);
	ews_error(EWS_EUSAGE, "'%s' may mean several sessions", name);
	ews_error_hint("one of %s", list.ptr);
	return EWS_EUSAGE;
}

/* Is there a session of that very id? Then it is meant, and the others need not be listed, of which there may be hundreds. */
static bool is_id(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(fd)
	int fd = ews_repo_need_dir(repo) < 0 ? -1 : ews_dir_open_own(repo->dir_fd, EWS_WORKING_SESSIONS);
	bool is = fd >= 0 && faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	ews_error_clear(); /* who lists them says it */
	return is;
}

static int resolve_prefix(char **out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	const char *found = NULL;
	size_t n = 0, len = strlen(name);
	int rc = ews_session_check_id(name);

	if (rc == 0 && is_id(repo, name)) {
		*out = ews_strdup(name);
		return 0;
	}
	if (rc == 0)
		rc = ews_session_ids(&ids, repo);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ids.n; i++) {
		if (strncmp(ids.items[i], name, len))
			continue;
		found = ids.items[i];
		n++;
	}
	if (n > 1)
		return ambiguous(name, &ids);
	if (!n)
		return ews_session_fail_unknown(repo, name);
	*out = ews_strdup(found);
	return 0;
}

/* Returns 1, and its state is in `out` then; 0 also of one that is damaged. One that can't be read just now may be: an error. */
static int find_alive(struct ews_state *out, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_own(repo->dir_fd, rel);
	int rc = fd < 0 ? fd : ews_state_read(out, fd);

	if (rc == 0)
		return out->state != EWS_STATE_ENDED;
	return ews_error_if_passing(rc) < 0 ? ews_error_wrap("cannot tell whether session '%s' is over", id) : 0;
}

static int is_alive(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;

	return find_alive(&state, repo, id);
}

bool ews_session_has_record(const struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id);

	return repo->dir && faccessat(repo->dir_fd, rel, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int ews_session_is_alive_here(struct ews_repo *repo, const char *id, bool in_place)
{
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = find_alive(&state, repo, id);

	if (rc <= 0)
		return rc;
	if (ews_repo_is_beside(repo, state.git_dir, state.project))
		return false;
	if (ews_method_find(state.method) != &ews_method_in_place)
		return !in_place;
	/* What it worked in may have been taken out, and this one added under its name. */
	return !ews_repo_is_another(repo, state.worktree_mark, state.created_s);
}

static int resolve_only(char **out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	const char *found = NULL;
	size_t n = 0;
	int rc = ews_session_ids(&ids, repo);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ids.n; i++) {
		rc = is_alive(repo, ids.items[i]);
		if (rc < 0)
			ews_error_hint("try again, or name the session that is meant");
		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		found = ids.items[i];
		ews_buf_addf(&list, "%s%s", n++ ? ", " : "", found);
	}
	if (n == 1) {
		*out = ews_strdup(found);
		return 0;
	}
	if (n == 0) {
		ews_error(EWS_ENOTFOUND, "this project has no active session");
		ews_error_hint("start one with 'git ews start'");
		return EWS_ENOTFOUND;
	}
	ews_error(EWS_EUSAGE, "this project has %zu active sessions", n);
	ews_error_hint("name one: %s", list.ptr);
	return EWS_EUSAGE;
}

/* Does a session work in this work tree itself? */
static int has_in_place(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_session_ids(&ids, repo);

	for (size_t i = 0; i < ids.n && rc == 0; i++)
		rc = ews_session_is_alive_here(repo, ids.items[i], true);
	return rc;
}

bool ews_session_is_chosen(const struct ews_repo *repo)
{
	const char *env = getenv("EWS_SESSION");

	return repo->here || repo->trash_here || (env && *env);
}

int ews_session_is_implied(struct ews_repo *repo)
{
	return ews_session_is_chosen(repo) ? 1 : has_in_place(repo);
}

/* Who stands in what a step put into trash is still with the session that the step was of. */
static int resolve_trashed(char **out, struct ews_repo *repo)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc = ews_repo_need_dir(repo);

	if (rc == 0)
		rc = ews_step_read(&step, repo->dir_fd, repo->trash_here);
	if (rc == 0 && *step.session && ews_session_check_id(step.session) == 0) {
		*out = ews_strdup(step.session);
		return 0;
	}
	ews_error_clear();
	/* It gave its id to a new one, and is recorded under a name that none can have. */
	if (rc == 0 && *step.session) {
		ews_error(EWS_ENOTFOUND,
			  "this directory is in trash: its session has ended, and another has its id now");
		ews_error_hint("'git ews undo %s' brings it back", step.session);
		return EWS_ENOTFOUND;
	}
	ews_error(EWS_ENOTFOUND, "this directory is in trash, and of no session that is known");
	ews_error_hint("change to the project, or name a session");
	return EWS_ENOTFOUND;
}

int ews_session_resolve(char **out, struct ews_repo *repo, const char *name)
{
	const char *env = getenv("EWS_SESSION");
	int rc;

	if (name)
		return resolve_prefix(out, repo, name);
	if (repo->here) {
		*out = ews_strdup(repo->here);
		return 0;
	}
	if (repo->trash_here)
		return resolve_trashed(out, repo);
	if (env && *env) {
		rc = resolve_prefix(out, repo, env);
		return rc < 0 ? ews_error_wrap("EWS_SESSION") : 0;
	}
	return resolve_only(out, repo);
}
