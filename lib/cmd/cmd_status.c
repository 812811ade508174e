/*
 * git ews status and list: the sessions, interrupted ones first.
 *
 * `status` looks into each living workspace and at the project; `list` and `--brief` read
 * the sessions' own records alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_status.h"
#include "store/astray.h"
#include "store/config.h"
#include "store/config_user.h"
#include "store/home_project.h"
#include "store/journal.h"
#include "work/epoch.h"
#include "work/orphan.h"
#include "work/pending.h"
#include "work/session_lock.h"
#include "work/session_log.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/steps.h"
#include "work/tripwire.h"

#define LOG_BYTES_MAX (16 * EWS_MIB)

static const char *const status_usage[] = {
	"git ews status [--all] [--ended] [--brief | --log | --format <fmt>] [<session>...]",
	NULL,
};

static const char *const list_usage[] = {
	"git ews list [--all] [--ended] [--format <fmt>] [<session>...]",
	NULL,
};

struct settings {
	bool all, ended, log, brief;
	const char *format;
	bool is_list;
	bool is_named; /* sessions are */
};

/* What was interrupted in a project itself. */
struct interrupted {
	const struct ews_repo *repo;
	struct ews_steps steps;
};

/* Sessions are views on their repositories, so all live and go together. */
struct gathered {
	struct ews_repo **repos;
	size_t n_repos, repos_cap;
	struct ews_session_view *views;
	size_t n, cap;
	struct interrupted *steps; /* of the projects themselves */
	size_t n_steps, steps_cap;
	struct ews_strv problems; /* "<escaped path of a project>\t<why>": what could not be looked at */
};

static void release_gathered(struct gathered *all)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		ews_session_view_release(&all->views[i]);
	for (i = 0; i < all->n_repos; i++)
		ews_repo_free(all->repos[i]);
	for (i = 0; i < all->n_steps; i++)
		ews_steps_release(&all->steps[i].steps);
	free(all->steps);
	free(all->views);
	free(all->repos);
	ews_strv_release(&all->problems);
}

EWS_CLEANUP_DEFINE(gathered, struct gathered, release_gathered)

/*
 * Keep the sentence of the error that is set; what can't be found out is shown, not fatal. Fails where it is no session's: for
 * want of descriptors nothing was found out.
 */
static int note_problem(struct ews_session_view *view)
{
	if (ews_error_wants_descriptors())
		return ews_error_code();
	if (!view->problem)
		view->problem = ews_strdup(ews_error_message());
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

static int look_into(struct ews_session_view *view, struct ews_epoch_looking *looking)
{
	struct ews_repo *repo = view->session.repo;
	int rc;

	rc = ews_session_tampered(&view->tampered, &view->session);
	view->has_tampered = rc >= 0;
	if (rc < 0 || view->tampered.n)
		return rc;
	view->diff.without_index = true;
	view->diff.looking = looking;
	rc = ews_diff_sides(&view->diff, repo, &view->session, NULL, NULL);
	if (rc == 0)
		rc = ews_diff_records(&view->diff, repo, NULL);
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
	size_t i;

	for (i = 0; i < presents->n; i++) {
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
	size_t i;

	for (i = 0; i < presents->n; i++)
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
static int look(struct ews_session_view *view, struct ews_repo *project, struct presents *presents)
{
	struct present *now = project ? present_of(presents, project->project) : NULL;
	int rc;

	rc = now ? look_around(now, view, project) : 0;
	if (rc < 0)
		return rc;
	if (look_into(view, now ? now->looking : NULL) < 0)
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
		      struct presents *presents)
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
	if (!presents || view->session.state.state != EWS_STATE_ACTIVE)
		return 0;
	if (ews_session_project(&project, &view->session) < 0)
		rc = note_problem(view);
	return rc < 0 ? rc : look(view, project, presents);
}

static bool is_shown(const struct ews_session_view *view, const struct settings *set, bool is_named)
{
	return set->all || set->ended || is_named || !view->is_open || view->is_interrupted || view->is_pending ||
	       view->is_unread || view->is_unsure || view->session.state.state != EWS_STATE_ENDED;
}

/* What only a look into workspaces and project tells. */
static bool is_deep(const struct settings *set)
{
	static const char *const keys[] = {
		"(size_bytes)",    "(project_changed)", "(total_changes)", "(additions)",
		"(deletions)",     "(modifications)",   "(renames)",       "(lines_added)",
		"(lines_deleted)", "(stale)",           "(epoch)",
	};
	size_t i;

	if (!set->format)
		return !set->brief && !set->log && !set->is_list;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strstr(set->format, keys[i]))
			return true;
	return false;
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
	size_t i;
	int rc = 0;

	/* A prompt tells where one is. */
	if (!names->n && is_brief && repo->here) {
		ews_strv_add(ids, repo->here);
		return 0;
	}
	if (!names->n)
		return ews_session_ids(ids, repo);
	for (i = 0; rc == 0 && i < names->n; i++) {
		EWS_CLEANUP(free) char *id = NULL;

		rc = ews_session_resolve(&id, repo, names->items[i]);
		if (rc == 0 && !ews_strv_has(ids, id))
			ews_strv_add(ids, id);
	}
	return rc;
}

static int gather_steps(struct gathered *all, struct ews_repo *repo)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	int rc = ews_steps_interrupted(&steps, repo);

	if (rc < 0 || !steps.n)
		return rc;
	EWS_GROW(all->steps, all->n_steps, all->steps_cap);
	all->steps[all->n_steps++] = (struct interrupted){ repo, steps };
	steps = (struct ews_steps)EWS_STEPS_INIT;
	return 0;
}

static int gather(struct gathered *all, struct ews_repo *repo, const struct settings *set,
		  const struct ews_strv *names, struct ews_progress *progress)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(presents) struct presents presents = { NULL, 0, 0 };
	EWS_CLEANUP(waiting) struct waiting waiting = WAITING_INIT;
	bool deep = is_deep(set);
	size_t i;
	int rc;

	rc = gather_ids(&ids, repo, names, set->brief);
	if (rc == 0)
		rc = gather_steps(all, repo);
	for (i = 0; i < ids.n && rc == 0; i++) {
		struct ews_session_view *view;

		EWS_GROW(all->views, all->n, all->cap);
		view = &all->views[all->n];
		*view = (struct ews_session_view)EWS_SESSION_VIEW_INIT;
		view->id = ews_strdup(ids.items[i]);
		rc = gather_one(view, repo, &waiting, deep ? &presents : NULL);
		if (!set->log)
			let_go(view);
		if (is_shown(view, set, names->n > 0))
			all->n++;
		else
			ews_session_view_release(view);
		ews_progress_show(progress, i + 1, ids.n, 0);
	}
	return rc;
}

/* What is left of the sessions of a project that is gone. */
static int gather_orphans(struct gathered *all, const struct ews_home_project *project, const struct settings *set)
{
	EWS_CLEANUP(orphans) struct ews_orphans orphans = EWS_ORPHANS_INIT;
	size_t i;
	int rc;

	rc = ews_orphan_list(&orphans, project->dir);
	for (i = 0; i < orphans.n && rc == 0; i++) {
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
		if (is_shown(view, set, false))
			all->n++;
		else
			ews_session_view_release(view);
	}
	return rc;
}

static int gather_project(struct gathered *all, const struct ews_cmd_ctx *ctx, const struct ews_home_project *project,
			  const char *home, const struct settings *set, struct ews_progress *progress)
{
	const struct ews_strv none = EWS_STRV_INIT;
	struct ews_repo *repo = NULL;
	EWS_CLEANUP(free) char *was = NULL;
	int rc;

	if (project->problem)
		return ews_error(EWS_EDAMAGED, "%s", project->problem);
	if (project->is_gone) {
		rc = gather_orphans(all, project, set);
		return rc < 0 ? rc : ews_error(EWS_ENOTFOUND, "the project is gone: moved, or deleted");
	}
	rc = ews_cmd_open_known(&repo, ctx, project, home);
	if (rc < 0)
		return rc;
	EWS_GROW(all->repos, all->n_repos, all->repos_cap);
	all->repos[all->n_repos++] = repo;
	rc = gather(all, repo, set, &none, progress);
	if (rc < 0 || !ews_astray_is(project, home))
		return rc;
	was = ews_shell_shown(project->project);
	return ews_error(EWS_ENOTFOUND,
			 "it is gone: if it was moved, in its new place: git ews recover --moved-from %s", was);
}

/* Every project that home knows of. */
static int gather_all(struct gathered *all, struct ews_cmd_ctx *ctx, const struct settings *set,
		      struct ews_progress *progress)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	size_t i;
	int rc;

	rc = ews_config_find_home(&home, ctx->home);
	if (rc == 0)
		rc = ews_home_projects(&projects, home);
	for (i = 0; i < projects.n && rc == 0; i++) {
		const struct ews_home_project *project = &projects.items[i];

		if (gather_project(all, ctx, project, home, set, progress) < 0)
			ews_render_add_problem(&all->problems, project->project ? project->project : project->dir);
	}
	return rc;
}

static int urgency(const struct ews_session_view *view)
{
	if (ews_session_view_is_bad(view))
		return 0;
	return view->session.state.state == EWS_STATE_ENDED ? 2 : 1;
}

/* Interrupted ones first, ended ones last, each newest first. */
static int compare(const void *a, const void *b)
{
	const struct ews_session_view *x = a, *y = b;
	int64_t newer = y->session.state.created_s - x->session.state.created_s;

	if (urgency(x) != urgency(y))
		return urgency(x) - urgency(y);
	if (newer)
		return newer > 0 ? 1 : -1;
	return strcmp(x->id, y->id);
}

/* A line of a log, "<time> <verb> <text>"; what can't be read as one is shown as it is. */
static void add_log_line(struct ews_buf *out, const char *id, const char *line, size_t len)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(buf) struct ews_buf plain = EWS_BUF_INIT;
	const char *time, *verb, *text;

	if (ews_json_parse(&object, line, len) == 0 && ews_json_get_string(&time, object, "timestamp") == 0 &&
	    ews_json_get_string(&verb, object, "verb") == 0 && ews_json_get_string(&text, object, "message") == 0) {
		ews_buf_addf(out, "%s  %s  %-8s  ", time, id, verb);
		ews_render_words(out, text);
		ews_buf_addc(out, '\n');
		return;
	}
	ews_error_clear();
	ews_buf_add(&plain, line, len);
	ews_render_words(out, plain.ptr);
	ews_buf_addc(out, '\n');
}

static int show_log(struct ews_cmd_ctx *ctx, const struct ews_session_view *view)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *line, *end;
	int rc;

	if (!view->is_open)
		return 0;
	rc = ews_file_read_own(&text, view->session.fd, "log", LOG_BYTES_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		rc = 0;
	}
	if (rc == 0)
		rc = ews_session_log_add_said(&text, &view->session);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		ews_buf_add(&ctx->out, text.ptr, text.len);
		return 0;
	}
	for (line = text.ptr; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		add_log_line(&ctx->out, view->id, line, (size_t)(end - line));
	}
	return 0;
}

static int show_logs(struct ews_cmd_ctx *ctx, const struct gathered *all)
{
	size_t i;
	int rc = 0;

	ews_pager_start(ctx);
	for (i = 0; rc == 0 && i < all->n; i++)
		rc = show_log(ctx, &all->views[i]);
	return rc;
}

static int show_format(struct ews_cmd_ctx *ctx, const struct gathered *all, const char *format)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < all->n; i++) {
		rc = ews_render_session_format(&ctx->out, &all->views[i], format);
		ews_buf_addc(&ctx->out, ctx->nul ? '\0' : '\n');
	}
	return rc;
}

static void add_steps_json(cJSON *object, const struct gathered *all)
{
	cJSON *array = cJSON_AddArrayToObject(object, "interrupted_steps");

	for (size_t i = 0; i < all->n_steps; i++)
		for (size_t k = 0; k < all->steps[i].steps.n; k++) {
			cJSON *item = cJSON_CreateObject();

			cJSON_AddItemToArray(array, item);
			ews_json_add_path(item, "project", all->steps[i].repo->project);
			ews_render_string(item, "id", all->steps[i].steps.items[k].id);
			ews_render_string(item, "verb", all->steps[i].steps.items[k].verb);
		}
}

/* What is half done in the project matters more than any session, and no line of one shows it. */
static void warn_of_steps(const struct ews_cmd_ctx *ctx, const struct gathered *all)
{
	for (size_t i = 0; i < all->n_steps; i++) {
		const struct interrupted *of = &all->steps[i];

		for (size_t k = 0; k < of->steps.n; k++) {
			(void)ews_step_fail_unfinished(&of->steps.items[k], of->repo);
			ews_cmd_warn(ctx, "%s in '%s': %s", ews_error_message(), of->repo->project,
				     ews_error_hint_text());
			ews_error_clear();
		}
	}
}

static void show_json(struct ews_cmd_ctx *ctx, const struct gathered *all, const struct settings *set)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new(set->is_list ? "list" : "status");
	cJSON *array = cJSON_AddArrayToObject(object, "sessions");
	size_t i;

	for (i = 0; i < all->n; i++)
		cJSON_AddItemToArray(array, ews_render_session_json(&all->views[i]));
	add_steps_json(object, all);
	if (set->all)
		ews_render_reasons(object, "problems", "message", &all->problems);
	ews_cmd_json_show(ctx, object);
}

/* As in git status: on a terminal, unless the user has had enough of them. */
static bool wants_hints(const struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(free) char *text = NULL;
	bool is_wanted = true;

	if (ctx->quiet || !ews_pager_is_terminal())
		return false;
	if (ews_config_user(&text, "advice.statusHints") < 0 || ews_setting_read_bool(&is_wanted, text) < 0)
		ews_error_clear();
	return is_wanted;
}

static unsigned find_width(void)
{
	return ews_pager_is_terminal() ? ews_terminal_width(STDOUT_FILENO) : 0;
}

static void show_overview(struct ews_cmd_ctx *ctx, const struct gathered *all, const struct settings *set)
{
	const struct ews_status_opts opts = {
		.width = find_width(),
		.color = ews_pager_color(ctx, "status"),
		.hints = wants_hints(ctx),
		.projects = set->all,
	};

	if (all->n)
		ews_render_status(&ctx->out, all->views, all->n, &opts);
	else
		ews_cmd_note(ctx, "no sessions; 'git ews start' makes one");
}

static void show_each(struct ews_cmd_ctx *ctx, const struct gathered *all)
{
	bool color = ews_pager_color(ctx, "status");
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (i)
			ews_buf_addc(&ctx->out, '\n');
		ews_render_session_text(&ctx->out, &all->views[i], color, ctx->verbose);
	}
}

/* Where sessions are but lines, what their problem is shows nowhere else. It is mostly one for all of them. */
static void warn_of_unsure(const struct ews_cmd_ctx *ctx, const struct gathered *all)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->views[i].is_unsure)
			ews_strv_add(&problems, all->views[i].problem);
	ews_strv_sort(&problems);
	ews_strv_unique(&problems);
	for (i = 0; i < problems.n; i++)
		ews_cmd_warn(ctx, "%s", problems.items[i]);
}

static void show_lines(struct ews_cmd_ctx *ctx, const struct gathered *all)
{
	const struct ews_lines_opts opts = {
		.width = ctx->nul ? 0 : find_width(),
		.color = ews_pager_color(ctx, "status"),
		.end = ctx->nul ? '\0' : '\n',
	};

	warn_of_unsure(ctx, all);
	ews_render_session_lines(&ctx->out, all->views, all->n, &opts);
}

/* Where none is to be seen some may be hidden. */
static void note_former(const struct ews_cmd_ctx *ctx)
{
	const struct ews_repo *repo = ctx->repo;
	EWS_CLEANUP(free) char *former = repo->is_plain ? NULL : ews_astray_former(repo->home, repo->project);

	if (former)
		ews_cmd_note(ctx,
			     "what was done when this was no git repository is there while '%s' has another name",
			     repo->git_dir);
}

static int show(struct ews_cmd_ctx *ctx, const struct gathered *all, const struct settings *set)
{
	if (!all->n && ctx->repo && !set->brief && !set->format)
		note_former(ctx);
	if (set->log)
		return show_logs(ctx, all);
	if (!ctx->json && set->format)
		return show_format(ctx, all, set->format);
	if (ctx->json)
		show_json(ctx, all, set);
	else if (set->brief)
		ews_render_status_brief(&ctx->out, all->views, all->n, all->n_steps > 0);
	else if (set->is_list)
		show_lines(ctx, all);
	else if (set->is_named || (ctx->verbose && all->n))
		show_each(ctx, all);
	else
		show_overview(ctx, all, set);
	return 0;
}

static int run(struct ews_cmd_ctx *ctx, struct settings *set, const struct ews_cmd_syntax *syntax, int argc,
	       char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(gathered) struct gathered all = { .problems = EWS_STRV_INIT };
	struct ews_progress progress;
	size_t i;
	int rc;

	rc = ews_cmd_parse(&args, ctx, syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set->log + set->brief + (set->format != NULL) > 1)
		return ews_error(EWS_EUSAGE, "--log, --brief and --format exclude each other");
	if (set->all && args.words.n)
		return ews_error(EWS_EUSAGE, "--all takes no session");

	set->is_named = args.words.n > 0;
	ews_progress_init(&progress, ctx, "Looking at sessions");
	rc = set->all ? gather_all(&all, ctx, set, &progress) : ews_cmd_open_repo(ctx);
	/* A prompt is shown everywhere. */
	if (rc == EWS_ENOTFOUND && set->brief && !ctx->json) {
		ews_error_clear();
		return 0;
	}
	/* Here people look for what is wrong: git-ews.c says so of settings that were read. */
	if (rc == 0 && ctx->repo && !set->brief)
		(void)ews_repo_config(ctx->repo);
	if (rc == 0 && !set->all)
		rc = gather(&all, ctx->repo, set, &args.words, &progress);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	ews_render_reasons_talk(ctx, "not looked at", &all.problems);
	if (all.n)
		qsort(all.views, all.n, sizeof(*all.views), compare);
	if (!set->brief && !set->log && !set->format)
		warn_of_steps(ctx, &all);
	for (i = 0; i < all.n && !set->brief && !set->log && !set->format; i++)
		if (all.views[i].is_interrupted)
			ews_cmd_announce(ctx, all.views[i].id);
	return show(ctx, &all, set);
}

static int run_status(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	struct settings set = { .is_list = false };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "all", &set.all, "of all projects, ended ones, too"),
		EWS_OPT_BOOL(0, "ended", &set.ended, "ended ones, too"),
		EWS_OPT_BOOL(0, "log", &set.log, "what happened in them"),
		EWS_OPT_BOOL(0, "brief", &set.brief, "a few words, for a prompt"),
		EWS_OPT_STRING(0, "format", &set.format, "fmt", "show %(<field>)s of each, as in git for-each-ref"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = status_usage,
		.opts = opts,
		.max_words = SIZE_MAX,
		.prints_paths = true,
	};

	return run(ctx, &set, &syntax, argc, argv);
}

static int run_list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	struct settings set = { .is_list = true };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "all", &set.all, "of all projects, ended ones, too"),
		EWS_OPT_BOOL(0, "ended", &set.ended, "ended ones, too"),
		EWS_OPT_STRING(0, "format", &set.format, "fmt", "show %(<field>)s of each, as in git for-each-ref"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = list_usage,
		.opts = opts,
		.max_words = SIZE_MAX,
		.prints_paths = true,
	};

	return run(ctx, &set, &syntax, argc, argv);
}

const struct ews_cmd ews_cmd_status = { "status", "show the sessions, interrupted ones first", run_status };
const struct ews_cmd ews_cmd_list = { "list", "show one line a session", run_list };
