/*
 * Hard links: what is planned, carried out on a model of inodes, gives the wanted names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/hardlink.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "fixture.h"

#define PATHS 7
#define ELSEWHERE_FROM 100 /* inodes from here on have a name that no list has */

TestSuite(hardlink, .init = fixture_begin, .fini = fixture_end);

/* A directory: for each of the paths "a", "b", ... its inode, 0 for none; and what each inode holds. */
struct model {
	unsigned inode[PATHS];
	unsigned char content[256];
};

static void make_random(struct model *model)
{
	for (size_t i = 0; i < 256; i++)
		model->content[i] = (unsigned char)fixture_pick(2);
	for (size_t i = 0; i < PATHS; i++) {
		bool is_elsewhere = fixture_pick(8) == 0;

		model->inode[i] = fixture_pick(5) ? 1 + (unsigned)fixture_pick(4) : 0;
		if (model->inode[i] && is_elsewhere)
			model->inode[i] += ELSEWHERE_FROM;
	}
}

static size_t count_names(const struct model *model, unsigned inode)
{
	size_t n = 0;

	for (size_t i = 0; i < PATHS; i++)
		n += model->inode[i] == inode;
	return n;
}

static void list(struct ews_entries *out, const struct model *model)
{
	for (size_t i = 0; i < PATHS; i++) {
		unsigned inode = model->inode[i];
		struct ews_entry *entry;
		char path[2] = { (char)('a' + i), '\0' };

		if (!inode)
			continue;
		entry = ews_entries_add(out, path, 1);
		entry->type = EWS_ENTRY_FILE;
		entry->mode = 0644;
		entry->oid = (struct ews_oid){ 20, { model->content[inode] } };
		entry->ino = inode;
		entry->has_stat = true;
		entry->n_links = (uint32_t)count_names(model, inode) + (inode >= ELSEWHERE_FROM);
	}
	ews_hardlinks_find(out);
}

/* Like put: what is named as one file becomes that, all else a new inode. */
static void carry_out(struct model *model, const struct ews_changes *changes, unsigned next)
{
	for (size_t i = 0; i < changes->n; i++)
		if (!changes->items[i].to)
			model->inode[changes->items[i].path[0] - 'a'] = 0;
	for (size_t turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < changes->n; i++) {
			const struct ews_change *change = &changes->items[i];
			unsigned *inode = &model->inode[change->path[0] - 'a'];

			if (!change->to || (change->one_file != NULL) != (turn == 1))
				continue;
			if (change->one_file) {
				*inode = model->inode[change->one_file->path[0] - 'a'];
				continue;
			}
			*inode = next;
			model->content[next++] = change->to->oid.id[0];
		}
}

static enum ews_hardlink_fate fate_of(void *payload, const char *path)
{
	return strchr(payload, path[0]) ? EWS_HARDLINK_STAYS : EWS_HARDLINK_FREE;
}

static void drop_fixed(struct ews_changes *changes, const char *fixed)
{
	size_t kept = 0;

	for (size_t i = 0; i < changes->n; i++)
		if (!strchr(fixed, changes->items[i].path[0]))
			changes->items[kept++] = changes->items[i];
	changes->n = kept;
}

static void describe(const char *what, const struct model *model)
{
	fprintf(stderr, "%s:", what);
	for (size_t i = 0; i < PATHS; i++)
		fprintf(stderr, " %c=%u(%u)", (char)('a' + i), model->inode[i], model->content[model->inode[i]]);
	fprintf(stderr, "\n");
}

/* Does something else that stays stay one file with `k`, or another, though it should not? */
static bool has_rival(const struct model *is, const struct model *should, const char *fixed, size_t k)
{
	for (const char *c = fixed; *c; c++) {
		size_t m = (size_t)(*c - 'a');

		if (m != k && is->inode[m] &&
		    (should->inode[m] && should->inode[m] == should->inode[k]) != (is->inode[m] == is->inode[k]))
			return true;
	}
	return false;
}

/* Is the file at `i` one with that at `k` exactly when it should be, where at least one of them could be written? */
static bool is_right_pair(const struct model *is, const struct model *should, const char *fixed, size_t i, size_t k)
{
	bool i_fixed = strchr(fixed, (char)('a' + i)), k_fixed = strchr(fixed, (char)('a' + k));
	bool wanted = should->inode[i] && should->inode[i] == should->inode[k];

	if ((i_fixed && k_fixed) || !is->inode[i] || !is->inode[k])
		return true;
	/* What stays with another content can't be one with what is written. */
	if (wanted && is->content[is->inode[i]] != is->content[is->inode[k]])
		return true;
	/* Nor can what stays elsewhere. */
	if (wanted && ((i_fixed && is->inode[i] >= ELSEWHERE_FROM && should->inode[i] < ELSEWHERE_FROM) ||
		       (k_fixed && is->inode[k] >= ELSEWHERE_FROM && should->inode[k] < ELSEWHERE_FROM)))
		return true;
	if (wanted && ((i_fixed && has_rival(is, should, fixed, i)) || (k_fixed && has_rival(is, should, fixed, k))))
		return true;
	return (is->inode[i] == is->inode[k]) == wanted;
}

static void check(const struct model *before, const struct model *is, const struct model *should, const char *fixed)
{
	for (size_t i = 0; i < PATHS; i++) {
		bool is_fixed = strchr(fixed, (char)('a' + i));
		bool is_well = is_fixed ? is->inode[i] == before->inode[i]
					: !is->inode[i] == !should->inode[i] &&
						  is->content[is->inode[i]] == should->content[should->inode[i]];

		/* A file of its own has no name elsewhere, but when it had one then. */
		if (!is_fixed && is->inode[i] >= ELSEWHERE_FROM && is->inode[i] < 2 * ELSEWHERE_FROM)
			is_well = is_well && should->inode[i] >= ELSEWHERE_FROM;
		for (size_t k = 0; k < PATHS && is_well; k++)
			is_well = k == i || is_right_pair(is, should, fixed, i, k);
		if (is_well)
			continue;
		describe("before", before);
		describe("is", is);
		describe("should", should);
		cr_assert_fail("EWS_SEED=%zu: '%c', fixed '%s'", fixture_seed(), (char)('a' + i), fixed);
	}
}

Test(hardlink, what_is_planned_gives_the_wanted_names)
{
	for (size_t round = 0; round < fixture_rounds(5000); round++) {
		EWS_CLEANUP(entries) struct ews_entries now = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries want = EWS_ENTRIES_INIT;
		EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
		struct model before, model, should;
		char fixed[3] = "";
		struct ews_hardlink_opts opts = { .now = &now,
						  .want = &want,
						  .equal = ews_entry_equal,
						  .part_elsewhere = true,
						  .fate = fate_of,
						  .payload = fixed };

		make_random(&before);
		make_random(&should);
		before.content[0] = should.content[0] = 0;
		if (fixture_pick(3) == 0)
			snprintf(fixed, sizeof(fixed), "%c%c", (char)('a' + fixture_pick(PATHS)),
				 (char)('a' + fixture_pick(PATHS)));
		model = before;
		list(&now, &before);
		list(&want, &should);
		ews_changes_between(&changes, &now, &want, ews_entry_equal);
		drop_fixed(&changes, fixed);
		ews_hardlinks_plan(&changes, &opts);
		carry_out(&model, &changes, 2 * ELSEWHERE_FROM);
		check(&before, &model, &should, fixed);
	}
}

Test(hardlink, what_is_right_is_left_alone)
{
	for (size_t round = 0; round < fixture_rounds(1000); round++) {
		EWS_CLEANUP(entries) struct ews_entries now = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries want = EWS_ENTRIES_INIT;
		EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
		const struct ews_hardlink_opts opts = {
			.now = &now, .want = &want, .equal = ews_entry_equal, .part_elsewhere = true
		};
		struct model model;

		make_random(&model);
		list(&now, &model);
		list(&want, &model);
		for (size_t i = 0; i < now.n; i++)
			now.items[i].ino += 7;
		ews_hardlinks_plan(&changes, &opts);
		cr_assert_eq(changes.n, 0, "EWS_SEED=%zu", fixture_seed());
		cr_assert(ews_hardlinks_equal(&now, &want));
	}
}

/* The names that a model tells of, restricted to paths on both sides, and how they differ. */
struct told {
	const struct model *from, *to;
	bool is_named[PATHS];
};

static void take(void *payload, const char *path, const char *joined, const char *parted)
{
	struct told *told = payload;
	size_t i = (size_t)(path[0] - 'a');

	told->is_named[i] = true;
	cr_assert(joined || parted);
	if (joined)
		cr_assert_eq(told->to->inode[i], told->to->inode[joined[0] - 'a']);
	if (parted) {
		cr_assert_eq(told->from->inode[i], told->from->inode[parted[0] - 'a']);
		cr_assert_neq(told->to->inode[i], told->to->inode[parted[0] - 'a']);
	}
}

Test(hardlink, a_pair_that_comes_or_goes_is_told_with_one_of_its_names)
{
	for (size_t round = 0; round < fixture_rounds(5000); round++) {
		EWS_CLEANUP(entries) struct ews_entries a = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries b = EWS_ENTRIES_INIT;
		struct model from, to;
		struct told told = { &from, &to, { false } };

		make_random(&from);
		make_random(&to);
		list(&a, &from);
		list(&b, &to);
		ews_hardlinks_compare(&a, &b, take, &told);
		for (size_t i = 0; i < PATHS; i++) {
			bool differs = false;

			for (size_t k = 0; k < PATHS; k++) {
				bool was = from.inode[i] && from.inode[i] == from.inode[k];
				bool is = to.inode[i] && to.inode[i] == to.inode[k];

				if (k == i || !to.inode[i] || !to.inode[k])
					continue;
				if (was == is)
					continue;
				differs = true;
				cr_assert(told.is_named[i] || told.is_named[k], "EWS_SEED=%zu: %c and %c",
					  fixture_seed(), (char)('a' + i), (char)('a' + k));
			}
			cr_assert(differs || !told.is_named[i], "EWS_SEED=%zu: %c", fixture_seed(), (char)('a' + i));
		}
	}
}

Test(hardlink, names_seen_in_two_states_are_not_one_file)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;

	for (const char *name = "abc"; *name; name++) {
		struct ews_entry *entry = ews_entries_add(&list, name, 1);

		entry->type = EWS_ENTRY_FILE;
		entry->n_links = 3;
		entry->ino = 5;
		entry->size = *name == 'b';
	}
	ews_hardlinks_find(&list);
	cr_assert(list.knows_names);
	cr_assert_null(list.items[0].first_name);
	cr_assert_null(list.items[1].first_name);
	cr_assert_str_eq(list.items[2].first_name, "a");
	cr_assert(list.items[0].is_elsewhere && list.items[1].is_elsewhere && list.items[2].is_elsewhere);
}
