/*
 * Session state: see state.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/shell_word.h"

#define STATE_FILE "state.json"
#define STATE_BYTES_MAX EWS_MIB
#define STATE_VERSION 1

static const char *const words[] = {
	[EWS_STATE_STARTING] = "starting",
	[EWS_STATE_ACTIVE] = "active",
	[EWS_STATE_ENDING] = "ending",
	[EWS_STATE_ENDED] = "ended",
};

const char *ews_state_word(enum ews_session_state state)
{
	return words[state];
}

/* Which member of the struct each string of the file is. */
#define STRINGS(X)                        \
	X("session_id", id)               \
	X("method", method)               \
	X("project", project)             \
	X("git_dir", git_dir)             \
	X("workspace", workspace)         \
	X("base_snapshot", base_snapshot) \
	X("base_commit", base_commit)     \
	X("branch", branch)               \
	X("intent", intent)               \
	X("label", label)                 \
	X("last_snapshot", last_snapshot)

/* Not there in what was written before it could be said. */
#define LATER_STRINGS(X)                      \
	X("exclude", exclude)                 \
	X("guard_level", guard_level)         \
	X("guard_policy", guard_policy)       \
	X("parent_snapshot", parent_snapshot) \
	X("worktree_mark", worktree_mark)

static int parse_later(char **out, const cJSON *json, const char *key)
{
	EWS_CLEANUP(free) char *escaped = ews_strfmt("%s_escaped", key);

	if (cJSON_HasObjectItem(json, key) || cJSON_HasObjectItem(json, escaped))
		return ews_json_get_bytes(out, json, key);
	*out = ews_strdup("");
	return 0;
}

static int parse_owner(struct ews_kin *out, const cJSON *json)
{
	const cJSON *owner = cJSON_GetObjectItem(json, "owner");
	int64_t pid, start_time;
	const char *boot_id;
	int rc;

	if (!owner || cJSON_IsNull(owner))
		return 0;
	rc = ews_json_get_int(&pid, owner, "pid");
	if (rc == 0)
		rc = ews_json_get_int(&start_time, owner, "start_time");
	if (rc == 0)
		rc = ews_json_get_string(&boot_id, owner, "boot_id");
	if (rc < 0)
		return ews_error_wrap("owner");
	if (pid <= 0 || pid > INT32_MAX || strlen(boot_id) >= EWS_BOOT_ID_MAX)
		return ews_error(EWS_EDAMAGED, "its owner is no process");
	*out = (struct ews_kin){ .pid = (pid_t)pid, .start_time = (uint64_t)start_time };
	memcpy(out->boot_id, boot_id, strlen(boot_id));
	return 0;
}

static int parse_port_base(unsigned *out, const cJSON *json)
{
	int64_t port;
	int rc;

	if (!cJSON_HasObjectItem(json, "port_base"))
		return 0;
	rc = ews_json_get_int(&port, json, "port_base");
	if (rc == 0 && (port < 0 || port > UINT16_MAX))
		return ews_error(EWS_EDAMAGED, "its 'port_base' is no port");
	if (rc == 0)
		*out = (unsigned)port;
	return rc;
}

/* Not there in what was written before there were epochs. */
static int parse_epoch(int64_t *out, const cJSON *json)
{
	*out = -1;
	return cJSON_HasObjectItem(json, "epoch") ? ews_json_get_int(out, json, "epoch") : 0;
}

static int parse(struct ews_state *out, const cJSON *json)
{
	const char *word;
	int rc = ews_json_check_version(json, STATE_VERSION);

	if (rc < 0)
		return rc;
#define GET(key, member)                                  \
	rc = ews_json_get_bytes(&out->member, json, key); \
	if (rc < 0)                                       \
		return rc;
	STRINGS(GET)
#undef GET
	rc = ews_json_get_string(&word, json, "state");
	if (rc < 0)
		return rc;
	for (size_t i = EWS_STATE_STARTING; i <= EWS_STATE_ENDED; i++)
		if (!strcmp(word, words[i]))
			out->state = i;
	if (!out->state)
		return ews_error(EWS_EDAMAGED, "'%.40s' is no state", word);
	rc = ews_json_get_int(&out->created_s, json, "created");
	if (rc == 0)
		rc = ews_json_get_int(&out->ended_s, json, "ended");
	if (rc == 0)
		rc = ews_json_get_bool(&out->keeps_nested, json, "keeps_nested");
	out->copies_objects = cJSON_IsTrue(cJSON_GetObjectItem(json, "copies_objects"));
	out->keeps_ignored = cJSON_IsTrue(cJSON_GetObjectItem(json, "keeps_ignored"));
	out->guard_enforced = cJSON_IsTrue(cJSON_GetObjectItem(json, "guard_enforced"));
	out->guard_offline = cJSON_IsTrue(cJSON_GetObjectItem(json, "guard_offline"));
	out->project_changed = cJSON_IsTrue(cJSON_GetObjectItem(json, "project_changed"));
	out->is_overruled = cJSON_IsTrue(cJSON_GetObjectItem(json, "overruled"));
	out->is_left_behind = cJSON_IsTrue(cJSON_GetObjectItem(json, "left_behind"));
#define GET_LATER(key, member) \
	if (rc == 0)           \
		rc = parse_later(&out->member, json, key);
	LATER_STRINGS(GET_LATER)
#undef GET_LATER
	if (rc == 0)
		rc = parse_owner(&out->owner, json);
	if (rc == 0)
		rc = parse_epoch(&out->epoch, json);
	return rc < 0 ? rc : parse_port_base(&out->port_base, json);
}

int ews_state_parse(struct ews_state *out, const char *text, size_t len)
{
	EWS_CLEANUP(json) cJSON *json = NULL;
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = ews_json_parse(&json, text, len);

	if (rc == 0)
		rc = parse(&state, json);
	if (rc < 0)
		return rc;
	*out = state;
	state = (struct ews_state)EWS_STATE_INIT;
	return 0;
}

int ews_state_read(struct ews_state *out, int session_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, session_fd, STATE_FILE, STATE_BYTES_MAX);

	if (rc == 0)
		rc = ews_state_parse(out, text.ptr, text.len);
	return rc < 0 ? ews_error_wrap(STATE_FILE) : 0;
}

static void add_owner(cJSON *json, const struct ews_kin *owner)
{
	cJSON *object;

	if (!owner->pid)
		return;
	object = cJSON_AddObjectToObject(json, "owner");
	ews_json_add_int(object, "pid", owner->pid);
	ews_json_add_int(object, "start_time", (int64_t)owner->start_time);
	cJSON_AddStringToObject(object, "boot_id", owner->boot_id);
}

void ews_state_format(struct ews_buf *out, const struct ews_state *state)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();

	ews_json_add_int(json, "version", STATE_VERSION);
	cJSON_AddStringToObject(json, "state", words[state->state]);
#define PUT(key, member) ews_json_add_bytes(json, key, state->member ? state->member : "");
	STRINGS(PUT)
	LATER_STRINGS(PUT)
#undef PUT
	ews_json_add_int(json, "created", state->created_s);
	ews_json_add_int(json, "ended", state->ended_s);
	cJSON_AddBoolToObject(json, "keeps_nested", state->keeps_nested);
	cJSON_AddBoolToObject(json, "keeps_ignored", state->keeps_ignored);
	cJSON_AddBoolToObject(json, "copies_objects", state->copies_objects);
	cJSON_AddBoolToObject(json, "guard_enforced", state->guard_enforced);
	cJSON_AddBoolToObject(json, "guard_offline", state->guard_offline);
	cJSON_AddBoolToObject(json, "project_changed", state->project_changed);
	cJSON_AddBoolToObject(json, "overruled", state->is_overruled);
	cJSON_AddBoolToObject(json, "left_behind", state->is_left_behind);
	ews_json_add_int(json, "port_base", state->port_base);
	ews_json_add_int(json, "epoch", state->epoch);
	add_owner(json, &state->owner);
	ews_json_print(out, json, true);
}

int ews_state_has_ended(int sessions_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(sessions_fd, name);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = fd < 0 ? fd : ews_state_read(&state, fd);

	return rc < 0 ? ews_error_if_passing(rc) : state.state == EWS_STATE_ENDED;
}

/* Nothing is lost by it: the record is only out of the way, and what it was of is found as what nobody has. */
void ews_state_advise(int rc, const char *dir)
{
	EWS_CLEANUP(free) char *shown = ews_shell_shown(dir);

	if (rc == EWS_EUNSUPPORTED)
		ews_error_hint("use the version of git ews that wrote it");
	else
		ews_error_hint(
			"move its record, %s, away; then 'git ews doctor' in its project says what to do with what is left",
			shown);
}

int ews_state_write(int session_fd, const struct ews_state *state)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_state_format(&text, state);
	/* What is longer than any that is read again would be nobody's any more. */
	if (text.len > STATE_BYTES_MAX) {
		ews_error(EWS_EUNSUPPORTED, "what session '%s' is to remember is longer than %llu bytes", state->id,
			  STATE_BYTES_MAX);
		ews_error_hint("its intent, its label or qe.workspace.exclude is too long");
		return EWS_EUNSUPPORTED;
	}
	return ews_file_replace(session_fd, STATE_FILE, text.ptr, text.len, 0600);
}

void ews_state_release(struct ews_state *state)
{
#define FREE(key, member) free(state->member);
	STRINGS(FREE)
	LATER_STRINGS(FREE)
#undef FREE
	*state = (struct ews_state)EWS_STATE_INIT;
}
