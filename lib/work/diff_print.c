/*
 * Diffs printed by git, over two trees in a neutral place: see diff.h.
 *
 * A patch of many files is printed in parts, by two gits at once. Between the two trees stand others, which are the one for
 * the paths up to a point and the other from there on: each git compares two that stand side by side.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/diff.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/str.h"
#include "store/home.h"
#include "store/tree_compare.h"

/* A patch of fewer files is there before another git has started. */
#define PARTED_MIN 64
#define GITS 2
/* Of what the parts that come later are made from: their text waits in memory for the first. */
#define LATER_BYTES_MAX (32 * EWS_MIB)

/*
 * Where each part ends, in hundredths of the bytes that all is made from. Of files that are as long some take longer, and nobody
 * knows which: of many the last part is a small one, for the git that is done first.
 */
static const unsigned ends_of_few[] = { 50, 100 }, ends_of_many[] = { 40, 80, 100 };
#define MANY 256
#define PARTS_MAX 3

static const char *const other_formats[] = {
	"--stat",       "--numstat",         "--shortstat", "--dirstat", "--summary",
	"--name-only",  "--name-status",     "--raw",       "--check",   "--compact-summary",
	"--cumulative", "--dirstat-by-file", "--no-patch",  NULL
};
/* What only shapes a patch, as --word-diff and --function-context do, asks for none beside another form. */
static const char *const patch_formats[] = { "--patch",          "--unified", "--patch-with-stat",
					     "--patch-with-raw", "--binary",  NULL };

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

static bool asks_for_patch(const char *arg)
{
	return is_one_of(arg, patch_formats) || !strcmp(arg, "-p") || !strcmp(arg, "-u") || ews_str_begins(arg, "-U");
}

bool ews_diff_asks_for_form(char *const *args)
{
	for (; args && *args; args++)
		if (asks_for_patch(*args) || is_one_of(*args, other_formats) || !strcmp(*args, "-s"))
			return true;
	return false;
}

/* Is the patch among what `args` ask for? It is what comes when they ask for no form at all. */
static bool wants_patch(char *const *args)
{
	for (char *const *arg = args; arg && *arg; arg++)
		if (asks_for_patch(*arg))
			return true;
	return !ews_diff_asks_for_form(args);
}

bool ews_diff_must_not_rename(const struct ews_diff *diff)
{
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];
		const struct ews_entry *to =
			record->status == 'R' && record->old_mode == EWS_MODE_LINK
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
	if (diff->opts.count.no_renames)
		ews_strv_add(&argv, "--no-renames");
	ews_strv_add_array(&argv, args);
	ews_strv_add(&argv, ews_oid_hex(from, from_tree));
	ews_strv_add(&argv, ews_oid_hex(to, to_tree));
	ews_strv_add(&argv, "--");
	for (; paths && *paths; paths++)
		ews_strv_addf(&argv, "%s%s", diff->opts.are_specs ? "" : ":(top,literal)", *paths);
	for (size_t i = 0; wants_patch(args) && i < diff->too_large.n; i++)
		ews_strv_addf(&argv, ":(top,exclude,literal)%s", diff->too_large.items[i]);
	opts->neutral_dir = neutral;
	opts->has_pathspecs = true;
	/* It maps a pack as a whole else, and what is mapped of it stays in memory until the end. */
	opts->maps_little = true;
	opts->object_dir = ews_odb_write_dir(repo->odb);
	rc = ews_git_run(opts, argv.items);
	if (rc == EWS_EGIT && ews_odb_is_partial(repo->odb))
		ews_error_hint("if this partial clone lacks an object: 'git diff --shortstat %s %s' fetches it",
			       from, to);
	return rc;
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
	if (!ews_str_begins(line + rest + path_len, " b/") ||
	    memcmp(line + rest, line + rest + path_len + 3, path_len) != 0)
		return 0;
	return path_len;
}

/* Do the lines from `at` on, up to the next file's, say a file's name as "---" and "+++" do? */
static bool says_name(const char *at, const char *end)
{
	for (const char *newline; at < end && !ews_str_begins(at, "diff --git "); at = newline + 1) {
		if (ews_str_begins(at, "--- "))
			return true;
		newline = memchr(at, '\n', (size_t)(end - at));
		/* What is binary has no names, and may have a line of any kind. */
		if (!newline || ews_str_begins(at, "GIT binary patch"))
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
	const char *next = patch->ptr, *end = next + patch->len, *line;
	size_t len;

	while ((line = ews_str_next_line(&next, &len, end))) {
		size_t path_len = measure_header(line, len);
		const char *path = line + strlen("diff --git a/");

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

/* May the patch be made in parts? Only where no path of one has to do with a path of another. */
static bool can_part(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		     const struct ews_git_opts *opts)
{
	bool has_come = false, has_gone = false;

	if (diff->n < PARTED_MIN || opts->user_config || !is_plain(args) || (paths && *paths) || diff->paths.n ||
	    diff->too_large.n || ews_pool_threads() < 2 || ews_odb_is_partial(repo->odb))
		return false;
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];

		has_come = has_come || record->status == 'A';
		has_gone = has_gone || record->status == 'D';
		if (!strchr("AMD", record->status))
			return false;
	}
	return !has_come || !has_gone || diff->opts.count.no_renames;
}

/* A part on its way. */
struct part {
	const struct ews_diff *diff;
	struct ews_repo *repo;
	char *const *args;
	struct ews_git_opts opts;
	struct ews_oid from, to;
	struct ews_buf text; /* of each but the first */
};

struct parts {
	struct part items[PARTS_MAX];
	size_t n;
};

static void release_parts(struct parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		ews_buf_release(&parts->items[i].text);
}

EWS_CLEANUP_DEFINE(parts, struct parts, release_parts)

/* Where each part begins, as a record. False where one is empty, or those that come later are too large. */
static bool find_begins(size_t *begins, size_t n, const unsigned *ends, const struct ews_diff *diff)
{
	uint64_t total = 0, sum = 0, first = 0;
	size_t at = 0;

	for (size_t i = 0; i < diff->n; i++)
		total += diff->items[i].old_size + diff->items[i].new_size;
	for (size_t part = 0; part < n; part++) {
		begins[part] = at;
		for (; at < diff->n && (part + 1 == n || sum < total / 100 * ends[part]); at++)
			sum += diff->items[at].old_size + diff->items[at].new_size;
		if (at == begins[part])
			return false;
		if (!part)
			first = sum;
	}
	return sum - first <= LATER_BYTES_MAX;
}

/* The trees that stand between the two: as the second up to where a part begins, as the first from there on. */
static int make_between(struct parts *parts, const size_t *begins, const struct ews_diff *diff, struct ews_repo *repo)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	int rc = ews_odb_make_writable(repo->odb);

	if (rc < 0)
		return rc;
	rc = 0; /* it may be 1: the store is written to elsewhere */
	batch = ews_batch_new(repo->odb);
	parts->items[0].from = diff->from.snapshot.tree;
	parts->items[parts->n - 1].to = diff->to.snapshot.tree;
	for (size_t i = 1; i < parts->n && rc == 0; i++) {
		rc = ews_tree_join(&parts->items[i].from, batch, &diff->to.snapshot.tree, &diff->from.snapshot.tree,
				   diff->items[begins[i]].path);
		parts->items[i - 1].to = parts->items[i].from;
	}
	return rc < 0 ? rc : ews_batch_commit(batch);
}

static int print_part(size_t i, unsigned worker, void *payload)
{
	struct part *part = &((struct part *)payload)[i];
	int status = git_diff(part->diff, part->repo, part->args, NULL, &part->opts, &part->from, &part->to);

	(void)worker;
	return status < 0 ? status : 0; /* nobody has asked for its exit code */
}

/* Several gits, one for each part of the patch. Returns 1, and has printed nothing, where that can't be. */
static int print_parts(const struct ews_diff *diff, struct ews_repo *repo, char *const *args,
		       const struct ews_git_opts *opts)
{
	const unsigned *ends = diff->n < MANY ? ends_of_few : ends_of_many;
	EWS_CLEANUP(parts) struct parts parts = { .n = diff->n < MANY ? 2 : 3 };
	size_t begins[PARTS_MAX];
	int rc;

	for (size_t i = 0; i < parts.n; i++) {
		struct part *part = &parts.items[i];

		*part = (struct part){ .diff = diff, .repo = repo, .args = args, .opts = *opts, .text = EWS_BUF_INIT };
		/* One of them speaks for all. */
		if (i) {
			part->opts.out = &part->text;
			part->opts.progress = NULL;
		}
	}
	if (!find_begins(begins, parts.n, ends, diff) || make_between(&parts, begins, diff, repo) < 0) {
		ews_error_clear();
		return 1;
	}
	rc = ews_pool_for(parts.n, 1, GITS, print_part, parts.items);
	for (size_t i = 0; i < parts.n && rc == 0; i++) {
		const struct ews_buf *text = &parts.items[i].text;

		if (opts->out)
			ews_buf_add(opts->out, text->ptr, text->len);
		else
			rc = ews_file_write_fd(opts->out_fd, text->ptr, text->len);
	}
	return rc;
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
	int rc = 1;

	/* What goes out at once shows by itself how far it has come. */
	if (out) {
		opts.progress = diff->opts.progress;
		opts.payload = diff->opts.payload;
	}
	if (is_silent(diff, args, paths, &opts))
		return 0;
	if (wants_patch(args) && has_blank_ends(diff))
		return print_quoted(diff, repo, args, paths, &opts);
	if (can_part(diff, repo, args, paths, &opts))
		rc = print_parts(diff, repo, args, &opts);
	return rc > 0 ? ews_diff_git(diff, repo, args, paths, &opts) : rc;
}

int ews_diff_collect(struct ews_buf *out, const struct ews_diff *diff, struct ews_repo *repo, char *const *args,
		     char *const *paths)
{
	return ews_diff_print(diff, repo, args, paths, false, -1, out);
}

int ews_diff_differs(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf lines = EWS_BUF_INIT;
	int rc;

	if (diff->not_in_patch.n > diff->n_untold || !args || !*args)
		return diff->not_in_patch.n > diff->n_untold || diff->n;
	/* Not its --exit-code: beside -w that is 0 of changed modes, of renames, and of most forms whatever they show. */
	ews_strv_add(&argv, "--numstat");
	ews_strv_add_array(&argv, args);
	rc = ews_diff_collect(&lines, diff, repo, argv.items, paths);
	return rc < 0 ? rc : lines.len > 0;
}
