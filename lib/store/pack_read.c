/*
 * Packed objects that are read: see pack_read.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pack_read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/deflate.h"
#include "base/error.h"
#include "base/file.h"

#define OBJECT_BYTES_MAX (32 * EWS_MIB)
#define KEPT_BYTES_MAX (256 * EWS_KIB) /* of a buffer, from one object to the next */
#define LARGE_BYTES (2 * EWS_MIB) /* what takes as much is passed on in steps, or read by one thread at a time */
#define LARGE_SHRINKS 4 /* at least to one part in so many */
#define LEFT_BYTES_MAX (16 * EWS_MIB) /* of a large buffer that is left for the next */
#define SHRINKS 2 /* what is there and may be enough is tried */
#define STEP_BYTES (64 * EWS_KIB)
#define DELTA_HEAD_MAX 20 /* two sizes */
#define RECORD_HEAD_MAX 32 /* what stands before a stream */
#define HEAD_BYTES 512 /* of a stream, of which little is wanted */
#define AHEAD_BYTES (128 * EWS_KIB) /* read at once, where what follows is wanted next */
#define OBJECTS 4 /* that are kept: in a pack what a delta is of stands near it, as a rule */

enum {
	OFS_DELTA = 6,
	REF_DELTA = 7,
};

/* What stands at an offset of a pack. */
struct record {
	unsigned type;
	size_t size; /* when it is inflated */
	size_t at; /* of its stream */
	size_t base; /* a delta's */
	size_t offset; /* its own */
};

struct ews_pack_reader {
	struct ews_inflater *inflater;
	z_stream z; /* for what is begun to be read alone; made when first needed */
	bool has_z;
	/* What was read last, and what that was a delta of. */
	struct ews_pack_object objects[OBJECTS];
	struct ews_pack_object *object; /* the last of all */
	struct ews_buf delta, step;
	struct {
		struct ews_buf bytes;
		const struct ews_packed *of;
		size_t at;
	} input; /* what was read of a pack last */
	size_t ahead; /* read at least so much */
	size_t next_in; /* where a stream that is read step by step goes on in its pack */
	struct record *chain;
	size_t cap;
	struct ews_packs *turn; /* whose large objects are ours to read; NULL: nobody's */
	struct ews_pack_large *left; /* by those whose turn it was before */
};

struct ews_pack_reader *ews_pack_reader_new(void)
{
	struct ews_pack_reader *reader = ews_calloc(1, sizeof(*reader));

	for (size_t i = 0; i < OBJECTS; i++)
		reader->objects[i].bytes = (struct ews_buf)EWS_BUF_INIT;
	reader->object = reader->objects;
	reader->delta = reader->step = reader->input.bytes = (struct ews_buf)EWS_BUF_INIT;
	reader->inflater = ews_inflater_new();
	return reader;
}

/* Large buffers are not kept for an object that may never come. */
static void shrink(struct ews_buf *buf)
{
	if (buf->cap > KEPT_BYTES_MAX)
		ews_buf_release(buf);
}

static void shrink_object(struct ews_pack_object *object)
{
	shrink(&object->bytes);
	if (!object->bytes.cap)
		object->pack = NULL;
}

static void shrink_input(struct ews_pack_reader *reader)
{
	shrink(&reader->input.bytes);
	if (!reader->input.bytes.cap)
		reader->input.of = NULL;
}

/* The object goes, and in our turn its room is for the next that comes. */
static void drop(struct ews_pack_reader *reader, struct ews_pack_object *object)
{
	struct ews_buf *room = reader->turn ? &reader->left->room : NULL;

	if (room && object->bytes.cap > room->cap) {
		ews_buf_release(room);
		*room = object->bytes;
		object->bytes = (struct ews_buf)EWS_BUF_INIT;
	}
	ews_buf_release(&object->bytes);
	object->pack = NULL;
}

/* What a large one was a delta of may be what the next is a delta of, too. */
static void leave(struct ews_pack_reader *reader)
{
	struct ews_pack_object *last = reader->object, *left = &reader->left->object;

	if (last->pack && last->bytes.len >= LARGE_BYTES && last->bytes.cap <= LEFT_BYTES_MAX) {
		drop(reader, left);
		*left = *last;
		*last = (struct ews_pack_object){ .bytes = EWS_BUF_INIT };
	}
	for (size_t i = 0; i < OBJECTS; i++)
		if (reader->objects[i].bytes.cap >= LARGE_BYTES)
			drop(reader, &reader->objects[i]);
	if (reader->left->room.cap > LEFT_BYTES_MAX)
		ews_buf_release(&reader->left->room);
}

void ews_pack_reader_done(struct ews_pack_reader *reader)
{
	if (reader->turn)
		leave(reader);
	for (size_t i = 0; i < OBJECTS; i++)
		shrink_object(&reader->objects[i]);
	shrink(&reader->delta);
	shrink_input(reader);
	if (reader->turn)
		ews_packs_end_large(reader->turn);
	reader->turn = NULL;
}

/* Several threads with a large object each would take more memory than there may be: they wait for one another. */
static void wait_for_turn(struct ews_pack_reader *reader, struct ews_packs *packs, size_t size)
{
	if (size < LARGE_BYTES || reader->turn)
		return;
	reader->left = ews_packs_begin_large(packs);
	reader->turn = packs;
}

void ews_pack_reader_free(struct ews_pack_reader *reader)
{
	if (!reader)
		return;
	ews_pack_reader_done(reader);
	ews_inflater_free(reader->inflater);
	if (reader->has_z)
		(void)inflateEnd(&reader->z); /* what it has left nobody wants */
	for (size_t i = 0; i < OBJECTS; i++)
		ews_buf_release(&reader->objects[i].bytes);
	ews_buf_release(&reader->delta);
	ews_buf_release(&reader->step);
	ews_buf_release(&reader->input.bytes);
	free(reader->chain);
	free(reader);
}

/* Make `buf` empty, with room for `size` bytes. */
static void make_room(struct ews_buf *buf, size_t size)
{
	if (size < KEPT_BYTES_MAX)
		shrink(buf);
	/* What was in it would be copied into a larger one. */
	if (size >= buf->cap)
		ews_buf_release(buf);
	buf->len = 0;
	ews_buf_reserve(buf, size);
}

/* The same for an object. In our turn there may be some room that was used before; where it is too small it goes. */
static void make_object_room(struct ews_pack_reader *reader, struct ews_buf *buf, size_t size)
{
	if (reader->turn && size >= LARGE_BYTES && size >= buf->cap) {
		ews_buf_release(buf);
		*buf = reader->left->room;
		reader->left->room = (struct ews_buf)EWS_BUF_INIT;
	}
	make_room(buf, size);
}

/* Read `len` bytes at `at` of the pack. */
static bool read_input(struct ews_pack_reader *reader, const struct ews_packed *pack, size_t len, size_t at)
{
	struct ews_buf *bytes = &reader->input.bytes;

	reader->input.of = NULL;
	make_room(bytes, len);
	if (!ews_file_read_at(pack->fd, bytes->ptr, len, at))
		return false;
	bytes->len = len;
	reader->input.of = pack;
	reader->input.at = at;
	return true;
}

/* Where the bytes at `at` of the pack were read to, `*len` of them; NULL, and none, when they were not. */
static const unsigned char *find_read(size_t *len, const struct ews_pack_reader *reader,
				      const struct ews_packed *pack, size_t at)
{
	size_t before = at - reader->input.at;

	*len = 0;
	if (reader->input.of != pack || at < reader->input.at || before >= reader->input.bytes.len)
		return NULL;
	*len = reader->input.bytes.len - before;
	return (const unsigned char *)reader->input.bytes.ptr + before;
}

/*
 * The bytes at `at` of the pack, `*len` of them: `wanted`, or more, or all up to the end of the objects. NULL when they
 * can't be read. They stay until others are asked for.
 */
static const unsigned char *look_at(size_t *len, struct ews_pack_reader *reader, const struct ews_packed *pack,
				    size_t wanted, size_t at)
{
	const unsigned char *found = find_read(len, reader, pack, at);
	size_t have;

	if (wanted > pack->end - at)
		wanted = pack->end - at;
	if (!found || *len < wanted) {
		have = wanted > reader->ahead ? wanted : reader->ahead;
		if (have > pack->end - at)
			have = pack->end - at;
		if (!read_input(reader, pack, have, at))
			return NULL;
		found = (const unsigned char *)reader->input.bytes.ptr;
		*len = have;
	}
	return found;
}

/* Read what stands before the stream of the object at `offset`. 1, 0, or below zero, as the reader says it. */
static int read_record(struct record *out, struct ews_pack_reader *reader, const struct ews_packed *pack,
		       size_t offset)
{
	const unsigned char *start, *at, *end;
	unsigned char byte;
	size_t back, len;

	if (offset < EWS_PACKED_HEADER_LEN || offset >= pack->end)
		return EWS_EDAMAGED;
	start = at = look_at(&len, reader, pack, RECORD_HEAD_MAX, offset);
	if (!at)
		return EWS_EDAMAGED;
	end = at + len;
	byte = *at++;
	*out = (struct record){ .type = byte >> 4 & 7, .size = byte & 15, .offset = offset };
	for (unsigned shift = 4; byte & 0x80; shift += 7) {
		if (at == end || shift > 57)
			return EWS_EDAMAGED;
		byte = *at++;
		out->size |= (size_t)(byte & 0x7f) << shift;
	}
	if (out->type == OFS_DELTA) {
		back = 0;
		do {
			if (at == end || back >= pack->end >> 7)
				return EWS_EDAMAGED;
			byte = *at++;
			back = (back << 7) + (byte & 0x7f) + (byte & 0x80 ? 1 : 0);
		} while (byte & 0x80);
		if (!back || back > offset)
			return EWS_EDAMAGED;
		out->base = offset - back;
	} else if (out->type == REF_DELTA) {
		if ((size_t)(end - at) < EWS_PACKED_ID_LEN)
			return EWS_EDAMAGED;
		out->base = ews_packed_find(pack, at);
		if (!out->base)
			return 0; /* it is in another pack */
		at += EWS_PACKED_ID_LEN;
	}
	out->at = offset + (size_t)(at - start);
	return 1;
}

/* Begin to read a stream step by step; the caller says where to. */
static bool begin_steps(struct ews_pack_reader *reader, const struct record *record)
{
	z_stream *z = &reader->z;

	if (reader->has_z ? inflateReset(z) != Z_OK : inflateInit(z) != Z_OK)
		return false;
	reader->has_z = true;
	reader->next_in = record->at;
	z->next_in = NULL;
	z->avail_in = 0;
	return true;
}

/* Go on until there is no more room, or something came, reading `at_once` bytes at a time. What zlib returns. */
static int inflate_step(struct ews_pack_reader *reader, const struct ews_packed *pack, size_t at_once)
{
	z_stream *z = &reader->z;
	unsigned room = z->avail_out;
	int z_rc = Z_OK;

	while (z_rc == Z_OK && z->avail_out == room) {
		size_t len = z->avail_in;

		if (!len) {
			if (reader->next_in >= pack->end)
				return Z_DATA_ERROR;
			z->next_in = (unsigned char *)look_at(&len, reader, pack, at_once, reader->next_in);
			if (!z->next_in)
				return Z_DATA_ERROR;
			reader->next_in += len;
			z->avail_in = (unsigned)len;
		}
		z_rc = inflate(z, Z_SYNC_FLUSH);
	}
	return z_rc;
}

/* Step by step: a stream that is longer than there is a reason for, or one that would not be had in memory beside what it is. 1, or below zero. */
static int inflate_long(struct ews_buf *out, struct ews_pack_reader *reader, const struct ews_packed *pack,
			const struct record *record)
{
	z_stream *z = &reader->z;
	int z_rc = Z_OK;

	if (!begin_steps(reader, record))
		return EWS_EDAMAGED;
	z->next_out = (unsigned char *)out->ptr;
	z->avail_out = (unsigned)record->size;
	while (z_rc == Z_OK)
		z_rc = inflate_step(reader, pack, STEP_BYTES);
	return z_rc == Z_STREAM_END && !z->avail_out ? 1 : EWS_EDAMAGED;
}

/* At once, of that many bytes. 1, or 0: it has more, or is damaged. */
static int inflate_whole(struct ews_buf *out, struct ews_pack_reader *reader, const struct ews_packed *pack,
			 const struct record *record, size_t wanted)
{
	size_t len;
	const unsigned char *bytes = find_read(&len, reader, pack, record->at);

	/* Most things become smaller than half of what they are; what was read ahead need not be read again. */
	if (bytes && len < wanted && len >= record->size / SHRINKS &&
	    ews_inflate(out->ptr, record->size, reader->inflater, bytes, len))
		return 1;
	bytes = look_at(&len, reader, pack, wanted, record->at);
	return bytes && ews_inflate(out->ptr, record->size, reader->inflater, bytes, len);
}

/* Read a stream into memory. 1, 0, or below zero, as the reader says it. */
static int inflate_record(struct ews_buf *out, struct ews_pack_reader *reader, const struct ews_packed *pack,
			  const struct record *record)
{
	/* What can't be made smaller becomes larger by a few bytes in each block. */
	size_t most = record->size + record->size / 256 + 64;
	int rc = 0;

	if (record->size > OBJECT_BYTES_MAX)
		return 0;
	if (record->at >= pack->end)
		return EWS_EDAMAGED;
	make_object_room(reader, out, record->size);
	/* What is that large is text, as a rule; not all that it may have is had in memory beside it. */
	if (record->size >= LARGE_BYTES)
		rc = inflate_whole(out, reader, pack, record, most / LARGE_SHRINKS);
	else
		rc = inflate_whole(out, reader, pack, record, most);
	if (rc == 0)
		rc = inflate_long(out, reader, pack, record);
	if (rc < 0)
		return rc;
	out->len = record->size;
	out->ptr[out->len] = '\0';
	return 1;
}

/* Pass a stream on. 1, or below zero. */
static int pass_record(const struct ews_pack_sink *sink, struct ews_pack_reader *reader,
		       const struct ews_packed *pack, const struct record *record)
{
	z_stream *z = &reader->z;
	size_t done = 0, n;
	int z_rc, rc = begin_steps(reader, record) ? 0 : EWS_EDAMAGED;

	if (rc == 0)
		rc = sink->begin(sink->payload, (enum ews_object_type)record->type, record->size);
	make_room(&reader->step, STEP_BYTES);
	while (rc == 0) {
		z->next_out = (unsigned char *)reader->step.ptr;
		z->avail_out = STEP_BYTES;
		z_rc = inflate_step(reader, pack, STEP_BYTES);
		n = STEP_BYTES - z->avail_out;
		done += n;
		if ((z_rc != Z_OK && z_rc != Z_STREAM_END) || done > record->size || (z_rc == Z_OK && !n))
			return EWS_EDAMAGED;
		rc = sink->add(sink->payload, reader->step.ptr, n);
		if (rc == 0 && z_rc == Z_STREAM_END)
			return done == record->size ? 1 : EWS_EDAMAGED;
	}
	return rc;
}

static bool read_size(size_t *out, const unsigned char **at, const unsigned char *end)
{
	unsigned char byte;
	unsigned shift = 0;

	*out = 0;
	do {
		if (*at == end || shift > 57)
			return false;
		byte = *(*at)++;
		*out |= (size_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return true;
}

/* Read the bytes of `of`, little end first, that the bits of `mask` say are there. */
static bool read_number(size_t *out, unsigned mask, const unsigned char **at, const unsigned char *end)
{
	*out = 0;
	for (unsigned shift = 0; mask; mask >>= 1, shift += 8) {
		if (!(mask & 1))
			continue;
		if (*at == end)
			return false;
		*out |= (size_t) * (*at)++ << shift;
	}
	return true;
}

/* Where what a delta makes goes: all of it to `out`, or to the sink, by way of that. */
static int emit(struct ews_buf *out, const struct ews_pack_sink *sink, const char *data, size_t n)
{
	int rc = 0;

	if (sink && out->len + n > STEP_BYTES) {
		rc = sink->add(sink->payload, out->ptr, out->len);
		out->len = 0;
	}
	if (rc == 0 && sink && n > STEP_BYTES)
		return sink->add(sink->payload, data, n);
	if (rc == 0) {
		memcpy(out->ptr + out->len, data, n);
		out->len += n;
	}
	return rc;
}

/* Where the next object goes: not where `but` is, which it is made of. */
static struct ews_pack_object *next_object(struct ews_pack_reader *reader, const struct ews_pack_object *but)
{
	size_t next = (size_t)(reader->object - reader->objects);
	struct ews_pack_object *object;

	do {
		next = (next + 1) % OBJECTS;
		object = &reader->objects[next];
	} while (object == but);
	object->pack = NULL;
	return object;
}

/*
 * A delta: the sizes of its base and of the result, then what the result is made of: 1oooossss copies from the base
 * (offset and size follow, of each the bytes that have a bit), 0nnnnnnn is followed by as many bytes. 1, 0, or below zero, as
 * the reader says it: what becomes too large of a base that isn't is no damage. A large result goes to `sink`, if there is
 * one, by way of `out`; then 2.
 */
static int apply_delta(struct ews_buf *out, const struct ews_pack_object *of, struct ews_pack_reader *reader,
		       struct ews_packs *packs, const struct ews_pack_sink *sink)
{
	const struct ews_buf *base = &of->bytes, *delta = &reader->delta;
	const unsigned char *at = (const unsigned char *)delta->ptr, *end = at + delta->len;
	size_t base_len, len, from, n, done = 0;
	int rc = 0;

	if (!read_size(&base_len, &at, end) || !read_size(&len, &at, end) || base_len != base->len)
		return EWS_EDAMAGED;
	if (len < LARGE_BYTES)
		sink = NULL;
	if (!sink && len > OBJECT_BYTES_MAX)
		return 0;
	if (sink)
		rc = sink->begin(sink->payload, of->type, len);
	else
		wait_for_turn(reader, packs, len);
	if (reader->turn)
		drop(reader, &reader->left->object);
	make_object_room(reader, out, sink ? STEP_BYTES : len);
	while (at < end && rc == 0) {
		unsigned char op = *at++;

		if (op & 0x80) {
			if (!read_number(&from, op & 15, &at, end) || !read_number(&n, op >> 4 & 7, &at, end))
				return EWS_EDAMAGED;
			n = n ? n : 0x10000;
			if (from > base->len || n > base->len - from || n > len - done)
				return EWS_EDAMAGED;
			rc = emit(out, sink, base->ptr + from, n);
		} else {
			n = op;
			if (!n || n > (size_t)(end - at) || n > len - done)
				return EWS_EDAMAGED;
			rc = emit(out, sink, (const char *)at, n);
			at += n;
		}
		done += n;
	}
	if (rc == 0 && sink)
		rc = sink->add(sink->payload, out->ptr, out->len);
	if (rc < 0)
		return rc;
	if (done != len)
		return EWS_EDAMAGED;
	if (sink)
		return 2;
	out->ptr[done] = '\0';
	return 1;
}

/* What is kept of the object at `offset`; NULL: nothing is. */
static struct ews_pack_object *find_kept(struct ews_pack_reader *reader, const struct ews_packed *pack, size_t offset)
{
	for (size_t i = 0; i < OBJECTS; i++)
		if (reader->objects[i].pack == pack && reader->objects[i].offset == offset)
			return &reader->objects[i];
	return NULL;
}

/*
 * From the object at `offset` down to what it is made of: to `kept`, or, where nothing is, to its base, `out`. The `*n`
 * deltas on the way are left in the reader's chain. 1, 0, or below zero, as the reader says it.
 */
static int go_down(struct record *out, struct ews_pack_object **kept, size_t *n, struct ews_pack_reader *reader,
		   const struct ews_packed *pack, size_t offset)
{
	*n = 0;
	for (;;) {
		int rc;

		*kept = find_kept(reader, pack, offset);
		if (*kept)
			return 1;
		rc = read_record(out, reader, pack, offset);
		if (rc <= 0)
			return rc;
		if (out->type < OFS_DELTA)
			return out->type >= EWS_OBJECT_COMMIT && out->type <= EWS_OBJECT_TAG ? 1 : EWS_EDAMAGED;
		/* In a circle libgit2 would go round for ever. */
		if (*n == pack->n)
			return EWS_EDAMAGED;
		EWS_GROW(reader->chain, *n, reader->cap);
		reader->chain[(*n)++] = *out;
		offset = out->base;
	}
}

/* Is what was left a part of the chain, or the `base` at its end? Then it comes to us; the deltas above it are `*n`. */
static struct ews_pack_object *take_left(size_t *n, struct ews_pack_reader *reader, const struct ews_packed *pack,
					 const struct record *base)
{
	struct ews_pack_object *left = reader->turn ? &reader->left->object : NULL, *object;
	size_t above = 0;

	if (!left || !left->pack)
		return NULL;
	while (above < *n && reader->chain[above].offset != left->offset)
		above++;
	if (left->pack != pack || (above == *n && base->offset != left->offset)) {
		drop(reader, left);
		return NULL;
	}
	*n = above;
	object = next_object(reader, NULL);
	ews_buf_release(&object->bytes);
	*object = *left;
	*left = (struct ews_pack_object){ .bytes = EWS_BUF_INIT };
	return object;
}

/* Read the base of a chain. 1, 0, or below zero, as the reader says it. */
static int read_base(struct ews_pack_object **out, struct ews_pack_reader *reader, const struct ews_packed *pack,
		     const struct record *record)
{
	struct ews_pack_object *object = next_object(reader, NULL);
	int rc = inflate_record(&object->bytes, reader, pack, record);

	object->type = (enum ews_object_type)record->type;
	*out = object;
	return rc;
}

static void keep(struct ews_pack_reader *reader, struct ews_pack_object *object, const struct ews_packed *pack,
		 size_t offset)
{
	object->pack = pack;
	object->offset = offset;
	reader->object = object;
}

/*
 * Down to the base, then up again; what is large at the end goes to `sink`, if there is one. 1, 0, or below zero, as the
 * reader says it; 2: it was passed on.
 */
static int read_at(enum ews_object_type *type, struct ews_pack_reader *reader, struct ews_packs *packs,
		   const struct ews_packed *pack, size_t offset, const struct ews_pack_sink *sink)
{
	struct ews_pack_object *object, *made;
	struct record record;
	size_t n;
	int rc = go_down(&record, &object, &n, reader, pack, offset);

	if (rc <= 0)
		return rc;
	if (!object && !n && sink && record.size >= LARGE_BYTES) {
		rc = pass_record(sink, reader, pack, &record);
		return rc > 0 ? 2 : rc;
	}
	if (!object) {
		wait_for_turn(reader, packs, record.size);
		object = take_left(&n, reader, pack, &record);
	}
	if (!object) {
		rc = read_base(&object, reader, pack, &record);
		if (rc != 1)
			return rc;
		keep(reader, object, pack, record.offset);
	}
	reader->object = object;
	*type = object->type;
	while (rc == 1 && n--) {
		/* Of large ones there are no more than two. */
		for (size_t i = 0; reader->turn && i < OBJECTS; i++)
			if (&reader->objects[i] != object)
				drop(reader, &reader->objects[i]);
		rc = inflate_record(&reader->delta, reader, pack, &reader->chain[n]);
		if (rc != 1)
			break;
		made = next_object(reader, object);
		made->type = object->type;
		rc = apply_delta(&made->bytes, object, reader, packs, n ? NULL : sink);
		if (rc != 1)
			break;
		keep(reader, made, pack, reader->chain[n].offset);
		object = made;
	}
	return rc;
}

/* A delta begins with how large it makes what comes of it. */
static bool read_delta_size(uint64_t *out, struct ews_pack_reader *reader, const struct ews_packed *pack,
			    const struct record *record)
{
	unsigned char head[DELTA_HEAD_MAX];
	const unsigned char *at = head;
	size_t base_len, len;
	z_stream *z = &reader->z;

	if (!begin_steps(reader, record))
		return false;
	z->next_out = head;
	z->avail_out = sizeof(head);
	(void)inflate_step(reader, pack, HEAD_BYTES); /* what came is looked at */
	if (!read_size(&base_len, &at, z->next_out) || !read_size(&len, &at, z->next_out))
		return false;
	*out = len;
	return true;
}

static int read_header_at(enum ews_object_type *type, uint64_t *size, struct ews_pack_reader *reader,
			  const struct ews_packed *pack, size_t offset)
{
	struct ews_pack_object *kept;
	struct record record;
	size_t n;
	int rc = go_down(&record, &kept, &n, reader, pack, offset);

	if (rc <= 0)
		return rc;
	*type = kept ? kept->type : (enum ews_object_type)record.type;
	*size = kept ? kept->bytes.len : record.size;
	return !n || read_delta_size(size, reader, pack, &reader->chain[0]) ? 1 : EWS_EDAMAGED;
}

struct taking {
	struct ews_pack_reader *reader;
	struct ews_packs *packs;
	const struct ews_pack_sink *sink;
	const struct ews_buf **out;
	enum ews_object_type *type;
	uint64_t *size;
};

static int take_content(void *payload, const struct ews_packed *pack, size_t offset)
{
	const struct taking *taking = payload;

	int rc = read_at(taking->type, taking->reader, taking->packs, pack, offset, taking->sink);

	*taking->out = &taking->reader->object->bytes;
	return rc;
}

static int take_header(void *payload, const struct ews_packed *pack, size_t offset)
{
	const struct taking *taking = payload;

	return read_header_at(taking->type, taking->size, taking->reader, pack, offset);
}

int ews_pack_reader_read(const struct ews_buf **out, enum ews_object_type *type, struct ews_pack_reader *reader,
			 struct ews_packs *packs, const struct ews_oid *oid, const struct ews_pack_sink *sink)
{
	struct taking taking = { .reader = reader, .packs = packs, .sink = sink, .out = out, .type = type };

	reader->ahead = 0;
	return ews_packs_take(packs, oid, take_content, &taking);
}

int ews_pack_reader_read_at(const struct ews_buf **out, enum ews_object_type *type, struct ews_pack_reader *reader,
			    struct ews_packs *packs, const struct ews_pack_place *place,
			    const struct ews_pack_sink *sink)
{
	struct taking taking = { .reader = reader, .packs = packs, .sink = sink, .out = out, .type = type };

	reader->ahead = AHEAD_BYTES;
	return ews_packs_take_at(packs, place, take_content, &taking);
}

int ews_pack_reader_read_header(enum ews_object_type *type, uint64_t *size, struct ews_pack_reader *reader,
				struct ews_packs *packs, const struct ews_oid *oid)
{
	struct taking taking = { .reader = reader, .packs = packs, .type = type, .size = size };

	return ews_packs_take(packs, oid, take_header, &taking);
}
