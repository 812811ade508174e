/*
 * Members of an archive: see archive_member.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/archive_member.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "store/libarchive.h"

#define BLOCK (128 * EWS_KIB)

int ews_archive_member_fail(struct archive *archive, const char *what)
{
	const char *why = ews_libarchive.archive_error_string(archive);
	int err = ews_libarchive.archive_errno(archive);
	bool is_io = err == EIO || err == EBADF || err == EACCES;

	ews_error(is_io ? EWS_EIO : EWS_EDAMAGED, "%s: %s", what, why ? why : "libarchive gives no reason");
	if (!is_io)
		ews_error_hint(
			"it is cut off or damaged, or something else than an archive: 'git ews archive verify' reads it whole");
	return is_io ? EWS_EIO : EWS_EDAMAGED;
}

int ews_archive_member_open(struct archive **out, int fd)
{
	struct archive *archive;
	int rc = ews_libarchive_need();

	if (rc < 0)
		return rc;
	archive = ews_libarchive.archive_read_new();
	/* One that would need a program is not read: no program is started for a file that comes from anywhere. */
	if (!archive || ews_libarchive.archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_bzip2(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_xz(archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_read_support_filter_zstd(archive) != ARCHIVE_OK) {
		(void)ews_libarchive.archive_read_free(archive);
		return ews_error(EWS_EUNSUPPORTED, "libarchive was built without gz, bz2, xz or zstd here");
	}
	if (lseek(fd, 0, SEEK_SET) < 0) {
		(void)ews_libarchive.archive_read_free(archive);
		return ews_error_os("cannot read the archive from its start");
	}
	if (ews_libarchive.archive_read_open_fd(archive, fd, BLOCK) != ARCHIVE_OK) {
		rc = ews_archive_member_fail(archive, "this is no tar archive");
		(void)ews_libarchive.archive_read_free(archive);
		return rc;
	}
	*out = archive;
	return 0;
}

int ews_archive_member_next(struct archive *archive, struct archive_entry **head)
{
	int rc = ews_libarchive.archive_read_next_header(archive, head);

	if (rc == ARCHIVE_EOF)
		return 0;
	if (rc < ARCHIVE_WARN)
		return ews_archive_member_fail(archive, "the archive can't be read to its end");
	return 1;
}

char *ews_archive_member_path(const char *name)
{
	const char *rest;
	size_t len;

	while ((rest = ews_str_after(name, "./")))
		name = rest + strspn(rest, "/");
	if (!strcmp(name, "."))
		name = "";
	len = strlen(name);
	while (len && name[len - 1] == '/')
		len--;
	return ews_strndup(name, len ? len : *name == '/');
}

/* A part of a file, at its place; what lies between is zeros. */
typedef int (*part_fn)(void *payload, uint64_t at, const void *data, size_t len);

static int each_part(struct archive *archive, uint64_t size, part_fn fn, void *payload)
{
	uint64_t end = 0;

	for (;;) {
		const void *data;
		size_t len;
		la_int64_t at;
		int rc = ews_libarchive.archive_read_data_block(archive, &data, &len, &at);

		if (rc == ARCHIVE_EOF)
			return 0;
		if (rc < ARCHIVE_WARN)
			return ews_archive_member_fail(archive, "the archive can't be read to its end");
		if (at < 0 || (uint64_t)at < end || (uint64_t)at > size || len > size - (uint64_t)at)
			return ews_error(EWS_EDAMAGED, "the archive has a file with parts beyond its end");
		end = (uint64_t)at + len;
		rc = len ? fn(payload, (uint64_t)at, data, len) : 0;
		if (rc < 0)
			return rc;
	}
}

/* Somebody who wants all bytes of a file, zeros included; and their hash. */
struct whole {
	struct ews_hash *hash;
	uint64_t at;
	ews_archive_data_fn fn; /* may be NULL */
	void *payload;
};

static int hand_on(struct whole *whole, const void *data, size_t len)
{
	ews_hash_add(whole->hash, data, len);
	whole->at += len;
	return whole->fn ? whole->fn(whole->payload, data, len) : 0;
}

static int fill_up(struct whole *whole, uint64_t until)
{
	static const char zeros[BLOCK];
	int rc = 0;

	while (whole->at < until && rc == 0)
		rc = hand_on(whole, zeros, until - whole->at < BLOCK ? (size_t)(until - whole->at) : BLOCK);
	return rc;
}

static int add_part(void *payload, uint64_t at, const void *data, size_t len)
{
	struct whole *whole = payload;
	int rc = fill_up(whole, at);

	return rc < 0 ? rc : hand_on(whole, data, len);
}

int ews_archive_member_read(struct ews_oid *out, struct archive *archive, uint64_t size, ews_archive_data_fn fn,
			    void *payload)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	struct whole whole = { hash, 0, fn, payload };
	int rc = each_part(archive, size, add_part, &whole);

	if (rc == 0)
		rc = fill_up(&whole, size);
	if (rc < 0)
		return rc;
	*out = (struct ews_oid)EWS_OID_NONE;
	out->len = (uint8_t)ews_hash_finish(hash, out->id);
	return 0;
}
