/*
 * Libraries: see dl.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"

int ews_dl_load(void *table, const char *soname, const char *const *names, size_t n)
{
	EWS_CLEANUP(free) void **found = ews_calloc(n, sizeof(*found));
	void *library;
	bool is_in_want;

	errno = 0;
	library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	is_in_want = !library && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);

	for (size_t i = 0; library && i < n; i++) {
		found[i] = dlsym(library, names[i]);
		if (!found[i])
			library = NULL;
	}
	if (is_in_want) {
		ews_error(EWS_EIO, "cannot load '%s': %s", soname, dlerror());
		ews_error_hint(
			"it may be there: what is wanting are descriptors or memory; 'ulimit -a' shows the limits");
		return EWS_EIO;
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
