/*
 * Archives: see archive.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/home.h"
#include "store/litter.h"
#include "work/artifact_type.h"

#define VERSION 1
#define STAMP_LEN 15 /* 20251010T140732 */
#define HEX_LEN 8
#define NAME_MAX_LEN 100 /* of the directory's name in that of the archive */
#define HIDDEN_PREFIX ".tmp-"

void ews_archive_rules_copy(struct ews_archive_rules *out, const struct ews_archive_rules *from)
{
	ews_strv_add_array(&out->keep, from->keep.items);
	ews_strv_add_array(&out->ignore, from->ignore.items);
	ews_strv_add_array(&out->assets, from->assets.items);
	out->no_defaults = from->no_defaults;
}

void ews_archive_rules_release(struct ews_archive_rules *rules)
{
	ews_strv_release(&rules->keep);
	ews_strv_release(&rules->ignore);
	ews_strv_release(&rules->assets);
}

int ews_archive_place(char **out, struct ews_repo *repo, const char *home, const char *dir)
{
	EWS_CLEANUP(free) char *store = NULL;
	EWS_CLEANUP(free) char *archives = ews_path_join(home, "archives");
	const char *name;
	size_t len;

	if (repo) {
		int rc = ews_repo_need_dir(repo, true);

		if (rc < 0)
			return rc;
		*out = ews_path_join(archives, ews_path_base(repo->dir));
		return 0;
	}
	/* As its store would be called, if it had one. */
	store = ews_home_store(home, dir);
	name = ews_path_base(store);
	len = strlen(name) - strlen(".git");
	*out = ews_strfmt("%s/%.*s", archives, (int)len, name);
	return 0;
}

static size_t suffix_len(const char *name)
{
	size_t len = strlen(name);

	for (int i = EWS_COMPRESSION_ZSTD; i >= EWS_COMPRESSION_NONE; i--) {
		const char *suffix = ews_compression_suffix((enum ews_compression)i);
		size_t suffix_len = strlen(suffix);

		if (len > suffix_len && !strcmp(name + len - suffix_len, suffix))
			return suffix_len;
	}
	return 0;
}

bool ews_archive_is_name(const char *name)
{
	static const char digits[] = "0123456789";
	static const char hex[] = "0123456789abcdef";
	size_t suffix = suffix_len(name);

	return strlen(name) > STAMP_LEN + 1 + HEX_LEN + 1 + suffix && suffix && strspn(name, digits) == 8 &&
	       name[8] == 'T' && strspn(name + 9, digits) == 6 && name[STAMP_LEN] == '.' &&
	       strspn(name + STAMP_LEN + 1, hex) == HEX_LEN && name[STAMP_LEN + 1 + HEX_LEN] == '.' &&
	       ews_artifact_name_is_safe(name);
}

char *ews_archive_name_new(int64_t now_s, const char *dir, enum ews_compression compression)
{
	EWS_CLEANUP(free) char *safe = ews_artifact_name_safe(ews_path_base(dir));
	uint8_t random[HEX_LEN / 2];
	char hex[HEX_LEN + 1], stamp[STAMP_LEN + 1];
	time_t now = now_s;
	struct tm tm;

	ews_clock_random(random, sizeof(random));
	ews_hex(hex, random, sizeof(random));
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	return ews_strfmt("%s.%s.%.*s%s", stamp, hex, NAME_MAX_LEN, safe, ews_compression_suffix(compression));
}

/* Does `word` name it: whole, by its beginning, or by its eight digits? */
static bool is_meant(const char *name, const char *word)
{
	size_t len = strlen(word);

	return len && (!strncmp(name, word, len) || (len == HEX_LEN && !strncmp(name + STAMP_LEN + 1, word, len)));
}

/* Add all archives in the directory `dir` that `word` may mean; NULL: all that there are. */
static void add_candidates(struct ews_strv *out, const char *dir, const char *word)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++)
		if (ews_archive_is_name(names.items[i].name) && (!word || is_meant(names.items[i].name, word)))
			ews_strv_addf(out, "%s/%s", dir, names.items[i].name);
	ews_error_clear();
}

static void add_everywhere(struct ews_strv *out, const char *home, const char *word)
{
	EWS_CLEANUP(free) char *archives = ews_path_join(home, "archives");
	EWS_CLEANUP(fd) int fd = ews_dir_open(archives);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *dir = ews_path_join(archives, names.items[i].name);

		add_candidates(out, dir, word);
	}
	ews_error_clear();
}

static int fail_ambiguous(const char *word, const struct ews_strv *found)
{
	EWS_CLEANUP(buf) struct ews_buf names = EWS_BUF_INIT;

	for (size_t i = 0; i < found->n && i < 5; i++)
		ews_buf_addf(&names, "%s%s", i ? ", " : "", ews_path_base(found->items[i]));
	ews_error(EWS_EUSAGE, "'%s' is the beginning of %zu archives", word, found->n);
	ews_error_hint("%s%s", names.ptr, found->n > 5 ? ", ..." : "");
	return EWS_EUSAGE;
}

int ews_archive_find(char **out, const char *word, const char *cwd, const char *home, const char *place)
{
	EWS_CLEANUP(strv) struct ews_strv found = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *path = ews_path_absolute(cwd, word);
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		*out = ews_steal(&path);
		return 0;
	}
	if (place && !strchr(word, '/'))
		add_candidates(&found, place, word);
	if (!found.n && !strchr(word, '/'))
		add_everywhere(&found, home, word);
	if (found.n > 1)
		return fail_ambiguous(word, &found);
	if (!found.n) {
		ews_error(EWS_ENOTFOUND, "there is no archive '%s'", word);
		ews_error_hint("'git ews archive list --all' shows those in home; others are named by their paths");
		return EWS_ENOTFOUND;
	}
	*out = ews_strdup(found.items[0]);
	return 0;
}

int ews_archive_open(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return ews_error_os("cannot open '%s'", file);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return ews_error(EWS_EUSAGE, "'%s' is no file", file);
}

bool ews_archive_is_env(const char *text)
{
	return *text && *text != '=';
}

static void add_list(cJSON *object, const char *key, const struct ews_strv *list)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);

	for (size_t i = 0; i < list->n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_json_add_bytes(item, "text", list->items[i]);
		cJSON_AddItemToArray(array, item);
	}
}

static int get_list(struct ews_strv *out, const cJSON *object, const char *key)
{
	const cJSON *array, *item;
	int rc = ews_json_get_array(&array, object, key);

	if (rc < 0)
		return rc;
	cJSON_ArrayForEach(item, array) {
		EWS_CLEANUP(free) char *text = NULL;

		rc = ews_json_get_bytes(&text, item, "text");
		if (rc < 0)
			return rc;
		ews_strv_add(out, text);
	}
	return 0;
}

/* The record's texts that are paths or names. */
#define TEXTS(archive)                                                                                            \
	{                                                                                                         \
		{ "path", &(archive)->path }, { "session_id", &(archive)->session },                              \
			{ "base_commit", &(archive)->base_commit }, { "snapshot_id", &(archive)->base_snapshot }, \
			{ "previous", &(archive)->previous },                                                     \
			{ "previous_checksum", &(archive)->previous_checksum },                                   \
		{                                                                                                 \
			"checksum", &(archive)->checksum                                                          \
		}                                                                                                 \
	}

void ews_archive_format(struct ews_buf *out, const struct ews_archive *archive)
{
	const struct {
		const char *key;
		char *const *text;
	} texts[] = TEXTS(archive);
	EWS_CLEANUP(json) cJSON *object = cJSON_CreateObject();
	char stamp[EWS_STAMP_LEN];

	ews_json_add_int(object, "version", VERSION);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ews_json_add_bytes(object, texts[i].key, *texts[i].text ? *texts[i].text : "");
	ews_json_add_int(object, "mode", archive->mode);
	ews_clock_rfc3339(stamp, archive->created_s);
	(void)cJSON_AddStringToObject(object, "timestamp", stamp);
	(void)cJSON_AddStringToObject(object, "compression", ews_compression_word(archive->compression));
	ews_json_add_int(object, "files_count", (int64_t)archive->n_files);
	ews_json_add_int(object, "total_size_bytes", (int64_t)archive->size_bytes);
	add_list(object, "keep", &archive->rules.keep);
	add_list(object, "ignore", &archive->rules.ignore);
	add_list(object, "static_assets", &archive->rules.assets);
	(void)cJSON_AddBoolToObject(object, "default_ignores", !archive->rules.no_defaults);
	add_list(object, "env", &archive->env);
	ews_json_print(out, object, true);
}

/* What people get to see of somebody else's record is what it says it is. */
static bool is_checksum(const char *text)
{
	static const char start[] = "sha256:";
	size_t len = strlen(start);

	return !strncmp(text, start, len) && strlen(text) == len + 64 && strspn(text + len, "0123456789abcdef") == 64;
}

int ews_archive_parse(struct ews_archive *out, const char *text, size_t len)
{
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	const struct {
		const char *key;
		char **text;
	} texts[] = TEXTS(&archive);
	const char *stamp = NULL, *compression = NULL;
	int64_t mode = -1, n_files = 0, size_bytes = 0;
	bool has_defaults = true;
	int rc = ews_json_parse(&object, text, len);

	if (rc == 0)
		rc = ews_json_check_version(object, VERSION);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && rc == 0; i++)
		rc = ews_json_get_bytes(texts[i].text, object, texts[i].key);
	if (rc == 0 && !is_checksum(archive.checksum))
		rc = ews_error(EWS_EDAMAGED, "its checksum is none");
	/* Those that know nothing of it are as good. */
	if (rc == 0 && cJSON_HasObjectItem(object, "mode"))
		rc = ews_json_get_int(&mode, object, "mode");
	if (rc == 0)
		rc = ews_json_get_string(&stamp, object, "timestamp");
	if (rc == 0)
		rc = ews_clock_parse(&archive.created_s, stamp);
	if (rc == 0)
		rc = ews_json_get_string(&compression, object, "compression");
	if (rc == 0 && ews_compression_read(&archive.compression, compression) < 0)
		rc = ews_error(EWS_EDAMAGED, "'%s' is no way to compress", compression);
	if (rc == 0)
		rc = ews_json_get_int(&n_files, object, "files_count");
	if (rc == 0)
		rc = ews_json_get_int(&size_bytes, object, "total_size_bytes");
	if (rc == 0)
		rc = get_list(&archive.rules.keep, object, "keep");
	if (rc == 0)
		rc = get_list(&archive.rules.ignore, object, "ignore");
	if (rc == 0)
		rc = get_list(&archive.rules.assets, object, "static_assets");
	if (rc == 0)
		rc = ews_json_get_bool(&has_defaults, object, "default_ignores");
	if (rc == 0)
		rc = get_list(&archive.env, object, "env");
	if (rc == 0 && (n_files < 0 || size_bytes < 0))
		rc = ews_error(EWS_EDAMAGED, "it has less than nothing in it");
	if (rc == 0 && (mode < -1 || mode > 07777))
		rc = ews_error(EWS_EDAMAGED, "it has a mode that is none");
	if (rc < 0)
		return ews_error_wrap("the archive's record");
	archive.mode = (int)mode;
	archive.n_files = (uint64_t)n_files;
	archive.size_bytes = (uint64_t)size_bytes;
	archive.rules.no_defaults = !has_defaults;
	*out = archive;
	archive = (struct ews_archive)EWS_ARCHIVE_INIT;
	return 0;
}

/* What the file itself says. */
static int add_stat(struct ews_archive *archive, const char *file, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", file);
	archive->file = ews_strdup(file);
	archive->file_bytes = (uint64_t)st.st_size;
	archive->written_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	if (!archive->created_s)
		archive->created_s = st.st_mtim.tv_sec;
	return 0;
}

static void be_foreign(struct ews_archive *archive)
{
	char **const texts[] = { &archive->path,          &archive->session,  &archive->base_commit,
				 &archive->base_snapshot, &archive->previous, &archive->previous_checksum };

	archive->is_foreign = true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i] = ews_strdup("");
}

int ews_archive_describe(struct ews_archive *out, const char *file, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	int rc = ews_archive_read_record(&text, fd);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		be_foreign(&archive);
		archive.checksum = ews_strdup("");
		rc = 0;
	} else if (rc == 0) {
		rc = ews_archive_parse(&archive, text.ptr, text.len);
	}
	if (rc == 0)
		rc = add_stat(&archive, file, fd);
	if (rc < 0)
		return ews_error_wrap("'%s'", file);
	*out = archive;
	archive = (struct ews_archive)EWS_ARCHIVE_INIT;
	return 0;
}

int ews_archive_describe_content(struct ews_archive *out, const char *file, int fd,
				 struct ews_archive_content *content)
{
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	int rc = 0;

	if (content->record.len) {
		rc = ews_archive_parse(&archive, content->record.ptr, content->record.len);
		if (rc == 0 && (strcmp(archive.checksum, content->checksum) != 0 ||
				archive.n_files != content->n_files || archive.size_bytes != content->size_bytes))
			ews_strv_add(&content->flaws, EWS_ARCHIVE_RECORD "\tis not about these files");
	} else {
		be_foreign(&archive);
		archive.checksum = ews_strdup(content->checksum);
		archive.n_files = content->n_files;
		archive.size_bytes = content->size_bytes;
	}
	if (rc == 0)
		rc = add_stat(&archive, file, fd);
	if (rc < 0)
		return ews_error_wrap("'%s'", file);
	*out = archive;
	archive = (struct ews_archive)EWS_ARCHIVE_INIT;
	return 0;
}

static int cmp_age(const void *a, const void *b)
{
	const struct ews_archive *x = a, *y = b;

	if (x->created_s != y->created_s)
		return x->created_s < y->created_s ? -1 : 1;
	if (x->written_ns != y->written_ns)
		return x->written_ns < y->written_ns ? -1 : 1;
	return strcmp(ews_path_base(x->file), ews_path_base(y->file));
}

/* One that can't be read is in the list all the same. */
static void add_one(struct ews_archives *out, const char *file)
{
	EWS_CLEANUP(fd) int fd = ews_archive_open(file);
	struct ews_archive archive = EWS_ARCHIVE_INIT;

	if (fd < 0 || ews_archive_describe(&archive, file, fd) < 0) {
		archive.problem = ews_strdup(ews_error_message());
		ews_error_clear();
		be_foreign(&archive);
		archive.checksum = ews_strdup("");
		if (fd < 0 || add_stat(&archive, file, fd) < 0)
			archive.file = ews_strdup(file);
		ews_error_clear();
	}
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] = archive;
}

int ews_archive_list(struct ews_archives *out, const char *place)
{
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;

	add_candidates(&files, place, NULL);
	for (size_t i = 0; i < files.n; i++)
		add_one(out, files.items[i]);
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_age);
	return 0;
}

int ews_archive_limit(uint64_t *out_bytes, struct ews_repo *repo)
{
	static const char name[] = "ews.maxTotal";
	const struct ews_setting *setting = ews_setting_find(name);
	EWS_CLEANUP(free) char *users = NULL;
	struct ews_setting_value value = { 0 };
	const char *text = ews_config_command(name);
	int rc;

	if (repo)
		return ews_config_size(out_bytes, ews_repo_config(repo), name);
	if (!text && ews_odb_config_user(&users, name) == 0)
		text = users;
	ews_error_clear();
	rc = ews_setting_read(&value, setting, text ? text : setting->dflt);
	*out_bytes = value.size_bytes;
	return rc < 0 ? ews_error_wrap("%s", name) : 0;
}

/* Rename a file, or where that can't be take it there by copying it; that it is there already is done. */
static int move_file(int to_fd, const char *to, int from_fd, const char *from)
{
	EWS_CLEANUP(fd) int source = -1;
	EWS_CLEANUP(fd) int copy = -1;
	struct stat st;
	int rc;

	if (fstatat(from_fd, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fstatat(to_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : ews_error_os("cannot find '%s'", from);
	if (!renameat(from_fd, from, to_fd, to)) {
		rc = ews_file_sync_dir(to_fd);
		return rc < 0 ? rc : ews_file_sync_dir(from_fd);
	}
	if (errno != EXDEV)
		return ews_error_os("cannot move '%s'", from);
	source = openat(from_fd, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	(void)unlinkat(to_fd, HIDDEN_PREFIX "archive", 0); /* what a killed call left */
	copy = openat(to_fd, HIDDEN_PREFIX "archive", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (source < 0 || copy < 0)
		return ews_error_os("cannot move '%s'", from);
	rc = ews_file_copy_fd(copy, source, (uint64_t)st.st_size, NULL);
	if (rc == 0 && (fchmod(copy, st.st_mode & 07777) < 0 || fsync(copy) < 0 ||
			renameat(to_fd, HIDDEN_PREFIX "archive", to_fd, to) < 0))
		rc = ews_error_os("cannot move '%s'", from);
	if (rc == 0)
		rc = ews_file_sync_dir(to_fd);
	if (rc < 0) {
		(void)unlinkat(to_fd, HIDDEN_PREFIX "archive", 0); /* best effort: recover sweeps it */
		return rc;
	}
	return unlinkat(from_fd, from, 0) < 0 ? ews_error_os("cannot remove '%s'", from) : ews_file_sync_dir(from_fd);
}

/* One that a step took away: where it was, its directory open at `dir_fd`, and its name in the step's trash. */
struct removed {
	struct ews_buf file;
	int dir_fd;
	const char *name;
};

#define REMOVED_INIT { EWS_BUF_INIT, -1, NULL }

static void release_removed(struct removed *removed)
{
	ews_buf_release(&removed->file);
	ews_cleanup_fd(&removed->dir_fd);
}

EWS_CLEANUP_DEFINE(removed, struct removed, release_removed)

static int read_removed(struct removed *out, const struct ews_step *step, const char *line)
{
	const char *tab = strchr(line, '\t');
	EWS_CLEANUP(free) char *dir = NULL;

	if (!tab || ews_path_unescape(&out->file, line, (size_t)(tab - line)) < 0 || *out->file.ptr != '/' ||
	    !ews_path_is_plain(tab + 1) || strchr(tab + 1, '/'))
		return ews_error(EWS_EDAMAGED, "the record of step '%s' is damaged", step->id);
	out->name = tab + 1;
	dir = ews_path_dir(out->file.ptr);
	out->dir_fd = ews_dir_open(dir);
	return out->dir_fd < 0 ? out->dir_fd : 0;
}

static int fail_gone(const struct removed *removed)
{
	return ews_error(EWS_ENOTFOUND, "the archive '%s' is gone: trash has let go of it", removed->file.ptr);
}

/* A step whose archives move. */
struct moving {
	const struct ews_step *step;
	int trash_fd; /* the step's */
	bool back;
};

static int move_removed(const char *line, void *payload)
{
	const struct moving *moving = payload;
	EWS_CLEANUP(removed) struct removed removed = REMOVED_INIT;
	int rc = read_removed(&removed, moving->step, line);

	if (rc == 0 && moving->back) {
		rc = move_file(removed.dir_fd, ews_path_base(removed.file.ptr), moving->trash_fd, removed.name);
		return rc == EWS_ENOTFOUND ? fail_gone(&removed) : rc;
	}
	if (rc == 0)
		rc = move_file(moving->trash_fd, removed.name, removed.dir_fd, ews_path_base(removed.file.ptr));
	if (rc == EWS_ENOTFOUND && !moving->back) {
		ews_error_clear(); /* somebody else removed it */
		rc = 0;
	}
	return rc;
}

int ews_archive_move_all(struct ews_repo *repo, const struct ews_step *step, bool back)
{
	EWS_CLEANUP(free) char *below = ews_strfmt("trash/%s", step->id);
	EWS_CLEANUP(fd) int trash = step->moved.n ? ews_repo_subdir(repo, below) : -1;
	struct moving moving = { step, trash, back };

	return step->moved.n && trash < 0 ? trash : ews_step_each(&step->moved, move_removed, &moving);
}

int ews_archive_find_all(struct ews_repo *repo, const struct ews_step *step)
{
	int rc = 0;

	for (size_t i = 0; i < step->moved.n && rc == 0; i++) {
		EWS_CLEANUP(removed) struct removed removed = REMOVED_INIT;
		EWS_CLEANUP(free) char *there = NULL;

		rc = read_removed(&removed, step, step->moved.items[i]);
		if (rc < 0)
			return rc;
		there = ews_strfmt("trash/%s/%s", step->id, removed.name);
		if (faccessat(repo->dir_fd, there, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		    faccessat(removed.dir_fd, ews_path_base(removed.file.ptr), F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			rc = fail_gone(&removed);
	}
	return rc;
}

static int remove_for_good(const struct ews_strv *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (unlink(files->items[i]) < 0 && errno != ENOENT)
			return ews_error_os("cannot remove '%s'", files->items[i]);
	return 0;
}

int ews_archive_remove(struct ews_repo *repo, const struct ews_strv *files)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc;

	if (!repo)
		return remove_for_good(files);
	rc = ews_repo_need_dir(repo, true);
	if (rc == 0)
		rc = ews_step_init(&step, repo->dir_fd, "drop", NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < files->n; i++)
		ews_path_line_addf(&step.moved, files->items[i], "%zu", i);
	rc = ews_step_write(repo->dir_fd, &step);
	if (rc == 0)
		rc = ews_archive_move_all(repo, &step, false);
	if (rc < 0)
		return rc;
	step.state = EWS_STEP_DONE;
	return ews_step_write(repo->dir_fd, &step);
}

void ews_archive_sweep(const char *home)
{
	EWS_CLEANUP(free) char *archives = ews_path_join(home, "archives");
	EWS_CLEANUP(fd) int fd = ews_dir_open(archives);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(fd) int dir = ews_dir_open_beneath(fd, names.items[i].name);

		if (dir >= 0)
			ews_litter_sweep_dir(dir, HIDDEN_PREFIX);
	}
	ews_error_clear();
}

void ews_archive_release(struct ews_archive *archive)
{
	free(archive->file);
	free(archive->path);
	free(archive->session);
	free(archive->base_commit);
	free(archive->base_snapshot);
	free(archive->previous);
	free(archive->previous_checksum);
	free(archive->checksum);
	free(archive->problem);
	ews_archive_rules_release(&archive->rules);
	ews_strv_release(&archive->env);
	*archive = (struct ews_archive)EWS_ARCHIVE_INIT;
}

void ews_archives_release(struct ews_archives *list)
{
	for (size_t i = 0; i < list->n; i++)
		ews_archive_release(&list->items[i]);
	free(list->items);
	*list = (struct ews_archives)EWS_ARCHIVES_INIT;
}
