/*
 * Git: programs that are run, ids that are reckoned from bytes, and what a git directory holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_GIT_H
#define FUZZ_GIT_H

#include "list.h"

#define ID_HEX 41

struct child {
	int status; /* exit status, or 128 + signal */
	struct text out, err;
};

#define CHILD_INIT { 0, TEXT_INIT, TEXT_INIT }

/* Run `argv` in `dir`, with `input` (may be NULL) as its stdin; a child that hangs is ended by SIGALRM. */
int run_child(struct child *child, const char *dir, const struct text *input, const char *const *argv);
/* The same for arguments that are spelled out. */
#define RUN(child, dir, input, ...) run_child(child, dir, input, (const char *const[]){ __VA_ARGS__, NULL })
/* As RUN, and a status but 0 ends the driver. */
void must(const char *dir, const char *const *argv);
#define MUST(dir, ...) must(dir, (const char *const[]){ __VA_ARGS__, NULL })
void child_release(struct child *child);

/* Names that git, for the sake of some file system, takes for ".git": no tree holds them. */
extern const char *const refused_names[];
bool fits_tree(const struct item *item);

void blob_id(char out[ID_HEX], const struct item *item);
/* The id of the tree that git would make of the items for which `wants` is true. */
typedef bool (*item_wants_fn)(const struct item *item, const void *payload);
void tree_id(char out[ID_HEX], const struct list *list, item_wants_fn wants, const void *payload);

/*
 * What belongs to a work tree and is not in it: HEAD, the index with its time, a merge's files.
 *
 * And what git status says, twice. git compares whole seconds, so that an edit of the same size, second and
 * time hides from it until something else happens to the file; nobody can bring that back. So `truth` is
 * asked with an index so old that git reads each file, but one whose time is 0 for git; `status` counts
 * where it is the same.
 */
struct gitstate {
	struct list files; /* of the git directory, those that count */
	struct text status, truth;
	char head[ID_HEX]; /* the commit that HEAD leads to; empty: none */
	bool is_blind; /* such a file is there: neither is compared */
	bool converts; /* there are attributes: what git takes for clean hangs on when it looked last */
};

#define GITSTATE_INIT { LIST_INIT, TEXT_INIT, TEXT_INIT, "", false, false }

/* `files` are those of the work tree; `copy` is a path that may be overwritten. */
void gitstate_take(struct gitstate *out, const struct list *files, const char *work_tree, const char *git_dir,
		   const char *copy);
/* Its two halves: the files, and after them what git says. */
void gitstate_take_files(struct gitstate *out, const struct list *files, const char *git_dir);
void gitstate_take_status(struct gitstate *out, const char *work_tree, const char *copy);
/* After the files, in one go: where HEAD leads, and the truth. */
void gitstate_take_head(struct gitstate *out, const char *work_tree, const char *copy);
/* Where HEAD leads, and the truth. */
void gitstate_compare_head(struct text *report, const char *what, const struct gitstate *before,
			   const struct gitstate *after, bool with_status);
/* The files alone. */
void gitstate_compare(struct text *report, const char *what, const struct gitstate *before,
		      const struct gitstate *after);
/* What status says; where there are attributes the truth alone. */
void status_compare(struct text *report, const char *what, const struct gitstate *before,
		    const struct gitstate *after);
void gitstate_release(struct gitstate *state);

#endif
