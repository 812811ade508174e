/*
 * Git state: what of a git directory belongs to the state of its work tree.
 *
 * HEAD, the raw index with its mtime, and the files of a merge. A rebase, a
 * sequencer or a bisect is never carried: continuing it elsewhere would move the
 * project's own branch.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GITSTATE_H
#define EWS_STORE_GITSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/strv.h"

struct ews_gitstate_file {
	char *name;
	struct ews_buf data;
};

struct ews_gitstate {
	bool has_index;
	struct ews_buf index;
	int64_t index_mtime_s;
	uint32_t index_mtime_ns;
	struct ews_gitstate_file *files; /* HEAD, ORIG_HEAD, MERGE_*, sharedindex.*, sorted by name */
	size_t n, cap;
	/* names of what is under way and not carried: rebase-merge, sequencer, ...; of directories where a file belongs, too */
	struct ews_strv running;
};

#define EWS_GITSTATE_INIT { false, EWS_BUF_INIT, 0, 0, NULL, 0, 0, EWS_STRV_INIT }

/* Read it from the git directory `git_fd`. */
int ews_gitstate_read(struct ews_gitstate *out, int git_fd);
/* The same without the index, which may be large. */
int ews_gitstate_read_files(struct ews_gitstate *out, int git_fd);
/* The index alone. */
int ews_gitstate_read_index(struct ews_gitstate *out, int git_fd);
/* Is the index there the one of `state`, byte for byte and with its time? It is not held in memory for that. */
bool ews_gitstate_has_index(const struct ews_gitstate *state, int git_fd);
/* Whether there is an index, and its time, without its bytes. */
void ews_gitstate_note_index(struct ews_gitstate *out, int git_fd);

/* The file `name` ("HEAD"), or NULL. */
const struct ews_gitstate_file *ews_gitstate_file(const struct ews_gitstate *state, const char *name);
void ews_gitstate_set_file(struct ews_gitstate *state, const char *name, const void *data, size_t len);

/*
 * Make the git directory hold this state: files that differ are replaced,
 * those of a merge that came since are removed, the index comes with its mtime, last. What
 * is under way (rebase-merge, ...) and not in `state` is renamed into `keep_fd` (same file
 * system) and its name added to `kept`; `keep_fd` -1 leaves it.
 */
int ews_gitstate_write(struct ews_strv *kept, const struct ews_gitstate *state, int git_fd, int keep_fd);

/* Add the files, which the index is none of, to a digest. */
void ews_gitstate_hash_files(struct ews_hash *hash, const struct ews_gitstate *state);

/* The names of what differs, "index" among them; of the index the mtime counts too. */
void ews_gitstate_differences(struct ews_strv *out, const struct ews_gitstate *a, const struct ews_gitstate *b);

void ews_gitstate_release(struct ews_gitstate *state);
EWS_CLEANUP_DEFINE(gitstate, struct ews_gitstate, ews_gitstate_release)

#endif
