/*
 * Harvest: see harvest.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/harvest.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/ignore.h"

#define RULES "qe.artifacts.tests"

static const char *const usual_rules[] = {
	"tests/**",      "test/**",        "__tests__/**", "spec/**",
	"test_*.py",     "*_test.py",      "*_test.go",    "*_test.c",
	"*_test.cc",     "*_test.cpp",     "*_test.rs",    "*_test.rb",
	"*_test.exs",    "*_test.dart",    "*_test.sh",    "*_spec.rb",
	"*_spec.lua",    "*.test.*",       "*.spec.*",     "*.cy.*",
	"*.bats",        "*Test.java",     "*Tests.java",  "*IT.java -> integration",
	"*Test.kt",      "*Spec.scala",    "*Test.php",    "*Tests.cs",
	"*Tests.swift",  "t/t*.sh",        "t/*.t",        "fuzz/fuzz_targets/** -> fuzz",
	"!__pycache__/", "!node_modules/", "!*.pyc",
};

/* What stands for a kind in a path. */
static const struct {
	const char *word, *kind;
} kind_words[] = {
	{ "e2e", "e2e" },
	{ "endtoend", "e2e" },
	{ "cypress", "e2e" },
	{ "playwright", "e2e" },
	{ "cy", "e2e" },
	{ "fuzz", "fuzz" },
	{ "fuzzing", "fuzz" },
	{ "fuzzer", "fuzz" },
	{ "security", "security" },
	{ "regression", "regression" },
	{ "regressions", "regression" },
	{ "contract", "contract" },
	{ "contracts", "contract" },
	{ "pact", "contract" },
	{ "load", "load" },
	{ "stress", "load" },
	{ "integration", "integration" },
	{ "api", "api" },
	{ "unit", "unit" },
};

struct rule {
	struct ews_ignore *pattern;
	bool is_no_test;
	enum ews_artifact_type type; /* 0: the path says it */
};

struct rules {
	struct rule *items;
	size_t n, cap;
};

static void release_rules(struct rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		ews_ignore_free(rules->items[i].pattern);
	free(rules->items);
}

EWS_CLEANUP_DEFINE(rules, struct rules, release_rules)

/* Take "<pattern> -> <kind>" apart, which was looked at when the setting was read. */
static void add_rule(struct rules *rules, const char *text)
{
	struct rule rule = { .is_no_test = *text == '!' };
	const char *kind;
	size_t len;

	ews_setting_split(&len, &kind, text);
	if (kind) {
		rule.type = ews_artifact_type_of_tests(kind);
		assert(rule.type);
	}
	rule.pattern = ews_ignore_new(NULL, 0, text + rule.is_no_test, len - rule.is_no_test, false);
	EWS_GROW(rules->items, rules->n, rules->cap);
	rules->items[rules->n++] = rule;
}

static int read_rules(struct rules *rules, struct ews_repo *repo)
{
	const struct ews_config *config = ews_repo_config(repo);
	const struct ews_setting *setting = ews_setting_find(RULES);
	struct ews_config_entry entry;
	bool has_own;
	int rc = ews_config_check_one(config, setting);

	for (size_t i = 0; rc == 0 && ews_config_look(&entry, config, setting, i); i++)
		add_rule(rules, entry.text);
	has_own = rules->n > 0;
	for (size_t i = 0; rc == 0 && !has_own && i < sizeof(usual_rules) / sizeof(*usual_rules); i++)
		add_rule(rules, usual_rules[i]);
	return rc;
}

/* Does the pattern match the path, or a directory that it lies in? */
static bool matches(const struct rule *rule, const char *path)
{
	EWS_CLEANUP(free) char *dir = ews_strdup(path);

	if (ews_ignore_match(rule->pattern, path, false))
		return true;
	for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
		*slash = '\0';
		if (ews_ignore_match(rule->pattern, dir, true))
			return true;
	}
	return false;
}

static bool starts_word(const char *path, const char *c)
{
	return c == path || !isalnum((unsigned char)c[-1]) ||
	       (isupper((unsigned char)*c) && islower((unsigned char)c[-1]));
}

/* Does `word` stand in the path as a word of its own, whether parted by signs or by capitals? */
static bool has_word(const char *path, const char *word)
{
	size_t len = strlen(word);

	for (const char *c = path; *c; c++) {
		const char *end = c + len;

		if (strncasecmp(c, word, len) != 0 || !starts_word(path, c))
			continue;
		if (!isalnum((unsigned char)*end) ||
		    (isupper((unsigned char)*end) && islower((unsigned char)end[-1])))
			return true;
	}
	return false;
}

static enum ews_artifact_type type_of(const char *path)
{
	for (size_t i = 0; i < sizeof(kind_words) / sizeof(*kind_words); i++)
		if (has_word(path, kind_words[i].word))
			return ews_artifact_type_of_tests(kind_words[i].kind);
	return EWS_ARTIFACT_TEST_UNIT;
}

static enum ews_artifact_type judge(const struct rules *rules, const char *path)
{
	for (size_t i = rules->n; i-- > 0;) {
		const struct rule *rule = &rules->items[i];

		if (!matches(rule, path))
			continue;
		if (rule->is_no_test)
			return 0;
		return rule->type ? rule->type : type_of(path);
	}
	return 0;
}

int ews_harvest_find(struct ews_harvest *out, struct ews_repo *repo, const struct ews_diff *diff)
{
	EWS_CLEANUP(rules) struct rules rules = { NULL, 0, 0 };
	int rc = read_rules(&rules, repo);

	for (size_t i = 0; rc == 0 && i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];
		enum ews_artifact_type type;

		if (record->status != 'A' ||
		    (record->new_mode != EWS_MODE_FILE && record->new_mode != EWS_MODE_PROGRAM))
			continue;
		type = judge(&rules, record->path);
		if (!type)
			continue;
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] =
			(struct ews_harvest_test){ .path = ews_strdup(record->path),
						   .type = type,
						   .blob = record->new_oid,
						   .is_executable = record->new_mode == EWS_MODE_PROGRAM };
	}
	return rc;
}

struct ews_artifact_new *ews_harvest_artifacts(const struct ews_harvest *harvest, const struct ews_session *session)
{
	struct ews_artifact_new *tests = ews_calloc(harvest->n, sizeof(*tests));

	for (size_t i = 0; i < harvest->n; i++) {
		const struct ews_harvest_test *test = &harvest->items[i];

		tests[i] = (struct ews_artifact_new){ .type = test->type,
						      .name = ews_path_base(test->path),
						      .session = session->state.id,
						      .base = session->state.base_snapshot,
						      .original = test->path,
						      .blob = &test->blob,
						      .is_executable = test->is_executable,
						      .update = true };
	}
	return tests;
}

void ews_harvest_release(struct ews_harvest *harvest)
{
	for (size_t i = 0; i < harvest->n; i++)
		free(harvest->items[i].path);
	free(harvest->items);
	*harvest = (struct ews_harvest)EWS_HARVEST_INIT;
}
