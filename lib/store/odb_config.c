/*
 * Git's config as a repository sees it, what it says of the repository's format, and whether its owner is trusted.
 *
 * All of this is asked before any room is opened, and read here without a library: see gitconfig_files.h. Where a
 * file includes others, or is none, the room is asked instead.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb.h"
#include "store/odb_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/gitconfig.h"
#include "store/gitconfig_files.h"
#include "store/gitconfig_text.h"
#include "store/gitfile.h"
#include "store/repo_format.h"

#define FILE_BYTES_MAX (16 * EWS_MIB)

/* What is looked for, and the last that was found of it. */
struct search {
	const char *key;
	char *value; /* NULL: nothing yet */
};

static void see(const struct ews_gitconfig_entry *entry, void *payload)
{
	struct search *search = payload;

	if (!ews_gitconfig_is_key(entry->key, search->key))
		return;
	free(search->value);
	search->value = ews_strdup(entry->value ? entry->value : "true");
}

/* Look for `key`. Returns 1 when somebody else has to be asked. */
static int search_for(char **out, const char *key, const char *git_dir, const char *common_dir)
{
	struct search search = { .key = key };

	if (ews_gitconfig_walk(git_dir, common_dir, see, &search) != 0) {
		free(search.value);
		return 1;
	}
	if (!search.value)
		return ews_error(EWS_ENOTFOUND, "no setting '%s'", key);
	*out = search.value;
	return 0;
}

int ews_odb_config_user(char **out, const char *key)
{
	int rc = search_for(out, key, NULL, NULL);

	return rc == 1 ? ews_libgit2_config_user(out, key) : rc;
}

int ews_odb_config(char **out, struct ews_odb *odb, const char *key)
{
	int rc = search_for(out, key, odb->git_dir, odb->common_dir);

	return rc == 1 ? odb->ops->config(out, odb, key) : rc;
}

int ews_odb_config_if_set(char **out, struct ews_odb *odb, const char *key)
{
	int rc = ews_odb_config(out, odb, key);

	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	*out = NULL;
	return 0;
}

/*
 * What core.sharedRepository means; git refuses to work where the owner would be kept out, or it is no such value. See git-init(1),
 * --shared.
 */
static struct ews_sharing parse_sharing(const char *value)
{
	const struct ews_sharing group = { .bits = 0660 }, everybody = { .bits = 0664 };
	bool is_set = false;
	unsigned long bits;
	char *end;

	if (!strcmp(value, "group"))
		return group;
	if (!strcmp(value, "all") || !strcmp(value, "world") || !strcmp(value, "everybody"))
		return everybody;
	bits = strtoul(value, &end, 8);
	if (*end)
		return ews_gitconfig_bool(&is_set, value) && is_set ? group : EWS_SHARING_NONE;
	/* 0, 1 and 2 are from before there were modes. */
	if (bits <= 2)
		return bits == 0 ? EWS_SHARING_NONE : bits == 1 ? group : everybody;
	return (bits & 0600) == 0600 ? (struct ews_sharing){ .bits = bits & 0666, .is_exact = true }
				     : EWS_SHARING_NONE;
}

struct ews_sharing ews_odb_sharing(struct ews_odb *odb)
{
	unsigned known = atomic_load(&odb->sharing);
	EWS_CLEANUP(free) char *value = NULL;
	struct ews_sharing sharing = EWS_SHARING_NONE;

	if (known)
		return (struct ews_sharing){ .bits = known & 0666, .is_exact = known & EWS_ODB_SHARING_EXACT };
	if (ews_odb_config_if_set(&value, odb, "core.sharedRepository") < 0) {
		sharing.os_error = ews_error_errno() ? ews_error_errno() : EIO;
		ews_error_clear();
		return sharing;
	}
	if (value)
		sharing = parse_sharing(value);
	atomic_store(&odb->sharing,
		     EWS_ODB_SHARING_KNOWN | sharing.bits | (sharing.is_exact ? EWS_ODB_SHARING_EXACT : 0));
	return sharing;
}

/* "filter.<name>.clean" or ".process", whatever the name. */
static bool is_filter(const char *key)
{
	const char *last = strrchr(key, '.');

	return ews_str_begins(key, "filter.") && (!strcmp(last, ".clean") || !strcmp(last, ".process"));
}

static void see_filter(const struct ews_gitconfig_entry *entry, void *payload)
{
	enum ews_odb_filters *filters = payload;
	bool is_lfs = entry->value && ews_str_begins(entry->value, "git-lfs ");

	if (is_filter(entry->key) && *filters != EWS_FILTERS_ANY)
		*filters = is_lfs ? EWS_FILTERS_LFS : EWS_FILTERS_ANY;
}

enum ews_odb_filters ews_odb_filters(struct ews_odb *odb)
{
	EWS_CLEANUP(gitconfig) struct ews_gitconfig values = EWS_GITCONFIG_INIT;
	enum ews_odb_filters filters = EWS_FILTERS_NONE;

	if (ews_gitconfig_walk(odb->git_dir, odb->common_dir, see_filter, &filters) == 0)
		return filters;
	filters = EWS_FILTERS_NONE;
	if (ews_gitconfig_find(&values, odb->git_dir, "^filter\\..*\\.(clean|process)$") < 0) {
		ews_error_clear();
		return EWS_FILTERS_ANY;
	}
	for (size_t i = 0; i < values.n; i++)
		see_filter(&(struct ews_gitconfig_entry){ .key = values.items[i].key, .value = values.items[i].text },
			   &filters);
	return filters;
}

/* "remote.<name>.promisor" */
static bool is_promisor(const char *key)
{
	size_t len = strlen(key), tail = strlen(".promisor");

	return len > tail && ews_str_begins(key, "remote.") && !strcmp(key + len - tail, ".promisor");
}

/* What the config says of the format, so far. */
struct format {
	struct ews_odb_format face;
	char *hash, *refs;
	char *worktree; /* or NULL */
	int64_t version; /* below 0: it is no number */
	struct ews_strv unknown;
};

static void release_format(struct format *format)
{
	free(format->hash);
	free(format->refs);
	free(format->worktree);
	ews_strv_release(&format->unknown);
}

EWS_CLEANUP_DEFINE(format, struct format, release_format)

static int see_format(const char *key, const char *value, void *payload)
{
	struct format *format = payload;
	struct ews_odb_format *face = &format->face;
	const char *extension = !ews_str_begins(key, "extensions.") ? NULL : strchr(key, '.') + 1;

	if (!strcmp(key, "core.repositoryformatversion")) {
		if (!ews_gitconfig_int(&format->version, value))
			format->version = -1;
	} else if (!strcmp(key, "core.worktree")) {
		free(format->worktree);
		format->worktree = value ? ews_strdup(value) : NULL;
	} else if (is_promisor(key)) {
		bool is_set = false;

		(void)ews_gitconfig_bool(&is_set, value); /* what is no truth value sets nothing */
		face->is_partial = face->is_partial || is_set;
	} else if (extension && !strcmp(extension, "objectformat")) {
		face->says_hash = true;
		free(format->hash);
		format->hash = ews_strdup(value ? value : "true");
	} else if (extension && !strcmp(extension, "refstorage")) {
		face->says_refs = true;
		free(format->refs);
		format->refs = ews_strdup(value ? value : "true");
	} else if (extension) {
		face->is_partial = face->is_partial || !strcmp(extension, "partialclone");
		if (!ews_repo_format_knows(extension))
			ews_strv_add(&format->unknown, extension);
	}
	return 0;
}

/* Refuse what we don't know. */
static int check_format(struct format *format, const char *name)
{
	if (format->version < 0)
		return ews_error(EWS_EDAMAGED, "'%s': core.repositoryFormatVersion is no number", name);
	if (!strcmp(format->hash, "sha256"))
		format->face.algo = EWS_SHA256;
	else if (strcmp(format->hash, "sha1") != 0)
		return ews_error(EWS_EUNSUPPORTED,
				 "repository '%s' uses object format '%s'; only 'sha1' and 'sha256' are served",
				 name, format->hash);
	if (strcmp(format->refs, "files") != 0)
		return ews_error(EWS_EUNSUPPORTED, "repository '%s' uses ref storage '%s'; only 'files' is served",
				 name, format->refs);
	if (format->version > 1)
		return ews_error(EWS_EUNSUPPORTED,
				 "repository '%s' has format version %d; only versions up to 1 are served", name,
				 (int)format->version);
	/* Git won't open it, and by what ids its objects go nobody can say. */
	if (format->version < 1 && format->face.algo != EWS_SHA1)
		return ews_error(EWS_EUNSUPPORTED,
				 "repository '%s' has format version %d, but object format '%s' needs version 1",
				 name, (int)format->version, format->hash);
	/* In version 0 git takes no notice of extensions that it doesn't know. */
	if (format->version == 1 && format->unknown.n)
		return ews_error(EWS_EUNSUPPORTED, "repository '%s' uses the extension '%s', which isn't known here",
				 name, format->unknown.items[0]);
	return 0;
}

static bool lacks_worktree(const struct format *format, const char *git_dir)
{
	EWS_CLEANUP(free) char *path = format->worktree ? ews_path_absolute(git_dir, format->worktree) : NULL;

	return path && access(path, F_OK) < 0;
}

int ews_odb_read_format(struct ews_odb_format *out, const char *common_dir, const char *name)
{
	EWS_CLEANUP(format)
	struct format format = { .face = { .algo = EWS_SHA1 },
				 .hash = ews_strdup("sha1"),
				 .refs = ews_strdup("files"),
				 .unknown = EWS_STRV_INIT };
	EWS_CLEANUP(free) char *path = ews_path_join(common_dir, "config");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_path(&text, path, FILE_BYTES_MAX);

	if (rc == 0)
		rc = ews_gitconfig_parse(text.ptr, text.len, see_format, &format);
	if (rc < 0)
		return ews_error_wrap("cannot read '%s'", path);
	rc = check_format(&format, name);
	if (rc < 0)
		return rc;
	format.face.lacks_worktree = !strcmp(name, common_dir) && lacks_worktree(&format, common_dir);
	*out = format.face;
	return 0;
}

/* What the work tree has as ".git": the git directory itself, or a file that names it. The caller frees it. */
static int find_dot_git(char **out, const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(free) char *gitfile = NULL;
	int rc = strcmp(git_dir, common_dir) ? ews_gitfile_read_back(&gitfile, git_dir) : 0;

	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	*out = gitfile ? ews_steal(&gitfile) : ews_strdup(git_dir);
	return 0;
}

/* As git sees it: root works for who called sudo, too. What isn't there is nobody else's. Fails where that can't be seen just now. */
static int is_ours(const char *path)
{
	const char *sudo = getenv("SUDO_UID");
	struct stat st;
	char *end;

	if (lstat(path, &st) < 0)
		return ews_errno_is_passing(errno) ? ews_error_os("cannot look at '%s'", path)
						   : ews_errno_is_absent(errno);
	if (st.st_uid == geteuid())
		return true;
	return geteuid() == 0 && sudo && *sudo && strtoul(sudo, &end, 10) == st.st_uid && !*end;
}

int ews_odb_check_owner(const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(free) char *dot_git = NULL;
	EWS_CLEANUP(free) char *top = NULL;
	EWS_CLEANUP(free) char *shown = NULL;
	const char *name;
	int rc = find_dot_git(&dot_git, git_dir, common_dir);

	if (rc < 0)
		return ews_error_wrap("cannot tell whose the work tree of '%s' is", git_dir);
	top = ews_path_dir(dot_git);
	/* The path that git wants to see as safe.directory: the work tree where there is one. */
	name = !strcmp(ews_path_base(dot_git), ".git") ? top : git_dir;
	rc = is_ours(git_dir);
	if (rc > 0)
		rc = is_ours(dot_git);
	if (rc > 0)
		rc = is_ours(name);
	if (rc < 0)
		return rc;
	if (rc || ews_libgit2_is_safe(name))
		return 0;
	shown = ews_shell_shown(name);
	ews_error(EWS_EDENIED, "repository '%s' belongs to another user", name);
	ews_error_hint("if you trust it: git config --global --add safe.directory %s", shown);
	return EWS_EDENIED;
}
