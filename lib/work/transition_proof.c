/*
 * Proofs of transitions: all is looked at again and compared with what is wanted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition_work.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path_line.h"
#include "store/hardlink.h"
#include "work/look.h"
#include "work/session_place.h"
#include "work/settled.h"
#include "work/submodule_head.h"
#include "work/transition.h"

/* Was it ignored before, and stays? */
static bool was_ignored(const struct ews_transition_work *work, const char *path)
{
	return ews_skips_covering(&work->now.scan.skips, path) && !ews_transition_is_away(work, path);
}

static enum ews_hardlink_fate fate_after(void *payload, const char *path)
{
	if (was_ignored(payload, path))
		return EWS_HARDLINK_UNSEEN;
	return ews_transition_is_wanted(payload, path) ? EWS_HARDLINK_FREE : EWS_HARDLINK_STAYS;
}

/* The hash of those entries alone that the transition is about, and of none that was left `alone` (sorted); the others are dropped. */
static void hash_wanted(char out[EWS_TREE_HASH_LEN], struct ews_content *content,
			const struct ews_transition_work *work, const struct ews_strv *alone)
{
	struct ews_entries *list = &content->scan.entries;
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (!ews_transition_is_wanted(work, list->items[i].path) ||
		    (alone->n && ews_strv_sorted_has(alone, list->items[i].path)))
			continue;
		/* Nearly always all are wanted, and many. */
		if (kept != i)
			list->items[kept] = list->items[i];
		kept++;
	}
	if (kept == list->n) {
		memcpy(out, content->hash, EWS_TREE_HASH_LEN);
		return;
	}
	list->n = kept;
	ews_manifest_hash(out, list);
}

/* Is only what was in a repository left of it? Nobody looked at that when the target was made: it stays. */
static bool has_lost_repository(const struct ews_change *change, const struct ews_transition_work *work)
{
	const struct ews_skip *then = ews_skips_covering(&work->target.scan.skips, change->path);

	return change->to->type == EWS_ENTRY_GITLINK && change->from->type == EWS_ENTRY_DIR && then &&
	       ews_skip_is_repository(then->reason);
}

/* What is wrong with a path after all, in words. */
static void describe_difference(struct ews_buf *out, const struct ews_change *change,
				const struct ews_transition_work *work)
{
	const struct ews_entry *from = change->from, *to = change->to;

	if (!to)
		ews_buf_adds(out, "should not be there");
	else if (!from)
		ews_buf_adds(out, "is missing");
	else if (has_lost_repository(change, work))
		ews_buf_adds(out, "is no repository any more, and what is in it stays");
	else if (!ews_entry_equal(from, to))
		ews_buf_adds(out, "differs");
	else if (!ews_transition_proven_equal(work)(from, to))
		ews_buf_addf(out, "belongs to %" PRIu32 ":%" PRIu32 ", not to %" PRIu32 ":%" PRIu32, from->uid,
			     from->gid, to->uid, to->gid);
	else if (to->first_name)
		ews_buf_adds(out, "should be one file with its other names");
	else
		ews_buf_adds(out, "should be one file with no other name than its own");
}

/*
 * Was it written, or removed, by somebody after the step had put it, which did not fail? Of what has the wanted content a mode may be
 * all that could not be set.
 */
static bool is_changed_since(const struct ews_change *change)
{
	const struct ews_entry *now = change->from, *wanted = change->to;

	if (!now)
		return wanted;
	if (ews_entry_is_dir(now) || ews_oid_is_none(&now->oid))
		return false;
	return !wanted || now->type != wanted->type || !ews_oid_equal(&now->oid, &wanted->oid);
}

static void name_difference(struct ews_transition_result *out, const struct ews_transition_work *work,
			    const struct ews_change *change)
{
	EWS_CLEANUP(buf) struct ews_buf words = EWS_BUF_INIT;

	if (ews_path_line_has(&out->errors, change->path))
		return;
	describe_difference(&words, change, work);
	ews_path_line_add(&out->errors, change->path, words.ptr);
	if (is_changed_since(change))
		ews_strv_add(&out->others, change->path);
}

/* Attributes that this user may not set are named apart, and are no failure of the proof. */
static bool differs_in_lost_attrs_only(const struct ews_transition_result *out,
				       const struct ews_transition_work *work, const struct ews_change *change)
{
	struct ews_entry a, b;

	if (!change->from || !change->to)
		return false;
	a = *change->from;
	b = *change->to;
	a.xattrs = b.xattrs = NULL;
	return ews_transition_proven_equal(work)(&a, &b) && ews_path_line_has(&out->lost_attrs, change->path);
}

/* The same of the directory itself. */
static bool root_differs(const struct ews_transition_result *out, const struct ews_transition_work *work,
			 const struct ews_content *after)
{
	return ews_transition_differs_in_root(work, after) || ews_transition_differs_in_root_owner(work, after) ||
	       (ews_transition_differs_in_root_xattrs(work, after) && !ews_path_line_has(&out->lost_attrs, "."));
}

/* What was ignored before and stays, though the rules that are back don't ignore it any more: it is named. */
static bool stays_ignored(struct ews_transition_result *out, const struct ews_transition_work *work, const char *path)
{
	if (!was_ignored(work, path))
		return false;
	ews_path_line_add(&out->not_covered, path, "was ignored, stays");
	return true;
}

/* What the target did not look at, or what holds it, so that its being there now is no difference. */
static bool is_left_alone(struct ews_transition_result *out, const struct ews_transition_work *work,
			  const struct ews_change *change)
{
	if (change->to)
		return false;
	return ews_transition_must_stay(work, change) || ews_transition_was_not_seen(work, change->from) ||
	       stays_ignored(out, work, change->path);
}

/* What somebody mounted in the directory stays as it is, and nobody looked into it. */
static void name_mounts(struct ews_transition_result *out, const struct ews_transition_work *work,
			const struct ews_content *after)
{
	const struct ews_skips *skips = &after->scan.skips;

	for (size_t i = 0; i < skips->n; i++)
		if (skips->items[i].reason == EWS_SKIP_MOUNTED &&
		    ews_transition_is_wanted(work, skips->items[i].path) &&
		    !ews_path_line_has(&out->errors, skips->items[i].path))
			ews_path_line_add(&out->not_covered, skips->items[i].path, ews_skip_word(EWS_SKIP_MOUNTED));
}

/*
 * Was it a git directory in the project, of which nothing is left? Its files are put back, it is not. Or a submodule that this workspace
 * had filled? That is an empty directory again, and no more.
 */
static bool is_gone(const struct ews_transition_work *work, const struct ews_skip *then, const struct ews_skip *now)
{
	if (now || !ews_skip_is_repository(then->reason))
		return false;
	return ews_transition_is_in_project(work) ? ews_skip_is_git_dir(then)
						  : !strcmp(work->opts->target->session, work->session->state.id);
}

static void name_left_out(struct ews_transition_result *out, const struct ews_transition_work *work,
			  const struct ews_content *after)
{
	const struct ews_skips *skips = &work->target.scan.skips;

	for (size_t i = 0; i < skips->n; i++) {
		const char *path = skips->items[i].path;
		enum ews_skip_reason reason = skips->items[i].reason;
		const struct ews_skip *now = ews_skips_covering(&after->scan.skips, path);

		if (ews_skip_is_by_rule(reason) || !ews_transition_is_wanted(work, path))
			continue;
		/* What became of it is said already. */
		if (reason == EWS_SKIP_WRITTEN && ews_path_line_has(&out->not_covered, path))
			continue;
		/* Where a submodule stands now is what matters: that nothing brings back. */
		if (ews_skip_is_gits(reason) && now && ews_skip_is_gits(now->reason))
			reason = now->reason;
		ews_path_line_add(&out->not_covered, path,
				  is_gone(work, &skips->items[i], now) ? EWS_SKIP_REPOSITORY_GONE
								       : ews_skip_word(reason));
	}
}

/* Where those stood that have gone on, for whoever takes them back: that is for git to do, in each. */
static void list_moved(struct ews_transition_result *out, const struct ews_transition_work *work,
		       const struct ews_content *content)
{
	EWS_CLEANUP(strv) struct ews_strv moved = EWS_STRV_INIT;

	if (!work->session)
		return;
	ews_submodule_heads_list_moved(&moved, work->session, &content->scan.skips);
	for (size_t i = 0; i < moved.n; i++) {
		const char *line = moved.items[i];
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		(void)ews_path_line_split(&path, line);
		if (ews_transition_is_wanted(work, path.ptr))
			ews_strv_add(&out->moved, line);
	}
}

void ews_transition_name_uncovered(struct ews_transition_result *out, const struct ews_transition_work *work,
				   const struct ews_content *content)
{
	name_left_out(out, work, content);
	name_mounts(out, work, content);
	list_moved(out, work, content);
}

/* What of the wanted is not as it should be after all, and what is there and is no difference: that is left `alone`. */
static void find_left(struct ews_changes *left, struct ews_strv *alone, struct ews_transition_result *out,
		      struct ews_transition_work *work, struct ews_content *after)
{
	size_t kept = 0;

	ews_changes_between(left, &after->scan.entries, &work->target.scan.entries,
			    ews_transition_proven_equal(work));
	/* Over many entries a hash takes longer than all else here. */
	if (left->n)
		ews_content_make_hash(after);
	else
		ews_content_take_hash(after, work->target.hash);
	for (size_t i = 0; i < left->n; i++) {
		const struct ews_skip *mounted = ews_transition_mounted_at(after, left->items[i].path);

		if (!ews_transition_is_wanted(work, left->items[i].path))
			continue;
		if (is_left_alone(out, work, &left->items[i]))
			ews_strv_add(alone, left->items[i].path);
		else if (!mounted)
			left->items[kept++] = left->items[i];
		else if (!ews_path_line_has(&out->errors, mounted->path))
			ews_path_line_add(&out->errors, mounted->path, "something is mounted over it");
	}
	left->n = kept;
	ews_strv_sort(alone);
	/* By the same rule as before: what is not asked for and has another time is nothing to join. */
	ews_transition_plan_names(left, work, &after->scan.entries, work->equal, fate_after);
}

/*
 * What nobody asks any more once all is put: git's index as it was, which may be large, and, of many files, their list.
 * What a step of exact paths left where it was is asked of that list.
 */
static void let_go_of_now(struct ews_transition_work *work)
{
	ews_buf_release(&work->now.git.index);
	if (work->now.scan.entries.n > EWS_ENTRIES_MANY && !work->step->is_exact) {
		ews_changes_release(&work->changes);
		ews_entries_release(&work->now.scan.entries);
	}
	ews_alloc_give_back();
}

/* What is there after all, which `looked` may be: where nothing was done, it is what was there before. */
static int look_after(struct ews_content **after, struct ews_content *looked, struct ews_transition_work *work)
{
	const struct ews_content_opts opts = {
		.partial = true,
		.reread = work->opts->full,
		.known = work->known,
		.ours = &work->ours,
		.index_may_wait = true,
		.hash_may_wait = true,
	};

	*after = &work->now;
	if (work->is_untouched && !work->opts->full)
		return 0;
	*after = looked;
	let_go_of_now(work);
	return ews_content_now(looked, work->repo, work->session, work->batch, &opts);
}

/* Did nothing have to be done, and is there nothing to say of what could not be? */
static bool is_as_target(const struct ews_transition_result *out, const struct ews_transition_work *work)
{
	return work->is_untouched && out->is_verified && !out->restored.n && !out->deleted.n && !out->kept.n &&
	       !out->lost_attrs.n && !out->not_covered.n && !out->expired.n && !out->since.n;
}

/* What was found, for the next look. It holds for the whole tree, though the proof may be about less. */
static void remember(struct ews_content *after, const struct ews_transition_result *out,
		     struct ews_transition_work *work)
{
	const struct ews_snapshot *target = work->opts->target;

	if (*target->ref && !strcmp(after->hash, work->target.hash)) {
		if (work->memo.len)
			ews_content_set_memo(after, work->memo.ptr, work->memo.len);
		else
			ews_snapshot_note(after, &target->commit, target->ref);
		if (work->can_settle && is_as_target(out, work))
			ews_settled_note(after, &target->commit);
	}
	if (ews_batch_is_empty(work->batch))
		(void)ews_content_save_cache(after, work->repo, work->session); /* it is no more than a cache */
}

int ews_transition_verify(struct ews_transition_result *out, struct ews_transition_work *work)
{
	EWS_CLEANUP(content) struct ews_content looked = EWS_CONTENT_INIT;
	EWS_CLEANUP(changes) struct ews_changes left = EWS_CHANGES_INIT;
	EWS_CLEANUP(strv) struct ews_strv alone = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv git = EWS_STRV_INIT;
	struct ews_content *after;
	int rc = look_after(&after, &looked, work);

	if (rc == 0 && ews_transition_moves_git(work))
		rc = ews_session_tampered(&git, work->session);
	if (rc < 0)
		return ews_error_wrap("cannot look whether all is back");
	find_left(&left, &alone, out, work, after);
	for (size_t i = 0; i < left.n; i++)
		if (!differs_in_lost_attrs_only(out, work, &left.items[i]))
			name_difference(out, work, &left.items[i]);
	if (ews_transition_moves_git(work))
		rc = ews_transition_compare_git(&git, work, after);
	if (rc >= 0 && git.n)
		ews_transition_pass_by_refreshed(&git, work, after);
	if (rc >= 0 && ews_transition_moves_git(work))
		rc = ews_transition_is_in_project(work) ? ews_transition_branch_differs(work)
							: ews_transition_head_differs(work);
	if (rc < 0)
		return ews_error_wrap("cannot look whether all is back");
	if (rc > 0)
		ews_strv_add(&git, "branch");
	for (size_t i = 0; i < git.n; i++)
		ews_strv_addf(&out->errors, "%s\tgit's own state differs", git.items[i]);
	if (root_differs(out, work, after))
		ews_path_line_add(&out->errors, ".", "mode, owner or attributes differ");
	ews_transition_name_uncovered(out, work, after);
	out->is_verified = out->errors.n == 0;
	remember(after, out, work);
	hash_wanted(out->current_hash, after, work, &alone);
	hash_wanted(out->original_hash, &work->target, work, &alone);
	return 0;
}
