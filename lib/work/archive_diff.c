/*
 * Archive diff: see archive_diff.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_diff.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/archive_stream.h"
#include "store/batch.h"
#include "store/git.h"
#include "store/home.h"
#include "store/tree.h"

/* From there on git takes any file for a binary one, and git apply takes no patch of it. */
#define PATCH_BYTES_MAX (512 * EWS_MIB)

int ews_archive_side_open(struct ews_archive_side *out, const char *file, uint64_t max_bytes)
{
	int rc = out->fd = ews_archive_open(file);

	if (rc >= 0)
		rc = ews_archive_look(&out->content, out->fd, max_bytes);
	if (rc < 0)
		return ews_error_wrap("'%s'", file);
	rc = ews_archive_describe_content(&out->archive, file, out->fd, &out->content);
	if (rc == 0 && out->content.flaws.n)
		rc = ews_error(EWS_EDAMAGED, "'%s': its record is not about the files that it lists", file);
	out->stream = ews_archive_stream_new(&out->content, out->fd);
	return rc;
}

static int look_at_dir(struct ews_archive_side *side, const struct ews_entries *known)
{
	const struct ews_archive_scan_opts opts = { side->rules, NULL, NULL, known };
	char checksum[EWS_TREE_HASH_LEN];
	int rc;

	ews_archive_tree_release(&side->tree);
	rc = ews_archive_scan(&side->tree, &side->origin.source, &opts);
	if (rc < 0)
		return rc;
	ews_manifest_hash(checksum, &side->tree.scan.entries);
	free(side->archive.checksum);
	side->archive.checksum = ews_strdup(checksum);
	side->archive.created_s = ews_clock_now();
	return 0;
}

int ews_archive_side_open_dir(struct ews_archive_side *out, const char *dir, const char *home,
			      const struct ews_archive_rules *rules)
{
	int rc = ews_archive_origin_dir(&out->origin, dir, home);

	out->is_dir = true;
	out->rules = rules;
	if (rc < 0)
		return rc;
	out->archive.file = ews_strdup(out->origin.dir);
	out->archive.path = ews_strdup(out->origin.dir);
	return look_at_dir(out, NULL);
}

void ews_archive_side_release(struct ews_archive_side *side)
{
	ews_archive_stream_free(side->stream);
	ews_archive_content_release(&side->content);
	ews_archive_tree_release(&side->tree);
	ews_archive_origin_release(&side->origin);
	ews_archive_release(&side->archive);
	if (side->fd >= 0)
		close(side->fd);
	*side = (struct ews_archive_side)EWS_ARCHIVE_SIDE_INIT;
}

int ews_archive_desk_open(struct ews_archive_desk *out, const char *home)
{
	EWS_CLEANUP(fd) int home_fd = ews_home_open(home);
	int rc = home_fd < 0 ? home_fd : ews_git_neutral_dir(&out->neutral, home, EWS_SHA1);

	out->repo = (struct ews_repo){ .home = ews_strdup(home), .dir_fd = -1, .git_fd = -1, .common_fd = -1 };
	if (rc == 0)
		rc = ews_odb_open(&out->repo.odb, out->neutral, home);
	return rc < 0 ? rc : ews_odb_go_aside(out->repo.odb);
}

void ews_archive_desk_release(struct ews_archive_desk *desk)
{
	ews_odb_free(desk->repo.odb);
	free(desk->repo.home);
	free(desk->neutral);
	*desk = (struct ews_archive_desk){ 0 };
}

static struct ews_entries *entries_of(struct ews_archive_side *side)
{
	return side->is_dir ? &side->tree.scan.entries : &side->content.entries;
}

static struct ews_skips *skips_of(struct ews_archive_side *side)
{
	return side->is_dir ? &side->tree.scan.skips : &side->content.skips;
}

/* One side on its way into objects. */
struct writing {
	struct ews_archive_side *side;
	struct ews_batch *batch;
	struct ews_oid *blobs; /* beside the side's entries; none: not written */
};

/* A file without a name that holds the member: what makes objects wants to know its size and read it at will. */
static int spool(struct ews_archive_side *side, const struct ews_entry *entry)
{
	const char *tmp = getenv("TMPDIR");
	EWS_CLEANUP(free) char *name = ews_path_join(tmp && *tmp == '/' ? tmp : "/tmp", "ews-member-XXXXXX");
	EWS_CLEANUP(fd) int fd = mkostemp(name, O_CLOEXEC);
	int rc;

	if (fd < 0)
		return ews_error_os("cannot make a temporary file, as '%s'", name);
	(void)unlink(name); /* it is a temporary file, whatever becomes of its name */
	rc = ews_archive_stream_write(side->stream, fd, entry);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = ews_error_os("cannot read a temporary file");
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

static int write_link(struct writing *writing, size_t i)
{
	const struct ews_entry *entry = &entries_of(writing->side)->items[i];
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = 0;

	if (writing->side->is_dir)
		ews_buf_adds(&text, writing->side->tree.texts[i]);
	else
		rc = ews_archive_stream_link(writing->side->stream, &text, entry);
	return rc < 0 ? rc : ews_batch_add(&writing->blobs[i], writing->batch, EWS_OBJECT_BLOB, text.ptr, text.len);
}

/* The content of entry `i` as a blob; other names of a file have that of the first. */
static int write_blob(struct writing *writing, size_t i)
{
	const struct ews_entries *list = entries_of(writing->side);
	const struct ews_entry *entry = &list->items[i];
	const struct ews_entry *first = entry->first_name ? ews_entries_find(list, entry->first_name) : NULL;
	EWS_CLEANUP(fd) int fd = -1;

	if (first && !ews_oid_is_none(&writing->blobs[first - list->items])) {
		writing->blobs[i] = writing->blobs[first - list->items];
		return 0;
	}
	if (entry->type == EWS_ENTRY_LINK)
		return write_link(writing, i);
	fd = writing->side->is_dir ? ews_archive_tree_open(&writing->side->tree, i) : spool(writing->side, entry);
	return fd < 0 ? fd : ews_batch_add_fd(&writing->blobs[i], writing->batch, fd, entry->size, NULL);
}

static bool is_leaf(const struct ews_entry *entry)
{
	return entry && (entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK);
}

struct wanted {
	size_t order, at;
};

static int cmp_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* Write what differs of one side, in the order of its members, and a tree of that alone. */
static int write_side(struct ews_oid *tree, struct writing *writing, const struct ews_changes *changes, bool is_from)
{
	const struct ews_entries *list = entries_of(writing->side);
	EWS_CLEANUP(free) struct wanted *wanted = ews_calloc(changes->n + 1, sizeof(*wanted));
	EWS_CLEANUP(entries) struct ews_entries leaves = EWS_ENTRIES_INIT;
	size_t n = 0;
	int rc = 0;

	writing->blobs = ews_calloc(list->n + 1, sizeof(*writing->blobs));
	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_entry *entry = is_from ? changes->items[i].from : changes->items[i].to;
		size_t at = entry ? (size_t)(entry - list->items) : 0;

		if (is_leaf(entry))
			wanted[n++] =
				(struct wanted){ writing->side->is_dir ? at : writing->side->content.order[at], at };
	}
	if (n)
		qsort(wanted, n, sizeof(*wanted), cmp_wanted);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = write_blob(writing, wanted[i].at);
	for (size_t i = 0; i < changes->n && rc == 0; i++) {
		const struct ews_entry *entry = is_from ? changes->items[i].from : changes->items[i].to;

		if (is_leaf(entry))
			ews_entries_add_copy(&leaves, entry)->oid = writing->blobs[entry - list->items];
	}
	if (rc == 0)
		rc = ews_tree_write(tree, writing->batch, &leaves);
	free(ews_steal(&writing->blobs));
	return rc;
}

static void lend(struct ews_diff_side *out, struct ews_archive_side *side)
{
	out->is_now = true;
	out->content.scan.entries = *entries_of(side);
	out->content.scan.skips = *skips_of(side);
}

static void give_back(struct ews_diff_side *side)
{
	side->content.scan.entries = (struct ews_entries)EWS_ENTRIES_INIT;
	side->content.scan.skips = (struct ews_skips)EWS_SKIPS_INIT;
}

static bool is_too_large(const struct ews_entry *entry)
{
	return entry && entry->size >= PATCH_BYTES_MAX;
}

static void name_large(struct ews_diff *diff, const struct ews_changes *changes)
{
	for (size_t i = 0; i < changes->n; i++)
		if (is_too_large(changes->items[i].from) || is_too_large(changes->items[i].to))
			ews_strv_add(&diff->too_large, changes->items[i].path);
}

/* What is too large for the patch is named with the rest that it does not say, where it is wanted at all. */
static void name_unsaid(struct ews_diff *diff)
{
	for (size_t i = 0; i < diff->n; i++)
		if (ews_strv_has(&diff->too_large, diff->items[i].path))
			ews_path_line_add(&diff->not_in_patch, diff->items[i].path, "too large for a patch");
}

/*
 * What the one side has, tracked by git or asked for, the other must not hide as ignored: in a copy that git does not know it is
 * there, too.
 */
static int look_for_known(struct ews_archive_side *side, struct ews_archive_side *other)
{
	const struct ews_entries *known = entries_of(other);

	for (size_t i = 0; i < known->n && side->is_dir; i++) {
		const struct ews_skip *skip =
			known->items[i].type == EWS_ENTRY_DIR
				? NULL
				: ews_skips_covering(&side->tree.scan.skips, known->items[i].path);

		if (skip && skip->reason == EWS_SKIP_IGNORED)
			return look_at_dir(side, known);
	}
	return 0;
}

/* Take what can't be compared out of the changes. */
static void drop_unseen(struct ews_strv *unseen, struct ews_changes *changes, struct ews_archive_side *from,
			struct ews_archive_side *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_change *change = &changes->items[i];
		bool is_from = !change->from && ews_skips_unseen(skips_of(from), change->path);

		if (!is_from && (change->to || !ews_skips_unseen(skips_of(to), change->path))) {
			changes->items[kept++] = *change;
			continue;
		}
		/* Of the second side all that it could not look at is named anyhow. */
		if (is_from && change->to->type != EWS_ENTRY_DIR)
			ews_strv_add(unseen, change->path);
	}
	changes->n = kept;
}

int ews_archive_diff(struct ews_diff *diff, struct ews_archive_desk *desk, struct ews_archive_side *from,
		     struct ews_archive_side *to, char *const *paths)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(strv) struct ews_strv unseen = EWS_STRV_INIT;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(desk->repo.odb);
	struct writing old = { from, batch, NULL }, new = { to, batch, NULL };
	int rc = look_for_known(from, to);

	if (rc == 0)
		rc = look_for_known(to, from);
	if (rc < 0)
		return rc;
	lend(&diff->from, from);
	lend(&diff->to, to);
	diff->opts.count.no_renames = true;
	diff->has_digests = true;
	ews_changes_between(&changes, entries_of(from), entries_of(to), ews_entry_equal_in_git);
	drop_unseen(&unseen, &changes, from, to);
	name_large(diff, &changes);
	rc = write_side(&diff->from.snapshot.tree, &old, &changes, true);
	if (rc == 0)
		rc = write_side(&diff->to.snapshot.tree, &new, &changes, false);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	if (rc == 0)
		rc = ews_diff_records(diff, &desk->repo, paths);
	if (rc < 0)
		return rc;
	name_unsaid(diff);
	for (size_t i = 0; i < unseen.n; i++)
		ews_path_line_add(&diff->not_in_patch, unseen.items[i], "the first could not be read");
	return 0;
}

void ews_archive_diff_release(struct ews_diff *diff)
{
	give_back(&diff->from);
	give_back(&diff->to);
	ews_diff_release(diff);
}

/* What happened, in the letter that is expected. */
static char letter_of(const struct ews_diff_record *record)
{
	return record->status == 'A' || record->status == 'D' ? record->status : 'M';
}

static const char *word_of(char letter)
{
	return letter == 'A' ? "created" : letter == 'D' ? "deleted" : "modified";
}

static bool is_meant(const char *pattern, const char *path)
{
	return !strcmp(pattern, path) || ews_ignore_wildmatch(pattern, path, false);
}

/* What differs, but is in no patch: empty directories, attributes, modes. */
static void find_beyond(struct ews_changes *out, const struct ews_diff *diff)
{
	const struct ews_scan *from = &diff->from.content.scan, *to = &diff->to.content.scan;
	size_t kept = 0;

	/* Where only some paths are looked at, these alone are records. */
	if (diff->paths.n)
		return;
	ews_changes_between(out, &from->entries, &to->entries, ews_entry_equal);
	for (size_t i = 0; i < out->n; i++) {
		const struct ews_change *change = &out->items[i];

		if ((change->from || !ews_skips_unseen(&from->skips, change->path)) &&
		    (change->to || !ews_skips_unseen(&to->skips, change->path)))
			out->items[kept++] = *change;
	}
	out->n = kept;
}

static char letter_of_change(const struct ews_change *change)
{
	return !change->from ? 'A' : !change->to ? 'D' : 'M';
}

static bool has_record(const struct ews_diff *diff, const char *path)
{
	for (size_t i = 0; i < diff->n; i++)
		if (!strcmp(diff->items[i].path, path))
			return true;
	return false;
}

/* What happened beyond the records to what is meant: as `wanted`, or else something; 0: nothing. */
static char letter_beyond(const struct ews_changes *beyond, const struct ews_diff *diff, char wanted,
			  const char *pattern)
{
	char found = 0;

	for (size_t i = 0; i < beyond->n && found != wanted; i++)
		if (is_meant(pattern, beyond->items[i].path) && !has_record(diff, beyond->items[i].path))
			found = letter_of_change(&beyond->items[i]);
	return found;
}

/* Did it come about? Else what happened there instead is the surprise. */
static void hold_against(struct ews_strv *surprises, const struct ews_diff *diff, const struct ews_changes *beyond,
			 char letter, const char *pattern)
{
	EWS_CLEANUP(free) char *what = NULL;
	const struct ews_diff_record *other = NULL;
	char found;

	for (size_t i = 0; i < diff->n; i++) {
		if (!is_meant(pattern, diff->items[i].path))
			continue;
		if (letter_of(&diff->items[i]) == letter)
			return;
		other = &diff->items[i];
	}
	found = letter_beyond(beyond, diff, letter, pattern);
	if (found == letter)
		return;
	if (other)
		found = letter_of(other);
	what = ews_strfmt("should be %s, is %s", word_of(letter), found ? word_of(found) : "unchanged");
	ews_path_line_add(surprises, other ? other->path : pattern, what);
}

static bool is_expected_deletion(const struct ews_strv *expected, const char *path)
{
	for (size_t i = 0; i < expected->n; i++)
		if (*expected->items[i] == 'D' && is_meant(expected->items[i] + 2, path))
			return true;
	return false;
}

static void add_deletion(struct ews_strv *surprises, const struct ews_strv *expected, const char *path)
{
	if (!is_expected_deletion(expected, path))
		ews_path_line_add(surprises, path, "is deleted");
}

/* Is its end in no record? Directories that held something went with that. */
static bool goes_unrecorded(const struct ews_entries *list, const struct ews_entry *entry)
{
	if (entry->type != EWS_ENTRY_DIR)
		return !ews_entry_fits_tree(entry);
	return entry + 1 == list->items + list->n || !ews_path_is_inside(entry[1].path, entry->path);
}

int ews_archive_expect(struct ews_strv *surprises, const struct ews_diff *diff, const struct ews_strv *expected,
		       bool no_deletions)
{
	const struct ews_entries *from = &diff->from.content.scan.entries;
	EWS_CLEANUP(changes) struct ews_changes beyond = EWS_CHANGES_INIT;

	find_beyond(&beyond, diff);
	for (size_t i = 0; i < expected->n; i++) {
		const char *one = expected->items[i];

		if (!*one || !strchr("AMD", *one) || one[1] != ' ' || !one[2]) {
			ews_error(EWS_EUSAGE, "--expect takes '<A|M|D> <path>', not '%s'", one);
			ews_error_hint("A is created, M modified, D deleted");
			return EWS_EUSAGE;
		}
		hold_against(surprises, diff, &beyond, *one, one + 2);
	}
	for (size_t i = 0; i < diff->n && no_deletions; i++)
		if (diff->items[i].status == 'D')
			add_deletion(surprises, expected, diff->items[i].path);
	for (size_t i = 0; i < beyond.n && no_deletions; i++)
		if (!beyond.items[i].to && goes_unrecorded(from, beyond.items[i].from))
			add_deletion(surprises, expected, beyond.items[i].path);
	return 0;
}
