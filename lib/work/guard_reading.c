/*
 * A git command that reads: see guard_reading.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "store/gitconfig.h"
#include "store/index.h"
#include "work/guard_git.h"

#define ANSWER_MAX (64 * EWS_KIB)
/* What ews_guard_neutral_value() may have something to say of, and what it takes to read an index. */
#define PATTERN "^(filter\\.|diff\\..*\\.textconv$|extensions\\.objectformat$)"

void ews_guard_reading_release(struct ews_guard_reading *reading)
{
	ews_strv_release(&reading->argv);
	ews_strv_release(&reading->env);
	if (reading->index_fd >= 0)
		close(reading->index_fd);
}

/*
 * The environment
 */

static bool is_kept(const char *name, const char *value)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	static const char *const kept[] = {
		"HOME",
		"USER",
		"LOGNAME",
		"XDG_CONFIG_HOME",
		"TMPDIR",
		"LANG",
		"LANGUAGE",
		"TZ",
		"TERM",
		"COLORTERM",
		"NO_COLOR",
		"COLUMNS",
		"LINES",
		"GIT_CONFIG_GLOBAL",
		"GIT_CONFIG_SYSTEM",
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (!strcmp(name, kept[i]))
			return true;
	if (ews_str_begins(name, "GIT_"))
		return strcmp(name, "GIT_PAGER") != 0 && ews_guard_variable_is_harmless(&rules, name, value);
	return ews_str_begins(name, "LC_");
}

/* The absolute directories of PATH: git's own shell scripts look there for their tools. */
static void add_path(struct ews_strv *env)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	const char *dirs = getenv("PATH"), *end;

	for (; dirs && *dirs; dirs = *end ? end + 1 : end) {
		end = strchrnul(dirs, ':');
		if (*dirs == '/')
			ews_buf_addf(&path, "%s%.*s", path.len ? ":" : "", (int)(end - dirs), dirs);
	}
	if (path.len)
		ews_strv_addf(env, "PATH=%s", path.ptr);
}

/* What is set twice holds as the later one says: git and its children look for the last. */
static void add_env(struct ews_strv *env)
{
	for (char **var = environ; *var; var++) {
		EWS_CLEANUP(free) char *name = ews_strndup(*var, strcspn(*var, "="));
		bool is_ours = false;

		for (const char *const *ours = ews_guard_neutral_env; *ours; ours++)
			is_ours = is_ours || !strncmp(*var, *ours, strlen(name) + 1);
		if (!is_ours && (*var)[strlen(name)] && is_kept(name, *var + strlen(name) + 1))
			ews_strv_add(env, *var);
	}
	add_path(env);
	ews_strv_add_array(env, (char *const *)ews_guard_neutral_env);
}

/*
 * Repositories: the one that the command is about, and those in it
 */

struct look {
	const char *git;
	const struct ews_strv *env;
	struct ews_gitconfig config; /* of all of them */
	size_t first_n; /* so much of it is of the first one */
	struct ews_strv seen; /* work trees */
};

static void release_look(struct look *look)
{
	ews_gitconfig_release(&look->config);
	ews_strv_release(&look->seen);
}

EWS_CLEANUP_DEFINE(look, struct look, release_look)

/* Where a repository is, and the git that is asked for it: the answer is in a file, so that it need not be waited for. */
struct where {
	pid_t pid;
	int fd;
	char *index, *top; /* NULL: none; a bare repository has no top */
};

#define WHERE_INIT { -1, -1, NULL, NULL }

static void release_where(struct where *where)
{
	if (where->pid >= 0)
		(void)ews_proc_reap(where->pid, "git"); /* nobody wants to know any more */
	if (where->fd >= 0)
		close(where->fd);
	free(where->index);
	free(where->top);
}

EWS_CLEANUP_DEFINE(where, struct where, release_where)

static const char *const both[] = { "--git-path", "index", "--show-toplevel", NULL };
static const char *const top_alone[] = { "--show-toplevel", NULL };

static int ask_where(struct where *out, const struct look *look, char *const *globals, const struct ews_strv *env,
		     const char *const *questions)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct ews_proc proc = { .env = env->items, .err_fd = null_fd };

	proc.out_fd = out->fd = memfd_create("where", MFD_CLOEXEC);
	if (null_fd < 0 || out->fd < 0)
		return ews_error_os("cannot ask git");
	ews_strv_add(&argv, look->git);
	ews_strv_add_array(&argv, globals);
	ews_strv_add_all(&argv, "rev-parse", "--path-format=absolute", NULL);
	ews_strv_add_array(&argv, (char *const *)questions);
	proc.argv = argv.items;
	return ews_proc_start(&out->pid, &proc);
}

/* The answer without the end of its last line. Returns git's status: what it says outside of any repository is nothing. */
static int hear(struct ews_buf *answer, struct where *where)
{
	int status = ews_proc_reap(where->pid, "git"), rc;

	where->pid = -1;
	if (status >= 0 && lseek(where->fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot ask git");
	rc = status < 0 ? status : ews_file_read_fd(answer, where->fd, ANSWER_MAX);
	if (rc < 0)
		return rc;
	if (answer->len && answer->ptr[answer->len - 1] == '\n')
		answer->ptr[--answer->len] = '\0';
	close(where->fd);
	where->fd = -1;
	return status;
}

/* Git fails where there is no work tree, and has said where the index is. Either path may hold ends of lines itself. */
static int hear_where(struct where *out, const struct look *look, char *const *globals, const struct ews_strv *env)
{
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf top = EWS_BUF_INIT;
	char *split;
	int rc = hear(&answer, out);

	if (rc < 0)
		return rc;
	split = rc == 0 ? strchr(answer.ptr, '\n') : NULL;
	if (split && strchr(split + 1, '\n')) {
		rc = ask_where(out, look, globals, env, top_alone);
		if (rc == 0)
			rc = hear(&top, out);
		if (rc < 0)
			return rc;
		split = answer.ptr + answer.len - top.len - 1;
		if (top.len >= answer.len || *split != '\n' || strcmp(split + 1, top.ptr) != 0)
			return ews_error(EWS_EGIT, "git's answer makes no sense");
	}
	if (split) {
		*split = '\0';
		out->top = ews_strdup(split + 1);
	}
	if (*answer.ptr)
		out->index = ews_strdup(answer.ptr);
	return 0;
}

/*
 * May the index at `path` name repositories? To read it takes some ms where it is large, to search it much less: for the
 * mode of a gitlink, or the extension of a split index, in another file of which there may be some.
 */
static bool may_name_repositories(const char *path)
{
	static const char mode[] = { '\0', '\0', '\xe0', '\0' }, split[] = { 'l', 'i', 'n', 'k', '\0' };
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *data;
	bool found;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return true;
	found = memmem(data, (size_t)st.st_size, mode, sizeof(mode)) ||
		memmem(data, (size_t)st.st_size, split, sizeof(split));
	(void)munmap(data, (size_t)st.st_size);
	return found;
}

static int read_index(struct ews_index *out, const char *path, enum ews_hash_algo algo)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(path);
	EWS_CLEANUP(fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ews_error_os("cannot open '%s'", dir);
	return ews_index_read(out, fd, ews_path_base(path), algo);
}

/* The hashes of the repository whose config was read from item `from` on. */
static enum ews_hash_algo algo_of(const struct look *look, size_t from)
{
	for (; from < look->config.n; from++)
		if (!strcmp(look->config.items[from].key, "extensions.objectformat") &&
		    !strcasecmp(look->config.items[from].text, "sha256"))
			return EWS_SHA256;
	return EWS_SHA1;
}

static int look_at(struct look *look, struct where *out, char *const *globals, const struct ews_strv *env,
		   bool wants_index);

/* Git asks in each repository that the index names and that is there, by a git of its own that stands in it. */
static int look_below(struct look *look, const char *top, const struct ews_index *index)
{
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	int rc = 0;

	ews_strv_add_array(&env, look->env->items);
	ews_strv_add(&env, "GIT_DIR=.git");
	for (size_t i = 0; i < index->n && rc == 0; i++) {
		EWS_CLEANUP(where) struct where where = WHERE_INIT;
		EWS_CLEANUP(free) char *dir = NULL;
		EWS_CLEANUP(free) char *git_dir = NULL;
		char option[] = "-C";
		char *globals[] = { option, NULL, NULL };

		if (index->items[i].mode != EWS_MODE_GITLINK)
			continue;
		globals[1] = dir = ews_path_join(top, index->items[i].path);
		git_dir = ews_path_join(dir, ".git");
		if (access(git_dir, F_OK) == 0)
			rc = look_at(look, &where, globals, &env, true);
	}
	return rc;
}

/* Read the config of the repository that `globals` and `env` lead to, and of those in it. */
static int look_at(struct look *look, struct where *out, char *const *globals, const struct ews_strv *env,
		   bool wants_index)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	size_t from = look->config.n;
	int rc = wants_index ? ask_where(out, look, globals, env, both) : 0;

	/* A git that can't read its config says so, and does nothing else: so will the command. */
	if (rc == 0)
		rc = ews_gitconfig_ask(&look->config, PATTERN, globals, env->items);
	if (!look->seen.n)
		look->first_n = look->config.n;
	if (rc >= 0 && wants_index)
		rc = hear_where(out, look, globals, env);
	if (rc < 0 || !out->top)
		return rc < 0 ? rc : 0;
	/* No name twice: links may lead back. */
	if (ews_strv_has(&look->seen, out->top))
		return 0;
	ews_strv_add(&look->seen, out->top);
	if (!may_name_repositories(out->index))
		return 0;
	rc = read_index(&index, out->index, algo_of(look, from));
	return rc < 0 ? rc : look_below(look, out->top, &index);
}

static void add_setting(struct ews_strv *env, unsigned *n, const char *key, const char *value)
{
	ews_strv_addf(env, "GIT_CONFIG_KEY_%u=%s", *n, key);
	ews_strv_addf(env, "GIT_CONFIG_VALUE_%u=%s", *n, value);
	(*n)++;
}

/* Every program that is named is put out of action; what the user and the system say comes last, and holds. */
static void add_settings(struct ews_strv *env, const struct look *look, bool has_copy)
{
	const struct ews_gitconfig_value *items = look->config.items;
	unsigned n = 0;

	for (size_t i = 0; i < look->config.n; i++)
		if (items[i].scope == EWS_GITCONFIG_REPOSITORY && ews_guard_neutral_value(items[i].key))
			add_setting(env, &n, items[i].key, ews_guard_neutral_value(items[i].key));
	for (size_t i = 0; i < look->first_n; i++)
		if ((items[i].scope == EWS_GITCONFIG_USER || items[i].scope == EWS_GITCONFIG_SYSTEM) &&
		    ews_guard_neutral_value(items[i].key))
			add_setting(env, &n, items[i].key, items[i].text);
	/* Else a part of it would be written where the original is. */
	if (has_copy)
		add_setting(env, &n, "core.splitIndex", "false");
	if (n)
		ews_strv_addf(env, "GIT_CONFIG_COUNT=%u", n);
}

/*
 * The copy of an index
 */

/* Fill `to` from `from`; the time comes along, by which git knows which entries it must not trust. */
static int copy_file(int to, int from)
{
	struct stat st;
	int rc;

	if (to < 0 || fstat(from, &st) < 0 || lseek(from, 0, SEEK_SET) < 0)
		return ews_error_os("cannot copy the index");
	rc = ews_file_copy_fd(to, from, (uint64_t)st.st_size, NULL);
	if (rc == 0 && futimens(to, (const struct timespec[]){ st.st_atim, st.st_mtim }) < 0)
		return ews_error_os("cannot copy the index");
	return rc;
}

#define PRIVATE "git-ews-index." /* what the names of directories of our own begin with */

/* One name a repository: what stays is that of the last command, and goes with the directory. */
static char *name_copy(const char *place, const struct stat *dir)
{
	return ews_strfmt("%s/git-ews-index-%llx-%llx", place, (unsigned long long)dir->st_dev,
			  (unsigned long long)dir->st_ino);
}

/* Put a copy of the index `from` in the directory `place`; the caller frees its name. */
static int copy_to_place(char **out, const char *place, const struct stat *dir, int from)
{
	EWS_CLEANUP(free) char *copy = name_copy(place, dir);
	EWS_CLEANUP(free) char *fresh = ews_strfmt("%s.XXXXXX", copy);
	EWS_CLEANUP(fd) int to = mkostemp(fresh, O_CLOEXEC);
	int rc = copy_file(to, from);

	if (rc == 0 && rename(fresh, copy) < 0)
		rc = ews_error_os("cannot rename '%s'", fresh);
	if (rc < 0 && to >= 0)
		(void)unlink(fresh); /* best effort: it is ours, and of no use */
	if (rc == 0)
		*out = ews_steal(&copy);
	return rc;
}

/*
 * Keep a copy of the index in memory, which git finds as a descriptor of its own. It can make no lock beside that: it takes
 * the link for the name of a file, "/memfd:none/index (deleted)", and that directory is not there, as "/" would be.
 */
static int copy_to_memory(char **out, int *fd, int from)
{
	*fd = memfd_create("none/index", 0);
	*out = ews_strfmt("/proc/self/fd/%d", *fd);
	return copy_file(*fd, from);
}

/* An index that is not there is an empty one. */
static int leave_none(char **out, const char *place, const struct stat *dir)
{
	EWS_CLEANUP(free) char *copy = name_copy(place, dir);

	if (unlink(copy) < 0 && errno != ENOENT)
		return ews_error_os("cannot remove '%s'", copy);
	*out = ews_steal(&copy);
	return 0;
}

/* Open a directory that is ours alone beneath one that is not: what an earlier command made, or a new one. */
static int open_private(const char *place, int place_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(free) char *made = ews_strfmt("%s/" PRIVATE "XXXXXX", place);
	ssize_t n = ews_dir_names_read(&names, place_fd);
	int fd = -1;

	for (ssize_t i = 0; i < n && fd < 0; i++)
		if (ews_str_begins(names.items[i].name, PRIVATE))
			fd = ews_dir_open_own(place_fd, names.items[i].name);
	if (fd >= 0)
		return fd;
	return mkdtemp(made) ? ews_dir_open_own(place_fd, ews_path_base(made))
			     : ews_error_os("cannot make '%s'", made);
}

/*
 * Put the copy in the directory `place`. Where others can make files there it gets a directory that is ours alone, to which
 * `*fd` leads, as they may be able to put another one under its name: what they make is not what git reads, nor in its way.
 */
static int copy_to(char **out, int *fd, const char *place, const struct stat *dir, int from)
{
	EWS_CLEANUP(fd) int place_fd = ews_dir_open(place);
	EWS_CLEANUP(fd) int private_fd = -1;
	char link[EWS_HANDLE_NAME_MAX];
	int rc;

	if (place_fd < 0)
		return place_fd;
	if (ews_own_check(place_fd, place) < 0) {
		private_fd = open_private(place, place_fd);
		if (private_fd < 0)
			return private_fd;
		if (fcntl(private_fd, F_SETFD, 0) < 0)
			return ews_error_os("cannot hand '%s' on", place);
		place = ews_handle_name(link, private_fd);
	}
	rc = from < 0 ? leave_none(out, place, dir) : copy_to_place(out, place, dir, from);
	if (rc == 0)
		*fd = ews_steal_fd(&private_fd);
	return rc;
}

/*
 * Copy the index at `path` to where it is the command's alone; the caller frees the name of the copy. That is the session's
 * directory, or where TMPDIR says; a command may have cleared its environment, or been given a place that it can't
 * write, and then it is in memory. The name may lead by `fd`.
 */
static int copy_index(char **out, int *fd, const char *path)
{
	const char *tmp = getenv("TMPDIR"), *own = getenv(EWS_GUARD_READING_TMPDIR);
	const char *const places[] = { own && *own == '/' ? own : NULL, tmp && *tmp == '/' ? tmp : "/tmp" };
	EWS_CLEANUP(free) char *parent = ews_path_dir(path);
	EWS_CLEANUP(fd) int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat dir;

	if ((from < 0 && errno != ENOENT) || stat(parent, &dir) < 0)
		return ews_error_os("cannot open '%s'", path);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i] && copy_to(out, fd, places[i], &dir, from) == 0)
			return 0;
	ews_error_clear();
	if (from >= 0)
		return copy_to_memory(out, fd, from);
	*out = ews_strdup("/proc/self/fd/none"); /* which nobody can make */
	return 0;
}

int ews_guard_reading_make(struct ews_guard_reading *out, const char *git, char *const *argv)
{
	EWS_CLEANUP(guard_reading) struct ews_guard_reading made = EWS_GUARD_READING_INIT;
	EWS_CLEANUP(look)
	struct look look = { .git = git, .env = &made.env, .config = EWS_GITCONFIG_INIT, .seen = EWS_STRV_INIT };
	EWS_CLEANUP(where) struct where where = WHERE_INIT;
	EWS_CLEANUP(strv) struct ews_strv globals = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *copy = NULL;
	char *const *command = ews_guard_command(argv);
	size_t n = 0;
	int rc = 0;

	while (argv[n])
		n++;
	ews_guard_neutral(&made.argv, argv);
	if (made.argv.n == n)
		return 0;
	add_env(&made.env);
	for (char *const *at = argv + 1; command && at < command; at++)
		ews_strv_add(&globals, *at);
	if (command && !ews_guard_converts_nothing(argv))
		rc = look_at(&look, &where, globals.items, &made.env, ews_guard_wants_index(argv));
	if (rc == 0 && where.index)
		rc = copy_index(&copy, &made.index_fd, where.index);
	if (rc < 0)
		return ews_error_wrap("cannot make 'git %s' harmless", command ? *command : "");
	add_settings(&made.env, &look, copy != NULL);
	if (copy)
		ews_strv_addf(&made.env, "GIT_INDEX_FILE=%s", copy);
	*out = made;
	made = (struct ews_guard_reading)EWS_GUARD_READING_INIT;
	return 1;
}
