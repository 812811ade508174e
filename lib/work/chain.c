/*
 * Chains: see chain.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/chain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "work/head.h"
#include "work/history.h"
#include "work/look.h"
#include "work/outcome.h"
#include "work/session_name.h"
#include "work/session_open.h"

void ews_chain_release(struct ews_chain *chain)
{
	ews_content_release(&chain->first);
	ews_snapshot_release(&chain->parent);
	free(chain->source);
	free(chain->subject);
	*chain = (struct ews_chain)EWS_CHAIN_INIT;
}

static struct ews_content steal_content(struct ews_content *from)
{
	struct ews_content content = *from;

	*from = (struct ews_content)EWS_CONTENT_INIT;
	return content;
}

/* What was there without being looked at did not come along. */
static void settle_skips(struct ews_skips *skips)
{
	for (size_t i = 0; i < skips->n; i++)
		if (ews_skip_is_present(skips->items[i].reason))
			skips->items[i].reason = EWS_SKIP_IGNORED;
}

/* Files are filled from objects, and counted as what they are. */
static void settle_content(struct ews_content *content)
{
	struct ews_scan *scan = &content->scan;

	settle_skips(&scan->skips);
	for (size_t i = 0; i < scan->entries.n; i++)
		scan->entries.items[i].has_stat = false;
	ews_scan_count(scan);
}

static int parse_commit(struct ews_oid *out, const char *hex)
{
	*out = (struct ews_oid)EWS_OID_NONE;
	return *hex ? ews_oid_parse(out, hex) : 0;
}

/* HEAD of the twin is detached at the commit that it stood at there. */
static int settle_git(struct ews_twin *twin, struct ews_chain *chain, struct ews_repo *repo, const char *from)
{
	struct ews_gitstate *git = &twin->content.git;
	int rc = ews_twin_find_head(twin, repo);

	if (rc < 0 || repo->is_plain)
		return rc;
	if (!ews_oid_is_none(&chain->head)) {
		twin->head = chain->head;
		twin->is_unborn = false;
	} else if (!ews_oid_is_none(&chain->first_head)) {
		twin->head = chain->first_head;
		twin->is_unborn = false;
		ews_strv_addf(&twin->notes, "HEAD of '%s' stands at no commit: here it stands where that began",
			      from);
	}
	if (twin->is_unborn)
		return ews_error(EWS_EDAMAGED, "'%s' does not say which commit it stands at", from);
	rc = ews_twin_mark_left_out(&twin->content, repo);
	if (rc == 0 && git->has_index)
		rc = ews_index_parse_state(&twin->index, git, ews_odb_algo(repo->odb));
	if (rc < 0)
		return ews_error_wrap("the index of '%s'", from);
	if (ews_twin_mark_left_out(&chain->first, repo) < 0)
		ews_error_clear(); /* a revert puts it back as it was */
	ews_gitstate_forget_left(git); /* it stayed there */
	twin->content.has_git = true;
	rc = ews_gitstate_detach(git, &twin->head);
	/* A revert goes back to what all of it began with, which may have been the project itself. */
	if (rc == 0 && chain->first.has_git)
		rc = ews_gitstate_detach(&chain->first.git,
					 ews_oid_is_none(&chain->first_head) ? &twin->head : &chain->first_head);
	return rc;
}

/* A session: as it is, or as it ended. */
static int choose_session(struct ews_twin *twin, struct ews_chain *chain, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	int rc = ews_session_open(&session, repo, id);

	if (rc == 0)
		rc = ews_outcome_read(&diff, &session);
	/* What it committed in a repository of its own is to be found in the project's. */
	if (rc == 0 && diff.to.is_now)
		rc = ews_history_adopt(&session, NULL, &diff.to.content.git);
	if (rc >= 0)
		rc = parse_commit(&chain->first_commit, session.state.base_commit);
	if (rc < 0)
		return rc;
	if (diff.to.is_now)
		rc = ews_head_find_in(&chain->head, &session, &diff.to.content.git, NULL); /* none: damaged, or unborn */
	if (rc < 0)
		return rc;
	if (!diff.to.is_now)
		chain->head = diff.to.snapshot.head;
	chain->source = ews_strdup(diff.to.is_now ? session.state.last_snapshot : diff.to.snapshot.id);
	chain->first_head = diff.from.snapshot.head;
	chain->first = steal_content(&diff.from.content);
	twin->content = steal_content(&diff.to.content);
	return ews_odb_refresh(repo->odb);
}

/* What the session began with that a snapshot is of; the snapshot itself where nobody knows any more. */
static int find_first(struct ews_chain *chain, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	int rc = *snapshot->session ? ews_session_open(&session, repo, snapshot->session) : EWS_ENOTFOUND;

	if (rc == 0)
		rc = ews_snapshot_base(&base, &session);
	chain->first_commit = chain->first_head = snapshot->head;
	if (rc < 0)
		return ews_error_if_passing(rc) < 0 ? rc : ews_snapshot_content(&chain->first, repo, snapshot);
	chain->first_head = base.head;
	if (parse_commit(&chain->first_commit, session.state.base_commit) < 0)
		ews_error_clear();
	return ews_snapshot_content(&chain->first, repo, &base);
}

static int choose_snapshot(struct ews_twin *twin, struct ews_chain *chain, struct ews_repo *repo, const char *from)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	int rc = ews_snapshot_find(&snapshot, repo, from);

	if (rc == 0 && ews_oid_is_none(&snapshot.manifest) && !repo->is_plain) {
		ews_error(EWS_EUSAGE, "'%s' is a commit, which holds no state of a workspace", from);
		ews_error_hint("--base begins at a commit");
		return EWS_EUSAGE;
	}
	if (rc == 0)
		rc = ews_snapshot_content(&twin->content, repo, &snapshot);
	if (rc == 0)
		rc = find_first(chain, repo, &snapshot);
	chain->head = snapshot.head;
	chain->source = ews_strdup(ews_oid_is_none(&snapshot.manifest) ? "" : snapshot.id);
	return rc;
}

int ews_chain_choose(struct ews_twin *twin, struct ews_chain *chain, struct ews_repo *repo, const char *from)
{
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ews_session_resolve(&id, repo, from);

	if (rc == EWS_EUSAGE && ews_session_check_id(from) == 0)
		return rc; /* it may mean several */
	if (rc == 0)
		rc = choose_session(twin, chain, repo, id);
	else if (ews_error_if_passing(rc) == 0)
		rc = choose_snapshot(twin, chain, repo, from);
	if (rc < 0)
		return rc;
	settle_content(&twin->content);
	settle_content(&chain->first);
	chain->subject = ews_strfmt("ews: state of %s", from);
	return settle_git(twin, chain, repo, from);
}

int ews_chain_find_ignored(struct ews_twin *twin, struct ews_repo *repo)
{
	const struct ews_content_opts opts = {
		.partial = true, .known = &twin->content, .is_compared = true, .without_index = true
	};
	EWS_CLEANUP(content) struct ews_content project = EWS_CONTENT_INIT;
	struct ews_skips *skips = &twin->content.scan.skips;
	size_t kept = 0;
	int rc = repo->is_bare ? 0 : ews_content_now(&project, repo, NULL, NULL, &opts);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < skips->n; i++)
		if (skips->items[i].reason != EWS_SKIP_IGNORED)
			skips->items[kept++] = skips->items[i];
	skips->n = kept;
	for (size_t i = 0; i < project.scan.skips.n; i++)
		if (project.scan.skips.items[i].reason == EWS_SKIP_IGNORED)
			ews_skips_add(skips, project.scan.skips.items[i].path, EWS_SKIP_IGNORED,
				      project.scan.skips.items[i].size);
	ews_skips_sort(skips);
	twin->is_composed = true;
	return 0;
}

void ews_chain_note_present(struct ews_chain *chain, const struct ews_content *now)
{
	struct ews_scan *first = &chain->first.scan;
	EWS_CLEANUP(skips) struct ews_skips present = EWS_SKIPS_INIT;
	size_t kept = 0;

	for (size_t i = 0; i < now->scan.skips.n; i++) {
		const struct ews_skip *skip = &now->scan.skips.items[i];

		if (skip->reason == EWS_SKIP_PRESENT && !ews_entries_has_below(&first->entries, skip->path))
			ews_skips_add(&present, skip->path, EWS_SKIP_PRESENT, skip->size);
	}
	for (size_t i = 0; i < first->skips.n; i++)
		if (!ews_skips_covering(&present, first->skips.items[i].path))
			first->skips.items[kept++] = first->skips.items[i];
	first->skips.n = kept;
	ews_skips_add_all(&first->skips, &present);
	ews_skips_sort(&first->skips);
}

int ews_chain_keep_parent(struct ews_chain *chain, struct ews_batch *batch, struct ews_content *now,
			  const struct ews_session *session, const char *id)
{
	const struct ews_snapshot_opts keep = { .id = id,
						.session = session,
						.subject = chain->subject,
						.parent = chain->source,
						.prefix = EWS_REF_SNAPSHOTS };

	return ews_snapshot_keep(&chain->parent, session->repo, batch, now, &keep);
}
