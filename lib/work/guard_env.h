/*
 * What holds in a session, on its way to the shim: by the environment.
 *
 * An agent can change it, and so the shim's judgement. It harms itself alone by that: the shim is there for honest commands,
 * to which it says what to do instead, and for what it keeps from starting; the kernel holds the others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_ENV_H
#define EWS_WORK_GUARD_ENV_H

#include "base/strv.h"
#include "work/guard_git.h"

/* Add "<name>=<value>" for each variable that says which guard `level` and rules hold. */
void ews_guard_env_add(struct ews_strv *env, const char *level, const struct ews_guard_rules *rules);

/* Read them. What is not said, or not understood, is as strict as can be. */
void ews_guard_env_read(struct ews_guard_rules *out);

#endif
