/*
 * Ignored files: which of them come along into a workspace, and what became of them there.
 *
 * Products of a build are not part of a snapshot: too many, and nobody's work. But a twin in
 * which all has to be built anew is of little use, so they are copied into it, with their
 * times, and the base covers them as present or absent, not by content: it says "present" of
 * each whole path that came along, and the session's directory has a list of all that lies
 * there, with the stat data it had, so that revert knows what came later, what is
 * gone, and what was written since.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_IGNORED_H
#define EWS_WORK_IGNORED_H

#include "work/content.h"

enum ews_keep_ignored {
	EWS_KEEP_IGNORED_AUTO = 0, /* where copies cost nothing, or are small */
	EWS_KEEP_IGNORED_YES,
	EWS_KEEP_IGNORED_NO,
};

struct ews_ignored {
	struct ews_entries entries; /* what comes along, no content known; stat data of the project until it is put */
	bool is_measured; /* the numbers are known */
	uint64_t kept_files, kept_bytes;
	uint64_t left_files, left_bytes;
};

#define EWS_IGNORED_INIT { EWS_ENTRIES_INIT, false, 0, 0, 0, 0 }

/*
 * Choose what comes along with `twin`, whose skips name what is ignored in the project; what comes
 * is "present" there from now on. ".worktreeinclude" at the project's root chooses among it.
 * `workspace_fd` is where it will go. What is left out, and why, is added to `notes` as sentences.
 */
int ews_ignored_choose(struct ews_ignored *out, struct ews_repo *repo, struct ews_content *twin, int workspace_fd,
		       enum ews_keep_ignored keep, struct ews_strv *notes);

/*
 * The twin is not the project as it stands: what the rules that it holds itself do not ignore is new there, and somebody's
 * work, the moment somebody looks. That does not come along either, and is named. The directories on the way to the rest
 * become the twin's.
 */
int ews_ignored_obey(struct ews_ignored *ignored, struct ews_repo *repo, struct ews_content *twin,
		     struct ews_strv *notes);

/* `path` could not be copied: it does not come along, and neither does what is below it. */
void ews_ignored_drop(struct ews_ignored *ignored, struct ews_content *twin, const char *path);

/*
 * The list of what came along, in the session's directory; empty where nothing did, and for a project. Fails with EWS_EDAMAGED
 * when it is lost, and with EWS_EUNSUPPORTED when another version wrote it in a way that this one can't read: what became of
 * those files can't be told then. Where it can't be read just now that error is given back (EWS_EIO), and nothing may be moved.
 */
int ews_ignored_write(int session_fd, const struct ews_ignored *ignored);
int ews_ignored_read(struct ews_entries *out, const struct ews_session *session);

/*
 * Take out of `scan` what stands in `session`'s workspace and came along, though no rule ignores it any more, where neither `base` nor
 * git's `index` has it: as at the start no more is known of it than that it is there. It is "present", or "ignored-written" where
 * it was written since. When the list is lost what `base` says to be "present" came along, with all that is in it. Fails like
 * ews_ignored_read() where the list can't be read just now.
 */
int ews_ignored_leave_out(struct ews_scan *scan, const struct ews_session *session, const struct ews_content *base,
			  const struct ews_index *index);

/*
 * Add to `now`, which is what stands in `session`'s workspace (NULL: in the project), what `then` has and a rule ignores there: nothing was
 * to be said of it, but who names a state that has it asks for it. What is read goes to `batch`. Returns 1 when there was any, else 0.
 */
int ews_ignored_add(struct ews_content *now, const struct ews_entries *then, struct ews_repo *repo,
		    struct ews_session *session, struct ews_batch *batch);

/* What became of what came along. */
struct ews_ignored_changes {
	struct ews_strv newer; /* paths that came since; of a directory that did, that alone */
	struct ews_strv gone; /* likewise */
	struct ews_strv changed; /* files that were written since, or are something else now */
};

#define EWS_IGNORED_CHANGES_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT }

/*
 * Compare `kept` with what stands in `session`'s workspace, whose content is `now`: of what that left out as
 * ignored only what holds something of `kept` is looked at. That is "present" in `now` then, and what is newer in it is
 * ignored, so that a snapshot of `now` says exactly what was there.
 */
int ews_ignored_compare(struct ews_ignored_changes *out, const struct ews_entries *kept, struct ews_content *now,
			struct ews_session *session);

/*
 * The same for who wants to know no more; nothing is done where nothing came along. When the list is lost what `base`, which
 * `read_base` reads once it is wanted, says to be "present" is that, with all that is in it. `with_gone`: what is gone from a directory
 * that is present is ignored there, too, as what is gone.
 */
int ews_ignored_settle(struct ews_content *now, struct ews_session *session, const struct ews_content *base,
		       int (*read_base)(void *payload), void *payload, bool with_gone);

/*
 * Say in `now`, which stands below `root_fd`, what of the earlier state `then` has gone from what is ignored or present: nobody looks at the
 * rest, so that nothing else tells it from what is there. What `then` says to be gone still is, unless something stands there. Returns how many
 * paths of `then` are gone or there.
 */
size_t ews_ignored_note_gone(struct ews_scan *now, const struct ews_scan *then, int root_fd);

void ews_ignored_changes_release(struct ews_ignored_changes *changes);
void ews_ignored_release(struct ews_ignored *ignored);
EWS_CLEANUP_DEFINE(ignored, struct ews_ignored, ews_ignored_release)
EWS_CLEANUP_DEFINE(ignored_changes, struct ews_ignored_changes, ews_ignored_changes_release)

#endif
