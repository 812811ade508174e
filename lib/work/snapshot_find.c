/*
 * Snapshots that are there: what their commits say, and how one, or a session's, are found. See snapshot.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/commit.h"
#include "work/artifact_record.h"
#include "work/head.h"
#include "work/roster.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_place.h"
#include "work/snapshot_rewritten.h"

#define REF_ROOT "refs/ews/"

void ews_snapshot_release(struct ews_snapshot *snapshot)
{
	free(snapshot->id);
	free(snapshot->ref);
	free(snapshot->session);
	free(snapshot->worktree);
	free(snapshot->worktree_mark);
	free(snapshot->method);
	free(snapshot->subject);
	free(snapshot->parent);
	free(snapshot->hash);
	free(snapshot->branch);
	free(snapshot->shares_with);
	*snapshot = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
}

void ews_snapshots_release(struct ews_snapshots *list)
{
	for (size_t i = 0; i < list->n; i++)
		ews_snapshot_release(&list->items[i]);
	free(list->items);
	ews_strv_release(&list->damaged);
	*list = (struct ews_snapshots)EWS_SNAPSHOTS_INIT;
}

static char *copy_text(const char *text)
{
	return text ? ews_strdup(text) : NULL;
}

void ews_snapshot_copy(struct ews_snapshot *out, const struct ews_snapshot *from)
{
	*out = *from;
	out->id = copy_text(from->id);
	out->ref = copy_text(from->ref);
	out->session = copy_text(from->session);
	out->worktree = copy_text(from->worktree);
	out->worktree_mark = copy_text(from->worktree_mark);
	out->method = copy_text(from->method);
	out->subject = copy_text(from->subject);
	out->parent = copy_text(from->parent);
	out->hash = copy_text(from->hash);
	out->branch = copy_text(from->branch);
	out->shares_with = copy_text(from->shares_with);
}

static uint64_t number_trailer(const char *message, const char *key)
{
	EWS_CLEANUP(free) char *text = ews_commit_trailer(message, key);

	return strtoull(text, NULL, 10);
}

static char *subject_of(const char *message)
{
	const char *last = NULL;

	for (const char *at = strstr(message, "\n\n"); at; at = strstr(at + 2, "\n\n"))
		if (at[2])
			last = at;
	if (last)
		return ews_strndup(message, (size_t)(last - message));
	return ews_strndup(message, strcspn(message, "\n"));
}

static bool is_trash(const char *ref)
{
	return ews_str_begins(ref, EWS_REF_TRASH);
}

bool ews_snapshot_is_in_trash(const struct ews_snapshot *snapshot)
{
	return snapshot->ref && is_trash(snapshot->ref);
}

bool ews_snapshot_is_of_project(const struct ews_snapshot *snapshot, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *worktree = ews_repo_worktree(repo);

	/* One that was taken out and added anew has the name of the former one. */
	return !*snapshot->session && !strcmp(snapshot->worktree, worktree) &&
	       !ews_repo_is_another(repo, snapshot->worktree_mark, snapshot->created_s);
}

/* What the commit `oid` says of itself. A commit without our trailers is a plain revision. */
static int describe(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_oid *oid, const char *ref)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	EWS_CLEANUP(free) char *head = NULL;
	EWS_CLEANUP(free) char *stamp = NULL;
	int rc = ews_odb_read_commit(&commit, repo->odb, oid);

	if (rc < 0)
		return rc;
	out->commit = *oid;
	out->tree = commit.tree;
	out->created_s = commit.time;
	out->ref = ews_strdup(ref);
	out->id = ews_commit_trailer(commit.message, "Ews-Snapshot");
	if (!*out->id || !commit.n_parents) {
		char hex[EWS_OID_HEX_MAX];

		free(out->id);
		out->id = ews_strdup(is_trash(ref) ? ref + strlen(EWS_REF_TRASH) : ews_oid_hex(hex, oid));
		out->session = ews_strdup("");
		out->worktree = ews_strdup("");
		out->worktree_mark = ews_strdup("");
		out->method = ews_strdup("");
		out->parent = ews_strdup("");
		out->hash = ews_strdup("");
		out->subject = ews_strndup(commit.message, strcspn(commit.message, "\n"));
		out->head = *oid;
		return 0;
	}
	out->session = ews_commit_trailer(commit.message, "Ews-Session");
	out->worktree = ews_commit_trailer(commit.message, "Ews-Worktree");
	out->worktree_mark = ews_commit_trailer(commit.message, "Ews-Worktree-Mark");
	out->method = ews_commit_trailer(commit.message, "Ews-Method");
	out->parent = ews_commit_trailer(commit.message, "Ews-Parent");
	out->hash = ews_commit_trailer(commit.message, "Ews-Hash");
	out->subject = subject_of(commit.message);
	out->files = number_trailer(commit.message, "Ews-Files");
	out->bytes = number_trailer(commit.message, "Ews-Bytes");
	out->unseen = number_trailer(commit.message, "Ews-Unseen");
	out->traced = number_trailer(commit.message, "Ews-Traced");
	out->branch = ews_commit_trailer(commit.message, "Ews-Branch");
	out->manifest = commit.parents[commit.n_parents - 1];
	stamp = ews_commit_trailer(commit.message, "Ews-Time");
	if (strchr(stamp, '.'))
		out->created_ns = (uint32_t)strtoul(strchr(stamp, '.') + 1, NULL, 10);
	head = ews_commit_trailer(commit.message, "Ews-Head");
	out->is_head_damaged = !strcmp(head, EWS_HEAD_DAMAGED_WORD);
	if (*head && strcmp(head, EWS_HEAD_UNBORN_WORD) != 0 && !out->is_head_damaged &&
	    ews_oid_parse(&out->head, head) < 0)
		return ews_error_wrap("snapshot '%s'", out->id);
	return ews_rewritten_settle(out, repo, &commit);
}

static bool is_git_name(const char *name)
{
	return !strcmp(name, "HEAD") || ews_str_begins(name, "HEAD^") || ews_str_begins(name, "HEAD~") ||
	       ews_str_begins(name, "HEAD@") || ews_str_begins(name, "refs/") || strstr(name, "^{");
}

int ews_snapshot_read(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_ref *ref)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot found = EWS_SNAPSHOT_INIT;
	int rc = describe(&found, repo, &ref->oid, ref->name);

	if (rc < 0)
		return rc;
	*out = found;
	found = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
	return 0;
}

/* Does `id`, the last part of a ref's name or a base's own, begin with `name`? */
static bool fits(const char *id, const char *name)
{
	return *name && ews_str_begins(id, name);
}

/* Where a snapshot is filed under its own id, or its session's. */
static const char *const prefixes[] = { EWS_REF_SESSIONS, EWS_REF_SNAPSHOTS, EWS_REF_TRASH };

/* All refs below which there may be one: artifacts are the most of them, and each is a file to be read. */
static int list_refs(struct ews_refs *out, struct ews_repo *repo)
{
	return ews_odb_ref_list_but(out, repo->odb, REF_ROOT, EWS_REF_ARTIFACTS);
}

/* What lies deeper in trash is no snapshot. */
static const char *id_in_ref(const char *ref)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *id = ews_str_after(ref, prefixes[i]);

		if (id && !strchr(id, '/'))
			return id;
	}
	return "";
}

/* Bases, and what is pending, are filed under their session; to find one by its own id their commits are read. */
static int find_base_by_id(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_refs *refs,
			   const char *name)
{
	for (size_t i = 0; i < refs->n; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot one = EWS_SNAPSHOT_INIT;
		int rc;

		if (!ews_str_begins(refs->items[i].name, EWS_REF_SESSIONS) &&
		    !ews_str_begins(refs->items[i].name, EWS_REF_PENDING))
			continue;
		rc = ews_snapshot_read(&one, repo, &refs->items[i]);
		/* Of one that can't be read just now nobody knows whether it is this. */
		if (rc == EWS_EIO)
			return rc;
		if (rc < 0 || !fits(one.id, name)) {
			ews_error_clear();
			continue;
		}
		*out = one;
		one = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
		return 1;
	}
	return 0;
}

/* Mostly the whole id is given: to look through all of them takes longer the more there are. Returns 1 when there is one. */
static int find_by_whole_name(struct ews_snapshot *out, struct ews_repo *repo, const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes) && *name && !strchr(name, '/'); i++) {
		EWS_CLEANUP(free) char *full = ews_strfmt("%s%s", prefixes[i], name);
		struct ews_ref ref = { .name = full, .oid = EWS_OID_NONE };
		int rc = ews_odb_ref_read(&ref.oid, repo->odb, full);

		if (rc == 0) {
			rc = ews_snapshot_read(out, repo, &ref);
			return rc < 0 ? rc : 1;
		}
		/* A broken one names nothing; of what can't be read now nobody knows what it names. */
		if (rc != EWS_ENOTFOUND && rc != EWS_EGIT)
			return rc;
		ews_error_clear();
	}
	return 0;
}

/* An exact id is no other's beginning: that of a session that has ended is not taken for the snapshot whose id begins so. */
static int refuse_ended(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_session_ids(&ids, repo);

	return rc == 0 && ews_strv_sorted_has(&ids, name) ? ews_session_fail_ended(name) : rc;
}

static int find_among_ours(struct ews_snapshot *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	const struct ews_ref *best = NULL;
	size_t n = 0;
	int rc = find_by_whole_name(out, repo, name);

	if (rc == 0)
		rc = list_refs(&refs, repo);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < refs.n; i++) {
		if (!fits(id_in_ref(refs.items[i].name), name))
			continue;
		best = &refs.items[i];
		n++;
	}
	rc = n ? refuse_ended(repo, name) : 0;
	if (rc < 0)
		return rc;
	if (n > 1) {
		ews_error(EWS_EUSAGE, "'%s' may mean several snapshots or sessions", name);
		ews_error_hint("give more of the id; 'git ews snapshot list --all' shows them");
		return EWS_EUSAGE;
	}
	if (n == 1) {
		rc = ews_snapshot_read(out, repo, best);
		return rc < 0 ? rc : 1;
	}
	return !ews_str_begins(name, "snap-") ? 0 : find_base_by_id(out, repo, &refs, name);
}

int ews_snapshot_find(struct ews_snapshot *out, struct ews_repo *repo, const char *name)
{
	struct ews_oid oid;
	int rc = is_git_name(name) ? 0 : find_among_ours(out, repo, name);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = *name == '-' ? EWS_ENOTFOUND : ews_odb_resolve_commit(&oid, repo->odb, name);
	if (rc == 0)
		return describe(out, repo, &oid, "");
	if (rc != EWS_ENOTFOUND)
		return rc;
	if (!strcmp(name, "now")) {
		ews_error(EWS_EUSAGE, "the present state ('now') is no snapshot");
		ews_error_hint("'git ews snapshot create' makes one");
		return EWS_EUSAGE;
	}
	ews_error(EWS_ENOTFOUND, "no snapshot, session or revision '%s'", name);
	if (!ews_session_hint_former(repo))
		ews_error_hint("'git ews snapshot list --all' shows the snapshots");
	return EWS_ENOTFOUND;
}

int ews_snapshot_base(struct ews_snapshot *out, const struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", session->state.id);
	EWS_CLEANUP(free) char *ended = ews_strfmt(EWS_REF_TRASH "%s", session->state.base_snapshot);
	EWS_CLEANUP(refs) struct ews_refs pending = EWS_REFS_INIT;
	struct ews_ref found = { .name = ref, .oid = EWS_OID_NONE };
	int rc = ews_odb_ref_read(&found.oid, session->repo->odb, ref);

	if (rc == EWS_ENOTFOUND && session->state.state == EWS_STATE_ENDED) {
		found.name = ended;
		rc = ews_odb_ref_read(&found.oid, session->repo->odb, ended);
		if (rc == EWS_ENOTFOUND) {
			rc = ews_odb_ref_list(&pending, session->repo->odb, EWS_REF_PENDING);
			if (rc == 0)
				rc = find_base_by_id(out, session->repo, &pending, session->state.base_snapshot);
			if (rc == 1)
				return 0;
			rc = rc < 0 ? rc : EWS_ENOTFOUND;
		}
	}
	/* What can't be read just now is not gone. */
	if (rc < 0 && rc != EWS_ENOTFOUND && rc != EWS_EGIT)
		return rc;
	if (rc < 0) {
		found.name = ref;
		rc = ews_session_need_base(session);
		if (rc == 0)
			rc = ews_odb_ref_read(&found.oid, session->repo->odb, ref);
	}
	return rc < 0 ? rc : ews_snapshot_read(out, session->repo, &found);
}

static int cmp_by_time(const void *a, const void *b)
{
	const struct ews_snapshot *x = a, *y = b;

	if (x->created_s != y->created_s)
		return x->created_s < y->created_s ? -1 : 1;
	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? -1 : 1;
	return strcmp(x->id, y->id);
}

void ews_snapshots_sort(struct ews_snapshots *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), cmp_by_time);
}

static void add(struct ews_snapshots *out, struct ews_snapshot *snapshot)
{
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] = *snapshot;
	*snapshot = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
}

/* One that can't be read is named, and is no reason to know nothing of all others. Returns whether it could be. */
static bool read_or_name(struct ews_snapshot *one, struct ews_snapshots *out, struct ews_repo *repo,
			 const struct ews_ref *ref)
{
	if (ews_snapshot_read(one, repo, ref) == 0)
		return true;
	ews_path_line_add(&out->damaged, ref->name, ews_error_message());
	ews_error_clear();
	return false;
}

static bool is_asked_for(const char *ref, bool in_trash)
{
	return *id_in_ref(ref) && is_trash(ref) == in_trash;
}

static int list_all(struct ews_snapshots *out, struct ews_repo *repo, bool in_trash)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = list_refs(&refs, repo);

	for (size_t i = 0; i < refs.n && rc == 0; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot one = EWS_SNAPSHOT_INIT;

		if (!is_asked_for(refs.items[i].name, in_trash))
			continue;
		if (read_or_name(&one, out, repo, &refs.items[i]))
			add(out, &one);
	}
	return rc;
}

/* Those that the roster gives to others are not looked at; of those that it doesn't know it is told. */
static int list_of_session(struct ews_snapshots *out, struct ews_repo *repo, const char *session, bool in_trash)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	EWS_CLEANUP(roster) struct ews_roster roster = EWS_ROSTER_INIT;
	int rc = ews_odb_ref_names(&refs, repo->odb, REF_ROOT);

	if (rc == 0)
		ews_roster_read(&roster, repo);
	for (size_t i = 0; i < refs.n && rc == 0; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot one = EWS_SNAPSHOT_INIT;
		struct ews_ref *ref = &refs.items[i];
		const char *known;

		if (!is_asked_for(ref->name, in_trash))
			continue;
		known = ews_roster_session(&roster, ref->name);
		if (known && strcmp(known, session) != 0)
			continue;
		rc = ews_odb_ref_read(&ref->oid, repo->odb, ref->name);
		/* Dropped meanwhile, or broken, as for who lists all. */
		if (rc == EWS_ENOTFOUND || rc == EWS_EGIT) {
			ews_error_clear();
			rc = 0;
			continue;
		}
		if (rc < 0)
			return rc;
		if (!read_or_name(&one, out, repo, ref))
			continue;
		if (!known)
			ews_roster_add(&roster, ref->name, one.session);
		if (*session ? !strcmp(one.session, session) : ews_snapshot_is_of_project(&one, repo))
			add(out, &one);
	}
	if (rc == 0)
		ews_roster_write(&roster, repo, &refs);
	return rc;
}

int ews_snapshot_list(struct ews_snapshots *out, struct ews_repo *repo, const char *session, unsigned flags)
{
	bool in_trash = flags & EWS_SNAPSHOTS_IN_TRASH;
	int rc = flags & EWS_SNAPSHOTS_OF_ALL ? list_all(out, repo, in_trash)
					      : list_of_session(out, repo, session ? session : "", in_trash);

	if (rc == 0)
		ews_snapshots_sort(out);
	return rc;
}
