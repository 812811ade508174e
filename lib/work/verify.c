/*
 * Verifying: see verify.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/verify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/loose_read.h"
#include "store/pack.h"
#include "store/tree.h"
#include "work/snapshot_rewritten.h"

#define SHALLOW_MAX (64 * EWS_MIB)
#define ABBREV 12
#define OBJECTS_CHUNK 16 /* that one thread checks in a row */
#define MANIFEST "manifest:" /* how paths in its tree begin */

struct ews_verify {
	struct ews_repo *repo;
	struct ews_oidset whole; /* objects that are sound, trees with all below them */
	struct ews_oids commits; /* what the snapshots stand on: where history begins */
	int null_fd;
};

/* An object that is to be read, and where it belongs. */
struct item {
	struct ews_oid oid;
	char *path;
	bool may_be_absent; /* it is the project's, and a remote may have promised it */
	char *why; /* it is damaged */
};

/* One round: the blobs found on the way, the trees that are whole when all is well. */
struct round {
	struct ews_verify *verify;
	struct ews_strv *problems;
	bool may_lack; /* what is looked at now may be absent in a partial clone */
	struct item *items;
	size_t n, cap;
	struct ews_oids trees;
};

struct ews_verify *ews_verify_new(struct ews_repo *repo)
{
	struct ews_verify *verify = ews_calloc(1, sizeof(*verify));

	verify->repo = repo;
	verify->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return verify;
}

void ews_verify_free(struct ews_verify *verify)
{
	if (!verify)
		return;
	ews_oidset_release(&verify->whole);
	ews_oids_release(&verify->commits);
	ews_cleanup_fd(&verify->null_fd);
	free(verify);
}

/* Who reads the empty tree gets it whether it is there or not, but git's fsck wants what is named. */
static int check_empty_tree(struct ews_odb *odb, const struct ews_oid *oid)
{
	struct ews_oid empty_tree;
	char hex[EWS_OID_HEX_MAX];

	ews_odb_empty_tree(&empty_tree, odb);
	if (!ews_oid_equal(oid, &empty_tree) || ews_odb_still_has(odb, oid))
		return 0;
	return ews_error(EWS_ENOTFOUND, "object %s is missing", ews_oid_hex(hex, oid));
}

/* Read an object through and through: its own file, or what the store gives for it. */
static int read_object(struct ews_verify *verify, const struct ews_oid *oid)
{
	struct ews_odb *odb = verify->repo->odb;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	enum ews_object_type type;
	int rc = ews_loose_check(ews_odb_object_dir(odb), oid);

	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	rc = check_empty_tree(odb, oid);
	if (rc == 0)
		rc = ews_odb_read_header(&type, NULL, odb, oid);
	if (rc < 0)
		return rc;
	return type == EWS_OBJECT_BLOB ? ews_odb_write_to(verify->null_fd, odb, oid)
				       : ews_odb_read(&text, NULL, odb, oid);
}

static int check_item(size_t i, unsigned worker, void *payload)
{
	struct round *round = payload;
	struct item *item = &round->items[i];

	(void)worker;
	if (item->may_be_absent && !ews_odb_has(round->verify->repo->odb, &item->oid))
		return 0;
	if (read_object(round->verify, &item->oid) < 0) {
		item->why = ews_strdup(ews_error_message());
		ews_error_clear();
	}
	return 0;
}

static void complain(struct round *round, const char *path)
{
	ews_strv_addf(round->problems, "%s: %s", path, ews_error_message());
	ews_error_clear();
}

/* Read `oid` now, since it leads to others. False when it can't be followed. */
static bool is_sound(struct round *round, const struct ews_oid *oid, const char *path)
{
	if (ews_oidset_has(&round->verify->whole, oid))
		return true;
	if (round->may_lack && !ews_odb_has(round->verify->repo->odb, oid))
		return false;
	if (read_object(round->verify, oid) < 0) {
		complain(round, path);
		return false;
	}
	return true;
}

/* "HEAD:" and "src" give "HEAD:src", "src" and "a.c" give "src/a.c". */
static char *join(const char *above, const char *name)
{
	size_t len = strlen(above);

	return ews_strfmt("%s%s%s", above, len && above[len - 1] != ':' ? "/" : "", name);
}

/* "" is its own, "HEAD:" that of HEAD; below these it has a path. */
static char *name_tree(const char *path)
{
	size_t len = strlen(path);

	if (!len)
		return ews_strdup("its tree");
	return path[len - 1] == ':' ? ews_strfmt("%.*s's tree", (int)len - 1, path) : ews_strdup(path);
}

static void walk_tree(struct round *round, const struct ews_oid *oid, const char *path);

/* What stands in the tree `path`. Those that the index alone names have much that is HEAD's. */
static void walk_below(struct round *round, const struct ews_oid *oid, const char *path, const char *below)
{
	bool may_lack = round->may_lack;

	if (!strcmp(path, MANIFEST "trees"))
		round->may_lack = ews_odb_is_partial(round->verify->repo->odb);
	walk_tree(round, oid, below);
	round->may_lack = may_lack;
}

static void walk_tree(struct round *round, const struct ews_oid *oid, const char *path)
{
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	struct ews_arena arena = EWS_ARENA_INIT;
	EWS_CLEANUP(free) char *label = name_tree(path);
	size_t n = 0;

	if (ews_oidset_has(&round->verify->whole, oid) || !is_sound(round, oid, label))
		return;
	if (ews_tree_read_flat(&items, &n, round->verify->repo->odb, oid, &arena) < 0)
		complain(round, label);
	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *below = join(path, items[i].name);

		if (items[i].mode == EWS_MODE_GITLINK)
			continue; /* another repository's commit */
		if (items[i].mode == EWS_MODE_DIR) {
			walk_below(round, &items[i].oid, path, below);
			continue;
		}
		if (ews_oidset_has(&round->verify->whole, &items[i].oid))
			continue;
		EWS_GROW(round->items, round->n, round->cap);
		round->items[round->n++] = (struct item){ items[i].oid, ews_steal(&below), round->may_lack, NULL };
	}
	ews_oids_add(&round->trees, oid);
	ews_arena_release(&arena);
}

/* Of a commit: itself, and its tree, whose paths get `prefix` in front. `parents` (NULL: nobody asks) gets those that it has. */
static void walk_commit(struct round *round, const struct ews_oid *oid, const char *label, const char *prefix,
			struct ews_oids *parents)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;

	if (!is_sound(round, oid, label))
		return;
	if (ews_odb_read_commit(&commit, round->verify->repo->odb, oid) < 0)
		complain(round, label);
	else
		walk_tree(round, &commit.tree, prefix);
	for (size_t i = 0; parents && i < commit.n_parents; i++)
		ews_oids_add(parents, &commit.parents[i]);
	ews_oids_add(&round->trees, oid);
}

/* Read the blobs that were found, name what is damaged, remember what is whole. */
static int finish(struct round *round)
{
	bool was_sound = !round->problems->n;
	int rc = ews_pool_for(round->n, OBJECTS_CHUNK, 0, check_item, round);

	for (size_t i = 0; i < round->n; i++) {
		struct item *item = &round->items[i];

		if (item->why)
			ews_strv_addf(round->problems, "%s: %s", item->path, item->why);
		else if (rc == 0)
			ews_oidset_add(&round->verify->whole, &item->oid);
		free(item->path);
		free(item->why);
	}
	if (rc == 0 && was_sound && !round->problems->n)
		for (size_t i = 0; i < round->trees.n; i++)
			ews_oidset_add(&round->verify->whole, &round->trees.items[i]);
	free(round->items);
	ews_oids_release(&round->trees);
	return rc;
}

/* What a commit stands on: the manifest's has, besides the manifest, the commits that the workspace's own history names. */
static void walk_pins(struct round *round, const struct ews_oids *pins)
{
	char hex[EWS_OID_HEX_MAX];

	for (size_t i = 0; i < pins->n; i++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("%.*s", ABBREV, ews_oid_hex(hex, &pins->items[i]));
		EWS_CLEANUP(free) char *prefix = ews_strfmt("%s:", name);

		walk_commit(round, &pins->items[i], name, prefix, NULL);
		ews_oids_add(&round->verify->commits, &pins->items[i]);
	}
}

/* Do manifest and tree agree, and has it all the hash that it was made with? */
static int compare(struct ews_strv *problems, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	struct ews_oid tree;
	int rc;

	if (ews_snapshot_stored_content(&content, repo, snapshot) < 0) {
		ews_strv_add(problems, ews_error_message());
		ews_error_clear();
		return 0;
	}
	if (ews_oid_is_none(&snapshot->manifest))
		return 0;
	batch = ews_batch_new(repo->odb);
	rc = ews_tree_write(&tree, batch, &content.scan.entries);
	if (rc == 0 && !ews_oid_equal(&tree, &snapshot->tree))
		ews_strv_add(problems, "its tree is not the one that its manifest describes");
	return rc;
}

int ews_verify_snapshot(struct ews_strv *problems, struct ews_verify *verify, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(strv) struct ews_strv found = EWS_STRV_INIT;
	EWS_CLEANUP(oids) struct ews_oids pins = EWS_OIDS_INIT;
	struct round round = { .verify = verify, .problems = &found };
	int rc;

	if (is_sound(&round, &snapshot->commit, "the snapshot's commit"))
		ews_oids_add(&round.trees, &snapshot->commit);
	walk_tree(&round, &snapshot->tree, "");
	if (!ews_oid_is_none(&snapshot->manifest)) {
		walk_commit(&round, &snapshot->manifest, "the manifest's commit", MANIFEST, &pins);
		/* From here on it is the project's own history. */
		round.may_lack = ews_odb_is_partial(verify->repo->odb);
		walk_pins(&round, &pins);
	}
	if (!ews_oid_is_none(&snapshot->head)) {
		round.may_lack = ews_odb_is_partial(verify->repo->odb);
		walk_commit(&round, &snapshot->head, "HEAD's commit", "HEAD:", NULL);
		ews_oids_add(&verify->commits, &snapshot->head);
	}
	rc = finish(&round);
	if (rc == 0 && !found.n)
		rc = compare(&found, verify->repo, snapshot);
	ews_rewritten_tell(&found, snapshot);
	ews_strv_add_array(problems, found.items);
	return rc < 0 ? rc : (int)found.n;
}

int ews_verify_commit(struct ews_strv *problems, struct ews_verify *verify, const struct ews_oid *oid,
		      bool has_project)
{
	EWS_CLEANUP(strv) struct ews_strv found = EWS_STRV_INIT;
	EWS_CLEANUP(oids) struct ews_oids parents = EWS_OIDS_INIT;
	struct round round = { .verify = verify,
			       .problems = &found,
			       .may_lack = has_project && ews_odb_is_partial(verify->repo->odb) };
	int rc;

	walk_commit(&round, oid, "its commit", "", &parents);
	walk_pins(&round, &parents);
	rc = finish(&round);
	ews_strv_add_array(problems, found.items);
	return rc < 0 ? rc : (int)found.n;
}

/* The commits that a shallow clone ends at. */
static int read_shallow(struct ews_oidset *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, repo->common_fd, "shallow", SHALLOW_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	for (const char *line = text.ptr; rc == 0 && *line;) {
		size_t len = strcspn(line, "\n");
		EWS_CLEANUP(free) char *hex = ews_strndup(line, len);
		struct ews_oid oid;

		rc = len ? ews_oid_parse(&oid, hex) : 0;
		if (rc == 0 && len)
			ews_oidset_add(out, &oid);
		line += len + (line[len] == '\n');
	}
	return rc;
}

/* One commit of history, and where it leads. */
static int walk_back(struct ews_strv *problems, struct ews_verify *verify, const struct ews_oid *oid,
		     struct ews_oids *todo, const struct ews_oidset *shallow)
{
	EWS_CLEANUP(strv) struct ews_strv found = EWS_STRV_INIT;
	EWS_CLEANUP(oids) struct ews_oids parents = EWS_OIDS_INIT;
	struct round round = { .verify = verify,
			       .problems = &found,
			       .may_lack = ews_odb_is_partial(verify->repo->odb) };
	char hex[EWS_OID_HEX_MAX];
	EWS_CLEANUP(free) char *name = ews_strfmt("%.*s", ABBREV, ews_oid_hex(hex, oid));
	EWS_CLEANUP(free) char *prefix = ews_strfmt("%s:", name);
	int rc;

	walk_commit(&round, oid, name, prefix, &parents);
	rc = finish(&round);
	ews_strv_add_array(problems, found.items);
	if (rc < 0 || ews_oidset_has(shallow, oid))
		return rc;
	for (size_t i = 0; i < parents.n; i++)
		ews_oids_add(todo, &parents.items[i]);
	return 0;
}

int ews_verify_history(struct ews_strv *problems, struct ews_verify *verify)
{
	EWS_CLEANUP(oids) struct ews_oids todo = EWS_OIDS_INIT;
	struct ews_oidset seen = EWS_OIDSET_INIT, shallow = EWS_OIDSET_INIT;
	size_t before = problems->n;
	int rc = read_shallow(&shallow, verify->repo);

	for (size_t i = 0; i < verify->commits.n; i++)
		ews_oids_add(&todo, &verify->commits.items[i]);
	while (todo.n && rc == 0) {
		struct ews_oid oid = todo.items[--todo.n];

		if (ews_oidset_add(&seen, &oid))
			rc = walk_back(problems, verify, &oid, &todo, &shallow);
	}
	ews_oidset_release(&seen);
	ews_oidset_release(&shallow);
	return rc < 0 ? rc : (int)(problems->n - before);
}

int ews_verify_packs(struct ews_strv *problems, struct ews_verify *verify)
{
	EWS_CLEANUP(free) char *dir = ews_path_join(ews_odb_object_dir(verify->repo->odb), "pack");
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	size_t before = problems->n;
	ssize_t n = 0;

	if (fd < 0 && ews_error_code() != EWS_ENOTFOUND)
		return ews_error_wrap("cannot look for packs");
	if (fd < 0)
		ews_error_clear(); /* a store without packs */
	else
		n = ews_dir_names_read(&names, fd);
	for (ssize_t i = 0; i < n; i++) {
		const char *end = strrchr(names.items[i].name, '.');

		if (!end || (strcmp(end, ".pack") != 0 && strcmp(end, ".idx") != 0))
			continue;
		if (ews_pack_check(fd, names.items[i].name, ews_odb_algo(verify->repo->odb)) == 0)
			continue;
		ews_strv_addf(problems, "objects/pack/%s: %s", names.items[i].name, ews_error_message());
		ews_error_clear();
	}
	return n < 0 ? (int)n : (int)(problems->n - before);
}
