/*
 * The guard's judgement of a shell text: of each command that is in it.
 *
 * base/shell finds the commands; each is handed to the guard as words. What the
 * shell makes up later is a hole in a word, and the guard denies what could be
 * an option there, unless the text itself says what the value is: a variable
 * that is set once to what is written there, ids that git prints. What an
 * earlier command does to a later git (a function of that name, GIT_DIR, PATH)
 * is kept as what git may not find. A text that can't be read is denied: nobody
 * knows what is in it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "base/shell.h"
#include "base/shell_grammar.h"
#include "base/str.h"
#include "base/strv.h"
#include "work/guard_file.h"
#include "work/guard_line.h"
#include "work/guard_word.h"

#define QUOTED_MAX 60
#define GIT_DIRS_MAX 100

/* A text, while its commands are judged one after the other. */
struct text {
	const struct ews_guard_rules *rules;
	const struct ews_shell *shell;
	size_t at; /* the command that is judged */
	unsigned depth;
	bool is_fed; /* what stands around it has another input than the terminal, which is this one where it is known: */
	const char *input;
	char **altered; /* what was done to a git that comes later; NULL: nothing */
	char *calls_git; /* for each command so far whether it is git's: its output is not to be written anywhere */
	struct place {
		unsigned git_depth; /* a `cd` led so many levels deep into a ".git"; 0: into none */
		bool in_scratch; /* one led to where temporary files are */
	} place, outside; /* of the subshell that one was in, which ends before the command `place_end` */
	size_t place_end; /* 0: there is none */
	struct ews_strv *git_dirs; /* variables that may hold a path in a ".git"; GIT_DIRS_MAX of them: any may */
	bool comes_back; /* a git command was allowed that may run again, or later than it stands there */
};

/* ---- Verdicts ---- */

static void block(struct ews_guard_verdict *out, const char *what, const char *why, const char *suggestion)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict found = EWS_GUARD_VERDICT_INIT;

	if (strlen(what) > QUOTED_MAX)
		ews_guard_block(&found, EWS_GUARD_UNKNOWN, suggestion, "'%.*s...' %s", QUOTED_MAX, what, why);
	else
		ews_guard_block(&found, EWS_GUARD_UNKNOWN, suggestion, "'%s' %s", what, why);
	ews_guard_verdict_take(out, &found);
}

/* Is what stands in the place of an unset variable, in `source`, a path in a ".git": "${x:-.git}"? */
static bool has_git_dir_instead(const char *source)
{
	static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	while ((source = strstr(source, "${"))) {
		EWS_CLEANUP(free) char *value = NULL;

		source += 2 + strspn(source + 2, name);
		source += *source == ':';
		if (!*source || !strchr("-=+", *source))
			continue;
		source += 1 + strspn(source + 1, "\"'");
		value = ews_strndup(source, strcspn(source, "\"'}"));
		if (ews_guard_is_git_path(value))
			return true;
	}
	return false;
}

/* Do parts of the word that the shell fills in speak of a ".git"? */
static bool has_git_dir_in_gaps(const struct text *t, const struct ews_shell_word *word)
{
	static const char *const askings[] = { "GIT_DIR",          "--git-dir",  "--absolute-git-dir",
					       "--git-common-dir", "--git-path", NULL };

	for (const char *const *asking = askings; word->unknown && *asking; asking++)
		if (strstr(word->source, *asking))
			return true;
	for (size_t i = 0; i < word->gaps_n; i++) {
		const struct ews_shell_gap *gap = &word->gaps[i];

		if (gap->name && t->place.git_depth && !strcmp(gap->name, "PWD"))
			return true;
		if (gap->name && (ews_strv_has(t->git_dirs, gap->name) || t->git_dirs->n == GIT_DIRS_MAX))
			return true;
		if (gap->why == EWS_SHELL_ESCAPES && ews_guard_is_git_path(word->text))
			return true;
	}
	return word->gaps_n && has_git_dir_instead(word->source);
}

/* Is it a path in a ".git", as far as that can be told? */
static bool names_git_dir(const struct text *t, const struct ews_shell_word *word, const char *text)
{
	return ews_guard_may_be_git_path(text) || has_git_dir_in_gaps(t, word);
}

/* Where a word may become several, others follow that begin as it does, or with anything. With `is_path` it may name a file. */
static void add_arguments(struct ews_strv *out, const struct text *t, const struct ews_shell_word *word, bool is_path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool can_be_many = false;
	bool can_split = ews_guard_word_add(&text, &can_be_many, t->shell, t->at, word);
	size_t from = word->gaps_n ? word->gaps->at : 0;

	/* a text for a shell is none; what stands before the path may be an option that has it for a value */
	if (is_path && !strpbrk(text.ptr, " \t\n;") && has_git_dir_in_gaps(t, word) &&
	    !ews_guard_is_git_path(text.ptr))
		ews_strv_addf(out, "%.*s.git/%s", (int)from, text.ptr, text.ptr + from);
	else
		ews_strv_add(out, text.ptr);
	if (can_split)
		ews_strv_add(out, EWS_GUARD_HOLE);
	else if (can_be_many)
		ews_strv_add(out, text.ptr);
}

/* ---- What is done to a git that comes later ---- */

static void alter(struct text *t, const char *how)
{
	if (!*t->altered)
		*t->altered = ews_strdup(how);
}

/* What is looked for in PATH is found as before where the old value stands in front. */
static bool is_appended_path(const struct ews_shell_word *value)
{
	return value->gaps_n && !value->gaps->at && value->gaps->name && !strcmp(value->gaps->name, "PATH") &&
	       (!*value->text || *value->text == ':');
}

static void take_assignment(struct text *t, const char *name, const struct ews_shell_word *value, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf pair = EWS_BUF_INIT;

	if (value && !strcmp(name, "PATH") && is_appended_path(value))
		return;
	if (ews_guard_variable_is_harmless(t->rules, name, text))
		return;
	ews_buf_addf(&pair, "%s=%s", name, text);
	alter(t, pair.ptr);
}

static bool is_other(void *name, const char *text)
{
	return strcmp(text, name) != 0;
}

/* Take note of whether the variable holds a path in a ".git". */
static void take_path(struct text *t, const char *name, bool is_git_dir)
{
	bool is_certain = t->shell->commands[t->at].is_certain, has = ews_strv_has(t->git_dirs, name);

	if (is_git_dir && !has && t->git_dirs->n < GIT_DIRS_MAX)
		ews_strv_add(t->git_dirs, name);
	else if (!is_git_dir && has && is_certain)
		ews_strv_filter(t->git_dirs, is_other, (void *)name);
}

/* The variable of a loop. */
static void take_loop(struct text *t, const struct ews_shell_command *command)
{
	bool is_git_dir = false;

	for (size_t i = 1; i < command->words_n; i++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		(void)ews_guard_word_add(&text, NULL, t->shell, t->at, &command->words[i]);
		is_git_dir = is_git_dir || names_git_dir(t, &command->words[i], text.ptr);
	}
	take_path(t, command->words->text, is_git_dir);
	take_assignment(t, command->words->text, NULL, EWS_GUARD_HOLE);
}

static void take_assignments(struct text *t, const struct ews_shell_command *command)
{
	for (size_t i = 0; i < command->assignments_n; i++) {
		const struct ews_shell_assignment *set = &command->assignments[i];
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		(void)ews_guard_word_add(&text, NULL, t->shell, t->at, &set->value);
		if (set->is_part)
			ews_buf_adds(&text, EWS_GUARD_HOLE);
		take_assignment(t, set->name, &set->value, text.ptr);
		if (!command->words_n)
			take_path(t, set->name, names_git_dir(t, &set->value, text.ptr));
	}
}

/* Words that are names of variables, some with a value. */
static void take_names(struct text *t, const struct ews_shell_command *command, bool has_prompts)
{
	for (size_t i = 1; i < command->words_n; i++) {
		const struct ews_shell_word *word = &command->words[i];
		const struct ews_shell_gap *gap = word->gaps_n ? word->gaps : NULL;
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		char *name, *value;
		bool is_part, has_value;
		size_t len;

		(void)ews_guard_word_add(&text, NULL, t->shell, t->at, word);
		name = text.ptr + (ews_str_begins(text.ptr, "-v") ? 2 : 0); /* of printf */
		len = strcspn(name, "=[+");
		if (memmem(name, len, EWS_GUARD_HOLE, strlen(EWS_GUARD_HOLE))) {
			if (!has_prompts)
				alter(t, word->source);
			continue;
		}
		/* "PATH=$PATH:...": see is_appended_path() */
		if (gap && gap->at == 5 && gap->name && !strcmp(gap->name, "PATH") &&
		    ews_str_begins(word->text, "PATH=") && (!word->text[5] || word->text[5] == ':'))
			continue;
		is_part = name[len] && name[len] != '=';
		value = name + len + strcspn(name + len, "=");
		has_value = *value == '=';
		value += has_value;
		if (name[len])
			name[len] = '\0';
		if (has_value)
			take_path(t, name, names_git_dir(t, word, value));
		take_assignment(t, name, NULL, is_part ? EWS_GUARD_HOLE : value);
	}
}

static bool is_git_name(const char *name)
{
	return !strcmp(name, "git") || ews_str_begins(name, "git-");
}

/* Are the words paths where they may be? Not to git, which would take what only the shell knows for an option. */
static bool are_paths(const struct text *t, const struct ews_shell_command *command)
{
	bool has_git_dir = false;

	for (size_t i = 1; i < command->words_n; i++)
		has_git_dir = has_git_dir || has_git_dir_in_gaps(t, &command->words[i]);
	for (size_t i = 0; has_git_dir && i < command->words_n; i++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		(void)ews_guard_word_add(&text, NULL, t->shell, t->at, &command->words[i]);
		has_git_dir = !is_git_name(ews_path_base(text.ptr)) && strcmp(text.ptr, "=git") != 0;
	}
	return has_git_dir;
}

static void take_function(struct text *t, const char *name)
{
	EWS_CLEANUP(free) char *how = NULL;

	if (!is_git_name(name))
		return;
	how = ews_strfmt("%s()", name);
	alter(t, how);
}

/* An alias is a text that its name stands for; more may be written behind it. */
static void judge_alias(struct ews_guard_verdict *out, struct text *t, const struct ews_shell_command *command)
{
	for (size_t i = 1; i < command->words_n; i++) {
		const struct ews_shell_word *word = &command->words[i];
		const char *value = strchr(word->text, '=');
		EWS_CLEANUP(free) char *name = ews_strndup(word->text, strcspn(word->text, "="));

		if (word->unknown || (value && is_git_name(name)))
			alter(t, word->source);
		else if (value && strstr(value, "git"))
			block(out, word->source, "gives a command of git's another name, with anything behind it",
			      "call git by its name");
	}
}

/* ---- Commands ---- */

/* The text that the command finds on its standard input; NULL: none is given here. The caller frees it. */
static char *input_of(const struct text *t, const struct ews_shell_command *command)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const struct ews_shell_word *input = NULL;

	for (const struct ews_shell_redirect *at = command->redirects; at; at = at->next)
		if (ews_str_begins(at->op, "<<") || (!strcmp(at->op, "<") && at->target.unknown == EWS_SHELL_PIPE))
			input = &at->target;
	if (!input)
		return NULL;
	(void)ews_guard_word_add(&text, NULL, t->shell, t->at, input);
	return ews_buf_steal(&text);
}

/* The input of the command at t->at goes to `line`: its own, or that of the whole text. */
static void take_input(struct ews_guard_line *line, const struct text *t, const char *own)
{
	const struct ews_shell_command *command = &t->shell->commands[t->at];

	line->is_fed = command->is_fed || command->in_function || t->is_fed;
	line->input = own ? own : command->is_fed ? NULL : t->input;
}

static void judge_inner(struct ews_guard_verdict *out, struct text *t, const char *text)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict found = EWS_GUARD_VERDICT_INIT;
	EWS_CLEANUP(free) char *input = input_of(t, &t->shell->commands[t->at]);
	struct ews_guard_line line = {
		.rules = t->rules, .variable = *t->altered, .git_depth = t->place.git_depth, .depth = t->depth + 1
	};

	take_input(&line, t, input);
	ews_guard_judge_text(&found, &line, text);
	ews_guard_verdict_take(out, &found);
}

/* Is it the output of a git command that the redirections of the command at t->at take? */
static bool takes_output(const struct text *t)
{
	const struct ews_shell_command *command = &t->shell->commands[t->at];

	if (t->rules->policy != EWS_GUARD_READ_ONLY)
		return false;
	for (size_t i = command->begin; i <= t->at; i++)
		if (t->calls_git[i] && t->shell->commands[i].captured == command->captured)
			return true;
	return false;
}

/* Is the target another descriptor? */
static bool is_descriptor(const struct ews_shell_redirect *redirect, const char *text)
{
	return redirect->op[strlen(redirect->op) - 1] == '&' && *text && !text[strspn(text, "0123456789-")];
}

static void judge_redirects(struct ews_guard_verdict *out, const struct text *t,
			    const struct ews_shell_command *command)
{
	for (const struct ews_shell_redirect *at = command->redirects; at; at = at->next) {
		EWS_CLEANUP(guard_verdict) struct ews_guard_verdict found = EWS_GUARD_VERDICT_INIT;
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		if (!ews_shell_redirect_writes(at))
			continue;
		(void)ews_guard_word_add(&text, NULL, t->shell, t->at, &at->target);
		if (is_descriptor(at, text.ptr))
			continue;
		if (names_git_dir(t, &at->target, text.ptr) || (t->place.git_depth && *text.ptr != '/'))
			ews_guard_block_git_path(&found, at->target.source);
		else if (takes_output(t) && !ews_guard_is_scratch(text.ptr) &&
			 !(t->place.in_scratch && *text.ptr != '/'))
			ews_guard_block(&found, EWS_GUARD_WRITE,
					"write it below /tmp; a change is kept without that, `git ews diff` shows it",
					"The output of git would be written into a file ('%s')", at->target.source);
		found.subcommand = out->subcommand ? ews_strdup(out->subcommand) : NULL;
		ews_guard_verdict_take(out, &found);
	}
}

/* eval and trap: words that are a text for this very shell. */
static void judge_words_as_text(struct ews_guard_verdict *out, struct text *t,
				const struct ews_shell_command *command, size_t from, size_t to)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;

	for (size_t i = from; i < to && i < command->words_n; i++) {
		(void)ews_guard_word_add(&text, NULL, t->shell, t->at, &command->words[i]);
		ews_buf_addc(&text, ' ');
		if (!strstr(text.ptr, EWS_GUARD_HOLE))
			continue;
		block(out, command->words[0].source, "is given a text that is not known yet",
		      "write the command out");
		return;
	}
	judge_inner(out, t, text.ptr);
	/* what it does to a later git outlives it */
	if (ews_shell_parse(&shell, text.ptr) == 0)
		for (size_t i = 0; i < shell.n; i++)
			if (shell.commands[i].kind == EWS_SHELL_FUNCTION || shell.commands[i].assignments_n ||
			    (shell.commands[i].words_n && strcmp(shell.commands[i].words[0].text, "export") == 0))
				alter(t, text.ptr);
	ews_error_clear();
}

static void judge_trap(struct ews_guard_verdict *out, struct text *t, const struct ews_shell_command *command)
{
	size_t from = 1;

	while (from < command->words_n && (!strcmp(command->words[from].text, "--") ||
					   (command->words[from].text[0] == '-' && command->words[from].text[1])))
		from++;
	if (from + 1 < command->words_n && strcmp(command->words[from].text, "-") != 0)
		judge_words_as_text(out, t, command, from, from + 1);
}

/* Judge the words as a command, to which `variable` is what was done to git. */
static void judge_words(struct ews_guard_verdict *out, struct text *t, char *const *argv, const char *variable)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict found = EWS_GUARD_VERDICT_INIT;
	const struct ews_shell_command *command = &t->shell->commands[t->at];
	EWS_CLEANUP(free) char *input = input_of(t, command);
	struct ews_guard_line line = {
		.rules = t->rules,
		.argv = argv,
		.git_depth = t->place.git_depth,
		.variable = variable,
		.depth = t->depth + 1,
	};

	take_input(&line, t, input);
	ews_guard_judge_line(&found, &line);
	if (found.is_blocked && found.subcommand && strstr(found.reason, EWS_GUARD_HOLE)) {
		free(found.suggestion);
		found.suggestion = ews_strdup("put '--' before it where it is a path, and double quotes around it; "
					      "or begin it with what is no option (\"refs/heads/$x\")");
	}
	t->calls_git[t->at] = found.subcommand || found.operation != EWS_GUARD_UNKNOWN;
	t->comes_back |= found.subcommand && (command->in_function || command->in_loop);
	ews_guard_verdict_take(out, &found);
}

/* The name may be known though the directory before it is not. Gives it, or NULL. */
static const char *known_name(const char *name, bool can_split)
{
	const char *slash = strrchr(name, '/'), *hole = strstr(name, EWS_GUARD_HOLE);

	/* the home of a user has no blanks in it where a command is called from there */
	if (can_split && strncmp(name, "/" EWS_GUARD_HOLE, 2) != 0)
		return NULL;
	if (!hole)
		return name;
	return slash && !strstr(slash, EWS_GUARD_HOLE) && slash[1] ? slash + 1 : NULL;
}

/* What changes the shell itself. Gives whether `name` is such a command. */
static bool judge_builtin(struct ews_guard_verdict *out, struct text *t, const struct ews_shell_command *command,
			  const char *name)
{
	static const char *const naming[] = { "export", "declare", "typeset", "local", "readonly", NULL };
	static const char *const reading[] = { "read", "mapfile", "readarray", "getopts", NULL };
	const struct ews_shell_word *last = &command->words[command->words_n - 1];

	if (ews_str_is_any(name, naming) || ews_str_is_any(name, reading)) {
		take_names(t, command, ews_str_is_any(name, reading));
	} else if (!strcmp(name, "printf") && command->words_n > 2 && ews_str_begins(command->words[1].text, "-v")) {
		take_names(t, command, true);
	} else if (!strcmp(name, "eval")) {
		judge_words_as_text(out, t, command, 1, command->words_n);
	} else if (!strcmp(name, "trap")) {
		judge_trap(out, t, command);
	} else if (!strcmp(name, "alias")) {
		judge_alias(out, t, command);
	} else if (!strcmp(name, "hash") && is_git_name(last->text)) {
		alter(t, "hash");
	} else if (!strcmp(name, "cd") || !strcmp(name, "pushd")) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		(void)ews_guard_word_add(&text, NULL, t->shell, t->at, last);
		if (command->subshell_end && command->subshell_end != t->place_end) {
			t->outside = t->place;
			t->place_end = command->subshell_end;
		}
		t->place.git_depth = command->words_n > 1 ? ews_guard_git_depth(text.ptr, t->place.git_depth) : 0;
		if (!t->place.git_depth && !ews_guard_is_git_path(text.ptr) && names_git_dir(t, last, text.ptr))
			t->place.git_depth = 1;
		ews_buf_addc(&text, '/');
		t->place.in_scratch = ews_guard_is_scratch(text.ptr);
	} else {
		return false;
	}
	return true;
}

/*
 * In [[ ... ]] a name may stand where a shell that does not know these would have a command. Given one of their signs git
 * does nothing under any shell: no command and no alias of git's is called like that.
 */
static bool is_operand(const struct ews_shell_command *command)
{
	static const char *const signs[] = { "]]", "=", "==", "!=", "=~", "<", ">", NULL };

	return command->in_test && command->words_n > 1 && ews_str_is_any(command->words[1].text, signs);
}

static void judge_named(struct ews_guard_verdict *out, struct text *t, const struct ews_shell_command *command)
{
	static const char *const passing[] = { "command", "builtin", NULL };
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *altered = *t->altered ? ews_strdup(*t->altered) : NULL;
	struct ews_shell_command rest = *command;
	struct text own = *t;
	bool can_be_many = false;
	bool can_split = ews_guard_word_add(&name, &can_be_many, t->shell, t->at, command->words) || can_be_many;
	const char *known = known_name(name.ptr, can_split);
	bool is_path = known && are_paths(t, command);

	if (known && is_git_name(known) && is_operand(command))
		return;
	if (!known) {
		if (!command->in_test)
			block(out, command->words->source, "is a command that is not known yet",
			      "write the command's name out");
		return;
	}
	while (rest.words_n > 1 && ews_str_is_any(rest.words->text, passing)) {
		rest.words++;
		rest.words_n--;
	}
	if (judge_builtin(out, t, &rest, rest.words == command->words ? known : rest.words->text))
		return;
	ews_strv_add(&argv, known);
	for (size_t i = 1; i < command->words_n; i++)
		add_arguments(&argv, t, &command->words[i], is_path);
	own.altered = &altered;
	take_assignments(&own, command);
	judge_words(out, t, argv.items, altered);
}

static void judge_command(struct ews_guard_verdict *out, struct text *t, const struct ews_shell_command *command)
{
	if (t->place_end && t->at >= t->place_end) {
		t->place = t->outside;
		t->place_end = 0;
	}
	if (command->kind == EWS_SHELL_FUNCTION)
		take_function(t, command->words->text);
	else if (command->kind == EWS_SHELL_FOR)
		take_loop(t, command);
	else if (!command->words_n)
		take_assignments(t, command);
	else
		judge_named(out, t, command);
	judge_redirects(out, t, command);
}

void ews_guard_judge_text(struct ews_guard_verdict *out, const struct ews_guard_line *line, const char *text)
{
	EWS_CLEANUP(free) char *altered = line->variable ? ews_strdup(line->variable) : NULL;
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict found = EWS_GUARD_VERDICT_INIT;
	EWS_CLEANUP(shell) struct ews_shell shell = EWS_SHELL_INIT;
	EWS_CLEANUP(free) char *calls_git = NULL;
	EWS_CLEANUP(strv) struct ews_strv git_dirs = EWS_STRV_INIT;
	struct text t = { .rules = line->rules,
			  .shell = &shell,
			  .depth = line->depth,
			  .is_fed = line->is_fed,
			  .input = line->input,
			  .altered = &altered,
			  .place = { .git_depth = line->git_depth },
			  .git_dirs = &git_dirs };

	if (t.depth > EWS_GUARD_DEPTH_MAX) {
		block(out, text, "runs commands within commands without end", NULL);
		return;
	}
	if (strstr(text, EWS_GUARD_HOLE)) {
		block(out, text, "is a text for a shell, and not all of it is known", "write the commands out");
		return;
	}
	if (ews_shell_parse(&shell, text) < 0) {
		ews_guard_block(&found, EWS_GUARD_UNKNOWN, "run the commands one by one",
				"The text can't be read: %s", ews_error_message());
		ews_guard_verdict_take(out, &found);
		ews_error_clear();
		return;
	}
	t.calls_git = calls_git = ews_calloc(shell.n, 1);
	for (t.at = 0; t.at < shell.n; t.at++)
		judge_command(out, &t, &shell.commands[t.at]);
	if (t.comes_back && altered)
		block(out, altered, "would change what git does", "run the git command by itself");
}
