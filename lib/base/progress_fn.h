/*
 * Progress, as it is told upward: the callback that long work is given.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_PROGRESS_FN_H
#define EWS_BASE_PROGRESS_FN_H

#include <stddef.h>
#include <stdint.h>

/*
 * So many of `total` things are done, and `bytes` bytes were moved for that; 0 of either: not known. Where `total` is another than
 * before, other work has begun. Called as often as there is news, by one thread at a time. NULL wherever one may be given: nobody
 * wants to know.
 */
typedef void (*ews_progress_fn)(void *payload, size_t done, size_t total, uint64_t bytes);

#endif
