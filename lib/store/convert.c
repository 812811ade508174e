/*
 * Conversion: see convert.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/strv.h"
#include "store/attr.h"
#include "store/bench.h"
#include "store/config.h"
#include "store/gitconfig_files.h"
#include "store/put.h"

#define ANSWER_MAX (4 * EWS_GIB)
#define QUESTION_BYTES (512 * EWS_KIB) /* of paths */
#define FILES_AT_ONCE 200
#define FILTER "filter="
#define ATTRIBUTES_BYTES_MAX (100 * EWS_MIB) /* git passes over what is longer */
#define BLANKS " \t\r\n"
#define NO_FD (-1)
/* What stands for itself in a pattern, and in no other place than a name. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-"

/* What decides how a file is written, where the config alone does not. */
static const char *const attributes[] = { "eol", "ident", "working-tree-encoding", "filter", NULL };

struct run {
	const struct ews_convert *convert;
	struct ews_bench bench; /* of what has to stand somewhere */
	char *git_dir; /* where git stands */
	struct ews_strv config; /* "-c", "<key>=<value>" */
	bool converts_all; /* the config alone may change any file */
	bool has_outside; /* there are attributes outside of the tree */
	bool folds_case; /* patterns mean names of another case as well */
	bool asks_all; /* an attribute that matters may be any file's */
	struct ews_strv ends; /* else it may be that of a file whose name ends so */
	struct ews_entry **files;
	size_t n, cap;
};

static void release_run(struct run *run)
{
	ews_bench_release(&run->bench);
	free(run->git_dir);
	free(run->files);
	ews_strv_release(&run->config);
	ews_strv_release(&run->ends);
}

EWS_CLEANUP_DEFINE(run, struct run, release_run)

static int take_config(struct run *run, const char *key, const char *idle)
{
	EWS_CLEANUP(free) char *value = NULL;
	int rc = ews_odb_config_if_set(&value, run->convert->repo->odb, key);

	if (rc < 0 || !value)
		return rc;
	ews_strv_add(&run->config, "-c");
	ews_strv_addf(&run->config, "%s=%s", key, value);
	run->converts_all = run->converts_all || strcmp(value, idle) != 0;
	return 0;
}

static struct ews_git_opts git_opts(const struct run *run)
{
	return (struct ews_git_opts){ .neutral_dir = run->git_dir,
				      .object_dir = ews_odb_object_dir(run->convert->repo->odb),
				      .user_config = run->convert->run_filters,
				      .work_tree = run->convert->work_tree };
}

static bool is_stored(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_FILE && !entry->has_stat && !ews_oid_is_none(&entry->oid);
}

static void add_file(struct run *run, struct ews_entry *entry)
{
	EWS_GROW(run->files, run->n, run->cap);
	run->files[run->n++] = entry;
}

struct choice {
	struct run *run;
	const struct ews_entries *list;
};

/*
 * Does git write the file otherwise than it is stored? "text", and line ends that are to be LF, matter only to what is
 * added: where no config says otherwise (see converts_all) nothing gets a CR but what asks for it.
 */
static bool is_written_otherwise(const struct ews_convert *convert, const char *name, const char *value)
{
	if (!strcmp(name, "filter"))
		return convert->run_filters && strcmp(value, "unset") != 0;
	if (!strcmp(name, "eol"))
		return !strcmp(value, "crlf");
	if (!strcmp(name, "ident"))
		return !strcmp(value, "set");
	return strcmp(value, "unset") != 0;
}

static void take_attribute(void *payload, const char *path, const char *name, const char *value)
{
	struct choice *choice = payload;
	struct run *run = choice->run;
	const struct ews_convert *convert = run->convert;
	struct ews_entry *entry;

	if (convert->filtered && !strcmp(name, "filter"))
		ews_attr_name_filtered(convert->filtered, convert->repo->odb, path, value);
	if (run->converts_all || !is_written_otherwise(convert, name, value))
		return;
	if (run->n && !strcmp(run->files[run->n - 1]->path, path))
		return;
	entry = ews_entries_find(choice->list, path);
	if (entry)
		add_file(run, entry);
}

static bool is_attributes(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_FILE && !strcmp(ews_path_base(entry->path), EWS_ATTRIBUTES);
}

/* Has `line`, which gives attributes, one of those that matter? A filter that no program stands for does not. */
static bool may_matter(const struct run *run, const char *line)
{
	static const char *const words[] = { "crlf", "ident", "working-tree-encoding" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return true;
	for (const char *at = strstr(line, FILTER); at; at = strstr(at, FILTER)) {
		EWS_CLEANUP(free) char *name = NULL;

		at += strlen(FILTER);
		name = ews_strndup(at, strcspn(at, BLANKS));
		if (ews_attr_has_program(run->convert->repo->odb, name))
			return true;
	}
	return false;
}

/* Note whom `line` may be about: "*.bat" and "name" are about names that end so; what is any harder is git's to say. */
static void add_end(struct run *run, const char *line)
{
	const char *begin = line + strspn(line, BLANKS);
	EWS_CLEANUP(free) char *pattern = ews_strndup(begin, strcspn(begin, BLANKS));
	const char *end = *pattern == '*' ? pattern + 1 : pattern;

	if (strspn(end, PLAIN) != strlen(end))
		run->asks_all = true;
	else
		ews_strv_add(&run->ends, end);
}

static void add_ends(struct run *run, char *text)
{
	char *rest = text;

	while (rest && !run->asks_all) {
		const char *line = strsep(&rest, "\n");

		if (may_matter(run, line))
			add_end(run, line);
	}
}

/*
 * To which files can an attribute matter? In most projects to none, or to few, and to ask git about each path takes as
 * long as a tenth of all the rest.
 */
static void find_ends(struct run *run)
{
	const struct ews_entries *all = run->convert->all;

	run->asks_all = !all || run->convert->run_filters || run->has_outside || run->folds_case;
	for (size_t i = 0; !run->asks_all && i < all->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		const struct ews_oid *oid = &all->items[i].oid;

		if (!is_attributes(&all->items[i]))
			continue;
		if (ews_oid_is_none(oid) || ews_odb_read(&text, NULL, run->convert->repo->odb, oid) < 0 ||
		    strlen(text.ptr) != text.len) {
			ews_error_clear();
			run->asks_all = true;
			return;
		}
		add_ends(run, text.ptr);
	}
	ews_strv_unique(&run->ends);
}

static bool is_asked_about(const struct run *run, const char *path)
{
	size_t len = strlen(path);

	if (run->asks_all)
		return true;
	for (size_t i = 0; i < run->ends.n; i++) {
		size_t end_len = strlen(run->ends.items[i]);

		if (len >= end_len && !memcmp(path + len - end_len, run->ends.items[i], end_len))
			return true;
	}
	return false;
}

/* What git says of a path takes more room than the path does: it is asked about so many at once, and no more. */
static int ask_attributes(struct run *run, const struct ews_entries *list)
{
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	struct choice choice = { run, list };
	struct ews_git_opts git = git_opts(run);
	int rc = 0;

	for (size_t i = 0; i < list->n && rc == 0; i++) {
		if (is_stored(&list->items[i]) && is_asked_about(run, list->items[i].path))
			ews_buf_addz(&question, list->items[i].path);
		if (question.len < QUESTION_BYTES && i + 1 < list->n)
			continue;
		rc = ews_attr_ask(&git, &run->config, &question, attributes, take_attribute, &choice);
		ews_buf_truncate(&question, 0);
	}
	return rc;
}

static int choose(struct run *run, const struct ews_entries *list)
{
	for (size_t i = 0; i < list->n && run->converts_all; i++)
		if (is_stored(&list->items[i]))
			add_file(run, &list->items[i]);
	if (run->converts_all && !run->convert->filtered)
		return 0;
	find_ends(run);
	return ask_attributes(run, list);
}

/* Behind an id and a blank git would take the path for another: it skips all the blanks there. */
static bool begins_blank(const char *path)
{
	return *path == ' ' || *path == '\t';
}

/* Give on what is other than what is stored. */
static int take_one(const struct run *run, struct ews_entry *entry, const char *data, size_t len)
{
	struct ews_oid oid;

	ews_odb_hash(&oid, run->convert->repo->odb, EWS_OBJECT_BLOB, data, len);
	if (ews_oid_equal(&oid, &entry->oid))
		return 0;
	return run->convert->take(run->convert->payload, entry, data, len);
}

static int ask_git(const struct run *run, struct ews_buf *out, const struct ews_buf *question,
		   const struct ews_strv *command)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	struct ews_git_opts opts = git_opts(run);
	int rc;

	ews_strv_add_array(&args, run->config.items);
	ews_strv_add_array(&args, command->items);
	ews_buf_init_max(out, ANSWER_MAX);
	opts.input = question->ptr;
	opts.input_len = question->len;
	opts.out = out;
	rc = ews_git_run(&opts, args.items);
	return rc > 0 ? ews_error(EWS_EGIT, "git cannot convert line ends and encodings") : rc;
}

/* A git for this file alone: the path is a word of its own, and there is no other answer to tell this one from. */
static int convert_one(const struct run *run, struct ews_entry *entry)
{
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv command = EWS_STRV_INIT;
	const struct ews_buf nothing = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc;

	ews_strv_add_all(&command, "cat-file", "--filters", NULL);
	ews_strv_addf(&command, "--path=%s", entry->path);
	ews_strv_add(&command, ews_oid_hex(hex, &entry->oid));
	rc = ask_git(run, &answer, &nothing, &command);
	return rc < 0 ? rc : take_one(run, entry, answer.ptr, answer.len);
}

static bool is_mark(const char *at, const char *end, const char *mark)
{
	size_t len = strlen(mark);

	return (size_t)(end - at) > len && !memcmp(at, mark, len) && at[len] == '\n';
}

/*
 * The sizes that git prints are those before it converts, so each file begins at a line that
 * nobody can foresee: "<mark>\n<bytes>\n".
 */
static int convert_some(const struct run *run, struct ews_entry *const *files, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv command = EWS_STRV_INIT;
	uint8_t random[16];
	char mark[2 * sizeof(random) + 1];
	const size_t mark_len = sizeof(mark); /* its newline included */
	char hex[EWS_OID_HEX_MAX];
	const char *at;
	int rc;

	for (size_t i = 0; i < n; i++) {
		ews_buf_addf(&question, "%s %s", ews_oid_hex(hex, &files[i]->oid), files[i]->path);
		ews_buf_add(&question, "", 1);
	}
	ews_clock_random(random, sizeof(random));
	ews_hex(mark, random, sizeof(random));
	ews_strv_add_all(&command, "cat-file", "--filters", "-z", NULL);
	ews_strv_addf(&command, "--batch=%s", mark);
	rc = ask_git(run, &answer, &question, &command);
	if (rc < 0)
		return rc;
	at = answer.ptr;
	for (size_t i = 0; i < n && rc == 0; i++) {
		const char *end = answer.ptr + answer.len;
		const char *next;

		if (!is_mark(at, end, mark))
			return ews_error(EWS_EGIT, "git answered otherwise than asked about '%s'", files[i]->path);
		at += mark_len;
		next = i + 1 < n ? memmem(at, (size_t)(end - at), mark, mark_len - 1) : end;
		if (!next || next == at)
			return ews_error(EWS_EGIT, "git did not answer about '%s'", files[i]->path);
		rc = take_one(run, files[i], at, (size_t)(next - at) - 1);
		at = next;
	}
	return rc;
}

static int convert_chosen(const struct run *run)
{
	int rc = 0;

	for (size_t at = 0, n; at < run->n && rc == 0; at += n ? n : 1) {
		n = 0;
		while (n < FILES_AT_ONCE && at + n < run->n && !begins_blank(run->files[at + n]->path))
			n++;
		rc = n ? convert_some(run, run->files + at, n) : convert_one(run, run->files[at]);
	}
	return rc;
}

/* As for git, which takes what it may not see for none. */
static int is_there(const char *path)
{
	if (access(path, F_OK) == 0)
		return 1;
	return ews_errno_is_passing(errno) ? ews_error_os("cannot look for '%s'", path) : 0;
}

/* Where the attributes of the user are, NULL: nowhere. The caller frees it. */
static int find_user_attributes(char **out, const struct ews_convert *convert)
{
	EWS_CLEANUP(free) char *said = NULL;
	EWS_CLEANUP(free) char *path = NULL;
	int rc = ews_odb_config_if_set(&said, convert->repo->odb, "core.attributesFile");

	if (rc < 0)
		return rc;
	path = said ? ews_gitconfig_expand(said) : ews_gitconfig_user_path("attributes");
	/* What is relative git seeks in the work tree. */
	rc = !path ? 0 : *path != '/' ? 1 : is_there(path);
	if (rc > 0)
		*out = ews_steal(&path);
	return rc < 0 ? rc : 0;
}

/* In a neutral place that has these attributes, too: nothing else ranks above those in the tree. */
static int stand_with(struct run *run, const char *info)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *link = NULL;
	int rc = ews_bench_make(&run->bench, run->convert->repo);

	if (rc < 0)
		return rc;
	run->git_dir = ews_path_join(run->bench.dir, "git");
	rc = ews_git_make_bare(run->git_dir, ews_odb_algo(run->convert->repo->odb));
	if (rc < 0)
		return rc;
	dir = ews_path_join(run->git_dir, "info");
	link = ews_path_join(dir, "attributes");
	if (mkdir(dir, 0700) < 0 || symlink(info, link) < 0)
		return ews_error_os("cannot make '%s'", link);
	return 0;
}

/* Where git stands, and with which settings. */
static int init_run(struct run *run, const struct ews_convert *convert)
{
	EWS_CLEANUP(free) char *info = ews_path_join(ews_odb_common_dir(convert->repo->odb), "info/attributes");
	EWS_CLEANUP(free) char *user = NULL;
	int rc = ews_config_git_bool(&run->folds_case, convert->repo->odb, "core.ignoreCase", false);
	int has_info = is_there(info);

	if (rc == 0)
		rc = has_info < 0 ? has_info : find_user_attributes(&user, convert);
	if (rc == 0 && has_info)
		rc = stand_with(run, info);
	else if (rc == 0)
		rc = ews_git_neutral_dir(&run->git_dir, convert->repo->home, ews_odb_algo(convert->repo->odb));
	if (rc < 0)
		return rc;
	run->has_outside = has_info || user;
	if (user) {
		ews_strv_add(&run->config, "-c");
		ews_strv_addf(&run->config, "core.attributesFile=%s", user);
	}
	if (run->folds_case)
		ews_strv_add_all(&run->config, "-c", "core.ignoreCase=true", NULL);
	rc = take_config(run, "core.autocrlf", "false");
	return rc < 0 ? rc : take_config(run, "core.eol", "native");
}

int ews_convert(const struct ews_convert *convert, struct ews_entries *list)
{
	EWS_CLEANUP(run)
	struct run run = { .convert = convert, .bench = EWS_BENCH_INIT, .config = EWS_STRV_INIT, .ends = EWS_STRV_INIT };
	int rc = init_run(&run, convert);

	if (rc == 0)
		rc = choose(&run, list);
	return rc < 0 ? rc : convert_chosen(&run);
}

void ews_convert_list_attributes(struct ews_entries *out, const struct ews_entries *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (is_attributes(&list->items[i]))
			ews_entries_add_copy(out, &list->items[i]);
	ews_entries_sort(out);
}

/* Open the file `path` beneath `root_fd`. NO_FD: there is none that git would read; fails where that can't be told just now. */
static int open_attributes(int root_fd, const char *path)
{
	const char *name;
	EWS_CLEANUP(fd) int dir = root_fd < 0 ? NO_FD : ews_dir_open_parent(root_fd, path, &name);
	int fd = dir < 0 ? dir : ews_file_open_regular(dir, name);

	if (fd >= 0)
		return fd;
	return ews_error_if_passing(fd) < 0 ? fd : NO_FD;
}

/*
 * What gives attributes in the work tree, and is none of those that are known: git goes by it, though no snapshot need have
 * it, as by one that is ignored itself.
 */
static int find_unlisted(struct ews_strv *out, const struct ews_convert *convert, const struct ews_strv *paths)
{
	EWS_CLEANUP(fd) int root = ews_dir_open(convert->work_tree);
	EWS_CLEANUP(strv) struct ews_strv places = EWS_STRV_INIT;

	/* Where there is no work tree, none of it is. */
	if (root < 0 && ews_error_if_passing(root) < 0)
		return root;
	ews_attr_places(&places, paths);
	for (size_t i = 0; i < places.n; i++) {
		EWS_CLEANUP(fd) int fd = -1;
		int counts = 1;

		if (!ews_entries_find(convert->attributes, places.items[i]))
			fd = open_attributes(root, places.items[i]);
		if (fd < NO_FD)
			return fd;
		if (fd >= 0 && convert->has_unlisted)
			counts = convert->has_unlisted(convert->payload, places.items[i]);
		if (counts < 0)
			return counts;
		if (fd >= 0 && counts)
			ews_strv_add(out, places.items[i]);
	}
	return 0;
}

/* Put them into the directory `dir`, where the files are that they are about. */
static int put_unlisted(const char *dir, const struct ews_convert *convert, const struct ews_strv *unlisted)
{
	EWS_CLEANUP(fd) int from = ews_dir_open(convert->work_tree);
	EWS_CLEANUP(fd) int to = ews_dir_open(dir);
	int rc = 0;

	for (size_t i = 0; i < unlisted->n && rc == 0; i++) {
		const char *name;
		EWS_CLEANUP(fd) int fd = open_attributes(from, unlisted->items[i]);
		EWS_CLEANUP(fd) int parent = ews_dir_open_parent(to, unlisted->items[i], &name);
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		if (parent < 0)
			return parent;
		rc = fd < 0 ? fd : ews_file_read_fd(&text, fd, ATTRIBUTES_BYTES_MAX);
		if (rc == 0)
			rc = ews_file_replace_unsynced(parent, name, text.ptr, text.len, 0600);
		else
			rc = ews_error_if_passing(rc); /* else git would not read it either */
	}
	return rc;
}

/* Files of nobody in particular, with the directories above them. */
static void add_plain(struct ews_entries *out, const struct ews_entry *entry)
{
	struct ews_entry *copy = ews_entries_add(out, entry->path, strlen(entry->path));
	EWS_CLEANUP(free) char *path = ews_strdup(entry->path);

	copy->type = EWS_ENTRY_FILE;
	copy->mode = 0600;
	copy->size = entry->size;
	copy->oid = entry->oid;
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		copy = ews_entries_add(out, path, strlen(path));
		copy->type = EWS_ENTRY_DIR;
		copy->mode = 0700;
	}
}

/* The files at `paths`, and all that give attributes, into the directory `dir`, which is made. */
static int put_files(const char *dir, const struct ews_convert *convert, const struct ews_entries *files,
		     const struct ews_strv *paths)
{
	EWS_CLEANUP(entries) struct ews_entries wanted = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	const struct ews_entries nothing = EWS_ENTRIES_INIT;
	struct ews_put_opts opts = { .odb = convert->repo->odb, .source_fd = -1 };
	EWS_CLEANUP(fd) int fd = -1;

	if (mkdir(dir, 0700) < 0)
		return ews_error_os("cannot make '%s'", dir);
	fd = opts.root_fd = ews_dir_open(dir);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < convert->attributes->n; i++)
		add_plain(&wanted, &convert->attributes->items[i]);
	for (size_t i = 0; i < paths->n; i++)
		add_plain(&wanted, ews_entries_find(files, paths->items[i]));
	ews_entries_unique(&wanted);
	ews_changes_between(&changes, &nothing, &wanted, ews_entry_equal);
	return ews_put_all(&report, &changes, &opts);
}

int ews_convert_put_attributes(const char *dir, struct ews_repo *repo, const struct ews_entries *files)
{
	const struct ews_convert convert = { .repo = repo, .attributes = files };
	const struct ews_strv none = EWS_STRV_INIT;

	return put_files(dir, &convert, files, &none);
}

/* "<mode> <id> <stage>\t<path>", each ended by NUL: take the ids of `paths`. */
static int take_ids(struct ews_entries *files, const struct ews_strv *paths, const struct ews_buf *list)
{
	for (const char *at = list->ptr; at < list->ptr + list->len; at += strlen(at) + 1) {
		const char *id = strchr(at, ' '), *tab = strchr(at, '\t');
		EWS_CLEANUP(free) char *hex = id ? ews_strndup(id + 1, strcspn(id + 1, " ")) : NULL;

		if (!hex || !tab)
			return ews_error(EWS_EGIT, "git answered otherwise than asked about its index");
		if (!ews_strv_sorted_has(paths, tab + 1))
			continue;
		if (ews_oid_parse(&ews_entries_find(files, tab + 1)->oid, hex) < 0)
			return ews_error_wrap("git's index");
	}
	return 0;
}

/* Run git beside the bench's index; its status is an error unless it is 0. */
static int run_there(const struct run *run, const struct ews_bench *bench, const char *work_tree,
		     const struct ews_buf *input, struct ews_buf *out, const char *const *args)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *sentence = NULL;
	struct ews_git_opts opts = ews_bench_opts(bench);
	int rc;

	opts.neutral_dir = run->git_dir;
	opts.sync_objects = true;
	opts.work_tree = work_tree;
	opts.out = out;
	opts.err = &err;
	opts.input = input->ptr;
	opts.input_len = input->len;

	ews_strv_add_array(&argv, run->config.items);
	ews_strv_add_all(&argv, "-c", "core.safecrlf=false", NULL);
	for (; *args; args++)
		ews_strv_add(&argv, *args);
	ews_buf_init_max(&err, EWS_MIB);
	rc = ews_git_run(&opts, argv.items);
	if (rc <= 0)
		return rc;
	sentence = ews_git_sentence(&err);
	return ews_error(EWS_EGIT, "git cannot convert line ends and encodings: %s", sentence);
}

int ews_convert_back(const struct ews_convert *convert, struct ews_entries *files, const struct ews_strv *paths,
		     const struct ews_oid *on)
{
	EWS_CLEANUP(run)
	struct run run = { .convert = convert, .bench = EWS_BENCH_INIT, .config = EWS_STRV_INIT, .ends = EWS_STRV_INIT };
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(strv) struct ews_strv sorted = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv unlisted = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	const char *const read[] = { "read-tree", ews_oid_is_none(on) ? "--empty" : ews_oid_hex(hex, on), NULL };
	const char *const add[] = { "update-index", "--add", "--replace", "-z", "--stdin", NULL };
	const char *const list[] = { "ls-files", "--stage", "-z", NULL };
	const struct ews_buf none = EWS_BUF_INIT;
	int rc = init_run(&run, convert);

	if (rc < 0 || !paths->n)
		return rc;
	rc = find_unlisted(&unlisted, convert, paths);
	if (rc < 0)
		return rc;
	if (!(run.converts_all || run.has_outside || convert->attributes->n || unlisted.n))
		return 0;
	ews_strv_add_array(&sorted, paths->items);
	ews_strv_unique(&sorted);
	for (size_t i = 0; i < sorted.n; i++)
		ews_buf_addz(&question, sorted.items[i]);
	ews_buf_init_max(&answer, ANSWER_MAX);
	rc = ews_bench_make(&bench, convert->repo);
	if (rc < 0)
		return rc;
	dir = ews_path_join(bench.dir, "files");
	rc = put_files(dir, convert, files, &sorted);
	if (rc == 0)
		rc = put_unlisted(dir, convert, &unlisted);
	if (rc == 0)
		rc = run_there(&run, &bench, dir, &none, &answer, read);
	if (rc == 0)
		rc = run_there(&run, &bench, dir, &question, &answer, add);
	if (rc == 0)
		rc = run_there(&run, &bench, dir, &none, &answer, list);
	if (rc == 0)
		rc = take_ids(files, &sorted, &answer);
	return rc < 0 ? rc : ews_odb_refresh(convert->repo->odb);
}
