/*
 * Interrupt: a signal that ends a program makes it another first, which sees to what was left half done.
 *
 * What can be done in a signal's handler is next to nothing, and a program that is to look everywhere whether it shall
 * go on does so never where it matters. So the handler makes this process the same program anew (execve), with a
 * command line that was laid out before: threads, memory and locks are gone at once, as with SIGKILL, and what can tidy
 * up after that can do so here. It has the number of the process still, and ends by the same signal, so that whoever waits sees that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_INTERRUPT_H
#define EWS_BASE_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * From here on each of SIGINT, SIGTERM, SIGHUP and SIGXCPU that would have ended this process (that is not ignored, or somebody
 * else's) makes it this program with the words `argv` (NULL-ended; they are copied) and the signal's number as the last one. Where
 * that cannot be done, and in a forked child, it ends as it would have. Called again, it is the words of the last call that count.
 */
void ews_interrupt_arm(const char *const *argv);

/* From here on let `word`, which must stay where it is, come before the number; NULL: none. */
void ews_interrupt_tell(const char *word);

/*
 * In what it became: let them through again. Those that come within a second are the same one, told once more (a
 * key reaches all of a terminal's group, and git, or timeout, passes its own on): they are passed over. After that one ends it at once;
 * but for SIGXCPU, which comes until the limit's end.
 */
void ews_interrupt_bear(void);

/*
 * After a command in our place (base/relay) this process ignores them. Where another program is asked then, it shall hear of
 * those that are sent: hold those that are ignored since ews_interrupt_arm() before it is started, wait for it, let them go.
 */
struct ews_interrupt_held {
	sigset_t before;
	sigset_t signals; /* with SIGCHLD, by which we know that there is something to look at */
	bool has_any;
};

void ews_interrupt_hold(struct ews_interrupt_held *out);

/*
 * Wait until the child `pid` has ended, and pass on to it what comes; to its whole group where it has one of its
 * own, else but for what the terminal tells all of ours. It is left to be reaped. Gives the last signal, 0 when there was none, and at
 * once when none is held.
 */
int ews_interrupt_pass_on(const struct ews_interrupt_held *held, pid_t pid, bool has_group);

void ews_interrupt_let_go(const struct ews_interrupt_held *held);

/* Is it one of them? */
int ews_interrupt_read(const char *number);

/* End by that signal. */
__attribute__((noreturn)) void ews_interrupt_end(int signo);

#endif
