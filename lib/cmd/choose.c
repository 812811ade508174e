/*
 * Choosing: see choose.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "cmd/pager.h"

static int fail_form(const char *text)
{
	(void)ews_error(EWS_EUSAGE, "'%s' names no hunks", text);
	ews_error_hint("as in --hunks src/main.c:1,3; 'git ews diff -- <file>' shows them in this order");
	return EWS_EUSAGE;
}

/* Mark the hunks of `file` that "<n>[,<n>...]" names, counted from 1. */
static int mark(struct ews_hunk_file *file, const char *numbers, const char *text)
{
	const char *at = numbers;
	char *end;

	for (;; at = end + 1) {
		unsigned long n = strtoul(at, &end, 10);

		if (end == at || *at < '0' || *at > '9' || (*end && *end != ',') || !n)
			return fail_form(text);
		if (n > file->n)
			return ews_error(EWS_ENOTFOUND, "'%s': there %s %zu hunk%s", text,
					 file->n == 1 ? "is" : "are", file->n, file->n == 1 ? "" : "s");
		file->items[n - 1].is_wanted = true;
		if (!*end)
			return 0;
	}
}

static int mark_word(const struct ews_choosing *how, struct ews_hunks *hunks, const char *text)
{
	const char *colon = strrchr(text, ':');
	EWS_CLEANUP(strv) struct ews_strv asked = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv path = EWS_STRV_INIT;
	struct ews_hunk_file *file;
	int rc;

	if (!colon || colon == text)
		return fail_form(text);
	ews_strv_add_len(&asked, text, (size_t)(colon - text));
	rc = ews_cmd_paths(&path, how->ctx, how->ctx->repo->project, &asked);
	if (rc < 0)
		return rc;
	file = path.n ? ews_hunks_find(hunks, path.items[0]) : NULL;
	if (!file)
		return ews_error(EWS_ENOTFOUND, "'%s' has no changes to choose from", asked.items[0]);
	rc = ews_hunks_load(hunks, file);
	return rc < 0 ? rc : mark(file, colon + 1, text);
}

int ews_choose_by_number(void *choosing, struct ews_hunks *hunks)
{
	const struct ews_choosing *how = choosing;
	size_t i;
	int rc = 0;

	for (i = 0; i < how->wanted->n && rc == 0; i++)
		rc = mark_word(how, hunks, how->wanted->items[i]);
	return rc;
}

/* A line of a patch as a terminal may see it: no control byte but the tab. */
static void add_line(struct ews_buf *out, const char *line, size_t len, bool color)
{
	const char *code = *line == '+' ? "32" : *line == '-' ? "31" : *line == '@' ? "36" : NULL;
	size_t i;

	if (color && code)
		ews_buf_addf(out, "\033[%sm", code);
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < ' ' && c != '\t') || c == 127)
			ews_buf_addf(out, "^%c", c ^ 64);
		else
			ews_buf_addc(out, (char)c);
	}
	ews_buf_adds(out, color && code ? "\033[m\n" : "\n");
}

static void show(const char *text, size_t len, bool color)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	const char *end = text + len, *line, *next;

	for (line = text; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		next = newline ? newline + 1 : end;
		add_line(&out, line, (size_t)((newline ? newline : end) - line), color);
	}
	(void)fflush(stderr);
	(void)ews_file_write_fd(STDERR_FILENO, out.ptr, out.len); /* who can't see it answers no */
}

static const char help[] = "y - apply this hunk\n"
			   "n - do not apply it\n"
			   "q - quit: neither this one nor any that is left\n"
			   "a - apply this one and all later ones of the file\n"
			   "d - apply neither this one nor any later one of the file\n"
			   "g - go to the hunk of that number, as in g 2\n"
			   "j - leave this one undecided, go to the next\n"
			   "k - leave this one undecided, go to the one before\n"
			   "? - this help\n";

/* One hunk of a file: 'n' when nothing is typed any more. */
static char ask(const struct ews_hunk_file *file, size_t at, size_t *number)
{
	char answer[64] = "";

	(void)fprintf(stderr, "(%zu/%zu) Apply this %s [y,n,q,a,d,g,j,k,?]? ", at + 1, file->n,
		      file->is_whole ? "change" : "hunk");
	(void)fflush(stderr);
	if (!fgets(answer, sizeof(answer), stdin))
		return 'q';
	*number = strtoul(answer + (*answer != '\0'), NULL, 10);
	return answer[0];
}

/* Ask about one file; true when the rest is not wanted. */
static bool ask_file(struct ews_hunk_file *file, bool color)
{
	size_t at = 0, number, i;

	show(file->text.ptr, file->header_len, color);
	while (at < file->n) {
		show(file->items[at].text, file->items[at].len, color);
		switch (ask(file, at, &number)) {
		case 'y':
			file->items[at++].is_wanted = true;
			break;
		case 'n':
			file->items[at++].is_wanted = false;
			break;
		case 'q':
			return true;
		case 'a':
			for (i = at; i < file->n; i++)
				file->items[i].is_wanted = true;
			return false;
		case 'd':
			return false;
		case 'j':
			at += at + 1 < file->n;
			break;
		case 'k':
			at -= at > 0;
			break;
		case 'g':
			at = number && number <= file->n ? number - 1 : at;
			break;
		default:
			ews_cmd_say("", help);
		}
	}
	return false;
}

int ews_choose_by_asking(void *choosing, struct ews_hunks *hunks)
{
	const struct ews_choosing *how = choosing;
	bool color = ews_pager_color(how->ctx, "interactive");
	bool is_over = false;
	size_t i;
	int rc = 0;

	for (i = 0; i < hunks->n && rc == 0 && !is_over; i++) {
		rc = ews_hunks_load(hunks, &hunks->items[i]);
		if (rc == 0)
			is_over = ask_file(&hunks->items[i], color);
	}
	return rc;
}
