/*
 * Scan: what stands in a directory now, and what of it was left out and why.
 *
 * Two steps. ews_scan() walks the tree in parallel, level by level, by
 * directory descriptors, and looks at nothing but names and stat data.
 * ews_scan_fill() then finds every content's id: from the cache or git's index
 * where the stat data proves that nothing changed, else by reading, hashing and
 * (with a batch) keeping it. A file that changes while it is read is read again, then
 * left out by name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_SCAN_H
#define EWS_STORE_SCAN_H

#include "base/progress_fn.h"
#include "store/batch.h"
#include "store/entry.h"
#include "store/ignore.h"
#include "store/index.h"
#include "store/skip.h"

struct ews_scan_opts {
	int root_fd;
	const struct ews_ignore *ignore; /* the root's rules; NULL: nothing is ignored */
	bool read_gitignore; /* take .gitignore files of the tree into account */
	bool with_ignored; /* ignored paths are entries like all others */
	bool is_plain; /* the root is no git work tree: a ".git" in it is a nested repository's like any other */
	bool into_repositories; /* nested repositories are walked as well, but not what their ".git" holds */
	bool keeps_out; /* of nested repositories, even where `known` has paths in them; those that git tracks are none of theirs */
	bool with_repositories; /* a nested repository whose ".git" is a directory is a directory like all others */
	bool into_mounts; /* what is mounted in the tree is of it; else it is left out by name: not ours to change */
	/* What is looked at even where a rule ignores it; either may be NULL. */
	const struct ews_entries *known;
	const struct ews_index *index;
	const char *const *own; /* NULL-ended relative paths that are never looked at */
	const struct ews_ignore *exclude; /* rules for what is not looked at unless `known` has it; NULL: none */
	const char *const *only; /* NULL: all; else NULL-ended relative paths: these, what is below, and the directories above */
	bool only_is_meant; /* no rule leaves out what `only` names, nor a directory above it: rules count below */
	uint64_t max_file_bytes; /* 0: no limit */
	bool name_vanished; /* what goes away while it is looked at is a skip; else it is counted in n_vanished alone */
	bool may_chmod; /* the tree is ours: open up what its modes close, and close it again */
	const struct ews_strv *ours; /* sorted; where it is not: paths of it that are. NULL: none */
	unsigned threads;
};

struct ews_scan {
	struct ews_entries entries;
	struct ews_skips skips;
	uint64_t size_bytes; /* of the files */
	size_t n_files; /* files and links */
	size_t n_read; /* entries that no cache knew */
	bool leans_on_known; /* something is there only since opts->known has it */
	size_t n_vanished; /* what was listed and was gone when it was looked at: somebody moves things about */
	int64_t started_s; /* file-system time just before the walk */
	uint32_t started_ns;
	struct ews_entry root; /* the directory itself before the walk, its stat data alone */
	struct ews_strv opened; /* directories that were opened up: "<octal mode> <path>" */
	bool into_mounts; /* as it was asked for */
	int root_fd; /* borrowed */
};

#define EWS_SCAN_INIT                                                                                        \
	{                                                                                                    \
		.entries = EWS_ENTRIES_INIT, .skips = EWS_SKIPS_INIT, .opened = EWS_STRV_INIT, .root_fd = -1 \
	}

/*
 * Walk the tree at `opts->root_fd`, which stays the caller's and must live as long as `out`: entries and skips sorted, no content's id
 * yet. What may not be looked at is a skip, and what went away meanwhile is not there; any other failure to look ends it.
 */
int ews_scan(struct ews_scan *out, const struct ews_scan_opts *opts);

/* Take the time of a look that begins: what is younger is racy. */
void ews_scan_begin(struct ews_scan *scan);

struct ews_scan_fill_opts {
	struct ews_odb *odb;
	struct ews_batch *batch; /* NULL: hash, keep nothing */
	const struct ews_entries *cache; /* entries with stat data of an earlier scan, or NULL */
	/*
	 * What a ref holds, or NULL: ids of the cache that are not in it are looked up, and what is read and turns out to
	 * be the same as in it is not added.
	 */
	const struct ews_entries *pinned;
	bool name_vanished; /* as above */
	bool is_wary; /* what the store has damaged (ews_odb_is_sound()) is not kept, whatever the cache says */
	bool racy_only; /* of the entries that are not racy all is known; of the others the stat data are */
	const struct ews_index *hint; /* git's index, where its ids may stand for raw bytes, or NULL */
	bool attrs_only; /* no content is read, and nothing gets an id; the rest of the above but name_vanished has no say */
	bool may_chmod; /* as above, and so is: */
	const struct ews_strv *ours;
	bool doubts_late; /* a file that is read, and may still have been written to by one long write(2), becomes racy */
	unsigned threads;
	ews_progress_fn progress;
	void *payload;
};

/* Give every file and link its id and attributes, and find the names of one file. What can't be read moves from the entries to the skips. */
int ews_scan_fill(struct ews_scan *scan, const struct ews_scan_fill_opts *opts);

/* Find n_files and size_bytes of the entries. */
void ews_scan_count(struct ews_scan *scan);

/* Give directories that were opened up their modes back. Done by release as well. */
void ews_scan_close(struct ews_scan *scan);
void ews_scan_release(struct ews_scan *scan);
EWS_CLEANUP_DEFINE(scan, struct ews_scan, ews_scan_release)

#endif
