/*
 * Options of git's commands: see guard_option.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_option.h"

#include <string.h>

#include "base/str.h"

const char *ews_guard_option_next(struct ews_guard_option *out, const char *at)
{
	static const char marks[] = "!+@^#";

	at += strspn(at, " ");
	if (!*at)
		return NULL;
	*out = (struct ews_guard_option){ .names = at };
	if (strchr(marks, *at)) {
		out->mark = *at;
		out->names = ++at;
	}
	at += strcspn(at, "=?: ");
	if (*at == '=' || *at == '?')
		out->value = *at++;
	if (*at && *at != ' ' && *at != ':')
		out->check = *at++;
	if (*at == ':') {
		out->least = at[1];
		out->most = at[2];
		at += 3;
	}
	return at;
}

const char *ews_guard_option_name(const struct ews_guard_option *option, const char *name, size_t *len)
{
	if (!name)
		name = option->names;
	else if (name[*len] == '|')
		name += *len + 1;
	else
		return NULL;
	*len = strcspn(name, "|=?: ");
	return name;
}

enum ews_guard_found ews_guard_option_letter(struct ews_guard_option *out, const struct ews_guard_row *row,
					     char letter)
{
	const char *at = row->options, *name;
	size_t len = 0;

	while ((at = ews_guard_option_next(out, at)))
		for (name = ews_guard_option_name(out, NULL, &len); name;
		     name = ews_guard_option_name(out, name, &len))
			if (len == 1 && *name == letter)
				return EWS_GUARD_OPTION;
	return EWS_GUARD_NO_OPTION;
}

/* Is `given` the whole of `name`, or, for abbreviations, its beginning? Both with their lengths. */
static bool is_name(const char *given, size_t given_len, const char *name, size_t len, bool abbreviated)
{
	if (abbreviated ? given_len >= len : given_len != len)
		return false;
	return len > 1 && !strncmp(given, name, given_len);
}

/* Which of its forms does `given` name? */
static enum ews_guard_found match(const char *given, size_t given_len, const char *name, size_t len, bool abbreviated)
{
	if (is_name(given, given_len, name, len, abbreviated))
		return EWS_GUARD_OPTION;
	if (given_len > 3 && ews_str_begins(given, "no-") && is_name(given + 3, given_len - 3, name, len, abbreviated))
		return EWS_GUARD_NEGATED;
	if (len > 3 && ews_str_begins(name, "no-") && is_name(given, given_len, name + 3, len - 3, abbreviated))
		return EWS_GUARD_NEGATED;
	return EWS_GUARD_NO_OPTION;
}

/* Find the option whose name, in the `wanted` form, is `given`; of abbreviations the only one. */
static enum ews_guard_found find_long(struct ews_guard_option *out, const struct ews_guard_row *row,
				      const char *given, size_t given_len, enum ews_guard_found wanted,
				      bool abbreviated)
{
	enum ews_guard_found found = EWS_GUARD_NO_OPTION;
	const char *at = row->options, *name;
	struct ews_guard_option option;
	size_t len = 0;

	while ((at = ews_guard_option_next(&option, at))) {
		for (name = ews_guard_option_name(&option, NULL, &len); name;
		     name = ews_guard_option_name(&option, name, &len)) {
			if (match(given, given_len, name, len, abbreviated) != wanted)
				continue;
			if (found != EWS_GUARD_NO_OPTION && option.names != out->names)
				return EWS_GUARD_AMBIGUOUS;
			*out = option;
			if (!abbreviated)
				return wanted;
			found = wanted;
		}
	}
	return found;
}

enum ews_guard_found ews_guard_option_long(struct ews_guard_option *out, const struct ews_guard_row *row,
					   const char *name, size_t len)
{
	bool takes_abbreviations = !(row->flags & (EWS_GUARD_REVS | EWS_GUARD_EXACT));
	enum ews_guard_found found;

	found = find_long(out, row, name, len, EWS_GUARD_OPTION, false);
	if (found == EWS_GUARD_NO_OPTION)
		found = find_long(out, row, name, len, EWS_GUARD_NEGATED, false);
	if (found == EWS_GUARD_NO_OPTION && takes_abbreviations)
		found = find_long(out, row, name, len, EWS_GUARD_OPTION, true);
	if (found == EWS_GUARD_NO_OPTION && takes_abbreviations)
		found = find_long(out, row, name, len, EWS_GUARD_NEGATED, true);
	return found;
}

enum ews_guard_found ews_guard_option_in(struct ews_guard_option *out, const char **value,
					 const struct ews_guard_row *row, const char *arg)
{
	enum ews_guard_found found;

	*value = NULL;
	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");

		*value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
		return ews_guard_option_long(out, row, arg + 2, len);
	}
	do {
		found = ews_guard_option_letter(out, row, *++arg);
	} while (found != EWS_GUARD_OPTION && arg[1]);
	*value = found == EWS_GUARD_OPTION && arg[1] ? arg + 1 : NULL;
	return found;
}

/* Has a format a placeholder that starts the program that checks signatures? A sign may stand in it, or "*" for what a tag names. */
static bool checks_signatures(const char *format)
{
	for (const char *at = format; (at = strchr(at, '%')); at += *at != '\0') {
		at++;
		if (*at == '%')
			continue;
		at += strspn(at, "+- ");
		if (*at == 'G' || ews_str_begins(at, "(signature") || ews_str_begins(at, "(*signature"))
			return true;
	}
	return false;
}

bool ews_guard_value_is_harmless(char check, const char *value)
{
	switch (check) {
	case '%':
		return !checks_signatures(value);
	case 'k': /* a field by which is sorted: the same */
		value += strspn(value, "-");
		value += ews_str_begins(value, "version:") ? 8 : ews_str_begins(value, "v:") ? 2 : 0;
		return !ews_str_begins(value + (*value == '*'), "signature");
	case 'd': /* a git diff of its own in each submodule, with what that one's settings name */
		return strcmp(value, "diff") != 0;
	case 'f': /* a task of git maintenance */
		return strcmp(value, "prefetch") != 0;
	case '-': /* standard output alone */
		return !strcmp(value, "-");
	case 'r': /* merges again, with programs that attributes name */
		return strcmp(value, "r") != 0 && strcmp(value, "remerge") != 0;
	default:
		return true;
	}
}
