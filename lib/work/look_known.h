/*
 * What was found last, taken for what stands there now.
 *
 * Where each directory has the names that it had, as its stat data says, nobody has to walk: what was touched is read again, and
 * all else is as the stat cache has it. For look alone, whose own this is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_LOOK_KNOWN_H
#define EWS_WORK_LOOK_KNOWN_H

#include "store/cache.h"
#include "store/early.h"
#include "store/index.h"
#include "work/content.h"

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
	/* Digest of all that says what a scan finds in a directory that stands still, but for what git tracks; and where nothing were known. */
	uint8_t key[EWS_CACHE_KEY_LEN], plain_key[EWS_CACHE_KEY_LEN];
};

/* Is what is found a stat cache? Without a batch the ids stand for objects that nobody may have, which one that compares takes. */
bool ews_look_is_remembered(const struct ews_look *look);
/* Have the caller read the base, where it has not yet. */
int ews_look_read_known(const struct ews_look *look);
/* Read git's index; nothing is in one that a workspace has and that can't be read. */
int ews_look_read_index(struct ews_index *index, const struct ews_look *look);
/* The digest of what git tracks, which is looked at even where it is ignored, and of what is a submodule. */
void ews_look_digest_tracked(uint8_t out[EWS_CACHE_KEY_LEN], const struct ews_index *index);

/*
 * Take what `cache` has for the content now, where the names are those that were found last, but for what was touched since: that
 * is read. `early` is what a look that was begun early has found out (NULL: there was none). Returns 1, or 0 when somebody has to walk;
 * then the cache may have been emptied.
 */
int ews_look_take_known(struct ews_content *content, struct ews_cache *cache, const struct ews_look *look,
			struct ews_early_found *early);

#endif
