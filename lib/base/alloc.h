/*
 * Memory: allocation that succeeds or ends the program.
 *
 * Nothing in this program can go on sensibly without memory, and a check at
 * every call would bury what the code is about. So there is one place that
 * gives up, as in git's xmalloc.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_ALLOC_H
#define EWS_BASE_ALLOC_H

#include <stddef.h>

/* Let the heap be one, and grow in long strides. To be called once, before there are threads. */
void ews_alloc_begin(void);

/* What the program exits with when it is out of memory: 128 unless a verb, whose status is that of a command, has another. */
void ews_alloc_fail_with(int status);

/*
 * All `size` bytes at `ptr` are about to be filled: get their pages now, at once, which takes half as long as to get each when it
 * is first touched. Not in large pages: of these a virtual machine may have to get each from its host, which takes ten times as long.
 */
void ews_alloc_fill(void *ptr, size_t size);
/* Give what was freed back to the kernel, where it is much: to be called where long lists have gone and others come. */
void ews_alloc_give_back(void);
/*
 * The same for who asks often, mostly for little: where much became resident since the last time, which `*resident` says, 0 at
 * first. Each time what is used again comes page by page.
 */
void ews_alloc_give_back_growth(size_t *resident);

void *ews_malloc(size_t size);
void *ews_calloc(size_t n, size_t size);
void *ews_realloc(void *ptr, size_t size);
char *ews_strdup(const char *text);
char *ews_strndup(const char *text, size_t len);
void *ews_memdup(const void *data, size_t len);
__attribute__((format(printf, 1, 2))) char *ews_strfmt(const char *fmt, ...);

/* Make room for one more item in `array` of `n` used and `cap` allocated items. */
#define EWS_GROW(array, n, cap) EWS_GROW_TO(array, (n) + 1, cap)

/* Make room for `want` items in `array` of `cap` allocated items. */
#define EWS_GROW_TO(array, want, cap) ((array) = ews_grow((array), sizeof(*(array)), (want), &(cap)))

void *ews_grow(void *array, size_t item_size, size_t want, size_t *cap);

/*
 * An arena: many small strings that live and die together.
 *
 * What ews_arena_dup() gives stays at its place until ews_arena_release().
 */
struct ews_arena {
	struct ews_arena_block *head;
};

#define EWS_ARENA_INIT { NULL }

/* A NUL-terminated copy of the `len` bytes at `text`, owned by `arena`. */
char *ews_arena_dup(struct ews_arena *arena, const char *text, size_t len);
/* `size` zeroed bytes, aligned for any type, owned by `arena`. */
void *ews_arena_alloc(struct ews_arena *arena, size_t size);
/* The same, not zeroed: for what is filled at once. */
void *ews_arena_alloc_raw(struct ews_arena *arena, size_t size);
/* Hand all of `from`'s memory over to `into`; `from` is empty afterwards. */
void ews_arena_join(struct ews_arena *into, struct ews_arena *from);
void ews_arena_release(struct ews_arena *arena);

#endif
