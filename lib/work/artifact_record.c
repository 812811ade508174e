/*
 * Artifact records: see artifact_record.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "store/commit.h"
#include "store/tree.h"

#define NUMBER_DIGITS_MAX 9

/* "test_unit" as the beginning of an id: "test-unit-". */
static char *id_prefix(enum ews_artifact_type type)
{
	char *prefix = ews_strfmt("%s-", ews_artifact_type_word(type));

	for (char *c = prefix; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return prefix;
}

char *ews_artifact_id_new(enum ews_artifact_type type, unsigned number)
{
	EWS_CLEANUP(free) char *prefix = id_prefix(type);

	return ews_strfmt("%s%03u", prefix, number);
}

/* May an artifact of `type` have that id? `*number` is what tells it from the others. */
static bool is_sound_id(const char *id, enum ews_artifact_type type, unsigned *number)
{
	EWS_CLEANUP(free) char *prefix = id_prefix(type);
	size_t len = strlen(prefix), digits;

	if (strncmp(id, prefix, len) != 0)
		return false;
	digits = strspn(id + len, "0123456789");
	if (!digits || digits > NUMBER_DIGITS_MAX || id[len + digits])
		return false;
	*number = (unsigned)strtoul(id + len, NULL, 10);
	return true;
}

static void add_trailer(struct ews_buf *out, const char *key, const char *text)
{
	if (!*text)
		return;
	ews_buf_addf(out, "%s: ", key);
	ews_path_escape(out, text, strlen(text));
	ews_buf_addc(out, '\n');
}

int ews_artifact_write(struct ews_artifact *artifact, struct ews_batch *batch)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_tree_item file = { .mode = artifact->is_executable ? EWS_MODE_PROGRAM : EWS_MODE_FILE,
				      .name = ews_artifact_name(artifact),
				      .oid = artifact->blob };
	const struct ews_oid was = artifact->commit;
	const struct ews_oid *const parents[] = { ews_oid_is_none(&was) ? NULL : &was, NULL };
	int rc = ews_tree_write_flat(&artifact->tree, batch, &file, 1);

	if (rc < 0)
		return rc;
	ews_buf_addf(&text, "ews: artifact %s\n\n", artifact->id);
	add_trailer(&text, "Ews-Artifact", artifact->id);
	add_trailer(&text, "Ews-Type", ews_artifact_type_word(artifact->type));
	add_trailer(&text, "Ews-Path", artifact->path);
	add_trailer(&text, "Ews-Session", artifact->session);
	add_trailer(&text, "Ews-Base", artifact->base);
	ews_buf_addf(&text, "Ews-Bytes: %" PRIu64 "\n", artifact->size_bytes);
	add_trailer(&text, "Ews-Sha256", artifact->sha256);
	add_trailer(&text, "Ews-Replaces", artifact->replaces);
	add_trailer(&text, "Ews-Original", artifact->original);
	add_trailer(&text, "Ews-Description", artifact->description);
	return ews_commit_write(&artifact->commit, batch, &artifact->tree, parents, artifact->created_s, text.ptr);
}

static int read_text(char **out, const char *message, const char *key)
{
	EWS_CLEANUP(free) char *escaped = ews_commit_trailer(message, key);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_path_unescape(&text, escaped, strlen(escaped));

	if (rc == 0)
		*out = ews_buf_steal(&text);
	return rc;
}

/* A digest is 64 digits; where `optional`, also none. */
static int set_sha256(char out[EWS_SHA256_HEX_MAX], const char *text, bool optional)
{
	size_t len = strspn(text, "0123456789abcdef");

	if (text[len] || (len != EWS_SHA256_HEX_MAX - 1 && !(optional && !len)))
		return ews_error(EWS_EDAMAGED, "its digest is none");
	memcpy(out, text, len + 1);
	return 0;
}

/* What makes a record one that may be followed to a file. */
static int check(const struct ews_artifact *artifact)
{
	unsigned number;

	if (!is_sound_id(artifact->id, artifact->type, &number))
		return ews_error(EWS_EDAMAGED, "its id is none of its type's");
	if (!ews_artifact_path_is_safe(artifact->path, artifact->type))
		return ews_error(EWS_EDAMAGED, "its path is none of its type's");
	return 0;
}

static int read_type(enum ews_artifact_type *out, const char *word)
{
	return ews_artifact_type_read(out, word) < 0 ? ews_error(EWS_EDAMAGED, "its type is none") : 0;
}

static int read_message(struct ews_artifact *artifact, const char *message)
{
	EWS_CLEANUP(free) char *type = ews_commit_trailer(message, "Ews-Type");
	EWS_CLEANUP(free) char *bytes = ews_commit_trailer(message, "Ews-Bytes");
	EWS_CLEANUP(free) char *sha256 = ews_commit_trailer(message, "Ews-Sha256");
	EWS_CLEANUP(free) char *replaces = ews_commit_trailer(message, "Ews-Replaces");
	int rc = read_type(&artifact->type, type);

	if (rc == 0)
		rc = read_text(&artifact->path, message, "Ews-Path");
	if (rc == 0)
		rc = read_text(&artifact->session, message, "Ews-Session");
	if (rc == 0)
		rc = read_text(&artifact->base, message, "Ews-Base");
	if (rc == 0)
		rc = read_text(&artifact->original, message, "Ews-Original");
	if (rc == 0)
		rc = read_text(&artifact->description, message, "Ews-Description");
	if (rc == 0)
		rc = set_sha256(artifact->sha256, sha256, false);
	if (rc == 0)
		rc = set_sha256(artifact->replaces, replaces, true);
	artifact->size_bytes = strtoull(bytes, NULL, 10);
	return rc;
}

static int read_file(struct ews_artifact *artifact, struct ews_odb *odb, const struct ews_oid *tree)
{
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	struct ews_arena arena = EWS_ARENA_INIT;
	size_t n = 0;
	int rc = ews_tree_read_flat(&items, &n, odb, tree, &arena);

	if (rc == 0 && (n != 1 || (items->mode != EWS_MODE_FILE && items->mode != EWS_MODE_PROGRAM)))
		rc = ews_error(EWS_EDAMAGED, "it holds no file");
	if (rc == 0) {
		artifact->tree = *tree;
		artifact->blob = items->oid;
		artifact->is_executable = items->mode == EWS_MODE_PROGRAM;
	}
	ews_arena_release(&arena);
	return rc;
}

int ews_artifact_read(struct ews_artifact *out, struct ews_odb *odb, const char *id, const struct ews_oid *commit)
{
	EWS_CLEANUP(commit) struct ews_commit read = EWS_COMMIT_INIT;
	EWS_CLEANUP(artifact) struct ews_artifact artifact = { .id = ews_strdup(id), .commit = *commit };
	int rc = ews_odb_read_commit(&read, odb, commit);

	if (rc == 0)
		rc = read_message(&artifact, read.message);
	if (rc == 0)
		rc = check(&artifact);
	if (rc == 0)
		rc = read_file(&artifact, odb, &read.tree);
	if (rc < 0)
		return ews_error_wrap("the artifact '%.80s'", id);
	artifact.created_s = read.time;
	*out = artifact;
	artifact = (struct ews_artifact)EWS_ARTIFACT_INIT;
	return 0;
}

static void add_text(cJSON *object, const char *key, const char *text)
{
	if (*text)
		ews_json_add_path(object, key, text);
	else
		(void)cJSON_AddNullToObject(object, key);
}

cJSON *ews_artifact_to_json(const struct ews_artifact *artifact)
{
	cJSON *object = cJSON_CreateObject();
	char hex[EWS_OID_HEX_MAX], stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, artifact->created_s);
	(void)cJSON_AddStringToObject(object, "id", artifact->id);
	(void)cJSON_AddStringToObject(object, "type", ews_artifact_type_word(artifact->type));
	(void)cJSON_AddStringToObject(object, "name", ews_artifact_name(artifact));
	(void)cJSON_AddStringToObject(object, "path", artifact->path);
	add_text(object, "description", artifact->description);
	add_text(object, "session_id", artifact->session);
	(void)cJSON_AddStringToObject(object, "created_at", stamp);
	ews_json_add_int(object, "size_bytes", (int64_t)artifact->size_bytes);
	(void)cJSON_AddStringToObject(object, "sha256", artifact->sha256);
	add_text(object, "original_file", artifact->original);
	(void)cJSON_AddStringToObject(object, "commit", ews_oid_hex(hex, &artifact->commit));
	return object;
}

static int find_text(char **out, const cJSON *object, const char *key)
{
	const char *text = NULL;
	int rc = ews_json_find_string(&text, object, key);

	if (rc == 0)
		*out = ews_strdup(text ? text : "");
	return rc;
}

int ews_artifact_from_json(struct ews_artifact *out, const cJSON *object)
{
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	const char *type = NULL, *sha256 = NULL, *stamp = NULL;
	int rc = ews_json_get_string(&type, object, "type");

	if (rc == 0)
		rc = read_type(&artifact.type, type);
	if (rc == 0)
		rc = ews_json_get_string(&sha256, object, "sha256");
	if (rc == 0)
		rc = set_sha256(artifact.sha256, sha256, false);
	if (rc == 0)
		rc = ews_json_get_string(&stamp, object, "created_at");
	if (rc == 0)
		rc = ews_clock_parse(&artifact.created_s, stamp);
	if (rc == 0)
		rc = find_text(&artifact.id, object, "id");
	if (rc == 0)
		rc = find_text(&artifact.path, object, "path");
	if (rc == 0)
		rc = find_text(&artifact.session, object, "session_id");
	if (rc == 0)
		rc = find_text(&artifact.original, object, "original_file");
	if (rc == 0)
		rc = find_text(&artifact.description, object, "description");
	if (rc == 0)
		rc = check(&artifact);
	if (rc < 0)
		return rc;
	artifact.base = ews_strdup("");
	*out = artifact;
	artifact = (struct ews_artifact)EWS_ARTIFACT_INIT;
	return 0;
}

const char *ews_artifact_name(const struct ews_artifact *artifact)
{
	return ews_path_base(artifact->path);
}

void ews_artifact_copy(struct ews_artifact *out, const struct ews_artifact *from)
{
	*out = *from;
	out->id = ews_strdup(from->id);
	out->path = ews_strdup(from->path);
	out->session = ews_strdup(from->session);
	out->base = ews_strdup(from->base);
	out->description = ews_strdup(from->description);
	out->original = ews_strdup(from->original);
}

void ews_artifact_release(struct ews_artifact *artifact)
{
	free(artifact->id);
	free(artifact->path);
	free(artifact->session);
	free(artifact->base);
	free(artifact->description);
	free(artifact->original);
	*artifact = (struct ews_artifact)EWS_ARTIFACT_INIT;
}
