/*
 * The refs of a step: see step_refs.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/step_refs.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/commit.h"

#define TOGETHER_MAX 64 /* refs that are named together: each has some descriptors until it is */

static int need_object(struct ews_repo *repo, const char *name, const struct ews_oid *oid)
{
	enum ews_object_type type;
	int rc = ews_odb_still_has(repo->odb, oid) ? 0 : ews_odb_read_header(&type, NULL, repo->odb, oid);

	if (rc != EWS_ENOTFOUND)
		return rc;
	return ews_error(EWS_ENOTFOUND, "what the ref '%s' led to is gone: trash has let go of it", name);
}

static int add_name(struct ews_repo *repo, const char *name, const struct ews_oid *oid)
{
	struct ews_oid there;
	int rc = ews_odb_ref_read(&there, repo->odb, name);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		rc = need_object(repo, name, oid);
		return rc < 0 ? rc : ews_odb_ref_swap(repo->odb, name, NULL, oid);
	}
	if (rc == 0 && !ews_oid_equal(&there, oid))
		rc = ews_error(EWS_EEXISTS, "the ref '%s' holds something else", name);
	return rc;
}

/* What is done with a ref that has, or is to have, two names. */
enum turn {
	ADD = 1, /* the new one is there */
	DROP = 2, /* the old one is gone */
};

/* Cut the line in pieces: it begins with the old name, `*to` is the new one. */
static int split_ref(struct ews_oid *oid, char **to, char *line, const struct ews_step *step)
{
	char *hex;

	*to = strchr(line, ' ');
	hex = *to ? strchr(*to + 1, ' ') : NULL;
	if (!hex)
		return ews_error(EWS_EDAMAGED, "step '%s' names a ref that makes no sense", step->id);
	*(*to)++ = '\0';
	*hex++ = '\0';
	if (!ews_str_begins(line, "refs/ews/") || !ews_str_begins(*to, "refs/ews/"))
		return ews_error(EWS_EDAMAGED, "step '%s' names a ref that is not ours", step->id);
	return ews_oid_parse(oid, hex);
}

/* Is what has that name another commit of the snapshot `id`? Then `*oid` becomes that one. */
static int take_rewritten(struct ews_oid *oid, struct ews_repo *repo, const char *name, const char *id)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	EWS_CLEANUP(free) char *said = NULL;
	struct ews_oid there;
	int rc = ews_odb_ref_read(&there, repo->odb, name);

	if (rc == 0 && !ews_oid_equal(&there, oid)) {
		rc = ews_odb_read_commit(&commit, repo->odb, &there);
		said = rc < 0 ? NULL : ews_commit_trailer(commit.message, "Ews-Snapshot");
		if (said && !strcmp(said, id))
			*oid = there;
	}
	/* Whatever else is there whoever moves the ref will say. */
	return rc < 0 ? ews_error_if_passing(rc) : 0;
}

/*
 * Split, and `*oid` as it is by now: since the line was written somebody may have rewritten the commit of a snapshot, whose name in trash
 * is its id, or put it back (work/snapshot_rewritten). Who carries the step out has just read it.
 */
static int read_ref(struct ews_oid *oid, char **to, char *line, struct ews_repo *repo, const struct ews_step *step)
{
	int rc = split_ref(oid, to, line, step);
	const char *id = rc == 0 ? ews_str_after(*to, EWS_REF_TRASH) : NULL;

	if (!id || step->state == EWS_STEP_PLANNED)
		return rc;
	rc = take_rewritten(oid, repo, line, id);
	return rc < 0 ? rc : take_rewritten(oid, repo, *to, id);
}

/* A step whose refs move. */
struct moving {
	struct ews_repo *repo;
	const struct ews_step *step;
	bool back;
	unsigned turns; /* enum turn */
	struct ews_refs old; /* the old names of those that have the new one */
	struct ews_error_saved first; /* the first that could not move, where the others can: ews_step_note() */
};

static void release_moving(struct moving *moving)
{
	ews_refs_release(&moving->old);
	ews_error_saved_release(&moving->first);
}

EWS_CLEANUP_DEFINE(moving, struct moving, release_moving)

static int take_turn(struct moving *moving, const char *line)
{
	EWS_CLEANUP(free) char *from = ews_strdup(line);
	struct ews_oid oid;
	char *to;
	int rc = read_ref(&oid, &to, from, moving->repo, moving->step);

	if (rc == 0 && (moving->turns & ADD))
		rc = add_name(moving->repo, moving->back ? from : to, &oid);
	if (rc == 0) {
		EWS_GROW(moving->old.items, moving->old.n, moving->old.cap);
		moving->old.items[moving->old.n++] =
			(struct ews_ref){ .name = ews_strdup(moving->back ? to : from), .oid = oid };
	}
	return ews_step_note(&moving->first, rc);
}

/*
 * All new names, some together. Under a group of the caller's they are there when that is finished. Where one of ours fails no other line
 * goes on, whatever it fails with, as with ews_step_each() some would: the old names of what it held must stay.
 */
static int add_names(struct moving *moving)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	const struct ews_strv *lines = &moving->step->refs;
	const bool is_alone = !ews_sync_current();
	int rc = 0;

	if (is_alone)
		ews_sync_begin(&group);
	for (size_t i = 0; i < lines->n && rc == 0; i++) {
		rc = take_turn(moving, lines->items[i]);
		/* What the group holds may be what this one lacks. */
		if (rc < 0 && is_alone && group.n && ews_error_wants_descriptors()) {
			rc = ews_sync_begin_anew(&group);
			if (rc == 0)
				rc = take_turn(moving, lines->items[i]);
		}
		if (rc == 0 && is_alone && group.n >= TOGETHER_MAX)
			rc = ews_sync_begin_anew(&group);
	}
	return rc == 0 && is_alone ? ews_sync_finish(&group) : rc;
}

/* New names first: a crash between leaves both, never none. */
static int move_all(struct ews_repo *repo, const struct ews_step *step, bool back, unsigned turns)
{
	EWS_CLEANUP(moving)
	struct moving moving = { repo, step, back, turns, EWS_REFS_INIT, EWS_ERROR_SAVED_INIT };
	int rc = add_names(&moving);

	if (rc == 0 && (turns & DROP))
		rc = ews_step_note(&moving.first,
				   ews_odb_ref_drop_all(repo->odb, moving.old.items, moving.old.n, NULL, NULL));
	if (rc < 0)
		return rc;
	return moving.first.code ? ews_error_restore(&moving.first) : 0;
}

/* Is there no ref of that name that holds anything else than `oid`? */
static int check_name(struct ews_repo *repo, const char *name, const struct ews_oid *oid)
{
	struct ews_oid there;
	int rc = ews_odb_ref_read(&there, repo->odb, name);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0 || ews_oid_equal(&there, oid))
		return rc;
	return ews_error(EWS_ESTALE, "the ref '%s' has moved since, and is left where it is", name);
}

/* Something that is to be known of a ref which has, or is to have, the names `from` and `to`. */
typedef int (*ask_fn)(struct ews_repo *repo, const char *from, const char *to, const struct ews_oid *oid);

static int check_both_names(struct ews_repo *repo, const char *from, const char *to, const struct ews_oid *oid)
{
	int rc = check_name(repo, from, oid);

	return rc < 0 ? rc : check_name(repo, to, oid);
}

static int find_object(struct ews_repo *repo, const char *from, const char *to, const struct ews_oid *oid)
{
	(void)to;
	return need_object(repo, from, oid);
}

/* Ask of each ref of the step, until one is not as it should be. */
static int ask_of_all(struct ews_repo *repo, const struct ews_step *step, ask_fn ask)
{
	int rc = 0;

	for (size_t i = 0; i < step->refs.n && rc == 0; i++) {
		EWS_CLEANUP(free) char *line = ews_strdup(step->refs.items[i]);
		struct ews_oid oid;
		char *to;

		rc = read_ref(&oid, &to, line, repo, step);
		if (rc == 0)
			rc = ask(repo, line, to, &oid);
	}
	return rc;
}

int ews_step_refs_move(struct ews_repo *repo, const struct ews_step *step, bool back)
{
	assert(!ews_sync_current());
	return move_all(repo, step, back, ADD | DROP);
}

int ews_step_refs_find(struct ews_repo *repo, const struct ews_step *step)
{
	return ask_of_all(repo, step, find_object);
}

int ews_step_refs_check(struct ews_repo *repo, const struct ews_step *step)
{
	return ask_of_all(repo, step, check_both_names);
}

int ews_step_refs_add(struct ews_repo *repo, const struct ews_step *step)
{
	return move_all(repo, step, false, ADD);
}

int ews_step_refs_drop(struct ews_repo *repo, const struct ews_step *step)
{
	return move_all(repo, step, false, DROP);
}
