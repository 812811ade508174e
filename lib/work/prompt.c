/*
 * Prompt: see prompt.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"

/* Once more at each prompt: there are themes that make it anew. */
#define MARK "case $PS1 in *\"$EWS_PROMPT\"*) ;; *) PS1=$EWS_PROMPT$PS1 ;; esac\n"

/* The user's files may put other directories before the one in which git is ours. */
#define REMEMBER_GIT "ews_first=${PATH%%:*}\n"
#define PUT_GIT_FIRST \
	"case $PATH in \"$ews_first\":*) ;; *) test -z \"${EWS_GIT-}\" || PATH=$ews_first:$PATH ;; esac\nunset ews_first\n"

static const char bash_text[] = REMEMBER_GIT "test ! -f ~/.bashrc || . ~/.bashrc\n" PUT_GIT_FIRST
					     "PROMPT_COMMAND=\"${PROMPT_COMMAND:+$PROMPT_COMMAND\n"
					     "}\"'" MARK "'\n" MARK;

/* The user's own files lie in the directory EWS_ZDOTDIR, or at home. */
static const char zshenv_text[] = REMEMBER_GIT "ews_dir=$ZDOTDIR\n"
					       "ZDOTDIR=${EWS_ZDOTDIR:-$HOME}\n"
					       "[[ ! -f $ZDOTDIR/.zshenv ]] || . \"$ZDOTDIR/.zshenv\"\n"
					       "EWS_ZDOTDIR=$ZDOTDIR ZDOTDIR=$ews_dir\n"
					       "[[ -o interactive ]] || ZDOTDIR=$EWS_ZDOTDIR\n"
					       "unset ews_dir\n";
static const char zshrc_text[] = "ZDOTDIR=$EWS_ZDOTDIR\n"
				 "unset EWS_ZDOTDIR\n"
				 "[[ ! -f $ZDOTDIR/.zshrc ]] || . \"$ZDOTDIR/.zshrc\"\n" PUT_GIT_FIRST
				 "ews_mark() { " MARK "}\n"
				 "precmd_functions+=(ews_mark)\n";

/* What ENV says is expanded, as a shell does it itself. */
static const char env_text[] = REMEMBER_GIT "if test -n \"${EWS_ENV-}\"; then\n"
					    "ENV=$EWS_ENV\n"
					    "unset EWS_ENV\n"
					    "eval \"ews_file=\\\"$ENV\\\"\"\n"
					    "test ! -r \"$ews_file\" || . \"$ews_file\"\n"
					    "unset ews_file\n"
					    "else\n"
					    "unset ENV\n"
					    "fi\n" PUT_GIT_FIRST "PS1=${PS1-'$ '}\n" MARK;

static int write_text(int dir_fd, const char *name, const char *text)
{
	return ews_file_replace(dir_fd, name, text, strlen(text), 0600);
}

int ews_prompt_mark(struct ews_strv *argv, struct ews_strv *env, const char *tmp, const char *shell,
		    const char *session_id)
{
	static const char *const reads_env[] = { "sh", "dash", "ash", "ksh", "ksh93", "mksh", "lksh", "yash", NULL };
	const char *name = strrchr(shell, '/') ? strrchr(shell, '/') + 1 : shell;
	EWS_CLEANUP(free) char *dir = ews_path_join(tmp, "shell");
	EWS_CLEANUP(fd) int tmp_fd = ews_dir_open(tmp);
	EWS_CLEANUP(fd) int fd = -1;
	int rc = tmp_fd < 0 ? tmp_fd : ews_dir_make(tmp_fd, "shell", 0700);

	if (rc == 0)
		rc = fd = ews_dir_open_beneath(tmp_fd, "shell");
	if (rc < 0)
		return ews_error_wrap("cannot make a place for the shell's files");
	ews_strv_add(argv, shell);
	ews_strv_addf(env, "EWS_PROMPT=(ews %s) ", session_id);
	if (!strcmp(name, "bash")) {
		ews_strv_add(argv, "--rcfile");
		ews_strv_addf(argv, "%s/bashrc", dir);
		return write_text(fd, "bashrc", bash_text);
	}
	if (!strcmp(name, "zsh")) {
		const char *zdotdir = getenv("ZDOTDIR");

		ews_strv_addf(env, "ZDOTDIR=%s", dir);
		ews_strv_addf(env, "EWS_ZDOTDIR=%s", zdotdir ? zdotdir : "");
		rc = write_text(fd, ".zshenv", zshenv_text);
		return rc < 0 ? rc : write_text(fd, ".zshrc", zshrc_text);
	}
	if (ews_str_is_any(name, reads_env)) {
		ews_strv_addf(env, "ENV=%s/env", dir);
		ews_strv_addf(env, "EWS_ENV=%s", getenv("ENV") ? getenv("ENV") : "");
		return write_text(fd, "env", env_text);
	}
	return 0;
}
