/*
 * Artifact files: see artifact_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact_file.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "work/artifact.h"

#define NAMES_MAX 100000

static void remove_all(int dir_fd, const struct ews_strv *names, size_t n)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	while (n--)
		(void)unlinkat(dir_fd, names->items[n], 0); /* best effort: why it is taken back is the news */
	(void)ews_error_restore(&why);
}

/* The names `<stem>.<extension>` of the parts. */
static void name_all(struct ews_strv *out, const char *stem, const struct ews_artifact_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ews_strv_addf(out, "%s.%s", stem, parts[i].extension);
}

static int write_all(int dir_fd, const struct ews_strv *names, const struct ews_artifact_part *parts)
{
	for (size_t i = 0; i < names->n; i++) {
		int rc = ews_file_replace(dir_fd, names->items[i], parts[i].data, parts[i].len, 0644);

		if (rc < 0) {
			remove_all(dir_fd, names, i);
			return rc;
		}
	}
	return 0;
}

/* EWS_EEXISTS when one of the names is taken; then none has been. */
static int rename_all(int dir_fd, const struct ews_strv *from, const struct ews_strv *to)
{
	for (size_t i = 0; i < to->n; i++) {
		int rc = ews_file_rename_new(dir_fd, from->items[i], dir_fd, to->items[i]);

		if (rc == 0)
			continue;
		while (i--)
			(void)renameat(dir_fd, to->items[i], dir_fd, from->items[i]); /* where it came from */
		return rc;
	}
	return 0;
}

static int take_name(struct ews_strv *names, int dir_fd, const struct ews_strv *beside, const char *stem,
		     const struct ews_artifact_part *parts, size_t n)
{
	int rc = EWS_EEXISTS;

	for (unsigned try = 1; try < NAMES_MAX && rc == EWS_EEXISTS; try++) {
		EWS_CLEANUP(free)
		char *numbered = try > 1 ? ews_strfmt("%s-%u", stem, try) : ews_strdup(stem);

		ews_strv_clear(names);
		name_all(names, numbered, parts, n);
		rc = rename_all(dir_fd, beside, names);
	}
	return rc;
}

int ews_artifact_file_new(struct ews_strv *paths, struct ews_repo *repo, const char *kind, const char *stem,
			  const struct ews_artifact_part *parts, size_t n)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *aside = ews_clock_id(".new", ews_clock_now());
	EWS_CLEANUP(strv) struct ews_strv beside = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int fd = ews_artifact_open_dir(&dir, repo, kind);
	int rc;

	if (fd < 0)
		return fd;
	name_all(&beside, aside, parts, n);
	rc = write_all(fd, &beside, parts);
	if (rc < 0)
		return rc;
	rc = take_name(&names, fd, &beside, stem, parts, n);
	if (rc < 0) {
		remove_all(fd, &beside, n);
		return ews_error_wrap("cannot store '%s' in '%s'", stem, dir);
	}
	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir, names.items[i]);

		ews_strv_add(paths, path);
	}
	return ews_file_sync_dir(fd);
}
