/*
 * Tripwire: what of a project changed is named, and nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "fixture.h"
#include "work/tripwire_commands.h"
#include "work/tripwire_compare.h"

TestSuite(tripwire, .init = fixture_begin, .fini = fixture_end);

static struct ews_repo *make_repo(void)
{
	EWS_CLEANUP(free) char *home = ews_path_join(fixture_top(), "home");
	struct ews_repo *repo = NULL;

	fixture_shell("git init -q p && cd p && git commit -q --allow-empty -m 1 && git tag t && git branch b &&"
		      "echo 1 >f && git add f && git update-ref refs/ews/sessions/x HEAD &&"
		      "echo a >'.git/hooks/a' && echo b >'.git/hooks/a b' && ln -s a .git/hooks/link");
	cr_assert_eq(ews_repo_open(&repo, "p", home, EWS_REPO_MAKE_NONE), 0, "%s", ews_error_message());
	return repo;
}

/* What a version would have kept that does not know `keys`, each with the blank after it. Returns how many lines it lacks. */
static size_t make_old(struct ews_tripwire *out, const struct ews_tripwire *from, const char *const *keys)
{
	for (size_t i = 0; i < from->lines.n; i++) {
		bool is_known = true;

		for (const char *const *key = keys; *key; key++)
			is_known = is_known && !ews_str_begins(from->lines.items[i], *key);
		if (is_known)
			ews_strv_add(&out->lines, from->lines.items[i]);
	}
	return from->lines.n - out->lines.n;
}

/* Do what `script` does to the project, and see that `should`, and it alone, is what it trips. */
static void assert_trips(struct ews_repo *repo, const char *script, const char *should)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire after = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(strv) struct ews_strv is = EWS_STRV_INIT;
	int n;

	cr_assert_eq(ews_tripwire_take(&before, repo), 0, "%s", ews_error_message());
	fixture_shell("cd p && %s", script);
	cr_assert_eq(ews_odb_refresh(repo->odb), 0);
	cr_assert_eq(ews_tripwire_take(&after, repo), 0, "%s", ews_error_message());
	n = ews_tripwire_compare(&is, &before, &after);
	cr_expect_eq(n, (int)is.n);
	cr_expect_eq(is.n, *should != '\0', "%s: %zu, %s", script, is.n, is.n > 1 ? is.items[1] : "");
	if (is.n)
		cr_expect(!strncmp(is.items[0], should, strlen(should)), "%s: %s", script, is.items[0]);
}

Test(tripwire, each_thing_is_named_by_what_it_is)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = make_repo();

	assert_trips(repo, "echo 2 >f", "");
	assert_trips(repo, "git update-ref refs/ews/trash/y HEAD", "");
	assert_trips(repo, "git pack-refs --all", "");
	assert_trips(repo, "git update-ref refs/tags/t $(git commit-tree -m x HEAD^{tree})",
		     "ref refs/tags/t moved from ");
	assert_trips(repo, "git update-ref -d refs/heads/b", "ref refs/heads/b is gone");
	assert_trips(repo, "git update-ref refs/remotes/o/m HEAD", "ref refs/remotes/o/m is new");
	assert_trips(repo, "git symbolic-ref refs/heads/s refs/remotes/o/m", "ref refs/heads/s is new");
	assert_trips(repo, "git update-ref refs/remotes/o/m refs/tags/t", "ref refs/remotes/o/m moved from ");
	assert_trips(repo, "git symbolic-ref refs/heads/s refs/tags/t",
		     "ref refs/heads/s moved from refs/remotes/o/m to refs/tags/t");
	assert_trips(repo, "git symbolic-ref HEAD refs/heads/other", "HEAD changed");
	assert_trips(repo, "git add f", "index changed");
	assert_trips(repo, "git config a.b c", "config changed");
	assert_trips(repo, "echo x >.git/config.worktree", "config.worktree is new");
	assert_trips(repo, "echo x >.git/hooks/post-commit", "hooks/post-commit is new");
	assert_trips(repo, "chmod +x .git/hooks/a", "hooks/a changed");
	assert_trips(repo, "echo x >'.git/hooks/a b'", "hooks/a b changed");
	assert_trips(repo, "rm .git/hooks/a", "hooks/a is gone");
	assert_trips(repo, "ln -sf b .git/hooks/link", "hooks/link changed");
	assert_trips(repo, "echo x >.git/info/exclude", "info/exclude changed");
	assert_trips(repo, "rm -r .git/info", "info/exclude is gone");
	assert_trips(repo, "rm .git/index", "index is gone");
}

Test(tripwire, stashes_are_told_by_their_log_and_where_history_ends_by_its_file)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = make_repo();

	assert_trips(repo, "git rev-parse HEAD >.git/shallow", "shallow changed");
	assert_trips(repo, "rm .git/shallow", "shallow changed");
	fixture_shell("cd p && git commit -q -m f");
	assert_trips(repo, "echo 3 >>f && git stash push -q -m 'one of  mine'", "stash ");
	assert_trips(repo, "git gc -q", "");
	assert_trips(repo, "echo 4 >>f && git stash -q", "stash ");
	assert_trips(repo, "git stash drop -q stash@{1}", "stash ");
	assert_trips(repo, "rm .git/logs/refs/stash", "stash ");
}

/* As versions before this one have left them in sessions that go on. */
Test(tripwire, what_an_old_one_does_not_know_is_no_difference)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = make_repo();
	EWS_CLEANUP(tripwire) struct ews_tripwire old = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire now = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire after = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(strv) struct ews_strv is = EWS_STRV_INIT;

	fixture_shell(
		"cd p && git commit -q -m f && git rev-parse HEAD >.git/shallow && echo 2 >f && git stash -q && echo 3 >f && git stash -q");
	cr_assert_eq(ews_tripwire_take(&now, repo), 0);
	cr_assert_eq(make_old(&old, &now, (const char *const[]){ "shallow ", "stash ", NULL }), 3);
	cr_expect_eq(ews_tripwire_compare(&is, &old, &now), 0, "%s", is.n ? is.items[0] : "");
	fixture_shell("cd p && git stash clear");
	cr_assert_eq(ews_odb_refresh(repo->odb), 0);
	cr_assert_eq(ews_tripwire_take(&after, repo), 0);
	cr_expect_eq(ews_tripwire_compare(&is, &old, &after), 1);
	cr_expect_str_eq(is.items[0], "ref refs/stash is gone");
	ews_strv_clear(&is);
	ews_tripwire_ref_commands(&is, &old, &after, repo);
	cr_expect_eq(is.n, 1);
	cr_expect(!strncmp(is.items[0], "git stash store ", 16), "%s", is.items[0]);
}

Test(tripwire, of_the_index_an_old_one_may_know_the_bytes_alone)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = make_repo();
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire old = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire after = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(strv) struct ews_strv is = EWS_STRV_INIT;

	cr_assert_eq(ews_tripwire_take(&before, repo), 0);
	cr_assert_eq(make_old(&old, &before, (const char *const[]){ "shallow ", NULL }), 1);
	fixture_shell("cd p && echo 2 >f && git add f");
	cr_assert_eq(ews_tripwire_take(&after, repo), 0);
	cr_expect_eq(ews_tripwire_compare(&is, &old, &after), 0, "%s", is.n ? is.items[0] : "");
	cr_expect_eq(ews_tripwire_compare(&is, &before, &after), 1);
	cr_expect_str_eq(is.items[0], "index changed");
	ews_tripwire_release(&after);
	fixture_shell("rm p/.git/index");
	cr_assert_eq(ews_tripwire_take(&after, repo), 0);
	cr_expect_eq(ews_tripwire_compare(&is, &old, &after), 1);
	cr_expect_str_eq(is.items[1], "index is gone");
}

Test(tripwire, names_that_begin_alike_are_told_apart)
{
	static const char *const names[] = { "a", "a ", "a b", "a 0", "a f", "a  ", "a\n", "a-", "aa", "f", "0" };
	EWS_CLEANUP(repo) struct ews_repo *repo = make_repo();
	EWS_CLEANUP(free) char *hooks = ews_path_join(repo->git_dir, "hooks");
	EWS_CLEANUP(fd) int fd = fixture_open_dir(hooks);

	fixture_shell("rm p/.git/hooks/*");
	for (size_t round = 0; round < fixture_rounds(200); round++) {
		EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
		EWS_CLEANUP(tripwire) struct ews_tripwire after = EWS_TRIPWIRE_INIT;
		EWS_CLEANUP(strv) struct ews_strv is = EWS_STRV_INIT;
		EWS_CLEANUP(strv) struct ews_strv changed = EWS_STRV_INIT;

		cr_assert_eq(ews_tripwire_take(&before, repo), 0);
		/* No text comes twice. */
		for (size_t n = fixture_pick(4); n; n--) {
			const char *name = FIXTURE_ONE_OF(names);
			EWS_CLEANUP(free) char *text = ews_strfmt("%zu %zu", round, n);

			if (fixture_pick(3))
				fixture_write(fd, name, text, strlen(text));
			else if (unlinkat(fd, name, 0) < 0)
				continue;
			ews_strv_add(&changed, name);
		}
		ews_strv_unique(&changed);
		cr_assert_eq(ews_tripwire_take(&after, repo), 0);
		/* One that came and went again did not change. */
		cr_assert_leq(ews_tripwire_compare(&is, &before, &after), (int)changed.n, "EWS_SEED=%zu: %s, %s",
			      fixture_seed(), is.items[0], is.items[1]);
		for (size_t i = 0; i < is.n; i++)
			cr_assert(i == 0 || strcmp(is.items[i - 1], is.items[i]) != 0);
	}
}

Test(tripwire, it_is_kept_with_the_session)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = make_repo();
	EWS_CLEANUP(tripwire) struct ews_tripwire taken = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire read = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(strv) struct ews_strv is = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");

	fixture_shell("touch \"p/.git/hooks/new\nline\" p/.git/hooks/tab\\\tx");
	cr_assert_eq(ews_tripwire_read(&read, fd), EWS_ENOTFOUND);
	cr_assert_eq(ews_tripwire_take(&taken, repo), 0);
	cr_assert_eq(ews_tripwire_write(fd, &taken), 0, "%s", ews_error_message());
	cr_assert_eq(ews_tripwire_read(&read, fd), 0, "%s", ews_error_message());
	cr_assert_eq(ews_tripwire_compare(&is, &taken, &read), 0);
	cr_assert_eq(read.lines.n, taken.lines.n);
}
