/*
 * Rules: see rules.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/gitconfig_files.h"
#include "store/home.h"
#include "store/index.h"

/* In the session's directory: what of the rules for ignored files was the user's, and what the repository's. */
#define KEPT_USER "ignore.user"
#define KEPT_INFO "ignore.info"

/* A file of rules by its path, as seen from `top`. Missing is empty, and NULL or "" is how one says that there is none. */
static int read_rules(struct ews_buf *out, const char *top, const char *path)
{
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(free) char *full = NULL;

	if (!path || !*path)
		return 0;
	full = *path == '/' ? ews_strdup(path) : ews_path_join(top, path);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ews_errno_is_passing(errno) ? ews_error_os("cannot open '%s'", full) : 0;
	return ews_file_read_fd(out, fd, EWS_IGNORE_BYTES_MAX) < 0 ? ews_error_wrap("in '%s'", full) : 0;
}

int ews_rules_ignore_text(struct ews_buf *user, struct ews_buf *info, struct ews_repo *repo, const char *top)
{
	EWS_CLEANUP(free) char *info_path = ews_path_join(repo->common_dir, "info/exclude");
	EWS_CLEANUP(free) char *said = NULL;
	EWS_CLEANUP(free) char *user_path = NULL;
	int rc = ews_odb_config_if_set(&said, repo->odb, "core.excludesFile");

	if (rc == 0) {
		user_path = said ? ews_gitconfig_expand(said) : ews_gitconfig_user_path("ignore");
		rc = read_rules(user, top, user_path);
		if (rc < 0 && said)
			ews_error_hint("'git config --show-origin core.excludesFile' says where that file is named");
	}
	if (rc == 0)
		rc = read_rules(info, top, info_path);
	return rc < 0 ? ews_error_wrap("cannot read the rules for ignored files") : 0;
}

int ews_rules_ignore(struct ews_ignore **out, struct ews_repo *repo, const char *top)
{
	return ews_rules_ignore_after(out, repo, top, "");
}

int ews_rules_ignore_after(struct ews_ignore **out, struct ews_repo *repo, const char *top, const char *weakest)
{
	EWS_CLEANUP(buf) struct ews_buf user = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf info = EWS_BUF_INIT;
	bool fold_case;
	int rc = ews_config_git_bool(&fold_case, repo->odb, "core.ignoreCase", false);

	ews_buf_adds(&user, weakest);
	if (rc == 0)
		rc = ews_rules_ignore_text(&user, &info, repo, top);
	if (rc == 0)
		*out = ews_ignore_new(user.ptr, user.len, info.ptr, info.len, fold_case);
	return rc;
}

int ews_rules_ignore_keep(const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf user = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf info = EWS_BUF_INIT;
	int rc = ews_rules_ignore_text(&user, &info, session->repo, session->repo->project);

	if (rc == 0)
		rc = ews_file_replace(session->fd, KEPT_USER, user.len ? user.ptr : "", user.len, 0644);
	return rc < 0 ? rc : ews_file_replace(session->fd, KEPT_INFO, info.len ? info.ptr : "", info.len, 0644);
}

int ews_rules_ignore_kept(struct ews_ignore **out, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf user = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf info = EWS_BUF_INIT;
	struct ews_repo *repo = session->repo;
	bool fold_case;
	int rc = ews_config_git_bool(&fold_case, repo->odb, "core.ignoreCase", false);

	if (rc == 0)
		rc = ews_file_read(&user, session->fd, KEPT_USER, EWS_IGNORE_BYTES_MAX);
	if (rc == 0)
		rc = ews_file_read(&info, session->fd, KEPT_INFO, EWS_IGNORE_BYTES_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return ews_rules_ignore(out, repo, repo->project);
	}
	if (rc == 0)
		*out = ews_ignore_new(user.ptr, user.len, info.ptr, info.len, fold_case);
	return rc;
}

/* Is something on the way from `dir` down to `path` ignored? `rules` hold above `dir`; `is_dir`: of `path` itself. */
static int is_ignored_below(const struct ews_ignore *rules, int root_fd, const char *dir, const char *path,
			    bool is_dir)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = *dir ? ews_dir_open_beneath(root_fd, dir) : fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	EWS_CLEANUP(ignore) struct ews_ignore *own = NULL;
	EWS_CLEANUP(free) char *next = NULL;
	size_t start = *dir ? strlen(dir) + 1 : 0;

	if (fd < 0)
		return fd;
	if (ews_ignore_read(&text, fd, ".gitignore") < 0)
		return ews_error_wrap("in '%s'", dir);
	own = ews_ignore_enter(rules, dir, text.len ? text.ptr : NULL, text.len);
	next = ews_strndup(path, start + strcspn(path + start, "/"));
	if (ews_ignore_match(own, next, is_dir || strcmp(next, path) != 0))
		return 1;
	return strcmp(next, path) ? is_ignored_below(own, root_fd, next, path, is_dir) : 0;
}

static int is_ignored(struct ews_repo *repo, const char *path, bool is_dir)
{
	EWS_CLEANUP(ignore) struct ews_ignore *rules = NULL;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(fd) int root = ews_dir_open(repo->project);
	int rc = root < 0 ? root : ews_rules_ignore(&rules, repo, repo->project);

	if (rc == 0)
		rc = is_ignored_below(rules, root, "", path, is_dir);
	/* Mostly nothing is ignored, and the index need not be read. */
	if (rc <= 0)
		return rc;
	rc = ews_index_read(&index, repo->git_fd, "index", ews_odb_algo(repo->odb));
	return rc < 0 ? rc : !ews_index_has_below(&index, path);
}

int ews_rules_is_ignored(struct ews_repo *repo, const char *path)
{
	return is_ignored(repo, path, true);
}

int ews_rules_is_ignored_file(struct ews_repo *repo, const char *path)
{
	return is_ignored(repo, path, false);
}

int ews_rules_exclude_text(struct ews_buf *out, struct ews_repo *repo, const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv rules = EWS_STRV_INIT;
	int rc = 0;

	if (session)
		ews_buf_adds(out, session->state.exclude ? session->state.exclude : "");
	else
		rc = ews_config_list(&rules, ews_repo_config(repo), "qe.workspace.exclude");
	for (size_t i = 0; i < rules.n; i++)
		ews_buf_addf(out, "%s\n", rules.items[i]);
	return rc;
}

int ews_rules_exclude(struct ews_ignore **out, struct ews_repo *repo, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool fold_case;
	int rc = ews_rules_exclude_text(&text, repo, session);

	if (rc == 0 && text.len)
		rc = ews_config_git_bool(&fold_case, repo->odb, "core.ignoreCase", false);
	if (rc == 0 && text.len)
		*out = ews_ignore_new(text.ptr, text.len, NULL, 0, fold_case);
	return rc;
}

void ews_rules_own(struct ews_strv *out, const struct ews_repo *repo, const char *root)
{
	ews_rules_own_of(out, repo->home, root);
}

void ews_rules_own_of(struct ews_strv *out, const char *home, const char *root)
{
	EWS_CLEANUP(free) char *real = realpath(home, NULL);

	ews_strv_add(out, EWS_OWN_DIR);
	ews_strv_add(out, EWS_TRASH_ELSEWHERE);
	ews_strv_add(out, EWS_SCRATCH);
	if (real && strcmp(real, root) && ews_path_is_inside(real, root))
		ews_strv_add(out, real + strlen(root) + 1);
}
