/*
 * Fixture: what several unit tests stand on: chance that can be had again, a
 * directory of their own, git, and trees that are made up, changed and looked
 * at with plain system calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_UNIT_FIXTURE_H
#define EWS_UNIT_FIXTURE_H

#include "base/buf.h"
#include "store/entry.h"
#include "store/repo.h"
#include "store/scan.h"

/*
 * Make an empty directory, change to it and make it HOME; nothing of git's
 * environment holds. EWS_SEED (1) is where chance starts, EWS_ROUNDS how often a
 * random test goes round. The end removes the directory.
 */
void fixture_begin(void);
void fixture_end(void);
/* The same with a small project "p" in it, as below, which is let go in the end. */
void fixture_begin_project(void);
void fixture_end_project(void);
extern struct ews_repo *fixture_repo;
/* The same with that directory open. */
void fixture_begin_dir(void);
void fixture_end_dir(void);
extern int fixture_fd;
/* The same with nothing but the path of a home in it, where there is none yet. */
void fixture_begin_home(void);
void fixture_end_home(void);
extern char *fixture_home;
/* The absolute and real path of that directory. */
const char *fixture_top(void);

size_t fixture_seed(void);
size_t fixture_rounds(size_t otherwise);
/* The same for rounds that take long: a tenth of them where each takes ten times as long. */
size_t fixture_rounds_if_fast(size_t otherwise);
/* Let chance start at `seed`, and not where fixture_begin() lets it. */
void fixture_sow(size_t seed);
/* A number below `n`, by chance. */
size_t fixture_pick(size_t n);
/* One of the strings of an array. */
#define FIXTURE_ONE_OF(array) ((array)[fixture_pick(sizeof(array) / sizeof(*(array)))])

/* Run a script, which must succeed; fixture_ask() also collects what it prints. */
__attribute__((format(printf, 1, 2))) void fixture_shell(const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void fixture_ask(struct ews_buf *out, const char *fmt, ...);

/*
 * The test goes on where it may mount what it likes, unseen by others; where that can't be it is skipped. Returns the
 * directory of `fd`, which is closed, as it is there.
 */
int fixture_need_mounts(int fd);

/* What fstatfs() says that each file lies on (linux/magic.h); 0: the truth, as it is when a test begins. */
extern unsigned fixture_file_system;

enum fixture_kinds {
	FIXTURE_FIFOS = 1, /* FIFOs and sockets, too */
	FIXTURE_ATTRS = 2, /* extended attributes */
	FIXTURE_IGNORES = 4, /* .gitignore files */
	FIXTURE_NESTED = 8, /* directories with a ".git" in them */
	FIXTURE_MODES = 16, /* modes of any kind, but readable to the owner */
	FIXTURE_ODD_NAMES = 32, /* names that a git tree can't hold, or only just */
};

/* A directory, opened. */
int fixture_open_dir(const char *path);
void fixture_write(int dir_fd, const char *path, const void *data, size_t len);
/* Fill the directory with `kinds` of things besides files, links and directories. */
void fixture_make_tree(int dir_fd, unsigned kinds);
/* Change a few things in it: content, type, mode, names; add and remove. */
void fixture_edit_tree(int dir_fd, unsigned kinds);
/*
 * All that lies in it but ".git" at its top, sorted, with SHA-1 ids, as one plain recursion finds it. With
 * `skip_repositories` no ".git" is, nor what is below a directory with one that is a git directory, and of itself only its
 * mode, as a gitlink.
 */
void fixture_list_tree(struct ews_entries *out, int dir_fd, bool skip_repositories);
/* Fail, naming the first path that differs by `equal`. */
void fixture_assert_same(const struct ews_entries *is, const struct ews_entries *should, ews_entry_equal_fn equal,
			 const char *what);

/* A repository `name`, below the test's directory, of one commit with the file "a"; opened, and known to home, as below. */
struct ews_repo *fixture_make_small_project(const char *name);
/*
 * A repository `name`, below the test's directory, of a few commits, with all sorts of uncommitted work, staged
 * and not, of `kinds`. Opened as the project that it is, with "home" beside it as home; the caller frees it.
 */
struct ews_repo *fixture_make_project(const char *name, unsigned kinds);
/* Stage some of what is there, whatever it is. */
void fixture_stage(const char *name);

/* Write what a scan found as a whole cache, `name` in the current directory. False where it can't be rechecked: nothing is written. */
bool fixture_write_cache(const char *name, const struct ews_scan *found);

#endif
