/*
 * Paths that a transition is limited to.
 *
 * Of one that is about git's own state alone there are none.
 *
 * They are names of files and directories, of which the latter mean all that they hold; or, where the step says that it is exact,
 * they mean nothing but themselves. The first becomes the second where a directory that a named path lies in is gone, or a file
 * stands in its place: it is made, and what is in the way has to go, but what else it held was not asked for. Where a step turns, and
 * somebody has made a directory meanwhile in the place of what comes back, all that it holds is in the way; and where it stages
 * as well, what the index has below or above what comes back to that.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/path.h"
#include "work/transition.h"
#include "work/transition_work.h"

static int cmp_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_named(const struct ews_transition_work *work, const char *path)
{
	return bsearch(&path, work->only, work->n_only, sizeof(path), cmp_paths);
}

bool ews_transition_is_wanted(const struct ews_transition_work *work, const char *path)
{
	if (work->opts->spared && ews_strv_sorted_has(work->opts->spared, path))
		return false;
	return work->step->is_exact ? is_named(work, path) : ews_path_is_inside_any(path, work->only);
}

bool ews_transition_is_below_wanted(const struct ews_transition_work *work, const char *path)
{
	EWS_CLEANUP(free) char *at = NULL;

	if (!work->step->is_exact)
		return ews_transition_is_wanted(work, path);
	at = ews_strdup(path);
	while (!is_named(work, at)) {
		char *slash = strrchr(at, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

/*
 * Is there no directory at `path`, and does it take one to bring back what the target has below? What is left out is looked at where it
 * stands, in `root_fd`.
 */
static bool is_blocked(const struct ews_transition_work *work, const char *path, int root_fd)
{
	const struct ews_entry *entry = ews_entries_find(&work->now.scan.entries, path);
	struct stat st;

	if (entry)
		return !ews_entry_is_dir(entry);
	if (!ews_skips_covering(&work->now.scan.skips, path)) {
		entry = ews_entries_find(&work->target.scan.entries, path);
		return entry && ews_entry_is_dir(entry);
	}
	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	return !S_ISDIR(st.st_mode);
}

/* The directories that `path` lies in, from the first that is gone, or that something else stands in the place of. */
static void add_blocked(struct ews_strv *to, const struct ews_transition_work *work, const char *path, int root_fd)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	bool is_below = false;

	for (char *slash = strchr(at, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		is_below = is_below || is_blocked(work, at, root_fd);
		if (is_below)
			ews_strv_add(to, at);
		*slash = '/';
	}
}

/* Of `n` items of `size` bytes, which ews_path_find_first() takes, those at `path` and below. */
static void add_inside(struct ews_strv *to, const void *items, size_t size, size_t n, const char *path)
{
	const char *item = (const char *)items + ews_path_find_first(items, size, n, path) * size;

	for (; item < (const char *)items + n * size; item += size) {
		const char *found = *(const char *const *)(const void *)item;

		if (!ews_path_is_inside(found, path))
			return;
		ews_strv_add(to, found);
	}
}

static void add_held_now(struct ews_strv *to, const struct ews_transition_work *work, const char *path)
{
	const struct ews_scan *now = &work->now.scan;

	add_inside(to, now->entries.items, sizeof(*now->entries.items), now->entries.n, path);
	add_inside(to, now->skips.items, sizeof(*now->skips.items), now->skips.n, path);
}

/* Does something that is no directory come back to `path`, where one stands by now? */
static bool is_taken_by_dir(const struct ews_transition_work *work, const char *path)
{
	const struct ews_entry *now = ews_entries_find(&work->now.scan.entries, path);
	const struct ews_entry *then = ews_entries_find(&work->target.scan.entries, path);

	return now && then && ews_entry_is_dir(now) && !ews_entry_is_dir(then);
}

/* A step that begins has found what there is, and says itself what goes; one that is run again has said what it found. */
static bool finds_what_is_taken(const struct ews_transition_work *work)
{
	return !work->opts->is_retry && work->step->is_exact && work->step->state != EWS_STEP_PLANNED;
}

static void add_taken(struct ews_transition_work *work)
{
	for (size_t i = 0; i < work->n_only && finds_what_is_taken(work); i++)
		if (is_taken_by_dir(work, work->only[i]))
			add_held_now(&work->exact, work, work->only[i]);
}

/* Take what `exact` has for the paths that are meant, and let the step say so. */
static void limit_to_exact(struct ews_transition_work *work)
{
	ews_strv_unique(&work->exact);
	work->only = (const char *const *)work->exact.items;
	work->n_only = work->exact.n;
	work->step->is_exact = true;
	ews_step_set_paths(work->step, work->only);
}

static void limit_to_options(struct ews_transition_work *work, int root_fd)
{
	static const char *const nothing[] = { NULL };
	const char *const *only = work->opts->only;
	const struct ews_entries *then = &work->target.scan.entries;
	struct ews_step *step = work->step;

	if (step->is_git_alone) {
		work->only = nothing;
		return;
	}
	work->only = only;
	while (only && only[work->n_only])
		work->n_only++;
	/* Of one that was begun, what its names mean stays what it was. */
	if (work->opts->is_retry && !step->is_exact)
		return;
	for (size_t i = 0; i < work->n_only; i++)
		if (ews_entries_has_below(then, only[i]))
			add_blocked(&work->exact, work, only[i], root_fd);
	for (size_t i = 0; i < work->returning.n && only; i++)
		add_blocked(&work->exact, work, work->returning.items[i], root_fd);
	add_taken(work);
	if (!work->exact.n)
		return;
	for (size_t i = 0; i < work->n_only; i++) {
		ews_strv_add(&work->exact, only[i]);
		if (step->is_exact)
			continue;
		add_held_now(&work->exact, work, only[i]);
		add_inside(&work->exact, then->items, sizeof(*then->items), then->n, only[i]);
	}
	/* Nothing of it is there now, and no state has it; when the step turns again it is to go again. */
	for (size_t i = 0; i < work->returning.n && !step->is_exact; i++)
		ews_strv_add(&work->exact, work->returning.items[i]);
	limit_to_exact(work);
}

/* What leaves the index for what comes back to it goes with the step, and is back when it turns again. */
static int add_displaced(struct ews_transition_work *work)
{
	int rc = finds_what_is_taken(work) ? ews_transition_list_displaced(&work->displaced, work) : 0;

	if (rc < 0 || !work->displaced.n)
		return rc;
	for (const char *const *path = work->exact.n ? NULL : work->only; path && *path; path++)
		ews_strv_add(&work->exact, *path);
	ews_strv_add_array(&work->exact, work->displaced.items);
	limit_to_exact(work);
	return 0;
}

int ews_transition_limit(struct ews_transition_work *work, int root_fd)
{
	limit_to_options(work, root_fd);
	return add_displaced(work);
}
