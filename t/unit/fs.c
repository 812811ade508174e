/*
 * File systems: what is no disk promises nothing. What ext4 does, with a journal and without, is t7031's matter.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fs.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"

TestSuite(fs, .init = fixture_begin, .fini = fixture_end, .timeout = 60);

Test(fs, what_is_no_disk_keeps_no_order)
{
	EWS_CLEANUP(fd) int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(proc, 0);
	cr_assert_str_eq(ews_fs_name(proc), "");
	cr_assert_not(ews_fs_keeps_order(proc));
	cr_assert_str_eq(ews_fs_name(-1), "");
	cr_assert_not(ews_fs_keeps_order(-1));
}

Test(fs, only_two_of_those_that_have_a_name_may_keep_order)
{
	EWS_CLEANUP(fd) int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(here, 0);
	if (ews_fs_keeps_order(here))
		cr_assert(!strcmp(ews_fs_name(here), "ext4") || !strcmp(ews_fs_name(here), "xfs"));
}
