/*
 * Rewritten snapshots: see snapshot_rewritten.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot_rewritten.h"

#include "base/error.h"
#include "store/commit.h"
#include "store/tree.h"

/* The object that the trailer `key` names; none where there is no such trailer. */
static int read_named(struct ews_oid *out, const char *message, const char *key)
{
	EWS_CLEANUP(free) char *hex = ews_commit_trailer(message, key);

	*out = (struct ews_oid)EWS_OID_NONE;
	return *hex ? ews_oid_parse(out, hex) : 0;
}

static bool is_another(const struct ews_oid *named, const struct ews_oid *found)
{
	return !ews_oid_is_none(named) && !ews_oid_equal(named, found);
}

/* The tree that the manifest describes. It is proven by the hash that the snapshot was made with. */
static int make_tree(struct ews_oid *out, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	int rc = ews_snapshot_stored_content(&content, repo, snapshot);

	if (rc == 0)
		rc = ews_odb_make_writable(repo->odb);
	if (rc < 0)
		return rc;
	batch = ews_batch_new(repo->odb);
	rc = ews_tree_write(out, batch, &content.scan.entries);
	return rc < 0 ? rc : ews_batch_commit(batch);
}

int ews_rewritten_settle(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_commit *commit)
{
	static const struct ews_oid none = EWS_OID_NONE;
	struct ews_oid tree, manifest;
	int rc = read_named(&tree, commit->message, EWS_TRAILER_TREE);

	if (rc == 0)
		rc = read_named(&manifest, commit->message, EWS_TRAILER_MANIFEST);
	if (rc < 0)
		return ews_error_wrap("snapshot '%s'", out->id);
	out->is_rewritten = is_another(&tree, &out->tree) || is_another(&manifest, &out->manifest) ||
			    is_another(&out->head, commit->n_parents > 1 ? &commit->parents[0] : &none);
	if (!out->is_rewritten)
		return 0;
	if (!ews_oid_is_none(&tree))
		out->tree = tree;
	if (!ews_oid_is_none(&manifest) && ews_odb_has(repo->odb, &manifest))
		out->manifest = manifest;
	/* Where the manifest is damaged, too, whoever asks for the files is told so. */
	if ((ews_oid_is_none(&tree) || !ews_odb_has(repo->odb, &tree)) && make_tree(&out->tree, repo, out) < 0)
		ews_error_clear();
	return 0;
}

void ews_rewritten_tell(struct ews_strv *out, const struct ews_snapshot *snapshot)
{
	if (snapshot->is_rewritten)
		ews_strv_addf(out, "%s was rewritten by somebody; 'git ews doctor --fix' puts it back",
			      *snapshot->ref ? snapshot->ref : snapshot->id);
}

int ews_rewritten_put_back(struct ews_repo *repo, const char *ref)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	struct ews_ref now = { .name = (char *)ref, .oid = EWS_OID_NONE };
	const struct ews_oid *parents[3] = { NULL, NULL, NULL };
	struct ews_oid made;
	int rc = ews_odb_ref_read(&now.oid, repo->odb, ref);

	if (rc == 0)
		rc = ews_snapshot_read(&snapshot, repo, &now);
	if (rc < 0 || !snapshot.is_rewritten)
		return rc;
	rc = ews_odb_read_commit(&commit, repo->odb, &now.oid);
	if (rc == 0)
		rc = make_tree(&snapshot.tree, repo, &snapshot);
	if (rc == 0 && !ews_oid_is_none(&snapshot.head) && !ews_odb_has(repo->odb, &snapshot.head))
		rc = ews_error(EWS_EDAMAGED, "the commit that HEAD of snapshot '%s' stood at is gone", snapshot.id);
	if (rc < 0)
		return rc;
	parents[0] = ews_oid_is_none(&snapshot.head) ? &snapshot.manifest : &snapshot.head;
	parents[1] = ews_oid_is_none(&snapshot.head) ? NULL : &snapshot.manifest;
	batch = ews_batch_new(repo->odb);
	rc = ews_commit_write(&made, batch, &snapshot.tree, parents, snapshot.created_s, commit.message);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	return rc < 0 ? rc : ews_odb_ref_swap(repo->odb, ref, &now.oid, &made);
}
