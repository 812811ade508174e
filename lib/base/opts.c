/*
 * Options: see opts.h.
 *
 * The tables are laid out flat, turned into what getopt_long wants, and each
 * value it gives back leads to its row again: letters stand for themselves, a
 * long name is LONG_BASE + 2 * row, its negation one more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/opts.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"

#define LONG_BASE 256
#define WORD 1 /* what getopt_long says of a word that is no option */
#define HELP_COLUMN 26

struct flat {
	const struct ews_opt **rows;
	size_t n, cap;
	struct option *longs; /* ended by zeroes */
	size_t longs_n, longs_cap;
	struct ews_strv no_names; /* owns the negated names that `longs` points at */
	struct ews_buf letters;
};

static void release_flat(struct flat *flat)
{
	free(flat->rows);
	free(flat->longs);
	ews_strv_release(&flat->no_names);
	ews_buf_release(&flat->letters);
}

EWS_CLEANUP_DEFINE(flat, struct flat, release_flat)

static int arg_kind(const struct ews_opt *opt)
{
	switch (opt->type) {
	case EWS_OPTION_STRING:
	case EWS_OPTION_LIST:
	case EWS_OPTION_UINT:
		return required_argument;
	case EWS_OPTION_OPTIONAL:
		return optional_argument;
	case EWS_OPTION_PASS:
		if (!opt->arg)
			return no_argument;
		return *opt->arg == '=' ? optional_argument : required_argument;
	default:
		return no_argument;
	}
}

static bool is_negatable(const struct ews_opt *opt)
{
	return opt->name && (opt->can_negate || opt->type == EWS_OPTION_TRISTATE);
}

static bool has_long(const struct flat *flat, const char *name)
{
	size_t i;

	for (i = 0; i < flat->longs_n; i++)
		if (!strcmp(flat->longs[i].name, name))
			return true;
	return false;
}

/* The same name twice would be ambiguous to getopt_long: the first table has it. */
static void add_long(struct flat *flat, const char *name, int kind, size_t value)
{
	if (has_long(flat, name))
		return;
	EWS_GROW_TO(flat->longs, flat->longs_n + 2, flat->longs_cap);
	flat->longs[flat->longs_n++] = (struct option){ name, kind, NULL, (int)value };
	flat->longs[flat->longs_n] = (struct option){ NULL, 0, NULL, 0 };
}

static void add_row(struct flat *flat, const struct ews_opt *opt)
{
	static const char *const colons[] = { "", ":", "::" };
	size_t row = flat->n;
	int kind = arg_kind(opt);

	EWS_GROW(flat->rows, flat->n, flat->cap);
	flat->rows[flat->n++] = opt;
	if (opt->name)
		add_long(flat, opt->name, kind, LONG_BASE + 2 * row);
	if (is_negatable(opt)) {
		ews_strv_addf(&flat->no_names, "no-%s", opt->name);
		add_long(flat, flat->no_names.items[flat->no_names.n - 1], no_argument, LONG_BASE + 2 * row + 1);
	}
	if (opt->letter && !strchr(flat->letters.ptr + 2, opt->letter))
		ews_buf_addf(&flat->letters, "%c%s", opt->letter, colons[kind]);
}

/* "-:" in front: words come in their place, and a missing argument has a sign of its own. */
static void flatten(struct flat *flat, const struct ews_opt *const *tables)
{
	const struct ews_opt *opt;

	*flat = (struct flat){ .no_names = EWS_STRV_INIT, .letters = EWS_BUF_INIT };
	ews_buf_adds(&flat->letters, "-:");
	EWS_GROW(flat->longs, flat->longs_n, flat->longs_cap);
	flat->longs[0] = (struct option){ NULL, 0, NULL, 0 };
	for (; *tables; tables++)
		for (opt = *tables; opt->type != EWS_OPTION_END; opt++)
			add_row(flat, opt);
	if (!strchr(flat->letters.ptr + 2, 'h'))
		ews_buf_addc(&flat->letters, 'h');
}

static const struct ews_opt *row_of(const struct flat *flat, int value)
{
	size_t i;

	if (value >= LONG_BASE)
		return flat->rows[(value - LONG_BASE) / 2];
	for (i = 0; i < flat->n; i++)
		if (flat->rows[i]->letter == value)
			return flat->rows[i];
	return NULL;
}

/* The option as it is written: "-x", "--name", "--no-name". The caller frees it. */
static char *spelling(const struct flat *flat, int value)
{
	const struct ews_opt *opt = row_of(flat, value);

	if (value < LONG_BASE)
		return ews_strfmt("-%c", value);
	return ews_strfmt("--%s%s", (value - LONG_BASE) % 2 ? "no-" : "", opt->name);
}

static int set_uint(const struct ews_opt *opt, const char *name, const char *arg)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || errno || n > UINT_MAX)
		return ews_error(EWS_EUSAGE, "option '%s' needs a number, not '%s'", name, arg);
	*(unsigned *)opt->value = (unsigned)n;
	return 0;
}

static void negate(const struct ews_opt *opt)
{
	switch (opt->type) {
	case EWS_OPTION_BOOL:
		*(bool *)opt->value = false;
		break;
	case EWS_OPTION_TRISTATE:
		*(int *)opt->value = 0;
		break;
	case EWS_OPTION_STRING:
	case EWS_OPTION_OPTIONAL:
		*(const char **)opt->value = NULL;
		break;
	case EWS_OPTION_LIST:
		ews_strv_clear(opt->value);
		break;
	case EWS_OPTION_UINT:
		*(unsigned *)opt->value = 0;
		break;
	case EWS_OPTION_PASS:
		ews_strv_addf(opt->value, "--no-%s", opt->name);
		break;
	case EWS_OPTION_END:
		assert(!"a row that ends the table");
	}
}

static int set_value(const struct flat *flat, int value, const char *arg)
{
	EWS_CLEANUP(free) char *name = spelling(flat, value);
	const struct ews_opt *opt = row_of(flat, value);

	if (value >= LONG_BASE && (value - LONG_BASE) % 2) {
		negate(opt);
		return 0;
	}
	switch (opt->type) {
	case EWS_OPTION_BOOL:
		*(bool *)opt->value = true;
		return 0;
	case EWS_OPTION_TRISTATE:
		*(int *)opt->value = 1;
		return 0;
	case EWS_OPTION_STRING:
		*(const char **)opt->value = arg;
		return 0;
	case EWS_OPTION_LIST:
		ews_strv_add(opt->value, arg);
		return 0;
	case EWS_OPTION_UINT:
		return set_uint(opt, name, arg);
	case EWS_OPTION_OPTIONAL:
		*(const char **)opt->value = arg ? arg : opt->dflt;
		return 0;
	case EWS_OPTION_PASS:
		/* One word, -U5 or --stat=80, so that the other program can't read it otherwise. */
		ews_strv_addf(opt->value, "%s%s%s", name, arg && value >= LONG_BASE ? "=" : "", arg ? arg : "");
		return 0;
	case EWS_OPTION_END:
		break;
	}
	assert(!"a row of no type");
	return 0;
}

/* getopt_long gave '?': say of `word`, which it stopped at, what is wrong. */
static int refuse(const struct flat *flat, const char *word)
{
	EWS_CLEANUP(free) char *name = NULL;
	size_t i, len, hits = 0;

	if (optopt >= LONG_BASE) {
		name = spelling(flat, optopt);
		return ews_error(EWS_EUSAGE, "option '%s' takes no argument", name);
	}
	if (optopt)
		return ews_error(EWS_EUSAGE, "unknown option '-%c'", optopt);
	len = strcspn(word, "=");
	for (i = 0; len > 2 && i < flat->longs_n; i++)
		hits += !strncmp(flat->longs[i].name, word + 2, len - 2);
	return ews_error(EWS_EUSAGE, "%s option '%.*s'", hits ? "ambiguous" : "unknown", (int)len, word);
}

/* The long names of what the usage shows. */
static void print_names(FILE *out, const struct flat *flat)
{
	const char *before = "";

	for (size_t i = 0; i < flat->longs_n; i++) {
		const struct option *option = &flat->longs[i];

		if (!row_of(flat, option->val)->help)
			continue;
		fprintf(out, "%s--%s%s", before, option->name, option->has_arg == required_argument ? "=" : "");
		before = " ";
	}
	fputc('\n', out);
}

/* Some verbs take the name of theirs for a word. */
static bool asks_names(int argc, char **argv)
{
	for (int i = 1; i < argc - 1; i++)
		if (*argv[i] == '-')
			return false;
	return argc > 1 && !strcmp(argv[argc - 1], EWS_OPTS_NAMES);
}

int ews_opts_parse(const struct ews_opt *const *tables, const char *const *usage, int argc, char **argv,
		   struct ews_strv *words, struct ews_strv *paths, bool *has_dashes)
{
	EWS_CLEANUP(flat) struct flat flat;
	EWS_CLEANUP(free) char *name = NULL;
	int value, before, rc = 0;

	flatten(&flat, tables);
	if (has_dashes)
		*has_dashes = false;
	if (asks_names(argc, argv)) {
		print_names(stdout, &flat);
		return 1;
	}
	opterr = 0;
	optind = 0; /* begin anew, whoever called getopt before */
	for (;;) {
		before = optind ? optind : 1;
		value = getopt_long(argc, argv, flat.letters.ptr, flat.longs, NULL);
		if (value == -1)
			break;
		if (value == WORD) {
			ews_strv_add(words, optarg);
		} else if (value == 'h' && !row_of(&flat, 'h')) {
			ews_opts_usage(stdout, tables, usage);
			return 1;
		} else if (value == ':') {
			name = spelling(&flat, optopt);
			return ews_error(EWS_EUSAGE, "option '%s' needs an argument", name);
		} else {
			rc = value == '?' ? refuse(&flat, argv[optind - 1]) : set_value(&flat, value, optarg);
		}
		if (rc < 0)
			return rc;
	}
	/* At the end of the words optind stays; only a "--" is stepped over. */
	if (has_dashes)
		*has_dashes = optind > before;
	ews_strv_add_array(paths, argv + optind);
	return 0;
}

/* `arg` as it is shown: <word>, or as it stands where it says more than a name. */
static void add_arg(struct ews_buf *line, const char *arg)
{
	const char *around = strpbrk(arg, "<[(|") ? "" : "<";

	ews_buf_addf(line, "%s%s%s", around, arg, *around ? ">" : "");
}

/* `name`: its long one, unless another has that; NULL: it has none. */
static void describe(struct ews_buf *line, const struct ews_opt *opt, const char *name)
{
	const char *arg = opt->arg ? opt->arg : "";

	if (opt->letter)
		ews_buf_addf(line, "-%c%s", opt->letter, name ? ", " : "");
	if (name)
		ews_buf_addf(line, "--%s%s", is_negatable(opt) ? "[no-]" : "", name);
	if (!*arg || arg_kind(opt) == no_argument)
		return;
	if (arg_kind(opt) == optional_argument) {
		ews_buf_adds(line, name ? "[=" : "[");
		add_arg(line, *arg == '=' ? arg + 1 : arg);
		ews_buf_addc(line, ']');
	} else {
		ews_buf_addc(line, ' ');
		add_arg(line, arg);
	}
}

static void print_row(FILE *out, const struct ews_opt *opt, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_buf_adds(&line, "    ");
	describe(&line, opt, name);
	/* As in git: two spaces at least, else the help goes to a line of its own. */
	if (line.len > HELP_COLUMN - 2)
		fprintf(out, "%s\n%*s%s\n", line.ptr, HELP_COLUMN, "", opt->help);
	else
		fprintf(out, "%-*s%s\n", HELP_COLUMN, line.ptr, opt->help);
}

/* The long name that `opt` answers to: the first of all that are called so has it. */
static const char *own_name(const struct ews_opt *const *tables, const struct ews_opt *opt)
{
	if (!opt->name)
		return NULL;
	for (; *tables; tables++)
		for (const struct ews_opt *at = *tables; at->type != EWS_OPTION_END; at++)
			if (at->name && !strcmp(at->name, opt->name))
				return at == opt ? opt->name : NULL;
	return opt->name;
}

void ews_opts_usage(FILE *out, const struct ews_opt *const *tables, const char *const *usage)
{
	const struct ews_opt *const *all = tables;
	const struct ews_opt *opt;
	const char *before = "usage: ";

	for (; *usage; usage++) {
		fprintf(out, "%s%s\n", **usage == ' ' ? "       " : before, *usage);
		before = "   or: ";
	}
	fputc('\n', out);
	for (; *tables; tables++)
		for (opt = *tables; opt->type != EWS_OPTION_END; opt++)
			if (opt->help)
				print_row(out, opt, own_name(all, opt));
	fputc('\n', out);
}
