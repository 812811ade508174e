/*
 * Cleanup: locals that release what they own when they go out of scope.
 *
 *     EWS_CLEANUP(free) char *path = NULL;
 *     EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
 *     *out = ews_steal(&path);
 *
 * A type joins by defining `ews_cleanup_<name>(type *)` in its own header,
 * mostly through EWS_CLEANUP_DEFINE.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_CLEANUP_H
#define EWS_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define EWS_CLEANUP(name) __attribute__((cleanup(ews_cleanup_##name)))

/* For a struct that lives on the stack: release(&value). */
#define EWS_CLEANUP_DEFINE(name, type, release)            \
	static inline void ews_cleanup_##name(type *value) \
	{                                                  \
		release(value);                            \
	}

/* For a pointer to a struct on the heap: free_fn(value), NULL allowed. */
#define EWS_CLEANUP_DEFINE_PTR(name, type, free_fn)         \
	static inline void ews_cleanup_##name(type **value) \
	{                                                   \
		free_fn(*value);                            \
	}

/* `ptr` is the address of a pointer; its value goes to the caller, NULL stays. */
#define ews_steal(ptr)                               \
	__extension__({                              \
		__typeof__(*(ptr)) stolen_ = *(ptr); \
		*(ptr) = NULL;                       \
		stolen_;                             \
	})

static inline void ews_cleanup_free(void *ptr)
{
	free(*(void **)ptr);
}

/* Called before the block's end, it leaves nothing to do there: the number may be another file's by then. */
static inline void ews_cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The descriptor goes to the caller; -1 stays. */
static inline int ews_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

#endif
