/*
 * Objects that are damaged, or can't be read just now, kept from libgit2, which waits for the rest of the former for ever and says of the
 * latter that they are not there: a part of odb_libgit2.c's room.
 *
 * A backend that has nothing, and is asked after that of our packs and before that of loose objects and those of other stores.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb_libgit2.h"

#include <stdlib.h>
#include <string.h>

#include <git2/sys/odb_backend.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "store/object_dirs.h"
#include "store/odb.h"
#include "store/odb_ops.h"

/* That of packs, as libgit2 adds them; of two that are alike the older goes first. */
#define PRIORITY 2

struct guard {
	git_odb_backend face;
	const struct ews_odb *odb;
};

_Thread_local int ews_libgit2_unread;

static int look(const struct guard *guard, const struct ews_oid *oid)
{
	int rc = ews_odb_check_loose(guard->odb, oid);
	bool is_unread = rc < 0 && ews_errno_is_passing(ews_error_errno());

	if (rc < 0)
		ews_libgit2_unread = ews_error_errno();
	if (is_unread)
		ews_git2.git_error_set_str(GIT_ERROR_ODB, ews_error_message());
	else if (rc == EWS_EDAMAGED)
		ews_git2.git_error_set_str(GIT_ERROR_ODB, "it is not whole");
	ews_error_clear();
	return is_unread || rc == EWS_EDAMAGED ? GIT_ERROR : GIT_ENOTFOUND;
}

static int guard_read(void **data, size_t *len, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
	struct ews_oid oid;

	(void)data, (void)len, (void)type;
	ews_libgit2_to_oid(&oid, id);
	return look((const struct guard *)backend, &oid);
}

static int guard_read_header(size_t *len, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
	return guard_read(NULL, len, type, backend, id);
}

/* Look at those in the directory "<dir>/<2 hex>" whose ids begin so. */
static int look_in(const struct guard *guard, const char *dir, const char *hex, size_t len)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/%.2s", dir, hex);
	EWS_CLEANUP(fd) int fd = ews_dir_open(path);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);
	int rc = GIT_ENOTFOUND;

	ews_error_clear(); /* libgit2 says what can't be read */
	for (ssize_t i = 0; i < n && rc == GIT_ENOTFOUND; i++) {
		EWS_CLEANUP(free) char *full = ews_strfmt("%.2s%s", hex, names.items[i].name);
		struct ews_oid oid;

		if (!strncmp(full, hex, len) && ews_oid_parse(&oid, full) == 0)
			rc = look(guard, &oid);
		ews_error_clear();
	}
	return rc;
}

static int guard_read_prefix(git_oid *full, void **data, size_t *data_len, git_object_t *type,
			     git_odb_backend *backend, const git_oid *prefix, size_t len)
{
	const struct guard *guard = (const struct guard *)backend;
	EWS_CLEANUP(strv) struct ews_strv dirs = EWS_STRV_INIT;
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid oid;
	int rc = GIT_ENOTFOUND;

	(void)full, (void)data, (void)data_len, (void)type;
	ews_libgit2_to_oid(&oid, prefix);
	ews_oid_hex(hex, &oid);
	ews_object_dirs_add(&dirs, ews_odb_write_dir(guard->odb));
	for (size_t i = 0; i < dirs.n && rc == GIT_ENOTFOUND; i++)
		rc = look_in(guard, dirs.items[i], hex, len);
	return rc;
}

static void guard_free(git_odb_backend *backend)
{
	free(backend);
}

int ews_libgit2_guard(git_odb *db, const struct ews_odb *odb)
{
	struct guard *guard = ews_calloc(1, sizeof(*guard));
	int rc;

	guard->face = (git_odb_backend){ .version = GIT_ODB_BACKEND_VERSION,
					 .read = guard_read,
					 .read_prefix = guard_read_prefix,
					 .read_header = guard_read_header,
					 .free = guard_free };
	guard->odb = odb;
	rc = ews_git2.git_odb_add_backend(db, &guard->face, PRIORITY);
	if (rc == 0)
		return 0;
	free(guard);
	return ews_libgit2_fail(rc, EWS_EGIT, "cannot open '%s'", ews_odb_write_dir(odb));
}
