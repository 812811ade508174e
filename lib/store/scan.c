/*
 * Scan: see scan.h.
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
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/hardlink.h"
#include "store/xattr.h"

#define DEPTH_MAX 4096
#define PATH_LEN_MAX (64 * 1024)
#define GITIGNORE_MAX (16 * EWS_MIB)
#define LINK_TEXT_MAX (64 * 1024)
#define READ_TRIES 3

static const char *const skip_words[] = {
	[EWS_SKIP_IGNORED] = "ignored",     [EWS_SKIP_EXCLUDED] = "excluded",     [EWS_SKIP_OWN] = "own",
	[EWS_SKIP_TOO_LARGE] = "too-large", [EWS_SKIP_UNREADABLE] = "unreadable", [EWS_SKIP_TOO_DEEP] = "too-deep",
	[EWS_SKIP_SOCKET] = "socket",       [EWS_SKIP_REPOSITORY] = "repository", [EWS_SKIP_DEVICE] = "device",
	[EWS_SKIP_CHANGING] = "changing",   [EWS_SKIP_PRESENT] = "present",       [EWS_SKIP_UNKEPT] = "not-kept",
};

#define N_SKIP_WORDS (sizeof(skip_words) / sizeof(*skip_words))

/* A directory that is read: its own entries, and the nodes of its subdirectories. */
struct node {
	const char *path; /* "" for the root */
	const struct ews_ignore *rules; /* of the directory it lies in, then its own */
	struct ews_ignore *own_rules; /* NULL when it adds none */
	struct ews_entry *items;
	size_t n, cap;
	struct node **children; /* beside items: NULL where an item is not walked into */
	size_t depth;
	bool is_in_ignored; /* only what is known counts in here */
	bool is_in_excluded; /* only what the base knows does */
	bool is_in_wanted; /* opts->only names it, or what holds it */
	bool is_repository; /* a nested one: its content is left out */
	bool is_unreadable;
	bool is_gone; /* renamed or removed since its parent was read */
};

struct walk {
	const struct ews_scan_opts *opts;
	const char **only; /* opts->only, in order */
	size_t n_only;
	struct node **level;
	size_t n_level, cap_level;
	struct ews_arena *arenas; /* one a worker: nodes and paths */
	struct ews_skips *skips; /* one a worker */
	struct ews_strv *opened; /* one a worker */
	_Atomic size_t n_vanished;
};

void ews_skips_add(struct ews_skips *list, const char *path, enum ews_skip_reason reason, uint64_t size)
{
	EWS_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = (struct ews_skip){ ews_arena_dup(&list->arena, path, strlen(path)), reason, size };
}

void ews_skips_add_all(struct ews_skips *list, const struct ews_skips *from)
{
	for (size_t i = 0; i < from->n; i++)
		ews_skips_add(list, from->items[i].path, from->items[i].reason, from->items[i].size);
}

static int cmp_skip(const void *a, const void *b)
{
	return ews_path_cmp(((const struct ews_skip *)a)->path, ((const struct ews_skip *)b)->path);
}

void ews_skips_sort(struct ews_skips *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), cmp_skip);
}

const struct ews_skip *ews_skips_covering(const struct ews_skips *list, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);

	if (!list->n)
		return NULL;
	for (;;) {
		struct ews_skip key = { at, 0, 0 };
		const struct ews_skip *found = bsearch(&key, list->items, list->n, sizeof(*list->items), cmp_skip);
		char *slash = strrchr(at, '/');

		if (found || !slash)
			return found;
		*slash = '\0';
	}
}

void ews_skips_release(struct ews_skips *list)
{
	free(list->items);
	ews_arena_release(&list->arena);
	*list = (struct ews_skips)EWS_SKIPS_INIT;
}

const char *ews_skip_word(enum ews_skip_reason reason)
{
	return skip_words[reason];
}

const char *ews_skip_why(enum ews_skip_reason reason)
{
	switch (reason) {
	case EWS_SKIP_IGNORED:
		return "a rule for ignored files matches it";
	case EWS_SKIP_PRESENT:
		return "it is ignored and came along: only that it is there was looked at";
	case EWS_SKIP_EXCLUDED:
		return "qe.workspace.exclude names it";
	case EWS_SKIP_UNKEPT:
		return "no rule names it for keeping";
	case EWS_SKIP_OWN:
		return "it is our own: workspaces, records, trash";
	case EWS_SKIP_UNREADABLE:
		return "it may not be read";
	case EWS_SKIP_TOO_LARGE:
		return "it is larger than ews.maxFile";
	case EWS_SKIP_TOO_DEEP:
		return "it lies deeper than can be walked";
	case EWS_SKIP_REPOSITORY:
		return "it is a repository of its own";
	case EWS_SKIP_SOCKET:
		return "a socket has no content";
	case EWS_SKIP_DEVICE:
		return "a device has no content of its own";
	case EWS_SKIP_CHANGING:
		return "it changed each time it was read";
	}
	return "";
}

enum ews_skip_reason ews_skip_from_word(const char *word)
{
	for (size_t i = 1; i < N_SKIP_WORDS; i++)
		if (!strcmp(word, skip_words[i]))
			return i;
	return 0;
}

bool ews_skip_is_reason(unsigned reason)
{
	return reason > 0 && reason < N_SKIP_WORDS;
}

static bool is_in_base(const struct ews_scan_opts *opts, const char *path)
{
	return opts->known && ews_entries_find(opts->known, path);
}

static bool is_known(const struct ews_scan_opts *opts, const char *path)
{
	return is_in_base(opts, path) || (opts->index && ews_index_find(opts->index, path));
}

static bool is_known_below(const struct ews_scan_opts *opts, const char *path)
{
	const struct ews_entry *dir = opts->known ? ews_entries_find(opts->known, path) : NULL;
	const struct ews_index_entry *tracked;
	size_t len = strlen(path);

	if (dir && dir + 1 < opts->known->items + opts->known->n && !strncmp(dir[1].path, path, len) &&
	    dir[1].path[len] == '/')
		return true;
	/* A submodule is in the index, and nothing below it. */
	tracked = opts->index ? ews_index_find(opts->index, path) : NULL;
	return opts->index && !(tracked && (tracked->mode & 0170000) == 0160000) &&
	       ews_index_has_below(opts->index, path);
}

static bool is_own(const struct ews_scan_opts *opts, const char *path)
{
	for (const char *const *x = opts->own; x && *x; x++)
		if (!strcmp(path, *x))
			return true;
	return false;
}

static int cmp_path(const void *a, const void *b)
{
	return ews_path_cmp(*(const char *const *)a, *(const char *const *)b);
}

/* There may be as many wanted paths as a build has products: they are searched, in order. */
static void sort_wanted(struct walk *walk)
{
	const char *const *only = walk->opts->only;

	while (only && only[walk->n_only])
		walk->n_only++;
	walk->only = ews_calloc(walk->n_only + 1, sizeof(*walk->only));
	if (walk->n_only) {
		memcpy(walk->only, only, walk->n_only * sizeof(*walk->only));
		qsort(walk->only, walk->n_only, sizeof(*walk->only), cmp_path);
	}
}

/* The first wanted path that is not before `path`, or NULL. */
static const char *find_wanted(const struct walk *walk, const char *path)
{
	return walk->only[ews_path_find_first(walk->only, sizeof(*walk->only), walk->n_only, path)];
}

enum wanted { NOT_WANTED, ON_THE_WAY, WANTED };

/* What opts->only says of `path`, when nothing that holds it is named. */
static enum wanted how_wanted(const struct walk *walk, const char *path)
{
	const char *next;

	if (!walk->opts->only)
		return WANTED;
	next = find_wanted(walk, path);
	if (!next || !ews_path_is_inside(next, path))
		return NOT_WANTED;
	return strcmp(next, path) ? ON_THE_WAY : WANTED;
}

/* Does opts->only name `path`, or something that holds it? */
static bool is_named(const struct walk *walk, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);

	for (;;) {
		char *slash = strrchr(at, '/');

		if (how_wanted(walk, at) == WANTED)
			return true;
		if (!slash)
			return false;
		*slash = '\0';
	}
}

/*
 * Open a directory of ours whose modes keep us out: its bits are widened
 * through a descriptor that was opened without reading, and remembered.
 */
static int open_up(struct walk *walk, unsigned worker, int root_fd, const char *path)
{
	EWS_CLEANUP(fd) int parent = -1;
	EWS_CLEANUP(fd) int handle = -1;
	const char *name;
	struct stat st;

	if (!*path)
		return -1;
	parent = ews_dir_open_parent(root_fd, path, &name);
	if (parent < 0)
		return -1;
	handle = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (handle < 0 || fstat(handle, &st) < 0 || !S_ISDIR(st.st_mode))
		return -1;
	if (ews_handle_chmod(handle, (st.st_mode & 07777) | 0500) < 0)
		return -1;
	ews_strv_addf(&walk->opened[worker], "%o %s", (unsigned)(st.st_mode & 07777), path);
	return ews_dir_open_beneath(root_fd, path);
}

static int open_node(struct walk *walk, unsigned worker, const struct node *node)
{
	const struct ews_scan_opts *opts = walk->opts;
	int fd = ews_dir_open_beneath(opts->root_fd, node->path);

	/* Readable but not searchable is as closed as the other way round. */
	if (fd >= 0 && faccessat(fd, ".", X_OK, AT_EACCESS) < 0 && errno == EACCES) {
		close(fd);
		fd = -1;
		errno = EACCES;
	}
	if (fd < 0 && errno == EACCES && opts->may_chmod)
		fd = open_up(walk, worker, opts->root_fd, node->path);
	return fd;
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

static void read_own_rules(struct node *node, const struct ews_scan_opts *opts, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (!opts->ignore || !opts->read_gitignore)
		return;
	if (ews_file_read(&text, fd, ".gitignore", GITIGNORE_MAX) < 0)
		return;
	node->own_rules = ews_ignore_enter(node->rules, node->path, text.ptr, text.len);
	node->rules = node->own_rules;
}

/* What becomes of one name: an entry, a skip, or nothing. Returns the entry when the walk goes on into it. */
static struct node *take_name(struct walk *walk, unsigned worker, struct node *node, const char *name,
			      const struct stat *st)
{
	const struct ews_scan_opts *opts = walk->opts;
	struct ews_arena *arena = &walk->arenas[worker];
	char *path = join_in_arena(arena, node->path, name);
	bool is_dir = S_ISDIR(st->st_mode);
	bool is_ignored = node->is_in_ignored;
	bool is_excluded = node->is_in_excluded;
	enum wanted wanted = node->is_in_wanted ? WANTED : how_wanted(walk, path);
	struct ews_entry *entry;
	struct node *child;

	if (is_own(opts, path)) {
		ews_skips_add(&walk->skips[worker], path, EWS_SKIP_OWN, 0);
		return NULL;
	}
	if (wanted == NOT_WANTED || (wanted == ON_THE_WAY && !is_dir))
		return NULL;
	if (!is_excluded && opts->exclude)
		is_excluded = ews_ignore_match(opts->exclude, path, is_dir);
	/* A directory of the base's is an entry of it, too. */
	if (is_excluded && !is_in_base(opts, path)) {
		ews_skips_add(&walk->skips[worker], path, EWS_SKIP_EXCLUDED, is_dir ? 0 : (uint64_t)st->st_size);
		return NULL;
	}
	if (!is_ignored && opts->ignore && !opts->with_ignored)
		is_ignored = ews_ignore_match(node->rules, path, is_dir);
	if (is_ignored && !(is_dir ? is_known_below(opts, path) || is_known(opts, path) : is_known(opts, path))) {
		ews_skips_add(&walk->skips[worker], path, EWS_SKIP_IGNORED, is_dir ? 0 : (uint64_t)st->st_size);
		return NULL;
	}
	if (S_ISREG(st->st_mode) && opts->max_file_bytes && (uint64_t)st->st_size > opts->max_file_bytes) {
		ews_skips_add(&walk->skips[worker], path, EWS_SKIP_TOO_LARGE, (uint64_t)st->st_size);
		return NULL;
	}
	if (is_dir && (node->depth + 1 > DEPTH_MAX || strlen(path) > PATH_LEN_MAX)) {
		ews_skips_add(&walk->skips[worker], path, EWS_SKIP_TOO_DEEP, 0);
		return NULL;
	}
	EWS_GROW(node->items, node->n, node->cap);
	entry = &node->items[node->n++];
	*entry = (struct ews_entry){ .path = path };
	ews_entry_set_stat(entry, st);
	if (!is_dir)
		return NULL;
	child = ews_arena_alloc(arena, sizeof(*child));
	*child = (struct node){ .path = path,
				.rules = node->rules,
				.depth = node->depth + 1,
				.is_in_ignored = is_ignored,
				.is_in_excluded = is_excluded,
				.is_in_wanted = wanted == WANTED };
	return child;
}

/* Is the ".git" in the directory `fd` that of a nested repository, not a directory to be walked like others? */
static bool marks_repository(const struct ews_scan_opts *opts, int fd)
{
	struct stat st;

	return !opts->with_repositories || fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode);
}

static int read_node(size_t i, unsigned worker, void *payload)
{
	struct walk *walk = payload;
	struct node *node = walk->level[i];
	const struct ews_scan_opts *opts = walk->opts;
	EWS_CLEANUP(fd) int fd = open_node(walk, worker, node);
	EWS_CLEANUP(free) struct ews_dirent *names = NULL;
	size_t cap_children = 0;
	bool is_repository;
	ssize_t n;

	if (fd < 0) {
		/* Gone or swapped for something else since its parent was read: then it isn't there. */
		node->is_unreadable = errno == EACCES || errno == EPERM;
		if (!node->is_unreadable && errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EXDEV)
			return ews_error_os("cannot open directory '%s'", node->path);
		if (!*node->path)
			return ews_error_os("cannot read the directory");
		node->is_gone = !node->is_unreadable;
		walk->n_vanished += node->is_gone;
		return 0;
	}
	n = ews_dir_list(&names, fd, &walk->arenas[worker]);
	if (n < 0)
		return ews_error_wrap("in '%s'", node->path);
	for (ssize_t k = 0; k < n && *node->path; k++)
		node->is_repository = node->is_repository ||
				      (!strcmp(names[k].name, ".git") && marks_repository(opts, fd));
	is_repository = node->is_repository;
	/* One without a file would be no repository any more when it is looked for again. */
	if (is_repository && !(opts->into_repositories && n > 1) && !is_known_below(opts, node->path))
		return 0;
	read_own_rules(node, opts, fd);
	for (ssize_t k = 0; k < n; k++) {
		struct node *child;
		struct stat st;
		size_t before = node->n;

		if (!strcmp(names[k].name, ".git") && (is_repository || !*node->path)) {
			if (*node->path || opts->is_plain)
				ews_skips_add(&walk->skips[worker],
					      join_in_arena(&walk->arenas[worker], node->path, ".git"),
					      EWS_SKIP_REPOSITORY, 0);
			continue;
		}
		if (fstatat(fd, names[k].name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT) {
				walk->n_vanished++;
				if (opts->name_vanished)
					ews_skips_add(&walk->skips[worker],
						      join_in_arena(&walk->arenas[worker], node->path, names[k].name),
						      EWS_SKIP_CHANGING, 0);
				continue;
			}
			return ews_error_os("cannot look at '%s' in '%s'", names[k].name, node->path);
		}
		child = take_name(walk, worker, node, names[k].name, &st);
		if (node->n == before)
			continue;
		EWS_GROW_TO(node->children, node->n, cap_children);
		node->children[node->n - 1] = child;
	}
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
		ews_skips_add(&out->skips, entry->path, EWS_SKIP_UNREADABLE, 0);
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
		ews_skips_add(&out->skips, entry->path, EWS_SKIP_REPOSITORY, 0);
	}
}

/* Lay the nodes end to end in tree order, with a stack of our own: trees may be deep. */
static void lay_out(struct ews_scan *out, struct node *root, bool name_vanished)
{
	struct frame {
		struct node *node;
		size_t at;
	} *stack = NULL;
	size_t n = 0, cap = 0;

	EWS_GROW(stack, n, cap);
	stack[n++] = (struct frame){ root, 0 };
	while (n) {
		struct frame *top = &stack[n - 1];
		const struct ews_entry *entry;
		struct node *child;

		if (top->at == top->node->n) {
			free(top->node->items);
			free(top->node->children);
			n--;
			continue;
		}
		entry = &top->node->items[top->at];
		child = top->node->children[top->at++];
		switch (entry->type) {
		case EWS_ENTRY_SOCKET:
			ews_skips_add(&out->skips, entry->path, EWS_SKIP_SOCKET, 0);
			continue;
		case EWS_ENTRY_DEVICE:
			ews_skips_add(&out->skips, entry->path, EWS_SKIP_DEVICE, 0);
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

/* Directories of which nothing known or wanted remained, inside ignored ones, are no entries. */
static void drop_hollow(struct ews_scan *out, const struct walk *walk)
{
	size_t next = out->entries.n, kept = 0;

	if (!walk->opts->only)
		return;
	/* From the end: a directory on the way to a wanted path stays only when something of it does. */
	for (size_t i = out->entries.n; i-- > 0;) {
		struct ews_entry *entry = &out->entries.items[i];
		bool is_on_the_way = next < out->entries.n &&
				     ews_path_is_inside(out->entries.items[next].path, entry->path);

		if (!is_on_the_way && !is_named(walk, entry->path))
			entry->path = NULL;
		else
			next = i;
	}
	for (size_t i = 0; i < out->entries.n; i++)
		if (out->entries.items[i].path)
			out->entries.items[kept++] = out->entries.items[i];
	out->entries.n = kept;
}

static void free_rules(struct ews_ignore **rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ews_ignore_free(rules[i]);
	free(rules);
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

int ews_scan(struct ews_scan *out, const struct ews_scan_opts *opts)
{
	unsigned threads = opts->threads ? opts->threads : ews_pool_threads();
	struct node root = { .path = "", .rules = opts->ignore, .is_in_wanted = !opts->only };
	struct walk walk = { .opts = opts };
	struct ews_ignore **rules = NULL;
	size_t n_rules = 0, cap_rules = 0;
	struct stat st;
	int rc = 0;

	ews_scan_begin(out);
	out->root_fd = opts->root_fd;
	if (fstat(opts->root_fd, &st) < 0)
		return ews_error_os("cannot look at the directory");
	ews_entry_set_stat(&out->root, &st);
	walk.arenas = ews_calloc(threads, sizeof(*walk.arenas));
	walk.skips = ews_calloc(threads, sizeof(*walk.skips));
	walk.opened = ews_calloc(threads, sizeof(*walk.opened));
	for (unsigned i = 0; i < threads; i++)
		walk.opened[i] = (struct ews_strv)EWS_STRV_INIT;
	sort_wanted(&walk);
	EWS_GROW(walk.level, walk.n_level, walk.cap_level);
	walk.level[walk.n_level++] = &root;
	while (walk.n_level && rc == 0) {
		rc = ews_pool_for(walk.n_level, 8, threads, read_node, &walk);
		for (size_t i = 0; i < walk.n_level; i++) {
			if (!walk.level[i]->own_rules)
				continue;
			EWS_GROW(rules, n_rules, cap_rules);
			rules[n_rules++] = walk.level[i]->own_rules;
		}
		if (rc == 0)
			next_level(&walk);
	}
	free(walk.level);
	for (unsigned i = 0; i < threads; i++) {
		ews_arena_join(&out->entries.arena, &walk.arenas[i]);
		ews_skips_add_all(&out->skips, &walk.skips[i]);
		ews_skips_release(&walk.skips[i]);
		ews_strv_add_array(&out->opened, walk.opened[i].items);
		ews_strv_release(&walk.opened[i]);
	}
	free(walk.arenas);
	free(walk.skips);
	free(walk.opened);
	free_rules(rules, n_rules);
	/* Also after a failure: it frees the nodes. */
	lay_out(out, &root, opts->name_vanished);
	out->n_vanished = walk.n_vanished;
	if (rc == 0)
		drop_hollow(out, &walk);
	free(walk.only);
	if (rc < 0)
		return rc;
	ews_skips_sort(&out->skips);
	ews_scan_count(out);
	return 0;
}

struct fill {
	struct ews_scan *scan;
	const struct ews_scan_fill_opts *opts;
	bool hint_is_safe;
	struct ews_arena *arenas; /* one a worker */
	struct ews_dir_at *dirs; /* likewise: where it reads */
	uint8_t *lost; /* beside the entries: why one is left out, 0 when it isn't */
	_Atomic size_t done;
	_Atomic size_t n_read;
	_Atomic uint64_t bytes; /* of files that were read */
};

enum { LOST_GONE = 255 };

static bool matches_cache(const struct ews_entry *old, const struct ews_entry *entry)
{
	return old && old->has_stat && !old->is_racy && old->type == entry->type && old->size == entry->size &&
	       old->mode == entry->mode && old->dev == entry->dev && old->ino == entry->ino &&
	       old->mtime_s == entry->mtime_s && old->mtime_ns == entry->mtime_ns &&
	       old->ctime_s == entry->ctime_s && old->ctime_ns == entry->ctime_ns;
}

/* A cache may outlive the objects that it speaks of: only what a ref holds is there for certain. */
static bool is_kept(const struct ews_scan_fill_opts *opts, const struct ews_entry *old)
{
	const struct ews_entry *pinned = opts->pinned ? ews_entries_find(opts->pinned, old->path) : NULL;

	if (!opts->batch || old->type == EWS_ENTRY_DIR || old->type == EWS_ENTRY_FIFO)
		return true;
	return (pinned && ews_oid_equal(&pinned->oid, &old->oid)) || ews_odb_has(opts->odb, &old->oid);
}

static bool matches_hint(struct fill *fill, const struct ews_entry *entry, struct ews_oid *oid)
{
	const struct ews_index *hint = fill->opts->hint;
	const struct ews_index_entry *ie;
	enum ews_object_type type;
	uint64_t size;

	if (!hint || !fill->hint_is_safe || entry->type != EWS_ENTRY_FILE)
		return false;
	ie = ews_index_find(hint, entry->path);
	if (!ie || ie->stage != 0 || !ews_index_stat_matches(hint, ie, entry))
		return false;
	/* An id of git's is that of the raw bytes only when nothing was converted: then the lengths agree. */
	if (ews_odb_read_header(&type, &size, fill->opts->odb, &ie->oid) < 0) {
		ews_error_clear();
		return false;
	}
	if (type != EWS_OBJECT_BLOB || size != entry->size)
		return false;
	*oid = ie->oid;
	return true;
}

/* Open a file of ours whose mode keeps us out, through a descriptor that reads nothing; the mode is put back at once. */
static int open_closed_file(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int handle = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char held[EWS_HANDLE_NAME_MAX];
	struct stat st;
	int fd;

	if (handle < 0 || fstat(handle, &st) < 0 || !S_ISREG(st.st_mode)) {
		errno = EACCES;
		return -1;
	}
	if (ews_handle_chmod(handle, (st.st_mode & 07777) | 0400) < 0)
		return -1;
	fd = open(ews_handle_name(held, handle), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	(void)ews_handle_chmod(handle, st.st_mode & 07777); /* cannot fail where the one before did not */
	return fd;
}

static int take_attrs(struct ews_entry *entry, struct ews_arena *arena, const struct ews_buf *text)
{
	entry->xattrs = text->len ? ews_arena_dup(arena, text->ptr, text->len) : NULL;
	return 0;
}

/* The attributes of an open file. */
static int read_attrs_of(struct ews_entry *entry, struct ews_arena *arena, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_xattr_read(&text, fd);

	return rc < 0 ? ews_error_wrap("in '%s'", entry->path) : take_attrs(entry, arena, &text);
}

/* The attributes of what a name stands for. */
static int read_attrs(struct ews_entry *entry, struct ews_arena *arena, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_xattr_read_at(&text, dir_fd, name);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? ews_error_wrap("in '%s'", entry->path) : take_attrs(entry, arena, &text);
}

/*
 * Read one file, its attributes too: 0 done, 1 it moved under the reader, below zero an error; `lost` says why it is
 * left out.
 */
static int read_file(struct fill *fill, struct ews_entry *entry, unsigned worker, const char *name, uint8_t *lost)
{
	const struct ews_scan_fill_opts *opts = fill->opts;
	const struct ews_entry *pinned = opts->pinned ? ews_entries_find(opts->pinned, entry->path) : NULL;
	const struct ews_oid *held = pinned && pinned->type == EWS_ENTRY_FILE ? &pinned->oid : NULL;
	int dir_fd = fill->dirs[worker].fd;
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat before, after;
	int rc;

	if (fd < 0 && errno == EACCES && opts->may_chmod)
		fd = open_closed_file(dir_fd, name);
	if (fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			*lost = LOST_GONE;
		else if (errno == ELOOP || errno == ENXIO)
			return 1;
		else
			*lost = EWS_SKIP_UNREADABLE;
		return 0;
	}
	if (fstat(fd, &before) < 0)
		return ews_error_os("cannot look at '%s'", entry->path);
	if (!S_ISREG(before.st_mode))
		return 1;
	if (opts->batch)
		rc = ews_batch_add_fd(&entry->oid, opts->batch, fd, (uint64_t)before.st_size, held);
	else
		rc = ews_batch_hash_fd(&entry->oid, opts->odb, fd, (uint64_t)before.st_size);
	if (rc == EWS_ESTALE) {
		ews_error_clear();
		return 1;
	}
	if (rc < 0)
		return ews_error_wrap("cannot read '%s'", entry->path);
	rc = read_attrs_of(entry, &fill->arenas[worker], fd);
	if (rc < 0)
		return rc;
	if (fstat(fd, &after) < 0)
		return ews_error_os("cannot look at '%s'", entry->path);
	ews_entry_set_stat(entry, &before);
	fill->bytes += (uint64_t)before.st_size;
	return ews_entry_stat_matches(entry, &after) ? 0 : 1;
}

static int read_link(struct fill *fill, struct ews_entry *entry, int dir_fd, const char *name, uint8_t *lost)
{
	char text[LINK_TEXT_MAX];
	ssize_t len = readlinkat(dir_fd, name, text, sizeof(text));

	if (len < 0) {
		if (errno == EINVAL)
			return 1;
		if (errno != ENOENT && errno != ENOTDIR)
			return ews_error_os("cannot read the link '%s'", entry->path);
		*lost = LOST_GONE;
		return 0;
	}
	entry->size = (uint64_t)len;
	if (fill->opts->batch)
		return ews_batch_add(&entry->oid, fill->opts->batch, EWS_OBJECT_BLOB, text, (size_t)len);
	ews_odb_hash(&entry->oid, fill->opts->odb, EWS_OBJECT_BLOB, text, (size_t)len);
	return 0;
}

static int fill_one(size_t i, unsigned worker, void *payload)
{
	struct fill *fill = payload;
	struct ews_entry *entry = &fill->scan->entries.items[i];
	const struct ews_entry *old = NULL;
	const char *name;
	size_t done = ++fill->done;
	int dir_fd, rc = 0;

	if (fill->opts->progress && worker == 0)
		fill->opts->progress(fill->opts->payload, done, fill->scan->entries.n, fill->bytes);
	if (fill->opts->racy_only && !entry->is_racy)
		return 0;
	entry->is_racy = false;
	entry->xattrs = NULL;
	if (fill->opts->cache)
		old = ews_entries_find(fill->opts->cache, entry->path);
	if (!fill->opts->attrs_only && matches_cache(old, entry) && is_kept(fill->opts, old)) {
		entry->oid = old->oid;
		if (old->xattrs)
			entry->xattrs = ews_arena_dup(&fill->arenas[worker], old->xattrs, strlen(old->xattrs));
		return 0;
	}
	if (entry->type == EWS_ENTRY_GITLINK)
		return 0;
	fill->n_read++;
	dir_fd = ews_dir_at_parent(&fill->dirs[worker], fill->scan->root_fd, entry->path, &name);
	if (dir_fd < 0) {
		ews_error_clear();
		fill->lost[i] = LOST_GONE;
		return 0;
	}
	if (!fill->opts->attrs_only && entry->type == EWS_ENTRY_FILE && !matches_hint(fill, entry, &entry->oid)) {
		rc = 1;
		for (int tries = 0; rc == 1 && tries < READ_TRIES; tries++)
			rc = read_file(fill, entry, worker, name, &fill->lost[i]);
		if (rc == 1)
			fill->lost[i] = EWS_SKIP_CHANGING;
		return rc < 0 ? rc : 0;
	}
	if (!fill->opts->attrs_only && entry->type == EWS_ENTRY_LINK)
		rc = read_link(fill, entry, dir_fd, name, &fill->lost[i]);
	if (rc < 0)
		return rc;
	if (rc == 1)
		fill->lost[i] = EWS_SKIP_CHANGING;
	if (fill->lost[i])
		return 0;
	return read_attrs(entry, &fill->arenas[worker], dir_fd, name);
}

/* The attributes by which git stores other bytes than stand in the file, but for line ends, which lengths show. */
static bool has_converting_word(const char *text, size_t len)
{
	static const char *const words[] = { "filter", "ident", "working-tree-encoding" };

	for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
		if (memmem(text, len, words[k], strlen(words[k])))
			return true;
	return false;
}

/* One file of attributes, by its absolute path. What is there and can't be read counts as converting. */
static bool is_converting_file(const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (ews_file_read_path(&text, path, GITIGNORE_MAX) < 0) {
		ews_error_clear();
		return true;
	}
	return has_converting_word(text.ptr, text.len);
}

/* The same of the files that are not in the tree: the repository's, the user's, the system's. */
static bool has_converting_attributes_outside(struct ews_odb *odb)
{
	EWS_CLEANUP(free) char *info = ews_path_join(ews_odb_common_dir(odb), "info/attributes");
	EWS_CLEANUP(free) char *user = NULL;
	const char *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (is_converting_file(info) || is_converting_file("/etc/gitattributes"))
		return true;
	if (ews_odb_config(&user, odb, "core.attributesFile") == 0) {
		/* "~/" is the one form of it that is not a path as it stands. */
		if (user[0] == '~')
			return true;
	} else {
		ews_error_clear();
		if (xdg && *xdg)
			user = ews_path_join(xdg, "git/attributes");
		else if (home && *home)
			user = ews_path_join(home, ".config/git/attributes");
	}
	return user && is_converting_file(user);
}

/* Could git have converted what it took into its index? Then its ids don't stand for raw bytes. */
static bool has_converting_attributes(const struct ews_scan *scan, const struct ews_scan_fill_opts *opts)
{
	for (size_t i = 0; i < scan->entries.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		EWS_CLEANUP(fd) int fd = -1;
		const char *path = scan->entries.items[i].path;

		if (strcmp(ews_path_base(path), ".gitattributes"))
			continue;
		fd = ews_dir_open_file(scan->root_fd, path, O_RDONLY, 0);
		if (fd < 0 || ews_file_read_fd(&text, fd, GITIGNORE_MAX) < 0) {
			ews_error_clear();
			return true;
		}
		if (has_converting_word(text.ptr, text.len))
			return true;
	}
	return has_converting_attributes_outside(opts->odb);
}

static void drop_lost(struct ews_scan *scan, const uint8_t *lost, bool name_vanished)
{
	size_t kept = 0;

	for (size_t i = 0; i < scan->entries.n; i++) {
		scan->n_vanished += lost[i] == LOST_GONE;
		if (lost[i] && (lost[i] != LOST_GONE || name_vanished))
			ews_skips_add(&scan->skips, scan->entries.items[i].path,
				      lost[i] == LOST_GONE ? EWS_SKIP_CHANGING : (enum ews_skip_reason)lost[i],
				      scan->entries.items[i].size);
		if (!lost[i])
			scan->entries.items[kept++] = scan->entries.items[i];
	}
	if (kept == scan->entries.n)
		return;
	scan->entries.n = kept;
	ews_skips_sort(&scan->skips);
}

int ews_scan_fill(struct ews_scan *scan, const struct ews_scan_fill_opts *opts)
{
	unsigned threads = opts->threads ? opts->threads : ews_pool_threads();
	struct fill fill = { .scan = scan, .opts = opts };
	int rc;

	fill.hint_is_safe = opts->hint && !has_converting_attributes(scan, opts);
	fill.lost = ews_calloc(scan->entries.n + 1, 1);
	fill.arenas = ews_calloc(threads, sizeof(*fill.arenas));
	fill.dirs = ews_calloc(threads, sizeof(*fill.dirs));
	for (unsigned i = 0; i < threads; i++)
		fill.dirs[i] = (struct ews_dir_at)EWS_DIR_AT_INIT;
	rc = ews_pool_for(scan->entries.n, 64, threads, fill_one, &fill);
	for (unsigned i = 0; i < threads; i++) {
		ews_arena_join(&scan->entries.arena, &fill.arenas[i]);
		ews_dir_at_release(&fill.dirs[i]);
	}
	free(fill.arenas);
	free(fill.dirs);
	scan->n_read = fill.n_read;
	if (rc == 0) {
		drop_lost(scan, fill.lost, opts->name_vanished);
		ews_hardlinks_find(&scan->entries);
		ews_scan_count(scan);
	}
	free(fill.lost);
	return rc;
}

/* "<octal mode> <path>": by path alone. */
static int cmp_opened(const void *a, const void *b)
{
	return ews_path_cmp(strchr(*(char *const *)a, ' ') + 1, strchr(*(char *const *)b, ' ') + 1);
}

void ews_scan_close(struct ews_scan *scan)
{
	/* Deepest first: a closed parent would keep us from its children. */
	if (scan->opened.n)
		qsort(scan->opened.items, scan->opened.n, sizeof(*scan->opened.items), cmp_opened);
	for (size_t i = scan->opened.n; i-- > 0;) {
		char *path;
		mode_t mode = (mode_t)strtoul(scan->opened.items[i], &path, 8);
		EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(scan->root_fd, path + 1);

		if (fd < 0 || fchmod(fd, mode) < 0)
			ews_error_clear(); /* it is gone: nothing to close */
	}
	ews_strv_clear(&scan->opened);
}

void ews_scan_release(struct ews_scan *scan)
{
	ews_scan_close(scan);
	ews_strv_release(&scan->opened);
	ews_entries_release(&scan->entries);
	ews_skips_release(&scan->skips);
}
