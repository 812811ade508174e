/*
 * git ews snapshot verify, drop and prune: are they whole, and which may go.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path_line.h"
#include "base/str.h"
#include "cmd/cmd_snapshot.h"
#include "cmd/progress.h"
#include "cmd/prune_opts.h"
#include "cmd/render_path.h"
#include "work/artifact_registry.h"
#include "work/round_record.h"
#include "work/undo_words.h"
#include "work/verify.h"

#define ARTIFACT "artifact"

static const char *const verify_usage[] = {
	"git ews snapshot verify [<snapshot>...]",
	"git ews snapshot verify --all [--trash]",
	NULL,
};

static const char *const drop_usage[] = {
	"git ews snapshot drop [--dry-run] <snapshot>...",
	NULL,
};

static const char *const prune_usage[] = {
	"git ews snapshot prune [--keep <n>] [--older-than <age>] [--dry-run] [<session>]",
	NULL,
};

/* The snapshots that words name. */
static int find_named(struct ews_snapshots *out, struct ews_cmd_ctx *ctx, const struct ews_strv *words)
{
	size_t i;
	int rc;

	rc = ews_cmd_open_repo(ctx);
	for (i = 0; rc == 0 && i < words->n; i++) {
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n] = (struct ews_snapshot)EWS_SNAPSHOT_INIT;
		rc = ews_snapshot_find(&out->items[out->n], ctx->repo, words->items[i]);
		if (rc == 0)
			out->n++;
	}
	return rc;
}

struct verifying {
	struct ews_cmd_ctx *ctx;
	struct ews_verify *verify;
	struct ews_progress progress;
	cJSON *snapshots, *others, *store; /* with --json */
	bool is_damaged;
};

/* Its sentences are part of the answer. */
static void add_line(struct ews_cmd_ctx *ctx, const char *name, const char *text)
{
	ews_render_words(&ctx->out, name);
	ews_buf_adds(&ctx->out, ": ");
	ews_render_words(&ctx->out, text);
	ews_buf_addc(&ctx->out, '\n');
}

/* `kind` is NULL for a snapshot. */
static void show_verified(struct verifying *v, const char *kind, const char *name, const struct ews_strv *problems)
{
	EWS_CLEANUP(free) char *shown = ews_strfmt("%s%s%s", kind ? kind : "", kind ? " " : "", name);
	cJSON *item = cJSON_CreateObject();
	size_t i;

	v->is_damaged = v->is_damaged || problems->n;
	if (kind)
		ews_render_string(item, "kind", kind);
	ews_render_string(item, kind ? "name" : "snapshot_id", name);
	(void)cJSON_AddBoolToObject(item, "verified", problems->n == 0);
	ews_render_sentences(item, "problems", problems);
	cJSON_AddItemToArray(kind ? v->others : v->snapshots, item);
	if (v->ctx->json)
		return;
	if (!problems->n)
		add_line(v->ctx, shown, "ok");
	for (i = 0; i < problems->n; i++)
		add_line(v->ctx, shown, problems->items[i]);
}

static int verify_one(struct verifying *v, const struct ews_snapshot *snapshot, const char *kind, const char *name)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	int n;

	n = ews_verify_snapshot(&problems, v->verify, snapshot);
	if (n >= 0)
		show_verified(v, kind, name ? name : snapshot->id, &problems);
	return n;
}

/* A snapshot whose commit can't be read has no more of a name than its ref. */
static void show_unreadable(struct verifying *v, const char *kind, const char *name, const char *why)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;

	ews_strv_addf(&problems, "the snapshot's commit: %s", why);
	show_verified(v, kind, name, &problems);
}

static int verify_snapshot_ref(struct verifying *v, const struct ews_ref *ref, const char *kind, const char *name)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;

	if (ews_snapshot_read(&snapshot, v->ctx->repo, ref) == 0)
		return verify_one(v, &snapshot, kind, name);
	show_unreadable(v, kind, name ? name : ref->name, ews_error_message());
	ews_error_clear();
	return 0;
}

static int verify_commit_ref(struct verifying *v, const struct ews_ref *ref, const char *kind, const char *name)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	int n = ews_verify_commit(&problems, v->verify, &ref->oid, strcmp(kind, ARTIFACT) != 0);

	if (n >= 0)
		show_verified(v, kind, name, &problems);
	return n;
}

/* A result is called as `pending list` does, what it began with is beside it. */
static int verify_pending(struct verifying *v, const struct ews_ref *ref, const char *rest)
{
	const char *slash = strrchr(rest, '/');
	size_t len = slash && !strcmp(slash, "/result") ? (size_t)(slash - rest) : strlen(rest);
	EWS_CLEANUP(free) char *name = ews_strndup(rest, len);

	return verify_snapshot_ref(v, ref, "pending", name);
}

/* What lies at the top, and, in trash, below "rounds". */
static int verify_round(struct verifying *v, const struct ews_ref *ref, const char *rest)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("ews/%s", rest);

	return ews_round_is_id(rest) ? verify_commit_ref(v, ref, "round", name)
				     : verify_commit_ref(v, ref, "ref", ref->name);
}

static int verify_ref(struct verifying *v, const struct ews_ref *ref)
{
	const char *rest;

	if (ews_str_begins(ref->name, EWS_REF_SESSIONS) || ews_str_begins(ref->name, EWS_REF_SNAPSHOTS))
		return verify_snapshot_ref(v, ref, NULL, NULL);
	if ((rest = ews_str_after(ref->name, EWS_REF_PENDING)))
		return verify_pending(v, ref, rest);
	if ((rest = ews_str_after(ref->name, EWS_REF_ARTIFACTS)) ||
	    (rest = ews_str_after(ref->name, EWS_REF_TRASH_ARTIFACTS)))
		return verify_commit_ref(v, ref, ARTIFACT, rest);
	if ((rest = ews_str_after(ref->name, EWS_REF_TRASH_ROUNDS)))
		return verify_round(v, ref, rest);
	if (ews_str_begins(ref->name, EWS_REF_TRASH))
		return verify_snapshot_ref(v, ref, NULL, NULL);
	return verify_round(v, ref, ref->name + strlen(EWS_REF_ROUNDS));
}

/* What all that stands on, and the files that hold all of it. */
static int verify_store(struct verifying *v)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	size_t i;
	int rc;

	rc = ews_verify_history(&problems, v->verify);
	if (rc >= 0)
		rc = ews_verify_packs(&problems, v->verify);
	if (rc < 0)
		return rc;
	v->is_damaged = v->is_damaged || problems.n;
	for (i = 0; i < problems.n; i++) {
		cJSON_AddItemToArray(v->store, ews_json_path(problems.items[i]));
		if (!v->ctx->json)
			add_line(v->ctx, "store", problems.items[i]);
	}
	return 0;
}

static int verify_all(struct verifying *v, bool with_trash)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	size_t i;
	int rc;

	rc = ews_cmd_open_repo(v->ctx);
	if (rc < 0)
		return rc;
	v->verify = ews_verify_new(v->ctx->repo);
	rc = ews_odb_ref_list(&refs, v->ctx->repo->odb, EWS_REF_ROUNDS);
	for (i = 0; rc >= 0 && i < refs.n; i++) {
		if (with_trash || !ews_str_begins(refs.items[i].name, EWS_REF_TRASH))
			rc = verify_ref(v, &refs.items[i]);
		ews_progress_show(&v->progress, i + 1, refs.n, 0);
	}
	return rc < 0 ? rc : verify_store(v);
}

/* git's own revisions have nothing of ours to check or to drop. */
static int need_ours(const struct ews_snapshots *snapshots, const struct ews_strv *words)
{
	size_t i;

	for (i = 0; i < snapshots->n; i++)
		if (!*snapshots->items[i].ref)
			return ews_error(EWS_EUSAGE, "'%s' is a revision of git's, no snapshot", words->items[i]);
	return 0;
}

static int verify_named(struct verifying *v, const struct ews_strv *words)
{
	EWS_CLEANUP(snapshots) struct ews_snapshots snapshots = EWS_SNAPSHOTS_INIT;
	size_t i;
	int rc;

	rc = words->n ? find_named(&snapshots, v->ctx, words) : ews_cmd_snapshots(&snapshots, v->ctx, NULL, 0);
	if (rc == 0 && words->n)
		rc = need_ours(&snapshots, words);
	if (rc < 0)
		return rc;
	v->verify = ews_verify_new(v->ctx->repo);
	for (i = 0; i < snapshots.damaged.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf ref = EWS_BUF_INIT;
		const char *why = ews_path_line_split(&ref, snapshots.damaged.items[i]);

		show_unreadable(v, NULL, ref.ptr, why);
	}
	for (i = 0; rc >= 0 && i < snapshots.n; i++) {
		rc = verify_one(v, &snapshots.items[i], NULL, NULL);
		ews_progress_show(&v->progress, i + 1, snapshots.n, 0);
	}
	return rc;
}

int ews_cmd_snapshot_verify(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("snapshot_verify");
	struct verifying v = { .ctx = ctx,
			       .snapshots = cJSON_AddArrayToObject(object, "snapshots"),
			       .others = cJSON_AddArrayToObject(object, "others"),
			       .store = cJSON_AddArrayToObject(object, "problems") };
	bool all = false, with_trash = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "all", &all, "all that we keep, the history it stands on, and the packs"),
		EWS_OPT_BOOL(0, "trash", &with_trash, "with --all: those in trash, too"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = verify_usage, .opts = opts, .max_words = SIZE_MAX };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (all && args.words.n)
		return ews_error(EWS_EUSAGE, "--all takes no snapshot");
	if (with_trash && !all)
		return ews_error(EWS_EUSAGE, "--trash goes with --all");
	ews_progress_init(&v.progress, ctx, "Checking snapshots");
	rc = all ? verify_all(&v, with_trash) : verify_named(&v, &args.words);
	ews_progress_end(&v.progress);
	ews_verify_free(v.verify);
	if (rc < 0)
		return rc;
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return v.is_damaged;
}

/* Drop those that were picked, or say which they would be. */
static int drop_picked(struct ews_cmd_ctx *ctx, const struct ews_snapshot *const *picked, size_t n, bool dry_run)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("snapshot_drop");
	EWS_CLEANUP(free) char *undo = ews_undo_words(ctx->repo, NULL);
	cJSON *array = cJSON_AddArrayToObject(object, "dropped");
	size_t i;
	int rc;

	if (!dry_run && n) {
		rc = ews_snapshot_drop(ctx->repo, picked, n);
		if (rc < 0)
			return rc;
	}
	(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
	for (i = 0; i < n; i++) {
		cJSON_AddItemToArray(array, cJSON_CreateString(picked[i]->id));
		if (!ctx->json)
			ews_buf_addf(&ctx->out, "%s\n", picked[i]->id);
	}
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	else if (n && !dry_run)
		ews_cmd_note(ctx, "'%s' brings %s back", undo, n == 1 ? "it" : "them");
	return 0;
}

/* Is it among them already, by another word? */
static bool is_among(const struct ews_snapshot *const *picked, size_t n, const struct ews_snapshot *snapshot)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(picked[i]->ref, snapshot->ref))
			return true;
	return false;
}

int ews_cmd_snapshot_drop(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots snapshots = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(free) const struct ews_snapshot **picked = NULL;
	bool dry_run = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('n', "dry-run", &dry_run, "list what would be dropped"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = drop_usage,
		.opts = opts,
		.min_words = 1,
		.max_words = SIZE_MAX,
	};
	size_t i, n = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = find_named(&snapshots, ctx, &args.words);
	if (rc == 0)
		rc = need_ours(&snapshots, &args.words);
	if (rc < 0)
		return rc;
	picked = ews_calloc(snapshots.n, sizeof(*picked));
	for (i = 0; i < snapshots.n; i++)
		if (ews_snapshot_is_in_trash(&snapshots.items[i]))
			ews_cmd_note(ctx, "'%s' is in trash already", snapshots.items[i].id);
		else if (!is_among(picked, n, &snapshots.items[i]))
			picked[n++] = &snapshots.items[i];
	return drop_picked(ctx, picked, n, dry_run);
}

/*
 * A session's base, and what a session began with, stay as long as the session. What another work tree has of its own is not for
 * this one to judge. Returns 1 or 0.
 */
static int can_prune(struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	int rc;

	if (!ews_str_begins(snapshot->ref, EWS_REF_SNAPSHOTS))
		return 0;
	if (!*snapshot->session)
		return ews_snapshot_is_of_project(snapshot, repo);
	rc = ews_snapshot_is_begun_with(repo, snapshot);
	return rc < 0 ? rc : !rc;
}

/* How many of the same session, that may go as well, come after the one at `i`? They are listed oldest first. */
static size_t newer_ones(const struct ews_snapshots *list, const bool *may_go, size_t i)
{
	size_t j, n = 0;

	for (j = i + 1; j < list->n; j++)
		n += may_go[j] && !strcmp(list->items[i].session, list->items[j].session);
	return n;
}

static int pick_old(const struct ews_snapshot **picked, size_t *n, struct ews_repo *repo,
		    const struct ews_snapshots *list, int64_t before_s, size_t keep)
{
	EWS_CLEANUP(free) bool *may_go = ews_calloc(list->n + 1, sizeof(*may_go));
	size_t i;

	for (i = 0; i < list->n; i++) {
		int rc = can_prune(repo, &list->items[i]);

		if (rc < 0)
			return rc;
		may_go[i] = rc;
	}
	for (i = 0; i < list->n; i++)
		if (may_go[i] && list->items[i].created_s <= before_s && newer_ones(list, may_go, i) >= keep)
			picked[(*n)++] = &list->items[i];
	return 0;
}

int ews_cmd_snapshot_prune(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots snapshots = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(free) const struct ews_snapshot **picked = NULL;
	struct ews_prune_settings set = EWS_PRUNE_SETTINGS_INIT;
	const struct ews_opt opts[] = {
		EWS_PRUNE_OPTS(&set, "session", "dropped"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = prune_usage, .opts = opts, .max_words = 1 };
	size_t n = 0;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_prune_opts_settle(&set, "--keep <n> keeps the newest n, --older-than <age> keeps younger ones");
	if (rc == 0)
		rc = ews_cmd_snapshots(&snapshots, ctx, args.words.items[0], args.words.n ? 0 : EWS_SNAPSHOTS_OF_ALL);
	if (rc < 0)
		return rc;
	ews_cmd_snapshots_talk(ctx, &snapshots);
	picked = ews_calloc(snapshots.n + 1, sizeof(*picked));
	rc = pick_old(picked, &n, ctx->repo, &snapshots, set.before_s, set.keep_n);
	return rc < 0 ? rc : drop_picked(ctx, picked, n, set.dry_run);
}
