/*
 * Astray: see astray.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/astray.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/lock.h"

bool ews_astray_is(const struct ews_home_project *project, const char *home)
{
	EWS_CLEANUP(free) char *store = project->problem ? NULL : ews_home_store(home, project->project);

	return store && !strcmp(store, project->store) && !project->is_gone && project->is_away;
}

/* Who works in one of its sessions has its store open under the name that it has. */
static int refuse_busy(const struct ews_home_project *project)
{
	EWS_CLEANUP(fd) int dir = ews_dir_open(project->dir);
	EWS_CLEANUP(free) char *held = dir < 0 ? NULL : ews_lock_find_held(dir);

	ews_error_clear();
	return held ? ews_error(EWS_EBUSY, "this directory was at '%s', and '%s' is held there", project->project,
				held)
		    : 0;
}

static int give_store(const char *home, const char *dir, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *store = ews_home_store(home, dir);
	EWS_CLEANUP(free) char *stores = ews_path_dir(store);
	EWS_CLEANUP(fd) int fd = -1;
	int rc = refuse_busy(project);

	if (rc < 0)
		return rc;
	fd = ews_dir_open(stores);
	rc = fd < 0 ? fd : ews_file_rename_new(fd, ews_path_base(project->store), fd, ews_path_base(store));
	if (rc == 0)
		rc = ews_file_sync_dir(fd);
	/* Another process was first. */
	if (rc == EWS_ENOTFOUND || rc == EWS_EEXISTS) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? ews_error_wrap("this directory was at '%s', and its sessions can't follow", project->project)
		      : 0;
}

int ews_astray_find(const char *home, const char *dir)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(free) char *birth = ews_home_birth(dir);
	int rc = birth ? ews_home_projects(&projects, home) : 0;

	for (size_t i = 0; i < projects.n && rc == 0; i++) {
		const struct ews_home_project *project = &projects.items[i];

		if (!project->birth || strcmp(project->birth, birth) != 0 || !ews_astray_is(project, home))
			continue;
		rc = give_store(home, dir, project);
		return rc < 0 ? rc : 1;
	}
	return rc;
}

int ews_astray_adopt(const char *home, const char *dir, const char *was)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	int rc = ews_home_projects(&projects, home);

	for (size_t i = 0; i < projects.n && rc == 0; i++)
		if (!strcmp(projects.items[i].project ? projects.items[i].project : "", was) &&
		    ews_astray_is(&projects.items[i], home))
			return give_store(home, dir, &projects.items[i]);
	if (rc < 0)
		return rc;
	(void)ews_error(EWS_ENOTFOUND, "no plain directory that is gone was at '%s'", was);
	ews_error_hint("'git ews status --all' names them");
	return EWS_ENOTFOUND;
}

char *ews_astray_guess(const char *home, const char *dir)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/", dir);

	if (ews_home_projects(&projects, home) < 0)
		ews_error_clear();
	for (size_t i = 0; i < projects.n; i++) {
		const struct ews_home_project *project = &projects.items[i];
		EWS_CLEANUP(free) char *name = NULL;

		if (!ews_astray_is(project, home))
			continue;
		name = ews_strfmt("/%s/", ews_path_base(project->project));
		if (strstr(path, name))
			return ews_strdup(project->project);
	}
	return NULL;
}

char *ews_astray_former(const char *home, const char *dir)
{
	EWS_CLEANUP(free) char *store = ews_home_store(home, dir);

	return store && access(store, F_OK) == 0 ? ews_steal(&store) : NULL;
}

char *ews_astray_path(const char *home, const char *store)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;

	if (ews_home_projects(&projects, home) < 0)
		ews_error_clear();
	for (size_t i = 0; i < projects.n; i++) {
		const struct ews_home_project *project = &projects.items[i];
		EWS_CLEANUP(free) char *real = NULL;

		if (!ews_astray_is(project, home))
			continue;
		real = realpath(project->store, NULL);
		if (real && !strcmp(real, store))
			return ews_strdup(project->project);
	}
	return NULL;
}
