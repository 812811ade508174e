/*
 * Sessions: see session.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/path.h"
#include "store/astray.h"
#include "store/home.h"
#include "store/journal.h"

#define LINK_BYTES_MAX (64 * EWS_KIB)
#define ID_LEN_MAX 64
#define NO_FD (-1)

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
	int rc = ews_repo_need_dir(repo, false);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return rc;
	fd = ews_dir_open_own(repo->dir_fd, "sessions");
	if (fd < 0 && errno == ENOENT) {
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

static int fail_at_work(const char *id)
{
	ews_error(EWS_EBUSY, "session '%s': another process is at work on it", id);
	ews_error_hint("try again when it is done");
	return EWS_EBUSY;
}

static int fail_no_session(const struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *former = repo->is_plain ? NULL : ews_astray_former(repo->home, repo->project);

	ews_error(EWS_ENOTFOUND, "no session '%s'", name);
	if (former)
		ews_error_hint("those that began when this was no git repository are there while '%s' has another name",
			       repo->git_dir);
	else
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
	int fd = ews_repo_need_dir(repo, false) < 0 ? -1 : ews_dir_open_own(repo->dir_fd, "sessions");
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
		return fail_no_session(repo, name);
	*out = ews_strdup(found);
	return 0;
}

/* Is the session `id` there, not ended, and (`in_place`) one that works in the project itself? */
static bool is_alive(struct ews_repo *repo, const char *id, bool in_place)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt("sessions/%s", id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_own(repo->dir_fd, rel);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	bool alive = fd >= 0 && ews_state_read(&state, fd) == 0 && state.state != EWS_STATE_ENDED;

	ews_error_clear();
	return alive && (!in_place || ews_method_find(state.method) == &ews_method_in_place);
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
		if (!is_alive(repo, ids.items[i], false))
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

/* The session that works in the project itself: there is one at most. The caller frees it; NULL when there is none. */
static char *find_in_place(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	char *found = NULL;

	if (ews_session_ids(&ids, repo) < 0)
		ews_error_clear();
	for (size_t i = 0; i < ids.n && !found; i++)
		if (is_alive(repo, ids.items[i], true))
			found = ews_strdup(ids.items[i]);
	return found;
}

bool ews_session_is_implied(struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *in_place = NULL;
	const char *env = getenv("EWS_SESSION");

	if (repo->here || repo->trash_here || (env && *env))
		return true;
	in_place = find_in_place(repo);
	return in_place;
}

/* Who stands in what a step put into trash is still with the session that the step was of. */
static int resolve_trashed(char **out, struct ews_repo *repo)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc = ews_repo_need_dir(repo, false);

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

bool ews_session_is_at_home(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *real = realpath(session->repo->dir, NULL);
	EWS_CLEANUP(free) char *qe = ews_path_join(real ? real : session->repo->dir, "qe");
	EWS_CLEANUP(free) char *parent = ews_path_dir(session->state.workspace);

	return !session->method->is_project && !strcmp(parent, qe);
}

/*
 * Is nothing of it in its place any more? So it is once it has ended; and where a start was killed that was being taken back, or
 * an end that an older version was at, the mark may have gone before the state said so.
 */
static bool has_left(const struct ews_state *state)
{
	if (state->state != EWS_STATE_STARTING && state->state != EWS_STATE_ENDING)
		return state->state == EWS_STATE_ENDED;
	return faccessat(AT_FDCWD, state->workspace, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* A state file is in our home, yet it may have been written by anyone: paths must be where they must be. */
static int check_state(const struct ews_session *session, const char *id)
{
	const struct ews_state *state = &session->state;
	EWS_CLEANUP(free) char *name = NULL;

	if (strcmp(state->id, id))
		return ews_error(EWS_EDAMAGED, "it says that it is '%.64s'", state->id);
	if (!session->method)
		return ews_error(EWS_EUNSUPPORTED, "its method '%.40s' is not known to this version", state->method);
	if (session->method->is_project) {
		if (strcmp(state->workspace, session->repo->project))
			return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not the project", state->workspace);
		return 0;
	}
	if (*state->workspace != '/' || strcmp(ews_path_base(state->workspace), id))
		return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not called '%s'", state->workspace, id);
	name = ews_path_absolute("/", state->workspace);
	if (strcmp(name, state->workspace))
		return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not a plain path", state->workspace);
	/* Outside of home only where `start --in` left its mark. */
	if (!has_left(state) && !ews_session_is_at_home(session) &&
	    !ews_home_is_marked(session->repo->home, state->workspace, session->repo->dir, id))
		return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not where it was made", state->workspace);
	return 0;
}

int ews_session_open(struct ews_session *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ews_session_resolve(&id, repo, name);

	return rc < 0 ? rc : ews_session_open_id(out, repo, id);
}

int ews_session_open_id(struct ews_session *out, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *rel = ews_strfmt("sessions/%s", id);
	int rc = ews_repo_need_dir(repo, false);

	if (rc < 0)
		return rc;
	session.repo = repo;
	session.dir = ews_path_join(repo->dir, rel);
	session.fd = ews_dir_open_own(repo->dir_fd, rel);
	if (session.fd == EWS_EDENIED)
		return ews_error_wrap("session '%s'", id);
	if (session.fd < 0)
		return fail_no_session(repo, id);
	rc = ews_state_read(&session.state, session.fd);
	if (rc == EWS_ENOTFOUND && ews_repo_is_locked(repo, id))
		return fail_at_work(id);
	if (rc == EWS_ENOTFOUND)
		rc = ews_error(EWS_EDAMAGED, "it has no state");
	if (rc == 0) {
		session.method = ews_method_find(session.state.method);
		rc = check_state(&session, id);
	}
	if (rc == EWS_EDENIED)
		return ews_error_wrap("session '%s'", id);
	if (rc < 0) {
		ews_error_wrap("session '%s'", id);
		ews_error_hint("'git ews recover %s' looks at what is left of it", id);
		return rc;
	}
	*out = session;
	session = (struct ews_session)EWS_SESSION_INIT;
	return 0;
}

static void swap(char **a, char **b)
{
	char *was = *a;

	*a = *b;
	*b = was;
}

int ews_session_lock_within(struct ews_session *session, const char *verb, unsigned wait_ms)
{
	EWS_CLEANUP(state) struct ews_state fresh = EWS_STATE_INIT;
	int rc;

	if (session->lock.fd >= 0)
		return 0;
	rc = ews_repo_lock(&session->lock, session->repo, session->state.id, verb, wait_ms);
	if (rc < 0)
		return ews_error_wrap("session '%s'", session->state.id);
	/* What was read before the lock was ours may be old. */
	rc = ews_state_read(&fresh, session->fd);
	if (rc < 0)
		return ews_error_wrap("session '%s'", session->state.id);
	if (strcmp(fresh.id, session->state.id) || strcmp(fresh.workspace, session->state.workspace))
		return ews_error(EWS_EDAMAGED, "session '%s' became another one", session->state.id);
	session->state.state = fresh.state;
	session->state.ended_s = fresh.ended_s;
	session->state.owner = fresh.owner;
	session->state.project_changed = fresh.project_changed;
	session->state.port_base = fresh.port_base;
	session->state.guard_enforced = fresh.guard_enforced;
	session->state.guard_offline = fresh.guard_offline;
	swap(&session->state.last_snapshot, &fresh.last_snapshot);
	swap(&session->state.guard_level, &fresh.guard_level);
	swap(&session->state.guard_policy, &fresh.guard_policy);
	return 0;
}

int ews_session_lock(struct ews_session *session, const char *verb)
{
	return ews_session_lock_within(session, verb, 0);
}

void ews_session_unlock(struct ews_session *session)
{
	ews_lock_release(&session->lock);
}

char *ews_session_owner_lock(const char *id)
{
	return ews_strfmt("owner:%s", id);
}

int ews_session_own(struct ews_session *session, const char *verb)
{
	EWS_CLEANUP(free) char *name = ews_session_owner_lock(session->state.id);
	int rc = ews_repo_lock(&session->owner_lock, session->repo, name, verb, 0);

	if (rc == EWS_EBUSY) {
		ews_error_wrap("session '%s' is at work", session->state.id);
		ews_error_hint("wait for its end, or leave the session's name out to make a new one");
		return rc;
	}
	if (rc == 0)
		ews_kin_self(&session->state.owner);
	return rc;
}

int ews_session_disown(struct ews_session *session)
{
	int rc;

	session->state.owner = (struct ews_kin)EWS_KIN_INIT;
	rc = ews_session_save(session);
	ews_lock_release(&session->owner_lock);
	return rc;
}

/* The kernel knows it, whatever numbers are given again, and in whatever container they count. */
static bool has_owner(const struct ews_session *session, bool is_alive_wanted)
{
	EWS_CLEANUP(free) char *name = ews_session_owner_lock(session->state.id);

	if (!session->state.owner.pid)
		return false;
	return (session->owner_lock.fd >= 0 || ews_repo_is_locked(session->repo, name)) == is_alive_wanted;
}

bool ews_session_has_living_owner(const struct ews_session *session)
{
	return has_owner(session, true);
}

bool ews_session_has_dead_owner(const struct ews_session *session)
{
	return has_owner(session, false);
}

/* While somebody is at work on it, nothing is interrupted. */
static bool is_locked_by_others(const struct ews_session *session)
{
	return session->lock.fd < 0 && ews_repo_is_locked(session->repo, session->state.id);
}

/*
 * Of a step that is not finished what tells it from another, and one turn of it from the next; NULL: there is none. The record has
 * the say: without one nothing has begun, and what is done needs no line that says so. One that can't be read may be of something
 * half done.
 */
static char *name_unfinished(const struct ews_session *session, const char *step_id)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc = ews_step_read(&step, session->repo->dir_fd, step_id);

	if (rc == EWS_ENOTFOUND || (rc == 0 && !ews_step_is_unfinished(&step)))
		return NULL;
	return ews_strfmt("%s %d %" PRIu64 " %" PRIu64, step_id, (int)step.state, step.undo_sequence,
			  step.redo_sequence);
}

/* What a verb did not finish that is at work or was killed, as above. The caller frees it. */
static char *find_unfinished(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *step = NULL;
	EWS_CLEANUP(free) char *verb = NULL;
	char *found;
	int rc;

	if (session->state.state == EWS_STATE_STARTING || session->state.state == EWS_STATE_ENDING)
		return ews_strdup(ews_state_word(session->state.state));
	rc = ews_journal_unfinished(&step, &verb, session->fd);
	/* What may not be read may say so; garbage says nothing. */
	if (rc < 0)
		found = rc == EWS_EDAMAGED ? NULL : ews_strdup("journal");
	else
		found = *step ? name_unfinished(session, step) : NULL;
	ews_error_clear();
	return found;
}

static bool has_unfinished_step(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *found = find_unfinished(session);

	return found != NULL;
}

/* What is as a verb leaves it that is at work or was killed; NULL: nothing. The caller frees it. */
static char *find_half(const struct ews_session *session)
{
	char *found = find_unfinished(session);

	if (!found && ews_session_is_orphaned(session))
		found = ews_strdup("owner");
	return found;
}

bool ews_session_is_interrupted(const struct ews_session *session)
{
	EWS_CLEANUP(state) struct ews_state fresh = EWS_STATE_INIT;
	EWS_CLEANUP(free) char *before = find_half(session);
	EWS_CLEANUP(free) char *after = NULL;
	struct ews_session now = *session;

	if (!before || is_locked_by_others(session))
		return false;
	/* Who was at work may have come to an end just before his lock was looked for, and the next one have begun since. */
	if (ews_state_read(&fresh, session->fd) == 0)
		now.state = fresh;
	ews_error_clear();
	after = find_half(&now);
	return after && !strcmp(before, after);
}

bool ews_session_is_orphaned(const struct ews_session *session)
{
	return session->state.state == EWS_STATE_ACTIVE && ews_session_has_dead_owner(session) &&
	       !has_unfinished_step(session);
}

int ews_session_remove_tmp(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *rel = ews_home_tmp(session->repo->dir, session->state.id);
	EWS_CLEANUP(fd) int home = ews_dir_open(session->repo->home);
	EWS_CLEANUP(fd) int dir = home < 0 ? -1 : ews_dir_open_beneath(home, "tmp");

	if (home < 0 || (dir < 0 && ews_error_code() != EWS_ENOTFOUND))
		return ews_error_code();
	if (dir < 0) {
		ews_error_clear();
		return 0;
	}
	return ews_file_remove_tree(dir, ews_path_base(rel));
}

int ews_session_refuse_company(const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_session_ids(&ids, session->repo);

	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		if (!strcmp(ids.items[i], session->state.id) ||
		    !is_alive(session->repo, ids.items[i], !session->method->is_project))
			continue;
		rc = ews_error(EWS_EBUSY,
			       session->method->is_project ? "session '%s' is not over"
							   : "session '%s' works in the project itself",
			       ids.items[i]);
		ews_error_hint("end it with 'git ews end %s'", ids.items[i]);
	}
	return rc;
}

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

int ews_session_refuse_ended(const struct ews_session *session)
{
	const char *id = session->state.id;

	if (session->state.state != EWS_STATE_ENDED)
		return 0;
	ews_error(EWS_ENOTFOUND, "session '%s' has ended", id);
	ews_error_hint("'git ews undo %s' brings it back", id);
	return EWS_ENOTFOUND;
}

int ews_session_fail_interrupted(const char *id)
{
	ews_error(EWS_EINTERRUPTED, "session '%s' is interrupted", id);
	ews_error_hint("git ews recover %s --resume, --revert or --view", id);
	return EWS_EINTERRUPTED;
}

int ews_session_refuse_unsettled(const struct ews_session *session)
{
	EWS_CLEANUP(state) struct ews_state fresh = EWS_STATE_INIT;
	struct ews_session now = *session;
	int rc;

	if (session->lock.fd >= 0)
		return 0;
	if (is_locked_by_others(session))
		return fail_at_work(session->state.id);
	rc = ews_state_read(&fresh, session->fd);
	if (rc == EWS_ENOTFOUND)
		return fail_no_session(session->repo, session->state.id);
	ews_error_clear();
	if (rc == 0)
		now.state = fresh;
	return ews_session_is_interrupted(&now) ? ews_session_fail_interrupted(session->state.id)
						: ews_session_refuse_ended(&now);
}

int ews_session_lock_settled(struct ews_session *session, const char *verb)
{
	const bool is_held = session->lock.fd >= 0;
	int rc = ews_session_lock(session, verb);

	/* Who was at work when it was looked at may have been killed since. Who held the lock knows what he found. */
	if (rc == 0 && !is_held && has_unfinished_step(session))
		rc = ews_session_fail_interrupted(session->state.id);
	return rc;
}

/* Without a base nothing in the workspace means anything yet. */
static bool is_begun(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", session->state.id);
	struct ews_oid base;
	bool has_base = ews_odb_ref_read(&base, session->repo->odb, ref) == 0;

	ews_error_clear();
	return has_base;
}

static int refuse_tampered(const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv tampered = EWS_STRV_INIT;
	const char *id = session->state.id;
	int rc = ews_session_tampered(&tampered, session);

	if (rc == 0 && tampered.n)
		rc = ews_session_refuse_unsettled(session);
	if (rc < 0 || !tampered.n)
		return rc;
	if (ews_session_lacks_entry(&tampered)) {
		ews_error(EWS_EDAMAGED, "session '%s': its '%s' is gone", id, tampered.items[0]);
		ews_error_hint("'git ews recover' writes it anew, and leaves the files alone");
		return EWS_EDAMAGED;
	}
	ews_error(EWS_EDAMAGED, "session '%s': '%s' was rewritten", id, tampered.items[0]);
	ews_error_hint("'git ews revert %s' writes it anew", id);
	return EWS_EDAMAGED;
}

int ews_session_need_active(const struct ews_session *session)
{
	int rc = ews_session_refuse_ended(session);

	if (rc < 0)
		return rc;
	if (ews_session_is_interrupted(session))
		return ews_session_fail_interrupted(session->state.id);
	if (session->state.state == EWS_STATE_STARTING && !is_begun(session))
		rc = ews_session_refuse_unsettled(session);
	if (rc == 0)
		rc = refuse_tampered(session);
	/* Of one that somebody was done with meanwhile it counts what it is like since. */
	return rc == EWS_EDAMAGED && session->lock.fd < 0 ? refuse_tampered(session) : rc;
}

int ews_session_save(struct ews_session *session)
{
	int rc = ews_state_write(session->fd, &session->state);

	return rc < 0 ? ews_error_wrap("session '%s'", session->state.id) : 0;
}

cJSON *ews_session_log_line(const char *verb, const char *text)
{
	cJSON *json = cJSON_CreateObject();
	char stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, ews_clock_now());
	cJSON_AddStringToObject(json, "schema", "ews.log/1");
	cJSON_AddStringToObject(json, "timestamp", stamp);
	cJSON_AddStringToObject(json, "verb", verb);
	cJSON_AddItemToObject(json, "message", ews_json_path(text));
	return json;
}

int ews_session_log(struct ews_session *session, const char *verb, const char *text)
{
	EWS_CLEANUP(json) cJSON *json = ews_session_log_line(verb, text);
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_json_print(&line, json, false);
	ews_buf_rtrim(&line);
	return ews_file_append(session->fd, "log", line.ptr, 0600);
}

int ews_session_open_parent(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *parent = NULL;

	if (ews_session_is_at_home(session))
		return ews_repo_subdir(session->repo, "qe");
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
	EWS_CLEANUP(free) char *rel = ews_strfmt("worktrees/%s", session->state.id);
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(buf) struct ews_buf link = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *there = NULL;
	int rc = session->method == &ews_method_worktree ? ews_file_is_there(AT_FDCWD, session->state.workspace) : 1;

	if (rc < 0)
		ews_error_clear(); /* who looks for it says so */
	if (rc != 0)
		return NULL;
	fd = ews_dir_open_beneath(session->repo->common_fd, rel);
	if (fd < 0 || ews_file_read(&link, fd, "gitdir", LINK_BYTES_MAX) < 0)
		ews_error_clear();
	ews_buf_rtrim(&link);
	if (!link.len || *link.ptr != '/' || strcmp(ews_path_base(link.ptr), ".git") != 0)
		return NULL;
	/* Where it can't be looked at now it may be all the same. */
	rc = ews_file_is_there(AT_FDCWD, link.ptr);
	if (rc < 0)
		ews_error_clear();
	if (rc == 0)
		return NULL;
	there = ews_path_dir(link.ptr);
	return ews_steal(&there);
}

static int fail_gone(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *there = ews_session_moved_to(session);
	EWS_CLEANUP(free) char *round = ews_strfmt("ews/%s", session->state.id);

	ews_error(EWS_EDAMAGED, "the workspace of session '%s' is gone: '%s'", session->state.id,
		  session->state.workspace);
	if (there)
		ews_error_hint("it was moved: git worktree move '%s' '%s'", there, session->state.workspace);
	else if (!strcmp(session->state.label, round))
		ews_error_hint("'git ews round end --force' ends the round, without its work");
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

int ews_session_open_workspace(const struct ews_session *session)
{
	int fd;

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

	/* Where it lies elsewhere, git has it of a workspace that is gone. */
	if (workspace < 0 && ews_session_is_gone(session) != 1)
		return ews_error_code();
	return session->method->open_git(&place, workspace);
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

void ews_session_release(struct ews_session *session)
{
	ews_early_free(session->early);
	ews_lock_release(&session->lock);
	ews_lock_release(&session->owner_lock);
	ews_state_release(&session->state);
	free(session->dir);
	if (session->fd >= 0)
		close(session->fd);
	*session = (struct ews_session)EWS_SESSION_INIT;
}
