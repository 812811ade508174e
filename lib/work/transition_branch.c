/*
 * Transitions of branches: the one that HEAD is on, and those that it has left.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/litter.h"
#include "work/branch.h"
#include "work/branch_move.h"
#include "work/head.h"
#include "work/transition.h"

/* What the branch that HEAD is to be on led to then, where that was a symbolic ref; NULL: it was none, or nobody says so. */
static const char *target_then(const struct ews_transition_work *work, const char *name)
{
	const char *then = work->opts->target->branch;

	return then && strcmp(then, name) != 0 && ews_odb_is_ref_name(then) ? then : NULL;
}

/* Is what it led to then where it was? Then it has but to lead there again. */
static bool can_lead_back(const struct ews_transition_work *work, const char *name)
{
	const char *then = target_then(work, name);
	EWS_CLEANUP(free) char *last = NULL;
	struct ews_oid now = EWS_OID_NONE;
	int rc;

	if (!then)
		return false;
	rc = ews_odb_ref_follow(&now, &last, work->repo->odb, then);
	if (rc < 0)
		ews_error_clear();
	return rc != EWS_EGIT && !strcmp(last, then) && ews_oid_equal(&now, &work->opts->target->head);
}

/*
 * In place HEAD is mostly on a branch, which then is part of the state. Returns 1, the branch and where it is now (none: nowhere);
 * 0 when there is no branch, or it is where it was; fails where that can't be read just now. A symbolic one moves the ref that it
 * leads to, where it led to that then; else it is put back itself, or a branch that is another's would move, and leads there again
 * where that is as it was. Older snapshots don't say.
 * What is broken, or leads in a circle, is never where it was: start refuses that, and nobody could make a commit.
 */
static int find_moved_branch(char **branch, struct ews_oid *now, const struct ews_transition_work *work)
{
	EWS_CLEANUP(free)
	char *name = ews_transition_is_in_project(work) ? ews_head_branch(&work->target.git) : NULL;
	EWS_CLEANUP(free) char *last = NULL;
	const char *then = work->opts->target->branch;
	bool leads_elsewhere, is_broken;
	int rc;

	*now = (struct ews_oid)EWS_OID_NONE;
	if (!name)
		return 0;
	rc = ews_odb_ref_follow(now, &last, work->repo->odb, name);
	is_broken = rc == EWS_EGIT;
	rc = rc < 0 ? ews_error_if_passing(rc) : 0;
	if (rc < 0)
		return rc;
	leads_elsewhere = then && *then && strcmp(then, last) != 0;
	if (!is_broken && ews_oid_equal(now, &work->opts->target->head) &&
	    !(leads_elsewhere && (strcmp(last, name) != 0 || can_lead_back(work, name))))
		return 0;
	*branch = leads_elsewhere ? ews_steal(&name) : ews_steal(&last);
	return 1;
}

int ews_transition_branch_differs(const struct ews_transition_work *work)
{
	EWS_CLEANUP(free) char *branch = NULL;
	struct ews_oid now;

	return find_moved_branch(&branch, &now, work);
}

/* Does the present HEAD lead to the branch? Then the snapshot of the present state says where that is. */
static bool is_headed(const struct ews_transition_work *work, const char *branch)
{
	EWS_CLEANUP(free) char *first = ews_head_branch(&work->now.git);
	EWS_CLEANUP(free) char *last = ews_head_last_ref(work->repo, &work->now.git);

	return (first && !strcmp(first, branch)) || (last && !strcmp(last, branch));
}

/* In words, another work tree that stands on a branch that HEAD has left; NULL: none does. The caller frees it. */
static int find_other_tree(char **out, const struct ews_transition_work *work, const char *branch)
{
	*out = NULL;
	return is_headed(work, branch) ? 0 : ews_branch_other_tree(out, work->repo, branch);
}

/* Is the line about another branch than `payload`? */
static bool is_of_another(void *payload, const char *line)
{
	const char *rest = ews_str_after(line, payload);

	return !rest || *rest != ' ';
}

/* An earlier try may have been about to move it. */
static void leave_branch(struct ews_step *step, char *branch)
{
	ews_strv_filter(&step->branches_moving, is_of_another, branch);
}

static int refuse_other_tree(struct ews_transition_result *out, struct ews_transition_work *work, char *branch)
{
	EWS_CLEANUP(free) char *tree = NULL;
	const struct ews_oid *head = &work->opts->target->head;
	int rc = find_other_tree(&tree, work, branch);

	if (rc < 0 || !tree)
		return rc;
	if (work->opts->is_retry && !ews_oid_is_none(head)) {
		leave_branch(work->step, branch);
		ews_gitstate_set_head(&work->target.git, head);
		ews_strv_addf(&out->errors, "HEAD\ton no branch: %s stands on '%s'", tree, branch);
		return 0;
	}
	ews_error(EWS_ECONFLICT, "cannot put '%s' back: %s stands on it", branch, tree);
	/* To rename the branch would take its settings and its reflog along, and nothing brings them back. */
	ews_error_hint(
		"nothing was changed; 'git checkout -b <other name>' there keeps its commits on a branch of its own");
	return EWS_ECONFLICT;
}

int ews_transition_refuse_blocked(struct ews_transition_result *out, struct ews_transition_work *work)
{
	EWS_CLEANUP(free) char *branch = NULL;
	EWS_CLEANUP(free) char *other = NULL;
	EWS_CLEANUP(free) char *shown = NULL;
	struct ews_oid now;
	int rc = ews_transition_moves_git(work) ? find_moved_branch(&branch, &now, work) : 0;

	if (rc <= 0)
		return rc;
	if (!ews_oid_is_none(&now))
		return refuse_other_tree(out, work, branch);
	rc = ews_odb_ref_in_way(&other, work->repo->odb, branch);
	if (rc < 0 || !other)
		return rc;
	if (work->opts->is_retry) {
		leave_branch(work->step, branch);
		ews_gitstate_set_head(&work->target.git, &work->opts->target->head);
		ews_strv_addf(&out->errors, "HEAD\ton no branch: '%s' is in the way of '%s'", other, branch);
		return 0;
	}
	shown = ews_shell_shown(ews_str_after(other, EWS_REF_BRANCHES));
	ews_error(EWS_ECONFLICT, "cannot put '%s' back: '%s' is in its way", branch, other);
	ews_error_hint("nothing was changed; 'git branch -m %s <other name>' makes room", shown);
	return EWS_ECONFLICT;
}

static const char *where(char hex[EWS_OID_HEX_MAX], const struct ews_oid *oid)
{
	return ews_oid_is_none(oid) ? "nowhere" : ews_oid_hex(hex, oid);
}

/* The sentence; the caller frees it. */
static char *say_move(const char *branch, const struct ews_oid *from, const struct ews_oid *to)
{
	char old[EWS_OID_HEX_MAX], new[EWS_OID_HEX_MAX];

	return ews_strfmt("'%s' goes from %s back to %s", branch, where(old, from), where(new, to));
}

static void name_move(struct ews_transition_result *out, const char *branch, const struct ews_oid *from,
		      const struct ews_oid *to)
{
	EWS_CLEANUP(free) char *sentence = say_move(branch, from, to);

	ews_strv_add(&out->branches, sentence);
}

/* Write down that a branch moves. Since an earlier try did somebody may have moved it: where it is now is what the turn back wants. */
static void plan_move(struct ews_transition_result *out, struct ews_step *step, char *branch,
		      const struct ews_oid *from, const struct ews_oid *to)
{
	EWS_CLEANUP(free) char *line = ews_branch_move_format(branch, from, to);

	if (ews_oid_equal(from, to))
		return;
	leave_branch(step, branch);
	ews_strv_add(&step->branches_moving, line);
	name_move(out, branch, from, to);
}

/*
 * Why must a branch that is at `now`, and was moved to `put` when the step turned before, not go back to where it was? NULL: it may.
 * The caller frees it.
 */
static int find_why_stays(char **why, const struct ews_transition_work *work, const char *branch,
			  const struct ews_oid *now, const struct ews_oid *put)
{
	EWS_CLEANUP(free) char *other = NULL;
	int rc;

	if (ews_oid_is_none(now)) {
		rc = ews_odb_ref_in_way(&other, work->repo->odb, branch);
		*why = other ? ews_strfmt("'%s' is in its way", other) : NULL;
		return rc;
	}
	if (!ews_oid_equal(now, put)) {
		*why = ews_strdup("it has moved on since");
		return 0;
	}
	rc = find_other_tree(&other, work, branch);
	*why = other ? ews_strfmt("%s stands on it", other) : NULL;
	return rc;
}

/* A branch that the step moved when it turned before. Of one that was nowhere then there is nothing to bring back. */
static int plan_move_back(struct ews_transition_result *out, const struct ews_transition_work *work, char *branch,
			  const struct ews_oid *was, const struct ews_oid *put)
{
	EWS_CLEANUP(free) char *why = NULL;
	struct ews_oid now = EWS_OID_NONE;
	char hex[EWS_OID_HEX_MAX], was_hex[EWS_OID_HEX_MAX];
	int rc = ews_odb_ref_read(&now, work->repo->odb, branch);

	if (rc < 0)
		ews_error_clear();
	if (ews_oid_is_none(was) || ews_oid_equal(&now, was))
		return 0;
	rc = find_why_stays(&why, work, branch, &now, put);
	if (rc < 0)
		return rc;
	if (!why) {
		plan_move(out, work->step, branch, &now, was);
		return 0;
	}
	leave_branch(work->step, branch);
	ews_strv_addf(&out->branches, "'%s' was at %s, and stays at %s: %s", branch, where(was_hex, was),
		      where(hex, &now), why);
	return 0;
}

/* A branch that is to move, as it is written down, and where that is by now. */
static int look_at_move(struct ews_branch_move *out, const struct ews_transition_work *work, const char *line)
{
	int rc = ews_branch_move_read(out, line);

	if (rc == 0 && ews_odb_ref_read(&out->now, work->repo->odb, out->branch) < 0)
		ews_error_clear();
	return rc;
}

/* What an earlier try did is to be told as well. */
static int name_moved(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	const struct ews_strv *moving = &work->step->branches_moving;
	int rc = 0;

	for (size_t i = 0; i < moving->n && rc == 0; i++) {
		EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;

		rc = look_at_move(&move, work, moving->items[i]);
		if (rc == 0 && ews_oid_equal(&move.now, &move.to))
			name_move(out, move.branch, &move.from, &move.to);
	}
	return rc;
}

/*
 * The turn before this one left to its owner what it was to move, and said so in the step: where a branch is now is where this turn
 * wants it. No state says where it was before that turn, so the next is told.
 */
static int keep_unmoved(const struct ews_transition_work *work)
{
	const struct ews_strv *moved = &work->step->branches;
	int rc = 0;

	for (size_t i = 0; i < moved->n && rc == 0 && work->step->is_incomplete; i++) {
		EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;
		EWS_CLEANUP(free) char *line = NULL;

		rc = look_at_move(&move, work, moved->items[i]);
		if (rc < 0 || !ews_oid_equal(&move.now, &move.from))
			continue;
		line = ews_branch_move_format(move.branch, &move.to, &move.from);
		leave_branch(work->step, move.branch);
		ews_strv_add(&work->step->branches_moving, line);
	}
	return rc;
}

/* Did HEAD lead to the branch, at `now`, in the state that the step left? Then that state says where it was. */
static bool is_as_left(const struct ews_transition_work *work, const char *branch, const struct ews_oid *now)
{
	const struct ews_snapshot *left = work->opts->left;

	return left && left->branch && !strcmp(left->branch, branch) && ews_oid_equal(now, &left->head);
}

/*
 * Does no state that undo knows say where the branch is? Since the step was killed HEAD may lead there because the try before
 * this one had put it there, or a person went there and committed.
 */
static bool is_known_nowhere(const struct ews_transition_work *work, const char *branch, const struct ews_oid *now)
{
	return !is_headed(work, branch) || (work->opts->is_retry && !is_as_left(work, branch, now));
}

/* The branch that HEAD is to be on, where that moves and HEAD has left it, or somebody moved it since the step was killed. */
static int plan_left_branch(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	EWS_CLEANUP(free) char *branch = NULL;
	struct ews_oid now;
	int rc = find_moved_branch(&branch, &now, work);

	if (rc > 0 && ews_str_begins(branch, EWS_REF_BRANCHES) && !ews_oid_is_none(&now) &&
	    is_known_nowhere(work, branch, &now))
		plan_move(out, work->step, branch, &now, &work->opts->target->head);
	return rc < 0 ? rc : 0;
}

/* A symbolic branch that can't lead again where it led stays, or becomes, none: who wants it to is told how. */
static void name_led(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	EWS_CLEANUP(free)
	char *name = ews_transition_is_in_project(work) ? ews_head_branch(&work->target.git) : NULL;
	const char *then = name ? target_then(work, name) : NULL;
	EWS_CLEANUP(free) char *shown = NULL;
	EWS_CLEANUP(free) char *shown_then = NULL;
	EWS_CLEANUP(free) char *last = NULL;
	struct ews_oid now;

	if (!then || can_lead_back(work, name))
		return;
	if (ews_odb_ref_follow(&now, &last, work->repo->odb, name) < 0)
		ews_error_clear();
	if (!strcmp(last, then))
		return;
	shown = ews_shell_shown(name);
	shown_then = ews_shell_shown(then);
	ews_strv_addf(&out->branches,
		      "'%s' led to '%s', which is not where it was: 'git symbolic-ref %s %s' makes it lead there again",
		      name, then, shown, shown_then);
}

/* Is HEAD to be on the branch? Then that goes where the target says. */
static bool is_to_be_headed(const struct ews_transition_work *work, const char *branch)
{
	EWS_CLEANUP(free) char *first = ews_head_branch(&work->target.git);
	const char *last = work->opts->target->branch;

	return first && (!strcmp(first, branch) || (last && !strcmp(last, branch)));
}

int ews_transition_plan_branches(struct ews_transition_result *out, struct ews_transition_work *work)
{
	const struct ews_strv *moved = &work->step->branches;
	int rc;

	if (!ews_transition_moves_git(work))
		return 0;
	work->brings_back = work->brings_back || moved->n > 0;
	rc = name_moved(out, work);
	if (rc == 0)
		rc = keep_unmoved(work);
	if (rc == 0)
		rc = plan_left_branch(out, work);
	if (rc == 0)
		name_led(out, work);
	for (size_t i = 0; i < moved->n && rc == 0; i++) {
		EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;

		rc = ews_branch_move_read(&move, moved->items[i]);
		if (rc == 0 && !is_to_be_headed(work, move.branch))
			rc = plan_move_back(out, work, move.branch, &move.from, &move.to);
	}
	return rc;
}

/* What is written down of branches that HEAD has left. Returns 1 where somebody went on with one at this very moment, else 0. */
static int move_branches(const struct ews_transition_work *work)
{
	const struct ews_strv *moving = &work->step->branches_moving;
	bool stays = false;
	int rc = 0;

	for (size_t i = 0; i < moving->n && rc == 0; i++) {
		EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;

		rc = look_at_move(&move, work, moving->items[i]);
		if (rc < 0)
			return rc;
		if (ews_oid_equal(&move.now, &move.to))
			continue;
		if (work->opts->is_retry)
			ews_litter_sweep_ref(work->repo->odb, move.branch);
		rc = ews_odb_ref_swap(work->repo->odb, move.branch, &move.from, &move.to);
		/* Somebody went on with it: it is his. Was that since it was killed, where HEAD is to be is seen to. */
		if (rc == EWS_ESTALE) {
			ews_error_clear();
			stays = stays || !work->opts->is_retry;
			rc = 0;
		}
		if (rc < 0)
			return ews_error_wrap("cannot put '%s' back", move.branch);
	}
	return rc < 0 ? rc : stays;
}

/* Is the branch that HEAD was on, which is at `now`, no longer where it was when the present state was kept? */
static bool has_moved(const struct ews_transition_work *work, const struct ews_oid *now)
{
	return !work->before.is_head_damaged && !ews_oid_is_none(now) && !ews_oid_equal(now, &work->before.head);
}

int ews_transition_head_has_moved(const struct ews_transition_work *work)
{
	EWS_CLEANUP(free)
	char *name = ews_transition_is_in_project(work) ? ews_head_branch(&work->now.git) : NULL;
	EWS_CLEANUP(free) char *last = NULL;
	struct ews_oid now = EWS_OID_NONE;
	int rc = 0;

	if (!name)
		return 0;
	rc = ews_error_if_passing(ews_odb_ref_follow(&now, &last, work->repo->odb, name));
	return rc < 0 ? rc : has_moved(work, &now);
}

/* A branch that leads nowhere can't be moved: what says so goes, and what is packed holds again. 1: that is where it has to be. */
static int clear_branch(struct ews_oid *now, const struct ews_transition_work *work, const char *branch)
{
	int rc = ews_odb_ref_clear(work->repo->odb, branch);

	if (rc > 0 && ews_odb_ref_read(now, work->repo->odb, branch) < 0)
		ews_error_clear();
	return rc < 0 ? rc : ews_oid_equal(now, &work->opts->target->head);
}

/* Where it was is in the snapshot of the present state, or written down in the step, so nothing is lost by moving it. */
static int move_to_head(const struct ews_transition_work *work, const char *branch, struct ews_oid *now)
{
	struct ews_odb *odb = work->repo->odb;
	int rc;

	if (can_lead_back(work, branch))
		return ews_odb_ref_point(odb, branch, now, target_then(work, branch));
	rc = ews_oid_is_none(now) ? clear_branch(now, work, branch) : 0;
	return rc == 0 ? ews_odb_ref_swap(odb, branch, now, &work->opts->target->head) : rc;
}

static int restore_branch(const struct ews_transition_work *work)
{
	EWS_CLEANUP(free) char *branch = NULL;
	struct ews_oid now;
	int rc = find_moved_branch(&branch, &now, work);

	if (rc <= 0)
		return rc;
	/* Who has committed at this very moment keeps his commit, and the proof names the branch. */
	if (is_headed(work, branch) && has_moved(work, &now))
		return 0;
	if (work->opts->is_retry)
		ews_litter_sweep_ref(work->repo->odb, branch);
	rc = move_to_head(work, branch, &now);
	if (rc != EWS_ESTALE)
		return rc < 0 ? ews_error_wrap("cannot put '%s' back", branch) : 0;
	ews_error_clear();
	return 0;
}

static bool is_other_line(void *payload, const char *line)
{
	return strcmp(line, payload) != 0;
}

/* What was to move, and was named: it stays. The turn back of a step has to keep that it was to, or the next one would not know. */
static void leave_unmoved(struct ews_transition_result *out, const struct ews_transition_work *work,
			  const struct ews_branch_move *move)
{
	EWS_CLEANUP(free) char *sentence = say_move(move->branch, &move->from, &move->to);
	char now[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];
	size_t n = out->branches.n;

	ews_strv_filter(&out->branches, is_other_line, sentence);
	if (out->branches.n < n)
		ews_strv_addf(&out->branches,
			      "'%s' stays at %s, and does not go back to %s: git's state has changed meanwhile",
			      move->branch, where(now, &move->now), where(to, &move->to));
	if (work->step->state != EWS_STEP_UNDOING)
		leave_branch(work->step, move->branch);
}

int ews_transition_leave_branches(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	EWS_CLEANUP(strv) struct ews_strv moving = EWS_STRV_INIT;
	int rc = 0;

	ews_strv_add_array(&moving, work->step->branches_moving.items);
	for (size_t i = 0; i < moving.n && rc == 0; i++) {
		EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;

		rc = look_at_move(&move, work, moving.items[i]);
		if (rc == 0 && !ews_oid_equal(&move.now, &move.to))
			leave_unmoved(out, work, &move);
	}
	return rc;
}

int ews_transition_restore_branches(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	int rc = move_branches(work);

	if (rc > 0)
		return ews_transition_leave_branches(out, work);
	return rc < 0 ? rc : restore_branch(work);
}
