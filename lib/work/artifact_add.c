/*
 * Keeping new artifacts: see artifact.h.
 *
 * Many that belong together are kept together, as each sync waits for the disk: their bytes and commits become one pack, and then
 * their refs come to be, with one wait; the files get their names, which have theirs. What a crash leaves of that is as
 * with one: refs whose files are missing, which the next look brings back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sync.h"
#include "work/artifact.h"
#include "work/artifact_copy.h"
#include "work/artifact_registry.h"

#define TOGETHER_MAX 64 /* each has a file and a ref open meanwhile */

/* One that is being kept. */
struct keeping {
	const struct ews_artifact_new *what;
	struct ews_artifact artifact;
	struct ews_artifact_draft draft;
	char *name; /* as wished for */
	unsigned nth; /* the one of those that it leads to from which on a free one is looked for */
	struct ews_oid was; /* what its ref is at; none: there is no ref */
	bool is_over; /* it takes the place of what is there */
	bool is_kept; /* it stands where it shall */
};

static int fill_draft(struct ews_artifact_draft *draft, struct ews_repo *repo, const struct ews_artifact_new *what)
{
	uint64_t max_bytes;
	int rc;

	if (what->blob)
		return ews_odb_write_to(draft->fd, repo->odb, what->blob);
	if (what->fd <= 0)
		return ews_file_write_fd(draft->fd, what->data, what->len);
	rc = ews_config_size(&max_bytes, ews_repo_config(repo), "ews.maxFile");
	return rc < 0 ? rc : ews_artifact_draft_fill(draft, what->fd, max_bytes);
}

/* Is it one that an update takes the place of? */
static bool can_replace(struct ews_artifact_registry *registry, struct ews_artifact *there,
			const struct ews_artifact *artifact)
{
	char sha256[EWS_SHA256_HEX_MAX];

	/* A session's id is given again when it has ended: what the one before it left is not its own. */
	if (!there || there->type != artifact->type || strcmp(there->session, artifact->session) != 0 ||
	    strcmp(there->base, artifact->base) != 0 || strcmp(there->original, artifact->original) != 0 ||
	    strcmp(there->description, artifact->description) != 0)
		return false;
	ews_artifact_copy_look(there, sha256, &registry->place, true);
	return there->file == EWS_ARTIFACT_PRESENT;
}

/* Undo brings back what was removed, to where it was. */
static bool is_free(const struct ews_artifact_registry *registry, const char *path)
{
	return !ews_artifacts_find_path(&registry->list, path) &&
	       !ews_artifacts_find_path(&registry->trash, path) && strcmp(path, EWS_ARTIFACT_MANIFEST) != 0 &&
	       !ews_artifact_type_needs(path) && !ews_artifact_copy_is_there(&registry->place, path);
}

/* Is the path free with that extension in the place of its own, too? */
static bool is_free_beside(const struct ews_artifact_registry *registry, const char *path, const char *extension)
{
	const char *dot = strrchr(path, '.');
	EWS_CLEANUP(free)
	char *beside = ews_strfmt("%.*s.%s", dot ? (int)(dot - path) : (int)strlen(path), path, extension);

	return is_free(registry, beside);
}

/*
 * Choose the path of `artifact`: a free one, from the `nth` name on, or (`update`) that of one that it may replace, which
 * `*old` is then.
 */
static int choose_path(struct ews_artifact *artifact, struct ews_artifact **old, unsigned *nth,
		       struct ews_artifact_registry *registry, const char *name, const struct ews_artifact_new *what)
{
	const bool update = what->update && what->name;

	for (; *nth < EWS_ARTIFACT_NAMES_MAX; ++*nth) {
		EWS_CLEANUP(free) char *tried = ews_artifact_name_nth(name, *nth);
		EWS_CLEANUP(free) char *path = ews_path_join(ews_artifact_type_dir(artifact->type), tried);
		struct ews_artifact *there = ews_artifacts_find_path(&registry->list, path);

		*old = update && can_replace(registry, there, artifact) ? there : NULL;
		if (!*old && !is_free(registry, path))
			continue;
		if (!*old && what->sibling && !is_free_beside(registry, path, what->sibling))
			continue;
		free(artifact->path);
		artifact->path = ews_steal(&path);
		return 0;
	}
	return ews_error(EWS_EEXISTS, "there is no name left for '%s'", name);
}

/* Have it in the registry's list, in the place of what has its id. */
static void list_it(struct ews_artifact_registry *registry, const struct ews_artifact *artifact)
{
	struct ews_artifact *at = ews_artifacts_find_id(&registry->list, artifact->id);

	if (at)
		ews_artifact_release(at);
	else
		at = ews_artifacts_push(&registry->list, &(struct ews_artifact)EWS_ARTIFACT_INIT);
	ews_artifact_copy(at, artifact);
}

static int take_in_place(struct ews_artifact *artifact, struct ews_artifact_registry *registry, const char *name)
{
	const struct ews_artifact *there;
	struct ews_oid was = EWS_OID_NONE;
	int rc;

	artifact->path = ews_path_join(ews_artifact_type_dir(artifact->type), name);
	if (!ews_artifact_path_is_safe(artifact->path, artifact->type))
		return ews_error(EWS_EUSAGE, "no artifact may be called '%.80s'", name);
	there = ews_artifacts_find_path(&registry->list, artifact->path);
	if (there) {
		was = there->commit;
		artifact->id = ews_strdup(there->id);
	}
	rc = ews_artifact_registry_take_in(registry, artifact, &was);
	if (rc == 0)
		list_it(registry, artifact);
	return rc;
}

static void replace_text(char **text, const char *with)
{
	if (!with)
		return;
	free(*text);
	*text = ews_strdup(with);
}

static struct ews_artifact describe(const struct ews_artifact_new *what)
{
	struct ews_artifact artifact = ews_artifact_make(what->type, NULL);

	replace_text(&artifact.session, what->session);
	replace_text(&artifact.base, what->base);
	replace_text(&artifact.description, what->description);
	replace_text(&artifact.original, what->original);
	return artifact;
}

/* An id of its own, if it has none yet. */
static void give_id(struct ews_artifact *artifact, struct ews_artifact_registry *registry)
{
	if (!artifact->id)
		artifact->id = ews_artifact_id_new(artifact->type, ews_artifact_registry_next_number(registry));
}

/* Write its bytes, as a draft and into the batch. One that stands in its place is kept there and then. */
static int begin(struct keeping *one, struct ews_artifact_registry *registry, struct ews_batch *batch)
{
	const struct ews_artifact_new *what = one->what;
	struct ews_artifact *artifact = &one->artifact;
	int rc;

	if (what->in_place) {
		rc = take_in_place(artifact, registry, what->in_place);
		one->is_kept = rc == 0;
		return rc;
	}
	rc = ews_artifact_draft_open(&one->draft, &registry->place, what->is_executable);
	if (rc == 0)
		rc = fill_draft(&one->draft, registry->repo, what);
	if (rc == 0)
		rc = ews_artifact_add_blob(artifact, batch, one->draft.fd);
	if (rc < 0)
		return rc;
	artifact->created_s = ews_clock_now();
	artifact->is_executable = what->is_executable;
	if (what->name) {
		one->name = ews_artifact_name_safe(what->name);
	} else {
		give_id(artifact, registry);
		one->name = ews_strfmt("%s%s", artifact->id, ews_artifact_type_suffix(artifact->type));
	}
	return 0;
}

/* Choose where it shall be. It is listed there from then on, so that none of those beside it is put there as well. */
static int choose(struct keeping *one, struct ews_artifact_registry *registry)
{
	struct ews_artifact *artifact = &one->artifact, *old = NULL;
	int rc = choose_path(artifact, &old, &one->nth, registry, one->name, one->what);

	if (rc < 0)
		return rc;
	if (old && !strcmp(old->sha256, artifact->sha256)) {
		ews_artifact_release(artifact);
		ews_artifact_copy(artifact, old);
		one->is_kept = true;
		return 0;
	}
	if (!old) {
		give_id(artifact, registry);
	} else {
		free(artifact->id);
		artifact->id = ews_strdup(old->id);
		artifact->commit = one->was = old->commit;
		memcpy(artifact->replaces, old->sha256, sizeof(artifact->replaces));
	}
	one->is_over = old;
	list_it(registry, artifact);
	return 0;
}

/* Returns 1 when there are any to be kept. */
static int choose_all(struct keeping *list, size_t n, struct ews_artifact_registry *registry)
{
	bool are_left = false;

	for (size_t i = 0; i < n; i++) {
		int rc = list[i].is_kept ? 0 : choose(&list[i], registry);

		if (rc < 0)
			return rc;
		are_left = are_left || !list[i].is_kept;
	}
	return are_left;
}

/* No ref is left that leads to what is gone; those beside it are kept. */
static int confirm(struct keeping *list, size_t n, struct ews_repo *repo)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		struct keeping *one = &list[i];

		if (one->is_kept)
			continue;
		if (ews_artifact_confirm(&one->artifact, repo, &one->was) < 0)
			rc = EWS_ESTALE;
		one->was = one->artifact.commit;
	}
	return rc;
}

/* Make those that have been begun exist: their commits, then their refs, from which the files can be had. */
static int publish(struct keeping *list, size_t n, struct ews_artifact_registry *registry, struct ews_batch *batch)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		if (list[i].is_kept)
			continue;
		rc = ews_artifact_place_ready(&registry->place, list[i].artifact.path);
		if (rc == 0)
			rc = ews_artifact_write(&list[i].artifact, batch);
	}
	if (rc == 0)
		rc = ews_batch_commit_in(batch, &group);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct keeping *one = &list[i];

		if (one->is_kept)
			continue;
		rc = ews_artifact_point_ref(&one->artifact, registry->repo, &one->was);
		if (rc == 0)
			rc = ews_artifact_draft_seal(&one->draft, one->artifact.created_s);
	}
	if (rc == 0)
		rc = ews_odb_finish_group(registry->repo->odb, &group);
	return rc < 0 ? rc : confirm(list, n, registry->repo);
}

/* Give their files their names. Where somebody has just made something, that one is still to be kept, under another. */
static int place(struct keeping *list, size_t n, struct ews_artifact_registry *registry)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc = 0;

	ews_sync_begin(&group);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct keeping *one = &list[i];

		if (one->is_kept)
			continue;
		rc = ews_artifact_draft_place(&one->draft, one->artifact.path, one->is_over);
		if (rc == EWS_EEXISTS) {
			ews_error_clear();
			rc = 0;
			one->nth++;
		} else if (rc == 0) {
			one->is_kept = true;
			one->artifact.file = EWS_ARTIFACT_PRESENT;
			list_it(registry, &one->artifact);
		}
	}
	return rc < 0 ? rc : ews_sync_finish(&group);
}

static int keep(struct keeping *list, size_t n, struct ews_artifact_registry *registry)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(registry->repo->odb);
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = begin(&list[i], registry, batch);
		if (rc < 0 && list[i].what->original)
			return ews_error_wrap("'%s'", list[i].what->original);
	}
	if (rc == 0)
		rc = choose_all(list, n, registry);
	while (rc > 0) {
		rc = publish(list, n, registry, batch);
		if (rc == 0)
			rc = place(list, n, registry);
		if (rc == 0)
			rc = choose_all(list, n, registry);
	}
	return rc;
}

/* Keep at most TOGETHER_MAX, and add them to `out`. */
static int keep_together(struct ews_artifacts *out, struct ews_artifact_registry *registry,
			 const struct ews_artifact_new *what, size_t n)
{
	struct keeping list[TOGETHER_MAX];
	int rc;

	for (size_t i = 0; i < n; i++)
		list[i] = (struct keeping){
			.what = &what[i], .artifact = describe(&what[i]), .draft = EWS_ARTIFACT_DRAFT_INIT, .nth = 1
		};
	rc = keep(list, n, registry);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			(void)ews_artifacts_push(out, &list[i].artifact);
		ews_artifact_release(&list[i].artifact);
		ews_artifact_draft_release(&list[i].draft);
		free(list[i].name);
	}
	return rc;
}

int ews_artifact_fail(int rc)
{
	if ((rc == EWS_EIO || rc == EWS_ENOTFOUND) && !*ews_error_hint_text())
		ews_error_hint("qe.artifacts.location names another place; 'git ews end --no-artifacts' needs none");
	return ews_error_wrap("cannot keep the artifact");
}

int ews_artifact_add_to(struct ews_artifacts *out, struct ews_artifact_registry *registry,
			const struct ews_artifact_new *what, size_t n)
{
	int rc = 0;

	if (!out->place)
		out->place = ews_strdup(registry->place.path);
	for (size_t i = 0; i < n && rc == 0; i += TOGETHER_MAX)
		rc = keep_together(out, registry, what + i, n - i < TOGETHER_MAX ? n - i : TOGETHER_MAX);
	return rc;
}

int ews_artifact_add_all(struct ews_artifacts *out, struct ews_artifact_news *news, struct ews_repo *repo,
			 const struct ews_artifact_new *what, size_t n)
{
	EWS_CLEANUP(artifact_registry) struct ews_artifact_registry registry = EWS_ARTIFACT_REGISTRY_INIT;
	int rc;

	if (!n)
		return 0;
	rc = ews_artifact_registry_open(&registry, repo, news);
	if (rc == 0)
		rc = ews_artifact_add_to(out, &registry, what, n);
	if (rc == 0)
		rc = ews_artifact_registry_write(&registry);
	return rc < 0 ? ews_artifact_fail(rc) : 0;
}

int ews_artifact_add(struct ews_artifact *out, char **path, struct ews_artifact_news *news, struct ews_repo *repo,
		     const struct ews_artifact_new *what)
{
	EWS_CLEANUP(artifacts) struct ews_artifacts list = EWS_ARTIFACTS_INIT;
	int rc = ews_artifact_add_all(&list, news, repo, what, 1);

	if (rc < 0)
		return rc;
	if (path)
		*path = ews_path_join(list.place, list.items[0].path);
	*out = list.items[0];
	list.items[0] = (struct ews_artifact)EWS_ARTIFACT_INIT;
	return 0;
}
