/*
 * What just passed through is read from memory, as far as there is room.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/recent.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/pool.h"
#include "fixture.h"
#include "store/batch.h"
#include "store/odb.h"

#define MANY 3000

TestSuite(recent, .init = fixture_begin, .fini = fixture_end);

static struct ews_oid id_of(size_t i)
{
	struct ews_oid oid = { .len = 20 };

	/* Alike where the table looks first. */
	oid.id[9] = (uint8_t)(i >> 8);
	oid.id[10] = (uint8_t)i;
	return oid;
}

static int add_one(size_t i, unsigned worker, void *payload)
{
	struct ews_oid oid = id_of(i);
	char text[32];

	(void)worker;
	ews_recent_add(payload, &oid, text, (size_t)snprintf(text, sizeof(text), "content %zu", i));
	return 0;
}

/* How long it is; -1: it is not here. */
static int len_of(struct ews_recent *recent, const struct ews_oid *oid)
{
	size_t len;

	return ews_recent_find(&len, recent, oid) ? (int)len : -1;
}

Test(recent, what_several_threads_add_is_read)
{
	struct ews_recent *recent = ews_recent_new(EWS_MIB);
	struct ews_oid other = id_of(MANY);
	size_t len;

	cr_assert_eq(ews_pool_for(MANY, 16, 4, add_one, recent), 0);
	for (size_t i = 0; i < MANY; i++) {
		struct ews_oid oid = id_of(i);
		const void *found = ews_recent_find(&len, recent, &oid);
		char text[32];

		cr_assert(found);
		cr_assert_eq((size_t)snprintf(text, sizeof(text), "content %zu", i), len);
		cr_assert_eq(memcmp(found, text, len), 0);
	}
	cr_assert_null(ews_recent_find(&len, recent, &other));
	ews_recent_free(recent);
}

Test(recent, what_is_too_much_is_not_kept)
{
	struct ews_recent *recent = ews_recent_new(10);
	const struct ews_oid a = id_of(1), b = id_of(2), c = id_of(3);

	cr_assert_eq(len_of(recent, &a), -1);
	ews_recent_add(recent, &a, "seven b", 7);
	ews_recent_add(recent, &b, "four", 4);
	ews_recent_add(recent, &c, "333", 3);
	cr_assert_eq(len_of(recent, &a), 7);
	cr_assert_eq(len_of(recent, &b), -1);
	cr_assert_eq(len_of(recent, &c), 3);
	ews_recent_free(recent);
}

Test(recent, what_comes_again_takes_no_more_room)
{
	struct ews_recent *recent = ews_recent_new(10);
	const struct ews_oid a = id_of(1), b = id_of(2);

	for (int i = 0; i < 10; i++)
		ews_recent_add(recent, &a, "seven b", 7);
	ews_recent_add(recent, &b, "333", 3);
	cr_assert_eq(len_of(recent, &a), 7);
	cr_assert_eq(len_of(recent, &b), 3);
	ews_recent_free(recent);
}

/* The objects of the store, away. */
static void remove_objects(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *away = ews_strfmt("%s.away", ews_odb_object_dir(repo->odb));

	cr_assert_eq(rename(ews_odb_object_dir(repo->odb), away), 0);
	cr_assert_eq(mkdir(ews_odb_object_dir(repo->odb), 0700), 0);
}

Test(recent, the_store_reads_what_it_wrote_to_files_and_took_from_them_no_second_time)
{
	struct ews_repo *repo = fixture_make_small_project("p");
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int in = open("in", O_RDWR | O_CREAT, 0600);
	EWS_CLEANUP(fd) int to = open("to", O_RDWR | O_CREAT, 0600);
	enum ews_object_type type = 0;
	struct ews_oid written, taken;

	cr_assert_eq(ews_batch_add(&written, batch, EWS_OBJECT_BLOB, "written", 7), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	cr_assert_eq(write(in, "taken", 5), 5);
	cr_assert_eq(lseek(in, 0, SEEK_SET), 0);
	ews_odb_remember(repo->odb, EWS_MIB);
	cr_assert_eq(ews_batch_add_fd(&taken, batch, in, 5, NULL), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	cr_assert_eq(ews_odb_write_to(to, repo->odb, &written), 0);
	remove_objects(repo);
	cr_assert_eq(ews_odb_read_max(&out, &type, repo->odb, &written, 7), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_read_max(&out, &type, repo->odb, &taken, 5), 0, "%s", ews_error_message());
	cr_assert_eq(type, EWS_OBJECT_BLOB);
	cr_assert_str_eq(out.ptr, "writtentaken");
	cr_assert_eq(ews_odb_read_max(&out, &type, repo->odb, &taken, 4), 1);
	cr_assert_str_eq(out.ptr, "writtentaken");
	cr_assert_eq(ews_odb_write_to(to, repo->odb, &taken), 0);
	cr_assert_eq(lseek(to, 0, SEEK_CUR), 12);
	ews_repo_free(repo);
}

Test(recent, what_there_is_no_room_for_is_not_read_ahead)
{
	struct ews_repo *repo = fixture_make_small_project("p");
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	struct ews_oid first, second;

	cr_assert_eq(ews_batch_add(&first, batch, EWS_OBJECT_BLOB, "first", 5), 0);
	cr_assert_eq(ews_batch_add(&second, batch, EWS_OBJECT_BLOB, "second", 6), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	ews_odb_remember(repo->odb, 10);
	cr_assert_eq(ews_odb_read_ahead(repo->odb, &first, 5), 0);
	cr_assert(ews_odb_remembers(repo->odb, &first, "first", 5));
	remove_objects(repo);
	cr_assert_eq(ews_odb_read_ahead(repo->odb, &second, 6), 0, "%s", ews_error_message());
	cr_assert_lt(ews_odb_read_ahead(repo->odb, &second, 5), 0);
	ews_repo_free(repo);
}
