/*
 * Settled: see settled.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/settled.h"

#include <string.h>

#include "base/hash.h"
#include "work/kept.h"

/* The digest of all that a revert compares besides the entries and what was left out. Of its index git's stat data tell. */
static void digest_git(uint8_t out[EWS_CACHE_KEY_LEN], const struct ews_content *content)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	const struct ews_gitstate *git = &content->git;
	const uint64_t numbers[] = { content->has_git,  content->root_mode, content->has_root_owner,
				     content->root_uid, content->root_gid,  content->root_xattrs != NULL };

	ews_hash_add(hash, numbers, sizeof(numbers));
	if (content->root_xattrs)
		ews_hash_add_part(hash, content->root_xattrs, strlen(content->root_xattrs));
	ews_hash_add(hash, &content->index, sizeof(content->index));
	ews_gitstate_hash_files(hash, git);
	ews_hash_finish(hash, out);
}

/* Do its memo, and that of the next look, speak of the very same? Not where something is too young to be known again. */
static bool can_be_known(const struct ews_content *content)
{
	return content->is_whole && content->is_unchanged && content->is_same_index;
}

bool ews_settled_was(const struct ews_session *session, const struct ews_oid *commit)
{
	EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;
	struct ews_kept kept;

	return ews_cache_peek(&memo, session->fd, EWS_SESSION_CACHE) && ews_kept_parse(&kept, &memo) &&
	       ews_oid_equal(&kept.settled, commit);
}

bool ews_settled_is(const struct ews_content *now, const struct ews_oid *commit)
{
	uint8_t git[EWS_CACHE_KEY_LEN];
	struct ews_kept kept;

	if (!can_be_known(now) || !ews_kept_parse(&kept, &now->memo) || kept.n != now->scan.entries.n ||
	    !ews_oid_equal(&kept.settled, commit))
		return false;
	digest_git(git, now);
	return !memcmp(git, kept.settled_git, sizeof(git));
}

void ews_settled_note(struct ews_content *now, const struct ews_oid *commit)
{
	EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;
	struct ews_kept kept;

	/* What they were kept as stays as it is; where that is not known there is nothing to add to. */
	if (!can_be_known(now) || !ews_kept_parse(&kept, &now->memo) || kept.n != now->scan.entries.n)
		return;
	kept.settled = *commit;
	digest_git(kept.settled_git, now);
	ews_kept_format(&memo, &kept);
	ews_content_set_memo(now, memo.ptr, memo.len);
}
