/*
 * What the guard says of programs that write into a repository behind git's back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_FILE_H
#define EWS_WORK_GUARD_FILE_H

#include <stdbool.h>

#include "base/strv.h"
#include "work/verdict.h"

/* Is the program one of these, whatever directory it is taken from? */
bool ews_guard_is_called(const char *program, const char *const *names);
/* Has the path a component ".git"? */
bool ews_guard_is_git_path(const char *path);
/* Is it such a path, or a pattern or braces (behind an EWS_GUARD_HOLE) of which a shell may make one? */
bool ews_guard_may_be_git_path(const char *path);
/* How many levels deep in a ".git" is one who was `depth` deep there, and goes to `path`? 0: in none, or that can't be told. */
unsigned ews_guard_git_depth(const char *path, unsigned depth);
/* Block a command that writes there. */
void ews_guard_block_git_path(struct ews_guard_verdict *out, const char *path);

/* May git's output go there? No file of a workspace is meant: a device, or what lies where temporary files do. */
bool ews_guard_is_scratch(const char *path);

/* Judge a program that is not git and runs no other: does it plainly write into a ".git", in which it may itself be (`is_inside`)? */
void ews_guard_judge_files(struct ews_guard_verdict *out, char *const *argv, bool is_inside);

#endif
