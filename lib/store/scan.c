/*
 * Scan: see scan.h. Here is the walk; what it found gets its ids in scan_fill.c.
 *
 * The walk goes level by level: all directories of one depth are read in
 * parallel, each into a node of its own; then the nodes are laid end to end in
 * tree order, so that nothing has to be sorted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/gitfile.h"
#include "store/scan_open.h"
#include "store/wanted.h"

#define DEPTH_MAX 4096
#define PATH_LEN_MAX (64 * 1024)
#define DIRS_CHUNK 8 /* that one thread reads in a row */

/* A directory that is read: its own entries, and the nodes of its subdirectories. */
struct node {
	const char *path; /* "" for the root */
	const struct ews_ignore *rules; /* of the directory it lies in, then its own */
	struct ews_ignore *own_rules; /* NULL when it adds none */
	struct ews_entry *items;
	size_t n;
	struct node **children; /* beside items: NULL where an item is not walked into */
	size_t depth;
	bool is_in_ignored; /* only what is known counts in here */
	bool is_in_excluded; /* only what the base knows does */
	bool is_in_wanted; /* opts->only names it, or what holds it */
	bool is_repository; /* a nested one: its content is left out */
	bool is_unreadable;
	bool is_mounted; /* something else is, at this place */
	bool is_gone; /* renamed or removed since its parent was read */
};

/* What a thread finds besides the nodes' entries. */
struct worker {
	struct ews_arena arena; /* nodes and paths */
	struct ews_skips skips;
	struct ews_strv opened;
	bool leans_on_known;
};

struct walk {
	const struct ews_scan_opts *opts;
	struct ews_wanted wanted;
	struct node **level;
	size_t n_level, cap_level;
	struct worker *workers;
	unsigned n_workers;
	struct ews_ignore **rules; /* of the directories that have some */
	size_t n_rules, cap_rules;
	_Atomic size_t n_vanished;
};

static bool is_in_base(const struct ews_scan_opts *opts, const char *path)
{
	return opts->known && ews_entries_find(opts->known, path);
}

static bool is_in_base_below(const struct ews_scan_opts *opts, const char *path)
{
	const struct ews_entry *dir = opts->known ? ews_entries_find(opts->known, path) : NULL;

	return dir && dir + 1 < opts->known->items + opts->known->n && ews_path_is_inside(dir[1].path, path);
}

/* A submodule is in the index, and nothing below it. */
static bool is_tracked_below(const struct ews_scan_opts *opts, const char *path)
{
	const struct ews_index_entry *tracked = opts->index ? ews_index_find(opts->index, path) : NULL;

	return opts->index && !(tracked && tracked->mode == EWS_MODE_GITLINK) &&
	       ews_index_has_below(opts->index, path);
}

static bool is_tracked(const struct ews_scan_opts *opts, const char *path, bool is_dir)
{
	return opts->index && (ews_index_find(opts->index, path) || (is_dir && is_tracked_below(opts, path)));
}

static bool is_own(const struct ews_scan_opts *opts, const char *path)
{
	for (const char *const *x = opts->own; x && *x; x++)
		if (!strcmp(path, *x))
			return true;
	return false;
}

static char *join_in_arena(struct ews_arena *arena, const char *dir, const char *name)
{
	size_t dir_len = strlen(dir), name_len = strlen(name);
	char *path;

	if (!dir_len)
		return ews_arena_dup(arena, name, name_len);
	path = ews_arena_alloc(arena, dir_len + name_len + 2);
	memcpy(path, dir, dir_len);
	path[dir_len] = '/';
	memcpy(path + dir_len + 1, name, name_len + 1);
	return path;
}

static int read_own_rules(struct node *node, const struct ews_scan_opts *opts, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (!opts->ignore || !opts->read_gitignore)
		return 0;
	if (ews_ignore_read(&text, fd, ".gitignore") < 0)
		return ews_error_wrap("in '%s'", node->path);
	if (!text.len)
		return 0;
	node->own_rules = ews_ignore_enter(node->rules, node->path, text.ptr, text.len);
	node->rules = node->own_rules;
	return 0;
}

/* Of what is left out that much is known, by which it is told whether it is that still. */
static void leave_out(struct ews_skips *skips, const struct ews_entry *entry, enum ews_skip_reason reason,
		      uint64_t size)
{
	ews_skips_add(skips, entry->path, reason, size)->type = entry->type;
}

/* What becomes of one name: an entry, a skip, or nothing. Returns the entry when the walk goes on into it. */
static struct node *take_name(const struct walk *walk, struct worker *worker, struct node *node, const char *name,
			      const struct stat *st)
{
	const struct ews_scan_opts *opts = walk->opts;
	struct ews_arena *arena = &worker->arena;
	char *path = join_in_arena(arena, node->path, name);
	struct ews_entry entry = { .path = path };
	bool is_dir = S_ISDIR(st->st_mode);
	bool is_ignored = node->is_in_ignored;
	bool is_excluded = node->is_in_excluded;
	enum ews_wanted_how wanted = node->is_in_wanted ? EWS_WANTED : ews_wanted_how(&walk->wanted, path);
	bool is_meant = opts->only_is_meant && !node->is_in_wanted;
	struct node *child;

	ews_entry_set_stat(&entry, st);
	if (is_own(opts, path)) {
		leave_out(&worker->skips, &entry, EWS_SKIP_OWN, 0);
		return NULL;
	}
	if (wanted == EWS_WANTED_NOT || (wanted == EWS_WANTED_ON_THE_WAY && !is_dir))
		return NULL;
	if (!is_excluded && opts->exclude && !is_meant)
		is_excluded = ews_ignore_match(opts->exclude, path, is_dir);
	/* A directory of the base's is an entry of it, too. */
	if (is_excluded && !is_in_base(opts, path)) {
		leave_out(&worker->skips, &entry, EWS_SKIP_EXCLUDED, entry.size);
		return NULL;
	}
	worker->leans_on_known = worker->leans_on_known || is_excluded;
	if (!is_ignored && opts->ignore && !opts->with_ignored && !is_meant)
		is_ignored = ews_ignore_match(node->rules, path, is_dir);
	if (is_ignored && !is_tracked(opts, path, is_dir)) {
		if (!is_in_base(opts, path)) {
			leave_out(&worker->skips, &entry, EWS_SKIP_IGNORED, entry.size);
			return NULL;
		}
		worker->leans_on_known = true;
	}
	if (entry.type == EWS_ENTRY_FILE && opts->max_file_bytes && entry.size > opts->max_file_bytes) {
		leave_out(&worker->skips, &entry, EWS_SKIP_TOO_LARGE, entry.size);
		return NULL;
	}
	if (is_dir && (node->depth + 1 > DEPTH_MAX || strlen(path) > PATH_LEN_MAX)) {
		leave_out(&worker->skips, &entry, EWS_SKIP_TOO_DEEP, 0);
		return NULL;
	}
	node->items[node->n++] = entry;
	if (!is_dir)
		return NULL;
	child = ews_arena_alloc(arena, sizeof(*child));
	*child = (struct node){ .path = path,
				.rules = node->rules,
				.depth = node->depth + 1,
				.is_in_ignored = is_ignored,
				.is_in_excluded = is_excluded,
				.is_in_wanted = wanted == EWS_WANTED };
	return child;
}

/* Of a repository's own directory, or the file in its place, only the name is known. */
static void leave_out_git(struct worker *worker, const struct node *node, const struct stat *st, bool is_hollow)
{
	struct ews_entry entry = { .path = join_in_arena(&worker->arena, node->path, EWS_GITFILE) };

	ews_entry_set_stat(&entry, st);
	leave_out(&worker->skips, &entry, is_hollow ? EWS_SKIP_HOLLOW : EWS_SKIP_REPOSITORY, 0);
}

/* Is a ".git" in the directory `fd` left out, not a directory to be walked like others? */
static bool leaves_out_git(const struct ews_scan_opts *opts, int fd)
{
	struct stat st;

	return !opts->with_repositories || fstatat(fd, EWS_GITFILE, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       !S_ISDIR(st.st_mode);
}

static bool has_name(const struct ews_dirent *names, ssize_t n, const char *name)
{
	for (ssize_t i = 0; i < n; i++)
		if (!strcmp(names[i].name, name))
			return true;
	return false;
}

/* For as many as there may be: most directories have few, and there are many of these. */
static void make_room(struct node *node, size_t n)
{
	node->items = ews_malloc((n + 1) * sizeof(*node->items));
	node->children = ews_malloc((n + 1) * sizeof(struct node *));
}

/* What is ignored takes none in the end. */
static void trim(struct node *node, size_t n)
{
	if (node->n == n)
		return;
	node->items = ews_realloc(node->items, (node->n + 1) * sizeof(*node->items));
	node->children = ews_realloc(node->children, (node->n + 1) * sizeof(struct node *));
}

static int read_node(size_t i, unsigned thread, void *payload)
{
	struct walk *walk = payload;
	struct worker *worker = &walk->workers[thread];
	struct node *node = walk->level[i];
	const struct ews_scan_opts *opts = walk->opts;
	bool may_chmod = opts->may_chmod || (opts->ours && ews_strv_sorted_has(opts->ours, node->path));
	EWS_CLEANUP(fd)
	int fd = ews_scan_open_dir(may_chmod ? &worker->opened : NULL, opts->root_fd, node->path, opts->into_mounts);
	EWS_CLEANUP(dir_names) struct ews_dir_names listed = EWS_DIR_NAMES_INIT;
	const struct ews_dirent *names;
	bool has_git, is_hollow;
	ssize_t n;

	if (fd < 0) {
		/* Gone or swapped for something else since its parent was read: then it isn't there. */
		node->is_unreadable = errno == EACCES || errno == EPERM;
		node->is_mounted = errno == EXDEV && !opts->into_mounts;
		if (!node->is_unreadable && !ews_errno_is_absent_or_link(errno) && errno != EXDEV)
			return ews_error_os("cannot open directory '%s'", node->path);
		if (!*node->path)
			return ews_error_os("cannot read the directory");
		node->is_gone = !node->is_unreadable && !node->is_mounted;
		walk->n_vanished += node->is_gone;
		return 0;
	}
	n = ews_dir_names_read(&listed, fd);
	if (n < 0)
		return ews_error_wrap("in '%s'", node->path);
	names = listed.items;
	has_git = *node->path && has_name(names, n, EWS_GITFILE) && leaves_out_git(opts, fd);
	is_hollow = has_git && ews_gitfile_is_hollow(fd);
	node->is_repository = has_git && !is_hollow;
	/* One without a file would be no repository any more when it is looked for again. */
	if (node->is_repository && !(opts->into_repositories && n > 1) && !is_tracked_below(opts, node->path)) {
		if (opts->keeps_out || !is_in_base_below(opts, node->path))
			return 0;
		worker->leans_on_known = true;
	}
	if (read_own_rules(node, opts, fd) < 0)
		return ews_error_code();
	make_room(node, (size_t)n);
	for (ssize_t k = 0; k < n; k++) {
		bool is_git = !strcmp(names[k].name, EWS_GITFILE) && (has_git || !*node->path);
		struct node *child;
		struct stat st;
		size_t before = node->n;

		if (is_git && !*node->path && !opts->is_plain)
			continue;
		if (fstatat(fd, names[k].name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT) {
				walk->n_vanished++;
				if (opts->name_vanished)
					ews_skips_add(&worker->skips,
						      join_in_arena(&worker->arena, node->path, names[k].name),
						      EWS_SKIP_CHANGING, 0);
				continue;
			}
			return ews_error_os("cannot look at '%s' in '%s'", names[k].name, node->path);
		}
		if (is_git) {
			leave_out_git(worker, node, &st, is_hollow);
			continue;
		}
		child = take_name(walk, worker, node, names[k].name, &st);
		if (node->n == before)
			continue;
		node->children[node->n - 1] = child;
	}
	trim(node, (size_t)n);
	/* Known files live below: the repository's own directory alone is left out, as named above. */
	node->is_repository = false;
	return 0;
}

/* Gather the subdirectories of this level's nodes as the next level. */
static void next_level(struct walk *walk)
{
	struct node **below = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < walk->n_level; i++) {
		const struct node *node = walk->level[i];

		for (size_t k = 0; k < node->n; k++) {
			if (!node->children[k])
				continue;
			EWS_GROW(below, n, cap);
			below[n++] = node->children[k];
		}
	}
	free(walk->level);
	walk->level = below;
	walk->n_level = n;
	walk->cap_level = cap;
}

static void add_entry(struct ews_scan *out, const struct ews_entry *entry)
{
	EWS_GROW(out->entries.items, out->entries.n, out->entries.cap);
	out->entries.items[out->entries.n++] = *entry;
}

/* What stays of a directory that could not or shall not be walked into. */
static void settle_dir(struct ews_scan *out, const struct ews_entry *entry, const struct node *child,
		       bool name_vanished)
{
	struct ews_entry *settled;

	if (child->is_unreadable) {
		leave_out(&out->skips, entry, EWS_SKIP_UNREADABLE, 0);
		return;
	}
	if (child->is_mounted) {
		leave_out(&out->skips, entry, EWS_SKIP_MOUNTED, 0);
		return;
	}
	if (child->is_gone) {
		if (name_vanished)
			ews_skips_add(&out->skips, entry->path, EWS_SKIP_CHANGING, 0);
		return;
	}
	add_entry(out, entry);
	if (child->is_repository) {
		settled = &out->entries.items[out->entries.n - 1];
		settled->type = EWS_ENTRY_GITLINK;
		leave_out(&out->skips, entry, EWS_SKIP_REPOSITORY, 0);
	}
}

/* Lay the nodes end to end in tree order, with a stack of our own: trees may be deep. */
static void lay_out(struct ews_scan *out, struct node *root, bool name_vanished)
{
	struct frame {
		struct node *node;
		size_t at;
	} *stack = NULL;
	size_t n = 0, cap = 0, freed = 0;

	EWS_GROW(stack, n, cap);
	stack[n++] = (struct frame){ root, 0 };
	while (n) {
		struct frame *top = &stack[n - 1];
		const struct ews_entry *entry;
		struct node *child;

		if (top->at == top->node->n) {
			free(top->node->items);
			free(top->node->children);
			freed += top->node->n;
			/* Of many, what is laid out would be in memory twice in the end. */
			if (freed > EWS_ENTRIES_MANY) {
				ews_alloc_give_back();
				freed = 0;
			}
			n--;
			continue;
		}
		entry = &top->node->items[top->at];
		child = top->node->children[top->at++];
		switch (entry->type) {
		case EWS_ENTRY_SOCKET:
			leave_out(&out->skips, entry, EWS_SKIP_SOCKET, 0);
			continue;
		case EWS_ENTRY_DEVICE:
			leave_out(&out->skips, entry, EWS_SKIP_DEVICE, 0);
			continue;
		default:
			break;
		}
		if (!child) {
			add_entry(out, entry);
			continue;
		}
		settle_dir(out, entry, child, name_vanished);
		EWS_GROW(stack, n, cap);
		stack[n++] = (struct frame){ child, 0 };
	}
	free(stack);
}

/* With `only`, directories that are merely on the way to a wanted path stay only when something of it does. */
static void drop_unwanted_dirs(struct ews_scan *out, const struct walk *walk)
{
	size_t next = out->entries.n, kept = 0;

	if (!walk->opts->only)
		return;
	/* From the end: what lies in a directory comes after it. */
	for (size_t i = out->entries.n; i-- > 0;) {
		struct ews_entry *entry = &out->entries.items[i];
		bool is_on_the_way = next < out->entries.n &&
				     ews_path_is_inside(out->entries.items[next].path, entry->path);

		if (!is_on_the_way && !ews_wanted_has(&walk->wanted, entry->path))
			entry->path = NULL;
		else
			next = i;
	}
	for (size_t i = 0; i < out->entries.n; i++)
		if (out->entries.items[i].path)
			out->entries.items[kept++] = out->entries.items[i];
	out->entries.n = kept;
}

void ews_scan_count(struct ews_scan *out)
{
	ews_entries_count(&out->entries, &out->n_files, &out->size_bytes);
}

void ews_scan_begin(struct ews_scan *scan)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	scan->started_s = now.tv_sec;
	scan->started_ns = (uint32_t)now.tv_nsec;
}

/* All levels, from the root down. */
static int walk_levels(struct walk *walk)
{
	int rc = 0;

	while (walk->n_level && rc == 0) {
		rc = ews_pool_for(walk->n_level, DIRS_CHUNK, walk->n_workers, read_node, walk);
		for (size_t i = 0; i < walk->n_level; i++) {
			if (!walk->level[i]->own_rules)
				continue;
			EWS_GROW(walk->rules, walk->n_rules, walk->cap_rules);
			walk->rules[walk->n_rules++] = walk->level[i]->own_rules;
		}
		if (rc == 0)
			next_level(walk);
	}
	return rc;
}

static void begin_walk(struct walk *walk, struct node *root)
{
	walk->workers = ews_calloc(walk->n_workers, sizeof(*walk->workers));
	for (unsigned i = 0; i < walk->n_workers; i++)
		walk->workers[i] = (struct worker){ EWS_ARENA_INIT, EWS_SKIPS_INIT, EWS_STRV_INIT, false };
	ews_wanted_init(&walk->wanted, walk->opts->only);
	EWS_GROW(walk->level, walk->n_level, walk->cap_level);
	walk->level[walk->n_level++] = root;
}

/* What the workers have becomes the scan's; the nodes stay, in its arena. */
static void gather(struct ews_scan *out, struct walk *walk)
{
	for (unsigned i = 0; i < walk->n_workers; i++) {
		struct worker *worker = &walk->workers[i];

		ews_arena_join(&out->entries.arena, &worker->arena);
		ews_skips_add_all(&out->skips, &worker->skips);
		ews_skips_release(&worker->skips);
		ews_strv_add_array(&out->opened, worker->opened.items);
		ews_strv_release(&worker->opened);
		out->leans_on_known = out->leans_on_known || worker->leans_on_known;
	}
	out->n_vanished = walk->n_vanished;
}

static void release_walk(struct walk *walk)
{
	free(walk->level);
	free(walk->workers);
	for (size_t i = 0; i < walk->n_rules; i++)
		ews_ignore_free(walk->rules[i]);
	free(walk->rules);
	ews_wanted_release(&walk->wanted);
}

int ews_scan(struct ews_scan *out, const struct ews_scan_opts *opts)
{
	struct node root = { .path = "", .rules = opts->ignore, .is_in_wanted = !opts->only };
	struct walk walk = { .opts = opts, .n_workers = opts->threads ? opts->threads : ews_pool_threads() };
	struct stat st;
	int rc;

	ews_scan_begin(out);
	out->root_fd = opts->root_fd;
	out->into_mounts = opts->into_mounts;
	if (fstat(opts->root_fd, &st) < 0)
		return ews_error_os("cannot look at the directory");
	ews_entry_set_stat(&out->root, &st);
	begin_walk(&walk, &root);
	rc = walk_levels(&walk);
	gather(out, &walk);
	/* Also after a failure: it frees the nodes. */
	lay_out(out, &root, opts->name_vanished);
	if (rc == 0)
		drop_unwanted_dirs(out, &walk);
	release_walk(&walk);
	if (rc < 0)
		return rc;
	ews_skips_sort(&out->skips);
	ews_scan_count(out);
	return 0;
}

void ews_scan_close(struct ews_scan *scan)
{
	ews_scan_close_dirs(&scan->opened, scan->root_fd, scan->into_mounts);
}

void ews_scan_release(struct ews_scan *scan)
{
	ews_scan_close(scan);
	ews_strv_release(&scan->opened);
	ews_entries_release(&scan->entries);
	ews_skips_release(&scan->skips);
}
