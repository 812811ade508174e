/*
 * Fixture: see fixture_session.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture_session.h"

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"
#include "work/session_lock.h"
#include "work/session_open.h"
#include "work/start.h"

char *fixture_start(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(start_result) struct ews_start_result result = EWS_START_RESULT_INIT;
	const struct ews_start_opts opts = {
		.id = id, .uncommitted = -1, .untracked = -1, .keep_ignored = EWS_KEEP_IGNORED_NO
	};

	cr_assert_eq(ews_start(&result, repo, &opts), 0, "EWS_SEED=%zu: %s", fixture_seed(), ews_error_message());
	return ews_strdup(result.session.state.workspace);
}

void fixture_open_session(struct ews_session *out, struct ews_repo *repo, const char *id)
{
	cr_assert_eq(ews_session_open(out, repo, id), 0, "%s", ews_error_message());
	cr_assert_eq(ews_session_lock(out, "test"), 0, "%s", ews_error_message());
}

void fixture_revert(struct ews_repo *repo, const char *id, struct ews_revert_opts opts)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(revert_result) struct ews_revert_result result = EWS_REVERT_RESULT_INIT;

	opts.verb = "revert";
	fixture_open_session(&session, repo, id);
	cr_assert_eq(ews_revert(&result, &session, &opts), 0, "EWS_SEED=%zu: %s", fixture_seed(),
		     ews_error_message());
	cr_assert(result.put.is_verified, "EWS_SEED=%zu: %s", fixture_seed(), result.put.errors.items[0]);
	cr_assert_str_eq(result.put.original_hash, result.put.current_hash);
}
