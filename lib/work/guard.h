/*
 * The guard: may this command be run?
 *
 * It judges words as they would be executed, never a text by pattern. git's own command lines are judged by a table
 * (work/guard_table); what runs another command (env, xargs, find -exec, sh -c) is looked through; all other commands
 * are nobody's business here, but those that plainly write into a ".git". The guard speaks to honest commands: what a
 * program does once it runs, the kernel has to stop (base/sandbox).
 *
 * It knows no session. Under the policy `inside` it denies what names another repository or a remote; where a
 * directory given with -C leads, it can't tell.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_H
#define EWS_WORK_GUARD_H

#include "store/config.h"
#include "work/guard_git.h"
#include "work/verdict.h"

/*
 * Judge the NULL-ended `argv`: "git", "status"; "/usr/bin/git"; "env", "git", ...; "sh", "-c", text. What stands before
 * a command in a shell, "A=b", "git", ..., is taken as `env` would.
 * `out` is released by the caller. Returns 0.
 */
int ews_guard_judge(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, char *const *argv);

/*
 * The same where people or programs hand the words over before anything runs, and may have taken a text for words: all of it as
 * one, or parted at its blanks ("cd", "x", "&&", "git", "push"). What a shell would run of it counts as well.
 */
int ews_guard_judge_words(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, char *const *argv);

/*
 * Judge a text for a shell: it gets the worst verdict of the commands that it would run. What expands is put in where
 * the text itself says what it is; elsewhere it is unknown, and denied where it could make git do something else. The
 * same with a text that can't be read.
 */
int ews_guard_judge_shell(struct ews_guard_verdict *out, const struct ews_guard_rules *rules, const char *text);

/* Read the rules from the settings. Fails with EWS_ECONFIG. */
int ews_guard_rules_read(struct ews_guard_rules *out, const struct ews_config *config);

#endif
