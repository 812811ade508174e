/*
 * Farewells: see render_farewell.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_farewell.h"

#include "base/path.h"
#include "cmd/render_path.h"

/* Kinds in the order in which people ask for them. All types of tests are one kind. */
static const struct {
	enum ews_artifact_type first, last;
	const char *one, *many;
} kinds[] = {
	{ EWS_ARTIFACT_QR, EWS_ARTIFACT_QR, "Report", "Report" },
	{ EWS_ARTIFACT_PATCH, EWS_ARTIFACT_PATCH, "Patch", "Patches" },
	{ EWS_ARTIFACT_TEST_UNIT, EWS_ARTIFACT_TEST_SECURITY, "Test", "Tests" },
	{ EWS_ARTIFACT_LOG, EWS_ARTIFACT_LOG, "Log", "Logs" },
};

void ews_render_farewell(cJSON *object, const struct ews_farewell *farewell)
{
	cJSON *array = cJSON_AddArrayToObject(object, "artifacts");

	for (size_t i = 0; i < farewell->n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_render_string(item, "id", farewell->items[i].id);
		ews_render_string(item, "type", ews_artifact_type_word(farewell->items[i].type));
		ews_json_add_path(item, "path", farewell->items[i].path);
		cJSON_AddItemToArray(array, item);
	}
}

void ews_render_farewell_text(struct ews_buf *out, const struct ews_farewell *farewell)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		const char *first = NULL;
		size_t n = 0;

		for (size_t i = 0; i < farewell->n; i++) {
			if (farewell->items[i].type < kinds[k].first || farewell->items[i].type > kinds[k].last)
				continue;
			if (!first)
				first = farewell->items[i].path;
			n++;
		}
		if (!n)
			continue;
		ews_buf_addf(out, "  %s: ", n > 1 ? kinds[k].many : kinds[k].one);
		ews_path_quote(out, first);
		/* The report's second form is beside the first. */
		if (n > 1 && kinds[k].first != EWS_ARTIFACT_QR)
			ews_buf_addf(out, " and %zu more", n - 1);
		ews_buf_addc(out, '\n');
	}
}
