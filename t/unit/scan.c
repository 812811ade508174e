/*
 * Scan: the parallel walk finds what one plain recursion finds, and git agrees on what is ignored.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/scan.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "fixture.h"
#include "store/batch.h"
#include "store/cache.h"
#include "store/scan_open.h"

#define NOBODY 65534
#define LARGE_BYTES (40 * 1024 * 1024)
#define ALL_KINDS \
	(FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_IGNORES | FIXTURE_NESTED | FIXTURE_MODES | FIXTURE_ODD_NAMES)

static struct ews_odb *odb;

static void set_up(void)
{
	EWS_CLEANUP(free) char *git_dir = NULL;

	fixture_begin();
	git_dir = ews_path_join(fixture_top(), "store/.git");
	fixture_shell("git init -q store");
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0, "%s", ews_error_message());
}

static void tear_down(void)
{
	ews_odb_free(odb);
	fixture_end();
}

TestSuite(scan, .init = set_up, .fini = tear_down, .timeout = 120);

static int make_dir(const char *name)
{
	cr_assert_eq(mkdir(name, 0755), 0, "%s: %s", name, strerror(errno));
	return fixture_open_dir(name);
}

/* The plain recursion: what scan's contract says, word for word, with no index of anything. */

static bool is_listed(const char *const *list, const char *path)
{
	while (list && *list)
		if (!strcmp(*list++, path))
			return true;
	return false;
}

static bool is_known(const struct ews_scan_opts *opts, const char *path, bool below_counts)
{
	for (size_t i = 0; opts->known && i < opts->known->n; i++)
		if (!strcmp(opts->known->items[i].path, path) ||
		    (below_counts && ews_path_is_inside(opts->known->items[i].path, path)))
			return true;
	for (size_t i = 0; opts->index && i < opts->index->n; i++)
		if (!strcmp(opts->index->items[i].path, path) ||
		    (below_counts && ews_path_is_inside(opts->index->items[i].path, path)))
			return true;
	return false;
}

/* Is something below `path` known, so that a nested repository is walked into all the same? */
static bool is_known_below(const struct ews_scan_opts *opts, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; opts->known && i < opts->known->n; i++)
		if (ews_path_is_inside(opts->known->items[i].path, path) && opts->known->items[i].path[len])
			return true;
	for (size_t i = 0; opts->index && i < opts->index->n; i++)
		if (ews_path_is_inside(opts->index->items[i].path, path) && opts->index->items[i].path[len])
			return true;
	return false;
}

static bool is_wanted(const struct ews_scan_opts *opts, const char *path, bool is_dir)
{
	if (!opts->only)
		return true;
	for (const char *const *x = opts->only; *x; x++)
		if (ews_path_is_inside(path, *x) || (is_dir && ews_path_is_inside(*x, path)))
			return true;
	return false;
}

static void walk(struct ews_entries *out, struct ews_skips *skips, const struct ews_scan_opts *opts, int fd,
		 const char *above, const struct ews_ignore *rules, bool in_ignored);

static bool has_name(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void walk_dir(struct ews_entries *out, struct ews_skips *skips, const struct ews_scan_opts *opts, int above_fd,
		     const char *name, const char *path, const struct ews_ignore *rules, bool is_ignored)
{
	EWS_CLEANUP(fd) int fd = openat(above_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t at = out->n - 1;

	cr_assert_geq(fd, 0, "%s", path);
	if (has_name(fd, ".git/HEAD") && !is_known_below(opts, path)) {
		out->items[at].type = EWS_ENTRY_GITLINK;
		ews_skips_add(skips, path, EWS_SKIP_REPOSITORY, 0);
	} else {
		walk(out, skips, opts, fd, path, rules, is_ignored);
	}
	/* A directory on the way to what is wanted counts only when something of it is there. */
	for (const char *const *x = opts->only; x && *x; x++)
		if (ews_path_is_inside(path, *x))
			return;
	if (opts->only && out->n == at + 1)
		out->n--;
}

/* By the rules, or because a directory above it is. */
static bool is_excluded(const struct ews_ignore *rules, const char *path, bool is_dir)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(path);

	if (!rules)
		return false;
	return ews_ignore_match(rules, path, is_dir) || (*above && is_excluded(rules, above, true));
}

static void take(struct ews_entries *out, struct ews_skips *skips, const struct ews_scan_opts *opts, int fd,
		 const char *name, const char *path, const struct ews_ignore *rules, bool in_ignored)
{
	bool is_ignored = in_ignored, is_dir;
	struct stat st;

	cr_assert_eq(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	is_dir = S_ISDIR(st.st_mode);
	if (is_listed(opts->own, path)) {
		ews_skips_add(skips, path, EWS_SKIP_OWN, 0);
		return;
	}
	if (!is_wanted(opts, path, is_dir))
		return;
	if (is_excluded(opts->exclude, path, is_dir) && !(opts->known && ews_entries_find(opts->known, path))) {
		ews_skips_add(skips, path, EWS_SKIP_EXCLUDED, is_dir ? 0 : (uint64_t)st.st_size);
		return;
	}
	if (!opts->with_ignored && opts->ignore)
		is_ignored = is_ignored || ews_ignore_match(rules, path, is_dir);
	if (is_ignored && !is_known(opts, path, is_dir)) {
		ews_skips_add(skips, path, EWS_SKIP_IGNORED, is_dir ? 0 : (uint64_t)st.st_size);
		return;
	}
	if (S_ISREG(st.st_mode) && opts->max_file_bytes && (uint64_t)st.st_size > opts->max_file_bytes) {
		ews_skips_add(skips, path, EWS_SKIP_TOO_LARGE, (uint64_t)st.st_size);
		return;
	}
	if (S_ISSOCK(st.st_mode)) {
		ews_skips_add(skips, path, EWS_SKIP_SOCKET, 0);
		return;
	}
	ews_entry_set_stat(ews_entries_add(out, path, strlen(path)), &st);
	if (is_dir)
		walk_dir(out, skips, opts, fd, name, path, rules, is_ignored);
}

static void walk(struct ews_entries *out, struct ews_skips *skips, const struct ews_scan_opts *opts, int fd,
		 const char *above, const struct ews_ignore *rules, bool in_ignored)
{
	EWS_CLEANUP(ignore) struct ews_ignore *own = NULL;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *found;

	cr_assert(dir);
	if (opts->ignore && opts->read_gitignore && ews_file_read(&text, fd, ".gitignore", EWS_MIB) == 0)
		rules = own = ews_ignore_enter(rules, above, text.ptr, text.len);
	while ((found = readdir(dir))) {
		EWS_CLEANUP(free) char *path = ews_path_join(above, found->d_name);

		if (!strcmp(found->d_name, ".") || !strcmp(found->d_name, ".."))
			continue;
		if (strcmp(found->d_name, ".git"))
			take(out, skips, opts, fd, found->d_name, path, rules, in_ignored);
		else if (*above)
			ews_skips_add(skips, path,
				      has_name(fd, ".git/HEAD") ? EWS_SKIP_REPOSITORY : EWS_SKIP_HOLLOW, 0);
	}
	closedir(dir);
}

static bool has_same_stat(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->type == b->type && a->mode == b->mode && a->size == b->size && a->ino == b->ino &&
	       a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static void assert_same_skips(const struct ews_skips *is, const struct ews_skips *should)
{
	for (size_t i = 0; i < is->n && i < should->n; i++) {
		cr_assert_str_eq(is->items[i].path, should->items[i].path,
				 "EWS_SEED=%zu: '%s' is %s, should be '%s' %s", fixture_seed(), is->items[i].path,
				 ews_skip_word(is->items[i].reason), should->items[i].path,
				 ews_skip_word(should->items[i].reason));
		cr_assert_eq(is->items[i].reason, should->items[i].reason, "EWS_SEED=%zu: '%s' is %s",
			     fixture_seed(), is->items[i].path, ews_skip_word(is->items[i].reason));
		cr_assert_eq(is->items[i].size, should->items[i].size);
	}
	cr_assert_eq(is->n, should->n, "EWS_SEED=%zu", fixture_seed());
}

static void compare_with_recursion(const struct ews_scan_opts *opts)
{
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	EWS_CLEANUP(entries) struct ews_entries should = EWS_ENTRIES_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
	uint64_t bytes = 0;

	cr_assert_eq(ews_scan(&scan, opts), 0, "%s", ews_error_message());
	walk(&should, &skips, opts, opts->root_fd, "", opts->ignore, false);
	ews_entries_sort(&should);
	ews_skips_sort(&skips);
	fixture_assert_same(&scan.entries, &should, has_same_stat, "scan");
	assert_same_skips(&scan.skips, &skips);
	for (size_t i = 0; i < scan.entries.n; i++) {
		cr_assert(i == 0 || ews_path_cmp(scan.entries.items[i - 1].path, scan.entries.items[i].path) < 0);
		bytes += scan.entries.items[i].size;
	}
	cr_assert_eq(scan.size_bytes, bytes);
}

/* Some of what is there, directories with what is above them, as a list that has been scanned once. */
static void choose_known(struct ews_entries *out, const struct ews_entries *all)
{
	for (size_t i = all->n; i-- > 0;) {
		const struct ews_entry *last = out->n ? &out->items[out->n - 1] : NULL;

		if (!fixture_pick(6) || (last && ews_path_is_inside(last->path, all->items[i].path)))
			ews_entries_add_copy(out, &all->items[i]);
	}
	ews_entries_sort(out);
}

static void choose_paths(struct ews_strv *out, const struct ews_entries *all, size_t max)
{
	for (size_t n = fixture_pick(max + 1); n && all->n; n--)
		ews_strv_add(out, all->items[fixture_pick(all->n)].path);
}

Test(scan, it_finds_what_a_plain_recursion_finds)
{
	for (size_t round = 0; round < fixture_rounds(40); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("w%zu", round);
		EWS_CLEANUP(fd) int fd = make_dir(name);
		EWS_CLEANUP(ignore) struct ews_ignore *ignore = ews_ignore_new("*.o\n", 4, "d.d/\n", 5, false);
		EWS_CLEANUP(entries) struct ews_entries all = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries known = EWS_ENTRIES_INIT;
		EWS_CLEANUP(ignore)
		struct ews_ignore *exclude = ews_ignore_new("*.c\n/a*/\n!a.c\n", 14, NULL, 0, false);
		EWS_CLEANUP(strv) struct ews_strv own = EWS_STRV_INIT;
		EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
		struct ews_scan_opts opts = { .root_fd = fd };

		fixture_make_tree(fd, ALL_KINDS & ~(unsigned)FIXTURE_ATTRS);
		fixture_list_tree(&all, fd, false);
		choose_known(&known, &all);
		choose_paths(&own, &all, 2);
		choose_paths(&only, &all, 3);
		for (size_t i = 0; i < 8; i++) {
			opts.ignore = fixture_pick(4) ? ignore : NULL;
			opts.read_gitignore = fixture_pick(4);
			opts.with_ignored = !fixture_pick(4);
			opts.known = fixture_pick(2) ? &known : NULL;
			opts.own = fixture_pick(2) ? (const char *const *)own.items : NULL;
			opts.exclude = fixture_pick(2) ? exclude : NULL;
			opts.only = fixture_pick(3) ? NULL : (const char *const *)only.items;
			opts.max_file_bytes = fixture_pick(3) ? 0 : 30;
			opts.threads = (unsigned)fixture_pick(9);
			compare_with_recursion(&opts);
		}
	}
}

/* NUL-ended paths that git prints, sorted; those of nested repositories without their slash. */
static void ask_paths(struct ews_strv *out, const char *dir, const char *command)
{
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;

	fixture_ask(&answer, "cd '%s' && %s", dir, command);
	for (size_t at = 0; at < answer.len; at += strlen(answer.ptr + at) + 1) {
		size_t len = strlen(answer.ptr + at);

		ews_strv_add_len(out, answer.ptr + at, answer.ptr[at + len - 1] == '/' ? len - 1 : len);
	}
	ews_strv_unique(out);
}

static void compare_paths(const struct ews_strv *is, const struct ews_strv *should, const char *what)
{
	for (size_t i = 0; i < is->n || i < should->n; i++)
		cr_assert_str_eq(i < is->n ? is->items[i] : "", i < should->n ? should->items[i] : "",
				 "EWS_SEED=%zu: %s: '%s' should be '%s'", fixture_seed(), what,
				 i < is->n ? is->items[i] : "", i < should->n ? should->items[i] : "");
}

/* Is `path`, or a directory above it, in the list? */
static bool is_listed_above(const struct ews_strv *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (ews_path_is_inside(path, list->items[i]))
			return true;
	return false;
}

/* Compare with git: files that are tracked or not ignored, and what is ignored. */
static void compare_with_git(const char *dir, int fd)
{
	EWS_CLEANUP(ignore) struct ews_ignore *ignore = ews_ignore_new("*.o\n", 4, "x y\n", 4, false);
	EWS_CLEANUP(fd) int git_fd = openat(fd, ".git", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv ignored = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv gits = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv gits_ignored = EWS_STRV_INIT;
	struct ews_scan_opts opts = { .root_fd = fd, .ignore = ignore, .read_gitignore = true, .index = &index };

	cr_assert_eq(ews_index_read(&index, git_fd, "index", EWS_SHA1), 0, "%s", ews_error_message());
	cr_assert_eq(ews_scan(&scan, &opts), 0, "%s", ews_error_message());
	for (size_t i = 0; i < scan.entries.n; i++)
		if (scan.entries.items[i].type == EWS_ENTRY_FILE || scan.entries.items[i].type == EWS_ENTRY_LINK)
			ews_strv_add(&files, scan.entries.items[i].path);
	for (size_t i = 0; i < scan.skips.n; i++)
		if (scan.skips.items[i].reason == EWS_SKIP_IGNORED)
			ews_strv_add(&ignored, scan.skips.items[i].path);
	ews_strv_sort(&files);
	ews_strv_sort(&ignored);
	ask_paths(&gits, dir, "git ls-files -coz --exclude-standard");
	compare_paths(&files, &gits, "files");
	/* Below an ignored directory that holds something tracked, git asks of each path again. */
	if (index.n)
		return;
	ask_paths(&gits_ignored, dir, "git status --porcelain --ignored -z | sed -zn 's/^!! //p'");
	/* Git speaks of no directory without a file in it. */
	for (size_t i = 0; i < ignored.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf found = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

		if (is_listed_above(&gits_ignored, ignored.items[i]))
			continue;
		for (const char *c = ignored.items[i]; *c; c++)
			ews_buf_addf(&quoted, *c == '\'' ? "'\\''" : "%c", *c);
		fixture_ask(&found, "find ./'%s/%s' -type f -o -type l", dir, quoted.ptr);
		cr_assert_eq(found.len, 0, "EWS_SEED=%zu: '%s' is not ignored by git", fixture_seed(),
			     ignored.items[i]);
	}
	for (size_t i = 0; i < gits_ignored.n; i++) {
		/* A directory of nothing but ignored files is one name to git, and several here. */
		bool is_covered = ews_skips_covering(&scan.skips, gits_ignored.items[i]);

		for (size_t k = 0; k < ignored.n && !is_covered; k++)
			is_covered = ews_path_is_inside(ignored.items[k], gits_ignored.items[i]);
		cr_assert(is_covered, "EWS_SEED=%zu: '%s' is ignored by git", fixture_seed(), gits_ignored.items[i]);
	}
}

Test(scan, git_calls_the_same_files_ignored)
{
	fixture_shell("printf '[core]\\n\\texcludesFile = %s/excludes\\n' >gitconfig && echo '*.o' >excludes",
		      fixture_top());
	setenv("GIT_CONFIG_GLOBAL", "gitconfig", 1);
	fixture_shell("cp gitconfig .gitconfig");
	unsetenv("GIT_CONFIG_GLOBAL");
	for (size_t round = 0; round < fixture_rounds(8); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("w%zu", round);
		EWS_CLEANUP(fd) int fd = make_dir(name);

		fixture_make_tree(fd, FIXTURE_IGNORES);
		fixture_shell("cd %s && git init -q && echo 'x y' >.git/info/exclude && mkdir -p n/r && git init -q n/r &&"
			      "touch n/r/f n/g",
			      name);
		fixture_shell("cd %s && git -C n/r add f && git -C n/r commit -q -m 1", name);
		fixture_shell("rm -rf %s/n", name);
		compare_with_git(name, fd);
		/* Every third path becomes tracked, ignored or not. */
		fixture_shell("cd %s && find . -name .git -prune -o \\( -type f -o -type l \\) -print0 | sort -z |"
			      "sed -zn '1~3p' | xargs -0r git add -f --",
			      name);
		compare_with_git(name, fd);
	}
}

static void fill(struct ews_scan *scan, const struct ews_entries *cache, const struct ews_index *hint)
{
	struct ews_scan_fill_opts opts = {
		.odb = odb, .cache = cache, .hint = hint, .threads = (unsigned)fixture_pick(5)
	};

	cr_assert_eq(ews_scan_fill(scan, &opts), 0, "%s", ews_error_message());
}

static void scan_all(struct ews_scan *out, int fd)
{
	const struct ews_scan_opts opts = { .root_fd = fd, .threads = (unsigned)fixture_pick(5) };

	cr_assert_eq(ews_scan(out, &opts), 0, "%s", ews_error_message());
}

/* Sockets are named, but no entries. */
static void drop_sockets(struct ews_entries *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].type != EWS_ENTRY_SOCKET)
			list->items[kept++] = list->items[i];
	list->n = kept;
}

static void assert_filled(const struct ews_scan *scan, int fd, const char *what)
{
	EWS_CLEANUP(entries) struct ews_entries should = EWS_ENTRIES_INIT;

	fixture_list_tree(&should, fd, true);
	drop_sockets(&should);
	fixture_assert_same(&scan->entries, &should, ews_entry_equal, what);
}

/* Write what was found into a cache, and read that. */
static void keep(struct ews_cache *cache, const struct ews_scan *scan)
{
	const struct ews_cache found = { .entries = scan->entries, .skips = EWS_SKIPS_INIT, .extra = EWS_BUF_INIT };

	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &found, scan->started_s, scan->started_ns, false), 0);
	cr_assert_eq(ews_cache_read(cache, AT_FDCWD, "cache"), 0);
}

/* Is a file of 4,000,000 bytes racy, or one of one byte, that changed so long before the scan that reads it began? */
static bool is_racy(int fd, bool is_large, int64_t age_ms, bool doubts_late)
{
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	const struct ews_scan_fill_opts opts = { .odb = odb, .doubts_late = doubts_late };
	const struct ews_entry *entry;
	int64_t started_ns;

	fixture_shell("truncate -s %d late/file", is_large ? 4000000 : 1);
	scan_all(&scan, fd);
	cr_assert_eq(scan.entries.n, 1);
	entry = scan.entries.items;
	started_ns = entry->ctime_ns + age_ms * 1000000;
	scan.started_s = entry->ctime_s + started_ns / 1000000000;
	scan.started_ns = (uint32_t)(started_ns % 1000000000);
	cr_assert_eq(ews_scan_fill(&scan, &opts), 0, "%s", ews_error_message());
	return entry->is_racy;
}

Test(scan, what_a_long_write_may_still_change_is_racy)
{
	EWS_CLEANUP(fd) int fd = make_dir("late");

	cr_assert(is_racy(fd, false, 10, true));
	cr_assert_not(is_racy(fd, false, 21, true));
	cr_assert(is_racy(fd, true, 10, true));
	cr_assert(is_racy(fd, true, 419, true));
	cr_assert_not(is_racy(fd, true, 421, true));
	cr_assert_not(is_racy(fd, true, 10, false));
}

Test(scan, contents_are_right_with_and_without_a_cache)
{
	EWS_CLEANUP(fd) int fd = make_dir("w");

	fixture_make_tree(fd, ALL_KINDS);
	for (size_t round = 0; round < fixture_rounds(40); round++) {
		EWS_CLEANUP(scan) struct ews_scan first = EWS_SCAN_INIT;
		EWS_CLEANUP(scan) struct ews_scan second = EWS_SCAN_INIT;
		EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;

		scan_all(&first, fd);
		fill(&first, NULL, NULL);
		assert_filled(&first, fd, "without a cache");
		keep(&cache, &first);
		fixture_edit_tree(fd, ALL_KINDS);
		scan_all(&second, fd);
		fill(&second, &cache.entries, NULL);
		assert_filled(&second, fd, "with a cache");
	}
}

Test(scan, what_did_not_change_is_not_read_again)
{
	EWS_CLEANUP(fd) int fd = make_dir("w");
	EWS_CLEANUP(scan) struct ews_scan first = EWS_SCAN_INIT;
	EWS_CLEANUP(scan) struct ews_scan second = EWS_SCAN_INIT;
	EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;

	fixture_make_tree(fd, ALL_KINDS & ~(unsigned)FIXTURE_NESTED);
	/* Until nothing is racy any more. */
	usleep(60000);
	scan_all(&first, fd);
	fill(&first, NULL, NULL);
	cr_assert_gt(first.n_read, 0);
	keep(&cache, &first);
	scan_all(&second, fd);
	fill(&second, &cache.entries, NULL);
	cr_assert_eq(second.n_read, 0);
	assert_filled(&second, fd, "all from the cache");
}

struct heard {
	size_t within; /* calls between one file's beginning and its end */
	uint64_t bytes; /* as the last one said */
	bool is_done;
};

static void hear(void *payload, size_t done, size_t total, uint64_t bytes)
{
	struct heard *heard = payload;

	cr_assert_eq(total, 2);
	cr_assert_geq(bytes, heard->bytes);
	heard->within += done < total && bytes % LARGE_BYTES != 0;
	heard->bytes = bytes;
	heard->is_done = done == total;
}

/* Of one large file it is told while it is read; once into the store, which is twice, and once for its id alone. */
Test(scan, of_a_large_file_it_is_told_how_far_that_has_come)
{
	EWS_CLEANUP(fd) int fd = make_dir("w");

	fixture_shell("head -c %d /dev/zero >w/a && cp w/a w/b && printf x | dd of=w/b conv=notrunc status=none",
		      LARGE_BYTES);
	for (int with_batch = 0; with_batch < 2; with_batch++) {
		EWS_CLEANUP(batch) struct ews_batch *batch = with_batch ? ews_batch_new(odb) : NULL;
		EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
		struct heard heard = { 0, 0, false };
		const struct ews_scan_fill_opts opts = {
			.odb = odb, .batch = batch, .threads = 2, .progress = hear, .payload = &heard
		};

		scan_all(&scan, fd);
		cr_assert_eq(ews_scan_fill(&scan, &opts), 0, "%s", ews_error_message());
		cr_expect_gt(heard.within, 0);
		cr_expect(heard.is_done);
		cr_expect_eq(heard.bytes, (with_batch ? 4 : 2) * (uint64_t)LARGE_BYTES);
	}
}

Test(scan, ids_from_gits_index_are_those_of_the_raw_bytes)
{
	static const char *const attributes[] = { "* text=auto",
						  "*.c ident",
						  "*.c filter=up",
						  "* -text",
						  "* eol=crlf",
						  "*.c text eol=lf",
						  "a working-tree-encoding=UTF-16LE",
						  "*.o binary",
						  "[attr]m filter=up\n* m" };

	fixture_shell(
		"git config -f .gitconfig filter.up.clean 'tr a-z A-Z' && git config -f .gitconfig core.safecrlf false");
	unsetenv("GIT_CONFIG_GLOBAL");
	for (size_t round = 0; round < fixture_rounds(8); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("w%zu", round);
		EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/%s/.git", fixture_top(), name);
		EWS_CLEANUP(fd) int fd = make_dir(name);
		EWS_CLEANUP(fd) int git_fd = -1;
		EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
		EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
		struct ews_scan_fill_opts opts = { .hint = &index };
		struct ews_odb *own = NULL;

		fixture_make_tree(fd, 0);
		fixture_shell("cd %s && rm -rf a && printf 'a\\0b\\0' >a && printf 'x\\r\\ny\\r\\n' >crlf.c &&"
			      "printf '$Id$\\n$Id: 12 $\\n' >id.c && git init -q && git config core.autocrlf %s",
			      name, fixture_pick(2) ? "true" : "false");
		if (fixture_pick(3))
			fixture_shell("cd %s && printf '%s\\n' >%s", name, FIXTURE_ONE_OF(attributes),
				      fixture_pick(2) ? ".gitattributes" : ".git/info/attributes");
		/* Older than the index, so that their stat data counts. */
		fixture_shell("cd %s && find . -name .git -prune -o -type f -print0 | xargs -0r touch -d '1 hour ago' &&"
			      "git add . 2>/dev/null; sleep 0.01; git update-index -q --refresh || true",
			      name);
		cr_assert_eq(ews_odb_open(&own, git_dir, fixture_top()), 0, "%s", ews_error_message());
		git_fd = fixture_open_dir(git_dir);
		cr_assert_eq(ews_index_read(&index, git_fd, "index", EWS_SHA1), 0);
		scan_all(&scan, fd);
		opts.odb = own;
		cr_assert_eq(ews_scan_fill(&scan, &opts), 0, "%s", ews_error_message());
		assert_filled(&scan, fd, name);
		ews_odb_free(own);
	}
}

/* Of a child nobody hears an assertion: it says why on stderr, and ends. */
#define CHILD_ASSERT(condition)                                                                            \
	do {                                                                                               \
		if (condition)                                                                             \
			break;                                                                             \
		fprintf(stderr, "scan.c:%d: not so: %s: %s\n", __LINE__, #condition, ews_error_message()); \
		_exit(1);                                                                                  \
	} while (0)

/* Run `check` as an ordinary user, in a child. */
static void as_user(void (*check)(int fd), int fd)
{
	int status;
	pid_t pid;

	if (geteuid() == 0)
		fixture_shell("chown -R %d:%d w", NOBODY, NOBODY);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		CHILD_ASSERT(geteuid() != 0 || (!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY)));
		check(fd);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

static const struct closed {
	const char *path;
	mode_t mode;
} closed[] = { { "w/none", 0 },     { "w/none/in", 0 },   { "w/list", 0444 }, { "w/search", 0111 },
	       { "w/write", 0222 }, { "w/none/in/f", 0 }, { "w/list/f", 0 },  { "w/fine", 0700 } };

#define N_CLOSED (sizeof(closed) / sizeof(*closed))

/* Deepest last; closed from the end. */
static void make_closed(void)
{
	fixture_shell(
		"mkdir -p w/none/in w/list w/search w/write w/fine && echo 1 >w/none/in/f && echo 2 >w/list/f &&"
		"echo 3 >w/search/f && echo 4 >w/write/f && echo 5 >w/fine/f && chmod 0 w/none/in/f w/list/f &&"
		"chmod 700 w/fine && chmod 111 w/search && chmod 222 w/write && chmod 444 w/list && chmod 0 w/none/in && chmod 0 w/none");
}

static void check_named(int fd)
{
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	const struct ews_scan_opts opts = { .root_fd = fd };

	CHILD_ASSERT(ews_scan(&scan, &opts) == 0);
	CHILD_ASSERT(scan.skips.n == 4);
	for (size_t i = 0; i < scan.skips.n; i++)
		CHILD_ASSERT(scan.skips.items[i].reason == EWS_SKIP_UNREADABLE);
	CHILD_ASSERT(scan.entries.n == 2);
	CHILD_ASSERT(!strcmp(scan.entries.items[1].path, "fine/f"));
}

Test(scan, what_may_not_be_read_is_named)
{
	make_closed();
	EWS_CLEANUP(fd) int fd = fixture_open_dir("w");

	as_user(check_named, fd);
}

static void check_opened_up(int fd)
{
	struct ews_scan scan = EWS_SCAN_INIT;
	const struct ews_scan_opts opts = { .root_fd = fd, .may_chmod = true };
	const struct ews_scan_fill_opts fill_opts = { .odb = odb, .may_chmod = true };

	CHILD_ASSERT(ews_scan(&scan, &opts) == 0);
	CHILD_ASSERT(ews_scan_fill(&scan, &fill_opts) == 0);
	CHILD_ASSERT(scan.skips.n == 0);
	CHILD_ASSERT(scan.entries.n == 11);
	for (size_t i = 0; i < N_CLOSED; i++) {
		const struct ews_entry *entry = ews_entries_find(&scan.entries, closed[i].path + 2);

		CHILD_ASSERT(entry);
		CHILD_ASSERT(entry->mode == closed[i].mode);
		CHILD_ASSERT(entry->type == EWS_ENTRY_DIR || !ews_oid_is_none(&entry->oid));
	}
	ews_scan_release(&scan);
}

Test(scan, what_is_ours_is_opened_up_and_closed_again)
{
	make_closed();
	EWS_CLEANUP(fd) int fd = fixture_open_dir("w");

	as_user(check_opened_up, fd);
	for (size_t i = 0; i < N_CLOSED; i++) {
		struct stat st;

		if (geteuid() != 0 && strchr(closed[i].path + 2, '/'))
			continue;
		cr_assert_eq(lstat(closed[i].path, &st), 0, "%s", closed[i].path);
		cr_assert_eq(st.st_mode & 07777, closed[i].mode, "%s", closed[i].path);
	}
}

/* Directories in one another, `depth` of them, each called `name`, and a file at the end. */
static void make_deep(int fd, const char *name, size_t depth)
{
	int at = dup(fd);

	while (depth--) {
		int next;

		cr_assert_eq(mkdirat(at, name, 0755), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert_geq(next, 0);
		close(at);
		at = next;
	}
	fixture_write(at, "end", "x", 1);
	close(at);
}

Test(scan, paths_longer_than_the_kernel_takes_are_found_and_read)
{
	EWS_CLEANUP(fd) int fd = make_dir("w");
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	char name[201];

	memset(name, 'd', 200);
	name[200] = '\0';
	make_deep(fd, name, 60);
	scan_all(&scan, fd);
	fill(&scan, NULL, NULL);
	cr_assert_eq(scan.entries.n, 61);
	cr_assert_eq(scan.skips.n, 0);
	cr_assert_eq(strlen(scan.entries.items[60].path), 60 * 201 + 3);
	cr_assert_not(ews_oid_is_none(&scan.entries.items[60].oid));
}

Test(scan, a_tree_without_end_is_cut_and_named)
{
	EWS_CLEANUP(fd) int fd = make_dir("w");
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	char name[201];

	memset(name, 'd', 200);
	name[200] = '\0';
	make_deep(fd, name, 400);
	scan_all(&scan, fd);
	cr_assert_eq(scan.skips.n, 1);
	cr_assert_eq(scan.skips.items[0].reason, EWS_SKIP_TOO_DEEP);
	cr_assert_eq(scan.entries.n, 65536 / 201);
}

Test(scan, a_directory_that_became_a_link_leads_nowhere)
{
	EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;
	EWS_CLEANUP(fd) int fd = make_dir("w");

	fixture_shell("mkdir outside w/d && echo secret >outside/f && echo x >w/d/f");
	scan_all(&scan, fd);
	fixture_shell("rm -r w/d && ln -s ../outside w/d");
	fill(&scan, NULL, NULL);
	for (size_t i = 0; i < scan.entries.n; i++)
		cr_assert_str_neq(scan.entries.items[i].path, "d/f");
}

Test(scan, a_file_that_grows_while_it_is_read_is_read_again_or_named)
{
	EWS_CLEANUP(fd) int fd = make_dir("w");
	pid_t pid;
	int status;

	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		EWS_CLEANUP(fd) int file = openat(fd, "f", O_WRONLY | O_CREAT | O_APPEND, 0644);

		for (size_t i = 0; i < 20000; i++)
			if (write(file, "0123456789abcdef", 16) != 16)
				_exit(1);
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		EWS_CLEANUP(scan) struct ews_scan scan = EWS_SCAN_INIT;

		scan_all(&scan, fd);
		fill(&scan, NULL, NULL);
		for (size_t i = 0; i < scan.entries.n; i++) {
			struct ews_oid oid;
			EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

			while (text.len < scan.entries.items[i].size)
				ews_buf_adds(&text, "0123456789abcdef");
			ews_odb_hash(&oid, odb, EWS_OBJECT_BLOB, text.ptr, text.len);
			cr_assert(ews_oid_equal(&oid, &scan.entries.items[i].oid));
		}
		cr_assert(scan.entries.n == 1 ||
			  (scan.skips.n == 1 && scan.skips.items[0].reason == EWS_SKIP_CHANGING) ||
			  scan.entries.n + scan.skips.n == 0);
	}
	cr_assert_eq(status, 0);
}

Test(scan, skips_cover_what_is_below_them)
{
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;

	cr_assert_null(ews_skips_covering(&skips, "a"));
	ews_skips_add(&skips, "b", EWS_SKIP_IGNORED, 0);
	ews_skips_add(&skips, "a/b", EWS_SKIP_SOCKET, 0);
	ews_skips_sort(&skips);
	cr_assert_null(ews_skips_covering(&skips, "a"));
	cr_assert_null(ews_skips_covering(&skips, "a/bc"));
	cr_assert_null(ews_skips_covering(&skips, "b.c"));
	cr_assert_eq(ews_skips_covering(&skips, "b/c/d")->reason, EWS_SKIP_IGNORED);
	cr_assert_eq(ews_skips_covering(&skips, "a/b")->reason, EWS_SKIP_SOCKET);
	for (int reason = EWS_SKIP_IGNORED; reason <= EWS_SKIP_CHANGING; reason++)
		cr_assert_eq((int)ews_skip_from_word(ews_skip_word(reason)), reason);
	cr_assert_eq(ews_skip_from_word("none"), 0);
}

Test(scan, what_failed_is_known_after_directories_were_closed)
{
	EWS_CLEANUP(strv) struct ews_strv opened = EWS_STRV_INIT;

	ews_strv_add(&opened, "755 gone");
	ews_error(EWS_EDAMAGED, "the reason");
	ews_scan_close_dirs(&opened, AT_FDCWD, false);
	cr_assert_eq(opened.n, 0);
	cr_assert_eq(ews_error_code(), EWS_EDAMAGED);
	cr_assert_str_eq(ews_error_message(), "the reason");
}
