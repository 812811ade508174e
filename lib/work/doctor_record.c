/*
 * Doctor, of records: see doctor_record.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_record.h"

#include <errno.h>
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
#include "base/shell_word.h"
#include "base/str.h"
#include "store/home.h"
#include "store/manifest_odb.h"
#include "store/step.h"
#include "work/artifact_registry.h"
#include "work/doctor_home.h"
#include "work/recover.h"
#include "work/round_find.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/snapshot.h"
#include "work/snapshot_rewritten.h"
#include "work/steps.h"

#define REFS "refs"
#define SESSIONS "sessions"
#define STEPS "steps"
#define OURS "refs/ews"
#define UNREAD_FIRST "mend what 'home' says first: the record may be there"
/* Without quotes, which would turn those behind it round for who pastes the whole line. */
#define ELSEWHERE_FIRST \
	"another home (SUPERQODE_HOME, another user) may have its record, and need this; where none has, "
#define REF_BYTES_MAX 4096
#define LINK_BYTES_MAX (64 * EWS_KIB)

/* ---- refs ---- */

/* Does the file hold an object's id? What is no id says of nothing that could be lost with it. */
static int holds_id(bool *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, dir_fd, name, REF_BYTES_MAX);
	size_t len;

	if (rc < 0)
		return rc;
	len = strspn(text.ptr, "0123456789abcdef");
	*out = len >= 40 || ews_str_begins(text.ptr, "ref:");
	return 0;
}

/* Under git's own lock on it, since somebody may write it anew. */
static int remove_ref_file(const struct ews_patient *patient, const char *ref)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(ref);
	EWS_CLEANUP(free) char *lock = ews_strfmt("%s.lock", ews_path_base(ref));
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(patient->repo->common_fd, dir);
	EWS_CLEANUP(fd) int lock_fd = -1;
	bool is_id = false;
	int rc;

	if (fd < 0)
		return fd;
	lock_fd = openat(fd, lock, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (lock_fd < 0)
		return ews_error_os("cannot lock '%s'", ref);
	rc = holds_id(&is_id, fd, ews_path_base(ref));
	if (rc == 0 && is_id)
		rc = ews_error(EWS_EBUSY, "'%s' changed meanwhile", ref);
	if (rc == 0 && unlinkat(fd, ews_path_base(ref), 0) < 0)
		rc = ews_error_os("cannot remove '%s'", ref);
	(void)unlinkat(fd, lock, 0); /* we have just made it */
	return rc;
}

/* EWS_ENOTFOUND, said of `what`, is for an object that is missing: one that the disk does not give now is none. */
static int need_object(struct ews_odb *odb, const struct ews_oid *oid, const char *what)
{
	enum ews_object_type type;
	int rc = ews_odb_still_has(odb, oid) ? 0 : ews_odb_read_header(&type, NULL, odb, oid);

	return rc == EWS_ENOTFOUND ? ews_error(EWS_ENOTFOUND, "%s is missing", what) : rc;
}

/* Has the commit all that makes it a snapshot? Its files themselves are what `snapshot verify` reads. EWS_ENOTFOUND: objects are missing. */
static int check_snapshot(bool *is_rewritten, struct ews_repo *repo, const struct ews_ref *ref)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(free) char *spec = NULL;
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid manifest;
	int rc = ews_snapshot_read(&snapshot, repo, ref);

	if (rc < 0)
		return rc;
	*is_rewritten = snapshot.is_rewritten;
	if (!*snapshot.hash || ews_oid_is_none(&snapshot.manifest))
		return ews_error(EWS_EDAMAGED, "its commit is no snapshot");
	rc = need_object(repo->odb, &snapshot.tree, "its tree");
	if (rc < 0)
		return rc;
	spec = ews_strfmt("%s:manifest", ews_oid_hex(hex, &snapshot.manifest));
	rc = ews_odb_resolve(&manifest, repo->odb, spec);
	if (rc == 0)
		rc = ews_manifest_check(repo->odb, &manifest);
	return rc < 0 && rc != EWS_EIO ? ews_error(EWS_ENOTFOUND, "its manifest is missing") : rc;
}

/* The session that a ref is of, NULL when it is of none; what is pending may have a number behind the id. The caller frees it. */
static char *session_of(const struct ews_repo *repo, const char *ref)
{
	const char *open = ews_str_after(ref, EWS_REF_SESSIONS), *pending = ews_str_after(ref, EWS_REF_PENDING);
	const char *id = open ? open : pending;
	char *session = id ? ews_strndup(id, strcspn(id, "/")) : NULL;
	char *dash = session ? strrchr(session, '-') : NULL;

	if (pending && dash && !ews_session_has_record(repo, session) && !dash[1 + strspn(dash + 1, "0123456789")])
		*dash = '\0';
	return session;
}

static bool is_snapshots(const char *ref)
{
	return ews_str_begins(ref, EWS_REF_SESSIONS) || ews_str_begins(ref, EWS_REF_SNAPSHOTS) ||
	       ews_str_begins(ref, EWS_REF_PENDING) ||
	       (ews_str_begins(ref, EWS_REF_TRASH) && !ews_str_begins(ref, EWS_REF_TRASH_ARTIFACTS) &&
		!ews_str_begins(ref, EWS_REF_TRASH_ROUNDS));
}

/* Rounds lie at the top; of what else lies there nobody knows whose it is, either. */
static bool is_rounds(const char *ref)
{
	const char *id = ews_str_after(ref, EWS_REF_ROUNDS);

	return id && !strchr(id, '/');
}

/* Objects may be gone for a while, as with what they are borrowed from: what a session needs is nothing to delete. */
static void advise_damaged(struct ews_check *check, const struct ews_patient *patient, const char *ref,
			   bool is_missing)
{
	EWS_CLEANUP(free) char *session = session_of(patient->repo, ref);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(ref);

	if (is_missing && ews_str_begins(ref, EWS_REF_PENDING)) {
		const char *rest = ews_str_after(ref, EWS_REF_PENDING);
		EWS_CLEANUP(free) char *name = ews_strndup(rest, strcspn(rest, "/"));
		EWS_CLEANUP(free) char *shown_name = ews_shell_shown(name);

		ews_check_advise(check,
				 "bring the objects back; where they are lost, git ews pending drop %s gives it up",
				 shown_name);
	} else if (session && ews_session_has_record(patient->repo, session))
		ews_check_advise(check, "bring the objects back: session '%s' needs it", session);
	else if (ews_doctor_home_is_unread(patient->home))
		ews_check_advise(check, UNREAD_FIRST);
	else if (is_missing)
		ews_check_advise(check, "bring the objects back; %sgit update-ref -d %s",
				 session ? ELSEWHERE_FIRST : "where they are lost, ", shown);
	else
		ews_check_advise(check, "%sgit log %s shows what it holds, then git update-ref -d %s",
				 session ? ELSEWHERE_FIRST : "", shown, shown);
}

/* The refs were listed a moment ago: others may have made this one since, or deleted it. */
static bool is_new(const struct ews_patient *patient, const char *name)
{
	struct ews_oid oid;
	bool is_there = ews_odb_ref_read(&oid, patient->repo->odb, name) == 0 &&
			ews_odb_still_has(patient->repo->odb, &oid);

	ews_error_clear();
	return is_there;
}

static void find_broken(struct ews_checkup *out, const struct ews_patient *patient, int dir_fd, const char *ref)
{
	struct ews_check *check;
	bool is_id = false;
	int rc = holds_id(&is_id, dir_fd, ews_path_base(ref));

	if (rc == EWS_ENOTFOUND || (rc == 0 && is_id && is_new(patient, ref))) {
		ews_error_clear();
		return;
	}
	if (rc < 0) {
		(void)ews_checkup_error(out, REFS);
		return;
	}
	check = ews_checkup_find(out, REFS, EWS_CHECK_PROBLEM, "'%s' is broken: %s", ref,
				 is_id ? "its object can't be found" : "there is no object's id in it");
	if (is_id)
		advise_damaged(check, patient, ref, true);
	else
		ews_check_mend(check, remove_ref_file, ref, "remove the file, which names nothing");
}

/* Files below refs/ews that are none of the refs that can be read: `dir` is relative to the git directory. */
static void look_at_files(struct ews_checkup *out, const struct ews_patient *patient, const struct ews_strv *known,
			  const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(patient->repo->common_fd, dir);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	ews_error_clear();
	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir, names.items[i].name);
		size_t len = strlen(names.items[i].name);
		struct stat st;

		if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			look_at_files(out, patient, known, path);
		else if (S_ISREG(st.st_mode) && !(len > 5 && !strcmp(names.items[i].name + len - 5, ".lock")) &&
			 !ews_strv_sorted_has(known, path))
			find_broken(out, patient, fd, path);
	}
}

static bool is_still(const struct ews_patient *patient, const struct ews_ref *ref)
{
	struct ews_oid oid;
	bool is_same = ews_odb_ref_read(&oid, patient->repo->odb, ref->name) == 0 && ews_oid_equal(&oid, &ref->oid);

	ews_error_clear();
	return is_same;
}

/* One whose record can't be read has it. */
static bool has_no_round(const struct ews_patient *patient, const char *ref)
{
	bool is_unknown = ews_round_is_known(patient->repo, ref) == 0;

	ews_error_clear();
	return is_unknown;
}

static int put_back(const struct ews_patient *patient, const char *ref)
{
	return ews_rewritten_put_back(patient->repo, ref);
}

static void look_at_ref(struct ews_checkup *out, const struct ews_patient *patient, const struct ews_ref *ref)
{
	EWS_CLEANUP(free) char *session = session_of(patient->repo, ref->name);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(ref->name);
	struct ews_check *check;
	bool is_rewritten = false;
	int rc = need_object(patient->repo->odb, &ref->oid, "its object");

	if (rc == 0 && is_snapshots(ref->name))
		rc = check_snapshot(&is_rewritten, patient->repo, ref);
	if (rc < 0) {
		EWS_CLEANUP(free) char *why = ews_strdup(ews_error_message());

		if (!is_still(patient, ref))
			return;
		check = ews_checkup_find(out, REFS, EWS_CHECK_PROBLEM, "'%s': %s", ref->name, why);
		if (rc != EWS_EIO)
			advise_damaged(check, patient, ref->name, rc == EWS_ENOTFOUND);
		return;
	}
	if (is_rewritten && is_still(patient, ref)) {
		check = ews_checkup_find(out, REFS, EWS_CHECK_PROBLEM,
					 "'%s': its commit was rewritten by somebody, as git filter-branch does",
					 ref->name);
		ews_check_mend(check, put_back, ref->name, "make the commit that it was, of what is named there");
	}
	if (is_rounds(ref->name) && has_no_round(patient, ref->name) && is_still(patient, ref)) {
		check = ews_checkup_find(out, REFS, EWS_CHECK_WARNING, "'%s': there is no record of such a round",
					 ref->name);
		if (ews_doctor_home_is_unread(patient->home))
			ews_check_advise(check, UNREAD_FIRST);
		else
			ews_check_advise(check,
					 ELSEWHERE_FIRST "git log %s shows what it holds, then git update-ref -d %s",
					 shown, shown);
		return;
	}
	if (session && !ews_session_has_record(patient->repo, session) && is_still(patient, ref)) {
		check = ews_checkup_find(out, REFS, EWS_CHECK_WARNING, "'%s': there is no record of session '%s'",
					 ref->name, session);
		if (ews_doctor_home_is_unread(patient->home))
			ews_check_advise(check, UNREAD_FIRST);
		else
			ews_check_advise(check,
					 ELSEWHERE_FIRST "git ews snapshot restore %s --to <dir> gets it out, then "
							 "git update-ref -d %s",
					 shown, shown);
	}
}

/* Nothing can be compared with what is pending where that which it began with names nothing. */
static void look_at_pending(struct ews_checkup *out, const struct ews_patient *patient,
			    const struct ews_strv *known, const struct ews_ref *ref)
{
	const char *rest = ews_str_after(ref->name, EWS_REF_PENDING);
	size_t len = rest ? strcspn(rest, "/") : 0;
	EWS_CLEANUP(free) char *name = ews_strndup(rest ? rest : "", len);
	EWS_CLEANUP(free) char *base = ews_strfmt(EWS_REF_PENDING "%s/base", name);
	EWS_CLEANUP(free) char *shown_name = ews_shell_shown(name);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(ref->name);
	struct ews_check *check;

	if (!rest || strcmp(rest + len, "/result") != 0 || ews_strv_sorted_has(known, base) ||
	    is_new(patient, base) || !is_still(patient, ref))
		return;
	check = ews_checkup_find(out, REFS, EWS_CHECK_PROBLEM, "'%s': what it began with can't be had: '%s'",
				 ref->name, base);
	ews_check_advise(check,
			 "git ews pending drop %s takes it to trash; git ews snapshot restore %s --to <dir> "
			 "gets it out",
			 shown_name, shown);
}

void ews_doctor_refs(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	EWS_CLEANUP(strv) struct ews_strv known = EWS_STRV_INIT;

	if (ews_odb_ref_list(&refs, patient->repo->odb, OURS "/") < 0) {
		(void)ews_checkup_error(out, REFS);
		return;
	}
	for (size_t i = 0; i < refs.n; i++) {
		ews_strv_add(&known, refs.items[i].name);
		look_at_ref(out, patient, &refs.items[i]);
	}
	ews_strv_sort(&known);
	for (size_t i = 0; i < refs.n; i++)
		look_at_pending(out, patient, &known, &refs.items[i]);
	look_at_files(out, patient, &known, OURS);
	ews_error_clear();
	if (!ews_checkup_has(out, REFS))
		ews_checkup_ok(out, REFS, "%zu below " OURS, refs.n);
}

/* ---- sessions ---- */

/* Is the file that says where a copy borrows objects gone, or of places that are? */
static bool has_lost_alternates(int workspace_fd)
{
	EWS_CLEANUP(fd) int info = ews_dir_open_beneath(workspace_fd, ".git/objects/info");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char *line, *rest;
	bool has_lost = true;

	if (info < 0 || ews_file_read(&text, info, "alternates", LINK_BYTES_MAX) < 0) {
		bool is_gone = ews_error_code() == EWS_ENOTFOUND;

		ews_error_clear();
		return is_gone;
	}
	for (line = strtok_r(text.ptr, "\n", &rest); text.len && line; line = strtok_r(NULL, "\n", &rest))
		has_lost = has_lost && *line == '/' && access(line, F_OK) < 0;
	return has_lost;
}

/* Nothing but those is not as we wrote it. */
static bool can_borrow_again(const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int fd = ews_session_open_workspace(session);
	bool can = fd >= 0 && session->method == &ews_method_snapshot && !session->state.copies_objects &&
		   ews_session_tampered(&bent, session) == 0 && bent.n == 1 &&
		   !strcmp(bent.items[0], ".git/objects/info/alternates") && has_lost_alternates(fd);

	ews_error_clear();
	return can;
}

static int borrow_again(const struct ews_patient *patient, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	struct ews_place place;
	int rc = ews_session_open(&session, patient->repo, id);

	if (rc == 0)
		rc = ews_session_lock(&session, "doctor");
	if (rc == 0 && !can_borrow_again(&session))
		rc = ews_error(EWS_EBUSY, "session '%s' changed meanwhile", id);
	if (rc < 0)
		return rc;
	fd = ews_session_open_workspace(&session);
	if (fd < 0)
		return fd;
	place = ews_session_place(&session);
	/* Its git directory is there, so no state is asked for. */
	return session.method->repair(&place, fd, NULL);
}

/* What others are about to start or to end, or have just ended, is not ill. */
static bool is_unsettled(const struct ews_session *session)
{
	bool is = ews_session_refuse_unsettled(session) < 0;

	ews_error_clear();
	return is;
}

/* The error that is set is of one that was there when they were listed. */
static void tell_unless_unsettled(struct ews_checkup *out)
{
	if (ews_error_code() != EWS_EBUSY && ews_error_code() != EWS_ENOTFOUND)
		(void)ews_checkup_error(out, SESSIONS);
	ews_error_clear();
}

static void look_at_base(struct ews_checkup *out, const struct ews_session *session)
{
	EWS_CLEANUP(free) char *name = ews_strfmt(EWS_REF_SESSIONS "%s", session->state.id);
	EWS_CLEANUP(free) char *why = NULL;
	struct ews_ref ref = { .name = name };
	struct ews_check *check;
	int rc = ews_odb_ref_read(&ref.oid, session->repo->odb, name);
	bool has_ref = rc == 0, is_rewritten; /* of a rewritten one the refs tell */

	if (rc == 0)
		rc = check_snapshot(&is_rewritten, session->repo, &ref);
	if (rc == 0)
		return;
	why = ews_strdup(ews_error_message());
	if (is_unsettled(session))
		return;
	check = ews_checkup_find(out, SESSIONS, EWS_CHECK_PROBLEM, "session '%s': its base can't be had: %s",
				 session->state.id, why);
	if (rc == EWS_EIO)
		return;
	if (has_ref && rc == EWS_ENOTFOUND)
		ews_check_advise(check, "bring the objects back: 'git ews snapshot verify' names what is missing");
	else if (ews_session_is_in_another(session))
		ews_check_advise(check, "git ews end --force %s", session->state.id);
	else
		ews_check_advise(
			check,
			"git fsck --lost-found finds commits that no ref names; the one with 'Ews-Snapshot: %s' becomes"
			" the base by git update-ref %s <commit>; where there is none, git ews end --force %s",
			session->state.base_snapshot, name, session->state.id);
	ews_error_clear();
}

/* Without it git takes the workspace for no repository. */
static bool has_head(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int fd = ews_session_open_admin(session);
	bool is_id = false, has = fd >= 0 && holds_id(&is_id, fd, "HEAD") == 0 && is_id;

	ews_error_clear();
	return has;
}

/* How what is bent of its link to git is written anew, which nobody does before it has a base. */
static void advise_link(struct ews_check *check, const struct ews_session *session, const struct ews_strv *bent)
{
	bool is_baseless = ews_session_need_base(session) < 0;

	ews_error_clear();
	if (is_baseless)
		ews_check_advise(check, "what is said of its base first");
	else if (ews_session_lacks_entry(bent))
		ews_check_advise(check, "git ews recover");
	else
		ews_check_advise(check, "git ews revert %s", session->state.id);
}

static void look_at_workspace(struct ews_checkup *out, const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *there = NULL;
	const char *id = session->state.id;
	struct ews_check *check;
	int rc = ews_session_is_gone(session);

	if (rc < 0) {
		(void)ews_checkup_error(out, SESSIONS);
		return;
	}
	if (rc) {
		if (is_unsettled(session))
			return;
		check = ews_checkup_find(out, SESSIONS, EWS_CHECK_PROBLEM, "session '%s': its %s is %s: '%s'", id,
					 session->is_lost ? "work tree" : "workspace",
					 session->is_lost ? ews_session_lost_word(session) : "gone",
					 session->state.workspace);
		there = ews_session_moved_to(session);
		if (there) {
			EWS_CLEANUP(free) char *from = ews_shell_shown(there);
			EWS_CLEANUP(free) char *to = ews_shell_shown(session->state.workspace);

			ews_check_advise(check, "git worktree move %s %s", from, to);
		} else if (session->is_out_of_reach)
			ews_check_advise(check, "bring it back, or else git ews end --force %s", id);
		else
			ews_check_advise(check, "git ews end --force %s", id);
		return;
	}
	if (ews_session_tampered(&bent, session) < 0) {
		tell_unless_unsettled(out);
		return;
	}
	if (!bent.n && !session->repo->is_plain && !has_head(session))
		ews_strv_add(&bent, "HEAD");
	if (bent.n && is_unsettled(session))
		return;
	for (size_t i = 0; i < bent.n; i++) {
		check = ews_checkup_find(out, SESSIONS, EWS_CHECK_PROBLEM,
					 "session '%s': '%s' is gone, or not as it was written", id, bent.items[i]);
		if (can_borrow_again(session))
			ews_check_mend(check, borrow_again, id, "let it borrow objects from '%s' again",
				       ews_odb_object_dir(session->repo->odb));
		else
			advise_link(check, session, &bent);
	}
}

static void look_at_session(struct ews_checkup *out, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

	if (ews_session_open(&session, repo, id) < 0) {
		tell_unless_unsettled(out);
		return;
	}
	if (session.state.state != EWS_STATE_ACTIVE)
		return;
	look_at_base(out, &session);
	look_at_workspace(out, &session);
}

/* A round without its record is none, which is for nobody else to decide. */
static void look_at_rounds(struct ews_checkup *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv damaged = EWS_STRV_INIT;

	if (ews_rounds_damaged(&damaged, repo) < 0)
		(void)ews_checkup_error(out, SESSIONS);
	for (size_t i = 0; i < damaged.n; i++) {
		const char *line = damaged.items[i];
		size_t len = strcspn(line, "\t");
		struct ews_check *check = ews_checkup_find(out, SESSIONS, EWS_CHECK_PROBLEM, "%.*s", (int)len, line);

		if (line[len + 1])
			ews_check_advise(check, "%s", line + len + 1);
	}
}

/* Is it a linked worktree that git has an entry of? Then 'registrations' says what there is to say. */
static bool is_registered(const struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *entry = ews_strfmt("worktrees/%s/gitdir", id);

	return faccessat(repo->common_fd, entry, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void look_at_stray(struct ews_checkup *out, const struct ews_patient *patient, int dir_fd, const char *id)
{
	const struct ews_repo *repo = patient->repo;
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/" EWS_WORKING_WORKSPACES "/%s", repo->dir, id);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(path);
	struct ews_check *check;
	struct stat st;

	/* The record is made before the workspace, and goes after it. */
	if (ews_session_has_record(repo, id) || is_registered(repo, id) ||
	    fstatat(dir_fd, id, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return;
	check = ews_checkup_find(out, SESSIONS, EWS_CHECK_WARNING,
				 "'%s' is a workspace, and there is no record of session '%s'", path, id);
	if (ews_doctor_home_is_unread(patient->home))
		ews_check_advise(check, UNREAD_FIRST);
	else
		ews_check_advise(check,
				 "bring back '%s/" EWS_WORKING_SESSIONS
				 "/%s'; where that is lost, look what is in '%s', then rm -rf %s",
				 repo->dir, id, path, shown);
}

/* Workspaces in home that no record leads to. Of one that `start --in` put elsewhere nobody knows the path then. */
static void look_at_strays(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(patient->repo->dir_fd, EWS_WORKING_WORKSPACES);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? fd : ews_dir_names_read(&names, fd);

	if (n == EWS_ENOTFOUND)
		ews_error_clear();
	else if (n < 0)
		(void)ews_checkup_error(out, SESSIONS);
	for (ssize_t i = 0; i < n; i++)
		look_at_stray(out, patient, fd, names.items[i].name);
}

static void look_at_sessions(struct ews_checkup *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv interrupted = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv elsewhere = EWS_STRV_INIT;
	struct ews_check *check;

	if (!repo->dir) {
		if (!ews_checkup_has(out, SESSIONS))
			ews_checkup_ok(out, SESSIONS, "this project has none");
		return;
	}
	if (ews_session_ids(&ids, repo) < 0 || ews_recover_list(&interrupted, NULL, repo) < 0 ||
	    ews_recover_elsewhere(&elsewhere, repo) < 0) {
		(void)ews_checkup_error(out, SESSIONS);
		return;
	}
	for (size_t i = 0; i < interrupted.n; i++) {
		const char *id = interrupted.items[i];

		check = ews_checkup_find(out, SESSIONS, EWS_CHECK_WARNING, "%s%s%s interrupted",
					 *id ? "session '" : "", *id ? id : "a verb in the project was",
					 *id ? "' was" : "");
		ews_check_advise(check, "git ews recover %s", *id ? id : "--all");
	}
	for (size_t i = 0; i < elsewhere.n; i++)
		(void)ews_checkup_find(out, SESSIONS, EWS_CHECK_WARNING, "%s", elsewhere.items[i]);
	for (size_t i = 0; i < ids.n; i++)
		if (!ews_strv_has(&interrupted, ids.items[i]))
			look_at_session(out, repo, ids.items[i]);
	look_at_rounds(out, repo);
	if (!ews_checkup_has(out, SESSIONS))
		ews_checkup_ok(out, SESSIONS, "%zu, each with its base and its workspace", ids.n);
}

void ews_doctor_sessions(struct ews_checkup *out, const struct ews_patient *patient)
{
	struct ews_repo *repo = patient->repo;
	EWS_CLEANUP(free) char *top = patient->top ? ews_strdup(patient->top) : NULL;
	char *project = repo->project;

	/* A session in place is of the work tree, also while core.bare hides that, or did when the repository was opened. */
	if (top)
		repo->project = top;
	if (repo->dir)
		look_at_strays(out, patient);
	look_at_sessions(out, repo);
	repo->project = project;
}

/* ---- steps ---- */

/* The record itself stays, under another name; what its step took away or kept is where it was. */
static int set_step_aside(const struct ews_patient *patient, const char *id)
{
	return ews_step_set_aside(patient->repo->dir_fd, id);
}

void ews_doctor_steps(struct ews_checkup *out, const struct ews_patient *patient)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;

	if (ews_steps_list(&steps, patient->repo, NULL) < 0) {
		(void)ews_checkup_error(out, STEPS);
		return;
	}
	for (size_t i = 0; i < steps.damaged.n; i++) {
		const char *id = steps.damaged.items[i];
		struct ews_check *check =
			ews_checkup_find(out, STEPS, EWS_CHECK_PROBLEM,
					 "the record of step '%s' makes no sense: undo can't pass it", id);

		ews_check_mend(check, set_step_aside, id,
			       "call it '%s/" EWS_WORKING_UNDO "/%s.json.damaged'; what the step kept stays",
			       patient->repo->dir, id);
	}
	if (!ews_checkup_has(out, STEPS))
		ews_checkup_ok(out, STEPS, "%zu that undo knows of", steps.n);
}
