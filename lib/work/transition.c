/*
 * Transitions: see transition.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/hardlink.h"
#include "store/litter.h"
#include "store/put.h"
#include "work/history.h"
#include "work/ignored.h"
#include "work/stage.h"

#define GITFILE ".git"
#define FEW_PATHS 16

/* All that a transition works with. */
struct shift {
	struct ews_repo *repo;
	struct ews_session *session; /* NULL: the project */
	struct ews_step *step;
	const struct ews_transition_opts *opts;
	struct ews_batch *batch;
	struct ews_content known; /* the base's content */
	struct ews_content target;
	struct ews_content now;
	struct ews_changes changes; /* between now, without what is renamed away, and target */
	struct ews_entries kept; /* the ignored files that came along at the session's start */
	struct ews_ignored_changes ignored; /* what became of them */
	struct ews_strv away; /* paths that are renamed away */
	ews_entry_equal_fn equal; /* what need not be written */
	size_t n_only; /* how many paths the options name */
	bool is_fresh; /* something that was built is gone: what is rewritten must look new to make */
	bool has_git_change;
};

static void release_shift(struct shift *shift)
{
	ews_batch_free(shift->batch);
	ews_content_release(&shift->known);
	ews_content_release(&shift->target);
	ews_content_release(&shift->now);
	ews_changes_release(&shift->changes);
	ews_entries_release(&shift->kept);
	ews_ignored_changes_release(&shift->ignored);
	ews_strv_release(&shift->away);
}

EWS_CLEANUP_DEFINE(shift, struct shift, release_shift)

void ews_transition_result_release(struct ews_transition_result *result)
{
	ews_strv_release(&result->restored);
	ews_strv_release(&result->deleted);
	ews_strv_release(&result->kept);
	ews_strv_release(&result->errors);
	ews_strv_release(&result->lost_attrs);
	ews_strv_release(&result->not_covered);
	ews_strv_release(&result->since);
	ews_strv_release(&result->expired);
	free(result->kept_snapshot);
}

/* Beside the workspace when that lives elsewhere; a project keeps it in its own ".superqode". */
char *ews_transition_trash_path(const struct ews_repo *repo, const struct ews_session *session, const char *step_id)
{
	EWS_CLEANUP(free) char *parent = NULL;

	if (!session || session->method->is_project)
		return ews_strfmt("%s/.superqode/trash/%s", repo->project, step_id);
	if (ews_session_is_at_home(session))
		return ews_strfmt("%s/trash/%s", repo->dir, step_id);
	parent = ews_path_dir(session->state.workspace);
	return ews_strfmt("%s/.ews-trash/%s", parent, step_id);
}

int ews_transition_open_trash(struct ews_repo *repo, const struct ews_session *session, const char *step_id)
{
	EWS_CLEANUP(free) char *path = ews_transition_trash_path(repo, session, step_id);
	EWS_CLEANUP(free) char *below = ews_strfmt("trash/%s", step_id);
	int rc = session && !session->method->is_project ? 0 : ews_repo_make_own_dir(repo);

	if (session && ews_session_is_at_home(session))
		return ews_repo_subdir(repo, below);
	if (rc == 0)
		rc = ews_dir_make_absolute(path, 0700);
	return rc < 0 ? ews_error_wrap("cannot make the trash '%s'", path) : ews_dir_open(path);
}

static int cmp_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_named(const struct shift *shift, const char *path)
{
	return bsearch(&path, shift->opts->only, shift->n_only, sizeof(path), cmp_paths);
}

static bool is_wanted(const struct shift *shift, const char *path)
{
	return shift->step->is_exact ? is_named(shift, path) : ews_path_is_inside_any(path, shift->opts->only);
}

/* Is it, or something that it lies in? */
static bool is_below_wanted(const struct shift *shift, const char *path)
{
	EWS_CLEANUP(free) char *at = NULL;

	if (!shift->step->is_exact)
		return is_wanted(shift, path);
	at = ews_strdup(path);
	while (!is_named(shift, at)) {
		char *slash = strrchr(at, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

/* Is it a directory that something wanted lies in, and that is not there any more? */
static bool leads_to_wanted(const struct shift *shift, const struct ews_change *change)
{
	size_t len = strlen(change->path), at = 0, end = shift->n_only;

	if (!shift->step->is_exact || change->from || change->to->type != EWS_ENTRY_DIR)
		return false;
	while (at < end) {
		size_t mid = (at + end) / 2;
		const char *path = shift->opts->only[mid];
		int cmp = strncmp(path, change->path, len);

		if (cmp < 0 || (cmp == 0 && (unsigned char)path[len] < '/'))
			at = mid + 1;
		else
			end = mid;
	}
	return at < shift->n_only && ews_path_is_inside(shift->opts->only[at], change->path);
}

/* Are the files that a person works on what is written? */
static bool is_in_project(const struct shift *shift)
{
	return !shift->session || shift->session->method->is_project;
}

/* A workspace is back at its start, when nothing was left out. The project itself may always have had more. */
static bool is_base_target(const struct shift *shift)
{
	return shift->opts->base && !is_in_project(shift) &&
	       ews_oid_equal(&shift->opts->base->commit, &shift->opts->target->commit);
}

/*
 * Did the target leave out the same thing? Then it is not ours to move. In a
 * workspace nothing was left out at its start, but that ignored files came along: whatever
 * else is in the way came later.
 */
static bool was_left_out(const struct shift *shift, const struct ews_skip *skip)
{
	const struct ews_skip *then = ews_skips_covering(&shift->target.scan.skips, skip->path);

	if (is_base_target(shift) && skip->reason == EWS_SKIP_REPOSITORY)
		return then && then->reason == EWS_SKIP_REPOSITORY && !strcmp(then->path, skip->path);
	if (is_base_target(shift))
		return then && then->reason == EWS_SKIP_PRESENT && !shift->kept.n;
	if (then && then->reason == EWS_SKIP_PRESENT && shift->kept.n)
		return false;
	/* What could not be kept, a socket say, is ignored where nobody asks for what is ignored. */
	if (then && skip->reason == EWS_SKIP_IGNORED && then->reason != EWS_SKIP_PRESENT &&
	    !strcmp(then->path, skip->path))
		return true;
	return then && (is_in_project(shift) || then->reason == skip->reason);
}

/* Does something of a project that nobody looks at stand where the target has a file, or a file's directory? */
static bool blocks_target(const struct shift *shift, const char *path)
{
	const struct ews_entries *list = &shift->target.scan.entries;
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	const struct ews_entry *entry = ews_entries_find(list, path);

	/* A submodule is no obstacle to itself. */
	if (entry)
		return entry->type != EWS_ENTRY_DIR && entry->type != EWS_ENTRY_GITLINK;
	for (char *slash = strrchr(at, '/'); slash; slash = strrchr(at, '/')) {
		*slash = '\0';
		entry = ews_entries_find(list, at);
		if (entry)
			return entry->type != EWS_ENTRY_DIR;
	}
	return false;
}

/* It came along at the start, was gone when the target was taken, and is back. */
static bool is_back_since(const struct shift *shift, const char *path)
{
	return !is_base_target(shift) && !ews_skips_covering(&shift->target.scan.skips, path) &&
	       !ews_entries_find(&shift->target.scan.entries, path);
}

static bool goes_away(const struct shift *shift, const struct ews_skip *skip)
{
	if (skip->reason == EWS_SKIP_OWN || !is_below_wanted(shift, skip->path))
		return false;
	/* What nobody shall look at stays, and what came along at the start, but where the target's own has to be. */
	if (skip->reason == EWS_SKIP_EXCLUDED)
		return blocks_target(shift, skip->path);
	if (skip->reason == EWS_SKIP_PRESENT)
		return blocks_target(shift, skip->path) || is_back_since(shift, skip->path);
	return shift->session ? !was_left_out(shift, skip) : blocks_target(shift, skip->path);
}

static bool is_away(const struct shift *shift, const char *path)
{
	for (size_t i = 0; i < shift->away.n; i++)
		if (ews_path_is_inside(path, shift->away.items[i]))
			return true;
	return false;
}

/* Was what stands at `entry` there at the session's start, as one of the ignored files that came along? */
static bool came_along(const struct shift *shift, const struct ews_entry *entry)
{
	const struct ews_entry *then = ews_entries_find(&shift->kept, entry->path);

	return then && (then->type == EWS_ENTRY_DIR) == (entry->type == EWS_ENTRY_DIR);
}

/* Did the target not look at what stands at `entry`? Of what came along, and what was new beside that, it knew the names. */
static bool was_not_seen(const struct shift *shift, const struct ews_entry *entry)
{
	const struct ews_skip *then = ews_skips_covering(&shift->target.scan.skips, entry->path);

	if (is_base_target(shift) || (then && then->reason == EWS_SKIP_PRESENT && shift->kept.n))
		return came_along(shift, entry);
	return then;
}

/* A ".git" that is not the file that we wrote is kept like all that is in the way, whatever it is. */
static void plan_gitfile(struct shift *shift, const struct ews_strv *tampered, int root_fd)
{
	struct stat st;

	if (ews_strv_has(tampered, GITFILE) && fstatat(root_fd, GITFILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
		ews_strv_add(&shift->away, GITFILE);
}

static void plan_away(struct shift *shift)
{
	const struct ews_skips *skips = &shift->now.scan.skips;

	for (size_t i = 0; i < skips->n; i++)
		if (goes_away(shift, &skips->items[i]))
			ews_strv_add(&shift->away, skips->items[i].path);
}

/* "<escaped path>\t<name>" */
static int split_moved(struct ews_buf *path, const char **name, const char *line)
{
	const char *tab = strrchr(line, '\t');
	int rc;

	if (!tab || !tab[1] || strchr(tab, '/'))
		return ews_error(EWS_EDAMAGED, "the step's list of what was moved makes no sense");
	rc = ews_path_unescape(path, line, (size_t)(tab - line));
	if (rc == 0 && !ews_path_is_plain(path->ptr))
		rc = ews_error(EWS_EDAMAGED, "the step names '%.80s', which is no path of a workspace", path->ptr);
	*name = tab + 1;
	return rc;
}

/* Does what an earlier move took come back to this path? Then it is not made anew. */
static bool comes_back(const struct shift *shift, const char *path)
{
	if (shift->step->is_emptied)
		return false;
	for (size_t i = 0; i < shift->step->moved.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf moved = EWS_BUF_INIT;
		const char *name;

		if (split_moved(&moved, &name, shift->step->moved.items[i]) < 0)
			ews_error_clear(); /* move_back() says it */
		else if (ews_path_is_inside(path, moved.ptr))
			return true;
	}
	return false;
}

/* Does the directory `path` hold something that was left out and stays? Then it stays, too. */
static bool holds_left_out(const struct shift *shift, const char *path)
{
	const struct ews_skips *skips = &shift->now.scan.skips;
	size_t at = 0, end = skips->n;

	/* what it holds stands right behind it */
	while (at < end) {
		size_t mid = (at + end) / 2;

		if (ews_path_cmp(skips->items[mid].path, path) < 0)
			at = mid + 1;
		else
			end = mid;
	}
	for (; at < skips->n && ews_path_is_inside(skips->items[at].path, path); at++)
		if (!is_away(shift, skips->items[at].path))
			return true;
	return false;
}

/* Where single paths are meant: does the directory `path` hold something that is none of them? */
static bool holds_unwanted(const struct shift *shift, const char *path)
{
	const struct ews_entries *now = &shift->now.scan.entries;
	const struct ews_entry *dir = shift->step->is_exact ? ews_entries_find(now, path) : NULL;

	for (const struct ews_entry *e = dir ? dir + 1 : now->items + now->n;
	     e < now->items + now->n && ews_path_is_inside(e->path, path); e++)
		if (!is_wanted(shift, e->path) && !is_away(shift, e->path))
			return true;
	return false;
}

/* Is it a directory that the target has not, and that can't go because of what it holds? */
static bool must_stay(const struct shift *shift, const struct ews_change *change)
{
	bool is_dir = change->from &&
		      (change->from->type == EWS_ENTRY_DIR || change->from->type == EWS_ENTRY_GITLINK);

	if (change->to || !is_dir || is_away(shift, change->path))
		return false;
	return holds_left_out(shift, change->path) || holds_unwanted(shift, change->path);
}

/*
 * Only what the options name, and nothing that the target did not look at. Of what is renamed away
 * nothing is left to be removed; what the target has in its place is made anew.
 */
static void limit_changes(struct shift *shift)
{
	size_t kept = 0;

	for (size_t i = 0; i < shift->changes.n; i++) {
		struct ews_change *change = &shift->changes.items[i];
		bool is_back = comes_back(shift, change->path);
		bool was_skipped = !change->to && (!is_back || is_base_target(shift)) &&
				   was_not_seen(shift, change->from);
		bool stays = must_stay(shift, change);

		if (is_away(shift, change->path))
			change->from = NULL;
		if (is_back)
			change->to = NULL;
		bool wanted = is_wanted(shift, change->path) || leads_to_wanted(shift, change);

		if (wanted && !was_skipped && !stays && (change->from || change->to))
			shift->changes.items[kept++] = *change;
	}
	shift->changes.n = kept;
}

static enum ews_hardlink_fate fate_before(void *payload, const char *path)
{
	const struct shift *shift = payload;

	if (is_away(shift, path))
		return EWS_HARDLINK_LEAVES;
	return is_wanted(shift, path) ? EWS_HARDLINK_FREE : EWS_HARDLINK_STAYS;
}

static enum ews_hardlink_fate fate_after(void *payload, const char *path)
{
	return is_wanted(payload, path) ? EWS_HARDLINK_FREE : EWS_HARDLINK_STAYS;
}

/* Was the target a state of this very directory, so that it tells which of its files had no names elsewhere? */
static bool is_own_target(const struct shift *shift)
{
	return shift->session && (!shift->session->method->is_project ||
				  !strcmp(shift->opts->target->session, shift->session->state.id));
}

/* What must be written so that the names of one file are that; `now` is what is there. */
static void plan_names(struct ews_changes *changes, struct shift *shift, const struct ews_entries *now,
		       ews_entry_equal_fn equal, ews_hardlink_fate_fn fate)
{
	const struct ews_hardlink_opts opts = { .now = now,
						.want = &shift->target.scan.entries,
						.equal = equal,
						.part_elsewhere = is_own_target(shift),
						.fate = fate,
						.payload = shift };

	ews_hardlinks_plan(changes, &opts);
}

static bool equal_with_owner(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b) && ews_entry_same_owner(a, b);
}

/* What of two entries must agree after all. */
static ews_entry_equal_fn proven_equal(const struct shift *shift)
{
	return shift->step->with_owners ? equal_with_owner : ews_entry_equal;
}

static bool equal_with_time_and_owner(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal_with_time(a, b) && ews_entry_same_owner(a, b);
}

/* What an earlier move took comes back to its place, though something that is equal stands there now. */
static void free_places(struct shift *shift)
{
	size_t n = shift->changes.n;

	for (size_t i = 0; i < shift->step->moved.n && !shift->step->is_emptied; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const struct ews_entry *from, *to;
		const char *name;

		if (split_moved(&path, &name, shift->step->moved.items[i]) < 0) {
			ews_error_clear(); /* move_back() says it */
			continue;
		}
		from = ews_entries_find(&shift->now.scan.entries, path.ptr);
		to = ews_entries_find(&shift->target.scan.entries, path.ptr);
		if (!from || !to || from->type != EWS_ENTRY_FILE || !shift->equal(from, to))
			continue;
		EWS_GROW(shift->changes.items, shift->changes.n, shift->changes.cap);
		shift->changes.items[shift->changes.n++] = (struct ews_change){ from->path, from, to, NULL };
	}
	if (shift->changes.n > n)
		ews_changes_sort(&shift->changes);
}

static void find_changes(struct shift *shift)
{
	if (shift->step->with_owners)
		shift->equal = shift->is_fresh ? equal_with_owner : equal_with_time_and_owner;
	else
		shift->equal = shift->is_fresh ? ews_entry_equal : ews_entry_equal_with_time;
	ews_changes_between(&shift->changes, &shift->now.scan.entries, &shift->target.scan.entries, shift->equal);
	free_places(shift);
	limit_changes(shift);
	plan_names(&shift->changes, shift, &shift->now.scan.entries, shift->equal, fate_before);
}

/* Is it about the workspace as a whole, not some paths of it? */
static bool moves_root(const struct shift *shift)
{
	return shift->session && !shift->opts->only && shift->target.has_git;
}

static bool moves_git(const struct shift *shift)
{
	return moves_root(shift) && !shift->repo->is_plain;
}

/*
 * What of the ignored files that the target knew of is gone. A project's products are
 * not ours to look after, so there all that is rewritten is new.
 */
static void find_missing(struct ews_transition_result *out, struct shift *shift)
{
	const struct ews_skips *skips = &shift->target.scan.skips;

	/* In place ignored files are part of the base, so nothing built is missing. */
	shift->is_fresh = !shift->session;
	for (size_t i = 0; i < skips->n && shift->session && !is_base_target(shift); i++) {
		const struct ews_skip *then = &skips->items[i];
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

		if (then->reason != EWS_SKIP_IGNORED || comes_back(shift, then->path) ||
		    ews_skips_covering(&shift->now.scan.skips, then->path) ||
		    ews_entries_find(&shift->now.scan.entries, then->path))
			continue;
		shift->is_fresh = true;
		ews_path_escape(&line, then->path, strlen(then->path));
		ews_buf_adds(&line, "\tignored, is gone");
		ews_strv_add(&out->not_covered, line.ptr);
	}
}

/* How many of `paths`, from `at` on, came along with the same whole path as the first? It is put into `top`. */
static size_t count_below(const char **top, const struct shift *shift, const struct ews_strv *paths, size_t at)
{
	const struct ews_skip *skip = ews_skips_covering(&shift->target.scan.skips, paths->items[at]);
	size_t n = 1;

	*top = skip ? skip->path : paths->items[at];
	while (at + n < paths->n && ews_path_is_inside(paths->items[at + n], *top))
		n++;
	return n;
}

/* A few are named one by one; of a whole build that ran anew the directory is enough. */
static void name_ignored(struct ews_transition_result *out, const struct shift *shift, const struct ews_strv *paths,
			 const char *what)
{
	for (size_t i = 0, n; i < paths->n; i += n) {
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
		const char *top = paths->items[i];

		n = paths->n > FEW_PATHS ? count_below(&top, shift, paths, i) : 1;
		if (!is_wanted(shift, paths->items[i]))
			continue;
		ews_path_escape(&line, n > 1 ? top : paths->items[i], strlen(n > 1 ? top : paths->items[i]));
		if (n > 1)
			ews_buf_addf(&line, "\tignored, %zu paths of it: %s", n, what);
		else
			ews_buf_addf(&line, "\tignored, %s", what);
		ews_strv_add(&out->not_covered, line.ptr);
	}
}

/*
 * Of the ignored files that came along what is gone or was written since the start is named. Something was built then,
 * of files that are about to change.
 */
static void name_lost(struct ews_transition_result *out, struct shift *shift)
{
	const struct ews_ignored_changes *changes = &shift->ignored;

	if (changes->gone.n || changes->changed.n)
		shift->is_fresh = true;
	/* What came later and stays may be another product than the target's. */
	for (size_t i = 0; i < changes->newer.n; i++)
		if (!is_away(shift, changes->newer.items[i]))
			shift->is_fresh = true;
	/* Another state may have had them so. */
	if (!is_base_target(shift))
		return;
	name_ignored(out, shift, &changes->gone, "gone");
	name_ignored(out, shift, &changes->changed, "changed");
}

/* What the base or the target has is looked at even where it is ignored. */
static void join_known(struct ews_content *known, const struct ews_content *target)
{
	struct ews_entries *list = &known->scan.entries;
	size_t n = list->n;

	for (size_t i = 0; i < target->scan.entries.n; i++) {
		const struct ews_entry *entry = &target->scan.entries.items[i];
		const struct ews_entries before = { list->items, n, n, EWS_ARENA_INIT, false };

		if (!ews_entries_find(&before, entry->path))
			ews_entries_add_copy(list, entry);
	}
	ews_entries_sort(list);
}

/* Does the directory itself belong to somebody else than it shall? */
static bool differs_in_root_owner(const struct shift *shift, const struct ews_content *content)
{
	const struct ews_content *target = &shift->target;

	return moves_root(shift) && shift->step->with_owners && target->has_root_owner &&
	       (content->root_uid != target->root_uid || content->root_gid != target->root_gid);
}

/* The directory itself has a mode as well. */
static bool differs_in_root(const struct shift *shift, const struct ews_content *content)
{
	return moves_root(shift) && shift->target.root_mode && content->root_mode != shift->target.root_mode;
}

/* In place git's own lock says that git is at work, or was killed; which of the two only a person knows. */
static int refuse_locked(const struct shift *shift)
{
	if (!is_in_project(shift) || !ews_strv_has(&shift->now.git.running, "index.lock"))
		return 0;
	ews_error(EWS_EBUSY, "git is at work in the project: '%s/index.lock' is there", shift->repo->git_dir);
	ews_error_hint("when no git runs there, remove that file");
	return EWS_EBUSY;
}

/* The branch that HEAD of `git` is on; NULL when it is detached. The caller frees it. */
static char *branch_of(const struct ews_gitstate *git)
{
	const struct ews_gitstate_file *head = ews_gitstate_file(git, "HEAD");

	if (!head || strncmp(head->data.ptr, "ref: refs/heads/", 16))
		return NULL;
	return ews_strndup(head->data.ptr + 5, strcspn(head->data.ptr + 5, "\n"));
}

/*
 * In place HEAD is mostly on a branch, which then is part of the state. Gives the branch and
 * where it is now (none: nowhere); false when there is no branch, or it is where it was.
 */
static bool find_moved_branch(char **branch, struct ews_oid *now, const struct shift *shift)
{
	EWS_CLEANUP(free) char *name = is_in_project(shift) ? branch_of(&shift->target.git) : NULL;

	*now = (struct ews_oid)EWS_OID_NONE;
	if (!name)
		return false;
	if (ews_odb_ref_read(now, shift->repo->odb, name) < 0)
		ews_error_clear();
	if (ews_oid_equal(now, &shift->opts->target->head))
		return false;
	*branch = ews_steal(&name);
	return true;
}

static bool branch_differs(const struct shift *shift)
{
	EWS_CLEANUP(free) char *branch = NULL;
	struct ews_oid now;

	return find_moved_branch(&branch, &now, shift);
}

/* Where it was is in the snapshot of the present state, so nothing is lost by moving it. */
static int restore_branch(const struct shift *shift)
{
	EWS_CLEANUP(free) char *branch = NULL;
	struct ews_oid now;
	int rc;

	if (!find_moved_branch(&branch, &now, shift))
		return 0;
	if (shift->opts->is_retry)
		ews_litter_sweep_ref(shift->repo->odb, branch);
	rc = ews_odb_ref_swap(shift->repo->odb, branch, &now, &shift->opts->target->head);
	return rc < 0 ? ews_error_wrap("cannot put '%s' back", branch) : 0;
}

/* A private repository that is not whole goes to trash as it is, and is made anew. */
static int adopt(struct shift *shift, struct ews_strv *differences)
{
	int rc = ews_history_adopt(shift->session, &shift->now.git);

	if (rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	ews_strv_add(differences, GITFILE);
	return 0;
}

static int plan(struct ews_transition_result *out, struct shift *shift, int root_fd)
{
	struct ews_content_opts opts = { .partial = true,
					 .progress = shift->opts->progress,
					 .payload = shift->opts->payload };
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;
	int rc = 0;

	if (shift->opts->base)
		rc = ews_snapshot_content(&shift->known, shift->repo, shift->opts->base);
	if (rc == 0)
		rc = ews_snapshot_content(&shift->target, shift->repo, shift->opts->target);
	if (rc == 0 && shift->step->with_owners)
		rc = ews_content_need_owners(&shift->target, shift->opts->target->id);
	if (rc < 0)
		return rc;
	if (shift->session)
		rc = ews_ignored_read(&shift->kept, shift->session);
	if (rc < 0)
		return rc;
	join_known(&shift->known, &shift->target);
	opts.known = &shift->known;
	rc = ews_content_now(&shift->now, shift->repo, shift->session, shift->batch, &opts);
	if (rc == 0 && shift->kept.n)
		rc = ews_ignored_compare(&shift->ignored, &shift->kept, &shift->now, shift->session);
	if (rc < 0)
		return rc;
	if (moves_git(shift)) {
		rc = refuse_locked(shift);
		if (rc < 0)
			return rc;
		ews_gitstate_differences(&differences, &shift->target.git, &shift->now.git);
		if (branch_differs(shift))
			ews_strv_add(&differences, "branch");
		rc = ews_session_tampered(&differences, shift->session);
		if (rc >= 0)
			rc = adopt(shift, &differences);
		plan_gitfile(shift, &differences, root_fd);
	}
	shift->has_git_change = differences.n > 0 || differs_in_root(shift, &shift->now) ||
				differs_in_root_owner(shift, &shift->now);
	plan_away(shift);
	find_missing(out, shift);
	name_lost(out, shift);
	return rc < 0 ? rc : 0;
}

static int keep_now(struct ews_transition_result *out, struct shift *shift)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot kept = EWS_SNAPSHOT_INIT;
	struct ews_step *step = shift->step;
	EWS_CLEANUP(free) char *subject = ews_strfmt("ews: state before %s", step->verb);
	struct ews_snapshot_opts opts = { .session = shift->session,
					  .parent = shift->session ? shift->session->state.last_snapshot : NULL,
					  .subject = subject,
					  .prefix = EWS_REF_TRASH };
	char **side = step->state == EWS_STEP_UNDOING ? &step->after : &step->before;
	int rc = ews_snapshot_keep(&kept, shift->repo, shift->batch, &shift->now, &opts);

	if (rc < 0)
		return rc;
	/* Of a step that is run again the first state is what undo wants; what was done since is kept beside it. */
	if (!shift->opts->is_retry) {
		free(*side);
		*side = ews_strdup(kept.id);
	}
	out->kept_snapshot = ews_strdup(kept.id);
	return 0;
}

static void plan_moving(struct shift *shift)
{
	char turn = shift->step->state == EWS_STEP_UNDOING ? 'u' : 'f';

	for (size_t i = 0; i < shift->away.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
		size_t n = shift->step->moving.n;

		ews_path_escape(&line, shift->away.items[i], strlen(shift->away.items[i]));
		ews_buf_addf(&line, "\t%c%zu", turn, n);
		ews_strv_add(&shift->step->moving, line.ptr);
	}
}

/* Count files and bytes below something in the trash, for people. */
static void measure(struct ews_transition_result *out, int trash_fd, const char *name)
{
	struct ews_tree_size size = { 0, 0 };

	if (ews_file_measure_tree(&size, trash_fd, name) < 0)
		ews_error_clear(); /* a number for people; what can't be read counts nothing */
	out->kept_files += size.files;
	out->kept_bytes += size.bytes;
}

static const char *why_away(const struct shift *shift, const char *path)
{
	const struct ews_skip *skip = ews_skips_covering(&shift->now.scan.skips, path);

	if (!strcmp(path, GITFILE) && !shift->repo->is_plain)
		return "rewritten";
	return skip ? ews_skip_word(skip->reason) : "in the way";
}

static void name_kept(struct ews_transition_result *out, const struct shift *shift, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_path_escape(&line, path, strlen(path));
	ews_buf_addf(&line, "\t%s", why_away(shift, path));
	ews_strv_add(&out->kept, line.ptr);
}

static int move_away(struct ews_transition_result *out, struct shift *shift, int root_fd)
{
	EWS_CLEANUP(fd) int trash = -1;

	if (!shift->step->moving.n)
		return 0;
	trash = ews_transition_open_trash(shift->repo, shift->session, shift->step->id);
	if (trash < 0)
		return trash;
	for (size_t i = 0; i < shift->step->moving.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const struct ews_entry *entry;
		const char *name;
		int rc = split_moved(&path, &name, shift->step->moving.items[i]);

		if (rc == 0)
			rc = ews_put_away(root_fd, path.ptr, trash, name);
		/* Gone meanwhile, or moved by the try before this one. */
		if (rc == EWS_ENOTFOUND || (rc == EWS_EEXISTS && shift->opts->is_retry)) {
			ews_error_clear();
			rc = 0;
		}
		if (rc < 0)
			return ews_error_wrap("cannot move '%s' to trash", path.ptr);
		/* What the snapshot has as well is a change like all others. */
		entry = ews_entries_find(&shift->now.scan.entries, path.ptr);
		if (entry && entry->type == EWS_ENTRY_FILE)
			continue;
		name_kept(out, shift, path.ptr);
		measure(out, trash, name);
	}
	return ews_file_sync_dir(trash);
}

/* Of what an earlier move took, trash holds nothing any more; what the snapshot has of it is put back all the same. */
static void name_expired(struct ews_transition_result *out, const struct shift *shift)
{
	for (size_t i = 0; i < shift->step->moved.n && shift->step->is_emptied; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *line = shift->step->moved.items[i], *name;

		if (split_moved(&path, &name, line) < 0)
			ews_error_clear(); /* there is no name to say */
		else if (!ews_entries_find(&shift->target.scan.entries, path.ptr))
			ews_strv_addf(&out->expired, "%.*s\twas deleted from trash", (int)(name - 1 - line), line);
	}
}

/* What an earlier move took comes back; where something stands in its place it stays in trash, and is named. */
static int move_back(struct ews_transition_result *out, struct shift *shift, int root_fd)
{
	EWS_CLEANUP(fd) int trash = -1;

	if (!shift->step->moved.n || shift->step->is_emptied)
		return 0;
	trash = ews_transition_open_trash(shift->repo, shift->session, shift->step->id);
	if (trash < 0)
		return trash;
	for (size_t i = 0; i < shift->step->moved.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *name;
		int rc = split_moved(&path, &name, shift->step->moved.items[i]);

		if (rc < 0)
			return rc;
		/* The link to the store is ours; another's stays where it harms nobody. */
		if (!strcmp(path.ptr, GITFILE) && !shift->repo->is_plain) {
			ews_strv_add(&out->kept, GITFILE "\tstays in trash");
			continue;
		}
		rc = ews_put_back(root_fd, path.ptr, trash, name);
		if (rc == 0) {
			ews_strv_add(&out->restored, path.ptr);
			continue;
		}
		/* Not there any more: the try before this one brought it back. */
		if (rc != EWS_ENOTFOUND || faccessat(trash, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			ews_strv_addf(&out->errors, "%.*s\tstays in trash: %s",
				      (int)(name - 1 - shift->step->moved.items[i]), shift->step->moved.items[i],
				      ews_error_message());
		ews_error_clear();
	}
	return 0;
}

/* A rebase or the like that an earlier move took out of the entry goes on where it was. */
static int bring_back_running(struct ews_strv *running, const struct ews_session *session, const char *kept_name,
			      int admin_fd)
{
	struct ews_place place = ews_session_place(session);
	EWS_CLEANUP(fd) int kept = session->method->open_kept(&place, kept_name, false);
	EWS_CLEANUP(free) struct ews_dirent *names = NULL;
	struct ews_arena arena = EWS_ARENA_INIT;
	ssize_t n = kept < 0 ? 0 : ews_dir_list(&names, kept, &arena);
	int rc = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n && rc == 0; i++) {
		rc = ews_file_rename_new(kept, names[i].name, admin_fd, names[i].name);
		/* Begun anew meanwhile: that one holds. */
		if (rc == EWS_EEXISTS)
			rc = 0;
		ews_strv_add(running, names[i].name);
	}
	ews_arena_release(&arena);
	if (rc == 0)
		ews_error_clear();
	return rc;
}

static int write_git(struct ews_transition_result *out, struct shift *shift, int root_fd)
{
	struct ews_session *session = shift->session;
	bool undoing = shift->step->state == EWS_STEP_UNDOING;
	EWS_CLEANUP(free) char *away = ews_strfmt("%s.%c", shift->step->id, undoing ? 'u' : 'f');
	EWS_CLEANUP(free) char *back = ews_strfmt("%s.%c", shift->step->id, undoing ? 'f' : 'u');
	EWS_CLEANUP(fd) int admin = -1;
	EWS_CLEANUP(fd) int keep = -1;
	struct ews_place place;
	int rc;

	if (differs_in_root_owner(shift, &shift->now))
		(void)fchown(root_fd, shift->target.root_uid, shift->target.root_gid); /* the proof says whose it is */
	if (moves_root(shift) && shift->target.root_mode && fchmod(root_fd, shift->target.root_mode) < 0)
		return ews_error_os("cannot set the mode of the workspace");
	if (!moves_git(shift))
		return 0;
	place = ews_session_place(session);
	rc = session->method->repair(&place, root_fd, &shift->target.git);
	if (rc < 0)
		return rc;
	admin = session->method->open_git(&place, root_fd);
	if (admin < 0)
		return admin;
	if (shift->now.git.running.n) {
		keep = session->method->open_kept(&place, away, true);
		if (keep < 0)
			return keep;
		for (size_t i = 0; i < shift->now.git.running.n; i++)
			ews_strv_addf(&out->kept, "%s\tof git, under way", shift->now.git.running.items[i]);
	}
	rc = ews_gitstate_write(NULL, &shift->target.git, admin, keep);
	if (rc == 0)
		rc = restore_branch(shift);
	return rc < 0 ? rc : bring_back_running(&shift->target.git.running, session, back, admin);
}

/* Those of the wanted paths that an index may hold, on either side; sorted. */
static void list_staged(struct ews_strv *out, const struct shift *shift)
{
	for (const char *const *path = shift->opts->only; path && *path; path++) {
		const struct ews_entry *sides[2] = { ews_entries_find(&shift->now.scan.entries, *path),
						     ews_entries_find(&shift->target.scan.entries, *path) };
		bool can_go = sides[0] && sides[0]->type != EWS_ENTRY_DIR && !sides[1];

		/* What takes the place of a directory takes that of its entries, too; and the other way round they come. */
		if (sides[1] ? sides[1]->type == EWS_ENTRY_FILE || sides[1]->type == EWS_ENTRY_LINK : can_go)
			ews_strv_add(out, *path);
	}
}

/* The paths are staged as well: forward as they stand, backward as they were staged before. */
static int write_index(const struct shift *shift)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;

	if (!shift->step->with_index || shift->session)
		return 0;
	if (shift->step->state != EWS_STEP_UNDOING) {
		list_staged(&paths, shift);
		return ews_stage_add(shift->repo, &paths);
	}
	for (const char *const *path = shift->opts->only; path && *path; path++)
		ews_strv_add(&paths, *path);
	return ews_stage_restore(shift->repo, &shift->target.git, &paths);
}

/* A branch that was moved by a commit of the step. */
struct moved_branch {
	char *name;
	struct ews_oid from, to; /* where it is to be now, and where it goes */
	bool is_there; /* already */
};

static void release_moved_branch(struct moved_branch *branch)
{
	free(branch->name);
}

EWS_CLEANUP_DEFINE(moved_branch, struct moved_branch, release_moved_branch)

static int parse_id(struct ews_oid *out, const char *text, size_t len)
{
	EWS_CLEANUP(free) char *hex = ews_strndup(text, len);

	*out = (struct ews_oid)EWS_OID_NONE;
	return strspn(hex, "0") == len ? 0 : ews_oid_parse(out, hex);
}

/* "<branch> <old id> <new id>" */
static int read_commit(char **name, struct ews_oid *before, struct ews_oid *after, const char *text)
{
	const char *first = strchr(text, ' ');
	const char *second = first ? strchr(first + 1, ' ') : NULL;

	if (!second || strncmp(text, "refs/heads/", 11) != 0)
		return ews_error(EWS_EDAMAGED, "the step names a commit that makes no sense");
	*name = ews_strndup(text, (size_t)(first - text));
	if (parse_id(before, first + 1, (size_t)(second - first - 1)) < 0)
		return EWS_EDAMAGED;
	return parse_id(after, second + 1, strlen(second + 1));
}

/* Whoever was killed right after his commit could not write it down: it is the one that has the old one as its parent. */
static void guess_commit(struct ews_oid *after, const struct shift *shift, const struct ews_oid *before,
			 const struct ews_oid *now)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	bool is_read = !ews_oid_is_none(now) && ews_odb_read_commit(&commit, shift->repo->odb, now) == 0;

	ews_error_clear();
	*after = *before;
	if (is_read && (ews_oid_is_none(before) ? !commit.n_parents
						: commit.n_parents && ews_oid_equal(&commit.parents[0], before)))
		*after = *now;
}

/* Which branch goes where with the step; `name` NULL when none does. */
static int find_commit(struct moved_branch *out, const struct shift *shift)
{
	const struct ews_step *step = shift->step;
	EWS_CLEANUP(free) char *head = NULL;
	struct ews_oid before, after, tip, now = EWS_OID_NONE;
	bool back = step->state == EWS_STEP_UNDOING;
	int rc;

	if (!step->commit || !*step->commit || shift->session || step->state == EWS_STEP_PLANNED)
		return 0;
	rc = read_commit(&out->name, &before, &after, step->commit);
	if (rc < 0)
		return rc;
	if (ews_odb_ref_read(&now, shift->repo->odb, out->name) < 0)
		ews_error_clear();
	if (ews_oid_is_none(&after))
		guess_commit(&after, shift, &before, &now);
	out->from = back ? after : before;
	out->to = back ? before : after;
	out->is_there = ews_oid_equal(&now, &out->to);
	rc = ews_stage_branch(&head, &tip, shift->repo);
	ews_error_clear();
	if (rc == 0 && !strcmp(head, out->name) && (out->is_there || ews_oid_equal(&now, &out->from)))
		return 0;
	ews_error(EWS_ESTALE, "'%s' is no longer the branch that was committed to, as it was then", out->name);
	ews_error_hint("'git revert' takes a commit back that others stand on");
	return EWS_ESTALE;
}

static int move_branch(const struct shift *shift)
{
	EWS_CLEANUP(moved_branch) struct moved_branch branch = { NULL, EWS_OID_NONE, EWS_OID_NONE, false };
	int rc = find_commit(&branch, shift);

	if (rc < 0 || !branch.name || branch.is_there)
		return rc;
	return ews_odb_ref_swap(shift->repo->odb, branch.name, &branch.from, &branch.to);
}

static int refuse_moved_on(const struct shift *shift)
{
	EWS_CLEANUP(moved_branch) struct moved_branch branch = { NULL, EWS_OID_NONE, EWS_OID_NONE, false };

	return find_commit(&branch, shift);
}

static int put(struct ews_transition_result *out, struct shift *shift, int root_fd)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	struct ews_put_opts opts = { .root_fd = root_fd,
				     .odb = shift->repo->odb,
				     .source_fd = -1,
				     .times = shift->is_fresh ? EWS_PUT_TIMES_FRESH : EWS_PUT_TIMES_KEEP,
				     .owners = shift->step->with_owners,
				     .progress = shift->opts->progress,
				     .payload = shift->opts->payload };
	int rc = ews_put(&report, &shift->changes, NULL, &opts);

	ews_strv_add_array(&out->errors, report.failed.items);
	ews_strv_add_array(&out->lost_attrs, report.lost_attrs.items);
	/* Single paths that failed are named, and found by the proof as well. */
	if (rc < 0 && (rc == EWS_ENOSPACE || !report.failed.n))
		return rc;
	ews_error_clear();
	return 0;
}

static void list_changes(struct ews_transition_result *out, const struct shift *shift)
{
	for (size_t i = 0; i < shift->changes.n; i++) {
		const struct ews_change *change = &shift->changes.items[i];

		/* It makes way for what comes back. */
		if (!change->to && ews_entries_find(&shift->target.scan.entries, change->path))
			continue;
		/* A time that is set back is not worth a word; that names are of one file again, or not, is. */
		if (!change->from || !change->to || !ews_entry_equal(change->from, change->to) ||
		    ews_entry_equal_with_time(change->from, change->to))
			ews_strv_add(change->to ? &out->restored : &out->deleted, change->path);
	}
}

/*
 * A file that has names elsewhere may have one of them in what is renamed away, unread. Both are one file again when both come
 * back, so what would be removed or replaced of it is renamed away as well.
 */
static void spare_shared_files(struct shift *shift)
{
	size_t kept = 0, n_away = shift->away.n;

	for (size_t i = 0; i < shift->changes.n && n_away; i++) {
		struct ews_change *change = &shift->changes.items[i];

		if (change->from && change->from->type == EWS_ENTRY_FILE && change->from->is_elsewhere) {
			ews_strv_add(&shift->away, change->path);
			change->from = NULL;
		}
		if (change->from || change->to)
			shift->changes.items[kept++] = *change;
	}
	if (n_away)
		shift->changes.n = kept;
}

/* Only the entries that the transition is about. */
static void keep_wanted(struct ews_entries *list, const struct shift *shift)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (is_wanted(shift, list->items[i].path))
			list->items[kept++] = list->items[i];
	list->n = kept;
}

/* Does a line of `list` speak of `path`? */
static bool names_path(const struct ews_strv *list, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_path_escape(&line, path, strlen(path));
	for (size_t i = 0; i < list->n; i++)
		if (!strncmp(list->items[i], line.ptr, line.len) && list->items[i][line.len] == '\t')
			return true;
	return false;
}

/* What is wrong with a path after all, in words. */
static void describe_difference(struct ews_buf *out, const struct ews_change *change, const struct shift *shift)
{
	const struct ews_entry *from = change->from, *to = change->to;

	if (!to)
		ews_buf_adds(out, "should not be there");
	else if (!from)
		ews_buf_adds(out, "is missing");
	else if (!ews_entry_equal(from, to))
		ews_buf_adds(out, "differs");
	else if (!proven_equal(shift)(from, to))
		ews_buf_addf(out, "belongs to %" PRIu32 ":%" PRIu32 ", not to %" PRIu32 ":%" PRIu32, from->uid,
			     from->gid, to->uid, to->gid);
	else if (to->first_name)
		ews_buf_adds(out, "should be one file with its other names");
	else
		ews_buf_adds(out, "should be one file with no other name than its own");
}

static void name_difference(struct ews_transition_result *out, const struct shift *shift,
			    const struct ews_change *change)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	if (names_path(&out->errors, change->path))
		return;
	ews_path_escape(&line, change->path, strlen(change->path));
	ews_buf_addc(&line, '\t');
	describe_difference(&line, change, shift);
	ews_strv_add(&out->errors, line.ptr);
}

/* Attributes that this user may not set are named apart, and are no failure of the proof. */
static bool differs_in_lost_attrs_only(const struct ews_transition_result *out, const struct shift *shift,
				       const struct ews_change *change)
{
	struct ews_entry a, b;

	if (!change->from || !change->to)
		return false;
	a = *change->from;
	b = *change->to;
	a.xattrs = b.xattrs = NULL;
	return proven_equal(shift)(&a, &b) && names_path(&out->lost_attrs, change->path);
}

/* What was ignored before and stays, though the rules that are back don't ignore it any more: it is named. */
static bool stays_ignored(struct ews_transition_result *out, const struct shift *shift, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	if (!ews_skips_covering(&shift->now.scan.skips, path) || is_away(shift, path))
		return false;
	ews_path_escape(&line, path, strlen(path));
	ews_buf_adds(&line, "\twas ignored, stays");
	ews_strv_add(&out->not_covered, line.ptr);
	return true;
}

/* What the target did not look at, or what holds it, so that its being there now is no difference. */
static bool is_left_alone(struct ews_transition_result *out, const struct shift *shift,
			  const struct ews_change *change)
{
	if (change->to)
		return false;
	return must_stay(shift, change) || was_not_seen(shift, change->from) ||
	       stays_ignored(out, shift, change->path);
}

static void name_uncovered(struct ews_transition_result *out, const struct shift *shift)
{
	const struct ews_skips *skips = &shift->target.scan.skips;

	for (size_t i = 0; i < skips->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

		if (skips->items[i].reason == EWS_SKIP_IGNORED || skips->items[i].reason == EWS_SKIP_EXCLUDED ||
		    skips->items[i].reason == EWS_SKIP_OWN || skips->items[i].reason == EWS_SKIP_PRESENT ||
		    !is_wanted(shift, skips->items[i].path))
			continue;
		ews_path_escape(&line, skips->items[i].path, strlen(skips->items[i].path));
		ews_buf_addf(&line, "\t%s", ews_skip_word(skips->items[i].reason));
		ews_strv_add(&out->not_covered, line.ptr);
	}
}

/* What of the wanted is not as it should be after all. */
static void find_left(struct ews_changes *left, struct ews_transition_result *out, struct shift *shift,
		      const struct ews_content *after)
{
	size_t kept = 0;

	ews_changes_between(left, &after->scan.entries, &shift->target.scan.entries, proven_equal(shift));
	for (size_t i = 0; i < left->n; i++)
		if (is_wanted(shift, left->items[i].path) && !is_left_alone(out, shift, &left->items[i]))
			left->items[kept++] = left->items[i];
	left->n = kept;
	/* By the same rule as before: what is not asked for and has another time is nothing to join. */
	plan_names(left, shift, &after->scan.entries, shift->equal, fate_after);
}

static int verify(struct ews_transition_result *out, struct shift *shift)
{
	EWS_CLEANUP(content) struct ews_content after = EWS_CONTENT_INIT;
	EWS_CLEANUP(changes) struct ews_changes left = EWS_CHANGES_INIT;
	EWS_CLEANUP(strv) struct ews_strv git = EWS_STRV_INIT;
	struct ews_content_opts opts = { .partial = true, .reread = shift->opts->full, .known = &shift->known };
	int rc = ews_content_now(&after, shift->repo, shift->session, shift->batch, &opts);

	if (rc == 0 && moves_git(shift))
		rc = ews_session_tampered(&git, shift->session);
	/* The cache holds for the whole tree; the proof is about what was asked for. */
	if (rc >= 0 && !ews_batch_pending_bytes(shift->batch))
		rc = ews_content_save_cache(&after, shift->repo, shift->session);
	if (rc < 0)
		return ews_error_wrap("cannot look whether all is back");
	find_left(&left, out, shift, &after);
	for (size_t i = 0; i < left.n; i++)
		if (!differs_in_lost_attrs_only(out, shift, &left.items[i]))
			name_difference(out, shift, &left.items[i]);
	keep_wanted(&after.scan.entries, shift);
	keep_wanted(&shift->target.scan.entries, shift);
	if (moves_git(shift))
		ews_gitstate_differences(&git, &shift->target.git, &after.git);
	if (moves_git(shift) && branch_differs(shift))
		ews_strv_add(&git, "branch");
	if (differs_in_root(shift, &after) || differs_in_root_owner(shift, &after))
		ews_strv_add(&git, ".");
	for (size_t i = 0; i < git.n; i++)
		ews_strv_addf(&out->errors, "%s\tgit's own state differs", git.items[i]);
	name_uncovered(out, shift);
	ews_manifest_hash(out->original_hash, &shift->target.scan.entries);
	ews_manifest_hash(out->current_hash, &after.scan.entries);
	out->is_verified = out->errors.n == 0;
	return 0;
}

static int begin(struct shift *shift)
{
	struct ews_step *step = shift->step;
	int rc = 0;

	plan_moving(shift);
	/* The journal first: a line without a record is nothing that has begun. */
	if (shift->session)
		rc = ews_journal_begin(shift->session->fd, step->id, step->verb);
	return rc < 0 ? rc : ews_step_write(shift->repo->dir_fd, step);
}

static int finish(struct shift *shift)
{
	struct ews_step *step = shift->step;
	struct ews_strv moved = step->moved;
	int rc = 0;

	step->moved = step->moving;
	step->moving = moved;
	ews_strv_clear(&step->moving);
	step->is_emptied = false;
	step->state = step->state == EWS_STEP_UNDOING ? EWS_STEP_UNDONE : EWS_STEP_DONE;
	if (shift->session) {
		free(shift->session->state.last_snapshot);
		shift->session->state.last_snapshot = ews_strdup(shift->opts->target->id);
		rc = ews_session_save(shift->session);
	}
	if (rc == 0)
		rc = ews_step_write(shift->repo->dir_fd, step);
	if (rc == 0 && shift->session)
		rc = ews_journal_done(shift->session->fd, step->id);
	return rc;
}

/*
 * What somebody changed since the state that the step left: it is kept, as all is, and named, for
 * whoever undoes a step doesn't think of it.
 */
static int name_since(struct ews_transition_result *out, struct shift *shift)
{
	EWS_CLEANUP(content) struct ews_content left = EWS_CONTENT_INIT;
	EWS_CLEANUP(changes) struct ews_changes since = EWS_CHANGES_INIT;
	int rc;

	if (!shift->opts->left)
		return 0;
	rc = ews_snapshot_content(&left, shift->repo, shift->opts->left);
	if (rc < 0)
		return rc;
	ews_changes_between(&since, &left.scan.entries, &shift->now.scan.entries, ews_entry_equal);
	for (size_t i = 0; i < since.n; i++)
		if (is_wanted(shift, since.items[i].path) &&
		    (!since.items[i].to || since.items[i].to->type != EWS_ENTRY_DIR || !since.items[i].from))
			ews_strv_add(&out->since, since.items[i].path);
	return 0;
}

static bool is_anywhere(const struct shift *shift, const char *path)
{
	const struct ews_entries *const lists[] = { &shift->now.scan.entries, &shift->target.scan.entries };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (ews_path_is_inside(lists[k]->items[i].path, path))
				return true;
	for (size_t i = 0; i < shift->now.scan.skips.n; i++)
		if (ews_path_is_inside(shift->now.scan.skips.items[i].path, path) ||
		    ews_path_is_inside(path, shift->now.scan.skips.items[i].path))
			return true;
	return false;
}

/* A path that is nowhere is a mistake: there would be nothing to prove. */
static int check_only(const struct shift *shift)
{
	for (const char *const *x = shift->opts->only; x && *x; x++) {
		if (is_anywhere(shift, *x))
			continue;
		ews_error(EWS_ENOTFOUND, "'%s' is neither there nor in '%s'", *x, shift->opts->target->id);
		ews_error_hint("paths are those of files and directories, without patterns");
		return EWS_ENOTFOUND;
	}
	return 0;
}

/* The target was made from a state that was looked at before: who changed one of its paths since is not overwritten. */
static int refuse_since(const struct shift *shift)
{
	EWS_CLEANUP(changes) struct ews_changes since = EWS_CHANGES_INIT;

	if (!shift->opts->seen)
		return 0;
	ews_changes_between(&since, &shift->opts->seen->scan.entries, &shift->now.scan.entries, ews_entry_equal);
	for (size_t i = 0; i < since.n; i++) {
		if (!is_wanted(shift, since.items[i].path))
			continue;
		ews_error(EWS_ESTALE, "'%s' changed meanwhile", since.items[i].path);
		ews_error_hint("nothing was changed; try again");
		return EWS_ESTALE;
	}
	return 0;
}

static int carry_out(struct ews_transition_result *out, struct shift *shift, int root)
{
	int rc = keep_now(out, shift);

	if (rc == 0)
		rc = begin(shift);
	if (rc == 0)
		rc = move_away(out, shift, root);
	if (rc == 0)
		rc = put(out, shift, root);
	if (rc == 0)
		rc = move_back(out, shift, root);
	if (rc == 0)
		rc = write_git(out, shift, root);
	if (rc == 0)
		rc = write_index(shift);
	if (rc == 0)
		rc = move_branch(shift);
	if (rc < 0)
		ews_error_hint("'git ews recover' finishes it or takes it back; nothing is lost");
	return rc;
}

int ews_transition(struct ews_transition_result *out, bool *has_changed, struct ews_repo *repo,
		   struct ews_session *session, struct ews_step *step, const struct ews_transition_opts *opts)
{
	EWS_CLEANUP(shift)
	struct shift shift = {
		.repo = repo,
		.session = session,
		.step = step,
		.opts = opts,
		.batch = ews_batch_new(repo->odb),
		.known = EWS_CONTENT_INIT,
		.target = EWS_CONTENT_INIT,
		.now = EWS_CONTENT_INIT,
		.changes = EWS_CHANGES_INIT,
		.kept = EWS_ENTRIES_INIT,
		.ignored = EWS_IGNORED_CHANGES_INIT,
		.away = EWS_STRV_INIT,
	};
	EWS_CLEANUP(fd) int root = session ? ews_session_open_workspace(session) : ews_dir_open(repo->project);
	int rc;

	while (opts->only && opts->only[shift.n_only])
		shift.n_only++;
	rc = root < 0 ? root : plan(out, &shift, root);
	/* A step that was taken once can be taken back, or finished, whatever became of its paths. */
	if (rc == 0 && step->state == EWS_STEP_PLANNED && !opts->is_retry)
		rc = check_only(&shift);
	if (rc == 0)
		rc = refuse_since(&shift);
	if (rc == 0)
		rc = refuse_moved_on(&shift);
	if (rc < 0)
		return rc;
	find_changes(&shift);
	list_changes(out, &shift);
	name_expired(out, &shift);
	if (opts->dry_run) {
		for (size_t i = 0; i < shift.away.n; i++)
			name_kept(out, &shift, shift.away.items[i]);
		return 0;
	}
	spare_shared_files(&shift);
	*has_changed = shift.changes.n || shift.away.n || shift.has_git_change || step->moved.n ||
		       (step->commit && *step->commit) || opts->is_retry;
	rc = name_since(out, &shift);
	if (rc == 0 && *has_changed)
		rc = carry_out(out, &shift, root);
	if (rc == 0)
		rc = verify(out, &shift);
	return rc == 0 && *has_changed ? finish(&shift) : rc;
}
