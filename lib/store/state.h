/*
 * Session state: state.json, the file that says what a session is.
 *
 * Replaced by write, fsync, rename; versioned. It lies in our own home, yet it is
 * read as hostile input: no path is taken from it without being checked against where
 * it must lie.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_STATE_H
#define EWS_STORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/kin.h"

enum ews_session_state {
	EWS_STATE_STARTING = 1,
	EWS_STATE_ACTIVE,
	EWS_STATE_ENDING,
	EWS_STATE_ENDED,
};

struct ews_state {
	enum ews_session_state state;
	char *id;
	char *method; /* "worktree" */
	char *project; /* the work tree that it twins */
	char *git_dir; /* the project's git directory */
	char *workspace; /* absolute */
	char *base_snapshot; /* "snap-..." */
	char *worktree_mark; /* what tells the work tree that it was made in from one that is made anew under its name (ews_linked_mark()); "": nobody noted it */
	char *parent_snapshot; /* of a chained one what its workspace began with; "" for others, whose base that is */
	char *base_commit; /* hex: the project's commit that HEAD of the workspace was at; "" when unborn */
	char *branch; /* the project's branch at start, or "" */
	char *intent, *label; /* or "" */
	char *last_snapshot; /* the newest snapshot, parent of the next; "" none */
	char *exclude; /* rules for what is not looked at, as text; those that held when it started */
	bool copies_objects; /* --copy-objects */
	bool keeps_nested; /* --nested=record */
	bool keeps_ignored; /* ignored files came along, and a list of them was written */
	int64_t created_s;
	int64_t ended_s; /* 0: not yet */
	struct ews_kin owner; /* the `run` or `shell` that is at work in it; its lock says whether it lives */
	char *guard_level,
		*guard_policy; /* of the last `run` or `shell`: "auto", "read-only"; "" before there was one */
	bool guard_enforced; /* by the kernel */
	bool guard_offline; /* no network was let */
	bool project_changed; /* while a command ran in it */
	bool is_overruled; /* it ended in the project itself while git was told to work elsewhere, or nowhere */
	bool is_left_behind; /* it is at work in the project itself, out of which the git directory was moved alone */
	int64_t epoch; /* the project's when it started; below 0: it was not known */
	unsigned port_base; /* the first of its ports; 0: none */
};

#define EWS_STATE_INIT { 0 }

/* Read `state.json` in the session's directory. Fails with EWS_EDAMAGED, or EWS_EUNSUPPORTED when a newer version wrote it. */
int ews_state_read(struct ews_state *out, int session_fd);
/* The hint where ews_state_read() failed for good with `rc`, or what it read makes no sense; `dir`: the session's directory. */
void ews_state_advise(int rc, const char *dir);
/*
 * Is there a session `name` in the directory `sessions_fd`, and does its state say that it has ended? 1 or 0; fails where that
 * can't be read just now (EWS_EIO).
 */
int ews_state_has_ended(int sessions_fd, const char *name);
/* The same of its `len` bytes, and what is written there. */
int ews_state_parse(struct ews_state *out, const char *text, size_t len);
void ews_state_format(struct ews_buf *out, const struct ews_state *state);
int ews_state_write(int session_fd, const struct ews_state *state);
const char *ews_state_word(enum ews_session_state state);
void ews_state_release(struct ews_state *state);
EWS_CLEANUP_DEFINE(state, struct ews_state, ews_state_release)

#endif
