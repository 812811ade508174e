/*
 * Reports: how one looks as Markdown and as JSON, and findings likewise.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_REPORT_H
#define EWS_CMD_RENDER_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "work/report.h"

/* Add all keys of a report to `object`. */
int ews_render_report_json(cJSON *object, const struct ews_report *report);

/* Both, as they are kept: an ews_report_render_fn. */
int ews_render_report(struct ews_buf *markdown, struct ews_buf *json, const struct ews_report *report);

/* Add the keys of a finding; `fix` is its patch, "" none. */
void ews_render_finding(cJSON *object, const struct ews_finding *finding, const char *fix);
/* "<id>  <severity>  <where>  <title>", and a line's end. */
void ews_render_finding_line(struct ews_buf *out, const struct ews_finding *finding);

#endif
