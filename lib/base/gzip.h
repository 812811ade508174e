/*
 * Gzip: whether a file in its format (RFC 1952) holds what the checksums in it say.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_GZIP_H
#define EWS_BASE_GZIP_H

#include <stdint.h>

/*
 * Read the file at `fd` from its start, and hold what comes out against the checksums. Another format is none of ours, and fine; so is what
 * follows the last member, and what comes after `max_bytes`, that nobody is to wait for. Fails with EWS_EDAMAGED.
 */
int ews_gzip_check(int fd, uint64_t max_bytes);

#endif
