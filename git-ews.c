/*
 * git ews: from argv to a verb, the one error printed, the exit status.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "cmd/cmd_shim.h"
#include "cmd/pager.h"
#include "work/recover.h"

#define RUN_FAILED 125 /* of ours, where the status is a command's */
#define SHIM_NOT_FOUND 127

static const struct ews_cmd *const verbs[] = {
	&ews_cmd_start,  &ews_cmd_run,      &ews_cmd_shell,    &ews_cmd_status,      &ews_cmd_list,
	&ews_cmd_path,   &ews_cmd_diff,     &ews_cmd_snapshot, &ews_cmd_revert,      &ews_cmd_apply,
	&ews_cmd_end,    &ews_cmd_undo,     &ews_cmd_recover,  &ews_cmd_clean,       &ews_cmd_report,
	&ews_cmd_guard,  &ews_cmd_artifact, &ews_cmd_watch,    &ews_cmd_suggestions, &ews_cmd_pending,
	&ews_cmd_round,  &ews_cmd_archive,  &ews_cmd_config,   &ews_cmd_lock,        &ews_cmd_epoch,
	&ews_cmd_doctor, &ews_cmd_trust,    &ews_cmd_version,  &ews_cmd_interrupted,
};

static const struct ews_cmd *find_verb(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

static void print_usage(void)
{
	size_t i;

	(void)printf(
		"usage: git ews [-C <dir>] [--home <dir>] [--version] [-h | --help] [<verb> [<argument>...]]\n\n");
	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (verbs[i]->summary)
			(void)printf("    %-11s %s\n", verbs[i]->name, verbs[i]->summary);
	(void)printf(
		"\nWithout a verb: status. 'git ews <verb> -h' lists a verb's options, 'git ews help <verb>' opens its manual.\n");
}

/* The verbs in a line, as completion asks for them. */
static void print_names(void)
{
	const char *before = "";

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (!verbs[i]->summary)
			continue;
		(void)printf("%s%s", before, verbs[i]->name);
		before = " ";
	}
	(void)printf("\n");
}

/* A descriptor of 0 to 2 that is closed would be the next file opened: nothing may be written into that. */
static void guard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
}

static void go_on(int signo)
{
	(void)signo;
}

/*
 * At a limit on the size of files the kernel's signal would end us without a word: where it comes back the write has failed as on a
 * full disk, and is told as that. What we run has the signal as ever (an exec lets go of a handler, and of nothing that is ignored).
 */
static void outlive_size_limit(void)
{
	const struct sigaction ours = { .sa_handler = go_on, .sa_flags = SA_RESTART };
	struct sigaction before;

	if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		(void)sigaction(SIGXFSZ, &ours, NULL);
}

/* Is `option` among argv[1..] before "--"? */
static bool has_option(int argc, char **argv, const char *option)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], option))
			return true;
	return false;
}

/* Become `man`, when it has the page of `verb` (NULL: of git ews itself). Returns when it hasn't. */
static void show_manual(const char *verb)
{
	EWS_CLEANUP(free) char *page = verb ? ews_strfmt("git-ews-%s", verb) : ews_strdup("git-ews");
	EWS_CLEANUP(buf) struct ews_buf found = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf talk = EWS_BUF_INIT;
	char man[] = "man", where[] = "-w";
	char *const argv[] = { man, where, page, NULL };
	const struct ews_proc look = { .argv = argv, .out = &found, .err = &talk };

	if (ews_proc_run(&look) == 0)
		(void)execlp("man", "man", page, (char *)NULL);
}

struct globals {
	struct ews_cmd_ctx ctx;
	int at; /* argv[at] is the verb, or the first of the default verb's options */
	bool wants_help, wants_manual, wants_version, wants_names;
};

/* Read what stands before the verb. */
static int parse_globals(struct globals *out, int argc, char **argv)
{
	const struct ews_cmd *verb;
	int i, rc = 0;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		const char *home = ews_str_after(argv[i], "--home=");

		if (!strcmp(argv[i], "-h")) {
			out->wants_help = true;
		} else if (!strcmp(argv[i], "--help")) {
			out->wants_manual = true;
		} else if (!strcmp(argv[i], "--version")) {
			out->wants_version = true;
		} else if (!strcmp(argv[i], EWS_OPTS_NAMES)) {
			out->wants_names = true;
		} else if (!strcmp(argv[i], "-C") || !strcmp(argv[i], "--home")) {
			if (i + 1 == argc)
				return ews_error(EWS_EUSAGE, "'%s' needs a directory", argv[i]);
			i++;
			if (argv[i - 1][1] == '-')
				home = argv[i];
			else if (rc == 0 && *argv[i] && chdir(argv[i]) < 0)
				rc = ews_error_os("cannot change to '%s'", argv[i]); /* with the status of the verb */
		} else if (!home) {
			break;
		}
		if (home && !*home)
			return ews_error(EWS_EUSAGE, "'--home' needs a directory");
		if (home)
			out->ctx.home = home;
	}
	out->at = i;
	verb = i < argc ? find_verb(argv[i]) : NULL;
	if (verb == &ews_cmd_run || verb == &ews_cmd_shell) {
		out->ctx.failure_status = RUN_FAILED;
		ews_alloc_fail_with(RUN_FAILED);
	}
	if (rc < 0)
		return rc;
	out->ctx.cwd = getcwd(NULL, 0);
	/* From a directory that is gone one may look at other projects, and a prompt is shown there, too. */
	if (!out->ctx.cwd && !(errno == ENOENT && (verb == &ews_cmd_status || verb == &ews_cmd_list)))
		return ews_error_os("cannot find the current directory");
	return 0;
}

/* The manual of a verb, or else what -h says of it. */
static int explain(struct globals *globals, const struct ews_cmd *verb, char *name)
{
	char help_option[] = "-h";
	char *const ask[] = { name, help_option, NULL };
	int rc;

	show_manual(verb->name);
	rc = verb->run(&globals->ctx, 2, (char **)ask);
	return rc == EWS_CMD_USAGE_SHOWN ? 0 : rc;
}

/* Does the error begin or end with `word`? What it speaks of stands there. */
static bool is_about(const char *word)
{
	EWS_CLEANUP(free) char *quoted = ews_strfmt("'%s'", word);
	const char *message = ews_error_message();
	size_t len = strlen(message), n = strlen(quoted);

	return len >= n && (!strncmp(message, quoted, n) || !strcmp(message + len - n, quoted));
}

/* A word that was taken for a name, and is none, may have been meant as a path. */
static void hint_at_path(const struct ews_cmd_ctx *ctx)
{
	struct stat st;

	for (size_t i = 0; i < ctx->words.n; i++) {
		const char *word = ctx->words.items[i];

		if (is_about(word) && lstat(word, &st) == 0)
			ews_error_hint("a path comes after '--': -- %s", word);
	}
}

/* One of those that each verb has? */
static bool is_common_option(const char *arg)
{
	static const char *const common[] = { "--json",    "-q",         "--quiet",       "-v",
					      "--verbose", "--progress", "--no-progress", NULL };

	return ews_str_is_any(arg, common) || ews_str_begins(arg, "--color");
}

/* Behind an option a verb is taken for a session: the verb comes first. */
static void hint_at_verb(int argc, char **argv)
{
	bool is_common = true;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct ews_cmd *verb = find_verb(argv[i]);

		if (!verb || !verb->summary) {
			is_common = is_common && is_common_option(argv[i]);
			continue;
		}
		if (is_common)
			ews_error_hint("options come after the verb: git ews %s %s", verb->name, argv[1]);
		else
			ews_error_hint(
				"git's own options come before 'ews', those of a verb after it: 'git ews %s -h' shows them",
				verb->name);
		return;
	}
}

static int run_verb(struct globals *globals, int argc, char **argv)
{
	char status_name[] = "status";
	const struct ews_cmd *verb = &ews_cmd_status;
	bool is_named = globals->at < argc && argv[globals->at][0] != '-';
	int rc;

	if (is_named) {
		verb = find_verb(argv[globals->at]);
		if (!verb)
			return ews_error(EWS_EUSAGE, "'%s' is not a verb of git ews", argv[globals->at]);
	} else {
		globals->at--;
		argv[globals->at] = status_name;
	}
	if (has_option(argc - globals->at, argv + globals->at, "--help"))
		return explain(globals, verb, argv[globals->at]);
	rc = verb->run(&globals->ctx, argc - globals->at, argv + globals->at);
	if (rc == EWS_CMD_USAGE_SHOWN && has_option(argc - globals->at, argv + globals->at, EWS_OPTS_NAMES))
		return 0;
	if (rc == EWS_ENOTFOUND || rc == EWS_EUSAGE)
		hint_at_path(&globals->ctx);
	if (rc < 0 && !is_named)
		hint_at_verb(argc - globals->at, argv + globals->at);
	if (rc == EWS_EUSAGE && !*ews_error_hint_text())
		ews_error_hint("see 'git ews %s -h'", verb->name);
	return rc;
}

static int run(struct globals *globals, int argc, char **argv)
{
	int rc;

	rc = parse_globals(globals, argc, argv);
	if (rc < 0) {
		globals->ctx.json = has_option(argc, argv, "--json"); /* no verb has read that yet */
		return rc;
	}
	if (globals->wants_version) {
		char name[] = "version";
		char *const ask[] = { name, NULL };

		return ews_cmd_version.run(&globals->ctx, 1, (char **)ask);
	}
	if (globals->wants_names) {
		print_names();
		return 0;
	}
	/* "help <verb>" is "<verb> --help", as in git. */
	if (globals->at < argc && !strcmp(argv[globals->at], "help")) {
		globals->at++;
		globals->wants_manual = globals->at == argc || argv[globals->at][0] == '-';
		if (!globals->wants_manual && find_verb(argv[globals->at]))
			return explain(globals, find_verb(argv[globals->at]), argv[globals->at]);
	}
	if (globals->wants_manual)
		show_manual(NULL);
	if (globals->wants_manual || globals->wants_help) {
		print_usage();
		return globals->wants_help ? EWS_CMD_USAGE_SHOWN : 0;
	}
	return run_verb(globals, argc, argv);
}

/* Write the answer; what stdio holds comes first (a usage, and then nothing else). */
static int write_answer(const struct ews_cmd_ctx *ctx)
{
	int rc = 0;

	if (fflush(stdout) < 0 || ferror(stdout))
		return ews_error_os("cannot write to standard output");
	if (ctx->out.len && ews_file_write_fd(STDOUT_FILENO, ctx->out.ptr, ctx->out.len) < 0)
		rc = ews_pager_excuses() ? 0 : ews_error_wrap("cannot write to standard output");
	/* Who tried again would make another one. */
	if (rc < 0 && ctx->made)
		ews_error_hint("session '%s' was made all the same: 'git ews path %s' says where it is", ctx->made,
			       ctx->made);
	return rc;
}

/* Is there something in the project that a step left half done? Where that can't be found out, there may be. */
static bool has_interrupted(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	bool has;

	if (!repo || !repo->dir)
		return false;
	ews_error_save(&saved);
	has = ews_recover_list(&ids, NULL, repo) < 0 || ids.n;
	(void)ews_error_restore(&saved);
	return has;
}

/* What gives room to what had none: a process may be held to files of a size, and a file system hold none that is larger. */
static const char *space_hint(struct ews_repo *repo)
{
	struct rlimit limit;

	if (ews_error_errno() == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return has_interrupted(repo) ? "raise what 'ulimit -f' shows, then 'git ews recover'"
					     : "raise what 'ulimit -f' shows, and try again";
	return has_interrupted(repo) ? "free some space, then 'git ews recover'" : "free some space, and try again";
}

/* What to do about an error that comes without advice of its own. */
static const char *usual_hint(enum ews_code code, struct ews_repo *repo)
{
	if (ews_error_wants_descriptors())
		return "'ulimit -n' shows how many files may be open at a time";
	if (ews_error_errno() == EROFS)
		return "it is on a file system that is mounted read-only, which 'mount' shows";
	switch (code) {
	case EWS_EUSAGE:
		return "see 'git ews -h'";
	case EWS_ENOTFOUND:
		return "is the name right, and is it still there?";
	case EWS_EBUSY:
		return "try again when the other one is done";
	case EWS_EINTERRUPTED:
		return "git ews recover";
	case EWS_EDAMAGED:
	case EWS_ENOTVERIFIED:
		return "'git ews snapshot verify --all' checks what is kept, 'git ews undo --list' what can be brought back";
	case EWS_ENOSPACE:
		return space_hint(repo);
	case EWS_ECONFIG:
		return "'git ews config list --show-origin' shows where each setting comes from";
	default:
		/* A command that 'run' or 'shell' started. */
		if (getenv("EWS_LOG_FD"))
			return "inside 'git ews run' one may look at sessions and the project, not change them";
		return "'git ews status' shows how things stand";
	}
}

static void print_error(enum ews_code code, struct ews_repo *repo, bool as_json)
{
	const char *hint = *ews_error_hint_text() ? ews_error_hint_text() : usual_hint(code, repo);
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	cJSON *error;

	if (!as_json) {
		ews_cmd_say("error: ", ews_error_message());
		ews_cmd_say("hint: ", hint);
		return;
	}
	object = ews_cmd_json_new("error");
	error = cJSON_AddObjectToObject(object, "error");
	(void)cJSON_AddStringToObject(error, "code", ews_error_word(code));
	cJSON_AddItemToObject(error, "message", ews_json_path(ews_error_message()));
	cJSON_AddItemToObject(error, "hint", ews_json_path(hint));
	ews_json_print(&text, object, isatty(STDOUT_FILENO));
	(void)ews_file_write_fd(STDOUT_FILENO, text.ptr, text.len); /* the exit status says it, too */
}

/* Under the name of git we are the shim. Its status is that of git, so our own failures have one that git does not have. */
static int run_shim(char **argv)
{
	int rc;

	ews_alloc_fail_with(RUN_FAILED);
	rc = ews_cmd_shim(argv);
	if (rc >= 0)
		return rc;
	print_error((enum ews_code)rc, NULL, false);
	return rc == EWS_ENOTFOUND ? SHIM_NOT_FOUND : RUN_FAILED;
}

int main(int argc, char **argv)
{
	struct globals globals = { .ctx = { .words = EWS_STRV_INIT, .out = EWS_BUF_INIT, .progress = -1 } };
	bool wrote = false;
	int rc;

	guard_descriptors();
	outlive_size_limit();
	ews_alloc_begin();
	ews_json_init();
	if (ews_cmd_shim_is_called(argv[0]))
		return run_shim(argv);
	ews_kin_children(&globals.ctx.others);
	(void)umask(umask(077) & 077); /* what we make for ourselves we can use, whatever the umask */
	rc = run(&globals, argc, argv);
	ews_cmd_warn_of_settings(&globals.ctx);
	if (rc >= 0) {
		int written = write_answer(&globals.ctx);

		wrote = true;
		if (written < 0)
			rc = written;
	}
	if (rc < 0) {
		enum ews_code code = (enum ews_code)rc;

		/* An option that was not understood may stand before the --json that was meant. */
		if (code == EWS_EUSAGE && has_option(argc, argv, "--json"))
			globals.ctx.json = true;
		print_error(code, globals.ctx.repo, globals.ctx.json && !wrote);
		rc = globals.ctx.failure_status ? globals.ctx.failure_status : ews_error_status(code);
	}
	ews_pager_finish();
	ews_repo_free(globals.ctx.repo);
	ews_buf_release(&globals.ctx.out);
	ews_strv_release(&globals.ctx.words);
	ews_kin_list_release(&globals.ctx.others);
	free(globals.ctx.cwd);
	free(globals.ctx.made);
	if (globals.ctx.signo)
		ews_interrupt_end(globals.ctx.signo);
	return rc;
}
