/*
 * Which patch a session's changes were stored as last: see patch_kept.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/patch_kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "work/artifact_copy.h"
#include "work/artifact_registry.h"

#define FILE_NAME "patched" /* in the session's directory: "<tree> <tree> <sha256> <artifact>" */
#define FILE_BYTES_MAX 4096

/* The states that it lies between, and a blank. The caller frees it; NULL: one of them is in no store. */
static char *name_trees(const struct ews_diff *diff)
{
	char from[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];

	if (diff->from.is_now || diff->to.is_now || diff->paths.n)
		return NULL;
	return ews_strfmt("%s %s ", ews_oid_hex(from, &diff->from.snapshot.tree),
			  ews_oid_hex(to, &diff->to.snapshot.tree));
}

/* Is it there as it was stored? Its file is read: it is anybody's to write. */
static bool is_there(struct ews_artifact *artifact, const struct ews_artifact_registry *registry, const char *sha256)
{
	char now[EWS_SHA256_HEX_MAX];

	if (artifact->type != EWS_ARTIFACT_PATCH || strcmp(artifact->sha256, sha256) != 0)
		return false;
	ews_artifact_copy_look(artifact, now, &registry->place, true);
	return artifact->file == EWS_ARTIFACT_PRESENT;
}

bool ews_patch_kept_find(struct ews_artifact *out, char **path, const struct ews_diff *diff,
			 const struct ews_session *session)
{
	EWS_CLEANUP(artifact_registry) struct ews_artifact_registry registry = EWS_ARTIFACT_REGISTRY_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *trees = name_trees(diff);
	struct ews_artifact *artifact = NULL;
	const char *sha256;
	char *id;

	if (!trees || ews_file_read_own(&text, session->fd, FILE_NAME, FILE_BYTES_MAX) < 0) {
		ews_error_clear();
		return false;
	}
	sha256 = ews_str_after(text.ptr, trees);
	id = sha256 ? strchr(sha256, ' ') : NULL;
	if (!id)
		return false;
	*id++ = '\0';
	if (ews_artifact_registry_open(&registry, session->repo, NULL) == 0)
		artifact = ews_artifacts_find_id(&registry.list, id);
	ews_error_clear(); /* whoever stores one says so */
	if (!artifact || strcmp(artifact->session, session->state.id) != 0 || !is_there(artifact, &registry, sha256))
		return false;
	ews_artifact_copy(out, artifact);
	*path = ews_path_join(registry.place.path, artifact->path);
	return true;
}

void ews_patch_kept_note(const struct ews_session *session, const struct ews_diff *diff,
			 const struct ews_artifact *artifact)
{
	EWS_CLEANUP(free) char *trees = name_trees(diff);
	EWS_CLEANUP(free) char *line = NULL;

	if (!trees)
		return;
	line = ews_strfmt("%s%s %s", trees, artifact->sha256, artifact->id);
	if (ews_file_replace_unsynced(session->fd, FILE_NAME, line, strlen(line), 0600) < 0)
		ews_error_clear(); /* then it is made once more */
}
