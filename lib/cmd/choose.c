/*
 * Choosing by number: see choose.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/choose.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

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
		if (n > file->n) {
			(void)ews_error(EWS_ENOTFOUND, "'%s': there %s %zu hunk%s", text,
					file->n == 1 ? "is" : "are", file->n, file->n == 1 ? "" : "s");
			ews_error_hint("'git ews diff -- <file>' shows them in this order");
			return EWS_ENOTFOUND;
		}
		file->items[n - 1].is_wanted = true;
		if (!*end)
			return 0;
	}
}

/* The file of "<file>:<n>[,<n>...]", from the project's top on, which is none itself; the numbers are at `*numbers`. */
static int read_file(struct ews_strv *out, const char **numbers, const struct ews_choosing *how, const char *text)
{
	const char *colon = strrchr(text, ':');
	EWS_CLEANUP(strv) struct ews_strv asked = EWS_STRV_INIT;

	if (!colon || colon == text)
		return fail_form(text);
	*numbers = colon + 1;
	ews_strv_add_len(&asked, text, (size_t)(colon - text));
	return ews_cmd_paths(out, how->ctx, how->ctx->repo->project, &asked);
}

static int mark_word(const struct ews_choosing *how, struct ews_hunks *hunks, const char *text)
{
	EWS_CLEANUP(strv) struct ews_strv path = EWS_STRV_INIT;
	struct ews_hunk_file *file;
	const char *numbers;
	int rc = read_file(&path, &numbers, how, text);

	if (rc < 0)
		return rc;
	file = path.n ? ews_hunks_find(hunks, path.items[0]) : NULL;
	if (!file) {
		(void)ews_error(EWS_ENOTFOUND, "'%.*s' has no changes to choose from", (int)(numbers - text - 1),
				text);
		ews_error_hint("'git ews apply --check' with the same source lists the files that have some");
		return EWS_ENOTFOUND;
	}
	rc = ews_hunks_load(hunks, file);
	return rc < 0 ? rc : mark(file, numbers, text);
}

int ews_choose_files(struct ews_strv *out, const struct ews_choosing *how)
{
	int rc = 0;

	for (size_t i = 0; i < how->wanted->n && rc == 0; i++) {
		EWS_CLEANUP(strv) struct ews_strv path = EWS_STRV_INIT;
		const char *numbers;

		rc = read_file(&path, &numbers, how, how->wanted->items[i]);
		ews_strv_add_array(out, path.items);
	}
	return rc;
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
