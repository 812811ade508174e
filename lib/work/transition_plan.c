/*
 * Plans of transitions: what goes away, what is written, what stays.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition_work.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/gitfile.h"
#include "store/hardlink.h"
#include "work/ignored.h"
#include "work/look.h"
#include "work/session_place.h"
#include "work/settled.h"
#include "work/transition.h"
#include "work/twin.h"

#define FEW_PATHS 16

bool ews_transition_is_in_project(const struct ews_transition_work *work)
{
	return !work->session || work->session->method->is_project;
}

bool ews_transition_is_from_elsewhere(const struct ews_transition_work *work)
{
	return !ews_transition_is_in_project(work) &&
	       strcmp(work->opts->target->session, work->session->state.id) != 0;
}

/* A workspace is back at its start, when nothing was left out. The project itself may always have had more. */
static bool is_base_target(const struct ews_transition_work *work)
{
	return work->opts->base && !ews_transition_is_in_project(work) &&
	       ews_oid_equal(&work->opts->base->commit, &work->opts->target->commit);
}

/*
 * Did the target leave out the same thing? Then it is not ours to move. In a
 * workspace nothing was left out at its start, but that ignored files came along: whatever
 * else is in the way came later.
 */
static bool was_left_out(const struct ews_transition_work *work, const struct ews_skip *skip)
{
	const struct ews_skip *then = ews_skips_covering(&work->target.scan.skips, skip->path);

	if (is_base_target(work) && ews_skip_is_gits(skip->reason))
		return then && ews_skip_is_gits(then->reason) && !strcmp(then->path, skip->path);
	if (is_base_target(work))
		return then && ews_skip_is_present(then->reason) && !work->kept.n;
	if (then && ews_skip_is_present(then->reason) && work->kept.n)
		return false;
	/* What could not be kept, a socket say, is ignored where nobody asks for what is ignored. */
	if (then && skip->reason == EWS_SKIP_IGNORED && !ews_skip_is_present(then->reason) &&
	    !strcmp(then->path, skip->path))
		return true;
	if (then && ews_skip_is_gits(then->reason) && ews_skip_is_gits(skip->reason))
		return true;
	return then && (ews_transition_is_in_project(work) || then->reason == skip->reason);
}

/* Where the look was taken from a record the type is not known. */
static bool is_no_dir(const struct ews_skip *skip)
{
	if (skip->reason == EWS_SKIP_SOCKET || skip->reason == EWS_SKIP_DEVICE)
		return true;
	return skip->type && skip->type != EWS_ENTRY_DIR && skip->type != EWS_ENTRY_GITLINK;
}

/* Does something of a project that nobody looks at stand where the target has a file, or a directory, or a file's directory? */
static bool blocks_target(const struct ews_transition_work *work, const struct ews_skip *skip)
{
	const struct ews_entries *list = &work->target.scan.entries;
	EWS_CLEANUP(free) char *at = ews_strdup(skip->path);
	const struct ews_entry *entry = ews_entries_find(list, skip->path);

	/* A submodule is no obstacle to itself. */
	if (entry)
		return !ews_entry_is_dir(entry) || is_no_dir(skip);
	for (char *slash = strrchr(at, '/'); slash; slash = strrchr(at, '/')) {
		*slash = '\0';
		entry = ews_entries_find(list, at);
		if (entry)
			return entry->type != EWS_ENTRY_DIR;
	}
	return false;
}

/* Is the target a state of this workspace? No other, nor a commit, could know what came along here. */
static bool is_of_this_session(const struct ews_transition_work *work)
{
	return work->session && !strcmp(work->opts->target->session, work->session->state.id);
}

/* It came along at the start, was gone when the target was taken, all of it, and is back. */
static bool is_back_since(const struct ews_transition_work *work, const char *path)
{
	return is_of_this_session(work) && !is_base_target(work) &&
	       !ews_skips_touch(&work->target.scan.skips, path) &&
	       !ews_entries_has_below(&work->target.scan.entries, path);
}

static bool goes_away(const struct ews_transition_work *work, const struct ews_skip *skip)
{
	if (skip->reason == EWS_SKIP_OWN || skip->reason == EWS_SKIP_MOUNTED ||
	    !ews_transition_is_below_wanted(work, skip->path))
		return false;
	/* It lies in a directory that is meant alone, which may go, but not for what came into it. */
	if (work->step->is_exact && !ews_transition_is_wanted(work, skip->path))
		return blocks_target(work, skip);
	/* What nobody shall look at stays, and what came along at the start, but where the target's own has to be. */
	if (skip->reason == EWS_SKIP_EXCLUDED)
		return blocks_target(work, skip);
	if (ews_skip_is_present(skip->reason))
		return blocks_target(work, skip) || is_back_since(work, skip->path);
	/* What the step took from there comes back, and is what was there. */
	if (work->session && ews_strv_sorted_has(&work->returning, skip->path))
		return true;
	return work->session ? !was_left_out(work, skip) : blocks_target(work, skip);
}

/* Was what stands at `entry` there at the session's start, as one of the ignored files that came along? */
static bool came_along(const struct ews_transition_work *work, const struct ews_entry *entry)
{
	const struct ews_entry *then = ews_entries_find(&work->kept, entry->path);

	return then && (then->type == EWS_ENTRY_DIR) == (entry->type == EWS_ENTRY_DIR);
}

bool ews_transition_was_not_seen(const struct ews_transition_work *work, const struct ews_entry *entry)
{
	const struct ews_skip *then = ews_skips_covering(&work->target.scan.skips, entry->path);

	if (is_base_target(work) || (then && ews_skip_is_present(then->reason) && work->kept.n))
		return came_along(work, entry);
	return then;
}

/*
 * A ".git" that is not the file that we wrote is kept like all that is in the way, whatever it is; ours as well, where the one of
 * before comes back.
 */
static void plan_gitfile(struct ews_transition_work *work, const struct ews_strv *tampered, int root_fd)
{
	struct stat st;

	if ((ews_strv_has(tampered, EWS_GITFILE) || ews_transition_brings_repository_back(work)) &&
	    fstatat(root_fd, EWS_GITFILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
		ews_strv_add(&work->away, EWS_GITFILE);
}

static void plan_away(struct ews_transition_work *work)
{
	const struct ews_skips *skips = &work->now.scan.skips;

	for (size_t i = 0; i < skips->n; i++)
		if (goes_away(work, &skips->items[i]))
			ews_strv_add(&work->away, skips->items[i].path);
	ews_strv_sort(&work->away);
}

/* Does the directory `path` hold something that was left out and stays? Then it stays, too. */
static bool holds_left_out(const struct ews_transition_work *work, const char *path)
{
	const struct ews_skips *skips = &work->now.scan.skips;
	/* what it holds stands right behind it */
	size_t at = ews_path_find_first(skips->items, sizeof(*skips->items), skips->n, path);

	for (; at < skips->n && ews_path_is_inside(skips->items[at].path, path); at++)
		if (!ews_transition_is_away(work, skips->items[at].path))
			return true;
	return false;
}

/* Where single paths are meant: does the directory `path` hold something that is none of them? */
static bool holds_unwanted(const struct ews_transition_work *work, const char *path)
{
	const struct ews_entries *now = &work->now.scan.entries;
	const struct ews_entry *dir = work->step->is_exact ? ews_entries_find(now, path) : NULL;

	for (const struct ews_entry *e = dir ? dir + 1 : now->items + now->n;
	     e < now->items + now->n && ews_path_is_inside(e->path, path); e++)
		if (!ews_transition_is_wanted(work, e->path) && !ews_transition_is_away(work, e->path))
			return true;
	return false;
}

bool ews_transition_must_stay(const struct ews_transition_work *work, const struct ews_change *change)
{
	bool is_dir = change->from && ews_entry_is_dir(change->from);

	if (change->to || !is_dir || ews_transition_is_away(work, change->path))
		return false;
	return holds_left_out(work, change->path) || holds_unwanted(work, change->path);
}

const struct ews_skip *ews_transition_mounted_at(const struct ews_content *content, const char *path)
{
	const struct ews_skip *skip = ews_skips_covering(&content->scan.skips, path);

	return skip && skip->reason == EWS_SKIP_MOUNTED ? skip : NULL;
}

/*
 * Only what the options name, and nothing that the target did not look at. Of what is renamed away
 * nothing is left to be removed; what the target has in its place is made anew.
 */
static void limit_changes(struct ews_transition_work *work)
{
	size_t kept = 0;

	for (size_t i = 0; i < work->changes.n; i++) {
		struct ews_change *change = &work->changes.items[i];
		bool is_back = ews_transition_comes_back(work, change->path);
		bool was_skipped = !change->to && (!is_back || is_base_target(work)) &&
				   ews_transition_was_not_seen(work, change->from);
		bool stays = ews_transition_must_stay(work, change);

		if (ews_transition_is_away(work, change->path))
			change->from = NULL;
		if (is_back)
			change->to = NULL;

		/* What lies there is another's, and what should lie there is beneath it. */
		if (ews_transition_mounted_at(&work->now, change->path))
			continue;
		if (ews_transition_is_wanted(work, change->path) && !was_skipped && !stays &&
		    (change->from || change->to))
			work->changes.items[kept++] = *change;
	}
	work->changes.n = kept;
}

static enum ews_hardlink_fate fate_before(void *payload, const char *path)
{
	const struct ews_transition_work *work = payload;

	if (ews_transition_is_away(work, path))
		return EWS_HARDLINK_LEAVES;
	return ews_transition_is_wanted(work, path) ? EWS_HARDLINK_FREE : EWS_HARDLINK_STAYS;
}

/* Was the target a state of this very directory, so that it tells which of its files had no names elsewhere? */
static bool is_own_target(const struct ews_transition_work *work)
{
	return work->session &&
	       (!work->session->method->is_project || !strcmp(work->opts->target->session, work->session->state.id));
}

void ews_transition_plan_names(struct ews_changes *changes, struct ews_transition_work *work,
			       const struct ews_entries *now, ews_entry_equal_fn equal, ews_hardlink_fate_fn fate)
{
	const struct ews_hardlink_opts opts = { .now = now,
						.want = &work->target.scan.entries,
						.equal = equal,
						.part_elsewhere = is_own_target(work),
						.fate = fate,
						.payload = work };

	ews_hardlinks_plan(changes, &opts);
}

ews_entry_equal_fn ews_transition_proven_equal(const struct ews_transition_work *work)
{
	return work->step->with_owners ? ews_entry_equal_with_owner : ews_entry_equal;
}

static void add_equal(struct ews_transition_work *work, const struct ews_entry *from, const struct ews_entry *to)
{
	if (!from || !to || !work->equal(from, to))
		return;
	EWS_GROW(work->changes.items, work->changes.n, work->changes.cap);
	work->changes.items[work->changes.n++] = (struct ews_change){ from->path, from, to, NULL };
}

/* What an earlier move took comes back to its place, though something that is equal stands there now. */
static void free_places(struct ews_transition_work *work)
{
	for (size_t i = 0; i < work->returning.n; i++) {
		const char *path = work->returning.items[i];
		const struct ews_entry *from = ews_entries_find(&work->now.scan.entries, path);

		if (from && from->type != EWS_ENTRY_DIR)
			add_equal(work, from, ews_entries_find(&work->target.scan.entries, path));
	}
}

/*
 * What moves away whole leaves its place empty, also where the target has the same there: a submodule that was not checked out at
 * the start, say, and is by now. It is made anew.
 */
static void fill_places(struct ews_transition_work *work)
{
	for (size_t i = 0; i < work->away.n; i++)
		add_equal(work, ews_entries_find(&work->now.scan.entries, work->away.items[i]),
			  ews_entries_find(&work->target.scan.entries, work->away.items[i]));
}

void ews_transition_find_changes(struct ews_transition_work *work)
{
	size_t n;

	if (work->step->with_owners)
		work->equal = work->is_fresh ? ews_entry_equal_with_owner : ews_entry_equal_with_time_and_owner;
	else
		work->equal = work->is_fresh ? ews_entry_equal : ews_entry_equal_with_time;
	ews_changes_between(&work->changes, &work->now.scan.entries, &work->target.scan.entries, work->equal);
	n = work->changes.n;
	free_places(work);
	fill_places(work);
	if (work->changes.n > n)
		ews_changes_sort(&work->changes);
	limit_changes(work);
	ews_transition_plan_names(&work->changes, work, &work->now.scan.entries, work->equal, fate_before);
}

/*
 * What of the ignored files that the target knew of is gone. A project's products are
 * not ours to look after, so there all that is rewritten is new.
 */
static void find_missing(struct ews_transition_result *out, struct ews_transition_work *work)
{
	const struct ews_skips *skips = &work->target.scan.skips;

	/* In place ignored files are part of the base, so nothing built is missing. */
	work->is_fresh = !work->session;
	for (size_t i = 0; i < skips->n && work->session && !is_base_target(work); i++) {
		const struct ews_skip *then = &skips->items[i];

		if (then->reason != EWS_SKIP_IGNORED || ews_transition_comes_back(work, then->path) ||
		    ews_skips_covering(&work->now.scan.skips, then->path) ||
		    ews_entries_find(&work->now.scan.entries, then->path))
			continue;
		work->is_fresh = true;
		ews_path_line_add(&out->not_covered, then->path, "ignored, is gone");
	}
}

/* How many of `paths`, from `at` on, came along with the same whole path as the first? It is put into `top`. */
static size_t count_below(const char **top, const struct ews_transition_work *work, const struct ews_strv *paths,
			  size_t at)
{
	const struct ews_skip *skip = ews_skips_covering(&work->target.scan.skips, paths->items[at]);
	size_t n = 1;

	*top = skip ? skip->path : paths->items[at];
	while (at + n < paths->n && ews_path_is_inside(paths->items[at + n], *top))
		n++;
	return n;
}

/* A few are named one by one; of a whole build that ran anew the directory is enough. */
static void name_ignored(struct ews_transition_result *out, const struct ews_transition_work *work,
			 const struct ews_strv *paths, const char *what)
{
	for (size_t i = 0, n; i < paths->n; i += n) {
		const char *top = paths->items[i];

		n = paths->n > FEW_PATHS ? count_below(&top, work, paths, i) : 1;
		if (!ews_transition_is_wanted(work, paths->items[i]))
			continue;
		if (n > 1)
			ews_path_line_addf(&out->not_covered, top, "ignored, %zu paths of it: %s", n, what);
		else
			ews_path_line_addf(&out->not_covered, paths->items[i], "ignored, %s", what);
	}
}

/* Any of what came along may have been built anew. */
static void name_unknown(struct ews_transition_result *out, struct ews_transition_work *work)
{
	const struct ews_skips *skips = &work->target.scan.skips;
	EWS_CLEANUP(strv) struct ews_strv present = EWS_STRV_INIT;

	work->is_fresh = true;
	for (size_t i = 0; i < skips->n; i++)
		if (ews_skip_is_present(skips->items[i].reason))
			ews_strv_add(&present, skips->items[i].path);
	name_ignored(out, work, &present, work->lacks_kept);
}

static bool is_known_by_name(void *payload, const char *path)
{
	const struct ews_transition_work *work = payload;
	const struct ews_skip *then = ews_skips_covering(&work->target.scan.skips, path);

	return then && ews_skip_is_present(then->reason);
}

/*
 * A later snapshot may have had them so, or not: of what it knows by name alone nobody can tell. A step that is taken back has left them as
 * they are.
 */
static void keep_known_by_name(struct ews_ignored_changes *changes, struct ews_transition_work *work)
{
	bool is_back = work->step->state == EWS_STEP_UNDOING || work->step->state == EWS_STEP_REDOING;

	if (is_base_target(work))
		return;
	if (is_back) {
		ews_strv_clear(&changes->gone);
		ews_strv_clear(&changes->changed);
		return;
	}
	ews_strv_filter(&changes->gone, is_known_by_name, work);
	ews_strv_filter(&changes->changed, is_known_by_name, work);
}

/*
 * Of the ignored files that came along what is gone or was written since the start is named. Something was built then,
 * of files that are about to change.
 */
static void name_lost(struct ews_transition_result *out, struct ews_transition_work *work)
{
	const struct ews_ignored_changes *changes = &work->ignored;

	if (work->lacks_kept)
		name_unknown(out, work);
	if (changes->gone.n || changes->changed.n)
		work->is_fresh = true;
	/* What came later and stays may be another product than the target's. */
	for (size_t i = 0; i < changes->newer.n; i++)
		if (!ews_transition_is_away(work, changes->newer.items[i]))
			work->is_fresh = true;
	keep_known_by_name(&work->ignored, work);
	name_ignored(out, work, &changes->gone, "gone");
	name_ignored(out, work, &changes->changed, "changed");
}

/* What the base, the target or the state that was left has is looked at even where it is ignored. */
static void join_known(struct ews_content *known, const struct ews_content *more)
{
	struct ews_entries *list = &known->scan.entries;
	size_t n = list->n;

	/* One hash: the same paths. */
	if (!more->scan.entries.n || !strcmp(known->hash, more->hash))
		return;
	for (size_t i = 0; i < more->scan.entries.n; i++) {
		const struct ews_entry *entry = &more->scan.entries.items[i];
		const struct ews_entries before = { list->items, n, n, EWS_ARENA_INIT, false };

		if (!ews_entries_find(&before, entry->path))
			ews_entries_add_copy(list, entry);
	}
	ews_entries_sort(list);
	ews_manifest_hash(known->hash, list);
}

/*
 * What the target was made of is looked at once more, also where target and base have none of it, as what was deleted and is ignored
 * by now. No ref may hold its contents.
 */
static void join_seen(struct ews_transition_work *work)
{
	const struct ews_content *seen = work->opts->seen;
	EWS_CLEANUP(content) struct ews_content wanted = EWS_CONTENT_INIT;
	struct ews_entries *list = &wanted.scan.entries;

	for (const char *const *path = work->opts->only; seen && path && *path; path++) {
		const struct ews_entry *entry = ews_entries_find(&seen->scan.entries, *path);

		if (!entry)
			continue;
		ews_entries_add_copy(list, entry);
		if (entry->type != EWS_ENTRY_GITLINK)
			list->items[list->n - 1].oid = (struct ews_oid)EWS_OID_NONE;
	}
	ews_manifest_hash(wanted.hash, list);
	join_known(&work->joined, &wanted);
}

/* What its modes keep its owner from reading. */
static void add_closed(struct ews_strv *out, const struct ews_entries *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry *entry = &list->items[i];
		unsigned needed = entry->type == EWS_ENTRY_DIR ? 0500 : entry->type == EWS_ENTRY_FILE ? 0400 : 0;

		if ((entry->mode & needed) != needed)
			ews_strv_add(out, entry->path);
	}
}

/*
 * What was taken elsewhere, of the project or in another session, is of that place: a workspace whose HEAD is on the project's
 * branch would move that with each commit. What was left out of it isn't here either.
 */
static int settle_place(struct ews_transition_work *work)
{
	const struct ews_oid *head = &work->opts->target->head;

	if (!ews_transition_moves_git(work) || !ews_transition_is_from_elsewhere(work))
		return 0;
	if (ews_twin_mark_left_out(&work->target, work->repo) < 0)
		ews_error_clear(); /* what is no index comes back as it was */
	/* It was on a branch yet to be born, or damaged, elsewhere: here HEAD stands where it did at the start. */
	if (ews_oid_is_none(head) && work->opts->base)
		head = &work->opts->base->head;
	return ews_oid_is_none(head) ? 0 : ews_gitstate_detach(&work->target.git, head);
}

/* What is wanted, and all that is known to be kept. */
static int read_targets(struct ews_transition_work *work)
{
	int rc = 0;

	if (work->opts->base)
		rc = ews_snapshot_content(&work->joined, work->repo, work->opts->base);
	if (rc == 0)
		rc = ews_snapshot_content(&work->target, work->repo, work->opts->target);
	if (rc == 0)
		rc = settle_place(work);
	if (rc == 0 && work->opts->left)
		rc = ews_snapshot_content(&work->left, work->repo, work->opts->left);
	if (rc < 0)
		return rc;
	join_known(&work->joined, &work->target);
	join_known(&work->joined, &work->left);
	join_seen(work);
	if (ews_transition_is_in_project(work)) {
		add_closed(&work->ours, &work->target.scan.entries);
		add_closed(&work->ours, &work->left.scan.entries);
		ews_strv_unique(&work->ours);
	}
	return 0;
}

static int read_kept(struct ews_transition_work *work)
{
	int rc = ews_ignored_read(&work->kept, work->session);

	if (rc == EWS_EDAMAGED)
		work->lacks_kept = "the list of what came along is lost";
	else if (rc == EWS_EUNSUPPORTED)
		work->lacks_kept = "the list of what came along was written by another version";
	if (!work->lacks_kept)
		return rc;
	ews_error_clear();
	return 0;
}

/* What stays as it is where nothing is asked for but the base, whole, by a step that does no more. */
static bool can_settle(const struct ews_transition_work *work)
{
	const struct ews_transition_opts *opts = work->opts;
	const struct ews_step *step = work->step;
	bool is_whole = is_base_target(work) && !opts->left && !opts->only && !opts->seen && !work->kept.n &&
			!work->lacks_kept;
	bool is_plain = !opts->full && !opts->accepts_refreshed && !opts->dry_run && !opts->is_retry &&
			!opts->stays_open && !step->with_owners;
	bool is_new = step->state == EWS_STEP_PLANNED && !step->moved.n && !step->stays.n &&
		      (!step->commit || !*step->commit);

	return is_whole && is_plain && is_new;
}

/* Is all that there is known to be as the target? Else that is read. */
static int settle(struct ews_transition_work *work, struct ews_snapshot_reading *reading)
{
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;
	int rc = 0;

	if (!ews_content_has_hash(&work->now, work->target.hash) ||
	    !ews_settled_is(&work->now, &work->opts->target->commit))
		return ews_snapshot_reading_finish(reading);
	if (!work->repo->is_plain) {
		rc = ews_session_tampered(&differences, work->session);
		if (rc >= 0)
			rc = ews_transition_adopt(work, &differences);
	}
	if (rc < 0)
		return rc;
	work->is_settled = !differences.n;
	return work->is_settled ? 0 : ews_snapshot_reading_finish(reading);
}

/* Where there is one at all: it is kept beside what git reads. */
static void name_config(struct ews_transition_result *out, int root_fd)
{
	struct stat st;

	if (fstatat(root_fd, EWS_METHOD_CONFIG, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	ews_path_line_add(&out->kept, EWS_METHOD_CONFIG, "of git, rewritten");
	out->kept_files++;
	out->kept_bytes += (uint64_t)st.st_size;
}

/* Read the target and what is there; where it is known that the two are as one no more than that of either. */
static int look(struct ews_transition_work *work)
{
	struct ews_content_opts opts = { .partial = true,
					 .index_may_wait = true,
					 .hash_may_wait = true,
					 .progress = work->opts->progress,
					 .payload = work->opts->payload };
	/* Mostly they are one; that is read once, and while what is there now is looked at. */
	bool is_one = is_base_target(work) && !work->opts->left;
	struct ews_snapshot_reading reading = { .out = &work->target,
						.repo = work->repo,
						.snapshot = work->opts->target };
	int rc = is_one ? ews_snapshot_reading_begin(&reading) : read_targets(work);

	if (rc == 0 && work->session)
		rc = read_kept(work);
	if (rc == 0)
		rc = ews_transition_find_taken(work);
	if (rc < 0)
		return rc;
	work->can_settle = can_settle(work);
	work->known = opts.known = is_one ? &work->target : &work->joined;
	/* Before the step nothing there is of its making. */
	if (work->step->state != EWS_STEP_PLANNED || work->opts->is_retry)
		opts.ours = &work->ours;
	if (is_one) {
		opts.read_known = ews_snapshot_reading_finish;
		opts.known_payload = &reading;
		opts.known_may_wait = work->can_settle && ews_settled_was(work->session, &work->opts->target->commit);
	}
	rc = ews_content_now(&work->now, work->repo, work->session, work->batch, &opts);
	return rc == 0 && opts.known_may_wait ? settle(work, &reading) : rc;
}

/* What of git's state differs, by name, and what of it is put away or made anew. */
static int plan_git(struct ews_transition_result *out, struct ews_strv *differences,
		    struct ews_transition_work *work, int root_fd)
{
	int rc = ews_transition_plan_left(out, work);

	if (rc == 0)
		rc = ews_transition_settle_head(out, work);
	if (rc < 0)
		return rc;
	if (ews_transition_is_in_project(work))
		ews_gitstate_keep_worktree(&work->target.git, &work->now.git, work->repo->git_fd, root_fd);
	rc = ews_transition_compare_git(differences, work, &work->now);
	if (rc == 0)
		rc = ews_transition_branch_differs(work);
	if (rc < 0)
		return rc;
	if (rc > 0)
		ews_strv_add(differences, "branch");
	rc = ews_session_tampered(differences, work->session);
	if (rc >= 0)
		rc = ews_transition_adopt(work, differences);
	if (rc < 0)
		return rc;
	plan_gitfile(work, differences, root_fd);
	if (ews_strv_has(differences, EWS_METHOD_CONFIG))
		name_config(out, root_fd);
	return 0;
}

int ews_transition_plan(struct ews_transition_result *out, struct ews_transition_work *work, int root_fd)
{
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;
	int rc = look(work);

	if (rc < 0 || work->is_settled)
		return rc;
	rc = ews_transition_limit(work, root_fd);
	if (rc == 0 && work->step->with_owners)
		rc = ews_content_need_owners(&work->target, work->opts->target->id);
	if (rc == 0 && work->kept.n)
		rc = ews_ignored_compare(&work->ignored, &work->kept, &work->now, work->session);
	if (rc == 0)
		rc = ews_transition_refuse_locked(work);
	if (rc == 0 && ews_transition_moves_git(work))
		rc = plan_git(out, &differences, work, root_fd);
	if (rc < 0)
		return rc;
	work->has_git_change = differences.n > 0 || ews_transition_differs_in_root(work, &work->now) ||
			       ews_transition_differs_in_root_xattrs(work, &work->now) ||
			       ews_transition_differs_in_root_owner(work, &work->now);
	plan_away(work);
	find_missing(out, work);
	name_lost(out, work);
	return 0;
}

void ews_transition_list_changes(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	for (size_t i = 0; i < work->changes.n; i++) {
		const struct ews_change *change = &work->changes.items[i];

		/* It makes way for what comes back. */
		if (!change->to && ews_entries_find(&work->target.scan.entries, change->path))
			continue;
		/* A time that is set back is not worth a word; that names are of one file again, or not, is. */
		if (!change->from || !change->to || !ews_entry_equal(change->from, change->to) ||
		    ews_entry_equal_with_time(change->from, change->to))
			ews_strv_add(change->to ? &out->restored : &out->deleted, change->path);
	}
}

void ews_transition_spare_shared_files(struct ews_transition_work *work)
{
	size_t kept = 0, n_away = work->away.n;

	for (size_t i = 0; i < work->changes.n && n_away; i++) {
		struct ews_change *change = &work->changes.items[i];

		if (change->from && change->from->type == EWS_ENTRY_FILE && change->from->is_elsewhere) {
			ews_strv_add(&work->away, change->path);
			change->from = NULL;
		}
		if (change->from || change->to)
			work->changes.items[kept++] = *change;
	}
	if (!n_away)
		return;
	work->changes.n = kept;
	ews_strv_sort(&work->away);
}
