/*
 * What a tripwire is told: see tripwire_told.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire_told.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "store/lock.h"
#include "work/branch_move.h"
#include "work/tripwire_line.h"

#define TOLD_FILE "told-refs" /* "ref <name> <id>" a line, of all sessions */
#define TOLD_INDEX_FILE \
	"told-index" /* "<git directory, escaped> <digest> <digest>" a line, likewise; the latest come last */
#define TOLD_MOVES_FILE "told-moves" /* "<ref> <id> <id>" a line, likewise */
#define TOLD_MAX 200 /* lines of either of these */
#define TOLD_LOCK "~told-refs" /* no session's id */
#define LOCK_WAIT_MS 10000

/* What a line of TOLD_INDEX_FILE begins with that is of this work tree. The caller frees it. */
static char *told_index_prefix(const struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;

	ews_path_escape(&escaped, repo->git_dir, strlen(repo->git_dir));
	ews_buf_addc(&escaped, ' ');
	return ews_buf_steal(&escaped);
}

void ews_tripwire_read_told(struct ews_strv *out, const struct ews_repo *repo)
{
	if (repo->dir_fd >= 0 && ews_tripwire_read_lines(out, repo->dir_fd, TOLD_FILE) < 0)
		ews_error_clear();
}

void ews_tripwire_read_staged(struct ews_strv *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *prefix = told_index_prefix(repo);

	if (repo->dir_fd >= 0 && ews_tripwire_read_lines(&lines, repo->dir_fd, TOLD_INDEX_FILE) < 0)
		ews_error_clear();
	for (size_t i = 0; i < lines.n; i++)
		if (ews_str_begins(lines.items[i], prefix))
			ews_strv_add(out, lines.items[i] + strlen(prefix));
}

void ews_tripwire_read_moves(struct ews_strv *out, const struct ews_repo *repo)
{
	if (repo->dir_fd >= 0 && ews_tripwire_read_lines(out, repo->dir_fd, TOLD_MOVES_FILE) < 0)
		ews_error_clear();
}

/*
 * Is it about a ref that is not there any more, or about `name`, which stands elsewhere? Where that still stands it is told until it has
 * moved, for whoever looks in between.
 */
static bool is_outdated(const char *line, const char *name, struct ews_repo *repo)
{
	size_t len = ews_tripwire_name_len(line);
	EWS_CLEANUP(free) char *ref = len > 4 ? ews_strndup(line + 4, len - 4) : ews_strdup("");
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid oid;
	int rc = ews_odb_ref_read(&oid, repo->odb, ref);

	if (rc < 0)
		return ews_error_if_passing(rc) == 0;
	return !strcmp(ref, name) && strcmp(line + len + 1, ews_oid_hex(hex, &oid)) != 0;
}

static char *told_line(const char *name, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	return ews_strfmt("ref %s %s", name, ews_oid_hex(hex, oid));
}

static void tell_ref(struct ews_repo *repo, const char *name, const struct ews_oid *oid)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv kept = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *line = told_line(name, oid);
	int rc = ews_tripwire_read_lines(&lines, repo->dir_fd, TOLD_FILE);

	/* None yet, or none that makes sense; what can't be read just now is not written anew without what it says. */
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return;
	for (size_t i = 0; i < lines.n; i++)
		if (!is_outdated(lines.items[i], name, repo))
			ews_strv_add(&kept, lines.items[i]);
	if (!ews_strv_has(&kept, line))
		ews_strv_add(&kept, line);
	(void)ews_tripwire_write_lines(repo->dir_fd, TOLD_FILE, &kept);
}

int ews_tripwire_move_ref(struct ews_repo *repo, const char *name, const struct ews_oid *from,
			  const struct ews_oid *to)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	/* Held until the ref is there: one that is not is one that nobody has to be told of any more. */
	bool is_telling = ews_repo_lock(&lock, repo, TOLD_LOCK, "tell", LOCK_WAIT_MS) == 0;
	int rc;

	if (is_telling)
		tell_ref(repo, name, to);
	ews_error_clear();
	rc = ews_odb_ref_swap(repo->odb, name, from, to);
	if (rc < 0 || !is_telling || !from)
		return rc;
	/* It has left where it stood: who moves it back there is named. */
	tell_ref(repo, name, to);
	ews_error_clear();
	return 0;
}

bool ews_tripwire_has_moved_ref(const struct ews_repo *repo, const char *name, const struct ews_oid *oid)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *line = told_line(name, oid);

	if (ews_tripwire_read_lines(&lines, repo->dir_fd, TOLD_FILE) < 0)
		ews_error_clear(); /* none yet, or none that can be read */
	return ews_strv_has(&lines, line);
}

/* Let `line` be the last one. */
static void add_last(struct ews_repo *repo, const char *file, const char *line)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv kept = EWS_STRV_INIT;
	int rc = ews_tripwire_read_lines(&lines, repo->dir_fd, file);

	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return; /* as with refs */
	for (size_t i = lines.n >= TOLD_MAX ? lines.n - TOLD_MAX + 1 : 0; i < lines.n; i++)
		if (strcmp(lines.items[i], line) != 0)
			ews_strv_add(&kept, lines.items[i]);
	ews_strv_add(&kept, line);
	(void)ews_tripwire_write_lines(repo->dir_fd, file, &kept);
}

static void tell_last(struct ews_repo *repo, const char *file, const char *line)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;

	if (ews_repo_lock(&lock, repo, TOLD_LOCK, "tell", LOCK_WAIT_MS) == 0)
		add_last(repo, file, line);
	ews_error_clear();
}

void ews_tripwire_tell_move(struct ews_repo *repo, const char *name, const struct ews_oid *from,
			    const struct ews_oid *to)
{
	EWS_CLEANUP(free) char *line = ews_branch_move_format(name, from, to);

	tell_last(repo, TOLD_MOVES_FILE, line);
}

void ews_tripwire_tell_index(struct ews_repo *repo, const char *before, const char *after)
{
	const char *was = before ? before : EWS_TRIPWIRE_NO_INDEX, *is = after ? after : EWS_TRIPWIRE_NO_INDEX;
	EWS_CLEANUP(free) char *prefix = told_index_prefix(repo);
	EWS_CLEANUP(free) char *line = ews_strfmt("%s%s %s", prefix, was, is);

	if (strcmp(was, is) != 0)
		tell_last(repo, TOLD_INDEX_FILE, line);
}
