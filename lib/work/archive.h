/*
 * Archives: directories as portable tar files, each with a record of what it is.
 *
 *     <home>/archives/<repo>/20251010T140732.1a2b3c4d.workspace.tar.gz
 *
 * One that was made elsewhere is named by its path, one of these by its name or the beginning of one alone. `<repo>` is the
 * project's directory in home, or of a directory that is in no project its own name and a hash of its path.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_H
#define EWS_WORK_ARCHIVE_H

#include "base/strv.h"
#include "store/archive_read.h"
#include "store/archive_write.h"
#include "store/repo.h"

#define EWS_ARCHIVE_HIDDEN ".tmp-" /* what the names of files begin with that are no archive yet */
#define EWS_ARCHIVE_DRAFT EWS_ARCHIVE_HIDDEN "archive-" /* of one that is being made */

/* What of a directory goes in. */
struct ews_archive_rules {
	struct ews_strv keep; /* patterns as in gitignore(5); none: all */
	struct ews_strv ignore; /* what one of these matches stays out, whatever `keep` says */
	struct ews_strv assets; /* paths of what others put there: they stay out */
	bool no_defaults; /* neither .gitignore and the like nor the usual rules count */
};

#define EWS_ARCHIVE_RULES_INIT { EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, false }

void ews_archive_rules_copy(struct ews_archive_rules *out, const struct ews_archive_rules *from);
void ews_archive_rules_release(struct ews_archive_rules *rules);
EWS_CLEANUP_DEFINE(archive_rules, struct ews_archive_rules, ews_archive_rules_release)

/* What is known of an archive. Strings are "" where nothing is. */
struct ews_archive {
	char *file; /* absolute */
	char *path; /* the directory that it is of */
	char *session, *base_commit,
		*base_snapshot; /* of the session that it was made in; the commit that HEAD was at */
	char *previous, *previous_checksum; /* the file of the one that it rolls on */
	char *checksum; /* "sha256:...", of the manifest; the same for the same tree */
	int mode; /* of the directory itself; below 0: not known */
	int64_t created_s;
	enum ews_compression compression;
	uint64_t n_files, size_bytes; /* of what is in it */
	uint64_t file_bytes; /* of the file itself */
	int64_t written_ns; /* when it was written; tells those of one second apart */
	struct ews_archive_rules rules;
	struct ews_strv env; /* "<name>=<value>", or "<name>" that was not set */
	bool is_foreign; /* somebody else's: nothing above is known but file, time and sizes */
	char *problem; /* of a list: why no more is known; NULL else */
};

#define EWS_ARCHIVE_INIT                                                          \
	{                                                                         \
		.mode = -1, .rules = EWS_ARCHIVE_RULES_INIT, .env = EWS_STRV_INIT \
	}

/* May it name a variable that is recorded, "<name>" or "<name>=<value>"? */
bool ews_archive_is_env(const char *text);

struct ews_archives {
	struct ews_archive *items; /* oldest first */
	size_t n, cap;
};

#define EWS_ARCHIVES_INIT { NULL, 0, 0 }

/* Where a new archive of `dir` (absolute, real) goes, which is in `repo`, or in no project (NULL). The caller frees it. */
int ews_archive_place(char **out, struct ews_repo *repo, const char *home, const char *dir);

/* Add all places where there may be some of `dir`, or of the project that it is in: it may not have been one always. */
int ews_archive_places(struct ews_strv *out, struct ews_repo *repo, const char *home, const char *dir);

/* Add those of all directories, in a project or not. */
int ews_archive_all_places(struct ews_strv *out, const char *home);

/* Is it what we call archives: "<time>.<8 hex>.<name>.tar[.<suffix>]"? */
bool ews_archive_is_name(const char *name);
/* The name of a new one. The caller frees it. */
char *ews_archive_name_new(int64_t now_s, const char *dir, enum ews_compression compression);

/*
 * The file that `word` means: a path, or of those below `home` a name or the beginning of one alone; those in `places` are looked at
 * first. The caller frees `*out`. Fails with EWS_ENOTFOUND, or EWS_EUSAGE and the candidates.
 */
int ews_archive_find(char **out, const char *word, const char *cwd, const char *home, const struct ews_strv *places);

/* Open the archive `file` for reading. Returns a descriptor. */
int ews_archive_open(const char *file);

/* What is known of the archive `file`, open at `fd`, by its record alone. */
int ews_archive_describe(struct ews_archive *out, const char *file, int fd);

/* The same, of one whose content was read: of somebody else's it says what can be said. Flaws of the record are added. */
int ews_archive_describe_content(struct ews_archive *out, const char *file, int fd,
				 struct ews_archive_content *content);

/* The record as text, and back: `content->record`. Fails with EWS_EDAMAGED, or EWS_EUNSUPPORTED when a newer version wrote it. */
void ews_archive_format(struct ews_buf *out, const struct ews_archive *archive);
int ews_archive_parse(struct ews_archive *out, const char *text, size_t len);

/* Add all in `place`; none when it is not there. The oldest comes first. Fails where it is there and can't be read. */
int ews_archive_list(struct ews_archives *out, const char *place);

/* What an archive may hold when it is read: ews.maxTotal of the repository, else (NULL) of the user. */
int ews_archive_limit(uint64_t *out_bytes, struct ews_repo *repo);

/* Remove what killed writers left beside the archives of all projects. */
void ews_archive_sweep(const char *home);

void ews_archive_release(struct ews_archive *archive);
void ews_archives_release(struct ews_archives *list);
EWS_CLEANUP_DEFINE(archive, struct ews_archive, ews_archive_release)
EWS_CLEANUP_DEFINE(archives, struct ews_archives, ews_archives_release)

#endif
