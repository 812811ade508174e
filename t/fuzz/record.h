/*
 * Records: what a snapshot says that it holds, read by git out of its commit and manifest.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_RECORD_H
#define FUZZ_RECORD_H

#include "git.h"

struct skip {
	char *reason; /* "ignored", "socket", ... */
	char *path;
};

struct record {
	char *ref;
	char tree[ID_HEX];
	char *hash; /* "sha256:..." */
	char *manifest; /* its text */
	char *pins; /* what its commit holds, a line each */
	struct skip *skips;
	size_t n_skips;
	struct list items; /* `data` is the id in hex, or "-"; a directory's length is 0 */
};

#define RECORD_INIT { .ref = NULL }

void record_read(struct record *out, const char *project, const char *ref);
/* The skip that `path` is, or lies beneath, the inmost; NULL: what stood there is held. */
const struct skip *record_skip(const struct record *record, const char *path);
/* Does it say of each path what `list` says, and leave out none that it doesn't name? */
void record_check(struct text *report, const struct record *record, const struct list *list);
/* Does it hold all that `other` of that project does, which was taken of the same, but for the manifest? */
void record_check_pins(struct text *report, const struct record *record, const struct record *other,
		       const char *project);
void record_release(struct record *record);

#endif
