/*
 * lister: a line for each path beneath a directory, and for itself, so that two trees, or two moments of one, can be
 * compared by diff.
 *
 *     lister [-m] [-x <path>]... [-M <path>]... <dir>
 *
 *     <path> TAB <type> <mode> <mtime> <size> <sha256, or the link's text> [<attribute>=<hex>]...
 *
 * -m         leave out all times
 * -M <path>  leave out the time of this path ("." is <dir>)
 * -x <path>  leave out this path and all beneath it
 *
 * Newline, carriage return and backslash in names and links are \012 \015 \134. "-" stands for what
 * does not apply or is left out: the size of a directory, the content of a FIFO. A content that cannot
 * be read is "unreadable"; one of 2 GiB and more is not read, and is "large". Lines are sorted by their bytes.
 *
 * It shares nothing with lib/: what that walks, reads and hashes is what it is there to check.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	STATUS_FAILED = 128,
	STATUS_USAGE = 129,
	LISTS_BYTES = 65536, /* the most that the kernel gives of names, and of a value */
	OPEN_DEPTH = 200, /* below that a directory is closed while what it holds is listed */
	READ_BYTES = 128 * 1024,
};

#define LARGE ((off_t)2 * 1024 * 1024 * 1024)

static bool with_times = true;
static const char **left_out, **timeless;
static size_t left_out_n, timeless_n;

static char **lines;
static size_t lines_n, lines_cap;

static void die(const char *what, const char *path)
{
	fprintf(stderr, "lister: %s '%s': %s\n", what, path, strerror(errno));
	exit(STATUS_FAILED);
}

static bool is_one_of(const char *path, const char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(path, list[i]))
			return true;
	return false;
}

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '\n' || *text == '\r')
			fprintf(out, "\\%03o", (unsigned char)*text);
		else
			(void)putc(*text, out);
	}
}

static void put_hex(FILE *out, const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(out, "%02x", bytes[i]);
}

static char type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return 'f';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	case S_IFBLK:
		return 'b';
	default:
		return 'c';
	}
}

static void put_content(FILE *out, int dir, const char *name, off_t size)
{
	static unsigned char bytes[READ_BYTES];
	unsigned char digest[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *hash;
	unsigned len = 0;
	ssize_t n;
	int fd;

	if (size >= LARGE) {
		fputs("large", out);
		return;
	}
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	hash = EVP_MD_CTX_new();
	if (!hash || !EVP_DigestInit_ex(hash, EVP_sha256(), NULL))
		die("cannot hash", name);
	while ((n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes))) > 0)
		EVP_DigestUpdate(hash, bytes, (size_t)n);
	if (n < 0) {
		fputs("unreadable", out);
	} else {
		EVP_DigestFinal_ex(hash, digest, &len);
		put_hex(out, digest, len);
	}
	EVP_MD_CTX_free(hash);
	if (fd >= 0)
		(void)close(fd);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* `near` is the path as the kernel takes it, seen from the working directory. */
static void put_attributes(FILE *out, const char *near)
{
	static char names[LISTS_BYTES + 1], value[LISTS_BYTES];
	char *sorted[LISTS_BYTES / 2];
	ssize_t len = llistxattr(near, names, LISTS_BYTES);
	size_t n = 0;

	for (char *name = names; len > 0 && name < names + len; name += strlen(name) + 1)
		sorted[n++] = name;
	qsort(sorted, n, sizeof(*sorted), compare_texts);
	for (size_t i = 0; i < n; i++) {
		ssize_t bytes = lgetxattr(near, sorted[i], value, sizeof(value));

		if (bytes < 0)
			continue; /* not ours to read */
		(void)putc(' ', out);
		put_text(out, sorted[i]);
		fputs("=0x", out);
		put_hex(out, (unsigned char *)value, (size_t)bytes);
	}
}

/* What stands as `name` in the directory open at `dir`, which is `path` from the top. */
static void list(int dir, const char *name, const char *path, const struct stat *st)
{
	char near[64 + NAME_MAX], text[PATH_MAX + 1], *line = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&line, &size);
	ssize_t len;

	if (!out)
		die("cannot list", path);
	put_text(out, path);
	fprintf(out, "\t%c %o ", type_of(st->st_mode), (unsigned)st->st_mode & 07777);
	if (with_times && !is_one_of(path, timeless, timeless_n))
		fprintf(out, "%" PRId64 ".%09ld ", (int64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	else
		fputs("- ", out);
	if (S_ISDIR(st->st_mode))
		fputs("- ", out);
	else
		fprintf(out, "%" PRId64 " ", (int64_t)st->st_size);
	if (S_ISREG(st->st_mode)) {
		put_content(out, dir, name, st->st_size);
	} else if (S_ISLNK(st->st_mode)) {
		len = readlinkat(dir, name, text, PATH_MAX);
		text[len > 0 ? len : 0] = '\0';
		put_text(out, text);
	} else {
		(void)putc('-', out);
	}
	(void)snprintf(near, sizeof(near), "/proc/self/fd/%d/%s", dir, name);
	put_attributes(out, near);
	if (fclose(out) != 0)
		die("cannot list", path);
	if (lines_n == lines_cap) {
		lines_cap = lines_cap ? 2 * lines_cap : 256;
		lines = realloc(lines, lines_cap * sizeof(*lines));
		if (!lines)
			die("cannot list", path);
	}
	lines[lines_n++] = line;
}

static char **read_names(size_t *n, int dir)
{
	char **names = NULL;
	size_t cap = 0;
	struct dirent *entry;
	DIR *stream = fdopendir(dup(dir));

	*n = 0;
	while (stream && (entry = readdir(stream))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (*n == cap) {
			cap = cap ? 2 * cap : 64;
			names = realloc(names, cap * sizeof(*names));
		}
		if (!names || !(names[(*n)++] = strdup(entry->d_name)))
			die("cannot list", ".");
	}
	if (stream)
		(void)closedir(stream);
	return names;
}

/* List what the directory open at `dir` holds; it is `path` from the top, "" that itself. Returns it, open again perhaps. */
static int walk(int dir, const char *path, unsigned depth)
{
	size_t n;
	char **names = read_names(&n, dir);

	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(path) + strlen(names[i]) + 2;
		char *below = malloc(size);
		struct stat st;
		int fd;

		if (!below)
			die("cannot list", path);
		(void)snprintf(below, size, "%s%s%s", path, *path ? "/" : "", names[i]);
		if (is_one_of(below, left_out, left_out_n)) {
			/* neither it nor what it holds */
		} else if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0) {
			fprintf(stderr, "lister: cannot look at '%s': %s\n", below, strerror(errno));
		} else {
			list(dir, names[i], below, &st);
			fd = S_ISDIR(st.st_mode)
				     ? openat(dir, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				     : -1;
			if (S_ISDIR(st.st_mode) && fd < 0)
				fprintf(stderr, "lister: cannot look into '%s': %s\n", below, strerror(errno));
			if (fd >= 0 && depth >= OPEN_DEPTH) {
				(void)close(dir);
				fd = walk(fd, below, depth + 1);
				dir = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
				if (dir < 0)
					die("cannot come back from", below);
			} else if (fd >= 0) {
				fd = walk(fd, below, depth + 1);
			}
			if (fd >= 0)
				(void)close(fd);
		}
		free(below);
		free(names[i]);
	}
	free(names);
	return dir;
}

static void add(const char ***list_of, size_t *n, const char *path)
{
	*list_of = realloc(*list_of, (*n + 1) * sizeof(**list_of));
	if (!*list_of)
		die("cannot list", path);
	(*list_of)[(*n)++] = path;
}

int main(int argc, char **argv)
{
	struct stat st;
	int dir, opt;

	while ((opt = getopt(argc, argv, "+mx:M:")) != -1) {
		if (opt == 'm')
			with_times = false;
		else if (opt == 'x')
			add(&left_out, &left_out_n, optarg);
		else if (opt == 'M')
			add(&timeless, &timeless_n, optarg);
		else
			return STATUS_USAGE;
	}
	if (argc - optind != 1) {
		fputs("usage: lister [-m] [-x <path>]... [-M <path>]... <dir>\n", stderr);
		return STATUS_USAGE;
	}
	dir = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		die("cannot look at", argv[optind]);
	list(dir, ".", ".", &st);
	dir = walk(dir, "", 0);
	(void)close(dir);
	qsort(lines, lines_n, sizeof(*lines), compare_texts);
	for (size_t i = 0; i < lines_n; i++) {
		if (puts(lines[i]) < 0)
			die("cannot print", argv[optind]);
		free(lines[i]);
	}
	free(lines);
	free(left_out);
	free(timeless);
	return fflush(stdout) == 0 ? 0 : STATUS_FAILED;
}
