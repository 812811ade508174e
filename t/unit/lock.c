/*
 * A lock has one holder, and goes with it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/lock.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/pool.h"

static char top[] = "/tmp/ews-lock-XXXXXX";
static int dir_fd = -1;

static void set_up(void)
{
	cr_assert(mkdtemp(top));
	dir_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(dir_fd, 0);
}

static void tear_down(void)
{
	close(dir_fd);
	cr_assert_eq(ews_file_remove_tree(AT_FDCWD, top), 0);
}

TestSuite(lock, .init = set_up, .fini = tear_down);

/* A child that takes the lock `name`, says so, and holds it until it is killed. */
static pid_t hold_elsewhere(const char *name)
{
	int fds[2];
	char ready;
	pid_t child;

	cr_assert_eq(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		struct ews_lock lock = EWS_LOCK_INIT;

		if (ews_lock_take(&lock, dir_fd, name, "revert", 0) == 0 && write(fds[1], "y", 1) == 1)
			pause();
		_exit(1);
	}
	cr_assert_gt(child, 0);
	close(fds[1]);
	cr_assert_eq(read(fds[0], &ready, 1), 1);
	close(fds[0]);
	return child;
}

Test(lock, a_second_holder_is_told_who_has_it)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	pid_t child = hold_elsewhere("a");
	char pid[16];

	snprintf(pid, sizeof(pid), "%ld", (long)child);
	cr_assert(ews_lock_is_held(dir_fd, "a"));
	cr_assert_eq(ews_lock_take(&lock, dir_fd, "a", "end", 20), EWS_EBUSY);
	cr_assert(strstr(ews_error_message(), pid));
	cr_assert(strstr(ews_error_message(), "revert"));
	cr_assert_eq(lock.fd, -1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

Test(lock, a_dead_holder_holds_nothing)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	pid_t child = hold_elsewhere("a");

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_assert_eq(faccessat(dir_fd, "a", F_OK, 0), 0);
	cr_assert_not(ews_lock_is_held(dir_fd, "a"));
	cr_assert_eq(ews_lock_take(&lock, dir_fd, "a", "end", 0), 0, "%s", ews_error_message());
}

/* The lock is had by who waits at most `wait_ms`, though the child that holds it is killed after `held_ms` only. */
static void take_from(pid_t child, unsigned held_ms, unsigned wait_ms)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	pid_t killer = fork();

	if (killer == 0) {
		ews_clock_sleep_ms(held_ms);
		_exit(kill(child, SIGKILL) < 0);
	}
	cr_assert_eq(ews_lock_take(&lock, dir_fd, "a", "end", wait_ms), 0, "%s", ews_error_message());
	waitpid(killer, NULL, 0);
	waitpid(child, NULL, 0);
}

Test(lock, waiting_ends_when_the_holder_does)
{
	take_from(hold_elsewhere("a"), 100, 20000);
}

Test(lock, release_leaves_no_file_and_lets_the_next_one_in)
{
	struct ews_lock lock = EWS_LOCK_INIT;

	cr_assert_eq(ews_lock_take(&lock, dir_fd, "a", "end", 0), 0);
	ews_lock_release(&lock);
	cr_assert_eq(faccessat(dir_fd, "a", F_OK, 0), -1);
	cr_assert_not(ews_lock_is_held(dir_fd, "a"));
	cr_assert_eq(ews_lock_take(&lock, dir_fd, "a", "end", 0), 0);
	ews_lock_release(&lock);
	ews_lock_release(&lock);
}

Test(lock, garbage_in_the_file_stops_nobody)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	char garbage[9000];

	memset(garbage, 0xff, sizeof(garbage));
	cr_assert_eq(ews_file_replace(dir_fd, "a", garbage, sizeof(garbage), 0600), 0);
	cr_assert_eq(ews_lock_take(&lock, dir_fd, "a", "end", 0), 0, "%s", ews_error_message());
}

Test(lock, what_is_no_regular_file_stops_nobody_and_leads_nowhere)
{
	static const char *const names[] = { "fifo", "link", "dangling", "dir" };
	struct stat st;

	cr_assert_eq(mkfifoat(dir_fd, "fifo", 0600), 0);
	cr_assert_eq(ews_file_replace(dir_fd, "else", "x", 1, 0600), 0);
	cr_assert_eq(symlinkat("else", dir_fd, "link"), 0);
	cr_assert_eq(symlinkat("nowhere", dir_fd, "dangling"), 0);
	cr_assert_eq(mkdirat(dir_fd, "dir", 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;

		cr_assert_not(ews_lock_is_held(dir_fd, names[i]));
		cr_assert_eq(ews_lock_take(&lock, dir_fd, names[i], "end", 1000), 0, "%s", ews_error_message());
		cr_assert(ews_lock_is_held(dir_fd, names[i]));
	}
	cr_assert_eq(faccessat(dir_fd, "nowhere", F_OK, 0), -1);
	cr_assert_eq(fstatat(dir_fd, "else", &st, 0), 0);
	cr_assert_eq(st.st_size, 1);
}

Test(lock, a_directory_that_holds_something_is_refused_at_once)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;

	cr_assert_eq(mkdirat(dir_fd, "full", 0700), 0);
	cr_assert_eq(mkdirat(dir_fd, "full/in", 0700), 0);
	cr_assert_eq(ews_lock_take(&lock, dir_fd, "full", "end", 1000), EWS_EDAMAGED);
	cr_assert_eq(faccessat(dir_fd, "full/in", F_OK, 0), 0);
}

static int n_inside;

static int count_inside(size_t i, unsigned worker, void *payload)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc;

	(void)i, (void)worker;
	/* Garbage, whenever nobody holds it. */
	if (payload)
		(void)symlinkat("nowhere", dir_fd, "a");
	rc = ews_lock_take(&lock, dir_fd, "a", "end", 60000);
	if (rc < 0)
		return rc;
	if (__atomic_add_fetch(&n_inside, 1, __ATOMIC_SEQ_CST) != 1)
		return ews_error(EWS_EDAMAGED, "two are inside");
	__atomic_sub_fetch(&n_inside, 1, __ATOMIC_SEQ_CST);
	return 0;
}

Test(lock, never_two_at_once_though_the_file_comes_and_goes)
{
	cr_assert_eq(ews_pool_for(400, 1, 4, count_inside, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(ews_pool_for(400, 1, 4, count_inside, top), 0, "%s", ews_error_message());
}

static int n_left;

/* The first sweeps as long as the second takes the lock and gives it up, waiting for nobody. */
static int sweep_or_take(size_t i, unsigned worker, void *payload)
{
	(void)worker, (void)payload;
	while (i == 0 && __atomic_load_n(&n_left, __ATOMIC_SEQ_CST) > 0) {
		EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;

		if (ews_lock_take(&lock, dir_fd, "a", EWS_LOCK_SWEEP, 0) < 0)
			ews_error_clear();
	}
	while (i == 1 && __atomic_fetch_sub(&n_left, 1, __ATOMIC_SEQ_CST) > 0) {
		EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
		int rc = ews_lock_take(&lock, dir_fd, "a", "end", 0);

		if (rc < 0) {
			__atomic_store_n(&n_left, 0, __ATOMIC_SEQ_CST);
			return rc;
		}
	}
	return 0;
}

Test(lock, who_sweeps_is_in_nobodys_way_when_he_comes_and_when_he_goes)
{
	n_left = 1000;
	cr_assert_eq(ews_pool_for(2, 1, 2, sweep_or_take, NULL), 0, "%s", ews_error_message());
}

/* What the file says while somebody holds it who has not said yet who he is. */
static void check_is_waited_for(const char *text)
{
	pid_t child = hold_elsewhere("a");
	int fd = openat(dir_fd, "a", O_WRONLY | O_TRUNC | O_CLOEXEC);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	take_from(child, 50, 0);
}

Test(lock, who_has_not_said_yet_who_he_is_is_waited_for)
{
	check_is_waited_for("");
	/* What a killed one left: no process has the number. */
	check_is_waited_for("pid 2000000000\nstart 1\nboot x\nverb end\n");
}

Test(lock, the_one_that_is_held_is_found_and_told_without_what_marks_it)
{
	EWS_CLEANUP(free) char *held = NULL;
	EWS_CLEANUP(fd) int locks = -1;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;

	cr_assert(ews_lock_find_held(&held, dir_fd) == 0 && !held, "there is no directory of locks");
	cr_assert_eq(mkdirat(dir_fd, EWS_LOCKS, 0700), 0);
	cr_assert_eq(mknodat(dir_fd, EWS_LOCKS "/left", S_IFREG | 0600, 0), 0);
	cr_assert(ews_lock_find_held(&held, dir_fd) == 0 && !held, "a file that nobody holds is no lock");
	locks = openat(dir_fd, EWS_LOCKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(ews_lock_take(&lock, locks, EWS_LOCK_PROJECT, "apply", 0), 0);
	cr_assert_eq(ews_lock_find_held(&held, dir_fd), 0);
	cr_assert_not_null(held);
	cr_assert_str_eq(held, "project");
}
