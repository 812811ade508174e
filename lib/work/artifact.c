/*
 * Artifacts: see artifact.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact.h"

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
#include "base/path.h"
#include "store/lock.h"
#include "work/artifact_copy.h"
#include "work/snapshot.h"

#define MANIFEST "manifest.json"
#define MANIFEST_MAX (64 * EWS_MIB)
#define SCHEMA "ews.artifacts/"
#define VERSION 1
#define OWN_LOCK "~artifacts" /* no session's id */
#define LOCK_WAIT_MS 60000
#define TRASH EWS_REF_TRASH "artifacts/"
#define NAMES_MAX 100000

/* The registry, locked. */
struct registry {
	struct ews_repo *repo;
	struct ews_lock lock;
	struct ews_artifact_place place;
	struct ews_artifacts list;
	struct ews_refs damaged; /* refs of artifacts that can't be read */
	struct ews_artifacts trash;
	struct ews_artifacts stuck; /* removed, but their files would not go: while the manifest names them, that is tried again */
	unsigned last_number;
	struct ews_artifact_news *news;
	struct ews_artifact_news own_news; /* when nobody asks */
};

#define REGISTRY_INIT { .lock = EWS_LOCK_INIT, .place = EWS_ARTIFACT_PLACE_INIT }

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

static void release_registry(struct registry *registry)
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

EWS_CLEANUP_DEFINE(registry, struct registry, release_registry)

/* Add `artifact`, which is empty afterwards. */
static struct ews_artifact *push(struct ews_artifacts *list, struct ews_artifact *artifact)
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

/* The sentence of the error that is set, as a warning. */
static void warn(struct ews_artifact_news *news)
{
	ews_strv_add(&news->warnings, ews_error_message());
	ews_error_clear();
}

static void add_damaged(struct ews_refs *damaged, const struct ews_ref *ref)
{
	EWS_GROW(damaged->items, damaged->n, damaged->cap);
	damaged->items[damaged->n++] = (struct ews_ref){ .name = ews_strdup(ref->name), .oid = ref->oid };
}

static int read_refs(struct ews_artifacts *out, struct ews_refs *damaged, unsigned *last, struct ews_repo *repo,
		     const char *prefix)
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
		if (ews_artifact_read(&artifact, repo->odb, id, &refs.items[i].oid) == 0)
			(void)push(out, &artifact);
		else if (damaged)
			add_damaged(damaged, &refs.items[i]);
		ews_error_clear();
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_by_number);
	return 0;
}

static struct ews_artifact *find_id(const struct ews_artifacts *list, const char *id)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].id, id))
			return &list->items[i];
	return NULL;
}

static struct ews_artifact *find_path(const struct ews_artifacts *list, const char *path)
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

static bool is_number_damaged(const struct registry *registry, unsigned number)
{
	for (size_t i = 0; i < registry->damaged.n; i++)
		if (number_of(registry->damaged.items[i].name) == number)
			return true;
	return false;
}

/* The next one; once somebody else's manifest has used up the last of them, the first that is free. */
static unsigned next_number(struct registry *registry)
{
	unsigned number = 1;

	if (registry->last_number < EWS_ARTIFACT_NUMBER_MAX)
		return ++registry->last_number;
	while (has_number(&registry->list, number) || has_number(&registry->trash, number) ||
	       is_number_damaged(registry, number))
		number++;
	return number;
}

/* Make it exist: under its id, in the place of `was`. */
static int publish(struct ews_artifact *artifact, struct ews_repo *repo, struct ews_batch *batch,
		   const struct ews_oid *was)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ARTIFACTS "%s", artifact->id);
	int rc = ews_artifact_write(artifact, batch);

	if (rc == 0)
		rc = ews_batch_commit(batch);
	if (rc == 0 && !ews_oid_equal(was, &artifact->commit))
		rc = ews_odb_ref_swap(repo->odb, ref, was, &artifact->commit);
	return rc;
}

static int add_blob(struct ews_artifact *artifact, struct ews_batch *batch, int fd)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot read");
	artifact->size_bytes = (uint64_t)st.st_size;
	rc = ews_artifact_copy_hash(artifact->sha256, fd);
	return rc < 0 ? rc : ews_batch_add_fd(&artifact->blob, batch, fd, artifact->size_bytes, NULL);
}

/* Keep a file that stands in its place already. `was`: the ref's value; none: there is no ref. */
static int take_in(struct registry *registry, struct ews_artifact *artifact, const struct ews_oid *was)
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
	rc = add_blob(artifact, batch, fd);
	if (rc == 0 && !artifact->id)
		artifact->id = ews_artifact_id_new(artifact->type, next_number(registry));
	if (rc == 0)
		rc = publish(artifact, registry->repo, batch, was);
	if (rc < 0)
		return ews_error_wrap("cannot keep '%s'", artifact->path);
	artifact->file = EWS_ARTIFACT_PRESENT;
	return 0;
}

static struct ews_artifact new_artifact(enum ews_artifact_type type, char *path)
{
	return (struct ews_artifact){ .type = type,
				      .path = path,
				      .session = ews_strdup(""),
				      .description = ews_strdup(""),
				      .original = ews_strdup("") };
}

static void take_in_file(struct registry *registry, enum ews_artifact_type type, char *path)
{
	EWS_CLEANUP(artifact) struct ews_artifact artifact = new_artifact(type, path);
	const struct ews_oid none = EWS_OID_NONE;

	if (take_in(registry, &artifact, &none) < 0) {
		warn(registry->news);
		return;
	}
	ews_strv_add(&registry->news->taken_in, artifact.path);
	(void)push(&registry->list, &artifact);
}

static void take_in_dir(struct registry *registry, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(registry->place.fd, dir);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	ews_error_clear();
	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir, names.items[i].name);
		struct stat st;

		if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
		    find_path(&registry->list, path))
			continue;
		if (ews_artifact_name_is_safe(names.items[i].name))
			take_in_file(registry, ews_artifact_type_guess(dir, names.items[i].name), ews_steal(&path));
		else if (*names.items[i].name != '.')
			ews_strv_addf(&registry->news->warnings, "'%s' is left out: no artifact has such a name",
				      path);
	}
}

/* All files that lie where artifacts of some type do. */
static void take_in_files(struct registry *registry)
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
static struct ews_oid damaged_ref(const struct registry *registry, const char *id)
{
	for (size_t i = 0; i < registry->damaged.n; i++)
		if (!strcmp(registry->damaged.items[i].name + strlen(EWS_REF_ARTIFACTS), id))
			return registry->damaged.items[i].oid;
	return (struct ews_oid)EWS_OID_NONE;
}

/* The file of one that was removed goes, too, if it is still that. */
static void let_go(struct registry *registry, struct ews_artifact *removed)
{
	EWS_CLEANUP(artifact) struct ews_artifact stuck = EWS_ARTIFACT_INIT;
	char sha256[EWS_SHA256_HEX_MAX];

	if (find_path(&registry->list, removed->path))
		return;
	ews_artifact_copy_look(removed, sha256, &registry->place, true);
	if (removed->file == EWS_ARTIFACT_PRESENT && ews_artifact_copy_remove(&registry->place, removed->path) < 0) {
		warn(registry->news);
		ews_artifact_copy(&stuck, removed);
		(void)push(&registry->stuck, &stuck);
	}
	if (removed->file == EWS_ARTIFACT_CHANGED)
		ews_strv_addf(&registry->news->warnings, "'%s' was changed since it was kept, and stays",
			      removed->path);
}

/* What the manifest names and no ref: it was removed, or its ref was lost and the file is what is left. */
static void follow_entry(struct registry *registry, struct ews_artifact *entry)
{
	struct ews_artifact *removed = find_id(&registry->trash, entry->id);
	const struct ews_oid was = damaged_ref(registry, entry->id);
	char sha256[EWS_SHA256_HEX_MAX], want[EWS_SHA256_HEX_MAX];

	if (find_id(&registry->list, entry->id))
		return;
	if (removed) {
		let_go(registry, removed);
		return;
	}
	if (find_path(&registry->list, entry->path))
		return;
	memcpy(want, entry->sha256, sizeof(want));
	ews_artifact_copy_look(entry, sha256, &registry->place, true);
	if (entry->file == EWS_ARTIFACT_MISSING) {
		ews_strv_addf(&registry->news->warnings,
			      "%s is lost: neither '%s' nor what the store kept of it is there", entry->id,
			      entry->path);
		return;
	}
	if (take_in(registry, entry, &was) < 0) {
		warn(registry->news);
		return;
	}
	if (strcmp(want, entry->sha256) != 0)
		ews_strv_addf(&registry->news->warnings,
			      "%s is not what it was: the manifest has another digest for '%s'", entry->id,
			      entry->path);
	if (number_of(entry->id) > registry->last_number)
		registry->last_number = number_of(entry->id);
	ews_strv_add(&registry->news->taken_in, entry->path);
	(void)push(&registry->list, entry);
}

/* A version that is not ours is left alone. Other texts make the manifest a damaged one. */
static int check_schema(const cJSON *object)
{
	const char *schema;
	int rc = ews_json_get_string(&schema, object, "schema");

	if (rc < 0)
		return rc;
	if (strncmp(schema, SCHEMA, strlen(SCHEMA)) != 0)
		return ews_error(EWS_EDAMAGED, "its schema is none of ours");
	if (strtoul(schema + strlen(SCHEMA), NULL, 10) > VERSION)
		return ews_error(EWS_EUNSUPPORTED, "it was written by a newer version");
	return 0;
}

/* Returns EWS_EDAMAGED for a text that is no manifest, EWS_EUNSUPPORTED for one of a newer version. */
static int follow_manifest(struct registry *registry, const struct ews_buf *text)
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
		ews_strv_addf(&registry->news->warnings, "'" MANIFEST "' names %zu of what can't be an artifact",
			      n_bad);
	return 0;
}

static void format_manifest(struct ews_buf *out, const struct registry *registry)
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

static int write_manifest(const struct registry *registry)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf there = EWS_BUF_INIT;
	int rc = ews_file_read(&there, registry->place.fd, MANIFEST, MANIFEST_MAX);

	format_manifest(&text, registry);
	ews_error_clear();
	if (rc == EWS_ENOTFOUND && !registry->list.n && !registry->stuck.n)
		return 0;
	if (rc == 0 && there.len == text.len && !memcmp(there.ptr, text.ptr, text.len))
		return 0;
	return ews_file_replace(registry->place.fd, MANIFEST, text.ptr, text.len,
				registry->place.is_private ? 0600 : 0644);
}

/* Take from the manifest that is there what the refs don't say. */
static int read_manifest(struct registry *registry)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf there = EWS_BUF_INIT;
	size_t before = registry->list.n;
	int rc = ews_file_read(&there, registry->place.fd, MANIFEST, MANIFEST_MAX);

	format_manifest(&text, registry);
	if (rc == 0 && there.len == text.len && !memcmp(there.ptr, text.ptr, text.len))
		return 0;
	if (rc == 0)
		rc = follow_manifest(registry, &there);
	if (rc == EWS_EUNSUPPORTED) {
		ews_error_hint("remove '%s/" MANIFEST "' to have it written anew", registry->place.path);
		return ews_error_wrap("'%s/" MANIFEST "'", registry->place.path);
	}
	if (rc == 0)
		return 0;
	if (rc != EWS_ENOTFOUND)
		ews_strv_addf(&registry->news->warnings, "'" MANIFEST "' is damaged (%s), and is written anew",
			      ews_error_message());
	ews_error_clear();
	take_in_files(registry);
	if (rc == EWS_ENOTFOUND && before)
		ews_strv_add(&registry->news->warnings, "'" MANIFEST "' was missing, and is written anew");
	return 0;
}

/* Bring the file back where it is missing, or where a newer one was on its way when its writer was killed. */
static void mend(struct registry *registry, struct ews_artifact *artifact)
{
	char sha256[EWS_SHA256_HEX_MAX];
	bool is_older;

	ews_artifact_copy_look(artifact, sha256, &registry->place, false);
	is_older = artifact->file == EWS_ARTIFACT_CHANGED && *sha256 && !strcmp(sha256, artifact->replaces);
	if (artifact->file != EWS_ARTIFACT_MISSING && !is_older)
		return;
	if (ews_artifact_copy_restore(artifact, registry->repo->odb, &registry->place, is_older) < 0) {
		(void)ews_error_wrap("cannot bring back '%s'", artifact->path);
		warn(registry->news);
	} else {
		ews_strv_add(&registry->news->brought_back, artifact->path);
	}
}

static int settle(struct registry *registry)
{
	int rc = ews_artifact_place_sweep(&registry->place);

	if (rc == 0)
		rc = read_manifest(registry);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < registry->list.n; i++)
		mend(registry, &registry->list.items[i]);
	return write_manifest(registry);
}

/* Lock it, read it, and make its files what they should be. */
static int open_registry(struct registry *registry, struct ews_repo *repo, struct ews_artifact_news *news)
{
	int rc;

	registry->repo = repo;
	registry->own_news = (struct ews_artifact_news)EWS_ARTIFACT_NEWS_INIT;
	registry->news = news ? news : &registry->own_news;
	rc = ews_repo_lock(&registry->lock, repo, OWN_LOCK, "artifact", LOCK_WAIT_MS);
	if (rc == 0)
		rc = ews_artifact_place_open(&registry->place, repo, true);
	if (rc == 0)
		rc = read_refs(&registry->list, &registry->damaged, &registry->last_number, repo, EWS_REF_ARTIFACTS);
	if (rc == 0)
		rc = read_refs(&registry->trash, NULL, &registry->last_number, repo, TRASH);
	return rc < 0 ? rc : settle(registry);
}

static int fill_draft(struct ews_artifact_draft *draft, struct ews_repo *repo, const struct ews_artifact_new *what)
{
	uint64_t max_bytes;
	int rc;

	if (what->blob)
		return ews_odb_write_to(draft->fd, repo->odb, what->blob);
	if (what->fd <= 0)
		return ews_file_write_fd(draft->fd, what->data, what->len);
	rc = ews_config_size(&max_bytes, ews_repo_config(repo), "ews.maxFile");
	return rc < 0 ? rc : ews_artifact_draft_fill(draft, what->fd, max_bytes);
}

/* Is it one that an update takes the place of? */
static bool can_replace(struct registry *registry, struct ews_artifact *there, const struct ews_artifact *artifact)
{
	char sha256[EWS_SHA256_HEX_MAX];

	if (!there || there->type != artifact->type || strcmp(there->session, artifact->session) != 0 ||
	    strcmp(there->original, artifact->original) != 0 ||
	    strcmp(there->description, artifact->description) != 0)
		return false;
	ews_artifact_copy_look(there, sha256, &registry->place, true);
	return there->file == EWS_ARTIFACT_PRESENT;
}

static bool is_free(const struct registry *registry, const char *path)
{
	return !find_path(&registry->list, path) && strcmp(path, MANIFEST) != 0 &&
	       !ews_artifact_copy_is_there(&registry->place, path);
}

/* Is the path free with that extension in the place of its own, too? */
static bool is_free_beside(const struct registry *registry, const char *path, const char *extension)
{
	const char *dot = strrchr(path, '.');
	EWS_CLEANUP(free)
	char *beside = ews_strfmt("%.*s.%s", dot ? (int)(dot - path) : (int)strlen(path), path, extension);

	return is_free(registry, beside);
}

/*
 * Choose the path of `artifact`: a free one, from the `nth` name on, or (`update`) that of one that it may replace, which
 * `*old` is then.
 */
static int choose_path(struct ews_artifact *artifact, struct ews_artifact **old, unsigned *nth,
		       struct registry *registry, const char *name, const struct ews_artifact_new *what)
{
	const bool update = what->update && what->name;

	for (; *nth < NAMES_MAX; ++*nth) {
		EWS_CLEANUP(free) char *tried = ews_artifact_name_nth(name, *nth);
		EWS_CLEANUP(free) char *path = ews_path_join(ews_artifact_type_dir(artifact->type), tried);
		struct ews_artifact *there = find_path(&registry->list, path);

		*old = update && can_replace(registry, there, artifact) ? there : NULL;
		if (!*old && !is_free(registry, path))
			continue;
		if (!*old && what->sibling && !is_free_beside(registry, path, what->sibling))
			continue;
		free(artifact->path);
		artifact->path = ews_steal(&path);
		return 0;
	}
	return ews_error(EWS_EEXISTS, "there is no name left for '%s'", name);
}

/* An artifact under a name that nobody has: the ref first, which the file can be had from. */
static int store_new(struct ews_artifact *artifact, struct ews_artifact_draft *draft, struct registry *registry,
		     struct ews_batch *batch, const struct ews_artifact_new *what, const char *name)
{
	struct ews_artifact *old = NULL;
	unsigned nth = 1;
	int rc;

	for (;;) {
		struct ews_oid was = artifact->commit;

		rc = choose_path(artifact, &old, &nth, registry, name, what);
		if (rc < 0)
			return rc;
		if (old && !strcmp(old->sha256, artifact->sha256)) {
			ews_artifact_release(artifact);
			ews_artifact_copy(artifact, old);
			return 0;
		}
		if (old) {
			free(artifact->id);
			artifact->id = ews_strdup(old->id);
			artifact->commit = was = old->commit;
			memcpy(artifact->replaces, old->sha256, sizeof(artifact->replaces));
		}
		rc = ews_artifact_place_ready(&registry->place, artifact->path);
		if (rc == 0)
			rc = publish(artifact, registry->repo, batch, &was);
		if (rc == 0)
			rc = ews_artifact_draft_place(draft, artifact->path, artifact->created_s, old != NULL);
		if (rc != EWS_EEXISTS)
			break;
		ews_error_clear();
		nth++;
	}
	if (rc < 0)
		return rc;
	artifact->file = EWS_ARTIFACT_PRESENT;
	if (old)
		ews_artifact_release(old);
	else
		old = push(&registry->list, &(struct ews_artifact)EWS_ARTIFACT_INIT);
	ews_artifact_copy(old, artifact);
	return write_manifest(registry);
}

static int store_bytes(struct ews_artifact *artifact, struct registry *registry, const struct ews_artifact_new *what)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(registry->repo->odb);
	EWS_CLEANUP(artifact_draft) struct ews_artifact_draft draft = EWS_ARTIFACT_DRAFT_INIT;
	EWS_CLEANUP(free) char *name = NULL;
	int rc = ews_artifact_draft_open(&draft, &registry->place, what->is_executable);

	if (rc == 0)
		rc = fill_draft(&draft, registry->repo, what);
	if (rc == 0)
		rc = add_blob(artifact, batch, draft.fd);
	if (rc < 0)
		return rc;
	artifact->created_s = ews_clock_now();
	artifact->is_executable = what->is_executable;
	artifact->id = ews_artifact_id_new(artifact->type, next_number(registry));
	name = what->name ? ews_artifact_name_safe(what->name)
			  : ews_strfmt("%s%s", artifact->id, ews_artifact_type_suffix(artifact->type));
	return store_new(artifact, &draft, registry, batch, what, name);
}

static int store_in_place(struct ews_artifact *artifact, struct registry *registry, const char *name)
{
	struct ews_artifact *there;
	struct ews_oid was = EWS_OID_NONE;
	int rc;

	artifact->path = ews_path_join(ews_artifact_type_dir(artifact->type), name);
	if (!ews_artifact_path_is_safe(artifact->path, artifact->type))
		return ews_error(EWS_EUSAGE, "no artifact may be called '%.80s'", name);
	there = find_path(&registry->list, artifact->path);
	if (there) {
		was = there->commit;
		artifact->id = ews_strdup(there->id);
	}
	rc = take_in(registry, artifact, &was);
	if (rc < 0)
		return rc;
	if (there)
		ews_artifact_release(there);
	else
		there = push(&registry->list, &(struct ews_artifact)EWS_ARTIFACT_INIT);
	ews_artifact_copy(there, artifact);
	return write_manifest(registry);
}

static void replace_text(char **text, const char *with)
{
	if (!with)
		return;
	free(*text);
	*text = ews_strdup(with);
}

int ews_artifact_add(struct ews_artifact *out, char **path, struct ews_artifact_news *news, struct ews_repo *repo,
		     const struct ews_artifact_new *what)
{
	EWS_CLEANUP(registry) struct registry registry = REGISTRY_INIT;
	EWS_CLEANUP(artifact) struct ews_artifact artifact = new_artifact(what->type, NULL);
	int rc = open_registry(&registry, repo, news);

	replace_text(&artifact.session, what->session);
	replace_text(&artifact.description, what->description);
	replace_text(&artifact.original, what->original);
	if (rc == 0)
		rc = what->in_place ? store_in_place(&artifact, &registry, what->in_place)
				    : store_bytes(&artifact, &registry, what);
	if ((rc == EWS_EIO || rc == EWS_ENOTFOUND) && !*ews_error_hint_text())
		ews_error_hint("qe.artifacts.location names another place; 'git ews end --no-artifacts' needs none");
	if (rc < 0)
		return ews_error_wrap("cannot keep the artifact");
	if (path)
		*path = ews_path_join(registry.place.path, artifact.path);
	*out = artifact;
	artifact = (struct ews_artifact)EWS_ARTIFACT_INIT;
	return 0;
}

int ews_artifact_settle(struct ews_artifact_news *news, struct ews_repo *repo)
{
	EWS_CLEANUP(registry) struct registry registry = REGISTRY_INIT;

	return open_registry(&registry, repo, news);
}

/* As they stand, where nothing can be written: a look that mends nothing. */
static int list_only(struct ews_artifacts *out, struct ews_repo *repo)
{
	EWS_CLEANUP(artifact_place) struct ews_artifact_place place = EWS_ARTIFACT_PLACE_INIT;
	char sha256[EWS_SHA256_HEX_MAX];
	unsigned last = 0;
	int rc = read_refs(out, NULL, &last, repo, EWS_REF_ARTIFACTS);

	if (rc < 0)
		return rc;
	if (ews_artifact_place_open(&place, repo, false) < 0)
		ews_error_clear();
	for (size_t i = 0; i < out->n; i++)
		ews_artifact_copy_look(&out->items[i], sha256, &place, false);
	out->place = ews_steal(&place.path);
	return 0;
}

static bool has_any(struct ews_repo *repo)
{
	EWS_CLEANUP(artifact_place) struct ews_artifact_place place = EWS_ARTIFACT_PLACE_INIT;
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	bool has = ews_artifact_place_open(&place, repo, false) == 0 ||
		   (ews_odb_ref_list(&refs, repo->odb, EWS_REF_ARTIFACTS) == 0 && refs.n);

	ews_error_clear();
	return has;
}

int ews_artifact_list(struct ews_artifacts *out, struct ews_artifact_news *news, struct ews_repo *repo)
{
	EWS_CLEANUP(registry) struct registry registry = REGISTRY_INIT;
	const struct ews_setting *location = ews_setting_find("qe.artifacts.location");
	int rc = ews_config_check_one(ews_repo_config(repo), location);

	if (rc < 0)
		return rc;
	/* A look leaves nothing where there is nothing. */
	if (!has_any(repo))
		return 0;
	rc = open_registry(&registry, repo, news);
	if (rc == EWS_EUNSUPPORTED)
		return rc;
	if (rc < 0) {
		warn(registry.news);
		return list_only(out, repo);
	}
	*out = registry.list;
	out->place = ews_steal(&registry.place.path);
	registry.list = (struct ews_artifacts)EWS_ARTIFACTS_INIT;
	return 0;
}

/* How well does `name` fit: 3 the id or path, 2 the file's name, 1 the beginning of one. */
static int fits(const struct ews_artifact *artifact, const char *name)
{
	size_t len = strlen(name);

	if (!strcmp(artifact->id, name) || !strcmp(artifact->path, name))
		return 3;
	if (!strcmp(ews_artifact_name(artifact), name))
		return 2;
	return len && (!strncmp(artifact->id, name, len) || !strncmp(ews_artifact_name(artifact), name, len));
}

int ews_artifact_find(const struct ews_artifact **out, const struct ews_artifacts *list, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf candidates = EWS_BUF_INIT;
	size_t n = 0;
	int best = 1;

	for (size_t i = 0; i < list->n; i++) {
		int fit = fits(&list->items[i], name);

		if (fit < best)
			continue;
		if (fit > best) {
			ews_buf_truncate(&candidates, 0);
			n = 0;
		}
		best = fit;
		n++;
		*out = &list->items[i];
		ews_buf_addf(&candidates, "%s%s", candidates.len ? ", " : "", list->items[i].id);
	}
	if (n == 1)
		return 0;
	if (n) {
		ews_error(EWS_EUSAGE, "'%.80s' may mean several artifacts", name);
		ews_error_hint("it fits %.400s", candidates.ptr);
		return EWS_EUSAGE;
	}
	ews_error(EWS_ENOTFOUND, "no artifact '%.80s'", name);
	ews_error_hint("'git ews artifact list' shows them");
	return EWS_ENOTFOUND;
}

int ews_artifact_verify(struct ews_artifact *artifact, struct ews_repo *repo)
{
	EWS_CLEANUP(artifact_place) struct ews_artifact_place place = EWS_ARTIFACT_PLACE_INIT;
	char sha256[EWS_SHA256_HEX_MAX];
	int rc = ews_artifact_place_open(&place, repo, false);

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	ews_artifact_copy_look(artifact, sha256, &place, true);
	return 0;
}

int ews_artifact_export(char **name, int dir_fd, struct ews_repo *repo, const struct ews_artifact *artifact)
{
	const mode_t mode = artifact->is_executable ? 0777 : 0666;

	for (unsigned nth = 1; nth < NAMES_MAX; nth++) {
		EWS_CLEANUP(free) char *tried = ews_artifact_name_nth(ews_artifact_name(artifact), nth);
		EWS_CLEANUP(fd)
		int fd = openat(dir_fd, tried, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		int rc;

		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return ews_error_os("cannot make '%s'", tried);
		rc = ews_odb_write_to(fd, repo->odb, &artifact->blob);
		if (rc < 0) {
			(void)unlinkat(dir_fd, tried, 0); /* best effort: the failure is the news */
			return ews_error_wrap("cannot export %s", artifact->id);
		}
		*name = ews_steal(&tried);
		return 0;
	}
	return ews_error(EWS_EEXISTS, "there is no name left for '%s'", ews_artifact_name(artifact));
}

/* What stands under their ids now: they were listed before the lock was ours. */
static int plan_removal(struct ews_step *step, const struct registry *registry,
			const struct ews_artifact *const *items, size_t n)
{
	int rc = ews_step_init(step, registry->repo->dir_fd, "drop", NULL);

	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct ews_artifact *now = find_id(&registry->list, items[i]->id);
		char hex[EWS_OID_HEX_MAX];

		if (now)
			ews_strv_addf(&step->refs, EWS_REF_ARTIFACTS "%s " TRASH "%s %s", now->id, now->id,
				      ews_oid_hex(hex, &now->commit));
	}
	return rc;
}

int ews_artifact_remove(struct ews_artifact_news *news, struct ews_repo *repo,
			const struct ews_artifact *const *items, size_t n)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(registry) struct registry registry = REGISTRY_INIT;
	/* The project's before that of the artifacts, as undo does it. */
	int rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "artifact", EWS_LOCK_PROJECT_WAIT_MS);

	if (rc == 0)
		rc = open_registry(&registry, repo, news);
	if (rc == 0)
		rc = plan_removal(&step, &registry, items, n);
	if (rc == 0)
		rc = ews_snapshot_carry_out(repo, &step);
	if (rc < 0)
		return ews_error_wrap("cannot remove the artifacts");
	for (size_t i = 0; i < n; i++) {
		struct ews_artifact *at = find_id(&registry.list, items[i]->id);
		EWS_CLEANUP(artifact) struct ews_artifact gone = EWS_ARTIFACT_INIT;

		if (!at)
			continue;
		gone = *at;
		memmove(at, at + 1, sizeof(*at) * (size_t)(&registry.list.items[--registry.list.n] - at));
		let_go(&registry, &gone);
	}
	return rc < 0 ? rc : write_manifest(&registry);
}
