/*
 * Lists: see list.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTR_BYTES_MAX 65536

int path_cmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	if (*a == *b)
		return 0;
	/* the end of a name comes first, then what goes on below it */
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

bool path_is_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !len || (!strncmp(path, dir, len) && (!path[len] || path[len] == '/'));
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int cmp_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A name as manifests spell it: control characters, commas and blanks as \ooo, a backslash twice. */
static void add_attr_name(struct text *out, const char *name)
{
	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		if (*c < ' ' || *c == 0x7f || *c == ',' || *c == ' ')
			text_addf(out, "\\%03o", *c);
		else if (*c == '\\')
			text_addf(out, "\\\\");
		else
			text_add(out, c, 1);
	}
}

static bool is_set_by_the_system(const char *name)
{
	return !strcmp(name, "security.selinux") || !strcmp(name, "security.ima") || !strcmp(name, "security.evm");
}

/* Those of what `fd` is open on, or of what has this name there and can't be opened. */
static void read_attrs(struct item *item, int fd, const char *name)
{
	struct text out = TEXT_INIT;
	char names[ATTR_BYTES_MAX];
	char *sorted[256];
	char *path = NULL;
	size_t n = 0;
	ssize_t len;

	if (name && asprintf(&path, "/proc/self/fd/%d/%s", fd, name) < 0)
		die("no memory");
	len = path ? llistxattr(path, names, sizeof(names)) : flistxattr(fd, names, sizeof(names));

	if (len < 0 && errno != ENOTSUP && errno != EACCES)
		die("cannot list the attributes of '%s': %s", item->path, strerror(errno));
	for (char *at = names; len > 0 && at < names + len && n < 256; at += strlen(at) + 1)
		if (!is_set_by_the_system(at))
			sorted[n++] = at;
	if (n)
		qsort(sorted, n, sizeof(*sorted), cmp_names);
	for (size_t i = 0; i < n; i++) {
		unsigned char value[ATTR_BYTES_MAX];
		ssize_t got = path ? lgetxattr(path, sorted[i], value, sizeof(value))
				   : fgetxattr(fd, sorted[i], value, sizeof(value));

		if (got < 0)
			die("cannot read the attribute '%s' of '%s': %s", sorted[i], item->path, strerror(errno));
		text_addf(&out, "%s", i ? "," : "");
		add_attr_name(&out, sorted[i]);
		text_addf(&out, "=");
		for (ssize_t k = 0; k < got; k++)
			text_addf(&out, "%02x", value[k]);
	}
	item->attrs = out.ptr;
	free(path);
}

static void read_file(struct item *item, int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_closed = fd < 0 && errno == EACCES;
	struct text data = TEXT_INIT;
	char chunk[65536];
	ssize_t got;

	/* an ordinary user looks at what they closed to themselves, and closes it again */
	if (is_closed && fchmodat(dir_fd, name, (item->mode & 07777) | 0400, 0) == 0)
		fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		die("cannot open '%s': %s", item->path, strerror(errno));
	while ((got = read(fd, chunk, sizeof(chunk))) > 0)
		text_add(&data, chunk, (size_t)got);
	if (got < 0)
		die("cannot read '%s': %s", item->path, strerror(errno));
	if (is_closed && fchmod(fd, item->mode & 07777) < 0)
		die("cannot close '%s' again: %s", item->path, strerror(errno));
	read_attrs(item, fd, NULL);
	close(fd);
	text_add(&data, "", 0);
	item->data = data.ptr;
	item->len = data.len;
}

static void read_link(struct item *item, int dir_fd, const char *name)
{
	char target[65536];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		die("cannot read the link '%s': %s", item->path, strerror(errno));
	target[len] = '\0';
	item->data = copy_of(target);
	item->len = (size_t)len;
}

static void take_dir(struct list *out, int dir_fd, const char *dir, unsigned flags);

static void take_name(struct list *out, int dir_fd, const char *dir, const char *name, unsigned flags)
{
	struct item *item;
	struct stat st;
	size_t at = out->n;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		die("cannot look at '%s/%s': %s", dir, name, strerror(errno));
	if (out->n == out->cap) {
		out->cap = 2 * out->cap + 64;
		out->items = grow(out->items, out->cap * sizeof(*out->items));
	}
	item = &out->items[out->n++];
	*item = (struct item){ .path = join(dir, name),
			       .mode = S_ISLNK(st.st_mode) ? S_IFLNK | 0777 : st.st_mode,
			       .mtime = st.st_mtim,
			       .ctime = st.st_ctim,
			       .ino = st.st_ino,
			       .nlink = st.st_nlink };
	if (!(flags & LIST_NAMES)) {
		if (S_ISREG(st.st_mode))
			read_file(item, dir_fd, name);
		else if (S_ISLNK(st.st_mode))
			read_link(item, dir_fd, name);
		if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
			read_attrs(item, dir_fd, name);
	}
	if (S_ISDIR(st.st_mode) && !(flags & LIST_SHALLOW)) {
		int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			die("cannot open '%s': %s", out->items[at].path, strerror(errno));
		if (!(flags & LIST_NAMES))
			read_attrs(&out->items[at], fd, NULL);
		take_dir(out, fd, out->items[at].path, flags);
	}
}

/* Closes the descriptor. */
static void take_dir(struct list *out, int dir_fd, const char *dir, unsigned flags)
{
	DIR *stream = fdopendir(dir_fd);
	char **names = NULL;
	size_t n = 0, cap = 0;
	struct dirent *entry;
	/* `dir` belongs to an item, and these move */
	char *prefix = copy_of(dir);

	if (!stream)
		die("cannot read '%s': %s", dir, strerror(errno));
	while ((entry = readdir(stream))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if (!*prefix && ((!strcmp(name, ".git") && !(flags & LIST_GIT)) || !strcmp(name, ".superqode") ||
				 !strcmp(name, ".ews-trash") || !strcmp(name, ".ews_scratch") ||
				 (!strcmp(name, "objects") && (flags & LIST_NO_OBJECTS))))
			continue;
		if (n == cap) {
			cap = 2 * cap + 16;
			names = grow(names, cap * sizeof(*names));
		}
		names[n++] = copy_of(name);
	}
	if (n)
		qsort(names, n, sizeof(*names), cmp_names);
	for (size_t i = 0; i < n; i++) {
		take_name(out, dirfd(stream), prefix, names[i], flags);
		free(names[i]);
	}
	free(names);
	free(prefix);
	closedir(stream);
}

static int cmp_items(const void *a, const void *b)
{
	return path_cmp(((const struct item *)a)->path, ((const struct item *)b)->path);
}

void list_take(struct list *out, const char *dir, unsigned flags)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	list_release(out);
	if (fd < 0 || fstat(fd, &st) < 0)
		die("cannot open '%s': %s", dir, strerror(errno));
	out->root_mode = st.st_mode;
	take_dir(out, fd, "", flags);
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_items);
}

const struct item *list_find(const struct list *list, const char *path)
{
	struct item key = { .path = (char *)(uintptr_t)path };

	return list->n ? bsearch(&key, list->items, list->n, sizeof(*list->items), cmp_items) : NULL;
}

void list_release(struct list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].path);
		free(list->items[i].data);
		free(list->items[i].attrs);
	}
	free(list->items);
	*list = (struct list)LIST_INIT;
}

const char *item_difference(const struct item *a, const struct item *b, bool with_time)
{
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
		return "type";
	if (a->mode != b->mode)
		return "mode";
	if (a->len != b->len || (a->len && memcmp(a->data, b->data, a->len) != 0))
		return "content";
	if ((a->attrs == NULL) != (b->attrs == NULL) || (a->attrs && strcmp(a->attrs, b->attrs) != 0))
		return "attributes";
	if (with_time && !S_ISDIR(a->mode) &&
	    (a->mtime.tv_sec != b->mtime.tv_sec || a->mtime.tv_nsec != b->mtime.tv_nsec))
		return "mtime";
	return NULL;
}

void item_describe(struct text *out, const struct item *item)
{
	if (!item) {
		text_addf(out, "nothing");
		return;
	}
	text_addf(out, "%07o %zu bytes mtime %lld.%09ld ctime %lld.%09ld ino %llu (%lu) %s", item->mode, item->len,
		  (long long)item->mtime.tv_sec, item->mtime.tv_nsec, (long long)item->ctime.tv_sec,
		  item->ctime.tv_nsec, (unsigned long long)item->ino, (unsigned long)item->nlink,
		  item->attrs ? item->attrs : "-");
}

static void name_difference(struct text *report, const char *what, const char *word, const struct item *a,
			    const struct item *b)
{
	text_addf(report, "%s: %s: ", what, word);
	text_add_name(report, a ? a->path : b->path);
	text_addf(report, "\n    before ");
	item_describe(report, a);
	text_addf(report, "\n    after  ");
	item_describe(report, b);
	text_addf(report, "\n");
}

void list_compare(struct text *report, const char *what, const struct list *before, const struct list *after,
		  enum list_times times)
{
	size_t i = 0, k = 0;

	if (before->root_mode != after->root_mode)
		text_addf(report, "%s: mode of the root: %o, now %o\n", what, before->root_mode, after->root_mode);
	while (i < before->n || k < after->n) {
		const struct item *a = i < before->n ? &before->items[i] : NULL;
		const struct item *b = k < after->n ? &after->items[k] : NULL;
		int order = !a ? 1 : !b ? -1 : path_cmp(a->path, b->path);
		const char *word;

		if (order != 0) {
			name_difference(report, what, order < 0 ? "is gone" : "is new", order < 0 ? a : NULL,
					order < 0 ? NULL : b);
		} else {
			word = item_difference(a, b, times != TIMES_NONE);
			if (!word && times == TIMES_ALL && S_ISDIR(a->mode) &&
			    (a->mtime.tv_sec != b->mtime.tv_sec || a->mtime.tv_nsec != b->mtime.tv_nsec))
				word = "mtime of a directory";
			if (word)
				name_difference(report, what, word, a, b);
		}
		i += order <= 0;
		k += order >= 0;
	}
}

bool list_is_untouched(const struct list *before, const struct list *after)
{
	bool is_same = before->n == after->n;

	for (size_t i = 0; i < before->n && is_same; i++) {
		const struct item *a = &before->items[i], *b = &after->items[i];

		is_same = a->ino == b->ino && a->ctime.tv_sec == b->ctime.tv_sec &&
			  a->ctime.tv_nsec == b->ctime.tv_nsec && !strcmp(a->path, b->path);
	}
	return is_same;
}
