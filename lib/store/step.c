/*
 * Steps: see step.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/step.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/home.h"

#define ASIDE ".damaged"
#define OPEN ".open"
#define STEP_BYTES_MAX (256 * EWS_MIB) /* a path that went to trash, of hundreds of thousands, takes a line */
#define STEP_VERSION 2
#define STEP_VERSION_MAIN 1 /* of what any version may turn: it knows no linked worktrees, or it is of none */
#define STEPS_READ 8 /* at least, for a new one's sequence */
#define SECOND_LEN (sizeof("op-20260118-143022") - 1)

static const char *const words[] = {
	[EWS_STEP_PLANNED] = "planned", [EWS_STEP_DONE] = "done",       [EWS_STEP_UNDOING] = "undoing",
	[EWS_STEP_UNDONE] = "undone",   [EWS_STEP_REDOING] = "redoing", [EWS_STEP_EXPIRED] = "expired",
};

static int open_steps(int repo_fd)
{
	int rc = ews_dir_make(repo_fd, EWS_WORKING_UNDO, 0700);

	return rc < 0 ? rc : ews_dir_open_own(repo_fd, EWS_WORKING_UNDO);
}

bool ews_step_is_id(const char *text)
{
	size_t len = strlen(text);

	return len <= 64 && ews_str_begins(text, "op-") &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* Ids come from file names and journals: nothing but our own form may become a path. */
static int step_file(char out[80], const char *id)
{
	if (!ews_step_is_id(id))
		return ews_error(EWS_EDAMAGED, "'%.80s' is not the id of a step", id);
	snprintf(out, 80, "%s.json", id);
	return 0;
}

/* The ids of those that have a file with that ending. */
static int list_ending(struct ews_strv *out, int fd, const char *ending)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	size_t ending_len = strlen(ending);
	ssize_t n = ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		size_t len = strlen(names.items[i].name);

		if (len > 3 + ending_len && ews_str_begins(names.items[i].name, "op-") &&
		    !strcmp(names.items[i].name + len - ending_len, ending))
			ews_strv_add_len(out, names.items[i].name, len - ending_len);
	}
	ews_strv_sort(out);
	return n < 0 ? (int)n : 0;
}

int ews_step_list(struct ews_strv *out, int repo_fd)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_own(repo_fd, EWS_WORKING_UNDO);

	if (fd == EWS_ENOTFOUND) {
		ews_error_clear(); /* there was none yet; a look makes nothing */
		return 0;
	}
	return fd < 0 ? fd : list_ending(out, fd, ".json");
}

int ews_step_list_open(struct ews_strv *out, int repo_fd)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo_fd, EWS_WORKING_UNDO);

	if (fd == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return fd < 0 ? fd : list_ending(out, fd, OPEN);
}

/* The file that says by its name alone that the project's step may be unfinished. */
static int mark_open(int fd, const char *id)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("%s" OPEN, id);
	EWS_CLEANUP(fd) int mark = openat(fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return mark < 0 ? ews_error_os("cannot make '%s'", name) : 0;
}

static void unmark_open(int fd, const char *id)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("%s" OPEN, id);

	(void)unlinkat(fd, name, 0); /* best effort: its record is asked as well */
}

static void add_list(cJSON *json, const char *key, const struct ews_strv *list)
{
	cJSON *array = cJSON_AddArrayToObject(json, key);

	for (size_t i = 0; i < list->n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(list->items[i]));
}

static int get_list(struct ews_strv *out, const cJSON *json, const char *key)
{
	const cJSON *array, *item;
	int rc = ews_json_get_array(&array, json, key);

	if (rc < 0)
		return rc;
	cJSON_ArrayForEach(item, array) {
		if (!cJSON_IsString(item))
			return ews_error(EWS_EDAMAGED, "'%s' holds something else than strings", key);
		ews_strv_add(out, item->valuestring);
	}
	return 0;
}

static int take_string(char **out, const cJSON *json, const char *key)
{
	const char *text;
	int rc = ews_json_get_string(&text, json, key);

	if (rc == 0)
		*out = ews_strdup(text);
	return rc;
}

/* Of which work tree it is; records of older versions don't say. */
static void add_work_tree(cJSON *json, const struct ews_step *step)
{
	if (!step->project || !step->worktree)
		return;
	ews_json_add_bytes(json, "project", step->project);
	ews_json_add_bytes(json, "worktree", step->worktree);
	if (step->worktree_mark && *step->worktree_mark)
		cJSON_AddStringToObject(json, "worktree_mark", step->worktree_mark);
}

static int take_work_tree(struct ews_step *step, const cJSON *json)
{
	int rc;

	if (!cJSON_HasObjectItem(json, "project") && !cJSON_HasObjectItem(json, "project_escaped"))
		return 0;
	rc = ews_json_get_bytes(&step->project, json, "project");
	if (rc == 0)
		rc = ews_json_get_bytes(&step->worktree, json, "worktree");
	if (rc == 0 && cJSON_HasObjectItem(json, "worktree_mark"))
		rc = take_string(&step->worktree_mark, json, "worktree_mark");
	return rc;
}

static int take_state(struct ews_step *step, const cJSON *json)
{
	const char *word;
	int rc = ews_json_get_string(&word, json, "state");

	if (rc < 0)
		return rc;
	for (size_t i = EWS_STEP_PLANNED; i <= EWS_STEP_EXPIRED; i++)
		if (!strcmp(word, words[i]))
			step->state = i;
	return step->state ? 0 : ews_error(EWS_EDAMAGED, "'%.40s' is no state of a step", word);
}

/* When it was done again, which most never are. */
static void add_redo(cJSON *json, const struct ews_step *step)
{
	if (!step->redo_sequence)
		return;
	ews_json_add_int(json, "redo_sequence", (int64_t)step->redo_sequence);
	ews_json_add_int(json, "redone_after", (int64_t)step->redone_after);
}

static int take_redo(struct ews_step *step, const cJSON *json)
{
	int64_t sequence = 0, after = 0;
	int rc = cJSON_HasObjectItem(json, "redo_sequence") ? ews_json_get_int(&sequence, json, "redo_sequence") : 0;

	if (rc == 0 && sequence)
		rc = ews_json_get_int(&after, json, "redone_after");
	step->redo_sequence = (uint64_t)sequence;
	step->redone_after = (uint64_t)after;
	return rc;
}

enum member_kind { TEXT, LIST, NUMBER, TRUTH, STATE, WORK_TREE, REDO };

/* What a record consists of, as it is written. */
static const struct member {
	const char *key;
	enum member_kind kind;
	size_t at; /* in struct ews_step, for the first four kinds */
	bool is_later; /* older records lack it */
	bool is_rare; /* it is written only where it says something */
} members[] = {
	{ "id", TEXT, offsetof(struct ews_step, id), false, false },
	{ "verb", TEXT, offsetof(struct ews_step, verb), false, false },
	{ "session", TEXT, offsetof(struct ews_step, session), false, false },
	{ .kind = WORK_TREE },
	{ .kind = STATE },
	{ "before", TEXT, offsetof(struct ews_step, before), false, false },
	{ "after", TEXT, offsetof(struct ews_step, after), false, false },
	{ "moved", LIST, offsetof(struct ews_step, moved), false, false },
	{ "moving", LIST, offsetof(struct ews_step, moving), false, false },
	{ "stays", LIST, offsetof(struct ews_step, stays), true, true },
	{ "branches", LIST, offsetof(struct ews_step, branches), true, true },
	{ "branches_moving", LIST, offsetof(struct ews_step, branches_moving), true, true },
	{ "refs", LIST, offsetof(struct ews_step, refs), false, false },
	{ "paths", LIST, offsetof(struct ews_step, paths), false, false },
	{ "created", NUMBER, offsetof(struct ews_step, created_s), false, false },
	{ "sequence", NUMBER, offsetof(struct ews_step, sequence), false, false },
	{ "undo_sequence", NUMBER, offsetof(struct ews_step, undo_sequence), false, false },
	{ .kind = REDO },
	{ "emptied", TRUTH, offsetof(struct ews_step, is_emptied), true, false },
	{ "git_lost", TRUTH, offsetof(struct ews_step, is_git_lost), true, true },
	{ "incomplete", TRUTH, offsetof(struct ews_step, is_incomplete), true, true },
	{ "leaves_project", TRUTH, offsetof(struct ews_step, leaves_project), true, true },
	{ "owners", TRUTH, offsetof(struct ews_step, with_owners), true, false },
	{ "exact", TRUTH, offsetof(struct ews_step, is_exact), true, false },
	{ "git_alone", TRUTH, offsetof(struct ews_step, is_git_alone), true, true },
	{ "index", TRUTH, offsetof(struct ews_step, with_index), true, false },
	{ "commit", TEXT, offsetof(struct ews_step, commit), true, false },
	{ "settles", TEXT, offsetof(struct ews_step, settles), true, true },
};

#define MEMBERS_N (sizeof(members) / sizeof(*members))

static void add_member(cJSON *json, const struct member *member, const struct ews_step *step)
{
	const void *at = (const char *)step + member->at;
	const char *text;

	switch (member->kind) {
	case TEXT:
		text = *(char *const *)at;
		if ((text && *text) || !member->is_rare)
			cJSON_AddStringToObject(json, member->key, text ? text : "");
		break;
	case LIST:
		if (((const struct ews_strv *)at)->n || !member->is_rare)
			add_list(json, member->key, at);
		break;
	case NUMBER:
		ews_json_add_int(json, member->key, *(const int64_t *)at);
		break;
	case TRUTH:
		if (*(const bool *)at || !member->is_rare)
			cJSON_AddBoolToObject(json, member->key, *(const bool *)at);
		break;
	case STATE:
		cJSON_AddStringToObject(json, "state", words[step->state]);
		break;
	case WORK_TREE:
		add_work_tree(json, step);
		break;
	case REDO:
		add_redo(json, step);
		break;
	}
}

static int take_member(struct ews_step *step, const struct member *member, const cJSON *json)
{
	void *at = (char *)step + member->at;

	if (member->is_later && !cJSON_HasObjectItem(json, member->key))
		return 0;
	switch (member->kind) {
	case TEXT:
		return take_string(at, json, member->key);
	case LIST:
		return get_list(at, json, member->key);
	case NUMBER:
		return ews_json_get_int(at, json, member->key);
	case TRUTH:
		return ews_json_get_bool(at, json, member->key);
	case STATE:
		return take_state(step, json);
	case WORK_TREE:
		return take_work_tree(step, json);
	case REDO:
		return take_redo(step, json);
	}
	return 0;
}

void ews_step_format(struct ews_buf *out, const struct ews_step *step)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();

	ews_json_add_int(json, "version", step->worktree && *step->worktree ? STEP_VERSION : STEP_VERSION_MAIN);
	for (size_t i = 0; i < MEMBERS_N; i++)
		add_member(json, &members[i], step);
	ews_json_print(out, json, true);
}

int ews_step_write(int repo_fd, const struct ews_step *step)
{
	EWS_CLEANUP(fd) int fd = open_steps(repo_fd);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	const bool is_alone = !ews_sync_current();
	char name[80];
	int rc;

	if (fd < 0)
		return fd;
	rc = step_file(name, step->id);
	if (rc < 0)
		return rc;
	ews_step_format(&text, step);
	if (text.len > STEP_BYTES_MAX) {
		ews_error(EWS_EUNSUPPORTED, "the '%s' touches more paths than undo can remember", step->verb);
		ews_error_hint("with '-- <path>' it can be done in parts");
		return EWS_EUNSUPPORTED;
	}
	if (!*step->session && ews_step_is_unfinished(step))
		rc = mark_open(fd, step->id);
	/* A group of one is spared a wait where the file system keeps order. */
	if (is_alone)
		ews_sync_begin(&group);
	if (rc == 0)
		rc = ews_file_replace(fd, name, text.ptr, text.len, 0600);
	if (rc == 0 && is_alone)
		rc = ews_sync_finish(&group);
	if (rc < 0)
		return ews_error_wrap("cannot write step '%s'", step->id);
	/* In a group of the caller's the record is not there before that is finished. */
	if (!*step->session && !ews_step_is_unfinished(step) && is_alone)
		unmark_open(fd, step->id);
	return 0;
}

static int take_step(struct ews_step *step, const cJSON *json)
{
	int rc = ews_json_check_version(json, STEP_VERSION);

	for (size_t i = 0; i < MEMBERS_N && rc == 0; i++)
		rc = take_member(step, &members[i], json);
	return rc;
}

int ews_step_parse(struct ews_step *out, const char *text, size_t len)
{
	EWS_CLEANUP(json) cJSON *json = NULL;
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc = ews_json_parse_long(&json, text, len, STEP_BYTES_MAX);

	if (rc == 0)
		rc = take_step(&step, json);
	if (rc < 0)
		return rc;
	*out = step;
	step = (struct ews_step)EWS_STEP_INIT;
	return 0;
}

int ews_step_read(struct ews_step *out, int repo_fd, const char *id)
{
	EWS_CLEANUP(fd) int fd = open_steps(repo_fd);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	char name[80];
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	rc = step_file(name, id);
	if (rc == 0)
		rc = ews_file_read_own(&text, fd, name, STEP_BYTES_MAX);
	if (rc == 0)
		rc = ews_step_parse(&step, text.ptr, text.len);
	if (rc == 0 && strcmp(step.id, id))
		rc = ews_error(EWS_EDAMAGED, "it says that it is '%.64s'", step.id);
	if (rc < 0)
		return ews_error_wrap("cannot read step '%.64s'", id);
	/* By its time it is let go one day. */
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot read step '%.64s'", id);
	step.written_s = st.st_mtim.tv_sec;
	*out = step;
	step = (struct ews_step)EWS_STEP_INIT;
	return 0;
}

int ews_step_look(struct ews_step *out, struct ews_strv *damaged, int repo_fd, const char *id)
{
	int rc = ews_step_read(out, repo_fd, id);

	if (rc == 0)
		return 1;
	if (rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED)
		return rc;
	if (rc == EWS_EDAMAGED && damaged)
		ews_strv_add(damaged, id);
	ews_error_clear();
	return 0;
}

bool ews_step_is_earlier(const char *id, const char *other)
{
	return strncmp(id, other, SECOND_LEN) < 0;
}

int ews_step_set_aside(int repo_fd, const char *id)
{
	EWS_CLEANUP(fd) int fd = open_steps(repo_fd);
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(free) char *aside = NULL;
	char name[80];
	int rc = fd < 0 ? fd : step_file(name, id);

	if (rc < 0)
		return rc;
	rc = ews_step_read(&step, repo_fd, id);
	if (rc == 0 || rc == EWS_ENOTFOUND)
		return ews_error(EWS_EBUSY, "the step '%s' changed meanwhile", id);
	if (rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	aside = ews_strfmt("%s" ASIDE, name);
	rc = ews_file_rename_new(fd, name, fd, aside);
	for (unsigned n = 2; rc == EWS_EEXISTS; n++) {
		free(aside);
		aside = ews_strfmt("%s" ASIDE ".%u", name, n);
		rc = ews_file_rename_new(fd, name, fd, aside);
	}
	return rc < 0 ? ews_error_wrap("cannot set '%s' aside", name) : ews_file_sync_dir(fd);
}

int ews_step_aside_since_s(int64_t *out, int repo_fd, const char *id)
{
	EWS_CLEANUP(fd) int fd = open_steps(repo_fd);
	EWS_CLEANUP(free) char *name = ews_strfmt("%s.json" ASIDE, id);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		*out = st.st_ctim.tv_sec;
		return 1;
	}
	return errno == ENOENT ? 0 : ews_error_os("cannot look at '%s'", name);
}

int ews_step_remove(int repo_fd, const char *id)
{
	EWS_CLEANUP(fd) int fd = open_steps(repo_fd);
	char name[80];
	int rc;

	if (fd < 0)
		return fd;
	rc = step_file(name, id);
	if (rc < 0)
		return rc;
	if (unlinkat(fd, name, 0) < 0 && errno != ENOENT)
		return ews_error_os("cannot remove step '%s'", id);
	unmark_open(fd, id);
	return ews_file_sync_dir(fd);
}

/* Is it as ews_clock_id() makes them? A name that somebody else gave says nothing about time. */
static bool has_form(const char *id)
{
	static const char form[] = "op-00000000-000000-ffffff";

	if (strlen(id) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; form[i]; i++) {
		const char *of = form[i] == '0' ? "0123456789" : form[i] == 'f' ? "0123456789abcdef" : NULL;

		if (of ? !strchr(of, id[i]) : id[i] != form[i])
			return false;
	}
	return true;
}

/*
 * The sequence of the last of the steps `ids`, and the second that no new id may be before; 0 and "" when there is none. An id
 * is of no earlier second than those that were there when it was given out. So the last is among the newest ids: those of one
 * second, and a few more, since who began before others may have written his record after them.
 */
static int find_last(uint64_t *last, char second[SECOND_LEN + 1], int repo_fd, const struct ews_strv *ids)
{
	size_t n_read = 0;

	*last = 0;
	*second = '\0';
	for (size_t i = ids->n; i > 0; i--) {
		EWS_CLEANUP(step) struct ews_step old = EWS_STEP_INIT;
		const char *id = ids->items[i - 1];
		int rc;

		if (!has_form(id))
			continue;
		if (!*second) {
			memcpy(second, id, SECOND_LEN);
			second[SECOND_LEN] = '\0';
		}
		if (n_read >= STEPS_READ && strncmp(id, second, SECOND_LEN) != 0)
			break;
		rc = ews_step_read(&old, repo_fd, id);
		/* That of one that can't be read just now may be the last, and two of one sequence are undone the wrong way round. */
		if (rc < 0 && ews_error_if_passing(rc) < 0)
			return rc;
		/* For any other reason it doesn't stand in the way of a new one. */
		if (rc < 0)
			continue;
		n_read++;
		*last = old.sequence > *last ? old.sequence : *last;
	}
	return 0;
}

int ews_step_init(struct ews_step *step, int repo_fd, const char *verb, const char *session)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	char second[SECOND_LEN + 1];
	uint64_t last;
	int rc = ews_step_list(&ids, repo_fd);

	if (rc == 0)
		rc = find_last(&last, second, repo_fd, &ids);
	if (rc < 0)
		return rc;
	*step = (struct ews_step)EWS_STEP_INIT;
	step->created_s = ews_clock_now();
	/* Six digits are drawn twice in one second now and then. */
	do {
		free(step->id);
		step->id = ews_clock_id("op", step->created_s);
		/* A clock may have been set back. */
		if (strncmp(step->id, second, SECOND_LEN) < 0)
			memcpy(step->id, second, SECOND_LEN);
	} while (ews_strv_has(&ids, step->id));
	step->verb = ews_strdup(verb);
	step->session = ews_strdup(session ? session : "");
	step->before = ews_strdup("");
	step->after = ews_strdup("");
	step->state = EWS_STEP_PLANNED;
	step->sequence = last + 1;
	return 0;
}

void ews_step_set_paths(struct ews_step *step, const char *const *paths)
{
	ews_strv_clear(&step->paths);
	for (; paths && *paths; paths++) {
		EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;

		ews_path_escape(&escaped, *paths, strlen(*paths));
		ews_strv_add(&step->paths, escaped.ptr);
	}
}

bool ews_step_is_unfinished(const struct ews_step *step)
{
	return step->state == EWS_STEP_PLANNED || step->state == EWS_STEP_UNDOING || step->state == EWS_STEP_REDOING;
}

bool ews_step_is_later(const struct ews_step *a, const struct ews_step *b)
{
	uint64_t x = a->redo_sequence ? a->redone_after : a->sequence;
	uint64_t y = b->redo_sequence ? b->redone_after : b->sequence;

	if (x != y)
		return x > y;
	if (a->redo_sequence != b->redo_sequence)
		return a->redo_sequence > b->redo_sequence;
	return a->sequence != b->sequence ? a->sequence > b->sequence : strcmp(a->id, b->id) > 0;
}

bool ews_step_is_of_project(const struct ews_step *step)
{
	return !*step->session || !strcmp(step->verb, "drop");
}

bool ews_step_keeps_nothing(const struct ews_step *step)
{
	return step->is_emptied && !strcmp(step->verb, "end") && !*step->before && !step->refs.n;
}

/* Is `id` the last part of the ref that a line names as the new one? */
static bool moves_to(const char *line, const char *id)
{
	const char *to = strchr(line, ' ');
	size_t len = to ? strcspn(to + 1, " ") : 0;
	size_t id_len = strlen(id);

	return len > id_len && to[len - id_len] == '/' && !strncmp(to + 1 + len - id_len, id, id_len);
}

bool ews_step_needs(const struct ews_step *step, const char *id)
{
	bool needs = !strcmp(step->before, id) || !strcmp(step->after, id);

	for (size_t i = 0; i < step->refs.n && !needs; i++)
		needs = moves_to(step->refs.items[i], id);
	return needs;
}

int ews_step_each(const struct ews_strv *lines, ews_step_line_fn fn, void *payload)
{
	EWS_CLEANUP(error_saved) struct ews_error_saved first = EWS_ERROR_SAVED_INIT;

	for (size_t i = 0; i < lines->n; i++) {
		int rc = ews_step_note(&first, fn(lines->items[i], payload));

		if (rc < 0)
			return rc;
	}
	ews_error_clear();
	return first.code ? ews_error_restore(&first) : 0;
}

bool ews_step_may_go_on(int rc)
{
	return rc == EWS_ENOTFOUND || rc == EWS_EEXISTS || rc == EWS_ESTALE;
}

int ews_step_note(struct ews_error_saved *first, int rc)
{
	if (rc >= 0 || !ews_step_may_go_on(rc))
		return rc;
	if (!first->code)
		ews_error_save(first);
	ews_error_clear();
	return 0;
}

void ews_step_release(struct ews_step *step)
{
	for (size_t i = 0; i < MEMBERS_N; i++) {
		void *at = (char *)step + members[i].at;

		if (members[i].kind == TEXT)
			free(*(char **)at);
		else if (members[i].kind == LIST)
			ews_strv_release(at);
	}
	free(step->project);
	free(step->worktree);
	free(step->worktree_mark);
	*step = (struct ews_step)EWS_STEP_INIT;
}
