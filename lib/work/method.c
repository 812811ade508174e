/*
 * Methods: see method.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/method.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/path.h"

const struct ews_method *ews_method_find(const char *name)
{
	static const struct {
		const char *name;
		const struct ews_method *method;
	} names[] = {
		{ "worktree", &ews_method_worktree },     { "git_worktree", &ews_method_worktree },
		{ "git-worktree", &ews_method_worktree }, { "snapshot", &ews_method_snapshot },
		{ "in-place", &ews_method_in_place },     { "in_place", &ews_method_in_place },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i].name))
			return names[i].method;
	return NULL;
}

int ews_method_nothing(const struct ews_place *place)
{
	(void)place;
	return 0;
}

int ews_method_open_beside(const struct ews_place *place, const char *name, bool make)
{
	EWS_CLEANUP(free) char *rel = ews_path_join(EWS_METHOD_BESIDE, name);
	int rc = make ? ews_dir_make_shared(place->common_fd, rel, ews_odb_sharing(place->odb)) : 0;

	return rc < 0 ? rc : ews_dir_open_beneath(place->common_fd, rel);
}
