/*
 * Git's config files: see gitconfig_files.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitconfig_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "store/git_program.h"
#include "store/gitconfig_text.h"

#define SYSTEM_FILE "/etc/gitconfig"
#define FILE_BYTES_MAX (16 * EWS_MIB)

struct walk {
	ews_gitconfig_entry_fn fn;
	void *payload;
	struct ews_gitconfig_entry at;
	bool has_own; /* the repository says that each worktree has one of its own */
	bool is_beyond;
};

struct ews_gitconfig_places ews_gitconfig_find_places(void)
{
	struct ews_gitconfig_places places = { true, getenv("GIT_CONFIG_SYSTEM"), getenv("GIT_CONFIG_GLOBAL") };
	const char *no_system = getenv("GIT_CONFIG_NOSYSTEM");
	bool is_set = false;

	places.has_system = !no_system || !ews_gitconfig_bool(&is_set, no_system) || !is_set;
	return places;
}

static int see(const char *key, const char *value, void *payload)
{
	struct walk *walk = payload;

	if (ews_str_begins(key, "include.") || ews_str_begins(key, "includeif."))
		return 1;
	if (walk->at.scope == EWS_GITCONFIG_REPOSITORY && !strcmp(key, "extensions.worktreeconfig"))
		(void)ews_gitconfig_bool(&walk->has_own, value); /* what is no truth value sets nothing */
	walk->at.key = key;
	walk->at.value = value;
	walk->fn(&walk->at, walk->payload);
	return 0;
}

static _Atomic(char *) closed; /* the first of the user's that is there, and that we may not see */

static void note_closed(const char *path)
{
	char *noted = NULL, *name;

	if (access(path, F_OK) < 0)
		return;
	name = ews_strdup(path);
	if (!atomic_compare_exchange_strong(&closed, &noted, name))
		free(name);
}

const char *ews_gitconfig_closed_path(void)
{
	return atomic_load(&closed);
}

/* A file that isn't there says nothing, as for git; nor does one of the user's or the system's that we may not see. */
static void read_one(struct walk *walk, const char *path, enum ews_gitconfig_scope scope)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;

	if (walk->is_beyond)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		walk->is_beyond = !ews_errno_is_absent(errno) &&
				  (errno != EACCES || scope == EWS_GITCONFIG_REPOSITORY);
		if (errno == EACCES && scope == EWS_GITCONFIG_USER)
			note_closed(path);
		return;
	}
	walk->at.file = path;
	walk->at.scope = scope;
	if (ews_file_read_fd(&text, fd, FILE_BYTES_MAX) < 0 ||
	    ews_gitconfig_parse(text.ptr, text.len, see, walk) != 0) {
		ews_error_clear();
		walk->is_beyond = true;
	}
}

static void read_in(struct walk *walk, const char *dir, const char *file, enum ews_gitconfig_scope scope)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, file);

	read_one(walk, path, scope);
}

static pthread_once_t has_looked = PTHREAD_ONCE_INIT;
static char *system_beside; /* the system's file beside the directory that git lies in; NULL: none */

static void look_beside(void)
{
	EWS_CLEANUP(free) char *git = NULL;
	EWS_CLEANUP(free) char *bin = NULL;
	EWS_CLEANUP(free) char *path = NULL;

	if (ews_git_program_find(&git) < 0) {
		ews_error_clear();
		return;
	}
	bin = ews_path_dir(git);
	path = ews_path_absolute(bin, "../etc/gitconfig");
	if (strcmp(path, SYSTEM_FILE) != 0)
		system_beside = ews_steal(&path);
}

/* Where git was built to look for it: in /etc, or beside the directory that git lies in, which takes a search. */
static void read_system(struct walk *walk)
{
	(void)pthread_once(&has_looked, look_beside);
	read_one(walk, SYSTEM_FILE, EWS_GITCONFIG_SYSTEM);
	if (system_beside)
		read_one(walk, system_beside, EWS_GITCONFIG_SYSTEM);
}

char *ews_gitconfig_user_path(const char *name)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");

	if (xdg && *xdg)
		return ews_strfmt("%s/git/%s", xdg, name);
	return home && *home ? ews_strfmt("%s/.config/git/%s", home, name) : NULL;
}

char *ews_gitconfig_expand(const char *path)
{
	const char *home = getenv("HOME"), *rest = ews_str_after(path, "~/");

	if (!rest)
		return ews_strdup(path);
	return home && *home ? ews_path_join(home, rest) : NULL;
}

static void read_users(struct walk *walk)
{
	struct ews_gitconfig_places places = ews_gitconfig_find_places();
	EWS_CLEANUP(free) char *other = ews_gitconfig_user_path("config");
	const char *home = getenv("HOME");

	if (places.has_system && places.system)
		read_one(walk, places.system, EWS_GITCONFIG_SYSTEM);
	else if (places.has_system)
		read_system(walk);
	if (places.global) {
		read_one(walk, places.global, EWS_GITCONFIG_USER);
		return;
	}
	if (other)
		read_one(walk, other, EWS_GITCONFIG_USER);
	if (home)
		read_in(walk, home, ".gitconfig", EWS_GITCONFIG_USER);
}

int ews_gitconfig_walk(const char *git_dir, const char *common_dir, ews_gitconfig_entry_fn fn, void *payload)
{
	struct walk walk = { .fn = fn, .payload = payload };

	read_users(&walk);
	if (git_dir)
		read_in(&walk, common_dir, "config", EWS_GITCONFIG_REPOSITORY);
	if (git_dir && walk.has_own)
		read_in(&walk, git_dir, "config.worktree", EWS_GITCONFIG_REPOSITORY);
	return walk.is_beyond;
}
