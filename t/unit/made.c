/*
 * Made: what it finds is what a scan finds, and where it can't know that it says nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/made.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "fixture.h"

#define ALL_KINDS (FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_IGNORES | FIXTURE_NESTED | FIXTURE_ODD_NAMES)

TestSuite(made, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static bool is_identical(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->type == b->type && a->mode == b->mode && a->size == b->size && a->mtime_s == b->mtime_s &&
	       a->mtime_ns == b->mtime_ns && a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns &&
	       a->ino == b->ino && a->dev == b->dev && a->uid == b->uid && a->gid == b->gid &&
	       a->n_links == b->n_links && a->is_elsewhere == b->is_elsewhere && a->has_stat && b->has_stat &&
	       ews_oid_equal(&a->oid, &b->oid) && !a->xattrs == !b->xattrs &&
	       (!a->xattrs || !strcmp(a->xattrs, b->xattrs)) && !a->first_name == !b->first_name;
}

static struct ews_ignore *rules(void)
{
	static const char text[] = "*.o\nb*\n!bb\n";

	return ews_ignore_new(text, strlen(text), NULL, 0, false);
}

static void scan(struct ews_scan *out, struct ews_repo *repo, const struct ews_scan_opts *opts)
{
	cr_assert_eq(ews_scan(out, opts), 0);
	cr_assert_eq(ews_scan_fill(out, &(struct ews_scan_fill_opts){ .odb = repo->odb }), 0);
}

static void assert_found(const struct ews_scan *found, const struct ews_scan *now)
{
	fixture_assert_same(&found->entries, &now->entries, is_identical, "found");
	cr_assert_eq(found->skips.n, now->skips.n, "EWS_SEED=%zu: %zu, not %zu", fixture_seed(), found->skips.n,
		     now->skips.n);
	for (size_t i = 0; i < now->skips.n; i++) {
		cr_assert_str_eq(found->skips.items[i].path, now->skips.items[i].path);
		cr_assert_eq(found->skips.items[i].reason, now->skips.items[i].reason);
		cr_assert_eq(found->skips.items[i].size, now->skips.items[i].size);
	}
	cr_assert(is_identical(&found->root, &now->root));
	cr_assert_eq(found->n_files, now->n_files);
	cr_assert_eq(found->size_bytes, now->size_bytes);
}

/* Was something above `path` no directory? */
static bool is_in_place_of_file(const struct ews_entries *put, const char *path)
{
	for (size_t i = 0; i < put->n; i++)
		if (ews_path_is_inside(path, put->items[i].path) && put->items[i].type != EWS_ENTRY_DIR &&
		    put->items[i].type != EWS_ENTRY_GITLINK)
			return true;
	return false;
}

/* Some of what was put there is known; what is ignored came along, or nobody knows of it. */
Test(made, it_is_what_a_scan_finds)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_small_project("project");
	EWS_CLEANUP(ignore) struct ews_ignore *ignore = rules();
	size_t n_found = 0, n_changed = 0;

	for (size_t round = 0; round < fixture_rounds_if_fast(60); round++) {
		EWS_CLEANUP(scan) struct ews_scan put = EWS_SCAN_INIT;
		EWS_CLEANUP(scan) struct ews_scan now = EWS_SCAN_INIT;
		EWS_CLEANUP(scan) struct ews_scan taken = EWS_SCAN_INIT;
		EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;
		EWS_CLEANUP(entries) struct ews_entries some = EWS_ENTRIES_INIT;
		EWS_CLEANUP(free) char *name = ews_strfmt("w%zu", round);
		EWS_CLEANUP(fd) int fd = -1;
		struct ews_scan_opts opts = { .ignore = ignore, .read_gitignore = true, .is_plain = fixture_pick(2) };
		bool is_found;
		size_t n;

		cr_assert_eq(mkdir(name, 0755), 0);
		fd = opts.root_fd = fixture_open_dir(name);
		fixture_make_tree(fd, ALL_KINDS);
		scan(&put, repo, &opts);
		for (size_t i = 0; i < put.entries.n; i++)
			if (fixture_pick(8))
				ews_entries_add_copy(&some, &put.entries.items[i]);
		opts.known = fixture_pick(2) ? &put.entries : &some;
		if (fixture_pick(2))
			fixture_shell("cd %s && find . -type d ! -path '*/.git*' | while read -r d; do "
				      "{ touch \"$d/new.o\"; mkdir \"$d/bnew\"; } 2>/dev/null || :; done",
				      name);
		if (ews_made_find(&found, &put.entries, &opts)) {
			scan(&now, repo, &opts);
			/* The names of directories alone are asked for: their stat data moved since `put`. */
			assert_found(&found, &now);
			n_found++;
		}
		fixture_edit_tree(fd, ALL_KINDS);
		ews_scan_release(&found);
		found = (struct ews_scan)EWS_SCAN_INIT;
		ews_scan_release(&now);
		now = (struct ews_scan)EWS_SCAN_INIT;
		scan(&now, repo, &opts);
		n = put.entries.n;
		is_found = ews_made_find(&found, &put.entries, &opts);
		cr_assert_eq(ews_made_take(&taken, &put.entries, &opts), is_found, "EWS_SEED=%zu", fixture_seed());
		cr_assert_eq(put.entries.n, is_found ? 0 : n);
		if (!is_found) {
			n_changed++;
			continue;
		}
		assert_found(&taken, &found);
		/* What stands in a file's place is asked for later, by its stat data. */
		for (size_t i = 0; i < now.entries.n; i++)
			cr_assert(ews_entries_find(&found.entries, now.entries.items[i].path) ||
					  is_in_place_of_file(&taken.entries, now.entries.items[i].path),
				  "EWS_SEED=%zu: %s", fixture_seed(), now.entries.items[i].path);
	}
	cr_assert(n_found && n_changed, "%zu and %zu", n_found, n_changed);
}

/* Each alone. */
Test(made, what_is_not_as_it_was_made_is_for_a_scan_to_tell)
{
	static const char *const changes[] = {
		"touch w/new",
		"touch w/d/new",
		"mkdir w/d/new",
		"chmod 700 w/d",
		"rm -r w/d",
		"mkdir w/e/.git && touch w/e/.git/HEAD",
		"mkdir w/d/.git && touch w/d/.git/HEAD",
		"rmdir w/e && ln -s d w/e",
	};
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_small_project("project");
	EWS_CLEANUP(ignore) struct ews_ignore *ignore = rules();
	static const char *const own[] = { "d/f", NULL };

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		EWS_CLEANUP(scan) struct ews_scan put = EWS_SCAN_INIT;
		EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;
		EWS_CLEANUP(scan) struct ews_scan none = EWS_SCAN_INIT;
		EWS_CLEANUP(fd) int fd = -1;
		struct ews_scan_opts opts = { .ignore = ignore, .read_gitignore = true };

		fixture_shell("rm -rf w && mkdir -p w/d w/e && echo four >w/d/f && ln -s y w/l && echo o >w/x.o");
		fd = opts.root_fd = fixture_open_dir("w");
		scan(&put, repo, &opts);
		opts.known = &put.entries;
		cr_assert_eq(ews_made_find(&found, &put.entries, &opts), 1);
		assert_found(&found, &put);
		opts.max_file_bytes = 3;
		cr_assert_eq(ews_made_find(&none, &put.entries, &opts), 0, "it is too large");
		opts.max_file_bytes = 0;
		opts.own = own;
		cr_assert_eq(ews_made_find(&none, &put.entries, &opts), 0, "it is ours");
		opts.own = NULL;
		fixture_shell("%s", changes[i]);
		cr_assert_eq(ews_made_find(&none, &put.entries, &opts), 0, "%s", changes[i]);
	}
}
