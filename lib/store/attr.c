/*
 * Attributes: see attr.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/attr.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/git.h"

#define ANSWER_MAX EWS_GIB

static bool has_program(struct ews_odb *odb, const char *filter)
{
	static const char *const programs[] = { "smudge", "process", "clean" };
	bool found = false;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs) && !found; i++) {
		EWS_CLEANUP(free) char *key = ews_strfmt("filter.%s.%s", filter, programs[i]);
		EWS_CLEANUP(free) char *value = NULL;

		found = ews_odb_config(&value, odb, key) == 0 && *value;
		ews_error_clear();
	}
	return found;
}

static bool says_nothing(const char *value)
{
	return !strcmp(value, "unspecified") || !strcmp(value, "unset") || !strcmp(value, "set") || !*value;
}

/* Triples of path, "filter" and value, each ended by NUL. */
static void take_answer(struct ews_strv *out, struct ews_odb *odb, const struct ews_buf *answer)
{
	const char *at = answer->ptr, *end = answer->ptr + answer->len;

	while (at < end) {
		const char *path = at;
		const char *name = path + strlen(path) + 1;
		const char *value = name < end ? name + strlen(name) + 1 : end;
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

		if (value >= end)
			return;
		at = value + strlen(value) + 1;
		if (says_nothing(value) || !has_program(odb, value))
			continue;
		ews_path_escape(&line, path, strlen(path));
		ews_buf_addf(&line, "\t%s", value);
		ews_strv_add(out, line.ptr);
	}
}

int ews_attr_filtered(struct ews_strv *out, struct ews_odb *odb, const char *home, const char *work_tree,
		      const struct ews_strv *paths)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *neutral = NULL;
	struct ews_git_opts opts = { .object_dir = ews_odb_object_dir(odb), .work_tree = work_tree, .out = &answer };
	int rc;

	if (!paths->n)
		return 0;
	rc = ews_git_neutral_dir(&neutral, home, ews_odb_algo(odb));
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < paths->n; i++)
		ews_buf_add(&question, paths->items[i], strlen(paths->items[i]) + 1);
	ews_buf_init_max(&answer, ANSWER_MAX);
	opts.neutral_dir = neutral;
	opts.input = question.ptr;
	opts.input_len = question.len;
	ews_strv_add_all(&args, "check-attr", "-z", "--stdin", "filter", NULL);
	rc = ews_git_run(&opts, args.items);
	if (rc < 0)
		return rc;
	take_answer(out, odb, &answer);
	return 0;
}
