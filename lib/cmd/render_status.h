/*
 * Status: all sessions at a glance.
 *
 * A line a session in columns that are as wide as they must be, and what else there is to know of it below. Where a
 * terminal is too narrow the last columns move into a line of their own, so that nothing is lost and nothing runs over.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_STATUS_H
#define EWS_CMD_RENDER_STATUS_H

#include "cmd/render_session.h"

struct ews_status_opts {
	unsigned width; /* of the terminal; 0: as wide as it comes */
	bool color;
	bool hints; /* what to do next, as git status has it */
	bool projects; /* say which project each session is of */
	bool nul; /* paths as they are, and a NUL after each instead of the line's end */
};

void ews_render_status(struct ews_buf *out, const struct ews_session_view *views, size_t n,
		       const struct ews_status_opts *opts);

/*
 * For a prompt, a few words on one line: "try", "3 sessions, 1 interrupted", "try, project interrupted"; nothing where there is
 * neither a session nor anything interrupted.
 */
void ews_render_status_brief(struct ews_buf *out, const struct ews_session_view *views, size_t n,
			     bool is_project_interrupted);

#endif
