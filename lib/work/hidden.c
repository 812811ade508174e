/*
 * Hidden: see hidden.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/hidden.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/ignore.h"
#include "work/rules.h"
#include "work/submodule_head.h"

#define GITIGNORE ".gitignore"

/* The rules that hold in the directory that was entered last, and in those that it lies in. */
struct level {
	const char *dir;
	struct ews_ignore *rules;
};

struct walk {
	struct ews_odb *odb;
	const struct ews_content *content;
	struct level *levels;
	size_t n, cap;
};

static void release_walk(struct walk *walk)
{
	while (walk->n)
		ews_ignore_free(walk->levels[--walk->n].rules);
	free(walk->levels);
}

EWS_CLEANUP_DEFINE(walk, struct walk, release_walk)

/* What the directory's own .gitignore says holds in it as well. */
static int enter(struct walk *walk, const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, GITIGNORE);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const struct ews_entry *entry = ews_entries_find(&walk->content->scan.entries, path);
	bool has_rules = entry && entry->type == EWS_ENTRY_FILE && entry->size <= EWS_IGNORE_BYTES_MAX;
	enum ews_object_type type;
	int rc = has_rules ? ews_odb_read(&text, &type, walk->odb, &entry->oid) : 0;
	struct level *level;

	if (rc < 0)
		return rc;
	EWS_GROW(walk->levels, walk->n, walk->cap);
	level = &walk->levels[walk->n];
	level->dir = dir;
	level->rules = ews_ignore_enter(walk->levels[walk->n - 1].rules, dir, has_rules ? text.ptr : NULL, text.len);
	walk->n++;
	return 0;
}

static void leave(struct walk *walk)
{
	ews_ignore_free(walk->levels[--walk->n].rules);
}

/*
 * What was left out of the repository in `dir`: of one that was there when the session began the git directory alone, of one that
 * came since all. NULL: there is none.
 */
static const struct ews_skip *find_repository(const struct ews_skips *skips, const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, ".git");
	const struct ews_skip *skip = ews_skips_covering(skips, path);
	bool is_its = skip && (!strcmp(skip->path, path) || !strcmp(skip->path, dir));

	return is_its && ews_skip_is_repository(skip->reason) ? skip : NULL;
}

/*
 * Set in `why`, zeroed, for each entry the reason why git does not see it: enum ews_skip_reason, 0: it does. `rules`, which are
 * let go of, hold above those that `content` has itself.
 */
static int find_hidden(uint8_t *why, struct ews_repo *repo, struct ews_ignore *rules,
		       const struct ews_content *content)
{
	EWS_CLEANUP(walk) struct walk walk = { .odb = repo->odb, .content = content };
	const struct ews_entries *list = &content->scan.entries;
	const struct ews_skips *skips = &content->scan.skips;
	const char *hidden = NULL; /* all below it is */
	enum ews_skip_reason reason = EWS_SKIP_IGNORED;
	int rc;

	EWS_GROW(walk.levels, walk.n, walk.cap);
	walk.levels[walk.n++] = (struct level){ "", rules };
	rc = enter(&walk, "");
	for (size_t i = 0; i < list->n && rc == 0; i++) {
		const char *path = list->items[i].path;
		bool is_dir = ews_entry_is_dir(&list->items[i]);

		if (hidden && ews_path_is_inside(path, hidden)) {
			why[i] = reason;
			continue;
		}
		while (walk.n > 2 && !ews_path_is_inside(path, walk.levels[walk.n - 1].dir))
			leave(&walk);
		if (ews_ignore_match(walk.levels[walk.n - 1].rules, path, is_dir)) {
			why[i] = reason = EWS_SKIP_IGNORED;
			hidden = path;
		} else if (is_dir && find_repository(skips, path)) {
			reason = EWS_SKIP_REPOSITORY;
			hidden = path;
		} else if (is_dir) {
			rc = enter(&walk, path);
		}
	}
	return rc;
}

/* Does git know the path, by the index or by what is committed? A directory it knows by what is in it. */
static bool is_tracked(const char *path, const struct ews_index *index, const struct ews_entries *stored)
{
	const struct ews_entry *entry = ews_entries_find(stored, path);

	return ews_index_find(index, path) || (entry && entry->type != EWS_ENTRY_DIR);
}

/*
 * What git knows as a submodule is one, whatever of it is there: as 'git add' would have it at the commit at which it stands in the
 * directory that is open as `root_fd`, else at the one that the index names, or that is committed. Is it one? 1 or 0; `has_head`:
 * at the first.
 */
static int take_submodule(bool *has_head, struct ews_entry *entry, const struct ews_skip *repository,
			  struct ews_odb *odb, int root_fd, const struct ews_index *index,
			  const struct ews_entries *stored)
{
	const struct ews_index_entry *ie = ews_index_find(index, entry->path);
	const struct ews_entry *was = !ie && repository ? ews_entries_find(stored, entry->path) : NULL;
	bool is_marked = ie && (ie->is_skip_worktree || ie->is_assumed_unchanged);
	int rc = 0;

	if (ie ? ie->mode != EWS_MODE_GITLINK : !was || was->type != EWS_ENTRY_GITLINK)
		return 0;
	entry->type = EWS_ENTRY_GITLINK;
	entry->oid = ie ? ie->oid : was->oid;
	if (repository && root_fd >= 0 && !is_marked)
		rc = ews_submodule_head_read(&entry->oid, odb, root_fd, entry->path);
	*has_head = rc > 0;
	return rc < 0 ? rc : 1;
}

/* Is there what git could take a commit of, which came since, or stands elsewhere than it did? */
static bool is_new_or_moved(const struct ews_skip *repository, const char *dir, const struct ews_skips *then)
{
	bool is_whole = !strcmp(repository->path, dir);

	return repository->reason == EWS_SKIP_REPOSITORY_MOVED || (is_whole && !find_repository(then, dir));
}

/* What git does not see now, and what it did not see when the session began: by what stood there, and the rules of that time. */
static int find_both(uint8_t *why, uint8_t *why_then, const struct ews_session *session,
		     const struct ews_content *content, const struct ews_content *base)
{
	struct ews_repo *repo = session->repo;
	struct ews_ignore *rules = NULL;
	int rc = ews_rules_ignore(&rules, repo, repo->project);

	if (rc == 0)
		rc = find_hidden(why, repo, rules, content);
	if (rc == 0)
		rc = ews_rules_ignore_kept(&rules, session);
	return rc < 0 ? rc : find_hidden(why_then, repo, rules, base);
}

int ews_hidden_drop(struct ews_strv *out, struct ews_content *content, const struct ews_session *session, int root_fd,
		    const struct ews_index *index, const struct ews_entries *stored, const struct ews_content *base)
{
	struct ews_entries *now = &content->scan.entries;
	const struct ews_entries *then = &base->scan.entries;
	EWS_CLEANUP(free) uint8_t *why = ews_calloc(now->n + 1, sizeof(*why));
	EWS_CLEANUP(free) uint8_t *why_then = ews_calloc(then->n + 1, sizeof(*why_then));
	const char *named = NULL, *submodule = NULL; /* directories, of whose content nothing is named, or kept */
	size_t kept = 0;
	int rc = find_both(why, why_then, session, content, base);

	for (size_t i = 0; i < now->n && rc == 0; i++) {
		struct ews_entry *entry = &now->items[i];
		const struct ews_entry *was = ews_entries_find(then, entry->path);
		bool is_dir = entry->type == EWS_ENTRY_DIR;
		bool is_same = was && (ews_entry_equal_in_git(was, entry) || (is_dir && ews_entry_is_dir(was)));
		uint8_t before = was ? why_then[was - then->items] : why[i];
		/* What lay in a repository that is gone is a file like any other. */
		bool is_hidden = before && (why[i] || (is_same && before != EWS_SKIP_REPOSITORY));
		const struct ews_skip *repository =
			ews_entry_is_dir(entry) ? find_repository(&content->scan.skips, entry->path) : NULL;
		bool has_head = false, is_named;
		int is_submodule = 0;

		if (ews_entry_is_dir(entry))
			is_submodule = take_submodule(&has_head, entry, repository, session->repo->odb, root_fd,
						      index, stored);
		if (is_submodule < 0)
			return is_submodule;
		if (is_submodule) {
			submodule = entry->path;
			/* What is new in it may be in the commit that it has gone on to. */
			if (has_head && repository->reason == EWS_SKIP_REPOSITORY_MOVED)
				named = submodule;
		} else if (submodule && ews_path_is_inside(entry->path, submodule)) {
			is_hidden = true;
		}
		is_hidden = is_hidden && !is_tracked(entry->path, index, stored);
		is_named = named && ews_path_is_inside(entry->path, named);
		if (is_hidden && !is_same && !is_named) {
			ews_path_line_add(out, entry->path, ews_skip_word(why[i] ? why[i] : EWS_SKIP_REPOSITORY));
			named = is_dir ? entry->path : NULL;
		} else if (repository && !has_head && !is_named &&
			   is_new_or_moved(repository, entry->path, &base->scan.skips)) {
			ews_path_line_add(out, entry->path, ews_skip_word(repository->reason));
		}
		/* A directory alone is nothing to git; in one that is hidden may be what it tracks. */
		if (!is_hidden || is_dir)
			now->items[kept++] = *entry;
	}
	if (rc == 0)
		now->n = kept;
	return rc;
}
