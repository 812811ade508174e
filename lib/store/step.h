/*
 * Steps: the records that undo reads, of what was done and how it is taken back.
 *
 * Each verb that destroys or overwrites is a step of the project:
 *
 *     <home>/working/<repo>/undo/<step-id>.json
 *
 * It is written "planned" and synced before the first effect, when all
 * that it needs to be taken back is durable already, and becomes "done" by one
 * rename after the last. While a step of the project itself may be unfinished an empty file stands
 * beside, `<step-id>.open`: it is there before the record says so and goes after that says otherwise, so that
 * reading names is enough to find none. That of a session is announced in its journal (journal.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_STEP_H
#define EWS_STORE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/strv.h"

enum ews_step_state {
	EWS_STEP_PLANNED = 1, /* its effect may have begun */
	EWS_STEP_DONE,
	EWS_STEP_UNDOING, /* being taken back */
	EWS_STEP_UNDONE,
	EWS_STEP_REDOING,
	EWS_STEP_EXPIRED, /* what it kept has gone, or is about to; nothing but its name is left */
};

struct ews_step {
	char *id; /* "op-<time>-<hex6>", sorts by time; a clock that is set back stands still until it has caught up */
	char *verb; /* "revert", "restore", "apply", "end", "drop" */
	char *session; /* "" for the project's own */
	/* Of one that writes files of the project: the work tree (see work/whose). NULL in records of older versions. */
	char *project; /* its path at that time */
	char *worktree; /* its git directory, seen from the common one: "" or "worktrees/<name>" */
	char *worktree_mark; /* what tells it from one that is made anew under that name (ews_linked_mark()); NULL, "": nobody noted it */
	enum ews_step_state state;
	char *before; /* snapshot id of what was there, in trash; "" when nothing */
	char *after; /* snapshot id of what the step made; "" when nothing */
	/*
	 * Whole paths that lie in the step's trash directory: "<path>\t<name there>", the path escaped. What
	 * the step renamed away comes back with undo, and what undo renamed away with redo.
	 */
	struct ews_strv moved;
	struct ews_strv moving; /* likewise, while it is done, undone or redone: what goes away now */
	struct ews_strv stays; /* likewise: what could not come back when its turn was, and is tried again */
	/*
	 * In place: branches that the step moved though HEAD was not on them, so that no snapshot says where they were:
	 * "<branch> <old id> <new id>", ids of zeros where there is none. They go back when it turns. Of an undo that is incomplete
	 * some may not have moved.
	 */
	struct ews_strv branches;
	struct ews_strv branches_moving; /* likewise, while it is done, undone or redone: what moves now */
	/* Refs that were moved to trash: "<old name> <new name> <oid>". */
	struct ews_strv refs;
	struct ews_strv paths; /* the paths it was limited to; none: all */
	int64_t created_s;
	uint64_t sequence; /* order among steps, from 1 */
	uint64_t undo_sequence; /* order among undos, so that redo takes the last undone first; 0: never undone */
	uint64_t redo_sequence; /* order among redos, for it is the last that undo takes first; 0: not done again */
	uint64_t redone_after; /* the sequence of the last step at that time: it comes after that one */
	bool is_exact; /* it is limited to those very paths, not to what they hold */
	bool is_git_alone; /* it is limited to git's own state: every file stays as it is */
	bool with_index; /* those paths are staged as well */
	/*
	 * A commit that was made of it: "<branch> <old id> <new id>", ids of zeros where there is none, or it was not
	 * made yet; NULL or "" when none is wanted.
	 */
	char *commit;
	char *settles; /* "<name> <snapshot>": the result that is pending under that name no more once this is done; NULL, "": none */
	bool with_owners; /* owner and group are part of what it sets */
	bool is_incomplete; /* not all could be written the last time: what it leads to, either way, stays what it was */
	bool leaves_project; /* an end in place that reverted nothing, for it was told so */
	bool is_git_lost; /* an end whose workspace had gone with the repository that was its own: git had nothing of it to be kept */
	bool is_emptied; /* the directory that held what it renamed away has gone, or is about to */
	int64_t written_s; /* when the record was last written, as read */
};

#define EWS_STEP_INIT                                                                                               \
	{                                                                                                           \
		.moved = EWS_STRV_INIT, .moving = EWS_STRV_INIT, .stays = EWS_STRV_INIT, .branches = EWS_STRV_INIT, \
		.branches_moving = EWS_STRV_INIT, .refs = EWS_STRV_INIT, .paths = EWS_STRV_INIT                     \
	}

/*
 * Give a new step its id and sequence, its verb and session (NULL: the project's own); `before` and `after` are "". Fails where
 * the record of one of the last can't be read just now: two would have one sequence.
 */
int ews_step_init(struct ews_step *step, int repo_fd, const char *verb, const char *session);
/* Limit the step to these paths, which are as they are; NULL: limit it no more. */
void ews_step_set_paths(struct ews_step *step, const char *const *paths);
/* Write the record (replace, synced). Fails with EWS_EUNSUPPORTED when it is longer than what is read again. */
int ews_step_write(int repo_fd, const struct ews_step *step);
int ews_step_read(struct ews_step *out, int repo_fd, const char *id);
/*
 * The same for who looks through all of them. Returns 1; 0 when its verb has just taken it away, and when the record makes no
 * sense: then nobody can know what it was about, it keeps nobody from the others, and its id is added to `damaged` (which may
 * be NULL). What cannot be read, or is of a newer version, is an error as ever.
 */
int ews_step_look(struct ews_step *out, struct ews_strv *damaged, int repo_fd, const char *id);
/* Is `id` of an earlier second than `other`? Of one second nothing is known. */
bool ews_step_is_earlier(const char *id, const char *other);
/*
 * Give a record that makes no sense another name, "<id>.json.damaged", under which nobody looks for a step. Fails with EWS_EBUSY
 * when it can be read after all, or is gone.
 */
int ews_step_set_aside(int repo_fd, const char *id);
/* Since when the record of that id has been set aside. Returns 1, or 0: it was not. */
int ews_step_aside_since_s(int64_t *out, int repo_fd, const char *id);
/* The same of the record's `len` bytes, and what is written there. Parsing fails with EWS_EDAMAGED or EWS_EUNSUPPORTED. */
int ews_step_parse(struct ews_step *out, const char *text, size_t len);
void ews_step_format(struct ews_buf *out, const struct ews_step *step);
/* Remove the record. */
int ews_step_remove(int repo_fd, const char *id);
/* Does it have the form of a step's id? */
bool ews_step_is_id(const char *text);

/* The ids of all steps, oldest first. */
int ews_step_list(struct ews_strv *out, int repo_fd);
/* Those of the project that may be unfinished, as their records say; reads names alone, and makes nothing. */
int ews_step_list_open(struct ews_strv *out, int repo_fd);
/* May its effect have begun, and not come to its end? */
bool ews_step_is_unfinished(const struct ews_step *step);
/* Did `a` come after `b`? One that was done again comes after those that had been done meanwhile. */
bool ews_step_is_later(const struct ews_step *a, const struct ews_step *b);
/* Is it under the project's lock? A drop is, whosever snapshots go; what else a session's step does is under the session's. */
bool ews_step_is_of_project(const struct ews_step *step);
/* Has an end kept nothing that could be brought back: no snapshot, no base, and no directory any more? */
bool ews_step_keeps_nothing(const struct ews_step *step);
/* Does its undo, or its redo, want the snapshot `id` from trash? */
bool ews_step_needs(const struct ews_step *step, const char *id);

/*
 * Hand each of a step's `lines` to `fn`. One whose thing is gone (EWS_ENOTFOUND), or is something else by now (EWS_EEXISTS,
 * EWS_ESTALE), keeps none of the others: the first of them is what it fails with once all are through. Any other failure ends
 * it at once.
 */
typedef int (*ews_step_line_fn)(const char *line, void *payload);
int ews_step_each(const struct ews_strv *lines, ews_step_line_fn fn, void *payload);
/* Is that failure of one of its lines such a one? */
bool ews_step_may_go_on(int rc);
/* What came of one: 0 where the others go on, `first` being what the first such failure was; else `rc`. */
int ews_step_note(struct ews_error_saved *first, int rc);

void ews_step_release(struct ews_step *step);
EWS_CLEANUP_DEFINE(step, struct ews_step, ews_step_release)

#endif
