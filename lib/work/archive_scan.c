/*
 * Archive scan: see archive_scan.h.
 *
 * A directory below the top of its project is looked at from there, since that is what rules and index speak of; then
 * its paths are cut.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/str.h"
#include "store/hardlink.h"
#include "work/rules.h"
#include "work/session_place.h"

#define READ_TRIES 3
#define LOOKS 4
#define FILES_CHUNK 16 /* that one thread reads in a row */

static const char usual_rules[] = "*.pyc\n__pycache__/\nvenv/\n.venv/\n.DS_Store\n";

/* All rules of one scan, in the forms that it wants. */
struct scan_rules {
	struct ews_ignore *ignore, *exclude, *keep, *given;
	struct ews_strv own;
	struct ews_index index;
	char *rel; /* the directory as seen from the root; "" is the root */
	const char *only[2];
};

#define SCAN_RULES_INIT { NULL, NULL, NULL, NULL, EWS_STRV_INIT, EWS_INDEX_INIT, NULL, { NULL, NULL } }

static void release_scan_rules(struct scan_rules *rules)
{
	ews_ignore_free(rules->ignore);
	ews_ignore_free(rules->exclude);
	ews_ignore_free(rules->keep);
	ews_ignore_free(rules->given);
	ews_strv_release(&rules->own);
	ews_index_release(&rules->index);
	free(rules->rel);
}

EWS_CLEANUP_DEFINE(scan_rules, struct scan_rules, release_scan_rules)

static void add_lines(struct ews_buf *out, const struct ews_strv *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		ews_buf_addf(out, "%s\n", lines->items[i]);
}

static struct ews_ignore *make_rules(const struct ews_strv *patterns)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	add_lines(&text, patterns);
	return ews_ignore_new(text.ptr, text.len, NULL, 0, false);
}

/* A rule for that path alone, whatever is in it. */
static void add_asset(struct ews_strv *out, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf rule = EWS_BUF_INIT;

	ews_buf_addc(&rule, '/');
	for (; *path; path++) {
		if (strchr("*?[\\ ", *path))
			ews_buf_addc(&rule, '\\');
		ews_buf_addc(&rule, *path);
	}
	ews_strv_add(out, rule.ptr);
}

static const char *root_of(const struct ews_archive_source *source)
{
	if (source->session)
		return source->session->state.workspace;
	return source->repo ? source->repo->project : source->dir;
}

static int read_index(struct ews_index *out, const struct ews_archive_source *source)
{
	EWS_CLEANUP(fd) int admin = -1;
	enum ews_hash_algo algo;
	int rc;

	if (!source->repo || source->repo->is_plain)
		return 0;
	algo = ews_odb_algo(source->repo->odb);
	if (!source->session)
		return ews_index_read(out, source->repo->git_fd, "index", algo);
	/* A workspace may have lost its registration, or have an index of any kind: its files are there all the same. */
	admin = ews_session_open_admin(source->session);
	rc = admin < 0 ? admin : ews_index_read(out, admin, "index", algo);
	if (rc < 0) {
		ews_index_release(out);
		*out = (struct ews_index)EWS_INDEX_INIT;
	}
	return ews_error_if_passing(rc);
}

/* What is known is as good as tracked. */
static void add_known(struct scan_rules *rules, const struct ews_entries *known)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;

	for (size_t i = 0; known && i < known->n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(rules->rel, known->items[i].path);

		if (known->items[i].type != EWS_ENTRY_DIR && !ews_index_find(&rules->index, path))
			ews_strv_add(&paths, path);
	}
	for (size_t i = 0; i < paths.n; i++)
		ews_index_add(&rules->index, paths.items[i])->mode = S_IFREG | 0644;
	if (paths.n)
		ews_index_sort(&rules->index);
}

static bool is_no_scratch(void *payload, const char *path)
{
	(void)payload;
	return strcmp(path, EWS_SCRATCH) != 0;
}

static int collect_rules(struct scan_rules *out, const struct ews_archive_source *source,
			 const struct ews_archive_scan_opts *opts)
{
	const struct ews_archive_rules *rules = opts->rules;
	EWS_CLEANUP(strv) struct ews_strv given = EWS_STRV_INIT;
	const char *root = root_of(source);
	int rc = read_index(&out->index, source);

	ews_rules_own_of(&out->own, source->home, root);
	out->rel = ews_strdup(source->dir + strlen(root) + (source->dir[strlen(root)] == '/'));
	out->only[0] = *out->rel ? out->rel : NULL;
	/* It is nobody's work, but whoever names it wants it. */
	if (ews_path_is_inside(out->rel, EWS_SCRATCH))
		ews_strv_filter(&out->own, is_no_scratch, NULL);
	add_known(out, opts->known);
	ews_strv_add_array(&given, rules->ignore.items);
	for (size_t i = 0; i < rules->assets.n; i++)
		add_asset(&given, rules->assets.items[i]);
	out->given = make_rules(&given);
	if (rules->keep.n)
		out->keep = make_rules(&rules->keep);
	if (source->repo) {
		if (rc == 0 && !rules->no_defaults)
			rc = ews_rules_ignore_after(&out->ignore, source->repo, root, usual_rules);
		if (rc == 0)
			rc = ews_rules_exclude(&out->exclude, source->repo, source->session);
	} else if (!rules->no_defaults) {
		out->ignore = ews_ignore_new(usual_rules, strlen(usual_rules), NULL, 0, false);
	}
	return rc;
}

static int open_root(const struct ews_archive_source *source)
{
	if (source->session)
		return ews_session_open_workspace(source->session);
	if (source->repo && source->repo->is_bare)
		return ews_error(EWS_EUSAGE, "'%s' is a bare repository: it has no files", source->repo->project);
	return ews_dir_open(root_of(source));
}

/* Names and stat data of all that is there, attributes; looked at again while things move about. */
static int look(struct ews_scan *scan, const struct scan_rules *rules, const struct ews_archive_source *source,
		int root)
{
	bool is_ours = source->session && !source->session->method->is_project;
	struct ews_scan_opts opts = { .root_fd = root,
				      .ignore = rules->ignore,
				      .read_gitignore = true,
				      .is_plain = !source->repo || source->repo->is_plain,
				      .into_repositories = true,
				      .into_mounts = !source->session,
				      .index = &rules->index,
				      .own = (const char *const *)rules->own.items,
				      /* What is left out anyhow need not be walked into. */
				      .exclude = rules->exclude || *rules->rel ? rules->exclude : rules->given,
				      .only = rules->only[0] ? rules->only : NULL,
				      .only_is_meant = true,
				      .may_chmod = is_ours };
	struct ews_scan_fill_opts fill = { .attrs_only = true, .may_chmod = is_ours };
	int rc = 0;

	for (int left = LOOKS - 1; left >= 0 && rc == 0; left--) {
		ews_scan_release(scan);
		*scan = (struct ews_scan)EWS_SCAN_INIT;
		opts.name_vanished = fill.name_vanished = left == 0;
		rc = ews_scan(scan, &opts);
		if (rc == 0)
			rc = ews_scan_fill(scan, &fill);
		if (!scan->n_vanished)
			break;
	}
	return rc;
}

/* Was it looked at? One that was left out, itself or with what it lies in, is not one that is empty. */
static int need_seen(const struct ews_scan *scan, const char *rel, const char *dir)
{
	const struct ews_skip *skip = *rel ? ews_skips_covering(&scan->skips, rel) : NULL;

	/* Of a repository all but its git directory is looked at. */
	if (!skip || ews_skip_is_gits(skip->reason))
		return 0;
	return ews_error(EWS_EDENIED, "'%s' can't be looked at: '%s' is left out, %s", dir, skip->path,
			 ews_skip_why(skip->reason));
}

/* Cut what is above the directory off all paths. */
static void cut(struct ews_scan *scan, const char *rel)
{
	size_t len = *rel ? strlen(rel) + 1 : 0, kept = 0;

	for (size_t i = 0; i < scan->entries.n; i++) {
		struct ews_entry *entry = &scan->entries.items[i];

		if (len && (!ews_path_is_inside(entry->path, rel) || !strcmp(entry->path, rel)))
			continue;
		entry->path += len;
		scan->entries.items[kept++] = *entry;
	}
	scan->entries.n = kept;
	kept = 0;
	for (size_t i = 0; i < scan->skips.n; i++) {
		struct ews_skip *skip = &scan->skips.items[i];

		if (len && (!ews_path_is_inside(skip->path, rel) || !strcmp(skip->path, rel)))
			continue;
		skip->path += len;
		scan->skips.items[kept++] = *skip;
	}
	scan->skips.n = kept;
}

/* Does a rule match the path, or a directory on the way to it? */
static bool matches(const struct ews_ignore *rules, const char *path, bool is_dir)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);

	for (char *slash = strchr(at, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool found;

		*slash = '\0';
		found = ews_ignore_match(rules, at, true);
		*slash = '/';
		if (found)
			return true;
	}
	return ews_ignore_match(rules, path, is_dir);
}

/* Why it stays out; 0: it doesn't. */
static enum ews_skip_reason why_not(const struct scan_rules *rules, const struct ews_entry *entry,
				    const char *place, const struct ews_strv *changing)
{
	size_t place_len = place ? strlen(place) : 0;
	const char *base = ews_path_base(entry->path);
	bool is_dir = ews_entry_is_dir(entry);

	if (ews_archive_is_own(entry->path))
		return EWS_SKIP_OWN;
	if (ews_entry_path_names_git(entry->path))
		return EWS_SKIP_REPOSITORY;
	/* Archives that are made into the directory itself would grow with each other, whole ones or those under way. */
	if (place && (ews_archive_is_name(base) || ews_str_begins(base, EWS_ARCHIVE_DRAFT)) &&
	    (size_t)(base - entry->path) == (place_len ? place_len + 1 : 0) &&
	    !strncmp(entry->path, place, place_len))
		return EWS_SKIP_OWN;
	if (changing && ews_strv_has(changing, entry->path))
		return EWS_SKIP_CHANGING;
	if (ews_ignore_match(rules->given, entry->path, is_dir))
		return EWS_SKIP_EXCLUDED;
	if (rules->keep && !is_dir && !matches(rules->keep, entry->path, false))
		return EWS_SKIP_UNKEPT;
	return 0;
}

/* Of directories that are kept for what they held, those stay that still hold something, or are wanted themselves. */
static void drop_hollow(struct ews_scan *scan, const struct scan_rules *rules)
{
	const char *next = NULL;
	size_t kept = 0;

	if (!rules->keep)
		return;
	for (size_t i = scan->entries.n; i-- > 0;) {
		struct ews_entry *entry = &scan->entries.items[i];

		if (entry->type == EWS_ENTRY_DIR && !(next && ews_path_is_inside(next, entry->path)) &&
		    !matches(rules->keep, entry->path, true))
			entry->path = NULL;
		else
			next = entry->path;
	}
	for (size_t i = 0; i < scan->entries.n; i++)
		if (scan->entries.items[i].path)
			scan->entries.items[kept++] = scan->entries.items[i];
	scan->entries.n = kept;
}

/* Leave out what rules say, whole directories at once, and name it. */
static void filter(struct ews_scan *scan, const struct scan_rules *rules, const char *place,
		   const struct ews_strv *changing)
{
	const char *gone = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < scan->entries.n; i++) {
		struct ews_entry *entry = &scan->entries.items[i];
		enum ews_skip_reason reason;

		if (gone && ews_path_is_inside(entry->path, gone))
			continue;
		reason = why_not(rules, entry, place, changing);
		if (reason) {
			gone = entry->path;
			ews_skips_add(&scan->skips, entry->path, reason, entry->size);
			continue;
		}
		/* Of a nested repository without files the directory is what there is. */
		if (entry->type == EWS_ENTRY_GITLINK)
			entry->type = EWS_ENTRY_DIR;
		scan->entries.items[kept++] = *entry;
	}
	scan->entries.n = kept;
	drop_hollow(scan, rules);
}

struct reading {
	struct ews_archive_tree *tree;
	uint8_t *lost; /* beside the entries: why one can't be read */
};

static int read_link(struct reading *reading, size_t i)
{
	struct ews_entry *entry = &reading->tree->scan.entries.items[i];
	const char *name;
	EWS_CLEANUP(fd)
	int dir = ews_dir_open_parent(reading->tree->root_fd, reading->tree->paths.items[i], &name);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_error_clear();
	if (dir < 0 || ews_dir_read_link(&text, dir, name) < 0 || !text.len) {
		reading->lost[i] = EWS_SKIP_CHANGING;
		return 0;
	}
	reading->tree->texts[i] = ews_strdup(text.ptr);
	entry->size = text.len;
	entry->oid.len = (uint8_t)ews_hash_once(EWS_SHA256, entry->oid.id, text.ptr, text.len);
	return 0;
}

/* Read a file for its digest: 0 it has one, 1 it changed meanwhile. */
static int read_once(struct reading *reading, size_t i)
{
	struct ews_entry *entry = &reading->tree->scan.entries.items[i];
	EWS_CLEANUP(fd)
	int fd = ews_dir_open_file(reading->tree->root_fd, reading->tree->paths.items[i], O_RDONLY, 0);
	bool is_closed = fd < 0 && (errno == EACCES || errno == EPERM);
	struct stat before, after;
	int rc;

	if (fd < 0) {
		ews_error_clear();
		reading->lost[i] = is_closed ? EWS_SKIP_UNREADABLE : EWS_SKIP_CHANGING;
		return 0;
	}
	if (fstat(fd, &before) < 0)
		return ews_error_os("cannot look at '%s'", entry->path);
	if (!S_ISREG(before.st_mode))
		return 1;
	rc = ews_archive_digest(&entry->oid, fd, (uint64_t)before.st_size, NULL);
	if (rc == EWS_ESTALE) {
		ews_error_clear();
		return 1;
	}
	if (rc < 0)
		return ews_error_wrap("'%s'", entry->path);
	if (fstat(fd, &after) < 0)
		return ews_error_os("cannot look at '%s'", entry->path);
	ews_entry_set_stat(entry, &before);
	return ews_entry_stat_matches(entry, &after) ? 0 : 1;
}

static int read_one(size_t i, unsigned worker, void *payload)
{
	struct reading *reading = payload;
	const struct ews_entry *entry = &reading->tree->scan.entries.items[i];
	int rc = 1;

	(void)worker;
	if (entry->type == EWS_ENTRY_LINK)
		return read_link(reading, i);
	if (entry->type != EWS_ENTRY_FILE)
		return 0;
	for (int tries = 0; tries < READ_TRIES && rc == 1; tries++)
		rc = read_once(reading, i);
	if (rc == 1)
		reading->lost[i] = EWS_SKIP_CHANGING;
	return rc < 0 ? rc : 0;
}

/* Read all contents; what can't be read is left out by name. */
static int read_contents(struct ews_archive_tree *tree)
{
	struct ews_scan *scan = &tree->scan;
	EWS_CLEANUP(free) uint8_t *lost = ews_calloc(scan->entries.n + 1, 1);
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	struct reading reading = { tree, lost };
	size_t kept = 0;
	int rc;

	tree->n_texts = scan->entries.n;
	tree->texts = ews_calloc(tree->n_texts + 1, sizeof(*tree->texts));
	rc = ews_pool_for(scan->entries.n, FILES_CHUNK, 0, read_one, &reading);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < scan->entries.n; i++) {
		struct ews_entry *entry = &scan->entries.items[i];
		char *text = ews_steal(&tree->texts[i]);

		if (lost[i]) {
			ews_skips_add(&scan->skips, entry->path, (enum ews_skip_reason)lost[i], entry->size);
			free(text);
			continue;
		}
		ews_strv_add(&paths, tree->paths.items[i]);
		tree->texts[kept] = text;
		scan->entries.items[kept++] = *entry;
	}
	scan->entries.n = kept;
	ews_strv_clear(&tree->paths);
	ews_strv_add_array(&tree->paths, paths.items);
	ews_skips_sort(&scan->skips);
	ews_hardlinks_find(&scan->entries);
	return 0;
}

int ews_archive_scan(struct ews_archive_tree *out, const struct ews_archive_source *source,
		     const struct ews_archive_scan_opts *opts)
{
	EWS_CLEANUP(scan_rules) struct scan_rules all = SCAN_RULES_INIT;
	EWS_CLEANUP(archive_tree) struct ews_archive_tree tree = EWS_ARCHIVE_TREE_INIT;
	bool is_inside = opts->place && ews_path_is_inside(opts->place, source->dir);
	const char *place_rel = is_inside ? opts->place + strlen(source->dir) : NULL;
	struct stat st;
	int rc = collect_rules(&all, source, opts);

	if (rc == 0)
		rc = tree.root_fd = open_root(source);
	if (rc >= 0 && fstatat(tree.root_fd, *all.rel ? all.rel : ".", &st, AT_SYMLINK_NOFOLLOW) < 0)
		rc = ews_error_os("cannot look at '%s'", source->dir);
	if (rc >= 0)
		rc = look(&tree.scan, &all, source, tree.root_fd);
	if (rc >= 0)
		rc = need_seen(&tree.scan, all.rel, source->dir);
	if (rc < 0)
		return rc;
	cut(&tree.scan, all.rel);
	filter(&tree.scan, &all, place_rel ? place_rel + (*place_rel == '/') : NULL, opts->changing);
	for (size_t i = 0; i < tree.scan.entries.n; i++)
		ews_strv_addf(&tree.paths, "%s%s%s", all.rel, *all.rel ? "/" : "", tree.scan.entries.items[i].path);
	rc = read_contents(&tree);
	if (rc < 0)
		return rc;
	ews_scan_count(&tree.scan);
	tree.mode = st.st_mode & 07777;
	*out = tree;
	tree = (struct ews_archive_tree)EWS_ARCHIVE_TREE_INIT;
	return 0;
}

int ews_archive_tree_open(const struct ews_archive_tree *tree, size_t i)
{
	const struct ews_entry *entry = &tree->scan.entries.items[i];
	EWS_CLEANUP(fd) int fd = ews_dir_open_file(tree->root_fd, tree->paths.items[i], O_RDONLY, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !ews_entry_stat_matches(entry, &st))
		return ews_error(EWS_ESTALE, "'%s' changed while it was read", entry->path);
	return ews_steal_fd(&fd);
}

void ews_archive_tree_release(struct ews_archive_tree *tree)
{
	for (size_t i = 0; i < tree->n_texts; i++)
		free(tree->texts[i]);
	free(tree->texts);
	ews_strv_release(&tree->paths);
	ews_scan_release(&tree->scan);
	if (tree->root_fd >= 0)
		close(tree->root_fd);
	*tree = (struct ews_archive_tree)EWS_ARCHIVE_TREE_INIT;
}
