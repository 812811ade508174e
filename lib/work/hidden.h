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
 * by what stands there now, and, where `base` has it, by that. What `base` has exactly so goes by that alone; what it has
 * and git saw then is taken for seen. The rules that lie outside of the files are those of now, and those that `session` began
 * with. A nested repository that git knows as a submodule becomes one.
 *
 * `out` gets "<path>\t<reason>" of what is new or changed since `base`; of a directory that is new, that alone.
 */
int ews_hidden_drop(struct ews_strv *out, struct ews_content *content, const struct ews_session *session,
		    const struct ews_index *index, const struct ews_entries *stored, const struct ews_content *base);

#endif
