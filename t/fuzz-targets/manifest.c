/*
 * Fuzz target: the manifest of a snapshot, or (what begins with a brace) that of the artifacts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "target.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "store/manifest.h"
#include "work/artifact_record.h"

static void read_manifest(const char *data, size_t len)
{
	EWS_CLEANUP(entries) struct ews_entries entries = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries again = EWS_ENTRIES_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips_again = EWS_SKIPS_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf text_again = EWS_BUF_INIT;
	char hash[EWS_TREE_HASH_LEN], hash_again[EWS_TREE_HASH_LEN];

	if (ews_manifest_parse(&entries, &skips, data, len) < 0) {
		must(ews_error_code() == EWS_EDAMAGED && *ews_error_message(), "refused without a word");
		return;
	}
	for (size_t i = 0; i < entries.n; i++) {
		must(ews_path_is_plain(entries.items[i].path), "a path that leads elsewhere: '%s'",
		     entries.items[i].path);
		must(strcmp(entries.items[i].path, ".git") && strncmp(entries.items[i].path, ".git/", 5),
		     "the git directory is in it");
		must(entries.items[i].mode <= 07777, "a mode that is none");
	}
	for (size_t i = 0; i < skips.n; i++)
		must(ews_path_is_plain(skips.items[i].path), "a path that leads elsewhere: '%s'",
		     skips.items[i].path);
	ews_manifest_format(&text, &entries, &skips);
	must(ews_manifest_parse(&again, &skips_again, text.ptr, text.len) == 0, "what was written is refused: %s",
	     ews_error_message());
	ews_manifest_format(&text_again, &again, &skips_again);
	must(!strcmp(text.ptr, text_again.ptr), "what was written is read as something else");
	ews_manifest_hash(hash, &entries);
	ews_manifest_hash(hash_again, &again);
	must(!strcmp(hash, hash_again), "what was written has another hash");
}

static void read_artifact(const cJSON *item)
{
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	EWS_CLEANUP(artifact) struct ews_artifact again = EWS_ARTIFACT_INIT;
	EWS_CLEANUP(json) cJSON *json = NULL;

	if (ews_artifact_from_json(&artifact, item) < 0) {
		must(*ews_error_message(), "refused without a word");
		must(!artifact.id, "refused, and yet something was given out");
		return;
	}
	must(ews_path_is_plain(artifact.path), "a path that leads elsewhere: '%s'", artifact.path);
	must(ews_path_is_plain(ews_artifact_name(&artifact)), "a name that leads elsewhere");
	for (const char *c = artifact.path; *c; c++)
		must((unsigned char)*c >= 0x20 && *c != 0x7f, "a path with a control character");
	json = ews_artifact_to_json(&artifact);
	must(ews_artifact_from_json(&again, json) == 0, "what was written is refused: %s", ews_error_message());
	must(!strcmp(artifact.id, again.id) && !strcmp(artifact.path, again.path) &&
		     !strcmp(artifact.sha256, again.sha256) && artifact.type == again.type,
	     "what was written is read as something else");
}

static void read_artifacts(const char *data, size_t len)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	const cJSON *array, *item;

	if (ews_json_parse(&object, data, len) < 0 || ews_json_get_array(&array, object, "artifacts") < 0) {
		must(*ews_error_message(), "refused without a word");
		return;
	}
	cJSON_ArrayForEach(item, array)
		read_artifact(item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	ews_json_init();
	ews_error_clear();
	if (len && *data == '{')
		read_artifacts((const char *)data, len);
	else
		read_manifest((const char *)data, len);
	return 0;
}
