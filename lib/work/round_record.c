/*
 * Round records: see round_record.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/round_record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "store/home.h"
#include "work/session_name.h"

#define RECORD_BYTES_MAX EWS_MIB
#define RECORD_VERSION 1
#define RECORD_END ".json"
#define ALIAS "agent"

/* Which member of the struct each string of the file is. */
#define STRINGS(X)            \
	X("round", id)        \
	X("team", team)       \
	X("agent", agent)     \
	X("alias", alias)     \
	X("label", label)     \
	X("branch", branch)   \
	X("archive", archive) \
	X("base", base)

void ews_round_release(struct ews_round *round)
{
#define FREE(key, member) free(round->member);
	STRINGS(FREE)
#undef FREE
	*round = (struct ews_round){ 0 };
}

void ews_rounds_release(struct ews_rounds *rounds)
{
	for (size_t i = 0; i < rounds->n; i++)
		ews_round_release(&rounds->items[i]);
	for (size_t i = 0; i < rounds->n_unread; i++) {
		free(rounds->unread[i].id);
		ews_error_saved_release(&rounds->unread[i].why);
	}
	ews_strv_release(&rounds->aliases);
	free(rounds->items);
	free(rounds->unread);
	*rounds = (struct ews_rounds)EWS_ROUNDS_INIT;
}

void ews_round_copy(struct ews_round *out, const struct ews_round *from)
{
	*out = *from;
#define COPY(key, member) out->member = ews_strdup(from->member);
	STRINGS(COPY)
#undef COPY
}

int ews_round_check_name(const char *what, const char *name)
{
	if (ews_session_check_id(name) == 0)
		return 0;
	ews_error(EWS_EUSAGE, "'%.80s' is no name for %s", name, what);
	ews_error_hint("use up to 64 letters, digits, '.', '_' or '-', a letter or digit first");
	return EWS_EUSAGE;
}

bool ews_round_is_id(const char *id)
{
	return strlen(id) == EWS_ROUND_ID_LEN && strspn(id, "0123456789abcdef") == EWS_ROUND_ID_LEN;
}

/* The names of `fd` that end in `end`, without it; directories have none. */
static int list_names(struct ews_strv *out, int fd, const char *end)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		size_t len = strlen(names.items[i].name), end_len = strlen(end);

		if (*names.items[i].name != '.' && len > end_len && !strcmp(names.items[i].name + len - end_len, end))
			ews_strv_add_len(out, names.items[i].name, len - end_len);
	}
	return n < 0 ? (int)n : 0;
}

/* Open "rounds", or the team's below it; EWS_ENOTFOUND where there is none. */
static int open_rounds(struct ews_repo *repo, const char *team)
{
	EWS_CLEANUP(free)
	char *rel = team ? ews_strfmt(EWS_WORKING_ROUNDS "/%s", team) : ews_strdup(EWS_WORKING_ROUNDS);
	int rc = ews_repo_need_dir(repo);

	return rc < 0 ? rc : ews_dir_open_own(repo->dir_fd, rel);
}

int ews_round_teams(struct ews_strv *out, struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int fd = open_rounds(repo, NULL);

	if (fd == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return fd < 0 ? fd : list_names(out, fd, "");
}

int ews_round_ids(struct ews_strv *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv teams = EWS_STRV_INIT;
	int rc = ews_round_teams(&teams, repo);

	for (size_t i = 0; i < teams.n && rc == 0; i++) {
		EWS_CLEANUP(fd) int fd = open_rounds(repo, teams.items[i]);

		rc = fd < 0 ? fd : list_names(out, fd, RECORD_END);
	}
	return rc;
}

/* Records of older versions have none. */
static int parse_branch_at(struct ews_oid *out, const cJSON *json)
{
	const char *hex = NULL;
	int rc = ews_json_find_string(&hex, json, "branch_at");

	return rc < 0 || !hex ? rc : ews_oid_parse(out, hex);
}

static int parse(struct ews_round *out, const cJSON *json)
{
	int rc = ews_json_check_version(json, RECORD_VERSION);

	if (rc < 0)
		return rc;
#define GET(key, member)                                  \
	rc = ews_json_get_bytes(&out->member, json, key); \
	if (rc < 0)                                       \
		return rc;
	STRINGS(GET)
#undef GET
	rc = ews_json_get_int(&out->sequence, json, "sequence");
	if (rc == 0)
		rc = ews_json_get_int(&out->created_s, json, "created");
	if (rc == 0)
		rc = ews_json_get_bool(&out->is_settled, json, "settled");
	if (rc == 0)
		rc = ews_json_get_bool(&out->is_branched, json, "branched");
	if (rc == 0)
		rc = parse_branch_at(&out->branch_at, json);
	if (rc == 0)
		rc = ews_json_get_bool(&out->owns_scratch, json, "owns_scratch");
	if (rc == 0 && (!ews_round_is_id(out->id) || ews_round_check_name("a team", out->team) < 0 ||
			ews_round_check_name("an agent", out->agent) < 0 || strchr(out->archive, '/')))
		rc = ews_error(EWS_EDAMAGED, "it names what is no round");
	return rc;
}

int ews_round_parse(struct ews_round *out, const char *text, size_t len)
{
	EWS_CLEANUP(json) cJSON *json = NULL;
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	int rc = ews_json_parse(&json, text, len);

	if (rc == 0)
		rc = parse(&round, json);
	if (rc < 0)
		return rc;
	*out = round;
	round = (struct ews_round){ 0 };
	return 0;
}

void ews_round_format(struct ews_buf *out, const struct ews_round *round)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();
	char hex[EWS_OID_HEX_MAX];

	ews_json_add_int(json, "version", RECORD_VERSION);
#define PUT(key, member) ews_json_add_bytes(json, key, round->member);
	STRINGS(PUT)
#undef PUT
	ews_json_add_int(json, "sequence", round->sequence);
	ews_json_add_int(json, "created", round->created_s);
	cJSON_AddBoolToObject(json, "settled", round->is_settled);
	cJSON_AddBoolToObject(json, "branched", round->is_branched);
	if (!ews_oid_is_none(&round->branch_at))
		cJSON_AddStringToObject(json, "branch_at", ews_oid_hex(hex, &round->branch_at));
	cJSON_AddBoolToObject(json, "owns_scratch", round->owns_scratch);
	ews_json_print(out, json, true);
}

/*
 * Is there a session of that round, which has not ended? Another session may bear such a name, too. 1, 0, or an error where it can't be
 * looked at just now.
 */
static int is_open(struct ews_repo *repo, const struct ews_round *round)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", round->id);
	EWS_CLEANUP(free) char *label = ews_strfmt("ews/%s", round->id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_own(repo->dir_fd, rel);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = fd < 0 ? fd : ews_state_read(&state, fd);

	if (rc < 0)
		return ews_error_if_passing(rc);
	return state.state != EWS_STATE_ENDED && !strcmp(state.label, label);
}

static int read_one(struct ews_round *out, struct ews_repo *repo, int fd, const char *team, const char *id)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("%s" RECORD_END, id);
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ROUNDS "%s", id);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, fd, name, RECORD_BYTES_MAX);

	if (rc == 0)
		rc = ews_round_parse(out, text.ptr, text.len);
	if (rc == 0 && (strcmp(out->id, id) != 0 || strcmp(out->team, team) != 0))
		rc = ews_error(EWS_EDAMAGED, "it is another one's");
	if (rc == EWS_EDAMAGED)
		ews_error_hint("it is '%s/" EWS_WORKING_ROUNDS
			       "/%s/%s': move it away, and the round is none any more",
			       repo->dir, team, name);
	if (rc < 0)
		return ews_error_wrap("the record of round 'ews/%s'", id);
	rc = is_open(repo, out);
	if (rc < 0)
		return ews_error_wrap("the session of round 'ews/%s'", id);
	out->is_open = rc > 0;
	rc = ews_odb_ref_read(&out->tip, repo->odb, ref);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		out->tip = (struct ews_oid)EWS_OID_NONE;
		rc = 0;
	}
	return rc;
}

int ews_round_read(struct ews_round *out, struct ews_repo *repo, const char *team, const char *id)
{
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	EWS_CLEANUP(fd) int fd = open_rounds(repo, team);
	int rc = fd < 0 ? fd : read_one(&round, repo, fd, team, id);

	if (rc < 0)
		return rc;
	*out = round;
	round = (struct ews_round){ 0 };
	return 0;
}

static int cmp_by_sequence(const void *a, const void *b)
{
	const struct ews_round *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* Add the record of `id`, or why it can't be read. */
static void add_one(struct ews_rounds *out, struct ews_repo *repo, int fd, const char *team, const char *id)
{
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	int rc = read_one(&round, repo, fd, team, id);

	if (rc == 0) {
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = round;
		round = (struct ews_round){ 0 };
	} else if (rc != EWS_ENOTFOUND) {
		EWS_GROW(out->unread, out->n_unread, out->unread_cap);
		out->unread[out->n_unread] = (struct ews_round_unread){ .id = ews_strdup(id) };
		ews_error_save(&out->unread[out->n_unread++].why);
	}
	ews_error_clear(); /* else it was removed since it was listed */
}

/* Is one of the agents called that himself? */
static bool is_agent(const struct ews_rounds *rounds, const char *name)
{
	for (size_t i = 0; i < rounds->n; i++)
		if (!strcmp(rounds->items[i].agent, name))
			return true;
	return false;
}

static bool is_alias_taken(const struct ews_rounds *rounds, const char *alias)
{
	for (size_t i = 0; i < rounds->n; i++)
		if (!strcmp(rounds->items[i].alias, alias))
			return true;
	return is_agent(rounds, alias) || ews_strv_has(&rounds->aliases, alias);
}

/* "agent" and a number: a name that whoever hands out names has made anonymous already. */
static bool is_anonymous(const char *name)
{
	const char *number = ews_str_after(name, ALIAS);

	return number && *number && *number != '0' && !number[strspn(number, "0123456789")];
}

char *ews_round_alias(const struct ews_rounds *rounds, const char *agent)
{
	if (is_anonymous(agent))
		return ews_strdup(agent);
	for (size_t i = 0; i < rounds->n; i++)
		if (!strcmp(rounds->items[i].agent, agent) && !is_agent(rounds, rounds->items[i].alias))
			return ews_strdup(rounds->items[i].alias);
	for (unsigned n = 1;; n++) {
		EWS_CLEANUP(free) char *alias = ews_strfmt(ALIAS "%u", n);

		if (!is_alias_taken(rounds, alias))
			return ews_steal(&alias);
	}
}

/* Whoever is recorded under a label that is the name of an agent who came later has another one since. */
static void settle_aliases(struct ews_rounds *rounds)
{
	for (size_t i = 0; i < rounds->n; i++)
		ews_strv_add(&rounds->aliases, rounds->items[i].alias);
	for (size_t i = 0; i < rounds->n; i++) {
		char *alias = ews_round_alias(rounds, rounds->items[i].agent);

		free(rounds->items[i].alias);
		rounds->items[i].alias = alias;
	}
}

int ews_rounds_read_sound(struct ews_rounds *out, struct ews_repo *repo, const char *team)
{
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int fd = open_rounds(repo, team);
	int rc = fd < 0 ? fd : list_names(&ids, fd, RECORD_END);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ids.n; i++)
		add_one(&rounds, repo, fd, team, ids.items[i]);
	if (rounds.n)
		qsort(rounds.items, rounds.n, sizeof(*rounds.items), cmp_by_sequence);
	settle_aliases(&rounds);
	*out = rounds;
	rounds = (struct ews_rounds)EWS_ROUNDS_INIT;
	return 0;
}

int ews_rounds_read(struct ews_rounds *out, struct ews_repo *repo, const char *team)
{
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	int rc = ews_rounds_read_sound(&rounds, repo, team);

	if (rc == 0 && rounds.n_unread)
		rc = ews_error_repeat(&rounds.unread[0].why);
	if (rc < 0)
		return rc;
	*out = rounds;
	rounds = (struct ews_rounds)EWS_ROUNDS_INIT;
	return 0;
}

int ews_rounds_damaged(struct ews_strv *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv teams = EWS_STRV_INIT;
	int rc = ews_round_teams(&teams, repo);

	for (size_t i = 0; i < teams.n && rc == 0; i++) {
		EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;

		rc = ews_rounds_read_sound(&rounds, repo, teams.items[i]);
		for (size_t k = 0; k < rounds.n_unread; k++)
			ews_strv_addf(out, "%s\t%s", rounds.unread[k].why.message, rounds.unread[k].why.hint);
	}
	return rc;
}

int ews_round_write(struct ews_repo *repo, const struct ews_round *round)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_ROUNDS "/%s", round->team);
	EWS_CLEANUP(free) char *name = ews_strfmt("%s" RECORD_END, round->id);
	EWS_CLEANUP(fd) int fd = ews_repo_subdir(repo, rel);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (fd < 0)
		return fd;
	ews_round_format(&text, round);
	return ews_file_replace(fd, name, text.ptr, text.len, 0600);
}

int ews_round_forget(struct ews_repo *repo, const struct ews_round *round)
{
	EWS_CLEANUP(fd) int fd = open_rounds(repo, round->team);
	EWS_CLEANUP(free) char *name = ews_strfmt("%s" RECORD_END, round->id);
	int rc = fd < 0 ? fd : ews_file_remove_tree(fd, name);

	return rc < 0 ? rc : ews_file_sync_dir(fd);
}
