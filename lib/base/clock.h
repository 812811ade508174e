/*
 * Clock: UTC stamps, random ids, monotonic waits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_CLOCK_H
#define EWS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define EWS_STAMP_LEN 32

/* Now, in seconds since the epoch. */
int64_t ews_clock_now(void);
/* Milliseconds on a clock that never goes back. */
uint64_t ews_clock_monotonic_ms(void);
/* "2026-01-18T14:30:22Z" */
void ews_clock_rfc3339(char out[EWS_STAMP_LEN], int64_t seconds);
/* The reverse. Fails with EWS_EDAMAGED. */
int ews_clock_parse(int64_t *out, const char *text);
/* "<prefix>-20260118-143022-1a2b3c": UTC and six random hex digits. The caller frees it. */
char *ews_clock_id(const char *prefix, int64_t seconds);
/* Random bytes from the kernel. */
void ews_clock_random(void *out, size_t len);
/* "3 days", "2 hours", "5 minutes", "12 seconds": the largest unit. */
void ews_clock_age(char out[EWS_STAMP_LEN], int64_t seconds);
/* The reverse, in git's spellings as well: "3 days", "3d", "2.weeks.ago". Seconds. Fails with EWS_EUSAGE. */
int ews_clock_read_age(int64_t *out, const char *text);
void ews_clock_sleep_ms(unsigned ms);

#define EWS_CLOCK_NS_PER_S INT64_C(1000000000)

/* Does `a` come before `b`? */
static inline bool ews_clock_is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/*
 * Does the time `s`.`ns` of a file lie at most `window_ns` before `then`, or after it? Without nanoseconds it is taken for that of a
 * file system that keeps whole seconds, or every other: what it means may be later than it says.
 */
static inline bool ews_clock_is_late(int64_t s, uint32_t ns, const struct timespec *then, int64_t window_ns)
{
	int64_t limit_s = then->tv_sec - window_ns / EWS_CLOCK_NS_PER_S;
	int64_t limit_ns = then->tv_nsec - window_ns % EWS_CLOCK_NS_PER_S;

	if (limit_ns < 0) {
		limit_ns += EWS_CLOCK_NS_PER_S;
		limit_s--;
	}
	if (ns == 0)
		return s >= limit_s - 1;
	return s > limit_s || (s == limit_s && (int64_t)ns >= limit_ns);
}

#endif
