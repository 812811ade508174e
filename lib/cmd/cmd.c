/*
 * What verbs share: options of all verbs, the project, the session, paths, talk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/utf8.h"
#include "cmd/render_recover.h"
#include "store/config_user.h"
#include "store/git_place.h"
#include "store/home.h"
#include "store/pathspec.h"
#include "work/anew.h"
#include "work/moved.h"
#include "work/rules.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"

static void print_verbs(const struct ews_cmd *verbs, size_t n, const char *above)
{
	(void)printf("usage: git ews %s <verb> [<argument>...]\n\n", above);
	for (size_t i = 0; i < n; i++)
		(void)printf("    %-10s %s\n", verbs[i].name, verbs[i].summary);
	(void)printf("\n'git ews %s <verb> -h' lists a verb's options.\n", above);
}

static void add_names(struct ews_buf *out, const struct ews_cmd *verbs, size_t n, const char *between)
{
	for (size_t i = 0; i < n; i++)
		ews_buf_addf(out, "%s%s", i ? between : "", verbs[i].name);
}

static int fail_without_verb(const struct ews_cmd *verbs, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf names = EWS_BUF_INIT;

	add_names(&names, verbs, n, ", ");
	return ews_error(EWS_EUSAGE, "a verb is missing: %s", names.ptr);
}

int ews_cmd_run_one_of(const struct ews_cmd *verbs, size_t n, struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(buf) struct ews_buf names = EWS_BUF_INIT;
	int rc;

	if (argc < 2)
		return fail_without_verb(verbs, n);
	if (!strcmp(argv[1], "-h")) {
		print_verbs(verbs, n, argv[0]);
		return EWS_CMD_USAGE_SHOWN;
	}
	if (!strcmp(argv[1], EWS_OPTS_NAMES)) {
		add_names(&names, verbs, n, " ");
		(void)printf("%s\n", names.ptr);
		return EWS_CMD_USAGE_SHOWN;
	}
	for (size_t i = 0; i < n; i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		rc = verbs[i].run(ctx, argc - 1, argv + 1);
		if (rc == EWS_EUSAGE && !*ews_error_hint_text())
			ews_error_hint("see 'git ews %s %s -h'", argv[0], verbs[i].name);
		return rc;
	}
	return ews_error(EWS_EUSAGE, "'%s' is not a verb of git ews %s", argv[1], argv[0]);
}

static int check_words(const struct ews_cmd_args *args, const struct ews_cmd_syntax *syntax)
{
	if (args->words.n > syntax->max_words)
		return ews_error(EWS_EUSAGE, "'%s' is one argument too many", args->words.items[syntax->max_words]);
	if (args->words.n < syntax->min_words)
		return ews_error(EWS_EUSAGE, "an argument is missing");
	if (args->paths.n && !syntax->takes_paths)
		return ews_error(EWS_EUSAGE, "'%s' stands after '--', where this verb takes nothing",
				 args->paths.items[0]);
	return 0;
}

static int check_color(const char *when)
{
	if (!when || !strcmp(when, "always") || !strcmp(when, "never") || !strcmp(when, "auto"))
		return 0;
	return ews_error(EWS_EUSAGE, "--color takes always, never or auto, not '%s'", when);
}

int ews_cmd_parse(struct ews_cmd_args *args, struct ews_cmd_ctx *ctx, const struct ews_cmd_syntax *syntax, int argc,
		  char **argv)
{
	const struct ews_opt none[] = { EWS_OPTS_END };
	const struct ews_opt nul[] = {
		EWS_OPT_BOOL('z', "null", &ctx->nul, "end each path with a NUL, print it as it is"),
		EWS_OPTS_END,
	};
	const struct ews_opt shared[] = {
		EWS_OPT_BOOL(0, "json", &ctx->json, "print one JSON object"),
		EWS_OPT_BOOL('q', "quiet", &ctx->quiet, "print no notes"),
		EWS_OPT_BOOL('v', "verbose", &ctx->verbose, "say more"),
		EWS_OPT_TRISTATE(0, "progress", &ctx->progress, "show progress on stderr"),
		EWS_OPT_OPTIONAL(0, "color", &ctx->color, "when", "always", "use colour: always, never or auto"),
		EWS_OPT_BOOL(0, "no-color", &ctx->no_color, NULL),
		EWS_OPTS_END,
	};
	const struct ews_opt *const tables[] = {
		syntax->opts ? syntax->opts : none,
		syntax->more_opts ? syntax->more_opts : none,
		syntax->prints_paths ? nul : none,
		shared,
		NULL,
	};
	int rc;

	rc = ews_opts_parse(tables, syntax->usage, argc, argv, &args->words, &args->paths, NULL);
	if (rc < 0)
		return rc;
	if (rc > 0)
		return EWS_CMD_USAGE_SHOWN;
	if (syntax->takes_paths)
		ews_strv_add_array(&ctx->words, args->words.items);
	rc = check_color(ctx->color);
	return rc < 0 ? rc : check_words(args, syntax);
}

void ews_cmd_args_release(struct ews_cmd_args *args)
{
	ews_strv_release(&args->words);
	ews_strv_release(&args->paths);
}

/* A directory that its repository ignores is none of the repository's: it becomes a project of its own. */
static int leave_ignored(struct ews_cmd_ctx *ctx, const char *home)
{
	struct ews_repo *repo = ctx->repo;
	const char *path;
	int rc;

	if (repo->is_plain || repo->is_bare || repo->here || !ews_path_is_inside(ctx->cwd, repo->project) ||
	    !strcmp(ctx->cwd, repo->project))
		return 0;
	path = ctx->cwd + strlen(repo->project) + 1;
	if (ews_path_is_inside(path, ".git") || ews_path_is_inside(path, EWS_OWN_DIR))
		return 0;
	rc = ews_rules_is_ignored(repo, path);
	if (rc <= 0)
		return rc;
	ctx->repo = NULL;
	rc = ews_repo_open(&ctx->repo, ctx->cwd, home, EWS_REPO_MAKE_HERE);
	if (rc == 0)
		ews_cmd_note(ctx, "the repository '%s' ignores this directory: it is a project of its own",
			     repo->project);
	ews_repo_free(repo);
	return rc;
}

/* Sessions of a project that was moved follow it as soon as anybody asks for them there. */
static int follow(const struct ews_cmd_ctx *ctx, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv left = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *was = NULL;
	int rc = repo->here ? 0 : ews_moved_follow(&was, &left, repo);

	if (rc > 0)
		ews_cmd_note(ctx, "this project was at '%s': its sessions have followed%s", was,
			     left.n ? ", but not all of them" : "");
	for (size_t i = 0; i < left.n; i++)
		ews_cmd_note(ctx, "%s", left.items[i]);
	return rc;
}

/* What ends us by a signal leaves nothing half done. It may come when the current directory is gone. */
static void expect_signals(const struct ews_cmd_ctx *ctx, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *others = ews_kin_list_print(&ctx->others);
	const char *words[10] = { "git-ews", "-C", repo->project, "--home", repo->home, ews_cmd_interrupted.name,
				  others };
	size_t n = 7;

	if (ctx->progress >= 0)
		words[n++] = ctx->progress ? "--progress" : "--no-progress";
	if (ctx->quiet || ctx->json)
		words[n++] = "--quiet";
	ews_interrupt_arm(words);
}

int ews_cmd_open_repo(struct ews_cmd_ctx *ctx)
{
	return ews_cmd_open_repo_or_make(ctx, EWS_REPO_MAKE_NONE);
}

int ews_cmd_refuse_workspace(const struct ews_cmd_ctx *ctx)
{
	if (!ctx->repo || !ctx->repo->here)
		return 0;
	(void)ews_error(EWS_EDENIED, "this is the workspace of session '%s'", ctx->repo->here);
	ews_error_hint("change to '%s'", ctx->repo->project);
	return EWS_EDENIED;
}

/* While a session was at work in the project itself git may have been told to look for that elsewhere, or that there is none. */
static void warn_of_overruled(const struct ews_cmd_ctx *ctx)
{
	const struct ews_repo *repo = ctx->repo;
	EWS_CLEANUP(git_place) struct ews_git_place place = EWS_GIT_PLACE_INIT;
	EWS_CLEANUP(free) char *file = NULL;
	const struct ews_git_place_word *word;

	if (!repo->overruled)
		return;
	if (ews_git_place_read(&place, repo->git_dir, repo->common_dir) < 0)
		ews_error_clear();
	word = strcmp(repo->overruled, "core.bare") ? &place.worktree : &place.bare;
	if (!word->text)
		return;
	file = ews_shell_shown(word->file);
	ews_cmd_warn(ctx,
		     "%s is '%s', so that git does not work in '%s', where a session %s. To take that back: git "
		     "--work-tree=. config --file %s --unset-all %s",
		     repo->overruled, word->text, repo->project,
		     repo->is_overruled_late ? "did that can be brought back" : "does", file, repo->overruled);
}

/* What its sessions say is of another directory, and is not written into this one. */
static void warn_of_anew(const struct ews_cmd_ctx *ctx)
{
	const struct ews_repo *repo = ctx->repo;
	EWS_CLEANUP(free) char *shown = ews_shell_shown(repo->project);

	if (ews_anew_has_living(ctx->repo))
		ews_cmd_warn(ctx,
			     "'%s' was made anew since its sessions began, or another directory was put there: none writes "
			     "into it. If it is the same to you: git ews recover --moved-from %s",
			     repo->project, shown);
}

/* All sessions would seem gone. */
static void warn_of_closed(const struct ews_cmd_ctx *ctx, const char *home)
{
	const char *closed = ews_config_home_doubt(home, ctx->home);

	if (closed)
		ews_cmd_warn(ctx,
			     "'%s' may not be read: if it has ews.home, sessions are elsewhere than in '%s'; SUPERQODE_HOME or "
			     "--home says where",
			     closed, home);
}

int ews_cmd_open_repo_or_make(struct ews_cmd_ctx *ctx, enum ews_repo_make make)
{
	EWS_CLEANUP(free) char *home = NULL;
	int rc;

	if (ctx->repo)
		return 0;
	if (!ctx->cwd)
		ctx->cwd = getcwd(NULL, 0);
	if (!ctx->cwd)
		return ews_error_os("cannot find the current directory");
	rc = ews_config_find_home(&home, ctx->home);
	if (rc < 0)
		return rc;
	rc = ews_repo_open(&ctx->repo, ctx->cwd, home, make);
	if (rc == 0 && make != EWS_REPO_MAKE_NONE)
		rc = leave_ignored(ctx, home);
	if (rc < 0)
		return rc;
	expect_signals(ctx, ctx->repo);
	warn_of_closed(ctx, home);
	warn_of_overruled(ctx);
	rc = follow(ctx, ctx->repo);
	if (rc >= 0)
		warn_of_anew(ctx);
	return rc < 0 ? rc : 0;
}

int ews_cmd_open_known(struct ews_repo **out, const struct ews_cmd_ctx *ctx, const struct ews_home_project *project,
		       const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	int rc = ews_repo_open_at(&repo, ews_home_project_path(project), home);

	if (rc == 0)
		expect_signals(ctx, repo);
	if (rc == 0 && project->leads_to) {
		rc = follow(ctx, repo);
		if (rc == 0)
			return ews_error(EWS_ENOTFOUND, "another repository is there now, at '%s'",
					 project->leads_to);
	}
	if (rc < 0)
		return rc;
	*out = ews_steal(&repo);
	return 0;
}

void ews_cmd_announce(const struct ews_cmd_ctx *ctx, const char *id)
{
	EWS_CLEANUP(buf) struct ews_buf block = EWS_BUF_INIT;

	if (ctx->json)
		return;
	ews_render_incomplete(&block, id);
	ews_cmd_say("", block.ptr);
}

void ews_cmd_meet(const struct ews_cmd_ctx *ctx, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

	if (ews_session_open(&session, ctx->repo, id) < 0)
		ews_error_clear(); /* the verb says what it needs of it */
	else if (ews_session_is_interrupted(&session))
		ews_cmd_announce(ctx, session.state.id);
}

/* Say that `session` is interrupted; refuse it to a verb that `changes` it. */
static int meet_interrupted(const struct ews_cmd_ctx *ctx, const struct ews_session *session, bool changes)
{
	ews_cmd_announce(ctx, session->state.id);
	return changes ? ews_session_fail_interrupted(session->state.id) : 0;
}

int ews_cmd_open_session(struct ews_session *out, struct ews_cmd_ctx *ctx, const char *name, bool changes)
{
	int rc;

	rc = ews_cmd_open_repo(ctx);
	if (rc < 0)
		return rc;
	rc = ews_session_open(out, ctx->repo, name);
	if (rc < 0)
		return rc;
	if (ews_session_is_interrupted(out))
		return meet_interrupted(ctx, out, changes);
	return 0;
}

int ews_cmd_open_session_or_project(struct ews_session *out, struct ews_cmd_ctx *ctx, const char *name, bool changes)
{
	int rc;

	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = name ? 1 : ews_session_is_implied(ctx->repo);
	if (rc <= 0)
		return rc;
	rc = ews_cmd_open_session(out, ctx, name, changes);
	return rc < 0 ? rc : 1;
}

int ews_cmd_session_ids(struct ews_strv *out, struct ews_cmd_ctx *ctx, const struct ews_strv *names)
{
	size_t i;
	int rc;

	rc = ews_cmd_open_repo(ctx);
	for (i = 0; rc == 0 && i < (names->n ? names->n : 1); i++) {
		EWS_CLEANUP(free) char *id = NULL;

		rc = ews_session_resolve(&id, ctx->repo, names->items[i]);
		if (rc == 0 && !ews_strv_has(out, id))
			ews_strv_add(out, id);
	}
	return rc;
}

/* The top of what the command stands in, the innermost: a workspace, or the project. NULL where it is neither. The caller frees it. */
static char *find_top(const struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	char *top = NULL;

	if (!ctx->repo || (ctx->repo->is_bare && !ctx->repo->here))
		return NULL;
	if (!ctx->repo->here)
		return ews_strdup(ctx->repo->project);
	if (ews_session_open(&session, ctx->repo, ctx->repo->here) == 0)
		top = realpath(session.state.workspace, NULL);
	else
		ews_error_clear(); /* who works on it says so */
	return top;
}

/* Does one stand in `git_dir`, and not in a work tree, with the top `top` (NULL: none is known), that lies in there? */
static bool is_in(const char *cwd, const char *git_dir, const char *top)
{
	bool is_deeper = top && ews_path_is_inside(cwd, top) && ews_path_is_inside(top, git_dir);

	return ews_path_is_inside(cwd, git_dir) && !is_deeper;
}

/* Git's own directory, where hooks run, is in no twin, though it may lie below a top; and a top may lie below it. */
static bool is_in_git_dir(const struct ews_cmd_ctx *ctx, const char *top)
{
	const struct ews_repo *repo = ctx->repo;

	return repo && !repo->is_plain && !repo->is_bare &&
	       (is_in(ctx->cwd, repo->git_dir, top) || is_in(ctx->cwd, repo->common_dir, top));
}

/* Where relative paths are seen from below `root`: workspaces and project are twins, so it is the same place in each. */
static char *find_place(const struct ews_cmd_ctx *ctx, const char *root)
{
	EWS_CLEANUP(free) char *top = find_top(ctx);

	if (is_in_git_dir(ctx, top))
		return ews_strdup(root);
	if (top && ews_path_is_inside(ctx->cwd, top))
		return ews_path_join(root, ctx->cwd + strlen(top));
	return ews_strdup(ews_path_is_inside(ctx->cwd, root) ? ctx->cwd : root);
}

int ews_cmd_paths(struct ews_strv *out, const struct ews_cmd_ctx *ctx, const char *root, const struct ews_strv *paths)
{
	EWS_CLEANUP(free) char *real = realpath(root, NULL);
	const char *real_root = real ? real : root;
	EWS_CLEANUP(free) char *from = paths->n ? find_place(ctx, real_root) : NULL;
	size_t i;

	for (i = 0; i < paths->n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_absolute(from, paths->items[i]);
		const char *rel = ews_dir_find_below(path, root, real_root);

		if (!*paths->items[i])
			return ews_error(EWS_EUSAGE, "an empty string is no path");
		if (!rel)
			return ews_error(EWS_EUSAGE, "'%s' is outside of '%s'", paths->items[i], root);
		if (!*rel) {
			ews_strv_clear(out);
			return 0;
		}
		ews_strv_add(out, rel);
	}
	return 0;
}

char *ews_cmd_here(const struct ews_cmd_ctx *ctx, const char *root)
{
	EWS_CLEANUP(strv) struct ews_strv dot = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv path = EWS_STRV_INIT;

	ews_strv_add(&dot, ".");
	if (ews_cmd_paths(&path, ctx, root, &dot) < 0)
		ews_error_clear();
	return path.n ? ews_strfmt("%s/", path.items[0]) : ews_strdup("");
}

int ews_cmd_pathspecs(struct ews_strv *out, bool *are_specs, const struct ews_cmd_ctx *ctx, const char *root,
		      const struct ews_strv *specs)
{
	EWS_CLEANUP(free) char *here = NULL;
	bool are_paths = true;
	int rc = ews_pathspec_are_paths(&are_paths, specs);

	*are_specs = !are_paths;
	if (rc < 0)
		return rc;
	if (are_paths)
		return ews_cmd_paths(out, ctx, root, specs);
	here = ews_cmd_here(ctx, root);
	return ews_pathspec_from_top(out, specs, root, here);
}

const char *const *ews_cmd_only(const struct ews_strv *paths)
{
	return paths->n ? (const char *const *)paths->items : NULL;
}

int ews_cmd_age(int64_t *out, const char *text)
{
	int rc = ews_clock_read_age(out, text);

	if (rc < 0)
		ews_error_hint("a number and a unit, as in 90m, 12h, 3d or 2w");
	return rc;
}

int ews_cmd_seconds(uint64_t *out_ms, const char *text, unsigned max_s)
{
	char *end;
	double seconds = strtod(text, &end);

	if (!*text || strspn(text, "0123456789.") != strlen(text) || *end || seconds > max_s) {
		(void)ews_error(EWS_EUSAGE, "'%s' is no time to wait", text);
		ews_error_hint("seconds, as in 60 or 0.5; at most %u", max_s);
		return EWS_EUSAGE;
	}
	*out_ms = (uint64_t)(seconds * 1000);
	if (seconds > 0 && *out_ms == 0)
		*out_ms = 1;
	return 0;
}

bool ews_cmd_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int ews_cmd_ask(const char *question, const char *instead)
{
	EWS_CLEANUP(buf) struct ews_buf shown = EWS_BUF_INIT;
	char answer[16] = "";

	if (!ews_cmd_can_ask()) {
		(void)ews_error(EWS_EDENIED, "there is no terminal to ask at: %s", question);
		ews_error_hint("%s", instead);
		return EWS_EDENIED;
	}
	ews_utf8_add_line(&shown, question);
	ews_buf_adds(&shown, " [y/N] ");
	(void)ews_file_write_fd(STDERR_FILENO, shown.ptr, shown.len); /* who does not see it says no */
	if (!fgets(answer, sizeof(answer), stdin))
		return 0;
	return answer[0] == 'y' || answer[0] == 'Y';
}

void ews_cmd_add_place(struct ews_cmd_ctx *ctx, const char *path)
{
	ews_buf_adds(&ctx->out, path);
	ews_buf_addc(&ctx->out, ctx->nul ? '\0' : '\n');
}

void ews_cmd_add_path_line(struct ews_cmd_ctx *ctx, const char *path)
{
	ews_path_add_line(&ctx->out, path, ctx->nul);
}

cJSON *ews_cmd_json_new(const char *what)
{
	EWS_CLEANUP(free) char *schema = ews_strfmt("ews.%s/1", what);
	cJSON *object = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(object, "schema", schema);
	return object;
}

void ews_cmd_json_show(struct ews_cmd_ctx *ctx, const cJSON *object)
{
	ews_json_print(&ctx->out, object, isatty(STDOUT_FILENO));
}

void ews_cmd_say(const char *prefix, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_buf_adds(&line, prefix);
	for (size_t len; *text; text += len) {
		len = *text == '\t' || (*text == '\n' && !*prefix) ? 1 : ews_utf8_shown_len(text);
		if (len)
			ews_buf_add(&line, text, len);
		else
			ews_buf_addc(&line, '?');
		len += !len;
	}
	if (!line.len || line.ptr[line.len - 1] != '\n')
		ews_buf_addc(&line, '\n');
	(void)!write(STDERR_FILENO, line.ptr, line.len); /* there is nobody else to tell */
}

__attribute__((format(printf, 2, 0))) static void say_formatted(const char *prefix, const char *fmt, va_list args)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_buf_vaddf(&text, fmt, args);
	ews_cmd_say(prefix, text.ptr);
}

void ews_cmd_note(const struct ews_cmd_ctx *ctx, const char *fmt, ...)
{
	va_list args;

	if (ctx->quiet || ctx->json)
		return;
	va_start(args, fmt);
	say_formatted("note: ", fmt, args);
	va_end(args);
}

void ews_cmd_warn(const struct ews_cmd_ctx *ctx, const char *fmt, ...)
{
	va_list args;

	if (ctx->json)
		return;
	va_start(args, fmt);
	say_formatted("warning: ", fmt, args);
	va_end(args);
}

void ews_cmd_warn_of_settings(const struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(strv) struct ews_strv warnings = EWS_STRV_INIT;
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	size_t i;

	if (!ctx->repo || !ctx->repo->config)
		return;
	ews_error_save(&saved);
	ews_config_warnings(&warnings, ctx->repo->config);
	for (i = 0; i < warnings.n; i++)
		if (!saved.message || !strstr(saved.message, warnings.items[i]))
			ews_cmd_warn(ctx, "%s", warnings.items[i]);
	(void)ews_error_restore(&saved);
}
