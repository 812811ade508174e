/*
 * Tripwire: see tripwire.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire.h"

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
#include "base/path.h"
#include "base/str.h"
#include "store/index_digest.h"
#include "store/reflog.h"
#include "work/tripwire_line.h"
#include "work/tripwire_told.h"

#define TRIPWIRE_FILE "tripwire"
#define WATCHED_BYTES_MAX (2 * EWS_GIB)

/* What stands in it, a file or a link; nothing of what is gone, or is neither. */
static int read_watched(struct ews_buf *out, int dir_fd, const char *name, const struct stat *st)
{
	int rc;

	if (S_ISLNK(st->st_mode)) {
		ews_buf_reserve(out, (size_t)st->st_size + 1);
		if (readlinkat(dir_fd, name, out->ptr, (size_t)st->st_size + 1) == st->st_size)
			out->len = (size_t)st->st_size;
		out->ptr[out->len] = '\0';
		return 0;
	}
	if (!S_ISREG(st->st_mode))
		return 0;
	rc = ews_file_read(out, dir_fd, name, WATCHED_BYTES_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc;
}

/* What is looked at, and where copies go; below 0: nowhere. */
struct look {
	struct ews_tripwire *out;
	int keep_fd;
	enum ews_hash_algo algo; /* of the ids that the index has */
};

/* Git writes the index anew when it has but looked at files: what counts is what it says. */
static bool is_index(const char *place, const char *name)
{
	return !*place && !strcmp(name, EWS_TRIPWIRE_INDEX);
}

/* The digest of a file, which need not be in memory: an index may be large. Of one that is gone it is that of nothing. */
static int digest_file(uint8_t *out, const struct look *look, int dir_fd, const char *place, const char *name)
{
	int rc = is_index(place, name) ? ews_index_digest(out, dir_fd, name, look->algo, WATCHED_BYTES_MAX)
				       : ews_file_digest(out, EWS_SHA256, dir_fd, name, WATCHED_BYTES_MAX);

	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	ews_hash_once(EWS_SHA256, out, "", 0);
	return 0;
}

/* The digest of what stands there, which is in `data` then. */
static int digest_read(uint8_t *out, struct ews_buf *data, const struct look *look, int dir_fd, const char *place,
		       const char *name, const struct stat *st)
{
	int rc = read_watched(data, dir_fd, name, st);

	if (rc < 0)
		return rc;
	if (S_ISREG(st->st_mode) && is_index(place, name))
		ews_index_digest_bytes(out, data->ptr, data->len, look->algo);
	else
		ews_hash_once(EWS_SHA256, out, data->ptr, data->len);
	return 0;
}

/* The directory for copies from `place`, which is "" or ends in a slash. */
static int open_keep(int keep_fd, const char *place)
{
	EWS_CLEANUP(free) char *dir = *place ? ews_strndup(place, strlen(place) - 1) : ews_strdup(".");
	int rc = *place ? ews_dir_make(keep_fd, dir, 0700) : 0;

	return rc < 0 ? rc : ews_dir_open_beneath(keep_fd, dir);
}

/* A regular file or a link, as it was read. Not synced: it serves a command that is running. */
static int keep_copy(int keep_fd, const char *place, const char *name, const struct ews_buf *data,
		     const struct stat *st)
{
	const struct timespec times[2] = { st->st_mtim, st->st_mtim };
	EWS_CLEANUP(fd) int dir_fd = -1;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
		return 0;
	dir_fd = open_keep(keep_fd, place);
	if (dir_fd < 0)
		return dir_fd;
	if (S_ISLNK(st->st_mode)) {
		rc = symlinkat(data->ptr, dir_fd, name);
	} else {
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		rc = fd < 0 || ews_file_write_fd(fd, data->ptr, data->len) < 0 || fchmod(fd, st->st_mode & 07777) < 0
			     ? -1
			     : 0;
	}
	if (rc < 0 || utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot keep a copy of '%s'", name);
	return 0;
}

/* "<place><escaped name> <sha256>:<mode>" of one file; nothing when there is none. */
static int add_file(const struct look *look, int dir_fd, const char *place, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];
	struct stat st;
	int rc;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : ews_error_os("cannot look at '%s'", name);
	rc = S_ISREG(st.st_mode) && look->keep_fd < 0 ? digest_file(digest, look, dir_fd, place, name)
						      : digest_read(digest, &data, look, dir_fd, place, name, &st);
	if (rc < 0)
		return rc;
	ews_hex(hex, digest, 32);
	ews_path_escape(&escaped, name, strlen(name));
	ews_strv_addf(&look->out->lines, "%s%s %s:%o", place, escaped.ptr, hex, (unsigned)st.st_mode);
	return look->keep_fd < 0 ? 0 : keep_copy(look->keep_fd, place, name, &data, &st);
}

/* git gc writes this list of the refs anew, for servers that can't list them. */
static bool is_derived(const char *place, const char *name)
{
	return !strcmp(place, "info/") && !strcmp(name, "refs");
}

static int add_dir(const struct look *look, int git_fd, const char *dir)
{
	EWS_CLEANUP(free) char *place = ews_strfmt("%s/", dir);
	EWS_CLEANUP(fd) int fd = openat(git_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot open '%s'", dir);
	n = ews_dir_names_read(&names, fd);
	for (ssize_t i = 0; i < n && rc == 0; i++)
		if (!is_derived(place, names.items[i].name))
			rc = add_file(look, fd, place, names.items[i].name);
	return n < 0 ? (int)n : rc;
}

/* The ref is the latest of them; the others are in its log. */
static int add_stashes(struct ews_tripwire *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv list = EWS_STRV_INIT;
	int rc = ews_reflog_list(&list, repo->odb, EWS_TRIPWIRE_STASH_REF);

	for (size_t i = 0; i < list.n; i++)
		ews_strv_addf(&out->lines, EWS_TRIPWIRE_STASH "%0*zu %s", EWS_TRIPWIRE_STASH_DIGITS, list.n - 1 - i,
			      list.items[i]);
	return rc;
}

/* Where history ends. Whole history has a line, too: a tripwire of old has none, and nobody knows then. */
static int add_shallow(const struct look *look, struct ews_repo *repo)
{
	size_t n = look->out->lines.n;
	int rc = add_file(look, repo->common_fd, "", EWS_TRIPWIRE_SHALLOW);

	if (rc == 0 && look->out->lines.n == n)
		ews_strv_add(&look->out->lines, EWS_TRIPWIRE_SHALLOW " none:0");
	return rc;
}

static int add_refs(struct ews_tripwire *out, struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list_but(&refs, repo->odb, "refs/", "refs/ews/");

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < refs.n && rc == 0; i++) {
		const struct ews_ref *ref = &refs.items[i];
		char hex[EWS_OID_HEX_MAX];

		if (!strcmp(ref->name, EWS_TRIPWIRE_STASH_REF))
			rc = add_stashes(out, repo);
		ews_strv_addf(&out->lines, "ref %s %s%s", ref->name, ref->target ? EWS_TRIPWIRE_SYMBOLIC : "",
			      ref->target ? ref->target : ews_oid_hex(hex, &ref->oid));
	}
	return rc;
}

static int take(const struct look *look, struct ews_repo *repo)
{
	int rc;

	/* Before and after the refs: of one that is moved meanwhile both places are told, wherever it was found. */
	ews_tripwire_read_told(&look->out->told, repo);
	rc = add_refs(look->out, repo);
	if (rc == 0)
		ews_tripwire_read_told(&look->out->told, repo);
	if (rc == 0)
		rc = add_file(look, repo->git_fd, "", "HEAD");
	if (rc == 0)
		rc = add_file(look, repo->git_fd, "", EWS_TRIPWIRE_INDEX);
	if (rc == 0)
		rc = add_file(look, repo->common_fd, "", "config");
	if (rc == 0)
		rc = add_file(look, repo->git_fd, "", "config.worktree");
	if (rc == 0)
		rc = add_dir(look, repo->common_fd, "hooks");
	if (rc == 0)
		rc = add_dir(look, repo->common_fd, "info");
	if (rc == 0)
		rc = add_shallow(look, repo);
	if (rc < 0)
		return ews_error_wrap("cannot look at the project's state");
	/* Once refs and index were looked at: what is committed and staged meanwhile is told after it was. */
	ews_tripwire_read_staged(&look->out->staged, repo);
	ews_tripwire_read_moves(&look->out->moves, repo);
	ews_tripwire_sort(&look->out->lines);
	return 0;
}

int ews_tripwire_take(struct ews_tripwire *out, struct ews_repo *repo)
{
	return take(&(struct look){ out, -1, ews_odb_algo(repo->odb) }, repo);
}

int ews_tripwire_take_keeping(struct ews_tripwire *out, struct ews_repo *repo, int keep_fd)
{
	return take(&(struct look){ out, keep_fd, ews_odb_algo(repo->odb) }, repo);
}

/* The line about `name`, or NULL. */
static char **find_line(const struct ews_tripwire *tripwire, const char *name)
{
	for (size_t i = 0; i < tripwire->lines.n; i++)
		if (ews_tripwire_name_len(tripwire->lines.items[i]) == strlen(name) &&
		    ews_str_begins(tripwire->lines.items[i], name))
			return &tripwire->lines.items[i];
	return NULL;
}

const char *ews_tripwire_find(const struct ews_tripwire *tripwire, const char *name)
{
	char **line = find_line(tripwire, name);

	return line ? *line + strlen(name) + 1 : NULL;
}

/* Is it about something else than `payload`? */
static bool is_of_another(void *payload, const char *line)
{
	return ews_tripwire_name_len(line) != strlen(payload) || !ews_str_begins(line, payload);
}

void ews_tripwire_set(struct ews_tripwire *tripwire, const char *name, const char *value)
{
	EWS_CLEANUP(free) char *of = ews_strdup(name);

	ews_strv_filter(&tripwire->lines, is_of_another, of);
	if (!value)
		return;
	ews_strv_addf(&tripwire->lines, "%s %s", name, value);
	ews_tripwire_sort(&tripwire->lines);
}

bool ews_tripwire_follow(struct ews_tripwire *kept, const struct ews_tripwire *before,
			 const struct ews_tripwire *after)
{
	static const char *const files[] = { "config", "config.worktree" };
	bool changed = false;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char **was = find_line(before, files[i]), **is = find_line(after, files[i]);
		char **known = find_line(kept, files[i]);

		if (!was || !is || !known || strcmp(*known, *was) || !strcmp(*was, *is))
			continue;
		free(*known);
		*known = ews_strdup(*is);
		changed = true;
	}
	return changed;
}

int ews_tripwire_take_index(struct ews_tripwire *out, struct ews_repo *repo)
{
	return add_file(&(struct look){ out, -1, ews_odb_algo(repo->odb) }, repo->git_fd, "", EWS_TRIPWIRE_INDEX);
}

int ews_tripwire_write(int session_fd, const struct ews_tripwire *tripwire)
{
	return ews_tripwire_write_lines(session_fd, TRIPWIRE_FILE, &tripwire->lines);
}

int ews_tripwire_read(struct ews_tripwire *out, int session_fd)
{
	return ews_tripwire_read_lines(&out->lines, session_fd, TRIPWIRE_FILE);
}

void ews_tripwire_release(struct ews_tripwire *tripwire)
{
	ews_strv_release(&tripwire->lines);
	ews_strv_release(&tripwire->told);
	ews_strv_release(&tripwire->staged);
	ews_strv_release(&tripwire->moves);
}
