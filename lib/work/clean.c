/*
 * Cleaning: see clean.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/clean.h"

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
#include "store/home.h"
#include "store/litter.h"
#include "work/base_cache.h"
#include "work/end.h"
#include "work/inuse.h"
#include "work/recover.h"
#include "work/registration.h"
#include "work/round_find.h"
#include "work/session.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/session_project.h"

#define STAMP_FILE "cleaned" /* its time is that of the last look */
#define LOOK_S (60 * 60)

void ews_clean_result_release(struct ews_clean_result *result)
{
	for (size_t i = 0; i < result->n; i++) {
		free(result->ended[i].session);
		free(result->ended[i].what);
	}
	free(result->ended);
	ews_strv_release(&result->kept);
	ews_trash_result_release(&result->trash);
	*result = (struct ews_clean_result)EWS_CLEAN_RESULT_INIT;
}

void ews_clean_add_ended(struct ews_clean_result *out, const char *session, uint64_t size_bytes, const char *what)
{
	EWS_GROW(out->ended, out->n, out->cap);
	out->ended[out->n++] = (struct ews_clean_end){ ews_strdup(session), ews_strdup(what), size_bytes };
}

struct sweep {
	struct ews_clean_result *out;
	struct ews_repo *repo;
	const struct ews_clean_opts *opts;
};

static int keep(struct sweep *sweep, const char *id, const char *why)
{
	ews_strv_addf(&sweep->out->kept, "%s\t%s", id, why);
	return 0;
}

/* What can't be done about one session must not keep us from the others. */
static int keep_for_error(struct sweep *sweep, const char *id)
{
	int rc = keep(sweep, id, ews_error_message());

	ews_error_clear();
	return rc;
}

/* Each verb writes something into the session's directory; whoever looks at the base, and be it to clean, may keep it there. */
int64_t ews_clean_idle_s(int repo_fd, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo_fd, rel);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? fd : ews_dir_names_read(&names, fd);
	bool is_unseen = n < 0 && ews_errno_is_passing(ews_error_errno());
	int64_t last_s = 0;
	struct stat st;

	for (ssize_t i = 0; i < n; i++) {
		if (!strcmp(names.items[i].name, EWS_BASE_CACHE_FILE))
			continue;
		if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			is_unseen = is_unseen || ews_errno_is_passing(errno);
		else if (st.st_mtim.tv_sec > last_s)
			last_s = st.st_mtim.tv_sec;
	}
	if (n <= 0 && fd >= 0 && fstat(fd, &st) == 0)
		last_s = st.st_mtim.tv_sec;
	ews_error_clear();
	return is_unseen ? 0 : ews_clock_now() - last_s;
}

/* A start that was killed has made nothing that anybody could want. */
static bool is_half_made(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s/state.json", id);
	bool half = faccessat(repo->dir_fd, rel, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && !ews_errno_is_passing(errno);

	if (!half && ews_session_open(&session, repo, id) == 0)
		half = session.state.state == EWS_STATE_STARTING;
	ews_error_clear();
	return half;
}

static struct ews_recover_opts best(const struct ews_clean_opts *opts)
{
	return (struct ews_recover_opts){ .choice = EWS_RECOVER_BEST,
					  .progress = opts->progress,
					  .payload = opts->payload };
}

static int recover(struct sweep *sweep, const char *id)
{
	EWS_CLEANUP(strv) struct ews_strv done = EWS_STRV_INIT;
	const struct ews_recover_opts opts = best(sweep->opts);

	if (sweep->opts->dry_run) {
		ews_clean_add_ended(sweep->out, id, 0, "what was interrupted is finished or taken back");
		return 0;
	}
	if (ews_recover(&done, sweep->repo, id, &opts) < 0)
		return keep_for_error(sweep, id);
	for (size_t i = 0; i < done.n; i++)
		ews_clean_add_ended(sweep->out, id, 0, done.items[i]);
	return 0;
}

static void add_ended(struct sweep *sweep, const struct ews_session *session, bool is_orphaned, bool differs,
		      uint64_t size_bytes)
{
	const char *id = session->state.id;
	EWS_CLEANUP(free)
	char *what = ews_strfmt("%s%s", is_orphaned ? "its owner died; " : "", differs ? "changed" : "unchanged");

	EWS_CLEANUP(free) char *lost = ews_strfmt("its work tree is %s", ews_session_lost_word(session));

	ews_clean_add_ended(sweep->out, id, size_bytes, session->is_lost ? lost : what);
}

/* What goes to trash with it. */
static uint64_t measure(const struct ews_session *session)
{
	EWS_CLEANUP(fd) int parent = session->method->is_project ? -1 : ews_session_open_parent(session);
	struct ews_tree_size size = { 0, 0 };

	if (parent >= 0 && ews_file_measure_tree(&size, parent, session->state.id) < 0)
		size.bytes = 0; /* a number for people */
	ews_error_clear();
	return size.bytes;
}

/* End it as `end` does, which keeps what differs, and refuses while a process uses the workspace. */
static int end(struct sweep *sweep, struct ews_session *session)
{
	EWS_CLEANUP(end_result) struct ews_end_result look = EWS_END_RESULT_INIT;
	EWS_CLEANUP(end_result) struct ews_end_result result = EWS_END_RESULT_INIT;
	const char *id = session->state.id;
	const struct ews_farewell_opts artifacts = { .render = sweep->opts->render };
	bool is_orphaned = ews_session_is_orphaned(session);
	/* There may be many, and the next clean comes to this one again. */
	struct ews_end_opts opts = { .at_once = true,
				     .without_base = sweep->opts->force,
				     .without_tree = sweep->opts->force,
				     .progress = sweep->opts->progress,
				     .payload = sweep->opts->payload };
	uint64_t size_bytes = measure(session);
	int rc;

	if (session->is_out_of_reach && !sweep->opts->force)
		return keep(sweep, id, "its work tree is out of reach; --force ends it, and leaves the files");
	opts.dry_run = true;
	rc = ews_end(&look, session, &opts);
	opts.dry_run = false;
	if (rc < 0)
		return keep_for_error(sweep, id);
	if (look.had_ended)
		return 0;
	if (look.differs && !sweep->opts->force)
		return keep(sweep, id, "changed; --force ends it, and keeps the changes in trash");
	if (sweep->opts->dry_run) {
		add_ended(sweep, session, is_orphaned, look.differs, size_bytes);
		return 0;
	}
	rc = ews_farewell_is_wanted(session->repo);
	opts.artifacts = rc > 0 ? &artifacts : NULL;
	if (rc < 0 || ews_end(&result, session, &opts) < 0)
		return keep_for_error(sweep, id);
	if (ews_end_is_blocked(&result))
		return keep(sweep, id, "the project could not be put back; see 'git ews revert'");
	add_ended(sweep, session, is_orphaned, result.differs, size_bytes);
	return 0;
}

/* One session that is named, or that nobody seems to want. */
static int clean_one(struct sweep *sweep, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc;

	if (is_half_made(sweep->repo, id))
		return recover(sweep, id);
	if (ews_round_is_session(sweep->repo, id))
		return keep(sweep, id, "a round that goes on; 'git ews round end --agent <agent>' ends it");
	if (ews_session_open(&session, sweep->repo, id) < 0)
		return keep_for_error(sweep, id);
	if (ews_session_is_interrupted(&session) && !ews_session_is_orphaned(&session)) {
		if (!sweep->opts->force)
			return keep(sweep, id, "interrupted; 'git ews recover' looks at it, --force ends it");
		rc = recover(sweep, id);
		if (rc < 0 || sweep->opts->dry_run || ews_session_is_interrupted(&session))
			return rc;
	}
	return end(sweep, &session);
}

static int choose(struct ews_strv *out, struct sweep *sweep)
{
	const struct ews_clean_opts *opts = sweep->opts;
	EWS_CLEANUP(strv) struct ews_strv interrupted = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc;

	if (opts->ids) {
		for (const char *const *id = opts->ids; *id; id++)
			ews_strv_add(out, *id);
		return 0;
	}
	rc = ews_recover_list(&interrupted, NULL, sweep->repo);
	if (rc == 0)
		rc = ews_session_ids(&ids, sweep->repo);
	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		bool is_interrupted = ews_strv_has(&interrupted, ids.items[i]);
		int64_t want_s = is_interrupted ? opts->older_than_s : opts->idle_s;

		if ((is_interrupted || opts->idle) && ews_clean_idle_s(sweep->repo->dir_fd, ids.items[i]) >= want_s)
			ews_strv_add(out, ids.items[i]);
	}
	return rc;
}

static void take_trash(struct ews_trash_result *out, struct ews_trash_result *part)
{
	for (size_t i = 0; i < part->n; i++) {
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = part->items[i];
	}
	part->n = 0;
	ews_strv_add_array(&out->kept, part->kept.items);
	out->object_bytes += part->object_bytes;
}

static int empty_trash(struct sweep *sweep, const char *session)
{
	const struct ews_clean_opts *opts = sweep->opts;
	const struct ews_trash_opts trash = {
		.session = session,
		.now = opts->now,
		.older_than_s = opts->older_than_s,
		.dry_run = opts->dry_run,
		.progress = opts->progress,
		.payload = opts->payload,
	};
	EWS_CLEANUP(trash_result) struct ews_trash_result part = EWS_TRASH_RESULT_INIT;
	int rc = ews_trash_clean(&part, sweep->repo, &trash);

	if (rc == 0)
		take_trash(&sweep->out->trash, &part);
	return rc;
}

/* Of sessions that are named only their own trash goes, and only when that is asked for. */
static int empty_all(struct sweep *sweep)
{
	const struct ews_clean_opts *opts = sweep->opts;
	int rc = 0;

	if (!opts->ids)
		return empty_trash(sweep, NULL);
	for (const char *const *id = opts->ids; *id && rc == 0 && opts->now; id++)
		rc = empty_trash(sweep, *id);
	return rc;
}

static bool has_let_go(const struct ews_trash_result *trash)
{
	for (size_t i = 0; i < trash->n; i++)
		if (trash->items[i].kind == EWS_TRASH_SNAPSHOT)
			return true;
	return false;
}

static void give(struct ews_clean_result *out, struct ews_clean_result *result)
{
	*out = *result;
	*result = (struct ews_clean_result)EWS_CLEAN_RESULT_INIT;
}

static bool may_go(void *payload, const char *path, uint64_t size_bytes, int64_t age_s)
{
	struct sweep *sweep = payload;
	struct ews_trash_result *trash = &sweep->out->trash;
	EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;

	if (ews_inuse_list(&users, path) < 0) {
		ews_error_clear(); /* another time */
		return false;
	}
	if (users.n)
		return false;
	EWS_GROW(trash->items, trash->n, trash->cap);
	trash->items[trash->n++] = (struct ews_trash_item){ .kind = EWS_TRASH_TEMPORARY,
							    .name = ews_strdup(path),
							    .verb = ews_strdup(""),
							    .session = ews_strdup(""),
							    .size_bytes = size_bytes,
							    .age_s = age_s };
	return !sweep->opts->dry_run;
}

static void add_gone(void *payload, const char *id, uint64_t size_bytes, const char *what)
{
	struct sweep *sweep = payload;

	ews_clean_add_ended(sweep->out, id, size_bytes, what);
}

static void add_stays(void *payload, const char *id, const char *why)
{
	keep(payload, id, why);
}

/* What is in the repository and no session's: registrations without one, and what killed calls of git left there. */
static int clean_others(struct sweep *sweep)
{
	const struct ews_clean_opts *opts = sweep->opts;
	const struct ews_registration_opts registrations = {
		.idle_s = opts->idle_s, .dry_run = opts->dry_run, .gone = add_gone, .stays = add_stays, .payload = sweep
	};
	int rc = opts->idle ? ews_registration_clean(sweep->repo, &registrations) : 0;

	if (rc < 0)
		rc = keep_for_error(sweep, "");
	if (rc == 0 && opts->idle)
		rc = ews_litter_sweep_old(sweep->repo->odb, EWS_CLEAN_IDLE_S, may_go, sweep);
	return rc;
}

int ews_clean(struct ews_clean_result *out, struct ews_repo *repo, const struct ews_clean_opts *opts)
{
	EWS_CLEANUP(clean_result) struct ews_clean_result result = EWS_CLEAN_RESULT_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv done = EWS_STRV_INIT;
	const struct ews_recover_opts mend = best(opts);
	struct sweep sweep = { &result, repo, opts };
	int rc = opts->ids ? 0 : clean_others(&sweep);

	if (rc == 0)
		rc = ews_repo_need_dir(repo);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		give(out, &result);
		return 0;
	}
	/* Litter of killed verbs, and what they left half done of the project's own. */
	if (rc == 0 && !opts->dry_run && !opts->ids) {
		rc = ews_recover(&done, repo, "", &mend);
		for (size_t i = 0; i < done.n; i++)
			ews_clean_add_ended(&result, "", 0, done.items[i]);
		if (rc < 0)
			rc = keep_for_error(&sweep, "");
	}
	if (rc == 0)
		rc = choose(&ids, &sweep);
	for (size_t i = 0; i < ids.n && rc == 0; i++)
		rc = clean_one(&sweep, ids.items[i]);
	if (rc == 0)
		rc = empty_all(&sweep);
	if (rc == 0 && !opts->dry_run && (opts->now || has_let_go(&result.trash))) {
		rc = ews_trash_collect(repo);
		if (rc == EWS_EBUSY)
			rc = keep_for_error(&sweep, "");
	}
	if (rc < 0)
		return rc;
	give(out, &result);
	return 0;
}

bool ews_clean_is_time(struct ews_repo *repo)
{
	bool is_known, is_time = false;
	int64_t age_s;
	struct stat st;

	if (ews_repo_need_dir(repo) == 0) {
		/* What has just begun has nothing that could be due. */
		is_known = fstatat(repo->dir_fd, STAMP_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
		age_s = is_known ? ews_clock_now() - st.st_mtim.tv_sec : 0;
		/* A clock that was ahead once must not keep us from looking until it is that time. */
		is_time = is_known && (age_s >= LOOK_S || age_s < -LOOK_S);
		if ((is_time || !is_known) && ews_file_replace(repo->dir_fd, STAMP_FILE, "", 0, 0600) < 0)
			is_time = false; /* what can't be written to can't be cleaned either */
	}
	ews_error_clear();
	return is_time;
}

int ews_clean_auto(struct ews_clean_result *out, struct ews_repo *repo, ews_report_render_fn render)
{
	return ews_clean(out, repo, &(struct ews_clean_opts){ .older_than_s = EWS_CLEAN_IDLE_S, .render = render });
}
