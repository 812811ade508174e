/*
 * Any wish becomes a name that is safe, and a safe name stays.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact_type.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "fixture.h"

static void assert_becomes(const char *wanted, const char *name)
{
	EWS_CLEANUP(free) char *got = ews_artifact_name_safe(wanted);

	cr_assert_str_eq(got, name, "'%s' became '%s'", wanted, got);
}

Test(artifact_type, names_lose_what_is_not_plain)
{
	assert_becomes("a.patch", "a.patch");
	assert_becomes("../../a", "a");
	assert_becomes("/etc/passwd", "etc_passwd");
	assert_becomes(".hidden", "hidden");
	assert_becomes("--to=x", "to_x");
	assert_becomes("a\n\tb", "a_b");
	assert_becomes("a..b...c", "a.b.c");
	assert_becomes("\303\251t\303\251.log", "t_.log");
	assert_becomes("a.", "a");
	assert_becomes("", "artifact");
	assert_becomes("///", "artifact");
}

Test(artifact_type, any_bytes_become_a_safe_name)
{
	for (size_t round = 0; round < 20000; round++) {
		char wanted[400];
		size_t len = fixture_pick(fixture_pick(2) ? 12 : sizeof(wanted) - 1);

		for (size_t i = 0; i < len; i++)
			wanted[i] = (char)(fixture_pick(2) ? "./-_a\\"[fixture_pick(6)] : 1 + (int)fixture_pick(255));
		wanted[len] = '\0';
		EWS_CLEANUP(free) char *name = ews_artifact_name_safe(wanted);
		EWS_CLEANUP(free) char *again = ews_artifact_name_safe(name);
		EWS_CLEANUP(free) char *second = ews_artifact_name_nth(name, 99999);

		cr_assert(ews_artifact_name_is_safe(name), "'%s'", name);
		cr_assert(ews_artifact_name_is_safe(second), "'%s'", second);
		cr_assert_str_eq(name, again);
	}
}

Test(artifact_type, numbers_stand_before_the_ending)
{
	EWS_CLEANUP(free) char *first = ews_artifact_name_nth("a.patch", 1);
	EWS_CLEANUP(free) char *second = ews_artifact_name_nth("a.patch", 2);
	EWS_CLEANUP(free) char *plain = ews_artifact_name_nth("a", 3);

	cr_assert_str_eq(first, "a.patch");
	cr_assert_str_eq(second, "a-2.patch");
	cr_assert_str_eq(plain, "a-3");
}

Test(artifact_type, a_path_is_that_of_its_type_alone)
{
	cr_assert(ews_artifact_path_is_safe("patches/a", EWS_ARTIFACT_PATCH));
	cr_assert(ews_artifact_path_is_safe("a", EWS_ARTIFACT_SUMMARY));
	cr_assert_not(ews_artifact_path_is_safe("logs/a", EWS_ARTIFACT_PATCH));
	cr_assert_not(ews_artifact_path_is_safe("patches/../a", EWS_ARTIFACT_PATCH));
	cr_assert_not(ews_artifact_path_is_safe("patches/..", EWS_ARTIFACT_PATCH));
	cr_assert_not(ews_artifact_path_is_safe("/patches/a", EWS_ARTIFACT_PATCH));
	cr_assert_not(ews_artifact_path_is_safe("patches/", EWS_ARTIFACT_PATCH));
	cr_assert_not(ews_artifact_path_is_safe("patches/.a", EWS_ARTIFACT_PATCH));
}

Test(artifact_type, words_are_read_in_any_case)
{
	enum ews_artifact_type type = 0;

	for (unsigned t = 1; t < EWS_ARTIFACT_END; t++) {
		cr_assert_eq(ews_artifact_type_read(&type, ews_artifact_type_word(t)), 0);
		cr_assert_eq(type, t);
	}
	cr_assert_eq(ews_artifact_type_read(&type, "Test-E2E"), 0);
	cr_assert_eq(type, EWS_ARTIFACT_TEST_E2E);
	cr_assert_eq(ews_artifact_type_read(&type, "test"), EWS_EUSAGE);
}
