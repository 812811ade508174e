/*
 * Git as a child, for what git owns: the patch text, the pager, transport.
 *
 * The child stands in a neutral place: an empty git directory below home that
 * borrows the store's objects, with a scrubbed environment, so that no
 * config, attribute, hook or filter of a repository can bend what it prints
 * or make it run a program (design P9). Only what a repository's refs and
 * config say is asked in the repository itself, where no hook, monitor or
 * transport can be run: an object that a partial clone lacks stays away.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GIT_H
#define EWS_STORE_GIT_H

#include "base/buf.h"
#include "base/child.h"
#include "base/strv.h"
#include "store/odb.h"

/* Make the bare, empty repository `dir` when it is not there yet, whole or not at all; two processes may do it at once. */
int ews_git_make_bare(const char *dir, enum ews_hash_algo algo);

/*
 * Make `<home>/neutral.git` (for SHA-256 `<home>/neutral-sha256.git`) when it
 * is not there yet, whole or not at all; two processes may do it at once. The caller
 * frees `*out`, its absolute path.
 */
int ews_git_neutral_dir(char **out, const char *home, enum ews_hash_algo algo);

struct ews_git_opts {
	const char *neutral_dir;
	const char *object_dir; /* the store's */
	const char *alternate_dir; /* another one to read objects from; NULL: none */
	const char *own_dir; /* stand in this repository in place of those two; NULL: in the neutral one */
	const char *index_file; /* where its index is; NULL: nowhere; in the neutral place alone */
	bool has_pathspecs; /* paths among the arguments are pathspecs, with magic and wildcards, else plain */
	struct ews_sharing sharing; /* for whom the objects are that it writes */
	bool maps_little; /* of packs, which takes less memory, and longer where much of them is read */
	bool sync_objects; /* objects that it writes are on disk when it has ended */
	bool own_group; /* what ends all of ours at once does not cut it short in what it writes */
	bool user_config; /* the user's and the system's own config holds (for what people see), else none */
	const char *work_tree; /* git stands in this directory and takes it for the work tree; NULL: none */
	struct ews_buf *out; /* collects stdout; NULL: inherited, or `out_fd` when > 0 */
	int out_fd;
	int in_fd; /* its standard input when > 0, else `input` */
	const void *input;
	size_t input_len;
	struct ews_buf *err; /* collects stderr, and every status is given back; NULL: see ews_git_run() */
	ews_progress_fn progress; /* how many bytes came to `out`, and that it still runs; may be NULL */
	void *payload;
};

/*
 * Run git with `args` (without the word "git"). Returns its exit status;
 * stderr is collected and becomes the sentence of EWS_EGIT when it is 128 or
 * more (of EWS_EUSAGE where git does not take an option that was passed on to
 * it). A status of 1 is given back. Where a signal ended it that is a passing
 * error (ews_error_as_passing()), and no status.
 */
int ews_git_run(const struct ews_git_opts *opts, char *const *args);

/* Start a git that answers questions until it is closed; where it stands is all of `opts` that counts. */
int ews_git_open(struct ews_child **out, const struct ews_git_opts *opts, char *const *args);

/* git's own sentence in what it wrote to stderr: the line that says "fatal: ", else the last one. The caller frees it. */
char *ews_git_sentence(const struct ews_buf *err);

/* Remove from this process's environment what `git rev-parse --local-env-vars` lists, and GIT_TRACE*, GIT_EXTERNAL_DIFF, GIT_DIFF_OPTS. */
void ews_git_scrub_env(void);

#endif
