/*
 * --changes of verbs that take something away: what lay between two states, one of which is kept.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CHANGES_OPT_H
#define EWS_CMD_CHANGES_OPT_H

#include "cmd/cmd.h"
#include "cmd/render_diff.h"

/* The row of an option table. */
#define EWS_CHANGES_OPT(word) \
	EWS_OPT_STRING(0, "changes", word, "summary|files|diff|none", "how much to show of the changes")

/* What the option's `word` (NULL: not given) means: the summary, where nobody has asked for quiet. Fails with EWS_EUSAGE. */
int ews_changes_opt_read(enum ews_changes_mode *out, const struct ews_cmd_ctx *ctx, const char *word);

/* Which changes. */
struct ews_changes_opt {
	enum ews_changes_mode mode;
	struct ews_session *session; /* for "now" */
	const char *from, *to; /* snapshots, `to` also "now"; NULL: nothing differs */
	char *const *paths; /* limited to these; NULL: all */
	const char *unsaid; /* in what words what no patch can hold is named, "not in the patch"; NULL: it is not */
	const struct ews_strv *said; /* lines of these that are said elsewhere */
	struct ews_changes_ahead *ahead; /* NULL: nothing was begun */
};

/*
 * Begin to count what lies between the trees of the two snapshots while the verb goes on, where figures are all that is
 * asked for. What fails is said by who shows it.
 */
void ews_changes_opt_begin(const struct ews_cmd_ctx *ctx, struct ews_changes_opt *what, const struct ews_oid *from,
			   const struct ews_oid *to);
/* The same as an ews_kept_fn, of what a revert is about to take back; its payload is this. */
struct ews_changes_counting {
	const struct ews_cmd_ctx *ctx;
	struct ews_changes_opt *changes;
};
void ews_changes_opt_count_kept(void *counting, const struct ews_oid *target, const struct ews_oid *tree);
void ews_changes_opt_release(struct ews_changes_opt *what);
EWS_CLEANUP_DEFINE(changes_opt, struct ews_changes_opt, ews_changes_opt_release)

/*
 * Of a revert that is over: what was taken back is what differed from where it is now, as `kept` (may be NULL) has it, on a dry run the
 * present state. Of what is not proven nothing is said.
 */
void ews_changes_opt_settle(struct ews_changes_opt *what, const char *kept, bool is_proven, bool dry_run);

/* Show them on stderr. The verb has done its work: what can't be shown is a warning. */
void ews_changes_opt_talk(const struct ews_cmd_ctx *ctx, const struct ews_changes_opt *what);
/* Add them to `object` as "changes"; null where none are wanted or can be told. */
void ews_changes_opt_json(cJSON *object, const struct ews_cmd_ctx *ctx, const struct ews_changes_opt *what);

#endif
