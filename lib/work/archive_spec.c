/*
 * Archive specs: see archive_spec.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_spec.h"

#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "store/yaml.h"

#define EXAMPLE "'git ews archive --help' has a spec as an example"

struct reading {
	struct ews_archive_spec *out;
	const char *file, *dir;
	const struct ews_yaml_value *value;
};

static int fail(const struct reading *reading, const char *why)
{
	return ews_error(EWS_ECONFIG, "%s:%u: %s: %s", reading->file, reading->value->line, reading->value->key, why);
}

static bool is_item(const struct reading *reading)
{
	return reading->value->kind == EWS_YAML_ITEM || reading->value->kind == EWS_YAML_TEXT;
}

/* A list, or one text that stands for a list of it alone. */
static int take_list(const struct reading *reading, struct ews_strv *list)
{
	if (reading->value->kind == EWS_YAML_SECTION)
		return fail(reading, "wants a list");
	if (is_item(reading))
		ews_strv_add(list, reading->value->text);
	return 0;
}

static int take_env(const struct reading *reading)
{
	if (is_item(reading) && !ews_archive_is_env(reading->value->text))
		return fail(reading, "wants names of variables");
	return take_list(reading, &reading->out->env);
}

static bool climbs(const char *path)
{
	for (; *path; path += strcspn(path, "/"), path += strspn(path, "/"))
		if (ews_str_begins(path, "..") && (!path[2] || path[2] == '/'))
			return true;
	return false;
}

/* A path below the directory, in whatever way it is spelled; no rule can say a newline. */
static int take_asset(const struct reading *reading)
{
	EWS_CLEANUP(free) char *full = NULL;

	if (!is_item(reading))
		return 0;
	full = ews_path_absolute("/", reading->value->text);
	if (*reading->value->text == '/' || climbs(reading->value->text) || !full[1] || strchr(full, '\n'))
		return fail(reading, "wants paths below the directory");
	ews_strv_add(&reading->out->rules.assets, full + 1);
	return 0;
}

static int take_compression(const struct reading *reading)
{
	if (reading->value->kind != EWS_YAML_TEXT ||
	    ews_compression_read(&reading->out->compression, reading->value->text) < 0)
		return fail(reading, "is gz, bz2, xz, zstd or none");
	reading->out->has_compression = true;
	return 0;
}

/* A spec may come with a repository: where else is written is for a command line to say. */
static int take_location(const struct reading *reading)
{
	const char *text = reading->value->text;

	if (reading->value->kind != EWS_YAML_TEXT || !*text)
		return fail(reading, "wants a directory");
	if (*text == '/' || climbs(text))
		return fail(reading, "wants a directory below the file's; any other is for --to");
	free(reading->out->location);
	reading->out->location = ews_path_absolute(reading->dir, text);
	return 0;
}

static int take_defaults(const struct reading *reading)
{
	bool truth;

	if (reading->value->kind != EWS_YAML_TEXT || ews_setting_read_bool(&truth, reading->value->text) < 0)
		return fail(reading, "is true or false");
	reading->out->rules.no_defaults = !truth;
	reading->out->has_defaults = true;
	return 0;
}

static bool is_asset(const char *key)
{
	static const char name[] = "static_assets";
	size_t len = strlen(name);

	return !strncmp(key, name, len) && (!key[len] || key[len] == '.');
}

static int take(const struct reading *reading)
{
	const char *key = reading->value->key;

	if (!strcmp(key, "keep"))
		return take_list(reading, &reading->out->rules.keep);
	if (!strcmp(key, "ignore"))
		return take_list(reading, &reading->out->rules.ignore);
	if (!strcmp(key, "env"))
		return take_env(reading);
	if (is_asset(key))
		return take_asset(reading);
	if (!strcmp(key, "compress"))
		return take_compression(reading);
	if (!strcmp(key, "location"))
		return take_location(reading);
	if (!strcmp(key, "default_ignores"))
		return take_defaults(reading);
	if (reading->value->kind != EWS_YAML_ITEM)
		ews_strv_addf(&reading->out->warnings, "%s:%u: %s: nobody knows this key", reading->file,
			      reading->value->line, key);
	return 0;
}

int ews_archive_spec_parse(struct ews_archive_spec *out, const char *file, const char *dir, const char *text,
			   size_t len)
{
	EWS_CLEANUP(archive_spec) struct ews_archive_spec spec = EWS_ARCHIVE_SPEC_INIT;
	EWS_CLEANUP(yaml) struct ews_yaml yaml = EWS_YAML_INIT;
	struct reading reading = { .out = &spec, .file = file, .dir = dir };
	int rc = ews_yaml_parse(&yaml, file, text, len);

	for (size_t i = 0; i < yaml.n && rc == 0; i++) {
		reading.value = &yaml.items[i];
		rc = take(&reading);
	}
	if (rc < 0) {
		ews_error_hint(EXAMPLE);
		return rc;
	}
	*out = spec;
	spec = (struct ews_archive_spec)EWS_ARCHIVE_SPEC_INIT;
	return 0;
}

int ews_archive_spec_read(struct ews_archive_spec *out, const char *cwd, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *full = ews_path_absolute(cwd, path);
	EWS_CLEANUP(free) char *dir = ews_path_dir(full);
	EWS_CLEANUP(fd) int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY); /* also a pipe, as of <(...) */
	int rc;

	if (fd < 0)
		return ews_error_os("cannot open '%s'", path);
	rc = ews_file_read_fd(&text, fd, EWS_YAML_BYTES_MAX);
	if (rc == EWS_EDAMAGED) {
		ews_error(EWS_ECONFIG, "%s:1: is longer than any spec", path);
		ews_error_hint(EXAMPLE);
		return EWS_ECONFIG;
	}
	return rc < 0 ? ews_error_wrap("'%s'", path) : ews_archive_spec_parse(out, path, dir, text.ptr, text.len);
}

void ews_archive_spec_release(struct ews_archive_spec *spec)
{
	ews_archive_rules_release(&spec->rules);
	ews_strv_release(&spec->env);
	free(spec->location);
	ews_strv_release(&spec->warnings);
	*spec = (struct ews_archive_spec)EWS_ARCHIVE_SPEC_INIT;
}
