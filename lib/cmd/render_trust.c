/*
 * What a workspace can reach: see render_trust.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_trust.h"

#include "base/path.h"
#include "base/sandbox.h"
#include "cmd/pager.h"
#include "cmd/render_path.h"
#include "cmd/render_session.h"

#include <string.h>

#define GREEN "32"
#define YELLOW "33"
#define LABEL_WIDTH 10

static const char *kind_word(enum ews_trust_program_kind kind)
{
	static const char *const words[] = {
		[EWS_TRUST_HOOK] = "hook", [EWS_TRUST_SETTING] = "setting", [EWS_TRUST_INCLUDE] = "include"
	};

	return words[kind];
}

static const char *scope_word(enum ews_gitconfig_scope scope)
{
	switch (scope) {
	case EWS_GITCONFIG_SYSTEM:
		return "system";
	case EWS_GITCONFIG_USER:
		return "user";
	case EWS_GITCONFIG_COMMAND:
		return "command";
	default:
		return "repository";
	}
}

/* ---- text ---- */

/* Begin a line; the label stands on the first of several. */
static void add_label(struct ews_buf *out, const char *label, bool is_first)
{
	size_t len = is_first ? strlen(label) : 0;

	ews_buf_add(out, label, len);
	for (; len < LABEL_WIDTH; len++)
		ews_buf_addc(out, ' ');
}

static void add_line(struct ews_buf *out, const char *label, bool is_first, const char *before, const char *path)
{
	add_label(out, label, is_first);
	ews_buf_adds(out, before);
	ews_path_quote(out, path);
	ews_buf_addc(out, '\n');
}

static void add_lines(struct ews_buf *out, const char *label, const struct ews_strv *lines, const char *none)
{
	for (size_t i = 0; i < lines->n; i++)
		add_line(out, label, i == 0, "", lines->items[i]);
	if (!lines->n) {
		add_label(out, label, true);
		ews_buf_addf(out, "%s\n", none);
	}
}

static void add_secrets(struct ews_buf *out, const struct ews_trust_secrets *secrets)
{
	const struct {
		const char *before;
		const struct ews_strv *names;
	} kinds[] = {
		{ "", &secrets->files },
		{ "variable ", &secrets->variables },
		{ "socket ", &secrets->sockets },
		{ "setting ", &secrets->settings },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (size_t k = 0; k < kinds[i].names->n; k++)
			add_line(out, "Secrets", n++ == 0, kinds[i].before, kinds[i].names->items[k]);
	if (!n)
		add_line(out, "Secrets", true, "", "none in the usual places");
}

static void add_programs(struct ews_buf *out, const struct ews_trust_programs *programs)
{
	for (size_t i = 0; i < programs->n; i++) {
		const struct ews_trust_program *program = &programs->items[i];

		add_label(out, "Programs", i == 0);
		ews_buf_addf(out, "%s ", kind_word(program->kind));
		ews_path_quote(out, program->name);
		if (program->path) {
			ews_buf_adds(out, "  ");
			ews_path_quote(out, program->path);
		}
		if (program->line)
			ews_buf_addf(out, ":%u", program->line);
		ews_buf_addc(out, '\n');
	}
	if (!programs->n)
		add_line(out, "Programs", true, "", "no hook, and no setting that names one");
}

void ews_render_trust(struct ews_buf *out, const struct ews_trust *trust, bool color)
{
	add_label(out, "Session", true);
	ews_buf_addf(out, "%s, %s\n", trust->session ? trust->session : "a new one", trust->method->name);
	add_label(out, "Guard", true);
	ews_buf_addf(out, "%s, %s, ", trust->level, trust->policy);
	ews_pager_paint(out, color, trust->is_enforced ? GREEN : YELLOW,
			trust->is_enforced ? "enforced by the kernel" : "advisory");
	ews_buf_addf(out, "%s%s\n", trust->why ? ": " : "", trust->why ? trust->why : "");
	add_lines(out, "Writable", &trust->writable, "");
	add_label(out, "Network", true);
	ews_buf_adds(out, "open; 'git ews run --no-network' closes it\n");
	add_lines(out, "Open", &trust->open, "");
	add_secrets(out, &trust->secrets);
	add_programs(out, &trust->programs);
	add_lines(out, "Exposes", &trust->exposes, "nothing of the project");
	if (trust->borrows.n)
		add_lines(out, "Borrows", &trust->borrows, "");
}

/* ---- JSON ---- */

static void add_names(cJSON *array, const char *kind, const char *key, const struct ews_strv *names)
{
	for (size_t i = 0; i < names->n; i++) {
		cJSON *item = cJSON_CreateObject();

		(void)cJSON_AddStringToObject(item, "kind", kind);
		ews_json_add_path(item, key, names->items[i]);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_guard(cJSON *object, const struct ews_trust *trust)
{
	cJSON *guard = cJSON_AddObjectToObject(object, "guard");

	(void)cJSON_AddStringToObject(guard, "level", trust->level);
	(void)cJSON_AddStringToObject(guard, "policy", trust->policy);
	(void)cJSON_AddBoolToObject(guard, "enforced", trust->is_enforced);
	(void)cJSON_AddBoolToObject(guard, "offline", false);
	ews_render_string(guard, "why", trust->why);
}

static void add_program_items(cJSON *object, const struct ews_trust_programs *programs)
{
	cJSON *array = cJSON_AddArrayToObject(object, "programs");

	for (size_t i = 0; i < programs->n; i++) {
		const struct ews_trust_program *program = &programs->items[i];
		cJSON *item = cJSON_CreateObject();

		(void)cJSON_AddStringToObject(item, "kind", kind_word(program->kind));
		ews_json_add_path(item, "name", program->name);
		if (program->kind != EWS_TRUST_HOOK)
			(void)cJSON_AddStringToObject(item, "scope", scope_word(program->scope));
		if (program->path)
			ews_json_add_path(item, "path", program->path);
		if (program->line)
			ews_json_add_int(item, "line", program->line);
		cJSON_AddItemToArray(array, item);
	}
}

void ews_render_trust_json(cJSON *object, const struct ews_trust *trust)
{
	cJSON *secrets, *devices, *network;

	ews_render_string(object, "session_id", trust->session);
	ews_json_add_path(object, "path", trust->workspace);
	(void)cJSON_AddStringToObject(object, "method", ews_render_method(trust->method->name));
	add_guard(object, trust);
	ews_render_paths(object, "writable", &trust->writable);
	devices = cJSON_AddArrayToObject(object, "devices");
	for (const char *const *device = ews_sandbox_devices; *device; device++)
		cJSON_AddItemToArray(devices, cJSON_CreateString(*device));
	network = cJSON_AddObjectToObject(object, "network");
	(void)cJSON_AddBoolToObject(network, "is_open", true);
	(void)cJSON_AddStringToObject(network, "closed_by", "--no-network");
	ews_render_sentences(object, "open", &trust->open);
	secrets = cJSON_AddArrayToObject(object, "secrets");
	add_names(secrets, "file", "path", &trust->secrets.files);
	add_names(secrets, "variable", "name", &trust->secrets.variables);
	add_names(secrets, "socket", "path", &trust->secrets.sockets);
	add_names(secrets, "setting", "name", &trust->secrets.settings);
	add_program_items(object, &trust->programs);
	ews_render_paths(object, "exposes", &trust->exposes);
	ews_render_paths(object, "borrows", &trust->borrows);
}
