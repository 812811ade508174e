/*
 * Wanted: see wanted.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/wanted.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"

static int cmp_path(const void *a, const void *b)
{
	return ews_path_cmp(*(const char *const *)a, *(const char *const *)b);
}

void ews_wanted_init(struct ews_wanted *out, const char *const *only)
{
	*out = (struct ews_wanted){ .is_all = !only };
	while (only && only[out->n])
		out->n++;
	out->paths = ews_calloc(out->n + 1, sizeof(*out->paths));
	if (out->n) {
		memcpy(out->paths, only, out->n * sizeof(*out->paths));
		qsort(out->paths, out->n, sizeof(*out->paths), cmp_path);
	}
}

enum ews_wanted_how ews_wanted_how(const struct ews_wanted *wanted, const char *path)
{
	const char *next; /* the first that is not before `path`, or NULL */

	if (wanted->is_all)
		return EWS_WANTED;
	next = wanted->paths[ews_path_find_first(wanted->paths, sizeof(*wanted->paths), wanted->n, path)];
	if (!next || !ews_path_is_inside(next, path))
		return EWS_WANTED_NOT;
	return strcmp(next, path) ? EWS_WANTED_ON_THE_WAY : EWS_WANTED;
}

bool ews_wanted_has(const struct ews_wanted *wanted, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);

	for (;;) {
		char *slash = strrchr(at, '/');

		if (ews_wanted_how(wanted, at) == EWS_WANTED)
			return true;
		if (!slash)
			return false;
		*slash = '\0';
	}
}

void ews_wanted_release(struct ews_wanted *wanted)
{
	free(wanted->paths);
	*wanted = (struct ews_wanted){ .is_all = true };
}
