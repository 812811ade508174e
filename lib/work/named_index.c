/*
 * The index that is meant: see named_index.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/named_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"

#define INDEX "index"

/* Which file of the git directory the path is, points into it; NULL: none. Below are the indexes of others, as of linked worktrees. */
static const char *find_name(const char *path, const struct ews_repo *repo)
{
	const char *name = ews_dir_find_below(path, repo->git_dir, repo->git_dir);

	return name && *name && !strchr(name, '/') ? name : NULL;
}

/* Returns 1 when it was read, 0 when it is left out, and `why`. A file that is not there is an empty index to git, and a slip to us. */
static int read_named(struct ews_index *out, const char **why, const char *name, const struct ews_repo *repo)
{
	int rc;

	*why = "is not in the project's git directory";
	if (!name)
		return 0;
	*why = "can't be read as an index";
	rc = ews_index_read(out, repo->git_fd, name, ews_odb_algo(repo->odb));
	if (rc < 0)
		return ews_error_if_passing(rc);
	*why = "is not there";
	return out->version ? 1 : 0;
}

int ews_named_index_read(struct ews_index *out, struct ews_strv *notes, const struct ews_repo *repo)
{
	/* Git has gone to the top when it looks where a relative one leads. */
	EWS_CLEANUP(free) char *path = repo->index_file ? ews_path_absolute(repo->project, repo->index_file) : NULL;
	const char *name = path ? find_name(path, repo) : INDEX;
	const char *why;
	int rc = 0;

	if (!name || strcmp(name, INDEX) != 0) {
		rc = read_named(out, &why, name, repo);
		if (rc == 0)
			ews_strv_addf(
				notes,
				"the index that GIT_INDEX_FILE names was left out, and the project's own taken: '%s' %s",
				path, why);
	}
	if (rc == 0)
		rc = ews_index_read(out, repo->git_fd, INDEX, ews_odb_algo(repo->odb));
	return rc < 0 ? rc : 0;
}
