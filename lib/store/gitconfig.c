/*
 * Git's config: see gitconfig.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitconfig.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/git_program.h"

#define ANSWER_MAX EWS_MIB
#define STDERR_MAX (16 * EWS_KIB)
#define FILE_BYTES_MAX (16 * EWS_MIB)
#define FILE_PREFIX "file:"
#define OURS "^ews\\."

static enum ews_gitconfig_scope scope_of(const char *word)
{
	if (!strcmp(word, "system"))
		return EWS_GITCONFIG_SYSTEM;
	if (!strcmp(word, "global"))
		return EWS_GITCONFIG_USER;
	if (!strcmp(word, "command"))
		return EWS_GITCONFIG_COMMAND;
	/* "local", "worktree", and whatever may come: the least trusted one. */
	return EWS_GITCONFIG_REPOSITORY;
}

/* "<scope>\0<origin>\0<key>\n<value>\0", "<key>\0" where there is no "=". */
static void take_answer(struct ews_gitconfig *out, const struct ews_buf *answer)
{
	const char *end = answer->ptr + answer->len;

	for (const char *at = answer->ptr; at < end;) {
		const char *scope = at;
		const char *origin = scope + strlen(scope) + 1;
		const char *key = origin < end ? origin + strlen(origin) + 1 : end;
		const char *file;
		size_t len;

		if (key >= end)
			return;
		len = strcspn(key, "\n");
		file = ews_str_after(origin, FILE_PREFIX);
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = (struct ews_gitconfig_value){
			.key = ews_strndup(key, len),
			.text = ews_strdup(key[len] ? key + len + 1 : "true"),
			.file = file ? ews_strdup(file) : NULL,
			.scope = scope_of(scope),
		};
		at = key + strlen(key) + 1;
	}
}

/* Our environment, but of git's variables those alone that say where the user's and the system's config are. */
static void keep_env(struct ews_strv *env, bool keep_command)
{
	static const char *const files[] = { "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=" };

	for (char **var = environ; *var; var++) {
		bool is_file = false;

		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
			is_file = is_file || ews_str_begins(*var, files[i]);
		if (ews_str_begins(*var, "LC_ALL="))
			continue;
		if (!ews_str_begins(*var, "GIT_") ||
		    (keep_command ? !is_file && ews_str_begins(*var, "GIT_CONFIG_") : is_file))
			ews_strv_add(env, *var);
	}
	ews_strv_add(env, "LC_ALL=C");
}

/* What is asked, of whom. */
struct question {
	const char *pattern;
	const char *cwd;
	char *const *globals; /* options of git's before the command; NULL: none */
	char *const *env;
};

/* Gives git's status: 1 when there is no such key. */
static int ask(struct ews_gitconfig *out, struct ews_buf *err, const struct question *question)
{
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *git = NULL;
	struct ews_proc proc = { .cwd = question->cwd, .env = question->env, .out = &answer, .err = err };
	int status = ews_git_program_find(&git);

	if (status < 0)
		return status;
	ews_buf_init_max(&answer, ANSWER_MAX);
	ews_buf_init_max(err, STDERR_MAX);
	ews_strv_add(&argv, git);
	ews_strv_add_array(&argv, question->globals);
	ews_strv_add_all(&argv, "config", "-z", "--show-scope", "--show-origin", "--get-regexp", question->pattern,
			 NULL);
	proc.argv = argv.items;
	status = ews_proc_run(&proc);
	if (status == 0 && answer.is_full)
		return ews_error(EWS_ECONFIG, "git's config has too much of '%s'", question->pattern);
	if (status == 0)
		take_answer(out, &answer);
	return status;
}

int ews_gitconfig_find(struct ews_gitconfig *out, const char *git_dir, const char *pattern)
{
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	struct question question = { .pattern = pattern, .cwd = "/" };
	const char *sentence;
	int status;

	keep_env(&env, false);
	ews_strv_addf(&env, "GIT_DIR=%s", git_dir);
	/* One that is not there, which the config may name, would keep git from reading on. */
	ews_strv_add(&env, "GIT_WORK_TREE=/");
	question.env = env.items;
	status = ask(out, &err, &question);
	if (status < 0)
		return ews_error_wrap("cannot read git's config");
	if (status <= 1)
		return 0;
	ews_buf_rtrim(&err);
	sentence = strstr(err.ptr, "fatal: ");
	return ews_error(EWS_ECONFIG, "cannot read git's config: %s", sentence ? sentence + 7 : err.ptr);
}

static void add(struct ews_gitconfig *list, const struct ews_gitconfig_entry *entry)
{
	EWS_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = (struct ews_gitconfig_value){
		.key = ews_strdup(entry->key),
		.text = ews_strdup(entry->value ? entry->value : "true"),
		.file = ews_strdup(entry->file),
		.scope = entry->scope,
	};
}

static void take_ours(const struct ews_gitconfig_entry *entry, void *payload)
{
	if (ews_str_begins(entry->key, "ews."))
		add(payload, entry);
}

/* The directory that a repository's worktrees share. NULL when nobody knows. The caller frees it. */
static char *find_common_dir(const char *git_dir)
{
	EWS_CLEANUP(free) char *file = ews_path_join(git_dir, "commondir");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (ews_file_read_path(&text, file, FILE_BYTES_MAX) < 0) {
		ews_error_clear();
		return NULL;
	}
	ews_buf_rtrim(&text);
	return text.len ? ews_path_absolute(git_dir, text.ptr) : ews_strdup(git_dir);
}

int ews_gitconfig_read(struct ews_gitconfig *out, const char *git_dir)
{
	EWS_CLEANUP(gitconfig) struct ews_gitconfig found = EWS_GITCONFIG_INIT;
	EWS_CLEANUP(free) char *common_dir = find_common_dir(git_dir);

	/* To start git takes longer than all else that a short verb does. */
	if (!common_dir || ews_gitconfig_walk(git_dir, common_dir, take_ours, &found) != 0)
		return ews_gitconfig_find(out, git_dir, OURS);
	*out = found;
	found = (struct ews_gitconfig)EWS_GITCONFIG_INIT;
	return 0;
}

void ews_gitconfig_read_command(struct ews_gitconfig *out)
{
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	struct question question = { .pattern = OURS "|" EWS_GITCONFIG_USERS, .cwd = "/" };

	if (!getenv("GIT_CONFIG_PARAMETERS") && !getenv("GIT_CONFIG_COUNT"))
		return;
	keep_env(&env, true);
	ews_strv_add_all(&env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			 "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=/", "GIT_DIR=/dev/null", NULL);
	/* git itself says what it can't make sense of when it reads it; here it is nothing. */
	question.env = env.items;
	(void)ask(out, &err, &question);
	ews_error_clear();
}

int ews_gitconfig_ask(struct ews_gitconfig *out, const char *pattern, char *const *globals, char *const *env)
{
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	const struct question question = { .pattern = pattern, .globals = globals, .env = env };

	return ask(out, &err, &question);
}

/*
 * Read "[section "sub"]" or "[section.sub]" as "section.sub" into `out`. Gives what follows it, or NULL
 * when that is no header.
 */
static const char *read_header(struct ews_buf *out, const char *at)
{
	ews_buf_truncate(out, 0);
	for (at++; *at && *at != '\n' && *at != ']' && *at != '"'; at++)
		if (!isspace((unsigned char)*at))
			ews_buf_addc(out, *at);
	if (*at == '"') {
		ews_buf_addc(out, '.');
		for (at++; *at && *at != '\n' && *at != '"'; at++) {
			if (*at == '\\' && at[1] && at[1] != '\n')
				at++;
			ews_buf_addc(out, *at);
		}
		at += *at == '"';
	}
	return *at == ']' ? at + 1 : NULL;
}

/* Does `at` begin with the name of the key that follows "<section>." in `key`? */
static bool is_key(const char *at, const struct ews_buf *section, const char *key)
{
	size_t len = 0;

	if (!section->len || strncasecmp(section->ptr, key, section->len) || key[section->len] != '.')
		return false;
	key += section->len + 1;
	while (isalnum((unsigned char)at[len]) || at[len] == '-')
		len++;
	return strlen(key) == len && !strncasecmp(at, key, len);
}

/* The line in which `key` is set for the time `nth`, counted from 0; 0 when there is none. */
static unsigned find_line(const char *text, const char *key, size_t nth)
{
	EWS_CLEANUP(buf) struct ews_buf section = EWS_BUF_INIT;
	bool is_continued = false;
	unsigned number = 1;

	for (const char *line = text; line; number++) {
		const char *end = line + strcspn(line, "\n");
		const char *at = line + strspn(line, " \t");
		const char *behind = *at == '[' && !is_continued ? read_header(&section, at) : NULL;

		if (behind)
			at = behind + strspn(behind, " \t");
		if (!is_continued && is_key(at, &section, key) && !nth--)
			return number;
		is_continued = end > line && end[-1] == '\\' && *at != '#' && *at != ';';
		line = *end ? end + 1 : NULL;
	}
	return 0;
}

unsigned ews_gitconfig_line(const struct ews_gitconfig *list, size_t at)
{
	const struct ews_gitconfig_value *value = &list->items[at];
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	size_t nth = 0;

	if (!value->file)
		return 0;
	for (size_t i = 0; i < at; i++)
		nth += list->items[i].file && !strcmp(list->items[i].file, value->file) &&
		       !strcasecmp(list->items[i].key, value->key);
	/* Links are followed here: it is where git read it. */
	fd = open(value->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (ews_file_read_fd(&text, fd, FILE_BYTES_MAX) < 0) {
		ews_error_clear();
		return 0;
	}
	return find_line(text.ptr, value->key, nth);
}

void ews_gitconfig_release(struct ews_gitconfig *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].key);
		free(list->items[i].text);
		free(list->items[i].file);
	}
	free(list->items);
	*list = (struct ews_gitconfig)EWS_GITCONFIG_INIT;
}
