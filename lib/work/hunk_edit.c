/*
 * Hunks by hand: see hunk_edit.h.
 *
 * A part's numbers are those of the lines that are its own: from its first change to the next part's, so that parts never
 * overlap and each may be wanted without the others. The lines around it are for whoever reads it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/hunk_edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"

static const char no_newline[] = "\\ No newline at end of file\n";

struct line {
	char kind; /* ' ', '-' or '+' */
	const char *text; /* what the file has there */
	size_t len;
	bool is_cut; /* it ends without a newline, though the patch has one there */
};

struct lines {
	struct line *items;
	size_t n, cap;
	const char *heading; /* what stands behind the numbers */
	size_t heading_len;
};

static void release_lines(struct lines *lines)
{
	free(lines->items);
}

EWS_CLEANUP_DEFINE(lines, struct lines, release_lines)

/* What stands behind the second "@@" of the line of numbers. */
static void read_heading(struct lines *out, const char *line, const char *end)
{
	const char *at = memmem(line + 2, (size_t)(end - line) - 2, "@@", 2);

	out->heading = at ? at + 2 : end;
	out->heading_len = (size_t)(end - out->heading);
}

/* Returns false when a line is none of a hunk's. */
static bool read_lines(struct lines *out, const char *text, size_t len)
{
	const char *next = text, *end = text + len, *at;
	size_t at_len;

	while ((at = ews_str_next_line(&next, &at_len, end))) {
		const char *stop = at + at_len;
		struct line line = { .kind = *at, .text = at + 1, .len = (size_t)(next - at - 1) };

		if (*at == '#')
			continue;
		if (*at == '@') {
			read_heading(out, at, stop);
			continue;
		}
		if (*at == '\\') {
			if (!out->n || out->items[out->n - 1].is_cut)
				return false;
			out->items[out->n - 1].is_cut = true;
			out->items[out->n - 1].len--;
			continue;
		}
		/* Editors take the blank from a line that holds nothing else. */
		if (*at == '\n')
			line = (struct line){ .kind = ' ', .text = at, .len = 1 };
		if (!strchr(" +-", line.kind) || stop == end)
			return false;
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = line;
	}
	return true;
}

static size_t count_side(const struct lines *lines, size_t from, size_t to, char other)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += lines->items[i].kind != other;
	return n;
}

static size_t number(size_t line, size_t n)
{
	return n ? line + 1 : line;
}

/* Write the lines from `from` up to `to` as a hunk whose first ones are lines `old_line` and `new_line` of the file. */
static void write_text(struct ews_hunk *hunk, const struct lines *lines, size_t from, size_t to, size_t old_line,
		       size_t new_line)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	size_t n_old = count_side(lines, from, to, '+'), n_new = count_side(lines, from, to, '-');

	ews_buf_addf(&out, "@@ -%zu,%zu +%zu,%zu @@%.*s\n", number(old_line, n_old), n_old, number(new_line, n_new),
		     n_new, (int)lines->heading_len, lines->heading ? lines->heading : "");
	for (size_t i = from; i < to; i++) {
		const struct line *line = &lines->items[i];

		ews_buf_addc(&out, line->kind);
		ews_buf_add(&out, line->text, line->len);
		if (line->is_cut)
			ews_buf_addf(&out, "\n%s", no_newline);
	}
	free(hunk->own);
	hunk->len = out.len;
	hunk->text = hunk->own = ews_buf_steal(&out);
}

static bool is_change(const struct lines *lines, size_t at)
{
	return lines->items[at].kind != ' ';
}

/* Does a part begin with this line: the first change, or the first one behind lines that stay? */
static bool is_first(const struct lines *lines, size_t at)
{
	return is_change(lines, at) && (!at || !is_change(lines, at - 1));
}

static size_t find_first(const struct lines *lines, size_t at)
{
	while (at < lines->n && !is_first(lines, at))
		at++;
	return at;
}

size_t ews_hunk_parts(const struct ews_hunk_file *file, size_t at)
{
	EWS_CLEANUP(lines) struct lines lines = { .items = NULL };
	const struct ews_hunk *hunk = &file->items[at];
	size_t n = 0;

	if (file->is_whole || hunk->is_edited || !read_lines(&lines, hunk->text, hunk->len))
		return 1;
	for (size_t i = 0; i < lines.n; i++)
		n += is_first(&lines, i);
	return n;
}

/* The lines around a part that are another's: back to the change before it, on to the one behind it. */
static size_t find_around(const struct lines *lines, size_t at)
{
	while (at && !is_change(lines, at - 1))
		at--;
	return at;
}

/* How many of the lines that the hunk shows at first are another's? These stay as they are. */
static size_t count_lead(const struct lines *lines, const struct ews_hunk *hunk)
{
	return count_side(lines, 0, lines->n, '+') - hunk->n_old;
}

void ews_hunk_split(struct ews_hunk_file *file, size_t at)
{
	EWS_CLEANUP(lines) struct lines lines = { .items = NULL };
	struct ews_hunk whole = file->items[at];
	size_t n = ews_hunk_parts(file, at), old_line = whole.old_line, new_line = whole.new_line;
	size_t own, shown = 0;

	(void)read_lines(&lines, whole.text, whole.len);
	own = count_lead(&lines, &whole);
	file->items = ews_realloc(file->items, (file->n + n - 1) * sizeof(*file->items));
	memmove(&file->items[at + n], &file->items[at + 1], (file->n - at - 1) * sizeof(*file->items));
	file->n += n - 1;
	for (size_t i = 0; i < n; i++) {
		size_t next = find_first(&lines, find_first(&lines, own) + 1);
		struct ews_hunk *part = &file->items[at + i];

		*part = (struct ews_hunk){
			.old_line = old_line,
			.new_line = new_line,
			.n_old = count_side(&lines, own, next, '+'),
			.n_new = count_side(&lines, own, next, '-'),
			.edited = EWS_BUF_INIT,
		};
		write_text(part, &lines, shown, next, old_line - (own - shown), new_line - (own - shown));
		old_line += part->n_old;
		new_line += part->n_new;
		own = next;
		shown = find_around(&lines, next);
	}
	free(whole.own);
}

static bool is_same_line(const struct line *a, const struct line *b)
{
	return a->len == b->len && a->is_cut == b->is_cut && !memcmp(a->text, b->text, a->len);
}

/* The next line from `at` on that is of the file as it was. */
static size_t next_old(const struct lines *lines, size_t at)
{
	while (at < lines->n && lines->items[at].kind == '+')
		at++;
	return at;
}

/* Are the old lines of `part` those of `whole` from line `at` of `whole` on? */
static bool is_found_at(const struct lines *whole, size_t at, const struct lines *part)
{
	for (size_t i = next_old(part, 0); i < part->n; i = next_old(part, i + 1), at++) {
		at = next_old(whole, at);
		if (at == whole->n || !is_same_line(&whole->items[at], &part->items[i]))
			return false;
	}
	return true;
}

/* Find the old lines of `part` among those of `whole`; gives how many of them are before, or -1. */
static ssize_t find_part(const struct lines *whole, const struct lines *part)
{
	ssize_t n = 0;

	for (size_t at = next_old(whole, 0); at < whole->n; at = next_old(whole, at + 1), n++)
		if (is_found_at(whole, at, part))
			return n;
	return count_side(part, 0, part->n, '+') ? -1 : 0;
}

static bool has_cut(const struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		if (lines->items[i].is_cut)
			return true;
	return false;
}

/* What stands in the place of the old lines. Returns false when a line without its newline would not be the file's last. */
static bool write_result(struct ews_buf *out, const struct lines *lines, size_t from, bool is_end)
{
	bool is_cut = false;

	for (size_t i = from; i < lines->n; i++) {
		if (lines->items[i].kind == '-')
			continue;
		if (is_cut)
			return false;
		is_cut = lines->items[i].is_cut;
		ews_buf_add(out, lines->items[i].text, lines->items[i].len);
	}
	return !is_cut || is_end;
}

bool ews_hunk_edit(struct ews_hunk_file *file, size_t at, const char *text, size_t len)
{
	EWS_CLEANUP(lines) struct lines whole = { .items = NULL };
	EWS_CLEANUP(lines) struct lines part = { .items = NULL };
	EWS_CLEANUP(buf) struct ews_buf result = EWS_BUF_INIT;
	struct ews_hunk *hunk = &file->items[at];
	size_t n_shown, n_part, lead, skip;
	ssize_t before;

	if (file->is_whole || !read_lines(&whole, hunk->text, hunk->len) || !read_lines(&part, text, len))
		return false;
	before = find_part(&whole, &part);
	n_shown = count_side(&whole, 0, whole.n, '+');
	n_part = count_side(&part, 0, part.n, '+');
	/* Without a line that stays or goes nobody knows where the new ones belong, unless there never was any. */
	if (before < 0 || (!n_part && n_shown))
		return false;
	lead = count_lead(&whole, hunk);
	skip = lead > (size_t)before ? lead - (size_t)before : 0;
	for (size_t i = 0; i < skip; i++)
		if (i >= part.n || part.items[i].kind != ' ')
			return false;
	if (!write_result(&result, &part, skip, (size_t)before + n_part == n_shown && has_cut(&whole)))
		return false;
	part.heading = whole.heading;
	part.heading_len = whole.heading_len;
	write_text(hunk, &part, 0, part.n, hunk->old_line - lead + (size_t)before,
		   hunk->new_line - lead + (size_t)before);
	hunk->old_line += (size_t)before + skip - lead;
	hunk->n_old = n_part - skip;
	ews_buf_release(&hunk->edited);
	ews_buf_add(&hunk->edited, result.ptr, result.len);
	hunk->is_edited = true;
	return true;
}
