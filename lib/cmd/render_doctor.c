/*
 * What the doctor found: see render_doctor.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_doctor.h"

#include <string.h>

#include "cmd/pager.h"
#include "cmd/render_path.h"

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define DIM "2"

#define STATUS_WIDTH 7 /* of the longest word */

static const struct look {
	const char *word, *color;
} looks[] = {
	[EWS_CHECK_OK] = { "ok", GREEN },
	[EWS_CHECK_WARNING] = { "warning", YELLOW },
	[EWS_CHECK_PROBLEM] = { "problem", RED },
};

static void add_pad(struct ews_buf *out, size_t used, size_t width)
{
	for (; used < width; used++)
		ews_buf_addc(out, ' ');
}

static size_t name_width(const struct ews_checkup *checkup)
{
	size_t width = 0;

	for (size_t i = 0; i < checkup->n; i++)
		if (strlen(checkup->items[i].name) > width)
			width = strlen(checkup->items[i].name);
	return width;
}

void ews_render_doctor(struct ews_buf *out, const struct ews_checkup *checkup, bool color)
{
	size_t width = name_width(checkup);

	for (size_t i = 0; i < checkup->n; i++) {
		const struct ews_check *check = &checkup->items[i];
		const struct look fixed = { "fixed", GREEN };
		const struct look *look = check->is_fixed ? &fixed : &looks[check->status];

		ews_pager_paint(out, color, look->color, look->word);
		add_pad(out, strlen(look->word), STATUS_WIDTH + 2);
		ews_buf_adds(out, check->name);
		add_pad(out, strlen(check->name), width + 2);
		ews_render_words(out, check->message);
		ews_buf_addc(out, '\n');
		if (!check->fix || check->is_fixed)
			continue;
		add_pad(out, 0, STATUS_WIDTH + width + 4);
		ews_pager_paint(out, color, DIM, check->mend ? "--fix: " : "do: ");
		ews_render_words(out, check->fix);
		ews_buf_addc(out, '\n');
	}
}

void ews_render_doctor_json(cJSON *object, const struct ews_checkup *checkup)
{
	cJSON *array = cJSON_AddArrayToObject(object, "checks");

	for (size_t i = 0; i < checkup->n; i++) {
		const struct ews_check *check = &checkup->items[i];
		cJSON *item = cJSON_CreateObject();

		(void)cJSON_AddStringToObject(item, "name", check->name);
		(void)cJSON_AddStringToObject(item, "status", looks[check->status].word);
		cJSON_AddItemToObject(item, "message", ews_json_path(check->message));
		cJSON_AddItemToObject(item, "fix", check->fix ? ews_json_path(check->fix) : cJSON_CreateNull());
		(void)cJSON_AddBoolToObject(item, "can_fix", check->mend != NULL);
		(void)cJSON_AddBoolToObject(item, "fixed", check->is_fixed);
		cJSON_AddItemToArray(array, item);
	}
	(void)cJSON_AddBoolToObject(object, "is_well", ews_doctor_is_content(checkup));
}
