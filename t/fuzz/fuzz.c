/*
 * fuzz: random projects and workspaces, driven through the real git-ews and git, and compared with what
 * this program itself saw.
 *
 *     fuzz [--seed <n>] [--rounds <n>] [--method <name>] [--world <n>] [--jobs <n>] [--keep] [--go-on] [-v]
 *     fuzz --methods    list them
 *
 * A world is a project with a home of its own; it lives for ROUNDS_A_WORLD rounds, in sessions of a few
 * each, and the project changes between sessions. A round: change the workspace, take a snapshot,
 * change it again, compare what diff says, go back to the snapshot, the base or an older snapshot, and
 * perhaps undo that. After each verb everything is listed and compared, the project included.
 *
 * The mixed methods play otherwise: several sessions live side by side, and a round is one step of a history (history.h).
 *
 * The same seed gives the same rounds. A failure names its world: --world <n> runs that one again. With
 * --go-on each failure is a line, its story is beside what is kept, and the other worlds are played, too.
 * Nothing here is linked with lib/: lister, ids and comparisons are the driver's own.
 *
 * Status: 0 all well, 1 something differs, 2 the driver itself can't go on.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history.h"

#define ROUNDS_A_WORLD 24
#define STEPS_A_WORLD 60

/* What a new method needs is a line here; and there are those that a plain directory can have. */
static const struct method methods[] = {
	{ .name = "worktree", .given = "worktree" },
	{ .name = "snapshot", .given = "snapshot", .has_config = true },
	{ .name = "in-place", .given = "in-place", .is_project = true },
	{ .name = "plain-snapshot", .given = "snapshot", .is_plain = true },
	{ .name = "plain-in-place", .given = "in-place", .is_plain = true, .is_project = true },
	{ .name = "worktree-ignored", .given = "worktree", .with_ignored = true },
	{ .name = "mixed", .is_mixed = true },
	{ .name = "plain-mixed", .is_plain = true, .is_mixed = true },
};

/* Look at all that no verb may change: kept, when `report` is NULL; else compared with what was kept. */
static void watch_project(struct world *world, struct text *report)
{
	struct list files = LIST_INIT, git = LIST_INIT, outside = LIST_INIT;

	list_take(&outside, world->outside, 0);
	if (!world->set->method->is_project)
		list_take(&files, world->project, 0);
	if (!world->set->method->is_project && !world->set->method->is_plain)
		take_git_dir(&git, world->git_dir);
	if (report) {
		list_compare(report, "project", &world->project_files, &files, TIMES_ALL);
		list_compare(report, "git directory of the project", &world->project_git, &git, TIMES_FILES);
		list_compare(report, "outside", &world->outside_files, &outside, TIMES_ALL);
		list_release(&files);
		list_release(&git);
		list_release(&outside);
		return;
	}
	list_release(&world->project_files);
	list_release(&world->project_git);
	list_release(&world->outside_files);
	world->project_files = files;
	world->project_git = git;
	world->outside_files = outside;
}

/* Of the workspace, or (no session) of the project. */
static void take_shot(struct world *world, struct shot *out)
{
	const char *dir = world->ws ? world->ws : world->project;

	shot_release(out);
	list_take(&out->files, dir, 0);
	if (!world->set->method->is_plain)
		gitstate_take(&out->git, &out->files, dir, world->ws ? world->admin : world->git_dir,
			      world->index_copy);
}

/*
 * A verb that only looks must leave all as it was. Where nothing happened to the files, the index and HEAD
 * nothing can have changed for git, so git is asked again now and then only.
 */
static void check_looked(struct world *world, const char *what, const struct shot *before)
{
	struct shot after = SHOT_INIT;
	const char *dir = world->ws ? world->ws : world->project;
	const char *git_dir = world->ws ? world->admin : world->git_dir;

	list_take(&after.files, dir, 0);
	list_compare(&world->report, what, &before->files, &after.files, TIMES_ALL);
	if (!world->set->method->is_plain) {
		gitstate_take_files(&after.git, &after.files, git_dir);
		gitstate_compare(&world->report, what, &before->git, &after.git);
	}
	if (!world->set->method->is_plain &&
	    (world->round % 4 == 0 || !list_is_untouched(&before->files, &after.files))) {
		gitstate_take_status(&after.git, dir, world->index_copy);
		status_compare(&world->report, what, &before->git, &after.git);
	}
	shot_release(&after);
}

/* A verb that brings a state back makes directories anew. */
static void check_same(struct world *world, const char *what, const struct shot *before)
{
	struct shot after = SHOT_INIT;
	bool is_fresh = lost_products(&world->shots[0], before);

	take_shot(world, &after);
	list_compare(&world->report, what, &before->files, &after.files, is_fresh ? TIMES_NONE : TIMES_FILES);
	check_names_back(&world->report, what, before, &after);
	gitstate_compare(&world->report, what, &before->git, &after.git);
	if (!lacks_kinds(before))
		status_compare(&world->report, what, &before->git, &after.git);
	shot_release(&after);
}

/* What a record left out as ignored must be ignored for git as well. */
static void check_ignored(struct world *world, const struct shot *shot)
{
	struct child child = CHILD_INIT;
	struct text paths = TEXT_INIT;
	size_t n = 0, found = 0;

	text_add(&paths, "", 0);
	for (size_t i = 0; i < shot->record.n_skips; i++) {
		if (strcmp(shot->record.skips[i].reason, "ignored") != 0)
			continue;
		text_add(&paths, shot->record.skips[i].path, strlen(shot->record.skips[i].path) + 1);
		n++;
	}
	if (n) {
		RUN(&child, world->ws ? world->ws : world->project, &paths, "git", "--git-dir",
		    world->set->method->is_plain ? world->scratch.git_dir
		    : world->ws                  ? world->admin
						 : world->git_dir,
		    "--work-tree", ".", "check-ignore", "--no-index", "-z", "--stdin");
		for (size_t i = 0; i < child.out.len; i++)
			found += !child.out.ptr[i];
		if (found != n)
			text_addf(&world->report, "%zu paths were left out as ignored, for git %zu are: %s\n", n,
				  found, shot->record.manifest);
	}
	text_release(&paths);
	child_release(&child);
}

static bool create(struct world *world, struct child *child, const char *dir, bool with_ignored)
{
	return with_ignored ? EWS_WORKS(world, child, dir, "snapshot", "create", "--ignored")
			    : EWS_WORKS(world, child, dir, "snapshot", "create");
}

/* Take a snapshot of the present state into `out`, and check all that it says. */
static bool snapshot(struct world *world, struct shot *out)
{
	const char *dir = world->ws ? world->ws : world->project;
	struct child child = CHILD_INIT;
	bool done;

	take_shot(world, out);
	out->with_ignored = rng_chance(&world->rng, 15);
	done = create(world, &child, dir, out->with_ignored);
	if (done) {
		char *ref;

		cut_newline(child.out.ptr);
		out->name = copy_of(child.out.ptr);
		ref = snapshot_ref(out->name);
		record_read(&out->record, find_store(world), ref);
		free(ref);
		record_check(&world->report, &out->record, &out->files);
		check_looked(world, "snapshot create", out);
		if (rng_chance(&world->rng, 30))
			check_ignored(world, out);
	}
	child_release(&child);
	return done && !world->report.len;
}

/* The same snapshot once more without the stat cache must be the same. */
static void snapshot_without_cache(struct world *world, const struct shot *shot)
{
	struct child child = CHILD_INIT;
	struct record cold = RECORD_INIT;
	char *cache, *ref;

	if (asprintf(&cache, "%s/home/.superqode/working/project/sessions/s%u/cache", world->dir, world->session) < 0)
		die("no memory");
	if (unlink(cache) < 0)
		text_addf(&world->report, "there was no stat cache '%s'\n", cache);
	if (create(world, &child, world->ws, shot->with_ignored)) {
		cut_newline(child.out.ptr);
		ref = snapshot_ref(child.out.ptr);
		record_read(&cold, find_store(world), ref);
		free(ref);
		if (strcmp(cold.hash, shot->record.hash) != 0 || strcmp(cold.tree, shot->record.tree) != 0 ||
		    strcmp(cold.manifest, shot->record.manifest) != 0)
			text_addf(&world->report,
				  "with the stat cache it was %s, without it is %s:\n%s\n-- without:\n%s\n",
				  shot->record.hash, cold.hash, shot->record.manifest, cold.manifest);
		record_check_pins(&world->report, &shot->record, &cold, find_store(world));
	}
	free(cache);
	record_release(&cold);
	child_release(&child);
}

/* Is there a blank before a slash? */
static bool has_blank_end(const char *line, const char *end)
{
	for (; line + 1 < end; line++)
		if (line[0] == ' ' && line[1] == '/')
			return true;
	return false;
}

/*
 * Take the quotes off where only `diff --git "a/<path>" "b/<path>"` says a name with a blank before a slash: git apply
 * needs them, and git doesn't write them. Another line that begins so is a line of a file's, behind a sign.
 */
static void drop_quotes(struct text *patch)
{
	char *to = patch->ptr;
	const char *end = patch->ptr + patch->len;

	for (const char *line = patch->ptr, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len;

		next = newline ? newline + 1 : end;
		len = (size_t)(next - line);
		if (strncmp(line, "diff --git \"a/", 14) != 0 || !has_blank_end(line, next) ||
		    memchr(line, '\\', len)) {
			memmove(to, line, len);
			to += len;
			continue;
		}
		for (size_t i = 0; i < len; i++)
			if (line[i] != '"')
				*to++ = line[i];
	}
	patch->len = (size_t)(to - patch->ptr);
}

/* What diff says in one of git's forms must be what git says of the two trees. */
static void check_form(struct world *world, const struct shot *from, const struct shot *to, bool to_now)
{
	static const char *const forms[] = { "--numstat", "--name-status", "--raw", "--stat", "--patch" };
	const char *form = forms[rng_below(&world->rng, sizeof(forms) / sizeof(*forms))];
	/* git's own can't be applied, so ours is another */
	bool is_patch = !strcmp(form, "--patch") && !confuses_git(from, to), is_stat = !strcmp(form, "--stat");
	struct child ours = CHILD_INIT, gits = CHILD_INIT;
	const char *argv[16] = { "git", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "-M", form };
	size_t n = 7;

	if (!is_patch && !strcmp(form, "--patch"))
		argv[6] = form = "--raw";

	argv[n++] = is_stat ? "--summary" : is_patch ? "--binary" : "-z";
	if (is_patch)
		argv[n++] = "--full-index";
	argv[n++] = from->record.tree;
	argv[n++] = to->record.tree;
	argv[n++] = "--";
	argv[n] = NULL;
	if (EWS_WORKS(world, &ours, world->ws, "diff", form,
		      is_stat    ? "--summary"
		      : is_patch ? "--binary"
				 : "-z",
		      from->name, to_now ? "now" : to->name)) {
		if (run_neutral(&gits, &world->scratch, false, NULL, argv) != 0)
			die("git diff: %s", gits.err.ptr);
		if (is_patch)
			drop_quotes(&ours.out);
		if (ours.out.len != gits.out.len || memcmp(ours.out.ptr, gits.out.ptr, ours.out.len) != 0)
			text_addf(&world->report, "diff %s differs from git's:\n%s\n-- git's:\n%s\n", form,
				  ours.out.ptr, gits.out.ptr);
	}
	child_release(&ours);
	child_release(&gits);
}

static void check_diff(struct world *world, const struct shot *from, const struct shot *to)
{
	struct child patch = CHILD_INIT, json = CHILD_INIT;
	bool to_now = rng_chance(&world->rng, 60) && !to->with_ignored;
	const char *what = to_now ? "now" : to->name;

	check_form(world, from, to, to_now);
	if (rng_chance(&world->rng, 60) && EWS_WORKS(world, &patch, world->ws, "diff", from->name, what) &&
	    EWS_WORKS(world, &json, world->ws, "diff", "--json", from->name, what))
		check_patch(&world->report, &world->scratch, from, to, &patch.out, json.out.ptr);
	if (to_now)
		check_looked(world, "diff", to);
	child_release(&patch);
	child_release(&json);
}

/* A revert or restore that succeeds says that it is verified. */
static void check_verified(struct world *world, const struct child *child)
{
	if (!strstr(child->out.ptr, "Status: Verified"))
		text_addf(&world->report, "not verified: %s\n", child->out.ptr);
}

/* Back to `want`, by one of the ways that lead there. */
static bool go_back(struct world *world, struct child *child, const struct shot *want)
{
	char *session;
	const char *full = rng_chance(&world->rng, 20) ? "--verify=full" : "--verify=stat";
	bool done;

	if (asprintf(&session, "s%u", world->session) < 0)
		die("no memory");
	if (want->is_base && rng_chance(&world->rng, 60))
		done = strcmp(full, "--verify=full") ? EWS_WORKS(world, child, world->ws, "revert")
						     : EWS_WORKS(world, child, world->ws, "revert", full);
	else if (rng_chance(&world->rng, 50))
		done = EWS_WORKS(world, child, world->ws, "revert", "--to", want->name);
	else
		done = EWS_WORKS(world, child, world->project, "snapshot", "restore", want->name, session);
	if (done)
		check_verified(world, child);
	free(session);
	return done;
}

static void undo(struct world *world, const struct shot *before, const struct shot *back, bool with_redo)
{
	struct child child = CHILD_INIT;
	char *session;

	if (asprintf(&session, "s%u", world->session) < 0)
		die("no memory");
	if (EWS_WORKS(world, &child, world->project, "undo", session))
		check_same(world, "undo", before);
	if (!world->report.len && with_redo && EWS_WORKS(world, &child, world->project, "undo", "--redo", session))
		check_same(world, "undo --redo", back);
	free(session);
	child_release(&child);
}

static void restore(struct world *world, const struct shot *want, const struct shot *before)
{
	struct child child = CHILD_INIT;
	struct shot after = SHOT_INIT;
	struct restored restored = {
		.want = want, .before = before, .after = &after, .base = &world->shots[0], .started_s = time(NULL) - 1
	};
	/* drawn in any case: whether there is something to undo may hang on git's times */
	bool with_undo = rng_chance(&world->rng, 25), with_redo = rng_chance(&world->rng, 50);

	if (go_back(world, &child, want)) {
		take_shot(world, &after);
		check_restored(&world->report, &restored);
		if (!world->report.len && strstr(child.err.ptr, "git ews undo") && with_undo)
			undo(world, before, &after, with_redo);
	}
	child_release(&child);
	shot_release(&after);
}

/* One path back, and of those above it no more than it takes; and perhaps all as it was. */
static void restore_path(struct world *world, const struct shot *want, const struct shot *before)
{
	const struct shot *side = rng_chance(&world->rng, 70) ? want : before;
	const char *path = side->files.n ? side->files.items[rng_below(&world->rng, (unsigned)side->files.n)].path
					 : NULL;
	struct child child = CHILD_INIT;
	struct shot after = SHOT_INIT;
	struct restored restored = { .want = want,
				     .before = before,
				     .after = &after,
				     .base = &world->shots[0],
				     .only = path,
				     .started_s = time(NULL) - 1 };
	bool with_undo = rng_chance(&world->rng, 50), with_redo = rng_chance(&world->rng, 50);

	if (!path || !shot_holds(want, path) || (want->holds_all && !list_find(&want->files, path)))
		return;
	if (EWS_WORKS(world, &child, world->ws, "revert", "--to", want->name, "--", path)) {
		check_verified(world, &child);
		take_shot(world, &after);
		check_restored(&world->report, &restored);
		if (!world->report.len && strstr(child.err.ptr, "git ews undo") && with_undo)
			undo(world, before, &after, with_redo);
	}
	child_release(&child);
	shot_release(&after);
}

/* Keep a shot for later rounds; the oldest but the base gives way. */
static struct shot *keep_shot(struct world *world)
{
	if (world->n_shots == SHOTS_MAX) {
		shot_release(&world->shots[1]);
		memmove(&world->shots[1], &world->shots[2], (SHOTS_MAX - 2) * sizeof(*world->shots));
		world->shots[SHOTS_MAX - 1] = (struct shot)SHOT_INIT;
		world->n_shots--;
	}
	return &world->shots[world->n_shots++];
}

/* git may throw away what no ref holds. */
static void collect_garbage(struct world *world)
{
	text_addf(&world->log, "  git repack, git prune\n");
	MUST(find_store(world), "git", "repack", "-adq");
	MUST(find_store(world), "git", "prune", "--expire=now");
}

/*
 * Change the workspace. `git rm -r` removes files through a link that stands in for a directory of the index (seen in 2.39):
 * what is outside is looked at before, and anew afterwards.
 */
static void change_workspace(struct world *world, unsigned n)
{
	struct list outside = LIST_INIT;

	list_take(&outside, world->outside, 0);
	list_compare(&world->report, "outside", &world->outside_files, &outside, TIMES_ALL);
	list_release(&outside);
	mutate(&world->rng, &world->ws_place, n, &world->log);
	list_release(&world->outside_files);
	list_take(&world->outside_files, world->outside, 0);
}

/* Back to the base until nothing is left to do, which is remembered; what changes after that must be seen all the same. */
static void revert_again(struct world *world)
{
	struct child child = CHILD_INIT;
	struct shot before = SHOT_INIT, after = SHOT_INIT;
	struct restored restored = {
		.want = &world->shots[0], .before = &before, .after = &after, .base = &world->shots[0]
	};
	bool is_settled = true;

	for (int turn = 0; turn < 4 && is_settled; turn++) {
		/* What was written just before it was looked at is looked at again. */
		(void)usleep(turn ? 25000 : 0);
		is_settled = EWS_WORKS(world, &child, world->ws, "revert");
	}
	if (is_settled)
		check_verified(world, &child);
	change_workspace(world, rng_below(&world->rng, 3));
	take_shot(world, &before);
	restored.started_s = time(NULL) - 1;
	if (is_settled && EWS_WORKS(world, &child, world->ws, "revert")) {
		check_verified(world, &child);
		take_shot(world, &after);
		check_restored(&world->report, &restored);
	}
	child_release(&child);
	shot_release(&before);
	shot_release(&after);
}

static void play_round(struct world *world)
{
	struct shot before = SHOT_INIT;
	struct shot *taken;

	text_addf(&world->log, "round %u\n", world->round);
	if (rng_chance(&world->rng, 4))
		collect_garbage(world);
	watch_project(world, NULL);
	change_workspace(world, 1 + rng_below(&world->rng, 6));
	taken = keep_shot(world);
	if (!snapshot(world, taken))
		return;
	if (rng_chance(&world->rng, 15))
		snapshot_without_cache(world, taken);
	change_workspace(world, rng_below(&world->rng, 6));
	if (rng_chance(&world->rng, 50)) {
		const struct shot *from = rng_chance(&world->rng, 60) ? &world->shots[0] : taken;

		if (!snapshot(world, &before))
			return;
		check_diff(world, from, &before);
	} else {
		take_shot(world, &before);
	}
	if (!world->report.len && rng_chance(&world->rng, 12)) {
		restore_path(world, rng_chance(&world->rng, 50) ? &world->shots[0] : taken, &before);
	} else if (!world->report.len) {
		unsigned k = rng_below(&world->rng, 100);

		restore(world,
			k < 35   ? &world->shots[0]
			: k < 80 ? taken
				 : &world->shots[rng_below(&world->rng, world->n_shots)],
			&before);
	}
	shot_release(&before);
	if (!world->report.len && rng_chance(&world->rng, 15))
		revert_again(world);
	watch_project(world, &world->report);
}

static void restore_to_directory(struct world *world, const struct shot *want)
{
	struct child child = CHILD_INIT;
	struct list copy = LIST_INIT;
	char *dir = join(world->dir, "restored");

	if (EWS_WORKS(world, &child, world->project, "snapshot", "restore", want->name, "--to", dir)) {
		list_take(&copy, dir, 0);
		check_copy(&world->report, "restore --to", &want->files, &want->record, &copy);
		list_release(&copy);
	}
	RUN(&child, world->dir, NULL, "chmod", "-R", "u+rwX", dir);
	RUN(&child, world->dir, NULL, "rm", "-rf", dir);
	child_release(&child);
	free(dir);
}

/* The project's own states: a snapshot that changes nothing, and back to it, by force and with undo. */
static void play_project(struct world *world)
{
	struct shot want = SHOT_INIT, before = SHOT_INIT, after = SHOT_INIT;
	struct restored restored = {
		.want = &want, .before = &before, .after = &after, .is_project = true, .started_s = time(NULL) - 1
	};
	struct child child = CHILD_INIT;
	bool with_undo = rng_chance(&world->rng, 50);

	text_addf(&world->log, "project\n");
	watch_project(world, NULL);
	if (snapshot(world, &want))
		restore_to_directory(world, &want);
	watch_project(world, &world->report);
	if (!world->report.len)
		mutate(&world->rng, &world->project_place, rng_below(&world->rng, 8), &world->log);
	/* what it says that is ignored is needed below */
	if (!world->report.len && snapshot(world, &before) && !before.with_ignored &&
	    EWS_WORKS(world, &child, world->project, "snapshot", "restore", "--force", want.name)) {
		take_shot(world, &after);
		check_restored(&world->report, &restored);
		if (!world->report.len && strstr(child.err.ptr, "git ews undo") && with_undo &&
		    EWS_WORKS(world, &child, world->project, "undo")) {
			shot_release(&after);
			take_shot(world, &after);
			list_compare(&world->report, "undo in the project", &before.files, &after.files, TIMES_NONE);
		}
	}
	child_release(&child);
	shot_release(&want);
	shot_release(&before);
	shot_release(&after);
}

static bool start_session(struct world *world)
{
	struct child child = CHILD_INIT;
	struct shot *base = &world->shots[0];
	struct gitstate project = GITSTATE_INIT;
	const struct method *method = world->set->method;
	struct list files = LIST_INIT;
	const char *ignored;
	char *id;
	bool done;

	if (asprintf(&id, "s%u", world->session) < 0)
		die("no memory");
	if (!method->is_plain) {
		list_take(&files, world->project, 0);
		gitstate_take(&project, &files, world->project, world->git_dir, world->index_copy);
		list_release(&files);
	}
	watch_project(world, NULL);
	/* In place all of it is there. */
	ignored = method->is_project ? "--keep-ignored=auto" : "--keep-ignored=no";
	if (method->with_ignored)
		ignored = "--keep-ignored=yes";
	done = EWS_WORKS(world, &child, world->project, "start", ignored, "--method", method->given, id);
	if (done) {
		char *ref;

		cut_newline(child.out.ptr);
		world->ws = copy_of(child.out.ptr);
		if (!method->is_plain) {
			RUN(&child, world->ws, NULL, "git", "rev-parse", "--absolute-git-dir");
			cut_newline(child.out.ptr);
			world->admin = copy_of(child.out.ptr);
		}
		world->ws_place = world->project_place;
		world->ws_place.dir = world->ws;
		world->ws_place.moves_branches = method->is_project;
		take_shot(world, base);
		base->is_base = true;
		base->holds_all = !method->is_project;
		base->name = copy_of(id);
		if (asprintf(&ref, "refs/ews/sessions/%s", id) < 0)
			die("no memory");
		record_read(&base->record, find_store(world), ref);
		free(ref);
		record_check(&world->report, &base->record, &base->files);
		world->n_shots = 1;
		if (!method->is_project)
			check_copy(&world->report, "twin", &world->project_files, &base->record, &base->files);
		if (!lacks_kinds(base) && !method->has_config &&
		    !leaves_out_rules(&base->record, &world->project_files))
			status_compare(&world->report, "twin", &project, &base->git);
	}
	watch_project(world, &world->report);
	gitstate_release(&project);
	free(id);
	child_release(&child);
	return done && !world->report.len;
}

static void forget_session(struct world *world)
{
	for (unsigned i = 0; i < SHOTS_MAX; i++)
		shot_release(&world->shots[i]);
	world->n_shots = 0;
	free(world->ws);
	free(world->admin);
	world->ws = world->admin = NULL;
}

/* One path of the work comes home, and goes again. */
static void apply_path(struct world *world, const char *id, const struct shot *want)
{
	const struct list *side = rng_chance(&world->rng, 50) ? &want->files : &world->project_files;
	const char *path = side->n ? side->items[rng_below(&world->rng, (unsigned)side->n)].path : NULL;
	bool with_redo = rng_chance(&world->rng, 30);
	struct child child = CHILD_INIT;
	struct list after = LIST_INIT, back = LIST_INIT;
	char *spec;

	if (!path)
		return;
	if (asprintf(&spec, ":(top,literal)%s", path) < 0)
		die("no memory");
	if (EWS_WORKS(world, &child, world->project, "apply", "--force", id, "--", spec)) {
		list_take(&after, world->project, 0);
		check_part_came_home(&world->report, path, &want->files, &want->record, &world->project_files,
				     &world->shots[0].record, &after);
		for (unsigned turn = 0; turn < (with_redo ? 2 : 1) && !world->report.len; turn++) {
			if (!strstr(child.err.ptr, "git ews undo") ||
			    !EWS_WORKS(world, &child, world->project, "undo"))
				break;
			list_release(&back);
			list_take(&back, world->project, 0);
			list_compare(&world->report, "undo of apply", &world->project_files, &back, TIMES_NONE);
			if (turn || !with_redo || !EWS_WORKS(world, &child, world->project, "undo", "--redo"))
				continue;
			list_release(&back);
			list_take(&back, world->project, 0);
			list_compare(&world->report, "redo of apply", &after, &back, TIMES_NONE);
		}
	}
	list_release(&after);
	list_release(&back);
	free(spec);
	child_release(&child);
}

/* The work comes home: then the project is what the workspace is; and mostly back again. */
static void apply_session(struct world *world, const char *id)
{
	struct shot want = SHOT_INIT;
	struct child child = CHILD_INIT;
	struct list after = LIST_INIT;
	char *ref;

	take_shot(world, &want);
	if (!create(world, &child, world->ws, false))
		return;
	cut_newline(child.out.ptr);
	ref = snapshot_ref(child.out.ptr);
	record_read(&want.record, find_store(world), ref);
	free(ref);
	watch_project(world, NULL);
	if (rng_chance(&world->rng, 50))
		apply_path(world, id, &want);
	/* What the project ignores may stand where the session has something: then theirs is wanted. */
	if (!world->report.len && EWS_WORKS(world, &child, world->project, "apply", "--force", id)) {
		list_take(&after, world->project, 0);
		check_come_home(&world->report, &want.files, &want.record, &world->project_files,
				&world->shots[0].record, &after);
		if (!world->report.len && strstr(child.err.ptr, "git ews undo") && rng_chance(&world->rng, 70) &&
		    EWS_WORKS(world, &child, world->project, "undo")) {
			list_release(&after);
			list_take(&after, world->project, 0);
			list_compare(&world->report, "undo of apply", &world->project_files, &after, TIMES_NONE);
		}
		list_release(&after);
	}
	watch_project(world, NULL);
	shot_release(&want);
	child_release(&child);
}

static void end_session(struct world *world)
{
	const struct method *method = world->set->method;
	struct child child = CHILD_INIT;
	char *id;

	if (asprintf(&id, "s%u", world->session) < 0)
		die("no memory");
	if (!method->is_project && !method->with_ignored)
		apply_session(world, id);
	(void)EWS_WORKS(world, &child, world->project, "end", id);
	watch_project(world, &world->report);
	forget_session(world);
	free(id);
	child_release(&child);
}

static void tell_failure(const struct world *world)
{
	const struct settings *set = world->set;
	char *story = set->go_on ? join(world->dir, "story") : NULL;
	FILE *out = story ? fopen(story, "w") : stdout;

	if (!out)
		die("cannot write '%s': %s", story, strerror(errno));
	fprintf(out, "%sFAILED: --seed %llu --world %u --method %s; kept in %s\n%s\n", world->log.ptr,
		(unsigned long long)set->seed, world->number, set->method->name, world->dir, world->report.ptr);
	if (story) {
		fclose(out);
		printf("FAILED: --world %u, round %u: %.*s\n", world->number, world->round,
		       (int)strcspn(world->report.ptr, "\n"), world->report.ptr);
	}
	free(story);
}

/* Sessions one after the other, of a few rounds each. */
static void play_sessions(struct world *world, unsigned rounds)
{
	while (world->round < rounds && !world->report.len) {
		unsigned left = 1 + rng_below(&world->rng, 8);

		world->session++;
		text_addf(&world->log, "session s%u\n", world->session);
		mutate(&world->rng, &world->project_place, rng_below(&world->rng, 15), &world->log);
		if (!world->set->method->is_project && rng_chance(&world->rng, 50))
			play_project(world);
		if (world->report.len || !start_session(world))
			break;
		while (left-- > 0 && world->round < rounds && !world->report.len) {
			play_round(world);
			world->round++;
		}
		if (!world->report.len)
			end_session(world);
	}
	forget_session(world);
}

/* One world with `rounds` rounds. Returns whether all was well. */
static bool play_world(const struct settings *set, unsigned number, unsigned rounds)
{
	struct world world = { .set = set, .number = number, .rng = { set->seed * 1000003 + number } };
	bool is_well;

	(void)rng_next(&world.rng);
	world_set_up(&world);
	if (set->method->is_mixed)
		play_history(&world, rounds);
	else
		play_sessions(&world, rounds);
	is_well = !world.report.len;
	if (is_well && set->verbose)
		printf("%s", world.log.ptr);
	if (!is_well)
		tell_failure(&world);
	fflush(stdout);
	world_tear_down(&world);
	return is_well;
}

static unsigned rounds_a_world(const struct settings *set)
{
	return set->method->is_mixed ? STEPS_A_WORLD : ROUNDS_A_WORLD;
}

/* Every `jobs`-th world, from `first`. */
static bool play_worlds(const struct settings *set, unsigned first)
{
	unsigned most = rounds_a_world(set);
	bool is_well = true;

	for (unsigned k = first; k * most < set->rounds && (is_well || set->go_on); k += set->jobs) {
		unsigned left = set->rounds - k * most;

		is_well &= play_world(set, k, left < most ? left : most);
	}
	return is_well;
}

static bool play_all(const struct settings *set)
{
	bool is_well = true;
	int status;

	if (set->only_world >= 0)
		return play_world(set, (unsigned)set->only_world, rounds_a_world(set));
	fflush(stdout);
	for (unsigned k = 0; k < set->jobs; k++) {
		pid_t pid = fork();

		if (pid < 0)
			die("cannot fork: %s", strerror(errno));
		if (pid == 0)
			exit(play_worlds(set, k) ? 0 : 1);
	}
	while (wait(&status) > 0)
		is_well = is_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return is_well;
}

static void list_methods(void)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		puts(methods[i].name);
	exit(0);
}

static void usage(void)
{
	fputs("usage: fuzz [--seed <n>] [--rounds <n>] [--method <name>] [--world <n>] [--jobs <n>] [--keep] [--go-on]\n"
	      "            [-v]\n"
	      "       fuzz --methods\n",
	      stderr);
	exit(129);
}

static void choose_method(struct settings *set, const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (!strcmp(methods[i].name, name)) {
			set->method = &methods[i];
			return;
		}
	usage();
}

static void parse(struct settings *set, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "method", required_argument, NULL, 'm' },
		{ "world", required_argument, NULL, 'w' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "keep", no_argument, NULL, 'k' },
		{ "methods", no_argument, NULL, 'M' },
		{ "go-on", no_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "v", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			set->seed = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			set->rounds = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			choose_method(set, optarg);
			break;
		case 'w':
			set->only_world = strtol(optarg, NULL, 10);
			break;
		case 'j':
			set->jobs = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'M':
			list_methods();
			break;
		case 'g':
			set->go_on = true;
			break;
		case 'k':
			set->keep = true;
			break;
		case 'v':
			set->verbose = true;
			break;
		default:
			usage();
		}
	}
	if (optind < argc || !set->jobs)
		usage();
}

/* Nobody's settings, and the same dates each time. */
static void settle_environment(void)
{
	static const char *const names[][2] = {
		{ "GIT_CONFIG_NOSYSTEM", "1" },
		{ "LC_ALL", "C" },
		{ "TZ", "UTC" },
		{ "GIT_TERMINAL_PROMPT", "0" },
		{ "GIT_EDITOR", "true" },
		{ "GIT_MERGE_AUTOEDIT", "no" },
		{ "GIT_AUTHOR_DATE", "@1600000000 +0000" },
		{ "GIT_COMMITTER_DATE", "@1600000000 +0000" },
	};
	static const char *const unwanted[] = { "SUPERQODE_HOME", "EWS_SESSION",    "XDG_CONFIG_HOME",  "GIT_DIR",
						"GIT_WORK_TREE",  "GIT_INDEX_FILE", "GIT_CONFIG_GLOBAL" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		setenv(names[i][0], names[i][1], 1);
	for (size_t i = 0; i < sizeof(unwanted) / sizeof(*unwanted); i++)
		unsetenv(unwanted[i]);
}

/* It is built one directory above this program. */
static char *find_killat(void)
{
	char *self = realpath("/proc/self/exe", NULL);
	char *path = NULL;

	for (int up = 0; self && up < 2; up++)
		*strrchr(self, '/') = '\0';
	if (!self || asprintf(&path, "%s/killat", self) < 0)
		die("cannot find this program's directory");
	free(self);
	return path;
}

int main(int argc, char **argv)
{
	struct settings set = { .rounds = 100, .method = &methods[0], .only_world = -1, .jobs = 1 };
	const char *bin = getenv("EWS_BIN");
	const char *tmp = getenv("TMPDIR");
	bool is_well;
	char *made;

	set.seed = (uint64_t)time(NULL) % 1000000;
	parse(&set, argc, argv);
	if (!bin)
		die("EWS_BIN must name the directory of git-ews");
	set.git_ews = join(bin, "git-ews");
	if (access(set.git_ews, X_OK) < 0)
		die("no program '%s'", set.git_ews);
	set.killat = find_killat();
	made = join(tmp ? tmp : "/tmp", "ews-fuzz.XXXXXX");
	if (!mkdtemp(made))
		die("cannot make a directory: %s", strerror(errno));
	set.tmp = realpath(made, NULL);
	if (!set.tmp || setenv("GIT_CEILING_DIRECTORIES", set.tmp, 1) < 0)
		die("cannot find '%s'", made);
	free(made);
	settle_environment();
	umask(022);
	printf("seed %llu, %u rounds, method %s\n", (unsigned long long)set.seed, set.rounds, set.method->name);
	is_well = play_all(&set);
	if (is_well)
		(void)rmdir(set.tmp); /* --keep fills it */
	printf("%s\n", is_well ? "all is well" : "something is wrong");
	free(set.tmp);
	free(set.git_ews);
	free(set.killat);
	return is_well ? 0 : 1;
}
