/*
 * Trees are the ones that git would write, and what a hostile tree holds leads nowhere.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/tree.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "fixture.h"

static struct ews_odb *odb;
static struct ews_batch *batch;

static void set_up(void)
{
	EWS_CLEANUP(free) char *git_dir = NULL;

	fixture_begin();
	fixture_shell("git init -q repo");
	git_dir = ews_strfmt("%s/repo/.git", fixture_top());
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0, "%s", ews_error_message());
	batch = ews_batch_new(odb);
}

static void tear_down(void)
{
	ews_batch_free(batch);
	ews_odb_free(odb);
	fixture_end();
}

TestSuite(tree, .init = set_up, .fini = tear_down);

static void add(struct ews_entries *list, const char *path, enum ews_entry_type type, unsigned mode)
{
	struct ews_entry *entry = ews_entries_add(list, path, strlen(path));

	entry->type = (uint8_t)type;
	entry->mode = (uint16_t)mode;
	if (type != EWS_ENTRY_DIR)
		cr_assert_eq(ews_batch_add(&entry->oid, batch, EWS_OBJECT_BLOB, path, strlen(path)), 0);
}

/* Does git call the tree of the directory `dir` by the id `oid`? */
static bool is_gits_tree(const struct ews_oid *oid, const char *dir)
{
	char hex[EWS_OID_HEX_MAX];
	EWS_CLEANUP(free)
	char *script = ews_strfmt("cd '%s' && export GIT_DIR=../repo/.git GIT_WORK_TREE=. &&"
				  "git add -A && test $(git write-tree) = %s",
				  dir, ews_oid_hex(hex, oid));

	return system(script) == 0;
}

Test(tree, directories_sort_as_if_they_ended_in_a_slash)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	struct ews_oid oid;

	add(&list, "a", EWS_ENTRY_DIR, 0755);
	add(&list, "a/x", EWS_ENTRY_FILE, 0644);
	add(&list, "a/deep", EWS_ENTRY_DIR, 0755);
	add(&list, "a/deep/er", EWS_ENTRY_DIR, 0755);
	add(&list, "a/deep/er/y", EWS_ENTRY_FILE, 0700);
	add(&list, "a.c", EWS_ENTRY_FILE, 0644);
	add(&list, "a0", EWS_ENTRY_FILE, 0644);
	add(&list, "a-", EWS_ENTRY_LINK, 0777);
	add(&list, "empty", EWS_ENTRY_DIR, 0755);
	add(&list, "empty/er", EWS_ENTRY_DIR, 0755);
	add(&list, "only", EWS_ENTRY_DIR, 0755);
	add(&list, "only/fifo", EWS_ENTRY_FIFO, 0644);
	add(&list, "z", EWS_ENTRY_DIR, 0755);
	add(&list, "z/.GIT", EWS_ENTRY_FILE, 0644);
	ews_entries_sort(&list);
	cr_assert_eq(ews_tree_write(&oid, batch, &list), 0, "%s", ews_error_message());
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	fixture_shell("mkdir -p w/a/deep/er && cd w && for f in a/x a.c a0; do printf $f >$f; done &&"
		      "printf a/deep/er/y >a/deep/er/y && chmod +x a/deep/er/y && ln -s a- a-");
	cr_assert(is_gits_tree(&oid, "w"));
	fixture_shell("git -C repo fsck --strict --no-dangling");
}

/* A few directories deep, few names, so that things come and go at the same places. */
static void make_list(struct ews_entries *list)
{
	static const char *const names[] = { "a", "b", "a.c", "a0", "a-", "fifo" };
	size_t n = fixture_pick(30);

	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		size_t depth = fixture_pick(4);

		for (size_t k = 0; k < depth; k++) {
			ews_buf_adds(&path, FIXTURE_ONE_OF(names));
			ews_buf_adds(&path, "d");
			ews_entries_add(list, path.ptr, path.len)->type = EWS_ENTRY_DIR;
			ews_buf_addc(&path, '/');
		}
		ews_buf_adds(&path, FIXTURE_ONE_OF(names));
		if (strcmp(ews_path_base(path.ptr), "fifo"))
			add(list, path.ptr, fixture_pick(6) ? EWS_ENTRY_FILE : EWS_ENTRY_LINK,
			    fixture_pick(4) ? 0644 : 0755);
		else
			ews_entries_add(list, path.ptr, path.len)->type = EWS_ENTRY_FIFO;
	}
	ews_entries_unique(list);
}

/* Drop some, turn some into links, make some executable, add some. */
static void edit_list(struct ews_entries *out, const struct ews_entries *list)
{
	size_t odds = 2 + fixture_pick(30);

	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry;

		if (list->items[i].type != EWS_ENTRY_DIR && !fixture_pick(odds))
			continue;
		entry = ews_entries_add_copy(out, &list->items[i]);
		if (entry->type == EWS_ENTRY_FILE && !fixture_pick(odds))
			entry->mode ^= 0111;
		if (entry->type == EWS_ENTRY_FILE && !fixture_pick(odds))
			entry->type = EWS_ENTRY_LINK;
	}
	if (!fixture_pick(3))
		make_list(out);
	ews_entries_unique(out);
}

/* Write what `was` becomes when it is edited, like that and whole, which must be the same. */
static void write_edited(struct ews_oid *whole, struct ews_entries *now, const struct ews_entries *was, size_t round)
{
	struct ews_oid was_tree, like;

	cr_assert_eq(ews_tree_write(&was_tree, batch, was), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	edit_list(now, was);
	cr_assert_eq(ews_tree_write_like(&like, batch, now, was, &was_tree), 0, "%s", ews_error_message());
	cr_assert_eq(ews_tree_write(whole, batch, now), 0);
	cr_assert(ews_oid_equal(&like, whole), "EWS_SEED=%zu round %zu", fixture_seed(), round);
}

Test(tree, one_like_another_is_the_one_that_is_written_whole)
{
	for (size_t round = 0; round < fixture_rounds(300); round++) {
		EWS_CLEANUP(entries) struct ews_entries was = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries now = EWS_ENTRIES_INIT;
		struct ews_oid whole;

		make_list(&was);
		write_edited(&whole, &now, &was, round);
	}
}

/* So much below so many directories that several threads write them; names of two of them differ by what sorts around a slash. */
static void make_long_list(struct ews_entries *list)
{
	static const char *const ends[] = { "", "\001", "-", ".c", "0" };
	size_t n = 200 + fixture_pick(2000), n_dirs = 1 + fixture_pick(30);

	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		size_t depth = fixture_pick(4);

		for (size_t k = 0; k < depth; k++) {
			ews_buf_addf(&path, "d%zu%s", fixture_pick(n_dirs), FIXTURE_ONE_OF(ends));
			ews_entries_add(list, path.ptr, path.len)->type = EWS_ENTRY_DIR;
			ews_buf_addc(&path, '/');
		}
		ews_buf_addf(&path, "%zu", fixture_pick(n));
		add(list, path.ptr, EWS_ENTRY_FILE, fixture_pick(4) ? 0644 : 0755);
	}
	ews_entries_unique(list);
}

/* What git makes of the list: the simple way. */
static void ask_git(struct ews_buf *out, const struct ews_entries *list)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	for (size_t i = 0; i < list->n; i++)
		if (ews_entry_fits_tree(&list->items[i])) {
			ews_buf_addf(&text, "%o %s\t%s", (unsigned)ews_entry_git_mode(&list->items[i]),
				     ews_oid_hex(hex, &list->items[i].oid), list->items[i].path);
			ews_buf_addc(&text, '\0');
		}
	cr_assert_eq(ews_file_replace(AT_FDCWD, "info", text.ptr, text.len, 0600), 0);
	fixture_ask(out, "cd repo && rm -f .git/index && git update-index -z --index-info <../info && "
			 "git write-tree --missing-ok");
	ews_buf_rtrim(out);
}

Test(tree, a_long_one_is_gits_however_many_threads_write_it, .timeout = 120)
{
	for (size_t round = 0; round < fixture_rounds(30); round++) {
		EWS_CLEANUP(entries) struct ews_entries was = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries now = EWS_ENTRIES_INIT;
		EWS_CLEANUP(buf) struct ews_buf gits = EWS_BUF_INIT;
		struct ews_oid whole;
		char hex[EWS_OID_HEX_MAX];

		make_long_list(&was);
		write_edited(&whole, &now, &was, round);
		ask_git(&gits, &now);
		cr_assert_str_eq(ews_oid_hex(hex, &whole), gits.ptr, "EWS_SEED=%zu round %zu", fixture_seed(), round);
	}
}

/* Is `listed` what the sorted `list`, of which no directory is empty, was written as? */
static void expect_listed(const struct ews_entries *listed, const struct ews_entries *list, bool with_ids,
			  size_t round)
{
	size_t at = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry *wanted = &list->items[i], *is = &listed->items[at];
		bool is_dir = wanted->type == EWS_ENTRY_DIR;

		cr_assert_lt(at++, listed->n);
		cr_assert_str_eq(is->path, wanted->path, "EWS_SEED=%zu round %zu", fixture_seed(), round);
		cr_assert_eq(is->type, wanted->type, "%s", is->path);
		cr_assert_eq(is->mode, is_dir ? 0755 : wanted->mode, "%s", is->path);
		cr_assert(is_dir ? ews_oid_is_none(&is->oid) != with_ids : ews_oid_equal(&is->oid, &wanted->oid));
	}
	cr_assert_eq(at, listed->n);
}

Test(tree, a_long_one_comes_back_however_many_threads_list_it, .timeout = 120)
{
	for (size_t round = 0; round < fixture_rounds(30); round++) {
		EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries plain = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries with_ids = EWS_ENTRIES_INIT;
		struct ews_oid root;

		make_long_list(&list);
		cr_assert_eq(ews_tree_write(&root, batch, &list), 0);
		cr_assert_eq(ews_batch_commit(batch), 0);
		cr_assert_eq(ews_tree_list(&plain, odb, &root), 0, "%s", ews_error_message());
		expect_listed(&plain, &list, false, round);
		cr_assert_eq(ews_tree_list_with_ids(&with_ids, odb, &root), 0, "%s", ews_error_message());
		expect_listed(&with_ids, &list, true, round);
	}
}

static int cmp_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The paths of two lists, those of directories among them, in the order of their bytes. The caller frees the array. */
static const char **mix_paths(size_t *n, const struct ews_entries *a, const struct ews_entries *b)
{
	const char **paths = ews_calloc(a->n + b->n, sizeof(*paths));

	*n = 0;
	for (size_t i = 0; i < a->n; i++)
		paths[(*n)++] = a->items[i].path;
	for (size_t i = 0; i < b->n; i++)
		paths[(*n)++] = b->items[i].path;
	qsort(paths, *n, sizeof(*paths), cmp_text);
	return paths;
}

Test(tree, what_is_found_in_it_is_what_its_list_has)
{
	size_t n_found = 0;

	for (size_t round = 0; round < fixture_rounds(300); round++) {
		EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries other = EWS_ENTRIES_INIT;
		EWS_CLEANUP(free) const char **paths = NULL;
		EWS_CLEANUP(free) struct ews_oid *found = NULL;
		struct ews_oid root;
		size_t n;

		make_list(&list);
		make_list(&other);
		cr_assert_eq(ews_tree_write(&root, batch, &list), 0);
		cr_assert_eq(ews_batch_commit(batch), 0);
		paths = mix_paths(&n, &list, &other);
		found = ews_calloc(n, sizeof(*found));
		cr_assert_eq(ews_tree_find(found, odb, &root, paths, n), 0, "%s", ews_error_message());
		for (size_t i = 0; i < n; i++) {
			const struct ews_entry *entry = ews_entries_find(&list, paths[i]);
			bool is_there = entry && ews_entry_fits_tree(entry);

			cr_assert(is_there ? ews_oid_equal(&found[i], &entry->oid) : ews_oid_is_none(&found[i]),
				  "%s, EWS_SEED=%zu round %zu", paths[i], fixture_seed(), round);
			n_found += is_there;
		}
	}
	cr_assert_gt(n_found, 0);
}

Test(tree, a_directory_is_found_by_its_slash)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	static const char *const paths[] = { "a", "a/", "a/b/", "a/b/c", "a/b/c/", "a/x/", "c/" };
	static const bool is_there[] = { false, true, true, true, false, false, false };
	struct ews_oid root, found[7];

	ews_entries_add(&list, "a", 1)->type = EWS_ENTRY_DIR;
	ews_entries_add(&list, "a/b", 3)->type = EWS_ENTRY_DIR;
	*ews_entries_add(&list, "a/b/c", 5) =
		(struct ews_entry){ .path = "a/b/c", .type = EWS_ENTRY_FILE, .mode = 0644 };
	cr_assert_eq(ews_batch_add(&list.items[2].oid, batch, EWS_OBJECT_BLOB, "c", 1), 0);
	cr_assert_eq(ews_tree_write(&root, batch, &list), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	cr_assert_eq(ews_tree_find(found, odb, &root, paths, 7), 0);
	for (size_t i = 0; i < 7; i++)
		cr_assert_eq(!ews_oid_is_none(&found[i]), is_there[i], "%s", paths[i]);
}

Test(tree, nothing_gives_the_empty_tree)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	struct ews_oid oid, empty;

	add(&list, "empty", EWS_ENTRY_DIR, 0755);
	cr_assert_eq(ews_tree_write(&oid, batch, &list), 0);
	ews_odb_empty_tree(&empty, odb);
	cr_assert(ews_oid_equal(&oid, &empty));
	cr_assert_eq(ews_batch_commit(batch), 0);
	cr_assert_eq(ews_tree_list(&list, odb, &oid), 0);
	cr_assert_eq(list.n, 1);
}

Test(tree, a_list_comes_back_in_the_order_of_a_walk)
{
	static const char *const dirs[] = { "a", "a/b", "a.d" };
	static const char *const files[] = { "a/b/c", "a.c", "a.d/x", "a0" };
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries back = EWS_ENTRIES_INIT;
	struct ews_entry *gitlink;
	struct ews_oid oid;

	for (size_t i = 0; i < 3; i++)
		add(&list, dirs[i], EWS_ENTRY_DIR, 0755);
	for (size_t i = 0; i < 4; i++)
		add(&list, files[i], EWS_ENTRY_FILE, i % 2 ? 0755 : 0644);
	gitlink = ews_entries_add(&list, "sub", 3);
	gitlink->type = EWS_ENTRY_GITLINK;
	gitlink->mode = 0755;
	cr_assert_eq(ews_oid_parse(&gitlink->oid, "1234567890123456789012345678901234567890"), 0);
	ews_entries_sort(&list);
	cr_assert_eq(ews_tree_write(&oid, batch, &list), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	cr_assert_eq(ews_tree_list(&back, odb, &oid), 0, "%s", ews_error_message());
	cr_assert_eq(back.n, list.n);
	for (size_t i = 0; i < back.n; i++) {
		cr_assert_str_eq(back.items[i].path, list.items[i].path);
		cr_assert(ews_entry_equal(&back.items[i], &list.items[i]), "%s", back.items[i].path);
	}
}

/* List a tree that has one file under `name`. */
static int list_hostile(const char *name)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	struct ews_tree_item item = { 0100644, name, EWS_OID_NONE };
	struct ews_oid oid;

	cr_assert_eq(ews_batch_add(&item.oid, batch, EWS_OBJECT_BLOB, "x", 1), 0);
	cr_assert_eq(ews_tree_write_flat(&oid, batch, &item, 1), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	return ews_tree_list(&list, odb, &oid);
}

Test(tree, names_that_lead_outside_are_refused)
{
	cr_assert_eq(list_hostile(".."), EWS_EDAMAGED);
	cr_assert_eq(list_hostile("."), EWS_EDAMAGED);
	cr_assert_eq(list_hostile(""), EWS_EDAMAGED);
	cr_assert_eq(list_hostile(".git"), EWS_EDAMAGED);
	cr_assert_eq(list_hostile(".GiT"), EWS_EDAMAGED);
	cr_assert_eq(list_hostile("../x"), EWS_EDAMAGED);
	cr_assert_eq(list_hostile("/etc"), EWS_EDAMAGED);
	cr_assert_eq(list_hostile(".gitignore"), 0);
}

Test(tree, a_name_that_comes_twice_is_refused)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	struct ews_tree_item items[2] = { { 0100644, "a", EWS_OID_NONE }, { 0040000, "a", EWS_OID_NONE } };
	struct ews_oid oid;

	cr_assert_eq(ews_batch_add(&items[0].oid, batch, EWS_OBJECT_BLOB, "x", 1), 0);
	cr_assert_eq(ews_batch_add(&items[1].oid, batch, EWS_OBJECT_TREE, "", 0), 0);
	cr_assert_eq(ews_tree_write_flat(&oid, batch, items, 2), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	cr_assert_eq(ews_tree_list(&list, odb, &oid), EWS_EDAMAGED);
}

Test(tree, a_tree_of_endless_depth_is_refused)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	struct ews_tree_item item = { 0100644, "a", EWS_OID_NONE };

	cr_assert_eq(ews_batch_add(&item.oid, batch, EWS_OBJECT_BLOB, "x", 1), 0);
	for (int i = 0; i < 3000; i++) {
		struct ews_oid oid;

		cr_assert_eq(ews_tree_write_flat(&oid, batch, &item, 1), 0);
		item.oid = oid;
		item.mode = 0040000;
	}
	cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
	cr_assert_eq(ews_tree_list(&list, odb, &item.oid), EWS_EUNSUPPORTED);
}

Test(tree, garbage_is_no_tree)
{
	static const char *const texts[] = { "x", "100644 a", "100644 a\0short",
					     "99 a\0"
					     "01234567890123456789",
					     " a\0"
					     "01234567890123456789" };
	static const size_t lens[] = { 1, 8, 14, 25, 23 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
		struct ews_oid oid;

		cr_assert_eq(ews_batch_add(&oid, batch, EWS_OBJECT_TREE, texts[i], lens[i]), 0);
		cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
		cr_assert_eq(ews_tree_list(&list, odb, &oid), EWS_EDAMAGED, "%zu", i);
	}
}
