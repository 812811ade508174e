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

/* Is it for want of descriptors or memory? The loader's last errno may be that of another place where it looked: its words tell. */
static bool is_in_want(int err, const char *words)
{
	static const int wants[] = { EMFILE, ENFILE, ENOMEM };

	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++)
		if (err == wants[i] || strstr(words, strerror(wants[i])))
			return true;
	return false;
}

static int fail_to_load(const char *soname, int err)
{
	const char *words = dlerror();

	if (!words)
		words = "a function is missing";
	if (is_in_want(err, words)) {
		ews_error(EWS_EIO, "cannot load '%s': %s", soname, words);
		ews_error_hint(
			"it may be there: what is wanting are descriptors or memory; 'ulimit -a' shows the limits");
		return EWS_EIO;
	}
	ews_error(EWS_EUNSUPPORTED, "cannot load '%s': %s", soname, words);
	ews_error_hint("install the package that brings '%s'", soname);
	return EWS_EUNSUPPORTED;
}

int ews_dl_load(void *table, const char *soname, const char *const *names, size_t n)
{
	EWS_CLEANUP(free) void **found = ews_calloc(n, sizeof(*found));
	void *library;

	errno = 0;
	library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return fail_to_load(soname, errno);
	for (size_t i = 0; library && i < n; i++) {
		found[i] = dlsym(library, names[i]);
		if (!found[i])
			library = NULL;
	}
	if (!library)
		return fail_to_load(soname, 0);
	/* POSIX has both kinds of pointers alike. */
	memcpy(table, found, n * sizeof(*found));
	return 0;
}
