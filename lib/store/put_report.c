/*
 * What put has done, and what it could not do: see put.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <string.h>

#include "base/error.h"
#include "base/path_line.h"
#include "store/put.h"

/* The error that is set is why. */
static void add_failed(struct ews_put_report *report, const char *path)
{
	ews_path_line_add(&report->failed, path, ews_error_message());
	ews_error_clear();
}

/* The caller holds the mutex. */
static void tell(struct ews_put_work *put)
{
	if (put->opts->progress)
		put->opts->progress(put->opts->payload, put->done, put->changes->n, put->bytes + put->ahead);
}

int ews_put_settle(struct ews_put_work *put, size_t i, int rc)
{
	const struct ews_change *change = &put->changes->items[i];

	if (rc == EWS_ENOSPACE)
		return ews_error_wrap("'%s'", change->path);
	pthread_mutex_lock(&put->mutex);
	put->done++;
	if (rc < 0) {
		if (rc == EWS_ESTALE)
			ews_strv_add(&put->report->changed, change->path);
		add_failed(put->report, change->path);
		put->has_failed[i] = true;
	} else if (change->to) {
		put->report->written++;
		put->bytes += change->to->size;
	} else {
		put->report->removed++;
	}
	tell(put);
	pthread_mutex_unlock(&put->mutex);
	return 0;
}

void ews_put_tell_ahead(void *put, uint64_t bytes)
{
	struct ews_put_work *work = put;

	pthread_mutex_lock(&work->mutex);
	work->ahead += bytes;
	tell(work);
	pthread_mutex_unlock(&work->mutex);
}

void ews_put_forget_ahead(struct ews_put_work *put, uint64_t bytes)
{
	pthread_mutex_lock(&put->mutex);
	put->ahead -= bytes;
	pthread_mutex_unlock(&put->mutex);
}

void ews_put_name_failed(struct ews_put_work *put, const char *path)
{
	pthread_mutex_lock(&put->mutex);
	add_failed(put->report, path);
	pthread_mutex_unlock(&put->mutex);
}

void ews_put_name_lost(struct ews_put_work *put, const char *path, const struct ews_strv *lost)
{
	pthread_mutex_lock(&put->mutex);
	for (size_t i = 0; i < lost->n; i++)
		ews_path_line_add(&put->report->lost_attrs, path, lost->items[i]);
	pthread_mutex_unlock(&put->mutex);
}

void ews_put_report_release(struct ews_put_report *report)
{
	ews_strv_release(&report->failed);
	ews_strv_release(&report->changed);
	ews_strv_release(&report->lost_attrs);
	*report = (struct ews_put_report)EWS_PUT_REPORT_INIT;
}
