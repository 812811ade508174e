/*
 * git ews report finding: what somebody who looked at a session's work has to say of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "cmd/cmd_report.h"
#include "cmd/pager.h"
#include "cmd/render_path.h"
#include "cmd/render_report.h"
#include "work/finding.h"

static const char *const add_usage[] = {
	"git ews report finding add --severity critical|warning|info --title <t> [--file <f> [--line <n>]] [--fix <patch>] [--description <t>] [--session <id>]",
	NULL,
};

static const char *const list_usage[] = {
	"git ews report finding list [<session>]",
	NULL,
};

#define NO_LINE UINT_MAX /* none is named */

struct settings {
	const char *severity, *title, *file, *fix, *description, *session;
	unsigned line;
};

static int check(const struct settings *set)
{
	if (!set->severity || !set->title)
		return ews_error(EWS_EUSAGE, "--%s is missing", set->severity ? "title" : "severity");
	if (!set->line)
		return ews_error(EWS_EUSAGE, "--line counts from 1");
	if (set->line != NO_LINE && !set->file)
		return ews_error(EWS_EUSAGE, "--line is one of a file: --file is missing");
	return 0;
}

/* The user's own file, or standard input. */
static int read_fix(struct ews_buf *out, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	EWS_CLEANUP(fd) int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return ews_error_os("--fix: cannot read '%s'", path);
	rc = ews_file_read_fd(out, fd, EWS_FINDING_FIX_MAX);
	if (rc == EWS_EDAMAGED)
		rc = ews_error(EWS_EUSAGE, "the fix is longer than %zu bytes", (size_t)EWS_FINDING_FIX_MAX);
	if (rc == 0 && strlen(out->ptr) != out->len)
		rc = ews_error(EWS_EUSAGE, "the fix is not a patch");
	return rc < 0 ? ews_error_wrap("--fix '%s'", path) : 0;
}

/* `file` as it is called from the workspace's top. */
static int find_file(struct ews_strv *out, const struct ews_cmd_ctx *ctx, const struct ews_session *session,
		     const char *file)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	int rc;

	ews_strv_add(&paths, file);
	rc = ews_cmd_paths(out, ctx, session->state.workspace, &paths);
	return rc == 0 && !out->n ? ews_error(EWS_EUSAGE, "--file takes a file, not all of the workspace") : rc;
}

static void show_added(struct ews_cmd_ctx *ctx, const struct ews_session *session, const char *id)
{
	EWS_CLEANUP(json) cJSON *object = NULL;

	if (!ctx->json) {
		ews_buf_addf(&ctx->out, "%s\n", id);
		return;
	}
	object = ews_cmd_json_new("finding");
	ews_render_string(object, "id", id);
	ews_render_string(object, "session_id", session->state.id);
	ews_cmd_json_show(ctx, object);
}

static int add_to(struct ews_cmd_ctx *ctx, const struct settings *set)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(strv) struct ews_strv file = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf fix = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *id = NULL;
	struct ews_finding finding = { .line = set->line == NO_LINE ? 0 : set->line };
	char empty[] = "";
	int rc;

	rc = ews_severity_read(&finding.severity, set->severity);
	if (rc == 0 && set->fix)
		rc = read_fix(&fix, set->fix);
	if (rc == 0)
		rc = ews_cmd_open_session(&session, ctx, set->session, false);
	if (rc == 0 && set->file)
		rc = find_file(&file, ctx, &session, set->file);
	if (rc < 0)
		return rc;
	finding.title = (char *)set->title;
	finding.description = set->description ? (char *)set->description : empty;
	finding.file = file.n ? file.items[0] : empty;
	finding.fix = fix.ptr;
	rc = ews_finding_add(&id, &session, &finding);
	if (rc == 0)
		show_added(ctx, &session, id);
	return rc;
}

static int add(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	struct settings set = { .line = NO_LINE };
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "severity", &set.severity, "critical|warning|info", "how bad it is"),
		EWS_OPT_STRING(0, "title", &set.title, "t", "what it is, in a line"),
		EWS_OPT_STRING(0, "file", &set.file, "f", "where it is"),
		EWS_OPT_UINT(0, "line", &set.line, "n", "in which line of that"),
		EWS_OPT_STRING(0, "fix", &set.fix, "patch", "a patch that mends it: a file, or - for standard input"),
		EWS_OPT_STRING(0, "description", &set.description, "t", "what else there is to say"),
		EWS_OPT_STRING(0, "session", &set.session, "id", "of which session"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = add_usage, .opts = opts };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = check(&set);
	return rc < 0 ? rc : add_to(ctx, &set);
}

static void show_list_json(struct ews_cmd_ctx *ctx, const struct ews_session *session,
			   const struct ews_findings *findings)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("finding_list");
	EWS_CLEANUP(strv) struct ews_strv fixes = EWS_STRV_INIT;
	cJSON *array;

	ews_findings_fixes(&fixes, NULL, findings, session->repo);
	ews_render_string(object, "session_id", session->state.id);
	ews_json_add_int(object, "unreadable", (int64_t)findings->unreadable);
	array = cJSON_AddArrayToObject(object, "findings");
	for (size_t i = 0; i < findings->n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_render_finding(item, &findings->items[i], fixes.items[i]);
		cJSON_AddItemToArray(array, item);
	}
	ews_cmd_json_show(ctx, object);
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(findings) struct ews_findings findings = EWS_FINDINGS_INIT;
	const struct ews_cmd_syntax syntax = { .usage = list_usage, .max_words = 1 };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_session(&session, ctx, args.words.items[0], false);
	if (rc == 0)
		rc = ews_findings_read(&findings, &session);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		show_list_json(ctx, &session, &findings);
		return 0;
	}
	if (findings.unreadable)
		ews_cmd_warn(ctx, "%zu more findings could not be read", findings.unreadable);
	ews_pager_start(ctx);
	for (size_t i = 0; i < findings.n; i++)
		ews_render_finding_line(&ctx->out, &findings.items[i]);
	return 0;
}

static const struct ews_cmd verbs[] = {
	{ "add", "add one, print its id", add },
	{ "list", "list them", list },
};

int ews_cmd_report_finding(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	static char name[] = "report finding"; /* argv is looked at once more when all is done */

	argv[0] = name;
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}
