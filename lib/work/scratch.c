/*
 * Scratch: see scratch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path_line.h"
#include "store/home.h"
#include "store/put.h"
#include "work/rules.h"
#include "work/session_place.h"

#define ARCHIVE ".scratch_archive"
#define UNFINISHED ".new-"
#define IGNORE_FILE ".gitignore"
#define IGNORE_ALL "*\n"
#define NAME_LEN_MAX 64

void ews_scratch_archived_release(struct ews_scratch_archived *archived)
{
	free(archived->name);
	ews_strv_release(&archived->left_out);
	*archived = (struct ews_scratch_archived)EWS_SCRATCH_ARCHIVED_INIT;
}

int ews_scratch_make(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int workspace = ews_session_open_workspace(session);
	EWS_CLEANUP(fd) int fd = -1;
	bool is_new;
	int rc = 0;

	if (workspace < 0)
		return workspace;
	is_new = faccessat(workspace, EWS_SCRATCH, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
	if (is_new)
		rc = ews_dir_make_as_owner(workspace, EWS_SCRATCH "/verification", 0777);
	if (rc == 0)
		rc = fd = ews_dir_open_beneath(workspace, EWS_SCRATCH);
	if (rc < 0) {
		ews_error_wrap("cannot make '%s/" EWS_SCRATCH "'", session->state.workspace);
		ews_error_hint("something else stands there: move it away");
		return EWS_EDENIED;
	}
	rc = is_new ? ews_file_replace(fd, IGNORE_FILE, IGNORE_ALL, strlen(IGNORE_ALL), 0644) : 0;
	return rc < 0 ? rc : is_new;
}

/* Our own file is not what somebody put there. */
static bool has_our_rules(int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool is_ours = ews_file_read(&text, fd, IGNORE_FILE, 2 * strlen(IGNORE_ALL)) == 0 &&
		       !strcmp(text.ptr, IGNORE_ALL);

	ews_error_clear();
	return is_ours;
}

/* All that is in the directory, with attributes; `with_ids`: and with what identifies contents. */
static int look(struct ews_scan *out, struct ews_session *session, int fd, bool with_ids)
{
	const char *const own[] = { has_our_rules(fd) ? IGNORE_FILE : NULL, NULL };
	const struct ews_scan_opts opts = { .root_fd = fd,
					    .with_ignored = true,
					    .is_plain = true,
					    .with_repositories = true,
					    .own = own,
					    .may_chmod = true };
	const struct ews_scan_fill_opts fill = { .odb = session->repo->odb,
						 .attrs_only = !with_ids,
						 .may_chmod = true };
	int rc = ews_scan(out, &opts);

	return rc < 0 ? rc : ews_scan_fill(out, &fill);
}

/* Does it hold more than the empty directories that were there at first? */
static bool has_content(const struct ews_scan *scan)
{
	for (size_t i = 0; i < scan->entries.n; i++)
		if (scan->entries.items[i].type != EWS_ENTRY_DIR)
			return true;
	return false;
}

static int open_archive(struct ews_repo *repo, const char *team, bool make)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_ROUNDS "/%s/" ARCHIVE, team);

	return make ? ews_repo_subdir(repo, rel) : ews_dir_open_own(repo->dir_fd, rel);
}

/* Is the archive `name` a copy of what `session`'s scratch holds now? */
static bool is_same(struct ews_session *session, int archive, const char *name, int fd)
{
	EWS_CLEANUP(scan) struct ews_scan now = EWS_SCAN_INIT;
	EWS_CLEANUP(scan) struct ews_scan then = EWS_SCAN_INIT;
	EWS_CLEANUP(fd) int there = *name ? ews_dir_open_beneath(archive, name) : -1;
	char now_hash[EWS_TREE_HASH_LEN], then_hash[EWS_TREE_HASH_LEN];
	bool same = there >= 0 && look(&now, session, fd, true) == 0 && look(&then, session, there, true) == 0;

	ews_error_clear();
	if (!same)
		return false;
	ews_manifest_hash(now_hash, &now.entries);
	ews_manifest_hash(then_hash, &then.entries);
	return !strcmp(now_hash, then_hash);
}

/* What its modes keep from us is no reason for a round to go on for ever. */
static void leave_out_closed(struct ews_scratch_archived *out, struct ews_changes *changes, int from)
{
	size_t n = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_change *change = &changes->items[i];

		if (change->to->type == EWS_ENTRY_FILE && faccessat(from, change->path, R_OK, AT_EACCESS) < 0)
			ews_path_line_add(&out->left_out, change->path, ews_skip_word(EWS_SKIP_UNREADABLE));
		else
			changes->items[n++] = *change;
	}
	changes->n = n;
}

static int copy(struct ews_scratch_archived *out, struct ews_session *session, struct ews_scan *scan, int from, int to)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries nothing = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	const struct ews_put_opts put = {
		.root_fd = to, .odb = session->repo->odb, .source_fd = from, .times = EWS_PUT_TIMES_KEEP
	};
	int rc;

	for (size_t i = 0; i < scan->skips.n; i++)
		if (scan->skips.items[i].reason != EWS_SKIP_OWN)
			ews_path_line_add(&out->left_out, scan->skips.items[i].path,
					  ews_skip_word(scan->skips.items[i].reason));
	ews_changes_between(&changes, &nothing, &scan->entries, ews_entry_equal);
	leave_out_closed(out, &changes, from);
	rc = ews_put(&report, &changes, &put);
	if (rc > 0) {
		const char *line = report.failed.items[0];

		return ews_error(EWS_EIO, "cannot archive scratch: '%.*s': %s", (int)strcspn(line, "\t"), line,
				 ews_path_line_words(line));
	}
	return rc < 0 ? ews_error_wrap("cannot archive scratch") : ews_file_sync_dir(to);
}

/* A directory's name that leads nowhere and hides nothing, whatever the label is. */
static char *make_safe(const char *name)
{
	char *safe = ews_strndup(name, NAME_LEN_MAX);

	for (char *c = safe; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c) ||
		    (*c == '.' && c == safe))
			*c = '-';
	return safe;
}

/* Give the finished copy the first name that is free. */
static int settle(char **out, int archive, const char *unfinished, const char *name)
{
	for (unsigned n = 1;; n++) {
		EWS_CLEANUP(free) char *free_name = n == 1 ? ews_strdup(name) : ews_strfmt("%s-%u", name, n);
		int rc = ews_file_rename_new(archive, unfinished, archive, free_name);

		if (rc == EWS_EEXISTS) {
			ews_error_clear();
			continue;
		}
		if (rc == 0)
			rc = ews_file_sync_dir(archive);
		if (rc < 0)
			return ews_error_wrap("cannot archive scratch");
		*out = ews_steal(&free_name);
		return 0;
	}
}

static int archive_from(struct ews_scratch_archived *out, struct ews_session *session, int archive,
			const char *name, int from)
{
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	EWS_CLEANUP(free) char *unfinished = ews_strfmt(UNFINISHED "%s", session->state.id);
	EWS_CLEANUP(free) char *safe = make_safe(name);
	EWS_CLEANUP(fd) int to = -1;
	int rc = look(&scan, session, from, false);

	if (rc < 0 || !has_content(&scan))
		return rc;
	rc = ews_file_remove_tree(archive, unfinished);
	if (rc == 0 && mkdirat(archive, unfinished, 0700) < 0)
		rc = ews_error_os("cannot archive scratch");
	if (rc == 0)
		rc = to = ews_dir_open_beneath(archive, unfinished);
	if (rc >= 0)
		rc = copy(out, session, &scan, from, to);
	return rc < 0 ? rc : settle(&out->name, archive, unfinished, safe);
}

int ews_scratch_archive(struct ews_scratch_archived *out, struct ews_session *session, const char *team,
			const char *name, const char *before)
{
	EWS_CLEANUP(scratch_archived) struct ews_scratch_archived made = EWS_SCRATCH_ARCHIVED_INIT;
	EWS_CLEANUP(fd) int workspace = ews_session_open_workspace(session);
	EWS_CLEANUP(fd) int from = workspace < 0 ? -1 : ews_dir_open_beneath(workspace, EWS_SCRATCH);
	EWS_CLEANUP(fd) int archive = -1;
	int rc;

	if (workspace < 0)
		return workspace;
	/* Taken away, or something that may lead elsewhere put in its place. */
	if (from < 0) {
		ews_error_clear();
		if (faccessat(workspace, EWS_SCRATCH, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			ews_path_line_add(&out->left_out, EWS_SCRATCH, "no directory");
		return 0;
	}
	archive = open_archive(session->repo, team, true);
	if (archive < 0)
		return archive;
	if (is_same(session, archive, before, from))
		made.name = ews_strdup(before);
	rc = made.name ? 0 : archive_from(&made, session, archive, name, from);
	if (rc < 0)
		return rc;
	*out = made;
	made = (struct ews_scratch_archived)EWS_SCRATCH_ARCHIVED_INIT;
	return 0;
}

int ews_scratch_remove(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int workspace = ews_session_open_workspace(session);

	return workspace < 0 ? workspace : ews_file_remove_tree(workspace, EWS_SCRATCH);
}

int ews_scratch_remove_unused(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int workspace = ews_session_open_workspace(session);
	EWS_CLEANUP(fd) int fd = workspace < 0 ? -1 : ews_dir_open_beneath(workspace, EWS_SCRATCH);

	if (workspace < 0)
		return workspace;
	if (fd < 0)
		return ews_error_if_passing(fd);
	(void)unlinkat(fd, "verification", AT_REMOVEDIR);
	if (has_our_rules(fd))
		(void)unlinkat(fd, IGNORE_FILE, 0);
	(void)unlinkat(workspace, EWS_SCRATCH, AT_REMOVEDIR); /* best effort: what is in it keeps it */
	return 0;
}

struct archived {
	const char *name;
	struct timespec time;
};

static int cmp_newest_first(const void *a, const void *b)
{
	const struct archived *x = a, *y = b;

	if (x->time.tv_sec != y->time.tv_sec)
		return x->time.tv_sec < y->time.tv_sec ? 1 : -1;
	if (x->time.tv_nsec != y->time.tv_nsec)
		return x->time.tv_nsec < y->time.tv_nsec ? 1 : -1;
	return strcmp(x->name, y->name);
}

int ews_scratch_list(struct ews_strv *out, struct ews_repo *repo, const char *team)
{
	EWS_CLEANUP(fd) int fd = repo->dir ? open_archive(repo, team, false) : EWS_ENOTFOUND;
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(free) struct archived *list = NULL;
	size_t n_listed = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return ews_error_if_passing(fd) < 0 ? ews_error_wrap("cannot look for archived scratch") : 0;
	n = ews_dir_names_read(&names, fd);
	list = ews_calloc(n > 0 ? (size_t)n : 1, sizeof(*list));
	for (ssize_t i = 0; i < n; i++) {
		if (*names.items[i].name == '.')
			continue;
		if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			list[n_listed++] = (struct archived){ names.items[i].name, st.st_ctim };
		else if (!ews_errno_is_absent(errno))
			return ews_error_os("cannot look at the archived scratch '%s'", names.items[i].name);
	}
	if (n_listed)
		qsort(list, n_listed, sizeof(*list), cmp_newest_first);
	for (size_t i = 0; i < n_listed; i++)
		ews_strv_addf(out, "%s/" EWS_WORKING_ROUNDS "/%s/" ARCHIVE "/%s", repo->dir, team, list[i].name);
	return n < 0 ? ews_error_wrap("cannot look for archived scratch") : 0;
}

void ews_scratch_sweep(struct ews_repo *repo, const char *team, const char *id)
{
	EWS_CLEANUP(fd) int fd = open_archive(repo, team, false);
	EWS_CLEANUP(free) char *unfinished = ews_strfmt(UNFINISHED "%s", id);

	if (fd >= 0)
		(void)ews_file_remove_tree(fd, unfinished); /* best effort: the next sweep finds it again */
	ews_error_clear();
}
