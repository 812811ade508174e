/*
 * Comparing tripwires: see tripwire_compare.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "work/tripwire_line.h"

#define SHOWN_DIGITS 12 /* of an id */

static void add_move(struct ews_strv *out, const char *before, const char *after)
{
	int len = (int)ews_tripwire_name_len(before);
	const char *was = ews_tripwire_target(before), *is = ews_tripwire_target(after);
	EWS_CLEANUP(free) char *from = was ? ews_strdup(was) : ews_strndup(before + len + 1, SHOWN_DIGITS);
	EWS_CLEANUP(free) char *to = is ? ews_strdup(is) : ews_strndup(after + len + 1, SHOWN_DIGITS);

	ews_strv_addf(out, "%.*s moved from %s to %s", len, before, from, to);
}

static void add_stash(struct ews_strv *out, const char *line, const char *what)
{
	EWS_CLEANUP(free) char *message = ews_tripwire_stash_message(line);

	ews_strv_addf(out, "stash %.*s (%s) %s", SHOWN_DIGITS, line + ews_tripwire_name_len(line) + 1, message, what);
}

/* Adds to the strings `out` what differs. */
static void add_sentence(void *out, const char *before, const char *after)
{
	int len = (int)ews_tripwire_name_len(before ? before : after);

	if (ews_tripwire_is_stash(before ? before : after))
		add_stash(out, before ? before : after, before ? "is gone" : "is new");
	else if (!before)
		ews_strv_addf(out, "%.*s is new", len, after);
	else if (!after)
		ews_strv_addf(out, "%.*s is gone", len, before);
	else if (ews_str_begins(before, "ref "))
		add_move(out, before, after);
	else
		ews_strv_addf(out, "%.*s changed", len, before);
}

/* The line of the stash with the id that `line` ends in, whatever its number is by now; `line` itself will do. */
static const char *find_stash(const struct ews_tripwire *tripwire, const char *line)
{
	const char *id = line + ews_tripwire_name_len(line);

	for (size_t i = 0; i < tripwire->lines.n; i++) {
		const char *other = tripwire->lines.items[i];

		if (ews_tripwire_is_stash(other) && !strcmp(other + ews_tripwire_name_len(other), id))
			return other;
	}
	return NULL;
}

/* Do its stashes tell all that its ref of them does? A tripwire of old has none, and neither does a log in another format. */
static bool knows_stashes(const struct ews_tripwire *tripwire)
{
	const char *line = NULL;

	for (size_t i = 0; i < tripwire->lines.n && !line; i++)
		if (ews_str_begins(tripwire->lines.items[i], "ref " EWS_TRIPWIRE_STASH_REF " "))
			line = tripwire->lines.items[i];
	return !line || find_stash(tripwire, line);
}

/* What is new first, then what is gone, the oldest of it first: so the commands that bring it back keep its order. */
static void each_stash(const struct ews_tripwire *before, const struct ews_tripwire *after,
		       ews_tripwire_difference_fn *add, void *payload)
{
	for (size_t i = after->lines.n; i-- > 0;)
		if (ews_tripwire_is_stash(after->lines.items[i]) && !find_stash(before, after->lines.items[i]))
			add(payload, NULL, after->lines.items[i]);
	for (size_t i = before->lines.n; i-- > 0;)
		if (ews_tripwire_is_stash(before->lines.items[i]) && !find_stash(after, before->lines.items[i]))
			add(payload, before->lines.items[i], NULL);
}

/*
 * Has it a digest of what the index says? Of old it was one of the bytes, under the same name, which a refresh changes. All that
 * have a line of where history ends have the one of today; of those before nobody can tell.
 */
static bool knows_index(const struct ews_tripwire *tripwire)
{
	return ews_tripwire_find(tripwire, EWS_TRIPWIRE_SHALLOW);
}

/* What two tripwires know, so that what they differ in is a difference. */
struct known {
	bool all_stashes;
	bool index;
	const struct ews_strv *staged, *moves; /* by us */
};

/* The digest that a line of the index ends in. */
static const char *index_of(const char *line)
{
	return line ? line + strlen(EWS_TRIPWIRE_INDEX) + 1 : EWS_TRIPWIRE_NO_INDEX;
}

/* Did we make the second of these indexes, or places of a ref, of the first, by way of others maybe? */
static bool is_of_ours(const struct ews_strv *made_of, const char *from, const char *to)
{
	EWS_CLEANUP(strv) struct ews_strv ours = EWS_STRV_INIT;

	ews_strv_add(&ours, from);
	for (size_t i = 0; i < ours.n && !ews_strv_has(&ours, to); i++)
		for (size_t k = 0; k < made_of->n; k++) {
			const char *made = ews_str_after(made_of->items[k], ours.items[i]);

			if (made && *made == ' ' && !ews_strv_has(&ours, made + 1))
				ews_strv_add(&ours, made + 1);
		}
	return ews_strv_has(&ours, to);
}

/* Was it we who moved the ref of these lines? What somebody else did before, or since, no move of ours leads to. */
static bool is_moved_by_us(const struct ews_strv *moves, const char *before, const char *after)
{
	EWS_CLEANUP(strv) struct ews_strv ours = EWS_STRV_INIT;
	const char *line = before ? before : after, *name = ews_str_after(line, "ref ");
	size_t len = ews_tripwire_name_len(line) + 1;

	for (size_t i = 0; name && i < moves->n; i++)
		if (!strncmp(moves->items[i], name, len - strlen("ref ")))
			ews_strv_add(&ours, moves->items[i] + len - strlen("ref "));
	return ours.n && is_of_ours(&ours, before ? before + len : EWS_TRIPWIRE_NO_REF,
				    after ? after + len : EWS_TRIPWIRE_NO_REF);
}

/* Is it told otherwise, or not to be told? */
static bool is_passed_over(const char *before, const char *after, const struct known *known)
{
	const char *line = before ? before : after;

	return ews_tripwire_is_stash(line) ||
	       (known->all_stashes && ews_str_begins(line, "ref " EWS_TRIPWIRE_STASH_REF " ")) ||
	       (!before && ews_str_begins(line, EWS_TRIPWIRE_SHALLOW " ")) ||
	       is_moved_by_us(known->moves, before, after) ||
	       (ews_str_begins(line, EWS_TRIPWIRE_INDEX " ") &&
		((before && after && !known->index) || is_of_ours(known->staged, index_of(before), index_of(after))));
}

void ews_tripwire_each_difference(const struct ews_tripwire *before, const struct ews_tripwire *after,
				  ews_tripwire_difference_fn *add, void *payload)
{
	bool knew_stashes = knows_stashes(before);
	const struct known known = { knew_stashes && knows_stashes(after),
				     knows_index(before) && knows_index(after), &after->staged, &after->moves };
	size_t i = 0, k = 0;

	while (i < before->lines.n || k < after->lines.n) {
		const char *old = before->lines.items[i], *now = after->lines.items[k];
		int order = !old ? 1 : !now ? -1 : ews_tripwire_cmp_names(old, now);

		if ((order != 0 || strcmp(old, now)) && !(order >= 0 && ews_strv_has(&after->told, now)) &&
		    !is_passed_over(order <= 0 ? old : NULL, order >= 0 ? now : NULL, &known))
			add(payload, order <= 0 ? old : NULL, order >= 0 ? now : NULL);
		i += order <= 0;
		k += order >= 0;
	}
	if (knew_stashes)
		each_stash(before, after, add, payload);
}

int ews_tripwire_compare(struct ews_strv *out, const struct ews_tripwire *before, const struct ews_tripwire *after)
{
	size_t was = out->n;

	ews_tripwire_each_difference(before, after, add_sentence, out);
	return (int)(out->n - was);
}
