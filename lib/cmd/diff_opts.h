/*
 * Options of git diff that only shape its output, for each verb that shows differences; and those that are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_DIFF_OPTS_H
#define EWS_CMD_DIFF_OPTS_H

#include "base/opts.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "cmd/render_diff.h"

struct ews_diff_settings {
	struct ews_strv output, selecting, refused; /* options of git's, as they were given: see EWS_DIFF_OPTS */
	const char *changes_word; /* of --changes; NULL: the patch, or with --json the records */
	enum ews_changes_mode changes; /* once it is settled */
};

#define EWS_DIFF_SETTINGS_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, NULL, EWS_CHANGES_DIFF }

/* A row for an option that git gets as it was spelled. */
#define EWS_DIFF_PASS(list, letter, name, arg, help)                       \
	{                                                                  \
		EWS_OPT_PASS, letter, name, arg, help, (list), false, NULL \
	}

/*
 * The rows: what git gets is added to `selecting` when it bends what counts as a difference, and as which, else to
 * `output`; what is more than that to `refused`. --changes and --shortstat are each verb's own.
 */
#define EWS_DIFF_OPTS(set) EWS_DIFF_ROWS(&(set)->output, &(set)->selecting, &(set)->refused)

#define EWS_DIFF_ROWS(output, selecting, refused)                                                                   \
	EWS_DIFF_PASS(output, 0, "stat", "=width", "a diffstat"),                                                   \
		EWS_DIFF_PASS(output, 0, "stat-width", "n", NULL),                                                  \
		EWS_DIFF_PASS(output, 0, "stat-name-width", "n", NULL),                                             \
		EWS_DIFF_PASS(output, 0, "stat-graph-width", "n", NULL),                                            \
		EWS_DIFF_PASS(output, 0, "stat-count", "n", NULL),                                                  \
		EWS_DIFF_PASS(output, 0, "numstat", NULL, "added and deleted lines of each path"),                  \
		EWS_DIFF_PASS(output, 0, "summary", NULL, "what was created, renamed, or changed its mode"),        \
		EWS_DIFF_PASS(output, 0, "name-only", NULL, "paths alone"),                                         \
		EWS_DIFF_PASS(output, 0, "name-status", NULL, "paths and what happened to each"),                   \
		EWS_DIFF_PASS(output, 0, "raw", NULL, "git's raw format"),                                          \
		EWS_DIFF_PASS(output, 'p', "patch", NULL, "the patch, beside other formats"),                       \
		EWS_DIFF_PASS(output, 'U', "unified", "n", "lines of context"),                                     \
		EWS_DIFF_PASS(output, 'u', NULL, NULL, NULL), EWS_DIFF_PASS(output, 's', "no-patch", NULL, NULL),   \
		EWS_DIFF_PASS(output, 0, "dirstat", "=parameters", NULL),                                           \
		EWS_DIFF_PASS(output, 0, "dirstat-by-file", "=parameters", NULL),                                   \
		EWS_DIFF_PASS(output, 0, "cumulative", NULL, NULL),                                                 \
		EWS_DIFF_PASS(output, 0, "compact-summary", NULL, NULL),                                            \
		EWS_DIFF_PASS(output, 0, "patch-with-stat", NULL, NULL),                                            \
		EWS_DIFF_PASS(output, 0, "patch-with-raw", NULL, NULL),                                             \
		EWS_DIFF_PASS(output, 0, "minimal", NULL, NULL), EWS_DIFF_PASS(output, 0, "patience", NULL, NULL),  \
		EWS_DIFF_PASS(output, 0, "histogram", NULL, NULL),                                                  \
		EWS_DIFF_PASS(output, 0, "anchored", "text", NULL),                                                 \
		EWS_DIFF_PASS(output, 0, "diff-algorithm", "name", NULL),                                           \
		EWS_DIFF_PASS(output, 0, "indent-heuristic", NULL, NULL),                                           \
		EWS_DIFF_PASS(output, 0, "no-indent-heuristic", NULL, NULL),                                        \
		EWS_DIFF_PASS(output, 0, "word-diff", "=mode", NULL),                                               \
		EWS_DIFF_PASS(output, 0, "word-diff-regex", "regex", NULL),                                         \
		EWS_DIFF_PASS(output, 0, "color-words", "=regex", NULL),                                            \
		EWS_DIFF_PASS(output, 0, "color-moved", "=mode", NULL),                                             \
		EWS_DIFF_PASS(output, 0, "no-color-moved", NULL, NULL),                                             \
		EWS_DIFF_PASS(output, 0, "color-moved-ws", "modes", NULL),                                          \
		EWS_DIFF_PASS(output, 0, "no-color-moved-ws", NULL, NULL),                                          \
		EWS_DIFF_PASS(selecting, 'M', "find-renames", "=n", NULL),                                          \
		EWS_DIFF_PASS(selecting, 'C', "find-copies", "=n", NULL),                                           \
		EWS_DIFF_PASS(selecting, 0, "find-copies-harder", NULL, NULL),                                      \
		EWS_DIFF_PASS(selecting, 0, "no-renames", NULL, NULL),                                              \
		EWS_DIFF_PASS(selecting, 0, "rename-empty", NULL, NULL),                                            \
		EWS_DIFF_PASS(selecting, 0, "no-rename-empty", NULL, NULL),                                         \
		EWS_DIFF_PASS(selecting, 'B', "break-rewrites", "=n", NULL),                                        \
		EWS_DIFF_PASS(selecting, 'l', NULL, "n", NULL),                                                     \
		EWS_DIFF_PASS(selecting, 'w', "ignore-all-space", NULL, NULL),                                      \
		EWS_DIFF_PASS(selecting, 'b', "ignore-space-change", NULL, NULL),                                   \
		EWS_DIFF_PASS(selecting, 0, "ignore-space-at-eol", NULL, NULL),                                     \
		EWS_DIFF_PASS(selecting, 0, "ignore-cr-at-eol", NULL, NULL),                                        \
		EWS_DIFF_PASS(selecting, 0, "ignore-blank-lines", NULL, NULL),                                      \
		EWS_DIFF_PASS(selecting, 'I', "ignore-matching-lines", "regex", NULL),                              \
		EWS_DIFF_PASS(output, 'W', "function-context", NULL, NULL),                                         \
		EWS_DIFF_PASS(output, 0, "no-function-context", NULL, NULL),                                        \
		EWS_DIFF_PASS(output, 0, "inter-hunk-context", "lines", NULL),                                      \
		EWS_DIFF_PASS(output, 0, "abbrev", "=n", NULL), EWS_DIFF_PASS(output, 0, "no-abbrev", NULL, NULL),  \
		EWS_DIFF_PASS(output, 0, "full-index", NULL, NULL),                                                 \
		EWS_DIFF_PASS(output, 0, "binary", NULL, NULL), EWS_DIFF_PASS(selecting, 'R', NULL, NULL, NULL),    \
		EWS_DIFF_PASS(output, 'D', "irreversible-delete", NULL, NULL),                                      \
		EWS_DIFF_PASS(selecting, 0, "diff-filter", "letters", NULL),                                        \
		EWS_DIFF_PASS(selecting, 'S', NULL, "string", NULL),                                                \
		EWS_DIFF_PASS(selecting, 'G', NULL, "regex", NULL),                                                 \
		EWS_DIFF_PASS(selecting, 0, "find-object", "object", NULL),                                         \
		EWS_DIFF_PASS(selecting, 0, "pickaxe-regex", NULL, NULL),                                           \
		EWS_DIFF_PASS(selecting, 0, "pickaxe-all", NULL, NULL),                                             \
		EWS_DIFF_PASS(selecting, 0, "skip-to", "path", NULL),                                               \
		EWS_DIFF_PASS(output, 0, "rotate-to", "path", NULL),                                                \
		EWS_DIFF_PASS(output, 0, "submodule", "=format", NULL),                                             \
		EWS_DIFF_PASS(selecting, 0, "ignore-submodules", "=when", NULL),                                    \
		EWS_DIFF_PASS(selecting, 0, "relative", "=path", NULL),                                             \
		EWS_DIFF_PASS(selecting, 0, "no-relative", NULL, NULL),                                             \
		EWS_DIFF_PASS(output, 0, "src-prefix", "prefix", NULL),                                             \
		EWS_DIFF_PASS(output, 0, "dst-prefix", "prefix", NULL),                                             \
		EWS_DIFF_PASS(output, 0, "no-prefix", NULL, NULL),                                                  \
		EWS_DIFF_PASS(output, 0, "line-prefix", "prefix", NULL),                                            \
		EWS_DIFF_PASS(output, 0, "output-indicator-new", "char", NULL),                                     \
		EWS_DIFF_PASS(output, 0, "output-indicator-old", "char", NULL),                                     \
		EWS_DIFF_PASS(output, 0, "output-indicator-context", "char", NULL),                                 \
		EWS_DIFF_PASS(output, 'a', "text", NULL, NULL),                                                     \
		EWS_DIFF_PASS(output, 0, "ws-error-highlight", "kinds", NULL),                                      \
		EWS_DIFF_PASS(output, 0, "check", NULL, NULL), EWS_DIFF_PASS(output, 0, "no-ext-diff", NULL, NULL), \
		EWS_DIFF_PASS(output, 0, "no-textconv", NULL, NULL),                                                \
		EWS_DIFF_PASS(refused, 0, "output", "file", NULL),                                                  \
		EWS_DIFF_PASS(refused, 0, "ext-diff", NULL, NULL),                                                  \
		EWS_DIFF_PASS(refused, 0, "textconv", NULL, NULL),                                                  \
		EWS_DIFF_PASS(refused, 0, "no-index", NULL, NULL), EWS_DIFF_PASS(refused, 'O', NULL, "file", NULL)

/*
 * Settle how much of the changes is shown, and look whether all may be given. What is refused never may, and what selects not with
 * records and lines of our own: git counts what it prints, and none of it bends these. Fails with EWS_EUSAGE.
 */
int ews_diff_opts_settle(struct ews_diff_settings *set, const struct ews_cmd_ctx *ctx);

/* Add what git gets: the options given, and whether it prints in colour and ends paths with a NUL. */
void ews_diff_opts_for_git(struct ews_strv *out, const struct ews_diff_settings *set, const struct ews_cmd_ctx *ctx);

void ews_diff_settings_release(struct ews_diff_settings *set);
EWS_CLEANUP_DEFINE(diff_settings, struct ews_diff_settings, ews_diff_settings_release)

#endif
