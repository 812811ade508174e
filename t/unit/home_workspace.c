/*
 * Workspaces and where they lie: each has one owner.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home_workspace.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

TestSuite(home_workspace, .init = fixture_begin_home, .fini = fixture_end_home);

/* Where `cwd` is said to belong, as "<repo>/<id>"; "" when nowhere. */
static char *owner_of(const char *cwd)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ews_home_find_workspace(&dir, &id, fixture_home, cwd);

	if (rc == EWS_ENOTFOUND)
		return ews_strdup("");
	cr_assert_eq(rc, 0, "%s", ews_error_message());
	return ews_strfmt("%s/%s", ews_path_base(dir), id);
}

static void assert_owner(const char *should, const char *dir, const char *below)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("%s%s", dir, below);
	EWS_CLEANUP(free) char *is = owner_of(path);

	cr_assert_str_eq(is, should, "%s", path);
}

Test(home_workspace, a_workspace_is_known_by_where_it_lies)
{
	assert_owner("", "/", "");
	assert_owner("", fixture_home, "/working/r/qe/s");
	fixture_shell("mkdir -p home/working/r/qe/s/sub home/elsewhere");
	assert_owner("r/s", fixture_home, "/working/r/qe/s");
	assert_owner("r/s", fixture_home, "/working/r/qe/s/sub/deeper");
	assert_owner("", fixture_home, "/working/r/qe");
	assert_owner("", fixture_home, "/working/r/qe/");
	assert_owner("", fixture_home, "/working/r/sessions/s");
	assert_owner("", fixture_home, "/workingr/qe/s");
	assert_owner("", fixture_home, "");
	assert_owner("", "/", "");
}

Test(home_workspace, a_workspace_elsewhere_is_known_by_its_mark_alone)
{
	EWS_CLEANUP(free) char *odd = ews_path_join(fixture_top(), "odd\n\xff place");

	cr_assert_eq(ews_home_mark_elsewhere(fixture_home, odd, "/x/working/r", "s.1"), 0, "%s", ews_error_message());
	cr_assert_eq(ews_home_mark_elsewhere(fixture_home, "/srv/ws", "/x/working/r", "s2"), 0);
	assert_owner("r/s.1", odd, "");
	assert_owner("r/s.1", odd, "/a/b");
	assert_owner("", odd, "x");
	assert_owner("r/s2", "/srv/ws", "/a");
	assert_owner("", "/srv", "");
	cr_assert_eq(ews_home_unmark_elsewhere(fixture_home, odd), 0);
	cr_assert_eq(ews_home_unmark_elsewhere(fixture_home, odd), 0);
	assert_owner("", odd, "/a");
	fixture_shell("for f in home/elsewhere/*; do echo garbage >\"$f\"; done");
	assert_owner("", "/srv/ws", "/a");
}
