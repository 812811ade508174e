/*
 * Mutations: see mutate.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "mutate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "git.h"

#define PATH_LEN_MAX 2500
#define DEPTH_MAX 7

/* All that one mutation works with. The process stands in the place. */
struct work {
	struct rng *rng;
	const struct place *place;
	struct text *log;
	struct list now; /* names alone */
};

static const char *const plain_names[] = {
	"a",      "b",   "c",   "d",   "main.c",   "util.h", "Makefile",
	"README", "src", "lib", "doc", "data.bin", "run.sh", "x.txt",
};

static const char *const odd_names[] = {
	"new\nline",    "tab\there", "quo\"te",  "'",           "back\\slash", "back\\", "-dash",
	"--",           "-",         "\xff\xfe", "caf\xc3\xa9", "trail ",      " lead",  ".hidden",
	"...",          ".. ",       "star*",    "[x]",         "q?",          "#hash",  "!bang",
	"$dollar",      "a:b",       "~",        "a~b",         "\x01",        "\x7f",   "cr\r",
	"=>",           "a => b",    "{x}",      "%s%n",        "com1",        "a.lock", "HEAD",
	"index",        ".gitfoo",   ".gitx",    "git",         "git~",        "git~2",  "\xf0\x9f\x98\x80",
	"\xe2\x80\x8c", "cache",     "manifest", "a,b",         "@",           "refs",   "nul.",
};

static const char *const ignored_names[] = { "x.o", "y.o", "main.o", "build", "tmp.log", "out.log", "node_modules" };

static const char *const rules[] = {
	"*.o\n",        "build/\n", "build\n", "*.log\n",   "!out.log\n", "node_modules\n", "/a\n",     "src/*.o\n",
	"**/doc\n",     "*\n!*/\n", "# x\n",   "\\#hash\n", "trail\\ \n", "[a-c]\n",        "data.*\n", "lib/\n",
	"!lib/x.txt\n", "caf*\n",   "\n",      "d/**\n",    "/src/lib\n", "!/build/\n",     "\xff*\n",
};

static const char *const attributes[] = {
	"* text=auto\n",  "*.c ident\n",           "*.txt text eol=crlf\n",
	"*.bin binary\n", "*.h diff=cpp\n",        "*.c filter=up\n",
	"* -text\n",      "README export-subst\n", "*.sh working-tree-encoding=UTF-16\n",
};

/* Few, so that several work trees want the same one; and two of them can't be at once. */
static const char *const branches[] = { "side", "work", "work/more" };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *one_of(struct rng *rng, const char *const *list, size_t n)
{
	return list[rng_below(rng, (unsigned)n)];
}

static void note(struct work *work, const char *what, const char *path)
{
	text_addf(work->log, "  %s", what);
	if (path) {
		text_addf(work->log, " ");
		text_add_name(work->log, path);
	}
	text_addf(work->log, "\n");
}

/* What went wrong is part of the story, and no failure: the system may refuse. */
static void note_refusal(struct work *work)
{
	text_addf(work->log, "    (%s)\n", strerror(errno));
}

static void look(struct work *work)
{
	list_take(&work->now, ".", LIST_NAMES);
}

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* A random item of one of the types in `types` (S_IFREG, ...; 0: any); NULL: none. */
static const struct item *pick(struct work *work, mode_t type)
{
	size_t n = 0, k;

	for (size_t i = 0; i < work->now.n; i++)
		n += !type || (work->now.items[i].mode & S_IFMT) == type;
	if (!n)
		return NULL;
	k = rng_below(work->rng, (unsigned)n);
	for (size_t i = 0; i < work->now.n; i++)
		if ((!type || (work->now.items[i].mode & S_IFMT) == type) && k-- == 0)
			return &work->now.items[i];
	return NULL;
}

static const char *pick_dir(struct work *work)
{
	const struct item *dir = rng_chance(work->rng, 35) ? NULL : pick(work, S_IFDIR);

	if (!dir || depth_of(dir->path) + 2 > DEPTH_MAX || strlen(dir->path) > PATH_LEN_MAX)
		return "";
	return dir->path;
}

static const char *new_name(struct rng *rng, char long_name[256])
{
	unsigned k = rng_below(rng, 100);

	if (k < 55)
		return one_of(rng, plain_names, COUNT(plain_names));
	if (k < 78)
		return one_of(rng, odd_names, COUNT(odd_names));
	if (k < 92)
		return one_of(rng, ignored_names, COUNT(ignored_names));
	if (k < 96) {
		size_t n = 0;

		while (refused_names[n])
			n++;
		return one_of(rng, refused_names, n);
	}
	memset(long_name, 'L', 255);
	long_name[k == 96 ? 255 : 100 + rng_below(rng, 155)] = '\0';
	return long_name;
}

/* A path in a directory that is there; something may stand at it already. */
static char *new_path(struct work *work)
{
	char long_name[256];

	return join(pick_dir(work), new_name(work->rng, long_name));
}

static bool is_rules_file(const char *path)
{
	return !strncmp(path_base(path), ".gitignore", 10) || !strncmp(path_base(path), ".gitattributes", 14);
}

static void make_content(struct rng *rng, struct text *out)
{
	static const char *const words[] = { "int main(void)",
					     "{",
					     "}",
					     "return 0;",
					     "",
					     "\t/* why */",
					     "$Id$",
					     "#include <stdio.h>",
					     "line",
					     "\xff\xfe bytes",
					     "x = 1",
					     "<<<<<<< HEAD" };
	unsigned kind = rng_below(rng, 100), n;

	text_clear(out);
	text_add(out, "", 0);
	if (kind < 8)
		return;
	n = kind < 80 ? 1 + rng_below(rng, 30) : 1 + rng_below(rng, 400);
	for (unsigned i = 0; i < n && kind < 85; i++)
		text_addf(out, "%s %u%s\n", one_of(rng, words, COUNT(words)), rng_below(rng, 12),
			  kind >= 70 && kind < 78 ? "\r" : "");
	for (unsigned i = 0; i < n * 20 && kind >= 85 && kind < 99; i++) {
		char byte = (char)rng_next(rng);

		text_add(out, &byte, 1);
	}
	if (kind == 99)
		for (unsigned i = 0; i < 12000; i++)
			text_addf(out, "%u ", rng_below(rng, 1000000));
	/* no newline at the end */
	if (out->len && kind % 5 == 0)
		out->ptr[--out->len] = '\0';
}

static bool write_file(const char *path, int flags, const struct text *data, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, mode);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, data->ptr, data->len) == (ssize_t)data->len;
	close(fd);
	return done;
}

static void remove_tree(const char *path)
{
	struct child child = CHILD_INIT;
	char *dotted = join(".", path);

	if (geteuid() != 0)
		RUN(&child, ".", NULL, "chmod", "-R", "u+rwX", "--", dotted);
	RUN(&child, ".", NULL, "rm", "-rf", "--", dotted);
	free(dotted);
	child_release(&child);
}

/* Make room at `path`, if something is there. */
static void make_room(struct work *work, const char *path)
{
	const struct item *old = list_find(&work->now, path);

	if (!old)
		return;
	if (S_ISDIR(old->mode))
		remove_tree(path);
	else
		(void)unlink(path);
}

#define N_FUTURE 4 /* of the times, the last ones */

static void set_time(struct work *work, const char *path)
{
	static const struct timespec times[] = {
		{ 1600000000, 0 }, { 1600000000, 1 }, { 1600000000, 999999999 }, { 1234567890, 123456789 },
		{ 1, 0 },          { -86400, 0 },     { -1, 500000000 },         { 1700000000, 700000000 },
		{ 5000000000, 5 }, { 2147483647, 7 }, { 4294967297, 0 },         { 4102444800, 0 },
	};
	size_t n = COUNT(times) - (work->place->has_future ? 0 : N_FUTURE);
	struct timespec both[2] = { { 0, UTIME_OMIT }, times[rng_below(work->rng, (unsigned)n)] };

	if (rng_chance(work->rng, 20))
		both[1].tv_nsec = UTIME_NOW;
	else if (rng_chance(work->rng, 3))
		both[1] = (struct timespec){ 0, rng_below(work->rng, 2) };
	if (utimensat(AT_FDCWD, path, both, AT_SYMLINK_NOFOLLOW) < 0)
		note_refusal(work);
}

static void create_file(struct work *work)
{
	char *path = new_path(work);
	struct text data = TEXT_INIT;

	note(work, "write", path);
	make_room(work, path);
	make_content(work->rng, &data);
	if (!write_file(path, O_TRUNC, &data, rng_chance(work->rng, 20) ? 0755 : 0644))
		note_refusal(work);
	else if (rng_chance(work->rng, 25))
		set_time(work, path);
	text_release(&data);
	free(path);
}

static void overwrite_file(struct work *work)
{
	const struct item *item = pick(work, S_IFREG);
	struct text data = TEXT_INIT;
	struct timespec both[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } };

	if (!item)
		return;
	make_content(work->rng, &data);
	both[1] = item->mtime;
	switch (rng_below(work->rng, 3)) {
	case 0:
		note(work, "write anew", item->path);
		if (!write_file(item->path, O_TRUNC, &data, 0))
			note_refusal(work);
		break;
	case 1:
		note(work, "append", item->path);
		if (!write_file(item->path, O_APPEND, &data, 0))
			note_refusal(work);
		break;
	default:
		note(work, "replace", item->path);
		if (unlink(item->path) < 0 || !write_file(item->path, O_EXCL, &data, item->mode & 07777))
			note_refusal(work);
	}
	/* as if nothing had happened */
	if (rng_chance(work->rng, 15))
		(void)utimensat(AT_FDCWD, item->path, both, AT_SYMLINK_NOFOLLOW);
	text_release(&data);
}

/* Flip a byte: size, inode and, mostly, time stay what they were. */
static bool flip_byte(struct work *work, const struct item *item)
{
	struct timespec both[2] = { { 0, UTIME_OMIT }, item->mtime };
	int fd = open(item->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char byte;
	off_t at;
	bool done = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0;

	if (done) {
		at = (off_t)rng_below(work->rng, (unsigned)st.st_size);
		done = pread(fd, &byte, 1, at) == 1;
		byte ^= 1;
		done = done && pwrite(fd, &byte, 1, at) == 1;
		if (done && rng_chance(work->rng, 70))
			done = futimens(fd, both) == 0;
	}
	if (fd >= 0)
		close(fd);
	return done;
}

static void edit_secretly(struct work *work)
{
	const struct item *item = pick(work, S_IFREG);

	if (!item)
		return;
	note(work, "flip a byte of", item->path);
	(void)flip_byte(work, item);
}

static void change_mode(struct work *work)
{
	static const mode_t usual[] = { 0644, 0755,  0600,  0700,  0444, 0555, 0640,
					0750, 01755, 02755, 04755, 0777, 0666 };
	static const mode_t closed[] = { 0, 0111, 0200, 0300, 07777, 06000, 0100 };
	const struct item *item = pick(work, 0);
	mode_t mode = usual[rng_below(work->rng, COUNT(usual))];

	if (!item || S_ISLNK(item->mode))
		return;
	/* root alone reads what these close */
	if (rng_chance(work->rng, 30) && geteuid() == 0)
		mode = closed[rng_below(work->rng, COUNT(closed))];
	if (S_ISDIR(item->mode) && geteuid() != 0)
		mode |= 0500;
	if (S_ISREG(item->mode) && geteuid() != 0)
		mode |= 0400;
	text_addf(work->log, "  chmod %04o", mode);
	note(work, "", item->path);
	if (chmod(item->path, mode) < 0)
		note_refusal(work);
}

static void change_root_mode(struct work *work)
{
	note(work, "chmod of the root", NULL);
	if (chmod(".", rng_chance(work->rng, 50) ? 0750 : 0755) < 0)
		note_refusal(work);
}

static void touch(struct work *work)
{
	const struct item *item = pick(work, 0);

	if (!item)
		return;
	note(work, "touch", item->path);
	set_time(work, item->path);
}

static void change_attr(struct work *work)
{
	static const char *const names[] = { "user.a",   "user.b",          "user.odd name",
					     "user.c,d", "user.\xc3\xa9\n", "user.e\\f" };
	const struct item *item = pick(work, rng_chance(work->rng, 25) ? S_IFDIR : S_IFREG);
	const char *name = one_of(work->rng, names, COUNT(names));
	char value[64];
	size_t len = rng_below(work->rng, sizeof(value));

	if (!item || !work->place->has_attrs)
		return;
	for (size_t i = 0; i < len; i++)
		value[i] = (char)rng_next(work->rng);
	if (rng_chance(work->rng, 25)) {
		note(work, "remove an attribute of", item->path);
		(void)lremovexattr(item->path, name);
		return;
	}
	note(work, "set an attribute of", item->path);
	if (lsetxattr(item->path, name, value, len, 0) < 0)
		note_refusal(work);
}

static void add_acl_entry(struct text *out, unsigned tag, unsigned rights, uint32_t id)
{
	const uint8_t entry[] = { (uint8_t)tag,        0,
				  (uint8_t)rights,     0,
				  (uint8_t)id,         (uint8_t)(id >> 8),
				  (uint8_t)(id >> 16), (uint8_t)(id >> 24) };

	text_add(out, entry, sizeof(entry));
}

/* Some other user may do this or that; of a directory also what is made in it from then on. */
static void change_acl(struct work *work)
{
	const struct item *item = pick(work, rng_chance(work->rng, 40) ? S_IFDIR : S_IFREG);
	bool is_default = rng_chance(work->rng, 50), goes = rng_chance(work->rng, 20);
	const char *name = is_default ? "system.posix_acl_default" : "system.posix_acl_access";
	unsigned rights = rng_below(work->rng, 8);
	struct text acl = TEXT_INIT;

	if (!item || !work->place->has_attrs || (is_default && !S_ISDIR(item->mode)))
		return;
	note(work,
	     goes         ? "remove the list of rights of"
	     : is_default ? "a default list of rights of"
			  : "a list of rights of",
	     item->path);
	/* version 2, and the tags of user, named user, group, mask and others in order */
	text_add(&acl, "\2\0\0\0", 4);
	add_acl_entry(&acl, 0x01, 7, UINT32_MAX);
	add_acl_entry(&acl, 0x02, rights, 1234);
	add_acl_entry(&acl, 0x04, 5, UINT32_MAX);
	add_acl_entry(&acl, 0x10, 7, UINT32_MAX);
	add_acl_entry(&acl, 0x20, 4, UINT32_MAX);
	if (goes ? lremovexattr(item->path, name) : lsetxattr(item->path, name, acl.ptr, acl.len, 0))
		note_refusal(work);
	text_release(&acl);
}

/* What root alone may set, and what a write takes away. */
static void change_capability(struct work *work)
{
	static const uint8_t value[20] = { 1, 0, 0, 2, 0, 4 };
	const struct item *item = pick(work, S_IFREG);

	if (!item || !work->place->has_attrs)
		return;
	note(work, "a capability for", item->path);
	if (lsetxattr(item->path, "security.capability", value, sizeof(value), 0) < 0)
		note_refusal(work);
}

static void make_link(struct work *work)
{
	static const char *const targets[] = { "a",       "src/main.c", "../..",        "/etc/passwd",
					       "nowhere", ".",          "new\nline",    "..",
					       "/",       "loop",       "\xff\xfe.txt", "a/b/c",
					       ".git" };
	char *path = new_path(work);
	const char *target = rng_chance(work->rng, 30) ? work->place->outside
						       : one_of(work->rng, targets, COUNT(targets));

	note(work, "link", path);
	make_room(work, path);
	if (symlink(target, path) < 0)
		note_refusal(work);
	free(path);
}

static void make_hard_link(struct work *work)
{
	const struct item *item = pick(work, S_IFREG);
	char *path = new_path(work);

	if (item && !list_find(&work->now, path)) {
		note(work, "hard link to", item->path);
		note(work, "  as", path);
		if (link(item->path, path) < 0)
			note_refusal(work);
	}
	free(path);
}

static void make_dirs(struct work *work)
{
	char *path = new_path(work);

	note(work, "mkdir", path);
	make_room(work, path);
	if (mkdir(path, 0755) < 0)
		note_refusal(work);
	for (unsigned n = rng_below(work->rng, 3); n > 0 && depth_of(path) < DEPTH_MAX; n--) {
		char long_name[256];
		char *below = join(path, new_name(work->rng, long_name));

		free(path);
		path = below;
		note(work, "mkdir", path);
		(void)mkdir(path, 0755);
	}
	free(path);
}

static void make_special(struct work *work)
{
	char *path = new_path(work);
	bool is_socket = rng_chance(work->rng, 25);

	note(work, is_socket ? "socket" : "fifo", path);
	make_room(work, path);
	if (mknod(path, is_socket ? S_IFSOCK | 0644 : S_IFIFO | 0640, 0) < 0)
		note_refusal(work);
	free(path);
}

static void remove_one(struct work *work)
{
	const struct item *item = pick(work, rng_chance(work->rng, 80) ? S_IFREG : 0);

	if (!item)
		return;
	note(work, "remove", item->path);
	make_room(work, item->path);
}

/* To a new name, perhaps over what is there. */
static void rename_one(struct work *work)
{
	const struct item *item = pick(work, rng_chance(work->rng, 30) ? S_IFDIR : 0);
	char *path = new_path(work);

	if (item && !path_is_in(path, item->path) && strlen(path) < PATH_LEN_MAX) {
		note(work, "rename", item->path);
		note(work, "  to", path);
		if (!path_is_in(item->path, path))
			make_room(work, path);
		if (rename(item->path, path) < 0)
			note_refusal(work);
	}
	free(path);
}

/* A type gives way to another at the same path. */
static void swap_type(struct work *work)
{
	const struct item *item = pick(work, rng_chance(work->rng, 50) ? S_IFDIR : 0);
	struct text data = TEXT_INIT;
	char *path, *below;

	if (!item || is_rules_file(item->path))
		return;
	path = copy_of(item->path);
	below = join(path, "a");
	make_content(work->rng, &data);
	note(work, "another type at", path);
	make_room(work, path);
	switch (rng_below(work->rng, 4)) {
	case 0:
		(void)write_file(path, O_TRUNC, &data, 0644);
		break;
	case 1:
		if (symlink(work->place->outside, path) < 0)
			note_refusal(work);
		break;
	case 2:
		if (mkfifo(path, 0600) < 0)
			note_refusal(work);
		break;
	default:
		if (mkdir(path, 0755) < 0 || (rng_chance(work->rng, 70) && !write_file(below, O_TRUNC, &data, 0644)))
			note_refusal(work);
	}
	text_release(&data);
	free(below);
	free(path);
}

static void write_rules(struct work *work, const char *name, const char *const *list, size_t n)
{
	char *path = join(pick_dir(work), name);
	const struct item *old = list_find(&work->now, path);
	struct text data = TEXT_INIT;

	note(work, "rules in", path);
	if (old && !S_ISREG(old->mode))
		make_room(work, path);
	for (unsigned i = 1 + rng_below(work->rng, 3); i > 0; i--)
		text_addf(&data, "%s", one_of(work->rng, list, n));
	if (!write_file(path, rng_chance(work->rng, 50) ? O_APPEND : O_TRUNC, &data, 0644))
		note_refusal(work);
	text_release(&data);
	free(path);
}

static void write_ignore(struct work *work)
{
	write_rules(work, ".gitignore", rules, COUNT(rules));
}

static void write_attributes(struct work *work)
{
	write_rules(work, ".gitattributes", attributes, COUNT(attributes));
}

/* Products of a build, nested. */
static void build(struct work *work)
{
	struct text data = TEXT_INIT;
	char *dir = join(pick_dir(work), one_of(work->rng, ignored_names, COUNT(ignored_names)));
	char *below = join(dir, one_of(work->rng, plain_names, COUNT(plain_names)));
	char *product = join(pick_dir(work), "x.o");
	const struct item *old = list_find(&work->now, dir);

	note(work, "build", dir);
	make_content(work->rng, &data);
	/* a link may lead outside */
	if (old ? S_ISDIR(old->mode) : mkdir(dir, 0755) == 0)
		(void)write_file(below, O_TRUNC, &data, 0644);
	(void)write_file(product, O_TRUNC, &data, 0644);
	text_release(&data);
	free(product);
	free(below);
	free(dir);
}

static void run_git(struct work *work, const char *const *argv)
{
	struct child child = CHILD_INIT;

	text_addf(work->log, "  git");
	for (const char *const *arg = argv + 2; *arg; arg++) {
		text_addf(work->log, " ");
		text_add_name(work->log, *arg);
	}
	run_child(&child, ".", NULL, argv);
	text_addf(work->log, "%s\n", child.status ? " (failed)" : "");
	child_release(&child);
}

#define GIT(work, ...) run_git(work, (const char *const[]){ "git", "--literal-pathspecs", __VA_ARGS__, NULL })

static void stage(struct work *work)
{
	const struct item *item = pick(work, rng_chance(work->rng, 80) ? S_IFREG : 0);

	if (!item)
		return;
	switch (rng_below(work->rng, 5)) {
	case 0:
		GIT(work, "add", "-A");
		break;
	case 1:
		GIT(work, "add", "-f", "--", item->path);
		/* within the same tick, or nearly */
		(void)flip_byte(work, item);
		break;
	case 2:
		GIT(work, "add", "-N", "--", item->path);
		break;
	default:
		GIT(work, "add", "--", item->path);
	}
}

static void change_index(struct work *work)
{
	static const char *const flags[] = { "--skip-worktree",       "--no-skip-worktree", "--assume-unchanged",
					     "--no-assume-unchanged", "--chmod=+x",         "--chmod=-x",
					     "--force-remove" };
	const struct item *item = pick(work, S_IFREG);

	switch (rng_below(work->rng, 8)) {
	case 0:
		GIT(work, "status", "--short");
		break;
	case 1:
		GIT(work, "update-index", "-q", "--refresh");
		break;
	case 2:
		GIT(work, "update-index", "--index-version",
		    rng_chance(work->rng, 50)   ? "4"
		    : rng_chance(work->rng, 50) ? "2"
						: "3");
		break;
	case 3:
		GIT(work, "update-index", rng_chance(work->rng, 50) ? "--split-index" : "--no-split-index");
		break;
	default:
		if (item)
			GIT(work, "update-index", one_of(work->rng, flags, COUNT(flags)), "--", item->path);
	}
}

static void unstage(struct work *work)
{
	const struct item *item = pick(work, 0);

	if (!item)
		return;
	switch (rng_below(work->rng, 5)) {
	case 0:
		GIT(work, "rm", "-rfq", "--cached", "--", item->path);
		break;
	case 1:
		GIT(work, "reset", "-q", "--", item->path);
		break;
	case 2:
		GIT(work, "read-tree", "--reset", "HEAD");
		break;
	case 3: {
		char *path = new_path(work);

		if (!list_find(&work->now, path))
			GIT(work, "mv", "-f", "--", item->path, path);
		free(path);
		break;
	}
	default:
		GIT(work, "rm", "-rfq", "--", item->path);
	}
}

static bool is_on_branch(struct work *work)
{
	struct child child = CHILD_INIT;
	bool yes = RUN(&child, work->place->dir, NULL, "git", "symbolic-ref", "-q", "HEAD") == 0;

	child_release(&child);
	return yes;
}

/* What moves HEAD must not move a branch of the project's along. */
static void detach(struct work *work)
{
	if (!work->place->moves_branches && is_on_branch(work))
		GIT(work, "update-ref", "--no-deref", "HEAD", rng_chance(work->rng, 50) ? "main" : "other");
}

static void commit_staged(struct work *work)
{
	GIT(work, "commit", "-q", "--no-verify", "--allow-empty", "-m", "work");
}

static void move_head(struct work *work)
{
	bool detached = !work->place->moves_branches;

	detach(work);
	switch (rng_below(work->rng, 9)) {
	case 0:
	case 1:
		commit_staged(work);
		break;
	case 2:
		GIT(work, "commit", "-q", "--no-verify", "-a", "-m", "all");
		break;
	case 3:
		GIT(work, "reset", "-q", "--soft", "HEAD~1");
		break;
	case 4:
		GIT(work, "reset", "-q", "--mixed", detached ? "main" : "HEAD~1");
		break;
	case 5:
		GIT(work, "reset", "-q", "--hard");
		break;
	case 6:
		GIT(work, "checkout", "-q", "-f", "--detach", rng_chance(work->rng, 50) ? "other" : "main");
		break;
	case 7:
		GIT(work, "symbolic-ref", "HEAD", rng_chance(work->rng, 50) ? "refs/heads/side" : "refs/heads/none");
		break;
	default:
		GIT(work, "update-ref", "--no-deref", "HEAD", "other");
	}
}

static void merge(struct work *work)
{
	detach(work);
	switch (rng_below(work->rng, 5)) {
	case 0:
		GIT(work, "merge", "--abort");
		break;
	case 1:
		GIT(work, "merge", "-q", "--squash", "other");
		break;
	case 2:
		GIT(work, "merge", "-q", "--no-commit", "--no-ff", "-X", "ours", "other");
		break;
	default:
		/* what is uncommitted would stand in the way */
		GIT(work, "reset", "-q", "--hard");
		GIT(work, "merge", "-q", "--no-commit", "--no-ff", "other");
	}
}

static void change_branch(struct work *work, const char *name)
{
	const char *commit = rng_chance(work->rng, 50) ? "main" : "other";
	char *ref = join("refs/heads", name);

	switch (rng_below(work->rng, 14)) {
	case 0:
		GIT(work, "checkout", "-q", "-f", "-B", name);
		break;
	case 1:
	case 2:
	case 3:
		GIT(work, "checkout", "-q", "-f", name);
		break;
	case 4:
		GIT(work, "checkout", "-q", "-f", "--ignore-other-worktrees", name);
		break;
	case 5:
		GIT(work, "checkout", "-q", "--orphan", name);
		break;
	case 6:
		GIT(work, "checkout", "-q", "--detach");
		break;
	/* git branch would spare one that a work tree is on */
	case 7:
	case 8:
		GIT(work, "update-ref", ref, commit);
		break;
	case 9:
		GIT(work, "update-ref", "-d", ref);
		break;
	case 10:
		GIT(work, "branch", "-m", name, one_of(work->rng, branches, COUNT(branches)));
		break;
	default:
		commit_staged(work);
	}
	free(ref);
}

static const struct {
	void (*act)(struct work *work);
	unsigned weight;
	bool needs_git;
} acts[] = {
	{ create_file, 14, false },
	{ overwrite_file, 10, false },
	{ edit_secretly, 9, false },
	{ change_mode, 8, false },
	{ change_root_mode, 1, false },
	{ touch, 7, false },
	{ change_attr, 4, false },
	{ change_acl, 3, false },
	{ change_capability, 1, false },
	{ make_link, 5, false },
	{ make_hard_link, 4, false },
	{ make_dirs, 6, false },
	{ make_special, 2, false },
	{ remove_one, 9, false },
	{ rename_one, 8, false },
	{ swap_type, 8, false },
	{ write_ignore, 4, false },
	{ write_attributes, 1, false },
	{ build, 5, false },
	{ stage, 10, true },
	{ change_index, 5, true },
	{ unstage, 4, true },
	{ move_head, 4, true },
	{ merge, 3, true },
};

static unsigned weight_of(const struct work *work, size_t i)
{
	bool is_about_rules = acts[i].act == write_ignore || acts[i].act == build;

	if (acts[i].needs_git && !work->place->has_git)
		return 0;
	return acts[i].weight * (is_about_rules && work->place->is_small ? 3 : 1);
}

static void act(struct work *work)
{
	unsigned sum = 0, k;

	for (size_t i = 0; i < COUNT(acts); i++)
		sum += weight_of(work, i);
	k = rng_below(work->rng, sum);
	for (size_t i = 0; i < COUNT(acts); i++) {
		unsigned weight = weight_of(work, i);

		if (k < weight) {
			look(work);
			acts[i].act(work);
			return;
		}
		k -= weight;
	}
}

static void enter(const struct place *place)
{
	if (chdir(place->dir) < 0)
		die("cannot go to '%s': %s", place->dir, strerror(errno));
}

void mutate(struct rng *rng, const struct place *place, unsigned n, struct text *log)
{
	struct work work = { rng, place, log, LIST_INIT };

	enter(place);
	while (n-- > 0)
		act(&work);
	list_release(&work.now);
	if (chdir("/") < 0)
		die("cannot leave '%s'", place->dir);
}

void mutate_fill(struct rng *rng, const struct place *place, struct text *log)
{
	struct work work = { rng, place, log, LIST_INIT };
	unsigned n = place->is_small ? 5 + rng_below(rng, 12) : 25 + rng_below(rng, 40);

	enter(place);
	while (n-- > 0) {
		look(&work);
		if (rng_chance(rng, 25))
			make_dirs(&work);
		else if (rng_chance(rng, 10))
			make_link(&work);
		else if (rng_chance(rng, 8))
			make_hard_link(&work);
		else
			create_file(&work);
	}
	if (rng_chance(rng, 70)) {
		look(&work);
		write_ignore(&work);
	}
	list_release(&work.now);
	if (chdir("/") < 0)
		die("cannot leave '%s'", place->dir);
}

static void write_list(struct work *work, const char *path, const char *const *list, size_t n)
{
	struct text data = TEXT_INIT;

	note(work, "rules in", path);
	text_add(&data, "", 0);
	for (unsigned i = rng_below(work->rng, 3); i > 0; i--)
		text_addf(&data, "%s", one_of(work->rng, list, n));
	if (!write_file(path, O_TRUNC, &data, 0644))
		note_refusal(work);
	text_release(&data);
}

/* A file of rules that git keeps beside the work tree. */
static void write_info(struct work *work, const char *name, const char *const *list, size_t n)
{
	struct child child = CHILD_INIT;

	RUN(&child, ".", NULL, "git", "rev-parse", "--git-path", name);
	child.out.ptr[strcspn(child.out.ptr, "\n")] = '\0';
	write_list(work, child.out.ptr, list, n);
	child_release(&child);
}

/* One that is anybody's: what settings name. */
static void write_global_ignore(struct work *work)
{
	char *path = join(work->place->outside, "ignore");

	write_list(work, path, rules, COUNT(rules));
	GIT(work, "config", "core.excludesFile", path);
	free(path);
}

void mutate_rules(struct rng *rng, const struct place *place, struct text *log)
{
	static const char *const line_ends[] = { "true", "input", "false" };
	struct work work = { rng, place, log, LIST_INIT };

	enter(place);
	switch (rng_below(rng, 6)) {
	case 0:
		write_info(&work, "info/exclude", rules, COUNT(rules));
		break;
	case 1:
		write_info(&work, "info/attributes", attributes, COUNT(attributes));
		break;
	case 2:
		write_global_ignore(&work);
		break;
	case 3:
		GIT(&work, "config", "core.autocrlf", one_of(rng, line_ends, COUNT(line_ends)));
		break;
	case 4:
		GIT(&work, "sparse-checkout", "set", "--no-cone", "/*", "!/src",
		    one_of(rng, plain_names, COUNT(plain_names)));
		break;
	default:
		GIT(&work, "sparse-checkout", "disable");
	}
	if (chdir("/") < 0)
		die("cannot leave '%s'", place->dir);
}

const char *pick_branch(struct rng *rng)
{
	return one_of(rng, branches, COUNT(branches));
}

void mutate_take_branch(struct rng *rng, const struct place *place, const char *name, struct text *log)
{
	struct work work = { rng, place, log, LIST_INIT };

	enter(place);
	if (rng_chance(rng, 20))
		GIT(&work, "checkout", "-q", "--orphan", name);
	else
		GIT(&work, "checkout", "-q", "-f", "-B", name);
	if (rng_chance(rng, 40))
		commit_staged(&work);
	if (chdir("/") < 0)
		die("cannot leave '%s'", place->dir);
}

void mutate_branch(struct rng *rng, const struct place *place, const char *name, struct text *log)
{
	struct work work = { rng, place, log, LIST_INIT };

	enter(place);
	change_branch(&work, name);
	if (chdir("/") < 0)
		die("cannot leave '%s'", place->dir);
}
