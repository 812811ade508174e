/*
 * Archive diff: what lies between two archives, or directories, through the same git that prints all other patches.
 *
 * Two lists of digests say what differs; only that is written as objects, aside, where no store sees it and it is gone
 * afterwards. So a large tree costs what differs in it, and no project is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_DIFF_H
#define EWS_WORK_ARCHIVE_DIFF_H

#include "store/archive_stream.h"
#include "work/archive_origin.h"
#include "work/diff.h"

/* One side: an archive, or a directory as it is now. Not to be moved once it is open. */
struct ews_archive_side {
	struct ews_archive archive; /* of a directory: path, checksum and time */
	bool is_dir;
	const struct ews_archive_rules *rules; /* of a directory, borrowed */
	int fd;
	struct ews_archive_content content;
	struct ews_archive_stream *stream;
	struct ews_archive_origin origin;
	struct ews_archive_tree tree;
};

#define EWS_ARCHIVE_SIDE_INIT                                                               \
	{                                                                                   \
		.archive = EWS_ARCHIVE_INIT, .fd = -1, .content = EWS_ARCHIVE_CONTENT_INIT, \
		.origin = EWS_ARCHIVE_ORIGIN_INIT, .tree = EWS_ARCHIVE_TREE_INIT            \
	}

/*
 * The archive `file`, read whole but for the files' bytes, of at most `max_bytes`. Fails with EWS_EDAMAGED when its record is about other
 * files; `out` is to be released then, too.
 */
int ews_archive_side_open(struct ews_archive_side *out, const char *file, uint64_t max_bytes);
/* The directory `dir` (absolute), by the `rules` that the other side was made by: they are borrowed. */
int ews_archive_side_open_dir(struct ews_archive_side *out, const char *dir, const char *home,
			      const struct ews_archive_rules *rules);
void ews_archive_side_release(struct ews_archive_side *side);

/* Where the objects are for the time of the comparison. */
struct ews_archive_desk {
	struct ews_repo repo; /* home and objects, and nothing else of a repository */
	char *neutral;
};

/* Make one below the temporary files; `home` as ever. It is gone when it is released. */
int ews_archive_desk_open(struct ews_archive_desk *out, const char *home);
void ews_archive_desk_release(struct ews_archive_desk *desk);

/*
 * Fill `diff` (work/diff.h: its records, totals, and what no patch says), limited to `paths`. The sides lend it their lists:
 * release it by ews_archive_diff_release(), before them.
 */
int ews_archive_diff(struct ews_diff *diff, struct ews_archive_desk *desk, struct ews_archive_side *from,
		     struct ews_archive_side *to, char *const *paths);
void ews_archive_diff_release(struct ews_diff *diff);

/*
 * Hold the records against what was expected: "<A|M|D> <path>", where a path may be a pattern as in gitignore(5) that is seen from
 * the top. `surprises` gets a line "<path>\t<what>" for each that did not come about, and with `no_deletions` for
 * each deletion that none of them names. Fails with EWS_EUSAGE.
 */
int ews_archive_expect(struct ews_strv *surprises, const struct ews_diff *diff, const struct ews_strv *expected,
		       bool no_deletions);

EWS_CLEANUP_DEFINE(archive_side, struct ews_archive_side, ews_archive_side_release)
EWS_CLEANUP_DEFINE(archive_desk, struct ews_archive_desk, ews_archive_desk_release)
EWS_CLEANUP_DEFINE(archive_diff, struct ews_diff, ews_archive_diff_release)

#endif
