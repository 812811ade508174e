/*
 * Look: see look.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/look.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "work/ignored.h"
#include "work/look_known.h"
#include "work/rules.h"
#include "work/session_place.h"
#include "work/submodule_head.h"

#define LOOKS 4

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
	ews_error_hint(
		"'git -c ews.maxTotal=<size> ews ...' raises it for once; 'git ews config list --show-origin' says where it is set");
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
static void mark_gitlinks(struct ews_entries *list, const struct ews_look *look, const struct ews_index *index)
{
	const struct ews_content *known = look->opts->known;

	for (size_t i = 0; (!look->session || !known) && i < index->n; i++)
		if (index->items[i].mode == EWS_MODE_GITLINK)
			mark_gitlink(list, index->items[i].path, &index->items[i].oid);
	for (size_t i = 0; known && i < known->scan.entries.n; i++)
		if (known->scan.entries.items[i].type == EWS_ENTRY_GITLINK)
			mark_gitlink(list, known->scan.entries.items[i].path, &known->scan.entries.items[i].oid);
}

/* Was the same found as where nothing is known? What was found by itself, and of submodules no more was known than git's index says. */
static bool stands_alone(const struct ews_scan *scan, const struct ews_look *look, const struct ews_index *index)
{
	const struct ews_content *known = look->opts->known;

	for (size_t i = 0; known && i < known->scan.entries.n; i++) {
		const struct ews_entry *entry = &known->scan.entries.items[i];
		const struct ews_index_entry *tracked;

		if (entry->type != EWS_ENTRY_GITLINK)
			continue;
		tracked = ews_index_find(index, entry->path);
		if (!tracked || tracked->mode != EWS_MODE_GITLINK || !ews_oid_equal(&tracked->oid, &entry->oid))
			return false;
	}
	return !look->session && !scan->leans_on_known;
}

static int open_root(struct ews_repo *repo, struct ews_session *session)
{
	if (session)
		return ews_session_open_workspace(session);
	if (repo->is_bare)
		return ews_error(EWS_EUSAGE, "'%s' is a bare repository: it has no files", repo->project);
	return ews_dir_open(repo->project);
}

static bool is_with_ignored(const struct ews_look *look)
{
	return look->opts->with_ignored || (look->session && look->session->method->is_project);
}

/*
 * Scan and read. While somebody renames or removes things, what was listed may be gone when it is
 * looked at, and stand elsewhere unseen: then all is looked at again, and in the end named.
 */
static int scan_and_fill(struct ews_scan *scan, struct ews_scan_opts *scan_opts,
			 struct ews_scan_fill_opts *fill_opts, const struct ews_look *look)
{
	/* Before it is read: what came along is nobody's to keep. */
	bool leaves_out = look->session && !is_with_ignored(look) && look->opts->known;
	int rc = 0;

	for (int left = LOOKS - 1; left >= 0 && rc == 0; left--) {
		ews_scan_release(scan);
		*scan = (struct ews_scan)EWS_SCAN_INIT;
		scan_opts->name_vanished = fill_opts->name_vanished = left == 0;
		rc = ews_scan(scan, scan_opts);
		if (rc == 0 && leaves_out)
			rc = ews_ignored_leave_out(scan, look->session, look->opts->known, scan_opts->index);
		if (rc == 0)
			rc = ews_scan_fill(scan, fill_opts);
		if (!scan->n_vanished)
			break;
	}
	return rc;
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

static void digest_look(uint8_t key[EWS_CACHE_KEY_LEN], const struct ews_look *look, const struct ews_content *known)
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
	assert(!known || *known->hash);
	ews_hash_add_part(hash, known ? known->hash : "", known ? strlen(known->hash) : 0);
	ews_hash_finish(hash, key);
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
		return ews_look_read_index(index, look);
	rc = ews_index_borrow_state(index, git, algo);
	if (rc < 0) {
		ews_error_clear();
		return ews_look_read_index(index, look);
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
					   .keeps_out = opts->keeps_out_of_repositories,
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
						.is_wary = opts->is_wary,
						.progress = opts->progress,
						.payload = opts->payload };
	int rc = ews_look_read_known(look);

	if (rc == 0)
		rc = read_index_of(&index, content, look);
	if (rc < 0)
		return rc;
	ews_look_digest_tracked(content->tracked, &index);
	if (look->exclude.len)
		exclude = ews_ignore_new(look->exclude.ptr, look->exclude.len, NULL, 0, look->fold_case);
	scan_opts.exclude = exclude;
	if (opts->put)
		content->is_whole = find_made(&content->scan, opts, &scan_opts) && content->is_whole;
	else
		rc = scan_and_fill(&content->scan, &scan_opts, &fill_opts, look);
	content->is_whole = content->is_whole && rc == 0 && !opts->only && ews_recheck_is_possible(&content->scan);
	ews_scan_close(&content->scan);
	if (rc < 0)
		return rc;
	mark_gitlinks(&content->scan.entries, look, &index);
	if (stands_alone(&content->scan, look, &index))
		memcpy(content->key, look->plain_key, sizeof(content->key));
	if (!look->session && !opts->put)
		rc = ews_submodule_heads_take(&content->scan, look->repo->odb, look->root);
	if (rc < 0)
		return rc;
	if (opts->put)
		memcpy(content->hash, opts->put->hash, sizeof(content->hash));
	else
		ews_manifest_hash(content->hash, &content->scan.entries);
	if (content->is_whole)
		ews_skips_add_all(&content->found, &content->scan.skips);
	content->cache_is_stale =
		ews_look_is_remembered(look) && !opts->only &&
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
	return reading->look->opts->known_may_wait ? 0 : ews_look_read_known(reading->look);
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
	digest_look(look->key, look, opts->known);
	digest_look(look->plain_key, look, NULL);
	memcpy(content.key, look->key, sizeof(content.key));
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
		rc = ews_look_take_known(&content, &cache, look, early ? &found : NULL);
	if (rc == 0) {
		ews_touched_release(&content.touched);
		content.relies_on_kept = false;
		rc = walk(&content, &cache, look);
	} else if (rc > 0) {
		rc = 0;
	}
	if (rc == 0 && look->session)
		rc = ews_submodule_heads_name_moved(&content.scan, look->session, look->root);
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
