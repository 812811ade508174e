/*
 * A store's directory in home: see home_repo.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home_repo.h"

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
#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/home.h"
#include "store/state.h"

#define NAME_LEN_MAX 180

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

static char *hashed_name(const char *name, const char *common_dir)
{
	uint8_t digest[EWS_HASH_MAX];
	char hex[9];

	ews_hash_once(EWS_SHA256, digest, common_dir, strlen(common_dir));
	ews_hex(hex, digest, 4);
	return ews_strfmt("%s-%s", name, hex);
}

/* Is it the store of a plain directory? Those are called as ews_home_store() says. */
static bool is_our_store(const char *home, const char *common_dir)
{
	EWS_CLEANUP(free) char *stores = ews_path_join(home, EWS_HOME_STORES);
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
	rc = fd < 0 ? ews_error_os("cannot open '%s'", tmp) : ews_home_project_write(fd, common_dir, project);
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
	EWS_CLEANUP(free) char *rel = ews_path_join(dir, EWS_WORKING_SESSIONS);
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
	rc = fd < 0 ? fd : ews_home_project_write(fd, common_dir, project);
	return rc < 0 ? ews_error_wrap("cannot write 'project.json' in '%s' anew", dir) : 1;
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
		if (ews_home_project_read_store(&store, working_fd, name) < 0)
			ews_strv_add(&unread, name);
		else if (!strcmp(store, common_dir))
			found = name;
	}
	for (size_t i = 0; i < unread.n && !found && rc == 0; i++) {
		EWS_CLEANUP(free) char *store = NULL;

		rc = ews_home_project_read_store(&store, working_fd, unread.items[i]) < 0
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
	*out = ews_strfmt("%s/" EWS_HOME_WORKING "/%s", home, found);
	return 0;
}

/* `dir` when it is the store's; with `project` one that nobody has is made the store's. Else EWS_ENOTFOUND. */
static int find_named(char **out, const char *home, int working_fd, const char *dir, const char *common_dir,
		      const char *project)
{
	EWS_CLEANUP(free) char *store = NULL;
	int rc = ews_home_project_read_store(&store, working_fd, dir);

	if (rc == EWS_ENOTFOUND && project) {
		rc = claim(working_fd, dir, common_dir, project);
		if (rc == EWS_EEXISTS)
			rc = ews_home_project_read_store(&store, working_fd, dir);
		else if (rc == 0)
			store = ews_strdup(common_dir);
	}
	/* A directory that says nothing, or nothing that can be read, is somebody else's, unless its sessions say more: find_by_claim(). */
	if (rc < 0 && rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	if (rc < 0 || strcmp(store, common_dir))
		return EWS_ENOTFOUND;
	*out = ews_strfmt("%s/" EWS_HOME_WORKING "/%s", home, dir);
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

int ews_home_repo_dir(char **out, const char *home, const char *common_dir, const char *project)
{
	EWS_CLEANUP(fd) int working = ews_home_open_working(home, project != NULL);
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

char *ews_home_store(const char *home, const char *project)
{
	EWS_CLEANUP(free) char *plain = store_name(project);
	EWS_CLEANUP(free) char *hashed = hashed_name(plain, project);

	return ews_strfmt("%s/" EWS_HOME_STORES "/%s.git", home, hashed);
}

char *ews_home_parked_store(const char *home, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *plain = store_name(project->project);
	EWS_CLEANUP(free) char *known_by = ews_strfmt("%s\n%s", project->project, project->birth);
	EWS_CLEANUP(free) char *hashed = hashed_name(plain, known_by);

	return ews_strfmt("%s/" EWS_HOME_STORES "/%s.git", home, hashed);
}
