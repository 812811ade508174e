/*
 * Retiring: see retire.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/retire.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "store/home.h"
#include "store/lock.h"
#include "store/state.h"
#include "work/session_lock.h"
#include "work/session_name.h"

#define MARK '~' /* in no session's id */

char *ews_retire_id(const char *name)
{
	return ews_strndup(name, strcspn(name, (const char[]){ MARK, '\0' }));
}

bool ews_retire_is_name(const char *name)
{
	return strchr(name, MARK) != NULL;
}

/* What a file says is no path until it was looked at. */
static int check_name(const char *name)
{
	EWS_CLEANUP(free) char *id = ews_retire_id(name);
	const char *base = name + strlen(id);

	if (ews_session_check_id(id) == 0 && *base == MARK && ews_session_check_id(base + 1) == 0)
		return 0;
	return ews_error(EWS_EDAMAGED, "'%.100s' is no retired session", name);
}

/* A rename within a directory that is harmless when it was done before. */
static int move(int dir_fd, const char *from, const char *to)
{
	/* What a killed call was moving the other way comes first. */
	int rc = ews_file_settle(dir_fd, to);

	if (rc == 0)
		rc = ews_file_is_there(dir_fd, from);
	if (rc <= 0)
		return rc;
	rc = ews_file_rename_new(dir_fd, from, dir_fd, to);
	return rc < 0 ? rc : ews_file_sync_dir(dir_fd);
}

/* The kept worktree entry lies beside git's own. */
static int move_entry(struct ews_repo *repo, const char *from, const char *to)
{
	EWS_CLEANUP(fd) int beside = -1;
	int rc = ews_file_is_there(repo->common_fd, "ews");

	if (rc <= 0)
		return rc;
	beside = ews_dir_open_beneath(repo->common_fd, "ews");
	return beside < 0 ? beside : move(beside, from, to);
}

static int rename_in_steps(struct ews_repo *repo, const char *from, const char *to)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_step_list(&ids, repo->dir_fd);

	for (size_t i = 0; i < ids.n && rc >= 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_look(&step, NULL, repo->dir_fd, ids.items[i]);
		if (rc <= 0 || strcmp(step.session, from))
			continue;
		free(step.session);
		step.session = ews_strdup(to);
		rc = ews_step_write(repo->dir_fd, &step);
	}
	return rc < 0 ? rc : 0;
}

/* Recover looks for sessions by their ids: one that has a step to finish keeps its own until then. */
static int refuse_unfinished(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_step_list(&ids, repo->dir_fd);

	for (size_t i = 0; i < ids.n && rc >= 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_look(&step, NULL, repo->dir_fd, ids.items[i]);
		if (rc <= 0 || strcmp(step.session, id) != 0 || !ews_step_is_unfinished(&step) ||
		    ews_step_is_of_project(&step))
			continue;
		return ews_session_fail_interrupted(id);
	}
	return rc < 0 ? rc : 0;
}

int ews_retire(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(free) char *name = NULL;
	int rc;

	if (sessions < 0)
		return sessions;
	rc = ews_file_is_there(sessions, id);
	if (rc <= 0)
		return rc;
	fd = ews_dir_open_beneath(sessions, id);
	rc = fd < 0 ? fd : ews_state_read(&state, fd);
	if (rc < 0 || state.state != EWS_STATE_ENDED) {
		ews_error(EWS_EEXISTS, "session '%s' already exists", id);
		ews_error_hint("choose another id, or leave it out and one is made");
		return EWS_EEXISTS;
	}
	name = ews_strfmt("%s%c%s", id, MARK, state.base_snapshot);
	rc = check_name(name);
	if (rc == 0)
		rc = refuse_unfinished(repo, id);
	if (rc == 0)
		rc = rename_in_steps(repo, id, name);
	if (rc == 0)
		rc = move_entry(repo, id, name);
	return rc < 0 ? rc : move(sessions, id, name);
}

static int revive(struct ews_repo *repo, int sessions_fd, const char *name, const char *id)
{
	int rc = move(sessions_fd, name, id);

	if (rc == 0)
		rc = move_entry(repo, name, id);
	return rc < 0 ? rc : rename_in_steps(repo, name, id);
}

int ews_retire_revive(struct ews_repo *repo, struct ews_step *step)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(fd) int sessions = -1;
	char *id;
	int rc;

	if (!ews_retire_is_name(step->session))
		return 0;
	rc = check_name(step->session);
	if (rc < 0)
		return rc;
	sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	if (sessions < 0)
		return sessions;
	id = ews_retire_id(step->session);
	rc = ews_repo_lock(&lock, repo, id, "undo", 0);
	if (rc == 0)
		rc = ews_file_is_there(sessions, step->session);
	if (rc > 0)
		rc = ews_retire(repo, id);
	if (rc == EWS_EEXISTS) {
		rc = ews_error(EWS_EBUSY, "another session is called '%s' now", id);
		ews_error_hint(
			"end that one, then 'git ews undo %s'; 'git ews undo <step>' takes back one of '--list' that is not about it",
			step->session);
	}
	if (rc == 0)
		rc = revive(repo, sessions, step->session, id);
	free(step->session);
	step->session = id;
	return rc;
}

/* The name that the session in the directory `id` would be retired under. NULL: it has not ended. The caller frees it. */
static char *future_name(int sessions_fd, const char *id)
{
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(sessions_fd, id);
	bool has_ended = fd >= 0 && ews_state_read(&state, fd) == 0 && state.state == EWS_STATE_ENDED;

	ews_error_clear();
	return has_ended ? ews_strfmt("%s%c%s", id, MARK, state.base_snapshot) : NULL;
}

/* The names of all that is retired, by its directory or in a step alone. */
static int list_retired(struct ews_strv *out, struct ews_repo *repo, int sessions_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	ssize_t n = ews_dir_names_read(&names, sessions_fd);
	int rc = n < 0 ? (int)n : ews_step_list(&ids, repo->dir_fd);

	for (ssize_t i = 0; i < n; i++)
		if (ews_retire_is_name(names.items[i].name))
			ews_strv_add(out, names.items[i].name);
	for (size_t i = 0; i < ids.n && rc >= 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_look(&step, NULL, repo->dir_fd, ids.items[i]);
		if (rc > 0 && ews_retire_is_name(step.session) && check_name(step.session) == 0)
			ews_strv_add(out, step.session);
	}
	ews_strv_unique(out);
	return rc < 0 ? rc : 0;
}

/* Returns 1 when it has its id again. */
static int mend(struct ews_repo *repo, int sessions_fd, const char *name)
{
	EWS_CLEANUP(free) char *id = ews_retire_id(name);
	EWS_CLEANUP(free) char *future = NULL;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, repo, id, "recover", 0), has_dir, has_id;

	if (rc < 0)
		return rc == EWS_EBUSY ? 0 : rc;
	rc = ews_file_settle(sessions_fd, name);
	if (rc == 0)
		rc = ews_file_settle(sessions_fd, id);
	if (rc < 0)
		return rc;
	has_dir = ews_file_is_there(sessions_fd, name);
	has_id = has_dir < 0 ? has_dir : ews_file_is_there(sessions_fd, id);
	if (has_id < 0)
		return has_id;
	if (!has_id) {
		rc = has_dir ? ews_retire_revive_last(repo, id) : 0;
		return rc < 0 ? rc : has_dir;
	}
	/* Its steps and its entry went first. */
	future = has_dir ? NULL : future_name(sessions_fd, id);
	if (!future || strcmp(future, name) != 0)
		return 0;
	rc = revive(repo, sessions_fd, name, id);
	return rc < 0 ? rc : 1;
}

int ews_retire_mend(struct ews_strv *done, struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = sessions < 0 ? sessions : list_retired(&names, repo, sessions);

	for (size_t i = 0; i < names.n && rc >= 0; i++) {
		EWS_CLEANUP(free) char *id = ews_retire_id(names.items[i]);

		rc = mend(repo, sessions, names.items[i]);
		if (rc > 0)
			ews_strv_addf(done, "session '%s': it has its id again, which a start had taken", id);
	}
	if (rc < 0)
		return rc;
	ews_error_clear(); /* of those that somebody is at work on */
	return 0;
}

int ews_retire_revive_last(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(free) char *found = NULL;
	const char *last = NULL;
	size_t len = strlen(id);
	ssize_t n = sessions < 0 ? sessions : ews_dir_names_read(&names, sessions);

	/* Bases' ids sort by their time. */
	for (ssize_t i = 0; i < n; i++)
		if (!strncmp(names.items[i].name, id, len) && names.items[i].name[len] == MARK &&
		    (!last || strcmp(names.items[i].name, last) > 0))
			last = names.items[i].name;
	if (last)
		found = ews_strdup(last);
	if (!found)
		return n < 0 ? (int)n : 0;
	return revive(repo, sessions, found, id);
}
