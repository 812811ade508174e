/*
 * Round records: what is written is read as the same, nonsense is refused, and what others call whom tells nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/round_record.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

TestSuite(round_record);

static struct ews_round make_round(const char *agent, const char *alias)
{
	return (struct ews_round){ .id = ews_strdup("0123abcd"),
				   .team = ews_strdup("red"),
				   .agent = ews_strdup(agent),
				   .alias = ews_strdup(alias),
				   .label = ews_strdup("a/\xe9"),
				   .branch = ews_strdup("b"),
				   .archive = ews_strdup("c"),
				   .base = ews_strdup("d"),
				   .sequence = 7,
				   .created_s = 1700000000,
				   .is_settled = true,
				   .is_branched = true,
				   .branch_at = { .len = 20, .id = { 0xab } } };
}

Test(round_record, what_is_written_is_read_as_the_same)
{
	EWS_CLEANUP(round) struct ews_round round = make_round("alice", "agent1");
	EWS_CLEANUP(round) struct ews_round read = { 0 };
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf again = EWS_BUF_INIT;

	ews_round_format(&text, &round);
	cr_assert_eq(ews_round_parse(&read, text.ptr, text.len), 0, "%s", ews_error_message());
	ews_round_format(&again, &read);
	cr_assert_str_eq(again.ptr, text.ptr);
	cr_assert_str_eq(read.label, "a/\xe9");
	cr_assert_eq(read.sequence, 7);
	cr_assert(read.is_settled && read.is_branched && !read.owns_scratch);
	cr_assert(ews_oid_equal(&read.branch_at, &round.branch_at));
}

Test(round_record, of_an_older_version_nobody_knows_where_the_branch_was_put)
{
	EWS_CLEANUP(round) struct ews_round round = make_round("alice", "agent1");
	EWS_CLEANUP(round) struct ews_round read = { 0 };
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	round.branch_at = (struct ews_oid)EWS_OID_NONE;
	ews_round_format(&text, &round);
	cr_assert_null(strstr(text.ptr, "branch_at"));
	cr_assert_eq(ews_round_parse(&read, text.ptr, text.len), 0, "%s", ews_error_message());
	cr_assert(read.is_branched && ews_oid_is_none(&read.branch_at));
}

static void refuse(const char *was, const char *is)
{
	EWS_CLEANUP(round) struct ews_round round = make_round("alice", "agent1");
	EWS_CLEANUP(round) struct ews_round read = { 0 };
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf bent = EWS_BUF_INIT;
	const char *at;

	ews_round_format(&text, &round);
	at = strstr(text.ptr, was);
	cr_assert(at, "%s", was);
	ews_buf_addf(&bent, "%.*s%s%s", (int)(at - text.ptr), text.ptr, is, at + strlen(was));
	cr_assert_lt(ews_round_parse(&read, bent.ptr, bent.len), 0, "%s", is);
	cr_assert_null(read.id);
}

Test(round_record, nonsense_is_refused)
{
	refuse("\"0123abcd\"", "\"../abcd\"");
	refuse("\"0123abcd\"", "\"0123ABCD\"");
	refuse("\"red\"", "\"../red\"");
	refuse("\"alice\"", "\"\"");
	refuse("\"c\"", "\"../c\"");
	refuse("7", "\"7\"");
	refuse("true", "1");
	refuse("\"ab00", "\"xy00");
	refuse("\"version\":\t1", "\"version\":\t2");
}

Test(round_record, the_name_of_a_round_is_eight_digits)
{
	cr_assert(ews_round_is_id("0123abcd"));
	cr_assert_not(ews_round_is_id("0123abc"));
	cr_assert_not(ews_round_is_id("0123abcde"));
	cr_assert_not(ews_round_is_id("0123abcg"));
	cr_assert_not(ews_round_is_id("0123ABCD"));
}

static void assert_alias(struct ews_rounds *rounds, const char *agent, const char *want)
{
	EWS_CLEANUP(free) char *alias = ews_round_alias(rounds, agent);

	cr_assert_str_eq(alias, want, "%s is %s", agent, alias);
	EWS_GROW(rounds->items, rounds->n, rounds->cap);
	rounds->items[rounds->n++] = make_round(agent, alias);
}

Test(round_record, others_call_an_agent_by_what_tells_nothing)
{
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;

	assert_alias(&rounds, "alice", "agent1");
	assert_alias(&rounds, "agent3", "agent3");
	assert_alias(&rounds, "bob", "agent2");
	assert_alias(&rounds, "carol", "agent4");
	assert_alias(&rounds, "agent01", "agent5");
	assert_alias(&rounds, "agentx", "agent6");
	assert_alias(&rounds, "alice", "agent1");
	assert_alias(&rounds, "agent1", "agent1");
	assert_alias(&rounds, "alice", "agent7");
	assert_alias(&rounds, "alice", "agent7");
	assert_alias(&rounds, "agent7", "agent7");
	assert_alias(&rounds, "alice", "agent8");
	assert_alias(&rounds, "agent1", "agent1");
}
