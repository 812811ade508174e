/*
 * Content: all that stands in a workspace or project, files and git state.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_CONTENT_H
#define EWS_WORK_CONTENT_H

#include "base/progress_fn.h"
#include "store/cache.h"
#include "store/gitstate.h"
#include "store/manifest.h"
#include "store/recheck.h"
#include "store/repo.h"
#include "store/scan.h"
#include "work/session.h"

/* A directory's present or recorded content, whole. */
struct ews_content {
	struct ews_scan scan; /* entries and skips; of a recorded one no stat data */
	struct ews_gitstate git; /* nothing in it for a plain revision */
	bool has_git;
	uint16_t root_mode; /* of the directory itself; 0: not known */
	bool has_root_owner;
	uint32_t root_uid, root_gid;
	char *root_xattrs; /* of the directory itself, as those of an entry; "": there are none; NULL: not known */
	bool cache_is_stale; /* the stat cache has not seen all of this */
	bool is_whole; /* all that there is was looked at, and can be rechecked by: */
	uint8_t key[EWS_CACHE_KEY_LEN], tracked[EWS_CACHE_KEY_LEN];
	struct ews_stamp index;
	struct ews_skips found; /* what the scan left out; the skips may be sorted out further */
	bool is_unchanged; /* the entries are those that were found last, times and all */
	bool is_same_index; /* and so is git's index */
	struct ews_buf memo; /* what was made of these very entries last, for whoever looks next; goes with the cache */
	struct ews_buf earlier; /* the memo of the entries as they were before some were touched; empty: there is none */
	struct ews_touched touched; /* those as they were */
	bool relies_on_kept; /* that what the memo, or the earlier one, names was held is all that is known of contents that were not read */
	struct ews_cache_origin origin; /* the file of the stat cache that has nearly all of it, if one has */
	struct ews_cache_image image; /* the stat cache that is saved next, if it was formatted already */
	bool is_compared; /* as asked for */
	bool hash_is_due; /* nobody made it yet: ews_content_make_hash() */
	bool index_is_due; /* nobody read git's index yet: ews_content_read_index() */
	char hash[EWS_TREE_HASH_LEN];
};

/* What is asked for of the content that stands there now (work/look). */
struct ews_content_opts {
	bool with_ignored;
	bool into_repositories; /* what nested repositories hold is content, too, but not their git directories */
	bool keeps_out_of_repositories; /* what they hold is none, even where `known` has it */
	bool partial; /* what is over a limit is left out instead of an error */
	const char *const *only; /* NULL: all */
	const struct ews_content *known; /* the base: its paths are looked at even when ignored; its hash tells it from others */
	const struct ews_strv *ours; /* sorted; of the project: what we put there, whose modes may close it. NULL: none */
	/*
	 * NULL, or what reads `known`, which has no more than its hash until then; called again it does nothing. It may run on another
	 * thread while the caller's uses nothing of the store. With `known_may_wait` it is called only where more is wanted.
	 */
	int (*read_known)(void *payload);
	void *known_payload;
	bool known_may_wait;
	bool hash_may_wait; /* the hash over many entries takes long: who asked makes it where there is time */
	bool reread; /* trust no cache */
	bool is_wary; /* nor that what a cache knows as kept can be read (ews_odb_is_sound()): for who takes it away from here, with a batch that is wary */
	/*
	 * What has just been put there, with its stat data, which is all that is asked for (store/made), but for git's state:
	 * the content is whole when it is what stands there, and else of no use.
	 */
	struct ews_content *put;
	bool takes_put; /* its list becomes that of the content, and it has none any more */
	bool is_compared; /* only to be compared, of the project: it has a stat cache that stands for no objects */
	bool without_index; /* the bytes of git's index, which may be many, are not asked for */
	bool index_may_wait; /* they may be asked for later: not where all that the index names is taken out of the workspace's repository */
	ews_progress_fn progress;
	void *payload;
};

#define EWS_CONTENT_INIT { .scan = EWS_SCAN_INIT, .git = EWS_GITSTATE_INIT, .found = EWS_SKIPS_INIT, .memo = EWS_BUF_INIT, .earlier = EWS_BUF_INIT, .touched = EWS_TOUCHED_INIT, .origin = EWS_CACHE_ORIGIN_INIT, .image = EWS_CACHE_IMAGE_INIT }

/* Make the hash, if it is due. */
void ews_content_make_hash(struct ews_content *content);

/* Take `hash`, if its own is due: that of entries which were found to be equal (ews_entry_equal). */
void ews_content_take_hash(struct ews_content *content, const char *hash);

/* Is that its hash? Where it is due something was touched, and it hardly is; NULL and "" are nobody's. */
bool ews_content_has_hash(const struct ews_content *content, const char *hash);

/* Read git's index in `session`'s workspace, if it is due. */
int ews_content_read_index(struct ews_content *content, const struct ews_session *session);

/*
 * Name what of git's state in `session`'s workspace is not as in `wanted`. An index that is the very one of that stays due, if it was:
 * one is enough in memory.
 */
int ews_content_compare_git(struct ews_strv *out, struct ews_content *content, const struct ews_session *session,
			    const struct ews_gitstate *wanted);

/*
 * A path that is asked for and is nowhere is a mistake. Fail with EWS_ENOTFOUND unless each of `only` (NULL: none) is in `now`,
 * looked at or left out, or in `then`; either may be NULL. `id` is whose state the latter is; NULL: the one before.
 */
int ews_content_check_only(const struct ews_content *now, const struct ews_content *then, const char *const *only,
			   const char *id);

/* Take mode, owner and attributes of the directory itself, which is open as `root_fd`. What can't be asked is not known then. */
void ews_content_read_root(struct ews_content *content, int root_fd);

/*
 * Give the directory itself, open as `root_fd`, the attributes that `content` knows of; before its mode, which an access list
 * changes. What may not be set goes to `lost`, a line "." each.
 */
int ews_content_write_root_xattrs(struct ews_strv *lost, const struct ews_content *content, int root_fd);

/* Has the directory itself another mode, or other attributes, than `wanted` knows of? */
bool ews_content_root_mode_differs(const struct ews_content *content, const struct ews_content *wanted);
bool ews_content_root_xattrs_differ(const struct ews_content *content, const struct ews_content *wanted);

/* Does the recorded content of `snapshot` say whose things are? Fails with EWS_EUNSUPPORTED. */
int ews_content_need_owners(const struct ews_content *content, const char *snapshot);

/* The name of the stat cache of `repo`'s project, in the store's directory: that of what was kept, or of what was compared. The caller frees it. */
char *ews_content_project_cache(const struct ews_repo *repo, bool is_compared);

/*
 * Remember what was read in the stat cache. To be called once the objects of
 * `content` are durable: a cache must not vouch for what the store lacks.
 */
int ews_content_save_cache(struct ews_content *content, struct ews_repo *repo, struct ews_session *session);

/*
 * Do beforehand what takes longest of that, on whatever thread, where there is something to remember and the hash
 * is made. Nothing but the memo may change between the two.
 */
void ews_content_format_cache(struct ews_content *content);

/* Leave a memo in the cache that is saved next, if it is not the one that is there. */
void ews_content_set_memo(struct ews_content *content, const void *memo, size_t len);

void ews_content_release(struct ews_content *content);

EWS_CLEANUP_DEFINE(content, struct ews_content, ews_content_release)

#endif
