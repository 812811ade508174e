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

/* The directory of the session; -1: it is gone. */
static int open_session(const struct ews_repo *repo, const struct ews_base_id *base)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt("sessions/%s", base->session);
	int fd = repo->dir_fd < 0 ? -1 : ews_dir_open_beneath(repo->dir_fd, rel);

	ews_error_clear();
	return fd;
}

/* It is what the commit says, and what the commit's name was made from can't change. */
static void make_key(uint8_t key[EWS_CACHE_KEY_LEN], const struct ews_base_id *base)
{
	uint8_t digest[EWS_HASH_MAX];

	ews_hash_once(EWS_SHA256, digest, base->commit->id, base->commit->len);
	memcpy(key, digest, EWS_CACHE_KEY_LEN);
}

/* Of a file of git's: the length of its name, of its bytes, and both. */
static void add_file(struct ews_buf *out, const char *name, const struct ews_buf *data)
{
	const uint64_t lens[] = { strlen(name), data->len };

	ews_buf_add(out, lens, sizeof(lens));
	ews_buf_add(out, name, strlen(name));
	ews_buf_add(out, data->ptr, data->len);
}

/* The state of git: its index's time, the index if there is one, the files. Nothing is "running" in a recorded one. */
static void add_gitstate(struct ews_buf *out, const struct ews_gitstate *git)
{
	const int64_t head[] = { git->has_index, git->index_mtime_s, git->index_mtime_ns };

	ews_buf_add(out, head, sizeof(head));
	if (git->has_index)
		add_file(out, "", &git->index);
	for (size_t i = 0; i < git->n; i++)
		add_file(out, git->files[i].name, &git->files[i].data);
}

/* Read one file at `*at`; the name is "" for the index. */
static bool take_file(struct ews_gitstate *git, const char **at, const char *end)
{
	EWS_CLEANUP(free) char *name = NULL;
	uint64_t lens[2];

	if ((size_t)(end - *at) < sizeof(lens))
		return false;
	memcpy(lens, *at, sizeof(lens));
	*at += sizeof(lens);
	if (lens[0] > (uint64_t)(end - *at) || lens[1] > (uint64_t)(end - *at) - lens[0])
		return false;
	name = ews_strndup(*at, lens[0]);
	*at += lens[0];
	if (*name)
		ews_gitstate_set_file(git, name, *at, lens[1]);
	else
		ews_buf_add(&git->index, *at, lens[1]);
	*at += lens[1];
	return true;
}

static bool take_gitstate(struct ews_gitstate *git, const struct ews_buf *text)
{
	const char *at = text->ptr, *end = text->ptr + text->len;
	int64_t head[3];

	if (text->len < sizeof(head))
		return false;
	memcpy(head, at, sizeof(head));
	git->has_index = head[0] == 1;
	git->index_mtime_s = head[1];
	git->index_mtime_ns = (uint32_t)head[2];
	for (at += sizeof(head); at < end;)
		if (!take_file(git, &at, end))
			return false;
	return true;
}

int ews_base_cache_read(struct ews_content *out, struct ews_repo *repo, const struct ews_base_id *base)
{
	EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(fd) int fd = open_session(repo, base);
	uint8_t key[EWS_CACHE_KEY_LEN];

	make_key(key, base);
	if (fd < 0 || ews_cache_read(&cache, fd, EWS_BASE_CACHE_FILE) < 0 || !cache.is_whole ||
	    memcmp(cache.key, key, sizeof(key)) || strcmp(cache.hash, base->hash) != 0 ||
	    !take_gitstate(&content.git, &cache.extra))
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

/* The entries as the store gives them. They borrow the strings; the caller frees them. */
static struct ews_entry *copy_recorded(const struct ews_entries *list)
{
	struct ews_entry *items = ews_calloc(list->n + 1, sizeof(*items));

	for (size_t i = 0; i < list->n; i++)
		ews_manifest_record(&items[i], &list->items[i]);
	return items;
}

void ews_base_cache_write(const struct ews_content *content, struct ews_repo *repo, const struct ews_base_id *base)
{
	EWS_CLEANUP(free) struct ews_entry *items = copy_recorded(&content->scan.entries);
	EWS_CLEANUP(buf) struct ews_buf extra = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = open_session(repo, base);
	struct ews_cache cache = { .entries = { .items = items,
						.n = content->scan.entries.n,
						.knows_names = content->scan.entries.knows_names },
				   .is_whole = true,
				   .root = { .mode = content->root_mode,
					     .has_owner = content->has_root_owner,
					     .uid = content->root_uid,
					     .gid = content->root_gid },
				   .skips = content->scan.skips };

	if (fd < 0)
		return;
	add_gitstate(&extra, &content->git);
	cache.extra = extra;
	make_key(cache.key, base);
	memcpy(cache.hash, content->hash, sizeof(cache.hash));
	if (ews_cache_write(fd, EWS_BASE_CACHE_FILE, &cache, 0, 0, false) < 0)
		ews_error_clear();
}
