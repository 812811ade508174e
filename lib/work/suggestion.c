/*
 * Suggestions: see suggestion.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/suggestion.h"

#include <string.h>

#include "base/error.h"
#include "base/path.h"

#define CANDIDATES_MAX 800 /* bytes of a hint */

bool ews_suggestion_is(const struct ews_artifact *artifact)
{
	return artifact->type == EWS_ARTIFACT_PATCH || artifact->type == EWS_ARTIFACT_SUGGESTED_FIX;
}

/* How well `name` fits: 2 exactly, 1 as a part, 0 not. All of them lie in the same few directories, whose names say nothing. */
static int fits(const struct ews_artifact *artifact, const char *name)
{
	if (!strcmp(artifact->id, name) || !strcmp(artifact->path, name) ||
	    !strcmp(ews_artifact_name(artifact), name))
		return 2;
	return *name && (strstr(artifact->id, name) || strstr(ews_path_base(artifact->path), name));
}

static void add_candidate(struct ews_buf *out, const struct ews_artifact *artifact)
{
	ews_buf_addf(out, "%s%s (%s)", out->len ? ", " : "", ews_artifact_name(artifact), artifact->id);
}

static int fail(int code, const char *name, const struct ews_buf *candidates)
{
	if (code == EWS_ECONFLICT)
		ews_error(code, "'%.80s' may mean several suggestions", name);
	else
		ews_error(code, "no suggestion '%.80s'", name);
	if (candidates->len)
		ews_error_hint("there are %.*s%s", CANDIDATES_MAX, candidates->ptr,
			       candidates->len > CANDIDATES_MAX ? "..." : "");
	else
		ews_error_hint("there are none: 'git ews end' and 'git ews report finding add --fix' leave some");
	return code;
}

int ews_suggestion_find(const struct ews_artifact **out, bool *is_exact, const struct ews_artifacts *list,
			const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf fitting = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf all = EWS_BUF_INIT;
	size_t n = 0;
	int best = 1;

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_artifact *artifact = &list->items[i];
		int fit = ews_suggestion_is(artifact) ? fits(artifact, name) : -1;

		if (fit >= 0)
			add_candidate(&all, artifact);
		if (fit < best)
			continue;
		if (fit > best) {
			ews_buf_truncate(&fitting, 0);
			n = 0;
		}
		best = fit;
		n++;
		*out = artifact;
		add_candidate(&fitting, artifact);
	}
	*is_exact = best == 2;
	if (n == 1)
		return 0;
	return n ? fail(EWS_ECONFLICT, name, &fitting) : fail(EWS_ENOTFOUND, name, &all);
}

int ews_suggestion_read(struct ews_buf *out, struct ews_repo *repo, const struct ews_artifact *suggestion)
{
	enum ews_object_type type;

	return ews_odb_read(out, &type, repo->odb, &suggestion->blob);
}
