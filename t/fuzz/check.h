/*
 * Checks: what two states of a workspace must have in common, and what a diff between them must say.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include "record.h"

/* A workspace at one moment. */
struct shot {
	struct list files;
	struct gitstate git;
	bool is_base;
	bool holds_all; /* its directory had just been made, and nothing was left out */
	bool with_ignored; /* its snapshot holds what is ignored, too */
	char *name; /* of the snapshot that was taken then; NULL: none was */
	struct record record; /* what that snapshot says */
};

#define SHOT_INIT { LIST_INIT, GITSTATE_INIT, false, false, false, NULL, RECORD_INIT }

void shot_release(struct shot *shot);

/* Is it part of the state as it is recorded? Of what came along a base knows no more than that it is there. */
bool shot_holds(const struct shot *shot, const char *path);
/* Is something that came along at the start not what it was, or is there more? Then what a verb rewrites is new, for make. */
bool lost_products(const struct shot *base, const struct shot *now);
/* Did it leave out what stands where git may know a file? Then status can't be the same once that is gone. */
bool lacks_kinds(const struct shot *shot);

/* Did the rules of what is ignored stay the same? */
bool same_rules(const struct list *a, const struct list *b);
/* Did it leave out rules for git among `files`, since they are ignored themselves? Then status may be another one. */
bool leaves_out_rules(const struct record *record, const struct list *files);

struct restored {
	const struct shot *want;
	const struct shot *before; /* right before */
	const struct shot *after;
	const struct shot *base; /* of the session; NULL: the project's own */
	const char *only; /* this path and what is beneath it; NULL: all, and git's state with it */
	bool is_project; /* not a workspace: what is ignored stays, times are fresh, git's state is left alone */
	time_t started_s;
};

/* Is `after` what restoring `want` over `before` must give? */
void check_restored(struct text *report, const struct restored *restored);

/* Are the files that the snapshot of `before` holds one with the same others? Nothing is said when there is none. */
void check_names_back(struct text *report, const char *what, const struct shot *before, const struct shot *after);

/* Does `copy` hold all of `files` that `record` did not leave out, with its times, and nothing else? */
void check_copy(struct text *report, const char *what, const struct list *files, const struct record *record,
		const struct list *copy);

/*
 * Has the project become what the workspace is: `files` but what `record` left out? Of what it had `before` that stays
 * which the session never had, by the record of its base, `base`.
 */
void check_come_home(struct text *report, const struct list *files, const struct record *record,
		     const struct list *before, const struct record *base, const struct list *project);

/*
 * The same of one path and what is beneath it: all else is as it was `before`, but for directories that are made on the way to it,
 * or that went with it.
 */
void check_part_came_home(struct text *report, const char *only, const struct list *files,
			  const struct record *record, const struct list *before, const struct record *base,
			  const struct list *project);

/* A place where git works on trees of the project with nobody's settings. */
struct scratch {
	char *git_dir; /* knows no attributes, no config */
	char *work_tree; /* has a git directory of its own, in which attributes of trees don't count */
	char *objects; /* of the project */
};

/* Run git in the bare `git_dir`, or (`in_tree`) in the work tree; as run_child. */
int run_neutral(struct child *child, const struct scratch *scratch, bool in_tree, const struct text *input,
		const char *const *argv);

/*
 * Could git apply refuse git's own patch, so that ours is another? That a link gives way to a directory it doesn't see
 * where the link is renamed, for then no line says its mode.
 */
bool confuses_git(const struct shot *from, const struct shot *to);

/* Does the patch make of the tree of `from` the tree of `to`, where the patch can hold it? `json` says what it can't. */
void check_patch(struct text *report, const struct scratch *scratch, const struct shot *from, const struct shot *to,
		 const struct text *patch, const char *json);

#endif
