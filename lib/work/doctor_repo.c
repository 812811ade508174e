/*
 * Doctor, of the repository: see doctor_repo.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_repo.h"

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
#include "base/shell_word.h"
#include "base/str.h"
#include "store/git.h"
#include "store/git_place.h"
#include "store/gitconfig.h"
#include "store/index.h"
#include "work/retell.h"

#define BARE "core.bare"
#define WORKTREE "core.worktree"
#define ALTERNATES "objects/info/alternates"
#define ALTERNATES_BYTES_MAX EWS_MIB
#define OURS "refs/ews/"
#define NOT_OURS "^refs/ews/*"

/* ---- settings ---- */

/* Run `git config --file <the value's file> <args>`: the value's own file, as it is a repository's. */
static int change_config(struct ews_repo *repo, const char *file, char *const *words)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv busy = EWS_STRV_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *sentence = NULL;
	const struct ews_git_opts opts = { .own_dir = repo->git_dir, .err = &err };
	int rc = ews_tripwire_take(&before, repo);

	if (rc < 0)
		return rc;
	ews_buf_init_max(&err, 64 * EWS_KIB);
	ews_strv_add_all(&args, "config", "--file", file, NULL);
	ews_strv_add_array(&args, words);
	rc = ews_git_run(&opts, args.items);
	if (rc < 0)
		return rc;
	sentence = ews_git_sentence(&err);
	if (rc > 0)
		return ews_error(EWS_EGIT, "git did not change '%s': %s", file, sentence);
	/* One that is in use will name the change: it is one. */
	return ews_retell(&busy, repo, &before);
}

/* May that value be changed for the repository alone? */
static bool is_repositorys(const struct ews_repo *repo, const struct ews_gitconfig_value *value)
{
	return value->scope == EWS_GITCONFIG_REPOSITORY && value->file &&
	       ews_path_is_inside(value->file, repo->common_dir);
}

static int read_settings(struct ews_gitconfig *out, struct ews_checkup *checkup, const char *name,
			 const struct ews_repo *repo, const char *pattern)
{
	int rc = ews_gitconfig_find(out, repo->git_dir, pattern);

	if (rc < 0)
		(void)ews_checkup_error(checkup, name);
	return rc;
}

static bool read_truth(const char *text)
{
	bool truth = false;

	if (ews_setting_read_bool(&truth, text) < 0)
		ews_error_clear();
	return truth;
}

/* ---- core.bare ---- */

/*
 * Is any file there that the index names? Where none is, the repository may well be meant to be bare: who works in linked work
 * trees alone makes it so, and the index is left of what it was before.
 */
static bool has_files_of_index(const struct ews_repo *repo, const char *top)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open(top);
	bool has = false;

	if (fd >= 0 && ews_index_read(&index, repo->common_fd, "index", ews_odb_algo(repo->odb)) == 0)
		for (size_t i = 0; i < index.n && !has; i++)
			has = faccessat(fd, index.items[i].path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	ews_error_clear();
	return has;
}

/* Where the work tree is, if there is one. The caller frees it. */
static char *find_top(const struct ews_repo *repo)
{
	if (repo->is_plain || strcmp(ews_path_base(repo->common_dir), ".git") != 0 ||
	    faccessat(repo->common_fd, "index", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	return ews_path_dir(repo->common_dir);
}

char *ews_doctor_hidden_top(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *top = find_top(repo);

	return top && has_files_of_index(repo, top) ? ews_steal(&top) : NULL;
}

static int unset_bare(const struct ews_patient *patient, const char *file)
{
	EWS_CLEANUP(free) char *top = ews_doctor_hidden_top(patient->repo);
	char replace[] = "--replace-all", key[] = BARE, no[] = "false";
	char *const words[] = { replace, key, no, NULL };

	return top ? change_config(patient->repo, file, words) : 0;
}

/* What git takes for the word on the place of a work tree, which is not what any other file says of it. */
static int read_place(struct ews_git_place *out, struct ews_checkup *checkup, const char *name, const char *git_dir,
		      const struct ews_repo *repo)
{
	int rc = ews_git_place_read(out, git_dir, repo->common_dir);

	if (rc < 0)
		(void)ews_checkup_error(checkup, name);
	return rc;
}

static void look_at_bare(struct ews_checkup *out, const struct ews_patient *patient)
{
	const struct ews_repo *repo = patient->repo;
	EWS_CLEANUP(free) char *top = find_top(repo);
	EWS_CLEANUP(git_place) struct ews_git_place place = EWS_GIT_PLACE_INIT;
	EWS_CLEANUP(free) char *file = NULL;
	struct ews_check *check;

	if (read_place(&place, out, BARE, repo->common_dir, repo) < 0)
		return;
	if (!top || !place.is_bare) {
		ews_checkup_ok(out, BARE, "the repository %s",
			       top ? "has a work tree, and says so" : "has no work tree of its own");
		return;
	}
	if (!has_files_of_index(repo, top)) {
		ews_checkup_ok(out, BARE, "the repository says to be bare, and none of its files is in '%s'", top);
		return;
	}
	check = ews_checkup_find(
		out, BARE, EWS_CHECK_PROBLEM,
		"'%s' says that the repository is bare, but '%s' is its work tree: git refuses to work there",
		place.bare.file, top);
	file = ews_shell_shown(place.bare.file);
	ews_check_mend(check, unset_bare, place.bare.file, "git config --file %s core.bare false", file);
}

/* ---- core.worktree ---- */

static int unset_worktree(const struct ews_patient *patient, const char *file)
{
	char unset[] = "--unset-all", key[] = WORKTREE;
	char *const words[] = { unset, key, NULL };

	return change_config(patient->repo, file, words);
}

/* Where it leads elsewhere while a session is at work in the project itself, or was and can be brought back. Else nobody knows better where the work tree is. */
static void look_at_worktree(struct ews_checkup *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(git_place) struct ews_git_place place = EWS_GIT_PLACE_INIT;
	EWS_CLEANUP(free) char *file = NULL;
	struct ews_check *check;

	if (!repo->overruled || strcmp(repo->overruled, WORKTREE) != 0 ||
	    read_place(&place, out, WORKTREE, repo->git_dir, repo) < 0 || !place.worktree.text)
		return;
	check = ews_checkup_find(out, WORKTREE, EWS_CHECK_PROBLEM,
				 "'%s' says that the work tree is '%s', but %s at work in '%s': git works elsewhere",
				 place.worktree.file, place.worktree.text,
				 repo->is_overruled_late ? "a session that can be brought back was" : "a session is",
				 repo->project);
	file = ews_shell_shown(place.worktree.file);
	ews_check_mend(check, unset_worktree, place.worktree.file, "git config --file %s --unset-all " WORKTREE,
		       file);
}

/* ---- alternates ---- */

static void look_at_alternate(struct ews_checkup *out, const struct ews_repo *repo, const char *line)
{
	EWS_CLEANUP(free) char *objects = ews_path_join(repo->common_dir, "objects");
	EWS_CLEANUP(free) char *dir = ews_path_absolute(objects, line);
	struct ews_check *check;
	struct stat st;

	/* One in quotes has bytes that no line may hold: git alone reads those. */
	if (!*line || *line == '#' || *line == '"' || (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
		return;
	check = ews_checkup_find(out, "alternates", EWS_CHECK_PROBLEM,
				 "the repository borrows objects from '%s', which is not there", dir);
	ews_check_advise(check, "bring that directory back, or name its new place in '%s/" ALTERNATES "'",
			 repo->common_dir);
}

static void look_at_alternates(struct ews_checkup *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *path = ews_path_join(repo->common_dir, ALTERNATES);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, AT_FDCWD, path, ALTERNATES_BYTES_MAX);
	char *line, *rest;

	if (rc < 0 && rc != EWS_ENOTFOUND) {
		(void)ews_checkup_error(out, "alternates");
		return;
	}
	ews_error_clear();
	for (line = strtok_r(text.ptr, "\n", &rest); text.len && line; line = strtok_r(NULL, "\n", &rest))
		look_at_alternate(out, repo, line);
	if (!ews_checkup_has(out, "alternates"))
		ews_checkup_ok(out, "alternates", "%s",
			       text.len ? "all that objects are borrowed from is there" : "no objects are borrowed");
}

/* ---- remotes ---- */

/* One remote: what its settings would publish of ours, or delete. */
struct remote {
	const struct ews_gitconfig_value *mirror, *push, *named, *fetch; /* that do it; NULL: nothing does */
};

/* "<section>.<remote>.<key>": is it of `name`? */
static bool is_of(const struct ews_gitconfig_value *value, const char *name, const char *key)
{
	size_t len = strlen(name);

	return !strncmp(value->key + 7, name, len) && value->key[7 + len] == '.' &&
	       !strcmp(value->key + 8 + len, key);
}

/* Does one side of a refspec, `len` bytes at `side`, stand for refs of ours? */
static bool covers_ours(const char *side, size_t len)
{
	const char *star = memchr(side, '*', len);
	size_t head = star ? (size_t)(star - side) : len, ours = strlen(OURS);

	if (!star)
		return len > ours && !strncmp(side, OURS, ours);
	return !strncmp(side, OURS, head < ours ? head : ours);
}

/*
 * The refs on the left of the refspec `text`, which may be a pattern, that stand for refs of ours on the side that is here; NULL:
 * none do. A refspec that leaves refs out is compared with that side. The caller frees it.
 */
static char *find_source(const char *text, bool is_push)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	const char *star = memchr(text, '*', len);
	const char *here = is_push || !colon ? text : colon + 1;
	size_t here_len = here == text ? len : strlen(here), head = strcspn(here, "*");

	/* One without a colon is fetched to no ref. */
	if (!len || (!is_push && !colon) || !covers_ours(here, here_len))
		return NULL;
	if (is_push && !ews_str_begins(text, OURS))
		return ews_strdup(OURS "*");
	/* One that leads to refs of ours alone. */
	if (!star || head >= strlen(OURS))
		return ews_strndup(text, len);
	return ews_strfmt("%.*s%s%.*s", (int)(star - text), text, &OURS[head], (int)(colon - star), star);
}

/* Does the refspec `text` leave out all of `source`, a ref or a pattern? */
static bool leaves_out(const char *text, const char *source)
{
	const char *rest = ews_str_after(text, "^");
	const char *star = rest ? strchr(rest, '*') : NULL;
	const char *any = strchr(source, '*');
	size_t len = strlen(source), head, tail;

	if (!star)
		return rest && !strcmp(rest, source);
	head = (size_t)(star - rest);
	tail = strlen(star + 1);
	if (any ? head > (size_t)(any - source) || tail > strlen(any + 1) : head + tail > len)
		return false;
	return !strncmp(rest, source, head) && !strcmp(star + 1, source + len - tail);
}

static bool is_left_out(const struct ews_gitconfig *values, const char *name, const char *key, const char *source)
{
	for (size_t i = 0; i < values->n; i++)
		if (is_of(&values->items[i], name, key) && leaves_out(values->items[i].text, source))
			return true;
	return false;
}

static void take_refspec(struct remote *remote, const struct ews_gitconfig *values, const char *name,
			 const struct ews_gitconfig_value *value, bool is_push)
{
	const char *text = value->text + (*value->text == '+');
	EWS_CLEANUP(free) char *source = find_source(text, is_push);

	if (!source)
		return;
	if (is_push && ews_str_begins(text, OURS))
		remote->named = value;
	else if (!is_left_out(values, name, is_push ? "push" : "fetch", source))
		*(is_push ? &remote->push : &remote->fetch) = value;
}

static void read_remote(struct remote *out, const struct ews_gitconfig *values, const char *name)
{
	for (size_t i = 0; i < values->n; i++) {
		const struct ews_gitconfig_value *value = &values->items[i];

		if (is_of(value, name, "mirror"))
			out->mirror = read_truth(value->text) || !strcasecmp(value->text, "push") ? value : NULL;
		else if (is_of(value, name, "push"))
			take_refspec(out, values, name, value, true);
		else if (is_of(value, name, "fetch"))
			take_refspec(out, values, name, value, false);
	}
}

/* `arg`: "<key>\n<refspec>\n<file>". */
static int leave_ours_out(const struct ews_patient *patient, const char *arg)
{
	EWS_CLEANUP(free) char *name = ews_strndup(arg, strcspn(arg, "\n"));
	const char *rest = arg + strlen(name) + 1;
	EWS_CLEANUP(free) char *spec = ews_strndup(rest, strcspn(rest, "\n"));
	char add[] = "--add";
	char *const words[] = { add, name, spec, NULL };

	return change_config(patient->repo, rest + strlen(spec) + 1, words);
}

/* What leaves our refs out of `value`, a refspec under `key`. */
static void propose(struct ews_check *check, const struct ews_repo *repo, const char *name, const char *key,
		    const struct ews_gitconfig_value *value)
{
	EWS_CLEANUP(free) char *full = ews_strfmt("remote.%s.%s", name, key);
	EWS_CLEANUP(free) char *source = find_source(value->text + (*value->text == '+'), !strcmp(key, "push"));
	EWS_CLEANUP(free)
	char *arg = ews_strfmt("%s\n^%s\n%s", full, source, value->file ? value->file : "");
	EWS_CLEANUP(free) char *file = ews_shell_shown(value->file ? value->file : "");
	EWS_CLEANUP(free) char *left_out = ews_strfmt("^%s", source);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(full);
	EWS_CLEANUP(free) char *shown_out = ews_shell_shown(left_out);

	/* git wants the whole name of what is left out. */
	if (!ews_str_begins(source, "refs/"))
		ews_check_advise(check, "take '%s' out of %s", value->text, full);
	else if (is_repositorys(repo, value))
		ews_check_mend(check, leave_ours_out, arg, "git config --file %s --add %s %s", file, shown,
			       shown_out);
	else
		ews_check_advise(check, "git config --add %s %s", shown, shown_out);
}

static void look_at_remote(struct ews_checkup *out, const struct ews_repo *repo, const struct ews_gitconfig *values,
			   const char *name)
{
	EWS_CLEANUP(free) char *shown = ews_shell_shown(name);
	struct remote remote = { 0 };
	struct ews_check *check;
	bool is_here;

	read_remote(&remote, values, name);
	is_here = remote.mirror && is_repositorys(repo, remote.mirror);
	if (remote.mirror) {
		check = ews_checkup_find(out, "remotes", EWS_CHECK_WARNING,
					 "'%s' is a mirror: 'git push %s' publishes " OURS
					 ", and with it what was never committed",
					 name, shown);
		/*
		 * It would no longer delete there what is gone here: that is for people to decide. What the user's own config
		 * says of all repositories is overruled in this one.
		 */
		ews_check_advise(check,
				 "git config %sremote.%s.mirror%s; git config --add remote.%s.push '+refs/*:refs/*'; "
				 "git config --add remote.%s.push '" NOT_OURS "'",
				 is_here ? "--unset " : "", shown, is_here ? "" : " false", shown, shown);
	}
	if (remote.push && !remote.mirror) {
		check = ews_checkup_find(out, "remotes", EWS_CHECK_WARNING,
					 "'%s' is pushed '%s': that publishes " OURS
					 ", and with it what was never committed",
					 name, remote.push->text);
		propose(check, repo, name, "push", remote.push);
	}
	if (remote.named) {
		check = ews_checkup_find(out, "remotes", EWS_CHECK_WARNING, "'%s' is pushed '%s', refs of git ews",
					 name, remote.named->text);
		ews_check_advise(check, "git config --unset-all remote.%s.push '^[+]*refs/ews/'", shown);
	}
	if (remote.fetch) {
		check = ews_checkup_find(out, "remotes", EWS_CHECK_PROBLEM,
					 "'%s' is fetched as '%s': with --prune that deletes " OURS
					 ", the bases of sessions too",
					 name, remote.fetch->text);
		propose(check, repo, name, "fetch", remote.fetch);
	}
}

static void look_at_remotes(struct ews_checkup *out, const struct ews_repo *repo)
{
	EWS_CLEANUP(gitconfig) struct ews_gitconfig values = EWS_GITCONFIG_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

	if (read_settings(&values, out, "remotes", repo, "^remote\\..+\\.(mirror|push|fetch)$") < 0)
		return;
	for (size_t i = 0; i < values.n; i++) {
		const char *key = values.items[i].key + strlen("remote.");

		ews_strv_add_len(&names, key, (size_t)(strrchr(key, '.') - key));
	}
	ews_strv_unique(&names);
	for (size_t i = 0; i < names.n; i++)
		look_at_remote(out, repo, &values, names.items[i]);
	if (!ews_checkup_has(out, "remotes"))
		ews_checkup_ok(out, "remotes", "none gets " OURS "; 'git push --mirror' would publish it");
}

void ews_doctor_repo(struct ews_checkup *out, const struct ews_patient *patient)
{
	if (patient->repo->is_plain)
		return;
	look_at_bare(out, patient);
	look_at_worktree(out, patient->repo);
	look_at_alternates(out, patient->repo);
	look_at_remotes(out, patient->repo);
}
