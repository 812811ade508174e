/*
 * Content: see content.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/content.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path_line.h"
#include "store/xattr.h"
#include "work/session_place.h"

char *ews_content_project_cache(const struct ews_repo *repo, bool is_compared)
{
	uint8_t digest[EWS_HASH_MAX];
	char hex[17];

	ews_hash_once(EWS_SHA256, digest, repo->project, strlen(repo->project));
	ews_hex(hex, digest, 8);
	return ews_strfmt("%s-%s", is_compared ? "seen" : "cache", hex);
}

void ews_content_make_hash(struct ews_content *content)
{
	if (content->hash_is_due)
		ews_manifest_hash(content->hash, &content->scan.entries);
	content->hash_is_due = false;
}

void ews_content_take_hash(struct ews_content *content, const char *hash)
{
	if (content->hash_is_due)
		memcpy(content->hash, hash, sizeof(content->hash));
	content->hash_is_due = false;
}

bool ews_content_has_hash(const struct ews_content *content, const char *hash)
{
	return !content->hash_is_due && hash && *hash && !strcmp(content->hash, hash);
}

int ews_content_read_index(struct ews_content *content, const struct ews_session *session)
{
	EWS_CLEANUP(fd) int admin = content->index_is_due ? ews_session_open_admin(session) : -1;

	if (!content->index_is_due)
		return 0;
	content->index_is_due = false;
	content->git.has_index = false;
	if (admin == EWS_ENOTFOUND) {
		ews_error_clear(); /* it was taken away meanwhile: then it says nothing */
		return 0;
	}
	return admin < 0 ? admin : ews_gitstate_read_index(&content->git, admin);
}

int ews_content_compare_git(struct ews_strv *out, struct ews_content *content, const struct ews_session *session,
			    const struct ews_gitstate *wanted)
{
	EWS_CLEANUP(fd) int admin = content->index_is_due ? ews_session_open_admin(session) : -1;
	bool is_shared = admin >= 0 && ews_gitstate_has_index(wanted, admin);
	int rc;

	ews_error_clear(); /* what can't be opened is said when it is read */
	rc = is_shared ? 0 : ews_content_read_index(content, session);
	if (rc < 0)
		return rc;
	if (is_shared)
		content->git.index = wanted->index;
	ews_gitstate_differences(out, wanted, &content->git);
	if (is_shared)
		content->git.index = (struct ews_buf)EWS_BUF_INIT;
	return 0;
}

static bool has_path(const struct ews_content *now, const struct ews_content *then, const char *path)
{
	return !*path ||
	       (now && (ews_entries_has_below(&now->scan.entries, path) || ews_skips_touch(&now->scan.skips, path))) ||
	       (then && ews_entries_has_below(&then->scan.entries, path));
}

/* What lies in something that was left out is seen by nobody, so nothing can be said of it. What came along is known. */
static int refuse_unseen(const struct ews_content *now, const struct ews_content *then, const char *path)
{
	const struct ews_skip *skip = ews_skips_covering(&now->scan.skips, path);

	if (!skip || !strcmp(skip->path, path) || ews_skip_is_present(skip->reason) ||
	    ews_entries_has_below(&now->scan.entries, path) || ews_entries_has_below(&then->scan.entries, path))
		return 0;
	ews_error(EWS_EUNSUPPORTED, "'%s' lies in '%s', which is left out as a whole: %s", path, skip->path,
		  ews_skip_word(skip->reason));
	ews_error_hint("name '%s' itself, or move the other by hand", skip->path);
	return EWS_EUNSUPPORTED;
}

int ews_content_check_only(const struct ews_content *now, const struct ews_content *then, const char *const *only,
			   const char *id)
{
	for (; only && *only; only++) {
		if (has_path(now, then, *only)) {
			int rc = now && then ? refuse_unseen(now, then, *only) : 0;

			if (rc < 0)
				return rc;
			continue;
		}
		if (id)
			ews_error(EWS_ENOTFOUND, "'%s' is %s '%s'", *only, now ? "neither there nor in" : "not in",
				  id);
		else
			ews_error(EWS_ENOTFOUND, "'%s' is neither there nor in the state before", *only);
		ews_error_hint("paths are those of files and directories, without patterns");
		return EWS_ENOTFOUND;
	}
	return 0;
}

void ews_content_read_root(struct ews_content *content, int root_fd)
{
	EWS_CLEANUP(buf) struct ews_buf xattrs = EWS_BUF_INIT;
	struct stat st;

	if (fstat(root_fd, &st) < 0)
		return;
	content->root_mode = st.st_mode & 07777;
	content->root_uid = st.st_uid;
	content->root_gid = st.st_gid;
	content->has_root_owner = true;
	free(content->root_xattrs);
	content->root_xattrs = NULL;
	if (ews_xattr_read(&xattrs, root_fd) == 0)
		content->root_xattrs = ews_strndup(xattrs.ptr, xattrs.len);
	else
		ews_error_clear();
}

int ews_content_write_root_xattrs(struct ews_strv *lost, const struct ews_content *content, int root_fd)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = content->root_xattrs ? ews_xattr_write_at(root_fd, "", content->root_xattrs, &names) : 0;

	for (size_t i = 0; i < names.n; i++)
		ews_path_line_add(lost, ".", names.items[i]);
	return rc < 0 ? ews_error_wrap("cannot set the attributes of the directory") : 0;
}

bool ews_content_root_mode_differs(const struct ews_content *content, const struct ews_content *wanted)
{
	return wanted->root_mode && content->root_mode != wanted->root_mode;
}

bool ews_content_root_xattrs_differ(const struct ews_content *content, const struct ews_content *wanted)
{
	return wanted->root_xattrs &&
	       (!content->root_xattrs || strcmp(content->root_xattrs, wanted->root_xattrs) != 0);
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

/* The stat cache of the content, which it borrows. */
static struct ews_cache cache_of(const struct ews_content *content)
{
	struct ews_cache cache = { .entries = content->scan.entries,
				   .is_whole = content->is_whole,
				   .root = content->scan.root,
				   .index = content->index,
				   .skips = content->found,
				   .extra = content->memo,
				   .is_origin = true,
				   .origin = content->origin };

	memcpy(cache.key, content->key, sizeof(cache.key));
	memcpy(cache.tracked, content->tracked, sizeof(cache.tracked));
	memcpy(cache.hash, content->hash, sizeof(cache.hash));
	return cache;
}

void ews_content_format_cache(struct ews_content *content)
{
	const struct ews_cache cache = cache_of(content);
	/* Of many files all would be in memory twice: that is written in parts, when it is. */
	bool is_small = cache.entries.n <= EWS_ENTRIES_MANY || ews_cache_has_origin(&cache);

	if (content->cache_is_stale && is_small)
		ews_cache_format(&content->image, &cache, content->scan.started_s, content->scan.started_ns);
}

int ews_content_save_cache(struct ews_content *content, struct ews_repo *repo, struct ews_session *session)
{
	EWS_CLEANUP(free)
	char *name = session ? ews_strdup(EWS_SESSION_CACHE) : ews_content_project_cache(repo, content->is_compared);
	const struct ews_cache cache = cache_of(content);
	const struct iovec memo = { content->memo.ptr, content->memo.len };
	int fd = session ? session->fd : repo->dir_fd;
	int rc;

	if (!content->cache_is_stale || fd < 0)
		return 0;
	content->cache_is_stale = false;
	if (content->image.data.len)
		rc = ews_cache_write_image(fd, name, &content->image, &memo, 1, false);
	else
		rc = ews_cache_write(fd, name, &cache, content->scan.started_s, content->scan.started_ns, false);
	/* Where it can't be written, on a full disk say, the next look takes longer, and that is all. */
	if (rc < 0)
		ews_error_clear();
	ews_cache_image_release(&content->image);
	return 0;
}

void ews_content_set_memo(struct ews_content *content, const void *memo, size_t len)
{
	if (content->memo.len == len && !memcmp(content->memo.ptr, memo, len))
		return;
	ews_buf_truncate(&content->memo, 0);
	ews_buf_add(&content->memo, memo, len);
	content->cache_is_stale = content->cache_is_stale || (content->is_unchanged && content->is_whole);
}

void ews_content_release(struct ews_content *content)
{
	ews_scan_release(&content->scan);
	ews_gitstate_release(&content->git);
	ews_skips_release(&content->found);
	ews_buf_release(&content->memo);
	ews_buf_release(&content->earlier);
	ews_touched_release(&content->touched);
	ews_cache_origin_release(&content->origin);
	ews_cache_image_release(&content->image);
	free(content->root_xattrs);
	*content = (struct ews_content)EWS_CONTENT_INIT;
}
