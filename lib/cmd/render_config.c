/*
 * Settings: see render_config.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_config.h"

#include <string.h>

#include "base/error.h"
#include "base/path.h"

static const char *source_word(enum ews_config_source source)
{
	static const char *const words[] = {
		[EWS_CONFIG_DEFAULT] = "default",
		[EWS_CONFIG_YAML] = "file",
		[EWS_CONFIG_GIT] = "git",
		[EWS_CONFIG_COMMAND] = "command line",
		[EWS_CONFIG_ENVIRONMENT] = "environment",
	};

	return words[source];
}

void ews_render_origin(struct ews_buf *out, const struct ews_config_entry *entry, bool nul)
{
	if (!entry->file)
		ews_buf_adds(out, source_word(entry->source));
	else if (nul)
		ews_buf_adds(out, entry->file);
	else
		ews_path_quote(out, entry->file);
	if (entry->file && entry->line)
		ews_buf_addf(out, ":%u", entry->line);
}

/* The value as what it is; text that makes no sense stays text. */
static cJSON *value_node(const struct ews_setting *setting, const char *text)
{
	struct ews_setting_value value;

	if (!text)
		return cJSON_CreateArray();
	if (ews_setting_read(&value, setting, text) < 0) {
		ews_error_clear();
		return ews_json_path(text);
	}
	switch (setting->type) {
	case EWS_SETTING_BOOL:
		return cJSON_CreateBool(value.truth);
	case EWS_SETTING_SIZE:
		return cJSON_CreateNumber((double)value.size_bytes);
	case EWS_SETTING_AGE:
		return value.age_s == EWS_AGE_NEVER ? cJSON_CreateNull()
						    : cJSON_CreateNumber((double)value.age_s * 1000);
	default:
		return ews_json_path(value.text);
	}
}

static cJSON *origin_node(const struct ews_config_entry *entry)
{
	cJSON *object = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(object, "source", source_word(entry->source));
	if (!entry->file)
		return object;
	ews_json_add_path(object, "file", entry->file);
	if (entry->line)
		ews_json_add_int(object, "line", entry->line);
	return object;
}

void ews_render_setting(cJSON *object, const struct ews_setting *setting, const struct ews_config_entry *entries,
			size_t n)
{
	cJSON *values = setting->type == EWS_SETTING_LIST ? cJSON_CreateArray() : NULL;
	cJSON *origins = cJSON_CreateArray();
	size_t i;

	(void)cJSON_AddStringToObject(object, "key", ews_setting_name(setting));
	(void)cJSON_AddStringToObject(object, "git_key", setting->git);
	(void)cJSON_AddStringToObject(object, "type", ews_setting_type_word(setting->type));
	for (i = 0; i < n; i++) {
		if (values)
			cJSON_AddItemToArray(values, ews_json_path(entries[i].text));
		cJSON_AddItemToArray(origins, origin_node(&entries[i]));
	}
	cJSON_AddItemToObject(object, "value", values ? values : value_node(setting, entries[0].text));
	cJSON_AddItemToObject(object, "default", value_node(setting, setting->dflt));
	cJSON_AddItemToObject(object, "origin", origins);
}

/* Open the sections of `name` that `open` has not: each a line, two blanks deeper than the one above it. */
static size_t open_sections(struct ews_buf *out, const char *name, const char *open)
{
	size_t depth = 0;
	const char *at = name, *dot;

	for (; (dot = strchr(at, '.')); at = dot + 1, depth++)
		if (strncmp(name, open, (size_t)(dot + 1 - name)) != 0)
			ews_buf_addf(out, "%*s%.*s:\n", (int)(2 * depth), "", (int)(dot - at), at);
	return depth;
}

void ews_render_config_file(struct ews_buf *out)
{
	const char *open = "";
	size_t i;

	ews_buf_adds(out, "# Settings of git ews for this project; 'git ews config --help' tells more of each.\n"
			  "# A line counts once its '#' is taken away. git's own config is stronger: what is\n"
			  "# qe.git_guard.block_commit here is ews.gitGuard.blockCommit there.\n"
			  "# 'git ews config list --show-origin' says what holds, and why.\n\n");
	for (i = 0; i < ews_settings_n; i++) {
		const struct ews_setting *setting = &ews_settings[i];
		const char *key;
		size_t depth;

		if (!setting->yaml)
			continue;
		key = strrchr(setting->yaml, '.') + 1;
		depth = open_sections(out, setting->yaml, open);
		open = setting->yaml;
		ews_buf_addf(out, "%*s# %s\n", (int)(2 * depth), "", setting->help);
		if (setting->type == EWS_SETTING_LIST)
			ews_buf_addf(out, "%*s#%s:\n%*s#  - \"%s\"\n", (int)(2 * depth), "", key, (int)(2 * depth),
				     "", setting->example);
		else
			ews_buf_addf(out, "%*s#%s: %s\n", (int)(2 * depth), "", key, setting->dflt);
	}
}
