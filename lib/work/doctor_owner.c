/*
 * Doctor, of owners: see doctor_owner.h.
 *
 * What root makes in another user's project is that user's (base/own). But it may have been made by a version that did not know this,
 * by a git that root ran, or where root may not act for the user.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/home.h"

#define OWNERS "owners"
#define GROUP_WRITE 020
#define OTHERS_LOOK 005

/* A workspace, and the entry of one, is of whoever began the session. */
static const struct {
	const char *rel;
	bool has_more; /* those in it are looked at as well */
} places[] = {
	{ "ews", false },
	{ "refs/ews", true },
	{ EWS_OWN_DIR, false },
	{ EWS_OWN_TRASH, false },
	{ EWS_OWN_DIR "/qe-artifacts", true },
};

/* The directory of the project, or git's, that `rel` is in. */
static const char *top_of(const struct ews_patient *patient, const char *rel)
{
	return ews_str_begins(rel, EWS_OWN_DIR) ? patient->repo->project : patient->repo->common_dir;
}

/* One that is found: `fd` and what was seen of it and of its top. */
struct found {
	int fd;
	struct stat st, top;
};

static void release_found(struct found *found)
{
	ews_cleanup_fd(&found->fd);
}

EWS_CLEANUP_DEFINE(found, struct found, release_found)

/* Held without being read, which may not be allowed. Another mount is not the project's. False: it is not there. */
static bool find(struct found *out, int top_fd, const char *rel)
{
	out->fd = ews_dir_open_within(top_fd, rel, O_PATH | O_DIRECTORY, false);
	ews_error_clear();
	return out->fd >= 0 && fstat(out->fd, &out->st) == 0 && fstat(top_fd, &out->top) == 0;
}

/* Does it keep the owner of the top out? Only he and root are told. */
static bool keeps_out(const struct found *found)
{
	bool is_shared = (found->st.st_mode & GROUP_WRITE) && found->st.st_gid == found->top.st_gid;

	if (found->st.st_uid == found->top.st_uid)
		return false;
	if (geteuid() == found->top.st_uid)
		return faccessat(found->fd, ".", W_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES;
	return geteuid() == 0 && found->st.st_uid == 0 && !is_shared;
}

/*
 * Whoever owns the directory above could have put another one of root's from there in its place. What is in that he can take away
 * and replace as it is, by its path; to be shown what root alone could see he is not.
 */
static bool can_be_given(const struct found *found)
{
	return geteuid() == 0 && (found->st.st_mode & OTHERS_LOOK) == OTHERS_LOOK;
}

static int give(const struct ews_patient *patient, const char *rel)
{
	EWS_CLEANUP(fd) int top_fd = ews_dir_open(top_of(patient, rel));
	EWS_CLEANUP(found) struct found found = { .fd = -1 };

	if (top_fd < 0)
		return top_fd;
	if (!find(&found, top_fd, rel) || !keeps_out(&found))
		return 0;
	if (!can_be_given(&found))
		return ews_error(EWS_EBUSY, "'%s' changed meanwhile", rel);
	return fchownat(found.fd, "", found.top.st_uid, found.top.st_gid, AT_EMPTY_PATH) < 0
		       ? ews_error_os("cannot give '%s' away", rel)
		       : 0;
}

static void look_at(struct ews_checkup *out, const struct ews_patient *patient, int top_fd, const char *rel)
{
	EWS_CLEANUP(free) char *path = ews_path_join(top_of(patient, rel), rel);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(path);
	EWS_CLEANUP(found) struct found found = { .fd = -1 };
	struct ews_check *check;

	if (!find(&found, top_fd, rel) || !keeps_out(&found))
		return;
	check = ews_checkup_find(out, OWNERS, EWS_CHECK_PROBLEM,
				 "'%s' belongs to user %u: user %u, whose project this is, can't write there", path,
				 (unsigned)found.st.st_uid, (unsigned)found.top.st_uid);
	if (can_be_given(&found))
		ews_check_mend(check, give, rel, "chown %u:%u %s", (unsigned)found.top.st_uid,
			       (unsigned)found.top.st_gid, shown);
	else
		ews_check_advise(check, "%schown %u:%u %s", geteuid() ? "sudo " : "", (unsigned)found.top.st_uid,
				 (unsigned)found.top.st_gid, shown);
}

static void look_below(struct ews_checkup *out, const struct ews_patient *patient, int top_fd, const char *rel)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(top_fd, rel);
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	ews_error_clear();
	for (ssize_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(rel, names.items[i].name);

		look_at(out, patient, top_fd, path);
	}
}

void ews_doctor_owners(struct ews_checkup *out, const struct ews_patient *patient)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		EWS_CLEANUP(fd) int top_fd = ews_dir_open(top_of(patient, places[i].rel));

		look_at(out, patient, top_fd, places[i].rel);
		if (places[i].has_more)
			look_below(out, patient, top_fd, places[i].rel);
	}
	ews_error_clear();
	if (!ews_checkup_has(out, OWNERS))
		ews_checkup_ok(out, OWNERS, "no directory of git ews in the project keeps its owner out");
}
