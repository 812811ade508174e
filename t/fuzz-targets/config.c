/*
 * Fuzz target: superqode.yaml, which comes with whatever was cloned.
 *
 * What git's config says is left out: asking git takes a hundred times as long.
 *
 * SPDX-License-Identifier: MIT
 */
#include "target.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "store/config.h"
#include "store/gitconfig.h"
#include "work/guard.h"

/* The linker puts it in the place of the one that starts git. */
int __wrap_ews_gitconfig_read(struct ews_gitconfig *out, const char *git_dir);
int __wrap_ews_gitconfig_read(struct ews_gitconfig *out, const char *git_dir)
{
	(void)out;
	(void)git_dir;
	return 0;
}

static char *project, *git_dir, *home, *file;

static void leave(void)
{
	(void)unlink(file); /* best effort: it lies among temporary files */
	(void)rmdir(project);
}

static void enter(void)
{
	const char *tmp = getenv("TMPDIR");

	if (project)
		return;
	project = ews_strfmt("%s/config-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	must(mkdtemp(project), "no directory");
	git_dir = ews_path_join(project, ".git");
	home = ews_path_join(project, "home");
	file = ews_path_join(project, EWS_CONFIG_FILE);
	must(!atexit(leave), "atexit");
	must(!setenv("HOME", home, 1), "setenv");
}

static void write_file(const uint8_t *data, size_t len)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, data, len) == (ssize_t)len && !close(fd), "cannot write '%s'", file);
}

/* Nothing was accepted, so a repository may tighten what holds by itself, and loosen nothing. */
static void check_setting(const struct ews_config *config, const struct ews_setting *setting)
{
	struct ews_setting_value value, dflt;
	struct ews_config_entry entry;

	if (setting->type == EWS_SETTING_LIST || ews_config_check_one(config, setting) < 0)
		return;
	must(ews_config_look(&entry, config, setting, 0), "a setting without a value");
	must(ews_setting_read(&value, setting, entry.text) == 0, "a value that holds and can't be read");
	must(ews_setting_read(&dflt, setting, setting->dflt ? setting->dflt : "") == 0,
	     "a default that can't be read");
	must(ews_setting_laxity(setting, &value) <= ews_setting_laxity(setting, &dflt), "'%s' was loosened",
	     ews_setting_name(setting));
	if (setting->is_users)
		must(entry.source == EWS_CONFIG_DEFAULT, "'%s' is the user's alone", ews_setting_name(setting));
	if (setting->type == EWS_SETTING_PLACE) {
		EWS_CLEANUP(free) char *dir = NULL;

		must(ews_config_dir(&dir, config, ews_setting_name(setting)) == 0, "a place that is none");
		must(!dir || ews_path_is_inside(dir, project), "'%s' leads to '%s'", ews_setting_name(setting), dir);
	}
}

/* The rules that hold are never looser than those that hold without the file. */
static void check_guard(const struct ews_config *config)
{
	static const struct ews_guard_rules strict = EWS_GUARD_RULES_INIT;
	struct ews_guard_rules rules = strict;

	if (ews_guard_rules_read(&rules, config) < 0)
		return;
	must(rules.enabled && rules.policy == strict.policy && rules.block_commit && rules.block_push,
	     "the guard was loosened");
}

static void check_warnings(const struct ews_config *config)
{
	EWS_CLEANUP(strv) struct ews_strv warnings = EWS_STRV_INIT;

	ews_config_warnings(&warnings, config);
	for (size_t i = 0; i < warnings.n; i++) {
		const char *rest = warnings.items[i] + strlen(file);

		must(!strncmp(warnings.items[i], file, strlen(file)) && *rest == ':' && rest[1] >= '1' &&
			     rest[1] <= '9',
		     "a warning without a line: %s", warnings.items[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	EWS_CLEANUP(config) struct ews_config *config = NULL;
	struct ews_config_place place;
	struct ews_config_entry entry;
	struct stat st;
	bool is_accepted;
	int rc;

	ews_json_init();
	enter();
	write_file(data, len);
	place = (struct ews_config_place){ .project = project, .git_dir = git_dir, .home = home };
	ews_error_clear();
	config = ews_config_open(&place);
	must(!*ews_error_message(), "reading left an error: %s", ews_error_message());
	for (size_t i = 0; i < ews_settings_n; i++)
		check_setting(config, &ews_settings[i]);
	ews_error_clear();
	rc = ews_config_check(config);
	must(rc == 0 || (rc == EWS_ECONFIG && *ews_error_message()), "refused without a word");
	check_guard(config);
	check_warnings(config);
	for (size_t i = 0; ews_config_look_loose(&entry, &is_accepted, config, i); i++)
		must(!is_accepted, "a value is accepted that nobody accepted");
	must(stat(home, &st) < 0, "reading made '%s'", home);
	return 0;
}
