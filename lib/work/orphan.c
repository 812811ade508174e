/*
 * Orphans: see orphan.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/orphan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/home.h"
#include "store/lock.h"
#include "work/inuse.h"
#include "work/session_name.h"

#define GONE ".gone-"

void ews_orphans_release(struct ews_orphans *orphans)
{
	for (size_t i = 0; i < orphans->n; i++) {
		free(orphans->items[i].id);
		ews_state_release(&orphans->items[i].state);
	}
	free(orphans->items);
	*orphans = (struct ews_orphans)EWS_ORPHANS_INIT;
}

static void read_orphan(struct ews_orphan *out, int sessions_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(sessions_fd, name);
	int rc = fd;

	*out = (struct ews_orphan){ .id = ews_strdup(name) };
	if (fd >= 0)
		rc = ews_state_read(&out->state, fd);
	out->has_state = rc == 0;
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		out->unread = ews_error_errno();
	ews_error_clear();
}

int ews_orphan_list(struct ews_orphans *out, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(fd) int sessions = fd < 0 ? fd : ews_dir_open_beneath(fd, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n;

	if (sessions == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	n = sessions < 0 ? sessions : ews_dir_names_read(&names, sessions);
	for (ssize_t i = 0; i < n; i++) {
		if (ews_session_check_id(names.items[i].name) < 0) {
			ews_error_clear();
			continue;
		}
		EWS_GROW(out->items, out->n, out->cap);
		read_orphan(&out->items[out->n++], sessions, names.items[i].name);
	}
	return n < 0 ? (int)n : 0;
}

static void keep(struct ews_clean_result *out, const char *id, const char *why)
{
	ews_strv_addf(&out->kept, "%s\t%s", id, why);
}

/* Why must all of it stay, whoever wants it away? NULL: it need not. The caller frees it. */
static char *find_use(const struct ews_home_project *project, const struct ews_orphans *orphans, int dir_fd,
		      const struct ews_clean_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *held = NULL;
	int rc = ews_lock_find_held(&held, dir_fd);
	char *use = held ? ews_strfmt("its project is gone, but '%s' is held", held) : NULL;

	if (!use &&
	    (rc < 0 || ews_inuse_list(&users, project->dir) < 0 || ews_inuse_list_mounts(&users, project->dir) < 0))
		use = ews_strfmt("its project is gone, but that may be in use: %s", ews_error_message());
	if (!use && users.n)
		use = ews_strfmt("its project is gone, but it is in use by %s", users.items[0]);
	for (size_t i = 0; i < orphans->n && !use; i++)
		if (ews_clean_idle_s(dir_fd, orphans->items[i].id) < opts->older_than_s)
			use = ews_strfmt("its project is gone; session '%s' was at work since", orphans->items[i].id);
	ews_error_clear();
	return use;
}

static uint64_t measure(const char *path)
{
	EWS_CLEANUP(free) char *parent = ews_path_dir(path);
	EWS_CLEANUP(fd) int fd = ews_dir_open(parent);
	struct ews_tree_size size = { 0, 0 };

	if (fd < 0 || ews_file_measure_tree(&size, fd, ews_path_base(path)) < 0)
		ews_error_clear(); /* a number for people; what can't be read counts nothing */
	return size.bytes;
}

/* Those that somebody may still want. */
static void name_all(struct ews_clean_result *out, const struct ews_orphans *orphans, const char *why)
{
	size_t n = 0;

	for (size_t i = 0; i < orphans->n; i++) {
		const struct ews_orphan *orphan = &orphans->items[i];

		if (orphan->has_state && orphan->state.state == EWS_STATE_ENDED)
			continue;
		keep(out, orphan->id, why);
		n++;
	}
	if (!n)
		keep(out, "", why);
}

static void show(struct ews_clean_result *out, const struct ews_home_project *project,
		 const struct ews_orphans *orphans, uint64_t bytes, int64_t age_s)
{
	for (size_t i = 0; i < orphans->n; i++) {
		const struct ews_orphan *orphan = &orphans->items[i];

		if (orphan->has_state && orphan->state.state == EWS_STATE_ENDED)
			continue;
		ews_clean_add_ended(out, orphan->id, 0, "for good; its project is gone");
		/* What stands elsewhere are files of whoever wanted them there. */
		if (orphan->has_state && !ews_path_is_inside(orphan->state.workspace, project->dir) &&
		    access(orphan->state.workspace, F_OK) == 0)
			ews_strv_addf(&out->kept, "%s\tits workspace stays: %s", orphan->id, orphan->state.workspace);
	}
	EWS_GROW(out->trash.items, out->trash.n, out->trash.cap);
	out->trash.items[out->trash.n++] = (struct ews_trash_item){ .kind = EWS_TRASH_DIRECTORY,
								    .name = ews_strdup(project->dir),
								    .verb = ews_strdup(""),
								    .session = ews_strdup(""),
								    .size_bytes = bytes,
								    .age_s = age_s };
}

/* By a name that nobody looks for first: what a killed call leaves of it is swept. */
static int remove_all(const struct ews_home_project *project)
{
	EWS_CLEANUP(free) char *working = ews_path_dir(project->dir);
	EWS_CLEANUP(free) char *gone = ews_strfmt(GONE "%s", ews_path_base(project->dir));
	EWS_CLEANUP(fd) int fd = ews_dir_open(working);
	int rc = fd < 0 ? fd : ews_file_remove_tree(fd, gone);

	if (rc == 0)
		rc = ews_file_rename_new(fd, ews_path_base(project->dir), fd, gone);
	return rc < 0 ? rc : ews_file_remove_tree(fd, gone);
}

int ews_orphan_clean(struct ews_clean_result *out, const struct ews_home_project *project,
		     const struct ews_clean_opts *opts)
{
	EWS_CLEANUP(orphans) struct ews_orphans orphans = EWS_ORPHANS_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open(project->dir);
	EWS_CLEANUP(free) char *use = NULL;
	uint64_t bytes = measure(project->dir);
	int64_t age_s = INT64_MAX;
	int rc = fd < 0 ? fd : ews_orphan_list(&orphans, project->dir);

	if (rc < 0)
		return rc;
	if (!opts->force || !opts->now) {
		name_all(out, &orphans,
			 "its project is gone: move that back, or --force --now lets go of it for good");
		return 0;
	}
	use = find_use(project, &orphans, fd, opts);
	if (use) {
		name_all(out, &orphans, use);
		return 0;
	}
	for (size_t i = 0; i < orphans.n; i++) {
		int64_t idle_s = ews_clean_idle_s(fd, orphans.items[i].id);

		age_s = idle_s < age_s ? idle_s : age_s;
	}
	rc = opts->dry_run ? 0 : remove_all(project);
	if (rc == 0)
		show(out, project, &orphans, bytes, orphans.n ? age_s : 0);
	return rc;
}
