/*
 * Snapshots: see snapshot.h. Here they are taken of what stands there now, moved and dropped.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/hardlink.h"
#include "store/journal.h"
#include "work/history.h"
#include "work/ignored.h"

/* The newest state in the lineage: what a new snapshot has as its parent. Returns 0 when there is none. */
static int find_parent(struct ews_snapshot *out, struct ews_repo *repo, struct ews_session *session)
{
	EWS_CLEANUP(snapshots) struct ews_snapshots list = EWS_SNAPSHOTS_INIT;
	int rc;

	if (session && *session->state.last_snapshot) {
		EWS_CLEANUP(free) char *name = ews_strfmt(EWS_REF_SNAPSHOTS "%s", session->state.last_snapshot);
		struct ews_ref ref = { .name = name, .oid = EWS_OID_NONE };

		/* Mostly it is where it was put; to look for it takes longer the more there are. */
		if (ews_odb_ref_read(&ref.oid, repo->odb, name) == 0 && ews_snapshot_read(out, repo, &ref) == 0)
			return 1;
		ews_error_clear();
		rc = ews_snapshot_find(out, repo, session->state.last_snapshot);
		if (rc == 0 && strncmp(out->ref, EWS_REF_TRASH, strlen(EWS_REF_TRASH)))
			return 1;
		ews_snapshot_release(out);
		ews_error_clear();
	}
	rc = ews_snapshot_list(&list, repo, session ? session->state.id : NULL, false, false);
	if (rc < 0 || !list.n)
		return rc;
	*out = list.items[list.n - 1];
	list.n--;
	return 1;
}

static bool is_same(struct ews_repo *repo, const struct ews_snapshot *parent, const struct ews_content *content)
{
	EWS_CLEANUP(content) struct ews_content old = EWS_CONTENT_INIT;
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;

	if (strcmp(parent->hash, content->hash) || ews_snapshot_content(&old, repo, parent) < 0) {
		ews_error_clear();
		return false;
	}
	ews_gitstate_differences(&differences, &old.git, &content->git);
	return differences.n == 0 && ews_hardlinks_equal(&old.scan.entries, &content->scan.entries);
}

/* What `content` did not look at, because it looked at `only` alone, is what `from` has there. */
static int take_over(struct ews_content *content, struct ews_repo *repo, const struct ews_snapshot *from,
		     const char *const *only)
{
	EWS_CLEANUP(content) struct ews_content old = EWS_CONTENT_INIT;
	EWS_CLEANUP(entries) struct ews_entries there = content->scan.entries;
	struct ews_scan *scan = &content->scan;
	int rc;

	scan->entries = (struct ews_entries)EWS_ENTRIES_INIT;
	rc = ews_snapshot_content(&old, repo, from);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < there.n; i++)
		ews_entries_add_copy(&scan->entries, &there.items[i]);
	for (size_t i = 0; i < old.scan.entries.n; i++) {
		const struct ews_entry *entry = &old.scan.entries.items[i];

		/* the directories above what was looked at are in both */
		if (ews_path_is_inside_any(entry->path, only) || ews_entries_find(&there, entry->path))
			continue;
		ews_entries_add_copy(&scan->entries, entry);
		if (entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK) {
			scan->n_files++;
			scan->size_bytes += entry->size;
		}
	}
	for (size_t i = 0; i < old.scan.skips.n; i++) {
		const struct ews_skip *skip = &old.scan.skips.items[i];

		if (!ews_path_is_inside_any(skip->path, only))
			ews_skips_add(&scan->skips, skip->path, skip->reason, skip->size);
	}
	ews_entries_sort(&scan->entries);
	ews_hardlinks_take_over(&scan->entries, &old.scan.entries, only);
	ews_skips_sort(&scan->skips);
	ews_manifest_hash(content->hash, &scan->entries);
	return 0;
}

int ews_snapshot_create(struct ews_snapshot *out, struct ews_skips *skips, struct ews_repo *repo,
			struct ews_session *session, const struct ews_snapshot_create_opts *opts)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(content) struct ews_content base_content = EWS_CONTENT_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot parent = EWS_SNAPSHOT_INIT;
	struct ews_snapshot_reading reading = { .out = &base_content, .repo = repo, .snapshot = &base };
	struct ews_content_opts now_opts = { .with_ignored = opts->with_ignored,
					     .into_repositories = !session,
					     .partial = opts->partial,
					     .only = opts->only,
					     .progress = opts->progress,
					     .payload = opts->payload };
	bool has_parent;
	struct ews_snapshot_opts keep = {
		.session = session, .subject = opts->subject, .prefix = EWS_REF_SNAPSHOTS, .formats_cache = true
	};
	int rc = ews_repo_need_dir(repo, true);

	if (rc == 0 && session)
		rc = ews_session_lock(session, "snapshot create");
	if (rc == 0 && session) {
		rc = ews_snapshot_base(&base, session);
		if (rc == 0)
			rc = ews_snapshot_reading_begin(&reading);
		now_opts.known = &base_content;
		now_opts.read_known = ews_snapshot_reading_finish;
		now_opts.known_payload = &reading;
		now_opts.known_may_wait = true;
	}
	if (rc == 0)
		rc = find_parent(&parent, repo, session);
	if (rc < 0)
		return rc;
	has_parent = rc == 1;
	/* The first state of a project is a whole one. */
	if (!has_parent && !session)
		now_opts.only = NULL;
	rc = ews_content_now(&content, repo, session, batch, &now_opts);
	if (rc == 0 && session)
		rc = ews_ignored_settle(&content, session);
	if (rc == 0 && session)
		rc = ews_history_adopt(session, &content.git);
	if (rc >= 0 && now_opts.only)
		rc = take_over(&content, repo, has_parent ? &parent : &base, now_opts.only);
	if (rc < 0)
		return rc;
	rc = 0; /* whatever was adopted */
	if (has_parent) {
		if (opts->if_changed && is_same(repo, &parent, &content)) {
			*out = parent;
			parent = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
			return 0;
		}
		keep.parent = parent.id;
	}
	if (has_parent && (!session || !strcmp(parent.hash, content.hash))) {
		keep.like = &parent;
	} else if (session) {
		keep.like = &base;
		keep.like_content = &base_content;
		/* One hash, one tree. */
		if (strcmp(base.hash, content.hash) != 0)
			rc = ews_snapshot_reading_finish(&reading);
	}
	if (rc == 0)
		rc = ews_snapshot_keep(out, repo, batch, &content, &keep);
	if (rc < 0)
		return rc;
	if (session) {
		free(session->state.last_snapshot);
		session->state.last_snapshot = ews_strdup(out->id);
		rc = ews_session_save(session);
	}
	if (rc == 0)
		rc = ews_content_save_cache(&content, repo, session);
	if (rc < 0)
		return rc;
	if (skips) {
		*skips = content.scan.skips;
		content.scan.skips = (struct ews_skips)EWS_SKIPS_INIT;
	}
	return 1;
}

int ews_snapshot_move(struct ews_repo *repo, const char *from, const char *to, const struct ews_oid *oid)
{
	const struct ews_oid none = EWS_OID_NONE;
	struct ews_oid there;
	int rc = ews_odb_ref_read(&there, repo->odb, to);

	/* New name first: a crash between the two leaves both, never none. */
	if (rc == EWS_ENOTFOUND)
		rc = ews_odb_ref_swap(repo->odb, to, &none, oid);
	else if (rc == 0 && !ews_oid_equal(&there, oid))
		rc = ews_error(EWS_EEXISTS, "the ref '%s' holds something else", to);
	if (rc == 0)
		rc = ews_odb_ref_read(&there, repo->odb, from);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? rc : ews_odb_ref_swap(repo->odb, from, oid, &none);
}

int ews_snapshot_move_all(struct ews_repo *repo, const struct ews_step *step, bool back)
{
	for (size_t i = 0; i < step->refs.n; i++) {
		EWS_CLEANUP(free) char *line = ews_strdup(step->refs.items[i]);
		char *to = strchr(line, ' ');
		char *hex = to ? strchr(to + 1, ' ') : NULL;
		struct ews_oid oid;
		int rc;

		if (!hex)
			return ews_error(EWS_EDAMAGED, "step '%s' names a ref that makes no sense", step->id);
		*to++ = '\0';
		*hex++ = '\0';
		if (strncmp(line, "refs/ews/", 9) || strncmp(to, "refs/ews/", 9))
			return ews_error(EWS_EDAMAGED, "step '%s' names a ref that is not ours", step->id);
		rc = ews_oid_parse(&oid, hex);
		if (rc == 0)
			rc = ews_snapshot_move(repo, back ? to : line, back ? line : to, &oid);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int ews_snapshot_carry_out(struct ews_repo *repo, struct ews_step *step)
{
	int rc = ews_step_write(repo->dir_fd, step);

	if (rc == 0)
		rc = ews_snapshot_move_all(repo, step, false);
	if (rc < 0)
		return rc;
	step->state = EWS_STEP_DONE;
	return ews_step_write(repo->dir_fd, step);
}

int ews_snapshot_drop(struct ews_repo *repo, const struct ews_snapshot *const *snapshots, size_t n)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc = ews_repo_need_dir(repo, true);

	for (size_t i = 0; i < n && rc == 0; i++) {
		if (!strncmp(snapshots[i]->ref, EWS_REF_SNAPSHOTS, strlen(EWS_REF_SNAPSHOTS)))
			continue;
		if (!strncmp(snapshots[i]->ref, EWS_REF_SESSIONS, strlen(EWS_REF_SESSIONS)))
			rc = ews_error(EWS_EBUSY, "'%s' is the base of a session, which lives as long as it does",
				       snapshots[i]->id);
		else
			rc = ews_error(EWS_EUSAGE, "'%s' is no snapshot that could be dropped", snapshots[i]->id);
		ews_error_hint("'git ews snapshot list' shows what can be dropped");
	}
	if (rc == 0)
		rc = ews_step_init(&step, repo->dir_fd, "drop", n == 1 ? snapshots[0]->session : NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		char hex[EWS_OID_HEX_MAX];

		ews_strv_addf(&step.refs, "%s " EWS_REF_TRASH "%s %s", snapshots[i]->ref, snapshots[i]->id,
			      ews_oid_hex(hex, &snapshots[i]->commit));
	}
	return ews_snapshot_carry_out(repo, &step);
}
