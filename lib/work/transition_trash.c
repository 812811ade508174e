/*
 * Transitions through trash: what a step renames away whole, and what of it comes back when the step turns.
 *
 * What goes away while the step turns lies in its trash under a letter, which says which way it turned, and a number. The step has where it
 * was (`moving`, `moved` once it has turned), so that the turn the other way brings it back. What can't come back then stays (`stays`), and is
 * tried again each time that it is its turn.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "store/put.h"
#include "work/session_place.h"
#include "work/transition.h"

/*
 * Does a project keep it beside its ".superqode", which is a mount of its own, as a volume of a container is, and nothing can be renamed
 * there? Where it was kept, it stays.
 */
static bool is_beside_own_dir(const struct ews_repo *repo, const char *step_id)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(free) char *beside = ews_strfmt("%s/" EWS_TRASH_ELSEWHERE "/%s", repo->project, step_id);
	EWS_CLEANUP(free) char *usual = ews_path_join(repo->project, EWS_OWN_TRASH);
	EWS_CLEANUP(free) char *own = ews_path_dir(usual);
	EWS_CLEANUP(fd) int top = open(repo->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(fd) int fd = open(usual, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	EWS_CLEANUP(fd)
	int kept = fd < 0 ? -1 : openat(fd, step_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (faccessat(AT_FDCWD, beside, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (kept >= 0 && ews_dir_names_read(&names, kept) != 0)
		return false;
	if (fd < 0)
		fd = open(own, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return top >= 0 && fd >= 0 && !ews_file_is_one_mount(top, fd);
}

/* Beside the workspace when that lives elsewhere; a project keeps it in its own ".superqode", or beside that. */
char *ews_transition_trash_path(const struct ews_repo *repo, const struct ews_session *session, const char *step_id)
{
	EWS_CLEANUP(free) char *parent = NULL;

	if (!session || session->method->is_project)
		return ews_strfmt("%s/%s/%s", repo->project,
				  is_beside_own_dir(repo, step_id) ? EWS_TRASH_ELSEWHERE : EWS_OWN_TRASH, step_id);
	if (ews_session_is_at_home(session))
		return ews_strfmt("%s/" EWS_WORKING_TRASH "/%s", repo->dir, step_id);
	parent = ews_path_dir(session->state.workspace);
	return ews_strfmt("%s/" EWS_TRASH_ELSEWHERE "/%s", parent, step_id);
}

/* Somebody else may have put a directory, or a link, in its place. What goes from a project is its owner's, and so is its trash. */
static int open_made(int above_fd, const char *name, bool is_projects)
{
	EWS_CLEANUP(fd) int fd = -1;
	int rc = is_projects ? ews_dir_make_as_owner(above_fd, name, 0700) : ews_dir_make(above_fd, name, 0700);

	if (rc == 0)
		rc = fd = ews_dir_open_beneath(above_fd, name);
	if (rc >= 0)
		rc = is_projects ? ews_own_check_within(fd, above_fd, name) : ews_own_check(fd, name);
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

int ews_transition_open_trash(struct ews_repo *repo, const struct ews_session *session, const char *step_id)
{
	EWS_CLEANUP(free) char *path = ews_transition_trash_path(repo, session, step_id);
	EWS_CLEANUP(free) char *trash = ews_path_dir(path);
	EWS_CLEANUP(free) char *above = ews_path_dir(trash);
	EWS_CLEANUP(free) char *below = ews_strfmt(EWS_WORKING_TRASH "/%s", step_id);
	EWS_CLEANUP(fd) int above_fd = -1;
	EWS_CLEANUP(fd) int fd = -1;
	bool is_projects = !session || session->method->is_project;
	int rc = is_projects ? ews_repo_make_own_dir(repo) : 0;

	if (session && ews_session_is_at_home(session))
		return ews_repo_subdir(repo, below);
	if (rc == 0)
		rc = above_fd = ews_dir_open(above);
	if (rc >= 0)
		rc = fd = open_made(above_fd, ews_path_base(trash), is_projects);
	if (rc >= 0 && !strcmp(above, repo->project))
		rc = ews_repo_hide_own_dir(fd);
	if (rc >= 0)
		rc = ews_dir_make_as_owner(fd, step_id, 0700);
	return rc < 0 ? ews_error_wrap("cannot make the trash '%s'", path) : ews_dir_open_beneath(fd, step_id);
}

/* "<escaped path>\t<name>" */
static int split_moved(struct ews_buf *path, const char **name, const char *line)
{
	const char *tab = strrchr(line, '\t');
	int rc;

	if (!tab || strchr(tab, '/') || !ews_path_is_plain(tab + 1))
		return ews_error(EWS_EDAMAGED, "the step's list of what was moved makes no sense");
	rc = ews_path_unescape(path, line, (size_t)(tab - line));
	if (rc == 0 && !ews_path_is_plain(path->ptr))
		rc = ews_error(EWS_EDAMAGED, "the step names '%.80s', which is no path of a workspace", path->ptr);
	*name = tab + 1;
	return rc;
}

/* The letter that begins the names of what the step moves away while it turns: 'u' when it is undone, or would be. */
static char letter_of(const struct ews_step *step)
{
	return step->state == EWS_STEP_UNDOING || step->state == EWS_STEP_DONE ? 'u' : 'f';
}

/* Did it go away when the step turned the other way, so that this turn brings it back? */
static bool is_due(const struct ews_step *step, const char *line)
{
	const char *name = ews_path_line_words(line);

	return *name && *name != letter_of(step);
}

/* A number beyond those of all that is in trash under the letter, or is to be. */
static size_t next_number(const struct ews_step *step)
{
	size_t next = step->moving.n;

	for (size_t i = 0; i < step->stays.n; i++) {
		const char *name = ews_path_line_words(step->stays.items[i]);
		size_t n = *name == letter_of(step) ? strtoul(name + 1, NULL, 10) : 0;

		next = n >= next ? n + 1 : next;
	}
	return next;
}

void ews_transition_plan_moving(struct ews_transition_work *work)
{
	size_t next = next_number(work->step);

	for (size_t i = 0; i < work->away.n; i++)
		ews_path_line_addf(&work->step->moving, work->away.items[i], "%c%zu", letter_of(work->step), next++);
}

/* Is the path, or one above it, among the sorted ones, which may be as many as there are files? */
static bool is_below_any(const struct ews_strv *sorted, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf above = EWS_BUF_INIT;
	char *slash = NULL;

	if (!sorted->n)
		return false;
	ews_buf_adds(&above, path);
	do {
		if (slash)
			*slash = '\0';
		if (ews_strv_sorted_has(sorted, above.ptr))
			return true;
		slash = strrchr(above.ptr, '/');
	} while (slash);
	return false;
}

bool ews_transition_is_away(const struct ews_transition_work *work, const char *path)
{
	return is_below_any(&work->away, path);
}

static int add_taken(struct ews_transition_work *work, const char *line)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	const char *name;
	int rc = split_moved(&path, &name, line);

	if (rc < 0)
		return rc;
	EWS_GROW(work->taken, work->n_taken, work->cap_taken);
	work->taken[work->n_taken++] = (struct ews_transition_taken){ line, name, ews_buf_steal(&path) };
	return 0;
}

/* What the try before this one brought back is not in trash any more, and stands in its place already. */
static int leave_out_brought_back(struct ews_transition_work *work)
{
	EWS_CLEANUP(fd) int trash = ews_transition_open_trash(work->repo, work->session, work->step->id);
	size_t kept = 0;

	if (trash < 0)
		return trash;
	for (size_t i = 0; i < work->n_taken; i++) {
		if (faccessat(trash, work->taken[i].name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
			work->taken[kept++] = work->taken[i];
		else
			free(work->taken[i].path);
	}
	work->n_taken = kept;
	return 0;
}

int ews_transition_find_taken(struct ews_transition_work *work)
{
	const struct ews_step *step = work->step;
	int rc = 0;

	for (size_t i = 0; i < step->moved.n && rc == 0; i++)
		rc = add_taken(work, step->moved.items[i]);
	for (size_t i = 0; i < step->stays.n && rc == 0; i++)
		if (is_due(step, step->stays.items[i]) && !ews_strv_has(&step->moved, step->stays.items[i]))
			rc = add_taken(work, step->stays.items[i]);
	if (rc == 0 && work->opts->is_retry && work->n_taken && !step->is_emptied)
		rc = leave_out_brought_back(work);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < work->n_taken && !step->is_emptied; i++)
		ews_strv_add(&work->returning, work->taken[i].path);
	if (work->returning.n)
		ews_strv_unique(&work->returning);
	return 0;
}

bool ews_transition_comes_back(const struct ews_transition_work *work, const char *path)
{
	return is_below_any(&work->returning, path);
}

/* Of one line: in its place and in trash. */
static int settle_line(const char *line, int root_fd, int trash_fd)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int above = -1;
	const char *name, *base;
	int rc = split_moved(&path, &name, line);

	if (rc == 0)
		rc = ews_file_settle(trash_fd, name);
	if (rc < 0)
		return rc;
	above = ews_dir_open_parent(root_fd, path.ptr, &base);
	return above < 0 ? ews_error_if_passing(above) : ews_file_settle(above, base);
}

int ews_transition_settle(struct ews_transition_work *work, int root_fd)
{
	const struct ews_step *step = work->step;
	const struct ews_strv *const lists[] = { &step->moving, &step->moved, &step->stays };
	EWS_CLEANUP(fd) int trash = -1;
	int rc = 0;

	if (step->is_emptied || !(step->moving.n + step->moved.n + step->stays.n))
		return 0;
	trash = ews_transition_open_trash(work->repo, work->session, step->id);
	if (trash < 0)
		return trash;
	for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++)
		for (size_t i = 0; i < lists[l]->n && rc == 0; i++)
			rc = settle_line(lists[l]->items[i], root_fd, trash);
	return rc;
}

/* Is `name` in the step's trash the repository of a copy, which has what nobody else has? */
static bool has_own_repository(const struct ews_transition_work *work, int trash_fd, const char *name)
{
	struct stat st;

	return work->session && work->session->method->owns_objects && !work->repo->is_plain &&
	       fstatat(trash_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

bool ews_transition_brings_repository_back(const struct ews_transition_work *work)
{
	bool is_named = work->returning.n && ews_strv_sorted_has(&work->returning, EWS_GITFILE);
	EWS_CLEANUP(fd)
	int trash = is_named ? ews_transition_open_trash(work->repo, work->session, work->step->id) : -1;
	bool found = false;

	ews_error_clear(); /* then it does not come back, as ews_transition_move_back() says */
	for (size_t i = 0; i < work->n_taken && trash >= 0 && !found; i++)
		found = !strcmp(work->taken[i].path, EWS_GITFILE) &&
			has_own_repository(work, trash, work->taken[i].name);
	return found;
}

static const char *why_away(const struct ews_transition_work *work, const char *path)
{
	const struct ews_skip *skip = ews_skips_covering(&work->now.scan.skips, path);

	if (!strcmp(path, EWS_GITFILE) && !work->repo->is_plain) {
		if (work->lacks_objects)
			return "lacks objects";
		return ews_transition_brings_repository_back(work) ? "in the way" : "rewritten";
	}
	return skip ? ews_skip_word(skip->reason) : "in the way";
}

static void name_kept(struct ews_transition_result *out, const struct ews_transition_work *work, const char *path)
{
	ews_path_line_add(&out->kept, path, why_away(work, path));
}

int ews_transition_move_away(struct ews_transition_result *out, struct ews_transition_work *work, int root_fd)
{
	EWS_CLEANUP(fd) int trash = -1;

	if (!work->step->moving.n)
		return 0;
	trash = ews_transition_open_trash(work->repo, work->session, work->step->id);
	if (trash < 0)
		return trash;
	for (size_t i = 0; i < work->step->moving.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const struct ews_entry *entry;
		const char *name;
		int rc = split_moved(&path, &name, work->step->moving.items[i]);

		if (rc == 0)
			rc = ews_put_away(root_fd, path.ptr, trash, name);
		/* Gone meanwhile, or moved by the try before this one. */
		if (rc == EWS_ENOTFOUND || (rc == EWS_EEXISTS && work->opts->is_retry)) {
			ews_error_clear();
			rc = 0;
		}
		if (rc < 0)
			return ews_error_wrap("cannot move '%s' to trash", path.ptr);
		/* What the snapshot has as well is a change like all others. */
		entry = ews_entries_find(&work->now.scan.entries, path.ptr);
		if (entry && entry->type == EWS_ENTRY_FILE)
			continue;
		name_kept(out, work, path.ptr);
		ews_transition_measure(out, trash, name);
	}
	return ews_file_sync_dir(trash);
}

void ews_transition_name_expired(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	for (size_t i = 0; i < work->n_taken && work->step->is_emptied; i++)
		if (!ews_entries_find(&work->target.scan.entries, work->taken[i].path))
			ews_path_line_add(&out->expired, work->taken[i].path, "was deleted from trash");
}

/* One path out of trash; its line goes to `stays` where it can't come back. */
static void move_one_back(struct ews_transition_result *out, struct ews_strv *stays,
			  const struct ews_transition_work *work, const struct ews_transition_taken *taken,
			  int root_fd, int trash_fd)
{
	int rc;

	/* The link to the store is ours; another's stays where it harms nobody. A copy's repository has what nobody else has. */
	if (!strcmp(taken->path, EWS_GITFILE) && !work->repo->is_plain &&
	    !has_own_repository(work, trash_fd, taken->name)) {
		ews_strv_add(&out->stays, EWS_GITFILE);
		return;
	}
	rc = ews_put_back(root_fd, taken->path, trash_fd, taken->name);
	if (rc == 0) {
		ews_strv_add(&out->restored, taken->path);
		return;
	}
	/* Not there any more: the try before this one brought it back. */
	if (rc != EWS_ENOTFOUND || faccessat(trash_fd, taken->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		ews_path_line_addf(&out->errors, taken->path, "stays in trash: %s", ews_error_message());
		ews_strv_add(stays, taken->line);
	}
	ews_error_clear();
}

int ews_transition_move_back(struct ews_transition_result *out, const struct ews_transition_work *work, int root_fd)
{
	EWS_CLEANUP(strv) struct ews_strv stays = EWS_STRV_INIT;
	struct ews_step *step = work->step;
	EWS_CLEANUP(fd) int trash = -1;

	if (step->is_emptied)
		ews_strv_clear(&step->stays);
	if (!work->n_taken || step->is_emptied)
		return 0;
	trash = ews_transition_open_trash(work->repo, work->session, step->id);
	if (trash < 0)
		return trash;
	for (size_t i = 0; i < work->n_taken; i++)
		move_one_back(out, &stays, work, &work->taken[i], root_fd, trash);
	for (size_t i = 0; i < step->stays.n; i++)
		if (!is_due(step, step->stays.items[i]))
			ews_strv_add(&stays, step->stays.items[i]);
	/* Written with the step, once it has turned. */
	ews_strv_clear(&step->stays);
	ews_strv_add_array(&step->stays, stays.items);
	return 0;
}

void ews_transition_name_back(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	for (size_t i = 0; i < work->n_taken && !work->step->is_emptied; i++)
		if (strcmp(work->taken[i].path, EWS_GITFILE) != 0 || work->repo->is_plain ||
		    ews_transition_brings_repository_back(work))
			ews_strv_add(&out->restored, work->taken[i].path);
}

void ews_transition_name_away(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	for (size_t i = 0; i < work->away.n; i++)
		name_kept(out, work, work->away.items[i]);
}
