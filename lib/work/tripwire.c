/*
 * Tripwire: see tripwire.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/tripwire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/index_digest.h"
#include "store/lock.h"
#include "store/reflog.h"
#include "work/history.h"

#define TRIPWIRE_FILE "tripwire"
#define TOLD_FILE "told-refs" /* "ref <name> <id>" a line, of all sessions */
#define TOLD_INDEX_FILE \
	"told-index" /* "<git directory, escaped> <digest> <digest>" a line, likewise; the latest come last */
#define TOLD_INDEX_MAX 200 /* of them */
#define NO_INDEX "none:0" /* in place of the digest */
#define TOLD_LOCK "~told-refs" /* no session's id */
#define LOCK_WAIT_MS 10000
#define SHOWN_DIGITS 12 /* of an id */
#define STASH_REF "refs/stash"
#define STASH "stash " /* before "<number> <message> <id>"; the latest has the number 0, as with git */
#define STASH_DIGITS 6
#define SHALLOW "shallow"
#define INDEX "index"
#define SYMBOLIC "ref:" /* before the name that a symbolic ref stands for */
#define TRIPWIRE_BYTES_MAX (256 * EWS_MIB)
#define WATCHED_BYTES_MAX (2 * EWS_GIB)

/* What stands in it, a file or a link; nothing of what is gone, or is neither. */
static int read_watched(struct ews_buf *out, int dir_fd, const char *name, const struct stat *st)
{
	int rc;

	if (S_ISLNK(st->st_mode)) {
		ews_buf_reserve(out, (size_t)st->st_size + 1);
		if (readlinkat(dir_fd, name, out->ptr, (size_t)st->st_size + 1) == st->st_size)
			out->len = (size_t)st->st_size;
		out->ptr[out->len] = '\0';
		return 0;
	}
	if (!S_ISREG(st->st_mode))
		return 0;
	rc = ews_file_read(out, dir_fd, name, WATCHED_BYTES_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc;
}

/* What is looked at, and where copies go; below 0: nowhere. */
struct look {
	struct ews_tripwire *out;
	int keep_fd;
	enum ews_hash_algo algo; /* of the ids that the index has */
};

/* Git writes the index anew when it has but looked at files: what counts is what it says. */
static bool is_index(const char *place, const char *name)
{
	return !*place && !strcmp(name, INDEX);
}

/* The digest of a file, which need not be in memory: an index may be large. Of one that is gone it is that of nothing. */
static int digest_file(uint8_t *out, const struct look *look, int dir_fd, const char *place, const char *name)
{
	int rc = is_index(place, name) ? ews_index_digest(out, dir_fd, name, look->algo, WATCHED_BYTES_MAX)
				       : ews_file_digest(out, EWS_SHA256, dir_fd, name, WATCHED_BYTES_MAX);

	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	ews_hash_once(EWS_SHA256, out, "", 0);
	return 0;
}

/* The digest of what stands there, which is in `data` then. */
static int digest_read(uint8_t *out, struct ews_buf *data, const struct look *look, int dir_fd, const char *place,
		       const char *name, const struct stat *st)
{
	int rc = read_watched(data, dir_fd, name, st);

	if (rc < 0)
		return rc;
	if (S_ISREG(st->st_mode) && is_index(place, name))
		ews_index_digest_bytes(out, data->ptr, data->len, look->algo);
	else
		ews_hash_once(EWS_SHA256, out, data->ptr, data->len);
	return 0;
}

/* The directory for copies from `place`, which is "" or ends in a slash. */
static int open_keep(int keep_fd, const char *place)
{
	EWS_CLEANUP(free) char *dir = *place ? ews_strndup(place, strlen(place) - 1) : ews_strdup(".");
	int rc = *place ? ews_dir_make(keep_fd, dir, 0700) : 0;

	return rc < 0 ? rc : ews_dir_open_beneath(keep_fd, dir);
}

/* A regular file or a link, as it was read. Not synced: it serves a command that is running. */
static int keep_copy(int keep_fd, const char *place, const char *name, const struct ews_buf *data,
		     const struct stat *st)
{
	const struct timespec times[2] = { st->st_mtim, st->st_mtim };
	EWS_CLEANUP(fd) int dir_fd = -1;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
		return 0;
	dir_fd = open_keep(keep_fd, place);
	if (dir_fd < 0)
		return dir_fd;
	if (S_ISLNK(st->st_mode)) {
		rc = symlinkat(data->ptr, dir_fd, name);
	} else {
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		rc = fd < 0 || ews_file_write_fd(fd, data->ptr, data->len) < 0 || fchmod(fd, st->st_mode & 07777) < 0
			     ? -1
			     : 0;
	}
	if (rc < 0 || utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot keep a copy of '%s'", name);
	return 0;
}

/* "<place><escaped name> <sha256>:<mode>" of one file; nothing when there is none. */
static int add_file(const struct look *look, int dir_fd, const char *place, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];
	struct stat st;
	int rc;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : ews_error_os("cannot look at '%s'", name);
	rc = S_ISREG(st.st_mode) && look->keep_fd < 0 ? digest_file(digest, look, dir_fd, place, name)
						      : digest_read(digest, &data, look, dir_fd, place, name, &st);
	if (rc < 0)
		return rc;
	ews_hex(hex, digest, 32);
	ews_path_escape(&escaped, name, strlen(name));
	ews_strv_addf(&look->out->lines, "%s%s %s:%o", place, escaped.ptr, hex, (unsigned)st.st_mode);
	return look->keep_fd < 0 ? 0 : keep_copy(look->keep_fd, place, name, &data, &st);
}

/* git gc writes this list of the refs anew, for servers that can't list them. */
static bool is_derived(const char *place, const char *name)
{
	return !strcmp(place, "info/") && !strcmp(name, "refs");
}

static int add_dir(const struct look *look, int git_fd, const char *dir)
{
	EWS_CLEANUP(free) char *place = ews_strfmt("%s/", dir);
	EWS_CLEANUP(fd) int fd = openat(git_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot open '%s'", dir);
	n = ews_dir_names_read(&names, fd);
	for (ssize_t i = 0; i < n && rc == 0; i++)
		if (!is_derived(place, names.items[i].name))
			rc = add_file(look, fd, place, names.items[i].name);
	return n < 0 ? (int)n : rc;
}

/* The ref is the latest of them; the others are in its log. */
static int add_stashes(struct ews_tripwire *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv list = EWS_STRV_INIT;
	int rc = ews_reflog_list(&list, repo->odb, STASH_REF);

	for (size_t i = 0; i < list.n; i++)
		ews_strv_addf(&out->lines, STASH "%0*zu %s", STASH_DIGITS, list.n - 1 - i, list.items[i]);
	return rc;
}

/* Where history ends. Whole history has a line, too: a tripwire of old has none, and nobody knows then. */
static int add_shallow(const struct look *look, struct ews_repo *repo)
{
	size_t n = look->out->lines.n;
	int rc = add_file(look, repo->common_fd, "", SHALLOW);

	if (rc == 0 && look->out->lines.n == n)
		ews_strv_add(&look->out->lines, SHALLOW " none:0");
	return rc;
}

static int add_refs(struct ews_tripwire *out, struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list_but(&refs, repo->odb, "refs/", "refs/ews/");

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < refs.n && rc == 0; i++) {
		const struct ews_ref *ref = &refs.items[i];
		char hex[EWS_OID_HEX_MAX];

		if (!strcmp(ref->name, STASH_REF))
			rc = add_stashes(out, repo);
		ews_strv_addf(&out->lines, "ref %s %s%s", ref->name, ref->target ? SYMBOLIC : "",
			      ref->target ? ref->target : ews_oid_hex(hex, &ref->oid));
	}
	return rc;
}

/* The part of a line before its last blank: what it is about. */
static size_t name_len(const char *line)
{
	const char *blank;

	assert(line);
	blank = strrchr(line, ' ');

	return blank ? (size_t)(blank - line) : strlen(line);
}

static int cmp_names(const char *a, const char *b)
{
	size_t a_len = name_len(a), b_len = name_len(b);
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* A name may hold blanks, so that the order of whole lines would not be that of what they are about. */
static int cmp_lines(const void *a, const void *b)
{
	return cmp_names(*(char *const *)a, *(char *const *)b);
}

static int read_lines(struct ews_strv *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, dir_fd, name, TRIPWIRE_BYTES_MAX);
	char *line, *rest;

	if (rc < 0)
		return rc;
	for (line = strtok_r(text.ptr, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		ews_strv_add(out, line);
	return 0;
}

static int write_lines(int dir_fd, const char *name, const struct ews_strv *lines)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < lines->n; i++)
		ews_buf_addf(&text, "%s\n", lines->items[i]);
	return ews_file_replace(dir_fd, name, text.ptr, text.len, 0600);
}

/* What a line of TOLD_INDEX_FILE begins with that is of this work tree. The caller frees it. */
static char *told_index_prefix(const struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;

	ews_path_escape(&escaped, repo->git_dir, strlen(repo->git_dir));
	ews_buf_addc(&escaped, ' ');
	return ews_buf_steal(&escaped);
}

/* None told, or what can't be read: then they are differences. */
static void add_told(struct ews_tripwire *out, const struct ews_repo *repo)
{
	if (repo->dir_fd >= 0 && read_lines(&out->told, repo->dir_fd, TOLD_FILE) < 0)
		ews_error_clear();
}

/* Likewise what we staged. */
static void add_staged(struct ews_tripwire *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *prefix = told_index_prefix(repo);

	if (repo->dir_fd >= 0 && read_lines(&lines, repo->dir_fd, TOLD_INDEX_FILE) < 0)
		ews_error_clear();
	for (size_t i = 0; i < lines.n; i++)
		if (ews_str_begins(lines.items[i], prefix))
			ews_strv_add(&out->staged, lines.items[i] + strlen(prefix));
}

static int take(const struct look *look, struct ews_repo *repo)
{
	int rc;

	/* Before and after the refs: of one that is moved meanwhile both places are told, wherever it was found. */
	add_told(look->out, repo);
	rc = add_refs(look->out, repo);
	if (rc == 0)
		add_told(look->out, repo);
	if (rc == 0)
		rc = add_file(look, repo->git_fd, "", "HEAD");
	if (rc == 0)
		rc = add_file(look, repo->git_fd, "", INDEX);
	if (rc == 0)
		rc = add_file(look, repo->common_fd, "", "config");
	if (rc == 0)
		rc = add_file(look, repo->git_fd, "", "config.worktree");
	if (rc == 0)
		rc = add_dir(look, repo->common_fd, "hooks");
	if (rc == 0)
		rc = add_dir(look, repo->common_fd, "info");
	if (rc == 0)
		rc = add_shallow(look, repo);
	if (rc < 0)
		return ews_error_wrap("cannot look at the project's state");
	/* Once the index was looked at: what is staged meanwhile is told after it was. */
	add_staged(look->out, repo);
	if (look->out->lines.n)
		qsort(look->out->lines.items, look->out->lines.n, sizeof(*look->out->lines.items), cmp_lines);
	return 0;
}

int ews_tripwire_take(struct ews_tripwire *out, struct ews_repo *repo)
{
	return take(&(struct look){ out, -1, ews_odb_algo(repo->odb) }, repo);
}

int ews_tripwire_take_keeping(struct ews_tripwire *out, struct ews_repo *repo, int keep_fd)
{
	return take(&(struct look){ out, keep_fd, ews_odb_algo(repo->odb) }, repo);
}

/* What is done with each thing that differs: NULL is what was not there, or is not any more. */
struct teller {
	void (*add)(const struct teller *teller, const char *before, const char *after);
	struct ews_strv *out;
	const struct ews_tripwire *before, *after;
	const struct ews_repo *repo;
	const char *kept;
	const struct ews_oids *beyond; /* commits that no ref has led to all the time; NULL: nobody can tell */
};

/* The name that the ref of this line stands for; NULL: it is none, or has an id. */
static const char *target_of(const char *line)
{
	const char *value = line ? line + name_len(line) + 1 : "";

	return ews_str_after(value, SYMBOLIC);
}

static void add_move(struct ews_strv *out, const char *before, const char *after)
{
	int len = (int)name_len(before);
	const char *was = target_of(before), *is = target_of(after);
	EWS_CLEANUP(free) char *from = was ? ews_strdup(was) : ews_strndup(before + len + 1, SHOWN_DIGITS);
	EWS_CLEANUP(free) char *to = is ? ews_strdup(is) : ews_strndup(after + len + 1, SHOWN_DIGITS);

	ews_strv_addf(out, "%.*s moved from %s to %s", len, before, from, to);
}

static bool is_stash(const char *line)
{
	return ews_str_begins(line, STASH);
}

/* What git says of it, escaped. */
static char *stash_message(const char *line)
{
	size_t start = strlen(STASH) + STASH_DIGITS + 1, end = name_len(line);

	return ews_strndup(line + start, end > start ? end - start : 0);
}

static void add_stash(struct ews_strv *out, const char *line, const char *what)
{
	EWS_CLEANUP(free) char *message = stash_message(line);

	ews_strv_addf(out, "stash %.*s (%s) %s", SHOWN_DIGITS, line + name_len(line) + 1, message, what);
}

static void add_sentence(const struct teller *teller, const char *before, const char *after)
{
	struct ews_strv *out = teller->out;
	int len = (int)name_len(before ? before : after);

	if (is_stash(before ? before : after))
		add_stash(out, before ? before : after, before ? "is gone" : "is new");
	else if (!before)
		ews_strv_addf(out, "%.*s is new", len, after);
	else if (!after)
		ews_strv_addf(out, "%.*s is gone", len, before);
	else if (ews_str_begins(before, "ref "))
		add_move(out, before, after);
	else
		ews_strv_addf(out, "%.*s changed", len, before);
}

/* The line of the stash with the id that `line` ends in, whatever its number is by now; `line` itself will do. */
static const char *find_stash(const struct ews_tripwire *tripwire, const char *line)
{
	const char *id = line + name_len(line);

	for (size_t i = 0; i < tripwire->lines.n; i++) {
		const char *other = tripwire->lines.items[i];

		if (is_stash(other) && !strcmp(other + name_len(other), id))
			return other;
	}
	return NULL;
}

/* Do its stashes tell all that its ref of them does? A tripwire of old has none, and neither does a log in another format. */
static bool knows_stashes(const struct ews_tripwire *tripwire)
{
	const char *line = NULL;

	for (size_t i = 0; i < tripwire->lines.n && !line; i++)
		if (ews_str_begins(tripwire->lines.items[i], "ref " STASH_REF " "))
			line = tripwire->lines.items[i];
	return !line || find_stash(tripwire, line);
}

/* What is new first, then what is gone, the oldest of it first: so the commands that bring it back keep its order. */
static void each_stash(const struct teller *teller, const struct ews_tripwire *before,
		       const struct ews_tripwire *after)
{
	for (size_t i = after->lines.n; i-- > 0;)
		if (is_stash(after->lines.items[i]) && !find_stash(before, after->lines.items[i]))
			teller->add(teller, NULL, after->lines.items[i]);
	for (size_t i = before->lines.n; i-- > 0;)
		if (is_stash(before->lines.items[i]) && !find_stash(after, before->lines.items[i]))
			teller->add(teller, before->lines.items[i], NULL);
}

/*
 * Has it a digest of what the index says? Of old it was one of the bytes, under the same name, which a refresh changes. All that
 * have a line of where history ends have the one of today; of those before nobody can tell.
 */
static bool knows_index(const struct ews_tripwire *tripwire)
{
	return ews_tripwire_find(tripwire, SHALLOW);
}

/* What two tripwires know, so that what they differ in is a difference. */
struct known {
	bool all_stashes;
	bool index;
	const struct ews_strv *staged; /* by us */
};

/* The digest that a line of the index ends in. */
static const char *index_of(const char *line)
{
	return line ? line + strlen(INDEX) + 1 : NO_INDEX;
}

/* Did we make the second of these indexes of the first, by way of others maybe? */
static bool is_of_ours(const struct ews_strv *staged, const char *from, const char *to)
{
	EWS_CLEANUP(strv) struct ews_strv ours = EWS_STRV_INIT;

	ews_strv_add(&ours, from);
	for (size_t i = 0; i < ours.n && !ews_strv_has(&ours, to); i++)
		for (size_t k = 0; k < staged->n; k++) {
			const char *made = ews_str_after(staged->items[k], ours.items[i]);

			if (made && *made == ' ' && !ews_strv_has(&ours, made + 1))
				ews_strv_add(&ours, made + 1);
		}
	return ews_strv_has(&ours, to);
}

/* Is it told otherwise, or not to be told? */
static bool is_passed_over(const char *before, const char *after, const struct known *known)
{
	const char *line = before ? before : after;

	return is_stash(line) || (known->all_stashes && ews_str_begins(line, "ref " STASH_REF " ")) ||
	       (!before && ews_str_begins(line, SHALLOW " ")) ||
	       (ews_str_begins(line, INDEX " ") && ((before && after && !known->index) ||
						    is_of_ours(known->staged, index_of(before), index_of(after))));
}

static void each_difference(const struct teller *teller, const struct ews_tripwire *before,
			    const struct ews_tripwire *after)
{
	bool knew_stashes = knows_stashes(before);
	const struct known known = { knew_stashes && knows_stashes(after),
				     knows_index(before) && knows_index(after), &after->staged };
	size_t i = 0, k = 0;

	while (i < before->lines.n || k < after->lines.n) {
		const char *old = before->lines.items[i], *now = after->lines.items[k];
		int order = !old ? 1 : !now ? -1 : cmp_names(old, now);

		if ((order != 0 || strcmp(old, now)) && !(order >= 0 && ews_strv_has(&after->told, now)) &&
		    !is_passed_over(order <= 0 ? old : NULL, order >= 0 ? now : NULL, &known))
			teller->add(teller, order <= 0 ? old : NULL, order >= 0 ? now : NULL);
		i += order <= 0;
		k += order >= 0;
	}
	if (knew_stashes)
		each_stash(teller, before, after);
}

int ews_tripwire_compare(struct ews_strv *out, const struct ews_tripwire *before, const struct ews_tripwire *after)
{
	size_t was = out->n;

	each_difference(&(struct teller){ .add = add_sentence, .out = out }, before, after);
	return (int)(out->n - was);
}

/*
 * git tells stashes by their log, which no 'git update-ref' brings back. A message with control characters is none to be pasted.
 * For one that came there is no command: what it holds is in no file any more, and to drop it would lose that.
 */
static void add_stash_command(const struct teller *teller, const char *before)
{
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *message = before && is_stash(before) ? stash_message(before) : ews_strdup("");

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
	ews_buf_adds(&command, before + name_len(before) + 1);
	ews_strv_add(teller->out, command.ptr);
}

/* The ref that a line is about, which has an id; NULL: it is about none. The caller frees it. */
static char *ref_with_id(const char *line)
{
	return ews_str_begins(line, "ref ") && !target_of(line) ? ews_strndup(line + 4, name_len(line) - 4) : NULL;
}

/* The ids that the ref of `line`, or its log, names. */
static int list_named(struct ews_strv *out, const struct ews_repo *repo, const char *ref, const char *line)
{
	EWS_CLEANUP(strv) struct ews_strv log = EWS_STRV_INIT;
	int rc = ews_reflog_list(&log, repo->odb, ref);

	ews_strv_add(out, line + name_len(line) + 1);
	for (size_t i = 0; i < log.n; i++)
		ews_strv_add(out, strrchr(log.items[i], ' ') + 1);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc;
}

static void add_new_ref(const struct teller *teller, const char *before, const char *after)
{
	EWS_CLEANUP(free) char *ref = before ? NULL : ref_with_id(after);

	if (ref)
		ews_strv_add(teller->out, after);
}

/* The ids of all refs but those of the lines `but`, which are sorted. */
static void list_ids(struct ews_strv *out, const struct ews_tripwire *tripwire, const struct ews_strv *but)
{
	for (size_t i = 0; i < tripwire->lines.n; i++) {
		const char *line = tripwire->lines.items[i];
		EWS_CLEANUP(free) char *ref = ref_with_id(line);

		if (ref && !ews_strv_sorted_has(but, line))
			ews_strv_add(out, line + name_len(line) + 1);
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

	each_difference(&(struct teller){ .add = add_new_ref, .out = &lines }, before, after);
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
		EWS_CLEANUP(free) char *name = ews_strndup(line, name_len(line));
		const char *was;

		if (!ews_str_begins(line, "ref ") || strcmp(line + name_len(line) + 1, hex) != 0)
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

/* For each difference its command, by `add`. */
static void each_command(struct teller *teller)
{
	EWS_CLEANUP(oids) struct ews_oids beyond = EWS_OIDS_INIT;

	if (find_beyond(&beyond, teller->before, teller->after, teller->repo) == 0)
		teller->beyond = &beyond;
	ews_error_clear();
	each_difference(teller, teller->before, teller->after);
	teller->beyond = NULL; /* it goes with this function */
}

/*
 * git lets a ref's name hold quotes, dollars and semicolons. Through a symbolic ref it would move or delete the one that is
 * meant by it, unless told to leave that.
 */
static void add_ref_command(const struct teller *teller, const char *before, const char *after)
{
	const char *line = before ? before : after;
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *ref = NULL;
	const char *target;
	size_t len;

	assert(line);
	target = target_of(line);
	if (is_stash(line) || (!target && ews_str_begins(line, "ref " STASH_REF " "))) {
		add_stash_command(teller, before);
		return;
	}
	if (!ews_str_begins(line, "ref "))
		return;
	len = name_len(line);
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
	else if (!target && target_of(after))
		ews_buf_adds(&command, "--no-deref ");
	ews_shell_quote(&command, ref);
	if (before) {
		ews_buf_addc(&command, ' ');
		ews_shell_quote(&command, target ? target : before + len + 1);
	}
	if (after && !target && !target_of(after))
		ews_buf_addf(&command, " %s", after + len + 1);
	ews_strv_add(teller->out, command.ptr);
}

void ews_tripwire_ref_commands(struct ews_strv *out, const struct ews_tripwire *before,
			       const struct ews_tripwire *after, const struct ews_repo *repo)
{
	each_command(&(struct teller){ add_ref_command, out, before, after, repo, NULL, NULL });
}

/* The mode that the line of a file ends in; 0: there is no such file. */
static mode_t mode_of(const char *line)
{
	return line ? (mode_t)strtoul(strrchr(line, ':') + 1, NULL, 8) : 0;
}

/* The shell's words for what brings the file `name` back as it was: nothing when that was neither a file nor a link. */
static void add_file_words(struct ews_buf *command, const struct teller *teller, const char *name, mode_t mode)
{
	bool is_ours = !strcmp(name, "HEAD") || !strcmp(name, INDEX) || !strcmp(name, "config.worktree");
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
static void add_any_command(const struct teller *teller, const char *before, const char *after)
{
	const char *line = before ? before : after;
	EWS_CLEANUP(buf) struct ews_buf command = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *name = NULL;
	size_t had = teller->out->n;

	assert(line);
	if (ews_str_begins(line, "ref ") || is_stash(line)) {
		add_ref_command(teller, before, after);
		if (teller->out->n == had)
			ews_strv_add(teller->out, "");
		return;
	}
	name = ews_strndup(line, name_len(line));
	if (!strchr(name, '\\'))
		add_file_words(&command, teller, name, mode_of(before));
	ews_strv_add(teller->out, command.len ? command.ptr : "");
}

void ews_tripwire_commands(struct ews_strv *out, const struct ews_tripwire *before,
			   const struct ews_tripwire *after, const struct ews_repo *repo, const char *kept)
{
	each_command(&(struct teller){ add_any_command, out, before, after, repo, kept, NULL });
}

/* The line about `name`, or NULL. */
static char **find_line(const struct ews_tripwire *tripwire, const char *name)
{
	for (size_t i = 0; i < tripwire->lines.n; i++)
		if (name_len(tripwire->lines.items[i]) == strlen(name) &&
		    ews_str_begins(tripwire->lines.items[i], name))
			return &tripwire->lines.items[i];
	return NULL;
}

const char *ews_tripwire_find(const struct ews_tripwire *tripwire, const char *name)
{
	char **line = find_line(tripwire, name);

	return line ? *line + strlen(name) + 1 : NULL;
}

/* Is it about something else than `payload`? */
static bool is_of_another(void *payload, const char *line)
{
	return name_len(line) != strlen(payload) || !ews_str_begins(line, payload);
}

void ews_tripwire_set(struct ews_tripwire *tripwire, const char *name, const char *value)
{
	EWS_CLEANUP(free) char *of = ews_strdup(name);

	ews_strv_filter(&tripwire->lines, is_of_another, of);
	if (!value)
		return;
	ews_strv_addf(&tripwire->lines, "%s %s", name, value);
	qsort(tripwire->lines.items, tripwire->lines.n, sizeof(*tripwire->lines.items), cmp_lines);
}

bool ews_tripwire_follow(struct ews_tripwire *kept, const struct ews_tripwire *before,
			 const struct ews_tripwire *after)
{
	static const char *const files[] = { "config", "config.worktree" };
	bool changed = false;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char **was = find_line(before, files[i]), **is = find_line(after, files[i]);
		char **known = find_line(kept, files[i]);

		if (!was || !is || !known || strcmp(*known, *was) || !strcmp(*was, *is))
			continue;
		free(*known);
		*known = ews_strdup(*is);
		changed = true;
	}
	return changed;
}

/*
 * Is it about a ref that is not there any more, or about `name`, which stands elsewhere? Where that still stands it is told until it has
 * moved, for whoever looks in between.
 */
static bool is_outdated(const char *line, const char *name, struct ews_repo *repo)
{
	size_t len = name_len(line);
	EWS_CLEANUP(free) char *ref = len > 4 ? ews_strndup(line + 4, len - 4) : ews_strdup("");
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid oid;
	int rc = ews_odb_ref_read(&oid, repo->odb, ref);

	if (rc < 0)
		return ews_error_if_passing(rc) == 0;
	return !strcmp(ref, name) && strcmp(line + len + 1, ews_oid_hex(hex, &oid)) != 0;
}

static char *told_line(const char *name, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	return ews_strfmt("ref %s %s", name, ews_oid_hex(hex, oid));
}

static void tell_ref(struct ews_repo *repo, const char *name, const struct ews_oid *oid)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv kept = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *line = told_line(name, oid);
	int rc = read_lines(&lines, repo->dir_fd, TOLD_FILE);

	/* None yet, or none that makes sense; what can't be read just now is not written anew without what it says. */
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return;
	for (size_t i = 0; i < lines.n; i++)
		if (!is_outdated(lines.items[i], name, repo))
			ews_strv_add(&kept, lines.items[i]);
	if (!ews_strv_has(&kept, line))
		ews_strv_add(&kept, line);
	(void)write_lines(repo->dir_fd, TOLD_FILE, &kept);
}

int ews_tripwire_move_ref(struct ews_repo *repo, const char *name, const struct ews_oid *from,
			  const struct ews_oid *to)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	/* Held until the ref is there: one that is not is one that nobody has to be told of any more. */
	bool is_telling = ews_repo_lock(&lock, repo, TOLD_LOCK, "tell", LOCK_WAIT_MS) == 0;
	int rc;

	if (is_telling)
		tell_ref(repo, name, to);
	ews_error_clear();
	rc = ews_odb_ref_swap(repo->odb, name, from, to);
	if (rc < 0 || !is_telling || !from)
		return rc;
	/* It has left where it stood: who moves it back there is named. */
	tell_ref(repo, name, to);
	ews_error_clear();
	return 0;
}

bool ews_tripwire_has_moved_ref(const struct ews_repo *repo, const char *name, const struct ews_oid *oid)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *line = told_line(name, oid);

	if (read_lines(&lines, repo->dir_fd, TOLD_FILE) < 0)
		ews_error_clear(); /* none yet, or none that can be read */
	return ews_strv_has(&lines, line);
}

int ews_tripwire_take_index(struct ews_tripwire *out, struct ews_repo *repo)
{
	return add_file(&(struct look){ out, -1, ews_odb_algo(repo->odb) }, repo->git_fd, "", INDEX);
}

static void tell_index(struct ews_repo *repo, const char *before, const char *after)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv kept = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *prefix = told_index_prefix(repo);
	EWS_CLEANUP(free) char *line = ews_strfmt("%s%s %s", prefix, before, after);
	int rc = read_lines(&lines, repo->dir_fd, TOLD_INDEX_FILE);

	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return; /* as with refs */
	for (size_t i = lines.n >= TOLD_INDEX_MAX ? lines.n - TOLD_INDEX_MAX + 1 : 0; i < lines.n; i++)
		if (strcmp(lines.items[i], line) != 0)
			ews_strv_add(&kept, lines.items[i]);
	ews_strv_add(&kept, line);
	(void)write_lines(repo->dir_fd, TOLD_INDEX_FILE, &kept);
}

void ews_tripwire_tell_index(struct ews_repo *repo, const struct ews_tripwire *before,
			     const struct ews_tripwire *after)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	const char *was = ews_tripwire_find(before, INDEX), *is = ews_tripwire_find(after, INDEX);

	was = was ? was : NO_INDEX;
	is = is ? is : NO_INDEX;
	if (strcmp(was, is) != 0 && ews_repo_lock(&lock, repo, TOLD_LOCK, "tell", LOCK_WAIT_MS) == 0)
		tell_index(repo, was, is);
	ews_error_clear();
}

int ews_tripwire_write(int session_fd, const struct ews_tripwire *tripwire)
{
	return write_lines(session_fd, TRIPWIRE_FILE, &tripwire->lines);
}

int ews_tripwire_read(struct ews_tripwire *out, int session_fd)
{
	return read_lines(&out->lines, session_fd, TRIPWIRE_FILE);
}

void ews_tripwire_release(struct ews_tripwire *tripwire)
{
	ews_strv_release(&tripwire->lines);
	ews_strv_release(&tripwire->told);
	ews_strv_release(&tripwire->staged);
}
