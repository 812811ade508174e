/*
 * Refs and revisions through libgit2: a part of odb_libgit2.c's room.
 *
 * libgit2 1.5 deletes its lock on a new ref without looking whether that could be done, and knows "@" only where nothing follows.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb_libgit2.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "store/odb.h"
#include "store/odb_ops.h"

EWS_GIT2_CLEANUP(git_object)
EWS_GIT2_CLEANUP(git_reference)

void ews_libgit2_from_oid(git_oid *out, const struct ews_oid *oid)
{
	assert(oid->len == GIT_OID_RAWSZ);
	ews_git2.git_oid_fromraw(out, oid->id);
}

void ews_libgit2_to_oid(struct ews_oid *out, const git_oid *oid)
{
	*out = (struct ews_oid){ .len = GIT_OID_RAWSZ };
	memcpy(out->id, oid->id, GIT_OID_RAWSZ);
}

/*
 * A new ref is its lock, linked to the ref's name: when the lock's own name could not be deleted, libgit2 doesn't say so, and
 * nobody could move the ref any more.
 */
static void drop_linked_lock(const char *common_dir, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(common_dir, name);
	EWS_CLEANUP(free) char *lock = ews_strfmt("%s.lock", path);
	struct stat ref, left;

	if (lstat(lock, &left) == 0 && lstat(path, &ref) == 0 && ews_file_is_same(&left, &ref))
		(void)unlink(lock); /* best effort: recover finds those of ours */
}

int ews_libgit2_try_swap(git_repository *repo, const char *common_dir, const char *name, const struct ews_oid *from,
			 const struct ews_oid *to)
{
	EWS_CLEANUP(git_reference) git_reference *ref = NULL;
	git_oid from_id = { { 0 } }, to_id;
	int rc;

	ews_libgit2_from_oid(&to_id, to);
	if (!ews_oid_is_none(from)) {
		ews_libgit2_from_oid(&from_id, from);
		return ews_git2.git_reference_create_matching(&ref, repo, name, &to_id, 1, &from_id,
							      EWS_ODB_REF_LOG_MESSAGE);
	}
	rc = ews_git2.git_reference_create_matching(&ref, repo, name, &to_id, 0, &from_id, EWS_ODB_REF_LOG_MESSAGE);
	if (rc == 0)
		drop_linked_lock(common_dir, name);
	/* Another process has just removed the empty directory that the ref goes to. */
	return rc == GIT_ENOTFOUND ? GIT_ELOCKED : rc;
}

/* What leads to an object that can't be looked at just now leads nowhere, as libgit2 has it. */
static int unless_unread(int git_rc)
{
	return git_rc < 0 && ews_libgit2_unread ? GIT_ERROR : git_rc;
}

int ews_libgit2_resolve(struct ews_oid *out, git_repository *repo, const char *spec, int want)
{
	EWS_CLEANUP(git_object) git_object *obj = NULL;
	EWS_CLEANUP(git_object) git_object *peeled = NULL;
	/* "@" for HEAD it does not know where something follows. */
	bool is_short = *spec == '@' && spec[1] != '{';
	EWS_CLEANUP(free) char *full = is_short ? ews_strfmt("HEAD%s", spec + 1) : ews_strdup(spec);
	int rc;

	/* A path of the index, but for ":/<text>". */
	if (*spec == ':' && spec[1] != '/')
		return ews_error(EWS_ENOTFOUND, "'%s' is no revision here", spec);
	ews_libgit2_unread = 0;
	rc = unless_unread(ews_git2.git_revparse_single(&obj, repo, full));
	if (rc == GIT_EAMBIGUOUS)
		return ews_error(EWS_ENOTFOUND, "'%s' may mean more than one object", spec);
	if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC || rc == GIT_EPEEL)
		return ews_error(EWS_ENOTFOUND, "'%s' is no revision here", spec);
	if (rc < 0)
		return ews_libgit2_fail(rc, EWS_EGIT, "cannot find the revision '%s'", spec);
	if (want) {
		rc = unless_unread(ews_git2.git_object_peel(&peeled, obj, (git_object_t)want));
		if (rc == GIT_EPEEL || rc == GIT_EINVALIDSPEC || rc == GIT_EAMBIGUOUS)
			return ews_error(EWS_ENOTFOUND, "'%s' names no %s", spec,
					 ews_object_type_name((enum ews_object_type)want));
		if (rc < 0)
			return ews_libgit2_fail(rc, EWS_EGIT, "cannot find the revision '%s'", spec);
	}
	ews_libgit2_to_oid(out, ews_git2.git_object_id(peeled ? peeled : obj));
	return 0;
}
