/*
 * A reflog tells what was done by its name: from where to where, when it took place; or that it can't tell.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/reflog.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fixture.h"

#define BRANCH "refs/heads/side"
#define WHO " A <a@example.com> 1600000000 +0000\t"
#define ACTION "commit (ews op-1)"

/* Commits of the project, by letter, oldest first; '0' is none. */
static struct ews_oid ids[4];

static struct ews_oid id_of(char letter)
{
	return letter == '0' ? (struct ews_oid)EWS_OID_NONE : ids[letter - 'a'];
}

static void begin(void)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char *rest = NULL, *hex;
	size_t n = 0;

	fixture_begin_project();
	fixture_ask(&text, "cd p && for i in a b c d; do git commit-tree -m $i $(git write-tree) || exit; done");
	for (hex = strtok_r(text.ptr, "\n", &rest); hex; hex = strtok_r(NULL, "\n", &rest))
		cr_assert_eq(ews_oid_parse(&ids[n++], hex), 0);
	cr_assert_eq(n, 4);
	cr_assert_eq(ews_odb_refresh(fixture_repo->odb), 0);
}

TestSuite(reflog, .init = begin, .fini = fixture_end_project);

/* Have the branch be at `now`, and its log say of each pair of `moves` that it moved; "!" in front of one: by us. */
static void write_log(char now, const char *moves)
{
	char zero[EWS_OID_HEX_MAX] = "0000000000000000000000000000000000000000";
	char from[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];
	struct ews_oid oid = id_of(now);

	fixture_shell("cd p && git update-ref " BRANCH " %s && mkdir -p .git/logs/refs/heads && :>.git/logs/" BRANCH,
		      ews_oid_hex(to, &oid));
	for (const char *at = moves; *at; at += strspn(at, " ")) {
		bool is_ours = *at == '!';

		at += is_ours;
		oid = id_of(at[0]);
		ews_oid_hex(from, &oid);
		oid = id_of(at[1]);
		ews_oid_hex(to, &oid);
		fixture_shell("echo '%s %s" WHO "%s: a text' >>p/.git/logs/" BRANCH, at[0] == '0' ? zero : from, to,
			      is_ours ? ACTION : "commit");
		at += 2;
	}
}

/* What is found, as two letters; "no", or "??" where nobody can tell. */
static const char *find(char since)
{
	static char found[3];
	struct ews_oid from, to, begun = id_of(since);
	int rc = ews_reflog_find(&from, &to, fixture_repo->odb, BRANCH, ACTION, &begun);

	ews_error_clear();
	if (rc != 1)
		return rc == 0 ? "no" : rc == EWS_ENOTFOUND ? "??" : "error";
	strcpy(found, "00");
	for (char letter = 'a'; letter <= 'd'; letter++) {
		struct ews_oid oid = id_of(letter);

		if (ews_oid_equal(&from, &oid))
			found[0] = letter;
		if (ews_oid_equal(&to, &oid))
			found[1] = letter;
	}
	return found;
}

Test(reflog, what_was_done_is_known_again_among_what_others_did)
{
	write_log('b', "0a !ab");
	cr_assert_str_eq(find('a'), "ab");
	write_log('d', "0a ab !bc cd");
	cr_assert_str_eq(find('a'), "bc");
	write_log('a', "!0a");
	cr_assert_str_eq(find('0'), "0a");
	write_log('b', "0a ab");
	cr_assert_str_eq(find('a'), "no");
	write_log('a', "0a");
	cr_assert_str_eq(find('a'), "no");
}

Test(reflog, several_steps_upon_each_other_are_one)
{
	write_log('c', "0a !ab !bc");
	cr_assert_str_eq(find('a'), "ac");
	write_log('d', "0a !ab bc !cd");
	cr_assert_str_eq(find('a'), "cd");
}

Test(reflog, a_line_whose_move_did_not_take_place_counts_nothing)
{
	write_log('a', "0a !ab");
	cr_assert_str_eq(find('a'), "no");
	write_log('c', "0a !ab ac");
	cr_assert_str_eq(find('a'), "no");
	write_log('b', "0a !ab !bc");
	cr_assert_str_eq(find('a'), "ab");
}

Test(reflog, where_the_log_does_not_go_back_nobody_can_tell)
{
	write_log('b', "");
	cr_assert_str_eq(find('a'), "??");
	cr_assert_str_eq(find('b'), "no");
	write_log('c', "bc");
	cr_assert_str_eq(find('a'), "??");
	fixture_shell("rm p/.git/logs/" BRANCH);
	cr_assert_str_eq(find('a'), "??");
}
