/*
 * Hard links: see hardlink.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/hardlink.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

#define NO_UNIT SIZE_MAX

static int cmp_inode(const struct ews_entry *a, const struct ews_entry *b)
{
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

/* By inode, and there in the order of the list, which is that of the addresses. */
static int cmp_linked(const void *a, const void *b)
{
	const struct ews_entry *x = *(const struct ews_entry *const *)a, *y = *(const struct ews_entry *const *)b;
	int order = cmp_inode(x, y);

	return order ? order : x < y ? -1 : x > y;
}

/* Were two names of an inode seen in the same state? Else it was written to between the two looks. */
static bool is_same_state(const struct ews_entry *a, const struct ews_entry *b)
{
	return a->size == b->size && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns && ews_entry_equal(a, b);
}

/* Those of `n` names of one inode that were seen in the state of the first are one file. */
static void join_names(struct ews_entry *const *names, size_t n)
{
	size_t same = 0;

	for (size_t i = 0; i < n; i++)
		same += is_same_state(names[0], names[i]);
	for (size_t i = 0; i < n; i++) {
		bool is_same = is_same_state(names[0], names[i]);

		names[i]->is_elsewhere = !is_same || names[i]->n_links > same;
		if (i && is_same)
			names[i]->first_name = names[0]->path;
	}
}

void ews_hardlinks_find(struct ews_entries *list)
{
	EWS_CLEANUP(free) struct ews_entry **linked = NULL;
	size_t n = 0, cap = 0;

	list->knows_names = true;
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = &list->items[i];

		entry->first_name = NULL;
		entry->is_elsewhere = false;
		if (!ews_entry_has_names(entry))
			continue;
		EWS_GROW(linked, n, cap);
		linked[n++] = entry;
	}
	if (n)
		qsort(linked, n, sizeof(*linked), cmp_linked);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !cmp_inode(linked[i], linked[end]); end++)
			;
		join_names(linked + i, end - i);
	}
}

/* Of each path of a list: where the first name of its file is. */
struct units {
	const struct ews_entries *list;
	size_t *of; /* beside the list's items */
	size_t *size; /* by the first name: how many there are */
};

static void find_units(struct units *out, const struct ews_entries *list)
{
	out->list = list;
	out->of = ews_calloc(list->n + 1, sizeof(*out->of));
	out->size = ews_calloc(list->n + 1, sizeof(*out->size));
	for (size_t i = 0; i < list->n; i++) {
		const char *name = list->items[i].first_name;
		const struct ews_entry *first = name ? ews_entries_find(list, name) : NULL;

		out->of[i] = first && first->type == EWS_ENTRY_FILE ? (size_t)(first - list->items) : i;
		out->size[out->of[i]]++;
	}
}

static void release_units(struct units *units)
{
	free(units->of);
	free(units->size);
}

EWS_CLEANUP_DEFINE(units, struct units, release_units)

/* The file at `path` in the list, as its number; NO_UNIT: none. */
static size_t find_file(const struct ews_entries *list, const char *path)
{
	const struct ews_entry *entry = ews_entries_find(list, path);

	return entry && entry->type == EWS_ENTRY_FILE ? (size_t)(entry - list->items) : NO_UNIT;
}

/* Is the file of `entry`, which was scanned, still what it was, and what it was one with elsewhere? */
static bool is_still(const struct ews_entry *entry, const struct ews_entry *was)
{
	return was && was->type == EWS_ENTRY_FILE && entry->is_elsewhere && ews_entry_equal_with_time(entry, was);
}

void ews_hardlinks_take_over(struct ews_entries *list, const struct ews_entries *old, const char *const *only)
{
	EWS_CLEANUP(units) struct units units = { NULL, NULL, NULL };
	EWS_CLEANUP(free) const char **firsts = ews_calloc(old->n + 1, sizeof(*firsts));
	EWS_CLEANUP(free) const struct ews_entry **scanned = ews_calloc(old->n + 1, sizeof(*scanned));

	find_units(&units, old);
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = &list->items[i];
		bool is_scanned = ews_path_is_inside_any(entry->path, only);
		/* Names that were scanned as one file go together. */
		const char *name = is_scanned && entry->first_name ? entry->first_name : entry->path;
		const struct ews_entry *was = ews_entries_find(old, name);
		size_t unit;

		if (!was || entry->type != EWS_ENTRY_FILE || (is_scanned && !is_still(entry, was)))
			continue;
		unit = units.of[was - old->items];
		/* Two that were one, and are not now: one of them at most still is what it was. */
		if (is_scanned && scanned[unit] && cmp_inode(scanned[unit], entry) != 0)
			continue;
		if (is_scanned)
			scanned[unit] = entry;
		entry->first_name = firsts[unit];
		entry->is_elsewhere = was->is_elsewhere;
		if (!firsts[unit])
			firsts[unit] = entry->path;
	}
	list->knows_names = old->knows_names;
}

/* A name that is there, and of whose file nothing but its names may be wrong. */
struct name {
	const struct ews_entry *now;
	const struct ews_entry *want; /* NULL: nothing is wanted there, or something else */
	size_t unit; /* which of the wanted files it is; NO_UNIT: none */
	enum ews_hardlink_fate fate;
	size_t run; /* the number of its inode */
};

/* All names of an inode. */
struct run {
	struct name *names;
	size_t n;
	size_t owner; /* the wanted file that it may be; NO_UNIT: none */
	bool has_fixed; /* a name of it stays, so that the others go where it is wrong */
};

struct plan {
	const struct ews_hardlink_opts *opts;
	struct units units;
	struct name *names;
	size_t n, cap;
	struct run *runs;
	size_t n_runs, cap_runs;
	size_t *chosen; /* of a wanted file the inode that it is, counted from 1; 0: none yet */
};

static void release_plan(struct plan *plan)
{
	release_units(&plan->units);
	free(plan->names);
	free(plan->runs);
	free(plan->chosen);
}

EWS_CLEANUP_DEFINE(plan, struct plan, release_plan)

static enum ews_hardlink_fate fate_of(const struct ews_hardlink_opts *opts, const char *path)
{
	return opts->fate ? opts->fate(opts->payload, path) : EWS_HARDLINK_FREE;
}

/* What is written or removed anyway has no say in what becomes of its inode; all else does. */
static void collect_names(struct plan *plan, const struct ews_changes *changes)
{
	const struct ews_hardlink_opts *opts = plan->opts;

	for (size_t i = 0; i < opts->now->n; i++) {
		const struct ews_entry *now = &opts->now->items[i];
		size_t at = now->type == EWS_ENTRY_FILE ? find_file(opts->want, now->path) : NO_UNIT;
		bool is_plain = at == NO_UNIT || plan->units.size[plan->units.of[at]] < 2;
		struct name name = { .now = now, .unit = NO_UNIT };
		bool is_changed;

		if (now->type != EWS_ENTRY_FILE || (now->n_links < 2 && is_plain))
			continue;
		name.fate = fate_of(opts, now->path);
		if (name.fate == EWS_HARDLINK_UNSEEN)
			continue;
		is_changed = name.fate == EWS_HARDLINK_FREE && ews_changes_find(changes, now->path);
		if (is_changed && !opts->keeps_replaced)
			continue;
		if (is_changed)
			name.fate = EWS_HARDLINK_LEAVES;
		if (at != NO_UNIT && opts->equal(now, &opts->want->items[at])) {
			name.want = &opts->want->items[at];
			name.unit = plan->units.of[at];
		} else if (name.fate == EWS_HARDLINK_FREE) {
			name.fate = EWS_HARDLINK_STAYS;
		}
		EWS_GROW(plan->names, plan->n, plan->cap);
		plan->names[plan->n++] = name;
	}
}

static int cmp_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return cmp_linked(&x->now, &y->now);
}

/* Whose inode may it be? What leaves takes it along; what stays keeps it, in agreement; else the first name does. */
static void choose_owner(struct run *run, bool part_elsewhere)
{
	size_t owner = run->names[0].unit;

	for (size_t i = run->n; i-- > 0;) {
		if (run->names[i].fate == EWS_HARDLINK_FREE)
			continue;
		owner = run->names[i].unit;
		run->has_fixed = true;
	}
	run->owner = owner;
	for (size_t i = 0; i < run->n; i++) {
		const struct name *name = &run->names[i];

		if (name->fate == EWS_HARDLINK_LEAVES || (name->fate == EWS_HARDLINK_STAYS && name->unit != owner) ||
		    (part_elsewhere && name->now->is_elsewhere && name->unit == owner && name->want &&
		     !name->want->is_elsewhere))
			run->owner = NO_UNIT;
	}
}

/* Of several inodes that a wanted file may be: one that stays anyway, else the one that has most of the names. */
static bool is_better(const struct run *a, const struct run *b)
{
	if (a->has_fixed != b->has_fixed)
		return a->has_fixed;
	return a->n != b->n ? a->n > b->n : a->names[0].now < b->names[0].now;
}

static void choose_runs(struct plan *plan)
{
	if (plan->n)
		qsort(plan->names, plan->n, sizeof(*plan->names), cmp_name);
	for (size_t i = 0, end; i < plan->n; i = end) {
		struct run run = { .names = &plan->names[i] };

		for (end = i; end < plan->n && !cmp_inode(plan->names[i].now, plan->names[end].now); end++)
			plan->names[end].run = plan->n_runs;
		run.n = end - i;
		choose_owner(&run, plan->opts->part_elsewhere);
		EWS_GROW(plan->runs, plan->n_runs, plan->cap_runs);
		plan->runs[plan->n_runs++] = run;
	}
	for (size_t i = 0; i < plan->n_runs; i++) {
		size_t owner = plan->runs[i].owner;

		if (owner != NO_UNIT &&
		    (!plan->chosen[owner] || is_better(&plan->runs[i], &plan->runs[plan->chosen[owner] - 1])))
			plan->chosen[owner] = i + 1;
	}
}

static bool is_right(const struct plan *plan, const struct name *name)
{
	return name->unit != NO_UNIT && plan->chosen[name->unit] == name->run + 1;
}

/* A name that is the wanted file already, and stays. */
static const struct ews_entry *find_anchor(const struct plan *plan, size_t unit)
{
	const struct run *run = plan->chosen[unit] ? &plan->runs[plan->chosen[unit] - 1] : NULL;

	for (size_t i = 0; run && i < run->n; i++)
		if (is_right(plan, &run->names[i]))
			return run->names[i].now;
	return NULL;
}

/* What is to be the same file as others joins the one that is there, or the first of them that is made. */
static void join_changes(struct plan *plan, struct ews_changes *changes)
{
	const struct ews_entries *want = plan->opts->want;
	EWS_CLEANUP(free) const struct ews_entry **made = ews_calloc(want->n + 1, sizeof(*made));

	for (size_t i = 0; i < changes->n; i++) {
		struct ews_change *change = &changes->items[i];
		size_t unit;

		if (!change->to || change->to->type != EWS_ENTRY_FILE)
			continue;
		assert(change->to >= want->items && change->to < want->items + want->n);
		unit = plan->units.of[change->to - want->items];
		if (plan->units.size[unit] < 2)
			continue;
		if (!made[unit])
			made[unit] = find_anchor(plan, unit);
		change->one_file = made[unit];
		if (!made[unit])
			made[unit] = change->to;
	}
}

static bool has_linked(const struct ews_entries *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].first_name || list->items[i].n_links > 1)
			return true;
	return false;
}

void ews_hardlinks_plan(struct ews_changes *changes, const struct ews_hardlink_opts *opts)
{
	EWS_CLEANUP(plan) struct plan plan = { .opts = opts };

	if (!opts->want->knows_names || (!has_linked(opts->want) && !has_linked(opts->now)))
		return;
	find_units(&plan.units, opts->want);
	plan.chosen = ews_calloc(opts->want->n + 1, sizeof(*plan.chosen));
	collect_names(&plan, changes);
	choose_runs(&plan);
	for (size_t i = 0; i < plan.n; i++) {
		const struct name *name = &plan.names[i];

		if (name->fate != EWS_HARDLINK_FREE || !name->want || is_right(&plan, name))
			continue;
		EWS_GROW(changes->items, changes->n, changes->cap);
		changes->items[changes->n++] = (struct ews_change){ name->now->path, name->now, name->want, NULL };
	}
	ews_changes_sort(changes);
	join_changes(&plan, changes);
}

/* Of each file of `units` the first name that `other` has a file at, too; else its first name. */
static const char **find_shared(const struct units *units, const struct ews_entries *other)
{
	const char **shared = ews_calloc(units->list->n + 1, sizeof(*shared));

	for (size_t i = 0; i < units->list->n; i++) {
		size_t unit = units->of[i];

		if (!shared[unit] && find_file(other, units->list->items[i].path) != NO_UNIT)
			shared[unit] = units->list->items[i].path;
	}
	for (size_t i = 0; i < units->list->n; i++)
		if (!shared[i])
			shared[i] = units->list->items[i].path;
	return shared;
}

void ews_hardlinks_compare(const struct ews_entries *from, const struct ews_entries *to, ews_hardlink_fn fn,
			   void *payload)
{
	EWS_CLEANUP(units) struct units before = { NULL, NULL, NULL };
	EWS_CLEANUP(units) struct units after = { NULL, NULL, NULL };
	EWS_CLEANUP(free) const char **was = NULL;
	EWS_CLEANUP(free) const char **is = NULL;

	if (!from->knows_names || !to->knows_names || (!has_linked(from) && !has_linked(to)))
		return;
	find_units(&before, from);
	find_units(&after, to);
	was = find_shared(&before, to);
	is = find_shared(&after, from);
	for (size_t i = 0; i < to->n; i++) {
		const char *path = to->items[i].path, *joined = is[after.of[i]], *parted;
		size_t at = find_file(from, path), still;

		if (to->items[i].type != EWS_ENTRY_FILE)
			continue;
		parted = at == NO_UNIT ? path : was[before.of[at]];
		if (!strcmp(joined, parted))
			continue;
		still = find_file(to, parted);
		fn(payload, path, strcmp(joined, path) != 0 ? joined : NULL,
		   still == NO_UNIT || after.of[still] != after.of[i] ? parted : NULL);
	}
}

static void note_difference(void *payload, const char *path, const char *joined, const char *parted)
{
	(void)path;
	(void)joined;
	(void)parted;
	*(bool *)payload = true;
}

bool ews_hardlinks_equal(const struct ews_entries *a, const struct ews_entries *b)
{
	bool differs = false;

	ews_hardlinks_compare(a, b, note_difference, &differs);
	return !differs;
}
