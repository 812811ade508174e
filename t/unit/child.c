/*
 * A child that is asked again and again answers, complains beside, and ends when it is let go.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/child.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

static struct ews_child *open_script(const char *script)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct ews_child *child = NULL;

	cr_assert_eq(ews_child_open(&child, &(struct ews_proc){ .argv = argv }), 0, "%s", ews_error_message());
	return child;
}

static void ask(struct ews_child *child, const char *question)
{
	cr_assert_eq(ews_child_ask(child, question, strlen(question)), 0, "%s", ews_error_message());
}

/* The next line it says, which must be `want`. */
static void hear(struct ews_child *child, const char *want)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	cr_assert_eq(ews_child_hear_line(&line, child), 1);
	cr_assert_str_eq(line.ptr, want);
}

Test(child, each_question_has_its_answer)
{
	struct ews_child *child = open_script("while read -r x; do echo \"<$x>\"; printf abc; done; exit 3");
	char three[3];

	for (int i = 0; i < 3; i++) {
		ask(child, "one\n");
		hear(child, "<one>");
		cr_assert_eq(ews_child_hear(three, child, 3), 1);
		cr_assert_eq(memcmp(three, "abc", 3), 0);
	}
	cr_assert_eq(ews_child_close(child), 3);
}

Test(child, a_long_answer_comes_whole_while_it_complains_as_long)
{
	struct ews_child *child = open_script("read -r x; head -c 3000000 /dev/zero | tee /dev/stderr; echo end");
	size_t len = 3000000;
	char *text = ews_malloc(len);

	ask(child, "\n");
	cr_assert_eq(ews_child_hear(text, child, len), 1);
	hear(child, "end");
	cr_assert_eq(ews_child_complaint(child)->len, 64 * EWS_KIB);
	cr_assert_eq(ews_child_close(child), 0);
	free(text);
}

Test(child, a_complaint_is_told_once_and_before_the_answer)
{
	struct ews_child *child = open_script("while read -r x; do echo \"bad $x\" >&2; echo no; done");

	ask(child, "1\n");
	hear(child, "no");
	cr_assert_str_eq(ews_child_complaint(child)->ptr, "bad 1\n");
	cr_assert_str_eq(ews_child_complaint(child)->ptr, "");
	ask(child, "2\n");
	hear(child, "no");
	ask(child, "3\n");
	hear(child, "no");
	cr_assert_str_eq(ews_child_complaint(child)->ptr, "bad 2\nbad 3\n");
	ews_child_free(child);
}

Test(child, its_end_shows_when_it_is_heard_and_kills_nobody)
{
	struct ews_child *child = open_script("echo half >&2; printf half; kill -KILL $$");
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	sigset_t pending;
	char ten[10];

	cr_assert_eq(ews_child_hear_line(&line, child), 0);
	for (int i = 0; i < 3; i++)
		ask(child, "are you there?\n");
	cr_assert_eq(ews_child_hear(ten, child, 10), 0);
	cr_assert_str_eq(ews_child_complaint(child)->ptr, "half\n");
	cr_assert_eq(ews_child_close(child), 128 + SIGKILL);
	sigpending(&pending);
	cr_assert_not(sigismember(&pending, SIGPIPE));
}

Test(child, one_that_is_left_in_the_middle_of_an_answer_ends)
{
	struct ews_child *child = open_script("exec cat /dev/zero");
	char ten[10];

	cr_assert_eq(ews_child_hear(ten, child, 10), 1);
	cr_assert_eq(ews_child_close(child), 128 + SIGPIPE);
	ews_child_free(NULL);
}

Test(child, keys_on_the_terminal_are_not_for_it_and_no_descriptor_reaches_another)
{
	struct ews_child *child = open_script("while read -r x; do echo $$; done");
	struct ews_child *other = open_script("ls /proc/self/fd; echo end");
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	pid_t pid;

	ask(child, "\n");
	cr_assert_eq(ews_child_hear_line(&line, child), 1);
	pid = (pid_t)strtol(line.ptr, NULL, 10);
	cr_assert_eq(getpgid(pid), pid);
	cr_assert_neq(getpgid(pid), getpgrp());
	hear(other, "0");
	hear(other, "1");
	hear(other, "2");
	hear(other, "3"); /* of the listing itself */
	hear(other, "end");
	/* Were the first one's socket known to the second, this would wait for ever. */
	cr_assert_eq(ews_child_close(child), 0);
	cr_assert_eq(kill(pid, 0), -1);
	cr_assert_eq(errno, ESRCH);
	ews_child_free(other);
}

Test(child, what_asks_it_may_be_killed_and_it_ends)
{
	int fds[2];
	char byte;

	cr_assert_eq(pipe(fds), 0);
	fflush(NULL);
	if (fork() == 0) {
		EWS_CLEANUP(free)
		char *script = ews_strfmt("exec 5>/proc/%d/fd/%d; echo; cat; printf x >&5", getpid(), fds[1]);
		/* valgrind looks for what is lost even then */
		static struct ews_child *volatile child;

		child = open_script(script);
		hear(child, "");
		(void)kill(getpid(), SIGKILL);
	}
	close(fds[1]);
	/* The child itself says so, at the end of its input. */
	cr_assert_eq(read(fds[0], &byte, 1), 1);
	cr_assert_eq(byte, 'x');
	cr_assert_gt(wait(NULL), 0);
	close(fds[0]);
}

Test(child, a_missing_program_is_not_found)
{
	char *argv[] = { (char *)"no-such-program-here", NULL };
	struct ews_child *child = NULL;

	cr_assert_eq(ews_child_open(&child, &(struct ews_proc){ .argv = argv }), EWS_ENOTFOUND);
	cr_assert_null(child);
}

/* Whoever lets go of it has failed already, and says of what. */
Test(child, letting_go_of_one_keeps_the_error_at_hand)
{
	struct ews_child *child = open_script("exit 0");

	cr_assert_gt(wait(NULL), 0);
	(void)ews_error(EWS_EGIT, "what went wrong");
	ews_child_free(child);
	cr_assert_eq(ews_error_code(), EWS_EGIT);
	cr_assert_str_eq(ews_error_message(), "what went wrong");
}
