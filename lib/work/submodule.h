/*
 * Submodules: those of the project are filled in a new workspace, too.
 *
 * Each gets its files as they stand in the project (where the twin has it from a commit: as that commit of its own has
 * them) and a repository of its own, as the method snapshot makes one: a directory ".git" that borrows the
 * objects of the project's own `modules/<name>`. Nothing is fetched and nothing is written there. What happens in it
 * afterwards is the agent's: a snapshot has the commit that is recorded for it and says that it did not look further, and
 * no verb empties it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SUBMODULE_H
#define EWS_WORK_SUBMODULE_H

#include "base/progress_fn.h"
#include "work/content.h"
#include "work/method.h"

struct ews_submodule_opts {
	const struct ews_place *place; /* of the workspace */
	const char *project;
	ews_progress_fn progress; /* how many of them are done */
	void *payload;
};

/*
 * Fill those of `twin`'s gitlinks in the workspace that are filled in the project. The
 * paths of those that are now go into `filled`; why another is not into `notes`, as a sentence. Where names keep their order
 * (ews_fs_keeps_order) that all of it lasts is left to the next sync of a name in the workspace.
 */
int ews_submodule_fill_all(struct ews_strv *filled, struct ews_strv *notes, const struct ews_content *twin,
			   const struct ews_submodule_opts *opts);

#endif
