/*
 * The store through libgit2: the one room that includes git2.h.
 *
 * libgit2 locks its caches when a handle is shared, so that each thread that
 * reads borrows an object database of its own; they wait in a list between
 * two calls. Refs, revisions and config go through one repository
 * handle behind a mutex: they are rare.
 *
 * libgit2 1.5 has traps that this room steps around:
 * - It opens a SHA-256 repository as SHA-1 and breaks it once "objectformat" is
 *   in its list of extensions. So we read the format first, and allow that
 *   word only for a repository that says "sha1".
 * - It knows neither GIT_CONFIG_GLOBAL and its kin nor config.worktree. Config
 *   is read here from the files that git would read.
 * - Its own check of what it reads runs at half the speed of libcrypto. It is
 *   off, and every object read is checked here, once.
 * - It doesn't wait for another process's lock on a ref.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <git2.h>
#include <git2/sys/odb_backend.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/strv.h"
#include "store/odb.h"
#include "store/odb_ops.h"

/* Blobs above this are streamed where libgit2 can (loose ones). */
#define STREAM_FROM_BYTES (32 * EWS_MIB)
#define STREAM_STEP_BYTES (256 * EWS_KIB)
#define REF_WAIT_MS 1000
#define REF_LOG_MESSAGE "git-ews"

/* An object database that one thread at a time uses. */
struct reader {
	git_odb *db;
	unsigned generation;
	struct reader *next;
};

struct room {
	struct ews_odb face;
	pthread_mutex_t readers_lock;
	struct reader *idle;
	unsigned generation; /* counts refreshes; a reader that is behind looks again */
	pthread_mutex_t repo_lock;
	git_repository *repo;
};

EWS_CLEANUP_DEFINE(git_buf, git_buf, git_buf_dispose)
EWS_CLEANUP_DEFINE_PTR(git_repository, git_repository, git_repository_free)
EWS_CLEANUP_DEFINE_PTR(git_odb_object, git_odb_object, git_odb_object_free)
EWS_CLEANUP_DEFINE_PTR(git_odb_stream, git_odb_stream, git_odb_stream_free)
EWS_CLEANUP_DEFINE_PTR(git_object, git_object, git_object_free)
EWS_CLEANUP_DEFINE_PTR(git_reference, git_reference, git_reference_free)
EWS_CLEANUP_DEFINE_PTR(git_iterator, git_reference_iterator, git_reference_iterator_free)
EWS_CLEANUP_DEFINE_PTR(git_config, git_config, git_config_free)
EWS_CLEANUP_DEFINE_PTR(git_config_entry, git_config_entry, git_config_entry_free)
EWS_CLEANUP_DEFINE_PTR(git_config_iterator, git_config_iterator, git_config_iterator_free)

/* Say what failed, then libgit2's words; the code follows libgit2's, `dflt` where that says nothing. */
__attribute__((format(printf, 3, 4))) static int fail(int git_rc, enum ews_code dflt, const char *fmt, ...)
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

static void to_git_oid(git_oid *out, const struct ews_oid *oid)
{
	assert(oid->len == GIT_OID_RAWSZ);
	git_oid_fromraw(out, oid->id);
}

static void from_git_oid(struct ews_oid *out, const git_oid *oid)
{
	*out = (struct ews_oid){ .len = GIT_OID_RAWSZ };
	memcpy(out->id, oid->id, GIT_OID_RAWSZ);
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

static pthread_once_t started = PTHREAD_ONCE_INIT;

static void start_libgit2(void)
{
	struct config_files files;

	git_libgit2_init();
	git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
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

static void need_libgit2(void)
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
		return fail(rc, EWS_ECONFIG, "cannot read '%s'", path);
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
		return fail(rc, EWS_ECONFIG, "cannot read the setting '%s'", key);
	*out = ews_strdup(entry->value ? entry->value : "true");
	return 0;
}

int ews_odb_config_user(char **out, const char *key)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	int rc;

	need_libgit2();
	rc = git_config_new(&config);
	if (rc < 0)
		return fail(rc, EWS_ECONFIG, "cannot read the user's git config");
	rc = add_user_config(config, NULL);
	if (rc < 0)
		return rc;
	return read_config(out, config, key);
}

/* What a repository says of its format. */
struct format {
	int version;
	bool says_sha1;
	bool says_files;
};

/* Those whose meaning is honoured: see ews_odb_config(), fail_read(), and that nothing here prunes. */
static bool is_known_extension(const char *name)
{
	static const char *const known[] = { "noop", "worktreeconfig", "partialclone", "preciousobjects" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i]))
			return true;
	return false;
}

/*
 * Read the format of the repository whose shared config is in `common_dir` and
 * refuse what we don't know. Git's own reading follows no include here.
 */
static int read_format(struct format *out, const char *common_dir, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(common_dir, "config");
	EWS_CLEANUP(git_config) git_config *config = NULL;
	EWS_CLEANUP(git_config_iterator) git_config_iterator *iter = NULL;
	git_config_entry *entry;
	EWS_CLEANUP(strv) struct ews_strv unknown = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *hash = ews_strdup("sha1");
	EWS_CLEANUP(free) char *refs = ews_strdup("files");
	int rc;

	rc = git_config_open_ondisk(&config, path);
	if (rc < 0)
		return fail(rc, EWS_ECONFIG, "cannot read '%s'", path);
	rc = git_config_iterator_new(&iter, config);
	if (rc < 0)
		return fail(rc, EWS_ECONFIG, "cannot read '%s'", path);
	while ((rc = git_config_next(&entry, iter)) == 0) {
		const char *value = entry->value ? entry->value : "true";

		if (entry->include_depth > 0)
			continue;
		if (!strcmp(entry->name, "core.repositoryformatversion")) {
			if (git_config_parse_int32(&out->version, value) < 0)
				return ews_error(EWS_EDAMAGED, "'%s': core.repositoryFormatVersion is no number",
						 path);
		} else if (!strcmp(entry->name, "extensions.objectformat")) {
			out->says_sha1 = true;
			free(hash);
			hash = ews_strdup(value);
		} else if (!strcmp(entry->name, "extensions.refstorage")) {
			out->says_files = true;
			free(refs);
			refs = ews_strdup(value);
		} else if (!strncmp(entry->name, "extensions.", strlen("extensions."))) {
			const char *extension = entry->name + strlen("extensions.");

			if (!is_known_extension(extension))
				ews_strv_add(&unknown, extension);
		}
	}
	if (rc != GIT_ITEROVER)
		return fail(rc, EWS_ECONFIG, "cannot read '%s'", path);

	if (strcmp(hash, "sha1") != 0)
		return ews_error(EWS_EUNSUPPORTED, "repository '%s' uses object format '%s'; only 'sha1' is served",
				 name, hash);
	if (strcmp(refs, "files") != 0)
		return ews_error(EWS_EUNSUPPORTED, "repository '%s' uses ref storage '%s'; only 'files' is served",
				 name, refs);
	if (out->version > 1)
		return ews_error(EWS_EUNSUPPORTED,
				 "repository '%s' has format version %d; only versions up to 1 are served", name,
				 out->version);
	/* In version 0 git takes no notice of extensions that it doesn't know. */
	if (out->version == 1 && unknown.n)
		return ews_error(EWS_EUNSUPPORTED, "repository '%s' uses the extension '%s', which isn't known here",
				 name, unknown.items[0]);
	return 0;
}

/* The path that git wants to see as safe.directory: the work tree where there is one. The caller frees it. */
static char *find_safe_name(const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(free) char *file = ews_path_join(git_dir, "gitdir");
	EWS_CLEANUP(buf) struct ews_buf link = EWS_BUF_INIT;
	const char *dot_git = git_dir;

	if (strcmp(git_dir, common_dir) != 0 && ews_file_read(&link, AT_FDCWD, file, 64 * EWS_KIB) == 0) {
		ews_buf_rtrim(&link);
		dot_git = link.ptr;
	}
	if (!strcmp(ews_path_base(dot_git), ".git"))
		return ews_path_dir(dot_git);
	return ews_strdup(git_dir);
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

/* Did opening fail for the owner? 1.5 says "not found" of safe.directory itself when that isn't set at all. */
static bool is_owner_error(int git_rc)
{
	const git_error *last = git_error_last();

	return git_rc == GIT_EOWNER || (git_rc == GIT_ENOTFOUND && last && last->klass == GIT_ERROR_CONFIG);
}

/* libgit2's list of extensions and its owner check are global; both are set and used under this. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_repository(git_repository **out, const char *git_dir, const char *common_dir,
			   const struct format *format)
{
	const char *extensions[5] = { "worktreeconfig", "partialclone", "preciousobjects" };
	const unsigned flags = GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT;
	EWS_CLEANUP(free) char *safe_name = find_safe_name(git_dir, common_dir);
	bool is_foreign;
	size_t n = 3;
	int rc;

	if (format->says_sha1)
		extensions[n++] = "objectformat";
	if (format->says_files)
		extensions[n++] = "refstorage";
	pthread_mutex_lock(&open_lock);
	git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, n);
	rc = git_repository_open_ext(out, git_dir, flags, NULL);
	is_foreign = rc < 0 && is_owner_error(rc);
	/* It trips over a safe.directory that is gone, and sees no file that the environment names. */
	if (rc < 0 && is_safe_directory(safe_name)) {
		git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
		rc = git_repository_open_ext(out, git_dir, flags, NULL);
		git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1);
		is_foreign = false;
	}
	pthread_mutex_unlock(&open_lock);
	if (is_foreign) {
		ews_error(EWS_EDENIED, "repository '%s' belongs to another user", safe_name);
		ews_error_hint("if you trust it: git config --global --add safe.directory '%s'", safe_name);
		return EWS_EDENIED;
	}
	if (rc == GIT_ENOTFOUND)
		return ews_error(EWS_ENOTFOUND, "no git repository at '%s'", git_dir);
	if (rc < 0)
		return fail(rc, EWS_EGIT, "cannot open the repository '%s'", git_dir);
	return 0;
}

/* An object database for this thread, given back by return_reader(). */
static int borrow_reader(struct reader **out, struct room *room)
{
	struct reader *reader;
	unsigned generation;
	int rc;

	pthread_mutex_lock(&room->readers_lock);
	generation = room->generation;
	reader = room->idle;
	if (reader)
		room->idle = reader->next;
	pthread_mutex_unlock(&room->readers_lock);

	if (!reader) {
		git_odb *db = NULL;

		rc = git_odb_open(&db, room->face.object_dir);
		if (rc < 0)
			return fail(rc, EWS_EGIT, "cannot open '%s'", room->face.object_dir);
		reader = ews_calloc(1, sizeof(*reader));
		reader->db = db;
		reader->generation = generation;
	}
	if (reader->generation != generation) {
		/* When it can't look again it serves what it knows; reading a missing object looks once more. */
		(void)git_odb_refresh(reader->db);
		reader->generation = generation;
	}
	*out = reader;
	return 0;
}

static void return_reader(struct room *room, struct reader *reader)
{
	pthread_mutex_lock(&room->readers_lock);
	reader->next = room->idle;
	room->idle = reader;
	pthread_mutex_unlock(&room->readers_lock);
}

static int fail_read(int git_rc, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	if (git_rc == GIT_ENOTFOUND)
		return ews_error(EWS_ENOTFOUND, "object %s is missing", ews_oid_hex(hex, oid));
	return fail(git_rc, EWS_EDAMAGED, "object %s is damaged", ews_oid_hex(hex, oid));
}

/* Read the whole object and see that it is what its id says. */
static int read_checked(git_odb_object **out, const struct room *room, git_odb *db, const struct ews_oid *oid)
{
	EWS_CLEANUP(git_odb_object) git_odb_object *obj = NULL;
	git_oid id;
	int rc;

	to_git_oid(&id, oid);
	rc = git_odb_read(&obj, db, &id);
	if (rc < 0)
		return fail_read(rc, oid);
	rc = ews_odb_check(&room->face, oid, (enum ews_object_type)git_odb_object_type(obj),
			   git_odb_object_data(obj), git_odb_object_size(obj));
	if (rc < 0)
		return rc;
	*out = ews_steal(&obj);
	return 0;
}

static int libgit2_read(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb,
			const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;
	EWS_CLEANUP(git_odb_object) git_odb_object *obj = NULL;
	struct reader *reader;
	int rc;

	rc = borrow_reader(&reader, room);
	if (rc < 0)
		return rc;
	rc = read_checked(&obj, room, reader->db, oid);
	return_reader(room, reader);
	if (rc < 0)
		return rc;
	ews_buf_add(out, git_odb_object_data(obj), git_odb_object_size(obj));
	if (type)
		*type = (enum ews_object_type)git_odb_object_type(obj);
	return 0;
}

static int libgit2_read_header(enum ews_object_type *type, uint64_t *size, struct ews_odb *odb,
			       const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;
	struct reader *reader;
	git_object_t git_type;
	size_t len;
	git_oid id;
	int rc;

	rc = borrow_reader(&reader, room);
	if (rc < 0)
		return rc;
	to_git_oid(&id, oid);
	rc = git_odb_read_header(&len, &git_type, reader->db, &id);
	return_reader(room, reader);
	if (rc < 0)
		return fail_read(rc, oid);
	*type = (enum ews_object_type)git_type;
	if (size)
		*size = len;
	return 0;
}

/* Pass a loose blob on step by step. Returns 1 when the object can't be streamed. */
static int stream_blob(int fd, const struct room *room, git_odb *db, const struct ews_oid *oid)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(room->face.algo);
	EWS_CLEANUP(free) char *step = ews_malloc(STREAM_STEP_BYTES);
	EWS_CLEANUP(git_odb_stream) git_odb_stream *stream = NULL;
	char header[EWS_OBJECT_HEADER_MAX], hex[EWS_OID_HEX_MAX];
	struct ews_oid real = EWS_OID_NONE;
	git_object_t type;
	git_oid id;
	size_t size;
	int rc, n;

	to_git_oid(&id, oid);
	if (git_odb_open_rstream(&stream, &size, &type, db, &id) < 0)
		return 1;
	ews_hash_add(hash, header, ews_object_header(header, (enum ews_object_type)type, size));
	while ((n = git_odb_stream_read(stream, step, STREAM_STEP_BYTES)) > 0) {
		ews_hash_add(hash, step, (size_t)n);
		rc = ews_file_write_fd(fd, step, (size_t)n);
		if (rc < 0)
			return rc;
	}
	if (n < 0)
		return fail_read(n, oid);
	real.len = (uint8_t)ews_hash_finish(hash, real.id);
	if (!ews_oid_equal(&real, oid))
		return ews_error(EWS_EDAMAGED, "object %s is damaged: its content has another id",
				 ews_oid_hex(hex, oid));
	return 0;
}

static int write_blob(int fd, const struct room *room, git_odb *db, const struct ews_oid *oid)
{
	EWS_CLEANUP(git_odb_object) git_odb_object *obj = NULL;
	char hex[EWS_OID_HEX_MAX];
	git_object_t type;
	size_t size;
	git_oid id;
	int rc;

	to_git_oid(&id, oid);
	rc = git_odb_read_header(&size, &type, db, &id);
	if (rc < 0)
		return fail_read(rc, oid);
	if (type != GIT_OBJECT_BLOB)
		return ews_error(EWS_EDAMAGED, "object %s is a %s, not a blob", ews_oid_hex(hex, oid),
				 ews_object_type_name((enum ews_object_type)type));
	if (size > STREAM_FROM_BYTES) {
		rc = stream_blob(fd, room, db, oid);
		if (rc <= 0)
			return rc;
	}
	rc = read_checked(&obj, room, db, oid);
	if (rc < 0)
		return rc;
	return ews_file_write_fd(fd, git_odb_object_data(obj), git_odb_object_size(obj));
}

static int libgit2_write_to(int fd, struct ews_odb *odb, const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;
	struct reader *reader;
	int rc;

	rc = borrow_reader(&reader, room);
	if (rc < 0)
		return rc;
	rc = write_blob(fd, room, reader->db, oid);
	return_reader(room, reader);
	return rc;
}

/* Without looking for new packs: that costs a directory listing for each object that isn't there. */
static bool libgit2_has(struct ews_odb *odb, const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;
	struct reader *reader;
	bool has;
	git_oid id;

	if (borrow_reader(&reader, room) < 0) {
		ews_error_clear();
		return false;
	}
	to_git_oid(&id, oid);
	has = git_odb_exists_ext(reader->db, &id, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
	return_reader(room, reader);
	return has;
}

static bool libgit2_freshen(struct ews_odb *odb, const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;
	struct reader *reader;
	bool has = false;
	git_oid id;

	if (borrow_reader(&reader, room) < 0) {
		ews_error_clear();
		return false;
	}
	to_git_oid(&id, oid);
	for (size_t i = 0; i < git_odb_num_backends(reader->db) && !has; i++) {
		git_odb_backend *backend = NULL;

		if (git_odb_get_backend(&backend, reader->db, i) == 0 && backend->freshen)
			has = backend->freshen(backend, &id) == 0;
	}
	/* What we may not touch (another user's alternate) is there all the same. */
	if (!has)
		has = git_odb_exists_ext(reader->db, &id, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
	return_reader(room, reader);
	return has;
}

static int libgit2_refresh(struct ews_odb *odb)
{
	struct room *room = (struct room *)odb;

	pthread_mutex_lock(&room->readers_lock);
	room->generation++;
	pthread_mutex_unlock(&room->readers_lock);
	return 0;
}

static int libgit2_ref_read(struct ews_oid *out, struct ews_odb *odb, const char *name)
{
	struct room *room = (struct room *)odb;
	git_oid id;
	int rc;

	pthread_mutex_lock(&room->repo_lock);
	rc = git_reference_name_to_id(&id, room->repo, name);
	if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC)
		rc = ews_error(EWS_ENOTFOUND, "no ref '%s'", name);
	else if (rc < 0)
		rc = fail(rc, EWS_EGIT, "cannot read the ref '%s'", name);
	pthread_mutex_unlock(&room->repo_lock);
	if (rc < 0)
		return rc;
	from_git_oid(out, &id);
	return 0;
}

/* Delete `name` when it is at `from`. Returns a code of libgit2. */
static int try_delete(git_repository *repo, const char *name, const struct ews_oid *from)
{
	EWS_CLEANUP(git_reference) git_reference *ref = NULL;
	git_oid from_id;
	int rc;

	rc = git_reference_lookup(&ref, repo, name);
	if (rc < 0)
		return rc;
	to_git_oid(&from_id, from);
	if (!git_reference_target(ref) || !git_oid_equal(git_reference_target(ref), &from_id))
		return GIT_EMODIFIED;
	/* This compares again, under the ref's lock. */
	return git_reference_delete(ref);
}

/* Move `name` once, without waiting. Returns a code of libgit2. */
static int try_swap(git_repository *repo, const char *name, const struct ews_oid *from, const struct ews_oid *to)
{
	EWS_CLEANUP(git_reference) git_reference *ref = NULL;
	git_oid from_id = { { 0 } }, to_id;
	int rc;

	if (ews_oid_is_none(to))
		return try_delete(repo, name, from);
	to_git_oid(&to_id, to);
	if (!ews_oid_is_none(from)) {
		to_git_oid(&from_id, from);
		return git_reference_create_matching(&ref, repo, name, &to_id, 1, &from_id, REF_LOG_MESSAGE);
	}
	rc = git_reference_create_matching(&ref, repo, name, &to_id, 0, &from_id, REF_LOG_MESSAGE);
	/* Another process has just removed the empty directory that the ref goes to. */
	return rc == GIT_ENOTFOUND ? GIT_ELOCKED : rc;
}

/* Sync the directory that held the ref `name`, or the nearest above it that still stands. */
static int sync_ref_dir(const char *common_dir, const char *name)
{
	EWS_CLEANUP(free) char *dir = ews_path_join(common_dir, name);

	for (;;) {
		EWS_CLEANUP(fd) int fd = -1;
		char *up = ews_path_dir(dir);

		free(dir);
		dir = up;
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return ews_file_sync_dir(fd);
		if (errno != ENOENT || strlen(dir) <= strlen(common_dir))
			return ews_error_os("cannot open '%s'", dir);
	}
}

static int libgit2_ref_swap(struct ews_odb *odb, const char *name, const struct ews_oid *from,
			    const struct ews_oid *to)
{
	struct room *room = (struct room *)odb;
	uint64_t deadline = ews_clock_monotonic_ms() + REF_WAIT_MS;
	unsigned wait_ms = 2;
	int rc;

	for (;;) {
		pthread_mutex_lock(&room->repo_lock);
		errno = 0;
		rc = try_swap(room->repo, name, from, to);
		if (rc < 0 && (rc != GIT_ELOCKED || ews_clock_monotonic_ms() >= deadline))
			break;
		pthread_mutex_unlock(&room->repo_lock);
		if (rc == 0)
			return ews_oid_is_none(to) ? sync_ref_dir(odb->common_dir, name) : 0;
		ews_clock_sleep_ms(wait_ms);
		if (wait_ms < 50)
			wait_ms *= 2;
	}
	if (rc == GIT_EMODIFIED || rc == GIT_EEXISTS || (rc == GIT_ENOTFOUND && !ews_oid_is_none(from)))
		rc = ews_error(EWS_ESTALE, "ref '%s' moved meanwhile", name);
	else
		rc = fail(rc, EWS_EGIT, "cannot move the ref '%s'", name);
	if (rc == EWS_EBUSY)
		ews_error_hint("if no git command is running, remove '%s/%s.lock'", odb->common_dir, name);
	pthread_mutex_unlock(&room->repo_lock);
	return rc;
}

static int list_refs(struct ews_refs *out, git_repository *repo, const char *prefix)
{
	EWS_CLEANUP(git_iterator) git_reference_iterator *iter = NULL;
	EWS_CLEANUP(free) char *glob = ews_strfmt("%s*", prefix);
	int rc;

	rc = git_reference_iterator_glob_new(&iter, repo, glob);
	if (rc < 0)
		return fail(rc, EWS_EGIT, "cannot list the refs '%s'", glob);
	for (;;) {
		EWS_CLEANUP(git_reference) git_reference *ref = NULL;
		EWS_CLEANUP(git_reference) git_reference *direct = NULL;
		struct ews_ref *item;

		rc = git_reference_next(&ref, iter);
		if (rc == GIT_ITEROVER)
			return 0;
		if (rc < 0)
			return fail(rc, EWS_EGIT, "cannot list the refs '%s'", glob);
		if (git_reference_resolve(&direct, ref) < 0)
			continue;
		EWS_GROW(out->items, out->n, out->cap);
		item = &out->items[out->n++];
		item->name = ews_strdup(git_reference_name(ref));
		from_git_oid(&item->oid, git_reference_target(direct));
	}
}

static int libgit2_ref_list(struct ews_refs *out, struct ews_odb *odb, const char *prefix)
{
	struct room *room = (struct room *)odb;
	int rc;

	pthread_mutex_lock(&room->repo_lock);
	rc = list_refs(out, room->repo, prefix);
	pthread_mutex_unlock(&room->repo_lock);
	return rc;
}

static int resolve(struct ews_oid *out, git_repository *repo, const char *spec, int want)
{
	EWS_CLEANUP(git_object) git_object *obj = NULL;
	EWS_CLEANUP(git_object) git_object *peeled = NULL;
	int rc;

	rc = git_revparse_single(&obj, repo, spec);
	if (rc == GIT_EAMBIGUOUS)
		return ews_error(EWS_ENOTFOUND, "'%s' may mean more than one object", spec);
	if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC)
		return ews_error(EWS_ENOTFOUND, "'%s' is no revision here", spec);
	if (rc < 0)
		return fail(rc, EWS_ENOTFOUND, "cannot find the revision '%s'", spec);
	if (want) {
		rc = git_object_peel(&peeled, obj, (git_object_t)want);
		if (rc < 0)
			return ews_error(EWS_ENOTFOUND, "'%s' names no %s", spec,
					 ews_object_type_name((enum ews_object_type)want));
	}
	from_git_oid(out, git_object_id(peeled ? peeled : obj));
	return 0;
}

static int libgit2_resolve(struct ews_oid *out, struct ews_odb *odb, const char *spec, int want)
{
	struct room *room = (struct room *)odb;
	int rc;

	pthread_mutex_lock(&room->repo_lock);
	rc = resolve(out, room->repo, spec, want);
	pthread_mutex_unlock(&room->repo_lock);
	return rc;
}

static int open_config(git_config **out, const struct room *room)
{
	EWS_CLEANUP(git_config) git_config *config = NULL;
	EWS_CLEANUP(free) char *shared = ews_path_join(room->face.common_dir, "config");
	EWS_CLEANUP(free) char *own = ews_path_join(room->face.git_dir, "config.worktree");
	int rc, has_own = 0;

	rc = git_config_new(&config);
	if (rc < 0)
		return fail(rc, EWS_ECONFIG, "cannot read the git config");
	rc = add_user_config(config, room->repo);
	if (rc < 0)
		return rc;
	rc = add_config_file(config, shared, GIT_CONFIG_LEVEL_LOCAL, room->repo);
	if (rc < 0)
		return rc;
	if (git_config_get_bool(&has_own, config, "extensions.worktreeconfig") == 0 && has_own) {
		rc = add_config_file(config, own, GIT_CONFIG_LEVEL_APP, room->repo);
		if (rc < 0)
			return rc;
	}
	*out = ews_steal(&config);
	return 0;
}

static int libgit2_config(char **out, struct ews_odb *odb, const char *key)
{
	struct room *room = (struct room *)odb;
	EWS_CLEANUP(git_config) git_config *config = NULL;
	int rc;

	pthread_mutex_lock(&room->repo_lock);
	rc = open_config(&config, room);
	if (rc == 0)
		rc = read_config(out, config, key);
	pthread_mutex_unlock(&room->repo_lock);
	return rc;
}

static void libgit2_release(struct ews_odb *odb)
{
	struct room *room = (struct room *)odb;

	while (room->idle) {
		struct reader *reader = room->idle;

		room->idle = reader->next;
		git_odb_free(reader->db);
		free(reader);
	}
	git_repository_free(room->repo);
	pthread_mutex_destroy(&room->readers_lock);
	pthread_mutex_destroy(&room->repo_lock);
}

static const struct ews_odb_ops ops = {
	.read = libgit2_read,
	.read_header = libgit2_read_header,
	.write_to = libgit2_write_to,
	.has = libgit2_has,
	.freshen = libgit2_freshen,
	.refresh = libgit2_refresh,
	.ref_read = libgit2_ref_read,
	.ref_swap = libgit2_ref_swap,
	.ref_list = libgit2_ref_list,
	.resolve = libgit2_resolve,
	.config = libgit2_config,
	.release = libgit2_release,
};

int ews_odb_open_libgit2(struct ews_odb **out, const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(git_repository) git_repository *repo = NULL;
	struct format format = { 0 };
	struct room *room;
	int rc;

	need_libgit2();
	rc = read_format(&format, common_dir, git_dir);
	if (rc < 0)
		return rc;
	rc = open_repository(&repo, git_dir, common_dir, &format);
	if (rc < 0)
		return rc;
	room = ews_calloc(1, sizeof(*room));
	room->face.ops = &ops;
	room->face.algo = EWS_SHA1;
	room->repo = ews_steal(&repo);
	pthread_mutex_init(&room->readers_lock, NULL);
	pthread_mutex_init(&room->repo_lock, NULL);
	*out = &room->face;
	return 0;
}
