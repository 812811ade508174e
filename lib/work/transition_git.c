/*
 * Transitions of git's own state: HEAD, index, what was running.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition_work.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "store/gitfile.h"
#include "store/index.h"
#include "store/index_digest.h"
#include "work/history.h"
#include "work/session_place.h"
#include "work/stage.h"
#include "work/transition.h"

/* Is it about the workspace as a whole, not some paths of it? */
static bool moves_root(const struct ews_transition_work *work)
{
	return work->session && !work->opts->only && work->target.has_git;
}

bool ews_transition_stages(const struct ews_transition_work *work)
{
	return work->step->with_index && !work->session;
}

bool ews_transition_moves_git(const struct ews_transition_work *work)
{
	return moves_root(work) && !work->repo->is_plain;
}

/* Do both name the same, whatever is said of stat data? */
static bool is_index_alike(const struct ews_gitstate *a, const struct ews_gitstate *b, enum ews_hash_algo algo)
{
	uint8_t a_digest[EWS_SHA256_LEN], b_digest[EWS_SHA256_LEN];

	if (!a->has_index || !b->has_index)
		return false;
	ews_index_digest_bytes(a_digest, a->index.ptr, a->index.len, algo);
	ews_index_digest_bytes(b_digest, b->index.ptr, b->index.len, algo);
	/* Of one that is split the digest says nothing of what it names. */
	return !memcmp(a_digest, b_digest, sizeof(a_digest)) || ews_index_is_alike(a, b, algo);
}

static bool is_no_index(void *payload, const char *name)
{
	(void)payload;
	return !ews_gitstate_is_of_index(name);
}

/* Did git but refresh it, and write it anew? With the same bytes the file tells that from one whose time could not be set. */
static bool is_refreshed(const struct ews_transition_work *work, const struct ews_gitstate *is, int admin)
{
	const struct ews_gitstate *wanted = &work->target.git;
	bool has_other_bytes = is->index.len != wanted->index.len ||
			       memcmp(is->index.ptr, wanted->index.ptr, is->index.len) != 0;
	struct stat st;

	return is_index_alike(wanted, is, ews_odb_algo(work->repo->odb)) &&
	       (has_other_bytes || (fstatat(admin, "index", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				    ews_index_put_was_replaced(&work->index_put, &st)));
}

int ews_transition_compare_git(struct ews_strv *out, const struct ews_transition_work *work,
			       struct ews_content *content)
{
	const struct ews_gitstate *wanted = &work->target.git;
	int rc = ews_content_compare_git(out, content, work->session, wanted);

	if (rc == 0 && work->opts->accepts_refreshed && ews_strv_has(out, "index") &&
	    is_index_alike(wanted, &content->git, ews_odb_algo(work->repo->odb)))
		ews_strv_filter(out, is_no_index, NULL);
	return rc;
}

void ews_transition_pass_by_refreshed(struct ews_strv *names, const struct ews_transition_work *work,
				      const struct ews_content *content)
{
	EWS_CLEANUP(fd) int admin = ews_session_open_admin(work->session);
	EWS_CLEANUP(strv) struct ews_strv all = *names;

	*names = (struct ews_strv)EWS_STRV_INIT;
	for (size_t i = 0; i < all.n; i++) {
		const char *name = all.items[i];
		bool is_passing = ews_gitstate_is_lock(name) && admin >= 0 && ews_gitstate_outwait_lock(admin, name);

		if (ews_gitstate_is_of_index(name))
			is_passing = is_refreshed(work, &content->git, admin);
		if (!is_passing)
			ews_strv_add(names, name);
	}
	ews_error_clear(); /* where nothing can be looked at nothing has passed */
}

bool ews_transition_differs_in_root_owner(const struct ews_transition_work *work, const struct ews_content *content)
{
	const struct ews_content *target = &work->target;

	return moves_root(work) && work->step->with_owners && target->has_root_owner &&
	       (content->root_uid != target->root_uid || content->root_gid != target->root_gid);
}

bool ews_transition_differs_in_root(const struct ews_transition_work *work, const struct ews_content *content)
{
	return moves_root(work) && ews_content_root_mode_differs(content, &work->target);
}

bool ews_transition_differs_in_root_xattrs(const struct ews_transition_work *work, const struct ews_content *content)
{
	return moves_root(work) && ews_content_root_xattrs_differ(content, &work->target);
}

int ews_transition_refuse_locked(const struct ews_transition_work *work)
{
	bool moves = ews_transition_moves_git(work) && ews_transition_is_in_project(work);

	return ews_transition_stages(work) || moves ? ews_stage_refuse_locked(work->repo) : 0;
}

int ews_transition_adopt(struct ews_transition_work *work, struct ews_strv *differences)
{
	int rc = ews_history_adopt(work->session, NULL, &work->now.git);

	if (rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	work->lacks_objects = true;
	ews_strv_add(differences, EWS_GITFILE);
	return 0;
}

/* Where what was under way is kept that the step put away when it turned this way, or the other. The caller frees it. */
static char *kept_name(const struct ews_transition_work *work, bool other)
{
	bool undoing = work->step->state == EWS_STEP_UNDOING;

	return ews_strfmt("%s.%c", work->step->id, undoing != other ? 'u' : 'f');
}

/*
 * Open what an earlier move of the step put away, mostly nothing (`*out` -1), and list the names that come back. What has a
 * number was begun when the step had been killed, and stays in trash.
 */
static int open_put_away(int *out, struct ews_strv *names, const struct ews_transition_work *work)
{
	EWS_CLEANUP(free) char *name = kept_name(work, true);
	EWS_CLEANUP(dir_names) struct ews_dir_names all = EWS_DIR_NAMES_INIT;
	struct ews_place place = ews_session_place(work->session);
	ssize_t n;

	*out = work->session->method->open_kept(&place, name, false);
	if (*out < 0)
		return ews_error_if_passing(*out);
	n = ews_dir_names_read(&all, *out);
	for (ssize_t i = 0; i < n; i++)
		if (ews_gitstate_is_name(all.items[i].name))
			ews_strv_add(names, all.items[i].name);
	return n < 0 ? (int)n : 0;
}

/* Each that may be moved as a whole, as a rebase is. */
static int settle_all(int fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names all = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&all, fd);
	int rc = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n && rc == 0; i++)
		if (ews_gitstate_is_name(all.items[i].name))
			rc = ews_file_settle(fd, all.items[i].name);
	return rc;
}

int ews_transition_settle_git(const struct ews_transition_work *work)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int admin = -1;
	EWS_CLEANUP(fd) int away = -1;
	int rc;

	if (!work->session || work->repo->is_plain)
		return 0;
	admin = ews_session_open_admin(work->session);
	rc = admin < 0 ? ews_error_if_passing(admin) : settle_all(admin);
	if (rc == 0)
		rc = open_put_away(&away, &names, work);
	return rc < 0 || away < 0 ? rc : settle_all(away);
}

/* Is another commit being picked or reverted, or does either begin or end? */
static bool moves_pick(const struct ews_transition_work *work)
{
	static const char *const names[] = { "CHERRY_PICK_HEAD", "REVERT_HEAD" };
	bool moves = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct ews_gitstate_file *was = ews_gitstate_file(&work->target.git, names[i]);
		const struct ews_gitstate_file *is = ews_gitstate_file(&work->now.git, names[i]);

		moves = moves || !was != !is || (was && !ews_gitstate_is_same_left(was, is));
	}
	return moves;
}

/*
 * Does what is there of that name stay? In place whatever it is, but for a sequencer that is at another commit than the one that
 * comes back: it would go on as though its own were done.
 */
static bool stays(const struct ews_transition_work *work, const struct ews_gitstate_file *was,
		  const struct ews_gitstate_file *is)
{
	if (!is || ews_gitstate_is_same_left(was, is))
		return is != NULL;
	return work->session->method->is_project && (strcmp(was->name, "sequencer") != 0 || !moves_pick(work));
}

/* What stays and has gone on no longer fits what is put back beside it: git would go on from there, and leave out what lies between. */
static void name_gone_on(struct ews_transition_result *out, const struct ews_gitstate_file *was,
			 const struct ews_gitstate_file *is)
{
	if (!ews_gitstate_is_same_left(was, is) && !ews_gitstate_is_lock(was->name))
		ews_strv_addf(&out->not_covered, "%s\t" EWS_TRANSITION_GONE_ON, was->name);
}

int ews_transition_plan_left(struct ews_transition_result *out, struct ews_transition_work *work)
{
	struct ews_gitstate *target = &work->target.git;
	EWS_CLEANUP(strv) struct ews_strv away = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	int rc = open_put_away(&fd, &away, work);

	work->brings_back = away.n > 0;
	for (size_t i = 0; i < target->left.n;) {
		const struct ews_gitstate_file *was = &target->left.items[i];
		const struct ews_gitstate_file *is = ews_gitstate_left(&work->now.git, was->name);
		const struct ews_gitstate_file *held = ews_gitstate_file(&work->now.git, was->name);

		/* Older snapshots hold no head of a cherry-pick, and say but that there was one. */
		if (held && ews_gitstate_is_under_way(held->name) && work->session->method->is_project) {
			ews_gitstate_set_file(target, held->name, held->data.ptr, held->data.len);
			ews_gitstate_drop_left(target, held->name);
			continue;
		}
		if (stays(work, was, is)) {
			name_gone_on(out, was, is);
			ews_gitstate_set_left(target, is->name, is->data.ptr, is->data.len);
		} else if (!ews_strv_has(&away, was->name)) {
			/* A lock is nobody's work, and never comes back. */
			if (!ews_gitstate_is_lock(was->name))
				ews_strv_addf(&out->not_covered, "%s\tof git, %s then: no snapshot holds it",
					      was->name, ews_gitstate_why_left(was));
			ews_gitstate_drop_left(target, was->name);
			continue;
		}
		i++;
	}
	return rc;
}

size_t ews_transition_name_strange(struct ews_transition_result *out, const struct ews_transition_work *work,
				   int admin_fd)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

	if (ews_transition_moves_git(work))
		ews_gitstate_list_strange(&names, &work->target.git, &work->now.git);
	for (size_t i = 0; i < names.n; i++) {
		ews_strv_addf(&out->kept, "%s\tof git, %s", names.items[i],
			      ews_gitstate_why_left(ews_gitstate_left(&work->now.git, names.items[i])));
		if (admin_fd >= 0)
			ews_transition_measure(out, admin_fd, names.items[i]);
	}
	return names.n;
}

/* A rebase or the like that an earlier move took out of the entry goes on where it was. */
static int bring_back(struct ews_transition_work *work, int admin_fd)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int away = -1;
	int rc = open_put_away(&away, &names, work);

	for (size_t i = 0; i < names.n && rc == 0; i++) {
		rc = ews_file_rename_new(away, names.items[i], admin_fd, names.items[i]);
		/* Begun anew meanwhile: that one holds. */
		if (rc == EWS_EEXISTS) {
			ews_error_clear();
			rc = 0;
		}
		if (rc == 0)
			rc = ews_gitstate_note(&work->target.git, admin_fd, names.items[i]);
	}
	return rc;
}

/* Mode, attributes and, where that is asked for, owner of the directory itself. */
static int write_root(struct ews_transition_result *out, const struct ews_transition_work *work, int root_fd)
{
	bool dresses = ews_transition_differs_in_root_xattrs(work, &work->now);
	struct stat st;
	int rc;

	if (ews_transition_differs_in_root_owner(work, &work->now))
		(void)fchown(root_fd, work->target.root_uid, work->target.root_gid); /* the proof says whose it is */
	rc = dresses ? ews_content_write_root_xattrs(&out->lost_attrs, &work->target, root_fd) : 0;
	if (rc < 0 || (!dresses && !ews_transition_differs_in_root(work, &work->now)) || !work->target.root_mode)
		return rc;
	/* It may belong to another user, and is as it was; or an access list that came or went has changed it. */
	if (fstat(root_fd, &st) == 0 && (st.st_mode & 07777) == work->target.root_mode)
		return 0;
	return fchmod(root_fd, work->target.root_mode) < 0 ? ews_error_os("cannot set the mode of the workspace") : 0;
}

/*
 * Is the index that `admin_fd` has, which is read into `since` beside the files, another than the one that was kept? Of one that git has
 * refreshed nothing is lost.
 */
static int index_changed_since(const struct ews_transition_work *work, struct ews_gitstate *since, int admin_fd)
{
	const struct ews_gitstate *kept = work->index_is_lent ? &work->target.git : &work->now.git;
	struct stat st;
	int rc;

	if (fstatat(admin_fd, "index", &st, AT_SYMLINK_NOFOLLOW) == 0 && ews_gitstate_may_have_index(kept, &st))
		return 0;
	rc = ews_gitstate_read_index(since, admin_fd);
	if (rc < 0)
		return rc;
	return (since->has_index || kept->has_index) && !is_index_alike(kept, since, ews_odb_algo(work->repo->odb));
}

/*
 * Did somebody stage, commit or begin something since the present state was kept? Then git's state is his, as a file is that he
 * writes meanwhile. What is not there, or was put away, is made anew. Returns 1 or 0; below zero: nobody can tell. With `lock` it stays so.
 */
static int has_changed_since(const struct ews_transition_work *work, int admin, const struct ews_index_lock *lock)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate since = EWS_GITSTATE_INIT;
	int rc;

	if (admin < 0)
		return ews_error_if_passing(admin);
	if (work->lacks_objects || ews_transition_is_away(work, EWS_GITFILE))
		return 0;
	rc = ews_gitstate_read_files(&since, admin);
	if (rc < 0)
		return rc;
	ews_gitstate_drop_lock(&since, lock);
	if (!ews_gitstate_has_same_files(&work->now.git, &since))
		return 1;
	rc = index_changed_since(work, &since, admin);
	return rc != 0 ? rc : ews_transition_head_has_moved(work);
}

/*
 * From here on nobody stages anything, who goes by the lock as git does. A lock of git's that comes and goes is nobody's work: it is waited
 * for, and one that was there when the present state was kept, and has gone, was not there. Where it stays whoever has it may be at it
 * still, and then the index is his, or it is one that was there before, and makes way; or it can't be written, which is found then.
 */
static void lock_index(struct ews_index_lock *lock, struct ews_transition_work *work, int admin)
{
	if (ews_gitstate_outwait_lock(admin, "HEAD.lock"))
		ews_gitstate_drop_left(&work->now.git, "HEAD.lock");
	if (ews_index_lock_take(lock, admin) == 0)
		ews_gitstate_drop_left(&work->now.git, EWS_INDEX_LOCK);
	else
		ews_error_clear();
}

static int write_state(struct ews_transition_result *out, struct ews_transition_work *work, int admin,
		       struct ews_index_lock *lock)
{
	struct ews_session *session = work->session;
	EWS_CLEANUP(free) char *away = kept_name(work, false);
	EWS_CLEANUP(fd) int keep = -1;
	struct ews_sharing sharing = EWS_SHARING_NONE;
	struct ews_place place = ews_session_place(session);
	int rc;

	if (ews_transition_name_strange(out, work, admin)) {
		keep = session->method->open_kept(&place, away, true);
		if (keep < 0)
			return keep;
	}
	/* A copy's git directory is its own. */
	if (!session->method->owns_objects)
		sharing = ews_odb_sharing(session->repo->odb);
	rc = ews_gitstate_write(&work->target.git, admin, keep, sharing, lock);
	return rc < 0 ? rc : ews_transition_restore_branches(out, work);
}

int ews_transition_write_git(struct ews_transition_result *out, struct ews_transition_work *work, int root_fd)
{
	EWS_CLEANUP(fd) int before = -1;
	EWS_CLEANUP(fd) int admin = -1;
	EWS_CLEANUP(index_lock) struct ews_index_lock lock = EWS_INDEX_LOCK_INIT;
	struct ews_place place;
	int changed;
	int rc = write_root(out, work, root_fd);

	if (rc < 0 || !ews_transition_moves_git(work))
		return rc;
	before = ews_session_open_admin(work->session);
	if (before >= 0)
		lock_index(&lock, work, before);
	changed = has_changed_since(work, before, &lock);
	if (changed < 0)
		return changed;
	place = ews_session_place(work->session);
	rc = work->session->method->repair(&place, root_fd, &work->target.git);
	if (rc < 0)
		return rc;
	admin = work->session->method->open_git(&place, root_fd);
	if (admin < 0)
		return admin;
	/* Of what is left to its owner the proof says that it is not as it should be; what was under way goes on from no other state. */
	if (changed)
		return ews_transition_leave_branches(out, work);
	rc = write_state(out, work, admin, &lock);
	work->index_put = lock.put;
	/* A lock that had made way may come back. */
	ews_index_lock_release(&lock);
	return rc < 0 ? rc : bring_back(work, admin);
}

/* Those of the wanted paths that an index may hold, on either side, and of them those that go; sorted. */
static void list_staged(struct ews_strv *out, struct ews_strv *gone, const struct ews_transition_work *work)
{
	for (const char *const *path = work->only; path && *path; path++) {
		const struct ews_entry *now = ews_entries_find(&work->now.scan.entries, *path);
		const struct ews_entry *then = ews_entries_find(&work->target.scan.entries, *path);
		bool comes = then && (then->type == EWS_ENTRY_FILE || then->type == EWS_ENTRY_LINK);
		bool has_gone = !then || then->type == EWS_ENTRY_DIR;
		bool was_there = now && now->type != EWS_ENTRY_DIR;

		/* What takes the place of a directory takes that of its entries, too; and the other way round they come. */
		if (comes)
			ews_strv_add(out, *path);
		/* The try before this one may have removed it. */
		else if (has_gone && (was_there || work->opts->is_retry || work->step->is_incomplete))
			ews_strv_add(gone, *path);
	}
}

/*
 * Is what the index is to have at the paths what it had before: before the step, or before the undo that is taken back? On a dry run the
 * step has not begun to turn.
 */
static bool was_kept_staged(const struct ews_transition_work *work)
{
	enum ews_step_state state = work->step->state;
	bool undoes = state == EWS_STEP_UNDOING || state == EWS_STEP_DONE;
	bool redoes = state == EWS_STEP_REDOING || state == EWS_STEP_UNDONE;

	return undoes || (redoes && work->target.git.has_index);
}

static bool is_wanted(const void *payload, const char *path)
{
	return ews_transition_is_wanted(payload, path);
}

int ews_transition_list_displaced(struct ews_strv *out, const struct ews_transition_work *work)
{
	if (!ews_transition_stages(work) || !was_kept_staged(work))
		return 0;
	return ews_stage_list_displaced(out, work->repo, &work->now.git, &work->target.git, is_wanted, work);
}

/* Is it a path that the project has not, now that it is as it was? */
static bool is_gone(const void *payload, const char *path)
{
	const struct ews_transition_work *work = payload;

	return ews_transition_is_wanted(work, path) && !ews_entries_find(&work->target.scan.entries, path);
}

/*
 * What a sparse checkout has not came into the project by the step, and git took it for part of the checkout: without the files it
 * would say that they were deleted. The index is its user's, though: where it can't be written all else is as it was.
 */
static void leave_out_again(const struct ews_transition_work *work)
{
	enum ews_step_state state = work->step->state;
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	if (work->session || work->repo->is_plain || work->repo->is_bare ||
	    (state != EWS_STEP_UNDOING && state != EWS_STEP_REDOING))
		return;
	ews_error_save(&saved);
	(void)ews_stage_leave_out(work->repo, &work->target.git, is_gone, work); /* as said above */
	(void)ews_error_restore(&saved);
}

int ews_transition_write_index(const struct ews_transition_work *work)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv gone = EWS_STRV_INIT;

	if (!ews_transition_stages(work)) {
		leave_out_again(work);
		return 0;
	}
	if (!was_kept_staged(work)) {
		list_staged(&paths, &gone, work);
		return ews_stage_add(work->repo, &paths, &gone);
	}
	for (const char *const *path = work->only; path && *path; path++)
		ews_strv_add(&paths, *path);
	return ews_stage_restore(work->repo, &work->target.git, &paths);
}
