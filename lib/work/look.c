/*
 * Look: see look.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/look.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/made.h"
#include "work/kept.h"
#include "work/rules.h"
#include "work/session_place.h"
#include "work/submodule_head.h"

#define LOOKS 4
#define KEPT_SPAN 512

static int check_limits(const struct ews_scan *scan, uint64_t max_file, uint64_t max_total)
{
	for (size_t i = 0; i < scan->skips.n; i++) {
		if (scan->skips.items[i].reason != EWS_SKIP_TOO_LARGE)
			continue;
		ews_error(EWS_ECONFLICT, "'%s' has %" PRIu64 " bytes, more than ews.maxFile (%" PRIu64 ")",
			  scan->skips.items[i].path, scan->skips.items[i].size, max_file);
		ews_error_hint("--partial leaves it out, and names it");
		return EWS_ECONFLICT;
	}
	if (scan->size_bytes <= max_total)
		return 0;
	ews_error(EWS_ECONFLICT, "the files have %" PRIu64 " bytes in all, more than ews.maxTotal (%" PRIu64 ")",
		  scan->size_bytes, max_total);
	ews_error_hint("raise it with 'git config --global ews.maxTotal <size>'");
	return EWS_ECONFLICT;
}

static bool has_below(const struct ews_entries *list, const struct ews_entry *dir)
{
	return dir + 1 < list->items + list->n && ews_path_is_inside(dir[1].path, dir->path);
}

/* An empty directory, or a nested repository, that is known as a gitlink is one. */
static void mark_gitlink(struct ews_entries *list, const char *path, const struct ews_oid *oid)
{
	struct ews_entry *entry = ews_entries_find(list, path);

	if (!entry || (entry->type != EWS_ENTRY_DIR && entry->type != EWS_ENTRY_GITLINK) || has_below(list, entry))
		return;
	entry->type = EWS_ENTRY_GITLINK;
	entry->oid = *oid;
}

/* In a workspace the base says what is a submodule; its index may say anything. */
static void mark_gitlinks(struct ews_entries *list, const struct ews_content *known, const struct ews_index *index)
{
	for (size_t i = 0; known && i < known->scan.entries.n; i++)
		if (known->scan.entries.items[i].type == EWS_ENTRY_GITLINK)
			mark_gitlink(list, known->scan.entries.items[i].path, &known->scan.entries.items[i].oid);
	for (size_t i = 0; !known && i < index->n; i++)
		if (index->items[i].mode == EWS_MODE_GITLINK)
			mark_gitlink(list, index->items[i].path, &index->items[i].oid);
}

static int open_root(struct ews_repo *repo, struct ews_session *session)
{
	if (session)
		return ews_session_open_workspace(session);
	if (repo->is_bare)
		return ews_error(EWS_EUSAGE, "'%s' is a bare repository: it has no files", repo->project);
	return ews_dir_open(repo->project);
}

static int read_index(struct ews_index *index, int git_fd, enum ews_hash_algo algo, bool is_workspace)
{
	int rc = git_fd < 0 ? 0 : ews_index_read(index, git_fd, "index", algo);

	if (rc < 0 && is_workspace) {
		/* A workspace's index may be anything; what the base has is known without it. */
		ews_error_clear();
		ews_index_release(index);
		return 0;
	}
	return rc;
}

/*
 * Scan and read. While somebody renames or removes things, what was listed may be gone when it is
 * looked at, and stand elsewhere unseen: then all is looked at again, and in the end named.
 */
static int scan_and_fill(struct ews_scan *scan, struct ews_scan_opts *scan_opts, struct ews_scan_fill_opts *fill_opts)
{
	int rc = 0;

	for (int left = LOOKS - 1; left >= 0 && rc == 0; left--) {
		ews_scan_release(scan);
		*scan = (struct ews_scan)EWS_SCAN_INIT;
		scan_opts->name_vanished = fill_opts->name_vanished = left == 0;
		rc = ews_scan(scan, scan_opts);
		if (rc == 0)
			rc = ews_scan_fill(scan, fill_opts);
		if (!scan->n_vanished)
			break;
	}
	return rc;
}

/* What a look at a directory works with. */
struct ews_look {
	struct ews_repo *repo;
	struct ews_session *session; /* NULL: the project */
	struct ews_batch *batch;
	const struct ews_content_opts *opts;
	int root, git_fd; /* git_fd -1: there is none */
	int admin; /* it, where it is a workspace's own */
	uint64_t max_file, max_total;
	struct ews_strv own;
	struct ews_buf user, info, exclude; /* the text of rules */
	bool fold_case;
};

static bool is_with_ignored(const struct ews_look *look)
{
	return look->opts->with_ignored || (look->session && look->session->method->is_project);
}

/* Is what is found a stat cache? Without a batch the ids stand for objects that nobody may have, which one that compares takes. */
static bool is_remembered(const struct ews_look *look)
{
	return look->batch || look->opts->is_compared;
}

static int read_look(struct ews_look *look)
{
	struct ews_repo *repo = look->repo;
	const char *top = look->session ? look->session->state.workspace : repo->project;
	int rc = ews_config_size(&look->max_file, ews_repo_config(repo), "ews.maxFile");

	if (rc == 0)
		rc = ews_config_git_bool(&look->fold_case, repo->odb, "core.ignoreCase", false);
	if (rc == 0)
		rc = ews_rules_ignore_text(&look->user, &look->info, repo, top);
	if (rc == 0)
		rc = ews_rules_exclude_text(&look->exclude, repo, look->session);
	ews_rules_own(&look->own, repo, top);
	return rc;
}

/* Is it so young that it may change once more without a sign of it? */
static bool is_young(const struct timespec *time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return ews_clock_is_late(time->tv_sec, (uint32_t)time->tv_nsec, &now, EWS_RACY_NS);
}

/* By what git's index is known again. False when that can't be told from its stat data yet. */
static bool stamp_index(struct ews_stamp *out, int git_fd)
{
	struct stat st;

	if (git_fd < 0 || fstatat(git_fd, "index", &st, 0) < 0)
		return true;
	*out = (struct ews_stamp){ .size = (uint64_t)st.st_size,
				   .mtime_s = (uint64_t)st.st_mtim.tv_sec,
				   .mtime_ns = (uint64_t)st.st_mtim.tv_nsec,
				   .ctime_s = (uint64_t)st.st_ctim.tv_sec,
				   .ctime_ns = (uint64_t)st.st_ctim.tv_nsec,
				   .ino = st.st_ino,
				   .dev = st.st_dev };
	return !is_young(&st.st_mtim) && !is_young(&st.st_ctim);
}

/* The digest of all that says what a scan finds in a directory that stands still, but for what git tracks. */
static void digest_look(uint8_t key[EWS_CACHE_KEY_LEN], const struct ews_look *look)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	const struct ews_content_opts *opts = look->opts;
	const uint8_t flags[] = { is_with_ignored(look), opts->into_repositories, look->repo->is_plain,
				  look->fold_case, ews_odb_algo(look->repo->odb) };
	const uint64_t numbers[] = { look->max_file, geteuid() };

	ews_hash_add(hash, flags, sizeof(flags));
	ews_hash_add(hash, numbers, sizeof(numbers));
	ews_hash_add_part(hash, look->user.ptr, look->user.len);
	ews_hash_add_part(hash, look->info.ptr, look->info.len);
	ews_hash_add_part(hash, look->exclude.ptr, look->exclude.len);
	for (size_t i = 0; i < look->own.n; i++)
		ews_hash_add_part(hash, look->own.items[i], strlen(look->own.items[i]));
	assert(!opts->known || *opts->known->hash);
	ews_hash_add_part(hash, opts->known ? opts->known->hash : "", opts->known ? strlen(opts->known->hash) : 0);
	ews_hash_finish(hash, key);
}

/* The digest of what git tracks, which is looked at even where it is ignored, and of what is a submodule. */
static void digest_tracked(uint8_t out[EWS_CACHE_KEY_LEN], const struct ews_index *index)
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

/* Does git track the very paths that it tracked? Where its index is the same nobody has to read it. */
static bool tracks_the_same(struct ews_content *content, const struct ews_cache *cache, const struct ews_look *look)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;

	memcpy(content->tracked, cache->tracked, sizeof(content->tracked));
	if (!memcmp(&cache->index, &content->index, sizeof(cache->index)))
		return true;
	if (read_index(&index, look->git_fd, ews_odb_algo(look->repo->odb), look->session) < 0) {
		ews_error_clear(); /* the walk says it */
		return false;
	}
	digest_tracked(content->tracked, &index);
	return !memcmp(content->tracked, cache->tracked, sizeof(cache->tracked));
}

static int read_known(const struct ews_look *look)
{
	return look->opts->read_known ? look->opts->read_known(look->opts->known_payload) : 0;
}

/* The contents of which a cache speaks, and where they are looked for. */
struct keeping {
	const struct ews_entries *list;
	const struct ews_entries *known; /* the base's, which are in the store; NULL: there is none */
	struct ews_odb *odb;
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
		if (!ews_odb_freshen(keeping->odb, &entry->oid))
			keeping->is_lacking = true;
	}
	return 0;
}

/* Is every content in the store that the cache speaks of and nobody reads again? The base's are. 1, 0, or an error. */
static int are_kept(struct ews_content *content, const struct ews_cache *cache, const struct ews_look *look)
{
	struct keeping keeping = { .list = &cache->entries,
				   .known = look->opts->known ? &look->opts->known->scan.entries : NULL,
				   .odb = look->repo->odb };
	struct ews_kept kept;
	int rc;

	/* One hash, the same contents; and a snapshot has all of its own. */
	if (keeping.known && !strcmp(cache->hash, look->opts->known->hash))
		return 1;
	content->relies_on_kept = ews_kept_parse(&kept, &cache->extra) && ews_kept_is_held(&kept, look->repo->odb);
	if (content->relies_on_kept)
		return 1;
	rc = read_known(look);
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
					       .touched = is_remembered(look) ? &content->touched : NULL };

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
static int take_known(struct ews_content *content, struct ews_cache *cache, const struct ews_look *look,
		      struct ews_early_found *early)
{
	enum ews_recheck found;
	int rc;

	if (!cache->is_whole || memcmp(cache->key, content->key, sizeof(cache->key)) ||
	    !tracks_the_same(content, cache, look))
		return 0;
	if (!look->session && !ews_submodule_heads_hold(&cache->entries, &cache->skips, look->repo->odb, look->root))
		return 0;
	found = recheck(content, cache, look, early);
	if (found == EWS_RECHECK_OTHER)
		return 0;
	rc = look->batch ? are_kept(content, cache, look) : 1;
	if (rc <= 0)
		return rc;
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
		content->cache_is_stale = content->is_whole && is_remembered(look);
		content->earlier = cache->extra;
		cache->extra = (struct ews_buf)EWS_BUF_INIT;
		ews_touched_tell(&content->touched, &cache->origin, &content->scan.entries);
	} else {
		ews_scan_count(&content->scan);
		memcpy(content->hash, cache->hash, sizeof(content->hash));
		content->cache_is_stale = !content->is_same_index && content->is_whole && is_remembered(look);
		content->is_unchanged = true;
		content->memo = cache->extra;
		cache->extra = (struct ews_buf)EWS_BUF_INIT;
	}
	content->origin = cache->origin;
	cache->origin = (struct ews_cache_origin)EWS_CACHE_ORIGIN_INIT;
	ews_skips_add_all(&content->found, &content->scan.skips);
	return 1;
}

/* Is git's index the one that was just written, of which all is in memory? */
static bool is_as_put(const struct ews_content *put, int git_fd)
{
	struct stat st;

	return fstatat(git_fd, "index", &st, AT_SYMLINK_NOFOLLOW) == 0 && ews_gitstate_may_have_index(&put->git, &st);
}

static bool find_made(struct ews_scan *out, const struct ews_content_opts *opts, const struct ews_scan_opts *scan)
{
	struct ews_entries *put = &opts->put->scan.entries;

	return opts->takes_put ? ews_made_take(out, put, scan) : ews_made_find(out, put, scan);
}

/* It may be long: of one that is in memory already the entries are made, and their paths lie there. */
static int read_index_of(struct ews_index *index, const struct ews_content *content, const struct ews_look *look)
{
	enum ews_hash_algo algo = ews_odb_algo(look->repo->odb);
	const struct ews_content *put = look->opts->put;
	const struct ews_gitstate *git = put && look->git_fd >= 0 && is_as_put(put, look->git_fd) ? &put->git
												  : &content->git;
	int rc;

	if (!git->index.len)
		return read_index(index, look->git_fd, algo, look->session);
	rc = ews_index_borrow_state(index, git, algo);
	if (rc < 0) {
		ews_error_clear();
		return read_index(index, look->git_fd, algo, look->session);
	}
	index->mtime_s = git->index_mtime_s;
	index->mtime_ns = git->index_mtime_ns;
	return rc;
}

/* Walk, and read what the cache does not know. */
static int walk(struct ews_content *content, const struct ews_cache *cache, const struct ews_look *look)
{
	const struct ews_content_opts *opts = look->opts;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(ignore) struct ews_ignore *exclude = NULL;
	EWS_CLEANUP(ignore)
	struct ews_ignore *ignore =
		ews_ignore_new(look->user.ptr, look->user.len, look->info.ptr, look->info.len, look->fold_case);
	/* A person's own files are read as they are, or named, but for those that a step of ours made so. */
	bool is_ours = look->session && !look->session->method->is_project;
	const struct ews_entries *known = opts->known ? &opts->known->scan.entries : NULL;
	struct ews_scan_opts scan_opts = { .root_fd = look->root,
					   .read_gitignore = true,
					   .is_plain = look->repo->is_plain,
					   .into_mounts = !look->session,
					   .ignore = ignore,
					   .with_ignored = is_with_ignored(look),
					   .into_repositories = opts->into_repositories,
					   .known = known,
					   .index = &index,
					   .own = (const char *const *)look->own.items,
					   .only = opts->only,
					   .max_file_bytes = look->max_file,
					   .may_chmod = is_ours && !opts->put,
					   .ours = opts->ours };
	struct ews_scan_fill_opts fill_opts = { .odb = look->repo->odb,
						.batch = look->batch,
						.may_chmod = is_ours,
						.ours = opts->ours,
						.cache = &cache->entries,
						.pinned = known,
						.hint = look->session ? NULL : &index,
						.doubts_late = true,
						.progress = opts->progress,
						.payload = opts->payload };
	int rc = read_known(look);

	if (rc == 0)
		rc = read_index_of(&index, content, look);
	if (rc < 0)
		return rc;
	digest_tracked(content->tracked, &index);
	if (look->exclude.len)
		exclude = ews_ignore_new(look->exclude.ptr, look->exclude.len, NULL, 0, look->fold_case);
	scan_opts.exclude = exclude;
	if (opts->put)
		content->is_whole = find_made(&content->scan, opts, &scan_opts) && content->is_whole;
	else
		rc = scan_and_fill(&content->scan, &scan_opts, &fill_opts);
	content->is_whole = content->is_whole && rc == 0 && !opts->only && ews_recheck_is_possible(&content->scan);
	ews_scan_close(&content->scan);
	if (rc < 0)
		return rc;
	mark_gitlinks(&content->scan.entries, opts->known, &index);
	if (!look->session && !opts->put)
		ews_submodule_heads_take(&content->scan, look->repo->odb, look->root);
	if (opts->put)
		memcpy(content->hash, opts->put->hash, sizeof(content->hash));
	else
		ews_manifest_hash(content->hash, &content->scan.entries);
	if (content->is_whole)
		ews_skips_add_all(&content->found, &content->scan.skips);
	content->cache_is_stale =
		is_remembered(look) && !opts->only &&
		(content->is_whole || content->scan.n_read || content->scan.entries.n != cache->entries.n);
	return 0;
}

static int read_cache(struct ews_cache *out, const struct ews_look *look)
{
	const struct ews_repo *repo = look->repo;
	const struct ews_session *session = look->session;
	const struct ews_content_opts *opts = look->opts;
	int fd = session ? session->fd : repo->dir_fd;
	EWS_CLEANUP(free)
	char *name = session ? ews_strdup(EWS_SESSION_CACHE) : ews_content_project_cache(repo, opts->is_compared);
	EWS_CLEANUP(free) char *stricter = NULL;
	int rc;

	if (fd < 0 || opts->reread || opts->put)
		return 0;
	rc = ews_cache_read(out, fd, name);
	if (rc < 0 || session || !opts->is_compared || out->entries.n)
		return rc;
	/* Nobody compared yet; the other one knows as much, and that what it names is kept. */
	ews_cache_release(out);
	stricter = ews_content_project_cache(repo, false);
	rc = ews_cache_read(out, fd, stricter);
	ews_cache_origin_release(&out->origin); /* what is saved goes elsewhere */
	return rc;
}

/* The long files that are read at once. */
struct reading {
	struct ews_content *content;
	struct ews_cache *cache;
	const struct ews_look *look;
	bool is_early; /* the cache is read by somebody else */
};

static int read_base(const struct reading *reading)
{
	/* Later, if at all, where that is enough. */
	return reading->look->opts->known_may_wait ? 0 : read_known(reading->look);
}

static int read_what_was(const struct reading *reading)
{
	return reading->is_early ? 0 : read_cache(reading->cache, reading->look);
}

static int read_git(const struct reading *reading)
{
	const struct ews_content_opts *opts = reading->look->opts;
	struct ews_gitstate *git = &reading->content->git;

	if (reading->look->git_fd < 0 || opts->put)
		return 0;
	if (opts->index_may_wait && reading->look->session && !reading->look->session->method->owns_objects) {
		ews_gitstate_note_index(git, reading->look->git_fd);
		reading->content->index_is_due = true;
		return ews_gitstate_read_files(git, reading->look->git_fd);
	}
	return opts->without_index ? ews_gitstate_read_files(git, reading->look->git_fd)
				   : ews_gitstate_read(git, reading->look->git_fd);
}

/* The longest one first. */
static int (*const readings[])(const struct reading *reading) = { read_base, read_what_was, read_git };

#define N_READINGS (sizeof(readings) / sizeof(*readings))

static int read_one(size_t i, unsigned worker, void *payload)
{
	(void)worker;
	return readings[i](payload);
}

void ews_look_free(struct ews_look *look)
{
	if (!look)
		return;
	if (look->root >= 0)
		(void)close(look->root); /* nothing was written through it */
	if (look->admin >= 0)
		(void)close(look->admin); /* likewise */
	ews_strv_release(&look->own);
	ews_buf_release(&look->user);
	ews_buf_release(&look->info);
	ews_buf_release(&look->exclude);
	free(look);
}

int ews_look_begin(struct ews_look **out, struct ews_repo *repo, struct ews_session *session,
		   struct ews_batch *batch, const struct ews_content_opts *opts)
{
	EWS_CLEANUP(look) struct ews_look *look = ews_calloc(1, sizeof(*look));
	int rc;

	*look = (struct ews_look){ .repo = repo,
				   .session = session,
				   .batch = batch,
				   .opts = opts,
				   .root = open_root(repo, session),
				   .git_fd = repo->is_plain ? -1 : repo->git_fd,
				   .admin = -1,
				   .own = EWS_STRV_INIT,
				   .user = EWS_BUF_INIT,
				   .info = EWS_BUF_INIT,
				   .exclude = EWS_BUF_INIT };
	if (look->root < 0)
		return look->root;
	if (session) {
		/* A workspace whose registration was taken away still has its files. */
		look->admin = look->git_fd = ews_session_open_admin(session);
		if (look->admin < 0 && look->admin != EWS_ENOTFOUND)
			return look->admin;
		ews_error_clear();
	}
	rc = read_look(look);
	if (rc == 0)
		rc = ews_config_size(&look->max_total, ews_repo_config(repo), "ews.maxTotal");
	if (rc == 0)
		*out = ews_steal(&look);
	return rc;
}

/* The look that was begun early, if it is one at this very directory, and is of use; else it stops. */
static struct ews_early *take_early(const struct ews_look *look)
{
	const struct ews_content_opts *opts = look->opts;
	struct ews_early *early = look->session ? look->session->early : NULL;

	if (!early)
		return NULL;
	look->session->early = NULL;
	if (!opts->reread && !opts->put && !opts->only && ews_early_is_of(early, look->root))
		return early;
	ews_early_free(early);
	return NULL;
}

/* Git's state, and what is known of the files; the look at these goes on meanwhile, where it was begun early. */
static int read_all(struct reading *reading, struct ews_early_found *found, struct ews_early *early)
{
	int rc;

	reading->is_early = early;
	rc = ews_pool_for(N_READINGS, 1, 2, read_one, reading);
	if (rc < 0) {
		ews_early_free(early);
		return rc;
	}
	if (!early)
		return 0;
	ews_early_end(early, found);
	*reading->cache = found->cache;
	found->cache = (struct ews_cache)EWS_CACHE_INIT;
	return 0;
}

int ews_look_finish(struct ews_content *out, struct ews_look *look)
{
	const struct ews_content_opts *opts = look->opts;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
	EWS_CLEANUP(early_found) struct ews_early_found found = EWS_EARLY_FOUND_INIT;
	struct reading reading = { .content = &content, .cache = &cache, .look = look };
	struct ews_early *early = take_early(look);
	int rc;

	/* Before the index is read: what changes after this is not what the key speaks of. */
	digest_look(content.key, look);
	content.is_whole = stamp_index(&content.index, look->git_fd);
	if (!content.is_whole && opts->put) {
		/* It was just written: what it says is known, and that is asked of it again. */
		content.index = (struct ews_stamp){ .dev = UINT64_MAX };
		content.is_whole = true;
	}
	rc = read_all(&reading, &found, early);
	if (rc < 0)
		return rc;
	content.has_git = look->git_fd >= 0;
	if (!opts->only)
		rc = take_known(&content, &cache, look, early ? &found : NULL);
	if (rc == 0) {
		ews_touched_release(&content.touched);
		content.relies_on_kept = false;
		rc = walk(&content, &cache, look);
	} else if (rc > 0) {
		rc = 0;
	}
	if (rc == 0 && look->session)
		ews_submodule_heads_name_moved(&content.scan, look->session, look->root);
	if (rc == 0 && !opts->partial)
		rc = check_limits(&content.scan, look->max_file, look->max_total);
	if (rc < 0)
		return rc;
	ews_content_read_root(&content, look->root);
	content.is_compared = opts->is_compared;
	content.scan.root_fd = -1;
	*out = content;
	content = (struct ews_content)EWS_CONTENT_INIT;
	return 0;
}

int ews_content_now(struct ews_content *out, struct ews_repo *repo, struct ews_session *session,
		    struct ews_batch *batch, const struct ews_content_opts *opts)
{
	EWS_CLEANUP(look) struct ews_look *look = NULL;
	int rc = ews_look_begin(&look, repo, session, batch, opts);

	return rc < 0 ? rc : ews_look_finish(out, look);
}
