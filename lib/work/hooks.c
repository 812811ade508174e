/*
 * Hooks: see hooks.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/hooks.h"

#include <dirent.h>
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
#include "base/proc.h"
#include "base/str.h"
#include "store/git.h"
#include "store/gitconfig_files.h"
#include "store/gitconfig_text.h"
#include "store/home.h"
#include "store/include.h"
#include "work/hooks_script.h"
#include "work/retell.h"

#define CONFIG_FILE "config"
#define FROM_GIT_DIR EWS_HOOKS_DIR "/" CONFIG_FILE
#define WORKTREE_CONFIG "config.worktree"
#define SCRIPT_BYTES_MAX EWS_MIB

/* All that git looks for below core.hooksPath. */
static const char *const names[] = {
	"applypatch-msg",
	"commit-msg",
	"p4-changelist",
	"p4-post-changelist",
	"p4-pre-submit",
	"p4-prepare-changelist",
	"post-applypatch",
	"post-checkout",
	"post-commit",
	"post-index-change",
	"post-merge",
	"post-receive",
	"post-rewrite",
	"post-update",
	"pre-applypatch",
	"pre-auto-gc",
	"pre-commit",
	"pre-merge-commit",
	"pre-push",
	"pre-rebase",
	"pre-receive",
	"prepare-commit-msg",
	"reference-transaction",
	"sendemail-validate",
	"update",
};

/* These take the place of what git does itself, by being there: they are where theirs is. */
static const char *const replacing[] = { "proc-receive", "push-to-checkout" };

#define N_NAMES (sizeof(names) / sizeof(*names))
#define N_REPLACING (sizeof(replacing) / sizeof(*replacing))

/* One of the places that there are. */
struct target {
	enum ews_hooks_scope scope;
	struct ews_repo *repo; /* or NULL */
	const char *home;
	char *dir;
};

#define TARGET_INIT { 0, NULL, NULL, NULL }

static void release_target(struct target *target)
{
	free(target->dir);
}

EWS_CLEANUP_DEFINE(target, struct target, release_target)

static void aim(struct target *out, enum ews_hooks_scope scope, struct ews_repo *repo, const char *home)
{
	out->scope = scope;
	out->repo = repo;
	out->home = home;
	out->dir = scope == EWS_HOOKS_USER ? ews_path_join(home, EWS_HOME_HOOKS)
					   : ews_path_join(repo->common_dir, EWS_HOOKS_DIR);
}

/* The file that `git config --global` writes. Fails with EWS_ECONFIG when there is no place for one. */
static int find_user_config(char **out)
{
	const char *global = getenv("GIT_CONFIG_GLOBAL");
	const char *home = getenv("HOME");
	EWS_CLEANUP(free) char *usual = NULL;
	EWS_CLEANUP(free) char *other = NULL;
	EWS_CLEANUP(free) char *cwd = NULL;

	if (global && *global) {
		cwd = getcwd(NULL, 0);
		*out = ews_path_absolute(cwd ? cwd : "/", global);
		return 0;
	}
	if (!home || *home != '/') {
		(void)ews_error(EWS_ECONFIG, "HOME is not set, so there is no config of yours");
		ews_error_hint("set HOME, or name a file with GIT_CONFIG_GLOBAL");
		return EWS_ECONFIG;
	}
	usual = ews_path_join(home, ".gitconfig");
	other = ews_gitconfig_user_path("config");
	*out = ews_steal(access(usual, R_OK) != 0 && access(other, R_OK) == 0 ? &other : &usual);
	return 0;
}

/* ---- config ---- */

/* A link in the place of a file would have us write elsewhere. */
static void add_file(struct ews_strv *out, char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		ews_strv_add(out, path);
	free(path);
}

/* The repository's config files: its own, and those of work trees, in which core.hooksPath may stand. */
static void list_repo_configs(struct ews_strv *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->common_fd, "worktrees");
	EWS_CLEANUP(dir_names) struct ews_dir_names entries = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&entries, fd);

	add_file(out, ews_path_join(repo->common_dir, CONFIG_FILE));
	add_file(out, ews_path_join(repo->common_dir, WORKTREE_CONFIG));
	for (ssize_t i = 0; i < n; i++)
		if (entries.items[i].type == DT_DIR)
			add_file(out, ews_strfmt("%s/worktrees/%s/" WORKTREE_CONFIG, repo->common_dir,
						 entries.items[i].name));
	ews_error_clear();
}

/* The files that the user's directory was ever named in: its mark has them, a line each; "made" ones were made by us. */
static void read_mark(struct ews_strv *out, struct ews_strv *out_made, const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, EWS_HOOKS_MARK);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char *line, *rest;

	if (ews_file_read(&text, AT_FDCWD, path, SCRIPT_BYTES_MAX) < 0) {
		ews_error_clear();
		return;
	}
	for (line = strtok_r(text.ptr, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
		bool is_made = ews_str_begins(line, "made ");

		if (!is_made && !ews_str_begins(line, "config "))
			continue;
		line += strlen(is_made ? "made " : "config ");
		if (ews_path_unescape(&name, line, strlen(line)) == 0)
			ews_strv_add(is_made ? out_made : out, name.ptr);
	}
	ews_error_clear();
}

/* Each config file that may name `target`, and by what. */
static int each_config(const struct target *target, int (*fn)(const char *file, const char *path, void *payload),
		       void *payload)
{
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv made = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *own = ews_path_join(target->dir, CONFIG_FILE);
	EWS_CLEANUP(free) char *user = NULL;
	int rc = 0;

	if (target->scope == EWS_HOOKS_REPOSITORY) {
		list_repo_configs(&files, target->repo);
	} else {
		read_mark(&files, &made, target->dir);
		ews_strv_add_array(&files, made.items);
		if (find_user_config(&user) < 0)
			ews_error_clear();
		else
			ews_strv_add(&files, user);
		ews_strv_unique(&files);
	}
	for (size_t i = 0; i < files.n && rc >= 0; i++)
		rc = fn(files.items[i], target->scope == EWS_HOOKS_USER ? own : FROM_GIT_DIR, payload);
	return rc < 0 ? rc : 0;
}

static int note_config(const char *file, const char *path, void *payload)
{
	if (ews_include_has(file, path))
		ews_strv_add(payload, file);
	return 0;
}

static int leave_config(const char *file, const char *path, void *payload)
{
	(void)payload;
	return ews_include_remove(file, path);
}

/* Does this file itself say where hooks are? */
static int says_hooks_path(const struct ews_repo *repo, const char *file)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	const struct ews_git_opts opts = { .own_dir = repo->git_dir, .out = &answer };

	ews_buf_init_max(&answer, EWS_MIB);
	ews_strv_add_all(&args, "config", "--file", file, "--get-all", "core.hooksPath", NULL);
	return ews_git_run(&opts, args.items);
}

/* A work tree's own config comes after the repository's: what that says of hooks would be stronger than we are. */
static int name_in_repo(const struct target *target)
{
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	const struct ews_repo *repo = target->repo;
	int rc = 0;

	list_repo_configs(&files, repo);
	if (!files.n || strcmp(ews_path_base(files.items[0]), CONFIG_FILE) != 0)
		return ews_error(EWS_EDENIED, "'%s/" CONFIG_FILE "' is no file", repo->common_dir);
	for (size_t i = 0; i < files.n && rc >= 0; i++) {
		const char *file = files.items[i];
		int status = i ? says_hooks_path(repo, file) : 0;

		if (status < 0)
			return status;
		if (status == 0)
			rc = ews_include_add(file, FROM_GIT_DIR, repo->common_dir);
	}
	return rc < 0 ? rc : 0;
}

static int name_in_users(const struct target *target, const char *file)
{
	EWS_CLEANUP(free) char *own = ews_path_join(target->dir, CONFIG_FILE);
	int rc = ews_include_add(file, own, NULL);

	return rc < 0 ? rc : 0;
}

/* ---- what git takes ---- */

static bool is_ours(const char *dir)
{
	EWS_CLEANUP(free) char *mark = ews_path_join(dir, EWS_HOOKS_MARK);

	return access(mark, F_OK) == 0;
}

/* Look which hooks directory git takes, and which it would take without ours. */
static int look_at_git(struct ews_hooks *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	const struct ews_git_opts opts = { .own_dir = repo->git_dir, .user_config = true, .out = &answer };
	int status;

	ews_buf_init_max(&answer, EWS_MIB);
	ews_strv_add_all(&args, "config", "-z", "--show-scope", "--path", "--get-all", "core.hooksPath", NULL);
	status = ews_git_run(&opts, args.items);
	if (status < 0)
		return ews_error_wrap("cannot find out which hooks git runs");
	out->taken = ews_path_join(repo->common_dir, "hooks");
	out->next = ews_strdup(out->taken);
	for (const char *at = answer.ptr, *end = at + answer.len; at < end;) {
		const char *value = at + strlen(at) + 1;
		EWS_CLEANUP(free) char *dir = NULL;

		if (value >= end)
			break;
		dir = *value ? ews_path_absolute(repo->project, value) : ews_strdup("");
		/* Our own git is told to run none. */
		if (strcmp(at, "command") != 0) {
			free(out->taken);
			out->taken = ews_strdup(dir);
			if (!*dir || !is_ours(dir)) {
				free(out->next);
				out->next = *dir ? ews_steal(&dir) : NULL;
			}
		}
		at = value + strlen(value) + 1;
	}
	return 0;
}

/* ---- the directory ---- */

enum whose_hook {
	NO_HOOK,
	OUR_HOOK,
	CHANGED_HOOK, /* ours, with what somebody else wrote into it: his */
	THEIR_HOOK,
};

static enum whose_hook whose_is(const struct ews_buf *text)
{
	if (ews_hooks_is_script(text))
		return OUR_HOOK;
	return ews_hooks_begins_as_script(text) ? CHANGED_HOOK : THEIR_HOOK;
}

/* What stands under `name`? Its text is appended to `text`. Fails where that can't be told just now. */
static int read_hook(enum whose_hook *out, struct ews_buf *text, int dir_fd, const char *name)
{
	int rc = ews_file_read(text, dir_fd, name, SCRIPT_BYTES_MAX);

	*out = rc == EWS_ENOTFOUND ? NO_HOOK : rc == 0 ? whose_is(text) : THEIR_HOOK;
	return rc < 0 ? ews_error_if_passing(rc) : 0;
}

static int look_at_hook(enum whose_hook *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	return read_hook(out, &text, dir_fd, name);
}

static bool is_file_of_ours(const char *name)
{
	return !strcmp(name, EWS_HOOKS_MARK) || !strcmp(name, CONFIG_FILE) || ews_str_begins(name, EWS_FILE_BESIDE);
}

/* git passes by one that can't be executed. */
static bool is_executable(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IXUSR);
}

static int list_hooks(struct ews_hooks *out, const char *dir)
{
	EWS_CLEANUP(fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names entries = EWS_DIR_NAMES_INIT;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : ews_error_os("cannot open '%s'", dir);
	n = ews_dir_names_read(&entries, fd);
	for (ssize_t i = 0; i < n; i++) {
		const char *name = entries.items[i].name;
		enum whose_hook whose = NO_HOOK;
		int rc = is_file_of_ours(name) ? 0 : look_at_hook(&whose, fd, name);

		if (rc < 0)
			return rc;
		if (whose >= CHANGED_HOOK)
			ews_strv_add(&out->foreign, name);
		else if (whose == OUR_HOOK && !is_executable(fd, name))
			ews_strv_add(&out->idle, name);
	}
	return n < 0 ? (int)n : 0;
}

static int write_hook(int fd, const char *name, const struct ews_hooks_script_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf script = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	enum whose_hook whose;
	int rc = read_hook(&whose, &text, fd, name);

	if (rc < 0 || whose >= CHANGED_HOOK)
		return rc;
	ews_hooks_script(&script, name, opts);
	if (whose == OUR_HOOK && !strcmp(text.ptr, script.ptr) && is_executable(fd, name))
		return 0;
	return ews_file_replace(fd, name, script.ptr, script.len, opts->is_users ? 0700 : 0755);
}

/* Their hook of that name, in the directory that comes after ours. */
static bool has_next(const struct ews_hooks *hooks, const char *name)
{
	EWS_CLEANUP(free) char *path = hooks->next ? ews_path_join(hooks->next, name) : NULL;

	return path && access(path, X_OK) == 0;
}

static int write_hooks(int fd, const struct ews_hooks *hooks, const struct ews_hooks_script_opts *opts)
{
	int rc = 0;

	for (size_t i = 0; i < N_NAMES && rc == 0; i++)
		rc = write_hook(fd, names[i], opts);
	for (size_t i = 0; i < N_REPLACING && rc == 0; i++) {
		enum whose_hook whose = NO_HOOK;

		rc = has_next(hooks, replacing[i]) ? write_hook(fd, replacing[i], opts)
						   : look_at_hook(&whose, fd, replacing[i]);
		if (rc == 0 && whose == OUR_HOOK && unlinkat(fd, replacing[i], 0) < 0)
			rc = ews_error_os("cannot remove '%s'", replacing[i]);
	}
	return rc;
}

static int write_config(int fd, const struct target *target)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_buf_adds(&text, "# Of git ews: 'git ews guard uninstall' takes it away.\n");
	ews_gitconfig_add(&text, "core.hooksPath", target->dir);
	return ews_file_replace(fd, CONFIG_FILE, text.ptr, text.len, target->scope == EWS_HOOKS_USER ? 0600 : 0644);
}

/* Before the config names the directory: what is written here is what uninstall goes by. */
static int write_mark(int fd, const struct target *target, const char *user_config)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv made = EWS_STRV_INIT;

	ews_buf_adds(&text, "hooks of git ews\n");
	if (user_config)
		read_mark(&files, &made, target->dir);
	if (user_config && !ews_strv_has(&files, user_config) && !ews_strv_has(&made, user_config))
		ews_strv_add(access(user_config, F_OK) ? &made : &files, user_config);
	for (size_t i = 0; i < files.n + made.n; i++) {
		const char *file = i < files.n ? files.items[i] : made.items[i - files.n];

		ews_buf_adds(&text, i < files.n ? "config " : "made ");
		ews_path_escape(&text, file, strlen(file));
		ews_buf_addc(&text, '\n');
	}
	return ews_file_replace(fd, EWS_HOOKS_MARK, text.ptr, text.len,
				target->scope == EWS_HOOKS_USER ? 0600 : 0644);
}

/* `parent_fd` is of the directory that holds ours: no link is followed to it. */
static int write_dir(int parent_fd, const struct target *target, const struct ews_hooks *hooks,
		     const char *user_config)
{
	struct ews_hooks_script_opts opts = { .home = target->home, .is_users = target->scope == EWS_HOOKS_USER };
	EWS_CLEANUP(free) char *program = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	rc = ews_proc_self(&program);
	if (rc < 0)
		return rc;
	opts.program = program;
	rc = opts.is_users
		     ? ews_dir_make(parent_fd, ews_path_base(target->dir), 0700)
		     : ews_dir_make_shared(parent_fd, ews_path_base(target->dir), ews_odb_sharing(target->repo->odb));
	if (rc < 0)
		return rc;
	fd = ews_dir_open_beneath(parent_fd, ews_path_base(target->dir));
	if (fd < 0)
		return fd;
	rc = write_mark(fd, target, user_config);
	if (rc == 0)
		rc = write_config(fd, target);
	return rc < 0 ? rc : write_hooks(fd, hooks, &opts);
}

/* ---- all together ---- */

static int refuse_plain(const struct ews_repo *repo)
{
	if (!repo->is_plain)
		return 0;
	(void)ews_error(EWS_EUNSUPPORTED, "'%s' is no git repository, so git runs no hooks in it", repo->project);
	ews_error_hint("'git ews run' guards any directory");
	return EWS_EUNSUPPORTED;
}

static int look(struct ews_hooks *out, const struct target *target)
{
	int rc;

	out->scope = target->scope;
	out->dir = ews_strdup(target->dir);
	rc = list_hooks(out, target->dir);
	if (rc == 0 && is_ours(target->dir))
		rc = each_config(target, note_config, &out->configs);
	return rc == 0 && target->repo && !target->repo->is_plain ? look_at_git(out, target->repo) : rc;
}

int ews_hooks_look(struct ews_hooks *out, enum ews_hooks_scope scope, struct ews_repo *repo, const char *home)
{
	EWS_CLEANUP(target) struct target target = TARGET_INIT;

	aim(&target, scope, repo, home);
	return look(out, &target);
}

static int install_users(const struct target *target, const struct ews_hooks *before)
{
	EWS_CLEANUP(free) char *file = NULL;
	EWS_CLEANUP(fd) int home_fd = -1;
	struct stat st;
	int rc;

	rc = find_user_config(&file);
	if (rc < 0)
		return rc;
	/* Before anything is made: a device is no file to add lines to. */
	if (stat(file, &st) == 0 && !S_ISREG(st.st_mode)) {
		(void)ews_error(EWS_ECONFIG, "your git config is '%s', which is no file that can be written", file);
		ews_error_hint("name another with GIT_CONFIG_GLOBAL");
		return EWS_ECONFIG;
	}
	rc = home_fd = ews_home_open(target->home);
	if (rc >= 0)
		rc = write_dir(home_fd, target, before, file);
	return rc < 0 ? rc : name_in_users(target, file);
}

static int install_repos(struct ews_hooks *out, const struct target *target, const struct ews_hooks *before)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire wires = EWS_TRIPWIRE_INIT;
	int rc;

	rc = ews_tripwire_take(&wires, target->repo);
	if (rc == 0)
		rc = write_dir(target->repo->common_fd, target, before, NULL);
	if (rc == 0)
		rc = name_in_repo(target);
	return rc < 0 ? rc : ews_retell(&out->busy, target->repo, &wires);
}

int ews_hooks_install(struct ews_hooks *out, enum ews_hooks_scope scope, struct ews_repo *repo, const char *home)
{
	EWS_CLEANUP(target) struct target target = TARGET_INIT;
	EWS_CLEANUP(hooks) struct ews_hooks before = EWS_HOOKS_INIT;
	int rc = scope == EWS_HOOKS_REPOSITORY ? refuse_plain(repo) : 0;

	if (rc < 0)
		return rc;
	aim(&target, scope, repo, home);
	rc = look(&before, &target);
	if (rc == 0)
		rc = scope == EWS_HOOKS_USER ? install_users(&target, &before) : install_repos(out, &target, &before);
	return rc < 0 ? ews_error_wrap("cannot install hooks") : look(out, &target);
}

/* Among git's own hooks one of ours does nothing, or, of former ones, runs itself: what was added there is his to move. */
static int refuse_changed(const struct target *target, int fd, const char *name)
{
	enum whose_hook whose = NO_HOOK;
	int rc = look_at_hook(&whose, fd, name);

	if (rc < 0 || whose != CHANGED_HOOK)
		return rc;
	(void)ews_error(EWS_EDENIED, "somebody has changed our hook '%s/%s'", target->dir, name);
	ews_error_hint("move it away, then uninstall");
	return EWS_EDENIED;
}

/* What somebody wrote into our directory is his: it goes where git will look for it. */
static int move_foreign(const struct ews_hooks *hooks, const struct target *target)
{
	EWS_CLEANUP(free) char *usual = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(fd) int to = -1;
	int rc = 0;

	if (!hooks->foreign.n)
		return 0;
	if (target->scope == EWS_HOOKS_USER || !target->repo) {
		(void)ews_error(EWS_EDENIED, "'%s/%s' is not ours", target->dir, hooks->foreign.items[0]);
		ews_error_hint("move it away, then uninstall");
		return EWS_EDENIED;
	}
	rc = fd = ews_dir_open_beneath(target->repo->common_fd, EWS_HOOKS_DIR);
	for (size_t i = 0; i < hooks->foreign.n && rc >= 0; i++)
		rc = refuse_changed(target, fd, hooks->foreign.items[i]);
	if (rc < 0)
		return rc;
	usual = ews_path_join(target->repo->common_dir, "hooks");
	rc = ews_dir_make_shared(target->repo->common_fd, "hooks", ews_odb_sharing(target->repo->odb));
	if (rc < 0)
		return rc;
	to = ews_dir_open_beneath(target->repo->common_fd, "hooks");
	rc = to < 0 ? to : 0;
	for (size_t i = 0; i < hooks->foreign.n && rc == 0; i++) {
		rc = ews_file_rename_new(fd, hooks->foreign.items[i], to, hooks->foreign.items[i]);
		if (rc == EWS_EEXISTS) {
			(void)ews_error(EWS_EEXISTS, "'%s/%s' is not ours, and '%s' has one of that name",
					target->dir, hooks->foreign.items[i], usual);
			ews_error_hint("move one of them away, then uninstall");
		}
	}
	return rc;
}

/* The user's config file, when it was made for us and holds nothing now. */
static void remove_made(const struct target *target)
{
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv made = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *file = NULL;
	struct stat st;

	read_mark(&files, &made, target->dir);
	if (find_user_config(&file) == 0 && ews_strv_has(&made, file) && lstat(file, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size == 0)
		(void)unlink(file); /* best effort: it says nothing */
	ews_error_clear();
}

int ews_hooks_uninstall(struct ews_hooks *out, enum ews_hooks_scope scope, struct ews_repo *repo, const char *home)
{
	EWS_CLEANUP(target) struct target target = TARGET_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire wires = EWS_TRIPWIRE_INIT;
	int rc = scope == EWS_HOOKS_REPOSITORY ? refuse_plain(repo) : 0;

	if (rc < 0)
		return rc;
	aim(&target, scope, repo, home);
	rc = look(out, &target);
	if (rc == 0 && scope == EWS_HOOKS_REPOSITORY)
		rc = ews_tripwire_take(&wires, repo);
	if (rc == 0)
		rc = move_foreign(out, &target);
	if (rc == 0)
		rc = each_config(&target, leave_config, NULL);
	if (rc == 0 && scope == EWS_HOOKS_USER)
		remove_made(&target);
	if (rc == 0)
		rc = ews_file_remove_tree(AT_FDCWD, target.dir);
	if (rc == 0 && scope == EWS_HOOKS_REPOSITORY)
		rc = ews_retell(&out->busy, repo, &wires);
	return rc < 0 ? ews_error_wrap("cannot take the hooks away") : 0;
}

bool ews_hooks_is_name(const char *name)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (!strcmp(names[i], name))
			return true;
	for (size_t i = 0; i < N_REPLACING; i++)
		if (!strcmp(replacing[i], name))
			return true;
	return false;
}

bool ews_hooks_is_installed(const struct ews_hooks *hooks)
{
	return hooks->configs.n > 0;
}

bool ews_hooks_is_effective(const struct ews_hooks *hooks)
{
	return ews_hooks_is_installed(hooks) && hooks->taken && !strcmp(hooks->taken, hooks->dir);
}

void ews_hooks_release(struct ews_hooks *hooks)
{
	free(hooks->dir);
	free(hooks->taken);
	free(hooks->next);
	ews_strv_release(&hooks->configs);
	ews_strv_release(&hooks->foreign);
	ews_strv_release(&hooks->idle);
	ews_strv_release(&hooks->busy);
}
