/*
 * Recheck: does a directory stand as it was found, looked at but not walked?
 *
 * A scan lists each directory, asks for each name's stat data, and matches it with rules. When the whole of
 * what a scan found is known, with the stat data of every directory, the asking alone tells whether the next one would find
 * the same: no name came or went where a directory's times stand still, no content where a file's do, and no rule where its
 * .gitignore does, or says what it said. That takes a third of the time, and mostly nothing has changed, or some files have.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_RECHECK_H
#define EWS_STORE_RECHECK_H

#include <stdatomic.h>

#include "store/cache.h"
#include "store/scan.h"

/* May what was found be rechecked later? Not when a path was left out for a reason that its own stat data don't tell. */
bool ews_recheck_is_possible(const struct ews_scan *scan);

enum ews_recheck {
	EWS_RECHECK_SAME,
	EWS_RECHECK_TOUCHED, /* the same names, but what stands there is to be read again */
	EWS_RECHECK_OTHER, /* walk */
};

/* An entry that is to be read again, as it was. */
struct ews_touched_entry {
	size_t at; /* which one of the list */
	struct ews_entry was; /* it borrows the list's strings */
};

struct ews_touched {
	struct ews_touched_entry *items; /* in the order of the list */
	size_t n, cap;
	bool are_all; /* of a large part of a list nobody wants to know what it was: then there are none */
};

#define EWS_TOUCHED_INIT { NULL, 0, 0, false }

/*
 * Say of where `now` was read from that these are not as it has them. Where that can't be told by them alone it is
 * forgotten, and all is written next.
 */
void ews_touched_tell(const struct ews_touched *touched, struct ews_cache_origin *origin,
		      const struct ews_entries *now);

void ews_touched_release(struct ews_touched *touched);

struct ews_recheck_opts {
	int root_fd;
	bool is_plain; /* as in struct ews_scan_opts, as is the next one */
	uint64_t max_file_bytes;
	unsigned threads; /* 0: as suits the machine */
	struct ews_touched *touched; /* out, or NULL: the entries that changed, or are too young to tell */
	const atomic_bool *is_stopped; /* NULL, or once it is true nobody wants an answer */
};

/*
 * Would a scan by the key of `cache`, which is whole, find what `cache` has? Entries that changed, or are too young to
 * tell, get their new stat data and are racy from now on, in `cache` itself, whatever the answer.
 */
enum ews_recheck ews_recheck(struct ews_cache *cache, const struct ews_recheck_opts *opts);

#endif
