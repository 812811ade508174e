/*
 * The reserve: some space in home that is kept for the day when the disk is full.
 *
 *     <home>/reserve
 *
 * Taking something back writes, too: what is there is kept first, and the journal says what is done. So
 * that it works on a full disk, the verbs that take back, and the end, which is how space is made, give the reserve to
 * the file system when that has less left, and it is put aside anew when there is plenty. What begins something new does not
 * take what its undo may need. Where home lies on another file system than the project, it helps home alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_RESERVE_H
#define EWS_STORE_RESERVE_H

#include <stdbool.h>

#define EWS_RESERVE_BYTES (1024 * 1024)

/* Put it aside where it is not, or not whole, and there is plenty of space. Best effort. */
void ews_reserve_make(const char *home);

/* Is it there, and whole? */
bool ews_reserve_is_there(const char *home);

/* Give it up. Returns whether there was one. */
bool ews_reserve_free(const char *home);

/* Give it up when the file system has less than that left. */
void ews_reserve_ease(const char *home);

#endif
