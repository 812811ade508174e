/*
 * The text of a git config file, read as git reads it.
 *
 * Each verb asks for some settings, most of which nobody has set: a library for that, or a git, takes longer to
 * begin than the verb takes. Format: git-config(1), "Syntax". Includes are given as the keys that they are, and
 * not followed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GITCONFIG_TEXT_H
#define EWS_STORE_GITCONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A value, in the order of the text: "core.bare", "remote.Origin.url", with all small but the middle; NULL of a key
 * without "=". Both are the text's, until the next call. Anything but 0 ends the reading.
 */
typedef int (*ews_gitconfig_fn)(const char *key, const char *value, void *payload);

/*
 * Read the `len` bytes of `text`. Gives what `fn` gave, or 0 when all is read. Fails with EWS_ECONFIG, which names the
 * line, when that is no config.
 */
int ews_gitconfig_parse(const char *text, size_t len, ews_gitconfig_fn fn, void *payload);

/* Append a setting in the form of git-config(1); `key` and `value` are as above. */
void ews_gitconfig_add(struct ews_buf *out, const char *key, const char *value);
/*
 * Append what the `len` bytes of `text` say but for `keys`, which NULL ends. Where they set none of these, that is the bytes as
 * they are; else it has no comments. Fails as ews_gitconfig_parse().
 */
int ews_gitconfig_add_but(struct ews_buf *out, const char *text, size_t len, const char *const *keys);

/* Are `a` and `b` one key? In the middle letters are told from each other. */
bool ews_gitconfig_is_key(const char *a, const char *b);

/* What git takes for a truth value (`text` NULL: a key without "="). False: it is none. */
bool ews_gitconfig_bool(bool *out, const char *text);
/* A number with k, m or g. False: it is none, or too large. */
bool ews_gitconfig_int(int64_t *out, const char *text);

#endif
