/*
 * Flow: what comes out of one descriptor goes into another, and nobody waits for either but in poll().
 *
 * A few bytes at a time are under way, so that who fills the one is held up when nobody empties the other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_FLOW_H
#define EWS_BASE_FLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* A pipe that poll() calls writable takes so much at once (PIPE_BUF). */
#define EWS_FLOW_BYTES 4096

struct ews_flow {
	int from; /* owned; -1: it has run dry, or nobody takes what comes from there */
	int to; /* not owned */
	bool is_resting; /* nothing is to be read now */
	bool is_ending; /* no more is awaited than `owed` */
	size_t owed;
	int error; /* why nobody took it, an errno; 0: all was taken, or the reader closed */
	size_t at, len; /* what of `text` is under way */
	char text[EWS_FLOW_BYTES];
};

#define EWS_FLOW_INIT { .from = -1, .to = -1 }

typedef void (*ews_flow_tee_fn)(void *payload, const char *text, size_t len);

/* What poll() shall wait for. */
void ews_flow_ask(const struct ews_flow *flow, struct pollfd out[2]);
/* Move what can be moved after that; what was read is shown to `tee` (may be NULL). */
void ews_flow_move(struct ews_flow *flow, const struct pollfd polled[2], ews_flow_tee_fn tee, void *payload);

/* Who wrote has ended: what he wrote is still owed, and what others add comes along until ews_flow_stop(). */
void ews_flow_end(struct ews_flow *flow);
void ews_flow_stop(struct ews_flow *flow);
bool ews_flow_is_done(const struct ews_flow *flow);

void ews_flow_close(struct ews_flow *flow);

#endif
