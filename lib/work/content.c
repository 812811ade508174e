/*
 * Content: see content.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/content.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/cache.h"

#define IGNORE_BYTES_MAX (16 * EWS_MIB)
#define LOOKS 4

/* A file of rules by its path; "~/" is home. Missing is empty. */
static int read_rules(struct ews_buf *out, const char *path)
{
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(free) char *full = NULL;

	if (!strncmp(path, "~/", 2))
		full = ews_path_join(getenv("HOME") ? getenv("HOME") : "", path + 2);
	else
		full = ews_strdup(path);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	return ews_file_read_fd(out, fd, IGNORE_BYTES_MAX);
}

int ews_content_ignore(struct ews_ignore **out, struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf user = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf info = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *info_path = ews_path_join(repo->common_dir, "info/exclude");
	EWS_CLEANUP(free) char *user_path = NULL;
	const char *xdg = getenv("XDG_CONFIG_HOME");
	bool fold_case;
	int rc;

	if (ews_odb_config(&user_path, repo->odb, "core.excludesFile") < 0) {
		if (xdg && *xdg)
			user_path = ews_path_join(xdg, "git/ignore");
		else
			user_path = ews_strdup("~/.config/git/ignore");
	}
	ews_error_clear();
	rc = ews_config_git_bool(&fold_case, repo->odb, "core.ignoreCase", false);
	if (rc < 0)
		return rc;
	rc = read_rules(&user, user_path);
	if (rc == 0)
		rc = read_rules(&info, info_path);
	if (rc < 0)
		return ews_error_wrap("cannot read the rules for ignored files");
	*out = ews_ignore_new(user.ptr, user.len, info.ptr, info.len, fold_case);
	return 0;
}

/* Is something on the way from `dir` down to `path` ignored? `rules` hold above `dir`. */
static int is_ignored_below(const struct ews_ignore *rules, int root_fd, const char *dir, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = *dir ? ews_dir_open_beneath(root_fd, dir) : fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	EWS_CLEANUP(ignore) struct ews_ignore *own = NULL;
	EWS_CLEANUP(free) char *next = NULL;
	size_t start = *dir ? strlen(dir) + 1 : 0;

	if (fd < 0)
		return fd;
	if (ews_file_read(&text, fd, ".gitignore", IGNORE_BYTES_MAX) < 0)
		ews_error_clear(); /* missing, or no file: it has no rules */
	own = ews_ignore_enter(rules, dir, text.len ? text.ptr : NULL, text.len);
	next = ews_strndup(path, start + strcspn(path + start, "/"));
	if (ews_ignore_match(own, next, true))
		return 1;
	return strcmp(next, path) ? is_ignored_below(own, root_fd, next, path) : 0;
}

int ews_content_is_ignored(struct ews_repo *repo, const char *path)
{
	EWS_CLEANUP(ignore) struct ews_ignore *rules = NULL;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(fd) int root = ews_dir_open(repo->project);
	int rc = root < 0 ? root : ews_content_ignore(&rules, repo);

	if (rc == 0)
		rc = is_ignored_below(rules, root, "", path);
	/* Mostly nothing is ignored, and the index need not be read. */
	if (rc <= 0)
		return rc;
	rc = ews_index_read(&index, repo->git_fd, "index", ews_odb_algo(repo->odb));
	return rc < 0 ? rc : !ews_index_has_below(&index, path);
}

int ews_content_exclude_text(struct ews_buf *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv rules = EWS_STRV_INIT;
	int rc = ews_config_list(&rules, ews_repo_config(repo), "qe.workspace.exclude");

	for (size_t i = 0; i < rules.n; i++)
		ews_buf_addf(out, "%s\n", rules.items[i]);
	return rc;
}

int ews_content_exclude(struct ews_ignore **out, struct ews_repo *repo, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool fold_case;
	int rc = 0;

	if (session)
		ews_buf_adds(&text, session->state.exclude ? session->state.exclude : "");
	else
		rc = ews_content_exclude_text(&text, repo);
	if (rc == 0 && text.len)
		rc = ews_config_git_bool(&fold_case, repo->odb, "core.ignoreCase", false);
	if (rc == 0 && text.len)
		*out = ews_ignore_new(text.ptr, text.len, NULL, 0, fold_case);
	return rc;
}

void ews_content_own(struct ews_strv *out, const struct ews_repo *repo, const char *root)
{
	EWS_CLEANUP(free) char *home = realpath(repo->home, NULL);

	ews_strv_add(out, ".superqode");
	ews_strv_add(out, ".ews-trash");
	if (home && strcmp(home, root) && ews_path_is_inside(home, root))
		ews_strv_add(out, home + strlen(root) + 1);
}

static char *project_cache(const struct ews_repo *repo, bool is_compared)
{
	uint8_t digest[EWS_HASH_MAX];
	char hex[17];

	ews_hash_once(EWS_SHA256, digest, repo->project, strlen(repo->project));
	ews_hex(hex, digest, 8);
	return ews_strfmt("%s-%s", is_compared ? "seen" : "cache", hex);
}

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
		if ((index->items[i].mode & 0170000) == 0160000)
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

static int read_git(struct ews_content *content, struct ews_index *index, int git_fd, enum ews_hash_algo algo,
		    bool is_workspace)
{
	int rc = ews_gitstate_read(&content->git, git_fd);

	if (rc < 0)
		return rc;
	content->has_git = true;
	rc = ews_index_read(index, git_fd, "index", algo);
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
static int look(struct ews_scan *scan, struct ews_scan_opts *scan_opts, struct ews_scan_fill_opts *fill_opts)
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

int ews_content_now(struct ews_content *out, struct ews_repo *repo, struct ews_session *session,
		    struct ews_batch *batch, const struct ews_content_opts *opts)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(entries) struct ews_entries cache = EWS_ENTRIES_INIT;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(ignore) struct ews_ignore *ignore = NULL;
	EWS_CLEANUP(ignore) struct ews_ignore *exclude = NULL;
	EWS_CLEANUP(strv) struct ews_strv own = EWS_STRV_INIT;
	EWS_CLEANUP(free)
	char *cache_name = session ? ews_strdup("cache") : project_cache(repo, opts->is_compared);
	EWS_CLEANUP(fd) int root = open_root(repo, session);
	EWS_CLEANUP(fd) int admin = -1;
	int cache_fd = session ? session->fd : repo->dir_fd;
	int git_fd = repo->git_fd;
	struct ews_scan_opts scan_opts = { .root_fd = root, .read_gitignore = true, .is_plain = repo->is_plain };
	/* A person's own files are read as they are, or named. */
	bool is_ours = session && !session->method->is_project;
	struct ews_scan_fill_opts fill_opts = { .odb = repo->odb, .batch = batch, .may_chmod = is_ours };
	uint64_t max_file, max_total;
	struct stat st;
	int rc;

	if (root < 0)
		return root;
	if (session) {
		/* A workspace whose registration was taken away still has its files. */
		admin = git_fd = ews_session_open_admin(session);
		ews_error_clear();
	} else if (repo->is_plain) {
		git_fd = -1;
	}
	rc = git_fd < 0 ? 0 : read_git(&content, &index, git_fd, ews_odb_algo(repo->odb), session);
	if (rc == 0)
		rc = ews_content_ignore(&ignore, repo);
	if (rc == 0)
		rc = ews_content_exclude(&exclude, repo, session);
	if (rc == 0)
		rc = ews_config_size(&max_file, ews_repo_config(repo), "ews.maxFile");
	if (rc == 0)
		rc = ews_config_size(&max_total, ews_repo_config(repo), "ews.maxTotal");
	if (rc == 0 && cache_fd >= 0 && !opts->reread)
		rc = ews_cache_read(&cache, cache_fd, cache_name);
	if (rc < 0)
		return rc;
	ews_content_own(&own, repo, session ? session->state.workspace : repo->project);
	scan_opts.ignore = ignore;
	scan_opts.with_ignored = opts->with_ignored || (session && session->method->is_project);
	scan_opts.into_repositories = opts->into_repositories;
	scan_opts.known = opts->known ? &opts->known->scan.entries : NULL;
	scan_opts.index = &index;
	scan_opts.own = (const char *const *)own.items;
	scan_opts.exclude = exclude;
	scan_opts.only = opts->only;
	scan_opts.max_file_bytes = max_file;
	scan_opts.may_chmod = is_ours;
	fill_opts.cache = &cache;
	fill_opts.pinned = scan_opts.known;
	fill_opts.hint = session ? NULL : &index;
	fill_opts.progress = opts->progress;
	fill_opts.payload = opts->payload;
	rc = look(&content.scan, &scan_opts, &fill_opts);
	if (rc == 0 && !opts->partial)
		rc = check_limits(&content.scan, max_file, max_total);
	ews_scan_close(&content.scan);
	if (rc < 0)
		return rc;
	if (fstat(root, &st) == 0)
		ews_content_set_root(&content, &st);
	mark_gitlinks(&content.scan.entries, opts->known, &index);
	ews_manifest_hash(content.hash, &content.scan.entries);
	/* Without a batch the ids stand for objects that nobody may have: such a list is no cache. */
	content.is_compared = opts->is_compared;
	content.cache_is_stale = (batch || opts->is_compared) && !opts->only &&
				 (content.scan.n_read || content.scan.entries.n != cache.n);
	content.scan.root_fd = -1;
	*out = content;
	content = (struct ews_content)EWS_CONTENT_INIT;
	return 0;
}

void ews_content_set_root(struct ews_content *content, const struct stat *st)
{
	content->root_mode = st->st_mode & 07777;
	content->root_uid = st->st_uid;
	content->root_gid = st->st_gid;
	content->has_root_owner = true;
}

int ews_content_need_owners(const struct ews_content *content, const char *snapshot)
{
	for (size_t i = 0; i < content->scan.entries.n; i++)
		if (content->scan.entries.items[i].has_owner)
			return 0;
	if (!content->scan.entries.n)
		return 0;
	ews_error(EWS_EUNSUPPORTED, "'%s' records no owners", snapshot);
	ews_error_hint("commits of git have none; without --owner all else is put back");
	return EWS_EUNSUPPORTED;
}

int ews_content_save_cache(struct ews_content *content, struct ews_repo *repo, struct ews_session *session)
{
	EWS_CLEANUP(free)
	char *name = session ? ews_strdup("cache") : project_cache(repo, content->is_compared);
	int fd = session ? session->fd : repo->dir_fd;

	if (!content->cache_is_stale || fd < 0)
		return 0;
	content->cache_is_stale = false;
	return ews_cache_write(fd, name, &content->scan.entries, content->scan.started_s, content->scan.started_ns);
}

void ews_content_release(struct ews_content *content)
{
	ews_scan_release(&content->scan);
	ews_gitstate_release(&content->git);
	*content = (struct ews_content)EWS_CONTENT_INIT;
}
