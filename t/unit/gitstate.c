/*
 * Git state: written and read again it is the same to the byte and the time, and nothing under way is lost.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitstate.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"

static int git_fd = -1;
static int keep_fd = -1;

static void set_up(void)
{
	fixture_begin();
	fixture_shell("mkdir git keep");
	git_fd = fixture_open_dir("git");
	keep_fd = fixture_open_dir("keep");
}

static void tear_down(void)
{
	close(git_fd);
	close(keep_fd);
	fixture_end();
}

TestSuite(gitstate, .init = set_up, .fini = tear_down);

static void read_state(struct ews_gitstate *out)
{
	ews_gitstate_release(out);
	cr_assert_eq(ews_gitstate_read(out, git_fd), 0, "%s", ews_error_message());
}

static void write_state(const struct ews_gitstate *state)
{
	cr_assert_eq(ews_gitstate_write(state, git_fd, keep_fd, EWS_SHARING_NONE, NULL), 0, "%s",
		     ews_error_message());
}

static void make_random(struct ews_gitstate *out)
{
	static const char *const names[] = {
		"HEAD",       "ORIG_HEAD",  "MERGE_HEAD",
		"MERGE_MSG",  "MERGE_MODE", "MERGE_RR",
		"AUTO_MERGE", "SQUASH_MSG", "sharedindex.0123456789012345678901234567890123456789"
	};

	for (size_t n = fixture_pick(8); n; n--)
		ews_gitstate_set_file(out, FIXTURE_ONE_OF(names), "a\0b\n", fixture_pick(5));
	out->has_index = fixture_pick(3);
	if (!out->has_index)
		return;
	ews_buf_add(&out->index, "DIRC\0\1", fixture_pick(7));
	out->index_mtime_s = 1700000000 + (int64_t)fixture_pick(2);
	out->index_mtime_ns = 1 + (uint32_t)fixture_pick(2) * 123456788;
}

static bool is_in_order(const struct ews_gitstate *state)
{
	for (size_t i = 1; i < state->files.n; i++)
		if (strcmp(state->files.items[i - 1].name, state->files.items[i].name) >= 0)
			return false;
	return true;
}

Test(gitstate, what_is_written_over_another_state_is_read_again)
{
	for (size_t round = 0; round < fixture_rounds(60); round++) {
		EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
		EWS_CLEANUP(gitstate) struct ews_gitstate back = EWS_GITSTATE_INIT;
		EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;

		make_random(&state);
		write_state(&state);
		read_state(&back);
		ews_gitstate_differences(&differences, &state, &back);
		cr_assert_eq(differences.n, 0, "EWS_SEED=%zu, round %zu: %s", fixture_seed(), round,
			     differences.items[0]);
		cr_assert_eq(back.files.n, state.files.n);
		cr_assert(is_in_order(&back));
	}
}

Test(gitstate, a_difference_is_named_by_what_differs)
{
	for (size_t round = 0; round < fixture_rounds(300); round++) {
		EWS_CLEANUP(gitstate) struct ews_gitstate a = EWS_GITSTATE_INIT;
		EWS_CLEANUP(gitstate) struct ews_gitstate b = EWS_GITSTATE_INIT;
		EWS_CLEANUP(strv) struct ews_strv is = EWS_STRV_INIT;
		EWS_CLEANUP(strv) struct ews_strv should = EWS_STRV_INIT;

		make_random(&a);
		make_random(&b);
		for (size_t i = 0; i < a.files.n + b.files.n; i++) {
			const char *name = i < a.files.n ? a.files.items[i].name : b.files.items[i - a.files.n].name;
			const struct ews_gitstate_file *x = ews_gitstate_file(&a, name);
			const struct ews_gitstate_file *y = ews_gitstate_file(&b, name);

			if (!x || !y || x->data.len != y->data.len || memcmp(x->data.ptr, y->data.ptr, x->data.len))
				ews_strv_add(&should, name);
		}
		if (a.has_index != b.has_index ||
		    (a.has_index && (a.index.len != b.index.len || a.index_mtime_s != b.index_mtime_s ||
				     a.index_mtime_ns != b.index_mtime_ns)))
			ews_strv_add(&should, "index");
		ews_strv_unique(&should);
		ews_gitstate_differences(&is, &a, &b);
		ews_strv_sort(&is);
		cr_assert_eq(is.n, should.n, "EWS_SEED=%zu, round %zu", fixture_seed(), round);
		for (size_t i = 0; i < is.n; i++)
			cr_assert_str_eq(is.items[i], should.items[i]);
	}
}

/* By reading all of it. */
static bool is_index_of(const struct ews_gitstate *state)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate now = EWS_GITSTATE_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

	read_state(&now);
	ews_gitstate_differences(&names, state, &now);
	return state->has_index && !ews_strv_has(&names, "index");
}

Test(gitstate, an_index_is_known_again_without_being_held)
{
	size_t n[2] = { 0 };

	for (int round = 0; round < 100; round++) {
		EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
		EWS_CLEANUP(gitstate) struct ews_gitstate noted = EWS_GITSTATE_INIT;
		EWS_CLEANUP(free) char *bytes = ews_calloc(200000, 1);

		/* Longer than what is compared at once, and as long, too. */
		state.has_index = fixture_pick(8);
		ews_buf_add(&state.index, bytes, fixture_pick(2) ? 65536 * fixture_pick(4) : fixture_pick(200000));
		state.index_mtime_s = (int64_t)fixture_pick(100);
		state.index_mtime_ns = 5;
		write_state(&state);
		if (state.index.len && !fixture_pick(3))
			state.index.ptr[fixture_pick(state.index.len)] ^= 1;
		else if (!fixture_pick(4))
			state.index_mtime_ns ^= 1;
		else if (!fixture_pick(4))
			ews_buf_addc(&state.index, 0);
		else if (!fixture_pick(6))
			fixture_shell("rm -f git/index && ln -s ../keep git/index");
		n[is_index_of(&state)]++;
		cr_assert_eq(ews_gitstate_has_index(&state, git_fd), is_index_of(&state), "EWS_SEED=%zu, round %d",
			     fixture_seed(), round);
		ews_gitstate_note_index(&noted, git_fd);
		read_state(&state);
		cr_assert_eq(noted.has_index, state.has_index);
		cr_assert_eq(noted.index_mtime_s, state.index_mtime_s);
		cr_assert_eq(noted.index_mtime_ns, state.index_mtime_ns);
		fixture_shell("rm -f git/index");
	}
	cr_assert(n[false] && n[true]);
}

/* Is the index of second 1000.123456789 known again where the file system made `s`.`ns` of that? */
static bool is_known_as(int64_t s, uint32_t ns)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { s, ns } };
	bool is_known;

	state.has_index = true;
	ews_buf_adds(&state.index, "DIRC");
	state.index_mtime_s = 1000;
	state.index_mtime_ns = 123456789;
	write_state(&state);
	cr_assert_eq(utimensat(git_fd, "index", times, 0), 0);
	is_known = ews_gitstate_has_index(&state, git_fd);
	cr_assert_eq(is_known, is_index_of(&state));
	return is_known;
}

Test(gitstate, an_index_is_known_again_where_its_time_was_cut)
{
	cr_assert(is_known_as(1000, 123456789));
	cr_assert(is_known_as(1000, 123456700));
	cr_assert(is_known_as(1000, 0));
	cr_assert_not(is_known_as(1000, 123456788));
	cr_assert_not(is_known_as(1000, 123456800));
	cr_assert_not(is_known_as(999, 0));
	cr_assert_not(is_known_as(1001, 0));
}

Test(gitstate, a_merge_that_came_later_goes_and_the_rest_of_the_directory_stays)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;

	fixture_write(git_fd, "HEAD", "ref: refs/heads/main\n", 21);
	fixture_write(git_fd, "config", "[core]\n", 7);
	read_state(&state);
	fixture_shell(
		"cd git && for f in MERGE_HEAD MERGE_MSG MERGE_MODE MERGE_RR AUTO_MERGE ORIG_HEAD SQUASH_MSG index;"
		"do echo x >$f; done; echo y >HEAD; mkdir logs; echo z >COMMIT_EDITMSG");
	write_state(&state);
	fixture_shell("cd git && test \"$(echo *)\" = 'COMMIT_EDITMSG HEAD config logs' &&"
		      "test \"$(cat HEAD)\" = 'ref: refs/heads/main'");
}

Test(gitstate, what_is_under_way_is_named_and_put_away_whole)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
	EWS_CLEANUP(gitstate) struct ews_gitstate now = EWS_GITSTATE_INIT;
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;

	fixture_write(git_fd, "HEAD", "x\n", 2);
	fixture_shell("cd git && echo 0 >CHERRY_PICK_HEAD");
	read_state(&state);
	fixture_shell("cd git && mkdir rebase-merge sequencer && echo 1 >rebase-merge/done && echo 2 >BISECT_LOG");
	read_state(&now);
	cr_assert_eq(now.left.n, 3);
	ews_gitstate_differences(&differences, &state, &now);
	cr_assert_eq(differences.n, 3);
	cr_assert_eq(ews_gitstate_write(&state, git_fd, -1, EWS_SHARING_NONE, NULL), 0);
	fixture_shell("test -f git/rebase-merge/done && test -f git/BISECT_LOG");
	cr_assert_eq(ews_gitstate_write(&state, git_fd, keep_fd, EWS_SHARING_NONE, NULL), 0, "%s",
		     ews_error_message());
	fixture_shell("test \"$(echo git/*)\" = 'git/CHERRY_PICK_HEAD git/HEAD' &&"
		      "test \"$(cat keep/rebase-merge/done keep/BISECT_LOG)\" = '1\n2' && test -d keep/sequencer");
}

Test(gitstate, what_was_left_then_stays_while_it_does_not_change)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
	EWS_CLEANUP(gitstate) struct ews_gitstate now = EWS_GITSTATE_INIT;
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;

	fixture_write(git_fd, "HEAD", "x\n", 2);
	fixture_shell(
		"cd git && mkdir rebase-merge index && echo 1 >rebase-merge/msgnum && ln -s ../outside MERGE_MSG &&"
		"touch -d @1000000000 rebase-merge/msgnum rebase-merge");
	read_state(&state);
	cr_assert_eq(state.left.n, 3);
	write_state(&state);
	read_state(&now);
	ews_gitstate_differences(&differences, &state, &now);
	cr_assert_eq(differences.n, 0);
	fixture_shell("test \"$(cat git/rebase-merge/msgnum)\" = 1 && test -L git/MERGE_MSG && test -d git/index");
	/* As git goes on with one: of the directory itself nothing changes. */
	fixture_shell("cd git && echo 2 >rebase-merge/msgnum && touch -d @1000000000 rebase-merge");
	read_state(&now);
	ews_gitstate_list_strange(&differences, &state, &now);
	cr_assert_eq(differences.n, 1);
	cr_assert_str_eq(differences.items[0], "rebase-merge");
	write_state(&state);
	fixture_shell("test \"$(echo git/*)\" = 'git/HEAD git/MERGE_MSG git/index' &&"
		      "test \"$(cat keep/rebase-merge/msgnum)\" = 2");
}

Test(gitstate, a_file_never_goes_over_what_could_not_be_read)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;

	fixture_shell("cd git && echo 1 >HEAD && echo 2 >MERGE_MSG && echo 3 >MERGE_HEAD && echo 4 >index");
	read_state(&state);
	fixture_shell("cd git && truncate -s 65M MERGE_MSG && rm MERGE_HEAD index && ln -s ../outside MERGE_HEAD &&"
		      "ln -s ../outside index");
	write_state(&state);
	fixture_shell(
		"test \"$(cat git/MERGE_MSG git/MERGE_HEAD git/index | tr '\n' ' ')\" = '2 3 4 ' &&"
		"test \"$(stat -c %%s keep/MERGE_MSG)\" = 68157440 && test -L keep/MERGE_HEAD && test -L keep/index");
}

Test(gitstate, what_is_left_is_named_with_why)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;

	fixture_shell(
		"cd git && mkdir rebase-merge && touch index.lock && truncate -s 65M MERGE_MSG && mkfifo MERGE_HEAD &&"
		"truncate -s 65M sharedindex.0123456789012345678901234567890123456789");
	read_state(&state);
	cr_assert_eq(state.left.n, 4);
	cr_assert_str_eq(ews_gitstate_why_left(ews_gitstate_left(&state, "rebase-merge")), "under way");
	cr_assert_str_eq(ews_gitstate_why_left(ews_gitstate_left(&state, "index.lock")), "under way");
	cr_assert_str_eq(ews_gitstate_why_left(ews_gitstate_left(&state, "MERGE_MSG")), "too large");
	cr_assert_str_eq(ews_gitstate_why_left(ews_gitstate_left(&state, "MERGE_HEAD")), "no file");
}

Test(gitstate, what_was_kept_before_is_not_overwritten)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;

	fixture_write(git_fd, "HEAD", "x\n", 2);
	read_state(&state);
	fixture_shell("mkdir git/rebase-merge && echo 1 >git/rebase-merge/n");
	write_state(&state);
	fixture_shell("mkdir git/rebase-merge && echo 2 >git/rebase-merge/n");
	write_state(&state);
	fixture_shell("cat keep/*/n | sort | tr -d '\\n' | grep -x 12 && test \"$(echo git/*)\" = git/HEAD");
}

Test(gitstate, what_is_no_file_says_nothing_and_is_never_waited_for)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;

	fixture_shell("cd git && mkfifo index MERGE_MSG && ln -s /etc/passwd MERGE_HEAD && mkdir ORIG_HEAD");
	read_state(&state);
	cr_assert_eq(state.files.n, 0);
	cr_assert_not(state.has_index);
	fixture_shell("cd git && rm index && ln -s /etc/passwd index");
	read_state(&state);
	cr_assert_not(state.has_index);
	fixture_shell(
		"cd git && rm index && perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0 and bind S, sockaddr_un(\"index\") or die'");
	read_state(&state);
	cr_assert_not(state.has_index);
}

Test(gitstate, a_file_takes_the_place_of_what_is_none)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
	EWS_CLEANUP(gitstate) struct ews_gitstate back = EWS_GITSTATE_INIT;
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;

	fixture_shell("cd git && printf x >../outside && echo 1 >HEAD && echo 2 >index && echo 3 >MERGE_MSG");
	read_state(&state);
	fixture_shell(
		"cd git && rm HEAD index MERGE_MSG && ln -s ../outside HEAD && ln -s ../outside index && mkfifo MERGE_MSG");
	write_state(&state);
	read_state(&back);
	ews_gitstate_differences(&differences, &state, &back);
	cr_assert_eq(differences.n, 0);
	fixture_shell("test \"$(cat outside)\" = x");
}

Test(gitstate, a_head_that_is_a_link_means_the_ref_that_it_names)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
	const struct ews_gitstate_file *head;

	fixture_shell("cd git && ln -s refs/heads/main HEAD");
	read_state(&state);
	head = ews_gitstate_file(&state, "HEAD");
	cr_assert(head);
	cr_assert_str_eq(head->data.ptr, "ref: refs/heads/main\n");
}
