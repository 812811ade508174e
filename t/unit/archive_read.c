/*
 * What is written into an archive is read from it, whatever it is; its contents come in any order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/archive_read.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "store/archive_stream.h"
#include "store/archive_write.h"

#define MANY (64 * EWS_MIB)

static int make_file(const char *text, size_t hole)
{
	char name[] = "/tmp/ews-archive-XXXXXX";
	int fd = mkstemp(name);

	cr_assert_geq(fd, 0);
	unlink(name);
	cr_assert_eq(pwrite(fd, text, strlen(text), (off_t)hole), (ssize_t)strlen(text));
	return fd;
}

static struct ews_entry *add(struct ews_entries *list, const char *path, enum ews_entry_type type, unsigned mode)
{
	struct ews_entry *entry = ews_entries_add(list, path, strlen(path));

	entry->type = (uint8_t)type;
	entry->mode = (uint16_t)mode;
	entry->has_time = true;
	entry->mtime_s = -5;
	entry->mtime_ns = 123456789;
	return entry;
}

/* An archive of a directory, a file with a hole before `text`, another name of it, and a link. */
static int make_archive(const char *text, size_t hole, enum ews_compression how)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(archive_writer) struct ews_archive_writer *writer = NULL;
	EWS_CLEANUP(fd) int file = make_file(text, hole);
	EWS_CLEANUP(buf) struct ews_buf record = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf manifest = EWS_BUF_INIT;
	int fd = make_file("", 0);
	struct ews_oid oid;

	cr_assert_eq(ews_archive_digest(&oid, file, hole + strlen(text), NULL), 0);
	add(&list, "a", EWS_ENTRY_DIR, 0701)->xattrs = "user.a=6200\nuser.b=c=00\n";
	add(&list, "a/f", EWS_ENTRY_FILE, 04755)->size = hole + strlen(text);
	list.items[1].oid = oid;
	add(&list, "a/g", EWS_ENTRY_FILE, 04755)->size = hole + strlen(text);
	list.items[2].oid = oid;
	list.items[2].first_name = list.items[1].path;
	add(&list, "l\xff\n", EWS_ENTRY_LINK, 0777)->size = 3;
	list.items[3].oid.len = (uint8_t)ews_hash_once(EWS_SHA256, list.items[3].oid.id, "a/f", 3);
	list.knows_names = true;
	ews_buf_adds(&record, "{}");
	ews_manifest_format(&manifest, &list, &(struct ews_skips)EWS_SKIPS_INIT);
	cr_assert_eq(ews_archive_writer_new(&writer, fd, how, &list), 0, "%s", ews_error_message());
	cr_assert_eq(ews_archive_writer_add_text(writer, EWS_ARCHIVE_RECORD, &record, 1), 0);
	cr_assert_eq(ews_archive_writer_add_text(writer, EWS_ARCHIVE_MANIFEST, &manifest, 1), 0);
	for (size_t i = 0; i < list.n; i++)
		cr_assert_eq(ews_archive_writer_add(writer, &list.items[i], "a/f", file), 0, "%s",
			     ews_error_message());
	cr_assert_eq(ews_archive_writer_finish(writer), 0);
	return fd;
}

static int collect(void *payload, const void *data, size_t len)
{
	ews_buf_add(payload, data, len);
	return 0;
}

Test(archive_read, what_was_written_is_read)
{
	for (int how = EWS_COMPRESSION_NONE; how <= EWS_COMPRESSION_ZSTD; how++) {
		EWS_CLEANUP(archive_content) struct ews_archive_content whole = EWS_ARCHIVE_CONTENT_INIT;
		EWS_CLEANUP(archive_content) struct ews_archive_content told = EWS_ARCHIVE_CONTENT_INIT;
		EWS_CLEANUP(fd) int fd = make_archive("tail", 300000, (enum ews_compression)how);

		cr_assert_eq(ews_archive_read(&whole, fd, MANY), 0, "%s", ews_error_message());
		cr_assert_eq(ews_archive_look(&told, fd, MANY), 0, "%s", ews_error_message());
		cr_expect_eq(whole.flaws.n, 0, "%s", whole.flaws.items[0]);
		cr_expect_str_eq(whole.checksum, told.checksum);
		cr_expect_eq(whole.entries.n, 4);
		cr_expect_str_eq(whole.entries.items[0].xattrs, "user.a=6200\nuser.b=c=00\n");
		cr_expect_eq(whole.entries.items[1].mtime_s, -5);
		cr_expect_str_eq(whole.entries.items[2].first_name, "a/f");
		cr_expect_str_eq(whole.entries.items[3].path, "l\xff\n");
	}
}

Test(archive_read, attributes_have_any_name)
{
	static const char *const attrs[] = { "user.a=6200\n",  "user.a b=00\n",    "user.\303\251=01\n",
					     "user.\377=02\n", "user.a\\012=03\n", "user.100%25=04\n",
					     "user.a=b=05\n",  "user.\"q=06\n",    "user.\\\\=07\n",
					     "user.empty=\n" };

	for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++) {
		EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
		EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
		EWS_CLEANUP(archive_writer) struct ews_archive_writer *writer = NULL;
		EWS_CLEANUP(fd) int fd = make_file("", 0);

		add(&list, "d", EWS_ENTRY_DIR, 0755)->xattrs = attrs[i];
		cr_assert_eq(ews_archive_writer_new(&writer, fd, EWS_COMPRESSION_NONE, &list), 0);
		cr_assert_eq(ews_archive_writer_add(writer, &list.items[0], NULL, -1), 0, "%s", ews_error_message());
		cr_assert_eq(ews_archive_writer_finish(writer), 0);
		cr_assert_eq(ews_archive_read(&content, fd, MANY), 0, "%s", ews_error_message());
		cr_expect_str_eq(content.entries.items[0].xattrs, attrs[i]);
	}
}

Test(archive_read, contents_come_in_any_order)
{
	EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
	EWS_CLEANUP(fd) int fd = make_archive("tail", 300000, EWS_COMPRESSION_GZ);
	EWS_CLEANUP(archive_stream) struct ews_archive_stream *stream = NULL;
	EWS_CLEANUP(buf) struct ews_buf link = EWS_BUF_INIT;

	cr_assert_eq(ews_archive_look(&content, fd, MANY), 0);
	stream = ews_archive_stream_new(&content, fd);
	cr_assert_eq(ews_archive_stream_link(stream, &link, &content.entries.items[3]), 0, "%s", ews_error_message());
	cr_expect_str_eq(link.ptr, "a/f");
	for (size_t i = 2; i > 0; i--) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		cr_assert_eq(ews_archive_stream_each(stream, &content.entries.items[i], collect, &text), 0, "%s",
			     ews_error_message());
		cr_expect_eq(text.len, 300004);
		cr_expect_str_eq(text.ptr + 300000, "tail");
	}
	cr_expect_lt(ews_archive_stream_link(stream, &link, &content.entries.items[1]), 0);
}

Test(archive_read, a_file_that_is_not_what_was_said_spoils_the_archive)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(archive_writer) struct ews_archive_writer *writer = NULL;
	EWS_CLEANUP(fd) int file = make_file("text", 0);
	EWS_CLEANUP(fd) int fd = make_file("", 0);
	struct ews_entry *entry = add(&list, "f", EWS_ENTRY_FILE, 0644);
	struct ews_oid oid;

	cr_expect_eq(ews_archive_digest(&oid, file, 3, NULL), EWS_ESTALE);
	cr_expect_eq(ews_archive_digest(&oid, file, 5, NULL), EWS_ESTALE);
	entry->size = 4;
	entry->oid.len = 32;
	cr_assert_eq(ews_archive_writer_new(&writer, fd, EWS_COMPRESSION_NONE, &list), 0);
	cr_expect_eq(ews_archive_writer_add(writer, entry, NULL, file), EWS_ESTALE);
}

Test(archive_read, limits_and_ends_are_told_apart)
{
	EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
	EWS_CLEANUP(fd) int fd = make_archive("tail", 300000, EWS_COMPRESSION_NONE);
	EWS_CLEANUP(fd) int empty = make_file("", 0);
	EWS_CLEANUP(fd) int text = make_file("no archive at all, only a text that is long enough to be one", 0);

	cr_expect_eq(ews_archive_read(&content, fd, 300003), EWS_EDENIED);
	cr_expect_eq(ews_archive_read(&content, text, MANY), EWS_EDAMAGED);
	cr_assert_eq(ftruncate(fd, 5000), 0);
	cr_expect_eq(ews_archive_read(&content, fd, MANY), EWS_EDAMAGED);
	cr_expect_eq(content.entries.n, 0);
	cr_expect_leq(ews_archive_read(&content, empty, MANY), 0);
}
