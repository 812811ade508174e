/*
 * Doctor, of the system: see doctor_system.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_system.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/sandbox.h"
#include "store/git.h"

#define ABI_NETWORK 4
#define ABI_SCOPES 6
#define ANSWER_MAX EWS_KIB
/* What kernels before 5.11 have, however much memory there is: a watch is needed for each directory. */
#define WATCHES_MIN 8193
#define INSTANCES_MIN 16

static void look_at_git(struct ews_checkup *out)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *library = ews_odb_library();
	/* It is told of a place that is no repository, and looks into none. */
	const struct ews_git_opts opts = { .own_dir = "/", .out = &answer };
	int status;

	ews_buf_init_max(&answer, ANSWER_MAX);
	ews_strv_add(&args, "version");
	status = ews_git_run(&opts, args.items);
	ews_buf_rtrim(&answer);
	if (status < 0)
		(void)ews_checkup_error(out, "git");
	else if (status || strncmp(answer.ptr, "git version ", 12) != 0)
		(void)ews_checkup_find(out, "git", EWS_CHECK_PROBLEM, "what is called git gives no version");
	else
		ews_checkup_ok(out, "git", "git %s, %s, git-ews " EWS_VERSION, answer.ptr + 12, library);
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

/* Is the limit `name` lower than it should be? Says so. */
static bool is_low(struct ews_checkup *out, uint64_t *value, const char *name, uint64_t min, const char *what)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	struct ews_check *check;

	ews_buf_addf(&path, "fs/inotify/%s", name);
	if (ews_kernel_limit(value, path.ptr) < 0) {
		ews_error_clear();
		check = ews_checkup_find(out, "inotify", EWS_CHECK_WARNING,
					 "there is no fs.inotify.%s: 'git ews watch' has to poll", name);
		ews_check_advise(check, "a kernel with CONFIG_INOTIFY_USER");
		return true;
	}
	if (*value >= min)
		return false;
	check = ews_checkup_find(out, "inotify", EWS_CHECK_WARNING, "fs.inotify.%s is %" PRIu64 ": %s", name,
				 *value, what);
	ews_check_advise(check, "sysctl fs.inotify.%s=%" PRIu64, name, 64 * (min - 1));
	return true;
}

static void look_at_watches(struct ews_checkup *out)
{
	uint64_t watches, instances;
	bool is_bad = is_low(out, &watches, "max_user_watches", WATCHES_MIN,
			     "a large tree has more directories, and 'git ews watch' has to poll the others");

	is_bad = is_low(out, &instances, "max_user_instances", INSTANCES_MIN, "few can watch at once") || is_bad;
	if (!is_bad)
		ews_checkup_ok(out, "inotify", "%" PRIu64 " directories can be watched", watches);
}

void ews_doctor_system(struct ews_checkup *out)
{
	look_at_git(out);
	look_at_landlock(out);
	look_at_filters(out);
	look_at_namespaces(out);
	look_at_watches(out);
}
