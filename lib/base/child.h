/*
 * Children that answer: a program that is asked and heard for as long as we need it.
 *
 * It is asked and answers through one socket, which is its standard input and
 * output; what it says on standard error is kept beside. It stands in a process
 * group of its own, so that a key pressed on the terminal ends us alone and
 * we end it, by closing the socket: no signal is ever sent. When we are
 * killed the socket is closed as well, and the child comes to the end of its input.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_CHILD_H
#define EWS_BASE_CHILD_H

#include "base/buf.h"
#include "base/proc.h"

struct ews_child;

/* Start the program of `p`, of which argv, env and cwd count. Fails as ews_proc_run(). */
int ews_child_open(struct ews_child **out, const struct ews_proc *p);

/* Send a question. A child that has ended shows when it is heard, not here. */
int ews_child_ask(struct ews_child *child, const void *data, size_t len);

/* Append the next line, without its end, to `out`. Returns 1, or 0 when the child has ended before. */
int ews_child_hear_line(struct ews_buf *out, struct ews_child *child);

/* Hear exactly `len` bytes. Returns 1, or 0 when the child has ended before. */
int ews_child_hear(void *out, struct ews_child *child, size_t len);

/*
 * What it has said on standard error since this was asked last, 64 KiB of it at most; borrowed until then. It has
 * all that was said before the answer that was heard last.
 */
const struct ews_buf *ews_child_complaint(struct ews_child *child);

/* Let it come to its end and wait for that; what it has not said by then is not heard. Returns its status as ews_proc_run(). */
int ews_child_close(struct ews_child *child);
/* As above, when nobody cares for the status; NULL is fine. */
void ews_child_free(struct ews_child *child);

EWS_CLEANUP_DEFINE_PTR(child, struct ews_child, ews_child_free)

#endif
