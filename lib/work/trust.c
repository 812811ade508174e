/*
 * Trust: see trust.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/sandbox.h"
#include "store/home.h"
#include "work/confine.h"

#define ABI_SCOPES 6
#define NEW_SESSION "<session>"

/* The method that `start` would take. */
static int choose_method(const struct ews_method **out, struct ews_repo *repo)
{
	const char *word;
	int rc = ews_config_word(&word, ews_repo_config(repo), "qe.workspace.method");

	if (rc < 0)
		return rc;
	*out = ews_method_find(word);
	if (repo->is_plain && *out != &ews_method_in_place)
		*out = &ews_method_snapshot;
	if (!*out)
		*out = &ews_method_worktree;
	return 0;
}

static int choose_place(struct ews_trust *out, struct ews_repo *repo, const struct ews_session *session)
{
	EWS_CLEANUP(free) char *dir = NULL;
	int rc;

	if (session) {
		out->method = session->method;
		out->session = ews_strdup(session->state.id);
		out->workspace = ews_strdup(session->state.workspace);
		return 0;
	}
	rc = choose_method(&out->method, repo);
	if (rc < 0)
		return rc;
	dir = repo->dir ? ews_strdup(repo->dir)
			: ews_strfmt("%s/" EWS_HOME_WORKING "/%s", repo->home, ews_path_base(repo->project));
	out->workspace = out->method->is_project ? ews_strdup(repo->project)
						 : ews_strfmt("%s/" EWS_WORKING_WORKSPACES "/" NEW_SESSION, dir);
	return 0;
}

static int choose_guard(struct ews_trust *out, struct ews_repo *repo)
{
	const struct ews_config *config = ews_repo_config(repo);
	const char *why = NULL;
	int rc = ews_config_word(&out->level, config, "ews.guard.level");

	if (rc == 0)
		rc = ews_config_word(&out->policy, config, "ews.guard.policy");
	if (rc < 0)
		return rc;
	out->is_enforced = ews_confine_is_enforced(out->method, out->level);
	out->is_held = ews_confine_is_wanted(out->level) && ews_sandbox_is_available(&why);
	if (!ews_confine_is_wanted(out->level))
		out->why = ews_strfmt("the level '%s' asks the kernel for nothing", out->level);
	else if (!out->is_held)
		out->why = ews_strdup(why);
	else if (!out->is_enforced)
		out->why = ews_strdup("the workspace is the project itself, and its repository lies in it");
	return 0;
}

static void list_writable(struct ews_trust *out, const struct ews_repo *repo, const struct ews_session *session)
{
	EWS_CLEANUP(free) char *rel = NULL;

	if (!out->is_held) {
		ews_strv_add(&out->writable, "/");
		return;
	}
	rel = session ? ews_home_tmp(repo->dir, session->state.id) : ews_strdup(EWS_HOME_TMP "/" NEW_SESSION);
	ews_strv_add(&out->writable, out->workspace);
	ews_strv_addf(&out->writable, "%s/%s", repo->home, rel);
}

static void list_open(struct ews_trust *out)
{
	if (!out->is_held)
		ews_strv_add(&out->open, "writing whatever its user may write, the project and its repository too");
	else if (!out->is_enforced)
		ews_strv_add(&out->open, "writing to the project's repository: refs, hooks, settings");
	ews_strv_add(&out->open, "modes, owners, times and attributes of outside files");
	ews_strv_add(&out->open, "unix sockets that have a path");
	ews_strv_add(&out->open, "the network, unless the command is run with --no-network");
	ews_strv_add(&out->open, "reading whatever its user may read");
	if (!out->is_held || ews_sandbox_abi() < ABI_SCOPES)
		ews_strv_add(&out->open, "signals to other processes of its user");
}

static void list_exposed(struct ews_trust *out, const struct ews_repo *repo, const struct ews_session *session)
{
	/* What a plain directory's store holds, its workspace does not know of. */
	if (repo->is_plain)
		return;
	if (!out->method->owns_objects)
		ews_strv_add(&out->exposes, repo->common_dir);
	else if (!session || !session->state.copies_objects)
		ews_strv_add(&out->borrows, ews_odb_object_dir(repo->odb));
}

/* git in a copy goes by the copy's own settings; elsewhere by the project's. */
static int list_programs(struct ews_trust *out, const struct ews_repo *repo, const struct ews_session *session)
{
	EWS_CLEANUP(free) char *own = NULL;
	int rc;

	if (session && out->method->owns_objects && !repo->is_plain)
		own = ews_path_join(out->workspace, ".git");
	rc = ews_trust_programs_look(&out->programs, own ? own : repo->git_dir, own ? own : repo->common_dir,
				     session ? out->workspace : repo->project);
	return rc < 0 ? rc : ews_trust_secrets_look(&out->secrets, own ? own : repo->git_dir);
}

int ews_trust_look(struct ews_trust *out, struct ews_repo *repo, const struct ews_session *session)
{
	int rc = ews_error_if_passing(ews_repo_need_dir(repo)); /* it may have no sessions yet */

	if (rc == 0)
		rc = choose_place(out, repo, session);
	if (rc == 0)
		rc = choose_guard(out, repo);
	if (rc < 0)
		return rc;
	list_writable(out, repo, session);
	list_open(out);
	list_exposed(out, repo, session);
	return list_programs(out, repo, session);
}

void ews_trust_release(struct ews_trust *trust)
{
	free(trust->session);
	free(trust->workspace);
	free(trust->why);
	ews_strv_release(&trust->writable);
	ews_strv_release(&trust->open);
	ews_strv_release(&trust->exposes);
	ews_strv_release(&trust->borrows);
	ews_trust_secrets_release(&trust->secrets);
	ews_trust_programs_release(&trust->programs);
}
