/*
 * A store's directory in home: each has one of its own, whatever it and others are called.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home_repo.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"

TestSuite(home_repo, .init = fixture_begin_home, .fini = fixture_end_home);

/* The directory's name below working/ that the store `common_dir` gets. */
static char *name_of(const char *common_dir)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *again = NULL;
	EWS_CLEANUP(free) char *found = NULL;
	size_t len = strlen(fixture_home);

	cr_assert_eq(ews_home_repo_dir(&dir, fixture_home, common_dir, "/p"), 0, "%s: %s", common_dir,
		     ews_error_message());
	cr_assert_eq(ews_home_repo_dir(&again, fixture_home, common_dir, "/other"), 0);
	cr_assert_eq(ews_home_repo_dir(&found, fixture_home, common_dir, NULL), 0, "%s", ews_error_message());
	cr_assert_str_eq(dir, again);
	cr_assert_str_eq(dir, found);
	cr_assert(!strncmp(dir, fixture_home, len) && !strncmp(dir + len, "/working/", 9));
	cr_assert_null(strchr(dir + len + 9, '/'));
	return ews_strdup(dir + len + 9);
}

static void assert_name(const char *common_dir, const char *should)
{
	EWS_CLEANUP(free) char *is = name_of(common_dir);

	cr_assert_str_eq(is, should, "%s", common_dir);
}

Test(home_repo, a_store_is_called_as_people_call_it)
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

Test(home_repo, a_second_store_of_a_name_gets_a_hash_behind_it)
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
	cr_assert_eq(ews_home_repo_dir(&found, fixture_home, "/d/demo/.git", NULL), EWS_ENOTFOUND);
}

Test(home_repo, a_directory_of_nobody_or_of_garbage_is_not_taken_over)
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

Test(home_repo, of_many_that_claim_at_once_all_get_the_same)
{
	for (int i = 0; i < 6; i++) {
		pid_t pid = fork();

		cr_assert_geq(pid, 0);
		if (!pid) {
			char store[32], *dir = NULL;
			bool has_got;

			(void)snprintf(store, sizeof(store), "/%d/demo/.git", i % 3);
			has_got = ews_home_repo_dir(&dir, fixture_home, store, "/p") == 0 && dir;
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
