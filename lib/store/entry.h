/*
 * Entries: what stands at a path, and sorted lists of it.
 *
 * One record serves scan, manifest, cache and put: a directory's whole content
 * is a list of entries in the order of ews_path_cmp(), directories included,
 * each before what it holds. The root itself is not listed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ENTRY_H
#define EWS_STORE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "store/odb.h"

enum ews_entry_type {
	EWS_ENTRY_FILE = 1,
	EWS_ENTRY_LINK,
	EWS_ENTRY_DIR,
	EWS_ENTRY_GITLINK, /* a nested repository: its directory, kept as a commit id at most */
	EWS_ENTRY_FIFO, /* kept: a name and a mode */
	EWS_ENTRY_SOCKET, /* named, can't be kept */
	EWS_ENTRY_DEVICE, /* named, can't be kept */
	EWS_ENTRY_TREE, /* a git tree, whole, by its id: for lists of which trees are written, and none that was read */
};

struct ews_entry {
	const char *path; /* relative, owned by the list's arena */
	const char *xattrs; /* NULL: none; else lines "<name, escaped>=<hex>\n" sorted by name; the arena's */
	uint64_t size; /* bytes of a file or of a link's text, else 0 */
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint16_t mode; /* all twelve bits */
	uint8_t type; /* enum ews_entry_type */
	bool has_time; /* the mtime is known */
	bool has_stat; /* dev, ino and ctime say when the content was last known */
	bool is_racy; /* it changed so late before it was read that the stat data proves nothing */
	bool has_owner;
	bool is_elsewhere; /* a file that has names outside of the list, too */
	uint32_t n_links; /* how many names a file had when it was looked at; 0: it was not */
	const char *first_name; /* a path of the list, before this one, that is the same file; NULL: none; the arena's */
	uint32_t uid, gid;
	struct ews_oid oid; /* blob of a file's bytes or a link's text, commit of a gitlink; none: not known */
	uint32_t ctime_ns; /* here it fills what would be a gap: there are many of these */
	uint64_t dev, ino;
	int64_t ctime_s;
};

/* What changed at most so long before a look may change once more in the same tick of the clock, so that it looks the same. */
#define EWS_RACY_NS 20000000

/* Of more than this several lists at once take much memory: who can do without one lets it go. */
#define EWS_ENTRIES_MANY 32768

struct ews_entries {
	struct ews_entry *items;
	size_t n, cap;
	struct ews_arena arena;
	bool knows_names; /* `first_name` and `is_elsewhere` say which are names of one file */
};

#define EWS_ENTRIES_INIT { NULL, 0, 0, EWS_ARENA_INIT, false }

/* Append a zeroed entry for the `len` bytes of `path`; the pointer holds until the next append. */
struct ews_entry *ews_entries_add(struct ews_entries *list, const char *path, size_t len);
/* Append a copy of `entry`, strings included. */
struct ews_entry *ews_entries_add_copy(struct ews_entries *list, const struct ews_entry *entry);
/* A copy of each of `from`. */
void ews_entries_add_all(struct ews_entries *list, const struct ews_entries *from);
/* Append those of `from` from the one numbered `start` up to but not including `end`; all their strings are the list's then. */
void ews_entries_move(struct ews_entries *list, struct ews_entries *from, size_t start, size_t end);
/* Nothing will be added: give back the room for more. */
void ews_entries_trim(struct ews_entries *list);
void ews_entries_sort(struct ews_entries *list);
/* Sort, and keep one of each path. */
void ews_entries_unique(struct ews_entries *list);
/* The entry of `path` in a sorted list, or NULL. */
struct ews_entry *ews_entries_find(const struct ews_entries *list, const char *path);
/* The same for who asks for many, mostly in the order of the list: `at` is where the last was found, 0 at first. */
struct ews_entry *ews_entries_find_next(const struct ews_entries *list, const char *path, size_t *at);
/* Has a sorted list an entry at `path`, or below it? */
bool ews_entries_has_below(const struct ews_entries *list, const char *path);
/* How many files and links are in it, and how many bytes these have. */
void ews_entries_count(const struct ews_entries *list, size_t *n_files, uint64_t *bytes);
void ews_entries_release(struct ews_entries *list);

/* Take type, mode, size, times, owner and identity from `st`. */
void ews_entry_set_stat(struct ews_entry *entry, const struct stat *st);
/* Were both known in the very same state (type, size, mode, dev, ino, mtime, ctime)? */
bool ews_entry_same_stat(const struct ews_entry *a, const struct ews_entry *b);
/* Does `st` show that state of `entry`? */
bool ews_entry_stat_matches(const struct ews_entry *entry, const struct stat *st);
/* Same type, mode, content and attributes? Times and identity don't matter. Both ids must be known. */
bool ews_entry_equal(const struct ews_entry *a, const struct ews_entry *b);
/* As above, and files and links with a time that is known have the same mtime. */
bool ews_entry_equal_with_time(const struct ews_entry *a, const struct ews_entry *b);
/* Do they belong to the same user and group, or is that not known of one? A nested repository is its own affair. */
bool ews_entry_same_owner(const struct ews_entry *a, const struct ews_entry *b);
/* Equal as by ews_entry_equal(), or by ews_entry_equal_with_time(), and with the same owner? */
bool ews_entry_equal_with_owner(const struct ews_entry *a, const struct ews_entry *b);
bool ews_entry_equal_with_time_and_owner(const struct ews_entry *a, const struct ews_entry *b);
/* Same type, content and executable bit: all that a git tree can tell. */
bool ews_entry_equal_in_git(const struct ews_entry *a, const struct ews_entry *b);
/* Can a git tree hold this entry under its path? No: empty directories, FIFOs, names like ".git", ".GIT", "git~1", paths over 4,096 bytes. */
bool ews_entry_fits_tree(const struct ews_entry *entry);
/* Can it hold a file, or a link, of this name? */
bool ews_entry_path_fits_tree(const char *path, bool is_link);
/* Is a name on the way to it one that some file system reads as ".git" (".GIT", "git~1", ...)? */
bool ews_entry_path_names_git(const char *path);
/* Is it a file that had more names than this one when it was looked at? */
static inline bool ews_entry_has_names(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_FILE && entry->n_links > 1;
}
/* Have both the same extended attributes, or none? */
bool ews_entry_same_attrs(const struct ews_entry *a, const struct ews_entry *b);
/* Is it a directory, a nested repository's or another? */
static inline bool ews_entry_is_dir(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_DIR || entry->type == EWS_ENTRY_GITLINK;
}

/* What git has for a mode, in a tree and in an index; the last where another repository's commit is named. */
#define EWS_MODE_FILE 0100644
#define EWS_MODE_PROGRAM 0100755
#define EWS_MODE_LINK 0120000
#define EWS_MODE_DIR 0040000
#define EWS_MODE_GITLINK 0160000

/* The mode of a git tree entry, one of those. */
uint32_t ews_entry_git_mode(const struct ews_entry *entry);
/* "file", "link", "directory", "repository", "fifo", "socket", "device", "tree" */
const char *ews_entry_type_name(enum ews_entry_type type);

struct ews_change {
	const char *path; /* borrowed from one of the entries */
	const struct ews_entry *from; /* NULL: was not there */
	const struct ews_entry *to; /* NULL: is not there any more */
	/* The file that it becomes another name of: the `to` of another change, or what stays; NULL: one of its own. */
	const struct ews_entry *one_file;
};

struct ews_changes {
	struct ews_change *items; /* in the order of ews_path_cmp() */
	size_t n, cap;
};

#define EWS_CHANGES_INIT { NULL, 0, 0 }

typedef bool (*ews_entry_equal_fn)(const struct ews_entry *a, const struct ews_entry *b);

/* All paths at which two sorted lists differ by `equal`. The changes borrow the entries. */
void ews_changes_between(struct ews_changes *out, const struct ews_entries *from, const struct ews_entries *to,
			 ews_entry_equal_fn equal);
/* The change of `path` in a sorted list, or NULL. */
struct ews_change *ews_changes_find(const struct ews_changes *changes, const char *path);
void ews_changes_sort(struct ews_changes *changes);
void ews_changes_release(struct ews_changes *changes);

EWS_CLEANUP_DEFINE(entries, struct ews_entries, ews_entries_release)
EWS_CLEANUP_DEFINE(changes, struct ews_changes, ews_changes_release)

#endif
