/*
 * Replaced: see replaced.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/replaced.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/config.h"

#define REPLACE "refs/replace/"
#define STEPS_MAX 5 /* as git */

void ews_replaced_list(struct ews_oids *out, struct ews_odb *odb)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	struct ews_oid oid;

	(void)ews_odb_ref_names(&refs, odb, REPLACE); /* as the header says */
	for (size_t i = 0; i < refs.n; i++)
		if (ews_oid_parse(&oid, refs.items[i].name + strlen(REPLACE)) == 0)
			ews_oids_add(out, &oid);
	ews_error_clear();
	ews_oids_sort(out);
}

/* The same, none where git is told not to look at them. */
static int list_seen(struct ews_oids *out, struct ews_odb *odb)
{
	bool are_used = true;
	int rc;

	ews_replaced_list(out, odb);
	rc = out->n ? ews_config_git_bool(&are_used, odb, "core.useReplaceRefs", true) : 0;
	if (!are_used)
		out->n = 0;
	return rc;
}

int ews_replaced_commit(struct ews_oid *out, struct ews_odb *odb, const struct ews_oid *commit)
{
	EWS_CLEANUP(oids) struct ews_oids replaced = EWS_OIDS_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc = list_seen(&replaced, odb);

	*out = *commit;
	for (int steps = 0; rc == 0 && ews_oids_has(&replaced, out); steps++) {
		EWS_CLEANUP(free) char *ref = ews_strfmt(REPLACE "%s", ews_oid_hex(hex, out));

		if (steps == STEPS_MAX)
			return ews_error(EWS_EDAMAGED, "what replaces '%s' is replaced in its turn, too often",
					 ews_oid_hex(hex, commit));
		rc = ews_odb_ref_read(out, odb, ref);
	}
	return rc;
}

static int refuse(const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	ews_error(EWS_EUNSUPPORTED, "git sees another object in the place of '%s', which is no commit",
		  ews_oid_hex(hex, oid));
	ews_error_hint("'git replace -d %s' lets it see that one again", hex);
	return EWS_EUNSUPPORTED;
}

int ews_replaced_refuse(struct ews_odb *odb, const struct ews_oid *tree, const struct ews_entries *entries)
{
	EWS_CLEANUP(oids) struct ews_oids replaced = EWS_OIDS_INIT;
	int rc = list_seen(&replaced, odb);

	if (rc < 0 || !replaced.n)
		return rc;
	if (ews_oids_has(&replaced, tree))
		return refuse(tree);
	for (size_t i = 0; i < entries->n; i++)
		if (ews_oids_has(&replaced, &entries->items[i].oid))
			return refuse(&entries->items[i].oid);
	return 0;
}
