/*
 * Records that are made without git are those that git would print, byte for byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/diff_count.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"

TestSuite(diff_count, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static struct ews_odb *open_odb(const char *name)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/%s/.git", fixture_top(), name);
	struct ews_odb *odb = NULL;

	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0, "%s", ews_error_message());
	return odb;
}

static const char *id_of(char hex[EWS_OID_HEX_MAX], const struct ews_oid *oid)
{
	if (!ews_oid_is_none(oid))
		return ews_oid_hex(hex, oid);
	memset(hex, '0', 40);
	hex[40] = '\0';
	return hex;
}

/* As `git diff --raw --numstat -z --no-abbrev` prints them. */
static void print(struct ews_buf *out, const struct ews_diff_record *items, size_t n)
{
	char from[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];

	for (size_t i = 0; i < n; i++) {
		ews_buf_addf(out, ":%06o %06o %s %s %c", items[i].old_mode, items[i].new_mode,
			     id_of(from, &items[i].old_oid), id_of(to, &items[i].new_oid), items[i].status);
		ews_buf_addc(out, '\0');
		ews_buf_add(out, items[i].path, strlen(items[i].path) + 1);
	}
	for (size_t i = 0; i < n; i++) {
		if (items[i].is_binary)
			ews_buf_adds(out, "-\t-\t");
		else
			ews_buf_addf(out, "%" PRIu64 "\t%" PRIu64 "\t", items[i].lines_added, items[i].lines_deleted);
		ews_buf_add(out, items[i].path, strlen(items[i].path) + 1);
	}
}

/* Compare the last two commits of `name` with what git says of them. Returns what ews_diff_count() does. */
static int compare(const char *name, bool no_renames)
{
	EWS_CLEANUP(odb) struct ews_odb *odb = open_odb(name);
	EWS_CLEANUP(tree_differences) struct ews_tree_differences differences = EWS_TREE_DIFFERENCES_INIT;
	const struct ews_diff_count_opts opts = { .no_renames = no_renames };
	struct ews_diff_record *items = NULL;
	struct ews_oid from, to;
	size_t n = 0;
	int rc;

	cr_assert_eq(ews_odb_resolve(&from, odb, "HEAD^^{tree}"), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_resolve(&to, odb, "HEAD^{tree}"), 0, "%s", ews_error_message());
	cr_assert_eq(ews_tree_compare(&differences, odb, &from, &to), 0, "%s", ews_error_message());
	rc = ews_diff_count(&items, &n, odb, &differences, &opts);
	if (rc == 1) {
		EWS_CLEANUP(buf) struct ews_buf is = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf should = EWS_BUF_INIT;

		print(&is, items, n);
		fixture_ask(&should, "cd %s && git diff --raw --numstat -z --no-abbrev %s HEAD^ HEAD", name,
			    no_renames ? "--no-renames" : "-M");
		cr_assert(is.len == should.len && !memcmp(is.ptr, should.ptr, is.len),
			  "EWS_SEED=%zu: here '%s', with git '%s'", fixture_seed(), is.ptr, should.ptr);
		ews_diff_records_free(items, n);
	}
	return rc;
}

static void commit(const char *name)
{
	fixture_shell("cd %s && git add -A && git commit -q --allow-empty -m x", name);
}

static void rewrite(int fd, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t n = fixture_pick(30); n; n--)
		ews_buf_addf(&text, "%zu\n", fixture_pick(4));
	if (fixture_pick(8) == 0)
		ews_buf_addc(&text, '\0');
	fixture_write(fd, path, text.ptr, text.len);
}

/* Change files; make new ones, or remove some, but not both. */
static void edit_without_renames(int fd)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	size_t kind = fixture_pick(3);

	fixture_list_tree(&list, fd, true);
	for (size_t i = 0; i < list.n; i++) {
		const struct ews_entry *entry = &list.items[i];

		if (entry->type != EWS_ENTRY_FILE)
			continue;
		if (kind == 1 && fixture_pick(5) == 0)
			cr_assert_eq(unlinkat(fd, entry->path, 0), 0);
		else if (fixture_pick(5) == 0)
			cr_assert_eq(fchmodat(fd, entry->path, entry->mode ^ 0111, 0), 0);
		else if (fixture_pick(3) == 0)
			rewrite(fd, entry->path);
	}
	for (size_t n = kind == 2 ? fixture_pick(6) : 0; n; n--) {
		EWS_CLEANUP(free) char *name = ews_strfmt("new%c%zu", "-./0"[fixture_pick(2)], fixture_pick(1000));

		rewrite(fd, name);
	}
}

Test(diff_count, records_are_those_of_git)
{
	size_t rounds = fixture_rounds(12), n_done = 0;

	for (size_t round = 0; round < rounds; round++) {
		EWS_CLEANUP(fd) int fd = -1;

		fixture_shell("chmod -R u+w p 2>/dev/null; rm -rf p && git init -q p");
		fd = fixture_open_dir("p");
		fixture_make_tree(fd, 0);
		commit("p");
		if (round % 3)
			edit_without_renames(fd);
		else
			fixture_edit_tree(fd, 0);
		commit("p");
		n_done += compare("p", false) == 1;
		n_done += compare("p", true) == 1;
	}
	cr_assert_geq(n_done, rounds, "hardly any was made without git: %zu of %zu", n_done, 2 * rounds);
}

Test(diff_count, names_stand_in_the_order_of_git)
{
	fixture_shell(
		"git init -q p && cd p && mkdir -p a x/y && echo 1 >a.c && echo 1 >a/b && echo 1 >a0 && echo 1 >x/y/z");
	commit("p");
	fixture_shell("cd p && for f in a.c a/b a0 x/y/z; do echo 2 >>$f; done && echo 1 >a- && mkdir a.d x.y &&"
		      "echo 1 >a.d/e && echo 1 >x.y/e && printf 'no newline' >\"a/$(printf '\\377')\"");
	commit("p");
	cr_assert_eq(compare("p", false), 1);
}

Test(diff_count, modes_and_links_count_as_with_git)
{
	fixture_shell("git init -q p && cd p && seq 9 >text && printf 'a\\0b' >bin && ln -s to link && : >empty");
	commit("p");
	fixture_shell("cd p && chmod +x text bin empty && ln -sfn elsewhere link");
	commit("p");
	cr_assert_eq(compare("p", false), 1);
}

Test(diff_count, renames_types_and_repositories_are_left_to_git)
{
	fixture_shell("git init -q p && cd p && seq 9 >a && seq 20 >b");
	commit("p");
	fixture_shell("cd p && git mv a c");
	commit("p");
	cr_expect_eq(compare("p", false), 0);
	cr_expect_eq(compare("p", true), 1);
	fixture_shell("cd p && ln -sf a b");
	commit("p");
	cr_expect_eq(compare("p", true), 0);
	fixture_shell(
		"cd p && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && git commit -q -m x");
	cr_expect_eq(compare("p", true), 0);
}

Test(diff_count, what_cannot_be_read_is_left_to_git)
{
	fixture_shell("git init -q p && cd p && seq 9 >a");
	commit("p");
	fixture_shell("cd p && seq 10 >a");
	commit("p");
	fixture_shell(
		"cd p && id=$(git rev-parse HEAD:a) && rm -f .git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-)");
	cr_expect_eq(compare("p", false), 0);
}
