/*
 * The refs of a repository as git keeps them: a file each below `refs/`, or a line of `packed-refs`.
 *
 * Each verb lists and reads refs, and there may be ten thousands of ours. A library, or a git, that looks each of them up
 * makes that the most of what a verb does. Format: git-pack-refs(1), gitrepository-layout(5). Files are read first, then
 * packed-refs: a ref that is packed meanwhile is in both, or in the second.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb.h"
#include "store/odb_ops.h"

#include <dirent.h>
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
#include "store/packed_refs.h"

#define REF_BYTES_MAX 8192
#define SYMBOLIC "ref:"
#define BLANKS " \t" /* behind that; there may be none */
#define DEPTH_MAX 64
#define LINKS_MAX 5 /* symbolic refs in a row, as in git */

struct listing {
	struct ews_refs *out;
	int common_fd;
	const char *prefix, *except;
	bool names_only;
};

static bool is_asked_for(const struct listing *l, const char *name)
{
	return ews_str_begins(name, l->prefix) && !(l->except && ews_str_begins(name, l->except));
}

/* May the directory `name` hold what is asked for? */
static bool is_on_the_way(const struct listing *l, const char *name)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/", name);

	return (ews_str_begins(dir, l->prefix) || ews_str_begins(l->prefix, dir)) &&
	       !(l->except && ews_str_begins(dir, l->except));
}

static struct ews_ref *add(struct ews_refs *out, const char *name)
{
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n] = (struct ews_ref){ .name = ews_strdup(name), .oid = EWS_OID_NONE };
	return &out->items[out->n++];
}

static void release_ref(struct ews_ref *ref)
{
	free(ref->name);
	free(ref->target);
}

/* Read an id that a line, or the text, ends. */
static bool parse_id(struct ews_oid *out, const char *text)
{
	EWS_CLEANUP(free) char *hex = ews_strndup(text, strspn(text, "0123456789abcdef"));

	if (ews_oid_parse(out, hex) == 0)
		return true;
	ews_error_clear();
	return false;
}

/* Does errno say that no file is there? It may have been packed since it was seen. */
static bool is_absent(void)
{
	return ews_errno_is_absent(errno) || errno == ENAMETOOLONG;
}

/* Does errno say of what is there that it is no ref's file: a link to nowhere, a socket, a directory? */
static bool is_strange(void)
{
	return errno == ELOOP || errno == EXDEV || errno == ENXIO || errno == EISDIR;
}

/*
 * What a ref's file, opened, says: neither id nor target when it says nothing. Returns 1, and 0 where there is none (`fd` below 0, and
 * errno). What can't be read just now, for want of descriptors or since the disk fails, is neither: it fails.
 */
static int read_value_of(struct ews_ref *ref, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *target;
	int rc;

	if (fd < 0 && is_absent())
		return 0;
	if (fd < 0)
		return is_strange() ? 1 : ews_error_os("cannot read the ref '%s'", ref->name);
	rc = ews_file_read_fd(&text, fd, REF_BYTES_MAX);
	if (rc < 0 && rc != EWS_EDAMAGED && !is_strange())
		return ews_error_wrap("cannot read the ref '%s'", ref->name);
	if (rc < 0) {
		ews_error_clear();
		return 1;
	}
	ews_buf_rtrim(&text);
	target = ews_odb_ref_target(text.ptr);
	if (target)
		ref->target = ews_strdup(target);
	else
		(void)parse_id(&ref->oid, text.ptr);
	return 1;
}

int ews_odb_read_ref_file(struct ews_ref *ref, int common_fd)
{
	EWS_CLEANUP(fd) int fd = openat(common_fd, ref->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return read_value_of(ref, fd);
}

/* One that only others may read is theirs, and is none of those that are listed. */
static int add_file(const struct listing *l, const char *name)
{
	struct ews_ref *ref;
	int rc;

	if (!is_asked_for(l, name))
		return 0;
	ref = add(l->out, name);
	rc = l->names_only ? 1 : ews_odb_read_ref_file(ref, l->common_fd);
	if (rc < 0 && ews_error_errno() == EACCES) {
		ews_error_clear();
		rc = 0;
	}
	if (rc <= 0)
		release_ref(&l->out->items[--l->out->n]);
	return rc < 0 ? rc : 0;
}

/* git gives no ref such a name: a lock, or what a program left there. */
static bool is_no_ref(const char *name)
{
	size_t len = strlen(name);

	return *name == '.' || (len > 5 && !strcmp(name + len - 5, ".lock"));
}

static int list_dir(const struct listing *l, const char *dir, unsigned depth)
{
	EWS_CLEANUP(fd) int fd = openat(l->common_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	size_t len;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot open '%s'", dir);
	ews_buf_adds(&path, dir);
	ews_buf_addc(&path, '/');
	len = path.len;
	n = ews_dir_names_read(&names, fd);
	/* It went with its last ref since it was opened, or git packed that one. */
	if (n == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	for (ssize_t i = 0; i < n && rc == 0; i++) {
		struct stat st = { 0 };
		bool is_dir = names.items[i].type == DT_DIR;

		if (is_no_ref(names.items[i].name))
			continue;
		ews_buf_truncate(&path, len);
		ews_buf_adds(&path, names.items[i].name);
		if (names.items[i].type == DT_UNKNOWN) {
			if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0 && !is_absent())
				return ews_error_os("cannot look at '%s'", path.ptr);
			is_dir = S_ISDIR(st.st_mode);
		}
		if (!is_dir)
			rc = add_file(l, path.ptr);
		else if (depth < DEPTH_MAX && is_on_the_way(l, path.ptr))
			rc = list_dir(l, path.ptr, depth + 1);
	}
	return n < 0 ? (int)n : rc;
}

/* "<id> <name>", or "^<id>", what the tag of the line above, which may be `last`, leads to. Returns what was added. */
static struct ews_ref *add_packed(const struct listing *l, char *line, struct ews_ref *last)
{
	char *name = strchr(line, ' ');
	struct ews_ref *ref;
	struct ews_oid oid;

	if (*line == '^' && last && parse_id(&oid, line + 1))
		last->peeled = oid;
	if (*line == '#' || *line == '^' || !name || !is_asked_for(l, name + 1) || !parse_id(&oid, line))
		return NULL;
	ref = add(l->out, name + 1);
	ref->oid = oid;
	return ref;
}

static int list_packed(const struct listing *l)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_packed_refs_read(&text, l->common_fd, l->prefix);
	struct ews_ref *last = NULL;

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	for (char *line = text.ptr, *end; rc == 0 && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		last = add_packed(l, line, last);
	}
	return rc;
}

/* By name; the file before the line. */
struct numbered {
	struct ews_ref ref;
	size_t at;
};

static int cmp_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	int order = strcmp(x->ref.name, y->ref.name);

	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static bool is_broken(const struct ews_ref *ref)
{
	return !ref->target && ews_oid_is_none(&ref->oid);
}

static bool is_sorted(const struct ews_refs *refs, size_t first)
{
	for (size_t i = first + 1; i < refs->n; i++)
		if (strcmp(refs->items[i - 1].name, refs->items[i].name) >= 0)
			return false;
	return true;
}

/* Sort what was added from `first` on, and keep the first of each name. */
static void settle(struct ews_refs *out, size_t first)
{
	size_t n = out->n - first;
	EWS_CLEANUP(free) struct numbered *items = NULL;

	if (is_sorted(out, first))
		return;
	items = ews_calloc(n + 1, sizeof(*items));
	for (size_t i = 0; i < n; i++)
		items[i] = (struct numbered){ out->items[first + i], i };
	if (n)
		qsort(items, n, sizeof(*items), cmp_numbered);
	out->n = first;
	for (size_t i = 0; i < n; i++)
		if (out->n > first && !strcmp(out->items[out->n - 1].name, items[i].ref.name))
			release_ref(&items[i].ref);
		else
			out->items[out->n++] = items[i].ref;
}

/* One that is broken has hidden what is packed, as in git. */
static void drop_broken(struct ews_refs *out, size_t first)
{
	size_t n = out->n;

	out->n = first;
	for (size_t i = first; i < n; i++)
		if (is_broken(&out->items[i]))
			release_ref(&out->items[i]);
		else
			out->items[out->n++] = out->items[i];
}

static int list(struct listing *l, const char *common_dir)
{
	EWS_CLEANUP(fd) int common_fd = open(common_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *slash = strrchr(l->prefix, '/');
	EWS_CLEANUP(free)
	char *dir = slash ? ews_strndup(l->prefix, (size_t)(slash - l->prefix)) : ews_strdup("refs");
	size_t first = l->out->n;
	int rc;

	if (common_fd < 0)
		return ews_error_os("cannot open '%s'", common_dir);
	l->common_fd = common_fd;
	rc = list_dir(l, dir, 0);
	if (rc == 0)
		rc = list_packed(l);
	settle(l->out, first);
	if (!l->names_only)
		drop_broken(l->out, first);
	return rc < 0 ? ews_error_wrap("cannot list the refs '%s'", l->prefix) : 0;
}

int ews_odb_list_refs(struct ews_refs *out, const char *common_dir, const char *prefix, const char *except)
{
	struct listing l = { .out = out, .prefix = prefix, .except = except };

	return list(&l, common_dir);
}

int ews_odb_ref_names(struct ews_refs *out, struct ews_odb *odb, const char *prefix)
{
	struct listing l = { .out = out, .prefix = prefix, .names_only = true };

	return list(&l, odb->common_dir);
}

/* What git refuses in the name of a ref, besides what is_no_ref() sees. */
static bool has_refused_bytes(const char *one)
{
	for (const char *c = one; *c; c++)
		if (strchr("*?[\\~^: \177", *c) || (unsigned char)*c < ' ')
			return true;
	return strstr(one, "..") || strstr(one, "@{");
}

bool ews_odb_is_ref_name(const char *name)
{
	const char *part = ews_str_after(name, "refs/");

	if (!part)
		return *name && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")];
	for (const char *end; part; part = *end ? end + 1 : NULL) {
		EWS_CLEANUP(free) char *one = NULL;

		end = part + strcspn(part, "/");
		one = ews_strndup(part, (size_t)(end - part));
		if (!*one || is_no_ref(one) || has_refused_bytes(one))
			return false;
	}
	return name[strlen(name) - 1] != '.';
}

const char *ews_odb_ref_target(const char *text)
{
	const char *target = ews_str_after(text, SYMBOLIC);

	if (target)
		target += strspn(target, BLANKS);
	return target && *target ? target : NULL;
}

/* These each worktree has for itself. */
static bool is_own(const char *name)
{
	return !ews_str_begins(name, "refs/") || ews_str_begins(name, "refs/bisect/") ||
	       ews_str_begins(name, "refs/worktree/") || ews_str_begins(name, "refs/rewritten/");
}

int ews_odb_find_packed_ref(struct ews_oid *out, int common_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *tail = ews_strfmt(" %s\n", name);
	int rc = ews_packed_refs_read(&text, common_fd, name);
	const char *at;

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	at = rc < 0 ? NULL : strstr(text.ptr, tail);
	if (!at)
		return 0;
	while (at > text.ptr && at[-1] != '\n')
		at--;
	return *at != '#' && parse_id(out, at);
}

/* Where refs are read: those that each worktree has for itself, and all others. */
struct ref_place {
	int own_fd, common_fd;
	int own_errno, common_errno; /* why one could not be opened */
	bool is_own_foreign, is_common_foreign; /* others may write there: no link is followed */
};

static int open_git_dir(int *why, const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	*why = fd < 0 ? errno : 0;
	return fd;
}

/* Where the refs of the store are read. */
static struct ref_place open_ref_place(const struct ews_odb *odb)
{
	struct ref_place place = { .is_own_foreign = false };

	place.own_fd = open_git_dir(&place.own_errno, odb->git_dir);
	place.common_fd = open_git_dir(&place.common_errno, odb->common_dir);
	return place;
}

static void close_ref_place(struct ref_place *place)
{
	ews_cleanup_fd(&place->own_fd);
	ews_cleanup_fd(&place->common_fd);
}

EWS_CLEANUP_DEFINE(ref_place, struct ref_place, close_ref_place)

static int read_value_at(struct ews_ref *ref, const struct ref_place *place)
{
	bool own = is_own(ref->name);
	int dir_fd = own ? place->own_fd : place->common_fd;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (dir_fd < 0) {
		errno = own ? place->own_errno : place->common_errno;
		rc = ews_error_os("cannot read the ref '%s': its git directory can't be opened", ref->name);
		/* That is not to say that there is no such ref. */
		if (rc == EWS_ENOTFOUND)
			rc = ews_error(EWS_EIO, "cannot read the ref '%s': its git directory is gone", ref->name);
		return rc;
	}
	if (!(own ? place->is_own_foreign : place->is_common_foreign))
		return ews_odb_read_ref_file(ref, dir_fd);
	fd = ews_dir_open_file(dir_fd, ref->name, O_RDONLY | O_NOCTTY, 0);
	if (fd < 0)
		ews_error_clear();
	return read_value_of(ref, fd);
}

/* Is it a file, or a link in a circle? As in git nobody looks for what is packed by that name then. */
static bool hides_packed(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, 0) < 0 ? errno == ELOOP : !S_ISDIR(st.st_mode);
}

/* Symbolic ones are followed; the name of the last is the caller's (`last` NULL: nobody wants it). */
static int follow_ref(struct ews_oid *out, char **last, const struct ref_place *place, const char *name)
{
	EWS_CLEANUP(free) char *at = ews_strdup(name);

	if (!ews_odb_is_ref_name(name))
		return ews_error(EWS_ENOTFOUND, "no ref '%s'", name);
	for (unsigned i = 0; i <= LINKS_MAX && ews_odb_is_ref_name(at); i++) {
		struct ews_ref ref = { .name = at, .oid = EWS_OID_NONE };
		int rc = read_value_at(&ref, place);

		if (last) {
			free(*last);
			*last = ews_strdup(at);
		}
		if (rc < 0)
			return rc;
		if (is_broken(&ref)) {
			int dir_fd = is_own(at) ? place->own_fd : place->common_fd;

			if (rc > 0 && hides_packed(dir_fd, at))
				return ews_error(EWS_EGIT, "cannot read the ref '%s': it is broken", at);
			rc = ews_odb_find_packed_ref(&ref.oid, place->common_fd, at);
			if (rc <= 0)
				return rc < 0 ? rc : ews_error(EWS_ENOTFOUND, "no ref '%s'", name);
		}
		if (!ref.target) {
			*out = ref.oid;
			return 0;
		}
		free(at);
		at = ref.target;
	}
	return ews_error(EWS_EGIT, "cannot read the ref '%s': it is broken", name);
}

static int read_ref(struct ews_oid *out, const struct ref_place *place, const char *name)
{
	return follow_ref(out, NULL, place, name);
}

int ews_odb_ref_read(struct ews_oid *out, struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(ref_place) struct ref_place place = open_ref_place(odb);

	return read_ref(out, &place, name);
}

int ews_odb_ref_follow(struct ews_oid *out, char **last, struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(ref_place) struct ref_place place = open_ref_place(odb);

	*last = ews_strdup(name);
	return follow_ref(out, last, &place, name);
}

bool ews_odb_ref_is_missing(struct ews_odb *odb, const char *name)
{
	struct ews_oid oid;
	bool is = ews_odb_ref_read(&oid, odb, name) == EWS_ENOTFOUND;

	ews_error_clear();
	return is;
}

/* Does a link lead in a circle there? Then no ref is beneath it. */
static bool is_circle(const struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(odb->common_dir, name);

	return access(path, F_OK) < 0 && errno == ELOOP;
}

int ews_odb_ref_in_way(char **out, struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(refs) struct ews_refs beneath = EWS_REFS_INIT;
	EWS_CLEANUP(free) char *prefix = ews_strfmt("%s/", name);
	EWS_CLEANUP(free) char *above = ews_strdup(name);
	int rc = is_circle(odb, name) ? 0 : ews_odb_ref_names(&beneath, odb, prefix);
	char *slash;

	*out = rc == 0 && beneath.n ? ews_strdup(beneath.items[0].name) : NULL;
	while (rc == 0 && !*out && (slash = strrchr(above, '/'))) {
		*slash = '\0';
		if (strchr(above, '/') && !ews_odb_ref_is_missing(odb, above))
			*out = ews_strdup(above);
	}
	return rc;
}

int ews_odb_ref_read_from(struct ews_oid *out, struct ews_odb *odb, int git_fd, bool is_private, const char *name)
{
	int why;
	EWS_CLEANUP(fd) int common_fd = open_git_dir(&why, odb->common_dir);
	const struct ref_place place = { .own_fd = git_fd,
					 .common_fd = is_private ? git_fd : common_fd,
					 .own_errno = EBADF,
					 .common_errno = is_private ? EBADF : why,
					 .is_own_foreign = true,
					 .is_common_foreign = is_private };

	return read_ref(out, &place, name);
}
