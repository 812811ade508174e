/*
 * Settings: which there are, and what each may be.
 *
 * A setting has a name in superqode.yaml ("qe.git_guard.block_commit"), one in git's config, whose
 * keys hold no underscore ("ews.gitGuard.blockCommit"), or the latter alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_SETTING_H
#define EWS_STORE_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ews_setting_type {
	EWS_SETTING_BOOL = 1, /* as git spells it: true, yes, on, 1; false, no, off, 0, nothing */
	EWS_SETTING_SIZE, /* bytes, with git's units k, m and g */
	EWS_SETTING_AGE, /* "7 days", "2.weeks", "now", "never" */
	EWS_SETTING_WORD, /* one of some words */
	EWS_SETTING_PLACE, /* a directory: absolute, below "~/", or seen from the project */
	EWS_SETTING_LIST, /* any number of texts */
	EWS_SETTING_COMMAND, /* a text for a shell; nothing: none */
};

struct ews_setting_word {
	const char *word;
	const char *means; /* the word that the program knows it by */
	unsigned laxity; /* how much it lets through: a repository may go down by itself, not up */
};

struct ews_setting {
	const char *yaml; /* NULL: it is read from git's config alone */
	const char *git;
	enum ews_setting_type type;
	const char *dflt; /* as text; of a list NULL: nothing */
	const struct ews_setting_word *words; /* ended by { NULL, NULL, 0 }; of a list: what may stand behind an arrow */
	const char *loose; /* of a bool what a repository may not choose by itself; NULL: it may choose either */
	bool is_users; /* nothing that a repository says of it counts */
	const char *help; /* what it says, for people */
	const char *example; /* of a list: what may stand in one */
};

extern const struct ews_setting ews_settings[];
extern const size_t ews_settings_n;

/* The setting of that name, in either spelling; NULL when there is none. */
const struct ews_setting *ews_setting_find(const char *name);
/* Is `name` where settings of superqode.yaml have their common beginning, as "qe.workspace" is? */
bool ews_setting_is_section(const char *name);
/* What it is called where only one name is said. */
const char *ews_setting_name(const struct ews_setting *setting);
const char *ews_setting_type_word(enum ews_setting_type type);

/* An age that never comes. */
#define EWS_AGE_NEVER INT64_MAX

struct ews_setting_value {
	bool truth;
	uint64_t size_bytes;
	int64_t age_s;
	const char *text; /* of a word what it means, else the text as it stands; borrowed */
};

/* Make sense of `text`. Fails with EWS_ECONFIG; the sentence says why, not where. */
int ews_setting_read(struct ews_setting_value *out, const struct ews_setting *setting, const char *text);

/*
 * Take a text of a list apart whose setting has words, "<pattern> -> <word>": the pattern has `*out_len` bytes; the word behind
 * the arrow, a part of `text`, is NULL where there is no arrow.
 */
void ews_setting_split(size_t *out_len, const char **out_word, const char *text);

/* How much `value` lets through: less is stricter, and 0 is what anybody may choose. */
unsigned ews_setting_laxity(const struct ews_setting *setting, const struct ews_setting_value *value);

/* git's spelling of a truth. Fails with EWS_ECONFIG. */
int ews_setting_read_bool(bool *out, const char *text);

#endif
