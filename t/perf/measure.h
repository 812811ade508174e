/*
 * Measure: one run of a command, with its time, its memory and its system calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_PERF_MEASURE_H
#define EWS_PERF_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#define SAMPLES_MAX 64

/* What several runs of the same command cost. */
struct cost {
	double ms[SAMPLES_MAX];
	size_t n;
	long peak_kib; /* the largest resident size of it, or of a child of its, in any run */
	long calls; /* system calls of one run; 0: not counted */
};

/* Run a shell text, which is no part of what is measured. Gives its exit status; its output goes to the log. */
int run_script(const char *text);
/* The first line that a shell text prints; ends the program when that fails. The caller frees it. */
char *ask_script(const char *text);

/* Run it and add what it cost; what it prints is in $OUT. Without words of the shell's it is started without one. Gives its exit status. */
int measure(struct cost *cost, const char *command);
/* Run it under strace and count. */
int count_calls(struct cost *cost, const char *command);

double cost_min(const struct cost *cost);
double cost_median(const struct cost *cost);

/* Print to the file that holds all that the commands said. */
__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
void log_open(const char *path);

#endif
