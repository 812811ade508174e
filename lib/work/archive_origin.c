/*
 * Archive origins: see archive_origin.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_origin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "work/session_open.h"
#include "work/session_place.h"

int ews_archive_origin_session(struct ews_archive_origin *out, struct ews_repo *repo, const char *id)
{
	int rc = ews_session_open(&out->session, repo, id);

	if (rc == 0)
		rc = ews_session_need_active(&out->session);
	if (rc < 0)
		return rc;
	if (!out->dir)
		out->dir = ews_strdup(out->session.state.workspace);
	out->source = (struct ews_archive_source){ out->dir, repo->home, repo, &out->session };
	return 0;
}

/* What is never in an archive can't be one itself: `dir`, as it is called, or as it is seen from its project. */
static int check_dir(const char *dir, const struct ews_repo *repo)
{
	size_t skip = repo && ews_path_is_inside(dir, repo->project) ? strlen(repo->project) : 0;
	const char *seen = skip && dir[skip] ? dir + skip + 1 : ews_path_base(dir);

	if (!ews_entry_path_names_git(seen) && !ews_archive_is_own(seen))
		return 0;
	return ews_error(EWS_EUSAGE, "'%s' is in a git directory or one of ours: these are in no archive", dir);
}

int ews_archive_origin_dir(struct ews_archive_origin *out, const char *dir, const char *home)
{
	struct stat st;
	int rc;

	out->dir = realpath(dir, NULL);
	if (!out->dir || stat(out->dir, &st) < 0)
		return ews_error_os("cannot find '%s'", dir);
	if (!S_ISDIR(st.st_mode))
		return ews_error(EWS_EUSAGE, "'%s' is not a directory", dir);
	out->home = ews_strdup(home);
	out->source.dir = out->dir;
	out->source.home = out->home;
	rc = ews_repo_open(&out->repo, out->dir, home, EWS_REPO_MAKE_NONE);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return check_dir(out->dir, NULL);
	}
	if (rc < 0)
		return rc;
	if (out->repo->here)
		return ews_archive_origin_session(out, out->repo, out->repo->here);
	rc = check_dir(out->dir, out->repo);
	/* GIT_DIR may have led elsewhere. */
	if (ews_path_is_inside(out->dir, out->repo->project))
		out->source.repo = out->repo;
	return rc;
}

void ews_archive_origin_release(struct ews_archive_origin *origin)
{
	ews_session_release(&origin->session);
	ews_repo_free(origin->repo);
	free(origin->dir);
	free(origin->home);
	*origin = (struct ews_archive_origin)EWS_ARCHIVE_ORIGIN_INIT;
}
