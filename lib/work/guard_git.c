/*
 * The guard's judgement of git itself: see guard_git.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_git.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "work/guard_option.h"

/* Settings of git's that say how something looks, and nothing else: these may be given with -c. */
static const char *const looks[] = {
	"advice.",
	"color.",
	"column.",
	"core.abbrev",
	"core.quotepath",
	"diff.algorithm",
	"diff.colormoved",
	"diff.context",
	"diff.indentheuristic",
	"diff.interhunkcontext",
	"diff.mnemonicprefix",
	"diff.noprefix",
	"diff.renamelimit",
	"diff.renames",
	"diff.statgraphwidth",
	"grep.",
	"i18n.logoutputencoding",
	"log.abbrevcommit",
	"log.date",
	"log.decorate",
	"log.follow",
	"status.branch",
	"status.relativepaths",
	"status.short",
	"status.showstash",
	"status.showuntrackedfiles",
	"tag.sort",
	"branch.sort",
};

/* A command line, while it is read. */
struct reading {
	const struct ews_guard_rules *rules;
	const struct ews_guard_git *git;
	const struct ews_guard_row *row;
	char *const *verb; /* the last word that chose a row */
	char *const *at; /* what is left to read */
	size_t options, words; /* of the row */
	char least, most; /* as in the table: how many words the options so far call for; 0: they don't */
	bool lists, is_dry; /* an option marked '+', '@' holds */
	bool has_ended; /* what follows are words */
	bool has_stopped; /* since git takes no options behind the first word */
	bool is_open; /* nobody knows how many words there are */
	bool reaches_out; /* an option marked '^' or '#' */
	bool has_settings; /* one is given with -c that is about more than looks */
};

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* Settings that start programs, or may have a command do more than read: they may be turned off. */
static const char *const dangers[] = {
	"core.fsmonitor", "core.pager",        "core.untrackedcache",
	"gc.auto",        "log.showsignature", "maintenance.auto",
	"pager.",         "submodule.recurse", "status.submodulesummary",
};

/* Is "<key>=<value>", whose key is `len` long, about one of them? One that ends in a dot stands for all that begin so. */
static bool is_listed(const char *const *keys, size_t keys_n, const char *pair, size_t len)
{
	for (size_t i = 0; i < keys_n; i++) {
		size_t n = strlen(keys[i]);

		if ((keys[i][n - 1] == '.' ? len > n : len == n) && !strncasecmp(pair, keys[i], n))
			return true;
	}
	return false;
}

/* May the setting "<key>=<value>" be given: is it about looks alone, or does it turn a danger off? */
static bool is_harmless_setting(const char *pair)
{
	static const char *const off[] = { "", "false", "no", "off", "0" };
	size_t len = strcspn(pair, "=");
	const char *value = pair[len] ? pair + len + 1 : "true";

	if (!strcasecmp(pair, "core.hookspath=/dev/null"))
		return true;
	if (!is_listed(dangers, sizeof(dangers) / sizeof(*dangers), pair, len))
		return is_listed(looks, sizeof(looks) / sizeof(*looks), pair, len);
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++)
		if (!strcmp(value, off[i]))
			return true;
	return !strcmp(value, "cat") && (!strncasecmp(pair, "pager.", 6) || !strncasecmp(pair, "core.pager=", 11));
}

bool ews_guard_row_is_free(const struct ews_guard_rules *rules, const struct ews_guard_row *row)
{
	if (((row->flags & EWS_GUARD_COMMIT) && !rules->block_commit) ||
	    ((row->flags & EWS_GUARD_PUSH) && !rules->block_push))
		return true;
	return rules->policy == EWS_GUARD_INSIDE && !(row->flags & EWS_GUARD_OUTSIDE) &&
	       !ews_str_begins(row->name, "ews");
}

/* May the option stand with "." for a remote? Others run a program, or go on to submodules or other remotes. */
static bool is_option_here(const char *arg)
{
	static const char *const options[] = {
		"--autostash",
		"--delete",
		"--dry-run",
		"--ff",
		"--ff-only",
		"--force",
		"--no-commit",
		"--no-edit",
		"--no-ff",
		"--no-rebase",
		"--no-recurse-submodules",
		"--no-tags",
		"--prune",
		"--quiet",
		"--rebase",
		"--squash",
		"--tags",
		"--verbose",
		"-f",
		"-n",
		"-q",
		"-r",
		"-v",
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(arg, options[i]))
			return true;
	return false;
}

/* Is "." the remote, the repository itself, which `inside` may change? A setting may give that name to another one. */
static bool stays_here(const struct reading *r)
{
	size_t words = 0;

	if (r->rules->policy != EWS_GUARD_INSIDE || !(r->row->flags & EWS_GUARD_HERE) || r->git->has_tail ||
	    r->has_settings)
		return false;
	for (char *const *at = r->verb + 1; *at; at++) {
		if (strstr(*at, EWS_GUARD_HOLE) ||
		    (**at == '-' ? !is_option_here(*at) : !words++ && strcmp(*at, ".") != 0))
			return false;
	}
	return words > 0;
}

/* Is it a setting by which "." is another repository? */
static bool leads_away(const char *key)
{
	return !strncasecmp(key, "remote..", 8);
}

/* Would it be written? */
static bool names_leading_away(const struct reading *r)
{
	if (!ews_str_begins(r->row->name, "config"))
		return false;
	for (char *const *at = r->verb + 1; *at; at++)
		if (leads_away(*at))
			return true;
	return false;
}

/* May what is no reading be done under these rules? */
static bool is_let_through(const struct reading *r)
{
	return (ews_guard_row_is_free(r->rules, r->row) || stays_here(r)) && !r->reaches_out &&
	       !names_leading_away(r);
}

/* The command does not read, because of `detail` (NULL: it never does, in this form). */
static void judge_writing(struct ews_guard_verdict *out, const struct reading *r, const char *detail)
{
	const struct ews_guard_row *row = r->row;
	EWS_CLEANUP(buf) struct ews_buf suggestion = EWS_BUF_INIT;

	if (!out->is_blocked)
		out->operation = row->op;
	if (is_let_through(r))
		return;
	if (row->suggestion)
		ews_buf_adds(&suggestion, row->suggestion);
	if (r->rules->policy != EWS_GUARD_INSIDE && !(row->flags & EWS_GUARD_OUTSIDE) && !r->reaches_out &&
	    row->op != EWS_GUARD_UNKNOWN && !ews_str_begins(row->name, "ews"))
		ews_buf_addf(&suggestion,
			     "%sin a session of `git ews run --method snapshot --policy inside` it is allowed",
			     row->suggestion ? "; " : "");
	if (detail)
		ews_guard_block(out, row->op, suggestion.len ? suggestion.ptr : NULL, "%s ('%s')", row->reason,
				detail);
	else
		ews_guard_block(out, row->op, suggestion.len ? suggestion.ptr : NULL, "%s", row->reason);
}

/* Nobody can say what git makes of `what`. */
static void judge_doubt(struct ews_guard_verdict *out, const struct reading *r, const char *what, const char *why)
{
	if (is_let_through(r))
		return;
	ews_guard_block(out, EWS_GUARD_UNKNOWN, r->row->suggestion, "'%s' %s of git %s", what, why, r->row->name);
}

/* What is read of a row that only has verbs stands behind one that does more than read: the options are that one's. */
static void judge_unknown_option(struct ews_guard_verdict *out, const struct reading *r, const char *arg)
{
	if ((r->row->flags & EWS_GUARD_VERBS) && r->row->words == EWS_GUARD_NEEDS_VERB && r->words)
		judge_writing(out, r, NULL);
	else
		judge_doubt(out, r, arg, "is no known option");
}

/* A word is not known well enough to say what git makes of it. */
static void judge_hole(struct ews_guard_verdict *out, const struct reading *r, const char *what)
{
	if (is_let_through(r))
		return;
	ews_guard_block(out, EWS_GUARD_UNKNOWN, "write it out, or put '--' before it where it is a path",
			"'%s' of git %s is not known, and may be an option", what, r->row->name);
}

static void take_value(struct ews_guard_verdict *out, struct reading *r, const struct ews_guard_option *option,
		       const char *value)
{
	bool is_harmless = !option->check ||
			   (!strstr(value, EWS_GUARD_HOLE) && ews_guard_value_is_harmless(option->check, value));

	r->reaches_out |= option->mark == '#' && !is_harmless;
	if (option->check && strstr(value, EWS_GUARD_HOLE))
		judge_hole(out, r, value);
	else if (!is_harmless)
		judge_writing(out, r, value);
}

/*
 * Take note of an option. Its value is `attached` to it, or the word after it.
 */
static void take_option(struct ews_guard_verdict *out, struct reading *r, const struct ews_guard_option *option,
			const char *attached, const char *spelled)
{
	const char *value = attached;

	if (option->least && (!r->least || option->least < r->least))
		r->least = option->least;
	/* '*' is less than a digit */
	if (option->most && (!r->most || option->most == '*' || (r->most != '*' && option->most > r->most)))
		r->most = option->most;
	switch (option->mark) {
	case '!':
		judge_writing(out, r, spelled);
		break;
	case '+':
		r->lists = true;
		break;
	case '@':
		r->is_dry = true;
		break;
	case '^':
		r->reaches_out = true;
		break;
	case '#':
		if (option->check)
			break;
		r->reaches_out = true;
		judge_writing(out, r, spelled);
		break;
	default:
		break;
	}
	if (!value && option->value == '=' && *r->at) {
		value = *r->at++;
		/* Where git reads twice, the first reading may take this one away, or the second one may not. */
		if ((r->row->flags & EWS_GUARD_REVS) && value[0] == '-' && value[1] && !is_number(value + 1))
			judge_doubt(out, r, value, "may be taken for an option");
	}
	if (value)
		take_value(out, r, option, value);
}

static void read_long(struct ews_guard_verdict *out, struct reading *r, const char *arg)
{
	size_t len = strcspn(arg + 2, "=");
	const char *attached = arg[2 + len] ? arg + 2 + len + 1 : NULL;
	struct ews_guard_option option;

	switch (ews_guard_option_long(&option, r->row, arg + 2, len)) {
	case EWS_GUARD_OPTION:
		take_option(out, r, &option, attached, arg);
		break;
	case EWS_GUARD_NEGATED:
		if (option.mark == '+')
			r->lists = false;
		if (option.mark == '@')
			r->is_dry = false;
		break;
	case EWS_GUARD_AMBIGUOUS:
		judge_doubt(out, r, arg, "is no single option");
		break;
	default:
		judge_unknown_option(out, r, arg);
	}
}

/* One letter or a bundle of them, the last of which may have a value. */
static void read_letters(struct ews_guard_verdict *out, struct reading *r, const char *arg)
{
	struct ews_guard_option option;
	const char *letter;

	if ((r->row->flags & EWS_GUARD_NUMBER) && is_number(arg + 1))
		return;
	for (letter = arg + 1; *letter; letter++) {
		if (ews_guard_option_letter(&option, r->row, *letter) == EWS_GUARD_NO_OPTION) {
			judge_unknown_option(out, r, arg);
			return;
		}
		take_option(out, r, &option, option.value && letter[1] ? letter + 1 : NULL, arg);
		if (option.value)
			return;
	}
}

/* A word: it may choose another row, which then has the rest. */
static void read_word(struct reading *r)
{
	char *const *at = r->at++;
	const struct ews_guard_row *verb = NULL;

	if ((r->row->flags & EWS_GUARD_VERBS) && !r->words && !r->has_ended)
		verb = ews_guard_row_find(r->row->name, *at);
	if (verb) {
		r->row = verb;
		r->verb = at;
		r->options = 0;
		r->lists = r->is_dry = false;
		r->least = r->most = 0;
		return;
	}
	r->words++;
	if (r->row->flags & EWS_GUARD_STOP)
		r->has_ended = r->has_stopped = true;
}

static void read_dashes(struct reading *r, const char *arg)
{
	r->at++;
	/* After --end-of-options a revision walk goes on to look for options; it only takes none of them any more. */
	if (!strcmp(arg, "--end-of-options") ? !(r->row->flags & EWS_GUARD_REVS)
					     : !(r->row->flags & EWS_GUARD_DASHES_DROPPED))
		r->has_ended = true;
}

/* Is the form such that words may come, whatever they are? */
static bool takes_anything(const struct reading *r)
{
	/* "--help" as the very first would open a manual. */
	if ((r->row->flags & EWS_GUARD_TAME) && r->at > r->verb + 1)
		return true;
	return r->has_ended && (r->row->words == EWS_GUARD_ANY || r->lists);
}

/* May `arg`, of which the beginning is known, be a word that chooses another row? */
static bool may_choose_row(const struct reading *r, const char *arg)
{
	size_t len = strlen(r->row->name), known = strcspn(arg, EWS_GUARD_HOLE);

	if (!(r->row->flags & EWS_GUARD_VERBS) || r->words)
		return false;
	for (const struct ews_guard_row *row = ews_guard_rows; row->name; row++)
		if (!strncmp(row->name, r->row->name, len) && row->name[len] == ' ' &&
		    !strncmp(row->name + len + 1, arg, known))
			return true;
	return false;
}

/* What is known of `arg` must be enough to know an option, and a word that chooses a row. */
static void check_hole(struct ews_guard_verdict *out, const struct reading *r, const char *arg)
{
	if (!strstr(arg, EWS_GUARD_HOLE) || takes_anything(r))
		return;
	if (!r->has_ended && (*arg == *EWS_GUARD_HOLE || may_choose_row(r, arg)))
		judge_hole(out, r, arg);
}

static void read_argument(struct ews_guard_verdict *out, struct reading *r)
{
	const char *arg = *r->at;

	check_hole(out, r, arg);
	r->is_open |= strstr(arg, EWS_GUARD_HOLE) != NULL;
	if (r->has_stopped && arg[0] == '-' && arg[1])
		judge_doubt(out, r, arg, "comes behind the words");
	if (r->has_ended || arg[0] != '-' || !arg[1]) {
		read_word(r);
	} else if (!strcmp(arg, "--") || !strcmp(arg, "--end-of-options")) {
		read_dashes(r, arg);
	} else {
		r->at++;
		r->options++;
		if (arg[1] == '-')
			read_long(out, r, arg);
		else
			read_letters(out, r, arg);
	}
}

static bool is_reading(const struct reading *r)
{
	const struct ews_guard_row *row = r->row;

	if (!row->options || row->words == EWS_GUARD_NEEDS_VERB || (strchr(row->options, '@') && !r->is_dry))
		return false;
	return row->words == EWS_GUARD_ANY || r->lists || r->words <= (size_t)row->words;
}

/* All that follows does no harm, whatever it is; but behind --sq-quote an option is quoted where one is meant. */
static void read_loosely(struct ews_guard_verdict *out, struct reading *r)
{
	bool is_quoted = false;

	for (; *r->at; r->at++) {
		if (is_quoted && **r->at == '-' && strcmp(r->row->name, "rev-parse") == 0)
			judge_doubt(out, r, *r->at, "is unclear behind --sq-quote");
		is_quoted |= !strcmp(*r->at, "--sq-quote");
		r->options++;
	}
}

/* Does git refuse so many words? */
static void check_words(struct ews_guard_verdict *out, const struct reading *r)
{
	char least = r->least, most = r->most;
	struct ews_guard_option option;

	/* what the row says of the command without such options comes first in it */
	if (!least && ews_guard_option_next(&option, r->row->options) && *option.names == ':') {
		least = option.least;
		most = option.most;
	}
	if (!least || r->is_open || is_let_through(r))
		return;
	if (r->words < (size_t)(least - '0') && !r->git->has_tail)
		ews_guard_block(out, EWS_GUARD_UNKNOWN, "`git <command> -h` prints the usage",
				"A word of git %s is missing", r->row->name);
	else if (most != '*' && r->words > (size_t)(most - '0'))
		ews_guard_block(out, EWS_GUARD_UNKNOWN, "`git <command> -h` prints the usage",
				"git %s takes no more than %c words in this form", r->row->name, most);
}

/* Is it a verb of ours that the table does not have? Of what writes anyhow the options need not be known. */
static bool is_unlisted_verb(const struct reading *r)
{
	return (r->row->flags & EWS_GUARD_VERBS) && ews_str_begins(r->row->name, "ews") &&
	       r->words > (r->row->words > 0 ? (size_t)r->row->words : 0);
}

/* Read what follows the command at `r->verb`, and judge. */
static void judge_command(struct ews_guard_verdict *out, struct reading *r)
{
	while (*r->at && r->row->options && !(r->row->flags & EWS_GUARD_LOOSE) && !is_unlisted_verb(r))
		read_argument(out, r);
	if (r->row->flags & EWS_GUARD_LOOSE)
		read_loosely(out, r);
	if (!is_reading(r)) {
		judge_writing(out, r, NULL);
		return;
	}
	check_words(out, r);
	if (r->git->has_tail && !takes_anything(r) && !is_let_through(r))
		ews_guard_block(out, EWS_GUARD_UNKNOWN, "put '--' before what is added, where those are paths",
				"Arguments that are not known yet would be added, and may be options");
	if (((r->row->flags & EWS_GUARD_STATUS) && !r->rules->allow_status) ||
	    ((r->row->flags & EWS_GUARD_DIFF) && !r->rules->allow_diff))
		ews_guard_block(out, EWS_GUARD_READ, NULL, "The settings of this project deny it (%s)",
				(r->row->flags & EWS_GUARD_STATUS) ? "qe.git_guard.allow_status"
								   : "qe.git_guard.allow_diff");
}

/* What stands before the command. */
struct globals {
	char *const *command; /* the command, or what ended git before one */
	const char *bad; /* an option that is denied, or NULL */
	const char *why, *instead;
	bool has_printed; /* git prints something and ends */
	bool has_settings; /* as in a reading */
};

static void refuse_global(struct globals *g, const char *option, const char *why, const char *instead)
{
	if (g->bad)
		return;
	g->bad = option;
	g->why = why;
	g->instead = instead;
}

/* One option before the command, which is no -C and no -c. */
static void read_global(struct globals *g, const char *arg)
{
	static const char *const harmless[] = {
		"-P",
		"--no-pager",
		"--no-optional-locks",
		"--no-replace-objects",
		"--no-lazy-fetch",
		"--no-advice",
		"--literal-pathspecs",
		"--no-literal-pathspecs",
		"--glob-pathspecs",
		"--noglob-pathspecs",
		"--icase-pathspecs",
		"--bare",
	};
	static const char *const printing[] = { "--exec-path", "--html-path", "--man-path", "--info-path" };
	size_t i;

	for (i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (!strcmp(arg, harmless[i]))
			return;
	for (i = 0; i < sizeof(printing) / sizeof(*printing); i++)
		if (!strcmp(arg, printing[i]))
			g->has_printed = true;
	if (g->has_printed || ews_str_begins(arg, "--list-cmds="))
		g->has_printed = true;
	else if (!strcmp(arg, "-p") || !strcmp(arg, "--paginate"))
		refuse_global(g, arg, "would start a pager that settings may name", "leave it out");
	else if (ews_str_begins(arg, "--exec-path="))
		refuse_global(g, arg, "would run git's commands from another directory", "leave it out");
	else if (ews_str_begins(arg, "--config-env"))
		refuse_global(g, arg, "could have git start any program", "leave it out");
	else if (ews_str_begins(arg, "--git-dir") || ews_str_begins(arg, "--work-tree") ||
		 ews_str_begins(arg, "--namespace"))
		refuse_global(g, arg, "would have git work on another repository or other files",
			      "`git -C <directory>` looks into another one");
	else
		refuse_global(g, arg, "is no known option of git", NULL);
}

static bool takes_word(const char *arg)
{
	static const char *const options[] = { "-C",          "-c",           "--git-dir",      "--work-tree",
					       "--namespace", "--config-env", "--super-prefix", "--attr-source" };

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(arg, options[i]))
			return true;
	return false;
}

/* Is it one of the names that some commands have with dashes before them? */
static const char *dashed_command(const char *arg)
{
	if (!strcmp(arg, "--version") || !strcmp(arg, "-v"))
		return "version";
	return !strcmp(arg, "--help") || !strcmp(arg, "-h") ? "help" : NULL;
}

static void read_globals(struct globals *g, const struct ews_guard_rules *rules, char *const *argv)
{
	*g = (struct globals){ .command = argv };
	for (; *g->command && **g->command == '-' && !g->has_printed; g->command++) {
		const char *arg = *g->command;

		if (strstr(arg, EWS_GUARD_HOLE))
			refuse_global(g, arg, "is not known, and may be any option", "write it out");
		if (dashed_command(arg))
			return;
		if (!strcmp(arg, "-c") && g->command[1]) {
			g->has_settings = g->has_settings || !is_harmless_setting(g->command[1]);
			if (rules->policy == EWS_GUARD_READ_ONLY && g->has_settings)
				refuse_global(g, g->command[1], "is a setting that could have git start a program",
					      "leave '-c' out");
		} else if (strcmp(arg, "-C") != 0) {
			read_global(g, arg);
		}
		if (takes_word(arg) && !g->command[1])
			refuse_global(g, arg, "is without its value", NULL);
		if (takes_word(arg) && g->command[1])
			g->command++;
	}
}

static bool is_plain_word(const char *word)
{
	return word && *word != '-' && *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")];
}

/* "-h" alone, or behind a verb of ours, and behind the second one of those that have such: it prints the usage, and nothing else. */
static bool asks_for_usage(const struct reading *r)
{
	char *const *at = r->at;
	bool is_ours = !strcmp(r->row->name, "ews") && !r->git->has_tail;
	const struct ews_guard_row *verb = NULL;

	if (is_ours && is_plain_word(*at)) {
		verb = ews_guard_row_find("ews", *at);
		at++;
	}
	if (verb && verb->words == EWS_GUARD_NEEDS_VERB && is_plain_word(*at))
		at++;
	return *at && !strcmp(*at, "-h") && !at[1];
}

/* Does it open a page of the manual? A verb of ours does with that, too. */
static bool opens_manual(const struct reading *r)
{
	return *r->at && (!strcmp(*r->at, "--help") || (!strcmp(r->row->name, "ews") && **r->at != '-' &&
							r->at[1] && !strcmp(r->at[1], "--help")));
}

/* Read `git`, judge, and leave in `r` what was read. */
static void judge(struct ews_guard_verdict *out, struct reading *r)
{
	struct globals g;
	const char *name;

	read_globals(&g, r->rules, r->git->argv);
	r->has_settings = g.has_settings;
	out->operation = EWS_GUARD_READ;
	if (*g.command && !g.has_printed) {
		name = dashed_command(*g.command) ? dashed_command(*g.command) : *g.command;
		r->row = ews_guard_row_find(name, NULL);
		r->verb = g.command;
		r->at = g.command + 1;
		if (strchr(name, ' ') || !r->row)
			ews_guard_block(out, EWS_GUARD_UNKNOWN, "`git help -a` lists what git has",
					"'git %s' is no command that is known here, and an alias may do anything",
					name);
		else if (opens_manual(r))
			ews_guard_block(out, EWS_GUARD_UNKNOWN, "`git <command> -h` prints the options",
					"Manual pages are shown by programs that settings may name");
		else if (!asks_for_usage(r))
			judge_command(out, r);
		out->subcommand = ews_strdup(r->row ? r->row->name : name);
	} else if (r->git->has_tail) {
		ews_guard_block(out, EWS_GUARD_UNKNOWN, NULL, "The command is not known yet");
	}
	if (g.bad)
		ews_guard_block(out, EWS_GUARD_UNKNOWN, g.instead, "'%s' %s", g.bad, g.why);
}

void ews_guard_judge_git(struct ews_guard_verdict *out, const struct ews_guard_rules *rules,
			 const struct ews_guard_git *git)
{
	struct reading r = { .rules = rules, .git = git };

	judge(out, &r);
}

/* Values of a pager that no repository chose, and that start nothing of anybody's. */
static bool is_plain_pager(const char *value)
{
	return !*value || !strcmp(value, "cat") || !strcmp(value, "less") || !strcmp(value, "more");
}

/* Does the variable give git such a setting, as -c does, or may it? */
static bool gives_leading_away(const char *name, const char *value)
{
	if (!strcmp(name, "GIT_CONFIG_PARAMETERS"))
		return true;
	return ews_str_begins(name, "GIT_CONFIG_KEY_") &&
	       (leads_away(value) || !strncasecmp(value, "url.", 4) || strstr(value, EWS_GUARD_HOLE));
}

bool ews_guard_variable_is_harmless(const struct ews_guard_rules *rules, const char *name, const char *value)
{
	static const char *const harmless[] = {
		"GIT_OPTIONAL_LOCKS",
		"GIT_TERMINAL_PROMPT",
		"GIT_LITERAL_PATHSPECS",
		"GIT_GLOB_PATHSPECS",
		"GIT_NOGLOB_PATHSPECS",
		"GIT_ICASE_PATHSPECS",
		"GIT_FLUSH",
		"GIT_ADVICE",
		"GIT_NO_REPLACE_OBJECTS",
		"GIT_NO_LAZY_FETCH",
		"GIT_MERGE_VERBOSITY",
		"GIT_CEILING_DIRECTORIES",
		"GIT_AUTHOR_NAME",
		"GIT_AUTHOR_EMAIL",
		"GIT_AUTHOR_DATE",
		"GIT_COMMITTER_NAME",
		"GIT_COMMITTER_EMAIL",
		"GIT_COMMITTER_DATE",
		"GIT_CONFIG_NOSYSTEM",
		"GIT_ATTR_NOSYSTEM",
		"GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_EDITOR",
		"GIT_SEQUENCE_EDITOR",
		"GIT_PROGRESS_DELAY",
		"GIT_PRINT_SHA1_ELLIPSIS",
	};
	static const char *const elsewhere[] = { "GIT_DIR",        "GIT_WORK_TREE",
						 "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
						 "GIT_NAMESPACE",  "GIT_CONFIG" };
	/* other settings, other code: where git, the linker, the libraries and the interpreters of its scripts look */
	static const char *const foreign[] = {
		"HOME",       "XDG_CONFIG_HOME", "PATH",           "LD_",        "DYLD_",
		"GCONV_PATH", "LOCPATH",         "GLIBC_TUNABLES", "BASH_ENV",   "SHELLOPTS",
		"BASH_FUNC_", "PERL5LIB",        "PERL5OPT",       "PERL5DB",    "PERLLIB",
		"LESSOPEN",   "LESSCLOSE",       "EWS_GIT",        "EWS_GUARD_",
	};
	size_t i;

	for (i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		size_t len = strlen(foreign[i]);

		if (foreign[i][len - 1] == '_' ? !strncmp(name, foreign[i], len) : !strcmp(name, foreign[i]))
			return false;
	}
	if (!strcmp(name, "PAGER") || !strcmp(name, "GIT_PAGER") || !strcmp(name, "MANPAGER"))
		return is_plain_pager(value);
	if (!strcmp(name, "GIT_CONFIG_GLOBAL") || !strcmp(name, "GIT_CONFIG_SYSTEM"))
		return !strcmp(value, "/dev/null");
	if (!ews_str_begins(name, "GIT_"))
		return true;
	if (ews_str_begins(name, "GIT_TRACE")) /* a path or a descriptor is written to */
		return !*value || !strcmp(value, "0") || !strcmp(value, "1") || !strcmp(value, "2") ||
		       !strcmp(value, "true") || !strcmp(value, "false");
	for (i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (!strcmp(name, harmless[i]))
			return true;
	if (rules->policy == EWS_GUARD_READ_ONLY || gives_leading_away(name, value))
		return false;
	for (i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
		if (!strcmp(name, elsewhere[i]))
			return false;
	return true;
}

/* Read the git command `argv`; true when it is one that reads. */
static bool read_git(struct reading *r, const struct ews_guard_git *git)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;

	*r = (struct reading){ .rules = &rules, .git = git };
	judge(&verdict, r);
	return !verdict.is_blocked;
}

const char *const ews_guard_neutral_env[] = {
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_PAGER=cat",
	"GIT_ALLOW_PROTOCOL=none", /* an object that is missing is not fetched, by whatever config names */
	"GIT_NO_LAZY_FETCH=1",
	NULL,
};

/*
 * Would `setting`, where it is added, be in the answer of a command that does nothing with it? Settings in a blob may be those in
 * the index, and to read that may start a monitor.
 */
static bool is_told(const struct reading *r, const char *setting)
{
	unsigned flags = r->row ? r->row->flags : 0;

	for (char *const *at = r->git->argv; *at; at++)
		if (ews_str_begins(*at, "--bl"))
			return false;
	return (flags & EWS_GUARD_SETTINGS) ||
	       ((flags & EWS_GUARD_HOOKS) && ews_str_begins(setting, "core.hooksPath="));
}

void ews_guard_neutral(struct ews_strv *out, char *const *argv)
{
	static const char *const settings[] = {
		"core.fsmonitor=false",    "core.hooksPath=/dev/null", "log.showSignature=false",
		"log.diffMerges=separate", "diff.submodule=short",     "status.submoduleSummary=false",
		"gpg.program=gpg",         "gpg.x509.program=gpgsm",   "gpg.ssh.program=ssh-keygen",
	};
	const struct ews_guard_git git = { .argv = *argv ? argv + 1 : argv };
	struct reading r;
	char *const *at;

	if (!*argv || !read_git(&r, &git) || (r.row && ews_str_begins(r.row->name, "ews"))) {
		ews_strv_add_array(out, argv);
		return;
	}
	ews_strv_add_all(out, argv[0], "--no-pager", "--no-optional-locks", NULL);
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!is_told(&r, settings[i]))
			ews_strv_add_all(out, "-c", settings[i], NULL);
	for (at = git.argv; *at; at++) {
		ews_strv_add(out, *at);
		if (at != r.verb)
			continue;
		/* Without an option git stash show takes its form from config; with one it would be a patch. */
		if (!strcmp(r.row->name, "stash show") && !r.options)
			ews_strv_add(out, "--stat");
		if (r.row->flags & EWS_GUARD_EXT_DIFF)
			ews_strv_add(out, "--no-ext-diff");
		if (r.row->flags & EWS_GUARD_TEXTCONV)
			ews_strv_add(out, "--no-textconv");
	}
}

char *const *ews_guard_command(char *const *argv)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	struct globals g;

	if (!*argv)
		return NULL;
	read_globals(&g, &rules, argv + 1);
	return !*g.command || g.has_printed || dashed_command(*g.command) ? NULL : g.command;
}

const char *ews_guard_neutral_value(const char *key)
{
	const char *last = strrchr(key, '.');

	if (!last)
		return NULL;
	if (!strncasecmp(key, "filter.", 7) &&
	    (!strcasecmp(last, ".clean") || !strcasecmp(last, ".smudge") || !strcasecmp(last, ".process")))
		return "";
	if (!strncasecmp(key, "filter.", 7) && !strcasecmp(last, ".required"))
		return "false";
	/* git status -v has no option against these; what goes in comes out. */
	if (!strncasecmp(key, "diff.", 5) && !strcasecmp(last, ".textconv"))
		return "cat";
	return NULL;
}

/* Is `argv` a git command that reads, with the row flag `flag`? */
static bool has_flag(char *const *argv, unsigned flag)
{
	const struct ews_guard_git git = { .argv = *argv ? argv + 1 : argv };
	struct reading r;

	return *argv && read_git(&r, &git) && r.row && (r.row->flags & flag);
}

bool ews_guard_wants_index(char *const *argv)
{
	return has_flag(argv, EWS_GUARD_INDEX);
}

bool ews_guard_converts_nothing(char *const *argv)
{
	return has_flag(argv, EWS_GUARD_STORED);
}
