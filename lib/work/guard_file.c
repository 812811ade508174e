/*
 * What the guard says of programs that write into a repository: see guard_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_file.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/str.h"
#include "base/strv.h"
#include "work/guard_git.h"

/* All their words are what they change; the last word, or what -t names, is. */
static const char *const changing[] = { "rm",     "rmdir",   "unlink", "mv",    "tee",    "truncate", "touch",
					"mkdir",  "chmod",   "chown",  "chgrp", "shred",  "mkfifo",   "mknod",
					"chattr", "setfacl", "ed",     "ex",    "sponge", NULL };
static const char *const filling[] = { "cp", "ln", "install", "rsync", "link", NULL };

static const char *const archiving[] = { "tar", "gtar", "bsdtar", NULL };

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
	return ews_str_begins(path, "/dev/fd/") || is_below(path, "/tmp") || is_below(path, "/var/tmp") ||
	       (own && is_below(path, own));
}

/* Is ".git" one of the names in braces: "{.git,x}", ".git{,.old}"? */
static bool is_in_braces(const char *name)
{
	const char *at = strstr(name, ".git");

	return at && strchr(name, '{') && (at == name || strchr("{,", at[-1])) && strchr("{,}", at[4]);
}

/* Does a pattern of the shell's, which begins where a hole is, stand for a ".git" as well? A value that is not known does not. */
static bool may_be_git(const char *name, size_t len)
{
	EWS_CLEANUP(free) char *pattern = ews_strndup(name, len);
	char *hole = strchr(pattern, *EWS_GUARD_HOLE);

	if (!hole)
		return false;
	memmove(hole, hole + 1, strlen(hole));
	return (strpbrk(pattern, "*?[") && fnmatch(pattern, ".git", FNM_PERIOD) == 0) || is_in_braces(pattern);
}

/* Is it a path in a ".git", or a pattern that such a path matches? */
static bool may_be_git_path(const char *path)
{
	size_t len;

	if (ews_guard_is_git_path(path))
		return true;
	for (; *path && !ews_guard_is_scratch(path); path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (may_be_git(path, len))
			return true;
	}
	return false;
}

/* Block when any of the words, from the second on, is a path in a ".git". */
static void judge_paths(struct ews_guard_verdict *out, char *const *argv)
{
	for (argv++; *argv; argv++)
		if (**argv != '-' && may_be_git_path(*argv))
			ews_guard_block_git_path(out, *argv);
}

/* The same for sed, whose first word is no path where no option has what it shall do. */
static void judge_sed(struct ews_guard_verdict *out, char *const *argv)
{
	static const char *const options[] = { "-e", "-f", "--expression", "--file", NULL };
	bool has_script = false;

	for (argv++; *argv; argv++) {
		bool has_value = ews_str_is_any(*argv, options);

		has_script |= has_value || ews_str_begins(*argv, "--expression=") || ews_str_begins(*argv, "--file=");
		if (has_value && argv[1])
			argv++;
		else if (**argv != '-' && has_script && may_be_git_path(*argv))
			ews_guard_block_git_path(out, *argv);
		else if (**argv != '-')
			has_script = true;
	}
}

/* The same for the last word, and the directory that -t or --target-directory names. */
static void judge_target(struct ews_guard_verdict *out, char *const *argv)
{
	const char *target = NULL;
	char *const *at;

	for (at = argv + 1; *at; at++) {
		const char *value = ews_str_after(*at, "--target-directory=");

		if (value)
			target = value;
		else if ((!strcmp(*at, "-t") || !strcmp(*at, "--target-directory")) && at[1])
			target = *++at;
	}
	/* a word that may be several has a hole behind it, which may be nothing */
	while (at > argv + 2 && !strcmp(at[-1], EWS_GUARD_HOLE))
		at--;
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
		if (ews_str_begins(*argv, beginning))
			return true;
	return false;
}

/* The same for what the option "-<letter>" or `name` says. */
static void judge_option(struct ews_guard_verdict *out, char *const *argv, char letter, const char *name)
{
	for (argv++; *argv; argv++) {
		const char *at = (*argv)[0] == '-' && (*argv)[1] != '-' ? strchr(*argv, letter) : NULL;
		const char *path = at && at[1] ? at + 1 : NULL, *rest = ews_str_after(*argv, name);

		if (rest && *rest == '=')
			path = rest + 1;
		else if ((at || !strcmp(*argv, name)) && !path)
			path = argv[1];
		if (path && ews_guard_is_git_path(path))
			ews_guard_block_git_path(out, path);
	}
}

/* tar writes what it takes out below the directories that it is told, and what it makes where -f says. */
static void judge_tar(struct ews_guard_verdict *out, char *const *argv)
{
	const char *first = argv[1] ? argv[1] : "";
	bool has_letters = *first && *first != '-'; /* as in "tar xf" */
	bool extracts = (has_letters && strchr(first, 'x')) || has_letter(argv, 'x') ||
			has_beginning(argv, "--ext") || has_beginning(argv, "--get");
	bool lists = (has_letters && strchr(first, 't')) || has_letter(argv, 't') || has_beginning(argv, "--list");

	if (extracts) {
		for (char *const *at = argv + 1; *at; at++) {
			if (!strcmp(*at, "--exclude") && at[1])
				at++;
			else if (**at != '-' && may_be_git_path(*at))
				ews_guard_block_git_path(out, *at);
		}
		judge_option(out, argv, 'C', "--directory");
		judge_option(out, argv, 'C', "--one-top-level");
	} else if (!lists) {
		judge_option(out, argv, 'f', "--file");
		if (has_letters && strchr(first, 'f') && argv[2] && ews_guard_is_git_path(argv[2]))
			ews_guard_block_git_path(out, argv[2]);
	}
}

bool ews_guard_is_file_program(const char *program)
{
	return ews_guard_is_called(program, changing) || ews_guard_is_called(program, filling);
}

void ews_guard_judge_files(struct ews_guard_verdict *out, char *const *argv)
{
	if (ews_guard_is_called(argv[0], changing))
		judge_paths(out, argv);
	else if (ews_guard_is_called(argv[0], filling))
		judge_target(out, argv);
	else if (is_called(argv[0], "sed") && (has_letter(argv, 'i') || has_beginning(argv, "--in-place")))
		judge_sed(out, argv);
	else if (is_called(argv[0], "perl") && has_letter(argv, 'i'))
		judge_paths(out, argv);
	else if (is_called(argv[0], "curl"))
		judge_option(out, argv, 'o', "--output");
	else if (is_called(argv[0], "wget"))
		judge_option(out, argv, 'O', "--output-document");
	else if (ews_guard_is_called(argv[0], archiving))
		judge_tar(out, argv);
	else if (is_called(argv[0], "unzip"))
		judge_option(out, argv, 'd', "--");
	else if (is_called(argv[0], "cpio") && (has_letter(argv, 'i') || has_beginning(argv, "--extract")))
		judge_option(out, argv, 'D', "--directory");
	else if (is_called(argv[0], "dd"))
		for (char *const *at = argv + 1; *at; at++) {
			const char *file = ews_str_after(*at, "of=");

			if (file && ews_guard_is_git_path(file))
				ews_guard_block_git_path(out, file);
		}
}
