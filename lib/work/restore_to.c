/*
 * Restore into a directory: see restore_to.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/restore_to.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/gitfile.h"
#include "store/hardlink.h"
#include "store/home.h"
#include "store/put.h"
#include "store/scan.h"

/* What stands there now, of any kind: nothing is ignored, nothing is read but to compare. */
static int scan_dir(struct ews_scan *out, struct ews_repo *repo, int fd)
{
	struct ews_scan_opts opts = { .root_fd = fd, .with_ignored = true, .may_chmod = true };
	struct ews_scan_fill_opts fill = { .odb = repo->odb, .may_chmod = true };
	int rc = ews_scan(out, &opts);

	return rc < 0 ? rc : ews_scan_fill(out, &fill);
}

/* Would anything that is there be overwritten? What changes but its names or its owner is not lost. */
static bool is_in_the_way(const struct ews_change *change)
{
	return change->from && !(change->from->type == EWS_ENTRY_DIR && change->to->type == EWS_ENTRY_DIR) &&
	       !ews_entry_equal(change->from, change->to);
}

static void measure_aside(struct ews_revert_result *out, int fd, const char *aside, const char *path)
{
	EWS_CLEANUP(free) char *there = ews_path_join(aside, path);
	const char *name;
	EWS_CLEANUP(fd) int dir = ews_dir_open_parent(fd, there, &name);

	if (dir < 0)
		ews_error_clear(); /* a number for people */
	else
		ews_transition_measure(&out->put, dir, name);
}

/* Move what would be overwritten below `aside`, and make the changes start from nothing there. */
static int move_aside(struct ews_revert_result *out, struct ews_changes *changes, int fd, const char *aside)
{
	for (size_t i = 0; i < changes->n; i++) {
		struct ews_change *change = &changes->items[i];
		int rc;

		if (!is_in_the_way(change))
			continue;
		change->from = NULL;
		rc = ews_put_aside(fd, change->path, aside);
		if (rc == EWS_ENOTFOUND) {
			ews_error_clear(); /* it has gone since it was seen */
			continue;
		}
		if (rc < 0)
			return rc;
		measure_aside(out, fd, aside, change->path);
		ews_path_line_addf(&out->put.kept, change->path, "kept in %s, under its own path", aside);
	}
	return 0;
}

/* Drop removals and unwanted paths: what the snapshot doesn't know stays as it is. */
static void keep_additions(struct ews_changes *changes, const char *const *only)
{
	size_t kept = 0;

	for (size_t i = 0; i < changes->n; i++) {
		bool is_wanted = !only;

		for (const char *const *x = only; x && *x; x++)
			is_wanted = is_wanted || ews_path_is_inside(changes->items[i].path, *x) ||
				    (changes->items[i].to && changes->items[i].to->type == EWS_ENTRY_DIR &&
				     ews_path_is_inside(*x, changes->items[i].path));
		if (is_wanted && changes->items[i].to)
			changes->items[kept++] = changes->items[i];
	}
	changes->n = kept;
}

/* `is_made` says whether it had to be made. */
static int open_target(bool *is_made, const char *dir, bool force, bool dry_run)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	ssize_t n;
	int rc = ews_file_is_there(AT_FDCWD, dir);

	*is_made = rc == 0 && !dry_run;
	if (rc >= 0)
		rc = dry_run ? 0 : ews_dir_make_absolute(dir, 0777);
	if (rc < 0)
		return rc;
	fd = ews_dir_open(dir);
	if (fd < 0)
		return fd;
	n = ews_dir_names_read(&names, fd);
	if (n < 0)
		return (int)n;
	if (n > 0 && !force) {
		ews_error(EWS_EEXISTS, "'%s' is not empty", dir);
		ews_error_hint("--force restores into it and keeps what it overwrites in '.ews-trash'");
		return EWS_EEXISTS;
	}
	return ews_steal_fd(&fd);
}

/* What stays in the directory is not ours to part or to join. */
static enum ews_hardlink_fate fate_of(void *payload, const char *path)
{
	const struct ews_revert_opts *opts = payload;

	return ews_path_is_inside_any(path, opts->only) ? EWS_HARDLINK_FREE : EWS_HARDLINK_STAYS;
}

/* What must be put where `now` is, so that it has all of `target`. */
static void find_additions(struct ews_changes *out, const struct ews_entries *now, const struct ews_entries *target,
			   const struct ews_revert_opts *opts)
{
	const struct ews_hardlink_opts names = { .now = now,
						 .want = target,
						 .equal = opts->owners ? ews_entry_equal_with_owner : ews_entry_equal,
						 .keeps_replaced = true,
						 .fate = fate_of,
						 .payload = (void *)opts };

	ews_changes_between(out, now, target, names.equal);
	keep_additions(out, opts->only);
	ews_hardlinks_plan(out, &names);
}

/* Files that are as they should be, but belong to others, or are not one with those that they should be. */
static void prove_names_and_owners(struct ews_revert_result *out, const struct ews_entries *after,
				   const struct ews_entries *target, const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;

	find_additions(&changes, after, target, opts);
	for (size_t i = 0; i < changes.n; i++) {
		const struct ews_change *change = &changes.items[i];

		if (!change->from || !ews_entry_equal(change->from, change->to))
			continue;
		ews_path_line_add(&out->put.errors, change->path,
				  opts->owners && !ews_entry_same_owner(change->from, change->to)
					  ? "belongs to somebody else"
					  : "has other hard links");
	}
}

/* Is everything that was wanted there, with the content that the snapshot has? */
static int prove(struct ews_revert_result *out, struct ews_repo *repo, int fd, const struct ews_entries *wanted,
		 const struct ews_entries *target, const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(scan) struct ews_scan after = EWS_SCAN_INIT;
	EWS_CLEANUP(entries) struct ews_entries there = EWS_ENTRIES_INIT;
	int rc = scan_dir(&after, repo, fd);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < wanted->n; i++) {
		struct ews_entry *now = ews_entries_find(&after.entries, wanted->items[i].path);

		/* Of a submodule a directory is all that a snapshot can make. */
		if (now && now->type == EWS_ENTRY_DIR && wanted->items[i].type == EWS_ENTRY_GITLINK) {
			now->type = EWS_ENTRY_GITLINK;
			now->oid = wanted->items[i].oid;
		}
		if (now)
			ews_entries_add_copy(&there, now);
		if (now && ews_entry_equal(now, &wanted->items[i]))
			continue;
		ews_path_line_add(&out->put.errors, wanted->items[i].path, now ? "differs" : "is missing");
	}
	prove_names_and_owners(out, &after.entries, target, opts);
	ews_manifest_hash(out->put.original_hash, wanted);
	ews_manifest_hash(out->put.current_hash, &there);
	out->put.is_verified = out->put.errors.n == 0;
	return 0;
}

/* A directory that was made is as the one that the snapshot is of, once all is in it. */
static int dress(struct ews_revert_result *out, int fd, const struct ews_content *target)
{
	int rc = ews_content_write_root_xattrs(&out->put.lost_attrs, target, fd);

	if (rc < 0)
		return rc;
	if (target->root_mode && fchmod(fd, target->root_mode) < 0)
		return ews_error_os("cannot set the mode of the directory");
	return 0;
}

int ews_restore_to(struct ews_revert_result *out, struct ews_repo *repo, const struct ews_snapshot *snapshot,
		   const char *dir, bool force, const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(free) char *name = ews_clock_id("restore", ews_clock_now());
	EWS_CLEANUP(free) char *aside = ews_path_join(EWS_TRASH_ELSEWHERE, name);
	EWS_CLEANUP(fd) int fd = -1;
	EWS_CLEANUP(content) struct ews_content target = EWS_CONTENT_INIT;
	EWS_CLEANUP(scan) struct ews_scan now = EWS_SCAN_INIT;
	EWS_CLEANUP(entries) struct ews_entries wanted = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	struct ews_put_opts put = { .odb = repo->odb,
				    .source_fd = -1,
				    .times = EWS_PUT_TIMES_KEEP,
				    .as_seen = true,
				    .owners = opts->owners,
				    .progress = opts->progress,
				    .payload = opts->payload };
	bool is_made;
	int rc = ews_snapshot_content(&target, repo, snapshot);

	if (rc == 0)
		rc = ews_content_check_only(NULL, &target, opts->only, snapshot->id);
	if (rc == 0 && opts->owners)
		rc = ews_content_need_owners(&target, snapshot->id);
	if (rc < 0)
		return rc;
	put.root_fd = fd = open_target(&is_made, dir, force, opts->dry_run);
	if (fd == EWS_ENOTFOUND && opts->dry_run)
		ews_error_clear(); /* it would be made */
	else if (fd < 0)
		return fd;
	/* What looks like one may be a copy of what was recorded. */
	if (fd >= 0 && !ews_entries_find(&target.scan.entries, "HEAD"))
		rc = ews_gitfile_refuse_git_dir(fd, dir);
	if (rc == 0 && fd >= 0)
		rc = scan_dir(&now, repo, fd);
	if (rc < 0)
		return rc;
	ews_scan_close(&now);
	find_additions(&changes, &now.entries, &target.scan.entries, opts);
	for (size_t i = 0; i < changes.n; i++) {
		ews_strv_add(&out->put.restored, changes.items[i].path);
		if (opts->dry_run && is_in_the_way(&changes.items[i]))
			ews_path_line_add(&out->put.kept, changes.items[i].path, "in the way");
	}
	if (opts->dry_run)
		return 0;
	for (size_t i = 0; i < target.scan.entries.n; i++) {
		const struct ews_entry *entry = &target.scan.entries.items[i];

		if (ews_path_is_inside_any(entry->path, opts->only))
			ews_entries_add_copy(&wanted, entry);
	}
	rc = move_aside(out, &changes, fd, aside);
	if (rc == 0)
		rc = ews_put(&report, &changes, &put);
	ews_strv_add_array(&out->put.errors, report.failed.items);
	ews_strv_add_array(&out->put.lost_attrs, report.lost_attrs.items);
	if (rc < 0 && out->put.kept.n)
		ews_error_hint("what stood in the way is in '%s/%s', under its own path", dir, aside);
	if (rc < 0)
		return rc;
	rc = prove(out, repo, fd, &wanted, &target.scan.entries, opts);
	/* Last: its mode may close it to us. */
	return rc == 0 && is_made && !opts->only ? dress(out, fd, &target) : rc;
}
