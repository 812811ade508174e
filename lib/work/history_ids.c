/*
 * Ids that git's own files name: see history_ids.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/history_ids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/scan_open.h"
#include "work/session_place.h"

#define READ_BYTES 65536

/* A git directory that is searched. */
struct search {
	struct ews_oids *out;
	struct ews_strv *closed;
	enum ews_hash_algo algo;
	int git_fd;
	struct ews_strv opened; /* directories that are closed again in the end */
};

static size_t hex_len_of(enum ews_hash_algo algo)
{
	return algo == EWS_SHA1 ? 40 : 64;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

void ews_history_add_ids(struct ews_oids *out, const char *text, size_t len, enum ews_hash_algo algo)
{
	size_t hex_len = hex_len_of(algo);

	for (size_t at = 0, end; at < len; at = end + 1) {
		char hex[EWS_OID_HEX_MAX] = "";
		struct ews_oid oid;

		for (end = at; end < len && is_hex(text[end]); end++)
			;
		if (end - at != hex_len)
			continue;
		memcpy(hex, text + at, hex_len);
		if (strspn(hex, "0") < hex_len && ews_oid_parse(&oid, hex) == 0)
			ews_oids_add(out, &oid);
	}
}

/* By errno, of `path`. */
static int judge(const struct search *search, const char *path)
{
	EWS_CLEANUP(free) char *shown = NULL;

	if (ews_errno_is_absent_or_link(errno) || errno == ENXIO)
		return 0; /* what is not there, a link or a socket names nothing */
	if (errno != EACCES && errno != EPERM)
		return ews_error_os("cannot read '%s' of the workspace's own git", path);
	shown = ews_path_join(".git", path);
	if (search->closed) {
		ews_path_line_add_once(search->closed, shown, "may not be read");
		return 0;
	}
	ews_error(EWS_EDENIED, "'%s' of the workspace may not be read, and what it names would be lost", shown);
	ews_error_hint("make it readable, or have 'git ews end' name it");
	return EWS_EDENIED;
}

/* Step by step, whatever the size. What is cut by the end of a step is looked at with the next one. */
static int search_text(const struct search *search, int fd, const char *path)
{
	size_t kept = 0, longest = hex_len_of(search->algo) + 1;
	char text[READ_BYTES];
	ssize_t n;

	do {
		size_t len, whole;

		do
			n = read(fd, text + kept, sizeof(text) - kept);
		while (n < 0 && errno == EINTR);
		if (n < 0 && errno == EISDIR)
			return 0;
		if (n < 0)
			return judge(search, path);
		len = whole = kept + (size_t)n;
		while (n && whole && is_hex(text[whole - 1]))
			whole--;
		ews_history_add_ids(search->out, text, whole, search->algo);
		kept = len - whole;
		/* Of a word that is too long for an id so much as shows that. */
		if (kept > longest)
			kept = longest;
		memmove(text, text + len - kept, kept);
	} while (n);
	return 0;
}

static int search_file(const struct search *search, int dir_fd, const char *name, const char *path)
{
	EWS_CLEANUP(fd) int fd = ews_scan_open_file(dir_fd, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return judge(search, path);
	return S_ISREG(st.st_mode) ? search_text(search, fd, path) : 0;
}

static bool is_dir(int dir_fd, const struct ews_dirent *entry)
{
	struct stat st;

	if (entry->type != DT_UNKNOWN)
		return entry->type == DT_DIR;
	return fstatat(dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A directory of the git directory, and all below it. */
static int search_below(struct search *search, const char *rel)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(strv) struct ews_strv dirs = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int fd = ews_scan_open_dir(&search->opened, search->git_fd, rel, false);
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);
	int rc = fd < 0 ? judge(search, rel) : 0;

	if (n < 0)
		return (int)n;
	for (ssize_t i = 0; i < n && rc == 0; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(rel, names.items[i].name);

		if (!is_dir(fd, &names.items[i]))
			rc = search_file(search, fd, names.items[i].name, path);
		else if (strlen(path) < PATH_MAX) /* of what is deeper git can't speak */
			ews_strv_add(&dirs, path);
	}
	ews_cleanup_fd(&fd); /* however deep they lie, one is open */
	for (size_t i = 0; i < dirs.n && rc == 0; i++)
		rc = search_below(search, dirs.items[i]);
	return rc;
}

int ews_history_list_ids(struct ews_oids *out, struct ews_strv *closed, const struct ews_session *session)
{
	EWS_CLEANUP(fd) int fd = session->method->is_project ? EWS_ENOTFOUND : ews_session_open_admin(session);
	struct search search = { out, closed, ews_odb_algo(session->repo->odb), fd, EWS_STRV_INIT };
	int rc;

	if (fd == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	rc = fd < 0 ? fd : search_below(&search, "logs");
	if (rc == 0)
		rc = search_below(&search, "refs");
	if (rc == 0)
		rc = search_file(&search, fd, "packed-refs", "packed-refs");
	if (rc == 0)
		rc = search_file(&search, fd, "ORIG_HEAD", "ORIG_HEAD");
	ews_scan_close_dirs(&search.opened, fd, false);
	ews_strv_release(&search.opened);
	ews_oids_sort(out);
	return rc;
}
