/*
 * Archive making: see archive_make.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/meter.h"
#include "base/path.h"
#include "store/home.h"
#include "store/litter.h"
#include "work/snapshot.h"

#define ATTEMPTS_MAX 32
#define PATIENT_ATTEMPTS 4 /* in which a file may change once, and is waited for */

/* The archive on its way, in the directory that it is for: a file without a name, which is gone with whoever writes it. */
struct draft {
	const char *dir;
	int dir_fd, fd;
	char name[EWS_LITTER_NAME_MAX]; /* until it has arrived, where the file system has no files without one; else "" */
	bool is_private; /* the directory is in home */
};

static void release_draft(struct draft *draft)
{
	if (*draft->name)
		(void)unlinkat(draft->dir_fd, draft->name, 0); /* best effort: the next one sweeps it */
	if (draft->fd >= 0)
		close(draft->fd);
	if (draft->dir_fd >= 0)
		close(draft->dir_fd);
}

EWS_CLEANUP_DEFINE(draft, struct draft, release_draft)

/* Make the directory `rel` in home, and the names of it and of the one above durable. */
static int make_place(int home_fd, const char *rel)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(rel);
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (faccessat(home_fd, rel, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	rc = ews_dir_make(home_fd, rel, 0700);
	if (rc == 0)
		rc = fd = ews_dir_open_own(home_fd, above);
	if (rc >= 0)
		rc = ews_file_sync_dir(fd);
	return rc < 0 ? rc : ews_file_sync_dir(home_fd);
}

static int make_draft(struct draft *out)
{
	out->fd = openat(out->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (out->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		out->fd = ews_litter_make(out->name, out->dir_fd, EWS_ARCHIVE_DRAFT);
	else if (out->fd < 0)
		return ews_error_os("cannot make a file");
	return out->fd;
}

static int open_draft(struct draft *out, const char *home, const char *dir, bool is_private)
{
	EWS_CLEANUP(fd) int home_fd = is_private ? ews_home_open(home) : -1;
	mode_t mask = umask(0);
	int rc;

	umask(mask);
	out->is_private = is_private;
	out->dir = dir;
	if (is_private) {
		const char *rel = dir + strlen(home) + 1;

		rc = home_fd < 0 ? home_fd : make_place(home_fd, rel);
		if (rc == 0)
			rc = out->dir_fd = ews_dir_open_own(home_fd, rel);
	} else {
		rc = ews_dir_make_absolute(dir, 0777);
		if (rc == 0)
			rc = out->dir_fd = ews_dir_open(dir);
	}
	if (rc < 0)
		return ews_error_wrap("'%s'", dir);
	ews_litter_sweep_dir(out->dir_fd, EWS_ARCHIVE_DRAFT);
	rc = make_draft(out);
	if (rc >= 0 && fchmod(out->fd, is_private ? 0600 : 0666 & ~mask) < 0)
		rc = ews_error_os("cannot set its mode");
	return rc < 0 ? ews_error_wrap("'%s'", dir) : 0;
}

static int place_draft(struct draft *draft, const char *name)
{
	char held[EWS_HANDLE_NAME_MAX];
	int rc = 0;

	if (fsync(draft->fd) < 0)
		return ews_error_os("cannot write '%s/%s'", draft->dir, name);
	if (*draft->name)
		rc = ews_file_rename_new(draft->dir_fd, draft->name, draft->dir_fd, name);
	else if (linkat(AT_FDCWD, ews_handle_name(held, draft->fd), draft->dir_fd, name, AT_SYMLINK_FOLLOW) < 0)
		rc = ews_error_os("cannot write '%s/%s'", draft->dir, name);
	if (rc < 0)
		return rc;
	*draft->name = '\0';
	return ews_file_sync_dir(draft->dir_fd);
}

/* Only what was asked for by name is told of the environment. */
static void choose_env(struct ews_strv *out, const struct ews_strv *names)
{
	for (size_t i = 0; names && i < names->n; i++) {
		const char *value = strchr(names->items[i], '=') ? NULL : getenv(names->items[i]);

		if (value)
			ews_strv_addf(out, "%s=%s", names->items[i], value);
		else
			ews_strv_add(out, names->items[i]);
	}
}

static char *dup_or_empty(const char *text)
{
	return ews_strdup(text ? text : "");
}

/* The commit that HEAD is at, as hex; "" where there is none. */
static int find_base_commit(char **out, const struct ews_archive_source *source)
{
	char hex[EWS_OID_HEX_MAX] = "";
	struct ews_oid oid;
	int rc = 0;

	if (!source->session && source->repo && !source->repo->is_plain)
		rc = ews_odb_find_head(&oid, source->repo->odb);
	if (rc > 0)
		ews_oid_hex(hex, &oid);
	*out = dup_or_empty(source->session ? source->session->state.base_commit : hex);
	return rc < 0 ? rc : 0;
}

static int describe(struct ews_archive *out, const struct ews_archive_tree *tree,
		    const struct ews_archive_order *order)
{
	const struct ews_session *session = order->source.session;
	const struct ews_archive *previous = order->previous;
	char checksum[EWS_TREE_HASH_LEN];

	ews_manifest_hash(checksum, &tree->scan.entries);
	out->path = ews_strdup(order->source.dir);
	out->session = dup_or_empty(session ? session->state.id : NULL);
	out->base_snapshot = dup_or_empty(session ? session->state.base_snapshot : NULL);
	out->previous = dup_or_empty(previous ? previous->file : NULL);
	out->previous_checksum = dup_or_empty(previous ? previous->checksum : NULL);
	out->checksum = ews_strdup(checksum);
	out->mode = (int)tree->mode;
	out->created_s = ews_clock_now();
	out->compression = order->compression;
	out->n_files = tree->scan.n_files;
	out->size_bytes = tree->scan.size_bytes;
	ews_archive_rules_copy(&out->rules, order->rules);
	choose_env(&out->env, order->env);
	return find_base_commit(&out->base_commit, &order->source);
}

static int write_own(struct ews_archive_writer *writer, const struct ews_archive *archive,
		     const struct ews_archive_tree *tree)
{
	EWS_CLEANUP(buf) struct ews_buf record = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf manifest = EWS_BUF_INIT;
	int rc;

	ews_archive_format(&record, archive);
	ews_manifest_format(&manifest, &tree->scan.entries, &tree->scan.skips);
	rc = ews_archive_writer_add_text(writer, EWS_ARCHIVE_RECORD, &record, archive->created_s);
	return rc < 0 ? rc : ews_archive_writer_add_text(writer, EWS_ARCHIVE_MANIFEST, &manifest, archive->created_s);
}

static int write_entry(struct ews_archive_writer *writer, const struct ews_archive_tree *tree, size_t i)
{
	const struct ews_entry *entry = &tree->scan.entries.items[i];
	EWS_CLEANUP(fd) int fd = -1;

	if (entry->type == EWS_ENTRY_FILE && !entry->first_name) {
		fd = ews_archive_tree_open(tree, i);
		if (fd < 0)
			return fd;
	}
	return ews_archive_writer_add(writer, entry, tree->texts[i], fd);
}

/* How far the writing has come. */
struct writing {
	const struct ews_archive_order *order;
	size_t done, total;
	uint64_t bytes;
};

static void tell(void *payload, uint64_t bytes)
{
	struct writing *writing = payload;

	writing->bytes += bytes;
	if (writing->order->progress)
		writing->order->progress(writing->order->payload, writing->done, writing->total, writing->bytes);
}

/* Write all of it. A file that is no longer what it was fails with EWS_ESTALE, and `*at` says which. */
static int write_all(size_t *at, int fd, const struct ews_archive *archive, const struct ews_archive_tree *tree,
		     const struct ews_archive_order *order)
{
	EWS_CLEANUP(archive_writer) struct ews_archive_writer *writer = NULL;
	int rc = ews_archive_writer_new(&writer, fd, order->compression, &tree->scan.entries);
	struct writing writing = { .order = order, .total = tree->scan.entries.n };

	if (rc == 0)
		rc = write_own(writer, archive, tree);
	for (size_t i = 0; i < writing.total && rc == 0; i++) {
		struct ews_meter meter;
		uint64_t size = tree->scan.entries.items[i].size, told;

		*at = i;
		ews_meter_begin(&meter, tell, &writing);
		rc = write_entry(writer, tree, i);
		told = ews_meter_end(&meter);
		writing.done++;
		tell(&writing, size > told ? size - told : 0);
	}
	return rc < 0 ? rc : ews_archive_writer_finish(writer);
}

/* The newest archive of the same directory, in the place that it is to have, or in all that it may have in home. */
static int find_newest(struct ews_archive *out, const char *place, const struct ews_archive_order *order)
{
	EWS_CLEANUP(archives) struct ews_archives list = EWS_ARCHIVES_INIT;
	EWS_CLEANUP(strv) struct ews_strv places = EWS_STRV_INIT;
	int rc = 0;

	if (order->to)
		ews_strv_add(&places, place);
	else
		rc = ews_archive_places(&places, order->source.repo, order->home, order->source.dir);
	for (size_t i = 0; i < places.n && rc == 0; i++)
		rc = ews_archive_list(&list, places.items[i]);

	for (size_t i = list.n; i-- > 0 && rc == 0;) {
		struct ews_archive *one = &list.items[i];

		if (one->is_foreign || strcmp(one->path, order->source.dir) != 0)
			continue;
		*out = *one;
		*one = (struct ews_archive)EWS_ARCHIVE_INIT;
		return 1;
	}
	return rc;
}

/* Is what is there now what the one before has? Returns 1, and `out` is that one. */
static int is_unchanged(struct ews_archive *out, const struct ews_archive *now, const char *place,
			const struct ews_archive_order *order)
{
	EWS_CLEANUP(archive) struct ews_archive newest = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (order->previous) {
		rc = fd = ews_archive_open(order->previous->file);
		if (rc >= 0)
			rc = ews_archive_describe(&newest, order->previous->file, fd);
		rc = rc < 0 ? rc : 1;
	} else {
		rc = find_newest(&newest, place, order);
	}
	if (rc <= 0)
		return rc;
	if (strcmp(newest.checksum, now->checksum) != 0)
		return 0;
	*out = newest;
	newest = (struct ews_archive)EWS_ARCHIVE_INIT;
	return 1;
}

/* What changed in attempts that failed. */
struct unrest {
	struct ews_strv changed; /* once: it may come to rest */
	struct ews_strv changing; /* it won't, and is left out */
	unsigned n_attempts; /* that have failed */
};

#define UNREST_INIT { EWS_STRV_INIT, EWS_STRV_INIT, 0 }

static void release_unrest(struct unrest *unrest)
{
	ews_strv_release(&unrest->changed);
	ews_strv_release(&unrest->changing);
}

EWS_CLEANUP_DEFINE(unrest, struct unrest, release_unrest)

static void note_change(struct unrest *unrest, const char *path)
{
	bool is_restless = unrest->n_attempts > PATIENT_ATTEMPTS || ews_strv_has(&unrest->changed, path);

	ews_strv_add(is_restless ? &unrest->changing : &unrest->changed, path);
}

/*
 * Entry `at` changed while it was packed, and so will others of its kind: all of them are looked for at once, or each would cost an
 * attempt of its own.
 */
static void note_changes(struct unrest *unrest, const struct ews_archive_tree *tree, size_t at)
{
	unrest->n_attempts++;
	for (size_t i = 0; i < tree->scan.entries.n; i++) {
		const struct ews_entry *entry = &tree->scan.entries.items[i];
		EWS_CLEANUP(fd) int fd = -1;

		if (entry->type != EWS_ENTRY_FILE)
			continue;
		fd = i == at ? -1 : ews_archive_tree_open(tree, i);
		if (fd < 0)
			note_change(unrest, entry->path);
	}
}

static int attempt(struct ews_archive *out, struct ews_archive_tree *tree, struct unrest *unrest, const char *place,
		   const struct ews_archive_order *order)
{
	EWS_CLEANUP(archive) struct ews_archive archive = EWS_ARCHIVE_INIT;
	EWS_CLEANUP(draft) struct draft draft = { .dir_fd = -1, .fd = -1 };
	EWS_CLEANUP(free) char *name = NULL;
	struct stat st;
	size_t at = 0;
	/* Through a link it is not seen to lie in the directory that is packed. */
	EWS_CLEANUP(free) char *real = realpath(place, NULL);
	const struct ews_archive_scan_opts scan = { order->rules, real ? real : place, &unrest->changing, NULL };
	int rc = ews_archive_scan(tree, &order->source, &scan);

	if (rc == 0)
		rc = describe(&archive, tree, order);
	if (rc < 0)
		return rc;
	if (order->if_changed) {
		rc = is_unchanged(out, &archive, place, order);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	rc = open_draft(&draft, order->home, place, !order->to);
	if (rc == 0)
		rc = write_all(&at, draft.fd, &archive, tree, order);
	if (rc == EWS_ESTALE)
		note_changes(unrest, tree, at);
	if (rc < 0)
		return rc;
	name = ews_archive_name_new(archive.created_s, order->source.dir, order->compression);
	archive.file = ews_path_join(place, name);
	rc = place_draft(&draft, name);
	if (rc == 0 && fstat(draft.fd, &st) < 0)
		rc = ews_error_os("cannot look at '%s'", archive.file);
	if (rc < 0)
		return rc;
	archive.file_bytes = (uint64_t)st.st_size;
	*out = archive;
	archive = (struct ews_archive)EWS_ARCHIVE_INIT;
	return 1;
}

int ews_archive_make(struct ews_archive *out, struct ews_archive_tree *tree, const struct ews_archive_order *order)
{
	EWS_CLEANUP(unrest) struct unrest unrest = UNREST_INIT;
	EWS_CLEANUP(free) char *place = order->to ? ews_strdup(order->to) : NULL;
	int rc = order->to ? 0 : ews_archive_place(&place, order->source.repo, order->home, order->source.dir);

	if (rc < 0)
		return rc;
	rc = EWS_ESTALE;
	for (int left = ATTEMPTS_MAX; left > 0 && rc == EWS_ESTALE; left--) {
		ews_archive_tree_release(tree);
		rc = attempt(out, tree, &unrest, place, order);
	}
	return rc;
}
