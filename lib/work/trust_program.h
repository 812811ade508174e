/*
 * Trust, of programs: which ones git would start in a workspace because a hook is there or a setting names them.
 *
 * They are listed and not run. What a setting says is not shown: a command may hold a password.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRUST_PROGRAM_H
#define EWS_WORK_TRUST_PROGRAM_H

#include <stddef.h>

#include "base/cleanup.h"
#include "store/gitconfig.h"

enum ews_trust_program_kind {
	EWS_TRUST_HOOK = 1,
	EWS_TRUST_SETTING,
	EWS_TRUST_INCLUDE, /* a file of more settings */
};

struct ews_trust_program {
	enum ews_trust_program_kind kind;
	char *name; /* "pre-commit", "filter.lfs.clean" */
	enum ews_gitconfig_scope scope; /* 0 of a hook */
	char *path; /* of the hook, or the file that the setting stands in; NULL: none */
	unsigned line; /* in that file; 0: not known */
};

struct ews_trust_programs {
	struct ews_trust_program *items;
	size_t n, cap;
};

#define EWS_TRUST_PROGRAMS_INIT { NULL, 0, 0 }

/* All of the repository at `git_dir`, whose shared part is `common_dir`, seen from its work tree `top`. */
int ews_trust_programs_look(struct ews_trust_programs *out, const char *git_dir, const char *common_dir,
			    const char *top);

void ews_trust_programs_release(struct ews_trust_programs *programs);
EWS_CLEANUP_DEFINE(trust_programs, struct ews_trust_programs, ews_trust_programs_release)

#endif
