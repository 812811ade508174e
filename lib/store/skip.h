/*
 * Skips: what was left out where a directory was looked at, and why.
 *
 * What a path stands for, and all below it, was not looked at; a manifest keeps that with the reason, so that nobody takes
 * what is missing for what is gone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_SKIP_H
#define EWS_STORE_SKIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum ews_skip_reason {
	EWS_SKIP_IGNORED = 1,
	EWS_SKIP_EXCLUDED, /* the user's setting says so */
	EWS_SKIP_OWN, /* our own directories, home, other workspaces */
	EWS_SKIP_UNREADABLE,
	EWS_SKIP_TOO_LARGE,
	EWS_SKIP_TOO_DEEP,
	EWS_SKIP_REPOSITORY, /* a nested repository's content */
	EWS_SKIP_SOCKET,
	EWS_SKIP_DEVICE,
	EWS_SKIP_CHANGING,
	EWS_SKIP_UNKEPT, /* what is wanted is named, and it isn't */
	EWS_SKIP_PRESENT, /* it is there, and that is all that is known: what is ignored and came along into a workspace */
	EWS_SKIP_MOUNTED, /* something else is mounted there */
	EWS_SKIP_REPOSITORY_MOVED, /* a submodule's content, which is at another commit than the base has */
	EWS_SKIP_HOLLOW, /* a ".git" that is no git directory: what it stands beside is looked at */
	EWS_SKIP_WRITTEN, /* it came along like what is present, no rule ignores it any more, and it was written since */
};

/* What is said of a repository that is none any more, beside files that are looked at; nothing was left out there. */
#define EWS_SKIP_REPOSITORY_GONE "repository-gone"
/* What is said of one that stands where it did, with files in it that were written since. */
#define EWS_SKIP_REPOSITORY_WRITTEN "repository-written"

struct ews_skip {
	const char *path; /* the whole subtree below it is left out as well */
	enum ews_skip_reason reason;
	uint8_t type; /* what stood there (enum ews_entry_type) where a scan left it out; 0: not known */
	bool is_gone; /* ignored: what an earlier state had there is gone, whatever came into its place */
	uint64_t size;
};

struct ews_skips {
	struct ews_skip *items; /* sorted by path */
	size_t n, cap;
	struct ews_arena arena;
};

#define EWS_SKIPS_INIT { NULL, 0, 0, EWS_ARENA_INIT }

/* Append one whose type is not known; the pointer holds until the next append. */
struct ews_skip *ews_skips_add(struct ews_skips *list, const char *path, enum ews_skip_reason reason, uint64_t size);
/* Add copies of all of `from`. */
void ews_skips_add_all(struct ews_skips *list, const struct ews_skips *from);
void ews_skips_sort(struct ews_skips *list);
/* Was `path`, or a directory above it, left out? The list is sorted. */
const struct ews_skip *ews_skips_covering(const struct ews_skips *list, const char *path);
/* Was `path` left out, or something above or below it? */
bool ews_skips_touch(const struct ews_skips *list, const char *path);
void ews_skips_release(struct ews_skips *list);
/* "ignored", "excluded", "own", "unreadable", "too-large", ... and back (0: no such word). */
const char *ews_skip_word(enum ews_skip_reason reason);
/* Why that is a reason, as half a sentence. */
const char *ews_skip_why(enum ews_skip_reason reason);
enum ews_skip_reason ews_skip_from_word(const char *word);
/* Is that by a rule: ignored, excluded, our own, or one of which no more than the name was wanted? Then there is nothing to say. */
bool ews_skip_is_by_rule(enum ews_skip_reason reason);
/* Did it come along into a workspace as an ignored file, of which no more is known than that it is there? */
bool ews_skip_is_present(enum ews_skip_reason reason);
/* Is it the content of a repository of its own, wherever that stands? */
bool ews_skip_is_repository(enum ews_skip_reason reason);
/* Is it the git directory of one whose files are looked at, as in place? That of the directory itself is none. */
bool ews_skip_is_git_dir(const struct ews_skip *skip);
/* Is it a repository's content, or has it at least the name of a repository's own directory, which git never looks into? */
bool ews_skip_is_gits(enum ews_skip_reason reason);
/* Is something there that nobody could look at, so that nobody knows what became of it? */
bool ews_skip_is_unseen(enum ews_skip_reason reason);
/* The one that covers `path`, as above, where that is so; NULL: none does. */
const struct ews_skip *ews_skips_unseen(const struct ews_skips *list, const char *path);
size_t ews_skips_count_unseen(const struct ews_skips *list);
/* Is it one of the above? For what was read from a file. */
bool ews_skip_is_reason(unsigned reason);

EWS_CLEANUP_DEFINE(skips, struct ews_skips, ews_skips_release)

#endif
