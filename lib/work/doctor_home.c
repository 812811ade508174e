/*
 * Doctor, of home: see doctor_home.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_home.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/notify.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/astray.h"
#include "store/home.h"
#include "store/home_project.h"
#include "store/lock.h"
#include "store/reserve.h"
#include "store/state.h"

#define OTHERS 077
#define SPACE_LOW (256 * EWS_MIB)
#define SPACE_GONE (16 * EWS_MIB)
#define FILES_LOW 10000
#define GIT_LOCK_S 600

/* ---- whose it is ---- */

/* Closes home, or the directory `rel` in it, to all but its owner. */
static int close_to_others(const struct ews_patient *patient, const char *rel)
{
	EWS_CLEANUP(fd) int home = ews_dir_open(patient->home);
	EWS_CLEANUP(fd) int fd = home < 0 ? home : ews_dir_open_beneath(home, rel);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", rel);
	if (st.st_uid != geteuid())
		return ews_error(EWS_EDENIED, "'%s' belongs to another user", rel);
	return fchmod(fd, st.st_mode & 07777 & ~OTHERS) < 0 ? ews_error_os("cannot close '%s'", rel) : 0;
}

static void look_at_dir(struct ews_checkup *out, const struct ews_patient *patient, int home_fd, const char *rel)
{
	EWS_CLEANUP(free) char *path = *rel ? ews_path_join(patient->home, rel) : ews_strdup(patient->home);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(path);
	struct ews_check *check;
	struct stat st;

	if (fstatat(home_fd, *rel ? rel : ".", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (*rel && !S_ISDIR(st.st_mode)) {
		check = ews_checkup_find(out, "home", EWS_CHECK_PROBLEM, "'%s' is no directory", path);
		ews_check_advise(check, "move it away, then 'git ews recover'");
		return;
	}
	if (st.st_uid != geteuid()) {
		check = ews_checkup_find(out, "home", EWS_CHECK_PROBLEM, "'%s' belongs to user %u, not to you",
					 path, (unsigned)st.st_uid);
		ews_check_advise(check, "chown -R %u %s, or name a place of your own with SUPERQODE_HOME",
				 (unsigned)geteuid(), shown);
		return;
	}
	if (!(st.st_mode & OTHERS))
		return;
	check = ews_checkup_find(out, "home", st.st_mode & 022 ? EWS_CHECK_PROBLEM : EWS_CHECK_WARNING,
				 "'%s' has mode %o: others may %s", path, (unsigned)st.st_mode & 07777,
				 st.st_mode & 022 ? "write there" : "look into it");
	if (*rel || ews_home_is_ours(home_fd))
		ews_check_mend(check, close_to_others, rel, "chmod go-rwx %s", shown);
	else
		ews_check_advise(check, "it is no directory of git ews alone: name one with SUPERQODE_HOME");
}

/* Its sessions are found by nobody: where one of them tells, the project that it is of gives it a new record. */
static void look_at_unread(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;

	if (ews_home_projects(&projects, patient->home) < 0)
		(void)ews_checkup_error(out, "home");
	for (size_t i = 0; i < projects.n; i++) {
		const struct ews_home_project *project = &projects.items[i];
		struct ews_check *check;

		if (!project->problem)
			continue;
		check = ews_checkup_find(out, "home", EWS_CHECK_PROBLEM,
					 "'%s' does not say which project it is of: %s", project->dir,
					 project->problem);
		ews_check_advise(check, "'git ews status' in that project; its workspaces are in '%s/qe'",
				 project->dir);
	}
}

static void look_at_owner(struct ews_checkup *out, const struct ews_patient *patient, int home_fd)
{
	static const char *const dirs[] = { "",
					    EWS_HOME_WORKING,
					    EWS_HOME_STORES,
					    EWS_HOME_TMP,
					    EWS_HOME_ELSEWHERE,
					    EWS_HOME_ACCEPTED,
					    EWS_HOME_ARCHIVES,
					    EWS_HOME_HOOKS };
	static const char *const parts[] = { "",
					     "/" EWS_WORKING_SESSIONS,
					     "/" EWS_LOCKS,
					     "/" EWS_WORKING_UNDO,
					     "/" EWS_WORKING_TRASH,
					     "/" EWS_WORKING_WORKSPACES };
	const char *dir = patient->repo ? patient->repo->dir : NULL;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		look_at_dir(out, patient, home_fd, dirs[i]);
	for (size_t i = 0; dir && i < sizeof(parts) / sizeof(*parts); i++) {
		EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_HOME_WORKING "/%s%s", ews_path_base(dir), parts[i]);

		look_at_dir(out, patient, home_fd, rel);
	}
	look_at_unread(out, patient);
	if (!ews_checkup_has(out, "home"))
		ews_checkup_ok(out, "home", "'%s' is yours alone", patient->home);
}

/* ---- where it lies ---- */

static void look_at_file_system(struct ews_checkup *out, const struct ews_patient *patient, int home_fd)
{
	const char *name = ews_fs_name(home_fd);
	const char *top = patient->top ? patient->top : patient->repo ? patient->repo->git_dir : NULL;
	struct ews_check *check;
	struct stat home, project;

	if (!ews_notify_is_told(home_fd)) {
		check = ews_checkup_find(out, "file system", EWS_CHECK_WARNING,
					 "home lies on a network (%s): locks and times there are as good as its server",
					 *name ? name : "unknown");
		ews_check_advise(check, "git config --global ews.home <a directory on a disk of this machine>");
	}
	if (top && stat(top, &project) == 0 && fstat(home_fd, &home) == 0 && project.st_dev != home.st_dev) {
		check = ews_checkup_find(
			out, "file system", EWS_CHECK_WARNING,
			"home is on another file system%s%s than the project: files are copied whole (no reflink)",
			*name ? ", " : "", name);
		ews_check_advise(check, "git config --global ews.home <a directory on the file system of '%s'>", top);
	}
	if (!ews_checkup_has(out, "file system"))
		ews_checkup_ok(out, "file system", "%s%s", *name ? name : "of an unknown kind",
			       top ? ", the project's" : "");
}

/* ---- what it knows ---- */

/* Is there a session in home's directory of a project that has not ended? Gives its id, which the caller frees. */
static char *find_living(const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(fd) int sessions = ews_dir_open(path);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = sessions < 0 ? 0 : ews_dir_names_read(&names, sessions);
	char *id = NULL;

	for (ssize_t i = 0; i < n && !id; i++) {
		EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(sessions, names.items[i].name);
		EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;

		if (fd >= 0 && ews_state_read(&state, fd) == 0 && state.state != EWS_STATE_ENDED)
			id = ews_strdup(state.id);
	}
	ews_error_clear(); /* what can't be read is said where it is looked for */
	return id;
}

/* Sessions of the time when this repository was none. */
static void look_at_former(struct ews_checkup *out, const struct ews_patient *patient,
			   const struct ews_home_projects *projects)
{
	bool is_repository = patient->repo && !patient->repo->is_plain && patient->top;
	EWS_CLEANUP(free) char *store = is_repository ? ews_astray_former(patient->home, patient->top) : NULL;

	for (size_t i = 0; i < projects->n && store; i++) {
		const struct ews_home_project *project = &projects->items[i];
		EWS_CLEANUP(free)
		char *id = project->store && !strcmp(project->store, store) ? find_living(project->dir) : NULL;
		struct ews_check *check;

		if (!id)
			continue;
		check = ews_checkup_find(out, "moved", EWS_CHECK_WARNING,
					 "session '%s' began when '%s' was no git repository, and is not found since",
					 id, patient->top);
		ews_check_advise(check, "give '%s' another name until it has ended", patient->repo->git_dir);
	}
}

/* Plain directories that are gone: one that was moved on the same file system is found again by itself. */
static void look_at_astray(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;

	if (ews_home_projects(&projects, patient->home) < 0)
		ews_error_clear();
	for (size_t i = 0; i < projects.n; i++) {
		const struct ews_home_project *project = &projects.items[i];
		EWS_CLEANUP(free) char *was = NULL;
		struct ews_check *check;

		if (!ews_astray_is(project, patient->home))
			continue;
		was = ews_shell_shown(project->project);
		check = ews_checkup_find(out, "moved", EWS_CHECK_WARNING,
					 "'%s' is gone, and home has sessions of it", project->project);
		ews_check_advise(check, "if it was moved, in its new place: git ews recover --moved-from %s", was);
	}
	look_at_former(out, patient, &projects);
	if (!ews_checkup_has(out, "moved"))
		ews_checkup_ok(out, "moved", "no directory that had sessions is gone");
}

/* ---- what room there is ---- */

static void look_at_space_of(struct ews_checkup *out, const char *path, bool *is_short)
{
	struct ews_check *check;
	struct statvfs st;
	uint64_t bytes;

	if (statvfs(path, &st) < 0)
		return;
	bytes = (uint64_t)st.f_bavail * st.f_frsize;
	if (bytes >= SPACE_LOW && (!st.f_files || st.f_favail >= FILES_LOW))
		return;
	*is_short = true;
	check = ews_checkup_find(out, "space",
				 bytes < SPACE_GONE || (st.f_files && !st.f_favail) ? EWS_CHECK_PROBLEM
										    : EWS_CHECK_WARNING,
				 "'%s' has room for %" PRIu64 " MiB and %" PRIu64 " files", path,
				 bytes / (uint64_t)EWS_MIB, (uint64_t)st.f_favail);
	ews_check_advise(check, "git ews clean --now, then git gc --prune=now");
}

static void look_at_space(struct ews_checkup *out, const struct ews_patient *patient)
{
	const struct ews_repo *repo = patient->repo;
	struct stat home, store;
	struct statvfs st;
	bool is_short = false;

	look_at_space_of(out, patient->home, &is_short);
	if (repo && stat(patient->home, &home) == 0 && stat(repo->common_dir, &store) == 0 &&
	    home.st_dev != store.st_dev)
		look_at_space_of(out, repo->common_dir, &is_short);
	if (!is_short && statvfs(patient->home, &st) == 0)
		ews_checkup_ok(out, "space", "%" PRIu64 " MiB are free",
			       (uint64_t)st.f_bavail * st.f_frsize / (uint64_t)EWS_MIB);
}

static int put_reserve_aside(const struct ews_patient *patient, const char *arg)
{
	(void)arg;
	ews_reserve_make(patient->home);
	return ews_reserve_is_there(patient->home) ? 0 : ews_error(EWS_ENOSPACE, "there is no space for a reserve");
}

/* The first session puts it aside; a home without any has nothing to take back. */
static void look_at_reserve(struct ews_checkup *out, const struct ews_patient *patient, int home_fd)
{
	struct ews_check *check;
	struct stat st;

	if (fstatat(home_fd, EWS_HOME_WORKING, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (ews_reserve_is_there(patient->home)) {
		ews_checkup_ok(out, "reserve", "%d KiB in home are kept for the day when the disk is full",
			       EWS_RESERVE_BYTES / 1024);
		return;
	}
	check = ews_checkup_find(
		out, "reserve", EWS_CHECK_WARNING,
		"no space in home is kept for the day when the disk is full: undo and recover may fail then");
	ews_check_mend(check, put_reserve_aside, "", "put %d KiB aside as '%s/" EWS_HOME_RESERVE "'",
		       EWS_RESERVE_BYTES / 1024, patient->home);
}

/* ---- locks ---- */

/* One that a process holds while it lives, not one that is held by being there. */
static bool is_process_lock(const char *name)
{
	return ews_str_begins(name, "owner:") || !strchr(name, ':');
}

static int remove_lock(const struct ews_patient *patient, const char *name)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;

	/* Who takes a lock removes its file when he gives it up. */
	return ews_repo_lock(&lock, patient->repo, name, EWS_LOCK_SWEEP, 0);
}

/* git's locks are files that are there, and nothing says whether their git lives: an old one is a person's to judge. */
static void look_at_git_locks(struct ews_checkup *out, const struct ews_repo *repo)
{
	static const char *const names[] = { "index.lock", "HEAD.lock", "config.lock", "packed-refs.lock",
					     "shallow.lock" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bool is_own = !strcmp(names[i], "index.lock") || !strcmp(names[i], "HEAD.lock");
		const char *dir = is_own ? repo->git_dir : repo->common_dir;
		EWS_CLEANUP(free) char *path = ews_path_join(dir, names[i]);
		EWS_CLEANUP(free) char *shown = ews_shell_shown(path);
		struct ews_check *check;
		struct stat st;

		if (fstatat(is_own ? repo->git_fd : repo->common_fd, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_mtim.tv_sec + GIT_LOCK_S > ews_clock_now())
			continue;
		check = ews_checkup_find(out, "locks", EWS_CHECK_WARNING,
					 "git's '%s' stands for longer than git works", path);
		ews_check_advise(check, "when no git is at work there: rm %s", shown);
	}
}

static void look_at_own_locks(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(fd) int locks = ews_dir_open_beneath(patient->repo->dir_fd, EWS_LOCKS);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = locks < 0 ? 0 : ews_dir_names_read(&names, locks);

	for (ssize_t i = 0; i < n; i++) {
		struct ews_check *check;

		if (!is_process_lock(names.items[i].name) || ews_lock_is_held(locks, names.items[i].name))
			continue;
		/* Who holds one takes it along. */
		if (faccessat(locks, names.items[i].name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		check = ews_checkup_find(out, "locks", EWS_CHECK_WARNING, "nobody holds the lock '%s' any more",
					 names.items[i].name);
		ews_check_mend(check, remove_lock, names.items[i].name, "remove '%s/locks/%s'", patient->repo->dir,
			       names.items[i].name);
	}
	ews_error_clear();
}

static void look_at_locks(struct ews_checkup *out, const struct ews_patient *patient)
{
	if (patient->repo->dir)
		look_at_own_locks(out, patient);
	if (!patient->repo->is_plain)
		look_at_git_locks(out, patient->repo);
	if (!ews_checkup_has(out, "locks"))
		ews_checkup_ok(out, "locks", "none is left behind");
}

static void look_at_home(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(fd) int home_fd = ews_dir_open(patient->home);

	if (home_fd == EWS_ENOTFOUND) {
		ews_error_clear();
		ews_checkup_ok(out, "home", "'%s' is made when it is needed", patient->home);
		return;
	}
	if (home_fd < 0) {
		(void)ews_checkup_error(out, "home");
		return;
	}
	look_at_owner(out, patient, home_fd);
	look_at_file_system(out, patient, home_fd);
	look_at_astray(out, patient);
	look_at_space(out, patient);
	look_at_reserve(out, patient, home_fd);
}

bool ews_doctor_home_is_unread(const char *home)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	bool is_unread = ews_home_projects(&projects, home) < 0;

	for (size_t i = 0; i < projects.n; i++)
		is_unread = is_unread || projects.items[i].problem;
	ews_error_clear();
	return is_unread;
}

void ews_doctor_home(struct ews_checkup *out, const struct ews_patient *patient)
{
	look_at_home(out, patient);
	if (patient->repo)
		look_at_locks(out, patient);
}
