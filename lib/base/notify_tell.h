/*
 * Telling what became of a tree: read off the places where something happened.
 *
 * Renames come first, each after those of what it lies in; then what is gone, the deepest first; then what is new or changed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_NOTIFY_TELL_H
#define EWS_BASE_NOTIFY_TELL_H

#include <stdbool.h>

struct ews_notify_places;

enum ews_tree_change_kind {
	EWS_TREE_OVERFLOW, /* events were lost; what follows comes from listing all again. Without a path. */
	EWS_TREE_MOVED,
	EWS_TREE_DELETED,
	EWS_TREE_CREATED,
	EWS_TREE_MODIFIED, /* content or attributes; of a directory its mode or owner alone */
};

/* Relative paths. Borrowed: they live as long as the call. */
struct ews_tree_change {
	enum ews_tree_change_kind kind;
	const char *path;
	const char *old_path; /* of what was moved, else NULL */
	bool is_dir;
};

typedef void (*ews_tree_change_fn)(void *payload, const struct ews_tree_change *change);

/*
 * Tell what the `touched` places say, and first, if it `is_overflown`, that. What went from one of them and came to another,
 * though nobody said so, is a rename. Returns how much was told.
 */
int ews_notify_tell(const struct ews_notify_places *touched, bool is_overflown, ews_tree_change_fn fn, void *payload);

#endif
