/*
 * The editor: see editor.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/editor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"
#include "store/config_user.h"

#define TEXT_BYTES_MAX (64 * EWS_MIB)

static bool can_show_screens(void)
{
	const char *term = getenv("TERM");

	return term && strcmp(term, "dumb") != 0;
}

/* As git var GIT_EDITOR, but for a repository's own config. The caller frees it. */
static char *choose_editor(void)
{
	const char *env = getenv("GIT_EDITOR");
	char *choice = NULL;

	if (!env && ews_config_user(&choice, "core.editor") == 0)
		return choice;
	ews_error_clear();
	if (!env && can_show_screens())
		env = getenv("VISUAL");
	if (!env)
		env = getenv("EDITOR");
	return ews_strdup(env ? env : "vi");
}

static void pass_over(int signo)
{
	(void)signo;
}

/* Run it on the terminal, whose keys are for it alone until it has ended. Returns its exit status. */
static int run_editor(char *command, char *path)
{
	EWS_CLEANUP(free) char *script = ews_strfmt("%s \"$@\"", command);
	EWS_CLEANUP(fd) int in_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	EWS_CLEANUP(fd) int out_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	char sh[] = "/bin/sh", option[] = "-c";
	char *argv[] = { sh, option, script, command, path, NULL };
	const struct ews_proc proc = { .argv = argv, .in_fd = in_fd, .out_fd = out_fd };
	const struct sigaction passing = { .sa_handler = pass_over, .sa_flags = SA_RESTART };
	struct sigaction was_int, was_quit;
	int rc;

	if (in_fd < 0 || out_fd < 0)
		return ews_error_os("cannot hand over the terminal");
	(void)sigaction(SIGINT, &passing, &was_int);
	(void)sigaction(SIGQUIT, &passing, &was_quit);
	rc = ews_proc_run(&proc);
	(void)sigaction(SIGINT, &was_int, NULL);
	(void)sigaction(SIGQUIT, &was_quit, NULL);
	return rc;
}

static int edit_file(struct ews_buf *out, int dir_fd, const char *name, char *path, const struct ews_buf *text)
{
	EWS_CLEANUP(free) char *command = choose_editor();
	int rc = ews_file_replace(dir_fd, name, text->ptr, text->len, 0600);

	if (rc == 0)
		rc = run_editor(command, path);
	if (rc > 0)
		return ews_error(EWS_EIO, "the editor '%s' ended with status %d", command, rc);
	return rc < 0 ? rc : ews_file_read(out, dir_fd, name, TEXT_BYTES_MAX);
}

int ews_editor_edit(struct ews_buf *text, const char *name)
{
	const char *tmp = getenv("TMPDIR");
	EWS_CLEANUP(free) char *dir = ews_path_join(tmp && *tmp == '/' ? tmp : "/tmp", "ews-XXXXXX");
	EWS_CLEANUP(buf) struct ews_buf edited = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(fd) int dir_fd = -1;
	int rc;

	if (!mkdtemp(dir) || (dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return ews_error_os("cannot make a directory below '%s'", tmp && *tmp == '/' ? tmp : "/tmp");
	path = ews_path_join(dir, name);
	rc = edit_file(&edited, dir_fd, name, path, text);
	(void)ews_file_remove_tree(AT_FDCWD, dir); /* only our copy is there */
	if (rc < 0)
		return rc;
	ews_buf_truncate(text, 0);
	ews_buf_add(text, edited.ptr, edited.len);
	return 0;
}
