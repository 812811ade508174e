/*
 * Home: every store has a directory of its own, whatever it and others are called, and every workspace one owner.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

static char *home;

static void set_up(void)
{
	fixture_begin();
	home = ews_path_join(fixture_top(), "home");
}

static void tear_down(void)
{
	free(home);
	fixture_end();
}

TestSuite(home, .init = set_up, .fini = tear_down);

Test(home, it_is_closed_to_others_and_refused_when_it_is_another_users)
{
	struct stat st;
	int fd = ews_home_open(home);

	cr_assert_geq(fd, 0, "%s", ews_error_message());
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	cr_assert_eq(fchmod(fd, 0777), 0);
	close(fd);
	fd = ews_home_open(home);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_mode & 022, 0);
	close(fd);
	if (geteuid() != 0)
		return;
	cr_assert_eq(chown(home, 65534, 65534), 0);
	cr_assert_eq(ews_home_open(home), EWS_EDENIED);
}

/* The directory's name below working/ that the store `common_dir` gets. */
static char *name_of(const char *common_dir)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *again = NULL;
	EWS_CLEANUP(free) char *found = NULL;
	size_t len = strlen(home);

	cr_assert_eq(ews_home_repo_dir(&dir, home, common_dir, "/p"), 0, "%s: %s", common_dir, ews_error_message());
	cr_assert_eq(ews_home_repo_dir(&again, home, common_dir, "/other"), 0);
	cr_assert_eq(ews_home_find_repo_dir(&found, home, common_dir), 0, "%s", ews_error_message());
	cr_assert_str_eq(dir, again);
	cr_assert_str_eq(dir, found);
	cr_assert(!strncmp(dir, home, len) && !strncmp(dir + len, "/working/", 9));
	cr_assert_null(strchr(dir + len + 9, '/'));
	return ews_strdup(dir + len + 9);
}

static void assert_name(const char *common_dir, const char *should)
{
	EWS_CLEANUP(free) char *is = name_of(common_dir);

	cr_assert_str_eq(is, should, "%s", common_dir);
}

Test(home, a_store_is_called_as_people_call_it)
{
	EWS_CLEANUP(free) char *long_store = ews_malloc(300);
	EWS_CLEANUP(free) char *long_name = NULL;

	assert_name("/a/demo/.git", "demo");
	assert_name("/a/bare.git", "bare");
	assert_name("/a/odd.git/.git", "odd");
	assert_name("/a/new\nline\t/.git", "new_line_");
	assert_name("/a/\xff\xfe/.git", "\xff\xfe");
	assert_name("/a/.hidden/.git", "_hidden");
	assert_name("/a/..x/.git", "_.x");
	assert_name("/.git", "root");
	assert_name("/a/-rf x/.git", "-rf x");
	memset(long_store, 'n', 299);
	memcpy(long_store, "/a/", 3);
	strcpy(long_store + 258, "/.git");
	long_name = name_of(long_store);
	cr_assert_lt(strlen(long_name), 200);
}

Test(home, a_second_store_of_a_name_gets_a_hash_behind_it)
{
	EWS_CLEANUP(free) char *first = name_of("/a/demo/.git");
	EWS_CLEANUP(free) char *second = name_of("/b/demo/.git");
	EWS_CLEANUP(free) char *third = name_of("/c/demo.git");
	EWS_CLEANUP(free) char *newline = name_of("/a/x_y/.git");
	EWS_CLEANUP(free) char *alike = name_of("/a/x\ny/.git");
	EWS_CLEANUP(free) char *found = NULL;

	cr_assert_str_eq(first, "demo");
	cr_assert(!strncmp(second, "demo-", 5) && strlen(second) == 13);
	cr_assert_str_neq(second, third);
	cr_assert_str_neq(newline, alike);
	cr_assert_eq(ews_home_find_repo_dir(&found, home, "/d/demo/.git"), EWS_ENOTFOUND);
}

Test(home, a_directory_of_nobody_or_of_garbage_is_not_taken_over)
{
	fixture_shell("mkdir -p home/working/demo home/working/bad && echo '{' >home/working/bad/project.json");
	fixture_shell("chmod 700 home; ln -s / home/working/link; : >home/working/file");
	EWS_CLEANUP(free) char *demo = name_of("/a/demo/.git");
	EWS_CLEANUP(free) char *bad = name_of("/a/bad/.git");
	EWS_CLEANUP(free) char *link_name = name_of("/a/link/.git");
	EWS_CLEANUP(free) char *file_name = name_of("/a/file/.git");

	cr_assert_eq(strlen(demo), 13);
	cr_assert_eq(strlen(bad), 12);
	cr_assert_eq(strlen(link_name), 13);
	cr_assert_eq(strlen(file_name), 13);
	fixture_shell(
		"test \"$(ls -A home/working/demo)\" = '' && test -L home/working/link && test -f home/working/file &&"
		"ls -A home/working | grep -c . | grep -x 8");
}

Test(home, of_many_that_claim_at_once_all_get_the_same)
{
	for (int i = 0; i < 6; i++) {
		pid_t pid = fork();

		cr_assert_geq(pid, 0);
		if (!pid) {
			char store[32], *dir = NULL;
			bool has_got;

			(void)snprintf(store, sizeof(store), "/%d/demo/.git", i % 3);
			has_got = ews_home_repo_dir(&dir, home, store, "/p") == 0 && dir;
			free(dir);
			_exit(!has_got);
		}
	}
	for (int i = 0; i < 6; i++) {
		int status;

		cr_assert_gt(wait(&status), 0);
		cr_assert_eq(status, 0);
	}
	fixture_shell("ls -A home/working | grep -c '^demo' | grep -x 3 && ! ls -A home/working | grep new");
}

Test(home, what_it_knows_of_is_listed)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *gone = NULL;

	cr_assert_eq(ews_home_projects(&projects, home), 0);
	cr_assert_eq(projects.n, 0);
	cr_assert_eq(ews_home_repo_dir(&dir, home, "/a/b/.git", fixture_top()), 0);
	cr_assert_eq(ews_home_repo_dir(&gone, home, "/a/c/.git", "/not\nthere"), 0);
	fixture_shell(
		"mkdir -p home/working/x home/working/.new/sessions home/working/z/sessions && : >home/working/y && "
		"echo no >home/working/z/project.json");
	cr_assert_eq(ews_home_projects(&projects, home), 0, "%s", ews_error_message());
	cr_assert_eq(projects.n, 3);
	cr_assert_str_eq(ews_home_project_path(&projects.items[0]), fixture_top());
	cr_assert_str_eq(ews_home_project_path(&projects.items[1]), "/a/c/.git");
	cr_assert(projects.items[1].is_gone && !projects.items[1].problem);
	cr_assert_str_eq(ews_path_base(projects.items[2].dir), "z");
	cr_assert_not_null(projects.items[2].problem);
}

/* Where `cwd` is said to belong, as "<repo>/<id>"; "" when nowhere. */
static char *owner_of(const char *cwd)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ews_home_find_workspace(&dir, &id, home, cwd);

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

Test(home, a_workspace_is_known_by_where_it_lies)
{
	assert_owner("", "/", "");
	assert_owner("", home, "/working/r/qe/s");
	fixture_shell("mkdir -p home/working/r/qe/s/sub home/elsewhere");
	assert_owner("r/s", home, "/working/r/qe/s");
	assert_owner("r/s", home, "/working/r/qe/s/sub/deeper");
	assert_owner("", home, "/working/r/qe");
	assert_owner("", home, "/working/r/qe/");
	assert_owner("", home, "/working/r/sessions/s");
	assert_owner("", home, "/workingr/qe/s");
	assert_owner("", home, "");
	assert_owner("", "/", "");
}

Test(home, a_workspace_elsewhere_is_known_by_its_mark_alone)
{
	EWS_CLEANUP(free) char *odd = ews_path_join(fixture_top(), "odd\n\xff place");

	cr_assert_eq(ews_home_mark_elsewhere(home, odd, "/x/working/r", "s.1"), 0, "%s", ews_error_message());
	cr_assert_eq(ews_home_mark_elsewhere(home, "/srv/ws", "/x/working/r", "s2"), 0);
	assert_owner("r/s.1", odd, "");
	assert_owner("r/s.1", odd, "/a/b");
	assert_owner("", odd, "x");
	assert_owner("r/s2", "/srv/ws", "/a");
	assert_owner("", "/srv", "");
	cr_assert_eq(ews_home_unmark_elsewhere(home, odd), 0);
	cr_assert_eq(ews_home_unmark_elsewhere(home, odd), 0);
	assert_owner("", odd, "/a");
	fixture_shell("for f in home/elsewhere/*; do echo garbage >\"$f\"; done");
	assert_owner("", "/srv/ws", "/a");
}
