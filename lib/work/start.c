/*
 * Start: see start.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/start.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/sync.h"
#include "store/git.h"
#include "store/hardlink.h"
#include "store/linked.h"
#include "store/reserve.h"
#include "work/anew.h"
#include "work/chain.h"
#include "work/claim.h"
#include "work/epoch.h"
#include "work/fill.h"
#include "work/first_look.h"
#include "work/look.h"
#include "work/rules.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_place.h"
#include "work/stage.h"
#include "work/submodule_head.h"
#include "work/tripwire.h"
#include "work/tripwire_compare.h"
#include "work/twin.h"
#include "work/user_hook.h"

void ews_start_result_release(struct ews_start_result *result)
{
	ews_session_release(&result->session);
	ews_snapshot_release(&result->base);
	ews_skips_release(&result->skips);
	ews_ignored_release(&result->ignored);
	ews_strv_release(&result->submodules);
	ews_strv_release(&result->notes);
}

/* A start on its way. */
struct starting {
	struct ews_repo *repo;
	const struct ews_start_opts *opts;
	const char *id;
	const struct ews_held *held; /* the repository's lock, until it is the session's */
	struct ews_batch *batch;
	struct ews_twin *twin;
	struct ews_chain *chain; /* NULL where the project is what it begins with */
	struct ews_start_result *out;
};

/* Where `start` was told to put it; NULL: below home. */
static const char *chosen_place(const struct ews_session *session, const struct ews_start_opts *opts)
{
	if (opts->in)
		return opts->in;
	return session->method == &ews_method_snapshot ? opts->location : NULL;
}

/* The repository's lock: ours while we look at the project, so that nobody who holds it deep is at work there. */
static int hold(struct ews_held *out, struct ews_repo *repo, const struct ews_start_opts *opts,
		const struct ews_method *method)
{
	const struct ews_holding_opts take = { .mode = opts->lock ? opts->lock : ews_holding_usual(method),
					       .within = ews_holding_within(repo),
					       .intent = opts->intent };

	return ews_holding_take(out, repo, &take);
}

/* From here on it is the session's. */
static int hand_over(const struct starting *starting)
{
	const struct ews_session *session = &starting->out->session;
	const struct ews_start_opts *opts = starting->opts;
	EWS_CLEANUP(held) struct ews_held none = EWS_HELD_INIT;
	const struct ews_holding_opts take = { .mode = opts->lock ? opts->lock : ews_holding_usual(session->method),
					       .session = session->state.id,
					       .is_owned = opts->owner,
					       .within = ews_holding_within(session->repo),
					       .beside = starting->held->id,
					       .intent = opts->intent };

	return ews_holding_take(&none, session->repo, &take);
}

/* It stands there for all to see: then nobody may stand in its way, and what was held until now is its own. */
static int enter(const struct starting *starting)
{
	int rc = ews_session_refuse_company(&starting->out->session);

	return rc < 0 ? rc : hand_over(starting);
}

static int claim(const struct starting *starting)
{
	struct ews_session *session = &starting->out->session;
	const struct ews_start_opts *opts = starting->opts;
	const struct ews_claim_opts take = { .in = chosen_place(session, opts),
					     .intent = opts->intent,
					     .label = opts->label,
					     .owner = opts->owner,
					     .is_chained = opts->from,
					     .copies_objects = opts->copy_objects,
					     .keeps_nested = !opts->skip_nested };

	return ews_claim_take(session, starting->repo, starting->id, &take);
}

static int begin(const struct starting *starting)
{
	int rc = claim(starting);

	if (rc == 0)
		rc = ews_claim_save(&starting->out->session);
	return rc < 0 ? rc : enter(starting);
}

/* A workspace that begins at a commit, or another's state, begins with nothing else, unless it is asked for. */
static enum ews_keep_ignored keep_ignored(const struct ews_start_opts *opts)
{
	bool is_elsewhere = opts->base || opts->from;

	return opts->keep_ignored == EWS_KEEP_IGNORED_AUTO && is_elsewhere ? EWS_KEEP_IGNORED_NO : opts->keep_ignored;
}

/* The index with the new files' stat data; its own time lies behind theirs, so that nothing is racy. */
static void set_index(struct ews_twin *twin, const struct ews_repo *repo, int workspace_fd)
{
	struct ews_gitstate *git = &twin->content.git;
	struct timespec now;
	struct stat st;
	gid_t gid = getegid();

	if (fstat(workspace_fd, &st) == 0 && (st.st_mode & S_ISGID))
		gid = st.st_gid;
	ews_buf_truncate(&git->index, 0);
	ews_twin_format_index(&git->index, twin, ews_odb_algo(repo->odb), gid);
	ews_index_release(&twin->index); /* it has told what it knows */
	clock_gettime(CLOCK_REALTIME, &now);
	git->has_index = true;
	git->index_mtime_s = now.tv_sec;
	git->index_mtime_ns = (uint32_t)now.tv_nsec;
}

/* `first` is the base, whose ref is left to `group`; what is in the result is the snapshot that the workspace begins with. */
static int keep_base(struct ews_snapshot *first, const struct starting *starting, struct ews_sync_group *group)
{
	struct ews_start_result *out = starting->out;
	struct ews_chain *chain = starting->chain;
	struct ews_content *content = &starting->twin->content;
	const struct ews_session *session = &out->session;
	struct ews_snapshot_opts keep = { .id = session->state.base_snapshot,
					  .session = session,
					  .subject = starting->opts->subject,
					  .prefix = EWS_REF_SESSIONS,
					  .group = group };
	int rc;

	if (!chain) {
		rc = ews_snapshot_keep(first, session->repo, starting->batch, content, &keep);
		if (rc == 0)
			ews_snapshot_copy(&out->base, first);
		return rc;
	}
	rc = ews_chain_keep_parent(chain, starting->batch, content, session, session->state.parent_snapshot);
	if (rc < 0)
		return rc;
	keep.parent = chain->parent.id;
	ews_snapshot_copy(&out->base, &chain->parent);
	return ews_snapshot_keep(first, session->repo, starting->batch, &chain->first, &keep);
}

/* What was filled, as it is told to git and as the base has it: two that know nothing of each other. */
struct describing {
	struct ews_twin *twin;
	const struct ews_repo *repo;
	int workspace_fd;
};

static int describe_one(size_t i, unsigned worker, void *payload)
{
	const struct describing *what = payload;
	struct ews_content *content = &what->twin->content;

	(void)worker;
	if (i == 0) {
		ews_scan_count(&content->scan);
		ews_hardlinks_find(&content->scan.entries);
		ews_manifest_hash(content->hash, &content->scan.entries);
	} else if (!what->repo->is_plain) {
		set_index(what->twin, what->repo, what->workspace_fd);
	}
	return 0;
}

/* What a workspace is prepared with. */
struct preparing {
	const struct ews_method *method;
	const struct ews_place *place;
	int workspace_fd;
	const struct ews_gitstate *git;
};

static int prepare(void *payload)
{
	const struct preparing *with = payload;

	return with->method->prepare(with->place, with->workspace_fd, with->git);
}

/*
 * Registration beside and base snapshot, then registration in: the base's ref is there before git knows the worktree. All that
 * was filled in waits for the first sync after it, so meanwhile the snapshot is made. That both last is left to `names`.
 */
static int publish(struct ews_oid *commit, struct ews_sync_group *names, const struct starting *starting,
		   int workspace_fd)
{
	struct ews_session *session = &starting->out->session;
	struct ews_repo *repo = session->repo;
	struct ews_twin *twin = starting->twin;
	struct ews_place place = ews_session_place(session);
	struct preparing with = { session->method, &place, workspace_fd, &twin->content.git };
	EWS_CLEANUP(beside) struct ews_beside preparing = EWS_BESIDE_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group base = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot first = EWS_SNAPSHOT_INIT;
	struct describing filled = { twin, repo, workspace_fd };
	int rc;

	(void)ews_pool_for(2, 1, 2, describe_one, &filled); /* it never fails */
	ews_beside_begin(&preparing, prepare, &with);
	ews_content_read_root(&twin->content, workspace_fd);
	/* What a copy's branches stand at is held by its base: the project may lose them. */
	rc = session->method->owns_objects ? ews_beside_end(&preparing) : 0;
	if (rc == 0)
		rc = keep_base(&first, starting, &base);
	*commit = first.commit;
	if (rc == 0)
		rc = ews_beside_end(&preparing);
	if (rc == 0)
		rc = ews_sync_finish_before(&base, names);
	if (rc == 0)
		rc = ews_odb_refresh(repo->odb);
	if (rc == 0)
		rc = ews_snapshot_confirm(repo, &first);
	if (rc == 0)
		rc = session->method->publish(&place);
	ews_sync_let_go(names);
	return rc;
}

/* The commit of the project's that the session's work began at. */
static const struct ews_oid *first_commit(const struct starting *starting)
{
	static const struct ews_oid none = EWS_OID_NONE;

	if (starting->chain)
		return &starting->chain->first_commit;
	return starting->twin->is_unborn ? &none : &starting->twin->head;
}

/* Say that it has started, once what is in `group` is durable. */
static int settle(const struct starting *starting, struct ews_sync_group *group)
{
	struct ews_session *session = &starting->out->session;
	const struct ews_oid *base_commit = first_commit(starting);
	EWS_CLEANUP(tripwire) struct ews_tripwire tripwire = EWS_TRIPWIRE_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_tripwire_take(&tripwire, session->repo);

	ews_sync_begin(group);
	if (rc == 0)
		rc = ews_tripwire_write(session->fd, &tripwire);
	if (rc == 0)
		rc = ews_ignored_write(session->fd, &starting->out->ignored);
	if (rc == 0 && session->method->is_project)
		rc = ews_rules_ignore_keep(session);
	if (rc == 0 && session->method->is_project)
		rc = ews_submodule_heads_keep(session, &starting->twin->content.scan.skips);
	if (rc < 0)
		return rc;
	free(session->state.base_commit);
	free(session->state.branch);
	session->state.base_commit = ews_strdup(ews_oid_is_none(base_commit) ? "" : ews_oid_hex(hex, base_commit));
	session->state.branch = ews_strdup(starting->twin->branch);
	session->state.keeps_ignored = starting->out->ignored.entries.n > 0;
	session->state.state = EWS_STATE_ACTIVE;
	rc = ews_session_log(session, "start", session->state.workspace);
	if (rc == 0)
		rc = ews_session_save(session);
	return rc < 0 ? rc : ews_sync_finish(group);
}

/* Nobody would take away later what can't be read just now. */
static int forget_base(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", session->state.id);
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	struct ews_oid there;
	int rc = ews_odb_ref_read(&there, session->repo->odb, ref);

	if (rc == 0)
		rc = ews_snapshot_find(&base, session->repo, ref);
	if (rc < 0)
		return ews_error_if_passing(rc);
	if (strcmp(base.id, session->state.base_snapshot) != 0)
		return 0;
	return ews_odb_ref_swap(session->repo->odb, ref, &base.commit, NULL);
}

/* What a chained session was to begin with is no snapshot that anybody has asked for. */
static int forget_parent(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SNAPSHOTS "%s", session->state.parent_snapshot);
	struct ews_oid there;

	if (!*session->state.parent_snapshot)
		return 0;
	if (ews_odb_ref_read(&there, session->repo->odb, ref) < 0) {
		ews_error_clear();
		return 0;
	}
	return ews_odb_ref_swap(session->repo->odb, ref, &there, NULL);
}

/* `has_base`: one may have been kept. */
static int undo_start(struct ews_session *session, bool has_base)
{
	struct ews_place place = ews_session_place(session);
	int rc = session->method->take_back(&place);

	if (rc == 0 && !session->method->is_project)
		rc = ews_claim_remove_workspace(session);
	if (rc == 0 && has_base)
		rc = forget_base(session);
	if (rc == 0)
		rc = forget_parent(session);
	return rc < 0 ? rc : ews_claim_give_up(session);
}

int ews_start_take_back(struct ews_session *session)
{
	return undo_start(session, true);
}

/* A start that came to nothing leaves nothing; its own error is what the caller hears. */
static void take_back(struct ews_start_result *result)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	(void)undo_start(&result->session, result->base.id); /* what it can't do, recover will */
	(void)ews_error_restore(&saved);
}

/*
 * The project must be as it was before; what changed is somebody else's doing, and is named. What was recorded for the session
 * just now is how it stands after all.
 */
static int compare_tripwire(struct ews_start_result *out, const struct ews_tripwire *before)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire after = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(strv) struct ews_strv changed = EWS_STRV_INIT;
	int rc = ews_tripwire_read(&after, out->session.fd);

	if (rc == 0)
		rc = ews_tripwire_compare(&changed, before, &after);
	for (size_t i = 0; i < changed.n; i++)
		ews_strv_addf(&out->notes, "the project changed meanwhile: %s", changed.items[i]);
	return rc < 0 ? rc : 0;
}

/* All is there but the word that it may begin, which the user's hook has. */
static int admit(const struct ews_session *session, const struct ews_start_opts *opts)
{
	const struct ews_user_hook_about about = { .command = opts->command, .status = -1 };

	return ews_user_hook_start(session, &about);
}

static int make(const struct starting *starting)
{
	const struct ews_start_opts *opts = starting->opts;
	struct ews_start_result *out = starting->out;
	struct ews_content *content = &starting->twin->content;
	EWS_CLEANUP(filled) struct ews_filled filled = EWS_FILLED_INIT;
	EWS_CLEANUP(first_look) struct ews_first_look look = EWS_FIRST_LOOK_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group names = EWS_SYNC_GROUP_INIT;
	const struct ews_fill_opts fill_opts = { .is_elsewhere = chosen_place(&out->session, opts),
						 .is_state = starting->chain,
						 .run_filters = opts->run_filters,
						 .keep_ignored = keep_ignored(opts),
						 .progress = opts->progress,
						 .payload = opts->payload };
	struct ews_first_look_opts look_opts = { .put = content,
						 .base = starting->chain ? &starting->chain->first : content };
	int rc = ews_fill(&filled, &out->session, starting->twin, starting->batch, &fill_opts);

	if (rc < 0)
		return rc;
	if (starting->chain)
		ews_chain_note_present(starting->chain, content);
	look_opts.is_exact = filled.is_exact;
	out->skips = filled.skips;
	filled.skips = (struct ews_skips)EWS_SKIPS_INIT;
	out->ignored = filled.ignored;
	filled.ignored = (struct ews_ignored)EWS_IGNORED_INIT;
	out->submodules = filled.submodules;
	filled.submodules = (struct ews_strv)EWS_STRV_INIT;
	rc = publish(&look_opts.base_commit, &names, starting, filled.workspace_fd);
	if (rc < 0)
		return rc;
	/* Nothing of ours is written there after this; what the user's hook writes is a change. */
	ews_first_look_begin(&look, &out->session, &look_opts);
	rc = admit(&out->session, opts);
	if (rc == 0)
		rc = settle(starting, &names);
	return rc;
}

static bool has_paths(const struct ews_start_opts *opts)
{
	return opts->only || opts->specs;
}

static int choose_method(const struct ews_method **out, const struct ews_repo *repo, const struct ews_start_opts *opts)
{
	const struct ews_method *method = opts->method;

	if (!method)
		method = repo->is_plain ? &ews_method_snapshot : &ews_method_worktree;
	*out = method;
	if (method == &ews_method_worktree && repo->is_plain) {
		ews_error(EWS_EUNSUPPORTED, "'%s' is no git repository, and has no worktrees", repo->project);
		ews_error_hint("--method snapshot (of a round: --mode isolated) makes a copy of a plain directory");
		return EWS_EUNSUPPORTED;
	}
	if (opts->copy_objects && (method != &ews_method_snapshot || repo->is_plain)) {
		ews_error(EWS_EUSAGE, "--copy-objects is for independent copies of git repositories");
		ews_error_hint("--method snapshot makes one");
		return EWS_EUSAGE;
	}
	if (opts->from && (opts->base || has_paths(opts) || opts->uncommitted >= 0 || opts->untracked >= 0)) {
		ews_error(EWS_EUSAGE, "with --from nothing comes from the project itself");
		ews_error_hint("leave out --base, --uncommitted, --untracked and paths");
		return EWS_EUSAGE;
	}
	if (!method->is_project)
		return 0;
	if (repo->is_bare)
		return ews_error(EWS_EUNSUPPORTED, "'%s' is a bare repository: there is no place to work in",
				 repo->project);
	if (opts->base || opts->from || opts->in || has_paths(opts) || opts->uncommitted == 0 ||
	    opts->untracked == 0 || opts->keep_ignored == EWS_KEEP_IGNORED_NO) {
		ews_error(EWS_EUSAGE, "in place the project is worked on as it is");
		ews_error_hint(
			"leave out --base, --from, --in, --no-uncommitted, --no-untracked, --keep-ignored=no and paths");
		return EWS_EUSAGE;
	}
	return 0;
}

/* A copy of another session's state, or of a snapshot. */
static int start_chained(struct starting *starting)
{
	EWS_CLEANUP(chain) struct ews_chain chain = EWS_CHAIN_INIT;
	int rc = ews_epoch_look(&starting->out->session.state.epoch, starting->repo);

	starting->chain = &chain;
	if (rc == 0)
		rc = ews_chain_choose(starting->twin, &chain, starting->repo, starting->opts->from);
	if (rc == 0 && keep_ignored(starting->opts) != EWS_KEEP_IGNORED_NO)
		rc = ews_chain_find_ignored(starting->twin, starting->repo);
	if (rc == 0)
		rc = begin(starting);
	if (rc >= 0)
		rc = make(starting);
	starting->chain = NULL; /* it goes with this function */
	return rc;
}

/* A copy: chosen while it is made durable that the session begins, its objects durable, then the workspace is filled. */
static int start_copy(struct starting *starting)
{
	const struct ews_start_opts *opts = starting->opts;
	struct ews_session *session = &starting->out->session;
	bool uncommitted = opts->uncommitted < 0 ? !opts->base : opts->uncommitted;
	EWS_CLEANUP(beside) struct ews_beside saving = EWS_BESIDE_INIT;
	int64_t epoch = -1;
	struct ews_twin_opts choose = { .base = opts->base,
					.uncommitted = uncommitted,
					.untracked = opts->untracked < 0 ? uncommitted : opts->untracked,
					.partial = opts->partial,
					.skip_nested = opts->skip_nested,
					.ignored = opts->keep_ignored == EWS_KEEP_IGNORED_YES,
					.only = opts->only,
					.specs = opts->specs,
					.words = opts->words,
					.epoch = &epoch,
					.progress = opts->progress,
					.payload = opts->payload };
	int rc = claim(starting);

	if (rc < 0)
		return rc;
	/* A bare repository has nothing but its commits. */
	if (starting->repo->is_bare)
		choose.uncommitted = choose.untracked = false;
	ews_beside_begin(&saving, ews_claim_save, session);
	rc = ews_twin_choose(starting->twin, starting->repo, starting->batch, &choose);
	if (rc == 0)
		rc = ews_batch_commit(starting->batch);
	if (rc == 0)
		rc = ews_beside_end(&saving);
	if (rc == 0)
		rc = enter(starting);
	if (rc < 0)
		return rc;
	session->state.epoch = epoch;
	return make(starting);
}

/* In place nothing is made but the base: all that stands there, ignored files as well. */
static int start_in_place(struct starting *starting)
{
	const struct ews_start_opts *opts = starting->opts;
	struct ews_session *session = &starting->out->session;
	struct ews_repo *repo = starting->repo;
	struct ews_twin *twin = starting->twin;
	struct ews_content_opts now = { .into_repositories = !opts->skip_nested,
					.partial = opts->partial,
					.progress = opts->progress,
					.payload = opts->payload };
	EWS_CLEANUP(first_look) struct ews_first_look look = EWS_FIRST_LOOK_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group names = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group base = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot first = EWS_SNAPSHOT_INIT;
	struct ews_first_look_opts look_opts = { .base = &twin->content };
	/* In a hook, or beside an editor, of a commit that a person makes: its branch would go back with the end. */
	int rc = ews_stage_refuse_locked(repo);

	if (rc == 0)
		rc = ews_epoch_look(&session->state.epoch, repo);
	if (rc == 0)
		rc = begin(starting);
	if (rc == 0)
		rc = ews_content_now(&twin->content, repo, session, starting->batch, &now);
	if (rc == 0)
		rc = ews_twin_find_head(twin, repo);
	if (rc == 0)
		rc = keep_base(&first, starting, &base);
	look_opts.base_commit = first.commit;
	if (rc == 0)
		rc = ews_odb_finish_group(repo->odb, &base);
	if (rc == 0)
		rc = ews_snapshot_confirm(repo, &first);
	if (rc == 0)
		rc = ews_content_save_cache(&twin->content, repo, session);
	if (rc < 0)
		return rc;
	ews_first_look_begin(&look, session, &look_opts);
	rc = admit(session, opts);
	return rc < 0 ? rc : settle(starting, &names);
}

typedef int (*way_fn)(struct starting *starting);

static way_fn choose_way(const struct ews_method *method, const struct ews_start_opts *opts)
{
	if (method->is_project)
		return start_in_place;
	return opts->from ? start_chained : start_copy;
}

/* A copy with a repository of its own has no remote: what was promised to the project is not to be had there. */
static void name_promised(struct ews_start_result *result, const struct ews_repo *repo)
{
	const struct ews_session *session = &result->session;

	if (session->method->owns_objects && !session->state.copies_objects && !repo->is_plain &&
	    ews_odb_is_partial(repo->odb))
		ews_strv_add(&result->notes,
			     "the project is a partial clone: git fetches nothing into the copy, where a checkout of "
			     "another commit may lack files; with --method worktree it does");
}

static bool is_base_in_place(struct ews_repo *repo, const char *ref)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;

	return ews_snapshot_find(&base, repo, ref) == 0 && !strcmp(base.method, ews_method_in_place.name);
}

/* Each home has a lock of its own, which keeps out nobody who works here from another one. Best effort. */
static void name_strangers(struct ews_start_result *result, struct ews_repo *repo)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;

	if (result->session.method->is_project)
		(void)ews_odb_ref_names(&refs, repo->odb, EWS_REF_SESSIONS);
	for (size_t i = 0; i < refs.n; i++) {
		const char *id = refs.items[i].name + strlen(EWS_REF_SESSIONS);

		if (!ews_session_has_record(repo, id) && is_base_in_place(repo, refs.items[i].name))
			ews_strv_addf(&result->notes,
				      "session '%s' of another home may be at work in place, too: what it changes here "
				      "counts as this session's, and goes with its end; 'git ews doctor' says more",
				      id);
	}
	ews_error_clear();
}

/* For the day when the disk is full. An end or a diff asks git, which stands in a directory of home. Best effort. */
static void put_aside(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *neutral = NULL;

	ews_reserve_make(repo->home);
	if (ews_git_neutral_dir(&neutral, repo->home, ews_odb_algo(repo->odb)) < 0)
		ews_error_clear();
}

/* As ews_anew_settle(): whoever moved the former directory, and did nothing in it since, is to know that it is none any more. */
static int settle_place(struct ews_repo *repo, struct ews_strv *notes)
{
	const bool was_anew = repo->is_anew;
	int rc = ews_anew_settle(repo);

	if (rc == 0 && was_anew)
		ews_strv_addf(notes,
			      "'%s' was made anew since its sessions before this one: what they left, and what 'git ews undo' "
			      "has of them, is its own now",
			      repo->project);
	return rc;
}

int ews_start(struct ews_start_result *out, struct ews_repo *repo, const struct ews_start_opts *opts)
{
	EWS_CLEANUP(start_result) struct ews_start_result result = EWS_START_RESULT_INIT;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(held) struct ews_held held = EWS_HELD_INIT;
	EWS_CLEANUP(free) char *id = opts->id ? ews_strdup(opts->id) : ews_clock_id("qe", ews_clock_now());
	struct starting starting = { repo, opts, id, &held, batch, &twin, NULL, &result };
	int rc = ews_session_check_id(id);

	if (rc < 0)
		return rc;
	/* Before anything is looked at: what changes in the project from here on may not be in the workspace. */
	result.session.state.created_s = ews_clock_now();
	result.session.state.worktree_mark = ews_linked_mark(repo->git_fd);
	result.session.state.epoch = -1;
	rc = choose_method(&result.session.method, repo, opts);
	if (rc == 0 && result.session.method->is_project && opts->lock == EWS_HOLDING_QUICK)
		rc = ews_error(EWS_EUSAGE, "who works in the project itself holds the deep lock, not the quick one");
	if (rc == 0 && !opts->force)
		rc = ews_repo_refuse_home(repo->project);
	if (rc == 0)
		rc = ews_repo_make_dir(repo);
	if (rc == 0)
		rc = settle_place(repo, &twin.notes);
	if (rc == 0)
		rc = hold(&held, repo, opts, result.session.method);
	if (rc == 0)
		rc = ews_tripwire_take(&before, repo);
	if (rc == 0)
		put_aside(repo);
	if (rc == 0)
		rc = choose_way(result.session.method, opts)(&starting);
	if (rc < 0) {
		if (result.session.fd >= 0)
			take_back(&result);
		return ews_error_wrap("cannot start '%s'", id);
	}
	result.notes = twin.notes;
	twin.notes = (struct ews_strv)EWS_STRV_INIT;
	name_promised(&result, repo);
	name_strangers(&result, repo);
	if (result.session.method->is_project) {
		result.skips = twin.content.scan.skips;
		twin.content.scan.skips = (struct ews_skips)EWS_SKIPS_INIT;
	}
	rc = compare_tripwire(&result, &before);
	if (rc < 0)
		return rc;
	*out = result;
	result = (struct ews_start_result)EWS_START_RESULT_INIT;
	return 0;
}
