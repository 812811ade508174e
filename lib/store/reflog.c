/*
 * Reflogs: see reflog.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/reflog.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"

#define LOG_BYTES_MAX (256 * EWS_MIB)

/* What one line, or several upon each other, did to the branch. */
struct move {
	struct ews_oid from, to;
	bool is_there;
};

/* "<old id> <new id> <name> <<address>> <time> <zone>\t<action>: <message>" */
static int parse_line(struct move *out, const char **action, const char *line, size_t hex_len)
{
	const char *tab = strchr(line, '\t');

	if (strlen(line) <= 2 * hex_len + 1 || line[hex_len] != ' ' || line[2 * hex_len + 1] != ' ')
		return ews_error(EWS_EDAMAGED, "a line of a reflog makes no sense");
	*action = tab ? tab + 1 : "";
	if (ews_oid_parse_or_none(&out->from, line, hex_len) < 0)
		return EWS_EDAMAGED;
	return ews_oid_parse_or_none(&out->to, line + hex_len + 1, hex_len);
}

static bool is_action(const char *text, const char *action)
{
	size_t len = strlen(action);

	return !strncmp(text, action, len) && text[len] == ':';
}

int ews_reflog_find(struct ews_oid *from, struct ews_oid *to, struct ews_odb *odb, const char *name,
		    const char *action, const struct ews_oid *since)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/logs/%s", ews_odb_common_dir(odb), name);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t hex_len = 2 * ews_hash_len(ews_odb_algo(odb));
	/* git writes the line before it moves the branch: that it did is what the next line, or the branch itself, begins with. */
	struct move found = { .is_there = false }, next = { .is_there = false };
	struct ews_oid now = EWS_OID_NONE;
	bool goes_back = false;
	char *rest = NULL;
	int rc = ews_file_read_path(&text, path, LOG_BYTES_MAX);

	if (rc < 0)
		return rc;
	for (char *line = strtok_r(text.ptr, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *did;
		struct move move;

		if (parse_line(&move, &did, line, hex_len) < 0) {
			ews_error_clear();
			continue;
		}
		if (next.is_there && ews_oid_equal(&next.to, &move.from))
			found = next;
		next.is_there = is_action(did, action);
		next.from = found.is_there && ews_oid_equal(&found.to, &move.from) ? found.from : move.from;
		next.to = move.to;
		goes_back = goes_back || ews_oid_equal(&move.from, since) || ews_oid_equal(&move.to, since);
	}
	rc = ews_error_if_passing(ews_odb_ref_read(&now, odb, name));
	if (rc < 0)
		return rc;
	if (next.is_there && ews_oid_equal(&next.to, &now))
		found = next;
	if (found.is_there) {
		*from = found.from;
		*to = found.to;
		return 1;
	}
	return goes_back || ews_oid_equal(&now, since) ? 0 : ews_error(EWS_ENOTFOUND, "'%s' has no log", name);
}

int ews_reflog_list(struct ews_strv *out, struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/logs/%s", ews_odb_common_dir(odb), name);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t hex_len = 2 * ews_hash_len(ews_odb_algo(odb));
	char *rest = NULL;
	int rc = ews_file_read_path(&text, path, LOG_BYTES_MAX);

	if (rc < 0)
		return rc;
	for (char *line = strtok_r(text.ptr, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;
		char hex[EWS_OID_HEX_MAX];
		const char *did;
		struct move move;

		if (parse_line(&move, &did, line, hex_len) < 0) {
			ews_error_clear();
			continue;
		}
		ews_path_escape(&escaped, did, strlen(did));
		ews_strv_addf(out, "%s %s", escaped.ptr, ews_oid_hex(hex, &move.to));
	}
	return 0;
}
