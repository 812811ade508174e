/*
 * Holdings: who may work on a repository. One deep holder is alone, quick ones stand side by side.
 *
 * The key is the repository: all its worktrees and subdirectories have one directory of locks in home. Each holder, and
 * each who waits, is a file there, and what counts is its name:
 *
 *     <mode>:session:<id>           held for a session, until it is released or that ends
 *     <mode>:owner:<id>             the same, for one that a command has made: no longer than that lives
 *     <mode>:command:<id>           held by a process
 *     wait:<turn>:<mode>:<kind>:<id>     a process that waits in line
 *
 * What stands in the files (process, start time, boot, pid namespace, intent) is for people. One that is empty or
 * garbage holds as well as any other, and no better. Whether it still does is asked elsewhere:
 *
 *     of a process, the kernel: it has the file locked by an open-file-description lock (fcntl_locking(2)) on a
 *     close-on-exec descriptor, which goes when the process does, whatever number is given to whom; its children don't
 *     have it;
 *     of a session, its state: it has not ended, and if it was made by a command (owner), that has not died.
 *
 * Algorithm: a readers-writer lock with tickets (Mellor-Crummey and Scott, "Scalable Reader-Writer Synchronization for
 * Shared-Memory Multiprocessors", PPoPP 1991: fair, readers and writers served in the order in which they came).
 * Names come and go under a gate, a lock that is held for moments. Invariants, each time the gate is free:
 *
 *     (1) a living deep holder has no living holder beside it, but those that it made itself (`within`);
 *     (2) a turn is given to no two that wait at the same time, and a later one is higher than each living one;
 *     (3) nobody is let in past a living one that waits with a lower turn and that he is in the way of, but who holds
 *         already: he would wait for those who wait for him.
 *
 * From (2) and (3): of n that wait each gets it after n - 1 others at most, and who waits for the deep lock is not kept
 * waiting by quick ones that come and go. Two sessions that hold it quick and both wait for deep would wait
 * for each other: the second is refused.
 *
 * Order: the gate comes last, when a session's or the project's lock (store/lock) may be held, and nothing is taken
 * under it. Who waits holds nothing else but what he holds here.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HOLDING_H
#define EWS_WORK_HOLDING_H

#include "work/session.h"

enum ews_holding_mode {
	EWS_HOLDING_QUICK = 1,
	EWS_HOLDING_DEEP,
};

enum ews_holding_kind {
	EWS_HOLDING_SESSION = 1,
	EWS_HOLDING_OWNER,
	EWS_HOLDING_COMMAND,
};

/* One that holds, or waits. */
struct ews_holding {
	enum ews_holding_mode mode;
	enum ews_holding_kind kind;
	char *id; /* of the session, or "lock-..." */
	uint64_t turn; /* 0: it holds; else its place in line */
	/* What it says of itself, for people: */
	struct ews_kin process; /* pid 0: not known */
	char *pid_namespace; /* or "" */
	char *session; /* that a process works in, or "" */
	char *intent; /* or "" */
	int64_t since_s;
	bool is_elsewhere; /* the process counts in another pid namespace, or ran before the machine was started */
	bool is_unread; /* what it says of itself could not be read just now */
};

struct ews_holdings {
	struct ews_holding *items; /* who holds, deep before quick, oldest first; then who waits, by turn */
	size_t n, cap;
};

#define EWS_HOLDINGS_INIT { NULL, 0, 0 }

struct ews_holding_opts {
	enum ews_holding_mode mode;
	const char *session; /* hold it for that one; NULL: for this process, as long as `out` is not released */
	bool is_owned; /* the session was made by a command */
	const char *within; /* the session that the caller works in: what that holds is not in his way; may be NULL */
	const char *beside; /* the id of what this process holds itself, and is not in its way either; may be NULL */
	const char *intent; /* may be NULL */
	uint64_t wait_ms; /* 0: try once */
};

/* What a process holds. */
struct ews_held {
	char *id;
	struct ews_lock lock;
};

#define EWS_HELD_INIT { NULL, EWS_LOCK_INIT }

/* The variable in which a command, and what it starts, is told the ids of what is held for it. */
#define EWS_HOLDING_ENV "EWS_LOCK"

/*
 * Take it, waiting in line at most `wait_ms`. For a session `out` stays empty; one that holds it in the other
 * mode changes over. Fails with EWS_EBUSY, naming who is in the way; EWS_ENOTFOUND when the session ended meanwhile.
 */
int ews_holding_take(struct ews_held *out, struct ews_repo *repo, const struct ews_holding_opts *opts);

void ews_held_release(struct ews_held *held);
EWS_CLEANUP_DEFINE(held, struct ews_held, ews_held_release)

/* How a session holds it when nobody says: deep in place, else quick. */
enum ews_holding_mode ews_holding_usual(const struct ews_method *method);
/* Take it for the session, which is locked by us, from its start on, or when it comes back. `mode` 0: as usual. */
int ews_holding_take_usual(struct ews_session *session, enum ews_holding_mode mode);
/* The session that the caller works in, by directory or environment; borrowed, may be NULL. */
const char *ews_holding_within(const struct ews_repo *repo);

/* Let go of what is held for the session `id`. Returns 1 when something was. */
int ews_holding_drop(struct ews_repo *repo, const char *id);

/* How (enum ews_holding_mode) does the session hold it? 0: not at all. Fails where that can't be seen just now (EWS_EIO). */
int ews_holding_of(struct ews_repo *repo, const char *id);

/* All that hold it or wait. */
int ews_holding_list(struct ews_holdings *out, struct ews_repo *repo);

/* Is a file of that name in the directory of locks one of ours? */
bool ews_holding_is_name(const char *name);
/* Remove the files of those that are dead. */
int ews_holding_sweep(struct ews_repo *repo);

/* "deep", "quick" */
const char *ews_holding_word(enum ews_holding_mode mode);
/* "session 'try'", "process 12" */
void ews_holding_name(struct ews_buf *out, const struct ews_holding *holding);

void ews_holdings_release(struct ews_holdings *list);
EWS_CLEANUP_DEFINE(holdings, struct ews_holdings, ews_holdings_release)

#endif
