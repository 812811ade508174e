/*
 * Sessions: ids that git can live with, prefixes of one alone, and state files that nobody believes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/proc.h"
#include "fixture.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"

TestSuite(session, .init = fixture_begin_project, .fini = fixture_end_project);

static bool git_takes(const char *id)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt("refs/ews/sessions/%s", id);
	char *argv[] = { (char *)"git", (char *)"check-ref-format", ref, NULL };
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	const struct ews_proc proc = { .argv = argv, .err = &err };

	return ews_proc_run(&proc) == 0;
}

Test(session, git_takes_every_id_that_is_taken_as_part_of_a_ref)
{
	static const char *const pieces[] = { "a",    "B", "9",  ".", "..", "_",  "-",   ".lock",
					      "lock", "/", "@{", "~", " ",  "\n", "\xff" };
	size_t taken = 0;

	for (size_t round = 0; round < 10 * fixture_rounds(20); round++) {
		EWS_CLEANUP(buf) struct ews_buf id = EWS_BUF_INIT;

		for (size_t n = 1 + fixture_pick(4); n; n--)
			ews_buf_adds(&id, pieces[fixture_pick(fixture_pick(3) ? 9 : 15)]);
		if (ews_session_check_id(id.ptr) < 0)
			continue;
		taken++;
		cr_assert(git_takes(id.ptr), "EWS_SEED=%zu: '%s'", fixture_seed(), id.ptr);
		cr_assert_null(strchr(id.ptr, '/'));
	}
	cr_assert_gt(taken, 20);
}

Test(session, ids_are_what_the_design_says)
{
	static const char *const good[] = { "a",    "0",    "A.b_c-d", "qe-20260118-143022-1a2b3c",
					    "head", "lock", "a.lockx" };
	static const char *const bad[] = { "",     ".a",  "-a",  "_a",  "a.",  "a..b", "a.lock", ".lock",
					   "HEAD", "now", "all", "a/b", "a b", "../x", "a\n",    "\xc3\xa9" };
	char text[66];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_expect_eq(ews_session_check_id(good[i]), 0, "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_eq(ews_session_check_id(bad[i]), EWS_EUSAGE, "%s", bad[i]);
	memset(text, 'a', 65);
	text[65] = '\0';
	cr_expect_eq(ews_session_check_id(text), EWS_EUSAGE);
	text[64] = '\0';
	cr_expect_eq(ews_session_check_id(text), 0);
}

/* A session of that state, in its directory. */
static void make_session(const char *id, enum ews_session_state state, const char *workspace)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt("sessions/%s", id);
	EWS_CLEANUP(fd) int fd = ews_repo_subdir(fixture_repo, rel);
	EWS_CLEANUP(state) struct ews_state written = { .state = state };

	cr_assert_geq(fd, 0);
	written.id = ews_strdup(id);
	written.method = ews_strdup("worktree");
	written.workspace = workspace ? ews_strdup(workspace) : ews_strfmt("%s/qe/%s", fixture_repo->dir, id);
	cr_assert_eq(ews_state_write(fd, &written), 0, "%s", ews_error_message());
}

/* What `name` means; the word for the failure where it means nothing. */
static void assert_means(const char *name, const char *should)
{
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ews_session_resolve(&id, fixture_repo, name);

	cr_expect_str_eq(rc < 0 ? ews_error_word(rc) : id, should, "%s", name ? name : "(none)");
}

Test(session, a_name_means_one_session_or_none)
{
	assert_means(NULL, "not_found");
	assert_means("a", "not_found");
	make_session("abc", EWS_STATE_ACTIVE, NULL);
	assert_means(NULL, "abc");
	make_session("ab", EWS_STATE_ENDED, NULL);
	make_session("b", EWS_STATE_ACTIVE, NULL);
	fixture_shell("mkdir '%s/sessions/.hidden' '%s/sessions/a b' && : >'%s/sessions/abf'", fixture_repo->dir,
		      fixture_repo->dir, fixture_repo->dir);
	assert_means("abc", "abc");
	assert_means("ab", "ab");
	assert_means("b", "b");
	assert_means("", "usage");
	assert_means("../b", "usage");
	assert_means("x", "not_found");
	cr_assert_eq(ews_session_resolve(&(char *){ NULL }, fixture_repo, "a"), EWS_EUSAGE);
	cr_assert(strstr(ews_error_hint_text(), "ab, abc"));
	cr_assert_eq(ews_session_resolve(&(char *){ NULL }, fixture_repo, NULL), EWS_EUSAGE);
	setenv("EWS_SESSION", "abc", 1);
	assert_means(NULL, "abc");
	fixture_repo->here = ews_strdup("b");
	assert_means(NULL, "b");
}

static int open_named(const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

	return ews_session_open(&session, fixture_repo, id);
}

Test(session, a_state_that_names_another_place_is_damage)
{
	make_session("good", EWS_STATE_ACTIVE, NULL);
	make_session("root", EWS_STATE_ACTIVE, "/");
	make_session("relative", EWS_STATE_ACTIVE, "relative");
	make_session("other", EWS_STATE_ACTIVE, "/srv/another");
	make_session("dots", EWS_STATE_ACTIVE, "/srv/../etc/dots");
	make_session("empty", EWS_STATE_ACTIVE, "");
	make_session("inside", EWS_STATE_ACTIVE, "/srv//inside");
	fixture_shell("cd '%s/sessions' && cp -r good renamed && mkdir bare && ln -s good link &&"
		      "mkdir method && sed 's/worktree/magic/;s/good/method/g' good/state.json >method/state.json",
		      fixture_repo->dir);
	cr_assert_eq(open_named("good"), 0, "%s", ews_error_message());
	cr_expect_eq(open_named("root"), EWS_EDAMAGED);
	cr_expect_eq(open_named("relative"), EWS_EDAMAGED);
	cr_expect_eq(open_named("other"), EWS_EDAMAGED);
	cr_expect_eq(open_named("dots"), EWS_EDAMAGED);
	cr_expect_eq(open_named("empty"), EWS_EDAMAGED);
	cr_expect_eq(open_named("inside"), EWS_EDAMAGED);
	cr_expect_eq(open_named("renamed"), EWS_EDAMAGED);
	cr_expect_eq(open_named("bare"), EWS_EDAMAGED);
	cr_expect_eq(open_named("method"), EWS_EUNSUPPORTED);
	cr_expect_lt(open_named("link"), 0);
}

Test(session, of_two_that_lock_one_has_it)
{
	EWS_CLEANUP(session) struct ews_session first = EWS_SESSION_INIT;
	EWS_CLEANUP(session) struct ews_session second = EWS_SESSION_INIT;

	make_session("s", EWS_STATE_STARTING, NULL);
	cr_assert_eq(ews_session_open(&first, fixture_repo, "s"), 0);
	cr_assert_eq(ews_session_open(&second, fixture_repo, "s"), 0);
	cr_assert(ews_session_is_interrupted(&first));
	cr_assert_eq(ews_session_lock(&first, "start"), 0, "%s", ews_error_message());
	cr_assert_not(ews_session_is_interrupted(&second));
	cr_assert_eq(ews_session_lock(&second, "end"), EWS_EBUSY);
	/* What the first wrote meanwhile is what the second sees once it has the lock. */
	first.state.state = EWS_STATE_ACTIVE;
	cr_assert_eq(ews_session_save(&first), 0);
	ews_session_release(&first);
	cr_assert_eq(ews_session_lock(&second, "end"), 0, "%s", ews_error_message());
	cr_assert_eq(second.state.state, EWS_STATE_ACTIVE);
	cr_assert_not(ews_session_is_interrupted(&second));
}
