/*
 * git ews archive create: which directory, by which rules, where to.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/home.h"
#include "cmd/cmd_archive.h"
#include "cmd/progress.h"
#include "cmd/render_archive.h"
#include "cmd/render_path.h"
#include "work/archive_make.h"
#include "work/archive_origin.h"
#include "work/archive_spec.h"
#include "work/session_name.h"

static const char *const create_usage[] = {
	"git ews archive create [<options>] [<dir> | <session>]",
	"git ews archive create --update <archive> [<options>]",
	NULL,
};

struct create_settings {
	struct ews_strv keep, ignore, env;
	const char *to, *compress, *spec, *update;
	bool no_ignore, if_changed;
};

#define CREATE_SETTINGS_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, NULL, NULL, NULL, NULL, false, false }

static void release_settings(struct create_settings *set)
{
	ews_strv_release(&set->keep);
	ews_strv_release(&set->ignore);
	ews_strv_release(&set->env);
}

EWS_CLEANUP_DEFINE(create_settings, struct create_settings, release_settings)

/* What one archive is made from, and by which rules, gathered from options, spec and the archive before. */
struct plan {
	struct ews_archive_order order;
	struct ews_archive_rules rules;
	struct ews_strv env;
	struct ews_archive previous;
	struct ews_archive_origin origin;
	char *to;
};

#define PLAN_INIT                                                                                    \
	{                                                                                            \
		.rules = EWS_ARCHIVE_RULES_INIT, .env = EWS_STRV_INIT, .previous = EWS_ARCHIVE_INIT, \
		.origin = EWS_ARCHIVE_ORIGIN_INIT                                                    \
	}

static void release_plan(struct plan *plan)
{
	ews_archive_rules_release(&plan->rules);
	ews_strv_release(&plan->env);
	ews_archive_release(&plan->previous);
	ews_archive_origin_release(&plan->origin);
	free(plan->to);
}

EWS_CLEANUP_DEFINE(plan, struct plan, release_plan)

static int take_session(struct plan *plan, struct ews_cmd_ctx *ctx, const char *id)
{
	ews_cmd_meet(ctx, id);
	return ews_archive_origin_session(&plan->origin, ctx->repo, id);
}

/* Without a word: the session that is implied, else the project, else the directory that one stands in. */
static int take_here(struct plan *plan, struct ews_cmd_ctx *ctx, const char *home)
{
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ctx->repo ? ews_session_is_implied(ctx->repo) : 0;

	if (rc > 0) {
		rc = ews_session_resolve(&id, ctx->repo, NULL);
		return rc < 0 ? rc : take_session(plan, ctx, id);
	}
	return rc < 0 ? rc : ews_archive_origin_dir(&plan->origin, ctx->repo ? ctx->repo->project : ctx->cwd, home);
}

/*
 * The directory that the archive to be updated is of. One that came from elsewhere may name any, and what is in that would go
 * where the archive lies: its word alone is enough for what lies where one stands.
 */
static int take_recorded(const char **word, const struct plan *plan, const struct ews_cmd_ctx *ctx, const char *home)
{
	EWS_CLEANUP(free) char *archives = ews_path_join(home, EWS_HOME_ARCHIVES);
	EWS_CLEANUP(free) char *file = ews_path_absolute(ctx->cwd, plan->previous.file);
	EWS_CLEANUP(free) char *real = plan->previous.path ? realpath(plan->previous.path, NULL) : NULL;
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	*word = plan->previous.path;
	/* One that is not there is told of by who looks. */
	if (!real || ews_path_is_inside(file, archives) || ews_path_is_inside(real, ctx->cwd) ||
	    (ctx->repo && ews_path_is_inside(real, ctx->repo->project)))
		return 0;
	ews_path_quote(&path, *word);
	ews_error(EWS_EDENIED, "the archive says to be of '%s', and is none of those in home", path.ptr);
	ews_error_hint("name the directory that is to be packed, or go there");
	return EWS_EDENIED;
}

static int choose_source(struct plan *plan, struct ews_cmd_ctx *ctx, const char *home, const char *word)
{
	EWS_CLEANUP(free) char *id = NULL;
	EWS_CLEANUP(free) char *full = NULL;
	int rc;

	rc = !word && plan->previous.file && !plan->previous.is_foreign ? take_recorded(&word, plan, ctx, home) : 0;
	if (rc < 0)
		return rc;
	if (!word)
		return take_here(plan, ctx, home);
	if (ctx->repo && !strchr(word, '/') && strcmp(word, ".") != 0 && strcmp(word, "..") != 0) {
		rc = ews_session_resolve(&id, ctx->repo, word);
		if (rc == 0)
			return take_session(plan, ctx, id);
		if (ews_error_if_passing(rc) < 0)
			return rc;
	}
	full = ews_path_absolute(ctx->cwd, word);
	return ews_archive_origin_dir(&plan->origin, full, home);
}

static int take_previous(struct plan *plan, struct ews_cmd_ctx *ctx, const char *home, const char *word)
{
	EWS_CLEANUP(free) char *file = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	int rc = ews_cmd_archive_find(&file, ctx, home, word);

	if (rc == 0)
		rc = fd = ews_archive_open(file);
	if (rc >= 0)
		rc = ews_archive_describe(&plan->previous, file, fd);
	if (rc < 0)
		return rc;
	if (plan->previous.is_foreign)
		return ews_error(EWS_EUSAGE, "'%s' has no record of how it was made", word);
	plan->order.previous = &plan->previous;
	plan->order.compression = plan->previous.compression;
	ews_archive_rules_copy(&plan->rules, &plan->previous.rules);
	for (size_t i = 0; i < plan->previous.env.n; i++) {
		const char *name = plan->previous.env.items[i];
		EWS_CLEANUP(free) char *bare = ews_strndup(name, strcspn(name, "="));
		EWS_CLEANUP(buf) struct ews_buf shown = EWS_BUF_INIT;

		/* It may be somebody else's archive that asks for it. */
		ews_path_quote(&shown, bare);
		ews_cmd_note(ctx, "the environment's '%s' is recorded, as before", shown.ptr);
		ews_strv_add(&plan->env, bare);
	}
	/* The next one stands beside it, unless its place is the one in home. */
	plan->to = ews_path_dir(file);
	return 0;
}

/* A name that is given once more takes the place of the one before. */
static void add_names(struct ews_strv *out, const struct ews_strv *names)
{
	for (size_t i = 0; i < names->n; i++) {
		size_t len = strcspn(names->items[i], "="), k = 0;

		while (k < out->n &&
		       (strcspn(out->items[k], "=") != len || strncmp(out->items[k], names->items[i], len) != 0))
			k++;
		if (k == out->n) {
			ews_strv_add(out, names->items[i]);
			continue;
		}
		free(out->items[k]);
		out->items[k] = ews_strdup(names->items[i]);
	}
}

static int take_spec(struct plan *plan, struct ews_cmd_ctx *ctx, const char *path)
{
	EWS_CLEANUP(archive_spec) struct ews_archive_spec spec = EWS_ARCHIVE_SPEC_INIT;
	int rc = ews_archive_spec_read(&spec, ctx->cwd, path);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < spec.warnings.n; i++)
		ews_cmd_warn(ctx, "%s", spec.warnings.items[i]);
	ews_archive_rules_release(&plan->rules);
	plan->rules = spec.rules;
	spec.rules = (struct ews_archive_rules)EWS_ARCHIVE_RULES_INIT;
	add_names(&plan->env, &spec.env);
	if (spec.has_compression)
		plan->order.compression = spec.compression;
	if (spec.location) {
		free(plan->to);
		plan->to = ews_steal(&spec.location);
	}
	return 0;
}

/* Options are stronger than a spec, that is stronger than what was done before. */
static int take_options(struct plan *plan, const struct ews_cmd_ctx *ctx, const struct create_settings *set)
{
	if (set->keep.n) {
		ews_strv_clear(&plan->rules.keep);
		ews_strv_add_array(&plan->rules.keep, set->keep.items);
	}
	ews_strv_add_array(&plan->rules.ignore, set->ignore.items);
	add_names(&plan->env, &set->env);
	if (set->no_ignore)
		plan->rules.no_defaults = true;
	if (set->to && !*set->to)
		return ews_error(EWS_EUSAGE, "--to says where it goes");
	if (set->to) {
		free(plan->to);
		plan->to = ews_path_absolute(ctx->cwd, set->to);
	}
	return set->compress ? ews_compression_read(&plan->order.compression, set->compress) : 0;
}

/* Archives in home have their own place and modes, however it was named. */
static void settle_place(struct plan *plan, const char *home)
{
	EWS_CLEANUP(free) char *archives = ews_path_join(home, EWS_HOME_ARCHIVES);

	if (plan->to && ews_path_is_inside(plan->to, archives))
		free(ews_steal(&plan->to));
	plan->order.to = plan->to;
}

static int check_env(const struct ews_strv *names)
{
	for (size_t i = 0; i < names->n; i++)
		if (!ews_archive_is_env(names->items[i]))
			return ews_error(EWS_EUSAGE, "'%s' is no name of a variable", names->items[i]);
	return 0;
}

static int make_plan(struct plan *plan, struct ews_cmd_ctx *ctx, const char *home,
		     const struct create_settings *set, const char *word)
{
	int rc = check_env(&set->env);

	plan->order.compression = EWS_COMPRESSION_GZ;
	if (rc == 0 && set->update)
		rc = take_previous(plan, ctx, home, set->update);
	if (rc == 0 && set->spec)
		rc = take_spec(plan, ctx, set->spec);
	if (rc == 0)
		rc = take_options(plan, ctx, set);
	if (rc == 0)
		rc = choose_source(plan, ctx, home, word);
	if (rc < 0)
		return rc;
	settle_place(plan, home);
	plan->order.source = plan->origin.source;
	plan->order.home = home;
	plan->order.rules = &plan->rules;
	plan->order.env = &plan->env;
	plan->order.if_changed = set->if_changed;
	return 0;
}

static void show_made(struct ews_cmd_ctx *ctx, const struct ews_archive *archive,
		      const struct ews_archive_tree *tree, bool is_new)
{
	EWS_CLEANUP(json) cJSON *object = NULL;

	if (!ctx->json) {
		for (size_t i = 0; i < archive->env.n; i++)
			if (is_new && !strchr(archive->env.items[i], '='))
				ews_cmd_note(ctx, "'%s' is not set in the environment", archive->env.items[i]);
		if (!is_new)
			ews_cmd_note(ctx, "nothing has changed since");
		ews_render_skips_talk(ctx, &tree->scan.skips);
		ews_cmd_add_place(ctx, archive->file);
		return;
	}
	object = ews_cmd_json_new("archive");
	(void)cJSON_AddBoolToObject(object, "is_new", is_new);
	ews_render_archive(object, archive, NULL);
	ews_render_archive_paths(object, &tree->scan.entries, &tree->scan.skips);
	ews_cmd_json_show(ctx, object);
}

int ews_cmd_archive_create(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(create_settings) struct create_settings set = CREATE_SETTINGS_INIT;
	EWS_CLEANUP(plan) struct plan plan = PLAN_INIT;
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(archive_tree) struct ews_archive_tree tree = EWS_ARCHIVE_TREE_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	struct ews_progress progress;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "to", &set.to, "dir", "put it there, and not into home; made when missing"),
		EWS_OPT_STRING(0, "compress", &set.compress, "how", "gz (the default), bz2, xz, zstd or none"),
		EWS_OPT_LIST(0, "keep", &set.keep, "pattern", "only what a pattern matches, as in .gitignore"),
		EWS_OPT_LIST(0, "ignore", &set.ignore, "pattern", "leave out what it matches, whatever --keep says"),
		EWS_OPT_BOOL(0, "no-ignore", &set.no_ignore,
			     "no rules but those that are given: .gitignore does not count"),
		EWS_OPT_LIST(0, "env", &set.env, "name", "record that variable of the environment"),
		EWS_OPT_STRING(0, "spec", &set.spec, "file", "a YAML file that says all that"),
		EWS_OPT_STRING(0, "update", &set.update, "archive",
			       "the same once more, and name that one as the previous"),
		EWS_OPT_BOOL(0, "if-changed", &set.if_changed, "none when the tree is that of the one before"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = create_usage, .opts = opts, .max_words = 1, .prints_paths = true
	};
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	rc = ews_cmd_archive_begin(&home, ctx);
	if (rc == 0)
		rc = make_plan(&plan, ctx, home, &set, args.words.n ? args.words.items[0] : NULL);
	if (rc < 0)
		return rc;
	ews_progress_init(&progress, ctx, "Packing");
	plan.order.progress = ews_progress_show;
	plan.order.payload = &progress;
	rc = ews_archive_make(&archive, &tree, &plan.order);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	show_made(ctx, &archive, &tree, rc > 0);
	return 0;
}
