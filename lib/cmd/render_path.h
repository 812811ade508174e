/*
 * Paths and sizes: how lists of paths look, as text for people and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_PATH_H
#define EWS_CMD_RENDER_PATH_H

#include "base/buf.h"
#include "base/json.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "store/skip.h"

/*
 * Add the array `key` of paths to `object`. Where one of them is not UTF-8, `<key>_bytes` is an
 * array beside it with base64 for those and null for the others.
 */
void ews_render_paths(cJSON *object, const char *key, const struct ews_strv *paths);

/* Append the path of such a line, quoted as git quotes it, and give its text. */
const char *ews_render_split_quoted(struct ews_buf *out, const char *line);

/* Add the array `key` of { "path", `word` } for lines "<escaped path>\t<text>". */
void ews_render_reasons(cJSON *object, const char *key, const char *word, const struct ews_strv *lines);

/* Why it was left out: a word, and what that means. What is ignored, and known from an earlier state that it is gone from, has its own. */
const char *ews_render_skip_word(const struct ews_skip *skip);
const char *ews_render_skip_why(const struct ews_skip *skip);

/* Add the array "skipped" of { "path", "reason", "why", "size_bytes" }. */
void ews_render_skips(cJSON *object, const struct ews_skips *skips);

/* Add "<reason>\t<path>" and a line's end (a NUL with -z) for each to the answer. */
void ews_render_skip_lines(struct ews_cmd_ctx *ctx, const struct ews_skips *skips);

/* Say on stderr what was left out: each by name, but ignored and excluded ones by their number alone. */
void ews_render_skips_talk(const struct ews_cmd_ctx *ctx, const struct ews_skips *skips);

/* Of what was left out of the project, name home on stderr, where it lies in there. */
void ews_render_home_talk(const struct ews_cmd_ctx *ctx, const struct ews_skips *skips);

/* Warn of each line "<escaped path>\t<text>": "<before>: <path> (<text>)". */
void ews_render_reasons_talk(const struct ews_cmd_ctx *ctx, const char *before, const struct ews_strv *lines);

/* Of files that were committed in a workspace that is gone: what an undo brings back of them is not what git would check out. */
#define EWS_RENDER_KEPT_UNFILTERED "kept as git stores it, its filter is not run"

/* The same; but what was ignored is counted: a build leaves hundreds of such files. */
void ews_render_kept_talk(const struct ews_cmd_ctx *ctx, const char *before, const struct ews_strv *lines);

/* Make the error that is set such a line about `path`, and clear it: it keeps nobody from the rest. */
void ews_render_add_problem(struct ews_strv *lines, const char *path);

/* Add an array of strings. */
void ews_render_sentences(cJSON *object, const char *key, const struct ews_strv *sentences);

/* Add a string; "" and NULL give null. */
void ews_render_string(cJSON *object, const char *key, const char *text);

/* Add a path as ews_json_add_path() does; "" and NULL give null. */
void ews_render_path_or_null(cJSON *object, const char *key, const char *path);

/* Add a time; 0 gives null. */
void ews_render_time(cJSON *object, const char *key, int64_t seconds);

/* Somebody's words as one line that moves no cursor: line ends become blanks, what a terminal would obey "\\033". */
void ews_render_words(struct ews_buf *out, const char *words);

/* "3.4 MiB", "12 bytes" */
void ews_render_size(struct ews_buf *out, uint64_t bytes);

#endif
