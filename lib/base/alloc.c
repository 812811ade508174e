/*
 * Memory: the one place that gives up, and arenas of strings.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/alloc.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK_MIN 1024
#define BLOCK_MAX (256 * 1024)
#define MAPPED_MIN (1024 * 1024) /* what is that large is mapped by itself */
#define FILLED_MIN (64 * 1024) /* fewer pages are not worth a call */
#define HEAP_BYTES (16 * 1024 * 1024)
#define FREED_BYTES (6 * 1024 * 1024)
#define GROWN_BYTES (3 * 1024 * 1024)

struct ews_arena_block {
	struct ews_arena_block *next;
	size_t size;
	size_t used;
	_Alignas(max_align_t) unsigned char data[];
};

static int failure_status = 128;

/* Not exit(): its handlers may need memory, too. The journal is what makes this safe. */
__attribute__((noreturn)) static void give_up(void)
{
	static const char words[] = "fatal: out of memory\n";

	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		_exit(failure_status);
	_exit(failure_status);
}

void ews_alloc_fail_with(int status)
{
	failure_status = status;
}

void ews_alloc_begin(void)
{
#ifdef __GLIBC__
	/* The heap begins with room that is a size alone until it is touched. */
	(void)mallopt(M_TOP_PAD, HEAP_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BYTES);
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
	/*
	 * One heap for all threads: what one has freed serves the next, and can be given back, which of the heaps that threads
	 * have else is true of little. They seldom meet there: of what is small each has some at hand, what is large is mapped.
	 */
	(void)mallopt(M_ARENA_MAX, 1);
#endif
}

void ews_alloc_fill(void *ptr, size_t size)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t page = (uintptr_t)getpagesize();
	uintptr_t begin = ((uintptr_t)ptr + page - 1) & ~(page - 1), end = ((uintptr_t)ptr + size) & ~(page - 1);

	if (end > begin && end - begin >= FILLED_MIN)
		(void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE); /* they come one by one, too */
#else
	(void)ptr;
	(void)size;
#endif
}

void ews_alloc_give_back(void)
{
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
	if (mallinfo2().fordblks <= FREED_BYTES)
		return;
#endif
	(void)malloc_trim(FREED_BYTES);
#endif
}

/* How many bytes the process has in memory; 0: that can't be told. */
static size_t count_resident(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	unsigned long pages = 0;

	if (fd >= 0)
		(void)close(fd);
	text[len > 0 ? len : 0] = '\0';
	return sscanf(text, "%*u %lu", &pages) == 1 ? pages * (size_t)getpagesize() : 0;
}

void ews_alloc_give_back_growth(size_t *resident)
{
	size_t now = count_resident();

	if (*resident && now && now < *resident + GROWN_BYTES)
		return;
	ews_alloc_give_back();
	*resident = count_resident();
}

void *ews_malloc(size_t size)
{
	void *ptr = malloc(size ? size : 1);

	if (!ptr)
		give_up();
	return ptr;
}

void *ews_calloc(size_t n, size_t size)
{
	void *ptr = calloc(n ? n : 1, size ? size : 1);

	if (!ptr)
		give_up();
	return ptr;
}

void *ews_realloc(void *ptr, size_t size)
{
	void *bigger = realloc(ptr, size ? size : 1);

	if (!bigger)
		give_up();
	return bigger;
}

void *ews_memdup(const void *data, size_t len)
{
	void *copy = ews_malloc(len);

	if (len)
		memcpy(copy, data, len);
	return copy;
}

char *ews_strdup(const char *text)
{
	return ews_memdup(text, strlen(text) + 1);
}

char *ews_strndup(const char *text, size_t len)
{
	size_t n = strnlen(text, len);
	char *copy = ews_malloc(n + 1);

	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

char *ews_strfmt(const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		give_up();
	return text;
}

void *ews_grow(void *array, size_t item_size, size_t want, size_t *cap)
{
	size_t size;

	if (want <= *cap)
		return array;
	if (want < *cap + *cap / 2)
		want = *cap + *cap / 2;
	if (want < 16)
		want = 16;
	if (__builtin_mul_overflow(want, item_size, &size))
		give_up();
	*cap = want;
	return ews_realloc(array, size);
}

/* `size` bytes at the next offset that is a multiple of `align`. */
static void *take(struct ews_arena *arena, size_t size, size_t align)
{
	struct ews_arena_block *block = arena->head;
	size_t at, room = BLOCK_MIN;

	if (block) {
		at = (block->used + align - 1) / align * align;
		if (at <= block->size && size <= block->size - at) {
			block->used = at + size;
			return block->data + at;
		}
		room = block->size < BLOCK_MAX / 2 ? 2 * block->size : BLOCK_MAX;
	}
	if (size > SIZE_MAX / 2)
		give_up();
	if (size > room / 4) {
		/* Big ones get a block to themselves, behind the one that still has room. */
		block = ews_malloc(sizeof(*block) + size);
		*block = (struct ews_arena_block){ .size = size, .used = size };
		if (!arena->head) {
			arena->head = block;
			return block->data;
		}
		block->next = arena->head->next;
		arena->head->next = block;
		return block->data;
	}
	block = ews_malloc(sizeof(*block) + room);
	*block = (struct ews_arena_block){ .next = arena->head, .size = room, .used = size };
	arena->head = block;
	return block->data;
}

char *ews_arena_dup(struct ews_arena *arena, const char *text, size_t len)
{
	char *copy = take(arena, len + 1, 1);

	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void *ews_arena_alloc(struct ews_arena *arena, size_t size)
{
	return memset(take(arena, size, _Alignof(max_align_t)), 0, size);
}

void *ews_arena_alloc_raw(struct ews_arena *arena, size_t size)
{
	return take(arena, size, _Alignof(max_align_t));
}

void ews_arena_join(struct ews_arena *into, struct ews_arena *from)
{
	struct ews_arena_block *last = from->head;

	if (!last)
		return;
	if (into->head) {
		while (last->next)
			last = last->next;
		last->next = into->head->next;
		into->head->next = from->head;
	} else {
		into->head = from->head;
	}
	from->head = NULL;
}

void ews_arena_release(struct ews_arena *arena)
{
	struct ews_arena_block *block, *next;

	for (block = arena->head; block; block = next) {
		next = block->next;
		free(block);
	}
	arena->head = NULL;
}
