/*
 * git ews suggestions: patches that outlived their session, looked at and applied.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "cmd/cmd.h"
#include "cmd/cmd_apply.h"
#include "cmd/pager.h"
#include "cmd/render_artifact.h"
#include "work/suggestion.h"

static const char *const list_usage[] = { "git ews suggestions list", NULL };
static const char *const show_usage[] = { "git ews suggestions show <name>", NULL };
static const char *const apply_usage[] = { "git ews suggestions apply <name>", EWS_CMD_APPLY_USAGE, NULL };

static int read_list(struct ews_artifacts *out, struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(artifact_news) struct ews_artifact_news news = EWS_ARTIFACT_NEWS_INIT;
	int rc;

	rc = ews_artifact_list(out, &news, ctx->repo);
	if (rc == 0)
		ews_render_artifact_news_talk(ctx, &news);
	return rc;
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts artifacts = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("suggestions");
	EWS_CLEANUP(free) const struct ews_artifact **shown = NULL;
	cJSON *array = cJSON_AddArrayToObject(object, "suggestions");
	const struct ews_cmd_syntax syntax = { .usage = list_usage, .prints_paths = true };
	size_t n = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = read_list(&artifacts, ctx);
	if (rc < 0)
		return rc;
	shown = ews_calloc(artifacts.n + 1, sizeof(*shown));
	for (size_t i = 0; i < artifacts.n; i++) {
		if (!ews_suggestion_is(&artifacts.items[i]))
			continue;
		shown[n++] = &artifacts.items[i];
		cJSON_AddItemToArray(array, ews_render_artifact(&artifacts.items[i], artifacts.place));
	}
	if (ctx->json) {
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_pager_start(ctx);
	ews_render_artifact_lines(&ctx->out, shown, n, ctx->nul);
	return 0;
}

static int show(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts artifacts = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("suggestion");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const struct ews_cmd_syntax syntax = { .usage = show_usage, .min_words = 1, .max_words = 1 };
	const struct ews_artifact *found;
	bool is_exact;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = read_list(&artifacts, ctx);
	if (rc == 0)
		rc = ews_suggestion_find(&found, &is_exact, &artifacts, args.words.items[0]);
	if (rc == 0)
		rc = ews_suggestion_read(&text, ctx->repo, found);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		cJSON_AddItemToObject(object, "suggestion", ews_render_artifact(found, artifacts.place));
		ews_json_add_text(object, "patch", text.ptr, text.len);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_pager_start(ctx);
	ews_buf_add(&ctx->out, text.ptr, text.len);
	return 0;
}

/* What is applied, and what its name and bytes belong to. */
struct chosen {
	struct ews_artifacts artifacts;
	struct ews_buf text;
};

static void release_chosen(struct chosen *chosen)
{
	ews_artifacts_release(&chosen->artifacts);
	ews_buf_release(&chosen->text);
}

EWS_CLEANUP_DEFINE(chosen, struct chosen, release_chosen)

static int choose(void *payload, struct ews_apply_source *out, struct ews_cmd_ctx *ctx, const char *word)
{
	struct chosen *chosen = payload;
	const struct ews_artifact *found;
	bool is_exact;
	int rc;

	rc = read_list(&chosen->artifacts, ctx);
	if (rc == 0)
		rc = ews_suggestion_find(&found, &is_exact, &chosen->artifacts, word);
	if (rc == 0)
		rc = ews_suggestion_read(&chosen->text, ctx->repo, found);
	if (rc < 0)
		return rc;
	*out = (struct ews_apply_source){ .kind = EWS_APPLY_PATCH,
					  .name = ews_artifact_name(found),
					  .data = chosen->text.ptr,
					  .len = chosen->text.len };
	return 0;
}

static int apply(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(chosen) struct chosen chosen = { EWS_ARTIFACTS_INIT, EWS_BUF_INIT };
	const struct ews_apply_verb verb = { .usage = apply_usage, .find = choose, .payload = &chosen };

	return ews_cmd_apply_one(&verb, ctx, argc, argv);
}

static const struct ews_cmd verbs[] = {
	{ "list", "list them", list },
	{ "show", "print one", show },
	{ "apply", "apply one to the project", apply },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_suggestions = { "suggestions", "look at and apply patches that outlived their session",
					     run };
