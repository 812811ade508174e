/*
 * Batches settle, keep to the rules, and are remembered.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/watch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"

#define LONG_MS 20000

TestSuite(watch, .init = fixture_begin, .fini = fixture_end);

static struct ews_watch *begin(const struct ews_watch_opts *opts)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/dir", fixture_top());
	struct ews_watch *watch = NULL;

	fixture_shell("mkdir dir; echo '*.o' >dir/.gitignore");
	cr_assert_eq(ews_watch_open(&watch, NULL, dir, opts), 0, "%s", ews_error_message());
	return watch;
}

Test(watch, without_a_project_its_own_rules_hold)
{
	const struct ews_watch_opts opts = { .debounce_ms = 10 };
	EWS_CLEANUP(watch) struct ews_watch *watch = begin(&opts);
	const struct ews_watch_batch *batch;

	fixture_shell("cd dir; echo 1 >a.o; mkdir .git .superqode; echo 1 >.git/x");
	cr_assert_eq(ews_watch_next(&batch, watch, 100), 0);
	fixture_shell("cd dir; mkdir a.c");
	cr_assert_eq(ews_watch_next(&batch, watch, LONG_MS), 1);
	cr_assert_eq(batch->n, 1);
	cr_assert_str_eq(batch->items[0].path, "a.c");
	cr_assert(batch->items[0].is_dir);
}

Test(watch, who_is_woken_gets_nothing)
{
	int fds[2];
	struct ews_watch_opts opts = { .debounce_ms = 10 };
	const struct ews_watch_batch *batch;

	cr_assert_eq(pipe(fds), 0);
	opts.wake_fd = fds[0];
	{
		EWS_CLEANUP(watch) struct ews_watch *watch = begin(&opts);

		cr_assert_eq(write(fds[1], "x", 1), 1);
		cr_assert_eq(ews_watch_next(&batch, watch, -1), 0);
	}
	close(fds[0]);
	close(fds[1]);
}

static int count_until(void *payload, const struct ews_watch_batch *batch)
{
	size_t *n = payload;

	*n += batch->n;
	return *n >= 1005 ? 7 : 0;
}

Test(watch, the_last_thousand_changes_are_remembered_oldest_first)
{
	const struct ews_watch_opts opts = { .debounce_ms = 10 };
	EWS_CLEANUP(watch) struct ews_watch *watch = begin(&opts);
	size_t n = 0;

	cr_assert_null(ews_watch_history(watch, 0));
	fixture_shell("cd dir; i=1000; while test $i -lt 2005; do : >f$i; i=$((i + 1)); done");
	cr_assert_eq(ews_watch_run(watch, count_until, &n), 7);
	cr_assert_eq(n, 1005);
	cr_assert_not_null(ews_watch_history(watch, EWS_WATCH_HISTORY_MAX - 1));
	cr_assert_null(ews_watch_history(watch, EWS_WATCH_HISTORY_MAX));
	cr_assert_str_neq(ews_watch_history(watch, 0)->path, ews_watch_history(watch, 999)->path);
}
