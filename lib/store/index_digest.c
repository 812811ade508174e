/*
 * Index digest: see index_digest.h.
 *
 * What is hashed of an index is "entries", and of each entry the mode, the id, a byte of flags, the path and a NUL; or
 * "bytes" and all of it, so that no bytes can be made up that pass for entries.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index_digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "store/index_format.h"

#define WINDOW_BYTES (64 * EWS_KIB)
#define PATH_BYTES_MAX EWS_MIB

/* Bytes that are still to be read: those that are there, and those behind them, which are in a file. */
struct window {
	const uint8_t *at, *end;
	size_t behind;
	int fd;
	int error; /* why no more could be read; 0: it could */
	uint8_t *bytes; /* WINDOW_BYTES of them, which are filled from the file */
};

struct digest {
	struct window in;
	struct ews_hash *hash;
	struct ews_buf said; /* what is to be hashed next */
	struct ews_buf path; /* version 4: of the entry before */
	size_t hash_len;
	uint32_t version;
	size_t path_bytes_left;
};

static size_t left(const struct window *in)
{
	return (size_t)(in->end - in->at);
}

/* Read what there is room for behind what is left. */
static bool refill(struct window *in)
{
	size_t kept = left(in);
	size_t step = WINDOW_BYTES - kept < in->behind ? WINDOW_BYTES - kept : in->behind;
	ssize_t n;

	if (!step)
		return false;
	memmove(in->bytes, in->at, kept);
	in->at = in->bytes;
	in->end = in->bytes + kept;
	do {
		n = read(in->fd, in->bytes + kept, step);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		in->error = errno;
	if (n <= 0)
		return false;
	in->end += n;
	in->behind -= (size_t)n;
	return true;
}

/* Have the next `n` bytes, which fit into a window, together at `in->at`. */
static bool has(struct window *in, size_t n)
{
	while (left(in) < n)
		if (!refill(in))
			return false;
	return true;
}

static bool skip(struct window *in, size_t n)
{
	while (n > left(in)) {
		n -= left(in);
		in->at = in->end;
		if (!refill(in))
			return false;
	}
	in->at += n;
	return true;
}

/* Append the text up to the next NUL, at which `in` stands then. */
static bool take_text(struct ews_buf *out, struct window *in)
{
	size_t before = out->len;

	do {
		size_t n;

		if (!has(in, 1))
			return false;
		n = strnlen((const char *)in->at, left(in));
		ews_buf_add(out, in->at, n);
		in->at += n;
	} while (in->at == in->end && out->len - before <= PATH_BYTES_MAX);
	return in->at < in->end && out->len - before <= PATH_BYTES_MAX;
}

/* `fixed` is how many bytes of the entry stood before the path. */
static bool take_whole_path(struct digest *digest, size_t fixed, uint16_t flags)
{
	size_t before = digest->said.len, len;

	if (!take_text(&digest->said, &digest->in))
		return false;
	len = digest->said.len - before;
	return ews_index_is_named_len(len, flags) && skip(&digest->in, ews_index_padded(fixed + len) - fixed - len);
}

static bool take_cut_path(struct digest *digest, uint16_t flags)
{
	struct window *in = &digest->in;
	struct ews_buf *path = &digest->path;
	size_t cut;

	(void)has(in, 5); /* a number takes no more, and may be the last but one */
	if (!ews_index_get_varint(&cut, &in->at, in->end) || cut > path->len)
		return false;
	ews_buf_truncate(path, path->len - cut);
	if (!take_text(path, in) || path->len > PATH_BYTES_MAX || path->len > digest->path_bytes_left)
		return false;
	digest->path_bytes_left -= path->len;
	ews_buf_add(&digest->said, path->ptr, path->len);
	return ews_index_is_named_len(path->len, flags) && skip(in, 1);
}

static void hash_said(struct digest *digest)
{
	ews_hash_add(digest->hash, digest->said.ptr, digest->said.len);
	ews_buf_truncate(&digest->said, 0);
}

static bool take_entry(struct digest *digest)
{
	struct window *in = &digest->in;
	size_t flags_at = EWS_INDEX_STAT_BYTES + digest->hash_len, fixed = flags_at + 2;
	uint16_t flags, more = 0;
	uint8_t said[4 + EWS_HASH_MAX + 1];

	if (!has(in, fixed))
		return false;
	flags = ews_index_get16(in->at + flags_at);
	if (flags & EWS_INDEX_EXTENDED) {
		if (digest->version < 3 || !has(in, fixed + 2))
			return false;
		more = ews_index_get16(in->at + fixed);
		if (more & ~(EWS_INDEX_MORE_SKIP_WORKTREE | EWS_INDEX_MORE_INTENT_TO_ADD))
			return false;
		fixed += 2;
	}
	memcpy(said, in->at + EWS_INDEX_MODE_AT, 4);
	memcpy(said + 4, in->at + EWS_INDEX_STAT_BYTES, digest->hash_len);
	said[4 + digest->hash_len] =
		(uint8_t)((flags >> EWS_INDEX_STAGE_SHIFT & 3) | (flags & EWS_INDEX_ASSUMED_UNCHANGED ? 4 : 0) |
			  (more & EWS_INDEX_MORE_SKIP_WORKTREE ? 8 : 0) |
			  (more & EWS_INDEX_MORE_INTENT_TO_ADD ? 16 : 0));
	ews_buf_add(&digest->said, said, 4 + digest->hash_len + 1);
	in->at += fixed;
	if (!(digest->version == 4 ? take_cut_path(digest, flags) : take_whole_path(digest, fixed, flags)))
		return false;
	ews_buf_addc(&digest->said, '\0');
	if (digest->said.len >= WINDOW_BYTES)
		hash_said(digest);
	return true;
}

static bool pass_extension(struct window *in, size_t hash_len)
{
	size_t size;
	bool is_link;

	if (!has(in, 8))
		return false;
	size = ews_index_get32(in->at + 4);
	is_link = !memcmp(in->at, "link", 4);
	if (!is_link && !ews_index_is_harmless(in->at))
		return false;
	in->at += 8;
	if (is_link && (size < hash_len || !has(in, hash_len) || !ews_index_is_null(in->at, hash_len)))
		return false;
	return skip(in, size);
}

/* All entries, then all that is behind them. False: it is not as it should be, or says what isn't understood. */
static bool take_all(struct digest *digest)
{
	struct window *in = &digest->in;
	uint32_t n;

	if (!has(in, EWS_INDEX_HEADER_BYTES) || memcmp(in->at, "DIRC", 4))
		return false;
	digest->version = ews_index_get32(in->at + 4);
	n = ews_index_get32(in->at + 8);
	if (digest->version < 2 || digest->version > 4)
		return false;
	in->at += EWS_INDEX_HEADER_BYTES;
	ews_buf_adds(&digest->said, "entries");
	for (; n; n--)
		if (!take_entry(digest))
			return false;
	while (left(in) || in->behind)
		if (!pass_extension(in, digest->hash_len))
			return false;
	hash_said(digest);
	return true;
}

/* Of an index of `len` bytes, `in` still standing before the first. `*out` is left alone when this is false; `in` says whether it was read. */
static bool digest_entries(uint8_t *out, struct window *in, size_t len, enum ews_hash_algo algo)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	struct digest digest = { .in = *in,
				 .hash = hash,
				 .said = EWS_BUF_INIT,
				 .path = EWS_BUF_INIT,
				 .hash_len = ews_hash_len(algo),
				 .path_bytes_left = len * EWS_INDEX_PATH_GROWTH_MAX };
	bool is_whole = take_all(&digest);

	in->error = digest.in.error;
	if (is_whole)
		ews_hash_finish(hash, out);
	ews_buf_release(&digest.said);
	ews_buf_release(&digest.path);
	return is_whole;
}

static struct ews_hash *begin_bytes(void)
{
	struct ews_hash *hash = ews_hash_new(EWS_SHA256);

	ews_hash_add(hash, "bytes", strlen("bytes"));
	return hash;
}

static int digest_all(uint8_t *out, uint8_t *window, int fd, const char *name)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = begin_bytes();
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot read '%s'", name);
	do {
		n = read(fd, window, WINDOW_BYTES);
		if (n < 0 && errno != EINTR)
			return ews_error_os("cannot read '%s'", name);
		if (n > 0)
			ews_hash_add(hash, window, (size_t)n);
	} while (n != 0);
	ews_hash_finish(hash, out);
	return 0;
}

int ews_index_digest(uint8_t *out, int dir_fd, const char *name, enum ews_hash_algo algo, size_t max)
{
	EWS_CLEANUP(fd) int fd = ews_file_open_regular(dir_fd, name);
	EWS_CLEANUP(free) uint8_t *bytes = NULL;
	struct window in = { .fd = fd };
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", name);
	if ((uint64_t)st.st_size > max)
		return ews_error(EWS_EDAMAGED, "'%s': longer than %zu bytes", name, max);
	in.at = in.end = in.bytes = bytes = ews_malloc(WINDOW_BYTES);
	if ((size_t)st.st_size > ews_hash_len(algo)) {
		in.behind = (size_t)st.st_size - ews_hash_len(algo);
		if (digest_entries(out, &in, (size_t)st.st_size, algo))
			return 0;
	}
	/* Its bytes are another digest, as if it had changed. */
	if (in.error) {
		errno = in.error;
		return ews_error_os("cannot read '%s'", name);
	}
	return digest_all(out, bytes, fd, name);
}

void ews_index_digest_bytes(uint8_t *out, const void *data, size_t len, enum ews_hash_algo algo)
{
	const uint8_t *at = data;
	struct window in = { .at = at, .end = at + len - (len > ews_hash_len(algo) ? ews_hash_len(algo) : len) };

	if (!digest_entries(out, &in, len, algo)) {
		EWS_CLEANUP(hash) struct ews_hash *hash = begin_bytes();

		ews_hash_add(hash, data, len);
		ews_hash_finish(hash, out);
	}
}
