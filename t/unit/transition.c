/*
 * Transitions: there, back and there again, and it is what it was each time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "fixture.h"
#include "fixture_session.h"
#include "work/session_open.h"
#include "work/undo.h"

#define KINDS (FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_MODES | FIXTURE_ODD_NAMES | FIXTURE_IGNORES)

TestSuite(transition, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

/* All but the link to the store, which is never what a person made. */
static void list_workspace(struct ews_entries *out, const char *path)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(path);

	ews_entries_release(out);
	fixture_list_tree(out, fd, false);
}

static bool is_equal_with_size(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b) && a->size == b->size;
}

static int undo(struct ews_repo *repo, const char *id, bool redo)
{
	EWS_CLEANUP(undo_result) struct ews_undo_result result = EWS_UNDO_RESULT_INIT;

	return ews_undo(&result, repo, id, &(struct ews_undo_opts){ .redo = redo });
}

Test(transition, revert_undo_and_redo_lead_there_and_back_again)
{
	for (size_t round = 0; round < fixture_rounds(4); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("p%zu", round);
		EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project(name, KINDS);
		EWS_CLEANUP(free) char *path = fixture_start(repo, "s");
		EWS_CLEANUP(entries) struct ews_entries base = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries edited = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries now = EWS_ENTRIES_INIT;
		EWS_CLEANUP(fd) int fd = fixture_open_dir(path);

		list_workspace(&base, path);
		fixture_edit_tree(fd, KINDS);
		fixture_stage(path);
		list_workspace(&edited, path);
		fixture_revert(repo, "s", (struct ews_revert_opts){ .full = fixture_pick(2) });
		list_workspace(&now, path);
		fixture_assert_same(&now, &base, is_equal_with_size, "reverted");
		if (undo(repo, "s", false) < 0) {
			/* By chance nothing was edited. */
			fixture_assert_same(&edited, &base, ews_entry_equal, ews_error_message());
			continue;
		}
		list_workspace(&now, path);
		fixture_assert_same(&now, &edited, is_equal_with_size, "undone");
		cr_assert_eq(undo(repo, "s", true), 0, "EWS_SEED=%zu: %s", fixture_seed(), ews_error_message());
		list_workspace(&now, path);
		fixture_assert_same(&now, &base, is_equal_with_size, "done again");
		cr_assert_eq(undo(repo, "s", false), 0, "EWS_SEED=%zu: %s", fixture_seed(), ews_error_message());
		list_workspace(&now, path);
		fixture_assert_same(&now, &edited, is_equal_with_size, "undone again");
		fixture_shell("git -C '%s' fsck --strict --no-dangling >fsck 2>&1 || { cat fsck >&2; false; }", name);
	}
}

Test(transition, paths_that_are_not_named_stay_as_they_are)
{
	for (size_t round = 0; round < fixture_rounds(4); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("p%zu", round);
		EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project(name, 0);
		EWS_CLEANUP(free) char *path = fixture_start(repo, "s");
		EWS_CLEANUP(entries) struct ews_entries base = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries edited = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries now = EWS_ENTRIES_INIT;
		EWS_CLEANUP(fd) int fd = fixture_open_dir(path);
		const char *only[3] = { NULL, NULL, NULL };

		list_workspace(&base, path);
		fixture_edit_tree(fd, 0);
		list_workspace(&edited, path);
		for (size_t i = 0; i < 2; i++) {
			const struct ews_entries *list = fixture_pick(2) ? &base : &edited;
			const char *chosen = list->n ? list->items[fixture_pick(list->n)].path : "x";

			/* At the top, so that nothing above it must change its type. */
			only[i] = ews_strndup(chosen, strcspn(chosen, "/"));
		}
		fixture_revert(repo, "s", (struct ews_revert_opts){ .only = only });
		list_workspace(&now, path);
		for (size_t side = 0; side < 3; side++) {
			const struct ews_entries *list = side == 0 ? &base : side == 1 ? &edited : &now;

			for (size_t i = 0; i < list->n; i++) {
				const char *at = list->items[i].path;
				bool is_named = ews_path_is_inside(at, only[0]) || ews_path_is_inside(at, only[1]);
				const struct ews_entry *should = ews_entries_find(is_named ? &base : &edited, at);
				const struct ews_entry *is = ews_entries_find(&now, at);

				cr_assert((!is && !should) || (is && should && ews_entry_equal(is, should)),
					  "EWS_SEED=%zu: '%s'", fixture_seed(), at);
			}
		}
		free((char *)only[0]);
		free((char *)only[1]);
	}
}

Test(transition, a_dry_run_changes_nothing)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project("p", KINDS);
	EWS_CLEANUP(free) char *path = fixture_start(repo, "s");
	EWS_CLEANUP(entries) struct ews_entries before = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries after = EWS_ENTRIES_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(revert_result) struct ews_revert_result result = EWS_REVERT_RESULT_INIT;
	const struct ews_revert_opts opts = { .verb = "revert", .dry_run = true };
	EWS_CLEANUP(fd) int fd = fixture_open_dir(path);

	fixture_edit_tree(fd, KINDS);
	list_workspace(&before, path);
	fixture_shell(
		"git -C p for-each-ref >refs; find home/working/p -type f ! -path '*/locks/*' ! -name cache ! -name base | sort >ours");
	cr_assert_eq(ews_session_open(&session, repo, "s"), 0);
	cr_assert_eq(ews_revert(&result, &session, &opts), 0, "%s", ews_error_message());
	cr_assert_null(result.undo);
	list_workspace(&after, path);
	fixture_assert_same(&after, &before, ews_entry_equal, "dry run");
	fixture_shell(
		"git -C p for-each-ref | cmp - refs && find home/working/p -type f ! -path '*/locks/*' ! -name cache ! -name base |"
		"sort | diff ours - >&2");
}
