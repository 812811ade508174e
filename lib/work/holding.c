/*
 * Holdings: see holding.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/holding.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "store/home.h"
#include "work/round_find.h"
#include "work/session_name.h"

#define GATE "gate:holdings"
#define GATE_MS 30000
#define NOTE_BYTES_MAX (64 * EWS_KIB)
#define NOTE_VERSION 1
#define STEP_MS 5 /* between two looks, for who is next in line; twice that for the one behind him, ... */
#define STEP_MAX_MS 50
#define NAMED_MAX 3
#define INTENT_SHOWN 60
#define TURN_DIGITS 20

static const char *const modes[] = { [EWS_HOLDING_QUICK] = "quick", [EWS_HOLDING_DEEP] = "deep" };
static const char *const kinds[] = {
	[EWS_HOLDING_SESSION] = "session",
	[EWS_HOLDING_OWNER] = "owner",
	[EWS_HOLDING_COMMAND] = "command",
};

const char *ews_holding_word(enum ews_holding_mode mode)
{
	return modes[mode];
}

static void release_one(struct ews_holding *holding)
{
	free(holding->id);
	free(holding->pid_namespace);
	free(holding->session);
	free(holding->intent);
}

void ews_holdings_release(struct ews_holdings *list)
{
	for (size_t i = 0; i < list->n; i++)
		release_one(&list->items[i]);
	free(list->items);
	*list = (struct ews_holdings)EWS_HOLDINGS_INIT;
}

/* The caller frees it. */
static char *format_name(const struct ews_holding *holding)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;

	if (holding->turn)
		ews_buf_addf(&name, "wait:%0*" PRIu64 ":", TURN_DIGITS, holding->turn);
	ews_buf_addf(&name, "%s:%s:%s", modes[holding->mode], kinds[holding->kind], holding->id);
	return ews_buf_steal(&name);
}

/* The word of `words` that `*at` begins with, up to a colon; `*at` moves behind that. 0: none. */
static int read_word(const char **at, const char *const *words, int n)
{
	for (int i = 1; i < n; i++) {
		size_t len = strlen(words[i]);

		if (strncmp(*at, words[i], len) || (*at)[len] != ':')
			continue;
		*at += len + 1;
		return i;
	}
	return 0;
}

/* Nothing of a name that is not exactly ours is believed. */
static bool parse_name(struct ews_holding *out, const char *name)
{
	const char *at = name;
	char *end;

	*out = (struct ews_holding){ .turn = 0 };
	if (ews_str_begins(at, "wait:")) {
		at += strlen("wait:");
		if (strspn(at, "0123456789") != TURN_DIGITS || at[TURN_DIGITS] != ':')
			return false;
		errno = 0;
		out->turn = strtoull(at, &end, 10);
		if (errno || !out->turn)
			return false;
		at = end + 1;
	}
	out->mode = (enum ews_holding_mode)read_word(&at, modes, sizeof(modes) / sizeof(*modes));
	out->kind = (enum ews_holding_kind)(out->mode ? read_word(&at, kinds, sizeof(kinds) / sizeof(*kinds)) : 0);
	if (!out->kind)
		return false;
	if (ews_session_check_id(at) < 0) {
		ews_error_clear();
		return false;
	}
	out->id = ews_strdup(at);
	return true;
}

bool ews_holding_is_name(const char *name)
{
	struct ews_holding holding;
	bool is_ours = parse_name(&holding, name);

	if (is_ours)
		free(holding.id);
	return is_ours;
}

/* Who holds before who waits, deep before quick, then by turn and name. */
static int compare(const void *a, const void *b)
{
	const struct ews_holding *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	if (x->mode != y->mode)
		return x->mode == EWS_HOLDING_DEEP ? -1 : 1;
	if (x->since_s != y->since_s)
		return x->since_s < y->since_s ? -1 : 1;
	return strcmp(x->id, y->id);
}

static void sort(struct ews_holdings *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), compare);
}

/* What the names say, living or not. */
static int read_names(struct ews_holdings *out, int locks_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, locks_fd);

	for (ssize_t i = 0; i < n; i++) {
		struct ews_holding holding;

		if (!parse_name(&holding, names.items[i].name))
			continue;
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = holding;
	}
	sort(out);
	return n < 0 ? (int)n : 0;
}

/*
 * Has the session not ended? While a verb is at work on it that is for the verb to say. One whose state can't be read may
 * well live: 'lock release' and 'end' take its lock from it.
 */
static bool has_session(const struct ews_holding *holding, const struct ews_repo *repo, int locks_fd)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", holding->id);
	EWS_CLEANUP(free) char *owner = ews_strfmt("owner:%s", holding->id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->dir_fd, rel);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = fd < 0 ? fd : ews_state_read(&state, fd);

	ews_error_clear();
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return true;
	if (rc == 0 && state.state == EWS_STATE_ACTIVE &&
	    (holding->kind != EWS_HOLDING_OWNER || !state.owner.pid || ews_lock_is_held(locks_fd, owner)))
		return true;
	return ews_lock_is_held(locks_fd, holding->id);
}

static bool is_living(const struct ews_holding *holding, const struct ews_repo *repo, int locks_fd)
{
	EWS_CLEANUP(free) char *name = NULL;

	if (!holding->turn && holding->kind != EWS_HOLDING_COMMAND)
		return has_session(holding, repo, locks_fd);
	name = format_name(holding);
	return ews_lock_is_held(locks_fd, name);
}

/* In which pid namespace we count, as the kernel calls it; "" where it doesn't say. */
static void read_pid_namespace(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/ns/pid", out, size - 1);

	out[n > 0 ? n : 0] = '\0';
}

static void write_note(struct ews_buf *out, const struct ews_holding_opts *opts)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();
	struct ews_kin self;
	char space[64];

	ews_kin_self(&self);
	read_pid_namespace(space, sizeof(space));
	ews_json_add_int(json, "version", NOTE_VERSION);
	ews_json_add_int(json, "since", ews_clock_now());
	ews_json_add_int(json, "pid", self.pid);
	ews_json_add_int(json, "start_time", (int64_t)self.start_time);
	(void)cJSON_AddStringToObject(json, "boot_id", self.boot_id);
	(void)cJSON_AddStringToObject(json, "pid_namespace", space);
	ews_json_add_bytes(json, "session", opts->session ? opts->session : opts->within ? opts->within : "");
	ews_json_add_bytes(json, "intent", opts->intent ? opts->intent : "");
	ews_json_print(out, json, false);
}

/* What can't be read is not known; it makes nobody's lock any less. */
static void read_note(struct ews_holding *holding, int locks_fd)
{
	EWS_CLEANUP(free) char *name = format_name(holding);
	EWS_CLEANUP(json) cJSON *json = NULL;
	const char *text = NULL;
	struct ews_kin self;
	int64_t number;
	char space[64];
	struct stat st;
	int rc;

	if (fstatat(locks_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		holding->since_s = st.st_mtim.tv_sec;
	rc = ews_json_read(&json, locks_fd, name, NOTE_BYTES_MAX);
	holding->is_unread = rc < 0 && ews_error_if_passing(rc) < 0;
	if (rc == 0 && ews_json_check_version(json, NOTE_VERSION) == 0) {
		if (ews_json_get_int(&number, json, "since") == 0)
			holding->since_s = number;
		if (ews_json_get_int(&number, json, "pid") == 0 && number > 0 && number <= INT32_MAX)
			holding->process.pid = (pid_t)number;
		if (ews_json_get_int(&number, json, "start_time") == 0 && number >= 0)
			holding->process.start_time = (uint64_t)number;
		if (ews_json_get_string(&text, json, "boot_id") == 0)
			(void)snprintf(holding->process.boot_id, sizeof(holding->process.boot_id), "%s", text);
		if (ews_json_get_string(&text, json, "pid_namespace") == 0)
			holding->pid_namespace = ews_strndup(text, 63);
		if (ews_json_get_bytes(&holding->session, json, "session") < 0 ||
		    ews_json_get_bytes(&holding->intent, json, "intent") < 0)
			ews_error_clear();
	}
	ews_error_clear();
	ews_kin_self(&self);
	read_pid_namespace(space, sizeof(space));
	holding->is_elsewhere = holding->process.pid &&
				(strcmp(holding->process.boot_id, self.boot_id) != 0 || !holding->pid_namespace ||
				 strcmp(holding->pid_namespace, space) != 0);
	if (!holding->pid_namespace)
		holding->pid_namespace = ews_strdup("");
	if (!holding->session)
		holding->session = ews_strdup("");
	if (!holding->intent)
		holding->intent = ews_strdup("");
}

void ews_holding_name(struct ews_buf *out, const struct ews_holding *holding)
{
	if (holding->kind != EWS_HOLDING_COMMAND)
		ews_buf_addf(out, "session '%s'", holding->id);
	else if (!holding->process.pid)
		ews_buf_adds(out, "a process");
	else
		ews_buf_addf(out, "process %ld%s", (long)holding->process.pid,
			     holding->is_elsewhere ? " of another container" : "");
}

/* One taking, from the first look to the last. */
struct taking {
	struct ews_repo *repo;
	const struct ews_holding_opts *opts;
	int locks_fd;
	struct ews_held *out;
	struct ews_lock ticket; /* our place in line, while we wait */
	uint64_t turn; /* 0: none */
	char *id; /* what we hold it as */
	bool is_hopeless; /* no waiting would help */
};

static void release_taking(struct taking *taking)
{
	ews_lock_release(&taking->ticket);
	free(taking->id);
	if (taking->locks_fd >= 0)
		close(taking->locks_fd);
}

EWS_CLEANUP_DEFINE(taking, struct taking, release_taking)

/* Is `id` among those that $EWS_LOCK names, with a colon between them? */
static bool is_above_us(const char *id)
{
	const char *at = getenv(EWS_HOLDING_ENV);
	size_t len = strlen(id);

	for (; at && *at; at += strcspn(at, ":"), at += *at == ':')
		if (!strncmp(at, id, len) && (!at[len] || at[len] == ':'))
			return true;
	return false;
}

/* Is it what we hold already, ourselves or through who started us? */
static bool is_own(const struct taking *taking, const struct ews_holding *holding)
{
	const struct ews_holding_opts *opts = taking->opts;

	if (holding->turn)
		return holding->turn == taking->turn;
	if (holding->kind == EWS_HOLDING_COMMAND)
		return is_above_us(holding->id) || (opts->beside && !strcmp(holding->id, opts->beside));
	return (opts->session && !strcmp(holding->id, opts->session)) ||
	       (opts->within && !strcmp(holding->id, opts->within));
}

static bool holds_already(const struct taking *taking, const struct ews_holdings *list)
{
	for (size_t i = 0; i < list->n && !list->items[i].turn; i++)
		if (is_own(taking, &list->items[i]) && is_living(&list->items[i], taking->repo, taking->locks_fd))
			return true;
	return false;
}

/* Is it in our way, if it lives? */
static bool may_bar(const struct taking *taking, const struct ews_holding *holding, bool holds)
{
	if (taking->opts->mode == EWS_HOLDING_QUICK && holding->mode == EWS_HOLDING_QUICK)
		return false;
	if (is_own(taking, holding))
		return false;
	return !holding->turn || (!holds && (!taking->turn || holding->turn < taking->turn));
}

/* Who is in our way, at most `max` of them; all are counted. */
static size_t find_bars(const struct ews_holding **out, size_t max, const struct taking *taking,
			const struct ews_holdings *list)
{
	bool holds = holds_already(taking, list);
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (!may_bar(taking, &list->items[i], holds) ||
		    !is_living(&list->items[i], taking->repo, taking->locks_fd))
			continue;
		if (n < max)
			out[n] = &list->items[i];
		n++;
	}
	return n;
}

static void add_bar(struct ews_buf *out, struct ews_holding *holding, int locks_fd)
{
	char age[EWS_STAMP_LEN];

	read_note(holding, locks_fd);
	ews_clock_age(age, ews_clock_now() - holding->since_s);
	ews_holding_name(out, holding);
	ews_buf_addf(out, " (%s%s, for %s", holding->turn ? "waits for " : "", modes[holding->mode], age);
	if (*holding->intent)
		ews_buf_addf(out, ": %.*s", INTENT_SHOWN, holding->intent);
	ews_buf_addc(out, ')');
}

static void set_hint(const struct taking *taking, const struct ews_holding *first, size_t n, bool is_round)
{
	if (taking->is_hopeless)
		ews_error_hint("'git ews lock release %s' lets go of the quick one", taking->opts->session);
	else if (first->turn)
		ews_error_hint(
			"'git ews lock acquire --wait <seconds>' stands in line, 'git ews lock status' shows it");
	else if (first->kind == EWS_HOLDING_COMMAND)
		ews_error_hint(
			"it lasts until the command ends; 'git ews lock acquire --wait <seconds>' waits for it");
	else if (n > 1)
		ews_error_hint("'git ews lock status' shows them; each lets go of it when it ends");
	else if (is_round)
		ews_error_hint(
			"'git -C \"$(git ews path %s)\" ews round end' or 'git ews lock release %s' lets go of it",
			first->id, first->id);
	else
		ews_error_hint("'git ews end %s' or 'git ews lock release %s' lets go of it", first->id, first->id);
}

/* Fail with EWS_EBUSY: who, since when, what for. */
static int fail_busy(const struct taking *taking, const struct ews_holding *const *bars, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf who = EWS_BUF_INIT;
	bool is_round = ews_round_is_session(taking->repo, bars[0]->id);

	for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
		ews_buf_adds(&who, i ? ", " : "");
		add_bar(&who, (struct ews_holding *)bars[i], taking->locks_fd);
	}
	if (n > NAMED_MAX)
		ews_buf_addf(&who, " and %zu more", n - NAMED_MAX);
	if (taking->is_hopeless)
		(void)ews_error(EWS_EBUSY, "%s wants to go from quick to deep, too: each would wait for the other",
				who.ptr);
	else
		(void)ews_error(EWS_EBUSY, "no %s lock beside %s", modes[taking->opts->mode], who.ptr);
	set_hint(taking, bars[0], n, is_round);
	return EWS_EBUSY;
}

/* Another session that waits for the deep lock while it holds the quick one, as we do. */
static const struct ews_holding *find_rival(const struct taking *taking, const struct ews_holdings *list)
{
	const struct ews_holding_opts *opts = taking->opts;

	if (!opts->session || opts->mode != EWS_HOLDING_DEEP || taking->turn || !holds_already(taking, list))
		return NULL;
	for (size_t i = 0; i < list->n; i++) {
		const struct ews_holding *waits = &list->items[i];

		if (!waits->turn || waits->mode != EWS_HOLDING_DEEP || waits->kind == EWS_HOLDING_COMMAND ||
		    !strcmp(waits->id, opts->session) || !is_living(waits, taking->repo, taking->locks_fd))
			continue;
		for (size_t k = 0; k < list->n && !list->items[k].turn; k++)
			if (list->items[k].kind != EWS_HOLDING_COMMAND && !strcmp(list->items[k].id, waits->id))
				return waits;
	}
	return NULL;
}

/* Under the gate: the files of the dead go, so that they need not be looked at again. */
static void bury(struct ews_holdings *list, const struct ews_repo *repo, int locks_fd)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct ews_holding *holding = &list->items[i];
		EWS_CLEANUP(free) char *name = NULL;
		bool is_left = is_living(holding, repo, locks_fd);

		/* What a dead owner has left is for recover to see. */
		if (!is_left && !holding->turn && holding->kind == EWS_HOLDING_OWNER) {
			const struct ews_holding left = { .kind = EWS_HOLDING_SESSION, .id = holding->id };

			is_left = has_session(&left, repo, locks_fd);
		}
		if (is_left) {
			list->items[kept++] = *holding;
			continue;
		}
		name = format_name(holding);
		(void)ews_file_remove_tree(locks_fd, name); /* best effort: it holds nothing */
		ews_error_clear();
		release_one(holding);
	}
	list->n = kept;
}

static int take_gate(struct ews_lock *out, int locks_fd)
{
	int rc = ews_lock_take(out, locks_fd, GATE, "lock", GATE_MS);

	return rc < 0 ? ews_error_wrap("cannot look at who holds the lock") : 0;
}

/* A file that is ours as long as we live. */
static int hold_file(struct ews_lock *out, const struct taking *taking, const struct ews_holding *as)
{
	EWS_CLEANUP(free) char *name = format_name(as);
	EWS_CLEANUP(buf) struct ews_buf note = EWS_BUF_INIT;
	int rc;

	write_note(&note, taking->opts);
	rc = ews_lock_take(out, taking->locks_fd, name, "lock", 0);
	if (rc == 0)
		ews_lock_note(out, note.ptr, note.len);
	return rc;
}

/* The session must be there when its lock is written: what ends later takes the lock away. */
static int check_session(const struct taking *taking)
{
	const struct ews_holding as = { .kind = EWS_HOLDING_SESSION, .id = (char *)taking->opts->session };

	if (has_session(&as, taking->repo, taking->locks_fd))
		return 0;
	return ews_error(EWS_ENOTFOUND, "session '%s' has ended", taking->opts->session);
}

static void remove_of(const char *id, int locks_fd, enum ews_holding_mode mode, enum ews_holding_kind kind)
{
	const struct ews_holding holding = { .mode = mode, .kind = kind, .id = (char *)id };
	EWS_CLEANUP(free) char *name = format_name(&holding);

	(void)ews_file_remove_tree(locks_fd, name); /* best effort: of two the deep one would hold on */
	ews_error_clear();
}

/* First the new one, then what it stands for goes: there is no moment without any. */
static int hold_for_session(const struct taking *taking)
{
	const struct ews_holding_opts *opts = taking->opts;
	const struct ews_holding as = { .mode = opts->mode,
					.kind = opts->is_owned ? EWS_HOLDING_OWNER : EWS_HOLDING_SESSION,
					.id = (char *)opts->session };
	EWS_CLEANUP(free) char *name = format_name(&as);
	EWS_CLEANUP(buf) struct ews_buf note = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	int rc = check_session(taking);

	if (rc < 0)
		return rc;
	write_note(&note, opts);
	fd = openat(taking->locks_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		rc = ews_file_write_fd(fd, note.ptr, note.len);
	else if (errno == EEXIST)
		rc = ews_file_replace(taking->locks_fd, name, note.ptr, note.len, 0600);
	else
		rc = ews_error_os("cannot make the lock '%s'", name);
	if (rc < 0)
		return rc;
	for (int mode = EWS_HOLDING_QUICK; mode <= EWS_HOLDING_DEEP; mode++)
		for (int kind = EWS_HOLDING_SESSION; kind <= EWS_HOLDING_OWNER; kind++)
			if (mode != (int)as.mode || kind != (int)as.kind)
				remove_of(as.id, taking->locks_fd, mode, kind);
	return 0;
}

static int grant(struct taking *taking)
{
	const struct ews_holding as = { .mode = taking->opts->mode, .kind = EWS_HOLDING_COMMAND, .id = taking->id };
	int rc;

	if (taking->opts->session)
		return hold_for_session(taking);
	rc = hold_file(&taking->out->lock, taking, &as);
	if (rc == 0)
		taking->out->id = ews_strdup(taking->id);
	return rc;
}

/* Behind all that wait. */
static int stand_in_line(struct taking *taking, const struct ews_holdings *list)
{
	const struct ews_holding_opts *opts = taking->opts;
	struct ews_holding as = { .mode = opts->mode,
				  .kind = opts->session ? EWS_HOLDING_SESSION : EWS_HOLDING_COMMAND,
				  .id = opts->session ? (char *)opts->session : taking->id,
				  .turn = 1 };
	int rc;

	if (list->n && list->items[list->n - 1].turn)
		as.turn = list->items[list->n - 1].turn + 1;
	rc = hold_file(&taking->ticket, taking, &as);
	if (rc == 0)
		taking->turn = as.turn;
	return rc;
}

/* Take it if nobody is in the way, else stand in line. Fails with EWS_EBUSY. */
static int try_once(struct taking *taking)
{
	EWS_CLEANUP(holdings) struct ews_holdings list = EWS_HOLDINGS_INIT;
	EWS_CLEANUP(lock) struct ews_lock gate = EWS_LOCK_INIT;
	const struct ews_holding *bars[NAMED_MAX];
	const struct ews_holding *rival;
	size_t n;
	int rc = take_gate(&gate, taking->locks_fd);

	if (rc == 0)
		rc = read_names(&list, taking->locks_fd);
	if (rc < 0)
		return rc;
	n = find_bars(bars, NAMED_MAX, taking, &list);
	if (!n)
		return grant(taking);
	rival = find_rival(taking, &list);
	taking->is_hopeless = rival != NULL;
	if (rival)
		return fail_busy(taking, &rival, 1);
	if (taking->opts->wait_ms && !taking->turn) {
		bury(&list, taking->repo, taking->locks_fd);
		rc = stand_in_line(taking, &list);
		if (rc < 0)
			return rc;
		n = find_bars(bars, NAMED_MAX, taking, &list);
	}
	return n ? fail_busy(taking, bars, n) : grant(taking);
}

/* Look now and then, the more often the nearer our turn is, until nobody seems to be in the way. */
static int wait_for_turn(const struct taking *taking, uint64_t deadline_ms)
{
	for (;;) {
		EWS_CLEANUP(holdings) struct ews_holdings list = EWS_HOLDINGS_INIT;
		const struct ews_holding *bar;
		uint64_t now = ews_clock_monotonic_ms(), step = STEP_MS;
		int rc = read_names(&list, taking->locks_fd);

		if (rc < 0 || now >= deadline_ms || !find_bars(&bar, 1, taking, &list))
			return rc;
		for (size_t i = 0; i < list.n && step < STEP_MAX_MS; i++)
			step += list.items[i].turn && list.items[i].turn < taking->turn ? STEP_MS : 0;
		ews_clock_sleep_ms((unsigned)(step < deadline_ms - now ? step : deadline_ms - now));
	}
}

int ews_holding_take(struct ews_held *out, struct ews_repo *repo, const struct ews_holding_opts *opts)
{
	EWS_CLEANUP(taking)
	struct taking taking = { .repo = repo, .opts = opts, .locks_fd = -1, .out = out, .ticket = EWS_LOCK_INIT };
	uint64_t deadline_ms = ews_clock_monotonic_ms() + opts->wait_ms;
	int rc = ews_repo_make_dir(repo);

	if (rc < 0)
		return rc;
	taking.id = ews_clock_id("lock", ews_clock_now());
	taking.locks_fd = ews_repo_subdir(repo, EWS_LOCKS);
	if (taking.locks_fd < 0)
		return taking.locks_fd;
	for (;;) {
		uint64_t now;

		rc = try_once(&taking);
		now = ews_clock_monotonic_ms();
		if (rc != EWS_EBUSY || taking.is_hopeless || now >= deadline_ms)
			break;
		rc = wait_for_turn(&taking, deadline_ms);
		if (rc < 0)
			return rc;
		ews_error_clear();
	}
	/* The name is what counts: it must be there after a power cut, too. */
	return rc == 0 && opts->session ? ews_file_sync_dir(taking.locks_fd) : rc;
}

void ews_held_release(struct ews_held *held)
{
	ews_lock_release(&held->lock);
	free(held->id);
	*held = (struct ews_held)EWS_HELD_INIT;
}

enum ews_holding_mode ews_holding_usual(const struct ews_method *method)
{
	return method->is_project ? EWS_HOLDING_DEEP : EWS_HOLDING_QUICK;
}

const char *ews_holding_within(const struct ews_repo *repo)
{
	return repo->here ? repo->here : getenv("EWS_SESSION");
}

int ews_holding_take_usual(struct ews_session *session, enum ews_holding_mode mode)
{
	EWS_CLEANUP(held) struct ews_held none = EWS_HELD_INIT;
	const struct ews_holding_opts opts = { .mode = mode ? mode : ews_holding_usual(session->method),
					       .session = session->state.id,
					       .within = ews_holding_within(session->repo),
					       .intent = session->state.intent };

	/* Nobody works where nothing is. */
	if (session->is_lost)
		return 0;
	return ews_holding_take(&none, session->repo, &opts);
}

int ews_holding_drop(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(fd) int locks = ews_repo_subdir(repo, EWS_LOCKS);
	int n = 0;

	if (locks < 0)
		return locks;
	for (int mode = EWS_HOLDING_QUICK; mode <= EWS_HOLDING_DEEP; mode++) {
		for (int kind = EWS_HOLDING_SESSION; kind <= EWS_HOLDING_OWNER; kind++) {
			const struct ews_holding holding = { .mode = mode, .kind = kind, .id = (char *)id };
			EWS_CLEANUP(free) char *name = format_name(&holding);
			int rc = ews_file_is_there(locks, name);

			n += rc > 0;
			if (rc > 0)
				rc = ews_file_remove_tree(locks, name);
			if (rc < 0)
				return rc;
		}
	}
	return n ? 1 : 0;
}

/* Gives -1 where there are none; fails where that can't be seen just now. */
static int open_locks(int *out, const struct ews_repo *repo)
{
	*out = repo->dir_fd < 0 ? -1 : ews_dir_open_beneath(repo->dir_fd, EWS_LOCKS);
	return *out < 0 && repo->dir_fd >= 0 ? ews_error_if_passing(*out) : 0;
}

int ews_holding_of(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(fd) int locks = -1;
	int rc = open_locks(&locks, repo);

	for (int mode = EWS_HOLDING_DEEP; mode >= EWS_HOLDING_QUICK && locks >= 0; mode--) {
		for (int kind = EWS_HOLDING_SESSION; kind <= EWS_HOLDING_OWNER; kind++) {
			const struct ews_holding holding = { .mode = mode, .kind = kind, .id = (char *)id };
			EWS_CLEANUP(free) char *name = format_name(&holding);

			rc = ews_file_is_there(locks, name);
			if (rc < 0)
				return rc;
			if (rc > 0 && has_session(&holding, repo, locks))
				return mode;
		}
	}
	return rc < 0 ? rc : 0;
}

int ews_holding_list(struct ews_holdings *out, struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int locks = -1;
	size_t kept = 0;
	int rc = open_locks(&locks, repo);

	if (locks < 0)
		return rc;
	rc = read_names(out, locks);
	for (size_t i = 0; i < out->n; i++) {
		if (is_living(&out->items[i], repo, locks)) {
			read_note(&out->items[i], locks);
			out->items[kept++] = out->items[i];
		} else {
			release_one(&out->items[i]);
		}
	}
	out->n = kept;
	sort(out);
	return rc;
}

int ews_holding_sweep(struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int locks = -1;
	EWS_CLEANUP(holdings) struct ews_holdings list = EWS_HOLDINGS_INIT;
	EWS_CLEANUP(lock) struct ews_lock gate = EWS_LOCK_INIT;
	int rc = open_locks(&locks, repo);

	if (locks < 0)
		return rc;
	/* Mostly there are none, and then nobody is kept waiting. */
	rc = read_names(&list, locks);
	if (rc < 0 || !list.n)
		return rc;
	ews_holdings_release(&list);
	rc = take_gate(&gate, locks);
	if (rc == 0)
		rc = read_names(&list, locks);
	if (rc == 0)
		bury(&list, repo, locks);
	return rc;
}
