/*
 * Ignored files: see ignored.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/ignored.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "store/cache.h"
#include "store/manifest.h"
#include "work/rules.h"
#include "work/session_place.h"

#define GITIGNORE ".gitignore"
#define INCLUDE_FILE ".worktreeinclude"
#define INCLUDE_BYTES_MAX (16 * EWS_MIB)
#define LIST_FILE "ignored" /* in the session's directory */
#define LIST_MAGIC "ews-ignored "
#define LIST_HEADER LIST_MAGIC "1 "
#define LIST_BYTES_MAX (4 * EWS_GIB)
#define SMALL_BYTES (200 * EWS_MIB)

/* What becomes of an entry that the scan of what is ignored found. */
enum fate {
	LEFT = 0,
	NEEDED, /* a directory that comes along when something in it does */
	ON_THE_WAY, /* such a one that does */
	KEPT,
};

void ews_ignored_release(struct ews_ignored *ignored)
{
	ews_entries_release(&ignored->entries);
	*ignored = (struct ews_ignored)EWS_IGNORED_INIT;
}

void ews_ignored_changes_release(struct ews_ignored_changes *changes)
{
	ews_strv_release(&changes->newer);
	ews_strv_release(&changes->gone);
	ews_strv_release(&changes->changed);
}

static bool is_dir(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_DIR;
}

static bool is_file(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK;
}

/* The rules of ".worktreeinclude"; `*out` stays NULL when there is none. */
static int read_include(struct ews_ignore **out, struct ews_repo *repo, int project_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool fold_case;
	int rc = ews_file_read(&text, project_fd, INCLUDE_FILE, INCLUDE_BYTES_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = ews_config_git_bool(&fold_case, repo->odb, "core.ignoreCase", false);
	if (rc == 0)
		*out = ews_ignore_new(text.ptr, text.len, NULL, 0, fold_case);
	return rc;
}

static void list_ignored(struct ews_strv *out, const struct ews_skips *skips)
{
	for (size_t i = 0; i < skips->n; i++)
		if (skips->items[i].reason == EWS_SKIP_IGNORED)
			ews_strv_add(out, skips->items[i].path);
}

/* Does `path` lie in something that the project ignores, not on the way to it? */
static bool is_ignored(const struct ews_skips *skips, const char *path)
{
	const struct ews_skip *skip = ews_skips_covering(skips, path);

	return skip && skip->reason == EWS_SKIP_IGNORED;
}

/* Which of `seen` come along; the twin's own paths are not among them, nor what lies below a file of it. */
static void judge(enum fate *fates, const struct ews_entries *seen, const struct ews_content *twin,
		  const struct ews_ignore *include)
{
	const char *blocked = NULL, *whole = NULL;

	for (size_t i = 0; i < seen->n; i++) {
		const struct ews_entry *entry = &seen->items[i];
		const struct ews_entry *own = ews_entries_find(&twin->scan.entries, entry->path);

		if (blocked && ews_path_is_inside(entry->path, blocked))
			continue;
		if (own || entry->type == EWS_ENTRY_GITLINK) {
			if (!own || !is_dir(own))
				blocked = entry->path;
			continue;
		}
		fates[i] = is_dir(entry) ? NEEDED : LEFT;
		if (!is_ignored(&twin->scan.skips, entry->path))
			continue;
		if (include && !(whole && ews_path_is_inside(entry->path, whole)) &&
		    !ews_ignore_match(include, entry->path, is_dir(entry)))
			continue;
		fates[i] = KEPT;
		if (!whole || !ews_path_is_inside(entry->path, whole))
			whole = entry->path;
	}
	for (size_t i = seen->n, next = seen->n; i-- > 0;) {
		if (fates[i] == NEEDED)
			fates[i] = next < seen->n && ews_path_is_inside(seen->items[next].path, seen->items[i].path)
					   ? ON_THE_WAY
					   : LEFT;
		if (fates[i] != LEFT)
			next = i;
	}
}

static void count(struct ews_ignored *out, const enum fate *fates, const struct ews_entries *seen)
{
	for (size_t i = 0; i < seen->n; i++) {
		const struct ews_entry *entry = &seen->items[i];

		if (!is_file(entry))
			continue;
		*(fates[i] == KEPT ? &out->kept_files : &out->left_files) += 1;
		*(fates[i] == KEPT ? &out->kept_bytes : &out->left_bytes) += entry->size;
	}
	out->is_measured = true;
}

/* Can files of the project be cloned into the workspace? Tried with one of them. */
static bool can_clone(const struct ews_entries *seen, int project_fd, int workspace_fd)
{
	for (size_t i = 0; i < seen->n; i++) {
		EWS_CLEANUP(fd) int from = -1;
		EWS_CLEANUP(fd) int to = -1;

		if (seen->items[i].type != EWS_ENTRY_FILE || !seen->items[i].size)
			continue;
		from = ews_dir_open_file(project_fd, seen->items[i].path, O_RDONLY, 0);
		ews_error_clear();
		if (from < 0)
			continue;
		to = openat(workspace_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
		return to >= 0 && ioctl(to, FICLONE, from) == 0;
	}
	return false;
}

static void note_left(struct ews_strv *notes, const struct ews_ignored *ignored)
{
	ews_strv_addf(notes,
		      "%" PRIu64 " ignored files of %" PRIu64 " MiB were left out; --keep-ignored takes them along",
		      ignored->left_files, (uint64_t)(ignored->left_bytes / EWS_MIB));
}

/* What comes along is no longer left out, but there. */
static void mark_present(struct ews_skips *skips, const enum fate *fates, const struct ews_entries *seen)
{
	EWS_CLEANUP(skips) struct ews_skips present = EWS_SKIPS_INIT;
	size_t kept = 0;

	for (size_t i = 0; i < seen->n; i++) {
		const struct ews_entry *entry = &seen->items[i];
		struct ews_skip *last = present.n ? &present.items[present.n - 1] : NULL;

		if (fates[i] != KEPT)
			continue;
		if (!last || !ews_path_is_inside(entry->path, last->path)) {
			ews_skips_add(&present, entry->path, EWS_SKIP_PRESENT, 0);
			last = &present.items[present.n - 1];
		}
		last->size += entry->size;
	}
	for (size_t i = 0; i < skips->n; i++) {
		const struct ews_skip *there = ews_skips_covering(&present, skips->items[i].path);

		if (!there || strcmp(there->path, skips->items[i].path))
			skips->items[kept++] = skips->items[i];
	}
	skips->n = kept;
	for (size_t i = 0; i < present.n; i++)
		ews_skips_add(skips, present.items[i].path, EWS_SKIP_PRESENT, present.items[i].size);
	ews_skips_sort(skips);
}

/* What lies among the ignored files and can't come along is named, as it is elsewhere. */
static void name_skips(struct ews_skips *out, const struct ews_skips *seen)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->items[i].reason != EWS_SKIP_IGNORED && seen->items[i].reason != EWS_SKIP_CHANGING)
			ews_skips_add(out, seen->items[i].path, seen->items[i].reason, seen->items[i].size);
	ews_skips_sort(out);
}

int ews_ignored_choose(struct ews_ignored *out, struct ews_repo *repo, struct ews_content *twin, int workspace_fd,
		       enum ews_keep_ignored keep, struct ews_strv *notes)
{
	EWS_CLEANUP(strv) struct ews_strv tops = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv own = EWS_STRV_INIT;
	EWS_CLEANUP(ignore) struct ews_ignore *exclude = NULL;
	EWS_CLEANUP(ignore) struct ews_ignore *include = NULL;
	EWS_CLEANUP(scan) struct ews_scan seen = EWS_SCAN_INIT;
	EWS_CLEANUP(free) enum fate *fates = NULL;
	EWS_CLEANUP(fd) int project = -1;
	struct ews_scan_opts scan = { .with_repositories = true, .into_mounts = true };
	struct ews_scan_fill_opts fill = { .odb = repo->odb, .attrs_only = true };
	int rc;

	list_ignored(&tops, &twin->scan.skips);
	if (!tops.n || keep == EWS_KEEP_IGNORED_NO)
		return 0;
	project = ews_dir_open(repo->project);
	rc = project < 0 ? project : read_include(&include, repo, project);
	if (rc == 0)
		rc = ews_rules_exclude(&exclude, repo, NULL);
	if (rc < 0)
		return rc;
	ews_rules_own(&own, repo, repo->project);
	scan.root_fd = project;
	scan.only = (const char *const *)tops.items;
	scan.own = (const char *const *)own.items;
	scan.exclude = exclude;
	rc = ews_scan(&seen, &scan);
	if (rc < 0)
		return ews_error_wrap("cannot look at what is ignored");
	fates = ews_calloc(seen.entries.n + 1, sizeof(*fates));
	judge(fates, &seen.entries, twin, include);
	count(out, fates, &seen.entries);
	if (keep == EWS_KEEP_IGNORED_AUTO && out->kept_bytes > SMALL_BYTES &&
	    !can_clone(&seen.entries, project, workspace_fd)) {
		out->left_files += out->kept_files;
		out->left_bytes += out->kept_bytes;
		out->kept_files = out->kept_bytes = 0;
		note_left(notes, out);
		return 0;
	}
	rc = ews_scan_fill(&seen, &fill);
	if (rc < 0)
		return ews_error_wrap("cannot look at what is ignored");
	/* What went away meanwhile is no entry any more. */
	memset(fates, 0, (seen.entries.n + 1) * sizeof(*fates));
	judge(fates, &seen.entries, twin, include);
	for (size_t i = 0; i < seen.entries.n; i++)
		if (fates[i] != LEFT)
			ews_entries_add_copy(&out->entries, &seen.entries.items[i]);
	mark_present(&twin->scan.skips, fates, &seen.entries);
	name_skips(&twin->scan.skips, &seen.skips);
	return 0;
}

void ews_ignored_drop(struct ews_ignored *ignored, struct ews_content *twin, const char *path)
{
	struct ews_skips *skips = &twin->scan.skips;
	size_t kept = 0;

	for (size_t i = 0; i < ignored->entries.n; i++) {
		const struct ews_entry *entry = &ignored->entries.items[i];

		if (!ews_path_is_inside(entry->path, path)) {
			ignored->entries.items[kept++] = *entry;
		} else if (is_file(entry)) {
			ignored->kept_files--;
			ignored->kept_bytes -= entry->size;
			ignored->left_files++;
			ignored->left_bytes += entry->size;
		}
	}
	ignored->entries.n = kept;
	for (size_t i = 0; i < skips->n; i++)
		if (skips->items[i].reason == EWS_SKIP_PRESENT && ews_path_is_inside(skips->items[i].path, path))
			skips->items[i].reason = EWS_SKIP_IGNORED;
}

/* Where the rules come from that will hold in the workspace. */
struct ruling {
	struct ews_odb *odb;
	const struct ews_entries *twin;
	const struct ews_entries *kept;
	int project_fd;
};

/* The .gitignore that will stand in `dir`: the twin's, else one that comes along as an ignored file itself. */
static int read_ruling(struct ews_buf *out, const struct ruling *ruling, const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, GITIGNORE);
	const struct ews_entry *entry = ews_entries_find(ruling->twin, path);
	enum ews_object_type type;

	if (entry && entry->type != EWS_ENTRY_FILE)
		return 0;
	if (entry)
		return entry->size > EWS_IGNORE_BYTES_MAX ? 0 : ews_odb_read(out, &type, ruling->odb, &entry->oid);
	if (!ews_entries_find(ruling->kept, path))
		return 0;
	return ews_ignore_read(out, ruling->project_fd, path);
}

/* Will `path`, or something on the way from `dir` to it, be ignored in the workspace? `rules` hold above `dir`. */
static int will_be_ignored(const struct ews_ignore *rules, const struct ruling *ruling, const char *dir,
			   const char *path, bool path_is_dir)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(ignore) struct ews_ignore *own = NULL;
	EWS_CLEANUP(free) char *next = NULL;
	size_t start = *dir ? strlen(dir) + 1 : 0;
	bool is_path;
	int rc = read_ruling(&text, ruling, dir);

	if (rc < 0)
		return rc;
	own = ews_ignore_enter(rules, dir, text.len ? text.ptr : NULL, text.len);
	next = ews_strndup(path, start + strcspn(path + start, "/"));
	is_path = !strcmp(next, path);
	if (ews_ignore_match(own, next, !is_path || path_is_dir))
		return 1;
	return is_path ? 0 : will_be_ignored(own, ruling, next, path, path_is_dir);
}

/* Those of what came along, as whole paths, that are .gitignore files, or those that are none, and will not be ignored. */
static int list_bare(struct ews_strv *out, const struct ews_ignored *ignored, const struct ews_skips *skips,
		     const struct ruling *ruling, const struct ews_ignore *rules, bool gitignores)
{
	for (size_t i = 0; i < skips->n; i++) {
		const char *path = skips->items[i].path;
		const struct ews_entry *entry;
		int rc;

		if (skips->items[i].reason != EWS_SKIP_PRESENT ||
		    gitignores != !strcmp(ews_path_base(path), GITIGNORE))
			continue;
		entry = ews_entries_find(&ignored->entries, path);
		rc = will_be_ignored(rules, ruling, "", path, entry && is_dir(entry));
		if (rc < 0)
			return rc;
		if (rc == 0)
			ews_strv_add(out, path);
	}
	return 0;
}

/*
 * Directories on the way to what comes along are no ignored ones: they are the twin's, as they are where it is the project as it
 * stands. Those that lead to nothing any more are not needed.
 */
static void settle_ways(struct ews_ignored *ignored, struct ews_content *twin)
{
	struct ews_entries *list = &ignored->entries;
	const char *below = NULL; /* what stands behind the entry and is needed */
	size_t at = list->n;

	/* From the end, since a directory stands before what it holds. */
	for (size_t i = list->n; i-- > 0;) {
		const struct ews_entry *entry = &list->items[i];
		const struct ews_skip *skip = ews_skips_covering(&twin->scan.skips, entry->path);
		bool is_way = is_dir(entry) && !(skip && skip->reason == EWS_SKIP_PRESENT);
		bool is_needed = !is_way || (below && ews_path_is_inside(below, entry->path));

		if (is_needed)
			below = entry->path;
		if (is_needed && is_way)
			ews_entries_add_copy(&twin->scan.entries, entry);
		if (!is_way)
			list->items[--at] = *entry;
	}
	if (at)
		memmove(list->items, list->items + at, (list->n - at) * sizeof(*list->items));
	list->n -= at;
	ews_entries_sort(&twin->scan.entries);
}

int ews_ignored_obey(struct ews_ignored *ignored, struct ews_repo *repo, struct ews_content *twin,
		     struct ews_strv *notes)
{
	EWS_CLEANUP(ignore) struct ews_ignore *rules = NULL;
	EWS_CLEANUP(fd) int project = ignored->entries.n ? ews_dir_open(repo->project) : -1;
	const struct ruling ruling = { repo->odb, &twin->scan.entries, &ignored->entries, project };
	int rc = 0;

	if (!ignored->entries.n)
		return 0;
	rc = project < 0 ? project : ews_rules_ignore(&rules, repo, repo->project);
	/* What a .gitignore says that doesn't come along holds for nothing. */
	for (int pass = 0; pass < 2 && rc == 0; pass++) {
		EWS_CLEANUP(strv) struct ews_strv bare = EWS_STRV_INIT;
		uint64_t n_before = ignored->kept_files;

		rc = list_bare(&bare, ignored, &twin->scan.skips, &ruling, rules, pass == 0);
		for (size_t i = 0; i < bare.n && rc == 0; i++)
			ews_ignored_drop(ignored, twin, bare.items[i]);
		if (rc == 0 && bare.n)
			ews_strv_addf(notes,
				      "%" PRIu64
				      " ignored files were left out, since nothing in the workspace says that "
				      "they are: '%s'%s",
				      n_before - ignored->kept_files, bare.items[0], bare.n > 1 ? ", ..." : "");
	}
	if (rc == 0)
		settle_ways(ignored, twin);
	return rc < 0 ? ews_error_wrap("cannot read the rules for ignored files") : 0;
}

/*
 * The list is no cache, which the next version may do without. It is text, behind a digest of it: of each entry what a manifest
 * does not have, then a manifest.
 *
 *     ews-ignored 1 <sha256 of what follows>
 *     <entries>
 *     <inode> <ctime's seconds>.<nanoseconds>, a line for each
 *     ews-manifest ...
 */
static void format_list(struct ews_buf *out, const struct ews_entries *entries)
{
	EWS_CLEANUP(buf) struct ews_buf body = EWS_BUF_INIT;
	struct ews_entries plain = *entries; /* borrowed */
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];

	ews_buf_addf(&body, "%zu\n", entries->n);
	for (size_t i = 0; i < entries->n; i++) {
		const struct ews_entry *entry = &entries->items[i];

		ews_buf_addf(&body, "%" PRIu64 " %" PRId64 ".%09" PRIu32 "\n", entry->ino, entry->ctime_s,
			     entry->ctime_ns);
	}
	plain.knows_names = false; /* nobody asks this list for them */
	ews_manifest_format(&body, &plain, NULL);
	ews_hash_once(EWS_SHA256, digest, body.ptr, body.len);
	ews_hex(hex, digest, EWS_SHA256_LEN);
	ews_buf_addf(out, LIST_HEADER "%s\n", hex);
	ews_buf_add(out, body.ptr, body.len);
}

int ews_ignored_write(int session_fd, const struct ews_ignored *ignored)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (!ignored->entries.n)
		return 0;
	format_list(&text, &ignored->entries);
	return ews_file_replace(session_fd, LIST_FILE, text.ptr, text.len, 0600);
}

/* What stands behind the header, when that, of whatever version, has its digest; NULL: it is not as it was written. */
static const char *find_body(const struct ews_buf *text)
{
	const char *version = ews_str_after(text->ptr, LIST_MAGIC);
	const char *blank = version ? strchr(version, ' ') : NULL;
	const char *hex = blank ? blank + 1 : NULL;
	const char *body = hex ? strchr(hex, '\n') : NULL;
	uint8_t digest[EWS_HASH_MAX], found[EWS_HASH_MAX];

	if (!body || body - hex != 2 * EWS_SHA256_LEN || ews_unhex(digest, EWS_SHA256_LEN, hex) < 0)
		return NULL;
	body++;
	ews_hash_once(EWS_SHA256, found, body, text->len - (size_t)(body - text->ptr));
	return memcmp(digest, found, EWS_SHA256_LEN) ? NULL : body;
}

/* The number that `end` follows; `*at` moves on behind that. */
static bool take_number(int64_t *out, const char **at, char end)
{
	char *rest;

	errno = 0;
	*out = strtoll(*at, &rest, 10);
	if (errno || rest == *at || *rest != end)
		return false;
	*at = rest + 1;
	return true;
}

/* One entry's line; `*at` moves on to the next one. */
static bool take_identity(struct ews_entry *entry, const char **at)
{
	int64_t ns;
	char *rest;

	errno = 0;
	entry->ino = strtoull(*at, &rest, 10);
	if (errno || rest == *at || *rest != ' ')
		return false;
	*at = rest + 1;
	if (!take_number(&entry->ctime_s, at, '.') || !take_number(&ns, at, '\n') || ns < 0 || ns > 999999999)
		return false;
	entry->ctime_ns = (uint32_t)ns;
	return true;
}

/* False: it makes no sense. */
static bool parse_body(struct ews_entries *out, const char *at, const char *end)
{
	const char *lines;
	int64_t n;

	if (!take_number(&n, &at, '\n'))
		return false;
	lines = at;
	for (int64_t i = 0; i < n && at; i++) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (!at || ews_manifest_parse(out, NULL, at, (size_t)(end - at)) < 0 || out->n != (uint64_t)n) {
		ews_error_clear();
		return false;
	}
	for (size_t i = 0; i < out->n; i++)
		if (!take_identity(&out->items[i], &lines))
			return false;
	return true;
}

/* As versions before wrote it: in the format of the cache, which this version may read, or not. */
static int read_cached(struct ews_entries *out, int session_fd)
{
	EWS_CLEANUP(cache) struct ews_cache list = EWS_CACHE_INIT;
	int rc = ews_cache_need(&list, session_fd, LIST_FILE);

	if (rc < 0)
		return rc;
	*out = list.entries;
	list.entries = (struct ews_entries)EWS_ENTRIES_INIT;
	return 0;
}

static int read_list(struct ews_entries *out, int session_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(entries) struct ews_entries entries = EWS_ENTRIES_INIT;
	const char *body;
	int rc = ews_file_read_own(&text, session_fd, LIST_FILE, LIST_BYTES_MAX);

	if (rc < 0)
		return rc;
	if (!ews_str_begins(text.ptr, LIST_MAGIC))
		return read_cached(out, session_fd);
	body = find_body(&text);
	if (body && !ews_str_begins(text.ptr, LIST_HEADER))
		return ews_error(EWS_EUNSUPPORTED, "'" LIST_FILE "' was written by another version");
	if (!body || !parse_body(&entries, body, text.ptr + text.len))
		return ews_error(EWS_EDAMAGED, "'" LIST_FILE "' makes no sense");
	*out = entries;
	entries = (struct ews_entries)EWS_ENTRIES_INIT;
	return 0;
}

int ews_ignored_read(struct ews_entries *out, const struct ews_session *session)
{
	int rc = session->method->is_project ? 0 : read_list(out, session->fd);

	if (rc == EWS_ENOTFOUND && !session->state.keeps_ignored) {
		ews_error_clear();
		return 0;
	}
	/* What can't be read just now is not lost: without it those files would be taken for new ones. */
	if (rc == EWS_EUNSUPPORTED || (rc == EWS_EIO && ews_errno_is_ours(ews_error_errno())))
		return ews_error_wrap("cannot read the list of ignored files that came along");
	return rc < 0 ? ews_error(EWS_EDAMAGED, "the list of ignored files that came along is lost") : 0;
}

static bool is_as_it_was(const struct ews_entry *then, const struct ews_entry *now)
{
	if (then->type != now->type)
		return false;
	return is_dir(then) || (then->size == now->size && then->mode == now->mode && then->ino == now->ino &&
				then->mtime_s == now->mtime_s && then->mtime_ns == now->mtime_ns &&
				then->ctime_s == now->ctime_s && then->ctime_ns == now->ctime_ns);
}

/* A directory is none of what a file was, nor the other way round; what else came into its place was built there. */
static bool is_same_kind(const struct ews_entry *then, const struct ews_entry *now)
{
	return then && ews_entry_is_dir(then) == ews_entry_is_dir(now);
}

/* What came along, as far as that is known, and who else knows a path. */
struct coming_along {
	const struct ews_entries *kept;
	bool is_lost; /* the list of it: what the base has as present is that, with all that is in it */
	const struct ews_content *base;
	const struct ews_index *index;
};

/* Did what stands there come along, and nobody said since that it is of the work? */
static bool came_along(const struct coming_along *along, const struct ews_entry *entry)
{
	const struct ews_entry *then = ews_entries_find(along->kept, entry->path);
	const struct ews_skip *skip = along->is_lost ? ews_skips_covering(&along->base->scan.skips, entry->path)
						     : NULL;

	return (is_same_kind(then, entry) || (skip && skip->reason == EWS_SKIP_PRESENT)) &&
	       !ews_entries_find(&along->base->scan.entries, entry->path) &&
	       !ews_index_find(along->index, entry->path);
}

/* Is something there that the base has as present? With the rules of the start nobody would see it. */
static bool sees_present(const struct ews_entries *list, const struct ews_skips *base)
{
	for (size_t i = 0; i < base->n; i++)
		if (base->items[i].reason == EWS_SKIP_PRESENT && ews_entries_has_below(list, base->items[i].path))
			return true;
	return false;
}

/* Take out of the entries what came along, sorted as it was; a directory where nothing of it stays. */
static void split_kept(struct ews_entries *out, struct ews_entries *list, const struct coming_along *along)
{
	size_t at = list->n;

	/* From the end, since a directory stands before what it holds. */
	for (size_t i = list->n; i-- > 0;) {
		const struct ews_entry *entry = &list->items[i];
		bool holds = at < list->n && ews_path_is_inside(list->items[at].path, entry->path);

		if (came_along(along, entry) && !(ews_entry_is_dir(entry) && holds))
			ews_entries_add_copy(out, entry);
		else
			list->items[--at] = *entry;
	}
	if (at)
		memmove(list->items, list->items + at, (list->n - at) * sizeof(*list->items));
	list->n -= at;
	ews_entries_sort(out);
}

/* A repository that came along is, like all of that, no more than there. */
static void forget_repositories(struct ews_skips *skips, const struct ews_entries *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < skips->n; i++)
		if (!ews_skip_is_repository(skips->items[i].reason) || !ews_entries_find(left, skips->items[i].path))
			skips->items[kept++] = skips->items[i];
	skips->n = kept;
}

/* Each becomes a skip, in one with its directory where nothing else is to be said of that. */
static void leave_out(struct ews_skips *skips, const struct ews_entries *left, const struct coming_along *along)
{
	EWS_CLEANUP(skips) struct ews_skips names = EWS_SKIPS_INIT;
	const char *whole = NULL;

	for (size_t i = 0; i < left->n; i++) {
		const struct ews_entry *entry = &left->items[i];
		const struct ews_entry *then = ews_entries_find(along->kept, entry->path);

		if (then && !ews_entry_is_dir(entry) && !is_as_it_was(then, entry))
			ews_skips_add(skips, entry->path, EWS_SKIP_WRITTEN, entry->size);
	}
	ews_skips_sort(skips);
	for (size_t i = 0; i < left->n; i++) {
		const char *path = left->items[i].path;

		if ((whole && ews_path_is_inside(path, whole)) || ews_skips_touch(skips, path))
			continue;
		whole = path;
		ews_skips_add(&names, path, EWS_SKIP_PRESENT, left->items[i].size);
	}
	ews_skips_add_all(skips, &names);
	ews_skips_sort(skips);
}

int ews_ignored_leave_out(struct ews_scan *scan, const struct ews_session *session, const struct ews_content *base,
			  const struct ews_index *index)
{
	EWS_CLEANUP(entries) struct ews_entries kept = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries left = EWS_ENTRIES_INIT;
	struct coming_along along = { .kept = &kept, .base = base, .index = index };
	int rc;

	if (!sees_present(&scan->entries, &base->scan.skips))
		return 0;
	rc = ews_ignored_read(&kept, session);
	along.is_lost = rc == EWS_EDAMAGED || rc == EWS_EUNSUPPORTED;
	if (rc < 0 && !along.is_lost)
		return rc;
	ews_error_clear();
	split_kept(&left, &scan->entries, &along);
	forget_repositories(&scan->skips, &left);
	leave_out(&scan->skips, &left, &along);
	ews_scan_count(scan);
	return 0;
}

/* Those that `then` has and `now` lacks; with what nobody could look at. */
static int take_known(struct ews_scan *now, const struct ews_scan *seen, const struct ews_entries *then)
{
	size_t n = now->entries.n;

	ews_entries_add_all(&now->entries, &seen->entries);
	for (size_t i = 0; i < seen->skips.n; i++)
		if (ews_skip_is_unseen(seen->skips.items[i].reason) &&
		    ews_entries_has_below(then, seen->skips.items[i].path))
			ews_skips_add(&now->skips, seen->skips.items[i].path, seen->skips.items[i].reason, 0);
	ews_entries_sort(&now->entries);
	ews_skips_sort(&now->skips);
	ews_scan_count(now);
	return now->entries.n > n;
}

int ews_ignored_add(struct ews_content *now, const struct ews_entries *then, struct ews_repo *repo,
		    struct ews_session *session, struct ews_batch *batch)
{
	EWS_CLEANUP(ignore) struct ews_ignore *exclude = NULL;
	EWS_CLEANUP(fd) int root_fd = session ? ews_session_open_workspace(session) : ews_dir_open(repo->project);
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(scan) struct ews_scan seen = EWS_SCAN_INIT;
	struct ews_scan_opts scan = { .root_fd = root_fd, .may_chmod = session && !session->method->is_project };
	const struct ews_scan_fill_opts fill = { .odb = repo->odb, .batch = batch, .may_chmod = scan.may_chmod };
	size_t kept = 0;
	int rc = root_fd < 0 ? root_fd : ews_rules_exclude(&exclude, repo, session);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < now->scan.skips.n; i++)
		if (now->scan.skips.items[i].reason == EWS_SKIP_IGNORED &&
		    ews_entries_has_below(then, now->scan.skips.items[i].path))
			ews_strv_add(&only, now->scan.skips.items[i].path);
	if (!only.n)
		return 0;
	scan.exclude = exclude;
	scan.only = (const char *const *)only.items;
	rc = ews_scan(&seen, &scan);
	for (size_t i = 0; i < seen.entries.n; i++)
		if (ews_entries_find(then, seen.entries.items[i].path) &&
		    !ews_entries_find(&now->scan.entries, seen.entries.items[i].path))
			seen.entries.items[kept++] = seen.entries.items[i];
	seen.entries.n = kept;
	if (rc == 0)
		rc = ews_scan_fill(&seen, &fill);
	return rc < 0 ? ews_error_wrap("cannot look at what is ignored") : take_known(&now->scan, &seen, then);
}

/* The directory of git's that `path` lies in, as the length of its path; 0: in none. */
static size_t git_dir_len(const char *path)
{
	const char *at = strstr(path, "/.git/");

	return at ? (size_t)(at - path) + 5 : 0;
}

/* Name a path; in a nested repository's own directory one word for all of it. */
static void add_changed(struct ews_strv *out, const char *path)
{
	size_t len = git_dir_len(path);
	EWS_CLEANUP(free) char *name = ews_strndup(path, len ? len : strlen(path));

	if (!out->n || strcmp(out->items[out->n - 1], name))
		ews_strv_add(out, name);
}

static bool is_inside_last(const struct ews_strv *list, const char *path)
{
	return list->n && ews_path_is_inside(path, list->items[list->n - 1]);
}

/*
 * What lies there and did not at first. A nested repository keeps its own files: to take single
 * ones out of its git directory would destroy it.
 */
static void find_newer(struct ews_ignored_changes *out, const struct ews_entries *kept,
		       const struct ews_skips *tops, const struct ews_scan *seen)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;

	for (size_t i = 0; i < seen->entries.n; i++)
		if (!is_same_kind(ews_entries_find(kept, seen->entries.items[i].path), &seen->entries.items[i]))
			ews_strv_add(&paths, seen->entries.items[i].path);
	for (size_t i = 0; i < seen->skips.n; i++)
		if ((seen->skips.items[i].reason == EWS_SKIP_SOCKET ||
		     seen->skips.items[i].reason == EWS_SKIP_DEVICE) &&
		    !ews_entries_find(kept, seen->skips.items[i].path))
			ews_strv_add(&paths, seen->skips.items[i].path);
	for (size_t i = 0; i < paths.n; i++) {
		const char *path = paths.items[i];
		size_t len = git_dir_len(path);
		EWS_CLEANUP(free) char *git_dir = ews_strndup(path, len);

		if (is_inside_last(&out->newer, path) || !ews_skips_covering(tops, path))
			continue;
		if (len && ews_entries_find(kept, git_dir))
			add_changed(&out->changed, path);
		else
			ews_strv_add(&out->newer, path);
	}
}

static void find_lost(struct ews_ignored_changes *out, const struct ews_entries *kept, const struct ews_scan *now,
		      const struct ews_scan *seen)
{
	for (size_t i = 0; i < kept->n; i++) {
		const struct ews_entry *then = &kept->items[i];
		const struct ews_entry *entry = ews_entries_find(&seen->entries, then->path);
		const struct ews_skip *skip;

		if (is_inside_last(&out->gone, then->path))
			continue;
		if (!entry)
			entry = ews_entries_find(&now->entries, then->path);
		if (entry && is_same_kind(then, entry)) {
			if (!is_as_it_was(then, entry))
				add_changed(&out->changed, then->path);
			continue;
		}
		/* What may not be looked at is not said to be gone. */
		skip = ews_skips_covering(&seen->skips, then->path);
		if (!skip)
			skip = ews_skips_covering(&now->skips, then->path);
		if (entry || !skip || skip->reason == EWS_SKIP_IGNORED || ews_skip_is_present(skip->reason))
			ews_strv_add(&out->gone, then->path);
	}
}

/* What holds something of `kept` is present; the newer in it, or in its place, is ignored. */
static void settle_skips(struct ews_skips *skips, const struct ews_skips *tops, const struct ews_strv *newer)
{
	EWS_CLEANUP(skips) struct ews_skips inside = EWS_SKIPS_INIT;

	for (size_t i = 0; i < skips->n; i++)
		if (skips->items[i].reason == EWS_SKIP_IGNORED && ews_skips_covering(tops, skips->items[i].path))
			skips->items[i].reason = EWS_SKIP_PRESENT;
	for (size_t i = 0; i < newer->n; i++) {
		const struct ews_skip *skip = ews_skips_covering(skips, newer->items[i]);

		if (skip && !strcmp(skip->path, newer->items[i]))
			skips->items[skip - skips->items].reason = EWS_SKIP_IGNORED;
		else
			ews_skips_add(&inside, newer->items[i], EWS_SKIP_IGNORED, 0);
	}
	ews_skips_add_all(skips, &inside);
	ews_skips_sort(skips);
}

int ews_ignored_compare(struct ews_ignored_changes *out, const struct ews_entries *kept,
			struct ews_content *content, struct ews_session *session)
{
	const struct ews_scan *now = &content->scan;
	EWS_CLEANUP(ignore) struct ews_ignore *exclude = NULL;
	EWS_CLEANUP(fd) int root_fd = ews_session_open_workspace(session);
	EWS_CLEANUP(skips) struct ews_skips tops = EWS_SKIPS_INIT;
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(scan) struct ews_scan seen = EWS_SCAN_INIT;
	struct ews_scan_opts scan = { .root_fd = root_fd, .with_repositories = true, .may_chmod = true };
	int rc = root_fd < 0 ? root_fd : ews_rules_exclude(&exclude, session->repo, session);

	if (rc < 0)
		return rc;
	scan.exclude = exclude;
	for (size_t i = 0; i < now->skips.n; i++)
		if ((now->skips.items[i].reason == EWS_SKIP_IGNORED ||
		     ews_skip_is_present(now->skips.items[i].reason)) &&
		    ews_entries_has_below(kept, now->skips.items[i].path))
			ews_skips_add(&tops, now->skips.items[i].path, EWS_SKIP_IGNORED, 0);
	for (size_t i = 0; i < tops.n; i++)
		ews_strv_add(&only, tops.items[i].path);
	scan.only = (const char *const *)only.items;
	if (tops.n)
		rc = ews_scan(&seen, &scan);
	if (rc < 0)
		return ews_error_wrap("cannot look at what is ignored");
	find_newer(out, kept, &tops, &seen);
	find_lost(out, kept, now, &seen);
	ews_strv_unique(&out->changed);
	settle_skips(&content->scan.skips, &tops, &out->newer);
	return 0;
}

/* Is something that was present in the base, of which `skips` are, there under `path`? */
static bool was_present(const struct ews_skips *skips, const char *path)
{
	for (size_t i = 0; i < skips->n; i++)
		if (skips->items[i].reason == EWS_SKIP_PRESENT && ews_path_is_inside(skips->items[i].path, path))
			return true;
	return false;
}

/* Without the list nobody can tell what is new in it. */
static void settle_by_base(struct ews_content *now, const struct ews_content *base)
{
	struct ews_skips *skips = &now->scan.skips;

	for (size_t i = 0; i < skips->n; i++)
		if (skips->items[i].reason == EWS_SKIP_IGNORED && was_present(&base->scan.skips, skips->items[i].path))
			skips->items[i].reason = EWS_SKIP_PRESENT;
}

/* What is gone from something that is ignored or present has a skip of its own, or that of what is newer in its place. */
static void except_gone(struct ews_skips *skips, const struct ews_strv *gone)
{
	EWS_CLEANUP(strv) struct ews_strv within = EWS_STRV_INIT;

	for (size_t i = 0; i < gone->n; i++) {
		const struct ews_skip *skip = ews_skips_covering(skips, gone->items[i]);

		if (skip && !strcmp(skip->path, gone->items[i]))
			skips->items[skip - skips->items].is_gone = skip->reason == EWS_SKIP_IGNORED;
		else if (skip)
			ews_strv_add(&within, gone->items[i]);
	}
	for (size_t i = 0; i < within.n; i++)
		ews_skips_add(skips, within.items[i], EWS_SKIP_IGNORED, 0)->is_gone = true;
	ews_skips_sort(skips);
}

/* Is what was at `path` certainly not there any more, a directory, or none, if that is known? */
static bool is_away(int root_fd, const char *path, const struct ews_entry *then)
{
	const char *name;
	EWS_CLEANUP(fd) int fd = ews_dir_open_parent(root_fd, path, &name);
	struct stat st;

	if (fd < 0) {
		bool is_absent = fd == EWS_ENOTFOUND;

		ews_error_clear();
		return is_absent;
	}
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_errno_is_absent(errno);
	return then && ews_entry_is_dir(then) != S_ISDIR(st.st_mode);
}

/* Of what `then` has below what `skip` leaves out of `now`, or left out there itself by name. Returns how many there were. */
static size_t find_gone(struct ews_strv *gone, const struct ews_scan *now, const struct ews_skip *skip,
			const struct ews_scan *then, int root_fd)
{
	const struct ews_entries *list = &then->entries;
	const struct ews_skips *skips = &then->skips;
	size_t at = ews_path_find_first(list->items, sizeof(*list->items), list->n, skip->path);
	size_t n = 0;

	for (; at < list->n && ews_path_is_inside(list->items[at].path, skip->path); at++) {
		const char *path = list->items[at].path;

		if (is_inside_last(gone, path) || ews_skips_covering(&now->skips, path) != skip ||
		    ews_entries_find(&now->entries, path))
			continue;
		n++;
		if (is_away(root_fd, path, &list->items[at]))
			ews_strv_add(gone, path);
	}
	at = ews_path_find_first(skips->items, sizeof(*skips->items), skips->n, skip->path);
	for (; at < skips->n && ews_path_is_inside(skips->items[at].path, skip->path); at++) {
		const char *path = skips->items[at].path;

		if (skips->items[at].reason != EWS_SKIP_IGNORED || ews_skips_covering(&now->skips, path) != skip)
			continue;
		n++;
		if (is_away(root_fd, path, NULL))
			ews_strv_add(gone, path);
	}
	return n;
}

size_t ews_ignored_note_gone(struct ews_scan *now, const struct ews_scan *then, int root_fd)
{
	EWS_CLEANUP(strv) struct ews_strv gone = EWS_STRV_INIT;
	size_t n = 0;

	for (size_t i = 0; i < now->skips.n; i++) {
		const struct ews_skip *skip = &now->skips.items[i];

		if ((skip->reason == EWS_SKIP_IGNORED && !skip->is_gone) || ews_skip_is_present(skip->reason))
			n += find_gone(&gone, now, skip, then, root_fd);
	}
	ews_strv_unique(&gone);
	except_gone(&now->skips, &gone);
	return n;
}

int ews_ignored_settle(struct ews_content *now, struct ews_session *session, const struct ews_content *base,
		       int (*read_base)(void *payload), void *payload, bool with_gone)
{
	EWS_CLEANUP(ignored_changes) struct ews_ignored_changes changes = EWS_IGNORED_CHANGES_INIT;
	EWS_CLEANUP(entries) struct ews_entries kept = EWS_ENTRIES_INIT;
	int rc = ews_ignored_read(&kept, session);

	if (rc == EWS_EDAMAGED || rc == EWS_EUNSUPPORTED) {
		ews_error_clear();
		rc = read_base ? read_base(payload) : 0;
		if (rc == 0)
			settle_by_base(now, base);
		return rc;
	}
	if (rc < 0 || !kept.n)
		return rc;
	rc = ews_ignored_compare(&changes, &kept, now, session);
	if (rc == 0 && with_gone)
		except_gone(&now->scan.skips, &changes.gone);
	return rc;
}
