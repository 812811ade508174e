/*
 * Errors: one slot a thread, of fixed size, so that failing can't fail.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for two long paths and some words; what is longer is cut. */
#define MESSAGE_MAX 10240
#define HINT_MAX 4096

static const struct {
	enum ews_code code;
	const char *word;
	int status;
} codes[] = {
	{ EWS_OK, "ok", 0 },
	{ EWS_EUSAGE, "usage", 129 },
	{ EWS_ENOTFOUND, "not_found", 128 },
	{ EWS_EEXISTS, "exists", 128 },
	{ EWS_EBUSY, "busy", 1 },
	{ EWS_ESTALE, "stale", 1 },
	{ EWS_EDENIED, "denied", 128 },
	{ EWS_ENOTVERIFIED, "not_verified", 1 },
	{ EWS_EDAMAGED, "damaged", 1 },
	{ EWS_ECONFLICT, "conflict", 1 },
	{ EWS_EUNSUPPORTED, "unsupported", 128 },
	{ EWS_ENOSPACE, "no_space", 128 },
	{ EWS_EINTERRUPTED, "interrupted", 1 },
	{ EWS_EIO, "io", 128 },
	{ EWS_EGIT, "git", 128 },
	{ EWS_ECONFIG, "config", 128 },
};

static _Thread_local struct {
	enum ews_code code;
	char message[MESSAGE_MAX];
	char hint[HINT_MAX];
	int os_error; /* the errno that said it */
} slot;

/* The words may quote the sentence that is set, so they are made beside it. */
static void set_message(enum ews_code code, const char *words, const char *more)
{
	char text[MESSAGE_MAX];

	(void)snprintf(text, sizeof(text), "%s%s%s", words, *more ? ": " : "", more);
	memcpy(slot.message, text, strlen(text) + 1);
	slot.code = code;
}

static enum ews_code code_of_errno(int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
		return EWS_ENOTFOUND;
	case EEXIST:
		return EWS_EEXISTS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return EWS_ENOSPACE;
	default:
		return EWS_EIO;
	}
}

int ews_error(enum ews_code code, const char *fmt, ...)
{
	char words[MESSAGE_MAX];
	int err = errno;
	va_list args;

	assert(code < 0);
	va_start(args, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	set_message(code, words, "");
	slot.hint[0] = '\0';
	slot.os_error = 0;
	errno = err;
	return code;
}

int ews_error_os(const char *fmt, ...)
{
	char words[MESSAGE_MAX], reason[128];
	int err = errno;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	set_message(code_of_errno(err), words, strerror_r(err, reason, sizeof(reason)));
	slot.hint[0] = '\0';
	slot.os_error = err;
	errno = err;
	return slot.code;
}

int ews_error_wrap(const char *fmt, ...)
{
	char words[MESSAGE_MAX];
	int err = errno;
	va_list args;

	assert(slot.code < 0);
	va_start(args, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	set_message(slot.code, words, slot.message);
	errno = err;
	return slot.code;
}

void ews_error_hint(const char *fmt, ...)
{
	char words[HINT_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	memcpy(slot.hint, words, strlen(words) + 1);
}

enum ews_code ews_error_code(void)
{
	return slot.code;
}

const char *ews_error_message(void)
{
	return slot.message;
}

const char *ews_error_hint_text(void)
{
	return slot.hint;
}

int ews_error_errno(void)
{
	return slot.os_error;
}

bool ews_error_wants_descriptors(void)
{
	return slot.os_error == EMFILE || slot.os_error == ENFILE;
}

void ews_error_clear(void)
{
	slot.code = EWS_OK;
	slot.message[0] = '\0';
	slot.hint[0] = '\0';
	slot.os_error = 0;
}

int ews_error_if_passing(int rc)
{
	if (rc == EWS_EIO && ews_errno_is_passing(slot.os_error))
		return rc;
	ews_error_clear();
	return 0;
}

int ews_error_as_passing(void)
{
	slot.code = EWS_EIO;
	if (!ews_errno_is_passing(slot.os_error))
		slot.os_error = EIO;
	return slot.code;
}

void ews_error_save(struct ews_error_saved *out)
{
	out->code = slot.code;
	out->message = strdup(slot.message);
	out->hint = strdup(slot.hint);
	out->os_error = slot.os_error;
}

int ews_error_repeat(const struct ews_error_saved *saved)
{
	/* Without memory for the copy the code still comes home. */
	slot.code = saved->code;
	(void)snprintf(slot.message, sizeof(slot.message), "%s", saved->message ? saved->message : "out of memory");
	(void)snprintf(slot.hint, sizeof(slot.hint), "%s", saved->hint ? saved->hint : "");
	slot.os_error = saved->os_error;
	return slot.code;
}

int ews_error_restore(struct ews_error_saved *saved)
{
	int rc = ews_error_repeat(saved);

	ews_error_saved_release(saved);
	return rc;
}

void ews_error_saved_release(struct ews_error_saved *saved)
{
	free(saved->message);
	free(saved->hint);
	*saved = (struct ews_error_saved)EWS_ERROR_SAVED_INIT;
}

static size_t row_of(enum ews_code code)
{
	size_t i;

	for (i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return i;
	assert(!"a code without a row");
	return 0;
}

const char *ews_error_word(enum ews_code code)
{
	return codes[row_of(code)].word;
}

int ews_error_status(enum ews_code code)
{
	return codes[row_of(code)].status;
}
