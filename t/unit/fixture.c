/*
 * Fixture: see fixture.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "store/cache.h"
#include "store/git.h"
#include "store/recheck.h"
#include "store/xattr.h"

#define DEPTH_MAX 4

unsigned fixture_file_system;
struct ews_repo *fixture_repo;
char *fixture_home;
int fixture_fd = -1;

static char *top;
static uint64_t random_state;

/* Takes the place of libc's for all that is linked into this program. */
int fstatfs(int fd, struct statfs *out)
{
	int rc = (int)syscall(SYS_fstatfs, fd, out);

	if (rc == 0 && fixture_file_system)
		out->f_type = (__typeof__(out->f_type))fixture_file_system;
	return rc;
}

void fixture_sow(size_t seed)
{
	random_state = seed;
}

size_t fixture_pick(size_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(random_state >> 33) % n;
}

static size_t setting(const char *name, size_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

/* Each test is a process of its own. */
int fixture_need_mounts(int fd)
{
	if ((unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		cr_skip_test("nothing can be mounted here");
	close(fd);
	return fixture_open_dir(".");
}

size_t fixture_seed(void)
{
	return setting("EWS_SEED", 1);
}

size_t fixture_rounds(size_t otherwise)
{
	return setting("EWS_ROUNDS", otherwise);
}

/* What t/run-tests and t/run-check say. */
size_t fixture_rounds_if_fast(size_t otherwise)
{
	bool is_slow = getenv("EWS_SANITIZE") || getenv("EWS_VALGRIND");

	return fixture_rounds(is_slow ? (otherwise + 9) / 10 : otherwise);
}

const char *fixture_top(void)
{
	return top;
}

void fixture_begin(void)
{
	char name[] = "/tmp/ews-unit-XXXXXX";
	char *config;

	umask(022);
	fixture_file_system = 0;
	fixture_sow(fixture_seed());
	cr_assert(mkdtemp(name));
	top = realpath(name, NULL);
	cr_assert(top);
	cr_assert_eq(chmod(top, 0755), 0);
	cr_assert_eq(chdir(top), 0);
	ews_git_scrub_env();
	ews_json_init();
	setenv("HOME", top, 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("SUPERQODE_HOME");
	unsetenv("EWS_SESSION");
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	/* A file of its own, not /dev/null: for root `git config --global` would put a file in its place. */
	config = ews_path_join(top, ".gitconfig");
	setenv("GIT_CONFIG_GLOBAL", config, 1);
	free(config);
	setenv("GIT_AUTHOR_NAME", "A", 1);
	setenv("GIT_AUTHOR_EMAIL", "a@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "A", 1);
	setenv("GIT_COMMITTER_EMAIL", "a@example.org", 1);
}

void fixture_end(void)
{
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(ews_file_remove_tree(AT_FDCWD, top), 0, "%s", ews_error_message());
	free(top);
}

/* stdio of the test's own must not come twice, once from the child. */
static FILE *start(const char *script)
{
	FILE *pipe;

	fflush(NULL);
	pipe = popen(script, "r");
	cr_assert(pipe);
	return pipe;
}

static void run(struct ews_buf *out, const char *script)
{
	FILE *pipe = start(script);
	char piece[4096];
	size_t got;

	while ((got = fread(piece, 1, sizeof(piece), pipe)) > 0)
		if (out)
			ews_buf_add(out, piece, got);
	cr_assert_eq(pclose(pipe), 0, "EWS_SEED=%zu: failed: %s", fixture_seed(), script);
}

void fixture_shell(const char *fmt, ...)
{
	EWS_CLEANUP(buf) struct ews_buf script = EWS_BUF_INIT;
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(&script, fmt, args);
	va_end(args);
	run(NULL, script.ptr);
}

void fixture_ask(struct ews_buf *out, const char *fmt, ...)
{
	EWS_CLEANUP(buf) struct ews_buf script = EWS_BUF_INIT;
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(&script, fmt, args);
	va_end(args);
	ews_buf_truncate(out, 0);
	run(out, script.ptr);
}

static int open_dir_at(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s: %s", name, strerror(errno));
	return fd;
}

int fixture_open_dir(const char *path)
{
	return open_dir_at(AT_FDCWD, path);
}

void fixture_write(int dir_fd, const char *path, const void *data, size_t len)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(write(fd, data, len), (ssize_t)len);
}

static char long_name[256];

static const char *random_name(unsigned kinds)
{
	static const char *const names[] = { "a",         "b",     "ab",       "a.c",         "a.o",   "b.o",
					     "d",         "d.d",   "x y",      "-rf",         "z\xff", "\xc3\xa9",
					     "new\nline", "tab\t", "quo\"te",  "back\\slash", "a-",    "a0",
					     ".hidden",   "#x#",   "Makefile", "README",      " lead", "trail " };
	static const char *const odd[] = { ".GIT", "git~1", ".git ", "\x01\x7f", ".git.", "a\\.git", ".gitx" };

	if ((kinds & FIXTURE_ODD_NAMES) && !fixture_pick(8)) {
		if (!fixture_pick(4)) {
			memset(long_name, 'n', 255);
			return long_name;
		}
		return FIXTURE_ONE_OF(odd);
	}
	return FIXTURE_ONE_OF(names);
}

/* Contents that come twice, contents that hardly do, empty ones. */
static size_t random_text(char *out, size_t max)
{
	size_t len;

	switch (fixture_pick(5)) {
	case 0:
		return 0;
	case 1:
		memcpy(out, "the same\n", 9);
		return 9;
	default:
		len = 1 + fixture_pick(fixture_pick(6) ? 60 : max);
		for (size_t i = 0; i < len; i++)
			out[i] = fixture_pick(30) ? (char)('a' + fixture_pick(26)) : '\n';
		return len;
	}
}

static void write_random(int dir_fd, const char *name)
{
	char text[4000];

	fixture_write(dir_fd, name, text, random_text(text, sizeof(text)));
}

static void set_random_mode(int dir_fd, const char *name, bool is_dir)
{
	static const mode_t file_modes[] = { 0644, 0755, 0600, 0444, 0700, 0640, 0664, 04755, 0400, 01644 };
	static const mode_t dir_modes[] = { 0755, 0755, 0700, 0555, 0775, 01777, 0750 };

	cr_assert_eq(fchmodat(dir_fd, name, is_dir ? FIXTURE_ONE_OF(dir_modes) : FIXTURE_ONE_OF(file_modes), 0), 0);
}

static void set_random_attrs(int dir_fd, const char *name)
{
	static const char *const names[] = { "user.a", "user.a b", "user.c,d", "user.e=f", "user.n\nl", "user.\\" };
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s: %s", name, strerror(errno));
	/* Where the file system has none, the tree has none. */
	for (size_t n = 1 + fixture_pick(3); n; n--)
		(void)fsetxattr(fd, FIXTURE_ONE_OF(names), "v\0w", fixture_pick(4), 0);
}

static void write_ignores(int dir_fd)
{
	static const char *const patterns[] = { "*.o", "a*", "!ab",  "/b",     "d/", "!d",
						"x*",  "*",  "!*.c", "**/a.c", "-rf" };
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	cr_assert_eq(ews_file_remove_tree(dir_fd, ".gitignore"), 0);
	for (size_t n = 1 + fixture_pick(3); n; n--)
		ews_buf_addf(&text, "%s\n", FIXTURE_ONE_OF(patterns));
	fixture_write(dir_fd, ".gitignore", text.ptr, text.len);
}

static bool is_taken(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void fill_dir(int fd, unsigned kinds, unsigned depth);

static void make_thing(int dir_fd, const char *name, unsigned kinds, unsigned depth)
{
	static const char *const targets[] = { "a", "../b", "/etc/passwd", ".", "nowhere\n", "x y" };
	size_t kind = fixture_pick(12);

	if (kind < 4 && depth < DEPTH_MAX) {
		cr_assert_eq(mkdirat(dir_fd, name, 0755), 0);
		EWS_CLEANUP(fd) int fd = open_dir_at(dir_fd, name);

		fill_dir(fd, kinds, depth + 1);
		if ((kinds & FIXTURE_ATTRS) && !fixture_pick(6))
			set_random_attrs(dir_fd, name);
		if ((kinds & FIXTURE_MODES) && !fixture_pick(3))
			set_random_mode(dir_fd, name, true);
	} else if (kind == 4) {
		cr_assert_eq(symlinkat(FIXTURE_ONE_OF(targets), dir_fd, name), 0);
	} else if (kind == 5 && (kinds & FIXTURE_FIFOS)) {
		cr_assert_eq(mknodat(dir_fd, name, (fixture_pick(2) ? S_IFIFO : S_IFSOCK) | 0644, 0), 0);
	} else {
		write_random(dir_fd, name);
		if ((kinds & FIXTURE_ATTRS) && !fixture_pick(6))
			set_random_attrs(dir_fd, name);
		if ((kinds & FIXTURE_MODES) && !fixture_pick(2))
			set_random_mode(dir_fd, name, false);
	}
}

#define HEAD_TEXT "ref: refs/heads/main\n"

/* A git directory, or mostly: one that is hollow makes no repository. */
static void make_git_dir(int fd)
{
	cr_assert_eq(mkdirat(fd, ".git", 0755), 0);
	if (!fixture_pick(4))
		return;
	cr_assert_eq(mkdirat(fd, ".git/objects", 0755), 0);
	cr_assert_eq(mkdirat(fd, ".git/refs", 0755), 0);
	fixture_write(fd, ".git/HEAD", HEAD_TEXT, strlen(HEAD_TEXT));
}

static void fill_dir(int fd, unsigned kinds, unsigned depth)
{
	for (size_t n = depth ? fixture_pick(6) : 5 + fixture_pick(8); n; n--) {
		const char *name = random_name(kinds);

		if (!is_taken(fd, name))
			make_thing(fd, name, kinds, depth);
	}
	if ((kinds & FIXTURE_IGNORES) && !fixture_pick(3))
		write_ignores(fd);
	if ((kinds & FIXTURE_NESTED) && depth && !fixture_pick(8) && !is_taken(fd, ".git"))
		make_git_dir(fd);
}

void fixture_make_tree(int dir_fd, unsigned kinds)
{
	fill_dir(dir_fd, kinds, 0);
}

static void edit_thing(int dir_fd, const char *name, unsigned kinds, unsigned depth)
{
	EWS_CLEANUP(free) char *other = ews_strfmt("%s~", name);
	struct stat st;

	cr_assert_eq(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	switch (fixture_pick(6)) {
	case 0:
		cr_assert_eq(ews_file_remove_tree(dir_fd, name), 0);
		break;
	case 1:
		cr_assert_eq(ews_file_remove_tree(dir_fd, name), 0);
		make_thing(dir_fd, name, kinds, depth);
		break;
	case 2:
		if (strlen(other) <= 255 && !is_taken(dir_fd, other))
			cr_assert_eq(renameat(dir_fd, name, dir_fd, other), 0);
		break;
	case 3:
		if (!S_ISLNK(st.st_mode) && (kinds & FIXTURE_MODES))
			set_random_mode(dir_fd, name, S_ISDIR(st.st_mode));
		break;
	case 4:
		if ((S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && (kinds & FIXTURE_ATTRS))
			set_random_attrs(dir_fd, name);
		break;
	default:
		if (!S_ISREG(st.st_mode))
			break;
		cr_assert_eq(fchmodat(dir_fd, name, 0644, 0), 0);
		write_random(dir_fd, name);
	}
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static DIR *open_listing(int fd)
{
	DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	cr_assert(dir);
	return dir;
}

static void edit_dir(int fd, unsigned kinds, unsigned depth)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	DIR *dir = open_listing(fd);
	struct dirent *entry;
	struct stat st;

	while ((entry = readdir(dir)))
		if (!is_dots(entry->d_name) && strcmp(entry->d_name, ".git") && strcmp(entry->d_name, ".superqode"))
			ews_strv_add(&names, entry->d_name);
	closedir(dir);
	ews_strv_sort(&names);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(fchmod(fd, (st.st_mode & 07777) | 0700), 0);
	for (size_t i = 0; i < names.n; i++) {
		cr_assert_eq(fstatat(fd, names.items[i], &st, AT_SYMLINK_NOFOLLOW), 0);
		if (!fixture_pick(4)) {
			edit_thing(fd, names.items[i], kinds, depth);
		} else if (S_ISDIR(st.st_mode)) {
			EWS_CLEANUP(fd) int below = open_dir_at(fd, names.items[i]);

			edit_dir(below, kinds, depth + 1);
		}
	}
	if (!fixture_pick(2))
		fill_dir(fd, kinds, depth < DEPTH_MAX ? depth + 1 : depth);
	/* Opened up for the work; half of the time it is closed again. */
	if (fixture_pick(2) && depth && (kinds & FIXTURE_MODES))
		cr_assert_eq(fchmod(fd, 0555), 0);
}

void fixture_edit_tree(int dir_fd, unsigned kinds)
{
	edit_dir(dir_fd, kinds, 0);
}

static void hash_blob(struct ews_oid *out, const void *data, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_buf_addf(&text, "blob %zu", len);
	ews_buf_addc(&text, '\0');
	ews_buf_add(&text, data, len);
	out->len = (uint8_t)ews_hash_once(EWS_SHA1, out->id, text.ptr, text.len);
}

static void hash_content(struct ews_oid *out, int dir_fd, const char *name, const struct stat *st)
{
	EWS_CLEANUP(fd) int fd = -1;
	char text[70000];
	ssize_t len;

	if (S_ISLNK(st->st_mode)) {
		len = readlinkat(dir_fd, name, text, sizeof(text));
	} else {
		fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		cr_assert_geq(fd, 0, "%s: %s", name, strerror(errno));
		len = read(fd, text, sizeof(text));
	}
	cr_assert(len >= 0 && len < (ssize_t)sizeof(text));
	hash_blob(out, text, (size_t)len);
}

static void list_dir(struct ews_entries *out, int fd, const char *above, bool skip_repositories)
{
	DIR *dir = open_listing(fd);
	struct dirent *found;

	while ((found = readdir(dir))) {
		EWS_CLEANUP(buf) struct ews_buf attrs = EWS_BUF_INIT;
		EWS_CLEANUP(free) char *path = ews_path_join(above, found->d_name);
		EWS_CLEANUP(fd) int below = -1;
		struct ews_entry *entry;
		struct stat st;

		if (is_dots(found->d_name) || ((!*above || skip_repositories) && !strcmp(found->d_name, ".git")))
			continue;
		cr_assert_eq(fstatat(fd, found->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		entry = ews_entries_add(out, path, strlen(path));
		ews_entry_set_stat(entry, &st);
		if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
			hash_content(&entry->oid, fd, found->d_name, &st);
		cr_assert_eq(ews_xattr_read_at(&attrs, fd, found->d_name), 0);
		entry->xattrs = attrs.len ? ews_arena_dup(&out->arena, attrs.ptr, attrs.len) : NULL;
		if (!S_ISDIR(st.st_mode))
			continue;
		below = open_dir_at(fd, found->d_name);
		if (skip_repositories && is_taken(below, ".git/HEAD"))
			*entry = (struct ews_entry){ .path = entry->path,
						     .type = EWS_ENTRY_GITLINK,
						     .mode = entry->mode };
		else
			list_dir(out, below, path, skip_repositories);
	}
	closedir(dir);
}

void fixture_list_tree(struct ews_entries *out, int dir_fd, bool skip_repositories)
{
	list_dir(out, dir_fd, "", skip_repositories);
	ews_entries_sort(out);
}

static void describe(struct ews_buf *out, const struct ews_entry *entry)
{
	char hex[EWS_OID_HEX_MAX];

	if (entry)
		ews_buf_addf(out, "%s %04o %.8s %s", ews_entry_type_name(entry->type), entry->mode,
			     ews_oid_hex(hex, &entry->oid), entry->xattrs ? entry->xattrs : "");
	else
		ews_buf_adds(out, "absent");
}

void fixture_assert_same(const struct ews_entries *is, const struct ews_entries *should, ews_entry_equal_fn equal,
			 const char *what)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(buf) struct ews_buf first = EWS_BUF_INIT;

	ews_changes_between(&changes, is, should, equal);
	if (!changes.n)
		return;
	describe(&first, changes.items[0].from);
	ews_buf_adds(&first, ", should be ");
	describe(&first, changes.items[0].to);
	cr_assert_fail("EWS_SEED=%zu: %s: %zu differ, first '%s': %s", fixture_seed(), what, changes.n,
		       changes.items[0].path, first.ptr);
}

void fixture_stage(const char *name)
{
	fixture_shell("cd '%s' && find . \\( -name .git -o -name .superqode \\) -prune -o \\( -type f -o -type l \\) -print0 | sort -z |"
		      "sed -zn '%zu~3p' | xargs -0r git update-index --add --replace -- 2>/dev/null; true",
		      name, 1 + fixture_pick(3));
}

static struct ews_repo *open_project(const char *name)
{
	EWS_CLEANUP(free) char *home = ews_path_join(fixture_top(), "home");
	struct ews_repo *repo = NULL;

	cr_assert_eq(ews_repo_open(&repo, name, home, EWS_REPO_MAKE_NONE), 0, "%s", ews_error_message());
	return repo;
}

struct ews_repo *fixture_make_small_project(const char *name)
{
	struct ews_repo *repo;

	fixture_shell("git init -q '%s' && cd '%s' && echo 1 >a && git add a && git commit -q -m 1", name, name);
	repo = open_project(name);
	cr_assert_eq(ews_repo_make_dir(repo), 0);
	return repo;
}

struct ews_repo *fixture_make_project(const char *name, unsigned kinds)
{
	int fd;

	cr_assert_eq(mkdir(name, 0755), 0);
	fd = fixture_open_dir(name);
	fixture_make_tree(fd, 0);
	fixture_shell("cd '%s' && git init -q && git add -A && git commit -q -m 1", name);
	fixture_edit_tree(fd, 0);
	fixture_shell("cd '%s' && git add -A && git commit -q --allow-empty -m 2 && git branch other HEAD~1", name);
	fixture_edit_tree(fd, kinds);
	fixture_stage(name);
	fixture_edit_tree(fd, kinds);
	close(fd);
	return open_project(name);
}

void fixture_begin_project(void)
{
	fixture_begin();
	fixture_repo = fixture_make_small_project("p");
}

void fixture_end_project(void)
{
	ews_repo_free(fixture_repo);
	fixture_end();
}

void fixture_begin_dir(void)
{
	fixture_begin();
	fixture_fd = fixture_open_dir(".");
}

void fixture_end_dir(void)
{
	close(fixture_fd);
	fixture_end();
}

void fixture_begin_home(void)
{
	fixture_begin();
	fixture_home = ews_path_join(top, "home");
}

void fixture_end_home(void)
{
	free(fixture_home);
	fixture_end();
}

bool fixture_write_cache(const char *name, const struct ews_scan *found)
{
	const struct ews_cache cache = { .entries = found->entries,
					 .is_whole = true,
					 .root = found->root,
					 .skips = found->skips,
					 .extra = EWS_BUF_INIT };

	if (!ews_recheck_is_possible(found))
		return false;
	cr_assert_eq(ews_cache_write(AT_FDCWD, name, &cache, found->started_s, found->started_ns, false), 0);
	return true;
}
