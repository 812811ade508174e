/*
 * Stale: see stale.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/stale.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "work/epoch.h"
#include "work/session_project.h"
#include "work/snapshot.h"

#define READ_LEN (64 * 1024)
#define FILES_TOLD 3

/* The directory that was looked into last: entries come sorted, so that it is mostly the next one's, too. */
struct walk {
	const struct ews_repo *project;
	int64_t since_s; /* what changed in that second or later changed after the start */
	bool is_of_project; /* the times of the base that are older than that are those that the project's files had */
	int project_fd;
	char *dir; /* relative; NULL: none yet */
	int dir_fd; /* -1: it is gone */
};

static void release_walk(struct walk *walk)
{
	free(walk->dir);
	if (walk->dir_fd >= 0)
		close(walk->dir_fd);
	if (walk->project_fd >= 0)
		close(walk->project_fd);
}

EWS_CLEANUP_DEFINE(walk, struct walk, release_walk)

/* Go to the directory of `path`; no link is followed on the way. Fails where it can't be looked into just now. */
static int go_to(struct walk *walk, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (walk->dir && strlen(walk->dir) == len && !strncmp(walk->dir, path, len))
		return 0;
	free(walk->dir);
	if (walk->dir_fd >= 0)
		close(walk->dir_fd);
	walk->dir = ews_strndup(path, len);
	walk->dir_fd = ews_dir_open_beneath(walk->project_fd, len ? walk->dir : ".");
	/* Of any other reason: what lay in it is gone. */
	return walk->dir_fd < 0 ? ews_error_if_passing(walk->dir_fd) : 0;
}

/* A start from a commit leaves the project's files as they were, which may be others: what is older changed before. */
static bool is_since_start(const struct walk *walk, const struct stat *st)
{
	return st->st_ctim.tv_sec >= walk->since_s;
}

/*
 * It is older than the start; is it yet another file than the one that was there? A directory that was moved here brings such. What
 * start made of a commit is as young as the start, and says nothing of the project's.
 */
static bool is_another(const struct walk *walk, const struct ews_entry *entry, const struct stat *st)
{
	return walk->is_of_project && entry->has_time && entry->mtime_s < walk->since_s &&
	       (st->st_mtim.tv_sec != entry->mtime_s || (uint32_t)st->st_mtim.tv_nsec != entry->mtime_ns);
}

/* What isn't there went when the directory that it would be in changed last. */
static bool went_since_start(const struct walk *walk, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	struct stat st;

	for (;;) {
		char *slash = strrchr(at, '/');

		if (!slash)
			return fstat(walk->project_fd, &st) == 0 && is_since_start(walk, &st);
		*slash = '\0';
		if (fstatat(walk->project_fd, at, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return is_since_start(walk, &st);
	}
}

static int hash_link(struct ews_hash *hash, int dir_fd, const char *name, size_t size)
{
	EWS_CLEANUP(free) char *text = ews_malloc(size + 1);
	ssize_t n = readlinkat(dir_fd, name, text, size + 1);

	if (n < 0 || (size_t)n != size)
		return -1;
	ews_hash_add(hash, text, size);
	return 0;
}

static int hash_file(struct ews_hash *hash, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	EWS_CLEANUP(free) char *data = ews_malloc(READ_LEN);
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, data, READ_LEN)) > 0)
		ews_hash_add(hash, data, (size_t)n);
	return n < 0 ? -1 : 0;
}

/*
 * Does `name` hold what `entry` has, which is as long? 1, 0, or an error where we lack what it takes to look. What else can't be
 * read counts as another.
 */
static int has_content(const struct walk *walk, const char *name, const struct ews_entry *entry)
{
	struct ews_hash *hash = ews_hash_new(ews_odb_algo(walk->project->odb));
	char header[EWS_OBJECT_HEADER_MAX];
	struct ews_oid oid = EWS_OID_NONE;
	int rc, why;

	ews_hash_add(hash, header, ews_object_header(header, EWS_OBJECT_BLOB, entry->size));
	rc = entry->type == EWS_ENTRY_LINK ? hash_link(hash, walk->dir_fd, name, entry->size)
					   : hash_file(hash, walk->dir_fd, name);
	why = errno;
	oid.len = (uint8_t)ews_hash_finish(hash, oid.id);
	ews_hash_free(hash);
	if (rc < 0 && ews_errno_is_ours(why)) {
		errno = why;
		return ews_error_os("cannot read '%s'", entry->path);
	}
	return rc == 0 && ews_oid_equal(&oid, &entry->oid);
}

/* 1, 0, or an error. */
static int has_changed(struct walk *walk, const struct ews_entry *entry)
{
	const char *name = ews_path_base(entry->path);
	struct ews_entry now = { .path = entry->path };
	struct stat st;
	int rc = go_to(walk, entry->path);

	if (rc < 0)
		return rc;
	if (walk->dir_fd < 0 || fstatat(walk->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (walk->dir_fd >= 0 && ews_errno_is_passing(errno))
			return ews_error_os("cannot look at '%s'", entry->path);
		return went_since_start(walk, entry->path);
	}
	if (!is_since_start(walk, &st) && !is_another(walk, entry, &st))
		return 0;
	ews_entry_set_stat(&now, &st);
	if (now.type != entry->type || now.size != entry->size ||
	    ews_entry_git_mode(&now) != ews_entry_git_mode(entry))
		return 1;
	/* Its mtime says nothing: somebody may have set it back, as cp -p and unpackers do. */
	rc = has_content(walk, name, entry);
	return rc < 0 ? rc : !rc;
}

/* Did it start from another commit than the project was at? */
static bool starts_elsewhere(const struct ews_stale *stale, const struct ews_session *session)
{
	char hex[EWS_OID_HEX_MAX];

	return !ews_oid_is_none(&stale->head_before) &&
	       strcmp(ews_oid_hex(hex, &stale->head_before), session->state.base_commit) != 0;
}

static int look_at_files(struct ews_stale *out, const struct ews_session *session, const struct ews_repo *project,
			 const struct ews_entries *base)
{
	bool is_elsewhere = starts_elsewhere(out, session);
	/* What differs from the start on is told from what changed since by its time, a whole second. */
	EWS_CLEANUP(walk)
	struct walk walk = { .project = project,
			     .since_s = session->state.created_s + is_elsewhere,
			     .is_of_project = !is_elsewhere && !*session->state.parent_snapshot,
			     .project_fd = ews_dir_open(project->project),
			     .dir_fd = -1 };

	if (walk.project_fd < 0)
		return walk.project_fd;
	for (size_t i = 0; i < base->n; i++) {
		const struct ews_entry *entry = &base->items[i];
		bool is_told = entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK;
		int rc = is_told ? has_changed(&walk, entry) : 0;

		if (rc < 0)
			return rc;
		if (rc > 0)
			ews_strv_add(&out->files, entry->path);
	}
	return 0;
}

/* Which commit `tripwire` says that the branch was at; `out` is left alone when it says none. */
static void find_branch(struct ews_oid *out, const struct ews_tripwire *tripwire, const char *branch)
{
	EWS_CLEANUP(free) char *line = ews_strfmt("ref refs/heads/%s", branch);
	const char *hex = ews_tripwire_find(tripwire, line);

	if (hex && ews_oid_parse(out, hex) < 0)
		ews_error_clear();
}

static int look_at_head(struct ews_stale *out, const struct ews_session *session, struct ews_repo *project,
			const struct ews_tripwire *before, const struct ews_tripwire *now)
{
	const char *was = ews_tripwire_find(before, "HEAD"), *is = ews_tripwire_find(now, "HEAD");
	const char *branch = session->state.branch;
	int rc;

	if (*branch)
		find_branch(&out->head_before, before, branch);
	rc = ews_odb_find_head(&out->head_now, project->odb);
	if (rc < 0)
		return rc;
	/* A branch is known by name. Where HEAD names a commit itself, its text says whether it is another. */
	out->has_head_moved = *branch ? !ews_oid_equal(&out->head_before, &out->head_now)
				      : (was == NULL) != (is == NULL) || (was && strcmp(was, is) != 0);
	return 0;
}

/* Then HEAD and files are what they were: that is what the epoch is about. */
static bool is_same_epoch(const struct ews_session *session, int64_t epoch)
{
	return epoch >= 0 && session->state.epoch == epoch;
}

int ews_stale_look(struct ews_stale *out, struct ews_session *session, const struct ews_entries *base,
		   const struct ews_tripwire *before, const struct ews_tripwire *now, int64_t epoch)
{
	struct ews_repo *project;
	int rc;

	if (session->method->is_project)
		return 0;
	rc = ews_session_project(&project, session);
	if (rc < 0)
		return rc;
	/* Of a work tree that GIT_WORK_TREE alone named nothing is seen from here: the epoch is that of the store. */
	if (project->is_bare && strcmp(project->project, session->state.project) != 0)
		return 0;
	out->epoch_before = session->state.epoch;
	out->epoch_now = epoch;
	if (is_same_epoch(session, epoch))
		return 0;
	if (!project->is_plain)
		rc = look_at_head(out, session, project, before, now);
	return rc < 0 || project->is_bare ? rc : look_at_files(out, session, project, base);
}

int ews_stale_find(struct ews_stale *out, struct ews_session *session, const struct ews_entries *base,
		   struct ews_epoch_looking *looking)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire now = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	struct ews_repo *project;
	int64_t epoch = -1;
	int rc;

	if (session->method->is_project && !session->is_lost)
		return 0;
	rc = ews_session_project(&project, session);
	if (rc == 0)
		rc = ews_epoch_look_end(&epoch, project, looking);
	if (rc == 0 && !base && !is_same_epoch(session, epoch)) {
		rc = ews_snapshot_base(&snapshot, session);
		if (rc == 0)
			rc = ews_snapshot_content(&content, session->repo, &snapshot);
	}
	if (rc == 0 && !is_same_epoch(session, epoch)) {
		rc = ews_tripwire_read(&before, session->fd);
		if (rc == 0)
			rc = ews_tripwire_take(&now, project);
	}
	return rc < 0 ? rc : ews_stale_look(out, session, base ? base : &content.scan.entries, &before, &now, epoch);
}

static bool has_epoch_risen(const struct ews_stale *stale)
{
	return stale->epoch_before >= 0 && stale->epoch_now > stale->epoch_before;
}

bool ews_stale_is(const struct ews_stale *stale)
{
	return stale->has_head_moved || stale->files.n || has_epoch_risen(stale);
}

void ews_stale_reasons(struct ews_strv *out, const struct ews_stale *stale, size_t n_named)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	char from[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];
	size_t n = stale->files.n;

	if (stale->has_head_moved && !ews_oid_is_none(&stale->head_before) && !ews_oid_is_none(&stale->head_now))
		ews_strv_addf(out, "HEAD moved from %.10s to %.10s", ews_oid_hex(from, &stale->head_before),
			      ews_oid_hex(to, &stale->head_now));
	else if (stale->has_head_moved)
		ews_strv_add(out, "HEAD moved");
	/* For what it says no more than these. */
	if (!n && !stale->has_head_moved && has_epoch_risen(stale))
		ews_strv_addf(out, "the project changed: its epoch went from %" PRId64 " to %" PRId64,
			      stale->epoch_before, stale->epoch_now);
	if (!n)
		return;
	ews_buf_addf(&line, "%zu file%s of the base changed in the project: ", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n && i < n_named; i++) {
		ews_buf_adds(&line, i ? ", " : "");
		ews_path_quote(&line, stale->files.items[i]);
	}
	ews_buf_adds(&line, n > n_named ? ", ..." : "");
	ews_strv_add(out, line.ptr);
}

void ews_stale_tell(struct ews_strv *reasons, struct ews_session *session, const struct ews_entries *base,
		    struct ews_epoch_looking *looking)
{
	EWS_CLEANUP(stale) struct ews_stale stale = EWS_STALE_INIT;

	if (ews_stale_find(&stale, session, base, looking) < 0) {
		ews_strv_addf(reasons, "whether the project has gone on can't be told: %s", ews_error_message());
		ews_error_clear();
	}
	ews_stale_reasons(reasons, &stale, FILES_TOLD);
}

void ews_stale_release(struct ews_stale *stale)
{
	ews_strv_release(&stale->files);
}
