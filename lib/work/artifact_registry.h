/*
 * The registry of artifacts: what there is of them, by refs, manifest and files, which are made to agree when it is opened.
 *
 * The ref makes an artifact exist. What the manifest names beside that was removed, or lost its ref; what lies in the place and
 * is in neither is taken in when the manifest is missing or damaged.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_REGISTRY_H
#define EWS_WORK_ARTIFACT_REGISTRY_H

#include "base/strv.h"
#include "store/batch.h"
#include "store/lock.h"
#include "store/repo.h"
#include "work/artifact_copy.h"
#include "work/artifact_record.h"

#define EWS_ARTIFACT_MANIFEST "manifest.json"
#define EWS_REF_TRASH_ARTIFACTS EWS_REF_TRASH "artifacts/"

struct ews_artifacts {
	struct ews_artifact *items; /* oldest first */
	size_t n, cap;
	char *place; /* the directory that their paths are seen from; NULL: there is none yet */
};

#define EWS_ARTIFACTS_INIT { NULL, 0, 0, NULL }

/* What was found, and mended, on the way. */
struct ews_artifact_news {
	struct ews_strv brought_back; /* paths */
	struct ews_strv taken_in; /* paths of files that were in no manifest and under no ref */
	struct ews_strv warnings; /* sentences */
};

#define EWS_ARTIFACT_NEWS_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT }

void ews_artifacts_release(struct ews_artifacts *list);
EWS_CLEANUP_DEFINE(artifacts, struct ews_artifacts, ews_artifacts_release)
/* Add `artifact`, which is empty afterwards; what comes back is the list's. */
struct ews_artifact *ews_artifacts_push(struct ews_artifacts *list, struct ews_artifact *artifact);
/* The one of that id, or at that path, which stays the list's; NULL: there is none. */
struct ews_artifact *ews_artifacts_find_id(const struct ews_artifacts *list, const char *id);
struct ews_artifact *ews_artifacts_find_path(const struct ews_artifacts *list, const char *path);

void ews_artifact_news_release(struct ews_artifact_news *news);
EWS_CLEANUP_DEFINE(artifact_news, struct ews_artifact_news, ews_artifact_news_release)
/* The sentence of the error that is set, as a warning. */
void ews_artifact_news_warn(struct ews_artifact_news *news);

/* The registry, locked. */
struct ews_artifact_registry {
	struct ews_repo *repo;
	struct ews_lock lock;
	struct ews_artifact_place place;
	struct ews_artifacts list;
	struct ews_refs damaged; /* refs of artifacts that are damaged */
	struct ews_artifacts trash;
	/*
	 * Removed, but their files would not go; or damaged, and their files are others. While the manifest names them, that is
	 * tried again.
	 */
	struct ews_artifacts stuck;
	unsigned last_number;
	struct ews_artifact_news *news;
	struct ews_artifact_news own_news; /* when nobody asks */
	bool is_hasty; /* as asked for: who has the lock is not waited for */
};

#define EWS_ARTIFACT_REGISTRY_INIT { .lock = EWS_LOCK_INIT, .place = EWS_ARTIFACT_PLACE_INIT }

/* Lock it, read it, and make its files what they should be; `news` (may be NULL) gets what was found. Fails with EWS_EBUSY while another has it. */
int ews_artifact_registry_open(struct ews_artifact_registry *registry, struct ews_repo *repo,
			       struct ews_artifact_news *news);
void ews_artifact_registry_release(struct ews_artifact_registry *registry);
EWS_CLEANUP_DEFINE(artifact_registry, struct ews_artifact_registry, ews_artifact_registry_release)

/* The next one; once somebody else's manifest has used up the last of them, the first that is free. */
unsigned ews_artifact_registry_next_number(struct ews_artifact_registry *registry);
/* Keep a file that stands in its place already. `was`: the ref's value; none: there is no ref. */
int ews_artifact_registry_take_in(struct ews_artifact_registry *registry, struct ews_artifact *artifact,
				  const struct ews_oid *was);
/* The file of one that was removed goes, too, if it is still that. */
void ews_artifact_registry_let_go(struct ews_artifact_registry *registry, struct ews_artifact *removed);
/* Write the manifest, where it says something else. */
int ews_artifact_registry_write(const struct ews_artifact_registry *registry);

/* An empty one; `path` is its own from now on. */
struct ews_artifact ews_artifact_make(enum ews_artifact_type type, char *path);
/* All that can be read from `fd` becomes its bytes: blob, size and SHA-256. */
int ews_artifact_add_blob(struct ews_artifact *artifact, struct ews_batch *batch, int fd);
/* Let the ref of its id lead to its commit, instead of to `was`. */
int ews_artifact_point_ref(const struct ews_artifact *artifact, struct ews_repo *repo, const struct ews_oid *was);
/*
 * What its ref leads to is looked at once more, now that the ref stands: git's own gc, told to prune what is new, waits for nobody. Fails
 * with EWS_ESTALE when some of it is gone, and leaves the ref where it `was`.
 */
int ews_artifact_confirm(const struct ews_artifact *artifact, struct ews_repo *repo, const struct ews_oid *was);
/* Make it exist: its commit, and the ref, confirmed. */
int ews_artifact_publish(struct ews_artifact *artifact, struct ews_repo *repo, struct ews_batch *batch,
			 const struct ews_oid *was);
/*
 * Those below `prefix`, oldest first. `damaged` (may be NULL) gets the refs of those that are damaged, `last` goes up to the
 * greatest number that any has. Fails where one can't be read just now.
 */
int ews_artifact_refs_read(struct ews_artifacts *out, struct ews_refs *damaged, unsigned *last,
			   struct ews_repo *repo, const char *prefix);

#endif
