/*
 * What holds in a session: see guard_env.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_env.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define LEVEL "EWS_GUARD_LEVEL"
#define POLICY "EWS_GUARD_POLICY"
#define RULES "EWS_GUARD_RULES" /* words, for what is not as it is by default */

/* The member of `rules` that `at` stands for, and the word that turns it round. */
static bool *member(struct ews_guard_rules *rules, size_t at, const char **word)
{
	static const char *const words[] = { "off", "no-status", "no-diff", "commit", "push" };
	bool *const members[] = { &rules->enabled, &rules->allow_status, &rules->allow_diff, &rules->block_commit,
				  &rules->block_push };

	if (at >= sizeof(words) / sizeof(*words))
		return NULL;
	*word = words[at];
	return members[at];
}

void ews_guard_env_add(struct ews_strv *env, const char *level, const struct ews_guard_rules *rules)
{
	EWS_CLEANUP(buf) struct ews_buf turned = EWS_BUF_INIT;
	struct ews_guard_rules given = *rules;
	const char *word;
	bool *value;

	for (size_t i = 0; (value = member(&given, i, &word)); i++)
		if (!*value)
			ews_buf_addf(&turned, "%s%s", turned.len ? " " : "", word);
	ews_strv_addf(env, LEVEL "=%s", level);
	ews_strv_addf(env, POLICY "=%s", ews_guard_policy_word(rules->policy));
	ews_strv_addf(env, RULES "=%s", turned.ptr);
}

/* Is `word` among the words of `text`? */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word), n;

	for (; *text; text += n) {
		text += strspn(text, " ");
		n = strcspn(text, " ");
		if (n == len && !strncmp(text, word, len))
			return true;
	}
	return false;
}

void ews_guard_env_read(struct ews_guard_rules *out)
{
	const char *level = getenv(LEVEL), *policy = getenv(POLICY), *turned = getenv(RULES);
	const char *word;
	bool *value;

	*out = (struct ews_guard_rules)EWS_GUARD_RULES_INIT;
	for (size_t i = 0; turned && (value = member(out, i, &word)); i++)
		if (has_word(turned, word))
			*value = false;
	if (level && !strcmp(level, "off"))
		out->enabled = false;
	if (policy && !strcmp(policy, ews_guard_policy_word(EWS_GUARD_INSIDE)))
		out->policy = EWS_GUARD_INSIDE;
}
