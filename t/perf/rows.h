/*
 * Rows: what is measured, and beside what.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_PERF_ROWS_H
#define EWS_PERF_ROWS_H

#include <stdbool.h>
#include <stddef.h>

enum tree_kind { TREE_L, TREE_G, TREE_KINDS };

/*
 * Shell texts, which see:
 *   P  the project, a clone of the tree    B  the same for the other side       T  its files alone
 *   R  a bare clone of it for each side, $R/ours and $R/theirs                   W  a workspace of P
 *   X  where new things go                 N  the number of the run, never twice the same
 *   CHANGE  a program: <dir> <n> <tag> adds a line to n of the files of a work tree; 0: to all
 *   ONE     the first processor that may be used
 *   FSCK    a git command that finds what is missing         SESSIONS  how many a project with many has
 */
struct row {
	const char *operation, *baseline; /* for people */
	double wanted[TREE_KINDS],
		least[TREE_KINDS]; /* ratio to reach, and the one that counts as done; 0: none is asked for */
	const char *prepare; /* once, before; status 77: can't be here, for the reason that $OUT holds then */
	/* Outside the clock, both fail when the result is wrong: `check` after each run, `verify` reads everything again. */
	const char *before_ours, *ours, *check, *verify;
	const char *before_theirs, *theirs;
	const char *cleanup; /* once, after */
	bool is_heavy; /* takes long on a large tree: fewer runs */
};

extern const struct row rows[];
extern const size_t n_rows;

/* On small projects of their own, whatever the tree is: with many sessions beside one, and on all processors beside one. */
extern const struct row flat_rows[2];
extern const struct row small_rows[4];

/* Rows for the plot, which change $CHANGES files: snapshot, diff, revert. */
extern const struct row changes_rows[3];

#endif
