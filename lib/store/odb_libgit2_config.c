/*
 * Git's config files through libgit2: the other half of odb_libgit2.c's room.
 *
 * libgit2 knows neither GIT_CONFIG_GLOBAL and its kin nor config.worktree, and
 * trips over a safe.directory that is gone. So config is read here from the
 * files that git would read, and what a repository says of its format, and
 * whether its owner is trusted, is found out before any room opens it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb_libgit2.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "base/strv.h"
#include "store/odb.h"
#include "store/odb_ops.h"

EWS_CLEANUP_DEFINE(git_buf, git_buf, git_buf_dispose)
EWS_CLEANUP_DEFINE_PTR(git_config, git_config, git_config_free)
EWS_CLEANUP_DEFINE_PTR(git_config_entry, git_config_entry, git_config_entry_free)
EWS_CLEANUP_DEFINE_PTR(git_config_iterator, git_config_iterator, git_config_iterator_free)

int ews_libgit2_fail(int git_rc, enum ews_code dflt, const char *fmt, ...)
{
	int os_error = errno;
	const git_error *last = git_error_last();
	EWS_CLEANUP(buf) struct ews_buf what = EWS_BUF_INIT;
	enum ews_code code = dflt;
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(&what, fmt, args);
	va_end(args);
	switch (git_rc) {
	case GIT_ENOTFOUND:
		code = EWS_ENOTFOUND;
		break;
	case GIT_EEXISTS:
		code = EWS_EEXISTS;
		break;
	case GIT_ELOCKED:
		code = EWS_EBUSY;
		break;
	case GIT_EMODIFIED:
		code = EWS_ESTALE;
		break;
	case GIT_EOWNER:
		code = EWS_EDENIED;
		break;
	default:
		if (last && last->klass == GIT_ERROR_OS && (os_error == ENOSPC || os_error == EDQUOT))
			code = EWS_ENOSPACE;
	}
	if (last && last->message && *last->message)
		return ews_error(code, "%s: %s", what.ptr, last->message);
	return ews_error(code, "%s", what.ptr);
}

/* The environment of git's config: is the system's file left out, and which files stand for the usual ones? */
struct config_files {
	bool has_system;
	const char *system; /* NULL: the usual one */
	const char *global; /* NULL: the usual two */
};

static struct config_files find_config_files(void)
{
	struct config_files files = { true, getenv("GIT_CONFIG_SYSTEM"), getenv("GIT_CONFIG_GLOBAL") };
	const char *no_system = getenv("GIT_CONFIG_NOSYSTEM");
	int is_set = 0;

	if (no_system && *no_system && git_config_parse_bool(&is_set, no_system) == 0 && is_set)
		files.has_system = false;
	return files;
}

/*
 * libgit2 on Mbed TLS, as Debian builds it, parses all certificates of the system when it starts, which takes longer than
 * most verbs do. It is never asked to connect to anything (git does that), so the linker finds this
 * function of the library's here and there are none to parse. A libgit2 on OpenSSL doesn't ask for it.
 */
int mbedtls_x509_crt_parse_file(void *chain, const char *path);
int mbedtls_x509_crt_parse_file(void *chain, const char *path)
{
	(void)chain;
	(void)path;
	return 0;
}

static pthread_once_t started = PTHREAD_ONCE_INIT;

static void start_libgit2(void)
{
	struct config_files files;

	git_libgit2_init();
	git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0); /* ews_odb_check_owner() has looked */
	files = find_config_files();
	/*
	 * libgit2 looks for fixed names in directories; a file that the environment names isn't one. NULL: look
	 * at HOME again, it may have been another one when somebody else in this process started libgit2.
	 */
	git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_SYSTEM,
			 files.has_system && !files.system ? NULL : "");
	git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_GLOBAL, files.global ? "" : NULL);
	git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_XDG, files.global ? "" : NULL);
}

void ews_libgit2_need(void)
{
	pthread_once(&started, start_libgit2);
}

static int add_config_file(git_config *config, const char *path, git_config_level_t level, git_repository *repo)
{
	int rc;

	/* A file that isn't there or that we may not see says nothing, as for git. */
	if (access(path, R_OK) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	rc = git_config_add_file_ondisk(config, path, level, repo, 1);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read '%s'", path);
	return 0;
}

typedef int (*find_config_fn)(git_buf *out);

static int add_usual_config(git_config *config, find_config_fn find, git_config_level_t level, git_repository *repo)
{
	EWS_CLEANUP(git_buf) git_buf path = GIT_BUF_INIT;

	if (find(&path) < 0)
		return 0;
	return add_config_file(config, path.ptr, level, repo);
}

/* The system's and the user's config; `repo` (may be NULL) is what conditional includes are about. */
static int add_user_config(git_config *config, git_repository *repo)
{
	struct config_files files = find_config_files();
	int rc = 0;

	if (files.has_system && files.system)
		rc = add_config_file(config, files.system, GIT_CONFIG_LEVEL_SYSTEM, repo);
	else if (files.has_system)
		rc = add_usual_config(config, git_config_find_system, GIT_CONFIG_LEVEL_SYSTEM, repo);
	if (rc < 0)
		return rc;
	if (files.global)
		return add_config_file(config, files.global, GIT_CONFIG_LEVEL_GLOBAL, repo);
	rc = add_usual_config(config, git_config_find_xdg, GIT_CONFIG_LEVEL_XDG, repo);
	if (rc < 0)
		return rc;
	return add_usual_config(config, git_config_find_global, GIT_CONFIG_LEVEL_GLOBAL, repo);
}

static int read_config(char **out, git_config *config, const char *key)
{
	EWS_CLEANUP(git_config_entry) git_config_entry *entry = NULL;
	int rc;

	rc = git_config_get_entry(&entry, config, key);
	if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC)
		return ews_error(EWS_ENOTFOUND, "no setting '%s'", key);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read the setting '%s'", key);
	*out = ews_strdup(entry->value ? entry->value : "true");
	return 0;
}

int ews_odb_config_user(char **out, const char *key)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	int rc;

	ews_libgit2_need();
	rc = git_config_new(&config);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read the user's git config");
	rc = add_user_config(config, NULL);
	if (rc < 0)
		return rc;
	return read_config(out, config, key);
}

/* Those whose meaning is honoured: see ews_odb_config(), ews_odb_missing(), and that nothing here prunes. */
static bool is_known_extension(const char *name)
{
	static const char *const known[] = { "noop", "worktreeconfig", "partialclone", "preciousobjects" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i]))
			return true;
	return false;
}

/* "remote.<name>.promisor" */
static bool is_promisor(const char *key)
{
	size_t len = strlen(key), tail = strlen(".promisor");

	return len > tail && !strncmp(key, "remote.", strlen("remote.")) && !strcmp(key + len - tail, ".promisor");
}

int ews_odb_read_format(struct ews_odb_format *out, const char *common_dir, const char *name)
{
	struct ews_odb_format format = { .algo = EWS_SHA1 };
	EWS_CLEANUP(free) char *path = ews_path_join(common_dir, "config");
	EWS_CLEANUP(git_config) git_config *config = NULL;
	EWS_CLEANUP(git_config_iterator) git_config_iterator *iter = NULL;
	git_config_entry *entry;
	EWS_CLEANUP(strv) struct ews_strv unknown = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *hash = ews_strdup("sha1");
	EWS_CLEANUP(free) char *refs = ews_strdup("files");
	int rc, version = 0;

	ews_libgit2_need();
	rc = git_config_open_ondisk(&config, path);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read '%s'", path);
	rc = git_config_iterator_new(&iter, config);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read '%s'", path);
	while ((rc = git_config_next(&entry, iter)) == 0) {
		const char *value = entry->value ? entry->value : "true";

		if (entry->include_depth > 0)
			continue;
		if (!strcmp(entry->name, "core.repositoryformatversion")) {
			if (git_config_parse_int32(&version, value) < 0)
				return ews_error(EWS_EDAMAGED, "'%s': core.repositoryFormatVersion is no number",
						 path);
		} else if (!strcmp(entry->name, "extensions.objectformat")) {
			format.says_hash = true;
			free(hash);
			hash = ews_strdup(value);
		} else if (!strcmp(entry->name, "extensions.refstorage")) {
			format.says_refs = true;
			free(refs);
			refs = ews_strdup(value);
		} else if (!strncmp(entry->name, "extensions.", strlen("extensions."))) {
			const char *extension = entry->name + strlen("extensions.");

			format.is_partial = format.is_partial || !strcmp(extension, "partialclone");
			if (!is_known_extension(extension))
				ews_strv_add(&unknown, extension);
		} else if (is_promisor(entry->name)) {
			int is_set = 0;

			(void)git_config_parse_bool(&is_set, value); /* what is no truth value sets nothing */
			format.is_partial = format.is_partial || is_set;
		}
	}
	if (rc != GIT_ITEROVER)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read '%s'", path);

	if (!strcmp(hash, "sha256"))
		format.algo = EWS_SHA256;
	else if (strcmp(hash, "sha1") != 0)
		return ews_error(EWS_EUNSUPPORTED,
				 "repository '%s' uses object format '%s'; only 'sha1' and 'sha256' are served",
				 name, hash);
	if (strcmp(refs, "files") != 0)
		return ews_error(EWS_EUNSUPPORTED, "repository '%s' uses ref storage '%s'; only 'files' is served",
				 name, refs);
	if (version > 1)
		return ews_error(EWS_EUNSUPPORTED,
				 "repository '%s' has format version %d; only versions up to 1 are served", name,
				 version);
	/* Git won't open it, and by what ids its objects go nobody can say. */
	if (version < 1 && format.algo != EWS_SHA1)
		return ews_error(EWS_EUNSUPPORTED,
				 "repository '%s' has format version %d, but object format '%s' needs version 1",
				 name, version, hash);
	/* In version 0 git takes no notice of extensions that it doesn't know. */
	if (version == 1 && unknown.n)
		return ews_error(EWS_EUNSUPPORTED, "repository '%s' uses the extension '%s', which isn't known here",
				 name, unknown.items[0]);
	*out = format;
	return 0;
}

/* What the work tree has as ".git": the git directory itself, or a file that names it. The caller frees it. */
static char *find_dot_git(const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(free) char *file = ews_path_join(git_dir, "gitdir");
	EWS_CLEANUP(buf) struct ews_buf link = EWS_BUF_INIT;

	if (strcmp(git_dir, common_dir) != 0 && ews_file_read(&link, AT_FDCWD, file, 64 * EWS_KIB) == 0) {
		ews_buf_rtrim(&link);
		return ews_strdup(link.ptr);
	}
	ews_error_clear();
	return ews_strdup(git_dir);
}

/* As git sees it: root works for who called sudo, too. What isn't there is nobody else's. */
static bool is_ours(const char *path)
{
	const char *sudo = getenv("SUDO_UID");
	struct stat st;
	char *end;

	if (lstat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	if (st.st_uid == geteuid())
		return true;
	return geteuid() == 0 && sudo && *sudo && strtoul(sudo, &end, 10) == st.st_uid && !*end;
}

struct safe_search {
	const char *name;
	bool is_safe;
};

static int see_safe_directory(const git_config_entry *entry, void *payload)
{
	struct safe_search *search = payload;
	EWS_CLEANUP(git_buf) git_buf path = GIT_BUF_INIT;
	const char *value = entry->value ? entry->value : "";
	size_t len;

	if (!*value) {
		search->is_safe = false;
		return 0;
	}
	if (!strcmp(value, "*")) {
		search->is_safe = true;
		return 0;
	}
	if (git_config_parse_path(&path, value) < 0)
		return 0;
	len = strlen(path.ptr);
	while (len > 1 && path.ptr[len - 1] == '/')
		len--;
	if (strlen(search->name) == len && !memcmp(search->name, path.ptr, len))
		search->is_safe = true;
	return 0;
}

/* Does the user's config, as git finds it, name the repository as safe? */
static bool is_safe_directory(const char *name)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	struct safe_search search = { name, false };

	if (git_config_new(&config) < 0 || add_user_config(config, NULL) < 0)
		return false;
	if (git_config_get_multivar_foreach(config, "safe.directory", NULL, see_safe_directory, &search) < 0)
		return false;
	return search.is_safe;
}

int ews_odb_check_owner(const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(free) char *dot_git = find_dot_git(git_dir, common_dir);
	EWS_CLEANUP(free) char *top = ews_path_dir(dot_git);
	bool has_top = !strcmp(ews_path_base(dot_git), ".git");
	/* The path that git wants to see as safe.directory: the work tree where there is one. */
	const char *name = has_top ? top : git_dir;

	ews_libgit2_need();
	if ((is_ours(git_dir) && is_ours(dot_git) && is_ours(name)) || is_safe_directory(name))
		return 0;
	ews_error(EWS_EDENIED, "repository '%s' belongs to another user", name);
	ews_error_hint("if you trust it: git config --global --add safe.directory '%s'", name);
	return EWS_EDENIED;
}

static int open_config(git_config **out, git_repository *repo, const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	EWS_CLEANUP(free) char *shared = ews_path_join(common_dir, "config");
	EWS_CLEANUP(free) char *own = ews_path_join(git_dir, "config.worktree");
	int rc, has_own = 0;

	rc = git_config_new(&config);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read the git config");
	rc = add_user_config(config, repo);
	if (rc < 0)
		return rc;
	rc = add_config_file(config, shared, GIT_CONFIG_LEVEL_LOCAL, repo);
	if (rc < 0)
		return rc;
	if (git_config_get_bool(&has_own, config, "extensions.worktreeconfig") == 0 && has_own) {
		rc = add_config_file(config, own, GIT_CONFIG_LEVEL_APP, repo);
		if (rc < 0)
			return rc;
	}
	*out = ews_steal(&config);
	return 0;
}

int ews_libgit2_config(char **out, git_repository *repo, const char *git_dir, const char *common_dir, const char *key)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	int rc = open_config(&config, repo, git_dir, common_dir);

	return rc < 0 ? rc : read_config(out, config, key);
}

char *ews_odb_library(void)
{
	int major, minor, revision;

	git_libgit2_version(&major, &minor, &revision);
	return ews_strfmt("libgit2 %d.%d.%d", major, minor, revision);
}
