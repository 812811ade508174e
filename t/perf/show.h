/*
 * Show: what was measured, as a table, as JSON, and drawn.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_PERF_SHOW_H
#define EWS_PERF_SHOW_H

#include <stdio.h>

#include "measure.h"

enum outcome { REACHED, DONE, BELOW, NOT_ASKED, VOID, SKIPPED };

struct result {
	const char *tree, *operation, *baseline;
	double wanted, least;
	struct cost ours, theirs;
	long memory_kib; /* how much it may take at its peak; 0: not known */
	enum outcome outcome;
	char *why; /* VOID, SKIPPED */
};

/* What it all was measured on, "<what>\t<value>" each. */
struct machine {
	char *lines[16];
	size_t n;
};

/* Does ours take more memory than it may? */
bool is_over_memory(const struct result *result);

void show_heading(FILE *out, const struct machine *machine);
/* A line of the table; the first one has the names of the columns above it. */
void show_row(FILE *out, const struct result *result);
/* Write everything as one JSON object. Ends the program when that fails. */
void show_json(const char *path, const struct machine *machine, const struct result *results, size_t n);

/*
 * Put what such an object holds, as a table in Markdown, into a text file, between a line "<!-- perf: begin -->" and one
 * "<!-- perf: end -->". Ends the program when that fails.
 */
void show_table(const char *json_path, const char *text_path);

struct point {
	double x, ours_ms, theirs_ms;
};

struct curve {
	const char *name, *unit; /* "start", "files" */
	struct point points[16];
	size_t n;
};

/* Draw them, each beside its baseline, with logarithmic axes. */
void show_plot(const char *path, const struct curve *curves, size_t n);

#endif
