/*
 * Method snapshot: an independent copy, in a git project with a private repository.
 *
 * The workspace's `.git` is a directory of its own that borrows the store's
 * objects (objects/info/alternates), with HEAD detached at the same commit, the same
 * index, branches and tags as packed refs, and of the project's own config what names
 * no program, no remote and no place but the file that says what is ignored. What is committed there stays there, until a
 * snapshot takes it into the store (work/history). A plain directory's copy has no `.git`.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/carry.h"
#include "store/config.h"
#include "store/gitconfig_text.h"
#include "store/index.h"
#include "store/repo_format.h"

#define GIT_DIR ".git"
#define ALTERNATES "objects/info/alternates"
#define CONFIG "config"
#define REFS "refs"
#define KEPT "ews"
#define EXCLUDES "core.excludesfile"
#define LINK_BYTES_MAX (64 * EWS_KIB)
#define FILE_BYTES_MAX (16 * EWS_MIB)

/* Settings that come along: how files are compared, merged and written, and who commits. */
static const char *const carried[] = {
	"user.name",
	"user.email",
	"user.useconfigonly",
	"core.autocrlf",
	"core.eol",
	"core.safecrlf",
	"core.filemode",
	"core.symlinks",
	"core.ignorecase",
	"core.precomposeunicode",
	"core.protecthfs",
	"core.protectntfs",
	"core.quotepath",
	"core.abbrev",
	"core.checkroundtripencoding",
	"core.sparsecheckout",
	"core.sparsecheckoutcone",
	"core.whitespace",
	"core.commentchar",
	"core.repositoryformatversion",
	"extensions.objectformat",
	"index.version",
	"index.sparse",
	NULL,
};

/* Of a diff or merge driver too what is no command: `diff.<driver>.<key>`. */
static const char *const driver_keys[] = { "xfuncname", "funcname", "binary", "wordregex", "algorithm", NULL };

static const char *const diff_keys[] = {
	"algorithm",
	"renames",
	"renamelimit",
	"context",
	"interhunkcontext",
	"mnemonicprefix",
	"noprefix",
	"relative",
	"suppressblankempty",
	"colormoved",
	"colormovedws",
	"wordregex",
	"indentheuristic",
	"submodule",
	"ignoresubmodules",
	"statgraphwidth",
	"dirstat",
	"wserrorhighlight",
	"autorefreshindex",
	NULL,
};

static const char *const merge_keys[] = {
	"conflictstyle", "renames",     "renamelimit", "directoryrenames", "ff",         "log",
	"stat",          "renormalize", "verbosity",   "autostash",        "branchdesc", NULL
};

/* `key` as git lists it: section and last part in lower case, what is between them as it is. */
static bool comes_along(const char *key)
{
	const char *last = strrchr(key, '.');
	const char *first = strchr(key, '.');

	if (ews_str_is_any(key, carried))
		return true;
	if (ews_str_begins(key, "diff."))
		return first == last ? ews_str_is_any(last + 1, diff_keys) : ews_str_is_any(last + 1, driver_keys);
	/* Of a submodule that it is one to work in, for all or by its name; where it comes from is a place. */
	if (ews_str_begins(key, "submodule."))
		return !strcmp(last, ".active");
	return ews_str_begins(key, "merge.") && first == last && ews_str_is_any(last + 1, merge_keys);
}

static int add_setting(const char *key, const char *value, void *payload)
{
	if (comes_along(key))
		ews_gitconfig_add(payload, key, value ? value : "true");
	return 0;
}

/* What of a file of settings comes along, and of none that it includes. */
static int add_settings(struct ews_buf *out, const char *file)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_path(&text, file, FILE_BYTES_MAX);

	if (rc == 0)
		rc = ews_gitconfig_parse(text.ptr, text.len, add_setting, out);
	return rc < 0 ? ews_error_wrap("cannot read the settings in '%s'", file) : 0;
}

/*
 * What holds for the project's work tree alone, where git asks for that: it takes the place of what is said for all of them. The
 * copy is its own repository, so it says so where it says all.
 */
static int add_own_settings(struct ews_buf *out, const struct ews_place *place, const struct ews_gitstate *state)
{
	const struct ews_gitstate_file *config = state ? ews_gitstate_file(state, "config.worktree") : NULL;
	bool has_own;
	int rc = ews_config_git_bool(&has_own, place->odb, "extensions.worktreeConfig", false);

	if (rc < 0 || !config || !has_own)
		return rc;
	return ews_gitconfig_parse(config->data.ptr, config->data.len, add_setting, out);
}

/*
 * What is ignored in the project is ignored in the copy, too, wherever its config says so, and in place of the user's own file. A path
 * that is none from the root on is one of the work tree's, in the copy as in the project.
 */
static int add_excludes(struct ews_buf *out, const struct ews_place *place)
{
	EWS_CLEANUP(free) char *own = NULL;
	EWS_CLEANUP(free) char *user = NULL;
	int rc = ews_odb_config_if_set(&own, place->odb, EXCLUDES);

	if (rc < 0 || !own)
		return rc;
	if (ews_odb_config_user(&user, EXCLUDES) < 0 || strcmp(own, user) != 0)
		ews_gitconfig_add(out, EXCLUDES, own);
	ews_error_clear();
	return 0;
}

static int write_config(const struct ews_place *place, int fd, const struct ews_gitstate *state)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *config = ews_path_join(place->common_dir, "config");
	int rc;

	ews_buf_adds(&text, "[core]\n\tbare = false\n\tlogAllRefUpdates = true\n");
	rc = add_settings(&text, config);
	if (rc == 0)
		rc = add_own_settings(&text, place, state);
	if (rc == 0)
		rc = add_excludes(&text, place);
	return rc < 0 ? rc : ews_file_replace(fd, CONFIG, text.ptr, text.len, 0644);
}

/* What the tag object `oid` names; `oid` itself, when it is no tag. Tags go into `tags`, a line each. */
static int follow_tag(struct ews_oid *target, struct ews_buf *tags, const struct ews_place *place,
		      const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *named = NULL;
	char hex[EWS_OID_HEX_MAX];
	enum ews_object_type type;
	const char *first;
	int rc = ews_odb_read_header(&type, NULL, place->odb, oid);

	*target = *oid;
	if (rc < 0 || type != EWS_OBJECT_TAG)
		return rc;
	ews_buf_addf(tags, "%s\n", ews_oid_hex(hex, oid));
	rc = ews_odb_read(&data, &type, place->odb, oid);
	first = rc < 0 ? NULL : ews_str_after(data.ptr, "object ");
	if (!first)
		return rc;
	named = ews_strndup(first, strcspn(first, "\n"));
	return ews_oid_parse(target, named);
}

/* Annotated tags are small objects that nothing of ours keeps in the store, so the copy has its own. */
static int copy_tags(const struct ews_place *place, const struct ews_buf *tags, const char *object_dir)
{
	const struct ews_carry what = { .home = place->home,
					.tmp_dir = place->home,
					.algo = ews_odb_algo(place->odb),
					.from = ews_odb_object_dir(place->odb),
					.to = object_dir,
					.just_these = true };

	return tags->len && !place->copies_objects ? ews_carry(&what, tags) : 0;
}

/* Branches and tags; one that names what is not there is of no use to the copy either. */
static bool comes_along_ref(const struct ews_place *place, const struct ews_ref *ref)
{
	return (ews_str_begins(ref->name, EWS_REF_BRANCHES) || ews_str_begins(ref->name, EWS_REF_TAGS)) &&
	       ews_odb_has(place->odb, &ref->oid);
}

/* Branches and tags, as they stand. A tag of a tag is copied as far as its target. */
static int write_refs(const struct ews_place *place, int fd, const char *object_dir)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf tags = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_odb_ref_list(&refs, place->odb, "refs/");

	ews_buf_adds(&text, "# pack-refs with: peeled fully-peeled sorted \n");
	for (size_t i = 0; i < refs.n && rc == 0; i++) {
		const struct ews_ref *ref = &refs.items[i];
		struct ews_oid target = ref->oid, next;

		if (!comes_along_ref(place, ref))
			continue;
		do {
			next = target;
			rc = follow_tag(&target, &tags, place, &next);
		} while (rc == 0 && !ews_oid_equal(&next, &target));
		if (rc < 0)
			return ews_error_wrap("cannot copy '%s'", ref->name);
		ews_buf_addf(&text, "%s %s\n", ews_oid_hex(hex, &ref->oid), ref->name);
		if (!ews_oid_equal(&target, &ref->oid))
			ews_buf_addf(&text, "^%s\n", ews_oid_hex(hex, &target));
	}
	if (rc == 0)
		rc = copy_tags(place, &tags, object_dir);
	return rc < 0 ? rc : ews_file_replace(fd, "packed-refs", text.ptr, text.len, 0644);
}

/* A file of one of the project's git directories that may be missing; `rel` is where it goes, too. */
static int copy_file(int to_fd, int from_fd, const char *rel)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(rel);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int from = *dir ? ews_dir_open_beneath(from_fd, dir) : dup(from_fd);
	EWS_CLEANUP(fd) int to = -1;
	int rc;

	if (from < 0)
		return ews_error_if_passing(*dir ? from : ews_error_os("cannot open '%s'", rel));
	rc = ews_file_read(&text, from, ews_path_base(rel), FILE_BYTES_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	to = *dir ? ews_dir_open_beneath(to_fd, dir) : dup(to_fd);
	if (rc < 0 || to < 0)
		return rc < 0 ? rc : to;
	return ews_file_replace(to, ews_path_base(rel), text.ptr, text.len, 0644);
}

/* A line of the file ends where the path does, or it is in quotes. */
static char *format_alternates(const struct ews_place *place)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	const char *dir = ews_odb_object_dir(place->odb);

	if (strchr(dir, '\n'))
		ews_path_quote(&line, dir);
	else
		ews_buf_adds(&line, dir);
	ews_buf_addc(&line, '\n');
	return ews_buf_steal(&line);
}

/* All that HEAD, index and refs lead to, instead of borrowing it. */
static int copy_objects(const struct ews_place *place, const char *object_dir, const struct ews_gitstate *state)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf request = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *shallow = ews_path_join(place->common_dir, "shallow");
	const struct ews_gitstate_file *head = ews_gitstate_file(state, "HEAD");
	const struct ews_carry what = { .home = place->home,
					.tmp_dir = place->home,
					.algo = ews_odb_algo(place->odb),
					.from = ews_odb_object_dir(place->odb),
					.to = object_dir,
					.shallow = access(shallow, F_OK) == 0 ? shallow : NULL };
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_odb_ref_list(&refs, place->odb, "refs/");

	if (rc == 0 && state->has_index)
		rc = ews_index_parse_state(&index, state, what.algo);
	if (rc < 0)
		return rc;
	if (head)
		ews_buf_add(&request, head->data.ptr, head->data.len);
	for (size_t i = 0; i < refs.n; i++)
		if (comes_along_ref(place, &refs.items[i]))
			ews_buf_addf(&request, "%s\n", ews_oid_hex(hex, &refs.items[i].oid));
	for (size_t i = 0; i < index.n; i++)
		if (index.items[i].mode != EWS_MODE_GITLINK && ews_odb_has(place->odb, &index.items[i].oid))
			ews_buf_addf(&request, "%s\n", ews_oid_hex(hex, &index.items[i].oid));
	rc = ews_carry(&what, &request);
	if (rc == 0)
		return 0;
	ews_error_wrap("cannot copy the objects");
	if (ews_odb_is_partial(place->odb))
		ews_error_hint(
			"a partial clone need not have them all: leave out --copy-objects, or take --method worktree");
	return rc;
}

static int write_alternates(const struct ews_place *place, int fd)
{
	EWS_CLEANUP(free) char *text = format_alternates(place);
	EWS_CLEANUP(fd) int info = ews_dir_open_beneath(fd, "objects/info");

	return info < 0 ? info : ews_file_replace(info, "alternates", text, strlen(text), 0644);
}

static int make_dirs(int fd)
{
	static const char *const dirs[] = { "info", "objects/info", "objects/pack", "refs/heads", "refs/tags" };
	int rc = 0;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs) && rc == 0; i++)
		rc = ews_dir_make(fd, dirs[i], 0777);
	return rc;
}

static int fill(const struct ews_place *place, int fd, const struct ews_gitstate *state)
{
	EWS_CLEANUP(free) char *object_dir = ews_strfmt("%s/" GIT_DIR "/objects", place->workspace);
	int rc = make_dirs(fd);

	if (rc == 0 && !place->copies_objects)
		rc = write_alternates(place, fd);
	if (rc == 0 && place->copies_objects)
		rc = copy_objects(place, object_dir, state);
	if (rc == 0)
		rc = write_config(place, fd, state);
	if (rc == 0)
		rc = write_refs(place, fd, object_dir);
	if (rc == 0)
		rc = copy_file(fd, place->common_fd, "info/exclude");
	if (rc == 0)
		rc = copy_file(fd, place->common_fd, "info/attributes");
	if (rc == 0)
		rc = copy_file(fd, place->common_fd, "shallow");
	if (rc == 0)
		rc = copy_file(fd, place->git_fd, "info/sparse-checkout");
	return rc < 0 ? rc : ews_gitstate_write(state, fd, -1, EWS_SHARING_NONE, NULL);
}

static int make_repository(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state)
{
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	if (mkdirat(workspace_fd, GIT_DIR, 0777) < 0)
		return ews_error_os("cannot make '" GIT_DIR "'");
	fd = ews_dir_open_beneath(workspace_fd, GIT_DIR);
	rc = fd < 0 ? fd : fill(place, fd, state);
	return rc < 0 ? rc : ews_file_sync_dir(fd);
}

/* Its files get their names together; where the caller has a group they are of that one. */
static int prepare(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	const bool is_alone = !ews_sync_current();
	int rc;

	if (place->is_plain)
		return 0;
	if (is_alone)
		ews_sync_begin(&group);
	rc = make_repository(place, workspace_fd, state);
	if (rc == 0 && is_alone)
		rc = ews_sync_finish(&group);
	return rc < 0 ? ews_error_wrap("cannot make the workspace's repository") : 0;
}

static int open_git(const struct ews_place *place, int workspace_fd)
{
	int fd;

	if (place->is_plain)
		return ews_error(EWS_ENOTFOUND, "the workspace of a plain directory has no repository");
	fd = workspace_fd < 0 ? -1 : openat(workspace_fd, GIT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (workspace_fd < 0 || (fd < 0 && ews_errno_is_absent_or_link(errno)))
		return ews_error(EWS_ENOTFOUND, "the workspace's repository is gone");
	return fd < 0 ? ews_error_os("cannot open the workspace's repository") : fd;
}

/* Do the alternates say `want`, or, when that is NULL, are there none? */
static int alternates_are(int fd, const char *want)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int info = ews_dir_open_beneath(fd, "objects/info");
	int rc = info < 0 ? info : ews_file_is_there(info, "alternates");

	if (rc > 0 && want)
		rc = ews_file_read(&text, info, "alternates", LINK_BYTES_MAX);
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	return want ? rc == 0 && text.len == strlen(want) && !strcmp(text.ptr, want) : rc <= 0;
}

static int has_our_alternates(const struct ews_place *place, int fd)
{
	EWS_CLEANUP(free) char *want = place->copies_objects ? NULL : format_alternates(place);

	return alternates_are(fd, want);
}

/* With this file git would take another directory for the repository. */
static int has_commondir(int fd)
{
	int rc = ews_file_is_there(fd, "commondir");

	return rc < 0 ? ews_error_if_passing(rc) : rc;
}

/* Else git takes it for no repository, or for that of another directory. What else the agent sets there is his. */
static int has_plain_config(const struct ews_place *place, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, fd, CONFIG, FILE_BYTES_MAX);

	return rc < 0 ? ews_error_if_passing(rc)
		      : ews_repo_format_is_plain(text.ptr, text.len, ews_odb_algo(place->odb), fd);
}

/* Without these git takes it for no repository, and may find another above. */
static int has_dirs(int fd)
{
	int refs = ews_file_is_there(fd, REFS);
	int rc = refs < 0 ? refs : ews_file_is_there(fd, "objects");

	return rc < 0 ? ews_error_if_passing(rc) : refs && rc;
}

/* What of that by which git finds the repository and its objects is not as it has to be. */
struct bent {
	bool alternates, commondir, config, dirs;
};

static int look(struct bent *out, const struct ews_place *place, int fd)
{
	int alternates = has_our_alternates(place, fd);
	int commondir = alternates < 0 ? alternates : has_commondir(fd);
	int config = commondir < 0 ? commondir : has_plain_config(place, fd);
	int dirs = config < 0 ? config : has_dirs(fd);

	*out = (struct bent){ !alternates, commondir > 0, !config, !dirs };
	return dirs < 0 ? dirs : 0;
}

static int tampered(struct ews_strv *out, const struct ews_place *place, int workspace_fd)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct bent bent;
	int rc;

	if (place->is_plain)
		return 0;
	fd = open_git(place, workspace_fd);
	if (fd < 0 && fd != EWS_ENOTFOUND && ews_error_errno() != EACCES)
		return fd;
	if (fd < 0) {
		ews_error_clear();
		ews_strv_add(out, GIT_DIR);
		return 0;
	}
	rc = look(&bent, place, fd);
	if (rc < 0)
		return rc;
	if (bent.alternates)
		ews_strv_add(out, GIT_DIR "/" ALTERNATES);
	if (bent.commondir)
		ews_strv_add(out, GIT_DIR "/commondir");
	if (bent.config)
		ews_strv_add(out, EWS_METHOD_CONFIG);
	if (bent.dirs)
		ews_strv_add(out, GIT_DIR "/" REFS);
	return 0;
}

static int open_kept(const struct ews_place *place, const char *name, bool make)
{
	EWS_CLEANUP(fd) int workspace = ews_dir_open(place->workspace);
	EWS_CLEANUP(fd) int fd = workspace < 0 ? workspace : open_git(place, workspace);
	EWS_CLEANUP(free) char *rel = ews_path_join(KEPT, name);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (make)
		rc = ews_dir_make(fd, rel, 0777);
	return rc < 0 ? rc : ews_dir_open_beneath(fd, rel);
}

/* What stood there is the agent's: it is kept, where git does not look. */
static int put_away(const struct ews_place *place, int fd, const char *rel)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(rel);
	EWS_CLEANUP(fd) int from = *dir ? ews_dir_open_beneath(fd, dir) : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	EWS_CLEANUP(fd) int kept = open_kept(place, "bent", true);
	int rc = from < 0 ? from : kept < 0 ? kept : EWS_EEXISTS;

	for (unsigned n = 1; rc == EWS_EEXISTS; n++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("%s.%u", ews_path_base(rel), n);

		rc = ews_file_rename_new(from, ews_path_base(rel), kept, name);
	}
	return rc;
}

static int repair_config(const struct ews_place *place, int fd, const struct ews_gitstate *state)
{
	int rc = ews_file_is_there(fd, CONFIG);

	if (rc > 0)
		rc = put_away(place, fd, CONFIG);
	return rc < 0 ? rc : write_config(place, fd, state);
}

static int repair(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct bent bent;
	int rc;

	if (place->is_plain)
		return 0;
	rc = ews_file_is_there(workspace_fd, GIT_DIR);
	if (rc <= 0)
		return rc < 0 ? rc : prepare(place, workspace_fd, state);
	fd = open_git(place, workspace_fd);
	if (fd < 0)
		return fd;
	rc = look(&bent, place, fd);
	if (rc == 0 && bent.dirs)
		rc = make_dirs(fd);
	if (rc == 0 && bent.commondir)
		rc = put_away(place, fd, "commondir");
	if (rc == 0 && bent.config)
		rc = repair_config(place, fd, state);
	if (rc < 0 || !bent.alternates)
		return rc;
	if (place->copies_objects)
		return put_away(place, fd, ALTERNATES);
	rc = ews_dir_make(fd, "objects/info", 0777);
	return rc < 0 ? rc : write_alternates(place, fd);
}

static int follow(const struct ews_place *place, int workspace_fd, const char *was)
{
	EWS_CLEANUP(fd) int fd = openat(workspace_fd, GIT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	EWS_CLEANUP(free) char *want = ews_strfmt("%s/objects\n", was);
	int rc = fd < 0 ? ews_error_if_passing(ews_error_os("cannot open '" GIT_DIR "'")) : alternates_are(fd, want);

	return rc > 0 ? write_alternates(place, fd) : rc;
}

const struct ews_method ews_method_snapshot = {
	.name = "snapshot",
	.json_name = "snapshot",
	.owns_objects = true,
	.check_free = ews_method_nothing,
	.prepare = prepare,
	/* it all lies in the workspace, which comes and goes as a whole */
	.publish = ews_method_nothing,
	.withdraw = ews_method_nothing,
	.restore = ews_method_nothing,
	.take_back = ews_method_nothing,
	.open_git = open_git,
	.tampered = tampered,
	.repair = repair,
	.follow = follow,
	.open_kept = open_kept,
};
