/*
 * What an index names besides its entries: held against git, and against bytes that are made to hurt.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index_extensions.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "fixture.h"

static struct ews_odb *odb;

static void set_up(void)
{
	EWS_CLEANUP(free) char *git_dir = NULL;

	fixture_begin();
	fixture_shell(
		"git init -q -b main repo && cd repo && mkdir -p src/deep/er src.c other && for f in src/a src/deep/b"
		" src/deep/er/c src.c/d other/e top; do echo $f >$f || exit 1; done && git add . && git commit -q -m one");
	git_dir = ews_strfmt("%s/repo/.git", fixture_top());
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0, "%s", ews_error_message());
}

static void tear_down(void)
{
	ews_odb_free(odb);
	fixture_end();
}

TestSuite(index_extensions, .init = set_up, .fini = tear_down);

static void read_index(struct ews_index *out)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open("repo/.git");

	cr_assert_eq(ews_index_read(out, fd, "index", EWS_SHA1), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_refresh(odb), 0);
}

/* The id that `git rev-parse` gives for `spec`. */
static struct ews_oid id_of(const char *spec)
{
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	struct ews_oid oid;

	fixture_ask(&hex, "git -C repo rev-parse '%s'", spec);
	ews_buf_rtrim(&hex);
	cr_assert_eq(ews_oid_parse(&oid, hex.ptr), 0);
	return oid;
}

/* Which trees does the index name, as `git rev-parse HEAD^{tree}` is `head`? Each has its line. */
static void list(struct ews_buf *out, const struct ews_index *index, const struct ews_oid *head)
{
	EWS_CLEANUP(oids) struct ews_oids oids = EWS_OIDS_INIT;
	char hex[EWS_OID_HEX_MAX];

	ews_index_list_trees(&oids, index, odb, head);
	cr_assert_str_eq(ews_error_message(), "");
	for (size_t i = 0; i < oids.n; i++)
		ews_buf_addf(out, "%s\n", ews_oid_hex(hex, &oids.items[i]));
}

/* After `script` the index names these trees, that the commit `head` does not have: what `trees` prints. */
static void check(const char *script, const char *head, const char *trees)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf want = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;
	const struct ews_oid none = EWS_OID_NONE;
	struct ews_oid root;

	fixture_shell("cd repo && %s", script);
	fixture_ask(&want, "cd repo && %s", trees);
	read_index(&index);
	if (head)
		root = id_of(head);
	list(&got, &index, head ? &root : &none);
	cr_assert_str_eq(got.ptr, want.ptr, "%s", script);
}

Test(index_extensions, the_topmost_trees_that_head_does_not_have_are_listed)
{
	check("git status >out", "HEAD^{tree}", ":");
	check("echo 2 >src/deep/er/c && git add src && git write-tree >tree", "HEAD^{tree}", "cat tree");
	check("echo 2 >other/e && git update-index other/e", "HEAD^{tree}", "git rev-parse $(cat tree):src");
	check("echo 2 >src/a && git update-index src/a", "HEAD^{tree}", "git rev-parse $(cat tree):src/deep");
	check("git commit -q -m two", "HEAD^{tree}", ":");
	check("git status >out", "HEAD^^{tree}", "git rev-parse HEAD^{tree}");
	check("echo 3 >top && git update-index top", "HEAD^^{tree}", "git rev-parse HEAD:src HEAD:other");
	check("git reset -q --hard", NULL, "git rev-parse HEAD^{tree}");
}

Test(index_extensions, a_tree_that_is_not_whole_is_not_listed)
{
	check("git update-index --add --cacheinfo 100644,1234567890123456789012345678901234567890,src/gone &&"
	      " git write-tree --missing-ok >tree",
	      "HEAD^{tree}", ":");
	check("git update-index --add --cacheinfo 100644,$(git rev-parse HEAD),src/gone && git write-tree --missing-ok >tree",
	      "HEAD^{tree}", ":");
	check("git update-index --force-remove src/gone && git update-index --add --cacheinfo"
	      " 160000,1234567890123456789012345678901234567890,sub && git write-tree >tree",
	      "HEAD^{tree}", "cat tree");
	/* What HEAD has as well is not looked at: a partial clone may lack it. */
	check("rm .git/objects/$(git rev-parse HEAD:src.c | sed 's,^..,&/,')", "HEAD^{tree}", "cat tree");
	check(":", NULL, ":");
}

Test(index_extensions, all_of_the_topmost_trees_are_those_below_what_changed)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(oids) struct ews_oids oids = EWS_OIDS_INIT;
	EWS_CLEANUP(buf) struct ews_buf want = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	fixture_shell("cd repo && echo 2 >src/a && git update-index src/a");
	fixture_ask(&want, "git -C repo rev-parse HEAD:src/deep HEAD:other HEAD:src.c");
	read_index(&index);
	ews_index_list_all_trees(&oids, &index, EWS_SHA1);
	for (size_t i = 0; i < oids.n; i++)
		ews_buf_addf(&got, "%s\n", ews_oid_hex(hex, &oids.items[i]));
	cr_assert_str_eq(got.ptr, want.ptr);
}

static void damage(struct ews_buf *bytes)
{
	static const unsigned char values[] = { 0, '\n', ' ', '-', '0', '1', '9', 0xff };

	for (size_t i = 1 + fixture_pick(4); i; i--) {
		size_t at = fixture_pick(bytes->len);

		if (fixture_pick(4))
			bytes->ptr[at] = (char)FIXTURE_ONE_OF(values);
		else
			memmove(bytes->ptr + at / 2, bytes->ptr + at, bytes->len - at);
	}
	if (!fixture_pick(3))
		ews_buf_truncate(bytes, fixture_pick(bytes->len));
}

Test(index_extensions, damaged_ones_name_trees_that_are_there_or_nothing)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf whole = EWS_BUF_INIT;
	struct ews_oid head = id_of("HEAD^{tree}");

	fixture_shell(
		"cd repo && echo 2 >src/deep/er/c && echo 2 >other/e && git add . && git write-tree >tree && echo 3 >top && git add top");
	read_index(&index);
	ews_buf_add(&whole, index.trees.ptr, index.trees.len);
	for (size_t round = fixture_rounds_if_fast(3000); round; round--) {
		EWS_CLEANUP(oids) struct ews_oids oids = EWS_OIDS_INIT;
		EWS_CLEANUP(oids) struct ews_oids all = EWS_OIDS_INIT;

		ews_buf_truncate(&index.trees, 0);
		ews_buf_add(&index.trees, whole.ptr, whole.len);
		damage(&index.trees);
		ews_index_list_trees(&oids, &index, odb, &head);
		ews_index_list_all_trees(&all, &index, EWS_SHA1);
		cr_assert_leq(all.n * 20, index.trees.len);
		for (size_t i = 0; i < oids.n; i++) {
			enum ews_object_type type;

			cr_assert_eq(ews_odb_read_header(&type, NULL, odb, &oids.items[i]), 0);
			cr_assert_eq(type, EWS_OBJECT_TREE);
		}
	}
}

/* Say that there are `n` directories, or nodes, each in the one before (`is_deep`) or beside it. */
static void say_many(struct ews_buf *out, size_t n, bool is_deep)
{
	ews_buf_truncate(out, 0);
	ews_buf_add(out, "", 1);
	ews_buf_addf(out, "-1 %zu\n", is_deep ? (size_t)1 : n);
	while (n--) {
		ews_buf_add(out, "src", 4);
		ews_buf_addf(out, "-1 %d\n", is_deep);
	}
}

Test(index_extensions, neither_depth_nor_numbers_do_harm)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;
	struct ews_oid head = id_of("HEAD^{tree}");
	static const char *const lines[] = { "-1 18446744073709551615\n",
					     "-1 -1\n",
					     "-1 5\n",
					     "-99999999999999999999 1\n",
					     "1 0\n",
					     "1\n",
					     "\n",
					     "" };

	say_many(&index.trees, 1000000, true);
	list(&got, &index, &head);
	say_many(&index.trees, 1000000, false);
	list(&got, &index, &head);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		ews_buf_truncate(&index.trees, 0);
		ews_buf_add(&index.trees, "", 1);
		ews_buf_adds(&index.trees, lines[i]);
		list(&got, &index, &head);
	}
	cr_assert_str_eq(got.ptr, "");
}

Test(index_extensions, the_stages_of_resolved_conflicts_are_those_that_git_lists)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(oids) struct ews_oids oids = EWS_OIDS_INIT;
	EWS_CLEANUP(buf) struct ews_buf want = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf got = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf whole = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	fixture_shell(
		"cd repo && git checkout -q -b side && echo side >src/a && rm top && echo side >new && git add -A && git commit -q -m side &&"
		" git checkout -q main && echo main >src/a && echo main >top && echo main >new && git add . && git commit -q -m main &&"
		" ! git merge -q side >out && echo both >src/a && echo both >new && git add . && git ls-files --resolve-undo >out && test -s out");
	read_index(&index);
	ews_index_list_resolved(&oids, &index, EWS_SHA1);
	for (size_t i = 0; i < oids.n; i++)
		ews_buf_addf(&got, "%s\n", ews_oid_hex(hex, &oids.items[i]));
	fixture_ask(&want, "cut -d' ' -f2 repo/out");
	cr_assert_str_eq(got.ptr, want.ptr);
	ews_buf_add(&whole, index.resolve_undo.ptr, index.resolve_undo.len);
	for (size_t round = fixture_rounds_if_fast(3000); round; round--) {
		ews_oids_release(&oids);
		oids = (struct ews_oids)EWS_OIDS_INIT;
		ews_buf_truncate(&index.resolve_undo, 0);
		ews_buf_add(&index.resolve_undo, whole.ptr, whole.len);
		damage(&index.resolve_undo);
		ews_index_list_resolved(&oids, &index, EWS_SHA1);
		cr_assert_leq(oids.n * 20, index.resolve_undo.len);
	}
}
