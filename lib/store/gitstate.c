/*
 * Git state: see gitstate.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitstate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "store/gitconfig_text.h"

#define INDEX_BYTES_MAX (2 * EWS_GIB)
#define FILE_BYTES_MAX (64 * EWS_MIB)
#define COMPARED_BYTES (64 * EWS_KIB)
#define LOCK_WAIT_MS 500
#define KEPT_NS 100 /* of a time, on file systems that come from elsewhere */
#define CONFIG "config.worktree"
#define WORKTREE "core.worktree"
#define INFO "info"

/* Those that lie in the git directory itself. */
static const char *const carried[] = {
	"HEAD",     "ORIG_HEAD",  CONFIG,       "MERGE_HEAD",       "MERGE_MSG",   "MERGE_MODE",
	"MERGE_RR", "AUTO_MERGE", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", NULL,
};

/* What goes to no other place. Of these the head of a cherry-pick or of a revert is carried, as one file says all. */
static const char *const under_way[] = {
	"rebase-merge",
	"rebase-apply",
	"sequencer",
	"CHERRY_PICK_HEAD",
	"REVERT_HEAD",
	"REBASE_HEAD",
	"BISECT_LOG",
	"BISECT_START",
	"BISECT_NAMES",
	"BISECT_TERMS",
	"BISECT_EXPECTED_REV",
	"BISECT_ANCESTORS_OK",
	"BISECT_RUN",
	"BISECT_HEAD",
	"BISECT_FIRST_PARENT",
	"MERGE_AUTOSTASH",
	EWS_INDEX_LOCK,
	"HEAD.lock",
	NULL,
};

static bool same_bytes(const struct ews_buf *a, const struct ews_buf *b)
{
	return a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

static bool is_shared_index(const char *name)
{
	return ews_str_begins(name, "sharedindex.");
}

bool ews_gitstate_is_of_index(const char *name)
{
	return !strcmp(name, "index") || is_shared_index(name);
}

static bool is_carried(const char *name)
{
	return ews_str_is_any(name, carried) || is_shared_index(name);
}

static void take_index_stat(struct ews_gitstate *out, const struct stat *st)
{
	out->has_index = true;
	out->index_mtime_s = st->st_mtim.tv_sec;
	out->index_mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
}

/*
 * Is that the time of its index, as far as a file system keeps it? Some cut it to 100 ns, others to a second. It is earlier then, so
 * that git's racy check is but more careful.
 */
static bool is_index_time(const struct ews_gitstate *state, int64_t s, uint32_t ns)
{
	return state->index_mtime_s == s &&
	       (ns == state->index_mtime_ns || ns == state->index_mtime_ns / KEPT_NS * KEPT_NS || ns == 0);
}

bool ews_gitstate_may_have_index(const struct ews_gitstate *state, const struct stat *st)
{
	return state->has_index && S_ISREG(st->st_mode) && (uint64_t)st->st_size == state->index.len &&
	       is_index_time(state, st->st_mtim.tv_sec, (uint32_t)st->st_mtim.tv_nsec);
}

/* Does the file have these bytes, and no more? */
static bool has_bytes(int fd, const struct ews_buf *bytes)
{
	EWS_CLEANUP(free) char *data = ews_malloc(COMPARED_BYTES);
	size_t at = 0;
	ssize_t n;

	while ((n = pread(fd, data, COMPARED_BYTES, (off_t)at)) > 0) {
		if ((size_t)n > bytes->len - at || memcmp(data, bytes->ptr + at, (size_t)n) != 0)
			return false;
		at += (size_t)n;
	}
	return n == 0 && at == bytes->len;
}

bool ews_gitstate_has_index(const struct ews_gitstate *state, int git_fd)
{
	EWS_CLEANUP(fd) int fd = openat(git_fd, "index", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && ews_gitstate_may_have_index(state, &st) &&
	       has_bytes(fd, &state->index);
}

void ews_gitstate_note_index(struct ews_gitstate *out, int git_fd)
{
	struct stat st;

	if (fstatat(git_fd, "index", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		take_index_stat(out, &st);
}

int ews_gitstate_read_index(struct ews_gitstate *out, int git_fd)
{
	EWS_CLEANUP(fd) int fd = openat(git_fd, "index", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int rc;

	/* A link, a socket or whatever else somebody put there is no index of ours to follow. */
	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot open the index");
	if (!S_ISREG(st.st_mode))
		return 0;
	rc = ews_file_read_fd(&out->index, fd, INDEX_BYTES_MAX);
	if (rc < 0)
		return ews_error_wrap("cannot read the index");
	take_index_stat(out, &st);
	return 0;
}

/* Where `name` is, or belongs. */
static size_t find_at(const struct ews_gitstate_files *files, const char *name)
{
	size_t at = 0;

	while (at < files->n && strcmp(files->items[at].name, name) < 0)
		at++;
	return at;
}

static const struct ews_gitstate_file *find(const struct ews_gitstate_files *files, const char *name)
{
	size_t at = find_at(files, name);

	return at < files->n && !strcmp(files->items[at].name, name) ? &files->items[at] : NULL;
}

static void set(struct ews_gitstate_files *files, const char *name, const void *data, size_t len)
{
	size_t at = find_at(files, name);

	if (at == files->n || strcmp(files->items[at].name, name)) {
		EWS_GROW(files->items, files->n, files->cap);
		memmove(&files->items[at + 1], &files->items[at], (files->n - at) * sizeof(*files->items));
		files->items[at] = (struct ews_gitstate_file){ ews_strdup(name), EWS_BUF_INIT };
		files->n++;
	}
	ews_buf_truncate(&files->items[at].data, 0);
	ews_buf_add(&files->items[at].data, data, len);
}

static void drop(struct ews_gitstate_files *files, const char *name)
{
	size_t at = find_at(files, name);

	if (at == files->n || strcmp(files->items[at].name, name) != 0)
		return;
	free(files->items[at].name);
	ews_buf_release(&files->items[at].data);
	files->n--;
	memmove(&files->items[at], &files->items[at + 1], (files->n - at) * sizeof(*files->items));
}

static void release_files(struct ews_gitstate_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->items[i].name);
		ews_buf_release(&files->items[i].data);
	}
	free(files->items);
	*files = (struct ews_gitstate_files){ NULL, 0, 0 };
}

const struct ews_gitstate_file *ews_gitstate_file(const struct ews_gitstate *state, const char *name)
{
	return find(&state->files, name);
}

void ews_gitstate_set_file(struct ews_gitstate *state, const char *name, const void *data, size_t len)
{
	set(&state->files, name, data, len);
}

void ews_gitstate_set_head(struct ews_gitstate *state, const struct ews_oid *head)
{
	char hex[EWS_OID_HEX_MAX];
	EWS_CLEANUP(free) char *text = ews_strfmt("%s\n", ews_oid_hex(hex, head));

	ews_gitstate_set_file(state, "HEAD", text, strlen(text));
}

int ews_gitstate_detach(struct ews_gitstate *state, const struct ews_oid *head)
{
	static const char *const of_the_place[] = { WORKTREE, "core.bare", NULL };
	const struct ews_gitstate_file *config = ews_gitstate_file(state, CONFIG);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = config ? ews_gitconfig_add_but(&text, config->data.ptr, config->data.len, of_the_place) : 0;

	if (rc < 0)
		return ews_error_wrap("'" CONFIG "'");
	if (config)
		ews_gitstate_set_file(state, CONFIG, text.ptr, text.len);
	for (const char *const *name = under_way; *name; name++)
		drop(&state->files, *name);
	ews_gitstate_set_head(state, head);
	return 0;
}

/* The last word on core.worktree; the caller frees it. */
static int take_worktree(const char *key, const char *value, void *payload)
{
	char **out = payload;

	if (!ews_gitconfig_is_key(key, WORKTREE))
		return 0;
	free(*out);
	*out = ews_strdup(value ? value : "");
	return 0;
}

/* NULL: the text doesn't say, as far as it is one. The caller frees it. */
static char *find_worktree(const struct ews_buf *text)
{
	char *found = NULL;

	if (ews_gitconfig_parse(text->ptr, text->len, take_worktree, &found) < 0)
		ews_error_clear();
	return found;
}

/* Does the path, as seen from the git directory, lead there? */
static bool leads_to(int git_fd, const char *path, int root_fd)
{
	struct stat found, root;

	return fstatat(git_fd, path, &found, 0) == 0 && fstat(root_fd, &root) == 0 && ews_file_is_same(&found, &root);
}

/* Does `config` say where the work tree is? That of a linked worktree lies elsewhere, and git takes nothing from it to there. */
static bool config_says_worktree(int git_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *worktree = NULL;

	if (ews_file_read(&text, git_fd, "config", FILE_BYTES_MAX) < 0) {
		ews_error_clear();
		return true;
	}
	worktree = find_worktree(&text);
	return worktree != NULL;
}

void ews_gitstate_keep_worktree(struct ews_gitstate *state, const struct ews_gitstate *now, int git_fd, int root_fd)
{
	const struct ews_gitstate_file *is = ews_gitstate_file(now, CONFIG);
	const struct ews_gitstate_file *was = ews_gitstate_file(state, CONFIG);
	EWS_CLEANUP(free) char *worktree = is ? find_worktree(&is->data) : NULL;
	EWS_CLEANUP(free) char *before = was ? find_worktree(&was->data) : NULL;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (!worktree || before || !leads_to(git_fd, worktree, root_fd) || config_says_worktree(git_fd))
		return;
	if (was)
		ews_buf_add(&text, was->data.ptr, was->data.len);
	if (text.len && text.ptr[text.len - 1] != '\n')
		ews_buf_addc(&text, '\n');
	ews_gitconfig_add(&text, WORKTREE, worktree);
	ews_gitstate_set_file(state, CONFIG, text.ptr, text.len);
}

const struct ews_gitstate_file *ews_gitstate_left(const struct ews_gitstate *state, const char *name)
{
	return find(&state->left, name);
}

void ews_gitstate_set_left(struct ews_gitstate *state, const char *name, const void *data, size_t len)
{
	set(&state->left, name, data, len);
}

void ews_gitstate_drop_left(struct ews_gitstate *state, const char *name)
{
	drop(&state->left, name);
}

void ews_gitstate_forget_left(struct ews_gitstate *state)
{
	release_files(&state->left);
}

static void add_stat(struct ews_buf *out, const struct stat *st)
{
	ews_buf_addf(out, "%o %" PRIu64 " %" PRId64 ".%09ld\n", st->st_mode & S_IFMT, (uint64_t)st->st_size,
		     (int64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

/* Of a directory that of what is in it as well: git writes into the files of a rebase, and renames others into their place. */
static int add_stats_within(struct ews_buf *out, int git_fd, const char *name)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(git_fd, name);
	ssize_t n = fd < 0 ? fd : ews_dir_names_read(&names, fd);
	struct stat st;

	for (ssize_t i = 0; i < n; i++) {
		if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			ews_buf_addf(out, "%s ", names.items[i].name);
			add_stat(out, &st);
		} else if (!ews_errno_is_absent(errno)) {
			return ews_error_os("cannot look at '%s/%s'", name, names.items[i].name);
		}
	}
	return n < 0 ? ews_error_if_passing((int)n) : 0; /* what may not be read has its own time */
}

static const char *word_of(const struct stat *st)
{
	return S_ISDIR(st->st_mode) ? "directory" : S_ISREG(st->st_mode) ? "file" : "other";
}

/* One that can't be looked at just now is neither gone nor another. */
static int note_left(struct ews_gitstate *state, int git_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf stats = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *text = NULL;
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];
	struct stat st;
	int rc;

	if (fstatat(git_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (!ews_errno_is_absent(errno))
			return ews_error_os("cannot look at '%s'", name);
		ews_gitstate_drop_left(state, name);
		return 0;
	}
	add_stat(&stats, &st);
	rc = S_ISDIR(st.st_mode) ? add_stats_within(&stats, git_fd, name) : 0;
	if (rc < 0)
		return rc;
	ews_hex(hex, digest, ews_hash_once(EWS_SHA256, digest, stats.ptr, stats.len));
	text = ews_strfmt("%s %s\n", word_of(&st), hex);
	set(&state->left, name, text, strlen(text));
	return 0;
}

bool ews_gitstate_is_same_left(const struct ews_gitstate_file *a, const struct ews_gitstate_file *b)
{
	return same_bytes(&a->data, &b->data);
}

bool ews_gitstate_is_name(const char *name)
{
	return is_carried(name) || ews_str_is_any(name, under_way) || !strcmp(name, "index");
}

bool ews_gitstate_is_under_way(const char *name)
{
	return ews_str_is_any(name, under_way);
}

bool ews_gitstate_is_lock(const char *name)
{
	return !strcmp(name, EWS_INDEX_LOCK) || !strcmp(name, "HEAD.lock");
}

bool ews_gitstate_outwait_lock(int git_fd, const char *name)
{
	uint64_t deadline = ews_clock_monotonic_ms() + LOCK_WAIT_MS;
	bool is_there;

	while ((is_there = faccessat(git_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) &&
	       ews_clock_monotonic_ms() < deadline && !ews_index_lock_is_old(git_fd, name))
		ews_clock_sleep_ms(5);
	return !is_there;
}

const char *ews_gitstate_why_left(const struct ews_gitstate_file *left)
{
	if (ews_str_is_any(left->name, under_way))
		return "under way";
	return left->data.len && ews_str_begins(left->data.ptr, "file ") ? "too large" : "no file";
}

/* What old git made a link of: it means the ref that it names. Returns 1 when HEAD is one. */
static int read_linked_head(struct ews_gitstate *out, int git_fd)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(git_fd, "HEAD", target, sizeof(target));
	EWS_CLEANUP(free) char *text = NULL;

	if (len < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : ews_error_os("cannot read HEAD");
	text = ews_strfmt("ref: %.*s\n", (int)len, target);
	ews_gitstate_set_file(out, "HEAD", text, strlen(text));
	return 1;
}

int ews_gitstate_read(struct ews_gitstate *out, int git_fd)
{
	int rc = ews_gitstate_read_index(out, git_fd);

	return rc < 0 ? rc : ews_gitstate_read_files(out, git_fd);
}

/*
 * The patterns of a sparse checkout. They say what of the index is not in the work tree, so they go with it. What is no file, or
 * can't be reached, says nothing; what can't be read just now may say something.
 */
static int read_sparse(struct ews_gitstate *out, int git_fd)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int info = ews_dir_open_beneath(git_fd, INFO);
	int rc = info < 0 ? info : ews_file_read(&data, info, EWS_GITSTATE_SPARSE, FILE_BYTES_MAX);

	if (rc < 0)
		return ews_error_if_passing(rc);
	ews_gitstate_set_file(out, EWS_GITSTATE_SPARSE, data.ptr, data.len);
	return 0;
}

/* What can't be written, since something else stands in its way, is found by whoever looks whether all is back. */
static int write_sparse(const struct ews_buf *data, int git_fd, struct ews_sharing sharing)
{
	EWS_CLEANUP(fd) int info = -1;
	int rc = ews_dir_make_shared(git_fd, INFO, sharing);

	if (rc == 0)
		rc = info = ews_dir_open_beneath(git_fd, INFO);
	if (rc >= 0)
		rc = ews_file_replace_shared(info, EWS_GITSTATE_SPARSE, data->ptr, data->len, sharing, NULL);
	if (rc >= 0 || rc == EWS_ENOSPACE)
		return rc < 0 ? rc : 0;
	ews_error_clear();
	return 0;
}

/* One of the files; what is none, or too large, is noted. */
static int read_one(struct ews_gitstate *out, int git_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	int rc = strcmp(name, "HEAD") ? 0 : read_linked_head(out, git_fd);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = ews_file_read(&data, git_fd, name, is_shared_index(name) ? INDEX_BYTES_MAX : FILE_BYTES_MAX);
	if (rc == 0)
		ews_gitstate_set_file(out, name, data.ptr, data.len);
	if (rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	return note_left(out, git_fd, name);
}

int ews_gitstate_note(struct ews_gitstate *state, int git_fd, const char *name)
{
	if (!is_carried(name))
		return note_left(state, git_fd, name);
	ews_gitstate_drop_left(state, name);
	return read_one(state, git_fd, name);
}

/* Of the index only what stands in its place is noted. */
static int note_index_place(struct ews_gitstate *out, int git_fd)
{
	struct stat st;

	if (fstatat(git_fd, "index", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot look at the index");
	return S_ISREG(st.st_mode) ? 0 : note_left(out, git_fd, "index");
}

int ews_gitstate_read_files(struct ews_gitstate *out, int git_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, git_fd);
	int rc = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n && rc == 0; i++) {
		const char *name = names.items[i].name;

		if (is_carried(name))
			rc = read_one(out, git_fd, name);
		else if (ews_str_is_any(name, under_way))
			rc = note_left(out, git_fd, name);
		else if (!strcmp(name, "index"))
			rc = note_index_place(out, git_fd);
	}
	if (rc == 0)
		rc = read_sparse(out, git_fd);
	return rc < 0 ? ews_error_wrap("cannot read the state of git") : 0;
}

void ews_gitstate_drop_lock(struct ews_gitstate *state, const struct ews_index_lock *lock)
{
	if (lock->fd >= 0)
		ews_gitstate_drop_left(state, EWS_INDEX_LOCK);
}

static bool same_index(const struct ews_gitstate *a, const struct ews_gitstate *b)
{
	return a->has_index == b->has_index &&
	       (!a->has_index ||
		(same_bytes(&a->index, &b->index) && is_index_time(a, b->index_mtime_s, b->index_mtime_ns)));
}

static void hash_list(struct ews_hash *hash, const struct ews_gitstate_files *files)
{
	const uint64_t n = files->n;

	ews_hash_add(hash, &n, sizeof(n));
	for (size_t i = 0; i < files->n; i++) {
		ews_hash_add_part(hash, files->items[i].name, strlen(files->items[i].name));
		ews_hash_add_part(hash, files->items[i].data.ptr, files->items[i].data.len);
	}
}

void ews_gitstate_hash_files(struct ews_hash *hash, const struct ews_gitstate *state)
{
	hash_list(hash, &state->files);
	hash_list(hash, &state->left);
}

/* Add the names of those of `a` that `b` has not, or others of that name. */
static void list_other(struct ews_strv *out, const struct ews_gitstate_files *a, const struct ews_gitstate_files *b)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ews_gitstate_file *other = find(b, a->items[i].name);

		if ((!other || !same_bytes(&a->items[i].data, &other->data)) && !ews_strv_has(out, a->items[i].name))
			ews_strv_add(out, a->items[i].name);
	}
}

/*
 * The names of those of `b` that `a`, which is wanted, has not. Patterns of a sparse checkout that it says nothing of stay, and
 * mean nothing where its config doesn't ask for them: older snapshots have none of any.
 */
static void list_more(struct ews_strv *out, const struct ews_gitstate_files *b, const struct ews_gitstate_files *a)
{
	for (size_t i = 0; i < b->n; i++)
		if (!find(a, b->items[i].name) && strcmp(b->items[i].name, EWS_GITSTATE_SPARSE) != 0)
			ews_strv_add(out, b->items[i].name);
}

void ews_gitstate_list_strange(struct ews_strv *out, const struct ews_gitstate *state, const struct ews_gitstate *now)
{
	list_other(out, &now->left, &state->left);
}

static bool is_no_shared_index(void *payload, const char *name)
{
	(void)payload;
	return !is_shared_index(name);
}

bool ews_gitstate_has_same_files(const struct ews_gitstate *a, const struct ews_gitstate *b)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

	list_other(&names, &a->files, &b->files);
	list_other(&names, &b->files, &a->files);
	ews_strv_filter(&names, is_no_shared_index, NULL);
	list_other(&names, &a->left, &b->left);
	list_other(&names, &b->left, &a->left);
	return !names.n;
}

void ews_gitstate_differences(struct ews_strv *out, const struct ews_gitstate *a, const struct ews_gitstate *b)
{
	list_other(out, &a->files, &b->files);
	list_more(out, &b->files, &a->files);
	list_other(out, &a->left, &b->left);
	list_other(out, &b->left, &a->left);
	if (!same_index(a, b) && !ews_strv_has(out, "index"))
		ews_strv_add(out, "index");
}

/* The index with its mtime, made beside and renamed in: git's racy check rests on that time. */
static int write_index(const struct ews_gitstate *state, int git_fd, struct ews_sharing sharing,
		       struct ews_index_lock *lock)
{
	const struct timespec mtime = { state->index_mtime_s, state->index_mtime_ns };
	int rc;

	if (!state->has_index) {
		if (unlinkat(git_fd, "index", 0) < 0 && errno != ENOENT)
			return ews_error_os("cannot remove the index");
		return 0;
	}
	if (lock && lock->fd >= 0)
		rc = ews_index_lock_put(lock, state->index.ptr, state->index.len, sharing, &mtime);
	else
		rc = ews_file_replace_shared(git_fd, "index", state->index.ptr, state->index.len, sharing, &mtime);
	return rc < 0 ? ews_error_wrap("cannot write the index") : 0;
}

/* Rename `name` into `keep_fd`; where another of that name was kept before, under a number as well. */
static int put_away(int git_fd, const char *name, int keep_fd)
{
	EWS_CLEANUP(free) char *kept = ews_strdup(name);
	int rc = ews_file_rename_new(git_fd, name, keep_fd, kept);

	for (unsigned n = 2; rc == EWS_EEXISTS; n++) {
		free(kept);
		kept = ews_strfmt("%s.%u", name, n);
		rc = ews_file_rename_new(git_fd, name, keep_fd, kept);
	}
	return rc < 0 ? ews_error_wrap("cannot put '%s' away", name) : 0;
}

/* What was not there, or was another, makes way, unread as it is. */
static int put_strange_away(const struct ews_gitstate *state, const struct ews_gitstate *now, int git_fd, int keep_fd)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = 0;

	ews_gitstate_list_strange(&names, state, now);
	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = put_away(git_fd, names.items[i], keep_fd);
	return rc;
}

int ews_gitstate_write(const struct ews_gitstate *state, int git_fd, int keep_fd, struct ews_sharing sharing,
		       struct ews_index_lock *lock)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate now = EWS_GITSTATE_INIT;
	int rc = ews_gitstate_read_files(&now, git_fd);

	if (rc < 0)
		return rc;
	if (lock)
		ews_gitstate_drop_lock(&now, lock);
	ews_gitstate_note_index(&now, git_fd);
	if (keep_fd >= 0)
		rc = put_strange_away(state, &now, git_fd, keep_fd);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < now.files.n; i++)
		if (!ews_gitstate_file(state, now.files.items[i].name) &&
		    strcmp(now.files.items[i].name, EWS_GITSTATE_SPARSE) != 0 &&
		    unlinkat(git_fd, now.files.items[i].name, 0) < 0 && errno != ENOENT)
			return ews_error_os("cannot remove '%s'", now.files.items[i].name);
	for (size_t i = 0; i < state->files.n; i++) {
		const struct ews_gitstate_file *file = &state->files.items[i];
		const struct ews_gitstate_file *old = ews_gitstate_file(&now, file->name);

		if (old && same_bytes(&old->data, &file->data))
			continue;
		if (!strcmp(file->name, EWS_GITSTATE_SPARSE))
			rc = write_sparse(&file->data, git_fd, sharing);
		else
			rc = ews_file_replace_shared(git_fd, file->name, file->data.ptr, file->data.len, sharing,
						     NULL);
		if (rc < 0)
			return ews_error_wrap("cannot write '%s'", file->name);
	}
	if (!state->has_index && !now.has_index)
		return 0;
	return ews_gitstate_has_index(state, git_fd) ? 0 : write_index(state, git_fd, sharing, lock);
}

void ews_gitstate_release(struct ews_gitstate *state)
{
	release_files(&state->files);
	release_files(&state->left);
	ews_buf_release(&state->index);
	*state = (struct ews_gitstate)EWS_GITSTATE_INIT;
}
