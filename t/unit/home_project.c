/*
 * Projects that home knows.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home_project.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "fixture.h"
#include "store/home_repo.h"

TestSuite(home_project, .init = fixture_begin_home, .fini = fixture_end_home);

Test(home_project, what_it_knows_of_is_listed)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *gone = NULL;

	cr_assert_eq(ews_home_projects(&projects, fixture_home), 0);
	cr_assert_eq(projects.n, 0);
	cr_assert_eq(ews_home_repo_dir(&dir, fixture_home, "/a/b/.git", fixture_top()), 0);
	cr_assert_eq(ews_home_repo_dir(&gone, fixture_home, "/a/c/.git", "/not\nthere"), 0);
	fixture_shell(
		"mkdir -p home/working/x home/working/.new/sessions home/working/z/sessions && : >home/working/y && "
		"echo no >home/working/z/project.json");
	cr_assert_eq(ews_home_projects(&projects, fixture_home), 0, "%s", ews_error_message());
	cr_assert_eq(projects.n, 3);
	cr_assert_str_eq(ews_home_project_path(&projects.items[0]), fixture_top());
	cr_assert_str_eq(ews_home_project_path(&projects.items[1]), "/a/c/.git");
	cr_assert(projects.items[1].is_gone && !projects.items[1].problem);
	cr_assert_str_eq(ews_path_base(projects.items[2].dir), "z");
	cr_assert_not_null(projects.items[2].problem);
}

Test(home_project, trash_tells_its_project_and_step_and_what_is_none_is_named_whole)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *project = NULL;
	EWS_CLEANUP(free) char *step = NULL;
	EWS_CLEANUP(free) char *trash = NULL;
	EWS_CLEANUP(free) char *other = NULL;

	cr_assert_eq(ews_home_repo_dir(&dir, fixture_home, "/a/b/.git", fixture_top()), 0);
	trash = ews_path_join(dir, "trash/op-1/workspace/sub");
	other = ews_path_join(dir, "undo/op-1");
	cr_assert_eq(ews_home_find_trashed(&project, &step, fixture_home, trash), 0, "%s", ews_error_message());
	cr_assert_str_eq(project, fixture_top());
	cr_assert_str_eq(step, "op-1");
	cr_assert_eq(ews_home_find_trashed(&project, &step, fixture_home, other), EWS_ENOTFOUND);
	cr_assert_not_null(strstr(ews_error_message(), other), "%s", ews_error_message());
}
