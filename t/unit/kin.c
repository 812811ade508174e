/*
 * Kin: who descends from us is found, and ended, wherever it went.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/kin.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

TestSuite(kin, .timeout = 30);

/* A process that waits for its end; `depth` others below it, the last of them in a session of its own. */
static pid_t spawn(int depth, bool ignores)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid)
		return pid;
	if (ignores)
		(void)signal(SIGTERM, SIG_IGN);
	if (depth)
		(void)spawn(depth - 1, ignores);
	else
		(void)setsid();
	for (;;)
		(void)pause();
}

static void wait_for(size_t n, const struct ews_kin_list *before)
{
	size_t found = 0;

	while (found != n) {
		EWS_CLEANUP(kin_list) struct ews_kin_list list = EWS_KIN_LIST_INIT;

		ews_clock_sleep_ms(5);
		ews_kin_descendants(&list, before);
		found = list.n;
	}
}

Test(kin, we_are_who_we_are)
{
	struct ews_kin self, again;

	ews_kin_self(&self);
	ews_kin_self(&again);
	cr_assert_eq(self.pid, getpid());
	cr_assert_gt(self.start_time, 0);
	cr_assert_eq(self.start_time, again.start_time);
	cr_assert_eq(ews_kin_parent(self.pid), getppid());
}

Test(kin, another_is_not_we)
{
	struct ews_kin kin;

	ews_kin_self(&kin);
	cr_assert(ews_kin_is_self(&kin));
	kin.start_time++;
	cr_assert_not(ews_kin_is_self(&kin));
}

Test(kin, children_are_listed_without_theirs)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list none = EWS_KIN_LIST_INIT;
	EWS_CLEANUP(kin_list) struct ews_kin_list list = EWS_KIN_LIST_INIT;
	pid_t pid;

	ews_kin_children(&none);
	cr_assert_eq(none.n, 0);
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	pid = spawn(1, false);
	wait_for(2, NULL);
	ews_kin_children(&list);
	cr_assert_eq(list.n, 1);
	cr_assert_eq(list.items[0], pid);
	ews_kin_end(NULL, 1000);
}

Test(kin, a_list_is_read_as_it_was_printed)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list list = EWS_KIN_LIST_INIT;
	EWS_CLEANUP(kin_list) struct ews_kin_list none = EWS_KIN_LIST_INIT;
	EWS_CLEANUP(free) char *text = NULL;

	ews_kin_list_read(&list, "12,7,400");
	cr_assert_eq(list.n, 3);
	cr_assert_eq(list.items[1], 7);
	text = ews_kin_list_print(&list);
	cr_assert_str_eq(text, "12,7,400");
	ews_kin_list_read(&none, "");
	cr_assert_eq(none.n, 0);
}

Test(kin, descendants_are_found_and_ended)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list before = EWS_KIN_LIST_INIT;
	EWS_CLEANUP(kin_list) struct ews_kin_list list = EWS_KIN_LIST_INIT;
	pid_t older = spawn(0, false), pid;

	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	wait_for(1, NULL);
	ews_kin_descendants(&before, NULL);
	cr_assert_eq(before.n, 1);
	pid = spawn(2, true);
	wait_for(3, &before);
	ews_kin_descendants(&list, &before);
	cr_assert_eq(list.items[0], pid);
	/* Its children become ours, and are ended all the same. */
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	wait_for(2, &before);
	ews_kin_end(&before, 100);
	wait_for(0, &before);
	cr_assert_eq(kill(older, 0), 0);
	cr_assert_eq(kill(older, SIGKILL), 0);
}
