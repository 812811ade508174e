/*
 * Recheck: what it calls unchanged a scan finds unchanged, and what nobody touched is that.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/recheck.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "fixture.h"

#define ALL_KINDS \
	(FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_IGNORES | FIXTURE_NESTED | FIXTURE_MODES | FIXTURE_ODD_NAMES)
#define NOT_RACY_US 30000 /* as cache.c has it, and a tick of the clock */
#define ROUNDS 12

TestSuite(recheck, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static void scan(struct ews_scan *out, int fd)
{
	static const char rules[] = "*.o\nb*\n!bb\na/\n";
	EWS_CLEANUP(ignore) struct ews_ignore *ignore = ews_ignore_new(rules, strlen(rules), NULL, 0, false);
	const struct ews_scan_opts opts = { .root_fd = fd, .ignore = ignore, .read_gitignore = true };

	cr_assert_eq(ews_scan(out, &opts), 0);
}

/* What a scan finds, as a whole cache. */
static bool remember(struct ews_cache *out, int fd, struct ews_odb *odb)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;

	usleep(NOT_RACY_US);
	scan(&found, fd);
	if (odb)
		cr_assert_eq(ews_scan_fill(&found, &(struct ews_scan_fill_opts){ .odb = odb }), 0);
	if (!fixture_write_cache("cache", &found))
		return false;
	cr_assert_eq(ews_cache_read(out, AT_FDCWD, "cache"), 0);
	cr_assert(out->is_whole);
	return true;
}

static bool is_identical(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->type == b->type && a->mode == b->mode && a->size == b->size && a->mtime_s == b->mtime_s &&
	       a->mtime_ns == b->mtime_ns && a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns &&
	       a->ino == b->ino && a->uid == b->uid && a->n_links == b->n_links && ews_oid_equal(&a->oid, &b->oid) &&
	       !a->xattrs == !b->xattrs && (!a->xattrs || !strcmp(a->xattrs, b->xattrs));
}

static enum ews_recheck look(struct ews_cache *cache, int fd, unsigned threads)
{
	const struct ews_recheck_opts opts = { .root_fd = fd, .threads = threads };

	return ews_recheck(cache, &opts);
}

/* What was touched is read again; then it must be what a scan finds and reads. */
static void assert_found_again(struct ews_cache *cache, int fd, struct ews_odb *odb)
{
	EWS_CLEANUP(scan) struct ews_scan now = EWS_SCAN_INIT;
	struct ews_scan again = { .entries = cache->entries, .skips = cache->skips, .root_fd = fd };

	cr_assert_eq(ews_scan_fill(&again, &(struct ews_scan_fill_opts){ .odb = odb, .racy_only = true }), 0);
	cache->entries = again.entries;
	cache->skips = again.skips;

	scan(&now, fd);
	cr_assert_eq(ews_scan_fill(&now, &(struct ews_scan_fill_opts){ .odb = odb }), 0);
	fixture_assert_same(&now.entries, &cache->entries, is_identical, "rechecked");
	cr_assert_eq(now.skips.n, cache->skips.n);
	for (size_t i = 0; i < now.skips.n; i++) {
		cr_assert_str_eq(now.skips.items[i].path, cache->skips.items[i].path);
		cr_assert_eq(now.skips.items[i].reason, cache->skips.items[i].reason);
		cr_assert_eq(now.skips.items[i].size, cache->skips.items[i].size);
	}
}

/* Something else, or nothing, stands where one that was left out stood. */
static void replace_left_out(int fd, const struct ews_skips *skips)
{
	static const mode_t kinds[] = { S_IFREG, S_IFREG, S_IFIFO, S_IFSOCK };
	const char *path = skips->items[fixture_pick(skips->n)].path;
	size_t kind = fixture_pick(6);

	/* A directory that is closed keeps it, and one that is gone by now takes nothing. */
	if (ews_file_remove_tree(fd, path) < 0)
		ews_error_clear();
	else if (kind < 4)
		(void)mknodat(fd, path, kinds[kind] | 0644, 0);
	else if (kind == 4)
		(void)mkdirat(fd, path, 0755);
}

Test(recheck, what_it_calls_unchanged_or_touched_a_scan_finds_so)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_small_project("project");
	size_t rounds = fixture_rounds_if_fast(ROUNDS);
	size_t n_other = 0, n_touched = 0;

	for (size_t round = 0; round < rounds; round++) {
		EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
		EWS_CLEANUP(free) char *name = ews_strfmt("w%zu", round);
		EWS_CLEANUP(fd) int fd = -1;

		cr_assert_eq(mkdir(name, 0755), 0);
		fd = fixture_open_dir(name);
		fixture_make_tree(fd, ALL_KINDS);
		if (!remember(&cache, fd, repo->odb))
			continue;
		cr_assert_eq(look(&cache, fd, 1), EWS_RECHECK_SAME, "EWS_SEED=%zu: nobody touched it",
			     fixture_seed());
		cr_assert_eq(look(&cache, fd, 4), EWS_RECHECK_SAME);
		for (size_t edit = 0; edit < 4; edit++) {
			enum ews_recheck found;

			if (cache.skips.n && fixture_pick(2))
				replace_left_out(fd, &cache.skips);
			else if (fixture_pick(2))
				fixture_edit_tree(fd, ALL_KINDS);
			else
				fixture_shell("cd %s && find . -type f -size +0 | sed -n '%zup' | while read -r f; do "
					      "{ echo more >>\"$f\"; } 2>/dev/null || :; done",
					      name, 1 + fixture_pick(9));
			found = look(&cache, fd, 1 + (unsigned)fixture_pick(4));
			if (found != EWS_RECHECK_OTHER)
				assert_found_again(&cache, fd, repo->odb);
			n_touched += found == EWS_RECHECK_TOUCHED;
			n_other += found == EWS_RECHECK_OTHER;
		}
	}
	/* A few rounds need not meet both. */
	cr_assert(rounds < ROUNDS || (n_other && n_touched), "%zu and %zu", n_other, n_touched);
}

/* Each alone, which a directory's times or a rule of its own may hide. */
Test(recheck, each_kind_of_change_is_seen)
{
	static const struct {
		const char *script;
		enum ews_recheck answer;
	} changes[] = {
		{ "printf X | dd of=w/d/f bs=1 conv=notrunc 2>/dev/null",
		  EWS_RECHECK_TOUCHED }, /* content, the size stays */
		{ "cp -p w/d/f keep && printf X >w/d/f && cp -p keep w/d/f && touch -r keep w/d/f",
		  EWS_RECHECK_TOUCHED }, /* put back, but for its ctime */
		{ "chmod 600 w/d/f", EWS_RECHECK_TOUCHED },
		{ "touch w/new", EWS_RECHECK_OTHER },
		{ "rm w/d/g", EWS_RECHECK_OTHER },
		{ "mkdir w/d/e", EWS_RECHECK_OTHER },
		{ "chmod 700 w/d", EWS_RECHECK_TOUCHED },
		{ "mv w/d w/e && mkdir w/d && mv w/e/* w/d/ && rmdir w/e", EWS_RECHECK_TOUCHED },
		{ "ln -sfn x w/l", EWS_RECHECK_TOUCHED },
		{ "ln w/d/f outside", EWS_RECHECK_TOUCHED },
		{ "echo '!x.o' >>w/.gitignore", EWS_RECHECK_OTHER },
		{ "echo longer >>w/x.o", EWS_RECHECK_OTHER },
		{ "chmod 750 w", EWS_RECHECK_TOUCHED },
		{ "rm w/x.o", EWS_RECHECK_OTHER },
		{ "cp w/d/f n && mv n w/d/f", EWS_RECHECK_TOUCHED }, /* as an editor does it */
		{ "rm w/d/f && mkdir w/d/f", EWS_RECHECK_OTHER },
		{ "touch w/d/.gitignore", EWS_RECHECK_OTHER },
		{ "mkdir w/d/.git && touch w/d/.git/HEAD", EWS_RECHECK_OTHER },
		{ "mv w/d/f w/d/h && mv w/d/g w/d/f && mv w/d/h w/d/g", EWS_RECHECK_TOUCHED },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
		EWS_CLEANUP(fd) int fd = -1;

		fixture_shell(
			"rm -rf w keep outside && mkdir -p w/d && echo f >w/d/f && echo g >w/d/g && ln -s y w/l && "
			"echo '*.o' >w/.gitignore && echo o >w/x.o");
		fd = fixture_open_dir("w");
		cr_assert(remember(&cache, fd, NULL));
		cr_assert_eq(look(&cache, fd, 0), EWS_RECHECK_SAME, "before: %s", changes[i].script);
		fixture_shell("%s", changes[i].script);
		cr_assert_eq(look(&cache, fd, 0), changes[i].answer, "%s", changes[i].script);
	}
}

#define MAKE_SOCKET \
	"make_socket() { perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0 and bind S, sockaddr_un(shift) or die' $1; } && "

/* Each stood there and was left out, and what stands there now a scan may find. */
Test(recheck, what_was_left_out_and_is_something_else_is_seen)
{
	static const struct {
		const char *before, *after;
		enum ews_recheck answer;
	} changes[] = {
		{ "mkdir w/a", "rmdir w/a && : >w/a", EWS_RECHECK_OTHER }, /* rules speak of directories */
		{ "mkdir w/a", "rmdir w/a && mkfifo w/a", EWS_RECHECK_OTHER },
		{ "mkdir w/a", "rmdir w/a && mkdir w/a && : >w/a/f", EWS_RECHECK_TOUCHED },
		{ ": >w/x.o", "rm w/x.o && mkdir w/x.o", EWS_RECHECK_OTHER },
		{ "mkdir w/d/bb && : >w/d/bb/x.o", "rm w/d/bb/x.o && mkfifo w/d/bb/x.o", EWS_RECHECK_OTHER },
		{ "make_socket w/d/s", "rm w/d/s && echo s >w/d/s", EWS_RECHECK_OTHER },
		{ "make_socket w/s", "rm w/s && mkdir w/s && : >w/s/f", EWS_RECHECK_OTHER },
		{ "make_socket w/s", "rm w/s", EWS_RECHECK_OTHER },
		{ "make_socket w/s", "rm w/s && make_socket w/s", EWS_RECHECK_TOUCHED },
		{ "mkdir w/r && : >w/r/.git && : >w/r/f", "rm -r w/r && mkdir w/r && : >w/r/f", EWS_RECHECK_OTHER },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
		EWS_CLEANUP(fd) int fd = -1;

		fixture_shell(MAKE_SOCKET "rm -rf w && mkdir -p w/d && %s", changes[i].before);
		fd = fixture_open_dir("w");
		cr_assert(remember(&cache, fd, NULL));
		cr_assert_eq(look(&cache, fd, 0), EWS_RECHECK_SAME, "before: %s", changes[i].after);
		fixture_shell(MAKE_SOCKET "%s", changes[i].after);
		cr_assert_eq(look(&cache, fd, 0), changes[i].answer, "%s", changes[i].after);
	}
}

/* A workspace has them as young as it is itself. */
Test(recheck, rules_that_say_what_they_said_are_no_others)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_small_project("project");
	static const struct {
		const char *script;
		enum ews_recheck answer;
	} changes[] = {
		{ "touch w/d/.gitignore", EWS_RECHECK_TOUCHED },
		{ "printf '*.o\nx\n' >n && mv n w/d/.gitignore", EWS_RECHECK_TOUCHED },
		{ "printf '*.o\ny\n' >n && mv n w/d/.gitignore", EWS_RECHECK_OTHER },
		{ "printf '*.o\n' >w/d/.gitignore", EWS_RECHECK_OTHER },
		{ "rm w/d/.gitignore && ln -s ../f w/d/.gitignore", EWS_RECHECK_OTHER },
		{ "rm w/d/.gitignore && mkfifo w/d/.gitignore", EWS_RECHECK_OTHER },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		for (int has_ids = 0; has_ids < 2; has_ids++) {
			EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
			EWS_CLEANUP(fd) int fd = -1;

			fixture_shell(
				"rm -rf w && mkdir -p w/d && printf '*.o\nx\n' >w/d/.gitignore && cp w/d/.gitignore w/f");
			fd = fixture_open_dir("w");
			cr_assert(remember(&cache, fd, has_ids ? repo->odb : NULL));
			fixture_shell("%s", changes[i].script);
			cr_assert_eq(look(&cache, fd, 0), has_ids ? changes[i].answer : EWS_RECHECK_OTHER, "%s",
				     changes[i].script);
		}
	}
}

/* Of a submodule that nobody filled there is a directory, which the index or the base says is one. */
static enum ews_recheck look_at_submodule(const char *script, bool is_left_out)
{
	EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	struct ews_entry *sub;

	fixture_shell("rm -rf w && mkdir -p w/sub");
	fd = fixture_open_dir("w");
	cr_assert(remember(&cache, fd, NULL));
	sub = (struct ews_entry *)ews_entries_find(&cache.entries, "sub");
	sub->type = EWS_ENTRY_GITLINK;
	sub->is_racy = true;
	if (is_left_out)
		ews_skips_add(&cache.skips, "sub", EWS_SKIP_REPOSITORY, 0);
	fixture_shell("%s", script);
	if (look(&cache, fd, 0) == EWS_RECHECK_OTHER)
		return EWS_RECHECK_OTHER;
	cr_assert_eq(sub->type, EWS_ENTRY_GITLINK);
	return EWS_RECHECK_TOUCHED;
}

Test(recheck, a_young_submodule_that_is_empty_is_no_other)
{
	cr_assert_eq(look_at_submodule(":", false), EWS_RECHECK_TOUCHED);
	cr_assert_eq(look_at_submodule("chmod 700 w/sub", false), EWS_RECHECK_TOUCHED);
	cr_assert_eq(look_at_submodule("touch w/sub/file", false), EWS_RECHECK_OTHER);
	cr_assert_eq(look_at_submodule("git init -q w/sub", false), EWS_RECHECK_OTHER);
	cr_assert_eq(look_at_submodule("rmdir w/sub && ln -s . w/sub", false), EWS_RECHECK_OTHER);
	cr_assert_eq(look_at_submodule(":", true), EWS_RECHECK_OTHER);
}

Test(recheck, what_is_younger_than_the_look_is_not_trusted)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;
	EWS_CLEANUP(cache) struct ews_cache back = EWS_CACHE_INIT;
	struct ews_cache cache;
	EWS_CLEANUP(fd) int fd = -1;

	fixture_shell("mkdir w && echo f >w/f");
	fd = fixture_open_dir("w");
	scan(&found, fd);
	cache = (struct ews_cache){ .entries = found.entries,
				    .is_whole = true,
				    .root = found.root,
				    .skips = found.skips,
				    .extra = EWS_BUF_INIT };
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &cache, found.started_s, found.started_ns, false), 0);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
	cr_assert_eq(look(&back, fd, 0), EWS_RECHECK_TOUCHED);
}

Test(recheck, rules_that_are_ignored_themselves_are_walked_for)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;
	EWS_CLEANUP(fd) int fd = -1;

	fixture_shell("mkdir w && printf '.gitignore\n*.o\n' >w/.gitignore && echo o >w/x.o");
	fd = fixture_open_dir("w");
	scan(&found, fd);
	cr_assert_not(ews_recheck_is_possible(&found));
}
