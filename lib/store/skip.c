/*
 * Skips: see skip.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/skip.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "store/gitfile.h"

static const char *const skip_words[] = {
	[EWS_SKIP_IGNORED] = "ignored",
	[EWS_SKIP_EXCLUDED] = "excluded",
	[EWS_SKIP_OWN] = "own",
	[EWS_SKIP_TOO_LARGE] = "too-large",
	[EWS_SKIP_UNREADABLE] = "unreadable",
	[EWS_SKIP_TOO_DEEP] = "too-deep",
	[EWS_SKIP_SOCKET] = "socket",
	[EWS_SKIP_REPOSITORY] = "repository",
	[EWS_SKIP_DEVICE] = "device",
	[EWS_SKIP_CHANGING] = "changing",
	[EWS_SKIP_PRESENT] = "present",
	[EWS_SKIP_UNKEPT] = "not-kept",
	[EWS_SKIP_MOUNTED] = "mounted",
	[EWS_SKIP_REPOSITORY_MOVED] = "repository-moved",
	[EWS_SKIP_HOLLOW] = "no-repository",
	[EWS_SKIP_WRITTEN] = "ignored-written",
};

#define N_SKIP_WORDS (sizeof(skip_words) / sizeof(*skip_words))

struct ews_skip *ews_skips_add(struct ews_skips *list, const char *path, enum ews_skip_reason reason, uint64_t size)
{
	struct ews_skip *skip;

	EWS_GROW(list->items, list->n, list->cap);
	skip = &list->items[list->n++];
	*skip = (struct ews_skip){ .path = ews_arena_dup(&list->arena, path, strlen(path)),
				   .reason = reason,
				   .size = size };
	return skip;
}

void ews_skips_add_all(struct ews_skips *list, const struct ews_skips *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct ews_skip *skip = &from->items[i];

		struct ews_skip *copy = ews_skips_add(list, skip->path, skip->reason, skip->size);

		copy->type = skip->type;
		copy->is_gone = skip->is_gone;
	}
}

static int cmp_skip(const void *a, const void *b)
{
	return ews_path_cmp(((const struct ews_skip *)a)->path, ((const struct ews_skip *)b)->path);
}

void ews_skips_sort(struct ews_skips *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), cmp_skip);
}

const struct ews_skip *ews_skips_covering(const struct ews_skips *list, const char *path)
{
	EWS_CLEANUP(free) char *at = list->n ? ews_strdup(path) : NULL;

	if (!list->n)
		return NULL;
	for (;;) {
		struct ews_skip key = { .path = at };
		const struct ews_skip *found = bsearch(&key, list->items, list->n, sizeof(*list->items), cmp_skip);
		char *slash = strrchr(at, '/');

		if (found || !slash)
			return found;
		*slash = '\0';
	}
}

bool ews_skips_touch(const struct ews_skips *list, const char *path)
{
	size_t at = ews_path_find_first(list->items, sizeof(*list->items), list->n, path);

	return (at < list->n && ews_path_is_inside(list->items[at].path, path)) || ews_skips_covering(list, path);
}

void ews_skips_release(struct ews_skips *list)
{
	free(list->items);
	ews_arena_release(&list->arena);
	*list = (struct ews_skips)EWS_SKIPS_INIT;
}

const char *ews_skip_word(enum ews_skip_reason reason)
{
	return skip_words[reason];
}

const char *ews_skip_why(enum ews_skip_reason reason)
{
	switch (reason) {
	case EWS_SKIP_IGNORED:
		return "a rule for ignored files matches it";
	case EWS_SKIP_PRESENT:
		return "it is ignored and came along: only that it is there was looked at";
	case EWS_SKIP_WRITTEN:
		return "it came along as an ignored file, and was written since";
	case EWS_SKIP_EXCLUDED:
		return "qe.workspace.exclude names it";
	case EWS_SKIP_UNKEPT:
		return "no rule names it for keeping";
	case EWS_SKIP_OWN:
		return "it is our own: workspaces, records, trash";
	case EWS_SKIP_UNREADABLE:
		return "it may not be read";
	case EWS_SKIP_TOO_LARGE:
		return "it is larger than ews.maxFile";
	case EWS_SKIP_TOO_DEEP:
		return "it lies deeper than can be walked";
	case EWS_SKIP_REPOSITORY:
		return "it is a repository of its own";
	case EWS_SKIP_REPOSITORY_MOVED:
		return "it is a repository of its own, at another commit than the base";
	case EWS_SKIP_HOLLOW:
		return "its name is '.git', so that git looks into it nowhere, and it is no repository";
	case EWS_SKIP_SOCKET:
		return "a socket has no content";
	case EWS_SKIP_DEVICE:
		return "a device has no content of its own";
	case EWS_SKIP_CHANGING:
		return "it changed each time it was read";
	case EWS_SKIP_MOUNTED:
		return "something is mounted there, which is not of this directory";
	}
	return "";
}

bool ews_skip_is_by_rule(enum ews_skip_reason reason)
{
	return reason == EWS_SKIP_IGNORED || reason == EWS_SKIP_EXCLUDED || reason == EWS_SKIP_OWN ||
	       reason == EWS_SKIP_PRESENT;
}

bool ews_skip_is_present(enum ews_skip_reason reason)
{
	return reason == EWS_SKIP_PRESENT || reason == EWS_SKIP_WRITTEN;
}

bool ews_skip_is_repository(enum ews_skip_reason reason)
{
	return reason == EWS_SKIP_REPOSITORY || reason == EWS_SKIP_REPOSITORY_MOVED;
}

bool ews_skip_is_git_dir(const struct ews_skip *skip)
{
	const char *name = ews_path_base(skip->path);

	return ews_skip_is_repository(skip->reason) && name != skip->path && !strcmp(name, EWS_GITFILE);
}

bool ews_skip_is_gits(enum ews_skip_reason reason)
{
	return ews_skip_is_repository(reason) || reason == EWS_SKIP_HOLLOW;
}

bool ews_skip_is_unseen(enum ews_skip_reason reason)
{
	return reason == EWS_SKIP_UNREADABLE || reason == EWS_SKIP_TOO_LARGE || reason == EWS_SKIP_TOO_DEEP ||
	       reason == EWS_SKIP_CHANGING || reason == EWS_SKIP_MOUNTED;
}

const struct ews_skip *ews_skips_unseen(const struct ews_skips *list, const char *path)
{
	const struct ews_skip *skip = ews_skips_covering(list, path);

	return skip && ews_skip_is_unseen(skip->reason) ? skip : NULL;
}

size_t ews_skips_count_unseen(const struct ews_skips *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += ews_skip_is_unseen(list->items[i].reason);
	return n;
}

enum ews_skip_reason ews_skip_from_word(const char *word)
{
	for (size_t i = 1; i < N_SKIP_WORDS; i++)
		if (!strcmp(word, skip_words[i]))
			return i;
	return 0;
}

bool ews_skip_is_reason(unsigned reason)
{
	return reason > 0 && reason < N_SKIP_WORDS;
}
