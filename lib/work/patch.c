/*
 * Patches: see patch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/patch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/bench.h"

#define NAMES_BYTES_MAX (256 * EWS_MIB)
#define STDERR_BYTES_MAX EWS_MIB

/* Run git beside the bench's index. Gives its status; what it said is in `err`. */
static int run(const struct ews_bench *bench, struct ews_buf *out, struct ews_buf *err,
	       const struct ews_patch *patch, const char *const *args)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	struct ews_git_opts opts = ews_bench_opts(bench);

	opts.sync_objects = true;
	opts.out = out;
	opts.err = err;
	opts.input = patch ? patch->data : NULL;
	opts.input_len = patch ? patch->len : 0;
	for (; *args; args++)
		ews_strv_add(&argv, *args);
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

/* What git says of a path: "error: <path>: <why>". */
struct reason {
	const char *end;
	const char *why;
};

static const struct reason conflicts_of_git[] = {
	{ ": patch does not apply", "the patch does not apply" },
	{ ": does not exist in index", "it is not there" },
	{ ": already exists in index", "it is there already" },
	{ ": already exists in working directory", "it is there already" },
	{ ": does not match index", "it differs" },
	{ ": wrong type", "it is of another type" },
	{ ": removal patch leaves file contents", "it has more than the patch removes" },
};

static const char *const outside[] = {
	"invalid path '",
	"is beyond a symbolic link",
	"invalid file name",
	"unable to use patch filename",
};

static void add_conflict(struct ews_strv *out, const char *path, size_t len, const char *why)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_path_escape(&line, path, len);
	ews_buf_addf(&line, "\t%s", why);
	if (!ews_strv_has(out, line.ptr))
		ews_strv_add(out, line.ptr);
}

/* A line that names a path which stands in the way. */
static bool read_conflict(struct ews_strv *out, const char *line, size_t len)
{
	for (size_t i = 0; i < sizeof(conflicts_of_git) / sizeof(*conflicts_of_git); i++) {
		size_t end = strlen(conflicts_of_git[i].end);

		if (len <= end || strncmp(line + len - end, conflicts_of_git[i].end, end) != 0)
			continue;
		add_conflict(out, line, len - end, conflicts_of_git[i].why);
		return true;
	}
	return false;
}

static int fail_patch(const struct ews_patch *patch, const char *why)
{
	ews_error(EWS_EDAMAGED, "'%s' is no patch that git can apply%s%s", patch->name, why ? ": " : "",
		  why ? why : "");
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

/* Why git did not take it: 1 for conflicts, which are added, else an error. */
static int judge(struct ews_strv *conflicts, const struct ews_buf *err, const struct ews_patch *patch)
{
	EWS_CLEANUP(free) char *sentence = ews_git_sentence(err);
	size_t before = conflicts->n;

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++)
		if (strstr(err->ptr, outside[i]))
			return refuse(patch, sentence);
	for (const char *line = err->ptr; *line;) {
		size_t len = strcspn(line, "\n"), skip = strncmp(line, "error: ", 7) ? 0 : 7;

		(void)read_conflict(conflicts, line + skip, len - skip);
		line += len + (line[len] == '\n');
	}
	if (conflicts->n > before)
		return 1;
	return fail_patch(patch, sentence);
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

int ews_patch_paths(struct ews_strv *out, struct ews_repo *repo, const struct ews_patch *patch)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv conflicts = EWS_STRV_INIT;
	const char *const args[] = { "apply", "--numstat", "-z", "-", NULL };
	int rc;

	if (is_blank(patch))
		return 0;
	ews_buf_init_max(&text, NAMES_BYTES_MAX);
	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	rc = ews_bench_make(&bench, repo);
	if (rc == 0)
		rc = run(&bench, &text, &err, patch, args);
	if (rc > 0)
		rc = judge(&conflicts, &err, patch);
	if (rc > 0)
		rc = fail_patch(patch, NULL);
	if (rc < 0)
		return rc;
	for (const char *at = text.ptr; at < text.ptr + text.len; at += strlen(at) + 1) {
		const char *tab = strchr(at, '\t');
		const char *path = tab ? strchr(tab + 1, '\t') : NULL;

		rc = path ? add_path(out, patch, path + 1) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int apply_to_index(struct ews_strv *conflicts, const struct ews_bench *bench, const struct ews_patch *patch)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	const char *const args[] = { "apply", "--cached", "--whitespace=nowarn", "--no-ignore-whitespace", "-", NULL };
	int rc;

	ews_buf_init_max(&err, STDERR_BYTES_MAX);
	rc = run(bench, &out, &err, patch, args);
	return rc > 0 ? judge(conflicts, &err, patch) : rc;
}

int ews_patch_apply(struct ews_oid *after, struct ews_strv *conflicts, struct ews_repo *repo,
		    const struct ews_patch *patch, const struct ews_oid *on)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	const char *const args[] = { "read-tree", ews_oid_hex(hex, on), NULL };
	int rc;

	*after = *on;
	if (is_blank(patch))
		return 0;
	rc = ews_bench_make(&bench, repo);
	if (rc == 0)
		rc = run(&bench, &out, &err, NULL, args);
	if (rc > 0)
		rc = fail(&err, "read the project's tree");
	if (rc == 0)
		rc = apply_to_index(conflicts, &bench, patch);
	return rc != 0 ? rc : write_tree(after, &bench);
}

int ews_patch_sides(struct ews_oid *before, struct ews_oid *after, struct ews_repo *repo,
		    const struct ews_patch *patch)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv conflicts = EWS_STRV_INIT;
	int rc;

	if (is_blank(patch))
		return 1;
	rc = ews_bench_make(&bench, repo);
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
		rc = apply_to_index(&conflicts, &bench, patch);
	return rc != 0 ? rc : write_tree(after, &bench);
}
