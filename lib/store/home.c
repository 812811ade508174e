/*
 * Home: see home.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "store/gitfile.h"
#include "store/state.h"

#define PROJECT_FILE "project.json"
#define PROJECT_BYTES_MAX EWS_MIB
#define PROJECT_VERSION 1
#define NAME_LEN_MAX 180
#define TRASH "/trash/"

/* Versions that do not know it pass it over, and it is gone when they have let the sessions follow. */
#define BEGUN "moves_to"
#define PARKED "parked"

bool ews_home_is_ours(int fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	struct stat st;
	bool is_ours = fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & S_ISVTX);

	if (is_ours && faccessat(fd, "working", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		is_ours = ews_dir_names_read(&names, fd) == 0;
	return is_ours;
}

/*
 * Home may have been made by hand, under a loose umask: then it is closed to others, who could not have made what
 * is in it in our name. A directory that is used for something else stays as it is, and is refused.
 */
static int open_home(const char *home)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(home);
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && (st.st_mode & 022) && ews_home_is_ours(fd) && fchmod(fd, st.st_mode & 07755) < 0)
		return ews_error_os("cannot close '%s' to others", home);
	rc = ews_own_check(fd, home);
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

/* What is in the user's own directory goes with that: where it is missing, as that of accounts that shall have none, it stays so. */
static int need_user_dir(const char *home)
{
	const char *user = getenv("HOME");
	EWS_CLEANUP(free) char *parent = ews_path_dir(home);

	if (!user || strcmp(user, parent) != 0 || access(user, F_OK) == 0 || errno != ENOENT)
		return 0;
	ews_error(EWS_ECONFIG, "HOME is '%s', which is not there, so there is no place for workspaces", user);
	ews_error_hint("make that directory, or name a place with SUPERQODE_HOME or --home");
	return EWS_ECONFIG;
}

int ews_home_open(const char *home)
{
	int rc = need_user_dir(home);

	if (rc < 0)
		return rc;
	rc = ews_dir_make_absolute(home, 0700);
	return rc < 0 ? ews_error_wrap("cannot make '%s'", home) : open_home(home);
}

/* The name that people know the store by: the directory above ".git", or that of a bare one. */
static char *store_name(const char *common_dir)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(common_dir);
	const char *base = ews_path_base(common_dir);
	char *name;
	size_t len;

	if (!strcmp(base, ".git"))
		base = ews_path_base(above);
	len = strlen(base);
	if (len > 4 && !strcmp(base + len - 4, ".git"))
		len -= 4;
	len = len > NAME_LEN_MAX ? NAME_LEN_MAX : len;
	name = len ? ews_strndup(base, len) : ews_strdup("root");
	/* It becomes part of files that git reads line by line, and of PATH. */
	for (char *c = name; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == ':')
			*c = '_';
	if (*name == '.')
		*name = '_';
	return name;
}

/* Which store the directory `dir` below working/ belongs to; EWS_EDAMAGED when it does not say so. */
static int read_claim(char **store, int working_fd, const char *dir)
{
	EWS_CLEANUP(fd) int fd = openat(working_fd, dir, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(json) cJSON *json = NULL;
	int rc;

	if (fd < 0 && errno == ENOENT)
		return EWS_ENOTFOUND;
	if (fd < 0)
		return ews_error_os("cannot open '%s'", dir);
	rc = ews_file_read_own(&text, fd, PROJECT_FILE, PROJECT_BYTES_MAX);
	if (rc == EWS_ENOTFOUND)
		rc = ews_error(EWS_EDAMAGED, "there is none");
	if (rc == 0)
		rc = ews_json_parse(&json, text.ptr, text.len);
	if (rc == 0)
		rc = ews_json_check_version(json, PROJECT_VERSION);
	if (rc == 0)
		rc = ews_json_get_bytes(store, json, "store");
	return rc < 0 ? ews_error_wrap("'%s' in '%s'", PROJECT_FILE, dir) : 0;
}

char *ews_home_birth(const char *path)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_TYPE | STATX_BTIME, &st) < 0 ||
	    !(st.stx_mask & STATX_BTIME) || !st.stx_btime.tv_sec || !S_ISDIR(st.stx_mode))
		return NULL;
	return ews_strfmt("%u:%u:%llu:%lld.%09u", st.stx_dev_major, st.stx_dev_minor,
			  (unsigned long long)st.stx_ino, (long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
}

bool ews_home_knows_by_birth(const struct ews_home_project *project, const char *path)
{
	EWS_CLEANUP(free) char *birth = project->birth ? ews_home_birth(path) : NULL;

	return birth && !strcmp(birth, project->birth);
}

/*
 * Is the directory at `path` another one than that of `birth`, for certain? The number of a device may be another after each boot; and
 * what an overlay shows of a directory is another once something is written into that. 1, 0, or an error where it can't be asked just
 * now.
 */
static int is_another(const char *path, const char *birth)
{
	EWS_CLEANUP(free) char *now = NULL;
	const char *minor = strchr(birth, ':');
	const char *inode = minor ? strchr(minor + 1, ':') : NULL;
	struct statfs fs;

	errno = 0;
	now = ews_home_birth(path);
	if (!now)
		return ews_errno_is_passing(errno) ? ews_error_os("cannot look at '%s'", path) : 0;
	return inode && !strncmp(now, birth, (size_t)(inode + 1 - birth)) && strcmp(now, birth) != 0 &&
	       statfs(path, &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

static int write_json(int dir_fd, const cJSON *json)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_json_print(&text, json, true);
	return ews_file_replace(dir_fd, PROJECT_FILE, text.ptr, text.len, 0600);
}

static void add_place(cJSON *json, const char *common_dir, const char *project, const char *birth)
{
	ews_json_add_bytes(json, "project", project);
	ews_json_add_bytes(json, "store", common_dir);
	if (birth)
		(void)cJSON_AddStringToObject(json, "birth", birth);
}

static int write_project(int dir_fd, const char *common_dir, const char *project)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();
	EWS_CLEANUP(free) char *birth = ews_home_birth(project);

	ews_json_add_int(json, "version", PROJECT_VERSION);
	add_place(json, common_dir, project, birth);
	return write_json(dir_fd, json);
}

/*
 * Claim `dir` for the store. A directory is made under a name of its own, filled, and renamed in, so that
 * of two processes one wins and the other finds it whole.
 */
static int claim(int working_fd, const char *dir, const char *common_dir, const char *project)
{
	EWS_CLEANUP(free) char *tmp = ews_clock_id(".new", ews_clock_now());
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (mkdirat(working_fd, tmp, 0700) < 0)
		return ews_error_os("cannot make '%s'", tmp);
	fd = openat(working_fd, tmp, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ews_error_os("cannot open '%s'", tmp);
	rc = write_project(fd, common_dir, project);
	if (rc == 0)
		rc = ews_file_rename_new(working_fd, tmp, working_fd, dir);
	if (rc < 0) {
		struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

		ews_error_save(&saved);
		(void)ews_file_remove_tree(working_fd, tmp); /* best effort: an empty name is left */
		return ews_error_restore(&saved);
	}
	return ews_file_sync_dir(working_fd);
}

static char *hashed_name(const char *name, const char *common_dir)
{
	uint8_t digest[EWS_HASH_MAX];
	char hex[9];

	ews_hash_once(EWS_SHA256, digest, common_dir, strlen(common_dir));
	ews_hex(hex, digest, 4);
	return ews_strfmt("%s-%s", name, hex);
}

static int open_working(const char *home, bool make)
{
	EWS_CLEANUP(fd) int fd = make ? ews_home_open(home) : open_home(home);
	int rc = fd;

	if (fd >= 0 && make)
		rc = ews_dir_make(fd, "working", 0700);
	if (rc >= 0)
		rc = ews_dir_open_own(fd, "working");
	return rc == EWS_ENOTFOUND && !make ? ews_error(EWS_ENOTFOUND, "there are no sessions") : rc;
}

/* Is it the store of a plain directory? Those are called as ews_home_store() says. */
static bool is_our_store(const char *home, const char *common_dir)
{
	EWS_CLEANUP(free) char *stores = ews_path_join(home, "store");
	EWS_CLEANUP(free) char *real = realpath(stores, NULL);
	EWS_CLEANUP(free) char *above = ews_path_dir(common_dir);

	return !strcmp(above, stores) || (real && !strcmp(above, real));
}

/* The directory's name, without the hash. */
static char *plain_name(const char *common_dir)
{
	const char *base = ews_path_base(common_dir);
	const char *dash = strrchr(base, '-');

	return dash && dash > base ? ews_strndup(base, (size_t)(dash - base)) : ews_strdup(base);
}

/* Is `git_dir` the store `common_dir`, or that of a linked worktree in it? */
static bool is_of_store(const char *git_dir, const char *common_dir)
{
	const char *rest = ews_str_after(git_dir, common_dir);

	return rest && (!*rest || ews_str_begins(rest, "/worktrees/"));
}

/*
 * Do the sessions below `dir` say that it is the store's? Returns 1 with the project that they name, 0 when none says so; what is
 * no session, or damaged itself, says nothing.
 */
static int ask_sessions(char **project, int working_fd, const char *dir, const char *common_dir)
{
	EWS_CLEANUP(free) char *rel = ews_path_join(dir, "sessions");
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(working_fd, rel);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? fd : ews_dir_names_read(&names, fd);
	bool is_exact = false;

	if (n == EWS_EIO)
		return EWS_EIO;
	for (ssize_t i = 0; i < n && !is_exact; i++) {
		EWS_CLEANUP(fd) int session = ews_dir_open_beneath(fd, names.items[i].name);
		EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
		int rc = session < 0 ? session : ews_state_read(&state, session);

		if (rc == EWS_EIO)
			return rc;
		if (rc < 0 || !is_of_store(state.git_dir, common_dir))
			continue;
		free(*project);
		*project = ews_steal(&state.project);
		is_exact = !strcmp(state.git_dir, common_dir);
	}
	return *project ? 1 : 0;
}

/*
 * The project.json of `dir` can't be used, which is the error that is set. Who lost it, as when the power went, is not to lose his
 * sessions with it: where they say whose they are it is written anew. Returns 1 when `dir` is the store's, 0 when it is, as far as
 * anybody can tell, somebody else's; what a disk does not give this time may be ours.
 */
static int claim_again(int working_fd, const char *dir, const char *common_dir)
{
	EWS_CLEANUP(error_saved) struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	EWS_CLEANUP(free) char *project = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	ews_error_save(&why);
	if (why.code == EWS_ENOTFOUND)
		return 0;
	if (why.code == EWS_EIO)
		return ews_error_restore(&why);
	rc = ask_sessions(&project, working_fd, dir, common_dir);
	if (rc <= 0)
		return rc;
	if (why.code != EWS_EDAMAGED)
		return ews_error_restore(&why);
	fd = ews_dir_open_own(working_fd, dir);
	rc = fd < 0 ? fd : write_project(fd, common_dir, project);
	return rc < 0 ? ews_error_wrap("cannot write '%s' in '%s' anew", PROJECT_FILE, dir) : 1;
}

/* One that has moved keeps the name that it had. Of those that can't be read one may be it: see claim_again(). */
static int find_by_claim(char **out, const char *home, int working_fd, const char *common_dir)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(strv) struct ews_strv unread = EWS_STRV_INIT;
	ssize_t n = ews_dir_names_read(&names, working_fd);
	const char *found = NULL;
	int rc = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n && !found; i++) {
		EWS_CLEANUP(free) char *store = NULL;
		const char *name = names.items[i].name;

		if (*name == '.')
			continue;
		if (read_claim(&store, working_fd, name) < 0)
			ews_strv_add(&unread, name);
		else if (!strcmp(store, common_dir))
			found = name;
	}
	for (size_t i = 0; i < unread.n && !found && rc == 0; i++) {
		EWS_CLEANUP(free) char *store = NULL;

		rc = read_claim(&store, working_fd, unread.items[i]) < 0
			     ? claim_again(working_fd, unread.items[i], common_dir)
			     : !strcmp(store, common_dir);
		if (rc > 0)
			found = unread.items[i];
	}
	if (rc < 0)
		return rc;
	ews_error_clear();
	if (!found)
		return EWS_ENOTFOUND;
	*out = ews_strfmt("%s/working/%s", home, found);
	return 0;
}

/* `dir` when it is the store's; with `project` one that nobody has is made the store's. Else EWS_ENOTFOUND. */
static int find_named(char **out, const char *home, int working_fd, const char *dir, const char *common_dir,
		      const char *project)
{
	EWS_CLEANUP(free) char *store = NULL;
	int rc = read_claim(&store, working_fd, dir);

	if (rc == EWS_ENOTFOUND && project) {
		rc = claim(working_fd, dir, common_dir, project);
		if (rc == EWS_EEXISTS)
			rc = read_claim(&store, working_fd, dir);
		else if (rc == 0)
			store = ews_strdup(common_dir);
	}
	/* A directory that says nothing, or nothing that can be read, is somebody else's, unless its sessions say more: find_by_claim(). */
	if (rc < 0 && rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	if (rc < 0 || strcmp(store, common_dir))
		return EWS_ENOTFOUND;
	*out = ews_strfmt("%s/working/%s", home, dir);
	return 0;
}

/* By the names that it may have, the second with a hash behind it. */
static int find_by_name(char **out, const char *home, int working_fd, const char *common_dir, const char *project)
{
	EWS_CLEANUP(free)
	char *plain = is_our_store(home, common_dir) ? plain_name(common_dir) : store_name(common_dir);
	EWS_CLEANUP(free) char *hashed = NULL;
	int rc = find_named(out, home, working_fd, plain, common_dir, project);

	if (rc != EWS_ENOTFOUND)
		return rc;
	/* Only once it is needed: the first hash of a process costs as much as all else in here. */
	hashed = hashed_name(plain, common_dir);
	rc = find_named(out, home, working_fd, hashed, common_dir, project);
	if (rc == EWS_ENOTFOUND && project)
		return ews_error(EWS_EDAMAGED, "both '%s' and '%s' in '%s/working' belong to something else", plain,
				 hashed, home);
	return rc;
}

static int find_or_claim(char **out, const char *home, const char *common_dir, const char *project)
{
	EWS_CLEANUP(fd) int working = open_working(home, project != NULL);
	int rc;

	if (working < 0)
		return working;
	rc = find_by_name(out, home, working, common_dir, NULL);
	if (rc == EWS_ENOTFOUND)
		rc = find_by_claim(out, home, working, common_dir);
	if (rc == EWS_ENOTFOUND && project)
		rc = find_by_name(out, home, working, common_dir, project);
	return rc == EWS_ENOTFOUND ? ews_error(EWS_ENOTFOUND, "this project has no sessions") : rc;
}

int ews_home_repo_dir(char **out, const char *home, const char *common_dir, const char *project)
{
	return find_or_claim(out, home, common_dir, project);
}

int ews_home_find_repo_dir(char **out, const char *home, const char *common_dir)
{
	return find_or_claim(out, home, common_dir, NULL);
}

static bool is_missing(const char *path)
{
	bool is = ews_file_is_there(AT_FDCWD, path) == 0;

	ews_error_clear();
	return is;
}

/* All that is recorded was a directory by its real path. Is that what is there no directory, or called otherwise, by now? */
static bool is_displaced(const char *path)
{
	EWS_CLEANUP(free) char *real = realpath(path, NULL);
	struct stat st;

	return real && (strcmp(real, path) != 0 || (lstat(real, &st) == 0 && !S_ISDIR(st.st_mode)));
}

/* The store that is found where `store` was: by a link, or by a file that names a git directory. NULL: it is still there, or none. */
static char *find_other(const char *store)
{
	EWS_CLEANUP(free) char *dir = NULL;
	char *other = NULL;
	struct stat st;

	if (!is_displaced(store) || stat(store, &st) < 0)
		return NULL;
	dir = S_ISDIR(st.st_mode) ? ews_strdup(store) : ews_gitfile_follow(store);
	if (dir && ews_odb_find_common_dir(&other, dir) < 0)
		ews_error_clear();
	return other;
}

static int read_json(cJSON **out, int dir_fd)
{
	int rc = ews_json_read(out, dir_fd, PROJECT_FILE, PROJECT_BYTES_MAX);

	return rc < 0 ? rc : ews_json_check_version(*out, PROJECT_VERSION);
}

static int read_place(struct ews_home_project *out, const cJSON *json)
{
	const char *birth;
	int rc = ews_json_get_bytes(&out->project, json, "project");

	if (rc == 0)
		rc = ews_json_get_bytes(&out->store, json, "store");
	if (rc < 0)
		return rc;
	out->is_gone = is_missing(out->store);
	out->is_away = is_missing(out->project) || is_displaced(out->project);
	out->leads_to = find_other(out->store);
	if (ews_json_get_string(&birth, json, "birth") == 0)
		out->birth = ews_strdup(birth);
	if (!out->is_away && out->birth)
		rc = is_another(out->project, out->birth);
	if (rc < 0)
		return rc;
	out->is_anew = rc > 0;
	out->is_parked = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, PARKED));
	ews_error_clear();
	return 0;
}

void ews_home_project_release(struct ews_home_project *project)
{
	free(project->dir);
	free(project->project);
	free(project->store);
	free(project->birth);
	free(project->leads_to);
	free(project->problem);
	ews_home_projects_release(&project->begun);
	*project = (struct ews_home_project){ .dir = NULL };
}

void ews_home_projects_release(struct ews_home_projects *projects)
{
	for (size_t i = 0; i < projects->n; i++)
		ews_home_project_release(&projects->items[i]);
	free(projects->items);
	*projects = (struct ews_home_projects)EWS_HOME_PROJECTS_INIT;
}

static void add_project(struct ews_home_projects *out, struct ews_home_project *project)
{
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] = *project;
	*project = (struct ews_home_project){ .dir = NULL };
}

/* What makes no sense among them is none. */
static void read_begun(struct ews_home_projects *out, const cJSON *json)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, BEGUN)) {
		EWS_CLEANUP(home_project) struct ews_home_project place = { .dir = NULL };

		if (read_place(&place, item) == 0)
			add_project(out, &place);
	}
	ews_error_clear();
}

/* What `dir` says of the project that it is of. */
static int read_project(struct ews_home_project *out, int working_fd, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(working_fd, dir);
	EWS_CLEANUP(json) cJSON *json = NULL;
	int rc = fd < 0 ? fd : read_json(&json, fd);

	if (rc == 0)
		rc = read_place(out, json);
	if (rc == 0)
		read_begun(&out->begun, json);
	return rc;
}

const char *ews_home_project_path(const struct ews_home_project *project)
{
	return project->is_parked || is_missing(project->project) ? project->store : project->project;
}

bool ews_home_may_have_moved_to(const struct ews_home_project *project, const char *common_dir)
{
	if (project->problem)
		return false;
	return project->leads_to ? !strcmp(project->leads_to, common_dir) : project->is_gone;
}

/* Is it a directory in which there may have been sessions? One that is half made is called by a dot. */
static bool may_have_sessions(int working_fd, const struct ews_dirent *entry)
{
	EWS_CLEANUP(free) char *sessions = ews_path_join(entry->name, "sessions");

	return *entry->name != '.' && faccessat(working_fd, sessions, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int ews_home_projects(struct ews_home_projects *out, const char *home)
{
	EWS_CLEANUP(fd) int working = open_working(home, false);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n;

	if (working == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (working < 0)
		return working;
	n = ews_dir_names_read(&names, working);
	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(home_project) struct ews_home_project project = { .dir = NULL };

		if (read_project(&project, working, names.items[i].name) < 0) {
			if (may_have_sessions(working, &names.items[i]))
				project.problem = ews_strdup(ews_error_message());
			ews_error_clear();
			if (!project.problem)
				continue;
		}
		project.dir = ews_strfmt("%s/working/%s", home, names.items[i].name);
		add_project(out, &project);
	}
	return n < 0 ? (int)n : 0;
}

int ews_home_project_read(struct ews_home_project *out, const char *dir)
{
	EWS_CLEANUP(free) char *working = ews_path_dir(dir);
	EWS_CLEANUP(fd) int fd = ews_dir_open(working);
	int rc = fd < 0 ? fd : read_project(out, fd, ews_path_base(dir));

	if (rc == 0)
		out->dir = ews_strdup(dir);
	return rc;
}

int ews_home_find_project(char **out, const char *dir)
{
	EWS_CLEANUP(home_project) struct ews_home_project project = { .dir = NULL };
	int rc = ews_home_project_read(&project, dir);

	if (rc == 0)
		*out = ews_strdup(ews_home_project_path(&project));
	return rc;
}

int ews_home_find_store(char **out, const char *dir)
{
	EWS_CLEANUP(home_project) struct ews_home_project project = { .dir = NULL };
	int rc = ews_home_project_read(&project, dir);

	if (rc == 0)
		*out = ews_steal(&project.store);
	return rc;
}

bool ews_home_leads_to(const char *dir, const char *common_dir)
{
	EWS_CLEANUP(home_project) struct ews_home_project project = { .dir = NULL };
	bool leads = ews_home_project_read(&project, dir) == 0 && project.leads_to &&
		     !strcmp(project.leads_to, common_dir);

	ews_error_clear();
	return leads;
}

/* One more of the places `begun`, which the caller fills. */
static cJSON *add_begun(cJSON *json)
{
	cJSON *begun = cJSON_GetObjectItemCaseSensitive(json, BEGUN);
	cJSON *place = cJSON_CreateObject();

	if (!cJSON_IsArray(begun)) {
		cJSON_DeleteItemFromObjectCaseSensitive(json, BEGUN);
		begun = cJSON_AddArrayToObject(json, BEGUN);
	}
	(void)cJSON_AddItemToArray(begun, place);
	return place;
}

int ews_home_begin_move(const char *dir, const char *common_dir, const char *project)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(json) cJSON *json = NULL;
	EWS_CLEANUP(free) char *birth = NULL;
	int rc = fd < 0 ? fd : read_json(&json, fd);

	if (rc < 0)
		return rc;
	birth = ews_home_birth(project);
	add_place(add_begun(json), common_dir, project, birth);
	return write_json(fd, json);
}

/* What the records say that have not followed is kept among the places, with the birth that it is known by. */
int ews_home_park_project(const struct ews_home_project *project, const char *store)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(project->dir);
	EWS_CLEANUP(json) cJSON *json = NULL;
	cJSON *place;
	int rc = fd < 0 ? fd : read_json(&json, fd);

	if (rc < 0)
		return rc;
	place = add_begun(json);
	add_place(place, project->store, project->project, project->birth);
	(void)cJSON_AddTrueToObject(place, PARKED);
	cJSON_DeleteItemFromObjectCaseSensitive(json, "store");
	cJSON_DeleteItemFromObjectCaseSensitive(json, "store_escaped");
	ews_json_add_bytes(json, "store", store);
	cJSON_DeleteItemFromObjectCaseSensitive(json, PARKED);
	(void)cJSON_AddTrueToObject(json, PARKED);
	return write_json(fd, json);
}

int ews_home_accept_birth(const char *dir)
{
	EWS_CLEANUP(home_project) struct ews_home_project project = { .dir = NULL };
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(json) cJSON *json = NULL;
	EWS_CLEANUP(free) char *birth = NULL;
	int rc = fd < 0 ? fd : read_json(&json, fd);

	if (rc == 0)
		rc = read_place(&project, json);
	if (rc < 0)
		return rc;
	birth = ews_home_birth(project.project);
	cJSON_DeleteItemFromObjectCaseSensitive(json, "birth");
	if (birth)
		(void)cJSON_AddStringToObject(json, "birth", birth);
	return write_json(fd, json);
}

int ews_home_move_project(const char *dir, const char *common_dir, const char *project)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);

	return fd < 0 ? fd : write_project(fd, common_dir, project);
}

char *ews_home_tmp(const char *repo_dir, const char *id)
{
	EWS_CLEANUP(free) char *session = ews_path_join(repo_dir, id);
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];

	ews_hash_once(EWS_SHA256, digest, session, strlen(session));
	ews_hex(hex, digest, 4);
	return ews_strfmt("tmp/%s", hex);
}

static char *elsewhere_file(const char *workspace)
{
	uint8_t digest[EWS_HASH_MAX];
	char hex[33];

	ews_hash_once(EWS_SHA256, digest, workspace, strlen(workspace));
	ews_hex(hex, digest, 16);
	return ews_strfmt("elsewhere/%s", hex);
}

int ews_home_mark_elsewhere(const char *home, const char *workspace, const char *repo_dir, const char *id)
{
	EWS_CLEANUP(free) char *name = elsewhere_file(workspace);
	EWS_CLEANUP(free) char *text = ews_strfmt("%s/%s\n", ews_path_base(repo_dir), id);
	EWS_CLEANUP(fd) int fd = ews_home_open(home);
	EWS_CLEANUP(fd) int dir = -1;
	int rc;

	if (fd < 0)
		return fd;
	rc = ews_dir_make(fd, "elsewhere", 0700);
	if (rc < 0)
		return rc;
	dir = ews_dir_open_beneath(fd, "elsewhere");
	return dir < 0 ? dir : ews_file_replace(dir, ews_path_base(name), text, strlen(text), 0600);
}

bool ews_home_is_marked(const char *home, const char *workspace, const char *repo_dir, const char *id)
{
	EWS_CLEANUP(free) char *name = elsewhere_file(workspace);
	EWS_CLEANUP(free) char *path = ews_path_join(home, name);
	EWS_CLEANUP(free) char *want = ews_strfmt("%s/%s\n", ews_path_base(repo_dir), id);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool is_marked = ews_file_read_own(&text, AT_FDCWD, path, EWS_KIB) == 0 && !strcmp(text.ptr, want);

	ews_error_clear();
	return is_marked;
}

int ews_home_unmark_elsewhere(const char *home, const char *workspace)
{
	EWS_CLEANUP(free) char *name = elsewhere_file(workspace);
	EWS_CLEANUP(free) char *path = ews_path_join(home, name);

	if (unlink(path) < 0 && !ews_errno_is_absent(errno))
		return ews_error_os("cannot remove '%s'", path);
	return 0;
}

/* Is `path` "<working>/<repo>/qe/<id>" or below? */
static bool split_workspace(char **repo, char **id, const char *working, const char *path)
{
	size_t len = strlen(working);
	const char *at, *slash, *name;

	if (strncmp(path, working, len) || path[len] != '/')
		return false;
	at = path + len + 1;
	slash = strchr(at, '/');
	name = slash ? ews_str_after(slash, "/qe/") : NULL;
	if (!name || !*name || *name == '/')
		return false;
	*repo = ews_strndup(at, (size_t)(slash - at));
	*id = ews_strndup(name, strcspn(name, "/"));
	return true;
}

static bool find_marked(char **repo, char **id, const char *home, const char *cwd)
{
	EWS_CLEANUP(free) char *at = ews_strdup(cwd);
	EWS_CLEANUP(free) char *elsewhere = ews_path_join(home, "elsewhere");
	EWS_CLEANUP(fd) int dir = open(elsewhere, O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return false;
	while (*at) {
		EWS_CLEANUP(free) char *name = elsewhere_file(at);
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		if (ews_file_read_own(&text, dir, ews_path_base(name), EWS_KIB) == 0) {
			char *slash;

			ews_buf_rtrim(&text);
			slash = strchr(text.ptr, '/');
			if (!slash)
				return false;
			*repo = ews_strndup(text.ptr, (size_t)(slash - text.ptr));
			*id = ews_strdup(slash + 1);
			return true;
		}
		ews_error_clear();
		*strrchr(at, '/') = '\0';
	}
	return false;
}

bool ews_home_is_reserved(const char *home, const char *path)
{
	static const char *const names[] = { "accepted", "archives", "elsewhere", "hooks", "neutral.git",
					     "ports",    "reserve",  "store",     "tmp",   "working" };
	EWS_CLEANUP(free) char *real_home = ews_dir_resolve(home);
	EWS_CLEANUP(free) char *real = ews_dir_resolve(path);
	const char *rel;

	if (!ews_path_is_inside(real, real_home) || !strcmp(real, real_home))
		return false;
	rel = real + strlen(real_home) + 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ews_path_is_inside(rel, names[i]))
			return true;
	return *rel == '.'; /* what is on its way there, and is swept */
}

int ews_home_find_workspace(char **repo_dir, char **id, const char *home, const char *cwd)
{
	EWS_CLEANUP(free) char *real_home = realpath(home, NULL);
	EWS_CLEANUP(free) char *working = NULL;
	EWS_CLEANUP(free) char *repo = NULL;

	if (!real_home && ews_errno_is_passing(errno))
		return ews_error_os("cannot look at '%s'", home);
	if (!real_home)
		return ews_error(EWS_ENOTFOUND, "there are no sessions");
	working = ews_path_join(real_home, "working");
	if (!split_workspace(&repo, id, working, cwd) && !find_marked(&repo, id, home, cwd))
		return ews_error(EWS_ENOTFOUND, "'%s' is in no workspace", cwd);
	*repo_dir = ews_strfmt("%s/working/%s", home, repo);
	return 0;
}

int ews_home_find_trashed(char **project, char **step, const char *home, const char *cwd)
{
	EWS_CLEANUP(free) char *real_home = realpath(home, NULL);
	EWS_CLEANUP(free) char *working = ews_path_join(real_home ? real_home : home, "working");
	EWS_CLEANUP(home_project) struct ews_home_project known = { .dir = NULL };
	EWS_CLEANUP(free) char *repo = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	const char *slash;

	if (!ews_path_is_inside(cwd, working) || strlen(cwd) <= strlen(working) + 1)
		return ews_error(EWS_ENOTFOUND, "'%s' is in no trash", cwd);
	cwd += strlen(working) + 1;
	slash = strchr(cwd, '/');
	if (!slash || !ews_str_begins(slash, TRASH))
		return ews_error(EWS_ENOTFOUND, "'%s' is in no trash", cwd);
	repo = ews_strndup(cwd, (size_t)(slash - cwd));
	fd = open_working(home, false);
	if (fd < 0 || read_project(&known, fd, repo) < 0)
		return ews_error_code();
	*project = ews_strdup(ews_home_project_path(&known));
	slash += strlen(TRASH);
	*step = ews_strndup(slash, strcspn(slash, "/"));
	return 0;
}

char *ews_home_store(const char *home, const char *project)
{
	EWS_CLEANUP(free) char *plain = store_name(project);
	EWS_CLEANUP(free) char *hashed = hashed_name(plain, project);

	return ews_strfmt("%s/store/%s.git", home, hashed);
}

char *ews_home_parked_store(const char *home, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *plain = store_name(project->project);
	EWS_CLEANUP(free) char *known_by = ews_strfmt("%s\n%s", project->project, project->birth);
	EWS_CLEANUP(free) char *hashed = hashed_name(plain, known_by);

	return ews_strfmt("%s/store/%s.git", home, hashed);
}
