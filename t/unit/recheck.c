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

#include "fixture.h"

#define ALL_KINDS \
	(FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_IGNORES | FIXTURE_NESTED | FIXTURE_MODES | FIXTURE_ODD_NAMES)
#define NOT_RACY_US 30000 /* as cache.c has it, and a tick of the clock */

TestSuite(recheck, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static void scan(struct ews_scan *out, int fd)
{
	static const char rules[] = "*.o\nb*\n!bb\n";
	EWS_CLEANUP(ignore) struct ews_ignore *ignore = ews_ignore_new(rules, strlen(rules), NULL, 0, false);
	const struct ews_scan_opts opts = { .root_fd = fd, .ignore = ignore, .read_gitignore = true };

	cr_assert_eq(ews_scan(out, &opts), 0);
}

/* What a scan finds, as a whole cache. */
static void remember(struct ews_cache *out, int fd)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;
	struct ews_cache cache;

	usleep(NOT_RACY_US);
	scan(&found, fd);
	cr_assert(ews_recheck_is_possible(&found));
	cache = (struct ews_cache){ .entries = found.entries,
				    .is_whole = true,
				    .root = found.root,
				    .skips = found.skips,
				    .extra = EWS_BUF_INIT };
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &cache, found.started_s, found.started_ns, false), 0);
	cr_assert_eq(ews_cache_read(out, AT_FDCWD, "cache"), 0);
	cr_assert(out->is_whole);
}

static bool is_identical(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->type == b->type && a->mode == b->mode && a->size == b->size && a->mtime_s == b->mtime_s &&
	       a->mtime_ns == b->mtime_ns && a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns &&
	       a->ino == b->ino && a->uid == b->uid && a->n_links == b->n_links;
}

static void assert_found_again(const struct ews_cache *cache, int fd)
{
	EWS_CLEANUP(scan) struct ews_scan now = EWS_SCAN_INIT;

	scan(&now, fd);
	fixture_assert_same(&now.entries, &cache->entries, is_identical, "rechecked");
	cr_assert_eq(now.skips.n, cache->skips.n);
	for (size_t i = 0; i < now.skips.n; i++) {
		cr_assert_str_eq(now.skips.items[i].path, cache->skips.items[i].path);
		cr_assert_eq(now.skips.items[i].reason, cache->skips.items[i].reason);
		cr_assert_eq(now.skips.items[i].size, cache->skips.items[i].size);
	}
}

Test(recheck, what_it_calls_unchanged_a_scan_finds_unchanged)
{
	size_t changed = 0;

	for (size_t round = 0; round < fixture_rounds_if_fast(12); round++) {
		EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
		EWS_CLEANUP(free) char *name = ews_strfmt("w%zu", round);
		EWS_CLEANUP(fd) int fd = -1;

		cr_assert_eq(mkdir(name, 0755), 0);
		fd = fixture_open_dir(name);
		fixture_make_tree(fd, ALL_KINDS);
		remember(&cache, fd);
		cr_assert(ews_recheck(&cache, fd, 1), "EWS_SEED=%zu: nobody touched it", fixture_seed());
		cr_assert(ews_recheck(&cache, fd, 4));
		for (size_t edit = 0; edit < 4; edit++) {
			fixture_edit_tree(fd, ALL_KINDS);
			if (ews_recheck(&cache, fd, 1 + (unsigned)fixture_pick(4)))
				assert_found_again(&cache, fd);
			else
				changed++;
		}
	}
	cr_assert_gt(changed, 0);
}

/* Each alone, which a directory's times or a rule of its own may hide. */
Test(recheck, each_kind_of_change_is_seen)
{
	static const char *const changes[] = {
		"printf X | dd of=w/d/f bs=1 conv=notrunc 2>/dev/null", /* content, the size stays */
		"cp -p w/d/f keep && printf X >w/d/f && cp -p keep w/d/f && touch -r keep w/d/f", /* put back, but for its ctime */
		"chmod 600 w/d/f",
		"touch w/new",
		"rm w/d/g",
		"mkdir w/d/e",
		"chmod 700 w/d",
		"mv w/d w/e && mkdir w/d && mv w/e/* w/d/ && rmdir w/e",
		"ln -sfn x w/l",
		"ln w/d/f outside",
		"echo '!x.o' >>w/.gitignore",
		"echo longer >>w/x.o",
		"chmod 750 w",
		"rm w/x.o",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
		EWS_CLEANUP(fd) int fd = -1;

		fixture_shell(
			"rm -rf w keep outside && mkdir -p w/d && echo f >w/d/f && echo g >w/d/g && ln -s y w/l && "
			"echo '*.o' >w/.gitignore && echo o >w/x.o");
		fd = fixture_open_dir("w");
		remember(&cache, fd);
		cr_assert(ews_recheck(&cache, fd, 0), "before: %s", changes[i]);
		fixture_shell("%s", changes[i]);
		cr_assert_not(ews_recheck(&cache, fd, 0), "%s", changes[i]);
	}
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
	cr_assert_not(ews_recheck(&back, fd, 0));
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
