/*
 * Artifacts: see artifact.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "base/sync.h"
#include "store/lock.h"
#include "work/artifact_copy.h"
#include "work/artifact_registry.h"
#include "work/drop.h"
#include "work/snapshot.h"
#include "work/step_refs.h"

int ews_artifact_settle(struct ews_repo *repo, bool is_hasty)
{
	EWS_CLEANUP(artifact_registry) struct ews_artifact_registry registry = EWS_ARTIFACT_REGISTRY_INIT;

	registry.is_hasty = is_hasty;
	return ews_artifact_registry_open(&registry, repo, NULL);
}

/* As they stand, where nothing can be written: a look that mends nothing. */
static int list_only(struct ews_artifacts *out, struct ews_repo *repo)
{
	EWS_CLEANUP(artifact_place) struct ews_artifact_place place = EWS_ARTIFACT_PLACE_INIT;
	char sha256[EWS_SHA256_HEX_MAX];
	unsigned last = 0;
	int rc = ews_artifact_refs_read(out, NULL, &last, repo, EWS_REF_ARTIFACTS);

	if (rc < 0)
		return rc;
	if (ews_artifact_place_open(&place, repo, false) < 0)
		ews_error_clear();
	for (size_t i = 0; i < out->n; i++)
		ews_artifact_copy_look(&out->items[i], sha256, &place, false);
	out->place = ews_steal(&place.path);
	return 0;
}

static bool has_any(struct ews_repo *repo)
{
	EWS_CLEANUP(artifact_place) struct ews_artifact_place place = EWS_ARTIFACT_PLACE_INIT;
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	bool has = ews_artifact_place_open(&place, repo, false) == 0 ||
		   (ews_odb_ref_list(&refs, repo->odb, EWS_REF_ARTIFACTS) == 0 && refs.n);

	ews_error_clear();
	return has;
}

int ews_artifact_list(struct ews_artifacts *out, struct ews_artifact_news *news, struct ews_repo *repo)
{
	EWS_CLEANUP(artifact_registry) struct ews_artifact_registry registry = EWS_ARTIFACT_REGISTRY_INIT;
	const struct ews_setting *location = ews_setting_find("qe.artifacts.location");
	int rc = ews_config_check_one(ews_repo_config(repo), location);

	if (rc < 0)
		return rc;
	/* A look leaves nothing where there is nothing. */
	if (!has_any(repo))
		return 0;
	rc = ews_artifact_registry_open(&registry, repo, news);
	if (rc == EWS_EUNSUPPORTED)
		return rc;
	if (rc < 0 && ews_error_errno() == EACCES)
		ews_error_clear(); /* as inside of 'git ews run': one may look, and that is all that is asked */
	else if (rc < 0)
		ews_artifact_news_warn(registry.news);
	if (rc < 0)
		return list_only(out, repo);
	*out = registry.list;
	out->place = ews_steal(&registry.place.path);
	registry.list = (struct ews_artifacts)EWS_ARTIFACTS_INIT;
	return 0;
}

/*
 * How well does `name` fit: 3 the id or path, 2 the file's name, 1 the beginning of one. The path of what lies at the top is no more
 * than a name, which those in directories may have as well.
 */
static int fits(const struct ews_artifact *artifact, const char *name)
{
	size_t len = strlen(name);

	if (!strcmp(artifact->id, name) || (strchr(name, '/') && !strcmp(artifact->path, name)))
		return 3;
	if (!strcmp(ews_artifact_name(artifact), name))
		return 2;
	return len && (!strncmp(artifact->id, name, len) || !strncmp(ews_artifact_name(artifact), name, len));
}

int ews_artifact_find(const struct ews_artifact **out, const struct ews_artifacts *list, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf candidates = EWS_BUF_INIT;
	size_t n = 0;
	int best = 1;

	for (size_t i = 0; i < list->n; i++) {
		int fit = fits(&list->items[i], name);

		if (fit < best)
			continue;
		if (fit > best) {
			ews_buf_truncate(&candidates, 0);
			n = 0;
		}
		best = fit;
		n++;
		*out = &list->items[i];
		ews_buf_addf(&candidates, "%s%s", candidates.len ? ", " : "", list->items[i].id);
	}
	if (n == 1)
		return 0;
	if (n) {
		ews_error(EWS_EUSAGE, "'%.80s' may mean several artifacts", name);
		ews_error_hint("it fits %.400s", candidates.ptr);
		return EWS_EUSAGE;
	}
	ews_error(EWS_ENOTFOUND, "no artifact '%.80s'", name);
	ews_error_hint("'git ews artifact list' shows them");
	return EWS_ENOTFOUND;
}

int ews_artifact_verify(struct ews_artifact *artifact, struct ews_repo *repo)
{
	EWS_CLEANUP(artifact_place) struct ews_artifact_place place = EWS_ARTIFACT_PLACE_INIT;
	char sha256[EWS_SHA256_HEX_MAX];
	int rc = ews_artifact_place_open(&place, repo, false);

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	ews_artifact_copy_look(artifact, sha256, &place, true);
	return 0;
}

int ews_artifact_export(char **name, int dir_fd, struct ews_repo *repo, const struct ews_artifact *artifact)
{
	const mode_t mode = artifact->is_executable ? 0777 : 0666;

	for (unsigned nth = 1; nth < EWS_ARTIFACT_NAMES_MAX; nth++) {
		EWS_CLEANUP(free) char *tried = ews_artifact_name_nth(ews_artifact_name(artifact), nth);
		EWS_CLEANUP(fd)
		int fd = openat(dir_fd, tried, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		int rc;

		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return ews_error_os("cannot make '%s'", tried);
		rc = ews_odb_write_to(fd, repo->odb, &artifact->blob);
		if (close(ews_steal_fd(&fd)) < 0 && rc == 0)
			rc = ews_error_os("cannot write '%s'", tried);
		if (rc < 0) {
			(void)unlinkat(dir_fd, tried, 0); /* best effort: the failure is the news */
			return ews_error_wrap("cannot export %s", artifact->id);
		}
		*name = ews_steal(&tried);
		return 0;
	}
	return ews_error(EWS_EEXISTS, "there is no name left for '%s'", ews_artifact_name(artifact));
}

/* What stands under their ids now: they were listed before the lock was ours. */
static int plan_removal(struct ews_step *step, const struct ews_artifact_registry *registry,
			const struct ews_artifact *const *items, size_t n)
{
	int rc = ews_step_init(step, registry->repo->dir_fd, "drop", NULL);

	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct ews_artifact *now = ews_artifacts_find_id(&registry->list, items[i]->id);
		char hex[EWS_OID_HEX_MAX];

		if (now)
			ews_strv_addf(&step->refs, EWS_REF_ARTIFACTS "%s " EWS_REF_TRASH_ARTIFACTS "%s %s", now->id,
				      now->id, ews_oid_hex(hex, &now->commit));
	}
	return rc;
}

int ews_artifact_remove(struct ews_artifact_news *news, struct ews_repo *repo,
			const struct ews_artifact *const *items, size_t n)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(artifact_registry) struct ews_artifact_registry registry = EWS_ARTIFACT_REGISTRY_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	/* The project's before that of the artifacts, as undo does it. */
	int rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "artifact", EWS_LOCK_PROJECT_WAIT_MS);

	if (rc == 0)
		rc = ews_artifact_registry_open(&registry, repo, news);
	if (rc == 0)
		rc = plan_removal(&step, &registry, items, n);
	if (rc == 0)
		rc = ews_drop(repo, &step, ews_step_refs_move);
	if (rc < 0)
		return ews_error_wrap("cannot remove the artifacts");
	ews_sync_begin(&group);
	for (size_t i = 0; i < n; i++) {
		struct ews_artifact *at = ews_artifacts_find_id(&registry.list, items[i]->id);
		EWS_CLEANUP(artifact) struct ews_artifact gone = EWS_ARTIFACT_INIT;

		if (!at)
			continue;
		gone = *at;
		memmove(at, at + 1, sizeof(*at) * (size_t)(&registry.list.items[--registry.list.n] - at));
		ews_artifact_registry_let_go(&registry, &gone);
	}
	rc = ews_artifact_registry_write(&registry);
	return rc < 0 ? rc : ews_sync_finish(&group);
}
