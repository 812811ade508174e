/*
 * Processes: run a program, feed it, collect what it says, and end it in time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_PROC_H
#define EWS_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/progress_fn.h"

/* Where programs are looked for when nobody says. */
#define EWS_PROC_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

struct ews_proc {
	char *const *argv; /* argv[0] is looked up in the absolute directories of `env`'s PATH unless it has a slash */
	char *const *env; /* NULL: the caller's environment */
	const char *cwd; /* NULL: the caller's */
	const void *input; /* fed to standard input; NULL: /dev/null, or `in_fd` */
	size_t input_len;
	int in_fd, out_fd, err_fd; /* when > 0, used as they are; out/err 0 with no buffer: inherited */
	struct ews_buf *out; /* collects standard output */
	struct ews_buf *err; /* collects standard error */
	int *signal; /* which one ended it, 0: none; where a status of its own may look like that; may be NULL */
	unsigned timeout_ms; /* 0: none */
	ews_progress_fn progress; /* how many bytes came to `out`, and that it still runs, some times a second; may be NULL */
	void *payload;
	bool own_group; /* in a process group of its own: keys pressed on the terminal are not for it */
	bool takes_signals; /* those that the caller ignores as well */
	bool own_session; /* it goes on when its terminal does not */
};

/*
 * The first program called `name` in an absolute directory of `dirs`, a PATH (NULL or empty: the usual directories), that
 * `is_wanted` (NULL: any). Relative ones are passed by: the current directory may hold anything under any name.
 * NULL when there is none; the caller frees it.
 */
char *ews_proc_find(const char *name, const char *dirs, bool (*is_wanted)(const char *path));

/*
 * Run `p` to its end. Returns its exit status (128+n when signal n ended it).
 * Fails with EWS_ENOTFOUND when there is no such program, EWS_EBUSY when the
 * time ran out (the program is killed then), EWS_EIO otherwise. No descriptor
 * but 0 to 2 reaches the child.
 */
int ews_proc_run(const struct ews_proc *p);

/*
 * Only start `p`, connected with descriptors alone: buffers, input and time are left aside. The caller reaps
 * `*pid`. Fails as above.
 */
int ews_proc_start(pid_t *pid, const struct ews_proc *p);
/* Wait for the end of `pid`, called `name`. Returns its status as above. */
int ews_proc_reap(pid_t pid, const char *name);

/* The program that runs now, by its own name: an absolute path without links. The caller frees it. */
int ews_proc_self(char **out);

/*
 * Start `argv` in a session of its own, with nothing but /dev/null open, and don't wait for it: it goes
 * on when the caller has ended.
 */
int ews_proc_detach(char *const *argv);

#endif
