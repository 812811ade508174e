/*
 * Trash, counted: see trash_count.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/trash_count.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/str.h"
#include "store/git.h"

static int count_objects(void *payload)
{
	struct ews_trash_count *count = payload;
	EWS_CLEANUP(buf) struct ews_buf said = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	const struct ews_git_opts git = { .neutral_dir = count->neutral,
					  .object_dir = count->object_dir,
					  .input = count->request.ptr,
					  .input_len = count->request.len,
					  .out = &said };

	ews_strv_add_all(&args, "rev-list", "--objects", "--disk-usage", "--ignore-missing", "--stdin", NULL);
	if (ews_git_run(&git, args.items) == 0)
		count->bytes = strtoull(said.ptr, NULL, 10);
	return 0; /* it informs: a store that is not whole tells nothing */
}

/* The commit that a ref leads to, or what else it holds. */
static const struct ews_oid *tip_of(const struct ews_ref *ref)
{
	return ews_oid_is_none(&ref->peeled) ? &ref->oid : &ref->peeled;
}

/* What goes, to be asked of each ref there is. */
struct going {
	struct ews_strv refs; /* sorted */
	struct ews_oidset commits;
};

#define GOING_INIT { EWS_STRV_INIT, EWS_OIDSET_INIT }

static void release_going(struct going *going)
{
	ews_strv_release(&going->refs);
	ews_oidset_release(&going->commits);
}

EWS_CLEANUP_DEFINE(going, struct going, release_going)

static void list_going(struct going *out, const struct ews_trash_plan *plan)
{
	for (size_t i = 0; i < plan->n_kept; i++) {
		if (!plan->kept[i].is_due)
			continue;
		ews_strv_add(&out->refs, plan->kept[i].snapshot.ref);
		(void)ews_oidset_add(&out->commits, &plan->kept[i].snapshot.commit);
	}
	ews_strv_sort(&out->refs);
}

static bool goes(const struct going *going, const struct ews_ref *ref)
{
	return ews_strv_sorted_has(&going->refs, ref->name);
}

/* The tips of the refs that stay: they hold what is behind them. */
static void list_tips(struct ews_oidset *out, const struct going *going, const struct ews_refs *refs)
{
	for (size_t i = 0; i < refs->n; i++)
		if (!goes(going, &refs->items[i]))
			(void)ews_oidset_add(out, tip_of(&refs->items[i]));
}

/* Add the commit to what git need not count, if it is such a tip. */
static bool leave_out(struct ews_buf *request, const struct ews_oid *oid, const struct ews_oidset *tips)
{
	char hex[EWS_OID_HEX_MAX];

	if (!ews_oid_is_none(oid) && !ews_oidset_has(tips, oid))
		return false;
	if (!ews_oid_is_none(oid))
		ews_buf_addf(request, "^%s\n", ews_oid_hex(hex, oid));
	return true;
}

/*
 * Leave out the commits that a snapshot holds beside its own: where HEAD was, and what git's reflogs named, which may be lines
 * that tags alone hold. False unless all of them are such tips.
 */
static bool leave_out_held(struct ews_buf *request, const struct ews_snapshot *snapshot, struct ews_odb *odb,
			   const struct ews_oidset *tips)
{
	EWS_CLEANUP(commit) struct ews_commit manifest = EWS_COMMIT_INIT;
	bool are_held = leave_out(request, &snapshot->head, tips);

	/* Of a snapshot whose manifest can't be read nothing is known. What is none of ours is its own HEAD. */
	if (are_held && !ews_oid_is_none(&snapshot->manifest) &&
	    ews_odb_read_commit(&manifest, odb, &snapshot->manifest) < 0)
		return false;
	for (size_t i = 0; i < manifest.n_parents && are_held; i++)
		are_held = leave_out(request, &manifest.parents[i], tips);
	return are_held;
}

void ews_trash_count_begin(struct ews_trash_count *count, const struct ews_trash_plan *plan)
{
	struct ews_repo *repo = plan->repo;
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	EWS_CLEANUP(oidset) struct ews_oidset tips = EWS_OIDSET_INIT;
	EWS_CLEANUP(going) struct going going = GOING_INIT;
	bool are_all_held = true;
	char hex[EWS_OID_HEX_MAX];
	size_t n = 0;

	if (ews_odb_ref_list(&refs, repo->odb, "refs/") < 0)
		ews_error_clear();
	list_going(&going, plan);
	list_tips(&tips, &going, &refs);
	for (size_t i = 0; i < plan->n_kept && are_all_held; i++)
		if (plan->kept[i].is_due)
			are_all_held = leave_out_held(&count->request, &plan->kept[i].snapshot, repo->odb, &tips);
	for (size_t i = 0; i < refs.n; i++) {
		const struct ews_ref *ref = &refs.items[i];
		bool is_due = goes(&going, ref);

		n += is_due;
		/*
		 * Git reads what each of a thousand tags leads to before it counts. Beyond what is left out a tag may hold what a
		 * snapshot that goes holds as well where it is one that was tagged.
		 */
		if (is_due || !are_all_held || !ews_str_begins(ref->name, EWS_REF_TAGS) ||
		    ews_oidset_has(&going.commits, tip_of(ref)))
			ews_buf_addf(&count->request, "%s%s\n", is_due ? "" : "^", ews_oid_hex(hex, tip_of(ref)));
	}
	count->object_dir = ews_odb_object_dir(repo->odb);
	if (n && ews_git_neutral_dir(&count->neutral, repo->home, ews_odb_algo(repo->odb)) == 0)
		ews_beside_begin(&count->beside, count_objects, count);
	ews_error_clear();
}

void ews_trash_count_end(struct ews_trash_count *count)
{
	(void)ews_beside_end(&count->beside);
	ews_buf_release(&count->request);
	free(ews_steal(&count->neutral));
}
