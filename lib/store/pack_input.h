/*
 * What is read of packs: bytes at a place of theirs, and the streams that stand there, whole or step by step.
 *
 * One thread has one of these. What was read last stays, for who asks for what is in it as well.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PACK_INPUT_H
#define EWS_STORE_PACK_INPUT_H

#include "base/buf.h"
#include "store/packed.h"

#define EWS_PACK_KEPT_BYTES_MAX (256 * EWS_KIB) /* of a buffer, from one object to the next */
#define EWS_PACK_LARGE_BYTES (2 * EWS_MIB) /* of what takes as much little is in memory at once */
#define EWS_PACK_STEP_BYTES (64 * EWS_KIB)

struct ews_pack_input;

struct ews_pack_input *ews_pack_input_new(void);
void ews_pack_input_free(struct ews_pack_input *input);

/* Read at least so many bytes at once from now on, where what follows is wanted next; 0: as many as are asked for. */
void ews_pack_input_read_ahead(struct ews_pack_input *input, size_t bytes);
/* What is large is not kept for a stream that may never come. */
void ews_pack_input_shrink(struct ews_pack_input *input);

/*
 * The bytes at `at` of the pack, `*len` of them: `wanted`, or more, or all up to the end of the objects. NULL when they
 * can't be read. They stay until others are asked for.
 */
const unsigned char *ews_pack_input_look(size_t *len, struct ews_pack_input *input, const struct ews_packed *pack,
					 size_t wanted, size_t at);

/*
 * Read the stream at `at` to `out`, which has room for what it becomes: `size` bytes. False: it is damaged, or becomes
 * something else.
 */
bool ews_pack_input_inflate(char *out, size_t size, struct ews_pack_input *input, const struct ews_packed *pack,
			    size_t at);

/* Begin to read the stream at `at` step by step. */
bool ews_pack_input_begin(struct ews_pack_input *input, size_t at);
/*
 * Go on with it: `*n` bytes come to `out`, which has room for so many, and some came unless there is none. They are read
 * `at_once`. Returns 1, or 0 when that was all of it. Fails with EWS_EDAMAGED, without a sentence; what came before that is in `out`.
 */
int ews_pack_input_step(void *out, size_t *n, struct ews_pack_input *input, const struct ews_packed *pack,
			size_t at_once);

#endif
