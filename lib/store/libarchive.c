/*
 * libarchive: see libarchive.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/libarchive.h"

struct ews_libarchive ews_libarchive;

int ews_libarchive_need(void)
{
	static const char *const names[] = { EWS_LIBARCHIVE_FUNCTIONS(EWS_DL_NAME) };

	if (ews_libarchive.archive_read_new)
		return 0;
	return ews_dl_load(&ews_libarchive, EWS_LIBARCHIVE, names, sizeof(names) / sizeof(*names));
}
