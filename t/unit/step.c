/*
 * Steps: their records are read as they were written, and one that is damaged is in nobody's way.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/step.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"

TestSuite(step, .init = fixture_begin_dir, .fini = fixture_end_dir);

static void add_random(struct ews_strv *list)
{
	static const char *const lines[] = { "a\tf0",     "x y\tf1", "\xff\x80\tf2",
					     "\\012\tu3", "q\"\tf4", "\xc3\xa9\tf5" };

	for (size_t n = fixture_pick(4); n; n--)
		ews_strv_add(list, FIXTURE_ONE_OF(lines));
}

/* Records of older versions don't say where. */
static void place_at_random(struct ews_step *step)
{
	static const char *const paths[] = { "/a b", "/\xff\x80", "/\xc3\xa9\\303" };
	static const char *const names[] = { "", "worktrees/lw", "worktrees/\xe9" };

	if (*step->session || !fixture_pick(4))
		return;
	step->project = ews_strdup(FIXTURE_ONE_OF(paths));
	step->worktree = ews_strdup(FIXTURE_ONE_OF(names));
	step->worktree_mark = fixture_pick(2) ? ews_strdup("1795000000.000000001 1795000000") : NULL;
}

static void make_random(struct ews_step *step)
{
	cr_assert_eq(ews_step_init(step, fixture_fd, "revert", fixture_pick(2) ? "qe-1" : NULL), 0);
	place_at_random(step);
	add_random(&step->moved);
	add_random(&step->moving);
	add_random(&step->stays);
	add_random(&step->branches);
	add_random(&step->branches_moving);
	add_random(&step->refs);
	add_random(&step->paths);
	step->state = EWS_STEP_PLANNED + fixture_pick(5);
	step->undo_sequence = fixture_pick(3);
	step->redo_sequence = fixture_pick(3);
	step->redone_after = step->redo_sequence ? fixture_pick(30) : 0;
}

static void assert_same_text(const char *a, const char *b)
{
	cr_assert_eq(!a, !b);
	if (a)
		cr_assert_str_eq(a, b);
}

static void assert_same_list(const struct ews_strv *a, const struct ews_strv *b)
{
	cr_assert_eq(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		cr_assert_str_eq(a->items[i], b->items[i]);
}

Test(step, a_step_that_is_written_is_read_again)
{
	for (size_t round = 0; round < fixture_rounds(40); round++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
		EWS_CLEANUP(step) struct ews_step back = EWS_STEP_INIT;

		make_random(&step);
		cr_assert_eq(step.sequence, round + 1);
		cr_assert_eq(ews_step_write(fixture_fd, &step), 0, "%s", ews_error_message());
		cr_assert_eq(ews_step_read(&back, fixture_fd, step.id), 0, "%s", ews_error_message());
		cr_assert_str_eq(back.id, step.id);
		cr_assert_str_eq(back.verb, step.verb);
		cr_assert_str_eq(back.session, step.session);
		assert_same_text(back.project, step.project);
		assert_same_text(back.worktree, step.worktree);
		assert_same_text(back.worktree_mark, step.worktree_mark);
		cr_assert_eq(back.state, step.state);
		cr_assert_eq(back.sequence, step.sequence);
		cr_assert_eq(back.undo_sequence, step.undo_sequence);
		cr_assert_eq(back.redo_sequence, step.redo_sequence);
		cr_assert_eq(back.redone_after, step.redone_after);
		cr_assert_eq(back.created_s, step.created_s);
		assert_same_list(&back.moved, &step.moved);
		assert_same_list(&back.moving, &step.moving);
		assert_same_list(&back.stays, &step.stays);
		assert_same_list(&back.branches, &step.branches);
		assert_same_list(&back.branches_moving, &step.branches_moving);
		assert_same_list(&back.refs, &step.refs);
		assert_same_list(&back.paths, &step.paths);
	}
}

/* Have the record `id` be `as`, of sequence `sequence`. */
static void make_another(const char *id, const char *as, int sequence)
{
	fixture_shell("sed 's/%s/%s/;s/\"sequence\":\t[0-9]*/\"sequence\":\t%d/' undo/%s.json >undo/%s.json", id,
		      as, sequence, id, as);
}

Test(step, a_clock_that_was_set_back_changes_no_order)
{
	EWS_CLEANUP(step) struct ews_step first = EWS_STEP_INIT;
	uint64_t last = 41;

	make_random(&first);
	cr_assert_eq(ews_step_write(fixture_fd, &first), 0);
	make_another(first.id, "op-20990101-000000-000000", 40);
	make_another(first.id, "op-20990101-000000-000001", (int)last);
	make_another(first.id, "op-20990101-000000-000002", 39);
	for (size_t round = 0; round < 5; round++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		make_random(&step);
		cr_assert(!strncmp(step.id, "op-20990101-000000-", 19), "%s", step.id);
		cr_assert_eq(step.sequence, ++last);
		cr_assert_eq(ews_step_write(fixture_fd, &step), 0, "%s", ews_error_message());
	}
}

/* Though the last record can't be read: when it can again, it is not after those that came since. */
Test(step, nor_does_one_whose_last_record_can_not_be_read)
{
	EWS_CLEANUP(step) struct ews_step first = EWS_STEP_INIT;
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

	make_random(&first);
	cr_assert_eq(ews_step_write(fixture_fd, &first), 0);
	fixture_shell("echo '{' >undo/op-20990101-000000-abcdef.json");
	make_random(&step);
	cr_assert(!strncmp(step.id, "op-20990101-000000-", 19), "%s", step.id);
	cr_assert_eq(step.sequence, 2);
}

/* Who began before others may have written his record after them, and before the clock was set back. */
Test(step, the_last_is_found_behind_one_that_was_late)
{
	EWS_CLEANUP(step) struct ews_step first = EWS_STEP_INIT;
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

	make_random(&first);
	cr_assert_eq(ews_step_write(fixture_fd, &first), 0);
	make_another(first.id, "op-20990101-000000-000000", 2);
	make_another(first.id, "op-20990101-000000-000001", 3);
	make_another(first.id, "op-20990101-000001-000000", 2);
	make_random(&step);
	cr_assert_eq(step.sequence, 4);
}

/* A project has thousands of them. */
Test(step, old_records_are_not_read_for_a_new_one)
{
	EWS_CLEANUP(step) struct ews_step first = EWS_STEP_INIT;
	EWS_CLEANUP(step) struct ews_step second = EWS_STEP_INIT;
	char id[64];

	make_random(&first);
	cr_assert_eq(ews_step_write(fixture_fd, &first), 0);
	make_another(first.id, "op-20200101-000000-000000", 1000);
	for (int i = 0; i < 10; i++) {
		snprintf(id, sizeof(id), "op-20990101-00000%d-000000", i);
		make_another(first.id, id, i + 2);
	}
	make_another(first.id, "op-2099", 1001);
	make_another(first.id, "op-20990101-000000-00000g", 1002);
	make_random(&second);
	cr_assert_eq(second.sequence, 12);
}

Test(step, a_record_that_is_damaged_does_not_stand_in_the_way_of_the_next)
{
	EWS_CLEANUP(step) struct ews_step first = EWS_STEP_INIT;
	EWS_CLEANUP(step) struct ews_step second = EWS_STEP_INIT;
	EWS_CLEANUP(step) struct ews_step read = EWS_STEP_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;

	make_random(&first);
	cr_assert_eq(ews_step_write(fixture_fd, &first), 0);
	fixture_shell("echo '{' >undo/op-20200101-000000-abcdef.json; touch undo/x undo/op-.json");
	fixture_shell("sed 's/\"version\":[ \t]*[0-9]*/\"version\": 99/' undo/%s.json"
		      ">undo/op-20300101-000000-abcdef.json",
		      first.id);
	cr_assert_eq(ews_step_init(&second, fixture_fd, "end", NULL), 0, "%s", ews_error_message());
	cr_assert_eq(second.sequence, 2);
	cr_assert_eq(ews_step_list(&ids, fixture_fd), 0);
	cr_assert_eq(ids.n, 3);
	cr_assert_eq(ews_step_read(&read, fixture_fd, "op-20200101-000000-abcdef"), EWS_EDAMAGED);
	cr_assert_eq(ews_step_read(&read, fixture_fd, "op-20300101-000000-abcdef"), EWS_EUNSUPPORTED);
	cr_assert_eq(ews_step_read(&read, fixture_fd, "op-20400101-000000-abcdef"), EWS_ENOTFOUND);
	fixture_shell("mv undo/%s.json undo/op-1.json", first.id);
	cr_assert_eq(ews_step_read(&read, fixture_fd, "op-1"), EWS_EDAMAGED);
}

Test(step, an_id_never_becomes_a_path)
{
	static const char *const ids[] = { "", "../x", "op-../../x", "op-a/b", "op-A", "op-.", "x", "op-1\n" };
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		cr_assert_eq(ews_step_read(&step, fixture_fd, ids[i]), EWS_EDAMAGED, "%s", ids[i]);
		cr_assert_eq(ews_step_remove(fixture_fd, ids[i]), EWS_EDAMAGED, "%s", ids[i]);
	}
	cr_assert_eq(ews_step_remove(fixture_fd, "op-1"), 0);
}

/* What a line says becomes of it; `payload` gets those that were handed over. */
static int do_as_told(const char *line, void *payload)
{
	ews_strv_add(payload, line);
	if (!strncmp(line, "gone", 4))
		return ews_error(EWS_ENOTFOUND, "%s", line);
	return strcmp(line, "full") ? 0 : ews_error(EWS_ENOSPACE, "the disk is full");
}

Test(step, a_line_whose_thing_is_gone_keeps_none_of_the_others)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv done = EWS_STRV_INIT;

	ews_strv_add_all(&lines, "a", "gone 1", "b", "gone 2", "c", NULL);
	cr_assert_eq(ews_step_each(&lines, do_as_told, &done), EWS_ENOTFOUND);
	cr_assert_str_eq(ews_error_message(), "gone 1");
	assert_same_list(&done, &lines);
	ews_strv_clear(&done);
	ews_strv_add_all(&lines, "full", "d", NULL);
	cr_assert_eq(ews_step_each(&lines, do_as_told, &done), EWS_ENOSPACE);
	cr_assert_eq(done.n, lines.n - 1);
	ews_strv_clear(&lines);
	cr_assert_eq(ews_step_each(&lines, do_as_told, &done), 0);
}
