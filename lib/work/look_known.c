/*
 * What was found last, taken for what stands there now: see look_known.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/look_known.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "work/kept.h"
#include "work/submodule_head.h"

#define KEPT_SPAN 512

bool ews_look_is_remembered(const struct ews_look *look)
{
	return look->batch || look->opts->is_compared;
}

int ews_look_read_index(struct ews_index *index, const struct ews_look *look)
{
	int rc = look->git_fd < 0 ? 0 : ews_index_read(index, look->git_fd, "index", ews_odb_algo(look->repo->odb));

	if (rc < 0 && look->session) {
		/* A workspace's index may be anything; what the base has is known without it. */
		ews_index_release(index);
		return ews_error_if_passing(rc);
	}
	return rc;
}

void ews_look_digest_tracked(uint8_t out[EWS_CACHE_KEY_LEN], const struct ews_index *index)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);

	for (size_t i = 0; i < index->n; i++) {
		const struct ews_index_entry *ie = &index->items[i];

		ews_hash_add(hash, ie->path, strlen(ie->path) + 1);
		if (ie->mode == EWS_MODE_GITLINK)
			ews_hash_add(hash, &ie->oid, sizeof(ie->oid));
	}
	ews_hash_finish(hash, out);
}

int ews_look_read_known(const struct ews_look *look)
{
	return look->opts->read_known ? look->opts->read_known(look->opts->known_payload) : 0;
}

/* What is known lies in the list, or nowhere: what is ignored would be found where it is known. */
static bool finds_no_more(const struct ews_entries *list, const struct ews_look *look)
{
	const struct ews_entries *known = &look->opts->known->scan.entries;
	size_t at = 0;

	if (ews_look_read_known(look) < 0) {
		ews_error_clear(); /* the walk says it */
		return false;
	}
	for (size_t i = 0; i < known->n; i++) {
		const struct ews_entry *entry = &known->items[i];
		const struct ews_entry *found = ews_entries_find_next(list, entry->path, &at);
		struct stat st;

		/* What is known below a repository the walk may look for in it. */
		if (found && ((entry->type != EWS_ENTRY_GITLINK && found->type != EWS_ENTRY_GITLINK) ||
			      (found->type == entry->type && ews_oid_equal(&found->oid, &entry->oid))))
			continue;
		if (found || fstatat(look->root, entry->path, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
		    !ews_errno_is_absent(errno))
			return false;
	}
	return true;
}

/*
 * Was it found by the rules of now? Of a project much is asked, and each time something else is known; where nothing that is known
 * made a difference then, nor does now, that is one. Returns the key.
 */
static const uint8_t *find_key(const struct ews_cache *cache, const struct ews_look *look)
{
	if (!memcmp(cache->key, look->key, sizeof(look->key)))
		return look->key;
	if (look->session || memcmp(cache->key, look->plain_key, sizeof(look->plain_key)) != 0 ||
	    !finds_no_more(&cache->entries, look))
		return NULL;
	return look->plain_key;
}

/* Does git track the very paths that it tracked? Where its index is the same nobody has to read it. */
static bool tracks_the_same(struct ews_content *content, const struct ews_cache *cache, const struct ews_look *look)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;

	memcpy(content->tracked, cache->tracked, sizeof(content->tracked));
	if (!memcmp(&cache->index, &content->index, sizeof(cache->index)))
		return true;
	if (ews_look_read_index(&index, look) < 0) {
		ews_error_clear(); /* the walk says it */
		return false;
	}
	ews_look_digest_tracked(content->tracked, &index);
	return !memcmp(content->tracked, cache->tracked, sizeof(cache->tracked));
}

/* The contents of which a cache speaks, and where they are looked for. */
struct keeping {
	const struct ews_entries *list;
	const struct ews_entries *known; /* the base's, which are in the store; NULL: there is none */
	struct ews_odb *odb;
	bool is_wary; /* those that can't be read lack */
	atomic_bool is_lacking;
};

/* Those from `from` to `end` of the list. */
static int look_for_kept(size_t from, size_t end, unsigned worker, void *payload)
{
	struct keeping *keeping = payload;
	const struct ews_entries *list = keeping->list, *known = keeping->known;
	size_t at = known ? ews_path_find_first(known->items, sizeof(*known->items), known->n, list->items[from].path)
			  : 0;

	(void)worker;
	for (size_t i = from; i < end && !atomic_load_explicit(&keeping->is_lacking, memory_order_relaxed); i++) {
		const struct ews_entry *entry = &list->items[i];
		int order = -1;

		if ((entry->type != EWS_ENTRY_FILE && entry->type != EWS_ENTRY_LINK) || entry->is_racy)
			continue;
		while (known && at < known->n && (order = ews_path_cmp_alike(known->items[at].path, entry->path)) < 0)
			at++;
		if (order == 0 && ews_oid_equal(&known->items[at].oid, &entry->oid))
			continue;
		/* What will be recorded must outlive a gc that runs until it is. */
		if (!ews_odb_holds(keeping->odb, &entry->oid, keeping->is_wary))
			keeping->is_lacking = true;
	}
	return 0;
}

/* Is every content in the store that the cache speaks of and nobody reads again? The base's are. 1, 0, or an error. */
static int are_kept(struct ews_content *content, const struct ews_cache *cache, const struct ews_look *look)
{
	struct keeping keeping = { .list = &cache->entries,
				   .known = look->opts->known ? &look->opts->known->scan.entries : NULL,
				   .odb = look->repo->odb,
				   .is_wary = look->opts->is_wary };
	struct ews_kept kept;
	int rc;

	/* One hash, the same contents; and a snapshot has all of its own. */
	if (keeping.known && !strcmp(cache->hash, look->opts->known->hash))
		return 1;
	content->relies_on_kept = ews_kept_parse(&kept, &cache->extra) &&
				  ews_kept_is_held(&kept, look->repo->odb) > 0;
	if (content->relies_on_kept && !look->opts->is_wary)
		return 1;
	ews_error_clear(); /* what is not held for certain is looked for */
	rc = ews_look_read_known(look);
	if (rc == 0)
		rc = ews_pool_spans(cache->entries.n, KEPT_SPAN, 0, look_for_kept, &keeping);
	return rc < 0 ? rc : !keeping.is_lacking;
}

/* A .gitignore that is about to be read again, and what it was when the rules of the list were made. */
struct ruling {
	size_t at;
	struct ews_oid oid;
};

/* Those that were touched; the caller frees them. */
static struct ruling *list_rulings(size_t *n, const struct ews_entries *list)
{
	struct ruling *rulings = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry *entry = &list->items[i];

		if (!entry->is_racy || strcmp(ews_path_base(entry->path), ".gitignore") != 0)
			continue;
		EWS_GROW(rulings, *n, cap);
		rulings[(*n)++] = (struct ruling){ i, entry->oid };
	}
	return rulings;
}

/* Read again what was touched since it was found last. False: somebody moves things about, or makes other rules; walk. */
static int read_touched(struct ews_content *content, const struct ews_look *look)
{
	struct ews_scan *scan = &content->scan;
	const struct ews_scan_fill_opts fill_opts = { .odb = look->repo->odb,
						      .batch = look->batch,
						      .pinned = look->opts->known ? &look->opts->known->scan.entries
										  : NULL,
						      .racy_only = true,
						      .doubts_late = true,
						      .may_chmod = look->session && !look->session->method->is_project,
						      .ours = look->opts->ours,
						      .progress = look->opts->progress,
						      .payload = look->opts->payload };
	size_t n_before = scan->entries.n, n_rulings = 0;
	EWS_CLEANUP(free) struct ruling *rulings = list_rulings(&n_rulings, &scan->entries);
	bool are_same;
	int rc;

	scan->root_fd = look->root;
	scan->root.is_racy = false;
	rc = ews_scan_fill(scan, &fill_opts);
	if (rc < 0)
		return rc;
	are_same = scan->entries.n == n_before;
	/* They said what they said when they were rechecked; that may be some time ago. */
	for (size_t i = 0; i < n_rulings && are_same; i++)
		are_same = ews_oid_equal(&scan->entries.items[rulings[i].at].oid, &rulings[i].oid);
	return are_same && ews_recheck_is_possible(scan);
}

/* Does all stand as the cache has it? That may have been found out early. */
static enum ews_recheck recheck(struct ews_content *content, struct ews_cache *cache, const struct ews_look *look,
				struct ews_early_found *early)
{
	const struct ews_recheck_opts opts = { .root_fd = look->root,
					       .is_plain = look->repo->is_plain,
					       .max_file_bytes = look->max_file,
					       .touched = ews_look_is_remembered(look) ? &content->touched : NULL };

	if (!early) {
		ews_scan_begin(&content->scan);
		return ews_recheck(cache, &opts);
	}
	content->scan.started_s = early->started_s;
	content->scan.started_ns = early->started_ns;
	if (opts.touched) {
		content->touched = early->touched;
		early->touched = (struct ews_touched)EWS_TOUCHED_INIT;
	}
	return early->answer;
}

/*
 * The names are those that were found last: then what is found now is that, but for what was touched. Returns 1, or 0
 * when somebody has to walk.
 */
int ews_look_take_known(struct ews_content *content, struct ews_cache *cache, const struct ews_look *look,
			struct ews_early_found *early)
{
	enum ews_recheck found;
	const uint8_t *key;
	int rc = 1;

	key = cache->is_whole ? find_key(cache, look) : NULL;
	if (!key || !tracks_the_same(content, cache, look))
		return 0;
	if (!look->session)
		rc = ews_submodule_heads_hold(&cache->entries, &cache->skips, look->repo->odb, look->root);
	if (rc <= 0)
		return rc;
	found = recheck(content, cache, look, early);
	if (found == EWS_RECHECK_OTHER)
		return 0;
	rc = look->batch ? are_kept(content, cache, look) : 1;
	if (rc <= 0)
		return rc;
	memcpy(content->key, key, sizeof(content->key));
	content->is_same_index = !memcmp(&cache->index, &content->index, sizeof(cache->index));
	content->scan.entries = cache->entries;
	content->scan.skips = cache->skips;
	content->scan.root = cache->root;
	cache->entries = (struct ews_entries)EWS_ENTRIES_INIT;
	cache->skips = (struct ews_skips)EWS_SKIPS_INIT;
	if (found == EWS_RECHECK_TOUCHED) {
		rc = read_touched(content, look);
		if (rc <= 0)
			return rc;
		content->hash_is_due = true;
		if (!look->opts->hash_may_wait)
			ews_content_make_hash(content);
		content->cache_is_stale = content->is_whole && ews_look_is_remembered(look);
		content->earlier = cache->extra;
		cache->extra = (struct ews_buf)EWS_BUF_INIT;
		ews_touched_tell(&content->touched, &cache->origin, &content->scan.entries);
	} else {
		ews_scan_count(&content->scan);
		memcpy(content->hash, cache->hash, sizeof(content->hash));
		content->cache_is_stale = !content->is_same_index && content->is_whole &&
					  ews_look_is_remembered(look);
		content->is_unchanged = true;
		content->memo = cache->extra;
		cache->extra = (struct ews_buf)EWS_BUF_INIT;
	}
	content->origin = cache->origin;
	cache->origin = (struct ews_cache_origin)EWS_CACHE_ORIGIN_INIT;
	ews_skips_add_all(&content->found, &content->scan.skips);
	return 1;
}
