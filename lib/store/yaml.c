/*
 * YAML: see yaml.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/yaml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"

#define DEPTH_MAX 32
#define KEY_LEN_MAX 1024
#define VALUES_MAX 10000
#define DIRECTIVES_MAX 8 /* libyaml compares each with each */

/* A section or a list that is being read. */
struct frame {
	bool is_list;
	bool has_key; /* of a section: the next thing is a value */
	size_t path_len; /* of its own key */
	unsigned line; /* of the key that was read last */
};

struct walk {
	struct ews_yaml *out;
	const char *file;
	struct frame frames[DEPTH_MAX];
	size_t depth;
	struct ews_buf path; /* the dotted key of what comes next */
	unsigned n_documents;
};

static unsigned line_of(const yaml_mark_t *mark)
{
	return (unsigned)mark->line + 1;
}

static int fail(const struct walk *walk, unsigned line, const char *why)
{
	return ews_error(EWS_ECONFIG, "%s:%u: %s", walk->file, line, why);
}

static unsigned count_lines(const char *text, size_t len)
{
	unsigned line = 1;

	for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + len - at))); at++)
		line++;
	return line;
}

/* What libyaml has against the file; of bytes that are no text it knows the place alone. */
static int fail_parser(const struct walk *walk, const yaml_parser_t *parser, const char *text, size_t len)
{
	size_t offset = parser->problem_offset < len ? parser->problem_offset : len;
	unsigned line = line_of(&parser->problem_mark);

	if (parser->error == YAML_READER_ERROR)
		line = count_lines(text, offset);
	return fail(walk, line, parser->problem ? parser->problem : "is no YAML");
}

static int add(struct walk *walk, enum ews_yaml_kind kind, const char *text, unsigned line)
{
	struct ews_yaml *out = walk->out;

	if (out->n == VALUES_MAX)
		return fail(walk, line, "has too many values");
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] =
		(struct ews_yaml_value){ kind, ews_strndup(walk->path.ptr, walk->path.len), ews_strdup(text), line };
	return 0;
}

static bool is_null(const yaml_event_t *event)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };
	const char *text = (const char *)event->data.scalar.value;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i]))
			return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return false;
}

static struct frame *top_of(struct walk *walk)
{
	return walk->depth ? &walk->frames[walk->depth - 1] : NULL;
}

/* Is the next thing the name of a key? */
static bool wants_key(const struct frame *top)
{
	return top && !top->is_list && !top->has_key;
}

static int take_key(struct walk *walk, struct frame *top, const char *name, unsigned line)
{
	ews_buf_truncate(&walk->path, top->path_len);
	if (walk->path.len)
		ews_buf_addc(&walk->path, '.');
	ews_buf_adds(&walk->path, name);
	if (walk->path.len > KEY_LEN_MAX)
		return fail(walk, line, "a key is too long");
	top->has_key = true;
	top->line = line;
	return 0;
}

/* Where the value that was just read says it is. Its key is done with. */
static unsigned close_key(struct frame *top, unsigned line)
{
	if (!top || top->is_list)
		return line;
	top->has_key = false;
	return top->line;
}

static int take_scalar(struct walk *walk, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	unsigned line = line_of(&event->start_mark);
	struct frame *top = top_of(walk);
	enum ews_yaml_kind kind = is_null(event) ? EWS_YAML_NULL : EWS_YAML_TEXT;

	if (event->data.scalar.tag)
		return fail(walk, line, "has a tag, and tags are not read");
	if (strlen(text) != event->data.scalar.length)
		return fail(walk, line, "has a NUL in a text");
	if (!top)
		return kind == EWS_YAML_NULL ? 0 : fail(walk, line, "is a text, where keys should be");
	if (wants_key(top))
		return take_key(walk, top, text, line);
	if (top->is_list)
		return add(walk, EWS_YAML_ITEM, text, line);
	return add(walk, kind, kind == EWS_YAML_TEXT ? text : "", close_key(top, line));
}

static int take_start(struct walk *walk, const yaml_event_t *event, bool is_list)
{
	const yaml_char_t *tag = is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
	unsigned line = line_of(&event->start_mark);
	struct frame *top = top_of(walk);
	enum ews_yaml_kind kind = !is_list              ? EWS_YAML_SECTION
				  : top && top->is_list ? EWS_YAML_LIST_WITHIN
							: EWS_YAML_LIST;
	int rc = 0;

	if (tag)
		return fail(walk, line, "has a tag, and tags are not read");
	if (wants_key(top))
		return fail(walk, line, "has a key that is no text");
	if (!top && is_list)
		return fail(walk, line, "is a list, where keys should be");
	if (walk->depth == DEPTH_MAX)
		return fail(walk, line, "is nested too deeply");
	if (top)
		rc = add(walk, kind, "", close_key(top, line));
	walk->frames[walk->depth++] = (struct frame){ .is_list = is_list, .path_len = walk->path.len };
	return rc;
}

static void take_end(struct walk *walk)
{
	ews_buf_truncate(&walk->path, walk->frames[--walk->depth].path_len);
}

static int take_event(struct walk *walk, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (++walk->n_documents > 1)
			return fail(walk, line_of(&event->start_mark), "has a second document");
		return 0;
	case YAML_ALIAS_EVENT:
		return fail(walk, line_of(&event->start_mark), "has an alias, and aliases are not read");
	case YAML_SCALAR_EVENT:
		return take_scalar(walk, event);
	case YAML_SEQUENCE_START_EVENT:
		return take_start(walk, event, true);
	case YAML_MAPPING_START_EVENT:
		return take_start(walk, event, false);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		take_end(walk);
		return 0;
	default:
		return 0;
	}
}

static int check_directives(const struct walk *walk, const char *text, size_t len)
{
	const char *end = text + len;
	unsigned line = 1, n = 0;

	for (const char *at = text; at && at < end; line++) {
		if (*at == '%' && ++n > DIRECTIVES_MAX)
			return fail(walk, line, "has too many directives");
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return 0;
}

static int read_events(struct walk *walk, yaml_parser_t *parser, const char *text, size_t len)
{
	bool is_end = false;
	int rc = 0;

	while (!is_end && rc == 0) {
		yaml_event_t event;

		if (!yaml_parser_parse(parser, &event))
			return fail_parser(walk, parser, text, len);
		is_end = event.type == YAML_STREAM_END_EVENT;
		rc = take_event(walk, &event);
		yaml_event_delete(&event);
	}
	return rc;
}

int ews_yaml_parse(struct ews_yaml *out, const char *file, const char *text, size_t len)
{
	EWS_CLEANUP(yaml) struct ews_yaml yaml = EWS_YAML_INIT;
	struct walk walk = { .out = &yaml, .file = file, .path = EWS_BUF_INIT };
	yaml_parser_t parser;
	int rc;

	if (len > EWS_YAML_BYTES_MAX)
		return fail(&walk, 1, "the file is too large");
	rc = check_directives(&walk, text, len);
	if (rc < 0)
		return rc;
	if (!yaml_parser_initialize(&parser))
		return fail(&walk, 1, "there is no memory to read it");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	rc = read_events(&walk, &parser, text, len);
	yaml_parser_delete(&parser);
	ews_buf_release(&walk.path);
	if (rc < 0)
		return rc;
	*out = yaml;
	yaml = (struct ews_yaml)EWS_YAML_INIT;
	return 0;
}

void ews_yaml_release(struct ews_yaml *yaml)
{
	for (size_t i = 0; i < yaml->n; i++) {
		free(yaml->items[i].key);
		free(yaml->items[i].text);
	}
	free(yaml->items);
	*yaml = (struct ews_yaml)EWS_YAML_INIT;
}
