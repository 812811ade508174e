/*
 * Config: see config.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/config.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "store/accepted.h"
#include "store/config_user.h"
#include "store/gitconfig.h"
#include "store/home.h"
#include "store/yaml.h"

/* One value that somebody gave. */
struct given {
	const struct ews_setting *setting; /* NULL: there is none of that name */
	const char *key; /* as it is called there; borrowed, as the text is */
	const char *text;
	enum ews_config_source source;
	bool is_repositorys; /* came with what was cloned */
	size_t at; /* which of the source's values it is */
	char *why; /* why it is wrong, or doesn't count; NULL: it is well */
	bool is_wrong; /* who asks for it gets an error */
	bool is_loose; /* counts only once it is accepted */
};

/* What a repository brings, and which of it is accepted as it stands. */
struct brought {
	const char *name; /* in the record of what is accepted */
	char digest[2 * EWS_HASH_MAX + 1]; /* of what was read, and nothing else */
	bool is_accepted;
};

struct ews_config {
	char *project, *home, *file;
	struct ews_yaml yaml;
	struct ews_gitconfig git;
	struct given *items; /* from the weakest to the strongest */
	size_t n, cap;
	struct brought yaml_file, git_values;
	char *broken_yaml, *broken_git; /* why a source could not be read at all, or NULL */
};

static struct given *add(struct ews_config *config, const struct given *given)
{
	EWS_GROW(config->items, config->n, config->cap);
	config->items[config->n] = *given;
	return &config->items[config->n++];
}

static void spoil(struct given *given, bool is_wrong, const char *why)
{
	given->is_wrong = is_wrong;
	given->why = ews_strdup(why);
}

/* Is the value at `at` below a key that was named as unknown before it? */
static bool is_below_unknown(const struct ews_config *config, size_t at)
{
	const struct given *last = config->n ? &config->items[config->n - 1] : NULL;
	size_t len;

	if (!last || last->setting || last->is_wrong)
		return false;
	len = strlen(last->key);
	return !strncmp(config->yaml.items[at].key, last->key, len) &&
	       (!config->yaml.items[at].key[len] || config->yaml.items[at].key[len] == '.');
}

static bool is_given_before(const struct ews_config *config, const struct ews_setting *setting)
{
	for (size_t i = 0; i < config->n; i++)
		if (config->items[i].setting == setting)
			return true;
	return false;
}

/* A value of superqode.yaml as one that is given. */
static void take_yaml_value(struct ews_config *config, size_t at)
{
	const struct ews_yaml_value *value = &config->yaml.items[at];
	const struct ews_setting *setting = ews_setting_find(value->key);
	bool is_list = setting && setting->type == EWS_SETTING_LIST;
	struct given given = { .setting = setting,
			       .key = value->key,
			       .text = value->text,
			       .source = EWS_CONFIG_YAML,
			       .is_repositorys = true,
			       .at = at };

	if (is_below_unknown(config, at))
		return;
	if (!setting || !setting->yaml || strcmp(setting->yaml, value->key)) {
		if (ews_setting_is_section(value->key)) {
			if (value->kind == EWS_YAML_TEXT || value->kind == EWS_YAML_LIST)
				spoil(add(config, &given), true, "has settings below it, and no value");
			return;
		}
		given.setting = NULL;
		spoil(add(config, &given), false,
		      setting ? "is read from git's config alone" : "is no setting of git ews");
		return;
	}
	switch (value->kind) {
	case EWS_YAML_NULL:
		return;
	case EWS_YAML_SECTION:
		spoil(add(config, &given), true, "needs a value, not keys");
		return;
	case EWS_YAML_LIST:
		if (!is_list)
			spoil(add(config, &given), true, "needs one value, not a list");
		else if (is_given_before(config, setting))
			spoil(add(config, &given), true, "is there a second time");
		return;
	case EWS_YAML_LIST_WITHIN:
		if (is_list)
			spoil(add(config, &given), true, "has a list in it, where texts should be");
		return;
	case EWS_YAML_ITEM:
		if (is_list)
			(void)add(config, &given);
		return;
	case EWS_YAML_TEXT:
		if (is_given_before(config, setting))
			spoil(add(config, &given), true, "is there a second time");
		else
			(void)add(config, &given);
		return;
	}
}

static void digest_all(struct brought *out, const void *data, size_t len)
{
	uint8_t digest[EWS_HASH_MAX];

	ews_hash_once(EWS_SHA256, digest, data, len);
	ews_hex(out->digest, digest, 32);
}

static void take_yaml(struct ews_config *config)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, AT_FDCWD, config->file, EWS_YAML_BYTES_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return;
	}
	if (rc < 0)
		ews_error(EWS_ECONFIG, "%s:1: cannot be read: %s", config->file, ews_error_message());
	else
		rc = ews_yaml_parse(&config->yaml, config->file, text.ptr, text.len);
	if (rc < 0) {
		config->broken_yaml = ews_strdup(ews_error_message());
		ews_error_clear();
	}
	digest_all(&config->yaml_file, text.ptr, text.len);
	for (size_t i = 0; i < config->yaml.n; i++)
		take_yaml_value(config, i);
}

static void take_git(struct ews_config *config, const struct ews_gitconfig *list, enum ews_config_source source)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct ews_gitconfig_value *value = &list->items[i];
		const struct ews_setting *setting = ews_setting_find(value->key);
		struct given given = { .setting = setting,
				       .key = setting ? setting->git : value->key,
				       .text = value->text,
				       .source = source,
				       .is_repositorys = value->scope == EWS_GITCONFIG_REPOSITORY,
				       .at = i };

		/* What is git's own is for ews_config_user(). */
		if (!ews_str_begins(value->key, "ews."))
			continue;
		(void)add(config, &given);
		if (!setting)
			spoil(&config->items[config->n - 1], false, "is no setting of git ews");
	}
}

/*
 * What the repository's own config says of us, with the file that says it: its included files are in it, while what
 * git writes into the same file all the time, branches and remotes, takes nothing back.
 */
static void digest_git(struct ews_config *config)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < config->git.n; i++) {
		const struct ews_gitconfig_value *value = &config->git.items[i];

		if (value->scope != EWS_GITCONFIG_REPOSITORY)
			continue;
		ews_buf_addz(&text, value->key);
		ews_buf_addz(&text, value->text);
		ews_buf_adds(&text, value->file ? value->file : "");
		ews_buf_addc(&text, '\0');
	}
	digest_all(&config->git_values, text.ptr, text.len);
}

static void look_up(struct brought *brought, const struct ews_config *config)
{
	brought->is_accepted = ews_accepted_has(config->home, config->project, brought->name, brought->digest);
}

/* The directory that a place means. */
static char *find_dir(const struct ews_config *config, const char *text)
{
	const char *user = getenv("HOME"), *rest = ews_str_after(text, "~/");
	EWS_CLEANUP(free) char *path = NULL;

	if (rest && user && *user == '/')
		path = ews_path_absolute(user, rest);
	else
		path = ews_path_absolute(config->project, text);
	return ews_dir_resolve(path);
}

/*
 * Why can't a repository choose that place by itself? NULL: it can, in its own ".superqode" and in home, really there and not by a link
 * that leads on. What it has put among home's records would be taken for one, of whatever project.
 */
static const char *why_no_place(const struct ews_config *config, const char *text)
{
	EWS_CLEANUP(free) char *dir = find_dir(config, text);
	EWS_CLEANUP(free) char *project = ews_dir_resolve(config->project);
	EWS_CLEANUP(free) char *own = ews_path_join(project, EWS_OWN_DIR);
	EWS_CLEANUP(free) char *home = ews_dir_resolve(config->home);

	if (!strcmp(text, "home"))
		return NULL;
	if (ews_home_is_reserved(config->home, dir))
		return "doesn't count: home keeps its records there";
	if (ews_path_is_inside(dir, own) || ews_path_is_inside(dir, home))
		return NULL;
	return "doesn't count: a repository can't name a place outside of '.superqode' and home by itself; "
	       "'git ews config accept' lets it count";
}

/* What `setting` means by the default, as a value. */
static struct ews_setting_value default_of(const struct ews_setting *setting)
{
	struct ews_setting_value value;
	int rc = ews_setting_read(&value, setting, setting->dflt ? setting->dflt : "");

	assert(rc == 0);
	(void)rc;
	return value;
}

/* Why the value of a repository doesn't count above `below` unless it is accepted; NULL: it does. */
static const char *why_not(const struct ews_config *config, const struct given *given,
			   const struct ews_setting_value *value, const struct ews_setting_value *below)
{
	const struct ews_setting *setting = given->setting;

	if (ews_setting_laxity(setting, value) > ews_setting_laxity(setting, below))
		return "doesn't count: a repository can't loosen this by itself; 'git ews config accept' lets it count";
	return setting->type == EWS_SETTING_PLACE ? why_no_place(config, given->text) : NULL;
}

static bool is_accepted(const struct ews_config *config, const struct given *given)
{
	return given->source == EWS_CONFIG_YAML ? config->yaml_file.is_accepted : config->git_values.is_accepted;
}

/*
 * Read each value, from the weakest to the strongest, and say what is wrong with it. What is loose is so above all
 * that would hold if nothing were accepted, so that accepting a value doesn't change what is to be accepted.
 */
static void judge(struct ews_config *config, const struct ews_setting *setting)
{
	struct ews_setting_value holds = default_of(setting);

	for (size_t i = 0; i < config->n; i++) {
		struct given *given = &config->items[i];
		struct ews_setting_value value;
		const char *why;

		if (given->setting != setting || given->why)
			continue;
		if (ews_setting_read(&value, setting, given->text) < 0) {
			spoil(given, true, ews_error_message());
			ews_error_clear();
			continue;
		}
		if (given->is_repositorys && setting->is_users) {
			spoil(given, false, "counts in the user's and the system's config alone");
			continue;
		}
		why = given->is_repositorys ? why_not(config, given, &value, &holds) : NULL;
		given->is_loose = why;
		if (!why)
			holds = value;
		else if (!is_accepted(config, given))
			spoil(given, false, why);
	}
}

struct ews_config *ews_config_open(const struct ews_config_place *place)
{
	struct ews_config *config = ews_calloc(1, sizeof(*config));

	config->project = ews_strdup(place->project);
	config->home = ews_strdup(place->home);
	config->file = ews_path_join(place->project, EWS_CONFIG_FILE);
	config->yaml_file.name = "file";
	config->git_values.name = "git";
	if (strcmp(place->project, place->git_dir))
		take_yaml(config);
	if (ews_gitconfig_read(&config->git, place->git_dir) < 0) {
		config->broken_git = ews_strdup(ews_error_message());
		ews_error_clear();
	}
	digest_git(config);
	look_up(&config->yaml_file, config);
	look_up(&config->git_values, config);
	take_git(config, &config->git, EWS_CONFIG_GIT);
	take_git(config, ews_config_overrides(), EWS_CONFIG_COMMAND);
	for (size_t i = 0; i < ews_settings_n; i++)
		judge(config, &ews_settings[i]);
	return config;
}

void ews_config_free(struct ews_config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->n; i++)
		free(config->items[i].why);
	free(config->items);
	ews_yaml_release(&config->yaml);
	ews_gitconfig_release(&config->git);
	free(config->project);
	free(config->home);
	free(config->file);
	free(config->broken_yaml);
	free(config->broken_git);
	free(config);
}

static const char *file_of(const struct ews_config *config, const struct given *given)
{
	switch (given->source) {
	case EWS_CONFIG_YAML:
		return config->file;
	case EWS_CONFIG_GIT:
		return config->git.items[given->at].file;
	default:
		return NULL;
	}
}

static unsigned line_of(const struct ews_config *config, const struct given *given)
{
	if (given->source == EWS_CONFIG_YAML)
		return config->yaml.items[given->at].line;
	return given->source == EWS_CONFIG_GIT ? ews_gitconfig_line(&config->git, given->at) : 0;
}

/* "<file>:<line>: <key>: <why>" */
static char *describe(const struct ews_config *config, const struct given *given)
{
	const char *file = file_of(config, given);
	unsigned line = line_of(config, given);

	if (!file)
		return ews_strfmt("command line: %s: %s", given->key, given->why);
	if (!line)
		return ews_strfmt("%s: %s: %s", file, given->key, given->why);
	return ews_strfmt("%s:%u: %s: %s", file, line, given->key, given->why);
}

static int fail_given(const struct ews_config *config, const struct given *given)
{
	EWS_CLEANUP(free) char *text = describe(config, given);
	struct ews_setting_value value;

	/* Once more, for the advice that comes with it. */
	if (given->setting && ews_setting_read(&value, given->setting, given->text) < 0) {
		EWS_CLEANUP(free) char *hint = ews_strdup(ews_error_hint_text());

		ews_error(EWS_ECONFIG, "%s", text);
		ews_error_hint("%s", hint);
		return EWS_ECONFIG;
	}
	ews_error(EWS_ECONFIG, "%s", text);
	ews_error_hint("correct it there; 'git ews config --help' lists the settings");
	return EWS_ECONFIG;
}

static int fail_file(const char *sentence)
{
	ews_error(EWS_ECONFIG, "%s", sentence);
	ews_error_hint("correct the file, or move it away");
	return EWS_ECONFIG;
}

static int check_sources(const struct ews_config *config, const struct ews_setting *setting)
{
	if (config->broken_git)
		return fail_file(config->broken_git);
	return setting->yaml && config->broken_yaml ? fail_file(config->broken_yaml) : 0;
}

/* Does what is wrong here concern `setting`: itself, or a section that it lies in? */
static bool concerns(const struct given *given, const struct ews_setting *setting)
{
	size_t len = strlen(given->key);

	if (given->setting)
		return given->setting == setting;
	return given->is_wrong && setting->yaml && !strncmp(setting->yaml, given->key, len) &&
	       setting->yaml[len] == '.';
}

/* The strongest value of `setting`; NULL: the default holds. */
static const struct given *find_strongest(const struct ews_config *config, const struct ews_setting *setting)
{
	for (size_t i = config->n; i-- > 0;) {
		const struct given *given = &config->items[i];

		if (concerns(given, setting) && (given->is_wrong || !given->why))
			return given;
	}
	return NULL;
}

/*
 * Does what comes later take the place of a value of a list? What git's config names does so with what the file names, and an
 * empty value, as for git, takes back all before it.
 */
static bool is_replaced(const struct ews_config *config, const struct ews_setting *setting, size_t at)
{
	const struct given *given = &config->items[at];

	for (size_t i = at + 1; i < config->n; i++) {
		const struct given *later = &config->items[i];

		if (later->setting != setting || later->why)
			continue;
		if (!*later->text || (given->source == EWS_CONFIG_YAML && later->source != EWS_CONFIG_YAML))
			return true;
	}
	return false;
}

/* The first value of a list that is wrong, and would hold beside those that come later; NULL: there is none. */
static const struct given *find_wrong(const struct ews_config *config, const struct ews_setting *setting)
{
	for (size_t i = 0; i < config->n; i++) {
		const struct given *given = &config->items[i];

		if (given->is_wrong && concerns(given, setting) && !is_replaced(config, setting, i))
			return given;
	}
	return NULL;
}

/* What holds for `setting`, when that can be said. `out` is set to NULL for the default. */
static int find(const struct given **out, const struct ews_config *config, const struct ews_setting *setting)
{
	int rc = check_sources(config, setting);

	if (rc < 0)
		return rc;
	*out = setting->type == EWS_SETTING_LIST ? find_wrong(config, setting) : NULL;
	if (!*out)
		*out = find_strongest(config, setting);
	return *out && (*out)->is_wrong ? fail_given(config, *out) : 0;
}

static const struct ews_setting *need_setting(const char *name, enum ews_setting_type type)
{
	const struct ews_setting *setting = ews_setting_find(name);

	assert(setting && setting->type == type);
	(void)type;
	return setting;
}

static int read_value(struct ews_setting_value *out, const struct ews_config *config, const char *name,
		      enum ews_setting_type type)
{
	const struct ews_setting *setting = need_setting(name, type);
	const struct given *given;
	int rc = find(&given, config, setting);

	if (rc < 0)
		return rc;
	*out = default_of(setting);
	return given ? ews_setting_read(out, setting, given->text) : 0;
}

int ews_config_bool(bool *out, const struct ews_config *config, const char *name)
{
	struct ews_setting_value value;
	int rc = read_value(&value, config, name, EWS_SETTING_BOOL);

	if (rc == 0)
		*out = value.truth;
	return rc;
}

int ews_config_size(uint64_t *out_bytes, const struct ews_config *config, const char *name)
{
	struct ews_setting_value value;
	int rc = read_value(&value, config, name, EWS_SETTING_SIZE);

	if (rc == 0)
		*out_bytes = value.size_bytes;
	return rc;
}

int ews_config_age(int64_t *out_s, const struct ews_config *config, const char *name)
{
	struct ews_setting_value value;
	int rc = read_value(&value, config, name, EWS_SETTING_AGE);

	if (rc == 0)
		*out_s = value.age_s;
	return rc;
}

int ews_config_word(const char **out, const struct ews_config *config, const char *name)
{
	struct ews_setting_value value;
	int rc = read_value(&value, config, name, EWS_SETTING_WORD);

	if (rc == 0)
		*out = value.text;
	return rc;
}

int ews_config_command_line(const char **out, const struct ews_config *config, const char *name)
{
	struct ews_setting_value value;
	int rc = read_value(&value, config, name, EWS_SETTING_COMMAND);

	if (rc == 0)
		*out = value.text;
	return rc;
}

int ews_config_dir(char **out, const struct ews_config *config, const char *name)
{
	struct ews_setting_value value;
	int rc = read_value(&value, config, name, EWS_SETTING_PLACE);

	if (rc == 0)
		*out = strcmp(value.text, "home") ? find_dir(config, value.text) : NULL;
	return rc;
}

int ews_config_list(struct ews_strv *out, const struct ews_config *config, const char *name)
{
	const struct ews_setting *setting = need_setting(name, EWS_SETTING_LIST);
	struct ews_config_entry entry;
	const struct given *given;
	int rc = find(&given, config, setting);

	if (rc < 0)
		return rc;
	for (size_t i = 0; ews_config_look(&entry, config, setting, i); i++)
		ews_strv_add(out, entry.text);
	return 0;
}

int ews_config_check(const struct ews_config *config)
{
	int rc = 0;

	for (size_t i = 0; i < ews_settings_n && rc == 0; i++)
		rc = ews_config_check_one(config, &ews_settings[i]);
	return rc;
}

int ews_config_check_one(const struct ews_config *config, const struct ews_setting *setting)
{
	const struct given *given;

	return find(&given, config, setting);
}

void ews_config_warnings(struct ews_strv *out, const struct ews_config *config)
{
	if (config->broken_yaml)
		ews_strv_add(out, config->broken_yaml);
	if (config->broken_git)
		ews_strv_add(out, config->broken_git);
	for (size_t i = 0; i < config->n; i++) {
		EWS_CLEANUP(free) char *text = config->items[i].why ? describe(config, &config->items[i]) : NULL;

		if (text)
			ews_strv_add(out, text);
	}
}

static bool is_in_list(const struct ews_config *config, size_t at)
{
	const struct given *given = &config->items[at];

	return !given->why && *given->text && !is_replaced(config, given->setting, at);
}

static void show(struct ews_config_entry *out, const struct ews_config *config, const struct given *given)
{
	out->text = given->text;
	out->source = given->source;
	out->file = file_of(config, given);
	out->line = line_of(config, given);
}

bool ews_config_look(struct ews_config_entry *out, const struct ews_config *config,
		     const struct ews_setting *setting, size_t nth)
{
	const struct given *given;

	*out = (struct ews_config_entry){ .setting = setting, .text = setting->dflt, .source = EWS_CONFIG_DEFAULT };
	if (setting->type != EWS_SETTING_LIST) {
		given = find_strongest(config, setting);
		if (given)
			show(out, config, given);
		return nth == 0;
	}
	for (size_t i = 0; i < config->n; i++) {
		if (config->items[i].setting != setting || !is_in_list(config, i) || nth--)
			continue;
		show(out, config, &config->items[i]);
		return true;
	}
	return false;
}

bool ews_config_look_loose(struct ews_config_entry *out, bool *out_accepted, const struct ews_config *config,
			   size_t nth)
{
	for (size_t i = 0; i < config->n; i++) {
		const struct given *given = &config->items[i];

		if (!given->is_loose || nth--)
			continue;
		*out = (struct ews_config_entry){ .setting = given->setting };
		show(out, config, given);
		*out_accepted = is_accepted(config, given);
		return true;
	}
	return false;
}

static bool brings_loose(const struct ews_config *config, enum ews_config_source source)
{
	for (size_t i = 0; i < config->n; i++)
		if (config->items[i].is_loose && config->items[i].source == source)
			return true;
	return false;
}

int ews_config_accept(const struct ews_config *config)
{
	EWS_CLEANUP(strv) struct ews_strv sources = EWS_STRV_INIT;

	if (brings_loose(config, EWS_CONFIG_YAML))
		ews_strv_addf(&sources, "%s %s", config->yaml_file.name, config->yaml_file.digest);
	if (brings_loose(config, EWS_CONFIG_GIT))
		ews_strv_addf(&sources, "%s %s", config->git_values.name, config->git_values.digest);
	return sources.n ? ews_accepted_write(config->home, config->project, &sources) : 0;
}

int ews_config_revoke(const struct ews_config *config)
{
	return ews_accepted_remove(config->home, config->project);
}

int ews_config_git_bool(bool *out, struct ews_odb *odb, const char *key, bool otherwise)
{
	EWS_CLEANUP(free) char *text = NULL;
	int rc = ews_odb_config_if_set(&text, odb, key);

	*out = otherwise;
	if (rc == 0 && text)
		rc = ews_setting_read_bool(out, text);
	return rc < 0 ? ews_error_wrap("git's config: %s", key) : 0;
}
