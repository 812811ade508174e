/*
 * Checks: see check.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <cjson/cJSON.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

void shot_release(struct shot *shot)
{
	list_release(&shot->files);
	gitstate_release(&shot->git);
	free(shot->name);
	record_release(&shot->record);
	*shot = (struct shot)SHOT_INIT;
}

static void wrong(struct text *report, const char *what, const char *path, const struct item *want,
		  const struct item *before, const struct item *after)
{
	text_addf(report, "restore: %s: ", what);
	text_add_name(report, path);
	text_addf(report, "\n    want   ");
	item_describe(report, want);
	text_addf(report, "\n    before ");
	item_describe(report, before);
	text_addf(report, "\n    after  ");
	item_describe(report, after);
	text_addf(report, "\n");
}

bool lacks_kinds(const struct shot *shot)
{
	for (size_t i = 0; i < shot->record.n_skips; i++)
		if (!strcmp(shot->record.skips[i].reason, "socket"))
			return true;
	return false;
}

bool shot_holds(const struct shot *shot, const char *path)
{
	const struct skip *skip = record_skip(&shot->record, path);

	return !skip || (shot->holds_all && strcmp(skip->reason, "present") != 0);
}

static bool is_rules_file(const char *path)
{
	return !strcmp(path_base(path), ".gitignore") || !strcmp(path_base(path), ".gitattributes");
}

bool leaves_out_rules(const struct record *record, const struct list *files)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct skip *skip = record_skip(record, files->items[i].path);

		if (is_rules_file(files->items[i].path) && skip && strcmp(skip->reason, "present") != 0)
			return true;
	}
	return false;
}

/* Are rules for git, left out then because they were ignored themselves, other ones now? Then git status may be, too. */
static bool lacks_rules(const struct shot *want, const struct shot *after)
{
	for (size_t i = 0; i < want->files.n; i++) {
		const struct item *item = &want->files.items[i];
		const struct item *now = list_find(&after->files, item->path);

		if (!is_rules_file(item->path))
			continue;
		if (!shot_holds(want, item->path) && (!now || item_difference(item, now, false)))
			return true;
	}
	return false;
}

static bool same_time(const struct item *a, const struct item *b)
{
	return a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec;
}

/* Does the only path lie in it, and was there no directory? Then one is made, whatever stood there. */
static bool is_made_on_the_way(const struct restored *r, const char *path)
{
	const struct item *before = list_find(&r->before->files, path);

	return path_is_in(r->only, path) && list_find(&r->want->files, r->only) &&
	       (!before || !S_ISDIR(before->mode));
}

static bool is_wanted(const struct restored *r, const char *path)
{
	return !r->only || path_is_in(path, r->only) || is_made_on_the_way(r, path);
}

/* As far as stat data say: it was perhaps not written, but nobody read it to know. */
static bool has_moved_on(const struct item *then, const struct item *now)
{
	if (S_ISDIR(then->mode))
		return !S_ISDIR(now->mode);
	return then->ino != now->ino || then->ctime.tv_sec != now->ctime.tv_sec ||
	       then->ctime.tv_nsec != now->ctime.tv_nsec;
}

/* Is there something in it that came along? Whether what is new beside that is ignored as well depends on the rules. */
static bool had_products(const struct shot *base, const char *path)
{
	size_t len = strcspn(path, "/");

	for (size_t i = 0; i < base->record.n_skips; i++) {
		const struct skip *skip = &base->record.skips[i];

		if (!strcmp(skip->reason, "present") && strcspn(skip->path, "/") == len &&
		    !strncmp(skip->path, path, len))
			return true;
	}
	return false;
}

bool lost_products(const struct shot *base, const struct shot *now)
{
	for (size_t i = 0; base->holds_all && i < now->files.n; i++) {
		const char *path = now->files.items[i].path;

		if (!list_find(&base->files, path) && had_products(base, path))
			return true;
	}
	for (size_t i = 0; base->holds_all && i < base->files.n; i++) {
		const struct item *item = &base->files.items[i];
		const struct item *there = list_find(&now->files, item->path);

		if (!shot_holds(base, item->path) && (!there || has_moved_on(item, there)))
			return true;
	}
	return false;
}

/* Is something ignored that stood there then gone? Then rewritten files may be new, for make. */
static bool lacks_products(const struct restored *r)
{
	const struct record *record = &r->want->record;

	if (r->is_project)
		return true;
	if (r->base && lost_products(r->base, r->before))
		return true;
	for (size_t i = 0; i < record->n_skips && !r->want->holds_all; i++)
		if (!strcmp(record->skips[i].reason, "ignored") &&
		    !list_find(&r->before->files, record->skips[i].path))
			return true;
	return false;
}

static bool same_content(const struct item *a, const struct item *b)
{
	return (a->mode & S_IFMT) == (b->mode & S_IFMT) && a->len == b->len &&
	       (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

static void check_time(struct text *report, const struct restored *r, const struct item *want,
		       const struct item *after, bool may_be_fresh)
{
	const struct item *before = list_find(&r->before->files, want->path);

	if (same_time(want, after) || S_ISDIR(want->mode))
		return;
	if (may_be_fresh && after->mtime.tv_sec >= r->started_s)
		return;
	/* what is in it did not differ, so its time was left */
	if (may_be_fresh && before && same_content(want, before) && same_time(before, after))
		return;
	wrong(report, "mtime", want->path, want, before, after);
}

/* A file that did not differ is not touched: it is the same inode, and nothing happened to it. */
static void check_untouched(struct text *report, const struct restored *r, const struct item *want,
			    const struct item *after)
{
	const struct item *before = list_find(&r->before->files, want->path);

	if (!before || S_ISDIR(want->mode) || item_difference(want, before, true))
		return;
	/* of its names it may have got others */
	if (S_ISREG(want->mode) && (want->nlink > 1 || before->nlink > 1))
		return;
	if (before->ino != after->ino)
		wrong(report, "was touched", want->path, want, before, after);
}

static void check_wanted(struct text *report, const struct restored *r)
{
	bool may_be_fresh = lacks_products(r);

	for (size_t i = 0; i < r->want->files.n; i++) {
		const struct item *want = &r->want->files.items[i];
		const struct item *after = list_find(&r->after->files, want->path);
		const char *word;

		if (!is_wanted(r, want->path) || !shot_holds(r->want, want->path))
			continue;
		word = after ? item_difference(want, after, false) : "is missing";
		if (word) {
			wrong(report, word, want->path, want, list_find(&r->before->files, want->path), after);
			continue;
		}
		check_time(report, r, want, after, may_be_fresh);
		check_untouched(report, r, want, after);
	}
}

/* Is it put back? */
static bool is_back(const void *payload, const char *path)
{
	const struct restored *r = payload;

	return is_wanted(r, path) && shot_holds(r->want, path) && list_find(&r->want->files, path);
}

/* Is a file one with something that was not put back, and was not one with it? */
static bool has_strange_name(const struct restored *r, const struct item *want, const struct item *after)
{
	for (size_t i = 0; i < r->after->files.n && after->nlink > 1; i++) {
		const struct item *other = &r->after->files.items[i];
		const struct item *then = list_find(&r->want->files, other->path);

		if (S_ISREG(other->mode) && other->ino == after->ino && !is_back(r, other->path) &&
		    !(then && then->ino == want->ino))
			return true;
	}
	return false;
}

/* Names of one file are that again, and no others; in a project what stays may have become one with something. */
static void check_names(struct text *report, const struct restored *r)
{
	for (size_t i = 0; i < r->want->files.n; i++) {
		const struct item *want = &r->want->files.items[i];
		const struct item *after = list_find(&r->after->files, want->path);
		size_t known;

		if (!S_ISREG(want->mode) || !after || !S_ISREG(after->mode) || !is_back(r, want->path))
			continue;
		known = names_number(&r->want->files, want, is_back, r);
		if (strcmp(names_first(&r->want->files, want, is_back, r),
			   names_first(&r->after->files, after, is_back, r)) != 0 ||
		    (!r->is_project && (has_strange_name(r, want, after) ||
					(!r->only && want->nlink == known && after->nlink != known))))
			wrong(report, "names", want->path, want, list_find(&r->before->files, want->path), after);
	}
}

static bool is_held_by(const void *payload, const char *path)
{
	return !record_skip(payload, path);
}

void check_names_back(struct text *report, const char *what, const struct shot *before, const struct shot *after)
{
	for (size_t i = 0; i < before->files.n && before->record.ref; i++) {
		const struct item *a = &before->files.items[i];
		const struct item *b = list_find(&after->files, a->path);

		if (!S_ISREG(a->mode) || !b || !S_ISREG(b->mode) || record_skip(&before->record, a->path))
			continue;
		if (!strcmp(names_first(&before->files, a, is_held_by, &before->record),
			    names_first(&after->files, b, is_held_by, &before->record)))
			continue;
		text_addf(report, "%s: names: ", what);
		text_add_name(report, a->path);
		text_addf(report, "\n");
	}
}

bool same_rules(const struct list *a, const struct list *b)
{
	const struct list *lists[] = { a, b };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			const struct item *item = &lists[k]->items[i];
			const struct item *other = list_find(lists[1 - k], item->path);

			if (!strcmp(path_base(item->path), ".gitignore") &&
			    (!other || item_difference(item, other, false)))
				return false;
		}
	return true;
}

/* What the wanted state did not look at stays as it is, or goes to trash when it is something else now. */
static void check_left_out(struct text *report, const struct restored *r)
{
	bool stay = same_rules(&r->want->files, &r->before->files);

	for (size_t i = 0; i < r->before->files.n; i++) {
		const struct item *before = &r->before->files.items[i];
		const struct item *then = list_find(&r->want->files, before->path);
		const struct item *after = list_find(&r->after->files, before->path);

		if (!is_wanted(r, before->path) || shot_holds(r->want, before->path))
			continue;
		if (after && item_difference(before, after, true))
			wrong(report, "left out then, changed now", before->path, then, before, after);
		if (!after && stay && then && then->ino == before->ino && !item_difference(then, before, true))
			wrong(report, "left out then, gone now", before->path, then, before, after);
	}
}

/* In a project: was it ignored, or is it a directory that holds such a thing? */
static bool stays_in_project(const struct restored *r, const struct item *item)
{
	for (size_t i = 0; i < r->after->files.n && S_ISDIR(item->mode); i++) {
		const char *path = r->after->files.items[i].path;

		if (path_is_in(path, item->path) && record_skip(&r->before->record, path))
			return true;
	}
	return record_skip(&r->before->record, item->path);
}

static void check_surplus(struct text *report, const struct restored *r)
{
	for (size_t i = 0; i < r->after->files.n; i++) {
		const struct item *after = &r->after->files.items[i];
		const struct item *want = list_find(&r->want->files, after->path);
		const struct item *before = list_find(&r->before->files, after->path);
		const struct skip *skip = record_skip(&r->want->record, after->path);
		/* what was left out may be new; of what came along the names are known */
		bool is_known = r->want->holds_all || (skip && !strcmp(skip->reason, "present"));
		bool may_stay = (!shot_holds(r->want, after->path) && (want || !is_known)) ||
				(r->is_project && stays_in_project(r, after));

		if (!is_wanted(r, after->path) || (may_stay && before))
			continue;
		if (!want || !shot_holds(r->want, after->path))
			wrong(report, "should not be there", after->path, want, before, after);
	}
}

/* What was not asked for is as it was. */
static void check_others(struct text *report, const struct restored *r)
{
	for (size_t i = 0; i < r->before->files.n; i++) {
		const struct item *before = &r->before->files.items[i];
		const struct item *after = list_find(&r->after->files, before->path);

		if (!is_wanted(r, before->path) &&
		    (!after || after->ino != before->ino || item_difference(before, after, true)))
			wrong(report, "was not asked for, and changed", before->path, before, before, after);
	}
	for (size_t i = 0; i < r->after->files.n; i++) {
		const struct item *after = &r->after->files.items[i];

		if (!is_wanted(r, after->path) && !list_find(&r->before->files, after->path))
			wrong(report, "was not asked for, and came", after->path, NULL, NULL, after);
	}
}

void check_restored(struct text *report, const struct restored *r)
{
	bool with_git = !r->only && !r->is_project;
	const struct shot *git = with_git ? r->want : r->before;

	check_wanted(report, r);
	check_names(report, r);
	check_left_out(report, r);
	check_surplus(report, r);
	check_others(report, r);
	if (git->files.root_mode != r->after->files.root_mode)
		text_addf(report, "restore: mode of the root is %o, should be %o\n", r->after->files.root_mode,
			  git->files.root_mode);
	gitstate_compare(report, "restore", &git->git, &r->after->git);
	if (with_git && !lacks_kinds(r->want) && !lacks_rules(r->want, r->after))
		status_compare(report, "restore", &r->want->git, &r->after->git);
}

/* What came along is there, too. */
static bool is_left_out(const struct record *record, const char *path)
{
	for (size_t i = 0; i < record->n_skips; i++)
		if (path_is_in(path, record->skips[i].path) && strcmp(record->skips[i].reason, "present") != 0)
			return true;
	return false;
}

void check_copy(struct text *report, const char *what, const struct list *files, const struct record *record,
		const struct list *copy)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct item *item = &files->items[i];
		const struct item *copied = list_find(copy, item->path);
		const char *word = copied ? item_difference(item, copied, true) : "is missing";

		if (!word && strcmp(names_first(files, item, is_held_by, record),
				    names_first(copy, copied, is_held_by, record)) != 0)
			word = "names";
		if (is_left_out(record, item->path) || !word)
			continue;
		text_addf(report, "%s: %s: ", what, word);
		text_add_name(report, item->path);
		text_addf(report, "\n    original ");
		item_describe(report, item);
		text_addf(report, "\n    copy     ");
		item_describe(report, copied);
		text_addf(report, "\n");
	}
	for (size_t i = 0; i < copy->n; i++) {
		if (list_find(files, copy->items[i].path) && !is_left_out(record, copy->items[i].path))
			continue;
		text_addf(report, "%s: should not be there: ", what);
		text_add_name(report, copy->items[i].path);
		text_addf(report, "\n");
	}
}

/* Did the session never have what is at `path`, or something in it? */
static bool was_never_there(const struct list *project, const struct record *base, const char *path)
{
	if (is_left_out(base, path))
		return true;
	for (size_t i = 0; i < project->n; i++)
		if (path_is_in(project->items[i].path, path) && is_left_out(base, project->items[i].path))
			return true;
	return false;
}

/* What came home, among what the project has besides. */
struct work {
	const struct list *files;
	const struct record *record;
};

static bool is_of_work(const void *payload, const char *path)
{
	const struct work *work = payload;

	return list_find(work->files, path) && !is_left_out(work->record, path);
}

static void check_came(struct text *report, const struct work *work, const struct item *item,
		       const struct list *project, bool with_names)
{
	const struct item *copied = list_find(project, item->path);
	const char *word = copied ? item_difference(item, copied, false) : "is missing";

	if (!word && with_names &&
	    strcmp(names_first(work->files, item, is_of_work, work),
		   names_first(project, copied, is_of_work, work)) != 0)
		word = "names";
	if (is_left_out(work->record, item->path) || !word)
		return;
	text_addf(report, "apply: %s: ", word);
	text_add_name(report, item->path);
	text_addf(report, "\n    workspace ");
	item_describe(report, item);
	text_addf(report, "\n    project   ");
	item_describe(report, copied);
	text_addf(report, "\n");
}

/* Of what the project has at `path`, did it come, or stay because the session never had it? */
static void check_belongs(struct text *report, const struct work *work, const char *path, const struct list *before,
			  const struct record *base, const struct list *project)
{
	if (is_of_work(work, path) || (list_find(before, path) && was_never_there(project, base, path)))
		return;
	text_addf(report, "apply: should not be there: ");
	text_add_name(report, path);
	text_addf(report, "\n");
}

void check_come_home(struct text *report, const struct list *files, const struct record *record,
		     const struct list *before, const struct record *base, const struct list *project)
{
	const struct work work = { files, record };

	for (size_t i = 0; i < files->n; i++)
		check_came(report, &work, &files->items[i], project, true);
	for (size_t i = 0; i < project->n; i++)
		check_belongs(report, &work, project->items[i].path, before, base, project);
}

/* What was not asked for: is it as it was, or a directory that came or went with what was? */
static void check_other(struct text *report, const char *only, const char *path, const struct list *before,
			const struct list *after)
{
	const struct item *was = list_find(before, path), *is = list_find(after, path);
	const char *word = was && is ? item_difference(was, is, true) : was ? "went" : "came";

	if (!word || (path_is_in(only, path) && (!is || S_ISDIR(is->mode))))
		return;
	text_addf(report, "apply: was not asked for, and %s: ", word);
	text_add_name(report, path);
	text_addf(report, "\n");
}

void check_part_came_home(struct text *report, const char *only, const struct list *files,
			  const struct record *record, const struct list *before, const struct record *base,
			  const struct list *project)
{
	const struct work work = { files, record };

	for (size_t i = 0; i < files->n; i++)
		if (path_is_in(files->items[i].path, only))
			check_came(report, &work, &files->items[i], project, false);
	for (size_t i = 0; i < before->n; i++)
		if (!path_is_in(before->items[i].path, only))
			check_other(report, only, before->items[i].path, before, project);
	for (size_t i = 0; i < project->n; i++) {
		const char *path = project->items[i].path;

		if (path_is_in(path, only))
			check_belongs(report, &work, path, before, base, project);
		else if (!list_find(before, path))
			check_other(report, only, path, before, project);
	}
}

int run_neutral(struct child *child, const struct scratch *scratch, bool in_tree, const struct text *input,
		const char *const *argv)
{
	const char *dir = in_tree ? scratch->work_tree : scratch->git_dir;
	int status;

	setenv("GIT_OBJECT_DIRECTORY", scratch->objects, 1);
	status = run_child(child, dir, input, argv);
	unsetenv("GIT_OBJECT_DIRECTORY");
	return status;
}

#define IN_TREE(child, scratch, input, ...) \
	run_neutral(child, scratch, true, input, (const char *const[]){ "git", __VA_ARGS__, NULL })

/* The `paths` of "not_in_patch", as a list of names. */
static void read_unsaid(struct list *out, const char *json)
{
	cJSON *root = cJSON_Parse(json);
	const cJSON *item;

	if (!root)
		die("diff --json is no JSON: %.200s", json);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "not_in_patch")) {
		const cJSON *path = cJSON_GetObjectItemCaseSensitive(item, "path");
		const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(item, "path_bytes");
		const char *text = bytes ? cJSON_GetStringValue(bytes) : cJSON_GetStringValue(path);
		char *name = copy_of(text ? text : "");

		if (bytes) {
			size_t len = strlen(name);
			struct base64_decode_ctx base64;
			size_t raw = len;

			base64_decode_init(&base64);
			if (!base64_decode_update(&base64, &raw, (uint8_t *)name, len, text))
				raw = 0;
			name[raw] = '\0';
		}
		out->items = grow(out->items, (out->n + 1) * sizeof(*out->items));
		out->items[out->n++] = (struct item){ .path = name };
	}
	cJSON_Delete(root);
}

static bool is_named(const struct list *unsaid, const char *path)
{
	for (size_t i = 0; i < unsaid->n; i++)
		if (!strcmp(unsaid->items[i].path, path))
			return true;
	return false;
}

/* Does a tree have a file at, or beneath, this path? */
static bool has_files(const struct shot *shot, const char *path)
{
	for (size_t i = 0; i < shot->files.n; i++) {
		const struct item *item = &shot->files.items[i];

		if (path_is_in(item->path, path) && fits_tree(item) && shot_holds(shot, item->path))
			return true;
	}
	return false;
}

static bool differs_in_exec(const struct item *a, const struct item *b)
{
	return (a->mode & 0100) != (b->mode & 0100);
}

struct sides {
	const struct shot *from, *to;
};

static bool is_file_in(const struct shot *shot, const char *path)
{
	const struct item *item = shot_holds(shot, path) ? list_find(&shot->files, path) : NULL;

	return item && S_ISREG(item->mode);
}

static bool is_file_in_both(const void *payload, const char *path)
{
	const struct sides *sides = payload;

	return is_file_in(sides->from, path) && is_file_in(sides->to, path);
}

static bool is_file_in_to(const void *payload, const char *path)
{
	return is_file_in(((const struct sides *)payload)->to, path);
}

/* Is the file one with another that it was not one with, or the reverse? What is on one side alone has no say. */
static bool changed_names(const struct shot *from, const struct shot *to, const char *path)
{
	const struct sides sides = { from, to };
	const struct item *a = is_file_in(from, path) ? list_find(&from->files, path) : NULL;
	const struct item *b = is_file_in(to, path) ? list_find(&to->files, path) : NULL;
	bool has_old;

	if (!b)
		return false;
	has_old = names_number(&to->files, b, is_file_in_both, &sides) > 0;
	return strcmp(a ? names_first(&from->files, a, is_file_in_both, &sides) : path,
		      names_first(&to->files, b, has_old ? is_file_in_both : is_file_in_to, &sides)) != 0;
}

/*
 * Can a patch from one to the other not say all of this path? Of what is new it says type, content and
 * the executable bit; of what is there on both sides that these changed.
 */
static bool is_unsaid(const struct shot *from, const struct shot *to, const char *path)
{
	const struct item *a = shot_holds(from, path) ? list_find(&from->files, path) : NULL;
	const struct item *b = shot_holds(to, path) ? list_find(&to->files, path) : NULL;
	bool usual;

	if (!strcmp(path, "."))
		return from->files.root_mode != to->files.root_mode;
	if (!a && !b)
		return false;
	if (changed_names(from, to, path))
		return true;
	if (a && b && !item_difference(a, b, false))
		return false;
	if (!b || !a || (a->mode & S_IFMT) != (b->mode & S_IFMT)) {
		/* what can't be said of what goes; a directory goes with what it holds */
		if (a && !S_ISDIR(a->mode) && !fits_tree(a))
			return true;
		if (a && S_ISDIR(a->mode) && !b && !has_files(from, path))
			return true;
		if (!b)
			return false;
		if (S_ISDIR(b->mode) ? !has_files(to, path) : !fits_tree(b))
			return true;
		usual = S_ISLNK(b->mode) || (b->mode & 07777) == (S_ISDIR(b->mode) || (b->mode & 0100) ? 0755 : 0644);
		/* a umask alone gives these as well */
		usual = usual || (b->mode & 07777) == 0664 || (b->mode & 07777) == 0775;
		return b->attrs || !usual;
	}
	if (!S_ISDIR(b->mode) && !fits_tree(b))
		return true;
	if ((a->attrs == NULL) != (b->attrs == NULL) || (a->attrs && strcmp(a->attrs, b->attrs) != 0))
		return true;
	if (a->mode == b->mode)
		return false;
	return S_ISDIR(b->mode) || !differs_in_exec(a, b) ||
	       ((b->mode & 07777) != 0755 && (b->mode & 07777) != 0644 && (b->mode & 07777) != 0664 &&
		(b->mode & 07777) != 0775);
}

static void check_unsaid(struct text *report, const struct shot *from, const struct shot *to, const char *json)
{
	const struct shot *shots[] = { from, to };
	struct list unsaid = LIST_INIT;

	read_unsaid(&unsaid, json);
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < shots[k]->files.n; i++) {
			const char *path = shots[k]->files.items[i].path;

			if (!is_unsaid(from, to, path) || is_named(&unsaid, path) ||
			    (k && list_find(&from->files, path)))
				continue;
			text_addf(report, "not in the patch, and not named: ");
			text_add_name(report, path);
			text_addf(report, "\n    from ");
			item_describe(report, list_find(&from->files, path));
			text_addf(report, "\n    to   ");
			item_describe(report, list_find(&to->files, path));
			text_addf(report, "\n");
		}
	if (is_unsaid(from, to, ".") && !is_named(&unsaid, "."))
		text_addf(report, "the mode of the root is not in the patch, and not named\n");
	for (size_t i = 0; i < unsaid.n; i++) {
		const char *path = unsaid.items[i].path;
		const struct skip *skip = record_skip(&to->record, path);

		if ((skip && strcmp(skip->reason, "ignored") != 0) || is_unsaid(from, to, path))
			continue;
		text_addf(report, "named as not in the patch, but it is: ");
		text_add_name(report, path);
		text_addf(report, "\n    from ");
		item_describe(report, list_find(&from->files, path));
		text_addf(report, "\n    to   ");
		item_describe(report, list_find(&to->files, path));
		text_addf(report, "\n");
	}
	list_release(&unsaid);
}

/* The files that git put down are those of `to`, bit for bit. */
static void check_applied(struct text *report, const struct scratch *scratch, const struct shot *to)
{
	struct list there = LIST_INIT;

	list_take(&there, scratch->work_tree, 0);
	for (size_t i = 0; i < to->files.n; i++) {
		const struct item *item = &to->files.items[i];
		const struct item *applied = list_find(&there, item->path);

		if (!fits_tree(item) || !shot_holds(to, item->path))
			continue;
		if (applied && (applied->mode & S_IFMT) == (item->mode & S_IFMT) && applied->len == item->len &&
		    memcmp(applied->data, item->data, item->len) == 0 && !differs_in_exec(applied, item))
			continue;
		text_addf(report, "git apply: not as it should be: ");
		text_add_name(report, item->path);
		text_addf(report, "\n");
	}
	for (size_t i = 0; i < there.n; i++) {
		const char *path = there.items[i].path;

		if (S_ISDIR(there.items[i].mode) || (list_find(&to->files, path) && shot_holds(to, path)))
			continue;
		text_addf(report, "git apply: should not be there: ");
		text_add_name(report, path);
		text_addf(report, "\n");
	}
	list_release(&there);
}

bool confuses_git(const struct shot *from, const struct shot *to)
{
	const struct shot *shots[] = { from, to };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < shots[k]->files.n; i++) {
			const char *path = shots[k]->files.items[i].path;
			const struct item *a = list_find(&from->files, path);
			const struct item *b = list_find(&to->files, path);

			if (a && b && S_ISLNK(a->mode) && S_ISDIR(b->mode))
				return true;
		}
	return false;
}

void check_patch(struct text *report, const struct scratch *scratch, const struct shot *from, const struct shot *to,
		 const struct text *patch, const char *json)
{
	struct child child = CHILD_INIT;

	check_unsaid(report, from, to, json);
	if (IN_TREE(&child, scratch, NULL, "read-tree", "--reset", "-u", from->record.tree) != 0)
		die("cannot check out %s: %s", from->record.tree, child.err.ptr);
	IN_TREE(&child, scratch, NULL, "clean", "-ffdxq");
	if (patch->len &&
	    IN_TREE(&child, scratch, patch, "apply", "--index", "--binary", "--whitespace=nowarn", "-") != 0)
		text_addf(report, "git apply refuses the patch: %s\n", child.err.ptr);
	if (IN_TREE(&child, scratch, NULL, "write-tree") != 0 ||
	    strncmp(child.out.ptr, to->record.tree, ID_HEX - 1) != 0)
		text_addf(report, "git apply gives the tree %s and not %s\n", child.out.ptr, to->record.tree);
	check_applied(report, scratch, to);
	child_release(&child);
}
