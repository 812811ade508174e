/*
 * Put: the engine that turns a list of changes into a directory.
 *
 * start is put(nothing -> tree), revert put(now -> base), undo and restore
 * likewise: one place that writes into workspaces, so that exactness,
 * containment and speed are got right once.
 *
 * Exact: type, bytes, all mode bits, link text, extended attributes, mtime.
 * Contained: every step goes by directory descriptors beneath the root;
 * links are removed or made, never followed, and what is mounted in the directory is
 * somebody else's. Order: what goes, deepest first;
 * directories that come; files and links (in parallel); modes and times of
 * directories, deepest first. Directories that are not writable are opened up
 * for the time of the work. A file is replaced by unlink and O_EXCL create,
 * so a hard link to it elsewhere keeps its bytes; what comes from the store is added at its end, so that what somebody wrote
 * into it by then stays. Names that one file has in the
 * source become names of one file again, which is a new one; what a change names as
 * `one_file` becomes a name of that, when it is still there as it was seen.
 *
 * Put may be killed and run again: each step is harmless when already done.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PUT_H
#define EWS_STORE_PUT_H

#include "base/progress_fn.h"
#include "base/strv.h"
#include "store/entry.h"
#include "store/odb.h"

enum ews_put_times {
	EWS_PUT_TIMES_KEEP, /* what is changed gets the mtime of its entry, when it has one */
	EWS_PUT_TIMES_FRESH, /* a written file is as new as it is */
};

/* Contents that are no store's: files and links are asked for one after the other, on the caller's thread. */
struct ews_put_contents {
	const size_t *order; /* the numbers of all changes, in the order in which they are asked for */
	/* Write what `to` holds into the empty file `fd`. */
	int (*write)(void *payload, int fd, const struct ews_entry *to);
	/* Append what the link `to` says. */
	int (*read_link)(void *payload, struct ews_buf *text, const struct ews_entry *to);
	/*
	 * Does what stands at `name` hold what `from` was seen to hold? Returns 1 or 0; below zero: nobody can tell. It is
	 * asked with `as_seen` only.
	 */
	int (*holds)(void *payload, int dir_fd, const char *name, const struct ews_entry *from);
	void *payload;
};

struct ews_put_opts {
	int root_fd; /* the directory to change */
	struct ews_odb *odb; /* where contents come from */
	const struct ews_put_contents *contents; /* where they come from in its place; NULL: from there */
	/*
	 * Where unchanged files may be copied from instead, beneath this descriptor; -1: nowhere. A file
	 * is taken from there when its stat data is that of the `to` entry before and after the copy; of a
	 * link without an id the text is.
	 */
	int source_fd;
	/*
	 * The lists that `to` entries live in, or NULL. After a file was made its `has_stat` data in `to`, when it lies in
	 * one of them, are set from the new file, be there a flaw in it or not.
	 */
	struct ews_entries *stats[2];
	enum ews_put_times times;
	bool into_mounts; /* what is mounted beneath the root is of it; else a path there fails */
	bool as_seen; /* each `from` was seen there, and kept: what was written since is somebody's work, and stays */
	/*
	 * What is written gets its owner and group; where that is not permitted it keeps its own. Without this, what replaces a file
	 * that was seen has that one's, as far as that is permitted.
	 */
	bool owners;
	unsigned threads; /* 0: as many as suit */
	ews_progress_fn progress; /* may be NULL; called on one thread at a time */
	void *payload;
};

/* What could not be done: a path and a sentence each. */
struct ews_put_report {
	struct ews_strv failed; /* "<path>\t<why>", the path escaped */
	struct ews_strv changed; /* the paths of those that changed since they were seen, and stay as they are */
	struct ews_strv lost_attrs; /* "<path>\t<attribute>", or "hard link": not permitted here; not a failure */
	size_t written, removed;
};

#define EWS_PUT_REPORT_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, 0, 0 }

/*
 * Apply `changes` (sorted). Each `from` is what is expected there, but what is
 * really there is what gets replaced, whatever its type; a directory that is
 * not empty (something unknown appeared in it) is a failure of that path
 * and never removed with its content. With `as_seen` so is whatever is no
 * longer as it was seen, or came there since. It goes on after a path that fails; returns
 * 1 when any did, each named in the report, and fails with what ended it alone (EWS_ENOSPACE).
 * A path that is none beneath the root is EWS_EDAMAGED, before anything is done.
 */
int ews_put(struct ews_put_report *report, const struct ews_changes *changes, const struct ews_put_opts *opts);
/* The same for whom no path may fail: then it is EWS_EIO, and says how many did. */
int ews_put_all(struct ews_put_report *report, const struct ews_changes *changes, const struct ews_put_opts *opts);

/*
 * Rename `path` beneath `root_fd`, whole and unread, to `name` in the directory `keep_fd`
 * of the same file system; read-only directories on the way are opened up and closed
 * again. Fails with EWS_EEXISTS when the name is taken, EWS_ENOTFOUND when nothing is there.
 */
int ews_put_away(int root_fd, const char *path, int keep_fd, const char *name);

/*
 * The same, to its own path beneath the directory `aside` of that root, which is made where it is missing: whatever happens next, its
 * place says what it was. EWS_ENOTFOUND says that nothing is at `path`; where there can't be such a directory it is EWS_EIO.
 */
int ews_put_aside(int root_fd, const char *path, const char *aside);

/* The reverse of ews_put_away(): bring `name` from `keep_fd` back to `path`; missing directories above it are an error. */
int ews_put_back(int root_fd, const char *path, int keep_fd, const char *name);

void ews_put_report_release(struct ews_put_report *report);
EWS_CLEANUP_DEFINE(put_report, struct ews_put_report, ews_put_report_release)

#endif
