/*
 * Locks: one writer a thing, freed by the kernel when its holder dies.
 *
 * A lock is a file below `<home>/working/<repo>/locks/` that its holder has
 * locked by an open-file-description lock on a close-on-exec descriptor. The
 * text in it (pid, start time, boot id, verb) is for people; it proves
 * nothing, and garbage in it stops nobody; nor does what is no file. The holder removes the file while it
 * still holds the lock; who waited looks again whether the file is the one it
 * locked.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LOCK_H
#define EWS_STORE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/strv.h"

struct ews_lock {
	int fd; /* -1: not held */
	int dir_fd; /* our own copy */
	char *name;
};

#define EWS_LOCK_INIT { -1, -1, NULL }

/* Where a project's lie, below its directory. */
#define EWS_LOCKS "locks"

/* Whose holder changes the project itself. What begins so is no session's id. */
#define EWS_LOCK_PROJECT "~project"
/* For those who hold it for moments, and need nothing that is under it meanwhile. */
#define EWS_LOCK_PROJECT_WAIT_MS 30000

/* The verb of holders that sweep: they hold a lock for moments, and whoever wants it waits for them a little. */
#define EWS_LOCK_SWEEP "sweep"

/*
 * Take the lock `name` beneath `dir_fd`, waiting at most `wait_ms` (0: try
 * once). `verb` is written into the file for people.
 *
 * On success `out` owns the lock until ews_lock_release(). Fails with
 * EWS_EBUSY while another process holds it; the sentence names the holder.
 */
int ews_lock_take(struct ews_lock *out, int dir_fd, const char *name, const char *verb, unsigned wait_ms);

/* Replace what stands in the file, which is for people: failing to is no failure. */
void ews_lock_note(const struct ews_lock *lock, const void *text, size_t len);

/*
 * Add the line "<word> <value>" to it, for the program that this process may become by execve (ews_lock_list_left): likewise.
 */
void ews_lock_note_also(const struct ews_lock *lock, const char *word, const char *value);

/* What such a line says in the file `name` beneath `dir_fd`; NULL: there is none. The caller frees it. */
char *ews_lock_noted(int dir_fd, const char *name, const char *word);

/* Does some process hold it now? A lock file that nobody holds is no lock; one that can't be looked at just now may be held, and counts. */
bool ews_lock_is_held(int dir_fd, const char *name);
/*
 * The name, as people are told it, of one that is held in the project whose directory is `dir_fd`. NULL: none is. The caller frees
 * `*out`. Fails where that can't be looked at just now.
 */
int ews_lock_find_held(char **out, int dir_fd);

/*
 * The names, sorted, of those beneath `dir_fd` whose files name this process: it held them before it became the program that it is, by
 * execve. Someone else may hold one by now, as does a child of ours for as long as it has not become a program of its own.
 */
int ews_lock_list_left(struct ews_strv *out, int dir_fd);

void ews_lock_release(struct ews_lock *lock);
EWS_CLEANUP_DEFINE(lock, struct ews_lock, ews_lock_release)

#endif
