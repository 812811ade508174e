/*
 * Trust, of secrets: what lies in reach of whoever runs as its user, a command in a workspace too. Reading is not held back.
 *
 * It is named, and never read: of a variable or a setting the name, of a file the place.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRUST_SECRET_H
#define EWS_WORK_TRUST_SECRET_H

#include "base/cleanup.h"
#include "base/strv.h"

struct ews_trust_secrets {
	struct ews_strv files; /* and directories: keys, passwords, tokens */
	struct ews_strv variables;
	struct ews_strv sockets; /* of helpers that act with its user's rights */
	struct ews_strv settings; /* of git, that hold a password or a token */
};

#define EWS_TRUST_SECRETS_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT }

/* Look in the usual places, the environment, and git's config as it is seen from `git_dir`. */
int ews_trust_secrets_look(struct ews_trust_secrets *out, const char *git_dir);

/* The name of a setting without what stands before "@" in an address that is part of it. The caller frees it. */
char *ews_trust_mask_key(const char *key);

void ews_trust_secrets_release(struct ews_trust_secrets *secrets);
EWS_CLEANUP_DEFINE(trust_secrets, struct ews_trust_secrets, ews_trust_secrets_release)

#endif
