/*
 * Writing a snapshot: see snapshot.h. snapshot_content.c reads what is written here.
 *
 * Its tree, the pieces of its manifest and what else the manifest commit pins know nothing of each other, and are written
 * at once, but for what can be taken of the one before (snapshot_earlier). Then come the two commits, the batch is made
 * durable, and the ref makes it exist.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/pool.h"
#include "store/commit.h"
#include "store/linked.h"
#include "store/manifest_odb.h"
#include "store/tree.h"
#include "work/head.h"
#include "work/history.h"
#include "work/kept.h"
#include "work/snapshot_earlier.h"
#include "work/snapshot_pins.h"
#include "work/snapshot_rewritten.h"

#define PINS_BESIDE_MAX (4 * EWS_ENTRIES_MANY) /* of more files what git's index names is held before all else */

/* What is written of a snapshot, in parts that know nothing of each other. */
struct writing {
	struct ews_repo *repo;
	struct ews_batch *batch;
	struct ews_content *content;
	const struct ews_snapshot_opts *opts;
	struct ews_head_tree head_tree;
	struct ews_earlier earlier;
	bool hash_was_due; /* it is made beside the trees */
	bool has_tree, has_pins; /* so far */
	struct ews_oid tree; /* out */
	struct ews_entries state; /* what the manifest's tree has of git's state and the directory itself */
	struct ews_entries contents; /* and of contents that are in no tree */
	struct ews_manifest_pieces pieces;
	struct ews_oid *oids; /* of the pieces; none: to be written */
	uint8_t *named; /* as struct ews_kept has it */
};

static void release_writing(struct writing *writing)
{
	ews_earlier_release(&writing->earlier);
	ews_entries_release(&writing->state);
	ews_entries_release(&writing->contents);
	ews_manifest_pieces_release(&writing->pieces);
	free(writing->oids);
	free(writing->named);
}

EWS_CLEANUP_DEFINE(writing, struct writing, release_writing)

/* One hash, one tree. The trees are written where the hash is due: both at once take less time than one after the other. */
static bool has_tree_of_like(const struct writing *writing)
{
	return writing->opts->like && !writing->hash_was_due &&
	       !strcmp(writing->opts->like->hash, writing->content->hash);
}

static bool needs_like(const struct writing *writing)
{
	return writing->opts->read_like && !writing->earlier.is_there && !has_tree_of_like(writing);
}

static int write_tree(struct writing *writing)
{
	const struct ews_entries *entries = &writing->content->scan.entries;
	const struct ews_snapshot_opts *opts = writing->opts;

	if (writing->has_tree)
		return 0;
	if (has_tree_of_like(writing)) {
		writing->tree = opts->like->tree;
		return 0;
	}
	if (writing->earlier.is_there)
		return ews_earlier_write_tree(&writing->tree, &writing->earlier, writing->batch);
	if (opts->like && opts->like_content)
		return ews_tree_write_like(&writing->tree, writing->batch, entries,
					   &opts->like_content->scan.entries, &opts->like->tree);
	return ews_tree_write(&writing->tree, writing->batch, entries);
}

static int write_state(struct writing *writing)
{
	if (writing->earlier.has_pins || writing->has_pins)
		return 0;
	return ews_pins_add_state(&writing->state, writing->batch, writing->content);
}

static int find_contents(struct writing *writing)
{
	if (writing->has_pins)
		return 0;
	if (!writing->earlier.has_pins)
		return ews_pins_add_contents(&writing->contents, &writing->named, writing->repo, writing->batch,
					     writing->content, ews_head_tree_read(&writing->head_tree));
	writing->named = ews_earlier_take_named(&writing->earlier);
	return 0;
}

static int make_hash_and_cache(struct writing *writing)
{
	ews_content_make_hash(writing->content);
	if (writing->opts->formats_cache)
		ews_content_format_cache(writing->content);
	return 0;
}

static int write_piece(struct writing *writing, size_t i)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (!ews_oid_is_none(&writing->oids[i]))
		return 0;
	ews_manifest_format_piece(&text, &writing->pieces, i);
	return ews_batch_add(&writing->oids[i], writing->batch, EWS_OBJECT_BLOB, text.ptr, text.len);
}

/* The long ones first; the pieces, of which there are none where there is a manifest, fill what time is left. */
static int (*const parts[])(struct writing *writing) = { write_tree, make_hash_and_cache, find_contents, write_state };

#define N_PARTS (sizeof(parts) / sizeof(*parts))

static int write_part(size_t i, unsigned worker, void *payload)
{
	(void)worker;
	return i < N_PARTS ? parts[i](payload) : write_piece(payload, i - N_PARTS);
}

/* Are there more files than `most`, and git's index to be looked through? Then what may come one after the other does, to be held no longer. */
static bool is_too_much_at_once(const struct writing *writing, size_t most)
{
	return !writing->earlier.has_pins && writing->content->scan.entries.n > most;
}

/* The trees, of which the list of those that are like them is let go. */
static int write_tree_ahead(struct writing *writing)
{
	const struct ews_snapshot_opts *opts = writing->opts;
	int rc;

	if (!opts->like_goes || !opts->like_content->scan.entries.n)
		return 0;
	rc = write_tree(writing);
	writing->has_tree = rc == 0;
	ews_entries_release(&opts->like_content->scan.entries);
	ews_alloc_give_back();
	return rc;
}

/* What git's index names, of which a list is made, and then the index itself, which is compressed. */
static int write_pins_ahead(struct writing *writing)
{
	int rc = find_contents(writing);

	ews_alloc_give_back();
	if (rc == 0)
		rc = write_state(writing);
	ews_alloc_give_back();
	writing->has_pins = rc == 0;
	return rc;
}

static int write_parts(struct writing *writing)
{
	const struct ews_scan *scan = &writing->content->scan;
	int rc = 0;

	if (needs_like(writing))
		rc = writing->opts->read_like(writing->opts->like_payload);
	if (rc < 0)
		return rc;
	if (writing->earlier.has_manifest) {
		rc = write_tree(writing);
		return rc < 0 ? rc : make_hash_and_cache(writing);
	}
	if (is_too_much_at_once(writing, EWS_ENTRIES_MANY))
		rc = write_tree_ahead(writing);
	if (rc == 0 && !writing->earlier.has_pins)
		rc = ews_content_read_index(writing->content, writing->opts->session);
	if (rc == 0 && is_too_much_at_once(writing, PINS_BESIDE_MAX))
		rc = write_pins_ahead(writing);
	if (rc < 0)
		return rc;
	ews_manifest_cut(&writing->pieces, &scan->entries, &scan->skips);
	writing->oids = ews_calloc(writing->pieces.n, sizeof(*writing->oids));
	ews_earlier_take_pieces(writing->oids, &writing->earlier, &writing->pieces);
	return ews_pool_for(N_PARTS + writing->pieces.n, 1, 0, write_part, writing);
}

/* The tree of the manifest commit, once all parts are written. */
static int write_manifest_tree(struct ews_oid *out, struct writing *writing)
{
	struct ews_entries *pins = &writing->state;

	for (size_t i = 0; i < writing->pieces.n; i++) {
		EWS_CLEANUP(free) char *path = ews_manifest_piece_path(i, writing->pieces.n);

		ews_pins_add(pins, path, EWS_ENTRY_FILE, &writing->oids[i]);
	}
	ews_entries_add_all(pins, &writing->contents);
	ews_earlier_take_pins(pins, &writing->earlier);
	ews_entries_unique(pins);
	return ews_tree_write(out, writing->batch, pins);
}

static void digest_skips(uint8_t out[EWS_CACHE_KEY_LEN], const struct ews_skips *skips)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);

	for (size_t i = 0; i < skips->n; i++) {
		const struct ews_skip *skip = &skips->items[i];
		const uint64_t words[] = { skip->reason, skip->size, skip->is_gone };

		ews_hash_add(hash, words, sizeof(words));
		ews_hash_add_part(hash, skip->path, strlen(skip->path));
	}
	ews_hash_finish(hash, out);
}

/* The digest of all that a manifest commit has besides the entries and what was left out. */
static void digest_rest(uint8_t out[EWS_CACHE_KEY_LEN], const struct ews_content *content,
			const struct ews_oid *head, const struct ews_oids *history)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	const struct ews_gitstate *git = &content->git;
	const int64_t numbers[] = { content->root_mode,  content->has_root_owner,
				    content->root_uid,   content->root_gid,
				    git->has_index,      git->index_mtime_s,
				    git->index_mtime_ns, content->root_xattrs != NULL };

	ews_hash_add(hash, numbers, sizeof(numbers));
	if (content->root_xattrs)
		ews_hash_add_part(hash, content->root_xattrs, strlen(content->root_xattrs));
	/* Where the entries are those of before its stat data tell of the index as well. */
	ews_hash_add(hash, &content->index, sizeof(content->index));
	ews_gitstate_hash_files(hash, git);
	/* A branch may move and leave all of the above; what is kept goes by its commit. */
	ews_hash_add_part(hash, head->id, head->len);
	for (size_t i = 0; i < history->n; i++)
		ews_hash_add_part(hash, history->items[i].id, history->items[i].len);
	ews_hash_finish(hash, out);
}

/* Write all that the snapshot's commit names: its tree, and the manifest, if there is none yet. `now` is what to remember of it. */
static int write_named(struct ews_snapshot *snap, struct ews_kept *now, struct writing *writing)
{
	EWS_CLEANUP(oids) struct ews_oids history = EWS_OIDS_INIT;
	EWS_CLEANUP(free) const struct ews_oid **pins = NULL;
	EWS_CLEANUP(free) char *message = ews_strfmt("manifest of %s\n", snap->id);
	struct ews_oid tree;
	int rc = writing->opts->session
			 ? ews_history_commits(&history, writing->opts->closed, writing->opts->session)
			 : 0;

	if (rc == 0)
		rc = ews_history_add_merged(&history, writing->repo, &writing->content->git);
	if (rc < 0)
		return rc;
	digest_skips(now->skips, &writing->content->scan.skips);
	digest_rest(now->rest, writing->content, &snap->head, &history);
	ews_earlier_find(&writing->earlier, writing->repo->odb, writing->content, writing->opts);
	ews_earlier_compare(&writing->earlier, now, &writing->head_tree);
	rc = write_parts(writing);
	snap->tree = writing->tree;
	snap->manifest = writing->earlier.manifest;
	if (rc < 0 || writing->earlier.has_manifest)
		return rc;
	rc = write_manifest_tree(&tree, writing);
	if (rc < 0)
		return rc;
	pins = ews_calloc(history.n + 1, sizeof(*pins));
	for (size_t i = 0; i < history.n; i++)
		pins[i] = &history.items[i];
	return ews_commit_write(&snap->manifest, writing->batch, &tree, pins, snap->created_s, message);
}

/* Remember as what the entries were kept; whose manifest there was is what they were kept as before. */
static void remember(struct writing *writing, struct ews_kept *now, const struct ews_snapshot *snap)
{
	EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;

	if (writing->earlier.has_manifest)
		return;
	now->commit = snap->commit;
	now->ref = snap->ref;
	now->n = writing->content->scan.entries.n;
	now->named = writing->named;
	/* Where that is not known the next one takes neither pins nor the manifest commit. */
	if (!now->named)
		memset(now->rest, 0, sizeof(now->rest));
	ews_kept_format(&memo, now);
	ews_content_set_memo(writing->content, memo.ptr, memo.len);
}

int ews_snapshot_confirm(struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	const struct ews_kept earlier = { .ref = snapshot->shares_with, .commit = snapshot->shared };
	EWS_CLEANUP(error_saved) struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	const struct ews_oid *const held[] = { &snapshot->commit, &snapshot->tree, &snapshot->manifest };
	const size_t n_held = ews_oid_is_none(&snapshot->manifest) ? 2 : 3;
	int is_shared = earlier.ref ? ews_kept_is_held(&earlier, repo->odb) : 1;

	if (is_shared > 0 && ews_odb_freshen_all(repo->odb, held, n_held))
		return 0;
	ews_error_save(&saved);
	/* What is told is what comes first. */
	(void)ews_odb_ref_swap(repo->odb, snapshot->ref, &snapshot->commit, NULL);
	if (is_shared < 0)
		return ews_error_restore(&saved);
	if (is_shared)
		ews_error(EWS_ESTALE, "objects of '%s' went before it was kept: a gc removes what is new",
			  snapshot->id);
	else
		ews_error(EWS_ESTALE, "'%s' was dropped meanwhile", earlier.ref);
	ews_error_hint("nothing was changed; try again");
	return EWS_ESTALE;
}

/* Whoever saves his work has a damaged HEAD, too: what it says is in the manifest, and that it is damaged in the commit. */
static int find_head(struct ews_snapshot *snap, struct ews_repo *repo, const struct ews_content *content,
		     const struct ews_snapshot_opts *opts)
{
	/* That one is a parent of the commit, so it is there. */
	const struct ews_oid *known = opts->like ? &opts->like->head : NULL;
	int head;

	if (!content->has_git)
		return 0;
	head = opts->session ? ews_head_find_in(&snap->head, opts->session, &content->git, known)
			     : ews_head_find(&snap->head, repo, &content->git, known);
	if (head < 0)
		return ews_error_wrap("cannot tell where HEAD stands");
	snap->is_head_damaged = head == EWS_HEAD_DAMAGED;
	if (!snap->is_head_damaged && (!opts->session || opts->session->method->is_project))
		snap->branch = ews_head_last_ref(repo, &content->git);
	return 0;
}

/* Fold blank lines away, which would end the subject. */
static char *plain_subject(const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	for (const char *c = text; *c; c++)
		if (*c != '\n' || (out.len && out.ptr[out.len - 1] != '\n'))
			ews_buf_addc(&out, *c);
	ews_buf_rtrim(&out);
	return ews_buf_steal(&out);
}

static const char *head_word(char hex[EWS_OID_HEX_MAX], const struct ews_snapshot *snap)
{
	if (snap->is_head_damaged)
		return EWS_HEAD_DAMAGED_WORD;
	return ews_oid_is_none(&snap->head) ? EWS_HEAD_UNBORN_WORD : ews_oid_hex(hex, &snap->head);
}

static char *format_message(const struct ews_snapshot *snap)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	ews_buf_addf(&text, "%s\n\nEws-Snapshot: %s\nEws-Session: %s\n", snap->subject, snap->id, snap->session);
	/* Who knows of one work tree alone takes those without for its own. */
	if (*snap->worktree)
		ews_buf_addf(&text, "Ews-Worktree: %s\nEws-Worktree-Mark: %s\n", snap->worktree, snap->worktree_mark);
	ews_buf_addf(&text,
		     "Ews-Method: %s\nEws-Head: %s\nEws-Parent: %s\n"
		     "Ews-Time: %" PRId64 ".%09" PRIu32 "\nEws-Files: %" PRIu64 "\nEws-Bytes: %" PRIu64
		     "\nEws-Unseen: %" PRIu64 "\nEws-Hash: %s\n",
		     snap->method, head_word(hex, snap), snap->parent, snap->created_s, snap->created_ns,
		     snap->files, snap->bytes, snap->unseen, snap->hash);
	if (snap->traced)
		ews_buf_addf(&text, "Ews-Traced: %" PRIu64 "\n", snap->traced);
	if (snap->branch)
		ews_buf_addf(&text, "Ews-Branch: %s\n", snap->branch);
	ews_buf_addf(&text, EWS_TRAILER_TREE ": %s\n", ews_oid_hex(hex, &snap->tree));
	ews_buf_addf(&text, EWS_TRAILER_MANIFEST ": %s\n", ews_oid_hex(hex, &snap->manifest));
	return ews_buf_steal(&text);
}

/* An id that no snapshot of that kind has: of many that are made in one second two may be given the same. The caller frees it. */
static char *new_id(struct ews_repo *repo, const char *prefix, int64_t created_s)
{
	for (;;) {
		EWS_CLEANUP(free) char *id = ews_clock_id("snap", created_s);
		EWS_CLEANUP(free) char *ref = ews_strfmt("%s%s", prefix, id);
		struct ews_oid taken;

		if (ews_odb_ref_read(&taken, repo->odb, ref) < 0) {
			ews_error_clear(); /* whatever is wrong there shows when the ref is made */
			return ews_steal(&id);
		}
	}
}

int ews_snapshot_keep(struct ews_snapshot *out, struct ews_repo *repo, struct ews_batch *batch,
		      struct ews_content *content, const struct ews_snapshot_opts *opts)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snap = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(writing)
	struct writing writing = { .repo = repo,
				   .batch = batch,
				   .content = content,
				   .opts = opts,
				   .head_tree = { .odb = repo->odb, .head = &snap.head },
				   .hash_was_due = content->hash_is_due,
				   .earlier = EWS_EARLIER_INIT,
				   .state = EWS_ENTRIES_INIT,
				   .contents = EWS_ENTRIES_INIT,
				   .pieces = EWS_MANIFEST_PIECES_INIT };
	EWS_CLEANUP(free) char *message = NULL;
	const struct ews_oid *parents[3] = { NULL, NULL, NULL };
	struct ews_kept now_kept = { .n = 0 };
	struct timespec now;
	bool is_base = !strcmp(opts->prefix, EWS_REF_SESSIONS);
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	snap.created_s = now.tv_sec;
	snap.created_ns = (uint32_t)now.tv_nsec;
	snap.id = opts->id ? ews_strdup(opts->id) : new_id(repo, opts->prefix, snap.created_s);
	snap.session = ews_strdup(opts->session ? opts->session->state.id : "");
	snap.worktree = opts->session ? ews_strdup("") : ews_repo_worktree(repo);
	snap.worktree_mark = ews_linked_mark(repo->git_fd);
	snap.method = ews_strdup(opts->session ? opts->session->state.method : "none");
	snap.parent = ews_strdup(opts->parent ? opts->parent : "");
	snap.subject = opts->subject ? plain_subject(opts->subject) : ews_strdup("");
	if (!*snap.subject) {
		free(snap.subject);
		snap.subject = ews_strfmt("ews: state of %s", *snap.session ? snap.session : "the project");
	}
	snap.ref = ews_strfmt("%s%s", opts->prefix, is_base ? snap.session : snap.id);
	snap.files = content->scan.n_files;
	snap.unseen = ews_skips_count_unseen(&content->scan.skips);
	snap.traced = opts->traced;
	snap.bytes = content->scan.size_bytes;
	rc = find_head(&snap, repo, content, opts);
	if (rc == 0)
		rc = write_named(&snap, &now_kept, &writing);
	if (rc < 0)
		return ews_error_wrap("cannot write the snapshot");
	snap.hash = ews_strdup(content->hash);
	parents[0] = ews_oid_is_none(&snap.head) ? &snap.manifest : &snap.head;
	parents[1] = ews_oid_is_none(&snap.head) ? NULL : &snap.manifest;
	message = format_message(&snap);
	rc = ews_commit_write(&snap.commit, batch, &snap.tree, parents, snap.created_s, message);
	if (rc == 0)
		rc = opts->group ? ews_batch_commit_in(batch, opts->group) : ews_batch_commit(batch);
	if (rc == 0)
		rc = ews_odb_ref_swap(repo->odb, snap.ref, NULL, &snap.commit);
	if (ews_earlier_is_shared(&writing.earlier)) {
		snap.shares_with = ews_strdup(writing.earlier.kept.ref);
		snap.shared = writing.earlier.kept.commit;
	}
	if (rc == 0 && !opts->group)
		rc = ews_snapshot_confirm(repo, &snap);
	if (rc < 0)
		return ews_error_wrap("cannot keep the snapshot");
	remember(&writing, &now_kept, &snap);
	*out = snap;
	snap = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
	return 0;
}
