/*
 * Commits of our own: see commit.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/commit.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

#define AUTHOR "git-ews <git-ews@localhost>"

int ews_commit_write(struct ews_oid *out, struct ews_batch *batch, const struct ews_oid *tree,
		     const struct ews_oid *const *parents, int64_t time_s, const char *message)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	ews_buf_addf(&text, "tree %s\n", ews_oid_hex(hex, tree));
	for (; *parents; parents++)
		ews_buf_addf(&text, "parent %s\n", ews_oid_hex(hex, *parents));
	ews_buf_addf(&text, "author " AUTHOR " %" PRId64 " +0000\ncommitter " AUTHOR " %" PRId64 " +0000\n\n",
		     time_s, time_s);
	ews_buf_adds(&text, message);
	return ews_batch_add(out, batch, EWS_OBJECT_COMMIT, text.ptr, text.len);
}

char *ews_commit_trailer(const char *message, const char *key)
{
	const char *block = message, *next;
	size_t len = strlen(key);

	/* Trailers stand in the last paragraph. */
	while ((next = strstr(block, "\n\n")) && next[2])
		block = next + 2;
	for (const char *line = block; *line;) {
		size_t line_len = strcspn(line, "\n");

		if (line_len > len + 1 && !strncmp(line, key, len) && line[len] == ':' && line[len + 1] == ' ')
			return ews_strndup(line + len + 2, line_len - len - 2);
		line += line_len + (line[line_len] == '\n');
	}
	return ews_strdup("");
}
