/*
 * Gates: writers of objects stand on one side, who collects what nobody names on the other.
 *
 * A store of our own, behind a plain directory, has nobody but us to collect its garbage, and an object is garbage
 * to git between the moment it is written and the moment a ref names it. So such a store has a file that each
 * writer holds locked, many at once, from its first object to its ref, and the collector holds alone. A
 * repository of git's has no such file: git's own rules hold there, and we collect nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GATE_H
#define EWS_STORE_GATE_H

#define EWS_GATE_FILE "ews-gate"

/* Come in as a writer of the store `git_dir`, waiting while it is collected. Returns a descriptor to be closed; -1: no gate. */
int ews_gate_enter(const char *git_dir);

/*
 * Shut the gate of our store `git_dir`, waiting at most `wait_ms` for writers. Returns a
 * descriptor that keeps it shut until it is closed. Fails with EWS_EBUSY.
 */
int ews_gate_shut(const char *git_dir, unsigned wait_ms);

#endif
