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
	ews_buf_adds(out, "name=${0##*/}\n");
	if (ews_stop_is_asked_by(name))
		add_ask(out, about_refs, opts);
	ews_buf_adds(out, find_next);
	ews_buf_adds(out, opts->is_users ? in_any : in_repository);
	ews_buf_adds(out, need_next);
	if (about_refs)
		ews_buf_adds(out, feed_next);
	ews_buf_adds(out, become_next);
}

bool ews_hooks_is_script(const struct ews_buf *text)
{
	return ews_str_begins(text->ptr, head);
}
