/*
 * What the guard says of programs that write into a repository: see guard_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_file.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/str.h"
#include "base/strv.h"
#include "work/guard_git.h"
#include "work/guard_option.h"

#define ALL EWS_GUARD_ANY
#define LAST 1
#define NONE 0

/*
 * Programs that write where their words say: a row each, in the language of the guard's table, with the options that have a
 * value, which is no word then. What one with '^' names is written to, too, and what one with '!' names is in the place of
 * the last word. `words` says which are written to; with an option that has '+' all are.
 */
static const struct ews_guard_row writers[] = {
	{ "chattr", "p= v=", EWS_GUARD_EXACT, ALL, 0, NULL, NULL },
	{ "chgrp", "reference=", 0, ALL, 0, NULL, NULL },
	{ "chmod", "reference=", 0, ALL, 0, NULL, NULL },
	{ "chown", "from= reference=", 0, ALL, 0, NULL, NULL },
	{ "cp", "!t|target-directory= S|suffix= sparse= no-preserve=", 0, LAST, 0, NULL, NULL },
	{ "curl", "^o|output= ^output-dir= ^D|dump-header= ^c|cookie-jar= ^trace= ^trace-ascii= ^stderr=", 0, NONE,
	  0, NULL, NULL },
	{ "ed", "p|prompt=", 0, ALL, 0, NULL, NULL },
	{ "ex", "", EWS_GUARD_EXACT, ALL, 0, NULL, NULL },
	{ "install", "!t|target-directory= +d|directory g|group= m|mode= o|owner= S|suffix= strip strip-program=", 0,
	  LAST, 0, NULL, NULL },
	{ "link", "", EWS_GUARD_EXACT, LAST, 0, NULL, NULL },
	{ "ln", "!t|target-directory= S|suffix=", 0, LAST, 0, NULL, NULL },
	{ "mkdir", "m|mode=", 0, ALL, 0, NULL, NULL },
	{ "mkfifo", "m|mode=", 0, ALL, 0, NULL, NULL },
	{ "mknod", "m|mode=", 0, ALL, 0, NULL, NULL },
	{ "mv", "!t|target-directory= S|suffix=", 0, ALL, 0, NULL, NULL },
	{ "patch",
	  "^d|directory= ^o|output= ^r|reject-file= B|prefix= D|ifdef= F|fuzz= g|get= i|input= p|strip= V|version-control= "
	  "Y|basename-prefix= z|suffix= quoting-style= read-only= reject-format=",
	  0, ALL, 0, NULL, NULL },
	{ "rm", "", EWS_GUARD_EXACT, ALL, 0, NULL, NULL },
	{ "rmdir", "", EWS_GUARD_EXACT, ALL, 0, NULL, NULL },
	{ "rsync",
	  "^backup-dir= ^log-file= ^partial-dir= ^T|temp-dir= ^write-batch= ^only-write-batch= address= B|block-size= "
	  "bwlimit= cc|checksum-choice= checksum-seed= chmod= chown= compare-dest= config= contimeout= copy-as= copy-dest= "
	  "debug= dparam= early-input= exclude= exclude-from= f|filter= files-from= groupmap= iconv= include= include-from= "
	  "info= link-dest= log-file-format= log-format= max-alloc= max-delete= max-size= min-size= modify-window= out-format= "
	  "outbuf= password-file= port= protocol= read-batch= M|remote-option= e|rsh= rsync-path= skip-compress= sockopts= "
	  "stop-after= stop-at= suffix= time-limit= timeout= usermap= zc|compress-choice= zl|compress-level=",
	  EWS_GUARD_EXACT, LAST, 0, NULL, NULL },
	{ "setfacl", "m|modify= M|modify-file= x|remove= X|remove-file= set= set-file=", 0, ALL, 0, NULL, NULL },
	{ "shred", "n|iterations= s|size= random-source=", 0, ALL, 0, NULL, NULL },
	{ "sort",
	  "^o|output= batch-size= compress-program= t|field-separator= files0-from= k|key= parallel= random-source= "
	  "S|buffer-size= sort= T|temporary-directory=",
	  0, NONE, 0, NULL, NULL },
	{ "sponge", "", EWS_GUARD_EXACT, ALL, 0, NULL, NULL },
	{ "tee", "", EWS_GUARD_EXACT, ALL, 0, NULL, NULL },
	{ "touch", "d|date= r|reference= t= time=", 0, ALL, 0, NULL, NULL },
	{ "truncate", "r|reference= s|size=", 0, ALL, 0, NULL, NULL },
	{ "unlink", "", EWS_GUARD_EXACT, ALL, 0, NULL, NULL },
	{ "wget", "^O|output-document= ^P|directory-prefix= ^o|output-file= ^a|append-output=", 0, NONE, 0, NULL,
	  NULL },
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};

static const char *const archiving[] = { "tar", "gtar", "bsdtar", NULL };

/* Braces of more than that are not gone through. */
#define BRACES_BYTES_MAX 1000
#define BRACES_TEXTS_MAX 200

static bool is_called(const char *program, const char *name)
{
	return !strcmp(ews_path_base(program), name);
}

bool ews_guard_is_called(const char *program, const char *const *names)
{
	for (; *names; names++)
		if (is_called(program, *names))
			return true;
	return false;
}

bool ews_guard_is_git_path(const char *path)
{
	for (const char *at = path; (at = strstr(at, ".git")); at++)
		if ((at == path || at[-1] == '/') && (!at[4] || at[4] == '/'))
			return true;
	return false;
}

unsigned ews_guard_git_depth(const char *path, unsigned depth)
{
	size_t len;

	/* "-" is where one came from; a value that is not known may lead anywhere */
	if (*path == '/' || *path == *EWS_GUARD_HOLE || !strcmp(path, "-"))
		depth = 0;
	for (; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 2 && !strncmp(path, "..", len))
			depth -= depth > 0;
		else if (len > 1 || (len && *path != '.'))
			depth += depth || (len == 4 && !strncmp(path, ".git", len));
	}
	return depth;
}

void ews_guard_block_git_path(struct ews_guard_verdict *out, const char *path)
{
	ews_guard_block(out, EWS_GUARD_DESTRUCTIVE, "reading is allowed; git's own commands tell what is in there",
			"It would change the repository behind git's back ('%s')", path);
}

/* Does `path` lie below `root`, as far as words tell? */
static bool is_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	return len && *root == '/' && !strncmp(path, root, len) && path[len] == '/' && !strstr(path + len, "/..");
}

bool ews_guard_is_scratch(const char *path)
{
	static const char *const devices[] = { "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", NULL };
	const char *own = getenv("TMPDIR");

	for (const char *const *at = devices; *at; at++)
		if (!strcmp(path, *at))
			return true;
	return ews_str_begins(path, "/dev/fd/") || is_below(path, "/tmp") || is_below(path, "/var/tmp") ||
	       (own && is_below(path, own));
}

/* Does a pattern of the shell's stand for a ".git" as well? A value that is not known, behind text or before it, does not. */
static bool is_pattern_of_git(const char *name, size_t len)
{
	EWS_CLEANUP(free) char *pattern = ews_strndup(name, len);

	return strpbrk(pattern, "*?[") && fnmatch(pattern, ".git", FNM_PERIOD) == 0;
}

/* The first braces in `text` that stand for several texts: from `open` to `close`. */
static bool find_braces(const char **open, const char **close, const char *text)
{
	for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{')) {
		bool is_parted = false;
		const char *end;
		size_t inner = 0;

		for (end = at + 1; *end && (inner || *end != '}'); end++) {
			inner += *end == '{';
			inner -= *end == '}';
			is_parted |= !inner && (*end == ',' || (end[0] == '.' && end[1] == '.'));
		}
		*open = at;
		*close = end;
		if (*end && is_parted)
			return true;
	}
	return false;
}

/* Add each of the texts that these braces make of `text`: of a sequence a pattern. */
static void add_alternatives(struct ews_strv *out, const char *text, const char *open, const char *close)
{
	int before = (int)(open - text);
	bool is_list = false;

	for (const char *from = open + 1, *at = from; from <= close; at++) {
		size_t inner = 0;

		for (; at < close && (inner || *at != ','); at++) {
			inner += *at == '{';
			inner -= *at == '}';
		}
		is_list |= at < close;
		if (is_list)
			ews_strv_addf(out, "%.*s%.*s%s", before, text, (int)(at - from), from, close + 1);
		from = at + 1;
	}
	if (!is_list)
		ews_strv_addf(out, "%.*s%s%s", before, text,
			      open[2] == '.' && !isdigit((unsigned char)open[1]) ? "?" : "[-0-9]*", close + 1);
}

/*
 * Is one of the paths that the shell makes of `pattern` in a ".git"? Where braces make too many of it to look at, it is when it
 * has the letters.
 */
static bool may_stand_for_git(const char *pattern)
{
	EWS_CLEANUP(strv) struct ews_strv texts = EWS_STRV_INIT;
	const char *open, *close;

	ews_strv_add(&texts, pattern);
	for (size_t i = 0; i < texts.n; i++) {
		const char *text = texts.items[i];
		size_t len;

		if (find_braces(&open, &close, text)) {
			if (strlen(text) > BRACES_BYTES_MAX || texts.n > BRACES_TEXTS_MAX)
				return strchr(text, '.') && strchr(text, 'g') && strchr(text, 'i') &&
				       strchr(text, 't');
			add_alternatives(&texts, text, open, close);
			continue;
		}
		if (i && ews_guard_is_git_path(text))
			return true;
		for (const char *name = text; *name; name += len + (name[len] == '/')) {
			len = strcspn(name, "/");
			if (is_pattern_of_git(name, len))
				return true;
		}
	}
	return false;
}

bool ews_guard_may_be_git_path(const char *path)
{
	EWS_CLEANUP(free) char *pattern = NULL;
	const char *hole = strchr(path, *EWS_GUARD_HOLE), *from = hole;

	if (ews_guard_is_git_path(path))
		return true;
	if (!hole || ews_guard_is_scratch(path))
		return false;
	/* a pattern begins where the hole is, and no name before it is one */
	while (from > path && from[-1] != '/')
		from--;
	pattern = ews_strfmt("%.*s%s", (int)(hole - from), from, hole + 1);
	return may_stand_for_git(pattern);
}

/* What is judged, and from where. */
struct judging {
	struct ews_guard_verdict *out;
	bool is_inside; /* in a ".git": what is not absolute is in it */
};

static void judge_path(const struct judging *j, const char *path)
{
	if (ews_guard_may_be_git_path(path) || (j->is_inside && *path != '/' && strcmp(path, "-") != 0))
		ews_guard_block_git_path(j->out, path);
}

/* Block when any of the words at `argv` that is no option is a path in a ".git". */
static void judge_paths(const struct judging *j, char *const *argv)
{
	for (; *argv; argv++)
		if (**argv != '-')
			judge_path(j, *argv);
}

/* The same for sed, whose first word is no path where no option has what it shall do. */
static void judge_sed(const struct judging *j, char *const *argv)
{
	static const char *const options[] = { "-e", "-f", "--expression", "--file", NULL };
	bool has_script = false;

	for (argv++; *argv; argv++) {
		bool has_value = ews_str_is_any(*argv, options);

		has_script |= has_value || ews_str_begins(*argv, "--expression=") || ews_str_begins(*argv, "--file=");
		if (has_value && argv[1])
			argv++;
		else if (**argv != '-' && has_script)
			judge_path(j, *argv);
		else if (**argv != '-')
			has_script = true;
	}
}

/* What a row says is written to: options may stand behind the words. */
static void judge_writer(const struct judging *j, const struct ews_guard_row *row, char *const *argv)
{
	EWS_CLEANUP(strv) struct ews_strv words = EWS_STRV_INIT;
	struct ews_guard_option option = { .names = NULL };
	bool has_ended = false;
	int written = row->words;
	const char *value;

	for (argv++; *argv; argv++) {
		if (has_ended || (*argv)[0] != '-' || !(*argv)[1]) {
			/* a word that may be several has a hole behind it, which may be nothing */
			if (strcmp(*argv, EWS_GUARD_HOLE) != 0 || !words.n)
				ews_strv_add(&words, *argv);
			continue;
		}
		has_ended = !strcmp(*argv, "--");
		if (has_ended || ews_guard_option_in(&option, &value, row, *argv) != EWS_GUARD_OPTION)
			continue;
		if (option.value && !value && argv[1])
			value = *++argv;
		if (option.mark == '+')
			written = ALL;
		else if (option.mark && value)
			judge_path(j, value);
		if (option.mark == '!' && written == LAST)
			written = NONE;
	}
	if (written == ALL)
		judge_paths(j, words.items);
	else if (written == LAST && words.n)
		judge_path(j, words.items[words.n - 1]);
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
		if (ews_str_begins(*argv, beginning))
			return true;
	return false;
}

/* The same for what the option "-<letter>" or `name` says. */
static void judge_option(const struct judging *j, char *const *argv, char letter, const char *name)
{
	for (argv++; *argv; argv++) {
		const char *at = (*argv)[0] == '-' && (*argv)[1] != '-' ? strchr(*argv, letter) : NULL;
		const char *path = at && at[1] ? at + 1 : NULL, *rest = ews_str_after(*argv, name);

		if (rest && *rest == '=')
			path = rest + 1;
		else if ((at || !strcmp(*argv, name)) && !path)
			path = argv[1];
		if (path)
			judge_path(j, path);
	}
}

/* tar writes what it takes out below the directories that it is told, and what it makes where -f says. */
static void judge_tar(const struct judging *j, char *const *argv)
{
	const char *first = argv[1] ? argv[1] : "";
	bool has_letters = *first && *first != '-'; /* as in "tar xf" */
	bool extracts = (has_letters && strchr(first, 'x')) || has_letter(argv, 'x') ||
			has_beginning(argv, "--ext") || has_beginning(argv, "--get");
	bool lists = (has_letters && strchr(first, 't')) || has_letter(argv, 't') || has_beginning(argv, "--list");

	if (extracts) {
		for (char *const *at = argv + 1; *at; at++) {
			if (!strcmp(*at, "--exclude") && at[1])
				at++;
			else if (**at != '-')
				judge_path(j, *at);
		}
		judge_option(j, argv, 'C', "--directory");
		judge_option(j, argv, 'C', "--one-top-level");
	} else if (!lists) {
		judge_option(j, argv, 'f', "--file");
		if (has_letters && strchr(first, 'f') && argv[2])
			judge_path(j, argv[2]);
	}
}

static const struct ews_guard_row *find_writer(const char *program)
{
	for (const struct ews_guard_row *row = writers; row->name; row++)
		if (is_called(program, row->name))
			return row;
	return NULL;
}

/* The same for perl and ruby, of which the word behind "-...e" is a text. */
static void judge_edited(const struct judging *j, char *const *argv)
{
	for (argv++; *argv; argv++) {
		size_t len = strlen(*argv);

		if (**argv != '-')
			judge_path(j, *argv);
		else if (len > 1 && (*argv)[1] != '-' && strchr("eE", (*argv)[len - 1]) && argv[1])
			argv++;
	}
}

/* gawk writes its input files anew with this extension; its program is the first word where no option has one. */
static void judge_awk(const struct judging *j, char *const *argv)
{
	static const struct ews_guard_row row = {
		"awk", "F|field-separator= v|assign= i|include= l|load= +e|source= +f|file= +E|exec=",
		0,     0,
		0,     NULL,
		NULL
	};
	struct ews_guard_option option = { .names = NULL };
	bool has_program = false, is_in_place = false;
	const char *value;

	for (argv++; *argv && (*argv)[0] == '-' && (*argv)[1] && strcmp(*argv, "--") != 0; argv++) {
		if (ews_guard_option_in(&option, &value, &row, *argv) != EWS_GUARD_OPTION)
			continue;
		if (!value && argv[1])
			value = *++argv;
		has_program |= option.mark == '+';
		is_in_place |= *option.names == 'i' && value && !strcmp(value, "inplace");
	}
	argv += *argv && !strcmp(*argv, "--");
	argv += *argv && !has_program;
	if (is_in_place)
		judge_paths(j, argv);
}

void ews_guard_judge_files(struct ews_guard_verdict *out, char *const *argv, bool is_inside)
{
	const struct judging now = { out, is_inside }, *j = &now;
	static const char *const awks[] = { "awk", "gawk", NULL };
	static const char *const editing[] = { "perl", "ruby", NULL };
	const struct ews_guard_row *writer = find_writer(argv[0]);

	if (writer)
		judge_writer(j, writer, argv);
	else if (is_called(argv[0], "sed") && (has_letter(argv, 'i') || has_beginning(argv, "--in-place")))
		judge_sed(j, argv);
	else if (ews_guard_is_called(argv[0], editing) && has_letter(argv, 'i'))
		judge_edited(j, argv);
	else if (ews_guard_is_called(argv[0], awks))
		judge_awk(j, argv);
	else if (ews_guard_is_called(argv[0], archiving))
		judge_tar(j, argv);
	else if (is_called(argv[0], "unzip"))
		judge_option(j, argv, 'd', "--");
	else if (is_called(argv[0], "cpio") && (has_letter(argv, 'i') || has_beginning(argv, "--extract")))
		judge_option(j, argv, 'D', "--directory");
	else if (is_called(argv[0], "dd"))
		for (char *const *at = argv + 1; *at; at++)
			if (ews_str_begins(*at, "of="))
				judge_path(j, *at + strlen("of="));
}
