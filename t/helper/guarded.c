/*
 * guarded: run a git command as the guard wants a reading one to be run.
 *
 *     guarded [-k <key>]... [-i <index>] <git> <argument>...
 *
 * <git> is executed with the neutral options in an environment of its own: PATH, HOME, TMPDIR, and what the guard asks for.
 * -k names a setting of the repository, which is set to its neutral value if it has one; -i names a copy of the index, for the commands that want
 * one. Status: the command's own; 126 when the guard denies it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/guard.h"

static void keep(struct ews_strv *env, const char *name)
{
	if (getenv(name))
		ews_strv_addf(env, "%s=%s", name, getenv(name));
}

int main(int argc, char **argv)
{
	const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;
	EWS_CLEANUP(strv) struct ews_strv neutral = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	unsigned settings = 0;
	const char *index = NULL;
	int option;

	while ((option = getopt(argc, argv, "+k:i:")) != -1) {
		if (option == 'i') {
			index = optarg;
		} else if (option == 'k' && ews_guard_neutral_value(optarg)) {
			ews_strv_addf(&env, "GIT_CONFIG_KEY_%u=%s", settings, optarg);
			ews_strv_addf(&env, "GIT_CONFIG_VALUE_%u=%s", settings++, ews_guard_neutral_value(optarg));
		} else if (option == 'k') {
			continue;
		} else {
			return 129;
		}
	}
	if (optind == argc)
		return 129;
	(void)ews_guard_judge(&verdict, &rules, argv + optind);
	if (verdict.is_blocked) {
		(void)fprintf(stderr, "blocked: %s\n", verdict.reason);
		return 126;
	}
	ews_guard_neutral(&neutral, argv + optind);
	keep(&env, "PATH");
	keep(&env, "HOME");
	keep(&env, "TMPDIR");
	ews_strv_add_array(&env, (char *const *)ews_guard_neutral_env);
	ews_strv_addf(&env, "GIT_CONFIG_COUNT=%u", settings);
	if (index && ews_guard_wants_index(argv + optind))
		ews_strv_addf(&env, "GIT_INDEX_FILE=%s", index);
	(void)execvpe(neutral.items[0], neutral.items, env.items);
	perror(neutral.items[0]);
	return 125;
}
