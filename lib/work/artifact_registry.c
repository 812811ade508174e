/*
 * The registry of artifacts: see artifact_registry.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact_registry.h"

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
#include "base/str.h"
#include "work/artifact_copy.h"
#include "work/snapshot.h"

#define MANIFEST_MAX (64 * EWS_MIB)
#define SCHEMA "ews.artifacts/"
#define VERSION 1
#define OWN_LOCK "~artifacts" /* no session's id */
#define LOCK_WAIT_MS 60000

void ews_artifacts_release(struct ews_artifacts *list)
{
	for (size_t i = 0; i < list->n; i++)
		ews_artifact_release(&list->items[i]);
	free(list->items);
	free(list->place);
	*list = (struct ews_artifacts)EWS_ARTIFACTS_INIT;
}

void ews_artifact_news_release(struct ews_artifact_news *news)
{
	ews_strv_release(&news->brought_back);
	ews_strv_release(&news->taken_in);
	ews_strv_release(&news->warnings);
}

void ews_artifact_registry_release(struct ews_artifact_registry *registry)
{
	ews_lock_release(&registry->lock);
	ews_artifact_place_release(&registry->place);
	ews_artifacts_release(&registry->list);
	ews_artifacts_release(&registry->trash);
	ews_artifacts_release(&registry->stuck);
	ews_refs_release(&registry->damaged);
	if (registry->own_news.warnings.items)
		ews_artifact_news_release(&registry->own_news);
}

struct ews_artifact *ews_artifacts_push(struct ews_artifacts *list, struct ews_artifact *artifact)
{
	EWS_GROW(list->items, list->n, list->cap);
	list->items[list->n] = *artifact;
	*artifact = (struct ews_artifact)EWS_ARTIFACT_INIT;
	return &list->items[list->n++];
}

/* What tells an id from the others, even where nothing else is known of it. */
static unsigned number_of(const char *id)
{
	const char *dash = strrchr(id, '-');

	return dash && strlen(dash) < 11 ? (unsigned)strtoul(dash + 1, NULL, 10) : 0;
}

static int cmp_by_number(const void *a, const void *b)
{
	const struct ews_artifact *x = a, *y = b;
	unsigned m = number_of(x->id), n = number_of(y->id);

	return m != n ? (m < n ? -1 : 1) : strcmp(x->id, y->id);
}

void ews_artifact_news_warn(struct ews_artifact_news *news)
{
	ews_strv_add(&news->warnings, ews_error_message());
	ews_error_clear();
}

static void add_damaged(struct ews_refs *damaged, const struct ews_ref *ref)
{
	EWS_GROW(damaged->items, damaged->n, damaged->cap);
	damaged->items[damaged->n++] = (struct ews_ref){ .name = ews_strdup(ref->name), .oid = ref->oid };
}

int ews_artifact_refs_read(struct ews_artifacts *out, struct ews_refs *damaged, unsigned *last,
			   struct ews_repo *repo, const char *prefix)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, repo->odb, prefix);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < refs.n; i++) {
		EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
		const char *id = refs.items[i].name + strlen(prefix);

		if (number_of(id) > *last)
			*last = number_of(id);
		rc = ews_artifact_read(&artifact, repo->odb, id, &refs.items[i].oid);
		/* What can't be read just now is no artifact less. */
		if (rc < 0 && !ews_odb_has_lost(rc))
			return rc;
		if (rc == 0)
			(void)ews_artifacts_push(out, &artifact);
		else if (damaged)
			add_damaged(damaged, &refs.items[i]);
		ews_error_clear();
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_by_number);
	return 0;
}

struct ews_artifact *ews_artifacts_find_id(const struct ews_artifacts *list, const char *id)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].id, id))
			return &list->items[i];
	return NULL;
}

struct ews_artifact *ews_artifacts_find_path(const struct ews_artifacts *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].path, path))
			return &list->items[i];
	return NULL;
}

static bool has_number(const struct ews_artifacts *list, unsigned number)
{
	for (size_t i = 0; i < list->n; i++)
		if (number_of(list->items[i].id) == number)
			return true;
	return false;
}

static bool is_number_damaged(const struct ews_artifact_registry *registry, unsigned number)
{
	for (size_t i = 0; i < registry->damaged.n; i++)
		if (number_of(registry->damaged.items[i].name) == number)
			return true;
	return false;
}

unsigned ews_artifact_registry_next_number(struct ews_artifact_registry *registry)
{
	unsigned number = 1;

	if (registry->last_number < EWS_ARTIFACT_NUMBER_MAX)
		return ++registry->last_number;
	while (has_number(&registry->list, number) || has_number(&registry->trash, number) ||
	       is_number_damaged(registry, number))
		number++;
	return number;
}

int ews_artifact_point_ref(const struct ews_artifact *artifact, struct ews_repo *repo, const struct ews_oid *was)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ARTIFACTS "%s", artifact->id);

	return ews_oid_equal(was, &artifact->commit) ? 0 : ews_odb_ref_swap(repo->odb, ref, was, &artifact->commit);
}

int ews_artifact_confirm(const struct ews_artifact *artifact, struct ews_repo *repo, const struct ews_oid *was)
{
	const struct ews_oid *const held[] = { &artifact->commit, &artifact->tree, &artifact->blob };
	EWS_CLEANUP(free) char *ref = NULL;

	if (ews_odb_freshen_all(repo->odb, held, sizeof(held) / sizeof(*held)))
		return 0;
	ref = ews_strfmt(EWS_REF_ARTIFACTS "%s", artifact->id);
	(void)ews_odb_ref_swap(repo->odb, ref, &artifact->commit, was); /* what is told is what comes first */
	ews_error(EWS_ESTALE, "objects of '%s' went before it was kept: a gc removes what is new", artifact->id);
	ews_error_hint("nothing was changed; try again");
	return EWS_ESTALE;
}

int ews_artifact_publish(struct ews_artifact *artifact, struct ews_repo *repo, struct ews_batch *batch,
			 const struct ews_oid *was)
{
	int rc = ews_artifact_write(artifact, batch);

	if (rc == 0)
		rc = ews_batch_commit(batch);
	if (rc == 0)
		rc = ews_artifact_point_ref(artifact, repo, was);
	return rc < 0 ? rc : ews_artifact_confirm(artifact, repo, was);
}

int ews_artifact_add_blob(struct ews_artifact *artifact, struct ews_batch *batch, int fd)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot read");
	artifact->size_bytes = (uint64_t)st.st_size;
	rc = ews_artifact_copy_hash(artifact->sha256, fd);
	return rc < 0 ? rc : ews_batch_add_fd(&artifact->blob, batch, fd, artifact->size_bytes, NULL);
}

int ews_artifact_registry_take_in(struct ews_artifact_registry *registry, struct ews_artifact *artifact,
				  const struct ews_oid *was)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(registry->repo->odb);
	EWS_CLEANUP(fd) int fd = ews_dir_open_file(registry->place.fd, artifact->path, O_RDONLY, 0);
	struct timespec times[2] = { { 0 }, { 0 } };
	struct stat st;
	uint64_t max_bytes;
	int rc = fd < 0 ? fd : ews_config_size(&max_bytes, ews_repo_config(registry->repo), "ews.maxFile");

	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ews_error(EWS_EDAMAGED, "'%s' is not a regular file", artifact->path);
	if ((uint64_t)st.st_size > max_bytes)
		return ews_error(EWS_ENOSPACE, "'%s' is longer than ews.maxFile allows", artifact->path);
	if (!artifact->created_s)
		artifact->created_s = st.st_mtim.tv_sec;
	times[0].tv_sec = times[1].tv_sec = artifact->created_s;
	(void)futimens(fd, times); /* best effort: a file of another time is read at each look */
	artifact->is_executable = st.st_mode & 0100;
	artifact->commit = (struct ews_oid)EWS_OID_NONE;
	rc = ews_artifact_add_blob(artifact, batch, fd);
	if (rc == 0 && !artifact->id)
		artifact->id = ews_artifact_id_new(artifact->type, ews_artifact_registry_next_number(registry));
	if (rc == 0)
		rc = ews_artifact_publish(artifact, registry->repo, batch, was);
	if (rc < 0)
		return ews_error_wrap("cannot keep '%s'", artifact->path);
	artifact->file = EWS_ARTIFACT_PRESENT;
	return 0;
}

struct ews_artifact ews_artifact_make(enum ews_artifact_type type, char *path)
{
	return (struct ews_artifact){ .type = type,
				      .path = path,
				      .session = ews_strdup(""),
				      .base = ews_strdup(""),
				      .description = ews_strdup(""),
				      .original = ews_strdup("") };
}

static void take_in_file(struct ews_artifact_registry *registry, enum ews_artifact_type type, char *path)
{
	EWS_CLEANUP(artifact) struct ews_artifact artifact = ews_artifact_make(type, path);
	const struct ews_oid none = EWS_OID_NONE;

	if (ews_artifact_registry_take_in(registry, &artifact, &none) < 0) {
		ews_artifact_news_warn(registry->news);
		return;
	}
	ews_strv_add(&registry->news->taken_in, artifact.path);
	(void)ews_artifacts_push(&registry->list, &artifact);
}

static void take_in_dir(struct ews_artifact_registry *registry, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(registry->place.fd, dir);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	ews_error_clear();
	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir, names.items[i].name);
		struct stat st;

		if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
		    ews_artifacts_find_path(&registry->list, path))
			continue;
		if (ews_artifact_name_is_safe(names.items[i].name))
			take_in_file(registry, ews_artifact_type_guess(dir, names.items[i].name), ews_steal(&path));
		else if (*names.items[i].name != '.')
			ews_strv_addf(&registry->news->warnings, "'%s' is left out: no artifact has such a name",
				      path);
	}
}

/* All files that lie where artifacts of some type do. */
static void take_in_files(struct ews_artifact_registry *registry)
{
	const char *last = "";

	for (unsigned type = 1; type < EWS_ARTIFACT_END; type++) {
		const char *dir = ews_artifact_type_dir(type);

		/* Types that share a directory stand together. */
		if (*dir && strcmp(dir, last) != 0)
			take_in_dir(registry, dir);
		last = dir;
	}
}

/* The oid of the ref `id` that can't be read, or none. */
static struct ews_oid damaged_ref(const struct ews_artifact_registry *registry, const char *id)
{
	for (size_t i = 0; i < registry->damaged.n; i++)
		if (!strcmp(registry->damaged.items[i].name + strlen(EWS_REF_ARTIFACTS), id))
			return registry->damaged.items[i].oid;
	return (struct ews_oid)EWS_OID_NONE;
}

void ews_artifact_registry_let_go(struct ews_artifact_registry *registry, struct ews_artifact *removed)
{
	EWS_CLEANUP(artifact) struct ews_artifact stuck = EWS_ARTIFACT_INIT;
	char sha256[EWS_SHA256_HEX_MAX];

	if (ews_artifacts_find_path(&registry->list, removed->path))
		return;
	ews_artifact_copy_look(removed, sha256, &registry->place, true);
	if (removed->file == EWS_ARTIFACT_UNKNOWN ||
	    (removed->file == EWS_ARTIFACT_PRESENT && ews_artifact_copy_remove(&registry->place, removed->path) < 0)) {
		if (removed->file == EWS_ARTIFACT_UNKNOWN)
			ews_strv_addf(&registry->news->warnings, "'%s' can't be read, and stays", removed->path);
		else
			ews_artifact_news_warn(registry->news);
		ews_artifact_copy(&stuck, removed);
		(void)ews_artifacts_push(&registry->stuck, &stuck);
	}
	if (removed->file == EWS_ARTIFACT_CHANGED)
		ews_strv_addf(&registry->news->warnings, "'%s' was changed since it was kept, and stays",
			      removed->path);
}

/* What the manifest names and no ref: it was removed, or its ref was lost and the file is what is left. */
static void follow_entry(struct ews_artifact_registry *registry, struct ews_artifact *entry)
{
	struct ews_artifact *removed = ews_artifacts_find_id(&registry->trash, entry->id);
	const struct ews_oid was = damaged_ref(registry, entry->id);
	char sha256[EWS_SHA256_HEX_MAX], want[EWS_SHA256_HEX_MAX];

	if (ews_artifacts_find_id(&registry->list, entry->id))
		return;
	if (removed) {
		ews_artifact_registry_let_go(registry, removed);
		return;
	}
	if (ews_artifacts_find_path(&registry->list, entry->path))
		return;
	memcpy(want, entry->sha256, sizeof(want));
	ews_artifact_copy_look(entry, sha256, &registry->place, true);
	if (entry->file == EWS_ARTIFACT_MISSING) {
		ews_strv_addf(&registry->news->warnings,
			      "%s is lost: neither '%s' nor what the store kept of it is there", entry->id,
			      entry->path);
		return;
	}
	/* Where the file is another, the ref may be the last that leads to what was kept: both stay, and the manifest names it. */
	if (entry->file != EWS_ARTIFACT_PRESENT && !ews_oid_is_none(&was)) {
		ews_strv_addf(&registry->news->warnings, "%s is damaged, and '%s' %s: it is left as it is",
			      entry->id, entry->path,
			      entry->file == EWS_ARTIFACT_UNKNOWN ? "can't be read just now" : "is not what it was");
		(void)ews_artifacts_push(&registry->stuck, entry);
		return;
	}
	if (ews_artifact_registry_take_in(registry, entry, &was) < 0) {
		ews_artifact_news_warn(registry->news);
		return;
	}
	if (strcmp(want, entry->sha256) != 0)
		ews_strv_addf(&registry->news->warnings,
			      "%s is not what it was: the manifest has another digest for '%s'", entry->id,
			      entry->path);
	if (number_of(entry->id) > registry->last_number)
		registry->last_number = number_of(entry->id);
	ews_strv_add(&registry->news->taken_in, entry->path);
	(void)ews_artifacts_push(&registry->list, entry);
}

/* A version that is not ours is left alone. Other texts make the manifest a damaged one. */
static int check_schema(const cJSON *object)
{
	const char *schema, *version;
	int rc = ews_json_get_string(&schema, object, "schema");

	if (rc < 0)
		return rc;
	version = ews_str_after(schema, SCHEMA);
	if (!version)
		return ews_error(EWS_EDAMAGED, "its schema is none of ours");
	if (strtoul(version, NULL, 10) > VERSION)
		return ews_error(EWS_EUNSUPPORTED, "it was written by a newer version");
	return 0;
}

/* Returns EWS_EDAMAGED for a text that is no manifest, EWS_EUNSUPPORTED for one of a newer version. */
static int follow_manifest(struct ews_artifact_registry *registry, const struct ews_buf *text)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	const cJSON *array = NULL, *item;
	size_t n_bad = 0;
	int rc = ews_json_parse(&object, text->ptr, text->len);

	if (rc == 0)
		rc = check_schema(object);
	if (rc == 0)
		rc = ews_json_get_array(&array, object, "artifacts");
	if (rc < 0)
		return rc;
	cJSON_ArrayForEach(item, array) {
		EWS_CLEANUP(artifact) struct ews_artifact entry = EWS_ARTIFACT_INIT;

		if (ews_artifact_from_json(&entry, item) == 0)
			follow_entry(registry, &entry);
		else
			n_bad++;
		ews_error_clear();
	}
	if (n_bad)
		ews_strv_addf(&registry->news->warnings,
			      "'" EWS_ARTIFACT_MANIFEST "' names %zu of what can't be an artifact", n_bad);
	return 0;
}

static void format_manifest(struct ews_buf *out, const struct ews_artifact_registry *registry)
{
	const struct ews_artifacts *const lists[] = { &registry->list, &registry->stuck };
	EWS_CLEANUP(json) cJSON *object = cJSON_CreateObject();
	cJSON *array;

	(void)cJSON_AddStringToObject(object, "schema", SCHEMA "1");
	array = cJSON_AddArrayToObject(object, "artifacts");
	for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			cJSON_AddItemToArray(array, ews_artifact_to_json(&lists[k]->items[i]));
	ews_json_print(out, object, true);
}

int ews_artifact_registry_write(const struct ews_artifact_registry *registry)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf there = EWS_BUF_INIT;
	int rc = ews_file_read(&there, registry->place.fd, EWS_ARTIFACT_MANIFEST, MANIFEST_MAX);

	format_manifest(&text, registry);
	ews_error_clear();
	if (rc == EWS_ENOTFOUND && !registry->list.n && !registry->stuck.n)
		return 0;
	if (rc == 0 && there.len == text.len && !memcmp(there.ptr, text.ptr, text.len))
		return 0;
	return ews_file_replace(registry->place.fd, EWS_ARTIFACT_MANIFEST, text.ptr, text.len,
				registry->place.is_private ? 0600 : 0644);
}

/* Take from the manifest that is there what the refs don't say. */
static int read_manifest(struct ews_artifact_registry *registry)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf there = EWS_BUF_INIT;
	size_t before = registry->list.n;
	int rc = ews_file_read(&there, registry->place.fd, EWS_ARTIFACT_MANIFEST, MANIFEST_MAX);

	format_manifest(&text, registry);
	if (rc == 0 && there.len == text.len && !memcmp(there.ptr, text.ptr, text.len))
		return 0;
	if (rc < 0 && ews_errno_is_passing(ews_error_errno()))
		return ews_error_wrap("'%s/" EWS_ARTIFACT_MANIFEST "'", registry->place.path);
	if (rc == 0)
		rc = follow_manifest(registry, &there);
	if (rc == EWS_EUNSUPPORTED) {
		ews_error_hint("remove '%s/" EWS_ARTIFACT_MANIFEST "' to have it written anew", registry->place.path);
		return ews_error_wrap("'%s/" EWS_ARTIFACT_MANIFEST "'", registry->place.path);
	}
	if (rc == 0)
		return 0;
	if (rc != EWS_ENOTFOUND)
		ews_strv_addf(&registry->news->warnings,
			      "'" EWS_ARTIFACT_MANIFEST "' is damaged (%s), and is written anew",
			      ews_error_message());
	ews_error_clear();
	take_in_files(registry);
	if (rc == EWS_ENOTFOUND && before)
		ews_strv_add(&registry->news->warnings,
			     "'" EWS_ARTIFACT_MANIFEST "' was missing, and is written anew");
	return 0;
}

/* Bring the file back where it is missing, or where a newer one was on its way when its writer was killed. */
static void mend(struct ews_artifact_registry *registry, struct ews_artifact *artifact)
{
	char sha256[EWS_SHA256_HEX_MAX];
	bool is_older;

	ews_artifact_copy_look(artifact, sha256, &registry->place, false);
	is_older = artifact->file == EWS_ARTIFACT_CHANGED && *sha256 && !strcmp(sha256, artifact->replaces);
	if (artifact->file != EWS_ARTIFACT_MISSING && !is_older)
		return;
	if (ews_artifact_copy_restore(artifact, registry->repo->odb, &registry->place, is_older) < 0) {
		(void)ews_error_wrap("cannot bring back '%s'", artifact->path);
		ews_artifact_news_warn(registry->news);
	} else {
		ews_strv_add(&registry->news->brought_back, artifact->path);
	}
}

static int settle(struct ews_artifact_registry *registry)
{
	int rc = ews_artifact_place_sweep(&registry->place);

	if (rc == 0)
		rc = read_manifest(registry);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < registry->list.n; i++)
		mend(registry, &registry->list.items[i]);
	return ews_artifact_registry_write(registry);
}

int ews_artifact_registry_open(struct ews_artifact_registry *registry, struct ews_repo *repo,
			       struct ews_artifact_news *news)
{
	int rc;

	registry->repo = repo;
	registry->own_news = (struct ews_artifact_news)EWS_ARTIFACT_NEWS_INIT;
	registry->news = news ? news : &registry->own_news;
	rc = ews_repo_lock(&registry->lock, repo, OWN_LOCK, "artifact", registry->is_hasty ? 0 : LOCK_WAIT_MS);
	if (rc == 0)
		rc = ews_artifact_place_open(&registry->place, repo, true);
	if (rc == 0)
		rc = ews_artifact_refs_read(&registry->list, &registry->damaged, &registry->last_number, repo,
					    EWS_REF_ARTIFACTS);
	if (rc == 0)
		rc = ews_artifact_refs_read(&registry->trash, NULL, &registry->last_number, repo,
					    EWS_REF_TRASH_ARTIFACTS);
	return rc < 0 ? rc : settle(registry);
}
