/*
 * Roster: see roster.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/roster.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"

#define FILE_NAME "roster"
#define BYTES_MAX (64 * EWS_MIB)
#define PREFIX "refs/ews/"
#define END "end "
#define DIGEST_LEN 32
#define END_LEN (strlen(END) + 2 * DIGEST_LEN + 1)

static const char *short_name(const char *ref)
{
	const char *name = ews_str_after(ref, PREFIX);

	return name ? name : ref;
}

static void digest(char hex[2 * EWS_HASH_MAX + 1], const char *text, size_t len)
{
	uint8_t bytes[EWS_HASH_MAX];

	ews_hash_once(EWS_SHA256, bytes, text, len);
	ews_hex(hex, bytes, DIGEST_LEN);
}

/* Is the text whole? What is cut, or somebody else's, does not end in its own digest. */
static bool is_whole(const struct ews_buf *text)
{
	char hex[2 * EWS_HASH_MAX + 1];
	const char *end = text->ptr + text->len - END_LEN;

	if (text->len < END_LEN || strlen(text->ptr) != text->len || !ews_str_begins(end, END))
		return false;
	digest(hex, text->ptr, text->len - END_LEN);
	return !strncmp(end + strlen(END), hex, 2 * (size_t)DIGEST_LEN);
}

static void add_line(struct ews_roster *roster, const char *ref, const char *session)
{
	EWS_GROW(roster->lines, roster->n, roster->cap);
	roster->lines[roster->n++] = (struct ews_roster_line){ ref, session };
}

void ews_roster_read(struct ews_roster *out, const struct ews_repo *repo)
{
	char *line, *end;

	if (repo->dir_fd < 0 || ews_file_read_own(&out->text, repo->dir_fd, FILE_NAME, BYTES_MAX) < 0 ||
	    !is_whole(&out->text)) {
		ews_error_clear();
		return;
	}
	for (line = out->text.ptr; (end = strchr(line, '\n')); line = end + 1) {
		char *tab;

		*end = '\0';
		tab = strchr(line, '\t');
		if (!tab)
			break;
		*tab = '\0';
		/* In order, or nothing of it is found: what follows is read again. */
		if (out->n && strcmp(out->lines[out->n - 1].ref, line) >= 0)
			break;
		add_line(out, line, tab + 1);
	}
	out->n_read = out->n;
}

const char *ews_roster_session(struct ews_roster *roster, const char *ref)
{
	int order = -1;

	while (roster->at < roster->n_read && (order = strcmp(roster->lines[roster->at].ref, short_name(ref))) < 0)
		roster->at++;
	return order == 0 ? roster->lines[roster->at].session : NULL;
}

void ews_roster_add(struct ews_roster *roster, const char *ref, const char *session)
{
	struct ews_strv *added = &roster->added;

	ews_strv_add_all(added, short_name(ref), session, NULL);
	add_line(roster, added->items[added->n - 2], added->items[added->n - 1]);
}

static int cmp_line(const void *a, const void *b)
{
	const struct ews_roster_line *x = a, *y = b;

	return strcmp(x->ref, y->ref);
}

void ews_roster_write(const struct ews_roster *roster, const struct ews_repo *repo, const struct ews_refs *refs)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) struct ews_roster_line *lines = NULL;
	char hex[2 * EWS_HASH_MAX + 1];
	size_t at = 0;

	if (roster->n == roster->n_read || repo->dir_fd < 0)
		return; /* nothing came */
	lines = ews_calloc(roster->n, sizeof(*lines));
	memcpy(lines, roster->lines, roster->n * sizeof(*lines));
	qsort(lines, roster->n, sizeof(*lines), cmp_line);
	for (size_t i = 0; i < roster->n; i++) {
		while (at < refs->n && strcmp(short_name(refs->items[at].name), lines[i].ref) < 0)
			at++;
		if (at < refs->n && !strcmp(short_name(refs->items[at].name), lines[i].ref))
			ews_buf_addf(&text, "%s\t%s\n", lines[i].ref, lines[i].session);
	}
	digest(hex, text.ptr, text.len);
	ews_buf_addf(&text, END "%s\n", hex);
	if (ews_file_replace_unsynced(repo->dir_fd, FILE_NAME, text.ptr, text.len, 0600) < 0)
		ews_error_clear();
}

void ews_roster_release(struct ews_roster *roster)
{
	ews_buf_release(&roster->text);
	ews_strv_release(&roster->added);
	free(roster->lines);
	*roster = (struct ews_roster)EWS_ROSTER_INIT;
}
