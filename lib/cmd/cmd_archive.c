/*
 * git ews archive: list, show, print, verify and let go of archives; the table of its verbs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_archive.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "cmd/pager.h"
#include "cmd/prune_opts.h"
#include "cmd/render_archive.h"
#include "cmd/render_path.h"
#include "store/archive_stream.h"
#include "store/config_user.h"
#include "work/archive_trash.h"
#include "work/undo_words.h"

#define CAT_JSON_MAX (16 * EWS_MIB)

static const char *const list_usage[] = {
	"git ews archive list [--all] [--md5] [<dir>]",
	NULL,
};

static const char *const show_usage[] = {
	"git ews archive show [--files] [--left-out] [--md5] <archive>",
	NULL,
};

static const char *const cat_usage[] = {
	"git ews archive cat <archive>:<path>...",
	NULL,
};

static const char *const verify_usage[] = {
	"git ews archive verify [--md5] <archive>...",
	NULL,
};

static const char *const remove_usage[] = {
	"git ews archive remove [--force] [--dry-run] [--md5] <archive>...",
	NULL,
};

static const char *const prune_usage[] = {
	"git ews archive prune [--keep <n>] [--older-than <age>] [--force] [--dry-run]",
	NULL,
};

int ews_cmd_archive_begin(char **home, struct ews_cmd_ctx *ctx)
{
	int rc = ews_config_find_home(home, ctx->home);

	if (rc == 0)
		rc = ews_cmd_open_repo(ctx);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		rc = 0;
	}
	return rc;
}

/* Where archives are of the directory that is named, or of the project, else the directory, that the command stands in. */
static int find_places(struct ews_strv *out, struct ews_cmd_ctx *ctx, const char *home, const char *dir)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	bool is_of_it;
	int rc;

	if (!dir)
		return ews_archive_places(out, ctx->repo, home, ctx->repo ? ctx->repo->project : ctx->cwd);
	rc = ews_repo_open(&repo, dir, home, EWS_REPO_MAKE_NONE);
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	/* GIT_DIR may have led elsewhere. */
	is_of_it = repo && (repo->here || ews_path_is_inside(dir, repo->project));
	return ews_archive_places(out, is_of_it ? repo : NULL, home, dir);
}

int ews_cmd_archive_find(char **out, struct ews_cmd_ctx *ctx, const char *home, const char *word)
{
	EWS_CLEANUP(strv) struct ews_strv places = EWS_STRV_INIT;
	int rc = find_places(&places, ctx, home, NULL);

	return rc < 0 ? rc : ews_archive_find(out, word, ctx->cwd, home, &places);
}

/* MD5 of the file at `fd`, where it is asked for. */
static int hash_file(char out[EWS_MD5_HEX_MAX], int fd)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_MD5);
	EWS_CLEANUP(free) char *chunk = ews_malloc(EWS_MIB);
	uint8_t digest[EWS_HASH_MAX];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, chunk, EWS_MIB, at)) > 0) {
		ews_hash_add(hash, chunk, (size_t)n);
		at += n;
	}
	if (n < 0)
		return ews_error_os("cannot read the archive");
	ews_hex(out, digest, ews_hash_finish(hash, digest));
	return 0;
}

/* What is in all places below home, or in those of a directory. */
static int list_places(struct ews_archives *out, struct ews_cmd_ctx *ctx, const char *home, const char *dir, bool all)
{
	EWS_CLEANUP(strv) struct ews_strv places = EWS_STRV_INIT;
	int rc = all ? ews_archive_all_places(&places, home) : find_places(&places, ctx, home, dir);

	for (size_t i = 0; i < places.n && rc == 0; i++)
		rc = ews_archive_list(out, places.items[i]);
	return rc;
}

static int show_list(struct ews_cmd_ctx *ctx, const struct ews_archives *list, bool with_md5)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("archive_list");
	cJSON *array = cJSON_AddArrayToObject(object, "archives");
	size_t name_width = 0;

	if (!ctx->json)
		ews_pager_start(ctx);
	for (size_t i = 0; i < list->n; i++) {
		size_t len = strlen(ews_path_base(list->items[i].file));

		if (len > name_width)
			name_width = len;
	}
	for (size_t i = 0; i < list->n; i++) {
		EWS_CLEANUP(fd) int fd = with_md5 ? ews_archive_open(list->items[i].file) : -1;
		cJSON *item;
		char md5[EWS_MD5_HEX_MAX] = "";
		int rc = fd < 0 ? 0 : hash_file(md5, fd);

		if (rc < 0)
			return rc;
		if (!ctx->json && ctx->nul) {
			ews_cmd_add_path_line(ctx, list->items[i].file);
			continue;
		}
		if (!ctx->json) {
			ews_render_archive_line(&ctx->out, &list->items[i], md5, name_width);
			continue;
		}
		item = cJSON_CreateObject();
		cJSON_AddItemToArray(array, item);
		ews_render_archive(item, &list->items[i], md5);
	}
	ews_error_clear();
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return 0;
}

/* A directory that the command line names, or a session's project's: the word is a path. */
static int read_dir_word(char **out, const struct ews_cmd_ctx *ctx, const char *word)
{
	EWS_CLEANUP(free) char *full = ews_path_absolute(ctx->cwd, word);

	struct stat st;

	*out = realpath(full, NULL);
	if (!*out || stat(*out, &st) < 0) {
		ews_error_os("cannot find '%s'", word);
		ews_error_hint("'git ews archive list --all' shows those of directories that are gone, too");
		return EWS_ENOTFOUND;
	}
	return S_ISDIR(st.st_mode) ? 0 : ews_error(EWS_EUSAGE, "'%s' is not a directory", word);
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(archives) struct ews_archives found = EWS_ARCHIVES_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	EWS_CLEANUP(free) char *dir = NULL;
	bool all = false, with_md5 = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('a', "all", &all, "those of all projects"),
		EWS_OPT_BOOL(0, "md5", &with_md5, "the MD5 of each file as well"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = list_usage, .opts = opts, .max_words = 1, .prints_paths = true };
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	if (ctx->nul && !ctx->json && with_md5)
		return ews_error(EWS_EUSAGE, "with -z the paths stand alone, without --md5");
	rc = ews_cmd_archive_begin(&home, ctx);
	if (rc == 0 && args.words.n)
		rc = read_dir_word(&dir, ctx, args.words.items[0]);
	if (rc == 0)
		rc = list_places(&found, ctx, home, dir, all);
	return rc < 0 ? rc : show_list(ctx, &found, with_md5);
}

/* Find the archive, open it, and read its record, or all of it. Returns its descriptor. */
static int open_named(struct ews_archive *out, struct ews_archive_content *content, struct ews_cmd_ctx *ctx,
		      const char *home, const char *word, bool whole)
{
	EWS_CLEANUP(free) char *file = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	uint64_t max_bytes;
	int rc = ews_cmd_archive_find(&file, ctx, home, word);

	if (rc == 0)
		rc = ews_archive_limit(&max_bytes, ctx->repo);
	if (rc == 0)
		rc = fd = ews_archive_open(file);
	if (rc >= 0)
		rc = whole ? ews_archive_read(content, fd, max_bytes) : ews_archive_look(content, fd, max_bytes);
	if (rc < 0)
		return fd < 0 ? rc : ews_error_wrap("'%s'", word);
	rc = ews_archive_describe_content(out, file, fd, content);
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

static int show(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(free) char *home = NULL;
	EWS_CLEANUP(fd) int fd = -1;
	bool files = false, left_out = false, with_md5 = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "files", &files, "what is in it"),
		EWS_OPT_BOOL(0, "left-out", &left_out, "what was left out, and why"),
		EWS_OPT_BOOL(0, "md5", &with_md5, "the MD5 of the file"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = show_usage, .opts = opts, .min_words = 1, .max_words = 1, .prints_paths = true
	};
	char md5[EWS_MD5_HEX_MAX] = "";
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	rc = ews_cmd_archive_begin(&home, ctx);
	if (rc == 0)
		rc = fd = open_named(&archive, &content, ctx, home, args.words.items[0], false);
	if (rc >= 0 && with_md5)
		rc = hash_file(md5, fd);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		object = ews_cmd_json_new("archive");
		ews_render_archive(object, &archive, md5);
		ews_render_archive_paths(object, &content.entries, &content.skips);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_pager_start(ctx);
	if (!files && !left_out)
		ews_render_archive_text(&ctx->out, &archive, md5, &content.skips);
	if (files)
		ews_render_archive_entries(ctx, &content.entries);
	if (left_out)
		ews_render_skip_lines(ctx, &content.skips);
	return 0;
}

/* Take "<archive>:<path>" apart: the first colon behind something that is an archive. */
static int split_member(char **file, const char **path, struct ews_cmd_ctx *ctx, const char *home, const char *word)
{
	const char *colon = strchr(word, ':');
	int rc = EWS_ENOTFOUND;

	if (!colon)
		return ews_error(EWS_EUSAGE, "'%s' is not <archive>:<path>", word);
	for (; colon && rc == EWS_ENOTFOUND; colon = strchr(colon + 1, ':')) {
		EWS_CLEANUP(free) char *name = ews_strndup(word, (size_t)(colon - word));

		rc = *name ? ews_cmd_archive_find(file, ctx, home, name) : EWS_ENOTFOUND;
		*path = colon + 1;
	}
	if (rc == EWS_ENOTFOUND)
		return ews_error(EWS_ENOTFOUND, "there is no archive '%.*s'", (int)strcspn(word, ":"), word);
	return rc;
}

/* What was opened for `cat`: most often all members are one archive's. */
struct cat {
	char *file;
	int fd;
	struct ews_archive_content content;
	struct ews_archive_stream *stream;
};

static void close_cat(struct cat *cat)
{
	ews_archive_stream_free(cat->stream);
	ews_archive_content_release(&cat->content);
	if (cat->fd >= 0)
		close(cat->fd);
	free(cat->file);
	*cat = (struct cat){ .fd = -1, .content = EWS_ARCHIVE_CONTENT_INIT };
}

EWS_CLEANUP_DEFINE(cat, struct cat, close_cat)

/* Takes over `file`. One that can't be read has no name here: it is said again of its next member. */
static int open_cat(struct cat *cat, struct ews_cmd_ctx *ctx, char *file)
{
	EWS_CLEANUP(free) char *name = file;
	uint64_t max_bytes;
	int rc;

	if (cat->file && !strcmp(cat->file, name))
		return 0;
	close_cat(cat);
	rc = ews_archive_limit(&max_bytes, ctx->repo);
	if (rc == 0)
		rc = cat->fd = ews_archive_open(name);
	if (rc >= 0)
		rc = ews_archive_look(&cat->content, cat->fd, max_bytes);
	if (rc < 0)
		return ews_error_wrap("'%s'", name);
	cat->file = ews_steal(&name);
	cat->stream = ews_archive_stream_new(&cat->content, cat->fd);
	return 0;
}

static int write_out(void *payload, const void *data, size_t len)
{
	struct ews_buf *text = payload;

	if (!text)
		return ews_file_write_fd(STDOUT_FILENO, data, len);
	if (text->len + len > CAT_JSON_MAX)
		return ews_error(EWS_EUNSUPPORTED, "more than 16 MiB are too much for --json");
	ews_buf_add(text, data, len);
	return 0;
}

/* The file, or what the link says; `text` NULL: to stdout. */
static int cat_member(struct cat *cat, const char *path, struct ews_buf *text)
{
	const struct ews_entry *entry = ews_entries_find(&cat->content.entries, path);
	EWS_CLEANUP(buf) struct ews_buf link = EWS_BUF_INIT;
	int rc;

	if (!ews_path_is_plain(path))
		return ews_error(EWS_EUSAGE, "'%s' is no path inside an archive", path);
	if (!entry)
		return ews_error(EWS_ENOTFOUND, "'%s' is not in '%s'", path, ews_path_base(cat->file));
	if (entry->type == EWS_ENTRY_FILE)
		return ews_archive_stream_each(cat->stream, entry, write_out, text);
	if (entry->type != EWS_ENTRY_LINK)
		return ews_error(EWS_EUSAGE, "'%s' is a %s", path, ews_entry_type_name(entry->type));
	rc = ews_archive_stream_link(cat->stream, &link, entry);
	return rc < 0 ? rc : write_out(text, link.ptr, link.len);
}

static int cat_one(struct cat *cat, struct ews_cmd_ctx *ctx, const char *home, const char *word, cJSON *array)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char *file = NULL;
	const char *path = NULL;
	cJSON *item;
	int rc = split_member(&file, &path, ctx, home, word);

	if (rc == 0)
		rc = open_cat(cat, ctx, file);
	if (rc == 0)
		rc = cat_member(cat, path, array ? &text : NULL);
	if (rc < 0 || !array)
		return rc;
	item = cJSON_CreateObject();
	ews_json_add_path(item, "archive", cat->file);
	ews_json_add_path(item, "path", path);
	ews_json_add_int(item, "size_bytes", (int64_t)text.len);
	ews_json_add_text(item, "content", text.ptr, text.len);
	cJSON_AddItemToArray(array, item);
	return 0;
}

/* As cat does it: what is missing is said, the rest is printed. */
static int cat(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(cat) struct cat cat = { .fd = -1, .content = EWS_ARCHIVE_CONTENT_INIT };
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("archive_cat");
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	const struct ews_cmd_syntax syntax = { .usage = cat_usage, .min_words = 1, .max_words = SIZE_MAX };
	cJSON *array = cJSON_AddArrayToObject(object, "members");
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	rc = ews_cmd_archive_begin(&home, ctx);
	if (rc == 0)
		ews_pager_start(ctx);
	for (size_t i = 0; i < args.words.n && rc == 0; i++) {
		rc = cat_one(&cat, ctx, home, args.words.items[i], ctx->json ? array : NULL);
		if (rc == EWS_EIO || rc == EWS_ENOSPACE)
			return ews_pager_excuses() ? 0 : rc;
		if (rc == 0)
			continue;
		ews_cmd_warn(ctx, "%s", ews_error_message());
		ews_strv_add(&problems, ews_error_message());
		ews_error_clear();
		rc = 0;
	}
	if (rc < 0)
		return rc;
	if (ctx->json) {
		ews_render_sentences(object, "problems", &problems);
		ews_cmd_json_show(ctx, object);
	}
	return problems.n ? 1 : 0;
}

/* Read one whole. What is wrong with it is said line by line; 1 when anything is. */
static int verify_one(cJSON *array, struct ews_cmd_ctx *ctx, const char *home, const char *file, bool with_md5)
{
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(archive_content) struct ews_archive_content content = EWS_ARCHIVE_CONTENT_INIT;
	cJSON *item = cJSON_CreateObject();
	char md5[EWS_MD5_HEX_MAX] = "";
	EWS_CLEANUP(fd) int fd = open_named(&archive, &content, ctx, home, file, true);
	int rc = fd;

	cJSON_AddItemToArray(array, item);
	if (rc == EWS_EDAMAGED || rc == EWS_EDENIED) {
		ews_path_line_add(&content.flaws, ews_path_base(file), ews_error_message());
		ews_error_clear();
		ews_archive_release(&archive);
		archive.file = ews_strdup(file);
		rc = 0;
	}
	if (rc >= 0 && with_md5 && fd >= 0)
		rc = hash_file(md5, fd);
	if (rc < 0)
		return rc;
	ews_render_archive(item, &archive, md5);
	(void)cJSON_AddBoolToObject(item, "is_intact", content.flaws.n == 0);
	ews_render_reasons(item, "flaws", "what", &content.flaws);
	if (!ctx->json && content.flaws.n) {
		ews_buf_adds(&ctx->out, "✗ ");
		ews_path_quote(&ctx->out, ews_path_base(archive.file));
		for (size_t i = 0; i < content.flaws.n; i++) {
			const char *what;

			ews_buf_adds(&ctx->out, "\n  ");
			what = ews_render_split_quoted(&ctx->out, content.flaws.items[i]);
			ews_buf_adds(&ctx->out, ": ");
			ews_render_words(&ctx->out, what);
		}
		ews_buf_addc(&ctx->out, '\n');
	} else if (!ctx->json) {
		ews_buf_adds(&ctx->out, "✓ ");
		ews_path_quote(&ctx->out, ews_path_base(archive.file));
		ews_buf_adds(&ctx->out, "  ");
		ews_render_words(&ctx->out, archive.checksum);
		ews_buf_addf(&ctx->out, "%s%s\n", *md5 ? "  " : "", md5);
	}
	return content.flaws.n ? 1 : 0;
}

static int verify(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("archive_verify");
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	bool with_md5 = false, is_damaged = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "md5", &with_md5, "the MD5 of the file as well"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = verify_usage, .opts = opts, .min_words = 1, .max_words = SIZE_MAX
	};
	cJSON *array = cJSON_AddArrayToObject(object, "archives");
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	rc = ews_cmd_archive_begin(&home, ctx);
	/* One that is not there is no reason to read the others in vain. */
	for (size_t i = 0; i < args.words.n && rc == 0; i++) {
		EWS_CLEANUP(free) char *file = NULL;

		rc = ews_cmd_archive_find(&file, ctx, home, args.words.items[i]);
		if (rc == 0)
			ews_strv_add(&files, file);
	}
	for (size_t i = 0; i < files.n && rc >= 0; i++) {
		rc = verify_one(array, ctx, home, files.items[i], with_md5);
		is_damaged = is_damaged || rc > 0;
	}
	if (rc < 0)
		return rc;
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return is_damaged ? 1 : 0;
}

struct removal {
	bool force, dry_run, with_md5;
};

/* What each was, by the MD5 of its file, read before it goes. */
static int read_sums(struct ews_strv *out, const struct ews_strv *files)
{
	for (size_t i = 0; i < files->n; i++) {
		EWS_CLEANUP(fd) int fd = ews_archive_open(files->items[i]);
		char md5[EWS_MD5_HEX_MAX];
		int rc = fd < 0 ? fd : hash_file(md5, fd);

		if (rc < 0)
			return rc;
		ews_strv_add(out, md5);
	}
	return 0;
}

/* Remove these, or say which they would be; outside of a project nothing can be kept, and --force says that this is meant. */
static int remove_files(struct ews_cmd_ctx *ctx, const struct ews_strv *files, const struct removal *how)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("archive_remove");
	EWS_CLEANUP(strv) struct ews_strv sums = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *undo = NULL;
	int rc = 0;

	if (!how->dry_run && files->n && !ctx->repo && !how->force) {
		ews_error(EWS_EDENIED, "outside of a project nothing could bring an archive back");
		ews_error_hint("--force removes it for good");
		return EWS_EDENIED;
	}
	if (how->with_md5)
		rc = read_sums(&sums, files);
	if (rc == 0 && !how->dry_run && files->n)
		rc = ews_archive_remove(ctx->repo, files);
	if (rc < 0)
		return rc;
	(void)cJSON_AddBoolToObject(object, "dry_run", how->dry_run);
	ews_render_paths(object, "removed", files);
	if (how->with_md5)
		ews_render_sentences(object, "removed_md5", &sums);
	if (ctx->json) {
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	for (size_t i = 0; i < files->n; i++) {
		if (how->with_md5)
			ews_buf_addf(&ctx->out, "%s  ", sums.items[i]);
		ews_cmd_add_path_line(ctx, files->items[i]);
	}
	if (files->n && !how->dry_run && ctx->repo) {
		undo = ews_undo_words(ctx->repo, NULL);
		ews_cmd_note(ctx, "'%s' brings %s back", undo, files->n == 1 ? "it" : "them");
	}
	return 0;
}

/* Somebody's other file is not what this verb is for, whatever it is called like. */
static int check_archive(const char *file)
{
	EWS_CLEANUP(buf) struct ews_buf record = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;

	if (ews_archive_is_name(ews_path_base(file)))
		return 0;
	fd = ews_archive_open(file);
	if (fd >= 0 && ews_archive_read_record(&record, fd) == 0)
		return 0;
	ews_error(EWS_EUSAGE, "'%s' is no archive that 'git ews archive' made", file);
	ews_error_hint("'rm' removes other files");
	return EWS_EUSAGE;
}

static int remove_named(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	struct removal how = { false, false, false };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('f', "force", &how.force, "also where nothing could bring it back"),
		EWS_OPT_BOOL('n', "dry-run", &how.dry_run, "list what would be removed"),
		EWS_OPT_BOOL(0, "md5", &how.with_md5, "the MD5 of each file before its path"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = remove_usage, .opts = opts, .min_words = 1, .max_words = SIZE_MAX, .prints_paths = true
	};
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	rc = ews_cmd_archive_begin(&home, ctx);
	for (size_t i = 0; i < args.words.n && rc == 0; i++) {
		EWS_CLEANUP(free) char *file = NULL;

		rc = ews_cmd_archive_find(&file, ctx, home, args.words.items[i]);
		/* A whole name is never given twice: it was removed before. */
		if (rc == EWS_ENOTFOUND && ews_archive_is_name(ews_path_base(args.words.items[i]))) {
			ews_error_clear();
			ews_cmd_note(ctx, "'%s' is not there any more", args.words.items[i]);
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = check_archive(file);
		if (rc == 0 && !ews_strv_has(&files, file))
			ews_strv_add(&files, file);
	}
	return rc < 0 ? rc : remove_files(ctx, &files, &how);
}

/* How many of the same directory come after the one at `i`? */
static size_t newer_ones(const struct ews_archives *list, size_t i)
{
	size_t n = 0;

	for (size_t k = i + 1; k < list->n; k++)
		n += !list->items[k].problem && !strcmp(list->items[k].path, list->items[i].path);
	return n;
}

static int prune(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(archives) struct ews_archives found = EWS_ARCHIVES_INIT;
	EWS_CLEANUP(strv) struct ews_strv files = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	struct ews_prune_settings set = EWS_PRUNE_SETTINGS_INIT;
	struct removal how = { false, false, false };
	const struct ews_opt opts[] = {
		EWS_PRUNE_OPTS(&set, "directory", "removed"),
		EWS_OPT_BOOL('f', "force", &how.force, "also where nothing could bring them back"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = prune_usage, .opts = opts, .prints_paths = true };
	int rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);

	if (rc != 0)
		return rc;
	rc = ews_prune_opts_settle(
		&set, "--keep <n> keeps the newest n of each directory, --older-than <age> keeps younger ones");
	if (rc == 0)
		rc = ews_cmd_archive_begin(&home, ctx);
	if (rc == 0)
		rc = list_places(&found, ctx, home, NULL, false);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < found.n; i++) {
		const struct ews_archive *archive = &found.items[i];

		/* Of which directory it is, and since when, nobody can say. */
		if (archive->problem)
			ews_cmd_warn(ctx, "it stays, for it can't be read: %s", archive->problem);
		else if (archive->created_s <= set.before_s && newer_ones(&found, i) >= set.keep_n)
			ews_strv_add(&files, archive->file);
	}
	how.dry_run = set.dry_run;
	return remove_files(ctx, &files, &how);
}

static const struct ews_cmd verbs[] = {
	{ "create", "pack a directory, print the archive's path", ews_cmd_archive_create },
	{ "list", "list the archives of the project", list },
	{ "show", "show what is known of one, and what is in it", show },
	{ "cat", "print files of one", cat },
	{ "verify", "read one whole, and name what is not as it was", verify },
	{ "extract", "make a directory what one holds", ews_cmd_archive_extract },
	{ "remove", "move some to trash", remove_named },
	{ "prune", "move old ones to trash", prune },
	{ "diff", "show what lies between archives or directories", ews_cmd_archive_diff },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_archive = { "archive", "pack directories into portable archives, compare them", run };
