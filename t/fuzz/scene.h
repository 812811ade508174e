/*
 * Scenes: all that stands in a project or a workspace at one moment, its git directory included.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_SCENE_H
#define FUZZ_SCENE_H

#include "world.h"

struct scene {
	bool is_there; /* the directory */
	struct shot shot; /* its files, and the work tree's part of git's state */
	struct list git; /* of its git directory all but what verbs may change */
	unsigned rules; /* how often git's rules, but those in files of the tree, had been changed till then */
};

#define SCENE_INIT { false, SHOT_INIT, LIST_INIT, 0 }

/* `dir` may be gone; where `git_dir` is NULL there is none. */
void scene_take(struct scene *out, const char *dir, const char *git_dir);
/* After that: where its HEAD leads, and what git says of its files; `copy` is a path that may be overwritten. */
void scene_take_head(struct scene *scene, const char *dir, const char *copy);
/* What HEAD itself says; empty: there is none. */
const char *scene_head(const struct scene *scene);
void scene_set_head(struct scene *scene, const char *text);
/* The branch that HEAD is on, as HEAD says it: "ref: ...", with a newline; NULL: on none. */
const char *scene_branch(const struct scene *scene);
/*
 * Does HEAD lead where it led `before`? And is git's status the same (`with_status`), where that can be: the rules of what is
 * ignored are no others, and there was nothing that no snapshot holds.
 */
void scene_compare_head(struct text *report, const char *what, const struct scene *before,
			const struct scene *after, bool with_status);
/* Every difference, a line each; of git directories the work tree's part. */
void scene_compare(struct text *report, const char *what, const struct scene *before, const struct scene *after,
		   enum list_times times);
/* Are they the same but for times, by the same rules? */
bool scene_is(const struct scene *a, const struct scene *b);
/* What stood there `before`, and doesn't now: is it under a ref, or still a file, be it in trash? */
void scene_check_kept(struct world *world, const char *what, const struct scene *before, const struct scene *after);
void scene_release(struct scene *scene);

#endif
