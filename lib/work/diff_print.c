/*
 * Diffs printed by git, over two trees in a neutral place: see diff.h.
 *
 * A patch of many files is printed by two gits at once. Between the two trees stands a third, which is the one for the paths
 * up to a point and the other from there on: each git compares one of the two with it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/diff.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/pool.h"
#include "store/home.h"
#include "store/tree_compare.h"

/* A patch of fewer files is there before another git has started. */
#define HALVED_MIN 64
/* Of what the half that comes second is made from: its text waits in memory for the first. */
#define HALF_BYTES_MAX (32 * EWS_MIB)

static const char *const other_formats[] = {
	"--stat",       "--numstat",         "--shortstat", "--dirstat", "--summary",
	"--name-only",  "--name-status",     "--raw",       "--check",   "--compact-summary",
	"--cumulative", "--dirstat-by-file", "--no-patch",  NULL
};
static const char *const patch_formats[] = {
	"--patch",     "--unified",     "--patch-with-stat",  "--patch-with-raw",
	"--word-diff", "--color-words", "--function-context", NULL
};

/* Is `word` one of the long options, with or without "=<value>"? */
static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++) {
		size_t len = strlen(*list);

		if (!strncmp(word, *list, len) && (!word[len] || word[len] == '='))
			return true;
	}
	return false;
}

/* Is the patch among what `args` ask for? It is what comes when they ask for no form at all. */
static bool wants_patch(char *const *args)
{
	bool has_other = false;

	for (; args && *args; args++) {
		if (is_one_of(*args, patch_formats) || !strcmp(*args, "-p") || !strcmp(*args, "-u") ||
		    !strncmp(*args, "-U", 2) || !strcmp(*args, "-W"))
			return true;
		has_other = has_other || is_one_of(*args, other_formats) || !strcmp(*args, "-s");
	}
	return !has_other;
}

bool ews_diff_must_not_rename(const struct ews_diff *diff)
{
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];
		const struct ews_entry *to =
			record->status == 'R' && record->old_mode == 0120000
				? ews_entries_find(&diff->to.content.scan.entries, record->old_path)
				: NULL;

		if (to && to->type == EWS_ENTRY_DIR)
			return true;
	}
	return false;
}

static int git_diff(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		    struct ews_git_opts *opts, const struct ews_oid *from_tree, const struct ews_oid *to_tree)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *neutral = NULL;
	char from[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];
	EWS_CLEANUP(fd) int home = ews_home_open(repo->home);
	int rc = home < 0 ? home : ews_git_neutral_dir(&neutral, repo->home, ews_odb_algo(repo->odb));

	if (rc < 0)
		return rc;
	ews_strv_add_all(&argv, "diff", "--no-ext-diff", "--no-textconv",
			 wants_patch(args) && ews_diff_must_not_rename(diff) ? "--no-renames" : "-M", NULL);
	if (!opts->user_config)
		ews_strv_add(&argv, "--no-color");
	if (wants_patch(args))
		ews_strv_add_all(&argv, "--binary", "--full-index", NULL);
	if (diff->no_renames)
		ews_strv_add(&argv, "--no-renames");
	ews_strv_add_array(&argv, args);
	ews_strv_add(&argv, ews_oid_hex(from, from_tree));
	ews_strv_add(&argv, ews_oid_hex(to, to_tree));
	ews_strv_add(&argv, "--");
	ews_strv_add_array(&argv, paths);
	for (size_t i = 0; wants_patch(args) && i < diff->too_large.n; i++)
		ews_strv_addf(&argv, ":(top,exclude,literal)%s", diff->too_large.items[i]);
	opts->neutral_dir = neutral;
	/* It maps a pack as a whole else, and what is mapped of it stays in memory until the end. */
	opts->maps_little = true;
	opts->object_dir = ews_odb_write_dir(repo->odb);
	return ews_git_run(opts, argv.items);
}

int ews_diff_git(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		 struct ews_git_opts *opts)
{
	return git_diff(diff, repo, args, paths, opts, &diff->from.snapshot.tree, &diff->to.snapshot.tree);
}

static bool has_blank_end(const char *path)
{
	return path && strstr(path, " /");
}

/* Has a path in it a name that ends in a blank? */
static bool has_blank_ends(const struct ews_diff *diff)
{
	for (size_t i = 0; i < diff->n; i++)
		if (has_blank_end(diff->items[i].path) || has_blank_end(diff->items[i].old_path))
			return true;
	return false;
}

/* The length of the path in `diff --git a/<path> b/<path>`, when that is what the line says; else 0. */
static size_t measure_header(const char *line, size_t len)
{
	static const char start[] = "diff --git a/";
	size_t rest = sizeof(start) - 1, path_len;

	if (len <= rest || strncmp(line, start, rest) != 0 || (len - rest) % 2 == 0)
		return 0;
	path_len = (len - rest - 3) / 2;
	if (strncmp(line + rest + path_len, " b/", 3) != 0 ||
	    memcmp(line + rest, line + rest + path_len + 3, path_len) != 0)
		return 0;
	return path_len;
}

/* Do the lines from `at` on, up to the next file's, say a file's name as "---" and "+++" do? */
static bool says_name(const char *at, const char *end)
{
	for (const char *newline; at < end && strncmp(at, "diff --git ", 11) != 0; at = newline + 1) {
		if (!strncmp(at, "--- ", 4))
			return true;
		newline = memchr(at, '\n', (size_t)(end - at));
		/* What is binary has no names, and may have a line of any kind. */
		if (!newline || !strncmp(at, "GIT binary patch", 16))
			return false;
	}
	return false;
}

/*
 * To git apply a blank before a slash is the end of a name, unless the name is quoted, and where no other line says the
 * name (a change of mode, a binary, an empty file) it then finds none. No line of a change itself begins with a "d".
 */
static void quote_headers(struct ews_buf *out, const struct ews_buf *patch)
{
	const char *end = patch->ptr + patch->len;

	for (const char *line = patch->ptr, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((newline ? newline : end) - line), path_len = measure_header(line, len);
		const char *path = line + strlen("diff --git a/");

		next = newline ? newline + 1 : end;
		if (path_len && memmem(path, path_len, " /", 2) && !says_name(next, end))
			ews_buf_addf(out, "diff --git \"a/%.*s\" \"b/%.*s\"\n", (int)path_len, path, (int)path_len,
				     path);
		else
			ews_buf_add(out, line, (size_t)(next - line));
	}
}

/* The patch with such headers quoted. In memory, since that is what hardly any project needs. */
static int print_quoted(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
			const struct ews_git_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf patch = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;
	struct ews_buf *out = opts->out ? opts->out : &quoted;
	struct ews_git_opts collecting = *opts;
	int status, rc = 0;

	collecting.out = &patch;
	status = ews_diff_git(diff, repo, args, paths, &collecting);
	if (status < 0)
		return status;
	quote_headers(out, &patch);
	if (out == &quoted)
		rc = ews_file_write_fd(opts->out_fd, quoted.ptr, quoted.len);
	return rc < 0 ? rc : status;
}

/* Are these the options that only say how the patch looks whole? */
static bool is_plain(char *const *args)
{
	for (; args && *args; args++)
		if (strcmp(*args, "--no-color") != 0)
			return false;
	return true;
}

/* May the patch be made in two halves? Only where no path of one has to do with a path of the other. */
static bool can_halve(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		      const struct ews_git_opts *opts)
{
	bool has_come = false, has_gone = false;

	if (diff->n < HALVED_MIN || opts->user_config || !is_plain(args) || (paths && *paths) || diff->paths.n ||
	    diff->too_large.n || ews_pool_threads() < 2 || ews_odb_is_partial(repo->odb))
		return false;
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];

		has_come = has_come || record->status == 'A';
		has_gone = has_gone || record->status == 'D';
		if (!strchr("AMD", record->status))
			return false;
	}
	return !has_come || !has_gone || diff->no_renames;
}

/* Where the second half begins: both are made from about as many bytes. False where the second were too large. */
static bool find_middle(size_t *out, const struct ews_diff *diff)
{
	uint64_t total = 0, sum = 0;
	size_t i;

	for (i = 0; i < diff->n; i++)
		total += diff->items[i].old_size + diff->items[i].new_size;
	for (i = 0; i < diff->n - 1 && sum < total / 2; i++)
		sum += diff->items[i].old_size + diff->items[i].new_size;
	*out = i;
	return i > 0 && total - sum <= HALF_BYTES_MAX;
}

/* The tree that stands between the two: as the second up to the record `middle`, as the first from there on. */
static int make_middle(struct ews_oid *out, const struct ews_diff *diff, struct ews_repo *repo, size_t middle)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	int rc = ews_odb_make_writable(repo->odb);

	if (rc < 0)
		return rc;
	batch = ews_batch_new(repo->odb);
	rc = ews_tree_join(out, batch, &diff->to.snapshot.tree, &diff->from.snapshot.tree, diff->items[middle].path);
	return rc < 0 ? rc : ews_batch_commit(batch);
}

/* One of the two halves on its way. */
struct half {
	const struct ews_diff *diff;
	struct ews_repo *repo;
	char *const *args;
	struct ews_git_opts opts;
	struct ews_oid from, to;
	int status;
};

static int print_half(size_t i, unsigned worker, void *payload)
{
	struct half *half = &((struct half *)payload)[i];

	(void)worker;
	half->status = git_diff(half->diff, half->repo, half->args, NULL, &half->opts, &half->from, &half->to);
	return half->status < 0 ? half->status : 0;
}

/*
 * Two gits at once, one for the patch's first half, one for its second. Returns EWS_ENOTFOUND, and has printed nothing,
 * where that can't be.
 */
static int print_halves(const struct ews_diff *diff, struct ews_repo *repo, char *const *args,
			const struct ews_git_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf second = EWS_BUF_INIT;
	struct half halves[2];
	struct ews_oid middle;
	size_t at;
	int rc;

	if (!find_middle(&at, diff) || make_middle(&middle, diff, repo, at) < 0) {
		ews_error_clear();
		return EWS_ENOTFOUND;
	}
	for (size_t i = 0; i < 2; i++)
		halves[i] = (struct half){ .diff = diff, .repo = repo, .args = args, .opts = *opts };
	halves[0].from = diff->from.snapshot.tree;
	halves[0].to = halves[1].from = middle;
	halves[1].to = diff->to.snapshot.tree;
	halves[1].opts.out = &second;
	rc = ews_pool_for(2, 1, 2, print_half, halves);
	if (rc < 0 || halves[0].status)
		return rc < 0 ? rc : halves[0].status;
	if (opts->out)
		ews_buf_add(opts->out, second.ptr, second.len);
	else
		rc = ews_file_write_fd(opts->out_fd, second.ptr, second.len);
	return rc < 0 ? rc : halves[1].status;
}

/*
 * Does git print nothing, and refuse nothing? Two equal trees differ nowhere; but it is git that knows which options
 * contradict each other, and which of their values are wrong.
 */
static bool is_silent(const struct ews_diff *diff, char *const *args, char *const *paths,
		      const struct ews_git_opts *opts)
{
	size_t n_formats = 0;

	if (opts->user_config || (paths && *paths) ||
	    !ews_oid_equal(&diff->from.snapshot.tree, &diff->to.snapshot.tree))
		return false;
	for (; args && *args; args++) {
		if (!strcmp(*args, "--no-color") || !strcmp(*args, "-z"))
			continue;
		if (strchr(*args, '=') || !is_one_of(*args, other_formats))
			return false;
		n_formats++;
	}
	return n_formats <= 1;
}

int ews_diff_print(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		   bool user_config, int out_fd, struct ews_buf *out)
{
	struct ews_git_opts opts = { .user_config = user_config, .out = out, .out_fd = out_fd };
	int rc = EWS_ENOTFOUND;

	if (is_silent(diff, args, paths, &opts))
		return 0;
	if (wants_patch(args) && has_blank_ends(diff))
		return print_quoted(diff, repo, args, paths, &opts);
	if (can_halve(diff, repo, args, paths, &opts))
		rc = print_halves(diff, repo, args, &opts);
	return rc == EWS_ENOTFOUND ? ews_diff_git(diff, repo, args, paths, &opts) : rc;
}
