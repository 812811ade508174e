/*
 * The kernel: what it lets a process have.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_KERNEL_H
#define EWS_BASE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* May this process have a user namespace of its own? A child tries. */
bool ews_kernel_has_user_namespaces(void);

/* Does it filter system calls (seccomp)? */
bool ews_kernel_has_filters(void);

/* The number in "/proc/sys/<name>". Fails with EWS_ENOTFOUND where there is none. */
int ews_kernel_limit(uint64_t *out, const char *name);

#endif
