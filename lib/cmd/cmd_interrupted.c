/*
 * git ews interrupted: what a verb becomes that SIGINT, SIGTERM or SIGHUP would have ended (base/interrupt).
 *
 * What that verb was at is finished or taken back, as `recover --all` does it, in the project of the current directory; one
 * line says so, and the signal ends us then. The children that it had been given are left alone. No verb for people: without such a verb before there is nothing to do.
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "store/config_user.h"
#include "work/recover_self.h"

static const char *const usage[] = {
	"git ews interrupted [--unended] <pid>[,<pid>...] <signal>",
	NULL,
};

static int take_care(struct ews_strv *done, struct ews_cmd_ctx *ctx, const char *others)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list list = EWS_KIN_LIST_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	EWS_CLEANUP(progress) struct ews_progress progress = { .title = NULL };
	int rc = ews_config_find_home(&home, ctx->home);

	if (rc == 0)
		rc = ews_repo_open_at(&ctx->repo, ctx->cwd, home);
	ews_kin_list_read(&list, others);
	ews_progress_init(&progress, ctx, "Recovering, ^C again leaves it to 'git ews recover'");
	return rc < 0 ? rc : ews_recover_self(done, ctx->repo, &list, ews_progress_show, &progress);
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(strv) struct ews_strv done = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	bool is_unended = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, EWS_PROGRESS_UNENDED, &is_unended, "end the line of progress first"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .min_words = 2, .max_words = 2 };
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	int signo = rc == 0 ? ews_interrupt_read(args.words.items[1]) : rc;

	if (signo < 0 || rc > 0)
		return signo;
	ews_interrupt_bear();
	(void)signal(SIGPIPE, SIG_IGN); /* who read what we say may be gone by that signal, too */
	if (is_unended)
		ews_cmd_say("", "\n");
	if (take_care(&done, ctx, args.words.items[0]) < 0)
		ews_strv_addf(&done, "'git ews recover' is needed: %s", ews_error_message());
	for (size_t i = 0; i < done.n; i++)
		ews_buf_addf(&line, "%s%s", i ? "; " : "", done.items[i]);
	if (done.n)
		ews_cmd_note(ctx, "%s", line.ptr);
	ews_interrupt_end(signo);
}

const struct ews_cmd ews_cmd_interrupted = { "interrupted", NULL, run };
