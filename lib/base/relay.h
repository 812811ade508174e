/*
 * Relay: a command that stands in our place, with our terminal, our signals and its own end.
 *
 * It runs in a process group of its own. Where standard input and output are our terminal it gets
 * that, as a shell's job in the foreground does; else once it asks for it. When it is stopped we stop, too,
 * so that the shell above sees one job, and when we are continued so is it. Signals that are meant to end, stop
 * or tell a program something are passed on to the whole group.
 *
 * With a `tee` we stand between: what it prints comes through pipes, or where standard output is a terminal
 * through one of its own, and goes on from there. On a terminal of its own it is in a session of its own, too, with a
 * keeper as its parent, since who has no parent in his session can't be stopped by a key:
 *
 *     we (raw terminal, keys in, text out) -> keeper (its session's leader; stops when it stops) -> command
 *
 * When the command has ended, all that it printed still comes out, however long that takes; then what others
 * print for half a second, or until no other has the pipe.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_RELAY_H
#define EWS_BASE_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/flow.h"

struct ews_relay {
	char *const *argv; /* argv[0] is looked up in the PATH of `env`, from the directory `cwd_fd` */
	char *const *env;
	int cwd_fd;
	int out_fd; /* becomes its standard output when > 0 */
	uint64_t timeout_ms; /* 0: none; then SIGTERM, and SIGKILL two seconds later, to the group */
	int (*enter)(void *payload); /* called in the child, last of all; async-signal-safe, gives 0 or -errno */
	void *payload;
	ews_flow_tee_fn tee; /* gets a copy of what it prints; NULL: nothing stands between */
	void *tee_payload;
};

struct ews_relay_result {
	int status; /* as a shell tells it: 128+n when signal n ended it */
	bool has_timed_out;
	int output_error; /* why what it printed did not all arrive, an errno: the disk is full, say; 0: it did */
	bool has_begun; /* the command may have run; said also where this fails */
};

/*
 * Run it to its end. Fails when it could not be started: EWS_ENOTFOUND when there is no such program, EWS_EDENIED
 * when it can't be executed, EWS_EUNSUPPORTED when `enter` failed, EWS_EIO otherwise.
 *
 * From then on this process ignores the signals that it passed on, but for SIGQUIT, and SIGPIPE and SIGXCPU: what has to be
 * done after the command is done.
 */
int ews_relay_run(struct ews_relay_result *out, const struct ews_relay *relay);

#endif
