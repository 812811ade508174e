/*
 * Warm: what a command is going to read, in memory before it is measured.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_PERF_WARM_H
#define EWS_PERF_WARM_H

/*
 * Have the kernel hold what the file `path` has, or all files below it. It may have let go of that since the last turn: what
 * was not read for some seconds is the first to go when memory is reclaimed, and a full check takes longer than that.
 */
void warm(const char *path);

/*
 * How much the kernel has let go of since it began, of files and of what it knows of them; 0: it does not say. What was warm is
 * so still when that has not grown.
 */
unsigned long long warm_reclaimed(void);

#endif
