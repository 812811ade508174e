/*
 * Put makes a directory what a list says, exactly, and nothing outside of it.
 *
 * Directories are made and looked at here with plain system calls; nothing of
 * lib/ that walks or writes takes part in the judgement.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/loose.h"
#include "store/put.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/xattr.h"
#include "fixture.h"

#define NOBODY 65534
#define LARGE_BYTES ((size_t)40 * 1024 * 1024)

static char top[] = "/tmp/ews-put-XXXXXX";
static int top_fd = -1;
static int work_fd = -1; /* the directory that is changed */
static int want_fd = -1; /* how it should look, made by hand */
static int outside_fd = -1; /* must never change */
static struct ews_odb *odb;

static int open_at(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s: %s", name, strerror(errno));
	return fd;
}

static int make_top_dir(const char *name)
{
	cr_assert_eq(mkdirat(top_fd, name, 0755), 0);
	return open_at(top_fd, name);
}

static void set_up(void)
{
	EWS_CLEANUP(free) char *command = NULL;
	EWS_CLEANUP(free) char *store = NULL;

	umask(022);
	cr_assert(mkdtemp(top));
	top_fd = open_at(AT_FDCWD, top);
	cr_assert_eq(fchmod(top_fd, 0755), 0);
	work_fd = make_top_dir("work");
	want_fd = make_top_dir("want");
	outside_fd = make_top_dir("outside");
	command = ews_strfmt("git init -q --bare %s/store.git", top);
	cr_assert_eq(system(command), 0);
	store = ews_strfmt("%s/store.git", top);
	cr_assert_eq(ews_odb_open(&odb, store, top), 0, "%s", ews_error_message());
}

static void tear_down(void)
{
	ews_odb_free(odb);
	close(work_fd);
	close(want_fd);
	close(outside_fd);
	close(top_fd);
	cr_expect_eq(ews_file_remove_tree(AT_FDCWD, top), 0, "%s", ews_error_message());
}

TestSuite(put, .init = set_up, .fini = tear_down, .timeout = 300);

/* Making by hand */

static void write_file(int dir_fd, const char *path, const void *data, size_t len, mode_t mode)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(write(fd, data, len), (ssize_t)len);
	cr_assert_eq(fchmod(fd, mode), 0);
}

static void write_text(int dir_fd, const char *path, const char *text)
{
	write_file(dir_fd, path, text, strlen(text), 0644);
}

static void set_time(int dir_fd, const char *path, time_t seconds, long nanoseconds)
{
	const struct timespec times[2] = { { seconds, nanoseconds }, { seconds, nanoseconds } };

	cr_assert_eq(utimensat(dir_fd, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void give_away(int dir_fd, const char *name)
{
	cr_assert_eq(fchownat(dir_fd, name, NOBODY, NOBODY, AT_SYMLINK_NOFOLLOW), 0);
}

static void empty(int dir_fd)
{
	EWS_CLEANUP(fd) int fd = open_at(dir_fd, ".");
	DIR *dir = fdopendir(dup(fd));
	struct dirent *entry;

	cr_assert(dir);
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			cr_assert_eq(ews_file_remove_tree(dir_fd, entry->d_name), 0);
	closedir(dir);
}

static bool is_there(int dir_fd, const char *path)
{
	struct stat st;

	return !fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW);
}

static struct stat look(int dir_fd, const char *path)
{
	struct stat st;

	cr_assert_eq(fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0, "%s: %s", path, strerror(errno));
	return st;
}

static void assert_text(int dir_fd, const char *path, const char *text)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char buf[256];
	ssize_t n;

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	n = read(fd, buf, sizeof(buf));
	cr_assert_eq(n, (ssize_t)strlen(text));
	cr_assert_eq(memcmp(buf, text, (size_t)n), 0);
}

/* Looking by hand */

static void list_one(struct ews_entries *out, int dir_fd, const char *name, struct ews_buf *path);

static void list_below(struct ews_entries *out, int fd, struct ews_buf *path)
{
	DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	cr_assert(dir);
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			list_one(out, fd, entry->d_name, path);
	closedir(dir);
}

/* Returns the content's id; it is kept in the store. */
static struct ews_oid keep(const void *data, size_t len)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();
	struct ews_oid oid;

	ews_odb_hash(&oid, odb, EWS_OBJECT_BLOB, data, len);
	cr_assert_eq(ews_loose_write(&group, deflater, ews_odb_object_dir(odb), EWS_SHARING_NONE, &oid,
				     EWS_OBJECT_BLOB, data, len),
		     0);
	cr_assert_eq(ews_sync_finish(&group), 0);
	return oid;
}

static struct ews_oid keep_file(int dir_fd, const char *name, size_t size)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	EWS_CLEANUP(free) char *data = ews_malloc(size + 1);

	cr_assert_geq(fd, 0);
	cr_assert_eq(read(fd, data, size + 1), (ssize_t)size);
	return keep(data, size);
}

static void list_one(struct ews_entries *out, int dir_fd, const char *name, struct ews_buf *path)
{
	EWS_CLEANUP(buf) struct ews_buf attrs = EWS_BUF_INIT;
	struct stat st = look(dir_fd, name);
	size_t len = path->len, at = out->n;
	mode_t mode = st.st_mode & 07777;
	struct ews_oid oid = EWS_OID_NONE;
	mode_t need = S_ISDIR(st.st_mode) ? 0700 : 0400;
	bool is_shut = !S_ISLNK(st.st_mode) && (mode & need) != need && geteuid() != 0;
	char text[4096];

	if (len)
		ews_buf_addc(path, '/');
	ews_buf_adds(path, name);
	ews_entries_add(out, path->ptr, path->len);
	if (is_shut)
		cr_assert_eq(fchmodat(dir_fd, name, mode | need, 0), 0);
	cr_assert_eq(ews_xattr_read_at(&attrs, dir_fd, name), 0);
	if (S_ISREG(st.st_mode)) {
		oid = keep_file(dir_fd, name, (size_t)st.st_size);
	} else if (S_ISLNK(st.st_mode)) {
		ssize_t n = readlinkat(dir_fd, name, text, sizeof(text));

		cr_assert_gt(n, 0);
		oid = keep(text, (size_t)n);
	} else if (S_ISDIR(st.st_mode)) {
		EWS_CLEANUP(fd) int fd = open_at(dir_fd, name);

		list_below(out, fd, path);
	}
	if (is_shut)
		cr_assert_eq(fchmodat(dir_fd, name, mode, 0), 0);
	st = look(dir_fd, name);
	ews_entry_set_stat(&out->items[at], &st);
	out->items[at].oid = oid;
	if (attrs.len)
		out->items[at].xattrs = ews_arena_dup(&out->arena, attrs.ptr, attrs.len);
	ews_buf_truncate(path, len);
}

static void list(struct ews_entries *out, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	ews_entries_release(out);
	list_below(out, fd, &path);
	ews_entries_sort(out);
}

/* The time that a path is to get. */
static void want_time(struct ews_entry *entry, int64_t s, uint32_t ns)
{
	entry->has_time = true;
	entry->mtime_s = s;
	entry->mtime_ns = ns;
}

static bool is_same(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b);
}

static bool is_untouched(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b) && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns &&
	       a->ino == b->ino && a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns;
}

static void assert_same(const struct ews_entries *is, const struct ews_entries *should, const char *what)
{
	EWS_CLEANUP(changes) struct ews_changes diff = EWS_CHANGES_INIT;

	ews_changes_between(&diff, is, should, is_same);
	for (size_t i = 0; i < diff.n; i++) {
		const struct ews_entry *a = diff.items[i].from, *b = diff.items[i].to;

		fprintf(stderr, "%s: '%s' is %s %04o %s, should be %s %04o %s\n", what, diff.items[i].path,
			a ? ews_entry_type_name(a->type) : "absent", a ? a->mode : 0u,
			a && a->xattrs ? a->xattrs : "", b ? ews_entry_type_name(b->type) : "absent",
			b ? b->mode : 0u, b && b->xattrs ? b->xattrs : "");
	}
	cr_assert_eq(diff.n, 0, "%s", what);
}

/* Lists by hand, for what was never on disk */

static struct ews_entry *add(struct ews_entries *out, const char *path, enum ews_entry_type type, uint16_t mode,
			     const char *text)
{
	struct ews_entry *entry = ews_entries_add(out, path, strlen(path));

	entry->type = type;
	entry->mode = mode;
	if (text)
		entry->oid = keep(text, strlen(text));
	return entry;
}

static int put_lists(struct ews_put_report *report, const struct ews_entries *from, struct ews_entries *to)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	const struct ews_put_opts opts = { .root_fd = work_fd, .odb = odb, .source_fd = -1, .stats = { to } };

	ews_changes_between(&changes, from, to, is_same);
	return ews_put(report, &changes, &opts);
}

static void fail_with(const struct ews_put_report *report, const char *what)
{
	for (size_t i = 0; i < report->failed.n; i++)
		fprintf(stderr, "%s: %s\n", what, report->failed.items[i]);
	cr_assert_fail("%s: %s", what, ews_error_message());
}

static void become_nobody(void)
{
	cr_assert(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY));
}

/* Put as an ordinary user: in a child when we are root, else as we are. */
static int put_as_user(const struct ews_entries *from, struct ews_entries *to)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	int status;
	pid_t pid;

	if (geteuid() != 0) {
		int rc = put_lists(&report, from, to);

		for (size_t i = 0; i < report.failed.n; i++)
			fprintf(stderr, "as user: %s\n", report.failed.items[i]);
		return rc;
	}
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		int rc;

		become_nobody();
		rc = put_lists(&report, from, to);
		for (size_t i = 0; i < report.failed.n; i++)
			fprintf(stderr, "as user: %s\n", report.failed.items[i]);
		_exit(-rc);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* Make `work` what `want` is. */
static void put_want(const char *what)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;

	list(&from, work_fd);
	list(&to, want_fd);
	if (put_lists(&report, &from, &to) != 0)
		fail_with(&report, what);
	list(&is, work_fd);
	list(&to, want_fd);
	assert_same(&is, &to, what);
}

/* The kinds of things that take each other's place */

enum kind { ABSENT, FILE_KIND, OTHER_FILE, LINK, DIR_KIND, FULL_DIR, FIFO, N_KINDS };

static void make_kind(int dir_fd, const char *name, enum kind kind)
{
	EWS_CLEANUP(fd) int fd = -1;

	switch (kind) {
	case FILE_KIND:
		write_text(dir_fd, name, "one");
		break;
	case OTHER_FILE:
		write_file(dir_fd, name, "two", 3, 0755);
		break;
	case LINK:
		cr_assert_eq(symlinkat("../outside", dir_fd, name), 0);
		break;
	case DIR_KIND:
		cr_assert_eq(mkdirat(dir_fd, name, 0755), 0);
		break;
	case FULL_DIR:
		cr_assert_eq(mkdirat(dir_fd, name, 0755), 0);
		fd = open_at(dir_fd, name);
		write_text(fd, "inner", "inner");
		cr_assert_eq(mkdirat(fd, "sub", 0750), 0);
		write_text(fd, "sub/deep", "deep");
		break;
	case FIFO:
		cr_assert_eq(mkfifoat(dir_fd, name, 0640), 0);
		break;
	default:
		break;
	}
}

Test(put, every_kind_of_thing_turns_into_every_other)
{
	EWS_CLEANUP(entries) struct ews_entries before = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries after = EWS_ENTRIES_INIT;
	char what[32];

	write_text(outside_fd, "inner", "outside");
	list(&before, outside_fd);
	for (int from = 0; from < N_KINDS; from++) {
		for (int to = 0; to < N_KINDS; to++) {
			snprintf(what, sizeof(what), "%d to %d", from, to);
			make_kind(work_fd, "x", (enum kind)from);
			make_kind(want_fd, "x", (enum kind)to);
			put_want(what);
			empty(work_fd);
			empty(want_fd);
		}
	}
	list(&after, outside_fd);
	assert_same(&after, &before, "outside");
}

Test(put, what_is_really_there_is_replaced_whatever_was_expected)
{
	char what[64];

	for (int said = 0; said < N_KINDS; said++) {
		for (int is = 0; is < N_KINDS; is++) {
			for (int to = 0; to < N_KINDS; to++) {
				EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
				EWS_CLEANUP(entries) struct ews_entries from_list = EWS_ENTRIES_INIT;
				EWS_CLEANUP(entries) struct ews_entries to_list = EWS_ENTRIES_INIT;
				EWS_CLEANUP(entries) struct ews_entries is_list = EWS_ENTRIES_INIT;

				snprintf(what, sizeof(what), "said %d, is %d, to %d", said, is, to);
				make_kind(work_fd, "x", (enum kind)said);
				list(&from_list, work_fd);
				empty(work_fd);
				make_kind(work_fd, "x", (enum kind)is);
				make_kind(want_fd, "x", (enum kind)to);
				list(&to_list, want_fd);
				if (said == to) {
					; /* no change: put is not asked to look */
				} else if (is == FULL_DIR && said != FULL_DIR && to != DIR_KIND && to != FULL_DIR) {
					/* Content that nobody named is never removed. */
					cr_assert_eq(put_lists(&report, &from_list, &to_list), 1, "%s", what);
					cr_assert_eq(report.failed.n, 1);
					assert_text(work_fd, "x/sub/deep", "deep");
				} else if (is == FULL_DIR && said != FULL_DIR) {
					/* A directory is there already; what is unknown in it stays. */
					cr_assert_eq(put_lists(&report, &from_list, &to_list), 0, "%s", what);
					assert_text(work_fd, "x/sub/deep", "deep");
				} else if (said == FULL_DIR && to == DIR_KIND && is != FULL_DIR && is != DIR_KIND) {
					/* Only what was in it is asked to go. */
					cr_assert_eq(put_lists(&report, &from_list, &to_list), 0, "%s", what);
				} else if (said == DIR_KIND && to == FULL_DIR && is != FULL_DIR && is != DIR_KIND) {
					/* Its directory is not among the changes. */
					cr_assert_eq(put_lists(&report, &from_list, &to_list), 1, "%s", what);
				} else {
					if (put_lists(&report, &from_list, &to_list) != 0)
						fail_with(&report, what);
					list(&is_list, work_fd);
					list(&to_list, want_fd);
					assert_same(&is_list, &to_list, what);
				}
				empty(work_fd);
				empty(want_fd);
			}
		}
	}
	cr_assert_not(is_there(outside_fd, "inner"));
	cr_assert_not(is_there(outside_fd, "sub"));
}

Test(put, unknown_content_fails_its_path_and_nothing_else)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	make_kind(work_fd, "b\nd", FULL_DIR);
	list(&from, work_fd);
	write_text(work_fd, "b\nd/new", "new");
	add(&to, "a", EWS_ENTRY_FILE, 0644, "a");
	add(&to, "z", EWS_ENTRY_FILE, 0644, "z");
	cr_assert_eq(put_lists(&report, &from, &to), 1);
	cr_assert_eq(report.failed.n, 1);
	cr_assert_eq(strncmp(report.failed.items[0], "b\\012d\t", 7), 0);
	assert_text(work_fd, "b\nd/new", "new");
	assert_text(work_fd, "a", "a");
	assert_text(work_fd, "z", "z");
	cr_assert_eq(report.written, 2);
	cr_assert_eq(report.removed, 3);
}

/* Modes */

static const uint16_t file_modes[] = { 0000, 0444, 0400, 0200, 0644, 0755, 01644, 02755, 04755, 06711, 0777 };
static const uint16_t dir_modes[] = { 0000, 0555, 0500, 0300, 0311, 0755, 0700, 01777, 02775 };

#define N_FILE_MODES (sizeof(file_modes) / sizeof(*file_modes))
#define N_DIR_MODES (sizeof(dir_modes) / sizeof(*dir_modes))

/* Each mode once, directories with a file and a directory in them, all with `shift` modes further on. */
static void list_of_modes(struct ews_entries *out, size_t shift, const char *text)
{
	char path[64];

	for (size_t i = 0; i < N_DIR_MODES; i++) {
		snprintf(path, sizeof(path), "d%zu", i);
		add(out, path, EWS_ENTRY_DIR, dir_modes[(i + shift) % N_DIR_MODES], NULL);
		snprintf(path, sizeof(path), "d%zu/%s", i, text);
		add(out, path, EWS_ENTRY_FILE, 0644, text);
		snprintf(path, sizeof(path), "d%zu/s", i);
		add(out, path, EWS_ENTRY_DIR, dir_modes[(i + shift) % N_DIR_MODES], NULL);
		snprintf(path, sizeof(path), "d%zu/s/%s", i, text);
		add(out, path, EWS_ENTRY_FILE, 0444, text);
	}
	for (size_t i = 0; i < N_FILE_MODES; i++) {
		snprintf(path, sizeof(path), "f%zu", i);
		add(out, path, EWS_ENTRY_FILE, file_modes[(i + shift) % N_FILE_MODES], text);
		snprintf(path, sizeof(path), "p%zu", i);
		add(out, path, EWS_ENTRY_FIFO, file_modes[(i + shift) % N_FILE_MODES], NULL);
	}
	ews_entries_sort(out);
}

static void walk_through_modes(bool as_user)
{
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;

	if (as_user && geteuid() == 0)
		give_away(top_fd, "work");
	for (size_t shift = 0; shift <= N_FILE_MODES; shift++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
		EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;

		if (shift < N_FILE_MODES)
			list_of_modes(&to, shift, shift % 3 ? "one" : "two");
		umask(077);
		if (as_user)
			cr_assert_eq(put_as_user(&from, &to), 0);
		else if (put_lists(&report, &from, &to) != 0)
			fail_with(&report, "modes");
		umask(022);
		list(&is, work_fd);
		assert_same(&is, &to, "modes");
		ews_entries_release(&from);
		from = is;
		is = (struct ews_entries)EWS_ENTRIES_INIT;
	}
}

Test(put, all_twelve_mode_bits_come_and_go)
{
	walk_through_modes(false);
}

Test(put, all_twelve_mode_bits_come_and_go_for_an_ordinary_user)
{
	walk_through_modes(true);
}

Test(put, directories_that_are_only_passed_get_their_mode_back)
{
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	cr_assert_eq(mkdirat(work_fd, "a", 0755), 0);
	cr_assert_eq(mkdirat(work_fd, "a/b", 0755), 0);
	cr_assert_eq(mkdirat(work_fd, "a/b/c", 0755), 0);
	write_text(work_fd, "a/b/c/old", "old");
	if (geteuid() == 0) {
		give_away(top_fd, "work");
		give_away(work_fd, "a");
		give_away(work_fd, "a/b");
		give_away(work_fd, "a/b/c");
	}
	cr_assert_eq(fchmodat(work_fd, "a/b/c", 0555, 0), 0);
	cr_assert_eq(fchmodat(work_fd, "a/b", 0, 0), 0);
	cr_assert_eq(fchmodat(work_fd, "a", 01011, 0), 0);
	cr_assert_eq(fchmod(work_fd, 0500), 0);
	add(&from, "a/b/c/old", EWS_ENTRY_FILE, 0644, "old");
	add(&to, "a/b/c/new", EWS_ENTRY_FILE, 0644, "new");
	cr_assert_eq(put_as_user(&from, &to), 0);

	cr_assert_eq(look(top_fd, "work").st_mode & 07777, 0500);
	cr_assert_eq(look(work_fd, "a").st_mode & 07777, 01011);
	cr_assert_eq(fchmod(work_fd, 0755), 0);
	cr_assert_eq(fchmodat(work_fd, "a", 0755, 0), 0);
	cr_assert_eq(look(work_fd, "a/b").st_mode & 07777, 0);
	cr_assert_eq(fchmodat(work_fd, "a/b", 0755, 0), 0);
	cr_assert_eq(look(work_fd, "a/b/c").st_mode & 07777, 0555);
	assert_text(work_fd, "a/b/c/new", "new");
	cr_assert_not(is_there(work_fd, "a/b/c/old"));
}

Test(put, a_change_of_mode_or_attributes_does_not_rewrite)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	struct stat before, after;

	write_file(work_fd, "f", "text", 4, 0444);
	set_time(work_fd, "f", 1000, 5);
	before = look(work_fd, "f");
	list(&from, work_fd);
	list(&to, work_fd);
	to.items[0].mode = 0755;
	to.items[0].mtime_s = 77;
	to.items[0].xattrs = "user.a=01\n";
	if (put_lists(&report, &from, &to) != 0)
		fail_with(&report, "mode");
	after = look(work_fd, "f");
	cr_assert_eq(after.st_ino, before.st_ino);
	cr_assert_eq(after.st_mode & 07777, 0755);
	cr_assert_eq(after.st_mtim.tv_sec, 77);
	cr_assert_eq(after.st_mtim.tv_nsec, (long)to.items[0].mtime_ns);
	cr_assert(ews_entry_stat_matches(&to.items[0], &after));
}

Test(put, content_that_changed_since_it_was_listed_is_rewritten)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	write_text(work_fd, "f", "text");
	list(&from, work_fd);
	list(&to, work_fd);
	to.items[0].mode = 0755;
	write_text(work_fd, "f", "oops!");
	if (put_lists(&report, &from, &to) != 0)
		fail_with(&report, "content");
	assert_text(work_fd, "f", "text");
}

/* Names elsewhere */

Test(put, a_hard_link_elsewhere_keeps_bytes_and_mode)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	write_text(outside_fd, "a", "agent's");
	write_text(outside_fd, "b", "same");
	set_time(outside_fd, "b", 500, 0);
	cr_assert_eq(linkat(outside_fd, "a", work_fd, "a", 0), 0);
	cr_assert_eq(linkat(outside_fd, "b", work_fd, "b", 0), 0);
	list(&from, work_fd);
	add(&to, "a", EWS_ENTRY_FILE, 0644, "base's");
	want_time(add(&to, "b", EWS_ENTRY_FILE, 04755, "same"), 99, 0);
	if (put_lists(&report, &from, &to) != 0)
		fail_with(&report, "hard links");
	assert_text(work_fd, "a", "base's");
	assert_text(outside_fd, "a", "agent's");
	cr_assert_eq(look(work_fd, "b").st_mode & 07777, 04755);
	cr_assert_eq(look(outside_fd, "b").st_mode & 07777, 0644);
	cr_assert_eq(look(outside_fd, "b").st_mtim.tv_sec, 500);
}

Test(put, a_directory_that_became_a_link_leads_nowhere)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries before = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries after = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	make_kind(outside_fd, "d", FULL_DIR);
	list(&before, outside_fd);
	cr_assert_eq(symlinkat("../outside/d", work_fd, "d"), 0);
	add(&from, "d", EWS_ENTRY_DIR, 0700, NULL);
	add(&from, "d/inner", EWS_ENTRY_FILE, 0644, "inner");
	add(&from, "d/sub", EWS_ENTRY_DIR, 0755, NULL);
	add(&from, "d/sub/deep", EWS_ENTRY_FILE, 0644, "deep");
	add(&to, "d", EWS_ENTRY_DIR, 0700, NULL);
	add(&to, "d/inner", EWS_ENTRY_FILE, 0755, "changed");
	add(&to, "d/sub", EWS_ENTRY_DIR, 0700, NULL);
	cr_assert_eq(put_lists(&report, &from, &to), 1);
	cr_assert_eq(report.failed.n, 2);
	list(&after, outside_fd);
	assert_same(&after, &before, "outside");

	/* A look at what is there names the link, and then it works. */
	ews_put_report_release(&report);
	list(&from, work_fd);
	if (put_lists(&report, &from, &to) != 0)
		fail_with(&report, "second run");
	assert_text(work_fd, "d/inner", "changed");
	list(&after, outside_fd);
	assert_same(&after, &before, "outside");
}

struct swapper {
	atomic_bool is_done;
	atomic_size_t swaps;
};

/* As fast as it can: work/d is the directory, then a link to the outside, then the directory. */
static void *swap(void *payload)
{
	struct swapper *swapper = payload;
	EWS_CLEANUP(free) char *target = ews_strfmt("%s/outside", top);
	struct stat a, b;

	while (!atomic_load(&swapper->is_done)) {
		if (!renameat2(top_fd, "swap", work_fd, "d", 2 /* RENAME_EXCHANGE */))
			atomic_fetch_add(&swapper->swaps, 1);
		if (!fstatat(top_fd, "swap", &a, AT_SYMLINK_NOFOLLOW) && S_ISLNK(a.st_mode))
			continue;
		if (!fstatat(work_fd, "d", &b, AT_SYMLINK_NOFOLLOW) && S_ISLNK(b.st_mode))
			continue;
		(void)ews_file_remove_tree(top_fd, "swap");
		(void)symlinkat(target, top_fd, "swap");
	}
	return NULL;
}

Test(put, a_directory_swapped_for_a_link_while_it_runs_leads_nowhere)
{
	EWS_CLEANUP(entries) struct ews_entries before = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries after = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes diff = EWS_CHANGES_INIT;
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries one = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries two = EWS_ENTRIES_INIT;
	struct swapper swapper = { .swaps = 0 };
	size_t rounds = fixture_rounds_if_fast(1000), failures = 0;
	pthread_t thread;

	for (int i = 0; i < 5; i++) {
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		write_text(outside_fd, path, "outside");
	}
	make_kind(outside_fd, "s", FULL_DIR);
	write_text(outside_fd, "s/f", "outside");
	list(&before, outside_fd);
	for (int k = 0; k < 2; k++) {
		struct ews_entries *to = k ? &two : &one;

		add(to, "d", EWS_ENTRY_DIR, k ? 0755 : 0555, NULL);
		for (int i = 0; i < 5; i++) {
			char path[16];

			snprintf(path, sizeof(path), "d/f%d", i);
			want_time(add(to, path, EWS_ENTRY_FILE, k ? 0600 : 04755, k ? "two" : "one"), 42 + k, 0);
		}
		want_time(add(to, "d/s", EWS_ENTRY_DIR, k ? 0711 : 0500, NULL), 42, 0);
		add(to, "d/s/f", k ? EWS_ENTRY_LINK : EWS_ENTRY_FILE, k ? 0777 : 0400, "one");
	}
	cr_assert_eq(mkdirat(top_fd, "swap", 0755), 0);
	cr_assert_eq(pthread_create(&thread, NULL, swap, &swapper), 0);
	/* On until they met: a thread may come late to its first swap. */
	for (size_t round = 0; round < rounds || !failures || atomic_load(&swapper.swaps) <= 100; round++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
		struct ews_entries *lists[] = { &none, &one, &two };
		struct ews_entries *from = lists[round % 3], *to = lists[(round + 1) % 3];
		int rc = put_lists(&report, from, to);

		cr_assert(rc == 0 || (rc == 1 && report.failed.n));
		failures += rc != 0;
	}
	atomic_store(&swapper.is_done, true);
	pthread_join(thread, NULL);
	list(&after, outside_fd);
	ews_changes_between(&diff, &after, &before, is_untouched);
	cr_assert_eq(diff.n, 0, "%zu paths outside changed, the first: %s", diff.n, diff.n ? diff.items[0].path : "");
}

Test(put, a_path_that_is_not_plain_stops_everything_before_it_begins)
{
	static const char *const paths[] = { "../outside/x", "/etc/x", "a/../x", "a//x", "", "." };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
		EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

		add(&to, "A", EWS_ENTRY_FILE, 0644, "x");
		add(&to, paths[i], EWS_ENTRY_FILE, 0644, "x");
		cr_expect_eq(put_lists(&report, &from, &to), EWS_EDAMAGED, "%s", paths[i]);
		cr_expect_not(is_there(work_fd, "A"));
	}
	cr_assert_not(is_there(outside_fd, "x"));
}

Test(put, paths_of_six_thousand_bytes_come_and_go)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	for (int i = 0; i < 60; i++) {
		ews_buf_addf(&path, "%s%0100d", i ? "/" : "", i);
		want_time(add(&to, path.ptr, EWS_ENTRY_DIR, i % 7 ? 0755 : 0555, NULL), 1000 + i, 0);
	}
	ews_buf_adds(&path, "/file");
	add(&to, path.ptr, EWS_ENTRY_FILE, 0640, "deep");
	if (put_lists(&report, &none, &to) != 0)
		fail_with(&report, "deep");
	list(&is, work_fd);
	assert_same(&is, &to, "deep");
	for (size_t i = 0; i < 60; i++)
		cr_assert_eq(is.items[i].mtime_s, 1000 + (int64_t)i);
	if (put_lists(&report, &is, &none) != 0)
		fail_with(&report, "deep");
	cr_assert_eq(unlinkat(top_fd, "work", AT_REMOVEDIR), 0);
}

/* Attributes */

Test(put, attributes_come_back_and_strange_ones_go)
{
	int fd = openat(want_fd, ".", O_RDONLY | O_CLOEXEC);
	int rc = fsetxattr(fd, "user.probe", "1", 1, 0);

	close(fd);
	if (rc < 0)
		cr_skip_test("no user attributes on this file system");
	for (int round = 0; round < 2; round++) {
		int one = round ? work_fd : want_fd, other = round ? want_fd : work_fd;
		EWS_CLEANUP(free) char *path = NULL;

		empty(one);
		empty(other);
		make_kind(one, "d", FULL_DIR);
		make_kind(other, "d", FULL_DIR);
		path = ews_strfmt("%s/%s/d", top, one == work_fd ? "work" : "want");
		cr_assert_eq(setxattr(path, "user.dir", "\0\n", 2, 0), 0);
		free(path);
		path = ews_strfmt("%s/%s/d/inner", top, one == work_fd ? "work" : "want");
		cr_assert_eq(setxattr(path, "user.k", "v", 1, 0), 0);
		cr_assert_eq(setxattr(path, "user.empty", "", 0, 0), 0);
		if (geteuid() == 0) {
			cr_assert_eq(symlinkat("x", one, "l"), 0);
			cr_assert_eq(symlinkat("x", other, "l"), 0);
			free(path);
			path = ews_strfmt("%s/%s/l", top, one == work_fd ? "work" : "want");
			cr_assert_eq(lsetxattr(path, "trusted.t", "v", 1, 0), 0);
		}
		cr_assert_eq(fchmodat(want_fd, "d/inner", 0400, 0), 0);
		cr_assert_eq(fchmodat(want_fd, "d", 0500, 0), 0);
		put_want("attributes");
	}
}

Test(put, attributes_that_are_not_permitted_are_named_and_no_failure)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	add(&to, "a\tb", EWS_ENTRY_FILE, 0644, "x")->xattrs = "nowhere.x=00\n";
	cr_assert_eq(put_lists(&report, &none, &to), 0);
	cr_assert_eq(report.lost_attrs.n, 1);
	cr_assert_str_eq(report.lost_attrs.items[0], "a\\011b\tnowhere.x");
	assert_text(work_fd, "a\tb", "x");
}

/* Contents and times */

static void put_from_source(struct ews_put_report *report, struct ews_entries *to, int want_rc)
{
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	const struct ews_put_opts opts = { .root_fd = work_fd, .odb = odb, .source_fd = want_fd, .stats = { to } };

	ews_changes_between(&changes, &none, to, is_same);
	cr_assert_eq(ews_put(report, &changes, &opts), want_rc, "%s", ews_error_message());
}

Test(put, content_is_copied_from_the_source_while_it_is_what_was_listed)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	struct ews_oid odd = EWS_OID_NONE;
	struct stat source;

	write_text(want_fd, "a", "listed");
	write_text(want_fd, "b", "listed");
	write_text(want_fd, "c", "listed");
	cr_assert_eq(mkdirat(want_fd, "d", 0755), 0);
	write_text(want_fd, "d/e", "listed");
	list(&to, want_fd);
	/* "a" has an id that the store has not: only the source can have given it. */
	odd.len = to.items[0].oid.len;
	memset(odd.id, 0xee, odd.len);
	to.items[0].oid = odd;
	ews_entries_find(&to, "d/e")->oid = (struct ews_oid)EWS_OID_NONE;
	/* "b" changes after the listing: same size, same time. */
	source = look(want_fd, "b");
	write_text(want_fd, "b", "CHANGE");
	set_time(want_fd, "b", source.st_mtim.tv_sec, source.st_mtim.tv_nsec);
	/* "c" becomes something that must not be waited for. */
	cr_assert_eq(unlinkat(want_fd, "c", 0), 0);
	cr_assert_eq(mkfifoat(want_fd, "c", 0644), 0);
	put_from_source(&report, &to, 0);
	assert_text(work_fd, "a", "listed");
	assert_text(work_fd, "b", "listed");
	assert_text(work_fd, "c", "listed");
	assert_text(work_fd, "d/e", "listed");
	source = look(want_fd, "a");
	cr_assert_eq(look(work_fd, "a").st_mtim.tv_sec, source.st_mtim.tv_sec);
	cr_assert_eq(look(work_fd, "a").st_mtim.tv_nsec, source.st_mtim.tv_nsec);
	/* The list now knows the new files. */
	source = look(work_fd, "a");
	cr_assert(ews_entry_stat_matches(&to.items[0], &source));
}

Test(put, a_source_that_became_shorter_leaves_no_error_behind)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	write_text(want_fd, "a", "listed");
	list(&to, want_fd);
	write_text(want_fd, "a", "");
	ews_error_clear();
	put_from_source(&report, &to, 0);
	assert_text(work_fd, "a", "listed");
	cr_assert_eq(ews_error_code(), EWS_OK, "%s", ews_error_message());
}

Test(put, content_that_is_nowhere_leaves_no_file)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	write_text(want_fd, "a", "listed");
	write_text(want_fd, "b", "listed");
	list(&to, want_fd);
	to.items[0].oid = (struct ews_oid)EWS_OID_NONE;
	memset(to.items[1].oid.id, 0xee, to.items[1].oid.len);
	write_text(want_fd, "a", "newer");
	write_text(want_fd, "b", "newer");
	put_from_source(&report, &to, 1);
	cr_assert_eq(report.failed.n, 2);
	cr_assert_not(is_there(work_fd, "a"));
	cr_assert_not(is_there(work_fd, "b"));
}

/* Put a and c as other names of the file b, which `one` tells. */
static void put_names(struct ews_put_report *report, const struct ews_entries *from, struct ews_entries *to,
		      const struct ews_entry *one, enum ews_put_times times)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	const struct ews_put_opts opts = {
		.root_fd = work_fd, .odb = odb, .source_fd = -1, .stats = { to }, .times = times
	};

	ews_changes_between(&changes, from, to, is_same);
	for (size_t i = 0; i < changes.n; i++)
		if (strcmp(changes.items[i].path, "b") != 0)
			changes.items[i].one_file = one;
	cr_assert_eq(ews_put(report, &changes, &opts), 0);
}

Test(put, what_is_made_and_what_stays_gets_other_names)
{
	for (size_t stays = 0; stays < 2; stays++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
		EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
		struct stat b;

		empty(work_fd);
		write_text(work_fd, "a", "other");
		write_text(work_fd, "b", stays ? "text" : "that goes");
		list(&from, work_fd);
		for (const char *name = "abc"; *name; name++)
			add(&to, (const char[]){ *name, '\0' }, EWS_ENTRY_FILE, 0644, "text");
		put_names(&report, &from, &to, stays ? ews_entries_find(&from, "b") : ews_entries_find(&to, "b"),
			  EWS_PUT_TIMES_KEEP);
		b = look(work_fd, "b");
		cr_assert_eq(b.st_nlink, 3);
		cr_assert_eq(look(work_fd, "a").st_ino, b.st_ino);
		cr_assert_eq(look(work_fd, "c").st_ino, b.st_ino);
		cr_assert(!stays || b.st_ino == ews_entries_find(&from, "b")->ino);
		assert_text(work_fd, "c", "text");
		b = look(work_fd, "a");
		cr_assert(ews_entry_stat_matches(ews_entries_find(&to, "a"), &b));
	}
}

/* Whoever swaps the file that stays for another one gets no second name of that. */
Test(put, a_file_that_is_swapped_gets_no_other_name)
{
	for (size_t kind = 0; kind < 3; kind++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
		EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

		empty(work_fd);
		empty(outside_fd);
		write_text(outside_fd, "secret", "text");
		write_text(work_fd, "b", "text");
		list(&from, work_fd);
		for (const char *name = "abc"; *name; name++)
			add(&to, (const char[]){ *name, '\0' }, EWS_ENTRY_FILE, 0644, "text");
		cr_assert_eq(unlinkat(work_fd, "b", 0), 0);
		if (kind == 0)
			cr_assert_eq(linkat(outside_fd, "secret", work_fd, "b", 0), 0);
		else if (kind == 1)
			cr_assert_eq(symlinkat("../outside/secret", work_fd, "b"), 0);
		put_names(&report, &from, &to, ews_entries_find(&from, "b"), EWS_PUT_TIMES_KEEP);
		cr_assert_eq(look(outside_fd, "secret").st_nlink, kind == 0 ? 2 : 1);
		cr_assert_eq(look(work_fd, "a").st_nlink, 1);
		assert_text(work_fd, "a", "text");
		assert_text(work_fd, "c", "text");
	}
}

/* Else make would take what is made from the new name for newer than that. */
Test(put, an_old_file_that_stays_is_fresh_under_a_fresh_name)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	for (size_t fresh = 0; fresh < 2; fresh++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
		EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

		empty(work_fd);
		write_text(work_fd, "b", "text");
		cr_assert_eq(utimensat(work_fd, "b", old, 0), 0);
		list(&from, work_fd);
		for (const char *name = "abc"; *name; name++)
			add(&to, (const char[]){ *name, '\0' }, EWS_ENTRY_FILE, 0644, "text");
		put_names(&report, &from, &to, ews_entries_find(&from, "b"),
			  fresh ? EWS_PUT_TIMES_FRESH : EWS_PUT_TIMES_KEEP);
		cr_assert_eq(look(work_fd, "a").st_nlink, 3);
		cr_assert_eq(look(work_fd, "a").st_mtime == 1000, !fresh);
	}
}

Test(put, times_are_kept_or_fresh_as_asked)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	struct ews_put_opts opts = { .root_fd = work_fd, .odb = odb, .source_fd = -1 };
	static const struct {
		const char *path;
		enum ews_entry_type type;
	} things[] = {
		{ "d", EWS_ENTRY_DIR },
		{ "d/f", EWS_ENTRY_FILE },
		{ "l", EWS_ENTRY_LINK },
		{ "p", EWS_ENTRY_FIFO },
	};

	for (size_t i = 0; i < 4; i++) {
		struct ews_entry *entry =
			add(&to, things[i].path, things[i].type, things[i].type == EWS_ENTRY_LINK ? 0777 : 0755,
			    things[i].type == EWS_ENTRY_FILE || things[i].type == EWS_ENTRY_LINK ? "x" : NULL);

		want_time(entry, -5, 123456789);
	}
	ews_changes_between(&changes, &none, &to, is_same);
	cr_assert_eq(ews_put(&report, &changes, &opts), 0);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(look(work_fd, things[i].path).st_mtim.tv_sec, -5, "%s", things[i].path);
		cr_assert_eq(look(work_fd, things[i].path).st_mtim.tv_nsec, 123456789);
	}
	empty(work_fd);
	opts.times = EWS_PUT_TIMES_FRESH;
	opts.stats[0] = &to;
	cr_assert_eq(ews_put(&report, &changes, &opts), 0);
	for (size_t i = 0; i < 4; i++)
		cr_assert_gt(look(work_fd, things[i].path).st_mtim.tv_sec, 1000000000);
}

/* Things that can't be kept */

Test(put, sockets_go_but_do_not_come)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	EWS_CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/work/s", top);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	write_text(work_fd, "f", "stays");
	list(&from, work_fd);
	add(&to, "f", EWS_ENTRY_SOCKET, 0755, NULL);
	cr_assert_eq(put_lists(&report, &from, &to), 1);
	cr_assert_eq(report.failed.n, 1);
	cr_assert_str_eq(report.failed.items[0], "f\ta socket can't be made");
	assert_text(work_fd, "f", "stays");
	cr_assert_not(is_there(work_fd, "s"));
}

Test(put, a_nested_repository_comes_as_an_empty_directory_and_goes_only_empty)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;

	add(&to, "n", EWS_ENTRY_GITLINK, 0750, NULL);
	cr_assert_eq(put_lists(&report, &none, &to), 0);
	cr_assert(S_ISDIR(look(work_fd, "n").st_mode));
	cr_assert_eq(look(work_fd, "n").st_mode & 07777, 0750);
	cr_assert_eq(to.items[0].type, EWS_ENTRY_GITLINK);
	write_text(work_fd, "n/x", "work");
	cr_assert_eq(put_lists(&report, &to, &none), 1);
	assert_text(work_fd, "n/x", "work");
	cr_assert_eq(unlinkat(work_fd, "n/x", 0), 0);
	ews_put_report_release(&report);
	cr_assert_eq(put_lists(&report, &to, &none), 0);
	cr_assert_not(is_there(work_fd, "n"));
}

/* Trouble */

Test(put, a_full_disk_stops_it_at_once_and_leaves_no_half_file)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(free) char *big = ews_malloc(100001);
	const struct rlimit small = { 8192, RLIM_INFINITY }, large = { RLIM_INFINITY, RLIM_INFINITY };

	memset(big, 'x', 100000);
	big[100000] = '\0';
	add(&to, "a", EWS_ENTRY_FILE, 0644, "a");
	add(&to, "b", EWS_ENTRY_FILE, 0644, big);
	add(&to, "c", EWS_ENTRY_FILE, 0644, "c");
	cr_assert_eq(mkdirat(work_fd, "d", 0555), 0);
	add(&to, "d/x", EWS_ENTRY_FILE, 0644, "x");
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	cr_assert_eq(put_lists(&report, &none, &to), EWS_ENOSPACE);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
	cr_assert(strstr(ews_error_message(), "'b'"), "%s", ews_error_message());
	assert_text(work_fd, "a", "a");
	cr_assert_not(is_there(work_fd, "b"));
	cr_assert_not(is_there(work_fd, "c"));
	cr_assert_eq(look(work_fd, "d").st_mode & 07777, 0555);
	/* Later there is room: the same put again finishes it. */
	cr_assert_eq(put_lists(&report, &none, &to), 0);
	assert_text(work_fd, "c", "c");
	cr_assert_eq(look(work_fd, "b").st_size, 100000);
}

Test(put, the_same_again_is_harmless)
{
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;
	char name[2] = "a";

	for (int i = 0; i < N_KINDS * N_KINDS; i++, name[0]++) {
		make_kind(work_fd, name, (enum kind)(i % N_KINDS));
		make_kind(want_fd, name, (enum kind)(i / N_KINDS));
		if (name[0] == 'z')
			name[0] = 'A' - 1;
	}
	list(&from, work_fd);
	for (int run = 0; run < 3; run++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;

		list(&to, want_fd);
		if (put_lists(&report, &from, &to) != 0)
			fail_with(&report, "again");
		list(&is, work_fd);
		list(&to, want_fd);
		assert_same(&is, &to, "again");
	}
}

struct progress {
	size_t calls, last;
	uint64_t bytes;
};

static void note_progress(void *payload, size_t done, size_t total, uint64_t bytes)
{
	struct progress *progress = payload;

	cr_assert_leq(done, total);
	cr_assert_gt(done, progress->last);
	cr_assert_geq(bytes, progress->bytes);
	progress->last = done;
	progress->bytes = bytes;
	progress->calls++;
}

static void note_within(void *payload, size_t done, size_t total, uint64_t bytes)
{
	struct progress *progress = payload;

	cr_assert_geq(bytes, progress->bytes);
	progress->calls += done < total && bytes;
	progress->last = done;
	progress->bytes = bytes;
}

/* From the store, and as a copy of what is there. */
Test(put, of_a_large_file_it_is_told_how_far_that_has_come)
{
	EWS_CLEANUP(free) char *text = ews_malloc(LARGE_BYTES + 1);
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	struct stat st;

	memset(text, 'x', LARGE_BYTES);
	text[LARGE_BYTES] = '\0';
	add(&to, "large", EWS_ENTRY_FILE, 0644, text)->size = LARGE_BYTES;
	ews_changes_between(&changes, &none, &to, is_same);
	for (int copies = 0; copies < 2; copies++) {
		EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
		struct progress progress = { 0, 0, 0 };
		const struct ews_put_opts opts = { .root_fd = copies ? want_fd : work_fd,
						   .odb = odb,
						   .source_fd = copies ? work_fd : -1,
						   .stats = { &to },
						   .progress = note_within,
						   .payload = &progress };

		cr_assert_eq(ews_put(&report, &changes, &opts), 0, "%s", ews_error_message());
		cr_expect_eq(report.written, 1);
		cr_expect_geq(progress.calls, 2);
		cr_expect_eq(progress.last, 1);
		cr_expect_eq(progress.bytes, LARGE_BYTES);
		cr_assert_eq(fstatat(work_fd, "large", &st, 0), 0);
		ews_entry_set_stat(&to.items[0], &st);
	}
}

/* Many of everything, at several depths; directories that nobody may write to have to wait for what is in them. */
static void put_many(bool has_closed)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries none = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	struct progress progress = { 0, 0, 0 };
	const struct ews_put_opts opts = {
		.root_fd = work_fd,
		.odb = odb,
		.source_fd = -1,
		.stats = { &to },
		.threads = 4,
		.times = EWS_PUT_TIMES_KEEP,
		.progress = note_progress,
		.payload = &progress,
	};
	struct stat st;
	char path[64], text[32];

	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "d%d", i);
		add(&to, path, EWS_ENTRY_DIR, has_closed && i % 3 == 0 ? 0555 : 0755, NULL);
		snprintf(path, sizeof(path), "d%d/e", i);
		add(&to, path, EWS_ENTRY_DIR, i % 2 ? 0700 : 0755, NULL);
		snprintf(path, sizeof(path), "d%d/e/f", i);
		add(&to, path, EWS_ENTRY_DIR, 0755, NULL);
		for (int k = 0; k < 40; k++) {
			snprintf(path, sizeof(path), "d%d/%sf%d", i, k % 4 ? "" : "e/f/", k);
			snprintf(text, sizeof(text), "%d", k);
			add(&to, path, EWS_ENTRY_FILE, k % 2 ? 0644 : 0755, text);
		}
	}
	ews_entries_sort(&to);
	for (size_t i = 0; i < to.n; i++) {
		to.items[i].has_time = true;
		to.items[i].mtime_s = 1000000000 + (int64_t)i;
		to.items[i].mtime_ns = (uint32_t)i;
	}
	ews_changes_between(&changes, &none, &to, is_same);
	cr_assert_eq(ews_put(&report, &changes, &opts), 0);
	cr_assert_eq(report.written, to.n);
	cr_assert_eq(progress.calls, to.n);
	cr_assert_eq(progress.bytes, (uint64_t)40 * (10 * 1 + 30 * 2));
	for (size_t i = 0; i < to.n; i++) {
		cr_assert_eq(fstatat(work_fd, to.items[i].path, &st, AT_SYMLINK_NOFOLLOW), 0);
		cr_assert_eq(st.st_mtim.tv_sec, 1000000000 + (time_t)i, "%s", to.items[i].path);
		cr_assert_eq(st.st_mtim.tv_nsec, (long)i, "%s", to.items[i].path);
	}
	list(&is, work_fd);
	assert_same(&is, &to, "many");
}

Test(put, many_files_are_put_by_several_threads)
{
	put_many(false);
}

Test(put, many_files_come_to_directories_that_close_behind_them)
{
	put_many(true);
}

/* Random trees */

static uint64_t roll(uint64_t seed, const char *path, const char *what)
{
	uint64_t h = seed * 0x9e3779b97f4a7c15u + 1;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 0x100000001b3u;
	for (; *what; what++)
		h = (h ^ (unsigned char)*what) * 0x100000001b3u;
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
	return h ^ (h >> 31);
}

/* One tree is rolled with `first` alone; its successor differs from it here and there. */
struct dice {
	uint64_t first, second; /* second: 0 for none */
	bool is_given_away;
};

static uint64_t roll_one(const struct dice *dice, const char *path, const char *what)
{
	bool is_new = dice->second && roll(dice->second, path, what) % 4 == 0;

	return roll(is_new ? dice->second + 1000 : dice->first, path, what) >> 8;
}

static void grow(const struct dice *dice, int fd, const char *path, int depth);

static void grow_one(const struct dice *dice, int dir_fd, const char *name, const char *path, int depth)
{
	EWS_CLEANUP(free) char *data = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	mode_t mode = file_modes[roll_one(dice, path, "mode") % N_FILE_MODES];
	size_t len;

	switch (roll_one(dice, path, "type") % 10) {
	case 0:
	case 1:
	case 2:
		return;
	case 3:
		cr_assert_eq(symlinkat(roll_one(dice, path, "text") % 2 ? "a" : "../../outside", dir_fd, name), 0);
		break;
	case 4:
		cr_assert_eq(mkfifoat(dir_fd, name, 0600), 0);
		break;
	case 5:
	case 6:
		len = (size_t[]){ 0, 1, 4096, 70000 }[roll_one(dice, path, "size") % 4];
		data = ews_malloc(len + 1);
		memset(data, "xyz"[roll_one(dice, path, "text") % 3], len);
		write_file(dir_fd, name, data, len, 0600);
		break;
	default:
		if (depth == 3)
			return;
		cr_assert_eq(mkdirat(dir_fd, name, 0700), 0);
		fd = open_at(dir_fd, name);
		grow(dice, fd, path, depth + 1);
		mode = dir_modes[roll_one(dice, path, "mode") % N_DIR_MODES];
	}
	if (dice->is_given_away)
		give_away(dir_fd, name);
	if (S_ISREG(look(dir_fd, name).st_mode) || S_ISDIR(look(dir_fd, name).st_mode)) {
		EWS_CLEANUP(fd) int at = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

		cr_assert_geq(at, 0);
		if (roll_one(dice, path, "attr") % 4 == 0)
			(void)fsetxattr(at, "user.k", roll_one(dice, path, "value") % 2 ? "v" : "w", 1, 0);
		cr_assert_eq(fchmod(at, mode), 0);
	}
	set_time(dir_fd, name, (time_t)(1000000000 + roll_one(dice, path, "time") % 1000000),
		 (long)(roll_one(dice, path, "ns") % 1000000000));
}

static void grow(const struct dice *dice, int fd, const char *path, int depth)
{
	static const char *const names[] = { "a", "a.b", "\n", "\xff\xfe", "-rf" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		EWS_CLEANUP(free) char *below = ews_path_join(path, names[i]);

		grow_one(dice, fd, names[i], below, depth);
	}
}

static bool was_written(const struct ews_change *change)
{
	if (!change->to)
		return false;
	if (change->to->type == EWS_ENTRY_DIR || !change->from || change->from->type != change->to->type)
		return true;
	return change->to->type == EWS_ENTRY_LINK || !ews_oid_equal(&change->from->oid, &change->to->oid);
}

static void put_random_trees(uint64_t seed, bool as_user)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries want = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	bool is_given_away = as_user && geteuid() == 0;
	const struct dice before = { seed, 0, is_given_away };
	const struct dice after = { seed, seed * 7 + 1, is_given_away };
	char what[64];

	snprintf(what, sizeof(what), "seed %llu%s", (unsigned long long)seed, as_user ? " as user" : "");
	if (is_given_away)
		give_away(top_fd, "work");
	grow(&before, work_fd, "", 0);
	grow(&after, want_fd, "", 0);
	list(&from, work_fd);
	list(&to, want_fd);
	list(&want, want_fd);
	if (as_user)
		cr_assert_eq(put_as_user(&from, &to), 0, "%s", what);
	else if (put_lists(&report, &from, &to) != 0)
		fail_with(&report, what);
	list(&is, work_fd);
	assert_same(&is, &want, what);
	ews_changes_between(&changes, &from, &want, is_same);
	for (size_t i = 0; i < changes.n; i++) {
		const struct ews_entry *entry = ews_entries_find(&is, changes.items[i].path);

		if (!was_written(&changes.items[i]))
			continue;
		cr_assert_eq(entry->mtime_s, changes.items[i].to->mtime_s, "%s: time of %s", what, entry->path);
		cr_assert_eq(entry->mtime_ns, changes.items[i].to->mtime_ns, "%s: time of %s", what, entry->path);
	}
	/* What did not differ was not touched; but the lister, when not root, opens up what it can't read. */
	for (size_t i = 0; i < from.n; i++) {
		const struct ews_entry *a = &from.items[i], *b = ews_entries_find(&is, a->path);
		const struct ews_entry *w = ews_entries_find(&want, a->path);

		if (a->type == EWS_ENTRY_FILE && w && ews_entry_equal(a, w) && (geteuid() == 0 || a->mode & 0400))
			cr_assert(is_untouched(a, b), "%s: %s was touched", what, a->path);
	}
	empty(work_fd);
	empty(want_fd);
}

Test(put, any_tree_turns_into_any_other)
{
	for (uint64_t seed = 1, rounds = fixture_rounds_if_fast(100); seed <= rounds; seed++)
		put_random_trees(seed, false);
}

Test(put, any_tree_turns_into_any_other_for_an_ordinary_user)
{
	for (uint64_t seed = 1001, rounds = fixture_rounds_if_fast(100); seed <= 1000 + rounds; seed++)
		put_random_trees(seed, true);
}

/* Away and back */

Test(put, away_takes_a_thing_whole_and_back_brings_it)
{
	EWS_CLEANUP(entries) struct ews_entries before = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries after = EWS_ENTRIES_INIT;

	cr_assert_eq(mkdirat(work_fd, "p", 0755), 0);
	make_kind(work_fd, "p/n", FULL_DIR);
	cr_assert_eq(fchmodat(work_fd, "p/n", 0555, 0), 0);
	cr_assert_eq(fchmodat(work_fd, "p", 0555, 0), 0);
	list(&before, work_fd);
	cr_assert_eq(ews_put_away(work_fd, "p/n", want_fd, "kept"), 0, "%s", ews_error_message());
	cr_assert_not(is_there(work_fd, "p/n"));
	assert_text(want_fd, "kept/sub/deep", "deep");
	cr_assert_eq(ews_put_away(work_fd, "p/n", want_fd, "other"), EWS_ENOTFOUND);
	cr_assert_eq(ews_put_away(work_fd, "q/n", want_fd, "other"), EWS_ENOTFOUND);
	cr_assert_eq(ews_put_away(work_fd, "p", want_fd, "kept"), EWS_EEXISTS);
	cr_assert_eq(ews_put_away(work_fd, "../outside", want_fd, "x"), EWS_EDAMAGED);
	cr_assert_eq(ews_put_back(work_fd, "q/n", want_fd, "kept"), EWS_ENOTFOUND);
	cr_assert_eq(ews_put_back(work_fd, "p", want_fd, "kept"), EWS_EEXISTS);
	cr_assert_eq(ews_put_back(work_fd, "p/n", want_fd, "kept"), 0, "%s", ews_error_message());
	list(&after, work_fd);
	assert_same(&after, &before, "back");
}

Test(put, away_and_back_work_for_an_ordinary_user)
{
	int status = 0;
	pid_t pid;

	cr_assert_eq(mkdirat(work_fd, "p", 0755), 0);
	cr_assert_eq(mkdirat(work_fd, "p/n", 0555), 0);
	if (geteuid() == 0) {
		give_away(top_fd, "work");
		give_away(top_fd, "want");
		give_away(work_fd, "p/n");
		give_away(work_fd, "p");
	}
	cr_assert_eq(fchmodat(work_fd, "p", 0, 0), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		if (geteuid() == 0)
			become_nobody();
		if (ews_put_away(work_fd, "p/n", want_fd, "kept") < 0)
			_exit(1);
		if ((look(want_fd, "kept").st_mode & 07777) != 0555 || (look(work_fd, "p").st_mode & 07777) != 0)
			_exit(2);
		if (ews_put_back(work_fd, "p/n", want_fd, "kept") < 0)
			_exit(3);
		_exit((look(work_fd, "p").st_mode & 07777) != 0 ? 4 : 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(fchmodat(work_fd, "p", 0755, 0), 0);
	cr_assert_eq(look(work_fd, "p/n").st_mode & 07777, 0555);
}
