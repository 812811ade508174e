/*
 * What is told of a tree leads from what was there to what is there.
 *
 * A replica is a list of paths with what stands at each. It is changed by what
 * is told and by nothing else, and must be what a plain walk finds in the end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/notify_tree.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/strv.h"
#include "fixture.h"

struct thing {
	char *path, *value;
};

struct replica {
	int dir_fd;
	struct thing *items;
	size_t n, cap;
	struct ews_strv log; /* what was told */
};

TestSuite(notify_tree, .init = fixture_begin, .fini = fixture_end);

/* What stands at `path`, in a word. */
static char *value_of(int dir_fd, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	char link[4096] = "", hex[41] = "";
	uint8_t digest[EWS_HASH_MAX];
	struct stat st;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_strdup("nothing");
	if (S_ISREG(st.st_mode)) {
		fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			(void)ews_file_read_fd(&text, fd, EWS_MIB);
		ews_hash_once(EWS_SHA1, digest, text.ptr, text.len);
		ews_hex(hex, digest, 20);
	} else if (S_ISLNK(st.st_mode) && readlinkat(dir_fd, path, link, sizeof(link) - 1) < 0) {
		link[0] = '\0';
	}
	return ews_strfmt("%o %s%s", (unsigned)st.st_mode, hex, link);
}

static struct thing *find(struct replica *replica, const char *path)
{
	for (size_t i = 0; i < replica->n; i++)
		if (!strcmp(replica->items[i].path, path))
			return &replica->items[i];
	return NULL;
}

static void take_away(struct replica *replica, const char *path)
{
	for (size_t i = replica->n; i-- > 0;) {
		if (strcmp(replica->items[i].path, path) != 0)
			continue;
		free(replica->items[i].path);
		free(replica->items[i].value);
		replica->items[i] = replica->items[--replica->n];
	}
}

static void put(struct replica *replica, const char *path)
{
	take_away(replica, path);
	EWS_GROW(replica->items, replica->n, replica->cap);
	replica->items[replica->n++] = (struct thing){ ews_strdup(path), value_of(replica->dir_fd, path) };
}

static void walk(struct replica *replica, const char *path)
{
	EWS_CLEANUP(fd)
	int fd = openat(replica->dir_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(dup(fd));
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		EWS_CLEANUP(free) char *child = ews_path_join(path, entry->d_name);

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		put(replica, child);
		walk(replica, child);
	}
	if (dir)
		closedir(dir);
}

static void release(struct replica *replica)
{
	while (replica->n)
		take_away(replica, replica->items[0].path);
	free(replica->items);
	ews_strv_release(&replica->log);
}

/* Moves that belong together are told one after the other, as if at once: what they displace is set aside. */
static void move(struct replica *replica, const char *from, const char *to, struct replica *aside)
{
	for (size_t i = 0; i < replica->n; i++) {
		struct thing *thing = &replica->items[i];

		if (!ews_path_is_inside(thing->path, from))
			continue;
		EWS_GROW(aside->items, aside->n, aside->cap);
		aside->items[aside->n++] = (struct thing){ ews_strfmt("%s%s", to, thing->path + strlen(from)),
							   ews_strdup(thing->value) };
	}
}

static void follow(void *payload, const struct ews_tree_change *change)
{
	static const char *const words[] = { "overflow", "moved", "deleted", "created", "modified" };
	struct replica *replica = payload;

	ews_strv_addf(&replica->log, "%s %s%s%s%s", words[change->kind], change->old_path ? change->old_path : "",
		      change->old_path ? " -> " : "", change->path, change->is_dir ? "/" : "");
	if (change->kind == EWS_TREE_DELETED)
		take_away(replica, change->path);
	else if (change->kind != EWS_TREE_OVERFLOW)
		put(replica, change->path);
	if (change->kind == EWS_TREE_MOVED) {
		struct replica moved = { .dir_fd = replica->dir_fd };

		move(replica, change->old_path, change->path, &moved);
		for (size_t i = 0; i < moved.n; i++)
			if (strcmp(moved.items[i].path, change->path) != 0) {
				take_away(replica, moved.items[i].path);
				EWS_GROW(replica->items, replica->n, replica->cap);
				replica->items[replica->n++] = (struct thing){ ews_strdup(moved.items[i].path),
									       ews_strdup(moved.items[i].value) };
			}
		for (size_t i = replica->n; i-- > 0;)
			if (i < replica->n && ews_path_is_inside(replica->items[i].path, change->old_path) &&
			    !ews_path_is_inside(replica->items[i].path, change->path)) {
				EWS_CLEANUP(free) char *path = ews_strdup(replica->items[i].path);
				EWS_CLEANUP(free) char *there = value_of(replica->dir_fd, path);

				/* Something else may have come there in the same batch, by another move. */
				if (!strcmp(there, "nothing"))
					take_away(replica, path);
			}
		release(&moved);
	}
}

static void assert_is_as_found(struct replica *replica, const char *what)
{
	struct replica found = { .dir_fd = replica->dir_fd, .log = EWS_STRV_INIT };

	walk(&found, "");
	for (size_t i = 0; i < found.n; i++) {
		const struct thing *thing = find(replica, found.items[i].path);

		cr_assert(thing, "%s, seed %zu: nobody told of '%s'", what, fixture_seed(), found.items[i].path);
		cr_assert_str_eq(thing->value, found.items[i].value, "%s, seed %zu: '%s' changed, and nobody told",
				 what, fixture_seed(), found.items[i].path);
	}
	for (size_t i = 0; i < replica->n; i++)
		cr_assert(find(&found, replica->items[i].path), "%s, seed %zu: nobody told that '%s' is gone", what,
			  fixture_seed(), replica->items[i].path);
	release(&found);
}

struct scene {
	struct replica replica;
	struct ews_notify_tree *tree;
};

static void begin(struct scene *scene, bool polls)
{
	struct ews_notify_tree_opts opts = { .polls = polls };

	cr_assert_eq(mkdir("tree", 0755), 0);
	scene->replica = (struct replica){ .dir_fd = fixture_open_dir("tree"), .log = EWS_STRV_INIT };
	opts.root_fd = scene->replica.dir_fd;
	cr_assert_eq(ews_notify_tree_open(&scene->tree, &opts), 0, "%s", ews_error_message());
}

static void end(struct scene *scene)
{
	ews_notify_tree_free(scene->tree);
	close(scene->replica.dir_fd);
	release(&scene->replica);
}

/* Take in what is there, and have it told. */
static int settle(struct scene *scene)
{
	ews_strv_clear(&scene->replica.log);
	cr_assert_geq(ews_notify_tree_read(scene->tree), 0);
	cr_assert_geq(ews_notify_tree_poll(scene->tree), 0);
	return ews_notify_tree_settle(scene->tree, follow, &scene->replica);
}

static void assert_told(struct scene *scene, const char *const *lines, size_t n)
{
	settle(scene);
	for (size_t i = 0; i < n && i < scene->replica.log.n; i++)
		cr_assert_str_eq(scene->replica.log.items[i], lines[i]);
	cr_assert_eq(scene->replica.log.n, n, "told: %zu, the last: %s", scene->replica.log.n,
		     scene->replica.log.n ? scene->replica.log.items[scene->replica.log.n - 1] : "-");
}

#define ASSERT_TOLD(scene, ...)                                              \
	do {                                                                 \
		const char *const lines[] = { __VA_ARGS__ };                 \
		assert_told((scene), lines, sizeof(lines) / sizeof(*lines)); \
	} while (0)

static void assert_quiet(struct scene *scene)
{
	assert_told(scene, NULL, 0);
}

Test(notify_tree, each_kind_is_told_once)
{
	struct scene scene;

	begin(&scene, false);
	fixture_shell("cd tree; mkdir -p d/e; echo 1 >d/e/f; echo 2 >g");
	ASSERT_TOLD(&scene, "created d/", "created d/e/", "created d/e/f", "created g");
	fixture_shell("cd tree; echo 3 >>g; chmod 700 d; ln -s g l");
	ASSERT_TOLD(&scene, "modified d/", "modified g", "created l");
	fixture_shell("cd tree; rm -r d g");
	ASSERT_TOLD(&scene, "deleted g", "deleted d/e/f", "deleted d/e/", "deleted d/");
	assert_quiet(&scene);
	end(&scene);
}

Test(notify_tree, what_comes_and_goes_meanwhile_is_not_told)
{
	struct scene scene;

	begin(&scene, false);
	fixture_shell("cd tree; echo 1 >f; mkdir d; echo 1 >d/x; rm f; rm -r d; echo 1 >new; echo 2 >>new");
	ASSERT_TOLD(&scene, "created new");
	fixture_shell("cd tree; echo 3 >temporary; mv temporary new");
	ASSERT_TOLD(&scene, "modified new");
	fixture_shell("cd tree; : >>new; cat new >/dev/null");
	assert_quiet(&scene);
	end(&scene);
}

Test(notify_tree, a_change_that_leaves_size_and_time_is_told)
{
	struct scene scene;

	begin(&scene, false);
	fixture_shell("cd tree; printf abc >f; touch -d @1000000000 f");
	settle(&scene);
	fixture_shell("cd tree; printf xyz >f; touch -d @1000000000 f");
	ASSERT_TOLD(&scene, "modified f");
	end(&scene);
}

Test(notify_tree, renames_are_followed)
{
	struct scene scene;

	begin(&scene, false);
	fixture_shell("cd tree; mkdir -p a/sub b; echo 1 >a/sub/f; echo 2 >one; echo 3 >two");
	settle(&scene);
	fixture_shell("cd tree; mv a/sub b/sub; mv b c; echo 4 >>c/sub/f");
	ASSERT_TOLD(&scene, "moved b -> c/", "moved a/sub -> c/sub/", "modified c/sub/f");
	fixture_shell("cd tree; mv one x; mv two one; mv x two");
	ASSERT_TOLD(&scene, "moved one -> two", "moved two -> one");
	fixture_shell("cd tree; mv one x; mv x one");
	assert_quiet(&scene);
	fixture_shell("cd tree; mv one one~; echo 5 >one");
	ASSERT_TOLD(&scene, "moved one -> one~", "created one");
	fixture_shell("cd tree; mkdir -p new/deep; mv c new/deep; mv two new");
	ASSERT_TOLD(&scene, "moved c -> new/deep/c/", "moved two -> new/two", "created new/", "created new/deep/");
	fixture_shell("cd tree; echo 6 >>new/deep/c/sub/f");
	ASSERT_TOLD(&scene, "modified new/deep/c/sub/f");
	assert_is_as_found(&scene.replica, "renames");
	end(&scene);
}

Test(notify_tree, what_is_moved_out_is_gone_and_watched_no_more)
{
	struct scene scene;

	begin(&scene, false);
	fixture_shell("mkdir -p tree/d/e; echo 1 >tree/d/e/f");
	settle(&scene);
	fixture_shell("mv tree/d elsewhere; echo 2 >>elsewhere/e/f");
	ASSERT_TOLD(&scene, "deleted d/e/f", "deleted d/e/", "deleted d/");
	cr_assert_eq(ews_notify_tree_n_dirs(scene.tree), 1);
	fixture_shell("echo 3 >>elsewhere/e/f");
	assert_quiet(&scene);
	fixture_shell("mv elsewhere tree/d");
	ASSERT_TOLD(&scene, "created d/", "created d/e/", "created d/e/f");
	end(&scene);
}

Test(notify_tree, polling_finds_renames_by_the_inode)
{
	struct scene scene;

	begin(&scene, true);
	cr_assert_eq(ews_notify_tree_fd(scene.tree), -1);
	fixture_shell("cd tree; mkdir -p a/sub; echo 1 >a/sub/f; echo 2 >a/g; echo 3 >h");
	settle(&scene);
	fixture_shell("cd tree; mv a b; mv h b/h; rm b/g");
	ASSERT_TOLD(&scene, "moved a -> b/", "moved h -> b/h", "deleted b/g");
	assert_is_as_found(&scene.replica, "polling");
	end(&scene);
}

Test(notify_tree, the_end_of_the_directory_is_an_error_after_all_else)
{
	struct scene scene;

	begin(&scene, false);
	fixture_shell("echo 1 >tree/f");
	settle(&scene);
	fixture_shell("rm -r tree");
	cr_assert_eq(settle(&scene), EWS_ENOTFOUND);
	cr_assert_eq(scene.replica.n, 0);
	end(&scene);
}

Test(notify_tree, after_lost_events_all_is_listed_again)
{
	struct scene scene;
	size_t i;
	int limit = 0;
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "r");

	if (!file || fscanf(file, "%d", &limit) != 1 || limit > 100000)
		cr_skip_test("the queue of events is too long to be filled");
	(void)fclose(file);
	begin(&scene, false);
	fixture_shell("cd tree; mkdir -p d/e; echo 1 >d/gone; echo 1 >moved; echo 1 >kept");
	settle(&scene);
	for (i = 0; i < (size_t)limit; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "x%zu", i % 2);
		cr_assert_eq(i % 4 < 2 ? mknodat(scene.replica.dir_fd, name, S_IFREG | 0644, 0)
				       : unlinkat(scene.replica.dir_fd, name, 0),
			     0);
	}
	fixture_shell(
		"cd tree; rm -f x0 x1 d/gone; mv moved d/e/moved; echo 2 >>kept; mkdir -p new/dir; echo 1 >new/dir/f");
	ASSERT_TOLD(&scene, "overflow /", "moved moved -> d/e/moved", "deleted d/gone", "modified kept",
		    "created new/", "created new/dir/", "created new/dir/f");
	fixture_shell("cd tree; echo 2 >>new/dir/f");
	ASSERT_TOLD(&scene, "modified new/dir/f");
	end(&scene);
}

static bool wants_no_o(void *payload, const char *path, bool is_dir)
{
	size_t len = strlen(path);

	return !*(bool *)payload || is_dir || len < 2 || strcmp(path + len - 2, ".o") != 0;
}

Test(notify_tree, another_filter_is_no_change)
{
	struct scene scene;
	bool is_on = true;
	struct ews_notify_tree_opts opts = { .wants = wants_no_o, .payload = &is_on };

	begin(&scene, false);
	ews_notify_tree_free(scene.tree);
	fixture_shell("cd tree; echo 1 >a.o; echo 1 >a.c");
	opts.root_fd = scene.replica.dir_fd;
	cr_assert_eq(ews_notify_tree_open(&scene.tree, &opts), 0);
	fixture_shell("cd tree; echo 2 >>a.o; echo 1 >b.o");
	cr_assert_eq(ews_notify_tree_read(scene.tree), 0);
	assert_quiet(&scene);
	/* The clock of files ticks slowly: what is younger than a tick counts as new. */
	usleep(50000);
	assert_quiet(&scene);
	is_on = false;
	cr_assert_eq(ews_notify_tree_refilter(scene.tree), 0);
	assert_quiet(&scene);
	fixture_shell("cd tree; echo 3 >>a.o");
	ASSERT_TOLD(&scene, "modified a.o");
	fixture_shell("cd tree; echo 1 >c.o");
	is_on = true;
	cr_assert_eq(ews_notify_tree_refilter(scene.tree), 0);
	assert_quiet(&scene);
	end(&scene);
}

static void go_round(const char *what, bool polls)
{
	size_t rounds = fixture_rounds(20);
	struct scene scene;

	begin(&scene, polls);
	fixture_make_tree(scene.replica.dir_fd, FIXTURE_FIFOS | FIXTURE_ODD_NAMES);
	settle(&scene);
	assert_is_as_found(&scene.replica, what);
	for (size_t i = 0; i < rounds; i++) {
		for (size_t edits = fixture_pick(3); edits-- > 0;)
			fixture_edit_tree(scene.replica.dir_fd, FIXTURE_FIFOS | FIXTURE_ODD_NAMES);
		settle(&scene);
		assert_is_as_found(&scene.replica, what);
	}
	end(&scene);
}

Test(notify_tree, random_edits_lead_to_what_is_there)
{
	go_round("notified", false);
}

Test(notify_tree, random_edits_lead_to_what_is_there_when_polled)
{
	go_round("polled", true);
}

static _Atomic bool is_done;

static void *edit_on(void *payload)
{
	int dir_fd = *(int *)payload;
	size_t rounds = fixture_rounds(20);

	for (size_t i = 0; i < rounds; i++)
		fixture_edit_tree(dir_fd, FIXTURE_FIFOS | FIXTURE_ODD_NAMES);
	is_done = true;
	return NULL;
}

Test(notify_tree, edits_meanwhile_lead_to_what_is_there)
{
	struct scene scene;
	pthread_t editor;

	begin(&scene, false);
	fixture_make_tree(scene.replica.dir_fd, FIXTURE_FIFOS | FIXTURE_ODD_NAMES);
	settle(&scene);
	cr_assert_eq(pthread_create(&editor, NULL, edit_on, &scene.replica.dir_fd), 0);
	while (!is_done)
		settle(&scene);
	cr_assert_eq(pthread_join(editor, NULL), 0);
	settle(&scene);
	assert_is_as_found(&scene.replica, "meanwhile");
	end(&scene);
}
