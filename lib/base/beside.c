/*
 * Beside: see beside.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/beside.h"

#include <signal.h>

#include "base/cpus.h"

static void *work(void *payload)
{
	struct ews_beside *beside = payload;

	ews_cpus_settle();
	beside->rc = beside->fn(beside->payload);
	if (beside->rc < 0)
		ews_error_save(&beside->error);
	else
		ews_error_clear();
	return NULL;
}

void ews_beside_begin(struct ews_beside *out, ews_beside_fn fn, void *payload)
{
	sigset_t all, before;
	pthread_attr_t attr;

	*out = (struct ews_beside){ .fn = fn, .payload = payload };
	if (pthread_attr_init(&attr)) {
		(void)work(out);
		return;
	}
	/* Signals are for the caller's thread, whose waits they are to interrupt. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	out->is_under_way = !ews_cpus_make_elsewhere(&out->thread, &attr, work, out);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	if (!out->is_under_way)
		(void)work(out);
}

int ews_beside_end(struct ews_beside *beside)
{
	int rc;

	if (beside->is_under_way)
		(void)pthread_join(beside->thread, NULL);
	beside->is_under_way = false;
	rc = beside->rc;
	beside->rc = 0;
	return rc < 0 ? ews_error_restore(&beside->error) : rc;
}

void ews_beside_release(struct ews_beside *beside)
{
	struct ews_error_saved mine = EWS_ERROR_SAVED_INIT;

	/* The error of the caller, who gives up, is the one to be told. */
	ews_error_save(&mine);
	(void)ews_beside_end(beside);
	(void)ews_error_restore(&mine);
}
