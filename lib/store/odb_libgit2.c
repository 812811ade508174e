/*
 * The store through libgit2: objects, refs and revisions of SHA-1 repositories.
 *
 * This, odb_libgit2_refs.c, odb_libgit2_config.c, odb_libgit2_guard.c, odb_libgit2_lines.c and odb_libgit2_merge.c are the one room
 * that includes git2.h.
 *
 * libgit2 locks its caches when a handle is shared, so that each thread that
 * reads borrows an object database of its own. Refs, revisions and config go
 * through one repository handle behind a mutex: they are rare.
 *
 * libgit2 1.5 has traps that this room steps around:
 * - It opens a SHA-256 repository as SHA-1 and breaks it once "objectformat" is
 *   in its list of extensions. So the format is read first, and that word is
 *   allowed only for a repository that says "sha1".
 * - Its own check of what it reads runs at a third of the speed of nettle's. It is
 *   off, and every object read is checked here, once.
 * - It keeps all of a pack and its index mapped that was ever touched, and inflates into a buffer that is made for each
 *   object; and to load it takes longer than most verbs do. So what is ordinary is read by store/pack_read and
 *   store/loose_read, and what those leave by libgit2.
 * - Of a loose object that was cut short it waits for the rest for ever: see odb_libgit2_guard.c.
 * - It doesn't wait for another process's lock on a ref.
 * - To delete a ref that is packed it writes packed-refs anew from what it has read before it locked that file: what a git that
 *   packs refs put there meanwhile would be lost, with its branches. So git deletes refs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb_libgit2.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <git2/sys/odb_backend.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/meter.h"
#include "base/spares.h"
#include "store/loose_read.h"
#include "store/odb.h"
#include "store/odb_ops.h"
#include "store/pack_read.h"

/* Blobs above this are streamed where libgit2 can (loose ones). */
#define STREAM_FROM_BYTES (32 * EWS_MIB)
#define STREAM_STEP_BYTES (256 * EWS_KIB)

/* An object database that one thread at a time uses. */
struct reader {
	struct ews_spare spare;
	git_odb *db; /* NULL until it is needed */
	struct ews_pack_reader *packed; /* NULL until it is needed */
	struct ews_buf loose; /* the object that was read last */
	unsigned generation; /* of `db` */
};

/* An object that was read: the reader's until its next one, or libgit2's. */
struct object {
	enum ews_object_type type;
	const void *data; /* NULL: it was not read, for it has too many bytes */
	size_t len;
	git_odb_object *theirs;
};

struct room {
	struct ews_odb face;
	struct ews_spares readers;
	atomic_uint generation; /* counts refreshes; a reader that is behind looks again */
	pthread_mutex_t packs_lock;
	struct ews_packs *_Atomic packs; /* NULL until they are needed */
	atomic_uint packs_generation;
	pthread_mutex_t repo_lock;
	struct ews_odb_format format;
	git_repository *repo; /* NULL until it is asked for */
	bool repo_is_guarded; /* so that objects may be read by it */
};

static void release_object(struct object *object)
{
	if (object->theirs)
		ews_git2.git_odb_object_free(object->theirs);
}

EWS_CLEANUP_DEFINE(object, struct object, release_object)
EWS_GIT2_CLEANUP(git_odb)
EWS_GIT2_CLEANUP(git_odb_object)
EWS_GIT2_CLEANUP(git_odb_stream)

/* libgit2's list of extensions is global; it is set and used under this. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_repository(git_repository **out, const char *git_dir, const struct ews_odb_format *format)
{
	const char *extensions[5] = { "worktreeconfig", "partialclone", "preciousobjects" };
	/* The store is all that is wanted, and a work tree that is not there would keep libgit2 from it. */
	const unsigned flags = GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT |
			       (format->lacks_worktree ? GIT_REPOSITORY_OPEN_BARE : 0);
	size_t n = 3;
	int rc;

	if (format->says_hash)
		extensions[n++] = "objectformat";
	if (format->says_refs)
		extensions[n++] = "refstorage";
	pthread_mutex_lock(&open_lock);
	ews_git2.git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, n);
	rc = ews_git2.git_repository_open_ext(out, git_dir, flags, NULL);
	pthread_mutex_unlock(&open_lock);
	if (rc == GIT_ENOTFOUND)
		return ews_error(EWS_ENOTFOUND, "no git repository at '%s'", git_dir);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_EGIT, "cannot open the repository '%s'", git_dir);
	return 0;
}

/* Open the repository. Under its lock. */
static int need_repo(struct room *room)
{
	int rc = room->repo ? 0 : ews_libgit2_need();

	if (rc < 0 || room->repo)
		return rc;
	return open_repository(&room->repo, room->face.git_dir, &room->format);
}

/* The same, and let objects be read by it. */
static int need_guarded_repo(struct room *room)
{
	EWS_CLEANUP(git_odb) git_odb *db = NULL;
	int rc = need_repo(room);

	if (rc < 0 || room->repo_is_guarded)
		return rc;
	rc = ews_git2.git_repository_odb(&db, room->repo);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_EGIT, "cannot open the objects of '%s'", room->face.git_dir);
	rc = ews_libgit2_guard(db, &room->face);
	room->repo_is_guarded = rc == 0;
	return rc;
}

/* The packs as they are after the last refresh. */
static struct ews_packs *need_packs(struct room *room)
{
	struct ews_packs *packs = room->packs;
	unsigned generation = room->generation;

	/* Mostly there is nothing to do, and threads that ask for each object need not wait for one another. */
	if (packs && room->packs_generation == generation)
		return packs;
	pthread_mutex_lock(&room->packs_lock);
	generation = room->generation;
	packs = room->packs;
	if (!packs)
		room->packs = packs = ews_packs_open(ews_odb_object_dir(&room->face));
	else if (room->packs_generation != generation)
		ews_packs_look_again(packs);
	room->packs_generation = generation;
	pthread_mutex_unlock(&room->packs_lock);
	return packs;
}

/* What this thread reads with, given back by return_reader(). */
static struct reader *borrow_reader(struct room *room)
{
	struct reader *reader = (struct reader *)ews_spares_take(&room->readers);

	if (!reader) {
		reader = ews_calloc(1, sizeof(*reader));
		reader->loose = (struct ews_buf)EWS_BUF_INIT;
	}
	return reader;
}

/* Let libgit2 look at the store, as it is after the last refresh. */
static int need_db(struct reader *reader, const struct room *room)
{
	unsigned generation = room->generation;
	EWS_CLEANUP(git_odb) git_odb *db = NULL;
	int rc;

	if (reader->db) {
		/* When it can't look again it serves what it knows; reading a missing object looks once more. */
		if (reader->generation != generation)
			(void)ews_git2.git_odb_refresh(reader->db);
		reader->generation = generation;
		return 0;
	}
	rc = ews_libgit2_need();
	if (rc < 0)
		return rc;
	rc = ews_git2.git_odb_open(&db, ews_odb_write_dir(&room->face));
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_EGIT, "cannot open '%s'", ews_odb_write_dir(&room->face));
	rc = ews_libgit2_guard(db, &room->face);
	if (rc < 0)
		return rc;
	reader->db = ews_steal(&db);
	reader->generation = generation;
	return 0;
}

static void return_reader(struct room *room, struct reader *reader)
{
	if (reader->packed)
		ews_pack_reader_done(reader->packed);
	ews_spares_give(&room->readers, &reader->spare);
}

static int fail_read(int git_rc, const struct room *room, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	if (git_rc == GIT_ENOTFOUND)
		return ews_odb_missing(&room->face, oid);
	if (ews_odb_check_readable(&room->face, oid) < 0)
		return ews_error_code();
	return ews_libgit2_fail(git_rc, EWS_EDAMAGED, "object %s is damaged", ews_oid_hex(hex, oid));
}

static int check_blob(const struct ews_oid *oid, enum ews_object_type type)
{
	char hex[EWS_OID_HEX_MAX];

	if (type == EWS_OBJECT_BLOB)
		return 0;
	return ews_error(EWS_EDAMAGED, "object %s is a %s, not a blob", ews_oid_hex(hex, oid),
			 ews_object_type_name(type));
}

/* A large blob on its way to a file. */
struct passing {
	int fd;
	const struct ews_oid *oid;
	const struct ews_pack_place *place; /* NULL: it was not looked for */
	struct ews_hash *hash; /* of what came so far; NULL: nothing did */
	enum ews_hash_algo algo;
};

static void release_passing(struct passing *passing)
{
	ews_hash_free(passing->hash);
}

EWS_CLEANUP_DEFINE(passing, struct passing, release_passing)

/* What was written is of no use. */
static int start_over(struct passing *passing)
{
	if (!passing->hash)
		return 0;
	ews_hash_free(passing->hash);
	passing->hash = NULL;
	if (ftruncate(passing->fd, 0) < 0 || lseek(passing->fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot begin the file again");
	return 0;
}

static int begin_passing(void *payload, enum ews_object_type type, uint64_t size)
{
	struct passing *passing = payload;
	char header[EWS_OBJECT_HEADER_MAX];
	int rc = check_blob(passing->oid, type);

	if (rc == 0)
		rc = start_over(passing);
	if (rc < 0)
		return rc;
	passing->hash = ews_hash_new(passing->algo);
	ews_hash_add(passing->hash, header, ews_object_header(header, type, size));
	return 0;
}

static int pass(void *payload, const void *data, size_t len)
{
	struct passing *passing = payload;

	ews_hash_add(passing->hash, data, len);
	ews_meter_count(len);
	return ews_file_write_fd(passing->fd, data, len);
}

/* All came: is it what its id says? */
static int check_passed(struct passing *passing)
{
	struct ews_oid real = EWS_OID_NONE;

	real.len = (uint8_t)ews_hash_finish(passing->hash, real.id);
	return ews_odb_check_id(passing->oid, &real);
}

/*
 * To look for packs takes longer than to look at a file: as long as nobody needed them what is loose comes first. Of many
 * objects nearly all are in packs, which come first from then on.
 */
static bool is_loose_first(const struct room *room)
{
	return !room->packs;
}

/* Read what is small and loose. */
static bool read_loose(struct object *out, const struct room *room, struct reader *reader, const struct ews_oid *oid)
{
	ews_buf_truncate(&reader->loose, 0);
	if (!ews_loose_read(&reader->loose, &out->type, ews_odb_write_dir(&room->face), oid))
		return false;
	out->data = reader->loose.ptr;
	out->len = reader->loose.len;
	return true;
}

/* What is read of packs. */
struct wanted {
	const struct room *room;
	const struct ews_oid *oid;
	struct passing *passing; /* where a large blob goes, or NULL */
};

/* Another pack may have it as it should be, so this is asked while there is one. */
static bool is_sound(void *payload, enum ews_object_type type, const struct ews_buf *content)
{
	const struct wanted *wanted = payload;
	int rc = content ? ews_odb_check(&wanted->room->face, wanted->oid, type, content->ptr, content->len)
			 : check_passed(wanted->passing);

	if (rc < 0)
		ews_error_clear(); /* the last pack's reader says it */
	return rc == 0;
}

/* Read it where it was found to stand. As the reader of packs returns it; 0: it is not to be had so. */
static int read_there(const struct ews_buf **out, enum ews_object_type *type, struct reader *reader,
		      struct ews_packs *packs, const struct passing *passing, const struct ews_pack_sink *sink,
		      const struct ews_pack_check *check)
{
	int rc;

	if (!passing || !passing->place)
		return 0;
	rc = ews_pack_reader_read_at(out, type, reader->packed, packs, passing->place, sink, check);
	return rc == EWS_EDAMAGED ? 0 : rc; /* who looks for it says so, or has it elsewhere */
}

/* As read_ordinary() below, from packs alone. */
static int read_packed(struct object *out, struct room *room, struct reader *reader, const struct ews_oid *oid,
		       uint64_t max, struct passing *passing)
{
	struct wanted wanted = { room, oid, passing };
	const struct ews_pack_sink sink = { begin_passing, pass, passing };
	const struct ews_pack_check check = { is_sound, &wanted };
	struct ews_packs *packs = need_packs(room);
	const struct ews_buf *content;
	uint64_t size = 0;
	int found = 1, there;

	if (!reader->packed)
		reader->packed = ews_pack_reader_new();
	if (max < UINT64_MAX)
		found = ews_pack_reader_read_header(&out->type, &size, reader->packed, packs, oid);
	if (found > 0 && size > max) {
		out->len = size;
		return found;
	}
	there = read_there(&content, &out->type, reader, packs, passing, &sink, &check);
	if (there)
		found = there;
	else if (found) /* of what is damaged another pack may have all */
		found = ews_pack_reader_read(&content, &out->type, reader->packed, packs, oid,
					     passing ? &sink : NULL, &check);
	if (found == 1) {
		out->data = content->ptr;
		out->len = content->len;
	}
	return found;
}

/*
 * Read what is ordinary, checked; a large blob goes to `passing`, if it is not NULL. Of what has more than `max` bytes type
 * and length are enough. Returns 1, 2 when it was passed, or 0 when it is libgit2's to find. What is damaged is told here:
 * where bytes of a pack are not what they should be, libgit2 1.5 may end with the program.
 */
static int read_ordinary(struct object *out, struct room *room, struct reader *reader, const struct ews_oid *oid,
			 uint64_t max, struct passing *passing)
{
	char hex[EWS_OID_HEX_MAX];
	int rc;

	if (is_loose_first(room) && read_loose(out, room, reader, oid))
		return 1;
	rc = read_packed(out, room, reader, oid, max, passing);
	if (rc > 0 || (rc < 0 && rc != EWS_EDAMAGED))
		return rc;
	/* What is damaged in its pack may be sound beside it. */
	if (!read_loose(out, room, reader, oid))
		return rc < 0 ? ews_error(rc, "object %s is damaged in its pack", ews_oid_hex(hex, oid)) : 0;
	ews_error_clear();
	return 1;
}

/* Have libgit2 read the object, and see that it is what its id says; of what has more than `max` bytes as above. Returns 1. */
static int read_other(struct object *out, const struct room *room, struct reader *reader, const struct ews_oid *oid,
		      uint64_t max)
{
	EWS_CLEANUP(git_odb_object) git_odb_object *obj = NULL;
	struct object found;
	git_object_t git_type;
	git_oid id;
	int rc;

	rc = need_db(reader, room);
	if (rc < 0)
		return rc;
	ews_libgit2_from_oid(&id, oid);
	ews_libgit2_unread = 0;
	if (max < UINT64_MAX) {
		rc = ews_git2.git_odb_read_header(&out->len, &git_type, reader->db, &id);
		if (rc < 0)
			return fail_read(rc, room, oid);
		out->type = (enum ews_object_type)git_type;
		if (out->len > max)
			return 1;
	}
	rc = ews_git2.git_odb_read(&obj, reader->db, &id);
	if (rc < 0)
		return fail_read(rc, room, oid);
	found = (struct object){ .type = (enum ews_object_type)ews_git2.git_odb_object_type(obj),
				 .data = ews_git2.git_odb_object_data(obj),
				 .len = ews_git2.git_odb_object_size(obj) };
	rc = ews_odb_check(&room->face, oid, found.type, found.data, found.len);
	if (rc < 0)
		return rc;
	*out = found;
	out->theirs = ews_steal(&obj);
	return 1;
}

static int read_object(struct object *out, struct room *room, struct reader *reader, const struct ews_oid *oid,
		       uint64_t max)
{
	int rc = read_ordinary(out, room, reader, oid, max, NULL);

	return rc ? rc : read_other(out, room, reader, oid, max);
}

static int libgit2_read(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb,
			const struct ews_oid *oid, uint64_t max)
{
	struct room *room = (struct room *)odb;
	struct reader *reader = borrow_reader(room);
	EWS_CLEANUP(object) struct object object = { .theirs = NULL };
	int rc = read_object(&object, room, reader, oid, max);

	if (rc >= 0 && object.len <= max)
		ews_buf_add(out, object.data, object.len);
	if (rc >= 0 && type)
		*type = object.type;
	return_reader(room, reader);
	return rc < 0 ? rc : object.len > max;
}

static int libgit2_read_header(enum ews_object_type *type, uint64_t *size, struct ews_odb *odb,
			       const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;
	struct reader *reader = borrow_reader(room);
	EWS_CLEANUP(object) struct object object = { .theirs = NULL };
	int rc = read_object(&object, room, reader, oid, 0);

	if (rc >= 0)
		*type = object.type;
	if (rc >= 0 && size)
		*size = object.len;
	return_reader(room, reader);
	return rc < 0 ? rc : 0;
}

/* Pass a loose blob on step by step. Returns 1 when the object can't be streamed. */
static int stream_blob(struct passing *passing, const struct room *room, git_odb *db)
{
	EWS_CLEANUP(free) char *step = ews_malloc(STREAM_STEP_BYTES);
	EWS_CLEANUP(git_odb_stream) git_odb_stream *stream = NULL;
	git_object_t type;
	git_oid id;
	size_t size;
	int rc = ews_odb_check_loose(&room->face, passing->oid), n;

	if (rc == EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	ews_libgit2_from_oid(&id, passing->oid);
	if (ews_git2.git_odb_open_rstream(&stream, &size, &type, db, &id) < 0)
		return 1;
	rc = begin_passing(passing, (enum ews_object_type)type, size);
	while (rc == 0 && (n = ews_git2.git_odb_stream_read(stream, step, STREAM_STEP_BYTES)) != 0)
		rc = n < 0 ? fail_read(n, room, passing->oid) : pass(passing, step, (size_t)n);
	return rc < 0 ? rc : check_passed(passing);
}

/* Have libgit2 pass the blob on step by step if it is large, or read it. Returns 1 when it was read. */
static int pass_other(struct object *out, struct passing *passing, const struct room *room, struct reader *reader)
{
	int rc = read_other(out, room, reader, passing->oid, STREAM_FROM_BYTES);

	if (rc < 0 || out->len <= STREAM_FROM_BYTES)
		return rc;
	rc = check_blob(passing->oid, out->type);
	if (rc == 0)
		rc = stream_blob(passing, room, reader->db);
	return rc == 1 ? read_other(out, room, reader, passing->oid, UINT64_MAX) : rc;
}

/* What a pack has damaged may be loose as well, and large; libgit2 looks for what it passes on nowhere else. */
static int stream_beside(struct passing *passing, const struct room *room, struct reader *reader)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	int rc;

	ews_error_save(&saved);
	rc = need_db(reader, room);
	if (rc == 0)
		rc = stream_blob(passing, room, reader->db);
	if (rc != 0)
		return ews_error_restore(&saved);
	(void)ews_error_restore(&saved); /* it is freed by that, too */
	ews_error_clear();
	return 0;
}

static int write_blob(int fd, struct room *room, struct reader *reader, const struct ews_oid *oid,
		      const struct ews_pack_place *place)
{
	EWS_CLEANUP(object) struct object object = { .theirs = NULL };
	EWS_CLEANUP(passing)
	struct passing passing = { .fd = fd, .oid = oid, .place = place, .algo = room->face.algo };
	int rc = read_ordinary(&object, room, reader, oid, UINT64_MAX, &passing);
	int again;

	if (rc == EWS_EDAMAGED)
		return stream_beside(&passing, room, reader);
	if (rc < 0 || rc == 2)
		return rc < 0 ? rc : 0;
	again = start_over(&passing);
	if (again < 0)
		return again;
	if (rc == 0) {
		rc = pass_other(&object, &passing, room, reader);
		if (rc <= 0)
			return rc;
	}
	rc = check_blob(oid, object.type);
	if (rc < 0)
		return rc;
	ews_odb_remember_blob(&room->face, oid, object.data, object.len);
	return ews_file_write_fd(fd, object.data, object.len);
}

static int libgit2_write_to(int fd, struct ews_odb *odb, const struct ews_oid *oid, const struct ews_pack_place *place)
{
	struct room *room = (struct room *)odb;
	struct reader *reader = borrow_reader(room);
	int rc = write_blob(fd, room, reader, oid, place);

	return_reader(room, reader);
	return rc;
}

static void libgit2_find_places(struct ews_pack_place *out, struct ews_odb *odb, const struct ews_oid *const *oids,
				size_t n)
{
	ews_packs_find_places(out, need_packs((struct room *)odb), oids, n);
}

/* Is what the packs don't have, and is not loose, nowhere? */
static bool knows_all(const struct room *room)
{
	return !room->face.aside && ews_packs_are_all(room->packs);
}

/*
 * Without looking for new packs: that costs a directory listing for each object that isn't there. The backends are asked one by
 * one, since libgit2 has an empty tree of its own, which it remembers once it was read.
 */
static bool has_in_db(struct reader *reader, const git_oid *id)
{
	for (size_t i = 0; i < ews_git2.git_odb_num_backends(reader->db); i++) {
		git_odb_backend *backend = NULL;

		if (ews_git2.git_odb_get_backend(&backend, reader->db, i) == 0 && backend->exists &&
		    backend->exists(backend, id) == 1)
			return true;
	}
	return false;
}

static bool freshen_in_db(struct reader *reader, const git_oid *id)
{
	for (size_t i = 0; i < ews_git2.git_odb_num_backends(reader->db); i++) {
		git_odb_backend *backend = NULL;

		if (ews_git2.git_odb_get_backend(&backend, reader->db, i) == 0 && backend->freshen &&
		    backend->freshen(backend, id) == 0)
			return true;
	}
	/* What we may not touch (another user's alternate) is there all the same. */
	return has_in_db(reader, id);
}

/* Ask libgit2 by `look`. */
static bool ask_db(struct room *room, const struct ews_oid *oid,
		   bool (*look)(struct reader *reader, const git_oid *id))
{
	struct reader *reader = borrow_reader(room);
	bool has = need_db(reader, room) == 0;
	git_oid id;

	if (has) {
		ews_libgit2_from_oid(&id, oid);
		has = look(reader, &id);
	} else {
		ews_error_clear();
	}
	return_reader(room, reader);
	return has;
}

/* Is it loose or in a pack, by these two looks? */
static bool is_near(struct room *room, const struct ews_oid *oid,
		    bool (*look_loose)(const char *object_dir, const struct ews_oid *oid),
		    bool (*look_packed)(struct ews_packs *packs, const struct ews_oid *oid))
{
	const char *dir = ews_odb_write_dir(&room->face);

	/* What was not loose may be by the time that the packs are known. */
	return (is_loose_first(room) && look_loose(dir, oid)) || look_packed(need_packs(room), oid) ||
	       look_loose(dir, oid);
}

static bool libgit2_has(struct ews_odb *odb, const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;

	return is_near(room, oid, ews_loose_has, ews_packs_have) ||
	       (!knows_all(room) && ask_db(room, oid, has_in_db));
}

static bool libgit2_has_packed(struct ews_odb *odb, const struct ews_oid *oid)
{
	return ews_packs_have(need_packs((struct room *)odb), oid);
}

static bool libgit2_freshen(struct ews_odb *odb, const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;

	return is_near(room, oid, ews_loose_freshen, ews_packs_freshen) ||
	       (!knows_all(room) && ask_db(room, oid, freshen_in_db));
}

static int libgit2_refresh(struct ews_odb *odb)
{
	((struct room *)odb)->generation++;
	return 0;
}

static bool is_symbolic(struct ews_odb *odb, const char *name)
{
	EWS_CLEANUP(free) char *last = NULL;
	struct ews_oid oid;

	if (ews_odb_ref_follow(&oid, &last, odb, name) < 0)
		ews_error_clear();
	return strcmp(last, name) != 0;
}

static int libgit2_ref_swap(struct ews_odb *odb, const char *name, const struct ews_oid *from,
			    const struct ews_oid *to)
{
	struct room *room = (struct room *)odb;
	struct ews_sharing sharing = ews_odb_sharing(odb);
	uint64_t deadline = ews_clock_monotonic_ms() + EWS_ODB_REF_WAIT_MS;
	unsigned wait_ms = 2;
	int rc;

	/* What is shared libgit2 makes as the umask has it. */
	if (ews_oid_is_none(to) || sharing.bits || sharing.os_error)
		return ews_odb_git_ref_swap(odb, name, from, to);
	for (;;) {
		pthread_mutex_lock(&room->repo_lock);
		rc = need_repo(room);
		if (rc < 0) {
			pthread_mutex_unlock(&room->repo_lock);
			return rc;
		}
		errno = 0;
		rc = ews_libgit2_try_swap(room->repo, odb->common_dir, name, from, to);
		if (rc < 0 && (rc != GIT_ELOCKED || ews_clock_monotonic_ms() >= deadline))
			break;
		pthread_mutex_unlock(&room->repo_lock);
		if (rc == 0)
			return 0;
		ews_clock_sleep_ms(wait_ms);
		if (wait_ms < 50)
			wait_ms *= 2;
	}
	/* Where it leads libgit2 doesn't compare. */
	if ((rc == GIT_EMODIFIED || rc == GIT_EEXISTS) && is_symbolic(odb, name)) {
		pthread_mutex_unlock(&room->repo_lock);
		return ews_odb_git_ref_swap(odb, name, from, to);
	}
	if (rc == GIT_EMODIFIED || rc == GIT_EEXISTS || (rc == GIT_ENOTFOUND && !ews_oid_is_none(from)))
		rc = ews_error(EWS_ESTALE, "ref '%s' moved meanwhile", name);
	else
		rc = ews_libgit2_fail(rc, EWS_EGIT, "cannot move the ref '%s'", name);
	if (rc == EWS_EBUSY)
		ews_error_hint("if no git command is running, remove '%s/%s.lock'", odb->common_dir, name);
	pthread_mutex_unlock(&room->repo_lock);
	return rc;
}

static int libgit2_resolve(struct ews_oid *out, struct ews_odb *odb, const char *spec, int want)
{
	struct room *room = (struct room *)odb;
	int rc;

	pthread_mutex_lock(&room->repo_lock);
	rc = need_guarded_repo(room);
	if (rc == 0)
		rc = ews_libgit2_resolve(out, room->repo, spec, want);
	pthread_mutex_unlock(&room->repo_lock);
	return rc;
}

static int libgit2_config(char **out, struct ews_odb *odb, const char *key)
{
	struct room *room = (struct room *)odb;
	int rc;

	pthread_mutex_lock(&room->repo_lock);
	rc = need_repo(room);
	if (rc == 0)
		rc = ews_libgit2_config(out, room->repo, odb->git_dir, odb->common_dir, key);
	pthread_mutex_unlock(&room->repo_lock);
	return rc;
}

static void free_reader(struct ews_spare *spare)
{
	struct reader *reader = (struct reader *)spare;

	if (reader->db)
		ews_git2.git_odb_free(reader->db);
	ews_pack_reader_free(reader->packed);
	ews_buf_release(&reader->loose);
	free(reader);
}

static void libgit2_move(struct ews_odb *odb)
{
	ews_spares_clear(&((struct room *)odb)->readers, free_reader);
}

static void libgit2_release(struct ews_odb *odb)
{
	struct room *room = (struct room *)odb;

	libgit2_move(odb);
	ews_packs_free(room->packs);
	if (room->repo)
		ews_git2.git_repository_free(room->repo);
	pthread_mutex_destroy(&room->packs_lock);
	pthread_mutex_destroy(&room->repo_lock);
}

static const struct ews_odb_ops ops = {
	.read = libgit2_read,
	.read_header = libgit2_read_header,
	.write_to = libgit2_write_to,
	.find_places = libgit2_find_places,
	.has = libgit2_has,
	.has_packed = libgit2_has_packed,
	.freshen = libgit2_freshen,
	.refresh = libgit2_refresh,
	.move = libgit2_move,
	.ref_swap = libgit2_ref_swap,
	.resolve = libgit2_resolve,
	.config = libgit2_config,
	.release = libgit2_release,
};

struct ews_odb *ews_odb_open_libgit2(const struct ews_odb_format *format)
{
	struct room *room = ews_calloc(1, sizeof(*room));

	room->face.ops = &ops;
	room->format = *format;
	room->readers = (struct ews_spares)EWS_SPARES_INIT;
	pthread_mutex_init(&room->packs_lock, NULL);
	pthread_mutex_init(&room->repo_lock, NULL);
	return &room->face;
}
