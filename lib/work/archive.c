/*
 * Archives: see archive.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "store/config_user.h"
#include "store/home.h"
#include "store/home_repo.h"
#include "store/litter.h"
#include "work/artifact_type.h"

#define STAMP_LEN 15 /* 20251010T140732 */
#define HEX_LEN 8
#define NAME_MAX_LEN 100 /* of the directory's name in that of the archive */

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

/* That of a directory that is in no project: as its store would be called, if it had one. */
static char *plain_place(const char *home, const char *dir)
{
	EWS_CLEANUP(free) char *store = ews_home_store(home, dir);
	const char *name = ews_path_base(store);
	size_t len = strlen(name) - strlen(".git");

	return ews_strfmt("%s/" EWS_HOME_ARCHIVES "/%.*s", home, (int)len, name);
}

int ews_archive_place(char **out, struct ews_repo *repo, const char *home, const char *dir)
{
	int rc = repo ? ews_repo_make_dir(repo) : 0;

	if (rc < 0)
		return rc;
	*out = repo ? ews_strfmt("%s/" EWS_HOME_ARCHIVES "/%s", home, ews_path_base(repo->dir))
		    : plain_place(home, dir);
	return 0;
}

static void add_plain_place(struct ews_strv *out, const char *home, const char *dir)
{
	EWS_CLEANUP(free) char *place = plain_place(home, dir);

	ews_strv_add(out, place);
}

int ews_archive_places(struct ews_strv *out, struct ews_repo *repo, const char *home, const char *dir)
{
	int rc = repo ? ews_repo_need_dir(repo) : EWS_ENOTFOUND;

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	if (rc == 0)
		ews_strv_addf(out, "%s/" EWS_HOME_ARCHIVES "/%s", home, ews_path_base(repo->dir));
	ews_error_clear(); /* one that has no directory in home yet has no archive there */
	add_plain_place(out, home, dir);
	if (repo && strcmp(repo->project, dir) != 0)
		add_plain_place(out, home, repo->project);
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
	/* Cut first: what is safe may end in a dot where it is cut. */
	EWS_CLEANUP(free) char *cut = ews_strndup(ews_path_base(dir), strnlen(ews_path_base(dir), NAME_MAX_LEN));
	EWS_CLEANUP(free) char *safe = ews_artifact_name_safe(cut);
	uint8_t random[HEX_LEN / 2];
	char hex[HEX_LEN + 1], stamp[STAMP_LEN + 1];
	time_t now = now_s;
	struct tm tm;

	ews_clock_random(random, sizeof(random));
	ews_hex(hex, random, sizeof(random));
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	return ews_strfmt("%s.%s.%s%s", stamp, hex, safe, ews_compression_suffix(compression));
}

/* Does `word` name it: whole, by its beginning, or by its eight digits? */
static bool is_meant(const char *name, const char *word)
{
	size_t len = strlen(word);

	return len && (!strncmp(name, word, len) || (len == HEX_LEN && !strncmp(name + STAMP_LEN + 1, word, len)));
}

/* Add all archives in the directory `dir` that `word` may mean; NULL: all that there are. */
static int add_candidates(struct ews_strv *out, const char *dir, const char *word)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read_at(&names, dir);

	for (ssize_t i = 0; i < n; i++)
		if (ews_archive_is_name(names.items[i].name) && (!word || is_meant(names.items[i].name, word)))
			ews_strv_addf(out, "%s/%s", dir, names.items[i].name);
	return n < 0 ? (int)n : 0;
}

int ews_archive_all_places(struct ews_strv *out, const char *home)
{
	EWS_CLEANUP(free) char *archives = ews_path_join(home, EWS_HOME_ARCHIVES);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read_at(&names, archives);

	for (ssize_t i = 0; i < n; i++)
		ews_strv_addf(out, "%s/%s", archives, names.items[i].name);
	return n < 0 ? (int)n : 0;
}

static int add_everywhere(struct ews_strv *out, const char *home, const char *word)
{
	EWS_CLEANUP(strv) struct ews_strv places = EWS_STRV_INIT;
	int rc = ews_archive_all_places(&places, home);

	for (size_t i = 0; i < places.n && rc == 0; i++)
		rc = add_candidates(out, places.items[i], word);
	return rc;
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

int ews_archive_find(char **out, const char *word, const char *cwd, const char *home, const struct ews_strv *places)
{
	EWS_CLEANUP(strv) struct ews_strv found = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *path = ews_path_absolute(cwd, word);
	bool is_name = !strchr(word, '/');
	struct stat st;
	int rc = 0;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		*out = ews_steal(&path);
		return 0;
	}
	for (size_t i = 0; i < places->n && is_name && rc == 0; i++)
		rc = add_candidates(&found, places->items[i], word);
	if (!found.n && is_name && rc == 0)
		rc = add_everywhere(&found, home, word);
	if (rc < 0)
		return rc;
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
	int rc = add_candidates(&files, place, NULL);

	for (size_t i = 0; i < files.n; i++)
		add_one(out, files.items[i]);
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_age);
	return rc;
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
	rc = text ? 0 : ews_odb_config_user(&users, name);
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return ews_error_wrap("%s", name);
	ews_error_clear();
	if (!text)
		text = users;
	rc = ews_setting_read(&value, setting, text ? text : setting->dflt);
	*out_bytes = value.size_bytes;
	return rc < 0 ? ews_error_wrap("%s", name) : 0;
}

void ews_archive_sweep(const char *home)
{
	EWS_CLEANUP(free) char *archives = ews_path_join(home, EWS_HOME_ARCHIVES);
	EWS_CLEANUP(fd) int fd = ews_dir_open(archives);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(fd) int dir = ews_dir_open_beneath(fd, names.items[i].name);

		if (dir >= 0)
			ews_litter_sweep_dir(dir, EWS_ARCHIVE_HIDDEN);
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
