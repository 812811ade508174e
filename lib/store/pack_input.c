/*
 * What is read of packs: see pack_input.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pack_input.h"

#include <stdlib.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/deflate.h"
#include "base/error.h"
#include "base/file.h"

#define LARGE_SHRINKS 4 /* at least to one part in so many */
#define SHRINKS 2 /* what is there and may be enough is tried */

struct ews_pack_input {
	/* What was read last. */
	struct ews_buf bytes;
	const struct ews_packed *pack; /* NULL: nothing was */
	size_t at;
	size_t ahead; /* read at least so much */
	struct ews_inflater *inflater;
	z_stream z; /* for what is read step by step; made when first needed */
	bool has_z;
	size_t next_in; /* where that goes on in its pack */
};

struct ews_pack_input *ews_pack_input_new(void)
{
	struct ews_pack_input *input = ews_calloc(1, sizeof(*input));

	input->bytes = (struct ews_buf)EWS_BUF_INIT;
	input->inflater = ews_inflater_new();
	return input;
}

void ews_pack_input_free(struct ews_pack_input *input)
{
	ews_inflater_free(input->inflater);
	if (input->has_z)
		(void)inflateEnd(&input->z); /* what it has left nobody wants */
	ews_buf_release(&input->bytes);
	free(input);
}

void ews_pack_input_read_ahead(struct ews_pack_input *input, size_t bytes)
{
	input->ahead = bytes;
}

void ews_pack_input_shrink(struct ews_pack_input *input)
{
	ews_buf_shrink(&input->bytes, EWS_PACK_KEPT_BYTES_MAX);
	if (!input->bytes.cap)
		input->pack = NULL;
}

/* Read `len` bytes at `at` of the pack. */
static bool read_bytes(struct ews_pack_input *input, const struct ews_packed *pack, size_t len, size_t at)
{
	input->pack = NULL;
	if (len < EWS_PACK_KEPT_BYTES_MAX)
		ews_pack_input_shrink(input);
	ews_buf_renew(&input->bytes, len);
	if (!ews_file_read_at(pack->fd, input->bytes.ptr, len, at))
		return false;
	input->bytes.len = len;
	input->pack = pack;
	input->at = at;
	return true;
}

/* Where the bytes at `at` of the pack were read to, `*len` of them; NULL, and none, when they were not. */
static const unsigned char *find_read(size_t *len, const struct ews_pack_input *input,
				      const struct ews_packed *pack, size_t at)
{
	size_t before = at - input->at;

	*len = 0;
	if (input->pack != pack || at < input->at || before >= input->bytes.len)
		return NULL;
	*len = input->bytes.len - before;
	return (const unsigned char *)input->bytes.ptr + before;
}

const unsigned char *ews_pack_input_look(size_t *len, struct ews_pack_input *input, const struct ews_packed *pack,
					 size_t wanted, size_t at)
{
	const unsigned char *found = find_read(len, input, pack, at);
	size_t have;

	if (wanted > pack->end - at)
		wanted = pack->end - at;
	if (!found || *len < wanted) {
		have = wanted > input->ahead ? wanted : input->ahead;
		if (have > pack->end - at)
			have = pack->end - at;
		if (!read_bytes(input, pack, have, at))
			return NULL;
		found = (const unsigned char *)input->bytes.ptr;
		*len = have;
	}
	return found;
}

bool ews_pack_input_begin(struct ews_pack_input *input, size_t at)
{
	z_stream *z = &input->z;

	if (input->has_z ? inflateReset(z) != Z_OK : inflateInit(z) != Z_OK)
		return false;
	input->has_z = true;
	input->next_in = at;
	z->next_in = NULL;
	z->avail_in = 0;
	return true;
}

int ews_pack_input_step(void *out, size_t *n, struct ews_pack_input *input, const struct ews_packed *pack,
			size_t at_once)
{
	z_stream *z = &input->z;
	unsigned room = (unsigned)*n;
	int z_rc = Z_OK;

	z->next_out = out;
	z->avail_out = room;
	while (z_rc == Z_OK && z->avail_out == room) {
		size_t len = z->avail_in;

		if (!len) {
			z->next_in = input->next_in < pack->end
					     ? (unsigned char *)ews_pack_input_look(&len, input, pack, at_once,
										    input->next_in)
					     : NULL;
			if (!z->next_in)
				break;
			input->next_in += len;
			z->avail_in = (unsigned)len;
		}
		z_rc = inflate(z, Z_SYNC_FLUSH);
	}
	*n = room - z->avail_out;
	if (z_rc == Z_STREAM_END)
		return 0;
	return z_rc == Z_OK && *n ? 1 : EWS_EDAMAGED;
}

/* Step by step: a stream that is longer than there is a reason for, or one that would not be had in memory beside what it is. */
static bool inflate_long(char *out, size_t size, struct ews_pack_input *input, const struct ews_packed *pack,
			 size_t at)
{
	size_t done = 0;
	int rc = ews_pack_input_begin(input, at) ? 1 : EWS_EDAMAGED;

	while (rc == 1) {
		size_t n = size - done;

		rc = ews_pack_input_step(out + done, &n, input, pack, EWS_PACK_STEP_BYTES);
		done += n;
	}
	return rc == 0 && done == size;
}

/* At once, of that many bytes. False as well: it has more. */
static bool inflate_whole(char *out, size_t size, struct ews_pack_input *input, const struct ews_packed *pack,
			  size_t at, size_t wanted)
{
	size_t len;
	const unsigned char *bytes = find_read(&len, input, pack, at);

	/* Most things become smaller than half of what they are; what was read ahead need not be read again. */
	if (bytes && len < wanted && len >= size / SHRINKS && ews_inflate(out, size, input->inflater, bytes, len))
		return true;
	bytes = ews_pack_input_look(&len, input, pack, wanted, at);
	return bytes && ews_inflate(out, size, input->inflater, bytes, len);
}

bool ews_pack_input_inflate(char *out, size_t size, struct ews_pack_input *input, const struct ews_packed *pack,
			    size_t at)
{
	/* What can't be made smaller becomes larger by a few bytes in each block. */
	size_t most = size + size / 256 + 64;

	/* What is that large is text, as a rule; not all that it may have is had in memory beside it. */
	if (size >= EWS_PACK_LARGE_BYTES)
		most /= LARGE_SHRINKS;
	return at < pack->end &&
	       (inflate_whole(out, size, input, pack, at, most) || inflate_long(out, size, input, pack, at));
}
