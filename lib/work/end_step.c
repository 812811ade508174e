/*
 * The step of an end: see end_step.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/end_step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/sync.h"
#include "store/hardlink.h"
#include "store/home_workspace.h"
#include "store/journal.h"
#include "store/put.h"
#include "work/head_settle.h"
#include "work/holding.h"
#include "work/remains.h"
#include "work/session_place.h"
#include "work/snapshot.h"
#include "work/step_refs.h"
#include "work/transition.h"

#define TRASH_NAME "workspace"
#define INSTEAD_NAME "instead" /* what stood in the place of a workspace that was gone */

/* What is called `name` in `place`, as it is called in trash. */
static int find_trash_name(const char **out, int place, const char *name)
{
	struct stat st;

	*out = TRASH_NAME;
	if (fstatat(place, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : ews_error_os("cannot look at '%s'", name);
	if (!S_ISDIR(st.st_mode))
		*out = INSTEAD_NAME;
	return 0;
}

/* Rename between the workspace's place and the step's trash; harmless when already done. */
static int move_workspace(struct ews_session *session, const char *step_id, bool to_trash)
{
	const char *name = ews_path_base(session->state.workspace), *trash_name = TRASH_NAME;
	EWS_CLEANUP(fd) int trash = -1;
	EWS_CLEANUP(fd) int place = -1;
	int rc = to_trash ? ews_session_has_no_parent(session) : 0;

	/* With the directory that held it the workspace is gone, and so is the trash beside it. */
	if (rc != 0)
		return rc < 0 ? rc : 0;
	trash = ews_transition_open_trash(session->repo, session, step_id);
	place = trash < 0 ? -1 : ews_session_open_parent(session);
	if (trash < 0 || place < 0)
		return ews_error_code();
	rc = to_trash ? find_trash_name(&trash_name, place, name) : 0;
	if (rc == 0 && to_trash)
		rc = ews_file_rename_new(place, name, trash, trash_name);
	else if (rc == 0)
		rc = ews_file_rename_new(trash, TRASH_NAME, place, name);
	/* Done before; or, on the way to trash, taken away by somebody. */
	if (rc == EWS_ENOTFOUND && (to_trash || faccessat(place, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)) {
		ews_error_clear();
		rc = 0;
	}
	if (rc < 0)
		return ews_error_wrap(to_trash ? "cannot move the workspace to trash"
					       : "cannot bring the workspace back from trash");
	rc = ews_file_sync_dir(place);
	return rc < 0 ? rc : ews_file_sync_dir(trash);
}

static int set_state(struct ews_session *session, enum ews_session_state state)
{
	session->state.state = state;
	session->state.ended_s = state == EWS_STATE_ENDED ? ews_clock_now() : 0;
	if (state == EWS_STATE_ENDED)
		session->state.owner = (struct ews_kin)EWS_KIN_INIT;
	session->state.is_overruled = state == EWS_STATE_ENDED && session->method->is_project &&
				      session->repo->overruled;
	return ews_session_save(session);
}

/*
 * What somebody committed or staged in the workspace after its state was kept: git's entry, where it is now, pins nothing. It is kept with
 * what the step has of the workspace, and the step has that from then on.
 */
static int keep_late(struct ews_session *session, struct ews_step *step, struct ews_sync_group *group)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot since = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot late = EWS_SNAPSHOT_INIT;
	int rc = ews_snapshot_find(&since, session->repo,
				   *step->before ? step->before : session->state.base_snapshot);

	if (rc == 0)
		rc = ews_remains_are_late(session, &since);
	/* Nothing was kept of it, or nothing is there, or can be known any more. */
	if (rc == EWS_ENOTFOUND || rc == EWS_EDAMAGED) {
		ews_error_clear();
		return 0;
	}
	if (rc <= 0)
		return rc;
	rc = ews_sync_finish(group);
	if (rc == 0)
		rc = ews_remains_keep_late(&late, session, &since);
	if (rc < 0)
		return ews_error_wrap("cannot keep what was committed or staged meanwhile");
	ews_sync_begin(group);
	free(step->before);
	step->before = ews_strdup(late.id);
	return 0;
}

/* The workspace out of its place, git's entry of it with it, and the session's refs. */
static int take_out(struct ews_session *session, struct ews_step *step, struct ews_sync_group *group)
{
	struct ews_place place = ews_session_place(session);
	int rc = session->method->withdraw(&place);

	if (rc == 0 && !session->method->is_project)
		rc = move_workspace(session, step->id, true);
	if (rc == 0 && session->method == &ews_method_worktree)
		rc = keep_late(session, step, group);
	return rc < 0 ? rc : ews_step_refs_drop(session->repo, step);
}

/*
 * Outside of home a session is known by its mark for as long as its state does not say that it has ended. So that one is made
 * durable before; and the step is done after, or nobody would look for a mark that is left.
 */
static int take_mark(struct ews_session *session, struct ews_sync_group *group)
{
	int rc;

	if (session->method->is_project || ews_session_is_at_home(session))
		return 0;
	rc = ews_sync_finish(group);
	if (rc == 0)
		rc = ews_home_unmark_elsewhere(session->repo->home, session->state.workspace);
	if (rc == 0)
		ews_sync_begin(group);
	return rc;
}

/* The session's state and the step's, which say that it has ended. */
static int close_step(struct ews_session *session, struct ews_step *step, struct ews_sync_group *group)
{
	int rc = set_state(session, EWS_STATE_ENDED);

	if (rc == 0)
		rc = take_mark(session, group);
	/* What had no base yet, and no workspace any more, can't come back. */
	step->state = ews_step_keeps_nothing(step) ? EWS_STEP_EXPIRED : EWS_STEP_DONE;
	return rc < 0 ? rc : ews_step_write(session->repo->dir_fd, step);
}

int ews_end_is_unkept(const struct ews_session *session, const struct ews_step *step)
{
	int rc;

	/* One that came back is emptied as well: of that the snapshot has all. */
	if (step->state != EWS_STEP_PLANNED || !step->is_emptied || session->method->is_project)
		return 0;
	rc = ews_session_is_gone(session);
	return rc < 0 ? rc : !rc;
}

static int finish(struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc = ews_end_is_unkept(session, step);

	if (rc > 0)
		return ews_error(EWS_ESTALE, "its workspace is there after all, and nothing of it is kept");
	if (rc < 0)
		return rc;
	ews_sync_begin(&group);
	rc = take_out(session, step, &group);
	if (rc == 0)
		rc = close_step(session, step, &group);
	if (rc == 0)
		rc = ews_sync_finish(&group);
	if (rc < 0)
		return rc;
	if (ews_holding_drop(session->repo, session->state.id) < 0)
		ews_error_clear(); /* what has ended holds nothing, whatever lies there */
	return ews_journal_done(session->fd, step->id);
}

static int take_back(struct ews_transition_result *put, struct ews_session *session, struct ews_step *step);

/*
 * What can't be moved since trash and workspace are on different file systems will never be: it is as it was before then, and the
 * error stays.
 */
static int turn_back(struct ews_session *session, struct ews_step *step,
		     int (*turn)(struct ews_session *session, struct ews_step *step))
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (turn(session, step) < 0)
		ews_error_clear(); /* recover tries again */
	return ews_error_restore(&why);
}

static int take_all_back(struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(transition_result) struct ews_transition_result untold = EWS_TRANSITION_RESULT_INIT;

	return take_back(&untold, session, step);
}

int ews_end_finish(struct ews_session *session, struct ews_step *step)
{
	int rc = finish(session, step);

	return rc < 0 && ews_error_errno() == EXDEV ? turn_back(session, step, take_all_back) : rc;
}

int ews_end_prepare(struct ews_session *session, const struct ews_step *step)
{
	/* One that was killed at its last may have no mark any more, by which a state other than "ended" is believed. */
	int rc = session->state.state == EWS_STATE_ENDED ? 0 : set_state(session, EWS_STATE_ENDING);

	return rc < 0 ? rc : ews_step_refs_add(session->repo, step);
}

int ews_end_carry_out(struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = ews_end_prepare(session, step);
	if (rc == 0)
		rc = ews_sync_finish(&group);
	return rc < 0 ? rc : ews_end_finish(session, step);
}

/* The step's snapshot of the workspace, or, where nothing differed, its base. */
static int find_kept(struct ews_snapshot *out, struct ews_session *session, const struct ews_step *step)
{
	return *step->before ? ews_snapshot_find(out, session->repo, step->before) : ews_snapshot_base(out, session);
}

/* What that has. */
static int read_kept(struct ews_content *out, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot kept = EWS_SNAPSHOT_INIT;
	int rc = find_kept(&kept, session, step);

	return rc < 0 ? rc : ews_snapshot_content(out, session->repo, &kept);
}

static int fill_anew(struct ews_session *session, const struct ews_content *content, int trash_fd, const char *name)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries nothing = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(fd) int root = -1;
	const struct ews_hardlink_opts names = { .now = &nothing,
						 .want = &content->scan.entries,
						 .equal = ews_entry_equal };
	struct ews_put_opts put = {
		.odb = session->repo->odb, .source_fd = -1, .times = EWS_PUT_TIMES_KEEP, .owners = true
	};
	int rc;

	if (mkdirat(trash_fd, name, 0700) < 0)
		return ews_error_os("cannot make a directory in trash");
	put.root_fd = root = ews_dir_open_beneath(trash_fd, name);
	if (root < 0)
		return root;
	ews_changes_between(&changes, &nothing, &content->scan.entries, ews_entry_equal);
	ews_hardlinks_plan(&changes, &names);
	rc = ews_put(&report, &changes, &put);
	if (rc > 0)
		return ews_error(EWS_EIO, "cannot make it anew: %s", report.failed.items[0]);
	/* What is not permitted is left out, here as above. */
	if (rc == 0)
		rc = ews_content_write_root_xattrs(&report.lost_attrs, content, root);
	if (rc == 0 && fchmod(root, content->root_mode ? content->root_mode : 0755) < 0)
		rc = ews_error_os("cannot set the mode of the workspace");
	return rc;
}

/* What a workspace that is made anew from `content` will not have, "<path>\t<why>" each. */
static void name_expired(struct ews_strv *expired, const struct ews_session *session, const struct ews_step *step,
			 const struct ews_content *content)
{
	for (size_t i = 0; i < content->scan.skips.n; i++) {
		const struct ews_skip *skip = &content->scan.skips.items[i];

		if (skip->reason != EWS_SKIP_OWN)
			ews_path_line_add(expired, skip->path,
					  ews_skip_word(ews_skip_is_present(skip->reason) ? EWS_SKIP_IGNORED
											  : skip->reason));
	}
	if (step->is_git_lost)
		ews_strv_add(expired,
			     ".git\tbranches, reflogs and commits of its own, which were gone before the end");
	else if (session->method->owns_objects && !session->repo->is_plain)
		ews_strv_add(expired, ".git\tbranches and reflogs of its own; its commits are kept");
}

/* Need nothing be made anew, since the workspace is in trash, or back in its place? Returns 1 or 0, and fails where that can't be seen. */
static int is_there(const struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(free) char *trash = ews_transition_trash_path(session->repo, session, step->id);
	EWS_CLEANUP(free) char *there = ews_path_join(trash, TRASH_NAME);
	int rc = session->method->is_project ? 1 : ews_file_is_there(AT_FDCWD, there);

	return rc ? rc : ews_file_is_there(AT_FDCWD, session->state.workspace);
}

/*
 * Make the directory that trash held anew, in trash, from where it comes back as ever; `expired` gets what that will not
 * have. The record says so before, whoever had taken it away: nothing in it links it with the store.
 */
static int refill_trash(struct ews_strv *expired, struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(fd) int trash = -1;
	const char *half = TRASH_NAME ".new";
	int rc = is_there(session, step);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	trash = ews_transition_open_trash(session->repo, session, step->id);
	if (trash < 0)
		return trash;
	rc = read_kept(&content, session, step);
	if (rc == 0)
		name_expired(expired, session, step, &content);
	step->is_emptied = true;
	if (rc == 0)
		rc = ews_step_write(session->repo->dir_fd, step);
	if (rc == 0)
		rc = ews_file_remove_tree(trash, half);
	if (rc == 0)
		rc = fill_anew(session, &content, trash, half);
	if (rc == 0)
		rc = ews_file_rename_new(trash, half, trash, TRASH_NAME);
	return rc;
}

/* HEAD, index and the like as they were kept; when there was no registration to take them from, as they were at first. */
static int read_kept_git(struct ews_content *out, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	int rc = read_kept(out, session, step);

	if (rc < 0 || ews_gitstate_file(&out->git, "HEAD"))
		return rc;
	ews_content_release(out);
	*out = (struct ews_content)EWS_CONTENT_INIT;
	rc = ews_snapshot_base(&base, session);
	return rc < 0 ? rc : ews_snapshot_content(out, session->repo, &base);
}

/* A directory that was made anew has nothing yet that links it with the store. */
static int relink(struct ews_session *session, const struct ews_step *step)
{
	struct ews_place place = ews_session_place(session);
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int root = ews_session_open_workspace(session);
	int rc = root < 0 ? root : session->method->tampered(&bent, &place, root);

	if (rc < 0 || !bent.n)
		return rc;
	rc = read_kept_git(&content, session, step);
	/* Nobody knows any more where HEAD was: what there is are the files. */
	if (rc == EWS_EDAMAGED) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? rc : session->method->repair(&place, root, &content.git);
}

int ews_end_find_kept(struct ews_strv *expired, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	/* Where nothing differed it is the base that is wanted, which is one of the refs. */
	const bool is_base = !*step->before && step->refs.n;
	int rc = ews_step_refs_find(session->repo, step);

	if (rc == 0)
		rc = is_there(session, step);
	if (rc != 0 || (is_base && !expired))
		return rc < 0 ? rc : 0;
	rc = read_kept(&content, session, step);
	if (rc == 0 && expired)
		name_expired(expired, session, step, &content);
	if (is_base || (rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED))
		return rc;
	ews_error(EWS_ENOTFOUND, "what the end of session '%s' kept is gone: trash has let go of it",
		  session->state.id);
	return EWS_ENOTFOUND;
}

int ews_end_give_up(struct ews_session *session, struct ews_step *step)
{
	const int is_kept = is_there(session, step);
	int rc = is_kept < 0 ? is_kept : ews_step_refs_add(session->repo, step);

	if (is_kept >= 0 && rc == EWS_ENOTFOUND) {
		ews_error_clear(); /* there is nothing that could have a name */
		rc = 0;
	}
	if (rc == 0)
		rc = ews_end_finish(session, step);
	if (rc < 0 || is_kept)
		return rc;
	step->state = EWS_STEP_EXPIRED;
	return ews_step_write(session->repo->dir_fd, step);
}

/* Outside of home it is known by its mark. */
static int give_mark(const struct ews_session *session)
{
	if (session->method->is_project || ews_session_is_at_home(session))
		return 0;
	return ews_home_mark_elsewhere(session->repo->home, session->state.workspace, session->repo->dir,
				       session->state.id);
}

/* With the workspace in its place: git's entry of it. `is_bare`: nothing links it with the store. */
static int link_again(struct ews_session *session, const struct ews_step *step, bool is_bare)
{
	struct ews_place place = ews_session_place(session);
	int rc = session->method->restore(&place);

	/* It had none when it ended: somebody had taken it out. */
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		is_bare = true;
		rc = 0;
	}
	return rc == 0 && is_bare ? relink(session, step) : rc;
}

static int write_head(struct ews_strv *said, const struct ews_session *session, int admin,
		      const struct ews_head_was *was, const char *mark)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate git = EWS_GITSTATE_INIT;
	const struct ews_gitstate_file *head;
	struct ews_sharing sharing = EWS_SHARING_NONE;
	int rc = ews_gitstate_read_files(&git, admin);

	if (rc == 0)
		rc = ews_head_settle(&git, said, session, was, mark);
	if (rc <= 0)
		return rc;
	if (!session->method->owns_objects)
		sharing = ews_odb_sharing(session->repo->odb);
	head = ews_gitstate_file(&git, "HEAD");
	return ews_file_replace_shared(admin, "HEAD", head->data.ptr, head->data.len, sharing, NULL);
}

/* Its branch may have gone on while it was away. Where nobody knows any more where HEAD was it stays as it is. */
static int settle_head(struct ews_strv *said, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot kept = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(fd) int admin = -1;
	struct ews_head_was was = { &kept.head, false };
	int rc = find_kept(&kept, session, step);

	if (rc == 0)
		rc = admin = ews_session_open_admin(session);
	if (rc < 0)
		return ews_error_if_passing(rc);
	was.is_damaged = kept.is_head_damaged;
	return write_head(said, session, admin, &was, step->id);
}

/* git's state as the workspace will have it: that of the entry which git had; a copy that is made anew has what was kept. */
static int read_coming_git(struct ews_content *out, struct ews_session *session, const struct ews_step *step)
{
	struct ews_place place = ews_session_place(session);
	EWS_CLEANUP(fd) int admin = -1;

	if (session->method->owns_objects)
		return read_kept_git(out, session, step);
	admin = session->method->open_kept(&place, place.id, false);
	return admin < 0 ? admin : ews_gitstate_read_files(&out->git, admin);
}

/* What settle_head() will say. The branches of a copy are its own, and come back with it unless it is made anew, with the project's. */
static int foresee_head(struct ews_strv *said, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot kept = EWS_SNAPSHOT_INIT;
	struct ews_head_was was = { &kept.head, false };
	int rc = session->method->owns_objects ? is_there(session, step) : 0;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = find_kept(&kept, session, step);
	if (rc == 0)
		rc = read_coming_git(&content, session, step);
	if (rc < 0)
		return ews_error_if_passing(rc);
	was.is_damaged = kept.is_head_damaged;
	rc = ews_head_settle(&content.git, said, session, &was, step->id);
	return rc < 0 ? rc : 0;
}

int ews_end_foresee(struct ews_transition_result *put, struct ews_session *session, const struct ews_step *step)
{
	int rc = ews_end_find_kept(&put->expired, session, step);

	if (rc < 0 || session->method->is_project || session->repo->is_plain)
		return rc;
	return foresee_head(&put->branches, session, step);
}

int ews_end_call_off(struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(free) char *trash = ews_transition_trash_path(session->repo, session, step->id);
	int rc = ews_file_settle(AT_FDCWD, session->state.workspace);

	if (rc == 0)
		rc = ews_step_refs_move(session->repo, step, true);
	if (rc == 0)
		rc = give_mark(session);
	if (rc == 0)
		rc = link_again(session, step, true);
	if (rc == 0)
		rc = set_state(session, EWS_STATE_ACTIVE);
	if (rc == 0)
		rc = ews_step_remove(session->repo->dir_fd, step->id);
	if (rc < 0)
		return rc;
	(void)rmdir(trash); /* best effort: mostly there is none yet */
	return ews_journal_done(session->fd, step->id);
}

bool ews_end_is_back(const struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(strv) struct ews_strv tampered = EWS_STRV_INIT;
	bool is = step->is_emptied && !session->method->is_project && ews_session_is_gone(session) == 0 &&
		  ews_session_tampered(&tampered, session) == 0 &&
		  (!tampered.n || ews_session_lacks_entry(&tampered));

	ews_error_clear();
	return is;
}

static int take_back(struct ews_transition_result *put, struct ews_session *session, struct ews_step *step)
{
	bool is_project = session->method->is_project;
	int rc = ews_step_refs_move(session->repo, step, true);

	if (rc == 0 && !is_project)
		rc = refill_trash(&put->expired, session, step);
	if (rc == 0)
		rc = give_mark(session);
	if (rc == 0 && !is_project)
		rc = move_workspace(session, step->id, false);
	if (rc == 0)
		rc = link_again(session, step, step->is_emptied && !is_project);
	if (rc == 0 && !is_project && !session->repo->is_plain)
		rc = settle_head(&put->branches, session, step);
	if (rc == 0)
		rc = set_state(session, EWS_STATE_ACTIVE);
	if (rc < 0)
		return rc;
	step->state = EWS_STEP_UNDONE;
	rc = ews_step_write(session->repo->dir_fd, step);
	return rc < 0 ? rc : ews_journal_done(session->fd, step->id);
}

int ews_end_take_back(struct ews_transition_result *put, struct ews_session *session, struct ews_step *step)
{
	int rc = take_back(put, session, step);

	return rc < 0 && ews_error_errno() == EXDEV ? turn_back(session, step, finish) : rc;
}
