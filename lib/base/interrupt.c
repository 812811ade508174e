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
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#define WORDS_MAX 16
#define SAME_MS 1000

#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* The last one nobody sends: by it the kernel tells this process alone that its processor time is up. */
static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGXCPU };
static const char *const numbers[] = { TEXT_OF(SIGINT), TEXT_OF(SIGTERM), TEXT_OF(SIGHUP), TEXT_OF(SIGXCPU) };

#define SIGNALS_N (sizeof(signals) / sizeof(*signals))
#define SENT_N (SIGNALS_N - 1)

/* What a handler may read: written before it is one. */
static char *words[WORDS_MAX + 3];
static size_t words_n;
static const char *volatile told;
static pid_t armed_pid;
static uint64_t borne_ms;
static bool is_armed[SIGNALS_N];

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
	size_t n = words_n;

	if (getpid() == armed_pid) {
		if (told)
			words[n++] = (char *)told;
		for (size_t i = 0; i < SIGNALS_N; i++)
			if (signals[i] == signo)
				words[n] = (char *)numbers[i];
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

static bool has_handler(int signo, void (*handler)(int signo))
{
	struct sigaction now;

	return sigaction(signo, NULL, &now) == 0 && now.sa_handler == handler;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid;
}

static void forget_words(void)
{
	while (words_n) {
		free(words[--words_n]);
		words[words_n] = NULL;
	}
}

void ews_interrupt_arm(const char *const *argv)
{
	const sigset_t set = all_of_them();
	sigset_t before;

	(void)sigprocmask(SIG_BLOCK, &set, &before);
	forget_words();
	for (; words_n < WORDS_MAX && argv[words_n]; words_n++)
		words[words_n] = ews_strdup(argv[words_n]);
	armed_pid = getpid();
	handle(begin_anew);
	for (size_t i = 0; i < SIGNALS_N; i++)
		is_armed[i] = has_handler(signals[i], begin_anew);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void ews_interrupt_tell(const char *word)
{
	told = word;
}

void ews_interrupt_bear(void)
{
	const sigset_t set = all_of_them();

	borne_ms = ews_clock_monotonic_ms();
	handle(pass_over_the_same);
	/* Told again each second, by nobody who has lost patience: at the limit's end SIGKILL comes. */
	(void)signal(SIGXCPU, SIG_IGN);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void ews_interrupt_hold(struct ews_interrupt_held *out)
{
	out->has_any = false;
	(void)sigemptyset(&out->signals);
	(void)sigaddset(&out->signals, SIGCHLD);
	for (size_t i = 0; i < SENT_N; i++) {
		if (!is_armed[i] || !has_handler(signals[i], SIG_IGN))
			continue;
		(void)sigaddset(&out->signals, signals[i]);
		out->has_any = true;
	}
	if (out->has_any)
		(void)sigprocmask(SIG_BLOCK, &out->signals, &out->before);
}

int ews_interrupt_pass_on(const struct ews_interrupt_held *held, pid_t pid, bool has_group)
{
	static const struct timespec at_once = { 0, 0 };
	int last = 0;

	while (held->has_any) {
		bool is_over = has_ended(pid);
		siginfo_t info;
		int signo;

		signo = is_over ? sigtimedwait(&held->signals, &info, &at_once) : sigwaitinfo(&held->signals, &info);
		/* What came before its end may be found after it. */
		if (is_over && signo < 0 && errno == EAGAIN)
			return last;
		if (signo <= 0 || signo == SIGCHLD)
			continue;
		last = signo;
		if (has_group || info.si_code != SI_KERNEL)
			(void)kill(has_group ? -pid : pid, signo);
	}
	return last;
}

void ews_interrupt_let_go(const struct ews_interrupt_held *held)
{
	if (held->has_any)
		(void)sigprocmask(SIG_SETMASK, &held->before, NULL);
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
