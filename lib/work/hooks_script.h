/*
 * The script that stands under the name of a hook.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HOOKS_SCRIPT_H
#define EWS_WORK_HOOKS_SCRIPT_H

#include <stdbool.h>

#include "base/buf.h"

/* What tells a directory of ours, to the script and to us. */
#define EWS_HOOKS_MARK ".git-ews"

struct ews_hooks_script_opts {
	const char *program; /* is asked; when it is gone, the git-ews of PATH */
	const char *home; /* whose sessions are meant */
	bool is_users; /* it serves many repositories, and has to find out in which it is */
};

/* Write the script of the hook `name` to `out`. */
void ews_hooks_script(struct ews_buf *out, const char *name, const struct ews_hooks_script_opts *opts);

/* Is that text the script, of whichever hook and version, with nothing else in it? */
bool ews_hooks_is_script(const struct ews_buf *text);
/* Does it begin as one does, whatever comes then? */
bool ews_hooks_begins_as_script(const struct ews_buf *text);

#endif
