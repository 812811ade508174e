/*
 * Tripwire: the project's refs, stashes, HEAD, config, hooks, info, index and where history ends, before and after.
 *
 * Of the index it is what that says: git alone refreshes its stat data whenever somebody looks. A tripwire without a line
 * "shallow" is an old one, which may have a digest of the bytes instead: then a changed index is no difference.
 *
 * It prevents nothing; it finds and names. What we did ourselves in the project, as we were asked to, is told to it, and no difference.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRIPWIRE_H
#define EWS_WORK_TRIPWIRE_H

#include "base/strv.h"
#include "store/repo.h"

/* Lines "<what> <digest>", sorted: "ref refs/heads/main <id>", "ref refs/heads/x ref:refs/heads/main", "config <sha256>", "hooks/pre-commit <sha256>", "index <sha256>", "stash 000000 <message> <id>", "shallow <sha256>", ... */
struct ews_tripwire {
	struct ews_strv lines;
	struct ews_strv told; /* lines that are no difference: we put these refs there, as we were asked to; not kept */
	struct ews_strv staged; /* "<digest> <digest>": what we made of the first index, as we were asked to; not kept */
	struct ews_strv moves; /* "<ref> <id> <id>": likewise, how we moved branches */
};

#define EWS_TRIPWIRE_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT }

int ews_tripwire_take(struct ews_tripwire *out, struct ews_repo *repo);
/* The same, and a copy of each file in the empty directory `keep_fd`, with its mode and time, to be taken back from. */
int ews_tripwire_take_keeping(struct ews_tripwire *out, struct ews_repo *repo, int keep_fd);
/* What `tripwire` has of `name` ("HEAD", "ref refs/heads/main"): a digest or an id; NULL: nothing. */
const char *ews_tripwire_find(const struct ews_tripwire *tripwire, const char *name);
/* Let `tripwire` have that of `name`; NULL: nothing. */
void ews_tripwire_set(struct ews_tripwire *tripwire, const char *name, const char *value);
/*
 * Let `kept` know the config as it is in `after`, where it knew it as it was in `before`: we have changed it ourselves, as
 * we were asked to. What it knew otherwise stays a difference. Returns whether `kept` changed.
 */
bool ews_tripwire_follow(struct ews_tripwire *kept, const struct ews_tripwire *before,
			 const struct ews_tripwire *after);
/* What there is of the index alone. */
int ews_tripwire_take_index(struct ews_tripwire *out, struct ews_repo *repo);
/* Kept as the file "tripwire" in a session's directory. */
int ews_tripwire_write(int session_fd, const struct ews_tripwire *tripwire);
int ews_tripwire_read(struct ews_tripwire *out, int session_fd);
void ews_tripwire_release(struct ews_tripwire *tripwire);
EWS_CLEANUP_DEFINE(tripwire, struct ews_tripwire, ews_tripwire_release)

#endif
