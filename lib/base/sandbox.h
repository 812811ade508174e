/*
 * Sandboxes: a child that can write only where it is let, and reach no network.
 *
 * Writing is held by Landlock, with all rights that its kernel knows: making,
 * removing, renaming, linking and truncating count as writing, reading and
 * executing stay free. Beside what the caller names, the devices that any program
 * takes for granted (/dev/null, terminals, ...) can be written, and what
 * the standard descriptors already write to, so that `echo >/dev/stderr` works. Where
 * the kernel knows how (ABI 6), signals and abstract sockets reach nobody outside.
 * Root is held as others are; it loses the capabilities that lead round the files
 * (kernel modules, raw devices, eBPF, another kernel, the administrator's).
 * Nobody can type into a terminal in its user's stead (TIOCSTI).
 *
 * No kernel before ABI 7 closes these: modes, owners, times and attributes of
 * outside files, sockets that have a path, System V shared memory, and what is sent
 * to other terminals of the same user. /dev/shm is no device and is not let: programs that
 * want POSIX semaphores (python's multiprocessing) need it, but what lies there
 * belongs to all programs of the user, a project perhaps; the caller knows.
 *
 * The network is held by seccomp: no socket but a Unix one, in no calling
 * convention of the machine; and where Landlock knows TCP (ABI 4) by that as well,
 * for sockets that were handed in.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SANDBOX_H
#define EWS_BASE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct ews_sandbox;

struct ews_sandbox_opts {
	/* Directories (with all below) and files; O_PATH will do. Needed until ews_sandbox_new() is back. */
	const int *writable_fds;
	size_t writable_n;
	/* Leave files, signals and capabilities alone: for no_network where Landlock can't be had. */
	bool write_anywhere;
	bool no_network;
	/* What stays open beside 0 to 2, also over exec. */
	const int *keep_fds;
	size_t keep_n;
};

/* The ABI of this kernel's Landlock; 0: it has none that can be used. */
int ews_sandbox_abi(void);

/* Can this kernel confine writing (Landlock, ABI 3 or later)? `why` says why not; it lives until this thread asks again. */
bool ews_sandbox_is_available(const char **why);

/* The devices that any sandbox lets be written, NULL-ended. */
extern const char *const ews_sandbox_devices[];

/* Make a sandbox for one child. EWS_EUNSUPPORTED: not available, and not `write_anywhere`. */
int ews_sandbox_new(struct ews_sandbox **out, const struct ews_sandbox_opts *opts);

/*
 * Lock this process in for good, and all that it starts; it gains no rights by exec any more (no_new_privs).
 *
 * For the child after fork, between the setting up of its standard
 * descriptors and exec: async-signal-safe. Closes all descriptors but 0 to 2
 * and the kept ones. Returns 0, or -errno: then the child must not go on.
 */
int ews_sandbox_enter(const struct ews_sandbox *sandbox);

/* In the parent; NULL is fine. */
void ews_sandbox_free(struct ews_sandbox *sandbox);

EWS_CLEANUP_DEFINE_PTR(sandbox, struct ews_sandbox, ews_sandbox_free)

#endif
