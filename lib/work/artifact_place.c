/*
 * The place of artifacts: see artifact_place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact_place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "store/home.h"

#define LOCATION "qe.artifacts.location"
#define AT_HOME "artifacts"

/* `rel` beneath the directory `root`, made when missing. */
static int open_beneath(const char *root, const char *rel, bool make)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(root);
	int rc = fd < 0 ? fd : make ? ews_dir_make_as_owner(fd, rel, 0777) : 0;

	return rc < 0 ? rc : ews_dir_open_beneath(fd, rel);
}

static int open_own(const struct ews_repo *repo, const char *path, bool make)
{
	int rc = make ? ews_repo_make_own_dir(repo) : 0;

	return rc < 0 ? rc : open_beneath(repo->project, path + strlen(repo->project) + 1, make);
}

/* A place that the user's own settings name, wherever it leads. */
static int open_chosen(const char *path, bool make)
{
	int rc = make ? ews_dir_make_absolute(path, 0777) : 0;

	return rc < 0 ? rc : ews_dir_open(path);
}

static int open_at_home(char **path, struct ews_repo *repo, bool make)
{
	int rc = make ? ews_repo_make_dir(repo) : ews_repo_need_dir(repo);

	if (rc == 0)
		rc = make ? ews_repo_subdir(repo, AT_HOME) : ews_dir_open_beneath(repo->dir_fd, AT_HOME);
	if (rc >= 0)
		*path = ews_path_join(repo->dir, AT_HOME);
	return rc;
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
	if (ews_config_look(&entry, config, setting, 0) && *entry.text != '~' && strcmp(entry.text, "home") != 0) {
		*out = ews_path_absolute(repo->project, entry.text);
		return 0;
	}
	return ews_config_dir(out, config, LOCATION);
}

/* Among home's records artifacts would be taken for some. Where they are when "home" is said, they may be. */
static int check_unreserved(const struct ews_repo *repo, const char *place)
{
	EWS_CLEANUP(free) char *at_home = repo->dir ? ews_path_join(repo->dir, AT_HOME) : NULL;

	if ((at_home && !strcmp(place, at_home)) || !ews_home_is_reserved(repo->home, place))
		return 0;
	ews_error(EWS_EUSAGE, "'%s' lies where git ews keeps its own records", place);
	ews_error_hint(LOCATION " may name a directory outside of '%s', or 'home'", repo->home);
	return EWS_EUSAGE;
}

int ews_artifact_open_place(char **path, struct ews_repo *repo, bool make)
{
	EWS_CLEANUP(free) char *own = ews_path_join(repo->project, EWS_OWN_DIR);
	EWS_CLEANUP(free) char *place = NULL;
	int fd, rc = find_place(&place, repo);
	bool is_own;

	if (rc < 0)
		return rc;
	is_own = place && ews_path_is_inside(place, own);
	if (!place || (is_own && repo->is_bare))
		return open_at_home(path, repo, make);
	rc = check_unreserved(repo, place);
	/* What is kept of sessions is not put into another directory than theirs. */
	if (rc == 0 && make && ews_path_is_inside(place, repo->project))
		rc = ews_repo_refuse_anew(repo);
	if (rc < 0)
		return rc;
	rc = fd = is_own ? open_own(repo, place, make) : open_chosen(place, make);
	if (rc < 0)
		return rc;
	*path = ews_steal(&place);
	return fd;
}

mode_t ews_artifact_dir_mode(const struct ews_repo *repo, const char *path)
{
	return ews_path_is_inside(path, repo->home) ? 0700 : 0777;
}

int ews_artifact_open_dir(char **path, struct ews_repo *repo, const char *kind)
{
	EWS_CLEANUP(free) char *place = NULL;
	EWS_CLEANUP(fd) int root = ews_artifact_open_place(&place, repo, true);
	int rc = root < 0 ? root : ews_dir_make_as_owner(root, kind, ews_artifact_dir_mode(repo, place));
	int fd = -1;

	if (rc >= 0)
		rc = fd = ews_dir_open_beneath(root, kind);
	if (rc < 0)
		return ews_error_wrap("cannot open the directory of artifacts");
	*path = ews_path_join(place, kind);
	return fd;
}
