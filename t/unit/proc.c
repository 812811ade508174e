/*
 * A child is fed, heard and ended, and gets nothing that is not meant for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/proc.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

/* Run `script` with what is set in `p`. */
static int run(struct ews_proc p, const char *script)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };

	p.argv = argv;
	return ews_proc_run(&p);
}

Test(proc, the_status_comes_back_and_a_signal_as_128_and_more)
{
	cr_assert_eq(run((struct ews_proc){ 0 }, "exit 7"), 7);
	cr_assert_eq(run((struct ews_proc){ 0 }, "kill -TERM $$"), 128 + SIGTERM);
}

Test(proc, both_outputs_are_collected_while_input_is_fed)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	size_t len = 3 << 20;
	char *text = ews_malloc(len);
	struct ews_proc p = { .input = text, .input_len = len, .out = &out, .err = &err };

	memset(text, 'x', len);
	cr_assert_eq(run(p, "tee /dev/stderr"), 0);
	cr_assert_eq(out.len, len);
	cr_assert_eq(err.len, len);
	cr_assert_eq(memcmp(out.ptr, text, len), 0);
	free(text);
}

Test(proc, a_child_that_does_not_read_ends_nobody)
{
	size_t len = 1 << 20;
	char *text = ews_calloc(1, len);
	struct ews_proc p = { .input = text, .input_len = len };
	sigset_t pending;

	cr_assert_eq(run(p, "exec <&-; exit 3"), 3);
	sigpending(&pending);
	cr_assert_not(sigismember(&pending, SIGPIPE));
	free(text);
}

Test(proc, output_beyond_the_ceiling_is_dropped_and_the_child_goes_on)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	ews_buf_init_max(&out, 1000);
	cr_assert_eq(run((struct ews_proc){ .out = &out }, "head -c 1000000 /dev/zero; exit 4"), 4);
	cr_assert_eq(out.len, 1000);
	cr_assert(out.is_full);
}

Test(proc, a_child_that_takes_too_long_is_killed)
{
	uint64_t before = ews_clock_monotonic_ms();
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	cr_assert_eq(run((struct ews_proc){ .timeout_ms = 50 }, "exec sleep 60"), EWS_EBUSY);
	cr_assert_eq(run((struct ews_proc){ .timeout_ms = 50, .out = &out }, "sleep 5 & exec sleep 60"), EWS_EBUSY);
	cr_assert_lt(ews_clock_monotonic_ms() - before, 30000);
	cr_assert_eq(run((struct ews_proc){ .timeout_ms = 60000 }, "exit 5"), 5);
	cr_assert_eq(run((struct ews_proc){ .timeout_ms = 60000, .out = &out }, "exit 6"), 6);
}

Test(proc, no_other_descriptor_reaches_the_child)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	int fd = fcntl(open("/dev/null", O_RDONLY), F_DUPFD, 20);

	cr_assert_geq(fd, 20);
	cr_assert_eq(run((struct ews_proc){ .out = &out, .err = &out }, "ls /proc/$$/fd"), 0);
	cr_assert_str_eq(out.ptr, "0\n1\n2\n");
}

Test(proc, outputs_may_be_crossed)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	int fds[2];
	char text[8] = "";

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(run((struct ews_proc){ .out = &out, .err_fd = fds[1] }, "echo out; echo err >&2"), 0);
	cr_assert_str_eq(out.ptr, "out\n");
	cr_assert_eq(read(fds[0], text, sizeof(text) - 1), 4);
	cr_assert_str_eq(text, "err\n");

	/* Standard output of the child to our standard error, whose place its own pipe takes. */
	cr_assert_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	ews_buf_truncate(&out, 0);
	cr_assert_eq(run((struct ews_proc){ .err = &out, .out_fd = 2 }, "echo err >&2; echo out"), 0);
	cr_assert_str_eq(out.ptr, "err\n");
	cr_assert_eq(read(fds[0], text, sizeof(text) - 1), 4);
	cr_assert_str_eq(text, "out\n");
}

/* What was heard of a child that takes its time. */
struct heard {
	size_t n;
	uint64_t first, last;
};

static void hear(void *payload, size_t done, size_t total, uint64_t bytes)
{
	struct heard *heard = payload;

	cr_assert(!done && !total && bytes >= heard->last);
	if (!heard->n++)
		heard->first = bytes;
	heard->last = bytes;
}

Test(proc, one_that_takes_its_time_is_heard_of_before_it_says_anything)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"sleep 0.5; echo hello; sleep 0.5", NULL };
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	struct heard heard = { 0, 0, 0 };
	struct ews_proc p = { .argv = argv, .out = &out, .progress = hear, .payload = &heard };

	cr_assert_eq(ews_proc_run(&p), 0);
	cr_assert_str_eq(out.ptr, "hello\n");
	cr_expect_eq(heard.first, 0);
	cr_expect_eq(heard.last, 6);
	cr_expect_geq(heard.n, 3, "%zu", heard.n);
	/* The time that it is given is kept all the same. */
	p.timeout_ms = 250;
	cr_assert_eq(ews_proc_run(&p), EWS_EBUSY);
}

Test(proc, a_missing_program_is_not_found)
{
	char *const nothing[] = { (char *)"no-such-program-here", NULL };
	char *const path[] = { (char *)"/no/such/program", NULL };
	char *const empty[] = { (char *)"", NULL };
	char *const denied[] = { (char *)"/etc/passwd", NULL };

	cr_assert_eq(ews_proc_run(&(struct ews_proc){ .argv = nothing }), EWS_ENOTFOUND);
	cr_assert_eq(ews_proc_run(&(struct ews_proc){ .argv = path }), EWS_ENOTFOUND);
	cr_assert_eq(ews_proc_run(&(struct ews_proc){ .argv = empty }), EWS_ENOTFOUND);
	cr_assert_eq(ews_proc_run(&(struct ews_proc){ .argv = denied }), EWS_EIO);
	cr_assert_eq(run((struct ews_proc){ .cwd = "/no/such/dir" }, "true"), EWS_EIO);
}

Test(proc, the_path_is_that_of_the_child_and_its_relative_parts_are_passed_by)
{
	char dir[] = "/tmp/ews-proc-XXXXXX", path[64], own[64];
	char *env[] = { own, NULL }, *dotted[] = { (char *)"PATH=:.:bin", NULL };
	char *argv[] = { (char *)"probe", NULL };
	struct ews_proc p = { .argv = argv, .env = env, .cwd = dir };
	FILE *script;

	cr_assert(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/probe", dir);
	(void)snprintf(own, sizeof(own), "PATH=/nowhere:%s", dir);
	script = fopen(path, "w");
	fputs("#!/bin/sh\nexit 9\n", script);
	fchmod(fileno(script), 0755);
	fclose(script);
	cr_expect_eq(ews_proc_run(&p), 9);
	p.env = dotted;
	cr_expect_eq(ews_proc_run(&p), EWS_ENOTFOUND);
	unlink(path);
	rmdir(dir);
}

Test(proc, signals_that_we_block_or_ignore_are_as_usual_in_the_child)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(run((struct ews_proc){ 0 }, "kill -PIPE $$; exit 0"), 128 + SIGPIPE);
	cr_assert_eq(run((struct ews_proc){ 0 }, "kill -TERM $$; exit 0"), 128 + SIGTERM);
}

Test(proc, without_input_the_child_reads_nothing)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	cr_assert_eq(run((struct ews_proc){ .out = &out }, "cat"), 0);
	cr_assert_eq(out.len, 0);
}
