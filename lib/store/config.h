/*
 * Config: which settings hold, and where each value comes from.
 *
 * From the weakest to the strongest: the default, superqode.yaml at the project's root, git's config (system,
 * user, repository), and `git -c`. Options of a verb are the verb's own matter, and stronger still.
 *
 * What a repository brings, its superqode.yaml and its own config, may make things stricter but not looser:
 * a value that would let git commands through, work in the project itself, or name a place outside
 * of ".superqode" and home doesn't count until the user accepts it, and a warning names it. What was accepted is what
 * was read then, word for word (store/accepted).
 *
 * Reading never fails. What is wrong is an error for whoever asks for that setting, and a warning for all others,
 * so that a slip of the pen can't keep anybody from `revert`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_CONFIG_H
#define EWS_STORE_CONFIG_H

#include "base/strv.h"
#include "store/odb.h"
#include "store/setting.h"

#define EWS_CONFIG_FILE "superqode.yaml"

struct ews_config;

/* Where to look; what the strings point to is copied. */
struct ews_config_place {
	const char *project; /* its root; of a bare repository its git directory, which has no file of ours */
	const char *git_dir;
	const char *home;
};

/* Read all sources once. Never fails: what can't be read, or makes no sense, is an error of whoever asks for it. */
struct ews_config *ews_config_open(const struct ews_config_place *place);
void ews_config_free(struct ews_config *config);

/*
 * The value that holds, by either name of the setting, which must be of that type. Each fails with
 * EWS_ECONFIG and "<file>:<line>: <key>: <why>".
 */
int ews_config_bool(bool *out, const struct ews_config *config, const char *name);
int ews_config_size(uint64_t *out_bytes, const struct ews_config *config, const char *name);
/* EWS_AGE_NEVER: never. */
int ews_config_age(int64_t *out_s, const struct ews_config *config, const char *name);
/* One of the words of the setting; lives as long as the program. */
int ews_config_word(const char **out, const struct ews_config *config, const char *name);
/* An absolute path, links resolved as far as it exists; NULL is home. The caller frees it. */
int ews_config_dir(char **out, const struct ews_config *config, const char *name);
/* A text for a shell, "" where there is none; borrowed. */
int ews_config_command_line(const char **out, const struct ews_config *config, const char *name);
int ews_config_list(struct ews_strv *out, const struct ews_config *config, const char *name);

/* Fails as the functions above when there is any setting for which they would. */
int ews_config_check(const struct ews_config *config);

/* Fails as they would for that one. */
int ews_config_check_one(const struct ews_config *config, const struct ews_setting *setting);

/* What is wrong or doesn't count, as "<file>:<line>: <key>: <why>". */
void ews_config_warnings(struct ews_strv *out, const struct ews_config *config);

enum ews_config_source {
	EWS_CONFIG_DEFAULT = 1,
	EWS_CONFIG_YAML,
	EWS_CONFIG_GIT,
	EWS_CONFIG_COMMAND,
	EWS_CONFIG_ENVIRONMENT, /* SUPERQODE_HOME; nothing here says so */
};

/* A value that holds, as it was written. A setting has one, a list any number. */
struct ews_config_entry {
	const struct ews_setting *setting;
	const char *text; /* borrowed */
	enum ews_config_source source;
	const char *file; /* borrowed; NULL: none */
	unsigned line; /* 0: not known */
};

/* The `nth` value of `setting`, from 0; false after the last. */
bool ews_config_look(struct ews_config_entry *out, const struct ews_config *config,
		     const struct ews_setting *setting, size_t nth);

/*
 * The `nth` value, from 0, that a repository brings and that counts only once it is accepted; false after the last.
 * What is the user's alone is not among them: nobody can accept that.
 */
bool ews_config_look_loose(struct ews_config_entry *out, bool *out_accepted, const struct ews_config *config,
			   size_t nth);

/* Accept these values as they were read, from the next reading on; take that back (gives 0 when nothing was accepted). */
int ews_config_accept(const struct ews_config *config);
int ews_config_revoke(const struct ews_config *config);

/* A truth of git's own, as "core.ignoreCase"; `otherwise` when it is not set. Fails with EWS_ECONFIG. */
int ews_config_git_bool(bool *out, struct ews_odb *odb, const char *key, bool otherwise);

EWS_CLEANUP_DEFINE_PTR(config, struct ews_config, ews_config_free)

#endif
