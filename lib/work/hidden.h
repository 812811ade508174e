/*
 * Hidden: what of a project's files git does not see, though a base in place has it.
 *
 * That holds all files, so that revert can bring each back: what is ignored too, as a file with a password or what a build
 * made, and what repositories inside the project hold. What becomes a commit is what 'git add' would take.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HIDDEN_H
#define EWS_WORK_HIDDEN_H

#include "store/index.h"
#include "work/content.h"

/*
 * Take out of `content` what git tracks neither in `index` nor in `stored`, and what is ignored or lies in a nested repository:
 * by what stands there now, and, where `base` has it, by that. What `base` has exactly so goes by that alone, but for what lay
 * in a repository then; what it has and git saw then is taken for seen. The rules that lie outside of the files are those of
 * now, and those that `session` began with. What git knows as a submodule becomes one, as a repository at the commit at which it
 * stands in the project, which is open as `root_fd`; below 0, where that is of another time, at the one that git knows.
 *
 * `out` gets "<path>\t<reason>" of what is new or changed since `base`, and a repository that came or moved on, but for what became a
 * submodule at its commit, with what is in one that moved on; of a directory that is new, that alone.
 */
int ews_hidden_drop(struct ews_strv *out, struct ews_content *content, const struct ews_session *session, int root_fd,
		    const struct ews_index *index, const struct ews_entries *stored, const struct ews_content *base);

#endif
