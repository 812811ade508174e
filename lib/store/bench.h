/*
 * Benches: a directory of our own, and in it an index, for what git does beside all repositories.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_BENCH_H
#define EWS_STORE_BENCH_H

#include "store/git.h"
#include "store/repo.h"

struct ews_bench {
	char *dir, *index; /* the index is not there yet */
	char *neutral; /* where git stands */
	struct ews_odb *odb;
};

#define EWS_BENCH_INIT { NULL, NULL, NULL, NULL }

/* Make one; it is gone when it is released. */
int ews_bench_make(struct ews_bench *out, struct ews_repo *repo);
/* How git is run at it. */
struct ews_git_opts ews_bench_opts(const struct ews_bench *bench);

void ews_bench_release(struct ews_bench *bench);
EWS_CLEANUP_DEFINE(bench, struct ews_bench, ews_bench_release)

#endif
