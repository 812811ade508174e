/*
 * Diff, counted: see diff_count.h.
 *
 * Git compares on one thread. Here contents are read on several, and most of what people and programs do to a file
 * needs no more than to look where it begins and ends to differ (store/lines). What is read is checked against its id.
 * No config and no attributes are asked: in the neutral place where git would run there are none.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/diff_count.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/pool.h"
#include "store/lines.h"

/* Each thread holds two of these. Git takes what is over 512 MiB for binary. */
#define CONTENT_BYTES_MAX (32 * EWS_MIB)
#define COUNT_CHUNK 4

struct counting {
	struct ews_odb *odb;
	struct ews_diff_record *items;
};

static bool is_file(uint32_t mode)
{
	return mode == EWS_MODE_FILE || mode == EWS_MODE_PROGRAM;
}

/* The letter that git has for it; 0: that is for git to say. */
static char status_of(const struct ews_tree_difference *d)
{
	uint32_t old = d->old_mode, new = d->new_mode;

	if (ews_oid_is_none(&d->old_oid))
		return is_file(new) || new == EWS_MODE_LINK ? 'A' : 0;
	if (ews_oid_is_none(&d->new_oid))
		return is_file(old) || old == EWS_MODE_LINK ? 'D' : 0;
	return (is_file(old) && is_file(new)) || (old == EWS_MODE_LINK && new == EWS_MODE_LINK) ? 'M' : 0;
}

/* What was renamed git finds among what came and what went: where either is missing nothing was. */
static bool is_certain(const struct ews_tree_differences *list, const struct ews_diff_count_opts *opts)
{
	bool has_come = false, has_gone = false;

	for (size_t i = 0; i < list->n; i++) {
		char status = status_of(&list->items[i]);

		if (!status)
			return false;
		has_come = has_come || status == 'A';
		has_gone = has_gone || status == 'D';
	}
	return opts->no_renames || !has_come || !has_gone;
}

static int read_content(struct ews_buf *out, struct ews_odb *odb, const struct ews_oid *oid)
{
	enum ews_object_type type;
	int rc;

	if (ews_oid_is_none(oid))
		return 0;
	rc = ews_odb_read_max(out, &type, odb, oid, CONTENT_BYTES_MAX);
	if (rc < 0)
		return rc;
	if (rc == 1 || type != EWS_OBJECT_BLOB)
		return ews_error(EWS_EUNSUPPORTED, "it is too large, or no content");
	return 0;
}

static int count(size_t i, unsigned worker, void *payload)
{
	const struct counting *counting = payload;
	struct ews_diff_record *record = &counting->items[i];
	bool is_same = ews_oid_equal(&record->old_oid, &record->new_oid);
	EWS_CLEANUP(buf) struct ews_buf from = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf to = EWS_BUF_INIT;
	struct ews_lines lines;
	int rc;

	(void)worker;
	rc = read_content(&from, counting->odb, &record->old_oid);
	if (rc == 0 && !is_same)
		rc = read_content(&to, counting->odb, &record->new_oid);
	if (rc == 0)
		rc = ews_lines_count(&lines, &from, is_same ? &from : &to);
	if (rc < 0)
		return rc;
	record->is_binary = lines.is_binary;
	record->lines_added = lines.added;
	record->lines_deleted = lines.deleted;
	return 0;
}

/* What `list` has as records, nothing counted yet. */
static struct ews_diff_record *records_of(const struct ews_tree_differences *list)
{
	struct ews_diff_record *items = ews_calloc(list->n, sizeof(*items));

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_tree_difference *d = &list->items[i];

		items[i] = (struct ews_diff_record){
			.path = ews_strdup(d->path),
			.status = status_of(d),
			.old_mode = d->old_mode,
			.new_mode = d->new_mode,
			.old_oid = d->old_oid,
			.new_oid = d->new_oid,
			.text = EWS_BUF_INIT,
		};
	}
	return items;
}

bool ews_diff_can_count(const struct ews_odb *odb)
{
	/* The other room asks one git, which answers one question at a time. */
	return ews_odb_algo(odb) == EWS_SHA1 && !ews_odb_is_partial(odb);
}

int ews_diff_count(struct ews_diff_record **items, size_t *n, struct ews_odb *odb,
		   const struct ews_tree_differences *differences, const struct ews_diff_count_opts *opts)
{
	struct counting counting = { .odb = odb };
	int rc = 0;

	if (!is_certain(differences, opts))
		return 0;
	counting.items = records_of(differences);
	if (!opts->no_counts)
		rc = ews_pool_for(differences->n, COUNT_CHUNK, opts->on_one_thread ? 1 : 0, count, &counting);
	if (rc < 0) {
		/* Git finds the same, or knows better: what it says is what counts. */
		ews_error_clear();
		ews_diff_records_free(counting.items, differences->n);
		return 0;
	}
	*items = counting.items;
	*n = differences->n;
	return 1;
}
