/*
 * Benches: see bench.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/bench.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/home.h"

void ews_bench_release(struct ews_bench *bench)
{
	if (bench->dir && ews_file_remove_tree(AT_FDCWD, bench->dir) < 0)
		ews_error_clear(); /* best effort: recover sweeps it */
	free(bench->neutral);
	free(bench->dir);
	free(bench->index);
	*bench = (struct ews_bench)EWS_BENCH_INIT;
}

int ews_bench_make(struct ews_bench *out, struct ews_repo *repo)
{
	EWS_CLEANUP(bench) struct ews_bench bench = { .odb = repo->odb };
	EWS_CLEANUP(fd) int home = ews_home_open(repo->home);
	int rc = home < 0 ? home : ews_git_neutral_dir(&bench.neutral, repo->home, ews_odb_algo(repo->odb));
	EWS_CLEANUP(free) char *dir = ews_path_join(repo->dir, ".tmp-bench-XXXXXX");

	if (rc < 0)
		return rc;
	if (!mkdtemp(dir))
		return ews_error_os("cannot make '%s'", dir);
	bench.dir = ews_steal(&dir);
	bench.index = ews_path_join(bench.dir, "index");
	*out = bench;
	bench = (struct ews_bench)EWS_BENCH_INIT;
	return 0;
}

struct ews_git_opts ews_bench_opts(const struct ews_bench *bench)
{
	return (struct ews_git_opts){ .neutral_dir = bench->neutral,
				      .object_dir = ews_odb_write_dir(bench->odb),
				      .sharing = ews_odb_sharing(bench->odb),
				      .index_file = bench->index };
}
