/*
 * Pending results: see pending.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/lock.h"
#include "work/drop.h"
#include "work/session_open.h"
#include "work/step_refs.h"

#define DAMAGED_HINT "'git ews doctor' says what can be done about it"

static void release_one(struct ews_pending *pending)
{
	free(pending->name);
	ews_snapshot_release(&pending->base);
	ews_snapshot_release(&pending->result);
	*pending = (struct ews_pending){ 0 };
}

EWS_CLEANUP_DEFINE(pending, struct ews_pending, release_one)

void ews_pendings_release(struct ews_pendings *list)
{
	for (size_t i = 0; i < list->n; i++)
		release_one(&list->items[i]);
	free(list->items);
	ews_strv_release(&list->damaged);
	*list = (struct ews_pendings)EWS_PENDINGS_INIT;
}

static int cmp_by_time(const void *a, const void *b)
{
	const struct ews_pending *x = a, *y = b;

	if (x->result.created_s != y->result.created_s)
		return x->result.created_s < y->result.created_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

static char *ref_of(const char *id, const char *which)
{
	return ews_strfmt(EWS_REF_PENDING "%s/%s", id, which);
}

static int read_side(struct ews_snapshot *out, struct ews_repo *repo, const char *id, const char *which)
{
	EWS_CLEANUP(free) char *name = ref_of(id, which);
	struct ews_ref ref = { .name = name, .oid = EWS_OID_NONE };
	int rc = ews_odb_ref_read(&ref.oid, repo->odb, name);

	if (rc == 0)
		rc = ews_snapshot_read(out, repo, &ref);
	return rc < 0 ? ews_error_wrap("the pending result of session '%s'", id) : 0;
}

/* Its result makes it one: a base alone is what a killed step has not come to yet. */
static bool is_result(const char *ref, char **id)
{
	const char *rest = ref + strlen(EWS_REF_PENDING);
	const char *slash = strchr(rest, '/');

	if (!slash || strcmp(slash, "/result") != 0)
		return false;
	*id = ews_strndup(rest, (size_t)(slash - rest));
	return true;
}

/* One that can't be looked at just now has not been decided about. */
static bool is_decided(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *ref = ref_of(name, "result");

	return ews_odb_ref_is_missing(repo->odb, ref);
}

/* One that can't be read keeps none of the others from being decided about; one that was decided meanwhile is none. */
static void add_damaged(struct ews_pendings *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *why = ews_strdup(ews_error_message());

	if (!is_decided(repo, name))
		ews_path_line_add(&out->damaged, name, why);
	ews_error_clear();
}

int ews_pending_list(struct ews_pendings *out, struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, repo->odb, EWS_REF_PENDING);

	for (size_t i = 0; i < refs.n && rc == 0; i++) {
		EWS_CLEANUP(pending) struct ews_pending pending = { 0 };

		if (!is_result(refs.items[i].name, &pending.name))
			continue;
		if (read_side(&pending.result, repo, pending.name, "result") < 0 ||
		    read_side(&pending.base, repo, pending.name, "base") < 0) {
			add_damaged(out, repo, pending.name);
			continue;
		}
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = pending;
		pending = (struct ews_pending){ 0 };
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_by_time);
	return rc;
}

static int fail_damaged(const char *line)
{
	size_t len = strcspn(line, "\t");

	ews_error(EWS_EDAMAGED, "%s", line + len + (line[len] == '\t'));
	ews_error_hint(DAMAGED_HINT);
	return EWS_EDAMAGED;
}

int ews_pending_find(const struct ews_pending **out, const struct ews_pendings *list, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < list->damaged.n; i++)
		if (ews_str_begins(list->damaged.items[i], name) && list->damaged.items[i][strlen(name)] == '\t')
			return fail_damaged(list->damaged.items[i]);

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_pending *pending = &list->items[i];

		if (!strcmp(pending->name, name)) {
			*out = pending;
			return 0;
		}
		if (!*name || !ews_str_begins(pending->name, name))
			continue;
		*out = pending;
		n++;
	}
	if (n == 1)
		return 0;
	if (n)
		ews_error(EWS_EUSAGE, "'%.80s' may mean several pending sessions", name);
	else
		ews_error(EWS_ENOTFOUND, "no pending session '%.80s'", name);
	ews_error_hint("'git ews pending list' shows them");
	return n ? EWS_EUSAGE : EWS_ENOTFOUND;
}

/* Is it a name that session `id` may have had here: the id, or that with a number? */
static bool is_name_of(const char *name, const char *id)
{
	size_t len = strlen(id);

	return !strncmp(name, id, len) && (!name[len] || (name[len] == '-' && name[len + 1] &&
							  !name[len + 1 + strspn(name + len + 1, "0123456789")]));
}

static int list_names(struct ews_strv *out, struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, repo->odb, EWS_REF_PENDING);

	for (size_t i = 0; i < refs.n; i++) {
		EWS_CLEANUP(free) char *name = NULL;

		if (is_result(refs.items[i].name, &name))
			ews_strv_add(out, name);
	}
	return rc;
}

int ews_pending_names(struct ews_strv *out, struct ews_repo *repo)
{
	int rc = list_names(out, repo);

	return rc < 0 ? ews_error_wrap("cannot list what is pending") : 0;
}

/* The error that is set is that of `name`, which may be the one that is looked for, unless it was decided about. The first is kept. */
static void note_unread(struct ews_error_saved *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(error_saved) struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_hint(DAMAGED_HINT);
	ews_error_save(&why);
	if (out->code != EWS_OK || is_decided(repo, name))
		return;
	*out = why;
	why = (struct ews_error_saved)EWS_ERROR_SAVED_INIT;
}

int ews_pending_name_among(char **out, const struct ews_strv *names, struct ews_repo *repo, const char *id,
			   const char *base)
{
	EWS_CLEANUP(error_saved) struct ews_error_saved unread = EWS_ERROR_SAVED_INIT;

	*out = NULL;
	for (size_t i = 0; i < names->n; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot began = EWS_SNAPSHOT_INIT;

		if (!is_name_of(names->items[i], id))
			continue;
		if (read_side(&began, repo, names->items[i], "base") < 0) {
			note_unread(&unread, repo, names->items[i]);
		} else if (!strcmp(began.id, base)) {
			*out = ews_strdup(names->items[i]);
			return 0;
		}
	}
	return unread.code == EWS_OK ? 0 : ews_error_restore(&unread);
}

int ews_pending_name(char **out, struct ews_repo *repo, const char *id, const char *base)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = ews_pending_names(&names, repo);

	*out = NULL;
	return rc < 0 ? rc : ews_pending_name_among(out, &names, repo, id, base);
}

void ews_pending_hint(const struct ews_session *session)
{
	EWS_CLEANUP(error_saved) struct ews_error_saved failure = EWS_ERROR_SAVED_INIT;
	EWS_CLEANUP(free) char *name = NULL;
	EWS_CLEANUP(free) char *why = NULL;
	const char *id = session->state.id;

	if (session->state.state != EWS_STATE_ENDED)
		return;
	ews_error_save(&failure);
	if (ews_pending_name(&name, session->repo, id, session->state.base_snapshot) < 0)
		why = ews_strdup(ews_error_message());
	(void)ews_error_restore(&failure);
	if (why)
		ews_error_hint("what it came to may be pending, but: %s", why);
	else if (name)
		ews_error_hint("'git ews pending show %s' shows what it came to; while trash holds its workspace, 'git ews "
			       "undo %s' brings that back",
			       name, id);
}

char *ews_pending_next_name(struct ews_repo *repo, const char *id)
{
	for (unsigned n = 1;; n++) {
		EWS_CLEANUP(free) char *name = n == 1 ? ews_strdup(id) : ews_strfmt("%s-%u", id, n);
		EWS_CLEANUP(free) char *ref = ref_of(name, "result");
		struct ews_oid oid;
		bool is_taken = ews_odb_ref_read(&oid, repo->odb, ref) == 0;

		ews_error_clear(); /* where that can't be looked at, it can't be written either */
		if (!is_taken)
			return ews_steal(&name);
	}
}

int ews_pending_has(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = list_names(&names, repo);

	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = is_name_of(names.items[i], id);
	return rc;
}

static int plan_move(struct ews_step *step, struct ews_repo *repo, const char *from, const char *to)
{
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid oid;
	int rc = ews_odb_ref_read(&oid, repo->odb, from);

	if (rc == 0)
		ews_strv_addf(&step->refs, "%s %s %s", from, to, ews_oid_hex(hex, &oid));
	return rc;
}

int ews_pending_plan(struct ews_step *step, struct ews_repo *repo, const char *name, const char *id, const char *kept)
{
	EWS_CLEANUP(free) char *base = ews_strfmt(EWS_REF_SESSIONS "%s", id);
	EWS_CLEANUP(free) char *result = ews_strfmt(EWS_REF_TRASH "%s", kept);
	EWS_CLEANUP(free) char *new_base = ref_of(name, "base");
	EWS_CLEANUP(free) char *new_result = ref_of(name, "result");
	int rc = plan_move(step, repo, base, new_base);

	return rc < 0 ? rc : plan_move(step, repo, result, new_result);
}

bool ews_pending_is_step(const struct ews_step *step)
{
	for (size_t i = 0; i < step->refs.n; i++)
		if (strstr(step->refs.items[i], " " EWS_REF_PENDING))
			return true;
	return false;
}

bool ews_pending_is_drop(const struct ews_step *step, const char *words)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_PENDING "%.*s/", (int)strcspn(words, " "), words);

	return !strcmp(step->verb, "drop") && step->refs.n && ews_str_begins(step->refs.items[0], ref);
}

/* Does the session still bear its id that began with `base`? Another one's steps are none of its own. */
static int is_last(struct ews_repo *repo, const struct ews_snapshot *base)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = ews_session_open(&session, repo, base->session);

	return rc == 0 ? !strcmp(session.state.base_snapshot, base->id) : ews_error_if_passing(rc);
}

/* A side that can't be read is moved as well; only what can't be read just now keeps it from that. */
static int read_if_sound(struct ews_snapshot *out, struct ews_repo *repo, const char *name, const char *which)
{
	int rc = read_side(out, repo, name, which);

	if (rc == 0 || rc == EWS_EIO)
		return rc;
	ews_error_clear();
	return 0;
}

/* What is dropped: a step, and what no trash can have. */
struct dropping {
	struct ews_step step;
	struct ews_strv lost; /* "<ref> <id>": the commit is missing */
	bool has_result; /* that is none of these */
};

static void release_dropping(struct dropping *dropping)
{
	ews_step_release(&dropping->step);
	ews_strv_release(&dropping->lost);
}

EWS_CLEANUP_DEFINE(dropping, struct dropping, release_dropping)

/* Trash has it under the id of the snapshot or, where that can't be read, of its commit. Returns 1, or 0 where that is missing. */
static int plan_side(struct dropping *out, struct ews_repo *repo, const char *name, const char *which,
		     const char *snapshot)
{
	EWS_CLEANUP(free) char *ref = ref_of(name, which);
	enum ews_object_type type;
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid oid;
	int rc = ews_odb_ref_read(&oid, repo->odb, ref);

	if (rc < 0)
		return rc;
	ews_oid_hex(hex, &oid);
	rc = ews_odb_still_has(repo->odb, &oid) ? 0 : ews_odb_read_header(&type, NULL, repo->odb, &oid);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		ews_strv_addf(&out->lost, "%s %s", ref, hex);
		return 0;
	}
	if (rc < 0)
		return rc;
	ews_strv_addf(&out->step.refs, "%s " EWS_REF_TRASH "%s %s", ref, snapshot ? snapshot : hex, hex);
	return 1;
}

/* `result` and `base` are the ids of the snapshots, NULL where one can't be read. */
static int plan_sides(struct dropping *out, struct ews_repo *repo, const char *name, const char *result,
		      const char *base)
{
	int rc = plan_side(out, repo, name, "result", result);

	if (rc < 0)
		return rc;
	out->has_result = rc;
	rc = plan_side(out, repo, name, "base", base);
	/* One that is gone, or broken, names nothing that could move. */
	if (rc == EWS_ENOTFOUND || rc == EWS_EGIT) {
		ews_error_clear();
		rc = 0;
	}
	return rc < 0 ? rc : 0;
}

static int plan_drop(struct dropping *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot result = EWS_SNAPSHOT_INIT;
	int rc = read_if_sound(&base, repo, name, "base");

	if (rc == 0)
		rc = read_if_sound(&result, repo, name, "result");
	if (rc == 0)
		rc = base.id && !strcmp(name, base.session) ? is_last(repo, &base) : 0;
	if (rc < 0)
		return rc;
	rc = ews_step_init(&out->step, repo->dir_fd, "drop", rc ? name : NULL);
	return rc < 0 ? rc : plan_sides(out, repo, name, result.id, base.id);
}

/* The result, which makes it one, is the first, and goes last. */
static int drop_lost(struct ews_strv *out, struct ews_repo *repo, const struct ews_strv *lost, bool dry_run)
{
	int rc = 0;

	for (size_t i = lost->n; i-- > 0 && rc == 0;) {
		const char *hex = strchr(lost->items[i], ' ') + 1;
		EWS_CLEANUP(free) char *ref = ews_strndup(lost->items[i], (size_t)(hex - 1 - lost->items[i]));
		EWS_CLEANUP(free) char *why = ews_strfmt("its commit %s is missing", hex);
		struct ews_oid oid;

		rc = ews_oid_parse(&oid, hex);
		if (rc == 0 && !dry_run)
			rc = ews_odb_ref_swap(repo->odb, ref, &oid, NULL);
		if (rc == 0)
			ews_path_line_add(out, ref, why);
	}
	return rc;
}

/* Without a result there is nothing that an undo could make pending again: what it began with goes to trash without a step. */
static int drop_all(struct ews_strv *lost, struct ews_repo *repo, struct dropping *dropping)
{
	int rc = dropping->has_result ? ews_drop(repo, &dropping->step, ews_step_refs_move)
				      : ews_step_refs_move(repo, &dropping->step, false);

	if (rc == 0)
		rc = drop_lost(lost, repo, &dropping->lost, false);
	return rc < 0 ? rc : dropping->has_result;
}

/* Under the project's lock. */
static int drop_now(struct ews_strv *lost, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(dropping) struct dropping dropping = { EWS_STEP_INIT, EWS_STRV_INIT, false };
	int rc = plan_drop(&dropping, repo, name);

	return rc < 0 ? rc : drop_all(lost, repo, &dropping);
}

int ews_pending_settle(struct ews_repo *repo, const char *name, const char *result)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot now = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	int rc = read_side(&now, repo, name, "result");

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = strcmp(now.id, result) ? 0 : drop_now(&lost, repo, name);
	return rc;
}

int ews_pending_drop(struct ews_strv *lost, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_make_dir(repo);

	if (rc == 0)
		rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "pending", EWS_LOCK_PROJECT_WAIT_MS);
	if (rc == 0)
		rc = drop_now(lost, repo, name);
	return rc < 0 ? ews_error_wrap("cannot decide about session '%s'", name) : rc;
}

/* Are they of the same files, and of one HEAD? */
static bool is_same_work(const struct ews_snapshot *a, const struct ews_snapshot *b)
{
	return *a->hash && !strcmp(a->hash, b->hash) && ews_oid_equal(&a->head, &b->head);
}

/*
 * Is what is pending what the step, whose line of it is `dropped`, had dropped? An end that was done again has kept it anew. Returns 1 or 0,
 * which it is as well where nobody can tell any more.
 */
static int is_as_dropped(struct ews_repo *repo, const char *dropped, const struct ews_snapshot *result)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot then = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(free) char *name = ews_strndup(dropped, strcspn(dropped, " "));
	const char *hex = strrchr(dropped, ' ');
	struct ews_ref ref = { .name = name, .oid = EWS_OID_NONE };
	int rc = hex ? ews_oid_parse(&ref.oid, hex + 1) : EWS_EDAMAGED;

	if (rc == 0)
		rc = ews_snapshot_read(&then, repo, &ref);
	if (rc < 0)
		return ews_error_if_passing(rc);
	return result->id && is_same_work(&then, result);
}

static int refuse_another(const char *name)
{
	ews_error(EWS_ESTALE, "what is pending as '%s' is not what was dropped", name);
	ews_error_hint("'git ews pending show %s' shows it, 'git ews pending drop %s' drops it", name, name);
	return EWS_ESTALE;
}

int ews_pending_drop_anew(struct ews_step *step, struct ews_repo *repo)
{
	EWS_CLEANUP(dropping) struct dropping now = { EWS_STEP_INIT, EWS_STRV_INIT, false };
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot result = EWS_SNAPSHOT_INIT;
	const char *ref = step->refs.n ? step->refs.items[0] : "";
	EWS_CLEANUP(free) char *name = NULL;
	int rc;

	if (!ews_str_begins(ref, EWS_REF_PENDING))
		return 0;
	ref += strlen(EWS_REF_PENDING);
	name = ews_strndup(ref, strcspn(ref, "/"));
	rc = read_if_sound(&base, repo, name, "base");
	if (rc == 0)
		rc = read_if_sound(&result, repo, name, "result");
	if (rc == 0)
		rc = plan_sides(&now, repo, name, result.id, base.id);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear(); /* nothing is pending under that name */
		return 0;
	}
	if (rc < 0 || now.step.refs.n != 2 || !ews_strv_has(&step->refs, now.step.refs.items[1]) ||
	    ews_strv_has(&step->refs, now.step.refs.items[0]))
		return rc;
	rc = is_as_dropped(repo, step->refs.items[0], &result);
	if (rc <= 0)
		return rc < 0 ? rc : refuse_another(name);
	ews_strv_clear(&step->refs);
	ews_strv_add_array(&step->refs, now.step.refs.items);
	return 0;
}

int ews_pending_drop_check(struct ews_strv *lost, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(dropping) struct dropping dropping = { EWS_STEP_INIT, EWS_STRV_INIT, false };
	int rc = plan_sides(&dropping, repo, name, NULL, NULL);

	if (rc == 0)
		rc = drop_lost(lost, repo, &dropping.lost, true);
	return rc < 0 ? ews_error_wrap("cannot decide about session '%s'", name) : 0;
}
