/*
 * History: see history.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/history.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/carry.h"
#include "store/index_extensions.h"
#include "work/head.h"
#include "work/session_place.h"

#define FILE_BYTES_MAX (256 * EWS_MIB)

/* Every word of a text of git's that is an id: a ref's one, a reflog's two a line. */
static void add_ids(struct ews_oids *out, const char *text, size_t hex_len)
{
	while (*text) {
		size_t len = strspn(text, "0123456789abcdef");

		if (len == hex_len && strspn(text, "0") < len) {
			EWS_CLEANUP(free) char *hex = ews_strndup(text, len);
			struct ews_oid oid;

			if (ews_oid_parse(&oid, hex) == 0)
				ews_oids_add(out, &oid);
		}
		text += len ? len : 1;
	}
}

static void add_ids_in(struct ews_oids *out, size_t hex_len, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	/* What is not there or no file names nothing. */
	if (ews_file_read(&text, dir_fd, name, FILE_BYTES_MAX) < 0)
		ews_error_clear();
	add_ids(out, text.ptr, hex_len);
}

/* Below a directory of the git directory: "logs" or "refs". */
static void add_ids_below(struct ews_oids *out, size_t hex_len, int git_fd, const char *rel)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(git_fd, rel);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(rel, names.items[i].name);

		if (names.items[i].type == DT_DIR)
			add_ids_below(out, hex_len, git_fd, path);
		else
			add_ids_in(out, hex_len, fd, names.items[i].name);
	}
	ews_error_clear();
}

/* All ids that the workspace's own git directory names. The project's, worked on in place, speaks for itself. */
static void list_ids(struct ews_oids *out, const struct ews_session *session)
{
	size_t hex_len = ews_odb_algo(session->repo->odb) == EWS_SHA1 ? 40 : 64;
	EWS_CLEANUP(fd) int fd = session->method->is_project ? -1 : ews_session_open_admin(session);

	ews_error_clear();
	if (fd < 0)
		return;
	add_ids_below(out, hex_len, fd, "logs");
	add_ids_below(out, hex_len, fd, "refs");
	add_ids_in(out, hex_len, fd, "packed-refs");
	add_ids_in(out, hex_len, fd, "ORIG_HEAD");
	ews_oids_sort(out);
}

/* In place an agent moves the project's own branches: where they stand is held as well. */
static void list_branches(struct ews_oids *out, const struct ews_session *session)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;

	if (ews_odb_ref_list(&refs, session->repo->odb, EWS_REF_BRANCHES) < 0)
		ews_error_clear();
	for (size_t i = 0; i < refs.n; i++)
		ews_oids_add(out, &refs.items[i].oid);
}

/* Keep those that are commits of the store, each once. */
static void keep_commits(struct ews_oids *list, struct ews_odb *odb)
{
	size_t kept = 0;

	ews_oids_sort(list);
	for (size_t i = 0; i < list->n; i++)
		if (ews_odb_is(odb, &list->items[i], EWS_OBJECT_COMMIT))
			list->items[kept++] = list->items[i];
	list->n = kept;
}

void ews_history_commits(struct ews_oids *out, const struct ews_session *session)
{
	if (session->method->is_project)
		list_branches(out, session);
	else
		list_ids(out, session);
	keep_commits(out, session->repo->odb);
}

void ews_history_add_merged(struct ews_oids *out, struct ews_repo *repo, const struct ews_gitstate *git)
{
	const struct ews_gitstate_file *merged = ews_gitstate_file(git, "MERGE_HEAD");

	if (!merged)
		return;
	add_ids(out, merged->data.ptr, ews_odb_algo(repo->odb) == EWS_SHA1 ? 40 : 64);
	keep_commits(out, repo->odb);
}

static void add_index_ids(struct ews_oids *out, const struct ews_index *index)
{
	for (size_t i = 0; i < index->n; i++)
		if (index->items[i].mode != EWS_MODE_GITLINK)
			ews_oids_add(out, &index->items[i].oid);
}

/* What git gets to pack: a line an id, and the base, whose history the store has. */
static void format_request(struct ews_buf *out, const struct ews_session *session, const struct ews_oid *wanted,
			   size_t n)
{
	char hex[EWS_OID_HEX_MAX];

	for (size_t i = 0; i < n; i++)
		if (!ews_odb_has(session->repo->odb, &wanted[i]))
			ews_buf_addf(out, "%s\n", ews_oid_hex(hex, &wanted[i]));
	if (out->len && *session->state.base_commit)
		ews_buf_addf(out, "^%s\n", session->state.base_commit);
}

static int carry(const struct ews_session *session, const struct ews_buf *request)
{
	const struct ews_repo *repo = session->repo;
	EWS_CLEANUP(free) char *own = ews_strfmt("%s/.git/objects", session->state.workspace);
	const char *store = ews_odb_object_dir(repo->odb);
	const struct ews_carry what = { .home = repo->home,
					.tmp_dir = repo->dir,
					.algo = ews_odb_algo(repo->odb),
					.from = own,
					.alternate = store,
					.to = store,
					.sharing = ews_odb_sharing(repo->odb) };
	int rc = ews_carry(&what, request);

	return rc < 0 ? rc : ews_odb_refresh(repo->odb);
}

/* What is lacking there keeps nobody from saving the rest: it is not held. */
static int adopt_if_whole(const struct ews_session *session, const struct ews_oids *wanted)
{
	EWS_CLEANUP(buf) struct ews_buf request = EWS_BUF_INIT;
	int rc;

	format_request(&request, session, wanted->items, wanted->n);
	if (!request.len)
		return 0;
	rc = carry(session, &request);
	if (rc == EWS_EGIT) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? rc : 1;
}

/* All of them; or those that are whole, which are found by halves: the others go into `lacking`. */
static int adopt_whole(struct ews_oids *lacking, const struct ews_session *session, const struct ews_oid *wanted,
		       size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf request = EWS_BUF_INIT;
	int rc, first;

	format_request(&request, session, wanted, n);
	if (!request.len)
		return 0;
	rc = carry(session, &request);
	if (rc != EWS_EGIT)
		return rc < 0 ? rc : 1;
	ews_error_clear();
	if (n == 1) {
		ews_oids_add(lacking, wanted);
		return 0;
	}
	first = adopt_whole(lacking, session, wanted, n / 2);
	rc = first < 0 ? first : adopt_whole(lacking, session, wanted + n / 2, n - n / 2);
	return rc ? rc : first;
}

/* Add what HEAD stands at, by itself or through a branch. */
static void add_head(struct ews_oids *out, const struct ews_session *session, const struct ews_gitstate *git)
{
	const struct ews_gitstate_file *head = ews_gitstate_file(git, "HEAD");
	EWS_CLEANUP(free) char *branch = ews_head_branch(git);
	EWS_CLEANUP(fd) int git_fd = branch ? ews_session_open_admin(session) : -1;
	struct ews_oid oid;

	if (head)
		add_ids(out, head->data.ptr, ews_odb_algo(session->repo->odb) == EWS_SHA1 ? 40 : 64);
	if (git_fd >= 0 && ews_odb_ref_read_from(&oid, session->repo->odb, git_fd, true, branch) == 0)
		ews_oids_add(out, &oid);
	ews_error_clear();
}

/* What is lacking is damage where it is one of `needed`. */
static int judge_lacking(const struct ews_oids *lacking, struct ews_oids *needed)
{
	char hex[EWS_OID_HEX_MAX];

	ews_oids_sort(needed);
	for (size_t i = 0; i < lacking->n; i++)
		if (ews_oids_has(needed, &lacking->items[i]))
			return ews_error(EWS_EDAMAGED, "the workspace's repository names what it lacks: '%s'",
					 ews_oid_hex(hex, &lacking->items[i]));
	return 0;
}

/* What the index names besides its entries. */
static int adopt_extensions(const struct ews_session *session, const struct ews_index *index)
{
	EWS_CLEANUP(oids) struct ews_oids trees = EWS_OIDS_INIT;
	EWS_CLEANUP(oids) struct ews_oids resolved = EWS_OIDS_INIT;
	enum ews_hash_algo algo = ews_odb_algo(session->repo->odb);
	int of_trees, of_resolved;

	ews_index_list_all_trees(&trees, index, algo);
	of_trees = adopt_if_whole(session, &trees);
	if (of_trees < 0)
		return of_trees;
	ews_index_list_resolved(&resolved, index, algo);
	of_resolved = adopt_if_whole(session, &resolved);
	return of_resolved ? of_resolved : of_trees;
}

int ews_history_adopt(const struct ews_session *session, const struct ews_gitstate *git)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(oids) struct ews_oids wanted = EWS_OIDS_INIT;
	EWS_CLEANUP(oids) struct ews_oids needed = EWS_OIDS_INIT;
	EWS_CLEANUP(oids) struct ews_oids missing = EWS_OIDS_INIT;
	int adopted, rc;

	if (!session->method->owns_objects)
		return 0;
	list_ids(&wanted, session);
	add_head(&wanted, session, git);
	add_head(&needed, session, git);
	if (git->has_index && ews_index_parse_state(&index, git, ews_odb_algo(session->repo->odb)) < 0)
		ews_error_clear(); /* then it names nothing */
	add_index_ids(&wanted, &index);
	/* What is promised may be missing from the copy as from the project. */
	if (!ews_odb_is_partial(session->repo->odb))
		add_index_ids(&needed, &index);
	ews_oids_sort(&wanted);
	adopted = adopt_whole(&missing, session, wanted.items, wanted.n);
	rc = adopted < 0 ? adopted : judge_lacking(&missing, &needed);
	if (rc == 0)
		rc = adopt_extensions(session, &index);
	return rc ? rc : adopted;
}
