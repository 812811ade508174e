/*
 * Proof: what the last revert of a session found when it looked again, for those who ask later.
 *
 * It lies in the session's directory, where a command that the kernel holds can't write.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_PROOF_H
#define EWS_WORK_PROOF_H

#include "work/session.h"

struct ews_proof {
	int64_t made_s;
	char *target; /* snapshot id */
	bool is_partial; /* it was limited to paths */
	char *original_hash, *current_hash;
	bool is_verified;
	uint64_t restored, deleted, differing; /* paths */
};

#define EWS_PROOF_INIT { 0 }

/* In place of the one before; the session is locked. */
int ews_proof_write(const struct ews_session *session, const struct ews_proof *proof);

/* Returns 1 when there is one, 0 when there never was a revert, or its proof was lost in a power cut. Fails with EWS_EDAMAGED when it can't be read. */
int ews_proof_read(struct ews_proof *out, const struct ews_session *session);

void ews_proof_release(struct ews_proof *proof);
EWS_CLEANUP_DEFINE(proof, struct ews_proof, ews_proof_release)

#endif
