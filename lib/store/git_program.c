/*
 * The real git: see git_program.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/git_program.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"

/* Is the program at `path` another one than this? By name, too: of two installed ones each would take the other for git. */
static bool is_other(const char *path)
{
	EWS_CLEANUP(free) char *real = realpath(path, NULL);
	struct stat st, own;

	if (!real || !strcmp(ews_path_base(real), "git-ews") || stat(real, &st) < 0)
		return false;
	return stat("/proc/self/exe", &own) < 0 || !ews_file_is_same(&st, &own);
}

/* A hint, no more: who sets the variable to something else gets that, as with PATH. */
static bool is_program(const char *path)
{
	struct stat st;

	return path && *path == '/' && !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

int ews_git_program_find(char **out)
{
	const char *told = getenv(EWS_GIT_VARIABLE);

	*out = is_program(told) && is_other(told) ? ews_strdup(told) : ews_proc_find("git", getenv("PATH"), is_other);
	return *out ? 0 : ews_error(EWS_ENOTFOUND, "cannot run 'git': no such program");
}
