/*
 * Doctor, of the system: see doctor_system.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_system.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/kernel.h"
#include "base/sandbox.h"
#include "base/str.h"
#include "store/git.h"
#include "work/watch.h"

#define ABI_NETWORK 4
#define ABI_SCOPES 6
#define ANSWER_MAX EWS_KIB
/* What kernels before 5.11 have, however much memory there is: a watch is needed for each directory. */
#define WATCHES_MIN 8193
#define WATCHES_GOOD 1048576
#define INSTANCES_MIN 16
#define INSTANCES_GOOD 1024

static void look_at_git(struct ews_checkup *out)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *library = ews_odb_library();
	/* It is told of a place that is no repository, and looks into none. */
	const struct ews_git_opts opts = { .own_dir = "/", .out = &answer };
	const char *version;
	int status;

	ews_buf_init_max(&answer, ANSWER_MAX);
	ews_strv_add(&args, "version");
	status = ews_git_run(&opts, args.items);
	ews_buf_rtrim(&answer);
	version = ews_str_after(answer.ptr, "git version ");
	if (status < 0)
		(void)ews_checkup_error(out, "git");
	else if (status || !version)
		(void)ews_checkup_find(out, "git", EWS_CHECK_PROBLEM, "what is called git gives no version");
	else
		ews_checkup_ok(out, "git", "git %s, %s, git-ews " EWS_VERSION, version, library);
}

static void look_at_landlock(struct ews_checkup *out)
{
	int abi = ews_sandbox_abi();
	struct ews_check *check;
	const char *why;

	if (ews_sandbox_is_available(&why)) {
		ews_checkup_ok(out, "landlock", "ABI %d: 'git ews run' is held to its workspace%s%s", abi,
			       abi >= ABI_NETWORK ? ", TCP can be closed" : "",
			       abi >= ABI_SCOPES ? ", signals stay inside" : "");
		return;
	}
	check = ews_checkup_find(out, "landlock", EWS_CHECK_WARNING, "%s: the guard of 'git ews run' is advisory",
				 why);
	ews_check_advise(check, "a kernel from Linux 6.2 on, with 'landlock' in /sys/kernel/security/lsm");
}

static void look_at_filters(struct ews_checkup *out)
{
	if (ews_kernel_has_filters())
		ews_checkup_ok(out, "seccomp", "system calls can be filtered: --no-network closes the network");
	else
		(void)ews_checkup_find(out, "seccomp", EWS_CHECK_WARNING,
				       "no filter of system calls can be had: --no-network fails");
}

/* Nothing of ours needs one: it is said for those that a person's own container does. */
static void look_at_namespaces(struct ews_checkup *out)
{
	ews_checkup_ok(out, "user namespaces", "%s; git ews does not need them",
		       ews_kernel_has_user_namespaces() ? "can be had" : "can't be had");
}

/* The limit `name`, or that of the user namespace where it is lower. Says so when there is none. */
static int read_limit(uint64_t *out, struct ews_checkup *checkup, const char *name)
{
	EWS_CLEANUP(free) char *global = ews_strfmt("fs/inotify/max_user_%s", name);
	EWS_CLEANUP(free) char *own = ews_strfmt("user/max_inotify_%s", name);
	struct ews_check *check;
	uint64_t own_value;
	int rc = ews_kernel_limit(out, global);

	if (rc == 0 && ews_kernel_limit(&own_value, own) == 0 && own_value < *out)
		*out = own_value;
	ews_error_clear();
	if (rc == 0)
		return 0;
	check = ews_checkup_find(checkup, "inotify", EWS_CHECK_WARNING,
				 "there is no fs.inotify.max_user_%s: 'git ews watch' has to poll", name);
	ews_check_advise(check, "a kernel with CONFIG_INOTIFY_USER");
	return rc;
}

/* How many directories `git ews watch` would look after here; 0: nothing is known. */
static size_t count_dirs(const struct ews_patient *patient)
{
	const struct ews_watch_opts opts = { .polls = true };
	EWS_CLEANUP(watch) struct ews_watch *watch = NULL;
	bool can = patient->repo && patient->top && ews_watch_open(&watch, patient->repo, patient->top, &opts) == 0;

	ews_error_clear();
	return can ? ews_watch_extent(watch).n_dirs : 0;
}

static void look_at_watches(struct ews_checkup *out, const struct ews_patient *patient)
{
	uint64_t watches, instances;
	size_t n_dirs = count_dirs(patient);
	struct ews_check *check;

	if (read_limit(&watches, out, "watches") < 0 || read_limit(&instances, out, "instances") < 0)
		return;
	if (watches < n_dirs) {
		check = ews_checkup_find(
			out, "inotify", EWS_CHECK_WARNING,
			"fs.inotify.max_user_watches is %" PRIu64
			": this project has %zu directories, and 'git ews watch' has to poll the others",
			watches, n_dirs);
		ews_check_advise(check, "sysctl fs.inotify.max_user_watches=%d", WATCHES_GOOD);
	} else if (watches < WATCHES_MIN) {
		check = ews_checkup_find(
			out, "inotify", EWS_CHECK_WARNING,
			"fs.inotify.max_user_watches is %" PRIu64
			": a large tree has more directories, and 'git ews watch' has to poll the others",
			watches);
		ews_check_advise(check, "sysctl fs.inotify.max_user_watches=%d", WATCHES_GOOD);
	}
	if (instances < INSTANCES_MIN) {
		check = ews_checkup_find(out, "inotify", EWS_CHECK_WARNING,
					 "fs.inotify.max_user_instances is %" PRIu64 ": few can watch at once",
					 instances);
		ews_check_advise(check, "sysctl fs.inotify.max_user_instances=%d", INSTANCES_GOOD);
	}
	if (ews_checkup_has(out, "inotify"))
		return;
	if (n_dirs)
		ews_checkup_ok(out, "inotify", "%" PRIu64 " directories can be watched; here are %zu", watches,
			       n_dirs);
	else
		ews_checkup_ok(out, "inotify", "%" PRIu64 " directories can be watched", watches);
}

void ews_doctor_system(struct ews_checkup *out, const struct ews_patient *patient)
{
	look_at_git(out);
	look_at_landlock(out);
	look_at_filters(out);
	look_at_namespaces(out);
	look_at_watches(out, patient);
}
