/*
 * A shell text as command lines: see guard_shell.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_shell.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/shell.h"
#include "work/guard_git.h"

/* So many commands are looked at, bodies of loops each time anew; a text that has more is not read. */
#define CALLS_MAX 20000

struct variable {
	const char *name; /* borrowed from the text */
	size_t settings; /* how often the text sets it; more than once: its value is never known */
	char *value; /* NULL: not known here */
};

struct walk {
	struct ews_shell *shell;
	struct variable *variables;
	size_t n, cap;
	bool knows_none; /* something may set any variable */
	size_t calls;
	ews_guard_call_fn fn;
	void *payload;
};

static void walk_release(struct walk *walk)
{
	for (size_t i = 0; i < walk->n; i++)
		free(walk->variables[i].value);
	free(walk->variables);
}

EWS_CLEANUP_DEFINE(walk, struct walk, walk_release)

static void call_release(struct ews_guard_call *call)
{
	ews_strv_release(&call->argv);
	ews_strv_release(&call->variables);
	ews_strv_release(&call->written);
}

EWS_CLEANUP_DEFINE(call, struct ews_guard_call, call_release)

static struct variable *find_variable(const struct walk *walk, const char *name)
{
	for (size_t i = 0; i < walk->n; i++)
		if (!strcmp(walk->variables[i].name, name))
			return &walk->variables[i];
	return NULL;
}

static const char *value_of(const struct walk *walk, const char *name)
{
	const struct variable *variable = name && !walk->knows_none ? find_variable(walk, name) : NULL;

	return variable && variable->settings == 1 ? variable->value : NULL;
}

static void set_variable(const struct walk *walk, const char *name, const char *value)
{
	struct variable *variable = find_variable(walk, name);

	free(variable->value);
	variable->value = value ? ews_strdup(value) : NULL;
}

static void count_setting(struct walk *walk, const char *name, size_t how_often)
{
	struct variable *variable = find_variable(walk, name);

	if (!variable) {
		EWS_GROW(walk->variables, walk->n, walk->cap);
		variable = &walk->variables[walk->n++];
		*variable = (struct variable){ .name = name };
	}
	variable->settings += how_often;
	if (!strcmp(name, "IFS"))
		walk->knows_none = true;
}

/* Note which variables `command` sets, before anything is looked at: a loop may come back to where it was. */
static void count_settings(struct walk *walk, const struct ews_shell_command *command)
{
	static const char *const setters[] = { "read",   "readarray", "mapfile",  "getopts", "printf",
					       "export", "declare",   "readonly", "typeset", "local",
					       "let",    "unset",     NULL };
	static const char *const any[] = { "eval", ".", "source", "builtin", "command", "set", "trap", NULL };
	const char *name;
	size_t i;

	/* Before a command it holds for that alone, in most shells. */
	for (i = 0; i < command->assignments_n; i++)
		count_setting(walk, command->assignments[i].name,
			      command->is_certain && !command->words_n && !command->assignments[i].is_part ? 1 : 2);
	if (!command->words_n || command->kind == EWS_SHELL_FUNCTION)
		return;
	name = command->words[0].text;
	if (command->kind == EWS_SHELL_FOR) {
		count_setting(walk, name, 1);
		return;
	}
	for (i = 0; any[i]; i++)
		if (!strcmp(name, any[i]) && command->words_n > 1 && strcmp(command->words[1].text, "-v") != 0)
			walk->knows_none = true;
	for (i = 0; setters[i] && strcmp(name, setters[i]) != 0; i++)
		;
	for (size_t k = 1; setters[i] && k < command->words_n; k++) {
		const struct ews_shell_word *word = &command->words[k];
		size_t len = strcspn(word->text, "=");

		if (word->unknown && word->prefix_len < len)
			walk->knows_none = true;
		else
			count_setting(walk, ews_arena_dup(&walk->shell->arena, word->text, len), 2);
	}
}

/* Add the words that an unquoted `value` becomes to what `out` has so far; `word` is the one that is being made. */
static void add_split(struct ews_strv *out, struct ews_buf *word, const char *value)
{
	for (; *value; value++) {
		if (!strchr(" \t\n", *value)) {
			ews_buf_addc(word, *value);
		} else if (word->len) {
			ews_strv_add(out, word->ptr);
			ews_buf_truncate(word, 0);
		}
	}
}

static void add_gap(const struct walk *walk, struct ews_strv *out, struct ews_buf *word,
		    const struct ews_shell_gap *gap)
{
	const char *value = gap->why == EWS_SHELL_VARIABLE ? value_of(walk, gap->name) : NULL;

	if (value && gap->is_quoted)
		ews_buf_adds(word, value);
	else if (value && !strpbrk(value, "*?[\\"))
		add_split(out, word, value);
	else if (gap->why == EWS_SHELL_HOME)
		ews_buf_adds(word, "/" EWS_GUARD_HOLE);
	else if (gap->why == EWS_SHELL_VARIABLE || gap->why == EWS_SHELL_OUTPUT)
		ews_buf_adds(word, gap->is_quoted && !(gap->name && *gap->name == '@') ? EWS_GUARD_HOLE
										       : EWS_GUARD_SPLIT);
	else
		ews_buf_adds(word, EWS_GUARD_HOLE);
}

/* Add what `word` becomes. */
static void add_word(const struct walk *walk, struct ews_strv *out, const struct ews_shell_word *word)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t at = 0, n = out->n;

	/* What a pattern or braces become begins as the word does, if that begins with anything. */
	if (word->can_be_many && !word->prefix_len && (!word->gaps_n || word->gaps[0].at > 0))
		ews_buf_adds(&text, EWS_GUARD_HOLE);
	for (size_t i = 0; i < word->gaps_n; i++) {
		ews_buf_add(&text, word->text + at, word->gaps[i].at - at);
		at = word->gaps[i].at;
		add_gap(walk, out, &text, &word->gaps[i]);
	}
	ews_buf_adds(&text, word->text + at);
	if (word->can_be_many)
		ews_buf_adds(&text, EWS_GUARD_HOLE);
	/* A value outside of quotes that is empty leaves nothing. */
	if (text.len || (!word->can_split && out->n == n))
		ews_strv_add(out, text.ptr);
	/* More words like this one may come: two of them speak for all. */
	if (word->can_be_many)
		ews_strv_add(out, text.ptr);
}

/* The one text that `word` becomes where nothing is split. The caller frees it. */
static char *whole_word(const struct walk *walk, const struct ews_shell_word *word)
{
	EWS_CLEANUP(strv) struct ews_strv parts = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t at = 0;

	for (size_t i = 0; i < word->gaps_n; i++) {
		struct ews_shell_gap gap = word->gaps[i];

		gap.is_quoted = true;
		ews_buf_add(&text, word->text + at, gap.at - at);
		at = gap.at;
		add_gap(walk, &parts, &text, &gap);
	}
	ews_buf_adds(&text, word->text + at);
	return ews_buf_steal(&text);
}

static int make_call(struct walk *walk, const struct ews_shell_command *command)
{
	EWS_CLEANUP(call)
	struct ews_guard_call call = { .argv = EWS_STRV_INIT, .variables = EWS_STRV_INIT, .written = EWS_STRV_INIT };
	EWS_CLEANUP(free) char *input = NULL;
	size_t i;

	for (i = 0; i < command->assignments_n; i++) {
		const struct ews_shell_assignment *assignment = &command->assignments[i];
		EWS_CLEANUP(free) char *value = whole_word(walk, &assignment->value);
		bool is_known = !assignment->is_part && !strpbrk(value, EWS_GUARD_HOLE EWS_GUARD_SPLIT) && *value;

		ews_strv_addf(&call.variables, "%s=%s", assignment->name,
			      assignment->is_part ? EWS_GUARD_HOLE : value);
		if (!command->words_n)
			set_variable(walk, assignment->name, is_known ? value : NULL);
	}
	for (i = 0; i < command->words_n && !command->in_test; i++)
		add_word(walk, &call.argv, &command->words[i]);
	for (const struct ews_shell_redirect *redirect = command->redirects; redirect; redirect = redirect->next) {
		EWS_CLEANUP(free) char *target = whole_word(walk, &redirect->target);

		if (ews_shell_redirect_writes(redirect))
			ews_strv_add(&call.written, target);
		if (!strncmp(redirect->op, "<<", 2)) {
			free(input);
			input = ews_steal(&target);
		}
	}
	call.input = input;
	call.is_fed = command->is_fed;
	call.is_definition = command->kind == EWS_SHELL_FUNCTION;
	return walk->fn(walk->payload, &call);
}

static int walk_commands(struct walk *walk, size_t from, size_t to);

/* The body of a loop with each of its values where those are known, else once with a value that is not. */
static int walk_loop(struct walk *walk, size_t at)
{
	const struct ews_shell_command *loop = &walk->shell->commands[at];
	EWS_CLEANUP(strv) struct ews_strv values = EWS_STRV_INIT;
	const char *name = loop->words[0].text;
	size_t i;
	int rc = 0;

	for (i = 1; i < loop->words_n; i++)
		add_word(walk, &values, &loop->words[i]);
	if (!values.n)
		ews_strv_add(&values, EWS_GUARD_HOLE);
	for (i = 0; rc == 0 && i < values.n; i++) {
		bool is_known = *values.items[i] && !strstr(values.items[i], EWS_GUARD_SPLIT) &&
				strcmp(values.items[i], EWS_GUARD_HOLE) != 0;

		set_variable(walk, name, is_known ? values.items[i] : NULL);
		rc = walk_commands(walk, at + 1, loop->end);
	}
	set_variable(walk, name, NULL);
	return rc;
}

static int walk_commands(struct walk *walk, size_t from, size_t to)
{
	const struct ews_shell_command *command;
	int rc = 0;

	for (size_t i = from; rc == 0 && i < to; i++) {
		command = &walk->shell->commands[i];
		if (++walk->calls > CALLS_MAX)
			return ews_error(EWS_EUSAGE, "too many commands");
		if (command->kind != EWS_SHELL_FOR) {
			rc = make_call(walk, command);
			continue;
		}
		rc = walk_loop(walk, i);
		i = command->end - 1;
	}
	return rc;
}

int ews_guard_shell_each(const char *text, ews_guard_call_fn fn, void *payload)
{
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	EWS_CLEANUP(walk) struct walk walk = { .shell = &shell, .fn = fn, .payload = payload };
	int rc;

	rc = ews_shell_parse(&shell, text);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < shell.n; i++)
		count_settings(&walk, &shell.commands[i]);
	return walk_commands(&walk, 0, shell.n);
}
