/*
 * Locks: see render_lock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_lock.h"

#include "base/clock.h"
#include "cmd/render_path.h"

void ews_render_lock_line(struct ews_buf *out, const struct ews_holding *holding)
{
	EWS_CLEANUP(buf) struct ews_buf who = EWS_BUF_INIT;
	char age[EWS_STAMP_LEN];

	ews_holding_name(&who, holding);
	if (holding->kind == EWS_HOLDING_COMMAND && *holding->session)
		ews_buf_addf(&who, " in session '%s'", holding->session);
	ews_clock_age(age, ews_clock_now() - holding->since_s);
	ews_buf_addf(out, "%-5s  %-5s  %s  %s", ews_holding_word(holding->mode), holding->turn ? "waits" : "holds",
		     who.ptr, age);
	if (*holding->intent) {
		ews_buf_adds(out, "  ");
		ews_render_words(out, holding->intent);
	}
	ews_buf_addc(out, '\n');
}

cJSON *ews_render_lock_json(const struct ews_holding *holding)
{
	cJSON *object = cJSON_CreateObject();
	const bool is_command = holding->kind == EWS_HOLDING_COMMAND;

	ews_render_string(object, "lock_id", holding->id);
	(void)cJSON_AddStringToObject(object, "mode", ews_holding_word(holding->mode));
	(void)cJSON_AddStringToObject(object, "held_by", is_command ? "command" : "session");
	ews_render_string(object, "session_id",
			  !is_command         ? holding->id
			  : *holding->session ? holding->session
					      : NULL);
	ews_render_string(object, "intent", holding->intent);
	ews_render_time(object, "since", holding->since_s);
	ews_json_add_int(object, "age_ms", (ews_clock_now() - holding->since_s) * 1000);
	if (!holding->process.pid)
		return object;
	ews_json_add_int(object, "pid", holding->process.pid);
	ews_json_add_int(object, "start_time", (int64_t)holding->process.start_time);
	ews_render_string(object, "boot_id", holding->process.boot_id);
	ews_render_string(object, "pid_namespace", holding->pid_namespace);
	return object;
}
