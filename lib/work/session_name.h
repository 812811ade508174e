/*
 * Which sessions there are, and which one a name means.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_NAME_H
#define EWS_WORK_SESSION_NAME_H

#include "base/strv.h"
#include "store/repo.h"

/*
 * May a session be called `id`? `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`, no "..", no "." or ".lock" at its end, and
 * none of HEAD, now, all. Fails with EWS_EUSAGE and says why.
 */
int ews_session_check_id(const char *id);

/* The full id that `name` means, without opening it. The caller frees it. */
int ews_session_resolve(char **out, struct ews_repo *repo, const char *name);

/* Does the current directory, in a workspace or in trash, or $EWS_SESSION say which session is meant? In the project nothing does. */
bool ews_session_is_chosen(const struct ews_repo *repo);

/*
 * Is a session named, by the current directory or by $EWS_SESSION, or works one here itself? (`snapshot` without one works on the
 * project.) Returns 1 or 0; fails where that can't be told just now.
 */
int ews_session_is_implied(struct ews_repo *repo);

/* The ids of all sessions of the store, ended ones included, by name. */
int ews_session_ids(struct ews_strv *out, struct ews_repo *repo);

/* Has this home a record of the session `id`, whatever that says? What of it lies in the repository may be of another home. */
bool ews_session_has_record(const struct ews_repo *repo, const char *id);

/*
 * Is the session `id` there, and not ended? And is it of this very work tree of the repository, and (`in_place`) one that works in
 * that itself? Returns 1 or 0; fails where that can't be told just now.
 */
int ews_session_is_alive_here(struct ews_repo *repo, const char *id, bool in_place);

/* Hint at what was done while this was no git repository, which hides it now. Returns whether there was anything; else no hint is set. */
bool ews_session_hint_former(const struct ews_repo *repo);

/* Say that nobody is called `name`: fails with EWS_ENOTFOUND. */
int ews_session_fail_unknown(const struct ews_repo *repo, const char *name);

#endif
