/*
 * lister: a line for each path beneath a directory, and for itself, so that two trees, or two moments of one, can be
 * compared by diff.
 *
 *     lister [-m] [-n] [-x <path>]... [-M <path>]... [-X <pattern>]... [-C <pattern>]... <dir>
 *
 *     <path> TAB <type> <mode> <mtime> <size> <sha256, or the link's text> [<attribute>=<hex>]...
 *
 * -m         leave out all times
 * -M <path>  leave out the time of this path ("." is <dir>)
 * -x <path>  leave out this path and all beneath it
 * -X <pattern>  likewise what matches, as fnmatch(3) has it without flags: "*" is any number of directories
 * -C <pattern>  what matches is there, with its type and mode, and no more is said of it or looked at in it
 * -n         what is another one each time the same is done becomes a letter, in names and in texts: ids, times, the names of
 *            objects, processes, the working directory
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
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <nettle/sha2.h>
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

struct paths {
	const char **items;
	size_t n;
};

static bool with_times = true, is_plain;
static struct paths left_out, timeless, left_out_all, closed;
static char here[PATH_MAX];

static char **lines;
static size_t lines_n, lines_cap;

static void die(const char *what, const char *path)
{
	fprintf(stderr, "lister: %s '%s': %s\n", what, path, strerror(errno));
	exit(STATUS_FAILED);
}

static bool is_one_of(const char *path, const struct paths *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		if (!strcmp(path, paths->items[i]))
			return true;
	return false;
}

static bool matches_one_of(const char *path, const struct paths *patterns)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (!fnmatch(patterns->items[i], path, 0))
			return true;
	return false;
}

/* How long is the run of such characters? */
static size_t span(const char *text, const char *end, const char *set)
{
	size_t n = 0;

	while (text + n < end && text[n] && strchr(set, text[n]))
		n++;
	return n;
}

/* How much of the text is an id, a time, ...? Sets the letter for it. 0: that is none. */
static size_t span_of_a_kind(const char *text, const char *end, const char *begin, char *letter)
{
	static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
	static const char *const numbers[] = { "pid\": ", "start_time\": " };
	size_t n = span(text, end, digits), len;

	*letter = 'I';
	if (n == 8 && end - text >= 22 && text[8] == '-' && span(text + 9, end, digits) >= 6 && text[15] == '-' &&
	    span(text + 16, end, hex) >= 6)
		return 22;
	*letter = 'T';
	if (n == 4 && !strncmp(text, "20", 2) && end - text >= 19 && text[4] == '-' && text[10] == 'T')
		return 11 + span(text + 11, end, "0123456789:.Z");
	*letter = 'H';
	len = span(text, end, hex);
	if (len >= 32)
		return len;
	*letter = 'T';
	if (n >= 9)
		return n + (text + n < end && text[n] == '.' ? 1 + span(text + n + 1, end, digits) : 0);
	*letter = 'N';
	for (size_t i = 0; n && i < 2; i++)
		if ((size_t)(text - begin) >= strlen(numbers[i]) &&
		    !strncmp(text - strlen(numbers[i]), numbers[i], strlen(numbers[i])))
			return n;
	*letter = '.';
	len = strlen(here);
	return (size_t)(end - text) >= len && !strncmp(text, here, len) ? len : 0;
}

/* The text without what is another one each time. The caller frees it. */
static char *make_plain(size_t *out_len, const char *text, size_t len)
{
	static const char word[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *out = malloc(len + 1), letter;
	const char *end = text + len;
	size_t n = 0;

	if (!out)
		return NULL;
	for (const char *at = text; at < end;) {
		size_t skip = span_of_a_kind(at, end, text, &letter);

		if (skip) {
			out[n++] = letter;
			at += skip;
			continue;
		}
		/* No number begins in the midst of a word. */
		skip = span(at, end, word);
		skip = skip ? skip : 1;
		memcpy(out + n, at, skip);
		n += skip;
		at += skip;
	}
	out[n] = '\0';
	*out_len = n;
	return out;
}

static void put_text(FILE *out, const char *text)
{
	size_t len = strlen(text);
	char *plain = is_plain ? make_plain(&len, text, len) : NULL;

	for (const char *at = plain ? plain : text; *at; at++) {
		if (*at == '\\' || *at == '\n' || *at == '\r')
			fprintf(out, "\\%03o", (unsigned char)*at);
		else
			(void)putc(*at, out);
	}
	free(plain);
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
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;
	ssize_t n;
	int fd;

	if (size >= LARGE) {
		fputs("large", out);
		return;
	}
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	sha256_init(&hash);
	while ((n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes))) > 0) {
		size_t plain_len = (size_t)n;
		/* A file of ours that has ids in it comes in one piece. */
		char *plain = is_plain && !memchr(bytes, 0, (size_t)n)
				      ? make_plain(&plain_len, (char *)bytes, (size_t)n)
				      : NULL;

		sha256_update(&hash, plain_len, plain ? (uint8_t *)plain : bytes);
		free(plain);
	}
	if (n < 0) {
		fputs("unreadable", out);
	} else {
		sha256_digest(&hash, sizeof(digest), digest);
		put_hex(out, digest, sizeof(digest));
	}
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
	bool is_closed = matches_one_of(path, &closed);
	ssize_t len;

	if (!out)
		die("cannot list", path);
	put_text(out, path);
	fprintf(out, "\t%c %o ", type_of(st->st_mode), (unsigned)st->st_mode & 07777);
	if (with_times && !is_closed && !is_one_of(path, &timeless))
		fprintf(out, "%" PRId64 ".%09ld ", (int64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	else
		fputs("- ", out);
	if (S_ISDIR(st->st_mode) || is_closed || is_plain)
		fputs("- ", out);
	else
		fprintf(out, "%" PRId64 " ", (int64_t)st->st_size);
	if (is_closed) {
		(void)putc('-', out);
	} else if (S_ISREG(st->st_mode)) {
		put_content(out, dir, name, st->st_size);
	} else if (S_ISLNK(st->st_mode)) {
		len = readlinkat(dir, name, text, PATH_MAX);
		text[len > 0 ? len : 0] = '\0';
		put_text(out, text);
	} else {
		(void)putc('-', out);
	}
	(void)snprintf(near, sizeof(near), "/proc/self/fd/%d/%s", dir, name);
	if (!is_closed)
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
		bool is_dir;
		int fd;

		if (!below)
			die("cannot list", path);
		(void)snprintf(below, size, "%s%s%s", path, *path ? "/" : "", names[i]);
		if (is_one_of(below, &left_out) || matches_one_of(below, &left_out_all)) {
			/* neither it nor what it holds */
		} else if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0) {
			fprintf(stderr, "lister: cannot look at '%s': %s\n", below, strerror(errno));
		} else {
			list(dir, names[i], below, &st);
			is_dir = S_ISDIR(st.st_mode) && !matches_one_of(below, &closed);
			fd = is_dir ? openat(dir, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
			if (is_dir && fd < 0)
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

static void add(struct paths *paths, const char *path)
{
	paths->items = realloc(paths->items, (paths->n + 1) * sizeof(*paths->items));
	if (!paths->items)
		die("cannot list", path);
	paths->items[paths->n++] = path;
}

int main(int argc, char **argv)
{
	struct stat st;
	int dir, opt;

	while ((opt = getopt(argc, argv, "+mnx:M:X:C:")) != -1) {
		if (opt == 'm')
			with_times = false;
		else if (opt == 'n')
			is_plain = true;
		else if (opt == '?')
			return STATUS_USAGE;
		else
			add(opt == 'x'   ? &left_out
			    : opt == 'X' ? &left_out_all
			    : opt == 'C' ? &closed
					 : &timeless,
			    optarg);
	}
	if (argc - optind != 1 || !getcwd(here, sizeof(here))) {
		fputs("usage: lister [-m] [-n] [-x|-M <path>]... [-X|-C <pattern>]... <dir>\n", stderr);
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
	free(left_out.items);
	free(timeless.items);
	free(left_out_all.items);
	free(closed.items);
	return fflush(stdout) == 0 ? 0 : STATUS_FAILED;
}
