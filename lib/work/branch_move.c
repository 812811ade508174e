/*
 * A branch that moves: see branch_move.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/branch_move.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "store/odb.h"

int ews_branch_move_read(struct ews_branch_move *out, const char *line)
{
	const char *first = strchr(line, ' ');
	const char *second = first ? strchr(first + 1, ' ') : NULL;

	if (!second || !ews_str_begins(line, EWS_REF_BRANCHES))
		return ews_error(EWS_EDAMAGED, "the step names a branch that makes no sense");
	out->branch = ews_strndup(line, (size_t)(first - line));
	if (ews_oid_parse_or_none(&out->from, first + 1, (size_t)(second - first - 1)) < 0)
		return EWS_EDAMAGED;
	return ews_oid_parse_or_none(&out->to, second + 1, strlen(second + 1));
}

char *ews_branch_move_format(const char *branch, const struct ews_oid *from, const struct ews_oid *to)
{
	char old[EWS_OID_HEX_MAX] = "0", new[EWS_OID_HEX_MAX] = "0";

	if (!ews_oid_is_none(from))
		ews_oid_hex(old, from);
	if (!ews_oid_is_none(to))
		ews_oid_hex(new, to);
	return ews_strfmt("%s %s %s", branch, old, new);
}
