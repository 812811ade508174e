/*
 * Start: see start.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/start.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sync.h"
#include "store/convert.h"
#include "store/hardlink.h"
#include "store/home.h"
#include "store/put.h"
#include "store/reserve.h"
#include "work/chain.h"
#include "work/epoch.h"
#include "work/first_look.h"
#include "work/pending.h"
#include "work/retire.h"
#include "work/rules.h"
#include "work/submodule.h"
#include "work/tripwire.h"
#include "work/twin.h"
#include "work/user_hook.h"

#define MADE_FILE "made" /* in the session's directory: the workspace is our own making */

void ews_start_result_release(struct ews_start_result *result)
{
	ews_session_release(&result->session);
	ews_snapshot_release(&result->base);
	ews_skips_release(&result->skips);
	ews_ignored_release(&result->ignored);
	ews_strv_release(&result->notes);
}

static int refuse_taken(const char *what, const char *id)
{
	ews_error(EWS_EEXISTS, "%s '%s' already exists", what, id);
	ews_error_hint("choose another id, or leave it out and one is made");
	return EWS_EEXISTS;
}

/* The ended session that bore the id bears it again; the error that led here is what the caller hears. */
static void give_id_back(struct ews_repo *repo, const char *id)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	(void)ews_retire_revive_last(repo, id);
	(void)ews_error_restore(&saved);
}

/* The session's directory is the claim to the id: of two starts one makes it. */
static int claim_id(struct ews_session *session, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, "sessions");
	EWS_CLEANUP(fd) int locks = ews_repo_subdir(repo, "locks");
	EWS_CLEANUP(free) char *rel = ews_strfmt("sessions/%s", id);
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", id);
	struct ews_oid base;
	int rc;

	if (sessions < 0 || locks < 0)
		return sessions < 0 ? sessions : locks;
	rc = ews_lock_take(&session->lock, locks, id, "start", 0);
	if (rc < 0)
		return ews_error_wrap("session '%s'", id);
	rc = ews_retire(repo, id);
	if (rc < 0)
		return rc;
	rc = session->method->check_free(&(struct ews_place){ .id = id, .common_fd = repo->common_fd });
	if (rc == 0 && ews_odb_ref_read(&base, repo->odb, ref) == 0)
		rc = refuse_taken("of another home a session", id);
	if (rc == 0 && mkdirat(sessions, id, 0700) < 0)
		rc = errno == EEXIST ? refuse_taken("session", id) : ews_error_os("cannot make session '%s'", id);
	if (rc < 0) {
		give_id_back(repo, id);
		return rc;
	}
	ews_error_clear();
	session->repo = repo;
	session->dir = ews_path_join(repo->dir, rel);
	session->fd = ews_dir_open_beneath(sessions, id);
	return session->fd < 0 ? session->fd : 0;
}

/* A workspace inside the project is part of it, but for the one place there that is ours, which nothing looks at. */
static int check_outside(const struct ews_repo *repo, const char *path)
{
	EWS_CLEANUP(free) char *own = ews_path_join(repo->project, ".superqode");

	if (repo->is_bare || !ews_path_is_inside(path, repo->project) || ews_path_is_inside(path, own))
		return 0;
	ews_error(EWS_EUSAGE, "'%s' lies inside the project, which would see the workspace as its own files", path);
	ews_error_hint("name a directory outside of '%s', or below its '.superqode'", repo->project);
	return EWS_EUSAGE;
}

/* The directory that the workspace will lie in, made when missing; gives its real path. */
static int choose_parent(char **out, struct ews_repo *repo, const char *in)
{
	EWS_CLEANUP(free) char *cwd = getcwd(NULL, 0);
	EWS_CLEANUP(free) char *own = ews_path_join(repo->project, ".superqode");
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(free) char *real = NULL;
	EWS_CLEANUP(fd) int home_fd = -1;
	int rc;

	if (!in) {
		home_fd = ews_repo_subdir(repo, "qe");
		if (home_fd < 0)
			return home_fd;
		real = realpath(repo->dir, NULL);
		*out = ews_path_join(real ? real : repo->dir, "qe");
		return 0;
	}
	path = ews_path_absolute(cwd ? cwd : "/", in);
	rc = check_outside(repo, path);
	if (rc == 0 && ews_path_is_inside(path, own))
		rc = ews_repo_make_own_dir(repo);
	if (rc == 0)
		rc = ews_dir_make_absolute(path, 0777);
	if (rc < 0)
		return ews_error_wrap("cannot make '%s'", path);
	real = realpath(path, NULL);
	if (!real)
		return ews_error_os("cannot find '%s'", path);
	rc = check_outside(repo, real);
	if (rc == 0)
		*out = ews_steal(&real);
	return rc;
}

/* Where `start` was told to put it; NULL: below home. */
static const char *chosen_place(const struct ews_session *session, const struct ews_start_opts *opts)
{
	if (opts->in)
		return opts->in;
	return session->method == &ews_method_snapshot ? opts->location : NULL;
}

static int refuse_standing(const char *parent, const char *id)
{
	EWS_CLEANUP(free) char *path = ews_path_join(parent, id);
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	ews_error(EWS_EEXISTS, "'%s' already exists", path);
	ews_error_hint("choose another id or another place");
	return EWS_EEXISTS;
}

/* The repository's lock: ours while we look at the project, so that nobody who holds it deep is at work there. */
static int hold(struct ews_held *out, struct ews_repo *repo, const struct ews_start_opts *opts,
		const struct ews_method *method)
{
	const struct ews_holding_opts take = { .mode = opts->lock ? opts->lock : ews_holding_usual(method),
					       .within = ews_holding_within(repo),
					       .intent = opts->intent };

	return ews_holding_take(out, repo, &take);
}

/* From here on it is the session's. */
static int hand_over(struct ews_session *session, const struct ews_start_opts *opts, const struct ews_held *held)
{
	EWS_CLEANUP(held) struct ews_held none = EWS_HELD_INIT;
	const struct ews_holding_opts take = { .mode = opts->lock ? opts->lock : ews_holding_usual(session->method),
					       .session = session->state.id,
					       .is_owned = opts->owner,
					       .within = ews_holding_within(session->repo),
					       .beside = held->id,
					       .intent = opts->intent };

	return ews_holding_take(&none, session->repo, &take);
}

/* The session's state, and the name of its directory. `payload` is the session. */
static int save_first(void *payload)
{
	struct ews_session *session = payload;
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(session->repo, "sessions");
	int rc = sessions;

	ews_sync_begin(&group);
	if (rc >= 0)
		rc = ews_file_sync_dir(sessions);
	if (rc == 0)
		rc = ews_session_save(session);
	return rc < 0 ? rc : ews_sync_finish(&group);
}

/* Take the id and its place, and say what the session is; save_first() makes that durable. */
static int claim(struct ews_start_result *out, struct ews_repo *repo, const struct ews_start_opts *opts,
		 const char *id)
{
	struct ews_session *session = &out->session;
	struct ews_state *state = &session->state;
	EWS_CLEANUP(free) char *parent = NULL;
	EWS_CLEANUP(buf) struct ews_buf exclude = EWS_BUF_INIT;
	int rc = ews_rules_exclude_text(&exclude, repo, NULL);

	if (rc == 0 && !session->method->is_project)
		rc = choose_parent(&parent, repo, chosen_place(session, opts));
	if (rc == 0 && parent)
		rc = refuse_standing(parent, id);
	if (rc == 0)
		rc = claim_id(session, repo, id);
	if (rc < 0)
		return rc;
	state->state = EWS_STATE_STARTING;
	state->id = ews_strdup(id);
	state->method = ews_strdup(session->method->name);
	state->project = ews_strdup(repo->project);
	state->git_dir = ews_strdup(repo->git_dir);
	state->workspace = parent ? ews_path_join(parent, id) : ews_strdup(repo->project);
	state->base_snapshot = ews_clock_id("snap", state->created_s);
	state->parent_snapshot = opts->from ? ews_clock_id("snap", state->created_s) : ews_strdup("");
	state->base_commit = ews_strdup("");
	state->branch = ews_strdup("");
	state->intent = ews_strdup(opts->intent ? opts->intent : "");
	state->label = ews_strdup(opts->label ? opts->label : "");
	state->last_snapshot = ews_strdup(opts->from ? state->parent_snapshot : state->base_snapshot);
	state->exclude = ews_strdup(exclude.ptr);
	state->copies_objects = opts->copy_objects;
	state->keeps_nested = !opts->skip_nested;
	state->guard_level = ews_strdup("");
	state->guard_policy = ews_strdup("");
	return opts->owner ? ews_session_own(session, opts->owner) : 0;
}

/* It stands there for all to see: then nobody may stand in its way, and what was held until now is its own. */
static int enter(struct ews_session *session, const struct ews_start_opts *opts, const struct ews_held *held)
{
	int rc = ews_session_refuse_company(session);

	return rc < 0 ? rc : hand_over(session, opts, held);
}

static int begin(struct ews_start_result *out, struct ews_repo *repo, const struct ews_start_opts *opts,
		 const char *id, const struct ews_held *held)
{
	int rc = claim(out, repo, opts, id);

	if (rc == 0)
		rc = save_first(&out->session);
	return rc < 0 ? rc : enter(&out->session, opts, held);
}

/* From here on what is there is ours to remove again. */
static int claim_workspace(const struct ews_session *session, int parent_fd)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = ews_file_sync_dir(parent_fd);
	if (rc == 0)
		rc = ews_file_replace(session->fd, MADE_FILE, "", 0, 0600);
	return rc < 0 ? rc : ews_sync_finish(&group);
}

/* Make the empty workspace, with the permissions that the project's top has. Returns its descriptor. */
static int make_workspace(struct ews_session *session, int source_fd, bool is_elsewhere)
{
	struct ews_repo *repo = session->repo;
	const char *path = session->state.workspace;
	EWS_CLEANUP(fd) int parent = -1;
	struct stat st;
	mode_t mode = 0777;
	int fd, rc;

	if (source_fd >= 0 && fstat(source_fd, &st) == 0)
		mode = (st.st_mode & 0777) | 0700;
	if (is_elsewhere) {
		rc = ews_home_mark_elsewhere(repo->home, path, repo->dir, session->state.id);
		if (rc < 0)
			return rc;
	}
	parent = ews_session_open_parent(session);
	if (parent < 0)
		return parent;
	if (mkdirat(parent, session->state.id, mode) < 0)
		return ews_error_os("cannot make the workspace '%s'", path);
	rc = claim_workspace(session, parent);
	if (rc < 0)
		return rc;
	fd = openat(parent, session->state.id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Whatever the umask says. */
	if (fd < 0 || fchmod(fd, mode) < 0)
		return ews_error_os("cannot open the workspace '%s'", path);
	return fd;
}

/* A workspace that begins at a commit, or another's state, begins with nothing else, unless it is asked for. */
static enum ews_keep_ignored keep_ignored(const struct ews_start_opts *opts)
{
	bool is_elsewhere = opts->base || opts->from;

	return opts->keep_ignored == EWS_KEEP_IGNORED_AUTO && is_elsewhere ? EWS_KEEP_IGNORED_NO : opts->keep_ignored;
}

/* The twin's own files and the ignored ones that come along, as one list: directories get their times when all is in them. */
static void list_new(struct ews_changes *out, const struct ews_entries *list, const struct ews_entries *ignored)
{
	EWS_CLEANUP(entries) struct ews_entries nothing = EWS_ENTRIES_INIT;

	ews_changes_between(out, &nothing, list, ews_entry_equal);
	if (!ignored->n)
		return;
	ews_changes_between(out, &nothing, ignored, ews_entry_equal);
	ews_changes_sort(out);
}

/* What could not be copied of the ignored files is left out, by name. Returns whether all that failed was such. */
static bool drop_failed(struct ews_ignored *ignored, struct ews_twin *twin, const struct ews_strv *failed)
{
	for (size_t i = 0; i < failed->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *line = failed->items[i];
		size_t len = strcspn(line, "\t");

		if (ews_path_unescape(&path, line, len) < 0 ||
		    ews_entries_find(&twin->content.scan.entries, path.ptr))
			return false;
		ews_strv_addf(&twin->notes, "an ignored file was left out: %.*s: %s", (int)len, line, line + len + 1);
		ews_ignored_drop(ignored, &twin->content, path.ptr);
	}
	return failed->n > 0;
}

/*
 * Fill the workspace from the project's files where they still are what was scanned, else from objects. Returns 1, or 0 when
 * some attribute was lost.
 */
static int fill(struct ews_session *session, struct ews_twin *twin, struct ews_ignored *ignored,
		const struct ews_start_opts *opts, int *workspace_fd)
{
	struct ews_repo *repo = session->repo;
	struct ews_entries *list = &twin->content.scan.entries;
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(fd) int source = repo->is_bare ? -1 : ews_dir_open(repo->project);
	EWS_CLEANUP(fd) int root = make_workspace(session, source, chosen_place(session, opts));
	struct ews_put_opts put = { .root_fd = root,
				    .odb = repo->odb,
				    .source_fd = source,
				    .more_stats = &ignored->entries,
				    .times = EWS_PUT_TIMES_KEEP,
				    .progress = opts->progress,
				    .payload = opts->payload };
	int rc;

	if (root < 0)
		return root;
	rc = ews_ignored_choose(ignored, repo, &twin->content, root, keep_ignored(opts), &twin->notes);
	if (rc < 0)
		return rc;
	list_new(&changes, list, &ignored->entries);
	rc = ews_put(&report, &changes, list, &put);
	for (size_t i = 0; i < report.lost_attrs.n; i++)
		ews_strv_addf(&twin->notes, "an attribute could not be set: %s", report.lost_attrs.items[i]);
	if (rc == EWS_EIO && drop_failed(ignored, twin, &report.failed)) {
		ews_error_clear();
		rc = 0;
	}
	if (rc < 0 && report.failed.n)
		return ews_error(rc, "cannot fill the workspace: %s", report.failed.items[0]);
	if (rc < 0)
		return rc;
	*workspace_fd = ews_steal_fd(&root);
	return !report.lost_attrs.n;
}

/* The index with the new files' stat data; its own time lies behind theirs, so that nothing is racy. */
static void set_index(struct ews_twin *twin, const struct ews_repo *repo, int workspace_fd)
{
	struct ews_gitstate *git = &twin->content.git;
	struct timespec now;
	struct stat st;
	gid_t gid = getegid();

	if (fstat(workspace_fd, &st) == 0 && (st.st_mode & S_ISGID))
		gid = st.st_gid;
	ews_buf_truncate(&git->index, 0);
	ews_twin_format_index(&git->index, twin, ews_odb_algo(repo->odb), gid);
	clock_gettime(CLOCK_REALTIME, &now);
	git->has_index = true;
	git->index_mtime_s = now.tv_sec;
	git->index_mtime_ns = (uint32_t)now.tv_nsec;
}

static void count_bytes(struct ews_scan *scan)
{
	scan->size_bytes = 0;
	for (size_t i = 0; i < scan->entries.n; i++)
		if (scan->entries.items[i].type == EWS_ENTRY_FILE || scan->entries.items[i].type == EWS_ENTRY_LINK)
			scan->size_bytes += scan->entries.items[i].size;
}

/* `commit` is the base's; what is in the result is the snapshot that the workspace begins with. */
static int keep_base(struct ews_oid *commit, struct ews_start_result *out, struct ews_batch *batch,
		     struct ews_twin *twin, struct ews_chain *chain, const struct ews_start_opts *opts)
{
	const struct ews_session *session = &out->session;
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	struct ews_snapshot_opts keep = { .id = session->state.base_snapshot,
					  .session = session,
					  .subject = opts->subject,
					  .prefix = EWS_REF_SESSIONS };
	int rc;

	if (!chain) {
		rc = ews_snapshot_keep(&out->base, session->repo, batch, &twin->content, &keep);
		*commit = out->base.commit;
		return rc;
	}
	rc = ews_chain_keep_parent(chain, batch, &twin->content, session, session->state.parent_snapshot);
	if (rc < 0)
		return rc;
	keep.parent = chain->parent.id;
	ews_snapshot_copy(&out->base, &chain->parent);
	rc = ews_snapshot_keep(&base, session->repo, batch, &chain->first, &keep);
	*commit = base.commit;
	return rc;
}

/* What a workspace is prepared with. */
struct preparing {
	const struct ews_method *method;
	const struct ews_place *place;
	int workspace_fd;
	const struct ews_gitstate *git;
};

static int prepare(void *payload)
{
	const struct preparing *with = payload;

	return with->method->prepare(with->place, with->workspace_fd, with->git);
}

/*
 * Registration beside and base snapshot, then registration in: the base's ref is there before git knows the worktree. All that
 * was filled in waits for the first sync after it, so meanwhile the snapshot is made.
 */
static int publish(struct ews_oid *commit, struct ews_start_result *out, struct ews_batch *batch,
		   struct ews_twin *twin, struct ews_chain *chain, int workspace_fd,
		   const struct ews_start_opts *opts)
{
	struct ews_session *session = &out->session;
	struct ews_repo *repo = session->repo;
	struct ews_place place = ews_session_place(session);
	struct preparing with = { session->method, &place, workspace_fd, &twin->content.git };
	EWS_CLEANUP(beside) struct ews_beside preparing = EWS_BESIDE_INIT;
	struct stat st;
	int rc;

	if (!repo->is_plain)
		set_index(twin, repo, workspace_fd);
	ews_beside_begin(&preparing, prepare, &with);
	count_bytes(&twin->content.scan);
	if (fstat(workspace_fd, &st) == 0)
		ews_content_set_root(&twin->content, &st);
	ews_hardlinks_find(&twin->content.scan.entries);
	ews_manifest_hash(twin->content.hash, &twin->content.scan.entries);
	rc = keep_base(commit, out, batch, twin, chain, opts);
	if (rc == 0)
		rc = ews_beside_end(&preparing);
	return rc < 0 ? rc : session->method->publish(&place);
}

static int settle(struct ews_start_result *out, struct ews_twin *twin, const struct ews_oid *base_commit)
{
	struct ews_session *session = &out->session;
	EWS_CLEANUP(tripwire) struct ews_tripwire tripwire = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_tripwire_take(&tripwire, session->repo);

	ews_sync_begin(&group);
	if (rc == 0)
		rc = ews_tripwire_write(session->fd, &tripwire);
	if (rc == 0)
		rc = ews_ignored_write(session->fd, &out->ignored);
	if (rc < 0)
		return rc;
	free(session->state.base_commit);
	free(session->state.branch);
	session->state.base_commit = ews_strdup(ews_oid_is_none(base_commit) ? "" : ews_oid_hex(hex, base_commit));
	session->state.branch = ews_strdup(twin->branch);
	session->state.state = EWS_STATE_ACTIVE;
	rc = ews_session_log(session, "start", session->state.workspace);
	if (rc == 0)
		rc = ews_session_save(session);
	return rc < 0 ? rc : ews_sync_finish(&group);
}

/* Only a directory that we made goes with what is in it; another that stands there is somebody's. */
static int remove_workspace(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int parent_fd = ews_session_open_parent(session);
	int rc = 0;

	assert(!session->method->is_project);
	if (parent_fd >= 0 && faccessat(session->fd, MADE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		rc = ews_file_remove_tree(parent_fd, session->state.id);
	else if (parent_fd >= 0)
		(void)unlinkat(parent_fd, session->state.id, AT_REMOVEDIR); /* killed right after mkdir: it is empty */
	return rc < 0 ? rc : ews_home_unmark_elsewhere(session->repo->home, session->state.workspace);
}

/* What a chained session was to begin with is no snapshot that anybody has asked for. */
static int forget_parent(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SNAPSHOTS "%s", session->state.parent_snapshot);
	const struct ews_oid none = EWS_OID_NONE;
	struct ews_oid there;

	if (!*session->state.parent_snapshot)
		return 0;
	if (ews_odb_ref_read(&there, session->repo->odb, ref) < 0) {
		ews_error_clear();
		return 0;
	}
	return ews_odb_ref_swap(session->repo->odb, ref, &there, &none);
}

int ews_start_take_back(struct ews_session *session)
{
	struct ews_repo *repo = session->repo;
	struct ews_place place = ews_session_place(session);
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", session->state.id);
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, "sessions");
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	const struct ews_oid none = EWS_OID_NONE;
	int rc = session->method->take_back(&place);

	if (rc == 0 && !session->method->is_project)
		rc = remove_workspace(session);
	if (rc < 0)
		return rc;
	if (ews_snapshot_find(&base, repo, ref) == 0 && !strcmp(base.id, session->state.base_snapshot))
		rc = ews_odb_ref_swap(repo->odb, ref, &base.commit, &none);
	else
		ews_error_clear();
	if (rc == 0)
		rc = forget_parent(session);
	if (rc < 0 || sessions < 0)
		return rc < 0 ? rc : sessions;
	rc = ews_holding_drop(repo, session->state.id);
	if (rc >= 0)
		rc = ews_file_remove_tree(sessions, session->state.id);
	return rc < 0 ? rc : ews_retire_revive_last(repo, session->state.id);
}

/* A start that came to nothing leaves nothing; its own error is what the caller hears. */
static void take_back(struct ews_session *session)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	(void)ews_start_take_back(session); /* what it can't do, recover will */
	(void)ews_error_restore(&saved);
}

/* The project must be as it was before; what changed is somebody else's doing, and is named. */
/* What was recorded for the session just now is how the project stands after all. */
static int compare_tripwire(struct ews_start_result *out, const struct ews_tripwire *before)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire after = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(strv) struct ews_strv changed = EWS_STRV_INIT;
	int rc = ews_tripwire_read(&after, out->session.fd);

	if (rc == 0)
		rc = ews_tripwire_compare(&changed, before, &after);
	for (size_t i = 0; i < changed.n; i++)
		ews_strv_addf(&out->notes, "the project changed meanwhile: %s", changed.items[i]);
	return rc < 0 ? rc : 0;
}

/* Files that come from objects, as git stores them: those that a filter would have changed. */
static void list_stored(struct ews_strv *out, const struct ews_entries *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].type == EWS_ENTRY_FILE && !list->items[i].has_stat)
			ews_strv_add(out, list->items[i].path);
}

/* Does the user's or the system's own config name a program for it? Then it was run. */
static bool is_users_filter(const char *filter)
{
	static const char *const programs[] = { "smudge", "process" };
	bool found = false;

	for (size_t i = 0; i < 2 && !found; i++) {
		EWS_CLEANUP(free) char *key = ews_strfmt("filter.%s.%s", filter, programs[i]);
		EWS_CLEANUP(free) char *value = NULL;

		found = ews_odb_config_user(&value, key) == 0 && *value;
		ews_error_clear();
	}
	return found;
}

static void name_filtered(struct ews_twin *twin, const struct ews_strv *filtered, bool run_filters)
{
	for (size_t i = 0; i < filtered->n; i++) {
		char *tab = strrchr(filtered->items[i], '\t');

		*tab = '\0';
		if (run_filters && is_users_filter(tab + 1))
			continue;
		ews_strv_addf(&twin->notes, "'%s' comes as git stores it: the filter '%s' is not run",
			      filtered->items[i], tab + 1);
	}
}

/* What the workspace's files that come from objects are written with. */
struct rewrite {
	struct ews_batch *batch;
	int workspace_fd;
};

/* Write a file as git would have checked it out; that is what the base holds, then. */
static int rewrite_file(void *payload, struct ews_entry *entry, const void *data, size_t len)
{
	struct rewrite *rewrite = payload;
	const char *name;
	EWS_CLEANUP(fd) int dir = ews_dir_open_parent(rewrite->workspace_fd, entry->path, &name);
	struct stat st;
	int rc = dir < 0 ? dir : ews_batch_add(&entry->oid, rewrite->batch, EWS_OBJECT_BLOB, data, len);

	if (rc == 0)
		rc = ews_file_replace(dir, name, data, len, entry->mode);
	if (rc < 0)
		return ews_error_wrap("cannot write '%s'", entry->path);
	if (fchmodat(dir, name, entry->mode, 0) < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot set the mode of '%s'", entry->path);
	ews_entry_set_stat(entry, &st);
	return 0;
}

/*
 * Files from objects get the line ends and the encoding that git would give them. The stat data of `stored` are those of the
 * new files by now, so what is stored is told by that list.
 */
static int convert_stored(struct ews_twin *twin, const struct ews_start_result *out, struct ews_batch *batch,
			  const struct ews_strv *stored, int workspace_fd, bool run_filters)
{
	const struct ews_session *session = &out->session;
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(strv) struct ews_strv filtered = EWS_STRV_INIT;
	struct rewrite rewrite = { batch, workspace_fd };
	const struct ews_convert convert = { .odb = session->repo->odb,
					     .home = session->repo->home,
					     .work_tree = session->state.workspace,
					     .all = out->ignored.entries.n ? NULL : &twin->content.scan.entries,
					     .run_filters = run_filters,
					     .take = rewrite_file,
					     .payload = &rewrite,
					     .filtered = &filtered };
	int rc;

	for (size_t i = 0; i < stored->n; i++)
		ews_entries_add_copy(&list, ews_entries_find(&twin->content.scan.entries, stored->items[i]))->has_stat =
			false;
	rc = stored->n ? ews_convert(&convert, &list) : 0;
	name_filtered(twin, &filtered, run_filters);
	for (size_t i = 0; i < list.n && rc == 0; i++) {
		struct ews_entry *entry = ews_entries_find(&twin->content.scan.entries, list.items[i].path);
		const char *path = entry->path, *xattrs = entry->xattrs;

		if (!list.items[i].has_stat)
			continue;
		*entry = list.items[i];
		entry->path = path;
		entry->xattrs = xattrs;
	}
	return rc < 0 ? rc : ews_batch_commit(batch);
}

/* A link of the workspace through which one would write into the project after all. */
static void name_links_back(struct ews_twin *twin, const struct ews_session *session, const struct ews_entries *list)
{
	const char *workspace = session->state.workspace;

	for (size_t i = 0; i < list->n; i++) {
		EWS_CLEANUP(free) char *path = NULL;
		EWS_CLEANUP(free) char *dir = NULL;
		EWS_CLEANUP(free) char *target = NULL;
		char text[PATH_MAX];
		ssize_t len;

		if (list->items[i].type != EWS_ENTRY_LINK)
			continue;
		path = ews_path_join(workspace, list->items[i].path);
		dir = ews_path_dir(path);
		len = readlink(path, text, sizeof(text) - 1);
		if (len < 0)
			continue;
		text[len] = '\0';
		target = ews_path_absolute(dir, text);
		if (ews_path_is_inside(target, session->repo->project) && !ews_path_is_inside(target, workspace))
			ews_strv_addf(
				&twin->notes,
				"the link '%s' leads into the project: what is written through it is written there",
				list->items[i].path);
	}
}

/* What did not come along is named, and no matter to the base; of what is there that knows at least that it is. */
static void part_skips(struct ews_start_result *out, struct ews_skips *skips, const struct ews_strv *filled)
{
	size_t kept = 0;

	for (size_t i = 0; i < skips->n; i++) {
		const struct ews_skip skip = skips->items[i];
		bool is_nested = skip.reason == EWS_SKIP_REPOSITORY;
		bool is_there = skip.reason == EWS_SKIP_PRESENT || (is_nested && ews_strv_has(filled, skip.path));

		if (!is_there)
			ews_skips_add(&out->skips, skip.path, skip.reason, skip.size);
		if (is_there || !is_nested)
			skips->items[kept++] = skip;
	}
	skips->n = kept;
	/* A commit's submodule need not have been looked at in the project. */
	for (size_t i = 0; i < filled->n; i++)
		if (!ews_skips_covering(skips, filled->items[i]))
			ews_skips_add(skips, filled->items[i], EWS_SKIP_REPOSITORY, 0);
	ews_skips_sort(skips);
}

static int fill_submodules(struct ews_start_result *out, struct ews_twin *twin)
{
	EWS_CLEANUP(strv) struct ews_strv filled = EWS_STRV_INIT;
	const struct ews_session *session = &out->session;
	struct ews_place place = ews_session_place(session);
	int rc = 0;

	if (!session->repo->is_bare)
		rc = ews_submodule_fill_all(&filled, &twin->notes, &twin->content, &place, session->repo->project);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < filled.n; i++)
		ews_strv_addf(&twin->notes, "the submodule '%s' came along; no snapshot looks into it",
			      filled.items[i]);
	part_skips(out, &twin->content.scan.skips, &filled);
	return 0;
}

/* All is there but the word that it may begin, which the user's hook has. */
static int admit(const struct ews_session *session, const struct ews_start_opts *opts)
{
	const struct ews_user_hook_about about = { .command = opts->command, .status = -1 };

	return ews_user_hook_start(session, &about);
}

/* The commit of the project's that the session's work began at. */
static const struct ews_oid *first_commit(const struct ews_twin *twin, const struct ews_chain *chain)
{
	static const struct ews_oid none = EWS_OID_NONE;

	if (chain)
		return &chain->first_commit;
	return twin->is_unborn ? &none : &twin->head;
}

/* `chain` is NULL where the project is what it begins with. */
static int make(struct ews_start_result *out, struct ews_batch *batch, struct ews_twin *twin,
		struct ews_chain *chain, const struct ews_start_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv stored = EWS_STRV_INIT;
	EWS_CLEANUP(first_look) struct ews_first_look look = EWS_FIRST_LOOK_INIT;
	EWS_CLEANUP(fd) int workspace_fd = -1;
	struct ews_first_look_opts look_opts = { .put = &twin->content,
						 .base = chain ? &chain->first : &twin->content };
	int rc;

	ews_twin_mark_clean(twin);
	/* A state has files as they were in a workspace, not as git stores them. */
	if (!chain)
		list_stored(&stored, &twin->content.scan.entries);
	rc = fill(&out->session, twin, &out->ignored, opts, &workspace_fd);
	if (rc < 0)
		return rc;
	look_opts.is_exact = rc;
	name_links_back(twin, &out->session, &twin->content.scan.entries);
	name_links_back(twin, &out->session, &out->ignored.entries);
	rc = fill_submodules(out, twin);
	if (rc == 0)
		rc = convert_stored(twin, out, batch, &stored, workspace_fd, opts->run_filters);
	if (rc == 0)
		rc = publish(&look_opts.base_commit, out, batch, twin, chain, workspace_fd, opts);
	if (rc < 0)
		return rc;
	/* Nothing of ours is written there after this; what the user's hook writes is a change. */
	ews_first_look_begin(&look, &out->session, &look_opts);
	rc = admit(&out->session, opts);
	if (rc == 0)
		rc = settle(out, twin, first_commit(twin, chain));
	return rc;
}

static int choose_method(const struct ews_method **out, const struct ews_repo *repo, const struct ews_start_opts *opts)
{
	const struct ews_method *method = opts->method;

	if (!method)
		method = repo->is_plain ? &ews_method_snapshot : &ews_method_worktree;
	*out = method;
	if (method == &ews_method_worktree && repo->is_plain) {
		ews_error(EWS_EUNSUPPORTED, "'%s' is no git repository, and has no worktrees", repo->project);
		ews_error_hint("--method snapshot makes a copy of a plain directory");
		return EWS_EUNSUPPORTED;
	}
	if (opts->copy_objects && (method != &ews_method_snapshot || repo->is_plain)) {
		ews_error(EWS_EUSAGE, "--copy-objects is for independent copies of git repositories");
		ews_error_hint("--method snapshot makes one");
		return EWS_EUSAGE;
	}
	if (opts->from && (opts->base || opts->only || opts->uncommitted >= 0 || opts->untracked >= 0)) {
		ews_error(EWS_EUSAGE, "with --from nothing comes from the project itself");
		ews_error_hint("leave out --base, --uncommitted, --untracked and paths");
		return EWS_EUSAGE;
	}
	if (!method->is_project)
		return 0;
	if (repo->is_bare)
		return ews_error(EWS_EUNSUPPORTED, "'%s' is a bare repository: there is no place to work in",
				 repo->project);
	if (opts->base || opts->from || opts->in || opts->only || opts->uncommitted == 0 || opts->untracked == 0 ||
	    opts->keep_ignored == EWS_KEEP_IGNORED_NO) {
		ews_error(EWS_EUSAGE, "in place the project is worked on as it is");
		ews_error_hint(
			"leave out --base, --from, --in, --no-uncommitted, --no-untracked, --keep-ignored=no and paths");
		return EWS_EUSAGE;
	}
	return 0;
}

/* A copy of another session's state, or of a snapshot. */
static int start_chained(struct ews_start_result *result, struct ews_batch *batch, struct ews_twin *twin,
			 struct ews_repo *repo, const struct ews_start_opts *opts, const char *id,
			 const struct ews_held *held)
{
	EWS_CLEANUP(chain) struct ews_chain chain = EWS_CHAIN_INIT;
	int rc = ews_epoch_look(&result->session.state.epoch, repo);

	if (rc == 0)
		rc = ews_chain_choose(twin, &chain, repo, opts->from);
	if (rc == 0)
		rc = begin(result, repo, opts, id, held);
	return rc < 0 ? rc : make(result, batch, twin, &chain, opts);
}

/* A copy: chosen while it is made durable that the session begins, its objects durable, then the workspace is filled. */
static int start_copy(struct ews_start_result *result, struct ews_batch *batch, struct ews_twin *twin,
		      struct ews_repo *repo, const struct ews_start_opts *opts, const char *id,
		      const struct ews_held *held)
{
	bool uncommitted = opts->uncommitted < 0 ? !opts->base : opts->uncommitted;
	EWS_CLEANUP(beside) struct ews_beside saving = EWS_BESIDE_INIT;
	int64_t epoch = -1;
	struct ews_twin_opts choose = { .base = opts->base,
					.uncommitted = uncommitted,
					.untracked = opts->untracked < 0 ? uncommitted : opts->untracked,
					.partial = opts->partial,
					.skip_nested = opts->skip_nested,
					.ignored = opts->keep_ignored == EWS_KEEP_IGNORED_YES,
					.only = opts->only,
					.epoch = &epoch,
					.progress = opts->progress,
					.payload = opts->payload };
	int rc = claim(result, repo, opts, id);

	if (rc < 0)
		return rc;
	/* A bare repository has nothing but its commits. */
	if (repo->is_bare)
		choose.uncommitted = choose.untracked = false;
	ews_beside_begin(&saving, save_first, &result->session);
	rc = ews_twin_choose(twin, repo, batch, &choose);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	if (rc == 0)
		rc = ews_beside_end(&saving);
	if (rc == 0)
		rc = enter(&result->session, opts, held);
	result->session.state.epoch = epoch;
	return rc < 0 ? rc : make(result, batch, twin, NULL, opts);
}

/* In place nothing is made but the base: all that stands there, ignored files as well. */
static int start_in_place(struct ews_start_result *result, struct ews_batch *batch, struct ews_twin *twin,
			  struct ews_repo *repo, const struct ews_start_opts *opts, const char *id,
			  const struct ews_held *held)
{
	struct ews_content_opts now = { .into_repositories = !opts->skip_nested,
					.partial = opts->partial,
					.progress = opts->progress,
					.payload = opts->payload };
	EWS_CLEANUP(first_look) struct ews_first_look look = EWS_FIRST_LOOK_INIT;
	struct ews_first_look_opts look_opts = { .base = &twin->content };
	int rc = ews_epoch_look(&result->session.state.epoch, repo);

	if (rc == 0)
		rc = begin(result, repo, opts, id, held);
	if (rc == 0)
		rc = ews_content_now(&twin->content, repo, &result->session, batch, &now);
	if (rc == 0)
		rc = ews_twin_find_head(twin, repo);
	if (rc == 0)
		rc = keep_base(&look_opts.base_commit, result, batch, twin, NULL, opts);
	if (rc == 0)
		rc = ews_content_save_cache(&twin->content, repo, &result->session);
	if (rc < 0)
		return rc;
	ews_first_look_begin(&look, &result->session, &look_opts);
	rc = admit(&result->session, opts);
	return rc < 0 ? rc : settle(result, twin, first_commit(twin, NULL));
}

typedef int (*way_fn)(struct ews_start_result *result, struct ews_batch *batch, struct ews_twin *twin,
		      struct ews_repo *repo, const struct ews_start_opts *opts, const char *id,
		      const struct ews_held *held);

static way_fn choose_way(const struct ews_method *method, const struct ews_start_opts *opts)
{
	if (method->is_project)
		return start_in_place;
	return opts->from ? start_chained : start_copy;
}

int ews_start(struct ews_start_result *out, struct ews_repo *repo, const struct ews_start_opts *opts)
{
	EWS_CLEANUP(start_result) struct ews_start_result result = EWS_START_RESULT_INIT;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(held) struct ews_held held = EWS_HELD_INIT;
	EWS_CLEANUP(free) char *id = opts->id ? ews_strdup(opts->id) : ews_clock_id("qe", ews_clock_now());
	int rc = ews_session_check_id(id);

	/* Before anything is looked at: what changes in the project from here on may not be in the workspace. */
	result.session.state.created_s = ews_clock_now();
	result.session.state.epoch = -1;
	if (rc == 0)
		rc = choose_method(&result.session.method, repo, opts);
	if (rc == 0 && result.session.method->is_project && opts->lock == EWS_HOLDING_QUICK)
		rc = ews_error(EWS_EUSAGE, "who works in the project itself holds the deep lock, not the quick one");
	if (rc == 0 && !opts->force)
		rc = ews_repo_refuse_home(repo->project);
	if (rc == 0)
		rc = ews_repo_need_dir(repo, true);
	if (rc == 0)
		rc = hold(&held, repo, opts, result.session.method);
	if (rc == 0)
		rc = ews_tripwire_take(&before, repo);
	if (rc == 0)
		ews_reserve_make(repo->home);
	if (rc == 0)
		rc = choose_way(result.session.method, opts)(&result, batch, &twin, repo, opts, id, &held);
	if (rc < 0) {
		if (result.session.fd >= 0)
			take_back(&result.session);
		return ews_error_wrap("cannot start '%s'", id);
	}
	result.notes = twin.notes;
	twin.notes = (struct ews_strv)EWS_STRV_INIT;
	if (result.session.method->is_project) {
		result.skips = twin.content.scan.skips;
		twin.content.scan.skips = (struct ews_skips)EWS_SKIPS_INIT;
	}
	rc = compare_tripwire(&result, &before);
	if (rc < 0)
		return rc;
	*out = result;
	result = (struct ews_start_result)EWS_START_RESULT_INIT;
	return 0;
}
