/*
 * Commands: what a verb is, and what verbs share.
 *
 * A verb parses, asks the domain, and shows. Its answer is gathered in
 * `ctx->out` and written by git-ews.c once the verb has succeeded, so that
 * a failure leaves nothing half said on stdout. Talk goes to stderr through
 * ews_cmd_note() and ews_cmd_warn(), never with --json: there the object says it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_H
#define EWS_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/kin.h"
#include "base/opts.h"
#include "base/strv.h"
#include "store/home_project.h"
#include "store/repo.h"
#include "work/session.h"

/* What a verb returns after its usage was printed. */
#define EWS_CMD_USAGE_SHOWN 129

struct ews_cmd_ctx {
	const char *home; /* --home, or NULL */
	char *cwd; /* absolute, real */
	struct ews_repo *repo; /* after ews_cmd_open_repo() */
	struct ews_buf out; /* the answer */
	char *made; /* the session that this tells of, which is there also where nobody gets to read it; NULL: none */
	bool json, nul, quiet, verbose;
	struct ews_strv words; /* of a verb that takes paths those that stand before "--" */
	int progress; /* -1: when it is long, on a terminal */
	const char *color; /* --color, or NULL */
	bool no_color;
	struct ews_kin_list others; /* children that we had when we began: a shell's that became us */
	int signo; /* ends us when all is said; 0: none */
	int failure_status; /* what a failure exits with where the status is a command's; 0: as its code says */
};

struct ews_cmd {
	const char *name;
	const char *summary; /* for the usage of git ews; NULL: not shown there */
	/* Gives an exit status, or below zero an error's code. */
	int (*run)(struct ews_cmd_ctx *ctx, int argc, char **argv);
};

extern const struct ews_cmd ews_cmd_start;
extern const struct ews_cmd ews_cmd_run;
extern const struct ews_cmd ews_cmd_shell;
extern const struct ews_cmd ews_cmd_status;
extern const struct ews_cmd ews_cmd_list;
extern const struct ews_cmd ews_cmd_path;
extern const struct ews_cmd ews_cmd_diff;
extern const struct ews_cmd ews_cmd_snapshot;
extern const struct ews_cmd ews_cmd_revert;
extern const struct ews_cmd ews_cmd_apply;
extern const struct ews_cmd ews_cmd_end;
extern const struct ews_cmd ews_cmd_undo;
extern const struct ews_cmd ews_cmd_recover;
extern const struct ews_cmd ews_cmd_clean;
extern const struct ews_cmd ews_cmd_guard;
extern const struct ews_cmd ews_cmd_report;
extern const struct ews_cmd ews_cmd_artifact;
extern const struct ews_cmd ews_cmd_archive;
extern const struct ews_cmd ews_cmd_watch;
extern const struct ews_cmd ews_cmd_lock;
extern const struct ews_cmd ews_cmd_epoch;
extern const struct ews_cmd ews_cmd_suggestions;
extern const struct ews_cmd ews_cmd_pending;
extern const struct ews_cmd ews_cmd_round;
extern const struct ews_cmd ews_cmd_config;
extern const struct ews_cmd ews_cmd_doctor;
extern const struct ews_cmd ews_cmd_trust;
extern const struct ews_cmd ews_cmd_version;
extern const struct ews_cmd ews_cmd_interrupted;

/*
 * Run the verb that argv[1] names of those that the verb argv[0] has: a table of `n`. -h prints them. Gives what the
 * verb gave, EWS_CMD_USAGE_SHOWN, or EWS_EUSAGE.
 */
int ews_cmd_run_one_of(const struct ews_cmd *verbs, size_t n, struct ews_cmd_ctx *ctx, int argc, char **argv);

/* Clean `ctx->repo`, when ews.autoClean wants it and it is an hour since the last time. That fails nobody's verb. */
void ews_cmd_clean_now_and_then(struct ews_cmd_ctx *ctx);

/* What may stand on a verb's command line. */
struct ews_cmd_syntax {
	const char *const *usage; /* NULL-ended */
	const struct ews_opt *opts; /* the verb's own; NULL: none */
	const struct ews_opt *more_opts; /* and those that it shares with some others */
	size_t min_words, max_words;
	bool takes_paths; /* after "--" */
	bool prints_paths; /* has -z */
};

struct ews_cmd_args {
	struct ews_strv words;
	struct ews_strv paths;
};

#define EWS_CMD_ARGS_INIT { EWS_STRV_INIT, EWS_STRV_INIT }

/*
 * Read a command line: the verb's own options and those of all verbs. Gives 0,
 * EWS_CMD_USAGE_SHOWN after -h, or EWS_EUSAGE.
 */
int ews_cmd_parse(struct ews_cmd_args *args, struct ews_cmd_ctx *ctx, const struct ews_cmd_syntax *syntax, int argc,
		  char **argv);
void ews_cmd_args_release(struct ews_cmd_args *args);
EWS_CLEANUP_DEFINE(cmd_args, struct ews_cmd_args, ews_cmd_args_release)

/*
 * Find home and open the project of the current directory as `ctx->repo`. A signal that ends us has what we
 * are at then finished or taken back first (base/interrupt).
 */
int ews_cmd_open_repo(struct ews_cmd_ctx *ctx);
/* Likewise, for a verb that may make a project of a plain directory. */
int ews_cmd_open_repo_or_make(struct ews_cmd_ctx *ctx, enum ews_repo_make make);
/* Who works in a workspace is not who decides about the project: fails with EWS_EDENIED there. */
int ews_cmd_refuse_workspace(const struct ews_cmd_ctx *ctx);
/*
 * Open a project that home knows. Where something in its old place leads to it its sessions follow. Fails with EWS_ENOTFOUND when
 * it is gone, and when that leads to another repository. From here on it is there that a signal has things finished or taken back.
 */
int ews_cmd_open_known(struct ews_repo **out, const struct ews_cmd_ctx *ctx, const struct ews_home_project *project,
		       const char *home);

/*
 * The ids that `names` mean, each once, opening the project; of no name at all the one that is implied.
 * All are looked up before any is worked on, so that a wrong one stops all.
 */
int ews_cmd_session_ids(struct ews_strv *out, struct ews_cmd_ctx *ctx, const struct ews_strv *names);

/*
 * Open the project and the session that `name` means (NULL: as ews_session_open()).
 * An interrupted session is announced on stderr; a verb that `changes` it gets EWS_EINTERRUPTED.
 */
int ews_cmd_open_session(struct ews_session *out, struct ews_cmd_ctx *ctx, const char *name, bool changes);

/* Print the block that announces an interrupted session, on stderr; nothing with --json. */
void ews_cmd_announce(const struct ews_cmd_ctx *ctx, const char *id);
/* The same, of a session that a verb is about without opening it, where that is interrupted. */
void ews_cmd_meet(const struct ews_cmd_ctx *ctx, const char *id);

/*
 * Give the session that `name` means, or none when no name is given and none is implied: then
 * the project itself is meant. Returns 1 when `out` was opened, else 0.
 */
int ews_cmd_open_session_or_project(struct ews_session *out, struct ews_cmd_ctx *ctx, const char *name, bool changes);

/*
 * Turn the user's paths into paths relative to `root`: relative ones are seen from the current
 * directory; where that lies in another twin, from the same place in `root`, and outside of all from its top.
 * The top itself stands for all,
 * which is an empty `out`. Fails with EWS_EUSAGE on one that leads outside.
 */
int ews_cmd_paths(struct ews_strv *out, const struct ews_cmd_ctx *ctx, const char *root,
		  const struct ews_strv *paths);
/*
 * The same, where they may be pathspecs of git: then `*are_specs`, and `out` has what ews_pathspec_from_top() makes of them. One that is
 * wrong in itself git finds fault with when it is asked.
 */
int ews_cmd_pathspecs(struct ews_strv *out, bool *are_specs, const struct ews_cmd_ctx *ctx, const char *root,
		      const struct ews_strv *specs);
/* The place that these are seen from, as git's prefix: relative to `root`, with a slash at its end; "" at the top or outside. The caller frees it. */
char *ews_cmd_here(const struct ews_cmd_ctx *ctx, const char *root);

/* The items for a function that takes NULL as "all". */
const char *const *ews_cmd_only(const struct ews_strv *paths);

/* "90s", "15m", "12h", "3d", "2w", also "2.weeks" and "3 days": seconds. Fails with EWS_EUSAGE. */
int ews_cmd_age(int64_t *out, const char *text);
/* Seconds, with a fraction, as in "60" and "0.5", to milliseconds; what is more than nothing is at least one. Fails with EWS_EUSAGE. */
int ews_cmd_seconds(uint64_t *out_ms, const char *text, unsigned max_s);

/* Ask `question` on the terminal. Gives 1 for yes, 0 for no; EWS_EDENIED without a terminal, `instead` being the hint. */
int ews_cmd_ask(const char *question, const char *instead);
/* Is there somebody to ask? */
bool ews_cmd_can_ask(void);

/* Add the path that is the answer as it is, for x=$(git ews ...), and a line's end, or a NUL with -z. */
void ews_cmd_add_place(struct ews_cmd_ctx *ctx, const char *path);
/* Add one of several paths, quoted where it is odd, and a line's end, or a NUL with -z. */
void ews_cmd_add_path_line(struct ews_cmd_ctx *ctx, const char *path);

/* A JSON object whose first key is "schema": "ews.<what>/1". */
cJSON *ews_cmd_json_new(const char *what);
/* Add the object to the answer, on one line where no terminal reads it. */
void ews_cmd_json_show(struct ews_cmd_ctx *ctx, const cJSON *object);

/* "note: ..." (not with -q) and "warning: ..." on stderr; nothing with --json. */
__attribute__((format(printf, 2, 3))) void ews_cmd_note(const struct ews_cmd_ctx *ctx, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void ews_cmd_warn(const struct ews_cmd_ctx *ctx, const char *fmt, ...);
/* Warn of what is wrong with the settings, when they were read; what the error that is set says is not said twice. */
void ews_cmd_warn_of_settings(const struct ews_cmd_ctx *ctx);
/*
 * Print `text` to stderr, control bytes made harmless. Behind a prefix it is one line, whatever names are in it: a program
 * that reads what follows "error: " or "drift: " counts on that. Only where `prefix` is empty do its newlines hold.
 */
void ews_cmd_say(const char *prefix, const char *text);

#endif
