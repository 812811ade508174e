/*
 * Settings: the value of a key, from the command line over git's config.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_CONFIG_H
#define EWS_STORE_CONFIG_H

#include "store/odb.h"

/*
 * Take what `git -c ews.<key>=<value> ews ...` left in the environment, once,
 * before the environment is scrubbed.
 */
void ews_config_take_environment(void);

/* The value of `key`; the caller frees `*out`. Fails with EWS_ENOTFOUND when it is not set. */
int ews_config_get(char **out, struct ews_odb *odb, const char *key);

/* A size in bytes, with git's units k, m and g; `otherwise` when it is not set. Fails with EWS_ECONFIG. */
int ews_config_size(uint64_t *out, struct ews_odb *odb, const char *key, uint64_t otherwise);

#endif
