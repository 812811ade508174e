/*
 * Ignore rules: see ignore.h.
 *
 * Most patterns need no matcher: a plain name is compared, "*.o" compares the
 * end, and of all others the part before the first wildcard is compared first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/ignore.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

enum kind {
	NAME, /* the last component is the text */
	NAME_END, /* the last component ends in the text */
	NAME_GLOB, /* the last component matches the text */
	PATH, /* the path below the rule's directory is the text */
	PATH_GLOB, /* it starts with `plain_len` bytes of the text, and the rest matches the rest */
};

struct rule {
	const char *text;
	size_t len;
	size_t plain_len;
	enum kind kind;
	bool is_negated;
	bool needs_dir;
};

struct ews_ignore {
	const struct ews_ignore *above; /* the next one up that has rules */
	size_t path_start; /* where what its rules speak of begins in a path */
	struct rule *rules;
	size_t n, cap;
	char *texts[2]; /* what the rules point into */
	bool fold_case;
};

/* Ours, as git's: the locale has no say. */
static bool is_upper(unsigned char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_lower(unsigned char c)
{
	return c >= 'a' && c <= 'z';
}

static unsigned char folded(char c, bool fold_case)
{
	return fold_case && is_upper((unsigned char)c) ? (unsigned char)(c - 'A' + 'a') : (unsigned char)c;
}

static bool same_bytes(const char *a, const char *b, size_t len, bool fold_case)
{
	if (!fold_case)
		return !memcmp(a, b, len);
	for (size_t i = 0; i < len; i++)
		if (folded(a[i], true) != folded(b[i], true))
			return false;
	return true;
}

/* Is `c` in the class whose name is the `len` bytes at `name`? -1 when there is no such class. */
static int in_named_class(const char *name, size_t len, unsigned char c, bool fold_case)
{
	static const char *const names[] = { "alnum", "alpha", "blank", "cntrl", "digit", "graph",
					     "lower", "print", "punct", "space", "upper", "xdigit" };
	bool is_alpha = is_upper(c) || is_lower(c);
	bool is_digit = c >= '0' && c <= '9';
	bool is_graph = c > ' ' && c < 0x7f;
	const bool answers[] = {
		is_alpha || is_digit,
		is_alpha,
		c == ' ' || c == '\t',
		c < ' ' || c == 0x7f,
		is_digit,
		is_graph,
		is_lower(c),
		is_graph || c == ' ',
		is_graph && !is_alpha && !is_digit,
		c == ' ' || c == '\t' || c == '\n' || c == '\r',
		is_upper(c) || (fold_case && is_lower(c)),
		is_digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'),
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return answers[i];
	return -1;
}

static bool is_between(unsigned char c, unsigned char from, unsigned char to, bool fold_case)
{
	if (c >= from && c <= to)
		return true;
	return fold_case && is_lower(c) && c - 'a' + 'A' >= from && c - 'a' + 'A' <= to;
}

/*
 * Is `c` (folded already) in the bracket expression after `*pattern`, a '['?
 * Moves `*pattern` behind its ']'. Returns -1 when there is none, or a class in
 * it that nobody knows: such a pattern matches nothing.
 */
static int in_brackets(const char **pattern, unsigned char c, bool fold_case)
{
	const char *p = *pattern + 1;
	bool is_negated = *p == '!' || *p == '^';
	bool is_in = false;
	unsigned char before = 0; /* what a '-' may start from */

	p += is_negated;
	/* A ']' in first place stands for itself. */
	do {
		const char *end = *p == '[' && p[1] == ':' ? strchr(p + 2, ']') : NULL;
		int answer;

		if (!*p || (*p == '[' && p[1] == ':' && !end))
			return -1;
		if (end && end - p >= 3 && end[-1] == ':') {
			answer = in_named_class(p + 2, (size_t)(end - p) - 3, c, fold_case);
			if (answer < 0)
				return -1;
			is_in = is_in || answer;
			before = 0;
			p = end + 1;
		} else if (*p == '-' && before && p[1] && p[1] != ']') {
			p += p[1] == '\\' ? 2 : 1;
			if (!*p)
				return -1;
			is_in = is_in || is_between(c, before, (unsigned char)*p, fold_case);
			before = 0;
			p++;
		} else {
			p += *p == '\\';
			if (!*p)
				return -1;
			is_in = is_in || c == (unsigned char)*p;
			before = (unsigned char)*p++;
		}
	} while (*p != ']');
	*pattern = p + 1;
	return is_in != is_negated && c != '/';
}

/*
 * Does the one thing at `*pattern`, which is no '*', stand for the byte `t`?
 * Moves `*pattern` behind it. Returns -1 when no text can match such a pattern.
 */
static int one_matches(const char **pattern, char t, bool fold_case)
{
	const char *p = *pattern;

	switch (*p) {
	case '?':
		*pattern = p + 1;
		return t != '/';
	case '[':
		return in_brackets(pattern, folded(t, fold_case), fold_case);
	case '\\':
		if (!p[1])
			return -1;
		*pattern = p + 2;
		/* Git folds the text alone here, so an escaped capital matches none. */
		return (unsigned char)p[1] == folded(t, fold_case);
	default:
		*pattern = p + 1;
		return folded(*p, fold_case) == folded(t, fold_case);
	}
}

/*
 * One pass with two places to come back to: behind the last "*" of the present
 * component, and behind the last "**". Earlier ones need no second try: what
 * they could give way to, the later one can take up as well. So the time is at
 * worst the product of both lengths.
 */
bool ews_ignore_wildmatch(const char *pattern, const char *text, bool fold_case)
{
	const char *p = pattern, *t = text;
	const char *star_p = NULL, *star_t = NULL;
	const char *deep_p = NULL, *deep_t = NULL;

	for (;;) {
		int matched = 0;

		if (*p == '*') {
			const char *after = p + strspn(p, "*");
			size_t slash_len = *after == '/' ? 1 : after[0] == '\\' && after[1] == '/' ? 2 : 0;
			bool is_deep = after - p > 1 && (p == pattern || p[-1] == '/') && (!*after || slash_len);

			if (!*after && (is_deep || !strchr(t, '/')))
				return true;
			star_p = NULL;
			if (is_deep) {
				/* "**" with its slash may stand for nothing; then no slash is needed. */
				deep_p = after + slash_len;
				deep_t = t;
				if (slash_len == 1) {
					p = deep_p;
					continue;
				}
			} else if (*after == '/') {
				p = after;
				t += strcspn(t, "/");
				matched = *t == '/';
			} else if (*after) {
				star_p = p = after;
				star_t = t;
				continue;
			}
		} else if (!*p) {
			if (!*t)
				return true;
		} else if (!*t) {
			/* Taking more into a star would leave still less for the rest. */
			return false;
		} else {
			matched = one_matches(&p, *t, fold_case);
			if (matched < 0)
				return false;
			if (matched && *t == '/')
				star_p = NULL;
			t += matched;
		}
		if (matched)
			continue;
		if (star_p && *star_t && *star_t != '/') {
			p = star_p;
			t = ++star_t;
			continue;
		}
		if (!deep_p)
			return false;
		star_p = NULL;
		deep_t = strchr(deep_t, '/');
		if (!deep_t)
			return false;
		p = deep_p;
		t = ++deep_t;
	}
}

/* Cut blanks off the end that no backslash protects. */
static void trim_blanks(char *line)
{
	char *end = line;

	for (char *at = line; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == ' ')
			continue;
		else if (*at == '\\')
			return;
		end = at + 1;
	}
	*end = '\0';
}

/* `line` is ours to cut. */
static void add_rule(struct ews_ignore *level, char *line)
{
	struct rule rule = { .text = line };

	if (*line == '!') {
		rule.is_negated = true;
		rule.text = ++line;
	}
	rule.len = strlen(line);
	if (rule.len && line[rule.len - 1] == '/') {
		rule.needs_dir = true;
		line[--rule.len] = '\0';
	}
	if (!rule.len)
		return;
	rule.plain_len = strcspn(line, "*?[\\");
	if (strchr(line, '/')) {
		size_t skip = *line == '/';

		rule.text += skip;
		rule.len -= skip;
		rule.plain_len -= skip;
		rule.kind = rule.plain_len == rule.len ? PATH : PATH_GLOB;
	} else if (rule.plain_len == rule.len) {
		rule.kind = NAME;
	} else if (*line == '*' && !line[1 + strcspn(line + 1, "*?[\\")]) {
		rule.kind = NAME_END;
		rule.text++;
		rule.len--;
	} else {
		rule.kind = NAME_GLOB;
	}
	EWS_GROW(level->rules, level->n, level->cap);
	level->rules[level->n++] = rule;
}

/* Add the rules of one file; `copy` is where its text is to live. */
static void add_text(struct ews_ignore *level, char **copy, const char *text, size_t len)
{
	char *line, *end, *next;

	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		len -= 3;
	}
	if (!len)
		return;
	*copy = ews_malloc(len + 1);
	memcpy(*copy, text, len);
	end = *copy + len;
	*end = '\n';
	for (line = *copy; line < end; line = next) {
		char *stop = memchr(line, '\n', (size_t)(end - line) + 1);

		next = stop + 1;
		if (stop == line || *line == '#')
			continue;
		stop -= stop[-1] == '\r';
		*stop = '\0';
		trim_blanks(line);
		add_rule(level, line);
	}
}

struct ews_ignore *ews_ignore_new(const char *excludes_file, size_t excludes_len, const char *info_exclude,
				  size_t info_len, bool fold_case)
{
	struct ews_ignore *level = ews_calloc(1, sizeof(*level));

	level->fold_case = fold_case;
	if (excludes_file)
		add_text(level, &level->texts[0], excludes_file, excludes_len);
	if (info_exclude)
		add_text(level, &level->texts[1], info_exclude, info_len);
	return level;
}

struct ews_ignore *ews_ignore_enter(const struct ews_ignore *parent, const char *path, const char *text, size_t len)
{
	struct ews_ignore *level = ews_calloc(1, sizeof(*level));

	level->above = parent->n ? parent : parent->above;
	level->path_start = *path ? strlen(path) + 1 : 0;
	level->fold_case = parent->fold_case;
	if (text)
		add_text(level, &level->texts[0], text, len);
	return level;
}

/* What a rule is asked about. */
struct subject {
	const char *path; /* from the rule's directory on */
	size_t path_len;
	const char *name; /* its last component */
	size_t name_len;
};

static bool rule_matches(const struct rule *rule, const struct subject *s, bool fold_case)
{
	switch (rule->kind) {
	case NAME:
		return s->name_len == rule->len && same_bytes(s->name, rule->text, rule->len, fold_case);
	case NAME_END:
		return s->name_len >= rule->len &&
		       same_bytes(s->name + s->name_len - rule->len, rule->text, rule->len, fold_case);
	case NAME_GLOB:
		return ews_ignore_wildmatch(rule->text, s->name, fold_case);
	case PATH:
		return s->path_len == rule->len && same_bytes(s->path, rule->text, rule->len, fold_case);
	case PATH_GLOB:
		/* What is left of "a**" is "**", and git takes it for one that stands alone. */
		return s->path_len >= rule->plain_len &&
		       same_bytes(s->path, rule->text, rule->plain_len, fold_case) &&
		       ews_ignore_wildmatch(rule->text + rule->plain_len, s->path + rule->plain_len, fold_case);
	}
	return false;
}

int ews_ignore_read(struct ews_buf *out, int dir_fd, const char *path)
{
	int rc = ews_file_read(out, dir_fd, path, EWS_IGNORE_BYTES_MAX);

	return rc < 0 ? ews_error_if_passing(rc) : 0;
}

bool ews_ignore_match(const struct ews_ignore *rules, const char *path, bool is_dir)
{
	size_t len = strlen(path);
	const char *slash = strrchr(path, '/');
	struct subject s = { .name = slash ? slash + 1 : path };

	s.name_len = (size_t)(path + len - s.name);
	for (const struct ews_ignore *level = rules; level; level = level->above) {
		s.path = path + level->path_start;
		s.path_len = len - level->path_start;
		for (size_t i = level->n; i-- > 0;) {
			const struct rule *rule = &level->rules[i];

			if (rule->needs_dir && !is_dir)
				continue;
			if (rule_matches(rule, &s, level->fold_case))
				return !rule->is_negated;
		}
	}
	return false;
}

void ews_ignore_free(struct ews_ignore *rules)
{
	if (!rules)
		return;
	free(rules->rules);
	free(rules->texts[0]);
	free(rules->texts[1]);
	free(rules);
}
