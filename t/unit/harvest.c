/*
 * Which path is a test, and of what kind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/harvest.h"

#include <criterion/criterion.h>

#include "base/error.h"
#include "fixture.h"

TestSuite(harvest, .init = fixture_begin, .fini = fixture_end);

static const struct {
	const char *path;
	enum ews_artifact_type type;
} usual[] = {
	{ "test_a.py", EWS_ARTIFACT_TEST_UNIT },
	{ "pkg/a_test.py", EWS_ARTIFACT_TEST_UNIT },
	{ "pkg/a_test.go", EWS_ARTIFACT_TEST_UNIT },
	{ "src/a.test.ts", EWS_ARTIFACT_TEST_UNIT },
	{ "src/a.spec.js", EWS_ARTIFACT_TEST_UNIT },
	{ "t/t0001-basic.sh", EWS_ARTIFACT_TEST_UNIT },
	{ "tests/deep/er/a.rs", EWS_ARTIFACT_TEST_UNIT },
	{ "tests/integration/a.rs", EWS_ARTIFACT_TEST_INTEGRATION },
	{ "src/main/UserIT.java", EWS_ARTIFACT_TEST_INTEGRATION },
	{ "src/UserApiTest.java", EWS_ARTIFACT_TEST_API },
	{ "tests/contract_orders.py", EWS_ARTIFACT_TEST_CONTRACT },
	{ "e2e/login.spec.ts", EWS_ARTIFACT_TEST_E2E },
	{ "cypress/login.cy.js", EWS_ARTIFACT_TEST_E2E },
	{ "fuzz/fuzz_targets/parse.rs", EWS_ARTIFACT_TEST_FUZZ },
	{ "tests/load/many.py", EWS_ARTIFACT_TEST_LOAD },
	{ "tests/download.py", EWS_ARTIFACT_TEST_UNIT },
	{ "tests/regression/bug_12.py", EWS_ARTIFACT_TEST_REGRESSION },
	{ "tests/security/test_xss.py", EWS_ARTIFACT_TEST_SECURITY },
	{ "src/latest.py", 0 },
	{ "contest/a.py", 0 },
	{ "src/api.py", 0 },
	{ "docs/testing.md", 0 },
	{ "tests/__pycache__/test_a.pyc", 0 },
	{ "node_modules/x/a.test.js", 0 },
};

/* The type of test that `path` is, when it is added; 0: none. */
static enum ews_artifact_type judge(struct ews_repo *repo, const char *path)
{
	EWS_CLEANUP(harvest) struct ews_harvest found = EWS_HARVEST_INIT;
	struct ews_diff_record record = { .path = (char *)path, .status = 'A', .new_mode = 0100644 };
	const struct ews_diff diff = { .items = &record, .n = 1 };

	cr_assert_eq(ews_harvest_find(&found, repo, &diff), 0, "%s", ews_error_message());
	return found.n ? found.items[0].type : 0;
}

Test(harvest, the_usual_rules_know_common_names)
{
	struct ews_repo *repo = fixture_make_project("p", 0);

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		enum ews_artifact_type type = judge(repo, usual[i].path);

		cr_expect_eq(type, usual[i].type, "%s is taken for %s", usual[i].path,
			     type ? ews_artifact_type_word(type) : "no test");
	}
	ews_repo_free(repo);
}

Test(harvest, own_rules_take_their_place_and_the_last_decides)
{
	struct ews_repo *repo;

	ews_repo_free(fixture_make_project("p", 0));
	fixture_shell(
		"printf 'qe:\\n  artifacts:\\n    tests: [\"checks/** -> api\", \"*.slow -> load\", \"!data/\"]\\n' >p/" EWS_CONFIG_FILE);
	cr_assert_eq(ews_repo_open_at(&repo, "p", "home"), 0, "%s", ews_error_message());
	cr_assert_eq(judge(repo, "checks/a/b"), EWS_ARTIFACT_TEST_API);
	cr_assert_eq(judge(repo, "checks/a.slow"), EWS_ARTIFACT_TEST_LOAD);
	cr_assert_eq(judge(repo, "checks/data/a"), 0);
	cr_assert_eq(judge(repo, "test_a.py"), 0);
	ews_repo_free(repo);
}
