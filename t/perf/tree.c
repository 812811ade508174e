/*
 * Trees: see tree.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tree.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_A_DIR 21
#define DIRS_A_DIR 12

static void fail(const char *what)
{
	perror(what);
	exit(128);
}

/* The same each time: a linear congruential generator (Knuth, MMIX). */
static uint64_t chance;

static size_t pick(size_t n)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(chance >> 33) % n;
}

/* Text that deflates about as source does, to a fourth. */
static void write_text(FILE *out, size_t lines)
{
	static const char *const words[] = { "static", "int",   "return", "const", "struct", "if",
					     "while",  "break", "entry",  "index", "buf",    "size",
					     "flags",  "error", "path",   "NULL" };

	while (lines--) {
		for (size_t n = 1 + pick(9); n; n--)
			(void)fprintf(out, "%s%s", words[pick(sizeof(words) / sizeof(*words))], n > 1 ? " " : "");
		(void)fprintf(out, "(%zx)\n", pick(1 << 20));
	}
}

/* "d3/d11/": directory number `n`, the first ones at the top. Gives its length. */
static size_t name_dir(char *out, size_t size, size_t n)
{
	size_t len = n >= DIRS_A_DIR ? name_dir(out, size, n / DIRS_A_DIR) : 0;

	return len + (size_t)snprintf(out + len, size - len, "d%zu/", n % DIRS_A_DIR);
}

static void make_dirs(char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755); /* whether it is there shows when the file is made */
		*slash = '/';
	}
}

void tree_make(const char *dir, size_t n, size_t lines_max)
{
	chance = 1;
	if (chdir(dir) < 0)
		fail(dir);
	for (size_t i = 0; i < n; i++) {
		char path[256];
		size_t len = name_dir(path, sizeof(path), i / FILES_A_DIR);
		FILE *out;

		(void)snprintf(path + len, sizeof(path) - len, "file-%zu.c", i);
		make_dirs(path);
		out = fopen(path, "we");
		if (!out)
			fail(path);
		write_text(out, 1 + pick(lines_max));
		if (fclose(out))
			fail(path);
	}
}

static int append(const char *path, const char *tag)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? -1 : dprintf(fd, "changed %s\n", tag);

	if (fd >= 0 && close(fd) < 0)
		return -1;
	return rc;
}

/* The names of the files, in git's order. */
static char **list_files(size_t *n)
{
	FILE *from = popen("git ls-files -s -z", "re");
	char **names = NULL, *line = NULL;
	size_t cap = 0, line_cap = 0;

	*n = 0;
	while (from && getdelim(&line, &line_cap, '\0', from) > 0) {
		const char *name = strchr(line, '\t');
		const char *base = name ? strrchr(name, '/') : NULL;

		if (!name || strncmp(line, "100", 3) || !strncmp(base ? base + 1 : name + 1, ".git", 4))
			continue;
		if (*n == cap) {
			cap = cap ? 2 * cap : 1024;
			names = realloc(names, cap * sizeof(*names));
			if (!names)
				fail("no memory");
		}
		names[(*n)++] = strdup(name + 1);
	}
	free(line);
	if (!from || pclose(from))
		fail("git ls-files");
	return names;
}

void tree_change(const char *dir, size_t n, const char *tag)
{
	size_t have, i;
	char **names;

	if (chdir(dir) < 0)
		fail(dir);
	names = list_files(&have);
	n = n && n < have ? n : have;
	for (i = 0; i < n; i++)
		if (append(names[i * have / n], tag) < 0)
			fail(names[i * have / n]);
	for (i = 0; i < have; i++)
		free(names[i]);
	free(names);
}
