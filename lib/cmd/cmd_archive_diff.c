/*
 * git ews archive diff: what lies between archives or directories; whether it is what was expected.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "cmd/changes_opt.h"
#include "cmd/cmd_archive.h"
#include "cmd/diff_opts.h"
#include "cmd/pager.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "work/archive_diff.h"

#define SHORT_LEN 12 /* of a checksum, for people */

static const char *const diff_usage[] = {
	"git ews archive diff [<options>] [<output options of git diff>] <archive>|<dir> <archive>|<dir> [-- <path>...]",
	"git ews archive diff --series [<the same>] <archive>|<dir>... [-- <path>...]",
	NULL,
};

struct settings {
	struct ews_diff_settings diff;
	struct ews_strv expected;
	bool series, exit_code, shortstat, no_deletions;
};

static void release_settings(struct settings *set)
{
	ews_diff_settings_release(&set->diff);
	ews_strv_release(&set->expected);
}

EWS_CLEANUP_DEFINE(settings, struct settings, release_settings)

/* Nothing is taken for renamed here unless git is told to, and what we count ourselves is counted without. */
static int refuse_selecting(const struct settings *set, const struct ews_cmd_ctx *ctx)
{
	if (!set->diff.selecting.n || (!ctx->json && !set->shortstat && set->diff.changes == EWS_CHANGES_DIFF))
		return 0;
	ews_error(EWS_EUSAGE, "'%s' is for what git prints, not for --json, --changes or --shortstat",
		  set->diff.selecting.items[0]);
	ews_error_hint("'-- <path>...' limits these; '--raw' or '--numstat -z' is git's own form for programs");
	return EWS_EUSAGE;
}

static int parse(struct settings *set, struct ews_cmd_args *args, struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "series", &set->series, "compare each with the one before"),
		EWS_OPT_LIST(0, "expect", &set->expected, "change",
			     "'<A|M|D> <path>': exit with 1 unless that happened"),
		EWS_OPT_BOOL(0, "no-deletions", &set->no_deletions,
			     "exit with 1 when anything was deleted that is not expected"),
		EWS_OPT_BOOL(0, "exit-code", &set->exit_code, "exit with 1 when there are differences"),
		EWS_CHANGES_OPT(&set->diff.changes_word),
		EWS_OPT_BOOL(0, "shortstat", &set->shortstat,
			     "how many files were created, deleted, modified: +2 -1 ~3 files"),
		EWS_DIFF_OPTS(&set->diff),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = diff_usage,
		.opts = opts,
		.min_words = 2,
		.max_words = SIZE_MAX,
		.takes_paths = true,
		.prints_paths = true,
	};
	int rc = ews_cmd_parse(args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	if (args->words.n > 2 && !set->series)
		return ews_error(EWS_EUSAGE, "two are compared; --series compares each with the one before");
	rc = ews_diff_opts_settle(&set->diff, ctx);
	return rc < 0 ? rc : refuse_selecting(set, ctx);
}

static bool is_dir(const struct ews_cmd_ctx *ctx, const char *word)
{
	EWS_CLEANUP(free) char *full = ews_path_absolute(ctx->cwd, word);
	struct stat st;

	return stat(full, &st) == 0 && S_ISDIR(st.st_mode);
}

/* By which rules directories are looked at: those of the first archive that has a record. */
static int find_rules(struct ews_archive_rules *out, struct ews_cmd_ctx *ctx, const char *home,
		      const struct ews_strv *words)
{
	for (size_t i = 0; i < words->n; i++) {
		EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
		EWS_CLEANUP(free) char *file = NULL;
		EWS_CLEANUP(fd) int fd = -1;
		int rc;

		if (is_dir(ctx, words->items[i]))
			continue;
		rc = ews_cmd_archive_find(&file, ctx, home, words->items[i]);
		if (rc == 0)
			rc = fd = ews_archive_open(file);
		if (rc >= 0)
			rc = ews_archive_describe(&archive, file, fd);
		if (rc < 0)
			return rc;
		if (archive.is_foreign)
			continue;
		ews_archive_rules_copy(out, &archive.rules);
		return 0;
	}
	return 0;
}

static int open_side(struct ews_archive_side *out, struct ews_cmd_ctx *ctx, const char *home, const char *word,
		     const struct ews_archive_rules *rules)
{
	EWS_CLEANUP(free) char *file = NULL;
	uint64_t max_bytes;
	int rc;

	if (is_dir(ctx, word)) {
		file = ews_path_absolute(ctx->cwd, word);
		return ews_archive_side_open_dir(out, file, home, rules);
	}
	rc = ews_cmd_archive_find(&file, ctx, home, word);
	if (rc == 0)
		rc = ews_archive_limit(&max_bytes, ctx->repo);
	return rc < 0 ? rc : ews_archive_side_open(out, file, max_bytes);
}

static void add_side(cJSON *object, const char *name, const struct ews_archive *archive)
{
	EWS_CLEANUP(free) char *checksum = ews_strfmt("%s_checksum", name);
	EWS_CLEANUP(free) char *timestamp = ews_strfmt("%s_timestamp", name);

	ews_json_add_path(object, name, archive->file);
	ews_render_string(object, checksum, archive->checksum);
	ews_render_time(object, timestamp, archive->created_s);
}

/* One comparison at work. */
struct pair {
	const struct settings *set;
	struct ews_archive_desk *desk;
	struct ews_archive_side *from, *to;
	struct ews_diff diff;
	struct ews_strv surprises;
};

static void release_pair(struct pair *pair)
{
	ews_archive_diff_release(&pair->diff);
	ews_strv_release(&pair->surprises);
}

EWS_CLEANUP_DEFINE(pair, struct pair, release_pair)

static int show_json(cJSON *object, struct pair *pair)
{
	int rc = 0;

	add_side(object, "from", &pair->from->archive);
	add_side(object, "to", &pair->to->archive);
	if (pair->set->diff.changes == EWS_CHANGES_DIFF)
		rc = ews_diff_texts(&pair->diff, &pair->desk->repo);
	if (rc == 0)
		rc = ews_render_changes(object, &pair->desk->repo, &pair->diff, pair->set->diff.changes);
	(void)cJSON_AddBoolToObject(object, "as_expected", pair->surprises.n == 0);
	ews_render_reasons(object, "surprises", "what", &pair->surprises);
	return rc;
}

/* "2db8d6c8f1f2 -> 9f1c2b3a4d5e, +2 -1 ~3 files" where there are several, else the counts alone. */
static void add_counts(struct ews_buf *out, const struct pair *pair)
{
	size_t skip = strlen("sha256:");

	if (pair->set->series)
		ews_buf_addf(out, "%.*s -> %.*s, ", SHORT_LEN, pair->from->archive.checksum + skip, SHORT_LEN,
			     pair->to->archive.checksum + skip);
	ews_buf_addf(out, "+%zu -%zu ~%zu files\n", pair->diff.added, pair->diff.deleted, pair->diff.modified);
}

static void show_surprises(struct ews_cmd_ctx *ctx, const struct pair *pair)
{
	for (size_t i = 0; i < pair->surprises.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *what;

		if (ctx->nul) {
			(void)ews_path_line_split(&path, pair->surprises.items[i]);
			ews_cmd_add_path_line(ctx, path.ptr);
			continue;
		}
		what = ews_render_split_quoted(&ctx->out, pair->surprises.items[i]);
		ews_buf_adds(&ctx->out, ": ");
		ews_render_words(&ctx->out, what);
		ews_buf_addc(&ctx->out, '\n');
	}
}

static bool is_assertion(const struct settings *set)
{
	return set->expected.n || set->no_deletions;
}

/* Git prints the patch to stdout itself, or into the answer, where it is one of several. */
static int show_text(struct ews_cmd_ctx *ctx, struct pair *pair, char *const *paths)
{
	EWS_CLEANUP(strv) struct ews_strv options = EWS_STRV_INIT;
	const struct settings *set = pair->set;
	int rc;

	if (is_assertion(set)) {
		show_surprises(ctx, pair);
		return 0;
	}
	if (set->series || set->shortstat)
		add_counts(&ctx->out, pair);
	if (set->shortstat && !ews_diff_asks_for_form(set->diff.output.items))
		return 0;
	ews_render_reasons_talk(ctx, "not in the patch", &pair->diff.not_in_patch);
	if (set->diff.changes != EWS_CHANGES_DIFF)
		return ews_render_changes_text(&ctx->out, &pair->desk->repo, &pair->diff, set->diff.changes,
					       ctx->nul);
	ews_diff_opts_for_git(&options, &set->diff, ctx);
	rc = ews_diff_print(&pair->diff, &pair->desk->repo, options.items, paths, ews_pager_is_terminal(),
			    STDOUT_FILENO, set->series ? &ctx->out : NULL);
	if (rc < 0 && ews_pager_excuses())
		return 0;
	return rc;
}

/* Compare two. Returns 1 when that is the answer. */
static int compare(struct ews_cmd_ctx *ctx, struct pair *pair, char *const *paths, cJSON *object)
{
	const struct settings *set = pair->set;
	int rc = ews_archive_diff(&pair->diff, pair->desk, pair->from, pair->to, paths);

	if (rc == 0)
		rc = ews_archive_expect(&pair->surprises, &pair->diff, &set->expected, set->no_deletions);
	if (rc == 0)
		rc = object ? show_json(object, pair) : show_text(ctx, pair, paths);
	if (rc == 0 && set->exit_code)
		rc = ews_diff_differs(&pair->diff, &pair->desk->repo, set->diff.selecting.items, paths);
	return rc < 0 ? rc : rc || pair->surprises.n;
}

/* All of them, two at a time: no more than two sides are open at once. */
static int compare_all(struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_cmd_args *args,
		       const char *home)
{
	EWS_CLEANUP(archive_desk) struct ews_archive_desk desk = { .neutral = NULL };
	EWS_CLEANUP(archive_rules) struct ews_archive_rules rules = EWS_ARCHIVE_RULES_INIT;
	EWS_CLEANUP(archive_side) struct ews_archive_side first = EWS_ARCHIVE_SIDE_INIT;
	EWS_CLEANUP(archive_side) struct ews_archive_side second = EWS_ARCHIVE_SIDE_INIT;
	struct ews_archive_side *const sides[] = { &first, &second };
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("archive_diff");
	cJSON *array = set->series ? cJSON_AddArrayToObject(object, "diffs") : NULL;
	char *const *paths = args->paths.n ? args->paths.items : NULL;
	bool is_no = false;
	int rc = find_rules(&rules, ctx, home, &args->words);

	if (rc == 0)
		rc = ews_archive_desk_open(&desk, home);
	if (rc == 0)
		rc = open_side(&first, ctx, home, args->words.items[0], &rules);
	if (rc == 0 && !ctx->json)
		ews_pager_start(ctx);
	for (size_t i = 1; i < args->words.n && rc >= 0; i++) {
		EWS_CLEANUP(pair)
		struct pair pair = { .set = set,
				     .desk = &desk,
				     .from = sides[(i - 1) % 2],
				     .to = sides[i % 2],
				     .diff = EWS_DIFF_INIT,
				     .surprises = EWS_STRV_INIT };
		cJSON *one = !ctx->json ? NULL : array ? cJSON_CreateObject() : object;

		if (one && array)
			cJSON_AddItemToArray(array, one);
		ews_archive_side_release(pair.to);
		rc = open_side(pair.to, ctx, home, args->words.items[i], &rules);
		if (rc == 0)
			rc = compare(ctx, &pair, paths, one);
		is_no = is_no || rc > 0;
	}
	if (rc < 0)
		return rc;
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return is_no ? 1 : 0;
}

int ews_cmd_archive_diff(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(settings) struct settings set = { .diff = EWS_DIFF_SETTINGS_INIT, .expected = EWS_STRV_INIT };
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	int rc = parse(&set, &args, ctx, argc, argv);

	if (rc != 0)
		return rc;
	rc = ews_cmd_archive_begin(&home, ctx);
	return rc < 0 ? rc : compare_all(ctx, &set, &args, home);
}
