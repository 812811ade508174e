/*
 * Git's config files through libgit2: the other half of odb_libgit2.c's room.
 *
 * It is asked where a file includes others; the rest is odb_config.c's. libgit2 knows
 * neither GIT_CONFIG_GLOBAL and its kin nor config.worktree, and trips over a
 * safe.directory that is gone: so it is given the files that git would read.
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
#include "base/path.h"
#include "base/strv.h"
#include "store/gitconfig_files.h"
#include "store/odb.h"
#include "store/odb_ops.h"

EWS_CLEANUP_DEFINE(git_buf, git_buf, ews_git2.git_buf_dispose)
EWS_GIT2_CLEANUP(git_config)
EWS_GIT2_CLEANUP(git_config_entry)

/*
 * Which errno, of those that speak of us, the disk or a permission, libgit2 met, or 0: by the words at the end of its own, of which
 * `*len` are left. errno it sets back, and its code says "locked" of what may not be opened, and nothing of all others.
 */
static int find_errno(size_t *len, const char *message)
{
	static const int known[] = { EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS };
	const size_t all = strlen(message);

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char reason[128];
		EWS_CLEANUP(free)
		char *end = ews_strfmt(": %s", strerror_r(known[i], reason, sizeof(reason)));

		*len = all - strlen(end);
		if (all > strlen(end) && !strcmp(message + *len, end))
			return known[i];
	}
	*len = all;
	return 0;
}

int ews_libgit2_fail(int git_rc, enum ews_code dflt, const char *fmt, ...)
{
	const git_error *last = ews_git2.git_error_last();
	const char *message = last && last->message ? last->message : "";
	EWS_CLEANUP(buf) struct ews_buf what = EWS_BUF_INIT;
	enum ews_code code = dflt;
	size_t len;
	int os_error = find_errno(&len, message);
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(&what, fmt, args);
	va_end(args);
	errno = os_error ? os_error : ews_libgit2_unread;
	ews_libgit2_unread = 0;
	if (os_error)
		return ews_error_os("%s: %.*s", what.ptr, (int)len, message);
	if (errno)
		return ews_error_os("%s", what.ptr);
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
		break;
	}
	return ews_error(code, "%s%s%s", what.ptr, *message ? ": " : "", message);
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

struct ews_git2 ews_git2;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_started;

static int start_libgit2(void)
{
	static const char *const names[] = { EWS_GIT2_FUNCTIONS(EWS_DL_NAME) };
	struct ews_gitconfig_places files;

	int rc = ews_dl_load(&ews_git2, EWS_LIBGIT2, names, sizeof(names) / sizeof(*names));

	if (rc < 0)
		return rc;
	ews_git2.git_libgit2_init();
	ews_git2.git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	ews_git2.git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	ews_git2.git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0); /* ews_odb_check_owner() has looked */
	files = ews_gitconfig_find_places();
	/*
	 * libgit2 looks for fixed names in directories; a file that the environment names isn't one. NULL: look
	 * at HOME again, it may have been another one when somebody else in this process started libgit2.
	 */
	ews_git2.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_SYSTEM,
				  files.has_system && !files.system ? NULL : "");
	ews_git2.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_GLOBAL, files.global ? "" : NULL);
	ews_git2.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_XDG, files.global ? "" : NULL);
	return 0;
}

int ews_libgit2_need(void)
{
	int rc = 0;

	pthread_mutex_lock(&start_lock);
	if (!has_started)
		rc = start_libgit2();
	has_started = rc == 0;
	pthread_mutex_unlock(&start_lock);
	return rc;
}

static int add_config_file(git_config *config, const char *path, git_config_level_t level, git_repository *repo)
{
	int rc;

	/* A file that isn't there or that we may not see says nothing, as for git. */
	if (access(path, R_OK) < 0 && (ews_errno_is_absent(errno) || errno == EACCES))
		return 0;
	rc = ews_git2.git_config_add_file_ondisk(config, path, level, repo, 1);
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
	struct ews_gitconfig_places files = ews_gitconfig_find_places();
	int rc = 0;

	if (files.has_system && files.system)
		rc = add_config_file(config, files.system, GIT_CONFIG_LEVEL_SYSTEM, repo);
	else if (files.has_system)
		rc = add_usual_config(config, ews_git2.git_config_find_system, GIT_CONFIG_LEVEL_SYSTEM, repo);
	if (rc < 0)
		return rc;
	if (files.global)
		return add_config_file(config, files.global, GIT_CONFIG_LEVEL_GLOBAL, repo);
	rc = add_usual_config(config, ews_git2.git_config_find_xdg, GIT_CONFIG_LEVEL_XDG, repo);
	if (rc < 0)
		return rc;
	return add_usual_config(config, ews_git2.git_config_find_global, GIT_CONFIG_LEVEL_GLOBAL, repo);
}

static int read_config(char **out, git_config *config, const char *key)
{
	EWS_CLEANUP(git_config_entry) git_config_entry *entry = NULL;
	int rc;

	rc = ews_git2.git_config_get_entry(&entry, config, key);
	if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC)
		return ews_error(EWS_ENOTFOUND, "no setting '%s'", key);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read the setting '%s'", key);
	*out = ews_strdup(entry->value ? entry->value : "true");
	return 0;
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
	if (ews_git2.git_config_parse_path(&path, value) < 0)
		return 0;
	len = strlen(path.ptr);
	while (len > 1 && path.ptr[len - 1] == '/')
		len--;
	if (strlen(search->name) == len && !memcmp(search->name, path.ptr, len))
		search->is_safe = true;
	return 0;
}

bool ews_libgit2_is_safe(const char *name)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	struct safe_search search = { name, false };

	if (ews_libgit2_need() < 0 || ews_git2.git_config_new(&config) < 0 || add_user_config(config, NULL) < 0)
		return false;
	if (ews_git2.git_config_get_multivar_foreach(config, "safe.directory", NULL, see_safe_directory, &search) < 0)
		return false;
	return search.is_safe;
}

int ews_libgit2_config_user(char **out, const char *key)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	int rc = ews_libgit2_need();

	if (rc < 0)
		return rc;
	rc = ews_git2.git_config_new(&config);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read the user's git config");
	rc = add_user_config(config, NULL);
	return rc < 0 ? rc : read_config(out, config, key);
}

static int open_config(git_config **out, git_repository *repo, const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	EWS_CLEANUP(free) char *shared = ews_path_join(common_dir, "config");
	EWS_CLEANUP(free) char *own = ews_path_join(git_dir, "config.worktree");
	int rc, has_own = 0;

	rc = ews_git2.git_config_new(&config);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_ECONFIG, "cannot read the git config");
	rc = add_user_config(config, repo);
	if (rc < 0)
		return rc;
	rc = add_config_file(config, shared, GIT_CONFIG_LEVEL_LOCAL, repo);
	if (rc < 0)
		return rc;
	if (ews_git2.git_config_get_bool(&has_own, config, "extensions.worktreeconfig") == 0 && has_own) {
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

	if (ews_libgit2_need() < 0) {
		ews_error_clear();
		return ews_strdup("libgit2, which can't be loaded");
	}
	ews_git2.git_libgit2_version(&major, &minor, &revision);
	return ews_strfmt("libgit2 %d.%d.%d", major, minor, revision);
}
