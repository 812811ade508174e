/*
 * What a tripwire is told: what we did ourselves in the project, as we were asked to, is no difference to any session.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRIPWIRE_TOLD_H
#define EWS_WORK_TRIPWIRE_TOLD_H

#include "base/strv.h"
#include "store/repo.h"

/* The lines of refs that we put where they say; none where none is told, or that can't be read: then they are differences. */
void ews_tripwire_read_told(struct ews_strv *out, const struct ews_repo *repo);
/* Likewise "<digest> <digest>": what we made of which index of this work tree. */
void ews_tripwire_read_staged(struct ews_strv *out, const struct ews_repo *repo);
/* Likewise "<ref> <id> <id>": how we moved branches. */
void ews_tripwire_read_moves(struct ews_strv *out, const struct ews_repo *repo);
/*
 * Move the ref `name` as ews_odb_ref_swap() does; it is no difference to any session while it stands at `to`, or until it has left
 * `from`, for it is we who put it there, as we were asked to. When that can't be told the ref is moved all the same, and named, which
 * is no lie.
 */
int ews_tripwire_move_ref(struct ews_repo *repo, const char *name, const struct ews_oid *from,
			  const struct ews_oid *to);
/* Are we known to have put the ref `name` at `oid` so? */
bool ews_tripwire_has_moved_ref(const struct ews_repo *repo, const char *name, const struct ews_oid *oid);
/*
 * It is we who moved the ref `name`, which may be anybody's, as we were asked to: that is no difference to any session that knew it at
 * `from`, or where we moved it from there. Where it was moved besides, before or since, it is one. When that can't be told it is named.
 */
void ews_tripwire_tell_move(struct ews_repo *repo, const char *name, const struct ews_oid *from,
			    const struct ews_oid *to);
/*
 * It is we who made of the index with the digest `before` (NULL: there was none) the one with `after`, as we were asked to: that is no
 * difference to any session that knew the first, or one that we made the first of. When that can't be told it is named.
 */
void ews_tripwire_tell_index(struct ews_repo *repo, const char *before, const char *after);

#endif
