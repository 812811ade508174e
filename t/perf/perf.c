/*
 * perf: git ews and what git and cp need for the same work, side by side in one run.
 *
 *     perf [--quick] [--tree G|L]... [--clone <repository>] [--linux <archive>] [--rows <text>] [--runs <n>]
 *          [--json <file>] [--plot <file>] [--files <n>] [--dir <dir>] [--keep]
 *     perf table <file> <README>       the table of a README, from what --json wrote
 *
 * The two sides take turns; each result is checked outside the clock, and a wrong one voids its row. Nothing of lib/ is linked in: the
 * program that is measured is the one in $EWS_BIN.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "rows.h"
#include "show.h"
#include "tree.h"
#include "warm.h"

enum { RESULTS_MAX = 256, FILES_G = 4800, FILES_MAX = 50000, SNAPSHOTS_A_SESSION = 10 };

/* The plot is about numbers: as short as this, the trees of 300,000 files stay in memory beside each other. */
enum { PLOT_LINES = TREE_LINES / 4 };

/* What was read less long ago the kernel still has. */
enum { WARM_S = 3 };

/* What a verb may take at its peak, whatever the sizes of the files. */
enum { MEMORY_KIB = 64 * 1024, MEMORY_BYTES_A_FILE = 250 };

struct settings {
	bool is_quick, keep, trees[TREE_KINDS];
	const char *clone, *linux_archive, *only, *json, *plot, *dir;
	size_t runs, files_max;
};

static const char *const tree_names[] = { "L", "G" };

/* Take what the shell texts read: the places of the world below `dir`. */
static void set_places(const char *dir)
{
	static const struct {
		const char *name, *place;
	} places[] = {
		{ "HOME", "home" },       { "P", "project" },
		{ "B", "other/project" }, { "T", "tree" },
		{ "R", "bare" },          { "W", "home/.superqode/working/project/qe/w" },
		{ "X", "new" },           { "S", "source" },
		{ "OUT", "out" },         { "RECORDS", "home/.superqode/working/project/sessions" },
	};
	char path[4096];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, places[i].place);
		(void)setenv(places[i].name, path, 1);
	}
}

static void need(const char *script)
{
	if (run_script(script)) {
		(void)fprintf(stderr, "this failed, the log says why: %s\n", script);
		exit(128);
	}
}

static void make_home(void)
{
	need("mkdir -p $HOME $X && git config --global user.name A && git config --global user.email a@example.com && "
	     "git config --global gc.auto 0 && git config --global init.defaultBranch main && "
	     "git config --global advice.detachedHead false && git config --global safe.directory '*' && "
	     /* What is measured is the caller's wait; nothing is swept beside it. */
	     "git config --global ews.trashMax 1000g && git config --global ews.autoClean false && "
	     "git config --global ews.backgroundClean false");
}

/* All places of a tree, from the repository $S. */
static void make_world(void)
{
	char *old;

	need("git clone -q $S $P && mkdir -p $R $(dirname $B) && git clone -q $S $B && "
	     "git clone -q --bare $S $R/ours && git clone -q --bare $S $R/theirs && "
	     "cp -a $P $T && rm -rf $T/.git && git -C $P status --porcelain && git -C $B status --porcelain && sync");
	old = ask_script("git -C $R/ours rev-parse -q --verify HEAD~100 || git -C $R/ours rev-parse HEAD");
	(void)setenv("OLD", old, 1);
	free(old);
}

static void make_files(size_t n, size_t lines_max)
{
	char *script;

	if (asprintf(&script,
		     "mkdir $S && $MAKE $S %zu %zu && cd $S && git init -q && git add . && git commit -q -m files && "
		     "git repack -q -a -d",
		     n, lines_max) < 0)
		exit(128);
	need(script);
	free(script);
}

static void make_source(const struct settings *set, enum tree_kind kind)
{
	if (kind == TREE_G && !set->clone) {
		make_files(FILES_G, TREE_LINES);
		return;
	}
	if (kind == TREE_G) {
		(void)setenv("CLONE", set->clone, 1);
		need("git clone -q \"$CLONE\" $S");
		return;
	}
	(void)setenv("ARCHIVE", set->linux_archive, 1);
	/* The packaging's own rule ignores all but itself; without a commit nothing would be left of the tree. */
	need("mkdir $S && tar -xf $ARCHIVE -C $S --strip-components=1 && cd $S && sed -i '/^[/][*]$/d' .gitignore && "
	     "git init -q && git add -f . && git commit -q -m linux && git repack -q -a -d");
}

/* Everything of one tree goes at once, after it was measured. */
static void begin_world(const struct settings *set, const char *name)
{
	char *dir;

	if (asprintf(&dir, "%s/%s", set->dir, name) < 0)
		exit(128);
	set_places(dir);
	free(dir);
	make_home();
}

static void end_world(const struct settings *set)
{
	/* Somebody may have made a tree that he can't empty himself; it is below our own directory. */
	if (!set->keep)
		need("cd / && rm -rf \"$(dirname $HOME)\"");
}

static size_t runs_of(const struct settings *set, const struct row *row, bool is_large)
{
	if (set->runs)
		return set->runs;
	if (row->is_heavy)
		return set->is_quick ? 2 : is_large ? 3 : 7;
	/* What is prepared before each run takes longer than the run. */
	return !set->is_quick ? 15 : row->before_ours ? 3 : 5;
}

/* What either side reads: the programs, and the places where it works. What lies below $X was just written. */
static void warm_all(void)
{
	static const char *const names[] = { "PROGRAMS", "P", "B", "T", "R", "W", "RECORDS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *paths = strdup(getenv(names[i])), *rest;

		for (char *path = strtok_r(paths, ":", &rest); path; path = strtok_r(NULL, ":", &rest))
			warm(path);
		free(paths);
	}
}

/* All of it is in memory; or was some seconds ago, or when the kernel last let go of something, which is as good. */
static void keep_warm(void)
{
	static time_t last;
	static unsigned long long reclaimed;
	struct timespec now;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (last && (now.tv_sec - last < WARM_S || (reclaimed && reclaimed == warm_reclaimed())))
		return;
	reclaimed = warm_reclaimed();
	/* A child: what it has mapped would count as memory of whatever is started after it. */
	pid = fork();
	if (pid == 0) {
		warm_all();
		_exit(0);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	last = now.tv_sec;
}

/* One side's turn; either of the checks may be NULL. False when something failed; `why` says what. */
static bool take_turn(struct cost *cost, const char *before, const char *command, const char *check,
		      const char *verify, const char **why)
{
	static size_t number;
	char text[24];

	(void)snprintf(text, sizeof(text), "%zu", ++number);
	(void)setenv("N", text, 1);
	if (before && run_script(before))
		*why = "it could not be prepared";
	/* What earlier turns left for the kernel to write is not written during this one. */
	sync();
	keep_warm();
	if (!*why && measure(cost, command))
		*why = "the command failed";
	else if (!*why && ((check && run_script(check)) || (verify && run_script(verify))))
		*why = "the result is wrong";
	return !*why;
}

static bool count(struct cost *cost, const char *before, const char *command, const char **why)
{
	struct cost traced = { .n = 0 };
	char text[24];
	static size_t number;

	(void)snprintf(text, sizeof(text), "traced-%zu", ++number);
	(void)setenv("N", text, 1);
	if (before && run_script(before))
		*why = "it could not be prepared";
	else if (count_calls(&traced, command) == 0)
		cost->calls = traced.calls;
	return !*why;
}

static enum outcome judge(const struct result *r)
{
	double by_min = cost_min(&r->theirs) / cost_min(&r->ours);
	double by_median = cost_median(&r->theirs) / cost_median(&r->ours);
	double ratio = by_min < by_median ? by_min : by_median;

	if (!(r->wanted > 0))
		return NOT_ASKED;
	return ratio >= r->wanted ? REACHED : ratio >= r->least ? DONE : BELOW;
}

/* With `is_quick` all is read again after the last run only. */
static void run_row(struct result *r, const struct row *row, size_t runs, bool is_quick)
{
	const char *why = NULL;
	struct cost warm = { .n = 0 };
	int rc = row->prepare ? run_script(row->prepare) : 0;

	if (rc == 77) {
		r->outcome = SKIPPED;
		r->why = ask_script("cat $OUT");
		return;
	}
	if (rc)
		why = "it could not be prepared";
	/* Once for the caches, then by turns, each side first as often as the other. */
	if (!why && take_turn(&warm, row->before_ours, row->ours, row->check, NULL, &why))
		(void)take_turn(&warm, row->before_theirs, row->theirs, NULL, NULL, &why);
	for (size_t i = 0; i < runs && !why; i++) {
		if (i % 2)
			(void)take_turn(&r->theirs, row->before_theirs, row->theirs, NULL, NULL, &why);
		if (!why)
			(void)take_turn(&r->ours, row->before_ours, row->ours, row->check,
					is_quick && i + 1 < runs ? NULL : row->verify, &why);
		if (!why && i % 2 == 0)
			(void)take_turn(&r->theirs, row->before_theirs, row->theirs, NULL, NULL, &why);
	}
	/* strace makes what is heavy many times as slow, and wants all to be prepared once more. */
	if (!why && !(is_quick && (row->is_heavy || row->before_ours)) &&
	    count(&r->ours, row->before_ours, row->ours, &why))
		(void)count(&r->theirs, row->before_theirs, row->theirs, &why);
	if (row->cleanup && run_script(row->cleanup) && !why)
		why = "it could not be put back";
	r->outcome = why ? VOID : judge(r);
	r->why = why ? strdup(why) : NULL;
}

static bool is_chosen(const struct settings *set, const struct row *row)
{
	char *texts = strdup(set->only ? set->only : ""), *rest;
	bool found = !set->only;

	for (char *text = strtok_r(texts, "|", &rest); text && !found; text = strtok_r(NULL, "|", &rest))
		found = strstr(row->operation, text) || strstr(row->baseline, text);
	free(texts);
	return found;
}

/* What was measured so far. */
struct report {
	struct result results[RESULTS_MAX];
	size_t n;
	struct machine machine;
};

/* Measure one row, tell it at once, and write what is known: on a large tree all of them take an hour. */
static void add_row(struct report *report, const struct row *row, const struct result *r,
		    const struct settings *set, bool is_large)
{
	struct result *result = &report->results[report->n++];

	*result = *r;
	run_row(result, row, runs_of(set, row, is_large), set->is_quick);
	show_row(stdout, result);
	(void)fflush(stdout);
	if (set->json)
		show_json(set->json, &report->machine, report->results, report->n);
}

static void measure_tree(struct report *report, const struct settings *set, enum tree_kind kind)
{
	char *n_files;
	long memory_kib;

	begin_world(set, tree_names[kind]);
	make_source(set, kind);
	make_world();
	n_files = ask_script("git -C $P ls-files | wc -l");
	memory_kib = MEMORY_KIB + strtol(n_files, NULL, 10) * MEMORY_BYTES_A_FILE / 1024;
	free(n_files);
	for (size_t i = 0; i < n_rows; i++) {
		const struct row *row = &rows[i];
		const struct result r = { .tree = tree_names[kind],
					  .operation = row->operation,
					  .baseline = row->baseline,
					  .wanted = row->wanted[kind],
					  .least = row->least[kind],
					  .memory_kib = memory_kib };

		/* One that has nothing to reach here is for who asks for it, or has the time. */
		if (is_chosen(set, row) && (r.wanted > 0 || set->only || !set->is_quick))
			add_row(report, row, &r, set, kind == TREE_L);
	}
	/* Each object's bytes, once: that takes minutes. */
	if (!set->is_quick)
		need("git -C $P fsck --no-dangling");
	end_world(set);
}

/* Does it stay as fast as it was, with many sessions and snapshots? */
static void measure_flat(struct report *report, const struct settings *set)
{
	size_t n_sessions = set->is_quick ? 20 : 1000;
	char text[24];

	begin_world(set, "flat");
	make_home();
	(void)snprintf(text, sizeof(text), "%zu", n_sessions);
	(void)setenv("SESSIONS", text, 1);
	for (size_t i = 0; i < sizeof(flat_rows) / sizeof(*flat_rows); i++) {
		const struct row *row = &flat_rows[i];
		struct result r = { .tree = "-",
				    .baseline = row->baseline,
				    .wanted = 1.0 / 3,
				    .least = 1.0 / 3,
				    .memory_kib = MEMORY_KIB };
		char *operation;

		if (!is_chosen(set, row))
			continue;
		if (asprintf(&operation, "%s, %zu of them", row->operation,
			     i ? n_sessions * SNAPSHOTS_A_SESSION : n_sessions) < 0)
			exit(128);
		r.operation = operation;
		add_row(report, row, &r, set, false);
	}
	end_world(set);
}

/* Is what is small no slower for the threads that are made for what is large? */
static void measure_small(struct report *report, const struct settings *set)
{
	begin_world(set, "small");
	for (size_t i = 0; i < sizeof(small_rows) / sizeof(*small_rows); i++) {
		const struct row *row = &small_rows[i];
		const struct result r = { .tree = "-",
					  .operation = row->operation,
					  .baseline = row->baseline,
					  .wanted = row->wanted[0],
					  .least = row->least[0],
					  .memory_kib = MEMORY_KIB };

		if (is_chosen(set, row))
			add_row(report, row, &r, set, false);
	}
	end_world(set);
}

/* What the plot shows: these rows, over the number of files or of changes. */
static const struct row *find_row(const char *operation, const char *baseline)
{
	for (size_t i = 0; i < n_rows; i++)
		if (!strcmp(rows[i].operation, operation) && !strcmp(rows[i].baseline, baseline))
			return &rows[i];
	abort();
}

static void add_point(struct curve *curve, double x, const struct row *row)
{
	struct result r = { .tree = "", .operation = row->operation, .baseline = row->baseline };

	run_row(&r, row, 3, true);
	(void)printf("%12.0f %-6s  %-35s %9.1f ms  %-29s %9.1f ms  %s\n", x, curve->unit, row->operation,
		     cost_min(&r.ours), row->baseline, cost_min(&r.theirs), r.why ? r.why : "");
	(void)fflush(stdout);
	if (!r.why && curve->n < sizeof(curve->points) / sizeof(*curve->points))
		curve->points[curve->n++] = (struct point){ x, cost_min(&r.ours), cost_min(&r.theirs) };
	free(r.why);
}

static void plot_files(struct curve *curves, const struct row *const *which, size_t n, const struct settings *set)
{
	static const size_t sizes[] = { 1000, 3000, 10000, 30000, 50000, 100000, 300000 };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes) && sizes[k] <= set->files_max; k++) {
		begin_world(set, "files");
		make_files(sizes[k], PLOT_LINES);
		make_world();
		for (size_t i = 0; i < n; i++)
			add_point(&curves[i], (double)sizes[k], which[i]);
		end_world(set);
	}
}

static void plot_changes(struct curve *curves, const struct row *const *which, size_t n, const struct settings *set)
{
	begin_world(set, "changes");
	make_files(set->files_max < 10000 ? set->files_max : 10000, PLOT_LINES);
	make_world();
	for (size_t changes = 1; changes <= 10000 && changes <= set->files_max; changes *= 10) {
		char text[24];

		(void)snprintf(text, sizeof(text), "%zu", changes);
		(void)setenv("CHANGES", text, 1);
		for (size_t i = 0; i < n; i++)
			add_point(&curves[i], (double)changes, which[i]);
	}
	end_world(set);
}

static void plot(const struct settings *set)
{
	const struct row *const by_files[] = {
		find_row("start, clean project", "git worktree add"),
		find_row("diff --name-status, nothing changed", "git status"),
		find_row("snapshot, 10 changed", "index, add -A, write-tree"),
	};
	const struct row *const by_changes[] = { &changes_rows[0], &changes_rows[1], &changes_rows[2] };
	struct curve curves[6] = {
		{ .name = "start", .unit = "files" },
		{ .name = "diff, nothing changed", .unit = "files" },
		{ .name = "snapshot, 10 changed", .unit = "files" },
		{ .name = "snapshot", .unit = "changes" },
		{ .name = "diff", .unit = "changes" },
		{ .name = "revert", .unit = "changes" },
	};

	plot_files(curves, by_files, 3, set);
	plot_changes(curves + 3, by_changes, 3, set);
	show_plot(set->plot, curves, 6);
}

static bool can_reflink(const char *dir)
{
	char from[4096], to[4096];
	int a, b;
	bool can;

	(void)snprintf(from, sizeof(from), "%s/reflink-from", dir);
	(void)snprintf(to, sizeof(to), "%s/reflink-to", dir);
	a = open(from, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	b = open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	can = a >= 0 && b >= 0 && write(a, "x", 1) == 1 && ioctl(b, FICLONE, a) == 0;
	(void)close(a);
	(void)close(b);
	(void)unlink(from);
	(void)unlink(to);
	return can;
}

__attribute__((format(printf, 2, 3))) static void tell(struct machine *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&m->lines[m->n++], fmt, args) < 0)
		exit(128);
	va_end(args);
}

static void look_around(struct machine *m, const struct settings *set)
{
	struct utsname name;
	cpu_set_t cpus;
	char *kind, *device, *journal, *git, *ews;

	(void)setenv("DIR", set->dir, 1);
	kind = ask_script("stat -f -c %T \"$DIR\"");
	device = ask_script("df --output=source \"$DIR\" | tail -n 1");
	journal = ask_script(
		"ls -d /proc/fs/jbd2/\"$(basename \"$(df --output=source \"$DIR\" | tail -n 1)\")\"-* 2>/dev/null || echo no");
	git = ask_script("git version");
	ews = ask_script("git ews version");
	(void)uname(&name);
	(void)sched_getaffinity(0, sizeof(cpus), &cpus);
	tell(m, "processors\t%d", CPU_COUNT(&cpus));
	for (int i = CPU_SETSIZE; i-- > 0;) {
		char one[24];

		(void)snprintf(one, sizeof(one), "%d", i);
		if (CPU_ISSET(i, &cpus))
			(void)setenv("ONE", one, 1);
	}
	tell(m, "kernel\t%s", name.release);
	tell(m, "file system\t%s on %s, journal: %s, reflink: %s", kind, device,
	     strcmp(journal, "no") ? "yes" : "no", can_reflink(set->dir) ? "yes" : "no");
	tell(m, "git\t%s", git);
	tell(m, "git ews\t%s", ews);
	free(kind);
	free(device);
	free(journal);
	free(git);
	free(ews);
}

/* A file system with reflink on a loop device, for the row that wants one; else $NO_REFLINK says why there is none. */
static void make_reflink(const struct settings *set)
{
	(void)setenv("REFLINK", "", 1);
	if (can_reflink(set->dir)) {
		(void)setenv("REFLINK", set->dir, 1);
		return;
	}
	if (geteuid())
		(void)setenv("NO_REFLINK", "only root may mount a file system with reflink", 1);
	else if (run_script("command -v mkfs.xfs"))
		(void)setenv("NO_REFLINK", "there is no mkfs.xfs", 1);
	else if (run_script("mkdir -p $DIR/xfs && truncate -s 24G $DIR/xfs.img && mkfs.xfs -q $DIR/xfs.img && "
			    "mount -o loop $DIR/xfs.img $DIR/xfs"))
		(void)setenv("NO_REFLINK", "xfs can't be mounted on a loop device here", 1);
	else
		(void)setenv("REFLINK", ask_script("echo $DIR/xfs"), 1);
}

static void drop_reflink(void)
{
	if (*getenv("REFLINK") && strcmp(getenv("REFLINK"), getenv("DIR")) != 0)
		need("umount $DIR/xfs && rm $DIR/xfs.img && rmdir $DIR/xfs");
}

static const char *find_linux(void)
{
	return ask_script("ls /usr/src/linux-source-*.tar.xz 2>/dev/null | tail -n 1");
}

__attribute__((noreturn)) static void usage(int status)
{
	(void)fprintf(
		stderr,
		"usage: perf [--quick] [--tree G|L]... [--clone <repository>] [--linux <archive>] [--rows <text>]\n"
		"            [--runs <n>] [--json <file>] [--plot <file>] [--files <n>] [--dir <dir>] [--keep]\n");
	exit(status);
}

static void read_options(struct settings *set, int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },       { "tree", required_argument, NULL, 't' },
		{ "clone", required_argument, NULL, 'c' }, { "linux", required_argument, NULL, 'l' },
		{ "rows", required_argument, NULL, 'r' },  { "runs", required_argument, NULL, 'n' },
		{ "json", required_argument, NULL, 'j' },  { "plot", required_argument, NULL, 'p' },
		{ "files", required_argument, NULL, 'f' }, { "dir", required_argument, NULL, 'd' },
		{ "keep", no_argument, NULL, 'k' },        { NULL, 0, NULL, 0 },
	};
	int key;

	while ((key = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (key) {
		case 'q':
			set->is_quick = true;
			break;
		case 't':
			if (strcmp(optarg, "G") && strcmp(optarg, "L"))
				usage(129);
			set->trees[*optarg == 'L' ? TREE_L : TREE_G] = true;
			break;
		case 'c':
			set->clone = optarg;
			break;
		case 'l':
			set->linux_archive = optarg;
			break;
		case 'r':
			set->only = optarg;
			break;
		case 'n':
			set->runs = strtoul(optarg, NULL, 10);
			break;
		case 'j':
			set->json = optarg;
			break;
		case 'p':
			set->plot = optarg;
			break;
		case 'f':
			set->files_max = strtoul(optarg, NULL, 10);
			break;
		case 'd':
			set->dir = optarg;
			break;
		case 'k':
			set->keep = true;
			break;
		default:
			usage(129);
		}
	}
	if (optind < argc || set->runs > SAMPLES_MAX)
		usage(129);
}

int main(int argc, char **argv)
{
	struct settings set = { .files_max = FILES_MAX };
	static struct report report;
	char self[4096] = "", text[4200], template[] = "/var/tmp/ews-perf-XXXXXX";
	char *programs;

	/* What the shell texts call. */
	if (argc == 5 && !strcmp(argv[1], "make")) {
		tree_make(argv[2], strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "change")) {
		tree_change(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
		return 0;
	}
	/* And what makes a table of an earlier run's JSON. */
	if (argc == 4 && !strcmp(argv[1], "table")) {
		show_table(argv[2], argv[3]);
		return 0;
	}
	read_options(&set, argc, argv);
	if (!set.dir && !(set.dir = mkdtemp(template))) {
		perror(template);
		return 128;
	}
	(void)snprintf(text, sizeof(text), "%s/log", set.dir);
	log_open(text);
	(void)fprintf(stderr, "log: %s\n", text);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 128;
	(void)snprintf(text, sizeof(text), "%s make", self);
	(void)setenv("MAKE", text, 1);
	(void)snprintf(text, sizeof(text), "%s change", self);
	(void)setenv("CHANGE", text, 1);
	if (getenv("EWS_BIN")) {
		(void)snprintf(text, sizeof(text), "%s:%s", getenv("EWS_BIN"), getenv("PATH"));
		(void)setenv("PATH", text, 1);
	}
	(void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	(void)setenv("LC_ALL", "C", 1);
	programs = ask_script(
		"{ for program in git git-ews cp; do command -v $program && ldd $(command -v $program); done; "
		"ldconfig -p | grep libgit2; } | grep -o '/[^ ]*' | sort -u | tr '\\n' ':'");
	(void)setenv("PROGRAMS", programs, 1);
	free(programs);

	/* The quick one looks at what is ours alone. */
	(void)setenv("FSCK",
		     set.is_quick ? "rev-list --objects --quiet --glob=refs/ews --not --branches --remotes"
				  : "fsck --connectivity-only --no-dangling",
		     1);
	look_around(&report.machine, &set);
	show_heading(stdout, &report.machine);
	if (set.plot) {
		plot(&set);
		return 0;
	}
	make_reflink(&set);
	if (!set.trees[TREE_L])
		set.trees[TREE_G] = true;
	if (set.trees[TREE_L] && !set.linux_archive && !*(set.linux_archive = find_linux())) {
		(void)fprintf(stderr, "there is no /usr/src/linux-source-*.tar.xz: contrib/setup packages perf\n");
		return 128;
	}
	if (set.trees[TREE_G])
		measure_tree(&report, &set, TREE_G);
	if (set.trees[TREE_L])
		measure_tree(&report, &set, TREE_L);
	drop_reflink();
	measure_flat(&report, &set);
	measure_small(&report, &set);
	for (size_t i = 0; i < report.n; i++)
		if (report.results[i].outcome == VOID)
			return 1;
	return 0;
}
