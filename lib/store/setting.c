/*
 * Settings: see setting.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/setting.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/gitconfig_text.h"

#define ARROW "->" /* between a pattern and what it stands for */

static const struct ews_setting_word methods[] = {
	{ "auto", "auto", 0 },
	{ "worktree", "worktree", 0 },
	{ "snapshot", "snapshot", 0 },
	{ "in-place", "in-place", 1 },
	{ "overlay", "overlay", 0 },
	{ "git_worktree", "worktree", 0 },
	{ "git-worktree", "worktree", 0 },
	{ "in_place", "in-place", 1 },
	{ NULL, NULL, 0 },
};

static const struct ews_setting_word levels[] = {
	{ "strict", "strict", 0 }, { "auto", "auto", 1 }, { "advise", "advise", 2 },
	{ "off", "off", 3 },       { NULL, NULL, 0 },
};

static const struct ews_setting_word policies[] = {
	{ "read-only", "read-only", 0 },
	{ "inside", "inside", 1 },
	{ NULL, NULL, 0 },
};

static const struct ews_setting_word kinds[] = {
	{ "unit", "unit", 0 }, { "integration", "integration", 0 }, { "e2e", "e2e", 0 },
	{ "api", "api", 0 },   { "contract", "contract", 0 },       { "fuzz", "fuzz", 0 },
	{ "load", "load", 0 }, { "regression", "regression", 0 },   { "security", "security", 0 },
	{ NULL, NULL, 0 },
};

/* In the order of superqode.yaml as 'config init' writes it. */
const struct ews_setting ews_settings[] = {
	{ "qe.workspace.method", "ews.workspace.method", EWS_SETTING_WORD, "auto", methods, NULL, false,
	  "how a workspace is made: auto, worktree, snapshot, in-place or overlay", NULL },
	{ "qe.workspace.location", "ews.workspace.location", EWS_SETTING_PLACE, "home", NULL, NULL, false,
	  "where independent copies lie: home, or a directory", NULL },
	{ "qe.workspace.preserve_artifacts", "ews.workspace.preserveArtifacts", EWS_SETTING_BOOL, "true", NULL,
	  NULL, false, "keep what a session leaves for later when it ends", NULL },
	{ "qe.workspace.cleanup_on_success", "ews.workspace.cleanupOnSuccess", EWS_SETTING_BOOL, "true", NULL, NULL,
	  false, "end a session when its command succeeded", NULL },
	{ "qe.workspace.cleanup_on_failure", "ews.workspace.cleanupOnFailure", EWS_SETTING_BOOL, "false", NULL,
	  NULL, false, "end a session when its command failed", NULL },
	{ "qe.workspace.exclude", "ews.workspace.exclude", EWS_SETTING_LIST, NULL, NULL, NULL, false,
	  "paths that are in no workspace and no snapshot, in the syntax of .gitignore", "*.log" },
	{ "qe.git_guard.enabled", "ews.gitGuard.enabled", EWS_SETTING_BOOL, "true", NULL, "false", false,
	  "stop git commands that are not known to read", NULL },
	{ "qe.git_guard.allow_status", "ews.gitGuard.allowStatus", EWS_SETTING_BOOL, "true", NULL, "true", false,
	  "let git status through", NULL },
	{ "qe.git_guard.allow_diff", "ews.gitGuard.allowDiff", EWS_SETTING_BOOL, "true", NULL, "true", false,
	  "let git diff through", NULL },
	{ "qe.git_guard.block_commit", "ews.gitGuard.blockCommit", EWS_SETTING_BOOL, "true", NULL, "false", false,
	  "stop git commit", NULL },
	{ "qe.git_guard.block_push", "ews.gitGuard.blockPush", EWS_SETTING_BOOL, "true", NULL, "false", false,
	  "stop git push", NULL },
	{ "qe.artifacts.location", "ews.artifacts.location", EWS_SETTING_PLACE, ".superqode/qe-artifacts", NULL,
	  NULL, false, "where artifacts are put", NULL },
	{ "qe.artifacts.tests", "ews.artifacts.tests", EWS_SETTING_LIST, NULL, kinds, NULL, false,
	  "which new files are tests: patterns of .gitignore, each with '-> <kind>' behind it where it says one",
	  "checks/** -> integration" },
	{ NULL, "ews.home", EWS_SETTING_PLACE, "~/.superqode", NULL, NULL, true,
	  "where workspaces and records are kept", NULL },
	{ NULL, "ews.maxFile", EWS_SETTING_SIZE, "1g", NULL, NULL, false, "a larger file is named and refused", NULL },
	{ NULL, "ews.maxTotal", EWS_SETTING_SIZE, "20g", NULL, NULL, false, "the same for all files together", NULL },
	{ NULL, "ews.trashExpire", EWS_SETTING_AGE, "7 days", NULL, NULL, false,
	  "how long snapshots in trash are kept", NULL },
	{ NULL, "ews.trashMax", EWS_SETTING_SIZE, "5g", NULL, NULL, false, "how much directories in trash may hold",
	  NULL },
	{ NULL, "ews.autoClean", EWS_SETTING_BOOL, "true", NULL, NULL, false,
	  "sweep what dead owners left when a session starts", NULL },
	{ NULL, "ews.backgroundClean", EWS_SETTING_BOOL, "true", NULL, NULL, false,
	  "delete what expired in the background", NULL },
	{ NULL, "ews.guard.level", EWS_SETTING_WORD, "auto", levels, NULL, false,
	  "how the guard is made to hold: auto, strict, advise or off", NULL },
	{ NULL, "ews.guard.policy", EWS_SETTING_WORD, "read-only", policies, NULL, false,
	  "what git commands may do in a workspace: read-only, or inside", NULL },
	{ NULL, "ews.hook.start", EWS_SETTING_COMMAND, "", NULL, NULL, true,
	  "what says whether a session may begin, a command run: 0 yes, else no", NULL },
	{ NULL, "ews.hook.complete", EWS_SETTING_COMMAND, "", NULL, NULL, true,
	  "what decides about a result: 0 applies it, 1 rejects it, else it is pending", NULL },
};

const size_t ews_settings_n = sizeof(ews_settings) / sizeof(*ews_settings);

const struct ews_setting *ews_setting_find(const char *name)
{
	for (size_t i = 0; i < ews_settings_n; i++) {
		const struct ews_setting *setting = &ews_settings[i];

		if (!strcasecmp(name, setting->git) || (setting->yaml && !strcmp(name, setting->yaml)))
			return setting;
	}
	return NULL;
}

bool ews_setting_is_section(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ews_settings_n; i++) {
		const char *yaml = ews_settings[i].yaml;

		if (yaml && !strncmp(yaml, name, len) && yaml[len] == '.')
			return true;
	}
	return false;
}

const char *ews_setting_name(const struct ews_setting *setting)
{
	return setting->yaml ? setting->yaml : setting->git;
}

const char *ews_setting_type_word(enum ews_setting_type type)
{
	static const char *const words[] = {
		[EWS_SETTING_BOOL] = "bool",       [EWS_SETTING_SIZE] = "size",   [EWS_SETTING_AGE] = "age",
		[EWS_SETTING_WORD] = "word",       [EWS_SETTING_PLACE] = "place", [EWS_SETTING_LIST] = "list",
		[EWS_SETTING_COMMAND] = "command",
	};

	return words[type];
}

/* A number with git's units behind it. */
static bool read_number(uint64_t *out, const char *text)
{
	static const char units[] = "kKmMgG";
	const char *unit;
	unsigned shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * ((unsigned)(unit - units) / 2 + 1);
		end++;
	}
	if (*end || *out > (uint64_t)INT64_MAX >> shift)
		return false;
	*out <<= shift;
	return true;
}

int ews_setting_read_bool(bool *out, const char *text)
{
	if (ews_gitconfig_bool(out, text))
		return 0;
	ews_error(EWS_ECONFIG, "'%.200s' is neither true nor false", text);
	ews_error_hint("write true or false");
	return EWS_ECONFIG;
}

static int read_size(uint64_t *out, const char *text)
{
	if (read_number(out, text))
		return 0;
	ews_error(EWS_ECONFIG, "'%.200s' is not a size", text);
	ews_error_hint("write a number of bytes, with k, m or g behind it for more");
	return EWS_ECONFIG;
}

static int read_age(int64_t *out, const char *text)
{
	if (!strcasecmp(text, "never") || !strcasecmp(text, "false")) {
		*out = EWS_AGE_NEVER;
		return 0;
	}
	if (!strcasecmp(text, "now")) {
		*out = 0;
		return 0;
	}
	if (ews_clock_read_age(out, text) == 0)
		return 0;
	ews_error(EWS_ECONFIG, "'%.200s' is no age", text);
	ews_error_hint("write a number and a unit, as in 12 hours, 7 days or 2.weeks, or now, or never");
	return EWS_ECONFIG;
}

static int read_word(const char **out, const struct ews_setting *setting, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf known = EWS_BUF_INIT;

	for (const struct ews_setting_word *w = setting->words; w->word; w++) {
		if (!strcmp(text, w->word)) {
			*out = w->means;
			return 0;
		}
		if (!strcmp(w->word, w->means))
			ews_buf_addf(&known, "%s%s", known.len ? ", " : "", w->word);
	}
	ews_error(EWS_ECONFIG, "'%.200s' is none of %s", text, known.ptr);
	ews_error_hint("write one of these");
	return EWS_ECONFIG;
}

static int read_place(const char **out, const char *text)
{
	*out = text;
	if (*text && (*text != '~' || text[1] == '/'))
		return 0;
	ews_error(EWS_ECONFIG, "'%.200s' names no directory", text);
	ews_error_hint("write a path: absolute, behind '~/', or as seen from the project");
	return EWS_ECONFIG;
}

void ews_setting_split(size_t *out_len, const char **out_word, const char *text)
{
	const char *arrow = strstr(text, ARROW);
	size_t len = arrow ? (size_t)(arrow - text) : strlen(text);

	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	*out_len = len;
	*out_word = arrow ? arrow + strlen(ARROW) + strspn(arrow + strlen(ARROW), " \t") : NULL;
}

/* An empty one takes back what came before it. */
static int read_rule(const struct ews_setting *setting, const char *text)
{
	const char *word;
	size_t len;

	ews_setting_split(&len, &word, text);
	if (*text && len <= (*text == '!')) {
		ews_error(EWS_ECONFIG, "'%.200s' has no pattern", text);
		ews_error_hint("write a pattern of .gitignore, as in '%s'", setting->example);
		return EWS_ECONFIG;
	}
	return word ? read_word(&word, setting, word) : 0;
}

int ews_setting_read(struct ews_setting_value *out, const struct ews_setting *setting, const char *text)
{
	*out = (struct ews_setting_value){ .text = text };
	switch (setting->type) {
	case EWS_SETTING_BOOL:
		return ews_setting_read_bool(&out->truth, text);
	case EWS_SETTING_SIZE:
		return read_size(&out->size_bytes, text);
	case EWS_SETTING_AGE:
		return read_age(&out->age_s, text);
	case EWS_SETTING_WORD:
		return read_word(&out->text, setting, text);
	case EWS_SETTING_PLACE:
		return read_place(&out->text, text);
	case EWS_SETTING_LIST:
		return setting->words ? read_rule(setting, text) : 0;
	case EWS_SETTING_COMMAND:
		return 0;
	}
	return 0;
}

unsigned ews_setting_laxity(const struct ews_setting *setting, const struct ews_setting_value *value)
{
	bool loose = false;

	if (setting->type == EWS_SETTING_WORD) {
		for (const struct ews_setting_word *w = setting->words; w->word; w++)
			if (!strcmp(w->means, value->text))
				return w->laxity;
		return 0;
	}
	if (!setting->loose)
		return 0;
	(void)ews_setting_read_bool(&loose, setting->loose);
	return value->truth == loose;
}
