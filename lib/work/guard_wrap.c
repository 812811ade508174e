/*
 * Programs that run other commands: see guard_wrap.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_wrap.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "base/strv.h"
#include "work/guard_file.h"
#include "work/guard_option.h"

/*
 * Programs that run the command behind their own options: a row each, in the language of the guard's table; `words` are
 * those of its own that come before the command. With an option that has '+' it runs nothing.
 */
static const struct ews_guard_row runners[] = {
	{ "-", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "bwrap", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "builtin", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "busybox", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "chronic", "v e", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "chroot", "groups= userspec= skip-chdir", 0, 1, 0, NULL, NULL },
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
	{ "fakeroot", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "firejail", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "flock",
	  "s|shared x|exclusive e n|nb|nonblock u|unlock w|wait|timeout= E|conflict-exit-code= F|no-fork o|close "
	  "verbose !c|command=",
	  0, 1, 0, NULL, NULL },
	{ "ionice", "c|class= n|classdata= t|ignore", 0, 0, 0, NULL, NULL },
	{ "ltrace", "f c C r t tt ttt T i S a= e= l= n= o= p= s= u= x=", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "nice", "n|adjustment=", EWS_GUARD_NUMBER, 0, 0, NULL, NULL },
	{ "nocorrect", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "noglob", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "nohup", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "pkexec", "user=", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "prlimit", "", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "repeat", "", EWS_GUARD_EXACT, 1, 0, NULL, NULL },
	{ "screen", "a A c= d D e= f fn fa h= i l ls list L m O p= q Q r R S= s= t= T= U v wipe x !X", 0, 0, 0,
	  NULL, NULL },
	{ "setpriv",
	  "no-new-privs clear-groups keep-groups init-groups reuid= regid= ruid= euid= rgid= egid= groups= inh-caps= bounding-set= "
	  "reset-env",
	  0, 0, 0, NULL, NULL },
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
	{ "systemd-run",
	  "user system scope P|pipe t|pty q|quiet G|collect wait no-block d|same-dir r|remain-after-exit S|shell unit= "
	  "p|property= description= slice= uid= gid= nice= working-directory= E|setenv=",
	  EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "taskset", "a|all-tasks c|cpu-list p|pid", 0, 1, 0, NULL, NULL },
	{ "time", "p|portability a|append v|verbose q|quiet f|format= o|output=", 0, 0, 0, NULL, NULL },
	{ "timeout", "f|foreground p|preserve-status v|verbose k|kill-after= s|signal=", 0, 1, 0, NULL, NULL },
	{ "unbuffer", "p", EWS_GUARD_EXACT, 0, 0, NULL, NULL },
	{ "unshare",
	  "r|map-root-user c|map-current-user m|mount? n|net? p|pid? u|uts? i|ipc? U|user? C|cgroup? f|fork",
	  EWS_GUARD_EXACT, 0, 0, NULL, NULL },
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

/* Is `word` among `words`, with blanks between them? */
static bool is_among(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; len && (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') && (!at[len] || at[len] == ' '))
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

static void block_unclear(struct ews_guard_verdict *out, const char *what, const char *why)
{
	ews_guard_block(out, EWS_GUARD_UNKNOWN, "run the git command by itself", "'%s' %s", what, why);
}

/* "<name>=..." before a command: git must not find what it can't be shown. */
static void take_variable(struct ews_guard_line *line, const char *pair)
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

char *const *ews_guard_take_variables(struct ews_guard_line *line, char *const *argv)
{
	for (; *argv && is_assignment(*argv); argv++)
		take_variable(line, *argv);
	return argv;
}

/*
 * Skip the options of `row` at the beginning of `argv`. Gives what follows; NULL when an option is unknown. What xargs
 * is to replace goes to `hole`, and where the command is to run to `line`.
 */
static char *const *skip_options(struct ews_guard_line *line, const struct ews_guard_row *row, char *const *argv,
				 const char **hole)
{
	enum ews_guard_found found;
	struct ews_guard_option option = { .names = NULL };
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
		if (!strcmp(row->name, "xargs") && strchr("Ii", *option.names))
			*hole = value && *value ? value : "{}";
		if (option.value && ews_str_begins(option.names + 1, "|chdir="))
			line->git_depth = ews_guard_git_depth(value, line->git_depth);
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
static void judge_joined(struct ews_guard_verdict *out, const struct ews_guard_line *line, char *const *words)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (; *words; words++)
		ews_buf_addf(&text, "%s%s", text.len ? " " : "", *words);
	ews_guard_judge_text(out, line, text.ptr);
}

static void judge_runner(struct ews_guard_verdict *out, struct ews_guard_line *line, const struct ews_guard_row *row)
{
	bool takes_variables = !strcmp(row->name, "env") || !strcmp(row->name, "sudo") || !strcmp(row->name, "doas");
	bool is_xargs = !strcmp(row->name, "xargs");
	EWS_CLEANUP(strv) struct ews_strv inner = EWS_STRV_INIT;
	const char *hole = NULL;
	char *const *at;
	int words;

	at = skip_options(line, row, line->argv + 1, &hole);
	if (!at) {
		if (speaks_of_git(line->argv + 1))
			block_unclear(out, line->argv[0], "is given options that are not known here");
		return;
	}
	if (takes_variables && *at && !strcmp(*at, "-"))
		at++;
	if (takes_variables)
		at = ews_guard_take_variables(line, at);
	for (words = row->words; words > 0 && *at; words--)
		at++;
	if (!*at && line->has_tail && !is_xargs)
		block_unclear(out, line->argv[0], "is given a command that is not known yet");
	if (!*at)
		return;
	if (!strcmp(row->name, "flock") && is_among("-c --command", *at) && at[1]) {
		ews_guard_judge_text(out, line, at[1]);
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
	ews_guard_judge_line(out, line);
}

/* Does find do something there? */
static bool is_action(const char *word)
{
	static const char *const names[] = { "-exec",   "-execdir", "-ok",      "-okdir", "-delete",
					     "-fprint", "-fprint0", "-fprintf", "-fls",   NULL };

	return ews_str_is_any(word, names);
}

static bool is_or(const char *word)
{
	static const char *const names[] = { "-o", "-or", ",", NULL };

	return ews_str_is_any(word, names);
}

/* What find looks for, while it is read. */
struct search {
	bool is_not[EWS_GUARD_DEPTH_MAX]; /* of each group that is open: does a "!" stand before it? */
	unsigned depth;
	bool not_next; /* one stands before what comes next */
	bool is_shallow; /* nothing below the first level is looked at */
	bool is_entered; /* what is below a directory is looked at whatever -prune says of it */
	const char *git_dir; /* a ".git" that it may come into, or NULL */
};

/* Does an odd number of "!" stand before the first `depth` groups? */
static bool is_turned(const struct search *search, unsigned depth)
{
	bool is = false;

	for (unsigned i = 0; i < depth; i++)
		is = is != search->is_not[i];
	return is;
}

static bool is_negated(const struct search *search)
{
	return search->not_next != is_turned(search, search->depth);
}

/*
 * Is something done with what the test before `at` does not choose? That is what an alternative is for, to it or to a group
 * that it is in; in a group that a "!" turns, where an alternative chooses less, it is another test of the same.
 */
static bool has_alternative(const struct search *search, char *const *at)
{
	unsigned depth = search->depth, inner = 0;
	bool is_turned_here = is_turned(search, depth);
	bool is_other = is_turned_here && *at && strcmp(*at, ")") != 0 && !is_or(*at);

	for (; *at; at++) {
		if (!strcmp(*at, "("))
			inner++;
		else if (!strcmp(*at, ")") && inner)
			inner--;
		else if (!strcmp(*at, ")") && depth)
			is_turned_here = is_turned(search, --depth);
		else if (!inner && is_or(*at))
			is_other |= !is_turned_here;
		else if (is_other && is_action(*at))
			return true;
	}
	return false;
}

/* Where -prune held, may this word make what stands behind it not hold, so that an alternative is tried? */
static bool may_fail(const char *word)
{
	static const char *const holding[] = { "-a",      "-and",    "-prune", "-true", "-print",
					       "-print0", "-printf", "-ls",    NULL };

	return strchr("-!(", *word) && !ews_str_is_any(word, holding);
}

/*
 * Does find pass by what the test before `at` asks for, and do nothing with it? What stands behind -prune, as far as no
 * alternative begins, is done with it all the same. Other tests before that are taken to hold.
 */
static bool is_pruned(const struct search *search, char *const *at)
{
	unsigned depth = search->depth, inner = 0;
	bool holds = !search->not_next,
	     is_chosen = false; /* what one alternative chose the rest of its group does not get */
	bool is = false, is_doubtful = false;

	if (search->is_entered && !search->is_shallow)
		return false;
	for (; *at; at++) {
		bool is_reached = (holds && !is_chosen) || is_doubtful;

		if (is_reached && is_action(*at))
			return false;
		if (is && is_reached && may_fail(*at) && !is_or(*at))
			is_doubtful = true;
		if (!strcmp(*at, "(")) {
			inner++;
		} else if (!strcmp(*at, ")") && inner) {
			inner--;
		} else if (!strcmp(*at, ")") && depth) {
			holds = (holds || is_chosen) != search->is_not[--depth];
			is_chosen = false;
		} else if (!inner && !strcmp(*at, ",")) {
			holds = true;
			is_chosen = false;
		} else if (!inner && is_or(*at)) {
			is_chosen = is_chosen || holds;
			holds = true;
		} else if (!inner && is_reached && !strcmp(*at, "-prune")) {
			is = true;
		}
	}
	return is;
}

/* Does a regular expression, in one of the two grammars that find may be told, fit the whole path? */
static bool fits(const char *pattern, const char *path, int flags)
{
	EWS_CLEANUP(free)
	char *basic = ews_strfmt("^\\(%s\\)$", pattern), *extended = ews_strfmt("^(%s)$", pattern);
	bool does = false;
	regex_t regex;

	for (int kind = 0; kind < 2; kind++) {
		if (regcomp(&regex, kind ? extended : basic, (kind ? REG_EXTENDED : 0) | REG_NOSUB | flags) != 0)
			continue;
		does = does || regexec(&regex, path, 0, NULL, 0) == 0;
		regfree(&regex);
	}
	return does;
}

/* Does it fit what is in a ".git", and not the same without the dot, as one does that fits every name? */
static bool fits_git(const char *pattern, int flags)
{
	static const struct {
		const char *path, *other;
	} pairs[] = { { "./.git", "./git" },
		      { "./.git/x", "./git/x" },
		      { "./x/.git", "./x/git" },
		      { "./x/.git/x/y", "./x/git/x/y" },
		      { "./.git/config", "./git/config" },
		      { "./.git/HEAD", "./git/HEAD" },
		      { "./.git/hooks/x", "./git/hooks/x" } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (fits(pattern, pairs[i].path, flags) && !fits(pattern, pairs[i].other, flags))
			return true;
	return false;
}

/* Does a name that is left out take all below it along? A name alone stands for the directory, which is gone through all the same. */
static bool is_all_below(const struct search *search, const char *test, const char *pattern)
{
	size_t len = strlen(pattern);

	return search->is_shallow || (len && pattern[len - 1] == '*') ||
	       (strstr(test, "regex") && fits(pattern, "./.git/x/y", 0));
}

/* Does the pattern of the test `test` stand for a ".git", and not for every name? */
static bool asks_for_git(const char *test, const char *pattern)
{
	int flags = test[1] == 'i' ? FNM_CASEFOLD : 0;
	bool is_pattern = !strstr(test, "regex");
	size_t len;

	if (ews_guard_is_git_path(pattern) || (!is_pattern && fits_git(pattern, flags ? REG_ICASE : 0)))
		return true;
	for (; is_pattern && *pattern; pattern += len + (pattern[len] == '/')) {
		EWS_CLEANUP(free) char *name = ews_strndup(pattern, len = strcspn(pattern, "/"));

		if (*name == '.' && fnmatch(name, ".git", flags) == 0)
			return true;
	}
	return false;
}

/*
 * Take note of the word at `at`, and of its operand. A name that is asked for in order to leave it out leads find nowhere.
 * Gives the last of these words.
 */
static char *const *read_test(struct search *search, char *const *at)
{
	static const char *const names[] = { "-path",  "-wholename", "-ipath",  "-iwholename", "-name",
					     "-iname", "-regex",     "-iregex", NULL };
	bool has_name = ews_str_is_any(*at, names) && at[1];
	bool is_compared = (ews_str_begins(*at, "-newer") || !strcmp(*at, "-anewer") || !strcmp(*at, "-cnewer")) &&
			   at[1];

	if (!strcmp(*at, "!") || !strcmp(*at, "-not")) {
		search->not_next = !search->not_next;
		return at;
	}
	if (!strcmp(*at, "(") && search->depth < EWS_GUARD_DEPTH_MAX)
		search->is_not[search->depth++] = search->not_next;
	else if (!strcmp(*at, ")") && search->depth)
		search->depth--;
	else if (!is_compared && !search->git_dir &&
		 (has_name ? asks_for_git(*at, at[1]) : ews_guard_may_be_git_path(*at)) &&
		 !(has_name &&
		   ((is_negated(search) && is_all_below(search, *at, at[1]) && !has_alternative(search, at + 2)) ||
		    is_pruned(search, at + 2))))
		search->git_dir = at[has_name];
	search->not_next = false;
	return at + (has_name || is_compared);
}

/* find runs what stands between -exec and ";" or "+", a path in the place of "{}". */
static void judge_find(struct ews_guard_verdict *out, struct ews_guard_line *line)
{
	static const char *const running[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };
	static const char *const writing[] = { "-fprint", "-fprint0", "-fprintf", "-fls", NULL };
	static const char *const entering[] = { "-depth", "-d", "-delete", NULL }; /* -delete does that first, too */
	static const char *const first_levels[] = { "0", "1", NULL };
	struct search search = { .git_dir = NULL };
	bool changes = false;
	char *const *at = line->argv + 1;

	for (; *at; at++)
		search.is_entered = search.is_entered || ews_str_is_any(*at, entering) ||
				    (!strcmp(*at, "-mindepth") && at[1] && !ews_str_is_any(at[1], first_levels));
	at = line->argv + 1;
	/* what it begins with, from within one */
	if (line->git_depth && (!*at || strchr("-(!", **at)))
		search.git_dir = ".";
	for (; line->git_depth && *at && !strchr("-(!", **at); at++)
		if (**at != '/')
			search.git_dir = *at;
	for (at = line->argv + 1; *at; at++) {
		if (!strcmp(*at, "-delete"))
			changes = true;
		if (!strcmp(*at, "-maxdepth") && at[1])
			search.is_shallow = !strcmp(at[1], "0") || !strcmp(at[1], "1");
		if (ews_str_is_any(*at, writing) && at[1] &&
		    (ews_guard_may_be_git_path(at[1]) || (line->git_depth && *at[1] != '/')))
			ews_guard_block_git_path(out, at[1]);
		if (ews_str_is_any(*at, running) && at[1]) {
			EWS_CLEANUP(strv) struct ews_strv inner = EWS_STRV_INIT;
			struct ews_guard_line next = *line;
			EWS_CLEANUP(guard_verdict) struct ews_guard_verdict probe = EWS_GUARD_VERDICT_INIT;

			for (at++; *at && strcmp(*at, ";") != 0 && !(!strcmp(*at, "+") && !strcmp(at[-1], "{}")); at++)
				ews_strv_add(&inner, *at);
			if (inner.n) {
				next.argv = inner.items;
				ews_guard_judge_line(out, &next);
			}
			/* What would be said if what is found were in a ".git"? */
			for (size_t i = 0; i < inner.n; i++) {
				if (strcmp(inner.items[i], "{}") != 0)
					continue;
				free(inner.items[i]);
				inner.items[i] = ews_strdup(".git");
			}
			if (inner.n)
				ews_guard_judge_files(&probe, inner.items, false);
			changes = changes || probe.is_blocked;
			search.not_next = false;
			if (!*at)
				break;
			continue;
		}
		at = read_test(&search, at);
	}
	if (changes && search.git_dir)
		ews_guard_block_git_path(out, search.git_dir);
}

/* The commands that a shell finds at `path`; NULL: on its standard input. */
static void judge_script(struct ews_guard_verdict *out, const struct ews_guard_line *line, const char *path)
{
	bool is_input = !path || !strcmp(path, "-") || !strcmp(path, "/dev/stdin") || !strcmp(path, "/dev/fd/0");

	/* a script is a program like any other, until it is made up on the spot */
	if (!is_input && !ews_str_begins(path, "/dev/fd/"))
		return;
	if (is_input && line->input)
		ews_guard_judge_text(out, line, line->input);
	else if (!is_input || line->is_fed || line->has_tail)
		block_unclear(out, line->argv[0], "is given commands that are not known yet");
}

/*
 * Note what the options of a shell in the word `word` say. Gives how many words after it are their values; -1 where shells
 * differ in that.
 */
static int read_shell_option(bool *has_text, bool *is_input, const char *word)
{
	static const char *const with_value[] = { "--rcfile", "--init-file", "--emulate", NULL };
	size_t values = strlen(word) - strcspn(word, "oO");

	if (word[1] == '-')
		return ews_guard_is_called(word, with_value);
	*has_text |= strchr(word, 'c') != NULL;
	*is_input |= strchr(word, 's') != NULL;
	/* the name of a setting: the next word, or to some shells what stands behind the letter */
	return values > 1 ? -1 : (int)values;
}

/* Where the options aren't known, what stands behind one that may be -c may be a text. */
static void judge_possible_texts(struct ews_guard_verdict *out, const struct ews_guard_line *line, char *const *at)
{
	for (; *at; at++)
		if ((*at)[0] == '-' && (*at)[1] != '-' && strchr(*at, 'c') && at[1])
			ews_guard_judge_text(out, line, at[1]);
}

/* A shell: it has a text, or a script, or reads its input. The text is the first word, behind all options. */
static void judge_shell_program(struct ews_guard_verdict *out, const struct ews_guard_line *line)
{
	bool has_text = false, is_input = false;
	char *const *at;

	for (at = line->argv + 1; *at && ((*at)[0] == '-' || (*at)[0] == '+') && (*at)[1]; at++) {
		int values = strcmp(*at, "--") ? read_shell_option(&has_text, &is_input, *at) : 0;

		if (values < 0 && speaks_of_git(at))
			block_unclear(out, line->argv[0], "is given options that shells read in different ways");
		if (!strcmp(*at, "--")) {
			at++;
			break;
		}
		for (; values > 0 && at[1]; values--)
			at++;
	}
	if (has_text && *at && !strcmp(*at, "-"))
		at++;
	if (has_text && *at)
		ews_guard_judge_text(out, line, *at);
	else
		judge_script(out, line, is_input ? NULL : *at);
	if (!has_text && *at && **at == *EWS_GUARD_HOLE)
		judge_possible_texts(out, line, at);
}

/* A program that gives a text to a shell, as the value of -c. */
static void judge_text_option(struct ews_guard_verdict *out, const struct ews_guard_line *line)
{
	for (char *const *at = line->argv + 1; *at; at++) {
		const char *letter = (*at)[0] == '-' && (*at)[1] != '-' ? strchr(*at, 'c') : NULL;
		const char *text = ews_str_after(*at, "--command=");

		if (text)
			ews_guard_judge_text(out, line, text);
		else if (letter && letter[1])
			ews_guard_judge_text(out, line, letter + 1);
		else if ((letter || !strcmp(*at, "--command")) && at[1])
			ews_guard_judge_text(out, line, *++at);
	}
}

/* GNU parallel makes texts for a shell of its words and its input. */
static void judge_parallel(struct ews_guard_verdict *out, const struct ews_guard_line *line)
{
	if (speaks_of_git(line->argv + 1))
		block_unclear(out, line->argv[0], "makes commands of what it reads");
	else if (!line->argv[1])
		judge_script(out, line, NULL);
}

/*
 * Programs that run a command which stands behind words of theirs: behind one of `verbs`, where there are some, and
 * behind `words` more. Their options are not known, so that what follows one may be its value.
 */
static const struct carrier {
	const char *names, *verbs;
	unsigned words;
	bool adds; /* puts what it found behind the command, or in the place of "{}" */
} carriers[] = {
	{ "uv poetry pipenv pdm hatch rye pixi conda mamba micromamba", "run", 0, false },
	{ "npm pnpm yarn bun", "exec x dlx", 0, false },
	{ "npx bunx pnpx", NULL, 0, false },
	{ "bundle rbenv pyenv nodenv asdf", "exec", 0, false },
	{ "mise rtx", "exec x", 8, false }, /* versions of tools */
	{ "direnv", "exec", 1, false },
	{ "nix", "-c --command", 0, false },
	{ "fd fdfind", "-x -X --exec --exec-batch", 0, true },
	{ "perf", "stat record trace", 0, false },
	{ "gdb", "--args", 0, false },
	{ "gosu su-exec faketime", NULL, 1, false },
	{ "setarch linux32 linux64 i386 x86_64 uname26", NULL, 1, false }, /* of the first alone a word: an architecture */
	{ "entr ifne cpulimit valgrind xvfb-run dbus-run-session numactl rlwrap ssh-agent nsenter proot tini dumb-init "
	  "torsocks proxychains proxychains4 caffeinate choom watchexec",
	  NULL, 0, false },
};

#define CARRIERS_N (sizeof(carriers) / sizeof(*carriers))

static const struct carrier *find_carrier(const char *name)
{
	for (size_t i = 0; i < CARRIERS_N; i++)
		if (is_among(carriers[i].names, name))
			return &carriers[i];
	return NULL;
}

static bool has_word(char *const *argv, const char *word)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, word))
			return true;
	return false;
}

static bool is_command(const char *word);

/* Where the command of a carrier begins: its end where there is none. */
static char *const *find_carried(const struct carrier *carrier, char *const *at)
{
	unsigned spare = carrier->words;

	while (carrier->verbs && *at && !is_among(carrier->verbs, *at))
		at++;
	at += carrier->verbs && *at;
	for (; *at; at++) {
		if (!strcmp(*at, "--"))
			return at + 1;
		if (**at == '-')
			spare += !strchr(*at, '=');
		else if (!spare || is_command(*at))
			return at;
		else
			spare--;
	}
	return at;
}

/* npm and npx may be given a text for a shell in the place of a command. */
static void judge_call(struct ews_guard_verdict *out, const struct ews_guard_line *line, const struct carrier *carrier)
{
	char *const *at = line->argv + 1;

	while (carrier->verbs && *at && !is_among(carrier->verbs, *at))
		at++;
	for (at += carrier->verbs && *at; *at && **at == '-' && strcmp(*at, "--") != 0; at++) {
		const char *text = ews_str_after(*at, "--call=");

		if (!text && at[1] && is_among("-c --call", *at))
			text = *++at;
		else if (at[1] && is_among("-p --package -w --workspace", *at))
			at++;
		if (text)
			ews_guard_judge_text(out, line, text);
	}
}

/* Gives whether it carries a command here: with none of its verbs the program may be something else, too. */
static bool judge_carrier(struct ews_guard_verdict *out, struct ews_guard_line *line, const struct carrier *carrier)
{
	bool may_have_text = !strcmp(ews_path_base(line->argv[0]), "entr");
	char *const *at;

	/* a text for a shell, behind -s */
	for (at = line->argv + 1; may_have_text && *at && **at == '-'; at++)
		if (strchr(*at, 's') && at[1])
			ews_guard_judge_text(out, line, at[1]);
	if (is_among("npm npx pnpm pnpx", ews_path_base(line->argv[0])))
		judge_call(out, line, carrier);
	at = find_carried(carrier, line->argv + 1);
	if (!*at)
		return false;
	line->argv = at;
	line->has_tail |= carrier->adds && !has_word(at, "{}");
	ews_guard_judge_line(out, line);
	return true;
}

/* The commands of tmux that give something to a shell, and their options that have a value. */
static const struct {
	const char *names, *values;
} windows[] = {
	{ "new-session new", "ceFfnstxy" },
	{ "new-window neww", "ceFnSt" },
	{ "split-window splitw", "ceFlpt" },
	{ "respawn-pane respawnp respawn-window respawnw", "cet" },
	{ "display-popup popup", "bcdehsStTwxy" },
	{ "run-shell run if-shell if pipe-pane pipep", "dt" },
	{ "send-keys send", "cNt" },
};

/* Behind the options at `at`, of which those among `values` have a value. */
static char *const *skip_letters(char *const *at, const char *values)
{
	for (; *at && **at == '-' && (*at)[1]; at++) {
		size_t len = strcspn(*at + 1, values);

		if (!strcmp(*at, "--"))
			return at + 1;
		if ((*at)[1 + len] && !(*at)[2 + len] && at[1])
			at++;
	}
	return at;
}

/* tmux gives a shell one word as a text, or runs several as a command; what is sent as keys is read by whatever is there. */
static void judge_tmux(struct ews_guard_verdict *out, struct ews_guard_line *line)
{
	char *const *at = skip_letters(line->argv + 1, "cfLST");
	const char *values = NULL;

	for (char *const *option = line->argv + 1; option < at; option++)
		if (!strcmp(*option, "-c") && option[1])
			ews_guard_judge_text(out, line, option[1]);
	for (size_t i = 0; *at && i < sizeof(windows) / sizeof(*windows); i++)
		if (is_among(windows[i].names, *at))
			values = windows[i].values;
	if (!values)
		return;
	at = skip_letters(at + 1, values);
	for (char *const *word = at; *word; word++)
		ews_guard_judge_text(out, line, *word);
	if (!*at || !at[1])
		return;
	line->argv = at;
	ews_guard_judge_line(out, line);
}

/* nix-shell has a text for a shell behind an option, and hyperfine has some as words, and glued to options. */
static void judge_texts(struct ews_guard_verdict *out, const struct ews_guard_line *line)
{
	bool has_options = !strcmp(ews_path_base(line->argv[0]), "nix-shell");

	for (char *const *at = line->argv + 1; *at; at++) {
		if (has_options && at[1] && is_among("--run --command", *at))
			ews_guard_judge_text(out, line, *++at);
		else if (!has_options && (**at != '-' || strchr(*at, '=')))
			ews_guard_judge_text(out, line, **at == '-' ? strchr(*at, '=') + 1 : *at);
	}
}

static const struct ews_guard_row *find_runner(const char *name)
{
	for (const struct ews_guard_row *row = runners; row->name; row++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

static const char *const shells[] = { "sh",  "bash", "rbash", "dash", "ash",  "zsh",
				      "ksh", "mksh", "lksh",  "posh", "yash", NULL };

/* Is it git, or known to run a command? */
static bool is_command(const char *word)
{
	const char *base = ews_path_base(word);

	return !strcmp(base, "git") || ews_str_begins(base, "git-") || ews_guard_is_called(word, shells) ||
	       find_runner(base) || find_carrier(base);
}

/* With a user's name as an option of its own runuser runs a command, else it is like su. */
static const struct ews_guard_row runuser = {
	"runuser", "u|user= g|group= G|supp-group= w|whitelist-environment=", 0, 0, 0, NULL, NULL
};

static bool names_user(char *const *argv)
{
	for (argv++; *argv; argv++)
		if (ews_str_begins(*argv, "-u") || ews_str_begins(*argv, "--user"))
			return true;
	return false;
}

bool ews_guard_judge_wrapper(struct ews_guard_verdict *out, struct ews_guard_line *line)
{
	static const char *const with_text[] = { "su", "sg", "runuser", "script", NULL };
	static const char *const sourcing[] = { ".", "source", NULL };
	static const char *const waiting[] = { "at", "batch", NULL }; /* for their time, with what they read */
	static const char *const taking_texts[] = { "nix-shell", "hyperfine", NULL };
	const char *program = line->argv[0], *base = ews_path_base(program);
	const struct ews_guard_row *runner = find_runner(base);
	const struct carrier *carrier = find_carrier(base);

	if (!strcmp(base, "runuser") && names_user(line->argv))
		runner = &runuser;
	if (runner)
		judge_runner(out, line, runner);
	else if (carrier)
		return judge_carrier(out, line, carrier);
	else if (ews_guard_is_called(program, taking_texts))
		judge_texts(out, line);
	else if (ews_guard_is_called(program, shells))
		judge_shell_program(out, line);
	else if (ews_guard_is_called(program, with_text))
		judge_text_option(out, line);
	else if (ews_guard_is_called(program, sourcing) && line->argv[1])
		judge_script(out, line, line->argv[1]);
	else if (ews_guard_is_called(program, waiting))
		judge_script(out, line, NULL);
	else if (!strcmp(base, "parallel"))
		judge_parallel(out, line);
	else if (!strcmp(base, "eval"))
		judge_joined(out, line, line->argv + 1);
	else if (!strcmp(base, "find"))
		judge_find(out, line);
	else if (!strcmp(base, "tmux"))
		judge_tmux(out, line);
	else
		return false;
	return true;
}
