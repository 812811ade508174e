/*
 * Journal: see journal.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"

#define JOURNAL_FILE "journal"
#define JOURNAL_BYTES_MAX (16 * EWS_MIB)

int ews_journal_begin(int session_fd, const char *step_id, const char *verb)
{
	EWS_CLEANUP(free) char *line = ews_strfmt("begin %s %s", step_id, verb);

	return ews_file_append(session_fd, JOURNAL_FILE, line, 0600);
}

int ews_journal_done(int session_fd, const char *step_id)
{
	EWS_CLEANUP(free) char *line = ews_strfmt("done %s", step_id);

	return ews_file_append_unsynced(session_fd, JOURNAL_FILE, line, 0600);
}

void ews_journal_parse(char **step_id, char **verb, char *text)
{
	EWS_CLEANUP(free) char *id = ews_strdup("");
	EWS_CLEANUP(free) char *name = ews_strdup("");
	char *end = strrchr(text, '\n'), *line, *rest;

	/* A last line without its end was never synced, so what it announces never began. */
	if (end)
		*end = '\0';
	for (line = end ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
		char a[80], b[40];

		if (sscanf(line, "begin %79s %39s", a, b) == 2) {
			free(id);
			free(name);
			id = ews_strdup(a);
			name = ews_strdup(b);
		} else if (sscanf(line, "done %79s", a) == 1 && !strcmp(a, id)) {
			*id = '\0';
			*name = '\0';
		}
	}
	*step_id = ews_steal(&id);
	*verb = ews_steal(&name);
}

int ews_journal_unfinished(char **step_id, char **verb, int session_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, session_fd, JOURNAL_FILE, JOURNAL_BYTES_MAX);

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return ews_error_wrap("cannot read the journal");
	ews_error_clear();
	/* Of a line that nobody waited for a power cut may leave the length alone, which must not hide those after it. */
	for (size_t i = 0; i < text.len; i++)
		if (!text.ptr[i])
			text.ptr[i] = '\n';
	ews_journal_parse(step_id, verb, text.ptr);
	return 0;
}
