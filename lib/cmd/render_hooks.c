/*
 * Hooks: see render_hooks.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_hooks.h"

#include "base/path.h"
#include "cmd/render_path.h"

/* git runs no hook for these, or after the deed. */
static const char *const limits[] = {
	"what changes files and index alone: git add, git rm, git checkout -- <file>, git restore, git clean",
	"git reset --hard and git checkout <branch>: files are written before git asks about the ref",
	"git config, git remote add, git symbolic-ref, git worktree, git reflog expire, git prune",
	"git push --no-verify, git -c core.hooksPath=, and git -C <another place>",
	"other programs than git, and those that write below .git themselves",
};

#define N_LIMITS (sizeof(limits) / sizeof(*limits))

static const char *scope_word(enum ews_hooks_scope scope)
{
	return scope == EWS_HOOKS_USER ? "user" : "repository";
}

static void add_line(struct ews_buf *out, const char *what, const char *path)
{
	ews_buf_addf(out, "    %s ", what);
	ews_path_quote(out, path);
	ews_buf_addc(out, '\n');
}

void ews_render_hooks(struct ews_buf *out, const struct ews_hooks *hooks)
{
	ews_buf_addf(out, "%s: %sinstalled\n", scope_word(hooks->scope), ews_hooks_is_installed(hooks) ? "" : "not ");
	if (!ews_hooks_is_installed(hooks))
		return;
	add_line(out, "hooks in", hooks->dir);
	for (size_t i = 0; i < hooks->configs.n; i++)
		add_line(out, "named by", hooks->configs.items[i]);
	if (hooks->next)
		add_line(out, "run before those of", hooks->next);
	else if (hooks->taken)
		ews_buf_adds(out, "    run alone: without them core.hooksPath is empty\n");
	if (hooks->taken && !*hooks->taken)
		ews_buf_adds(out, "    not run here: core.hooksPath is empty\n");
	else if (hooks->taken && !ews_hooks_is_effective(hooks))
		add_line(out, "not run here: git takes those of", hooks->taken);
	for (size_t i = 0; i < hooks->foreign.n; i++)
		add_line(out, "not ours, or not as it was written; git ews may not be asked there:",
			 hooks->foreign.items[i]);
	for (size_t i = 0; i < hooks->idle.n; i++)
		add_line(out,
			 hooks->scope == EWS_HOOKS_USER
				 ? "can't be executed, 'git ews guard install --global' mends that:"
				 : "can't be executed, 'git ews guard install' mends that:",
			 hooks->idle.items[i]);
}

void ews_render_hooks_limits_text(struct ews_buf *out)
{
	ews_buf_adds(out, "Hooks can't stop\n");
	for (size_t i = 0; i < N_LIMITS; i++)
		ews_buf_addf(out, "    - %s\n", limits[i]);
}

void ews_render_hooks_object(cJSON *object, const struct ews_hooks *hooks)
{
	(void)cJSON_AddStringToObject(object, "scope", scope_word(hooks->scope));
	(void)cJSON_AddBoolToObject(object, "is_installed", ews_hooks_is_installed(hooks));
	if (hooks->taken)
		(void)cJSON_AddBoolToObject(object, "is_effective", ews_hooks_is_effective(hooks));
	else
		(void)cJSON_AddNullToObject(object, "is_effective");
	ews_json_add_path(object, "directory", hooks->dir);
	ews_render_paths(object, "config_files", &hooks->configs);
	ews_render_path_or_null(object, "next", hooks->next);
	ews_render_paths(object, "not_ours", &hooks->foreign);
	ews_render_paths(object, "not_executable", &hooks->idle);
	ews_render_paths(object, "sessions_in_use", &hooks->busy);
}

void ews_render_hooks_item(cJSON *array, const struct ews_hooks *hooks)
{
	cJSON *item = cJSON_CreateObject();

	ews_render_hooks_object(item, hooks);
	cJSON_AddItemToArray(array, item);
}

void ews_render_hooks_limits(cJSON *object)
{
	cJSON *array = cJSON_AddArrayToObject(object, "not_stopped");

	for (size_t i = 0; i < N_LIMITS; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(limits[i]));
}
