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
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "store/bench.h"
#include "store/entry.h"
#include "store/gitconfig_text.h"

static const char dir_name[] = "/\001";
static const char no_git_name = '\001';

/* What the environment says of all that the user gives, as `git --literal-pathspecs` and its kin have it. */
struct reading {
	bool is_literal, is_glob, is_noglob, is_icase;
};

static int read_variable(bool *out, const char *name)
{
	const char *value = getenv(name);

	*out = false;
	if (value && !ews_gitconfig_bool(out, value))
		return ews_error(EWS_EUSAGE, "%s: '%s' is no truth value", name, value);
	return 0;
}

/* Fails where git does. */
static int read_environment(struct reading *out)
{
	int rc = read_variable(&out->is_literal, "GIT_LITERAL_PATHSPECS");

	if (rc == 0)
		rc = read_variable(&out->is_glob, "GIT_GLOB_PATHSPECS");
	if (rc == 0)
		rc = read_variable(&out->is_noglob, "GIT_NOGLOB_PATHSPECS");
	if (rc == 0)
		rc = read_variable(&out->is_icase, "GIT_ICASE_PATHSPECS");
	if (rc < 0)
		return rc;
	if (out->is_glob && out->is_noglob)
		return ews_error(EWS_EUSAGE, "GIT_GLOB_PATHSPECS and GIT_NOGLOB_PATHSPECS contradict each other");
	if (out->is_literal && (out->is_glob || out->is_icase))
		return ews_error(EWS_EUSAGE, "GIT_LITERAL_PATHSPECS contradicts %s",
				 out->is_glob ? "GIT_GLOB_PATHSPECS" : "GIT_ICASE_PATHSPECS");
	return 0;
}

/* Does the path say that it is a directory's? "a/", "a/." and "a/.." are no file's. */
static bool says_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (!slash[1] || !strcmp(slash, "/.") || !strcmp(slash, "/.."));
}

static bool is_path(const char *spec, const struct reading *reading)
{
	if (says_directory(spec) || reading->is_icase)
		return false;
	return reading->is_literal || (*spec != ':' && (reading->is_noglob || !strpbrk(spec, "*?[\\")));
}

int ews_pathspec_are_paths(bool *out, const struct ews_strv *specs)
{
	struct reading reading = { false };
	int rc = specs->n ? read_environment(&reading) : 0;

	*out = true;
	for (size_t i = 0; i < specs->n && rc == 0; i++) {
		if (!*specs->items[i])
			return ews_error(EWS_EUSAGE, "an empty string is no pathspec");
		*out = *out && is_path(specs->items[i], &reading);
	}
	return rc;
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

/* Is `word` in the magic, `len` bytes from "(" on, without ")"? With a value, too. */
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
	const char *real_top; /* where that really is */
	const char *prefix; /* "" or "dir/", below it */
	struct reading reading;
};

/* `path`, seen from the place, as git takes it behind "prefix:": from the top on, and before it how much of it is no wildcard. */
static int add_from_top(struct ews_buf *out, const char *path, const struct place *place)
{
	EWS_CLEANUP(free) char *here = ews_strfmt("%s/%s", place->top, place->prefix);
	EWS_CLEANUP(free) char *whole = ews_path_absolute(here, path);
	EWS_CLEANUP(buf) struct ews_buf from = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf plain = EWS_BUF_INIT;
	const char *below = ews_dir_find_below(whole, place->top, place->real_top);

	if (!below)
		return ews_error(EWS_EUSAGE, "'%s' is outside of '%s'", path, place->top);
	add_path(&plain, below);
	add_path(&from, place->prefix);
	ews_buf_addf(out, "prefix:%zu)%s%s", count_kept(plain.ptr, from.ptr), plain.ptr,
		     plain.len && says_directory(path) ? "/" : "");
	return 0;
}

/* A pathspec and its magic, which is of the form ":(word,word:value)" or ":!/". */
struct magic {
	bool is_long;
	bool is_exclude;
	bool is_top;
	bool is_wrong; /* git finds fault with it */
	size_t len; /* up to where ")" or the path stands */
	const char *path;
};

static struct magic read_long_magic(const char *spec)
{
	struct magic magic = { .is_long = true, .len = strcspn(spec, ")") };

	magic.is_exclude = has_magic(spec + 1, magic.len - 1, "exclude");
	magic.is_top = has_magic(spec + 1, magic.len - 1, "top");
	magic.is_wrong = !spec[magic.len];
	magic.path = spec + magic.len + !magic.is_wrong;
	return magic;
}

static struct magic read_magic(const char *spec)
{
	static const char reserved[] = "\"#%&',-;<=>@_`~"; /* for letters of magic, by git */
	struct magic magic = { .is_long = false };

	if (*spec == ':' && spec[1] == '(')
		return read_long_magic(spec);
	magic.len = *spec == ':' ? 1 + strspn(spec + 1, "!^/") : 0;
	magic.is_exclude = memchr(spec, '!', magic.len) || memchr(spec, '^', magic.len);
	magic.is_top = memchr(spec, '/', magic.len) != NULL;
	magic.path = spec + magic.len;
	magic.is_wrong = magic.len && *magic.path && strchr(reserved, *magic.path);
	magic.path += magic.len && *magic.path == ':';
	return magic;
}

/* The words of magic that the environment adds, each with a comma. */
static void add_words(struct ews_buf *out, const char *spec, const struct magic *magic, const struct reading *reading)
{
	const char *words = magic->is_long ? spec + 1 : "";
	size_t len = magic->is_long ? magic->len : 0;

	if (reading->is_literal || (reading->is_noglob && !has_magic(words, len, "glob")))
		ews_buf_adds(out, "literal,");
	if (reading->is_glob && !has_magic(words, len, "literal"))
		ews_buf_adds(out, "glob,");
	if (reading->is_icase)
		ews_buf_adds(out, "icase,");
}

/* The same pathspec, seen from the top. */
static int add_spec(struct ews_buf *out, const char *spec, const struct place *place)
{
	const struct magic literal = { .path = spec };
	const struct magic magic = place->reading.is_literal ? literal : read_magic(spec);

	if (magic.is_long && has_magic(spec + 1, magic.len, "attr"))
		return ews_error(EWS_EUSAGE, "'%s': attributes choose no paths here", spec);
	if (magic.is_wrong) {
		ews_buf_adds(out, spec);
		return 0;
	}
	ews_buf_adds(out, ":(");
	add_words(out, spec, &magic, &place->reading);
	if (magic.is_long)
		ews_buf_addf(out, "%.*s,", (int)(magic.len - strlen(":(")), spec + strlen(":("));
	else if (magic.is_exclude)
		ews_buf_adds(out, "exclude,");
	if (!magic.is_top)
		return add_from_top(out, magic.path, place);
	ews_buf_adds(out, "top)");
	add_path(out, magic.path);
	return 0;
}

int ews_pathspec_from_top(struct ews_strv *out, const struct ews_strv *specs, const char *top, const char *prefix)
{
	EWS_CLEANUP(free) char *real = realpath(top, NULL);
	struct place place = { top, real ? real : top, prefix, { false } };
	int rc = read_environment(&place.reading);

	for (size_t i = 0; i < specs->n && rc == 0; i++) {
		EWS_CLEANUP(buf) struct ews_buf spec = EWS_BUF_INIT;

		rc = add_spec(&spec, specs->items[i], &place);
		if (rc == 0)
			ews_strv_add(out, spec.ptr);
	}
	return rc;
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
