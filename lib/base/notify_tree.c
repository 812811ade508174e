/*
 * Notification of a tree: see notify_tree.h.
 *
 * What stands where, and stood there, is notify_place's; what is told of it notify_tell's. Here it is looked at, and heard of.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/notify_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/notify.h"
#include "base/notify_place.h"

#define DEPTH_MAX 4096
/* Two changes this close to each other may bear one time: the kernel's clock for files ticks slowly. */
#define TICK_NS 20000000
#define LOOKS_MAX 8

struct ews_notify_tree {
	struct ews_notify_tree_opts opts;
	int fd; /* -1: nothing comes from the kernel */
	struct ews_notify_place root;
	void *by_watch; /* places, for tsearch() */
	size_t n_watches;
	struct ews_notify_places touched, polled, queue; /* queue: to be listed */
	struct ews_notify_place *left; /* what a rename took away, when last heard */
	uint32_t left_cookie;
	struct ews_notify_place *open_place; /* of which a descriptor is at hand */
	int open_fd;
	uint64_t round, filter_round;
	size_t n_noticed; /* differences, each time one is seen */
	int64_t told_ns; /* when what happened was last told */
	int64_t silent_before_ns; /* what was there before, and is new to us, is no news */
	bool is_deep; /* a listing goes on into what is known */
	bool is_dirty; /* some place is */
	bool is_overflown;
	struct ews_error_saved trouble; /* why something must be polled */
};

static int cmp_watch(const void *a, const void *b)
{
	int x = ((const struct ews_notify_place *)a)->watch, y = ((const struct ews_notify_place *)b)->watch;

	return (x > y) - (x < y);
}

static void touch(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	if (place->is_touched || !place->parent)
		return;
	place->is_touched = true;
	ews_notify_places_add(&tree->touched, place);
}

static void mark_dirty(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	place->is_dirty = tree->is_dirty = true;
	touch(tree, place);
}

static bool is_wanted(struct ews_notify_tree *tree, struct ews_notify_place *place, bool as_dir)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	if (!tree->opts.wants || !place->parent)
		return true;
	if (place->filter_round != tree->filter_round) {
		place->filter_round = tree->filter_round;
		place->is_asked[0] = place->is_asked[1] = false;
	}
	if (!place->is_asked[as_dir]) {
		ews_notify_place_path(&path, place);
		place->is_wanted[as_dir] = tree->opts.wants(tree->opts.payload, path.ptr, as_dir);
		place->is_asked[as_dir] = true;
	}
	return place->is_wanted[as_dir];
}

static void set_polled(struct ews_notify_tree *tree, struct ews_notify_place *place, bool is_polled)
{
	struct ews_notify_places *polled = &tree->polled;

	if (is_polled == (place->polled_at > 0))
		return;
	if (is_polled) {
		ews_notify_places_add(polled, place);
		place->polled_at = polled->n;
		return;
	}
	polled->items[place->polled_at - 1] = polled->items[--polled->n];
	polled->items[place->polled_at - 1]->polled_at = place->polled_at;
	place->polled_at = 0;
}

static void forget_watch(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	if (place->watch < 0)
		return;
	(void)tdelete(place, &tree->by_watch, cmp_watch);
	place->watch = -1;
	tree->n_watches--;
}

static void set_watch(struct ews_notify_tree *tree, struct ews_notify_place *place, int watch)
{
	place->watch = watch;
	ews_notify_index_add(&tree->by_watch, place, cmp_watch);
	tree->n_watches++;
}

static struct ews_notify_place *find_watch(struct ews_notify_tree *tree, int watch)
{
	struct ews_notify_place key = { .watch = watch };
	void *node = tfind(&key, &tree->by_watch, cmp_watch);

	return node ? *(struct ews_notify_place **)node : NULL;
}

/* The places in `from` are in `to` from now on, unless that has some. */
static void hand_over(struct ews_notify_place *from, struct ews_notify_place *to)
{
	if (to->first)
		return;
	to->first = ews_steal(&from->first);
	to->by_name = ews_steal(&from->by_name);
	for (struct ews_notify_place *child = to->first; child; child = child->next)
		child->parent = to;
}

/* What was in `from` when changes were last told was in `to` then. Nothing is in `from` now. */
static void give_back(struct ews_notify_tree *tree, struct ews_notify_place *from, struct ews_notify_place *to)
{
	struct ews_notify_place *child, *next;

	hand_over(from, to);
	for (child = from->first; child; child = next) {
		struct ews_notify_place *other = ews_notify_place_find(to, child->name);

		next = child->next;
		if (!child->was)
			continue;
		if (!other) {
			ews_notify_place_unlink(child);
			ews_notify_place_link(to, child);
			continue;
		}
		other->was = true;
		other->was_dir = child->was_dir;
		other->went_to = ews_steal(&child->went_to);
		if (other->went_to)
			other->went_to->origin = other;
		if (!other->is && child->is_old) {
			other->is_old = true;
			other->seen = child->seen;
		}
		child->was = child->is_old = false;
		touch(tree, other);
		give_back(tree, child, other);
	}
}

/* Is something in `dir`, or below it, of what was there when changes were last told? */
static bool has_past(const struct ews_notify_place *dir)
{
	for (const struct ews_notify_place *child = dir->first; child; child = child->next)
		if (child->was || has_past(child))
			return true;
	return false;
}

/* What stood at `place`, and all in it, is gone from there. */
static void vanish(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	if (!place->is)
		return;
	for (struct ews_notify_place *child = place->first; child; child = child->next)
		vanish(tree, child);
	if (place->watch >= 0)
		ews_notify_remove(tree->fd, place->watch);
	forget_watch(tree, place);
	set_polled(tree, place, false);
	if (place->origin) {
		/* Nobody hears that it was here: what was in it is gone from where it came from. */
		give_back(tree, place, place->origin);
		place->origin->went_to = NULL;
	}
	place->origin = NULL;
	place->is_old = place->same;
	place->is = place->same = place->changed = place->is_sure = place->is_shifted = place->is_to_list = false;
	tree->n_noticed++;
	touch(tree, place);
}

/* There is no interest any more in what is at `place`: nothing of it is told. */
static void drop(struct ews_notify_place *place)
{
	for (struct ews_notify_place *child = place->first; child; child = child->next)
		drop(child);
	place->was = false;
}

/* To be listed, with a watch on it: now or soon. */
static void enter(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	if (!tree->opts.only_top && ews_notify_place_depth(place) < DEPTH_MAX)
		ews_notify_places_add(&tree->queue, place);
}

static void appear(struct ews_notify_tree *tree, struct ews_notify_place *place, const struct ews_notify_looked *look)
{
	place->is = true;
	place->seen = *look;
	place->is_old = place->is_sure = place->is_shifted = false;
	touch(tree, place);
	if (look->ctime_ns < tree->silent_before_ns) {
		place->was = place->same = true;
		place->was_dir = S_ISDIR(look->mode);
	} else {
		tree->n_noticed++;
	}
	if (S_ISDIR(look->mode))
		enter(tree, place);
}

static bool differs(const struct ews_notify_place *place, const struct ews_notify_looked *look)
{
	const struct ews_notify_looked *seen = &place->seen;

	if (ews_notify_has_other_mode(seen, look))
		return true;
	/* The times of a directory are those of what is in it. */
	if (S_ISDIR(look->mode))
		return false;
	if (seen->size != look->size || seen->mtime_ns != look->mtime_ns)
		return true;
	if (seen->ctime_ns != look->ctime_ns && !place->is_shifted)
		return true;
	/* Another change within the tick of the clock in which we looked leaves no trace but the event. */
	return place->is_sure && seen->ctime_ns + TICK_NS >= seen->taken_ns;
}

/* `look` is what there is at `place` now. */
static void compare(struct ews_notify_tree *tree, struct ews_notify_place *place, const struct ews_notify_looked *look)
{
	if (!is_wanted(tree, place, S_ISDIR(look->mode))) {
		size_t noticed = tree->n_noticed;

		vanish(tree, place);
		touch(tree, place);
		if (tree->silent_before_ns) {
			drop(place);
			tree->n_noticed = noticed;
		}
		return;
	}
	if (!place->is || !ews_notify_is_same_thing(&place->seen, look)) {
		vanish(tree, place);
		appear(tree, place, look);
		return;
	}
	if (differs(place, look)) {
		place->changed = true;
		tree->n_noticed++;
		touch(tree, place);
	}
	place->seen = *look;
	place->is_sure = place->is_shifted = false;
	if (ews_notify_is_dir(place) && (tree->is_deep || (place->watch < 0 && !place->polled_at)))
		enter(tree, place);
}

/* A descriptor of the directory at `place`, kept for the next who asks; below zero when it can't be opened. */
static int open_place(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	if (tree->open_place == place)
		return tree->open_fd;
	if (tree->open_fd >= 0)
		close(tree->open_fd);
	ews_notify_place_path(&path, place);
	tree->open_fd = ews_dir_open_beneath(tree->opts.root_fd, path.ptr);
	tree->open_place = tree->open_fd < 0 ? NULL : place;
	return tree->open_fd;
}

/* What is opened under its path now may be another directory soon. */
static void close_place(struct ews_notify_tree *tree)
{
	if (tree->open_fd >= 0)
		close(tree->open_fd);
	tree->open_fd = -1;
	tree->open_place = NULL;
}

/* Look at a place now. */
static void examine(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	struct ews_notify_looked look;
	int dir;

	place->is_dirty = false;
	if (!place->parent->is)
		return;
	dir = open_place(tree, place->parent);
	if (dir >= 0 && ews_notify_look(&look, dir, place->name) == 0) {
		compare(tree, place, &look);
		return;
	}
	/* Where the way there is closed to us, or we have no descriptor left, nothing is known. */
	if (ews_errno_is_absent_or_link(errno) || errno == EXDEV)
		vanish(tree, place);
	ews_error_clear();
}

/* What stands at `from` was renamed and stands at `to` now. Gives false where that has to be found out by looking. */
static bool shift(struct ews_notify_tree *tree, struct ews_notify_place *from, struct ews_notify_place *to)
{
	struct ews_notify_place *origin = from->origin ? from->origin : from->same ? from : NULL;

	close_place(tree);
	vanish(tree, to);
	mark_dirty(tree, from);
	mark_dirty(tree, to);
	/* The places in it are taken by what was in another directory: there it is told, or here. */
	if (ews_notify_is_dir(from) && from->first && (to->first || (!origin && has_past(from))))
		return false;
	/* Those in a place where a file stands are of the directory that stood there before. */
	if (ews_notify_is_dir(from))
		hand_over(from, to);
	if (from->watch >= 0) {
		int watch = from->watch;

		forget_watch(tree, from);
		set_watch(tree, to, watch);
	}
	set_polled(tree, to, from->polled_at > 0);
	set_polled(tree, from, false);
	to->is = true;
	to->is_old = from->is_old = false;
	to->seen = from->seen;
	to->changed = from->changed;
	to->is_sure = from->is_sure || to->is_sure;
	to->is_shifted = true;
	to->is_to_list = ews_notify_is_dir(to);
	from->is = from->same = from->changed = from->is_sure = from->is_to_list = false;
	from->origin = NULL;
	to->same = origin == to;
	to->origin = to->same ? NULL : origin;
	if (origin)
		origin->went_to = to->same ? NULL : to;
	if (ews_notify_is_dir(to))
		tree->filter_round++;
	tree->n_noticed++;
	return true;
}

/*
 * The kernel watches what is at `place` already, as what is at `other`: it was
 * renamed, and we are here before the news. Or it is mounted twice.
 */
static bool is_moved_here(struct ews_notify_tree *tree, const struct ews_notify_place *place,
			  struct ews_notify_place *other)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	struct ews_notify_looked look;

	ews_notify_place_path(&path, other);
	fd = ews_dir_open_beneath(tree->opts.root_fd, path.ptr);
	ews_error_clear();
	return fd < 0 || ews_notify_look(&look, fd, "") < 0 || !ews_notify_is_same_thing(&look, &place->seen);
}

/* Why the kernel can't tell. */
static int not_told(void)
{
	return ews_error(EWS_EUNSUPPORTED,
			 "the kernel is not told of what happens on a file system of this kind, as on a network's");
}

static void poll_instead(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	if (ews_error_code() != EWS_OK && !tree->trouble.message)
		ews_error_save(&tree->trouble);
	ews_error_clear();
	set_polled(tree, place, true);
}

/* Have the kernel tell of the directory `place`, open at `fd`. Gives false when all that it holds came along from elsewhere. */
static bool watch_place(struct ews_notify_tree *tree, struct ews_notify_place *place, int fd)
{
	int watch = tree->fd < 0 ? -1 : ews_notify_is_told(fd) ? ews_notify_add(tree->fd, fd) : not_told();
	struct ews_notify_place *other;

	if (watch < 0) {
		poll_instead(tree, place);
		return true;
	}
	set_polled(tree, place, false);
	other = find_watch(tree, watch);
	if (!other) {
		set_watch(tree, place, watch);
		return true;
	}
	if (other == place)
		return true;
	if (!is_moved_here(tree, place, other)) {
		poll_instead(tree, place);
		return true;
	}
	if (shift(tree, other, place))
		return false;
	vanish(tree, other);
	watch = ews_notify_add(tree->fd, fd);
	if (watch < 0 || find_watch(tree, watch))
		poll_instead(tree, place);
	else
		set_watch(tree, place, watch);
	return true;
}

/* Compare what is in the directory at `place` with what is known of it. */
static void list_place(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	uint64_t round = ++tree->round;
	struct ews_notify_looked look;
	ssize_t n = -1;
	int fd;

	close_place(tree);
	fd = open_place(tree, place);
	if (fd >= 0 && ews_notify_look(&look, fd, "") == 0 && ews_notify_is_same_thing(&look, &place->seen) &&
	    (place->watch >= 0 || watch_place(tree, place, fd)))
		n = ews_dir_names_read(&names, fd);
	for (ssize_t i = 0; i < n; i++) {
		struct ews_notify_place *child;

		if (ews_notify_look(&look, fd, names.items[i].name) < 0)
			continue;
		child = ews_notify_place_take(place, names.items[i].name);
		child->round = round;
		compare(tree, child, &look);
	}
	for (struct ews_notify_place *child = place->first; n >= 0 && child; child = child->next)
		if (child->round != round)
			vanish(tree, child);
	/* It can't be read, or is another by now: then there is an event of it, or the next listing of what holds it tells. */
	ews_error_clear();
}

static void list_queued(struct ews_notify_tree *tree)
{
	while (tree->queue.n) {
		struct ews_notify_place *place = tree->queue.items[--tree->queue.n];

		if (place->is && ews_notify_is_dir(place))
			list_place(tree, place);
	}
	close_place(tree);
}

/* List `place` and all that is below it. */
static void list_deep(struct ews_notify_tree *tree, struct ews_notify_place *place)
{
	tree->is_deep = true;
	ews_notify_places_add(&tree->queue, place);
	list_queued(tree);
	tree->is_deep = false;
}

/* Look at all places of which something was heard, and at what is found on the way. */
static void look_at_dirty(struct ews_notify_tree *tree)
{
	/* A rename that is found puts others in doubt; who renames for ever does not keep us for ever. */
	for (int left = LOOKS_MAX; left && tree->is_dirty; left--) {
		tree->is_dirty = false;
		for (size_t i = 0; i < tree->touched.n; i++) {
			struct ews_notify_place *place = tree->touched.items[i];

			if (place->is_dirty)
				examine(tree, place);
			if (tree->queue.n)
				list_queued(tree);
		}
		close_place(tree);
		for (size_t i = 0; i < tree->touched.n; i++) {
			struct ews_notify_place *place = tree->touched.items[i];

			if (place->is_to_list)
				list_deep(tree, place);
			place->is_to_list = false;
		}
	}
}

static void hear(void *payload, const struct ews_notify_event *event)
{
	struct ews_notify_tree *tree = payload;
	struct ews_notify_place *dir, *place;

	if (event->what & EWS_NOTIFY_OVERFLOW) {
		tree->is_overflown = true;
		tree->n_noticed++;
		return;
	}
	dir = find_watch(tree, event->watch);
	if (!dir)
		return;
	if (event->what & EWS_NOTIFY_ENDED) {
		forget_watch(tree, dir);
		mark_dirty(tree, dir);
		tree->n_noticed++;
		return;
	}
	/* What becomes of a directory itself is heard where it lies. */
	if (!event->name)
		return;
	place = ews_notify_place_take(dir, event->name);
	if (!is_wanted(tree, place, event->is_dir)) {
		touch(tree, place);
		return;
	}
	tree->n_noticed++;
	place->is_sure = place->is_sure || event->what & EWS_NOTIFY_CHANGED;
	mark_dirty(tree, place);
	if (event->what & EWS_NOTIFY_LEFT) {
		tree->left = place;
		tree->left_cookie = event->cookie;
	} else if (event->what & EWS_NOTIFY_ARRIVED && tree->left && tree->left_cookie == event->cookie &&
		   tree->left != place && tree->left->is) {
		(void)shift(tree, ews_steal(&tree->left), place);
	} else if (event->is_dir && event->what & (EWS_NOTIFY_APPEARED | EWS_NOTIFY_ARRIVED)) {
		close_place(tree);
		examine(tree, place);
		list_queued(tree);
	}
}

int ews_notify_tree_read(struct ews_notify_tree *tree)
{
	size_t before = tree->n_noticed;
	int rc;

	if (tree->fd < 0)
		return 0;
	rc = ews_notify_read(tree->fd, hear, tree);
	close_place(tree);
	return rc < 0 ? rc : (int)(tree->n_noticed - before);
}

int ews_notify_tree_poll(struct ews_notify_tree *tree)
{
	size_t before = tree->n_noticed;

	if (tree->root.polled_at && tree->fd < 0) {
		list_deep(tree, &tree->root);
	} else {
		for (size_t i = 0; i < tree->polled.n; i++)
			ews_notify_places_add(&tree->queue, tree->polled.items[i]);
		list_queued(tree);
	}
	return (int)(tree->n_noticed - before);
}

int ews_notify_tree_refilter(struct ews_notify_tree *tree)
{
	size_t before = tree->n_noticed;

	tree->filter_round++;
	tree->silent_before_ns = tree->told_ns - TICK_NS;
	list_deep(tree, &tree->root);
	tree->silent_before_ns = 0;
	return (int)(tree->n_noticed - before);
}

void ews_notify_tree_forgive(struct ews_notify_tree *tree)
{
	for (size_t i = 0; i < tree->touched.n; i++) {
		struct ews_notify_place *place = tree->touched.items[i];
		struct ews_notify_looked look;
		int dir;

		if (!place->is_dirty || !place->is || !S_ISREG(place->seen.mode) || place->seen.mode & S_IRUSR)
			continue;
		dir = open_place(tree, place->parent);
		if (dir < 0 || ews_notify_look(&look, dir, place->name) < 0)
			continue;
		place->seen.ctime_ns = look.ctime_ns;
		place->is_sure = false;
		place->is_dirty = !ews_notify_is_same_thing(&place->seen, &look) || differs(place, &look);
	}
	close_place(tree);
	ews_error_clear();
}

struct doomed {
	size_t depth;
	struct ews_notify_place *place;
};

static int cmp_deepest(const void *a, const void *b)
{
	size_t x = ((const struct doomed *)a)->depth, y = ((const struct doomed *)b)->depth;

	return (x < y) - (x > y);
}

/* All has been told: as it is now it was. Places where nothing is go, those deepest down first. */
static void start_anew(struct ews_notify_tree *tree)
{
	struct doomed *doomed = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < tree->touched.n; i++) {
		struct ews_notify_place *place = tree->touched.items[i];

		place->was = place->same = place->is;
		place->was_dir = ews_notify_is_dir(place);
		place->origin = place->went_to = NULL;
		place->changed = place->is_dirty = place->is_old = place->is_touched = place->is_told = false;
		if (place->is)
			continue;
		EWS_GROW(doomed, n, cap);
		doomed[n++] = (struct doomed){ ews_notify_place_depth(place), place };
	}
	if (n)
		qsort(doomed, n, sizeof(*doomed), cmp_deepest);
	for (size_t i = 0; i < n; i++)
		ews_notify_place_free(doomed[i].place);
	free(doomed);
	tree->touched.n = 0;
	tree->left = NULL;
	tree->is_overflown = false;
}

int ews_notify_tree_settle(struct ews_notify_tree *tree, ews_tree_change_fn fn, void *payload)
{
	int64_t started_ns = ews_notify_now_ns();
	struct ews_notify_looked look;
	bool is_gone;
	int n;

	if (tree->is_overflown)
		list_deep(tree, &tree->root);
	look_at_dirty(tree);
	is_gone = ews_notify_look(&look, tree->opts.root_fd, "") < 0 || !look.n_links;
	for (struct ews_notify_place *child = tree->root.first; is_gone && child; child = child->next)
		vanish(tree, child);
	n = ews_notify_tell(&tree->touched, tree->is_overflown, fn, payload);
	start_anew(tree);
	tree->told_ns = started_ns;
	return is_gone ? ews_error(EWS_ENOTFOUND, "the directory is gone") : n;
}

int ews_notify_tree_open(struct ews_notify_tree **out, const struct ews_notify_tree_opts *opts)
{
	EWS_CLEANUP(notify_tree) struct ews_notify_tree *tree = ews_calloc(1, sizeof(*tree));

	tree->opts = *opts;
	tree->open_fd = -1;
	tree->fd = -1;
	tree->filter_round = 1;
	tree->root.name = "";
	tree->root.watch = -1;
	if (ews_notify_look(&tree->root.seen, opts->root_fd, "") < 0)
		return ews_error_os("cannot look at the directory");
	if (!opts->polls) {
		tree->fd = ews_notify_is_told(opts->root_fd) ? ews_notify_open() : not_told();
		if (tree->fd < 0)
			ews_error_save(&tree->trouble);
		ews_error_clear();
	}
	tree->root.is = tree->root.was = tree->root.same = true;
	tree->silent_before_ns = INT64_MAX;
	list_deep(tree, &tree->root);
	tree->silent_before_ns = 0;
	tree->told_ns = ews_notify_now_ns();
	if (!tree->root.polled_at && tree->root.watch < 0)
		return ews_error(EWS_EDENIED, "the directory may not be read");
	start_anew(tree);
	*out = ews_steal(&tree);
	return 0;
}

static void free_below(struct ews_notify_place *dir)
{
	while (dir->first) {
		free_below(dir->first);
		ews_notify_place_free(dir->first);
	}
}

/* tdestroy() would be GNU's alone. */
static void forget_watches(struct ews_notify_tree *tree)
{
	while (tree->by_watch)
		(void)tdelete(*(struct ews_notify_place **)tree->by_watch, &tree->by_watch, cmp_watch);
}

void ews_notify_tree_free(struct ews_notify_tree *tree)
{
	if (!tree)
		return;
	forget_watches(tree);
	free_below(&tree->root);
	close_place(tree);
	if (tree->fd >= 0)
		close(tree->fd);
	free(tree->touched.items);
	free(tree->polled.items);
	free(tree->queue.items);
	free(tree->trouble.message);
	free(tree->trouble.hint);
	free(tree);
}

int ews_notify_tree_fd(const struct ews_notify_tree *tree)
{
	return tree->fd;
}

size_t ews_notify_tree_n_dirs(const struct ews_notify_tree *tree)
{
	return tree->polled.n + tree->n_watches;
}

size_t ews_notify_tree_n_polled(const struct ews_notify_tree *tree)
{
	return tree->polled.n;
}

void ews_notify_tree_list_polled(struct ews_strv *out, const struct ews_notify_tree *tree)
{
	for (size_t i = 0; i < tree->polled.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		ews_notify_place_path(&path, tree->polled.items[i]);
		ews_strv_add(out, path.len ? path.ptr : ".");
	}
	ews_strv_sort(out);
}

const char *ews_notify_tree_trouble(const struct ews_notify_tree *tree, const char **hint)
{
	*hint = tree->trouble.hint ? tree->trouble.hint : "";
	return tree->trouble.message ? tree->trouble.message : "";
}
