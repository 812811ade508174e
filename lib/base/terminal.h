/*
 * Terminal: whose turn it is, its modes, and one of our own making.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_TERMINAL_H
#define EWS_BASE_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "base/cleanup.h"

/* The terminal that controls us. */
struct ews_terminal {
	int fd; /* -1: there is none */
	pid_t our_group;
	struct termios modes; /* as we had them last when it was our turn */
	bool has_modes;
	bool is_given; /* to a group that we started */
	bool is_raw; /* made so by us */
};

#define EWS_TERMINAL_INIT { .fd = -1 }

void ews_terminal_find(struct ews_terminal *out);
void ews_terminal_release(struct ews_terminal *terminal);
EWS_CLEANUP_DEFINE(terminal, struct ews_terminal, ews_terminal_release)

/* Is it our turn? */
bool ews_terminal_is_ours(const struct ews_terminal *terminal);

/*
 * Let it be the turn of `group`, if it is ours; take it back from whomever that group let have it. These and
 * the next ones want SIGTTOU blocked.
 */
void ews_terminal_give(struct ews_terminal *terminal, pid_t group);
void ews_terminal_take(struct ews_terminal *terminal);

/* Hand over every key and change nothing that is written; put the modes back. Only while it is our turn. */
void ews_terminal_make_raw(struct ews_terminal *terminal);
void ews_terminal_put_back(struct ews_terminal *terminal);

/* A terminal for somebody else: what is typed goes into `master`, what he prints comes out of it. */
struct ews_pty {
	int master; /* does not block */
	int slave;
};

#define EWS_PTY_INIT { -1, -1 }

/* Make one as big as the terminal `size_fd`; where it is our turn at `like`, with the modes of that. */
int ews_pty_open(struct ews_pty *out, const struct ews_terminal *like, int size_fd);
/* Make it as big as the terminal `fd` is; who has it in the foreground is told when that is another size. */
void ews_pty_take_size(const struct ews_pty *pty, int fd);

/* How many columns the terminal `fd` shows, by COLUMNS where that is set; 0: it is none, or nobody knows. */
unsigned ews_terminal_width(int fd);

#endif
