/*
 * Libraries that are loaded when they are first needed.
 *
 * To load a library, with those that it needs itself, takes longer than most verbs take: what only some verbs need
 * is not linked. Who uses one names its functions once, in a list
 *
 *	#define FUNCTIONS(F) F(archive_read_new) F(archive_read_free)
 *
 * which makes a struct of pointers, typed as the library's own header has them, and the names to look up:
 *
 *	struct table { FUNCTIONS(EWS_DL_MEMBER) };
 *	const char *const names[] = { FUNCTIONS(EWS_DL_NAME) };
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_DL_H
#define EWS_BASE_DL_H

#include <stddef.h>

#define EWS_DL_MEMBER(function) typeof(function) *function;
#define EWS_DL_NAME(function) #function,

/*
 * Load the library `soname` and fill `table`, a struct of nothing but `n` pointers to functions, with those of
 * `names`, in this order. The library stays until the process ends. Fails with EWS_EUNSUPPORTED, and the table as it
 * was, when the library or one of the functions is not there; with EWS_EIO for want of descriptors or memory.
 */
int ews_dl_load(void *table, const char *soname, const char *const *names, size_t n);

#endif
