/*
 * Gzip: see gzip.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define CHUNK (128 * EWS_KIB)
#define MAGIC "\x1f\x8b"
#define MAGIC_LEN 2
#define GZIP_ALONE (16 + MAX_WBITS) /* as zlib wants it said */

struct checking {
	int fd;
	off_t at; /* of the member, or of what was not read yet */
	uint64_t bytes; /* that came out */
	z_stream z;
	unsigned char *in, *out;
};

static void end_checking(struct checking *checking)
{
	(void)inflateEnd(&checking->z);
	free(checking->in);
	free(checking->out);
}

EWS_CLEANUP_DEFINE(checking, struct checking, end_checking)

/* Read on: how much there is, 0 at the end. */
static ssize_t fill(struct checking *checking)
{
	ssize_t n = pread(checking->fd, checking->in, CHUNK, checking->at);

	if (n < 0)
		return ews_error_os("cannot read it");
	checking->z.next_in = checking->in;
	checking->z.avail_in = (uInt)n;
	checking->at += n;
	return n;
}

/* Does a member begin at `checking->at`? 1, or 0. */
static int has_member(const struct checking *checking)
{
	char magic[MAGIC_LEN];
	ssize_t n = pread(checking->fd, magic, MAGIC_LEN, checking->at);

	return n < 0 ? ews_error_os("cannot read it") : n == MAGIC_LEN && !memcmp(magic, MAGIC, MAGIC_LEN);
}

static int fail(const char *why)
{
	return ews_error(EWS_EDAMAGED, "what gzip packed is damaged: %s", why);
}

/* One member, of which there may be several: to its end, or to `max_bytes` of all. */
static int check_member(struct checking *checking, uint64_t max_bytes)
{
	z_stream *z = &checking->z;
	int rc = Z_OK;

	while (rc == Z_OK && checking->bytes <= max_bytes) {
		ssize_t n = z->avail_in ? 1 : fill(checking);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return fail("it is cut off");
		z->next_out = checking->out;
		z->avail_out = CHUNK;
		rc = inflate(z, Z_NO_FLUSH);
		checking->bytes += CHUNK - z->avail_out;
	}
	if (rc != Z_OK && rc != Z_STREAM_END)
		return fail(z->msg ? z->msg : "no reason is given");
	/* What was read of the next one is read again. */
	checking->at -= z->avail_in;
	z->avail_in = 0;
	return 0;
}

int ews_gzip_check(int fd, uint64_t max_bytes)
{
	EWS_CLEANUP(checking) struct checking checking = { .fd = fd };
	int rc = 0;

	checking.in = ews_malloc(CHUNK);
	checking.out = ews_malloc(CHUNK);
	if (inflateInit2(&checking.z, GZIP_ALONE) != Z_OK)
		return ews_error(EWS_EIO, "zlib can't be used");
	while (rc == 0 && checking.bytes <= max_bytes && (rc = has_member(&checking)) > 0) {
		(void)inflateReset(&checking.z);
		rc = check_member(&checking, max_bytes);
	}
	return rc;
}
