/*
 * Git as a child: see git.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/git.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "store/gate.h"
#include "store/git_program.h"
#include "store/home.h"

#define GIT_USAGE 129 /* what git exits with where it does not take an option */
#define STDERR_MAX (64 * EWS_KIB)
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* Fill the empty directory open at `fd` with what git takes for a bare repository. */
static int fill_bare(int fd, enum ews_hash_algo algo)
{
	static const char head[] = "ref: refs/heads/none\n";
	static const char sha1[] = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
	static const char sha256[] = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
				     "[extensions]\n\tobjectFormat = sha256\n";
	const char *config = algo == EWS_SHA256 ? sha256 : sha1;
	int rc;

	/* libgit2 looks for packs where there was a place for them when it opened the objects. */
	if (mkdirat(fd, "refs", 0700) < 0 || mkdirat(fd, "objects", 0700) < 0 || mkdirat(fd, "objects/pack", 0700) < 0)
		return ews_error_os("cannot make a directory in it");
	rc = ews_file_replace(fd, "config", config, strlen(config), 0600);
	if (rc == 0)
		rc = ews_file_replace(fd, EWS_GATE_FILE, "", 0, 0600);
	if (rc < 0)
		return rc;
	return ews_file_replace(fd, "HEAD", head, strlen(head), 0600);
}

int ews_git_make_bare(const char *dir, enum ews_hash_algo algo)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(dir);
	EWS_CLEANUP(free) char *tmp = ews_path_join(above, ".new-XXXXXX");
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (access(dir, F_OK) == 0)
		return 0;
	if (!mkdtemp(tmp))
		return ews_error_os("cannot make '%s'", dir);
	fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = fd < 0 ? ews_error_os("cannot open '%s'", tmp) : fill_bare(fd, algo);
	if (rc == 0 && rename(tmp, dir) == 0)
		return 0;
	if (rc == 0 && errno != EEXIST && errno != ENOTEMPTY)
		rc = ews_error_os("cannot rename '%s'", tmp);
	if (rc < 0) {
		struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

		ews_error_save(&why);
		(void)ews_file_remove_tree(AT_FDCWD, tmp); /* best effort: it is empty and harmless */
		ews_error_restore(&why);
		return ews_error_wrap("cannot make '%s'", dir);
	}
	/* Another process was faster: its directory is as good as ours. */
	if (ews_file_remove_tree(AT_FDCWD, tmp) < 0)
		ews_error_clear();
	return 0;
}

int ews_git_neutral_dir(char **out, const char *home, enum ews_hash_algo algo)
{
	EWS_CLEANUP(free)
	char *dir = ews_path_join(home, algo == EWS_SHA256 ? EWS_HOME_NEUTRAL_SHA256 : EWS_HOME_NEUTRAL);
	int rc = ews_git_make_bare(dir, algo);

	if (rc == 0)
		*out = ews_steal(&dir);
	return rc;
}

/* Take over the variable `name` from our environment, when it is set. */
static void keep(struct ews_strv *env, const char *name)
{
	const char *value = getenv(name);

	if (value)
		ews_strv_addf(env, "%s=%s", name, value);
}

static void make_env(struct ews_strv *env, const struct ews_git_opts *opts)
{
	static const char *const kept[] = {
		"HOME",
		"XDG_CONFIG_HOME",
		"GIT_CONFIG_GLOBAL",
		"GIT_CONFIG_SYSTEM",
		"GIT_CONFIG_NOSYSTEM",
		"GIT_PAGER",
		"GIT_PAGER_IN_USE",
		"PAGER",
		"LESS",
		"LESSCHARSET",
		"LV",
		"TERM",
		"COLORTERM",
		"NO_COLOR",
		"COLUMNS",
		"LANG",
		"LANGUAGE",
		"LC_ALL",
		"LC_CTYPE",
		"LC_MESSAGES",
		"LC_COLLATE",
		"LC_TIME",
		"USER",
		"LOGNAME",
		"TMPDIR",
	};
	const char *path = getenv("PATH");

	ews_strv_addf(env, "PATH=%s", path && *path ? path : DEFAULT_PATH);
	if (opts->user_config) {
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			keep(env, kept[i]);
	} else {
		ews_strv_add_all(env, "LC_ALL=C", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
				 "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", NULL);
	}
	ews_strv_add_all(env, "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
			 "GIT_NO_LAZY_FETCH=1", NULL);
	ews_strv_addf(env, "GIT_LITERAL_PATHSPECS=%d", !opts->has_pathspecs);
	/* A git before 2.39.4 knows no GIT_NO_LAZY_FETCH; this leaves it no protocol, whatever the config allows. */
	ews_strv_add(env, "GIT_ALLOW_PROTOCOL=none");
	if (opts->own_dir) {
		ews_strv_addf(env, "GIT_DIR=%s", opts->own_dir);
		ews_strv_add_all(env, "GIT_GRAFT_FILE=/nonexistent", "GIT_COMMITTER_NAME=git-ews",
				 "GIT_COMMITTER_EMAIL=git-ews@localhost", NULL);
		/* No command that stands there needs the work tree, and one that is not there stops all of them. */
		ews_strv_add(env, "GIT_WORK_TREE=/");
		return;
	}
	ews_strv_addf(env, "GIT_DIR=%s", opts->neutral_dir);
	ews_strv_addf(env, "GIT_OBJECT_DIRECTORY=%s", opts->object_dir);
	if (opts->alternate_dir)
		ews_strv_addf(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s", opts->alternate_dir);
	if (opts->index_file)
		ews_strv_addf(env, "GIT_INDEX_FILE=%s", opts->index_file);
	else
		ews_strv_addf(env, "GIT_INDEX_FILE=%s/no-index", opts->neutral_dir);
}

char *ews_git_sentence(const struct ews_buf *err)
{
	const char *start = err->ptr, *end = start + err->len, *line;

	while (end > start && end[-1] == '\n')
		end--;
	line = strstr(start, "fatal: ");
	if (line) {
		line += strlen("fatal: ");
	} else {
		line = memrchr(start, '\n', (size_t)(end - start));
		line = line ? line + 1 : start;
	}
	if (ews_str_begins(line, "error: "))
		line += strlen("error: ");
	return ews_strndup(line, strcspn(line, "\n"));
}

/* The neutral repository is nobody's but ours, and what is written to the store is as that one's config has it. */
static void add_sharing(struct ews_strv *argv, struct ews_sharing sharing)
{
	const char *word = sharing.bits == 0660 ? "group" : "all";

	if (!sharing.bits)
		return;
	ews_strv_add(argv, "-c");
	if (sharing.is_exact)
		ews_strv_addf(argv, "core.sharedRepository=0%o", (unsigned)sharing.bits);
	else
		ews_strv_addf(argv, "core.sharedRepository=%s", word);
}

/* The whole command line: what a repository's own config could make git run is switched off. */
static int make_argv(struct ews_strv *argv, const struct ews_git_opts *opts, char *const *args)
{
	EWS_CLEANUP(free) char *git = NULL;
	int rc = ews_sharing_need(opts->sharing);

	if (rc == 0)
		rc = ews_git_program_find(&git);
	if (rc < 0)
		return rc;
	ews_strv_add(argv, git);
	if (opts->work_tree)
		ews_strv_add_all(argv, "-c", "core.bare=false", "--work-tree=.", NULL);
	if (opts->maps_little)
		ews_strv_add_all(argv, "-c", "core.packedGitWindowSize=1m", "-c", "core.packedGitLimit=16m", NULL);
	if (opts->own_dir)
		ews_strv_add_all(argv, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", NULL);
	add_sharing(argv, opts->sharing);
	if (opts->sync_objects)
		ews_strv_add_all(argv, "-c", "core.fsync=objects", NULL);
	ews_strv_add_array(argv, args);
	return 0;
}

int ews_git_open(struct ews_child **out, const struct ews_git_opts *opts, char *const *args)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	struct ews_proc proc = { .cwd = "/" };

	if (make_argv(&argv, opts, args) < 0)
		return ews_error_wrap("cannot run git");
	make_env(&env, opts);
	proc.argv = argv.items;
	proc.env = env.items;
	return ews_child_open(out, &proc) < 0 ? ews_error_wrap("cannot run git") : 0;
}

/* Whoever sent the signal, it says nothing of what git was asked for. */
static int fail_signal(const char *verb, int signal)
{
	ews_error(EWS_EIO, "'git %s' was ended by signal %d", verb, signal);
	if (signal == SIGXFSZ)
		ews_error_hint("it wrote more into a file than 'ulimit -f' allows");
	if (signal == SIGXCPU)
		ews_error_hint("it took more processor time than 'ulimit -t' allows");
	return ews_error_as_passing();
}

int ews_git_run(const struct ews_git_opts *opts, char *const *args)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *sentence = NULL;
	int status, signal = 0;
	struct ews_proc proc = {
		.cwd = opts->work_tree ? opts->work_tree : "/",
		.input = opts->input,
		.input_len = opts->input_len,
		.in_fd = opts->in_fd,
		.out_fd = opts->out_fd,
		.out = opts->out,
		.err = opts->err ? opts->err : &err,
		.signal = &signal,
		.own_group = opts->own_group,
		.progress = opts->progress,
		.payload = opts->payload,
	};

	ews_buf_init_max(&err, STDERR_MAX);
	if (make_argv(&argv, opts, args) < 0)
		return ews_error_wrap("cannot run git");
	make_env(&env, opts);
	/* Some answer line by line unless they are told that nobody waits for one. */
	if (opts->out)
		ews_strv_add(&env, "GIT_FLUSH=0");
	proc.argv = argv.items;
	proc.env = env.items;
	status = ews_proc_run(&proc);
	if (status < 0)
		return ews_error_wrap("cannot run git");
	/* SIGHUP's is GIT_USAGE as well. A script in git's place tells of one by its own status. */
	if (signal || status > GIT_USAGE)
		return fail_signal(args[0], signal ? signal : status - 128);
	if (status < 128 || opts->err)
		return status;
	sentence = ews_git_sentence(&err);
	if (*sentence)
		return ews_error(status == GIT_USAGE ? EWS_EUSAGE : EWS_EGIT, "'git %s' failed: %s", args[0],
				 sentence);
	return ews_error(EWS_EGIT, "'git %s' ended with status %d", args[0], status);
}

static bool is_unwanted(const char *name, size_t len)
{
	/* `git rev-parse --local-env-vars`, and what bends a diff or writes files. */
	static const char *const names[] = {
		"GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_COMMON_DIR",
		"GIT_CONFIG",
		"GIT_CONFIG_COUNT",
		"GIT_CONFIG_PARAMETERS",
		"GIT_DIFF_OPTS",
		"GIT_DIR",
		"GIT_EXTERNAL_DIFF",
		"GIT_GRAFT_FILE",
		"GIT_IMPLICIT_WORK_TREE",
		"GIT_INDEX_FILE",
		"GIT_INTERNAL_SUPER_PREFIX",
		"GIT_NO_REPLACE_OBJECTS",
		"GIT_OBJECT_DIRECTORY",
		"GIT_PREFIX",
		"GIT_REPLACE_REF_BASE",
		"GIT_SHALLOW_FILE",
		"GIT_WORK_TREE",
	};

	/* GIT_TRACE2 and its kin begin so, too. */
	if (len >= strlen("GIT_TRACE") && ews_str_begins(name, "GIT_TRACE"))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	return false;
}

void ews_git_scrub_env(void)
{
	EWS_CLEANUP(strv) struct ews_strv unwanted = EWS_STRV_INIT;

	for (char **var = environ; var && *var; var++) {
		size_t len = strcspn(*var, "=");

		if (is_unwanted(*var, len))
			ews_strv_add_len(&unwanted, *var, len);
	}
	for (size_t i = 0; i < unwanted.n; i++)
		unsetenv(unwanted.items[i]);
}
