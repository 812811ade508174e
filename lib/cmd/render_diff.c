/*
 * Differences: see render_diff.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "cmd/render_path.h"

#define MODE_TYPE 0170000

static void add_count(struct ews_buf *out, const char **before, size_t n, const char *word)
{
	if (!n)
		return;
	ews_buf_addf(out, "%s%zu %s", *before, n, word);
	*before = ", ";
}

void ews_render_totals_text(struct ews_buf *out, const struct ews_diff *diff)
{
	const char *before = ": ";

	if (!diff->n) {
		ews_buf_adds(out, diff->not_in_patch.n ? "none that a patch can hold" : "none");
		return;
	}
	ews_buf_addf(out, "%zu file%s (+%" PRIu64 " -%" PRIu64 ")", diff->n, diff->n == 1 ? "" : "s",
		     diff->lines_added, diff->lines_deleted);
	add_count(out, &before, diff->added, "created");
	add_count(out, &before, diff->modified, "modified");
	add_count(out, &before, diff->renamed, "renamed");
	add_count(out, &before, diff->deleted, "deleted");
}

void ews_render_totals(cJSON *object, const struct ews_diff *diff)
{
	ews_json_add_int(object, "total_changes", (int64_t)diff->n);
	ews_json_add_int(object, "additions", (int64_t)diff->added);
	ews_json_add_int(object, "deletions", (int64_t)diff->deleted);
	ews_json_add_int(object, "modifications", (int64_t)diff->modified);
	ews_json_add_int(object, "renames", (int64_t)diff->renamed);
	ews_json_add_int(object, "lines_added", (int64_t)diff->lines_added);
	ews_json_add_int(object, "lines_deleted", (int64_t)diff->lines_deleted);
}

static const char *change_word(char status)
{
	switch (status) {
	case 'A':
		return "created";
	case 'D':
		return "deleted";
	case 'R':
		return "renamed";
	default:
		return "modified";
	}
}

/* Of the content at `path` of one side, where that is known already; NULL: it isn't. The caller frees it. */
static char *known_hash(const struct ews_diff *diff, const struct ews_diff_side *side, const char *path)
{
	const struct ews_entry *entry = diff->has_digests ? ews_entries_find(&side->content.scan.entries, path)
							  : NULL;
	char hex[EWS_OID_HEX_MAX];

	return entry ? ews_strfmt("sha256:%s", ews_oid_hex(hex, &entry->oid)) : NULL;
}

/* A nested repository has a commit and no content of its own. `known` is freed. */
static int add_hash(cJSON *object, const char *key, struct ews_repo *repo, const struct ews_oid *oid, uint32_t mode,
		    char *known)
{
	EWS_CLEANUP(free) char *hash = known;

	if (!hash && !ews_oid_is_none(oid) && (mode & MODE_TYPE) != EWS_MODE_GITLINK) {
		int rc = ews_diff_file_hash(&hash, repo, oid);

		if (rc < 0)
			return rc;
	}
	ews_render_string(object, key, hash);
	return 0;
}

static void add_mode(cJSON *object, const char *key, uint32_t mode)
{
	char text[16] = "";

	if (mode)
		(void)snprintf(text, sizeof(text), "%06" PRIo32, mode);
	ews_render_string(object, key, text);
}

static int add_record(cJSON *array, struct ews_repo *repo, const struct ews_diff *diff,
		      const struct ews_diff_record *record, bool with_text)
{
	const char *old_path = record->old_path ? record->old_path : record->path;
	cJSON *object = cJSON_CreateObject();
	int rc;

	cJSON_AddItemToArray(array, object);
	ews_json_add_path(object, "file_path", record->path);
	if (record->old_path)
		ews_json_add_path(object, "old_path", record->old_path);
	else
		(void)cJSON_AddNullToObject(object, "old_path");
	(void)cJSON_AddStringToObject(object, "change_type", change_word(record->status));
	rc = add_hash(object, "original_hash", repo, &record->old_oid, record->old_mode,
		      ews_oid_is_none(&record->old_oid) ? NULL : known_hash(diff, &diff->from, old_path));
	if (rc == 0)
		rc = add_hash(object, "modified_hash", repo, &record->new_oid, record->new_mode,
			      ews_oid_is_none(&record->new_oid) ? NULL : known_hash(diff, &diff->to, record->path));
	if (rc < 0)
		return rc;
	add_mode(object, "original_mode", record->old_mode);
	add_mode(object, "modified_mode", record->new_mode);
	(void)cJSON_AddBoolToObject(object, "is_binary", record->is_binary);
	ews_json_add_int(object, "lines_added", (int64_t)record->lines_added);
	ews_json_add_int(object, "lines_deleted", (int64_t)record->lines_deleted);
	ews_json_add_int(object, "diff_lines", (int64_t)(record->lines_added + record->lines_deleted));
	ews_json_add_int(object, "old_size", (int64_t)record->old_size);
	ews_json_add_int(object, "new_size", (int64_t)record->new_size);
	ews_render_time(object, "timestamp", record->mtime_s);
	if (with_text)
		ews_json_add_text(object, "diff_text", record->text.ptr, record->text.len);
	return 0;
}

static int add_records(cJSON *object, struct ews_repo *repo, const struct ews_diff *diff, bool with_text)
{
	cJSON *array = cJSON_AddArrayToObject(object, "changes");
	int rc = 0;

	for (size_t i = 0; i < diff->n && rc == 0; i++)
		rc = add_record(array, repo, diff, &diff->items[i], with_text);
	return rc;
}

/* Add the array `key` of the paths with this status; of a rename both names, as an array. */
static void add_paths(cJSON *object, const char *key, const struct ews_diff *diff, const char *statuses)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;

	for (size_t i = 0; i < diff->n; i++)
		if (strchr(statuses, diff->items[i].status))
			ews_strv_add(&paths, diff->items[i].path);
	ews_render_paths(object, key, &paths);
}

static void add_renames(cJSON *object, const struct ews_diff *diff)
{
	cJSON *array = cJSON_AddArrayToObject(object, "files_renamed");
	cJSON *bytes = cJSON_CreateArray();
	bool is_utf8 = true;

	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];
		EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
		cJSON *pair = cJSON_CreateObject(), *pair_bytes;

		if (record->status == 'R') {
			ews_strv_add(&paths, record->old_path);
			ews_strv_add(&paths, record->path);
			ews_render_paths(pair, "pair", &paths);
			cJSON_AddItemToArray(array, cJSON_DetachItemFromObject(pair, "pair"));
			pair_bytes = cJSON_DetachItemFromObject(pair, "pair_bytes");
			is_utf8 = is_utf8 && !pair_bytes;
			cJSON_AddItemToArray(bytes, pair_bytes ? pair_bytes : cJSON_CreateNull());
		}
		cJSON_Delete(pair);
	}
	if (is_utf8)
		cJSON_Delete(bytes);
	else
		cJSON_AddItemToObject(object, "files_renamed_bytes", bytes);
}

/* What happened to a file in git's two letters, of the index and of the work tree: it is as if all were staged. */
static void set_letters(char out[3], const struct ews_diff_record *record)
{
	out[0] = record->status;
	out[1] = ' ';
	out[2] = '\0';
}

/* The lines, where the totals beside it count files: one object, whose keys mean what they mean to git. */
static void add_summary(cJSON *object, const struct ews_diff *diff)
{
	cJSON *summary = cJSON_AddObjectToObject(object, "change_summary");
	cJSON *files;

	ews_json_add_int(summary, "file_count", (int64_t)diff->n);
	ews_json_add_int(summary, "additions", (int64_t)diff->lines_added);
	ews_json_add_int(summary, "deletions", (int64_t)diff->lines_deleted);
	files = cJSON_AddArrayToObject(summary, "files");
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];
		cJSON *file = cJSON_CreateObject();
		char letters[3];

		set_letters(letters, record);
		cJSON_AddItemToArray(files, file);
		ews_json_add_path(file, "path", record->path);
		if (record->old_path)
			ews_json_add_path(file, "old_path", record->old_path);
		(void)cJSON_AddStringToObject(file, "status", letters);
		ews_json_add_int(file, "additions", (int64_t)record->lines_added);
		ews_json_add_int(file, "deletions", (int64_t)record->lines_deleted);
	}
}

static void add_lists(cJSON *object, const struct ews_diff *diff)
{
	add_paths(object, "files_added", diff, "AC");
	add_paths(object, "files_deleted", diff, "D");
	add_paths(object, "files_modified", diff, "MT");
	add_renames(object, diff);
	add_summary(object, diff);
}

int ews_changes_mode(enum ews_changes_mode *out, const char *word)
{
	static const char *const words[] = {
		[EWS_CHANGES_SUMMARY] = "summary",
		[EWS_CHANGES_FILES] = "files",
		[EWS_CHANGES_DIFF] = "diff",
		[EWS_CHANGES_NONE] = "none",
	};
	size_t i;

	*out = EWS_CHANGES_SUMMARY;
	if (!word)
		return 0;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i], word) != 0)
			continue;
		*out = (enum ews_changes_mode)i;
		return 0;
	}
	return ews_error(EWS_EUSAGE, "--changes takes summary, files, diff or none, not '%s'", word);
}

static void add_file_line(struct ews_buf *out, const struct ews_diff_record *record, bool nul)
{
	char letters[3];

	set_letters(letters, record);
	ews_buf_addf(out, "- %s ", letters);
	/* The lines come first: where a path ends is all that tells it from what is beside it. */
	if (nul) {
		ews_buf_addf(out, "(+%" PRIu64 " -%" PRIu64 ") ", record->lines_added, record->lines_deleted);
		if (record->old_path)
			ews_buf_addz(out, record->old_path);
		ews_buf_addz(out, record->path);
		return;
	}
	if (record->old_path) {
		ews_path_quote(out, record->old_path);
		ews_buf_adds(out, " -> ");
	}
	ews_path_quote(out, record->path);
	ews_buf_addf(out, " (+%" PRIu64 " -%" PRIu64 ")\n", record->lines_added, record->lines_deleted);
}

int ews_render_changes_text(struct ews_buf *out, struct ews_repo *repo, const struct ews_diff *diff,
			    enum ews_changes_mode mode, bool nul)
{
	int rc = 0;

	if (mode == EWS_CHANGES_NONE)
		return 0;
	ews_buf_addf(out, "Changes: %zu file(s) (+%" PRIu64 " -%" PRIu64 ").\n", diff->n, diff->lines_added,
		     diff->lines_deleted);
	for (size_t i = 0; mode != EWS_CHANGES_SUMMARY && i < diff->n; i++)
		add_file_line(out, &diff->items[i], nul);
	if (mode == EWS_CHANGES_DIFF && diff->n) {
		ews_buf_addc(out, '\n');
		rc = ews_diff_collect(out, diff, repo, NULL, diff->paths.items);
	}
	return rc < 0 ? rc : 0;
}

int ews_render_changes_talk(const struct ews_cmd_ctx *ctx, const struct ews_diff *diff, enum ews_changes_mode mode,
			    const char *before, const struct ews_strv *said)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	int rc = ews_render_changes_text(&text, ctx->repo, diff, mode, false);

	if (rc < 0)
		return rc;
	if (ews_file_write_fd(STDERR_FILENO, text.ptr, text.len) < 0)
		ews_error_clear(); /* nobody listens; what is done is done */
	if (!before || mode == EWS_CHANGES_NONE)
		return 0;
	ews_strv_add_array(&lines, diff->not_in_patch.items);
	ews_strv_leave_out(&lines, said);
	ews_render_reasons_talk(ctx, before, &lines);
	return 0;
}

int ews_render_changes(cJSON *object, struct ews_repo *repo, const struct ews_diff *diff, enum ews_changes_mode mode)
{
	EWS_CLEANUP(buf) struct ews_buf patch = EWS_BUF_INIT;
	int rc = 0;

	ews_render_totals(object, diff);
	if (mode != EWS_CHANGES_NONE)
		add_lists(object, diff);
	if (mode == EWS_CHANGES_FILES || mode == EWS_CHANGES_DIFF)
		rc = add_records(object, repo, diff, mode == EWS_CHANGES_DIFF);
	ews_render_reasons(object, "not_in_patch", "what", &diff->not_in_patch);
	if (rc < 0 || mode != EWS_CHANGES_DIFF)
		return rc;
	rc = ews_diff_collect(&patch, diff, repo, NULL, diff->paths.items);
	if (rc == 0)
		ews_json_add_text(object, "diff_text", patch.ptr, patch.len);
	return rc;
}
