/*
 * What is found early is what is found.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/early.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#define ALL_KINDS (FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_IGNORES | FIXTURE_MODES | FIXTURE_ODD_NAMES)
#define NOT_RACY_US 30000 /* as cache.c has it, and a tick of the clock */

TestSuite(early, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

/* Write what a scan finds as a whole cache. */
static bool remember(int fd)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;

	usleep(NOT_RACY_US);
	cr_assert_eq(ews_scan(&found, &(struct ews_scan_opts){ .root_fd = fd, .read_gitignore = true }), 0);
	return fixture_write_cache("cache", &found);
}

static struct ews_early *begin(int fd)
{
	const struct ews_early_opts opts = { .root_fd = dup(fd) };
	struct ews_early *early = ews_early_read(AT_FDCWD, "cache");

	/* It may be read, or not, when that is said. */
	usleep((useconds_t)fixture_pick(200));
	ews_early_look(early, &opts);
	return early;
}

static bool is_identical(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_same_stat(a, b) && a->is_racy == b->is_racy && a->uid == b->uid && a->gid == b->gid;
}

/* One who looks at it at once, on one thread. */
static void compare(const struct ews_early_found *found, int fd)
{
	EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
	struct ews_touched touched = EWS_TOUCHED_INIT;
	const struct ews_recheck_opts opts = { .root_fd = fd, .threads = 1, .touched = &touched };
	enum ews_recheck answer;

	cr_assert_eq(ews_cache_read(&cache, AT_FDCWD, "cache"), 0);
	answer = ews_recheck(&cache, &opts);
	cr_assert_eq(answer, found->answer, "EWS_SEED=%zu", fixture_seed());
	if (answer != EWS_RECHECK_OTHER) {
		fixture_assert_same(&cache.entries, &found->cache.entries, is_identical, "early");
		cr_assert_eq(touched.n, found->touched.n);
		for (size_t i = 0; i < touched.n; i++)
			cr_assert_eq(touched.items[i].at, found->touched.items[i].at);
	}
	ews_touched_release(&touched);
}

Test(early, what_is_found_early_is_what_is_found)
{
	size_t n[3] = { 0 };

	for (size_t round = 0; round < fixture_rounds_if_fast(12); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("w%zu", round);
		EWS_CLEANUP(fd) int fd = -1;

		cr_assert_eq(mkdir(name, 0755), 0);
		fd = fixture_open_dir(name);
		fixture_make_tree(fd, ALL_KINDS);
		if (!remember(fd))
			continue;
		for (size_t edit = 0; edit < 4; edit++) {
			EWS_CLEANUP(early_found) struct ews_early_found found = EWS_EARLY_FOUND_INIT;

			ews_early_end(begin(fd), &found);
			compare(&found, fd);
			n[found.answer]++;
			if (edit % 2)
				fixture_edit_tree(fd, ALL_KINDS);
			else
				fixture_shell("find %s -type f -print0 | head -z -n 2 | xargs -0 -r touch", name);
		}
	}
	cr_assert(n[EWS_RECHECK_SAME] && n[EWS_RECHECK_TOUCHED] && n[EWS_RECHECK_OTHER],
		  "all were seen: %zu %zu %zu", n[0], n[1], n[2]);
}

Test(early, without_a_cache_nothing_is_found)
{
	EWS_CLEANUP(early_found) struct ews_early_found found = EWS_EARLY_FOUND_INIT;
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");

	ews_early_end(begin(fd), &found);
	cr_assert_eq(found.answer, EWS_RECHECK_OTHER);
	cr_assert_eq(found.cache.entries.n, 0);
	cr_assert_not(found.cache.is_whole);
}

Test(early, nobody_has_to_wait_for_an_answer)
{
	EWS_CLEANUP(fd) int fd = -1;

	fixture_shell("mkdir w && cd w && for i in $(seq 400); do echo $i >$i; done");
	fd = fixture_open_dir("w");
	cr_assert(remember(fd));
	for (int round = 0; round < 100; round++) {
		struct ews_early *early = begin(fd);

		usleep((useconds_t)fixture_pick(300));
		ews_early_free(early);
	}
	ews_early_free(NULL);
}

Test(early, it_knows_its_directory)
{
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(fd) int other = -1;
	struct ews_early *early;

	fixture_shell("mkdir w other");
	fd = fixture_open_dir("w");
	other = fixture_open_dir("other");
	early = begin(fd);
	cr_assert(ews_early_is_of(early, fd));
	cr_assert_not(ews_early_is_of(early, other));
	ews_early_free(early);
}
