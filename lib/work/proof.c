/*
 * Proof: see proof.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/proof.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

#define PROOF_FILE "proof.json"
#define PROOF_VERSION 1
#define PROOF_BYTES_MAX (64 * EWS_KIB)

void ews_proof_release(struct ews_proof *proof)
{
	free(proof->target);
	free(proof->original_hash);
	free(proof->current_hash);
	*proof = (struct ews_proof)EWS_PROOF_INIT;
}

#define STRINGS(X)                        \
	X("target", target)               \
	X("original_hash", original_hash) \
	X("current_hash", current_hash)

#define COUNTS(X)               \
	X("restored", restored) \
	X("deleted", deleted)   \
	X("differing", differing)

int ews_proof_write(const struct ews_session *session, const struct ews_proof *proof)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc;

	ews_json_add_int(json, "version", PROOF_VERSION);
	ews_json_add_int(json, "made", proof->made_s);
#define PUT(key, member) cJSON_AddStringToObject(json, key, proof->member);
	STRINGS(PUT)
#undef PUT
#define PUT(key, member) ews_json_add_int(json, key, (int64_t)proof->member);
	COUNTS(PUT)
#undef PUT
	cJSON_AddBoolToObject(json, "partial", proof->is_partial);
	cJSON_AddBoolToObject(json, "verified", proof->is_verified);
	ews_json_print(&text, json, true);
	rc = ews_file_replace(session->fd, PROOF_FILE, text.ptr, text.len, 0600);
	return rc < 0 ? ews_error_wrap("session '%s'", session->state.id) : 0;
}

static int parse(struct ews_proof *out, const cJSON *json)
{
	const char *text;
	int64_t number;
	int rc = ews_json_check_version(json, PROOF_VERSION);

	if (rc == 0)
		rc = ews_json_get_int(&out->made_s, json, "made");
#define GET(key, member)                                    \
	if (rc == 0)                                        \
		rc = ews_json_get_string(&text, json, key); \
	if (rc == 0)                                        \
		out->member = ews_strdup(text);
	STRINGS(GET)
#undef GET
#define GET(key, member)                                                        \
	if (rc == 0)                                                            \
		rc = ews_json_get_int(&number, json, key);                      \
	if (rc == 0 && number < 0)                                              \
		rc = ews_error(EWS_EDAMAGED, "'%s' is less than nothing", key); \
	if (rc == 0)                                                            \
		out->member = (uint64_t)number;
	COUNTS(GET)
#undef GET
	if (rc == 0)
		rc = ews_json_get_bool(&out->is_partial, json, "partial");
	if (rc == 0)
		rc = ews_json_get_bool(&out->is_verified, json, "verified");
	return rc;
}

/* What is not synced may be there without its content once the power has failed. */
static bool is_lost(const struct ews_buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (text->ptr[i])
			return false;
	return true;
}

int ews_proof_read(struct ews_proof *out, const struct ews_session *session)
{
	EWS_CLEANUP(proof) struct ews_proof proof = EWS_PROOF_INIT;
	EWS_CLEANUP(json) cJSON *json = NULL;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, session->fd, PROOF_FILE, PROOF_BYTES_MAX);

	if (rc == EWS_ENOTFOUND || (rc == 0 && is_lost(&text))) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = ews_json_parse(&json, text.ptr, text.len);
	if (rc == 0)
		rc = parse(&proof, json);
	if (rc < 0)
		return ews_error_wrap("session '%s': " PROOF_FILE, session->state.id);
	*out = proof;
	proof = (struct ews_proof)EWS_PROOF_INIT;
	return 1;
}
