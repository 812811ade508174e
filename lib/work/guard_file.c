/*
 * What the guard says of programs that write into a repository: see guard_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

static bool is_called(const char *program, const char *name)
{
	return !strcmp(ews_path_base(program), name);
}

bool ews_guard_is_called(const char *program, const char *const *names)
{
	for (; *names; names++)
		if (is_called(program, *names))
			return true;
	return false;
}

bool ews_guard_is_git_path(const char *path)
{
	for (const char *at = path; (at = strstr(at, ".git")); at++)
		if ((at == path || at[-1] == '/') && (!at[4] || at[4] == '/'))
			return true;
	return false;
}

void ews_guard_block_git_path(struct ews_guard_verdict *out, const char *path)
{
	ews_guard_block(out, EWS_GUARD_DESTRUCTIVE, "reading is allowed; git's own commands tell what is in there",
			"It would change the repository behind git's back ('%s')", path);
}

/* Does `path` lie below `root`, as far as words tell? */
static bool is_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	return len && *root == '/' && !strncmp(path, root, len) && path[len] == '/' && !strstr(path + len, "/..");
}

bool ews_guard_is_scratch(const char *path)
{
	static const char *const devices[] = { "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", NULL };
	const char *own = getenv("TMPDIR");

	for (const char *const *at = devices; *at; at++)
		if (!strcmp(path, *at))
			return true;
	return !strncmp(path, "/dev/fd/", 8) || is_below(path, "/tmp") || is_below(path, "/var/tmp") ||
	       (own && is_below(path, own));
}

/* Block when any of the words, from the second on, is a path in a ".git". */
static void judge_paths(struct ews_guard_verdict *out, char *const *argv)
{
	for (argv++; *argv; argv++)
		if (**argv != '-' && ews_guard_is_git_path(*argv))
			ews_guard_block_git_path(out, *argv);
}

/* The same for the last word, and the directory that -t or --target-directory names. */
static void judge_target(struct ews_guard_verdict *out, char *const *argv)
{
	const char *target = NULL;
	char *const *at;

	for (at = argv + 1; *at; at++) {
		if (!strncmp(*at, "--target-directory=", 19))
			target = *at + 19;
		else if ((!strcmp(*at, "-t") || !strcmp(*at, "--target-directory")) && at[1])
			target = *++at;
	}
	if (!target && at > argv + 1)
		target = at[-1];
	if (target && ews_guard_is_git_path(target))
		ews_guard_block_git_path(out, target);
}

/* Is the option `letter` among the options, alone or with others, or with a value behind it? */
static bool has_letter(char *const *argv, char letter)
{
	for (argv++; *argv; argv++)
		if ((*argv)[0] == '-' && (*argv)[1] != '-' && strchr(*argv, letter))
			return true;
	return false;
}

static bool has_beginning(char *const *argv, const char *beginning)
{
	for (argv++; *argv; argv++)
		if (!strncmp(*argv, beginning, strlen(beginning)))
			return true;
	return false;
}

void ews_guard_judge_files(struct ews_guard_verdict *out, char *const *argv)
{
	static const char *const changing[] = { "rm",       "rmdir", "unlink", "mv",    "tee",
						"truncate", "touch", "mkdir",  "chmod", "chown",
						"chgrp",    "shred", "mkfifo", "mknod", NULL };
	static const char *const filling[] = { "cp", "ln", "install", "rsync", "link", NULL };

	if (ews_guard_is_called(argv[0], changing))
		judge_paths(out, argv);
	else if (ews_guard_is_called(argv[0], filling))
		judge_target(out, argv);
	else if ((is_called(argv[0], "sed") && (has_letter(argv, 'i') || has_beginning(argv, "--in-place"))) ||
		 (is_called(argv[0], "perl") && has_letter(argv, 'i')))
		judge_paths(out, argv);
	else if (is_called(argv[0], "dd"))
		for (char *const *at = argv + 1; *at; at++)
			if (!strncmp(*at, "of=", 3) && ews_guard_is_git_path(*at + 3))
				ews_guard_block_git_path(out, *at + 3);
}
