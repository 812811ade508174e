/*
 * What is known of an archive, as the record in it says it: see archive.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

#define VERSION 1

static void add_list(cJSON *object, const char *key, const struct ews_strv *list)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);

	for (size_t i = 0; i < list->n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_json_add_bytes(item, "text", list->items[i]);
		cJSON_AddItemToArray(array, item);
	}
}

static int get_list(struct ews_strv *out, const cJSON *object, const char *key)
{
	const cJSON *array, *item;
	int rc = ews_json_get_array(&array, object, key);

	if (rc < 0)
		return rc;
	cJSON_ArrayForEach(item, array) {
		EWS_CLEANUP(free) char *text = NULL;

		rc = ews_json_get_bytes(&text, item, "text");
		if (rc < 0)
			return rc;
		ews_strv_add(out, text);
	}
	return 0;
}

/* The record's texts that are paths or names. */
#define TEXTS(archive)                                                                                            \
	{                                                                                                         \
		{ "path", &(archive)->path }, { "session_id", &(archive)->session },                              \
			{ "base_commit", &(archive)->base_commit }, { "snapshot_id", &(archive)->base_snapshot }, \
			{ "previous", &(archive)->previous },                                                     \
			{ "previous_checksum", &(archive)->previous_checksum },                                   \
		{                                                                                                 \
			"checksum", &(archive)->checksum                                                          \
		}                                                                                                 \
	}

void ews_archive_format(struct ews_buf *out, const struct ews_archive *archive)
{
	const struct {
		const char *key;
		char *const *text;
	} texts[] = TEXTS(archive);
	EWS_CLEANUP(json) cJSON *object = cJSON_CreateObject();
	char stamp[EWS_STAMP_LEN];

	ews_json_add_int(object, "version", VERSION);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ews_json_add_bytes(object, texts[i].key, *texts[i].text ? *texts[i].text : "");
	ews_json_add_int(object, "mode", archive->mode);
	ews_clock_rfc3339(stamp, archive->created_s);
	(void)cJSON_AddStringToObject(object, "timestamp", stamp);
	(void)cJSON_AddStringToObject(object, "compression", ews_compression_word(archive->compression));
	ews_json_add_int(object, "files_count", (int64_t)archive->n_files);
	ews_json_add_int(object, "total_size_bytes", (int64_t)archive->size_bytes);
	add_list(object, "keep", &archive->rules.keep);
	add_list(object, "ignore", &archive->rules.ignore);
	add_list(object, "static_assets", &archive->rules.assets);
	(void)cJSON_AddBoolToObject(object, "default_ignores", !archive->rules.no_defaults);
	add_list(object, "env", &archive->env);
	ews_json_print(out, object, true);
}

/* What people get to see of somebody else's record is what it says it is. */
static bool is_checksum(const char *text)
{
	static const char start[] = "sha256:";
	size_t len = strlen(start);

	return !strncmp(text, start, len) && strlen(text) == len + 64 && strspn(text + len, "0123456789abcdef") == 64;
}

int ews_archive_parse(struct ews_archive *out, const char *text, size_t len)
{
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	const struct {
		const char *key;
		char **text;
	} texts[] = TEXTS(&archive);
	const char *stamp = NULL, *compression = NULL;
	int64_t mode = -1, n_files = 0, size_bytes = 0;
	bool has_defaults = true;
	int rc = ews_json_parse(&object, text, len);

	if (rc == 0)
		rc = ews_json_check_version(object, VERSION);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && rc == 0; i++)
		rc = ews_json_get_bytes(texts[i].text, object, texts[i].key);
	if (rc == 0 && !is_checksum(archive.checksum))
		rc = ews_error(EWS_EDAMAGED, "its checksum is none");
	/* Those that know nothing of it are as good. */
	if (rc == 0 && cJSON_HasObjectItem(object, "mode"))
		rc = ews_json_get_int(&mode, object, "mode");
	if (rc == 0)
		rc = ews_json_get_string(&stamp, object, "timestamp");
	if (rc == 0)
		rc = ews_clock_parse(&archive.created_s, stamp);
	if (rc == 0)
		rc = ews_json_get_string(&compression, object, "compression");
	if (rc == 0 && ews_compression_read(&archive.compression, compression) < 0)
		rc = ews_error(EWS_EDAMAGED, "'%s' is no way to compress", compression);
	if (rc == 0)
		rc = ews_json_get_int(&n_files, object, "files_count");
	if (rc == 0)
		rc = ews_json_get_int(&size_bytes, object, "total_size_bytes");
	if (rc == 0)
		rc = get_list(&archive.rules.keep, object, "keep");
	if (rc == 0)
		rc = get_list(&archive.rules.ignore, object, "ignore");
	if (rc == 0)
		rc = get_list(&archive.rules.assets, object, "static_assets");
	if (rc == 0)
		rc = ews_json_get_bool(&has_defaults, object, "default_ignores");
	if (rc == 0)
		rc = get_list(&archive.env, object, "env");
	if (rc == 0 && (n_files < 0 || size_bytes < 0))
		rc = ews_error(EWS_EDAMAGED, "it has less than nothing in it");
	if (rc == 0 && (mode < -1 || mode > 07777))
		rc = ews_error(EWS_EDAMAGED, "it has a mode that is none");
	if (rc < 0)
		return ews_error_wrap("the archive's record");
	archive.mode = (int)mode;
	archive.n_files = (uint64_t)n_files;
	archive.size_bytes = (uint64_t)size_bytes;
	archive.rules.no_defaults = !has_defaults;
	*out = archive;
	archive = (struct ews_archive)EWS_ARCHIVE_INIT;
	return 0;
}
