/*
 * Registrations: see registration.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/registration.h"

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
#include "store/home.h"
#include "work/content.h"
#include "work/remains.h"
#include "work/session.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/snapshot.h"

#define ENTRIES "worktrees"
#define GITDIR_BYTES_MAX (64 * EWS_KIB)

/* Has it no entry at all, and is all else as we wrote it? */
static bool lacks_entry(const struct ews_session *session, int workspace_fd)
{
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *entry = ews_strfmt(ENTRIES "/%s", session->state.id);
	struct ews_place place = ews_session_place(session);

	if (faccessat(session->repo->common_fd, entry, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return false;
	return session->method->tampered(&bent, &place, workspace_fd) == 0 && ews_session_lacks_entry(&bent);
}

int ews_registration_last_seen(struct ews_snapshot *out, struct ews_content *content, struct ews_session *session)
{
	const char *last = session->state.last_snapshot;
	int rc = *last ? ews_snapshot_find(out, session->repo, last) : EWS_ENOTFOUND;

	if (rc == 0)
		rc = ews_snapshot_content(content, session->repo, out);
	if (rc == 0 && ews_gitstate_file(&content->git, "HEAD"))
		return 0;
	if (ews_error_if_passing(rc) < 0)
		return rc;
	ews_snapshot_release(out);
	ews_content_release(content);
	*content = (struct ews_content)EWS_CONTENT_INIT;
	rc = ews_snapshot_base(out, session);
	return rc < 0 ? rc : ews_snapshot_content(content, session->repo, out);
}

/* Does `session` go on, and lack its entry alone? */
static bool is_due(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int workspace = ews_session_open_workspace(session);
	bool is = session->method == &ews_method_worktree && session->state.state == EWS_STATE_ACTIVE &&
		  workspace >= 0 && lacks_entry(session, workspace);

	ews_error_clear(); /* whatever else is wrong with it is for others to say */
	return is;
}

int ews_registration_is_due(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = ews_session_open(&session, repo, id);

	return rc < 0 ? rc : is_due(&session);
}

int ews_registration_mend_one(struct ews_strv *done, struct ews_session *session)
{
	EWS_CLEANUP(fd) int workspace = -1;
	EWS_CLEANUP(snapshot) struct ews_snapshot seen = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	struct ews_place place = ews_session_place(session);
	int rc;

	if (!is_due(session))
		return 0;
	rc = workspace = ews_session_open_workspace(session);
	if (rc >= 0)
		rc = ews_registration_last_seen(&seen, &content, session);
	if (rc == 0)
		rc = session->method->repair(&place, workspace, &content.git);
	if (rc == 0)
		rc = ews_session_log(session, "recover", "its registration was gone and was written anew");
	if (rc == 0)
		ews_strv_addf(done,
			      "session '%s': its registration was gone and was written anew, with HEAD and index of %s",
			      session->state.id, seen.id);
	return rc;
}

static int mend(struct ews_strv *done, struct ews_session *session)
{
	int rc;

	if (!is_due(session))
		return 0;
	rc = ews_session_lock(session, "recover");
	if (rc == 0)
		rc = ews_registration_mend_one(done, session);
	/* Without a base there is nothing to take it from; whoever works with the session is told. */
	if (rc != EWS_EBUSY && rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	return 0;
}

int ews_registration_mend(struct ews_strv *done, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_session_ids(&ids, repo);

	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

		/* What can't be read, and what was interrupted, is looked at by itself. */
		if (ews_session_open(&session, repo, ids.items[i]) < 0 || ews_session_is_interrupted(&session)) {
			ews_error_clear();
			continue;
		}
		rc = mend(done, &session);
		if (rc < 0)
			return ews_error_wrap("the registration of session '%s'", ids.items[i]);
	}
	return rc;
}

/* An entry that leads into this home, and what it leads to. */
struct entry {
	const char *id;
	char *workspace;
	char *record; /* where the session's would be */
};

static void release_entry(struct entry *entry)
{
	free(entry->workspace);
	free(entry->record);
}

EWS_CLEANUP_DEFINE(entry, struct entry, release_entry)

/* Is it "<home>/working/<repo>/qe/<id>/.git" that the entry `id` leads to? */
static bool is_of_this_home(struct entry *out, const struct ews_repo *repo, int entry_fd, const char *id)
{
	EWS_CLEANUP(free) char *home = realpath(repo->home, NULL);
	EWS_CLEANUP(free) char *working = ews_path_join(home ? home : repo->home, EWS_HOME_WORKING);
	EWS_CLEANUP(free) char *end = ews_strfmt("/" EWS_WORKING_WORKSPACES "/%s/.git", id);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *plain = NULL;
	size_t len;

	if (ews_file_read(&text, entry_fd, "gitdir", GITDIR_BYTES_MAX) < 0) {
		ews_error_clear();
		return false;
	}
	ews_buf_rtrim(&text);
	plain = ews_path_absolute("/", text.ptr);
	len = strlen(working);
	if (strcmp(plain, text.ptr) != 0 || strncmp(text.ptr, working, len) != 0 || text.ptr[len] != '/' ||
	    text.len <= len + 1 + strlen(end) || strcmp(text.ptr + text.len - strlen(end), end) != 0)
		return false;
	len = text.len - strlen(end);
	if (memchr(text.ptr + strlen(working) + 1, '/', len - strlen(working) - 1))
		return false;
	out->id = id;
	out->workspace = ews_strndup(text.ptr, text.len - strlen("/.git"));
	out->record = ews_strfmt("%.*s/" EWS_WORKING_SESSIONS "/%s", (int)len, text.ptr, id);
	return true;
}

static int64_t idle_s(int entry_fd)
{
	static const char *const files[] = { "gitdir", "HEAD", "index", "logs/HEAD" };
	int64_t last_s = 0;
	struct stat st;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (fstatat(entry_fd, files[i], &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (ews_errno_is_passing(errno))
				return 0; /* it may have been touched just now */
		} else if (st.st_mtim.tv_sec > last_s) {
			last_s = st.st_mtim.tv_sec;
		}
	return ews_clock_now() - last_s;
}

/* What a session that is gone would be, as far as git knows it. */
static void imagine(struct ews_session *out, struct ews_repo *repo, const struct entry *entry)
{
	out->repo = repo;
	out->method = &ews_method_worktree;
	out->state = (struct ews_state){ .state = EWS_STATE_ACTIVE,
					 .id = ews_strdup(entry->id),
					 .method = ews_strdup(ews_method_worktree.name),
					 .workspace = ews_strdup(entry->workspace),
					 .base_snapshot = ews_strdup(""),
					 .last_snapshot = ews_strdup("") };
}

/* The id is free again, and trash lets go of it in its time. */
static int move_base(struct ews_session *session)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(free) char *trash = NULL;
	int rc = ews_snapshot_base(&base, session);

	if (rc == EWS_ENOTFOUND || rc == EWS_EDAMAGED) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return rc;
	trash = ews_strfmt(EWS_REF_TRASH "%s", base.id);
	rc = ews_odb_ref_swap(session->repo->odb, trash, NULL, &base.commit);
	if (rc == EWS_ESTALE || rc == EWS_EEXISTS) {
		ews_error_clear(); /* a call that was killed had come as far */
		rc = 0;
	}
	return rc < 0 ? rc : ews_odb_ref_swap(session->repo->odb, base.ref, &base.commit, NULL);
}

static int take_out(struct ews_repo *repo, const struct entry *entry, uint64_t size_bytes,
		    const struct ews_registration_opts *opts)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(remains) struct ews_remains kept = EWS_REMAINS_INIT;
	EWS_CLEANUP(free) char *what = NULL;
	struct ews_place place;
	int rc = ews_repo_make_dir(repo);

	imagine(&session, repo, entry);
	place = ews_session_place(&session);
	if (rc == 0)
		rc = ews_remains_keep(&kept, NULL, &session, opts->dry_run);
	if (rc == EWS_EDENIED) {
		opts->stays(opts->payload, entry->id, ews_error_message());
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return rc;
	what = ews_strfmt("a registration without session or workspace%s%s%s", rc ? "; its commits and index " : "",
			  rc ? (opts->dry_run ? "would be kept" : "are kept as ") : "",
			  kept.snapshot ? kept.snapshot : "");
	rc = opts->dry_run ? 0 : move_base(&session);
	if (rc == 0 && !opts->dry_run)
		rc = session.method->take_back(&place);
	if (rc == 0)
		opts->gone(opts->payload, entry->id, size_bytes, what);
	return rc;
}

static int clean_entry(struct ews_repo *repo, int entries_fd, const char *name,
		       const struct ews_registration_opts *opts)
{
	EWS_CLEANUP(entry) struct entry entry = { .workspace = NULL };
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(entries_fd, name);
	EWS_CLEANUP(free) char *why = NULL;
	struct ews_tree_size size = { 0, 0 };
	int rc;

	if (fd < 0 || ews_session_check_id(name) < 0 || !is_of_this_home(&entry, repo, fd, name)) {
		ews_error_clear();
		return 0;
	}
	rc = ews_file_is_there(AT_FDCWD, entry.record);
	if (rc != 0 || idle_s(fd) < opts->idle_s)
		return rc < 0 ? rc : 0;
	rc = ews_file_is_there(AT_FDCWD, entry.workspace);
	if (rc < 0)
		return rc;
	if (rc) {
		why = ews_strfmt("nothing is known of its session; its files are in %s", entry.workspace);
		opts->stays(opts->payload, name, why);
		return 0;
	}
	if (ews_file_measure_tree(&size, entries_fd, name) < 0)
		ews_error_clear(); /* a number for people */
	return take_out(repo, &entry, size.bytes, opts);
}

int ews_registration_clean(struct ews_repo *repo, const struct ews_registration_opts *opts)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->common_fd, ENTRIES);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);
	int rc = n < 0 ? (int)n : 0;

	if (fd < 0)
		ews_error_clear(); /* there are none */
	for (ssize_t i = 0; i < n && rc == 0; i++)
		rc = clean_entry(repo, fd, names.items[i].name, opts);
	return rc;
}
