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

static bool is_there(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *ref = ref_of(name, "result");
	struct ews_oid oid;
	bool is = ews_odb_ref_read(&oid, repo->odb, ref) == 0;

	ews_error_clear();
	return is;
}

/* One that can't be read keeps none of the others from being decided about; one that was decided meanwhile is none. */
static void add_damaged(struct ews_pendings *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *why = ews_strdup(ews_error_message());

	if (is_there(repo, name))
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
	ews_error_hint("'git ews doctor' says what can be done about it");
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

void ews_pending_names(struct ews_strv *out, struct ews_repo *repo)
{
	if (list_names(out, repo) < 0)
		ews_error_clear(); /* what can't be listed is read by nobody */
}

char *ews_pending_name_among(const struct ews_strv *names, struct ews_repo *repo, const char *id, const char *base)
{
	for (size_t i = 0; i < names->n; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot began = EWS_SNAPSHOT_INIT;
		bool is = is_name_of(names->items[i], id) &&
			  read_side(&began, repo, names->items[i], "base") == 0 && !strcmp(began.id, base);

		ews_error_clear();
		if (is)
			return ews_strdup(names->items[i]);
	}
	return NULL;
}

char *ews_pending_name(struct ews_repo *repo, const char *id, const char *base)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

	ews_pending_names(&names, repo);
	return ews_pending_name_among(&names, repo, id, base);
}

char *ews_pending_next_name(struct ews_repo *repo, const char *id)
{
	for (unsigned n = 1;; n++) {
		EWS_CLEANUP(free) char *name = n == 1 ? ews_strdup(id) : ews_strfmt("%s-%u", id, n);

		if (!is_there(repo, name))
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

/* Does the session still bear its id that began with `base`? Another one's steps are none of its own. */
static bool is_last(struct ews_repo *repo, const struct ews_snapshot *base)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	bool is = ews_session_open(&session, repo, base->session) == 0 &&
		  !strcmp(session.state.base_snapshot, base->id);

	ews_error_clear();
	return is;
}

static int plan_drop(struct ews_step *step, struct ews_repo *repo, const struct ews_pending *pending)
{
	EWS_CLEANUP(free) char *base = ref_of(pending->name, "base");
	EWS_CLEANUP(free) char *result = ref_of(pending->name, "result");
	EWS_CLEANUP(free) char *old_base = ews_strfmt(EWS_REF_TRASH "%s", pending->base.id);
	EWS_CLEANUP(free) char *old_result = ews_strfmt(EWS_REF_TRASH "%s", pending->result.id);
	bool is_its_id = !strcmp(pending->name, pending->base.session) && is_last(repo, &pending->base);
	int rc = ews_step_init(step, repo->dir_fd, "drop", is_its_id ? pending->name : NULL);

	if (rc == 0)
		rc = plan_move(step, repo, result, old_result);
	if (rc == 0)
		rc = plan_move(step, repo, base, old_base);
	return rc;
}

int ews_pending_drop(struct ews_repo *repo, const struct ews_pending *pending)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_need_dir(repo, true);

	if (rc == 0)
		rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "pending", EWS_LOCK_PROJECT_WAIT_MS);
	if (rc == 0)
		rc = plan_drop(&step, repo, pending);
	if (rc == 0)
		rc = ews_drop(repo, &step, ews_snapshot_move_all);
	return rc < 0 ? ews_error_wrap("cannot decide about session '%s'", pending->name) : 0;
}
