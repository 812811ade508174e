/*
 * Kin: what /proc tells of processes: which they are, whether they live, and whose children.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_KIN_H
#define EWS_BASE_KIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define EWS_BOOT_ID_MAX 64

/* One process and no other: numbers are given again, but not with the same start time after the same boot. */
struct ews_kin {
	pid_t pid; /* 0: none */
	uint64_t start_time; /* clock ticks since boot; 0 where it can't be told */
	char boot_id[EWS_BOOT_ID_MAX];
};

#define EWS_KIN_INIT { 0, 0, "" }

/* This process. */
void ews_kin_self(struct ews_kin *out);

/* Is it one process? Numbers are given away again. */
bool ews_kin_is_same(const struct ews_kin *a, const struct ews_kin *b);
/* Is it this one? */
bool ews_kin_is_self(const struct ews_kin *kin);

/* The parent of a process, 0 when it can't be told. */
pid_t ews_kin_parent(pid_t pid);

/* Append "<name> (<pid>)". */
void ews_kin_name(struct ews_buf *out, pid_t pid);

struct ews_kin_list {
	pid_t *items;
	size_t n, cap;
};

#define EWS_KIN_LIST_INIT { NULL, 0, 0 }

/*
 * The living processes that descend from this one, parents before their children, without those of `before` (may
 * be NULL) and what descends from these. Processes that have ended and wait to be reaped don't count.
 */
void ews_kin_descendants(struct ews_kin_list *out, const struct ews_kin_list *before);

/* The children that live, which costs nothing where there are none. Whoever becomes another program by execve has those of the one before. */
void ews_kin_children(struct ews_kin_list *out);

/* Their numbers, with commas between; "" for none. The caller frees it. */
char *ews_kin_list_print(const struct ews_kin_list *list);

/* The same read: what is no number ends the list. */
void ews_kin_list_read(struct ews_kin_list *out, const char *text);

/*
 * End them: SIGTERM to each, and SIGKILL to those that are there `grace_ms` later, until none is left. What becomes an
 * orphan meanwhile must become our child (PR_SET_CHILD_SUBREAPER), or it escapes.
 */
void ews_kin_end(const struct ews_kin_list *before, unsigned grace_ms);

void ews_kin_list_release(struct ews_kin_list *list);
EWS_CLEANUP_DEFINE(kin_list, struct ews_kin_list, ews_kin_list_release)

#endif
