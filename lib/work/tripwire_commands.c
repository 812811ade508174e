/*
 * Commands for what a tripwire found: see tripwire_commands.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire_commands.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/reflog.h"
#include "work/history.h"
#include "work/tripwire_compare.h"
#include "work/tripwire_line.h"

/* Whose differences get commands. */
struct teller {
	struct ews_strv *out;
	const struct ews_tripwire *before, *after;
	const struct ews_repo *repo;
	const char *kept;
	const struct ews_oids *beyond; /* commits that no ref has led to all the time; NULL: nobody can tell */
};

/*
 * git tells stashes by their log, which no 'git update-ref' brings back. A message with control characters is none to be pasted.
 * For one that came there is no command: what it holds is in no file any more, and to drop it would lose that.
 */
static void add_stash_command(const struct teller *teller, const char *before)
{
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	EWS_CLEANUP(free)
	char *message = before && ews_tripwire_is_stash(before) ? ews_tripwire_stash_message(before) : ews_strdup("");

	/* Where no line says that it is new the command does. */
	if (!before && !teller->kept && !ews_strv_has(teller->out, EWS_TRIPWIRE_STASHES))
		ews_strv_add(teller->out, EWS_TRIPWIRE_STASHES);
	if (!before)
		return;
	ews_buf_adds(&command, "git stash store ");
	if (*message && !strchr(message, '\\')) {
		ews_buf_adds(&command, "-m ");
		ews_shell_quote(&command, message);
		ews_buf_addc(&command, ' ');
	}
	ews_buf_adds(&command, before + ews_tripwire_name_len(before) + 1);
	ews_strv_add(teller->out, command.ptr);
}

/* The ref that a line is about, which has an id; NULL: it is about none. The caller frees it. */
static char *ref_with_id(const char *line)
{
	return ews_str_begins(line, "ref ") && !ews_tripwire_target(line)
		       ? ews_strndup(line + 4, ews_tripwire_name_len(line) - 4)
		       : NULL;
}

/* The ids that the ref of `line`, or its log, names. */
static int list_named(struct ews_strv *out, const struct ews_repo *repo, const char *ref, const char *line)
{
	EWS_CLEANUP(strv) struct ews_strv log = EWS_STRV_INIT;
	int rc = ews_reflog_list(&log, repo->odb, ref);

	ews_strv_add(out, line + ews_tripwire_name_len(line) + 1);
	for (size_t i = 0; i < log.n; i++)
		ews_strv_add(out, strrchr(log.items[i], ' ') + 1);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc;
}

/* Adds the lines of new refs to the strings `out`. */
static void add_new_ref(void *out, const char *before, const char *after)
{
	EWS_CLEANUP(free) char *ref = before ? NULL : ref_with_id(after);

	if (ref)
		ews_strv_add(out, after);
}

/* The ids of all refs but those of the lines `but`, which are sorted. */
static void list_ids(struct ews_strv *out, const struct ews_tripwire *tripwire, const struct ews_strv *but)
{
	for (size_t i = 0; i < tripwire->lines.n; i++) {
		const char *line = tripwire->lines.items[i];
		EWS_CLEANUP(free) char *ref = ref_with_id(line);

		if (ref && !ews_strv_sorted_has(but, line))
			ews_strv_add(out, line + ews_tripwire_name_len(line) + 1);
	}
	ews_strv_unique(out);
}

static bool is_alike(const struct ews_strv *a, const struct ews_strv *b)
{
	size_t i = 0;

	while (i < a->n && i < b->n && !strcmp(a->items[i], b->items[i]))
		i++;
	return i == a->n && i == b->n;
}

/*
 * The commits that new refs, or their logs, name, and all these lead to, but for what refs that were there lead to, both from where
 * they stood and from where they stand: one that moved has a command that moves it back. Where no ref is new there is nothing to ask.
 */
static int find_beyond(struct ews_oids *out, const struct ews_tripwire *before, const struct ews_tripwire *after,
		       const struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv were = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv are = EWS_STRV_INIT;
	int rc = 0;

	ews_tripwire_each_difference(before, after, add_new_ref, &lines);
	ews_strv_sort(&lines);
	for (size_t i = 0; i < lines.n && rc == 0; i++) {
		EWS_CLEANUP(free) char *ref = ref_with_id(lines.items[i]);

		rc = list_named(&ids, repo, ref, lines.items[i]);
	}
	if (rc < 0 || !ids.n)
		return rc;
	list_ids(&were, before, &lines);
	list_ids(&are, after, &lines);
	rc = ews_history_list_beyond(out, repo, &ids, &are);
	return rc < 0 || is_alike(&were, &are) ? rc : ews_history_list_beyond(out, repo, &ids, &were);
}

/* Does a ref that has been there all the time stand at this very object? */
static bool is_elsewhere(const struct teller *teller, const char *hex)
{
	for (size_t i = 0; i < teller->after->lines.n; i++) {
		const char *line = teller->after->lines.items[i];
		EWS_CLEANUP(free) char *name = ews_strndup(line, ews_tripwire_name_len(line));
		const char *was;

		if (!ews_str_begins(line, "ref ") || strcmp(line + ews_tripwire_name_len(line) + 1, hex) != 0)
			continue;
		was = ews_tripwire_find(teller->before, name);
		if (was && !strcmp(was, hex))
			return true;
	}
	return false;
}

static bool is_commit(const struct teller *teller, const char *hex)
{
	struct ews_oid oid;

	return ews_oid_parse(&oid, hex) == 0 && ews_odb_is(teller->repo->odb, &oid, EWS_OBJECT_COMMIT) == 1;
}

/* Is the object lost with the new ref that names it? To what is no commit, a tag say, no other leads. */
static bool is_held_alone(const struct teller *teller, const char *hex)
{
	struct ews_oid oid;

	if (!is_commit(teller, hex))
		return !is_elsewhere(teller, hex);
	return ews_oid_parse(&oid, hex) < 0 || ews_oids_has(teller->beyond, &oid);
}

/*
 * Does the new ref of `line`, or its log, hold what no ref does that was there? Whoever made it, a person maybe, would lose that with
 * it. A log that can't be read may say anything.
 */
static bool holds_alone(const struct teller *teller, const char *ref, const char *line)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	bool is_alone = !teller->beyond || list_named(&ids, teller->repo, ref, line) < 0;

	for (size_t i = 0; i < ids.n && !is_alone; i++)
		is_alone = is_held_alone(teller, ids.items[i]);
	ews_error_clear();
	return is_alone;
}

/* For each difference its command, by `add`, which gets the teller. */
static void each_command(struct teller *teller, ews_tripwire_difference_fn *add)
{
	EWS_CLEANUP(oids) struct ews_oids beyond = EWS_OIDS_INIT;

	if (find_beyond(&beyond, teller->before, teller->after, teller->repo) == 0)
		teller->beyond = &beyond;
	ews_error_clear();
	ews_tripwire_each_difference(teller->before, teller->after, add, teller);
	teller->beyond = NULL; /* it goes with this function */
}

/*
 * git lets a ref's name hold quotes, dollars and semicolons. Through a symbolic ref it would move or delete the one that is
 * meant by it, unless told to leave that.
 */
static void add_ref_command(void *payload, const char *before, const char *after)
{
	const struct teller *teller = payload;
	const char *line = before ? before : after;
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *ref = NULL;
	const char *target;
	size_t len;

	assert(line);
	target = ews_tripwire_target(line);
	if (ews_tripwire_is_stash(line) || (!target && ews_str_begins(line, "ref " EWS_TRIPWIRE_STASH_REF " "))) {
		add_stash_command(teller, before);
		return;
	}
	if (!ews_str_begins(line, "ref "))
		return;
	len = ews_tripwire_name_len(line);
	ref = ews_strndup(line + 4, len - 4);
	if (!before && !target && holds_alone(teller, ref, after)) {
		ews_buf_adds(&command,
			     is_commit(teller, after + len + 1) ? EWS_TRIPWIRE_SHOW : EWS_TRIPWIRE_SHOW_TAG);
		ews_shell_quote(&command, ref);
		ews_strv_addf(teller->out, "%s --", command.ptr);
		return;
	}
	ews_buf_adds(&command, target ? "git symbolic-ref " : "git update-ref ");
	if (!before)
		ews_buf_adds(&command, "-d ");
	else if (!target && ews_tripwire_target(after))
		ews_buf_adds(&command, "--no-deref ");
	ews_shell_quote(&command, ref);
	if (before) {
		ews_buf_addc(&command, ' ');
		ews_shell_quote(&command, target ? target : before + len + 1);
	}
	if (after && !target && !ews_tripwire_target(after))
		ews_buf_addf(&command, " %s", after + len + 1);
	ews_strv_add(teller->out, command.ptr);
}

void ews_tripwire_ref_commands(struct ews_strv *out, const struct ews_tripwire *before,
			       const struct ews_tripwire *after, const struct ews_repo *repo)
{
	each_command(&(struct teller){ out, before, after, repo, NULL, NULL }, add_ref_command);
}

/* The mode that the line of a file ends in; 0: there is no such file. */
static mode_t mode_of(const char *line)
{
	return line ? (mode_t)strtoul(strrchr(line, ':') + 1, NULL, 8) : 0;
}

/* The shell's words for what brings the file `name` back as it was: nothing when that was neither a file nor a link. */
static void add_file_words(struct ews_buf *command, const struct teller *teller, const char *name, mode_t mode)
{
	bool is_ours = !strcmp(name, "HEAD") || !strcmp(name, EWS_TRIPWIRE_INDEX) || !strcmp(name, "config.worktree");
	EWS_CLEANUP(free)
	char *place = ews_path_join(is_ours ? teller->repo->git_dir : teller->repo->common_dir, name);
	EWS_CLEANUP(free) char *kept = ews_path_join(teller->kept, name);

	if (mode && !S_ISREG(mode) && !S_ISLNK(mode))
		return;
	if (mode && strchr(name, '/')) {
		EWS_CLEANUP(free) char *dir = ews_strndup(place, (size_t)(strrchr(place, '/') - place));

		ews_buf_adds(command, "mkdir -p ");
		ews_shell_quote(command, dir);
		ews_buf_adds(command, " && ");
	}
	ews_buf_adds(command, mode ? "cp -aT --remove-destination " : "rm -rf ");
	if (mode) {
		ews_shell_quote(command, kept);
		ews_buf_addc(command, ' ');
	}
	ews_shell_quote(command, place);
}

/* A name with control characters is nothing that git looks for, and nothing to be pasted. */
static void add_any_command(void *payload, const char *before, const char *after)
{
	const struct teller *teller = payload;
	const char *line = before ? before : after;
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *name = NULL;
	size_t had = teller->out->n;

	assert(line);
	if (ews_str_begins(line, "ref ") || ews_tripwire_is_stash(line)) {
		add_ref_command(payload, before, after);
		if (teller->out->n == had)
			ews_strv_add(teller->out, "");
		return;
	}
	name = ews_strndup(line, ews_tripwire_name_len(line));
	if (!strchr(name, '\\'))
		add_file_words(&command, teller, name, mode_of(before));
	ews_strv_add(teller->out, command.len ? command.ptr : "");
}

void ews_tripwire_commands(struct ews_strv *out, const struct ews_tripwire *before,
			   const struct ews_tripwire *after, const struct ews_repo *repo, const char *kept)
{
	each_command(&(struct teller){ out, before, after, repo, kept, NULL }, add_any_command);
}
