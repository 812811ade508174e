/*
 * Manifests: nothing is lost on the way to text and back, no two trees have one hash, and damage is named.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/manifest.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

TestSuite(manifest, .init = fixture_begin, .fini = fixture_end);

/* Any byte but NUL and '/', now and then one that means something to a manifest. */
static char random_byte(void)
{
	static const char special[] = " ,=\\\n\t-\r0a";
	char c = (char)fixture_pick(256);

	if (!c || c == '/' || !fixture_pick(2))
		return special[fixture_pick(sizeof(special) - 1)];
	return c;
}

static void random_path(struct ews_buf *out)
{
	ews_buf_truncate(out, 0);
	for (size_t n = 1 + fixture_pick(3); n; n--) {
		if (out->len)
			ews_buf_addc(out, '/');
		ews_buf_addc(out, 'x');
		for (size_t k = fixture_pick(5); k; k--)
			ews_buf_addc(out, random_byte());
	}
}

/* The form that store/xattr gives: names in order, each once. */
static void random_attrs(struct ews_buf *out)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

	for (size_t n = 1 + fixture_pick(3); n; n--) {
		EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;

		ews_buf_adds(&name, "user.");
		for (size_t k = 1 + fixture_pick(4); k; k--)
			ews_buf_addc(&name, random_byte());
		ews_strv_add(&names, name.ptr);
	}
	ews_strv_unique(&names);
	for (size_t i = 0; i < names.n; i++) {
		ews_path_escape(out, names.items[i], strlen(names.items[i]));
		ews_buf_adds(out, fixture_pick(2) ? "=\n" : "=2c20\n");
	}
}

static void add_random(struct ews_entries *list)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf attrs = EWS_BUF_INIT;
	struct ews_entry *entry;

	random_path(&path);
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].path, path.ptr))
			return;
	entry = ews_entries_add(list, path.ptr, path.len);
	entry->type = (uint8_t)(EWS_ENTRY_FILE + fixture_pick(5));
	entry->mode = (uint16_t)fixture_pick(010000);
	entry->has_time = fixture_pick(5) > 0;
	if (entry->has_time) {
		entry->mtime_s = (int64_t)fixture_pick(4) * 1700000000 - 1700000000;
		entry->mtime_ns = (uint32_t)fixture_pick(1000000000);
	}
	entry->size = (uint64_t)fixture_pick(100) << fixture_pick(50);
	if (entry->type != EWS_ENTRY_DIR && entry->type != EWS_ENTRY_FIFO)
		entry->oid = (struct ews_oid){ fixture_pick(2) ? 20 : 32, { (uint8_t)fixture_pick(256), 7 } };
	if (fixture_pick(2))
		return;
	random_attrs(&attrs);
	entry->xattrs = ews_arena_dup(&list->arena, attrs.ptr, attrs.len);
}

/* Make some files names of one before them, and give things owners. */
static void add_random_names(struct ews_entries *list)
{
	list->knows_names = true;
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = &list->items[i];
		const struct ews_entry *first = &list->items[fixture_pick(i + 1)];

		entry->has_owner = fixture_pick(5) > 0;
		entry->uid = entry->has_owner ? (uint32_t)fixture_pick(2) * 4000000000 : 0;
		entry->gid = entry->has_owner ? (uint32_t)fixture_pick(2) : 0;
		if (entry->type != EWS_ENTRY_FILE)
			continue;
		entry->is_elsewhere = fixture_pick(2);
		if (first == entry || first->type != EWS_ENTRY_FILE || first->first_name)
			continue;
		entry->first_name = first->path;
		entry->mode = first->mode;
		entry->oid = first->oid;
		entry->xattrs = first->xattrs;
	}
}

static void make_random(struct ews_entries *entries, struct ews_skips *skips)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	for (size_t n = 1 + fixture_pick(12); n; n--)
		add_random(entries);
	ews_entries_sort(entries);
	if (fixture_pick(2))
		add_random_names(entries);
	for (size_t n = fixture_pick(4); n; n--) {
		random_path(&path);
		ews_skips_add(skips, path.ptr, EWS_SKIP_IGNORED + fixture_pick(EWS_SKIP_CHANGING),
			      (uint64_t)fixture_pick(1000) << fixture_pick(50))
			->is_gone = fixture_pick(2);
	}
	ews_skips_sort(skips);
}

static bool is_identical(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b) && a->size == b->size && a->has_time == b->has_time &&
	       a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns && a->has_owner == b->has_owner &&
	       a->uid == b->uid && a->gid == b->gid && a->is_elsewhere == b->is_elsewhere &&
	       !a->first_name == !b->first_name && (!a->first_name || !strcmp(a->first_name, b->first_name));
}

/* Both lists, what is written of them, and what is read of that. */
struct trip {
	struct ews_entries entries, back;
	struct ews_skips skips, skips_back;
	struct ews_buf text;
};

#define TRIP_INIT { EWS_ENTRIES_INIT, EWS_ENTRIES_INIT, EWS_SKIPS_INIT, EWS_SKIPS_INIT, EWS_BUF_INIT }

static void release_trip(struct trip *trip)
{
	ews_entries_release(&trip->entries);
	ews_entries_release(&trip->back);
	ews_skips_release(&trip->skips);
	ews_skips_release(&trip->skips_back);
	ews_buf_release(&trip->text);
}

EWS_CLEANUP_DEFINE(trip, struct trip, release_trip)

static void read_back(struct trip *trip, const struct ews_buf *text)
{
	cr_assert_eq(ews_manifest_parse(&trip->back, &trip->skips_back, text->ptr, text->len), 0,
		     "EWS_SEED=%zu: %s in\n%.2000s", fixture_seed(), ews_error_message(), text->ptr);
}

static void assert_same_lists(const struct trip *trip)
{
	fixture_assert_same(&trip->back, &trip->entries, is_identical, trip->text.ptr);
	cr_assert_eq(trip->back.knows_names, trip->entries.knows_names);
	cr_assert_eq(trip->skips_back.n, trip->skips.n);
	for (size_t i = 0; i < trip->skips.n; i++) {
		cr_assert_str_eq(trip->skips_back.items[i].path, trip->skips.items[i].path);
		cr_assert_eq(trip->skips_back.items[i].size, trip->skips.items[i].size);
		cr_assert_eq(trip->skips_back.items[i].is_gone, trip->skips.items[i].is_gone);
	}
}

Test(manifest, what_is_written_is_read_again)
{
	for (size_t round = 0; round < fixture_rounds(500); round++) {
		EWS_CLEANUP(trip) struct trip trip = TRIP_INIT;

		make_random(&trip.entries, &trip.skips);
		ews_manifest_format(&trip.text, &trip.entries, &trip.skips);
		read_back(&trip, &trip.text);
		assert_same_lists(&trip);
		cr_assert_eq(ews_manifest_parse(NULL, NULL, trip.text.ptr, trip.text.len), 0);
	}
}

/* Byte by byte, but for the strings. */
static bool is_same_record(const struct ews_entry *a, const struct ews_entry *b)
{
	struct ews_entry x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	x.path = y.path = x.xattrs = y.xattrs = x.first_name = y.first_name = NULL;
	return is_identical(a, b) && !memcmp(&x, &y, sizeof(x));
}

/* `n` files, some of them ignored ones, with names of several lengths; a few have attributes. */
static void make_long(struct ews_entries *entries, struct ews_skips *skips, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf attrs = EWS_BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(free)
		char *path = ews_strfmt("%02zu/%.*s%zu", i * 40 / n, (int)fixture_pick(60),
					"a/name/that/may/be/long/and/may/be/short/but/never/is/the/same", i);
		struct ews_entry *entry;

		if (!fixture_pick(30)) {
			ews_skips_add(skips, path, EWS_SKIP_IGNORED, fixture_pick(1000));
			continue;
		}
		entry = ews_entries_add(entries, path, strlen(path));
		entry->type = EWS_ENTRY_FILE;
		entry->mode = 0644;
		entry->has_time = entry->has_owner = true;
		entry->mtime_s = 1700000000 + (int64_t)fixture_pick(1000000);
		entry->uid = entry->gid = fixture_pick(10) ? 1000 : 0;
		entry->oid = (struct ews_oid){ 20, { (uint8_t)fixture_pick(256), (uint8_t)fixture_pick(256) } };
		if (fixture_pick(50))
			continue;
		ews_buf_truncate(&attrs, 0);
		random_attrs(&attrs);
		entry->xattrs = ews_arena_dup(&entries->arena, attrs.ptr, attrs.len);
	}
	entries->knows_names = true;
	ews_entries_sort(entries);
	ews_skips_sort(skips);
}

/* All pieces. Returns how many. */
static size_t format_pieces(struct ews_strv *out, const struct ews_entries *entries, const struct ews_skips *skips)
{
	EWS_CLEANUP(manifest_pieces) struct ews_manifest_pieces pieces = EWS_MANIFEST_PIECES_INIT;

	ews_manifest_cut(&pieces, entries, skips);
	for (size_t i = 0; i < pieces.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		ews_manifest_format_piece(&text, &pieces, i);
		cr_assert(pieces.n == 1 || (text.len > 0 && text.len < 160 * 1024), "%zu", text.len);
		ews_strv_add(out, text.ptr);
	}
	return pieces.n;
}

Test(manifest, pieces_are_the_whole_text)
{
	for (size_t round = 0; round < fixture_rounds(30); round++) {
		EWS_CLEANUP(trip) struct trip trip = TRIP_INIT;
		EWS_CLEANUP(buf) struct ews_buf joined = EWS_BUF_INIT;
		EWS_CLEANUP(strv) struct ews_strv pieces = EWS_STRV_INIT;
		const struct ews_buf *text = &trip.text;
		bool has_names = fixture_pick(2);

		make_long(&trip.entries, &trip.skips, fixture_pick(6000));
		if (has_names)
			add_random_names(&trip.entries);
		ews_manifest_format(&trip.text, &trip.entries, &trip.skips);
		format_pieces(&pieces, &trip.entries, &trip.skips);
		for (size_t i = 0; i < pieces.n; i++)
			ews_buf_adds(&joined, pieces.items[i]);
		/* But for the names of one file, which are told in another way where there are several pieces. */
		cr_assert((has_names && pieces.n > 1) || !strcmp(joined.ptr, text->ptr), "EWS_SEED=%zu",
			  fixture_seed());
		/* In one where that is short, in many where it is long; in between it depends on how well a line's length was foreseen. */
		cr_assert(text->len > 100 * 1024 || pieces.n == 1, "%zu of %zu", pieces.n, text->len);
		cr_assert(text->len < 200 * 1024 || pieces.n > 1, "%zu of %zu", pieces.n, text->len);
		read_back(&trip, &joined);
		assert_same_lists(&trip);
	}
}

/* Let there be files of several names all over the list, none of them in it more than once. */
static void join_some(struct ews_entries *list)
{
	for (size_t i = 30; i < list->n; i += 10 + fixture_pick(50)) {
		struct ews_entry *entry = &list->items[i];
		const struct ews_entry *first = &list->items[i - 1 - fixture_pick(9)];

		entry->first_name = first->path;
		entry->oid = first->oid;
		entry->xattrs = first->xattrs;
	}
}

/* Change a file, add one, or take one away. */
static void change_long(struct ews_entries *list)
{
	struct ews_entry *entry = &list->items[fixture_pick(list->n)];
	EWS_CLEANUP(free) char *path = ews_strfmt("%s-%zu", entry->path, fixture_pick(1000));

	switch (fixture_pick(3)) {
	case 0:
		entry->oid.id[0]++;
		entry->mtime_s++;
		entry->size += fixture_pick(100000);
		entry->uid = (uint32_t)fixture_pick(2) * 1000;
		break;
	case 1:
		entry = ews_entries_add(list, path, strlen(path));
		entry->type = EWS_ENTRY_FILE;
		entry->uid = 7;
		entry->has_owner = true;
		ews_entries_sort(list);
		break;
	default:
		*entry = list->items[--list->n];
		ews_entries_sort(list);
	}
}

static size_t count_missing(const struct ews_strv *pieces, const struct ews_strv *old)
{
	size_t n = 0;

	for (size_t i = 0; i < pieces->n; i++) {
		bool is_there = false;

		for (size_t k = 0; k < old->n && !is_there; k++)
			is_there = !strcmp(pieces->items[i], old->items[k]);
		n += !is_there;
	}
	return n;
}

Test(manifest, a_change_is_in_few_pieces)
{
	EWS_CLEANUP(entries) struct ews_entries entries = EWS_ENTRIES_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
	size_t n_rounds = fixture_rounds(60), n_changed = 0;

	make_long(&entries, &skips, 20000);
	join_some(&entries);
	for (size_t round = 0; round < n_rounds; round++) {
		EWS_CLEANUP(strv) struct ews_strv before = EWS_STRV_INIT;
		EWS_CLEANUP(strv) struct ews_strv after = EWS_STRV_INIT;
		size_t n = format_pieces(&before, &entries, &skips), changed;

		cr_assert(n > 30 && n < 150, "%zu", n);
		change_long(&entries);
		format_pieces(&after, &entries, &skips);
		changed = count_missing(&after, &before);
		/* Where a limit cuts what follows moves up to the next place that its paths tell. */
		cr_assert(changed <= 8, "EWS_SEED=%zu: %zu of %zu", fixture_seed(), changed, n);
		n_changed += changed;
	}
	cr_assert(n_changed < 2 * n_rounds, "%zu in %zu", n_changed, n_rounds);
}

Test(manifest, what_it_says_of_an_entry_is_known_without_reading_it)
{
	for (size_t round = 0; round < fixture_rounds(300); round++) {
		EWS_CLEANUP(trip) struct trip trip = TRIP_INIT;

		make_random(&trip.entries, &trip.skips);
		ews_manifest_format(&trip.text, &trip.entries, &trip.skips);
		read_back(&trip, &trip.text);
		for (size_t i = 0; i < trip.entries.n; i++) {
			struct ews_entry *entry = &trip.entries.items[i], seen, record;

			/* What a look adds to it. */
			memcpy(&seen, entry, sizeof(seen));
			seen.has_stat = seen.is_racy = true;
			seen.n_links = 1;
			seen.dev = seen.ino = seen.ctime_ns = 7;
			if (!seen.has_time)
				seen.mtime_s = seen.mtime_ns = 7;
			if (!seen.has_owner || !trip.entries.knows_names)
				seen.uid = seen.gid = 7;
			ews_manifest_record(&record, &seen);
			cr_assert(is_same_record(&record, &trip.back.items[i]), "EWS_SEED=%zu: %s", fixture_seed(),
				  entry->path);
		}
	}
}

static void hash_one(char out[EWS_TREE_HASH_LEN], const char *path, const char *attrs)
{
	struct ews_entry entry = { .path = path, .xattrs = attrs, .type = EWS_ENTRY_FILE, .mode = 0644 };
	const struct ews_entries list = { .items = &entry, .n = 1 };

	ews_manifest_hash(out, &list);
}

Test(manifest, attributes_that_look_like_others_do_not_hash_alike)
{
	static const char *const pairs[][4] = {
		{ "a", "user.x=61,user.y=62\n", "a", "user.x=61\nuser.y=62\n" },
		{ "b=62 a", "user.x=61\n", "a", "user.x=61 b=62\n" },
		{ "a", "user.x=\n", "a", NULL },
		{ "a", "user.\\\\040=\n", "a", "user. =\n" },
		{ "- a", NULL, "a", NULL },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char a[EWS_TREE_HASH_LEN], b[EWS_TREE_HASH_LEN];

		hash_one(a, pairs[i][0], pairs[i][1]);
		hash_one(b, pairs[i][2], pairs[i][3]);
		cr_expect_str_neq(a, b, "%zu", i);
	}
}

/* Change one thing that a tree is made of. */
static void change_one(struct ews_entries *list)
{
	struct ews_entry *entry = &list->items[fixture_pick(list->n)];

	switch (fixture_pick(6)) {
	case 0:
		entry->mode ^= (uint16_t)(1 << fixture_pick(12));
		break;
	case 1:
		entry->type = entry->type == EWS_ENTRY_FILE ? EWS_ENTRY_LINK : EWS_ENTRY_FILE;
		break;
	case 2:
		entry->oid.id[fixture_pick(20)] ^= 1;
		entry->oid.len = 20;
		break;
	case 3:
		entry->xattrs = entry->xattrs ? NULL : "user.q=\n";
		break;
	case 4:
		entry->path = ews_arena_dup(&list->arena, entry->path, strlen(entry->path) + 1);
		((char *)entry->path)[0] = 'y';
		break;
	default:
		*entry = list->items[--list->n];
	}
	ews_entries_sort(list);
}

Test(manifest, the_hash_is_equal_exactly_when_the_trees_are)
{
	for (size_t round = 0; round < fixture_rounds(500); round++) {
		EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
		EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
		char before[EWS_TREE_HASH_LEN], after[EWS_TREE_HASH_LEN];

		make_random(&list, &skips);
		ews_manifest_hash(before, &list);
		cr_assert_eq(strlen(before), EWS_TREE_HASH_LEN - 1);
		for (size_t i = 0; i < list.n; i++) {
			list.items[i].mtime_s++;
			list.items[i].ino++;
		}
		ews_manifest_hash(after, &list);
		cr_assert_str_eq(before, after);
		change_one(&list);
		ews_manifest_hash(after, &list);
		cr_assert_str_neq(before, after, "EWS_SEED=%zu, round %zu", fixture_seed(), round);
	}
}

/* Whatever is accepted must be in order and lead nowhere else. */
static void parse_hostile(const char *text, size_t len)
{
	EWS_CLEANUP(entries) struct ews_entries entries = EWS_ENTRIES_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
	/* Of the exact size, so that a sanitizer sees a step too far. */
	EWS_CLEANUP(free) char *exact = ews_memdup(text, len);
	int rc = ews_manifest_parse(&entries, &skips, exact, len);

	if (rc < 0) {
		cr_assert_eq(rc, EWS_EDAMAGED, "%s", ews_error_message());
		return;
	}
	for (size_t i = 0; i < entries.n; i++) {
		cr_assert(ews_path_is_plain(entries.items[i].path));
		cr_assert(i == 0 || ews_path_cmp(entries.items[i - 1].path, entries.items[i].path) < 0);
		if (entries.items[i].first_name) {
			const struct ews_entry *first = ews_entries_find(&entries, entries.items[i].first_name);

			cr_assert(first && first < &entries.items[i] && !first->first_name);
			cr_assert(ews_entry_equal(first, &entries.items[i]));
		}
	}
}

Test(manifest, damage_is_named_and_hurts_nobody)
{
	for (size_t round = 0; round < fixture_rounds(30); round++) {
		EWS_CLEANUP(entries) struct ews_entries entries = EWS_ENTRIES_INIT;
		EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		make_random(&entries, &skips);
		ews_manifest_format(&text, &entries, &skips);
		for (size_t i = 0; i < text.len; i++) {
			char was = text.ptr[i];

			if (i < strlen("ews-manifest 1\n") || text.ptr[i - 1] != '\n')
				cr_assert_eq(ews_manifest_parse(NULL, NULL, text.ptr, i), EWS_EDAMAGED,
					     "cut at %zu", i);
			text.ptr[i] = (char)fixture_pick(256);
			parse_hostile(text.ptr, text.len);
			text.ptr[i] = was;
		}
	}
}

Test(manifest, lines_that_make_no_sense_are_refused)
{
	static const char *const lines[] = {
		"file 0644 1.0 1 - - ../a",
		"file 0644 1.0 1 - - /a",
		"file 0644 1.0 1 - - ",
		"file 0644 1.0 1 - - a/./b",
		"file 10644 1.0 1 - - a",
		"file 0648 1.0 1 - - a",
		"file 0644 1 1 - - a",
		"file 0644 1.1000000000 1 - - a",
		"file 0644 1.0 -1 - - a",
		"file 0644 1.0 1 12 - a",
		"file 0644 1.0 1 - a",
		"none 0644 1.0 1 - - a",
		"file 0644 1.0 99999999999999999999 - - a",
		"file 0644 1.0 1 - - a\\",
		"file 0644 1.0 1 - - a\\000b",
		"skip nothing 0 a",
		"skip ignored 0 ../a",
		"skip ignored x a",
		"skip ignored 0",
		"file 0644 1.0 1 - x a",
		"file 0644 1.0 1 - user.x=6 a",
		"file 0644 1.0 1 - user.x=6g a",
		"file 0644 1.0 1 - ,user.x=66 a",
		"file 0644 1.0 1 - user.x=66, a",
		"file 0644 1.0 1 - user.\\x=66 a",
		"file 0644 1.0 1 - user.a=,user.a= a",
		"file  0644 1.0 1 - - a",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		EWS_CLEANUP(free) char *text = ews_strfmt("ews-manifest 1\n%s\n", lines[i]);

		cr_expect_eq(ews_manifest_parse(NULL, NULL, text, strlen(text)), EWS_EDAMAGED, "%s", lines[i]);
	}
	cr_expect_eq(ews_manifest_parse(NULL, NULL, "", 0), EWS_EDAMAGED);
	cr_expect_eq(ews_manifest_parse(NULL, NULL, "ews-manifest 4\n", 15), EWS_EDAMAGED);
	cr_expect_eq(ews_manifest_parse(NULL, NULL, "ews-manifest 3\n", 15), 0);
	cr_expect_eq(ews_manifest_parse(NULL, NULL, "ews-manifest 2\n", 15), 0);
	cr_expect_eq(ews_manifest_parse(NULL, NULL, "ews-manifest 1\n", 15), 0);
	cr_expect_eq(ews_manifest_parse(NULL, NULL, "ews-manifest 1\n\0", 16), EWS_EDAMAGED);
	cr_expect_eq(ews_manifest_parse(NULL, NULL, "ews-manifest 1\n\0file", 20), EWS_EDAMAGED);
}

Test(manifest, names_and_owners_that_make_no_sense_are_refused)
{
	static const char *const lines[] = {
		"file 0644 1.0 1 - - a",
		"file 0644 1.0 1 - - - a",
		"file 0644 1.0 1 - - - - a",
		"owner 0:0\nowner 0:0",
		"owner 0",
		"owner 0:4294967295",
		"owner -1:0",
		"owner 0:0\nfile 0644 1.0 1 - - 2 - a",
		"owner 0:0\nfile 0644 1.0 1 - - 0 - a",
		"owner 0:0\nfile 0644 1.0 1 - - x - a",
		"owner 0:0\nfile 0644 1.0 1 - - 1++ - a",
		"owner 0:0\ndirectory 0755 1.0 0 - - 1 - a",
		"owner 0:0\nlink 0777 1.0 0 - - + - a",
		"owner 0:0\nfile 0644 1.0 1 - - 1 - a\nfile 0600 1.0 1 - - 1 - b",
		"owner 0:0\nfile 0644 1.0 1 - - - 1 a",
		"owner 0:0\nfile 0644 1.0 1 - - - 1: a",
		"owner 0:0\nfile 0644 1.0 1 - - - 1:2:3 a",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		EWS_CLEANUP(free) char *text = ews_strfmt("ews-manifest 2\n%s\n", lines[i]);

		cr_expect_eq(ews_manifest_parse(NULL, NULL, text, strlen(text)), EWS_EDAMAGED, "%s", lines[i]);
	}
}

Test(manifest, names_by_path_that_make_no_sense_are_refused)
{
	static const char a[] = "file 0644 - 1 - - - ? a\n";
	static const char *const lines[] = {
		"file 0644 - 1 - - @ ? b", /* none */
		"file 0644 - 1 - - a ? b",
		"file 0644 - 1 - - 1 ? b",
		"file 0644 - 1 - - @a+ ? b",
		"file 0644 - 1 - - ++ ? b",
		"file 0644 - 1 - - @b ? b", /* itself */
		"file 0644 - 1 - - @c ? b", /* nothing, or what comes later */
		"file 0644 - 1 - - @c ? b\nfile 0644 - 1 - - - ? c",
		"file 0644 - 1 - - @a ? b\nfile 0644 - 1 - - @b ? c", /* no first one */
		"file 0755 - 1 - - @a ? b", /* something else */
		"link 0777 - 1 - - @a ? b",
		"file 0644 - 1 - - @../a ? b",
		"file 0644 - 1 - - @/a ? b",
	};
	static const char sound[] = "ews-manifest 3\nfile 0644 - 1 - - + ? a b\nfile 0644 - 1 - - +@a\\040b ? c\n";
	EWS_CLEANUP(entries) struct ews_entries entries = EWS_ENTRIES_INIT;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		EWS_CLEANUP(free) char *text = ews_strfmt("ews-manifest 3\n%s%s\n", a, lines[i]);

		cr_expect_eq(ews_manifest_parse(NULL, NULL, text, strlen(text)), EWS_EDAMAGED, "%s", lines[i]);
	}
	cr_assert_eq(ews_manifest_parse(&entries, NULL, sound, strlen(sound)), 0, "%s", ews_error_message());
	cr_assert_str_eq(entries.items[1].first_name, "a b");
	cr_assert(entries.items[1].is_elsewhere);
}

Test(manifest, one_of_the_first_version_knows_no_names)
{
	static const char text[] = "ews-manifest 1\nfile 0644 1.0 1 - - a b\nskip ignored 0 c\n";
	EWS_CLEANUP(entries) struct ews_entries entries = EWS_ENTRIES_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;

	cr_assert_eq(ews_manifest_parse(&entries, &skips, text, strlen(text)), 0, "%s", ews_error_message());
	cr_assert_eq(entries.n, 1);
	cr_assert_str_eq(entries.items[0].path, "a b");
	cr_assert_not(entries.knows_names);
	cr_assert_not(entries.items[0].has_owner);
	cr_assert_eq(skips.n, 1);
}
