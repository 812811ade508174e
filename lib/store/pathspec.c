/*
 * Pathspecs: see pathspec.h.
 *
 * git matches pathspecs against an index, so the paths are put into one: each side's as a stage, lest a file
 * stand in the way of a directory that takes its place. An index has no directories; each is a file in it
 * with a name that is used for that alone. A name that git takes into no index (".GIT") has a byte more, there and in a pathspec
 * that says it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pathspec.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
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

/* Is `word` in the magic, `len` bytes from "(" on? With a value, too. */
static bool has_magic(const char *magic, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = magic, *end = magic + len; at < end; at += 1 + strcspn(at + 1, ",)"))
		if (!strncmp(at + 1, word, n) && strchr(",:)", at[n + 1]))
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
		return ews_error(EWS_EUSAGE, "'%s' is outside of '%s'", path, place->top);
	add_path(&plain, below + (*below == '/'));
	add_path(&from, place->prefix);
	ews_buf_addf(out, "prefix:%zu)%s%s", count_kept(plain.ptr, from.ptr), plain.ptr,
		     plain.len && len && path[len - 1] == '/' ? "/" : "");
	return 0;
}

/* A pathspec and its magic, which is of the form ":(word,word:value)" or ":!/". */
struct magic {
	bool is_long;
	bool is_exclude;
	bool is_top;
	size_t len; /* up to where ")" or the path stands */
	const char *path;
};

static struct magic read_magic(const char *spec)
{
	struct magic magic = { .is_long = *spec == ':' && spec[1] == '(' };

	if (magic.is_long) {
		magic.len = strcspn(spec, ")");
		magic.is_exclude = has_magic(spec + 1, magic.len, "exclude");
		magic.is_top = has_magic(spec + 1, magic.len, "top");
		magic.path = spec + magic.len + (spec[magic.len] == ')');
	} else {
		magic.len = *spec == ':' ? 1 + strspn(spec + 1, "!^/") : 0;
		magic.is_exclude = memchr(spec, '!', magic.len) || memchr(spec, '^', magic.len);
		magic.is_top = memchr(spec, '/', magic.len) != NULL;
		magic.path = spec + magic.len + (magic.len && spec[magic.len] == ':');
	}
	return magic;
}

/* The same pathspec, seen from the top. */
static int add_spec(struct ews_buf *out, const char *spec, const struct place *place)
{
	const struct magic magic = read_magic(spec);

	if (magic.is_long && has_magic(spec + 1, magic.len, "attr"))
		return ews_error(EWS_EUSAGE, "'%s': attributes choose no paths here", spec);
	/* One that has no end git finds fault with. */
	if (magic.is_top || (magic.is_long && !spec[magic.len])) {
		ews_buf_add(out, spec, (size_t)(magic.path - spec));
		add_path(out, magic.path);
		return 0;
	}
	if (magic.is_long)
		ews_buf_addf(out, "%.*s,", (int)magic.len, spec);
	else
		ews_buf_adds(out, magic.is_exclude ? ":(exclude," : ":(");
	return add_from_top(out, magic.path, place);
}

int ews_pathspec_from_top(struct ews_strv *out, const struct ews_strv *specs, const char *top, const char *prefix)
{
	const struct place place = { top, prefix };

	for (size_t i = 0; i < specs->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf spec = EWS_BUF_INIT;
		int rc = add_spec(&spec, specs->items[i], &place);

		if (rc < 0)
			return rc;
		ews_strv_add(out, spec.ptr);
	}
	return 0;
}

bool ews_pathspec_leads_into(const struct ews_strv *specs, const char *path)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/", path);

	for (size_t i = 0; i < specs->n; i++) {
		const struct magic magic = read_magic(specs->items[i]);

		if (!magic.is_exclude && ews_str_begins(magic.path, dir))
			return true;
	}
	return false;
}

void ews_pathspec_paths_add(struct ews_pathspec_paths *paths, const char *path, enum ews_entry_type type,
			    unsigned side)
{
	EWS_GROW(paths->items, paths->n, paths->cap);
	paths->items[paths->n++] = (struct ews_pathspec_path){ path, type, side };
}

void ews_pathspec_paths_add_changes(struct ews_pathspec_paths *paths, const struct ews_changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_change *change = &changes->items[i];

		if (change->from)
			ews_pathspec_paths_add(paths, change->path, change->from->type, 0);
		if (change->to)
			ews_pathspec_paths_add(paths, change->path, change->to->type, 1);
	}
}

void ews_pathspec_paths_release(struct ews_pathspec_paths *paths)
{
	free(paths->items);
	*paths = (struct ews_pathspec_paths)EWS_PATHSPEC_PATHS_INIT;
}

static int fill_index(const struct ews_bench *bench, const struct ews_pathspec_paths *paths)
{
	char *args[] = { (char[]){ "update-index" }, (char[]){ "-z" }, (char[]){ "--index-info" }, NULL };
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	struct ews_git_opts opts = ews_bench_opts(bench);
	/* Any id but none: nobody reads the object. */
	struct ews_oid oid = { .len = ews_odb_algo(bench->odb) == EWS_SHA1 ? 20 : 32, .id = { 1 } };
	char blob[EWS_OID_HEX_MAX];
	int rc;

	ews_oid_hex(blob, &oid);
	for (size_t i = 0; i < paths->n; i++) {
		const struct ews_pathspec_path *item = &paths->items[i];

		/* To git a repository may be named as a directory is, and so may what nobody has looked into. */
		ews_buf_addf(&list, "%s %s %u\t", item->type == EWS_ENTRY_GITLINK ? "160000" : "100644", blob,
			     item->side < EWS_PATHSPEC_LAST_SIDE ? item->side + 1 : 0);
		add_path(&list, item->path);
		ews_buf_addf(&list, "%s%c", item->type == EWS_ENTRY_DIR ? dir_name : "", '\0');
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

/* git ls-files there. Returns its status. */
static int list_files(struct ews_buf *out, struct ews_buf *complaint, const struct ews_bench *bench,
		      const struct ews_strv *specs, const char *how)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	struct ews_git_opts opts = ews_bench_opts(bench);

	ews_strv_add_all(&args, "ls-files", how, "--", NULL);
	ews_strv_add_array(&args, specs->items);
	opts.has_pathspecs = true;
	opts.out = out;
	opts.err = complaint;
	return ews_git_run(&opts, args.items);
}

static int find_meant(struct ews_strv *out, const struct ews_bench *bench, const struct ews_strv *specs)
{
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf complaint = EWS_BUF_INIT;
	int rc = list_files(&list, &complaint, bench, specs, "-z");

	if (rc > 0) {
		EWS_CLEANUP(free) char *sentence = ews_git_sentence(&complaint);

		return ews_error(EWS_EUSAGE, "%s", sentence);
	}
	if (rc == 0)
		take_paths(out, &list);
	return rc;
}

/* A list of its own: one that is made under --error-unmatch has paths of a second stage that are left out. */
static int find_idle(size_t *out, const struct ews_bench *bench, const struct ews_strv *specs)
{
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf complaint = EWS_BUF_INIT;
	int rc = list_files(&list, &complaint, bench, specs, "--error-unmatch");

	*out = specs->n;
	for (size_t i = 0; i < specs->n && rc > 0; i++) {
		EWS_CLEANUP(free) char *quoted = ews_strfmt("pathspec '%s' did not match", specs->items[i]);

		if (memmem(complaint.ptr, complaint.len, quoted, strlen(quoted))) {
			*out = i;
			return 0;
		}
	}
	return rc > 0 ? ews_error(EWS_EGIT, "git ls-files failed") : rc;
}

int ews_pathspec_match(struct ews_strv *out, size_t *idle, struct ews_repo *repo, const struct ews_strv *specs,
		       const struct ews_pathspec_paths *paths)
{
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	int rc = ews_bench_make(&bench, repo);

	if (rc == 0)
		rc = fill_index(&bench, paths);
	if (rc == 0)
		rc = find_meant(out, &bench, specs);
	return rc < 0 || !idle ? rc : find_idle(idle, &bench, specs);
}
