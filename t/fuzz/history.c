/*
 * Histories: see history.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scene.h"

#define LIVING_MAX 4
#define ARGS_MAX 16
#define ID_LEN 40
#define NONE SIZE_MAX
#define WAS_KILLED (-1)

/* The first one stands for the project itself. */
struct session {
	char id[ID_LEN], agent[ID_LEN]; /* only a round is an agent's */
	char *dir, *git_dir;
	bool is_open, in_place, with_ignored, is_pending;
	struct scene before, after; /* the last verb */
	struct scene base; /* what it was at its start */
	size_t origin; /* whose base it has: its own, or that of the one from which it began */
};

struct snap {
	char id[ID_LEN];
	size_t session; /* whose it is; 0: of the project itself */
	struct scene scene;
};

/* What `undo --list` shows. */
struct step {
	char id[ID_LEN], verb[ID_LEN];
	size_t session, place; /* where it changed something; NONE: nowhere */
	bool is_known; /* what it changed is: `from` to `to` */
	bool had_since; /* when it was undone, something else had been done since */
	struct scene from, to;
};

struct history {
	struct world *world;
	struct session *sessions;
	struct step *steps; /* the oldest first */
	struct snap *shots; /* snapshots, of whatever session */
	size_t n_sessions, n_shots, n_steps;
	unsigned rules; /* how often they were changed: scene.h */
};

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A session's place is its own; what works in place is at the project's, which is the first. */
static size_t place_of(const struct history *history, size_t session)
{
	return session != NONE && history->sessions[session].in_place ? 0 : session;
}

static void take(const struct history *history, size_t place, struct scene *out)
{
	const struct session *session = &history->sessions[place];

	if (session->in_place)
		scene_release(out);
	else
		scene_take(out, session->dir, session->git_dir);
	out->rules = history->rules;
}

/* The project's is left alone, so nothing is to be known of it. */
static bool has_own_head(const struct history *history, size_t place)
{
	return place && history->sessions[place].git_dir && !history->sessions[place].in_place;
}

/* The same with HEAD. */
static void take_with_head(const struct history *history, size_t place, struct scene *out)
{
	take(history, place, out);
	if (has_own_head(history, place))
		scene_take_head(out, history->sessions[place].dir, history->world->index_copy);
}

static void move_scene(struct scene *to, struct scene *from)
{
	scene_release(to);
	*to = *from;
	*from = (struct scene)SCENE_INIT;
}

static void take_before(struct history *history, size_t place)
{
	for (size_t i = 0; i < history->n_sessions; i++)
		(i == place ? take_with_head : take)(history, i, &history->sessions[i].before);
	list_take(&history->world->outside_files, history->world->outside, 0);
}

/* Is that place one of the project's work trees, be it its first? Then no branch may be both its own and another's. */
static bool is_tree(const struct history *history, size_t place)
{
	const struct session *session = &history->sessions[place];
	const char *git_dir = session->in_place ? NULL : session->git_dir;

	return git_dir && path_is_in(git_dir, history->world->git_dir);
}

/* A copy's own git has the rules that held at its start, and what the project's became since is what is ignored in it for us. */
static bool has_same_rules(const struct history *history, size_t place)
{
	return !history->rules || is_tree(history, place);
}

/* A work tree, but that at `place`, which is on `branch` before or after the verb; NONE: there is none. */
static size_t find_tree_on(const struct history *history, const char *branch, size_t place, bool is_after)
{
	for (size_t i = 0; branch && i < history->n_sessions; i++) {
		const struct session *session = &history->sessions[i];
		const char *other = scene_branch(is_after ? &session->after : &session->before);

		if (i != place && other && is_tree(history, i) && !strcmp(branch, other))
			return i;
	}
	return NONE;
}

/* No verb puts a work tree on a branch that another is on; where two had been, somebody else had done that. */
static void check_branches(const struct history *history, const char *verb)
{
	for (size_t i = 0; i < history->n_sessions; i++) {
		const struct session *session = &history->sessions[i];
		const char *branch = is_tree(history, i) ? scene_branch(&session->after) : NULL;
		size_t other = find_tree_on(history, branch, i, true);

		if (other != NONE && find_tree_on(history, scene_branch(&session->before), i, false) == NONE)
			text_addf(&history->world->report, "%s: two are on one branch, %s and %s: %s", verb,
				  session->id, history->sessions[other].id, branch);
	}
}

/* All is as it was, but what the verb may change: the place of `session`, and in place the project's git directory. */
static void take_after(struct history *history, const char *verb, size_t session)
{
	struct text *report = &history->world->report;
	struct list outside = LIST_INIT;

	for (size_t i = 0; i < history->n_sessions; i++) {
		const struct scene *before = &history->sessions[i].before, *after = &history->sessions[i].after;
		char *what;

		(i == place_of(history, session) ? take_with_head : take)(history, i, &history->sessions[i].after);
		if (asprintf(&what, "%s, at %s", verb, history->sessions[i].id) < 0)
			die("no memory");
		if (i != place_of(history, session))
			scene_compare(report, what, before, after, TIMES_ALL);
		if (before->is_there && after->is_there && (i != place_of(history, session) || !session))
			list_compare(report, what, &before->git, &after->git, TIMES_FILES);
		free(what);
	}
	check_branches(history, verb);
	list_take(&outside, history->world->outside, 0);
	list_compare(report, "outside", &history->world->outside_files, &outside, TIMES_ALL);
	list_release(&outside);
}

/* The step whose id stands at `text`; NONE: no step's does. */
static size_t find_step(const struct history *history, const char *text)
{
	for (size_t i = 0; text && i < history->n_steps; i++)
		if (!strncmp(text, history->steps[i].id, strlen(history->steps[i].id)))
			return i;
	return NONE;
}

static size_t find_session(const struct history *history, const char *id)
{
	for (size_t i = 1; i < history->n_sessions; i++)
		if (!strcmp(history->sessions[i].id, id))
			return i;
	return 0;
}

/* In place the end alone changes no files: a step before it has brought them back. */
static bool is_mere_end(const struct history *history, const struct step *step)
{
	return !strcmp(step->verb, "end") && history->sessions[step->session].in_place;
}

/* A line of `undo --list`: id, time, state, verb, session. */
static void add_step(struct history *history, const char *line)
{
	struct step step = { .is_known = false };
	char session[ID_LEN];

	if (find_step(history, line) != NONE ||
	    sscanf(line, "%39s %*s %*s %39s %39s", step.id, step.verb, session) != 3)
		return;
	step.session = find_session(history, session);
	step.place = !strcmp(step.verb, "drop")    ? NONE
		     : !strcmp(step.verb, "apply") ? 0
						   : place_of(history, step.session);
	history->steps = grow(history->steps, (history->n_steps + 1) * sizeof(step));
	history->steps[history->n_steps++] = step;
}

/*
 * Look which steps there are by now: how many are new? A new one has changed what the last verb did at `place` (NONE: nobody
 * knows what it changed), and `before` is its own then.
 */
static size_t learn_steps(struct history *history, size_t place)
{
	struct child child = CHILD_INIT;
	size_t first = history->n_steps, n;

	RUN(&child, history->world->project, NULL, history->world->set->git_ews, "undo", "--list");
	if (child.status)
		text_addf(&history->world->report, "undo --list: status %d: %s\n", child.status, child.err.ptr);
	/* the newest comes first */
	for (char *at = child.out.ptr + child.out.len; at > child.out.ptr; *at = '\0') {
		for (at--; at > child.out.ptr && at[-1] != '\n'; at--)
			;
		add_step(history, at);
	}
	n = history->n_steps - first;
	for (size_t i = first; i < history->n_steps && place != NONE && n <= 2; i++) {
		struct step *step = &history->steps[i];

		step->is_known = step->place == place && (n == 1 || is_mere_end(history, &history->steps[first + 1]));
		take_with_head(history, place, &step->to);
		if (i > first)
			take_with_head(history, place, &step->from);
		else
			move_scene(&step->from, &history->sessions[place].before);
	}
	child_release(&child);
	return n;
}

static void note_open(struct history *history)
{
	struct child child = CHILD_INIT;

	for (size_t i = 1; i < history->n_sessions; i++) {
		struct session *session = &history->sessions[i];

		session->is_open = session->in_place ? RUN(&child, session->dir, NULL, history->world->set->git_ews,
							   "path", session->id) == 0
						     : access(session->dir, F_OK) == 0;
	}
	child_release(&child);
}

/* Finish, or take back, what was killed; that may be killed as well. */
static void recover(struct history *history)
{
	struct world *world = history->world;
	struct child child = CHILD_INIT;
	char at[16];

	snprintf(at, sizeof(at), "%u", 1 + rng_below(&world->rng, 60));
	if (rng_chance(&world->rng, 30)) {
		world->kill_at = at;
		EWS(world, &child, world->project, "recover", "--all");
		world->kill_at = NULL;
	}
	if (EWS_WORKS(world, &child, world->project, "recover", "--all") &&
	    EWS_WORKS(world, &child, world->project, "recover", "--all", "--json") &&
	    !strstr(child.out.ptr, "\"recovered\":[]"))
		text_addf(&world->report, "recover leaves something to recover: %s\n", child.out.ptr);
	child_release(&child);
}

/* With --json a refusal is an error, whatever the status. */
static bool is_refused(const struct child *child, int status)
{
	return status != WAS_KILLED && (status > 1 || strstr(child->out.ptr, "\"ews.error/1\""));
}

/*
 * A verb, killed now and then, which may change something at the place of `session` (NONE: nowhere). Returns its
 * status, or WAS_KILLED, and then `recover` has run.
 */
static int run_verb(struct history *history, struct child *child, size_t session, const char *const *argv)
{
	struct world *world = history->world;
	/* where nothing was ever started there is nothing to recover */
	bool is_killed = rng_chance(&world->rng, 8) && history->n_sessions > 1;
	size_t place = place_of(history, session);
	char at[16];
	int status;

	snprintf(at, sizeof(at), "%u", 1 + rng_below(&world->rng, rng_chance(&world->rng, 50) ? 40 : 200));
	take_before(history, place);
	world->kill_at = is_killed ? at : NULL;
	status = run_ews(world, child, world->project, argv);
	world->kill_at = NULL;
	if (is_killed) {
		recover(history);
		status = WAS_KILLED;
	}
	take_after(history, argv[0], session);
	if (place != NONE && is_refused(child, status))
		scene_compare(&world->report, argv[0], &history->sessions[place].before,
			      &history->sessions[place].after, TIMES_ALL);
	else if (place != NONE)
		scene_check_kept(world, argv[0], &history->sessions[place].before, &history->sessions[place].after);
	return status;
}

static void must_work(struct history *history, const struct child *child, const char *what, int status)
{
	if (status != 0 && status != WAS_KILLED)
		text_addf(&history->world->report, "git ews %s: status %d\n%s%s", what, status, child->out.ptr,
			  child->err.ptr);
}

/*
 * A verb in the project; one that doesn't have to work refuses what does not fit. What it did is a step; what was killed and
 * is done is done wholly: the same once more changes nothing. Is it done for certain?
 */
static bool do_verb(struct history *history, size_t session, bool has_to_work, const char *const *argv)
{
	struct world *world = history->world;
	struct child child = CHILD_INIT;
	struct scene now = SCENE_INIT;
	int status = run_verb(history, &child, session, argv);
	size_t place = place_of(history, session);
	bool is_changed = place != NONE &&
			  !scene_is(&history->sessions[place].before, &history->sessions[place].after);
	/* what stayed, as it was ignored, may go the next time */
	bool has_rules = place != NONE && same_rules(&history->sessions[place].before.shot.files,
						     &history->sessions[place].after.shot.files);

	if (has_to_work)
		must_work(history, &child, argv[0], status);
	if (!learn_steps(history, place) && is_changed)
		text_addf(&world->report, "%s changed something, and there is no step to undo\n", argv[0]);
	if (status == WAS_KILLED && is_changed && has_rules && history->sessions[place].after.is_there &&
	    !world->report.len) {
		run_ews(world, &child, world->project, argv);
		take(history, place, &now);
		scene_compare(&world->report, "once more", &history->sessions[place].after, &now, TIMES_NONE);
		learn_steps(history, NONE);
	}
	note_open(history);
	scene_release(&now);
	child_release(&child);
	return status == 0;
}

/* One that goes on, at random; 0: there is none. */
static size_t pick_session(struct history *history, bool with_rounds)
{
	size_t picked = 0;
	unsigned n = 0;

	for (size_t i = 1; i < history->n_sessions; i++)
		if (history->sessions[i].is_open && (with_rounds || !*history->sessions[i].agent) &&
		    rng_below(&history->world->rng, ++n) == 0)
			picked = i;
	return picked;
}

static unsigned count_open(const struct history *history, bool in_place_alone)
{
	unsigned n = 0;

	for (size_t i = 1; i < history->n_sessions; i++)
		n += history->sessions[i].is_open && (!in_place_alone || history->sessions[i].in_place);
	return n;
}

/* The place of `session`, in which something is done now. */
static struct place enter_place(struct history *history, size_t session)
{
	struct place place = history->world->project_place;

	place.dir = history->sessions[session].dir;
	text_addf(&history->world->log, "change %s\n", history->sessions[session].id);
	return place;
}

/* An agent's session, or in so many of a hundred cases the project, where a person works. */
static size_t pick_place(struct history *history, unsigned persons)
{
	bool is_person = rng_chance(&history->world->rng, persons) && !count_open(history, true);

	return is_person ? 0 : pick_session(history, true);
}

/* What an agent does in a workspace, or a person in the project. */
static void change(struct history *history)
{
	struct world *world = history->world;
	struct place place = enter_place(history, pick_place(history, 20));

	mutate(&world->rng, &place, 1 + rng_below(&world->rng, 5), &world->log);
}

/* The same with branches, which a linked worktree has in common with the project. */
static void change_branches(struct history *history)
{
	struct world *world = history->world;
	struct place place;

	if (world->set->method->is_plain)
		return;
	place = enter_place(history, pick_place(history, 40));
	mutate_branch(&world->rng, &place, pick_branch(&world->rng), &world->log);
}

/* What was ignored, converted or left out is not any longer, or the other way round. */
static void change_rules(struct history *history)
{
	struct world *world = history->world;
	struct place place;

	if (world->set->method->is_plain)
		return;
	place = enter_place(history, pick_place(history, 40));
	mutate_rules(&world->rng, &place, &world->log);
	history->rules++;
}

/* A session that was started, in the directory that was printed. */
static struct session *add_session(struct history *history, char *dir)
{
	struct session *session;
	struct child child = CHILD_INIT;

	cut_newline(dir);
	history->sessions = grow(history->sessions, (history->n_sessions + 1) * sizeof(*session));
	session = &history->sessions[history->n_sessions++];
	*session = (struct session){ .dir = copy_of(dir), .is_open = true };
	snprintf(session->id, sizeof(session->id), "%s", path_base(dir));
	if (!history->world->set->method->is_plain) {
		RUN(&child, dir, NULL, "git", "rev-parse", "--absolute-git-dir");
		cut_newline(child.out.ptr);
		session->git_dir = copy_of(child.out.ptr);
	}
	child_release(&child);
	return session;
}

/* A twin of the project, of another session or of a revision; or an agent's round, whose name the program gives. */
static void start(struct history *history)
{
	struct world *world = history->world;
	bool is_plain = world->set->method->is_plain, is_alone = !count_open(history, false);
	bool in_place = is_alone && rng_chance(&world->rng, 35), is_copy = is_plain || rng_chance(&world->rng, 40);
	bool is_round = !in_place && rng_chance(&world->rng, 15), with_ignored = rng_chance(&world->rng, 40);
	size_t from = rng_chance(&world->rng, 25) ? pick_session(history, true) : 0, n = 0;
	const char *argv[ARGS_MAX] = { NULL };
	struct child child = CHILD_INIT;
	char id[ID_LEN];
	int status;

	if (count_open(history, true) || count_open(history, false) >= LIVING_MAX)
		return;
	snprintf(id, sizeof(id), "s%zu", history->n_sessions);
	if (is_round)
		argv[n++] = "round";
	argv[n++] = "start";
	argv[n++] = is_round       ? "--agent"
		    : in_place     ? "--method=in-place"
		    : with_ignored ? "--keep-ignored"
				   : "--keep-ignored=no";
	argv[n++] = id;
	if (!is_round && !in_place)
		argv[n++] = is_copy ? "--method=snapshot" : "--method=worktree";
	if (!is_round && from) {
		argv[n++] = "--from";
		argv[n++] = history->sessions[from].id;
	} else if (!is_round && !in_place && !is_plain && rng_chance(&world->rng, 15)) {
		argv[n++] = "--base";
		argv[n++] = rng_chance(&world->rng, 50) ? "main" : "other";
	}
	status = run_verb(history, &child, NONE, argv);
	/* a round begins with a commit, and none can be made of a file whose encoding, by the attributes, is not what it has */
	if (!is_round || !strstr(child.err.ptr, "git cannot convert"))
		must_work(history, &child, "start", status);
	/* what was killed is there, or is not; nobody knows the name of a round then */
	if (status == WAS_KILLED && is_round) {
		EWS(world, &child, world->project, "round", "end", "--agent", id);
		learn_steps(history, NONE);
	} else if (status == 0 || (status == WAS_KILLED && EWS(world, &child, world->project, "path", id) == 0)) {
		struct session *session = add_session(history, child.out.ptr);

		snprintf(is_round ? session->agent : session->id, ID_LEN, "%s", id);
		session->in_place = in_place;
		session->with_ignored = with_ignored || is_round;
		session->origin = !is_round && from ? history->sessions[from].origin : history->n_sessions - 1;
		take_with_head(history, history->n_sessions - 1, &session->base);
	}
	child_release(&child);
}

static void take_snapshot(struct history *history, size_t session)
{
	struct world *world = history->world;
	struct child child = CHILD_INIT;
	const char *id = session ? history->sessions[session].id : NULL;
	int status = run_verb(history, &child, NONE, ARGV("snapshot", "create", id));

	must_work(history, &child, "snapshot create", status);
	if (status == 0) {
		struct snap snap = { .session = session };

		cut_newline(child.out.ptr);
		snprintf(snap.id, sizeof(snap.id), "%s", child.out.ptr);
		take(history, place_of(history, session), &snap.scene);
		if (!world->set->method->is_plain)
			scene_take_head(&snap.scene, history->sessions[session].dir, world->index_copy);
		history->shots = grow(history->shots, (history->n_shots + 1) * sizeof(snap));
		history->shots[history->n_shots++] = snap;
	}
	child_release(&child);
}

static void snapshot(struct history *history)
{
	take_snapshot(history, rng_chance(&history->world->rng, 80) ? pick_session(history, false) : 0);
}

static const struct snap *pick_shot(struct history *history)
{
	size_t n = history->n_shots;

	return n ? &history->shots[rng_below(&history->world->rng, (unsigned)n)] : NULL;
}

/* A path of a session's workspace; NULL: there is none, or no session. */
static char *pick_path(struct history *history, size_t session)
{
	struct list now = LIST_INIT;
	char *path = NULL;

	if (session)
		list_take(&now, history->sessions[session].dir, LIST_NAMES);
	if (now.n)
		path = copy_of(now.items[rng_below(&history->world->rng, (unsigned)now.n)].path);
	list_release(&now);
	return path;
}

/* Is the branch that `want` was on another's by now, or does it lead to another commit, or to none? */
static bool has_lost_branch(const struct history *history, size_t place, const struct scene *want)
{
	const char *branch = scene_branch(want);
	struct child child = CHILD_INIT;
	bool is_lost = is_tree(history, place) && find_tree_on(history, branch, place, true) != NONE;
	char *name;

	if (!branch || is_lost)
		return is_lost;
	name = copy_of(branch + strlen("ref: "));
	cut_newline(name);
	RUN(&child, history->sessions[place].dir, NULL, "git", "rev-parse", "-q", "--verify", name);
	cut_newline(child.out.ptr);
	is_lost = strcmp(child.out.ptr, want->shot.git.head) != 0;
	free(name);
	child_release(&child);
	return is_lost;
}

/*
 * What HEAD has to say in a workspace that came back to `want`: it is on no branch where it has lost that, or where that is a state of
 * another place (`is_foreign`); and on a new one where there is no commit to be at. The caller frees it.
 */
static char *head_of_return(const struct history *history, size_t place, const struct scene *want, bool is_foreign)
{
	const char *commit = want->shot.git.head;
	char *text;

	if (!is_foreign && !has_lost_branch(history, place, want))
		return copy_of(scene_head(want));
	if (!*commit)
		return copy_of(scene_head(&history->sessions[place].after));
	if (asprintf(&text, "%s\n", commit) < 0)
		die("no memory");
	return text;
}

static const struct scene *base_of(const struct history *history, size_t session)
{
	return &history->sessions[history->sessions[session].origin].base;
}

/*
 * The workspace of `session` went back to `want`, which `place` had been; then HEAD stands where it does in its base if there was no
 * commit elsewhere.
 */
static void check_went_back(struct history *history, const char *verb, size_t session, const struct scene *want,
			    size_t place)
{
	const struct scene *base = base_of(history, session), *after = &history->sessions[session].after;
	bool is_foreign = place != session;
	struct text *report = &history->world->report;
	char *head;

	if (!want->is_there || !has_own_head(history, session))
		return;
	if (is_foreign && !*want->shot.git.head) {
		gitstate_compare_head(report, verb, &base->shot.git, &after->shot.git, false);
		return;
	}
	head = head_of_return(history, session, want, is_foreign);
	if (strcmp(head, scene_head(after)) != 0)
		text_addf(report, "%s: HEAD should be %s and is %s", verb, head, scene_head(after));
	scene_compare_head(report, verb, want, after, !is_foreign && has_same_rules(history, session));
	free(head);
}

/* `shot` is NULL for the base. */
static void revert_to(struct history *history, size_t session, const struct snap *shot)
{
	const char *id = history->sessions[session].id;

	if (shot && do_verb(history, session, true, ARGV("revert", "--to", shot->id, id)))
		check_went_back(history, "revert --to", session, &shot->scene, shot->session);
	else if (!shot && do_verb(history, session, true, ARGV("revert", id)))
		check_went_back(history, "revert", session, base_of(history, session),
				history->sessions[session].origin);
}

/* To the base or a snapshot, all or one path, which is refused where it is in something that is left out. */
static void revert(struct history *history)
{
	struct rng *rng = &history->world->rng;
	size_t session = pick_session(history, false);
	const struct snap *shot = rng_chance(rng, 50) ? pick_shot(history) : NULL;
	const char *id = history->sessions[session].id;
	char *path = rng_chance(rng, 30) ? pick_path(history, session) : NULL;

	if (!session)
		return;
	if (path)
		do_verb(history, session, false, ARGV("revert", id, "--", path));
	else
		revert_to(history, session, shot);
	free(path);
}

/* A snapshot of whatever session, into this one or into the project. */
static void restore(struct history *history)
{
	size_t session = rng_chance(&history->world->rng, 75) ? pick_session(history, false) : 0;
	const struct snap *shot = pick_shot(history);

	if (shot && session &&
	    do_verb(history, session, true, ARGV("snapshot", "restore", shot->id, history->sessions[session].id)))
		check_went_back(history, "restore", session, &shot->scene, shot->session);
	else if (shot && !session && !count_open(history, true))
		do_verb(history, 0, true, ARGV("snapshot", "restore", "--force", shot->id));
}

/* All of it or one path. Not beside a session in place, which would have to keep apart whose change it is. */
static void apply(struct history *history)
{
	struct rng *rng = &history->world->rng;
	size_t session = pick_session(history, false);
	const char *id = history->sessions[session].id, *how = rng_chance(rng, 60) ? "--force" : "--quiet";
	char *path = session && rng_chance(rng, 25) ? pick_path(history, session) : NULL;
	char *spec;

	if (asprintf(&spec, ":(top,literal)%s", path ? path : "") < 0)
		die("no memory");
	if (session && !count_open(history, true))
		do_verb(history, 0, false, ARGV("apply", how, id, path ? "--" : NULL, spec));
	free(spec);
	free(path);
}

/* No commit can be made of a file whose encoding, by the attributes, is not what it has: then the session goes on. */
static void end_one(struct history *history, size_t k)
{
	struct world *world = history->world;
	struct session *session = &history->sessions[k];
	unsigned how = rng_below(&world->rng, 100);
	char branch[32];

	/* what is below it is ours: see take_git_dir() */
	snprintf(branch, sizeof(branch), "ended/%u", world->round);
	session->is_pending = !*session->agent && !session->in_place && how < 25;
	if (*session->agent)
		do_verb(history, k, false, ARGV("round", "end", "--agent", session->agent));
	else if (session->is_pending)
		do_verb(history, k, true, ARGV("end", session->id, "--pending"));
	else if (how < 45 && !world->set->method->is_plain)
		do_verb(history, k, false, ARGV("end", session->id, "--branch", branch));
	else
		do_verb(history, k, true, ARGV("end", session->id));
}

static void end(struct history *history)
{
	size_t session = pick_session(history, true);

	if (session)
		end_one(history, session);
}

/* What waits for a decision: where nothing differed, or the end was undone, there is nothing. */
static void decide(struct history *history)
{
	struct rng *rng = &history->world->rng;
	const char *how = rng_chance(rng, 50) ? "--force" : "--quiet";
	bool is_applied = rng_chance(rng, 60);

	for (size_t i = history->n_sessions; i-- > 1 && !count_open(history, true);) {
		const struct session *session = &history->sessions[i];

		if (!session->is_pending || session->is_open)
			continue;
		if (is_applied)
			do_verb(history, 0, false, ARGV("pending", "apply", how, session->id));
		else
			do_verb(history, NONE, false, ARGV("pending", "drop", session->id));
		return;
	}
}

/* Verbs that only look, keep what is there, or tidy up where there is nothing to tidy up. */
static void look(struct history *history)
{
	static const char *const verbs[][4] = { { "status" },           { "list" },
						{ "doctor" },           { "clean" },
						{ "snapshot", "list" }, { "archive", "create" } };
	const char *const *argv = verbs[rng_below(&history->world->rng, sizeof(verbs) / sizeof(*verbs))];
	struct child child = CHILD_INIT;

	must_work(history, &child, argv[0], run_verb(history, &child, NONE, argv));
	child_release(&child);
}

/* The step that `argv`, an undo or redo, would take; NONE: there is none. */
static size_t find_next(struct history *history, const char *const argv[ARGS_MAX - 1])
{
	const char *all[ARGS_MAX] = { "undo", "--dry-run" }, *id;
	struct child child = CHILD_INIT;
	size_t at;

	memcpy(all + 2, argv + 1, (ARGS_MAX - 2) * sizeof(*all));
	run_ews(history->world, &child, history->world->project, all);
	id = child.status ? NULL : strstr(child.out.ptr, "op-");
	at = find_step(history, id);
	if (child.status == 0 && at == NONE)
		text_addf(&history->world->report, "of a step that no list has: %s\n", child.out.ptr);
	child_release(&child);
	return at;
}

/* An end that is done again is a step of its own. */
static void pass_on(struct history *history, size_t old, size_t first)
{
	struct step *from = &history->steps[old];

	for (size_t i = first; i < history->n_steps; i++) {
		struct step *step = &history->steps[i];

		if (strcmp(step->verb, from->verb) != 0 || step->session != from->session)
			continue;
		move_scene(&step->from, &from->from);
		move_scene(&step->to, &from->to);
		step->is_known = from->is_known;
		from->is_known = false;
	}
}

/*
 * The step was undone, or done again. Where it stood as the step, or its undo, had left it, it stands as on the other side
 * now; where something was done since, the way back gives that.
 */
static void check_turned(struct history *history, size_t at, bool is_redo, const struct child *child, int status)
{
	struct step *step = &history->steps[at];
	struct scene *here = is_redo ? &step->from : &step->to, *there = is_redo ? &step->to : &step->from;
	struct scene *before = &history->sessions[step->place].before, *after = &history->sessions[step->place].after;
	bool has_since = !step->is_known || !scene_is(here, before);
	/* a project's files are as new as they are, and so is what may have been made of products that went */
	bool has_times = step->place && !history->sessions[step->place].with_ignored && !step->had_since;
	char *what;

	if (status == WAS_KILLED && scene_is(before, after))
		return;
	if (asprintf(&what, "%s of %s", is_redo ? "redo" : "undo", step->verb) < 0)
		die("no memory");
	if (!has_since) {
		must_work(history, child, what, status);
		if (has_own_head(history, step->place) && there->is_there && after->is_there) {
			char *head = head_of_return(history, step->place, there, false);

			scene_set_head(there, head);
			scene_compare_head(&history->world->report, what, there, after,
					   has_same_rules(history, step->place));
			free(head);
		}
		scene_compare(&history->world->report, what, there, after, has_times ? TIMES_FILES : TIMES_NONE);
	}
	free(what);
	take_with_head(history, step->place, there);
	/* of an end in place, what it took back is a step of its own */
	if (is_redo && is_mere_end(history, step))
		take_with_head(history, step->place, here);
	else
		move_scene(here, before);
	/* where it found nothing to do, its other side is still what it was at first */
	step->is_known = !has_since || !scene_is(here, there);
	step->had_since = has_since;
}

/* One step back or forth: the newest, or the newest of a session. False: there is none, or it was refused. */
static bool turn(struct history *history, bool is_redo)
{
	struct world *world = history->world;
	const char *argv[ARGS_MAX - 1] = { "undo", "--json" };
	size_t n = 2, n_steps = history->n_steps, at, session;
	struct child child = CHILD_INIT;
	bool is_turned;
	int status;

	if (is_redo)
		argv[n++] = "--redo";
	if (history->n_sessions > 1 && rng_chance(&world->rng, 40))
		argv[n++] = history->sessions[1 + rng_below(&world->rng, (unsigned)history->n_sessions - 1)].id;
	at = find_next(history, argv);
	if (at == NONE)
		return false;
	session = history->steps[at].session;
	text_addf(&world->log, "  %s, %s of %s\n", history->steps[at].id, history->steps[at].verb,
		  history->sessions[session].id);
	if (history->steps[at].place != place_of(history, session))
		session = history->steps[at].place;
	status = run_verb(history, &child, session, argv);
	learn_steps(history, NONE);
	note_open(history);
	is_turned = !is_refused(&child, status);
	/* nothing works beside what works in place */
	if (!is_turned && !strstr(child.out.ptr, "\"code\":\"busy\""))
		must_work(history, &child, "undo", status);
	if (status == 0 && !strstr(child.out.ptr, history->steps[at].id))
		text_addf(&world->report, "undo took another step than it had said: %s\n", child.out.ptr);
	if (is_turned && session != NONE)
		check_turned(history, at, is_redo, &child, status);
	if (is_redo)
		pass_on(history, at, n_steps);
	child_release(&child);
	return is_turned && !world->report.len;
}

/* A few back, and perhaps all of them forth again; or one forth. */
static void undo(struct history *history)
{
	unsigned n = rng_below(&history->world->rng, 4), done = 0;
	bool with_redo = !n || rng_chance(&history->world->rng, 65);

	while (done < n && turn(history, false))
		done++;
	for (done += !n; with_redo && done > 0 && turn(history, true); done--)
		;
}

/*
 * A workspace is on a branch, leaves it by a verb, and comes back; but meanwhile something is done with the branch, be it by the agent,
 * by another one or in the project.
 */
static void leave_branch(struct history *history)
{
	struct world *world = history->world;
	size_t session = pick_session(history, false), n_shots = history->n_shots;
	const char *name = pick_branch(&world->rng);
	bool is_end = rng_chance(&world->rng, 30), with_shot = !is_end && rng_chance(&world->rng, 50);
	struct place place;

	if (!has_own_head(history, session))
		return;
	place = enter_place(history, session);
	mutate_take_branch(&world->rng, &place, name, &world->log);
	if (is_end)
		end_one(history, session);
	else if (with_shot)
		take_snapshot(history, session);
	if (!is_end && !world->report.len)
		revert_to(history, session, NULL);
	for (unsigned n = rng_below(&world->rng, 4); n > 0 && !world->report.len; n--) {
		place = enter_place(history, pick_place(history, 50));
		mutate_branch(&world->rng, &place, name, &world->log);
	}
	if (!world->report.len && history->n_shots > n_shots)
		revert_to(history, session, &history->shots[n_shots]);
	else if (!world->report.len && turn(history, false) && rng_chance(&world->rng, 40))
		turn(history, true);
}

static const struct {
	void (*play)(struct history *history);
	unsigned weight;
} deeds[] = {
	{ change, 28 },         { start, 12 },       { snapshot, 7 },     { revert, 10 }, { restore, 6 },
	{ apply, 9 },           { end, 6 },          { decide, 4 },       { undo, 14 },   { look, 3 },
	{ change_branches, 6 }, { leave_branch, 6 }, { change_rules, 5 },
};

static void play_step(struct history *history)
{
	unsigned sum = 0, k;
	size_t i = 0;

	for (; i < sizeof(deeds) / sizeof(*deeds); i++)
		sum += deeds[i].weight;
	k = rng_below(&history->world->rng, sum);
	for (i = 0; k >= deeds[i].weight; i++)
		k -= deeds[i].weight;
	deeds[i].play(history);
}

static void release(struct history *history)
{
	for (size_t i = 0; i < history->n_sessions; i++) {
		scene_release(&history->sessions[i].before);
		scene_release(&history->sessions[i].after);
		scene_release(&history->sessions[i].base);
		free(history->sessions[i].dir);
		free(history->sessions[i].git_dir);
	}
	for (size_t i = 0; i < history->n_steps; i++) {
		scene_release(&history->steps[i].from);
		scene_release(&history->steps[i].to);
	}
	for (size_t i = 0; i < history->n_shots; i++)
		scene_release(&history->shots[i].scene);
	free(history->sessions);
	free(history->steps);
	free(history->shots);
}

void play_history(struct world *world, unsigned steps)
{
	struct history history = { .world = world, .n_sessions = 1 };
	bool is_plain = world->set->method->is_plain;

	history.sessions = grow(NULL, sizeof(*history.sessions));
	history.sessions[0] = (struct session){ .id = "the project",
						.dir = copy_of(world->project),
						.git_dir = is_plain ? NULL : copy_of(world->git_dir) };
	change(&history);
	start(&history);
	for (; world->round < steps && !world->report.len; world->round++) {
		text_addf(&world->log, "step %u\n", world->round);
		play_step(&history);
	}
	release(&history);
}
