/*
 * Archive extraction: see archive_extract.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/archive_stream.h"
#include "store/archive_write.h"
#include "store/gitfile.h"
#include "store/hardlink.h"
#include "store/home.h"
#include "store/scan.h"

/* What a directory that is made here is to have. */
static mode_t find_mode(const struct ews_archive_extract_opts *opts)
{
	mode_t mask = umask(0);

	umask(mask);
	return opts->mode < 0 ? 0777 & ~mask : (mode_t)opts->mode;
}

/* The directories that are not there, the path itself and those above it, from below. */
static void list_missing(struct ews_strv *out, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	struct stat st;

	while (lstat(at, &st) < 0 && errno == ENOENT) {
		char *above = ews_path_dir(at);

		ews_strv_add(out, at);
		free(at);
		at = above;
	}
}

/* What was made goes again; one in which others have put something since stays, and so do those above it. */
static void remove_made(const struct ews_strv *made)
{
	for (size_t i = 0; i < made->n; i++)
		(void)rmdir(made->items[i]);
}

/*
 * The directory, and which were made for it. One that is made here has its mode at once, but for what would keep us out: who goes on
 * after a kill knows it no more.
 */
static int open_target(struct ews_strv *made, bool *is_empty, const struct ews_archive_extract_opts *opts)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	ssize_t n;
	int rc;

	if (!opts->dry_run)
		list_missing(made, opts->to);
	rc = opts->dry_run ? 0 : ews_dir_make_absolute(opts->to, 0777);
	if (rc < 0)
		return ews_error_wrap("'%s'", opts->to);
	fd = ews_dir_open(opts->to);
	if (fd < 0)
		return ews_error_wrap("'%s'", opts->to);
	if (made->n && fchmod(fd, find_mode(opts) | 0700) < 0)
		return ews_error_os("'%s': cannot set its mode", opts->to);
	n = ews_dir_names_read(&names, fd);
	if (n < 0)
		return (int)n;
	*is_empty = n == 0;
	if (n > 0 && !opts->force) {
		ews_error(EWS_EEXISTS, "'%s' is not empty", opts->to);
		ews_error_hint("--force makes it what the archive is, and keeps what was there in '" EWS_TRASH_ELSEWHERE
			       "'");
		return EWS_EEXISTS;
	}
	return ews_steal_fd(&fd);
}

/* A digest as the archive has them, of the file or link `name`, which has `size` bytes. */
static int find_digest(struct ews_oid *out, int dir, const char *name, const struct ews_entry *entry)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;

	if (entry->type == EWS_ENTRY_LINK) {
		if (ews_dir_read_link(&text, dir, name) < 0)
			return ews_error_os("cannot read the link");
		out->len = (uint8_t)ews_hash_once(EWS_SHA256, out->id, text.ptr, text.len);
		return 0;
	}
	fd = ews_dir_open_file(dir, name, O_RDONLY, 0);
	return fd < 0 ? fd : ews_archive_digest(out, fd, entry->size, NULL);
}

/* The digest where it is wanted: of what the archive knows under that path. */
static void read_digest(struct ews_entry *entry, int root, const struct ews_archive_content *content)
{
	const struct ews_entry *wanted = ews_entries_find(&content->entries, entry->path);
	const char *name;
	EWS_CLEANUP(fd) int dir = -1;

	if (!wanted || wanted->type != entry->type || wanted->size != entry->size ||
	    (entry->type != EWS_ENTRY_FILE && entry->type != EWS_ENTRY_LINK))
		return;
	dir = ews_dir_open_parent(root, entry->path, &name);
	if (dir < 0 || find_digest(&entry->oid, dir, name, entry) < 0) {
		entry->oid = (struct ews_oid)EWS_OID_NONE;
		ews_error_clear(); /* then it is something else */
	}
}

/* May extraction change what stands there? */
static bool is_ours(const struct ews_archive_content *content, const char *path)
{
	return !ews_archive_is_own(path) && !ews_entry_path_names_git(path) &&
	       !ews_skips_covering(&content->skips, path);
}

/* Is there something beneath the directory that stays? The paths there follow it; git's files in the place of its directories are left out. */
static bool holds_what_stays(const struct ews_scan *now, const struct ews_archive_content *content, size_t i)
{
	const char *dir = now->entries.items[i].path;

	for (size_t k = 0; k < now->skips.n; k++)
		if (ews_skip_is_gits(now->skips.items[k].reason) && ews_path_is_inside(now->skips.items[k].path, dir))
			return true;
	for (size_t k = i + 1; k < now->entries.n && ews_path_is_inside(now->entries.items[k].path, dir); k++)
		if (!is_ours(content, now->entries.items[k].path))
			return true;
	return false;
}

/* The directory would have to go, and with it what stays. */
static int fail_in_the_way(const struct ews_entry *dir, const struct ews_entry *wanted)
{
	ews_error(EWS_EEXISTS, "'%s' is a %s in the archive, and here a directory with what has to stay", dir->path,
		  ews_entry_type_name(wanted->type));
	ews_error_hint(
		"nothing was written; what stays are git directories, and what was left out of the archive: move '%s' away",
		dir->path);
	return EWS_EEXISTS;
}

/* What stands there, of any kind, but for what is to stay. */
static int scan_target(struct ews_scan *out, int fd, const struct ews_archive_content *content)
{
	static const char *const own[] = { EWS_TRASH_ELSEWHERE, NULL };
	const struct ews_scan_opts opts = {
		.root_fd = fd,
		.with_ignored = true,
		.into_repositories = true,
		.with_repositories = true,
		.own = own,
		.may_chmod = true,
	};
	const struct ews_scan_fill_opts fill = { .attrs_only = true, .may_chmod = true };
	int rc = ews_scan(out, &opts);
	size_t kept = 0;

	if (rc == 0)
		rc = ews_scan_fill(out, &fill);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < out->entries.n; i++) {
		struct ews_entry *entry = &out->entries.items[i];
		const struct ews_entry *wanted = ews_entries_find(&content->entries, entry->path);

		/* A repository that has nothing but its git directory. */
		if (entry->type == EWS_ENTRY_GITLINK)
			entry->type = EWS_ENTRY_DIR;
		if (!is_ours(content, entry->path))
			entry->type = 0;
		if (entry->type != EWS_ENTRY_DIR || (wanted && wanted->type == EWS_ENTRY_DIR) ||
		    !holds_what_stays(out, content, i))
			continue;
		if (wanted)
			return fail_in_the_way(entry, wanted);
		entry->type = 0;
	}
	for (size_t i = 0; i < out->entries.n; i++) {
		if (!out->entries.items[i].type)
			continue;
		out->entries.items[kept] = out->entries.items[i];
		read_digest(&out->entries.items[kept++], fd, content);
	}
	out->entries.n = kept;
	ews_hardlinks_find(&out->entries);
	return 0;
}

/* What is in the way goes below `aside`, whole directories at once; changes begin from nothing there. */
static int move_aside(struct ews_archive_extracted *out, struct ews_changes *changes, int fd, const char *aside)
{
	const char *gone = NULL;
	size_t left = 0;

	for (size_t i = 0; i < changes->n; i++) {
		struct ews_change *change = &changes->items[i];
		bool is_inside = gone && ews_path_is_inside(change->path, gone);

		/* What changes but its mode, its time or its names is not lost; nor is a directory that stays one. */
		if (change->from && !is_inside &&
		    !(change->to && change->from->type == change->to->type &&
		      (change->to->type == EWS_ENTRY_DIR || ews_oid_equal(&change->from->oid, &change->to->oid)))) {
			int rc = ews_put_aside(fd, change->path, aside);

			if (rc < 0 && rc != EWS_ENOTFOUND)
				return rc;
			if (rc < 0)
				ews_error_clear(); /* it has gone since it was seen */
			else
				ews_path_line_addf(&out->kept, change->path, "kept in %s, under its own path", aside);
			gone = change->path;
			is_inside = true;
		}
		if (is_inside)
			change->from = NULL;
		if (change->from || change->to)
			changes->items[left++] = *change;
	}
	changes->n = left;
	return 0;
}

static int write_content(void *payload, int fd, const struct ews_entry *to)
{
	return ews_archive_stream_write(payload, fd, to);
}

static int read_link(void *payload, struct ews_buf *text, const struct ews_entry *to)
{
	return ews_archive_stream_link(payload, text, to);
}

static int holds(void *payload, int dir_fd, const char *name, const struct ews_entry *from)
{
	struct ews_oid oid = EWS_OID_NONE;
	int rc = find_digest(&oid, dir_fd, name, from);

	(void)payload;
	return rc < 0 ? rc : ews_oid_equal(&oid, &from->oid);
}

struct place {
	size_t order, at;
};

static int cmp_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* The changes in the order of the members that they need: all of the archive is read once. */
static size_t *find_order(const struct ews_changes *changes, const struct ews_archive_content *content)
{
	EWS_CLEANUP(free) struct place *places = ews_calloc(changes->n + 1, sizeof(*places));
	size_t *order = ews_calloc(changes->n + 1, sizeof(*order));

	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_entry *to = changes->items[i].to;

		places[i] = (struct place){ to ? content->order[to - content->entries.items] : 0, i };
	}
	if (changes->n)
		qsort(places, changes->n, sizeof(*places), cmp_place);
	for (size_t i = 0; i < changes->n; i++)
		order[i] = places[i].at;
	return order;
}

/* Take the attribute that begins with `name` out of their text, when it is there. */
static bool drop_attr(struct ews_entries *list, struct ews_entry *entry, const char *name)
{
	for (const char *line = entry->xattrs; line && *line; line = strchr(line, '\n') + 1) {
		EWS_CLEANUP(buf) struct ews_buf rest = EWS_BUF_INIT;

		if (!ews_str_begins(line, name))
			continue;
		ews_buf_add(&rest, entry->xattrs, (size_t)(line - entry->xattrs));
		ews_buf_adds(&rest, strchr(line, '\n') + 1);
		entry->xattrs = rest.len ? ews_arena_dup(&list->arena, rest.ptr, rest.len) : NULL;
		return true;
	}
	return false;
}

/*
 * What a program may do in the name of its owner, or by capabilities that its owner was given, is no right of whoever
 * extracts it: root would turn a user's programs into root's.
 */
static void drop_rights(struct ews_archive_extracted *out, struct ews_entries *list, bool with_owners)
{
	bool takes_owners = with_owners && geteuid() == 0;

	for (size_t i = 0; i < list->n && !takes_owners; i++) {
		struct ews_entry *entry = &list->items[i];
		bool is_user = entry->has_owner && entry->uid == geteuid();
		bool is_group = entry->has_owner && entry->gid == getegid();
		unsigned lost = (is_user ? 0 : S_ISUID) | (is_group ? 0 : S_ISGID);

		if (entry->type != EWS_ENTRY_FILE)
			continue;
		if (entry->mode & lost & S_ISUID)
			ews_path_line_add(&out->put.lost_attrs, entry->path, "set-user-ID: it was another user's");
		if (entry->mode & lost & S_ISGID)
			ews_path_line_add(&out->put.lost_attrs, entry->path, "set-group-ID: it was another group's");
		entry->mode = (uint16_t)(entry->mode & ~lost);
		if (!is_user && drop_attr(list, entry, "security.capability="))
			ews_path_line_add(&out->put.lost_attrs, entry->path,
					  "security.capability: it was another user's");
		entry->has_owner = with_owners; /* else nobody asks whose it was */
	}
}

/* Owners that were wanted, and are not there now. */
static void name_owners(struct ews_archive_extracted *out, int fd, const struct ews_entries *list)
{
	struct stat st;

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry *entry = &list->items[i];

		if (entry->has_owner && fstatat(fd, entry->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (st.st_uid != entry->uid || st.st_gid != entry->gid))
			ews_path_line_add(&out->put.lost_attrs, entry->path, "owner");
	}
}

/* Once all is in it. */
static int set_mode(int fd, const struct ews_archive_extract_opts *opts)
{
	if (fchmod(fd, find_mode(opts)) < 0)
		return ews_error_os("'%s': cannot set its mode", opts->to);
	return 0;
}

static int refuse_flaws(const struct ews_archive_content *content)
{
	const char *line = content->flaws.n ? content->flaws.items[0] : NULL;
	const char *tab = line ? strchr(line, '\t') : NULL;

	if (!tab)
		return 0;
	ews_error(EWS_EDAMAGED, "the archive is damaged: '%.*s' %s", (int)(tab - line), line, tab + 1);
	ews_error_hint("nothing was written; 'git ews archive verify' names all that is wrong");
	return EWS_EDAMAGED;
}

static int put_all(struct ews_archive_extracted *out, int fd, int archive_fd, const struct ews_changes *changes,
		   struct ews_archive_content *content, const struct ews_archive_extract_opts *opts)
{
	EWS_CLEANUP(archive_stream)
	struct ews_archive_stream *stream = ews_archive_stream_new(content, archive_fd);
	EWS_CLEANUP(free) size_t *order = find_order(changes, content);
	const struct ews_put_contents contents = { order, write_content, read_link, holds, stream };
	const struct ews_put_opts put = { .root_fd = fd,
					  .stats = { &content->entries },
					  .contents = &contents,
					  .source_fd = -1,
					  .times = EWS_PUT_TIMES_KEEP,
					  .as_seen = true,
					  .owners = opts->owners,
					  .progress = opts->progress,
					  .payload = opts->payload };

	return ews_put_all(&out->put, changes, &put);
}

/* Is it what was made for the entry, and as it was made? A file's ctime moves with each of its names, which go one by one. */
static bool is_as_made(int dir, const char *name, const struct ews_archive_content *content,
		       const struct ews_entry *entry)
{
	/* A name that was not noted yet is known by the first. */
	const struct ews_entry *made = entry->has_stat || !entry->first_name
					       ? entry
					       : ews_entries_find(&content->entries, entry->first_name);
	struct stat st;

	if (entry->type == EWS_ENTRY_DIR)
		return true; /* it goes if it is empty */
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && made->has_stat && st.st_dev == made->dev &&
	       st.st_ino == made->ino && (uint64_t)st.st_size == made->size && st.st_mtim.tv_sec == made->mtime_s &&
	       (uint32_t)st.st_mtim.tv_nsec == made->mtime_ns;
}

/* Nothing was there before, so that what came so far goes again; what others have put there since stays. */
static void take_back(int fd, const struct ews_archive_content *content)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	for (size_t i = content->entries.n; i > 0; i--) {
		const struct ews_entry *entry = &content->entries.items[i - 1];
		const char *name;
		EWS_CLEANUP(fd) int dir = ews_dir_open_parent(fd, entry->path, &name);

		/* What did not come can't go, either. */
		if (dir >= 0 && is_as_made(dir, name, content, entry))
			(void)unlinkat(dir, name, entry->type == EWS_ENTRY_DIR ? AT_REMOVEDIR : 0);
	}
	(void)ews_error_restore(&why);
}

static int extract(struct ews_archive_extracted *out, int fd, struct ews_archive_content *content,
		   struct ews_strv *made, const struct ews_archive_extract_opts *opts)
{
	EWS_CLEANUP(scan) struct ews_scan now = EWS_SCAN_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(entries)
	struct ews_entries owned = EWS_ENTRIES_INIT; /* as wanted; the others become what is made */
	EWS_CLEANUP(free) char *name = NULL;
	EWS_CLEANUP(free) char *aside = NULL;
	EWS_CLEANUP(fd) int target = -1;
	struct ews_hardlink_opts names = { .now = &now.entries,
					   .want = &content->entries,
					   .equal = opts->owners ? ews_entry_equal_with_time_and_owner
								 : ews_entry_equal_with_time,
					   .keeps_replaced = true };
	bool is_empty = false;
	int rc = target = open_target(made, &is_empty, opts);

	/* What looks like one may be a copy of what was archived. */
	if (rc >= 0 && !ews_entries_find(&content->entries, "HEAD"))
		rc = ews_gitfile_refuse_git_dir(target, opts->to);
	if (rc == EWS_ENOTFOUND && opts->dry_run) {
		ews_error_clear();
		rc = 0;
	} else if (rc >= 0) {
		rc = scan_target(&now, target, content);
		ews_scan_close(&now);
	}
	if (rc < 0)
		return rc;
	drop_rights(out, &content->entries, opts->owners);
	ews_changes_between(&changes, &now.entries, &content->entries, names.equal);
	ews_hardlinks_plan(&changes, &names);
	out->n_changes = changes.n;
	if (opts->dry_run)
		return 0;
	if (opts->owners)
		ews_entries_add_all(&owned, &content->entries);
	name = ews_clock_id("extract", ews_clock_now());
	aside = ews_path_join(EWS_TRASH_ELSEWHERE, name);
	rc = move_aside(out, &changes, target, aside);
	if (rc == 0)
		rc = put_all(out, target, fd, &changes, content, opts);
	if (rc == 0)
		name_owners(out, target, &owned);
	if (rc == 0 && made->n)
		rc = set_mode(target, opts);
	if (rc < 0 && is_empty)
		take_back(target, content);
	if (rc < 0 && out->kept.n)
		ews_error_hint("what stood in the way is in '%s/%s', under its own path", opts->to, aside);
	else if (rc < 0 && out->put.failed.n)
		ews_error_hint("try again with another directory, or with --force");
	return rc;
}

int ews_archive_extract(struct ews_archive_extracted *out, int fd, struct ews_archive_content *content,
			const struct ews_archive_extract_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv made = EWS_STRV_INIT;
	int rc = refuse_flaws(content);

	if (rc == 0)
		rc = extract(out, fd, content, &made, opts);
	if (rc < 0)
		remove_made(&made);
	return rc;
}

void ews_archive_extracted_release(struct ews_archive_extracted *extracted)
{
	ews_put_report_release(&extracted->put);
	ews_strv_release(&extracted->kept);
}
