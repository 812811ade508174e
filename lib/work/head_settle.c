/*
 * HEAD of a workspace that comes back: see head_settle.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/head_settle.h"

#include <string.h>

#include "base/str.h"
#include "work/branch.h"
#include "work/head.h"

int ews_head_leads_elsewhere(const struct ews_session *session, const struct ews_gitstate *git,
			     const struct ews_head_was *was)
{
	EWS_CLEANUP(free) char *branch = ews_head_branch(git);
	struct ews_oid now;
	/* On no branch it stands where it says. */
	int stands = branch ? ews_head_find_in(&now, session, git, was->commit) : 0;

	if (stands <= 0)
		return stands;
	/* What was damaged may have been mended since. */
	return ews_oid_equal(&now, was->commit) || was->is_damaged ? 0 : stands;
}

static const char *why_left(int stands)
{
	if (stands == 0)
		return "is checked out in another work tree";
	return stands == EWS_HEAD_UNBORN ? "is gone" : "has moved since";
}

/* Where nothing was committed HEAD has to be on a branch that is not there: one that nobody has. */
static void set_unborn(struct ews_gitstate *git, struct ews_strv *said, const char *branch, const char *mark)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("ref: %s-%s\n", branch, mark);

	ews_gitstate_set_file(git, "HEAD", text, strlen(text));
	ews_strv_addf(said, "HEAD is on '%s-%s', which has no commit: '%s' had none", branch, mark, branch);
}

int ews_head_settle(struct ews_gitstate *git, struct ews_strv *said, const struct ews_session *session,
		    const struct ews_head_was *was, const char *mark)
{
	EWS_CLEANUP(free) char *branch = ews_head_branch(git);
	int stands = branch ? ews_head_leads_elsewhere(session, git, was) : 0;
	int is_taken = branch && stands == 0 ? ews_branch_is_of_another(session, branch) : stands;
	char hex[EWS_OID_HEX_MAX];

	if (is_taken <= 0)
		return is_taken;
	if (ews_oid_is_none(was->commit)) {
		set_unborn(git, said, branch, mark);
		return 1;
	}
	ews_gitstate_set_head(git, was->commit);
	ews_strv_addf(said, "HEAD is at %s, and on no branch: '%s' %s", ews_oid_hex(hex, was->commit), branch,
		      why_left(stands));
	return 1;
}
