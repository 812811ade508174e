/*
 * Repositories are found where git finds them, whatever the environment says.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/repo.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

static void set_up(void)
{
	fixture_begin_home();
	fixture_shell("git init -q p && mkdir -p p/sub/deeper plain/sub && ln -s ../p/sub plain/link && cd p &&"
		      "git commit -q --allow-empty -m 1 && git worktree add -q ../linked 2>/dev/null &&"
		      "git init -q --bare ../bare.git && git init -q --separate-git-dir=../apart.git ../apart &&"
		      "git init -q ../p/nested && mkdir ../linked/sub ../apart/sub");
}

TestSuite(repo, .init = set_up, .fini = fixture_end_home);

/* The `n`th line of what git says of the directory `cwd`. */
static char *gits(const struct ews_buf *answer, int n)
{
	const char *at = answer->ptr;

	while (n--)
		at += strcspn(at, "\n") + 1;
	return ews_strndup(at, strcspn(at, "\n"));
}

static void ask_git(struct ews_buf *out, const char *cwd)
{
	fixture_ask(out,
		    "cd '%s' && git rev-parse --path-format=absolute --is-bare-repository --git-dir "
		    "--git-common-dir --show-toplevel 2>/dev/null; true",
		    cwd);
}

/* Compare with git, seen from `cwd` below the test's directory; variables are set for both. */
static void compare_in(const char *cwd)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *path = ews_path_join(fixture_top(), cwd);

	ask_git(&answer, path);
	cr_assert_eq(chdir(path), 0, "%s", path);
	if (!answer.len) {
		cr_expect_lt(ews_repo_open(&repo, path, fixture_home, EWS_REPO_MAKE_NONE), 0, "%s", cwd);
		cr_expect_null(repo);
	} else {
		EWS_CLEANUP(free) char *is_bare = gits(&answer, 0);
		EWS_CLEANUP(free) char *git_dir = gits(&answer, 1);
		EWS_CLEANUP(free) char *common_dir = gits(&answer, 2);
		EWS_CLEANUP(free) char *top = gits(&answer, 3);

		cr_assert_eq(ews_repo_open(&repo, path, fixture_home, EWS_REPO_MAKE_NONE), 0, "%s: %s", cwd,
			     ews_error_message());
		cr_expect_eq(repo->is_bare, !strcmp(is_bare, "true"), "%s", cwd);
		cr_expect_str_eq(repo->git_dir, git_dir, "%s: %s", cwd, repo->git_dir);
		cr_expect_str_eq(repo->common_dir, common_dir, "%s", cwd);
		cr_expect_str_eq(repo->project, repo->is_bare ? git_dir : top, "%s: %s", cwd, repo->project);
		cr_expect_null(repo->here);
	}
	cr_assert_eq(chdir(fixture_top()), 0);
}

Test(repo, it_is_found_upwards_as_git_finds_it)
{
	static const char *const dirs[] = { "p",          "p/sub",      "p/sub/deeper", "plain",    "plain/sub",
					    "plain/link", "linked/sub", "linked",       "bare.git", "bare.git/refs",
					    "apart",      "apart/sub",  "p/nested" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		compare_in(dirs[i]);
}

Test(repo, inside_its_git_directory_it_is_the_project_around_it)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	EWS_CLEANUP(free) char *top = ews_path_join(fixture_top(), "p");
	EWS_CLEANUP(free) char *path = ews_path_join(top, ".git/refs");

	cr_assert_eq(ews_repo_open(&repo, path, fixture_home, EWS_REPO_MAKE_NONE), 0);
	cr_assert_str_eq(repo->project, top);
	cr_assert_not(repo->is_bare);
}

Test(repo, a_git_file_is_followed_and_a_bad_one_is_an_error)
{
	fixture_shell(
		"mkdir -p rel/sub bad none loop && echo 'gitdir: ../p/.git' >rel/.git && echo x >bad/.git &&"
		"echo 'gitdir: /nowhere' >none/.git && echo 'gitdir: .git' >loop/.git &&"
		"mkdir p/empty p/fifo && mkdir p/empty/.git && mkfifo p/fifo/.git && ln -s ../../p/.git p/sub/.git");
	compare_in("rel/sub");
	compare_in("bad");
	compare_in("none");
	compare_in("loop");
	compare_in("p/empty");
	compare_in("p/fifo");
	compare_in("p/sub/deeper");
}

Test(repo, ceilings_stop_the_search_where_they_stop_gits)
{
	static const char *const ceilings[] = {
		"%1$s/p/sub/deeper", "%1$s/p/sub",          "%1$s/p", "%1$s", "%1$s/p/sub/",    "/nowhere:%1$s/p/",
		":%1$s/p",           "relative:%1$s/p/sub", "p",      "",     "%1$s/plain/link"
	};
	static const char *const dirs[] = { "p/sub/deeper", "p/sub", "p", "plain/link/deeper" };

	for (size_t i = 0; i < sizeof(ceilings) / sizeof(*ceilings); i++) {
		EWS_CLEANUP(buf) struct ews_buf value = EWS_BUF_INIT;

		for (const char *c = ceilings[i]; *c; c++) {
			if (!strncmp(c, "%1$s", 4)) {
				ews_buf_adds(&value, fixture_top());
				c += 3;
			} else {
				ews_buf_addc(&value, *c);
			}
		}
		for (size_t k = 0; k < sizeof(dirs) / sizeof(*dirs); k++) {
			setenv("GIT_CEILING_DIRECTORIES", value.ptr, 1);
			compare_in(dirs[k]);
		}
	}
}

Test(repo, git_dir_and_work_tree_name_them)
{
	EWS_CLEANUP(free) char *git_dir = ews_path_join(fixture_top(), "p/.git");
	EWS_CLEANUP(free) char *admin = ews_path_join(git_dir, "worktrees/linked");
	EWS_CLEANUP(free) char *bare = ews_path_join(fixture_top(), "bare.git");

	setenv("GIT_DIR", git_dir, 1);
	compare_in("p");
	cr_assert_null(getenv("GIT_DIR"), "it is scrubbed");
	setenv("GIT_DIR", ".git", 1);
	compare_in("p");
	setenv("GIT_DIR", admin, 1);
	compare_in("linked");
	setenv("GIT_DIR", bare, 1);
	compare_in("plain");
	setenv("GIT_DIR", "/nowhere", 1);
	compare_in("p");
	setenv("GIT_DIR", git_dir, 1);
	setenv("GIT_WORK_TREE", "../../plain", 1);
	compare_in("plain/sub");
	setenv("GIT_DIR", "../linked/.git", 1);
	compare_in("linked");
	setenv("GIT_DIR", bare, 1);
	setenv("GIT_WORK_TREE", fixture_top(), 1);
	compare_in("plain/sub");
}

Test(repo, core_worktree_and_core_bare_have_the_last_word)
{
	fixture_shell("cd p && git config core.worktree ../../plain");
	compare_in("plain/sub/../../p/.git/..");
	fixture_shell("cd p && git config --unset core.worktree && for v in yes 1 TRUE on; do cp -r ../p ../p.$v &&"
		      "git -C ../p.$v config core.bare $v; done");
	compare_in("p.yes");
	compare_in("p.1");
	compare_in("p.TRUE");
	compare_in("p.on");
	fixture_shell("cp -r bare.git not-bare.git && git -C not-bare.git config core.bare false &&"
		      "git -C not-bare.git config core.worktree ../plain");
	compare_in("not-bare.git");
}

Test(repo, a_project_that_is_known_is_opened_by_its_top)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	EWS_CLEANUP(free) char *top = ews_path_join(fixture_top(), "linked");
	EWS_CLEANUP(free) char *plain = ews_path_join(fixture_top(), "plain");

	cr_assert_eq(ews_repo_open_at(&repo, top, fixture_home), 0, "%s", ews_error_message());
	cr_assert_str_eq(repo->project, top);
	cr_assert_eq(ews_repo_need_dir(repo), EWS_ENOTFOUND);
	cr_assert_eq(ews_repo_make_dir(repo), 0, "%s", ews_error_message());
	cr_assert_geq(repo->dir_fd, 0);
	ews_repo_free(repo);
	repo = NULL;
	cr_assert_eq(ews_repo_open_at(&repo, plain, fixture_home), EWS_ENOTFOUND);
	cr_assert_eq(ews_repo_open_at(&repo, "/nowhere", fixture_home), EWS_ENOTFOUND);
}
