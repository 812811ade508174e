/*
 * Trees: what is measured on, made up or taken from elsewhere; and changes in them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_PERF_TREE_H
#define EWS_PERF_TREE_H

#include <stddef.h>

/* The longest file, in lines, of a tree whose files are about 12 KiB long, as those of git and of Linux are. */
#define TREE_LINES 660

/*
 * Write a tree of about `n` text files, about 21 in each directory, of up to `lines_max` lines, half of that in the middle, into the
 * directory, which must be there.
 */
void tree_make(const char *dir, size_t n, size_t lines_max);

/*
 * Add a line that holds `tag` to `n` files of a work tree, spread evenly over those that git tracks as files, `.git*` left
 * out; 0: to all of them.
 */
void tree_change(const char *dir, size_t n, const char *tag);

#endif
