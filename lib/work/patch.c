/*
 * Patches: see patch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/patch.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/bench.h"
#include "store/tree.h"

#define NAMES_BYTES_MAX (256 * EWS_MIB)
#define STDERR_BYTES_MAX EWS_MIB
#define ARGS_BYTES_MAX (EWS_MIB / 2) /* of a command line, which the kernel limits */

/* "--include=<path>", where git takes the path for a pattern. */
static void add_pattern(struct ews_strv *args, const char *option, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf arg = EWS_BUF_INIT;

	ews_buf_adds(&arg, option);
	for (; *path; path++)
		ews_buf_addf(&arg, "%s%c", strchr("*?[\\", *path) ? "\\" : "", *path);
	ews_strv_add(args, arg.ptr);
}

/* The same for each path but one. Are these no more than a command line holds? */
static bool add_patterns(struct ews_strv *args, const char *option, char *const *paths, size_t n, const char *but)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		if (but && !strcmp(paths[i], but))
			continue;
		add_pattern(args, option, paths[i]);
		bytes += strlen(args->items[args->n - 1]) + 1 + sizeof(char *);
	}
	return bytes <= ARGS_BYTES_MAX;
}

bool ews_patch_can_leave_out(const struct ews_strv *paths)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;

	return add_patterns(&args, "--exclude=", paths->items, paths->n, NULL);
}

/* Run git beside the bench's index, and have it pass over what the patch leaves out. Gives its status; what it said is in `err`. */
static int run(const struct ews_bench *bench, struct ews_buf *out, struct ews_buf *err,
	       const struct ews_patch *input, const char *const *args)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	struct ews_git_opts opts = ews_bench_opts(bench);

	opts.sync_objects = true;
	opts.out = out;
	opts.err = err;
	opts.input = input ? input->data : NULL;
	opts.input_len = input ? input->len : 0;
	for (; *args; args++)
		ews_strv_add(&argv, *args);
	if (input && input->left_out)
		(void)add_patterns(&argv, "--exclude=", input->left_out->items, input->left_out->n, NULL);
	return ews_git_run(&opts, argv.items);
}

static int fail(const struct ews_buf *err, const char *what)
{
	EWS_CLEANUP(free) char *sentence = ews_git_sentence(err);

	return ews_error(EWS_EGIT, "cannot %s: %s", what, *sentence ? sentence : "git does not say why");
}

static int write_tree(struct ews_oid *out, const struct ews_bench *bench)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	const char *const args[] = { "write-tree", NULL };
	int rc = run(bench, &text, &err, NULL, args);

	if (rc != 0)
		return rc < 0 ? rc : fail(&err, "write the tree that the patch makes");
	ews_buf_rtrim(&text);
	rc = ews_oid_parse(out, text.ptr);
	return rc < 0 ? rc : ews_odb_refresh(bench->odb);
}

static const char *const outside[] = {
	"invalid path '",
	"is beyond a symbolic link",
	"invalid file name",
	"unable to use patch filename",
};

static int fail_patch(const struct ews_patch *patch, const char *why)
{
	const char *advice = why ? strstr(why, " (allow with") : NULL; /* an option of git's own */

	ews_error(EWS_EDAMAGED, "'%s' is no patch that git can apply%s%.*s", patch->name, why ? ": " : "",
		  advice ? (int)(advice - why) : INT_MAX, why ? why : "");
	ews_error_hint(
		"it takes what 'git diff' or 'diff -u' prints, without colours and with a directory (a/, b/) before each path");
	return EWS_EDAMAGED;
}

static int refuse(const struct ews_patch *patch, const char *why)
{
	ews_error(EWS_EDENIED, "'%s' is refused: %s", patch->name, why);
	ews_error_hint("a patch changes nothing but files of the project, and none through a link");
	return EWS_EDENIED;
}

static bool leads_outside(const struct ews_buf *err)
{
	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++)
		if (strstr(err->ptr, outside[i]))
			return true;
	return false;
}

/* Why git did not take it, where that has nothing to do with what it is applied to. */
static int fail_as_git(const struct ews_buf *err, const struct ews_patch *patch)
{
	EWS_CLEANUP(free) char *sentence = ews_git_sentence(err);

	return leads_outside(err) ? refuse(patch, sentence) : fail_patch(patch, sentence);
}

static bool is_blank(const struct ews_patch *patch)
{
	const char *text = patch->data;

	for (size_t i = 0; i < patch->len; i++)
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return false;
	return true;
}

/* Git refuses to make a file of such a name, but says of one to be changed only that it is not there. */
static int add_path(struct ews_strv *out, const struct ews_patch *patch, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf why = EWS_BUF_INIT;

	ews_strv_add(out, path);
	if (ews_entry_path_fits_tree(path, false))
		return 0;
	ews_buf_adds(&why, "invalid path ");
	ews_path_quote(&why, path);
	return refuse(patch, why.ptr);
}

/* The names that git counts the lines of; `reversed`: those that the patch taken back would make. */
static int list_names(struct ews_strv *out, const struct ews_bench *bench, const struct ews_patch *patch,
		      bool reversed)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	const char *const args[] = { "apply", "--numstat", "-z", reversed ? "-R" : "-", reversed ? "-" : NULL, NULL };
	int rc;

	ews_buf_init_max(&text, NAMES_BYTES_MAX);
	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	rc = run(bench, &text, &err, patch, args);
	if (rc != 0)
		return rc < 0 ? rc : fail_as_git(&err, patch);
	for (const char *at = text.ptr; at < text.ptr + text.len; at += strlen(at) + 1) {
		const char *tab = strchr(at, '\t');
		const char *path = tab ? strchr(tab + 1, '\t') : NULL;

		if (path)
			ews_strv_add(out, path + 1);
	}
	return 0;
}

int ews_patch_paths(struct ews_strv *out, struct ews_repo *repo, const struct ews_patch *patch)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc;

	if (is_blank(patch))
		return 0;
	rc = ews_bench_make(&bench, repo);
	if (rc == 0)
		rc = list_names(&names, &bench, patch, false);
	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = add_path(out, patch, names.items[i]);
	return rc;
}

/* Does git begin with the last file when a patch is taken back? It depends on how new it is. */
static int lists_backwards(const struct ews_bench *bench)
{
	static const char text[] = "--- a/1\n+++ b/1\n@@ -1 +1 @@\n-a\n+b\n"
				   "--- a/2\n+++ b/2\n@@ -1 +1 @@\n-a\n+b\n";
	const struct ews_patch probe = { .name = "two files", .data = text, .len = sizeof(text) - 1 };
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = list_names(&names, bench, &probe, true);

	return rc < 0 ? rc : names.n && !strcmp(names.items[0], "2");
}

int ews_patch_names(struct ews_strv *out, struct ews_repo *repo, const struct ews_patch *patch)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(strv) struct ews_strv before = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv after = EWS_STRV_INIT;
	int rc = ews_bench_make(&bench, repo), backwards = 0;

	if (rc == 0)
		rc = list_names(&before, &bench, patch, true);
	if (rc == 0)
		rc = list_names(&after, &bench, patch, false);
	if (rc == 0)
		rc = backwards = lists_backwards(&bench);
	if (rc < 0)
		return rc;
	if (before.n != after.n)
		return ews_error(EWS_EGIT, "git finds other files in '%s' when it is taken back", patch->name);
	for (size_t i = 0; i < after.n; i++)
		ews_strv_add_all(out, before.items[backwards ? after.n - 1 - i : i], after.items[i], NULL);
	return 0;
}

/* Have git apply it to the bench's index. Gives its status; what it said is in `err`. */
static int apply_to_index(const struct ews_bench *bench, const struct ews_patch *patch, struct ews_buf *err)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	const char *const args[] = { "apply", "--cached", "--whitespace=nowarn", "--no-ignore-whitespace", "-", NULL };

	return run(bench, &out, err, patch, args);
}

/*
 * Would what it does to these paths apply; or, with "--exclude=", what it does to all others? 1 when it would. More paths than a
 * command line holds are nothing that git can be asked about: 0.
 */
static int would_apply(const struct ews_bench *bench, const struct ews_patch *patch, const char *option,
		       char *const *paths, size_t n, const char *but)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	int rc;

	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	ews_strv_add_all(&args, "apply", "--cached", "--check", "--whitespace=nowarn", "--no-ignore-whitespace",
			 NULL);
	if (!add_patterns(&args, option, paths, n, but))
		return 0;
	ews_strv_add(&args, "-");
	rc = run(bench, &out, &err, patch, (const char *const *)args.items);
	return rc < 0 ? rc : !rc;
}

/* Add those of the paths that do not apply on their own. Where few don't, halves are asked about as a whole. */
static int find_stuck(struct ews_strv *out, const struct ews_bench *bench, const struct ews_patch *patch,
		      char *const *paths, size_t n)
{
	int rc = n ? would_apply(bench, patch, "--include=", paths, n, NULL) : 1;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (n == 1) {
		ews_strv_add(out, *paths);
		return 0;
	}
	rc = find_stuck(out, bench, patch, paths, n / 2);
	return rc < 0 ? rc : find_stuck(out, bench, patch, paths + n / 2, n - n / 2);
}

/*
 * Of paths that do not apply on their own, those that do not apply beside all that applies, either: what comes where another
 * file is renamed away needs that one.
 */
static int keep_stuck(struct ews_strv *out, const struct ews_bench *bench, const struct ews_patch *patch,
		      const struct ews_strv *stuck)
{
	for (size_t i = 0; i < stuck->n; i++) {
		int rc = would_apply(bench, patch, "--exclude=", stuck->items, stuck->n, stuck->items[i]);

		if (rc < 0)
			return rc;
		if (!rc)
			ews_strv_add(out, stuck->items[i]);
	}
	return 0;
}

/* Why each does not apply: by what is there, what the patch begins with (`before`), and whether it makes something new. */
static int add_conflicts(struct ews_strv *out, const struct ews_bench *bench, const struct ews_patch *patch,
			 const struct ews_strv *stuck, const struct ews_strv *before, const struct ews_oid *on)
{
	EWS_CLEANUP(free) struct ews_oid *now = ews_calloc(stuck->n, sizeof(*now));
	EWS_CLEANUP(free) char *nowhere = ews_path_join(bench->dir, "none");
	struct ews_bench empty = *bench;
	int rc = ews_tree_find(now, bench->odb, on, (const char *const *)stuck->items, stuck->n);

	empty.index = nowhere;
	for (size_t i = 0; i < stuck->n && rc >= 0; i++) {
		char *const path = stuck->items[i];
		bool is_there = !ews_oid_is_none(&now[i]), begins = ews_strv_sorted_has(before, path);

		/* Where nothing is, only what is new applies. */
		rc = is_there && begins ? would_apply(&empty, patch, "--include=", &path, 1, NULL) : 0;
		if (is_there && (!begins || rc > 0))
			ews_path_line_add(out, path, "it is there already");
		else if (!is_there && begins)
			ews_path_line_add(out, path, "it is not there");
		else
			ews_path_line_add(out, path, "the patch does not apply");
	}
	return rc < 0 ? rc : 0;
}

/*
 * Which paths stand in the way? Git says it in words, and a name may have anything in it, the end of a line, too: so it is asked
 * path by path.
 * Returns 1 when there are some.
 */
static int find_conflicts(struct ews_strv *out, const struct ews_bench *bench, const struct ews_patch *patch,
			  const struct ews_oid *on)
{
	EWS_CLEANUP(strv) struct ews_strv after = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv before = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv stuck = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv kept = EWS_STRV_INIT;
	const struct ews_strv *found;
	int rc = list_names(&after, bench, patch, false);

	if (rc == 0)
		rc = list_names(&before, bench, patch, true);
	ews_strv_unique(&after);
	ews_strv_unique(&before);
	if (rc == 0)
		rc = find_stuck(&stuck, bench, patch, after.items, after.n);
	if (rc == 0 && stuck.n < after.n)
		rc = keep_stuck(&kept, bench, patch, &stuck);
	found = kept.n ? &kept : &stuck;
	if (rc == 0)
		rc = add_conflicts(out, bench, patch, found, &before, on);
	return rc < 0 ? rc : found->n > 0;
}

/* Let the tree `on` be the bench's index. */
static int read_tree(const struct ews_bench *bench, const struct ews_oid *on)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	const char *const args[] = { "read-tree", ews_oid_hex(hex, on), NULL };
	int rc;

	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	rc = run(bench, &out, &err, NULL, args);
	return rc > 0 ? fail(&err, "read the project's tree") : rc;
}

int ews_patch_apply(struct ews_oid *after, struct ews_strv *conflicts, struct ews_repo *repo,
		    const struct ews_patch *patch, const struct ews_oid *on)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	int rc;

	*after = *on;
	if (is_blank(patch))
		return 0;
	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	rc = ews_bench_make(&bench, repo);
	if (rc == 0)
		rc = read_tree(&bench, on);
	if (rc == 0)
		rc = apply_to_index(&bench, patch, &err);
	if (rc <= 0)
		return rc < 0 ? rc : write_tree(after, &bench);
	rc = leads_outside(&err) ? 0 : find_conflicts(conflicts, &bench, patch, on);
	return rc != 0 ? rc : fail_as_git(&err, patch);
}

/*
 * Of what was renamed, and no more, a patch tells neither id nor mode. Git takes the id that the file has now, and a plain file for
 * what it is: give what is as it was the mode that it has.
 */
static int take_modes(struct ews_oid *before, const struct ews_bench *bench, const struct ews_oid *on)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries now = EWS_ENTRIES_INIT;
	EWS_CLEANUP(buf) struct ews_buf lines = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	const char *const args[] = { "update-index", "-z", "--index-info", NULL };
	struct ews_patch input;
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_tree_list(&list, bench->odb, before);

	if (rc == 0)
		rc = ews_tree_list(&now, bench->odb, on);
	for (size_t i = 0; i < list.n && rc == 0; i++) {
		const struct ews_entry *entry = &list.items[i], *is = ews_entries_find(&now, entry->path);

		if (entry->type == EWS_ENTRY_DIR || !is || !ews_oid_equal(&entry->oid, &is->oid) ||
		    ews_entry_git_mode(entry) == ews_entry_git_mode(is))
			continue;
		ews_buf_addf(&lines, "%06o %s\t", ews_entry_git_mode(is), ews_oid_hex(hex, &is->oid));
		ews_buf_addz(&lines, is->path);
	}
	if (rc < 0 || !lines.len)
		return rc;
	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	input = (struct ews_patch){ .name = "modes", .data = lines.ptr, .len = lines.len };
	rc = run(bench, &out, &err, &input, args);
	if (rc != 0)
		return rc < 0 ? rc : fail(&err, "note what the patch was made from");
	return write_tree(before, bench);
}

int ews_patch_sides(struct ews_oid *before, struct ews_oid *after, struct ews_repo *repo,
		    const struct ews_patch *patch, const struct ews_oid *on)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	int rc;

	if (is_blank(patch))
		return 1;
	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	rc = ews_bench_make(&bench, repo);
	if (rc == 0)
		rc = read_tree(&bench, on);
	if (rc == 0) {
		EWS_CLEANUP(free) char *ancestor = ews_strfmt("--build-fake-ancestor=%s", bench.index);
		const char *const args[] = { "apply", ancestor, "-", NULL };

		rc = run(&bench, &out, &err, patch, args);
	}
	/* It tells no ids, or those of files that nobody here has. */
	if (rc != 0)
		return rc < 0 ? rc : 1;
	rc = write_tree(before, &bench);
	if (rc == 0)
		rc = take_modes(before, &bench, on);
	if (rc == 0)
		rc = apply_to_index(&bench, patch, &err);
	return rc != 0 ? rc : write_tree(after, &bench);
}
