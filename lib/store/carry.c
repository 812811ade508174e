/*
 * Carrying: see carry.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/carry.h"

#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/git.h"

/* Out of the one object directory into a file without a name, and from there into the other. */
int ews_carry(const struct ews_carry *carry, const struct ews_buf *request)
{
	EWS_CLEANUP(free) char *neutral = NULL;
	EWS_CLEANUP(fd) int dir = ews_dir_open(carry->tmp_dir);
	EWS_CLEANUP(fd) int pack = dir < 0 ? dir : ews_file_make_unnamed(dir);
	EWS_CLEANUP(buf) struct ews_buf said = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv pack_args = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv index_args = EWS_STRV_INIT;
	struct ews_git_opts from = { .object_dir = carry->from,
				     .alternate_dir = carry->alternate,
				     .input = request->ptr,
				     .input_len = request->len,
				     .out_fd = pack };
	struct ews_git_opts to = { .object_dir = carry->to, .sharing = carry->sharing, .in_fd = pack, .out = &said };
	int rc = pack < 0 ? ews_error_wrap("'%s'", carry->tmp_dir) : 0;

	if (carry->shallow) {
		ews_strv_add_all(&pack_args, "--shallow-file", carry->shallow, NULL);
		ews_strv_add_all(&index_args, "--shallow-file", carry->shallow, NULL);
	}
	ews_strv_add_all(&pack_args, "pack-objects", "-q", "--stdout", NULL);
	if (!carry->just_these)
		ews_strv_add(&pack_args, "--revs");
	if (carry->alternate)
		ews_strv_add(&pack_args, "--local");
	ews_strv_add_all(&index_args, "index-pack", "--stdin", "--fix-thin", NULL);
	if (!carry->just_these)
		ews_strv_add(&index_args, "--check-self-contained-and-connected");
	if (rc == 0)
		rc = ews_git_neutral_dir(&neutral, carry->home, carry->algo);
	from.neutral_dir = to.neutral_dir = neutral;
	if (rc == 0)
		rc = ews_git_run(&from, pack_args.items);
	if (rc > 0)
		rc = ews_error(EWS_EGIT, "git said no");
	if (rc == 0 && lseek(pack, 0, SEEK_SET) < 0)
		rc = ews_error_os("cannot read the pack");
	/* 1: whole with what was there already */
	if (rc == 0)
		rc = ews_git_run(&to, index_args.items);
	return rc < 0 ? rc : 0;
}

/* A line of `git cat-file --batch-check=%(objectname)` an id, in their order: the id, and " missing" where there is none. */
static int take_answer(struct ews_oids *there, struct ews_oids *lacking, const struct ews_oids *list,
		       const struct ews_buf *answer)
{
	const char *line = answer->ptr;

	for (size_t i = 0; i < list->n; i++) {
		char hex[EWS_OID_HEX_MAX];
		const char *rest = ews_str_after(line, ews_oid_hex(hex, &list->items[i]));
		const char *end = rest ? strchr(rest, '\n') : NULL;

		if (!end)
			return ews_error(EWS_EGIT, "git does not say which objects there are");
		ews_oids_add(end == rest ? there : lacking, &list->items[i]);
		line = end + 1;
	}
	return 0;
}

int ews_carry_sort_out(struct ews_oids *there, struct ews_oids *lacking, const struct ews_carry *carry,
		       const struct ews_oids *list)
{
	char *args[] = { (char[]){ "cat-file" }, (char[]){ "--batch-check=%(objectname)" }, (char[]){ "--buffer" },
			 NULL };
	EWS_CLEANUP(free) char *neutral = NULL;
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	struct ews_git_opts git = { .object_dir = carry->from, .alternate_dir = carry->alternate, .out = &answer };
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_git_neutral_dir(&neutral, carry->home, carry->algo);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list->n; i++)
		ews_buf_addf(&question, "%s\n", ews_oid_hex(hex, &list->items[i]));
	git.neutral_dir = neutral;
	git.input = question.ptr;
	git.input_len = question.len;
	rc = ews_git_run(&git, args);
	if (rc > 0)
		rc = ews_error(EWS_EGIT, "git said no");
	return rc < 0 ? rc : take_answer(there, lacking, list, &answer);
}
