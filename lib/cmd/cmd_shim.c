/*
 * The shim: a `git` that comes first in PATH while a command runs in a session.
 *
 * It judges its command line. What reads is handed to the real git in an environment and with options that keep it from
 * starting programs that a repository names; what the policy lets through besides is handed on as it is; all
 * else is denied, with a word on what to do instead. Which rules hold it learns from the environment (work/guard_env says
 * why that is enough).
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "store/git_program.h"
#include "work/guard.h"
#include "work/guard_env.h"
#include "work/guard_reading.h"

#define STATUS_DENIED 126
#define LOG_FD "EWS_LOG_FD"
#define LOGGED_BYTES_MAX 4096 /* of a command; a log is for people */

bool ews_cmd_shim_is_called(const char *name)
{
	return name && !strcmp(ews_path_base(name), "git");
}

/* The descriptor of the session's log; -1: there is none, or something else has that number by now. */
static int log_fd(void)
{
	const char *text = getenv(LOG_FD);
	char *end;
	long fd = text && *text ? strtol(text, &end, 10) : -1;
	struct stat st;
	int flags;

	if (fd <= STDERR_FILENO || fd > INT_MAX || *end)
		return -1;
	flags = fcntl((int)fd, F_GETFL);
	if (flags < 0 || !(flags & O_APPEND) || (flags & O_ACCMODE) == O_RDONLY || fstat((int)fd, &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return -1;
	return (int)fd;
}

static void add_text(cJSON *object, const char *key, const char *text)
{
	cJSON_AddItemToObject(object, key, text ? ews_json_path(text) : cJSON_CreateNull());
}

/* One line in the session's log, in one piece: others write there, too. */
static void log_denial(const struct ews_guard_verdict *verdict, const char *sentence)
{
	EWS_CLEANUP(json) cJSON *line = ews_session_log_line("guard", sentence);
	EWS_CLEANUP(free)
	char *command = ews_strndup(verdict->command, strnlen(verdict->command, LOGGED_BYTES_MAX));
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int fd = log_fd();

	if (fd < 0)
		return;
	add_text(line, "command", command);
	add_text(line, "subcommand", verdict->subcommand);
	add_text(line, "operation_type", ews_guard_op_word(verdict->operation));
	add_text(line, "reason", verdict->reason);
	add_text(line, "suggestion", verdict->suggestion);
	ews_json_print(&text, line, false);
	(void)!write(fd, text.ptr, text.len); /* the command is stopped all the same */
}

static int deny(const struct ews_guard_verdict *verdict)
{
	EWS_CLEANUP(buf) struct ews_buf sentence = EWS_BUF_INIT;

	ews_buf_addf(&sentence, "blocked: git%s%s (%s)", verdict->subcommand ? " " : "",
		     verdict->subcommand ? verdict->subcommand : "", verdict->reason);
	log_denial(verdict, sentence.ptr);
	if (verdict->suggestion)
		ews_buf_addf(&sentence, "; use: %s", verdict->suggestion);
	for (char *at = sentence.ptr; (at = strchr(at, '\n'));)
		*at = ' ';
	ews_cmd_say("git ews: ", sentence.ptr);
	return STATUS_DENIED;
}

/*
 * Variables by which git would answer for something else than where it stands. Dropped in silence they would make the answer
 * a wrong one.
 */
static void judge_environment(struct ews_guard_verdict *out, const struct ews_guard_rules *rules)
{
	static const char *const leading[] = {
		"GIT_DIR",        "GIT_WORK_TREE",        "GIT_COMMON_DIR",
		"GIT_NAMESPACE",  "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_INDEX_FILE",
	};

	for (size_t i = 0; i < sizeof(leading) / sizeof(*leading); i++) {
		const char *value = getenv(leading[i]);

		if (value && !ews_guard_variable_is_harmless(rules, leading[i], value))
			ews_guard_block(out, EWS_GUARD_UNKNOWN,
					"unset it; `git -C <directory>` looks into another repository",
					"The environment has %s, which leads git elsewhere", leading[i]);
	}
}

/* Returns only when that failed. */
static int become(const char *program, char *const *argv, char *const *env)
{
	(void)execve(program, argv, env);
	return ews_error_os("cannot run '%s'", program);
}

/* What git's own options before "ews" mean to us. */
static int take_globals(struct ews_strv *out, char *const *argv, char *const *command)
{
	unsigned settings = 0;

	for (argv++; argv < command; argv++) {
		if (!strcmp(*argv, "-C")) {
			ews_strv_add_all(out, argv[0], argv[1], NULL);
			argv++;
		} else if (!strcmp(*argv, "-c")) {
			EWS_CLEANUP(free) char *name = ews_strfmt("GIT_CONFIG_KEY_%u", settings);
			EWS_CLEANUP(free) char *value_name = ews_strfmt("GIT_CONFIG_VALUE_%u", settings++);
			EWS_CLEANUP(free) char *key = ews_strndup(argv[1], strcspn(argv[1], "="));
			EWS_CLEANUP(free) char *count = ews_strfmt("%u", settings);

			if (setenv(name, key, 1) < 0 || setenv("GIT_CONFIG_COUNT", count, 1) < 0 ||
			    setenv(value_name, argv[1][strlen(key)] ? argv[1] + strlen(key) + 1 : "true", 1) < 0)
				return ews_error_os("cannot set a variable");
			argv++;
		} else if (!strcmp(*argv, "-P") || !strcmp(*argv, "--no-pager")) {
			if (setenv("GIT_PAGER", "cat", 1) < 0)
				return ews_error_os("cannot set a variable");
		}
	}
	return 0;
}

/* `git ews` is this program itself, and not one that is found somewhere. */
static int become_ews(char *const *argv, char *const *command)
{
	EWS_CLEANUP(strv) struct ews_strv ours = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *program = NULL;
	int rc = ews_proc_self(&program);

	ews_strv_add(&ours, "git-ews");
	if (rc == 0)
		rc = take_globals(&ours, argv, command);
	if (rc < 0)
		return rc;
	ews_strv_add_array(&ours, command + 1);
	return become(program, ours.items, environ);
}

int ews_cmd_shim(char **argv)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;
	EWS_CLEANUP(guard_reading) struct ews_guard_reading reading = EWS_GUARD_READING_INIT;
	EWS_CLEANUP(free) char *git = NULL;
	char name[] = "git", *const called = argv[0];
	struct ews_guard_rules rules;
	char *const *command;
	int rc;

	ews_guard_env_read(&rules);
	rc = ews_git_program_find(&git);
	if (rc < 0)
		return rc;
	if (!rules.enabled)
		return become(git, argv, environ);
	argv[0] = name;
	rc = ews_guard_judge(&verdict, &rules, argv);
	if (rc < 0)
		return rc;
	judge_environment(&verdict, &rules);
	if (verdict.is_blocked)
		return deny(&verdict);
	command = ews_guard_command(argv);
	if (command && !strcmp(*command, "ews"))
		return become_ews(argv, command);
	/* Under `inside` the repository is the agent's own, with its hooks and all. */
	if (rules.policy == EWS_GUARD_READ_ONLY)
		rc = ews_guard_reading_make(&reading, git, argv);
	/* it is git that is not found where the status says so */
	if (rc == EWS_ENOTFOUND)
		rc = EWS_EIO;
	if (rc > 0)
		return become(git, reading.argv.items, reading.env.items);
	argv[0] = called;
	return rc < 0 ? rc : become(git, argv, environ);
}
