/*
 * Artifact copies: the files that lie in the place of artifacts, beside what the store keeps of them.
 *
 * A file is written beside its place and renamed in, whole and synced, under a name that nobody has.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_COPY_H
#define EWS_WORK_ARTIFACT_COPY_H

#include <sys/types.h>

#include "store/repo.h"
#include "work/artifact_record.h"

/* The place, opened. */
struct ews_artifact_place {
	int fd; /* -1: there is none yet */
	char *path;
	bool is_private; /* it lies in home */
};

#define EWS_ARTIFACT_PLACE_INIT { -1, NULL, false }

/* Fails with EWS_ENOTFOUND where there is none and `make` is not said. */
int ews_artifact_place_open(struct ews_artifact_place *out, struct ews_repo *repo, bool make);
void ews_artifact_place_release(struct ews_artifact_place *place);
EWS_CLEANUP_DEFINE(artifact_place, struct ews_artifact_place, ews_artifact_place_release)

/* The digest of what can be read at `fd`, from its start. */
int ews_artifact_copy_hash(char out[EWS_SHA256_HEX_MAX], int fd);

/* A file on its way into the place. */
struct ews_artifact_draft {
	const struct ews_artifact_place *place; /* borrowed */
	int fd; /* -1: it is sealed */
	char name[32]; /* "": there is none, or it has arrived */
};

#define EWS_ARTIFACT_DRAFT_INIT { NULL, -1, "" }

int ews_artifact_draft_open(struct ews_artifact_draft *out, const struct ews_artifact_place *place,
			    bool is_executable);
/* Copy all that can be read at `fd`. Fails with EWS_ENOSPACE when it is more than `max` bytes. */
int ews_artifact_draft_fill(struct ews_artifact_draft *draft, int fd, uint64_t max);
/* It is whole: give it the time `time_s`, and sync it, or have the group of this thread do so (base/sync). One that is sealed is left. */
int ews_artifact_draft_seal(struct ews_artifact_draft *draft, int64_t time_s);
/*
 * Let what is sealed stand at `path`; the name is synced, or that is the group's. `over`: in the place of what is there, else this
 * fails with EWS_EEXISTS when anything is.
 */
int ews_artifact_draft_place(struct ews_artifact_draft *draft, const char *path, bool over);
void ews_artifact_draft_release(struct ews_artifact_draft *draft);
EWS_CLEANUP_DEFINE(artifact_draft, struct ews_artifact_draft, ews_artifact_draft_release)

/* Make sure that a file may be put at `path`: its directory is there, and no link. */
int ews_artifact_place_ready(const struct ews_artifact_place *place, const char *path);

/* Remove what killed writers left. Nobody may be writing. */
int ews_artifact_place_sweep(const struct ews_artifact_place *place);

/* Is anything at `path`? */
bool ews_artifact_copy_is_there(const struct ews_artifact_place *place, const char *path);

/*
 * Set `artifact->file`. `sha256` is the digest of the file where it was read, else "": size and time are believed, unless
 * `reread`.
 */
void ews_artifact_copy_look(struct ews_artifact *artifact, char sha256[EWS_SHA256_HEX_MAX],
			    const struct ews_artifact_place *place, bool reread);

/* Write the file anew from the store; `over` as above. */
int ews_artifact_copy_restore(struct ews_artifact *artifact, struct ews_odb *odb,
			      const struct ews_artifact_place *place, bool over);

/* Remove the file at `path`. */
int ews_artifact_copy_remove(const struct ews_artifact_place *place, const char *path);

#endif
