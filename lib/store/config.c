/*
 * Settings: see config.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/proc.h"

#define OVERRIDES_MAX EWS_MIB

/* "<key>\n<value>", as git prints them; read once, before any thread. */
static struct ews_strv overrides = EWS_STRV_INIT;

void ews_config_take_environment(void)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	struct ews_proc proc = { .cwd = "/", .out = &out };

	if (!getenv("GIT_CONFIG_PARAMETERS") && !getenv("GIT_CONFIG_COUNT"))
		return;
	for (char **var = environ; *var; var++)
		if (strncmp(*var, "GIT_", 4) || !strncmp(*var, "GIT_CONFIG_", 11))
			ews_strv_add(&env, *var);
	ews_strv_add_all(&env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			 "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=/", NULL);
	ews_buf_init_max(&out, OVERRIDES_MAX);
	ews_strv_add_all(&argv, "git", "config", "-z", "--get-regexp", "^ews\\.", NULL);
	proc.argv = argv.items;
	proc.env = env.items;
	/* What git can't make sense of it says itself, when it reads it; here it is nothing. */
	if (ews_proc_run(&proc) != 0)
		ews_buf_truncate(&out, 0);
	ews_error_clear();
	for (const char *at = out.ptr; at < out.ptr + out.len; at += strlen(at) + 1)
		ews_strv_add(&overrides, at);
}

int ews_config_get(char **out, struct ews_odb *odb, const char *key)
{
	size_t len = strlen(key);

	/* The last one given holds. */
	for (size_t i = overrides.n; i-- > 0;) {
		const char *line = overrides.items[i];

		if (strncasecmp(line, key, len) || (line[len] && line[len] != '\n'))
			continue;
		*out = ews_strdup(line[len] ? line + len + 1 : "true");
		return 0;
	}
	return ews_odb_config(out, odb, key);
}

static unsigned shift_of(char unit)
{
	switch (unit) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	default:
		return 0;
	}
}

int ews_config_size(uint64_t *out, struct ews_odb *odb, const char *key, uint64_t otherwise)
{
	EWS_CLEANUP(free) char *text = NULL;
	unsigned shift;
	char *end;

	*out = otherwise;
	if (ews_config_get(&text, odb, key) < 0) {
		ews_error_clear();
		return 0;
	}
	*out = strtoull(text, &end, 10);
	shift = shift_of(*end);
	if (end == text || *text == '-' || end[shift != 0] || *out > UINT64_MAX >> shift)
		return ews_error(EWS_ECONFIG, "git config: %s: '%s' is not a size", key, text);
	*out <<= shift;
	return 0;
}
