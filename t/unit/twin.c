/*
 * Twin: each path comes from where the options say, and the whole is a tree that could be written down.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/twin.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"
#include "store/tree.h"

#define KINDS (FIXTURE_ATTRS | FIXTURE_IGNORES | FIXTURE_MODES | FIXTURE_ODD_NAMES)

TestSuite(twin, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static void list_commit(struct ews_entries *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *spec = ews_strfmt("%s^{tree}", name);
	struct ews_oid tree;

	cr_assert_eq(ews_odb_resolve(&tree, repo->odb, spec), 0);
	cr_assert_eq(ews_tree_list(out, repo->odb, &tree), 0);
}

/* In order, no path twice, every directory before what it holds, nothing below a file. */
static void assert_is_tree(const struct ews_entries *list, const char *what)
{
	for (size_t i = 0; i < list->n; i++) {
		EWS_CLEANUP(free) char *dir = ews_path_dir(list->items[i].path);
		const struct ews_entry *above = *dir ? ews_entries_find(list, dir) : NULL;

		cr_assert(i == 0 || ews_path_cmp(list->items[i - 1].path, list->items[i].path) < 0,
			  "EWS_SEED=%zu: %s: '%s' stands twice", fixture_seed(), what, list->items[i].path);
		cr_assert(!*dir || (above && above->type == EWS_ENTRY_DIR),
			  "EWS_SEED=%zu: %s: '%s' hangs in the air", fixture_seed(), what, list->items[i].path);
	}
}

static int choose(struct ews_twin *out, struct ews_repo *repo, const struct ews_twin_opts *opts)
{
	struct ews_batch *batch = ews_batch_new(repo->odb);
	int rc = ews_repo_make_dir(repo);

	if (rc == 0)
		rc = ews_twin_choose(out, repo, batch, opts);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	ews_batch_free(batch);
	return rc;
}

static bool is_content(const struct ews_entry *entry)
{
	return entry->type != EWS_ENTRY_DIR;
}

/* Directories aside. */
static void keep_contents(struct ews_entries *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (is_content(&list->items[i]))
			list->items[kept++] = list->items[i];
	list->n = kept;
}

Test(twin, nothing_uncommitted_leaves_the_commit)
{
	static const char *const bases[] = { NULL, "HEAD", "other" };

	for (size_t round = 0; round < fixture_rounds(4); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("p%zu", round);
		EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project(name, KINDS);

		for (size_t i = 0; i < 3; i++) {
			EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
			EWS_CLEANUP(entries) struct ews_entries should = EWS_ENTRIES_INIT;
			const struct ews_twin_opts opts = { .base = bases[i] };

			cr_assert_eq(choose(&twin, repo, &opts), 0, "%s", ews_error_message());
			list_commit(&should, repo, bases[i] ? bases[i] : "HEAD");
			assert_is_tree(&twin.content.scan.entries, name);
			fixture_assert_same(&twin.content.scan.entries, &should, ews_entry_equal_in_git, name);
			keep_contents(&should);
			cr_assert_eq(twin.index.n, should.n, "EWS_SEED=%zu: %s", fixture_seed(), name);
			for (size_t k = 0; k < should.n; k++) {
				const struct ews_index_entry *ie = ews_index_find(&twin.index, should.items[k].path);

				cr_assert(ie && ews_oid_equal(&ie->oid, &should.items[k].oid) &&
						  ie->mode == ews_entry_git_mode(&should.items[k]),
					  "EWS_SEED=%zu: '%s'", fixture_seed(), should.items[k].path);
			}
		}
	}
}

Test(twin, all_of_it_is_the_project_as_it_stands)
{
	const struct ews_twin_opts opts = { .uncommitted = true, .untracked = true };

	for (size_t round = 0; round < fixture_rounds(4); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("p%zu", round);
		EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project(name, KINDS);
		EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
		EWS_CLEANUP(entries) struct ews_entries should = EWS_ENTRIES_INIT;
		EWS_CLEANUP(fd) int fd = fixture_open_dir(name);
		size_t kept = 0;

		cr_assert_eq(choose(&twin, repo, &opts), 0, "%s", ews_error_message());
		fixture_list_tree(&should, fd, false);
		for (size_t i = 0; i < should.n; i++)
			if (!ews_skips_covering(&twin.content.scan.skips, should.items[i].path))
				should.items[kept++] = should.items[i];
		should.n = kept;
		assert_is_tree(&twin.content.scan.entries, name);
		fixture_assert_same(&twin.content.scan.entries, &should, ews_entry_equal, name);
	}
}

/* Where the content of each path may come from, by the options; NULL entries stand for "nothing". */
static void check_path(const struct ews_entry *is, const struct ews_entry *project, const struct ews_entry *head,
		       const struct ews_entry *base, bool is_tracked, const struct ews_twin_opts *opts)
{
	bool is_projects = (!is && !project) || (is && project && ews_entry_equal(is, project));
	bool is_bases = (!is && !base) || (is && base && ews_entry_equal_in_git(is, base));
	bool has_changed = (!project != !head) || (project && !ews_entry_equal_in_git(project, head));

	if (!is_tracked && !base)
		cr_assert(opts->untracked ? is_projects : !is, "an untracked path");
	else if (!opts->uncommitted || (!has_changed && opts->base))
		cr_assert(is_bases, "EWS_SEED=%zu: what the commit has: %s", fixture_seed(),
			  is ? is->path : base->path);
	else
		cr_assert(is_projects, "EWS_SEED=%zu: what the project has: %s", fixture_seed(),
			  is ? is->path : project->path);
}

static const struct ews_entry *content_of(const struct ews_entries *list, const char *path)
{
	const struct ews_entry *entry = ews_entries_find(list, path);

	return entry && is_content(entry) ? entry : NULL;
}

Test(twin, every_path_comes_from_where_the_options_say)
{
	for (size_t round = 0; round < fixture_rounds(6); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("p%zu", round);
		EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project(name, 0);
		EWS_CLEANUP(entries) struct ews_entries project = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries head = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries base = EWS_ENTRIES_INIT;
		EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
		EWS_CLEANUP(fd) int fd = fixture_open_dir(name);

		fixture_list_tree(&project, fd, false);
		list_commit(&head, repo, "HEAD");
		list_commit(&base, repo, "other");
		cr_assert_eq(ews_index_read(&index, repo->git_fd, "index", EWS_SHA1), 0);
		for (int bits = 0; bits < 8; bits++) {
			EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
			EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
			const struct ews_twin_opts opts = { .uncommitted = bits & 1,
							    .untracked = bits & 2,
							    .base = bits & 4 ? "other" : NULL };
			const struct ews_entries *from = opts.base ? &base : &head, *is = &twin.content.scan.entries;
			int rc = choose(&twin, repo, &opts);

			/* What comes along may not fit: to a base; or to HEAD, in what else is uncommitted, which stays behind. */
			if (rc == EWS_ECONFLICT &&
			    (opts.base ? opts.uncommitted || opts.untracked : opts.untracked && !opts.uncommitted))
				continue;
			cr_assert_eq(rc, 0, "EWS_SEED=%zu: %s", fixture_seed(), ews_error_message());
			assert_is_tree(is, name);
			for (size_t i = 0; i < project.n; i++)
				ews_strv_add(&paths, project.items[i].path);
			for (size_t i = 0; i < from->n; i++)
				ews_strv_add(&paths, from->items[i].path);
			for (size_t i = 0; i < paths.n; i++) {
				const char *path = paths.items[i];
				bool is_tracked = ews_index_find(&index, path) || ews_entries_find(&head, path);
				bool is_shadowed = false;

				/* A file of one source may stand where the other needs a directory. */
				for (size_t k = 0; k < paths.n; k++)
					is_shadowed = is_shadowed || ((content_of(is, paths.items[k]) ||
								       content_of(from, paths.items[k]) ||
								       content_of(&project, paths.items[k])) &&
								      strlen(paths.items[k]) != strlen(path) &&
								      (ews_path_is_inside(path, paths.items[k]) ||
								       ews_path_is_inside(paths.items[k], path)));
				/* Taken out of the index it is untracked, for all that HEAD has it. */
				if (is_tracked && opts.uncommitted && !opts.untracked && !ews_index_find(&index, path))
					is_shadowed = true;
				if (!is_shadowed)
					check_path(content_of(is, path), content_of(&project, path),
						   content_of(&head, path), content_of(from, path), is_tracked,
						   &opts);
			}
		}
	}
}

Test(twin, a_directory_that_was_emptied_is_there_once)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	EWS_CLEANUP(free) char *home = ews_path_join(fixture_top(), "home");
	EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
	const struct ews_twin_opts opts = { .untracked = true };

	fixture_shell(
		"mkdir -p p/d/e p/f && cd p && touch d/e/x f/y g && git init -q && git add . && git commit -q -m 1 &&"
		"rm d/e/x f/y g && mkdir g");
	cr_assert_eq(ews_repo_open(&repo, "p", home, EWS_REPO_MAKE_NONE), 0);
	cr_assert_eq(choose(&twin, repo, &opts), 0, "%s", ews_error_message());
	assert_is_tree(&twin.content.scan.entries, "emptied");
	cr_assert_eq(ews_entries_find(&twin.content.scan.entries, "g")->type, EWS_ENTRY_FILE);
	cr_assert(ews_entries_find(&twin.content.scan.entries, "d/e/x"));
	cr_assert_eq(twin.content.scan.entries.n, 6);
}

Test(twin, the_only_paths_that_are_named_bring_their_changes)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	EWS_CLEANUP(free) char *home = ews_path_join(fixture_top(), "home");
	EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
	static const char *const only[] = { "d", "new", NULL };
	const struct ews_twin_opts opts = { .uncommitted = true, .untracked = true, .only = only };

	fixture_shell(
		"mkdir -p p/d && cd p && echo 1 >d/a && echo 1 >b && git init -q && git add . && git commit -q -m 1 &&"
		"echo 22 >d/a && echo 22 >b && touch new newer d/x && mkdir -p d/empty other/empty");
	cr_assert_eq(ews_repo_open(&repo, "p", home, EWS_REPO_MAKE_NONE), 0);
	cr_assert_eq(choose(&twin, repo, &opts), 0, "%s", ews_error_message());
	assert_is_tree(&twin.content.scan.entries, "only");
	cr_assert_eq(twin.content.scan.entries.n, 6);
	cr_assert_eq(ews_entries_find(&twin.content.scan.entries, "d/a")->size, 3);
	cr_assert_neq(ews_entries_find(&twin.content.scan.entries, "b")->size, 3);
	cr_assert(ews_entries_find(&twin.content.scan.entries, "d/empty"));
	cr_assert(ews_entries_find(&twin.content.scan.entries, "new"));
}
