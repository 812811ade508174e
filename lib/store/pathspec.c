/*
 * Pathspecs: see pathspec.h.
 *
 * git matches pathspecs against an index, so the paths are put into one: what was there as stage 1 and what is there as stage 2,
 * lest a file stand in the way of a directory that takes its place. An index has no directories; each is a file in it
 * with a name that is used for that alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pathspec.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/bench.h"

static const char dir_name[] = "/\001";

bool ews_pathspec_is_path(const char *spec)
{
	return *spec != ':' && !strpbrk(spec, "*?[\\");
}

/* The same, relative to the top: git takes the first bytes of a "prefix" as they are. */
static char *place(const char *spec, const char *prefix)
{
	size_t len = strlen(prefix), magic;

	if (*spec != ':')
		return ews_strfmt(":(prefix:%zu)%s%s", len, prefix, spec);
	if (spec[1] == '(') {
		magic = strcspn(spec, ")");
		return spec[magic]
			       ? ews_strfmt("%.*s,prefix:%zu)%s%s", (int)magic, spec, len, prefix, spec + magic + 1)
			       : ews_strdup(spec);
	}
	magic = 1 + strspn(spec + 1, "!^/");
	if (memchr(spec, '/', magic))
		return ews_strdup(spec);
	return ews_strfmt(":(%sprefix:%zu)%s%s", magic > 1 ? "exclude," : "", len, prefix,
			  spec + magic + (spec[magic] == ':'));
}

static void add_side(struct ews_buf *out, const struct ews_entry *entry, const char *path, int stage, const char *blob)
{
	if (entry)
		ews_buf_addf(out, "100644 %s %d\t%s%s%c", blob, stage, path,
			     entry->type == EWS_ENTRY_DIR ? dir_name : "", '\0');
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

		if (len > tail && !strcmp(path + len - tail, dir_name))
			len -= tail;
		ews_strv_add_len(out, path, len);
	}
	ews_strv_sort(out);
}

static int ask(struct ews_strv *out, const struct ews_bench *bench, const struct ews_strv *specs, const char *prefix)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf complaint = EWS_BUF_INIT;
	struct ews_git_opts opts = ews_bench_opts(bench);
	int rc;

	ews_strv_add_all(&args, "--no-literal-pathspecs", "ls-files", "-z", "--", NULL);
	for (size_t i = 0; i < specs->n; i++) {
		EWS_CLEANUP(free) char *spec = place(specs->items[i], prefix);

		ews_strv_add(&args, spec);
	}
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
	int rc = changes->n ? ews_bench_make(&bench, repo) : 0;

	if (rc < 0 || !changes->n)
		return rc;
	rc = fill_index(&bench, changes);
	return rc < 0 ? rc : ask(out, &bench, specs, prefix);
}
