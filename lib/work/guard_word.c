/*
 * What is known of a word in a shell text: see guard_word.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_word.h"

#include <string.h>

#include "base/str.h"
#include "base/strv.h"
#include "work/guard_git.h"

/* To look for a variable's value takes a walk over all commands. */
#define COMMANDS_MAX 500

static bool is_id_option(const char *verb, const char *word)
{
	static const char *const rev_parse[] = { "--short", "--verify", "-q", "--quiet", NULL };
	static const char *const walks[] = { "--all",       "--first-parent",     "--reverse",
					     "--no-merges", "--merges",           "--max-parents=0",
					     "--format=%H", "--format=%h",        "--pretty=%H",
					     "--pretty=%h", "--pretty=format:%H", "--pretty=format:%h",
					     NULL };
	static const char *const limits[] = { "--max-count=", "--since=",  "--after=", "--until=",
					      "--before=",    "--author=", "--grep=" };

	if (!strcmp(verb, "rev-parse"))
		return ews_str_is_any(word, rev_parse) || ews_str_begins(word, "--short=");
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (ews_str_begins(word, limits[i]))
			return true;
	if (ews_str_is_any(word, walks))
		return true;
	word += word[1] == 'n' ? 2 : 1;
	return *word && !word[strspn(word, "0123456789")];
}

/*
 * Does the command print ids of commits and nothing else? A word that git does
 * not know is printed by rev-parse as it is: it is no option, and in one piece, of which there may be several.
 */
static bool prints_ids(const struct ews_shell_command *command)
{
	const char *verb = command->words_n > 2 ? command->words[1].text : "";
	bool has_form = strcmp(verb, "log") != 0;

	if (command->kind != EWS_SHELL_COMMAND || !*verb || strcmp(command->words[0].text, "git") != 0)
		return false;
	for (const struct ews_shell_redirect *at = command->redirects; at; at = at->next)
		if (strcmp(at->target.text, "/dev/null") != 0)
			return false;
	for (size_t i = 0; i < command->words_n; i++) {
		const struct ews_shell_word *word = &command->words[i];
		bool is_option = word->text[0] == '-';

		if (!strcmp(verb, "merge-base") && i > 1)
			has_form = has_form && strcmp(word->text, "--is-ancestor") != 0;
		else if (word->unknown || strpbrk(word->text, " \t\n*?["))
			return false;
		else if (i > 1 && is_option && !is_id_option(verb, word->text))
			return false;
		has_form = has_form || ews_str_begins(word->text, "--format=") ||
			   ews_str_begins(word->text, "--pretty=");
	}
	return has_form && (!strcmp(verb, "merge-base") || !strcmp(verb, "rev-parse") ||
			    !strcmp(verb, "rev-list") || !strcmp(verb, "log"));
}

/* mktemp prints a path below $TMPDIR or /tmp, unless it is told another place. */
static bool prints_temporary(const struct ews_shell_command *command)
{
	static const char *const options[] = { "-d", "-q", "-u", "-t", "-dt", "-qd", "--directory", "--tmpdir", NULL };
	bool has_place = false;

	if (command->kind != EWS_SHELL_COMMAND || !command->words_n || strcmp(command->words[0].text, "mktemp") != 0)
		return false;
	for (size_t i = 1; i < command->words_n; i++) {
		const struct ews_shell_word *word = &command->words[i];

		if (word->unknown)
			return false;
		if (strchr(word->text, 't') && ews_str_is_any(word->text, options))
			has_place = has_place || strcmp(word->text, "--directory") != 0;
		else if (word->text[0] == '-'
				 ? !ews_str_is_any(word->text, options) && !ews_str_begins(word->text, "--suffix=")
				 : !has_place && !ews_str_begins(word->text, "/tmp/"))
			return false;
	}
	return true;
}

/* How what comes in at `gap` begins, and nothing in it splits; NULL: can't be told. */
static const char *known_output(const struct ews_shell *shell, const struct ews_shell_gap *gap)
{
	if (gap->why != EWS_SHELL_OUTPUT || gap->to != gap->from + 1)
		return NULL;
	if (prints_ids(&shell->commands[gap->from]))
		return "_";
	return prints_temporary(&shell->commands[gap->from]) ? "/tmp/" : NULL;
}

/* Would the shell leave this value in one piece where no quotes stand around it? */
static bool is_in_one_piece(const char *value)
{
	return *value && !strpbrk(value, " \t\n*?[");
}

/* Does a command other than an assignment set the variable, or could it? */
static bool may_set(const struct ews_shell_command *command, const char *name)
{
	static const char *const opaque[] = { "eval", ".", "source", NULL };
	static const char *const passing[] = { "command", "builtin", "--", "-p", NULL };
	static const char *const naming[] = { "declare", "typeset", "local", NULL };
	static const char *const gluing[] = { "printf", "read", NULL }; /* "-vname" */
	size_t len = strlen(name), first = 0;
	bool is_glued;

	while (first + 1 < command->words_n && ews_str_is_any(command->words[first].text, passing))
		first++;
	is_glued = command->words_n && ews_str_is_any(command->words[first].text, gluing);
	for (size_t i = 0; i < command->words_n; i++) {
		const struct ews_shell_word *word = &command->words[i];
		const char *in_braces = strstr(word->source, "${"), *end;

		if (i == first && ews_str_is_any(word->text, opaque))
			return true;
		/* with -n a name stands for another */
		if (i > first && ews_str_is_any(command->words[first].text, naming) && *word->text == '-' &&
		    strchr(word->text, 'n'))
			return true;
		/* "name", "name=...", "name+=...", "name[..." */
		end = word->text + strcspn(word->text, "=[+");
		if (i && (size_t)(end - word->text) >= len && !strncmp(end - len, name, len) &&
		    (end - len == word->text || (is_glued && *word->text == '-')))
			return true;
		for (; in_braces; in_braces = strstr(in_braces + 2, "${"))
			if (!strncmp(in_braces + 2, name, len) && strchr(":=", in_braces[2 + len]))
				return true;
	}
	return false;
}

/* The values of a loop's variable, as one that may be any of them. */
static void add_loop_value(struct ews_buf *out, const struct ews_shell *shell, const struct ews_shell_command *loop,
			   bool *can_split)
{
	const char *first = "";
	bool is_option = loop->words_n < 2;

	for (size_t i = 1; i < loop->words_n; i++) {
		const struct ews_shell_word *word = &loop->words[i];
		bool is_whole = word->gaps_n == 1 && !*word->text && known_output(shell, word->gaps);

		first = i == 1 ? word->text : first;
		is_option = is_option || (!is_whole && (word->can_split || !word->prefix_len || *word->text == '-'));
		*can_split = *can_split || (!is_whole && (word->unknown || !is_in_one_piece(word->text)));
	}
	/* what begins with a letter is no option; more than that can't be said of all */
	if (!is_option && loop->words_n == 2 && !loop->words[1].unknown)
		ews_buf_adds(out, first);
	else if (!is_option)
		ews_buf_adds(out, "_" EWS_GUARD_HOLE);
	else
		ews_buf_adds(out, EWS_GUARD_HOLE);
}

/*
 * Add the value of the variable `name` where the command `at` uses it; a hole and `can_split` when that can't be told. What may be
 * several words that begin alike has `can_be_many`.
 */
static void add_value(struct ews_buf *out, const struct ews_shell *shell, size_t at, const char *name,
		      bool *can_split, bool *can_be_many)
{
	static const char *const directories[] = { "HOME",          "PWD",         "OLDPWD", "TMPDIR",
						   "EWS_WORKSPACE", "EWS_PROJECT", NULL };
	const struct ews_shell_command *loop = NULL;
	const struct ews_shell_word *value = NULL;
	bool is_clear = !shell->commands[at].in_function && shell->n <= COMMANDS_MAX;

	for (size_t i = 0; is_clear && i < shell->n; i++) {
		const struct ews_shell_command *command = &shell->commands[i];

		if (command->kind == EWS_SHELL_FOR && !strcmp(command->words[0].text, name)) {
			is_clear = !loop && i < at && at < command->end;
			loop = command;
		}
		for (size_t k = 0; k < command->assignments_n; k++) {
			const struct ews_shell_assignment *set = &command->assignments[k];

			if (!strcmp(set->name, "IFS") && !command->words_n)
				is_clear = false;
			if (strcmp(set->name, name) != 0)
				continue;
			is_clear = is_clear && command->is_certain && !command->words_n && !set->is_part;
			if (i < at)
				value = &set->value;
		}
		is_clear = is_clear && (command->kind != EWS_SHELL_COMMAND ||
					(!may_set(command, name) && !may_set(command, "IFS")));
	}
	if (is_clear && loop && !value) {
		add_loop_value(out, shell, loop, can_split);
	} else if (is_clear && !loop && value && !value->unknown) {
		ews_buf_adds(out, value->text);
		*can_split = *can_split || !is_in_one_piece(value->text);
	} else if (is_clear && !loop && value && value->gaps_n == 1 && !*value->text &&
		   known_output(shell, value->gaps)) {
		ews_buf_addf(out, "%s" EWS_GUARD_HOLE, known_output(shell, value->gaps));
		*can_be_many = true;
	} else {
		/* what the environment says of a directory is a path */
		if (is_clear && !loop && !value && ews_str_is_any(name, directories))
			ews_buf_adds(out, strcmp(name, "TMPDIR") ? "/" : "/tmp/");
		else if (is_clear && !loop && value)
			ews_buf_add(out, value->text, value->prefix_len);
		ews_buf_adds(out, EWS_GUARD_HOLE);
		*can_split = true;
	}
}

/* Add what comes in at `gap`. Gives whether it may make several words of one; of ids and the like it may make as many. */
static bool add_gap(struct ews_buf *out, const struct ews_shell *shell, size_t at, const struct ews_shell_gap *gap,
		    bool *can_be_many)
{
	bool can_split = false;

	if (gap->name) {
		bool many = false;

		add_value(out, shell, at, gap->name, &can_split, &many);
		*can_be_many |= many && !gap->is_quoted;
		return can_split && !gap->is_quoted;
	}
	if (known_output(shell, gap)) {
		ews_buf_addf(out, "%s" EWS_GUARD_HOLE, known_output(shell, gap));
		*can_be_many |= !gap->is_quoted;
		return false;
	}
	/* what bash puts there names the pipe */
	if (gap->why == EWS_SHELL_PIPE)
		ews_buf_adds(out, "/dev/fd/");
	ews_buf_adds(out, EWS_GUARD_HOLE);
	/* "$@" does so even in quotes */
	return gap->why == EWS_SHELL_VARIABLE || (gap->why == EWS_SHELL_OUTPUT && !gap->is_quoted);
}

/* Does it begin with where temporary files are, as careful people say it? */
static bool is_temporary(const struct ews_shell_word *word)
{
	static const char place[] = "${TMPDIR:-/tmp}";
	const char *at = word->source + (*word->source == '"');

	return word->gaps_n && !word->gaps->at && ews_str_begins(at, place) && strchr("/\"", at[strlen(place)]);
}

bool ews_guard_word_add(struct ews_buf *out, bool *can_be_many, const struct ews_shell *shell, size_t at,
			const struct ews_shell_word *word)
{
	bool can_split = false, many = word->can_be_many;
	size_t done = 0, i;

	/* a pattern, braces or a tilde that comes before all gaps */
	if (word->unknown && (!word->gaps_n || word->prefix_len < word->gaps->at)) {
		ews_buf_add(out, word->text, word->prefix_len);
		ews_buf_adds(out, word->unknown == EWS_SHELL_HOME ? "/" EWS_GUARD_HOLE : EWS_GUARD_HOLE);
		done = word->prefix_len;
	}
	if (is_temporary(word))
		ews_buf_adds(out, "/tmp/");
	for (i = 0; i < word->gaps_n; i++) {
		ews_buf_add(out, word->text + done, word->gaps[i].at - done);
		done = word->gaps[i].at;
		can_split |= add_gap(out, shell, at, &word->gaps[i], &many);
	}
	ews_buf_adds(out, word->text + done);
	if (can_be_many)
		*can_be_many = many;
	return can_split && word->can_split;
}
