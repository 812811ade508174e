/*
 * Astray: see astray.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/astray.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/home_repo.h"
#include "store/lock.h"

static bool is_plain(const struct ews_home_project *project, const char *home)
{
	EWS_CLEANUP(free) char *store = project->problem ? NULL : ews_home_store(home, project->project);

	return store && (project->is_parked || !strcmp(store, project->store)) && !project->is_gone;
}

bool ews_astray_is(const struct ews_home_project *project, const char *home)
{
	return is_plain(project, home) && (project->is_away || project->is_parked);
}

/* Is it not, or need it not be, what is at its path? */
static bool may_be_elsewhere(const struct ews_home_project *project, const char *home)
{
	return ews_astray_is(project, home) || (is_plain(project, home) && project->is_anew);
}

/* Who works in one of its sessions has its store open under the name that it has. */
static int refuse_busy(const struct ews_home_project *project)
{
	EWS_CLEANUP(fd) int dir = ews_dir_open(project->dir);
	EWS_CLEANUP(free) char *held = NULL;
	int rc = dir < 0 ? ews_error_if_passing(dir) : ews_lock_find_held(&held, dir);

	if (rc < 0)
		return rc;
	return held ? ews_error(EWS_EBUSY, "this directory was at '%s', and '%s' is held there", project->project,
				held)
		    : 0;
}

/* Home is told first: a store that keeps its name after all is found there by what it holds (work/moved). */
static int park(int stores, const char *home, const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *parked = ews_home_parked_store(home, project);
	int rc = refuse_busy(project);

	if (rc == 0)
		rc = ews_home_park_project(project, parked);
	if (rc == 0)
		rc = ews_file_rename_new(stores, ews_path_base(project->store), stores, ews_path_base(parked));
	return rc == 0 ? ews_file_sync_dir(stores) : rc;
}

/* Whoever has the name `store` gives it up where his directory is another one for certain. */
static int vacate(int stores, const char *home, const char *store)
{
	EWS_CLEANUP(home_project) struct ews_home_project holder = { .dir = NULL };
	EWS_CLEANUP(free) char *dir = NULL;
	int rc = access(store, F_OK) < 0 ? EWS_ENOTFOUND : ews_home_repo_dir(&dir, home, store, NULL);

	if (rc == 0)
		rc = ews_home_project_read(&holder, dir);
	if (rc == 0 && holder.is_anew)
		return park(stores, home, &holder);
	ews_error_clear();
	return 0;
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
	rc = fd < 0 ? fd : vacate(fd, home, store);
	if (rc == 0)
		rc = ews_file_rename_new(fd, ews_path_base(project->store), fd, ews_path_base(store));
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

		if (!project->birth || strcmp(project->birth, birth) != 0 || !may_be_elsewhere(project, home))
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
		    may_be_elsewhere(&projects.items[i], home))
			return give_store(home, dir, &projects.items[i]);
	if (rc < 0)
		return rc;
	(void)ews_error(EWS_ENOTFOUND, "no plain directory that is gone was at '%s'", was);
	ews_error_hint("'git ews status --all' names them");
	return EWS_ENOTFOUND;
}

/* Has home been told that the store is parked, while it has its name still, and its directory is another one for certain? */
static bool is_half_parked(const struct ews_home_project *project, const char *store)
{
	if (!project->is_parked || !project->is_gone || !project->is_anew)
		return false;
	for (size_t i = 0; i < project->begun.n; i++)
		if (project->begun.items[i].is_parked && !strcmp(project->begun.items[i].store, store))
			return true;
	return false;
}

bool ews_astray_finish_parking(const char *home, const char *store)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(free) char *dir = NULL;
	bool is_done = false;

	/* Mostly it is somebody's, and no other need be asked. */
	if (ews_home_repo_dir(&dir, home, store, NULL) == EWS_ENOTFOUND)
		(void)ews_home_projects(&projects, home); /* who sees none of them can't be sure of one */
	for (size_t i = 0; i < projects.n && !is_done; i++)
		is_done = is_half_parked(&projects.items[i], store) &&
			  ews_file_rename_new(AT_FDCWD, store, AT_FDCWD, projects.items[i].store) == 0;
	ews_error_clear();
	return is_done;
}

int ews_astray_is_anew(const char *home, const char *store)
{
	EWS_CLEANUP(home_project) struct ews_home_project project = { .dir = NULL };
	EWS_CLEANUP(free) char *dir = NULL;
	int rc = ews_home_repo_dir(&dir, home, store, NULL);

	if (rc == 0)
		rc = ews_home_project_read(&project, dir);
	if (rc == EWS_EIO)
		return rc;
	ews_error_clear();
	return rc == 0 && project.is_anew;
}

int ews_astray_accept(const char *home, const char *store)
{
	EWS_CLEANUP(free) char *dir = NULL;
	int rc = ews_home_repo_dir(&dir, home, store, NULL);

	return rc < 0 ? rc : ews_home_accept_birth(dir);
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
