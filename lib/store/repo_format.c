/*
 * Repository formats: see repo_format.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/repo_format.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/gitconfig_text.h"

#define EXTENSIONS "extensions."
#define VERSION "core.repositoryformatversion"

/* Extensions that change nothing of what is read here, beside those of any version: in version 0 they are an error. */
static const char *const version_1[] = { "noop-v1", "relativeworktrees", "submodulepathconfig", NULL };

struct format {
	int64_t version;
	bool has_late; /* an extension that version 0 can't have */
	bool has_other; /* something that makes it another repository, or none */
	enum ews_hash_algo algo;
	int git_fd;
};

bool ews_repo_format_knows(const char *name)
{
	static const char *const any_version[] = { "noop", "preciousobjects", "partialclone", "worktreeconfig", NULL };

	return ews_str_is_any(name, any_version);
}

static void take_extension(struct format *format, const char *name, const char *value)
{
	if (ews_repo_format_knows(name))
		return;
	format->has_late = true;
	if (!strcmp(name, "objectformat") && value)
		format->algo = !strcmp(value, "sha256") ? EWS_SHA256 : !strcmp(value, "sha1") ? EWS_SHA1 : EWS_MD5;
	else if (!ews_str_is_any(name, version_1) &&
		 !(value && !strcmp(name, "refstorage") && !strcmp(value, "files")))
		format->has_other = true;
}

/* Is it the directory around the git directory, from where git sees a relative one? */
static bool is_around(int git_fd, const char *work_tree)
{
	struct stat named, around;

	return work_tree && fstatat(git_fd, work_tree, &named, 0) == 0 && fstatat(git_fd, "..", &around, 0) == 0 &&
	       ews_file_is_same(&named, &around);
}

static int take(const char *key, const char *value, void *payload)
{
	struct format *format = payload;
	const char *extension = ews_str_after(key, EXTENSIONS);
	bool is_bare;

	if (extension)
		take_extension(format, extension, value);
	else if (!strcmp(key, VERSION))
		format->has_other = format->has_other || !ews_gitconfig_int(&format->version, value ? value : "");
	else if (!strcmp(key, "core.bare"))
		format->has_other = format->has_other || !ews_gitconfig_bool(&is_bare, value) || is_bare;
	else if (!strcmp(key, "core.worktree"))
		format->has_other = format->has_other || !is_around(format->git_fd, value);
	return 0;
}

bool ews_repo_format_is_plain(const char *text, size_t len, enum ews_hash_algo algo, int git_fd)
{
	struct format format = { .algo = EWS_SHA1, .git_fd = git_fd };

	if (ews_gitconfig_parse(text, len, take, &format) < 0) {
		ews_error_clear();
		return false;
	}
	return !format.has_other && format.algo == algo &&
	       (format.version == 1 || (!format.version && !format.has_late));
}
