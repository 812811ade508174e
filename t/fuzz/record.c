/*
 * Records: see record.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

#define OWN_NUMBERS 1000000

static mode_t type_of(const char *word)
{
	static const struct {
		const char *word;
		mode_t type;
	} types[] = { { "file", S_IFREG }, { "link", S_IFLNK }, { "directory", S_IFDIR }, { "fifo", S_IFIFO } };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(word, types[i].word))
			return types[i].type;
	return 0;
}

/* Undo \ooo and \\, in place. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text != '\\') {
			*to++ = *text++;
		} else if (text[1] == '\\') {
			*to++ = '\\';
			text += 2;
		} else {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		}
	}
	*to = '\0';
}

static char *next_word(char **at)
{
	char *word = strsep(at, " ");

	if (!word || !*at)
		die("a manifest has a line that ends too early");
	return word;
}

static void read_item(struct record *out, char *line)
{
	struct item item = { .path = NULL };
	const char *type = next_word(&line);
	char *time, *dot;
	const char *attrs, *names;

	item.mode = type_of(type) | (mode_t)strtoul(next_word(&line), NULL, 8);
	time = next_word(&line);
	dot = strchr(time, '.');
	item.mtime.tv_sec = strtoll(time, NULL, 10);
	item.mtime.tv_nsec = dot ? strtol(dot + 1, NULL, 10) : 0;
	item.len = strtoull(next_word(&line), NULL, 10);
	item.data = copy_of(next_word(&line));
	attrs = next_word(&line);
	item.attrs = strcmp(attrs, "-") != 0 ? copy_of(attrs) : NULL;
	/* names of one file have one number; all others a number that nothing else has */
	names = next_word(&line);
	item.ino = strtoul(names, NULL, 10) ? strtoul(names, NULL, 10) : OWN_NUMBERS + out->items.n;
	item.nlink = strchr(names, '+') != NULL;
	(void)next_word(&line); /* its owner */
	unescape(line);
	item.path = copy_of(line);
	if (out->items.n == out->items.cap) {
		out->items.cap = 2 * out->items.cap + 64;
		out->items.items = grow(out->items.items, out->items.cap * sizeof(item));
	}
	out->items.items[out->items.n++] = item;
}

static void read_skip(struct record *out, char *line)
{
	struct skip skip = { .reason = copy_of(next_word(&line)) };

	(void)next_word(&line); /* its size */
	unescape(line);
	skip.path = copy_of(line);
	out->skips = grow(out->skips, (out->n_skips + 1) * sizeof(skip));
	out->skips[out->n_skips++] = skip;
}

static bool is_any(const void *payload, const char *path)
{
	(void)payload;
	(void)path;
	return true;
}

static void read_manifest(struct record *out, char *text)
{
	char *line = strsep(&text, "\n");

	if (!line || strcmp(line, "ews-manifest 2") != 0)
		die("a manifest of an unknown form: '%s'", line ? line : "");
	while ((line = strsep(&text, "\n")) && *line) {
		if (!strncmp(line, "skip ", 5))
			read_skip(out, line + 5);
		else if (strncmp(line, "owner ", 6) != 0)
			read_item(out, line);
	}
	for (size_t i = 0; i < out->items.n; i++)
		out->items.items[i].nlink += names_number(&out->items, &out->items.items[i], is_any, NULL);
}

/* The value behind `key` at the beginning of a line, up to its end. */
static char *value_of(const char *text, const char *key)
{
	const char *at = text;
	char *value;

	while (at && strncmp(at, key, strlen(key)) != 0) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		die("a snapshot's commit has no '%s'", key);
	at += strlen(key);
	value = copy_of(at);
	value[strcspn(value, "\n")] = '\0';
	return value;
}

/* The last of a commit's parents holds the manifest. */
static char *last_parent(const char *commit)
{
	const char *at = commit, *last = NULL;

	while ((at = strstr(at, "\nparent "))) {
		last = at + 1;
		at = last;
	}
	if (!last)
		die("a snapshot's commit has no parent");
	return value_of(last, "parent ");
}

void record_read(struct record *out, const char *project, const char *ref)
{
	struct child child = CHILD_INIT;
	char *tree, *parent, *name, *text;

	record_release(out);
	out->ref = copy_of(ref);
	if (RUN(&child, project, NULL, "git", "cat-file", "commit", ref) != 0)
		die("no snapshot '%s': %s", ref, child.err.ptr);
	tree = value_of(child.out.ptr, "tree ");
	snprintf(out->tree, sizeof(out->tree), "%s", tree);
	out->hash = value_of(child.out.ptr, "Ews-Hash: ");
	parent = last_parent(child.out.ptr);
	if (asprintf(&name, "%s:manifest", parent) < 0)
		die("no memory");
	if (RUN(&child, project, NULL, "git", "cat-file", "blob", name) != 0)
		die("no manifest of '%s': %s", ref, child.err.ptr);
	out->manifest = copy_of(child.out.ptr);
	text = copy_of(child.out.ptr);
	read_manifest(out, text);
	if (RUN(&child, project, NULL, "git", "ls-tree", "-r", parent) != 0)
		die("no manifest commit of '%s': %s", ref, child.err.ptr);
	out->pins = copy_of(child.out.ptr);
	free(text);
	free(name);
	free(parent);
	free(tree);
	child_release(&child);
}

void record_check_pins(struct text *report, const struct record *record, const struct record *other,
		       const char *project)
{
	struct child held = CHILD_INIT;
	char *rest = copy_of(other->pins), *at = rest, *line;

	if (RUN(&held, project, NULL, "git", "rev-list", "--objects", record->ref) != 0)
		die("no snapshot '%s': %s", record->ref, held.err.ptr);
	while ((line = strsep(&at, "\n"))) {
		char *name = strchr(line, '\t');

		if (!name || !strcmp(name, "\tmanifest") || strstr(record->pins, line))
			continue;
		/* HEAD's tree may have it under another path. */
		*name = '\0';
		if (!strstr(held.out.ptr, strrchr(line, ' ') + 1))
			text_addf(report, "%s does not hold what %s does: %s %s\n", record->ref, other->ref, line,
				  name + 1);
	}
	free(rest);
	child_release(&held);
}

const struct skip *record_skip(const struct record *record, const char *path)
{
	const struct skip *inmost = NULL;

	for (size_t i = 0; i < record->n_skips; i++)
		if (path_is_in(path, record->skips[i].path) &&
		    (!inmost || strlen(record->skips[i].path) > strlen(inmost->path)))
			inmost = &record->skips[i];
	return inmost;
}

static bool is_held(const struct item *item, const void *payload)
{
	return !record_skip(payload, item->path);
}

static bool is_held_path(const void *payload, const char *path)
{
	return !record_skip(payload, path);
}

/* Is the file recorded with other names than it has, of those that are held? And that it has more? */
static bool differs_in_names(const struct record *record, const struct list *list, const struct item *recorded,
			     const struct item *item)
{
	size_t held = names_number(list, item, is_held_path, record);

	return strcmp(names_first(list, item, is_held_path, record),
		      names_first(&record->items, recorded, is_any, NULL)) != 0 ||
	       (item->nlink > held) != (recorded->nlink > held);
}

/* In what the record of an item differs from the item itself. */
static const char *record_difference(const struct record *record, const struct list *list,
				     const struct item *recorded, const struct item *item)
{
	bool has_data = S_ISREG(item->mode) || S_ISLNK(item->mode);
	char id[ID_HEX] = "-";

	if (recorded->mode != item->mode)
		return "mode";
	if (has_data)
		blob_id(id, item);
	if (strcmp(recorded->data, id) != 0)
		return "id";
	if (recorded->len != (has_data ? item->len : 0))
		return "size";
	if ((recorded->attrs == NULL) != (item->attrs == NULL) ||
	    (recorded->attrs && strcmp(recorded->attrs, item->attrs) != 0))
		return "attributes";
	if (S_ISREG(item->mode) && differs_in_names(record, list, recorded, item))
		return "names";
	if (recorded->mtime.tv_sec != item->mtime.tv_sec || recorded->mtime.tv_nsec != item->mtime.tv_nsec)
		return "mtime";
	return NULL;
}

void record_check(struct text *report, const struct record *record, const struct list *list)
{
	char id[ID_HEX];

	for (size_t i = 0; i < list->n; i++) {
		const struct item *item = &list->items[i];
		const struct item *recorded = list_find(&record->items, item->path);
		bool is_skipped = record_skip(record, item->path);
		const char *word = is_skipped && recorded ? "held and left out"
				   : is_skipped           ? NULL
				   : !recorded            ? "not held, and not left out"
							  : record_difference(record, list, recorded, item);

		/* a repository inside is an entry, and its content is left out */
		if (!word)
			continue;
		text_addf(report, "manifest of %s: %s: ", record->ref, word);
		text_add_name(report, item->path);
		text_addf(report, "\n    there    ");
		item_describe(report, item);
		if (recorded) {
			text_addf(report, "\n    recorded ");
			item_describe(report, recorded);
		}
		text_addf(report, "\n");
	}
	for (size_t i = 0; i < record->items.n; i++) {
		if (list_find(list, record->items.items[i].path))
			continue;
		text_addf(report, "manifest of %s: held, but not there: ", record->ref);
		text_add_name(report, record->items.items[i].path);
		text_addf(report, "\n");
	}
	tree_id(id, list, is_held, record);
	if (strcmp(id, record->tree) != 0)
		text_addf(report, "tree of %s: is %s, but should be %s\n", record->ref, record->tree, id);
}

void record_release(struct record *record)
{
	for (size_t i = 0; i < record->n_skips; i++) {
		free(record->skips[i].reason);
		free(record->skips[i].path);
	}
	free(record->skips);
	free(record->ref);
	free(record->hash);
	free(record->manifest);
	free(record->pins);
	list_release(&record->items);
	*record = (struct record)RECORD_INIT;
}
