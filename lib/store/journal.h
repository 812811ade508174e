/*
 * Journal: intent before effect, synced.
 *
 * A session's journal (`sessions/<id>/journal`) has a line "begin <step-id> <verb>", synced before the record of the step
 * (step.h), and "done <step-id>" after all, so that an unfinished step is found by reading one small file; a line without
 * a record is nothing that has begun, and one whose record is done needs no other: nobody
 * waits until "done" is on the disk.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_JOURNAL_H
#define EWS_STORE_JOURNAL_H

/* Lines of a session's journal. The second is not synced, and comes when the record is. */
int ews_journal_begin(int session_fd, const char *step_id, const char *verb);
int ews_journal_done(int session_fd, const char *step_id);
/*
 * The step that was begun and not done: its id and verb ("" both when none). The caller frees both. Whether it is done all the
 * same its record says.
 */
int ews_journal_unfinished(char **step_id, char **verb, int session_fd);
/* The same of its text, which is cut into lines. */
void ews_journal_parse(char **step_id, char **verb, char *text);

#endif
