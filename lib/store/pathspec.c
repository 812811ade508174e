/*
 * Pathspecs: see pathspec.h.
 *
 * git matches pathspecs against an index, so the paths are put into one: what was there as stage 1 and what is there as stage 2,
 * lest a file stand in the way of a directory that takes its place. An index has no directories; each is a file in it
 * with a name that is used for that alone. A name that git takes into no index (".GIT") has a byte more, there and in a pathspec
 * that says it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pathspec.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/bench.h"
#include "store/entry.h"

static const char dir_name[] = "/\001";
static const char no_git_name = '\001';

bool ews_pathspec_is_path(const char *spec)
{
	return *spec != ':' && !strpbrk(spec, "*?[\\");
}

/* Does git refuse the name that is `len` long? */
static bool is_refused(const char *name, size_t len)
{
	EWS_CLEANUP(free) char *alone = ews_strndup(name, len);

	return !ews_entry_path_fits_tree(alone, false);
}

/* A path, or what of a pathspec is one, so that git takes it. */
static void add_path(struct ews_buf *out, const char *path)
{
	/* Nearly all are. */
	if (ews_entry_path_fits_tree(path, false)) {
		ews_buf_adds(out, path);
		return;
	}
	while (*path) {
		size_t len = strcspn(path, "/");

		ews_buf_add(out, path, len);
		if (is_refused(path, len))
			ews_buf_addc(out, no_git_name);
		path += len;
		if (*path)
			ews_buf_addc(out, *path++);
	}
}

/* What add_path() was given. */
static void add_plain_path(struct ews_buf *out, const char *path, size_t len)
{
	for (const char *end = path + len, *next; path < end; path = next) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t n = (size_t)((slash ? slash : end) - path);
		bool is_longer = n > 1 && path[n - 1] == no_git_name && is_refused(path, n - 1);

		ews_buf_add(out, path, n - is_longer);
		if (slash)
			ews_buf_addc(out, '/');
		next = slash ? slash + 1 : end;
	}
}

/* Does the magic, `len` bytes from "(" on, name the top? */
static bool names_top(const char *magic, size_t len)
{
	for (const char *at = magic, *end = magic + len; at < end; at += 1 + strcspn(at + 1, ",)"))
		if (!strncmp(at + 1, "top", 3) && (at[4] == ',' || at[4] == ')'))
			return true;
	return false;
}

/* How many of the first bytes of `path` are of the directory `prefix` ("" or "dir/")? */
static size_t count_kept(const char *path, const char *prefix)
{
	size_t kept = 0, i = 0;

	for (; path[i] && path[i] == prefix[i]; i++)
		if (path[i] == '/')
			kept = i + 1;
	return !path[i] && prefix[i] == '/' ? i : kept;
}

/* What the pathspecs are seen from. */
struct place {
	const char *top; /* absolute */
	const char *prefix; /* "" or "dir/", below it */
};

/* `path`, seen from the place, as git takes it behind "prefix:": from the top on, and before it how much of it is no wildcard. */
static int add_from_top(struct ews_buf *out, const char *path, const struct place *place)
{
	EWS_CLEANUP(free) char *here = ews_strfmt("%s/%s", place->top, place->prefix);
	EWS_CLEANUP(free) char *whole = ews_path_absolute(here, path);
	EWS_CLEANUP(buf) struct ews_buf from = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf plain = EWS_BUF_INIT;
	size_t len = strlen(path);
	const char *below = whole + strlen(place->top); /* which may be "/" */

	if (!ews_path_is_inside(whole, place->top))
		return ews_error(EWS_EUSAGE, "'%s' leads out of the project", path);
	add_path(&plain, below + (*below == '/'));
	add_path(&from, place->prefix);
	ews_buf_addf(out, "prefix:%zu)%s%s", count_kept(plain.ptr, from.ptr), plain.ptr,
		     plain.len && len && path[len - 1] == '/' ? "/" : "");
	return 0;
}

/* The same pathspec, seen from the top. */
static int add_spec(struct ews_buf *out, const char *spec, const struct place *place)
{
	bool is_long = *spec == ':' && spec[1] == '(';
	size_t magic = is_long ? strcspn(spec, ")") : *spec == ':' ? 1 + strspn(spec + 1, "!^/") : 0;
	const char *path = is_long ? spec + magic + (spec[magic] == ')')
				   : spec + magic + (magic && spec[magic] == ':');

	/* One that has no end git finds fault with. */
	if (is_long ? !spec[magic] || names_top(spec + 1, magic - 1) : memchr(spec, '/', magic) != NULL) {
		ews_buf_add(out, spec, (size_t)(path - spec));
		add_path(out, path);
		return 0;
	}
	if (is_long)
		ews_buf_addf(out, "%.*s,", (int)magic, spec);
	else
		ews_buf_adds(out, magic > 1 ? ":(exclude," : ":(");
	return add_from_top(out, path, place);
}

static void add_side(struct ews_buf *out, const struct ews_entry *entry, const char *path, int stage, const char *blob)
{
	if (!entry)
		return;
	ews_buf_addf(out, "100644 %s %d\t", blob, stage);
	add_path(out, path);
	ews_buf_addf(out, "%s%c", entry->type == EWS_ENTRY_DIR ? dir_name : "", '\0');
}

static int fill_index(const struct ews_bench *bench, const struct ews_changes *changes)
{
	char *args[] = { (char[]){ "update-index" }, (char[]){ "-z" }, (char[]){ "--index-info" }, NULL };
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	struct ews_git_opts opts = ews_bench_opts(bench);
	/* Any id but none: nobody reads the object. */
	struct ews_oid oid = { .len = ews_odb_algo(bench->odb) == EWS_SHA1 ? 20 : 32, .id = { 1 } };
	char blob[EWS_OID_HEX_MAX];
	int rc;

	ews_oid_hex(blob, &oid);
	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_change *change = &changes->items[i];

		add_side(&list, change->from, change->path, 1, blob);
		add_side(&list, change->to, change->path, 2, blob);
	}
	opts.input = list.ptr;
	opts.input_len = list.len;
	rc = ews_git_run(&opts, args);
	return rc > 0 ? ews_error(EWS_EGIT, "git update-index failed") : rc;
}

static void take_paths(struct ews_strv *out, const struct ews_buf *list)
{
	for (size_t at = 0; at < list->len; at += strlen(list->ptr + at) + 1) {
		const char *path = list->ptr + at;
		size_t len = strlen(path), tail = strlen(dir_name);
		EWS_CLEANUP(buf) struct ews_buf plain = EWS_BUF_INIT;

		if (len > tail && !strcmp(path + len - tail, dir_name))
			len -= tail;
		add_plain_path(&plain, path, len);
		ews_strv_add_len(out, plain.ptr, plain.len);
	}
	ews_strv_sort(out);
}

static int ask(struct ews_strv *out, const struct ews_bench *bench, const struct ews_strv *specs,
	       const struct place *place)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf complaint = EWS_BUF_INIT;
	struct ews_git_opts opts = ews_bench_opts(bench);
	int rc = 0;

	ews_strv_add_all(&args, "--no-literal-pathspecs", "ls-files", "-z", "--", NULL);
	for (size_t i = 0; i < specs->n && rc == 0; i++) {
		EWS_CLEANUP(buf) struct ews_buf spec = EWS_BUF_INIT;

		rc = add_spec(&spec, specs->items[i], place);
		ews_strv_add(&args, spec.ptr);
	}
	if (rc < 0)
		return rc;
	opts.out = &list;
	opts.err = &complaint;
	rc = ews_git_run(&opts, args.items);
	if (rc > 0) {
		EWS_CLEANUP(free) char *sentence = ews_git_sentence(&complaint);

		return ews_error(EWS_EUSAGE, "%s", sentence);
	}
	if (rc == 0)
		take_paths(out, &list);
	return rc;
}

int ews_pathspec_match(struct ews_strv *out, struct ews_repo *repo, const struct ews_strv *specs,
		       const char *prefix, const struct ews_changes *changes)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	const struct place place = { repo->project, prefix };
	int rc = changes->n ? ews_bench_make(&bench, repo) : 0;

	if (rc < 0 || !changes->n)
		return rc;
	rc = fill_index(&bench, changes);
	return rc < 0 ? rc : ask(out, &bench, specs, &place);
}
