/*
 * git ews report: what happened in a session, as a page.
 *
 * It is kept among the artifacts, as Markdown and as JSON, and the path is printed; with --output it goes where that says,
 * in the one form that --format names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "cmd/render_path.h"
#include "cmd/render_report.h"
#include "work/session_project.h"

static const char *const usage[] = {
	"git ews report [--format md|json] [--output <file> | -] [<session>]",
	"git ews report finding <verb> [<argument>...]",
	NULL,
};

struct settings {
	const char *format, *output;
	bool as_json;
};

static int settle(struct settings *set, const struct ews_cmd_ctx *ctx)
{
	const char *format = set->format ? set->format : ctx->json ? "json" : "md";

	if (!strcmp(format, "html")) {
		ews_error(EWS_EUNSUPPORTED, "there is no HTML form of a report");
		ews_error_hint(
			"--format md gives Markdown, which other programs turn into HTML; --format json gives all of it as data");
		return EWS_EUNSUPPORTED;
	}
	if (strcmp(format, "md") != 0 && strcmp(format, "json") != 0)
		return ews_error(EWS_EUSAGE, "--format takes md or json, not '%s'", format);
	set->as_json = !strcmp(format, "json");
	if (ctx->json && !set->as_json && set->output && !strcmp(set->output, "-"))
		return ews_error(EWS_EUSAGE, "--json and --format md exclude each other on standard output");
	if (set->output && !*set->output)
		return ews_error(EWS_EUSAGE, "--output takes a file, or '-'");
	return 0;
}

/* What is no file of its own (a terminal, a pipe, /dev/null, what /dev/stdout is) is written into; nothing takes its place. */
static int write_into(const char *path, const struct ews_buf *text)
{
	EWS_CLEANUP(fd) int fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return ews_error_os("cannot write '%s'", path);
	return ews_file_write_fd(fd, text->ptr, text->len);
}

static bool is_descriptor(const char *path)
{
	return ews_path_is_inside(path, "/dev") || ews_path_is_inside(path, "/proc");
}

/* What a link leads to is replaced, and the link stays. Modes are those of the file that was there, or as of any new one. */
static int write_file(const char *path, const struct ews_buf *text)
{
	EWS_CLEANUP(free) char *real = NULL;
	struct stat st;
	bool is_there = stat(path, &st) == 0;
	int rc;

	if (is_there && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return ews_error_os("cannot write '%s'", path);
	}
	if (is_there && (!S_ISREG(st.st_mode) || is_descriptor(path)))
		return write_into(path, text);
	if (is_there)
		real = realpath(path, NULL);
	else if (lstat(path, &st) < 0)
		real = ews_strdup(path);
	if (!real)
		return ews_error_os("cannot write '%s'", path);
	rc = ews_file_replace(AT_FDCWD, real, text->ptr, text->len,
			      is_there ? st.st_mode & 0777 : 0666 & ~ews_file_umask());
	if (rc == EWS_ENOTFOUND)
		ews_error_hint("make the directory first; '--output -' prints the report");
	return rc;
}

static int keep(struct ews_strv *paths, struct ews_report *report)
{
	EWS_CLEANUP(artifacts) struct ews_artifacts kept = EWS_ARTIFACTS_INIT;
	int rc = ews_report_keep(&kept, report, ews_render_report);

	for (size_t i = 0; rc == 0 && i < kept.n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(kept.place, kept.items[i].path);

		ews_strv_add(paths, path);
	}
	return rc;
}

/* Where the report is to go: `paths` are those that were written. */
static int put(struct ews_strv *paths, struct ews_cmd_ctx *ctx, const struct settings *set, struct ews_report *report)
{
	EWS_CLEANUP(buf) struct ews_buf markdown = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf json = EWS_BUF_INIT;
	const struct ews_buf *text = set->as_json ? &json : &markdown;
	EWS_CLEANUP(free) char *path = NULL;
	int rc;

	if (!set->output)
		return keep(paths, report);
	ews_report_gather_artifacts(report);
	rc = ews_render_report(&markdown, &json, report);
	if (rc < 0)
		return rc;
	if (!strcmp(set->output, "-")) {
		if (!ctx->json)
			ews_buf_add(&ctx->out, text->ptr, text->len);
		return 0;
	}
	path = ews_path_absolute(ctx->cwd, set->output);
	rc = write_file(path, text);
	if (rc == 0)
		ews_strv_add(paths, path);
	return rc;
}

static int show(struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_report *report,
		const struct ews_strv *paths)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	int rc;

	for (size_t i = 0; i < report->problems.n; i++)
		ews_cmd_warn(ctx, "%s", report->problems.items[i]);
	if (!ctx->json) {
		/* Kept in both forms, it is known by the one that was asked for. */
		if (paths->n)
			ews_cmd_add_place(ctx, paths->items[paths->n > 1 && set->as_json]);
		return 0;
	}
	object = ews_cmd_json_new("report");
	ews_render_paths(object, "paths", paths);
	rc = ews_render_report_json(object, report);
	if (rc == 0)
		ews_cmd_json_show(ctx, object);
	return rc;
}

static int report_session(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(report) struct ews_report report = EWS_REPORT_INIT;
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	struct settings set = { .as_json = false };
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "format", &set.format, "md|json", "in which form"),
		EWS_OPT_STRING(0, "output", &set.output, "file", "write it there, or with - to standard output"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .max_words = 1, .prints_paths = true };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = settle(&set, ctx);
	if (rc == 0)
		rc = ews_cmd_open_session(&session, ctx, args.words.items[0], false);
	/* There are its artifacts, and there this one goes. */
	if (rc == 0)
		rc = ews_session_stand_in_project(&session);
	if (rc == 0)
		rc = ews_report_gather(&report, &session, NULL);
	if (rc == 0)
		rc = put(&paths, ctx, &set, &report);
	return rc < 0 ? rc : show(ctx, &set, &report, &paths);
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "finding"))
		return ews_cmd_report_finding(ctx, argc - 1, argv + 1);
	return report_session(ctx, argc, argv);
}

const struct ews_cmd ews_cmd_report = { "report", "say what happened in a session, and what was found", run };
