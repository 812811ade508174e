/*
 * Doctor, of hooks: see doctor_hooks.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_hooks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/gitconfig.h"
#include "store/home.h"
#include "work/hooks.h"
#include "work/rules.h"

#define HOOKS "hooks"
#define LINE_MAX_BYTES 255 /* the kernel reads no more of a first line */

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* What core.hooksPath says, as it was written, where that is not ours; NULL: nothing. The caller frees it. */
static char *read_hooks_path(const struct ews_patient *patient)
{
	EWS_CLEANUP(gitconfig) struct ews_gitconfig values = EWS_GITCONFIG_INIT;
	EWS_CLEANUP(free) char *ours = ews_path_join(patient->repo->common_dir, EWS_HOOKS_DIR);
	EWS_CLEANUP(free) char *users = ews_path_join(patient->home, EWS_HOME_HOOKS);
	char *last = NULL;

	if (ews_gitconfig_find(&values, patient->repo->git_dir, "^core\\.hookspath$") < 0)
		ews_error_clear(); /* who asked for the directory has said it */
	for (size_t i = 0; i < values.n; i++) {
		const char *text = values.items[i].text;

		if (!strcmp(text, ours) || !strcmp(text, users))
			continue;
		free(last);
		last = ews_strdup(text);
	}
	return last;
}

/* May a workspace lack the directory `rel`, since git ignores it? That is asked of a work tree that is known to be one. */
static bool is_ignored(const struct ews_patient *patient, const char *rel)
{
	bool is = !patient->repo->is_bare && ews_rules_is_ignored(patient->repo, rel) > 0;

	ews_error_clear();
	return is;
}

/* A path that is seen from the top of each work tree: that of a workspace has to have it. */
static void look_at_relative(struct ews_checkup *out, const struct ews_patient *patient, const char *text)
{
	EWS_CLEANUP(free) char *dir = ews_path_absolute(patient->top, text);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(dir);
	struct ews_check *check;

	/* The top of whichever work tree it is. */
	if (!strcmp(dir, patient->top))
		return;
	if (!is_dir(dir)) {
		check = ews_checkup_find(
			out, HOOKS, EWS_CHECK_PROBLEM,
			"core.hooksPath names '%s', which is not there: git runs no hook, and does not say so", text);
		ews_check_advise(
			check,
			"make %s, or take core.hooksPath out of the file that 'git config --show-origin core.hooksPath' names",
			shown);
	} else if (!ews_path_is_inside(dir, patient->top)) {
		check = ews_checkup_find(
			out, HOOKS, EWS_CHECK_WARNING,
			"core.hooksPath is '%s', which leads elsewhere from a workspace: its commits run no hook",
			text);
		ews_check_advise(check, "git config core.hooksPath %s", shown);
	} else if (is_ignored(patient, dir + strlen(patient->top) + 1)) {
		check = ews_checkup_find(
			out, HOOKS, EWS_CHECK_WARNING,
			"core.hooksPath is '%s', which is ignored: a workspace may lack it, and its commits run no hook",
			text);
		ews_check_advise(check, "git config core.hooksPath %s, or start with --keep-ignored", shown);
	}
}

static void look_at_absolute(struct ews_checkup *out, const struct ews_patient *patient, const char *dir)
{
	struct ews_check *check;

	if (!is_dir(dir)) {
		check = ews_checkup_find(
			out, HOOKS, EWS_CHECK_PROBLEM,
			"core.hooksPath names '%s', which is not there: git runs no hook, and does not say so", dir);
		ews_check_advise(
			check,
			"make that directory, or take core.hooksPath out of the file that 'git config --show-origin core.hooksPath' names");
	} else if (ews_path_is_inside(dir, patient->top) && !ews_path_is_inside(dir, patient->repo->common_dir)) {
		const char *rel = dir + strlen(patient->top);
		EWS_CLEANUP(free) char *shown = NULL;

		rel += strspn(rel, "/");
		shown = ews_shell_shown(*rel ? rel : ".");
		check = ews_checkup_find(
			out, HOOKS, EWS_CHECK_WARNING,
			"core.hooksPath is '%s', in the project's files: a workspace runs those, not its own", dir);
		ews_check_advise(check, "git config core.hooksPath %s", shown);
	}
}

/* Is there such a program in PATH? */
static bool is_in_path(const char *name)
{
	EWS_CLEANUP(free) char *path = ews_strdup(getenv("PATH") ? getenv("PATH") : "");
	char *rest = path, *dir;

	while ((dir = strsep(&rest, ":"))) {
		EWS_CLEANUP(free) char *file = ews_path_join(*dir ? dir : ".", name);

		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/*
 * The program that the first line of a script names and that is not there; NULL: it is there, or the file is no script.
 * What env is to look for is looked for, where it is one word. The caller frees it.
 */
static char *find_missing_interpreter(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[LINE_MAX_BYTES + 1], *rest = line + 2, *program, *word;
	ssize_t n = fd < 0 ? 0 : pread(fd, line, LINE_MAX_BYTES, 0);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!ews_str_begins(line, "#!"))
		return NULL;
	rest += strspn(rest, " \t");
	program = strsep(&rest, " \t");
	if (access(program, X_OK) < 0)
		return ews_strdup(program);
	if (strcmp(ews_path_base(program), "env") != 0 || !rest)
		return NULL;
	word = rest + strspn(rest, " \t");
	/* Options and settings of env are more than is read here. */
	if (!*word || *word == '-' || strpbrk(word, "= \t/") || is_in_path(word))
		return NULL;
	return ews_strdup(word);
}

static void look_at_interpreter(struct ews_checkup *out, int dir_fd, const char *dir, const char *name)
{
	EWS_CLEANUP(free) char *missing = find_missing_interpreter(dir_fd, name);
	size_t len = missing ? strlen(missing) : 0;
	struct ews_check *check;

	if (!missing)
		return;
	check = ews_checkup_find(out, HOOKS, EWS_CHECK_PROBLEM,
				 "'%s/%s' wants '%.*s'%s, which is not there: git stops there", dir, name,
				 (int)strcspn(missing, "\r"), missing,
				 len && missing[len - 1] == '\r' ? " and a carriage return" : "");
	ews_check_advise(check, "mend the first line of '%s/%s', or install what it names", dir, name);
}

/* git passes by a hook that can't be executed, and fails at one whose interpreter is missing. */
static void look_at_files(struct ews_checkup *out, const char *dir)
{
	EWS_CLEANUP(fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *shown = NULL;
		EWS_CLEANUP(free) char *path = NULL;
		struct ews_check *check;
		struct stat st;

		if (!ews_hooks_is_name(names.items[i].name) || fstatat(fd, names.items[i].name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (st.st_mode & 0111) {
			look_at_interpreter(out, fd, dir, names.items[i].name);
			continue;
		}
		check = ews_checkup_find(out, HOOKS, EWS_CHECK_WARNING,
					 "'%s/%s' can't be executed: git passes it by", dir, names.items[i].name);
		path = ews_path_join(dir, names.items[i].name);
		shown = ews_shell_shown(path);
		ews_check_advise(check, "chmod +x %s", shown);
	}
	ews_error_clear();
}

void ews_doctor_hooks(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(hooks) struct ews_hooks hooks = EWS_HOOKS_INIT;
	EWS_CLEANUP(free) char *text = NULL;

	if (patient->repo->is_plain || !patient->top)
		return;
	if (ews_hooks_look(&hooks, EWS_HOOKS_REPOSITORY, patient->repo, patient->home) < 0) {
		(void)ews_checkup_error(out, HOOKS);
		return;
	}
	/* Then it is ours. */
	if (*hooks.taken && (!hooks.next || strcmp(hooks.taken, hooks.next) != 0))
		look_at_files(out, hooks.taken);
	text = read_hooks_path(patient);
	if (text && !*text) {
		if (!ews_checkup_has(out, HOOKS))
			ews_checkup_ok(out, HOOKS, "core.hooksPath is empty: git runs none, in a workspace neither");
		return;
	}
	if (text && *text == '/')
		look_at_absolute(out, patient, text);
	else if (text && *text != '~' && *text != '%')
		look_at_relative(out, patient, text);
	look_at_files(out, hooks.next);
	if (!ews_checkup_has(out, HOOKS))
		ews_checkup_ok(out, HOOKS, "those in '%s' run in a workspace, too", text ? text : hooks.next);
}
