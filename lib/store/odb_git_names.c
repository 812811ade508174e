/*
 * The store through git itself: refs, revisions and config, which are rare: one git each, which stands in the repository.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/git.h"
#include "store/odb.h"
#include "store/odb_ops.h"

#define ANSWER_MAX EWS_GIB
#define COMPLAINT_MAX (64 * EWS_KIB)

int ews_odb_git_unasked(int rc)
{
	return rc == EWS_ENOTFOUND || rc == EWS_EIO ? ews_error_as_passing() : rc;
}

int ews_odb_git_run(struct ews_buf *out, struct ews_buf *err, const struct ews_odb *odb,
		    const struct ews_strv *args, const struct ews_buf *input)
{
	struct ews_git_opts opts = { .own_dir = odb->git_dir, .own_group = true, .out = out, .err = err };
	int rc;

	ews_buf_init_max(out, ANSWER_MAX);
	ews_buf_init_max(err, COMPLAINT_MAX);
	if (input) {
		opts.input = input->ptr;
		opts.input_len = input->len;
	}
	rc = ews_git_run(&opts, args->items);
	return rc < 0 ? ews_odb_git_unasked(rc) : rc;
}

static int fail(enum ews_code code, const struct ews_buf *err, const char *what, const char *name)
{
	EWS_CLEANUP(free) char *sentence = ews_git_sentence(err);

	if (strstr(err->ptr, "No space left on device"))
		code = EWS_ENOSPACE;
	return ews_error(code, "%s '%s': %s", what, name, *sentence ? sentence : "git does not say why");
}

/* Why a ref did not move: another moved it, another holds it, or what git says. */
static int fail_swap(struct ews_odb *odb, const char *name, const struct ews_oid *from, const struct ews_buf *err)
{
	static const char before_lock[] = "Unable to create '";
	struct ews_oid now = EWS_OID_NONE;
	const char *lock = strstr(err->ptr, before_lock);
	const char *lock_end = lock ? strstr(lock, "': File exists") : NULL;
	int rc;

	if (strstr(err->ptr, "but expected") || strstr(err->ptr, "reference already exists"))
		return ews_error(EWS_ESTALE, "ref '%s' moved meanwhile", name);
	if (lock_end) {
		lock += strlen(before_lock);
		rc = fail(EWS_EBUSY, err, "cannot move the ref", name);
		ews_error_hint("if no git command is running, remove '%.*s'", (int)(lock_end - lock), lock);
		return rc;
	}
	rc = ews_odb_ref_read(&now, odb, name);
	if (rc < 0)
		ews_error_clear();
	if ((rc == 0 || rc == EWS_ENOTFOUND) && !ews_oid_equal(&now, from))
		return ews_error(EWS_ESTALE, "ref '%s' moved meanwhile", name);
	return fail(EWS_EGIT, err, "cannot move the ref", name);
}

/* "create <name>", "update <name>" or "delete <name>" and the ids, each ended by a NUL, as update-ref reads them. */
static void format_swap(struct ews_buf *out, const char *name, const struct ews_oid *from, const struct ews_oid *to)
{
	const char *verb = ews_oid_is_none(to) ? "delete" : ews_oid_is_none(from) ? "create" : "update";
	char hex[EWS_OID_HEX_MAX];

	ews_buf_adds(out, "option no-deref");
	ews_buf_addc(out, '\0');
	ews_buf_addf(out, "%s %s", verb, name);
	ews_buf_addc(out, '\0');
	if (!ews_oid_is_none(to)) {
		ews_buf_adds(out, ews_oid_hex(hex, to));
		ews_buf_addc(out, '\0');
	}
	if (!ews_oid_is_none(from)) {
		ews_buf_adds(out, ews_oid_hex(hex, from));
		ews_buf_addc(out, '\0');
	}
}

/* Have git do what `input` says, all of it or nothing. Gives 1 and what it said in `err` when it refuses. */
static int update_refs(struct ews_buf *err, const struct ews_odb *odb, const struct ews_buf *input)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	ews_strv_add(&args, "-c");
	ews_strv_addf(&args, "core.filesRefLockTimeout=%d", EWS_ODB_REF_WAIT_MS);
	ews_strv_add(&args, "-c");
	ews_strv_addf(&args, "core.packedRefsTimeout=%d", EWS_ODB_REF_WAIT_MS);
	ews_strv_add_all(&args, "-c", "core.fsync=reference", "-c", "core.fsyncMethod=fsync", "update-ref", "-m",
			 EWS_ODB_REF_LOG_MESSAGE, "--stdin", "-z", NULL);
	return ews_odb_git_run(&out, err, odb, &args, input);
}

int ews_odb_git_ref_swap(struct ews_odb *odb, const char *name, const struct ews_oid *from, const struct ews_oid *to)
{
	EWS_CLEANUP(buf) struct ews_buf input = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	int rc;

	format_swap(&input, name, from, to);
	rc = update_refs(&err, odb, &input);
	if (rc > 0)
		return fail_swap(odb, name, from, &err);
	/* git syncs the file alone. */
	return rc < 0 ? rc : ews_odb_sync_ref(odb, name);
}

int ews_odb_git_ref_drop_all(struct ews_odb *odb, const struct ews_ref *const *refs, size_t n)
{
	const struct ews_oid none = EWS_OID_NONE;
	EWS_CLEANUP(buf) struct ews_buf input = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	int rc;

	for (size_t i = 0; i < n; i++)
		format_swap(&input, refs[i]->name, &refs[i]->oid, &none);
	rc = update_refs(&err, odb, &input);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = ews_odb_sync_ref(odb, refs[i]->name);
	return rc < 0 ? rc : rc > 0;
}

/* The one id that `spec` means to git; 1 when it means none. */
static int verify(struct ews_oid *out, struct ews_buf *err, const struct ews_odb *odb, const char *spec)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	int rc;

	ews_strv_add_all(&args, "rev-parse", "--verify", "--end-of-options", spec, NULL);
	rc = ews_odb_git_run(&line, err, odb, &args, NULL);
	if (rc != 0)
		return rc < 0 ? rc : 1;
	ews_buf_rtrim(&line);
	if (ews_oid_parse(out, line.ptr) < 0) {
		/* A range, or "^" and an id. */
		ews_error_clear();
		return 1;
	}
	return 0;
}

/* Follow the tag `oid` to what it names. */
static int follow_tag(struct ews_oid *oid, struct ews_odb *odb)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t digits = 2 * (size_t)oid->len;
	char hex[EWS_OID_HEX_MAX];
	const char *named;
	int rc;

	rc = ews_odb_read(&text, NULL, odb, oid);
	if (rc < 0)
		return rc;
	named = ews_str_after(text.ptr, "object ");
	if (named && strcspn(named, "\n") == digits) {
		ews_buf_truncate(&text, (size_t)(named - text.ptr) + digits);
		return ews_oid_parse(oid, named);
	}
	return ews_error(EWS_EDAMAGED, "tag %s is damaged: it names no object", ews_oid_hex(hex, oid));
}

/* Go on from `oid`, which `spec` names, to what is wanted of it. */
static int peel(struct ews_oid *oid, struct ews_odb *odb, const char *spec, int want)
{
	enum ews_object_type type;
	int rc;

	rc = ews_odb_read_header(&type, NULL, odb, oid);
	while (rc == 0 && want && type == EWS_OBJECT_TAG) {
		rc = follow_tag(oid, odb);
		if (rc == 0)
			rc = ews_odb_read_header(&type, NULL, odb, oid);
	}
	if (rc < 0)
		return rc;
	if (!want || (int)type == want)
		return 0;
	return ews_error(EWS_ENOTFOUND, "'%s' names no %s", spec, ews_object_type_name((enum ews_object_type)want));
}

int ews_odb_git_resolve(struct ews_oid *out, struct ews_odb *odb, const char *spec, int want)
{
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	struct ews_oid oid = EWS_OID_NONE;
	int rc;

	/* A path of the index is nothing that is kept. */
	rc = *spec == ':' && spec[1] != '/' ? 1 : verify(&oid, &err, odb, spec);
	if (rc > 0 && strstr(err.ptr, "is ambiguous"))
		return ews_error(EWS_ENOTFOUND, "'%s' may mean more than one object", spec);
	if (rc > 0)
		return ews_error(EWS_ENOTFOUND, "'%s' is no revision here", spec);
	if (rc == 0)
		rc = peel(&oid, odb, spec, want);
	if (rc < 0)
		return rc;
	*out = oid;
	return 0;
}

/* Is `name`, as git prints it, the setting `key`? Case counts between the first and the last dot alone. */
static bool is_key(const char *name, const char *key)
{
	const char *first = strchr(key, '.'), *last = strrchr(key, '.');

	for (const char *at = key; first; at++, name++) {
		bool is_exact = at > first && at < last;

		if (is_exact ? *at != *name : tolower((unsigned char)*at) != tolower((unsigned char)*name))
			return false;
		if (!*at)
			return true;
	}
	return false;
}

int ews_odb_git_config(char **out, struct ews_odb *odb, const char *key)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	struct ews_git_opts opts = { .own_dir = odb->git_dir, .user_config = true, .out = &list, .err = &err };
	const char *value = NULL;
	int rc;

	ews_buf_init_max(&list, ANSWER_MAX);
	ews_buf_init_max(&err, COMPLAINT_MAX);
	ews_strv_add_all(&args, "config", "-z", "--list", NULL);
	rc = ews_git_run(&opts, args.items);
	if (rc < 0)
		return ews_odb_git_unasked(rc);
	if (rc > 0 || list.is_full)
		return fail(EWS_ECONFIG, &err, "cannot read the setting", key);
	/* "<name>\n<value>" NUL, "<name>" NUL where it has no "="; the last one holds. */
	for (char *at = list.ptr, *end; at < list.ptr + list.len; at = end + 1) {
		char *line_end = strchr(at, '\n');

		end = at + strlen(at);
		if (line_end)
			*line_end = '\0';
		if (is_key(at, key))
			value = line_end ? line_end + 1 : "true";
	}
	if (!value)
		return ews_error(EWS_ENOTFOUND, "no setting '%s'", key);
	*out = ews_strdup(value);
	return 0;
}
