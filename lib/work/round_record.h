/*
 * Round records: which rounds there are, whose they are, and what others call whom.
 *
 *     <home>/working/<repo>/rounds/<team>/<round>.json
 *
 * A record is written before there is anything else of its round, and tells what can't be seen elsewhere: the session of the
 * round's name says whether it goes on, refs/ews/<round> what it came to, and with that ref it is over for good. Nothing in a workspace, its path or
 * its session names the agent: that is here alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ROUND_RECORD_H
#define EWS_WORK_ROUND_RECORD_H

#include "base/error.h"
#include "base/strv.h"
#include "work/session.h"

#define EWS_REF_ROUNDS "refs/ews/" /* and eight hex digits: git reads "ews/<round>" as that */
#define EWS_REF_TRASH_ROUNDS "refs/ews/trash/rounds/"
#define EWS_ROUND_ID_LEN 8

struct ews_round {
	char *id; /* eight hex digits, of its session as well */
	char *team, *agent;
	char *alias; /* what others call the agent: "agent1"; as recorded, where one record alone was read */
	char *label; /* the branch that was asked for; "" none */
	char *branch; /* the one that was made, or was about to be; "" none */
	char *archive; /* where its scratch was copied to; "" nowhere yet */
	char *base; /* hex of the commit that its work is compared with; "" before there is one */
	int64_t sequence; /* order of a team's rounds */
	int64_t created_s;
	bool is_settled; /* all that it began with was made */
	bool is_branched; /* the branch was made */
	struct ews_oid branch_at; /* where we have put it last; none: nobody noted it */
	bool owns_scratch; /* it was made for this round in the project itself, and goes with it */
	/* Not recorded, but found. */
	bool is_open; /* its session has not ended */
	struct ews_oid tip; /* what its ref holds; none: it has gone */
};

/* One whose record, session or ref can't be read. */
struct ews_round_unread {
	char *id;
	struct ews_error_saved why;
};

struct ews_rounds {
	struct ews_round *items; /* the oldest first */
	size_t n, cap;
	struct ews_round_unread *unread;
	size_t n_unread, unread_cap;
	struct ews_strv aliases; /* all that are recorded, also those that an agent is not called by now, and may be again */
};

#define EWS_ROUNDS_INIT { .aliases = EWS_STRV_INIT }

/* May a team or an agent (`what`) be called `name`? As session's ids. Fails with EWS_EUSAGE. */
int ews_round_check_name(const char *what, const char *name);

/* Is it the name of a round: eight hex digits? */
bool ews_round_is_id(const char *id);

/* The names of all teams. */
int ews_round_teams(struct ews_strv *out, struct ews_repo *repo);
/* The ids of all rounds of all teams, as their records are called. */
int ews_round_ids(struct ews_strv *out, struct ews_repo *repo);

/* All records of `team`. Nothing is written. Fails with EWS_EDAMAGED on one that makes no sense, naming it. */
int ews_rounds_read(struct ews_rounds *out, struct ews_repo *repo, const char *team);
/* Those that can be read, and what the others are called. */
int ews_rounds_read_sound(struct ews_rounds *out, struct ews_repo *repo, const char *team);
/* Of all teams those that can't, each as "<why>\t<what to do>". */
int ews_rounds_damaged(struct ews_strv *out, struct ews_repo *repo);
/* The record of the round `id` of `team` alone. Fails with EWS_ENOTFOUND when there is none. */
int ews_round_read(struct ews_round *out, struct ews_repo *repo, const char *team, const char *id);

/* Write its record, or remove it, durably. */
int ews_round_write(struct ews_repo *repo, const struct ews_round *round);
int ews_round_forget(struct ews_repo *repo, const struct ews_round *round);

/* One record's bytes. Fails with EWS_EDAMAGED or EWS_EUNSUPPORTED. */
int ews_round_parse(struct ews_round *out, const char *text, size_t len);
void ews_round_format(struct ews_buf *out, const struct ews_round *round);

/*
 * What others call `agent`: his name, when that tells nothing ("agent3"); else what they called him before, unless another agent has
 * that name, or the first of "agent1", "agent2", ... that is free and nobody has been called. The caller frees it.
 */
char *ews_round_alias(const struct ews_rounds *rounds, const char *agent);

void ews_round_copy(struct ews_round *out, const struct ews_round *from);
void ews_round_release(struct ews_round *round);
void ews_rounds_release(struct ews_rounds *rounds);
EWS_CLEANUP_DEFINE(round, struct ews_round, ews_round_release)
EWS_CLEANUP_DEFINE(rounds, struct ews_rounds, ews_rounds_release)

#endif
