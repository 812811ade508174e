/*
 * Home: nobody else writes into it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home.h"

#include <criterion/criterion.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "fixture.h"

TestSuite(home, .init = fixture_begin_home, .fini = fixture_end_home);

Test(home, it_is_closed_to_others_and_refused_when_it_is_another_users)
{
	struct stat st;
	int fd = ews_home_open(fixture_home);

	cr_assert_geq(fd, 0, "%s", ews_error_message());
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	cr_assert_eq(fchmod(fd, 0777), 0);
	close(fd);
	fd = ews_home_open(fixture_home);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_mode & 022, 0);
	close(fd);
	if (geteuid() != 0)
		return;
	cr_assert_eq(chown(fixture_home, 65534, 65534), 0);
	cr_assert_eq(ews_home_open(fixture_home), EWS_EDENIED);
}
