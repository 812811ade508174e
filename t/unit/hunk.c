/*
 * Hunks: what comes of some of them, of parts, and of what was edited is what git apply makes of their text.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/hunk.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "fixture.h"
#include "work/hunk_edit.h"

TestSuite(hunk, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

/* A text that changed from one commit to the next, and its hunks. */
struct world {
	struct ews_repo *repo;
	struct ews_batch *batch;
	struct ews_diff diff;
	struct ews_changes changes;
	struct ews_hunks hunks;
};

static void release_world(struct world *world)
{
	ews_hunks_release(&world->hunks);
	ews_changes_release(&world->changes);
	ews_diff_release(&world->diff);
	ews_batch_free(world->batch);
	ews_repo_free(world->repo);
}

EWS_CLEANUP_DEFINE(world, struct world, release_world)

#define WORLD_INIT { .diff = EWS_DIFF_INIT, .changes = EWS_CHANGES_INIT, .hunks = EWS_HUNKS_INIT }

/* A few words over and over, so that a line is found in many places; the last one may lack its newline. */
static void add_line(struct ews_buf *text)
{
	static const char *const words[] = { "a", "b", "", "-", "+c", "@@ -1", "# no", "\\ no", "\r", "\t d" };

	ews_buf_addf(text, "%s\n", FIXTURE_ONE_OF(words));
}

static void write_texts(void)
{
	EWS_CLEANUP(buf) struct ews_buf before = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf after = EWS_BUF_INIT;

	for (size_t n = 20 + fixture_pick(40), line = 0; line < n; line++) {
		size_t at = before.len;

		add_line(&before);
		if (fixture_pick(6))
			ews_buf_add(&after, before.ptr + at, before.len - at);
		while (!fixture_pick(6))
			add_line(&after);
	}
	add_line(&after);
	if (fixture_pick(2))
		ews_buf_truncate(&before, before.len - 1);
	if (fixture_pick(2))
		ews_buf_truncate(&after, after.len - 1);
	fixture_write(AT_FDCWD, "old", before.ptr, before.len);
	fixture_write(AT_FDCWD, "new", after.ptr, after.len);
}

static struct ews_hunk_file *make_world(struct world *world)
{
	EWS_CLEANUP(free) char *home = ews_path_join(fixture_top(), "home");

	write_texts();
	fixture_shell(
		"rm -rf p && git init -q p && cp old p/f && git -C p add f && git -C p commit -qm 1 && cp new p/f && "
		"chmod 755 p/f && git -C p commit -qam 2");
	cr_assert_eq(ews_repo_open(&world->repo, "p", home, EWS_REPO_MAKE_NONE), 0);
	cr_assert_eq(ews_diff_sides(&world->diff, world->repo, NULL, "HEAD^", "HEAD"), 0, "%s", ews_error_message());
	ews_changes_between(&world->changes, &world->diff.from.content.scan.entries,
			    &world->diff.to.content.scan.entries, ews_entry_equal);
	cr_assert_eq(world->changes.n, 1, "EWS_SEED=%zu", fixture_seed());
	ews_hunks_list(&world->hunks, world->repo, &world->diff, &world->changes);
	cr_assert_eq(ews_hunks_load(&world->hunks, &world->hunks.items[0]), 0, "%s", ews_error_message());
	world->batch = ews_batch_new(world->repo->odb);
	return &world->hunks.items[0];
}

/* What comes of the wanted ones is the file `name`. */
static void expect_file(struct world *world, const char *name, const char *what)
{
	struct ews_entry entry;
	EWS_CLEANUP(buf) struct ews_buf is = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf should = EWS_BUF_INIT;

	cr_assert_eq(ews_hunk_file_take(&entry, &world->hunks.items[0], world->repo->odb, world->batch), 0, "%s",
		     ews_error_message());
	cr_assert_eq(ews_batch_commit(world->batch), 0);
	cr_assert_eq(ews_odb_refresh(world->repo->odb), 0);
	cr_assert_eq(ews_odb_read(&is, NULL, world->repo->odb, &entry.oid), 0, "%s", ews_error_message());
	fixture_ask(&should, "cat %s", name);
	cr_assert(is.len == should.len && (!is.len || !memcmp(is.ptr, should.ptr, is.len)),
		  "EWS_SEED=%zu: %s gives\n%s", fixture_seed(), what, is.ptr ? is.ptr : "");
}

/* The file `want` is what git makes of this text of a hunk. Where no other goes before it both numbers are the same. */
static void apply_by_git(const char *text, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf patch = EWS_BUF_INIT;
	unsigned long line = strtoul(text + strlen("@@ -"), NULL, 10);
	const char *body = (const char *)memchr(text, '\n', len);

	ews_buf_addf(&patch, "diff --git a/want b/want\n--- a/want\n+++ b/want\n@@ -%lu,1 +%lu,1 @@", line, line);
	ews_buf_add(&patch, body, len - (size_t)(body - text));
	fixture_write(AT_FDCWD, "patch", patch.ptr, patch.len);
	fixture_shell("cp old want && git apply --recount --whitespace=nowarn patch");
}

static void want(struct ews_hunk_file *file, size_t from, size_t to)
{
	for (size_t i = 0; i < file->n; i++)
		file->items[i].is_wanted = i >= from && i < to;
}

static void split_some(struct ews_hunk_file *file)
{
	for (size_t at = 0; at < file->n; at++) {
		size_t n = file->n, parts = ews_hunk_parts(file, at);

		if (parts < 2 || !fixture_pick(3))
			continue;
		ews_hunk_split(file, at);
		cr_assert_eq(file->n, n + parts - 1);
		cr_assert_eq(ews_hunk_parts(file, at), 1);
	}
}

Test(hunk, each_alone_is_what_git_makes_of_it_and_all_are_the_whole)
{
	for (size_t round = 0; round < fixture_rounds(6); round++) {
		EWS_CLEANUP(world) struct world world = WORLD_INIT;
		struct ews_hunk_file *file = make_world(&world);

		split_some(file);
		want(file, 0, 0);
		expect_file(&world, "old", "none");
		want(file, 0, file->n);
		expect_file(&world, "new", "all");
		cr_assert(ews_hunk_file_is_all(file));
		for (size_t i = 0; i < file->n; i++) {
			want(file, i, i + 1);
			apply_by_git(file->items[i].text, file->items[i].len);
			expect_file(&world, "want", file->items[i].text);
		}
	}
}

/* Keep some lines that would go, leave out some that would come, and add some where there are changes. */
static void edit(struct ews_buf *out, const struct ews_hunk *hunk)
{
	const char *end = hunk->text + hunk->len;
	bool is_left_out = false;

	for (const char *at = hunk->text, *next; at < end; at = next) {
		next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
		/* What stands behind a line of the file goes with it. */
		if (*at == '\\' && is_left_out)
			continue;
		is_left_out = *at == '+' && !fixture_pick(3);
		if (is_left_out)
			continue;
		if (*at == '-' && next < end && *next == '-' && !fixture_pick(3))
			ews_buf_addc(out, ' ');
		else
			ews_buf_addc(out, *at);
		ews_buf_add(out, at + 1, (size_t)(next - at) - 1);
		if (*at == '-' && next < end && *next != '\\' && !fixture_pick(4))
			ews_buf_adds(out, "+more\n");
	}
}

Test(hunk, an_edited_one_is_what_git_makes_of_it)
{
	for (size_t round = 0; round < fixture_rounds(6); round++) {
		EWS_CLEANUP(world) struct world world = WORLD_INIT;
		struct ews_hunk_file *file = make_world(&world);
		size_t at;
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		split_some(file);
		at = fixture_pick(file->n);
		edit(&text, &file->items[at]);
		want(file, at, at + 1);
		apply_by_git(text.ptr, text.len);
		cr_assert(ews_hunk_edit(file, at, text.ptr, text.len), "EWS_SEED=%zu:\n%s", fixture_seed(), text.ptr);
		expect_file(&world, "want", text.ptr);
		cr_assert(!ews_hunk_file_is_all(file));
	}
}

Test(hunk, lines_that_the_text_lacks_do_not_apply)
{
	static const char *const bad[] = { "+only\n", " nowhere\n+x\n", "-nowhere\n", "x\n",
					   "\\ No newline at end of file\n" };
	EWS_CLEANUP(world) struct world world = WORLD_INIT;
	struct ews_hunk_file *file = make_world(&world);
	struct ews_hunk was = file->items[0];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert(!ews_hunk_edit(file, 0, bad[i], strlen(bad[i])), "%s", bad[i]);
	cr_assert(was.text == file->items[0].text && !file->items[0].is_edited);
}
