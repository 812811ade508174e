/*
 * Batches: many new objects that become durable together.
 *
 * Objects are added from memory or from a file and get their id at once.
 * ews_batch_commit() makes them durable: a few small ones as loose objects, else
 * one pack (level-1 deflate in the calling threads, one writer, pack and idx
 * synced, the idx renamed in last). What the store has already is not
 * written but counts as new to gc, nothing is written twice. Until the commit
 * the store has none of them. A crash leaves at most a `tmp_pack_ews_*` that
 * `git gc` removes, or, between two renames, a pack without its idx, which is
 * no pack to git.
 *
 * When writing fails (a full disk) the batch is spoilt: each further add, and the
 * commit, fails with that error.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_BATCH_H
#define EWS_STORE_BATCH_H

#include "base/sync.h"
#include "store/odb.h"

struct ews_batch;

/* `odb` must outlive the batch; the batch must outlive the making of the ref that names what it wrote (store/gate). */
struct ews_batch *ews_batch_new(struct ews_odb *odb);
/*
 * What is added from now on is kept for some days at most, like a state that an undo may want: up to 64 MiB of it are not
 * compressed, which takes longer than all the rest.
 */
void ews_batch_keep_briefly(struct ews_batch *batch);
/*
 * What is added from now on is about to go elsewhere: of what the store has in a file of its own that is damaged (ews_odb_is_sound)
 * another is written.
 */
void ews_batch_be_wary(struct ews_batch *batch);
/* Throws away what was not committed; NULL is fine. */
void ews_batch_free(struct ews_batch *batch);

/* Add an object from memory. May be called from several threads. */
int ews_batch_add(struct ews_oid *out, struct ews_batch *batch, enum ews_object_type type, const void *data,
		  size_t len);

/*
 * Add a blob with the `size` bytes that can be read at `fd`, a regular file, from
 * its present position, in constant memory. May be called from several threads. Fails with
 * EWS_ESTALE when the file has fewer bytes or more; then nothing was added. `held`, or NULL, is the
 * id of a blob that a ref holds: when these are its bytes, the store has them, and nothing is added either. (A store that has
 * lost it is damaged, which fsck and verify tell.)
 */
int ews_batch_add_fd(struct ews_oid *out, struct ews_batch *batch, int fd, uint64_t size, const struct ews_oid *held);

/* Was it added, so that the store has it, or will have it? */
bool ews_batch_has(struct ews_batch *batch, const struct ews_oid *oid);

/* Only hash: the id that the file would get, nothing kept. Fails as ews_batch_add_fd. */
int ews_batch_hash_fd(struct ews_oid *out, const struct ews_odb *odb, int fd, uint64_t size);

/* Make all of it durable. The batch is empty afterwards, also when this fails, and may be used again. */
int ews_batch_commit(struct ews_batch *batch);
/*
 * The same as a stage of its own of `group`, which is empty (base/sync): the objects are there when that is finished
 * (ews_odb_finish_group). `group` is the thread's from here on, which must have no other.
 */
int ews_batch_commit_in(struct ews_batch *batch, struct ews_sync_group *group);

/* The store that it is for. */
struct ews_odb *ews_batch_odb(const struct ews_batch *batch);

/* Does nothing wait to be written? */
bool ews_batch_is_empty(struct ews_batch *batch);

EWS_CLEANUP_DEFINE_PTR(batch, struct ews_batch, ews_batch_free)

#endif
