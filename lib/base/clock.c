/*
 * Clock: see clock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/error.h"

#define LAST_SECOND 253402300799 /* of the year 9999, the last that a stamp can hold */
#define FIRST_SECOND -62167219200 /* of the year 0 */

int64_t ews_clock_now(void)
{
	return time(NULL);
}

uint64_t ews_clock_monotonic_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* can't fail for this clock */
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void split(struct tm *out, int64_t seconds)
{
	time_t when;

	if (seconds > LAST_SECOND)
		seconds = LAST_SECOND;
	if (seconds < FIRST_SECOND)
		seconds = FIRST_SECOND;
	when = seconds;
	(void)gmtime_r(&when, out);
}

void ews_clock_rfc3339(char out[EWS_STAMP_LEN], int64_t seconds)
{
	struct tm tm;

	split(&tm, seconds);
	(void)strftime(out, EWS_STAMP_LEN, "%Y-%m-%dT%H:%M:%SZ", &tm); /* 20 characters always fit */
}

/* Reading is the reverse of writing: whatever doesn't come out again the same is refused. */
int ews_clock_parse(int64_t *out, const char *text)
{
	char again[EWS_STAMP_LEN];
	struct tm tm = { .tm_isdst = 0 };
	int64_t seconds;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec) != 6)
		return ews_error(EWS_EDAMAGED, "'%s' is not a time", text);
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	seconds = timegm(&tm);
	ews_clock_rfc3339(again, seconds);
	if (strcmp(again, text))
		return ews_error(EWS_EDAMAGED, "'%s' is not a time", text);
	*out = seconds;
	return 0;
}

char *ews_clock_id(const char *prefix, int64_t seconds)
{
	unsigned char random[3];
	struct tm tm;

	split(&tm, seconds);
	ews_clock_random(random, sizeof(random));
	return ews_strfmt("%s-%04d%02d%02d-%02d%02d%02d-%02x%02x%02x", prefix, tm.tm_year + 1900, tm.tm_mon + 1,
			  tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, random[0], random[1], random[2]);
}

void ews_clock_random(void *out, size_t len)
{
	char *at = out;
	ssize_t n;

	while (len) {
		n = getrandom(at, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			perror("fatal: the kernel gives no random bytes");
			exit(128);
		}
		at += n;
		len -= (size_t)n;
	}
}

void ews_clock_age(char out[EWS_STAMP_LEN], int64_t seconds)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
	size_t i = 0;
	int64_t n;

	if (seconds < 0)
		seconds = 0;
	while (units[i].seconds > 1 && seconds < units[i].seconds)
		i++;
	n = seconds / units[i].seconds;
	(void)snprintf(out, EWS_STAMP_LEN, "%lld %s%s", (long long)n, units[i].name, n == 1 ? "" : "s");
}

int ews_clock_read_age(int64_t *out, const char *text)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {
		{ "s", 1 },           { "second", 1 },       { "seconds", 1 },     { "m", 60 },
		{ "min", 60 },        { "minute", 60 },      { "minutes", 60 },    { "h", 3600 },
		{ "hour", 3600 },     { "hours", 3600 },     { "d", 86400 },       { "day", 86400 },
		{ "days", 86400 },    { "w", 604800 },       { "week", 604800 },   { "weeks", 604800 },
		{ "month", 2592000 }, { "months", 2592000 }, { "year", 31536000 }, { "years", 31536000 },
	};
	const char *unit = text + strspn(text, "0123456789");
	size_t i, len, digits = (size_t)(unit - text);

	unit += strspn(unit, ". ");
	len = strcspn(unit, ". ");
	for (i = 0; i < sizeof(units) / sizeof(*units) && digits > 0 && digits < 10; i++) {
		const char *rest = unit + len;

		if (strlen(units[i].name) != len || strncmp(unit, units[i].name, len))
			continue;
		if (*rest && strcmp(rest, ".ago") && strcmp(rest, " ago"))
			continue;
		*out = strtoll(text, NULL, 10) * units[i].seconds;
		return 0;
	}
	return ews_error(EWS_EUSAGE, "'%s' is no age", text);
}

/* A signal ends it early: who waits for something looks again anyway. */
void ews_clock_sleep_ms(unsigned ms)
{
	struct timespec span = { ms / 1000, (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&span, NULL);
}
