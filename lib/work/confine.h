/*
 * Confinement: where a command in a session may write, and that the kernel holds it there.
 *
 * That is the workspace, its private directory for temporary files, and what its user names besides. The project, its git
 * directory or store, and our home can't be named, neither they nor what lies in them or holds them: what must not be
 * written is told by what a directory is, not by how it is called.
 *
 * In place the workspace is the project: the command is held there, too, and its repository lies open to it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_CONFINE_H
#define EWS_WORK_CONFINE_H

#include "base/sandbox.h"
#include "work/session.h"

/* Are commands under that guard level to be held by the kernel? */
bool ews_confine_is_wanted(const char *level);

/* Are they, and does that keep the project from them? */
bool ews_confine_is_enforced(const struct ews_method *method, const char *level);

/* Make each directory an absolute path. Fails with EWS_EUSAGE when one must not be written, or is none. */
int ews_confine_settle(struct ews_strv *dirs, const struct ews_repo *repo);

struct ews_confine_opts {
	const char *level; /* the guard's */
	const struct ews_strv *dirs; /* that ews_confine_settle() made; NULL: none */
	bool no_network;
	int tmp_fd; /* the command's directory for temporary files */
	int keep_fd; /* what it has open beside its standard descriptors */
};

/* Make what holds one command in `session`. `*out` is NULL when nothing does. */
int ews_confine_make(struct ews_sandbox **out, const struct ews_session *session,
		     const struct ews_confine_opts *opts);

#endif
