/*
 * Artifact types: what they are called, where each lies, and the names that files may have there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_TYPE_H
#define EWS_WORK_ARTIFACT_TYPE_H

#include <stdbool.h>
#include <stddef.h>

enum ews_artifact_type {
	EWS_ARTIFACT_PATCH = 1,
	EWS_ARTIFACT_SUGGESTED_FIX,
	EWS_ARTIFACT_TEST_UNIT,
	EWS_ARTIFACT_TEST_INTEGRATION,
	EWS_ARTIFACT_TEST_E2E,
	EWS_ARTIFACT_TEST_API,
	EWS_ARTIFACT_TEST_CONTRACT,
	EWS_ARTIFACT_TEST_FUZZ,
	EWS_ARTIFACT_TEST_LOAD,
	EWS_ARTIFACT_TEST_REGRESSION,
	EWS_ARTIFACT_TEST_SECURITY,
	EWS_ARTIFACT_QR,
	EWS_ARTIFACT_COVERAGE,
	EWS_ARTIFACT_SUMMARY,
	EWS_ARTIFACT_LOG,
	EWS_ARTIFACT_ERROR,
	EWS_ARTIFACT_TRACE,
	EWS_ARTIFACT_SCREENSHOT,
	EWS_ARTIFACT_END, /* one more than the last */
};

/* "patch", "test_unit" */
const char *ews_artifact_type_word(enum ews_artifact_type type);
/* The type of that name, whatever its case, with '-' or '_'. Fails with EWS_EUSAGE. */
int ews_artifact_type_read(enum ews_artifact_type *out, const char *word);
/* Its directory, as seen from where artifacts are: "generated-tests/unit", "" for the place itself. */
const char *ews_artifact_type_dir(enum ews_artifact_type type);
/* Is that path a directory's for some type, or one above? No artifact may stand there. */
bool ews_artifact_type_needs(const char *path);
/* What the name of one ends in when nobody gave it a name: ".patch". */
const char *ews_artifact_type_suffix(enum ews_artifact_type type);
/* The type of tests of that kind ("unit"); 0: there is none. */
enum ews_artifact_type ews_artifact_type_of_tests(const char *kind);
/* The type that a file `name` in the directory `dir` is taken for; 0: none. */
enum ews_artifact_type ews_artifact_type_guess(const char *dir, const char *name);

/* `wanted` as a name of [A-Za-z0-9._-] that is neither hidden, an option, nor too long. The caller frees it. */
char *ews_artifact_name_safe(const char *wanted);
/* Is it one? */
bool ews_artifact_name_is_safe(const char *name);
/* The `nth` name to try for `name`: itself, "a-2.patch", "a-3.patch". The caller frees it. */
char *ews_artifact_name_nth(const char *name, unsigned nth);
#define EWS_ARTIFACT_NAMES_MAX 100000 /* so many are tried before that is given up */
/* Has `path` the directory of `type` and a safe name? */
bool ews_artifact_path_is_safe(const char *path, enum ews_artifact_type type);

#endif
