/*
 * Commands for what a tripwire found: the words that take each difference back, or show it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRIPWIRE_COMMANDS_H
#define EWS_WORK_TRIPWIRE_COMMANDS_H

#include "work/tripwire.h"

/*
 * For each ref that moved, came or went, and each stash that went, the command that takes that back. Of one that came, and that or
 * whose log names a commit to which refs that were there don't lead, both from where they stood and from where they stand, it is
 * the one that shows it, which begins with EWS_TRIPWIRE_SHOW: to delete it would lose that. So it is of a tag with a message
 * (EWS_TRIPWIRE_SHOW_TAG), and of stashes that came, EWS_TRIPWIRE_STASHES for all of them.
 */
#define EWS_TRIPWIRE_SHOW "git log "
#define EWS_TRIPWIRE_SHOW_TAG "git show "
#define EWS_TRIPWIRE_STASHES "git stash list"
void ews_tripwire_ref_commands(struct ews_strv *out, const struct ews_tripwire *before,
			       const struct ews_tripwire *after, const struct ews_repo *repo);
/*
 * For each sentence of ews_tripwire_compare() the command that takes that back, or shows it, in the same order; "" where there is none.
 * What files held is taken from the copies in the directory `kept`, an absolute path.
 */
void ews_tripwire_commands(struct ews_strv *out, const struct ews_tripwire *before,
			   const struct ews_tripwire *after, const struct ews_repo *repo, const char *kept);

#endif
