/*
 * Artifact types: see artifact_type.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact_type.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"

#define TESTS "generated-tests/"
#define NAME_MAX_LEN 120
#define SUFFIX_MAX_LEN 20

static const struct {
	const char *word, *dir, *suffix;
} types[EWS_ARTIFACT_END] = {
	[EWS_ARTIFACT_PATCH] = { "patch", "patches", ".patch" },
	[EWS_ARTIFACT_SUGGESTED_FIX] = { "suggested_fix", "patches", ".patch" },
	[EWS_ARTIFACT_TEST_UNIT] = { "test_unit", TESTS "unit", "" },
	[EWS_ARTIFACT_TEST_INTEGRATION] = { "test_integration", TESTS "integration", "" },
	[EWS_ARTIFACT_TEST_E2E] = { "test_e2e", TESTS "e2e", "" },
	[EWS_ARTIFACT_TEST_API] = { "test_api", TESTS "api", "" },
	[EWS_ARTIFACT_TEST_CONTRACT] = { "test_contract", TESTS "contract", "" },
	[EWS_ARTIFACT_TEST_FUZZ] = { "test_fuzz", TESTS "fuzz", "" },
	[EWS_ARTIFACT_TEST_LOAD] = { "test_load", TESTS "load", "" },
	[EWS_ARTIFACT_TEST_REGRESSION] = { "test_regression", TESTS "regression", "" },
	[EWS_ARTIFACT_TEST_SECURITY] = { "test_security", TESTS "security", "" },
	[EWS_ARTIFACT_QR] = { "qr", "qr", ".md" },
	[EWS_ARTIFACT_COVERAGE] = { "coverage", "coverage", "" },
	[EWS_ARTIFACT_SUMMARY] = { "summary", "", ".md" },
	[EWS_ARTIFACT_LOG] = { "log", "logs", ".log" },
	[EWS_ARTIFACT_ERROR] = { "error", "logs", ".log" },
	[EWS_ARTIFACT_TRACE] = { "trace", "evidence", "" },
	[EWS_ARTIFACT_SCREENSHOT] = { "screenshot", "evidence", ".png" },
};

static const char *const pictures[] = { ".png", ".jpg", ".jpeg", ".gif", ".webp" };

const char *ews_artifact_type_word(enum ews_artifact_type type)
{
	return types[type].word;
}

const char *ews_artifact_type_dir(enum ews_artifact_type type)
{
	return types[type].dir;
}

bool ews_artifact_type_needs(const char *path)
{
	for (unsigned type = 1; type < EWS_ARTIFACT_END; type++)
		if (*types[type].dir && ews_path_is_inside(types[type].dir, path))
			return true;
	return false;
}

const char *ews_artifact_type_suffix(enum ews_artifact_type type)
{
	return types[type].suffix;
}

int ews_artifact_type_read(enum ews_artifact_type *out, const char *word)
{
	EWS_CLEANUP(free) char *plain = ews_strdup(word);
	EWS_CLEANUP(buf) struct ews_buf known = EWS_BUF_INIT;

	for (char *c = plain; *c; c++)
		*c = *c == '-' ? '_' : *c;
	for (unsigned type = 1; type < EWS_ARTIFACT_END; type++) {
		if (!strcasecmp(plain, types[type].word)) {
			*out = type;
			return 0;
		}
		ews_buf_addf(&known, "%s%s", known.len ? ", " : "", types[type].word);
	}
	ews_error(EWS_EUSAGE, "'%.40s' is no type of artifact", word);
	ews_error_hint("the types are %s", known.ptr);
	return EWS_EUSAGE;
}

enum ews_artifact_type ews_artifact_type_of_tests(const char *kind)
{
	for (unsigned type = EWS_ARTIFACT_TEST_UNIT; type <= EWS_ARTIFACT_TEST_SECURITY; type++)
		if (!strcmp(kind, types[type].dir + strlen(TESTS)))
			return type;
	return 0;
}

enum ews_artifact_type ews_artifact_type_guess(const char *dir, const char *name)
{
	const char *dot = strrchr(name, '.');

	if (!*dir)
		return 0;
	for (size_t i = 0; dot && i < sizeof(pictures) / sizeof(*pictures); i++)
		if (!strcmp(dir, types[EWS_ARTIFACT_SCREENSHOT].dir) && !strcasecmp(dot, pictures[i]))
			return EWS_ARTIFACT_SCREENSHOT;
	for (unsigned type = 1; type < EWS_ARTIFACT_END; type++)
		if (!strcmp(dir, types[type].dir))
			return type;
	return 0;
}

static bool is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
	       c == '-';
}

/* What follows the last dot, when it looks like the kind of a file. */
static const char *suffix_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && strlen(dot) <= SUFFIX_MAX_LEN ? dot : name + strlen(name);
}

/* No name ends in what stands for something else. */
static void trim(struct ews_buf *name)
{
	while (name->len && (name->ptr[name->len - 1] == '.' || name->ptr[name->len - 1] == '_'))
		ews_buf_truncate(name, name->len - 1);
}

char *ews_artifact_name_safe(const char *wanted)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *suffix = NULL;

	for (const char *c = wanted; *c; c++) {
		char last = out.len ? out.ptr[out.len - 1] : '\0';

		if (is_plain(*c) && (*c != '.' || (last && last != '.')) && (*c != '-' || last))
			ews_buf_addc(&out, *c);
		else if (last && last != '_' && *c != '.')
			ews_buf_addc(&out, '_');
	}
	trim(&out);
	if (out.len > NAME_MAX_LEN) {
		suffix = ews_strdup(suffix_of(out.ptr));
		ews_buf_truncate(&out, NAME_MAX_LEN - strlen(suffix));
		trim(&out);
		ews_buf_adds(&out, suffix);
	}
	return out.len ? ews_buf_steal(&out) : ews_strdup("artifact");
}

bool ews_artifact_name_is_safe(const char *name)
{
	size_t len = 0;

	while (is_plain(name[len]) && !(name[len] == '.' && name[len + 1] == '.'))
		len++;
	/* With room for what tells it from another one. */
	return len && !name[len] && *name != '.' && *name != '-' && len <= NAME_MAX_LEN + SUFFIX_MAX_LEN;
}

char *ews_artifact_name_nth(const char *name, unsigned nth)
{
	const char *suffix = suffix_of(name);

	return nth < 2 ? ews_strdup(name) : ews_strfmt("%.*s-%u%s", (int)(suffix - name), name, nth, suffix);
}

bool ews_artifact_path_is_safe(const char *path, enum ews_artifact_type type)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(path);

	return !strcmp(dir, types[type].dir) && ews_artifact_name_is_safe(ews_path_base(path));
}
