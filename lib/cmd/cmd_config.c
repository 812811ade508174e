/*
 * git ews config: which settings hold and why, a file for them, and a yes to what a repository says.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/render_config.h"
#include "cmd/render_path.h"

static const char *const usage[] = {
	"git ews config [list] [--show-origin]",
	"git ews config get [--show-origin] <key>",
	"git ews config init",
	"git ews config accept [--dry-run | --revoke]",
	NULL,
};

/* The values of a setting. */
struct values {
	struct ews_config_entry *items;
	size_t n, cap;
};

static void release_values(struct values *values)
{
	free(values->items);
}

EWS_CLEANUP_DEFINE(values, struct values, release_values)

/* Home was found before any project: what the option or the environment said of it is stronger. */
static void look_at_home(struct ews_config_entry *entry, const struct ews_cmd_ctx *ctx)
{
	const char *env = getenv("SUPERQODE_HOME");

	if (!(ctx->home && *ctx->home) && !(env && *env))
		return;
	*entry = (struct ews_config_entry){ .setting = entry->setting, .text = ctx->repo->home };
	entry->source = ctx->home && *ctx->home ? EWS_CONFIG_COMMAND : EWS_CONFIG_ENVIRONMENT;
}

static void look(struct values *out, const struct ews_cmd_ctx *ctx, const struct ews_setting *setting)
{
	struct ews_config_entry entry;

	for (size_t i = 0; ews_config_look(&entry, ctx->repo->config, setting, i); i++) {
		if (!strcmp(setting->git, "ews.home"))
			look_at_home(&entry, ctx);
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = entry;
	}
}

static void add_line(struct ews_cmd_ctx *ctx, const struct ews_config_entry *entry, bool with_key, bool with_origin)
{
	if (with_origin) {
		ews_render_origin(&ctx->out, entry, ctx->nul);
		ews_buf_addc(&ctx->out, '\t');
	}
	if (with_key)
		ews_buf_addf(&ctx->out, "%s=", ews_setting_name(entry->setting));
	/* By its key it is for a program. */
	if (with_key && !ctx->nul)
		ews_render_words(&ctx->out, entry->text);
	else
		ews_buf_adds(&ctx->out, entry->text);
	ews_buf_addc(&ctx->out, ctx->nul ? '\0' : '\n');
}

static void list_json(struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("config");
	EWS_CLEANUP(strv) struct ews_strv warnings = EWS_STRV_INIT;
	cJSON *array = cJSON_AddArrayToObject(object, "settings");

	for (size_t i = 0; i < ews_settings_n; i++) {
		EWS_CLEANUP(values) struct values values = { NULL, 0, 0 };
		cJSON *item = cJSON_CreateObject();

		look(&values, ctx, &ews_settings[i]);
		ews_render_setting(item, &ews_settings[i], values.items, values.n);
		cJSON_AddItemToArray(array, item);
	}
	ews_config_warnings(&warnings, ctx->repo->config);
	ews_render_sentences(object, "warnings", &warnings);
	ews_cmd_json_show(ctx, object);
}

static int list(struct ews_cmd_ctx *ctx, bool with_origin)
{
	int rc;

	rc = ews_config_check(ews_repo_config(ctx->repo));
	if (rc < 0)
		return rc;
	if (ctx->json) {
		list_json(ctx);
		return 0;
	}
	ews_pager_start(ctx);
	for (size_t i = 0; i < ews_settings_n; i++) {
		EWS_CLEANUP(values) struct values values = { NULL, 0, 0 };

		look(&values, ctx, &ews_settings[i]);
		for (size_t k = 0; k < values.n; k++)
			add_line(ctx, &values.items[k], true, with_origin);
	}
	return 0;
}

static int get(struct ews_cmd_ctx *ctx, const char *key, bool with_origin)
{
	const struct ews_setting *setting = ews_setting_find(key);
	EWS_CLEANUP(values) struct values values = { NULL, 0, 0 };
	EWS_CLEANUP(json) cJSON *object = NULL;
	int rc;

	if (!setting) {
		(void)ews_error(EWS_ENOTFOUND, "'%s' is no setting of git ews", key);
		ews_error_hint("'git ews config list' lists them");
		return EWS_ENOTFOUND;
	}
	rc = ews_config_check_one(ews_repo_config(ctx->repo), setting);
	if (rc < 0)
		return rc;
	look(&values, ctx, setting);
	if (ctx->json) {
		object = ews_cmd_json_new("setting");
		ews_render_setting(object, setting, values.items, values.n);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	for (size_t i = 0; i < values.n; i++)
		add_line(ctx, &values.items[i], false, with_origin);
	return 0;
}

static int init(struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(free) char *path = ews_path_join(ctx->repo->project, EWS_CONFIG_FILE);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(fd) int dir = -1;
	int rc;

	if (ctx->repo->is_bare)
		return ews_error(EWS_EUSAGE, "'%s' is a bare repository: it has no files", ctx->repo->project);
	dir = ews_dir_open(ctx->repo->project);
	if (dir < 0)
		return dir;
	ews_render_config_file(&text);
	rc = ews_file_make(dir, EWS_CONFIG_FILE, text.ptr, text.len, 0666);
	if (rc == EWS_EEXISTS) {
		(void)ews_error(EWS_EEXISTS, "'%s' is there already", path);
		ews_error_hint("edit it; 'git ews config list --show-origin' says what holds");
	}
	if (rc < 0)
		return rc;
	if (!ctx->json) {
		ews_cmd_add_place(ctx, path);
		return 0;
	}
	object = ews_cmd_json_new("config_init");
	ews_json_add_path(object, "path", path);
	ews_cmd_json_show(ctx, object);
	return 0;
}

/* What counts only once it is accepted, a line each or in `array`. Gives the number, and how many of it are accepted. */
static size_t show_loose(size_t *out_accepted, struct ews_cmd_ctx *ctx, cJSON *array)
{
	struct ews_config_entry entry;
	bool is_accepted;
	size_t n = 0;

	for (; ews_config_look_loose(&entry, &is_accepted, ctx->repo->config, n); n++) {
		cJSON *item = array ? cJSON_CreateObject() : NULL;

		*out_accepted += is_accepted;
		if (!item) {
			add_line(ctx, &entry, true, true);
			continue;
		}
		ews_render_setting(item, entry.setting, &entry, 1);
		(void)cJSON_AddBoolToObject(item, "is_accepted", is_accepted);
		cJSON_AddItemToArray(array, item);
	}
	return n;
}

static void note_accepted(const struct ews_cmd_ctx *ctx, size_t n, size_t n_accepted, bool dry_run)
{
	if (!n)
		ews_cmd_note(ctx, "nothing here needs to be accepted");
	else if (n == n_accepted)
		ews_cmd_note(ctx, "this is accepted already");
	else if (dry_run)
		ews_cmd_note(ctx, "'git ews config accept' lets this count");
	else
		ews_cmd_note(ctx, "this counts until what the repository says of ews changes, or 'git ews config "
				  "accept --revoke'");
}

static int accept_loose(struct ews_cmd_ctx *ctx, bool dry_run)
{
	EWS_CLEANUP(json) cJSON *object = ctx->json ? ews_cmd_json_new("config_accept") : NULL;
	const struct ews_config *config = ews_repo_config(ctx->repo);
	size_t n, n_accepted = 0;
	int rc;

	if (ctx->repo->here && !dry_run) {
		(void)ews_error(EWS_EDENIED,
				"this is the workspace of session '%s': settings are accepted in the project",
				ctx->repo->here);
		ews_error_hint("change to '%s'", ctx->repo->project);
		return EWS_EDENIED;
	}
	rc = ews_config_check(config);
	if (rc < 0)
		return rc;
	n = show_loose(&n_accepted, ctx, object ? cJSON_AddArrayToObject(object, "settings") : NULL);
	rc = dry_run ? 0 : ews_config_accept(config);
	if (rc < 0)
		return rc;
	if (!dry_run)
		(void)ews_repo_config_again(ctx->repo); /* what counts now is nothing to warn of */
	note_accepted(ctx, n, n_accepted, dry_run);
	if (object) {
		(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
		ews_cmd_json_show(ctx, object);
	}
	return 0;
}

static int take_back(struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	int rc = ews_config_revoke(ews_repo_config(ctx->repo));

	if (rc < 0)
		return rc;
	if (!rc)
		ews_cmd_note(ctx, "nothing was accepted here");
	if (ctx->json) {
		object = ews_cmd_json_new("config_accept");
		(void)cJSON_AddBoolToObject(object, "revoked", rc > 0);
		ews_cmd_json_show(ctx, object);
	}
	return 0;
}

static bool is_verb(const char *word)
{
	static const char *const words[] = { "list", "get", "init", "accept" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	bool with_origin = false, dry_run = false, revokes = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "show-origin", &with_origin, "say where each value comes from"),
		EWS_OPT_BOOL('n', "dry-run", &dry_run, "only say what accept would let count"),
		EWS_OPT_BOOL(0, "revoke", &revokes, "take back what was accepted"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = usage,
		.opts = opts,
		.max_words = 2,
		.prints_paths = true,
	};
	const char *verb;
	size_t n_words;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	verb = args.words.n ? args.words.items[0] : "list";
	n_words = !strcmp(verb, "get") ? 2 : 1;
	if (!is_verb(verb))
		return ews_error(EWS_EUSAGE, "'%s' is not a verb of git ews config", verb);
	if (args.words.n > n_words)
		return ews_error(EWS_EUSAGE, "'%s' is one argument too many", args.words.items[n_words]);
	if (n_words == 2 && args.words.n < 2)
		return ews_error(EWS_EUSAGE, "the key is missing");
	if ((dry_run || revokes) && (strcmp(verb, "accept") != 0 || (dry_run && revokes)))
		return ews_error(EWS_EUSAGE, "--dry-run and --revoke are options of accept, one at a time");
	rc = ews_cmd_open_repo(ctx);
	if (rc < 0)
		return rc;
	if (n_words == 2)
		return get(ctx, args.words.items[1], with_origin);
	if (!strcmp(verb, "accept"))
		return revokes ? take_back(ctx) : accept_loose(ctx, dry_run);
	return strcmp(verb, "init") ? list(ctx, with_origin) : init(ctx);
}

const struct ews_cmd ews_cmd_config = {
	"config", "show which settings hold and why, make a file for them, accept a repository's", run
};
