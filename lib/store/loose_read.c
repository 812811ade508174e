/*
 * Loose objects that are read: see loose_read.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/loose_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

#define SMALL_BYTES_MAX EWS_MIB
#define SMALL_STEP_BYTES (4 * EWS_KIB)
#define CHECK_BYTES (64 * EWS_KIB)

/* Inflate what `fd` holds to its end, whose checksum zlib compares, and hash it (NULL: don't): that is what an id is made of. */
static int check_stream(int fd, z_stream *z, struct ews_hash *hash)
{
	EWS_CLEANUP(free) unsigned char *in = ews_malloc(CHECK_BYTES);
	EWS_CLEANUP(free) unsigned char *plain = ews_malloc(CHECK_BYTES);
	int rc = Z_OK;
	ssize_t n;

	while ((n = read(fd, in, CHECK_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ews_error_os("cannot read it");
		if (rc == Z_STREAM_END)
			return ews_error(EWS_EDAMAGED, "something stands behind its end");
		z->next_in = in;
		z->avail_in = (uInt)n;
		do {
			z->next_out = plain;
			z->avail_out = CHECK_BYTES;
			rc = inflate(z, Z_NO_FLUSH);
			if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
				return ews_error(EWS_EDAMAGED, "it can't be inflated");
			if (hash)
				ews_hash_add(hash, plain, CHECK_BYTES - z->avail_out);
		} while (rc != Z_STREAM_END && !z->avail_out);
		if (rc == Z_STREAM_END && z->avail_in)
			return ews_error(EWS_EDAMAGED, "something stands behind its end");
	}
	if (rc != Z_STREAM_END)
		return ews_error(EWS_EDAMAGED, "it ends too early");
	return 0;
}

static char *path_of(const char *object_dir, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	return ews_strfmt("%s/%.2s/%s", object_dir, ews_oid_hex(hex, oid), hex + 2);
}

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size > 0;
}

bool ews_loose_has(const char *object_dir, const struct ews_oid *oid)
{
	EWS_CLEANUP(free) char *path = path_of(object_dir, oid);

	return is_there(path);
}

bool ews_loose_freshen(const char *object_dir, const struct ews_oid *oid)
{
	EWS_CLEANUP(free) char *path = path_of(object_dir, oid);

	/* What we may not touch is there all the same. */
	return (utimensat(AT_FDCWD, path, NULL, 0) == 0 || errno != ENOENT) && is_there(path);
}

/* "<type> <size>\0" of a whole object. Returns its length; 0: it is none. */
static size_t read_header(enum ews_object_type *type, const struct ews_buf *object)
{
	static const enum ews_object_type types[] = { EWS_OBJECT_COMMIT, EWS_OBJECT_TREE, EWS_OBJECT_BLOB,
						      EWS_OBJECT_TAG };
	size_t len = strlen(object->ptr) + 1;
	char header[EWS_OBJECT_HEADER_MAX];

	for (size_t i = 0; i < sizeof(types) / sizeof(*types) && len <= object->len; i++) {
		*type = types[i];
		if (ews_object_header(header, types[i], object->len - len) == len && !memcmp(header, object->ptr, len))
			return len;
	}
	return 0;
}

static bool inflate_small(struct ews_buf *out, const struct ews_buf *text)
{
	z_stream z = { .next_in = (unsigned char *)text->ptr, .avail_in = (uInt)text->len };
	int rc = Z_OK;

	if (inflateInit(&z) != Z_OK)
		return false;
	while (rc == Z_OK && out->len < SMALL_BYTES_MAX) {
		ews_buf_reserve(out, SMALL_STEP_BYTES);
		z.next_out = (unsigned char *)out->ptr + out->len;
		z.avail_out = SMALL_STEP_BYTES;
		rc = inflate(&z, Z_NO_FLUSH);
		out->len += SMALL_STEP_BYTES - z.avail_out;
		out->ptr[out->len] = '\0';
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END;
}

int ews_loose_read(struct ews_buf *out, enum ews_object_type *type, const char *object_dir, const struct ews_oid *oid)
{
	EWS_CLEANUP(free) char *path = path_of(object_dir, oid);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT, object = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct ews_oid found = EWS_OID_NONE;
	size_t header;

	if (fd < 0)
		return 0;
	if (ews_file_read_fd(&text, fd, SMALL_BYTES_MAX) < 0 || !inflate_small(&object, &text)) {
		ews_error_clear();
		return 0;
	}
	header = read_header(type, &object);
	found.len = (uint8_t)ews_hash_once(ews_oid_algo(oid), found.id, object.ptr, object.len);
	if (!header || !ews_oid_equal(&found, oid))
		return 0;
	ews_buf_add(out, object.ptr + header, object.len - header);
	return 1;
}

static int check_id(const struct ews_oid *oid, struct ews_hash *hash)
{
	struct ews_oid found = EWS_OID_NONE;

	found.len = (uint8_t)ews_hash_finish(hash, found.id);
	return ews_oid_equal(&found, oid) ? 0 : ews_error(EWS_EDAMAGED, "its content is another one's");
}

static int check(const char *object_dir, const struct ews_oid *oid, struct ews_hash *hash)
{
	char hex[EWS_OID_HEX_MAX];
	EWS_CLEANUP(free) char *path = path_of(object_dir, oid);
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	z_stream z = { 0 };
	int rc;

	if (fd < 0)
		return ews_error_os("cannot open object %s", ews_oid_hex(hex, oid));
	if (inflateInit(&z) != Z_OK)
		return ews_error(EWS_EIO, "zlib does not start");
	rc = check_stream(fd, &z, hash);
	inflateEnd(&z);
	if (rc == 0 && hash)
		rc = check_id(oid, hash);
	return rc < 0 ? ews_error_wrap("object %s is damaged", ews_oid_hex(hex, oid)) : 0;
}

int ews_loose_check(const char *object_dir, const struct ews_oid *oid)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(ews_oid_algo(oid));

	return check(object_dir, oid, hash);
}

int ews_loose_check_stream(const char *object_dir, const struct ews_oid *oid)
{
	return check(object_dir, oid, NULL);
}
