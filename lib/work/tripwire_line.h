/*
 * Lines of a tripwire: "<what> <value>" each, what they are about and how they are kept. Those of a list are sorted by what they are about.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRIPWIRE_LINE_H
#define EWS_WORK_TRIPWIRE_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strv.h"

#define EWS_TRIPWIRE_STASH_REF "refs/stash"
#define EWS_TRIPWIRE_STASH "stash " /* before "<number> <message> <id>"; the latest has the number 0, as with git */
#define EWS_TRIPWIRE_STASH_DIGITS 6
#define EWS_TRIPWIRE_SHALLOW "shallow"
#define EWS_TRIPWIRE_INDEX "index"
#define EWS_TRIPWIRE_NO_INDEX "none:0" /* in place of the digest */
#define EWS_TRIPWIRE_NO_REF "0" /* in place of the id */
#define EWS_TRIPWIRE_SYMBOLIC "ref:" /* before the name that a symbolic ref stands for */

/* The length of the part of a line before its last blank: what it is about. */
size_t ews_tripwire_name_len(const char *line);
/* The order of what two lines are about: a name may hold blanks, so that of whole lines is another. As strcmp() does. */
int ews_tripwire_cmp_names(const char *a, const char *b);
void ews_tripwire_sort(struct ews_strv *lines);
/* The name that the ref of this line (may be NULL) stands for; NULL: it is none, or has an id. */
const char *ews_tripwire_target(const char *line);
bool ews_tripwire_is_stash(const char *line);
/* What git says of a stash, escaped. The caller frees it. */
char *ews_tripwire_stash_message(const char *line);
/* Add the lines of the file `name` in our own directory `dir_fd`, or replace it. */
int ews_tripwire_read_lines(struct ews_strv *out, int dir_fd, const char *name);
int ews_tripwire_write_lines(int dir_fd, const char *name, const struct ews_strv *lines);

#endif
