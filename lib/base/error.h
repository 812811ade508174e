/*
 * Errors: a code that travels as the return value, and its sentence beside it.
 *
 * A function that fails sets the sentence where it knows most and returns the
 * code; those above may put their own words in front. Each thread has a slot
 * of its own; only git-ews.c prints it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_ERROR_H
#define EWS_BASE_ERROR_H

#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"

enum ews_code {
	EWS_OK = 0,
	EWS_EUSAGE = -1,
	EWS_ENOTFOUND = -2,
	EWS_EEXISTS = -3,
	EWS_EBUSY = -4,
	EWS_ESTALE = -5,
	EWS_EDENIED = -6,
	EWS_ENOTVERIFIED = -7,
	EWS_EDAMAGED = -8,
	EWS_ECONFLICT = -9,
	EWS_EUNSUPPORTED = -10,
	EWS_ENOSPACE = -11,
	EWS_EINTERRUPTED = -12,
	EWS_EIO = -13,
	EWS_EGIT = -14,
	EWS_ECONFIG = -15,
};

/* Does that errno say that nothing is there by the name that was looked for? */
static inline bool ews_errno_is_absent(int err)
{
	return err == ENOENT || err == ENOTDIR;
}

/* The same where no link is followed, which a link then is not. */
static inline bool ews_errno_is_absent_or_link(int err)
{
	return ews_errno_is_absent(err) || err == ELOOP;
}

/* Does it speak of us, and not of what was looked for: no descriptors, no memory, no process or thread more, no wait? */
static inline bool ews_errno_is_ours(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == EAGAIN;
}

/* The same, or a disk fails: it may be there. A bad block fails for good, so that what can go on without it should. */
static inline bool ews_errno_is_passing(int err)
{
	return ews_errno_is_ours(err) || err == EIO;
}

/* Set the sentence (printf-like, starts small, no full stop), drop any hint; gives `code` back. */
__attribute__((format(printf, 2, 3))) int ews_error(enum ews_code code, const char *fmt, ...);

/*
 * Set the sentence to "<what>: <strerror(errno)>". The code follows errno:
 * ENOENT and ENOTDIR not_found, EEXIST exists, ENOSPC, EDQUOT and EFBIG
 * no_space, all others io.
 */
__attribute__((format(printf, 1, 2))) int ews_error_os(const char *fmt, ...);

/* Put "<words>: " in front of the sentence that is set; gives the set code back. */
__attribute__((format(printf, 1, 2))) int ews_error_wrap(const char *fmt, ...);

/* What the user can do about the error that is set. */
__attribute__((format(printf, 1, 2))) void ews_error_hint(const char *fmt, ...);

/* The error of this thread. The strings live until the next call that sets one; "" when unset. */
enum ews_code ews_error_code(void);
const char *ews_error_message(void);
const char *ews_error_hint_text(void);
/* Which errno said it, whatever was said of it, or cleaned up, since; 0 where it was none of ews_error_os()'s. */
int ews_error_errno(void);
/* Is it that no descriptor was left (EMFILE, ENFILE)? That tells nothing of what was looked for. */
bool ews_error_wants_descriptors(void);
void ews_error_clear(void);
/*
 * A look for what need not be there failed with `rc`: where its errno speaks of this moment (ews_errno_is_passing()) the error stays,
 * and `rc` is given back. Anything else says that there is nothing to be had: 0, and no error, as where it did not fail.
 */
int ews_error_if_passing(int rc);
/*
 * Whatever failed tells nothing of what was looked for, as who would look could not be asked: the error that is set is one of those
 * from now on. Gives back EWS_EIO, its code.
 */
int ews_error_as_passing(void);

/* Carry an error from one thread to another: save in the worker, restore at home. */
struct ews_error_saved {
	enum ews_code code;
	char *message;
	char *hint;
	int os_error;
};

#define EWS_ERROR_SAVED_INIT { EWS_OK, NULL, NULL, 0 }

void ews_error_save(struct ews_error_saved *out);
/* Make `saved` the error of this thread, release it, give its code back. */
int ews_error_restore(struct ews_error_saved *saved);
/* The same, and keep it. */
int ews_error_repeat(const struct ews_error_saved *saved);
/* Another one is to be told instead. */
void ews_error_saved_release(struct ews_error_saved *saved);

EWS_CLEANUP_DEFINE(error_saved, struct ews_error_saved, ews_error_saved_release)

/* The word for JSON ("not_found") and the exit status (1, 128, 129) of a code. */
const char *ews_error_word(enum ews_code code);
int ews_error_status(enum ews_code code);

#endif
