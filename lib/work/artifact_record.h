/*
 * Artifact records: what is known of an artifact, as a commit and as JSON.
 *
 *     refs/ews/artifacts/<id>  ->  commit  ->  tree with the one file
 *                                  its message says the rest
 *                                  its parent is what stood under that id before
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_RECORD_H
#define EWS_WORK_ARTIFACT_RECORD_H

#include "base/json.h"
#include "store/batch.h"
#include "work/artifact_type.h"

#define EWS_REF_ARTIFACTS "refs/ews/artifacts/"

/* What stands where the file should. */
enum ews_artifact_file {
	EWS_ARTIFACT_UNKNOWN = 0, /* as where it can't be read */
	EWS_ARTIFACT_PRESENT,
	EWS_ARTIFACT_MISSING,
	EWS_ARTIFACT_CHANGED, /* other bytes, or no file */
};

#define EWS_SHA256_HEX_MAX 65

struct ews_artifact {
	char *id; /* "patch-001" */
	enum ews_artifact_type type;
	char *path; /* "patches/x.patch", as seen from the place of artifacts */
	char *session; /* "": of none */
	char *base; /* that session's base snapshot, which tells it from others of its id; "": not known */
	char *description; /* "": none */
	char *original; /* the path that it had in the workspace; "": none */
	char sha256[EWS_SHA256_HEX_MAX];
	char replaces[EWS_SHA256_HEX_MAX]; /* that of what it took the place of; "" */
	uint64_t size_bytes;
	int64_t created_s;
	bool is_executable;
	struct ews_oid commit, tree, blob;
	enum ews_artifact_file file;
};

#define EWS_ARTIFACT_INIT { 0 }

#define EWS_ARTIFACT_NUMBER_MAX 999999999u /* of an id */

/* The id of the one of `type` that has this number: "test-unit-007". The caller frees it. */
char *ews_artifact_id_new(enum ews_artifact_type type, unsigned number);

/* Add the commit of `artifact`, whose blob is in `batch` already, and set its id. */
int ews_artifact_write(struct ews_artifact *artifact, struct ews_batch *batch);

/* Read the artifact `id` back. Fails with EWS_EDAMAGED when the commit says what no artifact may. */
int ews_artifact_read(struct ews_artifact *out, struct ews_odb *odb, const char *id, const struct ews_oid *commit);

/* The record as it stands in the manifest; and back, of whatever there may be in one. The caller deletes it. */
cJSON *ews_artifact_to_json(const struct ews_artifact *artifact);
int ews_artifact_from_json(struct ews_artifact *out, const cJSON *object);

const char *ews_artifact_name(const struct ews_artifact *artifact);
void ews_artifact_copy(struct ews_artifact *out, const struct ews_artifact *from);
void ews_artifact_release(struct ews_artifact *artifact);
EWS_CLEANUP_DEFINE(artifact, struct ews_artifact, ews_artifact_release)

#endif
