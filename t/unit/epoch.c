/*
 * The epoch never goes down, whatever becomes of its file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/epoch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "fixture.h"
#include "work/start.h"

TestSuite(epoch, .init = fixture_begin_project, .fini = fixture_end_project);

static int64_t look(void)
{
	int64_t number = -1;

	cr_assert_eq(ews_epoch_look(&number, fixture_repo), 0, "%s", ews_error_message());
	return number;
}

Test(epoch, each_of_many_bumps_counts)
{
	int64_t before = look(), number;

	for (int i = 0; i < 8; i++) {
		if (fork())
			continue;
		for (int k = 0; k < 5; k++)
			if (ews_epoch_bump(&number, fixture_repo) != 0)
				_exit(1);
		_exit(0);
	}
	for (int status; wait(&status) > 0;)
		cr_assert_eq(status, 0);
	cr_assert_eq(look(), before + 40);
}

Test(epoch, a_file_cut_or_changed_anywhere_gives_no_lower_number)
{
	EWS_CLEANUP(start_result) struct ews_start_result made = EWS_START_RESULT_INIT;
	EWS_CLEANUP(buf) struct ews_buf whole = EWS_BUF_INIT;
	const struct ews_start_opts opts = { .id = "s", .uncommitted = -1, .untracked = -1 };
	int64_t known, number;

	for (int i = 0; i < 12; i++)
		cr_assert_eq(ews_epoch_bump(&known, fixture_repo), 0, "%s", ews_error_message());
	cr_assert_eq(ews_start(&made, fixture_repo, &opts), 0, "%s", ews_error_message());
	cr_assert_eq(made.session.state.epoch, known);
	cr_assert_eq(ews_file_read(&whole, fixture_repo->dir_fd, "epoch", EWS_MIB), 0);
	for (size_t i = 0; i < whole.len; i += 1 + fixture_pick(9)) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		bool is_cut = fixture_pick(2);

		ews_buf_add(&text, whole.ptr, is_cut ? i : whole.len);
		if (!is_cut)
			text.ptr[i] = (char)(text.ptr[i] ^ (1 + fixture_pick(255)));
		cr_assert_eq(ews_file_replace(fixture_repo->dir_fd, "epoch", text.ptr, text.len, 0600), 0);
		number = look();
		cr_assert_gt(number, known, "%s at %zu", is_cut ? "cut" : "changed", i);
		cr_assert_eq(look(), number);
	}
	cr_assert_eq(ews_file_replace(fixture_repo->dir_fd, "epoch", whole.ptr, whole.len, 0600), 0);
	cr_assert_eq(look(), known);
}
