/*
 * Git's word on the place of a work tree: see git_place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/git_place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/gitconfig_text.h"
#include "store/gitfile.h"

#define FILE_BYTES_MAX (16 * EWS_MIB)

struct reading {
	struct ews_git_place *out;
	const char *file;
	bool has_version; /* without one git takes nothing that the config says of the repository */
	bool has_own; /* each work tree has a config of its own */
};

static void take_word(struct ews_git_place_word *word, const struct reading *reading, const char *text)
{
	free(word->text);
	free(word->file);
	word->text = ews_strdup(text);
	word->file = ews_strdup(reading->file);
}

static int take(const char *key, const char *value, void *payload)
{
	struct reading *reading = payload;
	struct ews_git_place *out = reading->out;

	if (!strcmp(key, "core.repositoryformatversion")) {
		reading->has_version = true;
	} else if (!strcmp(key, "extensions.worktreeconfig")) {
		(void)ews_gitconfig_bool(&reading->has_own, value); /* what is no truth value sets nothing */
	} else if (!strcmp(key, "core.worktree")) {
		take_word(&out->worktree, reading, value ? value : "");
	} else if (!strcmp(key, "core.bare")) {
		take_word(&out->bare, reading, value ? value : "true");
		if (!ews_gitconfig_bool(&out->is_bare, value))
			return ews_error(EWS_ECONFIG, "core.bare is neither true nor false: '%s'", value);
	}
	return 0;
}

/* A file that isn't there says nothing. */
static int read_file(struct reading *reading, const char *dir, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, name);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_path(&text, path, FILE_BYTES_MAX);

	reading->file = path;
	if (rc == 0)
		rc = ews_gitconfig_parse(text.ptr, text.len, take, reading);
	if (rc < 0) {
		ews_error_wrap("cannot read '%s'", path);
		ews_error_hint("correct the file, or move it away");
	}
	return rc;
}

int ews_git_place_read(struct ews_git_place *out, const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(git_place) struct ews_git_place place = EWS_GIT_PLACE_INIT;
	struct reading reading = { .out = &place };
	int rc = read_file(&reading, common_dir, "config");

	/* The config that all work trees share is about the main one, unless each may have one of its own, which then goes over it. */
	if (rc == 0 && reading.has_version && reading.has_own)
		rc = read_file(&reading, git_dir, "config.worktree");
	else if (rc == 0 && (!reading.has_version || strcmp(git_dir, common_dir) != 0))
		return 0;
	if (rc < 0)
		return rc;
	*out = place;
	place = (struct ews_git_place)EWS_GIT_PLACE_INIT;
	return 0;
}

bool ews_git_place_is_bare(const struct ews_git_place *place, const char *common_dir)
{
	EWS_CLEANUP(free) char *index = ews_path_join(common_dir, "index");

	if (place->bare.text || place->worktree.text)
		return place->is_bare;
	return strcmp(ews_path_base(common_dir), EWS_GITFILE) != 0 && access(index, F_OK) < 0 &&
	       ews_errno_is_absent(errno);
}

char *ews_git_place_path(const struct ews_git_place *place, const char *git_dir)
{
	const char *text = place->worktree.text;

	return *text ? ews_path_absolute(git_dir, text) : ews_strdup("");
}

void ews_git_place_release(struct ews_git_place *place)
{
	free(place->bare.text);
	free(place->bare.file);
	free(place->worktree.text);
	free(place->worktree.file);
}
