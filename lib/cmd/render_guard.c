/*
 * The guard's words: see render_guard.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_guard.h"

#include <string.h>

#include "cmd/render_path.h"
#include "work/guard_option.h"

/* The command is an agent's, and so may be what a sentence quotes of it. */
void ews_render_verdict(struct ews_buf *out, const struct ews_guard_verdict *verdict)
{
	ews_buf_addf(out, "%s: %s", verdict->is_blocked ? "blocked" : "allowed", verdict->subcommand ? "git " : "");
	ews_render_words(out, verdict->subcommand ? verdict->subcommand : verdict->command);
	ews_buf_adds(out, " (");
	ews_render_words(out, verdict->is_blocked   ? verdict->reason
			      : verdict->subcommand ? ews_guard_op_word(verdict->operation)
						    : "no command of git's");
	ews_buf_adds(out, ")\n");
	if (!verdict->suggestion)
		return;
	ews_buf_adds(out, "use: ");
	ews_render_words(out, verdict->suggestion);
	ews_buf_addc(out, '\n');
}

static void add_text(cJSON *object, const char *key, const char *text)
{
	cJSON_AddItemToObject(object, key, text ? ews_json_path(text) : cJSON_CreateNull());
}

void ews_render_verdict_json(cJSON *object, const struct ews_guard_verdict *verdict)
{
	add_text(object, "command", verdict->command);
	add_text(object, "subcommand", verdict->subcommand);
	add_text(object, "operation_type", ews_guard_op_word(verdict->operation));
	(void)cJSON_AddBoolToObject(object, "is_blocked", verdict->is_blocked);
	add_text(object, "reason", verdict->reason);
	add_text(object, "suggestion", verdict->suggestion);
	add_text(object, "policy", verdict->policy);
}

/* Add `lead` and the options of `row` that have that mark, each by its last name, which is the longest. */
static void add_marked(struct ews_buf *out, const struct ews_guard_row *row, char mark, const char *lead)
{
	struct ews_guard_option option;
	const char *at = row->options ? row->options : "", *name, *last = NULL;
	size_t len = 0, last_len = 0;
	bool has_lead = false;

	while ((at = ews_guard_option_next(&option, at))) {
		if (option.mark != mark || (mark == '#' && option.check)) /* the value may do no harm */
			continue;
		for (name = ews_guard_option_name(&option, NULL, &len); name;
		     name = ews_guard_option_name(&option, name, &len)) {
			last = name;
			last_len = len;
		}
		if (!has_lead)
			ews_buf_addf(out, "%s%s", out->len ? "; " : "", lead);
		has_lead = true;
		ews_buf_addf(out, " %s%.*s", last_len > 1 ? "--" : "-", (int)last_len, last);
	}
}

static void add_conditions(struct ews_buf *out, const struct ews_guard_rules *rules, const struct ews_guard_row *row)
{
	if (ews_guard_row_is_free(rules, row)) {
		add_marked(out, row, '^', "never writing with");
		add_marked(out, row, '#', "never with");
		return;
	}
	add_marked(out, row, '@', "only with");
	add_marked(out, row, '!', "never with");
	if (row->words == EWS_GUARD_ANY || row->words == EWS_GUARD_NEEDS_VERB)
		return;
	if (row->words == 0)
		ews_buf_addf(out, "%sno further word", out->len ? "; " : "");
	else
		ews_buf_addf(out, "%sat most %d word", out->len ? "; " : "", row->words);
	add_marked(out, row, '+', "but with");
}

static bool is_listed(const struct ews_guard_rules *rules, const struct ews_guard_row *row)
{
	if (!rules->enabled || ews_guard_row_is_free(rules, row))
		return true;
	if (((row->flags & EWS_GUARD_STATUS) && !rules->allow_status) ||
	    ((row->flags & EWS_GUARD_DIFF) && !rules->allow_diff))
		return false;
	return row->options && row->words != EWS_GUARD_NEEDS_VERB;
}

void ews_render_guard_list(struct ews_buf *out, const struct ews_guard_rules *rules)
{
	for (const struct ews_guard_row *row = ews_guard_rows; row->name; row++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		if (!is_listed(rules, row))
			continue;
		if (rules->enabled)
			add_conditions(&text, rules, row);
		ews_buf_addf(out, "git %s%s%s\n", row->name, text.len ? "\t" : "", text.ptr);
	}
}

void ews_render_guard_list_json(cJSON *object, const struct ews_guard_rules *rules)
{
	cJSON *array;

	(void)cJSON_AddStringToObject(object, "policy", ews_guard_policy_word(rules->policy));
	(void)cJSON_AddBoolToObject(object, "enabled", rules->enabled);
	array = cJSON_AddArrayToObject(object, "commands");
	for (const struct ews_guard_row *row = ews_guard_rows; row->name; row++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		cJSON *item;

		if (!is_listed(rules, row))
			continue;
		if (rules->enabled)
			add_conditions(&text, rules, row);
		item = cJSON_CreateObject();
		(void)cJSON_AddStringToObject(item, "subcommand", row->name);
		add_text(item, "conditions", text.len ? text.ptr : NULL);
		cJSON_AddItemToArray(array, item);
	}
}
