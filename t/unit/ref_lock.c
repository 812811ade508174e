/*
 * The lock of a ref: it becomes the ref's file, or goes without a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/ref_lock.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

static char *path;

static void set_up(void)
{
	fixture_begin();
	path = ews_path_join(fixture_top(), "ref");
}

static void tear_down(void)
{
	free(path);
	fixture_end();
}

TestSuite(ref_lock, .init = set_up, .fini = tear_down);

Test(ref_lock, what_is_put_is_the_refs_and_no_lock_is_left)
{
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;

	fixture_shell("echo old >ref");
	cr_assert_eq(ews_ref_lock_take(&lock, path), 0, "%s", ews_error_message());
	fixture_shell("test -f ref.lock && test \"$(cat ref)\" = old");
	cr_assert_eq(ews_ref_lock_put(&lock, "new\n", 4), 0, "%s", ews_error_message());
	fixture_shell("test ! -e ref.lock && test \"$(cat ref)\" = new");
	/* Another's is none of ours by now. */
	fixture_shell(": >ref.lock");
	ews_ref_lock_release(&lock);
	fixture_shell("test -e ref.lock");
}

Test(ref_lock, what_is_let_go_stays_as_it_was)
{
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;

	fixture_shell("echo old >ref");
	cr_assert_eq(ews_ref_lock_take(&lock, path), 0, "%s", ews_error_message());
	ews_ref_lock_release(&lock);
	fixture_shell("test ! -e ref.lock && test \"$(cat ref)\" = old");
}

Test(ref_lock, what_cannot_be_put_leaves_no_lock)
{
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;

	fixture_shell("mkdir ref && : >ref/x");
	cr_assert_eq(ews_ref_lock_take(&lock, path), 0, "%s", ews_error_message());
	cr_assert_lt(ews_ref_lock_put(&lock, "new\n", 4), 0);
	ews_ref_lock_release(&lock);
	fixture_shell("test ! -e ref.lock && test -e ref/x");
}

Test(ref_lock, a_group_has_it_until_that_is_finished)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;

	ews_sync_begin(&group);
	cr_assert_eq(ews_ref_lock_take(&lock, path), 0, "%s", ews_error_message());
	cr_assert_eq(ews_ref_lock_put_with(&lock, &group, "new\n", 4), 0, "%s", ews_error_message());
	ews_ref_lock_release(&lock);
	fixture_shell("test -f ref.lock && test ! -e ref");
	cr_assert_eq(ews_sync_finish(&group), 0, "%s", ews_error_message());
	fixture_shell("test ! -e ref.lock && test \"$(cat ref)\" = new");
}

Test(ref_lock, another_holder_is_named_and_a_missing_directory_is_told_apart)
{
	EWS_CLEANUP(ref_lock) struct ews_ref_lock lock = EWS_REF_LOCK_INIT;
	EWS_CLEANUP(free) char *below = ews_path_join(path, "none");

	fixture_shell(": >ref.lock");
	cr_assert_eq(ews_ref_lock_take(&lock, path), EWS_EBUSY);
	ews_ref_lock_release(&lock);
	fixture_shell("test -e ref.lock");
	cr_assert_eq(ews_ref_lock_take(&lock, below), EWS_ENOTFOUND);
}
