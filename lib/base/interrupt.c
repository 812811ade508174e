/*
 * Interrupt: see interrupt.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#define WORDS_MAX 16
#define SAME_MS 1000

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static const char *const numbers[] = { "2", "15", "1" };

#define SIGNALS_N (sizeof(signals) / sizeof(*signals))

/* What a handler may read: written before it is one. */
static char *words[WORDS_MAX + 2];
static size_t words_n;
static pid_t armed_pid;
static uint64_t borne_ms;

static sigset_t all_of_them(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS_N; i++)
		(void)sigaddset(&set, signals[i]);
	return set;
}

/* Call `handler` for those that would end us. */
static void handle(void (*handler)(int signo))
{
	const struct sigaction ours = { .sa_handler = handler, .sa_mask = all_of_them(), .sa_flags = SA_RESTART };
	struct sigaction before;

	for (size_t i = 0; i < SIGNALS_N; i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			(void)sigaction(signals[i], &ours, NULL);
}

/* In a handler: the signal waits until that returns, and ends us. */
static void end_as_usual(int signo)
{
	(void)signal(signo, SIG_DFL);
	(void)raise(signo);
}

/* Only what POSIX allows in a signal handler. */
static void begin_anew(int signo)
{
	if (getpid() == armed_pid) {
		for (size_t i = 0; i < SIGNALS_N; i++)
			if (signals[i] == signo)
				words[words_n] = (char *)numbers[i];
		(void)execve("/proc/self/exe", words, environ);
	}
	end_as_usual(signo);
}

/* Likewise. */
static void pass_over_the_same(int signo)
{
	int saved = errno;

	if (ews_clock_monotonic_ms() >= borne_ms + SAME_MS)
		end_as_usual(signo);
	errno = saved;
}

void ews_interrupt_arm(const char *const *argv)
{
	if (words_n)
		return;
	for (; argv[words_n] && words_n < WORDS_MAX; words_n++)
		words[words_n] = ews_strdup(argv[words_n]);
	armed_pid = getpid();
	handle(begin_anew);
}

void ews_interrupt_bear(void)
{
	const sigset_t set = all_of_them();

	borne_ms = ews_clock_monotonic_ms();
	handle(pass_over_the_same);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int ews_interrupt_read(const char *number)
{
	for (size_t i = 0; i < SIGNALS_N; i++)
		if (!strcmp(number, numbers[i]))
			return signals[i];
	return ews_error(EWS_EUSAGE, "'%s' is not the number of a signal that interrupts", number);
}

void ews_interrupt_end(int signo)
{
	const sigset_t set = all_of_them();

	(void)signal(signo, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(signo);
	_exit(128 + signo);
}
