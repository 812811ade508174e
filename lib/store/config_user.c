/*
 * The user's own config: see config_user.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/config_user.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "store/gitconfig_files.h"
#include "store/odb.h"

/* Of the command line; read once, before any thread. */
static struct ews_gitconfig overrides = EWS_GITCONFIG_INIT;
static bool has_overrides;

void ews_config_take_environment(void)
{
	if (has_overrides)
		return;
	has_overrides = true;
	ews_gitconfig_read_command(&overrides);
}

const struct ews_gitconfig *ews_config_overrides(void)
{
	return &overrides;
}

const char *ews_config_command(const char *key)
{
	for (size_t i = overrides.n; i-- > 0;)
		if (!strcasecmp(overrides.items[i].key, key))
			return overrides.items[i].text;
	return NULL;
}

int ews_config_user(char **out, const char *key)
{
	const char *given;

	ews_config_take_environment();
	given = ews_config_command(key);
	if (!given)
		return ews_odb_config_user(out, key);
	*out = ews_strdup(given);
	return 0;
}

static char *current_dir(void)
{
	char *cwd = getcwd(NULL, 0);

	return cwd ? cwd : ews_strdup("/");
}

/* A relative one would be another home in each directory, and what is in the others would seem gone. */
static int take_home(char **out, const char *name, const char *place)
{
	if (*place == '/') {
		*out = ews_path_absolute("/", place);
		return 0;
	}
	ews_error(EWS_ECONFIG, "%s is not an absolute path: '%s'", name, place);
	ews_error_hint("sessions made in one directory would not be found from another: give the whole path");
	return EWS_ECONFIG;
}

/* ews.home, behind where it stands. The caller frees it. */
static char *name_home(void)
{
	EWS_CLEANUP(gitconfig) struct ews_gitconfig values = EWS_GITCONFIG_INIT;

	if (ews_config_command("ews.home"))
		return ews_strdup("ews.home");
	if (ews_gitconfig_find(&values, "/dev/null", "^ews\\.home$") < 0)
		ews_error_clear();
	if (!values.n || !values.items[values.n - 1].file)
		return ews_strdup("ews.home");
	return ews_strfmt("%s:%u: ews.home:", values.items[values.n - 1].file,
			  ews_gitconfig_line(&values, values.n - 1));
}

int ews_config_find_home(char **out, const char *option)
{
	EWS_CLEANUP(free) char *configured = NULL;
	EWS_CLEANUP(free) char *name = NULL;
	const char *env = getenv("SUPERQODE_HOME");
	const char *user = getenv("HOME"), *rest;
	int rc;

	if (option && *option) {
		EWS_CLEANUP(free) char *cwd = current_dir();

		*out = ews_path_absolute(cwd, option);
		return 0;
	}
	if (env && *env)
		return take_home(out, "SUPERQODE_HOME", env);
	rc = ews_config_user(&configured, "ews.home");
	/* What can't be read may name another place than the usual one, in which nothing of that would be found. */
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return ews_error_wrap("cannot tell where workspaces are");
	ews_error_clear();
	if ((!configured || *configured == '~') && (!user || *user != '/')) {
		ews_error(EWS_ECONFIG, "HOME is %s, so there is no place for workspaces",
			  user && *user ? "not an absolute path" : "not set");
		ews_error_hint("set HOME, or name a place with SUPERQODE_HOME or --home");
		return EWS_ECONFIG;
	}
	rest = configured ? ews_str_after(configured, "~/") : NULL;
	if (rest) {
		*out = ews_path_join(user, rest);
		return 0;
	}
	if (configured) {
		name = *configured == '/' ? NULL : name_home();
		return take_home(out, name, configured);
	}
	*out = ews_path_join(user, ".superqode");
	return 0;
}

const char *ews_config_home_doubt(const char *home, const char *option)
{
	const char *env = getenv("SUPERQODE_HOME"), *user = getenv("HOME");
	EWS_CLEANUP(free) char *usual = ews_path_join(user ? user : "/", ".superqode");
	bool is_said = (option && *option) || (env && *env) || strcmp(home, usual) != 0;

	return is_said ? NULL : ews_gitconfig_closed_path();
}
