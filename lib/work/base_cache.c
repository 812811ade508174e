/*
 * Base cache: see base_cache.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/base_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "store/home.h"

/* The directory of the session; -1: it is gone. */
static int open_session(const struct ews_repo *repo, const struct ews_base_id *base)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", base->session);
	int fd = repo->dir_fd < 0 ? -1 : ews_dir_open_beneath(repo->dir_fd, rel);

	ews_error_clear();
	return fd;
}

/* It is what the commit says, and what the commit's name was made from can't change. */
static void make_key(uint8_t key[EWS_CACHE_KEY_LEN], const struct ews_base_id *base)
{
	ews_hash_once(EWS_SHA256, key, base->commit->id, base->commit->len);
}

/*
 * The state of git as it is written: its index's time, then of the attributes of the directory itself, if they are known, of the
 * index, if there is one, of each file and of what is left which it is, the length of its name, of its bytes, and both. The
 * attributes stand before the index, for which earlier versions take them: the last one holds.
 */
enum git_kind { GIT_INDEX, GIT_FILE, GIT_LEFT, GIT_ROOT_XATTRS };

/* What stands before each. */
struct git_head {
	uint64_t kind, name_len, data_len;
};

struct git_parts {
	int64_t head[3];
	struct git_head *heads;
	size_t n_heads;
	struct iovec *parts; /* they borrow what is there: an index may be large */
	size_t n;
};

static void release_git_parts(struct git_parts *git)
{
	free(git->heads);
	free(git->parts);
}

EWS_CLEANUP_DEFINE(git_parts, struct git_parts, release_git_parts)

static void add_part(struct git_parts *git, const void *data, size_t len)
{
	/* Whoever writes only reads it. */
	git->parts[git->n++] = (struct iovec){ (void *)data, len };
}

static void add_file(struct git_parts *git, enum git_kind kind, const char *name, const void *data, size_t len)
{
	struct git_head *head = &git->heads[git->n_heads++];

	*head = (struct git_head){ kind, strlen(name), len };
	add_part(git, head, sizeof(*head));
	add_part(git, name, head->name_len);
	add_part(git, data, len);
}

static void add_files(struct git_parts *git, enum git_kind kind, const struct ews_gitstate_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		add_file(git, kind, files->items[i].name, files->items[i].data.ptr, files->items[i].data.len);
}

static void list_parts(struct git_parts *out, const struct ews_content *content)
{
	const struct ews_gitstate *git = &content->git;
	size_t n = git->files.n + git->left.n + 2;

	out->heads = ews_calloc(n, sizeof(*out->heads));
	out->parts = ews_calloc(3 * n + 1, sizeof(*out->parts));
	out->head[0] = git->has_index;
	out->head[1] = git->index_mtime_s;
	out->head[2] = git->index_mtime_ns;
	add_part(out, out->head, sizeof(out->head));
	if (content->root_xattrs)
		add_file(out, GIT_ROOT_XATTRS, "", content->root_xattrs, strlen(content->root_xattrs));
	if (git->has_index)
		add_file(out, GIT_INDEX, "", git->index.ptr, git->index.len);
	add_files(out, GIT_FILE, &git->files);
	add_files(out, GIT_LEFT, &git->left);
}

/* Read one file at `*at`; of the index the place is told. */
static bool take_file(struct ews_content *content, struct iovec *index, const char **at, const char *end)
{
	struct ews_gitstate *git = &content->git;
	EWS_CLEANUP(free) char *name = NULL;
	struct git_head head;

	if ((size_t)(end - *at) < sizeof(head))
		return false;
	memcpy(&head, *at, sizeof(head));
	*at += sizeof(head);
	if (head.name_len > (uint64_t)(end - *at) || head.data_len > (uint64_t)(end - *at) - head.name_len)
		return false;
	name = ews_strndup(*at, head.name_len);
	*at += head.name_len;
	if (head.kind == GIT_FILE)
		ews_gitstate_set_file(git, name, *at, head.data_len);
	else if (head.kind == GIT_LEFT)
		ews_gitstate_set_left(git, name, *at, head.data_len);
	else if (head.kind == GIT_ROOT_XATTRS && !content->root_xattrs)
		content->root_xattrs = ews_strndup(*at, head.data_len);
	else
		*index = (struct iovec){ (void *)*at, head.data_len }; /* who takes it has the text itself */
	*at += head.data_len;
	return true;
}

/* It may be long: it is moved to where the text begins, which it takes over. */
static void take_index(struct ews_gitstate *git, const struct iovec *index, struct ews_buf *text)
{
	memmove(text->ptr, index->iov_base, index->iov_len);
	ews_buf_truncate(text, index->iov_len);
	git->index = *text;
	*text = (struct ews_buf)EWS_BUF_INIT;
}

static bool take_gitstate(struct ews_content *content, struct ews_buf *text, bool without_index)
{
	struct ews_gitstate *git = &content->git;
	const char *at = text->ptr, *end = text->ptr + text->len;
	struct iovec index = { NULL, 0 };
	int64_t head[3];

	if (text->len < sizeof(head))
		return false;
	memcpy(head, at, sizeof(head));
	git->has_index = head[0] == 1 && !without_index;
	git->index_mtime_s = head[1];
	git->index_mtime_ns = (uint32_t)head[2];
	for (at += sizeof(head); at < end;)
		if (!take_file(content, &index, &at, end))
			return false;
	if (index.iov_base && !without_index)
		take_index(git, &index, text);
	return true;
}

int ews_base_cache_read(struct ews_content *out, struct ews_repo *repo, const struct ews_base_id *base,
			bool without_index)
{
	EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(fd) int fd = open_session(repo, base);
	uint8_t key[EWS_CACHE_KEY_LEN];

	make_key(key, base);
	if (fd < 0 || ews_cache_read(&cache, fd, EWS_BASE_CACHE_FILE) < 0 || !cache.is_whole ||
	    memcmp(cache.key, key, sizeof(key)) || strcmp(cache.hash, base->hash) != 0 ||
	    !take_gitstate(&content, &cache.extra, without_index))
		return 0;
	content.scan.entries = cache.entries;
	content.scan.skips = cache.skips;
	cache.entries = (struct ews_entries)EWS_ENTRIES_INIT;
	cache.skips = (struct ews_skips)EWS_SKIPS_INIT;
	content.has_git = true;
	content.root_mode = cache.root.mode;
	content.has_root_owner = cache.root.has_owner;
	content.root_uid = cache.root.uid;
	content.root_gid = cache.root.gid;
	memcpy(content.hash, cache.hash, sizeof(content.hash));
	*out = content;
	content = (struct ews_content)EWS_CONTENT_INIT;
	return 1;
}

void ews_base_cache_write(const struct ews_content *content, struct ews_repo *repo, const struct ews_base_id *base)
{
	EWS_CLEANUP(git_parts) struct git_parts git = { .n = 0 };
	EWS_CLEANUP(fd) int fd = open_session(repo, base);
	/* The entries as the store gives them. */
	struct ews_cache cache = { .entries = content->scan.entries,
				   .record = ews_manifest_record,
				   .is_whole = true,
				   .root = { .mode = content->root_mode,
					     .has_owner = content->has_root_owner,
					     .uid = content->root_uid,
					     .gid = content->root_gid },
				   .skips = content->scan.skips };

	if (fd < 0)
		return;
	list_parts(&git, content);
	make_key(cache.key, base);
	memcpy(cache.hash, content->hash, sizeof(cache.hash));
	if (ews_cache_write_with(fd, EWS_BASE_CACHE_FILE, &cache, 0, 0, git.parts, git.n, false) < 0)
		ews_error_clear();
}
