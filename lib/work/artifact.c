/*
 * Artifacts: see artifact.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"

#define LOCATION "qe.artifacts.location"

/* `rel` beneath the directory `root`, made when missing. */
static int open_beneath(const char *root, const char *rel, mode_t mode)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(root);
	int rc = fd < 0 ? fd : ews_dir_make(fd, rel, mode);

	return rc < 0 ? rc : ews_dir_open_beneath(fd, rel);
}

static int open_own(const struct ews_repo *repo, const char *path)
{
	int rc = ews_repo_make_own_dir(repo);

	return rc < 0 ? rc : open_beneath(repo->project, path + strlen(repo->project) + 1, 0777);
}

/* A place that the user's own settings name, wherever it leads. */
static int open_chosen(const char *root, const char *kind)
{
	int rc = ews_dir_make_absolute(root, 0777);

	return rc < 0 ? rc : open_beneath(root, kind, 0777);
}

/* The place as it is written, as an absolute path: what a link there would lead to must not decide which way we go. */
static int find_place(char **out, struct ews_repo *repo)
{
	const struct ews_config *config = ews_repo_config(repo);
	const struct ews_setting *setting = ews_setting_find(LOCATION);
	struct ews_config_entry entry;
	int rc = ews_config_check_one(config, setting);

	if (rc < 0)
		return rc;
	if (ews_config_look(&entry, config, setting, 0) && *entry.text != '~' && strcmp(entry.text, "home") != 0)
		*out = ews_path_absolute(repo->project, entry.text);
	return 0;
}

int ews_artifact_open_dir(char **path, struct ews_repo *repo, const char *kind)
{
	EWS_CLEANUP(free) char *own = ews_path_join(repo->project, ".superqode");
	EWS_CLEANUP(free) char *place = NULL;
	EWS_CLEANUP(free) char *rel = ews_path_join("artifacts", kind);
	EWS_CLEANUP(free) char *found = NULL;
	bool is_own;
	int rc = find_place(&place, repo);
	int fd;

	if (rc == 0 && !place)
		rc = ews_config_dir(&place, ews_repo_config(repo), LOCATION);
	if (rc < 0)
		return rc;
	is_own = place && ews_path_is_inside(place, own);
	/* A bare repository has no place for anything of ours but what git knows. */
	if (!place || (is_own && repo->is_bare)) {
		rc = fd = ews_repo_subdir(repo, rel);
		found = rc < 0 ? NULL : ews_path_join(repo->dir, rel);
	} else {
		found = ews_path_join(place, kind);
		rc = fd = is_own ? open_own(repo, found) : open_chosen(place, kind);
	}
	if (rc < 0)
		return ews_error_wrap("cannot open the directory of artifacts");
	*path = ews_steal(&found);
	return fd;
}
