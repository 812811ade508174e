/*
 * The script of the hooks: see hooks_script.h.
 *
 * It is sh, so that it passes everything when git-ews is gone, and costs little where nothing is asked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/hooks_script.h"

#include <string.h>

#include "base/str.h"
#include "work/stop.h"

static const char head[] = "#!/bin/sh\n"
			   "# A hook of git ews: 'git ews guard uninstall' takes it away.\n";

static const char own_name[] = "name=${0##*/}\n";

/*
 * Most places are no session's, and are known by a look: no linked work tree, and nobody works in place. The user's hooks run in
 * independent copies, too.
 */
static const char may_be_ours[] = "may_be_ours() {\n"
				  "	case ${GIT_DIR:-.git} in */worktrees/*) return 0 ;; esac\n"
				  "	test ! -f \"${GIT_DIR:-.git}\" || return 0\n";

static const char may_be_copy[] = "	case $PWD in */qe/*) return 0 ;; esac\n"
				  "	test ! -d \"$home/elsewhere\" || return 0\n";

/* 1: none. 2: no file, or one could not be read. Then, and where there is no grep, git ews itself looks. */
static const char may_be_in_place[] = "	grep -qs '\"in-place\"' \"$home\"/working/*/sessions/*/state.json\n"
				      "	case $? in 1) return 1 ;; 2) test -d \"$home/working\" ;; esac\n"
				      "}\n";

/* git ews is asked about this place: a sentence, when the command is to be stopped. */
static const char ask[] = "ask() {\n"
			  "	may_be_ours || return\n"
			  "	for program in \"$program\" git-ews; do\n"
			  "		command -v \"$program\" >/dev/null 2>&1 || continue\n"
			  "		\"$program\" --home \"$home\" guard hook \"$name\" </dev/null 2>/dev/null\n"
			  "		return\n"
			  "	done\n"
			  "}\n";

static const char ask_at_once[] = "why=$(ask)\n";

/* The refs must be known, but only in a place that is guarded: elsewhere standard input stays as it is. */
static const char ask_about_refs[] = "why=\n"
				     "read=\n"
				     "refs=\n"
				     "test \"$1\" != prepared || why=$(ask)\n"
				     "if test \"$why\"; then\n"
				     "	# what is git ews's own always passes\n"
				     "	read=t\n"
				     "	stop=\n"
				     "	while IFS= read -r line; do\n"
				     "		refs=\"$refs$line\n"
				     "\"\n"
				     "		case ${line##* } in refs/ews/*) ;; *) stop=t ;; esac\n"
				     "	done\n"
				     "	test \"$stop\" || why=\n"
				     "fi\n";

static const char stop[] = "if test \"$why\"; then\n"
			   "	printf '%s\\n' \"$why\" >&2\n"
			   "	exit 1\n"
			   "fi\n";

static const char find_next[] = "# The hook that git would run without this directory.\n"
				"dir=\n"
				"named=\n"
				"if paths=$(git config --path --get-all core.hooksPath); then\n"
				"	while IFS= read -r path; do\n"
				"		test -e \"$path/" EWS_HOOKS_MARK "\" || { dir=$path named=t; }\n"
				"	done <<END\n"
				"$paths\n"
				"END\n"
				"fi\n";

static const char in_repository[] = "here=${0%/*}\n"
				    "test \"$named\" || dir=${here%/*}/hooks\n";

static const char in_any[] = "if ! test \"$named\"; then\n"
			     "	common=$(git rev-parse --git-common-dir) || exit 0\n"
			     "	dir=$common/hooks\n"
			     "fi\n";

/* An empty path is one: then git would run none. A copy of this that stands there would run itself for ever. */
static const char need_next[] = "if ! test \"$dir\" || ! test -f \"$dir/$name\" || ! test -x \"$dir/$name\" ||\n"
				"	test \"$dir/$name\" -ef \"$0\"; then\n"
				"	exit 0\n"
				"fi\n";

/* What was read is given on whole. */
static const char feed_next[] = "if test \"$read\"; then\n"
				"	printf '%s' \"$refs\" | \"$dir/$name\" \"$@\"\n"
				"	exit\n"
				"fi\n";

static const char become_next[] = "exec \"$dir/$name\" \"$@\"\n";

/* Lines that were written before, and are not any more. */
static const char former[] = "	case $? in 1 | 2) return 1 ;; esac\n"
			     "while IFS= read -r path; do\n"
			     "	test -e \"$path/" EWS_HOOKS_MARK "\" || dir=$path\n"
			     "done <<END\n"
			     "$(git config --path --get-all core.hooksPath)\n"
			     "test \"$dir\" || dir=${here%/*}/hooks\n"
			     "if ! test \"$dir\"; then\n"
			     "if ! test -f \"$dir/$name\" || ! test -x \"$dir/$name\"; then\n"
			     "if ! test \"$dir\" || ! test -f \"$dir/$name\" || ! test -x \"$dir/$name\"; then\n";

static const char *const all_lines[] = { own_name,    may_be_ours,    may_be_copy, may_be_in_place, ask,
					 ask_at_once, ask_about_refs, stop,        find_next,       in_repository,
					 in_any,      need_next,      feed_next,   become_next,     former };

/* As one word of the shell. */
static void add_quoted(struct ews_buf *out, const char *text)
{
	ews_buf_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			ews_buf_adds(out, "'\\'");
		ews_buf_addc(out, *text);
	}
	ews_buf_addc(out, '\'');
}

static bool is_line_of_ours(const char *line, size_t len)
{
	for (size_t i = 0; i < sizeof(all_lines) / sizeof(*all_lines); i++) {
		const char *at = all_lines[i], *end = at + strlen(at), *known;
		size_t known_len;

		while ((known = ews_str_next_line(&at, &known_len, end)))
			if (known_len == len && !memcmp(known, line, len))
				return true;
	}
	return false;
}

/* What follows the line of ours at `at`, whose value add_quoted() has written, if it has one; NULL: it is none. */
static const char *skip_ours(const char *at, const char *end)
{
	const char *program = ews_str_after(at, "program='");
	const char *value = program ? program : ews_str_after(at, "home='");
	const char *line, *next;
	size_t len;

	if (!value) {
		line = ews_str_next_line(&at, &len, end);
		return is_line_of_ours(line, len) ? at : NULL;
	}
	while ((value = strchr(value, '\'')) && (next = ews_str_after(value, "'\\''")))
		value = next;
	return value ? ews_str_after(value, "'\n") : NULL;
}

static void add_ask(struct ews_buf *out, bool about_refs, const struct ews_hooks_script_opts *opts)
{
	ews_buf_adds(out, "program=");
	add_quoted(out, opts->program);
	ews_buf_adds(out, "\nhome=");
	add_quoted(out, opts->home);
	ews_buf_addc(out, '\n');
	ews_buf_adds(out, may_be_ours);
	if (opts->is_users)
		ews_buf_adds(out, may_be_copy);
	ews_buf_adds(out, may_be_in_place);
	ews_buf_adds(out, ask);
	ews_buf_adds(out, about_refs ? ask_about_refs : ask_at_once);
	ews_buf_adds(out, stop);
}

void ews_hooks_script(struct ews_buf *out, const char *name, const struct ews_hooks_script_opts *opts)
{
	bool about_refs = !strcmp(name, "reference-transaction");

	ews_buf_adds(out, head);
	ews_buf_adds(out, own_name);
	if (ews_stop_is_asked_by(name))
		add_ask(out, about_refs, opts);
	ews_buf_adds(out, find_next);
	ews_buf_adds(out, opts->is_users ? in_any : in_repository);
	ews_buf_adds(out, need_next);
	if (about_refs)
		ews_buf_adds(out, feed_next);
	ews_buf_adds(out, become_next);
}

bool ews_hooks_begins_as_script(const struct ews_buf *text)
{
	return ews_str_begins(text->ptr, head);
}

bool ews_hooks_is_script(const struct ews_buf *text)
{
	const char *at = ews_str_after(text->ptr, head), *end = text->ptr + text->len;

	while (at && at < end)
		at = skip_ours(at, end);
	return at;
}
