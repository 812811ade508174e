/*
 * Mutations: what agents, builds and people do to a directory and its index, at random.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "text.h"

struct place {
	const char *dir; /* absolute */
	const char *outside; /* a directory that links may lead to, and nobody may change */
	bool has_git;
	bool moves_branches; /* a commit here may move a branch of the project's */
	bool has_attrs; /* the file system keeps user.* attributes */
	bool is_small; /* few files, so that they meet again, and much that is ignored */
	bool has_future; /* files may have times that are yet to come, by which nothing is ever known to be unchanged */
};

/* Do `n` things to the place; each is a line in `log`. */
void mutate(struct rng *rng, const struct place *place, unsigned n, struct text *log);
/* Fill an empty directory with some fifty files; a small one with a dozen. */
void mutate_fill(struct rng *rng, const struct place *place, struct text *log);
/* Change what git ignores, converts or leaves out, by other means than tracked files. */
void mutate_rules(struct rng *rng, const struct place *place, struct text *log);
/* One of a few branches, neither main nor other, which several work trees want. */
const char *pick_branch(struct rng *rng);
/* Begin a branch, or begin it anew, and perhaps commit. */
void mutate_take_branch(struct rng *rng, const struct place *place, const char *name, struct text *log);
/* Do something with HEAD or that branch, be it the branch of another work tree. */
void mutate_branch(struct rng *rng, const struct place *place, const char *name, struct text *log);

#endif
