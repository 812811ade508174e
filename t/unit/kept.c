/*
 * Kept: what is remembered of a snapshot comes back, and what is cut or something else is not taken for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/kept.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fixture.h"

TestSuite(kept, .init = fixture_begin_project, .fini = fixture_end_project, .timeout = 60);

static struct ews_kept make_kept(const char *ref, size_t n, const uint8_t *named)
{
	struct ews_kept kept = { .ref = ref, .n = n, .named = named };

	cr_assert_eq(ews_oid_parse(&kept.commit, "0123456789abcdef0123456789abcdef01234567"), 0);
	memset(kept.skips, 1, sizeof(kept.skips));
	memset(kept.rest, 2, sizeof(kept.rest));
	cr_assert_eq(ews_oid_parse(&kept.settled, "89abcdef0123456789abcdef0123456789abcdef"), 0);
	memset(kept.settled_git, 3, sizeof(kept.settled_git));
	return kept;
}

Test(kept, bits_are_set_and_taken_back_one_by_one)
{
	for (size_t n = 1; n < 20; n++) {
		EWS_CLEANUP(free) uint8_t *named = ews_named_new(n);

		for (size_t i = 0; i < n; i++) {
			EWS_CLEANUP(free) uint8_t *copy = NULL;

			cr_assert(!ews_named_has(named, i));
			ews_named_add(named, i);
			copy = ews_named_copy(named, n);
			for (size_t k = 0; k < n; k++)
				cr_assert_eq(ews_named_has(copy, k), k == i);
			ews_named_remove(named, i);
			cr_assert(!ews_named_has(named, i));
		}
	}
}

Test(kept, it_comes_back_as_it_was)
{
	for (size_t n = 0; n < 40; n++) {
		EWS_CLEANUP(free) uint8_t *named = ews_named_new(n + 1);
		EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;
		struct ews_kept kept = make_kept("refs/ews/snapshots/snap", n, n % 3 ? named : NULL), back;

		for (size_t i = 0; i < n; i++)
			if (fixture_pick(2))
				ews_named_add(named, i);
		ews_kept_format(&memo, &kept);
		cr_assert(ews_kept_parse(&back, &memo));
		cr_assert(ews_oid_equal(&back.commit, &kept.commit));
		cr_assert_str_eq(back.ref, kept.ref);
		cr_assert_eq(back.n, n);
		cr_assert_arr_eq(back.skips, kept.skips, sizeof(kept.skips));
		cr_assert_arr_eq(back.rest, kept.rest, sizeof(kept.rest));
		cr_assert(ews_oid_equal(&back.settled, &kept.settled));
		cr_assert_arr_eq(back.settled_git, kept.settled_git, sizeof(kept.settled_git));
		cr_assert_eq(!back.named, !kept.named);
		for (size_t i = 0; i < n && back.named; i++)
			cr_assert_eq(ews_named_has(back.named, i), ews_named_has(named, i));
	}
}

Test(kept, what_is_cut_or_something_else_is_refused)
{
	EWS_CLEANUP(free) uint8_t *named = ews_named_new(100);
	EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;
	const struct ews_kept kept = make_kept("refs/ews/snapshots/snap", 100, named);
	struct ews_kept back;

	ews_kept_format(&memo, &kept);
	for (size_t len = 0; len < memo.len; len++) {
		/* As large as it is said to be, so that what is read behind it is noticed. */
		EWS_CLEANUP(free) char *part = ews_memdup(memo.ptr, len);
		const struct ews_buf cut = { .ptr = part, .len = len };

		cr_assert(!ews_kept_parse(&back, &cut), "%zu bytes", len);
	}
	memo.ptr[0] ^= 1;
	cr_assert(!ews_kept_parse(&back, &memo));
	memo.ptr[0] ^= 1;
	ews_buf_addc(&memo, '\0');
	cr_assert(!ews_kept_parse(&back, &memo), "something behind the ref");
}

Test(kept, it_is_held_while_the_ref_stands_for_that_commit)
{
	EWS_CLEANUP(buf) struct ews_buf head = EWS_BUF_INIT;
	struct ews_kept kept = make_kept("refs/ews/snapshots/snap", 0, NULL);

	fixture_ask(&head, "git -C p rev-parse HEAD");
	ews_buf_rtrim(&head);
	cr_assert_eq(ews_oid_parse(&kept.commit, head.ptr), 0);
	cr_assert(!ews_kept_is_held(&kept, fixture_repo->odb));
	fixture_shell("git -C p update-ref refs/ews/snapshots/snap HEAD");
	cr_assert(ews_kept_is_held(&kept, fixture_repo->odb));
	fixture_shell("git -C p commit -q --allow-empty -m more && git -C p update-ref refs/ews/snapshots/snap HEAD");
	cr_assert(!ews_kept_is_held(&kept, fixture_repo->odb));
}
