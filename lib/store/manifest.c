/*
 * Manifests: see manifest.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/manifest.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/str.h"

#define HEADER "ews-manifest 2\n"
#define HEADER_1 "ews-manifest 1\n"
#define HEADER_3 "ews-manifest 3\n"
#define OWNER "owner "
#define HASH_AT_ONCE (32 * 1024)
/* What a line has beside path and attributes, as a rule. */
#define LINE_BYTES 84
#define WHOLE_BYTES_MAX (128 * 1024)
#define PIECE_BYTES_MIN (8 * 1024)
#define PIECE_BYTES_MAX (96 * 1024)
#define PIECES_MAX 99999

/*
 * Attributes stand on a line of their own each in an entry; on a manifest's line commas part them, so
 * that a comma or blank in a name is escaped there as well.
 */
static void add_attrs(struct ews_buf *out, const char *xattrs)
{
	size_t len = xattrs ? strlen(xattrs) : 0;

	if (!len) {
		ews_buf_addc(out, '-');
		return;
	}
	for (size_t i = 0; i + 1 < len; i++) {
		if (xattrs[i] == ',' || xattrs[i] == ' ')
			ews_buf_addf(out, "\\%03o", (unsigned char)xattrs[i]);
		else
			ews_buf_addc(out, xattrs[i] == '\n' ? ',' : xattrs[i]);
	}
}

/* At least `width` digits. There are half a dozen numbers to an entry, and printf() takes its time. */
static void add_number(struct ews_buf *out, uint64_t number, bool is_octal, size_t width)
{
	char digits[24];
	size_t at = sizeof(digits);

	while (number || sizeof(digits) - at < width) {
		digits[--at] = (char)('0' + (is_octal ? number & 7 : number % 10));
		number = is_octal ? number >> 3 : number / 10;
	}
	ews_buf_add(out, digits + at, sizeof(digits) - at);
}

static void add_type_and_mode(struct ews_buf *out, const struct ews_entry *entry)
{
	ews_buf_adds(out, ews_entry_type_name(entry->type));
	ews_buf_addc(out, ' ');
	add_number(out, entry->mode, true, 4);
	ews_buf_addc(out, ' ');
}

static void add_oid(struct ews_buf *out, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX + 1];
	size_t len = 2 * (size_t)oid->len;

	if (ews_oid_is_none(oid)) {
		ews_buf_add(out, "- ", 2);
		return;
	}
	ews_hex(hex, oid->id, oid->len);
	hex[len] = ' ';
	ews_buf_add(out, hex, len + 1);
}

/* Of each entry the number of its file: 0 for those of one name. NULL when all are that. */
static uint32_t *number_files(const struct ews_entries *entries)
{
	uint32_t *numbers = NULL, last = 0;

	for (size_t i = 0; i < entries->n; i++) {
		const char *name = entries->items[i].first_name;
		const struct ews_entry *first = name ? ews_entries_find(entries, name) : NULL;

		if (!first)
			continue;
		if (!numbers)
			numbers = ews_calloc(entries->n, sizeof(*numbers));
		numbers[first - entries->items] = numbers[i] = UINT32_MAX;
	}
	for (size_t i = 0; i < entries->n && numbers; i++) {
		const char *name = entries->items[i].first_name;

		if (numbers[i])
			numbers[i] = name ? numbers[ews_entries_find(entries, name) - entries->items] : ++last;
	}
	return numbers;
}

/* An entry of the owner whom more than half have, where there is one: then no single entry changes what all say. */
static const struct ews_entry *find_usual(const struct ews_entries *entries)
{
	const struct ews_entry *usual = NULL;
	size_t lead = 0;

	for (size_t i = 0; i < entries->n; i++) {
		const struct ews_entry *entry = &entries->items[i];

		if (!entry->has_owner)
			continue;
		if (!lead)
			usual = entry;
		if (entry->uid == usual->uid && entry->gid == usual->gid)
			lead++;
		else
			lead--;
	}
	return usual;
}

static void add_names(struct ews_buf *out, const struct ews_entry *entry, uint32_t number)
{
	if (number)
		ews_buf_addf(out, "%" PRIu32, number);
	if (entry->is_elsewhere)
		ews_buf_addc(out, '+');
	if (!number && !entry->is_elsewhere)
		ews_buf_addc(out, '-');
}

/* The same for version 3. */
static void add_names_by_path(struct ews_buf *out, const struct ews_entry *entry, const char *first)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

	if (entry->is_elsewhere)
		ews_buf_addc(out, '+');
	if (!first && !entry->is_elsewhere)
		ews_buf_addc(out, '-');
	if (!first)
		return;
	ews_path_escape(&path, first, strlen(first));
	ews_buf_addc(out, '@');
	for (const char *c = path.ptr; *c; c++)
		if (*c == ' ')
			ews_buf_addf(out, "\\%03o", (unsigned)' ');
		else
			ews_buf_addc(out, *c);
}

/* The path of the file's first name, where that is another one than this. */
static const char *find_first(const struct ews_entries *entries, const struct ews_entry *entry)
{
	const struct ews_entry *first = NULL;

	while (entry && entry->first_name) {
		entry = ews_entries_find(entries, entry->first_name);
		first = entry ? entry : first;
	}
	return first ? first->path : NULL;
}

static void add_owner(struct ews_buf *out, const struct ews_entry *entry, const struct ews_entry *usual)
{
	if (!entry->has_owner)
		ews_buf_adds(out, " ? ");
	else if (entry->uid == usual->uid && entry->gid == usual->gid)
		ews_buf_adds(out, " - ");
	else
		ews_buf_addf(out, " %" PRIu32 ":%" PRIu32 " ", entry->uid, entry->gid);
}

static void add_time(struct ews_buf *out, const struct ews_entry *entry)
{
	if (entry->has_time && entry->mtime_s >= 0) {
		add_number(out, (uint64_t)entry->mtime_s, false, 1);
		ews_buf_addc(out, '.');
		add_number(out, entry->mtime_ns, false, 9);
	} else if (entry->has_time) {
		ews_buf_addf(out, "%" PRId64 ".%09" PRIu32, entry->mtime_s, entry->mtime_ns);
	} else {
		ews_buf_addc(out, '-');
	}
	ews_buf_addc(out, ' ');
}

static void add_entry(struct ews_buf *out, const struct ews_manifest_pieces *pieces, size_t i)
{
	const struct ews_entry *entry = &pieces->entries->items[i];

	add_type_and_mode(out, entry);
	add_time(out, entry);
	add_number(out, entry->size, false, 1);
	ews_buf_addc(out, ' ');
	add_oid(out, &entry->oid);
	add_attrs(out, entry->xattrs);
	ews_buf_addc(out, ' ');
	if (pieces->entries->knows_names) {
		if (pieces->names_by_path)
			add_names_by_path(out, entry, find_first(pieces->entries, entry));
		else
			add_names(out, entry, pieces->numbers ? pieces->numbers[i] : 0);
		add_owner(out, entry, pieces->usual);
	}
	ews_path_escape(out, entry->path, strlen(entry->path));
	ews_buf_addc(out, '\n');
}

static void add_skip(struct ews_buf *out, const struct ews_skip *skip)
{
	/* One more digit, which says nothing to older versions: to them it is ignored, and no more. */
	ews_buf_addf(out, "skip %s %s%" PRIu64 " ", ews_skip_word(skip->reason), skip->is_gone ? "0" : "",
		     skip->size);
	ews_path_escape(out, skip->path, strlen(skip->path));
	ews_buf_addc(out, '\n');
}

static void begin_piece(struct ews_manifest_pieces *pieces, size_t line)
{
	EWS_GROW(pieces->starts, pieces->n, pieces->cap);
	pieces->starts[pieces->n++] = line;
}

/* All in one piece. */
static void take_whole(struct ews_manifest_pieces *out, const struct ews_entries *entries,
		       const struct ews_skips *skips)
{
	*out = (struct ews_manifest_pieces)EWS_MANIFEST_PIECES_INIT;
	out->entries = entries;
	out->skips = skips;
	out->n_lines = entries->n + (skips ? skips->n : 0);
	if (entries->knows_names) {
		out->numbers = number_files(entries);
		out->usual = find_usual(entries);
	}
	begin_piece(out, 0);
}

/* A number that depends on nothing but the path, any part of which is as good as any other. */
static uint64_t mix_path(const char *path, size_t len)
{
	uint64_t mixed = len;

	while (len) {
		uint64_t word = 0;
		size_t n = len < sizeof(word) ? len : sizeof(word);

		memcpy(&word, path, n);
		mixed = (mixed ^ le64toh(word)) * 0x9e3779b97f4a7c15u;
		mixed ^= mixed >> 32;
		path += n;
		len -= n;
	}
	return mixed;
}

void ews_manifest_cut(struct ews_manifest_pieces *out, const struct ews_entries *entries,
		      const struct ews_skips *skips)
{
	size_t in_all = 0, in_piece = 0;

	take_whole(out, entries, skips);
	for (size_t i = 0; i < out->n_lines; i++) {
		const struct ews_entry *entry = i < entries->n ? &entries->items[i] : NULL;
		const char *path = entry ? entry->path : skips->items[i - entries->n].path;
		size_t len = strlen(path);
		size_t bytes = LINE_BYTES + len + (entry && entry->xattrs ? strlen(entry->xattrs) : 0);

		if ((in_piece + bytes > PIECE_BYTES_MAX ||
		     (in_piece >= PIECE_BYTES_MIN && !(mix_path(path, len) & 0xff))) &&
		    i && out->n < PIECES_MAX) {
			begin_piece(out, i);
			in_piece = 0;
		}
		in_piece += bytes;
		in_all += bytes;
	}
	if (in_all <= WHOLE_BYTES_MAX)
		out->n = 1;
	/* With one file more or less numbers would be others in all that follows. */
	out->names_by_path = out->n > 1 && out->numbers;
}

void ews_manifest_format_piece(struct ews_buf *out, const struct ews_manifest_pieces *pieces, size_t i)
{
	const struct ews_entries *entries = pieces->entries;
	size_t end = i + 1 < pieces->n ? pieces->starts[i + 1] : pieces->n_lines;

	if (!i) {
		ews_buf_adds(out, pieces->names_by_path ? HEADER_3 : entries->knows_names ? HEADER : HEADER_1);
		if (pieces->usual)
			ews_buf_addf(out, OWNER "%" PRIu32 ":%" PRIu32 "\n", pieces->usual->uid, pieces->usual->gid);
	}
	for (size_t line = pieces->starts[i]; line < end; line++)
		if (line < entries->n)
			add_entry(out, pieces, line);
		else
			add_skip(out, &pieces->skips->items[line - entries->n]);
}

void ews_manifest_pieces_release(struct ews_manifest_pieces *pieces)
{
	free(pieces->numbers);
	free(pieces->starts);
	*pieces = (struct ews_manifest_pieces)EWS_MANIFEST_PIECES_INIT;
}

void ews_manifest_format(struct ews_buf *out, const struct ews_entries *entries, const struct ews_skips *skips)
{
	EWS_CLEANUP(manifest_pieces) struct ews_manifest_pieces whole = EWS_MANIFEST_PIECES_INIT;

	take_whole(&whole, entries, skips);
	ews_manifest_format_piece(out, &whole, 0);
}

void ews_manifest_record(struct ews_entry *out, const struct ews_entry *entry)
{
	memset(out, 0, sizeof(*out)); /* what pads it may be written to a file */
	out->path = entry->path;
	out->xattrs = entry->xattrs && *entry->xattrs ? entry->xattrs : NULL;
	out->size = entry->size;
	out->mtime_s = entry->has_time ? entry->mtime_s : 0;
	out->mtime_ns = entry->has_time ? entry->mtime_ns : 0;
	out->mode = entry->mode;
	out->type = entry->type;
	out->has_time = entry->has_time;
	out->has_owner = entry->has_owner;
	out->is_elsewhere = entry->is_elsewhere;
	out->first_name = entry->first_name;
	out->uid = entry->has_owner ? entry->uid : 0;
	out->gid = entry->has_owner ? entry->gid : 0;
	out->oid = entry->oid;
}

/* Cut the next word, which a blank ends, off `*at`; NULL when there is none. */
static char *next_word(char **at)
{
	char *word = *at;
	char *blank = strchr(word, ' ');

	if (!blank || blank == word)
		return NULL;
	*blank = '\0';
	*at = blank + 1;
	return word;
}

static bool parse_number(uint64_t *out, const char *text, int base)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, base);
	return !errno && end != text && !*end && *text != '-';
}

static bool parse_time(struct ews_entry *entry, char *text)
{
	char *dot = strchr(text, '.');
	uint64_t ns;
	char *end;

	if (!strcmp(text, "-"))
		return true;
	if (!dot)
		return false;
	entry->has_time = true;
	*dot = '\0';
	errno = 0;
	entry->mtime_s = strtoll(text, &end, 10);
	if (errno || end == text || *end || !parse_number(&ns, dot + 1, 10) || ns > 999999999)
		return false;
	entry->mtime_ns = (uint32_t)ns;
	return true;
}

static enum ews_entry_type type_from_name(const char *name)
{
	for (int type = EWS_ENTRY_FILE; type <= EWS_ENTRY_DEVICE; type++)
		if (!strcmp(name, ews_entry_type_name(type)))
			return type;
	return 0;
}

static bool parse_path(struct ews_buf *path, const char *text)
{
	ews_buf_truncate(path, 0);
	if (ews_path_unescape(path, text, strlen(text)) < 0 || !ews_path_is_plain(path->ptr)) {
		ews_error_clear();
		return false;
	}
	return true;
}

/* The git directory of the directory itself is in no list of ours: who names it wants hooks put there. */
static bool is_in_git_dir(const char *path)
{
	return ews_str_begins(path, ".git") && (!path[4] || path[4] == '/');
}

/* One attribute, "<name>=<hex>", as a line of an entry's; `name` is the one before it, and then its own. */
static bool parse_attr(struct ews_buf *out, struct ews_buf *name, const char *text, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf raw = EWS_BUF_INIT;
	const char *eq = memrchr(text, '=', len);
	size_t name_len = eq ? (size_t)(eq - text) : 0;

	if (!name_len || (len - name_len) % 2 == 0 || strspn(eq + 1, "0123456789abcdef") < len - name_len - 1)
		return false;
	if (ews_path_unescape(&raw, text, name_len) < 0) {
		ews_error_clear();
		return false;
	}
	/* In order, and none twice. */
	if (strcmp(name->ptr, raw.ptr) >= 0)
		return false;
	ews_buf_truncate(name, 0);
	ews_buf_add(name, raw.ptr, raw.len);
	ews_path_escape(out, raw.ptr, raw.len);
	ews_buf_add(out, eq, len - name_len);
	ews_buf_addc(out, '\n');
	return true;
}

static bool parse_attrs(struct ews_entries *entries, struct ews_entry *entry, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;

	if (!strcmp(text, "-"))
		return true;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!parse_attr(&out, &name, text, len))
			return false;
		if (!text[len])
			break;
		text += len + 1;
	}
	entry->xattrs = ews_arena_dup(&entries->arena, out.ptr, out.len);
	return true;
}

/* What is read line by line. */
struct reading {
	struct ews_entries *entries;
	struct ews_skips *skips;
	struct ews_buf path, name;
	bool is_first; /* version 1 */
	bool is_third; /* version 3 */
	bool has_usual;
	uint32_t uid, gid; /* usually */
	size_t *firsts; /* by the number of a file, the place of its first name, counted from 1 */
	size_t n_firsts, cap_firsts;
};

static void release_reading(struct reading *reading)
{
	ews_buf_release(&reading->path);
	ews_buf_release(&reading->name);
	free(reading->firsts);
}

EWS_CLEANUP_DEFINE(reading, struct reading, release_reading)

/* "<uid>:<gid>" */
static bool parse_owner(uint32_t *uid, uint32_t *gid, char *text)
{
	char *colon = strchr(text, ':');
	uint64_t user, group;

	if (!colon)
		return false;
	*colon = '\0';
	if (!parse_number(&user, text, 10) || !parse_number(&group, colon + 1, 10) || user >= UINT32_MAX ||
	    group >= UINT32_MAX)
		return false;
	*uid = (uint32_t)user;
	*gid = (uint32_t)group;
	return true;
}

static bool parse_entry_owner(struct reading *reading, struct ews_entry *entry, char *text)
{
	if (!strcmp(text, "?"))
		return true;
	entry->has_owner = true;
	if (strcmp(text, "-") != 0)
		return parse_owner(&entry->uid, &entry->gid, text);
	entry->uid = reading->uid;
	entry->gid = reading->gid;
	return reading->has_usual;
}

/* "3", "3+", "+" or "-". Numbers are given out in order, and to names of the same content alone. */
static bool parse_names(struct reading *reading, struct ews_entry *entry, char *text)
{
	size_t len = strlen(text);
	const struct ews_entry *first;
	uint64_t number;

	if (!strcmp(text, "-"))
		return true;
	if (entry->type != EWS_ENTRY_FILE)
		return false;
	entry->is_elsewhere = text[len - 1] == '+';
	text[len - entry->is_elsewhere] = '\0';
	if (!*text)
		return entry->is_elsewhere;
	if (!parse_number(&number, text, 10) || !number || number > reading->n_firsts + 1)
		return false;
	if (number > reading->n_firsts) {
		EWS_GROW(reading->firsts, reading->n_firsts, reading->cap_firsts);
		reading->firsts[reading->n_firsts++] = reading->entries->n;
		return true;
	}
	first = &reading->entries->items[reading->firsts[number - 1]];
	entry->first_name = first->path;
	return ews_entry_equal(first, entry);
}

/* "@<path>", "+@<path>", "+" or "-". Whether that path is a file's first name is seen when all are read. */
static bool parse_names_by_path(struct reading *reading, struct ews_entry *entry, char *text)
{
	struct ews_buf *path = &reading->name;

	if (!strcmp(text, "-"))
		return true;
	if (entry->type != EWS_ENTRY_FILE)
		return false;
	entry->is_elsewhere = *text == '+';
	text += entry->is_elsewhere;
	if (!*text)
		return entry->is_elsewhere;
	if (*text != '@' || !parse_path(path, text + 1))
		return false;
	entry->first_name = ews_arena_dup(&reading->entries->arena, path->ptr, path->len);
	return true;
}

/* Let each name of a file have its first one of the list, which it must be the same as. */
static int settle_names(struct ews_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++) {
		struct ews_entry *entry = &entries->items[i];
		const struct ews_entry *first;

		if (!entry->first_name)
			continue;
		first = ews_entries_find(entries, entry->first_name);
		if (!first || first >= entry || first->first_name || !ews_entry_equal(first, entry))
			return ews_error(EWS_EDAMAGED, "the manifest has '%s' as a name of what it is none of",
					 entry->path);
		entry->first_name = first->path;
	}
	return 0;
}

static bool parse_entry(struct reading *reading, char *line)
{
	struct ews_entries *entries = reading->entries;
	struct ews_buf *path = &reading->path;
	char *type = next_word(&line);
	char *mode = type ? next_word(&line) : NULL;
	char *mtime = mode ? next_word(&line) : NULL;
	char *size = mtime ? next_word(&line) : NULL;
	char *oid = size ? next_word(&line) : NULL;
	char *attrs = oid ? next_word(&line) : NULL;
	char *names = attrs && !reading->is_first ? next_word(&line) : NULL;
	char *owner = names ? next_word(&line) : NULL;
	struct ews_entry parsed = { 0 };
	struct ews_entry *entry;
	uint64_t bits;

	if (!attrs || (!reading->is_first && !owner) || !parse_path(path, line) || is_in_git_dir(path->ptr) ||
	    !parse_number(&bits, mode, 8) || bits > 07777 || !parse_time(&parsed, mtime) ||
	    !parse_number(&parsed.size, size, 10))
		return false;
	parsed.type = type_from_name(type);
	parsed.mode = (uint16_t)bits;
	if (!parsed.type)
		return false;
	if (strcmp(oid, "-") && ews_oid_parse(&parsed.oid, oid) < 0) {
		ews_error_clear();
		return false;
	}
	if (!parse_attrs(entries, &parsed, attrs))
		return false;
	if (owner && (!(reading->is_third ? parse_names_by_path : parse_names)(reading, &parsed, names) ||
		      !parse_entry_owner(reading, &parsed, owner)))
		return false;
	entry = ews_entries_add(entries, path->ptr, path->len);
	parsed.path = entry->path;
	*entry = parsed;
	return true;
}

static bool parse_skip(struct reading *reading, char *line)
{
	char *reason = next_word(&line);
	char *size = reason ? next_word(&line) : NULL;
	enum ews_skip_reason code = size ? ews_skip_from_word(reason) : 0;
	uint64_t bytes;

	if (!code || !parse_number(&bytes, size, 10) || !parse_path(&reading->path, line))
		return false;
	ews_skips_add(reading->skips, reading->path.ptr, code, bytes)->is_gone = size[0] == '0' && size[1];
	return true;
}

static bool parse_line(struct reading *reading, char *line)
{
	if (ews_str_begins(line, "skip "))
		return parse_skip(reading, line + strlen("skip "));
	if (reading->is_first || !ews_str_begins(line, OWNER))
		return parse_entry(reading, line);
	if (reading->has_usual)
		return false;
	reading->has_usual = true;
	return parse_owner(&reading->uid, &reading->gid, line + strlen(OWNER));
}

int ews_manifest_parse(struct ews_entries *entries, struct ews_skips *skips, const char *text, size_t len)
{
	EWS_CLEANUP(entries) struct ews_entries no_entries = EWS_ENTRIES_INIT;
	EWS_CLEANUP(skips) struct ews_skips no_skips = EWS_SKIPS_INIT;
	EWS_CLEANUP(reading)
	struct reading reading = { .entries = entries ? entries : &no_entries,
				   .skips = skips ? skips : &no_skips,
				   .path = EWS_BUF_INIT,
				   .name = EWS_BUF_INIT };
	EWS_CLEANUP(free) char *copy = ews_strndup(text, len);
	char *at = copy;

	entries = reading.entries;
	reading.is_first = ews_str_begins(copy, HEADER_1);
	reading.is_third = ews_str_begins(copy, HEADER_3);
	if ((!reading.is_first && !reading.is_third && !ews_str_begins(copy, HEADER)) || strlen(copy) != len)
		return ews_error(EWS_EDAMAGED, "not a manifest that this version can read");
	at += strlen(HEADER);
	while (*at) {
		char *end = strchr(at, '\n');

		if (!end)
			return ews_error(EWS_EDAMAGED, "the manifest ends in the middle of a line");
		*end = '\0';
		if (!parse_line(&reading, at))
			return ews_error(EWS_EDAMAGED, "the manifest has a line that makes no sense: '%.60s'", at);
		at = end + 1;
	}
	for (size_t i = 1; i < entries->n; i++)
		if (ews_path_cmp(entries->items[i - 1].path, entries->items[i].path) >= 0)
			return ews_error(EWS_EDAMAGED, "the manifest is not in order at '%s'",
					 entries->items[i].path);
	if (reading.is_third && settle_names(entries) < 0)
		return EWS_EDAMAGED;
	entries->knows_names = !reading.is_first;
	ews_skips_sort(reading.skips);
	return 0;
}

void ews_manifest_hash(char out[EWS_TREE_HASH_LEN], const struct ews_entries *entries)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	EWS_CLEANUP(buf) struct ews_buf lines = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf start = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];

	for (size_t i = 0; i < entries->n; i++) {
		const struct ews_entry *entry = &entries->items[i];

		/* Many in a row are of one type and mode. */
		if (!i || entry->type != entry[-1].type || entry->mode != entry[-1].mode) {
			ews_buf_truncate(&start, 0);
			add_type_and_mode(&start, entry);
		}
		ews_buf_add(&lines, start.ptr, start.len);
		add_oid(&lines, &entry->oid);
		add_attrs(&lines, entry->xattrs);
		ews_buf_addc(&lines, ' ');
		ews_buf_addz(&lines, entry->path);
		if (lines.len < HASH_AT_ONCE)
			continue;
		ews_hash_add(hash, lines.ptr, lines.len);
		ews_buf_truncate(&lines, 0);
	}
	ews_hash_add(hash, lines.ptr, lines.len);
	ews_hash_finish(hash, digest);
	memcpy(out, "sha256:", 7);
	ews_hex(out + 7, digest, 32);
}
