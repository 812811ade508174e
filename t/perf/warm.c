/*
 * Warm: see warm.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "warm.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRS_OPEN = 64 };

/* The C library's headers may be older than the kernel. */
#ifdef MADV_POPULATE_READ
#define POPULATE_READ MADV_POPULATE_READ
#else
#define POPULATE_READ 22
#endif

static void read_all(int fd)
{
	char chunk[65536];

	while (read(fd, chunk, sizeof(chunk)) > 0)
		;
}

static int warm_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	int fd = type == FTW_F && S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	size_t size = (size_t)st->st_size;
	void *map = fd < 0 || !size ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	(void)at;
	/* Pages that are there already are only looked up. A kernel before 5.14 can't: they are copied. */
	if (map != MAP_FAILED && madvise(map, size, POPULATE_READ) < 0)
		read_all(fd);
	if (map != MAP_FAILED)
		(void)munmap(map, size);
	if (fd >= 0)
		(void)close(fd);
	return 0;
}

void warm(const char *path)
{
	(void)nftw(path, warm_file, DIRS_OPEN, FTW_PHYS); /* what isn't there, or may not be read, is not needed */
}
