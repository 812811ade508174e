/*
 * Gitfiles: a file in the place of a ".git" directory, which names the git directory.
 *
 * The format is that of gitrepository-layout(5): "gitdir: ", a path, and the end of a line, which is no part of the path. Any
 * other byte is, and so are ends of lines within it. A relative path is seen from the directory of the file. The git directory
 * of a linked worktree leads back by a file "gitdir", which has the path alone.
 *
 * Where a directory of that name is no git directory, or a file names none, git sees none in it either.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GITFILE_H
#define EWS_STORE_GITFILE_H

#include <stdbool.h>

#define EWS_GITFILE ".git"

/*
 * The path that the file `name` below `dir_fd` holds, as it stands there; the caller frees it. Fails with EWS_EGIT when it is
 * another file, and as ews_file_read() does.
 */
int ews_gitfile_read(char **out, int dir_fd, const char *name);

/* What the file `path` names really is; NULL, with no error set, when it names nothing that is there. The caller frees it. */
char *ews_gitfile_follow(const char *path);
/* The same, told apart: returns 1, or 0 where it names nothing that is there; fails where that can't be seen. */
int ews_gitfile_find(char **out, const char *path);

/*
 * Does the ".git" of the directory `top` lead to the git directory `git_dir`, a real path, or is it that itself? Returns 1 or 0; below
 * zero where that can't be seen.
 */
int ews_gitfile_leads_to(const char *top, const char *git_dir);

/*
 * The path of the gitfile that the git directory `git_dir` of a linked worktree leads back to, whether it is there or not; NULL,
 * with no error set, where that says nothing. The caller frees it.
 */
char *ews_gitfile_back(const char *git_dir);

/* The same for whom it matters why: fails with EWS_ENOTFOUND where that says nothing, and as ews_file_read() does. */
int ews_gitfile_read_back(char **out, const char *git_dir);

/*
 * Is the file at `path` a HEAD to git: does it name a ref, or begin with a commit's id? A link is how old repositories name theirs. Gives
 * 1 or 0, and fails as ews_file_read().
 */
int ews_gitfile_is_head(int dir_fd, const char *path);

/*
 * Fail with EWS_EDENIED where the directory `dir_fd`, at `path`, is a git directory itself (gitrepository-layout(5)), which is nobody's
 * place to put files into. One with a ".git" in it is a work tree all the same.
 */
int ews_gitfile_refuse_git_dir(int dir_fd, const char *path);

/*
 * Is the ".git" in the directory `dir_fd` a directory without what makes a git directory, a file that names none, or a link that
 * leads nowhere? What it stands beside is no repository. A file that names what is not there is another thing: it may come back.
 */
bool ews_gitfile_is_hollow(int dir_fd);

#endif
