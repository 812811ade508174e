/*
 * Head: see head.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/head.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define LINK "ref: "

static bool is_commit(struct ews_odb *odb, const struct ews_oid *oid)
{
	enum ews_object_type type;

	return ews_odb_read_header(&type, NULL, odb, oid) == 0 && type == EWS_OBJECT_COMMIT;
}

static enum ews_head find(struct ews_oid *out, struct ews_repo *repo, const char *text, const struct ews_oid *known)
{
	bool is_link = !strncmp(text, LINK, strlen(LINK));
	int rc = is_link ? ews_odb_ref_read(out, repo->odb, text + strlen(LINK)) : ews_oid_parse(out, text);

	/* A branch whose file is there and holds no id is another failure. */
	if (is_link && rc == EWS_ENOTFOUND)
		return EWS_HEAD_UNBORN;
	if (rc < 0)
		return EWS_HEAD_DAMAGED;
	return (known && ews_oid_equal(out, known)) || is_commit(repo->odb, out) ? EWS_HEAD_AT_COMMIT
										 : EWS_HEAD_DAMAGED;
}

enum ews_head ews_head_find(struct ews_oid *out, struct ews_repo *repo, const struct ews_gitstate *git,
			    const struct ews_oid *known)
{
	const struct ews_gitstate_file *file = ews_gitstate_file(git, "HEAD");
	EWS_CLEANUP(free) char *text = file ? ews_strndup(file->data.ptr, strcspn(file->data.ptr, "\n")) : NULL;
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	enum ews_head head;

	ews_error_save(&saved);
	head = text ? find(out, repo, text, known) : EWS_HEAD_DAMAGED;
	if (head != EWS_HEAD_AT_COMMIT)
		*out = (struct ews_oid)EWS_OID_NONE;
	(void)ews_error_restore(&saved);
	return head;
}
