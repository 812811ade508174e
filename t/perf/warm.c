/*
 * Warm: see warm.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "warm.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DIRS_OPEN = 64,
	LOOKED_UP_BYTES = 1 << 20, /* and more */
};

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

/* Pages that are there already are only looked up. A kernel before 5.14 can't: they are copied. */
static void look_up(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED || madvise(map, size, POPULATE_READ) < 0)
		read_all(fd);
	if (map != MAP_FAILED)
		(void)munmap(map, size);
}

static int warm_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	int fd = type == FTW_F && S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;

	(void)at;
	if (fd < 0)
		return 0;
	/* To map what is small takes longer than to copy it. */
	if (st->st_size < LOOKED_UP_BYTES)
		read_all(fd);
	else
		look_up(fd, (size_t)st->st_size);
	(void)close(fd);
	return 0;
}

unsigned long long warm_reclaimed(void)
{
	FILE *stats = fopen("/proc/vmstat", "re");
	unsigned long long sum = 0, n;
	char name[64];

	while (stats && fscanf(stats, "%63s %llu", name, &n) == 2)
		if (!strncmp(name, "pgsteal_", 8) || !strcmp(name, "slabs_scanned"))
			sum += n;
	if (stats)
		(void)fclose(stats);
	return sum;
}

void warm(const char *path)
{
	(void)nftw(path, warm_file, DIRS_OPEN, FTW_PHYS); /* what isn't there, or may not be read, is not needed */
}
