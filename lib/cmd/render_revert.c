/*
 * Reverts: see render_revert.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_revert.h"

#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "cmd/pager.h"
#include "cmd/render_path.h"
#include "store/gitfile.h"
#include "store/skip.h"
#include "work/steps.h"
#include "work/tripwire.h"
#include "work/tripwire_commands.h"
#include "work/whose.h"

#define RED "31"
#define GREEN "32"

void ews_render_put_text(struct ews_buf *out, const struct ews_transition_result *put, const char *what, bool color)
{
	size_t i;

	if (!put->is_verified) {
		ews_pager_paint(out, color, RED, "✗");
		ews_buf_addf(out, " %s Incomplete\n", what);
		for (i = 0; i < put->errors.n; i++) {
			const char *why;

			ews_buf_adds(out, "  Differs: ");
			why = ews_render_split_quoted(out, put->errors.items[i]);
			ews_buf_adds(out, *why ? " (" : "");
			ews_render_words(out, why);
			ews_buf_adds(out, *why ? ")\n" : "\n");
		}
		ews_buf_adds(out, "  Status: Not verified\n");
		return;
	}
	ews_pager_paint(out, color, GREEN, "✓");
	ews_buf_addf(out,
		     " %s Complete\n"
		     "  Files restored: %zu\n"
		     "  Original hash: %s\n"
		     "  Current hash:  %s\n"
		     "  Status: Verified\n",
		     what, put->restored.n, put->original_hash, put->current_hash);
}

void ews_render_put(cJSON *object, const struct ews_transition_result *put)
{
	ews_render_paths(object, "restored", &put->restored);
	ews_render_paths(object, "deleted", &put->deleted);
	ews_render_reasons(object, "kept", "what", &put->kept);
	ews_render_paths(object, "since", &put->since);
	ews_render_paths(object, "stays", &put->stays);
	ews_render_reasons(object, "errors", "message", &put->errors);
	ews_render_reasons(object, "lost_attributes", "attribute", &put->lost_attrs);
	ews_render_reasons(object, "not_covered", "reason", &put->not_covered);
	ews_render_reasons(object, "moved", "stood_at", &put->moved);
	ews_render_reasons(object, "expired", "reason", &put->expired);
	ews_render_sentences(object, "branches", &put->branches);
	ews_render_string(object, "original_hash", put->original_hash);
	ews_render_string(object, "current_hash", put->current_hash);
	(void)cJSON_AddBoolToObject(object, "verified", put->is_verified);
	ews_render_string(object, "kept_snapshot", put->kept_snapshot);
	(void)cJSON_AddBoolToObject(object, "head_damaged", put->had_damaged_head);
}

void ews_render_damaged_head_talk(const struct ews_cmd_ctx *ctx, const char *kept)
{
	ews_cmd_warn(ctx, "HEAD was damaged: %s has what it said, and no commit", kept);
}

/* Ignored files are many and made anew: their number is enough, unless more is asked for. */
static void talk_of_kept(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put)
{
	EWS_CLEANUP(strv) struct ews_strv named = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	size_t i;

	for (i = 0; i < put->kept.n; i++) {
		const char *why = ews_path_line_words(put->kept.items[i]);

		if (ctx->verbose || strcmp(why, ews_skip_word(EWS_SKIP_IGNORED)) != 0)
			ews_strv_add(&named, put->kept.items[i]);
	}
	ews_render_reasons_talk(ctx, "moved to trash", &named);
	if (!put->kept.n)
		return;
	ews_render_size(&size, put->kept_bytes);
	ews_cmd_note(ctx, "%zu path%s moved to trash whole: %zu file%s, %s", put->kept.n,
		     put->kept.n == 1 ? "" : "s", put->kept_files, put->kept_files == 1 ? "" : "s", size.ptr);
}

void ews_render_expired_talk(const struct ews_cmd_ctx *ctx, const struct ews_strv *expired)
{
	EWS_CLEANUP(strv) struct ews_strv named = EWS_STRV_INIT;
	size_t i, ignored = 0;

	for (i = 0; i < expired->n; i++) {
		const char *why = ews_path_line_words(expired->items[i]);

		if (!ctx->verbose && !strcmp(why, ews_skip_word(EWS_SKIP_IGNORED)))
			ignored++;
		else
			ews_strv_add(&named, expired->items[i]);
	}
	ews_render_reasons_talk(ctx, "can't be brought back, trash holds it no longer", &named);
	if (ignored)
		ews_cmd_warn(ctx, "can't be brought back, trash holds them no longer: %zu ignored path%s", ignored,
			     ignored == 1 ? "" : "s");
}

void ews_render_branches_talk(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put)
{
	for (size_t i = 0; i < put->branches.n; i++)
		ews_cmd_warn(ctx, "%s", put->branches.items[i]);
}

void ews_render_since_talk(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put, const char *what)
{
	for (size_t i = 0; i < put->since.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		ews_path_quote(&path, put->since.items[i]);
		ews_cmd_warn(ctx, "changed since then, and %s: %s", what, path.ptr);
	}
}

/* What git has under way may have several names, of which one is enough to say what that means. */
static void talk_of_uncovered(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put)
{
	bool has_gone_on = false;

	ews_render_reasons_talk(ctx, "not looked at", &put->not_covered);
	for (size_t i = 0; i < put->not_covered.n && !has_gone_on; i++)
		has_gone_on = !strcmp(ews_path_line_words(put->not_covered.items[i]), EWS_TRANSITION_GONE_ON);
	if (has_gone_on)
		ews_cmd_note(ctx,
			     "git would go on with that from where it is now, without what it did since then; 'git "
			     "status' shows it, and how to abort it");
}

void ews_render_put_talk(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put)
{
	size_t i;

	ews_render_reasons_talk(ctx, "attribute not set", &put->lost_attrs);
	talk_of_uncovered(ctx, put);
	ews_render_since_talk(ctx, put, "kept in trash");
	for (i = 0; i < put->stays.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		ews_path_quote(&path, put->stays.items[i]);
		ews_cmd_warn(ctx, "stays in trash: %s", path.ptr);
	}
	ews_render_branches_talk(ctx, put);
	if (put->had_damaged_head)
		ews_render_damaged_head_talk(ctx, put->kept_snapshot);
	talk_of_kept(ctx, put);
}

void ews_render_reopening_talk(const struct ews_cmd_ctx *ctx, const char *id)
{
	ews_cmd_note(ctx, "'git ews undo %s' opens it again, once more brings back what was in the project", id);
}

void ews_render_ref_commands_talk(const struct ews_cmd_ctx *ctx, const struct ews_strv *commands)
{
	size_t i;

	for (i = 0; i < commands->n; i++)
		if (ews_str_begins(commands->items[i], EWS_TRIPWIRE_SHOW) ||
		    ews_str_begins(commands->items[i], EWS_TRIPWIRE_SHOW_TAG) ||
		    !strcmp(commands->items[i], EWS_TRIPWIRE_STASHES))
			ews_cmd_warn(ctx,
				     "a ref of the project is new since the start, and alone holds what this shows: %s",
				     commands->items[i]);
		else
			ews_cmd_warn(ctx, "a ref of the project moved since the start; this takes it back: %s",
				     commands->items[i]);
}

void ews_render_moved_talk(const struct ews_cmd_ctx *ctx, const char *top, const struct ews_transition_result *put)
{
	size_t i;

	for (i = 0; i < put->moved.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *commit = ews_path_line_split(&path, put->moved.items[i]);
		EWS_CLEANUP(free) char *full = ews_path_join(top, path.ptr);
		EWS_CLEANUP(free) char *shown = ews_shell_shown(full);

		/* Files and branches stay: the former are put back, of the latter nobody knows which was meant. */
		ews_cmd_note(ctx,
			     "a repository has moved on; this takes its HEAD back: git -C %s checkout -q --detach && "
			     "git -C %s reset -q %s",
			     shown, shown, commit);
	}
}

void ews_render_emptied_talk(const struct ews_cmd_ctx *ctx, const char *top, const struct ews_transition_result *put)
{
	for (size_t i = 0; i < put->not_covered.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *why = ews_path_line_split(&path, put->not_covered.items[i]);
		EWS_CLEANUP(free) char *in = ews_shell_shown(top);
		EWS_CLEANUP(free) char *shown = ews_shell_shown(path.ptr);

		/* In place it is the git directory; and what stands where the repository was is in git's way. */
		if (!strcmp(why, EWS_SKIP_REPOSITORY_GONE) && strcmp(ews_path_base(path.ptr), EWS_GITFILE) != 0 &&
		    !ews_path_line_has(&put->errors, path.ptr))
			ews_cmd_note(ctx,
				     "a submodule is empty now; this fills it: git -C %s submodule update --init -- %s",
				     in, shown);
	}
}

void ews_render_revert_text(struct ews_cmd_ctx *ctx, const struct ews_revert_result *result, const char *what,
			    const char *top, const char *undo)
{
	ews_render_put_text(&ctx->out, &result->put, what, ews_pager_color(ctx, "status"));
	ews_render_put_talk(ctx, &result->put);
	ews_render_moved_talk(ctx, top, &result->put);
	ews_render_emptied_talk(ctx, top, &result->put);
	ews_render_ref_commands_talk(ctx, &result->ref_commands);
	if (result->undo)
		ews_cmd_note(ctx, "'%s' brings back what was there", undo);
}

static void add_plan(struct ews_cmd_ctx *ctx, const char *word, const struct ews_strv *paths)
{
	size_t i;

	for (i = 0; i < paths->n; i++) {
		ews_buf_addf(&ctx->out, "%s ", word);
		ews_cmd_add_path_line(ctx, paths->items[i]);
	}
}

void ews_render_put_plan(struct ews_cmd_ctx *ctx, const struct ews_transition_result *put)
{
	size_t i;

	add_plan(ctx, "restore", &put->restored);
	add_plan(ctx, "delete", &put->deleted);
	for (i = 0; i < put->kept.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		(void)ews_path_line_split(&path, put->kept.items[i]);
		ews_buf_adds(&ctx->out, "trash ");
		ews_cmd_add_path_line(ctx, path.ptr);
	}
	talk_of_uncovered(ctx, put);
	ews_render_branches_talk(ctx, put);
}

static const char *step_word(enum ews_step_state state)
{
	switch (state) {
	case EWS_STEP_PLANNED:
		return "unfinished";
	case EWS_STEP_DONE:
		return "done";
	case EWS_STEP_UNDOING:
		return "undoing";
	case EWS_STEP_UNDONE:
		return "undone";
	case EWS_STEP_REDOING:
		return "redoing";
	case EWS_STEP_EXPIRED:
		return "expired";
	}
	return "damaged";
}

void ews_render_step(cJSON *object, const struct ews_step *step, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *project = ews_whose_path(step, repo);
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;

	for (size_t i = 0; i < step->paths.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		(void)ews_path_line_split(&path, step->paths.items[i]);
		ews_strv_add(&paths, path.ptr);
	}
	ews_render_string(object, "id", step->id);
	ews_render_string(object, "verb", step->verb);
	ews_render_string(object, "session_id", step->session);
	if (project)
		ews_json_add_path(object, "project", project);
	(void)cJSON_AddStringToObject(object, "state", step_word(step->state));
	(void)cJSON_AddBoolToObject(object, "emptied", step->is_emptied);
	ews_render_time(object, "timestamp", step->created_s);
	ews_render_string(object, "before", step->before);
	ews_render_string(object, "after", step->after);
	ews_render_paths(object, "paths", &paths);
}

/* What is not to be turned from here has its work tree behind it. */
static void add_work_tree(struct ews_buf *out, const struct ews_step *step, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *path = NULL;

	if (ews_whose(step, repo) == EWS_WHOSE_OURS)
		return;
	path = ews_whose_path(step, repo);
	ews_buf_adds(out, "  ");
	ews_path_quote(out, path ? path : "?");
}

void ews_render_step_lines(struct ews_buf *out, const struct ews_steps *steps, const struct ews_repo *repo)
{
	char stamp[EWS_STAMP_LEN];
	size_t i;

	for (i = 0; i < steps->n; i++) {
		const struct ews_step *step = &steps->items[i];

		ews_clock_rfc3339(stamp, step->created_s);
		ews_buf_addf(out, "%s  %s  %-10s  %-8s  %s", step->id, stamp, step_word(step->state), step->verb,
			     *step->session ? step->session : "-");
		add_work_tree(out, step, repo);
		ews_buf_addc(out, '\n');
	}
}
