/*
 * Nobody collects a store of ours while a batch writes to it, and a repository of git's has no gate at all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gate.h"

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"
#include "store/batch.h"
#include "store/git.h"

TestSuite(gate, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static char *make_store(struct ews_odb **odb)
{
	char *cwd = getcwd(NULL, 0);
	EWS_CLEANUP(free) char *own = cwd;
	char *store = ews_path_join(own, "store.git");

	cr_assert_eq(ews_git_make_bare(store, EWS_SHA1), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_open(odb, store, NULL), 0, "%s", ews_error_message());
	return store;
}

Test(gate, it_is_shut_when_the_last_writer_has_gone)
{
	EWS_CLEANUP(odb) struct ews_odb *odb = NULL;
	EWS_CLEANUP(free) char *store = make_store(&odb);
	EWS_CLEANUP(fd) int gate = -1;
	struct ews_batch *one = ews_batch_new(odb), *other = ews_batch_new(odb);

	cr_assert_eq(ews_gate_shut(store, 0), EWS_EBUSY);
	ews_batch_free(one);
	cr_assert_eq(ews_gate_shut(store, 20), EWS_EBUSY);
	/* What was written is still nobody's until there is a ref. */
	cr_assert_eq(ews_batch_commit(other), 0);
	cr_assert_eq(ews_gate_shut(store, 0), EWS_EBUSY);
	ews_batch_free(other);
	gate = ews_gate_shut(store, 0);
	cr_assert_geq(gate, 0, "%s", ews_error_message());
	cr_assert_eq(ews_gate_shut(store, 0), EWS_EBUSY);
}

Test(gate, a_repository_of_gits_has_none)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project("p", 0);
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);

	cr_assert_not_null(batch);
	cr_assert_eq(ews_gate_enter(repo->common_dir), -1);
	cr_assert_neq(access(".git/" EWS_GATE_FILE, F_OK), 0);
}
