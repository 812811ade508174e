/*
 * Watch: see watch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/watch.h"

#include <errno.h>
#include <poll.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/home.h"
#include "store/ignore.h"
#include "store/index.h"
#include "work/rules.h"
#include "work/session.h"
#include "work/session_open.h"
#include "work/session_place.h"

#define BOUND_TIMES 4
#define POLL_MS_MIN 100
#define POLL_MS_MAX 1000
#define POLL_REST_TIMES 10 /* as long as a look takes, times this, it rests */
#define GONE_MS 2000 /* nothing tells that the watched directory itself is removed */

/* The rules of one directory, as .gitignore files down to it say. */
struct level {
	char *path; /* from where the rules begin */
	struct ews_ignore *rules;
	struct level *next;
};

struct rules {
	struct ews_repo *repo; /* NULL: none but the files of the directory */
	char *root; /* where they begin: the project, the workspace, or the watched directory */
	int root_fd;
	char *session; /* whose workspace that is, or NULL */
	char *prefix; /* from there to the watched directory: "" or "<path>/" */
	struct ews_strv own;
	struct ews_ignore *base;
	struct ews_index index;
	void *by_path; /* levels, for tsearch() */
	struct level *levels;
};

struct ews_watch {
	int dir_fd;
	struct rules rules;
	struct ews_ignore *ignore; /* those of the caller */
	struct ews_strv exts;
	struct ews_notify_tree *tree;
	unsigned debounce_ms;
	int wake_fd;
	bool is_open; /* something happened that is not reported */
	uint64_t first_ms, last_ms; /* since when, and until when */
	uint64_t poll_at_ms, look_at_ms;
	struct ews_watch_batch batch;
	bool has_new_rules, has_new_dirs; /* the batch says so */
	bool is_gone;
	struct ews_watch_change *history; /* a ring */
	size_t n_history, history_at;
};

static int cmp_level(const void *a, const void *b)
{
	return strcmp(((const struct level *)a)->path, ((const struct level *)b)->path);
}

static void forget_levels(struct rules *rules)
{
	struct level *level;

	while ((level = rules->levels)) {
		rules->levels = level->next;
		(void)tdelete(level, &rules->by_path, cmp_level);
		ews_ignore_free(level->rules);
		free(level->path);
		free(level);
	}
}

static void read_gitignore(struct ews_buf *out, const struct rules *rules, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(rules->root_fd, dir);

	if (fd >= 0)
		(void)ews_file_read(out, fd, ".gitignore", EWS_IGNORE_BYTES_MAX); /* missing, or no file: no rules */
	ews_error_clear();
}

/* The rules that hold in the directory `dir`. */
static const struct ews_ignore *level_of(struct rules *rules, const char *dir)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *path = ews_strdup(dir);
	struct level key = { .path = path }, *level;
	const struct ews_ignore *parent = rules->base;
	void *node = tfind(&key, &rules->by_path, cmp_level);

	if (node)
		return (*(struct level **)node)->rules;
	if (*dir) {
		EWS_CLEANUP(free) char *up = ews_path_dir(dir);

		parent = level_of(rules, up);
	}
	read_gitignore(&text, rules, dir);
	level = ews_calloc(1, sizeof(*level));
	level->path = ews_steal(&path);
	level->rules = ews_ignore_enter(parent, dir, text.len ? text.ptr : NULL, text.len);
	level->next = rules->levels;
	rules->levels = level;
	if (!tsearch(level, &rules->by_path, cmp_level))
		abort();
	return level->rules;
}

static void read_index(struct rules *rules, struct ews_session *session)
{
	EWS_CLEANUP(fd) int admin = session ? ews_session_open_admin(session) : -1;
	int git_fd = session ? admin : rules->repo->git_fd;

	ews_index_release(&rules->index);
	/* That of a workspace may be anything; then nothing is known to be tracked. */
	if (git_fd >= 0 && !rules->repo->is_plain)
		(void)ews_index_read(&rules->index, git_fd, "index", ews_odb_algo(rules->repo->odb));
	ews_error_clear();
}

/* Read all rules anew, and what git tracks in spite of them. */
static int read_rules(struct rules *rules)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc;

	forget_levels(rules);
	ews_ignore_free(ews_steal(&rules->base));
	if (!rules->repo) {
		rules->base = ews_ignore_new(NULL, 0, NULL, 0, false);
		return 0;
	}
	rc = ews_rules_ignore(&rules->base, rules->repo, rules->root);
	if (rc == 0 && rules->session)
		rc = ews_session_open(&session, rules->repo, rules->session);
	if (rc == 0)
		read_index(rules, rules->session ? &session : NULL);
	return rc;
}

/* Where the rules begin that hold in `dir`: its workspace, or its project. */
static int find_rules_root(char **out, struct rules *rules, const char *dir)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *root = NULL;
	struct ews_repo *repo = rules->repo;
	int rc;

	if (repo && repo->here) {
		rc = ews_session_open(&session, repo, repo->here);
		if (rc < 0)
			return rc;
		root = realpath(session.state.workspace, NULL);
		if (root && ews_path_is_inside(dir, root))
			rules->session = ews_strdup(repo->here);
	} else if (repo && !repo->is_bare) {
		root = ews_strdup(repo->project);
	}
	if (!root || !ews_path_is_inside(dir, root)) {
		free(root);
		root = ews_strdup(dir);
	}
	*out = ews_steal(&root);
	return 0;
}

static int open_rules(struct rules *rules, struct ews_repo *repo, const char *dir)
{
	const char *below;
	int rc;

	rules->repo = repo;
	rc = find_rules_root(&rules->root, rules, dir);
	if (rc < 0)
		return rc;
	rules->root_fd = ews_dir_open(rules->root);
	if (rules->root_fd < 0)
		return rules->root_fd;
	below = dir + strlen(rules->root);
	below += strspn(below, "/");
	rules->prefix = ews_strfmt("%s%s", below, *below ? "/" : "");
	if (repo)
		ews_rules_own(&rules->own, repo, rules->root);
	return read_rules(rules);
}

static void release_rules(struct rules *rules)
{
	forget_levels(rules);
	ews_ignore_free(rules->base);
	ews_index_release(&rules->index);
	ews_strv_release(&rules->own);
	free(rules->session);
	free(rules->root);
	free(rules->prefix);
	if (rules->root_fd >= 0)
		close(rules->root_fd);
}

/* Do the rules match `path`, as seen from where they begin, and does git not track it? */
static bool is_ignored(struct rules *rules, const char *path, bool is_dir)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(path);

	if (!ews_ignore_match(level_of(rules, dir), path, is_dir))
		return false;
	return is_dir ? !ews_index_has_below(&rules->index, path) : !ews_index_find(&rules->index, path);
}

static bool is_gitignore(const char *path)
{
	return path && !strcmp(ews_path_base(path), ".gitignore");
}

static bool wants(void *payload, const char *path, bool is_dir)
{
	struct ews_watch *watch = payload;
	const char *name = ews_path_base(path);
	EWS_CLEANUP(free) char *full = NULL;

	if (!strcmp(name, ".git") || !strcmp(name, EWS_OWN_DIR) || ews_ignore_match(watch->ignore, path, is_dir))
		return false;
	/* Whatever says of it that it is ignored: the rules in it hold. */
	if (!is_dir && is_gitignore(name))
		return true;
	full = ews_strfmt("%s%s", watch->rules.prefix, path);
	return !ews_strv_has(&watch->rules.own, full) && !is_ignored(&watch->rules, full, is_dir);
}

static bool has_wanted_ext(const struct ews_watch *watch, const char *path)
{
	const char *name = ews_path_base(path);
	size_t len = strlen(name);

	for (size_t i = 0; i < watch->exts.n; i++) {
		const char *ext = watch->exts.items[i];
		size_t ext_len = strlen(ext);

		if (len > ext_len && !strcmp(name + len - ext_len, ext))
			return true;
	}
	return false;
}

/* Is it to be reported, not just known? */
static bool is_shown(struct ews_watch *watch, const struct ews_tree_change *change)
{
	EWS_CLEANUP(free) char *full = ews_strfmt("%s%s", watch->rules.prefix, change->path);

	if (change->kind == EWS_TREE_OVERFLOW)
		return true;
	if (watch->exts.n && (change->is_dir || !(has_wanted_ext(watch, change->path) ||
						  (change->old_path && has_wanted_ext(watch, change->old_path)))))
		return false;
	return change->is_dir || !is_gitignore(change->path) || !is_ignored(&watch->rules, full, false);
}

static void copy_change(struct ews_watch_change *out, const struct ews_watch_change *from)
{
	*out = *from;
	out->path = ews_strdup(from->path);
	out->old_path = from->old_path ? ews_strdup(from->old_path) : NULL;
}

static void release_change(struct ews_watch_change *change)
{
	free(change->path);
	free(change->old_path);
}

static void clear_batch(struct ews_watch_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		release_change(&batch->items[i]);
	batch->n = 0;
}

static void take_change(void *payload, const struct ews_tree_change *change)
{
	struct ews_watch *watch = payload;
	struct ews_watch_batch *batch = &watch->batch;

	watch->has_new_rules = watch->has_new_rules || is_gitignore(change->path) || is_gitignore(change->old_path);
	watch->has_new_dirs = watch->has_new_dirs || change->is_dir;
	if (!is_shown(watch, change))
		return;
	EWS_GROW(batch->items, batch->n, batch->cap);
	batch->items[batch->n++] = (struct ews_watch_change){
		.kind = change->kind,
		.path = ews_strdup(change->path),
		.old_path = change->old_path ? ews_strdup(change->old_path) : NULL,
		.is_dir = change->is_dir,
		.time_s = ews_clock_now(),
	};
}

static void remember(struct ews_watch *watch)
{
	const struct ews_watch_batch *batch = &watch->batch;
	size_t i = batch->n > EWS_WATCH_HISTORY_MAX ? batch->n - EWS_WATCH_HISTORY_MAX : 0;

	for (; i < batch->n; i++) {
		struct ews_watch_change *slot = &watch->history[watch->history_at];

		release_change(slot);
		copy_change(slot, &batch->items[i]);
		watch->history_at = (watch->history_at + 1) % EWS_WATCH_HISTORY_MAX;
		watch->n_history += watch->n_history < EWS_WATCH_HISTORY_MAX;
	}
}

/* Something of interest happened. */
static void note_activity(struct ews_watch *watch)
{
	watch->last_ms = ews_clock_monotonic_ms();
	if (!watch->is_open)
		watch->first_ms = watch->last_ms;
	watch->is_open = true;
}

/* Make a batch of what differs. */
static int settle(struct ews_watch *watch)
{
	int rc;

	watch->is_open = watch->has_new_rules = watch->has_new_dirs = false;
	watch->look_at_ms = ews_clock_monotonic_ms() + GONE_MS;
	rc = ews_notify_tree_settle(watch->tree, take_change, watch);
	if (rc == EWS_ENOTFOUND) {
		watch->is_gone = true;
		rc = 0;
	}
	if (rc < 0)
		return rc;
	remember(watch);
	if (watch->has_new_dirs)
		forget_levels(&watch->rules);
	if (!watch->has_new_rules || watch->is_gone)
		return 0;
	rc = read_rules(&watch->rules);
	if (rc == 0 && ews_notify_tree_refilter(watch->tree) > 0)
		note_activity(watch);
	return rc;
}

/* Take in what happened until now. */
static int take_in(struct ews_watch *watch)
{
	uint64_t now_ms = ews_clock_monotonic_ms(), took_ms;
	int n, rc;

	n = ews_notify_tree_read(watch->tree);
	if (n < 0)
		return n;
	if (ews_notify_tree_n_polled(watch->tree) && now_ms >= watch->poll_at_ms) {
		uint64_t rest_ms = watch->debounce_ms < POLL_MS_MIN   ? POLL_MS_MIN
				   : watch->debounce_ms > POLL_MS_MAX ? POLL_MS_MAX
								      : watch->debounce_ms;

		rc = ews_notify_tree_poll(watch->tree);
		if (rc < 0)
			return rc;
		n += rc;
		took_ms = ews_clock_monotonic_ms() - now_ms;
		if (took_ms * POLL_REST_TIMES > rest_ms)
			rest_ms = took_ms * POLL_REST_TIMES;
		watch->poll_at_ms = now_ms + took_ms + rest_ms;
	}
	if (n)
		note_activity(watch);
	return 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When what happened is to be reported; when nothing did, to be looked for. */
static uint64_t due_ms(const struct ews_watch *watch)
{
	if (!watch->is_open)
		return watch->look_at_ms;
	return min_u64(watch->last_ms + watch->debounce_ms,
		       watch->first_ms + (uint64_t)BOUND_TIMES * watch->debounce_ms);
}

/* Wait until there is something to do. Returns 1 when woken. */
static int wait_until(const struct ews_watch *watch, uint64_t deadline_ms)
{
	struct pollfd fds[] = {
		{ .fd = ews_notify_tree_fd(watch->tree), .events = POLLIN },
		{ .fd = watch->wake_fd > 0 ? watch->wake_fd : -1, .events = POLLIN },
	};
	uint64_t until_ms = min_u64(deadline_ms, due_ms(watch)), now_ms = ews_clock_monotonic_ms();

	if (ews_notify_tree_n_polled(watch->tree))
		until_ms = min_u64(until_ms, watch->poll_at_ms);
	if (poll(fds, 2, until_ms > now_ms ? (int)(until_ms - now_ms) : 0) < 0 && errno != EINTR)
		return ews_error_os("cannot wait for changes");
	return fds[1].revents != 0;
}

int ews_watch_next(const struct ews_watch_batch **out, struct ews_watch *watch, int timeout_ms)
{
	uint64_t deadline_ms = timeout_ms < 0 ? UINT64_MAX : ews_clock_monotonic_ms() + (uint64_t)timeout_ms;
	bool is_woken = false;

	clear_batch(&watch->batch);
	for (;;) {
		uint64_t now_ms;
		int rc;

		if (watch->is_gone)
			return ews_error(EWS_ENOTFOUND, "the watched directory is gone");
		rc = take_in(watch);
		now_ms = ews_clock_monotonic_ms();
		if (rc == 0 && now_ms >= due_ms(watch))
			rc = settle(watch);
		if (rc < 0)
			return rc;
		if (watch->batch.n) {
			*out = &watch->batch;
			return 1;
		}
		if (is_woken || now_ms >= deadline_ms)
			return 0;
		rc = wait_until(watch, deadline_ms);
		if (rc < 0)
			return rc;
		is_woken = rc;
	}
}

int ews_watch_run(struct ews_watch *watch, ews_watch_fn fn, void *payload)
{
	const struct ews_watch_batch *batch;
	int rc;

	while ((rc = ews_watch_next(&batch, watch, -1)) > 0) {
		rc = fn(payload, batch);
		if (rc != 0)
			break;
	}
	return rc;
}

const struct ews_watch_change *ews_watch_history(const struct ews_watch *watch, size_t i)
{
	size_t oldest = watch->n_history < EWS_WATCH_HISTORY_MAX ? 0 : watch->history_at;

	return i < watch->n_history ? &watch->history[(oldest + i) % EWS_WATCH_HISTORY_MAX] : NULL;
}

void ews_watch_forgive(struct ews_watch *watch)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (ews_notify_tree_read(watch->tree) > 0)
		note_activity(watch);
	ews_notify_tree_forgive(watch->tree);
	(void)ews_error_restore(&why);
}

struct ews_watch_extent ews_watch_extent(const struct ews_watch *watch)
{
	struct ews_watch_extent extent = {
		.n_dirs = ews_notify_tree_n_dirs(watch->tree),
		.n_polled = ews_notify_tree_n_polled(watch->tree),
	};

	extent.trouble = ews_notify_tree_trouble(watch->tree, &extent.hint);
	return extent;
}

void ews_watch_list_polled(struct ews_strv *out, const struct ews_watch *watch)
{
	ews_notify_tree_list_polled(out, watch->tree);
}

static void add_exts(struct ews_strv *out, const struct ews_strv *exts)
{
	for (size_t i = 0; exts && i < exts->n; i++)
		ews_strv_addf(out, "%s%s", exts->items[i][0] == '.' ? "" : ".", exts->items[i]);
}

static struct ews_ignore *make_ignore(const struct ews_strv *patterns)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; patterns && i < patterns->n; i++)
		ews_buf_addf(&text, "%s\n", patterns->items[i]);
	return ews_ignore_new(text.ptr, text.len, NULL, 0, false);
}

int ews_watch_open(struct ews_watch **out, struct ews_repo *repo, const char *dir, const struct ews_watch_opts *opts)
{
	EWS_CLEANUP(watch) struct ews_watch *watch = ews_calloc(1, sizeof(*watch));
	struct ews_notify_tree_opts tree_opts = {
		.only_top = opts->only_top,
		.polls = opts->polls,
		.wants = wants,
		.payload = watch,
	};
	int rc;

	watch->rules.root_fd = -1;
	watch->rules.own = watch->exts = (struct ews_strv)EWS_STRV_INIT;
	watch->rules.index = (struct ews_index)EWS_INDEX_INIT;
	watch->history = ews_calloc(EWS_WATCH_HISTORY_MAX, sizeof(*watch->history));
	watch->debounce_ms = opts->debounce_ms;
	watch->wake_fd = opts->wake_fd;
	watch->ignore = make_ignore(opts->ignore);
	add_exts(&watch->exts, opts->exts);
	watch->dir_fd = ews_dir_open(dir);
	if (watch->dir_fd < 0)
		return watch->dir_fd;
	rc = open_rules(&watch->rules, repo, dir);
	if (rc < 0)
		return rc;
	tree_opts.root_fd = watch->dir_fd;
	rc = ews_notify_tree_open(&watch->tree, &tree_opts);
	if (rc < 0)
		return ews_error_wrap("cannot watch '%s'", dir);
	watch->look_at_ms = ews_clock_monotonic_ms() + GONE_MS;
	*out = ews_steal(&watch);
	return 0;
}

void ews_watch_free(struct ews_watch *watch)
{
	if (!watch)
		return;
	ews_notify_tree_free(watch->tree);
	release_rules(&watch->rules);
	ews_ignore_free(watch->ignore);
	ews_strv_release(&watch->exts);
	clear_batch(&watch->batch);
	free(watch->batch.items);
	for (size_t i = 0; i < EWS_WATCH_HISTORY_MAX; i++)
		release_change(&watch->history[i]);
	free(watch->history);
	if (watch->dir_fd >= 0)
		close(watch->dir_fd);
	free(watch);
}
