/*
 * The face of the store: what both rooms share, and the way into a room.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
#include "base/sync.h"
#include "store/loose_read.h"
#include "store/object_dirs.h"
#include "store/odb_ops.h"
#include "store/recent.h"

#define COMMONDIR_MAX (64 * EWS_KIB)
#define BORROWED "borrowed"

/* The directory `path` with all links resolved. The caller frees `*out`. */
static int find_real_dir(char **out, const char *path)
{
	*out = realpath(path, NULL);
	if (!*out)
		return ews_error_os("cannot find '%s'", path);
	return 0;
}

int ews_odb_find_common_dir(char **out, const char *git_dir)
{
	EWS_CLEANUP(free) char *file = ews_path_join(git_dir, "commondir");
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc;

	rc = ews_file_read(&text, AT_FDCWD, file, COMMONDIR_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return find_real_dir(out, git_dir);
	}
	if (rc < 0)
		return ews_error_wrap("cannot read '%s'", file);
	ews_buf_rtrim(&text);
	if (!text.len || strlen(text.ptr) != text.len)
		return ews_error(EWS_EDAMAGED, "'%s' names no directory", file);
	dir = *text.ptr == '/' ? ews_strdup(text.ptr) : ews_path_join(git_dir, text.ptr);
	return find_real_dir(out, dir);
}

static int is_dir_in(const char *dir, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, name);
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode);
	return ews_errno_is_passing(errno) ? ews_error_os("cannot look for '%s'", path) : 0;
}

int ews_odb_is_common_dir(const char *dir)
{
	int rc = is_dir_in(dir, "objects");

	return rc > 0 ? is_dir_in(dir, "refs") : rc;
}

int ews_odb_open_through(struct ews_odb **out, enum ews_odb_room room, const char *git_dir, const char *home)
{
	struct ews_odb_format format = { 0 };
	EWS_CLEANUP(free) char *common_dir = NULL;
	struct ews_odb *odb = NULL;
	int rc;

	assert(*git_dir == '/');
	rc = ews_odb_find_common_dir(&common_dir, git_dir);
	if (rc < 0)
		return rc;
	rc = ews_odb_check_owner(git_dir, common_dir);
	if (rc == 0)
		rc = ews_odb_read_format(&format, common_dir, git_dir);
	if (rc < 0)
		return rc;
	if (room == EWS_ODB_FITTING)
		room = format.algo == EWS_SHA1 ? EWS_ODB_LIBGIT2 : EWS_ODB_GIT;
	/* A HEAD that is gone, a link to nowhere, or says what makes no sense, will do: who reads it finds out. */
	rc = ews_odb_is_common_dir(common_dir);
	if (rc <= 0)
		return rc < 0 ? rc : ews_error(EWS_ENOTFOUND, "no git repository at '%s'", git_dir);
	odb = room == EWS_ODB_GIT ? ews_odb_open_git(home) : ews_odb_open_libgit2(&format);
	odb->algo = format.algo;
	odb->is_partial = format.is_partial;
	odb->git_dir = ews_path_absolute("/", git_dir);
	odb->object_dir = ews_path_join(common_dir, "objects");
	odb->common_dir = ews_steal(&common_dir);
	*out = odb;
	return 0;
}

int ews_odb_open(struct ews_odb **out, const char *git_dir, const char *home)
{
	return ews_odb_open_through(out, EWS_ODB_FITTING, git_dir, home);
}

static void drop_aside(struct ews_odb *odb)
{
	if (odb->aside)
		(void)ews_file_remove_tree(AT_FDCWD, odb->aside); /* best effort: it lies among temporary files */
	free(ews_steal(&odb->aside));
}

void ews_odb_free(struct ews_odb *odb)
{
	if (!odb)
		return;
	odb->ops->release(odb);
	drop_aside(odb);
	ews_recent_free(odb->recent);
	free(odb->git_dir);
	free(odb->common_dir);
	free(odb->object_dir);
	free(odb);
}

/* Does the kernel let us make files there? access(2) does not know what holds a process beside modes. */
static bool can_make_files(const char *dir)
{
	EWS_CLEANUP(fd) int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	EWS_CLEANUP(free) char *probe = NULL;

	if (fd >= 0)
		return true;
	if (errno == EOPNOTSUPP || errno == EISDIR) {
		/* A file system that knows no files without a name. */
		probe = ews_strfmt("%s/tmp_obj_ews_probe_%ld", dir, (long)getpid());
		if (mkdir(probe, 0700) == 0)
			return rmdir(probe) == 0;
	}
	return errno != EACCES && errno != EPERM && errno != EROFS;
}

/* Fill the empty directory `dir`: an object directory that has nothing and borrows all from `store`. */
static int make_borrowing(const char *dir, const char *store)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(fd) int info = -1;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = fd < 0 ? fd : ews_dir_make(fd, "pack", 0700);

	/* A line can't name a path that has more than one; a link beside it can. */
	if (rc == 0 && strchr(store, '\n')) {
		if (symlinkat(store, fd, BORROWED) < 0)
			return ews_error_os("cannot make a link to '%s'", store);
		store = "./" BORROWED;
	}
	if (rc == 0)
		rc = ews_dir_make(fd, "info", 0700);
	if (rc == 0)
		rc = info = ews_dir_open_beneath(fd, "info");
	ews_buf_addf(&text, "%s\n", store);
	return rc < 0 ? rc : ews_file_replace(info, "alternates", text.ptr, text.len, 0600);
}

int ews_odb_make_writable(struct ews_odb *odb)
{
	int rc;

	if (!odb->aside && can_make_files(odb->object_dir))
		return 0;
	rc = ews_odb_go_aside(odb);
	return rc < 0 ? rc : 1;
}

int ews_odb_go_aside(struct ews_odb *odb)
{
	const char *tmp = getenv("TMPDIR");
	EWS_CLEANUP(free) char *dir = NULL;
	int rc;

	if (odb->aside)
		return 0;
	dir = ews_path_join(tmp && *tmp == '/' ? tmp : "/tmp", "ews-objects-XXXXXX");
	if (!mkdtemp(dir))
		return ews_error_os("cannot make a directory for objects, as '%s'", dir);
	odb->aside = ews_steal(&dir);
	rc = make_borrowing(odb->aside, odb->object_dir);
	if (rc < 0) {
		drop_aside(odb);
		return ews_error_wrap("cannot write objects, neither to '%s' nor aside", odb->object_dir);
	}
	odb->ops->move(odb);
	return 0;
}

const char *ews_odb_common_dir(const struct ews_odb *odb)
{
	return odb->common_dir;
}

const char *ews_odb_object_dir(const struct ews_odb *odb)
{
	return odb->object_dir;
}

const char *ews_odb_write_dir(const struct ews_odb *odb)
{
	return odb->aside ? odb->aside : odb->object_dir;
}

bool ews_odb_is_partial(const struct ews_odb *odb)
{
	return odb->is_partial;
}

enum ews_hash_algo ews_odb_algo(const struct ews_odb *odb)
{
	return odb->algo;
}

void ews_odb_empty_tree(struct ews_oid *out, const struct ews_odb *odb)
{
	ews_odb_hash(out, odb, EWS_OBJECT_TREE, "", 0);
}

void ews_odb_hash(struct ews_oid *out, const struct ews_odb *odb, enum ews_object_type type, const void *data,
		  size_t len)
{
	ews_oid_hash(out, odb->algo, type, data, len);
}

int ews_odb_check_id(const struct ews_oid *oid, const struct ews_oid *real)
{
	char hex[EWS_OID_HEX_MAX];

	if (ews_oid_equal(real, oid))
		return 0;
	return ews_error(EWS_EDAMAGED, "object %s is damaged: its content has another id", ews_oid_hex(hex, oid));
}

int ews_odb_check(const struct ews_odb *odb, const struct ews_oid *oid, enum ews_object_type type, const void *data,
		  size_t len)
{
	struct ews_oid real;

	ews_odb_hash(&real, odb, type, data, len);
	return ews_odb_check_id(oid, &real);
}

/* Can the file be opened, if it is there? */
static int check_opens(const char *path)
{
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 && !ews_errno_is_absent_or_link(errno) ? ews_error_os("cannot open '%s'", path) : 0;
}

static bool is_of_pack(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcmp(dot, ".idx") || !strcmp(dot, ".pack"));
}

/* A pack that is not named is in nobody's list, and of one that can't be opened nobody says that it is there. */
static int check_packs(const char *object_dir)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/pack", object_dir);
	EWS_CLEANUP(fd) int fd = open(dir, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return ews_errno_is_absent_or_link(errno) ? 0 : ews_error_os("cannot open '%s'", dir);
	n = ews_dir_names_read(&names, fd);
	if (n < 0)
		return ews_error_wrap("'%s'", dir);
	for (ssize_t i = 0; i < n && rc == 0; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir, names.items[i].name);

		if (is_of_pack(path))
			rc = check_opens(path);
	}
	return rc;
}

int ews_odb_check_readable(const struct ews_odb *odb, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];
	EWS_CLEANUP(strv) struct ews_strv dirs = EWS_STRV_INIT;
	int rc = 0;

	ews_oid_hex(hex, oid);
	ews_object_dirs_add(&dirs, ews_odb_write_dir(odb));
	for (size_t i = 0; i < dirs.n && rc == 0; i++) {
		EWS_CLEANUP(free) char *path = ews_strfmt("%s/%.2s/%s", dirs.items[i], hex, hex + 2);

		rc = check_opens(path);
		if (rc == 0)
			rc = check_packs(dirs.items[i]);
	}
	return rc < 0 ? ews_error_wrap("cannot read object %s", hex) : 0;
}

int ews_odb_missing(const struct ews_odb *odb, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_odb_check_readable(odb, oid);

	if (rc < 0)
		return rc;
	ews_oid_hex(hex, oid);
	if (!odb->is_partial)
		return ews_error(EWS_ENOTFOUND, "object %s is missing", hex);
	ews_error(EWS_ENOTFOUND, "object %s is missing from this partial clone", hex);
	ews_error_hint("'git cat-file -e %s' fetches it", hex);
	return EWS_ENOTFOUND;
}

int ews_odb_read(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb, const struct ews_oid *oid)
{
	assert(!ews_oid_is_none(oid));
	return odb->ops->read(out, type, odb, oid, UINT64_MAX);
}

void ews_odb_remember(struct ews_odb *odb, size_t max_bytes)
{
	ews_recent_free(odb->recent);
	odb->recent = max_bytes ? ews_recent_new(max_bytes) : NULL;
}

void ews_odb_remember_blob(struct ews_odb *odb, const struct ews_oid *oid, const void *data, size_t len)
{
	if (odb->recent)
		ews_recent_add(odb->recent, oid, data, len);
}

bool ews_odb_remembers(const struct ews_odb *odb, const struct ews_oid *oid, const void *data, size_t len)
{
	size_t known_len;
	const void *known = odb->recent ? ews_recent_find(&known_len, odb->recent, oid) : NULL;

	return known && known_len == len && !memcmp(known, data, len);
}

int ews_odb_read_max(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb,
		     const struct ews_oid *oid, uint64_t max)
{
	size_t len;
	const void *data = odb->recent ? ews_recent_find(&len, odb->recent, oid) : NULL;

	assert(!ews_oid_is_none(oid));
	if (!data)
		return odb->ops->read(out, type, odb, oid, max);
	if (len > max)
		return 1;
	ews_buf_add(out, data, len);
	if (type)
		*type = EWS_OBJECT_BLOB;
	return 0;
}

int ews_odb_read_ahead(struct ews_odb *odb, const struct ews_oid *oid, uint64_t size)
{
	EWS_CLEANUP(buf) struct ews_buf content = EWS_BUF_INIT;
	enum ews_object_type type;
	size_t len;
	int rc;

	if (!odb->recent || !ews_recent_has_room(odb->recent, size) || ews_recent_find(&len, odb->recent, oid))
		return 0;
	rc = ews_odb_read(&content, &type, odb, oid);
	if (rc == 0 && type == EWS_OBJECT_BLOB)
		ews_odb_remember_blob(odb, oid, content.ptr, content.len);
	return rc;
}

int ews_odb_read_header(enum ews_object_type *type, uint64_t *size, struct ews_odb *odb, const struct ews_oid *oid)
{
	assert(!ews_oid_is_none(oid));
	return odb->ops->read_header(type, size, odb, oid);
}

bool ews_odb_has_lost(int rc)
{
	return rc == EWS_ENOTFOUND || rc == EWS_EDAMAGED;
}

int ews_odb_is(struct ews_odb *odb, const struct ews_oid *oid, enum ews_object_type type)
{
	enum ews_object_type found;
	int rc = ews_odb_read_header(&found, NULL, odb, oid);

	if (rc < 0 && !ews_odb_has_lost(rc))
		return rc;
	ews_error_clear();
	return rc == 0 && found == type;
}

int ews_odb_write_from(int fd, struct ews_odb *odb, const struct ews_oid *oid, const struct ews_pack_place *place)
{
	size_t len;
	const void *data = odb->recent ? ews_recent_find(&len, odb->recent, oid) : NULL;

	assert(!ews_oid_is_none(oid));
	return data ? ews_file_write_fd(fd, data, len) : odb->ops->write_to(fd, odb, oid, place);
}

int ews_odb_write_to(int fd, struct ews_odb *odb, const struct ews_oid *oid)
{
	return ews_odb_write_from(fd, odb, oid, NULL);
}

void ews_odb_find_places(struct ews_pack_place *out, struct ews_odb *odb, const struct ews_oid *const *oids, size_t n)
{
	if (odb->ops->find_places)
		odb->ops->find_places(out, odb, oids, n);
	else
		memset(out, 0, n * sizeof(*out));
}

bool ews_odb_has(struct ews_odb *odb, const struct ews_oid *oid)
{
	return !ews_oid_is_none(oid) && odb->ops->has(odb, oid);
}

bool ews_odb_still_has(struct ews_odb *odb, const struct ews_oid *oid)
{
	if (ews_odb_has(odb, oid))
		return true;
	if (ews_odb_refresh(odb) < 0)
		ews_error_clear();
	return ews_odb_has(odb, oid);
}

int ews_odb_check_loose(const struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(strv) struct ews_strv dirs = EWS_STRV_INIT;
	int rc = ews_loose_check_stream(ews_odb_write_dir(odb), oid);

	if (rc == EWS_ENOTFOUND)
		ews_object_dirs_add(&dirs, ews_odb_write_dir(odb));
	for (size_t i = 1; i < dirs.n && rc == EWS_ENOTFOUND; i++)
		rc = ews_loose_check_stream(dirs.items[i], oid);
	return rc;
}

bool ews_odb_is_sound(struct ews_odb *odb, const struct ews_oid *oid)
{
	int rc;

	if (odb->ops->has_packed && odb->ops->has_packed(odb, oid))
		return true;
	rc = ews_odb_check_loose(odb, oid);
	ews_error_clear();
	return rc == 0 || rc == EWS_ENOTFOUND;
}

bool ews_odb_freshen(struct ews_odb *odb, const struct ews_oid *oid)
{
	return !ews_oid_is_none(oid) && odb->ops->freshen(odb, oid);
}

static bool freshen_each(struct ews_odb *odb, const struct ews_oid *const *oids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!ews_odb_freshen(odb, oids[i]))
			return false;
	return true;
}

bool ews_odb_freshen_all(struct ews_odb *odb, const struct ews_oid *const *oids, size_t n)
{
	if (freshen_each(odb, oids, n))
		return true;
	if (ews_odb_refresh(odb) < 0)
		ews_error_clear();
	return freshen_each(odb, oids, n);
}

bool ews_odb_holds(struct ews_odb *odb, const struct ews_oid *oid, bool is_wary)
{
	return ews_odb_freshen(odb, oid) && (!is_wary || ews_odb_is_sound(odb, oid));
}

int ews_odb_refresh(struct ews_odb *odb)
{
	return odb->ops->refresh(odb);
}

int ews_odb_finish_group(struct ews_odb *odb, struct ews_sync_group *group)
{
	int rc = ews_sync_finish(group);

	return rc < 0 ? rc : ews_odb_refresh(odb);
}

/* Give the symbolic ones the ids of what they stand for; those that stand for nothing are left out. */
static void follow(struct ews_refs *refs, struct ews_odb *odb)
{
	size_t kept = 0;

	for (size_t i = 0; i < refs->n; i++) {
		struct ews_ref ref = refs->items[i];

		if (ref.target && ews_odb_ref_read(&ref.oid, odb, ref.target) < 0) {
			ews_error_clear();
			free(ref.name);
			free(ref.target);
			continue;
		}
		refs->items[kept++] = ref;
	}
	refs->n = kept;
}

int ews_odb_ref_list_but(struct ews_refs *out, struct ews_odb *odb, const char *prefix, const char *except)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_list_refs(&refs, odb->common_dir, prefix, except);

	if (rc < 0)
		return rc;
	follow(&refs, odb);
	ews_refs_release(out);
	*out = refs;
	refs = (struct ews_refs)EWS_REFS_INIT;
	return 0;
}

int ews_odb_ref_list(struct ews_refs *out, struct ews_odb *odb, const char *prefix)
{
	return ews_odb_ref_list_but(out, odb, prefix, NULL);
}

void ews_refs_release(struct ews_refs *refs)
{
	for (size_t i = 0; i < refs->n; i++) {
		free(refs->items[i].name);
		free(refs->items[i].target);
	}
	free(refs->items);
	*refs = (struct ews_refs)EWS_REFS_INIT;
}

/* What is not found may be in a pack that can't be opened just now. */
static int resolve(struct ews_oid *out, struct ews_odb *odb, const char *spec, int want)
{
	EWS_CLEANUP(strv) struct ews_strv dirs = EWS_STRV_INIT;
	EWS_CLEANUP(error_saved) struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	int rc = odb->ops->resolve(out, odb, spec, want);

	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_save(&saved);
	ews_object_dirs_add(&dirs, ews_odb_write_dir(odb));
	rc = 0;
	for (size_t i = 0; i < dirs.n && rc == 0; i++)
		rc = ews_error_if_passing(check_packs(dirs.items[i]));
	return rc < 0 ? ews_error_wrap("cannot find the revision '%s'", spec) : ews_error_restore(&saved);
}

int ews_odb_resolve(struct ews_oid *out, struct ews_odb *odb, const char *spec)
{
	return resolve(out, odb, spec, 0);
}

/*
 * HEAD, the one that is asked for at each turn, without all that knows what a revision may look like. Returns 1, or 0 when
 * that has to be asked. Of what is not there libgit2 1.5 would say so, and forget some memory.
 */
static int find_head_commit(struct ews_oid *out, struct ews_odb *odb)
{
	enum ews_object_type type;
	struct ews_oid oid;
	int rc;

	rc = ews_odb_ref_read(&oid, odb, "HEAD");
	if (rc == EWS_EIO || rc == EWS_EDENIED)
		return rc;
	if (rc < 0) {
		ews_error_clear();
		return 0;
	}
	rc = ews_odb_read_header(&type, NULL, odb, &oid);
	if (rc < 0 || type != EWS_OBJECT_COMMIT)
		return rc;
	*out = oid;
	return 1;
}

/* Likewise a commit by its whole id: whether it is lost, or can't be read just now, libgit2 does not tell. */
static int find_commit_by_id(struct ews_oid *out, struct ews_odb *odb, const char *spec)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	struct ews_oid oid;
	int rc = strlen(spec) == 2 * ews_hash_len(odb->algo) ? ews_oid_parse(&oid, spec) : EWS_ENOTFOUND;

	if (rc == 0)
		rc = ews_odb_read_commit(&commit, odb, &oid);
	if (rc == EWS_EIO)
		return rc;
	if (rc < 0) {
		ews_error_clear();
		return 0;
	}
	*out = oid;
	return 1;
}

int ews_odb_resolve_commit(struct ews_oid *out, struct ews_odb *odb, const char *spec)
{
	int rc = strcmp(spec, "HEAD") ? find_commit_by_id(out, odb, spec) : find_head_commit(out, odb);

	if (rc)
		return rc < 0 ? rc : 0;
	return resolve(out, odb, spec, EWS_OBJECT_COMMIT);
}

int ews_odb_find_head(struct ews_oid *out, struct ews_odb *odb)
{
	int rc = ews_odb_resolve_commit(out, odb, "HEAD");

	if (rc == 0)
		return 1;
	*out = (struct ews_oid)EWS_OID_NONE;
	return ews_error_if_passing(rc);
}

/*
 * Read a line "<word> <hex id>" at `*at` and step over it. Returns 1, 0 when
 * the line has another word, below zero when the id is none.
 */
static int read_id_line(struct ews_oid *out, const char **at, const char *word, const struct ews_odb *odb)
{
	size_t word_len = strlen(word);
	size_t digits = 2 * ews_hash_len(odb->algo);
	const char *hex = *at + word_len + 1;

	if (strncmp(*at, word, word_len) != 0 || (*at)[word_len] != ' ')
		return 0;
	if (strcspn(hex, "\n") != digits || hex[digits] != '\n')
		return ews_error(EWS_EDAMAGED, "no object id after '%s'", word);
	out->len = (uint8_t)(digits / 2);
	if (ews_unhex(out->id, out->len, hex) < 0)
		return ews_error(EWS_EDAMAGED, "no object id after '%s'", word);
	*at = hex + digits + 1;
	return 1;
}

/* The seconds in "committer A U Thor <mail> 1700000000 +0000". */
static int read_commit_time(int64_t *out, const char *line)
{
	const char *end = line + strcspn(line, "\n");
	const char *after_mail = memrchr(line, '>', (size_t)(end - line));
	long long seconds;

	if (!after_mail || sscanf(after_mail + 1, " %lld", &seconds) != 1)
		return ews_error(EWS_EDAMAGED, "no time after 'committer'");
	*out = seconds;
	return 0;
}

static int parse_commit(struct ews_commit *out, const struct ews_odb *odb, const char *text)
{
	struct ews_oid parent = EWS_OID_NONE;
	size_t cap = 0;
	bool has_time = false;
	int rc;

	rc = read_id_line(&out->tree, &text, "tree", odb);
	if (rc == 0)
		return ews_error(EWS_EDAMAGED, "it names no tree");
	while (rc > 0) {
		rc = read_id_line(&parent, &text, "parent", odb);
		if (rc > 0) {
			EWS_GROW(out->parents, out->n_parents, cap);
			out->parents[out->n_parents++] = parent;
		}
	}
	while (rc == 0 && *text && *text != '\n') {
		if (ews_str_begins(text, "committer ") && !has_time) {
			rc = read_commit_time(&out->time, text);
			has_time = true;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	if (rc < 0)
		return rc;
	if (!has_time)
		return ews_error(EWS_EDAMAGED, "it names no committer");
	out->message = ews_strdup(*text == '\n' ? text + 1 : text);
	return 0;
}

int ews_odb_read_commit(struct ews_commit *out, struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	char hex[EWS_OID_HEX_MAX];
	enum ews_object_type type;
	int rc;

	rc = ews_odb_read(&text, &type, odb, oid);
	if (rc < 0)
		return rc;
	if (type != EWS_OBJECT_COMMIT)
		return ews_error(EWS_EDAMAGED, "object %s is a %s, not a commit", ews_oid_hex(hex, oid),
				 ews_object_type_name(type));
	rc = parse_commit(&commit, odb, text.ptr);
	if (rc < 0)
		return ews_error_wrap("commit %s is damaged", ews_oid_hex(hex, oid));
	ews_commit_release(out);
	*out = commit;
	commit = (struct ews_commit)EWS_COMMIT_INIT;
	return 0;
}

void ews_commit_release(struct ews_commit *commit)
{
	free(commit->parents);
	free(commit->message);
	*commit = (struct ews_commit)EWS_COMMIT_INIT;
}
