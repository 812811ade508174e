/*
 * The guard's judgement of git itself: options before the command, the command's row, its options and words.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_GIT_H
#define EWS_WORK_GUARD_GIT_H

#include <stdbool.h>

#include "base/strv.h"
#include "work/guard_table.h"
#include "work/verdict.h"

struct ews_guard_rules {
	enum ews_guard_policy policy;
	bool enabled; /* false: all is allowed */
	bool allow_status, allow_diff; /* false: these are denied, too */
	bool block_commit, block_push; /* false: these are let through */
};

#define EWS_GUARD_RULES_INIT { EWS_GUARD_READ_ONLY, true, true, true, true, true }

/*
 * Text that nobody knows yet, as it stands in a word; by itself where there may be more words. A command line that has
 * it by itself is only judged more strictly.
 */
#define EWS_GUARD_HOLE "\001"

/* A command line of git's, which may come by way of a program that completes it. */
struct ews_guard_git {
	char *const *argv; /* what follows "git", NULL-ended */
	bool has_tail; /* arguments that nobody knows yet are added at its end */
};

/* Judge it: sets operation, subcommand, is_blocked, reason and suggestion. */
void ews_guard_judge_git(struct ews_guard_verdict *out, const struct ews_guard_rules *rules,
			 const struct ews_guard_git *git);

/* Do the rules let `row` through in every form, though it does not only read? */
bool ews_guard_row_is_free(const struct ews_guard_rules *rules, const struct ews_guard_row *row);

/* May git find `name` with that value in its environment? */
bool ews_guard_variable_is_harmless(const struct ews_guard_rules *rules, const char *name, const char *value);

/*
 * Give the command line of a git command that reads, with the options in it that keep git from starting programs that
 * config, attributes or hooks name, and from touching the index. Any other command line is given back as it is.
 */
void ews_guard_neutral(struct ews_strv *out, char *const *argv);

/*
 * What `argv`, a git command that reads, must find in its environment beside that: "<name>=<value>", NULL-ended.
 * All other GIT_* variables are to be dropped.
 */
extern const char *const ews_guard_neutral_env[];

/* The command in the command line `argv` of git's, where its own options end; NULL: there is none, or git itself answers. */
char *const *ews_guard_command(char *const *argv);

/*
 * What a program that no option turns off is to be replaced by: with the setting `key` of that repository ("filter.x.clean",
 * "diff.x.textconv") set to it, git starts nothing of anybody's. NULL: the setting is harmless, or turned off already.
 * A key may hold anything, "=" too: hand it over by GIT_CONFIG_KEY_<n>, not by -c.
 */
const char *ews_guard_neutral_value(const char *key);

/*
 * Does this git command compare files with the index? Then it may lock and rewrite it though it reads, and needs a private
 * copy (GIT_INDEX_FILE); and it has a git of its own look into the repositories that the index names.
 */
bool ews_guard_wants_index(char *const *argv);

/* Does this git command look at what is stored alone, so that no filter can run? */
bool ews_guard_converts_nothing(char *const *argv);

#endif
