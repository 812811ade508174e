/*
 * Projects that home knows: see home_project.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home_project.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "store/odb.h"

#define PROJECT_FILE "project.json"
#define PROJECT_BYTES_MAX EWS_MIB
#define PROJECT_VERSION 1
#define TRASH "/" EWS_WORKING_TRASH "/"

/* Versions that do not know it pass it over, and it is gone when they have let the sessions follow. */
#define BEGUN "moves_to"
#define PARKED "parked"

static int read_json(cJSON **out, int dir_fd)
{
	int rc = ews_json_read(out, dir_fd, PROJECT_FILE, PROJECT_BYTES_MAX);

	return rc < 0 ? rc : ews_json_check_version(*out, PROJECT_VERSION);
}

static int write_json(int dir_fd, const cJSON *json)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_json_print(&text, json, true);
	return ews_file_replace(dir_fd, PROJECT_FILE, text.ptr, text.len, 0600);
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

static void add_place(cJSON *json, const char *common_dir, const char *project, const char *birth)
{
	ews_json_add_bytes(json, "project", project);
	ews_json_add_bytes(json, "store", common_dir);
	if (birth)
		(void)cJSON_AddStringToObject(json, "birth", birth);
}

int ews_home_project_write(int dir_fd, const char *common_dir, const char *project)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();
	EWS_CLEANUP(free) char *birth = ews_home_birth(project);

	ews_json_add_int(json, "version", PROJECT_VERSION);
	add_place(json, common_dir, project, birth);
	return write_json(dir_fd, json);
}

int ews_home_project_read_store(char **store, int working_fd, const char *dir)
{
	EWS_CLEANUP(fd) int fd = openat(working_fd, dir, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	EWS_CLEANUP(json) cJSON *json = NULL;
	int rc;

	if (fd < 0 && errno == ENOENT)
		return EWS_ENOTFOUND;
	if (fd < 0)
		return ews_error_os("cannot open '%s'", dir);
	rc = read_json(&json, fd);
	if (rc == EWS_ENOTFOUND)
		rc = ews_error(EWS_EDAMAGED, "there is none");
	if (rc == 0)
		rc = ews_json_get_bytes(store, json, "store");
	return rc < 0 ? ews_error_wrap("'%s' in '%s'", PROJECT_FILE, dir) : 0;
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
	EWS_CLEANUP(free) char *sessions = ews_path_join(entry->name, EWS_WORKING_SESSIONS);

	return *entry->name != '.' && faccessat(working_fd, sessions, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int ews_home_projects(struct ews_home_projects *out, const char *home)
{
	EWS_CLEANUP(fd) int working = ews_home_open_working(home, false);
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
		project.dir = ews_strfmt("%s/" EWS_HOME_WORKING "/%s", home, names.items[i].name);
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

	return fd < 0 ? fd : ews_home_project_write(fd, common_dir, project);
}

int ews_home_find_trashed(char **project, char **step, const char *home, const char *cwd)
{
	EWS_CLEANUP(free) char *real_home = realpath(home, NULL);
	EWS_CLEANUP(free) char *working = ews_path_join(real_home ? real_home : home, EWS_HOME_WORKING);
	EWS_CLEANUP(home_project) struct ews_home_project known = { .dir = NULL };
	EWS_CLEANUP(free) char *repo = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	const char *at = ews_path_is_inside(cwd, working) ? ews_str_after(cwd + strlen(working), "/") : NULL;
	const char *slash = at ? strchr(at, '/') : NULL;

	if (!slash || !ews_str_begins(slash, TRASH))
		return ews_error(EWS_ENOTFOUND, "'%s' is in no trash", cwd);
	repo = ews_strndup(at, (size_t)(slash - at));
	fd = ews_home_open_working(home, false);
	if (fd < 0 || read_project(&known, fd, repo) < 0)
		return ews_error_code();
	*project = ews_strdup(ews_home_project_path(&known));
	slash += strlen(TRASH);
	*step = ews_strndup(slash, strcspn(slash, "/"));
	return 0;
}
