/*
 * An apply is done: see apply_put.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/apply_put.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "work/stage.h"
#include "work/transition_commit.h"
#include "work/tripwire_told.h"
#include "work/undo.h"
#include "work/undo_words.h"
#include "work/whose.h"

/* What is pending no more once the step is done: all of it came, and as it says it. The caller frees it; NULL: nothing. */
static char *find_settled(const struct ews_apply_plan *plan)
{
	const struct ews_apply_opts *opts = plan->opts;
	const struct ews_apply_source *source = plan->works[0].source;

	if (plan->n != 1 || !source->pending || opts->only || opts->specs || opts->prefix || opts->choose ||
	    plan->out->merge.conflicts.n)
		return NULL;
	return ews_strfmt("%s %s", source->pending, source->to);
}

static int make_step(struct ews_step *step, struct ews_apply_plan *plan, const struct ews_snapshot *target)
{
	int rc = ews_step_init(step, plan->repo->dir_fd, "apply", NULL);

	if (rc < 0)
		return rc;
	ews_whose_set(step, plan->repo);
	free(step->after);
	step->after = ews_strdup(target->id);
	step->settles = find_settled(plan);
	step->is_exact = true;
	step->with_index = plan->opts->index || plan->opts->commit;
	ews_step_set_paths(step, (const char *const *)plan->out->merge.touched.items);
	return 0;
}

/* Does something that is among the step's escaped `paths` lie in the directory `path`, which is not? */
static bool leads_to(const char *path, const struct ews_strv *paths)
{
	bool leads = false;

	for (size_t i = 0; i < paths->n; i++) {
		if (!strcmp(paths->items[i], path))
			return false;
		leads = leads || ews_path_is_inside(paths->items[i], path);
	}
	return leads;
}

/* A directory that was opened up and could not be closed again is none of what was to change, and goes back with that. */
static void add_opened(struct ews_step *step, const struct ews_strv *failed)
{
	for (size_t i = 0; i < failed->n; i++) {
		EWS_CLEANUP(free) char *path = ews_strndup(failed->items[i], strcspn(failed->items[i], "\t"));

		if (leads_to(path, &step->paths)) /* escaped, as those of the step are */
			ews_strv_add(&step->paths, path);
	}
}

/* Can `path` stay as it is when all else goes back: is that in no need of its place, or of that of what it lies in? */
static bool can_stay(const struct ews_entries *before, const char *path)
{
	const struct ews_entry *was = ews_entries_find(before, path);
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	char *slash = strrchr(at, '/');

	if (was && ews_entry_is_dir(was))
		return false;
	for (; slash; slash = strrchr(at, '/')) {
		*slash = '\0';
		was = ews_entries_find(before, at);
		if (was)
			return ews_entry_is_dir(was);
	}
	return true;
}

/* What somebody wrote while it was written is his: of what was done nothing is to be seen there, or he has seen it. */
static void list_spared(struct ews_strv *out, const struct ews_apply_plan *plan)
{
	const struct ews_strv *others = &plan->out->put.others;

	for (size_t i = 0; i < others->n; i++)
		if (can_stay(&plan->out->diff.from.content.scan.entries, others->items[i]))
			ews_strv_add(out, others->items[i]);
	ews_strv_sort(out);
}

/* "'a', 'b'" */
static char *quote_all(const struct ews_strv *paths)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < paths->n; i++)
		ews_buf_addf(&text, "%s'%s'", i ? ", " : "", paths->items[i]);
	return ews_buf_steal(&text);
}

/* Is all as it should be, but for what somebody wrote? */
static bool is_done(const struct ews_transition_result *put)
{
	return put->errors.n == put->others.n;
}

/*
 * Once all stood there, or somebody's changes in its place, what is found otherwise is somebody's as well, who has saved it since: it
 * was kept, like all that goes.
 */
static void name_taken(const struct ews_transition_result *put, const struct ews_transition_result *back)
{
	EWS_CLEANUP(free) char *hint = ews_strdup(ews_error_hint_text());
	EWS_CLEANUP(buf) struct ews_buf paths = EWS_BUF_INIT;
	bool has_stood = put->is_verified || (put->errors.n && is_done(put));

	if (!has_stood || !back->since.n || !back->kept_snapshot)
		return;
	for (size_t i = 0; i < back->since.n; i++) {
		ews_buf_addc(&paths, ' ');
		ews_path_quote(&paths, back->since.items[i]);
	}
	ews_error_hint("%s%s'git ews snapshot restore %s --%s' brings back what somebody wrote meanwhile", hint,
		       *hint ? "; " : "", back->kept_snapshot, paths.ptr);
}

/* All or nothing: what could be written goes back to what it was, but for what is `spared`, and `why` is what is said. */
static int take_back(struct ews_apply_plan *plan, struct ews_step *step, const struct ews_strv *spared,
		     struct ews_error_saved *why)
{
	EWS_CLEANUP(transition_result) struct ews_transition_result back = EWS_TRANSITION_RESULT_INIT;
	const struct ews_undo_opts undo = { .is_retry = step->state != EWS_STEP_DONE,
					    .spared = spared,
					    .progress = plan->opts->progress,
					    .payload = plan->opts->payload };
	int rc;

	if (step->with_index)
		ews_stage_sweep(plan->repo, step->created_s, true);
	add_opened(step, &plan->out->put.errors);
	ews_transition_turn_back(step);
	rc = ews_undo_transition(&back, plan->repo, NULL, step, &undo);
	if (rc == 0 && is_done(&back))
		rc = ews_step_remove(plan->repo->dir_fd, step->id);
	/* What could not go back is tried again by recover; where something was renamed away, that has its place already. */
	if (rc == 0 && !is_done(&back) && !step->moved.n && !step->moving.n) {
		step->state = EWS_STEP_UNDOING;
		rc = ews_step_write(plan->repo->dir_fd, step);
	}
	if (rc < 0 || !is_done(&back)) {
		EWS_CLEANUP(free) char *undo_words = ews_undo_words(plan->repo, step->id);

		rc = ews_error_restore(why);
		ews_error_hint("'git ews recover --all' or '%s' brings back what was there; nothing is lost",
			       undo_words);
		return rc;
	}
	rc = ews_error_restore(why);
	/* The sentence is about these, or says why the rest of it could not be written. */
	if (rc != EWS_ESTALE)
		ews_strv_add_array(&back.others, spared->items);
	if (back.others.n) {
		EWS_CLEANUP(free) char *named = quote_all(&back.others);

		ews_error_hint("what somebody wrote to %s meanwhile stays as well; nothing else was changed", named);
	}
	name_taken(&plan->out->put, &back);
	return rc;
}

/* "Apply <source>, <source>" */
static char *default_message(const struct ews_apply_plan *plan)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < plan->n; i++)
		ews_buf_addf(&text, "%s%s", i ? ", " : "Apply ", plan->works[i].source->name);
	return ews_buf_steal(&text);
}

/* The step says from its beginning that a commit belongs to it, so that whoever finds it half done takes it back. */
static int plan_commit(struct ews_step *step, struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *branch = NULL;
	const struct ews_oid none = EWS_OID_NONE;
	struct ews_oid before;
	int rc = ews_stage_branch(&branch, &before, repo);

	if (rc == 0)
		ews_transition_set_commit(step, branch, &before, &none);
	return rc;
}

/* What was applied and staged, as a commit; with that the step is done. */
static int commit(struct ews_apply_plan *plan, struct ews_step *step)
{
	EWS_CLEANUP(free) char *branch = NULL;
	EWS_CLEANUP(free) char *message = default_message(plan);
	struct ews_stage_commit made = { .step_id = step->id, .after = EWS_OID_NONE };
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_stage_branch(&branch, &made.before, plan->repo);

	made.branch = branch;
	if (rc == 0)
		rc = ews_stage_commit(&made, plan->repo, plan->opts->message ? plan->opts->message : message);
	if (rc < 0)
		return rc;
	/* git leaves it to the system when its work becomes durable: before the step says that it is done. */
	if (syncfs(plan->repo->common_fd) < 0)
		return ews_error_os("cannot sync the commit");
	plan->out->is_commit_unknown = ews_oid_is_none(&made.after);
	if (plan->out->is_commit_unknown) {
		ews_transition_leave_branch(step);
	} else {
		ews_transition_set_commit(step, branch, &made.before, &made.after);
		ews_tripwire_tell_move(plan->repo, branch, &made.before, &made.after);
		plan->out->commit = ews_strdup(ews_oid_hex(hex, &made.after));
	}
	return ews_transition_close(plan->repo, step);
}

/* What the project was kept as once has to hold all that is not written anew, until `target` does. */
static int confirm(struct ews_apply_plan *plan, struct ews_snapshot *target)
{
	if (!ews_earlier_is_shared(&plan->earlier))
		return 0;
	target->shares_with = ews_strdup(plan->earlier.kept.ref);
	target->shared = plan->earlier.kept.commit;
	return ews_snapshot_confirm(plan->repo, target);
}

/* The first line about what is not `spared`, or, where all is, about that. */
static const char *first_failed(const struct ews_strv *lines, const struct ews_strv *spared)
{
	for (size_t i = 0; i < lines->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		(void)ews_path_line_split(&path, lines->items[i]);
		if (!ews_strv_sorted_has(spared, path.ptr))
			return lines->items[i];
	}
	return lines->items[0];
}

/* What somebody wrote meanwhile, and stays, is nothing that can't be written: he is asked to try again. */
static int fail_write(const struct ews_transition_result *put, const struct ews_strv *spared)
{
	EWS_CLEANUP(free) char *named = quote_all(spared);
	const char *line = first_failed(&put->errors, spared);
	const char *why = ews_path_line_words(line);

	if (spared->n == put->errors.n) {
		ews_error(EWS_ESTALE, "%s changed meanwhile, and %s", named,
			  spared->n > 1 ? "were left as they are" : "was left as it is");
		ews_error_hint("nothing else was changed; try again");
		return EWS_ESTALE;
	}
	ews_error(EWS_EIO, "'%.*s' could not be written%s%s", (int)strcspn(line, "\t"), line, *why ? ": " : "", why);
	ews_error_hint("'-- <path>' brings other paths without it");
	return EWS_EIO;
}

int ews_apply_put(struct ews_apply_plan *plan)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot target = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(strv) struct ews_strv spared = EWS_STRV_INIT;
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	struct ews_apply_result *out = plan->out;
	/* Its trees are there. */
	const struct ews_snapshot like = { .tree = out->diff.to.snapshot.tree, .hash = out->diff.to.content.hash };
	const struct ews_snapshot_opts keep = { .subject = "ews: what apply makes",
						.prefix = EWS_REF_TRASH,
						.like = &like };
	const struct ews_transition_opts move = { .target = &target,
						  .seen = &out->diff.from.content,
						  .only = (const char *const *)out->merge.touched.items,
						  .is_taken_back = true,
						  .stays_open = plan->opts->commit,
						  .progress = plan->opts->progress,
						  .payload = plan->opts->payload };
	bool has_changed = false;
	int rc = ews_snapshot_keep(&target, plan->repo, plan->batch, &out->diff.to.content, &keep);

	if (rc == 0)
		rc = confirm(plan, &target);
	if (rc == 0)
		rc = make_step(&step, plan, &target);
	if (rc == 0 && plan->opts->commit)
		rc = plan_commit(&step, plan->repo);
	if (rc == 0)
		rc = ews_transition(&out->put, &has_changed, plan->repo, NULL, &step, &move);
	list_spared(&spared, plan);
	if (rc == 0 && !out->put.is_verified)
		rc = fail_write(&out->put, &spared);
	if (rc == 0 && plan->opts->commit)
		rc = commit(plan, &step);
	if (rc == 0) {
		out->undo = has_changed ? ews_strdup(step.id) : NULL;
		return 0;
	}
	if (!has_changed || !step.before || !*step.before)
		return rc;
	ews_error_save(&why);
	return take_back(plan, &step, &spared, &why);
}
