/*
 * Doctor, of registrations: see doctor_registration.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_registration.h"

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
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/git.h"
#include "store/home.h"
#include "store/home_project.h"
#include "store/home_workspace.h"
#include "store/linked.h"
#include "store/lock.h"
#include "store/state.h"
#include "store/step.h"
#include "work/retire.h"

#define REGISTRATIONS "registrations"
#define ENTRIES "worktrees"
#define LINK_BYTES_MAX (64 * EWS_KIB)
#define LOG_BYTES_MAX (64 * EWS_MIB)

/* What an entry says of itself. */
struct entry {
	const char *id;
	char *workspace; /* "" when it does not say */
	bool is_ours;
	bool is_whole; /* has what git wants to see in one */
};

static void release_entry(struct entry *entry)
{
	free(entry->workspace);
}

EWS_CLEANUP_DEFINE(entry, struct entry, release_entry)

static char *read_line(int fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (ews_file_read(&text, fd, name, LINK_BYTES_MAX) < 0)
		ews_error_clear();
	ews_buf_rtrim(&text);
	return ews_buf_steal(&text);
}

static bool is_file(int fd, const char *name)
{
	return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static char *working_dir(const struct ews_patient *patient)
{
	EWS_CLEANUP(free) char *real = realpath(patient->home, NULL);

	return ews_path_join(real ? real : patient->home, EWS_HOME_WORKING);
}

static int read_entry(struct entry *out, const struct ews_patient *patient, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_path_join(ENTRIES, id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(patient->repo->common_fd, rel);
	EWS_CLEANUP(free) char *locked = NULL;
	EWS_CLEANUP(free) char *link = NULL;
	EWS_CLEANUP(free) char *working = working_dir(patient);

	if (fd < 0)
		return fd;
	locked = read_line(fd, "locked");
	link = read_line(fd, "gitdir");
	out->id = id;
	out->workspace = ews_path_dir(link);
	out->is_ours = ews_str_begins(locked, EWS_LINKED_LOCKED_BY) || ews_path_is_inside(link, working);
	out->is_whole = is_file(fd, "HEAD") && is_file(fd, "commondir") && *link;
	return 0;
}

/* Is it there, or where only another user may look, as in root's home? */
static bool has_workspace(const struct entry *entry)
{
	return *entry->workspace && (access(entry->workspace, F_OK) == 0 || !ews_errno_is_absent(errno));
}

/* Is anybody at work on that session, or has it a record that says that it is not over? */
static bool has_session(const struct ews_patient *patient, const char *id)
{
	const struct ews_repo *repo = patient->repo;
	EWS_CLEANUP(free) char *rel = ews_path_join(EWS_WORKING_SESSIONS, id);
	EWS_CLEANUP(fd) int fd = repo->dir ? ews_dir_open_beneath(repo->dir_fd, rel) : -1;
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	bool has = ews_repo_is_locked(repo, id);

	/* One that can't be read is one all the same. */
	if (fd >= 0)
		has = has || ews_state_read(&state, fd) < 0 || state.state != EWS_STATE_ENDED;
	ews_error_clear();
	return has;
}

/* ---- whose it is ---- */

static char *find_original(const struct ews_patient *patient, const struct entry *entry)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/" ENTRIES "/%s", patient->repo->common_dir, entry->id);

	return ews_linked_original(git_dir, patient->repo->common_dir);
}

/* Another project that has the session of that workspace on record; the caller frees its path. NULL: there is none. */
static char *find_recorder(const struct ews_patient *patient, const struct entry *entry)
{
	EWS_CLEANUP(free) char *real = realpath(entry->workspace, NULL);
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *id = NULL;
	EWS_CLEANUP(free) char *record = NULL;
	char *project = NULL;

	if (real && ews_home_find_workspace(&dir, &id, patient->home, real) == 0)
		record = ews_strfmt("%s/" EWS_WORKING_SESSIONS "/%s", dir, id);
	if (record && access(record, F_OK) == 0 && (!patient->repo->dir || strcmp(dir, patient->repo->dir) != 0) &&
	    ews_home_find_project(&project, dir) < 0)
		project = ews_steal(&dir);
	ews_error_clear();
	return project;
}

/* Is what the step of the session `id` moved to trash still there, for undo, or redo, to bring it back? */
static bool has_in_trash(const struct ews_step *step, const char *id)
{
	EWS_CLEANUP(free) char *owner = ews_retire_id(step->session);
	bool is_end = !strcmp(step->verb, "end");

	return !strcmp(owner, id) && step->state != EWS_STEP_EXPIRED && !step->is_emptied &&
	       (is_end ? step->state != EWS_STEP_UNDONE : step->moved.n > 0);
}

/*
 * Is it the worktree that somebody made inside of a session's workspace, and may it come back with that out of trash? What can't be
 * read may hold it.
 */
static bool can_come_back(const struct ews_patient *patient, const struct entry *entry)
{
	EWS_CLEANUP(free) char *working = working_dir(patient);
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *workspace = NULL;
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *id = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	bool can;
	int rc = EWS_ENOTFOUND;

	if (*entry->workspace)
		rc = ews_home_find_workspace(&dir, &id, patient->home, entry->workspace);
	if (rc < 0) {
		ews_error_clear();
		return rc != EWS_ENOTFOUND;
	}
	workspace = ews_strfmt("%s/%s/" EWS_WORKING_WORKSPACES "/%s", working, ews_path_base(dir), id);
	if (!strcmp(entry->workspace, workspace))
		return false;
	fd = ews_dir_open(dir);
	rc = fd < 0 ? fd : ews_step_list(&ids, fd);
	can = rc < 0 && rc != EWS_ENOTFOUND;
	for (size_t i = 0; i < ids.n && !can; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_look(&step, NULL, fd, ids.items[i]);
		can = rc < 0 || (rc > 0 && has_in_trash(&step, id));
	}
	ews_error_clear();
	return can;
}

/* ---- what would be lost ---- */

static void add_id(struct ews_buf *out, const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	if ((len == 40 || len == 64) && strspn(text, "0") < len)
		ews_buf_addf(out, "%.*s\n", (int)len, text);
}

/* What begins the lines of the file `name`, if it is there, and, of a log, what follows that: where it went. */
static bool add_ids(struct ews_buf *out, int fd, const char *name, bool is_log)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = is_file(fd, name) ? ews_file_read(&text, fd, name, LOG_BYTES_MAX) : 0;
	const char *next = text.ptr, *end = text.ptr + text.len, *line;
	size_t len;

	ews_error_clear();
	while ((line = ews_str_next_line(&next, &len, end))) {
		const char *second = is_log ? memchr(line, ' ', len) : NULL;

		add_id(out, line);
		if (second)
			add_id(out, second + 1);
	}
	return rc == 0;
}

/*
 * The commits that the entry names: its HEAD's, what its log says that it was, where a reset came from, and what was fetched.
 * False when HEAD is no commit's id.
 */
static bool list_commits(struct ews_buf *out, int fd)
{
	EWS_CLEANUP(fd) int logs = ews_dir_open_beneath(fd, "logs");
	EWS_CLEANUP(free) char *head = read_line(fd, "HEAD");

	ews_error_clear();
	add_id(out, head);
	return out->len && (logs < 0 || add_ids(out, logs, "HEAD", true)) && add_ids(out, fd, "ORIG_HEAD", false) &&
	       add_ids(out, fd, "FETCH_HEAD", false);
}

/* What is reached from refs is kept: they are named one by one, since git stops at one that is broken. */
static int list_refs(struct ews_buf *out, struct ews_odb *odb)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, odb, "refs/");

	for (size_t i = 0; i < refs.n; i++) {
		enum ews_object_type type;
		char hex[EWS_OID_HEX_MAX];

		if (ews_odb_has(odb, &refs.items[i].oid) &&
		    ews_odb_read_header(&type, NULL, odb, &refs.items[i].oid) == 0 &&
		    (type == EWS_OBJECT_COMMIT || type == EWS_OBJECT_TAG))
			ews_buf_addf(out, "^%s\n", ews_oid_hex(hex, &refs.items[i].oid));
	}
	return rc;
}

/* Has git all commits that it names under some ref, and nothing staged that is in none of them? */
static bool is_kept(const struct ews_patient *patient, int fd, const char *git_dir)
{
	EWS_CLEANUP(strv) struct ews_strv find = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv compare = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf commits = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf left = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf talk = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	struct ews_git_opts opts = { .own_dir = patient->repo->common_dir, .out = &left, .err = &err };

	/* One that was cut off before it had any of them. */
	if (!is_file(fd, "HEAD") && !is_file(fd, "index") && !is_file(fd, "logs") && !is_file(fd, "ORIG_HEAD"))
		return true;
	if (!list_commits(&commits, fd) || list_refs(&commits, patient->repo->odb) < 0)
		return false;
	ews_strv_add_all(&find, "rev-list", "--max-count=1", "--stdin", NULL);
	opts.input = commits.ptr;
	opts.input_len = commits.len;
	if (ews_git_run(&opts, find.items) != 0 || left.len)
		return false;
	if (!is_file(fd, "index"))
		return true;
	ews_strv_add_all(&compare, "diff-index", "--cached", "--quiet", "--no-ext-diff", "--no-textconv",
			 "--ignore-submodules=none", "HEAD", "--", NULL);
	opts = (struct ews_git_opts){ .own_dir = git_dir, .out = &talk, .err = &err };
	return ews_git_run(&opts, compare.items) == 0;
}

/* Is there nothing in the directory `name`, if it is there, but perhaps the file `known`? */
static bool has_only(int fd, const char *name, const char *known)
{
	EWS_CLEANUP(fd) int dir = ews_dir_open_beneath(fd, name);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = dir < 0 ? dir : ews_dir_names_read(&names, dir);

	return n == 0 || (n == 1 && !strcmp(names.items[0].name, known)) || (n == EWS_ENOTFOUND && dir < 0);
}

static bool is_known(const char *name)
{
	static const char *const known[] = { "HEAD",  "commondir",      "gitdir",    "locked",     "logs", "refs",
					     "index", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", NULL };

	return ews_str_is_any(name, known) || ews_str_begins(name, "sharedindex.");
}

/*
 * Is anything there that is_kept() does not look into? The repositories of submodules, a merge that goes on, settings and refs
 * that one work tree has alone are in no commit, and nobody can name all that may be put there: what is not known stays.
 */
static bool has_more(int fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++)
		if (!is_known(names.items[i].name))
			return true;
	return n < 0 || !has_only(fd, "logs", "HEAD") || !has_only(fd, "refs", "");
}

static bool can_go(const struct ews_patient *patient, const struct entry *entry)
{
	EWS_CLEANUP(free) char *rel = ews_path_join(ENTRIES, entry->id);
	EWS_CLEANUP(free) char *git_dir = ews_path_join(patient->repo->common_dir, rel);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(patient->repo->common_fd, rel);
	EWS_CLEANUP(free) char *working = working_dir(patient);
	EWS_CLEANUP(free) char *original = find_original(patient, entry);
	bool can = fd >= 0 && !has_more(fd) && !can_come_back(patient, entry) &&
		   (!*entry->workspace || original ||
		    (!has_workspace(entry) && ews_path_is_inside(entry->workspace, working))) &&
		   is_kept(patient, fd, git_dir);

	ews_error_clear();
	return can;
}

/* Renamed to where nobody looks for it first, so that git sees it whole or not at all. */
static int remove_entry(const struct ews_patient *patient, const char *id)
{
	const struct ews_repo *repo = patient->repo;
	EWS_CLEANUP(entry) struct entry entry = { NULL, NULL, false, false };
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(free) char *aside = ews_strfmt("doctor-%s", id);
	EWS_CLEANUP(fd) int entries = -1;
	EWS_CLEANUP(fd) int beside = -1;
	int rc = ews_repo_lock(&lock, patient->repo, id, "doctor", 0);

	if (rc == 0)
		rc = read_entry(&entry, patient, id);
	if (rc == 0 && !can_go(patient, &entry))
		rc = ews_error(EWS_EBUSY, "'%s' changed meanwhile", id);
	if (rc == 0)
		rc = ews_dir_make_shared(repo->common_fd, "ews", ews_odb_sharing(repo->odb));
	if (rc < 0)
		return rc;
	entries = ews_dir_open_beneath(repo->common_fd, ENTRIES);
	beside = ews_dir_open_beneath(repo->common_fd, "ews");
	rc = entries < 0 || beside < 0 ? ews_error_code() : ews_file_rename_new(entries, id, beside, aside);
	if (rc == 0)
		rc = ews_file_remove_tree(beside, aside);
	(void)unlinkat(repo->common_fd, "ews", AT_REMOVEDIR); /* as git does: empty ones tell nobody anything */
	(void)unlinkat(repo->common_fd, ENTRIES, AT_REMOVEDIR);
	return rc;
}

/* ---- what there is ---- */

static void find_copy(struct ews_checkup *out, const struct ews_patient *patient, const struct entry *entry,
		      const char *original)
{
	const char *dir = patient->repo->common_dir;
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/" ENTRIES "/%s", dir, entry->id);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(path);
	struct ews_check *check = ews_checkup_find(out, REGISTRATIONS, EWS_CHECK_WARNING,
						   "'%s/" ENTRIES
						   "/%s' is but a copy of '%s', which has the workspace: %s",
						   dir, entry->id, original, entry->workspace);

	if (can_go(patient, entry))
		ews_check_mend(check, remove_entry, entry->id,
			       "remove it: it holds nothing that git has not elsewhere");
	else
		ews_check_advise(check, "leave the workspace alone; rm -r %s once nothing in there is missed", shown);
}

static void find_recorded(struct ews_checkup *out, const struct ews_patient *patient, const struct entry *entry,
			  const char *project)
{
	struct ews_check *check = ews_checkup_find(out, REGISTRATIONS, EWS_CHECK_WARNING,
						   "'%s/" ENTRIES "/%s' is of a session of '%s'; its workspace: %s",
						   patient->repo->common_dir, entry->id, project, entry->workspace);

	ews_check_advise(check,
			 "leave the workspace to that project; if this one is a copy of it, 'git worktree repair' there "
			 "lets the workspace find its repository");
}

static void find_orphan(struct ews_checkup *out, const struct ews_patient *patient, const struct entry *entry)
{
	EWS_CLEANUP(free) char *working = working_dir(patient);
	bool is_there = has_workspace(entry);
	bool is_at_home = !*entry->workspace || ews_path_is_inside(entry->workspace, working);
	const char *dir = patient->repo->common_dir;
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/" ENTRIES "/%s", dir, entry->id);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(is_there ? entry->workspace : path);
	struct ews_check *check;

	/* Another home knows of it; or undo brings back what it is of. */
	if (is_there ? !is_at_home : can_come_back(patient, entry))
		return;
	check = ews_checkup_find(out, REGISTRATIONS, is_there ? EWS_CHECK_WARNING : EWS_CHECK_PROBLEM,
				 "'%s/" ENTRIES "/%s' %s%s%s", dir, entry->id,
				 !entry->is_whole ? "is half a registration, of no session"
				 : is_at_home     ? "is of no session"
						  : "is of a session of another home",
				 is_there            ? "; its workspace is there: "
				 : *entry->workspace ? "; its workspace is gone: "
						     : "",
				 entry->workspace);
	if (is_there)
		ews_check_advise(check, "look what is in '%s', then git worktree remove --force --force %s",
				 entry->workspace, shown);
	else if (can_go(patient, entry))
		ews_check_mend(check, remove_entry, entry->id,
			       "remove it: it holds nothing that git has not elsewhere");
	else
		ews_check_advise(
			check,
			"look at it with GIT_DIR=%s git log: it may hold commits, an index, or submodules, that nothing else does; then rm -r %s",
			shown, shown);
}

/* Of no session of this project: of whose, then? */
static void find_stray(struct ews_checkup *out, const struct ews_patient *patient, const struct entry *entry)
{
	EWS_CLEANUP(free) char *working = working_dir(patient);
	bool is_at_home = ews_path_is_inside(entry->workspace, working);
	EWS_CLEANUP(free) char *original = find_original(patient, entry);
	EWS_CLEANUP(free) char *project = is_at_home ? find_recorder(patient, entry) : NULL;

	if (original)
		find_copy(out, patient, entry, original);
	else if (project)
		find_recorded(out, patient, entry, project);
	else
		find_orphan(out, patient, entry);
}

static void look_at_entry(struct ews_checkup *out, const struct ews_patient *patient, const char *id)
{
	EWS_CLEANUP(entry) struct entry entry = { NULL, NULL, false, false };
	struct ews_check *check;

	if (read_entry(&entry, patient, id) < 0) {
		(void)ews_checkup_error(out, REGISTRATIONS);
		return;
	}
	if (has_session(patient, id))
		return;
	if (entry.is_ours) {
		find_stray(out, patient, &entry);
	} else if (!entry.is_whole) {
		check = ews_checkup_find(out, REGISTRATIONS, EWS_CHECK_WARNING,
					 "'%s/" ENTRIES "/%s' is half a registration, and not one of git ews",
					 patient->repo->common_dir, id);
		ews_check_advise(check, "git worktree prune -v --expire=now");
	}
}

void ews_doctor_registrations(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(patient->repo->common_fd, ENTRIES);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	ews_error_clear();
	for (ssize_t i = 0; i < n; i++)
		look_at_entry(out, patient, names.items[i].name);
	if (!ews_checkup_has(out, REGISTRATIONS))
		ews_checkup_ok(out, REGISTRATIONS, "each worktree of a session has its session");
}
