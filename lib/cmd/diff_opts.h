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

/*
 * The rows: what git gets is added to `selecting` when it bends what counts as a difference, and as which, else to
 * `output`; what is more than that to `refused`. --changes and --shortstat are each verb's own.
 */
#define EWS_DIFF_OPTS(set) EWS_DIFF_ROWS(&(set)->output, &(set)->selecting, &(set)->refused)

#define EWS_DIFF_ROWS(output, selecting, refused)                                                                   \
	EWS_OPT_PASS(0, "stat", output, "=width", "a diffstat"), EWS_OPT_PASS(0, "stat-width", output, "n", NULL),  \
		EWS_OPT_PASS(0, "stat-name-width", output, "n", NULL),                                              \
		EWS_OPT_PASS(0, "stat-graph-width", output, "n", NULL),                                             \
		EWS_OPT_PASS(0, "stat-count", output, "n", NULL),                                                   \
		EWS_OPT_PASS(0, "numstat", output, NULL, "added and deleted lines of each path"),                   \
		EWS_OPT_PASS(0, "summary", output, NULL, "what was created, renamed, or changed its mode"),         \
		EWS_OPT_PASS(0, "name-only", output, NULL, "paths alone"),                                          \
		EWS_OPT_PASS(0, "name-status", output, NULL, "paths and what happened to each"),                    \
		EWS_OPT_PASS(0, "raw", output, NULL, "git's raw format"),                                           \
		EWS_OPT_PASS('p', "patch", output, NULL, "the patch, beside other formats"),                        \
		EWS_OPT_PASS('U', "unified", output, "n", "lines of context"),                                      \
		EWS_OPT_PASS('u', NULL, output, NULL, NULL), EWS_OPT_PASS('s', "no-patch", output, NULL, NULL),     \
		EWS_OPT_PASS(0, "dirstat", output, "=parameters", NULL),                                            \
		EWS_OPT_PASS(0, "dirstat-by-file", output, "=parameters", NULL),                                    \
		EWS_OPT_PASS(0, "cumulative", output, NULL, NULL),                                                  \
		EWS_OPT_PASS(0, "compact-summary", output, NULL, NULL),                                             \
		EWS_OPT_PASS(0, "patch-with-stat", output, NULL, NULL),                                             \
		EWS_OPT_PASS(0, "patch-with-raw", output, NULL, NULL),                                              \
		EWS_OPT_PASS(0, "minimal", output, NULL, NULL), EWS_OPT_PASS(0, "patience", output, NULL, NULL),    \
		EWS_OPT_PASS(0, "histogram", output, NULL, NULL),                                                   \
		EWS_OPT_PASS(0, "anchored", output, "text", NULL),                                                  \
		EWS_OPT_PASS(0, "diff-algorithm", output, "name", NULL),                                            \
		EWS_OPT_PASS(0, "indent-heuristic", output, NULL, NULL),                                            \
		EWS_OPT_PASS(0, "no-indent-heuristic", output, NULL, NULL),                                         \
		EWS_OPT_PASS(0, "word-diff", output, "=mode", NULL),                                                \
		EWS_OPT_PASS(0, "word-diff-regex", output, "regex", NULL),                                          \
		EWS_OPT_PASS(0, "color-words", output, "=regex", NULL),                                             \
		EWS_OPT_PASS(0, "color-moved", output, "=mode", NULL),                                              \
		EWS_OPT_PASS(0, "no-color-moved", output, NULL, NULL),                                              \
		EWS_OPT_PASS(0, "color-moved-ws", output, "modes", NULL),                                           \
		EWS_OPT_PASS(0, "no-color-moved-ws", output, NULL, NULL),                                           \
		EWS_OPT_PASS('M', "find-renames", selecting, "=n", NULL),                                           \
		EWS_OPT_PASS('C', "find-copies", selecting, "=n", NULL),                                            \
		EWS_OPT_PASS(0, "find-copies-harder", selecting, NULL, NULL),                                       \
		EWS_OPT_PASS(0, "no-renames", selecting, NULL, NULL),                                               \
		EWS_OPT_PASS(0, "rename-empty", selecting, NULL, NULL),                                             \
		EWS_OPT_PASS(0, "no-rename-empty", selecting, NULL, NULL),                                          \
		EWS_OPT_PASS('B', "break-rewrites", selecting, "=n", NULL),                                         \
		EWS_OPT_PASS('l', NULL, selecting, "n", NULL),                                                      \
		EWS_OPT_PASS('w', "ignore-all-space", selecting, NULL, NULL),                                       \
		EWS_OPT_PASS('b', "ignore-space-change", selecting, NULL, NULL),                                    \
		EWS_OPT_PASS(0, "ignore-space-at-eol", selecting, NULL, NULL),                                      \
		EWS_OPT_PASS(0, "ignore-cr-at-eol", selecting, NULL, NULL),                                         \
		EWS_OPT_PASS(0, "ignore-blank-lines", selecting, NULL, NULL),                                       \
		EWS_OPT_PASS('I', "ignore-matching-lines", selecting, "regex", NULL),                               \
		EWS_OPT_PASS('W', "function-context", output, NULL, NULL),                                          \
		EWS_OPT_PASS(0, "no-function-context", output, NULL, NULL),                                         \
		EWS_OPT_PASS(0, "inter-hunk-context", output, "lines", NULL),                                       \
		EWS_OPT_PASS(0, "abbrev", output, "=n", NULL), EWS_OPT_PASS(0, "no-abbrev", output, NULL, NULL),    \
		EWS_OPT_PASS(0, "full-index", output, NULL, NULL), EWS_OPT_PASS(0, "binary", output, NULL, NULL),   \
		EWS_OPT_PASS('R', NULL, selecting, NULL, NULL),                                                     \
		EWS_OPT_PASS('D', "irreversible-delete", output, NULL, NULL),                                       \
		EWS_OPT_PASS(0, "diff-filter", selecting, "letters", NULL),                                         \
		EWS_OPT_PASS('S', NULL, selecting, "string", NULL),                                                 \
		EWS_OPT_PASS('G', NULL, selecting, "regex", NULL),                                                  \
		EWS_OPT_PASS(0, "find-object", selecting, "object", NULL),                                          \
		EWS_OPT_PASS(0, "pickaxe-regex", selecting, NULL, NULL),                                            \
		EWS_OPT_PASS(0, "pickaxe-all", selecting, NULL, NULL),                                              \
		EWS_OPT_PASS(0, "skip-to", selecting, "path", NULL),                                                \
		EWS_OPT_PASS(0, "rotate-to", output, "path", NULL),                                                 \
		EWS_OPT_PASS(0, "submodule", output, "=format", NULL),                                              \
		EWS_OPT_PASS(0, "ignore-submodules", selecting, "=when", NULL),                                     \
		EWS_OPT_PASS(0, "relative", selecting, "=path", NULL),                                              \
		EWS_OPT_PASS(0, "no-relative", selecting, NULL, NULL),                                              \
		EWS_OPT_PASS(0, "src-prefix", output, "prefix", NULL),                                              \
		EWS_OPT_PASS(0, "dst-prefix", output, "prefix", NULL),                                              \
		EWS_OPT_PASS(0, "no-prefix", output, NULL, NULL),                                                   \
		EWS_OPT_PASS(0, "line-prefix", output, "prefix", NULL),                                             \
		EWS_OPT_PASS(0, "output-indicator-new", output, "char", NULL),                                      \
		EWS_OPT_PASS(0, "output-indicator-old", output, "char", NULL),                                      \
		EWS_OPT_PASS(0, "output-indicator-context", output, "char", NULL),                                  \
		EWS_OPT_PASS('a', "text", output, NULL, NULL),                                                      \
		EWS_OPT_PASS(0, "ws-error-highlight", output, "kinds", NULL),                                       \
		EWS_OPT_PASS(0, "check", output, NULL, NULL), EWS_OPT_PASS(0, "no-ext-diff", output, NULL, NULL),   \
		EWS_OPT_PASS(0, "no-textconv", output, NULL, NULL),                                                 \
		EWS_OPT_PASS(0, "output", refused, "file", NULL),                                                   \
		EWS_OPT_PASS(0, "ext-diff", refused, NULL, NULL), EWS_OPT_PASS(0, "textconv", refused, NULL, NULL), \
		EWS_OPT_PASS(0, "no-index", refused, NULL, NULL), EWS_OPT_PASS('O', NULL, refused, "file", NULL)

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
