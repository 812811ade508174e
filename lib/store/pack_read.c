/*
 * Packed objects that are read: see pack_read.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pack_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/pack_input.h"

#define OBJECT_BYTES_MAX (32 * EWS_MIB)
#define LARGE_BYTES \
	EWS_PACK_LARGE_BYTES /* what takes as much is passed on in steps, or read by one thread at a time */
#define LEFT_BYTES_MAX (16 * EWS_MIB) /* of a large buffer that is left for the next */
#define STEP_BYTES EWS_PACK_STEP_BYTES
#define DELTA_HEAD_MAX 20 /* two sizes */
#define RECORD_HEAD_MAX 32 /* what stands before a stream */
#define HEAD_BYTES 512 /* of a stream, of which little is wanted */
#define AHEAD_BYTES (128 * EWS_KIB) /* read at once, where what follows is wanted next */
#define OBJECTS_BYTES_MAX (512 * EWS_KIB) /* of those that are kept */
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
	struct ews_pack_input *input;
	/* What was read last, and what that was a delta of. */
	struct ews_pack_object objects[OBJECTS];
	struct ews_pack_object *object; /* the last of all */
	struct ews_buf delta, step;
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
	reader->delta = reader->step = (struct ews_buf)EWS_BUF_INIT;
	reader->input = ews_pack_input_new();
	return reader;
}

/* What was read last stays, as much of it as may be kept. */
static void shrink_objects(struct ews_pack_reader *reader)
{
	size_t last = (size_t)(reader->object - reader->objects), kept = 0;

	for (size_t i = 0; i < OBJECTS; i++) {
		struct ews_pack_object *object = &reader->objects[(last + OBJECTS - i) % OBJECTS];

		if (object->bytes.cap <= OBJECTS_BYTES_MAX - kept) {
			kept += object->bytes.cap;
			continue;
		}
		ews_buf_release(&object->bytes);
		object->pack = NULL;
	}
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
	ews_buf_shrink(&reader->left->room, LEFT_BYTES_MAX);
}

void ews_pack_reader_done(struct ews_pack_reader *reader)
{
	if (reader->turn)
		leave(reader);
	shrink_objects(reader);
	ews_buf_shrink(&reader->delta, EWS_PACK_KEPT_BYTES_MAX);
	ews_pack_input_shrink(reader->input);
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
	ews_pack_input_free(reader->input);
	for (size_t i = 0; i < OBJECTS; i++)
		ews_buf_release(&reader->objects[i].bytes);
	ews_buf_release(&reader->delta);
	ews_buf_release(&reader->step);
	free(reader->chain);
	free(reader);
}

/* Make `buf` empty, with room for `size` bytes. In our turn there may be some that was used before; where it is too small it goes. */
static void make_room(struct ews_pack_reader *reader, struct ews_buf *buf, size_t size)
{
	if (reader->turn && size >= LARGE_BYTES && size >= buf->cap) {
		ews_buf_release(buf);
		*buf = reader->left->room;
		reader->left->room = (struct ews_buf)EWS_BUF_INIT;
	}
	ews_buf_renew(buf, size);
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
	start = at = ews_pack_input_look(&len, reader->input, pack, RECORD_HEAD_MAX, offset);
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

/* Read a stream into memory. 1, 0, or below zero, as the reader says it. */
static int inflate_record(struct ews_buf *out, struct ews_pack_reader *reader, const struct ews_packed *pack,
			  const struct record *record)
{
	if (record->size > OBJECT_BYTES_MAX)
		return 0;
	make_room(reader, out, record->size);
	if (!ews_pack_input_inflate(out->ptr, record->size, reader->input, pack, record->at))
		return EWS_EDAMAGED;
	out->len = record->size;
	out->ptr[out->len] = '\0';
	return 1;
}

/* Pass a stream on. 1, or below zero. */
static int pass_record(const struct ews_pack_sink *sink, struct ews_pack_reader *reader,
		       const struct ews_packed *pack, const struct record *record)
{
	size_t done = 0;
	int more = 1, rc = ews_pack_input_begin(reader->input, record->at) ? 0 : EWS_EDAMAGED;

	if (rc == 0)
		rc = sink->begin(sink->payload, (enum ews_object_type)record->type, record->size);
	ews_buf_renew(&reader->step, STEP_BYTES);
	while (rc == 0 && more) {
		size_t n = STEP_BYTES;

		more = ews_pack_input_step(reader->step.ptr, &n, reader->input, pack, STEP_BYTES);
		done += n;
		if (more < 0 || done > record->size)
			return EWS_EDAMAGED;
		rc = sink->add(sink->payload, reader->step.ptr, n);
	}
	if (rc < 0)
		return rc;
	return done == record->size ? 1 : EWS_EDAMAGED;
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
	make_room(reader, out, sink ? STEP_BYTES : len);
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
	size_t base_len, len, n = sizeof(head);

	if (!ews_pack_input_begin(reader->input, record->at))
		return false;
	(void)ews_pack_input_step(head, &n, reader->input, pack, HEAD_BYTES); /* what came is looked at */
	if (!read_size(&base_len, &at, head + n) || !read_size(&len, &at, head + n))
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
	const struct ews_pack_check *check;
	const struct ews_buf **out;
	enum ews_object_type *type;
	uint64_t *size;
};

/* What is not as it should be was made of something that isn't, which is nobody's base. */
static void forget_objects(struct ews_pack_reader *reader)
{
	for (size_t i = 0; i < OBJECTS; i++)
		reader->objects[i].pack = NULL;
}

static int take_content(void *payload, const struct ews_packed *pack, size_t offset)
{
	const struct taking *taking = payload;
	struct ews_pack_reader *reader = taking->reader;
	const struct ews_pack_check *check = taking->check;
	int rc = read_at(taking->type, reader, taking->packs, pack, offset, taking->sink);

	*taking->out = &reader->object->bytes;
	if (rc <= 0 || !check || check->is_sound(check->payload, *taking->type, rc == 1 ? *taking->out : NULL))
		return rc;
	forget_objects(reader);
	return EWS_EDAMAGED;
}

static int take_header(void *payload, const struct ews_packed *pack, size_t offset)
{
	const struct taking *taking = payload;

	return read_header_at(taking->type, taking->size, taking->reader, pack, offset);
}

int ews_pack_reader_read(const struct ews_buf **out, enum ews_object_type *type, struct ews_pack_reader *reader,
			 struct ews_packs *packs, const struct ews_oid *oid, const struct ews_pack_sink *sink,
			 const struct ews_pack_check *check)
{
	struct taking taking = {
		.reader = reader, .packs = packs, .sink = sink, .check = check, .out = out, .type = type
	};

	ews_pack_input_read_ahead(reader->input, 0);
	return ews_packs_take(packs, oid, take_content, &taking);
}

int ews_pack_reader_read_at(const struct ews_buf **out, enum ews_object_type *type, struct ews_pack_reader *reader,
			    struct ews_packs *packs, const struct ews_pack_place *place,
			    const struct ews_pack_sink *sink, const struct ews_pack_check *check)
{
	struct taking taking = {
		.reader = reader, .packs = packs, .sink = sink, .check = check, .out = out, .type = type
	};

	ews_pack_input_read_ahead(reader->input, AHEAD_BYTES);
	return ews_packs_take_at(packs, place, take_content, &taking);
}

int ews_pack_reader_read_header(enum ews_object_type *type, uint64_t *size, struct ews_pack_reader *reader,
				struct ews_packs *packs, const struct ews_oid *oid)
{
	struct taking taking = { .reader = reader, .packs = packs, .type = type, .size = size };

	return ews_packs_take(packs, oid, take_header, &taking);
}
