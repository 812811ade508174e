/*
 * git ews archive extract: make a directory what an archive holds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/path.h"
#include "cmd/cmd_archive.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "work/archive_extract.h"

static const char *const extract_usage[] = {
	"git ews archive extract [--force] [--owner] [--dry-run] --to <dir> <archive>",
	NULL,
};

static int extract_into(struct ews_archive_extracted *out, struct ews_archive *archive,
			struct ews_archive_content *content, struct ews_cmd_ctx *ctx, const char *word,
			struct ews_archive_extract_opts *opts)
{
	EWS_CLEANUP(free) char *home = NULL;
	EWS_CLEANUP(free) char *file = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	uint64_t max_bytes;
	int rc = ews_cmd_archive_begin(&home, ctx);

	if (rc == 0)
		rc = ews_cmd_archive_find(&file, ctx, home, word);
	if (rc == 0)
		rc = ews_archive_limit(&max_bytes, ctx->repo);
	if (rc == 0)
		rc = fd = ews_archive_open(file);
	if (rc >= 0)
		rc = ews_archive_read(content, fd, max_bytes);
	if (rc < 0)
		return fd < 0 ? rc : ews_error_wrap("'%s'", word);
	rc = ews_archive_describe_content(archive, file, fd, content);
	opts->mode = archive->mode;
	return rc < 0 ? rc : ews_archive_extract(out, fd, content, opts);
}

static void show_extracted(struct ews_cmd_ctx *ctx, const struct ews_archive *archive,
			   const struct ews_archive_content *content, const struct ews_archive_extracted *extracted,
			   const struct ews_archive_extract_opts *opts)
{
	EWS_CLEANUP(json) cJSON *object = NULL;

	if (!ctx->json) {
		ews_render_reasons_talk(ctx, "not permitted here", &extracted->put.lost_attrs);
		for (size_t i = 0; i < extracted->kept.n; i++)
			ews_cmd_note(ctx, "%s", extracted->kept.items[i]);
		if (opts->dry_run)
			ews_cmd_note(ctx, "%zu path%s would be written or moved away", extracted->n_changes,
				     extracted->n_changes == 1 ? "" : "s");
		ews_cmd_add_place(ctx, opts->to);
		return;
	}
	object = ews_cmd_json_new("archive_extract");
	(void)cJSON_AddBoolToObject(object, "dry_run", opts->dry_run);
	ews_json_add_path(object, "archive", archive->file);
	ews_json_add_path(object, "path", opts->to);
	ews_render_string(object, "checksum", content->checksum);
	ews_json_add_int(object, "files_count", (int64_t)content->n_files);
	ews_json_add_int(object, "total_size_bytes", (int64_t)content->size_bytes);
	ews_json_add_int(object, "changes", (int64_t)extracted->n_changes);
	ews_render_reasons(object, "kept", "where", &extracted->kept);
	ews_render_reasons(object, "lost_attributes", "what", &extracted->put.lost_attrs);
	ews_cmd_json_show(ctx, object);
}

/* Each path that could not be written is named before the error that says so. */
static int fail_with_paths(const struct ews_cmd_ctx *ctx, const struct ews_archive_extracted *extracted, int rc)
{
	struct ews_error_saved error = EWS_ERROR_SAVED_INIT;

	ews_error_save(&error);
	ews_render_reasons_talk(ctx, "not written", &extracted->put.failed);
	return error.code ? ews_error_restore(&error) : rc;
}

int ews_cmd_archive_extract(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
	EWS_CLEANUP(archive_extracted) struct ews_archive_extracted extracted = EWS_ARCHIVE_EXTRACTED_INIT;
	EWS_CLEANUP(free) char *to = NULL;
	struct ews_progress progress;
	struct ews_archive_extract_opts set = { .progress = ews_progress_show, .payload = &progress };
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "to", &set.to, "dir", "the directory, made when missing"),
		EWS_OPT_BOOL('f', "force", &set.force,
			     "also into one that is not empty: what is in the way is kept aside"),
		EWS_OPT_BOOL(0, "owner", &set.owners, "owner and group as well, where that is permitted"),
		EWS_OPT_BOOL('n', "dry-run", &set.dry_run, "check the archive, say how much would be done"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = extract_usage, .opts = opts, .min_words = 1, .max_words = 1, .prints_paths = true
	};
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	if (!set.to || !*set.to)
		return ews_error(EWS_EUSAGE, "--to says where it goes");
	to = ews_path_absolute(ctx->cwd, set.to);
	set.to = to;
	ews_progress_init(&progress, ctx, "Extracting");
	rc = extract_into(&extracted, &archive, &content, ctx, args.words.items[0], &set);
	ews_progress_end(&progress);
	if (rc < 0)
		return fail_with_paths(ctx, &extracted, rc);
	show_extracted(ctx, &archive, &content, &extracted, &set);
	return 0;
}
