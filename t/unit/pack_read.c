/*
 * Packs that are read: all that git packs is read as git reads it, whatever its deltas name their bases by, and of a pack
 * that was damaged nothing that an id doesn't answer for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pack_read.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/deflate.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sync.h"
#include "fixture.h"
#include "store/odb.h"
#include "store/pack.h"

#define OBJECTS "r/.git/objects"

/* A history with long chains of deltas, of an empty file, a large one and one that no delta makes smaller. */
static void begin(void)
{
	fixture_begin();
	fixture_shell(
		"git init -q r && cd r && git config user.name A && git config user.email a@b && : >empty && head -c 300000 /dev/urandom >noise && seq 90000 >large &&"
		"i=0 && while test $i -lt 30; do i=$((i + 1)); { seq 400; echo $i; seq 500 $((900 + i)); } >text;"
		"echo $i >>large; git add . && git commit -qm $i || exit 1; done && git tag -am t v1 &&"
		"git repack -adfq --depth=40");
}

TestSuite(pack_read, .init = begin, .fini = fixture_end, .timeout = 120);

static struct ews_oid id_of(const char *hex)
{
	struct ews_oid oid;

	cr_assert_eq(ews_oid_parse(&oid, hex), 0);
	return oid;
}

static struct ews_oid rev_parse(const char *spec)
{
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;

	fixture_ask(&hex, "git -C r rev-parse '%s'", spec);
	ews_buf_rtrim(&hex);
	return id_of(hex.ptr);
}

/* Does `content` have the id, so that it is the object? */
static bool is_object(const struct ews_oid *oid, enum ews_object_type type, const struct ews_buf *content)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA1);
	char header[EWS_OBJECT_HEADER_MAX];
	struct ews_oid real = EWS_OID_NONE;

	ews_hash_add(hash, header, ews_object_header(header, type, content->len));
	ews_hash_add(hash, content->ptr, content->len);
	real.len = (uint8_t)ews_hash_finish(hash, real.id);
	return ews_oid_equal(&real, oid);
}

/* The ids of all objects, a line each. */
static void list_all(struct ews_buf *out)
{
	fixture_ask(out, "git -C r cat-file --batch-all-objects --batch-check='%%(objectname)'");
	ews_buf_rtrim(out);
}

/* What is asked of each object. */
typedef bool (*look_fn)(const struct ews_oid *oid, struct ews_packs *packs, struct ews_pack_reader *reader);

/* For how many of all objects does `look` say yes? */
static size_t count(size_t *total, look_fn look, struct ews_packs *packs)
{
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	struct ews_pack_reader *reader = ews_pack_reader_new();
	char *rest, *line;
	size_t n = 0;

	list_all(&list);
	rest = list.ptr;
	for (*total = 0; (line = strsep(&rest, "\n")); ++*total) {
		struct ews_oid oid = id_of(line);

		n += look(&oid, packs, reader);
	}
	ews_pack_reader_free(reader);
	return n;
}

static bool is_read(const struct ews_oid *oid, struct ews_packs *packs, struct ews_pack_reader *reader)
{
	enum ews_object_type type, said;
	const struct ews_buf *out;
	char hex[EWS_OID_HEX_MAX];
	uint64_t size;

	if (ews_pack_reader_read(&out, &type, reader, packs, oid, NULL, NULL) <= 0)
		return false;
	cr_assert(is_object(oid, type, out), "%s", ews_oid_hex(hex, oid));
	cr_assert_eq(ews_pack_reader_read_header(&said, &size, reader, packs, oid), 1);
	cr_assert_eq(said, type);
	cr_assert_eq(size, out->len);
	return true;
}

/* It alone is there: not those between two that are, and none beyond the last. */
static bool is_there(const struct ews_oid *oid, struct ews_packs *packs, struct ews_pack_reader *reader)
{
	struct ews_oid other = *oid;

	(void)reader;
	other.id[19] ^= 1;
	cr_assert_not(ews_packs_have(packs, &other));
	memset(other.id + 1, 0xff, 19);
	cr_assert_not(ews_packs_have(packs, &other));
	return ews_packs_have(packs, oid);
}

/* How many of all objects are read, each of them right? */
static size_t read_all(size_t *total)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	size_t n = count(total, is_read, packs);

	ews_packs_free(packs);
	return n;
}

Test(pack_read, every_object_is_what_git_packed)
{
	size_t total, n = read_all(&total);

	cr_assert_gt(total, 100);
	cr_assert_eq(n, total);
}

Test(pack_read, a_delta_may_name_its_base_by_its_id)
{
	size_t total;

	fixture_shell("git -C r -c repack.useDeltaBaseOffset=false repack -adfq --depth=40");
	cr_assert_eq(read_all(&total), total);
}

Test(pack_read, offsets_may_be_large)
{
	size_t total;

	fixture_shell("cd r/.git/objects/pack && rm -f *.rev *.idx && git index-pack --index-version=2,0x100 *.pack");
	cr_assert_eq(read_all(&total), total);
}

Test(pack_read, an_older_index_is_left_to_others)
{
	size_t total;

	fixture_shell("cd r/.git/objects/pack && rm -f *.rev *.idx && git index-pack --index-version=1 *.pack");
	cr_assert_eq(read_all(&total), 0);
}

Test(pack_read, where_no_pack_is_nothing_is_found)
{
	struct ews_packs *packs = ews_packs_open("nowhere");
	struct ews_pack_reader *reader = ews_pack_reader_new();
	struct ews_oid oid = rev_parse("HEAD");
	enum ews_object_type type;
	const struct ews_buf *out;

	cr_assert_eq(ews_pack_reader_read(&out, &type, reader, packs, &oid, NULL, NULL), 0);
	ews_pack_reader_free(reader);
	ews_packs_free(packs);
}

Test(pack_read, what_is_there_is_found)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	size_t total;

	cr_assert_eq(count(&total, is_there, packs), total);
	cr_assert(ews_packs_are_all(packs));
	ews_packs_free(packs);
}

/* Large: it is read piece by piece. */
Test(pack_read, so_it_is_where_the_index_is_large)
{
	struct ews_packs *packs;
	size_t total;

	fixture_shell(
		"i=0 && while test $i -lt 9000; do i=$((i + 1)) && echo blob && echo data ${#i} && echo $i || exit 1; done >in &&"
		"git -C r fast-import --quiet <in && git -C r repack -dfq --cruft && test $(find " OBJECTS
		"/pack -size +200k -name '*.idx' | wc -l) = 1");
	cr_assert_eq(read_all(&total), total);
	cr_assert_gt(total, 9000);
	packs = ews_packs_open(OBJECTS);
	cr_assert_eq(count(&total, is_there, packs), total);
	ews_packs_free(packs);
}

Test(pack_read, what_comes_later_is_found_after_another_look)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	struct ews_oid oid;

	fixture_shell("cd r && echo new >f && git add f && git commit -qm n && git repack -q");
	oid = rev_parse("HEAD:f");
	cr_assert_not(ews_packs_have(packs, &oid));
	ews_packs_look_again(packs);
	cr_assert(ews_packs_have(packs, &oid));
	cr_assert(ews_packs_are_all(packs));
	ews_packs_free(packs);
}

/* There are so many that a filter is made of what they have. */
Test(pack_read, of_many_packs_all_is_found_and_nothing_else)
{
	struct ews_oid oid, head = rev_parse("HEAD");
	struct ews_packs *packs;
	size_t total;

	fixture_shell(
		"cd r && for i in $(seq 20); do echo own $i >f && git add f && git commit -q -m $i && git repack -q || exit 1; done");
	packs = ews_packs_open(OBJECTS);
	for (size_t round = 0; round < 3; round++) {
		cr_assert_eq(count(&total, is_there, packs), total);
		for (size_t i = 0; i < 300; i++) {
			oid = head;
			ews_clock_random(oid.id, round ? oid.len : 3);
			cr_assert_not(ews_packs_have(packs, &oid));
			cr_assert_not(ews_packs_freshen(packs, &oid));
		}
	}
	fixture_shell("cd r && echo later >f && git add f && git commit -qm n && git repack -q");
	oid = rev_parse("HEAD:f");
	cr_assert_not(ews_packs_have(packs, &oid));
	ews_packs_look_again(packs);
	cr_assert(ews_packs_have(packs, &oid));
	ews_packs_free(packs);
}

/* How many files has this process open? */
static size_t count_open(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

Test(pack_read, many_packs_leave_files_to_others)
{
	struct rlimit limit;
	struct ews_packs *packs;
	size_t before = count_open();

	fixture_shell(
		"cd r && for i in $(seq 40); do echo own $i >f && git add f && git commit -q -m $i && git repack -q || exit 1; done");
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 100;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	packs = ews_packs_open(OBJECTS);
	cr_assert_gt(count_open(), before + 10);
	cr_assert_leq(count_open(), before + 25);
	cr_assert_not(ews_packs_are_all(packs));
	ews_packs_free(packs);
	cr_assert_eq(count_open(), before);
}

static bool are_all_after(const char *script)
{
	struct ews_packs *packs;
	bool are_all;

	fixture_shell("%s", script);
	packs = ews_packs_open(OBJECTS);
	are_all = ews_packs_are_all(packs);
	ews_packs_free(packs);
	return are_all;
}

Test(pack_read, where_there_is_more_it_is_not_said_that_these_are_all)
{
	cr_assert(are_all_after(":"));
	cr_assert(are_all_after("git init -q s && git -C r multi-pack-index write"));
	cr_assert_not(are_all_after("echo \"$PWD/s/.git/objects\" >" OBJECTS "/info/alternates"));
	cr_assert(are_all_after("rm " OBJECTS "/info/alternates"));
	cr_assert_not(are_all_after("cd " OBJECTS "/pack && rm -f *.rev *.idx multi-pack-index && "
				    "git index-pack --index-version=1 *.pack"));
	cr_assert_not(are_all_after("cd " OBJECTS "/pack && rm -f *.idx && git index-pack *.pack && : >another.idx"));
	cr_assert(are_all_after("rm -rf " OBJECTS "/pack"));
}

static bool has_new_pack(void)
{
	EWS_CLEANUP(buf) struct ews_buf found = EWS_BUF_INIT;

	fixture_ask(&found, "find " OBJECTS "/pack -name '*.pack' -newermt 2020-01-01");
	return found.len;
}

Test(pack_read, what_is_asked_for_as_new_makes_its_pack_new)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	struct ews_oid oid = rev_parse("HEAD:text"), none = oid;

	fixture_shell("touch -d 2010-01-01 " OBJECTS "/pack/*");
	none.id[19] ^= 1;
	cr_assert_not(ews_packs_freshen(packs, &none));
	cr_assert(ews_packs_have(packs, &oid));
	cr_assert_not(has_new_pack());
	cr_assert(ews_packs_freshen(packs, &oid));
	cr_assert(has_new_pack());
	ews_packs_free(packs);
}

Test(pack_read, of_a_pack_that_is_gone_nothing_counts_as_new)
{
	struct ews_packs *packs = ews_packs_open(OBJECTS);
	struct ews_oid oid = rev_parse("HEAD:text");

	fixture_shell("mv r/.git/objects/pack gone");
	cr_assert_not(ews_packs_freshen(packs, &oid));
	ews_packs_free(packs);
}

Test(pack_read, of_what_git_counts_by_the_object_nothing_counts_as_new)
{
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	struct ews_packs *packs;
	struct ews_oid oid;

	fixture_ask(&hex, "echo unreachable | git -C r hash-object -w --stdin && git -C r repack --cruft -dq >&2");
	ews_buf_rtrim(&hex);
	oid = id_of(hex.ptr);
	packs = ews_packs_open(OBJECTS);
	cr_assert(ews_packs_have(packs, &oid));
	cr_assert_not(ews_packs_freshen(packs, &oid));
	ews_packs_free(packs);
}

/* As a file grows over what is read here, with the delta that a fetch or an import makes of it. */
Test(pack_read, a_delta_that_makes_too_much_of_its_base_is_left_to_others)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/r/.git", fixture_top());
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	struct ews_packs *packs;
	struct ews_pack_reader *reader = ews_pack_reader_new();
	const struct ews_buf *content;
	enum ews_object_type type;
	struct ews_odb *odb;
	struct ews_oid oid;

	fixture_shell("seq 3000000 >once && cat once once >twice && cd r && for f in once twice; do echo blob &&"
		      "echo data $(wc -c <../$f) && cat ../$f || exit 1; done |"
		      "git -c fastimport.unpackLimit=0 fast-import --quiet");
	fixture_ask(&hex, "git hash-object twice");
	ews_buf_rtrim(&hex);
	oid = id_of(hex.ptr);
	packs = ews_packs_open(OBJECTS);
	cr_assert_eq(ews_pack_reader_read(&content, &type, reader, packs, &oid, NULL, NULL), 0);
	ews_pack_reader_free(reader);
	ews_packs_free(packs);
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0);
	cr_assert_eq(ews_odb_read(&out, &type, odb, &oid), 0, "%s", ews_error_message());
	cr_assert(is_object(&oid, type, &out));
	ews_odb_free(odb);
}

static struct ews_oid hash_file(const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;

	fixture_ask(&hex, "git hash-object %s", name);
	ews_buf_rtrim(&hex);
	return id_of(hex.ptr);
}

/* A blob's record in a pack, each byte of which ends a block of its stream. */
static void format_flushed(struct ews_buf *out, const unsigned char *data, size_t len)
{
	z_stream z = { .zalloc = Z_NULL };

	ews_buf_addc(out, (char)(0x80 | EWS_OBJECT_BLOB << 4 | (int)(len & 15)));
	ews_buf_addc(out, (char)(len >> 4));
	cr_assert_eq(deflateInit(&z, 6), Z_OK);
	for (size_t i = 0; i <= len; i++) {
		char room[64];

		z.next_in = (unsigned char *)data + i;
		z.avail_in = i < len;
		z.next_out = (unsigned char *)room;
		z.avail_out = sizeof(room);
		cr_assert_eq(deflate(&z, i < len ? Z_FULL_FLUSH : Z_FINISH), i < len ? Z_OK : Z_STREAM_END);
		ews_buf_add(out, room, sizeof(room) - z.avail_out);
	}
	(void)deflateEnd(&z);
}

Test(pack_read, a_stream_may_be_longer_than_there_is_a_reason_for)
{
	static const unsigned char data[2000] = "some text, and nothing";
	EWS_CLEANUP(buf) struct ews_buf record = EWS_BUF_INIT;
	struct ews_pack_reader *reader = ews_pack_reader_new();
	struct ews_oid oid, ids[2];
	enum ews_object_type type;
	const struct ews_buf *found;
	struct ews_packs *packs;
	struct ews_pack *pack;

	fixture_shell(
		"head -c 2000 /dev/zero >a && printf 'some text, and nothing' | dd of=a conv=notrunc 2>/dev/null");
	oid = hash_file("a");
	format_flushed(&record, data, sizeof(data));
	cr_assert_gt(record.len, 3 * sizeof(data));
	for (size_t last = 0; last < 2; last++) {
		EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;

		/* Whether other objects stand behind it or not. */
		cr_assert_eq(ews_pack_open(&pack, OBJECTS, EWS_SHA1, EWS_SHARING_NONE), 0);
		cr_assert_eq(ews_pack_add(pack, &oid, ews_pack_sum(record.ptr, record.len), record.ptr, record.len),
			     0);
		for (size_t i = 0; i < 2 && !last; i++) {
			ids[i] = oid;
			ids[i].id[0] ^= (unsigned char)(i + 1);
			cr_assert_eq(ews_pack_add(pack, &ids[i], ews_pack_sum(record.ptr, record.len), record.ptr,
						  record.len),
				     0);
		}
		cr_assert_eq(ews_pack_finish(pack, &group), 0);
		cr_assert_eq(ews_sync_finish(&group), 0);
		ews_pack_free(pack);
		packs = ews_packs_open(OBJECTS);
		cr_assert_eq(ews_pack_reader_read(&found, &type, reader, packs, &oid, NULL, NULL), 1);
		cr_assert(is_object(&oid, type, found));
		ews_packs_free(packs);
		fixture_shell(
			"for p in r/.git/objects/pack/*.idx; do git show-index --object-format=sha1 <\"$p\" | grep -q %s && rm -f \"$p\" \"${p%%idx}pack\"; done; true",
			"$(git hash-object a)");
	}
	ews_pack_reader_free(reader);
}

/* What comes step by step. */
struct passed {
	struct ews_buf content;
	enum ews_object_type type;
	uint64_t size;
};

static int begin_passed(void *payload, enum ews_object_type type, uint64_t size)
{
	struct passed *passed = payload;

	ews_buf_truncate(&passed->content, 0);
	passed->type = type;
	passed->size = size;
	return 0;
}

static int add_passed(void *payload, const void *data, size_t len)
{
	ews_buf_add(&((struct passed *)payload)->content, data, len);
	return 0;
}

static int refuse_passed(void *payload, const void *data, size_t len)
{
	(void)payload, (void)data, (void)len;
	return ews_error(EWS_ENOSPACE, "no more");
}

/* A file that grows over what is read into memory, as a delta; and one of which no delta is made. */
static void make_large(void)
{
	fixture_shell(
		"seq 3000000 >once && cat once once >twice && head -c 5000000 /dev/urandom >noise &&"
		"cd r && for f in once twice noise; do echo blob && echo data $(wc -c <../$f) && cat ../$f || exit 1; done |"
		"git -c fastimport.unpackLimit=0 fast-import --quiet");
}

Test(pack_read, large_objects_come_step_by_step)
{
	static const char *const names[] = { "once", "twice", "noise" };
	struct ews_pack_reader *reader = ews_pack_reader_new();
	const struct ews_buf *content;
	enum ews_object_type type;
	struct ews_packs *packs;
	struct ews_oid small = rev_parse("HEAD:large");

	make_large();
	packs = ews_packs_open(OBJECTS);
	for (size_t i = 0; i < 3; i++) {
		struct passed passed = { .content = EWS_BUF_INIT };
		struct ews_pack_sink sink = { begin_passed, add_passed, &passed };
		struct ews_oid oid = hash_file(names[i]);

		cr_assert_eq(ews_pack_reader_read(&content, &type, reader, packs, &oid, &sink, NULL), 2, "%s",
			     names[i]);
		cr_assert_eq(passed.size, passed.content.len);
		cr_assert(is_object(&oid, passed.type, &passed.content), "%s", names[i]);
		sink.add = refuse_passed;
		cr_assert_eq(ews_pack_reader_read(&content, &type, reader, packs, &oid, &sink, NULL), EWS_ENOSPACE);
		cr_assert_eq(ews_pack_reader_read(&content, &type, reader, packs, &small, &sink, NULL), 1);
		cr_assert(is_object(&small, type, content));
		cr_assert_eq(ews_pack_reader_read(&content, &type, reader, packs, &oid, NULL, NULL), i != 1);
		cr_assert(i == 1 || is_object(&oid, type, content), "%s", names[i]);
		ews_pack_reader_done(reader);
		ews_buf_release(&passed.content);
	}
	ews_pack_reader_free(reader);
	ews_packs_free(packs);
}

struct watched {
	size_t resident_max; /* pages */
};

/* How many pages are in this process's memory, those of files that it maps among them? */
static size_t count_pages(void)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t size, resident;

	cr_assert_eq(ews_file_read_path(&text, "/proc/self/statm", EWS_KIB), 0);
	cr_assert_eq(sscanf(text.ptr, "%zu %zu", &size, &resident), 2);
	return resident;
}

static int begin_watched(void *payload, enum ews_object_type type, uint64_t size)
{
	(void)payload, (void)type, (void)size;
	return 0;
}

static int add_watched(void *payload, const void *data, size_t len)
{
	struct watched *watched = payload;
	size_t now = count_pages();

	(void)data, (void)len;
	watched->resident_max = now > watched->resident_max ? now : watched->resident_max;
	return 0;
}

Test(pack_read, what_is_passed_takes_no_memory)
{
	struct ews_pack_reader *reader = ews_pack_reader_new();
	struct watched watched = { 0 };
	struct ews_pack_sink sink = { begin_watched, add_watched, &watched };
	const struct ews_buf *content;
	enum ews_object_type type;
	struct ews_packs *packs;
	struct ews_oid oid;
	size_t before;

	fixture_shell(
		"head -c 50000000 /dev/urandom >noise && cd r && { echo blob && echo data 50000000 && cat ../noise; } |"
		"git -c fastimport.unpackLimit=0 fast-import --quiet");
	oid = hash_file("noise");
	packs = ews_packs_open(OBJECTS);
	before = count_pages();
	cr_assert_eq(ews_pack_reader_read(&content, &type, reader, packs, &oid, &sink, NULL), 2);
	cr_assert_lt((watched.resident_max - before) * (size_t)sysconf(_SC_PAGESIZE), 4 * EWS_MIB);
	ews_pack_reader_free(reader);
	ews_packs_free(packs);
}

/* Write the object to a file; returns what that returned. */
static int write_to_file(const struct ews_oid *oid)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/r/.git", fixture_top());
	int rc, fd = open("written", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct ews_odb *odb;

	cr_assert_geq(fd, 0);
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0);
	rc = ews_odb_write_to(fd, odb, oid);
	ews_odb_free(odb);
	close(fd);
	return rc;
}

Test(pack_read, a_large_file_is_whole_though_one_pack_of_two_is_damaged)
{
	struct ews_oid oid;

	fixture_shell(
		"mkdir sound && head -c 5000000 /dev/urandom >noise && cd r && rm -rf .git/objects/pack/* &&"
		"git hash-object -w ../noise >id && git pack-objects -q .git/objects/pack/pack <id && git prune-packed");
	oid = hash_file("noise");
	cr_assert_eq(write_to_file(&oid), 0, "%s", ews_error_message());
	fixture_shell(
		"cmp noise written && cp r/.git/objects/pack/* sound && chmod u+w r/.git/objects/pack/* &&"
		"printf damaged | dd bs=1 seek=4000000 conv=notrunc status=none of=$(echo r/.git/objects/pack/*.pack)");
	cr_assert_eq(write_to_file(&oid), EWS_EDAMAGED);
	ews_error_clear();
	fixture_shell("for f in sound/*; do cp \"$f\" \"r/.git/objects/pack/z${f##*/}\" || exit 1; done");
	cr_assert_eq(write_to_file(&oid), 0, "%s", ews_error_message());
	fixture_shell(
		"cmp noise written && rm r/.git/objects/pack/z* && cd r && mv .git/objects/pack ../apart &&"
		"mkdir .git/objects/pack && git hash-object -w ../noise && rmdir .git/objects/pack && mv ../apart .git/objects/pack");
	cr_assert_eq(write_to_file(&oid), 0, "%s", ews_error_message());
	fixture_shell("cmp noise written");
}

/* Bytes that are stored as they are, so that whoever reads them alone sees nothing wrong with others. */
Test(pack_read, what_another_pack_has_sound_is_read_whichever_comes_first)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/r/.git", fixture_top());
	static const char *const names[] = { "a", "z" };
	EWS_CLEANUP(buf) struct ews_buf noise = EWS_BUF_INIT;
	struct ews_oid oid;

	fixture_shell(
		"mkdir sound && head -c 50000 /dev/urandom >noise && cd r && rm -rf .git/objects/pack/* &&"
		"git hash-object -w ../noise >id && git pack-objects -q .git/objects/pack/pack <id && git prune-packed &&"
		"cp .git/objects/pack/* ../sound && chmod u+w .git/objects/pack/* &&"
		"printf damaged | dd bs=1 seek=40000 conv=notrunc status=none of=$(echo .git/objects/pack/*.pack)");
	oid = hash_file("noise");
	cr_assert_eq(ews_file_read(&noise, AT_FDCWD, "noise", EWS_MIB), 0);
	for (size_t i = 0; i < 2; i++) {
		EWS_CLEANUP(free)
		char *bring = ews_strfmt("rm -f r/.git/objects/pack/[az]* && for f in sound/*; do "
					 "cp \"$f\" \"r/.git/objects/pack/%s${f##*/}\" || exit 1; done",
					 names[i]);
		EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
		struct ews_odb *odb;

		fixture_shell("%s", bring);
		cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0);
		for (int again = 0; again < 2; again++) {
			cr_assert_eq(ews_odb_read(&out, NULL, odb, &oid), 0, "%s: %s", names[i], ews_error_message());
			cr_assert(out.len == noise.len && !memcmp(out.ptr, noise.ptr, noise.len));
			ews_buf_truncate(&out, 0);
		}
		ews_odb_free(odb);
	}
}

/* A delta of one byte that names its base by its id. */
static void add_delta(struct ews_buf *pack, struct ews_deflater *deflater, const struct ews_oid *base)
{
	static const char delta[] = { 1, 1, 1, 'x' };

	ews_buf_addc(pack, (char)(7 << 4 | sizeof(delta)));
	ews_buf_add(pack, base->id, 20);
	ews_deflate(pack, deflater, false, delta, sizeof(delta));
}

Test(pack_read, deltas_of_each_other_are_damaged)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/r/.git", fixture_top());
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();
	EWS_CLEANUP(buf) struct ews_buf pack = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf index = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	struct ews_pack_item items[2] = { { id_of("0123456789012345678901234567890123456789"), 0, 12 },
					  { id_of("1123456789012345678901234567890123456789"), 0, 0 } };
	struct ews_oid oid = items[0].oid;
	uint8_t sum[EWS_HASH_MAX];
	struct ews_odb *odb;

	ews_buf_add(&pack, "PACK\0\0\0\2\0\0\0\2", 12);
	add_delta(&pack, deflater, &items[1].oid);
	items[1].offset = pack.len;
	add_delta(&pack, deflater, &items[0].oid);
	ews_hash_once(EWS_SHA1, sum, pack.ptr, pack.len);
	ews_buf_add(&pack, sum, 20);
	ews_pack_format_index(&index, items, 2, EWS_SHA1, sum);
	cr_assert_eq(ews_file_replace(AT_FDCWD, OBJECTS "/pack/pack-circle.pack", pack.ptr, pack.len, 0600), 0);
	cr_assert_eq(ews_file_replace(AT_FDCWD, OBJECTS "/pack/pack-circle.idx", index.ptr, index.len, 0600), 0);
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0);
	cr_assert_eq(ews_odb_read(&out, NULL, odb, &oid), EWS_EDAMAGED);
	ews_odb_free(odb);
}

Test(pack_read, what_is_damaged_in_its_pack_is_read_beside_it)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/r/.git", fixture_top());
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	struct ews_oid oid = rev_parse("HEAD:text"), other = rev_parse("HEAD:large");
	enum ews_object_type type;
	struct ews_odb *odb;
	uint64_t size;

	fixture_shell(
		"cd r/.git/objects && git -C ../.. cat-file blob HEAD:text >text && mv pack sound && mkdir pack &&"
		"git -C ../.. hash-object -w .git/objects/text && rm -r pack && mv sound pack && chmod u+w pack/*.pack &&"
		"size=$(cat pack/*.pack | wc -c) &&"
		"head -c $((size - 32)) /dev/zero | dd bs=4096 seek=12 oflag=seek_bytes conv=notrunc status=none of=$(echo pack/*.pack)");
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0);
	cr_assert_eq(ews_odb_read(&out, &type, odb, &oid), 0);
	cr_assert_eq(ews_odb_read_header(&type, &size, odb, &oid), 0, "%s", ews_error_message());
	cr_assert_eq(type, EWS_OBJECT_BLOB);
	cr_assert_eq(size, out.len);
	cr_assert_eq(ews_odb_read_header(&type, &size, odb, &other), EWS_EDAMAGED);
	ews_odb_free(odb);
}

/* Put other bytes into the file, now here, now there. */
static void damage(const char *glob)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	off_t size;
	int fd;

	fixture_ask(&path, "chmod u+w %s && echo %s", glob, glob);
	ews_buf_rtrim(&path);
	fd = open(path.ptr, O_RDWR | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	size = lseek(fd, 0, SEEK_END);
	for (int i = 0; i < 4; i++) {
		unsigned char byte = (unsigned char)fixture_pick(256);

		cr_assert_eq(pwrite(fd, &byte, 1, 12 + (off_t)fixture_pick((size_t)size - 12)), 1);
	}
	close(fd);
}

Test(pack_read, of_a_damaged_pack_nothing_comes_as_something_else)
{
	static const char *const files[] = { OBJECTS "/pack/*.pack", OBJECTS "/pack/*.idx" };
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/r/.git", fixture_top());
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;

	list_all(&list);
	fixture_shell("cp -R r/.git/objects/pack sound");
	for (int turn = 0; turn < 60; turn++) {
		EWS_CLEANUP(free) char *lines = ews_strdup(list.ptr);
		struct ews_odb *odb;
		char *rest = lines, *line;

		fixture_shell("rm -rf r/.git/objects/pack && cp -R sound r/.git/objects/pack");
		damage(FIXTURE_ONE_OF(files));
		cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0);
		while ((line = strsep(&rest, "\n"))) {
			EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
			struct ews_oid oid = id_of(line);
			enum ews_object_type type;

			if (ews_odb_read(&out, &type, odb, &oid) == 0)
				cr_assert(is_object(&oid, type, &out));
			ews_error_clear();
		}
		ews_odb_free(odb);
	}
}
