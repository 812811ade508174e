/*
 * Packs of many objects: where each stands is found for all at once, and what is read there, in whatever order, is what its id
 * says, though what it is a delta of was kept from one to the next.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/packs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"
#include "store/pack_read.h"

#define OBJECTS "r/.git/objects"
#define LARGE_BYTES (2 * EWS_MIB)

/* Thousands of small files, many states of one text, and some of large ones: all of these are deltas of each other. */
static void begin(void)
{
	fixture_begin();
	fixture_shell(
		"git init -q r && cd r && git config user.name A && git config user.email a@b &&"
		"awk 'BEGIN {"
		"  for (i = 1; i <= 4500; i++) { text = \"file \" i \"\\n\";"
		"    printf \"blob\\nmark :%%d\\ndata %%d\\n%%s\\n\", i, length(text), text }"
		"  print \"commit refs/heads/main\\ncommitter A <a@b> 1700000000 +0000\\ndata 0\";"
		"  for (i = 1; i <= 4500; i++) print \"M 100644 :\" i \" d\" i %% 50 \"/\" i; print \"\" }' |"
		"git fast-import --quiet && git reset -q --hard main &&"
		"i=0 && while test $i -lt 12; do i=$((i + 1)); { seq 400; echo $i; seq 500 $((900 + i)); } >text;"
		"{ seq $((400000 + i)); seq $i; } >large-$((i %% 3)); git add . && git commit -qm $i || exit 1; done &&"
		"git repack -adfq --depth=40 --window=20");
}

TestSuite(packs, .init = begin, .fini = fixture_end, .timeout = 120);

/* All objects of the repository, and where they stand. */
struct all {
	struct ews_oid *oids;
	struct ews_pack_place *places;
	size_t n;
};

static void list_all(struct all *out, struct ews_packs *packs)
{
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	EWS_CLEANUP(free) const struct ews_oid **of = NULL;
	char *rest, *line;
	size_t cap = 0;

	fixture_ask(&list, "git -C r cat-file --batch-all-objects --unordered --batch-check='%%(objectname)'");
	ews_buf_rtrim(&list);
	rest = list.ptr;
	*out = (struct all){ .n = 0 };
	while ((line = strsep(&rest, "\n"))) {
		EWS_GROW(out->oids, out->n, cap);
		cr_assert_eq(ews_oid_parse(&out->oids[out->n++], line), 0);
	}
	of = ews_calloc(out->n, sizeof(*of));
	out->places = ews_calloc(out->n, sizeof(*out->places));
	for (size_t i = 0; i < out->n; i++)
		of[i] = &out->oids[i];
	ews_packs_find_places(out->places, packs, of, out->n);
}

static void release_all(struct all *all)
{
	free(all->oids);
	free(all->places);
}
EWS_CLEANUP_DEFINE(all, struct all, release_all)

/* What comes in steps. */
struct passed {
	struct ews_buf bytes;
	enum ews_object_type type;
};

static int begin_passing(void *payload, enum ews_object_type type, uint64_t size)
{
	struct passed *passed = payload;

	cr_assert_geq(size, LARGE_BYTES);
	ews_buf_truncate(&passed->bytes, 0);
	passed->type = type;
	return 0;
}

static int pass(void *payload, const void *data, size_t len)
{
	struct passed *passed = payload;

	ews_buf_add(&passed->bytes, data, len);
	return 0;
}

/* Read object `i` where it stands; what is large comes in steps if the caller wants it so. */
static void check_read(const struct all *all, size_t i, struct ews_packs *packs, struct ews_pack_reader *reader,
		       bool in_steps)
{
	struct passed passed = { .bytes = EWS_BUF_INIT };
	const struct ews_pack_sink sink = { begin_passing, pass, &passed };
	const struct ews_buf *out;
	enum ews_object_type type;
	struct ews_oid real;
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_pack_reader_read_at(&out, &type, reader, packs, &all->places[i], in_steps ? &sink : NULL, NULL);

	cr_assert_gt(rc, 0, "%s", ews_oid_hex(hex, &all->oids[i]));
	if (rc == 2) {
		out = &passed.bytes;
		type = passed.type;
	}
	ews_oid_hash(&real, EWS_SHA1, type, out->ptr, out->len);
	cr_assert(ews_oid_equal(&real, &all->oids[i]), "%s", ews_oid_hex(hex, &all->oids[i]));
	ews_buf_release(&passed.bytes);
	ews_pack_reader_done(reader);
}

Test(packs, places_are_found_of_all_that_is_there_and_of_nothing_else)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	EWS_CLEANUP(all) struct all all;
	struct ews_oid none = { .len = EWS_PACKED_ID_LEN }, other = { .len = 32 };
	const struct ews_oid *const of[] = { &none, &other };
	struct ews_pack_place places[2] = { { 5, 5 }, { 5, 5 } };

	list_all(&all, packs);
	cr_assert_gt(all.n, 4500);
	for (size_t i = 0; i < all.n; i++)
		cr_assert_eq(all.places[i].pack, 1);
	ews_packs_find_places(places, packs, of, 2);
	for (size_t i = 0; i < 2; i++)
		cr_assert(!places[i].pack && !places[i].offset);
	ews_packs_free(packs);
}

Test(packs, of_few_objects_no_places_are_looked_for)
{
	struct ews_packs *packs;
	EWS_CLEANUP(all) struct all all;

	fixture_shell("cd r && git rev-parse HEAD^{tree} | git pack-objects -q ../few >/dev/null &&"
		      "rm -rf .git/objects/pack && mkdir .git/objects/pack && mv ../few-* .git/objects/pack");
	packs = ews_packs_open(OBJECTS);
	list_all(&all, packs);
	cr_assert_eq(all.n, 1);
	cr_assert_eq(all.places[0].pack, 0);
	ews_packs_free(packs);
}

static int cmp_place(const void *a, const void *b)
{
	const struct ews_pack_place *one = a, *other = b;

	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

Test(packs, in_any_order_it_is_what_its_id_says)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	struct ews_pack_reader *readers[2] = { ews_pack_reader_new(), ews_pack_reader_new() };
	EWS_CLEANUP(free) struct ews_pack_place *sorted = NULL;
	EWS_CLEANUP(all) struct all all;
	unsigned short seed[3] = { 3, 1, 4 };

	list_all(&all, packs);
	/* As they stand. */
	sorted = ews_calloc(all.n, sizeof(*sorted));
	memcpy(sorted, all.places, all.n * sizeof(*sorted));
	qsort(sorted, all.n, sizeof(*sorted), cmp_place);
	for (size_t k = 0; k < all.n; k++) {
		size_t i = 0;

		while (all.places[i].offset != sorted[k].offset)
			i++;
		check_read(&all, i, packs, readers[0], true);
	}
	/* And as it comes, by two who take turns. */
	for (size_t k = 0; k < all.n / 2; k++)
		check_read(&all, (size_t)nrand48(seed) % all.n, packs, readers[nrand48(seed) & 1], nrand48(seed) & 1);
	ews_pack_reader_free(readers[0]);
	ews_pack_reader_free(readers[1]);
	ews_packs_free(packs);
}

Test(packs, what_is_not_known_is_not_there)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	struct ews_pack_reader *reader = ews_pack_reader_new();
	const struct ews_pack_place places[] = { { 0, 0 }, { 12, 2 }, { 12, 4000000000U } };
	const struct ews_buf *out;
	enum ews_object_type type;

	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(ews_pack_reader_read_at(&out, &type, reader, packs, &places[i], NULL, NULL), 0);
	ews_pack_reader_free(reader);
	ews_packs_free(packs);
}
