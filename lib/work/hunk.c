/*
 * Hunks: see hunk.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/hunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

#define PATCH_BYTES_MAX EWS_GIB

void ews_hunks_release(struct ews_hunks *hunks)
{
	for (size_t i = 0; i < hunks->n; i++) {
		struct ews_hunk_file *file = &hunks->items[i];

		for (size_t j = 0; j < file->n; j++) {
			free(file->items[j].own);
			ews_buf_release(&file->items[j].edited);
		}
		ews_buf_release(&file->text);
		free(file->items);
	}
	free(hunks->items);
	*hunks = (struct ews_hunks)EWS_HUNKS_INIT;
}

static bool is_file(const struct ews_entry *entry)
{
	return entry && entry->type == EWS_ENTRY_FILE;
}

static bool is_dir(const struct ews_entry *entry)
{
	return !entry || entry->type == EWS_ENTRY_DIR;
}

void ews_hunks_list(struct ews_hunks *out, struct ews_repo *repo, const struct ews_diff *diff,
		    const struct ews_changes *changes)
{
	*out = (struct ews_hunks){ .repo = repo, .diff = diff };
	out->items = ews_calloc(changes->n + 1, sizeof(*out->items));
	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_change *change = &changes->items[i];

		if (is_dir(change->from) && is_dir(change->to))
			continue;
		out->items[out->n++] = (struct ews_hunk_file){ .change = change, .text = EWS_BUF_INIT };
	}
}

struct ews_hunk_file *ews_hunks_find(const struct ews_hunks *hunks, const char *path)
{
	for (size_t i = 0; i < hunks->n; i++)
		if (!strcmp(hunks->items[i].change->path, path))
			return &hunks->items[i];
	return NULL;
}

/* "<line>[,<number>]": where no lines are, it is the one before. */
static const char *read_range(size_t *line, size_t *n, const char *at)
{
	char *end;

	*line = strtoul(at, &end, 10);
	*n = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
	if (*n)
		--*line;
	return end;
}

static void add_hunk(struct ews_hunk_file *file, size_t *cap, const char *text)
{
	struct ews_hunk hunk = { .text = text, .edited = EWS_BUF_INIT };
	const char *at = read_range(&hunk.old_line, &hunk.n_old, text + strlen("@@ -"));

	(void)read_range(&hunk.new_line, &hunk.n_new, at + strlen(" +"));
	EWS_GROW(file->items, file->n, *cap);
	file->items[file->n++] = hunk;
}

/* In git's patch of one text no line but that of its numbers begins with "@@ -". */
static void find_hunks(struct ews_hunk_file *file)
{
	const char *at = file->text.ptr, *end = at + file->text.len, *line;
	size_t cap = 0, len;

	while ((line = ews_str_next_line(&at, &len, end)))
		if (ews_str_begins(line, "@@ -"))
			add_hunk(file, &cap, line);
	for (size_t i = 0; i < file->n; i++) {
		const char *stop = i + 1 < file->n ? file->items[i + 1].text : end;

		file->items[i].len = (size_t)(stop - file->items[i].text);
	}
	file->header_len = file->n ? (size_t)(file->items[0].text - file->text.ptr) : file->text.len;
}

int ews_hunks_load(struct ews_hunks *hunks, struct ews_hunk_file *file)
{
	const struct ews_change *change = file->change;
	EWS_CLEANUP(free) char *path = ews_strdup(change->path);
	char *const paths[] = { path, NULL };
	int rc;

	if (file->is_loaded)
		return 0;
	ews_buf_init_max(&file->text, PATCH_BYTES_MAX);
	rc = ews_diff_collect(&file->text, hunks->diff, hunks->repo, NULL, paths);
	if (rc < 0 || file->text.is_full)
		return rc < 0 ? rc : ews_error(EWS_EUNSUPPORTED, "the patch of '%s' is too long", path);
	file->is_loaded = true;
	if (is_file(change->from) && is_file(change->to))
		find_hunks(file);
	if (file->n)
		return 0;
	file->is_whole = true;
	file->items = ews_calloc(1, sizeof(*file->items));
	file->n = 1;
	file->header_len = 0;
	file->items[0] = (struct ews_hunk){ .text = file->text.ptr, .len = file->text.len, .edited = EWS_BUF_INIT };
	return 0;
}

size_t ews_hunk_file_wanted(const struct ews_hunk_file *file)
{
	size_t n = 0;

	for (size_t i = 0; i < file->n; i++)
		n += file->items[i].is_wanted;
	return n;
}

bool ews_hunk_file_is_all(const struct ews_hunk_file *file)
{
	for (size_t i = 0; i < file->n; i++)
		if (!file->items[i].is_wanted || file->items[i].is_edited)
			return false;
	return true;
}

/* Go over `n` lines from `*at` on; they are added to `out` unless that is NULL. */
static void pass_lines(struct ews_buf *out, const char **at, const char *end, size_t n)
{
	const char *line;
	size_t len;

	for (; n && (line = ews_str_next_line(at, &len, end)); n--)
		if (out)
			ews_buf_add(out, line, (size_t)(*at - line));
}

int ews_hunk_file_take(struct ews_entry *out, const struct ews_hunk_file *file, struct ews_odb *odb,
		       struct ews_batch *batch)
{
	EWS_CLEANUP(buf) struct ews_buf before = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf after = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf taken = EWS_BUF_INIT;
	const char *old, *new, *old_end, *new_end;
	size_t old_line = 0, new_line = 0;
	int rc = ews_odb_read(&before, NULL, odb, &file->change->from->oid);

	if (rc == 0)
		rc = ews_odb_read(&after, NULL, odb, &file->change->to->oid);
	if (rc < 0)
		return rc;
	old = before.ptr;
	old_end = old + before.len;
	new = after.ptr;
	new_end = new + after.len;
	for (size_t i = 0; i < file->n; i++) {
		const struct ews_hunk *hunk = &file->items[i];

		pass_lines(&taken, &old, old_end, hunk->old_line - old_line);
		pass_lines(NULL, &new, new_end, hunk->new_line - new_line);
		pass_lines(hunk->is_wanted ? NULL : &taken, &old, old_end, hunk->n_old);
		pass_lines(hunk->is_wanted && !hunk->is_edited ? &taken : NULL, &new, new_end, hunk->n_new);
		if (hunk->is_wanted && hunk->is_edited)
			ews_buf_add(&taken, hunk->edited.ptr, hunk->edited.len);
		old_line = hunk->old_line + hunk->n_old;
		new_line = hunk->new_line + hunk->n_new;
	}
	ews_buf_add(&taken, old, (size_t)(old_end - old));
	*out = ews_hunk_file_wanted(file) < file->n ? *file->change->from : *file->change->to;
	out->first_name = NULL;
	out->size = taken.len;
	return ews_batch_add(&out->oid, batch, EWS_OBJECT_BLOB, taken.ptr, taken.len);
}
