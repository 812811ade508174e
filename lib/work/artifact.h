/*
 * Artifacts: files that outlive their session.
 *
 *     <project>/.superqode/qe-artifacts/manifest.json             what there is, for people and scripts
 *                                       patches/  qr/  logs/  evidence/  coverage/  generated-tests/<kind>/
 *     refs/ews/artifacts/<id>                                     the same, and what counts
 *     refs/ews/trash/artifacts/<id>                               what was removed, while undo can bring it back
 *
 * The ref makes an artifact exist; it holds the bytes and all that is known of them. File and manifest can be had from it
 * again: whoever looks at artifacts brings back what is missing. A manifest that is missing or damaged is written anew from
 * the refs, and files that no ref knows are taken in then, by the directory that they lie in.
 *
 * All who write stand behind one lock. A crash leaves an artifact that is whole or was never there, and at most a file of
 * which the next look knows what it is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_H
#define EWS_WORK_ARTIFACT_H

#include "base/strv.h"
#include "store/repo.h"
#include "work/artifact_registry.h"

/* A new one. Its bytes are those of one of `fd`, `blob`, `in_place` and `data`. */
struct ews_artifact_new {
	enum ews_artifact_type type;
	const char *name; /* as wished for; NULL: after its id */
	const char *session, *description, *original; /* NULL: none */
	const char *base; /* the session's base snapshot; NULL: none */
	const void *data;
	size_t len;
	int fd; /* > 0: all that can be read there */
	const struct ews_oid *blob; /* in the store already */
	const char *in_place; /* the name of a file that stands where it shall be */
	bool is_executable;
	/*
	 * When the session, and no other that had its id, has one of the type, name, origin and description already whose file nobody changed: the same bytes
	 * are not kept twice, and other ones take its place and its id; the store keeps what was there as the commit's parent.
	 */
	bool update;
	const char *sibling; /* an extension: nothing else may have the name with that, either; NULL: it does not matter */
};

/* Keep it: under a name that nobody has. `path` (may be NULL) is its file, absolute. */
int ews_artifact_add(struct ews_artifact *out, char **path, struct ews_artifact_news *news, struct ews_repo *repo,
		     const struct ews_artifact_new *what);

/*
 * The same of all `n`, which are together what is waited for; `out`, which is empty, gets them in their order, and the place of their paths.
 * Where one fails some of those before it are kept, and `out` has any number of them.
 */
int ews_artifact_add_all(struct ews_artifacts *out, struct ews_artifact_news *news, struct ews_repo *repo,
			 const struct ews_artifact_new *what, size_t n);

/* The same in a registry that is open, for who has more to do there: the manifest is left to him. `out` has its place. */
int ews_artifact_add_to(struct ews_artifacts *out, struct ews_artifact_registry *registry,
			const struct ews_artifact_new *what, size_t n);

/* Something could not be kept: say so, and what helps where the place is at fault. Returns `rc`, the code of the error that is set. */
int ews_artifact_fail(int rc);

/* All there are. What is missing is brought back; where nothing can be written they are listed all the same. */
int ews_artifact_list(struct ews_artifacts *out, struct ews_artifact_news *news, struct ews_repo *repo);

/* The one of `list` that `name` means: an id, or a file's name or path, or a beginning of one alone. Fails with EWS_ENOTFOUND, EWS_EUSAGE. */
int ews_artifact_find(const struct ews_artifact **out, const struct ews_artifacts *list, const char *name);

/* Read its file whole and set `file` anew. */
int ews_artifact_verify(struct ews_artifact *artifact, struct ews_repo *repo);

/* Write the kept bytes into the directory open at `dir_fd`, under a name that nobody has there: `*name`. */
int ews_artifact_export(char **name, int dir_fd, struct ews_repo *repo, const struct ews_artifact *artifact);

/* Move them to trash: undo brings them back. A file that somebody changed stays, and is named in `news`. */
int ews_artifact_remove(struct ews_artifact_news *news, struct ews_repo *repo,
			const struct ews_artifact *const *items, size_t n);

/*
 * Make files and manifest follow the refs, after refs were moved. With `is_hasty` it fails with EWS_EBUSY at once while somebody is at
 * work on them, who has done so before all else.
 */
int ews_artifact_settle(struct ews_repo *repo, bool is_hasty);

#endif
