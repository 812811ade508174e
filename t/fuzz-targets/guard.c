/*
 * Fuzz target: a text for a shell, which the guard judges.
 *
 * What a text holds beside a command that is denied never lets that through.
 *
 * SPDX-License-Identifier: MIT
 */
#include "target.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/shell_word.h"
#include "work/guard.h"

#define WRITE "git commit -m x"
#define TEXT_MAX 4096 /* of a longer one the fuzzer learns nothing */

static const struct ews_guard_rules strict = EWS_GUARD_RULES_INIT;

static void check_verdict(const struct ews_guard_verdict *verdict)
{
	if (!verdict->is_blocked)
		return;
	must(verdict->reason && *verdict->reason, "denied without a reason");
	must(!strpbrk(verdict->reason, "\n" EWS_GUARD_HOLE), "a reason that can't be read: %s", verdict->reason);
	must(verdict->operation != EWS_GUARD_READ, "denied as something that reads");
}

static bool is_blocked(const char *text)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;

	must(ews_guard_judge_shell(&verdict, &strict, text) == 0, "no verdict");
	must(!strcmp(verdict.command, text), "a verdict on something else");
	check_verdict(&verdict);
	return verdict.is_blocked;
}

static bool joined_is_blocked(const char *before, const char *text, const char *behind)
{
	EWS_CLEANUP(free) char *joined = ews_strfmt("%s%s%s", before, text, behind);

	return is_blocked(joined);
}

/* `sh -c <text>`, word by word. */
static bool words_are_blocked(const char *text)
{
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;
	char *copy = ews_strdup(text);
	char *const argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, copy, NULL };

	must(ews_guard_judge(&verdict, &strict, argv) == 0, "no verdict");
	check_verdict(&verdict);
	free(copy);
	return verdict.is_blocked;
}

/* Words and simple operators alone: what is put behind such a text is a command of its own, or makes it malformed. */
static bool is_simple(const char *text)
{
	return !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ./=:,+-;&|\n")];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	EWS_CLEANUP(free) char *text = NULL;
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;
	bool blocked;

	if (len > TEXT_MAX || memchr(data, '\0', len))
		return 0; /* no argument holds one */
	text = ews_strndup((const char *)data, len);
	blocked = is_blocked(text);
	must(is_blocked(text) == blocked, "another verdict at the second time");
	must(joined_is_blocked(WRITE "\n", text, ""), "a text lets through what comes before it");
	must(joined_is_blocked(WRITE "; ", text, ""), "a text lets through what comes before it in its line");
	must(!is_simple(text) || joined_is_blocked("", text, "\n" WRITE), "a text lets through what comes behind it");
	must(!is_simple(text) || joined_is_blocked("", text, "; " WRITE),
	     "a text lets through what comes behind it in its line");
	if (!blocked)
		return 0;
	ews_shell_quote(&quoted, text);
	must(words_are_blocked(text), "sh -c lets through what is denied by itself");
	must(joined_is_blocked("sh -c ", quoted.ptr, ""), "sh -c in a text lets through what is denied by itself");
	must(joined_is_blocked("env A=b nohup sh -c ", quoted.ptr, ""), "env lets through what is denied by itself");
	return 0;
}
