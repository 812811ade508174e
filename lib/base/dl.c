/*
 * Libraries: see dl.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/dl.h"

#include <dlfcn.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"

int ews_dl_load(void *table, const char *soname, const char *const *names, size_t n)
{
	EWS_CLEANUP(free) void **found = ews_calloc(n, sizeof(*found));
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < n; i++) {
		found[i] = dlsym(library, names[i]);
		if (!found[i])
			library = NULL;
	}
	if (!library) {
		ews_error(EWS_EUNSUPPORTED, "cannot load '%s': %s", soname, dlerror());
		ews_error_hint("install the package that brings '%s'", soname);
		return EWS_EUNSUPPORTED;
	}
	/* POSIX has both kinds of pointers alike. */
	memcpy(table, found, n * sizeof(*found));
	return 0;
}
