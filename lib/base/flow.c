/*
 * Flow: see flow.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/flow.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool can_read(const struct ews_flow *flow)
{
	return flow->from >= 0 && !flow->len && !flow->is_resting && (!flow->is_ending || flow->owed);
}

void ews_flow_ask(const struct ews_flow *flow, struct pollfd out[2])
{
	out[0] = (struct pollfd){ .fd = can_read(flow) ? flow->from : -1, .events = POLLIN };
	out[1] = (struct pollfd){ .fd = flow->len ? flow->to : -1, .events = POLLOUT };
}

static bool is_passing(int error)
{
	return error == EAGAIN || error == EINTR;
}

static void fill(struct ews_flow *flow, ews_flow_tee_fn tee, void *payload)
{
	size_t most = flow->is_ending && flow->owed < sizeof(flow->text) ? flow->owed : sizeof(flow->text);
	ssize_t n = read(flow->from, flow->text, most);

	if (n < 0 && is_passing(errno))
		return;
	/* A terminal whose other side is closed says EIO. */
	if (n <= 0) {
		ews_flow_close(flow);
		return;
	}
	flow->at = 0;
	flow->len = (size_t)n;
	flow->owed -= flow->owed < flow->len ? flow->owed : flow->len;
	if (tee)
		tee(payload, flow->text, flow->len);
}

static void drain(struct ews_flow *flow)
{
	ssize_t n = write(flow->to, flow->text + flow->at, flow->len);

	if (n < 0 && is_passing(errno))
		return;
	/* Nobody takes it any more: whoever writes shall learn that as if he wrote there himself. */
	if (n < 0) {
		flow->error = errno == EPIPE ? 0 : errno;
		flow->len = 0;
		ews_flow_close(flow);
		return;
	}
	flow->at += (size_t)n;
	flow->len -= (size_t)n;
}

void ews_flow_move(struct ews_flow *flow, const struct pollfd polled[2], ews_flow_tee_fn tee, void *payload)
{
	if (polled[0].fd >= 0 && polled[0].revents)
		fill(flow, tee, payload);
	else if (polled[1].fd >= 0 && polled[1].revents)
		drain(flow);
}

void ews_flow_end(struct ews_flow *flow)
{
	int n;

	if (flow->from >= 0 && ioctl(flow->from, FIONREAD, &n) == 0 && n > 0)
		flow->owed = (size_t)n;
}

void ews_flow_stop(struct ews_flow *flow)
{
	flow->is_ending = true;
}

bool ews_flow_is_done(const struct ews_flow *flow)
{
	return !flow->len && (flow->from < 0 || (flow->is_ending && !flow->owed));
}

void ews_flow_close(struct ews_flow *flow)
{
	if (flow->from >= 0)
		close(flow->from);
	flow->from = -1;
}
