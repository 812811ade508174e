/*
 * What differs between two trees is found, and one that is not sorted is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/tree_compare.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "fixture.h"
#include "store/tree.h"

TestSuite(tree_compare, .init = fixture_begin_project, .fini = fixture_end_project);

/* The tree that `git ls-tree` would print so, written as it stands, sorted or not. */
static struct ews_oid write_tree(const char *const *names, const struct ews_oid *oid)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(fixture_repo->odb);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_oid tree;

	for (; *names; names++) {
		/* What ends in a slash is a directory. */
		size_t len = strcspn(*names, "/");

		ews_buf_addf(&text, "%s %.*s", (*names)[len] ? "40000" : "100644", (int)len, *names);
		ews_buf_addc(&text, '\0');
		ews_buf_add(&text, oid->id, oid->len);
	}
	cr_assert_eq(ews_batch_add(&tree, batch, EWS_OBJECT_TREE, text.ptr, text.len), 0);
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	return tree;
}

static const char *const none[] = { NULL };

Test(tree_compare, a_file_that_becomes_a_directory_goes_and_comes)
{
	EWS_CLEANUP(tree_differences) struct ews_tree_differences list = EWS_TREE_DIFFERENCES_INIT;
	struct ews_oid nothing = write_tree(none, NULL), inner, from, to;

	inner = write_tree((const char *const[]){ "x", NULL }, &nothing);
	from = write_tree((const char *const[]){ "a", "a.b", NULL }, &inner);
	to = write_tree((const char *const[]){ "a.b", "a/", NULL }, &inner);
	cr_assert_eq(ews_tree_compare(&list, fixture_repo->odb, &from, &to), 0, "%s", ews_error_message());
	cr_assert_eq(list.n, 2);
	cr_assert_str_eq(list.items[0].path, "a");
	cr_assert(list.items[0].old_mode == 0100644 && !list.items[0].new_mode);
	cr_assert(ews_oid_equal(&list.items[0].old_oid, &inner) && ews_oid_is_none(&list.items[0].new_oid));
	cr_assert_str_eq(list.items[1].path, "a/x");
	cr_assert(!list.items[1].old_mode && list.items[1].new_mode == 0100644);
	cr_assert(ews_oid_is_none(&list.items[1].old_oid) && ews_oid_equal(&list.items[1].new_oid, &nothing));
}

Test(tree_compare, what_is_not_sorted_is_refused)
{
	EWS_CLEANUP(tree_differences) struct ews_tree_differences list = EWS_TREE_DIFFERENCES_INIT;
	struct ews_oid nothing = write_tree(none, NULL), from, to;

	from = write_tree((const char *const[]){ "b", "c", NULL }, &nothing);
	to = write_tree((const char *const[]){ "c", "b", NULL }, &nothing);
	cr_assert_eq(ews_tree_compare(&list, fixture_repo->odb, &from, &to), EWS_EDAMAGED);
	to = write_tree((const char *const[]){ "b", "b", NULL }, &nothing);
	cr_assert_eq(ews_tree_compare(&list, fixture_repo->odb, &from, &to), EWS_EDAMAGED);
}

Test(tree_compare, a_tree_made_to_hurt_ends_somewhere)
{
	EWS_CLEANUP(tree_differences) struct ews_tree_differences list = EWS_TREE_DIFFERENCES_INIT;
	struct ews_oid nothing = write_tree(none, NULL), deep = nothing;

	for (int i = 0; i < 3000; i++)
		deep = write_tree((const char *const[]){ "d/", NULL }, &deep);
	cr_assert_eq(ews_tree_compare(&list, fixture_repo->odb, &nothing, &deep), EWS_EUNSUPPORTED);
}

/* The tree of what the fixture made of the directory "p". */
static struct ews_oid tree_of_now(void)
{
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	struct ews_oid tree;

	fixture_ask(&hex, "cd p && chmod -R u+rwX . && git add -A . && git write-tree");
	ews_buf_rtrim(&hex);
	cr_assert_eq(ews_oid_parse(&tree, hex.ptr), 0);
	cr_assert_eq(ews_odb_refresh(fixture_repo->odb), 0);
	return tree;
}

static void assert_same(const struct ews_tree_difference *a, const struct ews_tree_difference *b)
{
	cr_assert_str_eq(a->path, b->path);
	cr_assert(a->old_mode == b->old_mode && a->new_mode == b->new_mode, "%s", a->path);
	cr_assert(ews_oid_equal(&a->old_oid, &b->old_oid) && ews_oid_equal(&a->new_oid, &b->new_oid), "%s", a->path);
}

Test(tree_compare, what_lies_before_a_joined_tree_and_behind_it_is_all_there_is, .timeout = 120)
{
	EWS_CLEANUP(fd) int dir = fixture_open_dir("p");

	for (size_t round = 0; round < fixture_rounds(20); round++) {
		EWS_CLEANUP(tree_differences) struct ews_tree_differences all = EWS_TREE_DIFFERENCES_INIT;
		struct ews_oid from, to, middle;

		fixture_make_tree(dir, 0);
		from = tree_of_now();
		fixture_edit_tree(dir, 0);
		to = tree_of_now();
		cr_assert_eq(ews_tree_compare(&all, fixture_repo->odb, &from, &to), 0, "%s", ews_error_message());
		for (size_t at = 0; at < all.n; at++) {
			EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(fixture_repo->odb);
			EWS_CLEANUP(tree_differences) struct ews_tree_differences parts = EWS_TREE_DIFFERENCES_INIT;

			cr_assert_eq(ews_tree_join(&middle, batch, &to, &from, all.items[at].path), 0, "%s",
				     ews_error_message());
			cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
			cr_assert_eq(ews_tree_compare(&parts, fixture_repo->odb, &from, &middle), 0);
			cr_assert_eq(parts.n, at, "EWS_SEED=%zu: %s", fixture_seed(), all.items[at].path);
			cr_assert_eq(ews_tree_compare(&parts, fixture_repo->odb, &middle, &to), 0);
			cr_assert_eq(parts.n, all.n, "EWS_SEED=%zu: %s", fixture_seed(), all.items[at].path);
			for (size_t i = 0; i < all.n; i++)
				assert_same(&parts.items[i], &all.items[i]);
		}
	}
}

Test(tree_compare, two_lists_differ_where_their_trees_do, .timeout = 120)
{
	EWS_CLEANUP(fd) int dir = fixture_open_dir("p");

	for (size_t round = 0; round < fixture_rounds(30); round++) {
		EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(fixture_repo->odb);
		EWS_CLEANUP(tree_differences) struct ews_tree_differences want = EWS_TREE_DIFFERENCES_INIT;
		EWS_CLEANUP(tree_differences) struct ews_tree_differences got = EWS_TREE_DIFFERENCES_INIT;
		EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
		struct ews_oid from_tree, to_tree;

		fixture_make_tree(dir, FIXTURE_FIFOS | FIXTURE_MODES | FIXTURE_ODD_NAMES);
		fixture_list_tree(&from, dir, true);
		fixture_edit_tree(dir, FIXTURE_FIFOS | FIXTURE_MODES | FIXTURE_ODD_NAMES);
		fixture_list_tree(&to, dir, true);
		cr_assert_eq(ews_tree_write(&from_tree, batch, &from), 0, "%s", ews_error_message());
		cr_assert_eq(ews_tree_write(&to_tree, batch, &to), 0, "%s", ews_error_message());
		cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
		cr_assert_eq(ews_tree_compare(&want, fixture_repo->odb, &from_tree, &to_tree), 0, "%s",
			     ews_error_message());
		ews_tree_differences_between(&got, &from, &to);
		cr_assert_eq(got.n, want.n, "EWS_SEED=%zu: %zu, not %zu", fixture_seed(), got.n, want.n);
		for (size_t i = 0; i < want.n; i++)
			assert_same(&got.items[i], &want.items[i]);
	}
}
