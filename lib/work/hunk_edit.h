/*
 * Hunks by hand: one is split where lines between its changes stay, or its text is written anew.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HUNK_EDIT_H
#define EWS_WORK_HUNK_EDIT_H

#include "work/hunk.h"

/* Into how many can it be split? 1: it can't be. */
size_t ews_hunk_parts(const struct ews_hunk_file *file, size_t at);

/*
 * Let its parts take the place of hunk `at`, which has more than one. Each is shown with the lines around it, which the
 * one before shows as well; they belong to one alone. None of them is wanted yet.
 */
void ews_hunk_split(struct ews_hunk_file *file, size_t at);

/*
 * Let hunk `at` of a text read as `text`: lines as in a patch, whose line of numbers doesn't count; lines that begin
 * with '#' are left out. Gives false, and changes nothing, when the lines that it keeps and removes are not those that
 * the hunk has, one after the other.
 */
bool ews_hunk_edit(struct ews_hunk_file *file, size_t at, const char *text, size_t len);

#endif
