/*
 * Scenes: see scene.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void scene_release(struct scene *scene)
{
	shot_release(&scene->shot);
	list_release(&scene->git);
	scene->is_there = false;
}

void scene_take(struct scene *out, const char *dir, const char *git_dir)
{
	scene_release(out);
	out->is_there = access(dir, F_OK) == 0;
	if (!out->is_there)
		return;
	list_take(&out->shot.files, dir, 0);
	if (!git_dir)
		return;
	gitstate_take_files(&out->shot.git, &out->shot.files, git_dir);
	take_git_dir(&out->git, git_dir);
}

void scene_take_head(struct scene *scene, const char *dir, const char *copy)
{
	if (scene->is_there)
		gitstate_take_head(&scene->shot.git, dir, copy);
}

const char *scene_head(const struct scene *scene)
{
	const struct item *head = list_find(&scene->shot.git.files, "HEAD");

	return head ? head->data : "";
}

void scene_set_head(struct scene *scene, const char *text)
{
	for (size_t i = 0; i < scene->shot.git.files.n; i++) {
		struct item *item = &scene->shot.git.files.items[i];

		if (strcmp(item->path, "HEAD") != 0)
			continue;
		free(item->data);
		item->data = copy_of(text);
		item->len = strlen(text);
	}
}

const char *scene_branch(const struct scene *scene)
{
	const char *head = scene_head(scene);

	return strncmp(head, "ref: ", strlen("ref: ")) ? NULL : head;
}

static bool has_socket(const struct list *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (S_ISSOCK(files->items[i].mode))
			return true;
	return false;
}

void scene_compare_head(struct text *report, const char *what, const struct scene *before,
			const struct scene *after, bool with_status)
{
	const struct list *then = &before->shot.files, *now = &after->shot.files;

	gitstate_compare_head(report, what, &before->shot.git, &after->shot.git,
			      with_status && before->rules == after->rules && same_rules(then, now) &&
				      !has_socket(then) && !has_socket(now));
}

void scene_compare(struct text *report, const char *what, const struct scene *before, const struct scene *after,
		   enum list_times times)
{
	if (before->is_there != after->is_there)
		text_addf(report, "%s: the workspace is %s\n", what, after->is_there ? "there" : "gone");
	if (!before->is_there || !after->is_there)
		return;
	list_compare(report, what, &before->shot.files, &after->shot.files, times);
	gitstate_compare(report, what, &before->shot.git, &after->shot.git);
}

bool scene_is(const struct scene *a, const struct scene *b)
{
	struct text report = TEXT_INIT;
	bool is_same;

	scene_compare(&report, "", a, b, TIMES_NONE);
	is_same = !report.len && a->rules == b->rules;
	text_release(&report);
	return is_same;
}

static bool is_equal(const struct item *a, const struct item *b)
{
	return b && (a->mode & S_IFMT) == (b->mode & S_IFMT) && a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* What refs of the project hold, and all files of the world: looked up when they are needed. */
struct search {
	struct world *world;
	struct child held;
	struct list all;
};

/* `item` is NULL for what no file can be. */
static bool is_kept(struct search *search, const char *id, const struct item *item)
{
	if (!search->held.out.len)
		RUN(&search->held, find_store(search->world), NULL, "git", "rev-list", "--objects", "--all");
	if (strstr(search->held.out.ptr, id))
		return true;
	if (item && !search->all.n)
		list_take(&search->all, search->world->dir, 0);
	for (size_t i = 0; item && i < search->all.n; i++)
		if (is_equal(item, &search->all.items[i]))
			return true;
	return false;
}

/* A commit that a branch or HEAD is no longer at. */
static bool is_left_commit(const struct item *item, const struct list *after)
{
	return (!strcmp(item->path, "HEAD") || path_is_in(item->path, "refs/heads")) && item->len == ID_HEX &&
	       !is_equal(item, list_find(after, item->path));
}

void scene_check_kept(struct world *world, const char *what, const struct scene *before, const struct scene *after)
{
	struct search search = { world, CHILD_INIT, LIST_INIT };
	char id[ID_HEX];

	for (size_t i = 0; i < before->shot.files.n; i++) {
		const struct item *item = &before->shot.files.items[i];

		if (!item->len || is_equal(item, list_find(&after->shot.files, item->path)))
			continue;
		blob_id(id, item);
		if (is_kept(&search, id, item))
			continue;
		text_addf(&world->report, "%s: lost: ", what);
		text_add_name(&world->report, item->path);
		text_addf(&world->report, "\n    before ");
		item_describe(&world->report, item);
		text_addf(&world->report, "\n");
	}
	for (size_t i = 0; i < before->git.n; i++) {
		const struct item *item = &before->git.items[i];

		if (!is_left_commit(item, &after->git))
			continue;
		snprintf(id, sizeof(id), "%s", item->data);
		if (!is_kept(&search, id, NULL))
			text_addf(&world->report, "%s: lost: %s, at which %s was\n", what, id, item->path);
	}
	list_release(&search.all);
	child_release(&search.held);
}
