/*
 * The guard: see guard.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "base/strv.h"
#include "work/guard_line.h"
#include "work/guard_option.h"
#include "work/guard_program.h"
#include "work/guard_wrap.h"

static void judge_given_text(struct ews_guard_verdict *out, const struct ews_guard_line *line, const char *text)
{
	struct ews_guard_line next = *line;

	next.depth++;
	ews_guard_judge_text(out, &next, text);
}

/* Options of these commands whose value is a text for a shell, which '!' names, and those that may be taken for them. */
static const struct ews_guard_row with_texts[] = {
	{ "rebase", "!x|exec= C= s|strategy= X|strategy-option= S|gpg-sign? onto= empty= whitespace= edit-todo", 0,
	  0, 0, NULL, NULL },
	{ "difftool", "!x|extcmd= t|tool= tool-help ext-diff exit-code", 0, 0, 0, NULL, NULL },
};

/* Judge those texts among the words at `at`. */
static void judge_options(struct ews_guard_verdict *out, const struct ews_guard_line *line,
			  const struct ews_guard_row *row, char *const *at)
{
	struct ews_guard_option option;
	const char *value;

	for (; *at && strcmp(*at, "--") != 0; at++) {
		if ((*at)[0] != '-' || !(*at)[1] || ews_guard_option_in(&option, &value, row, *at) != EWS_GUARD_OPTION)
			continue;
		if (option.value == '=' && !value && at[1])
			value = *++at;
		if (option.mark && value)
			judge_given_text(out, line, value);
	}
}

/*
 * What git is told to run itself, by a git of its own that knows no guard. Where such commands of git's are let through they are
 * judged by that, too. `argv` is a command line of git's.
 */
static void judge_given(struct ews_guard_verdict *out, const struct ews_guard_line *line, char *const *argv)
{
	char *const *command = ews_guard_command(argv), *const *at = command ? command + 1 : NULL;
	struct ews_guard_line next = *line;

	if (!command || !*at)
		return;
	for (size_t i = 0; i < sizeof(with_texts) / sizeof(*with_texts); i++)
		if (!strcmp(*command, with_texts[i].name))
			judge_options(out, line, &with_texts[i], at);
	if (!strcmp(*command, "bisect") && !strcmp(*at, "run") && at[1]) {
		next.argv = at + 1;
		ews_guard_judge_line(out, &next);
	} else if (!strcmp(*command, "submodule")) {
		while (*at && strcmp(*at, "foreach") != 0)
			at++;
		for (at += *at != NULL; *at && **at == '-'; at++)
			;
		next.argv = at;
		if (at[0] && !at[1])
			judge_given_text(out, line, *at);
		else if (*at)
			ews_guard_judge_line(out, &next);
	}
}

/* The command is git: `name` is the command that a program "git-<name>" stands for, or NULL. */
static void judge_git(struct ews_guard_verdict *out, const struct ews_guard_line *line, const char *name)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict found = EWS_GUARD_VERDICT_INIT;
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	struct ews_guard_git git = { .has_tail = line->has_tail };

	ews_strv_add(&argv, "git");
	if (name)
		ews_strv_add(&argv, name);
	ews_strv_add_array(&argv, line->argv + 1);
	git.argv = argv.items + 1;
	ews_guard_judge_git(&found, line->rules, &git);
	if (line->variable)
		ews_guard_block(&found, EWS_GUARD_UNKNOWN, "run the git command by itself",
				"'%s' would change what git does", line->variable);
	ews_guard_verdict_take(out, &found);
	if (!out->is_blocked)
		judge_given(out, line, argv.items);
}

/* "=git" is to zsh where git is found. */
static void judge_found(struct ews_guard_verdict *out, const struct ews_guard_line *line)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	struct ews_guard_line next = *line;

	ews_strv_add(&argv, line->argv[0] + 1);
	ews_strv_add_array(&argv, line->argv + 1);
	next.argv = argv.items;
	ews_guard_judge_line(out, &next);
}

void ews_guard_judge_line(struct ews_guard_verdict *out, struct ews_guard_line *line)
{
	const char *program = line->argv[0], *base = ews_path_base(program), *verb = ews_str_after(base, "git-");

	if (++line->depth > EWS_GUARD_DEPTH_MAX)
		ews_guard_block(out, EWS_GUARD_UNKNOWN, NULL, "'%s' runs commands within commands without end",
				program);
	else if (strstr(base, EWS_GUARD_HOLE))
		ews_guard_block(out, EWS_GUARD_UNKNOWN, "write the command's name out",
				"'%s' is a command that is not known yet", program);
	else if (program[0] == '=' && program[1])
		judge_found(out, line);
	else if (!strcmp(base, "git"))
		judge_git(out, line, NULL);
	else if (verb && *verb)
		judge_git(out, line, verb);
	else if (!ews_guard_judge_wrapper(out, line))
		ews_guard_judge_program(out, line);
}

/* Holes are bytes that nobody can read, and what is quoted may go over several lines; a reason is one. */
static void make_readable(char *text)
{
	for (; text && *text; text++) {
		if (*text == *EWS_GUARD_HOLE)
			*text = '?';
		else if (*text == '\n')
			*text = ' ';
	}
}

/* Does a command end with this word, where a text for a shell was parted at its blanks? */
static bool ends_command(const char *word)
{
	static const char *const operators[] = { "&&", "||", "|", "|&", "&", NULL };
	size_t len = strlen(word);

	return ews_str_is_any(word, operators) || (len && word[len - 1] == ';');
}

/* Behind what may stand before a command there: reserved words, redirections, variables. */
static char *const *pass_by(struct ews_guard_line *line, char *const *at)
{
	static const char *const reserved[] = { "!",     "{",  "(",    "if",   "elif", "while",
						"until", "do", "then", "else", NULL };

	for (char *const *from = NULL; at != from;) {
		size_t digits;

		from = at = ews_guard_take_variables(line, at);
		digits = strspn(*at ? *at : "", "0123456789&");
		if (*at && (ews_str_is_any(*at, reserved) || (!strcmp(*at, "time") && at[1] && *at[1] != '-')))
			at++;
		else if (*at && strchr("<>", (*at)[digits]) && (*at)[digits])
			at += (*at)[digits + strspn(*at + digits, "<>|&")] || !at[1] ? 1 : 2;
	}
	return at;
}

/* Was a text for a shell handed over where words are expected? A shell that gets it would run what stands in it. */
static void judge_text_in_words(struct ews_guard_verdict *out, const struct ews_guard_line *line)
{
	const char *program = line->argv[0];

	if (strpbrk(program, " \t\n;|&(`") && strstr(program, "git"))
		ews_guard_block(out, EWS_GUARD_UNKNOWN, "--shell judges a text; words are given one by one",
				"'%s' is no program's name, but a text for a shell", program);
	for (char *const *at = line->argv; *at; at++) {
		struct ews_guard_line next = *line;

		next.argv = pass_by(&next, at + 1);
		if (ends_command(*at) && *next.argv)
			ews_guard_judge_line(out, &next);
	}
}

/* Is nothing to be stopped? */
static bool is_off(struct ews_guard_verdict *out, const struct ews_guard_rules *rules)
{
	out->policy = ews_guard_policy_word(rules->policy);
	return !rules->enabled;
}

static void judge_argv(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, char *const *argv,
		       bool may_hold_text)
{
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	struct ews_guard_line line = { .rules = rules };

	*out = (struct ews_guard_verdict)EWS_GUARD_VERDICT_INIT;
	for (char *const *at = argv; *at; at++) {
		if (at > argv)
			ews_buf_addc(&command, ' ');
		ews_shell_quote(&command, *at);
	}
	out->command = ews_buf_steal(&command);
	/* a line that was copied from a shell may begin with variables */
	line.argv = ews_guard_take_variables(&line, argv);
	if (may_hold_text)
		line.argv = pass_by(&line, line.argv);
	if (!is_off(out, rules) && *line.argv) {
		if (may_hold_text)
			judge_text_in_words(out, &line);
		ews_guard_judge_line(out, &line);
	}
	make_readable(out->reason);
}

int ews_guard_judge(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, char *const *argv)
{
	judge_argv(out, rules, argv, false);
	return 0;
}

int ews_guard_judge_words(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, char *const *argv)
{
	judge_argv(out, rules, argv, true);
	return 0;
}

int ews_guard_judge_shell(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, const char *text)
{
	const struct ews_guard_line line = { .rules = rules };

	*out = (struct ews_guard_verdict)EWS_GUARD_VERDICT_INIT;
	out->command = ews_strdup(text);
	if (!is_off(out, rules))
		ews_guard_judge_text(out, &line, text);
	make_readable(out->reason);
	return 0;
}

int ews_guard_rules_read(struct ews_guard_rules *out, const struct ews_config *config)
{
	const struct {
		const char *name;
		bool *value;
	} settings[] = {
		{ "qe.git_guard.enabled", &out->enabled },
		{ "qe.git_guard.allow_status", &out->allow_status },
		{ "qe.git_guard.allow_diff", &out->allow_diff },
		{ "qe.git_guard.block_commit", &out->block_commit },
		{ "qe.git_guard.block_push", &out->block_push },
	};
	const char *policy = NULL;
	int rc;

	rc = ews_config_word(&policy, config, "ews.guard.policy");
	if (rc == 0)
		out->policy = strcmp(policy, ews_guard_policy_word(EWS_GUARD_INSIDE)) ? EWS_GUARD_READ_ONLY
										      : EWS_GUARD_INSIDE;
	for (size_t i = 0; rc == 0 && i < sizeof(settings) / sizeof(*settings); i++)
		rc = ews_config_bool(settings[i].value, config, settings[i].name);
	return rc;
}
