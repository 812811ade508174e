/*
 * The guard: see guard.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "work/guard_shell.h"
#include "work/guard_table.h"

/* A command that runs a command that runs a command ... ends somewhere. */
#define DEPTH_MAX 16

/* A command line on its way through what runs it. */
struct line {
	const struct ews_guard_rules *rules;
	char *const *argv;
	bool has_tail;
	bool is_fed; /* its input comes from a command */
	const char *input; /* its input, where that is known */
	const char *variable; /* one that was set and that git must not find so, or NULL */
	unsigned depth;
};

static void judge_line(struct ews_guard_verdict *out, struct line *line);
static void judge_text(struct ews_guard_verdict *out, const struct line *line, const char *text);

/*
 * Programs that run the command behind their own options: a row each, in the language of the guard's table; `words` are
 * those of its own that come before the command. With an option that has '+' it runs nothing.
 */
static const struct ews_guard_row runners[] = {
	{ "builtin", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "busybox", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "chronic", "v e", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "chrt", "a|all-tasks b|batch d|deadline f|fifo i|idle o|other r|rr R|reset-on-fork v|verbose", 0, 1, 0,
	  NULL, NULL },
	{ "command", "p +v +V", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "doas", "n u= C= L s", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "eatmydata", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "env",
	  "i|ignore-environment 0|null u|unset= C|chdir= v|debug block-signal? default-signal? ignore-signal? "
	  "list-signal-handling !S|split-string=",
	  0, 0, 0, NULL, NULL },
	{ "exec", "c l a=", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "flock",
	  "s|shared x|exclusive e n|nb|nonblock u|unlock w|wait|timeout= E|conflict-exit-code= F|no-fork o|close "
	  "verbose !c|command=",
	  0, 1, 0, NULL, NULL },
	{ "ionice", "c|class= n|classdata= t|ignore", 0, 0, 0, NULL, NULL },
	{ "nice", "n|adjustment=", EWS_GUARD_NUMBER, 0, 0, NULL, NULL },
	{ "nohup", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "setsid", "c|ctty f|fork w|wait", 0, 0, 0, NULL, NULL },
	{ "stdbuf", "i|input= o|output= e|error=", 0, 0, 0, NULL, NULL },
	{ "strace",
	  "f|follow-forks ff c C r t tt ttt T v V y yy z Z q D F n|syscall-number k|stack-traces a= b= e= I= o|output= "
	  "O= p= P|trace-path= s|string-limit= S= u|user= U= X= E|env=",
	  EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "sudo",
	  "A|askpass b|background B|bell C|close-from= D|chdir= E|preserve-env? g|group= H|set-home h|host= "
	  "k|reset-timestamp N|no-update n|non-interactive P|preserve-groups p|prompt= R|chroot= S|stdin "
	  "T|command-timeout= u|user=",
	  0, 0, 0, NULL, NULL },
	{ "taskset", "a|all-tasks c|cpu-list p|pid", 0, 1, 0, NULL, NULL },
	{ "time", "p|portability a|append v|verbose q|quiet f|format= o|output=", 0, 0, 0, NULL, NULL },
	{ "timeout", "f|foreground p|preserve-status v|verbose k|kill-after= s|signal=", 0, 1, 0, NULL, NULL },
	{ "watch",
	  "b|beep c|color d|differences? e|errexit g|chgexit n|interval= p|precise q|equexit= t|no-title w|no-wrap "
	  "x|exec",
	  0, 0, 0, NULL, NULL },
	{ "xargs",
	  "0|null r|no-run-if-empty t|verbose p|interactive x|exit o|open-tty n|max-args= L|max-lines= l? P|max-procs= "
	  "s|max-chars= a|arg-file= d|delimiter= E= e|eof? I= i|replace? process-slot-var= show-limits",
	  0, 0, 0, NULL, NULL },
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};

/* Is it "<name>" or "<directory>/<name>"? */
static bool is_called(const char *program, const char *name)
{
	return !strcmp(ews_path_base(program), name);
}

static bool is_any_of(const char *program, const char *const *names)
{
	for (; *names; names++)
		if (is_called(program, *names))
			return true;
	return false;
}

/* Does any of the words look as if it were git's name? */
static bool speaks_of_git(char *const *argv)
{
	for (; *argv; argv++)
		if (strstr(*argv, "git"))
			return true;
	return false;
}

/* Has the path a component ".git"? */
static bool is_in_git_dir(const char *path)
{
	for (const char *at = path; (at = strstr(at, ".git")); at++)
		if ((at == path || at[-1] == '/') && (!at[4] || at[4] == '/'))
			return true;
	return false;
}

static void block_git_dir(struct ews_guard_verdict *out, const char *path)
{
	ews_guard_block(out, EWS_GUARD_DESTRUCTIVE, "reading is allowed; git's own commands tell what is in there",
			"It would change the repository behind git's back ('%s')", path);
}

static void block_unclear(struct ews_guard_verdict *out, const char *what, const char *why)
{
	ews_guard_block(out, EWS_GUARD_UNKNOWN, "run the git command by itself", "'%s' %s", what, why);
}

/*
 * Commands that write where they are told to
 */

/* Block when any of the words, from the second on, is a path in a ".git". */
static void judge_paths(struct ews_guard_verdict *out, char *const *argv)
{
	for (argv++; *argv; argv++)
		if (**argv != '-' && is_in_git_dir(*argv))
			block_git_dir(out, *argv);
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
	if (target && is_in_git_dir(target))
		block_git_dir(out, target);
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

static void judge_other(struct ews_guard_verdict *out, char *const *argv)
{
	static const char *const changing[] = { "rm",       "rmdir", "unlink", "mv",    "tee",
						"truncate", "touch", "mkdir",  "chmod", "chown",
						"chgrp",    "shred", "mkfifo", "mknod", NULL };
	static const char *const filling[] = { "cp", "ln", "install", "rsync", "link", NULL };

	if (is_any_of(argv[0], changing))
		judge_paths(out, argv);
	else if (is_any_of(argv[0], filling))
		judge_target(out, argv);
	else if ((is_called(argv[0], "sed") && (has_letter(argv, 'i') || has_beginning(argv, "--in-place"))) ||
		 (is_called(argv[0], "perl") && has_letter(argv, 'i')))
		judge_paths(out, argv);
	else if (is_called(argv[0], "dd"))
		for (char *const *at = argv + 1; *at; at++)
			if (!strncmp(*at, "of=", 3) && is_in_git_dir(*at + 3))
				block_git_dir(out, *at + 3);
}

/*
 * Commands that run commands
 */

/* "<name>=..." before a command: git must not find what it can't be shown. */
static void take_variable(struct line *line, const char *pair)
{
	size_t len = strcspn(pair, "=");
	EWS_CLEANUP(free) char *name = ews_strndup(pair, len);

	if (!line->variable && !ews_guard_variable_is_harmless(line->rules, name, pair[len] ? pair + len + 1 : ""))
		line->variable = pair;
}

static bool is_assignment(const char *word)
{
	size_t len = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return len && word[len] == '=';
}

/*
 * Skip the options of `row` at the beginning of `argv`. Gives what follows; NULL when an option is unknown. What xargs
 * is to replace goes to `hole`.
 */
static char *const *skip_options(const struct ews_guard_row *row, char *const *argv, const char **hole)
{
	enum ews_guard_found found;
	struct ews_guard_option option = { NULL, 0, 0, 0 };
	const char *value;
	size_t len;

	for (; *argv && (*argv)[0] == '-' && (*argv)[1]; argv++) {
		const char *arg = *argv;

		if (!strcmp(arg, "--"))
			return argv + 1;
		if ((row->flags & EWS_GUARD_NUMBER) && !arg[1 + strspn(arg + 1, "0123456789")])
			continue;
		value = NULL;
		if (arg[1] == '-') {
			len = strcspn(arg + 2, "=");
			found = ews_guard_option_long(&option, row, arg + 2, len);
			if (arg[2 + len])
				value = arg + 2 + len + 1;
		} else {
			do {
				found = ews_guard_option_letter(&option, row, *++arg);
			} while (found == EWS_GUARD_OPTION && !option.value && option.mark != '!' && arg[1]);
			if (arg[0] && arg[1])
				value = arg + 1;
		}
		if (found != EWS_GUARD_OPTION || option.mark == '!')
			return NULL;
		if (option.mark == '+' || (option.value == '=' && !value && !argv[1])) {
			while (*argv)
				argv++;
			return argv;
		}
		if (option.value == '=' && !value)
			value = *++argv;
		if (hole && !strcmp(row->name, "xargs") && strchr("Ii", *option.names))
			*hole = value && *value ? value : "{}";
	}
	return argv;
}

/* Add `word` to `out`, each `hole` in it as one of ours. */
static void add_with_holes(struct ews_strv *out, const char *word, const char *hole)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *at;

	for (; hole && (at = strstr(word, hole)); word = at + strlen(hole)) {
		ews_buf_add(&text, word, (size_t)(at - word));
		ews_buf_adds(&text, EWS_GUARD_HOLE);
	}
	ews_buf_adds(&text, word);
	ews_strv_add(out, text.ptr);
}

/* The words are one text for a shell. */
static void judge_joined(struct ews_guard_verdict *out, const struct line *line, char *const *words)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (; *words; words++)
		ews_buf_addf(&text, "%s%s", text.len ? " " : "", *words);
	judge_text(out, line, text.ptr);
}

static void judge_runner(struct ews_guard_verdict *out, struct line *line, const struct ews_guard_row *row)
{
	bool takes_variables = !strcmp(row->name, "env") || !strcmp(row->name, "sudo") || !strcmp(row->name, "doas");
	bool is_xargs = !strcmp(row->name, "xargs");
	EWS_CLEANUP(strv) struct ews_strv inner = EWS_STRV_INIT;
	const char *hole = NULL;
	char *const *at;
	int words;

	at = skip_options(row, line->argv + 1, &hole);
	if (!at) {
		if (speaks_of_git(line->argv + 1))
			block_unclear(out, line->argv[0], "is given options that are not known here");
		return;
	}
	if (takes_variables && *at && !strcmp(*at, "-"))
		at++;
	for (; takes_variables && *at && is_assignment(*at); at++)
		take_variable(line, *at);
	for (words = row->words; words > 0 && *at; words--)
		at++;
	if (!*at && line->has_tail && !is_xargs)
		block_unclear(out, line->argv[0], "is given a command that is not known yet");
	if (!*at)
		return;
	if (!strcmp(row->name, "flock") && !strcmp(*at, "-c") && at[1]) {
		judge_text(out, line, at[1]);
		return;
	}
	if (!strcmp(row->name, "watch")) {
		judge_joined(out, line, at);
		return;
	}
	for (; *at; at++)
		add_with_holes(&inner, *at, hole);
	line->argv = inner.items;
	if (is_xargs)
		line->has_tail = !hole; /* it puts everything into the hole then */
	judge_line(out, line);
}

/* find runs what stands between -exec and ";" or "+", a path in the place of "{}". */
static void judge_find(struct ews_guard_verdict *out, struct line *line)
{
	static const char *const running[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };
	static const char *const writing[] = { "-fprint", "-fprint0", "-fprintf", "-fls", NULL };
	const char *git_dir = NULL;
	bool changes = false;
	char *const *at;

	for (at = line->argv + 1; *at; at++) {
		if (!git_dir && is_in_git_dir(*at))
			git_dir = *at;
		if (!strcmp(*at, "-delete"))
			changes = true;
		if (is_any_of(*at, writing) && at[1] && is_in_git_dir(at[1]))
			block_git_dir(out, at[1]);
		if (is_any_of(*at, running) && at[1]) {
			EWS_CLEANUP(strv) struct ews_strv inner = EWS_STRV_INIT;
			struct line next = *line;
			EWS_CLEANUP(guard_verdict) struct ews_guard_verdict probe = EWS_GUARD_VERDICT_INIT;

			for (at++; *at && strcmp(*at, ";") != 0 && !(!strcmp(*at, "+") && !strcmp(at[-1], "{}")); at++)
				ews_strv_add(&inner, *at);
			if (inner.n) {
				next.argv = inner.items;
				judge_line(out, &next);
			}
			/* What would be said if what is found were in a ".git"? */
			for (size_t i = 0; i < inner.n; i++) {
				if (strcmp(inner.items[i], "{}") != 0)
					continue;
				free(inner.items[i]);
				inner.items[i] = ews_strdup(".git");
			}
			if (inner.n)
				judge_other(&probe, inner.items);
			changes = changes || probe.is_blocked;
			if (!*at)
				break;
		}
	}
	if (changes && git_dir)
		block_git_dir(out, git_dir);
}

/* A shell: it has a text, or a script, or reads its input. */
static void judge_shell_program(struct ews_guard_verdict *out, struct line *line)
{
	char *const *at;

	for (at = line->argv + 1; *at && ((*at)[0] == '-' || (*at)[0] == '+') && (*at)[1]; at++) {
		if ((*at)[1] != '-' && strchr(*at, 'c') && at[1]) {
			judge_text(out, line, at[1]);
			return;
		}
		if ((*at)[1] != '-' && strpbrk(*at, "oO"))
			at += at[1] != NULL;
		if ((*at)[1] != '-' && strchr(*at, 's'))
			break;
	}
	if (*at && (*at)[0] != '-')
		return;
	if (line->input)
		judge_text(out, line, line->input);
	else if (line->is_fed || line->has_tail)
		block_unclear(out, line->argv[0], "reads commands that are not known yet");
}

/* A program that gives a text to a shell, as the value of -c. */
static void judge_text_option(struct ews_guard_verdict *out, const struct line *line)
{
	for (char *const *at = line->argv + 1; *at; at++) {
		if (!strncmp(*at, "--command=", 10))
			judge_text(out, line, *at + 10);
		else if ((!strcmp(*at, "--command") || ((*at)[0] == '-' && (*at)[1] != '-' && strchr(*at, 'c'))) &&
			 at[1])
			judge_text(out, line, *++at);
	}
}

/* trap has a text before the names of signals, or no text. */
static void judge_trap(struct ews_guard_verdict *out, const struct line *line)
{
	char *const *at = line->argv + 1;

	if (*at && !strcmp(*at, "--"))
		at++;
	if (*at && at[1] && strcmp(*at, "-") != 0)
		judge_text(out, line, *at);
}

/* An alias may stand for git from here on. */
static void judge_alias(struct ews_guard_verdict *out, char *const *argv)
{
	for (argv++; *argv; argv++)
		if (strchr(*argv, '=') && (strstr(*argv, "git") || strpbrk(*argv, EWS_GUARD_HOLE EWS_GUARD_SPLIT)))
			block_unclear(out, *argv, "would give git another name");
}

/* Take over into `out` what `part`, one of its commands, is. What blocked first stays. */
static void merge(struct ews_guard_verdict *out, struct ews_guard_verdict *part)
{
	if (out->is_blocked)
		return;
	if (part->is_blocked) {
		free(out->reason);
		out->reason = ews_steal(&part->reason);
		free(out->suggestion);
		out->suggestion = ews_steal(&part->suggestion);
		out->is_blocked = true;
	}
	if (part->is_blocked || part->operation > out->operation)
		out->operation = part->operation;
	if (part->subcommand && (part->is_blocked || !out->subcommand)) {
		free(out->subcommand);
		out->subcommand = ews_steal(&part->subcommand);
	}
}

/* The command is git: `name` is the command that a program "git-<name>" stands for, or NULL. */
static void judge_git(struct ews_guard_verdict *out, struct line *line, const char *name)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	struct ews_guard_git git = { .has_tail = line->has_tail };

	if (name)
		ews_strv_add(&argv, name);
	ews_strv_add_array(&argv, line->argv + 1);
	git.argv = argv.items;
	ews_guard_judge_git(&verdict, line->rules, &git);
	if (line->variable)
		block_unclear(&verdict, line->variable, "would change what git does");
	merge(out, &verdict);
}

static const struct ews_guard_row *find_runner(const char *name)
{
	for (const struct ews_guard_row *row = runners; row->name; row++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

static void judge_line(struct ews_guard_verdict *out, struct line *line)
{
	static const char *const shells[] = { "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", NULL };
	static const char *const with_text[] = { "su", "runuser", "script", NULL };
	const char *program = line->argv[0], *base = ews_path_base(program);
	const struct ews_guard_row *runner = find_runner(base);

	if (++line->depth > DEPTH_MAX)
		block_unclear(out, program, "runs commands within commands without end");
	else if (strpbrk(base, EWS_GUARD_HOLE EWS_GUARD_SPLIT))
		block_unclear(out, program, "is a command that is not known");
	else if (runner)
		judge_runner(out, line, runner);
	else if (!strcmp(base, "git"))
		judge_git(out, line, NULL);
	else if (!strncmp(base, "git-", 4) && base[4])
		judge_git(out, line, base + 4);
	else if (is_any_of(program, shells))
		judge_shell_program(out, line);
	else if (is_any_of(program, with_text))
		judge_text_option(out, line);
	else if (!strcmp(base, "eval"))
		judge_joined(out, line, line->argv + 1);
	else if (!strcmp(base, "trap"))
		judge_trap(out, line);
	else if (!strcmp(base, "find"))
		judge_find(out, line);
	else if (!strcmp(base, "alias"))
		judge_alias(out, line->argv);
	else
		judge_other(out, line->argv);
}

/*
 * Texts
 */

struct text {
	struct ews_guard_verdict *out;
	struct line line; /* what holds for all its commands */
	char *variable; /* the first that was set and that git must not find so */
};

/* From here on git would find `pair` in its environment: it was set without a command, or exported. */
static void set_for_all(struct text *text, const char *pair)
{
	struct line probe = { .rules = text->line.rules };

	/* Another PATH is what build scripts begin with. */
	if (text->line.variable || !strncmp(pair, "PATH=", 5))
		return;
	take_variable(&probe, pair);
	if (!probe.variable)
		return;
	text->variable = ews_strdup(pair);
	text->line.variable = text->variable;
}

static void judge_definition(struct ews_guard_verdict *out, const char *name)
{
	if (!strncmp(name, "git", 3) || find_runner(name))
		block_unclear(out, name, "would be another command from there on");
}

static int judge_call(void *payload, const struct ews_guard_call *call)
{
	static const char *const setters[] = { "export", "declare", "typeset", "readonly", "local", NULL };
	struct text *text = payload;
	struct line line = text->line;
	char *const *at;

	for (at = call->written.items; *at; at++)
		if (is_in_git_dir(*at))
			block_git_dir(text->out, *at);
	if (call->is_definition) {
		judge_definition(text->out, call->argv.items[0]);
	} else if (!call->argv.n) {
		for (at = call->variables.items; *at; at++)
			set_for_all(text, *at);
	} else if (is_any_of(call->argv.items[0], setters)) {
		for (at = call->argv.items + 1; *at; at++)
			if (is_assignment(*at))
				set_for_all(text, *at);
	} else {
		line.argv = call->argv.items;
		line.has_tail = false;
		line.input = call->input;
		line.is_fed = call->is_fed;
		for (at = call->variables.items; *at; at++)
			take_variable(&line, *at);
		judge_line(text->out, &line);
	}
	return text->out->is_blocked;
}

static void judge_text(struct ews_guard_verdict *out, const struct line *line, const char *text)
{
	struct text state = { .out = out, .line = *line };
	int rc;

	rc = ews_guard_shell_each(text, judge_call, &state);
	if (rc < 0) {
		ews_guard_block(out, EWS_GUARD_UNKNOWN, "run the git command by itself",
				"The text can't be read: %s", ews_error_message());
		ews_error_clear();
	}
	free(state.variable);
}

/* Holes are bytes that nobody can read. */
static void fill_holes(char *text)
{
	for (; text && *text; text++)
		if (*text == *EWS_GUARD_HOLE || *text == *EWS_GUARD_SPLIT)
			*text = '?';
}

/* Add `word` as one would type it. */
static void add_quoted(struct ews_buf *out, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./^~-";

	if (*word && !word[strspn(word, plain)]) {
		ews_buf_adds(out, word);
		return;
	}
	ews_buf_addc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			ews_buf_adds(out, "'\\''");
		else
			ews_buf_addc(out, *word);
	ews_buf_addc(out, '\'');
}

/* Is nothing to be stopped? */
static bool is_off(struct ews_guard_verdict *out, const struct ews_guard_rules *rules)
{
	out->policy = ews_guard_policy_word(rules->policy);
	return !rules->enabled;
}

int ews_guard_judge(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, char *const *argv)
{
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	struct line line = { .rules = rules, .argv = argv };

	*out = (struct ews_guard_verdict)EWS_GUARD_VERDICT_INIT;
	for (char *const *at = argv; *at; at++) {
		if (at > argv)
			ews_buf_addc(&command, ' ');
		add_quoted(&command, *at);
	}
	out->command = ews_buf_steal(&command);
	if (!is_off(out, rules) && *argv)
		judge_line(out, &line);
	fill_holes(out->reason);
	return 0;
}

int ews_guard_judge_shell(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, const char *text)
{
	const struct line line = { .rules = rules };

	*out = (struct ews_guard_verdict)EWS_GUARD_VERDICT_INIT;
	out->command = ews_strdup(text);
	if (!is_off(out, rules))
		judge_text(out, &line, text);
	fill_holes(out->reason);
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
