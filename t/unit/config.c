/*
 * Settings: from the weakest to the strongest, with their places, and what a repository may not say.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/config.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"
#include "store/config_user.h"

static void begin(void)
{
	fixture_begin();
	fixture_shell("git init -q p && mkdir h && cd p && git commit -q --allow-empty -m 1");
}

TestSuite(config, .init = begin, .fini = fixture_end);

static struct ews_config *open_config(void)
{
	EWS_CLEANUP(free) char *project = ews_path_join(fixture_top(), "p");
	EWS_CLEANUP(free) char *git_dir = ews_path_join(project, ".git");
	EWS_CLEANUP(free) char *home = ews_path_join(fixture_top(), "h");
	const struct ews_config_place place = { .project = project, .git_dir = git_dir, .home = home };

	return ews_config_open(&place);
}

static void write_yaml(const char *text)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir("p");

	fixture_write(fd, EWS_CONFIG_FILE, text, strlen(text));
}

/* Does `text` end with `end`, which begins at a file's name? */
static void assert_ends(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	cr_assert(len >= end_len && !strcmp(text + len - end_len, end), "'%s' should end in '%s'", text, end);
}

/* The value of `name` as text, and where it is from. */
static void assert_holds(const char *name, const char *text, enum ews_config_source source, unsigned line)
{
	EWS_CLEANUP(config) struct ews_config *config = open_config();
	struct ews_config_entry entry;

	cr_assert(ews_config_look(&entry, config, ews_setting_find(name), 0));
	cr_assert_str_eq(entry.text, text, "%s is '%s'", name, entry.text);
	cr_assert_eq(entry.source, source, "%s", name);
	cr_assert_eq(entry.line, line, "%s: line %u", name, entry.line);
}

static void assert_warns(const char *const *want, size_t n)
{
	EWS_CLEANUP(config) struct ews_config *config = open_config();
	EWS_CLEANUP(strv) struct ews_strv is = EWS_STRV_INIT;

	ews_config_warnings(&is, config);
	for (size_t i = 0; i < n && i < is.n; i++)
		assert_ends(is.items[i], want[i]);
	cr_assert_eq(is.n, n, "%zu warnings", is.n);
}

#define ASSERT_WARNS(...)                                            \
	do {                                                         \
		const char *const want_[] = { __VA_ARGS__ };         \
		assert_warns(want_, sizeof(want_) / sizeof(*want_)); \
	} while (0)

Test(config, every_default_makes_sense)
{
	EWS_CLEANUP(config) struct ews_config *config = open_config();

	for (size_t i = 0; i < ews_settings_n; i++) {
		const struct ews_setting *setting = &ews_settings[i];
		struct ews_setting_value value;

		cr_assert(!setting->dflt || ews_setting_read(&value, setting, setting->dflt) == 0, "%s",
			  setting->git);
		cr_assert_eq(ews_setting_find(setting->git), setting);
		cr_assert(!setting->yaml || ews_setting_find(setting->yaml) == setting);
	}
	cr_assert_eq(ews_config_check(config), 0);
	assert_warns(NULL, 0);
}

Test(config, the_later_source_is_the_stronger_one)
{
	assert_holds("qe.workspace.method", "auto", EWS_CONFIG_DEFAULT, 0);
	write_yaml("qe:\n  workspace:\n    method: snapshot\n");
	assert_holds("qe.workspace.method", "snapshot", EWS_CONFIG_YAML, 3);
	fixture_shell("git config --global ews.workspace.method overlay");
	assert_holds("ews.workspace.method", "overlay", EWS_CONFIG_GIT, 2);
	fixture_shell("cd p && git config ews.x.y 1 && git config ews.workspace.method worktree");
	assert_holds("EWS.Workspace.METHOD", "worktree", EWS_CONFIG_GIT, 9);
	setenv("GIT_CONFIG_COUNT", "1", 1);
	setenv("GIT_CONFIG_KEY_0", "ews.workspace.method", 1);
	setenv("GIT_CONFIG_VALUE_0", "auto", 1);
	ews_config_take_environment();
	cr_assert_str_eq(ews_config_command("ews.workspace.METHOD"), "auto");
	cr_assert_null(ews_config_command("ews.home"));
	assert_holds("qe.workspace.method", "auto", EWS_CONFIG_COMMAND, 0);
}

Test(config, a_value_is_found_in_whatever_way_git_wrote_it)
{
	fixture_shell("printf '%%s\\n' '# ews.maxFile = 1' '[ews \"gitGuard\"] allowDiff = no' '[ews]' 'maxfile=2 \\' "
		      "'maxTotal = 1' '; maxFile = 3' '\tmaxFile = 4k ; c' '[EWS.workspace]' 'cleanupOnSuccess' "
		      "'[include] path = more' >>p/.git/config && printf '\\n[ews]trashMax = 7\\n' >p/.git/more");
	assert_holds("qe.git_guard.allow_diff", "no", EWS_CONFIG_GIT, 7);
	assert_holds("ews.maxFile", "4k", EWS_CONFIG_GIT, 12);
	assert_holds("ews.maxTotal", "20g", EWS_CONFIG_DEFAULT, 0);
	assert_holds("qe.workspace.cleanup_on_success", "true", EWS_CONFIG_GIT, 14);
	assert_holds("ews.trashMax", "7", EWS_CONFIG_GIT, 2);
	fixture_shell("cd p && git config extensions.worktreeConfig true && git config --worktree ews.maxFile 5");
	assert_holds("ews.maxFile", "5", EWS_CONFIG_GIT, 2);
}

Test(config, values_are_what_git_means_by_them)
{
	static const char *const truths[] = { "true", "YES", "on", "1", "-3", "2k" };
	static const char *const lies[] = { "", "false", "No", "off", "0", "0k" };
	static const char *const neither[] = { "tru", "2x", "y", " true", "1 k", "-" };
	static const char *const ages[] = { "7 days", "7d", "1.week", "168.hours.ago", "7 days ago" };
	static const char *const no_ages[] = { "7", "days", "7 dayz", "-1 day", "7 days hence", "", "1.week." };
	static const char *const no_sizes[] = { "", "-1", "1.5g", "3q", "1kk", " 1", "99999999999g", "1 g" };
	static const char *const no_places[] = { "", "~", "~bob/x" };
	struct ews_setting_value value;

	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		cr_assert_eq(ews_setting_read_bool(&value.truth, truths[i]), 0, "%s", truths[i]);
		cr_assert(value.truth, "%s", truths[i]);
		cr_assert_eq(ews_setting_read_bool(&value.truth, lies[i]), 0, "%s", lies[i]);
		cr_assert_not(value.truth, "%s", lies[i]);
		cr_assert_eq(ews_setting_read_bool(&value.truth, neither[i]), EWS_ECONFIG, "%s", neither[i]);
	}
	for (size_t i = 0; i < sizeof(ages) / sizeof(*ages); i++) {
		cr_assert_eq(ews_setting_read(&value, ews_setting_find("ews.trashExpire"), ages[i]), 0, "%s",
			     ages[i]);
		cr_assert_eq(value.age_s, 7 * 86400, "%s", ages[i]);
	}
	for (size_t i = 0; i < sizeof(no_ages) / sizeof(*no_ages); i++)
		cr_assert_eq(ews_setting_read(&value, ews_setting_find("ews.trashExpire"), no_ages[i]), EWS_ECONFIG,
			     "%s", no_ages[i]);
	cr_assert_eq(ews_setting_read(&value, ews_setting_find("ews.trashExpire"), "now"), 0);
	cr_assert_eq(value.age_s, 0);
	cr_assert_eq(ews_setting_read(&value, ews_setting_find("ews.trashExpire"), "never"), 0);
	cr_assert_eq(value.age_s, EWS_AGE_NEVER);
	cr_assert_eq(ews_setting_read(&value, ews_setting_find("ews.maxFile"), "3G"), 0);
	cr_assert_eq(value.size_bytes, 3 * EWS_GIB);
	for (size_t i = 0; i < sizeof(no_sizes) / sizeof(*no_sizes); i++)
		cr_assert_eq(ews_setting_read(&value, ews_setting_find("ews.maxFile"), no_sizes[i]), EWS_ECONFIG,
			     "%s", no_sizes[i]);
	for (size_t i = 0; i < sizeof(no_places) / sizeof(*no_places); i++)
		cr_assert_eq(ews_setting_read(&value, ews_setting_find("qe.workspace.location"), no_places[i]),
			     EWS_ECONFIG, "%s", no_places[i]);
	cr_assert_eq(ews_setting_read(&value, ews_setting_find("qe.workspace.method"), "git-worktree"), 0);
	cr_assert_str_eq(value.text, "worktree");
	cr_assert_eq(ews_setting_read(&value, ews_setting_find("qe.workspace.method"), "Worktree"), EWS_ECONFIG);
}

Test(config, what_is_unknown_is_named_once_at_its_top)
{
	write_yaml("team:\n  lead: x\n  more: [1, 2]\nqe:\n  workspace:\n    metod: x\n    exclude: [a]\n  mode: 1\n"
		   "ews.maxFile: 3\nqe.workspace.method: auto\n");
	ASSERT_WARNS("/p/superqode.yaml:1: team: is no setting of git ews",
		     "/p/superqode.yaml:6: qe.workspace.metod: is no setting of git ews",
		     "/p/superqode.yaml:8: qe.mode: is no setting of git ews",
		     "/p/superqode.yaml:9: ews.maxFile: is read from git's config alone");
	assert_holds("qe.workspace.method", "auto", EWS_CONFIG_YAML, 10);
}

Test(config, what_is_wrong_is_an_error_for_who_asks_and_a_warning_for_others)
{
	EWS_CLEANUP(config) struct ews_config *config = NULL;
	EWS_CLEANUP(strv) struct ews_strv list = EWS_STRV_INIT;
	const char *word;
	uint64_t size;
	bool truth;

	write_yaml("qe:\n  workspace:\n    method: bogus\n    location: {a: b}\n    cleanup_on_success: [true]\n"
		   "    cleanup_on_failure: yes\n    cleanup_on_failure: no\n  git_guard: strict\n");
	fixture_shell("cd p && git config ews.maxFile lots");
	config = open_config();
	cr_assert_eq(ews_config_word(&word, config, "qe.workspace.method"), EWS_ECONFIG);
	assert_ends(ews_error_message(), "/p/superqode.yaml:3: qe.workspace.method: 'bogus' is none of auto, worktree, "
					 "snapshot, in-place, overlay");
	cr_assert_eq(ews_config_check(config), EWS_ECONFIG);
	cr_assert_eq(ews_config_bool(&truth, config, "qe.workspace.cleanup_on_success"), EWS_ECONFIG);
	assert_ends(ews_error_message(),
		    "superqode.yaml:5: qe.workspace.cleanup_on_success: needs one value, not a list");
	cr_assert_eq(ews_config_bool(&truth, config, "qe.workspace.cleanup_on_failure"), EWS_ECONFIG);
	assert_ends(ews_error_message(), "superqode.yaml:7: qe.workspace.cleanup_on_failure: is there a second time");
	cr_assert_eq(ews_config_bool(&truth, config, "qe.git_guard.enabled"), EWS_ECONFIG);
	assert_ends(ews_error_message(), "superqode.yaml:8: qe.git_guard: has settings below it, and no value");
	cr_assert_eq(ews_config_size(&size, config, "ews.maxFile"), EWS_ECONFIG);
	assert_ends(ews_error_message(), "/p/.git/config:7: ews.maxFile: 'lots' is not a size");
	/* The others are not concerned. */
	cr_assert_eq(ews_config_bool(&truth, config, "qe.workspace.preserve_artifacts"), 0);
	cr_assert_eq(ews_config_list(&list, config, "qe.workspace.exclude"), 0);
	ews_config_warnings(&list, config);
	cr_assert_geq(list.n, 6);
}

Test(config, a_file_that_cannot_be_read_concerns_its_settings_alone)
{
	EWS_CLEANUP(config) struct ews_config *config = NULL;
	EWS_CLEANUP(config) struct ews_config *linked = NULL;
	const char *word;
	uint64_t size;

	write_yaml("qe: [\n");
	config = open_config();
	cr_assert_eq(ews_config_word(&word, config, "qe.workspace.method"), EWS_ECONFIG);
	cr_assert_neq(strstr(ews_error_message(), "/p/superqode.yaml:2: "), NULL, "%s", ews_error_message());
	cr_assert_eq(ews_config_size(&size, config, "ews.maxFile"), 0);
	cr_assert_eq(size, EWS_GIB);
	fixture_shell("cd p && mv superqode.yaml ../y && ln -s ../y superqode.yaml");
	linked = open_config();
	cr_assert_eq(ews_config_word(&word, linked, "qe.workspace.method"), EWS_ECONFIG);
	cr_assert_neq(strstr(ews_error_message(), "superqode.yaml:1: cannot be read"), NULL, "%s",
		      ews_error_message());
}

Test(config, a_repository_may_tighten_but_not_loosen)
{
	fixture_shell("git config --global ews.gitGuard.allowDiff false && ln -s /usr p/.superqode");
	write_yaml(
		"qe:\n  workspace:\n    method: in-place\n    location: .superqode/x\n  git_guard:\n    enabled: no\n"
		"    allow_status: false\n    block_commit: true\n    block_push: 0\n  artifacts:\n    location: ../h/a\n");
	fixture_shell("cd p && git config ews.gitGuard.allowDiff true && git config ews.home /x &&"
		      "git config ews.artifacts.location ~/a");
	ASSERT_WARNS("/p/superqode.yaml:3: qe.workspace.method: doesn't count: a repository can't loosen this by "
		     "itself; 'git ews config accept' lets it count",
		     "/p/superqode.yaml:4: qe.workspace.location: doesn't count: a repository can't name a place "
		     "outside of '.superqode' and home by itself; 'git ews config accept' lets it count",
		     "/p/superqode.yaml:6: qe.git_guard.enabled: doesn't count: a repository can't loosen this by "
		     "itself; 'git ews config accept' lets it count",
		     "/p/superqode.yaml:9: qe.git_guard.block_push: doesn't count: a repository can't loosen this by "
		     "itself; 'git ews config accept' lets it count",
		     "/p/.git/config:7: ews.gitGuard.allowDiff: doesn't count: a repository can't loosen this by "
		     "itself; 'git ews config accept' lets it count",
		     "/p/.git/config:9: ews.home: counts in the user's and the system's config alone",
		     "/p/.git/config:11: ews.artifacts.location: doesn't count: a repository can't name a place "
		     "outside of '.superqode' and home by itself; 'git ews config accept' lets it count");
	assert_holds("qe.workspace.method", "auto", EWS_CONFIG_DEFAULT, 0);
	assert_holds("qe.git_guard.enabled", "true", EWS_CONFIG_DEFAULT, 0);
	assert_holds("qe.git_guard.allow_status", "false", EWS_CONFIG_YAML, 7);
	assert_holds("qe.git_guard.allow_diff", "false", EWS_CONFIG_GIT, 2);
	assert_holds("qe.artifacts.location", "../h/a", EWS_CONFIG_YAML, 11);
	fixture_shell("git config --global ews.workspace.method in-place");
	assert_holds("qe.workspace.method", "in-place", EWS_CONFIG_GIT, 4);
}

Test(config, a_place_is_seen_from_the_project)
{
	EWS_CLEANUP(config) struct ews_config *config = NULL;
	EWS_CLEANUP(free) char *artifacts = NULL;
	EWS_CLEANUP(free) char *location = NULL;
	EWS_CLEANUP(free) char *want = ews_path_join(fixture_top(), "p/.superqode/qe-artifacts");

	config = open_config();
	cr_assert_eq(ews_config_dir(&location, config, "qe.workspace.location"), 0);
	cr_assert_null(location);
	cr_assert_eq(ews_config_dir(&artifacts, config, "qe.artifacts.location"), 0);
	cr_assert_str_eq(artifacts, want);
	ews_config_free(config);
	fixture_shell("git config --global ews.workspace.location '~/l/../x/y' && mkdir real && ln -s real x");
	config = open_config();
	cr_assert_eq(ews_config_dir(&location, config, "qe.workspace.location"), 0);
	assert_ends(location, "/real/y");
}

/* What the list holds, each item with a blank behind it. */
static void assert_list(const char *want)
{
	EWS_CLEANUP(config) struct ews_config *config = open_config();
	EWS_CLEANUP(strv) struct ews_strv list = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	cr_assert_eq(ews_config_list(&list, config, "qe.workspace.exclude"), 0, "%s", ews_error_message());
	for (size_t i = 0; i < list.n; i++)
		ews_buf_addf(&text, "%s ", list.items[i]);
	cr_assert_str_eq(text.ptr, want);
}

Test(config, a_list_of_gits_takes_the_place_of_the_files)
{
	assert_list("");
	write_yaml("qe:\n  workspace:\n    exclude:\n    - a\n    - b\n");
	assert_list("a b ");
	fixture_shell("git config --global ews.workspace.exclude c && cd p && git config ews.workspace.exclude d &&"
		      "git config --add ews.workspace.exclude e");
	assert_list("c d e ");
	fixture_shell("cd p && git config --replace-all ews.workspace.exclude ''");
	assert_list("");
	fixture_shell("cd p && git config --add ews.workspace.exclude f");
	assert_list("f ");
	fixture_shell("cd p && git config --unset-all ews.workspace.exclude &&"
		      "git config --global --unset-all ews.workspace.exclude");
	write_yaml("qe:\n  workspace:\n    exclude: one\n");
	assert_list("one ");
}

Test(config, truths_of_gits_own_are_read_in_its_spellings)
{
	EWS_CLEANUP(free) char *git_dir = ews_path_join(fixture_top(), "p/.git");
	EWS_CLEANUP(odb) struct ews_odb *odb = NULL;
	bool truth;

	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0);
	cr_assert_eq(ews_config_git_bool(&truth, odb, "core.ignoreCase", true), 0);
	cr_assert(truth);
	fixture_shell("cd p && git config core.ignoreCase Yes");
	cr_assert_eq(ews_config_git_bool(&truth, odb, "core.ignoreCase", false), 0);
	cr_assert(truth);
	fixture_shell("cd p && git config core.ignoreCase perhaps");
	cr_assert_eq(ews_config_git_bool(&truth, odb, "core.ignoreCase", false), EWS_ECONFIG);
	assert_ends(ews_error_message(), "core.ignoreCase: 'perhaps' is neither true nor false");
}

static void assert_found(const char *option, const char *should)
{
	EWS_CLEANUP(free) char *is = NULL;

	cr_assert_eq(ews_config_find_home(&is, option), 0, "%s", ews_error_message());
	cr_assert_str_eq(is, should);
}

Test(config, home_is_the_option_then_environment_then_config_then_the_usual_place)
{
	EWS_CLEANUP(free) char *relative = ews_path_join(fixture_top(), "x/y");
	EWS_CLEANUP(free) char *usual = ews_path_join(fixture_top(), ".superqode");
	EWS_CLEANUP(free) char *configured = ews_path_join(fixture_top(), "conf");

	assert_found(NULL, usual);
	assert_found("", usual);
	fixture_shell("printf '[ews]\\n\\thome = ~/conf\\n' >gitconfig");
	setenv("GIT_CONFIG_GLOBAL", "gitconfig", 1);
	assert_found(NULL, configured);
	setenv("SUPERQODE_HOME", "/srv//ews/.", 1);
	assert_found(NULL, "/srv/ews");
	assert_found("x/../x/y", relative);
}

Test(config, a_home_that_is_unset_or_relative_is_an_error_only_where_it_is_needed)
{
	EWS_CLEANUP(free) char *is = NULL;

	unsetenv("HOME");
	cr_assert_eq(ews_config_find_home(&is, NULL), EWS_ECONFIG);
	setenv("HOME", "", 1);
	cr_assert_eq(ews_config_find_home(&is, NULL), EWS_ECONFIG);
	setenv("HOME", "here", 1);
	cr_assert_eq(ews_config_find_home(&is, NULL), EWS_ECONFIG);
	cr_assert_null(is);
	assert_found("/a", "/a");
	setenv("SUPERQODE_HOME", "/b", 1);
	assert_found(NULL, "/b");
}
