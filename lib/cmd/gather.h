/*
 * Gathering: what there is to show of sessions, from their own records alone or from a look into each workspace and at its
 * project, too.
 *
 * What can't be found out of one is said in its view, or beside its project's path, and the others are shown.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_GATHER_H
#define EWS_CMD_GATHER_H

#include "base/strv.h"
#include "cmd/progress.h"
#include "cmd/render_session.h"
#include "work/steps.h"

struct ews_gather_opts {
	bool ended; /* ended ones, too, be there nothing of them that waits */
	bool is_deep; /* look into workspaces and at projects */
	bool is_brief; /* inside of a session that one alone */
	bool keeps_open; /* leave sessions' directories open, for their logs */
};

/* What was interrupted in a project itself. */
struct ews_interrupted {
	const struct ews_repo *repo;
	struct ews_steps steps;
};

/* Sessions are views on their repositories, so all live and go together. */
struct ews_gathered {
	struct ews_repo **repos; /* those that were opened for it */
	size_t n_repos, repos_cap;
	struct ews_session_view *views;
	size_t n, cap;
	struct ews_interrupted *steps; /* of the projects themselves */
	size_t n_steps, steps_cap;
	struct ews_strv problems; /* "<escaped path of a project>\t<why>": what could not be looked at */
};

#define EWS_GATHERED_INIT { .problems = EWS_STRV_INIT }

/*
 * Add the sessions of `repo`, which must outlive `all`: those that `names` are ids of or beginnings of ids; none: all. Fails with
 * EWS_ENOTFOUND when a name is no session's.
 */
int ews_gather_sessions(struct ews_gathered *all, struct ews_repo *repo, const struct ews_strv *names,
			const struct ews_gather_opts *opts, struct ews_progress *progress);

/* Add those of every project that home knows of. */
int ews_gather_all(struct ews_gathered *all, const struct ews_cmd_ctx *ctx, const struct ews_gather_opts *opts,
		   struct ews_progress *progress);

void ews_gathered_release(struct ews_gathered *all);
EWS_CLEANUP_DEFINE(gathered, struct ews_gathered, ews_gathered_release)

#endif
