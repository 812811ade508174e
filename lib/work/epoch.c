/*
 * Epoch: see epoch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/epoch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/str.h"
#include "store/home.h"
#include "work/look.h"
#include "work/session_name.h"

#define EPOCH_FILE "epoch"
#define EPOCH_LOCK "gate:epoch"
#define EPOCH_BYTES_MAX EWS_MIB
#define EPOCH_VERSION 1
#define VERSION_WORD "version "
#define EPOCH_MAX (INT64_C(1) << 53) /* what JSON holds whole */
#define WAIT_MS 60000
#define UNSEEN "-"
#define LOOKS 4 /* at a project that changes while it is looked at */

/* One project of the repository. */
struct line {
	int64_t number;
	char *digest; /* of what was seen; "-": nothing yet */
	char *project; /* its path, escaped, or "worktrees/<its name in git>" of a linked worktree */
};

struct lines {
	struct line *items;
	size_t n, cap;
};

static void release_lines(struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++) {
		free(lines->items[i].digest);
		free(lines->items[i].project);
	}
	free(lines->items);
}

EWS_CLEANUP_DEFINE(lines, struct lines, release_lines)

static void hash_text(char hex[2 * EWS_HASH_MAX + 1], const void *text, size_t len)
{
	uint8_t digest[EWS_HASH_MAX];

	ews_hash_once(EWS_SHA256, digest, text, len);
	ews_hex(hex, digest, 32);
}

static void format_lines(struct ews_buf *out, const struct lines *lines)
{
	char hex[2 * EWS_HASH_MAX + 1];

	ews_buf_addf(out, VERSION_WORD "%d\n", EPOCH_VERSION);
	for (size_t i = 0; i < lines->n; i++)
		ews_buf_addf(out, "%" PRId64 " %s %s\n", lines->items[i].number, lines->items[i].digest,
			     lines->items[i].project);
	hash_text(hex, out->ptr, out->len);
	ews_buf_addf(out, "end %s\n", hex);
}

static bool parse_line(struct lines *out, char *text)
{
	char *digest = strchr(text, ' '), *project = digest ? strchr(digest + 1, ' ') : NULL;
	struct line *line;
	int64_t number;

	if (!project || strspn(text, "0123456789") != (size_t)(digest - text) || digest - text > 16)
		return false;
	number = strtoll(text, NULL, 10);
	if (number > EPOCH_MAX)
		return false;
	EWS_GROW(out->items, out->n, out->cap);
	line = &out->items[out->n++];
	*line = (struct line){ .number = number,
			       .digest = ews_strndup(digest + 1, (size_t)(project - digest - 1)),
			       .project = ews_strdup(project + 1) };
	return true;
}

/* What doesn't end in its own digest was cut, or written by somebody else. */
static bool parse(struct lines *out, const struct ews_buf *text)
{
	char hex[2 * EWS_HASH_MAX + 1];
	char *end = text->len ? strstr(text->ptr, "end ") : NULL, *line, *rest;

	while (end && end != text->ptr && end[-1] != '\n')
		end = strstr(end + 1, "end ");
	if (!end || strlen(text->ptr) != text->len)
		return false;
	hash_text(hex, text->ptr, (size_t)(end - text->ptr));
	if (strncmp(end + 4, hex, 64) || strcmp(end + 4 + 64, "\n"))
		return false;
	*end = '\0';
	line = strtok_r(text->ptr, "\n", &rest);
	if (!line || !ews_str_begins(line, VERSION_WORD))
		return false;
	while ((line = strtok_r(NULL, "\n", &rest)))
		if (!parse_line(out, line))
			return false;
	return true;
}

static int check_version(const struct ews_buf *text)
{
	bool is_said = text->len && ews_str_begins(text->ptr, VERSION_WORD);

	if (!is_said || strtol(text->ptr + strlen(VERSION_WORD), NULL, 10) <= EPOCH_VERSION)
		return 0;
	(void)ews_error(EWS_EUNSUPPORTED, "the project's epoch was written by a newer version of git ews");
	ews_error_hint("use that version here, too");
	return EWS_EUNSUPPORTED;
}

static int read_lines(struct lines *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, repo->dir_fd, EPOCH_FILE, EPOCH_BYTES_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = check_version(&text);
	/* What is damaged says nothing, of no project. */
	if (rc == EWS_EDAMAGED || (rc == 0 && !parse(out, &text))) {
		ews_error_clear();
		release_lines(out);
		*out = (struct lines){ NULL, 0, 0 };
		rc = 0;
	}
	return rc;
}

/* Above all that sessions have on record, if the line was lost: nobody's result may seem newer than it is. 0: there are none. */
static int64_t find_safe_number(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int64_t number = -1;

	if (ews_session_ids(&ids, repo) < 0)
		ews_error_clear();
	for (size_t i = 0; i < ids.n; i++) {
		EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", ids.items[i]);
		EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->dir_fd, rel);
		EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;

		if (fd >= 0 && ews_state_read(&state, fd) == 0 && state.epoch > number && state.epoch < EPOCH_MAX)
			number = state.epoch;
		ews_error_clear();
	}
	return number + 1;
}

/* The line of the project that is called `project`, or NULL. */
static struct line *line_of(const struct lines *lines, const char *project)
{
	for (size_t i = 0; i < lines->n; i++)
		if (!strcmp(lines->items[i].project, project))
			return &lines->items[i];
	return NULL;
}

/* What the project is called in its line: git may move a linked worktree, and its name stays. The caller frees it. */
static char *name_project(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *worktree = ews_repo_worktree(repo);
	EWS_CLEANUP(buf) struct ews_buf project = EWS_BUF_INIT;

	if (*worktree)
		return ews_strfmt("worktrees/%s", worktree);
	ews_path_escape(&project, repo->project, strlen(repo->project));
	return ews_buf_steal(&project);
}

/* Older versions called a linked worktree by its path, too: it has the name that it has now. NULL: there is no such line. */
static struct line *rename_line(struct lines *lines, const struct ews_repo *repo, const char *project)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	struct line *line;

	ews_path_escape(&path, repo->project, strlen(repo->project));
	line = line_of(lines, path.ptr);
	if (line) {
		free(line->project);
		line->project = ews_strdup(project);
	}
	return line;
}

/* The project's line, a new one when it has none. */
static struct line *find_line(struct lines *lines, struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *project = name_project(repo);
	struct line *line = line_of(lines, project);

	if (!line)
		line = rename_line(lines, repo, project);
	if (line)
		return line;
	EWS_GROW(lines->items, lines->n, lines->cap);
	line = &lines->items[lines->n++];
	*line = (struct line){ .number = find_safe_number(repo),
			       .digest = ews_strdup(UNSEEN),
			       .project = ews_steal(&project) };
	return line;
}

static void hash_u64(struct ews_hash *hash, uint64_t value)
{
	ews_hash_add(hash, &value, sizeof(value));
}

static void hash_string(struct ews_hash *hash, const char *text, size_t len)
{
	hash_u64(hash, len);
	ews_hash_add(hash, text, len);
}

/* Where HEAD stands, what it names, and whether a merge is under way. What can't be read just now is no other commit. */
static int hash_head(struct ews_hash *hash, struct ews_repo *repo, const struct ews_gitstate *git)
{
	static const char *const files[] = { "HEAD", "MERGE_HEAD" };
	struct ews_oid head = EWS_OID_NONE;
	int rc = ews_odb_ref_read(&head, repo->odb, "HEAD");

	if (rc == EWS_EIO)
		return rc;
	ews_error_clear(); /* there may be no commit yet */
	hash_string(hash, (const char *)head.id, head.len);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const struct ews_gitstate_file *file = ews_gitstate_file(git, files[i]);

		hash_string(hash, file ? file->data.ptr : "", file ? file->data.len : 0);
	}
	return 0;
}

/* What is staged, not when it was looked at. */
static int digest_index(uint8_t out[EWS_HASH_MAX], struct ews_repo *repo)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	int rc = ews_index_read(&index, repo->git_fd, "index", ews_odb_algo(repo->odb));

	for (size_t i = 0; i < index.n; i++) {
		const struct ews_index_entry *entry = &index.items[i];

		hash_string(hash, entry->path, strlen(entry->path));
		hash_string(hash, (const char *)entry->oid.id, entry->oid.len);
		hash_u64(hash, entry->mode);
		hash_u64(hash, entry->stage | entry->is_intent_to_add << 2 | entry->is_skip_worktree << 3);
	}
	ews_hash_finish(hash, out);
	return rc;
}

/* The content's memo is the digest of the index. Is it there, and nothing to be remembered? */
static bool has_digest(const struct ews_content *now)
{
	return now->is_unchanged && now->is_same_index && now->memo.len == EWS_HASH_MAX;
}

static int hash_index(struct ews_hash *hash, struct ews_repo *repo, struct ews_content *now)
{
	uint8_t digest[EWS_HASH_MAX] = { 0 };
	int rc = 0;

	if (has_digest(now)) {
		memcpy(digest, now->memo.ptr, sizeof(digest));
	} else {
		rc = digest_index(digest, repo);
		if (rc == 0)
			ews_content_set_memo(now, digest, sizeof(digest));
	}
	ews_hash_add(hash, digest, sizeof(digest));
	return rc;
}

static const struct ews_content_opts look_opts = { .partial = true, .is_compared = true, .without_index = true };

static int look_at_files(struct ews_content *out, struct ews_repo *repo)
{
	if (repo->is_bare)
		return ews_gitstate_read_files(&out->git, repo->git_fd);
	return ews_content_now(out, repo, NULL, NULL, &look_opts);
}

/* `now` is what was found. */
static int digest(char hex[2 * EWS_HASH_MAX + 1], struct ews_repo *repo, struct ews_content *now)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	uint8_t bytes[EWS_HASH_MAX];
	int rc = 0;

	hash_string(hash, now->hash, strlen(now->hash));
	if (!repo->is_plain) {
		rc = hash_head(hash, repo, &now->git);
		if (rc == 0 && !repo->is_bare)
			rc = hash_index(hash, repo, now);
	}
	ews_hash_finish(hash, bytes);
	ews_hex(hex, bytes, 32);
	return rc;
}

static int digest_and_remember(char hex[2 * EWS_HASH_MAX + 1], struct ews_repo *repo, struct ews_content *now)
{
	int rc = digest(hex, repo, now);

	if (rc == 0 && !repo->is_bare && ews_content_save_cache(now, repo, NULL) < 0)
		ews_error_clear(); /* the next look takes longer */
	return rc;
}

static int look_and_digest(char hex[2 * EWS_HASH_MAX + 1], struct ews_repo *repo)
{
	EWS_CLEANUP(content) struct ews_content now = EWS_CONTENT_INIT;
	int rc = look_at_files(&now, repo);

	return rc < 0 ? rc : digest_and_remember(hex, repo, &now);
}

/* Nothing seen before is nothing changed. */
static bool is_seen(const struct line *line, const char *hex)
{
	return !strcmp(line->digest, hex);
}

static void see(struct line *line, const char *hex)
{
	if (strcmp(line->digest, UNSEEN) != 0)
		line->number++;
	free(line->digest);
	line->digest = ews_strdup(hex);
}

static int write_lines(struct ews_repo *repo, const struct lines *lines)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	format_lines(&text, lines);
	return ews_file_replace(repo->dir_fd, EPOCH_FILE, text.ptr, text.len, 0600);
}

/* Take the lock, and read what is written under it. */
static int take_lines(struct lines *out, struct ews_lock *lock, struct ews_repo *repo)
{
	int rc = ews_repo_lock(lock, repo, EPOCH_LOCK, "epoch", WAIT_MS);

	return rc < 0 ? rc : read_lines(out, repo);
}

/*
 * Under the lock. `hex` is what was seen since the line said `before`; NULL: put it up whatever there is to see.
 * Fails with EWS_ESTALE when somebody saw something else meanwhile, which may be newer.
 */
static int put_up(int64_t *out, struct ews_repo *repo, const char *hex, const char *before)
{
	EWS_CLEANUP(lines) struct lines lines = { NULL, 0, 0 };
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	struct line *line;
	int rc = take_lines(&lines, &lock, repo);

	if (rc < 0)
		return ews_error_wrap("cannot put the epoch up");
	line = find_line(&lines, repo);
	if (hex && strcmp(line->digest, before) != 0 && !is_seen(line, hex))
		return ews_error(EWS_ESTALE, "the project changes");
	if (!hex)
		line->number++;
	else if (!is_seen(line, hex))
		see(line, hex);
	rc = write_lines(repo, &lines);
	if (rc < 0)
		return ews_error_wrap("cannot put the epoch up");
	*out = line->number;
	return 0;
}

/* What can't be written down, since home is closed to us or full, is so all the same. */
static bool is_excused(int rc)
{
	return rc == EWS_EDENIED || rc == EWS_ENOSPACE || rc == EWS_EIO;
}

/*
 * `hex` was seen since `lines` were read: say the number of that, and put it up. Fails with EWS_ESTALE when somebody saw
 * something else meanwhile; `*out` is what the number was.
 */
static int tell(int64_t *out, struct ews_repo *repo, struct lines *lines, const char *hex)
{
	struct line *line = find_line(lines, repo);
	int rc;

	*out = line->number;
	if (is_seen(line, hex))
		return 0;
	rc = put_up(out, repo, hex, line->digest);
	if (!is_excused(rc))
		return rc;
	ews_error_clear();
	see(line, hex);
	*out = line->number;
	return 0;
}

/* What is seen of another directory in its place says nothing of the project. */
static int need_same(struct ews_repo *repo)
{
	int rc = ews_repo_refuse_anew(repo);

	return rc < 0 ? rc : ews_repo_make_dir(repo);
}

int ews_epoch_look(int64_t *out, struct ews_repo *repo)
{
	int rc = need_same(repo);

	for (int left = LOOKS - 1; rc == 0; left--) {
		EWS_CLEANUP(lines) struct lines lines = { NULL, 0, 0 };
		char hex[2 * EWS_HASH_MAX + 1];

		rc = read_lines(&lines, repo);
		if (rc == 0)
			rc = look_and_digest(hex, repo);
		if (rc < 0)
			break;
		rc = tell(out, repo, &lines, hex);
		if (rc == 0)
			return 0;
		if (rc != EWS_ESTALE)
			break;
		ews_error_clear();
		if (!left) {
			struct line *line = find_line(&lines, repo);

			see(line, hex);
			*out = line->number;
			return 0;
		}
		rc = 0;
	}
	return ews_error_wrap("cannot find the project's epoch");
}

struct ews_epoch_looking {
	struct lines lines; /* as they were before */
	struct ews_look *look;
	struct ews_content now;
	bool is_seen; /* `now` is what was found */
	struct ews_beside beside;
};

void ews_epoch_looking_free(struct ews_epoch_looking *looking)
{
	if (!looking)
		return;
	ews_beside_release(&looking->beside);
	ews_look_free(looking->look);
	ews_content_release(&looking->now);
	release_lines(&looking->lines);
	free(looking);
}

static int finish_look(void *payload)
{
	struct ews_epoch_looking *looking = payload;
	int rc = ews_look_finish(&looking->now, looking->look);

	looking->is_seen = rc == 0;
	/* Of many files the list is no longer there while others are. */
	if (rc == 0 && has_digest(&looking->now) && !looking->now.cache_is_stale)
		ews_entries_release(&looking->now.scan.entries);
	return rc;
}

void ews_epoch_look_begin(struct ews_epoch_looking **out, struct ews_repo *repo)
{
	EWS_CLEANUP(epoch_looking) struct ews_epoch_looking *looking = ews_calloc(1, sizeof(*looking));

	*looking = (struct ews_epoch_looking){ .now = EWS_CONTENT_INIT, .beside = EWS_BESIDE_INIT };
	/* One processor has nothing to spare. What goes wrong here is found again, and told, at the end. */
	if (repo->is_bare || ews_pool_threads() < 2 || need_same(repo) < 0 || read_lines(&looking->lines, repo) < 0 ||
	    ews_look_begin(&looking->look, repo, NULL, NULL, &look_opts) < 0) {
		ews_error_clear();
		return;
	}
	ews_beside_begin(&looking->beside, finish_look, looking);
	*out = ews_steal(&looking);
}

void ews_epoch_look_wait(struct ews_epoch_looking *looking)
{
	/* What went wrong is found again, and told, at the end. */
	if (looking && ews_beside_end(&looking->beside) < 0)
		ews_error_clear();
}

int ews_epoch_look_end(int64_t *out, struct ews_repo *repo, struct ews_epoch_looking *looking)
{
	char hex[2 * EWS_HASH_MAX + 1];

	if (looking && ews_beside_end(&looking->beside) == 0 && looking->is_seen &&
	    digest_and_remember(hex, repo, &looking->now) == 0 && tell(out, repo, &looking->lines, hex) == 0)
		return 0;
	ews_error_clear();
	return ews_epoch_look(out, repo);
}

int ews_epoch_of(int64_t *out, struct ews_repo *repo, struct ews_content *now)
{
	EWS_CLEANUP(lines) struct lines lines = { NULL, 0, 0 };
	char hex[2 * EWS_HASH_MAX + 1];
	int rc = need_same(repo);

	if (rc == 0)
		rc = read_lines(&lines, repo);
	if (rc == 0)
		rc = digest(hex, repo, now);
	if (rc == 0)
		rc = tell(out, repo, &lines, hex);
	/* What somebody saw meanwhile may be newer: then what was found is called stale, which it may be. */
	if (rc == EWS_ESTALE) {
		ews_error_clear();
		rc = 0;
	}
	return rc < 0 ? ews_error_wrap("cannot find the project's epoch") : 0;
}

int ews_epoch_bump(int64_t *out, struct ews_repo *repo)
{
	int rc = need_same(repo);

	return rc < 0 ? rc : put_up(out, repo, NULL, NULL);
}

static int follow(struct ews_repo *repo, const char *was)
{
	EWS_CLEANUP(lines) struct lines lines = { NULL, 0, 0 };
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(buf) struct ews_buf from = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *to = name_project(repo);
	struct line *line;
	int rc = take_lines(&lines, &lock, repo);

	if (rc < 0)
		return rc;
	ews_path_escape(&from, was, strlen(was));
	line = line_of(&lines, from.ptr);
	if (!line || line_of(&lines, to))
		return 0;
	free(line->project);
	line->project = ews_steal(&to);
	return write_lines(repo, &lines);
}

void ews_epoch_follow(struct ews_repo *repo, const char *was)
{
	if (follow(repo, was) < 0)
		ews_error_clear();
}
