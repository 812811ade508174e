/*
 * Gathering: see gather.h.
 *
 * What is of the project, and not of a session, is looked at once for all sessions that have the same one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "cmd/render_path.h"
#include "store/astray.h"
#include "store/config_user.h"
#include "store/home_project.h"
#include "store/journal.h"
#include "store/step.h"
#include "work/epoch.h"
#include "work/leaving.h"
#include "work/orphan.h"
#include "work/pending.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/snapshot_rewritten.h"
#include "work/tripwire.h"
#include "work/tripwire_compare.h"

/*
 * Keep the sentence of the error that is set; what can't be found out is shown, not fatal. Fails where it is no session's: for
 * want of descriptors nothing was found out.
 */
static int note_problem(struct ews_session_view *view)
{
	if (ews_error_wants_descriptors())
		return ews_error_code();
	if (!view->problem) {
		view->problem = ews_strdup(ews_error_message());
		view->advice = *ews_error_hint_text() ? ews_strdup(ews_error_hint_text()) : NULL;
	}
	ews_error_clear();
	return 0;
}

/* What a disk does not give is in none of the sums: it may have changed, or not. */
static void note_unread(struct ews_session_view *view)
{
	const struct ews_skips *from = &view->diff.from.content.scan.skips, *to = &view->diff.to.content.scan.skips;

	for (size_t i = 0; i < to->n && !view->problem; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		if (to->items[i].reason != EWS_SKIP_UNREADABLE || ews_skips_unseen(from, to->items[i].path))
			continue;
		ews_path_quote(&path, to->items[i].path);
		view->problem = ews_strfmt("not looked at: %s (unreadable)", path.ptr);
	}
}

/* How many of the sessions were looked at. */
struct pace {
	struct ews_progress *progress;
	size_t done, total;
};

/* The files of one say by their bytes that it goes on. */
static void show_bytes(void *payload, size_t done, size_t total, uint64_t bytes)
{
	const struct pace *pace = payload;

	(void)done;
	(void)total;
	ews_progress_show(pace->progress, pace->done, pace->total, bytes);
}

static int look_into(struct ews_session_view *view, struct ews_epoch_looking *looking, struct pace *pace)
{
	struct ews_repo *repo = view->session.repo;
	int rc;

	rc = ews_session_tampered(&view->tampered, &view->session);
	view->has_tampered = rc >= 0;
	if (rc == 0)
		rc = ews_session_need_base(&view->session);
	if (rc < 0 || view->tampered.n)
		return rc;
	view->diff.opts.without_index = true;
	view->diff.opts.names_written = true;
	view->diff.opts.looking = looking;
	view->diff.opts.progress = show_bytes;
	view->diff.opts.payload = pace;
	rc = ews_diff_sides(&view->diff, repo, &view->session, NULL, NULL);
	if (rc == 0)
		rc = ews_diff_records(&view->diff, repo, NULL);
	view->diff.opts.progress = NULL;
	view->has_diff = rc == 0;
	if (rc == 0)
		note_unread(view);
	return rc;
}

/* The project that sessions are compared with, which of those of a repository need not be the same. */
struct present {
	char *project;
	struct ews_tripwire tripwire;
	bool has_tripwire; /* somebody has asked */
	struct ews_epoch_looking *looking; /* NULL: nobody has asked yet */
	int64_t epoch; /* below 0: it is not known yet */
};

struct presents {
	struct present *items;
	size_t n, cap;
};

static void release_presents(struct presents *presents)
{
	for (size_t i = 0; i < presents->n; i++) {
		free(presents->items[i].project);
		ews_tripwire_release(&presents->items[i].tripwire);
		ews_epoch_looking_free(presents->items[i].looking);
	}
	free(presents->items);
}

EWS_CLEANUP_DEFINE(presents, struct presents, release_presents)

/* What is known of that project, which is nothing at first; it holds until another one is asked for. */
static struct present *present_of(struct presents *presents, const char *project)
{
	for (size_t i = 0; i < presents->n; i++)
		if (!strcmp(presents->items[i].project, project))
			return &presents->items[i];
	EWS_GROW(presents->items, presents->n, presents->cap);
	presents->items[presents->n] = (struct present){ .project = ews_strdup(project), .epoch = -1 };
	return &presents->items[presents->n++];
}

static int look_at_project(struct ews_session_view *view, struct ews_repo *repo, struct present *now)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	int rc;

	if (access(repo->project, F_OK) < 0 && errno == ENOENT)
		return ews_error(EWS_ENOTFOUND, "its project is gone: '%s'", repo->project);
	ews_rewritten_tell(&view->drift, &view->diff.from.snapshot);
	rc = ews_tripwire_read(&before, view->session.fd);
	if (rc == 0)
		rc = ews_tripwire_compare(&view->drift, &before, &now->tripwire);
	view->has_drift = rc >= 0;
	if (rc >= 0 && now->epoch < 0 && !view->session.method->is_project)
		rc = ews_epoch_look_end(&now->epoch, repo, now->looking);
	if (rc >= 0)
		rc = ews_stale_look(&view->stale, &view->session, &view->diff.from.content.scan.entries, &before,
				    &now->tripwire, now->epoch);
	view->has_stale = view->has_drift && rc >= 0;
	return rc;
}

/* The names of results that wait, for all ended sessions of a project. */
struct waiting {
	struct ews_strv names;
	bool is_listed; /* somebody has asked */
};

#define WAITING_INIT { EWS_STRV_INIT, false }

static void release_waiting(struct waiting *waiting)
{
	ews_strv_release(&waiting->names);
}

EWS_CLEANUP_DEFINE(waiting, struct waiting, release_waiting)

/* Returns 1 or 0; fails where that can't be read. */
static int is_pending(const struct ews_session *session, struct waiting *waiting)
{
	EWS_CLEANUP(free) char *name = NULL;
	int rc = waiting->is_listed ? 0 : ews_pending_names(&waiting->names, session->repo);

	if (rc < 0) {
		ews_strv_clear(&waiting->names);
		return rc;
	}
	waiting->is_listed = true;
	rc = ews_pending_name_among(&name, &waiting->names, session->repo, session->state.id,
				    session->state.base_snapshot);
	return rc < 0 ? rc : name != NULL;
}

static int look_whether_pending(struct ews_session_view *view, struct waiting *waiting)
{
	int rc = is_pending(&view->session, waiting);

	view->is_pending = rc > 0;
	/* What the system does not give may be whole. */
	view->is_unsure = rc == EWS_EIO;
	view->is_unread = rc < 0 && !view->is_unsure;
	return rc < 0 ? note_problem(view) : 0;
}

/* What is of the project and not of a session is looked at once, while the first workspace is. */
static int look_around(struct present *now, struct ews_session_view *view, struct ews_repo *repo)
{
	int rc = 0;

	ews_session_look_early(&view->session);
	if (now->epoch < 0 && !now->looking && !view->session.method->is_project)
		ews_epoch_look_begin(&now->looking, repo);
	if (!now->has_tripwire)
		rc = ews_tripwire_take(&now->tripwire, repo);
	now->has_tripwire = true;
	return rc;
}

/* Look at the workspace, and at the session's project; NULL: that is gone. */
static int look(struct ews_session_view *view, struct ews_repo *project, struct presents *presents, struct pace *pace)
{
	struct present *now = project ? present_of(presents, project->project) : NULL;
	int rc;

	rc = now ? look_around(now, view, project) : 0;
	if (rc < 0)
		return rc;
	if (look_into(view, now ? now->looking : NULL, pace) < 0)
		rc = note_problem(view);
	if (rc == 0 && now && look_at_project(view, project, now) < 0)
		rc = note_problem(view);
	/* Sums and records are all that is shown, of many sessions perhaps. */
	ews_entries_release(&view->diff.from.content.scan.entries);
	ews_entries_release(&view->diff.to.content.scan.entries);
	ews_alloc_give_back();
	return rc;
}

/* `presents` NULL: only what the session's own records tell. */
static int gather_one(struct ews_session_view *view, struct ews_repo *repo, struct waiting *waiting,
		      struct presents *presents, struct pace *pace)
{
	EWS_CLEANUP(free) char *step = NULL;
	struct ews_repo *project = NULL;
	int mode = 0, rc = 0;

	if (ews_session_open_id(&view->session, repo, view->id) < 0)
		return note_problem(view);
	view->is_open = true;
	/* One that has ended may wait for a decision, and holds nothing any more. */
	if (view->session.state.state == EWS_STATE_ENDED)
		rc = look_whether_pending(view, waiting);
	else
		mode = ews_holding_of(repo, view->id);
	if (mode < 0)
		rc = note_problem(view);
	else
		view->lock = (enum ews_holding_mode)mode;
	if (rc < 0)
		return rc;
	view->is_interrupted = ews_session_is_interrupted(&view->session);
	if (view->is_interrupted) {
		if (ews_journal_unfinished(&step, &view->unfinished, view->session.fd) < 0)
			rc = note_problem(view);
		return rc;
	}
	if (view->session.state.state != EWS_STATE_ACTIVE)
		return 0;
	/* While it ends they are on their way. */
	view->has_leavings = ews_leaving_is_due(repo, view->id) && !ews_repo_is_locked(repo, view->id);
	if (!presents)
		return 0;
	if (ews_session_project(&project, &view->session) < 0)
		rc = note_problem(view);
	return rc < 0 ? rc : look(view, project, presents, pace);
}

static bool is_shown(const struct ews_session_view *view, const struct ews_gather_opts *opts, bool is_named)
{
	return opts->ended || is_named || !view->is_open || view->is_interrupted || view->is_pending ||
	       view->is_unread || view->is_unsure || view->session.state.state != EWS_STATE_ENDED;
}

/* There may be more of them than descriptors; what is asked of one that was looked at is its log alone. */
static void let_go(struct ews_session_view *view)
{
	if (view->session.fd < 0)
		return;
	(void)close(view->session.fd);
	view->session.fd = -1;
}

static int gather_ids(struct ews_strv *ids, struct ews_repo *repo, const struct ews_strv *names, bool is_brief)
{
	int rc = 0;

	/* A prompt tells where one is. */
	if (!names->n && is_brief && repo->here) {
		ews_strv_add(ids, repo->here);
		return 0;
	}
	if (!names->n)
		return ews_session_ids(ids, repo);
	for (size_t i = 0; rc == 0 && i < names->n; i++) {
		EWS_CLEANUP(free) char *id = NULL;

		rc = ews_session_resolve(&id, repo, names->items[i]);
		if (rc == 0 && !ews_strv_has(ids, id))
			ews_strv_add(ids, id);
	}
	return rc;
}

static int gather_steps(struct ews_gathered *all, struct ews_repo *repo)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	int rc = ews_steps_interrupted(&steps, repo);

	if (rc < 0 || !steps.n)
		return rc;
	EWS_GROW(all->steps, all->n_steps, all->steps_cap);
	all->steps[all->n_steps++] = (struct ews_interrupted){ repo, steps };
	steps = (struct ews_steps)EWS_STEPS_INIT;
	return 0;
}

int ews_gather_sessions(struct ews_gathered *all, struct ews_repo *repo, const struct ews_strv *names,
			const struct ews_gather_opts *opts, struct ews_progress *progress)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(presents) struct presents presents = { NULL, 0, 0 };
	EWS_CLEANUP(waiting) struct waiting waiting = WAITING_INIT;
	struct pace pace = { .progress = progress };
	int rc;

	rc = gather_ids(&ids, repo, names, opts->is_brief);
	pace.total = ids.n;
	if (rc == 0)
		rc = gather_steps(all, repo);
	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		struct ews_session_view *view;

		EWS_GROW(all->views, all->n, all->cap);
		view = &all->views[all->n];
		*view = (struct ews_session_view)EWS_SESSION_VIEW_INIT;
		view->id = ews_strdup(ids.items[i]);
		rc = gather_one(view, repo, &waiting, opts->is_deep ? &presents : NULL, &pace);
		if (!opts->keeps_open)
			let_go(view);
		if (is_shown(view, opts, names->n > 0))
			all->n++;
		else
			ews_session_view_release(view);
		pace.done = i + 1;
		ews_progress_show(progress, pace.done, pace.total, 0);
	}
	return rc;
}

/* What is left of the sessions of a project that is gone. */
static int gather_orphans(struct ews_gathered *all, const struct ews_home_project *project,
			  const struct ews_gather_opts *opts)
{
	EWS_CLEANUP(orphans) struct ews_orphans orphans = EWS_ORPHANS_INIT;
	int rc;

	rc = ews_orphan_list(&orphans, project->dir);
	for (size_t i = 0; i < orphans.n && rc == 0; i++) {
		struct ews_session_view *view;

		EWS_GROW(all->views, all->n, all->cap);
		view = &all->views[all->n];
		*view = (struct ews_session_view)EWS_SESSION_VIEW_INIT;
		view->id = ews_strdup(orphans.items[i].id);
		view->is_orphaned = true;
		view->is_open = orphans.items[i].has_state;
		view->session.state = orphans.items[i].state;
		orphans.items[i].state = (struct ews_state)EWS_STATE_INIT;
		view->problem = ews_strfmt("its project is gone: '%s'", project->project);
		if (is_shown(view, opts, false))
			all->n++;
		else
			ews_session_view_release(view);
	}
	return rc;
}

static int gather_project(struct ews_gathered *all, const struct ews_cmd_ctx *ctx,
			  const struct ews_home_project *project, const char *home,
			  const struct ews_gather_opts *opts, struct ews_progress *progress)
{
	const struct ews_strv none = EWS_STRV_INIT;
	struct ews_repo *repo = NULL;
	EWS_CLEANUP(free) char *was = NULL;
	int rc;

	if (project->problem)
		return ews_error(EWS_EDAMAGED, "%s", project->problem);
	if (project->is_gone) {
		rc = gather_orphans(all, project, opts);
		return rc < 0 ? rc : ews_error(EWS_ENOTFOUND, "the project is gone: moved, or deleted");
	}
	rc = ews_cmd_open_known(&repo, ctx, project, home);
	if (rc < 0)
		return rc;
	EWS_GROW(all->repos, all->n_repos, all->repos_cap);
	all->repos[all->n_repos++] = repo;
	rc = ews_gather_sessions(all, repo, &none, opts, progress);
	if (rc < 0 || !ews_astray_is(project, home))
		return rc;
	was = ews_shell_shown(project->project);
	return ews_error(EWS_ENOTFOUND,
			 "it is gone: if it was moved, in its new place: git ews recover --moved-from %s", was);
}

int ews_gather_all(struct ews_gathered *all, const struct ews_cmd_ctx *ctx, const struct ews_gather_opts *opts,
		   struct ews_progress *progress)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	int rc;

	rc = ews_config_find_home(&home, ctx->home);
	if (rc == 0)
		rc = ews_home_projects(&projects, home);
	for (size_t i = 0; i < projects.n && rc == 0; i++) {
		const struct ews_home_project *project = &projects.items[i];

		if (gather_project(all, ctx, project, home, opts, progress) < 0)
			ews_render_add_problem(&all->problems, project->project ? project->project : project->dir);
	}
	return rc;
}

void ews_gathered_release(struct ews_gathered *all)
{
	for (size_t i = 0; i < all->n; i++)
		ews_session_view_release(&all->views[i]);
	for (size_t i = 0; i < all->n_repos; i++)
		ews_repo_free(all->repos[i]);
	for (size_t i = 0; i < all->n_steps; i++)
		ews_steps_release(&all->steps[i].steps);
	free(all->steps);
	free(all->views);
	free(all->repos);
	ews_strv_release(&all->problems);
}
