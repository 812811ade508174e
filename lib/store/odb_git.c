/*
 * The store through git itself: for what libgit2 doesn't read, which is SHA-256.
 *
 * Objects come from `git cat-file --batch-command`, which is asked and answers
 * until it is closed; each thread that reads borrows one, and they wait in a list
 * between two calls. It stands in a neutral repository (store/git), so that a
 * missing object is missing, whatever remote has promised it.
 *
 * A git that dies is one error, which names what it was asked for; the
 * next question starts another.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/meter.h"
#include "base/path.h"
#include "base/spares.h"
#include "base/strv.h"
#include "store/git.h"
#include "store/home.h"
#include "store/loose_read.h"
#include "store/object_dirs.h"
#include "store/odb.h"
#include "store/odb_ops.h"

/* Blobs above this are passed on in steps. */
#define STREAM_FROM_BYTES (32 * EWS_MIB)
#define STREAM_STEP_BYTES (256 * EWS_KIB)

/* A git that one thread at a time asks. */
struct reader {
	struct ews_spare spare;
	struct ews_child *child;
};

struct room {
	struct ews_odb face;
	char *home;
	pthread_mutex_t lock;
	struct ews_spares readers;
	/* To start a git takes longer than to read a file: what is loose is read here until one has to be asked. */
	atomic_bool has_begun;
	char *neutral_dir; /* NULL until the first reader */
	struct ews_strv object_dirs; /* ours, then those it borrows from; empty until they are asked for */
	bool packs_are_fresh;
};

/* What git says of an object before its content. */
struct answer {
	enum ews_object_type type;
	uint64_t size;
};

static int need_neutral_dir(struct room *room)
{
	EWS_CLEANUP(fd) int home = -1;

	if (room->neutral_dir)
		return 0;
	home = ews_home_open(room->home);
	if (home < 0)
		return home;
	return ews_git_neutral_dir(&room->neutral_dir, room->home, room->face.algo);
}

static int open_reader(struct reader **out, struct room *room)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	struct ews_git_opts opts = { .object_dir = ews_odb_write_dir(&room->face) };
	struct ews_child *child = NULL;
	int rc;

	pthread_mutex_lock(&room->lock);
	rc = need_neutral_dir(room);
	opts.neutral_dir = room->neutral_dir;
	pthread_mutex_unlock(&room->lock);
	if (rc == 0) {
		ews_strv_add_all(&args, "cat-file", "--batch-command", NULL);
		rc = ews_git_open(&child, &opts, args.items);
	}
	if (rc < 0)
		return ews_odb_git_unasked(rc);
	room->has_begun = true;
	*out = ews_calloc(1, sizeof(**out));
	(*out)->child = child;
	return 0;
}

/* A git for this thread, given back by return_reader(). */
static int borrow_reader(struct reader **out, struct room *room)
{
	*out = (struct reader *)ews_spares_take(&room->readers);
	return *out ? 0 : open_reader(out, room);
}

static void free_reader(struct ews_spare *spare)
{
	struct reader *reader = (struct reader *)spare;

	ews_child_free(reader->child);
	free(reader);
}

/* One without a child has died, or was left in the middle of an answer. */
static void return_reader(struct room *room, struct reader *reader)
{
	if (reader->child)
		ews_spares_give(&room->readers, &reader->spare);
	else
		free_reader(&reader->spare);
}

/* Leave the rest of an answer unheard. */
static void give_up(struct reader *reader)
{
	ews_child_free(ews_steal(&reader->child));
}

/* git ends by itself, and says why, where it can't go on for an object; what else ends it is not the object's fault. */
static int fail_dead(struct reader *reader, const struct ews_oid *oid)
{
	EWS_CLEANUP(free) char *sentence = ews_git_sentence(ews_child_complaint(reader->child));
	char hex[EWS_OID_HEX_MAX];
	int status = ews_child_close(ews_steal(&reader->child));

	if (status < 0)
		return status;
	ews_oid_hex(hex, oid);
	if (status == 128 && *sentence)
		return ews_error(EWS_EDAMAGED, "object %s is damaged: %s", hex, sentence);
	if (status > 128) {
		ews_error(EWS_EIO, "'git cat-file' was ended by signal %d when it was asked for object %s",
			  status - 128, hex);
		return ews_error_as_passing();
	}
	return ews_error(EWS_EGIT, "'git cat-file' ended with status %d when it was asked for object %s%s%s",
			 status, hex, *sentence ? ": " : "", sentence);
}

/*
 * "missing" is also what git says of a file that it can't make sense of, or, the newer ones, can't open just now. Of
 * the two that one is damaged which doesn't become whole by being looked at again.
 */
static int fail_missing(struct reader *reader, const struct room *room, const struct ews_oid *oid)
{
	const struct ews_buf *complaint = ews_child_complaint(reader->child);
	EWS_CLEANUP(free) char *sentence = NULL;
	char hex[EWS_OID_HEX_MAX];
	int rc;

	ews_oid_hex(hex, oid);
	if (!strstr(complaint->ptr, hex + 2))
		return ews_odb_missing(&room->face, oid);
	rc = ews_odb_check_readable(&room->face, oid);
	if (rc == 0)
		rc = ews_loose_check(ews_odb_write_dir(&room->face), oid);
	if (rc < 0 && !ews_odb_has_lost(rc))
		return rc;
	sentence = ews_git_sentence(complaint);
	return rc == 0 ? ews_error(EWS_EIO, "cannot read object %s: %s", hex, sentence)
		       : ews_error(EWS_EDAMAGED, "object %s is damaged: %s", hex, sentence);
}

static int read_type(enum ews_object_type *out, const char *word)
{
	for (int type = EWS_OBJECT_COMMIT; type <= EWS_OBJECT_TAG; type++)
		if (!strcmp(word, ews_object_type_name((enum ews_object_type)type))) {
			*out = (enum ews_object_type)type;
			return 0;
		}
	return -1;
}

/* Ask "<verb> <id>" and hear the line "<id> <type> <size>", after "contents" followed by content and a newline. */
static int ask(struct answer *out, struct reader *reader, const struct room *room, const char *verb,
	       const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX], question[EWS_OID_HEX_MAX + 16], type[16];
	int len = snprintf(question, sizeof(question), "%s %s\n", verb, ews_oid_hex(hex, oid));
	size_t digits = strlen(hex);
	int rc;

	rc = ews_child_ask(reader->child, question, (size_t)len);
	if (rc == 0)
		rc = ews_child_hear_line(&line, reader->child);
	if (rc == 0)
		return fail_dead(reader, oid);
	if (rc > 0 && !strncmp(line.ptr, hex, digits)) {
		if (!strcmp(line.ptr + digits, " missing"))
			return fail_missing(reader, room, oid);
		if (sscanf(line.ptr + digits, " %15s %" SCNu64, type, &out->size) == 2 &&
		    read_type(&out->type, type) == 0)
			return 0;
	}
	give_up(reader);
	return rc < 0 ? rc : ews_error(EWS_EGIT, "git said of object %s what makes no sense: '%.80s'", hex, line.ptr);
}

static int hear(void *out, struct reader *reader, size_t len, const struct ews_oid *oid)
{
	int rc = ews_child_hear(out, reader->child, len);

	if (rc == 0)
		return fail_dead(reader, oid);
	if (rc < 0)
		give_up(reader);
	return rc < 0 ? rc : 0;
}

/* Hear the content that was announced, and what ends it, and see that it is what its id says. */
static int hear_whole(struct ews_buf *out, struct reader *reader, const struct room *room,
		      const struct answer *answer, const struct ews_oid *oid)
{
	size_t size = (size_t)answer->size;
	char *at;
	int rc;

	ews_buf_reserve(out, size + 1);
	at = out->ptr + out->len;
	rc = hear(at, reader, size + 1, oid);
	if (rc == 0)
		rc = ews_odb_check(&room->face, oid, answer->type, at, size);
	if (rc == 0)
		out->len += size;
	/* Behind what counts there was none before, or the newline is there now. */
	out->ptr[out->len] = '\0';
	return rc;
}

static int ask_info(struct answer *out, struct room *room, const struct ews_oid *oid)
{
	struct reader *reader;
	int rc;

	rc = borrow_reader(&reader, room);
	if (rc < 0)
		return rc;
	rc = ask(out, reader, room, "info", oid);
	return_reader(room, reader);
	return rc;
}

static int git_read_header(enum ews_object_type *type, uint64_t *size, struct ews_odb *odb, const struct ews_oid *oid)
{
	struct answer answer;
	int rc;

	rc = ask_info(&answer, (struct room *)odb, oid);
	if (rc < 0)
		return rc;
	*type = answer.type;
	if (size)
		*size = answer.size;
	return 0;
}

static int read_asked(struct ews_buf *out, struct answer *answer, struct room *room, const struct ews_oid *oid,
		      uint64_t max)
{
	struct reader *reader;
	int rc;

	rc = borrow_reader(&reader, room);
	if (rc < 0)
		return rc;
	if (max < UINT64_MAX)
		rc = ask(answer, reader, room, "info", oid);
	if (rc == 0 && answer->size > max)
		rc = 1;
	if (rc == 0)
		rc = ask(answer, reader, room, "contents", oid);
	if (rc == 0)
		rc = hear_whole(out, reader, room, answer, oid);
	return_reader(room, reader);
	return rc;
}

static int git_read(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb, const struct ews_oid *oid,
		    uint64_t max)
{
	struct room *room = (struct room *)odb;
	struct answer answer = { 0 };
	size_t before = out->len;
	int rc = 0;

	if (room->has_begun || !ews_loose_read(out, &answer.type, ews_odb_write_dir(odb), oid)) {
		rc = read_asked(out, &answer, room, oid, max);
	} else if (out->len - before > max) {
		ews_buf_truncate(out, before);
		rc = 1;
	}
	if (rc == 0 && type)
		*type = answer.type;
	return rc;
}

/* Pass a large blob on in steps; that it is damaged shows only at its end. */
static int stream_blob(int fd, struct reader *reader, const struct room *room, const struct answer *answer,
		       const struct ews_oid *oid)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(room->face.algo);
	EWS_CLEANUP(free) char *step = ews_malloc(STREAM_STEP_BYTES);
	char header[EWS_OBJECT_HEADER_MAX];
	struct ews_oid real = EWS_OID_NONE;
	uint64_t left = answer->size;
	int rc;

	ews_hash_add(hash, header, ews_object_header(header, answer->type, answer->size));
	while (left) {
		size_t n = left < STREAM_STEP_BYTES ? (size_t)left : STREAM_STEP_BYTES;

		rc = hear(step, reader, n, oid);
		if (rc < 0)
			return rc;
		ews_hash_add(hash, step, n);
		rc = ews_file_write_fd(fd, step, n);
		if (rc < 0) {
			give_up(reader);
			return rc;
		}
		ews_meter_count(n);
		left -= n;
	}
	rc = hear(step, reader, 1, oid);
	if (rc < 0)
		return rc;
	real.len = (uint8_t)ews_hash_finish(hash, real.id);
	return ews_odb_check_id(oid, &real);
}

static int write_blob(int fd, struct reader *reader, const struct room *room, const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	struct answer answer;
	int rc;

	rc = ask(&answer, reader, room, "contents", oid);
	if (rc < 0)
		return rc;
	if (answer.type != EWS_OBJECT_BLOB) {
		give_up(reader);
		return ews_error(EWS_EDAMAGED, "object %s is a %s, not a blob", ews_oid_hex(hex, oid),
				 ews_object_type_name(answer.type));
	}
	if (answer.size > STREAM_FROM_BYTES)
		return stream_blob(fd, reader, room, &answer, oid);
	rc = hear_whole(&text, reader, room, &answer, oid);
	return rc < 0 ? rc : ews_file_write_fd(fd, text.ptr, text.len);
}

static int git_write_to(int fd, struct ews_odb *odb, const struct ews_oid *oid, const struct ews_pack_place *place)
{
	struct room *room = (struct room *)odb;
	struct reader *reader;
	int rc;

	(void)place; /* git finds it */
	rc = borrow_reader(&reader, room);
	if (rc < 0)
		return rc;
	rc = write_blob(fd, reader, room, oid);
	return_reader(room, reader);
	return rc;
}

static bool is_empty_tree(const struct ews_odb *odb, const struct ews_oid *oid)
{
	struct ews_oid empty_tree;

	ews_odb_empty_tree(&empty_tree, odb);
	return ews_oid_equal(oid, &empty_tree);
}

/* git answers for the empty tree whether it is there or not. Of those whose ids begin as its does, all but the last digit, it says which are. */
static bool has_empty_tree(const struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	char hex[EWS_OID_HEX_MAX];

	if (ews_loose_has(ews_odb_write_dir(odb), oid))
		return true;
	ews_oid_hex(hex, oid);
	ews_strv_add(&args, "rev-parse");
	ews_strv_addf(&args, "--disambiguate=%.*s", (int)strlen(hex) - 1, hex);
	if (ews_odb_git_run(&out, &err, odb, &args, NULL) == 0)
		return strstr(out.ptr, hex) != NULL;
	ews_error_clear();
	return false;
}

static bool git_has(struct ews_odb *odb, const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;
	struct answer answer;

	if (is_empty_tree(odb, oid))
		return has_empty_tree(odb, oid);
	if (!room->has_begun && ews_loose_has(ews_odb_write_dir(odb), oid))
		return true;
	if (ask_info(&answer, room, oid) == 0)
		return true;
	ews_error_clear();
	return false;
}

static void freshen_packs(const char *object_dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(object_dir, "pack");
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		size_t len = strlen(names.items[i].name);

		/* Best effort: another user's pack keeps its time. */
		if (len > 5 && !strcmp(names.items[i].name + len - 5, ".pack"))
			(void)utimensat(fd, names.items[i].name, NULL, AT_SYMLINK_NOFOLLOW);
	}
	ews_error_clear();
}

/*
 * In which pack an object is git doesn't say, so that all count as new: once is enough, for what gc throws
 * away is far older than any verb.
 */
static bool git_freshen(struct ews_odb *odb, const struct ews_oid *oid)
{
	struct room *room = (struct room *)odb;

	pthread_mutex_lock(&room->lock);
	if (!room->object_dirs.n)
		ews_object_dirs_add(&room->object_dirs, ews_odb_write_dir(odb));
	pthread_mutex_unlock(&room->lock);
	for (size_t i = 0; i < room->object_dirs.n; i++)
		if (ews_loose_freshen(room->object_dirs.items[i], oid))
			return true;
	if (!git_has(odb, oid))
		return false;
	pthread_mutex_lock(&room->lock);
	for (size_t i = 0; i < room->object_dirs.n && !room->packs_are_fresh; i++)
		freshen_packs(room->object_dirs.items[i]);
	room->packs_are_fresh = true;
	pthread_mutex_unlock(&room->lock);
	return true;
}

/* git looks again by itself before it says "missing". */
static int git_refresh(struct ews_odb *odb)
{
	(void)odb;
	return 0;
}

static void git_move(struct ews_odb *odb)
{
	struct room *room = (struct room *)odb;

	ews_spares_clear(&room->readers, free_reader);
	ews_strv_clear(&room->object_dirs);
}

static void git_release(struct ews_odb *odb)
{
	struct room *room = (struct room *)odb;

	git_move(odb);
	free(room->home);
	free(room->neutral_dir);
	ews_strv_release(&room->object_dirs);
	pthread_mutex_destroy(&room->lock);
}

static const struct ews_odb_ops ops = {
	.read = git_read,
	.read_header = git_read_header,
	.write_to = git_write_to,
	.has = git_has,
	.freshen = git_freshen,
	.refresh = git_refresh,
	.move = git_move,
	.ref_swap = ews_odb_git_ref_swap,
	.resolve = ews_odb_git_resolve,
	.config = ews_odb_git_config,
	.release = git_release,
};

struct ews_odb *ews_odb_open_git(const char *home)
{
	struct room *room = ews_calloc(1, sizeof(*room));

	assert(*home == '/');
	room->face.ops = &ops;
	room->home = ews_strdup(home);
	room->object_dirs = (struct ews_strv)EWS_STRV_INIT;
	room->readers = (struct ews_spares)EWS_SPARES_INIT;
	pthread_mutex_init(&room->lock, NULL);
	return &room->face;
}
