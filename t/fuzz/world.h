/*
 * Worlds: a project with a home of its own, that is made, driven through git-ews, and taken away again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "check.h"
#include "mutate.h"

#define SHOTS_MAX 4

struct method {
	const char *name;
	const char *given; /* to start */
	bool is_project; /* the project itself is the workspace */
	bool has_config; /* of its own: filters are not carried, so that git status may say another thing */
	bool is_plain; /* the project is no git repository: there is no git directory, but a store in home */
	bool with_ignored; /* what is ignored comes along into the workspace */
	bool is_mixed; /* sessions of several methods live side by side: history.h */
};

struct settings {
	uint64_t seed;
	unsigned rounds;
	const struct method *method;
	long only_world; /* -1: all */
	unsigned jobs;
	bool keep, verbose, go_on;
	char *tmp;
	char *git_ews, *killat;
};

struct world {
	const struct settings *set;
	struct rng rng;
	unsigned number, round, session;
	char *dir, *project, *git_dir, *outside, *index_copy;
	char *store; /* where refs and objects are; of a plain directory NULL until a verb has made it */
	char *ws, *admin; /* of the session; NULL: none */
	const char *kill_at; /* the change of the file system at which the next verb is killed; NULL: none */
	struct place project_place, ws_place;
	struct scratch scratch;
	struct text log; /* what was done */
	struct text report; /* what is wrong */
	struct shot shots[SHOTS_MAX]; /* [0] is the base, the others have been overtaken by newer ones */
	unsigned n_shots;
	struct list project_files, project_git, outside_files;
};

/* git-ews in `dir`; the status is the caller's to judge. */
int run_ews(struct world *world, struct child *child, const char *dir, const char *const *argv);
#define EWS(world, child, dir, ...) run_ews(world, child, dir, (const char *const[]){ __VA_ARGS__, NULL })
/* As EWS, and any status but 0 is a fault. */
bool ews_works(struct world *world, struct child *child, const char *dir, const char *const *argv);
#define EWS_WORKS(world, child, dir, ...) ews_works(world, child, dir, (const char *const[]){ __VA_ARGS__, NULL })
void cut_newline(char *text);

/* All of a git directory but what verbs may change: objects, our refs and entries, branches below "ended". */
void take_git_dir(struct list *out, const char *dir);
char *snapshot_ref(const char *id);
/* Where refs and objects are; a plain directory's store is the only one in home. */
const char *find_store(struct world *world);

void world_set_up(struct world *world);
/* What was wrong is kept. */
void world_tear_down(struct world *world);

#endif
