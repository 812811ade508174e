/*
 * Worlds: see world.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static void log_output(struct world *world, const struct child *child)
{
	if (child->status)
		text_addf(&world->log, "    status %d\n", child->status);
	if (child->err.len)
		text_addf(&world->log, "    %s", child->err.ptr);
}

int run_ews(struct world *world, struct child *child, const char *dir, const char *const *argv)
{
	const char *all[24] = { NULL };
	size_t n = 0;

	if (world->kill_at) {
		all[n++] = world->set->killat;
		all[n++] = world->kill_at;
	}
	all[n++] = world->set->git_ews;
	text_addf(&world->log, "$ %s%s%sgit ews", world->kill_at ? "killat " : "",
		  world->kill_at ? world->kill_at : "", world->kill_at ? " " : "");
	for (; *argv; argv++) {
		text_addf(&world->log, " ");
		text_add_name(&world->log, *argv);
		all[n++] = *argv;
	}
	text_addf(&world->log, "\n");
	run_child(child, dir, NULL, all);
	log_output(world, child);
	return child->status;
}

bool ews_works(struct world *world, struct child *child, const char *dir, const char *const *argv)
{
	if (run_ews(world, child, dir, argv) == 0)
		return true;
	text_addf(&world->report, "git ews %s: status %d\n%s%s", argv[0], child->status, child->out.ptr,
		  child->err.ptr);
	return false;
}

void cut_newline(char *text)
{
	text[strcspn(text, "\n")] = '\0';
}

/* What of a git directory verbs may change is not listed: objects, our refs and entries, branches that ends leave. */
static bool is_ours(const char *path)
{
	static const char *const ours[] = { "objects",
					    "worktrees",
					    "ews",
					    "refs/ews",
					    "logs/refs/ews",
					    "packed-refs",
					    "refs/heads/ended",
					    "logs/refs/heads/ended",
					    NULL };

	for (const char *const *at = ours; *at; at++)
		if (path_is_in(path, *at))
			return true;
	return false;
}

void take_git_dir(struct list *out, const char *dir)
{
	size_t kept = 0;

	list_take(out, dir, LIST_GIT | LIST_NO_OBJECTS);
	for (size_t i = 0; i < out->n; i++) {
		struct item *item = &out->items[i];

		if (!is_ours(item->path)) {
			/* git status freshens the times of these */
			if (!strncmp(item->path, "sharedindex.", 12))
				item->mtime = (struct timespec){ 0, 0 };
			out->items[kept++] = *item;
			continue;
		}
		free(item->path);
		free(item->data);
		free(item->attrs);
	}
	out->n = kept;
}

char *snapshot_ref(const char *id)
{
	char *ref;

	if (asprintf(&ref, "refs/ews/snapshots/%s", id) < 0)
		die("no memory");
	return ref;
}

const char *find_store(struct world *world)
{
	glob_t found;
	char *pattern;

	if (world->store)
		return world->store;
	pattern = join(world->dir, "home/.superqode/store/project-*.git");
	if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1)
		die("no store, or several, '%s'", pattern);
	world->store = copy_of(found.gl_pathv[0]);
	world->scratch.objects = join(world->store, "objects");
	globfree(&found);
	free(pattern);
	return world->store;
}

static bool has_attrs(const char *dir)
{
	return setxattr(dir, "user.fuzz", "", 0, 0) == 0 && removexattr(dir, "user.fuzz") == 0;
}

static void write_text(const char *dir, const char *name, const char *text)
{
	char *path = join(dir, name);
	FILE *out = fopen(path, "w");

	if (!out || fputs(text, out) < 0 || fclose(out) != 0)
		die("cannot write '%s': %s", path, strerror(errno));
	free(path);
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) < 0)
		die("cannot make '%s': %s", path, strerror(errno));
}

/* A project with two branches that do not merge by themselves, and much that is not committed. */
static void make_project(struct world *world)
{
	const char *dir = world->project;
	struct place place_alone = world->project_place;
	struct child child = CHILD_INIT;
	char *info;

	make_dir(dir);
	if (world->set->method->is_plain) {
		mutate_fill(&world->rng, &world->project_place, &world->log);
		return;
	}
	MUST(dir, "git", "init", "-q", "--template=", "-b", "main");
	MUST(dir, "git", "config", "filter.up.clean", "tr a-z A-Z");
	info = join(dir, ".git/info");
	make_dir(info);
	write_text(info, "exclude", "*.excluded\n");
	free(info);
	mutate_fill(&world->rng, &world->project_place, &world->log);
	/* names that git refuses stay untracked */
	RUN(&child, dir, NULL, "git", "add", "-A", "--ignore-errors", "--", ".");
	child_release(&child);
	MUST(dir, "git", "commit", "-q", "--no-verify", "--allow-empty", "-m", "one");
	MUST(dir, "git", "branch", "other");
	place_alone.has_git = false;
	mutate(&world->rng, &place_alone, 12, &world->log);
	write_text(dir, "Makefile.in", "one\nours\nthree\n");
	MUST(dir, "git", "add", "-f", "Makefile.in");
	MUST(dir, "git", "commit", "-q", "--no-verify", "-m", "two");
	MUST(dir, "git", "checkout", "-q", "-f", "other");
	write_text(dir, "Makefile.in", "one\ntheirs\nthree\n");
	MUST(dir, "git", "add", "-f", "Makefile.in");
	MUST(dir, "git", "commit", "-q", "--no-verify", "-m", "three");
	MUST(dir, "git", "checkout", "-q", "-f", "main");
}

void world_set_up(struct world *world)
{
	char *home, *info;

	if (asprintf(&world->dir, "%s/w%u", world->set->tmp, world->number) < 0)
		die("no memory");
	make_dir(world->dir);
	home = join(world->dir, "home");
	make_dir(home);
	write_text(home, ".gitconfig",
		   "[user]\n\tname = A U Thor\n\temail = author@example.com\n[gc]\n\tauto = 0\n[advice]\n"
		   "\tdetachedHead = false\n[core]\n\tfsync = none\n");
	if (setenv("HOME", home, 1) < 0)
		die("no memory");
	free(home);
	world->project = join(world->dir, "project");
	world->git_dir = join(world->project, ".git");
	if (!world->set->method->is_plain) {
		world->store = copy_of(world->git_dir);
		world->scratch.objects = join(world->store, "objects");
	}
	world->index_copy = join(world->dir, "index");
	world->outside = join(world->dir, "outside");
	make_dir(world->outside);
	write_text(world->outside, "a", "nobody writes here\n");
	world->scratch.git_dir = join(world->dir, "scratch.git");
	world->scratch.work_tree = join(world->dir, "scratch");
	MUST(world->dir, "git", "init", "-q", "--bare", "--template=", world->scratch.git_dir);
	MUST(world->dir, "git", "init", "-q", "--template=", world->scratch.work_tree);
	/* files are the bytes of their blobs, whatever attributes the trees bring */
	info = join(world->scratch.work_tree, ".git/info");
	make_dir(info);
	write_text(info, "attributes", "* -text !eol -ident !filter !working-tree-encoding\n");
	free(info);
	world->project_place = (struct place){ .dir = world->project,
					       .outside = world->outside,
					       .moves_branches = true,
					       .has_git = !world->set->method->is_plain,
					       .has_attrs = has_attrs(world->dir),
					       .is_small = world->set->method->is_mixed,
					       .has_future = rng_chance(&world->rng, 50) };
	make_project(world);
}

void world_tear_down(struct world *world)
{
	struct child child = CHILD_INIT;

	if (!world->report.len && !world->set->keep) {
		RUN(&child, "/", NULL, "chmod", "-R", "u+rwX", world->dir);
		RUN(&child, "/", NULL, "rm", "-rf", world->dir);
	}
	child_release(&child);
	list_release(&world->project_files);
	list_release(&world->project_git);
	list_release(&world->outside_files);
	free(world->scratch.git_dir);
	free(world->scratch.work_tree);
	free(world->scratch.objects);
	free(world->dir);
	free(world->project);
	free(world->git_dir);
	free(world->store);
	free(world->outside);
	free(world->index_copy);
	text_release(&world->log);
	text_release(&world->report);
}
