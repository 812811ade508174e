/*
 * Writing a snapshot: see snapshot.h. snapshot_content.c reads what is written here.
 *
 * Its tree, the pieces of its manifest and what else the manifest commit pins know nothing of each other, and are written
 * at once. Then come the two commits, the batch is made durable, and the ref makes it exist.
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
#include "base/path.h"
#include "base/pool.h"
#include "store/commit.h"
#include "store/manifest_odb.h"
#include "store/tree.h"
#include "work/head.h"
#include "work/history.h"
#include "work/kept.h"
#include "work/snapshot_pins.h"

/* What of a snapshot was kept already: the entries are its own but for those that were touched since. */
struct earlier {
	bool is_known; /* which one it is, or was, is remembered with the content, from which it is borrowed: */
	struct ews_kept kept;
	bool is_there; /* it is held, and that is known of it: */
	struct ews_oid tree, manifest;
	struct ews_arena names; /* of what follows */
	struct ews_tree_item *items; /* of the manifest commit's tree; those of the manifest itself: */
	size_t n_items;
	struct ews_tree_item *pieces;
	size_t n_pieces;
};

/* What is written of a snapshot, in parts that know nothing of each other. */
struct writing {
	struct ews_repo *repo;
	struct ews_batch *batch;
	struct ews_content *content;
	const struct ews_snapshot_opts *opts;
	struct ews_head_tree head_tree;
	struct earlier earlier;
	bool has_manifest; /* the earlier one's; no other is written */
	bool has_pins; /* nor is what the earlier one's has besides the manifest */
	struct ews_oid tree; /* out */
	struct ews_entries state; /* what the manifest's tree has of git's state and the directory itself */
	struct ews_entries contents; /* and of contents that are in no tree */
	struct ews_manifest_pieces pieces;
	struct ews_oid *oids; /* of the pieces; none: to be written */
	uint8_t *named; /* as struct ews_kept has it */
};

static void release_writing(struct writing *writing)
{
	ews_arena_release(&writing->earlier.names);
	free(writing->earlier.items);
	free(writing->earlier.pieces);
	ews_entries_release(&writing->state);
	ews_entries_release(&writing->contents);
	ews_manifest_pieces_release(&writing->pieces);
	free(writing->oids);
	free(writing->named);
}

EWS_CLEANUP_DEFINE(writing, struct writing, release_writing)

/* Those that were touched since, of which `content` may have none. */
static const struct ews_touched *touched_of(const struct ews_content *content)
{
	static const struct ews_touched none = EWS_TOUCHED_INIT;

	return content->is_unchanged ? &none : &content->touched;
}

/* The tree that was kept, with what was touched in it. */
static int write_touched(struct writing *writing)
{
	const struct ews_entries *entries = &writing->content->scan.entries;
	const struct ews_touched *touched = touched_of(writing->content);
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;

	changes.items = ews_calloc(touched->n, sizeof(*changes.items));
	for (size_t i = 0; i < touched->n; i++) {
		const struct ews_entry *from = &touched->items[i].was, *to = &entries->items[touched->items[i].at];

		if (!ews_entry_equal_in_git(from, to))
			changes.items[changes.n++] = (struct ews_change){ to->path, from, to, NULL };
	}
	return ews_tree_write_changed(&writing->tree, writing->batch, entries, &changes, &writing->earlier.tree);
}

/* One hash, one tree. */
static bool has_tree_of_like(const struct writing *writing)
{
	return writing->opts->like && !strcmp(writing->opts->like->hash, writing->content->hash);
}

static bool needs_like(const struct writing *writing)
{
	return writing->opts->read_like && !writing->earlier.is_there && !has_tree_of_like(writing);
}

static int write_tree(struct writing *writing)
{
	const struct ews_entries *entries = &writing->content->scan.entries;
	const struct ews_snapshot_opts *opts = writing->opts;

	if (has_tree_of_like(writing)) {
		writing->tree = opts->like->tree;
		return 0;
	}
	if (writing->earlier.is_there)
		return write_touched(writing);
	if (opts->like && opts->like_content)
		return ews_tree_write_like(&writing->tree, writing->batch, entries,
					   &opts->like_content->scan.entries, &opts->like->tree);
	return ews_tree_write(&writing->tree, writing->batch, entries);
}

static int write_state(struct writing *writing)
{
	return writing->has_pins ? 0 : ews_pins_add_state(&writing->state, writing->batch, writing->content);
}

static int find_contents(struct writing *writing)
{
	if (!writing->has_pins)
		writing->named = ews_pins_add_contents(&writing->contents, writing->repo, writing->content,
						       ews_head_tree_read(&writing->head_tree));
	return 0;
}

static int format_cache(struct writing *writing)
{
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
static int (*const parts[])(struct writing *writing) = { write_tree, format_cache, find_contents, write_state };

#define N_PARTS (sizeof(parts) / sizeof(*parts))

static int write_part(size_t i, unsigned worker, void *payload)
{
	(void)worker;
	return i < N_PARTS ? parts[i](payload) : write_piece(payload, i - N_PARTS);
}

/* Does nothing in the line of the entry matter to where a manifest is cut, to its head or to other lines? */
static bool is_line_of_its_own(const struct ews_entry *was, const struct ews_entry *is)
{
	size_t was_len = was->xattrs ? strlen(was->xattrs) : 0, len = is->xattrs ? strlen(is->xattrs) : 0;

	return was_len == len && !was->first_name && was->has_owner == is->has_owner && was->uid == is->uid &&
	       was->gid == is->gid;
}

/* Take the pieces of the earlier manifest in which nothing was touched. */
static void take_pieces(struct writing *writing)
{
	const struct earlier *earlier = &writing->earlier;
	const struct ews_touched *touched = touched_of(writing->content);
	const struct ews_entries *entries = &writing->content->scan.entries;
	const struct ews_manifest_pieces *pieces = &writing->pieces;
	size_t at = 0;

	if (earlier->n_pieces != pieces->n || pieces->numbers)
		return;
	for (size_t i = 0; i < touched->n; i++)
		if (!is_line_of_its_own(&touched->items[i].was, &entries->items[touched->items[i].at]))
			return;
	for (size_t i = 0; i < pieces->n; i++) {
		size_t end = i + 1 < pieces->n ? pieces->starts[i + 1] : pieces->n_lines;

		if (at == touched->n || touched->items[at].at >= end)
			writing->oids[i] = earlier->pieces[i].oid;
		while (at < touched->n && touched->items[at].at < end)
			at++;
	}
}

static int write_parts(struct writing *writing)
{
	const struct ews_scan *scan = &writing->content->scan;
	int rc = 0;

	if (needs_like(writing))
		rc = writing->opts->read_like(writing->opts->like_payload);
	if (rc < 0)
		return rc;
	if (writing->has_manifest) {
		rc = write_tree(writing);
		return rc < 0 ? rc : format_cache(writing);
	}
	ews_manifest_cut(&writing->pieces, &scan->entries, &scan->skips);
	writing->oids = ews_calloc(writing->pieces.n, sizeof(*writing->oids));
	take_pieces(writing);
	return ews_pool_for(N_PARTS + writing->pieces.n, 1, 0, write_part, writing);
}

/* The tree of the manifest commit, once all parts are written. */
static int write_manifest_tree(struct ews_oid *out, struct writing *writing)
{
	const struct earlier *earlier = &writing->earlier;
	struct ews_entries *pins = &writing->state;

	for (size_t i = 0; i < writing->pieces.n; i++) {
		EWS_CLEANUP(free) char *path = ews_manifest_piece_path(i, writing->pieces.n);

		ews_pins_add(pins, path, EWS_ENTRY_FILE, &writing->oids[i]);
	}
	for (size_t i = 0; i < writing->contents.n; i++)
		ews_entries_add_copy(pins, &writing->contents.items[i]);
	for (size_t i = 0; i < earlier->n_items && writing->has_pins; i++)
		if (strcmp(earlier->items[i].name, EWS_MANIFEST_NAME) != 0)
			ews_pins_add(pins, earlier->items[i].name,
				     ews_tree_item_is_dir(&earlier->items[i]) ? EWS_ENTRY_TREE : EWS_ENTRY_FILE,
				     &earlier->items[i].oid);
	ews_entries_unique(pins);
	return ews_tree_write(out, writing->batch, pins);
}

static void digest_skips(uint8_t out[EWS_CACHE_KEY_LEN], const struct ews_skips *skips)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);

	for (size_t i = 0; i < skips->n; i++) {
		const struct ews_skip *skip = &skips->items[i];
		const uint64_t words[] = { skip->reason, skip->size };

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
	const int64_t numbers[] = { content->root_mode, content->has_root_owner, content->root_uid,
				    content->root_gid,  git->has_index,          git->index_mtime_s,
				    git->index_mtime_ns };

	ews_hash_add(hash, numbers, sizeof(numbers));
	/* Where the entries are those of before its stat data tell of the index as well. */
	ews_hash_add(hash, &content->index, sizeof(content->index));
	for (size_t i = 0; i < git->n; i++) {
		ews_hash_add_part(hash, git->files[i].name, strlen(git->files[i].name));
		ews_hash_add_part(hash, git->files[i].data.ptr, git->files[i].data.len);
	}
	/* A branch may move and leave all of the above; what is kept goes by its commit. */
	ews_hash_add_part(hash, head->id, head->len);
	for (size_t i = 0; i < history->n; i++)
		ews_hash_add_part(hash, history->items[i].id, history->items[i].len);
	ews_hash_finish(hash, out);
}

/* Read what the manifest commit of the earlier one has, and of how many pieces its manifest is. */
static int read_manifest_tree(struct earlier *earlier, struct ews_odb *odb)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	int rc = ews_odb_read_commit(&commit, odb, &earlier->manifest);

	if (rc == 0)
		rc = ews_tree_read_flat(&earlier->items, &earlier->n_items, odb, &commit.tree, &earlier->names);
	for (size_t i = 0; i < earlier->n_items && rc == 0; i++) {
		const struct ews_tree_item *item = &earlier->items[i];

		if (strcmp(item->name, EWS_MANIFEST_NAME) != 0)
			continue;
		if (ews_tree_item_is_dir(item))
			return ews_tree_read_flat(&earlier->pieces, &earlier->n_pieces, odb, &item->oid,
						  &earlier->names);
		earlier->pieces = ews_memdup(item, sizeof(*item));
		earlier->n_pieces = 1;
	}
	return rc;
}

/* Find what the content was kept as when it was found last, and look whether that is held still. */
static int read_earlier(struct writing *writing)
{
	const struct ews_content *content = writing->content;
	bool knows_touched = content->is_unchanged || content->touched.are_all;
	const struct ews_snapshot *like = writing->opts->like;
	struct earlier *earlier = &writing->earlier;
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	int rc;

	earlier->is_known =
		ews_kept_parse(&earlier->kept, content->is_unchanged ? &content->memo : &content->earlier);
	if (!writing->opts->is_as_found || !knows_touched || !earlier->is_known ||
	    earlier->kept.n != content->scan.entries.n)
		return 0;
	/* What is like is held, and read. */
	if (like && ews_oid_equal(&like->commit, &earlier->kept.commit)) {
		earlier->tree = like->tree;
		earlier->manifest = like->manifest;
		earlier->is_there = true;
		return 0;
	}
	if (!ews_kept_is_held(&earlier->kept, writing->repo->odb))
		return 0;
	rc = ews_odb_read_commit(&commit, writing->repo->odb, &earlier->kept.commit);
	if (rc < 0 || !commit.n_parents)
		return rc;
	earlier->tree = commit.tree;
	earlier->manifest = commit.parents[commit.n_parents - 1];
	earlier->is_there = true;
	return 0;
}

static int cmp_path(const void *a, const void *b)
{
	return strcmp((*(const struct ews_touched_entry *const *)a)->was.path,
		      (*(const struct ews_touched_entry *const *)b)->was.path);
}

/*
 * Is what the index names, and what no tree can hold, kept by the very pins of the earlier one? The index is the same, but a
 * content that it names may have been in the tree, and be there no more. It is in HEAD's, as a rule.
 */
static bool has_earlier_pins(struct writing *writing)
{
	const struct earlier *earlier = &writing->earlier;
	const struct ews_touched *touched = touched_of(writing->content);
	const struct ews_entries *entries = &writing->content->scan.entries;
	EWS_CLEANUP(free) const struct ews_touched_entry **lost = ews_calloc(touched->n, sizeof(*lost));
	EWS_CLEANUP(free) const char **paths = ews_calloc(touched->n, sizeof(*paths));
	EWS_CLEANUP(free) struct ews_oid *oids = ews_calloc(touched->n, sizeof(*oids));
	const struct ews_oid *tree;
	size_t n = 0;

	for (size_t i = 0; i < touched->n; i++) {
		const struct ews_touched_entry *one = &touched->items[i];
		const struct ews_entry *is = &entries->items[one->at];

		if (is->type != EWS_ENTRY_DIR && (!ews_entry_fits_tree(&one->was) || !ews_entry_fits_tree(is)))
			return false;
		if (!ews_oid_equal(&one->was.oid, &is->oid) && ews_named_has(earlier->kept.named, one->at))
			lost[n++] = one;
	}
	if (!n)
		return true;
	qsort(lost, n, sizeof(*lost), cmp_path);
	for (size_t i = 0; i < n; i++)
		paths[i] = lost[i]->was.path;
	tree = ews_head_tree_read(&writing->head_tree);
	if (ews_oid_is_none(tree) || ews_tree_find(oids, writing->repo->odb, tree, paths, n) < 0) {
		ews_error_clear(); /* who looks at all of it finds what there is */
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!ews_oid_equal(&oids[i], &lost[i]->was.oid))
			return false;
	return true;
}

/* What the index names is what it named, but where something else stands now. */
static void take_named(struct writing *writing)
{
	const struct ews_kept *kept = &writing->earlier.kept;
	const struct ews_touched *touched = touched_of(writing->content);
	const struct ews_entries *entries = &writing->content->scan.entries;

	writing->named = ews_named_copy(kept->named, kept->n);
	for (size_t i = 0; i < touched->n; i++) {
		const struct ews_touched_entry *one = &touched->items[i];

		if (!ews_oid_equal(&one->was.oid, &entries->items[one->at].oid))
			ews_named_remove(writing->named, one->at);
	}
}

/* See what of an earlier snapshot can be used again. The digests to remember are in `now`. */
static void find_earlier(struct writing *writing, const struct ews_kept *now)
{
	struct earlier *earlier = &writing->earlier;
	const struct ews_kept *kept = &earlier->kept;
	bool has_rest;

	if (read_earlier(writing) < 0)
		ews_error_clear(); /* all is written then */
	if (!earlier->is_there || memcmp(kept->skips, now->skips, sizeof(kept->skips)) != 0)
		return;
	has_rest = !memcmp(kept->rest, now->rest, sizeof(kept->rest));
	writing->has_manifest = writing->content->is_unchanged && has_rest;
	if (writing->has_manifest)
		return;
	if (read_manifest_tree(earlier, writing->repo->odb) < 0) {
		ews_error_clear(); /* likewise */
		earlier->n_items = earlier->n_pieces = 0;
		return;
	}
	writing->has_pins = has_rest && kept->named && has_earlier_pins(writing);
	if (writing->has_pins)
		take_named(writing);
}

/* Write all that the snapshot's commit names: its tree, and the manifest, if there is none yet. `now` is what to remember of it. */
static int write_named(struct ews_snapshot *snap, struct ews_kept *now, struct writing *writing)
{
	EWS_CLEANUP(oids) struct ews_oids history = EWS_OIDS_INIT;
	EWS_CLEANUP(free) const struct ews_oid **pins = NULL;
	EWS_CLEANUP(free) char *message = ews_strfmt("manifest of %s\n", snap->id);
	struct ews_oid tree;
	int rc;

	if (writing->opts->session)
		ews_history_commits(&history, writing->opts->session);
	ews_history_add_merged(&history, writing->repo, &writing->content->git);
	digest_skips(now->skips, &writing->content->scan.skips);
	digest_rest(now->rest, writing->content, &snap->head, &history);
	find_earlier(writing, now);
	rc = write_parts(writing);
	snap->tree = writing->tree;
	snap->manifest = writing->earlier.manifest;
	if (rc < 0 || writing->has_manifest)
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

	if (writing->has_manifest)
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

/*
 * From when the earlier one was found, or what was found was taken for kept by it, until the ref is there one of the two has to
 * hold what they share: else a gc may have taken it.
 */
static int check_earlier(const struct writing *writing, const struct ews_snapshot *snap)
{
	const struct ews_oid none = EWS_OID_NONE;
	const struct earlier *earlier = &writing->earlier;
	struct ews_odb *odb = writing->repo->odb;

	if ((!earlier->is_there && !writing->content->relies_on_kept) || !earlier->is_known ||
	    ews_kept_is_held(&earlier->kept, odb))
		return 0;
	(void)ews_odb_ref_swap(odb, snap->ref, &snap->commit, &none); /* what is told is what comes first */
	ews_error(EWS_ESTALE, "'%s' was dropped meanwhile", earlier->kept.ref);
	ews_error_hint("nothing was changed; try again");
	return EWS_ESTALE;
}

/* Whoever saves his work has a damaged HEAD, too: what it says is in the manifest, and that it is damaged in the commit. */
static void find_head(struct ews_snapshot *snap, struct ews_repo *repo, const struct ews_content *content,
		      const struct ews_snapshot_opts *opts)
{
	/* That one is a parent of the commit, so it is there. */
	const struct ews_oid *known = opts->like ? &opts->like->head : NULL;
	enum ews_head head;

	if (!content->has_git)
		return;
	head = opts->session ? ews_head_find_in(&snap->head, opts->session, &content->git, known)
			     : ews_head_find(&snap->head, repo, &content->git, known);
	snap->is_head_damaged = head == EWS_HEAD_DAMAGED;
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
	char hex[EWS_OID_HEX_MAX];

	return ews_strfmt("%s\n\n"
			  "Ews-Snapshot: %s\nEws-Session: %s\nEws-Method: %s\nEws-Head: %s\nEws-Parent: %s\n"
			  "Ews-Time: %" PRId64 ".%09" PRIu32 "\nEws-Files: %" PRIu64 "\nEws-Bytes: %" PRIu64
			  "\nEws-Hash: %s\n",
			  snap->subject, snap->id, snap->session, snap->method, head_word(hex, snap), snap->parent,
			  snap->created_s, snap->created_ns, snap->files, snap->bytes, snap->hash);
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

void ews_snapshot_note(struct ews_content *content, const struct ews_oid *commit, const char *ref)
{
	const struct ews_kept kept = { .commit = *commit, .ref = ref, .n = content->scan.entries.n };
	EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;

	if (content->is_unchanged)
		return;
	ews_kept_format(&memo, &kept);
	ews_content_set_memo(content, memo.ptr, memo.len);
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
				   .earlier = { .names = EWS_ARENA_INIT },
				   .state = EWS_ENTRIES_INIT,
				   .contents = EWS_ENTRIES_INIT,
				   .pieces = EWS_MANIFEST_PIECES_INIT };
	EWS_CLEANUP(free) char *message = NULL;
	const struct ews_oid *parents[3] = { NULL, NULL, NULL };
	struct ews_kept now_kept = { .n = 0 };
	const struct ews_oid none = EWS_OID_NONE;
	struct timespec now;
	bool is_base = !strcmp(opts->prefix, EWS_REF_SESSIONS);
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	snap.created_s = now.tv_sec;
	snap.created_ns = (uint32_t)now.tv_nsec;
	snap.id = opts->id ? ews_strdup(opts->id) : new_id(repo, opts->prefix, snap.created_s);
	snap.session = ews_strdup(opts->session ? opts->session->state.id : "");
	snap.method = ews_strdup(opts->session ? opts->session->state.method : "none");
	snap.parent = ews_strdup(opts->parent ? opts->parent : "");
	snap.subject = opts->subject ? plain_subject(opts->subject) : ews_strdup("");
	if (!*snap.subject) {
		free(snap.subject);
		snap.subject = ews_strfmt("ews: state of %s", *snap.session ? snap.session : "the project");
	}
	snap.hash = ews_strdup(content->hash);
	snap.ref = ews_strfmt("%s%s", opts->prefix, is_base ? snap.session : snap.id);
	snap.files = content->scan.n_files;
	snap.bytes = content->scan.size_bytes;
	find_head(&snap, repo, content, opts);
	rc = write_named(&snap, &now_kept, &writing);
	if (rc < 0)
		return ews_error_wrap("cannot write the snapshot");
	parents[0] = ews_oid_is_none(&snap.head) ? &snap.manifest : &snap.head;
	parents[1] = ews_oid_is_none(&snap.head) ? NULL : &snap.manifest;
	message = format_message(&snap);
	rc = ews_commit_write(&snap.commit, batch, &snap.tree, parents, snap.created_s, message);
	if (rc == 0)
		rc = ews_batch_commit_before(batch, opts->group);
	if (rc == 0)
		rc = ews_odb_ref_swap(repo->odb, snap.ref, &none, &snap.commit);
	if (rc == 0)
		rc = check_earlier(&writing, &snap);
	if (rc < 0)
		return ews_error_wrap("cannot keep the snapshot");
	remember(&writing, &now_kept, &snap);
	*out = snap;
	snap = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
	return 0;
}
