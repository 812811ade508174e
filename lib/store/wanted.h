/*
 * Wanted: the paths that a look at a directory is about, when it is not about all of it.
 *
 * A path is wanted when it is named, or lies below one that is; the directories above are on the way to it. There may be as
 * many as a build has products: they are searched, in order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_WANTED_H
#define EWS_STORE_WANTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct ews_wanted {
	bool is_all; /* none is named */
	const char **paths; /* in order; what they say is borrowed */
	size_t n;
};

enum ews_wanted_how { EWS_WANTED_NOT, EWS_WANTED_ON_THE_WAY, EWS_WANTED };

/* Take what is named from the NULL-ended `only`, whose paths outlive it; NULL: all is wanted. */
void ews_wanted_init(struct ews_wanted *out, const char *const *only);

/* How is `path` wanted, when nothing that holds it is named? */
enum ews_wanted_how ews_wanted_how(const struct ews_wanted *wanted, const char *path);

/* Is `path` named, or something that holds it? */
bool ews_wanted_has(const struct ews_wanted *wanted, const char *path);

void ews_wanted_release(struct ews_wanted *wanted);
EWS_CLEANUP_DEFINE(wanted, struct ews_wanted, ews_wanted_release)

#endif
