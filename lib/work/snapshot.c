/*
 * Snapshots: see snapshot.h. Here they are taken of what stands there now, and dropped.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/hardlink.h"
#include "store/lock.h"
#include "store/step.h"
#include "store/tree.h"
#include "work/drop.h"
#include "work/history.h"
#include "work/ignored.h"
#include "work/look.h"
#include "work/session_lock.h"
#include "work/session_place.h"
#include "work/step_refs.h"

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
		if (rc == 0 && !ews_snapshot_is_in_trash(out))
			return 1;
		ews_snapshot_release(out);
		ews_error_clear();
	}
	rc = ews_snapshot_list(&list, repo, session ? session->state.id : NULL, 0);
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
	return differences.n == 0 && !ews_content_root_mode_differs(content, &old) &&
	       !ews_content_root_xattrs_differ(content, &old) &&
	       ews_hardlinks_equal(&old.scan.entries, &content->scan.entries);
}

/* What `content` did not look at, because it looked at `only` alone, is what `from` has there. */
static int take_over(struct ews_content *content, struct ews_repo *repo, const struct ews_snapshot *from,
		     const char *const *only)
{
	EWS_CLEANUP(content) struct ews_content old = EWS_CONTENT_INIT;
	EWS_CLEANUP(entries) struct ews_entries there = EWS_ENTRIES_INIT;
	struct ews_scan *scan = &content->scan;
	int rc = ews_snapshot_content(&old, repo, from);

	if (rc == 0)
		rc = ews_content_check_only(content, &old, only, NULL);
	if (rc < 0)
		return rc;
	there = scan->entries;
	scan->entries = (struct ews_entries)EWS_ENTRIES_INIT;
	ews_entries_add_all(&scan->entries, &there);
	for (size_t i = 0; i < old.scan.entries.n; i++) {
		const struct ews_entry *entry = &old.scan.entries.items[i];

		/* the directories above what was looked at are in both */
		if (ews_path_is_inside_any(entry->path, only) || ews_entries_find(&there, entry->path))
			continue;
		ews_entries_add_copy(&scan->entries, entry);
	}
	for (size_t i = 0; i < old.scan.skips.n; i++) {
		const struct ews_skip *skip = &old.scan.skips.items[i];

		if (!ews_path_is_inside_any(skip->path, only))
			ews_skips_add(&scan->skips, skip->path, skip->reason, skip->size)->is_gone = skip->is_gone;
	}
	ews_entries_sort(&scan->entries);
	ews_scan_count(scan);
	ews_hardlinks_take_over(&scan->entries, &old.scan.entries, only);
	ews_skips_sort(&scan->skips);
	ews_manifest_hash(content->hash, &scan->entries);
	return 0;
}

/* A snapshot on its way. */
struct taking {
	struct ews_repo *repo;
	struct ews_session *session; /* NULL: of the project */
	const struct ews_snapshot_create_opts *opts;
	struct ews_snapshot base; /* the session's */
	struct ews_content base_content;
	struct ews_snapshot_reading reading; /* of that, once it is wanted */
	struct ews_snapshot parent;
	bool has_parent;
	struct ews_content content;
	size_t n_traced; /* paths of the parent's in what is ignored */
	struct ews_sync_group group; /* the new ref */
};

static void release_taking(struct taking *taking)
{
	ews_snapshot_release(&taking->base);
	ews_content_release(&taking->base_content);
	ews_snapshot_release(&taking->parent);
	ews_content_release(&taking->content);
	ews_sync_group_release(&taking->group);
}

EWS_CLEANUP_DEFINE(taking, struct taking, release_taking)

/* The states that it comes after. */
static int find_earlier(struct taking *taking)
{
	struct ews_session *session = taking->session;
	bool looks_early = session && !taking->opts->only;
	int rc = 0;

	if (looks_early)
		ews_session_read_early(session);
	if (session)
		rc = ews_session_lock_settled(session, "snapshot create");
	if (rc == 0 && session)
		rc = ews_session_refuse_ended(session);
	if (rc == 0 && looks_early)
		ews_session_look_early(session);
	if (rc == 0 && session)
		rc = ews_snapshot_base(&taking->base, session);
	if (rc == 0 && session)
		rc = ews_snapshot_reading_begin(&taking->reading);
	if (rc == 0)
		rc = find_parent(&taking->parent, taking->repo, session);
	taking->has_parent = rc == 1;
	return rc < 0 ? rc : 0;
}

/* Has the parent anything where something is ignored by now, or does it trace what was there? Its tree tells quickly. */
static bool may_say_gone(const struct taking *taking)
{
	const struct ews_skips *skips = &taking->content.scan.skips;
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	EWS_CLEANUP(free) struct ews_oid *oids = ews_calloc(2 * skips->n + 1, sizeof(*oids));
	bool has_any = taking->parent.traced > 0;

	for (size_t i = 0; i < skips->n; i++) {
		if (skips->items[i].reason != EWS_SKIP_IGNORED && !ews_skip_is_present(skips->items[i].reason))
			continue;
		ews_strv_add(&paths, skips->items[i].path);
		ews_strv_addf(&paths, "%s/", skips->items[i].path);
	}
	ews_strv_sort(&paths);
	if (ews_tree_find(oids, taking->repo->odb, &taking->parent.tree, (const char *const *)paths.items, paths.n) <
	    0)
		ews_error_clear(); /* then nothing is said */
	for (size_t i = 0; i < paths.n && !has_any; i++)
		has_any = !ews_oid_is_none(&oids[i]);
	return has_any;
}

/* Nobody looks at what is ignored; but of what the state before had there it is to be said when it is gone. */
static int note_gone(struct taking *taking)
{
	EWS_CLEANUP(content) struct ews_content before = EWS_CONTENT_INIT;
	EWS_CLEANUP(fd) int root_fd = -1;

	/* What the base has was looked at. */
	if (!taking->has_parent || ews_oid_equal(&taking->parent.commit, &taking->base.commit) ||
	    !may_say_gone(taking))
		return 0;
	if (ews_snapshot_content(&before, taking->repo, &taking->parent) < 0) {
		ews_error_clear(); /* then nothing is said */
		return 0;
	}
	root_fd = taking->session ? ews_session_open_workspace(taking->session) : ews_dir_open(taking->repo->project);
	if (root_fd < 0)
		return root_fd;
	taking->n_traced = ews_ignored_note_gone(&taking->content.scan, &before.scan, root_fd);
	return 0;
}

/* What stands there now. */
static int look(struct taking *taking, struct ews_batch *batch)
{
	struct ews_session *session = taking->session;
	const struct ews_snapshot_create_opts *opts = taking->opts;
	/* The first state of a project is a whole one. */
	const char *const *only = taking->has_parent || session ? opts->only : NULL;
	const struct ews_content_opts now = { .with_ignored = opts->with_ignored,
					      .into_repositories = !session,
					      .partial = opts->partial,
					      .only = only,
					      .known = session ? &taking->base_content : NULL,
					      .read_known = session ? ews_snapshot_reading_finish : NULL,
					      .known_payload = &taking->reading,
					      .known_may_wait = session,
					      .hash_may_wait = !opts->if_changed,
					      .index_may_wait = !opts->if_changed,
					      .progress = opts->progress,
					      .payload = opts->payload };
	int rc = ews_content_now(&taking->content, taking->repo, session, batch, &now);

	if (rc == 0 && session)
		rc = ews_ignored_settle(&taking->content, session, &taking->base_content,
					ews_snapshot_reading_finish, &taking->reading, true);
	if (rc == 0 && session)
		rc = ews_history_adopt(session, NULL, &taking->content.git);
	if (rc >= 0 && only)
		rc = take_over(&taking->content, taking->repo, taking->has_parent ? &taking->parent : &taking->base,
			       only);
	else if (rc >= 0)
		rc = ews_content_check_only(&taking->content, NULL, opts->only, NULL);
	return rc < 0 ? rc : note_gone(taking);
}

/* Keep it, with what it shares with a state before it; its ref is the group's. */
static int keep(struct ews_snapshot *out, struct taking *taking, struct ews_batch *batch)
{
	struct ews_snapshot_opts opts = { .session = taking->session,
					  .subject = taking->opts->subject,
					  .parent = taking->has_parent ? taking->parent.id : NULL,
					  .prefix = EWS_REF_SNAPSHOTS,
					  .traced = taking->n_traced,
					  .is_as_found = !taking->opts->only,
					  .formats_cache = true,
					  .group = &taking->group };

	if (taking->has_parent && (!taking->session || ews_content_has_hash(&taking->content, taking->parent.hash))) {
		opts.like = &taking->parent;
	} else if (taking->session) {
		opts.like = &taking->base;
		opts.like_content = &taking->base_content;
		opts.like_goes = true;
		opts.read_like = ews_snapshot_reading_finish;
		opts.like_payload = &taking->reading;
	}
	return ews_snapshot_keep(out, taking->repo, batch, &taking->content, &opts);
}

static int name_last(struct ews_session *session, const char *id)
{
	char *last = ews_strdup(id);

	free(session->state.last_snapshot);
	session->state.last_snapshot = last;
	return ews_session_save(session);
}

/* Name it in the session, after its ref, and remember what was read for it. */
static int note(struct taking *taking, const struct ews_snapshot *taken)
{
	struct ews_session *session = taking->session;
	EWS_CLEANUP(free) char *before = ews_strdup(session ? session->state.last_snapshot : "");
	struct ews_error_saved stale = EWS_ERROR_SAVED_INIT;
	int rc = 0;

	if (session) {
		ews_sync_next_stage(&taking->group);
		rc = name_last(session, taken->id);
	}
	if (rc == 0)
		rc = ews_odb_finish_group(taking->repo->odb, &taking->group);
	if (rc == 0)
		rc = ews_snapshot_confirm(taking->repo, taken);
	if (rc == EWS_ESTALE && session) {
		ews_error_save(&stale);
		(void)name_last(session, before); /* what is told is what comes first */
		return ews_error_restore(&stale);
	}
	return rc < 0 ? rc : ews_content_save_cache(&taking->content, taking->repo, session);
}

int ews_snapshot_create(struct ews_snapshot *out, struct ews_skips *skips, struct ews_repo *repo,
			struct ews_session *session, const struct ews_snapshot_create_opts *opts)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(taking)
	struct taking taking = { .repo = repo,
				 .session = session,
				 .opts = opts,
				 .base_content = EWS_CONTENT_INIT,
				 .reading = { .out = &taking.base_content,
					      .repo = repo,
					      .snapshot = &taking.base,
					      .without_index = true },
				 .content = EWS_CONTENT_INIT,
				 .group = EWS_SYNC_GROUP_INIT };
	int rc = ews_repo_make_dir(repo);

	if (rc == 0)
		rc = find_earlier(&taking);
	if (rc == 0)
		rc = look(&taking, batch);
	if (rc < 0)
		return rc;
	if (taking.has_parent && opts->if_changed && is_same(repo, &taking.parent, &taking.content)) {
		*out = taking.parent;
		taking.parent = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
	} else {
		rc = keep(out, &taking, batch);
		if (rc == 0)
			rc = note(&taking, out);
		if (rc < 0)
			return rc;
		rc = 1;
	}
	if (skips) {
		*skips = taking.content.scan.skips;
		taking.content.scan.skips = (struct ews_skips)EWS_SKIPS_INIT;
	}
	return rc;
}

int ews_snapshot_is_begun_with(struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(free) char *name = ews_strfmt(EWS_REF_SESSIONS "%s", snapshot->session);
	struct ews_ref ref = { .name = name, .oid = EWS_OID_NONE };
	int rc = *snapshot->session ? ews_odb_ref_read(&ref.oid, repo->odb, name) : EWS_ENOTFOUND;

	if (rc == 0)
		rc = ews_snapshot_read(&base, repo, &ref);
	if (rc < 0)
		return ews_error_if_passing(rc);
	return !strcmp(base.parent, snapshot->id);
}

/* What a session lives by is not dropped before it ends; what is no snapshot never. */
static int check_drop(struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	const char *id = snapshot->id;
	int rc;

	if (ews_str_begins(snapshot->ref, EWS_REF_SESSIONS)) {
		ews_error(EWS_EBUSY, "'%s' is the base of a session, which lives as long as it does", id);
		ews_error_hint("it goes with the session: 'git ews end %s'", snapshot->session);
		return EWS_EBUSY;
	}
	if (!ews_str_begins(snapshot->ref, EWS_REF_SNAPSHOTS)) {
		ews_error(EWS_EUSAGE, "'%s' is no snapshot that could be dropped", id);
		ews_error_hint("what is in trash goes when 'git ews clean' lets go of it");
		return EWS_EUSAGE;
	}
	rc = ews_snapshot_is_begun_with(repo, snapshot);
	if (rc <= 0)
		return rc;
	ews_error(EWS_EBUSY, "'%s' is what session '%s' began with, and stays as long as that lives", id,
		  snapshot->session);
	ews_error_hint("it can be dropped once the session has ended: 'git ews end %s'", snapshot->session);
	return EWS_EBUSY;
}

int ews_snapshot_drop(struct ews_repo *repo, const struct ews_snapshot *const *snapshots, size_t n)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_make_dir(repo);

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = check_drop(repo, snapshots[i]);
	/* Who finds the step unfinished while nobody holds that takes it for one that was killed. */
	if (rc == 0)
		rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "drop", EWS_LOCK_PROJECT_WAIT_MS);
	if (rc == 0)
		rc = ews_step_init(&step, repo->dir_fd, "drop", n == 1 ? snapshots[0]->session : NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		char hex[EWS_OID_HEX_MAX];

		ews_strv_addf(&step.refs, "%s " EWS_REF_TRASH "%s %s", snapshots[i]->ref, snapshots[i]->id,
			      ews_oid_hex(hex, &snapshots[i]->commit));
	}
	return ews_drop(repo, &step, ews_step_refs_move);
}
