/*
 * Recovery: see render_recover.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_recover.h"

#include "base/utf8.h"

void ews_render_incomplete(struct ews_buf *out, const char *id)
{
	ews_buf_addf(out,
		     "WARNING: Incomplete session detected\n"
		     "  Session: %s\n"
		     "  Status: interrupted\n"
		     "  Options:\n"
		     "    1. Resume session\n"
		     "    2. Revert and discard\n"
		     "    3. View changes before deciding\n",
		     id);
}

void ews_render_recovered_text(struct ews_buf *out, const struct ews_strv *done)
{
	size_t i;

	for (i = 0; i < done->n; i++) {
		ews_utf8_add_line(out, done->items[i]);
		ews_buf_addc(out, '\n');
	}
}

cJSON *ews_render_recovered_json(const char *id, const struct ews_strv *done)
{
	cJSON *object = cJSON_CreateObject(), *array;
	size_t i;

	if (*id)
		(void)cJSON_AddStringToObject(object, "session_id", id);
	else
		(void)cJSON_AddNullToObject(object, "session_id");
	array = cJSON_AddArrayToObject(object, "done");
	for (i = 0; i < done->n; i++)
		cJSON_AddItemToArray(array, ews_json_path(done->items[i]));
	return object;
}

cJSON *ews_render_not_recovered_json(const char *id, const char *why)
{
	cJSON *object = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(object, "session_id", id);
	cJSON_AddItemToObject(object, "why", ews_json_path(why));
	return object;
}
