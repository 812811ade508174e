/*
 * A git command that reads, made so that it starts nothing and leaves the repository alone.
 *
 * The table (work/guard_table) knows the options for that. What no option turns off is found out here: which
 * programs the config of the repository, and of the repositories nested in it, names for filters; where the index is, of
 * which a command that would rewrite it gets a copy. The programs of the user's and the system's config stay.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_READING_H
#define EWS_WORK_GUARD_READING_H

#include "base/strv.h"

/* The variable that says where the session's temporary files are, whatever TMPDIR says by then. */
#define EWS_GUARD_READING_TMPDIR "EWS_GUARD_TMPDIR"

struct ews_guard_reading {
	struct ews_strv argv; /* argv[0] is "git" */
	struct ews_strv env; /* all of the environment */
	int index_fd; /* the copy of the index, or its directory: for that git alone; -1: none */
};

#define EWS_GUARD_READING_INIT { EWS_STRV_INIT, EWS_STRV_INIT, -1 }

/*
 * Make the command line and the environment in which `git`, the real one, is to be given `argv`, which the guard allows. Gives 1,
 * or 0 when it is no command that reads, and nothing was made. The copy of an index lies in the session's directory, or in
 * TMPDIR, one a repository, and there in a directory of our own where others can make files; where neither can be written,
 * in memory.
 */
int ews_guard_reading_make(struct ews_guard_reading *out, const char *git, char *const *argv);

void ews_guard_reading_release(struct ews_guard_reading *reading);
EWS_CLEANUP_DEFINE(guard_reading, struct ews_guard_reading, ews_guard_reading_release)

#endif
