/*
 * Carrying: objects from one object directory to another, as a pack that git makes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_CARRY_H
#define EWS_STORE_CARRY_H

#include "store/odb.h"

struct ews_carry {
	const char *home;
	const char *tmp_dir; /* where a file without a name can be */
	enum ews_hash_algo algo;
	const char *from; /* object directories */
	const char *alternate; /* what `from` borrows, and is not carried; NULL: nothing is borrowed */
	const char *to;
	struct ews_sharing sharing; /* of what comes there */
	const char *shallow; /* the file that says where history ends; NULL: it is whole */
	bool just_these; /* nothing that they lead to */
};

/*
 * Carry what the lines of `request` name, ids and "^<id>" for what is there already, with all that they lead to.
 * Git looks whether all is there, but not whether it likes it: an agent's commit may hold names that
 * git's fsck refuses. Fails with EWS_EGIT when something is missing.
 */
int ews_carry(const struct ews_carry *carry, const struct ews_buf *request);

/* Add those of `list` that are in `from`, or in what it borrows, to `there`, and the others to `lacking`. */
int ews_carry_sort_out(struct ews_oids *there, struct ews_oids *lacking, const struct ews_carry *carry,
		       const struct ews_oids *list);

#endif
