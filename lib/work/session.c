/*
 * Sessions: see session.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "store/early.h"
#include "store/home.h"

int ews_session_fail_at_work(const char *id)
{
	ews_error(EWS_EBUSY, "session '%s': another process is at work on it", id);
	ews_error_hint("try again when it is done");
	return EWS_EBUSY;
}

bool ews_session_is_at_home(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *real = realpath(session->repo->dir, NULL);
	EWS_CLEANUP(free) char *qe = ews_path_join(real ? real : session->repo->dir, EWS_WORKING_WORKSPACES);
	EWS_CLEANUP(free) char *parent = ews_path_dir(session->state.workspace);

	return !session->method->is_project && !strcmp(parent, qe);
}

int ews_session_remove_tmp(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *rel = ews_home_tmp(session->repo->dir, session->state.id);
	EWS_CLEANUP(fd) int home = ews_dir_open(session->repo->home);
	EWS_CLEANUP(fd) int dir = home < 0 ? -1 : ews_dir_open_beneath(home, EWS_HOME_TMP);

	if (home < 0 || (dir < 0 && ews_error_code() != EWS_ENOTFOUND))
		return ews_error_code();
	if (dir < 0) {
		ews_error_clear();
		return 0;
	}
	return ews_file_remove_tree(dir, ews_path_base(rel));
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

void ews_session_release(struct ews_session *session)
{
	ews_early_free(session->early);
	ews_lock_release(&session->lock);
	ews_lock_release(&session->owner_lock);
	ews_state_release(&session->state);
	ews_repo_free(session->beside);
	free(session->dir);
	if (session->fd >= 0)
		close(session->fd);
	*session = (struct ews_session)EWS_SESSION_INIT;
}
